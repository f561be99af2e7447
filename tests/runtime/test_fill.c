/* SPDX-License-Identifier: MIT */
#include "core/clock.h"
#include "core/rng.h"
#include "runtime/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The value of a half by its definition, in doubles. */
static double half_by_definition(unsigned h)
{
    const double sign = h & 0x8000 ? -1 : 1, fraction = h & 0x3ff;
    const int exponent = (int)(h >> 10 & 0x1f);

    if (exponent == 31)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

/* A bfloat16 is 8 bits of exponent and 7 of fraction. */
static double bf16_by_definition(unsigned b)
{
    const double sign = b & 0x8000 ? -1 : 1, fraction = b & 0x7f;
    const int exponent = (int)(b >> 7 & 0xff);

    if (exponent == 255)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(128 + fraction, exponent - 134) : ldexp(fraction, -133));
}

static void every_bf16_has_its_value_and_comes_back(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 65536; b++) {
        const double wanted = bf16_by_definition(b);
        const float got = bf16_to_float((uint16_t)b);

        if (isnan(wanted)) {
            assert_true(isnan(got) && isnan(bf16_to_float(bf16_from_float(got))));
            continue;
        }
        assert_true((double)got == wanted && !signbit(got) == !signbit(wanted));
        assert_int_equal(bf16_from_float(got), b);
    }
}

static void floats_between_bf16s_go_to_the_nearest_or_the_even_one(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 0x7f7f; b++) {
        const float middle = (float)((bf16_by_definition(b) + bf16_by_definition(b + 1)) / 2);

        assert_int_equal(bf16_from_float(middle), b & 1 ? b + 1 : b);
        assert_int_equal(bf16_from_float(nextafterf(middle, 0)), b);
        assert_int_equal(bf16_from_float(nextafterf(middle, INFINITY)), b + 1);
    }
}

static void every_half_has_its_value_and_comes_back(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 65536; h++) {
        const double wanted = half_by_definition(h);
        const float got = half_to_float((uint16_t)h);

        if (isnan(wanted)) {
            assert_true(isnan(got) && isnan(half_to_float(half_from_float(got))));
            continue;
        }
        assert_true((double)got == wanted && !signbit(got) == !signbit(wanted));
        assert_int_equal(half_from_float(got), h);
    }
}

static void floats_between_two_halves_go_to_the_nearer_or_even_one(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 0x7c00; h++) { /* up to the largest finite one; its upper neighbour counts as 65536 */
        const double low = half_by_definition(h), high = h == 0x7bff ? 65536 : half_by_definition(h + 1);
        const float middle = (float)((low + high) / 2);

        assert_int_equal(half_from_float(middle), h & 1 ? h + 1 : h);
        assert_int_equal(half_from_float(nextafterf(middle, 0)), h);
        assert_int_equal(half_from_float(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(half_from_float(-nextafterf(middle, 0)), h | 0x8000);
    }
    assert_int_equal(half_from_float(INFINITY), 0x7c00);
    assert_int_equal(half_from_float(3e38f), 0x7c00);
    assert_int_equal(half_from_float(1e-40f), 0);
}

static void stores_round_and_saturate(void **state)
{
    int8_t i8[4];
    uint8_t u8[2];
    int32_t i32[2];

    (void)state;
    dtype_store(DTYPE_I8, i8, 0, 200);
    dtype_store(DTYPE_I8, i8, 1, -200);
    dtype_store(DTYPE_I8, i8, 2, 2.5);
    dtype_store(DTYPE_I8, i8, 3, NAN);
    dtype_store(DTYPE_U8, u8, 0, -1);
    dtype_store(DTYPE_U8, u8, 1, 254.6);
    dtype_store(DTYPE_I32, i32, 0, 1e20);
    dtype_store(DTYPE_I32, i32, 1, -5);
    assert_int_equal(i8[0], 127);
    assert_int_equal(i8[1], -128);
    assert_int_equal(i8[2], 2);
    assert_int_equal(i8[3], 0);
    assert_int_equal(u8[0], 0);
    assert_int_equal(u8[1], 255);
    assert_int_equal(i32[0], INT32_MAX);
    assert_true(dtype_load(DTYPE_I32, i32, 1) == -5);
    assert_int_equal(dtype_by_name("f16"), DTYPE_F16);
    assert_int_equal(dtype_by_name("f17"), -1);
}

/* Every type, away from element 0, between neighbours that stay. */
static void elements_are_stored_and_loaded_in_their_places(void **state)
{
    static const double values[N_DTYPES] = {
        [DTYPE_F32] = 0.1f, [DTYPE_F16] = -2.5,  [DTYPE_I8] = -128, [DTYPE_I32] = -2147483648.0,
        [DTYPE_U8] = 255,   [DTYPE_BF16] = -1.5, [DTYPE_F64] = 0.1};

    (void)state;
    for (int t = 0; t < N_DTYPES; t++) {
        const size_t n = dtype_bytes((enum dtype)t);
        unsigned char data[4 * 8];

        memset(data, 0x11, sizeof data);
        dtype_store((enum dtype)t, data, 2, values[t]);
        if (dtype_load((enum dtype)t, data, 2) != values[t])
            fail_msg("%s: %g came back as %g", dtype_name((enum dtype)t), values[t],
                     dtype_load((enum dtype)t, data, 2));
        for (size_t i = 0; i < sizeof data; i++)
            assert_true((i >= 2 * n && i < 3 * n) || data[i] == 0x11);
        assert_int_equal(dtype_by_name(dtype_name((enum dtype)t)), t);
    }
}

/* splitmix64 as published, apart from the project's own generator. */
static uint64_t splitmix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t word_at(uint64_t seed, uint64_t i)
{
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);

    return splitmix(splitmix(seed + step) + (i + 1) * step);
}

