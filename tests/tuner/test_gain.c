/* SPDX-License-Identifier: MIT */
/* Facts about the expected gain of further trials, and about when a search stops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/rng.h"
#include "tuner/gain.h"
#include "tuner/stop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double draw(struct rng *rng)
{
    return -log(1 - rng_unit(rng)) * 0.2; /* exponential above 0: a tail that ends there */
}

static void expected_gain_of_independent_draws_is_of_the_size_of_the_real_one(void **state)
{
    double expected = 0, real = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct gain g = {.n = 0};
        double best = INFINITY, later;
        struct rng rng;

        rng_init(&rng, seed);
        for (int i = 0; i < 40; i++) {
            const double v = draw(&rng);

            gain_add(&g, -1 / (1 + v)); /* values fall towards -1 */
            best = fmin(best, -1 / (1 + v));
        }
        expected += gain_expected(&g, 0, 100) / 200;
        later = best;
        for (int i = 0; i < 100; i++)
            later = fmin(later, -1 / (1 + draw(&rng)));
        real += (best - later) / 200;
    }
    if (expected > 6 * real || expected < real / 6)
        fail_msg("expected %g, real %g", expected, real);
}

static void expected_gain_falls_while_nothing_improves(void **state)
{
    struct gain g = {.n = 0};
    double before, idle;

    (void)state;
    for (int i = 0; i < 10; i++)
        gain_add(&g, 1.0 - 0.02 * i);
    before = gain_expected(&g, 0, 100);
    for (int i = 0; i < 90; i++) {
        gain_add(&g, 1.0);
        assert_true(gain_expected(&g, 0, 100) > 0);
    }
    idle = gain_expected(&g, 0, 100);
    assert_true(idle < before / 2);
    gain_add(&g, 0.3); /* a great step: more may come */
    assert_true(gain_expected(&g, 0, 100) > 3 * idle);
}

static void gains_ahead_add_up_and_grow_smaller(void **state)
{
    struct gain g = {.n = 0};
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < 30; i++)
        gain_add(&g, i % 5 == 0 ? (double)NAN : draw(&rng));
    assert_int_equal(g.n, 30);
    assert_float_equal(gain_expected(&g, 0, 0), 0, 0);
    assert_true(fabs(gain_expected(&g, 0, 8) + gain_expected(&g, 8, 8) - gain_expected(&g, 0, 16)) < 1e-12);
    assert_true(gain_expected(&g, 8, 8) < gain_expected(&g, 0, 8));
    assert_true(gain_expected(&g, 0, 1e9) < 1);
}

static void nothing_is_expected_of_what_is_not_known(void **state)
{
    struct gain g = {.n = 0};

    (void)state;
    assert_true(isnan(gain_expected(&g, 0, 100)));
    for (int i = 0; i < 50; i++)
        gain_add(&g, (double)NAN);
    assert_true(isnan(gain_expected(&g, 0, 100)));
    gain_add(&g, 1);
    assert_false(isnan(gain_expected(&g, 0, 100)));
    for (int i = 0; i < 3 * GAIN_RECORDS; i++) /* more records than it remembers */
        gain_add(&g, 1 - 0.01 * i);
    assert_true(gain_expected(&g, 0, 100) > 0.01);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* What gain.h says, from the whole list of values at once; NAN = failed. */
static double expected_of(const double *values, size_t n, double ahead, double n_more)
{
    double ok[256], drops[256], best = INFINITY, excess = 0, size, rate, n_recent = 0, n_drops = 0;
    size_t at[256], n_ok = 0, n_records = 0, from = n / 4 > 0 ? n / 4 : 1;

    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i]))
            continue;
        ok[n_ok++] = values[i];
        if (values[i] < best && n_ok > 1) {
            at[n_records] = i;
            drops[n_records++] = best - values[i];
        }
        best = fmin(best, values[i]);
    }
    if (n < 4 || n_ok == 0)
        return (double)NAN;
    qsort(ok, n_ok, sizeof *ok, by_size);
    if (n_ok > GAIN_TOP + 1)
        n_ok = GAIN_TOP + 1;
    for (size_t i = 0; i + 1 < n_ok; i++)
        excess += (ok[n_ok - 1] - ok[i]) / (double)(n_ok - 1);
    size = excess;
    for (size_t i = n_records; i-- > 0 && at[i] >= from && n_records - i <= GAIN_RECORDS;) {
        n_recent++;
        if (n_drops < 3) {
            size += drops[i];
            n_drops++;
        }
    }
    size /= (1 + n_drops) * log(2);
    rate = (1 + n_recent) / (1 + log((double)n / (double)from));
    return size * (pow(2, -rate * log(1 + ahead / (double)n)) - pow(2, -rate * log(1 + (ahead + n_more) / (double)n)));
}

