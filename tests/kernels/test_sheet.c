/* SPDX-License-Identifier: MIT */
/* Sheets, their data, and what a run of a config has to do at the least. */
#include "kernels/expect.h"
#include "kernels/template.h"
#include "tests/kernels/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct device_desc cpu = {.api = "opencl",
                                       .kind = DEVICE_CPU,
                                       .max_work_group = 4096,
                                       .max_local = {4096, 4096, 4096},
                                       .local_bytes = 1 << 20,
                                       .vector_bits = 512};

/* The program of a template's default config with the sheet's passes alone; false: not for this device. */
static bool make(const char *id, const char *workload, uint64_t seed, struct program *p, struct blobs *blobs)
{
    const struct template *t = template_find(id);
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct why why = {""};

    blobs_init(blobs, (size_t)1 << 28);
    assert_int_equal(workload_parse(workload, &w, NULL), ERR_OK);
    if (template_space(t, &w, &cpu, &s, &why) || t->fallback(&w, &cpu, s, &c) ||
        template_kernels(t, &w, &cpu, s, &c, p, blobs, &why) ||
        template_add_sheet(t, &w, &cpu, s, &c, seed, p, blobs, &why))
        fail_msg("%s, %s: %s", id, workload, why.text);
    space_free(s);
    return true;
}

static const struct program_fill *fill_of(const struct program *p, size_t i_pass, const char *buffer)
{
    const struct program_pass *pass = &p->passes[i_pass];

    for (size_t i = 0; i < pass->n_fills; i++)
        if (strcmp(p->buffers[pass->fills[i].i_buffer].id, buffer) == 0)
            return &pass->fills[i].fill;
    return NULL;
}

static void each_seed_has_its_own_data_and_samples(void **state)
{
    struct program one, again, other;
    struct blobs b1, b2, b3;

    (void)state;
    make("conv2d/naive", "conv2d f32 n=1 c=8 h=30 w=30 k=8 r=3 s=3 pad=1", 7, &one, &b1);
    make("conv2d/naive", "conv2d f32 n=1 c=8 h=30 w=30 k=8 r=3 s=3 pad=1", 7, &again, &b2);
    make("conv2d/naive", "conv2d f32 n=1 c=8 h=30 w=30 k=8 r=3 s=3 pad=1", 8, &other, &b3);
    assert_int_equal(one.n_passes, 5); /* the last two for what may be chosen */
    assert_string_equal(one.passes[0].id, "exact");
    assert_string_equal(one.passes[1].id, "wide");
    assert_string_equal(one.passes[2].id, "turned");
    for (size_t i = 0; i < 2; i++) {
        assert_true(fill_of(&one, i, "x")->seed == fill_of(&again, i, "x")->seed);
        assert_true(fill_of(&one, i, "x")->seed != fill_of(&other, i, "x")->seed);
        assert_true(fill_of(&one, i, "w")->seed != fill_of(&other, i, "w")->seed);
    }
    assert_string_equal(one.passes[0].checks[0].indices.hex, again.passes[0].checks[0].indices.hex);
    assert_string_not_equal(one.passes[0].checks[0].indices.hex, other.passes[0].checks[0].indices.hex);
    assert_true(one.passes[1].checks[0].fold.seed != other.passes[1].checks[0].fold.seed);
    program_fini(&one);
    program_fini(&again);
    program_fini(&other);
    blobs_fini(&b1);
    blobs_fini(&b2);
    blobs_fini(&b3);
}

/* Of y[5][7][6] all 210 elements are compared, with the values of as many columns as differ; so of hn and cn. */
static void every_output_of_a_recurrent_layer_is_compared_in_full(void **state)
{
    struct program p;
    struct blobs blobs;
    size_t n_outputs = 0;

    (void)state;
    make("rnn/naive", "rnn f32 i=5 h=7 b=40 t=6", 3, &p, &blobs);
    assert_int_equal(p.n_passes, 3);
    assert_string_equal(p.passes[0].id, "folded");
    assert_string_equal(p.passes[1].id, "wide");
    for (size_t i = 0; i < p.n_buffers; i++)
        n_outputs += p.buffers[i].role == ROLE_OUTPUT;
    assert_int_equal(p.passes[0].n_checks, n_outputs);
    for (size_t i = 0; i < n_outputs; i++) {
        const struct program_check *c = &p.passes[0].checks[i];

        assert_int_equal(c->fold.cols, 40);
        assert_int_equal(c->fold.of, 8);
        assert_int_equal(c->n, p.buffers[c->i_buffer].n_elems / 40 * 8);
    }
    assert_int_equal(fill_of(&p, 0, "x")->fold.of, 8);
    assert_int_equal(fill_of(&p, 0, "h0")->fold.of, 8);
    assert_int_equal(fill_of(&p, 0, "w")->fold.of, 0);
    program_fini(&p);
    blobs_fini(&blobs);
}

