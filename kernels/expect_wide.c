/* SPDX-License-Identifier: MIT */
#include "kernels/expect_wide.h"

#include "kernels/epilogue.h"

#include <math.h>
#include <string.h>

#define MOST_F32 1048576.0 /* 2^20: a good part of the inputs is beyond 1e5, and sums of their products finite */
#define UNSIGNED_ZERO 128
#define MOST_F16 8.0 /* sums of thousands of products stay below 65504 */

static bool is(const struct tensor *t, const char *name)
{
    return strcmp(t->name, name) == 0;
}

/* Elements of one magnitude: behind image and channel, or output and input channel. */
static int64_t block_of(const struct tensor *t)
{
    int64_t n = 1;

    for (int i = 2; t->n_dims >= 4 && i < t->n_dims; i++)
        n *= t->shape[i];
    return n;
}

static void widen_floats(struct tensor *t)
{
    t->random.kind = FILL_WIDE;
    t->random.block = block_of(t);
    t->random.step = t->dtype == DTYPE_F16 ? MOST_F16 : MOST_F32;
}

/* Averages are not all near 0. */
static void widen_pool(struct tensor *t)
{
    widen_floats(t);
    t->random.lo = 1;
}

/* Requantised sums: whole numbers times a power of two, so that a good part of them are halves; those of few small
 * products, so that they are not beyond 127 all. */
static void widen_requantised(const struct workload *w, struct tensor *t)
{
    struct tensor list[OPERATOR_MAX_TENSORS];
    const size_t n = w->op->tensors(w, list);
    double terms = 1;

    for (size_t i = 0; i < n; i++)
        if (is(&list[i], "w"))
            terms = (double)(list[i].n_elems / list[i].shape[0]);
    if (is(t, "zero"))
        t->random = (struct program_fill){.kind = FILL_VALUE, .lo = UNSIGNED_ZERO};
    else if (is(t, "sum_scale"))
        t->random = (struct program_fill){.kind = FILL_VALUE, .lo = 0.5};
    else if (is(t, "scale"))
        t->random = (struct program_fill){.kind = FILL_VALUE, .lo = ldexp(1, -1 - (int)(log2(terms) / 4))};
    else
        t->random.lo = -(t->random.hi = is(t, "x") || is(t, "w") ? 2 : 8);
    if (t->dtype == DTYPE_U8) {
        t->random.lo += UNSIGNED_ZERO;
        t->random.hi += UNSIGNED_ZERO;
    }
}

static void widen_softmax(const struct workload *w, struct tensor *t)
{
    if (w->dtype == DTYPE_I8) {
        if (is(t, "x")) /* thousands of e-folds apart; references hold whole numbers below 2^24 */
            t->random = (struct program_fill){.kind = FILL_INT, .seed = t->random.seed, .lo = -200000, .hi = 200000};
        return;
    }
    widen_floats(t); /* rows from flat ones to such that have one 1 and nothing but zeros */
    t->random.block = t->shape[1];
    t->random.lo = 0;
    t->random.hi = 4;
    t->random.step = 128;
}

void expect_widen(const struct workload *w, struct tensor *t)
{
    const char *op = w->op->name;

    if (is(t, "offset") || (strcmp(op, "rnn") == 0 && !is(t, "x") && !is(t, "dgates")))
        return;
    if (strcmp(op, "softmax") == 0)
        widen_softmax(w, t);
    else if (workload_has(w, "epilogue") && (epilogue_of(w) & EPILOGUE_REQUANT))
        widen_requantised(w, t);
    else if (t->random.kind == FILL_NORMAL && strcmp(op, "pool2d") == 0)
        widen_pool(t);
    else if (t->random.kind == FILL_NORMAL && !is(t, "scale"))
        widen_floats(t);
    else if (dtype_is_bytes(t->dtype) && t->random.kind == FILL_INT)
        t->random.kind = FILL_EDGES;
}
