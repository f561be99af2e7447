/* SPDX-License-Identifier: MIT */
/* expect_parts.h - what the files that change the fills of a run's own data ask of workloads and tensors. */
#ifndef TUNE_KERNELS_EXPECT_PARTS_H
#define TUNE_KERNELS_EXPECT_PARTS_H

#include "kernels/epilogue.h"
#include "kernels/operator.h"
#include "kernels/workload.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define UNSIGNED_ZERO 128

/* Is it the tensor of this name? */
static inline bool is(const struct tensor *t, const char *name)
{
    return strcmp(t->name, name) == 0;
}

/* Is it the operator of this name? */
static inline bool is_op(const struct workload *w, const char *name)
{
    return strcmp(w->op->name, name) == 0;
}

/* Elements of one magnitude: behind image and channel, or output and input channel. */
static inline int64_t block_of(const struct tensor *t)
{
    int64_t n = 1;

    for (int i = 2; t->n_dims >= 4 && i < t->n_dims; i++)
        n *= t->shape[i];
    return n;
}

/* 0 of operators without one. */
static inline unsigned epilogue_bits_of(const struct workload *w)
{
    return workload_has(w, "epilogue") ? epilogue_of(w) : 0;
}

/* Behind sums, or of add. */
static inline bool has_relu(const struct workload *w)
{
    return (epilogue_bits_of(w) & EPILOGUE_RELU) || (workload_has(w, "relu") && workload_get(w, "relu"));
}

/* Of pool2d. */
static inline bool is_maximum(const struct workload *w)
{
    return workload_get(w, "kind") == 0;
}

/* Products in a sum with the weights w. */
static inline int64_t terms_of(const struct tensor *w)
{
    return w->n_dims == 3 ? w->shape[2] : w->n_elems / w->shape[0];
}

/* Elements are moved, but not as bits. */
static inline bool is_nearest(const struct workload *w)
{
    return is_op(w, "resize2d") && workload_get(w, "kind") == 0;
}

/* Are elements moved as bits? */
static inline bool only_moves(const struct workload *w)
{
    return is_op(w, "transform") || is_op(w, "concat") || is_op(w, "strided_copy") || is_op(w, "gather");
}

#endif
