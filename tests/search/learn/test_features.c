/* SPDX-License-Identifier: MIT */
#include "search/learn/features.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct features_knob met(size_t n, const double *values)
{
    struct features_knob k = {0};

    for (size_t i = 0; i < n; i++)
        features_knob_meet(&k, values[i]);
    return k;
}

static bool has(const float *row, size_t n, double value)
{
    for (size_t i = 0; i < n; i++)
        if (fabs((double)row[i] - value) < 1e-5)
            return true;
    return false;
}

static void a_knob_is_known_by_its_values(void **state)
{
    const struct features_knob powers = met(3, (double[]){1, 2, 8}), sizes = met(4, (double[]){16, 48, 48, 16}),
                               flags = met(2, (double[]){0, 1}), reals = met(2, (double[]){.5, 3});

    (void)state;
    assert_true(powers.whole && powers.positive && powers.all_powers);
    assert_true(sizes.whole && sizes.positive && !sizes.all_powers);
    assert_int_equal(sizes.n_values, 2);
    assert_true(flags.whole && !flags.positive && !flags.all_powers);
    assert_true(!reals.whole && reals.positive && !reals.all_powers);
}

static void products_ratios_evenness_and_waste_are_those_of_the_numbers(void **state)
{
    const struct features_knob knobs[] = {met(4, (double[]){16, 32, 48, 80}), met(3, (double[]){1, 3, 4})};
    static struct features f;
    float row[64];

    (void)state;
    assert_int_equal(features_list(&f, knobs, 2, FEATURES_ALL), ERR_OK);
    assert_true(f.n <= 64);
    features_of(&f, (double[]){48, 3}, row);
    assert_true(has(row, f.n, 48));
    assert_true(has(row, f.n, 3));
    assert_true(has(row, f.n, log2(48.0 * 3)));
    assert_true(has(row, f.n, fabs(log2(48.0 / 3))) || has(row, f.n, -fabs(log2(48.0 / 3))));
    assert_true(has(row, f.n, 4));                    /* 2^4 divides 48, and 48 * 3 */
    assert_true(has(row, f.n, 86.0 * 48 / 4096));     /* 85.3 pieces of 48 become 86 */
    assert_true(has(row, f.n, 29.0 * 48 * 3 / 4096)); /* 28.4 pieces of 144 become 29 */
}

static void powers_of_two_waste_nothing_and_get_no_such_columns(void **state)
{
    const struct features_knob powers[] = {met(3, (double[]){1, 2, 4}), met(3, (double[]){1, 2, 8})},
                               ragged[] = {met(3, (double[]){1, 2, 3}), met(3, (double[]){1, 2, 5})};
    static struct features few, many;

    (void)state;
    assert_int_equal(features_list(&few, powers, 2, FEATURES_ALL), ERR_OK);
    assert_int_equal(features_list(&many, ragged, 2, FEATURES_ALL), ERR_OK);
    assert_int_equal(few.n, 2 + 2);          /* knobs, product, ratio */
    assert_int_equal(many.n, 2 * 3 + 2 + 2); /* and evenness, waste of each and of both */
}

static void a_word_is_a_column_for_each_of_its_values(void **state)
{
    struct features_knob knob = {.n_words = 3};
    static struct features f;
    float row[8];

    (void)state;
    assert_int_equal(features_list(&f, &knob, 1, FEATURES_ALL), ERR_OK);
    assert_int_equal(f.n, 3);
    features_of(&f, (double[]){1}, row);
    assert_true(row[0] == 0 && row[1] == 1 && row[2] == 0);
    features_of(&f, (double[]){NAN}, row);
    assert_true(isnan(row[0]) && isnan(row[1]) && isnan(row[2]));
}

static void what_cannot_be_computed_is_missing(void **state)
{
    const struct features_knob knobs[] = {met(3, (double[]){1, 3, 5}), met(3, (double[]){1, 3, 4})};
    static struct features f;
    float row[64];

    (void)state;
    assert_int_equal(features_list(&f, knobs, 2, FEATURES_ALL), ERR_OK);
    features_of(&f, (double[]){0, NAN}, row); /* 0 was never seen while learning */
    for (size_t i = 0; i < f.n; i++)
        assert_true(isnan(row[i]) || row[i] == 0 || row[i] == 40);
}

static void too_many_knobs_are_refused(void **state)
{
    static struct features_knob knobs[FEATURES_MAX_KNOBS + 1];
    static struct features f;

    (void)state;
    assert_int_equal(features_list(&f, knobs, FEATURES_MAX_KNOBS + 1, FEATURES_ALL), ERR_LIMIT);
}

static void a_spaces_own_features_come_first(void **state)
{
    const char *const words[] = {"row", "column"};
    struct space *s = NULL;
    struct config c;
    static struct features f;
    float row[64];
    size_t n;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "x", NULL, 6, (const int64_t[]){1, 2, 4, 6, 8, 16}), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "y", NULL, 5, (const int64_t[]){1, 2, 3, 4, 5}), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "z", NULL, 3, (const int64_t[]){0, 1, 2}), ERR_OK);
    assert_int_equal(space_add_knob_words(s, "order", words, 2, NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "area", "x * y", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    features_init(&f, s);
    n = space_n_features(s);
    assert_int_equal(f.n, n + 3 + 1); /* evenness of x y z, the product of x and y */
    assert_int_equal(space_config_parse(s, "x=6 y=4 z=0 order=row", &c, NULL), ERR_OK);
    features_row(&f, &c, row);
    assert_true(has(row, n, 24));
    assert_float_equal(row[n], 1, 0);
    assert_float_equal(row[n + 1], 2, 0);
    assert_float_equal(row[n + 2], 40, 0); /* every power of two divides 0 */
    assert_float_equal(row[n + 3], log2(24), 1e-5);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_knob_is_known_by_its_values),
        cmocka_unit_test(products_ratios_evenness_and_waste_are_those_of_the_numbers),
        cmocka_unit_test(powers_of_two_waste_nothing_and_get_no_such_columns),
        cmocka_unit_test(a_word_is_a_column_for_each_of_its_values),
        cmocka_unit_test(what_cannot_be_computed_is_missing),
        cmocka_unit_test(too_many_knobs_are_refused),
        cmocka_unit_test(a_spaces_own_features_come_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
