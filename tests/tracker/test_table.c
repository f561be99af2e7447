/* SPDX-License-Identifier: MIT */
/* The hash table against a plain list. */
#include "core/rng.h"
#include "tracker/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define N_KEYS 500

static void it_holds_what_a_list_holds_through_puts_and_removals(void **state)
{
    struct table t = {0};
    int values[2][N_KEYS];
    const int *is[N_KEYS] = {NULL};
    struct rng rng;
    size_t n = 0;

    (void)state;
    rng_init(&rng, 7);
    for (int i = 0; i < 20000; i++) {
        const size_t k = rng_below(&rng, N_KEYS);
        int *value = &values[rng_below(&rng, 2)][k];

        assert_ptr_equal(table_get_i64(&t, (int64_t)k), is[k]);
        if (rng_below(&rng, 5) < 2) {
            assert_ptr_equal(table_remove_i64(&t, (int64_t)k), is[k]);
            n -= is[k] != NULL;
            is[k] = NULL;
        } else {
            assert_int_equal(table_put_i64(&t, (int64_t)k, value), ERR_OK);
            n += is[k] == NULL;
            is[k] = value;
        }
        assert_int_equal(t.n, n);
    }
    assert_true(n > 100);
    table_fini(&t);
    assert_int_equal(t.n, 0);
    assert_null(table_get_i64(&t, 1));
}

static void a_walk_lends_each_value_once(void **state)
{
    struct table t = {0};
    int values[1000] = {0}, *v;
    size_t at = 0;
    int n = 0;

    (void)state;
    assert_null(table_next(&t, &at));
    for (int i = 0; i < 1000; i++)
        assert_int_equal(table_put_i64(&t, i * 16, &values[i]), ERR_OK);
    at = 0;
    while ((v = table_next(&t, &at)) != NULL) {
        ++*v;
        n++;
    }
    assert_int_equal(n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(values[i], 1);
    assert_null(table_next(&t, &at)); /* and stays at its end */
    table_fini(&t);
}

static void texts_are_told_apart_by_every_byte_and_their_length(void **state)
{
    static const char *const keys[] = {"", "a", "b", "aa", "ab", "ba", "abc", "abd", "Abc", "a b"};
    struct table t = {0};
    int values[10];

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(table_put_text(&t, keys[i], &values[i]), ERR_OK);
    assert_int_equal(t.n, 10);
    for (int i = 0; i < 10; i++)
        assert_ptr_equal(table_get_text(&t, keys[i]), &values[i]);
    assert_null(table_get_text(&t, "c"));
    assert_null(table_remove_text(&t, "abcd"));
    for (int i = 0; i < 10; i++) {
        assert_ptr_equal(table_remove_text(&t, keys[i]), &values[i]);
        assert_null(table_get_text(&t, keys[i]));
    }
    table_fini(&t);
}

static void the_table_keeps_a_copy_of_the_key(void **state)
{
    struct table t = {0};
    char key[] = "key";
    int v;

    (void)state;
    assert_int_equal(table_put_text(&t, key, &v), ERR_OK);
    memcpy(key, "xxx", 3);
    assert_ptr_equal(table_get_text(&t, "key"), &v);
    assert_null(table_get_text(&t, "xxx"));
    table_fini(&t);
}

/* Chains stay short: a table of ids has about as many buckets as entries. */
static void it_grows_with_its_content(void **state)
{
    struct table t = {0};
    int v;

    (void)state;
    for (int i = 0; i < 3000; i++)
        assert_int_equal(table_put_i64(&t, i, &v), ERR_OK);
    assert_true(t.n_buckets >= t.n && t.n_buckets <= 4 * t.n);
    table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_what_a_list_holds_through_puts_and_removals),
        cmocka_unit_test(a_walk_lends_each_value_once),
        cmocka_unit_test(texts_are_told_apart_by_every_byte_and_their_length),
        cmocka_unit_test(the_table_keeps_a_copy_of_the_key),
        cmocka_unit_test(it_grows_with_its_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
