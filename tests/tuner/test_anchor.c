/* SPDX-License-Identifier: MIT */
/* Anchors: what a ratio is worth, and when another program becomes the anchor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tuner/anchor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct sha256 named(const char *name)
{
    return sha256_of(name, strlen(name));
}

/* A record of `name` that took 700 ns and `lnratio` beside `anchor` ("" = it was timed alone). */
static struct record record_of(const char *name, const char *anchor, double lnratio)
{
    struct record r;

    record_init(&r);
    r.status = STATUS_OK;
    r.time_ns = 700;
    r.lnratio = lnratio;
    r.program = named(name);
    if (*anchor)
        r.anchor.hash = named(anchor);
    return r;
}

static double value(const struct anchor *a, const char *anchor, double lnratio)
{
    const struct record r = record_of("x", anchor, lnratio);

    return anchor_value(a, &r);
}

static struct anchor first(void)
{
    const struct sha256 hash = named("a");
    struct anchor a;

    anchor_first(&a, &hash, 1000);
    return a;
}

/* Bridges to `name`, whose record has the ratio. */
static void bridge(struct anchor *a, const char *name, double lnratio)
{
    const struct sha256 hash = named(name);
    struct record r = record_of(name, "", lnratio);

    r.anchor.hash = a->hash;
    anchor_await_bridge(a, &hash);
    anchor_bridge(a, &r);
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

static void before_there_is_an_anchor_a_record_counts_by_its_time(void **state)
{
    const struct anchor none = {.epoch = 0};

    (void)state;
    assert_true(near(value(&none, "", NAN), log(700)));
    assert_true(near(value(&none, "a", -3), log(700)));
}

static void a_ratio_to_an_anchor_of_the_chain_counts_more_than_the_time(void **state)
{
    struct anchor a = first();

    (void)state;
    assert_true(near(value(&a, "a", -0.5), log(1000) - 0.5));
    bridge(&a, "b", -1.5);
    assert_true(near(value(&a, "b", -0.25), log(1000) - 1.75));
    assert_true(near(value(&a, "a", -0.5), log(1000) - 0.5)); /* one that was under way */
    bridge(&a, "c", -1.4);
    assert_true(near(value(&a, "c", 0), log(1000) - 2.9));
    assert_true(near(value(&a, "b", 0), log(1000) - 1.5));
    assert_int_equal(a.epoch, 2);
}

/* Also where its record says another bridge: that is one of its own job's chain. */
static void a_ratio_to_another_jobs_anchor_says_nothing(void **state)
{
    struct anchor a = first();
    struct record r = record_of("x", "z", -3);

    (void)state;
    assert_true(near(anchor_value(&a, &r), log(700)));
    r.anchor.hash = named("a");
    r.anchor.bridge = -2;
    assert_true(near(anchor_value(&a, &r), log(1000) - 3));
    assert_true(near(value(&a, "a", NAN), log(700)));
}

static void what_is_not_ok_has_no_value(void **state)
{
    struct anchor a = first();
    struct record r = record_of("x", "a", -1);

    (void)state;
    r.status = STATUS_WRONG;
    assert_true(isnan(anchor_value(&a, &r)));
    r.status = STATUS_OK;
    r.time_ns = 0;
    assert_true(isnan(anchor_value(&a, &r)));
}

/* energy_j is what it costs; its ratio of times says nothing of it. */
static void another_objective_is_counted_by_itself(void **state)
{
    struct anchor a = first();
    struct record r = record_of("x", "a", -1);

    (void)state;
    r.energy_j = 2;
    snprintf(r.objective, sizeof r.objective, "energy");
    assert_true(near(anchor_value(&a, &r), log(2)));
    snprintf(r.objective, sizeof r.objective, "edp");
    assert_true(near(anchor_value(&a, &r), log(2) + log(1000) - 1));
}

static bool wants(const struct anchor *a, double below, const char *name)
{
    const struct sha256 hash = named(name);

    return anchor_wants_epoch(a, a->ln_t0 + a->bridge - below, &hash);
}

static void an_epoch_is_wanted_from_four_times_on(void **state)
{
    const struct anchor none = {.ln_t0 = log(1000)};
    struct anchor a = first();

    (void)state;
    assert_false(wants(&a, log(3.99), "b"));
    assert_true(wants(&a, log(4.01), "b"));
    assert_false(wants(&a, NAN, "b"));
    assert_false(wants(&none, 9, "b"));
    bridge(&a, "b", -1.4);
    assert_false(wants(&a, log(3.99), "c"));
    assert_true(wants(&a, log(4.01), "c"));
}

static void no_program_of_the_chain_is_bridged_to(void **state)
{
    struct anchor a = first();

    (void)state;
    bridge(&a, "b", -1.4);
    assert_false(wants(&a, 9, "a"));
    assert_false(wants(&a, 9, "b"));
    assert_true(wants(&a, 9, "c"));
    bridge(&a, "b", -1.4); /* its config makes the anchor's own program */
    assert_int_equal(a.epoch, 1);
    assert_true(near(a.bridge, -1.4));
    bridge(&a, "a", -1.4);
    assert_int_equal(a.epoch, 1);
}

static void while_one_bridge_is_out_no_other_is_wanted(void **state)
{
    const struct sha256 b = named("b");
    struct anchor a = first();

    (void)state;
    anchor_await_bridge(&a, &b);
    assert_false(wants(&a, 9, "c"));
}

static void a_bridge_that_was_not_measured_is_refused_once_and_for_all(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        const struct sha256 b = named("b");
        struct anchor a = first();
        struct record r = record_of("b", "a", -1.5);

        if (kind == 0)
            r.status = STATUS_TIMEOUT;
        else if (kind == 1)
            r.lnratio = NAN;
        else if (kind == 2)
            r.anchor.hash = named("z");
        else if (kind == 3)
            r.program.hex[0] = '\0';
        else
            record_init(&r), r.status = STATUS_LOST; /* of the tracker's own making, or a damaged one */
        anchor_await_bridge(&a, &b);
        anchor_bridge(&a, &r);
        assert_int_equal(a.epoch, 0);
        assert_true(near(a.bridge, 0));
        assert_string_equal(a.hash.hex, named("a").hex);
        assert_false(wants(&a, 9, "b"));
        assert_true(wants(&a, 9, "c"));
    }
}

