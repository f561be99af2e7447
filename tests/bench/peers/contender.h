/* contender.h - whoever computes a workload in this bench: our templates, and libraries as peers. */
#ifndef TUNE_TESTS_BENCH_PEERS_CONTENDER_H
#define TUNE_TESTS_BENCH_PEERS_CONTENDER_H

#include "kernels/conv2d/conv2d.h"
#include "kernels/dense/dense.h"
#include "runtime/device.h"

#define MAX_CONTENDERS 16
#define MAX_ROUNDS 64

/* One workload with its data: x and w as the templates' programs fill them for timing. */
struct task {
    struct workload workload;
    char text[WORKLOAD_MAX_TEXT];
    bool conv; /* else dense */
    struct conv_shape conv_shape;
    struct dense_shape dense_shape;
    float *x, *w;
    int64_t n_x, n_w, n_y;
    double flops;
    const struct device_ops *ops;
    struct device *device;
    const char *selector; /* of the device, as its backend reads it */
    int threads;
};

struct contender {
    char name[96], note[160];
    bool peer; /* a library, not ours */
    void *own;
    /* Computes y once and waits. */
    enum err (*run)(struct contender *c, struct why *why);
    enum err (*output)(struct contender *c, float *y, struct why *why);
    void (*fini)(struct contender *c);
    double ns[MAX_ROUNDS], share[MAX_ROUNDS]; /* a round's median, and its part of that round's FMA peak */
    int n_rounds;                             /* slow ones leave before the last */
    double least_ns, spent_ns;                /* of all calls */
    double difference;                        /* of the outputs: max |y - y of the first| / max |y of the first| */
};

/* Each makes one contender (`out` zeroed by the caller, which calls out->fini when it is set, also after a failure).
 * ERR_UNSUPPORTED, ERR_NOT_FOUND: there is none here, with words. The task is borrowed until fini. */
enum err ours_default(const struct task *t, const struct template *template, struct contender *out, struct why *why);
/* The best record of the task's workload in a log. */
enum err ours_best(const struct task *t, const char *log, struct contender *out, struct why *why);
/* im2col (in the timed run) + sgemm, or sgemm alone. */
enum err openblas(const struct task *t, struct contender *out, struct why *why);
/* Sconvgemm or Sgemm on the task's OpenCL device. */
enum err clblast(const struct task *t, struct contender *out, struct why *why);

#endif
