/* SPDX-License-Identifier: MIT */
/* When an agent leases, builds and times what: its steps in an order of the test's own. */
#include "town.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct town t;
static struct sim_job *job;

/* ---- steps by hand: a letter each, upper case where there must be something to do ----
 * l lease, b build, c build (second builder), t time, r renew and beat */

static char off_script[128]; /* what went otherwise first */

static bool take_step(struct farm *f, char letter)
{
    switch (letter | 32) {
    case 'l':
        return farm_lease_step(f, 0);
    case 'b':
        return farm_build_step(f, 0);
    case 'c':
        return farm_build_step(f, 1);
    case 't':
        return farm_time_step(f, 0);
    default:
        return farm_beat_step(f, 0);
    }
}

static void play(struct crew *c, const char *script)
{
    struct farm *f = ((struct crew_agent *)c)->farm;

    for (const char *at = script; *at && !atomic_load(&c->stop); at++) {
        const bool expected = *at >= 'A' && *at <= 'Z', got = take_step(f, *at);

        if (got != expected && !off_script[0])
            snprintf(off_script, sizeof off_script, "%s: step %d, '%c', had %s to do", script, (int)(at - script), *at,
                     got ? "something" : "nothing");
    }
}

static struct crew_agent *begin(int n_trials, int batch)
{
    struct crew_agent *a;

    town_open(&t, 1);
    a = town_agent(&t, "a0");
    a->options.batch = batch;
    job = town_job(&t);
    for (int i = 0; i < n_trials; i++)
        sim_job_add(job, "", -1);
    off_script[0] = '\0';
    return a;
}

/* Runs the town and closes it, but for the job's records. */
static void run(void)
{
    town_run(&t, 600);
    if (off_script[0])
        fail_msg("%s", off_script);
}

static void expect_all_ok(void)
{
    for (int i = 0; i < job->n; i++)
        if (job->trials[i].n_records != 1 || job->trials[i].record.status != STATUS_OK)
            fail_msg("trial %d: %d records, %s: %s", i, job->trials[i].n_records,
                     status_name(job->trials[i].record.status),
                     job->trials[i].record.why ? job->trials[i].record.why : "");
}

