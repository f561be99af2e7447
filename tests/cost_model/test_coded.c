/* SPDX-License-Identifier: MIT */
/* Facts about coded tables and fits on some of their rows. */
#include "cost_model/coded_table.h"
#include "cost_model/gbdt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 500
#define P 4

static float rows[N * P], targets[N];

/* Two knobs, the log2 of the first, noise with gaps. */
static void draw(uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (size_t i = 0; i < N; i++) {
        float *row = rows + i * P;

        row[0] = (float)(1 << rng_below(&rng, 5));
        row[1] = (float)rng_below(&rng, 7);
        row[2] = log2f(row[0]);
        row[3] = rng_below(&rng, 10) == 0 ? NAN : (float)rng_unit(&rng);
        targets[i] = row[2] * row[1] + (isnan(row[3]) ? 1.0f : row[3]);
    }
}

static struct model *new_model(void)
{
    struct gbdt_options o = gbdt_defaults();
    struct model *m = NULL;

    o.n_trees = 30;
    assert_int_equal(gbdt_new(&m, 3, &o), ERR_OK);
    return m;
}

static void a_fit_on_all_rows_of_a_table_is_the_fit_on_their_floats(void **state)
{
    struct model *a = new_model(), *b = new_model();
    struct coded *table = NULL;
    float x[2][N], y[2][N];

    (void)state;
    draw(1);
    assert_int_equal(coded_new(&table, rows, N, P), ERR_OK);
    assert_int_equal(table->cuts->bins.n_columns, 3); /* the log2 says nothing new */
    assert_int_equal(gbdt_fit_coded(a, &(struct coded_data){.table = table, .targets = targets, .n = N}), ERR_OK);
    assert_int_equal(gbdt_ops.fit(b, &(struct model_data){rows, targets, NULL, N, P}), ERR_OK);
    assert_int_equal(gbdt_ops.predict(a, rows, N, x[0], x[1]), ERR_OK);
    assert_int_equal(gbdt_ops.predict(b, rows, N, y[0], y[1]), ERR_OK);
    assert_memory_equal(x, y, sizeof(x));
    gbdt_ops.fini(a);
    gbdt_ops.fini(b);
    coded_free(table);
}

static void fit_some(struct model *m, const struct coded *table, const uint32_t *some, size_t n)
{
    float own[N];

    for (size_t i = 0; i < n; i++)
        own[i] = targets[some[i]];
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .rows = some, .targets = own, .n = n}),
                     ERR_OK);
}

/* Targets are told row by row: those of the rows listed are learnt, whatever stands in the rows between. */
static void a_fit_on_some_rows_of_a_table_learns_those(void **state)
{
    struct model *m = new_model();
    struct coded *table = NULL;
    float scores[N];
    uint32_t some[100];
    double sum = 0, squares = 0, off = 0;

    (void)state;
    draw(2);
    for (uint32_t i = 0; i < 100; i++)
        some[i] = i * 37 % N;
    assert_int_equal(coded_new(&table, rows, N, P), ERR_OK);
    fit_some(m, table, some, 100);
    assert_int_equal(gbdt_ops.predict(m, rows, N, scores, NULL), ERR_OK);
    for (size_t i = 0; i < 100; i++) {
        sum += (double)targets[some[i]];
        squares += pow((double)targets[some[i]], 2);
        off += pow((double)scores[some[i]] - (double)targets[some[i]], 2);
    }
    assert_true(off < 0.1 * (squares - sum * sum / 100));
    gbdt_ops.fini(m);
    coded_free(table);
}

static void what_cannot_be_fitted_is_refused(void **state)
{
    struct model *m = new_model();
    struct coded *table = NULL;
    const uint32_t far[2] = {0, N};
    const float nan_target[2] = {0, NAN};

    (void)state;
    draw(4);
    assert_int_equal(coded_new(&table, rows, 0, P), ERR_INPUT);
    assert_int_equal(coded_new(&table, rows, N, 0), ERR_INPUT);
    assert_int_equal(coded_new(&table, rows, N, 1u << 20), ERR_LIMIT);
    assert_int_equal(coded_new(&table, rows, N, P), ERR_OK);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .rows = far, .targets = targets, .n = 2}),
                     ERR_INPUT);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = targets, .n = N + 1}),
                     ERR_INPUT);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = targets, .n = 0}), ERR_INPUT);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = nan_target, .n = 2}), ERR_INPUT);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = targets, .n = N}), ERR_OK);
    gbdt_ops.fini(m);
    coded_free(table);
    coded_free(NULL);
}

static void one_row_and_one_value_are_answered_with_their_target(void **state)
{
    const float row[2] = {1, NAN}, target = 4.5f;
    struct model *m = new_model();
    struct coded *table = NULL;
    float score;

    (void)state;
    assert_int_equal(coded_new(&table, row, 1, 2), ERR_OK);
    assert_int_equal(table->cuts->bins.n_columns, 0);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = &target, .n = 1}), ERR_OK);
    assert_int_equal(gbdt_ops.predict(m, row, 1, &score, NULL), ERR_OK);
    assert_float_equal(score, 4.5, 0);
    gbdt_ops.fini(m);
    coded_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_on_all_rows_of_a_table_is_the_fit_on_their_floats),
        cmocka_unit_test(a_fit_on_some_rows_of_a_table_learns_those),
        cmocka_unit_test(what_cannot_be_fitted_is_refused),
        cmocka_unit_test(one_row_and_one_value_are_answered_with_their_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
