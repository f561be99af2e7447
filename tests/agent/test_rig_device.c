/* SPDX-License-Identifier: MIT */
/* What a device is to its rig, what fits one batch on it, and several agents on one. */
#include "rig_town.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- what fits one batch ---- */

#define N_ALIKE 20

static struct trial alike[N_ALIKE];

static struct trial *const *twenty(void)
{
    static struct trial *all[N_ALIKE];
    static char workload[] = "w";

    for (int i = 0; i < N_ALIKE; i++) {
        alike[i] = (struct trial){.memory_bytes = 1000, .buffer_bytes = 10, .generation = 3};
        alike[i].record.workload = workload;
        strcpy(alike[i].record.purpose, "search");
        strcpy(alike[i].anchor_name.hex, "a");
        all[i] = &alike[i];
    }
    return all;
}

static void a_batch_is_of_one_kind_and_fits(void **state)
{
    static char other[] = "other";

    (void)state;
    assert_int_equal(rig_batch_size(twenty(), N_ALIKE), TIMING_MAX_BATCH);
    assert_int_equal(rig_batch_size(twenty(), 1), 1);
    for (int i = 0; i < 5; i++) {
        struct trial *const *all = twenty();

        if (i == 0)
            alike[7].generation = 4;
        if (i == 1)
            alike[7].record.workload = other;
        if (i == 2)
            strcpy(alike[7].record.purpose, "redo");
        if (i == 3)
            strcpy(alike[7].anchor_name.hex, "b");
        if (i == 4)
            alike[7].buffer_bytes = 500 - 20 - 6 * 10 + 1; /* half of the limit, one byte over */
        assert_int_equal(rig_batch_size(all, N_ALIKE), 7);
    }
    twenty();
    alike[7].buffer_bytes = 500 - 20 - 6 * 10 - 8 * 10;
    assert_int_equal(rig_batch_size((struct trial *const[]){&alike[0], &alike[7], &alike[1]}, 3), 3);
}

/* ---- one device for several agents ---- */

static bool overlap_in_time(const struct sim_children *a, const struct sim_children *b)
{
    for (int i = 0; i < sim_n_asked(a, "time"); i++)
        for (int k = 0; k < sim_n_asked(b, "time"); k++) {
            const struct sim_asked *x = sim_asked(a, "time", i), *y = sim_asked(b, "time", k);

            if (x->from_ns < y->to_ns && y->from_ns < x->to_ns)
                return true;
        }
    return false;
}

static bool two_agents_overlap(int i_card)
{
    struct crew_agent *a = begin(), *b = town_agent(&t, "a1");
    bool overlap;

    a->options.batch = b->options.batch = 2;
    snprintf(b->device, sizeof b->device, "opencl:0.%d", i_card);
    a->crew.children.round_ns = b->crew.children.round_ns = 50 * WORLD_MS;
    for (int i = 0; i < 40; i++)
        add("", -1);
    town_run(&t, 600);
    assert_true(sim_n_asked(&a->crew.children, "time") > 3 && sim_n_asked(&b->crew.children, "time") > 3);
    overlap = overlap_in_time(&a->crew.children, &b->crew.children);
    town_close(&t);
    return overlap;
}

static void two_agents_on_one_device_take_turns(void **state)
{
    (void)state;
    assert_false(two_agents_overlap(0));
    assert_true(two_agents_overlap(1));
}

/* ---- what a device is ---- */

static void builders_are_as_many_as_asked_for_and_one_beside_a_gpu(void **state)
{
    static const int asked[] = {0, 1, 3, RIG_MAX_BUILDERS + 1}, got[] = {1, 1, 3, RIG_MAX_BUILDERS};

    (void)state;
    for (int i = 0; i < 4; i++) {
        begin()->rig_options.builders = asked[i];
        t.n_jobs = 0;
        town_run(&t, 60);
        assert_int_equal(t.agents[0].rig.n_builders, got[i]);
        town_close(&t);
    }
}

