/* SPDX-License-Identifier: MIT */
/* Several people on one tracker, agents that come and go, losses and crashes: by seed. */
#include "logs/log.h"
#include "tests/tuner/one_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"anna", "bert", "cleo"};

static uint64_t below(struct sim_farm *f, uint64_t n)
{
    return rng_below(world_rng(f->world), n);
}

static void add_agents(struct sim_farm *f, bool faulty)
{
    static const char *const agents[] = {"a0", "a1", "a2"};
    const size_t n = 1 + below(f, 3);

    for (size_t i = 0; i < n; i++) {
        struct sim_agent *a = sim_farm_agent(f, agents[i]);

        a->trial_ns = (int64_t)(20 + below(f, 300)) * WORLD_MS;
        a->most = 1 + (int64_t)below(f, 16);
        if (faulty)
            a->faults = (struct sim_faults){.die = 15, .damaged = 10, .foreign = 10, .twice = 50, .slow = 3};
    }
}

/* Each starts in the time of the others, on the same workloads or others. On a recorded space the anchor is
 * the best of the first batch: another one in each job. */
static void add_sessions(struct sim_farm *f)
{
    const size_t n = 1 + below(f, 3);

    for (size_t i = 0; i < n; i++) {
        const bool is_network = below(f, 3) == 0;
        struct sim_session *s = sim_farm_session(f, names[i], is_network ? DENSE "\n" OTHER : DENSE);

        s->job.trials = 4 + (int64_t)below(f, 10);
        s->job.seed = (int64_t)below(f, 4); /* the same proposals as another's, or not */
        s->start_ns = (int64_t)below(f, 15) * WORLD_S;
        if (f->model.drift == 0)
            sim_session_replays(s, 60);
        else if (is_network && below(f, 2))
            snprintf(s->job.network, sizeof s->job.network, "net");
        if (below(f, 4) == 0)
            s->job.time_s = 3;
    }
}

/* In two parts; of two keys, one of each, that all sessions and agents have in turns. */
static void divide(struct sim_farm *f)
{
    static const char *const keys[] = {"cpu", "board"};

    assert_int_not_equal(part_of_key(keys[0], 2), part_of_key(keys[1], 2));
    net_divide(f->net);
    if (f->n_agents == 1)
        sim_farm_agent(f, "a1");
    for (size_t i = 0; i < f->n_agents; i++)
        f->agents[i].key = keys[i % 2];
    for (size_t i = 0; i < f->n_sessions; i++)
        snprintf(f->sessions[i].job.key, sizeof f->sessions[i].job.key, "%s", keys[i % 2]);
}

static void run_seed(uint64_t seed, bool faulty, bool in_parts)
{
    struct why why = {""};
    struct sim_farm f;

    sim_farm_init(&f, seed);
    f.model = (struct sim_model){
        .spread = seed % 4 ? 1.2 : 4, .noise = 0.004, .drift = seed % 4 ? 0.7 : 0, .fail = seed % 5 ? 50 : 300};
    if (faulty)
        *net_faults_of(f.net) = (struct net_faults){.lose_request = (int)below(&f, 30),
                                                    .lose_reply = (int)below(&f, 30),
                                                    .crash_before = (int)below(&f, 10),
                                                    .crash_after = (int)below(&f, 10),
                                                    .delay_ns = 20 * WORLD_MS};
    add_agents(&f, faulty);
    add_sessions(&f);
    if (in_parts)
        divide(&f);
    if (!sim_farm_run(&f, 7200 * WORLD_S))
        fail_msg("seed %llu does not end", (unsigned long long)seed);
    for (size_t i = 0; i < f.n_sessions; i++) {
        const struct sim_session *s = &f.sessions[i];

        if (s->e || s->end != SESSION_DONE)
            fail_msg("seed %llu, %s: %s, end %d, %s", (unsigned long long)seed, s->name, err_name(s->e), s->end,
                     s->why.text);
        if (!sim_check(&f, s, &why))
            fail_msg("seed %llu, %s: %s", (unsigned long long)seed, s->name, why.text);
    }
    sim_farm_fini(&f);
}

