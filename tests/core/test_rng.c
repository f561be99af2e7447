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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_repeats_its_stream),
        cmocka_unit_test(numbers_below_stay_below_and_spread),
        cmocka_unit_test(units_lie_in_0_to_1),
        cmocka_unit_test(counted_numbers_need_no_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
