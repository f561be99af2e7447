/* SPDX-License-Identifier: MIT */
/* A batch is timed by the rules: on a device of the test's own whose times are known. */
#include "agent/canary.h"
#include "agent/measure.h"
#include "fake_device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define MAX_SLOTS 512

static const struct timing_rules plain = {.rounds = 5,
                                          .rounds_near_best = 5,
                                          .min_calls = 3,
                                          .warmup = 1,
                                          .min_slot_ns = 100000, /* five runs of 20 us */
                                          .best_lnratio = NAN,
                                          .may_censor = true};

static struct sample samples[4];
static struct load_report reports[4];
static struct measure_item items[4];
static struct measure_batch batch;
static int slots[MAX_SLOTS], n_slots, n_canaries;
static double canary_ns;

static void note_slot(int i, void *arg)
{
    (void)arg;
    assert_true(n_slots < MAX_SLOTS);
    slots[n_slots++] = i;
}

static double note_canary(void *arg)
{
    (void)arg;
    n_canaries++;
    return canary_ns;
}

static void load(int i, const char *source, const struct timing_rules *rules)
{
    struct why why = {""};

    sample_make(&samples[i], source, 64);
    items[i] = (struct measure_item){.program = &samples[i].p, .rules = *rules, .blobs = &samples[i].blobs};
    assert_int_equal(fake_ops.load(NULL, &samples[i].p, &samples[i].blobs, NULL, &items[i].loaded, &reports[i], &why),
                     ERR_OK);
}

static void begin(void)
{
    fake_reset();
    n_slots = n_canaries = 0;
    canary_ns = 5;
    batch = (struct measure_batch){
        .ops = &fake_ops, .items = items, .before_slot = note_slot, .canary = note_canary, .n_items = 0};
    rng_init(&batch.rng, 3);
}

static void add(const char *source, const struct timing_rules *rules)
{
    load(batch.n_items++, source, rules);
}

/* The last of items is the anchor. */
static void add_anchor(const char *source)
{
    load(3, source, &plain);
    batch.anchor = &items[3];
}

static void end(void)
{
    for (int i = 0; i < 4; i++) {
        if (items[i].loaded)
            fake_ops.unload(items[i].loaded);
        sample_fini(&samples[i]);
        items[i] = (struct measure_item){.loaded = NULL};
        memset(&samples[i], 0, sizeof samples[i]);
    }
}

static int count(int slot)
{
    int n = 0;

    for (int i = 0; i < n_slots; i++)
        n += slots[i] == slot;
    return n;
}

static void a_slot_is_a_warm_up_and_calls_until_it_is_full(void **state)
{
    struct timing_rules searched = plain;

    (void)state;
    searched.best_ns = 20000;
    begin();
    add(sample_good, &searched);
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_OK);
    assert_int_equal(items[0].series.n, 5);
    assert_int_equal(items[0].series.calls, 25);
    /* one before all to see what comes out and some to see that it goes on, one to warm each slot, one to see that it
     * still comes out */
    assert_in_range(items[0].watched, 2, 8);
    assert_int_equal(fake_runs_of(items[0].loaded), 1 + items[0].watched + 5 * (1 + 5) + 1);
    assert_true(items[0].value.time_ns == 20000 && items[0].value.se == 0 && isnan(items[0].value.lnratio));
    assert_true(items[0].spent_ns == 20000.0 * 32);
    end();
}

/* Of what is chosen more calls are compared, one by one, on what was there before timing. */
static void of_what_is_chosen_more_calls_are_watched(void **state)
{
    (void)state;
    begin();
    add(sample_good, &plain);
    measure_batch(&batch);
    assert_in_range(items[0].watched, 2, 8);
    measure_watch(&batch, &items[0]);
    assert_int_equal(items[0].e, ERR_OK);
    assert_in_range(items[0].watched, 50, 100); /* 20 slots of 100 us, of calls of 20 us and what compares them */
    end();
}

