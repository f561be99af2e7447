/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/tuner/task_made.h"
#include "cli/table.h"
#include "tuner/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void defaults_become_the_anchor(void **state)
{
    struct task t;
    struct task_proposal p[4];

    (void)state;
    start(&t);
    take(&t, &t.arms[searched_arm(&t)].fallback, 1000, NAN, "search", ORIGIN_JOB);
    task_freeze_anchor(&t, &t.all[t.i_best].record.program);
    assert_true(t.anchor.hash.hex[0] != '\0');
    ask(&t, p, 4);
    take(&t, &p[0].config, 520, -0.7, "search", ORIGIN_JOB); /* the ratio counts, not the time */
    assert_true(fabs(t.all[t.i_best].value - (log(1000) - 0.7)) < 1e-12);
    assert_int_equal(t.n_counted, 2);
    assert_ptr_equal(task_best_fallback(&t), &t.all[0]);
    task_fini(&t);
}

static void a_config_is_counted_once(void **state)
{
    struct task t;
    struct task_proposal p[1];

    (void)state;
    start(&t);
    ask(&t, p, 1);
    take(&t, &p[0].config, 1000, NAN, "search", ORIGIN_JOB);
    take(&t, &p[0].config, 900, NAN, "search", ORIGIN_JOB);
    assert_int_equal(t.n_counted, 1);
    assert_int_equal(t.n_all, 1);
    task_fini(&t);
}

static void warm_records_inform_but_do_not_count(void **state)
{
    struct task t;
    struct task_proposal p[2];

    (void)state;
    start(&t);
    ask(&t, p, 2);
    take(&t, &p[0].config, 1000, NAN, "search", ORIGIN_WARM);
    take(&t, &p[1].config, 0, NAN, "search", ORIGIN_LOG);
    assert_int_equal(t.n_counted, 1);
    assert_int_equal(t.n_failed, 1);
    assert_int_equal(t.i_best, 0);
    task_fini(&t);
}

static void records_of_other_work_are_left_alone(void **state)
{
    struct task t;
    struct record r;
    struct config c;

    (void)state;
    start(&t);
    c = t.arms[searched_arm(&t)].fallback;
    make(&t, searched_arm(&t), &c, 1000, &r);
    assert_true(task_knows(&t, &r));
    r.template_version++;
    assert_false(task_knows(&t, &r));
    r.template_version--;
    r.fingerprint = sha256_of("x", 1);
    assert_false(task_knows(&t, &r));
    t.former = r.fingerprint; /* of this device, before its processor was told */
    assert_true(task_knows(&t, &r));
    r.fingerprint.hex[0] = t.former.hex[0] = '\0';
    assert_false(task_knows(&t, &r));
    record_fini(&r);
    task_fini(&t);
}

static void a_proposal_comes_once(void **state)
{
    struct task t;
    struct task_proposal p[40];

    (void)state;
    start(&t);
    ask(&t, p, 40);
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < i; k++)
            assert_false(p[i].i_arm == p[k].i_arm &&
                         space_config_equal(t.arms[p[i].i_arm].space, &p[i].config, &p[k].config));
    task_fini(&t);
}

static void a_four_times_faster_best_opens_an_epoch(void **state)
{
    struct anchor a = {.epoch = 0};
    const struct sha256 first = sha256_of("a", 1), next = sha256_of("b", 1);
    struct record bridge;

    (void)state;
    anchor_first(&a, &first, 1000);
    assert_false(anchor_wants_epoch(&a, log(1000) - log(3.9), &next));
    assert_true(anchor_wants_epoch(&a, log(1000) - log(4.1), &next));
    record_init(&bridge);
    bridge.status = STATUS_OK;
    bridge.lnratio = -1.5;
    bridge.program = next;
    bridge.anchor.hash = first;
    anchor_await_bridge(&a, &next);
    assert_false(anchor_wants_epoch(&a, log(1), &next)); /* one at a time */
    anchor_bridge(&a, &bridge);
    assert_int_equal(a.epoch, 1);
    assert_string_equal(a.hash.hex, next.hex);
    assert_true(fabs(a.bridge + 1.5) < 1e-12);
    bridge.time_ns = 200; /* a record of the new epoch: its own ratio plus the bridge */
    bridge.lnratio = 0.25;
    bridge.anchor.bridge = a.bridge;
    bridge.anchor.hash = next;
    assert_true(fabs(anchor_value(&a, &bridge) - (log(1000) - 1.25)) < 1e-12);
    assert_true(fabs(anchor_lnratio(&a, log(1000) - 1.25) - 0.25) < 1e-12);
    record_fini(&bridge);
}

