/* SPDX-License-Identifier: MIT */
/* One device and its children, which crash, hang and lie: what becomes of the trials, and of the children. */
#include "rig_town.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- verifying ---- */

static void a_verify_that_dies_is_tried_once_more_in_a_fresh_child(void **state)
{
    const struct sim_asked *first, *second;

    (void)state;
    begin();
    add("crash_once", -1);
    town_run(&t, 600);
    expect_ok(0);
    assert_int_equal(sim_n_asked(children, "verify"), 2);
    first = sim_asked(children, "verify", 0);
    second = sim_asked(children, "verify", 1);
    assert_true(first->fate == SANDBOX_DIED && second->fate == SANDBOX_REPLIED);
    assert_int_not_equal(first->child, second->child);
    town_close(&t);
}

static void ends_of_children_are_failures_of_their_trials(void **state)
{
    (void)state;
    begin();
    add("crash", -1);
    add("hang", -1);
    add("eat", -1);
    add("", -1);
    town_run(&t, 600);
    expect(0, STATUS_CRASH, "verify", "signal 11");
    expect(1, STATUS_TIMEOUT, "verify", "too long");
    expect(2, STATUS_LIMITS, "verify", "memory");
    expect_ok(3);
    assert_int_equal(sim_n_asked_of(children, "verify", 0), 2);
    assert_int_equal(sim_n_asked_of(children, "verify", 1), 1); /* only who dies gets a second try */
    assert_int_equal(sim_n_asked_of(children, "verify", 2), 1);
    assert_int_equal(sim_n_asked(children, "time"), 1);
    town_close(&t);
}

static void answers_of_children_are_statuses_of_their_trials(void **state)
{
    static const char *const how[] = {"compile", "limits", "wrong", "runtime"};

    (void)state;
    begin();
    for (int i = 0; i < 4; i++)
        add(how[i], -1);
    town_run(&t, 600);
    expect(0, STATUS_COMPILE, "build", "does not build");
    expect(1, STATUS_LIMITS, "build", "does not build");
    expect(2, STATUS_WRONG, "verify", "not right");
    expect(3, STATUS_RUNTIME, "verify", "not right");
    assert_int_equal(sim_n_asked(children, "time"), 0);
    town_close(&t);
}

/* What does not build harmed nobody; what ran and went wrong may have. */
static void a_build_child_is_replaced_after_a_bad_end(void **state)
{
    static const char *const how[] = {"", "compile", "limits", "", "wrong", "", "runtime", "", "hang", ""};
    static const int child[] = {0, 0, 0, 0, 0, 1, 1, 2, 2, 3};
    int first;

    (void)state;
    begin()->options.batch = 10;
    for (int i = 0; i < 10; i++)
        add(how[i], -1);
    t.agents[0].crew.by_hand = all_built_first;
    town_run(&t, 600);
    first = sim_asked(children, "verify", 0)->child;
    for (int i = 0; i < 10; i++)
        assert_int_equal(sim_asked(children, "verify", i)->child, first + child[i]);
    town_close(&t);
}

static void limits_are_the_trials_own(void **state)
{
    const struct sandbox_limits *l;

    (void)state;
    begin();
    add("", -1)->limits = "\"build_s\":7,\"run_s\":3,\"memory_bytes\":9000000";
    job->trials[0].n_elems = 1 << 18; /* 1 MiB: 0.021 s more for the host */
    add("", -1)->build_s = 2;
    job->trials[1].run_s = 1;
    town_run(&t, 600);
    l = &sim_asked(children, "verify", 0)->limits;
    assert_true(l->build_s == 7 && fabs(l->run_s - 3.021) < 0.001 && l->start_s == 120);
    assert_int_equal(l->memory_bytes, 9000000);
    /* 8 passes, 20 s of a driver's compiler, and an hour for a device that others time on */
    assert_true(fabs(l->all_s - (120 + 7 + 8 * 3.021 + 20 + 3600)) < 0.01);
    l = &sim_asked(children, "verify", 1)->limits;
    assert_true(l->build_s == 2 && fabs(l->run_s - 1) < 0.001);
    town_close(&t);
}

