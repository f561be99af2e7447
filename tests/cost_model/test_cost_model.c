/* SPDX-License-Identifier: MIT */
/* Facts about every cost model of the table, then about the trees alone. */
#include "cost_model/bins.h"
#include "cost_model/gbdt.h"
#include "cost_model/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_ROWS 400
#define N_FEATURES 5

struct sample {
    float rows[N_ROWS * N_FEATURES], targets[N_ROWS];
};

/* Knob-like features; a target with a product, a step and a slope; features 3 and 4 are noise and a constant. */
static void draw(struct sample *s, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (size_t i = 0; i < N_ROWS; i++) {
        float *row = s->rows + i * N_FEATURES;

        row[0] = (float)rng_below(&rng, 8);
        row[1] = (float)rng_below(&rng, 4);
        row[2] = (float)rng_unit(&rng);
        row[3] = (float)rng_below(&rng, 16);
        row[4] = 7;
        s->targets[i] = 0.3f * row[0] * row[1] + (row[2] > 0.5f ? 2.0f : 0.0f) + 0.5f * row[0];
    }
}

static struct model_data data_of(const struct sample *s, size_t n)
{
    return (struct model_data){s->rows, s->targets, NULL, n, N_FEATURES};
}

static double square_loss(const struct model_ops *ops, const struct model *m, const struct sample *s, size_t first,
                          size_t n)
{
    float scores[N_ROWS];
    double sum = 0;

    assert_int_equal(ops->predict(m, s->rows + first * N_FEATURES, n, scores, NULL), ERR_OK);
    for (size_t i = 0; i < n; i++)
        sum += pow((double)scores[i] - (double)s->targets[first + i], 2);
    return sum / (double)n;
}

static double variance(const float *values, size_t n)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        sum += (double)values[i];
        squares += (double)values[i] * (double)values[i];
    }
    return squares / (double)n - sum / (double)n * (sum / (double)n);
}

static struct model *fitted(const struct model_ops *ops, uint64_t seed, const struct model_data *data)
{
    struct model *m = NULL;

    assert_int_equal(ops->init(&m, seed), ERR_OK);
    assert_int_equal(ops->fit(m, data), ERR_OK);
    return m;
}

static void models_predict_rows_they_have_not_seen(void **state)
{
    static struct sample s;
    const struct model_data data = data_of(&s, 300);

    (void)state;
    draw(&s, 1);
    for (size_t i = 0; model_table[i]; i++) {
        struct model *m = fitted(model_table[i], 1, &data);
        const double loss = square_loss(model_table[i], m, &s, 300, 100), all = variance(s.targets + 300, 100);

        if (!(loss < 0.2 * all))
            fail_msg("%s: loss %g, variance %g", model_table[i]->name, loss, all);
        model_table[i]->fini(m);
    }
}

static void models_give_the_same_scores_for_the_same_seed_and_data(void **state)
{
    static struct sample s;
    const struct model_data data = data_of(&s, 200);

    (void)state;
    draw(&s, 2);
    for (size_t i = 0; model_table[i]; i++) {
        struct model *a = fitted(model_table[i], 5, &data), *b = fitted(model_table[i], 5, &data);
        float x[2][N_ROWS], y[2][N_ROWS];

        assert_int_equal(model_table[i]->predict(a, s.rows, N_ROWS, x[0], x[1]), ERR_OK);
        assert_int_equal(model_table[i]->predict(b, s.rows, N_ROWS, y[0], y[1]), ERR_OK);
        assert_memory_equal(x, y, sizeof(x));
        model_table[i]->fini(a);
        model_table[i]->fini(b);
    }
}

