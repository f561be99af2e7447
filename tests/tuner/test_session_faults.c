/* SPDX-License-Identifier: MIT */
/* Records that are none, agents that vanish, people's programs that are killed: a job goes on and counts right. */
#include "tests/tuner/one_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nothing was asked for twice, but a bridge that was under way when a session was killed. */
static size_t searched_over(struct sim_farm *f, const struct sim_session *s, int n_kills)
{
    struct asked_list asked;
    size_t n;

    asked_of(f, s->job_id, &asked);
    n = asked_count(&asked, "search");
    for (size_t i = 0; i < asked.n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(asked.items[i].purpose, asked.items[k].purpose) == 0 &&
                strcmp(asked.items[i].program, asked.items[k].program) == 0 &&
                (strcmp(asked.items[i].purpose, "redo") != 0 || n_kills-- <= 0))
                fail_msg("trials %zu and %zu are one %s", k, i, asked.items[i].purpose);
    asked_fini(&asked);
    return n;
}

static size_t searched(struct sim_farm *f, const struct sim_session *s)
{
    return searched_over(f, s, 0);
}

/* ---- records that are none ---- */

/* It costs its trial, as a failed config does, and is not asked for again. */
static void a_damaged_or_foreign_record_ends_its_trial_and_no_more(void **state)
{
    for (int foreign = 0; foreign < 2; foreign++) {
        struct sim_farm f;
        struct sim_session *s = start(&f, 1, DENSE);

        if (foreign)
            f.agents[0].faults.foreign = 250;
        else
            f.agents[0].faults.damaged = 250;
        s->job.trials = 60;
        run(&f);
        expect_done(&f, s);
        assert_int_equal(searched(&f, s), 60);
        assert_int_equal(only_task(s)->n_counted + only_task(s)->n_refused, 60);
        assert_in_range(only_task(s)->n_refused, 5, 30);
        assert_int_equal(only_task(s)->n_in_flight, 0);
        if (!foreign)
            assert_true(s->session.failures.by_status[STATUS_LOST] >= only_task(s)->n_refused);
        sim_farm_fini(&f);
    }
    (void)state;
}

static cJSON *first_knobs;
static int which;

/* What an agent gone mad may send: 0 another config's record for all, 1 another objective's, 2 of another purpose, 3 of
 * another version of the template. */
static void send_others(struct sim_agent *a, struct record *r)
{
    (void)a;
    if (strcmp(r->purpose, "search") != 0 || !r->anchor.hash.hex[0])
        return;
    if (!first_knobs)
        first_knobs = cJSON_Duplicate(r->knobs, true);
    if (which == 0) {
        cJSON_Delete(r->knobs);
        r->knobs = cJSON_Duplicate(first_knobs, true);
    } else if (which == 1) {
        snprintf(r->objective, sizeof r->objective, "edp");
    } else if (which == 2) {
        snprintf(r->purpose, sizeof r->purpose, "final");
    } else {
        r->template_version++;
    }
}

static void a_record_of_something_else_than_was_asked_for_counts_as_lost(void **state)
{
    (void)state;
    for (which = 0; which < 4; which++) {
        struct sim_farm f;
        struct sim_session *s = start(&f, 2, DENSE);

        f.agents[0].sends = send_others;
        s->job.templates[strlen("dense/gemm_direct")] = '\0'; /* one template, so that knobs are of its space */
        run(&f);
        if (s->e || s->end != SESSION_DONE)
            fail_msg("kind %d: %s", which, s->why.text);
        assert_int_equal(searched(&f, s), 24);
        assert_int_equal(only_task(s)->n_counted + only_task(s)->n_refused, 24);
        assert_true(only_task(s)->n_refused >= (which == 0 ? 10 : 23));
        cJSON_Delete(first_knobs);
        first_knobs = NULL;
        sim_farm_fini(&f);
    }
}

