/* SPDX-License-Identifier: MIT */
/* Recorded spaces: small ones made here. */
#include "search_space/recorded.h"

#include "core/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

static const char head[] = "tile,mode,status,time_ms,cost_ms,compile_ms,verify_ms,bench_ms,framework_ms\n";
static const char params[] =
    "\"params\":[{\"name\":\"tile\",\"values\":[1,2]},{\"name\":\"mode\",\"values\":[\"a\",\"b\"]}]";

/* Writes X.json and X.csv.gz into a fresh directory and opens them. */
static enum err open_made(const char *restrictions, const char *rows, struct recorded **out, struct why *why)
{
    char dir[256], path[300], json[600];
    gzFile gz;
    enum err e;

    assert_int_equal(dir_temporary("recorded", dir, sizeof dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/x.json", dir);
    snprintf(json, sizeof json, "{\"space\":\"x\",%s,\"restrictions\":%s}", params, restrictions);
    assert_int_equal(file_replace(path, json, strlen(json), 0644, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/x.csv.gz", dir);
    gz = gzopen(path, "wb");
    assert_non_null(gz);
    gzputs(gz, head);
    gzputs(gz, rows);
    gzclose(gz);
    snprintf(path, sizeof path, "%s/x.json", dir);
    e = recorded_open(path, out, why);
    dir_remove(dir);
    return e;
}

static void rows_and_configs_name_each_other(void **state)
{
    struct recorded *r = NULL;
    struct config c;
    struct why why = {""};

    (void)state;
    if (open_made("[\"tile < 2 or mode == 'b'\"]",
                  "2,b,ok,1.5,100,50,1,40,9\n1,a,compile,,20,20,0,0,0\n1,b,ok,2.5,90,50,1,30,9\n", &r, &why))
        fail_msg("%s", why.text);
    assert_int_equal(recorded_n_rows(r), 3);
    assert_string_equal(recorded_name(r), "x");
    for (int64_t i = 0; i < 3; i++)
        assert_int_equal(recorded_find(r, &recorded_row(r, (size_t)i)->config), i);
    assert_int_equal(space_config_parse(recorded_space(r), "tile=1 mode=a", &c, NULL), ERR_OK);
    assert_int_equal(recorded_find(r, &c), 1);
    assert_true(isnan(recorded_row(r, 1)->time_ms));
    assert_string_equal(recorded_row(r, 1)->status, "compile");
    assert_int_equal(space_config_parse(recorded_space(r), "tile=2 mode=a", &c, NULL), ERR_OK);
    assert_int_equal(recorded_find(r, &c), -1);
    assert_true(recorded_optimum_ms(r) == 1.5);
    {
        const struct recorded_row *row = recorded_row(r, 0);

        assert_true(row->time_ms == 1.5 && row->cost_ms == 100 && row->compile_ms == 50 && row->verify_ms == 1);
        assert_true(row->bench_ms == 40 && row->framework_ms == 9);
        assert_null(recorded_row(r, 3));
    }
    recorded_close(r);
    recorded_close(NULL);
}

/* The first of the product. */
static void one_row_is_a_recording(void **state)
{
    struct recorded *r = NULL;
    struct why why = {""};

    (void)state;
    if (open_made("[]", "1,a,ok,2.5,90,50,1,30,9\n", &r, &why))
        fail_msg("%s", why.text);
    assert_int_equal(recorded_n_rows(r), 1);
    assert_int_equal(space_index(recorded_space(r), &recorded_row(r, 0)->config), 0);
    assert_int_equal(recorded_find(r, &recorded_row(r, 0)->config), 0);
    assert_true(recorded_optimum_ms(r) == 2.5);
    recorded_close(r);
}

static void unknown_restrictions_make_the_rows_the_constraint(void **state)
{
    struct recorded *r = NULL;
    bool exact;

    (void)state;
    assert_int_equal(open_made("null", "2,b,ok,1.5,100,50,1,40,9\n", &r, NULL), ERR_OK);
    assert_int_equal((int)space_count_valid(recorded_space(r), 100, &exact), 1);
    recorded_close(r);
}

static void malformed_recordings_are_refused_with_the_line(void **state)
{
    static const struct {
        const char *restrictions, *rows, *words;
    } bad[] = {
        {"[]", "2,b,ok,1.5,100\n", "csv.gz:2: expected 9 cells"},
        {"[]", "3,b,ok,1.5,100,50,1,40,9\n", "line 2: '3' is not a value of knob 'tile'"},
        {"[]", "1,a,ok,1,1,1,1,1,1\n1,a,ok,1,1,1,1,1,1\n", "again"},
        {"[]", "1,a,ok,nan,1,1,1,1,1\n", "line 2: time_ms 'nan': expected a number above 0"},
        {"[]", "1,a,ok,1,1,1,1,1,1\n1,b,ok,-5,1,1,1,1,1\n", "line 3: time_ms '-5'"},
        {"[]", "1,a,ok,0,1,1,1,1,1\n", "line 2: time_ms '0': expected a number above 0"},
        {"[]", "1,a,ok,-0,1,1,1,1,1\n", "time_ms '-0'"},
        {"[]", "1,a,ok,1e-400,1,1,1,1,1\n", "time_ms '1e-400'"},
        {"[]", "1,a,ok,inf,1,1,1,1,1\n", "time_ms 'inf'"},
        {"[]", "1,a,ok,1e400,1,1,1,1,1\n", "time_ms '1e400'"},
        {"[]", "1,a,ok,1ms,1,1,1,1,1\n", "time_ms '1ms'"},
        {"[\"tile > 1\"]", "1,a,ok,1,1,1,1,1,1\n", "not valid under 'tile > 1'"},
        {"[\"tile > 1\"]", "2,b,ok,1,1,1,1,1,1\n2,a,ok,1,1,1,1,1,1\n1,b,ok,1,1,1,1,1,1\n",
         "line 4: not valid under 'tile > 1'"}, /* whatever the order of the configs */
        {"[\"tile > \"]", "", "at the end"},
        {"[3]", "", "expected strings"},
        {"3", "", "expected an array or null"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct recorded *r = NULL;
        struct why why = {""};
        enum err e = open_made(bad[i].restrictions, bad[i].rows, &r, &why);

        if (e != ERR_INPUT || !strstr(why.text, bad[i].words))
            fail_msg("case %zu: got %s '%s', expected '%s'", i, err_name(e), why.text, bad[i].words);
    }
}

/* The lines of the two are told, in whatever order; those between them are of other configs. */
static void a_config_that_is_there_twice_is_told_with_both_lines(void **state)
{
    static const struct {
        const char *rows;
        size_t lines[2];
    } cases[] = {
        {"2,b,ok,1,1,1,1,1,1\n1,a,ok,1,1,1,1,1,1\n2,a,ok,1,1,1,1,1,1\n1,a,ok,1,1,1,1,1,1\n", {3, 5}},
        {"2,b,ok,1,1,1,1,1,1\n1,a,ok,1,1,1,1,1,1\n2,b,ok,1,1,1,1,1,1\n", {2, 4}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t *n = cases[i].lines;
        char either[80], other[80];
        struct recorded *r = NULL;
        struct why why = {""};

        snprintf(either, sizeof either, "line %zu: the config of line %zu again", n[0], n[1]);
        snprintf(other, sizeof other, "line %zu: the config of line %zu again", n[1], n[0]);
        assert_int_equal(open_made("[]", cases[i].rows, &r, &why), ERR_INPUT);
        if (!strstr(why.text, either) && !strstr(why.text, other))
            fail_msg("case %zu: got '%s', expected '%s'", i, why.text, other);
    }
}

static void the_optimum_is_the_least_time_of_those_that_ran(void **state)
{
    static const struct {
        const char *rows;
        double ms;
    } cases[] = {
        {"2,b,ok,1.5,1,1,1,1,1\n1,b,ok,0.5,1,1,1,1,1\n1,a,ok,2.5,1,1,1,1,1\n", 0.5},
        {"2,b,runtime,,1,1,1,1,1\n1,b,ok,3,1,1,1,1,1\n1,a,compile,0.1,1,1,1,1,1\n", 3},
        {"2,b,runtime,,1,1,1,1,1\n", NAN},
        {"", NAN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct recorded *r = NULL;
        struct why why = {""};
        double ms;

        if (open_made("[]", cases[i].rows, &r, &why))
            fail_msg("%s", why.text);
        ms = recorded_optimum_ms(r);
        if (isnan(cases[i].ms) ? !isnan(ms) : ms != cases[i].ms)
            fail_msg("case %zu: %g, expected %g", i, ms, cases[i].ms);
        recorded_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_configs_name_each_other),
        cmocka_unit_test(one_row_is_a_recording),
        cmocka_unit_test(unknown_restrictions_make_the_rows_the_constraint),
        cmocka_unit_test(malformed_recordings_are_refused_with_the_line),
        cmocka_unit_test(a_config_that_is_there_twice_is_told_with_both_lines),
        cmocka_unit_test(the_optimum_is_the_least_time_of_those_that_ran),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