static void models_score_a_row_alike_alone_and_among_many(void **state)
{
    static struct sample s;
    const struct model_data data = data_of(&s, 150);

    (void)state;
    draw(&s, 3);
    for (size_t i = 0; model_table[i]; i++) {
        struct model *m = fitted(model_table[i], 0, &data);
        float all[N_ROWS], spread[N_ROWS], one, one_spread;

        assert_int_equal(model_table[i]->predict(m, s.rows, N_ROWS, all, spread), ERR_OK);
        for (size_t j = 0; j < N_ROWS; j += 37) {
            assert_int_equal(model_table[i]->predict(m, s.rows + j * N_FEATURES, 1, &one, &one_spread), ERR_OK);
            assert_memory_equal(&one, &all[j], sizeof(one));
            assert_memory_equal(&one_spread, &spread[j], sizeof(one));
            assert_true(one_spread >= 0);
        }
        assert_int_equal(model_table[i]->predict(m, s.rows, 0, all, spread), ERR_OK);
        model_table[i]->fini(m);
    }
}

static void models_of_constant_targets_answer_that_constant(void **state)
{
    static struct sample s;

    (void)state;
    draw(&s, 4);
    for (size_t i = 0; i < N_ROWS; i++)
        s.targets[i] = -3.25f;
    for (size_t i = 0; model_table[i]; i++) {
        for (size_t n = 1; n <= 64; n *= 8) { /* one row too */
            const struct model_data data = data_of(&s, n);
            struct model *m = fitted(model_table[i], 0, &data);
            float scores[N_ROWS], spread[N_ROWS];

            assert_int_equal(model_table[i]->predict(m, s.rows, N_ROWS, scores, spread), ERR_OK);
            for (size_t j = 0; j < N_ROWS; j++) {
                assert_float_equal(scores[j], -3.25, 1e-5);
                assert_float_equal(spread[j], 0, 1e-5);
            }
            model_table[i]->fini(m);
        }
    }
}

static void importances_sum_to_one_and_favour_what_matters(void **state)
{
    static struct sample s;
    const struct model_data data = data_of(&s, N_ROWS);

    (void)state;
    draw(&s, 5);
    for (size_t i = 0; model_table[i]; i++) {
        struct model *m = fitted(model_table[i], 0, &data);
        float share[N_FEATURES];
        double sum = 0;

        assert_int_equal(model_table[i]->importance(m, share), ERR_OK);
        for (size_t j = 0; j < N_FEATURES; j++) {
            assert_true(share[j] >= 0);
            sum += (double)share[j];
        }
        assert_float_equal(sum, 1, 1e-5);
        assert_true(share[0] > share[3] && share[1] > share[3] && share[2] > share[3]);
        assert_true(share[4] == 0);
        model_table[i]->fini(m);
    }
}

/* Features that tell nothing, or what one before them tells, stand between and behind those that count: the shares are
 * told of the latter, in their places. */
static void importance_is_of_the_feature_that_has_it(void **state)
{
    enum { N = 64, CONSTANT = 0, LARGE, LARGE_AGAIN, MISSING, SMALL, N_OF_ROW };
    static float rows[N * N_OF_ROW], targets[N];
    const struct model_data data = {rows, targets, NULL, N, N_OF_ROW};
    struct model *m;
    float share[N_OF_ROW];

    (void)state;
    for (int i = 0; i < N; i++) { /* each of 8 x 8 pairs once */
        float *row = rows + (ptrdiff_t)i * N_OF_ROW;

        row[CONSTANT] = 3;
        row[LARGE] = (float)(i % 8);
        row[LARGE_AGAIN] = (float)(1 << i % 8);
        row[MISSING] = NAN;
        row[SMALL] = (float)(i / 8);
        targets[i] = 4 * row[LARGE] + row[SMALL];
    }
    m = fitted(&gbdt_ops, 0, &data);
    assert_int_equal(gbdt_ops.importance(m, share), ERR_OK);
    assert_true(share[CONSTANT] == 0 && share[LARGE_AGAIN] == 0 && share[MISSING] == 0);
    assert_true(share[LARGE] > 0.8f && share[SMALL] > 0.01f); /* of the variance: 16/17 and 1/17 */
    gbdt_ops.fini(m);
}

