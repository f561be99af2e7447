/* SPDX-License-Identifier: MIT */
/* Records of different runs: what may be compared, how sure it is, and that nobody wins who is no better. */
#include "sample.h"

#include "core/rng.h"
#include "logs/log.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define W "dense f32 m=1 n=1 k=1"

static const struct run_error floor_error = RUN_ERROR_FLOOR;

static struct sha256 hash_of(char digit)
{
    struct sha256 h = {""};

    memset(h.hex, digit, SHA256_HEX);
    return h;
}

static struct record timed(char program, double time_ns)
{
    return sample_timed(W, '1', "j1", "final", program, time_ns);
}

/* Timed against `anchor`, which took anchor_ns. */
static struct record anchored(char program, double time_ns, char anchor, double anchor_ns)
{
    struct record r = timed(program, time_ns);

    r.anchor.hash = hash_of(anchor);
    r.lnratio = log(time_ns / anchor_ns);
    r.anchor.n_samples = 3;
    r.anchor.samples_ns = malloc(3 * sizeof(double));
    if (!r.anchor.samples_ns)
        abort();
    r.anchor.samples_ns[0] = 0.5 * anchor_ns; /* one fast moment and one slow one */
    r.anchor.samples_ns[1] = 9 * anchor_ns;
    r.anchor.samples_ns[2] = anchor_ns;
    return r;
}

static struct comparison compare(struct record a, struct record b)
{
    const struct comparison c = compare_records(&a, &b, &floor_error);

    record_fini(&a);
    record_fini(&b);
    return c;
}

static void expect_gain(struct comparison c, enum compare_by by, double gain)
{
    assert_int_equal(c.by, by);
    if (!(fabs(c.gain - gain) < 1e-9))
        fail_msg("the gain is %g, expected %g", c.gain, gain);
}

/* The machine was half as fast when b was timed; the bridges are of two chains. */
static void ratios_to_one_program_are_compared_without_bridges(void **state)
{
    struct record a = anchored('a', 80, 'e', 100), b = anchored('b', 180, 'e', 200);

    (void)state;
    a.anchor.bridge = -1.5;
    expect_gain(compare(a, b), COMPARE_RATIO, log(0.9 / 0.8));
}

static void ratios_to_two_programs_say_nothing(void **state)
{
    (void)state;
    expect_gain(compare(anchored('a', 80, 'e', 100), anchored('b', 90, 'f', 50)), COMPARE_TIME, log(90.0 / 80));
    expect_gain(compare(anchored('a', 80, 'e', 100), timed('b', 90)), COMPARE_TIME, log(90.0 / 80));
}

/* As `tune recheck` measures: against the best itself. */
static void a_ratio_to_the_other_record_itself_is_taken(void **state)
{
    (void)state;
    expect_gain(compare(anchored('a', 110, 'b', 100), anchored('b', 90, 'e', 50)), COMPARE_RATIO, -log(1.1));
    expect_gain(compare(anchored('b', 90, 'e', 50), anchored('a', 110, 'b', 100)), COMPARE_RATIO, log(1.1));
}

static void one_program_is_one_kernel_whatever_it_took(void **state)
{
    const struct comparison c = compare(timed('a', 100), timed('a', 200));
    struct comparison other = compare(timed('a', 100), timed('b', 200));

    (void)state;
    assert_int_equal(c.by, COMPARE_PROGRAM);
    assert_true(comparison_ties(&c));
    assert_false(comparison_ties(&other));
    other = compare(anchored('a', 80, 'e', 100), anchored('a', 120, 'e', 100));
    assert_true(comparison_ties(&other));
}