/* 0: its line is damaged; 1: it was not ok; 2: of another anchor; 3: it tells no ratio. */
static void spoil_bridges(struct sim_agent *a, struct record *r)
{
    a->faults.damaged = 0;
    if (strcmp(r->purpose, "redo") != 0)
        return;
    if (which == 0) {
        a->faults.damaged = 1000;
    } else if (which == 1) {
        r->status = STATUS_TIMEOUT;
    } else if (which == 2) {
        r->anchor.hash = sha256_of("x", 1);
    } else {
        r->lnratio = NAN;
        r->anchor.hash.hex[0] = '\0';
    }
}

static void a_bridge_that_cannot_be_measured_is_not_tried_again(void **state)
{
    (void)state;
    for (which = 0; which < 4; which++) {
        struct asked_list asked;
        struct sim_farm f;
        struct sim_session *s = start(&f, 3, DENSE);

        f.model.landscape = 1;
        f.model.spread = 5;
        f.agents[0].sends = spoil_bridges;
        s->job.trials = 60;
        run(&f);
        expect_done(&f, s);
        asked_of(&f, s->job_id, &asked);
        assert_in_range(asked_count(&asked, "redo"), 1, 10); /* one for each new best */
        assert_int_equal(asked_count(&asked, "search"), 60);
        for (size_t i = 0; i < asked.n; i++)
            assert_int_equal(asked.items[i].epoch, 0);
        searched(&f, s);
        asked_fini(&asked);
        sim_farm_fini(&f);
    }
}

/* ---- records that come from elsewhere, or again ---- */

static void what_another_job_measured_is_taken_at_once_and_counted_once(void **state)
{
    struct host_kept kept;
    struct sim_farm f;
    struct sim_session *first = start(&f, 4, DENSE), *second;

    (void)state;
    second = sim_farm_session(&f, "second", DENSE);
    sim_session_follows(second);
    second->job.seed = first->job.seed;
    second->job.trials = 30;
    run(&f);
    expect_done(&f, first);
    expect_done(&f, second);
    host_kept(f.net, second->job_id, &kept);
    assert_in_range(kept.n_answered, 16, 25); /* some proposals depend on the order of the answers */
    assert_int_equal(only_task(second)->n_counted, 30);
    assert_int_equal(searched(&f, second), 30);
    assert_int_equal(only_task(second)->n_in_flight, 0);
    assert_int_equal(kept.n_records, kept.n_done);
    sim_farm_fini(&f);
}

static double true_ln(const struct sim_farm *f, const struct record *r)
{
    return log(sim_model_record_time(&f->model, r));
}

/* Of the records that came from the other job: how many, all on one scale. */
static int on_one_scale(const struct sim_farm *f, const struct task *t, const char *job_id)
{
    double least = INFINITY, most = -INFINITY;
    int n = 0;

    for (size_t i = 0; i < t->n_all; i++) {
        const struct measured *m = &t->all[i];

        if (isnan(m->value) || !m->record.anchor.hash.hex[0] || strcmp(m->record.job, job_id) != 0)
            continue;
        least = fmin(least, m->value - true_ln(f, &m->record));
        most = fmax(most, m->value - true_ln(f, &m->record));
        n++;
    }
    if (n && most - least > 0.05)
        fail_msg("%d answers are apart by %g", n, most - least);
    return n;
}

/* The first job knows one template and is timed against its default, the second both, and its anchor may be the
 * other's: what the store answers is compared by its ratio to the first one's, whatever the pace was at each. */
static void answers_are_on_one_scale_where_their_anchor_is_known(void **state)
{
    int n_other = 0;

    (void)state;
    for (int n = 1; n <= 6; n++) {
        char workload[64];
        struct sim_session *first, *second;
        struct sim_farm f;

        snprintf(workload, sizeof workload, "dense f32 m=1 n=%d k=1", n); /* some 90 configs of gemv */
        first = start(&f, (uint64_t)n, workload);
        second = sim_farm_session(&f, "second", workload);
        f.model.drift = 0.7;
        f.agents[0].trial_ns = 200 * WORLD_MS;
        snprintf(first->job.templates, sizeof first->job.templates, "dense/gemv");
        snprintf(second->job.templates, sizeof second->job.templates, "dense/gemv,dense/gemm_packed");
        first->job.trials = second->job.trials = 60;
        sim_session_follows(second);
        run(&f);
        expect_done(&f, second);
        if (strcmp(only_task(first)->anchor.hash.hex, only_task(second)->anchor.hash.hex) != 0)
            n_other += on_one_scale(&f, only_task(second), first->job_id);
        sim_farm_fini(&f);
    }
    assert_true(n_other >= 20);
}