static void a_batch_has_the_largest_limits_of_its_trials(void **state)
{
    const struct sandbox_limits *l;

    (void)state;
    begin();
    add("", -1)->limits = "\"build_s\":7,\"run_s\":3,\"memory_bytes\":700000000";
    add("", -1)->limits = "\"build_s\":2,\"run_s\":6,\"memory_bytes\":900000000";
    add("", -1)->limits = "\"build_s\":2,\"run_s\":1,\"memory_bytes\":600000000";
    t.agents[0].crew.by_hand = all_built_first;
    town_run(&t, 600);
    l = &expect_asked("time", 0, "0 1 2", SIM_NONE)->limits;
    assert_true(l->build_s == 7 && fabs(l->run_s - 6) < 0.001 && l->start_s == 120);
    assert_int_equal(l->memory_bytes, 900000000);
    assert_true(l->all_s > 3 * 2 * 6 && l->all_s < 3600); /* more than their rounds take, and not for ever */
    town_close(&t);
}

/* With the anchor and what its fills take on the host, a small limit is no limit for many. */
static void a_batch_may_take_what_its_buffers_need(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 2; i++) {
        add("", -1)->limits = "\"build_s\":2,\"run_s\":1,\"memory_bytes\":12000000";
        job->trials[i].n_elems = 1 << 18;
    }
    t.agents[0].crew.by_hand = all_built_first;
    town_run(&t, 600);
    assert_int_equal(expect_asked("time", 0, "0 1", SIM_NONE)->limits.memory_bytes, (2 * 2 + 512) << 20);
    town_close(&t);
}

/* ---- timing ---- */

static void a_batch_that_dies_is_timed_one_by_one(void **state)
{
    int children_used[4];

    (void)state;
    begin();
    add("", -1);
    add("bomb", -1);
    add("", -1);
    t.agents[0].crew.by_hand = all_built_first;
    town_run(&t, 600);
    expect_ok(0);
    expect(1, STATUS_CRASH, "time", "signal 11");
    expect_ok(2);
    assert_int_equal(sim_n_asked(children, "time"), 4);
    children_used[0] = expect_asked("time", 0, "0 1 2", SIM_NONE)->child;
    children_used[1] = expect_asked("time", 1, "0", SIM_NONE)->child;
    children_used[2] = expect_asked("time", 2, "1", SIM_NONE)->child;
    children_used[3] = expect_asked("time", 3, "2", SIM_NONE)->child;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_int_not_equal(children_used[i], children_used[k]);
    assert_int_equal(crew_told(&t.agents[0].crew, "once more, alone"), 1);
    town_close(&t);
}

static void what_died_by_chance_is_measured_after_all(void **state)
{
    (void)state;
    begin();
    add("", -1);
    add("bomb_once", -1);
    t.agents[0].crew.by_hand = all_built_first;
    town_run(&t, 600);
    expect_ok(0);
    expect_ok(1);
    town_close(&t);
}

static void ends_while_timing_have_their_statuses(void **state)
{
    (void)state;
    begin();
    add("hang_timed", -1);
    add("eat_timed", -1);
    add("spoilt", -1);
    add("", -1);
    t.agents[0].crew.by_hand = all_built_first;
    town_run(&t, 600);
    expect(0, STATUS_TIMEOUT, "time", "too long");
    expect(1, STATUS_LIMITS, "time", "memory");
    expect(2, STATUS_WRONG, "time", "outputs changed");
    expect_ok(3);
    town_close(&t);
}

static void a_trial_without_an_answer_fails_alone(void **state)
{
    (void)state;
    begin();
    add("", -1);
    add("silent", -1);
    t.agents[0].crew.by_hand = all_built_first;
    town_run(&t, 600);
    expect_ok(0);
    expect(1, STATUS_RUNTIME, "time", "no answer for this trial");
    town_close(&t);
}

static void an_anchor_that_kills_is_left_out(void **state)
{
    (void)state;
    begin();
    add("bomb", -1);
    add("", 0);
    town_run(&t, 600);
    expect_ok(1);
    assert_true(isnan(job->trials[1].record.lnratio));
    assert_string_equal(job->trials[1].record.anchor.hash.hex, "");
    town_close(&t);
}

