/* SPDX-License-Identifier: MIT */
/* One job from its first trial to its last, on a farm where nothing goes wrong. */
#include "core/file.h"
#include "tests/tuner/one_job.h"
#include "tuner/sibling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t count_arms(const struct task *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_arms; i++)
        n += !t->arms[i].baseline;
    return n;
}

/* ---- the order of trials ---- */

static void trials_are_defaults_then_searched_then_finals_then_the_baseline(void **state)
{
    static const struct {
        size_t from, to;
        const char *purpose;
    } parts[] = {{0, 2, "search"}, {2, 24, "search"}, {24, 30, "final"}, {30, 31, "search"}};
    struct asked_list asked;
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);

    (void)state;
    run(&f);
    expect_done(&f, s);
    assert_int_equal(count_arms(only_task(s)), 2);
    asked_of(&f, s->job_id, &asked);
    assert_int_equal(asked.n, 31);
    for (size_t p = 0; p < 4; p++)
        for (size_t i = parts[p].from; i < parts[p].to; i++) {
            assert_string_equal(asked.items[i].purpose, parts[p].purpose);
            assert_int_equal(asked.items[i].is_baseline, p == 3);
            assert_int_equal(strcmp(asked.items[i].anchor, "") == 0, p == 0 || p == 3);
            if (p != 2)
                assert_int_equal(strcmp(asked.items[i].by, "init") == 0, p != 1);
        }
    asked_fini(&asked);
    sim_farm_fini(&f);
}

static void no_more_is_searched_than_the_budget_and_no_less(void **state)
{
    static const int64_t budgets[] = {1, 2, 3, 9, 24, 41};

    (void)state;
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        struct asked_list asked;
        struct sim_farm f;
        struct sim_session *s = start(&f, 2, DENSE);

        s->job.trials = budgets[i];
        run(&f);
        expect_done(&f, s);
        asked_of(&f, s->job_id, &asked);
        assert_int_equal(asked_count(&asked, "search"), budgets[i]);
        assert_int_equal(only_task(s)->n_counted, budgets[i]);
        assert_int_equal(only_task(s)->stop, STOP_TRIALS);
        for (size_t k = 0; k < asked.n; k++)
            for (size_t m = 0; m < k; m++)
                if (strcmp(asked.items[k].purpose, asked.items[m].purpose) == 0)
                    assert_string_not_equal(asked.items[k].program, asked.items[m].program);
        asked_fini(&asked);
        sim_farm_fini(&f);
    }
}

static int by_ratio(const void *a, const void *b)
{
    const struct asked *x = *(const struct asked *const *)a, *y = *(const struct asked *const *)b;

    return x->record.lnratio < y->record.lnratio ? -1 : x->record.lnratio > y->record.lnratio;
}

/* By ratios to the anchor: the device's pace makes the order of times another one. */
static void finals_are_the_best_five_and_the_better_default(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const struct asked *searched[64];
        struct asked_list asked;
        struct sim_farm f;
        struct sim_session *s = start(&f, seed, DENSE);
        size_t n = 0;

        f.model.drift = 1.5;
        run(&f);
        expect_done(&f, s);
        asked_of(&f, s->job_id, &asked);
        for (size_t i = 2; i < 24; i++)
            if (!asked.items[i].record.censored)
                searched[n++] = &asked.items[i];
        qsort(searched, n, sizeof *searched, by_ratio);
        for (size_t i = 24; i < 29; i++) {
            assert_string_equal(asked.items[i].program, searched[i - 24]->program);
            assert_string_equal(asked.items[i].by, searched[i - 24]->by);
        }
        assert_string_equal(asked.items[29].program, asked.items[2].anchor); /* the default that became the anchor */
        for (size_t i = 24; i < 30; i++)
            assert_string_equal(asked.items[i].anchor, asked.items[2].anchor);
        assert_string_equal(task_winner(only_task(s))->record.purpose, "final");
        asked_fini(&asked);
        sim_farm_fini(&f);
    }
}

static void the_default_among_the_best_is_one_final(void **state)
{
    struct asked_list asked;
    struct sim_farm f;
    struct sim_session *s = start(&f, 3, DENSE);

    (void)state;
    s->job.trials = 3;
    run(&f);
    expect_done(&f, s);
    asked_of(&f, s->job_id, &asked);
    assert_int_equal(asked_count(&asked, "final"), 3);
    asked_fini(&asked);
    sim_farm_fini(&f);
}

/* ---- what a trial says ---- */