/* Whatever times contradict each other, there is an end of it. */
static void epochs_are_bounded(void **state)
{
    struct anchor a = first();

    (void)state;
    for (int i = 0; i < ANCHOR_MAX_EPOCHS; i++) {
        char name[8];

        snprintf(name, sizeof name, "p%d", i);
        assert_true(wants(&a, 2, name));
        bridge(&a, name, -0.1);
        assert_int_equal(a.epoch, i + 1);
    }
    assert_false(wants(&a, 9, "another"));
    assert_true(near(a.bridge, -0.1 * ANCHOR_MAX_EPOCHS));
}

static void the_best_is_told_in_terms_of_the_present_anchor(void **state)
{
    struct anchor a = first();

    (void)state;
    assert_true(near(anchor_lnratio(&a, log(500)), log(0.5)));
    bridge(&a, "b", -1.5);
    assert_true(near(anchor_lnratio(&a, log(1000) - 1.7), -0.2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_there_is_an_anchor_a_record_counts_by_its_time),
        cmocka_unit_test(a_ratio_to_an_anchor_of_the_chain_counts_more_than_the_time),
        cmocka_unit_test(a_ratio_to_another_jobs_anchor_says_nothing),
        cmocka_unit_test(what_is_not_ok_has_no_value),
        cmocka_unit_test(another_objective_is_counted_by_itself),
        cmocka_unit_test(an_epoch_is_wanted_from_four_times_on),
        cmocka_unit_test(no_program_of_the_chain_is_bridged_to),
        cmocka_unit_test(while_one_bridge_is_out_no_other_is_wanted),
        cmocka_unit_test(a_bridge_that_was_not_measured_is_refused_once_and_for_all),
        cmocka_unit_test(epochs_are_bounded),
        cmocka_unit_test(the_best_is_told_in_terms_of_the_present_anchor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
