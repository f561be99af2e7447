/* SPDX-License-Identifier: MIT */
/* JSON: limits, and members that are missing or of another type. */
#include "core/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum err parse(const char *text, size_t n, cJSON **out, struct why *why)
{
    char *exact = malloc(n ? n : 1); /* no NUL behind it: valgrind and ASan see a byte too far */
    enum err e;

    assert_non_null(exact);
    memcpy(exact, text, n);
    e = json_parse(exact, n, out, why);
    free(exact);
    return e;
}

static void only_one_whole_value_parses(void **state)
{
    static const char *const bad[] = {"", " ", "{", "{}x", "{} {}", "{'a':1}", "[1,]", "nul", "\"abc", "{\"a\"}", "\\"};
    static const char *const good[] = {"{}", " [1, 2] \n", "\"x\"", "3", "null", "{\"a\":{\"b\":[]}}"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cJSON *tree = NULL;

        if (parse(bad[i], strlen(bad[i]), &tree, NULL) != ERR_INPUT)
            fail_msg("'%s' was taken", bad[i]);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cJSON *tree = NULL;

        if (parse(good[i], strlen(good[i]), &tree, NULL) != ERR_OK)
            fail_msg("'%s' was refused", good[i]);
        cJSON_Delete(tree);
    }
    {
        cJSON *tree = NULL;

        assert_int_equal(parse("{\0}", 3, &tree, NULL), ERR_INPUT);
        assert_int_equal(parse("{}\0", 3, &tree, NULL), ERR_INPUT);
    }
}

static void depth_is_bounded(void **state)
{
    char text[2 * JSON_MAX_DEPTH + 4];
    cJSON *tree = NULL;

    (void)state;
    memset(text, '[', JSON_MAX_DEPTH + 1);
    memset(text + JSON_MAX_DEPTH + 1, ']', JSON_MAX_DEPTH + 1);
    assert_int_equal(parse(text, 2 * JSON_MAX_DEPTH + 2, &tree, NULL), ERR_LIMIT);
    assert_int_equal(parse(text + 1, 2 * JSON_MAX_DEPTH, &tree, NULL), ERR_OK);
    cJSON_Delete(tree);
    assert_int_equal(parse("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"", 41, &tree, NULL), ERR_OK);
    cJSON_Delete(tree);
}

static void members_are_typed_and_named_in_errors(void **state)
{
    static const char text[] = "{\"t\":\"x\",\"i\":7,\"r\":1.5,\"b\":true,\"a\":[],\"o\":{},\"big\":9007199254740994}";
    cJSON *tree = NULL;
    const cJSON *item;
    const char *s = NULL;
    struct why why;
    int64_t i = 0;
    double r = 0;
    bool b = false;

    (void)state;
    assert_int_equal(parse(text, strlen(text), &tree, NULL), ERR_OK);
    assert_int_equal(json_get_text(tree, "t", &s, NULL), ERR_OK);
    assert_string_equal(s, "x");
    assert_int_equal(json_get_i64(tree, "i", 0, 7, &i, NULL), ERR_OK);
    assert_int_equal(i, 7);
    assert_int_equal(json_get_i64(tree, "i", 0, 6, &i, &why), ERR_INPUT);
    assert_string_equal(why.text, "'i' is 7, not in 0..6");
    assert_int_equal(json_get_i64(tree, "r", 0, 6, &i, &why), ERR_INPUT);
    assert_int_equal(json_get_i64(tree, "big", 0, INT64_MAX, &i, &why), ERR_INPUT);
    assert_int_equal(json_get_real(tree, "r", &r, NULL), ERR_OK);
    assert_true(r == 1.5);
    assert_int_equal(json_get_bool(tree, "b", &b, NULL), ERR_OK);
    assert_true(b);
    assert_int_equal(json_get_array(tree, "a", &item, NULL), ERR_OK);
    assert_int_equal(json_get_array(tree, "o", &item, &why), ERR_INPUT);
    assert_string_equal(why.text, "'o' is not an array");
    assert_int_equal(json_get_object(tree, "o", &item, NULL), ERR_OK);
    assert_int_equal(json_get_text(tree, "T", &s, &why), ERR_INPUT);
    assert_string_equal(why.text, "'T' is missing");
    assert_int_equal(json_get_text(NULL, "t", &s, &why), ERR_INPUT);
    cJSON_Delete(tree);
}

static void defaults_stand_in_for_missing_members_only(void **state)
{
    cJSON *tree = NULL;
    const char *s = NULL;
    int64_t i = 0;
    double r = 0;
    bool b = false;

    (void)state;
    assert_int_equal(parse("{\"x\":null}", 10, &tree, NULL), ERR_OK);
    assert_int_equal(json_text_or(tree, "t", "d", &s, NULL), ERR_OK);
    assert_string_equal(s, "d");
    assert_int_equal(json_i64_or(tree, "t", 3, 0, 9, &i, NULL), ERR_OK);
    assert_int_equal(i, 3);
    assert_int_equal(json_real_or(tree, "t", 2.5, &r, NULL), ERR_OK);
    assert_true(r == 2.5);
    assert_int_equal(json_bool_or(tree, "t", true, &b, NULL), ERR_OK);
    assert_true(b);
    assert_int_equal(json_text_or(tree, "x", "d", &s, NULL), ERR_INPUT);
    assert_int_equal(json_i64_or(tree, "x", 3, 0, 9, &i, NULL), ERR_INPUT);
    cJSON_Delete(tree);
}

static void objects_print_in_the_order_they_were_built(void **state)
{
    cJSON *tree = cJSON_CreateObject();
    struct buf out;
    bool ok = true;

    (void)state;
    buf_init(&out, 100);
    json_add_text(tree, "z", "1", &ok);
    json_add_i64(tree, "a", -5, &ok);
    json_add_real(tree, "m", 0.25, &ok);
    json_add_bool(tree, "b", false, &ok);
    json_add_item(tree, "l", cJSON_CreateArray(), &ok);
    assert_true(ok);
    assert_int_equal(json_print(tree, &out), ERR_OK);
    assert_string_equal(buf_text(&out), "{\"z\":\"1\",\"a\":-5,\"m\":0.25,\"b\":false,\"l\":[]}");
    json_add_item(tree, "n", NULL, &ok);
    assert_false(ok);
    buf_fini(&out);
    cJSON_Delete(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_one_whole_value_parses),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(members_are_typed_and_named_in_errors),
        cmocka_unit_test(defaults_stand_in_for_missing_members_only),
        cmocka_unit_test(objects_print_in_the_order_they_were_built),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