static void each_kind_of_trial_asks_for_its_own_timing(void **state)
{
    struct asked_list asked;
    struct sim_farm f;
    struct sim_session *s = start(&f, 4, DENSE);

    (void)state;
    s->job.timing =
        (struct job_timing){.rounds = 6, .rounds_near_best = 11, .min_calls = 4, .warmup = 2, .min_slot_ms = 3.5};
    s->job.run_s = 2;
    run(&f);
    expect_done(&f, s);
    asked_of(&f, s->job_id, &asked);
    for (size_t i = 0; i < 30; i++) {
        const struct asked *a = &asked.items[i];
        const bool is_final = strcmp(a->purpose, "final") == 0;

        assert_int_equal(a->rounds, is_final ? 15 : 6);
        assert_int_equal(a->rounds_near_best, is_final ? 15 : 11);
        assert_int_equal(a->min_calls, 4);
        assert_int_equal(a->warmup, 2);
        assert_true(a->min_slot_ms == 3.5);
        assert_true(a->run_s == (is_final ? 6 : 2));
        assert_string_equal(a->protocol, "rounds-1");
        assert_int_equal(a->epoch, 0);
        assert_float_equal(a->bridge, 0, 0);
    }
    assert_int_equal(asked.items[30].rounds, 1);
    assert_int_equal(asked.items[30].rounds_near_best, 1);
    assert_int_equal(asked.items[30].min_calls, 1);
    assert_int_equal(asked.items[30].warmup, 0);
    assert_float_equal(asked.items[30].run_s, 24, 1e-12);
    assert_float_equal(asked.items[30].best_ns, 0, 0);
    asked_fini(&asked);
    sim_farm_fini(&f);
}

/* So that an agent gives up early what is three times slower: the best of what was there, on the anchor's scale. */
static void searched_trials_carry_the_best_so_far_and_finals_none(void **state)
{
    double least = INFINITY;
    struct asked_list asked;
    struct sim_farm f;
    struct sim_session *s = start(&f, 5, DENSE);

    (void)state;
    run(&f);
    expect_done(&f, s);
    asked_of(&f, s->job_id, &asked);
    for (size_t i = 0; i < 2; i++) {
        assert_float_equal(asked.items[i].best_ns, 0, 0);
        assert_true(isnan(asked.items[i].best_lnratio));
    }
    for (size_t i = 2; i < 24; i++) {
        bool is_one = fabs(asked.items[i].best_lnratio) < 1e-9; /* the anchor itself, or one of those before */

        for (size_t k = 2; k < i; k++)
            is_one |= fabs(asked.items[k].record.lnratio - asked.items[i].best_lnratio) < 1e-9;
        assert_true(is_one);
        assert_true(asked.items[i].best_ns > 0);
        assert_true(asked.items[i].best_lnratio <= least + 1e-12);
        least = fmin(least, asked.items[i].best_lnratio);
    }
    assert_true(least < -0.1); /* it moved */
    for (size_t i = 24; i < 30; i++) {
        assert_float_equal(asked.items[i].best_ns, 0, 0);
        assert_true(isnan(asked.items[i].best_lnratio));
    }
    asked_fini(&asked);
    sim_farm_fini(&f);
}

/* ---- anchors ---- */

static void the_best_default_stays_the_anchor_while_nothing_is_four_times_faster(void **state)
{
    struct asked_list asked;
    struct sim_farm f;
    struct sim_session *s = start(&f, 6, DENSE);

    (void)state;
    f.model.spread = 1.3;
    run(&f);
    expect_done(&f, s);
    asked_of(&f, s->job_id, &asked);
    assert_string_equal(asked.items[2].anchor, asked.items[0].record.time_ns < asked.items[1].record.time_ns
                                                   ? asked.items[0].program
                                                   : asked.items[1].program);
    for (size_t i = 2; i < 30; i++)
        assert_string_equal(asked.items[i].anchor, asked.items[2].anchor);
    assert_int_equal(asked_count(&asked, "redo"), 0);
    expect_true_values(&f, s);
    asked_fini(&asked);
    sim_farm_fini(&f);
}