/* Some of few channels are large, all far from 1; requantised sums are halves often. */
static void data_go_far(void **state)
{
    struct program p;
    struct blobs blobs;
    const struct program_fill *f;
    double most = 0, least = 1e30;
    int n_zeros = 0, n_ties = 0;

    (void)state;
    make("deformable_conv2d/naive", "deformable_conv2d f32 n=1 c=4 h=20 w=20 k=3 r=3 s=3", 5, &p, &blobs);
    f = fill_of(&p, 1, "x");
    assert_int_equal(f->kind, FILL_WIDE);
    assert_int_equal(f->block, 400);
    for (int64_t i = 0; i < 1600; i++) {
        const double v = fabs(fill_elem(f, DTYPE_F32, i)) * 0x1p-88;

        most = fmax(most, v);
        least = v > 0 ? fmin(least, v) : least;
        n_zeros += v == 0;
        n_ties += fabs(v - 0.55) < 1e-6; /* half of the deviation, 1.1 */
    }
    assert_true(most > 1e5 && least < 0.1);
    /* one of 16; of the first plane up to 200 at its beginning, of the fourth one of two */
    assert_in_range(n_zeros, 230, 560);
    assert_in_range(n_ties, 20, 250);
    program_fini(&p);
    blobs_fini(&blobs);
    make("conv2d/naive", "conv2d i8 n=1 c=4 h=20 w=20 k=3 r=3 s=3 epilogue=requant", 5, &p, &blobs);
    f = fill_of(&p, 1, "scale");
    assert_int_equal(f->kind, FILL_INT);
    /* thirds: halves of sums that are multiples of 3 */
    assert_true(f->step == 0.25 / 3 || f->step == 0.125 / 3);
    assert_true(f->lo > 0 && f->hi * f->step >= 1); /* positive, as the operator has them; some above 1 */
    program_fini(&p);
    blobs_fini(&blobs);
}

/* The bands of all images are at the same rows: sums of few products, of huge ones, of usual ones. Each output channel
 * has weights and a bias of one size. */
static void sums_are_of_few_of_huge_and_of_usual_products(void **state)
{
    struct program p;
    struct blobs blobs;
    const struct program_fill *x, *w, *bias;
    double most = 0, usual = 0;
    int n_few = 0;

    (void)state;
    make("conv2d/naive", "conv2d f32 n=1 c=4 h=20 w=20 k=8 r=3 s=3 epilogue=bias", 5, &p, &blobs);
    x = fill_of(&p, 1, "x");
    w = fill_of(&p, 1, "w");
    bias = fill_of(&p, 1, "bias");
    for (int64_t c = 0; c < 4; c++)
        for (int64_t i = 0; i < 300; i++) {
            const double v = fabs(fill_elem(x, DTYPE_F32, c * 400 + i));

            n_few += i < 100 && v != 0;
            most = i >= 100 && i < 200 ? fmax(most, v) : most;
            usual = i >= 200 ? fmax(usual, v) : usual;
        }
    assert_in_range(n_few, 10, 90); /* of 400, of 36 products four */
    assert_true(most > 0x1p78 && usual > 1 && usual < 10);
    for (int64_t i = 0; i < 36; i++) {
        assert_true(fabs(fill_elem(w, DTYPE_F32, i)) < 0x1p-70);
        assert_true(fabs(fill_elem(w, DTYPE_F32, 36 + i)) < 0x1p24);
    }
    assert_true(fabs(fill_elem(bias, DTYPE_F32, 0)) < 0x1p-70);
    program_fini(&p);
    blobs_fini(&blobs);
}

/* By which a half cannot be off: single products of small numbers. */
static void halves_may_be_off_by_their_last_place(void **state)
{
    struct program p;
    struct blobs blobs;
    const struct program_check *c;
    const struct blob *b;

    (void)state;
    make("batch_gemm/naive", "batch_gemm f16 b=3 m=5 n=19 k=37", 77, &p, &blobs);
    c = &p.passes[1].checks[0];
    b = blobs_get(&blobs, c->scale.hex);
    assert_non_null(b);
    for (size_t i = 0; i < b->n_bytes / 8; i++) {
        double scale;

        memcpy(&scale, (const char *)b->data + 8 * i, 8);
        assert_true(scale >= 0x1p-14);
    }
    program_fini(&p);
    blobs_fini(&blobs);
}