static void results_that_are_sent_twice_are_taken_once(void **state)
{
    size_t n_size = 0, n_told = 0;
    char *text = NULL;
    struct sim_farm f;
    struct sim_session *s = start(&f, 5, DENSE);

    (void)state;
    f.agents[0].faults.twice = 1000;
    s->tells = open_memstream(&text, &n_size);
    s->tell_mode = PROGRESS_JSON;
    run(&f);
    fclose(s->tells);
    expect_done(&f, s);
    for (const char *p = text; (p = strstr(p, "\"status\":")) != NULL; p++)
        n_told++;
    assert_int_equal(n_told, 31);
    free(text);
    sim_farm_fini(&f);
}

/* Every line of the job once more, as numbers of this session and of none. */
static void a_record_that_comes_again_changes_nothing(void **state)
{
    struct lines store;
    struct sim_farm f;
    struct sim_session *s = start(&f, 6, DENSE);
    struct task before;
    int64_t n_failed;

    (void)state;
    f.model.fail = 300;
    s->job.trials = 30;
    run(&f);
    expect_done(&f, s);
    lines_of_store(&f, s->job_id, &store);
    before = *only_task(s);
    n_failed = s->session.failures.by_status[STATUS_CRASH] + s->session.failures.by_status[STATUS_COMPILE];
    assert_true(n_failed > 0);
    s->session.o.log = NULL;
    for (int64_t shift = 0; shift < 2; shift++)
        for (size_t i = 0; i < store.n; i++)
            assert_int_equal(
                session_record(&s->session, (int64_t)i + 1000 * shift, store.text[i], strlen(store.text[i]), NULL),
                ERR_OK);
    assert_int_equal(only_task(s)->n_counted, before.n_counted);
    assert_int_equal(only_task(s)->n_all, before.n_all);
    assert_int_equal(only_task(s)->n_finals, before.n_finals);
    assert_int_equal(only_task(s)->n_in_flight, 0);
    assert_int_equal(only_task(s)->n_refused, before.n_refused);
    assert_int_equal(only_task(s)->since_better, before.since_better);
    assert_int_equal(only_task(s)->gain.n, before.gain.n);
    assert_int_equal(s->session.failures.by_status[STATUS_CRASH] + s->session.failures.by_status[STATUS_COMPILE],
                     n_failed);
    lines_fini(&store);
    sim_farm_fini(&f);
}

/* ---- the log ---- */

static bool spoil_log(struct sim_session *s)
{
    if (s->session.n_tasks && s->session.tasks[0].n_counted >= 8 && access(s->log_path, F_OK) == 0 && !s->arg) {
        s->arg = s;
        unlink(s->log_path);
        assert_int_equal(mkdir(s->log_path, 0700), 0);
    }
    return false;
}

/* A line that cannot be written is not learnt from: what the log lacks is measured again by the next run. */
static void a_record_is_written_before_it_is_learnt(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 7, DENSE);
    struct lines store;

    (void)state;
    s->stop = spoil_log;
    run(&f);
    assert_int_not_equal(s->e, ERR_OK);
    assert_non_null(strstr(s->why.text, s->log_path));
    lines_of_store(&f, s->job_id, &store);
    assert_in_range(only_task(s)->n_counted, 8, store.n - 1);
    lines_fini(&store);
    rmdir(s->log_path);
    sim_farm_fini(&f);
}

/* ---- who vanishes ---- */

static void leave_for_a_minute(void *arg)
{
    struct sim_farm *f = arg;

    world_sleep(f->world, 2500 * WORLD_MS);
    for (size_t i = 0; i < f->n_agents; i++)
        f->agents[i].away = true;
    world_sleep(f->world, 60 * WORLD_S);
    for (size_t i = 0; i < f->n_agents; i++)
        f->agents[i].away = false;
}