static void a_canary_is_run_when_it_is_asked_for(void **state)
{
    struct rig *r = &t.agents[0].rig;

    (void)state;
    begin()->canary = true;
    t.n_jobs = 0;
    town_run(&t, 60);
    assert_true(r->canary_ns == 1e6 && r->canary_gflops == 100);
    town_close(&t);
    begin()->canary = true;
    children->canary_fails = children->no_compiler = true;
    t.n_jobs = 0;
    town_run(&t, 60);
    assert_true(r->canary_ns == 0 && r->canary_unbuilt);
    assert_string_equal(r->canary_why.text, "it does not build");
    town_close(&t);
}

static void a_cuda_device_says_whether_it_compiles(void **state)
{
    struct rig *r = &t.agents[0].rig;

    (void)state;
    for (int i = 0; i < 3; i++) {
        begin()->rig_options.no_build = i == 2;
        children->desc.sm = 75;
        children->no_compiler = i == 1;
        t.n_jobs = 0;
        town_run(&t, 60);
        assert_int_equal(r->builds, i == 0);
        assert_string_equal(r->builds_why.text, i == 0   ? ""
                                                : i == 1 ? "no NVRTC was found"
                                                         : "--no-build leaves building to builders");
        assert_string_equal(r->compiler, i == 1 ? "" : "NVRTC 12.9 (/here)");
        town_close(&t);
    }
}

/* A CPU keeps the child that described it, which was started for one; its workers leave a CPU to the rest. */
static void a_cpu_device_is_served_by_the_child_that_described_it(void **state)
{
    struct crew_agent *a = begin();

    (void)state;
    children->desc.kind = DEVICE_CPU;
    a->rig_options.threads = 1;
    add("", -1);
    town_run(&t, 600);
    expect_ok(0);
    assert_int_equal(a->rig.threads, 1);
    assert_int_equal(sim_asked(children, "time", 0)->child, sim_asked(children, "describe", 0)->child);
    town_close(&t);
}

static void nothing_is_left_behind(void **state)
{
    struct crew_agent *a = begin();
    char path[PATH_MAX] = "";

    (void)state;
    add("bomb", -1);
    add("", -1);
    town_run(&t, 600);
    assert_int_equal(children->n_alive, 0);
    assert_string_equal(a->rig.dir.temp.path, path);
    town_close(&t);
}

/* Who waits for longer than others' batches take says so. */
static void a_device_that_another_keeps_is_told(void **state)
{
    struct crew_agent *a = begin(), *b = town_agent(&t, "a1");
    int n_waited;

    (void)state;
    a->crew.children.round_ns = 10 * WORLD_S;
    b->crew.start_ns = 20 * WORLD_S;
    strcpy(b->device, a->device);
    for (int i = 0; i < 40; i++)
        add("", -1)->limits = "\"run_s\":600";
    town_run(&t, 3000);
    for (int i = 0; i < 40; i++)
        expect_ok(i);
    n_waited = crew_told(&a->crew, "another process has had the device for 30 s: its lock tune-") +
               crew_told(&b->crew, "another process has had the device for 30 s: its lock tune-");
    assert_in_range(n_waited, 1, 10);
    assert_int_equal(crew_told(&a->crew, "the device is free again") + crew_told(&b->crew, "the device is free again"),
                     n_waited);
    town_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_of_one_kind_and_fits),
        cmocka_unit_test(two_agents_on_one_device_take_turns),
        cmocka_unit_test(a_device_that_another_keeps_is_told),
        cmocka_unit_test(builders_are_as_many_as_asked_for_and_one_beside_a_gpu),
        cmocka_unit_test(a_canary_is_run_when_it_is_asked_for),
        cmocka_unit_test(a_cuda_device_says_whether_it_compiles),
        cmocka_unit_test(a_cpu_device_is_served_by_the_child_that_described_it),
        cmocka_unit_test(nothing_is_left_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
