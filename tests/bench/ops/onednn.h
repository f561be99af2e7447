/* SPDX-License-Identifier: MIT */
/* onednn.h - oneDNN's C interface in fewer words: descriptors, arguments filled from plain f32, one primitive. Only
 * built where oneDNN is. */
#ifndef TUNE_TESTS_BENCH_OPS_ONEDNN_H
#define TUNE_TESTS_BENCH_OPS_ONEDNN_H

#include "tests/bench/ops/contender.h"

#include <oneapi/dnnl/dnnl.h>

#define DNN_MAX_ARGS 12
#define DNN_MAX_DESCS 16

struct dnn {
    const struct task *task;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr; /* NULL = none */
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[DNN_MAX_ARGS];
    int n_args;
    dnnl_memory_desc_t descs[DNN_MAX_DESCS]; /* all that dnn_desc made */
    int n_descs;
    dnnl_memory_desc_t y_plain; /* f32, lent from descs */
    dnnl_memory_t x, y;         /* lent from args */
    struct {
        dnnl_primitive_t primitive;
        dnnl_exec_arg_t args[2];
    } before, after; /* reorders that are part of a run; primitive NULL = none */
    dnnl_memory_t x_outside, y_outside;
};

/* ERR_DEVICE with the name of the call and oneDNN's status; ERR_OK for dnnl_success. dnnl_unimplemented:
 * ERR_UNSUPPORTED. */
enum err dnn_status(dnnl_status_t status, const char *call, struct why *why);

/* A descriptor of dims[n_dims] that lives as long as `d`; NULL when oneDNN refuses it. */
dnnl_memory_desc_t dnn_desc(struct dnn *d, int n_dims, const int64_t *dims, dnnl_data_type_t type,
                            dnnl_format_tag_t tag);

/* oneDNN's name of a dtype. */
dnnl_data_type_t dnn_type(enum dtype t);

/* Makes an engine and a stream in a new own of `out`; dnn_finish the primitive of d->pd, and tells which kernel it is.
 */
enum err dnn_begin(const struct task *t, struct contender *out, struct dnn **d, struct why *why);
enum err dnn_finish(struct dnn *d, struct contender *out, struct why *why);

/* Memory of argument `arg` in the layout that the primitive wants; filled from f32 `data` in the layout `plain`, or
 * left as zeros when data is NULL. */
enum err dnn_arg(struct dnn *d, int arg, dnnl_query_t what, int index, dnnl_memory_desc_t plain, const float *data,
                 struct why *why);

/* The attributes of bytes out of sums: a scale for each output channel, which are those of `scales` dimensions of the
 * weights (1, or 2 with groups), and ReLU where `relu`. dnn_scales: their memory, k times 1/64. */
enum err dnn_requantised(struct dnn *d, int scales, bool relu, struct why *why);
enum err dnn_scales(struct dnn *d, int64_t k, struct why *why);

/* From now on a run takes x from memory in the layout `x` and leaves y in the layout `y` (after the arguments are
 * there).
 */
enum err dnn_reorders(struct dnn *d, dnnl_memory_desc_t x, dnnl_memory_desc_t y, struct why *why);

#endif
