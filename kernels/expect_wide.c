/* SPDX-License-Identifier: MIT */
#include "kernels/expect_wide.h"

#include "kernels/conv/shape.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/epilogue.h"
#include "kernels/expect_like.h"
#include "kernels/norm/epsilon.h"
#include "kernels/reduce/reduce.h"

#include <math.h>
#include <string.h>

#define MOST_F32 16777216.0 /* 2^24: a good part of the inputs is beyond 1e7, and sums of their products finite */
#define MOST_F16 8.0        /* sums of thousands of products stay below 65504 */
#define MOST_X_F16 256.0    /* of inputs whose weights are chosen so that sums do */
#define ANY_FRACTION 1.1    /* a deviation whose multiples fill a float's fraction */
#define UNSIGNED_ZERO 128
/* Powers of two by which factors are far from 1; their products are not, or are by as much as outputs are. */
#define WIDE_X 88
#define TINY_W 100     /* of weights of output channels */
#define BAND_X 0x1p100 /* and of inputs of a band */
#define MOST_BAND_W 1
#define FEW_PRODUCTS 2 /* in sums of few, about */
#define TURNED_X (-112)
#define TURNED_Y (-40)
#define TURNED_X_F16 (-12)
#define TURNED_Y_F16 (-20)       /* a good part of the sums is subnormal */
#define TURNED_Y_HALF_SUMS (-10) /* where they are made in half such may be flushed */
#define FACTOR 1.887             /* the deviation whose numbers have products round 1 */
#define MOST_FACTORS 100         /* whose product is neither infinite nor 0 */
#define FAR_F32 (-3e6)           /* the first of rows: floats have quarters there */
#define FAR_F16 (-30000)
#define NEAR_SCALE (3 * 0x1p-20)  /* times NEAR_ADDEND 52.5, but above it with 1 more, */
#define NEAR_ADDEND (35 * 0x1p19) /* which floats do not hold */
#define BOTH_ENDS 2               /* blocks: ties at the lower end, at the upper one */
#define MOST_TURNS 3              /* blocks of which one is far, one has anything, one is infinite */
#define OFF_PLACE (-20)           /* exponents of samples: just inside the image and just outside, */
#define OFF_PLACE_F16 (-14)       /* as halves hold it */
#define EQUAL_F32 0.01309         /* units in which powers of e of 64 and 120 are summed up with the most error */
#define EQUAL_F16 0.00317
#define TINY_SCALE (7 * 0x1p-43) /* of bytes; its inverse is no float: what is a half is off by a place times that */
#define MOST_AVERAGED 0x1p100
#define TINY_PIXEL 0x1p-20
#define LARGE_DEVIATION 0x1p52 /* of rows: squares beyond 1e30, and finite */
#define LARGE_DEVIATION_F16 1024
#define ROUNDED_UP (1.890625 / 300) /* times 300 a number whose sums of up to 32 halves are mostly rounded one way */
#define LARGE_WEIGHT 30             /* whose products with inputs up to 1500 are below 65504 */

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

static bool is_op(const struct workload *w, const char *name)
{
    return strcmp(w->op->name, name) == 0;
}

/* Sums of products of the tensors x and w; of sparse weights those are no tensor. */
bool expect_has_products(const struct workload *w)
{
    static const char *const names[] = {"conv2d", "depthwise_conv2d", "deformable_conv2d", "sparse_conv2d",
                                        "dense",  "batch_gemm"};
    bool has = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        has |= is_op(w, names[i]);
    return has;
}

static unsigned epilogue_bits_of(const struct workload *w)
{
    return workload_has(w, "epilogue") ? epilogue_of(w) : 0;
}

static bool has_relu(const struct workload *w)
{
    return (epilogue_bits_of(w) & EPILOGUE_RELU) || (workload_has(w, "relu") && workload_get(w, "relu"));
}

static bool is_float(const struct tensor *t)
{
    return !dtype_is_bytes(t->dtype) && t->dtype != DTYPE_I32;
}

static void widen_floats(struct tensor *t)
{
    t->random.kind = FILL_WIDE;
    t->random.block = block_of(t);
    t->random.step = t->dtype == DTYPE_F16 ? MOST_F16 : MOST_F32;
}

