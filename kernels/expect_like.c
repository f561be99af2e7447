/* SPDX-License-Identifier: MIT */
#include "kernels/expect_like.h"

#include "kernels/eltwise/eltwise.h"
#include "kernels/epilogue.h"
#include "kernels/expect_exact.h"
#include "kernels/expect_parts.h"
#include "kernels/expect_wide.h"
#include "kernels/reduce/reduce.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define PIXEL (1.0 / 16) /* unit of images between 0 and 1 */
#define MOST_PIXEL 15
#define SUBNORMAL 0x1p-16 /* of halves: 1 to 3 of these are */
#define CANCELS_F16 4096  /* beside which a half loses the other products */
#define LARGE_F16 4096    /* 1 to 15 of these are, and whose products with its inverse are whole */
#define MOST_LARGE 4000   /* terms of whose sums halves do not end */
#define LARGE_SUMS 0x1p40 /* times as usual */
#define MOST_ADDEND (1 << 16)
#define FEW_BYTES 3 /* whose single products times SCALE_ABOVE are bytes, too */
#define SCALE_ABOVE 19
#define SCALE_BEYOND 0x1p40 /* by which sums are beyond 2^31 */
#define SCALE_BELOW 0x1p-9
/* 3 * 2^-20 and one place less; times the addend, whose float is one more, 52.5 and something: 53. Cut, it would be 2
 * less, and with it 52. */
#define NEAR_SCALE 2.86102272e-06
#define NEAR_ADDEND (35 * 0x1p19 + 3)
#define FAR_OFFSET 65536
#define FAR_OFFSET_F16 32768
#define FAR_FROM_WHOLE 0x1p32 /* as whole numbers of 32 bits 0 */
#define LEAST_NEAR (1 << 22)  /* whole numbers with all digits of a float */
#define LEAST_NEAR_F16 (1 << 9)
#define SHUT 0x1p-14 /* a gate, that far from 0 or 1 */
#define LARGE_GRADIENT 0x1p20
#define PRODUCTS 2 /* of a gradient's sum that are not 0, about */
#define TINY_GRADIENT 0x1p-40
#define FAR_CELL 3     /* the deviation of cells: of many the slope of tanh is next to 0 */
#define FAR_X 64       /* times as large, and weights as much smaller */
#define ROWS_APART 3   /* times as far as usual */
#define LARGE_SCALE 16 /* of differences of 1 in i32 rows */
#define FAR_I32 (-394264576)
#define A_LITTLE 0.26 /* by 64 of which a row's largest is above the others */
#define TINY_DEVIATION 1e-300
#define MOST_LOG2 120 /* of sums */
#define MOST_BF16_X 127
#define MOST_BF16_W 7

static bool has_sums(const struct workload *w)
{
    return expect_has_products(w) && w->dtype != DTYPE_BF16;
}

/* bf16, whose outputs may be whole numbers beyond 256: these are rounded, odd ones of 257 to 511 as ties. */
static bool rounds_bf16(const struct workload *w)
{
    return w->dtype == DTYPE_BF16 && expect_has_products(w) && epilogue_unit(w) <= 1 &&
           !(epilogue_bits_of(w) & EPILOGUE_RELU6);
}

bool expect_is_last(enum expect_mode mode)
{
    return mode == EXPECT_LIKE || mode == EXPECT_MOVED || mode == EXPECT_SPECIAL;
}

bool expect_has_like(const struct workload *w)
{
    return has_sums(w) || rounds_bf16(w) || only_moves(w) || is_op(w, "quantize") || is_op(w, "attention") ||
           (is_op(w, "add") && (w->dtype == DTYPE_F32 || w->dtype == DTYPE_F16));
}

bool expect_has_moved(const struct workload *w)
{
    return has_sums(w);
}

/* Sums that may be far from 1, or of powers. */
static bool has_special_sums(const struct workload *w)
{
    const int64_t kind = workload_get(w, "kind");

    return w->dtype == DTYPE_F32 && (kind == REDUCE_SUM || kind == REDUCE_MEAN || kind == REDUCE_L1 ||
                                     kind == REDUCE_L2 || kind == REDUCE_SUM_SQUARE || kind == REDUCE_LOG_SUM_EXP);
}