static void a_failed_bridge_is_not_tried_again(void **state)
{
    struct anchor a = {.epoch = 0};
    const struct sha256 first = sha256_of("a", 1), next = sha256_of("b", 1);
    struct record bridge;

    (void)state;
    anchor_first(&a, &first, 1000);
    record_init(&bridge);
    bridge.status = STATUS_TIMEOUT;
    anchor_await_bridge(&a, &next);
    anchor_bridge(&a, &bridge); /* it names no program: the tracker lost it */
    assert_int_equal(a.epoch, 0);
    assert_false(anchor_wants_epoch(&a, 0, &next));
    record_fini(&bridge);
}

static enum err same_program(const struct measured *m, struct sha256 *hash, void *arg)
{
    (void)arg;
    *hash = m->record.program;
    return ERR_OK;
}

static void an_interrupted_run_finds_its_anchor_again(void **state)
{
    struct task t;
    struct task_proposal p[1];
    struct sha256 anchor;

    (void)state;
    start(&t);
    take(&t, &t.arms[searched_arm(&t)].fallback, 1000, NAN, "search", ORIGIN_LOG);
    task_freeze_anchor(&t, &t.all[t.i_best].record.program);
    anchor = t.anchor.hash;
    ask(&t, p, 1);
    take(&t, &p[0].config, 800, -0.5, "search", ORIGIN_LOG);
    t.anchor = (struct anchor){.epoch = 0}; /* as after a new start */
    assert_int_equal(task_restore_anchor(&t, same_program, NULL), ERR_OK);
    assert_string_equal(t.anchor.hash.hex, anchor.hex);
    assert_true(fabs(t.all[t.i_best].value - (log(1000) - 0.5)) < 1e-12);
    task_fini(&t);
}

/* A search record of proposal `i` that took `time_ns`, timed against `anchor` (NULL = alone) of that epoch. */
static void take_anchored(struct task *t, const struct config *c, double time_ns, const struct sha256 *anchor,
                          int64_t epoch, double bridge, double lnratio, enum origin origin)
{
    struct record r;

    make(t, searched_arm(t), c, time_ns, &r);
    if (anchor) {
        r.anchor.hash = *anchor;
        r.anchor.epoch = epoch;
        r.anchor.bridge = bridge;
        r.lnratio = lnratio;
    }
    assert_int_equal(task_take(t, &r, origin), ERR_OK);
    record_fini(&r);
}

/* In the log: p0 alone; p1 and p2 against p0; p3 against p2, the next epoch; p4 of another job, against a program that
 * is not here, of a later epoch; p5 only known from elsewhere, against p1. */
