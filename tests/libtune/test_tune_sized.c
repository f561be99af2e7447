/* SPDX-License-Identifier: MIT */
/* Structs that begin with their size, between callers and libraries of different versions. */
#include "libtune/tune_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* One struct as three versions of a header have it. */
struct first {
    size_t size;
    const char *name;
};

struct second {
    size_t size;
    const char *name;
    long long count;
};

struct third {
    size_t size;
    const char *name;
    long long count;
    double more;
};

static void what_is_given_ends_with_the_callers_struct(void **state)
{
    const struct second own = {.name = "n", .count = 7};
    struct {
        struct first callers;
        unsigned char behind[32];
    } older = {.callers = {.size = sizeof older.callers}};

    (void)state;
    memset(older.behind, 0xa5, sizeof older.behind);
    assert_int_equal(tune_give_sized("first", &own, sizeof own, &older.callers), TUNE_OK);
    assert_string_equal(older.callers.name, "n");
    assert_int_equal(older.callers.size, sizeof older.callers);
    for (size_t i = 0; i < sizeof older.behind; i++)
        assert_int_equal(older.behind[i], 0xa5);
}

/* 4096 bytes are a struct, one more is a size that was never set; so is less than the size itself. */
static void sizes_are_those_that_a_struct_can_have(void **state)
{
    static const struct {
        size_t size;
        enum tune_status wanted;
    } cases[] = {{0, TUNE_BAD_ARGUMENT},    {sizeof(size_t) - 1, TUNE_BAD_ARGUMENT},
                 {sizeof(size_t), TUNE_OK}, {4096, TUNE_OK},
                 {4097, TUNE_BAD_ARGUMENT}, {(size_t)-1, TUNE_BAD_ARGUMENT}};
    const struct second own = {.name = "n", .count = 7};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        union {
            size_t size;
            unsigned char bytes[4096];
        } caller = {.size = cases[i].size};
        struct second taken;

        assert_int_equal(tune_take_sized("caller", &caller, &taken, sizeof taken), cases[i].wanted);
        assert_int_equal(tune_give_sized("caller", &own, sizeof own, &caller), cases[i].wanted);
        assert_true(caller.size == cases[i].size);
    }
}

static void what_a_library_does_not_know_is_zero(void **state)
{
    const struct second own = {.name = "n", .count = 7};
    struct third newer = {.size = sizeof newer, .more = 3.5};

    (void)state;
    assert_int_equal(tune_give_sized("third", &own, sizeof own, &newer), TUNE_OK);
    assert_int_equal(newer.size, sizeof newer);
    assert_int_equal(newer.count, 7);
    assert_true(newer.more == 0);
}

static void what_an_older_caller_does_not_know_is_taken_as_zero(void **state)
{
    const struct first older = {.size = sizeof older, .name = "n"};
    struct second own = {.count = 99};

    (void)state;
    assert_int_equal(tune_take_sized("first", &older, &own, sizeof own), TUNE_OK);
    assert_string_equal(own.name, "n");
    assert_int_equal(own.count, 0);
}

static void a_newer_caller_is_taken_as_long_as_it_asks_for_nothing_new(void **state)
{
    struct third newer = {.size = sizeof newer, .name = "n", .count = 7};
    struct second own = {.count = 99};

    (void)state;
    assert_int_equal(tune_take_sized("third", &newer, &own, sizeof own), TUNE_OK);
    assert_int_equal(own.count, 7);
    newer.more = 3.5;
    own.count = 99;
    assert_int_equal(tune_take_sized("third", &newer, &own, sizeof own), TUNE_BAD_ARGUMENT);
    assert_non_null(strstr(tune_words(), "third: a member is set that libtune "));
    assert_int_equal(own.count, 99);
}

static void sizes_that_no_struct_has_are_refused_in_words(void **state)
{
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 4097, SIZE_MAX};
    struct second own = {.count = 99};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct second callers = {.size = sizes[i], .count = 5};

        assert_int_equal(tune_take_sized("second", &callers, &own, sizeof own), TUNE_BAD_ARGUMENT);
        assert_string_equal(tune_words(), "second: expected its size, sizeof(struct second), in the member `size`");
        assert_int_equal(tune_give_sized("second", &own, sizeof own, &callers), TUNE_BAD_ARGUMENT);
        assert_int_equal(callers.count, 5);
        assert_int_equal(own.count, 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_ends_with_the_callers_struct),
        cmocka_unit_test(sizes_are_those_that_a_struct_can_have),
        cmocka_unit_test(what_a_library_does_not_know_is_zero),
        cmocka_unit_test(what_an_older_caller_does_not_know_is_taken_as_zero),
        cmocka_unit_test(a_newer_caller_is_taken_as_long_as_it_asks_for_nothing_new),
        cmocka_unit_test(sizes_that_no_struct_has_are_refused_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