static void int_fill_is_the_scaled_high_half_of_the_stream(void **state)
{
    const struct program_fill f = {.kind = FILL_INT, .seed = 42, .lo = -3, .hi = 3};
    float data[1000];
    int seen[7] = {0};

    (void)state;
    assert_int_equal(fill_elems(&f, DTYPE_F32, data, 1000, NULL), ERR_OK);
    for (int i = 0; i < 1000; i++) {
        /* floor(word * 7 / 2^64) in long division by parts */
        const uint64_t w = word_at(42, (uint64_t)i), high = w >> 32, low = w & 0xffffffff;
        const uint64_t k = (high * 7 + (low * 7 >> 32)) >> 32;

        assert_true(data[i] == (float)k - 3);
        assert_true(fill_elem(&f, DTYPE_F32, i) == (double)data[i]);
        seen[k]++;
    }
    for (int k = 0; k < 7; k++)
        assert_in_range(seen[k], 100, 190);
}

static void normal_fill_is_the_sum_of_twelve_uniforms(void **state)
{
    const struct program_fill f = {.kind = FILL_NORMAL, .seed = 3, .lo = 1, .hi = 0.5};
    float data[4096];
    double mean = 0, square = 0;

    (void)state;
    assert_int_equal(fill_elems(&f, DTYPE_F32, data, 4096, NULL), ERR_OK);
    for (int i = 0; i < 4096; i++) {
        double sum = 0;

        for (int k = 0; k < 12; k++)
            sum += (double)(word_at(3, (uint64_t)(3 * i + k / 4)) >> 16 * (k % 4) & 0xffff);
        assert_true(data[i] == (float)(1 + 0.5 * ((sum - 6 * 65535.0) / 65536)));
        mean += (double)data[i] / 4096;
        square += ((double)data[i] - 1) * ((double)data[i] - 1) / 4096;
    }
    assert_true(fabs(mean - 1) < 0.03);
    assert_true(fabs(sqrt(square) - 0.5) < 0.03);
}

static void empty_fill_is_no_number(void **state)
{
    const struct program_fill f = {.kind = FILL_NONE};
    float f32[3] = {0};
    uint16_t f16[3] = {0};
    int32_t i32[3] = {0};

    (void)state;
    fill_elems(&f, DTYPE_F32, f32, 3, NULL);
    fill_elems(&f, DTYPE_F16, f16, 3, NULL);
    fill_elems(&f, DTYPE_I32, i32, 3, NULL);
    assert_true(isnan(f32[2]) && isnan(half_to_float(f16[2])) && i32[2] == -1);
}

static void value_fill_reaches_every_element(void **state)
{
    const struct program_fill f = {.kind = FILL_VALUE, .lo = -2};
    int8_t data[5001];

    (void)state;
    data[5000] = 77;
    fill_elems(&f, DTYPE_I8, data, 5000, NULL);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(data[i], -2);
    assert_int_equal(data[5000], 77);
}

