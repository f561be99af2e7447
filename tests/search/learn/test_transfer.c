/* SPDX-License-Identifier: MIT */
#include "search/learn/transfer.h"
#include "search/learn/transfer_gp.h"

#include "core/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_X 8
#define N_Y 12
#define N_ALL (N_X * N_Y)

static const char *const names[] = {"tile", "unroll"};

/* All configs of a small kernel, tile 2^0..7 and unroll 1..12; a device likes one tile and one unroll. */
struct made {
    double knobs[N_ALL][2], values[N_ALL];
};

static struct made device(double tile, double unroll)
{
    struct made m;

    for (size_t i = 0; i < N_ALL; i++) {
        m.knobs[i][0] = (double)(1u << (i / N_Y));
        m.knobs[i][1] = (double)(1 + i % N_Y);
        m.values[i] = 0.3 * fabs(log2(m.knobs[i][0]) - tile) + 0.1 * fabs(m.knobs[i][1] - unroll);
    }
    return m;
}

static void shuffle(double *values, size_t n)
{
    struct rng rng;

    rng_init(&rng, 3);
    for (size_t i = n - 1; i > 0; i--) {
        const size_t j = rng_below(&rng, i + 1);
        const double x = values[i];

        values[i] = values[j];
        values[j] = x;
    }
}

static struct transfer *fresh(void)
{
    struct transfer *t = NULL;

    assert_int_equal(transfer_new(&t, names, 2, 1), ERR_OK);
    return t;
}

static void add(struct transfer *t, const struct made *m)
{
    struct why why = {""};
    const struct transfer_rows rows = {names, m->knobs[0], m->values, N_ALL, 2};

    if (transfer_add_source(t, "other device", &rows, &why))
        fail_msg("%s", why.text);
}

static float *columns_of(struct transfer *t, const struct made *m)
{
    float *columns = malloc(N_ALL * transfer_n_columns(t) * sizeof(*columns) + 1);

    assert_non_null(columns);
    assert_int_equal(transfer_columns(t, m->knobs[0], N_ALL, columns), ERR_OK);
    return columns;
}

/* Tells every step-th config of a target. */
static void tell(struct transfer *t, const struct made *m, const float *columns, size_t step)
{
    const size_t width = transfer_n_columns(t);
    double knobs[N_ALL][2], values[N_ALL];
    float *told = malloc(N_ALL * width * sizeof(*told) + 1);
    size_t n = 0;

    assert_non_null(told);
    for (size_t i = 0; i < N_ALL; i += step, n++) {
        memcpy(knobs[n], m->knobs[i], sizeof(knobs[n]));
        memcpy(told + n * width, columns + i * width, width * sizeof(*told));
        values[n] = m->values[i];
    }
    assert_int_equal(transfer_tell(t, knobs[0], told, values, n), ERR_OK);
    free(told);
}

static size_t least(const double *scores)
{
    size_t best = 0;

    for (size_t i = 1; i < N_ALL; i++)
        best = scores[i] < scores[best] ? i : best;
    return best;
}

static void the_source_alone_gives_its_own_order(void **state)
{
    const struct made m = device(3, 5);
    struct transfer *t = fresh();
    double ranks[N_ALL];
    float *columns;

    (void)state;
    add(t, &m);
    columns = columns_of(t, &m);
    assert_int_equal(transfer_rank(t, m.knobs[0], columns, N_ALL, NULL, NULL, ranks), ERR_OK);
    for (size_t i = 0; i < N_ALL; i++) {
        for (size_t j = 0; j < N_ALL; j++) {
            if (m.values[i] < m.values[j] - 1e-6)
                assert_true(ranks[i] < ranks[j]);
        }
    }
    free(columns);
    transfer_free(t);
}

static void knobs_are_found_by_name_whatever_their_order_and_case(void **state)
{
    static const char *const other[] = {"UNROLL", "vector", "Tile"};
    const struct made m = device(3, 5);
    double rows[N_ALL][3];
    float columns[N_ALL * 8];
    struct transfer *t = fresh();

    (void)state;
    for (size_t i = 0; i < N_ALL; i++) {
        rows[i][0] = m.knobs[i][1];
        rows[i][1] = 4;
        rows[i][2] = m.knobs[i][0];
    }
    assert_int_equal(transfer_add_source(t, "s", &(struct transfer_rows){other, rows[0], m.values, N_ALL, 3}, NULL),
                     ERR_OK);
    assert_true(transfer_n_columns(t) <= 8);
    assert_int_equal(transfer_columns(t, m.knobs[0], N_ALL, columns), ERR_OK);
    for (size_t i = 0; i < N_ALL; i++)
        assert_float_equal(columns[i * transfer_n_columns(t)], (float)m.values[i], 1e-6f);
    transfer_free(t);
}