static void an_anchor_that_cannot_be_loaded_is_told(void **state)
{
    (void)state;
    begin()->crew.children.anchor_why = "it does not fit";
    add("", -1);
    add("", 0);
    town_run(&t, 600);
    expect_ok(1);
    assert_true(isnan(job->trials[1].record.lnratio));
    assert_int_equal(crew_told(&t.agents[0].crew, ": it does not fit"), 1);
    assert_int_equal(crew_told(&t.agents[0].crew, "timed without the anchor"), 1);
    town_close(&t);
}

static void a_device_that_stays_hot_is_told(void **state)
{
    (void)state;
    begin()->crew.children.sense_c = 95;
    children->hot = true;
    add("", -1);
    town_run(&t, 600);
    assert_int_equal(crew_told(&t.agents[0].crew, "did not cool in 300 s: it is at 95 C"), 1);
    town_close(&t);
}

static void the_anchor_is_not_blamed_for_its_candidate(void **state)
{
    const int n = 2; /* together, alone */

    (void)state;
    begin();
    add("", -1);
    add("bomb", 0);
    town_run(&t, 600);
    expect(1, STATUS_CRASH, "time", "signal 11");
    assert_int_equal(sim_n_asked_of(children, "time", 1), n);
    town_close(&t);
}

/* Neither for the canary, nor for a child that never came to it. */
static void the_anchor_is_not_blamed_for_what_came_before_it(void **state)
{
    (void)state;
    begin()->crew.children.canary_kills = true;
    add("", -1);
    add("", 0);
    town_run(&t, 600);
    expect(1, STATUS_CRASH, "time", "canary");
    for (int i = 0; i < sim_n_asked(children, "time"); i++)
        if (sim_asked(children, "time", i)->programs[0] == 1)
            assert_int_equal(sim_asked(children, "time", i)->anchor, 0);
    town_close(&t);
}

static void go_deaf(const struct sim_asked *x, void *arg)
{
    struct sim_children *c = arg;

    if (strcmp(x->op, "time") == 0 && sim_n_asked(c, "time") <= 2)
        c->n_deaf = 1;
}

static void a_child_that_dies_without_a_word_leaves_the_anchor(void **state)
{
    (void)state;
    begin();
    add("", -1);
    add("", 0);
    children->saw = go_deaf;
    children->arg = children;
    town_run(&t, 600);
    for (int i = 0; i < sim_n_asked(children, "time"); i++)
        if (sim_asked(children, "time", i)->programs[0] == 1)
            assert_int_equal(sim_asked(children, "time", i)->anchor, 0);
    town_close(&t);
}

/* ---- disturbed ---- */

static void a_disturbed_batch_is_timed_once_more(void **state)
{
    (void)state;
    begin()->crew.children.n_disturbed = 5;
    add("", -1);
    town_run(&t, 600);
    expect_ok(0);
    assert_int_equal(sim_n_asked(children, "time"), 2); /* and no more: it is busy always */
    assert_int_equal(crew_told(&t.agents[0].crew, "canary changed while 1 trials were timed: once more"), 1);
    assert_true(job->trials[0].record.canary_after == 1.3e6);
    town_close(&t);
}

/* The second answer would be of a process that has run it before. */
static void what_was_wrong_in_a_disturbed_batch_stays_wrong(void **state)
{
    (void)state;
    begin()->crew.children.n_disturbed = 5;
    add("spoilt", -1);
    add("", -1);
    t.agents[0].crew.by_hand = all_built_first;
    town_run(&t, 600);
    expect(0, STATUS_WRONG, "time", "outputs changed");
    expect_ok(1);
    expect_asked("time", 0, "0 1", SIM_NONE);
    expect_asked("time", 1, "1", SIM_NONE);
    assert_int_equal(sim_n_asked(children, "time"), 2);
    town_close(&t);
    begin()->crew.children.n_disturbed = 5;
    add("spoilt", -1);
    town_run(&t, 600);
    expect(0, STATUS_WRONG, "time", "outputs changed");
    assert_int_equal(sim_n_asked(children, "time"), 1); /* nobody is left */
    town_close(&t);
}

