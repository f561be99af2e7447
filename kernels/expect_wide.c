/* SPDX-License-Identifier: MIT */
#include "kernels/expect_wide.h"

#include "kernels/eltwise/eltwise.h"
#include "kernels/epilogue.h"
#include "kernels/reduce/reduce.h"

#include <math.h>
#include <string.h>

#define MOST_F32 16777216.0 /* 2^24: a good part of the inputs is beyond 1e7, and sums of their products finite */
#define MOST_F16 8.0        /* sums of thousands of products stay below 65504 */
#define MOST_X_F16 256.0    /* of inputs whose weights are chosen so that sums do */
#define ANY_FRACTION 1.1    /* a deviation whose multiples fill a float's fraction */
#define UNSIGNED_ZERO 128

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

/* Averages are not all near 0; maxima are all far below. */
static void widen_pool(const struct workload *w, struct tensor *t)
{
    widen_floats(t);
    t->random.hi = ANY_FRACTION;
    t->random.lo = workload_get(w, "kind") == 0 ? -16 : 1;
    if (t->dtype == DTYPE_F16 && workload_get(w, "kind") == 0)
        t->random.step = MOST_X_F16;
}

/* Any number: what is moved includes denormal and infinite ones. Sums are finite; those of f32 are not denormal, which
 * devices may flush. */
static void widen_moved(struct tensor *t, bool adds)
{
    const bool half = t->dtype == DTYPE_F16;

    t->random.kind = FILL_FLOATS;
    t->random.lo = half ? -24 : adds ? -90 : -149;
    t->random.hi = half ? 14 : 126;
    t->random.step = adds ? 0 : 1;
}

static int64_t terms_of(const struct tensor *w)
{
    return w->n_dims == 3 ? w->shape[2] : w->n_elems / w->shape[0];
}

/* Magnitudes in a sum: of a convolution one for each channel, or for those that lie together. */
static int64_t magnitudes_of(const struct tensor *x, const struct tensor *w)
{
    return w->n_dims < 4 ? terms_of(w) : x->n_dims > 4 ? w->shape[1] / x->shape[4] : w->shape[1];
}

/* f16: inputs beyond 64, weights so small that sums go to thousands and not beyond 65504. `list`: x, w. */
static void widen_halves(enum exact_data data, enum expect_mode mode, struct tensor *t, const struct tensor *list)
{
    const struct tensor *w = &list[1];
    const double terms = (double)terms_of(w), mixed = magnitudes_of(&list[0], w) >= 8;
    const bool coherent = mode == EXPECT_IN_F32 && data == EXACT_PLAIN;

    if (is(t, "x")) {
        widen_floats(t);
        t->random.step = MOST_X_F16;
        t->random.lo = coherent ? 1 : 0; /* sums grow: in f16 their last places are lost */
        return;
    }
    t->random.hi = coherent                  ? 23000 / (terms * (mixed > 0 ? 100 : MOST_X_F16))
                   : data == EXACT_WINOGRAD2 ? 1000 / (MOST_X_F16 * sqrt(terms))
                                             : 4000 / (MOST_X_F16 * sqrt(terms * (mixed > 0 ? 0.35 : 1)));
    t->random.lo = coherent ? t->random.hi : 0;
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
        t->random = (struct program_fill){.kind = FILL_INT, /* some above 1 */
                                          .seed = t->random.seed,
                                          .lo = 1,
                                          .hi = 8,
                                          .step = ldexp(1, -1 - (int)(log2(terms) / 4))};
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
        if (is(t, "x")) /* hundredths; round -47 * 2^23, where floats have no units and 24 bits end */
            t->random = (struct program_fill){.kind = FILL_ROWS,
                                              .seed = t->random.seed,
                                              .lo = -3942645.76,
                                              .hi = 300,
                                              .step = 100,
                                              .block = t->shape[1]};
        return;
    }
    t->random.kind = FILL_ROWS; /* many have one 1 and nothing but zeros */
    t->random.block = t->shape[1];
    t->random.lo = t->dtype == DTYPE_F16 ? -30000 : -3e6;
    t->random.hi = 4;
}

/* Gates that are shut or open as a whole, cells far from 0; of ReLU all is larger by one factor. */
static void widen_recurrent(const struct workload *w, struct tensor *t)
{
    const bool relu = w->dtype == DTYPE_F32 && workload_get(w, "cell") == 3;

    if (workload_get(w, "pass") != 0 || t->role == ROLE_OUTPUT)
        return;
    if (relu && t->random.kind == FILL_NORMAL)
        t->random.hi *= EXPECT_RELU_UNIT;
    else if (relu && (is(t, "bias") || is(t, "h0")))
        t->random.step *= EXPECT_RELU_UNIT;
    else if (!relu && is(t, "bias") && workload_get(w, "cell") != 3)
        t->random = (struct program_fill){.kind = FILL_WIDE, .seed = t->random.seed, .hi = 0.5, .step = 128};
    else if (!relu && is(t, "c0"))
        t->random = (struct program_fill){.kind = FILL_WIDE, .seed = t->random.seed, .hi = 0.5, .step = 32};
}

