/* SPDX-License-Identifier: MIT */
/* An agent of a CUDA device that compiles for itself: compile children side by side, one build child behind them, and
 * the device. */
#include "rig_town.h"

#include <stdio.h>
#include <string.h>

#define BUILT_MS 40 /* by a simulated child */

static struct crew_agent *begin_cuda(int n_compilers)
{
    struct crew_agent *a = begin();

    children->desc.sm = 75;
    a->rig_options.builders = n_compilers;
    return a;
}

static struct sim_trial *add_cuda(const char *knobs, int anchor)
{
    struct sim_trial *x = sim_job_add(job, knobs, anchor);

    x->cuda = true;
    return x;
}

static const struct sim_asked *asked_of(const char *op, int64_t program)
{
    for (int i = 0; i < sim_n_asked(children, op); i++)
        if (sim_asked(children, op, i)->programs[0] == program)
            return sim_asked(children, op, i);
    fail_msg("nobody was asked to %s program %d", op, (int)program);
    return NULL;
}

/* ---- side by side ---- */

static void two_compile_while_a_third_is_timed(void **state)
{
    const struct sim_asked *x, *y, *timed;

    (void)state;
    begin_cuda(2);
    children->round_ns = 500 * WORLD_MS;
    add_cuda("", -1);
    add_cuda("\"build_ms\":3000", -1);
    add_cuda("\"build_ms\":3000", -1);
    town_run(&t, 600);
    x = asked_of("compile", 1);
    y = asked_of("compile", 2);
    timed = asked_of("time", 0);
    assert_int_not_equal(x->child, y->child);
    assert_true(x->from_ns < timed->to_ns && timed->to_ns < x->to_ns);
    assert_true(y->from_ns < timed->to_ns && timed->to_ns < y->to_ns);
    for (int i = 0; i < 3; i++)
        expect_ok(i);
    town_close(&t);
}

static void one_child_verifies_what_many_compile(void **state)
{
    (void)state;
    begin_cuda(5);
    for (int i = 0; i < 20; i++)
        add_cuda("", -1);
    town_run(&t, 600);
    for (int i = 0; i < 20; i++) {
        expect_ok(i);
        assert_int_equal(sim_n_asked_of(children, "compile", i), 1);
        assert_int_equal(sim_asked(children, "verify", i)->child, sim_asked(children, "verify", 0)->child);
    }
    assert_int_equal(t.agents[0].rig.n_builders, 1);
    assert_int_equal(t.agents[0].rig.n_forges, 5);
    town_close(&t);
}

/* Of eight that take a second each on eight children the last is timed long before eight seconds are over. */
static void compilers_work_at_the_same_time(void **state)
{
    (void)state;
    begin_cuda(8);
    for (int i = 0; i < 8; i++)
        add_cuda("\"build_ms\":1000", -1);
    town_run(&t, 600);
    for (int i = 1; i < 8; i++)
        assert_true(asked_of("compile", i)->from_ns < asked_of("compile", 0)->to_ns);
    town_close(&t);
}

static void records_are_those_of_an_agent_that_compiles_in_turn(void **state)
{
    const struct record *r;

    (void)state;
    begin_cuda(3);
    add_cuda("", -1);
    town_run(&t, 600);
    expect_ok(0);
    r = &job->trials[0].record;
    assert_string_equal(r->built_by, "");
    assert_string_equal(r->compiler, "NVRTC 13.0");
    assert_true(r->build_ms == BUILT_MS && !r->build_cached);
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(r->resources, 0), "registers")->valueint, 40);
    town_close(&t);
}

/* ---- how many ---- */

static int forges_of(struct crew_agent *a)
{
    t.n_jobs = 0;
    town_run(&t, 60);
    town_close(&t);
    return a->rig.n_forges;
}

static void compile_children_are_as_many_as_asked_for(void **state)
{
    struct crew_agent *a;

    (void)state;
    assert_int_equal(forges_of(begin_cuda(1)), 1);
    assert_int_equal(forges_of(begin_cuda(7)), 7);
    assert_int_equal(forges_of(begin_cuda(FORGE_MAX + 9)), FORGE_MAX);
    assert_in_range(forges_of(begin_cuda(0)), 1, FORGE_MAX); /* as the machine has CPUs */
    a = begin_cuda(4);
    children->desc.sm = 0; /* no CUDA device */
    assert_int_equal(forges_of(a), 0);
    a = begin_cuda(4);
    children->no_compiler = true;
    assert_int_equal(forges_of(a), 0);
    a = begin_cuda(4);
    a->rig_options.no_build = true;
    assert_int_equal(forges_of(a), 0);
}