static void expect_fit(const struct model_ops *ops, const struct model_data *data, enum err expected)
{
    struct model *m = NULL;

    assert_int_equal(ops->init(&m, 0), ERR_OK);
    assert_int_equal(ops->fit(m, data), expected);
    ops->fini(m);
}

static void models_refuse_data_that_cannot_be_fitted(void **state)
{
    float row[2] = {1, 2}, target = 1, nan_target = NAN, infinite = INFINITY, zero = 0, negative = -1;

    (void)state;
    for (size_t i = 0; model_table[i]; i++) {
        const struct model_ops *ops = model_table[i];

        expect_fit(ops, &(struct model_data){row, &target, NULL, 0, 2}, ERR_INPUT);
        expect_fit(ops, &(struct model_data){row, &target, NULL, 1, 0}, ERR_INPUT);
        expect_fit(ops, &(struct model_data){row, &nan_target, NULL, 1, 2}, ERR_INPUT);
        expect_fit(ops, &(struct model_data){row, &infinite, NULL, 1, 2}, ERR_INPUT);
        expect_fit(ops, &(struct model_data){row, &target, &zero, 1, 2}, ERR_INPUT);
        expect_fit(ops, &(struct model_data){row, &target, &negative, 1, 2}, ERR_INPUT);
        expect_fit(ops, &(struct model_data){row, &target, NULL, 1, 1u << 20}, ERR_LIMIT);
        expect_fit(ops, &(struct model_data){row, &target, NULL, 1, 2}, ERR_OK);
        ops->fini(NULL);
    }
}

static void models_without_a_fit_predict_nothing_and_keep_the_old_fit_after_a_bad_one(void **state)
{
    static struct sample s;
    const struct model_data data = data_of(&s, 100), bad = data_of(&s, 0);

    (void)state;
    draw(&s, 6);
    for (size_t i = 0; model_table[i]; i++) {
        struct model *m = NULL;
        float before[8], after[8];

        assert_int_equal(model_table[i]->init(&m, 0), ERR_OK);
        assert_int_equal(model_table[i]->predict(m, s.rows, 8, before, NULL), ERR_INPUT);
        assert_int_equal(model_table[i]->importance(m, before), ERR_INPUT);
        assert_int_equal(model_table[i]->fit(m, &data), ERR_OK);
        assert_int_equal(model_table[i]->predict(m, s.rows, 8, before, NULL), ERR_OK);
        assert_int_equal(model_table[i]->fit(m, &bad), ERR_INPUT);
        assert_int_equal(model_table[i]->predict(m, s.rows, 8, after, NULL), ERR_OK);
        assert_memory_equal(before, after, sizeof(before));
        model_table[i]->fini(m);
    }
}

static void models_take_missing_and_infinite_features(void **state)
{
    static struct sample s;
    const struct model_data data = data_of(&s, 300);

    (void)state;
    draw(&s, 7);
    for (size_t i = 0; i < N_ROWS; i++) {
        s.rows[i * N_FEATURES + 3] = NAN;
        s.rows[i * N_FEATURES + 4] = i % 3 == 0 ? INFINITY : -INFINITY;
    }
    for (size_t i = 0; model_table[i]; i++) {
        struct model *m = fitted(model_table[i], 0, &data);
        const double loss = square_loss(model_table[i], m, &s, 300, 100);

        assert_true(isfinite(loss) && loss < 0.2 * variance(s.targets + 300, 100));
        model_table[i]->fini(m);
    }
}

static void models_are_found_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; model_table[i]; i++)
        assert_ptr_equal(model_find(model_table[i]->name), model_table[i]);
    assert_ptr_equal(model_table[0], model_find("gbdt"));
    assert_null(model_find("oracle"));
}

/* The trees alone. */