static void the_newest_anchor_that_is_known_is_restored(void **state)
{
    const struct sha256 unknown = sha256_of("unknown", 7);
    struct task_proposal p[6];
    struct task t;

    (void)state;
    start(&t);
    ask(&t, p, 6);
    take_anchored(&t, &p[0].config, 1000, NULL, 0, 0, NAN, ORIGIN_LOG);
    take_anchored(&t, &p[1].config, 900, &t.all[0].record.program, 0, 0, -0.2, ORIGIN_LOG);
    take_anchored(&t, &p[2].config, 200, &t.all[0].record.program, 0, 0, -1.5, ORIGIN_LOG);
    take_anchored(&t, &p[3].config, 150, &t.all[2].record.program, 1, -1.45, -0.3, ORIGIN_LOG);
    take_anchored(&t, &p[4].config, 300, &unknown, 5, -2, -1, ORIGIN_LOG);
    take_anchored(&t, &p[5].config, 400, &t.all[1].record.program, 7, -2, -1, ORIGIN_WARM);
    assert_int_equal(task_restore_anchor(&t, same_program, NULL), ERR_OK);
    assert_string_equal(t.anchor.hash.hex, t.all[2].record.program.hex);
    assert_int_equal(t.anchor.epoch, 1);
    assert_true(fabs(t.anchor.bridge + 1.45) < 1e-12);
    assert_true(fabs(t.all[0].value - log(1000)) < 1e-12);                /* the first anchor's time is the zero */
    assert_true(fabs(t.all[3].value - (log(1000) - 1.45 - 0.3)) < 1e-12); /* its ratio to p2, bridged */
    assert_true(fabs(t.all[1].value - (log(1000) - 0.2)) < 1e-12);        /* of the epoch before */
    assert_true(fabs(t.all[4].value - log(300)) < 1e-12);
    assert_true(fabs(t.all[5].value - (log(1000) - 1.2)) < 1e-12); /* its ratio to p1, not that job's bridge */
    assert_int_equal(t.i_best, 3);
    assert_int_equal(t.gain.n, 6);
    assert_true(fabs(anchor_lnratio(&t.anchor, t.all[2].value) - (-1.5 + 1.45)) < 1e-12);
    task_fini(&t);
}

/* The log of another farm, begun in its middle. */
static void an_anchor_without_its_first_counts_by_its_own_time(void **state)
{
    const struct sha256 unknown = sha256_of("unknown", 7);
    struct task_proposal p[3];
    struct task t;

    (void)state;
    start(&t);
    ask(&t, p, 3);
    take_anchored(&t, &p[0].config, 200, &unknown, 0, 0, -1.5, ORIGIN_LOG);
    take_anchored(&t, &p[1].config, 150, &t.all[0].record.program, 1, -1.45, -0.3, ORIGIN_LOG);
    assert_int_equal(task_restore_anchor(&t, same_program, NULL), ERR_OK);
    assert_string_equal(t.anchor.hash.hex, t.all[0].record.program.hex);
    assert_true(fabs(t.all[1].value - (log(200) - 0.3)) < 1e-12);
    task_fini(&t);
}

static enum err another_program(const struct measured *m, struct sha256 *hash, void *arg)
{
    (void)m;
    (void)arg;
    *hash = sha256_of("changed", 7);
    return ERR_OK;
}

static void an_anchor_whose_program_changed_is_not_restored(void **state)
{
    struct task_proposal p[2];
    struct task t;

    (void)state;
    start(&t);
    ask(&t, p, 2);
    take_anchored(&t, &p[0].config, 1000, NULL, 0, 0, NAN, ORIGIN_LOG);
    take_anchored(&t, &p[1].config, 900, &t.all[0].record.program, 0, 0, -0.2, ORIGIN_LOG);
    assert_int_equal(task_restore_anchor(&t, another_program, NULL), ERR_OK);
    assert_string_equal(t.anchor.hash.hex, "");
    assert_true(fabs(t.all[1].value - (log(1000) - 0.2)) < 1e-12); /* its program is not made anew, its ratio holds */
    task_fini(&t);
}

static void the_top_are_the_best_in_order_without_those_given_up(void **state)
{
    static const double times[] = {500, 300, 0, 400, 100, 200};
    const struct measured *top[6];
    struct task_proposal p[6];
    struct task t;

    (void)state;
    start(&t);
    ask(&t, p, 6);
    for (size_t i = 0; i < 6; i++)
        take(&t, &p[i].config, times[i], NAN, "search", ORIGIN_JOB);
    t.all[5].record.censored = true;
    assert_int_equal(task_top(&t, 3, top), 3);
    assert_ptr_equal(top[0], &t.all[4]);
    assert_ptr_equal(top[1], &t.all[1]);
    assert_ptr_equal(top[2], &t.all[3]);
    assert_int_equal(task_top(&t, 6, top), 4); /* one failed, one was given up */
    assert_ptr_equal(top[3], &t.all[0]);
    assert_int_equal(t.n_failed, 1);
    assert_int_equal(t.since_better, 1);
    task_fini(&t);
}

