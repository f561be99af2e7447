/* SPDX-License-Identifier: MIT */
#include "search/learn/judge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void is(double got, double expected)
{
    if (!(fabs(got - expected) < 1e-9))
        fail_msg("got %.12g, expected %.12g", got, expected);
}

/* Orders published with the recorded sets' definitions. */
static void rows_are_ordered_by_splitmix64(void **state)
{
    static const uint32_t first[10] = {3, 5, 7, 4, 1, 2, 8, 9, 6, 0}, second[10] = {6, 1, 7, 5, 4, 9, 8, 3, 2, 0};
    uint32_t order[10];

    (void)state;
    assert_int_equal(judge_order(order, 10, 0), ERR_OK);
    assert_memory_equal(order, first, sizeof order);
    assert_int_equal(judge_order(order, 10, 1), ERR_OK);
    assert_memory_equal(order, second, sizeof order);
}

static void a_perfect_ranking_has_full_marks(void **state)
{
    double times[200], out[N_MEASURES];
    float scores[200];

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        times[i] = 1 + (double)((i * 77) % 200);
        scores[i] = (float)times[i];
    }
    assert_int_equal(judge(times, scores, 200, INFINITY, out), ERR_OK);
    is(out[MEASURE_SPEARMAN], 1);
    is(out[MEASURE_RECALL1], 1);
    is(out[MEASURE_RECALL5], 1);
    is(out[MEASURE_REGRET1], 1);
    is(out[MEASURE_FAIL32], 0);
    is(out[MEASURE_FOUND32], 1);
}

static void measures_are_what_their_definitions_say(void **state)
{
    /* By score: 4, fails, 2, 1, 8. */
    const double times[] = {2, 8, NAN, 4, 1};
    const float scores[] = {.3f, .9f, .2f, .1f, .4f};
    double out[N_MEASURES];

    (void)state;
    assert_int_equal(judge(times, scores, 5, 3, out), ERR_OK);
    /* ok rows by time 1 2 4 8 have score ranks 2 1 0 3: 1 - 6 * (4 + 0 + 4 + 0) / (4 * 15) */
    is(out[MEASURE_SPEARMAN], 1 - 48.0 / 60);
    is(out[MEASURE_RECALL1], 0); /* the first one is not the fastest */
    is(out[MEASURE_REGRET1], 4);
    is(out[MEASURE_REGRET8], 1);
    is(out[MEASURE_FAIL32], 0.2);
    is(out[MEASURE_FOUND32], 1);
}

/* Of n rows 1 % and 5 % are rounded up; the model's first one is right, its others are the slowest. */
static void recall_is_over_as_many_rows_as_the_share_begins(void **state)
{
    static const struct {
        size_t n;
        double k1, k5;
    } cases[] = {{1, 1, 1}, {20, 1, 1}, {21, 1, 2}, {100, 1, 5}, {101, 2, 6}, {140, 2, 7}, {200, 2, 10}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double times[200], out[N_MEASURES];
        float scores[200];

        for (size_t k = 0; k < cases[i].n; k++) {
            times[k] = 1 + (double)k;
            scores[k] = k ? -(float)k : -1000;
        }
        assert_int_equal(judge(times, scores, cases[i].n, INFINITY, out), ERR_OK);
        is(out[MEASURE_RECALL1], 1 / cases[i].k1);
        is(out[MEASURE_RECALL5], 1 / cases[i].k5);
    }
}

static void a_first_pick_that_fails_counts_as_the_slowest(void **state)
{
    const double times[] = {2, NAN, 10};
    const float scores[] = {2, 1, 3};
    double out[N_MEASURES];

    (void)state;
    assert_int_equal(judge(times, scores, 3, INFINITY, out), ERR_OK);
    is(out[MEASURE_REGRET1], 5);
}

static void equal_scores_rank_by_row_and_correlate_with_nothing(void **state)
{
    const double times[] = {3, 1, 2};
    const float scores[] = {0, 0, 0};
    double out[N_MEASURES];

    (void)state;
    assert_int_equal(judge(times, scores, 3, INFINITY, out), ERR_OK);
    is(out[MEASURE_SPEARMAN], 0);
    is(out[MEASURE_REGRET1], 3);
}

/* Spearman's with ties: equal values share the mean of their ranks. By hand: ranks (0.5, 0.5, 2) and (0, 1, 2) have
 * covariance 1.5 and variances 1.5 and 2. */
static void tied_rows_share_the_mean_of_their_ranks(void **state)
{
    static const struct {
        double times[4];
        float scores[4];
        size_t n;
        double expected;
    } cases[] = {
        {{1, 2, 3}, {5, 5, 9}, 3, 0.86602540378443865},       /* 1.5 / sqrt(3) */
        {{7, 7, 8}, {1, 2, 3}, 3, 0.86602540378443865},       /* the times tie */
        {{1, 2, 3}, {5, 9, 9}, 3, 0.86602540378443865},       /* at the other end */
        {{1, 2, 3, 4}, {1, 1, 2, 2}, 4, 0.89442719099991588}, /* ranks 0.5, 0.5, 2.5, 2.5: 4 / sqrt(4 * 5) */
        {{2, 2, 1, 1}, {1, 1, 2, 2}, 4, -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double out[N_MEASURES];

        assert_int_equal(judge(cases[i].times, cases[i].scores, cases[i].n, INFINITY, out), ERR_OK);
        is(out[MEASURE_SPEARMAN], cases[i].expected);
    }
}

static void regrets_are_averaged_by_their_logarithms(void **state)
{
    const double values[] = {1, 4};

    (void)state;
    is(measure_mean(MEASURE_REGRET32, values, 2), 2);
    is(measure_mean(MEASURE_FOUND32, values, 2), 2);
    is(measure_mean(MEASURE_RECALL1, values, 2), 2.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_ordered_by_splitmix64),
        cmocka_unit_test(a_perfect_ranking_has_full_marks),
        cmocka_unit_test(measures_are_what_their_definitions_say),
        cmocka_unit_test(recall_is_over_as_many_rows_as_the_share_begins),
        cmocka_unit_test(a_first_pick_that_fails_counts_as_the_slowest),
        cmocka_unit_test(equal_scores_rank_by_row_and_correlate_with_nothing),
        cmocka_unit_test(tied_rows_share_the_mean_of_their_ranks),
        cmocka_unit_test(regrets_are_averaged_by_their_logarithms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