static void expect_chain(const struct asked_list *asked, int64_t *n_epochs)
{
    const struct asked *bridge = NULL;
    int64_t epoch = 0;

    for (size_t i = 2; i < asked->n && !asked->items[i].is_baseline; i++) {
        const struct asked *a = &asked->items[i];

        if (a->epoch != epoch) {
            assert_non_null(bridge);
            assert_int_equal(a->epoch, epoch + 1);
            assert_string_equal(a->anchor, bridge->program);
            assert_true(fabs(a->bridge - bridge->bridge - bridge->record.lnratio) < 1e-9);
            assert_true(bridge->record.lnratio < -log(ANCHOR_RATIO) + 0.02);
            epoch = a->epoch;
            bridge = NULL;
        }
        if (strcmp(a->purpose, "redo") != 0)
            continue;
        /* One at a time; the one before may have shown that it is not four times faster. */
        if (bridge && !(bridge->record.lnratio >= -log(ANCHOR_RATIO) - 0.02))
            fail_msg("trial %zu: a second bridge over one of %g", i, bridge->record.lnratio);
        assert_int_equal(a->rounds, ANCHOR_BRIDGE_ROUNDS);
        assert_string_not_equal(a->program, a->anchor);
        bridge = a;
    }
    *n_epochs += epoch;
}

static void over_four_times_faster_opens_an_epoch_bridged_to_the_one_before(void **state)
{
    int64_t n_epochs = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct asked_list asked;
        struct sim_farm f;
        struct sim_session *s = start(&f, seed, DENSE);

        f.model.landscape = seed;
        f.model.spread = 7;
        f.model.drift = 1.5;
        s->job.trials = 40;
        run(&f);
        expect_done(&f, s);
        asked_of(&f, s->job_id, &asked);
        expect_chain(&asked, &n_epochs);
        expect_true_values(&f, s);
        asked_fini(&asked);
        sim_farm_fini(&f);
    }
    assert_true(n_epochs >= 6);
}

static void no_epoch_opens_for_another_objective_than_time(void **state)
{
    struct asked_list asked;
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);

    (void)state;
    f.model.spread = 5;
    snprintf(s->job.objective, sizeof s->job.objective, "energy");
    run(&f);
    assert_int_equal(s->e, ERR_OK);
    asked_of(&f, s->job_id, &asked);
    assert_int_equal(asked_count(&asked, "redo"), 0);
    assert_int_equal(asked_count(&asked, "search"), 24);
    for (size_t i = 0; i < asked.n; i++) {
        assert_string_equal(asked.items[i].protocol, "rounds-1+energy-rest");
        assert_string_equal(asked.items[i].objective, "energy");
        assert_float_equal(asked.items[i].best_ns, 0, 0); /* nothing is given up by its time */
    }
    asked_fini(&asked);
    sim_farm_fini(&f);
}

/* ---- agents ---- */

struct watch {
    const char *job_id;
    int64_t most, from_ns;
};

static void note_out(struct net *n, void *arg)
{
    struct watch *w = arg;
    struct host_job j;

    if (world_now_ns(net_world(n)) >= w->from_ns && host_job(n, w->job_id, &j) && j.n_out > w->most)
        w->most = j.n_out;
}

static int64_t most_out(size_t n_agents, int64_t capacity)
{
    static const char *const names[] = {"b", "c", "d"};
    struct watch w = {.most = 0};
    struct sim_farm f;
    struct sim_session *s = start(&f, 7, DENSE);

    for (size_t i = 1; i < n_agents; i++)
        sim_farm_agent(&f, names[i - 1]);
    for (size_t i = 0; i < n_agents; i++)
        f.agents[i].most = 1;
    f.agents[0].capacity = capacity;
    s->job.trials = 120;
    s->start_ns = 2 * WORLD_S;
    w.job_id = s->job_id;
    net_on_turn(f.net, note_out, &w);
    run(&f);
    expect_done(&f, s);
    sim_farm_fini(&f);
    return w.most;
}

static void two_batches_for_each_agent_are_under_way(void **state)
{
    (void)state;
    assert_in_range(most_out(1, 0), SESSION_BATCH + 1, 2 * SESSION_BATCH); /* a batch is sent when there is room */
    assert_in_range(most_out(3, 0), 5 * SESSION_BATCH + 1, 6 * SESSION_BATCH);
}

/* One that compiles 14 at the same time needs them, and two batches of 8; who asks for less gets two batches. */
static void an_agent_that_asks_for_more_gets_it(void **state)
{
    (void)state;
    assert_in_range(most_out(1, 30), 30 - SESSION_BATCH + 1, 30);
    assert_in_range(most_out(2, 30), 46 - SESSION_BATCH + 1, 46);
    assert_in_range(most_out(1, 3), SESSION_BATCH + 1, 2 * SESSION_BATCH);
}

static bool ten_s(void *arg)
{
    return world_now_ns(((struct sim_farm *)arg)->world) >= 10 * WORLD_S;
}

static struct sim_farm *late_farm;

static void come_late(void *arg)
{
    struct sim_agent *a = arg;

    world_wait(late_farm->world, ten_s, late_farm, 10 * WORLD_S);
    a->away = false;
}