/* The second pass of a workload's naive kernel: a tensor's fill. */
static struct program_fill wide_fill(const char *id, const char *workload, const char *buffer)
{
    struct program p;
    struct blobs blobs;
    struct program_fill f;

    make(id, workload, 5, &p, &blobs);
    assert_string_equal(p.passes[1].id, "wide");
    f = *fill_of(&p, 1, buffer);
    program_fini(&p);
    blobs_fini(&blobs);
    return f;
}

/* By definition, in double, on the fills alone. */
static double dense_sum(const struct program_fill *x, const struct program_fill *w, enum dtype t, int64_t n_k,
                        int64_t row, int64_t column)
{
    double sum = 0;

    for (int64_t k = 0; k < n_k; k++)
        sum += fill_elem(x, t, row * n_k + k) * fill_elem(w, t, column * n_k + k);
    return sum;
}

static double largest_sum(const char *workload, enum dtype t, int64_t n_k)
{
    const struct program_fill x = wide_fill("dense/naive", workload, "x"), w = wide_fill("dense/naive", workload, "w");
    double most = 0;

    for (int64_t row = 0; row < 8; row++)
        for (int64_t column = 0; column < 8; column++)
            most = fmax(most, fabs(dense_sum(&x, &w, t, n_k, row, column)));
    return most;
}

/* f32 beyond 1e12, int8 beyond 2^24, f16 in the upper half of its range and never beyond it. */
static void sums_go_far(void **state)
{
    double half;

    (void)state;
    assert_true(largest_sum("dense f32 m=16 n=16 k=200", DTYPE_F32, 200) > 1e12);
    assert_true(largest_sum("dense i8 m=16 n=16 k=2000", DTYPE_I8, 2000) > 16777216);
    for (int64_t k = 16; k <= 1024; k *= 8) {
        char text[80];

        snprintf(text, sizeof text, "dense f16 m=16 n=16 k=%d", (int)k);
        half = largest_sum(text, DTYPE_F16, k);
        assert_true(half > 8000 && half < 60000);
        snprintf(text, sizeof text, "dense f16 m=16 n=16 k=%d acc=f16", (int)k);
        half = largest_sum(text, DTYPE_F16, k);
        assert_true(half > 1000 && half < 60000);
    }
}

/* Of a ReLU's two exact passes one has the other's sums with the other sign. */
static void outputs_of_a_relu_are_positive_in_one_of_two_passes(void **state)
{
    static const char *const tensors[] = {"w", "bias", "residual"};
    struct program p;
    struct blobs blobs;

    (void)state;
    make("conv2d/naive", "conv2d i8 n=1 c=4 h=6 w=6 k=3 r=3 s=3 epilogue=bias_add_relu", 5, &p, &blobs);
    assert_int_equal(p.n_passes, 5);
    assert_string_equal(p.passes[2].id, "turned");
    for (int i = 0; i < 3; i++) {
        const struct program_fill *one = fill_of(&p, 0, tensors[i]), *other = fill_of(&p, 2, tensors[i]);
        const enum dtype t = i ? DTYPE_I32 : DTYPE_I8;

        for (int64_t k = 0; k < 3; k++)
            assert_true(fill_elem(one, t, k) == -fill_elem(other, t, k));
    }
    for (int64_t k = 0; k < 100; k++)
        assert_true(fill_elem(fill_of(&p, 0, "x"), DTYPE_I8, k) == fill_elem(fill_of(&p, 2, "x"), DTYPE_I8, k));
    program_fini(&p);
    blobs_fini(&blobs);
}

/* Counted tap by tap. */
static double count_products(int64_t size, int64_t out, int64_t taps, int64_t stride, int64_t dilation, int64_t pad)
{
    double n = 0;

    for (int64_t p = 0; p < out; p++)
        for (int64_t r = 0; r < taps; r++)
            n += p * stride + r * dilation >= pad && p * stride + r * dilation - pad < size;
    return n;
}