static void zero_fill_is_zero_whatever_its_bounds(void **state)
{
    const struct program_fill f = {.kind = FILL_ZERO, .lo = 5, .hi = 6};
    float data[3] = {1, 1, 1};

    (void)state;
    assert_int_equal(fill_elems(&f, DTYPE_F32, data, 3, NULL), ERR_OK);
    assert_true(data[0] == 0 && data[2] == 0);
    assert_true(fill_elem(&f, DTYPE_F32, 2) == 0);
}

/* Of four rows of 5 the second is 100 and then 2^-16 of what it would be. */
static void rows_with_a_large_number_have_a_small_rest(void **state)
{
    const struct program_fill plain = {.kind = FILL_NORMAL, .seed = 5, .lo = 8, .hi = 1};
    struct program_fill f = plain;
    double data[40];

    (void)state;
    f.step = 100;
    f.block = 5;
    assert_int_equal(fill_elems(&f, DTYPE_F64, data, 40, NULL), ERR_OK);
    for (int64_t i = 0; i < 40; i++) {
        const double was = fill_elem(&plain, DTYPE_F64, i);
        const bool second = i / 5 == 1 || i / 5 == 5;

        assert_true(data[i] == (!second ? was : i % 5 ? was / 65536 : 100));
    }
}

/* Of rows of 20: begins, marked, full, holes, full, both ends, all, all but one; 0 is none of the plain numbers. */
static void zeros_lie_in_rows(void **state)
{
    const struct program_fill plain = {.kind = FILL_NORMAL, .seed = 5, .lo = 8, .hi = 1};
    struct program_fill f = plain;
    float data[3200], was[3200];
    int holes = 0, alone = 0, changed = 0;

    (void)state;
    f.zeros = 20;
    assert_int_equal(fill_elems(&plain, DTYPE_F32, was, 3200, NULL), ERR_OK);
    assert_int_equal(fill_elems(&f, DTYPE_F32, data, 3200, NULL), ERR_OK);
    for (int64_t i = 0; i < 3200; i++) {
        assert_true(data[i] == was[i] || data[i] == 0);
        assert_true(fill_elem(&f, DTYPE_F32, i) == (double)data[i]);
    }
    for (int row = 0; row < 160; row += 8) {
        const float *x = data + 20L * row;

        assert_true(x[0] == 0 && x[1] == 0 && x[2] == 0 && x[19] != 0);
        for (int c = 0; c < 20; c++) {
            assert_true((x[20 + c] == 0) == (c < 2 || c == 10 || (c == 19 && row % 16 == 0)));
            assert_true(x[40 + c] != 0 && x[80 + c] != 0 && x[120 + c] == 0);
            holes += x[60 + c] == 0;
        }
        assert_true(x[100] == 0 && x[102] == 0 && x[119] == 0);
        for (int c = 0; c < 20; c++)
            alone += x[140 + c] != 0;
    }
    assert_int_equal(alone, 20);      /* one of each such row */
    assert_in_range(holes, 120, 280); /* of 400, 8 deviations */
    for (int64_t i = 0; i < 3200; i++)
        changed += data[i] != was[i];
    assert_in_range(changed, 1000, 1800);
}

/* Among whole numbers of a row that is full there are vectors of zeros at a multiple of 16, and longer runs of one
 * number that is none; single elements are as the whole. */
static void runs_lie_among_whole_numbers(void **state)
{
    const struct program_fill f = {.kind = FILL_INT, .seed = 9, .lo = -500, .hi = 500, .zeros = 8192};
    static float data[3 * 8192];
    int zeros = 0, equals = 0;

    (void)state;
    assert_int_equal(fill_elems(&f, DTYPE_F32, data, 3L * 8192, NULL), ERR_OK);
    for (int i = 2 * 8192; i < 3 * 8192; i += 64) {
        bool same = true;

        for (int k = 0; k < 64; k++)
            same = same && data[i + k] == data[i];
        equals += same && data[i] != 0;
        for (int v = i; v < i + 64; v += 16)
            zeros += data[v] == 0 && memcmp(data + v, data + v + 1, 15 * sizeof data[0]) == 0;
        assert_true(fill_elem(&f, DTYPE_F32, i + 7) == (double)data[i + 7]);
    }
    assert_in_range(equals, 2, 40);
    assert_in_range(zeros, 30, 150);
}

