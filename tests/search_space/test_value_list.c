/* SPDX-License-Identifier: MIT */
/* Lists of constants as Python writes them: what Python gives for the text (worked out with python3), and what is
 * refused. */
#include "search_space/value_list.h"

#include "core/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct list {
    const char *text, *values; /* as JSON */
};

static void check_all(const struct list *lists, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct why why = {""};
        cJSON *list = NULL;
        char *values;

        if (value_list_parse(lists[i].text, &list, &why))
            fail_msg("%s: %s", lists[i].text, why.text);
        values = cJSON_PrintUnformatted(list);
        if (strcmp(values, lists[i].values) != 0)
            fail_msg("%s: %s, expected %s", lists[i].text, values, lists[i].values);
        free(values);
        cJSON_Delete(list);
    }
}

#define CHECK_ALL(lists) check_all(lists, sizeof(lists) / sizeof(lists)[0])

static void plain_lists_are_their_items(void **state)
{
    static const struct list lists[] = {
        {"[1, 2, 4]", "[1,2,4]"},
        {"[]", "[]"},
        {" [ 1 , ] ", "[1]"},
        {"(1, 2)", "[1,2]"},
        {"[-1, +2, --3, .5, 1e3, -2.5e-1]", "[-1,2,3,0.5,1000,-0.25]"},
        {"['a', \"b'c\", '']", "[\"a\",\"b'c\",\"\"]"},
        {"[True, False, true, false]", "[true,false,true,false]"},
        {"[1] + [2, 3] + (4,)", "[1,2,3,4]"},
        {"list([1, 2])", "[1,2]"},
        {"tuple((1, 2))", "[1,2]"},
        {"[(1), ((2))]", "[1,2]"},
    };

    (void)state;
    CHECK_ALL(lists);
}

static void ranges_end_before_their_end(void **state)
{
    static const struct list lists[] = {
        {"range(4)", "[0,1,2,3]"},
        {"range(0)", "[]"},
        {"range(-3)", "[]"},
        {"range(2, 5)", "[2,3,4]"},
        {"range(5, 2)", "[]"},
        {"range(1, 8, 3)", "[1,4,7]"},
        {"range(1, 7, 3)", "[1,4]"},
        {"range(5, 0, -2)", "[5,3,1]"},
        {"range(6, 0, -2)", "[6,4,2]"},
        {"range(0, 3, -1)", "[]"},
        {"list(range(32, 96+1, 32))", "[32,64,96]"},
        {"range(2*2, 4//1 + 3)", "[4,5,6]"},
        {"range(3) + [7]", "[0,1,2,7]"},
    };

    (void)state;
    CHECK_ALL(lists);
}

static void arithmetic_is_python_s(void **state)
{
    static const struct list lists[] = {
        {"[1 + 2 * 3, (1 + 2) * 3, 7 - 2 - 1, 8 / 2 / 2]", "[7,9,4,2]"},
        {"[7 // 2, -7 // 2, 7 // -2, 7 % 3, -7 % 3, 7 % -3]", "[3,-4,-4,1,2,-2]"},
        {"[7 / 2, 2 ** 10, 2 ** 3 ** 2, -2 ** 2, 2 ** -1]", "[3.5,1024,512,-4,0.5]"},
        {"[(-2) ** 2, 2 * 3 ** 2, 10 - 4 % 3 * 2]", "[4,18,8]"},
        {"[1 // 0.1, 6 % 0.25, 7.5 // 2, -7.5 % 2]", "[9,0,3,0.5]"},
        {"[True + 1, +False]", "[2,0]"},
    };

    (void)state;
    CHECK_ALL(lists);
}

static void comprehensions_run_over_their_lists(void **state)
{
    static const struct list lists[] = {
        {"[2**i for i in range(0, 6)]", "[1,2,4,8,16,32]"},
        {"[i*10 for i in [3, 1, 2]]", "[30,10,20]"},
        {"[x for x in ['a', 'b']]", "[\"a\",\"b\"]"},
        {"[1] + [2*i for i in range(1, 6) if i != 3]", "[1,2,4,8,10]"},
        {"[i for i in range(5) if i == 3]", "[3]"},
        {"[i for i in range(5) if i < 2]", "[0,1]"},
        {"[i for i in range(5) if i <= 2]", "[0,1,2]"},
        {"[i for i in range(5) if i > 2]", "[3,4]"},
        {"[i for i in range(5) if i >= 2]", "[2,3,4]"},
        {"[i for i in range(5) if i % 2]", "[1,3]"},
        {"[i for i in range(3) if 1]", "[0,1,2]"},
        {"[i+1 for i in [j*2 for j in range(3)]]", "[1,3,5]"},
        {"[i for i in range(2)] + [i for i in range(3)]", "[0,1,0,1,2]"},
        {"[-before for before in [1]]", "[-1]"},
        {"[i for i in range(0)]", "[]"},
        {"['for' for i in range(2)]", "[\"for\",\"for\"]"},
    };

    (void)state;
    CHECK_ALL(lists);
}

