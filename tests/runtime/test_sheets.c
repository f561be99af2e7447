/* SPDX-License-Identifier: MIT */
/* Fills that repeat columns or go far, checks of folded outputs, and passes apart from a program. */
#include "core/rng.h"
#include "runtime/program.h"
#include "runtime/verify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ROWS 3
#define COLS 10
#define INNER 4
#define OF 2
#define N (ROWS * COLS * INNER)

static const struct program_fold fold = {.inner = INNER, .cols = COLS, .of = OF, .seed = 9};

static void columns_repeat_the_first_ones(void **state)
{
    const struct program_fill plain = {.kind = FILL_NORMAL, .seed = 3, .hi = 1},
                              folded = {.kind = FILL_NORMAL, .seed = 3, .hi = 1, .fold = fold};
    float whole[N], data[N];
    int n_of_each[OF] = {0};

    (void)state;
    assert_int_equal(fill_elems(&plain, DTYPE_F32, whole, N, NULL), ERR_OK);
    assert_int_equal(fill_elems(&folded, DTYPE_F32, data, N, NULL), ERR_OK);
    for (int64_t c = 0; c < COLS; c++) {
        const int64_t from = program_fold_column(&fold, c);

        assert_in_range(from, 0, OF - 1);
        assert_true(c >= OF || from == c);
        n_of_each[from]++;
        for (int64_t i = 0; i < ROWS * INNER; i++) {
            const int64_t row = i / INNER * COLS, k = i % INNER;

            assert_true(data[(row + c) * INNER + k] == whole[(row + from) * INNER + k]);
            assert_true(fill_elem(&folded, DTYPE_F32, (row + c) * INNER + k) ==
                        (double)whole[(row + from) * INNER + k]);
        }
    }
    assert_true(n_of_each[0] > 1 && n_of_each[1] > 1);
}

/* In four blocks that follow one another are two of factor 1 and one of the largest or half of it. */
static void wide_blocks_have_one_factor_each(void **state)
{
    const struct program_fill f = {.kind = FILL_WIDE, .seed = 6, .lo = 1, .hi = 0, .step = 1024, .block = 8};
    double factors[40];
    int n_ones = 0;

    (void)state;
    for (int b = 0; b < 40; b++) {
        factors[b] = fill_elem(&f, DTYPE_F64, 8 * b); /* deviation 0: factor * 1 */
        for (int i = 1; i < 8; i++)
            assert_true(fill_elem(&f, DTYPE_F64, 8 * b + i) == factors[b]);
        assert_true(log2(factors[b]) == rint(log2(factors[b])) && factors[b] >= 1.0 / 64 && factors[b] <= 1024);
        n_ones += factors[b] == 1;
    }
    assert_in_range(n_ones, 20, 30);
    for (int b = 0; b < 40; b += 4) {
        int n_large = 0;

        for (int i = 0; i < 4; i++)
            n_large += factors[b + i] >= 512;
        assert_in_range(n_large, 1, 2);
    }
}

static void edges_are_the_bounds_and_what_is_near_zero(void **state)
{
    const struct program_fill f = {.kind = FILL_EDGES, .seed = 4, .lo = -128, .hi = 127};
    int8_t data[4000];
    int seen[256] = {0}, n_edges = 0;

    (void)state;
    assert_int_equal(fill_elems(&f, DTYPE_I8, data, 4000, NULL), ERR_OK);
    for (int i = 0; i < 4000; i++)
        seen[data[i] + 128]++;
    for (int i = 0; i < 7; i++) {
        static const int edges[] = {-128, -127, -1, 0, 1, 126, 127};

        assert_in_range(seen[edges[i] + 128], 400, 600);
        n_edges += seen[edges[i] + 128];
    }
    assert_in_range(4000 - n_edges, 300, 700);
}