static void the_estimate_is_what_the_formula_gives_of_all_values(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 4);
    for (int round = 0; round < 60; round++) {
        const double slope = round % 3 == 0 ? 0.05 : 0; /* one in three learns: more records than the ring has */
        struct gain g = {.n = 0};
        double values[256];

        for (size_t i = 0; i < 200; i++) {
            const double wanted = expected_of(values, i, 7, 20), got = gain_expected(&g, 7, 20);

            if (isnan(wanted) != isnan(got) || fabs(wanted - got) > 1e-9)
                fail_msg("round %d, after %zu: %g, expected %g", round, i, got, wanted);
            values[i] = rng_below(&rng, 5) == 0 ? (double)NAN : draw(&rng) - slope * (double)i;
            gain_add(&g, values[i]);
        }
    }
}

static void a_target_is_a_rate_or_a_time(void **state)
{
    static const char *const bad[] = {"",       "500",         "GFLOPS", "-3ms", "0us", "1.2 parsecs",
                                      "nan ms", "1e999GFLOPS", "5msx"};
    double gflops = -1, ns = -1;
    struct why why = {""};

    (void)state;
    assert_int_equal(stop_parse_target("1.5TFLOPS", &gflops, &ns, &why), ERR_OK);
    assert_float_equal(gflops, 1500, 1e-9);
    assert_float_equal(ns, 0, 0);
    assert_int_equal(stop_parse_target("80 us", &gflops, &ns, &why), ERR_OK);
    assert_float_equal(gflops, 0, 0);
    assert_float_equal(ns, 80000, 1e-6);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        why.text[0] = '\0';
        assert_int_equal(stop_parse_target(bad[i], &gflops, &ns, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, "--target"));
    }
}

static void a_least_gain_is_a_percentage(void **state)
{
    static const char *const bad[] = {"", "1", "0%", "100%", "-1%", "%", "nan%", "1%%", "0.01 x"};
    double share = -1;
    struct why why = {""};

    (void)state;
    assert_int_equal(stop_parse_gain("0.5 %", &share, &why), ERR_OK);
    assert_float_equal(share, 0.005, 1e-12);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(stop_parse_gain(bad[i], &share, &why), ERR_INPUT);
}

static void each_limit_ends_a_search_with_its_own_words(void **state)
{
    struct measured best = {.record = {.time_ns = 1e6, .flops = 5e8}}; /* 500 GFLOPS */
    struct task t = {.all = &best, .i_best = 0, .n_counted = 40, .since_better = 9};
    struct job j;
    struct buf said;

    (void)state;
    job_init(&j);
    buf_init(&said, 4096);
    for (int i = 0; i < 40; i++)
        gain_add(&t.gain, i < 2 ? 2 - i : 1);
    assert_int_equal(stop_reason_of(&j, &t, 1, false), STOP_NONE);
    assert_int_equal(stop_reason_of(&j, &t, 0, false), STOP_TRIALS);
    assert_int_equal(stop_reason_of(&j, &t, 1, true), STOP_TIME);
    j.early_stopping = 10;
    assert_int_equal(stop_reason_of(&j, &t, 1, false), STOP_NONE);
    t.since_better = 10;
    assert_int_equal(stop_reason_of(&j, &t, 1, false), STOP_PATIENCE);
    j.target_gflops = 501;
    j.target_ns = 0.9e6;
    assert_int_not_equal(stop_reason_of(&j, &t, 1, false), STOP_TARGET);
    j.target_gflops = 499;
    assert_int_equal(stop_reason_of(&j, &t, 1, false), STOP_TARGET);
    j.target_gflops = 0;
    j.target_ns = 1e6;
    assert_int_equal(stop_reason_of(&j, &t, 1, false), STOP_TARGET);
    j.target_ns = 0;
    j.early_stopping = 0;
    j.min_gain = 0.99;
    assert_int_equal(stop_reason_of(&j, &t, 1, false), STOP_GAIN);
    t.stop = STOP_GAIN;
    stop_words(&j, &t, &said);
    assert_non_null(strstr(buf_text(&said), "stopped: expected gain of the next 100 trials "));
    assert_non_null(strstr(buf_text(&said), " % < 99 %"));
    assert_null(strstr(buf_text(&said), "e+")); /* plain numbers */
    buf_clear(&said);
    t.gain = (struct gain){.n = 0}; /* falls by 1e9 at each of the last steps: all of the time is expected to go */
    for (int i = 0; i < 40; i++)
        gain_add(&t.gain, -20.0 * i);
    t.stop = STOP_TRIALS;
    stop_words(&j, &t, &said);
    assert_non_null(strstr(buf_text(&said), "expected gain of the next 100 trials 100 %"));
    t.gain.n = STOP_MIN_SEEN - 1; /* too early to say */
    assert_int_equal(stop_reason_of(&j, &t, 1, false), STOP_NONE);
    t.exhausted = true;
    assert_int_equal(stop_reason_of(&j, &t, 1, false), STOP_EXHAUSTED);
    buf_fini(&said);
}

