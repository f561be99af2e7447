/* SPDX-License-Identifier: MIT */
/* The name that a person meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/nearest.h"

static const char *const known[] = {"Conditions", "GlobalSize", "GlobalSizeType", "X", "abcd"};

static const char *nearest(const char *name)
{
    return nearest_name(name, known, sizeof known / sizeof known[0]);
}

static void a_letter_more_less_or_other_is_near(void **state)
{
    (void)state;
    assert_string_equal(nearest("Conditons"), "Conditions");
    assert_string_equal(nearest("Condditions"), "Conditions");
    assert_string_equal(nearest("Kondition"), "Conditions");
    assert_string_equal(nearest("globalsize"), "GlobalSize");
    assert_string_equal(nearest("GlobalSizeTyp"), "GlobalSizeType");
}

static void what_is_far_has_no_neighbour(void **state)
{
    (void)state;
    assert_null(nearest("Parameters"));
    assert_null(nearest("W")); /* one change, of one letter */
    assert_null(nearest("wxyz1"));
    assert_string_equal(nearest("abcd1"), "abcd");
    assert_null(nearest("")); /* nothing is near nothing */
    assert_null(nearest("a name that is longer than any name that is known to this program"));
}

static void four_changes_are_too_many(void **state)
{
    (void)state;
    assert_string_equal(nearest("GlobalSxxx"), "GlobalSize"); /* three */
    assert_null(nearest("Globalxxxx"));                       /* four */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_letter_more_less_or_other_is_near),
        cmocka_unit_test(what_is_far_has_no_neighbour),
        cmocka_unit_test(four_changes_are_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