static void a_job_without_agents_waits_until_one_comes_back(void **state)
{
    for (size_t n = 1; n <= 3; n++) {
        static const char *const names[] = {"b", "c"};
        struct host_kept kept;
        struct sim_farm f;
        struct sim_session *s = start(&f, n, DENSE);

        for (size_t i = 1; i < n; i++)
            sim_farm_agent(&f, names[i - 1]);
        world_add(f.world, "holiday", leave_for_a_minute, &f);
        s->job.trials = 60;
        run(&f);
        expect_done(&f, s);
        assert_true(s->ended_ns > 62 * WORLD_S);
        assert_int_equal(only_task(s)->n_counted, 60);
        host_kept(f.net, s->job_id, &kept);
        assert_int_equal(kept.n_lost, 0);
        assert_int_equal(kept.n_records, kept.n_done);
        sim_farm_fini(&f);
    }
    (void)state;
}

static void a_trial_that_kills_five_agents_is_lost_and_the_job_ends(void **state)
{
    struct host_kept kept;
    struct sim_farm f;
    struct sim_session *s = start(&f, 2, DENSE);

    (void)state;
    f.agents[0].faults.die = 600;
    f.agents[0].most = 1;
    s->job.trials = 30;
    run(&f);
    expect_done(&f, s);
    host_kept(f.net, s->job_id, &kept);
    assert_true(kept.n_lost > 0);
    assert_int_equal(searched(&f, s), 30);
    assert_int_equal(only_task(s)->n_counted + only_task(s)->n_refused, 30);
    assert_true(only_task(s)->n_refused <= kept.n_lost); /* finals may be lost, too */
    assert_int_equal(s->session.failures.by_status[STATUS_LOST], kept.n_lost);
    sim_farm_fini(&f);
}

/* It answers when others have answered for it. */
static void a_slow_agents_late_results_count_once(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 3, DENSE);

    (void)state;
    sim_farm_agent(&f, "slow")->faults.slow = 1000;
    f.agents[1].most = 2;
    s->job.trials = 80;
    run(&f);
    expect_done(&f, s);
    assert_int_equal(searched(&f, s), 80);
    assert_int_equal(only_task(s)->n_counted, 80);
    assert_true(f.agents[1].n_run > 0);
    sim_farm_fini(&f);
}

static void pause_it(void *arg)
{
    struct sim_farm *f = arg;

    for (int i = 0; i < 3; i++) {
        world_sleep(f->world, 2 * WORLD_S);
        net_set_running(f->net, false);
        world_sleep(f->world, 20 * WORLD_S);
        net_set_running(f->net, true);
    }
}

static void a_tracker_that_stands_still_for_a_while_costs_nothing(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 4, DENSE);

    (void)state;
    world_add(f.world, "pause", pause_it, &f);
    s->job.trials = 60;
    run(&f);
    expect_done(&f, s);
    assert_int_equal(only_task(s)->n_counted, 60);
    assert_int_equal(only_task(s)->n_refused, 0);
    sim_farm_fini(&f);
}

/* ---- who takes over ---- */

struct killer {
    struct sim_session *s;
    int64_t at_ns; /* behind its beginning */
};

static void kill_it(void *arg)
{
    const struct killer *k = arg;

    while (!k->s->began)
        world_sleep(k->s->farm->world, 20 * WORLD_MS);
    world_sleep(k->s->farm->world, k->at_ns);
    k->s->peer.dead = true;
}

static void another_goes_on_where_a_killed_session_was(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct asked_list asked;
        struct why why = {""};
        struct sim_farm f;
        struct sim_session *s = start(&f, seed, DENSE), *next = sim_farm_session(&f, "next", DENSE);
        struct killer k = {s, 1200 * WORLD_MS + (int64_t)seed * 150 * WORLD_MS};

        f.model.spread = seed % 2 ? 1.2 : 5;
        f.model.fail = 100;
        s->job.trials = 30;
        next->takes_over = true;
        sim_session_follows(next);
        snprintf(next->log_path, sizeof next->log_path, "%s", s->log_path);
        world_add(f.world, "killer", kill_it, &k);
        run(&f);
        expect_done(&f, next);
        assert_int_equal(only_task(next)->n_counted, 30);
        assert_int_equal(searched_over(&f, next, 1), 30);
        assert_int_equal(next->session.n_start, next->session.n_start);
        asked_of(&f, next->job_id, &asked);
        for (size_t i = 0; i < asked.n; i++)
            assert_int_equal(asked.items[i].n, i);
        assert_in_range(asked_count(&asked, "final"), 5, 12);
        asked_fini(&asked);
        if (!sim_check(&f, next, &why))
            fail_msg("seed %llu: %s", (unsigned long long)seed, why.text);
        sim_farm_fini(&f);
    }
}