/* The driver makes the code of such a device, when the build child loads it. */
static void a_device_newer_than_its_compiler_is_built_for_in_turn(void **state)
{
    (void)state;
    begin_cuda(4)->crew.children.makes_ptx = true;
    add_cuda("", -1);
    town_run(&t, 600);
    expect_ok(0);
    assert_int_equal(sim_n_asked(children, "compile"), 0);
    town_close(&t);
}

static void what_is_no_cuda_c_goes_to_the_build_child(void **state)
{
    (void)state;
    begin_cuda(2);
    add("", -1);
    town_run(&t, 600);
    expect_ok(0);
    assert_int_equal(sim_n_asked(children, "compile"), 0);
    town_close(&t);
}

/* ---- ways to fail ---- */

static void what_ends_a_compile_child_ends_its_trial(void **state)
{
    (void)state;
    begin_cuda(2);
    add_cuda("\"do\":\"compile\"", -1);
    add_cuda("\"do\":\"limits\"", -1);
    add_cuda("\"do\":\"hang\"", -1);
    add_cuda("\"do\":\"eat\"", -1);
    add_cuda("\"do\":\"crash\"", -1);
    add_cuda("\"do\":\"crash_once\"", -1);
    town_run(&t, 600);
    expect(0, STATUS_COMPILE, "build", "line 3: no");
    expect(1, STATUS_LIMITS, "build", "line 3: no");
    expect(2, STATUS_TIMEOUT, "build", "too long");
    expect(3, STATUS_LIMITS, "build", "memory");
    expect(4, STATUS_CRASH, "build", "signal 11");
    expect_ok(5);
    assert_string_equal(job->trials[0].record.compiler, "NVRTC 13.0");
    assert_true(job->trials[0].record.build_ms == BUILT_MS);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sim_n_asked_of(children, "verify", i), 0);
        assert_int_equal(sim_n_asked_of(children, "compile", i), i == 4 ? 2 : 1); /* who dies gets a second try */
        assert_string_equal(job->trials[i].record.built_by, "");
    }
    assert_int_equal(sim_n_asked_of(children, "compile", 5), 2);
    town_close(&t);
}

static void what_compiles_may_still_be_wrong(void **state)
{
    (void)state;
    begin_cuda(2);
    add_cuda("\"do\":\"wrong\"", -1);
    add_cuda("\"do\":\"bomb\"", -1);
    add_cuda("", -1);
    town_run(&t, 600);
    expect(0, STATUS_WRONG, "verify", "not right");
    expect(1, STATUS_CRASH, "time", "signal 11");
    expect_ok(2);
    town_close(&t);
}

/* What the device has no room for is not compiled first: the build child refuses it, as without compile children. */
static void what_does_not_fit_the_device_is_not_compiled(void **state)
{
    struct crew_agent *a = begin_cuda(2);

    (void)state;
    a->rig_options.device = "cuda:0";
    strcpy(children->desc.api, "cuda");
    children->desc.global_bytes = children->desc.max_alloc_bytes = 1 << 20;
    add_cuda("\"do\":\"limits\"", -1)->n_elems = 1 << 20; /* 4 MiB */
    add_cuda("", -1);
    town_run(&t, 600);
    expect(0, STATUS_LIMITS, "build", "it does not build"); /* the build child's words */
    expect_ok(1);
    assert_int_equal(sim_n_asked_of(children, "compile", 0), 0);
    assert_int_equal(sim_n_asked_of(children, "compile", 1), 1);
    town_close(&t);
}

static void limits_are_the_trials_own(void **state)
{
    const struct sandbox_limits *l;

    (void)state;
    begin_cuda(2);
    add_cuda("", -1)->limits = "\"build_s\":7,\"run_s\":3,\"memory_bytes\":9000000";
    town_run(&t, 600);
    l = &asked_of("compile", 0)->limits;
    assert_true(l->build_s == 7 && l->start_s == 120);
    assert_int_equal(l->memory_bytes, 9000000);
    town_close(&t);
}

static void no_more_processes(const struct sim_asked *x, void *arg)
{
    if (strcmp(x->op, "compile") == 0 && x->programs[0] == 0)
        ((struct sim_children *)arg)->n_starts_to_fail = 1;
}

static void an_agent_that_cannot_start_a_compile_child_leaves(void **state)
{
    struct crew_agent *a = begin_cuda(1), *b = town_agent(&t, "a1");

    (void)state;
    a->crew.children.saw = no_more_processes;
    a->crew.children.arg = &a->crew.children;
    b->crew.children.desc.sm = 75;
    b->crew.start_ns = 5 * WORLD_S;
    add_cuda("\"do\":\"crash\"", -1);
    add_cuda("", -1);
    town_run(&t, 600);
    assert_int_equal(a->crew.n_quits, 1);
    assert_int_equal(crew_told(&a->crew, "leaving: the machine is out of processes"), 1);
    expect(0, STATUS_CRASH, "build", "signal 11");
    expect_ok(1);
    assert_string_equal(job->trials[1].record.agent, "a1");
    town_close(&t);
}

