/* SPDX-License-Identifier: MIT */
#include "search/learn/model_file.h"

#include "core/file.h"
#include "search/learn/judge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_ALL 400
#define N_TRAIN 150

static char dir[256];

static const char *at(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* Time depends on the knobs x and y and, more, on registers that no knob tells; a third of the rows were not built. */
static void put_table(const char *name, size_t first, size_t n)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_puts(&text, "x,y,registers,spills,time_ms,status\n");
    for (size_t i = first; i < first + n; i++) {
        const int x = 16 << rng_at(1, i) % 4, y = 1 + (int)(rng_at(2, i) % 9),
                  registers = 16 + (int)(rng_at(3, i) % 200);
        const double time = (1 + y) * 64.0 / x + 0.2 * registers;

        if (i % 3 == 0)
            buf_printf(&text, "%d,%d,,,%g,ok\n", x, y, time);
        else
            buf_printf(&text, "%d,%d,%d,%d,%g,ok\n", x, y, registers, registers > 128, time);
    }
    assert_int_equal(file_replace(at(name), buf_text(&text), text.len, 0600, NULL), ERR_OK);
    buf_fini(&text);
}

struct table {
    struct records r;
    float *late;
    size_t n;
};

static void read_table(struct table *t, const char *name, const struct columns *c)
{
    static const char *const late[] = {"registers", "spills"};
    struct why why = {""};

    if (records_read_as(at(name), c, true, &t->r, &why) ||
        records_read_numbers(at(name), late, 2, &t->late, &t->n, &why))
        fail_msg("%s", why.text);
}

static void table_fini(struct table *t)
{
    records_fini(&t->r);
    free(t->late);
}

/* A model of two stages, learned from train.csv. */
static void learn(struct model_file *m)
{
    struct why why = {""};
    struct records r = {0};
    struct table t = {.late = NULL};

    put_table("train.csv", 0, N_TRAIN);
    put_table("test.csv", N_TRAIN, N_ALL - N_TRAIN);
    assert_int_equal(model_file_name_second(m, "registers,spills", &why), ERR_OK);
    assert_int_equal(
        records_read_without(at("train.csv"), (const char *const *)m->second.names, 2, &r, &m->columns, &why), ERR_OK);
    assert_int_equal(m->columns.n, 2);
    read_table(&t, "train.csv", &m->columns);
    if (model_file_learn(m, m->columns.knobs, r.values, r.times, r.n, 0, &why) ||
        model_file_learn_second(m, t.r.values, t.late, t.r.times, t.n, 0, &why))
        fail_msg("%s", why.text);
    records_fini(&r);
    table_fini(&t);
}

/* Over the test rows that were built, or those that were not. */
static double spearman(const struct table *t, const float *scores, bool built)
{
    double times[N_ALL], out[N_MEASURES];
    float of[N_ALL];
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        if (built == !isnan(t->late[2 * i])) {
            times[n] = t->r.times[i];
            of[n++] = scores[i];
        }
    assert_int_equal(judge(times, of, n, INFINITY, out), ERR_OK);
    return out[MEASURE_SPEARMAN];
}

static void what_a_build_tells_ranks_the_built_rows_and_no_others(void **state)
{
    struct model_file m = {.space = NULL};
    struct table t = {.late = NULL};
    float first[N_ALL], second[N_ALL];

    (void)state;
    learn(&m);
    read_table(&t, "test.csv", &m.columns);
    assert_int_equal(model_file_predict(&m, t.r.values, t.n, first), ERR_OK);
    memcpy(second, first, sizeof second);
    assert_int_equal(model_file_rerank(&m, t.r.values, t.late, t.n, second), ERR_OK);
    if (!(spearman(&t, second, true) > 0.85 && spearman(&t, second, true) > spearman(&t, first, true) + 0.2))
        fail_msg("%g with what the build told, %g without", spearman(&t, second, true), spearman(&t, first, true));
    for (size_t i = 0; i < t.n; i++)
        if (isnan(t.late[2 * i]))
            assert_true(first[i] == second[i]);
    table_fini(&t);
    model_file_fini(&m);
}