/* Of four blocks the first is near or at the lower bound, the third at the upper one. */
static void edges_have_blocks_of_one_sign(void **state)
{
    const struct program_fill f = {.kind = FILL_EDGES, .seed = 4, .lo = -128, .hi = 127, .block = 100, .step = 1};
    int n_pure = 0;

    (void)state;
    for (int b = 0; b < 40; b++) {
        double least = 1000, most = -1000;

        for (int i = 0; i < 100; i++) {
            const double v = fill_elem(&f, DTYPE_I8, 100 * b + i);

            least = fmin(least, v);
            most = fmax(most, v);
        }
        assert_true(b % 4 != 0 || (least == -128 && most <= -121));
        assert_true(b % 4 != 2 || (least >= 120 && most == 127));
        assert_true(b % 2 == 0 || (least == -128 && most == 127));
        n_pure += least == most;
    }
    assert_in_range(n_pure, 3, 17);
    for (int b = 0; b < 40; b += 2) { /* never without a step */
        const struct program_fill mixed = {.kind = FILL_EDGES, .seed = 4, .lo = -128, .hi = 127, .block = 100};
        int n_off = 0;

        for (int i = 0; i < 100; i++)
            n_off += fill_elem(&mixed, DTYPE_I8, 100 * b + i) != (b % 4 ? 127 : -128);
        assert_in_range(n_off, 1, 40);
    }
}

static void floats_have_all_exponents_and_fractions(void **state)
{
    const struct program_fill all = {.kind = FILL_FLOATS, .seed = 9, .lo = -149, .hi = 126, .step = 2};
    const struct program_fill some = {.kind = FILL_FLOATS, .seed = 9, .lo = -3, .hi = 2};
    uint32_t words[10000], bits = 0;
    int n_denormal = 0, n_infinite = 0, n_minus_zero = 0, n_nan = 0;

    (void)state;
    assert_int_equal(fill_elems(&all, DTYPE_F32, words, 10000, NULL), ERR_OK);
    for (int i = 0; i < 10000; i++) {
        const uint32_t size = words[i] & 0x7fffffff;

        bits |= words[i];
        n_nan += size > 0x7f800000;
        assert_true(words[i] != 0xffffffff); /* what nobody has written */
        n_denormal += size && size < 0x00800000;
        n_infinite += size == 0x7f800000;
        n_minus_zero += words[i] == 0x80000000;
    }
    assert_true(bits == 0xffffffff);
    assert_in_range(n_denormal, 400, 1200);
    assert_in_range(n_infinite, 150, 500);
    assert_in_range(n_minus_zero, 80, 250);
    assert_in_range(n_nan, 150, 500);
    for (int i = 0; i < 1000; i++) {
        const double v = fabs(fill_elem(&some, DTYPE_F32, i));

        assert_true(v == 0 || (v >= 0.125 && v <= 8));
    }
}

/* Of four blocks one has nothing above -2^93, and one of -infinity, mostly or as a whole, one no infinity above 0; the
 * other way round with step -1. */
static void floats_have_blocks_far_below_zero(void **state)
{
    const struct program_fill f = {.kind = FILL_FLOATS, .seed = 9, .lo = -100, .hi = 100, .step = 1, .block = 500};
    struct program_fill other = f;
    int n_infinite = 0, n_above[4] = {0};

    (void)state;
    other.step = -1;
    for (int64_t i = 0; i < 40000; i++) {
        const double v = fill_elem(&f, DTYPE_F32, i);
        const int64_t turn = i / 500 % 8;

        if (turn % 2 == 0)
            assert_true(fill_elem(&other, DTYPE_F32, i) == -v);
        if (turn == 2)
            assert_true(isinf(v));
        if (turn % 4 == 0)
            assert_true(v <= -0x1p93 && v >= -0x1p101);
        if (turn % 4 == 2)
            assert_true(v <= -0x1p93);
        n_infinite += turn == 6 && isinf(v);
        n_above[turn % 4] += isinf(v) && v > 0;
    }
    assert_in_range(n_infinite, 4200, 4550);
    assert_true(n_above[0] + n_above[1] + n_above[2] == 0);
    assert_in_range(n_above[3], 100, 220);
}

/* Exponents beyond those of all types. */
static void floats_of_one_block_may_be_infinite_all(void **state)
{
    const struct program_fill f = {.kind = FILL_FLOATS, .seed = 9, .lo = 1024, .hi = 1031, .step = 1, .block = 300};

    (void)state;
    for (int64_t i = 0; i < 300; i++)
        assert_true(fill_elem(&f, DTYPE_F64, i) == -INFINITY && fill_elem(&f, DTYPE_F16, i) == -INFINITY);
}