/* Devices are counted again every five seconds. */
static void an_agent_that_comes_late_gets_its_share(void **state)
{
    struct watch w = {.most = 0};
    struct sim_agent *late;
    struct sim_farm f;
    struct sim_session *s = start(&f, 8, DENSE);

    (void)state;
    f.agents[0].trial_ns = 500 * WORLD_MS;
    f.agents[0].most = 1;
    late = sim_farm_agent(&f, "late");
    late->trial_ns = 500 * WORLD_MS;
    late->most = 1;
    late->away = true;
    late_farm = &f;
    s->job.trials = 100;
    w.job_id = s->job_id;
    net_on_turn(f.net, note_out, &w);
    world_add(f.world, "clock", come_late, late);
    run(&f);
    expect_done(&f, s);
    assert_in_range(w.most, 3 * SESSION_BATCH + 1, 4 * SESSION_BATCH);
    assert_int_equal(s->session.device.n_agents, 2);
    assert_true(late->n_run > 20);
    sim_farm_fini(&f);
}

/* ---- several tasks ---- */

static void each_workload_has_its_own_budget(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 9, DENSE "\n" OTHER);
    struct asked_list asked;

    (void)state;
    s->job.layers[0].trials = 11;
    s->job.layers[1].trials = 5;
    run(&f);
    expect_done(&f, s);
    assert_int_equal(s->session.tasks[0].n_counted, 11);
    assert_int_equal(s->session.tasks[1].n_counted, 5);
    asked_of(&f, s->job_id, &asked);
    assert_int_equal(asked_count(&asked, "search"), 16);
    asked_fini(&asked);
    sim_farm_fini(&f);
}

static void layers_of_a_network_share_one_budget_to_the_last_trial(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct sim_farm f;
        struct sim_session *s = start(&f, seed, DENSE "\n" OTHER);
        struct asked_list asked;

        snprintf(s->job.network, sizeof s->job.network, "net");
        s->job.layers[1].count = 40; /* nearly all of the network's time */
        s->job.trials = 31;
        run(&f);
        expect_done(&f, s);
        asked_of(&f, s->job_id, &asked);
        assert_int_equal(asked_count(&asked, "search"), 62);
        assert_int_equal(s->session.tasks[0].n_counted + s->session.tasks[1].n_counted, 62);
        assert_true(s->session.tasks[1].n_counted > 40);
        assert_true(s->session.tasks[0].n_counted >= SESSION_LEAST);
        asked_fini(&asked);
        sim_farm_fini(&f);
    }
}

static void a_layer_tries_what_another_found_best_once(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 10, DENSE "\n" OTHER);
    size_t n = 0;
    struct asked_list asked;

    (void)state;
    s->job.trials = 40;
    run(&f);
    expect_done(&f, s);
    asked_of(&f, s->job_id, &asked);
    for (size_t i = 0; i < asked.n; i++)
        n += strcmp(asked.items[i].purpose, "search") == 0 && strcmp(asked.items[i].by, "sibling") == 0;
    for (size_t i = 0; i < 2; i++)
        assert_in_range(s->session.tasks[i].n_hinted, 1, TASK_MAX_HINTS);
    assert_true(n > 0 && n <= s->session.tasks[0].n_hinted + s->session.tasks[1].n_hinted);
    asked_fini(&asked);
    sim_farm_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_are_defaults_then_searched_then_finals_then_the_baseline),
        cmocka_unit_test(no_more_is_searched_than_the_budget_and_no_less),
        cmocka_unit_test(finals_are_the_best_five_and_the_better_default),
        cmocka_unit_test(the_default_among_the_best_is_one_final),
        cmocka_unit_test(each_kind_of_trial_asks_for_its_own_timing),
        cmocka_unit_test(searched_trials_carry_the_best_so_far_and_finals_none),
        cmocka_unit_test(the_best_default_stays_the_anchor_while_nothing_is_four_times_faster),
        cmocka_unit_test(over_four_times_faster_opens_an_epoch_bridged_to_the_one_before),
        cmocka_unit_test(no_epoch_opens_for_another_objective_than_time),
        cmocka_unit_test(two_batches_for_each_agent_are_under_way),
        cmocka_unit_test(an_agent_that_asks_for_more_gets_it),
        cmocka_unit_test(an_agent_that_comes_late_gets_its_share),
        cmocka_unit_test(each_workload_has_its_own_budget),
        cmocka_unit_test(layers_of_a_network_share_one_budget_to_the_last_trial),
        cmocka_unit_test(a_layer_tries_what_another_found_best_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