/* The bounds, sums beyond 2^24 where they are long enough; images or rows and output channels of one sign. */
static void widen_bytes(const struct workload *w, struct tensor *t)
{
    const bool product = is(t, "x") || is(t, "w");

    t->random.kind = FILL_EDGES;
    if (strcmp(w->op->name, "pool2d") == 0) {
        t->random.block = block_of(t);
        t->random.step = 1;
    } else if (product && strcmp(w->op->name, "transform") != 0)
        t->random.block = t->n_dims >= 4 ? t->n_elems / t->shape[0] : t->shape[t->n_dims - 1];
}

static void widen_random(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    static const char *const products[] = {"conv2d", "depthwise_conv2d", "dense", "batch_gemm"};
    struct tensor list[OPERATOR_MAX_TENSORS];
    const char *op = w->op->name;
    bool product = false;

    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        product |= strcmp(op, products[i]) == 0;
    (void)w->op->tensors(w, list); /* x, w, .. of products */
    if (strcmp(op, "rnn") == 0 && !is(t, "dgates") && !(is(t, "x") && workload_get(w, "pass") == 2))
        widen_recurrent(w, t);
    else if (is(t, "offset"))
        return;
    else if (strcmp(op, "reduce") == 0 && !reduce_takes_any(w))
        return;
    else if (strcmp(op, "eltwise") == 0) { /* others overflow, or have no result */
        if (eltwise_takes_any(w)) {
            widen_moved(t, true);
            t->random.lo /= 2; /* products */
            t->random.hi = floor(t->random.hi / 2);
        }
    } else if (strcmp(op, "softmax") == 0)
        widen_softmax(w, t);
    else if (workload_has(w, "epilogue") && (epilogue_of(w) & EPILOGUE_REQUANT))
        widen_requantised(w, t);
    else if (t->random.kind == FILL_NORMAL && strcmp(op, "pool2d") == 0)
        widen_pool(w, t);
    else if (t->random.kind == FILL_NORMAL && !is(t, "scale") &&
             (strcmp(op, "transform") == 0 || strcmp(op, "add") == 0))
        widen_moved(t, strcmp(op, "add") == 0);
    else if (product && t->dtype == DTYPE_F16 && (data == EXACT_PLAIN || data == EXACT_WINOGRAD2) &&
             (is(t, "x") || is(t, "w")))
        widen_halves(data, mode, t, list);
    else if (t->random.kind == FILL_NORMAL && !is(t, "scale"))
        widen_floats(t);
    else if (dtype_is_bytes(t->dtype) && t->random.kind == FILL_INT)
        widen_bytes(w, t);
    else if (t->dtype == DTYPE_I32 && t->random.kind == FILL_INT &&
             !is(t, "zero")) /* addends, up to 2^28: as floats hold them */
        t->random.lo = -(t->random.hi = 1 << 20), t->random.step = 256;
}

bool expect_has_relu(const struct workload *w)
{
    return (workload_has(w, "epilogue") && (epilogue_of(w) & EPILOGUE_RELU)) ||
           (workload_has(w, "relu") && workload_get(w, "relu"));
}

/* Sums change their signs with one factor and what is added. */
static bool is_negated(const struct workload *w, const struct tensor *t)
{
    return is(t, "w") || is(t, "bias") || is(t, "residual") || (strcmp(w->op->name, "add") == 0 && !is(t, "scale"));
}

static void change_exact(const struct workload *w, enum expect_mode mode, struct tensor *t)
{
    struct program_fill *f = &t->exact;

    if (f->kind != FILL_INT)
        return;
    if (expect_has_relu(w) && is_negated(w, t) && t->dtype != DTYPE_U8) {
        f->lo = fmax(f->lo, -f->hi); /* int8 has no 128 */
        if (mode == EXPECT_NEGATED)
            f->step = -(f->step == 0 ? 1 : f->step);
    }
    if (is(t, "x") && t->dtype == DTYPE_F32 && f->step == 0 && strcmp(w->op->name, "rnn") != 0 &&
        strcmp(w->op->name, "pool2d") != 0)
        f->step = -0.5;
}

void expect_widen(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    change_exact(w, mode, t);
    if (mode != EXPECT_NEGATED)
        widen_random(w, data, mode, t);
}