/* By hand: 2 sqrt(2) .02 = 5.7 %, and .06 for times 17 %. */
static void the_error_between_runs_is_part_of_it(void **state)
{
    static const struct {
        double a, b; /* percent over 100 */
        bool is_timed, ties;
    } cases[] = {{100, 105.6, false, true}, {100, 106, false, false}, {106, 100, false, false},
                 {100, 118, true, true},    {100, 119, true, false},  {100, 100.5, false, true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct comparison c =
            cases[i].is_timed ? compare(timed('a', cases[i].a), timed('b', cases[i].b))
                              : compare(anchored('a', cases[i].a, 'e', 100), anchored('b', cases[i].b, 'e', 100));

        if (comparison_ties(&c) != cases[i].ties)
            fail_msg("case %zu: gain %g, margin %g", i, c.gain, comparison_margin(&c));
    }
}

/* By hand: what was timed against the other itself is one ratio, 2 * .02 = 4 %. */
static void in_one_batch_there_is_one_ratio_and_its_error(void **state)
{
    static const struct {
        double a;
        bool ties;
    } cases[] = {{96.2, true}, {95.9, false}, {103.9, true}, {104.2, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int swapped = 0; swapped < 2; swapped++) {
            const struct record a = anchored('a', cases[i].a, 'b', 100), b = timed('b', 250);
            const struct comparison c = swapped ? compare(b, a) : compare(a, b);

            if (comparison_ties(&c) != cases[i].ties)
                fail_msg("case %zu: gain %g, margin %g", i, c.gain, comparison_margin(&c));
        }
}

/* Where they have an anchor in common besides: b is a's anchor, and was timed against itself. */
static void one_batch_counts_before_an_anchor_in_common(void **state)
{
    for (int swapped = 0; swapped < 2; swapped++) {
        const struct record a = anchored('a', 95.9, 'b', 100), b = anchored('b', 100, 'b', 100);
        const struct comparison c = swapped ? compare(b, a) : compare(a, b);

        expect_gain(c, COMPARE_RATIO, swapped ? log(.959) : -log(.959));
        assert_false(comparison_ties(&c)); /* beyond 4 %; of two ratios it would have to be 5.7 % */
    }
    (void)state;
}

/* Of a chain of n ratios the variances add. */
static void the_error_of_a_chain_grows_with_its_root(void **state)
{
    struct record a = timed('a', 80), b = timed('b', 90), same = timed('a', 85);
    struct comparison c;

    (void)state;
    for (int n = 1; n <= 9; n++) {
        c = compare_along(&a, &b, 0.1, n, &floor_error);
        expect_gain(c, COMPARE_RATIO, 0.1);
        assert_true(fabs(c.error * c.error - n * 0.0004) < 1e-12);
    }
    c = compare_along(&a, &b, 0.1, 0, &floor_error);
    expect_gain(c, COMPARE_TIME, 0.1);
    assert_true(fabs(c.error * c.error - 2 * 0.0036) < 1e-12);
    c = compare_along(&a, &same, 0.1, 2, &floor_error);
    assert_true(comparison_ties(&c));
    record_fini(&a);
    record_fini(&b);
    record_fini(&same);
}

static struct record recorded(struct record r)
{
    r.device = cJSON_Parse("{\"api\":\"replay\",\"peak_gflops\":0}");
    r.se = 0;
    return r;
}

/* A recorded device repeats its times to the digit: between its runs there is no error. */
static void of_a_recorded_device_the_least_difference_counts(void **state)
{
    struct comparison c = compare(recorded(timed('a', 100)), recorded(timed('b', 100.1)));

    (void)state;
    expect_gain(c, COMPARE_TIME, log(1.001));
    assert_false(comparison_ties(&c));
    c = compare(recorded(anchored('a', 100, 'e', 90)), recorded(anchored('b', 100.1, 'e', 90)));
    assert_int_equal(c.by, COMPARE_RATIO);
    assert_false(comparison_ties(&c));
    c = compare(recorded(timed('a', 100)), recorded(timed('b', 100)));
    assert_true(comparison_ties(&c));
    c = compare(recorded(timed('a', 100)), timed('b', 110)); /* and a real one */
    assert_true(comparison_ties(&c));
}

/* Slots: 2 hypot(.03, .04) = 10 %. */
static void so_is_the_error_of_the_slots(void **state)
{
    struct record a = anchored('a', 100, 'e', 100), b = anchored('b', 109, 'e', 100);
    struct comparison c;

    (void)state;
    a.se = 0.03;
    b.se = 0.04;
    c = compare(a, b);
    assert_true(fabs(comparison_margin(&c) - 2 * sqrt(0.0025 + 2 * 0.02 * 0.02)) < 1e-9);
    assert_true(comparison_ties(&c));
}

/* The anchor took 30 % more: ratios may have moved by a third of it. */
static void a_machine_in_another_state_widens_the_interval(void **state)
{
    const struct comparison same = compare(anchored('a', 100, 'e', 100), anchored('b', 110, 'e', 100));
    const struct comparison other = compare(anchored('a', 100, 'e', 100), anchored('b', 143, 'e', 130));
    struct record slow = timed('a', 100), fast = timed('b', 125);
    struct comparison c;

    (void)state;
    assert_true(fabs(other.gain - same.gain) < 1e-9);
    assert_false(comparison_ties(&same));
    assert_true(comparison_ties(&other));
    assert_true(other.error > 0.08);
    slow.device = cJSON_Parse("{\"peak_gflops\":100}");
    fast.device = cJSON_Parse("{\"peak_gflops\":150}");
    c = compare(slow, fast);
    assert_true(comparison_ties(&c) && c.error > log(1.5));
}

static double *times(double low, double high)
{
    double *t = malloc(3 * sizeof *t);

    if (!t)
        abort();
    t[0] = t[1] = low;
    t[2] = high;
    return t;
}

/* By hand: one round of three that takes e times as long has a deviation of sqrt(2)/3 of ln. Beyond that a kernel that
 * takes 60 % more is told apart by time. */
static void a_machine_that_moves_within_a_batch_widens_the_interval(void **state)
{
    for (int which = 0; which < 5; which++) {
        struct record r[2] = {timed('a', 100), timed('b', 160)};
        struct record *one = &r[which / 2 % 2];
        double *t = times(100, 100 * (which < 4 ? 2.718281828459045 : 1));
        struct comparison c;

        if (which % 2) {
            free(one->samples_ns);
            one->samples_ns = t;
            one->n_samples = 3;
        } else {
            free(one->canary_ns);
            one->canary_ns = t;
            one->n_canary = 3;
        }
        c = compare_records(&r[0], &r[1], &floor_error);
        if (comparison_ties(&c) != (which < 4) ||
            !(fabs(c.error * c.error - 2 * 0.0036 - (which < 4 ? 2.0 / 9 : 0)) < 1e-5))
            fail_msg("case %d: error %g, margin %g", which, c.error, comparison_margin(&c));
        record_fini(&r[0]);
        record_fini(&r[1]);
    }
    (void)state;
}

static void what_was_searched_for_is_compared(void **state)
{
    struct record a = anchored('a', 100, 'e', 100), b = anchored('b', 50, 'e', 100);
    struct comparison c;

    (void)state;
    snprintf(a.objective, sizeof a.objective, "energy");
    snprintf(b.objective, sizeof b.objective, "energy");
    a.energy_j = 1;
    b.energy_j = 2;
    c = compare_records(&a, &b, &floor_error);
    record_fini(&a);
    record_fini(&b);
    expect_gain(c, COMPARE_TIME, log(2));
}

/* ---- estimates ---- */

static struct run_error estimated(int n_pairs, double change)
{
    struct run_errors s = {.n_time = 0};

    for (int i = 0; i < n_pairs; i++) {
        struct record a = anchored('a', 100, 'e', 100),
                      b = anchored('a', 100 * exp(i % 2 ? change : -change), 'e', 100);
        struct run_pair p = {.n_time = 0};

        b.ts_ms = 1;
        run_pair_add(&p, &a, &b);
        run_pair_add(&p, &a, &a); /* itself */
        run_errors_add(&s, &p);
        record_fini(&a);
        record_fini(&b);
    }
    return run_errors_of(&s);
}

/* Three pairs' worth of the floor where the programs tell more, ten where less, by hand. */
static void programs_that_were_measured_again_tell_the_error(void **state)
{
    (void)state;
    assert_true(fabs(estimated(0, 0).ratio - 0.02) < 1e-12);
    assert_true(fabs(estimated(0, 0).time - 0.06) < 1e-12);
    assert_true(fabs(estimated(6, 0.1).ratio - sqrt((3 * 0.02 * 0.02 + 6 * 0.005) / 9)) < 1e-9);
    assert_true(fabs(estimated(6, 0.1).time - sqrt((3 * 0.06 * 0.06 + 6 * 0.005) / 9)) < 1e-9);
    assert_true(fabs(estimated(6, 0.01).ratio - sqrt((10 * 0.02 * 0.02 + 6 * 0.00005) / 16)) < 1e-9);
    assert_true(estimated(150, 0.001).ratio < 0.02 / 3.9); /* a still device */
}

static void the_anchor_itself_tells_nothing_of_ratios(void **state)
{
    struct record a = anchored('e', 100, 'e', 100), b = anchored('e', 110, 'e', 110);
    struct run_pair p = {.n_time = 0};

    (void)state;
    b.ts_ms = 1;
    run_pair_add(&p, &a, &b);
    assert_int_equal(p.n_time, 1);
    assert_int_equal(p.n_ratio, 0);
    record_fini(&a);
    record_fini(&b);
}

/* ---- a machine as it was measured (docs/measuring.md) ---- */

#define N_KERNELS 6
#define N_TRIALS 200
#define PLACEMENT_LOW 0.008
#define PLACEMENT_HIGH 0.015
#define STATE 0.05  /* of ln time, between runs */
#define SLOPE 0.35  /* a ratio follows that much of it, at most */
#define SLOTS 0.002 /* se of 15 rounds */

static double normal(struct rng *r)
{
    return sqrt(-2 * log(1 - rng_unit(r))) * cos(6.283185307179586 * rng_unit(r));
}

struct machine {
    struct rng rng;
    double slope[N_KERNELS]; /* of each kernel */
    bool has_anchor;
};

/* One run: finals of six kernels in one state of the machine. Kernel 0 takes 100 * exp(-gain), the others 120 and more;
 * kernel 7 is the anchor. In a run of renamed programs the same kernels have other hashes. */
static void add_run(struct machine *m, struct best_set *set, const char *job, double gain, bool renamed, int64_t ts_ms)
{
    const double state = STATE * normal(&m->rng), anchor_ns = 200 * exp(state);

    for (int i = 0; i < N_KERNELS; i++) {
        const double placed = (PLACEMENT_LOW + (PLACEMENT_HIGH - PLACEMENT_LOW) * rng_unit(&m->rng)) * normal(&m->rng);
        const double ln =
            log(i ? 120 + 5 * i : 100 * exp(-gain)) + placed + (1 + m->slope[i]) * state + SLOTS * normal(&m->rng);
        struct record r = anchored((char)((renamed && i % 2 == 0 ? '6' : '0') + i), exp(ln), 'e', anchor_ns);

        snprintf(r.job, sizeof r.job, "%s", job);
        r.se = SLOTS;
        r.ts_ms = ts_ms + i;
        if (!m->has_anchor) {
            r.anchor.hash.hex[0] = '\0';
            r.lnratio = NAN;
        }
        assert_int_equal(best_add(set, &r), ERR_OK);
        record_fini(&r);
    }
}

static struct best_set *fresh(void)
{
    struct best_set *b = NULL;

    assert_int_equal(best_new(&b), ERR_OK);
    return b;
}

static struct machine machine(uint64_t seed, bool has_anchor)
{
    struct machine m = {.has_anchor = has_anchor};

    rng_init(&m.rng, seed);
    for (int i = 0; i < N_KERNELS; i++)
        m.slope[i] = has_anchor ? SLOPE * (2 * rng_unit(&m.rng) - 1) : 0;
    return m;
}

/* How many of the trials call two runs different, of which the second is better by `gain`. */
static int n_different(double gain, bool has_anchor, bool renamed, bool faster_only)
{
    int n = 0;

    for (uint64_t seed = 1; seed <= N_TRIALS; seed++) {
        struct machine m = machine(seed, has_anchor);
        struct best_set *a = fresh(), *b = fresh();
        struct run_error e;
        struct comparison c;

        add_run(&m, a, "j1", 0, false, 1000);
        add_run(&m, b, "j2", gain, renamed, 2000);
        e = best_error(a, b);
        c = compare_records(best_at(b, 0), best_at(a, 0), &e);
        n += !comparison_ties(&c) && (!faster_only || c.gain > 0);
        best_free(a);
        best_free(b);
    }
    return n;
}

static void identical_programs_are_called_different_in_five_of_a_hundred_at_the_most(void **state)
{
    const int by_ratio = n_different(0, true, true, false), by_time = n_different(0, false, true, false);

    (void)state;
    print_message("one kernel under two names called different in %d of %d by ratio, %d by time; under one name %d\n",
                  by_ratio, N_TRIALS, by_time, n_different(0, true, false, false));
    assert_in_range(by_ratio, 0, N_TRIALS / 20);
    assert_in_range(by_time, 0, N_TRIALS / 20);
    assert_int_equal(n_different(0, true, false, false), 0);
    assert_int_equal(n_different(0, false, false, false), 0);
}

static void what_is_a_tenth_faster_is_called_faster(void **state)
{
    const int n = n_different(0.1, true, true, true);

    (void)state;
    print_message("10 %% faster by ratio: seen in %d of %d; 30 %% by time: in %d\n", n, N_TRIALS,
                  n_different(0.3, false, true, true));
    assert_in_range(n, N_TRIALS * 9 / 10, N_TRIALS);
    assert_in_range(n_different(0.3, false, true, true), N_TRIALS * 9 / 10, N_TRIALS);
}

/* One kernel under two names, the one the anchor of the other's batch: both are placed anew, the machine is in one
 * state. */
static void in_one_batch_too_identical_programs_are_called_different_in_five_of_a_hundred(void **state)
{
    int n = 0, n_seen = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= N_TRIALS; seed++) {
        struct machine m = machine(seed, true);
        const double sd = PLACEMENT_LOW + (PLACEMENT_HIGH - PLACEMENT_LOW) * rng_unit(&m.rng);
        const double ln = sd * (normal(&m.rng) - normal(&m.rng)) + SLOTS * normal(&m.rng);
        struct comparison c = compare(anchored('a', 100 * exp(ln), 'b', 100), timed('b', 150));

        n += !comparison_ties(&c);
        c = compare(anchored('a', 100 * exp(ln - 0.08), 'b', 100), timed('b', 150));
        n_seen += !comparison_ties(&c) && c.gain > 0;
    }
    print_message("in one batch: called different in %d of %d; 8 %% faster seen in %d\n", n, N_TRIALS, n_seen);
    assert_in_range(n, 0, N_TRIALS / 20);
    assert_in_range(n_seen, N_TRIALS * 9 / 10, N_TRIALS);
}

/* Three runs of one kernel: the best is the record in the middle, in whatever order they come. */
static void the_best_of_several_runs_of_one_kernel_is_the_one_in_the_middle(void **state)
{
    static const double times[] = {67.5, 76.2, 71.7};

    (void)state;
    for (int first = 0; first < 3; first++)
        for (int second = 0; second < 3; second++) {
            const int order[] = {first, second, 3 - first - second};
            struct best_set *b = fresh();

            if (first == second) {
                best_free(b);
                continue;
            }
            for (int i = 0; i < 3; i++) { /* the disturbed run flatters the ratio */
                struct record r = anchored('a', times[order[i]], 'e', 200 + 200 * (times[order[i]] - 67.5) / 50);

                snprintf(r.job, sizeof r.job, "j%d", i);
                r.ts_ms = i + 1;
                assert_int_equal(best_add(b, &r), ERR_OK);
                record_fini(&r);
            }
            assert_true(best_at(b, 0)->time_ns == 71.7);
            best_free(b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_to_one_program_are_compared_without_bridges),
        cmocka_unit_test(ratios_to_two_programs_say_nothing),
        cmocka_unit_test(a_ratio_to_the_other_record_itself_is_taken),
        cmocka_unit_test(one_program_is_one_kernel_whatever_it_took),
        cmocka_unit_test(the_error_between_runs_is_part_of_it),
        cmocka_unit_test(in_one_batch_there_is_one_ratio_and_its_error),
        cmocka_unit_test(one_batch_counts_before_an_anchor_in_common),
        cmocka_unit_test(the_error_of_a_chain_grows_with_its_root),
        cmocka_unit_test(of_a_recorded_device_the_least_difference_counts),
        cmocka_unit_test(so_is_the_error_of_the_slots),
        cmocka_unit_test(a_machine_in_another_state_widens_the_interval),
        cmocka_unit_test(a_machine_that_moves_within_a_batch_widens_the_interval),
        cmocka_unit_test(what_was_searched_for_is_compared),
        cmocka_unit_test(programs_that_were_measured_again_tell_the_error),
        cmocka_unit_test(the_anchor_itself_tells_nothing_of_ratios),
        cmocka_unit_test(identical_programs_are_called_different_in_five_of_a_hundred_at_the_most),
        cmocka_unit_test(what_is_a_tenth_faster_is_called_faster),
        cmocka_unit_test(in_one_batch_too_identical_programs_are_called_different_in_five_of_a_hundred),
        cmocka_unit_test(the_best_of_several_runs_of_one_kernel_is_the_one_in_the_middle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