static void configs_that_a_source_never_measured_are_ranked_by_a_model_of_it(void **state)
{
    const struct made m = device(5, 8);
    struct transfer *t = fresh();
    double knobs[N_ALL][2], values[N_ALL], inner = 0, outer = 0;
    size_t n = 0;
    float *columns;

    (void)state;
    for (size_t i = 0; i < N_ALL; i++) {
        if (i % 3 == 1)
            continue;
        memcpy(knobs[n], m.knobs[i], sizeof(knobs[n]));
        values[n++] = m.values[i];
    }
    assert_int_equal(transfer_add_source(t, "s", &(struct transfer_rows){names, knobs[0], values, n, 2}, NULL), ERR_OK);
    columns = columns_of(t, &m);
    for (size_t i = 1; i < N_ALL; i += 3) {
        assert_true(isnan(columns[i * transfer_n_columns(t) + 1])); /* no failures are known there */
        *(m.values[i] < 0.6 ? &inner : &outer) += (double)columns[i * transfer_n_columns(t)];
    }
    assert_true(inner < outer);
    free(columns);
    transfer_free(t);
}

static void failures_of_a_source_come_last_and_are_expected(void **state)
{
    struct made m = device(3, 5);
    struct transfer *t = fresh();
    struct transfer_score scores[N_ALL];
    double ranks[N_ALL];
    float *columns;

    (void)state;
    m.values[40] = NAN;
    add(t, &m);
    columns = columns_of(t, &m);
    assert_int_equal(transfer_rank(t, m.knobs[0], columns, N_ALL, NULL, NULL, ranks), ERR_OK);
    assert_int_equal(transfer_predict(t, m.knobs[0], columns, N_ALL, scores), ERR_OK);
    for (size_t i = 0; i < N_ALL; i++) {
        assert_true(i == 40 || ranks[i] < ranks[40]);
        assert_true(i == 40 || scores[i].p_fail < scores[40].p_fail);
    }
    assert_true(scores[40].p_fail > 0.5);
    free(columns);
    transfer_free(t);
}

static void a_right_source_is_trusted_and_a_shuffled_one_is_not(void **state)
{
    const struct made target = device(4, 6);
    struct made right = device(4, 5), wrong = device(4, 5);
    struct transfer *t = fresh();
    float *columns;

    (void)state;
    shuffle(wrong.values, N_ALL);
    add(t, &right);
    add(t, &wrong);
    columns = columns_of(t, &target);
    assert_float_equal(transfer_trust(t, 0), 1, 0);
    assert_float_equal(transfer_trust(t, 1), 1, 0);
    tell(t, &target, columns, 7);
    assert_true(transfer_trust(t, 0) > 0.7);
    assert_true(transfer_trust(t, 1) < 0.3);
    assert_true(transfer_trust(t, 0) <= 1 && transfer_trust(t, 1) >= 0);
    free(columns);
    transfer_free(t);
}

static void a_target_that_differs_is_learned_over_the_source(void **state)
{
    const struct made target = device(6, 3), source = device(2, 3);
    struct transfer *t = fresh();
    struct transfer_score scores[N_ALL];
    double means[N_ALL];
    float *columns;

    (void)state;
    add(t, &source);
    columns = columns_of(t, &target);
    tell(t, &target, columns, 3);
    assert_int_equal(transfer_predict(t, target.knobs[0], columns, N_ALL, scores), ERR_OK);
    for (size_t i = 0; i < N_ALL; i++)
        means[i] = scores[i].mean;
    assert_true(target.values[least(means)] < 0.25);
    free(columns);
    transfer_free(t);
}

static void deviations_are_least_where_something_was_told(void **state)
{
    const struct made target = device(4, 6);
    struct transfer *t = fresh();
    struct transfer_score scores[N_ALL];
    const float none[1] = {0};

    (void)state;
    assert_int_equal(transfer_tell(t, target.knobs[0], none, target.values, N_Y), ERR_OK); /* the least tile alone */
    assert_int_equal(transfer_predict(t, target.knobs[0], none, N_ALL, scores), ERR_OK);
    for (size_t i = 0; i < N_ALL; i++)
        assert_true(scores[i].sd > 0 && isfinite(scores[i].hope));
    assert_true(scores[3].mean - scores[3].hope < scores[N_ALL - 1].mean - scores[N_ALL - 1].hope);
    transfer_free(t);
}