static bool is_maximum(const struct workload *w)
{
    return workload_get(w, "kind") == 0;
}

/* Numbers of which the largest is sought, or with side -1 the least: in blocks far on one side, infinite, or any but
 * denormal ones, which devices may flush. Block 0: all are infinite. */
static struct program_fill any_sided(const struct tensor *t, int side, int64_t block)
{
    const bool half = t->dtype == DTYPE_F16;

    if (block == 0) /* beyond the exponents of all types */
        return (struct program_fill){
            .kind = FILL_FLOATS, .seed = t->random.seed, .lo = 1024, .hi = 1031, .step = side, .block = t->n_elems};
    return (struct program_fill){.kind = FILL_FLOATS,
                                 .seed = t->random.seed,
                                 .lo = half ? -24 : -126, /* subnormal halves count */
                                 .hi = half ? 15 : 127,
                                 .step = side,
                                 .block = block};
}

/* One number far from the others, in blocks far from 0. */
static struct program_fill spiked(const struct tensor *t, int side, int64_t block)
{
    return (struct program_fill){.kind = FILL_ROWS,
                                 .seed = t->random.seed,
                                 .lo = t->dtype == DTYPE_F16 ? FAR_F16 : FAR_F32,
                                 .hi = 4,
                                 .step = side,
                                 .block = block};
}

/* Planes; where they are fewer than n, parts that hold a window; 0: n of them are more than there is. */
static int64_t block_of_pool(const struct workload *w, const struct tensor *x, int64_t n)
{
    const struct conv_shape s = conv_shape_of(w);
    const int64_t plane = block_of(x), rows = s.r + s.stride_h - 1;

    if (x->n_elems / plane >= n)
        return plane;
    return rows * n <= s.h ? plane / s.h * rows : 0;
}

/* Averages are not all near 0; maxima are any numbers, of some planes all far below 0 or infinite. */
static void widen_pool(const struct workload *w, struct tensor *t)
{
    const double tiny = t->dtype == DTYPE_F16 ? 0x1p-16 : 1; /* subnormal */

    if (is_maximum(w)) {
        t->random = any_sided(t, 1, block_of_pool(w, t, MOST_TURNS));
        return;
    }
    widen_floats(t);
    t->random.hi = ANY_FRACTION * tiny;
    t->random.lo = tiny;
    t->random.step = t->dtype == DTYPE_F32 ? MOST_AVERAGED : t->random.step / tiny;
}

/* Images of tiny numbers, and of others. */
static void widen_linear(struct tensor *t)
{
    widen_floats(t);
    if (t->dtype != DTYPE_F32)
        return;
    t->random.hi = ANY_FRACTION * TINY_PIXEL;
    t->random.step /= TINY_PIXEL;
}

/* Means of bytes that are halves, at either end and between; of floats planes with one largest element, also the last
 * one. */
static void end_pool(const struct workload *w, struct tensor *t)
{
    const int64_t block = block_of_pool(w, t, BOTH_ENDS);

    if (is_maximum(w))
        t->random = spiked(t, 1, block_of(t));
    else
        t->random = (struct program_fill){.kind = FILL_TIES,
                                          .seed = t->random.seed,
                                          .lo = t->random.lo,
                                          .hi = t->random.hi,
                                          .block = block ? block : block_of(t)};
}

/* Any number: what is moved includes denormal and infinite ones, and NaN. What else is (adds) includes no f32 denormal
 * numbers, which devices may flush; sums may be infinite. */
static void widen_moved(struct tensor *t, bool adds)
{
    const bool half = t->dtype == DTYPE_F16;

    t->random.kind = FILL_FLOATS;
    t->random.lo = half ? -24 : adds ? -90 : -149;
    t->random.hi = half ? 15 : adds ? 127 : 126;
    t->random.step = adds ? 0 : 2;
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
    if (coherent) { /* what adds up to 1/150 of a sum, but is lost by itself where sums are f16 */
        t->random.step = LARGE_WEIGHT;
        t->random.block = terms_of(w);
    }
}

/* Zero points at their ends: of x 0 in the exact pass, 255 in others; of the result, at the odd places, 128 there, 0
 * and 255 in others, but behind a ReLU something is left above. Addends and their sum: in turn. */
