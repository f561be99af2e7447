/* SPDX-License-Identifier: MIT */
/* Expressions: values as Python gives them, and one clear line for what is no expression. */
#include "search_space/arith.h"
#include "search_space/expr.h"

#include "core/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* a = 7, b = -3, z = 0, w = 'vec', u has no value. */
static const struct expr_value slots[] = {{7, NULL}, {-3, NULL}, {0, NULL}, {0, "vec"}, {NAN, NULL}};

static int resolve(const char *name, size_t n, void *arg)
{
    static const char names[] = "abzwu";
    const char *at = n == 1 ? strchr(names, name[0]) : NULL;

    (void)arg;
    return at ? (int)(at - names) : -1;
}

static enum err eval(const char *text, double *out, struct why *why)
{
    struct expr *e = NULL;
    enum err error = expr_compile(text, resolve, NULL, &e, why);

    if (error)
        return error;
    error = expr_eval(e, slots, out);
    expr_free(e);
    return error ? ERR_DEVICE : ERR_OK; /* told apart from errors of compiling */
}

struct sum {
    const char *text;
    double value;
};

static void check_all(const struct sum *sums, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct why why = {""};
        double v = NAN;
        enum err e = eval(sums[i].text, &v, &why);

        if (e || v != sums[i].value)
            fail_msg("%s: %s %s, got %.17g, expected %.17g", sums[i].text, err_name(e), why.text, v, sums[i].value);
    }
}

#define CHECK_ALL(sums) check_all(sums, sizeof(sums) / sizeof(sums)[0])

static void arithmetic_is_python_s(void **state)
{
    static const struct sum sums[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"7 - 2 - 1", 4},
        {"7 / 2", 3.5},
        {"7 // 2", 3},
        {"-7 // 2", -4},
        {"7 // -2", -4},
        {"-7 // -2", 3},
        {"-7 % 3", 2},
        {"7 % -3", -2},
        {"-7 % -3", -1},
        {"-6 % 3", 0},
        {"7.5 // 2", 3},
        {"-7.5 // 2", -4},
        {"-7.5 % 2", 0.5},
        {"1 // 0.1", 9},
        {"9007199254740993 // 1", 9007199254740992.0},
        {"a % b", -2},
        {"a // b", -3},
        {"--a", 7},
        {"-a + +a", 0},
        {"2 - -2", 4},
        {"12*1024", 12288},
        {"1e3 + .5", 1000.5},
        {"min(3, a, 5)", 3},
        {"max(3, a, 5)", 7},
        {"ceil_div(56, 16)", 4},
        {"ceil_div(48, 16)", 3},
        {"ceil_div(-7, 2)", -3},
        {"ceil_div(7, -2)", -3},
        {"ceil_div(2.25, 1)", 3},
        {"0.6 // 0.01", 59}, /* rounded, 58.99999999999999 times */
        {"1\t+\n2\v*\f3\r", 7},
        {"min(5, 3)", 3},
        {"max(-3, -5)", -3},
        {"min(9,8,7,6,5,4,3,2,1,2)", 1},
        {"2 * (3 + 4) % 5", 4},
        {"-2 * -3", 6},
        {"1 - -1 - 1", 1},
        {"9007199254740992 % 3", 2},
    };

    (void)state;
    CHECK_ALL(sums);
}

static void comparisons_chain(void **state)
{
    static const struct sum sums[] = {
        {"32 <= 4 * 16 <= 1024", 1},  {"32 <= 4 * 4 <= 1024", 0}, {"32 <= 400 * 4 <= 1024", 0}, {"1 < 2 < 3 < 4", 1},
        {"1 < 2 < 2 < 4", 0},         {"3 > 2 > 1 == 1", 1},      {"(3 > 2) > 1", 0},           {"1 == 1 != 2", 1},
        {"1 < a in {3, 7}", 1},       {"8 < a in {3, 7}", 0},     {"1 < a in {3, 8}", 0},       {"1 + (1 < 2 < 3)", 2},
        {"(3 < 2 < 1) + (1 < 2)", 1}, {"0 < b < 1 / z", 0},
    };

    (void)state;
    CHECK_ALL(sums);
}

