/* SPDX-License-Identifier: MIT */
/* The references against a second computation of the definitions: every output by scattering (each input element goes
 * to the outputs it reaches), where the references gather; integer data in int64_t. Sizes and output sizes are written
 * out here, so that a wrong reading of a workload shows as well. */
#include "kernels/conv/ref.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/dense/dense.h"
#include "kernels/epilogue.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct conv_case {
    const char *workload;
    int n, c, h, w, k, r, s, stride_h, stride_w, dil_h, dil_w, top, left, p, q;
    int groups, x_lanes, y_lanes; /* 0 = 1 */
    bool bias, add;
    int relu; /* 6: relu6, 7: hard_swish, 8: swish */
    bool requant, join;
};

static const struct conv_case conv_cases[] = {
    {"conv2d f32 n=1 c=3 h=6 w=5 k=4 r=3 s=3", 1, 3, 6, 5, 4, 3, 3, 1, 1, 1, 1, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0},
    {"conv2d f32 n=1 c=4 h=7 w=9 k=5 r=3 s=3 pad=1",
     1,
     4,
     7,
     9,
     5,
     3,
     3,
     1,
     1,
     1,
     1,
     1,
     1,
     7,
     9,
     0,
     0,
     0,
     0,
     0,
     0,
     0,
     0},
    {"conv2d f32 n=1 c=3 h=11 w=8 k=6 r=3 s=3 stride=2 pad=1",
     1,
     3,
     11,
     8,
     6,
     3,
     3,
     2,
     2,
     1,
     1,
     1,
     1,
     6,
     4,
     0,
     0,
     0,
     0,
     0,
     0,
     0,
     0},
    {"conv2d f32 n=1 c=2 h=10 w=9 k=3 r=3 s=2 pad=2 dilation=2,3",
     1,
     2,
     10,
     9,
     3,
     3,
     2,
     1,
     1,
     2,
     3,
     2,
     2,
     10,
     10,
     0,
     0,
     0,
     0,
     0,
     0,
     0,
     0},
    {"conv2d f32 n=2 c=3 h=9 w=8 k=6 r=2 s=3 stride=2,1 pad=1,0,2,1 dilation=1,2",
     2,
     3,
     9,
     8,
     6,
     2,
     3,
     2,
     1,
     1,
     2,
     1,
     0,
     6,
     5,
     0,
     0,
     0,
     0,
     0,
     0,
     0,
     0},
    {"conv2d f32 n=3 c=5 h=4 w=4 k=7 r=1 s=1", 3, 5, 4, 4, 7, 1, 1, 1, 1, 1, 1, 0, 0, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0},
    {"conv2d f32 n=2 c=2 h=3 w=4 k=2 r=1 s=5 stride=1,3 pad=0,4,1,2",
     2,
     2,
     3,
     4,
     2,
     1,
     5,
     1,
     3,
     1,
     1,
     0,
     4,
     4,
     2,
     0,
     0,
     0,
     0,
     0,
     0,
     0,
     0},
    {"conv2d f32 n=2 c=3 h=40 w=40 k=5 r=3 s=3 pad=1",
     2,
     3,
     40,
     40,
     5,
     3,
     3,
     1,
     1,
     1,
     1,
     1,
     1,
     40,
     40,
     0,
     0,
     0,
     0,
     0,
     0,
     0,
     0}, /* sampled */
    {"conv2d f32 n=1 c=1 h=1 w=1 k=1 r=1 s=1", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
    {"conv2d f32 n=2 c=6 h=5 w=6 k=4 r=3 s=3 pad=1 groups=2",
     2,
     6,
     5,
     6,
     4,
     3,
     3,
     1,
     1,
     1,
     1,
     1,
     1,
     5,
     6,
     2,
     0,
     0,
     0,
     0,
     0,
     0,
     0},
    {"conv2d f32 n=2 c=8 h=5 w=6 k=12 r=3 s=2 layout=nchw4c",
     2,
     8,
     5,
     6,
     12,
     3,
     2,
     1,
     1,
     1,
     1,
     0,
     0,
     3,
     5,
     0,
     4,
     4,
     0,
     0,
     0,
     0,
     0},
    {"conv2d f32 n=1 c=3 h=5 w=6 k=16 r=3 s=3 stride=2 pad=1 layout=nchw8c epilogue=bias_add",
     1,
     3,
     5,
     6,
     16,
     3,
     3,
     2,
     2,
     1,
     1,
     1,
     1,
     3,
     3,
     0,
     1,
     8,
     1,
     1,
     0,
     0,
     0},
    {"conv2d f32 n=2 c=4 h=5 w=5 k=4 r=1 s=1 epilogue=bias_add_relu",
     2,
     4,
     5,
     5,
     4,
     1,
     1,
     1,
     1,
     1,
     1,
     0,
     0,
     5,
     5,
     0,
     0,
     0,
     1,
     1,
     1,
     0,
     0},
    {"conv2d f32 n=2 c=4 h=5 w=5 k=4 r=1 s=1 epilogue=bias_add_relu6",
     2,
     4,
     5,
     5,
     4,
     1,
     1,
     1,
     1,
     1,
     1,
     0,
     0,
     5,
     5,
     0,
     0,
     0,
     1,
     1,
     6,
     0,
     0},
    {.workload = "conv2d f32 n=1 c=4 h=5 w=5 k=3 r=3 s=3 pad=1 epilogue=bias_add_hard_swish",
     .n = 1,
     .c = 4,
     .h = 5,
     .w = 5,
     .k = 3,
     .r = 3,
     .s = 3,
     .stride_h = 1,
     .stride_w = 1,
     .dil_h = 1,
     .dil_w = 1,
     .top = 1,
     .left = 1,
     .p = 5,
     .q = 5,
     .bias = true,
     .add = true,
     .relu = 7},
    {.workload = "conv2d f16 n=2 c=4 h=3 w=5 k=8 r=1 s=1 epilogue=bias_swish",
     .n = 2,
     .c = 4,
     .h = 3,
     .w = 5,
     .k = 8,
     .r = 1,
     .s = 1,
     .stride_h = 1,
     .stride_w = 1,
     .dil_h = 1,
     .dil_w = 1,
     .p = 3,
     .q = 5,
     .bias = true,
     .relu = 8},
    {"conv2d f16 n=1 c=8 h=6 w=5 k=4 r=3 s=3 pad=1 layout=nchw8c epilogue=relu",
     1,
     8,
     6,
     5,
     4,
     3,
     3,
     1,
     1,
     1,
     1,
     1,
     1,
     6,
     5,
     0,
     8,
     1,
     0,
     0,
     1,
     0,
     0},
    {"conv2d i8 n=1 c=8 h=6 w=5 k=8 r=3 s=3 pad=1 layout=nchw4c",
     1,
     8,
     6,
     5,
     8,
     3,
     3,
     1,
     1,
     1,
     1,
     1,
     1,
     6,
     5,
     0,
     4,
     4,
     0,
     0,
     0,
     0,
     0},
    {"conv2d i8 n=2 c=8 h=6 w=5 k=8 r=3 s=3 pad=1 groups=4 epilogue=bias_add_relu_requant",
     2,
     8,
     6,
     5,
     8,
     3,
     3,
     1,
     1,
     1,
     1,
     1,
     1,
     6,
     5,
     4,
     0,
     0,
     1,
     1,
     1,
     1,
     0},
    {.workload = "conv2d u8 n=1 c=4 h=5 w=6 k=4 r=3 s=2 stride=2 pad=1 epilogue=bias_relu_requant",
     .n = 1,
     .c = 4,
     .h = 5,
     .w = 6,
     .k = 4,
     .r = 3,
     .s = 2,
     .stride_h = 2,
     .stride_w = 2,
     .dil_h = 1,
     .dil_w = 1,
     .top = 1,
     .left = 1,
     .p = 3,
     .q = 4,
     .bias = true,
     .relu = true,
     .requant = true},
    {.workload = "conv2d i8 n=1 c=3 h=4 w=4 k=8 r=1 s=1 layout=nchw4c epilogue=bias_requant_add_relu",
     .n = 1,
     .c = 3,
     .h = 4,
     .w = 4,
     .k = 8,
     .r = 1,
     .s = 1,
     .stride_h = 1,
     .stride_w = 1,
     .dil_h = 1,
     .dil_w = 1,
     .p = 4,
     .q = 4,
     .y_lanes = 4,
     .bias = true,
     .relu = true,
     .join = true},
    {.workload = "conv2d u8 n=2 c=4 h=4 w=3 k=2 r=1 s=1 layout=nhwc epilogue=requant_add",
     .n = 2,
     .c = 4,
     .h = 4,
     .w = 3,
     .k = 2,
     .r = 1,
     .s = 1,
     .stride_h = 1,
     .stride_w = 1,
     .dil_h = 1,
     .dil_w = 1,
     .p = 4,
     .q = 3,
     .x_lanes = 4,
     .y_lanes = 2,
     .join = true},
};

struct dense_case {
    const char *workload;
    int m, n, k;
};

static const struct dense_case dense_cases[] = {
    {"dense f32 m=1 n=1 k=1", 1, 1, 1},           {"dense f32 m=5 n=7 k=11", 5, 7, 11},
    {"dense f32 m=1 n=130 k=77", 1, 130, 77},     {"dense f32 m=96 n=80 k=9", 96, 80, 9}, /* sampled */
    {"dense f32 m=33 n=18 k=1100", 33, 18, 1100},
};

/* All outputs of one pass: sums, exact ones also as integers, and sums of magnitudes. */
struct outputs {
    double *sum, *magnitude;
    int64_t *integer, n;
};

static void outputs_init(struct outputs *y, int64_t n)
{
    y->n = n;
    y->sum = calloc((size_t)n, sizeof *y->sum);
    y->magnitude = calloc((size_t)n, sizeof *y->magnitude);
    y->integer = calloc((size_t)n, sizeof *y->integer);
    assert_true(y->sum && y->magnitude && y->integer);
}

static void outputs_fini(struct outputs *y)
{
    free(y->sum);
    free(y->magnitude);
    free(y->integer);
}

static void add(struct outputs *y, int64_t at, double x, double w)
{
    y->sum[at] += x * w;
    y->magnitude[at] += x * w < 0 ? -(x * w) : x * w;
    y->integer[at] += (int64_t)x * (int64_t)w;
}

/* The output position that input position `at` reaches through window element `i`; -1 = none. */
static int reached(int at, int before, int i, int dilation, int stride, int n_out)
{
    const int from = at + before - i * dilation;

    return from >= 0 && from % stride == 0 && from / stride < n_out ? from / stride : -1;
}

static int or_one(int v)
{
    return v ? v : 1;
}

/* Place of channel `c` of `n_c` at image position `i` of `n_i` in blocks of `lanes` channels. */
static int64_t stored_at(int n, int c, int n_c, int64_t i, int64_t n_i, int lanes)
{
    return (((int64_t)n * (n_c / lanes) + c / lanes) * n_i + i) * lanes + c % lanes;
}

struct fills {
    const struct program_fill *x, *w, *bias, *residual, *scale, *sum_scale, *zero;
    enum dtype dtype;
};

static struct fills fills_of(struct expected *e, bool exact)
{
    static const char *const names[] = {"x", "w", "bias", "residual", "scale", "sum_scale", "zero"};
    const struct program_fill *found[7];

    for (int i = 0; i < 7; i++) {
        const struct tensor *t = expected_tensor(e, names[i]);

        found[i] = !t ? NULL : exact ? &t->exact : &t->random;
    }
    return (struct fills){found[0], found[1], found[2], found[3],
                          found[4], found[5], found[6], expected_tensor(e, "x")->dtype};
}

static double zero_of(const struct fills *f, int i)
{
    return f->zero ? fill_elem(f->zero, DTYPE_I32, i) : 0;
}

static enum dtype weights_type(const struct fills *f)
{
    return f->dtype == DTYPE_U8 ? DTYPE_I8 : f->dtype;
}

static enum dtype sums_type(const struct fills *f)
{
    return f->dtype == DTYPE_I8 || f->dtype == DTYPE_U8 ? DTYPE_I32 : f->dtype;
}

static void scatter_one(const struct conv_case *z, const int at[4], double x, const struct fills *f, struct outputs *y)
{
    const int cg = z->c / or_one(z->groups), kg = z->k / or_one(z->groups), group = at[1] / cg;

    for (int k = group * kg; k < group * kg + kg; k++)
        for (int r = 0; r < z->r; r++)
            for (int s = 0; s < z->s; s++) {
                const int p = reached(at[2], z->top, r, z->dil_h, z->stride_h, z->p);
                const int q = reached(at[3], z->left, s, z->dil_w, z->stride_w, z->q);

                if (p >= 0 && q >= 0)
                    add(y, stored_at(at[0], k, z->k, p * z->q + q, (int64_t)z->p * z->q, or_one(z->y_lanes)), x,
                        fill_elem(f->w, weights_type(f), ((k * cg + at[1] % cg) * z->r + r) * z->s + s));
            }
}

/* The nearest byte of a scaled number, as a distance from the zero point. */
static double byte_of(const struct fills *f, float scaled, double zero)
{
    const double least = f->dtype == DTYPE_U8 ? 0 : -128, nearest = nearbyint((double)scaled) + zero;

    return (nearest > least + 255 ? least + 255 : nearest < least ? least : nearest) - zero;
}

/* The sum with a residual of bytes. */
static double joined(const struct conv_case *z, const struct fills *f, int64_t i, double byte, struct outputs *y)
{
    const double residual = fill_elem(f->residual, f->dtype, i);
    const float a = (float)byte * (float)fill_elem(f->sum_scale, DTYPE_F32, 0);
    const float sum = fmaf((float)(residual - zero_of(f, 2)), (float)fill_elem(f->sum_scale, DTYPE_F32, 1), a);

    y->magnitude[i] += residual < 0 ? -residual : residual;
    return byte_of(f, z->relu && sum < 0 ? 0 : sum, zero_of(f, 3)) + zero_of(f, 3);
}

/* The epilogue by the words of its definition. */
/* A sum that is far from the bounds comes out as one of them, without any tolerance. */
static void cut_off(double most, bool requant, int64_t i, struct outputs *y)
{
    const double v = y->sum[i];
    y->sum[i] = fmin(fmax(v, 0), most);
    y->magnitude[i] = requant || fabs(v - y->sum[i]) <= y->magnitude[i] / 32 ? y->magnitude[i] : 0x1p-100;
}

static void finish_one(const struct conv_case *z, const struct fills *f, int k, int64_t i, struct outputs *y)
{
    if (z->bias)
        add(y, i, fill_elem(f->bias, sums_type(f), k), 1);
    if (z->add)
        add(y, i, fill_elem(f->residual, sums_type(f), i), 1);
    if (z->relu > 6)
        y->sum[i] = z->relu == 7 ? y->sum[i] * fmax(0, fmin(6, y->sum[i] + 3)) / 6 : y->sum[i] / (1 + exp(-y->sum[i]));
    else if (z->relu && !z->join)
        cut_off(z->relu == 6 ? 6 : INFINITY, z->requant, i, y);
    if (z->requant || z->join) {
        const double byte = byte_of(f, (float)y->sum[i] * (float)fill_elem(f->scale, DTYPE_F32, k), zero_of(f, 1));

        y->sum[i] = z->join ? joined(z, f, i, byte, y) : byte + zero_of(f, 1);
    }
    y->integer[i] = (int64_t)y->sum[i];
}

static void conv_outputs(const struct conv_case *z, const struct fills *f, struct outputs *y)
{
    const int64_t n_in = (int64_t)z->h * z->w, n_out = (int64_t)z->p * z->q;

    outputs_init(y, (int64_t)z->n * z->k * z->p * z->q);
    for (int n = 0; n < z->n; n++)
        for (int c = 0; c < z->c; c++)
            for (int i = 0; i < (int)n_in; i++)
                scatter_one(z, (const int[]){n, c, i / z->w, i % z->w},
                            fill_elem(f->x, f->dtype, stored_at(n, c, z->c, i, n_in, or_one(z->x_lanes))) -
                                zero_of(f, 0),
                            f, y);
    for (int64_t i = 0; i < y->n; i++) {
        const int lanes = or_one(z->y_lanes);
        const int64_t block = i / lanes / n_out;

        finish_one(z, f, (int)(block % (z->k / lanes)) * lanes + (int)(i % lanes), i, y);
    }
}

static void dense_outputs(const struct dense_case *z, const struct program_fill *x, const struct program_fill *w,
                          struct outputs *y)
{
    outputs_init(y, (int64_t)z->m * z->n);
    for (int k = 0; k < z->k; k++)
        for (int m = 0; m < z->m; m++)
            for (int n = 0; n < z->n; n++)
                add(y, m * z->n + n, fill_elem(x, DTYPE_F32, m * z->k + k), fill_elem(w, DTYPE_F32, n * z->k + k));
}

/* Samples are distinct enough to mean something: all elements when they are few, else corners among them. */
static void check_samples(const char *workload, const struct expected_output *e, const struct outputs *exact,
                          const struct outputs *random)
{
    assert_true(e->n_samples >= 64 || (int64_t)e->n_samples == exact->n);
    for (size_t i = 0; i < e->n_samples; i++) {
        const int64_t at = (int64_t)e->indices[i];
        double d;

        assert_in_range(e->indices[i], 0, exact->n - 1);
        if (e->exact[i] != (double)exact->integer[at])
            fail_msg("%s: exact y[%lld] is %g by the reference, %lld here", workload, (long long)at, e->exact[i],
                     (long long)exact->integer[at]);
        d = e->random[i] - random->sum[at];
        if (!((d < 0 ? -d : d) <= 1e-13 * random->magnitude[at]))
            fail_msg("%s: random y[%lld] is %.17g by the reference, %.17g here", workload, (long long)at, e->random[i],
                     random->sum[at]);
        d = e->scale[i] - random->magnitude[at];
        if (!((d < 0 ? -d : d) <= 1e-13 * random->magnitude[at]))
            fail_msg("%s: scale of y[%lld] is %.17g by the reference, %.17g here", workload, (long long)at, e->scale[i],
                     random->magnitude[at]);
    }
}

/* y seen as [outer][axis][inner]. */
static void check_projection(const char *workload, const struct expected_output *e, int64_t outer, int64_t axis,
                             int64_t inner, const struct outputs *y)
{
    const int64_t lanes = e->lanes;

    assert_int_equal(e->outer, outer);
    assert_int_equal(e->axis * lanes, axis);
    assert_int_equal(e->inner, inner);
    for (int64_t i = 0; i < outer * inner; i++) {
        int64_t sum = 0;

        for (int64_t a = 0; a < axis; a++)
            sum += (int64_t)program_project_weight(SEED_PROJECT, a) *
                   y->integer[((i / inner * (axis / lanes) + a / lanes) * inner + i % inner) * lanes + a % lanes];
        if (e->project[i] != (double)sum)
            fail_msg("%s: projected sum %lld is %.17g by the reference, %lld here", workload, (long long)i,
                     e->project[i], (long long)sum);
    }
}

static void conv_reference_is_the_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof conv_cases / sizeof conv_cases[0]; i++) {
        const struct conv_case *z = &conv_cases[i];
        struct workload w;
        struct expected e;
        struct outputs exact, random;
        struct fills of_exact, of_random;

        assert_int_equal(workload_parse(z->workload, &w, NULL), ERR_OK);
        expected_begin(&w, EXACT_PLAIN, &e);
        assert_int_equal(conv_reference(&w, EXACT_PLAIN, &e), ERR_OK);
        of_exact = fills_of(&e, true);
        of_random = fills_of(&e, false);
        conv_outputs(z, &of_exact, &exact);
        conv_outputs(z, &of_random, &random);
        check_samples(z->workload, &e.outputs[0], &exact, &random);
        check_projection(z->workload, &e.outputs[0], z->n, z->k, (int64_t)z->p * z->q, &exact);
        outputs_fini(&exact);
        outputs_fini(&random);
        expected_fini(&e);
    }
}