static struct gbdt_options plain(size_t n_trees)
{
    struct gbdt_options o = gbdt_defaults();

    o.n_forests = 1;
    o.n_trees = n_trees;
    o.row_share = o.column_share = 1;
    return o;
}

static double training_loss(const struct sample *s, const struct gbdt_options *o, uint64_t seed)
{
    const struct model_data data = data_of(s, N_ROWS);
    struct model *m = NULL;
    double loss;

    assert_int_equal(gbdt_new(&m, seed, o), ERR_OK);
    assert_int_equal(gbdt_ops.fit(m, &data), ERR_OK);
    loss = square_loss(&gbdt_ops, m, s, 0, N_ROWS);
    gbdt_ops.fini(m);
    return loss;
}

static void each_tree_lessens_the_training_loss(void **state)
{
    static struct sample s;
    double before = INFINITY;

    (void)state;
    draw(&s, 8);
    for (size_t n_trees = 1; n_trees <= 64; n_trees *= 2) {
        const struct gbdt_options o = plain(n_trees);
        const double loss = training_loss(&s, &o, 0);

        assert_true(loss < before);
        before = loss;
    }
    assert_true(before < 0.01 * variance(s.targets, N_ROWS));
}

static void missing_values_go_to_the_side_that_fits_them(void **state)
{
    enum { n = 90 };
    float rows[n], targets[n];
    struct gbdt_options o = plain(200);

    (void)state;
    for (size_t i = 0; i < n; i++) { /* low: 0, high: 1, missing: 5, then missing: -5 */
        rows[i] = i % 3 == 2 ? NAN : (float)(i % 3);
        targets[i] = i % 3 == 2 ? 5.0f : (float)(i % 3);
    }
    for (int turn = 0; turn < 2; turn++) {
        const float asked[3] = {0, 1, NAN};
        float scores[3];
        struct model *m = NULL;

        assert_int_equal(gbdt_new(&m, 0, &o), ERR_OK);
        assert_int_equal(gbdt_ops.fit(m, &(struct model_data){rows, targets, NULL, n, 1}), ERR_OK);
        assert_int_equal(gbdt_ops.predict(m, asked, 3, scores, NULL), ERR_OK);
        assert_float_equal(scores[0], 0, 0.02);
        assert_float_equal(scores[1], 1, 0.02);
        assert_float_equal(scores[2], turn == 0 ? 5 : -5, 0.02);
        gbdt_ops.fini(m);
        for (size_t i = 2; i < n; i += 3)
            targets[i] = -5;
    }
}

static void rows_of_more_weight_pull_harder(void **state)
{
    const float rows[4] = {1, 1, 2, 2}, targets[4] = {0, 1, 4, 4}, weights[4] = {9, 1, 5, 5};
    struct gbdt_options o = plain(300);
    struct model *m = NULL;
    float scores[4];

    (void)state;
    o.l2 = 0;
    assert_int_equal(gbdt_new(&m, 0, &o), ERR_OK);
    assert_int_equal(gbdt_ops.fit(m, &(struct model_data){rows, targets, weights, 4, 1}), ERR_OK);
    assert_int_equal(gbdt_ops.predict(m, rows, 4, scores, NULL), ERR_OK);
    assert_float_equal(scores[0], 0.1, 1e-3);
    assert_float_equal(scores[2], 4, 1e-3);
    gbdt_ops.fini(m);
}

static void seeds_make_different_forests_and_these_disagree(void **state)
{
    static struct sample s;
    const struct model_data data = data_of(&s, 60);
    struct model *a, *b;
    float x[N_ROWS], y[N_ROWS], spread[N_ROWS];
    double sum = 0;

    (void)state;
    draw(&s, 9);
    a = fitted(&gbdt_ops, 1, &data);
    b = fitted(&gbdt_ops, 2, &data);
    assert_int_equal(gbdt_ops.predict(a, s.rows, N_ROWS, x, spread), ERR_OK);
    assert_int_equal(gbdt_ops.predict(b, s.rows, N_ROWS, y, NULL), ERR_OK);
    assert_memory_not_equal(x, y, sizeof(x));
    for (size_t i = 0; i < N_ROWS; i++)
        sum += (double)spread[i];
    assert_true(sum > 0);
    gbdt_ops.fini(a);
    gbdt_ops.fini(b);
}