static void the_fourth_of_eight_blocks_of_whole_numbers_is_zero(void **state)
{
    const struct program_fill f = {.kind = FILL_INT, .seed = 9, .lo = 3, .hi = 5, .step = -2, .block = 10};

    (void)state;
    for (int64_t i = 0; i < 200; i++) {
        const double v = fill_elem(&f, DTYPE_F32, i);

        assert_true(i / 10 % 8 == 3 ? v == 0 : v == -6 || v == -8 || v == -10);
    }
}

static void turns_are_two_values(void **state)
{
    const struct program_fill f = {.kind = FILL_TURNS, .lo = 255, .hi = 0.5};

    (void)state;
    for (int64_t i = 0; i < 5; i++)
        assert_true(fill_elem(&f, DTYPE_F32, i) == (i % 2 ? 0.5 : 255));
}

/* One block of bytes without a sign is at the upper bound. */
static void the_first_block_of_unsigned_edges_is_high(void **state)
{
    const struct program_fill f = {.kind = FILL_EDGES, .seed = 4, .lo = 0, .hi = 255, .block = 100};

    (void)state;
    for (int64_t i = 0; i < 100; i++)
        assert_true(fill_elem(&f, DTYPE_U8, i) >= 248 && fill_elem(&f, DTYPE_U8, 200 + i) <= 7);
}

/* Rows of 50 round -1e6, 300, -300 and 0; the largest is far above all others but in the last of four, in the tail of
 * some, the last of others. */
static void rows_have_one_largest_element(void **state)
{
    const struct program_fill f = {.kind = FILL_ROWS, .seed = 9, .lo = -1e6, .hi = 4, .block = 50};
    static const double offsets[] = {-1e6, 300, -300, 0}, spikes[] = {120, 64, 64, 0, 64, 120, 64, 0};
    int n_spikes = 0, n_tail = 0, seen[50] = {0}, n_seen = 0;

    (void)state;
    for (int row = 0; row < 1200; row++) {
        int top = 0;

        for (int i = 0; i < 50; i++) {
            const double v = fill_elem(&f, DTYPE_F64, 50 * row + i) - offsets[row % 4];

            assert_true(fabs(v) < 24 || (row % 4 != 3 && fabs(v - spikes[row % 8]) < 24));
            if (v > 24) {
                n_spikes++;
                top = i;
            }
        }
        seen[top]++;
        n_tail += top >= 34;
        assert_true(row % 8 != 0 || top == 49);
    }
    for (int i = 0; i < 50; i++)
        n_seen += seen[i] > 0;
    assert_int_equal(n_spikes, 900);
    assert_true(n_tail > 360 && n_seen == 50);
}

/* Without noise all of a row is equal but for the one, which is infinite in the third row. */
static void rows_without_noise_are_equal_numbers(void **state)
{
    const struct program_fill f = {.kind = FILL_ROWS, .seed = 9, .lo = 0.1, .step = 0.5, .block = 50};

    (void)state;
    for (int64_t i = 0; i < 50; i++)
        assert_true(fill_elem(&f, DTYPE_F64, i) == (i < 49 ? 0.05 : 60.05));
    for (int row = 1; row < 16; row++) {
        int n_infinite = 0;

        for (int64_t i = 50 * row; i < 50 * row + 50; i++)
            n_infinite += isinf(fill_elem(&f, DTYPE_F64, i)) && fill_elem(&f, DTYPE_F64, i) > 0;
        assert_int_equal(n_infinite, row % 8 == 2);
        assert_true(isinf(fill_elem(&f, DTYPE_F64, 50 * row)) == (row % 8 == 2));
    }
}

/* ---- a folded check on a device of the test's own ---- */

static float output[N];

static enum err run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns, struct why *why)
{
    (void)l;
    (void)phase;
    (void)why;
    if (device_ns)
        *device_ns = 1;
    *wall_ns = 1;
    return ERR_OK;
}

static enum err write_buffer(struct loaded *l, int i, const void *data, struct why *why)
{
    (void)l;
    (void)i;
    (void)data;
    (void)why;
    return ERR_OK;
}

