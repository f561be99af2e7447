/* SPDX-License-Identifier: MIT */
#include "search/learn/derived.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX 64

/* Columns x, y, order = "row" | "column". */
static char *names[] = {"x", "y", "order"};
static char *orders[] = {"row", "column"};
static char **words[] = {NULL, NULL, orders};
static struct features_knob knobs[] = {{0}, {0}, {.n_words = 2}};
static const struct columns columns = {3, names, words, knobs};

static enum err derive(const char *json, const double *values, float row[MAX], size_t *n, struct why *why)
{
    struct derived *d = NULL;
    cJSON *space = NULL;
    enum err e;

    assert_int_equal(json_parse(json, strlen(json), &space, why), ERR_OK);
    e = derived_new(&d, space, &columns, why);
    if (e == ERR_OK) {
        *n = derived_n(d);
        assert_true(*n <= MAX);
        assert_int_equal(derived_of(d, values, 1, row, MAX), ERR_OK);
    }
    derived_free(d);
    cJSON_Delete(space);
    return e;
}

static void expect(const char *json, const double *values, size_t n_expected, const double *expected)
{
    struct why why = {""};
    float row[MAX];
    size_t n = 0;

    if (derive(json, values, row, &n, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < n_expected; i++) {
        bool found = false;

        for (size_t j = 0; j < n; j++)
            found = found || fabs((double)row[j] - expected[i]) < 1e-5;
        if (!found)
            fail_msg("no derived feature is %g", expected[i]);
    }
}

#define PARAMS                                                                                                         \
    "\"params\":[{\"name\":\"x\",\"values\":[16,24,32]},{\"name\":\"y\",\"values\":[1,2,3]},"                          \
    "{\"name\":\"order\",\"values\":[\"column\",\"row\"]},{\"name\":\"pad\",\"values\":[3]}]"

static void subexpressions_of_constraints_are_features(void **state)
{
    (void)state;
    expect("{" PARAMS ",\"restrictions\":[\"(x + pad) * y <= 90\", \"x % 32 == 0 or y > 1\"]}", (double[]){24, 3, 0}, 3,
           (double[]){27, 81, 24});
}

static void launch_formulas_give_groups_warps_and_waste(void **state)
{
    const char *const launch = "{" PARAMS ",\"restrictions\":[],\"launch\":{\"local\":[\"x\",\"y\"],"
                               "\"groups\":[\"ceil_div(1000, x * 2)\",\"ceil_div(100, y)\"]}}";

    (void)state;
    /* 72 in a group, 3 warps (96 / 72 of it), 21 * 34 groups, what they cover of 1000 and 100. */
    expect(launch, (double[]){24, 3, 0}, 7,
           (double[]){72, 3, 96.0 / 72, 21.0 * 34, 21 * 48 / 1000.0, 34 * 3 / 100.0, 21.0 * 34 * 72});
}

static void a_kernel_specification_is_a_launch_too(void **state)
{
    const char *const kernel =
        "{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"x\",\"Type\":\"int\",\"Values\":\"[16, 24]\"},"
        "{\"Name\":\"y\",\"Type\":\"int\",\"Values\":\"[1, 3]\"}],\"Conditions\":[]},"
        "\"KernelSpecification\":{\"LocalSize\":{\"X\":\"x\",\"Y\":2},\"GlobalSize\":{\"X\":\"y * 480\"}}}";

    (void)state;
    expect(kernel, (double[]){24, 3, 0}, 3, (double[]){48, 1440, 30});
}

static void words_are_those_of_the_space(void **state)
{
    const char *const json = "{" PARAMS ",\"restrictions\":[\"x * (order == 'row') < 100\"]}";

    (void)state;
    expect(json, (double[]){24, 3, 0}, 1, (double[]){24}); /* "row" is number 0 in the table, 1 in the space */
    expect(json, (double[]){24, 3, 1}, 1, (double[]){0});
}

static void a_division_by_zero_is_missing(void **state)
{
    const char *const json = "{" PARAMS ",\"restrictions\":[\"x / (y - 1) < 100\"]}";
    struct why why = {""};
    float row[MAX];
    size_t n = 0, n_missing = 0;

    (void)state;
    assert_int_equal(derive(json, (double[]){24, 1, 0}, row, &n, &why), ERR_OK);
    for (size_t i = 0; i < n; i++)
        n_missing += isnan(row[i]);
    assert_int_equal(n_missing, 1);
}

static void spaces_that_do_not_fit_the_table_are_refused_with_words(void **state)
{
    static const struct {
        const char *json, *words;
    } cases[] = {
        {"{\"params\":[{\"name\":\"z\",\"values\":[1,2]}],\"restrictions\":[]}", "no column z"},
        {"{\"params\":[{\"name\":\"order\",\"values\":[1,2]}],\"restrictions\":[]}", "column order"},
        {"{\"params\":[{\"name\":\"x\",\"values\":[\"a\"]}],\"restrictions\":[]}", "column x"},
        {"{\"params\":[{\"name\":\"x\",\"values\":[1,2]}],\"restrictions\":[\"x <\"]}", "expected"},
        {"{\"params\":[{\"name\":\"x\",\"values\":[1,2]}],\"restrictions\":[],\"launch\":{\"local\":[true]}}",
         "launch formula 1 of local"},
        {"{\"params\":[{\"name\":\"x\",\"values\":[1,2]}],\"restrictions\":[],\"launch\":{\"local\":[\"q\"]}}", "q"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};
        float row[MAX];
        size_t n;

        assert_int_equal(derive(cases[i].json, (double[]){1, 1, 0}, row, &n, &why), ERR_INPUT);
        if (!strstr(why.text, cases[i].words))
            fail_msg("case %zu said \"%s\"", i, why.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subexpressions_of_constraints_are_features),
        cmocka_unit_test(launch_formulas_give_groups_warps_and_waste),
        cmocka_unit_test(a_kernel_specification_is_a_launch_too),
        cmocka_unit_test(words_are_those_of_the_space),
        cmocka_unit_test(a_division_by_zero_is_missing),
        cmocka_unit_test(spaces_that_do_not_fit_the_table_are_refused_with_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
