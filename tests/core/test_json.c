/* SPDX-License-Identifier: MIT */
/* JSON: limits, and members that are missing or of another type. */
#include "core/json.h"
#include "core/terminal.h"

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
    assert_true(json_has(tree, "t") && !json_has(tree, "T") && !json_has(NULL, "t"));
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

static void integers_are_exact_to_2_to_the_53(void **state)
{
    static const struct {
        const char *text;
        int64_t min, max;
        enum err e;
    } cases[] = {
        {"{\"i\":9007199254740992}", INT64_MIN, INT64_MAX, ERR_OK},
        {"{\"i\":-9007199254740992}", INT64_MIN, INT64_MAX, ERR_OK},
        {"{\"i\":9007199254740994}", INT64_MIN, INT64_MAX, ERR_INPUT},
        {"{\"i\":-9007199254740994}", INT64_MIN, INT64_MAX, ERR_INPUT},
        {"{\"i\":1e999}", INT64_MIN, INT64_MAX, ERR_INPUT},
        {"{\"i\":-3}", -3, 0, ERR_OK},
        {"{\"i\":-4}", -3, 0, ERR_INPUT},
        {"{\"i\":-0.5}", -3, 0, ERR_INPUT},
        {"{\"i\":\"1\"}", -3, 3, ERR_INPUT},
        {"{\"i\":true}", -3, 3, ERR_INPUT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cJSON *tree = NULL;
        int64_t v = 42, d = 42;

        assert_int_equal(parse(cases[i].text, strlen(cases[i].text), &tree, NULL), ERR_OK);
        if (json_get_i64(tree, "i", cases[i].min, cases[i].max, &v, NULL) != cases[i].e ||
            json_i64_or(tree, "i", 7, cases[i].min, cases[i].max, &d, NULL) != cases[i].e)
            fail_msg("%s: expected %s", cases[i].text, err_name(cases[i].e));
        assert_true(v == d && (v == 42) == (cases[i].e != ERR_OK)); /* untouched on failure */
        cJSON_Delete(tree);
    }
}

static void members_of_another_type_are_refused_by_name(void **state)
{
    static const char text[] = "{\"t\":\"x\",\"i\":7,\"big\":1e999,\"b\":false,\"a\":[],\"o\":{},\"n\":null}";
    static const char *const not_real[] = {"t", "big", "b", "a", "o", "n"};
    const char *s = "kept";
    const cJSON *item = NULL;
    struct why why = {""};
    cJSON *tree = NULL;
    double r = 42;
    bool b = true;

    (void)state;
    assert_int_equal(parse(text, strlen(text), &tree, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof not_real / sizeof not_real[0]; i++) {
        assert_int_equal(json_get_real(tree, not_real[i], &r, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, not_real[i]));
        assert_int_equal(json_real_or(tree, not_real[i], 1, &r, NULL), ERR_INPUT);
    }
    assert_true(r == 42);
    assert_int_equal(json_get_bool(tree, "i", &b, &why), ERR_INPUT);
    assert_string_equal(why.text, "'i' is not true or false");
    assert_int_equal(json_bool_or(tree, "n", true, &b, NULL), ERR_INPUT);
    assert_true(b);
    assert_int_equal(json_bool_or(tree, "b", true, &b, NULL), ERR_OK);
    assert_false(b);
    assert_int_equal(json_get_text(tree, "i", &s, NULL), ERR_INPUT);
    assert_int_equal(json_text_or(tree, "i", "d", &s, NULL), ERR_INPUT);
    assert_string_equal(s, "kept");
    assert_int_equal(json_get_array(tree, "t", &item, NULL), ERR_INPUT);
    assert_int_equal(json_get_object(tree, "a", &item, NULL), ERR_INPUT);
    assert_int_equal(json_get_object(tree, "none", &item, &why), ERR_INPUT);
    assert_string_equal(why.text, "'none' is missing");
    assert_null(item);
    assert_int_equal(json_text_or(tree, "t", "d", &s, NULL), ERR_OK);
    assert_string_equal(s, "x");
    assert_int_equal(json_real_or(tree, "i", 1, &r, NULL), ERR_OK);
    assert_true(r == 7);
    cJSON_Delete(tree);
}

/* Brackets in strings are no depth, behind escaped quotes and backslashes either. */
static void depth_is_that_of_brackets_outside_of_strings(void **state)
{
    char text[2 * JSON_MAX_DEPTH + 80];
    cJSON *tree = NULL;

    (void)state;
    for (int i = 0; i < 3; i++) {
        static const char *const begin[] = {"[\"\\\"", "[\"\\\\\\\"", "[\"a\",\""};
        const size_t n = strlen(begin[i]);

        memcpy(text, begin[i], n);
        memset(text + n, '[', JSON_MAX_DEPTH + 5);
        strcpy(text + n + JSON_MAX_DEPTH + 5, "\"]");
        assert_int_equal(parse(text, strlen(text), &tree, NULL), ERR_OK);
        assert_int_equal(cJSON_GetArraySize(tree), i == 2 ? 2 : 1);
        cJSON_Delete(tree);
    }
    strcpy(text, "[\"\\\\\","); /* this string ends: what follows counts */
    memset(text + 6, '[', JSON_MAX_DEPTH);
    memset(text + 6 + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH + 1);
    assert_int_equal(parse(text, 6 + 2 * JSON_MAX_DEPTH + 1, &tree, NULL), ERR_LIMIT);
    memset(text, '[', 1); /* siblings add no depth */
    for (size_t i = 0; i < JSON_MAX_DEPTH; i++)
        memcpy(text + 1 + 3 * i % 90, "{},", 3);
    memcpy(text + 91, "[]]", 3);
    assert_int_equal(parse(text, 94, &tree, NULL), ERR_OK);
    cJSON_Delete(tree);
}

static void words_tell_where_text_goes_wrong(void **state)
{
    struct why why = {""};
    cJSON *tree = NULL;

    (void)state;
    assert_int_equal(parse("{\"a\":1} x", 9, &tree, &why), ERR_INPUT);
    assert_string_equal(why.text, "text after the JSON value at byte 7");
    assert_int_equal(parse("[1,x]", 5, &tree, &why), ERR_INPUT);
    assert_string_equal(why.text, "not JSON at byte 3");
    assert_null(tree);
    assert_int_equal(parse("[1] \t\r\n", 7, &tree, &why), ERR_OK);
    cJSON_Delete(tree);
    assert_int_equal(parse("[1]\v", 4, &tree, &why), ERR_INPUT);
    assert_int_equal(parse("[\0]", 3, &tree, &why), ERR_INPUT);
    assert_string_equal(why.text, "JSON with a NUL byte at byte 1");
}

static void of_files_words_tell_line_and_column(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {{"x", "not JSON at line 1, column 1"},
                 {"{\n  \"a\": 1,\n  \"b\": ?\n}", "not JSON at line 3, column 8"},
                 {"[1]\n\nx", "text after the JSON value at line 1, column 4"},
                 {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "JSON nested deeper than 32"}};
    cJSON *tree = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};

        assert_int_not_equal(json_parse_file(cases[i].text, strlen(cases[i].text), &tree, &why), ERR_OK);
        assert_string_equal(why.text, cases[i].words);
        assert_null(tree);
    }
    assert_int_equal(json_parse_file("[1]\n", 4, &tree, NULL), ERR_OK);
    cJSON_Delete(tree);
}

