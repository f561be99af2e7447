/* SPDX-License-Identifier: MIT */
/* The protocol "rounds-1" on synthetic devices: drift, noise and outliers that are known. */
#include "agent/timing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct timing_rules plain = {.rounds = 5,
                                          .rounds_near_best = 9,
                                          .min_calls = 3,
                                          .warmup = 1,
                                          .min_slot_ns = 5e6,
                                          .best_lnratio = NAN,
                                          .may_censor = true};

static void assert_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance)) {
        print_message("got %.9g, wanted %.9g +- %.3g\n", got, wanted, tolerance);
        fail();
    }
}

static void median_is_the_middle_or_the_mean_of_two(void **state)
{
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {7};

    (void)state;
    assert_near(timing_median(odd, 3), 3, 0);
    assert_near(timing_median(even, 4), 2.5, 0);
    assert_near(timing_median(one, 1), 7, 0);
}

/* Every candidate once; an anchor first, last, and never more than two candidates between anchors. */
static void a_plan_has_each_candidate_once_between_anchors(void **state)
{
    const int live[] = {0, 2, 3, 5, 7, 8, 11};
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (int n_live = 1; n_live <= 7; n_live++) {
        int plan[2 * TIMING_MAX_BATCH + 1], seen[16] = {0}, since = 2;
        const int n = timing_plan(&rng, live, n_live, true, plan);

        assert_int_equal(plan[0], TIMING_ANCHOR);
        assert_int_equal(plan[n - 1], TIMING_ANCHOR);
        for (int i = 0; i < n; i++) {
            since = plan[i] == TIMING_ANCHOR ? 0 : since + 1;
            assert_true(since <= 2);
            if (plan[i] != TIMING_ANCHOR)
                seen[plan[i]]++;
        }
        for (int i = 0; i < n_live; i++)
            assert_int_equal(seen[live[i]], 1);
        assert_int_equal(n, n_live + (n_live + 1) / 2 + 1);
    }
}

static void a_plan_without_an_anchor_is_a_permutation(void **state)
{
    const int live[] = {0, 1, 2};
    int first[3] = {0}, plan[7];
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(timing_plan(&rng, live, 3, false, plan), 3);
        first[plan[0]]++;
    }
    for (int i = 0; i < 3; i++)
        assert_true(first[i] > 850 && first[i] < 1150);
    assert_int_equal(timing_plan(&rng, live, 0, true, plan), 0);
}

static void a_slot_is_full_by_calls_and_time(void **state)
{
    (void)state;
    assert_false(timing_slot_full(&plain, 0, 0));
    assert_false(timing_slot_full(&plain, 3, 1e6)); /* three calls, too short */
    assert_false(timing_slot_full(&plain, 2, 9e6)); /* long enough, too few */
    assert_true(timing_slot_full(&plain, 3, 6e6));
    assert_true(timing_slot_full(&plain, 1, 11e6)); /* one long call is a slot */
    assert_true(timing_wants_warmup(&plain, 0));
    assert_true(timing_wants_warmup(&plain, 1e6));
    assert_false(timing_wants_warmup(&plain, 60e6));
}

static void the_anchor_is_interpolated_in_time(void **state)
{
    struct timing_series a = {.n = 2, .slots = {{100, exp(1)}, {200, exp(2)}}};

    (void)state;
    assert_near(timing_anchor_ln(&a, 150), 1.5, 1e-12);
    assert_near(timing_anchor_ln(&a, 125), 1.25, 1e-12);
    assert_near(timing_anchor_ln(&a, 0), 1, 1e-12);
    assert_near(timing_anchor_ln(&a, 900), 2, 1e-12);
    a.slots[1].at_ns = 100; /* two at the same time: no division by zero */
    assert_true(isfinite(timing_anchor_ln(&a, 100)));
}

static void slots_of_the_anchor_are_those_round_a_moment(void **state)
{
    static const struct {
        double at;
        int before, behind;
    } cases[] = {{150, 0, 1}, {200, 0, 1}, {201, 1, 2}, {50, 0, 0}, {900, 2, 2}};
    const struct timing_series a = {.n = 3, .slots = {{100, 11}, {200, 12}, {300, 13}}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct timing_slot got[2];

        timing_anchor_slots(&a, cases[i].at, got);
        assert_true(got[0].ns == a.slots[cases[i].before].ns && got[1].ns == a.slots[cases[i].behind].ns);
    }
}

/* Plays the protocol on a device whose speed drifts: candidate i takes truth[i] * anchor. */
struct device {
    struct rng rng;
    double now_ns, drift_per_s, noise;
    int outlier_every; /* one slot in so many is preempted: three times as long */
    int n_slots;
};

