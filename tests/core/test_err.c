/* SPDX-License-Identifier: MIT */
/* Errors: their words for people are one line, whatever they quote. */
#include "core/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void words_are_one_line_whatever_they_quote(void **state)
{
    struct why why = {""};

    (void)state;
    assert_int_equal(why_set(&why, ERR_INPUT, "'%s': expected a number", "a\nb\t\x1b[2J\x7f"), ERR_INPUT);
    assert_string_equal(why.text, "'a b  [2J ': expected a number");
    assert_int_equal(why_prefix(&why, ERR_IO, "%s", "file\r\n"), ERR_IO);
    assert_string_equal(why.text, "file  : 'a b  [2J ': expected a number");
    assert_int_equal(why_set(NULL, ERR_INPUT, "x"), ERR_INPUT);
    assert_int_equal(why_prefix(NULL, ERR_INPUT, "x"), ERR_INPUT);
}

static void letters_beyond_ascii_are_kept(void **state)
{
    struct why why = {""};

    (void)state;
    why_set(&why, ERR_INPUT, "%s",
            "gr\xc3\xb6\xc3\x9f"
            "er");
    assert_string_equal(why.text, "gr\xc3\xb6\xc3\x9f"
                                  "er");
}

static void words_too_long_are_cut(void **state)
{
    struct why why = {""};
    char tail[sizeof why.text];

    (void)state;
    memset(tail, 'x', sizeof tail - 1);
    tail[sizeof tail - 1] = '\0';
    why_set(&why, ERR_INPUT, "%s%s", tail, tail);
    assert_int_equal(strlen(why.text), sizeof why.text - 1);
    why_prefix(&why, ERR_INPUT, "file");
    assert_int_equal(strlen(why.text), sizeof why.text - 1);
    assert_memory_equal(why.text, "file: xxx", 9);
}

static void every_error_has_a_name_that_finds_it(void **state)
{
    (void)state;
    for (int e = 0; e <= ERR_WRONG; e++) {
        assert_int_equal(err_by_name(err_name((enum err)e)), e);
        assert_true(err_words((enum err)e)[0] != '\0');
    }
    assert_int_equal(err_by_name("no such error"), ERR_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_one_line_whatever_they_quote),
        cmocka_unit_test(letters_beyond_ascii_are_kept),
        cmocka_unit_test(words_too_long_are_cut),
        cmocka_unit_test(every_error_has_a_name_that_finds_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