/* An escape in a job's title would be obeyed by the terminal of whoever lists jobs. */
static void what_turns_a_terminal_is_written_by_number(void **state)
{
    static const char text[] = "{\"a\\u007f\":\"\\u009b2J\\u00a0\\u202e\\u2066x\\u2069\\u202f\\u206a\\n\"}",
                      plain[] = "\x1b[\xe2\x80\xaex\xc2\x9b";
    char words[sizeof plain];
    cJSON *tree, *again;
    char *line;

    (void)state;
    assert_int_equal(json_parse(text, sizeof text - 1, &tree, NULL), ERR_OK);
    line = json_line(tree);
    assert_string_equal(line, "{\"a\\u007f\":\"\\u009b2J\xc2\xa0\\u202e\\u2066x\\u2069\xe2\x80\xaf\xe2\x81\xaa\\n\"}");
    assert_int_equal(json_parse(line, strlen(line), &again, NULL), ERR_OK);
    assert_true(cJSON_Compare(tree, again, true)); /* nothing is lost */
    cJSON_free(line);
    cJSON_Delete(again);
    cJSON_Delete(tree);
    assert_null(json_line(NULL));
    strcpy(words, plain);
    text_plain(words, "");
    assert_string_equal(words, " [   x  ");
}

static void a_plain_tree_has_no_control_characters(void **state)
{
    static const char text[] =
        "{\"a\\u001b]0;x\\u0007\":[\"b\\r\\n\\u007f\",{\"c\":\"\\u009b2J \\u00a0\\u00e9\"}],\"n\":1}";
    struct buf out;
    cJSON *tree;

    (void)state;
    assert_int_equal(json_parse(text, sizeof text - 1, &tree, NULL), ERR_OK);
    json_plain(tree);
    buf_init(&out, 1000);
    assert_int_equal(json_print(tree, &out), ERR_OK);
    assert_string_equal(buf_text(&out), "{\"a ]0;x \":[\"b   \",{\"c\":\"  2J \xc2\xa0\xc3\xa9\"}],\"n\":1}");
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
        cmocka_unit_test(integers_are_exact_to_2_to_the_53),
        cmocka_unit_test(members_of_another_type_are_refused_by_name),
        cmocka_unit_test(depth_is_that_of_brackets_outside_of_strings),
        cmocka_unit_test(words_tell_where_text_goes_wrong),
        cmocka_unit_test(of_files_words_tell_line_and_column),
        cmocka_unit_test(what_turns_a_terminal_is_written_by_number),
        cmocka_unit_test(a_plain_tree_has_no_control_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