static void what_is_no_list_of_constants_is_refused(void **state)
{
    static const struct {
        const char *text, *words;
        enum err e;
    } bad[] = {
        {"", "at the end", ERR_INPUT},
        {"[1, 2", "at the end", ERR_INPUT},
        {"[1 2]", "at byte 3", ERR_INPUT},
        {"[1] 2", "expected the end at byte 4", ERR_INPUT},
        {"1", "range(..)", ERR_INPUT},
        {"[x]", "a variable of 'for'", ERR_INPUT},
        {"[1 / 0]", "cannot be computed", ERR_LIMIT},
        {"[1 // 0]", "cannot be computed", ERR_LIMIT},
        {"[1 % 0]", "cannot be computed", ERR_LIMIT},
        {"[(-1) ** 0.5]", "cannot be computed", ERR_LIMIT},
        {"[2 ** 53 + 1]", "", ERR_OK}, /* rounds to 2^53, as doubles do */
        {"[2 ** 54]", "beyond 2^53", ERR_LIMIT},
        {"[-2 ** 54]", "beyond 2^53", ERR_LIMIT},
        {"[0x10]", "decimal", ERR_INPUT},
        {"[1a]", "a number", ERR_INPUT},
        {"['a]", "closing quote", ERR_INPUT},
        {"['a' + 1]", "not words", ERR_INPUT},
        {"range(1.5)", "whole numbers", ERR_INPUT},
        {"range('a')", "whole numbers", ERR_INPUT},
        {"range(1, 2, 0)", "not 0", ERR_INPUT},
        {"range(1, 2, 3, 4)", "')'", ERR_INPUT},
        {"range()", "a value", ERR_INPUT},
        {"range(5000)", "more than 4096 values", ERR_LIMIT},
        {"[i for i in [1] if 'a']", "not words", ERR_INPUT},
        {"[i for 1 in [1]]", "a variable after 'for'", ERR_INPUT},
        {"[i for i of [1]]", "'in'", ERR_INPUT},
        {"[i for i in [1]] + [i]", "a variable of 'for'", ERR_INPUT}, /* it is gone */
        {"[int(x) for x in open(0)]", "", ERR_INPUT},
        {"((((((((((((((((((((((((((((((((1,),),),),),),),),),),),),),),),),),),),),),),),),),),),),),),),)", "",
         ERR_INPUT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct why why = {""};
        cJSON *list = NULL;
        const enum err e = value_list_parse(bad[i].text, &list, &why);

        if (bad[i].e == ERR_OK ? e != ERR_OK
                               : e == ERR_OK || !strstr(why.text, bad[i].words) || (bad[i].words[0] && e != bad[i].e))
            fail_msg("%s: %s '%s', expected %s '%s'", bad[i].text, err_name(e), why.text, err_name(bad[i].e),
                     bad[i].words);
        assert_true(e == ERR_OK || !list);
        cJSON_Delete(list);
    }
}

/* `unit` n times between two texts. */
static enum err parse_repeated(const char *before, const char *unit, size_t n, const char *after, int *n_values)
{
    struct buf text;
    cJSON *list = NULL;
    enum err e;

    buf_init(&text, 1 << 20);
    buf_puts(&text, before);
    for (size_t i = 0; i < n; i++)
        buf_puts(&text, unit);
    buf_puts(&text, after);
    e = value_list_parse(buf_text(&text), &list, NULL);
    *n_values = cJSON_GetArraySize(list);
    cJSON_Delete(list);
    buf_fini(&text);
    return e;
}

static void lists_have_limits(void **state)
{
    cJSON *list = NULL;
    int n = 0;

    (void)state;
    assert_int_equal(value_list_parse("[9007199254740992, -9007199254740992]", &list, NULL), ERR_OK);
    assert_true(cJSON_GetArrayItem(list, 0)->valuedouble == 0x1p53 &&
                cJSON_GetArrayItem(list, 1)->valuedouble == -0x1p53);
    cJSON_Delete(list);
    assert_int_equal(parse_repeated("[", "1,", VALUE_LIST_MAX_VALUES, "]", &n), ERR_OK);
    assert_int_equal(n, VALUE_LIST_MAX_VALUES);
    assert_int_equal(parse_repeated("[", "1,", VALUE_LIST_MAX_VALUES + 1, "]", &n), ERR_LIMIT);
    assert_int_equal(parse_repeated("[1", " ", VALUE_LIST_MAX_TEXT - 3, "]", &n), ERR_OK);
    assert_int_equal(parse_repeated("[1", " ", VALUE_LIST_MAX_TEXT - 2, "]", &n), ERR_LIMIT);
    assert_int_equal(parse_repeated("[", "(", 100, "1", &n), ERR_LIMIT);
    assert_int_equal(parse_repeated("[", "-", 100, "1]", &n), ERR_LIMIT);
    assert_int_equal(parse_repeated("[1 for a in range(4096) if 0", "+0", 400, "]", &n), ERR_LIMIT); /* of steps */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lists_are_their_items),
        cmocka_unit_test(ranges_end_before_their_end),
        cmocka_unit_test(arithmetic_is_python_s),
        cmocka_unit_test(comprehensions_run_over_their_lists),
        cmocka_unit_test(what_is_no_list_of_constants_is_refused),
        cmocka_unit_test(lists_have_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