/* Of each 6 elements the last two are no numbers. */
static void what_is_not_seen_is_no_number(void **state)
{
    const struct program_fill f = {.kind = FILL_VALUE, .lo = 3, .seen = 4, .plane = 6};
    float data[12];

    (void)state;
    assert_int_equal(fill_elems(&f, DTYPE_F32, data, 12, NULL), ERR_OK);
    for (int i = 0; i < 12; i++)
        assert_true(i % 6 < 4 ? data[i] == 3 : isnan(data[i]));
    assert_true(isnan(fill_elem(&f, DTYPE_F32, 11)));
}

/* One of 32 of either sign, between 255/256 and 511/512 of the step; others are below 2^2. */
static void floats_have_some_near_a_large_step(void **state)
{
    const struct program_fill f = {.kind = FILL_FLOATS, .seed = 4, .lo = -3, .hi = 1, .step = 88};
    static float data[6400];
    int near = 0;

    (void)state;
    assert_int_equal(fill_elems(&f, DTYPE_F32, data, 6400, NULL), ERR_OK);
    for (int i = 0; i < 6400; i++) {
        near += fabsf(data[i]) > 87.6f;
        assert_true(fabsf(data[i]) < 4 || (fabsf(data[i]) > 87.65f && fabsf(data[i]) < 87.83f));
    }
    assert_in_range(near, 100, 300); /* of 200 */
}

/* What logarithms and quotients are taken of. */
static void floats_may_be_above_zero_or_not_zero(void **state)
{
    struct program_fill f = {.kind = FILL_FLOATS, .seed = 4, .lo = -40, .hi = 3, .step = FILL_FLOATS_ABOVE_0};
    int n_below = 0, n_tiny = 0;

    (void)state;
    for (int64_t i = 0; i < 2000; i++) {
        const double v = fill_elem(&f, DTYPE_F32, i);

        assert_true(v >= 0x1p-40 && v <= 16);
        n_tiny += v < 0x1p-20;
    }
    assert_in_range(n_tiny, 600, 1100);
    f.step = FILL_FLOATS_NOT_0;
    for (int64_t i = 0; i < 2000; i++) {
        const double v = fill_elem(&f, DTYPE_F32, i);

        assert_true(fabs(v) >= 0x1p-40 && fabs(v) <= 16);
        n_below += v < 0;
    }
    assert_in_range(n_below, 850, 1150);
}

/* Of 400: few, large, as usual, any; of the first also the last. */
static void bands_are_few_large_usual_and_any(void **state)
{
    const struct program_fill f = {.kind = FILL_BANDS, .seed = 4, .lo = 10, .hi = 1, .step = 0x1p40, .block = 400};
    const struct program_fill plain = {.kind = FILL_NORMAL, .seed = 4, .hi = 1};
    int n_few = 0;

    (void)state;
    for (int64_t i = 0; i < 4000; i++) {
        const double v = fill_elem(&f, DTYPE_F64, i), usual = fill_elem(&plain, DTYPE_F64, i);
        const int64_t at = i % 400;

        if (at < 100) {
            n_few += v != 0;
            assert_true(v == 0 || v == usual);
            assert_true(at != 99 || v == usual);
        } else if (at < 200)
            assert_true(v == ldexp(usual, 40) || v == ldexp(usual, 39));
        else
            assert_true(at < 300 ? v == usual : fabs(v) <= ldexp(fabs(usual), 40) && fabs(v) >= ldexp(fabs(usual), -6));
    }
    assert_in_range(n_few, 60, 170); /* of 109 */
}

/* Rows of 10 pixels, planes of 8 rows: the upper ones flat in parts; mirrored, rows of the same values. */
static void pixels_are_flat_above_and_rows_may_be_mirrored(void **state)
{
    const struct program_fill f = {
        .kind = FILL_PIXELS, .seed = 4, .lo = 1, .hi = 1000, .step = 0.5, .block = 20, .plane = 160, .seen = 2};
    struct program_fill mirrored = f;
    int n_equal[2] = {0, 0};

    (void)state;
    mirrored.step = -0.5;
    for (int64_t i = 0; i < 480; i++) {
        const int64_t column = i % 20 / 2, row = i % 160 / 20;
        const double v = fill_elem(&f, DTYPE_F32, i);

        assert_true(v >= 0.5 && v <= 500 && v * 2 == rint(v * 2));
        assert_true(fill_elem(&mirrored, DTYPE_F32, i + 2 * (9 - 2 * column)) == v);
        n_equal[row >= 4] += column > 0 && fill_elem(&f, DTYPE_F32, i - 2) == v;
    }
    assert_in_range(n_equal[0], 192, 194); /* eight of ten columns, 4 rows, 2 lanes, 3 planes */
    assert_in_range(n_equal[1], 0, 2);
}

