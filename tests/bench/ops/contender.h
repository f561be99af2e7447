/* SPDX-License-Identifier: MIT */
/* contender.h - whoever computes a workload in this bench: our templates, libraries as peers, plain C as baselines. */
#ifndef TUNE_TESTS_BENCH_OPS_CONTENDER_H
#define TUNE_TESTS_BENCH_OPS_CONTENDER_H

#include "runtime/device.h"
#include "tests/bench/ops/task.h"

#define MAX_CONTENDERS 64
#define MAX_ROUNDS 64

/* Who a contender is compared with. plain: activations as people hold them (nchw, row-major) going in and out, weights
 * packed beforehand; blocked: in whatever layout the contender likes best, packed beforehand, the output left so;
 * baseline: told, but nobody's measure. */
enum contender_class { CLASS_PLAIN, CLASS_BLOCKED, CLASS_BASELINE, N_CLASSES };

struct contender {
    char name[96], note[320];
    char numerics[24], template[64], layout[16], how[16]; /* ours; how: default, tuned, given */
    bool ours;
    enum contender_class class;
    void *own;
    /* Computes y once and waits. NULL where slot() is there. */
    enum err (*run)(struct contender *c, struct why *why);
    /* One untimed call, then calls for least_ns; the median call to *ns. NULL: the bench does it with run(). */
    enum err (*slot)(struct contender *c, int64_t least_ns, double *ns, struct why *why);
    /* y in the plain layout as f32; NULL where the data is not that of the others. */
    enum err (*output)(struct contender *c, float *y, struct why *why);
    void (*fini)(struct contender *c);
    double ns[MAX_ROUNDS];                          /* a round's median call */
    double peak[MAX_ROUNDS], read_rate[MAX_ROUNDS]; /* just before it: FLOP per ns, bytes per ns (0 = not measured) */
    int n_rounds;                                   /* slow ones leave before the last */
    double spent_ns;
    double difference; /* max |y - y of the first| / max |y of the first|; negative: not compared */
};

/* A slot by the device's own clock: one untimed `call`, then calls for least_ns; the median of what they tell. */
enum err contender_device_slot(struct contender *c, enum err (*call)(struct contender *c, double *ns, struct why *why),
                               int64_t least_ns, double *ns, struct why *why);

/* Makes one contender (`out` zeroed by the caller, which calls out->fini when it is set, also after a failure).
 * ERR_UNSUPPORTED: it does not compute this; ERR_NOT_FOUND: it is not here; both with words. The task is borrowed until
 * fini. */
typedef enum err make_contender(const struct task *t, struct contender *out, struct why *why);

make_contender onednn_plain, onednn_blocked; /* convolution, matmul, recurrent; i8: channels last as plain */
make_contender onednn_reordered;             /* convolution: nchw outside, its own layouts inside, reorders timed */
make_contender onednn_ip_plain, onednn_ip_blocked; /* dense through its inner product */
make_contender onednn_s8s8;                        /* i8 with signed inputs, in its own layouts */
make_contender openblas;                           /* im2col (in the timed run) + sgemm, sgemm alone, an RNN's GEMMs */
make_contender clblast;                            /* Sconvgemm, Sgemm on the task's OpenCL device */
make_contender csr;                                /* sparse_conv2d: direct convolution over compressed rows, in C */
make_contender onnxruntime;                        /* in a process of its own, in the same rounds */

/* Where onnxruntime's Python is; NULL = nowhere. Set once before the first contender. */
void onnxruntime_python(const char *path);

#endif