/* ---- code from elsewhere, and from before ---- */

static void code_of_a_builder_is_not_compiled_again(void **state)
{
    (void)state;
    begin_cuda(2);
    town_builder(&t, "b0")->options.sms[0] = 75;
    t.agents[0].crew.start_ns = 2 * WORLD_S;
    add_cuda("", -1);
    add_cuda("", 0);
    town_run(&t, 600);
    for (int i = 0; i < 2; i++) {
        expect_ok(i);
        assert_string_equal(job->trials[i].record.built_by, "b0");
    }
    assert_int_equal(sim_n_asked(children, "compile"), 0);
    town_close(&t);
}

static void finals_are_compiled_once(void **state)
{
    struct sim_job *search, *finals;

    (void)state;
    begin_cuda(2);
    search = job;
    add_cuda("", -1);
    finals = town_job(&t);
    finals->first = search->first;
    finals->start_ns = 20 * WORLD_S;
    job = finals;
    add_cuda("", -1)->purpose = "final";
    town_run(&t, 600);
    expect_ok(0);
    assert_true(job->trials[0].record.build_cached);
    assert_int_equal(sim_n_asked_of(children, "verify", 0), 2);
    assert_int_equal(sim_n_asked_of(children, "compile", 0), 1);
    town_close(&t);
}

/* In each cache the build child finds code that was made for an earlier one: it compiles nothing. */
static void code_goes_along_to_new_caches(void **state)
{
    (void)state;
    begin_cuda(6);
    for (int i = 0; i < 150; i++)
        add_cuda("", -1);
    town_run(&t, 3600);
    assert_true(t.agents[0].rig.generation >= 2);
    for (int i = 0; i < 150; i++) {
        expect_ok(i);
        assert_true(job->trials[i].record.build_ms == BUILT_MS);
        assert_int_equal(sim_n_asked_of(children, "compile", i), 1);
    }
    town_close(&t);
}

/* As a trial and as the anchor of others. */
static void an_anchor_is_compiled_once_for_all_caches(void **state)
{
    int64_t built_ns = 0;

    (void)state;
    begin_cuda(4);
    add_cuda("\"build_ms\":900", -1);
    for (int i = 1; i < 140; i++)
        add_cuda("", 0);
    town_run(&t, 3600);
    for (int i = 0; i < 140; i++)
        expect_ok(i);
    assert_int_equal(sim_n_asked_of(children, "compile", 0), 2);
    for (int i = 0; i < sim_n_asked(children, "verify"); i++) {
        const struct sim_asked *x = sim_asked(children, "verify", i);

        if (x->programs[0] == 0 && x->generation > 0)
            built_ns += x->to_ns - x->from_ns;
    }
    assert_true(built_ns > 0 && built_ns < 300 * WORLD_MS); /* made ready in two caches, of 20 ms each */
    town_close(&t);
}

static void an_anchor_that_does_not_compile_is_told_by_the_build_child(void **state)
{
    (void)state;
    begin_cuda(2);
    add_cuda("\"do\":\"crash\"", -1);
    add_cuda("", 0);
    town_run(&t, 600);
    expect_ok(1);
    assert_true(crew_told(&t.agents[0].crew, "cannot be built") >= 1);
    town_close(&t);
}

/* ---- steps by hand: a letter each, upper case where there must be something to do ----
 * l lease, m compile, n compile (second child), b build, t time, r renew and beat */

static char off_script[128]; /* what went otherwise first */

static void play(struct crew *c, const char *script)
{
    struct farm *f = ((struct crew_agent *)c)->farm;

    for (const char *at = script; *at && !atomic_load(&c->stop); at++) {
        const bool expected = *at >= 'A' && *at <= 'Z';
        const char letter = (char)(*at | 32);
        const bool got = letter == 'l'   ? farm_lease_step(f, 0)
                         : letter == 'm' ? farm_compile_step(f, 0)
                         : letter == 'n' ? farm_compile_step(f, 1)
                         : letter == 'b' ? farm_build_step(f, 0)
                         : letter == 't' ? farm_time_step(f, 0)
                                         : farm_beat_step(f, 0);

        if (got != expected && !off_script[0])
            snprintf(off_script, sizeof off_script, "%s: step %d, '%c', had %s to do", script, (int)(at - script), *at,
                     got ? "something" : "nothing");
    }
}

static struct crew_agent *begin_by_hand(int n_trials, int batch, void (*by_hand)(struct crew *c))
{
    struct crew_agent *a = begin_cuda(2);

    a->options.batch = batch;
    a->crew.by_hand = by_hand;
    off_script[0] = '\0';
    for (int i = 0; i < n_trials; i++)
        add_cuda("", -1);
    return a;
}