/* Of n: others for another TUNE_TEST_SEED. */
static uint64_t first_seed(uint64_t n)
{
    const char *text = getenv("TUNE_TEST_SEED");

    return text ? 1 + strtoull(text, NULL, 10) % 100000 * n : 1;
}

static void jobs_of_several_people_end_with_their_budgets_kept(void **state)
{
    const char *seed = getenv("SIM_SEED");

    (void)state;
    if (seed) {
        run_seed(strtoull(seed, NULL, 10), false, false);
        return;
    }
    for (uint64_t i = 0; i < 20; i++)
        run_seed(first_seed(20) + i, false, false);
}

static void jobs_end_through_losses_crashes_and_dying_agents(void **state)
{
    const char *seed = getenv("SIM_SEED"), *many = getenv("TUNE_SIM_SEEDS");
    const uint64_t n = many ? strtoull(many, NULL, 10) : 40;

    (void)state;
    if (seed) {
        run_seed(strtoull(seed, NULL, 10), true, false);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        run_seed(first_seed(n) + i, true, false);
}

/* Trackers that crash may come back at each other's addresses. */
static void jobs_of_a_farm_in_parts_end_through_losses_crashes_and_dying_agents(void **state)
{
    const char *seed = getenv("SIM_SEED"), *many = getenv("TUNE_SIM_SEEDS");
    const uint64_t n = seed ? 1 : many ? strtoull(many, NULL, 10) : 15;
    const uint64_t first = seed ? strtoull(seed, NULL, 10) : first_seed(n);

    (void)state;
    for (uint64_t i = 0; i < n; i++)
        run_seed(first + i, true, true);
}

/* Without drift a time is the truth but for the noise, and so must every value be that came by ratios. */
static void expect_truth(uint64_t seed, const struct sim_session *s)
{
    const struct task *t = &s->session.tasks[0];

    for (size_t i = 0; i < t->n_all; i++)
        if (!isnan(t->all[i].value) && fabs(t->all[i].value - log(t->all[i].record.time_ns)) > 0.05)
            fail_msg("seed %llu, %s: the value of %s is %g, ln of its time %g", (unsigned long long)seed, s->name,
                     t->all[i].record.id, t->all[i].value, log(t->all[i].record.time_ns));
    if (t->anchor.epoch > 3) /* of a spread of e^4 each takes ln 4 */
        fail_msg("seed %llu, %s: epoch %lld", (unsigned long long)seed, s->name, (long long)t->anchor.epoch);
}

/* What the store answered is in the job's own log, and counts for its best; nothing is measured again. */
static int64_t expect_answers(struct sim_farm *f, const struct sim_session *s)
{
    struct host_kept kept;
    struct lines log;

    host_kept(f->net, s->job_id, &kept);
    lines_of_log(s->log_path, &log);
    assert_int_equal(kept.n_records, kept.n_done);
    assert_int_equal(log.n, kept.n_records);
    assert_in_range(kept.n_done, 24, 24 + 4); /* and bridges */
    assert_int_equal(s->session.tasks[0].n_counted, 24);
    lines_fini(&log);
    return kept.n_answered;
}

/* Sixteen people, one after the other, on one recorded space: what one measured answers the next, timed against the
 * anchor of another. A job could send bridges from its best to itself for ever. */
static void a_job_on_what_others_tuned_ends_with_true_values(void **state)
{
    static const char *const people[] = {"p00", "p01", "p02", "p03", "p04", "p05", "p06", "p07",
                                         "p08", "p09", "p10", "p11", "p12", "p13", "p14", "p15"};

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        int64_t n_answered = 0;
        struct sim_farm f;

        sim_farm_init(&f, seed);
        f.model = (struct sim_model){.spread = 4, .noise = 0.004};
        sim_farm_agent(&f, "a");
        for (size_t i = 0; i < 16; i++) {
            struct sim_session *s = sim_farm_session(&f, people[i], "");

            sim_session_replays(s, 200);
            s->job.seed = (int64_t)(seed * 16 + i);
            if (i)
                sim_session_follows(s);
        }
        if (!sim_farm_run(&f, 3600 * WORLD_S))
            fail_msg("seed %llu does not end", (unsigned long long)seed);
        for (size_t i = 0; i < 16; i++) {
            n_answered += expect_answers(&f, &f.sessions[i]);
            expect_truth(seed, &f.sessions[i]);
        }
        assert_true(n_answered > 16 * 24 / 3); /* of 200 configs the sixteen together know most */
        sim_farm_fini(&f);
    }
}