static void a_record_answers_the_trial_of_its_config_and_purpose(void **state)
{
    struct task_proposal p[2];
    struct record r;
    struct task t;
    size_t a;

    (void)state;
    start(&t);
    a = searched_arm(&t);
    ask(&t, p, 2);
    make(&t, a, &p[0].config, 1000, &r);
    assert_true(task_answers(&t, &r, "search", a, &p[0].config));
    assert_false(task_answers(&t, &r, "search", a, &p[1].config));
    assert_false(task_answers(&t, &r, "final", a, &p[0].config));
    assert_false(task_answers(&t, &r, "search", a + 1, &p[0].config));
    snprintf(r.objective, sizeof r.objective, "edp");
    assert_false(task_answers(&t, &r, "search", a, &p[0].config));
    r.objective[0] = '\0';
    r.status = STATUS_CRASH;
    assert_true(task_answers(&t, &r, "search", a, &p[0].config)); /* a failure is an answer */
    r.status = STATUS_LOST;
    assert_false(task_answers(&t, &r, "search", a, &p[0].config));
    record_fini(&r);
    task_fini(&t);
}

static void a_config_that_makes_no_program_is_refused_and_not_proposed_again(void **state)
{
    struct task_proposal p[1], later[16];
    struct task t;
    size_t n = 0;

    (void)state;
    start(&t);
    ask(&t, p, 1);
    assert_int_equal(task_refuse(&t, p[0].i_arm, &p[0].config), ERR_OK);
    assert_int_equal(t.n_refused, 1);
    assert_int_equal(t.n_failed, 1);
    assert_int_equal(t.n_counted, 0);
    for (int round = 0; round < 20; round++) {
        assert_int_equal(task_ask(&t, 16, later, &n, NULL), ERR_OK);
        for (size_t i = 0; i < n; i++)
            assert_false(space_config_equal(t.arms[p[0].i_arm].space, &later[i].config, &p[0].config));
    }
    task_fini(&t);
}

/* What was measured again later, in a second row of finals, stands for the first. */
static void the_finest_measurement_is_the_last_final_that_is_ok(void **state)
{
    struct task_proposal p[2];
    struct task t;

    (void)state;
    start(&t);
    ask(&t, p, 2);
    take(&t, &p[0].config, 1000, NAN, "search", ORIGIN_JOB);
    take(&t, &p[1].config, 900, NAN, "search", ORIGIN_JOB);
    assert_ptr_equal(task_finest(&t, &t.all[0]), &t.all[0]);
    take(&t, &p[0].config, 0, NAN, "final", ORIGIN_JOB);
    assert_ptr_equal(task_finest(&t, &t.all[0]), &t.all[0]); /* it failed */
    take(&t, &p[0].config, 700, NAN, "final", ORIGIN_LOG);
    assert_int_equal(t.n_finals, 1);
    assert_ptr_equal(task_finest(&t, &t.all[0]), &t.finals[0]);
    assert_ptr_equal(task_winner(&t), &t.finals[0]);
    take(&t, &p[1].config, 100, NAN, "final", ORIGIN_WARM); /* elsewhere */
    assert_int_equal(t.n_finals, 1);
    task_fini(&t);
}

static void ties_follow_the_standard_errors(void **state)
{
    struct measured a = {.value = 1.0}, b = {.value = 1.009};

    (void)state;
    assert_true(measured_tie(&a, &b)); /* under one percent */
    b.value = 1.011;
    assert_false(measured_tie(&a, &b));
    a.record.se = b.record.se = 0.005;
    assert_true(measured_tie(&a, &b)); /* 2 * 0.00707 */
    b.value = 1.02;
    assert_false(measured_tie(&a, &b));
}

static void finals_overrule_the_search(void **state)
{
    struct task t;
    struct task_proposal p[2];

    (void)state;
    start(&t);
    ask(&t, p, 2);
    take(&t, &p[0].config, 1000, NAN, "search", ORIGIN_JOB);
    take(&t, &p[1].config, 990, NAN, "search", ORIGIN_JOB);
    assert_ptr_equal(task_winner(&t), &t.all[1]);
    take(&t, &p[0].config, 800, NAN, "final", ORIGIN_JOB);
    take(&t, &p[1].config, 802, NAN, "final", ORIGIN_JOB);
    assert_ptr_equal(task_winner(&t), &t.finals[0]);
    assert_int_equal(task_n_ties(&t), 1);
    assert_int_equal(t.n_counted, 2);
    task_fini(&t);
}