static void run_by_hand(void)
{
    town_run(&t, 600);
    if (off_script[0])
        fail_msg("%s", off_script);
}

static void ahead_of_two(struct crew *c)
{
    play(c, "mbtLlMlMLMNMlBBBlTL");
}

/* With two compile children a lease is taken when less than two trials wait for them, and no whole batch, here of
 * three, waits for the device, compiled or verified. */
static void compile_children_do_not_wait_for_a_lease(void **state)
{
    (void)state;
    begin_by_hand(12, 3, ahead_of_two);
    run_by_hand();
    for (int i = 0; i < 12; i++)
        expect_ok(i);
    town_close(&t);
}

static void whole_batch(struct crew *c)
{
    play(c, "LMMMBtBtBT");
}

/* The build child needs the device for milliseconds: what is compiled is verified before a batch is timed. */
static void what_is_compiled_is_timed_together(void **state)
{
    (void)state;
    begin_by_hand(3, 8, whole_batch);
    run_by_hand();
    expect_asked("time", 0, "0 1 2", SIM_NONE);
    town_close(&t);
}

static void full_batch(struct crew *c)
{
    play(c, "LMLMMMBBT");
}

static void a_whole_batch_waits_for_no_more(void **state)
{
    (void)state;
    begin_by_hand(4, 2, full_batch);
    run_by_hand();
    expect_asked("time", 0, "0 1", SIM_NONE);
    town_close(&t);
}

static void in_turns(struct crew *c)
{
    play(c, "LMtBtMBTL");
}

/* Without overlap: neither compiled nor built while a batch is timed, nor timed before a batch is built. */
static void without_overlap_compiling_and_timing_take_turns(void **state)
{
    struct crew_agent *a = begin_by_hand(4, 2, in_turns);

    (void)state;
    a->options.overlap = false;
    for (int i = 0; i < 20; i++)
        add_cuda("", -1);
    run_by_hand();
    for (int k = 0; k < sim_n_asked(children, "time"); k++)
        for (int v = 0; v < sim_n_asked(children, "compile"); v++) {
            const struct sim_asked *x = sim_asked(children, "time", k), *y = sim_asked(children, "compile", v);

            assert_true(x->to_ns <= y->from_ns || y->to_ns <= x->from_ns);
        }
    town_close(&t);
}

static void cancelled_at_all_stages(struct crew *c)
{
    play(c, "LMMB"); /* one ready, one compiled, four leased */
    cJSON_Delete(sim_call(t.net, "job_cancel", "{\"job\":\"%s\"}", job->id));
    play(c, "RMMMMBbTt");
}

static void what_is_cancelled_is_neither_compiled_nor_verified(void **state)
{
    struct crew_agent *a = begin_by_hand(6, 6, cancelled_at_all_stages);

    (void)state;
    run_by_hand();
    assert_int_equal(sim_n_asked(children, "compile"), 2);
    assert_int_equal(sim_n_asked(children, "verify"), 1);
    assert_int_equal(sim_n_asked(children, "time"), 0);
    assert_int_equal(a->crew.done, 0);
    town_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_compile_while_a_third_is_timed),
        cmocka_unit_test(one_child_verifies_what_many_compile),
        cmocka_unit_test(compilers_work_at_the_same_time),
        cmocka_unit_test(records_are_those_of_an_agent_that_compiles_in_turn),
        cmocka_unit_test(compile_children_are_as_many_as_asked_for),
        cmocka_unit_test(a_device_newer_than_its_compiler_is_built_for_in_turn),
        cmocka_unit_test(what_is_no_cuda_c_goes_to_the_build_child),
        cmocka_unit_test(what_ends_a_compile_child_ends_its_trial),
        cmocka_unit_test(what_compiles_may_still_be_wrong),
        cmocka_unit_test(what_does_not_fit_the_device_is_not_compiled),
        cmocka_unit_test(limits_are_the_trials_own),
        cmocka_unit_test(an_agent_that_cannot_start_a_compile_child_leaves),
        cmocka_unit_test(code_of_a_builder_is_not_compiled_again),
        cmocka_unit_test(finals_are_compiled_once),
        cmocka_unit_test(code_goes_along_to_new_caches),
        cmocka_unit_test(an_anchor_is_compiled_once_for_all_caches),
        cmocka_unit_test(an_anchor_that_does_not_compile_is_told_by_the_build_child),
        cmocka_unit_test(compile_children_do_not_wait_for_a_lease),
        cmocka_unit_test(what_is_compiled_is_timed_together),
        cmocka_unit_test(a_whole_batch_waits_for_no_more),
        cmocka_unit_test(without_overlap_compiling_and_timing_take_turns),
        cmocka_unit_test(what_is_cancelled_is_neither_compiled_nor_verified),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
