/* SPDX-License-Identifier: MIT */
/* Tables of measured configs: what is read, what is refused and where; their columns as text; configs as points. */
#include "core/file.h"
#include "search/learn/points.h"
#include "search/learn/records.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char dir[256];

static const char *put(const char *text)
{
    static char path[300];

    snprintf(path, sizeof path, "%s/t.csv", dir);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
    return path;
}

static void a_table_is_its_columns_and_times(void **state)
{
    struct records r;
    struct columns c;
    struct why why = {""};

    (void)state;
    if (records_read(put("status,w,x,time_ms,y\nok,b,1.5,2,4\ncompile,a,2,,8\nok,b,-3,1e-30,16\n"), &r, &c, &why))
        fail_msg("%s", why.text);
    assert_int_equal(r.n, 3);
    assert_int_equal(c.n, 3);
    assert_string_equal(c.names[0], "w");
    assert_string_equal(c.names[2], "y");
    assert_int_equal(c.knobs[0].n_words, 2);
    assert_string_equal(c.words[0][0], "b");
    assert_true(r.values[0] == 0 && r.values[3] == 1 && r.values[6] == 0);
    assert_true(r.values[1] == 1.5 && r.values[4] == 2 && r.values[7] == -3 && r.values[8] == 16);
    assert_true(r.times[0] == 2 && isnan(r.times[1]) && r.times[2] == 1e-30);
    assert_true(!c.knobs[1].whole && !c.knobs[1].positive && c.knobs[2].whole && c.knobs[2].all_powers);
    records_fini(&r);
    columns_fini(&c);
}