/* As soon as it knows of a trial that is lost. */
static void kill_after_a_loss(void *arg)
{
    const struct killer *k = arg;

    while (!k->s->began || k->s->session.failures.by_status[STATUS_LOST] == 0)
        world_sleep(k->s->farm->world, 20 * WORLD_MS);
    k->s->peer.dead = true;
}

/* Lost trials keep their numbers: those of the session that goes on come after all of them. */
static void numbers_of_lost_trials_are_not_given_again(void **state)
{
    (void)state;
    for (uint64_t seed = 2; seed <= 4; seed++) {
        struct asked_list asked;
        struct host_kept kept;
        struct sim_farm f;
        struct sim_session *s = start(&f, seed, DENSE), *next = sim_farm_session(&f, "next", DENSE);
        struct killer k = {s, 0};

        f.agents[0].faults.die = 600;
        f.agents[0].most = 1;
        s->job.trials = 30;
        next->takes_over = true;
        sim_session_follows(next);
        snprintf(next->log_path, sizeof next->log_path, "%s", s->log_path);
        world_add(f.world, "killer", kill_after_a_loss, &k);
        run(&f);
        expect_done(&f, next);
        host_kept(f.net, next->job_id, &kept);
        assert_true(kept.n_lost > 0);
        assert_true(next->session.first_n >= (int64_t)s->session.n_sent); /* all of these are at the tracker */
        asked_of(&f, next->job_id, &asked);
        for (size_t i = 0; i < asked.n; i++)
            assert_int_equal(asked.items[i].n, i);
        asked_fini(&asked);
        sim_farm_fini(&f);
    }
}

/* As `tune work` does: what is known is the tracker's alone. */
static void one_without_the_log_goes_on_as_well(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct sim_farm f;
        struct sim_session *s = start(&f, seed, DENSE), *next = sim_farm_session(&f, "next", DENSE);
        struct killer k = {s, 1300 * WORLD_MS + (int64_t)seed * 200 * WORLD_MS};

        next->takes_over = true;
        next->log_path[0] = '\0';
        s->log_path[0] = '\0';
        sim_session_follows(next);
        world_add(f.world, "killer", kill_it, &k);
        run(&f);
        assert_int_equal(next->e, ERR_OK);
        assert_int_equal(next->end, SESSION_DONE);
        assert_int_equal(only_task(next)->n_counted, 24);
        assert_int_equal(searched(&f, next), 24);
        sim_farm_fini(&f);
    }
}

/* A job that others ran before, killed in the middle: what the store answered is its own, too. Without a log of the
 * first session the next one's has every record of the job. */
static void a_resubmitted_job_that_is_killed_loses_no_answer(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct host_kept kept;
        struct lines log;
        struct sim_farm f;
        struct sim_session *first = start(&f, seed, DENSE), *s = sim_farm_session(&f, "s2", DENSE), *next;
        struct killer k = {s, 400 * WORLD_MS + (int64_t)seed * 100 * WORLD_MS};

        next = sim_farm_session(&f, "next", DENSE);
        first->job.seed = s->job.seed = next->job.seed = (int64_t)seed;
        first->job.trials = 16;
        s->job.trials = 40;
        sim_session_follows(s);
        s->log_path[0] = '\0';
        next->takes_over = true;
        sim_session_follows(next);
        world_add(f.world, "killer", kill_it, &k);
        run(&f);
        expect_done(&f, first);
        expect_done(&f, next);
        host_kept(f.net, next->job_id, &kept);
        lines_of_log(next->log_path, &log);
        assert_true(kept.n_answered >= 8);
        assert_int_equal(log.n, kept.n_records);
        assert_int_equal(kept.n_records, kept.n_done);
        assert_int_equal(only_task(next)->n_counted, 40);
        assert_int_equal(searched(&f, next), 40);
        lines_fini(&log);
        sim_farm_fini(&f);
    }
}