bool expect_has_special(const struct workload *w)
{
    return is_op(w, "eltwise") || is_op(w, "softmax") || is_op(w, "attention") ||
           (is_op(w, "reduce") && has_special_sums(w)) ||
           (is_op(w, "rnn") && (w->dtype == DTYPE_F32 || workload_get(w, "pass") == 0));
}

bool expect_rounds(const struct workload *w, enum expect_mode mode)
{
    return (mode == EXPECT_LIKE || mode == EXPECT_MOVED) &&
           ((w->dtype == DTYPE_F16 && has_sums(w)) || rounds_bf16(w) || is_op(w, "add"));
}

/* Are sums stored as they are, whatever their unit? */
static bool is_plain(const struct workload *w, enum exact_data data)
{
    return data == EXACT_PLAIN && epilogue_unit(w) <= 1 && !(epilogue_bits_of(w) & EPILOGUE_RELU6);
}

/* An image, or a matrix's rows. */
static void lay_out(struct tensor *t)
{
    struct program_fill *f = &t->exact;
    const int64_t row = t->shape[t->n_dims - 1], lanes = t->n_dims > 4 ? t->shape[4] : 1;

    f->kind = t->n_dims < 4 ? FILL_PREFIXES : FILL_PIXELS;
    f->block = t->n_dims < 4 ? row : t->shape[3] * lanes;
    f->plane = t->n_dims == 3 ? t->shape[1] * row : t->n_dims < 4 ? t->n_elems : t->shape[2] * f->block;
    f->seen = t->n_dims < 4 ? 0 : lanes;
    assert(f->block > 0 && f->plane % f->block == 0); /* rows do not go across planes */
}

/* Are its halves near the largest? */
static bool is_large(const struct workload *w, enum exact_data data, enum expect_mode mode)
{
    struct tensor list[OPERATOR_MAX_TENSORS]; /* x, w, .. */

    (void)w->op->tensors(w, list);
    return w->dtype == DTYPE_F16 && mode == EXPECT_MOVED && is_plain(w, data) && terms_of(&list[1]) <= MOST_LARGE;
}

static void liken_x(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    struct program_fill *f = &t->exact;
    double unit = f->step == 0 ? 1 : fabs(f->step);

    if (is_large(w, data, mode)) {
        f->lo = 1;
        f->hi = MOST_PIXEL;
        unit = LARGE_F16;
    } else if (t->dtype == DTYPE_F16 && is_plain(w, data)) {
        f->lo = 1;
        f->hi = 3;
        unit = SUBNORMAL;
    } else if (t->dtype == DTYPE_F32 && is_plain(w, data)) {
        f->lo = 1;
        f->hi = fmin(f->hi, MOST_PIXEL);
        unit = PIXEL;
    } else if (t->dtype == DTYPE_I8 && mode == EXPECT_LIKE && (epilogue_bits_of(w) & EPILOGUE_REQUANT))
        f->lo = -(f->hi = FEW_BYTES);
    lay_out(t);
    f->step = mode == EXPECT_MOVED ? -unit : unit;
}

static void liken_w(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    struct program_fill *f = &t->exact;

    if (is_large(w, data, mode))
        f->step = 1.0 / LARGE_F16;
    if (is_op(w, "batch_gemm") && mode == EXPECT_MOVED) {
        lay_out(t);
        return;
    }
    f->kind = FILL_FILTERS;
    f->block = terms_of(t);
    f->seen = t->n_dims >= 4 ? t->shape[3] : 1;
    f->plane = t->n_dims >= 4 ? t->shape[2] * t->shape[3] : 1;
    if (t->dtype == DTYPE_F16 && is_plain(w, data))
        f->hi = CANCELS_F16;
    else if (t->dtype == DTYPE_F32 && is_plain(w, data))
        f->step = (f->step == 0 ? 1 : f->step) * LARGE_SUMS;
}