static double play_slot(struct device *d, double base_ns, struct timing_series *s)
{
    double calls[5], from = d->now_ns;

    d->n_slots++;
    for (int i = 0; i < 5; i++) {
        const double speed = 1 + d->drift_per_s * d->now_ns * 1e-9;
        double ns = base_ns * speed * (1 + d->noise * (rng_unit(&d->rng) - 0.5));

        if (d->outlier_every && d->n_slots % d->outlier_every == 0)
            ns *= 3;
        calls[i] = ns;
        d->now_ns += ns;
    }
    timing_add(s, 0.5 * (from + d->now_ns), calls, 5);
    return d->now_ns;
}

static void play(struct device *d, const double *truth, int n, int rounds, struct timing_value *out)
{
    static struct timing_series series[TIMING_MAX_BATCH], anchor;
    int live[TIMING_MAX_BATCH], plan[2 * TIMING_MAX_BATCH + 1];

    memset(series, 0, sizeof series);
    memset(&anchor, 0, sizeof anchor);
    for (int i = 0; i < n; i++)
        live[i] = i;
    for (int r = 0; r < rounds; r++) {
        const int n_plan = timing_plan(&d->rng, live, n, true, plan);

        for (int i = 0; i < n_plan; i++)
            play_slot(d, plan[i] < 0 ? 1e6 : 1e6 * truth[plan[i]], plan[i] < 0 ? &anchor : &series[plan[i]]);
    }
    for (int i = 0; i < n; i++)
        timing_estimate(&series[i], &anchor, &out[i]);
}

static void ratios_are_right_on_a_steady_device(void **state)
{
    const double truth[] = {0.5, 1, 1.02, 3};
    struct device d = {.now_ns = 1e9};
    struct timing_value v[4];

    (void)state;
    rng_init(&d.rng, 1);
    play(&d, truth, 4, 5, v);
    for (int i = 0; i < 4; i++) {
        assert_near(v[i].lnratio, log(truth[i]), 1e-9);
        assert_near(v[i].time_ns, 1e6 * truth[i], 1);
        assert_near(v[i].se, 0, 1e-9);
    }
}

/* 60 % a second: times double during the measurement, ratios do not move. */
static void ratios_survive_a_drift_that_doubles_times(void **state)
{
    const double truth[] = {0.9, 1, 1.05, 1.1, 1.5, 0.7, 0.8, 2};
    struct device d = {.drift_per_s = 3, .noise = 0.02};
    struct timing_value v[8];

    (void)state;
    rng_init(&d.rng, 2);
    play(&d, truth, 8, 5, v);
    for (int i = 0; i < 8; i++)
        assert_near(v[i].lnratio, log(truth[i]), 0.02);
}

static void ratios_survive_preempted_slots(void **state)
{
    const double truth[] = {0.9, 1, 1.05, 1.1};
    struct device d = {.noise = 0.02, .outlier_every = 13};
    struct timing_value v[4];

    (void)state;
    rng_init(&d.rng, 3);
    play(&d, truth, 4, 9, v);
    for (int i = 0; i < 4; i++)
        assert_near(v[i].lnratio, log(truth[i]), 0.03);
}

/* The standard error is one: about two thirds of estimates lie within it. */
static void se_covers_the_truth_as_often_as_it_should(void **state)
{
    const double truth[] = {0.9, 1.1};
    int within = 0, n = 0;
    struct device d = {.noise = 0.1};

    (void)state;
    rng_init(&d.rng, 4);
    for (int i = 0; i < 200; i++) {
        struct timing_value v[2];

        play(&d, truth, 2, 9, v);
        for (int j = 0; j < 2; j++, n++)
            within += fabs(v[j].lnratio - log(truth[j])) <= 2 * v[j].se;
    }
    print_message("within 2 se: %d of %d\n", within, n);
    assert_true(within > n * 3 / 4);
}

static void without_an_anchor_there_is_no_ratio(void **state)
{
    struct timing_series s = {.n = 3, .slots = {{1, 100}, {2, 110}, {3, 90}}};
    struct timing_value v;

    (void)state;
    timing_estimate(&s, NULL, &v);
    assert_true(isnan(v.lnratio));
    assert_near(v.time_ns, 100, 0);
    assert_true(v.se > 0 && v.se < 0.2);
}

static void gap_uses_the_ratio_where_both_have_one(void **state)
{
    const struct timing_value v = {.time_ns = 400, .lnratio = log(2)};
    const struct timing_value other = {.time_ns = 50, .lnratio = log(0.25)};
    struct timing_rules r = plain;

    (void)state;
    assert_true(isnan(timing_gap(&r, &v, NULL)));
    r.best_ns = 100;
    assert_near(timing_gap(&r, &v, NULL), log(4), 1e-12);
    r.best_lnratio = log(0.5);
    assert_near(timing_gap(&r, &v, NULL), log(4), 1e-12);
    assert_near(timing_gap(&r, &v, &other), log(8), 1e-12);
    r.bridge = 1; /* both of this batch move, the best known does not */
    assert_near(timing_gap(&r, &v, NULL), log(4) + 1, 1e-12);
}