static void cells_that_are_none_are_named(void **state)
{
    static const char *const cases[][2] = {
        {"x,time_ms,status\n1,1,ok\n,1,ok\n", "t.csv:3: column x: \"\", expected a finite number"},
        {"x,time_ms,status\n1,1,ok\ninf,1,ok\n", "t.csv:3: column x: \"inf\""},
        {"x,time_ms,status\n1,0,ok\n", "t.csv:2: column time_ms: \"0\", expected a time above 0"},
        {"x,time_ms,status\n1,-1,ok\n", "t.csv:2: column time_ms: \"-1\""},
        {"x,time_ms,status\n1,1e-31,ok\n", "ms from 1e-30 to 1e30"},
        {"x,time_ms,status\n1,2e30,ok\n", "ms from 1e-30 to 1e30"},
        {"x,time_ms,status\na,1,ok\nb,1,ok\n3,1,ok\n", "t.csv:4: column x: \"3\", expected a word"},
        {"x,time_ms,status\na,1,ok\n,1,ok\n", "t.csv:3: column x: \"\", expected a word"},
        {"x,time_ms\n1,1\n", "no column status"},
        {"x,status\n1,ok\n", "no column time_ms"},
        {"x,x,time_ms,status\n1,1,1,ok\n", "two columns are called \"x\""},
        {"x,,time_ms,status\n1,1,1,ok\n", "column 2 has no name"},
        {"time_ms,status\n1,ok\n", "no column of a knob"},
        {"x,time_ms,status\n", "no rows"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct records r;
        struct columns c;
        struct why why = {""};

        assert_int_equal(records_read(put(cases[i][0]), &r, &c, &why), ERR_INPUT);
        if (!strstr(why.text, cases[i][1]))
            fail_msg("'%s' does not say '%s'", why.text, cases[i][1]);
    }
}

static void columns_are_found_by_name_in_another_table(void **state)
{
    struct records r, other;
    struct columns c;
    struct why why = {""};

    (void)state;
    assert_int_equal(records_read(put("x,w,time_ms,status\n1,a,1,ok\n2,b,1,ok\n"), &r, &c, NULL), ERR_OK);
    if (records_read_as(put("extra,w,x\nq,b,7\nq,new,8\n"), &c, false, &other, &why))
        fail_msg("%s", why.text);
    assert_int_equal(other.n, 2);
    assert_null(other.times);
    assert_true(other.values[0] == 7 && other.values[1] == 1 && other.values[2] == 8);
    assert_true(isnan(other.values[3])); /* a word that was not among them */
    records_fini(&other);
    assert_int_equal(records_read_as(put("w\nb\n"), &c, false, &other, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "no column x"));
    assert_int_equal(records_read_as(put("x,w\n1,b\n"), &c, true, &other, &why), ERR_INPUT);
    assert_int_equal(records_read_as(put("x,w,x\n1,b,2\n"), &c, false, &other, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "two columns are called \"x\""));
    records_fini(&r);
    columns_fini(&c);
}

static void late_columns_may_have_gaps(void **state)
{
    static const char *const names[] = {"regs", "spill"}, *const none[] = {"regs", "nothing"};
    struct records r;
    struct columns c;
    float *late = NULL;
    size_t n = 0;

    (void)state;
    put("spill,x,regs,time_ms,status\n,1,64,1,ok\n8,2,,1,ok\n");
    assert_int_equal(
        records_read_without(put("spill,x,regs,time_ms,status\n,1,64,1,ok\n8,2,,1,ok\n"), names, 2, &r, &c, NULL),
        ERR_OK);
    assert_int_equal(c.n, 1);
    assert_string_equal(c.names[0], "x");
    assert_int_equal(
        records_read_numbers(put("spill,x,regs,time_ms,status\n,1,64,1,ok\n8,2,,1,ok\n"), names, 2, &late, &n, NULL),
        ERR_OK);
    assert_int_equal(n, 2);
    assert_true(late[0] == 64 && isnan(late[1]) && isnan(late[2]) && late[3] == 8);
    free(late);
    late = NULL;
    assert_int_equal(records_read_numbers(put("regs,x\n1,1\n"), none, 2, &late, &n, NULL), ERR_OK);
    assert_null(late);
    assert_int_equal(records_read_numbers(put("regs,spill\n1,a\n"), names, 2, &late, &n, NULL), ERR_INPUT);
    records_fini(&r);
    columns_fini(&c);
}

/* Each of the three facts about a knob's numbers is one of its own. */
static void columns_come_back_from_their_text(void **state)
{
    struct records r;
    struct columns c, back;
    struct buf text, again;
    cJSON *array = NULL;

    (void)state;
    assert_int_equal(records_read(put("half,minus,even,odd,w,time_ms,status\n0.5,-1,2,3,a b,1,ok\n1.5,2,8,5,c,1,ok\n"),
                                  &r, &c, NULL),
                     ERR_OK);
    assert_true(!c.knobs[0].whole && c.knobs[0].positive && !c.knobs[0].all_powers);
    assert_true(c.knobs[1].whole && !c.knobs[1].positive);
    assert_true(c.knobs[2].whole && c.knobs[2].positive && c.knobs[2].all_powers);
    assert_true(c.knobs[3].whole && c.knobs[3].positive && !c.knobs[3].all_powers);
    buf_init(&text, 1 << 20);
    buf_init(&again, 1 << 20);
    assert_int_equal(columns_write(&c, &text), ERR_OK);
    assert_int_equal(json_parse(buf_text(&text), text.len, &array, NULL), ERR_OK);
    assert_int_equal(columns_read(&back, array, NULL), ERR_OK);
    assert_int_equal(back.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(back.names[i], c.names[i]);
        assert_int_equal(back.knobs[i].n_words, c.knobs[i].n_words);
        if (back.knobs[i].n_words)
            continue;
        assert_int_equal(back.knobs[i].whole, c.knobs[i].whole);
        assert_int_equal(back.knobs[i].positive, c.knobs[i].positive);
        assert_int_equal(back.knobs[i].all_powers, c.knobs[i].all_powers);
        assert_int_equal(back.knobs[i].n_values, 2);
    }
    assert_string_equal(back.words[4][1], "c");
    assert_int_equal(columns_write(&back, &again), ERR_OK);
    assert_string_equal(buf_text(&again), buf_text(&text));
    cJSON_Delete(array);
    columns_fini(&back);
    columns_fini(&c);
    records_fini(&r);
    buf_fini(&again);
    buf_fini(&text);
}

/* Coordinates by definition: places among 1 4 10, a word's axes. */
static void points_are_places_among_what_was_seen(void **state)
{
    struct records r;
    struct columns c;
    struct points p = {0};
    float row[POINTS_MAX];
    static const struct {
        double v;
        float place;
    } cases[] = {{1, 0}, {4, .5f}, {10, 1}, {2.5, .25f}, {7, .75f}, {0, 0}, {99, 1}, {NAN, .5f}};

    (void)state;
    assert_int_equal(records_read(put("x,one,time_ms,status\n4,7,1,ok\n1,7,1,ok\n10,7,1,ok\n4,7,1,ok\n"), &r, &c, NULL),
                     ERR_OK);
    assert_int_equal(points_init(&p, c.knobs, c.n, r.values, r.n), ERR_OK);
    assert_true(p.n >= 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double values[2] = {cases[i].v, 7};

        points_of(&p, values, row);
        if (!(fabsf(row[0] - cases[i].place) < 1e-6f))
            fail_msg("place of %g: %g, expected %g", cases[i].v, (double)row[0], (double)cases[i].place);
    }
    for (size_t i = 0; i < r.n; i++) { /* of what was learned from, every coordinate from 0 to 1 */
        points_of(&p, r.values + i * r.n_knobs, row);
        for (size_t j = 0; j < p.n; j++)
            assert_true(row[j] >= 0 && row[j] <= 1);
    }
    points_fini(&p);
    records_fini(&r);
    columns_fini(&c);
}

/* Each coordinate reaches 0 and 1 over the rows; unknown words lie in the middle. */
static void points_span_the_rows(void **state)
{
    struct records r;
    struct columns c;
    struct points p = {0};
    float row[POINTS_MAX], low[POINTS_MAX], high[POINTS_MAX];

    (void)state;
    assert_int_equal(
        records_read(put("x,y,w,time_ms,status\n24,3,a,1,ok\n96,12,b,1,ok\n40,5,a,1,ok\n112,7,b,1,ok\n"), &r, &c, NULL),
        ERR_OK);
    assert_int_equal(points_init(&p, c.knobs, c.n, r.values, r.n), ERR_OK);
    assert_true(p.n > 4);
    for (size_t j = 0; j < p.n; j++) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
    }
    for (size_t i = 0; i < r.n; i++) {
        points_of(&p, r.values + i * r.n_knobs, row);
        for (size_t j = 0; j < p.n; j++) {
            low[j] = fminf(low[j], row[j]);
            high[j] = fmaxf(high[j], row[j]);
        }
    }
    for (size_t j = 0; j < p.n; j++)
        assert_true(fabsf(low[j]) < 1e-6f && fabsf(high[j] - 1) < 1e-6f);
    {
        const double unknown[3] = {24, 3, NAN};
        size_t n_middle = 0;

        points_of(&p, unknown, row);
        for (size_t j = 0; j < p.n; j++)
            n_middle += row[j] == 0.5f;
        assert_true(n_middle >= 1);
    }
    points_fini(&p);
    records_fini(&r);
    columns_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_its_columns_and_times),
        cmocka_unit_test(cells_that_are_none_are_named),
        cmocka_unit_test(columns_are_found_by_name_in_another_table),
        cmocka_unit_test(late_columns_may_have_gaps),
        cmocka_unit_test(columns_come_back_from_their_text),
        cmocka_unit_test(points_are_places_among_what_was_seen),
        cmocka_unit_test(points_span_the_rows),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