/* By more than a tenth (of a logarithm), and no matter which way: what was timed slow at first counts as little. */
static void a_canary_that_changed_by_a_tenth_either_way_disturbs(void **state)
{
    static const struct {
        double times;
        int n_timed;
    } cases[] = {{1.12, 2}, {1 / 1.12, 2}, {3, 2}, {1 / 3.0, 2}, {1.09, 1}, {1 / 1.09, 1}, {1, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin()->crew.children.n_disturbed = 5;
        children->disturbed_by = cases[i].times;
        add("", -1);
        town_run(&t, 600);
        expect_ok(0);
        if (sim_n_asked(children, "time") != cases[i].n_timed)
            fail_msg("%g times as long: timed %d times", cases[i].times, sim_n_asked(children, "time"));
        town_close(&t);
    }
}

static void an_anchor_tells_of_disturbances_itself(void **state)
{
    (void)state;
    begin();
    add("", -1);
    add("", 0);
    add("", -1)->timing = "\"rounds\":1"; /* a baseline: one round asks for no precision */
    job->trials[2].workload = "another";
    t.agents[0].crew.by_hand = all_built_first;
    children->n_disturbed = 4; /* the second time for trial 0 */
    town_run(&t, 600);
    assert_int_equal(sim_n_asked_of(children, "time", 0), 2);
    assert_int_equal(sim_n_asked_of(children, "time", 1), 1);
    assert_int_equal(sim_n_asked_of(children, "time", 2), 1);
    town_close(&t);
}

static void a_quiet_batch_is_timed_once(void **state)
{
    (void)state;
    begin();
    add("", -1);
    town_run(&t, 600);
    assert_int_equal(sim_n_asked(children, "time"), 1);
    town_close(&t);
}

static void orders_of_rounds_differ(void **state)
{
    (void)state;
    begin()->options.batch = 1;
    add("", -1);
    add("", -1);
    town_run(&t, 600);
    assert_true(sim_asked(children, "time", 0)->seed > 0);
    assert_true(sim_asked(children, "time", 0)->seed != sim_asked(children, "time", 1)->seed);
    town_close(&t);
}

/* ---- children and caches over time ---- */

static int n_old_caches;

/* While the first of generation 2 and later is timed, only its own cache and the one before are there. */
static void count_caches(const struct sim_asked *x, void *arg)
{
    char path[PATH_MAX + 32];

    (void)arg;
    for (int64_t g = 0; strcmp(x->op, "time") == 0 && g < x->generation - 1; g++) {
        workdir_cache(&t.agents[0].rig.dir, g, path, sizeof path);
        n_old_caches += access(path, F_OK) == 0;
    }
}

static void children_and_caches_are_replaced_after_64_trials(void **state)
{
    int64_t generations[160];
    int n_verified = 0;

    (void)state;
    begin()->crew.children.saw = count_caches;
    n_old_caches = 0;
    for (int i = 0; i < 150; i++)
        add("", -1);
    town_run(&t, 3600);
    for (int i = 0; i < 150; i++)
        expect_ok(i);
    for (int i = 0; i < sim_n_asked(children, "verify"); i++)
        generations[n_verified++] = sim_asked(children, "verify", i)->generation;
    assert_int_equal(n_verified, 150);
    for (int i = 0; i < 150; i++)
        assert_int_equal(generations[i], i / 64);
    for (int i = 0; i < sim_n_asked(children, "time"); i++)
        for (int k = 0; k < sim_asked(children, "time", i)->n; k++)
            assert_int_equal(generations[sim_asked(children, "time", i)->programs[k]],
                             sim_asked(children, "time", i)->generation);
    assert_int_equal(n_old_caches, 0);
    town_close(&t);
}

/* 60 of a search and 6 finals: they were built before, and are compared in one batch. */
static void finals_stay_with_the_cache_of_their_search(void **state)
{
    int n_finals = 0;

    (void)state;
    begin()->options.batch = 8;
    for (int i = 0; i < 60; i++)
        add("", -1);
    for (int i = 0; i < 6; i++)
        add("", -1)->purpose = "final";
    town_run(&t, 3600);
    for (int i = 0; i < sim_n_asked(children, "verify"); i++)
        assert_int_equal(sim_asked(children, "verify", i)->generation, 0);
    for (int i = 0; i < sim_n_asked(children, "time"); i++)
        if (sim_asked(children, "time", i)->programs[0] >= 60) {
            assert_int_equal(sim_asked(children, "time", i)->n, 6);
            n_finals++;
        }
    assert_int_equal(n_finals, 1);
    town_close(&t);
}

/* Of a device that answers from records nothing is built. */
static void a_simulated_devices_children_stay(void **state)
{
    struct crew_agent *a = begin();

    (void)state;
    children->simulated = true;
    a->rig_options.builders = 4;
    for (int i = 0; i < 100; i++)
        add("", i ? 0 : -1);
    town_run(&t, 3600);
    assert_int_equal(children->n_started, 3);               /* to describe; to build; to time */
    assert_int_equal(sim_n_asked(children, "verify"), 100); /* no anchor has to be made ready */
    town_close(&t);
}

static void a_timing_child_is_replaced_after_a_bad_record(void **state)
{
    (void)state;
    begin()->options.batch = 1;
    add("", -1);
    add("spoilt", -1);
    add("", -1);
    town_run(&t, 600);
    assert_int_equal(sim_asked(children, "time", 0)->child, sim_asked(children, "time", 1)->child);
    assert_int_not_equal(sim_asked(children, "time", 1)->child, sim_asked(children, "time", 2)->child);
    town_close(&t);
}

static void batch_by_batch(struct crew *c)
{
    struct farm *f = ((struct crew_agent *)c)->farm;

    for (int i = 0; i < 3; i++) {
        all_built_first(c);
        farm_time_step(f, 0);
    }
}

/* Each batch of 16 is timed twice here: 64 are over after 32 trials. */
static void a_timing_child_is_replaced_after_64_trials(void **state)
{
    int n_children = 1;

    (void)state;
    begin()->crew.children.n_disturbed = 1000;
    t.agents[0].options.batch = 16;
    t.agents[0].crew.by_hand = batch_by_batch;
    for (int i = 0; i < 48; i++)
        add("", -1);
    town_run(&t, 3600);
    for (int i = 1; i < sim_n_asked(children, "time"); i++)
        n_children += sim_asked(children, "time", i)->child != sim_asked(children, "time", i - 1)->child;
    assert_int_equal(n_children, 2);
    town_close(&t);
}

static void an_anchor_is_made_ready_once_in_a_cache(void **state)
{
    (void)state;
    begin()->options.batch = 16;
    for (int i = 0; i < 140; i++)
        add("", i ? 0 : -1);
    town_run(&t, 3600);
    assert_int_equal(sim_n_asked_of(children, "verify", 0), 1 + 3); /* as a trial; as the anchor in three caches */
    town_close(&t);
}

static void an_anchor_that_cannot_be_built_is_told(void **state)
{
    (void)state;
    begin();
    add("crash", -1);
    add("", 0);
    town_run(&t, 600);
    assert_true(crew_told(&t.agents[0].crew, "cannot be built") >= 1);
    expect_ok(1);
    town_close(&t);
}

/* ---- children that cannot be had ---- */

static void no_more_processes(const struct sim_asked *x, void *arg)
{
    struct sim_children *c = arg;

    if (strcmp(x->op, "verify") == 0 && x->child > 0 && c->n_started == 2)
        c->n_starts_to_fail = 1;
}

/* No fault of a kernel: another agent has to do it. */
static void an_agent_that_cannot_start_a_child_leaves(void **state)
{
    struct crew_agent *a = begin(), *b = town_agent(&t, "a1");

    (void)state;
    a->crew.children.saw = no_more_processes;
    a->crew.children.arg = &a->crew.children;
    b->crew.start_ns = 5 * WORLD_S;
    add("", -1);
    add("crash", -1);
    add("", -1);
    town_run(&t, 600);
    assert_int_equal(a->crew.n_quits, 1);
    assert_false(a->crew.left_well);
    assert_int_equal(crew_told(&a->crew, "leaving: the machine is out of processes"), 1);
    expect_ok(0);
    expect(1, STATUS_CRASH, "verify", "signal 11");
    expect_ok(2);
    assert_string_equal(job->trials[2].record.agent, "a1");
    town_close(&t);
}

static void expect_no_start(enum err e, const char *words)
{
    t.stay_ns = 10 * WORLD_S;
    town_run(&t, 600);
    assert_int_equal(t.agents[0].crew.e, e);
    if (!strstr(t.agents[0].crew.why.text, words))
        fail_msg("'%s' does not say '%s'", t.agents[0].crew.why.text, words);
    assert_int_equal(children->n_alive, 0);
    town_close(&t);
}

static void a_device_that_cannot_be_asked_is_refused(void **state)
{
    (void)state;
    begin()->crew.children.refused = "no such platform";
    t.n_jobs = 0;
    expect_no_start(ERR_DEVICE, "cannot open the device opencl:0.0: no such platform");
    begin()->crew.children.n_deaf = 1;
    t.n_jobs = 0;
    expect_no_start(ERR_CHILD, "cannot ask the device opencl:0.0: died of signal 9");
    begin()->crew.children.n_starts_to_fail = 1;
    t.n_jobs = 0;
    expect_no_start(ERR_IO, "out of processes");
    begin()->rig_options.device = "toaster";
    t.n_jobs = 0;
    expect_no_start(ERR_INPUT, "toaster");
}

/* It was there when the agent began. */
static void refuse_later(const struct sim_asked *x, void *arg)
{
    if (strcmp(x->op, "describe") != 0)
        ((struct sim_children *)arg)->refused = "it fell off the bus";
}

static void refuse_to_time(const struct sim_asked *x, void *arg)
{
    if (strcmp(x->op, "time") == 0)
        ((struct sim_children *)arg)->refused = "it fell off the bus";
}

/* It says nothing of a kernel: the agent leaves, and another does the trial. */
static void a_device_that_goes_away_fails_no_trial(void **state)
{
    static void (*const when[])(const struct sim_asked *, void *) = {refuse_later, refuse_to_time};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct crew_agent *a = begin(), *later = town_agent(&t, "a1");

        later->crew.start_ns = 120 * WORLD_S;
        children->saw = when[i];
        children->arg = children;
        add("", -1);
        town_run(&t, 600);
        expect_ok(0);
        assert_true(crew_told(&a->crew, "is given back: it fell off the bus") >= 3);
        assert_true(a->crew.ended_ns < 60 * WORLD_S);
        town_close(&t);
    }
}