static void rows_begin_like_others(void **state)
{
    const struct program_fill f = {.kind = FILL_PREFIXES, .seed = 4, .lo = -5000, .hi = 5000, .block = 16, .plane = 64};

    (void)state;
    for (int64_t i = 0; i < 256; i++) {
        const int64_t row = i / 16, matrix = i / 64, from = i - 16 * (row % 2) - 64 * (matrix % 2);
        const bool equal = fill_elem(&f, DTYPE_F32, i) == fill_elem(&f, DTYPE_F32, from);

        if (i % 16 < 14 && !equal)
            fail_msg("element %lld is not that of %lld", (long long)i, (long long)from);
        if (i % 16 >= 14 && from != i)
            assert_false(equal);
    }
}

/* Of 16 filters of four windows of 3 x 3. */
static void filters_are_of_kinds_that_somebody_looks_for(void **state)
{
    const struct program_fill f = {
        .kind = FILL_FILTERS, .seed = 4, .lo = -7, .hi = 4096, .block = 36, .plane = 9, .seen = 3};
    double w[16][36], sum[16] = {0}, most[16] = {0};

    (void)state;
    for (int64_t i = 0; i < 16 * 36; i++) {
        const double v = w[i / 36][i % 36] = fill_elem(&f, DTYPE_F32, i);

        sum[i / 36] += v;
        most[i / 36] = fmax(most[i / 36], fabs(v));
        assert_true(fabs(v) <= 7 || (i / 36 % 8 == 6 && fabs(v) == 4096));
        if (i / 36 % 8 == 1)
            assert_true(v == 0 || i % 36 / 9 != 1); /* dead */
        if (i / 36 % 8 == 3)
            assert_true(v == 0 || (i / 36 == 3 && i % 36 >= 18)); /* empty, at first or throughout */
        if (i / 36 % 8 == 7)
            assert_true(v == -7);
    }
    for (int r = 0; r < 3; r++)
        assert_true(w[2][3 * r] == w[2][3 * r + 2]);
    assert_true(w[2][9] != w[2][11] || w[2][12] != w[2][14] || w[2][15] != w[2][17]);
    assert_true(sum[4] == 1 && most[4] == 1);
    assert_memory_equal(w[5], w[0], sizeof w[0]);
    assert_true(most[6] == 4096 && fabs(sum[6]) < 300);
}

static void two_of_one_seed_are_near(void **state)
{
    const struct program_fill a = {.kind = FILL_NEAR, .seed = 4, .lo = 1, .block = 1 << 22};
    struct program_fill b = a;
    int n_equal = 0;

    (void)state;
    b.hi = 1;
    for (int64_t i = 0; i < 1000; i++) {
        const double v = fill_elem(&a, DTYPE_F32, i), near = fill_elem(&b, DTYPE_F32, i);

        assert_true((near < 0) == (i % 2 == 1));
        if (i / 16 % 5 == 4) {
            assert_true(fabs(near) <= v * 0x1.1p-23 && fabs(near) >= v * 0x1.fp-24);
            continue;
        }
        assert_true(fabs(fabs(near) - v) <= v * 0x1p-21);
        n_equal += fabs(near) == v;
    }
    assert_in_range(n_equal, 100, 240); /* of five one, but of a fifth of all */
}