static void expect_found_by_calls_that_are_watched(const char *sample)
{
    begin();
    add(sample, &plain);
    measure_batch(&batch);
    if (!items[0].e)
        measure_watch(&batch, &items[0]);
    assert_int_equal(items[0].e, ERR_WRONG);
    assert_non_null(strstr(items[0].why.text, "differ from those of the first"));
    end();
}

/* What stands there when it does is right, but for the calls before which it was changed. */
static void who_writes_nothing_now_and_then_is_found_by_the_calls_that_are_watched(void **state)
{
    (void)state;
    expect_found_by_calls_that_are_watched(sample_lapse);
}

static void who_takes_0_for_what_is_done_is_found_by_the_calls_that_are_watched(void **state)
{
    (void)state;
    expect_found_by_calls_that_are_watched(sample_blank);
}

/* It is told beside the time, and is no part of it. */
static void packing_is_timed_where_there_is_some(void **state)
{
    (void)state;
    begin();
    fake.pack_ns = 7000;
    add(sample_good, &plain);
    add(sample_good, &plain);
    samples[1].p.launches[0].phase = PHASE_PACK; /* the device of the test looks at names alone */
    measure_batch(&batch);
    assert_true(items[0].pack_ns == 0);
    assert_true(items[1].pack_ns == 7000);
    assert_true(items[1].value.time_ns == items[0].value.time_ns);
    end();
}

static void few_long_calls_fill_a_slot(void **state)
{
    (void)state;
    begin();
    fake.good_ns = 60000; /* three: more time, but no fewer calls */
    add(sample_good, &plain);
    measure_batch(&batch);
    assert_int_equal(items[0].series.calls, 15);
    end();
    begin();
    fake.good_ns = 250000; /* over twice a slot: one call, no warm-up, and the first of all is a slot */
    add(sample_good, &plain);
    measure_batch(&batch);
    assert_int_equal(items[0].series.calls, 5);
    assert_int_equal(fake_runs_of(items[0].loaded), 5 + 1);
    end();
}

static void candidates_are_compared_with_the_anchor_between_them(void **state)
{
    (void)state;
    begin();
    add(sample_good, &plain);
    add(sample_slower, &plain);
    add_anchor(sample_good);
    measure_batch(&batch);
    assert_true(fabs(items[0].value.lnratio) < 1e-9 && fabs(items[1].value.lnratio - log(2)) < 1e-9);
    assert_int_equal(items[3].series.n, 10); /* before and behind two candidates in each of five rounds */
    assert_int_equal(count(TIMING_ANCHOR), 1 + 10);
    assert_int_equal(count(MEASURE_CANARY), 5);
    assert_int_equal(n_canaries, 5);
    assert_int_equal(batch.n_canaries, 5);
    assert_true(batch.canary_ns[4] == 5);
    end();
}

/* Slower with each run; a ratio to the anchor beside it stays what it is. */
static void drift_is_in_the_times_and_not_in_the_ratios(void **state)
{
    (void)state;
    begin();
    fake.drift_ns = 20;
    add(sample_good, &plain);
    add_anchor(sample_good);
    measure_batch(&batch);
    assert_true(items[0].value.time_ns > 20500);
    assert_true(fabs(items[0].value.lnratio) < 0.01);
    end();
}

static void a_canary_that_fails_is_left_out(void **state)
{
    (void)state;
    begin();
    canary_ns = 0;
    add(sample_good, &plain);
    measure_batch(&batch);
    assert_int_equal(n_canaries, 5);
    assert_int_equal(batch.n_canaries, 0);
    end();
}

/* ---- rounds that are saved, and spent ---- */