/* ---- a disk that fails meanwhile ---- */

static void lose_the_disk(const struct sim_asked *x, void *arg)
{
    (void)arg;
    if (strcmp(x->op, "verify") == 0)
        town_lose_disk(&t, t.agents[0].rig.dir.temp.path);
}

/* What a child says then may be the disk's: it counts when it is said on one that takes all. */
static void what_fails_while_the_disk_does_is_done_again(void **state)
{
    static const char *const how[] = {"compile", "runtime", "wrong", "crash"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct crew_agent *a = begin();

        add(how[i], -1);
        children->saw = lose_the_disk;
        town_at(&t, 20000, town_mend_disk);
        town_run(&t, 600);
        assert_int_equal(crew_told(&a->crew, "is given back: "), 1);
        assert_int_equal(job->trials[0].n_records, 1);
        assert_string_equal(status_name(job->trials[0].record.status), how[i]);
        town_close(&t);
    }
}

/* Its beats alone tell of it, for it polls for nothing: else it would be taken for lost after 90 s. */
static void an_agent_whose_disk_fails_goes_on_saying_so(void **state)
{
    struct crew_agent *a = begin();
    int n_hindered = 0;

    (void)state;
    add("compile", -1);
    children->saw = lose_the_disk;
    town_at(&t, 280000, town_mend_disk);
    town_run(&t, 600);
    for (int i = 0; i < crew_n_sent(&a->crew, "agent_beat"); i++)
        n_hindered += strstr(crew_sent(&a->crew, "agent_beat", i), AGENT_HINDERED) != NULL;
    assert_true(n_hindered > 280 / 90);
    town_close(&t);
}