static void picks_are_numbers_that_somebody_thinks_of(void **state)
{
    const struct program_fill f = {.kind = FILL_PICKS, .seed = 4, .lo = 0.3, .hi = -7, .step = 100, .block = 0};
    struct program_fill above = f, large = f;
    int n_zero = 0, n_one = 0, n_lo = 0, n_hi = 0, n_next = 0, n_odd = 0;

    (void)state;
    above.block = 1;
    large.step = 1e10;
    for (int64_t i = 0; i < 8000; i++) {
        const double v = fill_elem(&f, DTYPE_F32, i);

        assert_true(v == 0 || (fabs(v) <= 100 && fabs(v) >= 0.01));
        assert_true(fill_elem(&above, DTYPE_F32, i) > 0);
        n_zero += v == 0;
        n_one += v == 1;
        n_lo += v == (double)0.3f;
        n_hi += v == -7;
        n_next += v == 1 + 0x1p-23;
        n_odd += fabs(fill_elem(&large, DTYPE_F32, i)) == 8388609;
    }
    assert_true(n_odd > 40);
    assert_true(n_zero > 40 && n_one > 100 && n_lo > 40 && n_hi > 40 && n_next > 10);
}

/* Of the third of four blocks -1.5, -0.5 and 0.5 in a third of it each, of bytes that are not below 0 the last alone.
 */
static void ties_lie_round_zero(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 300; i++) {
        const struct program_fill f = {.kind = FILL_TIES, .seed = 4, .lo = -128, .hi = 127, .block = 300};
        const struct program_fill bytes = {.kind = FILL_TIES, .seed = 4, .lo = 0, .hi = 255, .block = 300};
        const double above = fill_elem(&f, DTYPE_I8, 600 + i) - (i < 100 ? -1.5 : i < 200 ? -0.5 : 0.5);

        assert_true(fabs(above) == 0.5);
        assert_true(fabs(fill_elem(&bytes, DTYPE_U8, 600 + i) - 0.5) == 0.5);
    }
}

/* Two neighbours a block, of the first two at the bounds; as many of one as of the other, about. */
static void ties_are_neighbours_at_either_end_and_between(void **state)
{
    const struct program_fill f = {.kind = FILL_TIES, .seed = 4, .lo = -128, .hi = 127, .block = 200};
    int n_between = 0;

    (void)state;
    for (int64_t block = 0; block < 40; block++) {
        double least = 1000, most = -1000;
        int n_most = 0;

        if (block % 4 == 2)
            continue;
        for (int64_t i = 0; i < 200; i++) {
            least = fmin(least, fill_elem(&f, DTYPE_I8, 200 * block + i));
            most = fmax(most, fill_elem(&f, DTYPE_I8, 200 * block + i));
        }
        for (int64_t i = 0; i < 200; i++)
            n_most += fill_elem(&f, DTYPE_I8, 200 * block + i) == most;
        assert_true(most == least + 1);
        assert_in_range(n_most, 60, 140);
        if (block % 4 < 2)
            assert_true(block % 4 ? most == 127 : least == -128);
        n_between += least > -128 && most < 127;
    }
    assert_in_range(n_between, 7, 10);
}

/* Sums of two pixels that lie together are odd, of each lane; not so in the fourth block. */
static void means_of_ties_are_halves(void **state)
{
    const struct program_fill f = {.kind = FILL_TIES, .seed = 9, .lo = -128, .hi = 127, .block = 400, .seen = 4};
    int n_odd = 0, n_upper = 0;

    (void)state;
    for (int64_t i = 0; i < 1600; i += i % 4 == 3 ? 5 : 1) {
        const double one = fill_elem(&f, DTYPE_I8, i), two = fill_elem(&f, DTYPE_I8, i + 4);
        const bool odd = fmod(one + two, 2) != 0;

        assert_true(odd || i / 400 >= 2); /* thirds of the third block end within a pixel */
        n_odd += odd && i / 400 == 3;
        n_upper += i < 400 && one == -127;
    }
    assert_in_range(n_odd, 60, 140);   /* half of 200 */
    assert_in_range(n_upper, 60, 140); /* half of 200 */
}

static void blob_fill_wants_the_exact_size(void **state)
{
    struct blobs blobs;
    struct program_fill f = {.kind = FILL_BLOB};
    float data[2] = {0}, from[2] = {1.5f, -2};

    (void)state;
    blobs_init(&blobs, 1 << 20);
    assert_int_equal(fill_elems(&f, DTYPE_F32, data, 2, &blobs), ERR_NOT_FOUND);
    blobs_put(&blobs, from, sizeof from, &f.blob);
    assert_int_equal(fill_elems(&f, DTYPE_F32, data, 1, &blobs), ERR_INPUT);
    assert_int_equal(fill_elems(&f, DTYPE_F32, data, 2, &blobs), ERR_OK);
    assert_memory_equal(data, from, sizeof from);
    blobs_fini(&blobs);
}

