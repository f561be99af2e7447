/* SPDX-License-Identifier: MIT */
/* task.h - one workload of this bench with its data, and its sizes in a form that libraries understand. */
#ifndef TUNE_TESTS_BENCH_OPS_TASK_H
#define TUNE_TESTS_BENCH_OPS_TASK_H

#include "kernels/operator.h"
#include "kernels/workload.h"
#include "runtime/device.h"

enum task_kind { TASK_CONV, TASK_GEMM, TASK_RNN, TASK_OTHER };

/* A convolution of any operator; depthwise: groups == c. */
struct conv_sizes {
    int64_t n, c, h, w, k, r, s, p, q, groups;
    int64_t stride[2], dilation[2], pad[4]; /* pad: top left bottom right */
};

/* y[b][m][n] = sum over k of x[b][m][k] w[b][n][k]; shared_w: one w for all b (dense: b == 1). */
struct gemm_sizes {
    int64_t b, m, n, k;
    bool shared_w;
};

struct rnn_sizes {
    int64_t i, h, l, b, t, gates;
    char cell[16], pass[16];
};

struct task {
    struct workload workload;      /* as given */
    char text[WORKLOAD_MAX_TEXT];  /* canonical */
    char plain[WORKLOAD_MAX_TEXT]; /* in the operator's first layout and without an epilogue: what peers compute */
    enum task_kind kind;
    struct conv_sizes conv;
    struct gemm_sizes gemm;
    struct rnn_sizes rnn;
    double sparsity;         /* share of zeros in w; 0 = dense */
    float *x, *w;            /* plain layouts; i8: whole numbers in [0,127] and [-127,127] */
    int64_t n_x, n_w, n_y;   /* elements in the plain layouts */
    double flops, bytes_min; /* of one run; sparse: flops of the dense convolution */
    const struct device_ops *ops;
    struct device *device;
    const char *selector; /* of the device, as its backend reads it */
    int threads;
    bool own_events; /* ours are timed by the device's events on CPUs, too */
};

/* Sizes and data of a workload into a task whose device is set. ERR_INPUT, ERR_NOMEM. task_fini frees the data. */
enum err task_init(struct task *t, const char *text, struct why *why);
void task_fini(struct task *t);

/* `text` with one key set to another value, or without it for "": "conv2d f32 ..." + layout nchw16c. ERR_LIMIT when it
 * does not fit into `out`, which is not `text`. */
enum err text_with(const char *text, const char *key, const char *value, char *out, size_t n_out);

/* The canonical text of a workload. ERR_INPUT: there is no such workload. */
enum err text_canonical(const char *text, char out[WORKLOAD_MAX_TEXT], struct why *why);

/* True when the operator has this key. */
bool operator_has_key(const struct operator_desc *op, const char *key);

#endif