static void who_is_near_the_best_gets_more_rounds(void **state)
{
    struct timing_rules near = plain, far = plain;

    (void)state;
    near.rounds_near_best = far.rounds_near_best = 9;
    near.best_ns = 19000;
    far.best_ns = 15000;
    begin();
    add(sample_good, &near);
    add(sample_good, &far);
    measure_batch(&batch);
    assert_int_equal(items[0].series.n, 9);
    assert_int_equal(items[1].series.n, 5);
    end();
    begin();
    add(sample_slower, &near); /* the batch's own fastest counts as the best, too */
    add(sample_good, &plain);
    items[0].rules.best_ns = items[1].rules.best_ns = 0;
    measure_batch(&batch);
    assert_int_equal(items[0].series.n, 5);
    end();
}

/* A best known from elsewhere may have a time and no ratio to this anchor. Alone in its batch, a candidate is compared
 * with that, and not with itself. */
static void who_is_alone_is_compared_with_the_best_known(void **state)
{
    static const struct {
        double best_ns;
        int n;
        bool censored;
    } cases[] = {{19000, 9, false}, {15000, 5, false}, {6000, 1, true}, {0, 9, false}};
    struct timing_rules r = plain;

    (void)state;
    r.rounds_near_best = 9;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int anchored = 0; anchored < 2; anchored++) {
            r.best_ns = cases[i].best_ns;
            begin();
            add(sample_good, &r);
            if (anchored)
                add_anchor(sample_slower);
            measure_batch(&batch);
            assert_int_equal(items[0].series.n, cases[i].n);
            assert_int_equal(items[0].censored, cases[i].censored);
            end();
        }
}

static void who_is_three_times_slower_gets_one_round(void **state)
{
    struct timing_rules r = plain;

    (void)state;
    begin();
    r.best_ns = 6000;
    add(sample_good, &r);
    measure_batch(&batch);
    assert_true(items[0].censored);
    assert_int_equal(items[0].series.n, 1);
    assert_int_equal(items[0].series.calls, 5);
    assert_int_equal(fake_runs_of(items[0].loaded),
                     1 + items[0].watched + 1 + 5); /* and no look at what comes out in the end */
    end();
    begin();
    fake.slower_ns = 70000; /* by the batch's own fastest */
    add(sample_good, &plain);
    add(sample_slower, &plain);
    measure_batch(&batch);
    assert_true(!items[0].censored && items[1].censored);
    end();
}

/* Only the first round is to save the others. */
static void who_becomes_slow_later_is_measured_to_the_end(void **state)
{
    struct timing_rules r = plain;

    (void)state;
    begin();
    fake.drift_ns = 3000;
    r.best_ns = 20000;
    r.rounds = r.rounds_near_best = 9;
    add(sample_good, &r);
    measure_batch(&batch);
    assert_true(items[0].value.time_ns > 60000 && !items[0].censored);
    assert_int_equal(items[0].series.n, 9);
    end();
}

static void who_is_five_times_slower_at_once_gets_one_call(void **state)
{
    struct timing_rules r = plain, final = plain;

    (void)state;
    r.best_ns = final.best_ns = 40000;
    final.may_censor = false;
    begin();
    fake.good_ns = 201000;
    add(sample_good, &r);
    add_anchor(sample_slower);
    measure_batch(&batch);
    assert_true(items[0].censored && items[0].value.time_ns == 201000);
    assert_int_equal(fake_runs_of(items[0].loaded), 1);
    assert_true(fabs(items[0].value.lnratio - log(201.0 / 40)) < 1e-9); /* the anchor is there to compare with */
    end();
    begin();
    fake.good_ns = 201000;
    add(sample_good, &final);
    measure_batch(&batch);
    assert_false(items[0].censored);
    assert_int_equal(items[0].series.n, 5);
    end();
}

/* ---- outputs ---- */

static void outputs_that_change_are_wrong(void **state)
{
    (void)state;
    begin();
    add(sample_lazy, &plain);
    add(sample_good, &plain);
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_WRONG);
    assert_non_null(strstr(items[0].why.text, "differ from those of the first"));
    assert_int_equal(items[1].e, ERR_OK);
    end();
}

