/* SPDX-License-Identifier: MIT */
/* Facts about coded tables and fits on some of their rows. */
#include "cost_model/coded.h"
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
    assert_int_equal(coded_n_columns(table), 3);
    assert_int_equal(gbdt_fit_coded(a, &(struct coded_data){.table = table, .targets = targets, .n = N}), ERR_OK);
    assert_int_equal(gbdt_ops.fit(b, &(struct model_data){rows, targets, NULL, N, P}), ERR_OK);
    assert_int_equal(gbdt_predict_coded(a, table, 0, N, x[0], x[1]), ERR_OK);
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

static void ranges_lists_floats_and_like_tables_are_scored_alike(void **state)
{
    struct model *m = new_model();
    struct coded *table = NULL, *like = NULL;
    float all[2][N], part[2][N], floats[2][N];
    uint32_t some[100];

    (void)state;
    draw(2);
    for (uint32_t i = 0; i < 100; i++)
        some[i] = i * 37 % N;
    assert_int_equal(coded_new(&table, rows, N, P), ERR_OK);
    assert_int_equal(coded_like(&like, table, rows + 50 * P, 200), ERR_OK);
    fit_some(m, table, some, 100);
    assert_int_equal(gbdt_predict_coded(m, table, 0, N, all[0], all[1]), ERR_OK);
    assert_int_equal(gbdt_ops.predict(m, rows, N, floats[0], floats[1]), ERR_OK);
    assert_memory_equal(all, floats, sizeof(all));
    assert_int_equal(gbdt_predict_coded(m, table, 50, 200, part[0], part[1]), ERR_OK);
    assert_memory_equal(part[0], all[0] + 50, 200 * sizeof(float));
    assert_memory_equal(part[1], all[1] + 50, 200 * sizeof(float));
    assert_int_equal(gbdt_predict_coded(m, like, 0, 200, part[0], NULL), ERR_OK);
    assert_memory_equal(part[0], all[0] + 50, 200 * sizeof(float));
    assert_int_equal(gbdt_predict_listed(m, table, some, 100, part[0], part[1]), ERR_OK);
    for (size_t i = 0; i < 100; i++)
        assert_true(part[0][i] == all[0][some[i]] && part[1][i] == all[1][some[i]]);
    gbdt_ops.fini(m);
    coded_free(like);
    coded_free(table);
}

static void offsets_are_what_the_trees_need_not_learn(void **state)
{
    struct model *m = new_model();
    struct coded *table = NULL;
    float scores[N];

    (void)state;
    draw(3);
    assert_int_equal(coded_new(&table, rows, N, P), ERR_OK);
    assert_int_equal(
        gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = targets, .offsets = targets, .n = N}),
        ERR_OK);
    assert_int_equal(gbdt_predict_coded(m, table, 0, N, scores, NULL), ERR_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(scores[i] == 0);
    gbdt_ops.fini(m);
    coded_free(table);
}

static void what_cannot_be_fitted_or_scored_is_refused(void **state)
{
    struct model *m = new_model();
    struct coded *table = NULL, *other = NULL;
    const uint32_t far[2] = {0, N};
    const float nan_offset[2] = {0, NAN};
    float scores[N];

    (void)state;
    draw(4);
    assert_int_equal(coded_new(&table, rows, 0, P), ERR_INPUT);
    assert_int_equal(coded_new(&table, rows, N, 0), ERR_INPUT);
    assert_int_equal(coded_new(&table, rows, N, 1u << 20), ERR_LIMIT);
    assert_int_equal(coded_new(&table, rows, N, P), ERR_OK);
    assert_int_equal(coded_new(&other, rows, N, P), ERR_OK);
    assert_int_equal(coded_like(&other, table, rows, 0), ERR_INPUT);
    assert_int_equal(gbdt_predict_coded(m, table, 0, N, scores, NULL), ERR_INPUT);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .rows = far, .targets = targets, .n = 2}),
                     ERR_INPUT);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = targets, .n = N + 1}),
                     ERR_INPUT);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = targets, .n = 0}), ERR_INPUT);
    assert_int_equal(
        gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = targets, .offsets = nan_offset, .n = 2}),
        ERR_INPUT);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = targets, .n = N}), ERR_OK);
    assert_int_equal(gbdt_predict_coded(m, other, 0, N, scores, NULL), ERR_INPUT);
    assert_int_equal(gbdt_predict_coded(m, table, 1, N, scores, NULL), ERR_INPUT);
    assert_int_equal(gbdt_predict_coded(m, table, N + 1, 0, scores, NULL), ERR_INPUT);
    assert_int_equal(gbdt_predict_listed(m, table, far, 2, scores, NULL), ERR_INPUT);
    gbdt_ops.fini(m);
    coded_free(table);
    coded_free(other);
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
    assert_int_equal(coded_n_columns(table), 0);
    assert_int_equal(coded_n_rows(table), 1);
    assert_int_equal(coded_n_features(table), 2);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .targets = &target, .n = 1}), ERR_OK);
    assert_int_equal(gbdt_predict_coded(m, table, 0, 1, &score, NULL), ERR_OK);
    assert_float_equal(score, 4.5, 0);
    gbdt_ops.fini(m);
    coded_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_on_all_rows_of_a_table_is_the_fit_on_their_floats),
        cmocka_unit_test(ranges_lists_floats_and_like_tables_are_scored_alike),
        cmocka_unit_test(offsets_are_what_the_trees_need_not_learn),
        cmocka_unit_test(what_cannot_be_fitted_or_scored_is_refused),
        cmocka_unit_test(one_row_and_one_value_are_answered_with_their_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