static void each_reason_has_its_words(void **state)
{
    static const struct {
        enum stop_reason reason;
        const char *name, *words;
    } reasons[] = {{STOP_NONE, "", ""},
                   {STOP_TRIALS, "trials", "stopped: its trials are spent; expected gain of the next 100 trials "},
                   {STOP_TIME, "time", "stopped: 12.5 s are over; expected gain"},
                   {STOP_PATIENCE, "patience", "stopped: no better one in 9 trials; expected gain"},
                   {STOP_TARGET, "target", "stopped: the target of 2.5 ms is reached; expected gain"},
                   {STOP_GAIN, "min-gain", "stopped: expected gain of the next 100 trials "},
                   {STOP_EXHAUSTED, "exhausted", "stopped: no config is left"}};
    struct task t = {.i_best = -1, .since_better = 9};
    struct job j;
    struct buf said;

    (void)state;
    job_init(&j);
    j.time_s = 12.5;
    j.target_ns = 2.5e6;
    j.min_gain = 0.025;
    buf_init(&said, 4096);
    for (int i = 0; i < 40; i++)
        gain_add(&t.gain, i < 2 ? 2 - i : 1);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        buf_clear(&said);
        t.stop = reasons[i].reason;
        stop_words(&j, &t, &said);
        if (strncmp(buf_text(&said), reasons[i].words, strlen(reasons[i].words)) != 0)
            fail_msg("'%s' does not begin with '%s'", buf_text(&said), reasons[i].words);
        assert_string_equal(stop_name(reasons[i].reason), reasons[i].name);
        assert_int_equal(strstr(buf_text(&said), " % < 2.5 %") != NULL, t.stop == STOP_GAIN);
    }
    assert_string_equal(buf_text(&said), "stopped: no config is left"); /* nothing can be expected */
    j.target_ns = 0;
    j.target_gflops = 500;
    t.stop = STOP_TARGET;
    buf_clear(&said);
    stop_words(&j, &t, &said);
    assert_non_null(strstr(buf_text(&said), "the target of 500 GFLOPS is reached"));
    snprintf(j.network, sizeof j.network, "net");
    assert_int_equal(job_add_layer(&j, "a", "", 1), ERR_OK);
    assert_int_equal(job_add_layer(&j, "b", "", 1), ERR_OK);
    t.stop = STOP_TRIALS;
    t.gain.n = 0; /* too few for an estimate */
    buf_clear(&said);
    stop_words(&j, &t, &said);
    assert_string_equal(buf_text(&said), "stopped: the trials of the network are spent");
    job_fini(&j);
    buf_fini(&said);
}

static void the_gain_is_no_more_than_there_is_up_to_the_peak(void **state)
{
    struct measured best = {.record = {.time_ns = 1e6, .flops = 5e8}}; /* 500 GFLOPS */
    struct task t = {.all = &best, .i_best = 0};
    double free_gain;

    (void)state;
    for (int i = 0; i < 40; i++)
        gain_add(&t.gain, -1.0 * i);
    free_gain = task_gain(&t, 0, 100);
    assert_true(free_gain > 1);
    assert_int_equal(workload_parse("dense f32 m=8 n=64 k=64", &t.workload, NULL), ERR_OK);
    assert_float_equal(task_gain(&t, 0, 100), free_gain, 0); /* no peak is known */
    best.record.device = cJSON_Parse("{\"peak_gflops\":750}");
    assert_true(fabs(task_gain(&t, 0, 100) - log(1.5)) < 1e-12);
    best.record.flops = 8e8; /* over the peak: it was measured in a slow moment */
    assert_float_equal(task_gain(&t, 0, 100), free_gain, 0);
    best.record.flops = 5e8;
    t.workload.dtype = DTYPE_F16; /* the peak is that of f32 */
    assert_float_equal(task_gain(&t, 0, 100), free_gain, 0);
    cJSON_Delete(best.record.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expected_gain_of_independent_draws_is_of_the_size_of_the_real_one),
        cmocka_unit_test(expected_gain_falls_while_nothing_improves),
        cmocka_unit_test(gains_ahead_add_up_and_grow_smaller),
        cmocka_unit_test(nothing_is_expected_of_what_is_not_known),
        cmocka_unit_test(the_estimate_is_what_the_formula_gives_of_all_values),
        cmocka_unit_test(each_reason_has_its_words),
        cmocka_unit_test(the_gain_is_no_more_than_there_is_up_to_the_peak),
        cmocka_unit_test(a_target_is_a_rate_or_a_time),
        cmocka_unit_test(a_least_gain_is_a_percentage),
        cmocka_unit_test(each_limit_ends_a_search_with_its_own_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