static double least_of(const char *id, const char *workload, const char *config)
{
    const struct template *t = template_find(id);
    struct workload w;
    struct space *s = NULL;
    struct config c;
    double n;

    assert_int_equal(workload_parse(workload, &w, NULL), ERR_OK);
    assert_int_equal(template_space(t, &w, &cpu, &s, NULL), ERR_OK);
    assert_int_equal(t->fallback(&w, &cpu, s, &c), ERR_OK);
    if (config)
        assert_int_equal(space_config_parse(s, config, &c, NULL), ERR_OK);
    n = template_least_flops(t, &w, &cpu, s, &c);
    space_free(s);
    return n;
}

static void products_with_padding_and_zeros_are_not_needed(void **state)
{
    const double rows = count_products(9, 5, 3, 2, 1, 1), columns = count_products(10, 10, 3, 1, 4, 4);

    (void)state;
    assert_true(least_of("conv2d/naive", "conv2d f32 n=2 c=3 h=9 w=10 k=4 r=3 s=3 stride=2,1 pad=1,4 dilation=1,4",
                         NULL) == 2 * 2 * 4 * 3 * rows * columns);
    assert_true(least_of("dense/naive", "dense f32 m=3 n=5 k=7", NULL) == 210);
    /* Winograd's counts those with padding */
    assert_true(least_of("conv2d/winograd", "conv2d f32 n=1 c=3 h=8 w=8 k=4 r=3 s=3 pad=1", NULL) == 3456);
    assert_true(least_of("pool2d/naive", "pool2d f32 n=1 c=5 h=11 w=37 r=3 s=3", NULL) == 0);
}

static void no_template_needs_more_than_its_operator_has(void **state)
{
    (void)state;
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape; shape++) {
            struct workload w;

            assert_int_equal(workload_parse(*shape, &w, NULL), ERR_OK);
            for (const struct template *const *t = w.op->templates; *t; t++)
                if ((*t)->fit(&w, &cpu, NULL) != FIT_NONE) {
                    const double least = least_of((*t)->id, *shape, NULL), all = w.op->flops(&w);

                    if (!(least >= 0 && least <= all))
                        fail_msg("%s, %s: %g of %g", (*t)->id, *shape, least, all);
                }
        }
}

/* Sums of products have two last passes, whose rows are each other's mirror; softmax one with random data; all behind
 * the others. */
static void what_may_be_chosen_has_passes_of_its_own(void **state)
{
    static const struct {
        const char *template_id, *workload, *last[2];
    } of[] = {{"conv2d/naive", "conv2d f32 n=1 c=8 h=12 w=12 k=8 r=3 s=3", {"like", "moved"}},
              {"dense/naive", "dense f16 m=8 n=16 k=32", {"like", "moved"}},
              {"softmax/naive", "softmax f32 m=9 n=100", {NULL, "special"}},
              {"rnn/naive", "rnn f32 i=8 h=8 b=4 t=3", {NULL, "special"}},
              {"transform/naive", "transform f32 n=1 c=16 h=5 w=5 to=nchw16c", {NULL, "like"}},
              {"eltwise/naive", "eltwise f32 y=100 f=add(a,b)", {NULL, "special"}},
              {"attention/naive", "attention f32 b=1 heads=2 q=4 k=9 d=8", {"like", "special"}},
              {"attention/naive", "attention f16 b=1 heads=2 q=4 k=9 d=8", {"like", "special"}},
              {"pool2d/naive", "pool2d f32 n=1 c=4 h=9 w=9 r=3 s=3", {NULL, NULL}}};

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        struct blobs blobs;
        struct program p;
        int n_last = 0;

        make(of[i].template_id, of[i].workload, 5, &p, &blobs);
        for (size_t k = 0; k < p.n_passes; k++) {
            const char *name = k + 2 < p.n_passes ? NULL : of[i].last[k + 2 - p.n_passes];

            n_last += p.passes[k].is_last;
            if (k + 2 >= p.n_passes &&
                (p.passes[k].is_last != (name != NULL) || (name && strcmp(p.passes[k].id, name))))
                fail_msg("%s: pass %zu of %zu is %s", of[i].workload, k, p.n_passes, p.passes[k].id);
        }
        assert_int_equal(n_last, (of[i].last[0] != NULL) + (of[i].last[1] != NULL));
        program_fini(&p);
        blobs_fini(&blobs);
    }
}

/* A pass of a workload's naive kernel: a tensor's fill. */
static struct program_fill fill_in(const char *id, const char *workload, const char *pass, const char *buffer)
{
    struct program_fill f = {.kind = FILL_NONE};
    struct program p;
    struct blobs blobs;