/* Something lies where a blob is to go, which takes as little as a disk that has room for all but it. */
static char program[SHA256_HEX + 1];

static void blob_place(char out[PATH_MAX + 80])
{
    snprintf(out, PATH_MAX + 80, "%s/blobs/%s", t.agents[0].rig.dir.temp.path, program);
}

static void occupy(struct town *town)
{
    char path[PATH_MAX + 80];

    (void)town;
    blob_place(path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void vacate(struct town *town)
{
    char path[PATH_MAX + 80];

    (void)town;
    blob_place(path);
    assert_int_equal(rmdir(path), 0);
}

static void a_blob_that_cannot_be_written_is_no_fault_of_its_trial(void **state)
{
    struct crew_agent *a;

    (void)state;
    for (int i = 0; i < 2; i++) { /* the first tells the program's name */
        a = begin();
        add("", -1);
        if (i) {
            job->start_ns = 5 * WORLD_S;
            town_at(&t, 4000, occupy);
            town_at(&t, 8000, vacate);
        }
        town_run(&t, 600);
        expect_ok(0);
        snprintf(program, sizeof program, "%s", job->trials[0].program);
        assert_true((crew_told(&a->crew, "is given back: ") > 0) == i);
        town_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verify_that_dies_is_tried_once_more_in_a_fresh_child),
        cmocka_unit_test(ends_of_children_are_failures_of_their_trials),
        cmocka_unit_test(answers_of_children_are_statuses_of_their_trials),
        cmocka_unit_test(a_build_child_is_replaced_after_a_bad_end),
        cmocka_unit_test(limits_are_the_trials_own),
        cmocka_unit_test(a_batch_has_the_largest_limits_of_its_trials),
        cmocka_unit_test(a_batch_may_take_what_its_buffers_need),
        cmocka_unit_test(a_batch_that_dies_is_timed_one_by_one),
        cmocka_unit_test(what_died_by_chance_is_measured_after_all),
        cmocka_unit_test(ends_while_timing_have_their_statuses),
        cmocka_unit_test(a_trial_without_an_answer_fails_alone),
        cmocka_unit_test(an_anchor_that_kills_is_left_out),
        cmocka_unit_test(an_anchor_that_cannot_be_loaded_is_told),
        cmocka_unit_test(a_device_that_stays_hot_is_told),
        cmocka_unit_test(the_anchor_is_not_blamed_for_its_candidate),
        cmocka_unit_test(the_anchor_is_not_blamed_for_what_came_before_it),
        cmocka_unit_test(a_child_that_dies_without_a_word_leaves_the_anchor),
        cmocka_unit_test(what_was_wrong_in_a_disturbed_batch_stays_wrong),
        cmocka_unit_test(a_canary_that_changed_by_a_tenth_either_way_disturbs),
        cmocka_unit_test(a_disturbed_batch_is_timed_once_more),
        cmocka_unit_test(an_anchor_tells_of_disturbances_itself),
        cmocka_unit_test(a_quiet_batch_is_timed_once),
        cmocka_unit_test(orders_of_rounds_differ),
        cmocka_unit_test(children_and_caches_are_replaced_after_64_trials),
        cmocka_unit_test(finals_stay_with_the_cache_of_their_search),
        cmocka_unit_test(a_simulated_devices_children_stay),
        cmocka_unit_test(a_timing_child_is_replaced_after_a_bad_record),
        cmocka_unit_test(a_timing_child_is_replaced_after_64_trials),
        cmocka_unit_test(an_anchor_is_made_ready_once_in_a_cache),
        cmocka_unit_test(an_anchor_that_cannot_be_built_is_told),
        cmocka_unit_test(an_agent_that_cannot_start_a_child_leaves),
        cmocka_unit_test(a_device_that_cannot_be_asked_is_refused),
        cmocka_unit_test(a_device_that_goes_away_fails_no_trial),
        cmocka_unit_test(what_fails_while_the_disk_does_is_done_again),
        cmocka_unit_test(an_agent_whose_disk_fails_goes_on_saying_so),
        cmocka_unit_test(a_blob_that_cannot_be_written_is_no_fault_of_its_trial),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