/* What is added has the sums' unit. */
static void liken_addend(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    struct program_fill *f = &t->exact;

    if (is_large(w, data, mode))
        f->step = 1;
    else if (t->dtype == DTYPE_F16 && is_plain(w, data))
        f->step = SUBNORMAL;
    else if (t->dtype == DTYPE_F32) {
        f->lo = -(f->hi = fmin(f->hi, MOST_ADDEND));
        if (is_plain(w, data) && !is_op(w, "sparse_conv2d")) /* whose weights are as they are */
            f->step = (f->step == 0 ? 1 : f->step) * LARGE_SUMS;
    } else if (is(t, "bias") && mode == EXPECT_MOVED && (epilogue_bits_of(w) & EPILOGUE_REQUANT))
        *f = (struct program_fill){.kind = FILL_TURNS, .lo = 1, .hi = NEAR_ADDEND};
}

static void liken_scale(const struct workload *w, enum expect_mode mode, struct tensor *t)
{
    const bool has_bias = epilogue_bits_of(w) & EPILOGUE_BIAS;

    t->exact = mode == EXPECT_LIKE ? (struct program_fill){.kind = FILL_TURNS, .lo = SCALE_ABOVE, .hi = SCALE_BEYOND}
                                   : (struct program_fill){.kind = FILL_TURNS,
                                                           .lo = SCALE_BELOW,
                                                           .hi = has_bias ? NEAR_SCALE : 3 * SCALE_BELOW};
}

static void liken_product(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    const bool is_whole = t->exact.kind == FILL_INT;

    if (is(t, "x") && is_whole)
        liken_x(w, data, mode, t);
    else if (is(t, "w") && is_whole)
        liken_w(w, data, mode, t);
    else if ((is(t, "bias") || is(t, "residual")) && is_whole)
        liken_addend(w, data, mode, t);
    else if (is(t, "scale"))
        liken_scale(w, mode, t);
    else if (is(t, "offset"))
        t->exact = (struct program_fill){.kind = FILL_INT,
                                         .seed = t->exact.seed,
                                         .lo = -1,
                                         .hi = 1,
                                         .step = t->dtype == DTYPE_F16  ? FAR_OFFSET_F16
                                                 : mode == EXPECT_MOVED ? FAR_FROM_WHOLE
                                                                        : FAR_OFFSET};
}

/* a and -a, but for the last places. */
static void cancel(struct tensor *t)
{
    const bool first = is(t, "a");

    t->exact = (struct program_fill){.kind = FILL_NEAR,
                                     .seed = t->exact.seed,
                                     .lo = first ? 1 : -1,
                                     .hi = !first,
                                     .block = t->dtype == DTYPE_F16 ? LEAST_NEAR_F16 : LEAST_NEAR};
}

/* Rows begin as many that were taken before do. */
static void begin_with_zeros(struct tensor *table)
{
    table->exact.zeros = table->shape[2];
    table->exact.step = 1; /* 0, not -0 */
}

/* Quotients beyond the largest float, or of 0; those far below 0 are 0 with the largest zero point, too. */
static void overflow(struct tensor *t)
{
    if (is(t, "x") && t->dtype == DTYPE_F32)
        t->exact = (struct program_fill){.kind = FILL_INT, .seed = t->exact.seed, .lo = -3, .hi = 3, .step = 0x1p126};
    else if (is(t, "scale"))
        t->exact = (struct program_fill){.kind = FILL_VALUE, .lo = 0.01};
    else if (is(t, "zero"))
        t->exact = (struct program_fill){.kind = FILL_VALUE, .lo = 255};
}

static void special_rnn(const struct workload *w, struct tensor *t)
{
    const int64_t pass = workload_get(w, "pass");
    struct program_fill *f = &t->random;

    if (pass == 0 && (is(t, "h0") || is(t, "c0")))
        *f = (struct program_fill){.kind = FILL_ZERO};
    else if (pass == 0 && is(t, "bias")) /* of some the half of one is far smaller than that of the other */
        *f = (struct program_fill){.kind = FILL_FLOATS, .seed = f->seed, .lo = -14, .hi = 0};
    else if (pass == 0 && is(t, "x"))
        f->hi *= FAR_X;
    else if (pass == 0 && is(t, "w"))
        f->step /= FAR_X;
    else if (pass == 1 && is(t, "cs"))
        f->hi = FAR_CELL;
    else if (pass == 1 && is(t, "dy"))
        f->hi *= LARGE_GRADIENT;
    else if (pass == 1 && is(t, "gates"))
        *f = (struct program_fill){.kind = FILL_TURNS, .seed = f->seed, .lo = SHUT, .hi = 1 - SHUT, .step = 1};
    else if (pass == 2 && is(t, "dgates")) /* one of so many, throughout */
        *f = (struct program_fill){.kind = FILL_BANDS,
                                   .seed = f->seed,
                                   .lo = fmax(1, floor((double)(t->shape[1] * t->shape[3]) / PRODUCTS)),
                                   .hi = f->hi * TINY_GRADIENT,
                                   .step = 1,
                                   .block = 4 * t->n_elems};
}