    make(id, workload, 5, &p, &blobs);
    for (size_t k = 0; k < p.n_passes; k++)
        if (strcmp(p.passes[k].id, pass) == 0)
            f = *fill_of(&p, k, buffer);
    program_fini(&p);
    blobs_fini(&blobs);
    assert_int_not_equal(f.kind, FILL_NONE);
    return f;
}

/* Of the sheet, which takes the place of the program's own data: whose scale has an inverse that is no float. */
static void quotients_that_are_halves_go_astray_times_the_inverse(void **state)
{
    static const char workload[] = "quantize u8 n=5000";
    const struct program_fill x = fill_in("quantize/naive", workload, "exact", "x");
    const struct program_fill scale = fill_in("quantize/naive", workload, "exact", "scale");
    const float by = (float)fill_elem(&scale, DTYPE_F32, 0);
    int n_halves = 0, n_astray = 0;

    (void)state;
    for (int64_t i = 0; i < 5000; i++) {
        const float v = (float)fill_elem(&x, DTYPE_F32, i);
        const float quotient = v / by, product = v * (1 / by);

        n_halves += (double)v * 2 == rint((double)v / (double)by * 2) * (double)by && rintf(quotient) != quotient;
        n_astray += rintf(quotient) != rintf(product);
    }
    assert_in_range(n_halves, 2000, 3000);
    assert_true(n_astray > 100);
}

/* 0.5 and 254.5 and others, in whatever order the layout has them. */
static void means_of_bytes_are_halves_everywhere(void **state)
{
    static const char *const layouts[] = {"nchw", "nchw8c", "nchw16c"};

    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const int64_t step = i == 0 ? 1 : 8 * (int64_t)i; /* from a pixel to the next one */
        bool has[255] = {false};
        struct program_fill f;
        char text[100];
        int n_has = 0;

        snprintf(text, sizeof text, "pool2d u8 n=1 c=16 h=8 w=8 r=2 s=2 stride=2 kind=avg layout=%s", layouts[i]);
        f = fill_in("pool2d/naive", text, "ends", "x");
        for (int64_t at = 0; at + 9 * step < 1024; at++) { /* with those below and beside it */
            const double sum = fill_elem(&f, DTYPE_U8, at) + fill_elem(&f, DTYPE_U8, at + step) +
                               fill_elem(&f, DTYPE_U8, at + 8 * step) + fill_elem(&f, DTYPE_U8, at + 9 * step);

            if (fmod(sum, 4) == 2)
                has[(int)(sum / 4)] = true;
        }
        for (int k = 0; k < 255; k++)
            n_has += has[k];
        if (!has[0] || !has[254] || n_has < 3)
            fail_msg("%s: a half above 0: %d, above 254: %d, %d in all", text, has[0], has[254], n_has);
    }
}

/* Queries that agree with the one before but for an eighth of them, of the same head, whatever the layout; so do keys,
 * which are as far apart as before. */
static void queries_begin_like_the_one_before(void **state)
{
    static const char *const layouts[] = {"bhld", "blhd"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const int64_t step = i ? 64 : 32; /* of two heads */
        int n_like = 0;
        struct program_fill q;
        char text[100];

        snprintf(text, sizeof text, "attention f32 b=2 heads=2 q=8 k=64 d=32 layout=%s", layouts[i]);
        q = fill_in("attention/naive", text, "like", "q");
        assert_int_equal(fill_in("attention/naive", text, "like", "k").kind, FILL_PREFIXES);
        for (int64_t at = 0; at + step < 1024; at += 32) {
            int n_same = 0, n_rest = 0;

            for (int64_t c = 0; c < 32; c++) {
                const bool same = fill_elem(&q, DTYPE_F32, at + c) == fill_elem(&q, DTYPE_F32, at + step + c);

                assert_true(fill_elem(&q, DTYPE_F32, at + c) != 0);
                n_same += same && c < 28;
                n_rest += same && c >= 28;
            }
            n_like += n_same == 28 && n_rest < 4;
        }
        assert_in_range(n_like, 10, 30);
    }
}