/* The table of a task whose default took 1000 ns and another config `time_ns` in the finals. */
static void print_finals(double time_ns, struct buf *out)
{
    struct task t;
    struct task_proposal p[1];
    const struct config *fallback;
    struct job j;

    job_init(&j);
    start(&t);
    ask(&t, p, 1);
    fallback = &t.arms[searched_arm(&t)].fallback;
    if (space_config_equal(t.arms[searched_arm(&t)].space, fallback, &p[0].config))
        ask(&t, p, 1);
    take(&t, fallback, 1000, NAN, "search", ORIGIN_JOB);
    take(&t, &p[0].config, time_ns, NAN, "search", ORIGIN_JOB);
    take(&t, fallback, 1000, NAN, "final", ORIGIN_JOB);
    take(&t, &p[0].config, time_ns, NAN, "final", ORIGIN_JOB);
    buf_clear(out);
    table_print(&j, &t, 1, "x.jsonl", "x.best.jsonl", out);
    task_fini(&t);
}

static void the_table_tells_a_gain_a_tie_and_a_default_that_stands(void **state)
{
    struct buf said;

    (void)state;
    buf_init(&said, 65536);
    print_finals(500, &said);
    assert_non_null(strstr(buf_text(&said), "2.00x\n"));
    assert_null(strstr(buf_text(&said), "the default:"));
    print_finals(995, &said); /* half a percent is a tie */
    assert_non_null(strstr(buf_text(&said), "tie\n"));
    assert_non_null(strstr(buf_text(&said), "not told apart from the default: dense/gemm_packed"));
    assert_null(strstr(buf_text(&said), "1.01x"));
    print_finals(1500, &said); /* never slower than the default of the same finals */
    assert_non_null(strstr(buf_text(&said), "it is the default: nothing better was found"));
    assert_non_null(strstr(buf_text(&said), "1.00x\n"));
    assert_non_null(strstr(buf_text(&said), "log: x.jsonl   best: x.best.jsonl\n"));
    buf_fini(&said);
}

/* The table of a task whose default took 1000 ns and the naive template `naive_ns`; nothing else was tried. */
static void print_naive(double naive_ns, struct buf *out)
{
    struct task t;
    struct record r;
    struct job j;
    size_t naive = 0;

    job_init(&j);
    start(&t);
    while (naive < t.n_arms && !t.arms[naive].baseline)
        naive++;
    assert_true(naive < t.n_arms);
    take(&t, &t.arms[searched_arm(&t)].fallback, 1000, NAN, "search", ORIGIN_JOB);
    make(&t, naive, &t.arms[naive].fallback, naive_ns, &r);
    assert_int_equal(task_take(&t, &r, ORIGIN_JOB), ERR_OK);
    record_fini(&r);
    buf_clear(out);
    table_print(&j, &t, 1, "x.jsonl", "x.best.jsonl", out);
    task_fini(&t);
}

static void the_table_says_that_the_naive_kernel_is_faster(void **state)
{
    struct buf said;

    (void)state;
    buf_init(&said, 65536);
    print_naive(800, &said);
    assert_non_null(
        strstr(buf_text(&said), "the naive kernel, dense/naive, is faster here: 0.0008 ms, this one 0.0010 ms"));
    assert_non_null(strstr(buf_text(&said), "nothing better was found among the templates searched\n"));
    assert_non_null(strstr(buf_text(&said), "0.80x"));
    print_naive(995, &said); /* half a percent is no difference */
    assert_null(strstr(buf_text(&said), "faster here"));
    print_naive(1200, &said);
    assert_null(strstr(buf_text(&said), "faster here"));
    assert_non_null(strstr(buf_text(&said), "nothing better was found\n"));
    print_naive(0, &said); /* it failed */
    assert_null(strstr(buf_text(&said), "faster here"));
    buf_fini(&said);
}

/* A network of one layer that stands there three times: 3 x 1000 ns become 3 x 500 ns; the best reaches a quarter of
 * the device's peak. */
