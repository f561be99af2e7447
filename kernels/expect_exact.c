/* SPDX-License-Identifier: MIT */
#include "kernels/expect_exact.h"

#include "kernels/expect_parts.h"
#include "kernels/expect_wide.h"
#include "kernels/reduce/reduce.h"

#include <math.h>

/* Powers of two by which a turned pass is far from 1. */
#define TURNED_X (-112)
#define TURNED_Y (-40)
#define TURNED_X_F16 (-12)
#define TURNED_Y_F16 (-20)       /* a good part of the sums is subnormal */
#define TURNED_Y_HALF_SUMS (-10) /* where they are made in half such may be flushed */
#define TINY_SCALE (7 * 0x1p-43) /* of bytes; its inverse is no float: what is a half is off by a place times that */
#define MOST_WHOLE 254           /* 127 times 2: what is odd is a half */
#define MOST_EXPONENT 127

static bool is_float(const struct tensor *t)
{
    return !dtype_is_bytes(t->dtype) && t->dtype != DTYPE_I32;
}

/* The weights of products; false: the workload has none. */
static bool weights_of(const struct workload *w, struct tensor *out)
{
    struct tensor list[OPERATOR_MAX_TENSORS];
    const size_t n = w->op->tensors(w, list);

    for (size_t i = 0; i < n; i++)
        if (expect_has_products(w) && is(&list[i], "w")) {
            *out = list[i];
            return true;
        }
    return false;
}

double expect_products_in_a_sum(const struct workload *w)
{
    struct tensor weights;

    return weights_of(w, &weights) ? (double)terms_of(&weights) : 1;
}

struct program_fill expect_zero_ends(const struct workload *w, enum expect_mode mode)
{
    const bool adds = is_op(w, "add"), ends = mode == EXPECT_ENDS;
    const double high = has_relu(w) ? 250 : 255;

    if (adds)
        return (struct program_fill){.kind = FILL_TURNS, .lo = ends ? 0 : high, .hi = ends ? 255 : 0};
    if (mode == EXPECT_WIDE)
        return (struct program_fill){.kind = FILL_TURNS, .lo = 0, .hi = UNSIGNED_ZERO};
    return (struct program_fill){.kind = FILL_TURNS, .lo = 255, .hi = ends ? high : 0};
}

/* The factor of a float in a turned pass: sums change their sign with one factor and what is added. */
static double turned_by(const struct workload *w, const struct tensor *t)
{
    const bool half = t->dtype == DTYPE_F16, in_half = workload_has(w, "acc") && workload_get(w, "acc") == 1;
    const double of_y = -ldexp(1, in_half ? TURNED_Y_HALF_SUMS : half ? TURNED_Y_F16 : TURNED_Y);
    const double of_x = ldexp(1, half ? TURNED_X_F16 : TURNED_X);

    if (is(t, "x"))
        return is_op(w, "sparse_conv2d") ? of_y : of_x;
    if (is(t, "w") || is(t, "w_scale"))
        return of_y / of_x;
    return is(t, "bias") || is(t, "residual") || (is_op(w, "add") && !is(t, "scale")) ? of_y : 1;
}

/* Behind a ReLU6 nothing reaches 6. */
static double exact_by(const struct workload *w, enum expect_mode mode, const struct tensor *t)
{
    const bool negated = is(t, is_op(w, "sparse_conv2d") ? "x" : "w") || is(t, "w_scale") || is(t, "bias") ||
                         is(t, "residual") || (is_op(w, "add") && !is(t, "scale"));
    double by = 1;

    if (mode == EXPECT_TURNED && epilogue_unit(w) > 1)
        by = negated ? -1 : 1; /* smaller sums would lie on the curve */
    else if (is_float(t) && mode == EXPECT_TURNED)
        by = turned_by(w, t);
    else if (mode == EXPECT_TURNED && has_relu(w) && negated && t->dtype != DTYPE_U8)
        by = -1;
    else if ((epilogue_bits_of(w) & EPILOGUE_RELU6) && negated)
        by = ldexp(1, t->dtype == DTYPE_F16 ? TURNED_Y_HALF_SUMS : TURNED_Y);
    return by;
}

/* x in halves up to 8, bias and residuals of 18 bits, where sums of so many and projections stay exact. */
static void widen_exact(const struct workload *w, struct tensor *t)
{
    struct program_fill *f = &t->exact;
    struct tensor weights;
    const bool has = weights_of(w, &weights);

    if (is(t, "x"))
        f->step = -0.5;
    if (!has || terms_of(&weights) >= 100000 ||
        7 * 16 * (double)weights.n_elems + ldexp((double)weights.shape[0], 20) >= 0x1p33)
        return;
    if (is(t, "x") && f->hi == 7)
        f->lo = -(f->hi = 16);
    else if (is(t, "residual") || is(t, "bias"))
        f->lo = -(f->hi = 1 << 18);
}

/* Elements of x that lie together: of four channels, or a row. */
static int64_t together(const struct tensor *x)
{
    return x->n_dims < 4 ? x->shape[x->n_dims - 1] : x->n_dims > 4 ? block_of(x) : 4 * block_of(x);
}

/* Requantised: factors at their bounds that lie together, sums of one sign as large as they can be, addends beyond 16
 * and 24 bits, scales from far below 1e-5. */