/* Beyond what the power of e is, of which it is a half. */
static void numbers_go_to_where_the_result_ends(void **state)
{
    const struct program_fill a = fill_in("eltwise/naive", "eltwise f32 y=5000 f=cosh(a)", "special", "a");
    const struct program_fill cube = fill_in("eltwise/naive", "eltwise f32 y=5000 f=pow(a,3)", "special", "a");
    int n_end = 0, n_cubes = 0;

    (void)state;
    for (int64_t i = 0; i < 5000; i++) {
        const double v = fabs(fill_elem(&a, DTYPE_F32, i)), c = fabs(fill_elem(&cube, DTYPE_F32, i));

        n_end += cosh(v) > 2.5e38 && cosh(v) < 3.3e38;
        n_cubes += c * c * c > 2.5e38 && c * c * c < 3.3e38;
    }
    assert_in_range(n_end, 100, 600); /* of 23 one */
    assert_in_range(n_cubes, 100, 600);
}

/* The largest and the least magnitude but 0 of the first n. */
static struct magnitudes {
    double most, least;
} magnitudes_in(const char *id, const char *workload, const char *pass, const char *buffer, enum dtype t, int64_t n)
{
    const struct program_fill f = fill_in(id, workload, pass, buffer);
    struct magnitudes m = {0, INFINITY};

    for (int64_t i = 0; i < n; i++) {
        const double v = fabs(fill_elem(&f, t, i));

        m.most = fmax(m.most, v);
        m.least = v > 0 ? fmin(m.least, v) : m.least;
    }
    return m;
}

#define MOST_F32 3.4e38
#define MOST_F16 65504

/* What comes out is finite, what a shorter way to it has in between is not. */
static void what_is_computed_in_another_order_overflows(void **state)
{
    static const char norm[] = "norm f32 m=8 n=64", resize[] = "resize2d f32 n=1 c=2 h=9 w=9 size=18 step=2 first=-1 "
                                                               "unit=4 kind=linear";
    const struct magnitudes w = magnitudes_in("norm/naive", norm, "ends", "w", DTYPE_F32, 64);
    const struct magnitudes x = magnitudes_in("resize2d/naive", resize, "exact", "x", DTYPE_F32, 162);
    const struct magnitudes q =
        magnitudes_in("eltwise/naive", "eltwise f32 y=500 f=sqrt(add(mul(a,a),mul(b,b)))", "wide", "a", DTYPE_F32, 500);

    (void)state;
    assert_true(w.most / sqrt(1e-5) > MOST_F32 && w.most * sqrt(64) < MOST_F32);
    assert_true(2 * x.most > MOST_F32 && x.most < MOST_F32);
    assert_true(q.most * q.most > 1e30 && 2 * q.most * q.most < MOST_F32);
}

static void halves_come_near_their_largest_and_their_least(void **state)
{
    static const char dense[] = "dense f16 m=5 n=64 k=70", attention[] = "attention f16 b=1 heads=2 q=9 k=64 d=16";
    const struct magnitudes x = magnitudes_in("dense/naive", dense, "moved", "x", DTYPE_F16, 350);
    const struct magnitudes w = magnitudes_in("dense/naive", dense, "moved", "w", DTYPE_F16, 4480);
    const struct magnitudes v = magnitudes_in("attention/naive", attention, "exact", "v", DTYPE_F16, 2048);
    const struct magnitudes r =
        magnitudes_in("reduce/naive", "reduce f16 outer=9 n=50 kind=max", "exact", "x", DTYPE_F16, 450);
    const struct magnitudes four =
        magnitudes_in("dense4/naive", "dense4 f16 m=9 n=5 k=96", "wide", "x", DTYPE_F16, 864);

    (void)state;
    assert_true(x.most > 60000 && x.most * w.most <= MOST_F16 && x.least * w.least == 1);
    assert_true(2 * v.most > MOST_F16 && v.most < MOST_F16);
    assert_true(r.most < 0x1p-14 && r.most > 0);
    assert_true(four.most > 2048 && four.most * 15 < MOST_F16 * 2);
}

/* The largest of a block is 127 times the power of two it is rounded to, others are halves of it. */
static void inputs_that_are_rounded_by_blocks_are_halves_and_tiny(void **state)
{
    static const char workload[] = "dense4 f32 m=9 n=5 k=96 bytes=1";
    const struct program_fill f = fill_in("dense4/naive", workload, "exact", "x");
    const struct magnitudes wide = magnitudes_in("dense4/naive", workload, "wide", "x", DTYPE_F32, 864);
    int n_full = 0, n_halves = 0;

    (void)state;
    for (int64_t first = 0; first < 864; first += 32) {
        double most = 0;

        for (int64_t i = 0; i < 32; i++)
            most = fmax(most, fabs(fill_elem(&f, DTYPE_F32, first + i)));
        n_full += most == 127 * 2;
        for (int64_t i = 0; most == 127 * 2 && i < 32; i++)
            n_halves += fmod(fabs(fill_elem(&f, DTYPE_F32, first + i)), 2) == 1;
    }
    assert_true(n_full > 20 && n_halves > 200);
    assert_true(wide.most < 0x1p-67);
}