static void project_weights_are_whole_and_bounded(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 1000; i++) {
        const double w = program_project_weight(11, i);

        assert_true(w >= 1 && w <= 1 << 20 && w == floor(w));
        assert_true(w == (double)(word_at(11, (uint64_t)i) % (1 << 20)) + 1);
    }
}

/* Printed, never asserted. */
static void large_fills_print_their_speed(void **state)
{
    const struct program_fill normal = {.kind = FILL_NORMAL, .seed = 1, .hi = 1}, ints = {.kind = FILL_INT, .hi = 3};
    const int64_t n = (int64_t)4 << 20;
    float *data = malloc((size_t)n * sizeof *data);
    int64_t t0, t1, t2;

    (void)state;
    t0 = clock_now_ns();
    fill_elems(&normal, DTYPE_F32, data, n, NULL);
    t1 = clock_now_ns();
    fill_elems(&ints, DTYPE_F32, data, n, NULL);
    t2 = clock_now_ns();
    printf("16 MiB of f32: normal %.1f ms, int %.1f ms\n", (double)(t1 - t0) / 1e6, (double)(t2 - t1) / 1e6);
    free(data);
}

/* Each member counts: what is equal is not made, and not verified, again. */
static void fills_that_differ_in_one_member_are_not_equal(void **state)
{
    const struct program_fill f = {.kind = FILL_INT, .seed = 5, .hi = 7};
    struct program_fill others[] = {f, f, f, f, f, f, f, f, f, f, f, f};
    size_t n = 0;

    (void)state;
    others[n++].kind = FILL_NORMAL;
    others[n++].seed++;
    others[n++].lo = -1;
    others[n++].hi++;
    others[n++].step = 2;
    others[n++].block = 4;
    others[n++].zeros = 4;
    others[n++].seen = 4;
    others[n++].plane = 4;
    others[n++].fold.of = 4;
    others[n++].blob.hex[0] = 'a';
    assert_true(program_fill_equal(&f, &others[n]));
    for (size_t i = 0; i < n; i++)
        if (program_fill_equal(&f, &others[i]))
            fail_msg("member %zu does not count", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bf16_has_its_value_and_comes_back),
        cmocka_unit_test(floats_between_bf16s_go_to_the_nearest_or_the_even_one),
        cmocka_unit_test(every_half_has_its_value_and_comes_back),
        cmocka_unit_test(floats_between_two_halves_go_to_the_nearer_or_even_one),
        cmocka_unit_test(stores_round_and_saturate),
        cmocka_unit_test(elements_are_stored_and_loaded_in_their_places),
        cmocka_unit_test(int_fill_is_the_scaled_high_half_of_the_stream),
        cmocka_unit_test(normal_fill_is_the_sum_of_twelve_uniforms),
        cmocka_unit_test(empty_fill_is_no_number),
        cmocka_unit_test(value_fill_reaches_every_element),
        cmocka_unit_test(zero_fill_is_zero_whatever_its_bounds),
        cmocka_unit_test(rows_with_a_large_number_have_a_small_rest),
        cmocka_unit_test(zeros_lie_in_rows),
        cmocka_unit_test(runs_lie_among_whole_numbers),
        cmocka_unit_test(what_is_not_seen_is_no_number),
        cmocka_unit_test(floats_have_some_near_a_large_step),
        cmocka_unit_test(floats_may_be_above_zero_or_not_zero),
        cmocka_unit_test(bands_are_few_large_usual_and_any),
        cmocka_unit_test(pixels_are_flat_above_and_rows_may_be_mirrored),
        cmocka_unit_test(rows_begin_like_others),
        cmocka_unit_test(filters_are_of_kinds_that_somebody_looks_for),
        cmocka_unit_test(two_of_one_seed_are_near),
        cmocka_unit_test(picks_are_numbers_that_somebody_thinks_of),
        cmocka_unit_test(ties_are_neighbours_at_either_end_and_between),
        cmocka_unit_test(ties_lie_round_zero),
        cmocka_unit_test(means_of_ties_are_halves),
        cmocka_unit_test(blob_fill_wants_the_exact_size),
        cmocka_unit_test(project_weights_are_whole_and_bounded),
        cmocka_unit_test(fills_that_differ_in_one_member_are_not_equal),
        cmocka_unit_test(large_fills_print_their_speed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