static enum err read_buffer(struct loaded *l, int i, void *data, struct why *why)
{
    (void)l;
    (void)i;
    (void)why;
    memcpy(data, output, sizeof output);
    return ERR_OK;
}

static void every_element_of_a_folded_output_is_compared(void **state)
{
    const struct device_ops ops = {.name = "test", .run = run, .write = write_buffer, .read = read_buffer};
    double values[ROWS * OF * INNER];
    struct program p;
    struct blobs blobs;
    struct program_check *c;
    struct verify_report report;
    struct why why;

    (void)state;
    program_init(&p);
    blobs_init(&blobs, 1 << 20);
    program_add_buffer(&p, "y", ROLE_OUTPUT, DTYPE_F32, N);
    c = program_pass_check_add(program_add_pass(&p, "folded"), CHECK_SAMPLE, 0);
    c->fold = fold;
    c->n = ROWS * OF * INNER;
    c->tolerance = 1e-6;
    for (int i = 0; i < ROWS * OF * INNER; i++)
        values[i] = i;
    blobs_put(&blobs, values, sizeof values, &c->values);
    for (int64_t i = 0; i < N; i++) {
        const int64_t col = program_fold_column(&fold, i / INNER % COLS);

        output[i] = (float)((i / (INNER * COLS) * OF + col) * INNER + i % INNER);
    }
    assert_int_equal(verify_before(&ops, NULL, &p, &blobs, 0, &report, &why), ERR_OK);
    assert_int_equal(report.n_compared, N);
    for (int i = 0; i < N; i += 7) {
        const float right = output[i];

        output[i] = right + 1;
        assert_int_equal(verify_before(&ops, NULL, &p, &blobs, 0, &report, &why), ERR_WRONG);
        assert_int_equal(report.i_elem, i);
        output[i] = right;
    }
    program_fini(&p);
    blobs_fini(&blobs);
}

/* ---- sheets ---- */

static void make_program(struct program *p)
{
    program_init(p);
    p->workload = strdup("test");
    program_add_buffer(p, "x", ROLE_INPUT, DTYPE_F32, N);
    program_add_buffer(p, "w", ROLE_WEIGHT, DTYPE_F32, 8);
    program_add_buffer(p, "y", ROLE_OUTPUT, DTYPE_F32, N);
}

/* A pass that fills x and w and looks at y, as text. */
static void make_sheet(struct buf *out)
{
    const struct program_fill x = {.kind = FILL_WIDE, .seed = 5, .hi = 1, .step = 64, .block = 4, .fold = fold},
                              w = {.kind = FILL_EDGES, .seed = 6, .lo = -2, .hi = 2};
    struct program p;
    struct program_pass *pass;
    struct program_check *c;

    make_program(&p);
    pass = program_add_pass(&p, "own");
    program_pass_fill_add(pass, 0, &x);
    program_pass_fill_add(pass, 1, &w);
    c = program_pass_check_add(pass, CHECK_SAMPLE, 2);
    c->n = ROWS * OF * INNER;
    c->fold = fold;
    c->values = sha256_of("values", 6);
    buf_init(out, PROGRAM_MAX_BYTES);
    assert_int_equal(program_sheet_write(&p, out), ERR_OK);
    program_fini(&p);
}

static void a_sheet_is_read_as_it_was_written(void **state)
{
    struct buf text, again;
    struct program p;
    struct why why = {""};

    (void)state;
    make_sheet(&text);
    make_program(&p);
    program_add_pass(&p, "before");
    assert_int_equal(program_sheet_read(buf_text(&text), text.len, &p, &why), ERR_OK);
    assert_int_equal(p.n_passes, 2); /* behind the program's own */
    assert_int_equal(p.n_sheet, 1);
    program_drop_passes(&p);
    assert_true(p.n_passes == 0 && p.n_sheet == 0);
    assert_int_equal(program_sheet_read(buf_text(&text), text.len, &p, &why), ERR_OK);
    assert_int_equal(p.passes[0].n_fills, 2);
    assert_int_equal(p.passes[0].fills[0].fill.fold.cols, COLS);
    assert_int_equal(p.passes[0].fills[0].fill.block, 4);
    buf_init(&again, PROGRAM_MAX_BYTES);
    assert_int_equal(program_sheet_write(&p, &again), ERR_OK);
    assert_string_equal(buf_text(&text), buf_text(&again));
    buf_fini(&text);
    buf_fini(&again);
    program_fini(&p);
}