static void put_at_ends(const struct workload *w, struct tensor *t)
{
    const double terms = expect_products_in_a_sum(w);
    struct program_fill *f = &t->exact;

    if (is(t, "zero"))
        *f = expect_zero_ends(w, EXPECT_ENDS);
    else if (is(t, "scale") && is_op(w, "add"))
        *f = (struct program_fill){.kind = FILL_TURNS, .lo = 3.7, .hi = 0.004};
    else if (is(t, "scale"))
        *f = (struct program_fill){
            .kind = FILL_INT, .seed = f->seed, .lo = 1, .hi = 64, .step = ldexp(1, -14 - (int)ceil(log2(terms)))};
    else if (is(t, "w"))
        *f = (struct program_fill){
            .kind = FILL_EDGES, .seed = f->seed, .lo = -128, .hi = 127, .block = t->n_elems / t->shape[0]};
    else if (is(t, "x") && expect_has_products(w))
        f->kind = FILL_EDGES, f->block = together(t);
    else if (is(t, "residual") && t->dtype == DTYPE_I32)
        *f = (struct program_fill){.kind = FILL_INT, .seed = f->seed, .lo = -1024, .hi = 1024, .step = 1 << 14};
    else if (is(t, "bias"))
        *f = (struct program_fill){
            .kind = FILL_INT, .seed = f->seed, .lo = -1024, .hi = 1024, .step = 32 * fmin(ceil(terms), 256)};
}

/* Quotients that are halves, of a tiny scale, and a zero point that is odd. */
static void quantise_tiny(struct tensor *t)
{
    struct program_fill *f = &t->exact;

    if (is(t, "scale"))
        *f = (struct program_fill){.kind = FILL_VALUE, .lo = TINY_SCALE};
    else if (is(t, "zero"))
        *f = (struct program_fill){.kind = FILL_VALUE, .lo = 101};
    else if (is(t, "x") && t->dtype == DTYPE_F32)
        *f = (struct program_fill){.kind = FILL_INT, .seed = f->seed, .lo = -400, .hi = 400, .step = TINY_SCALE / 2};
}

static bool seeks_largest(const struct workload *w)
{
    if (is_op(w, "reduce"))
        return workload_get(w, "kind") == REDUCE_MAX || workload_get(w, "kind") == REDUCE_MIN;
    return is_op(w, "pool2d") && is_maximum(w);
}

/* May sums of so many products of MOST_WHOLE, differences up to 15 and 1, and projections of n, be exact? */
static bool takes_whole_blocks(const struct workload *w)
{
    const double sum = MOST_WHOLE * 15.0 * (double)workload_get(w, "k");

    return sum <= 0x1p24 && sum * (double)workload_get(w, "n") < 0x1p33;
}

/* Whole numbers as far from 1 as changes no sum of them: of halves the largest subnormal, means next to the largest
 * float, where differences are beyond it. Blocks of x that are rounded: their largest is 127 times a power of two, of
 * the others halves. */
static void move_exact(const struct workload *w, struct tensor *t)
{
    struct program_fill *f = &t->exact;

    if (t->dtype == DTYPE_F16 && seeks_largest(w))
        f->step = 0x1p-24;
    else if (t->dtype == DTYPE_F32 && is_op(w, "resize2d") && !is_nearest(w))
        f->step = ldexp(f->step, MOST_EXPONENT - (int)floor(log2(f->hi * f->step)));
    else if (w->dtype == DTYPE_F32 && is_op(w, "dense4") && workload_get(w, "bytes") && takes_whole_blocks(w)) {
        if (is(t, "x"))
            *f = (struct program_fill){.kind = FILL_EDGES, .seed = f->seed, .lo = -MOST_WHOLE, .hi = MOST_WHOLE};
        else if (is(t, "w_scale"))
            f->lo = -(f->hi = 1);
    }
}

void expect_change_exact(const struct workload *w, enum expect_mode mode, struct tensor *t)
{
    const double by = exact_by(w, mode, t);
    struct program_fill *f = &t->exact;

    if (is(t, "zero") && (mode == EXPECT_TURNED || (mode == EXPECT_WIDE && !is_op(w, "add"))))
        *f = expect_zero_ends(w, mode);
    if (mode == EXPECT_ENDS)
        put_at_ends(w, t);
    if (mode == EXPECT_WIDE && is_op(w, "quantize"))
        quantise_tiny(t);
    if (f->kind != FILL_INT || mode == EXPECT_ENDS)
        return;
    if (has_relu(w) && by != 1)
        f->lo = fmax(f->lo, -f->hi);
    if (t->dtype == DTYPE_F32 && f->step == 0 && !is_op(w, "rnn") && !is_op(w, "pool2d") &&
        (is(t, "x") || is(t, "residual") || is(t, "bias")))
        widen_exact(w, t);
    if (mode == EXPECT_WIDE || mode == EXPECT_IN_F32)
        move_exact(w, t);
    if (by != 1)
        f->step = by * (f->step == 0 ? 1 : f->step);
    if (mode == EXPECT_TURNED && is(t, "w") && expect_has_products(w)) /* outputs whose products are 0 */
        f->block = terms_of(t);
}