static void states_and_gradients_go_far(void **state)
{
    static const char forward[] = "rnn f32 cell=gru i=9 h=12 b=4 t=6",
                      back[] = "rnn f32 pass=bwd_data i=9 h=12 b=4 t=6",
                      weight[] = "rnn f32 pass=bwd_weight i=9 h=12 b=4 t=6";
    const struct program_fill bias = fill_in("rnn/naive", forward, "special", "bias");
    int n_beside = 0; /* a bias that is a thousandth of the other, and not below what shows */

    (void)state;
    for (int64_t i = 0; i < 36; i++) {
        const double one = fabs(fill_elem(&bias, DTYPE_F32, i)), other = fabs(fill_elem(&bias, DTYPE_F32, 36 + i));

        n_beside += fmin(one, other) < 1e-3 * fmax(one, other) && fmin(one, other) > 8e-5;
    }
    assert_true(n_beside > 0);
    assert_true(magnitudes_in("rnn/naive", forward, "special", "x", DTYPE_F32, 216).most > 100);
    assert_true(magnitudes_in("rnn/naive", back, "special", "cs", DTYPE_F32, 288).most > 5);
    assert_true(magnitudes_in("rnn/naive", weight, "special", "dgates", DTYPE_F32, 1152).most < 1e-8);
}

static void what_is_compared_may_be_tiny(void **state)
{
    static const char workload[] = "eltwise f32 y=5000 f=less(a,b)";

    (void)state;
    assert_true(magnitudes_in("eltwise/naive", workload, "wide", "a", DTYPE_F32, 5000).least < 0x1p-120);
    assert_true(magnitudes_in("eltwise/naive", workload, "special", "a", DTYPE_F32, 5000).least < 0x1p-110);
}

/* Halves of sums of bytes, one half among them; an addend that a float does not hold by itself. */
static void sums_of_bytes_are_halves(void **state)
{
    static const char workload[] = "add i8 n=1 c=4 h=8 w=8", dense[] = "dense i8 m=6 n=37 k=72 epilogue=bias_requant";
    const struct program_fill a = fill_in("add/naive", workload, "wide", "a");
    const struct program_fill b = fill_in("add/naive", workload, "wide", "b");
    const struct program_fill scale = fill_in("add/naive", workload, "wide", "scale");
    const double bias = magnitudes_in("dense/naive", dense, "wide", "bias", DTYPE_I32, 37).most;
    int n_halves = 0, n_half = 0;

    (void)state;
    for (int64_t i = 0; i < 256; i++) {
        const double v = fill_elem(&a, DTYPE_I8, i) * fill_elem(&scale, DTYPE_F32, 0) +
                         fill_elem(&b, DTYPE_I8, i) * fill_elem(&scale, DTYPE_F32, 1);

        n_halves += v - floor(v) == 0.5;
        n_half += v == 0.5;
    }
    assert_true(n_halves > 50 && n_half > 0);
    assert_true((double)(float)bias != bias);
}

static void rows_of_a_table_begin_with_zeros_twice(void **state)
{
    static const char workload[] = "gather f32 n=40 m=9 inner=33";
    const struct program_fill wide = fill_in("gather/naive", workload, "wide", "x");
    const struct program_fill like = fill_in("gather/naive", workload, "like", "x");
    int n = 0;

    (void)state;
    for (int64_t row = 0; row < 40; row++) {
        const double one = fill_elem(&wide, DTYPE_F32, row * 33), other = fill_elem(&like, DTYPE_F32, row * 33);

        n += one == 0 && other == 0 && !signbit(one) && !signbit(other);
    }
    assert_true(n >= 10);
}