static void the_table_sums_a_network_and_tells_the_share_of_the_peak(void **state)
{
    struct task t;
    struct task_proposal p[1];
    const struct config *fallback;
    struct record *best;
    struct buf said;
    struct job j;

    (void)state;
    job_init(&j);
    snprintf(j.network, sizeof j.network, "net");
    start(&t);
    t.count = 3;
    ask(&t, p, 1);
    fallback = &t.arms[searched_arm(&t)].fallback;
    if (space_config_equal(t.arms[searched_arm(&t)].space, fallback, &p[0].config))
        ask(&t, p, 1);
    take(&t, fallback, 1000, NAN, "search", ORIGIN_JOB);
    take(&t, &p[0].config, 500, NAN, "search", ORIGIN_JOB);
    take(&t, fallback, 1000, NAN, "final", ORIGIN_JOB);
    take(&t, &p[0].config, 500, NAN, "final", ORIGIN_JOB);
    best = (struct record *)(uintptr_t)&task_winner(&t)->record;
    best->flops = 5000; /* 10 GFLOPS */
    cJSON_Delete(best->device);
    best->device = cJSON_Parse("{\"peak_gflops\":40}");
    buf_init(&said, 65536);
    table_print(&j, &t, 1, NULL, NULL, &said);
    assert_non_null(strstr(buf_text(&said), "     10.0   25% "));
    assert_non_null(strstr(buf_text(&said), "net, 1 of 1 layers, sum of count x time: default 0.003 ms, best 0.002 ms, "
                                            "2.00x\n")); /* 0.0015 */
    assert_null(strstr(buf_text(&said), "log: "));
    buf_fini(&said);
    task_fini(&t);
}

static void the_table_fits_100_columns(void **state)
{
    struct buf said;
    const char *line, *end;

    (void)state;
    buf_init(&said, 65536);
    print_finals(500, &said);
    for (line = buf_text(&said); (end = strchr(line, '\n')) != NULL; line = end + 1)
        if (end - line > 100)
            fail_msg("%d columns: %.*s", (int)(end - line), (int)(end - line), line);
    buf_fini(&said);
}

/* A job with a list of templates and one or two (`other` not NULL) workloads. */
static void named_job(const char *templates, const char *workload, const char *other, struct job *j)
{
    job_init(j);
    snprintf(j->strategy, sizeof j->strategy, "random");
    snprintf(j->templates, sizeof j->templates, "%s", templates);
    assert_int_equal(job_add_layer(j, workload, "", 1), ERR_OK);
    if (other)
        assert_int_equal(job_add_layer(j, other, "", 1), ERR_OK);
}

static void refused(const char *templates, const char *workload, enum err e, const char *words)
{
    const struct device_desc d = test_cpu();
    struct why why = {""};
    struct task t;
    struct job j;

    named_job(templates, workload, NULL, &j);
    assert_int_equal(task_init(&t, &j, 0, &d, &why), e);
    if (!strstr(why.text, words))
        fail_msg("\"%s\" does not tell \"%s\"", why.text, words);
    job_fini(&j);
}

/* The reason is that of the template that was asked for, not of another one. */
static void a_refusal_is_that_of_the_template_named(void **state)
{
    (void)state;
    refused("conv2d/i8", "conv2d i8 n=1 c=6 h=8 w=8 k=6 r=3 s=3", ERR_NOT_FOUND, "c=6");
    refused("conv2d/winograd_tile", "conv2d f32 n=1 c=8 h=8 w=8 k=8 r=5 s=5", ERR_NOT_FOUND, "conv2d/winograd_tile");
    refused("conv2d/direct_tile", "depthwise_conv2d f32 n=1 c=8 h=8 w=8 r=3 s=3", ERR_INPUT,
            "does not compute depthwise_conv2d");
}

