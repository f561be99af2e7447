/* SPDX-License-Identifier: MIT */
/* Random numbers: the same everywhere, within bounds, about uniform. */
#include "core/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_seed_repeats_its_stream(void **state)
{
    struct rng a, b, c;
    int same = 0;

    (void)state;
    rng_init(&a, 42);
    rng_init(&b, 42);
    rng_init(&c, 43);
    for (int i = 0; i < 1000; i++) {
        const uint64_t x = rng_next(&a);

        assert_true(x == rng_next(&b));
        same += x == rng_next(&c);
    }
    assert_int_equal(same, 0);
}

static void numbers_below_stay_below_and_spread(void **state)
{
    enum { N = 70000 };
    unsigned hits[7] = {0};
    const double mean = (double)N / 7;
    double chi2 = 0;
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    for (int i = 0; i < N; i++) {
        const uint64_t v = rng_below(&r, 7);

        assert_true(v < 7);
        hits[v]++;
    }
    for (int i = 0; i < 7; i++)
        chi2 += (hits[i] - mean) * (hits[i] - mean) / mean;
    if (chi2 > 30)
        fail_msg("chi-square %g with 6 degrees of freedom", chi2);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(rng_below(&r, 1), 0);
        assert_true(rng_below(&r, (UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63);
    }
}

static void units_lie_in_0_to_1(void **state)
{
    double sum = 0;
    struct rng r;

    (void)state;
    rng_init(&r, 0);
    for (int i = 0; i < 100000; i++) {
        const double u = rng_unit(&r);

        assert_true(u >= 0 && u < 1);
        sum += u;
    }
    if (fabs(sum / 100000 - 0.5) > 0.01)
        fail_msg("mean %g", sum / 100000);
}

static void counted_numbers_need_no_order(void **state)
{
    (void)state;
    assert_true(rng_at(1, 5) == rng_at(1, 5));
    assert_true(rng_at(1, 5) != rng_at(1, 6));
    assert_true(rng_at(1, 5) != rng_at(2, 5));
    assert_true(rng_at(0, UINT64_MAX) != rng_at(0, 0));
}

/* The first numbers of splitmix64 from 1234567, as published beside its source (Vigna 2015; Rosetta Code). */
static void seeding_is_splitmix64(void **state)
{
    static const uint64_t expected[4] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                         4593380528125082431u};
    struct rng r;

    (void)state;
    rng_init(&r, 1234567);
    assert_memory_equal(r.s, expected, sizeof expected);
}

/* The numbers of xoshiro256** from the state 1 2 3 4, as other implementations test them. */
static void the_stream_is_xoshiro256_starstar(void **state)
{
    static const uint64_t expected[10] = {11520u,
                                          0u,
                                          1509978240u,
                                          1215971899390074240u,
                                          1216172134540287360u,
                                          607988272756665600u,
                                          16172922978634559625u,
                                          8476171486693032832u,
                                          10595114339597558777u,
                                          2904607092377533576u};
    struct rng r = {{1, 2, 3, 4}};

    (void)state;
    for (size_t i = 0; i < 10; i++)
        assert_true(rng_next(&r) == expected[i]);
}

/* By hand from the numbers above: a product with 1000 keeps its high word; the second, 0, has a low word below
 * 2^64 mod 1000 = 616 and is drawn anew. */
static void bounds_and_shares_are_those_of_the_stream(void **state)
{
    struct rng r = {{1, 2, 3, 4}};

    (void)state;
    assert_int_equal(rng_below(&r, 1000), 0);
    assert_int_equal(rng_below(&r, 1000), 0);
    assert_int_equal(rng_below(&r, 1000), 65);
    r = (struct rng){{1, 2, 3, 4}};
    assert_true(rng_unit(&r) == 5 * 0x1p-53); /* 11520 / 2048 = 5.6 */
}

/* splitmix64 from the first number of splitmix64 from 42, computed apart from this library. */
static void counted_numbers_are_splitmix64_of_a_mixed_seed(void **state)
{
    static const uint64_t expected[4] = {6332618229526065668u, 17630415256238047317u, 8971565426155258802u,
                                         1242533817266198696u};
    uint64_t each[4] = {0};

    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        assert_true(rng_at(42, i) == expected[i]);
    rng_at_each(42, 0, each, 4);
    assert_memory_equal(each, expected, sizeof expected);
    each[2] = 7;
    rng_at_each(42, 2, each, 2);
    assert_true(each[0] == expected[2] && each[1] == expected[3] && each[2] == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_repeats_its_stream),
        cmocka_unit_test(numbers_below_stay_below_and_spread),
        cmocka_unit_test(units_lie_in_0_to_1),
        cmocka_unit_test(counted_numbers_need_no_order),
        cmocka_unit_test(seeding_is_splitmix64),
        cmocka_unit_test(the_stream_is_xoshiro256_starstar),
        cmocka_unit_test(bounds_and_shares_are_those_of_the_stream),
        cmocka_unit_test(counted_numbers_are_splitmix64_of_a_mixed_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