static void dense_reference_is_the_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof dense_cases / sizeof dense_cases[0]; i++) {
        const struct dense_case *z = &dense_cases[i];
        struct workload w;
        struct expected e;
        struct outputs exact, random;

        assert_int_equal(workload_parse(z->workload, &w, NULL), ERR_OK);
        expected_begin(&w, EXACT_PLAIN, &e);
        assert_int_equal(dense_reference(&w, EXACT_PLAIN, &e), ERR_OK);
        dense_outputs(z, &e.tensors[0].exact, &e.tensors[1].exact, &exact);
        dense_outputs(z, &e.tensors[0].random, &e.tensors[1].random, &random);
        check_samples(z->workload, &e.outputs[0], &exact, &random);
        check_projection(z->workload, &e.outputs[0], z->m, z->n, 1, &exact);
        outputs_fini(&exact);
        outputs_fini(&random);
        expected_fini(&e);
    }
}

/* Rounding to even, saturation at both ends round a zero point, of what is requantised and of the sum, by hand. */
static void epilogues_of_bytes_are_rounded_and_saturated_twice(void **state)
{
    static const float scales[] = {0.5f, 2}, zeros[] = {7, 3, 10, 250}, low[] = {7, 200, 10, 0};
    static const struct {
        unsigned bits;
        double sum, residual, scale, result;
        const float *zero;
    } cases[] = {
        {EPILOGUE_REQUANT, 5, 0, .5, 2, NULL},
        {EPILOGUE_REQUANT, 7, 0, .5, 4, NULL},
        {EPILOGUE_REQUANT, 1000, 0, .5, 127, NULL},
        {EPILOGUE_REQUANT, -1000, 0, .5, -128, NULL},
        {EPILOGUE_REQUANT, 5, 0, .5, 5, zeros}, /* 2.5: 2, then 3 more */
        {EPILOGUE_REQUANT, -1000, 0, .5, 0, zeros},
        {EPILOGUE_REQUANT, 506, 0, .5, 255, zeros}, /* 253 is one too many */
        {EPILOGUE_REQUANT | EPILOGUE_RELU, -4, 0, .5, 3, zeros},
        {EPILOGUE_REQUANT | EPILOGUE_JOIN, 1000, 3, 1, 70, NULL},    /* 127 / 2 + 6 = 69.5 */
        {EPILOGUE_REQUANT | EPILOGUE_JOIN, -1000, 0, 1, 228, zeros}, /* -3 / 2 - 20 = -21.5: -22, and 250 */
        {EPILOGUE_REQUANT | EPILOGUE_JOIN, 5, 5, 1, 0, low},         /* 5 / 2 - 10 < 0 */
        {EPILOGUE_REQUANT | EPILOGUE_JOIN | EPILOGUE_RELU, 5, 5, 1, 250, zeros},
        {EPILOGUE_REQUANT | EPILOGUE_JOIN, 100, 11, 1, 30, low}, /* 55 are left: 27.5 + 2 = 29.5 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct epilogue_values v = {0, cases[i].residual, cases[i].scale, scales, cases[i].zero};

        if (epilogue_apply(cases[i].bits, cases[i].sum, &v) != cases[i].result)
            fail_msg("case %zu: %g, expected %g", i, epilogue_apply(cases[i].bits, cases[i].sum, &v), cases[i].result);
    }
}

/* Nothing above would show it if the integer data were all zeros, or the same everywhere. */
static void exact_data_varies(void **state)
{
    struct workload w;
    struct expected e;
    int64_t seen[15] = {0}, n_values = 0;

    (void)state;
    assert_int_equal(workload_parse("dense f32 m=5 n=7 k=11", &w, NULL), ERR_OK);
    expected_begin(&w, EXACT_PLAIN, &e);
    for (int i = 0; i < 1000; i++) {
        const int v = (int)fill_elem(&e.tensors[0].exact, DTYPE_F32, i);

        assert_in_range(v + 7, 0, 14);
        n_values += seen[v + 7]++ == 0;
    }
    assert_int_equal(n_values, 15);
    assert_int_not_equal(e.tensors[0].exact.seed, e.tensors[1].exact.seed);
    expected_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_reference_is_the_definition),
        cmocka_unit_test(dense_reference_is_the_definition),
        cmocka_unit_test(epilogues_of_bytes_are_rounded_and_saturated_twice),
        cmocka_unit_test(exact_data_varies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