/* The records of a log up to one, as a run leaves them that ends there. */
static const struct record *best_of_first(const struct lines *log, size_t n, const char *workload,
                                          struct best_set **set)
{
    assert_int_equal(best_new(set), ERR_OK);
    for (size_t i = 0; i < n; i++) {
        struct record r;

        record_init(&r);
        assert_int_equal(record_parse(log->text[i], strlen(log->text[i]), &r, NULL), ERR_OK);
        assert_int_equal(best_add(*set, &r), ERR_OK);
        record_fini(&r);
    }
    return best_find(*set, workload, NULL);
}

/* Whenever it had been killed; and how often there was a best. */
static size_t expect_right_names(const struct sim_farm *f, const struct sim_session *s)
{
    struct lines log = {.n = 0};
    size_t n_named = 0;

    if (s->log_path[0])
        lines_of_log(s->log_path, &log);
    for (size_t k = 0; k < s->session.n_tasks; k++) {
        const struct measured *winner = task_winner(&s->session.tasks[k]);

        if (winner && sim_model_hides(&f->model, &winner->record))
            fail_msg("%s tells %s, which is wrong", s->name, winner->record.id);
        if (s->session.tasks[k].n_finals && (!winner || strcmp(winner->record.purpose, "final") != 0))
            fail_msg("%s: no final is told, but %s", s->name, winner ? winner->record.id : "nothing");
        for (size_t n = 1; n <= log.n; n++) {
            struct best_set *set;
            const struct record *best = best_of_first(&log, n, s->session.tasks[k].text, &set);

            if (best && sim_model_hides(&f->model, best))
                fail_msg("%s: after %zu of %zu records %s is named, which is wrong", s->name, n, log.n, best->id);
            n_named += best != NULL;
            best_free(set);
        }
    }
    lines_fini(&log);
    return n_named;
}

/* Three people one after the other on a farm that answers from its store what others had measured, some of it in part;
 * one of them has a trial alone. Four of ten configs are wrong, which passes for what may be chosen alone show. */
static void what_only_the_last_passes_see_is_never_named(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct sim_farm f;

        sim_farm_init(&f, seed);
        f.model = (struct sim_model){.spread = 2, .noise = 0.004, .drift = 0.4, .fail = 50, .hidden = 400};
        for (size_t i = 0; i < 1 + seed % 3; i++)
            sim_farm_agent(&f, names[i])->most = (int64_t)(1 + seed % 5);
        for (size_t i = 0; i < 3; i++) {
            struct sim_session *s = sim_farm_session(&f, names[i], seed % 2 ? "" : DENSE);

            if (seed % 2)
                sim_session_replays(s, 60);
            s->job.seed = (int64_t)i;
            s->job.data_seed = (int64_t)i + 5;
            s->job.trials = i == 1 && seed % 4 < 2 ? 1 : 24;
            if (i == 2 && seed % 4 == 1) /* what is told is the session's own then */
                s->log_path[0] = '\0';
            if (i)
                sim_session_follows(s);
        }
        if (!sim_farm_run(&f, 7200 * WORLD_S))
            fail_msg("seed %llu does not end", (unsigned long long)seed);
        assert_true(expect_right_names(&f, &f.sessions[0]) > 0);
        for (size_t i = 1; i < 3; i++)
            (void)expect_right_names(&f, &f.sessions[i]);
        sim_farm_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_the_last_passes_see_is_never_named),
        cmocka_unit_test(a_job_on_what_others_tuned_ends_with_true_values),
        cmocka_unit_test(jobs_of_several_people_end_with_their_budgets_kept),
        cmocka_unit_test(jobs_end_through_losses_crashes_and_dying_agents),
        cmocka_unit_test(jobs_of_a_farm_in_parts_end_through_losses_crashes_and_dying_agents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
