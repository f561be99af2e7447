/* SPDX-License-Identifier: MIT */
/* Facts about the ways to train trees: shapes, losses, stopping, going on. */
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

/* Share of pairs with different targets that the scores order alike. */
static double concordance(const float *scores)
{
    size_t n_right = 0, n_pairs = 0;

    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            if (targets[i] < targets[j]) {
                n_pairs++;
                n_right += scores[i] < scores[j];
            }
    return (double)n_right / (double)n_pairs;
}

/* How many rows have both their target and their score among the least `n_first`. */
static size_t found(const float *scores, size_t n_first)
{
    size_t n = 0;

    for (size_t i = 0; i < N; i++) {
        size_t before[2] = {0, 0};

        for (size_t j = 0; j < N; j++) {
            before[0] += targets[j] < targets[i];
            before[1] += scores[j] < scores[i];
        }
        n += before[0] < n_first && before[1] < n_first;
    }
    return n;
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
    for (size_t i = 0; i < gbdt_n_trees(m); i++)
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
            for (size_t i = 0; i < gbdt_n_trees(m); i++)
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

static void rankings_order_rows_and_put_failed_ones_last(void **state)
{
    (void)state;
    for (int loss = GBDT_PAIRWISE; loss <= GBDT_LISTWISE; loss++) {
        struct gbdt_options o = plain(150);
        struct model *m;
        float scores[N], worst_ok = -INFINITY;
        size_t n_before = 0, n_failed = 0;

        draw(4, 0);
        for (size_t i = 0; i < N; i++)
            if (rows[i * P + 2] < 2)
                targets[i] = INFINITY;
        o.loss = (enum gbdt_loss)loss;
        m = fitted(&o, 0);
        assert_int_equal(gbdt_ops.predict(m, rows, N, scores, NULL), ERR_OK);
        if (!(concordance(scores) > (loss == GBDT_PAIRWISE ? 0.95 : 0.85)) || !(found(scores, 30) >= 27))
            fail_msg("loss %d: concordance %g, %zu of 30", loss, concordance(scores), found(scores, 30));
        for (size_t i = 0; i < N; i++)
            if (isfinite(targets[i]) && targets[i] < 4)
                worst_ok = fmaxf(worst_ok, scores[i]);
        for (size_t i = 0; i < N; i++)
            if (!isfinite(targets[i])) {
                n_failed++;
                n_before += scores[i] < worst_ok;
            }
        assert_true(n_failed > 50 && n_before * 20 < n_failed);
        gbdt_ops.fini(m);
    }
}

static void squared_error_refuses_failed_rows_and_rankings_refuse_nan(void **state)
{
    (void)state;
    for (int loss = GBDT_SQUARED; loss <= GBDT_LISTWISE; loss++) {
        struct gbdt_options o = plain(3);
        struct model *m = NULL;

        draw(5, 0);
        o.loss = (enum gbdt_loss)loss;
        assert_int_equal(gbdt_new(&m, 0, &o), ERR_OK);
        targets[7] = INFINITY;
        assert_int_equal(gbdt_ops.fit(m, &(struct model_data){rows, targets, NULL, N, P}),
                         loss == GBDT_SQUARED ? ERR_INPUT : ERR_OK);
        targets[7] = -INFINITY;
        assert_int_equal(gbdt_ops.fit(m, &(struct model_data){rows, targets, NULL, N, P}), ERR_INPUT);
        targets[7] = NAN;
        assert_int_equal(gbdt_ops.fit(m, &(struct model_data){rows, targets, NULL, N, P}), ERR_INPUT);
        for (size_t i = 0; i < N; i++)
            targets[i] = INFINITY; /* all failed: nothing to rank, nothing to fail at */
        assert_int_equal(gbdt_ops.fit(m, &(struct model_data){rows, targets, NULL, N, P}),
                         loss == GBDT_SQUARED ? ERR_INPUT : ERR_OK);
        gbdt_ops.fini(m);
    }
}

static void training_ends_when_held_back_rows_gain_no_more(void **state)
{
    struct gbdt_options o = plain(2000);
    struct model *m;
    struct rng rng;

    (void)state;
    draw(6, 0);
    rng_init(&rng, 9);
    for (size_t i = 0; i < N; i++)
        targets[i] = (float)rng_unit(&rng); /* nothing to learn */
    o.held_back = 0.3;
    o.patience = 10;
    m = fitted(&o, 0);
    assert_in_range(gbdt_n_trees(m), 1, 100);
    gbdt_ops.fini(m);
    draw(6, 0); /* much to learn */
    m = fitted(&o, 0);
    assert_true(gbdt_n_trees(m) > 100);
    gbdt_ops.fini(m);
}

static void a_fit_that_goes_on_keeps_its_trees_and_lessens_the_loss(void **state)
{
    const struct model_data data = {rows, targets, NULL, N, P};
    struct gbdt_options o = plain(20);
    struct model *m, *fresh = NULL;
    double before;

    (void)state;
    draw(7, 0);
    o.n_forests = 2;
    m = fitted(&o, 3);
    fresh = fitted(&o, 3);
    before = square_loss(m);
    assert_int_equal(gbdt_continue(m, &data, 30), ERR_OK);
    assert_int_equal(gbdt_n_trees(m), 100);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 20; j++) {
            const struct tree *a = &m->fit.trees[50 * i + j], *b = &fresh->fit.trees[20 * i + j];

            assert_int_equal(a->n_leaves, b->n_leaves);
            assert_memory_equal(a->leaves, b->leaves, a->n_leaves * sizeof(*a->leaves));
        }
    assert_true(square_loss(m) < 0.5 * before);
    assert_int_equal(gbdt_continue(m, &data, 0), ERR_INPUT);
    assert_int_equal(gbdt_continue(m, &(struct model_data){rows, targets, NULL, N, P - 1}, 1), ERR_INPUT);
    assert_int_equal(gbdt_continue(m, &data, GBDT_MAX_TREES), ERR_LIMIT);
    gbdt_ops.fini(m);
    gbdt_ops.fini(fresh);
    assert_int_equal(gbdt_new(&m, 0, &o), ERR_OK);
    assert_int_equal(gbdt_continue(m, &data, 1), ERR_INPUT);
    gbdt_ops.fini(m);
}