static bool at_five(struct sim_session *s)
{
    return world_now_ns(s->farm->world) > s->farm->sessions[0].ended_ns + 5 * WORLD_S;
}

/* The trials under way are waited for; their agent is away. */
static void who_takes_over_can_be_interrupted_while_trials_are_out(void **state)
{
    struct host_kept kept;
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE), *next = sim_farm_session(&f, "next", DENSE);
    struct killer k = {s, 2200 * WORLD_MS};

    (void)state;
    f.agents[0].faults.slow = 1000;
    next->takes_over = true;
    next->stop = at_five;
    sim_session_follows(next);
    world_add(f.world, "killer", kill_it, &k);
    run(&f);
    assert_int_equal(next->e, ERR_CANCELLED);
    assert_false(next->ran);
    assert_int_equal(next->session.n_sent, 0);
    host_kept(f.net, next->job_id, &kept);
    assert_string_equal(kept.state, "open");
    assert_int_equal(kept.n_done + kept.n_waiting, 2); /* the defaults */
    sim_farm_fini(&f);
}

/* ---- what cannot go on ---- */

static bool in_half_a_minute(struct sim_session *s)
{
    return world_now_ns(s->farm->world) > 30 * WORLD_S;
}

static void trials_that_wait_for_a_builder_are_told_once(void **state)
{
    for (int i = 0; i < 4; i++) {
        const bool json = i % 2;
        size_t n_size = 0, n_told = 0;
        char *text = NULL;
        struct sim_farm f;
        struct sim_session *s = start(&f, 1, DENSE);

        s->own_farm = i / 2; /* of one's own farm, too, when it could have begun */
        f.agents[0].arch = "sm_61";
        s->tells = open_memstream(&text, &n_size);
        s->tell_mode = json ? PROGRESS_JSON : PROGRESS_PLAIN;
        s->stop = in_half_a_minute;
        run(&f);
        fclose(s->tells);
        assert_int_equal(s->end, SESSION_INTERRUPTED);
        for (const char *p = text; (p = strstr(p, "2 trials wait for a builder of sm_61")) != NULL; p++)
            n_told++;
        assert_int_equal(n_told, 1);
        assert_int_equal(strstr(text, "\"event\":\"waits\"") != NULL, json);
        free(text);
        sim_farm_fini(&f);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_or_foreign_record_ends_its_trial_and_no_more),
        cmocka_unit_test(a_record_of_something_else_than_was_asked_for_counts_as_lost),
        cmocka_unit_test(a_bridge_that_cannot_be_measured_is_not_tried_again),
        cmocka_unit_test(what_another_job_measured_is_taken_at_once_and_counted_once),
        cmocka_unit_test(answers_are_on_one_scale_where_their_anchor_is_known),
        cmocka_unit_test(results_that_are_sent_twice_are_taken_once),
        cmocka_unit_test(a_record_that_comes_again_changes_nothing),
        cmocka_unit_test(a_record_is_written_before_it_is_learnt),
        cmocka_unit_test(a_job_without_agents_waits_until_one_comes_back),
        cmocka_unit_test(a_trial_that_kills_five_agents_is_lost_and_the_job_ends),
        cmocka_unit_test(a_slow_agents_late_results_count_once),
        cmocka_unit_test(a_tracker_that_stands_still_for_a_while_costs_nothing),
        cmocka_unit_test(another_goes_on_where_a_killed_session_was),
        cmocka_unit_test(numbers_of_lost_trials_are_not_given_again),
        cmocka_unit_test(one_without_the_log_goes_on_as_well),
        cmocka_unit_test(a_resubmitted_job_that_is_killed_loses_no_answer),
        cmocka_unit_test(who_takes_over_can_be_interrupted_while_trials_are_out),
        cmocka_unit_test(trials_that_wait_for_a_builder_are_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