static void membership_takes_numbers_and_words(void **state)
{
    static const struct sum sums[] = {
        {"a in {1, 7}", 1},
        {"a in {1, 2}", 0},
        {"a not in {1, 2}", 1},
        {"a not in [1, 7]", 0},
        {"a in (1, 3 + 4)", 1},
        {"w in {'unroll', \"vec\"}", 1},
        {"w in {'none'}", 0},
        {"w in {0}", 0},
        {"w == 'vec'", 1},
        {"w != 'vec'", 0},
        {"'vec' == w == 'vec'", 1},
        {"w == 0", 0},
        {"w != 0", 1},
        {"(w == 'vec') + (a == 7) <= 1", 0},
        {"a in {a, 1 / z}", 1},
    };

    (void)state;
    CHECK_ALL(sums);
}

static void logic_stops_early_and_gives_0_or_1(void **state)
{
    static const struct sum sums[] = {
        {"a and b", 1},
        {"a and z", 0},
        {"z or a", 1},
        {"z or z", 0},
        {"z || a && a", 1},
        {"not z", 1},
        {"not a == 7", 0},
        {"!a == 0", 1},
        {"!z", 1},
        {"not not a", 1},
        {"z == 0 or a % z == 0", 1},
        {"z != 0 and a % z == 0", 0},
        {"a == 7 or u > 0", 1},
        {"a or b and z", 1},
        {"(a or b) and z", 0},
        {"5 + (a and b)", 6},
        {"true and not False", 1},
        {"a!=7", 0},
        {"z == 0 or a > 9 or a / z", 1},
    };

    (void)state;
    CHECK_ALL(sums);
}

static void what_cannot_be_computed_is_an_error(void **state)
{
    static const char *const texts[] = {"a / z", "a // z", "a % z", "ceil_div(a, 0)",  "w + 1",      "w < 3",
                                        "-w",    "w",      "not w", "w and a",         "1e308 * 10", "u",
                                        "u + 1", "u == 1", "+w",    "a + (z or 1 / z)"};
    double v = 42;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (eval(texts[i], &v, NULL) != ERR_DEVICE || v != 42)
            fail_msg("%s: should not have a value, got %g", texts[i], v);
}

static void bad_text_is_refused_with_place_and_expectation(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "at the end"},
        {"1 +", "at the end"},
        {"(1", "')'"},
        {"1)", "byte 1"},
        {"q + 1", "unknown name 'q'"},
        {"1 2", "an operator or the end"},
        {"a = 7", "before '= 7'"},
        {"a ** 2", "byte 2"},
        {"a in", "'{' after in"},
        {"a in {}", "a number"},
        {"a in {1", "}"},
        {"f(1)", "no function 'f'"},
        {"min(1)", "second argument"},
        {"ceil_div(1, 2, 3)", "no further"},
        {"'x", "closing quote"},
        {"0x10", "decimal"},
        {"1e999", "a number"},
        {"12abc", "a number"},
        {"1.2.3", "a number"},
        {"and", "a number, a word"},
        {"a and", "at the end"},
        {"a; system('x')", "byte 1"},
        {"\x80\xff", "byte 0"},
        {"a in {1} == 1", "an operator or the end"},
        {"__import__('os')", "no function"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct why why = {""};
        double v;
        enum err e = eval(bad[i].text, &v, &why);

        if (e != ERR_INPUT || !strstr(why.text, bad[i].words))
            fail_msg("'%s': got %s '%s', expected '%s'", bad[i].text, err_name(e), why.text, bad[i].words);
    }
}

/* n times `unit`, then `tail`. */
static enum err eval_repeated(const char *unit, size_t n, const char *tail, double *v)
{
    char *text = calloc(n * strlen(unit) + strlen(tail) + 1, 1);
    enum err e;

    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        strcat(text, unit);
    strcat(text, tail);
    e = eval(text, v, NULL);
    free(text);
    return e;
}