/* Of several workloads a template named limits those it can compute; the others keep all of theirs, and it is said. */
static void a_template_limits_the_workloads_it_computes(void **state)
{
    static const char conv[] = "conv2d f32 n=1 c=8 h=8 w=8 k=8 r=3 s=3",
                      wide[] = "conv2d f32 n=1 c=8 h=8 w=8 k=8 r=5 s=5";
    const struct device_desc d = test_cpu();
    struct why why = {""};
    struct task limited, other;
    struct job j;

    (void)state;
    for (int i = 0; i < 2; i++) {
        named_job("conv2d/winograd_tile", conv, i ? wide : WORKLOAD, &j);
        assert_int_equal(task_init(&limited, &j, 0, &d, &why), ERR_OK);
        assert_int_equal(task_init(&other, &j, 1, &d, &why), ERR_OK);
        assert_string_equal(limited.arms[searched_arm(&limited)].id, "conv2d/winograd_tile");
        assert_int_equal(limited.n_arms, 2); /* and the baseline */
        assert_string_equal(limited.note, "");
        assert_true(other.n_arms > 2);
        assert_non_null(strstr(other.note, "conv2d/winograd_tile"));
        assert_non_null(strstr(other.note, "all templates are searched"));
        task_fini(&limited);
        task_fini(&other);
        job_fini(&j);
    }
    named_job("dense/naive", conv, wide, &j);
    assert_int_equal(task_init(&other, &j, 0, &d, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "dense/naive computes none of the 2 workloads"));
    job_fini(&j);
}

/* Winograd's is the one arithmetic of a convolution that does without some of its products. */
static void plain_arithmetic_leaves_winograd_out(void **state)
{
    static const char conv[] = "conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1";
    const struct device_desc d = test_cpu();
    size_t n_winograd[2] = {0, 0}, n_arms[2];
    struct why why = {""};
    struct task t;
    struct job j;

    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        named_job("", conv, NULL, &j);
        j.plain = plain;
        assert_int_equal(task_init(&t, &j, 0, &d, &why), ERR_OK);
        for (size_t i = 0; i < t.n_arms; i++)
            n_winograd[plain] += strstr(t.arms[i].id, "winograd") != NULL;
        n_arms[plain] = t.n_arms;
        task_fini(&t);
        job_fini(&j);
    }
    assert_true(n_winograd[0] > 0);
    assert_int_equal(n_winograd[1], 0);
    assert_int_equal(n_arms[1], n_arms[0] - n_winograd[0]);
    named_job("conv2d/winograd_tile", conv, NULL, &j);
    j.plain = true;
    assert_int_equal(task_init(&t, &j, 0, &d, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "conv2d/winograd_tile is left out by --exactness plain"));
    job_fini(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_become_the_anchor),
        cmocka_unit_test(a_config_is_counted_once),
        cmocka_unit_test(warm_records_inform_but_do_not_count),
        cmocka_unit_test(records_of_other_work_are_left_alone),
        cmocka_unit_test(a_proposal_comes_once),
        cmocka_unit_test(a_four_times_faster_best_opens_an_epoch),
        cmocka_unit_test(a_failed_bridge_is_not_tried_again),
        cmocka_unit_test(an_interrupted_run_finds_its_anchor_again),
        cmocka_unit_test(the_newest_anchor_that_is_known_is_restored),
        cmocka_unit_test(an_anchor_without_its_first_counts_by_its_own_time),
        cmocka_unit_test(an_anchor_whose_program_changed_is_not_restored),
        cmocka_unit_test(the_top_are_the_best_in_order_without_those_given_up),
        cmocka_unit_test(a_record_answers_the_trial_of_its_config_and_purpose),
        cmocka_unit_test(a_config_that_makes_no_program_is_refused_and_not_proposed_again),
        cmocka_unit_test(the_finest_measurement_is_the_last_final_that_is_ok),
        cmocka_unit_test(ties_follow_the_standard_errors),
        cmocka_unit_test(finals_overrule_the_search),
        cmocka_unit_test(the_table_tells_a_gain_a_tie_and_a_default_that_stands),
        cmocka_unit_test(the_table_says_that_the_naive_kernel_is_faster),
        cmocka_unit_test(plain_arithmetic_leaves_winograd_out),
        cmocka_unit_test(the_table_sums_a_network_and_tells_the_share_of_the_peak),
        cmocka_unit_test(the_table_fits_100_columns),
        cmocka_unit_test(a_refusal_is_that_of_the_template_named),
        cmocka_unit_test(a_template_limits_the_workloads_it_computes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
