/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "search_space/bounds.h"

#include <math.h>

static const int64_t sizes[] = {4, 8, 16, 32};

/* Knobs a, b, c of 4 8 16 32, a constant `limit` of 256, a quantity `items` = a * b / c, and one constraint. */
static struct space *space_with(const char *constraint)
{
    struct space *s;

    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "a", NULL, 4, sizes), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "b", NULL, 4, sizes), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "c", NULL, 4, sizes), ERR_OK);
    assert_int_equal(space_add_constant(s, "limit", 256, NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "items", "a * b / c", NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, constraint, NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    return s;
}

/* At a=8 b=16 c=4. */
static double only_value(const char *constraint)
{
    const struct config c = {{1, 2, 0}};
    struct space *s = space_with(constraint);
    double value = NAN;
    struct bounds *b;

    assert_int_equal(bounds_new(&b, s, 128, 1024), ERR_OK);
    if (bounds_n(b) == 1)
        value = bounds_value(b, 0, &c);
    bounds_free(b);
    space_free(s);
    return value;
}

static void products_that_a_constraint_bounds_are_found(void **state)
{
    (void)state;
    assert_true(only_value("a * b <= 512") == 128);
    assert_true(only_value("16 <= a * b <= 512") == 128);
    assert_true(only_value("512 >= a * c") == 32);
    assert_true(only_value("a * c < limit") == 32);
    assert_true(only_value("items <= limit / 2") == 32);
    assert_true(only_value("a * b <= 512 and a * b <= 256") == 128);
    assert_true(only_value("a % 4 == 0 and b * c < 700") == 64);
    assert_true(only_value("a * b <= 128") == 128); /* both ends of the range count */
    assert_true(only_value("a * b <= 1024 - 1") == 128);
    assert_true(only_value("ceil_div(a * b * c, 7) <= 200") == 74);
    assert_true(only_value("a * b // 3 <= 200") == 42);
    assert_true(only_value("200 > a * c") == 32);
}

static void other_constraints_are_left_out(void **state)
{
    (void)state;
    assert_true(isnan(only_value("a * b <= 64")));
    assert_true(isnan(only_value("a * b * c <= 1025")));
    assert_true(isnan(only_value("a * b <= 127")));
    assert_true(isnan(only_value("a * b <= 512 and a * c <= 512"))); /* two */
    assert_true(isnan(only_value("a * b * c <= 20000")));
    assert_true(isnan(only_value("a + b * c <= 512")));
    assert_true(isnan(only_value("a * b >= 256")));
    assert_true(isnan(only_value("a * b <= 512 or c == 4")));
    assert_true(isnan(only_value("a * b % c == 0")));
}

static void what_a_constraint_divides_by_is_a_size(void **state)
{
    const struct config low = {{0, 0, 0}}, some = {{3, 1, 0}};
    struct space *s = space_with("a % (b * c) == 0 or a * c <= 512");
    struct bounds *b;

    (void)state;
    assert_int_equal(bounds_new(&b, s, 128, 1024), ERR_OK);
    assert_int_equal(bounds_n_sizes(b), 2); /* b * c is 16..1024, a / (b * c) is 1/256..2 */
    assert_true(fabs(bounds_size(b, 0, &low)) < 1e-12);
    assert_true(fabs(bounds_size(b, 0, &some) - 1.0 / 6) < 1e-12); /* 32 */
    assert_true(fabs(bounds_size(b, 1, &some) - 8.0 / 9) < 1e-12); /* 32 / 32 */
    bounds_free(b);
    space_free(s);
    s = space_with("64 % (a * b / c) == 0");
    assert_int_equal(bounds_new(&b, s, 128, 1024), ERR_OK);
    assert_int_equal(bounds_n_sizes(b), 3);                        /* a * b / c, a * b, 64 / (a * b / c) */
    assert_true(fabs(bounds_size(b, 1, &some) - 4.0 / 6) < 1e-12); /* 32 * 8 of 16..1024 */
    bounds_free(b);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_that_a_constraint_bounds_are_found),
        cmocka_unit_test(other_constraints_are_left_out),
        cmocka_unit_test(what_a_constraint_divides_by_is_a_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