static struct program_fill zero_ends(const struct workload *w, enum expect_mode mode)
{
    const bool adds = is_op(w, "add"), ends = mode == EXPECT_ENDS;
    const double high = has_relu(w) ? 250 : 255;

    if (adds)
        return (struct program_fill){.kind = FILL_TURNS, .lo = ends ? 0 : high, .hi = ends ? 255 : 0};
    if (mode == EXPECT_WIDE)
        return (struct program_fill){.kind = FILL_TURNS, .lo = 0, .hi = UNSIGNED_ZERO};
    return (struct program_fill){.kind = FILL_TURNS, .lo = 255, .hi = ends ? high : 0};
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

/* 1 without weights. */
static double products_in_a_sum(const struct workload *w)
{
    struct tensor weights;

    return weights_of(w, &weights) ? (double)terms_of(&weights) : 1;
}

/* Requantised sums: whole numbers times a third of a power of two, so that a good part of them are halves, many of
 * these once they are rounded to f32; those of few small products, so that they are not beyond 127 all. Where there is
 * a bias every second channel has sums beyond 2^24. */
static void widen_requantised(const struct workload *w, struct tensor *t)
{
    const double terms = products_in_a_sum(w), step = ldexp(1, -1 - (int)(log2(terms) / 4)) / 3;
    const bool has_bias = epilogue_bits_of(w) & EPILOGUE_BIAS;

    if (is(t, "scale") && has_bias)
        t->random = (struct program_fill){.kind = FILL_TURNS, .lo = 21 * step, .hi = NEAR_SCALE};
    else if (is(t, "bias"))
        t->random = (struct program_fill){.kind = FILL_TURNS, .lo = 1, .hi = NEAR_ADDEND};
    else if (is(t, "zero"))
        t->random = (struct program_fill){.kind = FILL_TURNS, .lo = UNSIGNED_ZERO, .hi = UNSIGNED_ZERO + 1};
    else if (is(t, "sum_scale"))
        t->random = (struct program_fill){.kind = FILL_VALUE, .lo = 0.5};
    else if (is(t, "scale"))
        t->random = (struct program_fill){.kind = FILL_INT, /* some above 1 */
                                          .seed = t->random.seed,
                                          .lo = 1,
                                          .hi = 24,
                                          .step = step};
    else
        t->random.lo = -(t->random.hi = is(t, "x") || is(t, "w") ? 2 : 8);
    if (t->dtype == DTYPE_U8) {
        t->random.lo += UNSIGNED_ZERO;
        t->random.hi += UNSIGNED_ZERO;
    }
}

/* Of two sizes: sums of these show roundings. */
static struct program_fill powers(const struct tensor *t)
{
    return (struct program_fill){.kind = FILL_INT, .seed = t->random.seed, .lo = -1, .hi = 0};
}

/* Rows of equal numbers but for one that is larger: their powers are always rounded the same way. Some of 0 alone. */
static struct program_fill equal_powers(const struct tensor *t)
{
    return (struct program_fill){.kind = FILL_ROWS,
                                 .seed = t->random.seed,
                                 .hi = 1e-300,
                                 .step = t->dtype == DTYPE_F16 ? EQUAL_F16 : EQUAL_F32,
                                 .block = t->shape[1]};
}

static void widen_softmax(const struct workload *w, enum expect_mode mode, struct tensor *t)
{
    const double unit = mode == EXPECT_ENDS ? 4 : 0x1p-20; /* of differences beyond 2^20 */

    if (w->dtype == DTYPE_I8) {
        if (is(t, "scale"))
            t->random.lo = unit;
        else /* round -47 * 2^23, where floats have no units and 24 bits end */
            t->random = (struct program_fill){.kind = FILL_ROWS,
                                              .seed = t->random.seed,
                                              .lo = -394264576 * unit,
                                              .hi = 3 / unit,
                                              .step = 1 / unit,
                                              .block = t->shape[1]};
        return;
    }
    t->random = mode == EXPECT_ENDS ? equal_powers(t) : spiked(t, 1, t->shape[1]);
}

/* Gates that are shut or open as a whole, cells far from 0; of ReLU all is larger by one factor, backwards what is
 * above 0 tiny. */
static void widen_recurrent(const struct workload *w, struct tensor *t)
{
    const bool relu = w->dtype == DTYPE_F32 && workload_get(w, "cell") == 3;

    if (workload_get(w, "pass") == 1 && workload_get(w, "cell") == 3 && is(t, "cand"))
        t->random.step = ldexp(1, w->dtype == DTYPE_F16 ? -20 : -60);
    if (workload_get(w, "pass") != 0 || t->role == ROLE_OUTPUT)
        return;
    if (relu && t->random.kind == FILL_NORMAL)
        t->random.hi *= EXPECT_RELU_UNIT;
    else if (relu && (is(t, "bias") || is(t, "h0")))
        t->random.step *= EXPECT_RELU_UNIT;
    else if (!relu && is(t, "bias") && workload_get(w, "cell") != 3)
        t->random = (struct program_fill){.kind = FILL_WIDE, .seed = t->random.seed, .hi = 0.5, .step = 128};
    else if (!relu && is(t, "c0"))
        t->random = (struct program_fill){.kind = FILL_WIDE, .seed = t->random.seed, .hi = 0.5, .step = 256};
    else if (!relu && is(t, "h0") && workload_get(w, "cell") != 3) /* beyond what a state becomes */
        t->random = (struct program_fill){.kind = FILL_WIDE, .seed = t->random.seed, .hi = 0.5, .step = 8};
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

/* Sums of f32 whose inputs are cut into bands. */
static bool has_bands(const struct workload *w)
{
    return w->dtype == DTYPE_F32 &&
           (is_op(w, "conv2d") || is_op(w, "depthwise_conv2d") || is_op(w, "dense") || is_op(w, "batch_gemm"));
}

/* x in bands of an image, or by rows: of few numbers that are not 0, so that nothing is lost beside others, of very
 * large ones, of usual ones. Of each output channel weights and what is added are of one size, tiny or large. Where
 * curves are, usual. */
static void widen_banded(const struct workload *w, struct tensor *t)
{
    const double terms = products_in_a_sum(w), tiny = epilogue_unit(w) > 1 ? 1 : ldexp(1, -TINY_W);
    struct program_fill *f = &t->random;

    f->hi *= ANY_FRACTION;
    if (is(t, "x")) {
        f->kind = FILL_BANDS;
        f->lo = fmax(1, floor(terms / FEW_PRODUCTS));
        f->step = BAND_X;
        f->block = t->n_dims < 4 ? 4 * t->shape[t->n_dims - 1] : block_of(t);
        return;
    }
    f->kind = FILL_WIDE;
    f->hi *= tiny;
    f->step = MOST_BAND_W / tiny; /* sums of their products are finite */
    f->block = is(t, "w") ? terms_of(t) : block_of(t);
}

/* Factors far from 1 whose products are not. */
static void widen_factor(const struct workload *w, struct tensor *t)
{
    if (has_bands(w)) {
        widen_banded(w, t);
        return;
    }
    widen_floats(t);
    if (expect_has_products(w) && !is_op(w, "sparse_conv2d") && t->dtype != DTYPE_F16 && (is(t, "x") || is(t, "w")))
        t->random.hi *= ldexp(1, is(t, "x") ? WIDE_X : -WIDE_X);
}

static void widen_eltwise(const struct workload *w, struct tensor *t)
{
    if (!eltwise_takes_any(w)) { /* others overflow, or have no result, somewhere */
        t->random = eltwise_wide_fill(w, t->name[0] - 'a', &t->random);
        return;
    }
    widen_moved(t, true);
    t->random.hi = t->dtype == DTYPE_F16 ? 14 : t->random.hi;
    if (t->dtype != DTYPE_F16)
        t->random.lo /= 2;                      /* products */
    t->random.hi = floor(t->random.hi / 2) + 1; /* some beyond the largest number */
}

/* Few numbers of y, each of a row. */
static bool is_one_row(const struct tensor *x)
{
    return x->shape[0] < MOST_TURNS && x->shape[2] == 1;
}

/* By which numbers up to 420 are smaller, so that halves hold what becomes of n of them. */
static double unit_of(const struct workload *w, double n)
{
    const int64_t kind = workload_get(w, "kind");
    const double most = 30000, terms = kind == REDUCE_MEAN ? 1 : n;

    if (w->dtype != DTYPE_F16)
        return 1;
    return kind == REDUCE_L2           ? most / (420 * sqrt(terms))
           : kind == REDUCE_SUM_SQUARE ? sqrt(most / terms) / 420
                                       : fmin(1, most / (420 * terms));
}

/* Equal numbers: what is rounded is always rounded the same way. Of others one far from the rest. */
static void end_reduce(const struct workload *w, struct tensor *t)
{
    const int64_t row = t->shape[1] * t->shape[2], kind = workload_get(w, "kind");
    const int side = kind == REDUCE_MIN ? -1 : 1;
    struct program_fill *f = &t->random;

    if (kind == REDUCE_MAX || kind == REDUCE_MIN)
        *f = t->shape[0] < MOST_TURNS && !is_one_row(t) ? any_sided(t, side, 0) : spiked(t, side, row);
    else if (kind == REDUCE_LOG_SUM)
        *f = (struct program_fill){.kind = FILL_VALUE, .lo = 0.1};
    else if (kind == REDUCE_LOG_SUM_EXP)
        *f = powers(t);
    else
        *f = (struct program_fill){.kind = FILL_ROWS, .lo = 0.1, .step = unit_of(w, (double)t->shape[1]), .block = row};
    if (f->kind == FILL_ROWS && f->lo == 0.1 && w->dtype == DTYPE_F16)
        f->step = ldexp(ROUNDED_UP, (int)floor(log2(f->step / ROUNDED_UP)));
}

/* By kind; rows are all that becomes numbers of y that lie together. */
static void widen_reduce(const struct workload *w, struct tensor *t)
{
    const int64_t row = t->shape[1] * t->shape[2], kind = workload_get(w, "kind"), n = t->shape[1];
    const bool half = t->dtype == DTYPE_F16;
    struct program_fill *f = &t->random;

    if (kind == REDUCE_MAX || kind == REDUCE_MIN)
        *f = any_sided(t, kind == REDUCE_MAX ? 1 : -1, is_one_row(t) ? 0 : row);
    else if (kind == REDUCE_LOG_SUM_EXP)
        *f = spiked(t, 1, row);
    else if (kind == REDUCE_LOG_SUM) /* from tiny ones on */
        *f = (struct program_fill){.kind = FILL_WIDE,
                                   .seed = f->seed,
                                   .lo = half ? 0x1p-6 : 0x1p-100,
                                   .hi = half ? 0x1p-9 : 0x1p-103,
                                   .step = half ? 0x1p12 : 0x1p100,
                                   .block = row};
    else if (kind == REDUCE_PROD) { /* of either sign: 1 and -1, or near them; some 0 */
        *f = half || n > MOST_FACTORS
                 ? (struct program_fill){.kind = FILL_TURNS, .seed = f->seed, .lo = 1, .hi = -1, .step = 1}
                 : (struct program_fill){.kind = FILL_NORMAL, .seed = f->seed, .hi = FACTOR};
        f->zeros = row;
    } else if (reduce_takes_any(w))
        widen_floats(t);
}

/* Elements are moved, but not as bits. */
static bool is_nearest(const struct workload *w)
{
    return is_op(w, "resize2d") && workload_get(w, "kind") == 0;
}

static bool only_moves(const struct workload *w)
{
    return is_op(w, "transform") || is_op(w, "concat") || is_op(w, "strided_copy") || is_op(w, "gather");
}

/* Of four rows two have a variance of about epsilon, one or two a larger one, beyond what halves hold. */
static struct program_fill near_epsilon(const struct workload *w, const struct tensor *x)
{
    const bool half = x->dtype == DTYPE_F16;
    const double deviation = sqrt((double)workload_get(w, "epsilon") * NORM_UNIT);
    const double least = fmin(fmax(deviation, half ? 0x1p-14 : 0x1p-40), 1);
    const double most = half ? LARGE_DEVIATION_F16 : LARGE_DEVIATION;

    return (struct program_fill){.kind = FILL_WIDE,
                                 .seed = x->random.seed,
                                 .hi = least,
                                 .step = ldexp(1, (int)log2(most / least)),
                                 .block = x->shape[1],
                                 .zeros = x->shape[1]};
}

static void widen_random(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    const bool normal = t->random.kind == FILL_NORMAL && !is(t, "scale"), factor = is(t, "x") || is(t, "w");
    struct tensor list[OPERATOR_MAX_TENSORS];

    (void)w->op->tensors(w, list); /* x, w, .. of products */
    if (is_op(w, "rnn") && !is(t, "dgates") && !(is(t, "x") && workload_get(w, "pass") == 2))
        widen_recurrent(w, t);
    else if (is(t, "offset"))
        t->random = (struct program_fill){.kind = FILL_FLOATS,
                                          .seed = t->random.seed,
                                          .lo = t->dtype == DTYPE_F16 ? OFF_PLACE_F16 : OFF_PLACE,
                                          .hi = -1};
    else if (is_op(w, "reduce") && mode == EXPECT_ENDS)
        end_reduce(w, t);
    else if (is_op(w, "reduce"))
        widen_reduce(w, t);
    else if (is_op(w, "eltwise"))
        widen_eltwise(w, t);
    else if (is_op(w, "pool2d") && mode == EXPECT_ENDS)
        end_pool(w, t);
    else if (is_op(w, "softmax"))
        widen_softmax(w, mode, t);
    else if (is_op(w, "norm")) { /* squares of factors far from 1 would be infinite */
        if (is(t, "x"))
            t->random = mode == EXPECT_ENDS ? near_epsilon(w, t) : spiked(t, 1, t->shape[1]);
        else if (t->dtype != DTYPE_F16 && is(t, "w"))
            widen_floats(t);
    } else if (epilogue_bits_of(w) & EPILOGUE_REQUANT)
        widen_requantised(w, t);
    else if (is(t, "zero") && is_op(w, "quantize")) /* 255 in the pass like it: a bound shows */
        t->random = (struct program_fill){.kind = FILL_VALUE, .lo = 0};
    else if (is(t, "scale") && is_op(w, "add"))
        t->random = (struct program_fill){.kind = FILL_TURNS, .lo = 3.7, .hi = 0.004};
    else if (normal && is_op(w, "pool2d"))
        widen_pool(w, t);
    else if (normal && is_op(w, "resize2d") && !is_nearest(w))
        widen_linear(t);
    else if (normal && (only_moves(w) || is_op(w, "add") || is_nearest(w)))
        widen_moved(t, !only_moves(w));
    else if (expect_has_products(w) && t->dtype == DTYPE_F16 && !is_op(w, "deformable_conv2d") && factor &&
             (data == EXACT_PLAIN || data == EXACT_WINOGRAD2))
        widen_halves(data, mode, t, list);
    else if (normal)
        widen_factor(w, t);
    else if (is(t, "zero") && expect_has_products(w)) /* of the pass behind it, too: what is packed may look the same */
        t->random = zero_ends(w, EXPECT_TURNED);
    else if (dtype_is_bytes(t->dtype) && t->random.kind == FILL_INT)
        widen_bytes(w, t);
    else if (t->dtype == DTYPE_I32 && t->random.kind == FILL_INT &&
             !is(t, "zero")) /* addends that floats do not hold */
        t->random.lo = -(t->random.hi = 1 << 28);
}

static bool is_requantised(const struct workload *w)
{
    return (epilogue_bits_of(w) & EPILOGUE_REQUANT) || (is_op(w, "add") && dtype_is_bytes(w->dtype));
}

bool expect_turns(const struct workload *w)
{
    return has_relu(w) || (expect_has_products(w) && w->dtype != DTYPE_I8) || (is_op(w, "add") && w->dtype == DTYPE_U8);
}

bool expect_has_ends(const struct workload *w)
{
    return is_requantised(w) || is_op(w, "softmax") || is_op(w, "norm") ||
           (is_op(w, "reduce") && workload_get(w, "kind") != REDUCE_PROD) ||
           (is_op(w, "pool2d") && is_maximum(w) != dtype_is_bytes(w->dtype));
}

bool expect_is_exact(const struct workload *w, enum expect_mode mode)
{
    return mode == EXPECT_TURNED || mode == EXPECT_LIKE || mode == EXPECT_MOVED ||
           (mode == EXPECT_ENDS && is_requantised(w));
}

bool expect_is_random(const struct workload *w, enum expect_mode mode)
{
    return mode == EXPECT_SPECIAL || (mode == EXPECT_ENDS && !is_requantised(w));
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
    const double terms = products_in_a_sum(w);
    struct program_fill *f = &t->exact;

    if (is(t, "zero"))
        *f = zero_ends(w, EXPECT_ENDS);
    else if (is(t, "scale") && is_op(w, "add"))
        *f = (struct program_fill){.kind = FILL_TURNS, .lo = 0.004, .hi = 3.7};
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

static void change_exact(const struct workload *w, enum expect_mode mode, struct tensor *t)
{
    const double by = exact_by(w, mode, t);
    struct program_fill *f = &t->exact;

    if (is(t, "zero") && (mode == EXPECT_TURNED || (mode == EXPECT_WIDE && !is_op(w, "add"))))
        *f = zero_ends(w, mode);
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
    if (by != 1)
        f->step = by * (f->step == 0 ? 1 : f->step);
    if (mode == EXPECT_TURNED && is(t, "w") && expect_has_products(w)) /* outputs whose products are 0 */
        f->block = terms_of(t);
}

/* Elements of a row, of all channels that lie together; of one dimension alone an eighth. */
static int64_t row_of(const struct tensor *t)
{
    if (t->n_dims == 1 && t->n_elems >= 64)
        return t->n_elems / 8;
    return t->n_dims > 4 ? t->shape[3] * t->shape[4] : t->shape[t->n_dims - 1];
}

/* The row, plane or step in time of which zeros of the wide pass are a part; 0 = the tensor has none. Sums that
 * Winograd's transforms make mix what is 0 with what is not. */
static int64_t part_of(const struct workload *w, enum exact_data data, const struct tensor *t)
{
    const bool is_product = expect_has_products(w) && is(t, "x") && data == EXACT_PLAIN;

    if (is_op(w, "rnn"))
        return is(t, "x") || is(t, "dy") ? t->n_elems / t->shape[0] : 0;
    if (is_op(w, "deformable_conv2d") && is(t, "w")) /* sums of one product alone */
        return terms_of(t);
    if (t->dtype == DTYPE_I8 && t->n_dims >= 4 && is_product) /* sums as large as they can be are of whole windows */
        return 0;
    if (only_moves(w) || (is_op(w, "resize2d") && !is_nearest(w)) || (is_op(w, "batch_gemm") && is(t, "w")))
        return row_of(t);
    return !is_product ? 0 : t->n_dims < 4 || dtype_is_bytes(t->dtype) ? row_of(t) : block_of(t);
}

/* Zeros as they lie behind a ReLU, in what the exact pass computes of without powers, and in the wide one. */
static void put_zeros(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    const bool product = expect_has_products(w) && (is(t, "x") || (is_op(w, "batch_gemm") && is(t, "w")));
    const bool number = !is(t, "scale") && !is(t, "zero") && !is(t, "at");
    const int64_t part = part_of(w, data, t);

    if (t->exact.kind == FILL_INT && t->exact.block == 0 &&
        (product || (number && (is_op(w, "add") || is_op(w, "pool2d") || is_op(w, "eltwise") || is_op(w, "reduce") ||
                                is_op(w, "resize2d") || only_moves(w)))))
        t->exact.zeros = row_of(t);
    if (expect_is_exact(w, mode) || part == 0 || !number || (t->dtype == DTYPE_F16 && mode != EXPECT_IN_F32 && product))
        return;
    t->random.zeros = part;
    if (t->dtype == DTYPE_F32 && t->random.kind == FILL_WIDE)
        t->random.hi *= ANY_FRACTION;
}

void expect_widen(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    change_exact(w, mode, t);
    if (expect_is_last(mode)) {
        expect_liken(w, data, mode, t);
        return;
    }
    if (!expect_is_exact(w, mode))
        widen_random(w, data, mode, t);
    if (mode != EXPECT_ENDS)
        put_zeros(w, data, mode, t);
}