static void going_on_without_sampling_is_the_longer_fit(void **state)
{
    const struct gbdt_options half = plain(25), whole = plain(50);
    float x[N], y[N];
    struct model *a, *b;

    (void)state;
    draw(8, 0.5);
    a = fitted(&half, 0);
    b = fitted(&whole, 0);
    assert_int_equal(gbdt_continue(a, &(struct model_data){rows, targets, NULL, N, P}, 25), ERR_OK);
    assert_int_equal(gbdt_ops.predict(a, rows, N, x, NULL), ERR_OK);
    assert_int_equal(gbdt_ops.predict(b, rows, N, y, NULL), ERR_OK);
    for (size_t i = 0; i < N; i++)
        assert_float_equal(x[i], y[i], 1e-4);
    gbdt_ops.fini(a);
    gbdt_ops.fini(b);
}

/* New targets move the scores by the new trees alone: one tree closes at most its rate of what is left, whatever the
 * new targets' mean is. */
static void going_on_moves_scores_by_what_the_new_trees_say(void **state)
{
    struct gbdt_options o = plain(20);
    float before[N], after[N], most = 0;
    struct model *m;

    (void)state;
    draw(9, 0);
    o.rate = 0.1;
    m = fitted(&o, 1);
    assert_int_equal(gbdt_ops.predict(m, rows, N, before, NULL), ERR_OK);
    for (size_t i = 0; i < N; i++) {
        targets[i] += 100;
        most = fmaxf(most, targets[i] - before[i]);
    }
    assert_int_equal(gbdt_continue(m, &(struct model_data){rows, targets, NULL, N, P}, 1), ERR_OK);
    assert_int_equal(gbdt_ops.predict(m, rows, N, after, NULL), ERR_OK);
    for (size_t i = 0; i < N; i++) {
        assert_true(after[i] > before[i]);
        assert_true(after[i] - before[i] < 1.001F * (float)o.rate * most);
    }
    gbdt_ops.fini(m);
}

static void threads_change_no_bit(void **state)
{
    enum { times = 100 };
    float *many = malloc(times * sizeof(rows)), *one = malloc(times * N * sizeof(float)),
          *four = malloc(times * N * sizeof(float));
    struct gbdt_options o = plain(100);
    struct model *m;

    (void)state;
    draw(9, 0.5);
    m = fitted(&o, 0);
    for (size_t i = 0; i < times; i++)
        memcpy(many + i * N * P, rows, sizeof(rows));
    assert_int_equal(gbdt_ops.predict(m, many, times * N, one, NULL), ERR_OK);
    gbdt_set_threads(m, 4);
    assert_int_equal(gbdt_ops.predict(m, many, times * N, four, NULL), ERR_OK);
    assert_memory_equal(one, four, times * N * sizeof(float));
    gbdt_ops.fini(m);
    free(many);
    free(one);
    free(four);
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
    assert_int_equal(gbdt_predict_coded(m, table, 0, 9, scores, NULL), ERR_OK);
    assert_true(scores[3] < 0.5f && scores[5] > 0.5f);
    gbdt_ops.fini(m);
    coded_free(table);
}

static void options_out_of_range_are_refused(void **state)
{
    struct gbdt_options o[7];
    struct model *m = NULL;

    (void)state;
    for (size_t i = 0; i < 7; i++)
        o[i] = plain(1);
    o[0].max_leaves = 1;
    o[1].max_leaves = 257;
    o[2].max_depth = 0;
    o[3].min_gain = (double)NAN;
    o[4].held_back = 1;
    o[5].loss = (enum gbdt_loss)3;
    o[6].n_trees = GBDT_MAX_TREES + 1;
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(gbdt_new(&m, 0, &o[i]), ERR_INPUT);
    assert_null(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaf_by_leaf_a_tree_has_at_most_max_leaves_and_fits_better_than_as_many_by_depth),
        cmocka_unit_test(trees_keep_within_their_depth),
        cmocka_unit_test(leaves_are_never_lighter_than_min_child),
        cmocka_unit_test(rankings_order_rows_and_put_failed_ones_last),
        cmocka_unit_test(squared_error_refuses_failed_rows_and_rankings_refuse_nan),
        cmocka_unit_test(training_ends_when_held_back_rows_gain_no_more),
        cmocka_unit_test(a_fit_that_goes_on_keeps_its_trees_and_lessens_the_loss),
        cmocka_unit_test(going_on_without_sampling_is_the_longer_fit),
        cmocka_unit_test(going_on_moves_scores_by_what_the_new_trees_say),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_threshold_stands_in_the_middle_of_codes_that_no_row_has),
        cmocka_unit_test(options_out_of_range_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