/* In each head logits of the last eighth of keys are larger by 6.5 to 9.5 than all before, whatever the layout. */
static void later_logits_are_larger_by_a_step(void **state)
{
    static const char *const layouts[] = {"", " layout=blhd"};

    (void)state;
    for (size_t l = 0; l < 2; l++) {
        const int64_t d = 20, n_keys = 150;
        struct program_fill q, k;
        char text[100];

        snprintf(text, sizeof text, "attention f32 b=2 heads=4 q=1 k=150 d=20%s", layouts[l]);
        q = fill_in("attention/naive", text, "special", "q");
        k = fill_in("attention/naive", text, "special", "k");
        for (int64_t head = 0; head < 8; head++) {
            double most = -INFINITY, before = -INFINITY;

            for (int64_t j = 0; j < n_keys; j++) {
                const int64_t row = l ? (head / 4 * n_keys + j) * 4 + head % 4 : head * n_keys + j;
                double logit = 0;

                for (int64_t c = 0; c < d; c++)
                    logit += fill_elem(&q, DTYPE_F32, head * d + c) * fill_elem(&k, DTYPE_F32, row * d + c) / sqrt(d);
                before = j == n_keys - n_keys / 8 - 1 ? most : before;
                most = fmax(most, logit);
            }
            if (most - before < 6.5 || most - before > 9.5)
                fail_msg("%s: head %lld: a step of %g", text, (long long)head, most - before);
        }
    }
}

/* Of a quarter of all elements, which are 0 by their place in a row, half are -0. */
static void what_is_moved_has_negative_zeros(void **state)
{
    const struct program_fill f = fill_in("concat/naive", "concat f32 n=2 c=8 c2=5 h=9 w=7", "wide", "a");
    int n = 0;

    (void)state;
    for (int64_t i = 0; i < 1000; i++) {
        const double v = fill_elem(&f, DTYPE_F32, i);

        n += v == 0 && signbit(v);
    }
    assert_in_range(n, 150, 350);
}

/* What nearly cancels must have one seed. */
static void what_is_added_nearly_cancels(void **state)
{
    const struct program_fill *a, *b;
    struct blobs blobs;
    struct program p;
    int n_near = 0, n_last = 0;

    (void)state;
    make("add/naive", "add f32 n=1 c=4 h=9 w=9", 5, &p, &blobs);
    a = fill_of(&p, p.n_passes - 1, "a");
    b = fill_of(&p, p.n_passes - 1, "b");
    for (int64_t i = 0; i < 300; i++) {
        const double x = fill_elem(a, DTYPE_F32, i), y = fill_elem(b, DTYPE_F32, i), sum = x + y;

        n_near += sum != 0 && fabs(sum) <= fabs(x) * 0x1p-21;
        n_last += y != 0 && fabs(y) <= fabs(x) * 0x1p-22 && (double)(float)sum != x;
    }
    assert_in_range(n_near, 60, 130); /* of every second four of five, but of a fifth of all */
    assert_true(n_last > 20);         /* these: what is added is about the other's last place */
    program_fini(&p);
    blobs_fini(&blobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_seed_has_its_own_data_and_samples),
        cmocka_unit_test(every_output_of_a_recurrent_layer_is_compared_in_full),
        cmocka_unit_test(data_go_far),
        cmocka_unit_test(sums_are_of_few_of_huge_and_of_usual_products),
        cmocka_unit_test(halves_may_be_off_by_their_last_place),
        cmocka_unit_test(sums_go_far),
        cmocka_unit_test(outputs_of_a_relu_are_positive_in_one_of_two_passes),
        cmocka_unit_test(what_may_be_chosen_has_passes_of_its_own),
        cmocka_unit_test(what_is_computed_in_another_order_overflows),
        cmocka_unit_test(halves_come_near_their_largest_and_their_least),
        cmocka_unit_test(inputs_that_are_rounded_by_blocks_are_halves_and_tiny),
        cmocka_unit_test(states_and_gradients_go_far),
        cmocka_unit_test(what_is_compared_may_be_tiny),
        cmocka_unit_test(sums_of_bytes_are_halves),
        cmocka_unit_test(rows_of_a_table_begin_with_zeros_twice),
        cmocka_unit_test(later_logits_are_larger_by_a_step),
        cmocka_unit_test(what_is_moved_has_negative_zeros),
        cmocka_unit_test(what_is_added_nearly_cancels),
        cmocka_unit_test(quotients_that_are_halves_go_astray_times_the_inverse),
        cmocka_unit_test(means_of_bytes_are_halves_everywhere),
        cmocka_unit_test(queries_begin_like_the_one_before),
        cmocka_unit_test(numbers_go_to_where_the_result_ends),
        cmocka_unit_test(products_with_padding_and_zeros_are_not_needed),
        cmocka_unit_test(no_template_needs_more_than_its_operator_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