/* The programs of the i-th request of that kind, "0 1 2". */
static void expect_asked(const struct crew_agent *a, const char *op, int i, const char *programs)
{
    const struct sim_asked *x = sim_asked(&a->crew.children, op, i);
    char text[256] = "";

    for (int k = 0; x && k < x->n; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", k ? " " : "", (long long)x->programs[k]);
    if (strcmp(text, programs) != 0)
        fail_msg("%s request %d was for '%s', expected '%s'", op, i, text, programs);
}

/* ---- who has work when ---- */

static void takes_turns(struct crew *c)
{
    play(c, "tbLtlBlBlBlBblTL");
}

static void a_lease_is_taken_when_the_last_trial_is_at_a_builder(void **state)
{
    (void)state;
    begin(12, 4)->crew.by_hand = takes_turns;
    run();
    expect_all_ok();
    expect_asked(&t.agents[0], "time", 0, "0 1 2 3");
    town_close(&t);
}

static void with_two_builders(struct crew *c)
{
    play(c, "LlBCBLTtBCBCl");
}

/* Two builders: a new lease is taken when less than two trials wait for them. */
static void builders_do_not_wait_for_a_lease(void **state)
{
    struct crew_agent *a = begin(12, 4);

    (void)state;
    a->rig_options.builders = 2;
    a->crew.by_hand = with_two_builders;
    run();
    expect_all_ok();
    town_close(&t);
}

static void until_full(struct crew *c)
{
    play(c, "LBBlTL");
}

static void nothing_is_leased_while_a_whole_batch_waits_for_the_device(void **state)
{
    (void)state;
    begin(8, 2)->crew.by_hand = until_full;
    run();
    expect_all_ok();
    town_close(&t);
}

static struct crew *on_shared_cpus;

/* While a batch is timed. */
static void nothing_is_built_now(const struct sim_asked *x, void *arg)
{
    if (strcmp(x->op, "time") == 0 && sim_n_asked(arg, "time") == 1)
        play(on_shared_cpus, "Lb");
}

static void on_cpus_of_one(struct crew *c)
{
    on_shared_cpus = c;
    play(c, "LBtBTtBtBT");
}

/* A batch is built, then timed: never both at a time. */
static void without_overlap_building_and_timing_take_turns(void **state)
{
    struct crew_agent *a = begin(4, 2);

    (void)state;
    a->options.overlap = false;
    a->rig_options.builders = 2;
    a->crew.by_hand = on_cpus_of_one;
    a->crew.children.saw = nothing_is_built_now;
    a->crew.children.arg = &a->crew.children;
    run();
    expect_all_ok();
    assert_int_equal(sim_n_asked(&a->crew.children, "time"), 2);
    town_close(&t);
}

static int n_built_beside;

static void something_is_built_now(const struct sim_asked *x, void *arg)
{
    if (strcmp(x->op, "time") == 0 && sim_n_asked(arg, "time") == 1)
        n_built_beside = take_step(((struct crew_agent *)on_shared_cpus)->farm, 'b');
}

static void one_while_another_is_timed(struct crew *c)
{
    on_shared_cpus = c;
    play(c, "LBT");
}

static void with_overlap_a_trial_is_built_while_another_is_timed(void **state)
{
    struct crew_agent *a = begin(3, 2);

    (void)state;
    n_built_beside = 0;
    a->crew.by_hand = one_while_another_is_timed;
    a->crew.children.saw = something_is_built_now;
    a->crew.children.arg = &a->crew.children;
    run();
    expect_all_ok();
    assert_int_equal(n_built_beside, 1);
    expect_asked(a, "time", 0, "0"); /* half a batch */
    town_close(&t);
}

static void one_by_one(struct crew *c)
{
    play(c, "LBtBtBtBTBtBT");
}

/* A batch of one would have an anchor and a canary of its own; the last ones wait for nobody. */
static void half_a_batch_is_waited_for_while_there_is_something_to_build(void **state)
{
    struct crew_agent *a = begin(6, 8);

    (void)state;
    a->crew.by_hand = one_by_one;
    run();
    expect_all_ok();
    expect_asked(a, "time", 0, "0 1 2 3");
    expect_asked(a, "time", 1, "4 5");
    town_close(&t);
}

/* A device that shares its host's cores, and an agent told not to. */
static void overlap_is_for_devices_that_allow_it(void **state)
{
    struct crew_agent *a = begin(2, 2), *b;

    (void)state;
    a->crew.children.desc.shares_host = true;
    b = town_agent(&t, "a1");
    b->options.overlap = false;
    b->options.mix = true;
    b->rig_options.builders = 3;
    for (int i = 0; i < 30; i++)
        sim_job_add(job, "", -1);
    run();
    expect_all_ok();
    for (int i = 0; i < 2; i++) {
        const struct sim_children *c = &t.agents[i].crew.children;

        for (int k = 0; k < sim_n_asked(c, "time"); k++)
            for (int v = 0; v < sim_n_asked(c, "verify"); v++) {
                const struct sim_asked *x = sim_asked(c, "time", k), *y = sim_asked(c, "verify", v);

                assert_true(x->to_ns <= y->from_ns || y->to_ns <= x->from_ns);
            }
    }
    town_close(&t);
}

static void builds_all(struct crew *c)
{
    play(c, "LBBBBBBBb");
}

/* ---- what is timed together ---- */

static void a_batch_has_one_anchor_workload_and_purpose(void **state)
{
    struct crew_agent *a = begin(0, 8);

    (void)state;
    sim_job_add(job, "", -1);                      /* 0 */
    sim_job_add(job, "", -1);                      /* 1 */
    sim_job_add(job, "", 0);                       /* 2 */
    sim_job_add(job, "", 0)->workload = "another"; /* 3 */
    sim_job_add(job, "", 0);                       /* 4 */
    sim_job_add(job, "", 1);                       /* 5 */
    sim_job_add(job, "", 0)->purpose = "redo";     /* 6 */
    a->crew.by_hand = builds_all;
    run();
    expect_all_ok();
    expect_asked(a, "time", 0, "0 1");
    expect_asked(a, "time", 1, "2 4");
    expect_asked(a, "time", 2, "3");
    expect_asked(a, "time", 3, "5");
    expect_asked(a, "time", 4, "6");
    assert_int_equal(sim_asked(&a->crew.children, "time", 0)->anchor, SIM_NONE);
    assert_int_equal(sim_asked(&a->crew.children, "time", 1)->anchor, 0);
    assert_int_equal(sim_asked(&a->crew.children, "time", 3)->anchor, 1);
    town_close(&t);
}

/* Half of the limit, in which the anchor counts as one more candidate: of 1 MiB each of 8 MiB three fit. */
static void a_batch_fits_half_of_its_memory_limit(void **state)
{
    struct crew_agent *a = begin(0, 8);

    (void)state;
    for (int i = 0; i < 7; i++) {
        struct sim_trial *x = sim_job_add(job, "", -1);

        x->n_elems = (1 << 20) / 4;
        x->limits = "\"build_s\":10,\"run_s\":5,\"memory_bytes\":8388608";
    }
    a->crew.by_hand = builds_all;
    run();
    expect_all_ok();
    expect_asked(a, "time", 0, "0 1 2");
    expect_asked(a, "time", 1, "3 4 5");
    expect_asked(a, "time", 2, "6");
    town_close(&t);
}

static void a_lease_asks_for_a_batch(void **state)
{
    struct crew_agent *a = begin(7, 3);

    (void)state;
    run();
    expect_all_ok();
    for (int i = 0; i < sim_n_asked(&a->crew.children, "time"); i++)
        assert_in_range(sim_asked(&a->crew.children, "time", i)->n, 1, 3);
    town_close(&t);
}

/* ---- finals ---- */

static void finals_by_hand(struct crew *c)
{
    play(c, "LBtBtBTt");
}

static void finalists_wait_until_all_are_ready(void **state)
{
    struct crew_agent *a = begin(3, 8);

    (void)state;
    for (int i = 0; i < 3; i++)
        job->trials[i].purpose = "final";
    a->crew.by_hand = finals_by_hand;
    run();
    expect_all_ok();
    expect_asked(a, "time", 0, "0 1 2");
    town_close(&t);
}

static void finals_of_one_lease(struct crew *c)
{
    play(c, "LBtBTBT");
}

static void finalists_do_not_wait_for_other_purposes(void **state)
{
    struct crew_agent *a = begin(3, 8);

    (void)state;
    job->trials[0].purpose = job->trials[1].purpose = "final";
    a->crew.by_hand = finals_of_one_lease;
    run();
    expect_all_ok();
    expect_asked(a, "time", 0, "0 1");
    expect_asked(a, "time", 1, "2");
    town_close(&t);
}

static void finals_that_fail(struct crew *c)
{
    play(c, "LBtBtBT"); /* the second does not compile: it is answered, and nobody waits for it */
}

static void a_finalist_that_fails_is_not_waited_for(void **state)
{
    struct crew_agent *a = begin(0, 8);

    (void)state;
    sim_job_add(job, "", -1)->purpose = "final";
    sim_job_add(job, "\"do\":\"compile\"", -1)->purpose = "final";
    sim_job_add(job, "", -1)->purpose = "final";
    a->crew.by_hand = finals_that_fail;
    run();
    expect_asked(a, "time", 0, "0 2");
    assert_int_equal(job->trials[1].record.status, STATUS_COMPILE);
    town_close(&t);
}

static void full_of_finals(struct crew *c)
{
    play(c, "LBtLtBT"); /* two of the four held: a batch, which has room for no other */
}

static void a_whole_batch_of_finalists_waits_no_longer(void **state)
{
    struct crew_agent *a = begin(5, 2);

    (void)state;
    a->rig_options.builders = 2;
    for (int i = 0; i < 5; i++)
        job->trials[i].purpose = "final";
    a->crew.by_hand = full_of_finals;
    run();
    expect_all_ok();
    town_close(&t);
}

/* ---- what the tracker takes back ---- */

static void cancel_job(struct town *town)
{
    (void)town;
    cJSON_Delete(sim_call(t.net, "job_cancel", "{\"job\":\"%s\"}", job->id));
}

static void cancelled_at_three_stages(struct crew *c)
{
    play(c, "LBBB"); /* three ready, three leased */
    cancel_job(&t);
    play(c, "RBBBbTt");
}

static void what_is_cancelled_is_neither_built_nor_timed_nor_sent(void **state)
{
    struct crew_agent *a = begin(6, 6);

    (void)state;
    a->crew.by_hand = cancelled_at_three_stages;
    run();
    assert_int_equal(sim_n_asked(&a->crew.children, "verify"), 3);
    assert_int_equal(sim_n_asked(&a->crew.children, "time"), 0);
    assert_int_equal(a->crew.done, 0);
    for (int i = 0; i < 6; i++)
        assert_int_equal(job->trials[i].n_records, 0);
    town_close(&t);
}

static void cancelled_finals(struct crew *c)
{
    play(c, "LBBt");
    cancel_job(&t); /* the third finalist is dropped: the others wait for it no longer */
    play(c, "RT");
}

static void finalists_do_not_wait_for_what_was_taken_back(void **state)
{
    struct crew_agent *a = begin(3, 8);

    (void)state;
    for (int i = 0; i < 3; i++)
        job->trials[i].purpose = "final";
    a->crew.by_hand = cancelled_finals;
    run();
    assert_int_equal(sim_n_asked(&a->crew.children, "time"), 0);
    town_close(&t);
}

static void cancel_while_timed(const struct sim_asked *x, void *arg)
{
    (void)arg;
    if (strcmp(x->op, "time") == 0) {
        cancel_job(&t);
        take_step(t.agents[0].farm, 'r');
    }
}

static void what_is_cancelled_while_it_is_timed_is_not_sent(void **state)
{
    struct crew_agent *a = begin(3, 8);

    (void)state;
    a->crew.children.saw = cancel_while_timed;
    run();
    assert_int_equal(sim_n_asked(&a->crew.children, "time"), 1);
    assert_int_equal(a->crew.done, 0);
    town_close(&t);
}

static void lease_and_lose(struct crew *c)
{
    play(c, "LB");
    world_sleep(t.world, 15 * WORLD_S); /* over its lease of 6 s, and the other agent is there from 10 s on */
    play(c, "RBbTt");
}

static void what_another_agent_has_by_now_is_not_timed(void **state)
{
    struct crew_agent *a = begin(2, 8), *b;

    (void)state;
    net_set_lease_ms(t.net, 6000);
    b = town_agent(&t, "a1");
    b->crew.start_ns = 10 * WORLD_S;
    a->crew.by_hand = lease_and_lose;
    run();
    expect_all_ok();
    assert_int_equal(sim_n_asked(&a->crew.children, "time"), 0);
    assert_string_equal(job->trials[0].record.agent, "a1");
    town_close(&t);
}

/* ---- children that begin with nothing ---- */

static void eat_at_once(const struct sim_asked *x, void *arg)
{
    struct sim_children *c = arg;

    c->n_deaf = strcmp(x->op, "verify") == 0;
    c->is_hungry = true;
}

/* What a job gives too little memory for is its own affair: no agent leaves for it, one behind the other. */
static void a_job_whose_memory_is_too_little_to_begin_with_is_told_so(void **state)
{
    struct crew_agent *a = begin(6, 1);

    (void)state;
    a->crew.children.saw = eat_at_once;
    a->crew.children.arg = &a->crew.children;
    run();
    for (int i = 0; i < 6; i++)
        assert_string_equal(status_name(job->trials[i].record.status), "limits");
    assert_int_equal(crew_told(&a->crew, "is given back"), 0);
    assert_int_equal(a->crew.n_quits, 0);
    town_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_whose_memory_is_too_little_to_begin_with_is_told_so),
        cmocka_unit_test(a_lease_is_taken_when_the_last_trial_is_at_a_builder),
        cmocka_unit_test(builders_do_not_wait_for_a_lease),
        cmocka_unit_test(nothing_is_leased_while_a_whole_batch_waits_for_the_device),
        cmocka_unit_test(without_overlap_building_and_timing_take_turns),
        cmocka_unit_test(with_overlap_a_trial_is_built_while_another_is_timed),
        cmocka_unit_test(half_a_batch_is_waited_for_while_there_is_something_to_build),
        cmocka_unit_test(overlap_is_for_devices_that_allow_it),
        cmocka_unit_test(a_batch_has_one_anchor_workload_and_purpose),
        cmocka_unit_test(a_batch_fits_half_of_its_memory_limit),
        cmocka_unit_test(a_lease_asks_for_a_batch),
        cmocka_unit_test(finalists_wait_until_all_are_ready),
        cmocka_unit_test(finalists_do_not_wait_for_other_purposes),
        cmocka_unit_test(a_finalist_that_fails_is_not_waited_for),
        cmocka_unit_test(a_whole_batch_of_finalists_waits_no_longer),
        cmocka_unit_test(what_is_cancelled_is_neither_built_nor_timed_nor_sent),
        cmocka_unit_test(finalists_do_not_wait_for_what_was_taken_back),
        cmocka_unit_test(what_is_cancelled_while_it_is_timed_is_not_sent),
        cmocka_unit_test(what_another_agent_has_by_now_is_not_timed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