/* And in its second run alone: later ones write over it. */
static void each_of_the_first_runs_is_compared(void **state)
{
    (void)state;
    begin();
    add(sample_second, &plain);
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_WRONG);
    assert_non_null(strstr(items[0].why.text, "outputs after 2 timed calls differ"));
    end();
}

/* The anchor, nobody's candidate, may be the same program: its runs come later. */
static void the_first_runs_are_not_the_anchor_s(void **state)
{
    (void)state;
    begin();
    fake.one_state = true;
    add(sample_second, &plain);
    add_anchor(sample_second);
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_WRONG);
    assert_non_null(strstr(items[0].why.text, "outputs after 2 timed calls differ"));
    end();
}

/* It keeps what is smaller, and only what stands there from the first run on is that. */
static void outputs_that_depend_on_what_stood_there_are_wrong(void **state)
{
    (void)state;
    begin();
    add(sample_stale, &plain);
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_WRONG);
    assert_non_null(strstr(items[0].why.text, "differ from those of the first"));
    end();
}

/* On the data that it is timed on: what verification saw were others. */
static void outputs_of_the_first_call_are_compared_with_what_is_expected(void **state)
{
    (void)state;
    begin();
    add(sample_wrong, &plain);
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_WRONG);
    assert_non_null(strstr(items[0].why.text, "y[77]"));
    end();
}

/* The caller's own run in the end takes the place of ours. */
static void who_runs_again_is_spared_a_run(void **state)
{
    int64_t n[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        begin();
        add(sample_good, &plain);
        items[0].runs_again = i == 1;
        measure_batch(&batch);
        assert_int_equal(items[0].e, ERR_OK);
        n[i] = fake_runs_of(items[0].loaded);
        end();
    }
    assert_int_equal(n[0] - n[1], 1);
}

/* A baseline that ran once has nothing to compare with. */
static void one_call_is_not_run_again(void **state)
{
    struct timing_rules once = plain;

    (void)state;
    once.rounds = once.rounds_near_best = once.min_calls = 1;
    once.min_slot_ns = 10000;
    begin();
    add(sample_good, &once);
    measure_batch(&batch);
    assert_int_equal(items[0].series.calls, 1);
    assert_int_equal(fake_runs_of(items[0].loaded), 1);
    end();
}

/* 60 ms: what it writes is poisoned before each slot, and needs no run of its own in the end. */
static void outputs_of_long_calls_are_poisoned_before_each_slot(void **state)
{
    struct timing_rules r = plain;
    int64_t n_writes;

    (void)state;
    begin();
    fake.good_ns = 60000000;
    r.rounds = r.rounds_near_best = 20;
    add(sample_good, &r);
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_OK);
    assert_int_equal(fake_runs_of(items[0].loaded), 20);
    n_writes = fake.n_writes;
    end();
    assert_int_equal(n_writes, 2 + 19); /* two buffers filled; the output poisoned but for the first time */
    begin();
    fake.good_ns = 60000000;
    add(sample_lazy, &r);
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_WRONG);
    end();
}

/* What an anchor writes was verified, and is not compared. */
static void outputs_of_an_anchor_are_left_alone(void **state)
{
    struct timing_rules r = plain;
    int64_t n_writes;

    (void)state;
    begin();
    fake.slower_ns = 60000000;
    r.min_slot_ns = 10000; /* a call: none is watched */
    add(sample_good, &r);
    add_anchor(sample_slower);
    measure_batch(&batch);
    n_writes = fake.n_writes;
    end();
    assert_int_equal(n_writes,
                     2 + 2 + 2); /* buffers filled; the candidate's output poisoned before a slot, and in the end */
}

static void outputs_that_are_filled_anew_are_not_poisoned(void **state)
{
    (void)state;
    begin();
    add(sample_lazy, &plain);
    samples[0].p.buffers[1].reset_each_run = true;
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_OK);
    end();
}

/* ---- failures ---- */

