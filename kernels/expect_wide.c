/* SPDX-License-Identifier: MIT */
#include "kernels/expect_wide.h"

#include "kernels/conv/shape.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/epilogue.h"
#include "kernels/expect_exact.h"
#include "kernels/expect_like.h"
#include "kernels/expect_parts.h"
#include "kernels/norm/epsilon.h"
#include "kernels/reduce/reduce.h"

#include <math.h>
#include <string.h>

#define MOST_F32 16777216.0 /* 2^24: a good part of the inputs is beyond 1e7, and sums of their products finite */
#define MOST_F16 8.0        /* sums of thousands of products stay below 65504 */
#define MOST_X_F16 256.0    /* of inputs whose weights are chosen so that sums do */
#define ANY_FRACTION 1.1    /* a deviation whose multiples fill a float's fraction */
/* Powers of two by which factors are far from 1; their products are not, or are by as much as outputs are. */
#define WIDE_X 88
#define TINY_W 100     /* of weights of output channels */
#define BAND_X 0x1p100 /* and of inputs of a band */
#define MOST_BAND_W 1
#define FEW_PRODUCTS 2   /* in sums of few, about */
#define FACTOR 1.887     /* the deviation whose numbers have products round 1 */
#define MOST_FACTORS 100 /* whose product is neither infinite nor 0 */
#define FAR_F32 (-3e6)   /* the first of rows: floats have quarters there */
#define FAR_F16 (-30000)
#define NEAR_SCALE (3 * 0x1p-20)  /* times NEAR_ADDEND 52.5, but above it with 1 more, */
#define NEAR_ADDEND (35 * 0x1p19) /* which floats do not hold; nor do they the addend that is 1 more */
#define BOTH_ENDS 2               /* blocks: ties at the lower end, at the upper one */
#define MOST_TURNS 3              /* blocks of which one is far, one has anything, one is infinite */
#define OFF_PLACE (-20)           /* exponents of samples: just inside the image and just outside, */
#define OFF_PLACE_F16 (-14)       /* as halves hold it */
#define EQUAL_F32 0.01309         /* units in which powers of e of 64 and 120 are summed up with the most error */
#define EQUAL_F16 0.00317
#define MOST_AVERAGED 0x1p100
#define TINY_PIXEL 0x1p-20
#define LARGE_DEVIATION 0x1p52 /* of rows: squares beyond 1e30, and finite */
#define LARGE_DEVIATION_F16 1024
#define MOST_OF_SUMS (0x1p31 - 0x1p29)
#define ROUNDED_UP (1.890625 / 300) /* times 300 a number whose sums of up to 32 halves are mostly rounded one way */
#define LARGE_WEIGHT 30             /* whose products with inputs up to 1500 are below 65504 */
#define BLOCKS_X (-100)             /* of inputs that are rounded by blocks, and the inverse of their weights' scales */
#define MOST_BLOCKS_F16 1024
#define USUAL_TERMS 96.0
#define LARGE_W 20 /* of a normalised row's weights; with a factor of 100 more beyond the largest float */
#define MOST_LOG2_NORM 124

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

static void widen_floats(struct tensor *t)
{
    t->random.kind = FILL_WIDE;
    t->random.block = block_of(t);
    t->random.step = t->dtype == DTYPE_F16 ? MOST_F16 : MOST_F32;
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
                                          .block = block ? block : block_of(t),
                                          .seen = t->n_dims > 4 ? t->shape[4] : 1};
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

/* Requantised sums: whole numbers times a third of a power of two, so that a good part of them are halves, many of
 * these once they are rounded to f32; those of few small products, so that they are not beyond 127 all. Where there is
 * a bias every second channel has sums beyond 2^24. */