static void a_file_brings_both_stages_back(void **state)
{
    struct model_file m = {.space = NULL}, again = {.space = NULL};
    struct why why = {""};
    struct table t = {.late = NULL};
    float a[N_ALL], b[N_ALL];

    (void)state;
    learn(&m);
    read_table(&t, "test.csv", &m.columns);
    if (model_file_write(at("m.json"), &m, &why) || model_file_read(at("m.json"), &again, &why))
        fail_msg("%s", why.text);
    assert_int_equal(again.second.n, 2);
    assert_string_equal(again.second.names[1], "spills");
    model_file_predict(&m, t.r.values, t.n, a);
    model_file_predict(&again, t.r.values, t.n, b);
    model_file_rerank(&m, t.r.values, t.late, t.n, a);
    model_file_rerank(&again, t.r.values, t.late, t.n, b);
    for (size_t i = 0; i < t.n; i++)
        assert_true(fabsf(a[i] - b[i]) < 1e-5f);
    table_fini(&t);
    model_file_fini(&m);
    model_file_fini(&again);
}

/* However many rows are asked about at once, each has the score that it has alone. */
static void each_of_many_rows_has_its_score(void **state)
{
    enum { N_MANY = 9001, N_FEW = 7 };
    struct model_file m = {.space = NULL};
    struct table t = {.late = NULL};
    double *values = malloc(2 * N_MANY * sizeof *values);
    float *scores = malloc(N_MANY * sizeof *scores), alone[N_FEW];

    (void)state;
    assert_true(values && scores);
    learn(&m);
    read_table(&t, "test.csv", &m.columns);
    for (size_t i = 0; i < N_FEW; i++)
        assert_int_equal(model_file_predict(&m, t.r.values + 2 * i, 1, &alone[i]), ERR_OK);
    for (size_t i = 0; i < N_MANY; i++) {
        memcpy(values + 2 * i, t.r.values + 2 * (i % N_FEW), 2 * sizeof *values);
        scores[i] = NAN;
    }
    assert_int_equal(model_file_predict(&m, values, N_MANY, scores), ERR_OK);
    for (size_t i = 0; i < N_MANY; i++)
        if (!(fabsf(scores[i] - alone[i % N_FEW]) < 1e-5f))
            fail_msg("row %zu of many: %g, alone %g", i, (double)scores[i], (double)alone[i % N_FEW]);
    free(values);
    free(scores);
    table_fini(&t);
    model_file_fini(&m);
}

static void names_of_late_columns_are_checked(void **state)
{
    static const char *const bad[] = {"", "a,", ",a", "a,b,a"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct model_file m = {.space = NULL};
        struct why why = {""};

        assert_int_equal(model_file_name_second(&m, bad[i], &why), ERR_INPUT);
        assert_true(strlen(why.text) > 0);
        model_file_fini(&m);
    }
}

static void a_model_file_is_never_half_read(void **state)
{
    struct model_file m = {.space = NULL};
    struct buf text;
    struct why why = {""};

    (void)state;
    learn(&m);
    buf_init(&text, 64 << 20);
    assert_int_equal(model_file_write(at("m.json"), &m, &why), ERR_OK);
    assert_int_equal(file_read(at("m.json"), &text, &why), ERR_OK);
    model_file_fini(&m);
    for (size_t part = 1; part < 8; part++) {
        assert_int_equal(file_replace(at("cut.json"), text.data, text.len * part / 8, 0600, NULL), ERR_OK);
        assert_int_equal(model_file_read(at("cut.json"), &m, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, "cut.json"));
        assert_int_equal(m.columns.n, 0);
    }
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_build_tells_ranks_the_built_rows_and_no_others),
        cmocka_unit_test(a_file_brings_both_stages_back),
        cmocka_unit_test(each_of_many_rows_has_its_score),
        cmocka_unit_test(names_of_late_columns_are_checked),
        cmocka_unit_test(a_model_file_is_never_half_read),
    };
    int failed;

    if (dir_temporary("tune-model-file", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