static void a_run_that_fails_ends_its_program_alone(void **state)
{
    (void)state;
    begin();
    add(sample_bomb, &plain);
    add(sample_good, &plain);
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_DEVICE);
    assert_string_equal(items[0].why.text, "an illegal address");
    assert_int_equal(items[1].e, ERR_OK);
    assert_int_equal(items[1].series.n, 5);
    end();
}

static void what_was_not_loaded_takes_no_part(void **state)
{
    (void)state;
    begin();
    batch.n_items = 1;
    items[0].e = ERR_COMPILE;
    add(sample_good, &plain);
    measure_batch(&batch);
    assert_int_equal(items[0].e, ERR_COMPILE);
    assert_int_equal(count(0), 0);
    assert_int_equal(items[1].series.n, 5);
    end();
}

/* Nothing is compared with it. */
static void without_candidates_an_anchor_is_not_timed(void **state)
{
    (void)state;
    begin();
    add_anchor(sample_good);
    batch.n_items = 1; /* it failed already */
    measure_batch(&batch);
    assert_int_equal(count(TIMING_ANCHOR), 1); /* it was prepared */
    assert_int_equal(items[3].series.n, 0);
    assert_int_equal(fake_runs_of(items[3].loaded), 0);
    end();
}

static void without_its_anchor_a_batch_goes_on(void **state)
{
    static const char *const anchors[] = {sample_wild, sample_bomb}; /* at once; in the third round */

    (void)state;
    for (int i = 0; i < 2; i++) {
        begin();
        add(sample_good, &plain);
        add_anchor(anchors[i]);
        measure_batch(&batch);
        assert_int_equal(items[3].e, ERR_DEVICE);
        assert_int_equal(items[0].e, ERR_OK);
        assert_int_equal(items[0].series.n, 5);
        assert_true(isnan(items[0].value.lnratio) && items[0].value.time_ns == 20000);
        end();
    }
}

static void records_are_answered_once(void **state)
{
    (void)state;
    begin();
    batch.ops = &fake_simulated_ops;
    add(sample_good, &plain);
    add(sample_slower, &plain);
    add(sample_wild, &plain);
    add_anchor(sample_good);
    measure_simulated(&batch);
    assert_true(items[0].series.n == 1 && items[0].value.se == 0 && items[0].value.lnratio == 0);
    assert_true(fabs(items[1].value.lnratio - log(2)) < 1e-12);
    assert_int_equal(items[2].e, ERR_DEVICE);
    assert_int_equal(fake_runs_of(items[0].loaded), 1);
    end();
}

/* ---- the canary ---- */

static struct canary *open_canary(void)
{
    struct canary *c = NULL;
    struct why why = {""};

    fake_reset();
    if (canary_open(&fake_ops, NULL, NULL, &c, &why))
        fail_msg("%s", why.text);
    return c;
}

static void a_canary_is_warm_when_five_runs_agree(void **state)
{
    struct canary *c = open_canary();
    double ns = 0;

    (void)state;
    assert_int_equal(canary_time(c, 1000, &ns, NULL), ERR_OK);
    assert_true(ns == 1e6);
    assert_int_equal(fake.n_canary_runs, 5);
    assert_int_equal(canary_now(c, &ns, NULL), ERR_OK);
    assert_int_equal(fake.n_canary_runs, 8);
    /* 4 units of 32 groups of 64, 4 lanes, 4,096 steps of 12 multiplications and additions */
    assert_true(canary_flops(c) == 4.0 * 32 * 64 * 4 * 4096 * 24);
    canary_close(c);
    assert_int_equal(fake.n_unloads, fake.n_loads);
}