static void fills_of_tensors_that_a_program_has_baked_in_are_left_out(void **state)
{
    struct buf text;
    struct program p;

    (void)state;
    make_sheet(&text);
    program_init(&p);
    p.workload = strdup("test");
    program_add_buffer(&p, "y", ROLE_OUTPUT, DTYPE_F32, N);
    program_add_buffer(&p, "x", ROLE_INPUT, DTYPE_F32, N);
    assert_int_equal(program_sheet_read(buf_text(&text), text.len, &p, NULL), ERR_OK);
    assert_int_equal(p.passes[0].n_fills, 1);
    assert_int_equal(p.passes[0].fills[0].i_buffer, 1); /* by name */
    assert_int_equal(p.passes[0].checks[0].i_buffer, 0);
    buf_fini(&text);
    program_fini(&p);
}

static void what_is_no_sheet_is_told_in_words(void **state)
{
    static const char *const cases[][2] = {
        {"{\"schema\":1,\"verify\":[{\"id\":\"a\",\"checks\":[{\"kind\":\"sample\",\"buffer\":\"z\",\"n\":1}]}]}",
         "'z'"},
        {"{\"schema\":2,\"verify\":[]}", "schema"},
        {"{\"schema\":1,\"verify\":[],\"more\":1}", "more"},
        {"{\"schema\":1,\"verify\":[{\"id\":\"a\",\"fills\":[{\"buffer\":\"x\",\"kind\":\"int\",\"fold\":[1,2]}]}]}",
         "'fold' is not [inner, cols, of, seed]"},
        {"{\"schema\":1,\"verify\":[{\"id\":\"a\",\"fills\":[{\"buffer\":\"x\",\"kind\":\"int\",\"fold\":[7,10,2,1]}]}]"
         "}",
         "not columns to fold"},
        {"{\"schema\":1,\"verify\":[{\"id\":\"a\",\"fills\":[{\"buffer\":\"x\",\"kind\":\"int\",\"fold\":[4,10,11,1]}]}"
         "]}",
         "not columns to fold"},
        {"{\"schema\":1,\"verify\":[{\"id\":\"a\",\"checks\":[{\"kind\":\"sample\",\"buffer\":\"y\",\"n\":23,\"fold\":"
         "[4,10,2,1],\"values\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}]}]}",
         "a value for each element of its columns"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct program p;
        struct why why = {""};
        enum err e;

        make_program(&p);
        e = program_sheet_read(cases[i][0], strlen(cases[i][0]), &p, &why);
        if (e != ERR_INPUT || !strstr(why.text, cases[i][1]))
            fail_msg("%s: %s '%s', expected '%s'", cases[i][0], err_name(e), why.text, cases[i][1]);
        program_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_repeat_the_first_ones),
        cmocka_unit_test(wide_blocks_have_one_factor_each),
        cmocka_unit_test(edges_have_blocks_of_one_sign),
        cmocka_unit_test(floats_have_all_exponents_and_fractions),
        cmocka_unit_test(floats_have_blocks_far_below_zero),
        cmocka_unit_test(floats_of_one_block_may_be_infinite_all),
        cmocka_unit_test(the_fourth_of_eight_blocks_of_whole_numbers_is_zero),
        cmocka_unit_test(turns_are_two_values),
        cmocka_unit_test(the_first_block_of_unsigned_edges_is_high),
        cmocka_unit_test(rows_have_one_largest_element),
        cmocka_unit_test(rows_without_noise_are_equal_numbers),
        cmocka_unit_test(edges_are_the_bounds_and_what_is_near_zero),
        cmocka_unit_test(every_element_of_a_folded_output_is_compared),
        cmocka_unit_test(a_sheet_is_read_as_it_was_written),
        cmocka_unit_test(fills_of_tensors_that_a_program_has_baked_in_are_left_out),
        cmocka_unit_test(what_is_no_sheet_is_told_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