/* Two of a batch have the same anchor: what lies between that anchor and the first one changes nothing between them. */
static void a_bridge_moves_a_whole_batch(void **state)
{
    static const double bridges[] = {-2, -0.5, 0, 1.5};
    const struct timing_value v = {.time_ns = 400, .lnratio = log(2)};
    const struct timing_value other = {.time_ns = 50, .lnratio = log(0.25)};
    struct timing_rules r = plain;

    (void)state;
    for (size_t i = 0; i < sizeof bridges / sizeof bridges[0]; i++) {
        r.bridge = bridges[i];
        assert_near(timing_gap(&r, &v, &other), log(8), 1e-12); /* 2 / 0.25 */
    }
    r.best_ns = 100;
    r.best_lnratio = log(0.5);
    r.bridge = -1; /* the batch's best is at ln 0.25 - 1, below ln 0.5 */
    assert_near(timing_gap(&r, &v, &other), log(8), 1e-12);
    r.bridge = 1; /* it is at ln 0.25 + 1, above it: the best known counts */
    assert_near(timing_gap(&r, &v, &other), log(4) + 1, 1e-12);
}

static void rounds_are_spent_where_they_tell(void **state)
{
    struct timing_rules r = plain;

    (void)state;
    assert_int_equal(timing_rounds_wanted(&r, log(1.05)), 9);
    assert_int_equal(timing_rounds_wanted(&r, log(0.5)), 9);
    assert_int_equal(timing_rounds_wanted(&r, log(1.5)), 5);
    assert_int_equal(timing_rounds_wanted(&r, NAN), 9);
    r.rounds = 15;
    assert_int_equal(timing_rounds_wanted(&r, 0), 15);
    assert_true(timing_censored(&r, log(3.1)));
    assert_false(timing_censored(&r, log(2.9)));
    assert_false(timing_censored(&r, NAN));
}

static void a_hopeless_first_call_is_enough(void **state)
{
    struct timing_rules r = plain;

    (void)state;
    assert_false(timing_hopeless(&r, 1e9)); /* no best known */
    r.best_ns = 10e6;
    assert_true(timing_hopeless(&r, 51e6));
    assert_false(timing_hopeless(&r, 49e6));
    r.best_ns = 1000;
    assert_false(timing_hopeless(&r, 1e6)); /* cheap enough to be measured properly */
}

static void finals_are_never_given_up(void **state)
{
    struct timing_rules r = plain;

    (void)state;
    r.best_ns = 10e6;
    assert_true(timing_hopeless(&r, 1e9) && timing_censored(&r, log(100)));
    r.may_censor = false;
    assert_false(timing_hopeless(&r, 1e9) || timing_censored(&r, log(100)));
}

static void a_full_series_drops_slots(void **state)
{
    static struct timing_series s;
    double call = 5;

    (void)state;
    for (int i = 0; i < TIMING_MAX_ANCHORS + 10; i++)
        timing_add(&s, i, &call, 1);
    assert_int_equal(s.n, TIMING_MAX_ANCHORS);
    assert_int_equal(s.calls, TIMING_MAX_ANCHORS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_is_the_middle_or_the_mean_of_two),
        cmocka_unit_test(a_plan_has_each_candidate_once_between_anchors),
        cmocka_unit_test(a_plan_without_an_anchor_is_a_permutation),
        cmocka_unit_test(a_slot_is_full_by_calls_and_time),
        cmocka_unit_test(the_anchor_is_interpolated_in_time),
        cmocka_unit_test(slots_of_the_anchor_are_those_round_a_moment),
        cmocka_unit_test(ratios_are_right_on_a_steady_device),
        cmocka_unit_test(ratios_survive_a_drift_that_doubles_times),
        cmocka_unit_test(ratios_survive_preempted_slots),
        cmocka_unit_test(se_covers_the_truth_as_often_as_it_should),
        cmocka_unit_test(without_an_anchor_there_is_no_ratio),
        cmocka_unit_test(gap_uses_the_ratio_where_both_have_one),
        cmocka_unit_test(a_bridge_moves_a_whole_batch),
        cmocka_unit_test(rounds_are_spent_where_they_tell),
        cmocka_unit_test(a_hopeless_first_call_is_enough),
        cmocka_unit_test(finals_are_never_given_up),
        cmocka_unit_test(a_full_series_drops_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