static void special_softmax(const struct workload *w, struct tensor *t)
{
    struct program_fill *f = &t->random;

    if (is(t, "scale"))
        f->lo = LARGE_SCALE;
    else if (w->dtype == DTYPE_I8)
        *f = (struct program_fill){
            .kind = FILL_ROWS, .seed = f->seed, .lo = FAR_I32, .hi = 0.75, .step = 1, .block = t->shape[1]};
    else
        *f = (struct program_fill){.kind = FILL_ROWS,
                                   .seed = f->seed,
                                   .lo = t->dtype == DTYPE_F16 ? -10000 : -1e6,
                                   .hi = 4,
                                   .step = ROWS_APART,
                                   .block = t->shape[1]};
}

/* Sums near the largest; a row's largest that is a little above many others. */
static void special_reduce(const struct workload *w, struct tensor *t)
{
    const int64_t kind = workload_get(w, "kind");
    const int room = MOST_LOG2 - (int)ceil(log2((double)t->shape[1]));
    struct program_fill *f = &t->random;

    if (kind == REDUCE_LOG_SUM_EXP)
        *f = (struct program_fill){.kind = FILL_ROWS,
                                   .seed = f->seed,
                                   .hi = TINY_DEVIATION,
                                   .step = A_LITTLE,
                                   .block = t->shape[1] * t->shape[2]};
    else if (f->kind == FILL_NORMAL)
        f->hi *= ldexp(1, kind == REDUCE_L2 || kind == REDUCE_SUM_SQUARE ? room / 2 : room);
}

/* Factors of bf16 as large as their sums stay exact in f32, so that outputs are rounded. */
static void round_sums(const struct workload *w, struct tensor *t)
{
    const double most = expect_products_in_a_sum(w) * MOST_BF16_X;
    struct program_fill *f = &t->exact;

    if (is(t, "x") && most < 0x1p24)
        f->lo = -(f->hi = MOST_BF16_X);
    else if (is(t, "w") && most * MOST_BF16_W < 0x1p24)
        f->lo = -(f->hi = MOST_BF16_W);
}

void expect_liken(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t)
{
    if (mode != EXPECT_SPECIAL && has_sums(w))
        liken_product(w, data, mode, t);
    else if (mode == EXPECT_LIKE && rounds_bf16(w))
        round_sums(w, t);
    else if (mode == EXPECT_LIKE && is_op(w, "add"))
        cancel(t);
    else if (mode == EXPECT_LIKE && is_op(w, "gather") && is(t, "x"))
        begin_with_zeros(t);
    else if (mode == EXPECT_LIKE && is_op(w, "quantize"))
        overflow(t);
    else if (mode == EXPECT_SPECIAL && is_op(w, "rnn"))
        special_rnn(w, t);
    else if (mode == EXPECT_SPECIAL && is_op(w, "softmax"))
        special_softmax(w, t);
    else if (mode == EXPECT_SPECIAL && is_op(w, "reduce"))
        special_reduce(w, t);
    else if (mode == EXPECT_SPECIAL && is_op(w, "eltwise"))
        t->random = eltwise_special_fill(w, t->name[0] - 'a', &t->random);
}

void expect_share_seeds(struct expected *e)
{
    for (size_t i = 1; i < e->n_tensors; i++) {
        struct tensor *t = &e->tensors[i];

        if (t->exact.kind == FILL_NEAR)
            t->exact.seed = e->tensors[0].exact.seed;
        if (t->random.kind == FILL_NEAR)
            t->random.seed = e->tensors[0].random.seed;
    }
}
