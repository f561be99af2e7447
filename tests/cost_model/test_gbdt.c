/* SPDX-License-Identifier: MIT */
/* Facts about the ways to train trees: shapes, thresholds, options. */
#include "cost_model/gbdt_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 600
#define P 6

static float rows[N * P], targets[N];

/* Knobs of few values, one of many, one that is missing now and then; products and steps, and some noise. */
static void draw(uint64_t seed, double noise)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (size_t i = 0; i < N; i++) {
        float *row = rows + i * P;

        row[0] = (float)(1 << rng_below(&rng, 6));
        row[1] = (float)rng_below(&rng, 4);
        row[2] = (float)rng_below(&rng, 12);
        row[3] = (float)rng_unit(&rng);
        row[4] = rng_below(&rng, 6) == 0 ? NAN : (float)rng_unit(&rng);
        row[5] = (float)rng_below(&rng, 2);
        targets[i] = log2f(row[0]) * row[1] + (row[3] > 0.4f ? 2.0f : 0.0f) + (isnan(row[4]) ? 3.0f : row[4]) +
                     0.2f * row[2] + (float)(noise * (rng_unit(&rng) - 0.5));
    }
}

static struct gbdt_options plain(size_t n_trees)
{
    struct gbdt_options o = gbdt_defaults();

    o.n_forests = 1;
    o.n_trees = n_trees;
    o.row_share = o.column_share = 1;
    return o;
}

static struct model *fitted(const struct gbdt_options *o, uint64_t seed)
{
    struct model *m = NULL;

    assert_int_equal(gbdt_new(&m, seed, o), ERR_OK);
    assert_int_equal(gbdt_ops.fit(m, &(struct model_data){rows, targets, NULL, N, P}), ERR_OK);
    return m;
}

static double square_loss(const struct model *m)
{
    float scores[N];
    double sum = 0;

    assert_int_equal(gbdt_ops.predict(m, rows, N, scores, NULL), ERR_OK);
    for (size_t i = 0; i < N; i++)
        sum += pow((double)scores[i] - (double)targets[i], 2);
    return sum / N;
}

static void leaf_by_leaf_a_tree_has_at_most_max_leaves_and_fits_better_than_as_many_by_depth(void **state)
{
    struct gbdt_options o = plain(20);
    double by_leaf, by_depth;
    struct model *m;

    (void)state;
    draw(1, 0);
    o.max_leaves = 16;
    o.max_depth = 0;
    m = fitted(&o, 0);
    for (size_t i = 0; i < m->fit.first[m->options.n_forests]; i++)
        assert_in_range(m->fit.trees[i].n_leaves, 2, 16);
    assert_int_equal(m->fit.trees[0].n_leaves, 16);
    by_leaf = square_loss(m);
    gbdt_ops.fini(m);
    o.max_leaves = 0;
    o.max_depth = 4;
    m = fitted(&o, 0);
    by_depth = square_loss(m);
    gbdt_ops.fini(m);
    assert_true(by_leaf < by_depth);
}

static void trees_keep_within_their_depth(void **state)
{
    (void)state;
    draw(2, 0.1);
    for (size_t depth = 1; depth <= TREE_MAX_DEPTH; depth++)
        for (int by_leaf = 0; by_leaf < 2; by_leaf++) {
            struct gbdt_options o = plain(5);
            struct model *m;

            o.max_depth = depth;
            o.max_leaves = by_leaf ? 100 : 0;
            m = fitted(&o, 0);
            for (size_t i = 0; i < m->fit.first[m->options.n_forests]; i++)
                assert_true(tree_depth(&m->fit.trees[i]) <= depth);
            gbdt_ops.fini(m);
        }
}

static void leaves_are_never_lighter_than_min_child(void **state)
{
    struct gbdt_options o = plain(1);
    struct model *m;
    float scores[N];

    (void)state;
    draw(3, 1);
    o.min_child = 37;
    m = fitted(&o, 0);
    assert_int_equal(gbdt_ops.predict(m, rows, N, scores, NULL), ERR_OK);
    for (size_t i = 0; i < N; i++) { /* one tree: rows of one score share a leaf */
        size_t n = 0;

        for (size_t j = 0; j < N; j++)
            n += !(scores[i] < scores[j]) && !(scores[j] < scores[i]);
        assert_true(n >= 37);
    }
    gbdt_ops.fini(m);
}

static void a_threshold_stands_in_the_middle_of_codes_that_no_row_has(void **state)
{
    const float table_rows[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, own[4] = {0, 0, 1, 1};
    const uint32_t some[4] = {0, 1, 7, 8};
    struct gbdt_options o = plain(1);
    struct coded *table = NULL;
    struct model *m = NULL;
    float scores[9];

    (void)state;
    assert_int_equal(coded_new(&table, table_rows, 9, 1), ERR_OK);
    assert_int_equal(gbdt_new(&m, 0, &o), ERR_OK);
    assert_int_equal(gbdt_fit_coded(m, &(struct coded_data){.table = table, .rows = some, .targets = own, .n = 4}),
                     ERR_OK);
    assert_int_equal(gbdt_ops.predict(m, table_rows, 9, scores, NULL), ERR_OK);
    assert_true(scores[3] < 0.5f && scores[5] > 0.5f);
    gbdt_ops.fini(m);
    coded_free(table);
}

static void options_out_of_range_are_refused(void **state)
{
    struct gbdt_options o[5];
    struct model *m = NULL;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        o[i] = plain(1);
    o[0].max_leaves = 1;
    o[1].max_leaves = 257;
    o[2].max_depth = 0;
    o[3].min_gain = (double)NAN;
    o[4].n_trees = GBDT_MAX_TREES + 1;
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(gbdt_new(&m, 0, &o[i]), ERR_INPUT);
    assert_null(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaf_by_leaf_a_tree_has_at_most_max_leaves_and_fits_better_than_as_many_by_depth),
        cmocka_unit_test(trees_keep_within_their_depth),
        cmocka_unit_test(leaves_are_never_lighter_than_min_child),
        cmocka_unit_test(a_threshold_stands_in_the_middle_of_codes_that_no_row_has),
        cmocka_unit_test(options_out_of_range_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