static void a_canary_is_for_devices_that_run(void **state)
{
    static const struct device_ops other = {.name = "abacus"};
    struct canary *c = NULL;
    struct why why = {""};

    (void)state;
    fake_reset();
    assert_int_equal(canary_open(&fake_simulated_ops, NULL, NULL, &c, &why), ERR_UNSUPPORTED);
    assert_int_equal(canary_open(&other, NULL, NULL, &c, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "abacus"));
    fake.load_fails = true;
    assert_int_equal(canary_open(&fake_ops, NULL, NULL, &c, &why), ERR_LIMITS);
    assert_null(c);
    canary_close(NULL);
}

/* On a CPU one work-item a unit, as wide as its vectors; on CUDA plain numbers. */
static void a_canary_fills_its_device(void **state)
{
    static const struct {
        enum device_class kind;
        const char *api;
        int64_t bits;
        double flops;
    } cases[] = {{DEVICE_CPU, "opencl", 512, 4.0 * 16 * 300000 * 24},
                 {DEVICE_CPU, "opencl", 256, 4.0 * 8 * 300000 * 24},
                 {DEVICE_CPU, "opencl", 0, 4.0 * 4 * 300000 * 24},
                 {DEVICE_GPU, "cuda", 512, 4.0 * 32 * 64 * 4096 * 24}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct canary *c = NULL;

        fake_reset();
        fake.desc.kind = cases[i].kind;
        fake.desc.vector_bits = cases[i].bits;
        strcpy(fake.desc.api, cases[i].api);
        assert_int_equal(canary_open(&fake_ops, NULL, NULL, &c, NULL), ERR_OK);
        assert_true(canary_flops(c) == cases[i].flops);
        canary_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_is_a_warm_up_and_calls_until_it_is_full),
        cmocka_unit_test(of_what_is_chosen_more_calls_are_watched),
        cmocka_unit_test(who_writes_nothing_now_and_then_is_found_by_the_calls_that_are_watched),
        cmocka_unit_test(who_takes_0_for_what_is_done_is_found_by_the_calls_that_are_watched),
        cmocka_unit_test(packing_is_timed_where_there_is_some),
        cmocka_unit_test(few_long_calls_fill_a_slot),
        cmocka_unit_test(candidates_are_compared_with_the_anchor_between_them),
        cmocka_unit_test(drift_is_in_the_times_and_not_in_the_ratios),
        cmocka_unit_test(a_canary_that_fails_is_left_out),
        cmocka_unit_test(who_is_near_the_best_gets_more_rounds),
        cmocka_unit_test(who_is_alone_is_compared_with_the_best_known),
        cmocka_unit_test(who_is_three_times_slower_gets_one_round),
        cmocka_unit_test(who_becomes_slow_later_is_measured_to_the_end),
        cmocka_unit_test(who_is_five_times_slower_at_once_gets_one_call),
        cmocka_unit_test(outputs_that_change_are_wrong),
        cmocka_unit_test(each_of_the_first_runs_is_compared),
        cmocka_unit_test(the_first_runs_are_not_the_anchor_s),
        cmocka_unit_test(one_call_is_not_run_again),
        cmocka_unit_test(outputs_that_depend_on_what_stood_there_are_wrong),
        cmocka_unit_test(outputs_of_the_first_call_are_compared_with_what_is_expected),
        cmocka_unit_test(who_runs_again_is_spared_a_run),
        cmocka_unit_test(outputs_of_long_calls_are_poisoned_before_each_slot),
        cmocka_unit_test(outputs_of_an_anchor_are_left_alone),
        cmocka_unit_test(outputs_that_are_filled_anew_are_not_poisoned),
        cmocka_unit_test(a_run_that_fails_ends_its_program_alone),
        cmocka_unit_test(what_was_not_loaded_takes_no_part),
        cmocka_unit_test(without_candidates_an_anchor_is_not_timed),
        cmocka_unit_test(without_its_anchor_a_batch_goes_on),
        cmocka_unit_test(records_are_answered_once),
        cmocka_unit_test(a_canary_is_warm_when_five_runs_agree),
        cmocka_unit_test(a_canary_is_for_devices_that_run),
        cmocka_unit_test(a_canary_fills_its_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