static void widen_requantised(const struct workload *w, struct tensor *t)
{
    const double terms = expect_products_in_a_sum(w), step = ldexp(1, -1 - (int)(log2(terms) / 4)) / 3;
    const bool has_bias = epilogue_bits_of(w) & EPILOGUE_BIAS;

    if (is(t, "scale") && has_bias)
        t->random = (struct program_fill){.kind = FILL_TURNS, .lo = 21 * step, .hi = NEAR_SCALE};
    else if (is(t, "bias"))
        t->random = (struct program_fill){.kind = FILL_TURNS, .lo = 1, .hi = NEAR_ADDEND + 1};
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
    const double terms = expect_products_in_a_sum(w), tiny = epilogue_unit(w) > 1 ? 1 : ldexp(1, -TINY_W);
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

/* Weights of 4 bits: blocks of tiny inputs; halves beyond 2,048, whose products with 15 are below 65504. */
static void widen_blocks(const struct workload *w, struct tensor *t)
{
    const bool is_x = is(t, "x");

    widen_floats(t);
    if (t->dtype == DTYPE_F16 && is_x)
        t->random.step = MOST_BLOCKS_F16;
    else if (t->dtype == DTYPE_F16 && is(t, "w_scale"))
        t->random.hi *= fmin(1, sqrt(USUAL_TERMS / (double)workload_get(w, "k")));
    else if (is_x || is(t, "w_scale"))
        t->random.hi *= ldexp(1, is_x ? BLOCKS_X : -BLOCKS_X);
}

/* Are its weights drawn, and so near 1? */
static bool has_drawn_weights(const struct workload *w)
{
    return is_op(w, "sparse_conv2d") && workload_get(w, "sparsity") > 0;
}

/* Factors far from 1 whose products are not; of sparse weights sums are. */
static void widen_factor(const struct workload *w, struct tensor *t)
{
    if (has_bands(w)) {
        widen_banded(w, t);
        return;
    }
    if (is_op(w, "dense4")) {
        widen_blocks(w, t);
        return;
    }
    widen_floats(t);
    if (has_drawn_weights(w) && epilogue_unit(w) <= 1 && !(epilogue_bits_of(w) & EPILOGUE_RELU6))
        t->random.hi *= ldexp(1, WIDE_X);
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
    if (eltwise_only_compares(w)) {
        t->random.lo = t->dtype == DTYPE_F16 ? t->random.lo : -126;
        return;
    }
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

/* At the ends so large that their product with the factor of a row that hardly varies is infinite; what comes of both
 * and the row's number, which is at most the root of n where the row varies, is not. */
static void widen_norm_weights(enum expect_mode mode, struct tensor *w)
{
    const int room = MOST_LOG2_NORM - (int)ceil(log2((double)w->n_elems) / 2);

    widen_floats(w);
    if (mode != EXPECT_ENDS)
        return;
    w->random.hi *= ldexp(1, LARGE_W);
    w->random.step = ldexp(1, room - LARGE_W < 100 ? room - LARGE_W : 100);
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
            widen_norm_weights(mode, t);
    } else if (epilogue_bits_of(w) & EPILOGUE_REQUANT)
        widen_requantised(w, t);
    else if (is(t, "zero") && is_op(w, "quantize")) /* 255 in the pass like it: a bound shows */
        t->random = (struct program_fill){.kind = FILL_VALUE, .lo = 0};
    else if (is(t, "scale") && is_op(w, "add"))
        t->random = (struct program_fill){.kind = FILL_TURNS, .lo = 0.5, .hi = 3.5}; /* sums that are halves */
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
        t->random = expect_zero_ends(w, EXPECT_TURNED);
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

/* Products of bytes that all have one sign come to less than 2^31 with what is added, up to 2^28. */
static void bound_sums(const struct workload *w, struct tensor *t)
{
    const double largest = w->dtype == DTYPE_U8 ? 255 : 128; /* of x without its zero point */
    const double most = floor(MOST_OF_SUMS / (largest * expect_products_in_a_sum(w)));

    if (!dtype_is_bytes(w->dtype) || !expect_has_products(w) || !is(t, "w") || most >= 128)
        return;
    t->exact.lo = fmax(t->exact.lo, -most);
    t->exact.hi = fmin(t->exact.hi, most);
    t->random.lo = fmax(t->random.lo, -most);
    t->random.hi = fmin(t->random.hi, most);
}

void expect_widen(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    expect_change_exact(w, mode, t);
    if (expect_is_last(mode)) {
        expect_liken(w, data, mode, t);
    } else {
        if (!expect_is_exact(w, mode))
            widen_random(w, data, mode, t);
        if (mode != EXPECT_ENDS)
            put_zeros(w, data, mode, t);
    }
    bound_sums(w, t);
}