static void a_doubted_source_leaves_the_ranking_to_the_model_without_it(void **state)
{
    const struct made target = device(4, 6);
    struct made wrong = device(4, 6);
    struct transfer *t = fresh();
    float *columns, without[N_ALL];
    double ranks[N_ALL];

    (void)state;
    shuffle(wrong.values, N_ALL);
    add(t, &wrong);
    columns = columns_of(t, &target);
    tell(t, &target, columns, 2);
    for (size_t i = 0; i < N_ALL; i++)
        without[i] = (float)target.values[i];
    assert_true(transfer_belief(t) < 0.2);
    assert_int_equal(transfer_rank(t, target.knobs[0], columns, N_ALL, NULL, without, ranks), ERR_OK);
    assert_true(target.values[least(ranks)] < 0.11);
    free(columns);
    transfer_free(t);
}

static bool is_in(const size_t *picks, size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++)
        if (picks[k] == i)
            return true;
    return false;
}

static void first_picks_take_turns_and_name_no_config_twice(void **state)
{
    const struct made a = device(1, 2), b = device(6, 11);
    struct transfer *t = fresh();
    size_t picks[N_ALL + 5], n = 0;
    double of_a = 1, of_b = 1;
    float *columns;

    (void)state;
    add(t, &a);
    add(t, &b);
    columns = columns_of(t, &a);
    assert_int_equal(transfer_first(t, columns, N_ALL, picks, N_ALL + 5, &n), ERR_OK);
    assert_int_equal(n, N_ALL);
    for (size_t i = 0; i < 3; i++) {
        of_a = fmin(of_a, a.values[picks[i]]);
        of_b = fmin(of_b, b.values[picks[i]]);
    }
    assert_float_equal(of_a, 0, 1e-9);
    assert_float_equal(of_b, 0, 1e-9);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            assert_true(picks[i] != picks[j]);
    }
    free(columns);
    transfer_free(t);
}

/* Three sources, each with a config that it alone finds best and next best, and one that all find good: theirs is the
 * first pick, then comes each source's own best, then the turns begin anew. */
static void the_first_of_several_picks_are_the_common_best_and_each_sources_own(void **state)
{
    static const size_t common = 50, best[3] = {3, 30, 90}, next[3] = {80, 10, 60};
    struct made m[3];
    struct transfer *t = fresh();
    size_t picks[8], n = 0;
    float *columns;

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        m[k] = device(0, 1);
        for (size_t i = 0; i < N_ALL; i++)
            m[k].values[i] = 3 + 0.001 * (double)i;
        m[k].values[common] = 0.2;
        m[k].values[best[k]] = 0;
        m[k].values[next[k]] = 0.1;
        add(t, &m[k]);
    }
    columns = columns_of(t, &m[0]);
    assert_int_equal(transfer_first(t, columns, N_ALL, picks, 8, &n), ERR_OK);
    assert_int_equal(n, 8);
    assert_int_equal(picks[0], common);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(picks[1 + k], best[k]);
        assert_int_equal(is_in(picks + 5, 3, next[k]), picks[4] != next[k]);
    }
    free(columns);
    transfer_free(t);
}

static void the_best_of_a_source_come_in_order_with_unknown_knobs_open(void **state)
{
    static const char *const tile[] = {"tile"};
    const double knobs[] = {8, 2, 4}, values[] = {0.5, (double)NAN, 0.1};
    struct transfer *t = fresh();
    double best[6];

    (void)state;
    assert_int_equal(transfer_add_source(t, "s", &(struct transfer_rows){tile, knobs, values, 3, 1}, NULL), ERR_OK);
    assert_int_equal(transfer_best_of(t, 0, 3, best), 2);
    assert_float_equal(best[0], 4, 0);
    assert_float_equal(best[2], 8, 0);
    assert_true(isnan(best[1]) && isnan(best[3]));
    transfer_free(t);
}

static void sources_of_no_use_are_refused_with_words(void **state)
{
    static const char *const other[] = {"a", "b"};
    const double knobs[] = {1, 2}, failed[] = {(double)NAN};
    struct transfer *t = fresh();
    struct why why = {""};

    (void)state;
    assert_int_equal(transfer_add_source(t, "x.csv", &(struct transfer_rows){other, knobs, knobs, 1, 2}, &why),
                     ERR_INPUT);
    assert_non_null(strstr(why.text, "x.csv: no knob in common"));
    assert_int_equal(transfer_add_source(t, "y.csv", &(struct transfer_rows){names, knobs, failed, 1, 2}, &why),
                     ERR_INPUT);
    assert_non_null(strstr(why.text, "y.csv: no row that ran"));
    assert_int_equal(transfer_n_sources(t), 0);
    transfer_free(t);
}