static void depth_and_length_are_bounded(void **state)
{
    double v = 0;

    (void)state;
    assert_int_equal(eval_repeated("(", 5000, "1", &v), ERR_LIMIT);
    assert_int_equal(eval_repeated("(", 100, "1", &v), ERR_LIMIT);
    assert_int_equal(eval_repeated("-", 100, "1", &v), ERR_LIMIT);
    assert_int_equal(eval_repeated("not ", 100, "1", &v), ERR_LIMIT);
    assert_int_equal(eval_repeated("1+(2*(", 31, "", &v), ERR_INPUT);
    assert_int_equal(eval_repeated("1+", 2047, "1", &v), ERR_OK);
    assert_true(v == 2048);
    assert_int_equal(eval_repeated("1+", 2048, "1", &v), ERR_LIMIT);
    assert_int_equal(eval_repeated("1<", 2047, "2", &v), ERR_OK);
    assert_int_equal(eval_repeated("1 or ", 800, "1", &v), ERR_OK);
    assert_int_equal(eval_repeated("0in{", 60, "", &v), ERR_INPUT);
}

static void names_are_told_from_reserved_words(void **state)
{
    (void)state;
    assert_true(expr_is_name("vc"));
    assert_true(expr_is_name("_x.y9"));
    assert_true(expr_is_name("MWG"));
    assert_true(expr_is_name("order"));
    assert_false(expr_is_name(""));
    assert_false(expr_is_name("9x"));
    assert_false(expr_is_name("a b"));
    assert_false(expr_is_name("a-b"));
    assert_false(expr_is_name("or"));
    assert_false(expr_is_name("true"));
}

static void uses_names_every_slot_once_mentioned(void **state)
{
    struct expr *e = NULL;

    (void)state;
    assert_int_equal(expr_compile("a == 1 or w in {'x'}", resolve, NULL, &e, NULL), ERR_OK);
    assert_true(expr_uses(e, 0));
    assert_false(expr_uses(e, 1));
    assert_true(expr_uses(e, 3));
    expr_free(e);
}

/* Against 64-bit integers, up to the last whole number of a double, many quotients next to a whole one. */
static void remainders_of_whole_numbers_are_exact(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 17);
    for (int i = 0; i < 300000; i++) {
        const int64_t b = (int64_t)(1 + rng_below(&rng, (uint64_t)1 << (1 + rng_below(&rng, 52))));
        const int64_t most = ((int64_t)1 << 53) / b - 1,
                      q = most > 0 ? (int64_t)rng_below(&rng, (uint64_t)most + 1) : 0;
        const int64_t near[] = {q * b, q * b + 1, q * b + b - 1, q * b - 1};
        const int64_t a = near[rng_below(&rng, 4)] * (rng_below(&rng, 2) ? 1 : -1), d = rng_below(&rng, 2) ? b : -b;
        int64_t r = a % d;

        if (r != 0 && (r < 0) != (d < 0))
            r += d;
        if (arith_mod((double)a, (double)d) != (double)r)
            fail_msg("%lld %% %lld: %.17g, not %lld", (long long)a, (long long)d, arith_mod((double)a, (double)d),
                     (long long)r);
        assert_true(arith_floor_div((double)a, (double)d) == (double)((a - r) / d));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_is_python_s),
        cmocka_unit_test(comparisons_chain),
        cmocka_unit_test(membership_takes_numbers_and_words),
        cmocka_unit_test(logic_stops_early_and_gives_0_or_1),
        cmocka_unit_test(what_cannot_be_computed_is_an_error),
        cmocka_unit_test(bad_text_is_refused_with_place_and_expectation),
        cmocka_unit_test(depth_and_length_are_bounded),
        cmocka_unit_test(names_are_told_from_reserved_words),
        cmocka_unit_test(uses_names_every_slot_once_mentioned),
        cmocka_unit_test(remainders_of_whole_numbers_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