static void gbdt_refuses_options_out_of_range(void **state)
{
    struct gbdt_options o[8];
    struct model *m = NULL;

    (void)state;
    for (size_t i = 0; i < 8; i++)
        o[i] = gbdt_defaults();
    o[0].n_forests = 0;
    o[1].n_trees = 0;
    o[2].max_depth = 9;
    o[3].rate = 0;
    o[4].row_share = 1.5;
    o[5].column_share = -1;
    o[6].l2 = (double)NAN;
    o[7].min_child = 0;
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(gbdt_new(&m, 0, &o[i]), ERR_INPUT);
    assert_null(m);
}

static void bins_keep_order_and_merge_columns_that_say_the_same(void **state)
{
    enum { n = 2000 };
    static float rows[n * 4];
    uint8_t again[20];
    struct bins b;
    uint8_t *codes = NULL;

    (void)state;
    for (size_t i = 0; i < n; i++) { /* many values; its log2; a constant; two values */
        rows[i * 4] = (float)(i + 1);
        rows[i * 4 + 1] = log2f((float)(i + 1));
        rows[i * 4 + 2] = 3;
        rows[i * 4 + 3] = (float)(i % 2);
    }
    assert_int_equal(bins_fit(&b, rows, n, 4, &codes), ERR_OK);
    assert_int_equal(b.n_columns, 2);
    assert_int_equal(b.columns[1].i_feature, 3);
    for (size_t i = 1; i < n; i++)
        assert_true(codes[i] >= codes[i - 1] && codes[i] >= 1 && codes[i] <= BINS_MAX);
    assert_true(codes[n - 1] > 200);
    for (size_t i = 0; i < n; i++) {
        const struct bin_column *c = &b.columns[0];

        assert_int_equal(bins_code(c, rows[i * 4]), codes[i]);
        assert_true(c->low[codes[i]] <= rows[i * 4] && rows[i * 4] <= c->high[codes[i]]);
    }
    for (size_t i = 0; i < 10; i++)
        rows[i * 4] = NAN;
    bins_code_column(&b, 0, rows, 20, again);
    assert_int_equal(again[0], BINS_MISSING);
    assert_int_equal(again[15], codes[15]);
    free(codes);
    bins_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_predict_rows_they_have_not_seen),
        cmocka_unit_test(models_give_the_same_scores_for_the_same_seed_and_data),
        cmocka_unit_test(models_score_a_row_alike_alone_and_among_many),
        cmocka_unit_test(models_of_constant_targets_answer_that_constant),
        cmocka_unit_test(importances_sum_to_one_and_favour_what_matters),
        cmocka_unit_test(importance_is_of_the_feature_that_has_it),
        cmocka_unit_test(models_refuse_data_that_cannot_be_fitted),
        cmocka_unit_test(models_without_a_fit_predict_nothing_and_keep_the_old_fit_after_a_bad_one),
        cmocka_unit_test(models_take_missing_and_infinite_features),
        cmocka_unit_test(models_are_found_by_name),
        cmocka_unit_test(each_tree_lessens_the_training_loss),
        cmocka_unit_test(missing_values_go_to_the_side_that_fits_them),
        cmocka_unit_test(rows_of_more_weight_pull_harder),
        cmocka_unit_test(seeds_make_different_forests_and_these_disagree),
        cmocka_unit_test(gbdt_refuses_options_out_of_range),
        cmocka_unit_test(bins_keep_order_and_merge_columns_that_say_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