static void words_are_numbers_that_differ(void **state)
{
    (void)state;
    assert_true(transfer_word("hwc") == transfer_word("hwc"));
    assert_true(transfer_word("hwc") != transfer_word("chw"));
    assert_true(transfer_word("") > 4294967296.0); /* no value of a numeric knob */
}

static void more_measurements_than_the_process_takes_are_told_in_part(void **state)
{
    enum { N = 2 * GP_MAX_ROWS };
    double(*knobs)[2] = malloc(N * sizeof(*knobs)), *values = malloc(N * sizeof(*values));
    const double near[2] = {70, 3}, far[2] = {200, 3};
    const float none[1] = {0};
    struct transfer *t = fresh();
    struct transfer_score a, b;

    (void)state;
    assert_true(knobs && values);
    for (size_t i = 0; i < N; i++) {
        knobs[i][0] = 1 + (double)(i % 256);
        knobs[i][1] = 1 + (double)(i / 256);
        values[i] = fabs(log2(knobs[i][0] / 64));
    }
    assert_int_equal(transfer_tell(t, knobs[0], none, values, N), ERR_OK);
    assert_int_equal(transfer_predict(t, near, none, 1, &a), ERR_OK);
    assert_int_equal(transfer_predict(t, far, none, 1, &b), ERR_OK);
    assert_true(a.mean < b.mean);
    transfer_free(t);
    free(knobs);
    free(values);
}

static void a_process_goes_through_what_it_was_told(void **state)
{
    const float places[] = {-1, 0, 1, 2};
    const double targets[] = {-1, -.5, -.2, -.1}, priors[1] = {1};
    const bool words[] = {false};
    struct gp g;
    double mean[4], sd[4];

    (void)state;
    assert_int_equal(gp_fit(&g, &(struct gp_data){places, NULL, targets, words, priors, 4, 1, 0}), ERR_OK);
    assert_int_equal(gp_predict(&g, places, NULL, 4, mean, sd), ERR_OK);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(mean[i] - targets[i]) < 0.15);
    for (size_t i = 1; i < 4; i++)
        assert_true(mean[i] > mean[i - 1]);
    gp_fini(&g);
}

static void failures_alone_can_be_told(void **state)
{
    struct made m = device(3, 5);
    struct transfer *t = fresh();
    struct transfer_score scores[N_ALL];
    float *columns;

    (void)state;
    add(t, &m);
    columns = columns_of(t, &m);
    for (size_t i = 0; i < N_ALL; i++)
        m.values[i] = NAN;
    tell(t, &m, columns, 10);
    assert_int_equal(transfer_predict(t, m.knobs[0], columns, N_ALL, scores), ERR_OK);
    for (size_t i = 0; i < N_ALL; i++)
        assert_true(isfinite(scores[i].mean) && isfinite(scores[i].hope));
    free(columns);
    transfer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_source_alone_gives_its_own_order),
        cmocka_unit_test(knobs_are_found_by_name_whatever_their_order_and_case),
        cmocka_unit_test(configs_that_a_source_never_measured_are_ranked_by_a_model_of_it),
        cmocka_unit_test(failures_of_a_source_come_last_and_are_expected),
        cmocka_unit_test(a_right_source_is_trusted_and_a_shuffled_one_is_not),
        cmocka_unit_test(a_target_that_differs_is_learned_over_the_source),
        cmocka_unit_test(deviations_are_least_where_something_was_told),
        cmocka_unit_test(a_doubted_source_leaves_the_ranking_to_the_model_without_it),
        cmocka_unit_test(first_picks_take_turns_and_name_no_config_twice),
        cmocka_unit_test(the_first_of_several_picks_are_the_common_best_and_each_sources_own),
        cmocka_unit_test(the_best_of_a_source_come_in_order_with_unknown_knobs_open),
        cmocka_unit_test(sources_of_no_use_are_refused_with_words),
        cmocka_unit_test(words_are_numbers_that_differ),
        cmocka_unit_test(more_measurements_than_the_process_takes_are_told_in_part),
        cmocka_unit_test(a_process_goes_through_what_it_was_told),
        cmocka_unit_test(failures_alone_can_be_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
