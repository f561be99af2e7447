/* SPDX-License-Identifier: MIT */
/* How a job's search ends, and how a session does: by its own rules, by the clock, by people and by the tracker. */
#include "tests/tuner/one_job.h"
#include "tuner/stop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_end(struct sim_farm *f, const struct sim_session *s, enum session_end end, const char *state)
{
    struct host_kept kept;

    if (s->e)
        fail_msg("%s: %s: %s", s->name, err_name(s->e), s->why.text);
    assert_int_equal(s->end, end);
    host_kept(f->net, s->job_id, &kept);
    assert_string_equal(kept.state, state);
}

/* ---- why a search stops ---- */

/* Trials of 0.2 s on one agent: some 25 in 5 s. What is under way then is waited for, and the finals are measured. */
static void the_clock_ends_the_search_and_the_finals_follow(void **state)
{
    struct asked_list asked;
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);

    (void)state;
    f.agents[0].trial_ns = 200 * WORLD_MS;
    s->job.trials = 1000;
    s->job.time_s = 5;
    run(&f);
    expect_end(&f, s, SESSION_DONE, "done");
    assert_int_equal(only_task(s)->stop, STOP_TIME);
    assert_in_range(only_task(s)->n_counted, 20, 25 + 3 * SESSION_BATCH);
    asked_of(&f, s->job_id, &asked);
    assert_int_equal(asked_count(&asked, "search"), only_task(s)->n_counted);
    assert_in_range(asked_count(&asked, "final"), 5, 6);
    assert_in_range(s->ended_ns, 6 * WORLD_S, 20 * WORLD_S);
    asked_fini(&asked);
    sim_farm_fini(&f);
}

/* It begins with the session, not with its last phase or another's. */
static void the_clock_of_a_late_session_is_its_own(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);

    (void)state;
    s->start_ns = 500 * WORLD_S;
    s->job.time_s = 100;
    run(&f);
    expect_end(&f, s, SESSION_DONE, "done");
    assert_int_equal(only_task(s)->stop, STOP_TRIALS);
    sim_farm_fini(&f);
}

/* Of searched trials, as they were asked for: those after the best of them, which may be the better of the two defaults
 * (the anchor), and those after the first `patience` without a better one. */
static void count_since(const struct asked_list *asked, int64_t patience, int64_t *since_best, int64_t *since_patience)
{
    double least = 0;
    int64_t at = asked->items[1].record.time_ns < asked->items[0].record.time_ns ? 2 : 1, n = 0, end = INT64_MAX;

    for (size_t i = 0; i < asked->n; i++) {
        const struct asked *a = &asked->items[i];
        const double value = isnan(a->record.lnratio) ? 0 : a->record.lnratio;

        if (strcmp(a->purpose, "search") != 0 || a->is_baseline)
            continue;
        n++;
        if (i >= 2 && value < least) {
            least = value;
            at = n;
        }
        if (n - at == patience && end > n)
            end = n;
    }
    *since_best = n - at;
    *since_patience = n - end;
}

static void patience_ends_a_search_that_improves_no_more(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct asked_list asked;
        struct sim_farm f;
        struct sim_session *s = start(&f, seed, DENSE);
        int64_t since_best, since_patience;

        s->job.trials = 1000;
        s->job.early_stopping = 20;
        run(&f);
        expect_end(&f, s, SESSION_DONE, "done");
        assert_int_equal(only_task(s)->stop, STOP_PATIENCE);
        asked_of(&f, s->job_id, &asked);
        count_since(&asked, 20, &since_best, &since_patience);
        assert_in_range(since_patience, 0, 2 * SESSION_BATCH); /* under way by then; one of them may be better */
        assert_int_equal(only_task(s)->since_better, since_best);
        asked_fini(&asked);
        sim_farm_fini(&f);
    }
}

static void a_search_of_which_little_is_expected_ends(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 3, DENSE);

    (void)state;
    s->job.trials = 2000;
    s->job.min_gain = 0.05;
    run(&f);
    expect_end(&f, s, SESSION_DONE, "done");
    assert_int_equal(only_task(s)->stop, STOP_GAIN);
    assert_in_range(only_task(s)->n_counted, STOP_MIN_SEEN, 1000);
    assert_true(1 - exp(-task_gain(only_task(s), 0, GAIN_AHEAD)) < 0.06);
    sim_farm_fini(&f);
}

static void a_target_that_is_reached_ends_the_search(void **state)
{
    for (int by_rate = 0; by_rate < 2; by_rate++) {
        struct sim_farm f;
        struct sim_session *s = start(&f, 4, DENSE);
        const struct record *best;

        f.model.drift = 0;
        s->job.trials = 1000;
        if (by_rate)
            s->job.target_gflops = 2 * 8 * 64 * 64 / 450e3;
        else
            s->job.target_ns = 450e3; /* of 300 to 1000 us */
        run(&f);
        expect_end(&f, s, SESSION_DONE, "done");
        assert_int_equal(only_task(s)->stop, STOP_TARGET);
        best = &only_task(s)->all[only_task(s)->i_best].record;
        assert_true(best->time_ns <= 450e3 && only_task(s)->n_counted < 100);
        sim_farm_fini(&f);
    }
    (void)state;
}

/* One layer is at its end long before the other. */
static void each_task_has_its_own_reason(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 5, DENSE "\n" OTHER);

    (void)state;
    s->job.layers[0].trials = 4;
    s->job.layers[1].trials = 1000;
    s->job.early_stopping = 30;
    run(&f);
    expect_end(&f, s, SESSION_DONE, "done");
    assert_int_equal(s->session.tasks[0].stop, STOP_TRIALS);
    assert_int_equal(s->session.tasks[1].stop, STOP_PATIENCE);
    assert_int_equal(s->session.tasks[0].n_counted, 4);
    sim_farm_fini(&f);
}

/* ---- people ---- */

struct canceller {
    struct sim_farm *farm;
    struct sim_session *whose;
    int64_t at_ns;
    struct peer peer;
    int64_t n_sent; /* trials when it was cancelled */
};

static void cancel(void *arg)
{
    struct canceller *x = arg;
    struct client *c = NULL;
    struct why why = {""};
    cJSON *args = cJSON_CreateObject(), *result = NULL;
    bool ok = true;

    x->peer.net = x->farm->net;
    world_sleep(x->farm->world, x->at_ns);
    if (net_client(&x->peer, "other", &c, &why))
        abort();
    json_add_text(args, "job", x->whose->job_id, &ok);
    (void)client_call(c, "job_cancel", args, NULL, 0, &result, NULL, &why);
    cJSON_Delete(result);
    x->n_sent = (int64_t)x->whose->session.n_sent;
    client_close(c);
}

static void a_cancelled_job_ends_its_session_and_nothing_more_is_sent(void **state)
{
    (void)state;
    for (int64_t at = 0; at < 8; at++) {
        struct sim_farm f;
        struct sim_session *s = start(&f, (uint64_t)at + 1, DENSE);
        struct canceller x = {.farm = &f, .whose = s, .at_ns = 2 * WORLD_S + at * 130 * WORLD_MS};
        struct host_kept kept;

        s->job.trials = 200;
        world_add(f.world, "canceller", cancel, &x);
        run(&f);
        expect_end(&f, s, SESSION_CANCELLED, "cancelled");
        host_kept(f.net, s->job_id, &kept);
        assert_int_equal(kept.n_waiting, 0);
        assert_true((int64_t)s->session.n_sent <= x.n_sent + 2 * SESSION_BATCH); /* refused by the tracker */
        assert_true(s->ended_ns < 2 * WORLD_S + x.at_ns + 3 * WORLD_S);
        assert_true(sim_check_best(s->log_path, &s->why));
        sim_farm_fini(&f);
    }
}

static int64_t n_at_stop;

/* While somebody reaches for Ctrl-C the farm goes on. */
static bool has_ten(struct sim_session *s)
{
    if (!s->session.n_tasks || s->session.tasks[0].n_counted < 10)
        return false;
    if (!s->arg) {
        n_at_stop = s->session.tasks[0].n_counted;
        world_sleep(s->farm->world, WORLD_S);
    }
    s->arg = s;
    return true;
}

static void an_interrupted_session_loses_no_record_and_gives_the_job_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct sim_farm f;
        struct sim_session *s = start(&f, seed, DENSE), *next;
        struct lines log, store;
        struct why why = {""};
        size_t n_then = 0;

        s->stop = has_ten;
        next = sim_farm_session(&f, "next", DENSE);
        next->takes_over = true;
        snprintf(next->log_path, sizeof next->log_path, "%s", s->log_path);
        sim_session_follows(next);
        run(&f);
        expect_end(&f, next, SESSION_DONE, "done");
        assert_int_equal(s->end, SESSION_INTERRUPTED);
        assert_string_equal(s->job_id, next->job_id);
        lines_of_log(next->log_path, &log);
        lines_of_store(&f, s->job_id, &store);
        assert_int_equal(log.n, store.n);
        for (size_t i = 0; i < store.n; i++) { /* what the first knew when it ended was in the log then */
            struct record r;

            record_init(&r);
            assert_int_equal(record_parse(store.text[i], strlen(store.text[i]), &r, NULL), ERR_OK);
            n_then += r.ts_ms < s->ended_ns / WORLD_MS + INT64_C(1767225600000) - 300; /* on its way */
            record_fini(&r);
        }
        assert_true((int64_t)n_then > n_at_stop);
        assert_true((int64_t)n_then <= s->session.tasks[0].n_counted);
        assert_int_equal(next->session.tasks[0].n_counted, 24);
        if (!sim_check(&f, next, &why))
            fail_msg("seed %llu: %s", (unsigned long long)seed, why.text);
        lines_fini(&log);
        lines_fini(&store);
        sim_farm_fini(&f);
    }
}

static bool has_some(struct sim_session *s)
{
    return s->session.n_tasks && s->session.tasks[0].n_counted >= *(const int64_t *)s->arg;
}

/* At any moment, on a machine whose pace halves and doubles, behind the defaults, which are timed alone, in the middle
 * of the search or in later epochs: what the best log and the table name is the fastest of the log but for the noise.
 */
static void an_interrupted_run_names_the_best_of_its_log(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        int64_t at = 1 + (int64_t)(seed * 7 % 31);
        struct sim_farm f;
        struct sim_session *s = start(&f, seed, DENSE);
        const struct task *t;
        const struct measured *told;
        double least = INFINITY;

        f.model.spread = seed % 3 ? 1.2 : 5;
        f.model.drift = 0.7;
        f.agents[0].trial_ns = 300 * WORLD_MS; /* the pace changes by 2 % from trial to trial */
        s->job.trials = 60;
        s->stop = has_some;
        s->arg = &at;
        run(&f);
        assert_int_equal(s->end, SESSION_INTERRUPTED);
        if (!sim_check_best(s->log_path, &s->why) || !sim_check_told(s, &s->why))
            fail_msg("seed %llu: %s", (unsigned long long)seed, s->why.text);
        t = only_task(s);
        told = task_winner(t);
        for (size_t i = 0; i < t->n_all; i++)
            if (!isnan(t->all[i].value))
                least = fmin(least, sim_model_record_time(&f.model, &t->all[i].record));
        assert_non_null(told);
        if (sim_model_record_time(&f.model, &told->record) > 1.05 * least)
            fail_msg("seed %llu: %g ns, the log has %g", (unsigned long long)seed,
                     sim_model_record_time(&f.model, &told->record), least);
        sim_farm_fini(&f);
    }
}

/* ---- leases ---- */

struct leases {
    const struct sim_session *s;
    int64_t least_left_ns;
};

static void note_lease(struct net *n, void *arg)
{
    struct leases *l = arg;
    struct host_job j;

    if (l->s->ran && !l->s->ended && host_job(n, l->s->job_id, &j) && j.is_open && j.lease_left_ns < l->least_left_ns)
        l->least_left_ns = j.lease_left_ns;
}

/* Whether trials come back or not: the agent of this one is away for a minute. */
static void the_lease_is_renewed_every_second_also_while_nothing_comes(void **state)
{
    struct leases l = {.least_left_ns = INT64_MAX};
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);

    (void)state;
    f.agents[0].faults.slow = 100; /* each takes 100 s */
    net_set_lease_ms(f.net, 5000);
    l.s = s;
    net_on_turn(f.net, note_lease, &l);
    run(&f);
    expect_end(&f, s, SESSION_DONE, "done");
    assert_true(l.least_left_ns > 3000 * WORLD_MS); /* 1 s, and a poll of 0.4 s */
    sim_farm_fini(&f);
}

static bool is_cut(void *arg)
{
    return ((const struct sim_session *)arg)->peer.cut;
}

static void cut_and_come_back(void *arg)
{
    struct sim_session *s = arg;

    world_sleep(s->farm->world, 2500 * WORLD_MS);
    s->peer.cut = true;
    world_sleep(s->farm->world, 40 * WORLD_S);
    s->peer.cut = false;
}

/* Cut off for longer than its lease: another has the job by then. The first says so, sends nothing more, and leaves the
 * job's state to the other. */
static void a_lease_that_went_to_another_ends_the_session(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct sim_farm f;
        struct sim_session *s = start(&f, seed, DENSE), *other;
        struct why why = {""};
        int64_t n_before;

        s->job.trials = 60;
        net_set_lease_ms(f.net, 5000);
        other = sim_farm_session(&f, "other", DENSE);
        other->takes_over = true;
        other->starts = is_cut;
        other->starts_arg = s;
        world_add(f.world, "cutter", cut_and_come_back, s);
        run(&f);
        expect_end(&f, other, SESSION_DONE, "done");
        assert_int_equal(s->e, ERR_OK);
        assert_int_equal(s->end, SESSION_LEASE_LOST);
        n_before = other->session.first_n;
        assert_true((int64_t)s->session.n_sent <= n_before + 2 * SESSION_BATCH);
        assert_int_equal(other->session.tasks[0].n_counted, 60);
        if (!sim_check(&f, other, &why))
            fail_msg("seed %llu: %s", (unsigned long long)seed, why.text);
        sim_farm_fini(&f);
    }
}

/* ---- devices ---- */

static void without_a_device_a_session_waits_as_long_as_it_may(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);
    struct host_kept kept;

    (void)state;
    f.agents[0].away = true;
    s->wait_device_ms = 4000;
    run(&f);
    assert_int_equal(s->e, ERR_NOT_FOUND);
    assert_false(s->ran);
    assert_non_null(strstr(s->why.text, "no device is registered"));
    assert_in_range(s->ended_ns, 5 * WORLD_S, 6 * WORLD_S);
    host_kept(f.net, s->job_id, &kept);
    assert_string_equal(kept.state, "failed");
    sim_farm_fini(&f);
}

static void come_at_ten(void *arg)
{
    struct sim_agent *a = arg;

    world_sleep(net_world(a->net), 10 * WORLD_S);
    a->away = false;
}

static void a_session_waits_for_its_first_device_and_says_so_once(void **state)
{
    size_t n_size = 0, n_told = 0;
    char *text = NULL;
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);

    (void)state;
    f.agents[0].away = true;
    s->tells = open_memstream(&text, &n_size);
    s->tell_mode = PROGRESS_PLAIN;
    world_add(f.world, "clock", come_at_ten, &f.agents[0]);
    run(&f);
    fclose(s->tells);
    expect_end(&f, s, SESSION_DONE, "done");
    for (const char *p = text; (p = strstr(p, "waiting: no device")) != NULL; p++)
        n_told++;
    assert_int_equal(n_told, 1);
    free(text);
    sim_farm_fini(&f);
}

/* Agents that were there before the tracker's start come back one after the other: a lease's time behind it a key is
 * not held for a wrong one because another was first, and who waits then waits on. */
static void behind_a_start_of_the_tracker_a_session_waits_for_its_key(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);

    (void)state;
    sim_farm_agent(&f, "other")->key = "gpu";
    f.agents[0].away = true;
    world_add(f.world, "clock", come_at_ten, &f.agents[0]);
    run(&f);
    expect_end(&f, s, SESSION_DONE, "done");
    assert_in_range(s->ended_ns, 10 * WORLD_S, 100 * WORLD_S);
    sim_farm_fini(&f);
}

static bool has_ended(void *arg)
{
    return ((const struct sim_session *)arg)->ended_ns > 0;
}

/* Nor is the only key that has come back taken for the only one there is, where the tracker has jobs of another: a
 * lease's time behind its start who named none is told of both, or has the one that is there. */
static void behind_a_start_of_the_tracker_the_first_key_is_not_the_only_one(void **state)
{
    (void)state;
    for (int comes = 0; comes < 2; comes++) {
        struct sim_farm f;
        struct sim_session *former = start(&f, 1, DENSE), *s = sim_farm_session(&f, "keyless", DENSE);

        snprintf(former->job.key, sizeof former->job.key, "gpu");
        former->wait_device_ms = 1000;
        s->job.key[0] = '\0';
        s->starts = has_ended;
        s->starts_arg = former;
        if (comes) {
            struct sim_agent *other = sim_farm_agent(&f, "other");

            other->key = "gpu";
            other->away = true;
            world_add(f.world, "clock", come_at_ten, other);
        }
        run(&f);
        assert_int_equal(former->e, ERR_NOT_FOUND);
        if (comes) {
            assert_int_equal(s->e, ERR_INPUT);
            assert_non_null(strstr(s->why.text, "several device keys"));
        } else {
            expect_end(&f, s, SESSION_DONE, "done");
            assert_in_range(s->ended_ns, 30 * WORLD_S, 100 * WORLD_S);
        }
        sim_farm_fini(&f);
    }
}

/* An agent of one's own is slow to start: the tracker's words about a key without devices are for farms of others. */
static void the_start_of_ones_own_farm_is_no_lack_of_devices(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        size_t n_size = 0;
        char *text = NULL;
        struct sim_farm f;
        struct sim_session *s = start(&f, 1, DENSE);

        f.agents[0].away = true;
        s->own_farm = own;
        s->tells = open_memstream(&text, &n_size);
        s->tell_mode = PROGRESS_PLAIN;
        world_add(f.world, "clock", come_at_ten, &f.agents[0]);
        run(&f);
        fclose(s->tells);
        expect_end(&f, s, SESSION_DONE, "done");
        assert_int_equal(strstr(text, "no device of key cpu is there") == NULL, own);
        free(text);
        sim_farm_fini(&f);
    }
}

static bool at_once(struct sim_session *s)
{
    return world_now_ns(s->farm->world) > 3 * WORLD_S;
}

static void a_session_that_waits_for_a_device_can_be_interrupted(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);
    struct host_kept kept;

    (void)state;
    f.agents[0].away = true;
    s->stop = at_once;
    run(&f);
    assert_int_equal(s->e, ERR_CANCELLED);
    assert_in_range(s->ended_ns, 3 * WORLD_S, 4 * WORLD_S);
    host_kept(f.net, s->job_id, &kept);
    assert_string_equal(kept.state, "open");
    sim_farm_fini(&f);
}

static void what_the_job_names_wrongly_is_refused_before_anything_is_sent(void **state)
{
    static const struct {
        const char *templates, *key, *words;
    } bad[] = {{"dense/nothing", "cpu", "no template \"dense/nothing\""},
               {"conv2d/direct_tile", "cpu", "does not compute dense"},
               {"", "gpu", "no device has the key \"gpu\""}};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sim_farm f;
        struct sim_session *s = start(&f, 1, DENSE);
        struct host_kept kept;

        snprintf(s->job.templates, sizeof s->job.templates, "%s", bad[i].templates);
        snprintf(s->job.key, sizeof s->job.key, "%s", bad[i].key);
        s->start_ns = 40 * WORLD_S; /* the tracker is up for longer than a lease */
        run(&f);
        assert_int_equal(s->e, ERR_INPUT);
        if (!strstr(s->why.text, bad[i].words))
            fail_msg("'%s' does not say '%s'", s->why.text, bad[i].words);
        host_kept(f.net, s->job_id, &kept);
        assert_string_equal(kept.state, "failed");
        assert_int_equal(kept.n_done + kept.n_waiting, 0);
        sim_farm_fini(&f);
    }
}

/* ---- objectives ---- */

static void a_device_that_tells_no_energy_ends_the_job_at_its_first_record(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);
    struct host_kept kept;

    (void)state;
    f.agents[0].no_energy = true;
    snprintf(s->job.objective, sizeof s->job.objective, "edp");
    run(&f);
    assert_int_equal(s->e, ERR_UNSUPPORTED);
    assert_non_null(strstr(s->why.text, "--objective edp: the device tells neither energy nor power"));
    host_kept(f.net, s->job_id, &kept);
    assert_string_equal(kept.state, "failed");
    assert_in_range(kept.n_records, 1, 2);
    sim_farm_fini(&f);
}

static void lose_the_sensor(struct sim_agent *a, struct record *r)
{
    if (a->n_run == 12 && r->status == STATUS_OK) {
        r->status = STATUS_RUNTIME;
        free(r->why);
        r->why = strdup("its sensors are gone");
        strcpy(r->cause, RECORD_NO_ENERGY);
    }
}

static void one_that_told_energy_before_may_fail_to_once(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);

    (void)state;
    f.agents[0].sends = lose_the_sensor;
    snprintf(s->job.objective, sizeof s->job.objective, "energy");
    run(&f);
    expect_end(&f, s, SESSION_DONE, "done");
    assert_int_equal(only_task(s)->n_counted, 24);
    assert_int_equal(only_task(s)->n_failed, 1);
    sim_farm_fini(&f);
}

static double always_wrong(const struct program *p, void *arg)
{
    (void)p;
    (void)arg;
    return -(double)STATUS_WRONG;
}

/* No best, no anchor, no finals; and the job ends. */
static void a_job_whose_every_config_fails_ends(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);
    struct asked_list asked;
    struct lines best;
    char path[400];

    (void)state;
    f.model.time_ns = always_wrong;
    run(&f);
    expect_end(&f, s, SESSION_DONE, "done");
    assert_false(session_has_best(&s->session));
    assert_int_equal(only_task(s)->n_counted, 24);
    assert_int_equal(only_task(s)->n_failed, 25); /* the baseline, too */
    asked_of(&f, s->job_id, &asked);
    assert_int_equal(asked.n, 25);
    assert_int_equal(asked_count(&asked, "final"), 0);
    assert_int_equal(best_path(s->log_path, path, sizeof path), ERR_OK);
    lines_of_log(path, &best);
    assert_int_equal(best.n, 0);
    lines_fini(&best);
    asked_fini(&asked);
    sim_farm_fini(&f);
}

/* A submitted job's path is its user's, the files are of who runs `tune work`: a device that is no recording has no use
 * for it. Who gave the job may have it opened (the device answers for it, here). */
static void a_path_of_others_is_not_opened_for_a_device_that_is_no_recording(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE), *next = sim_farm_session(&f, "next", DENSE);

    (void)state;
    sim_session_replays(s, 60);
    s->stop = has_ten;
    sim_session_replays(next, 60);
    next->takes_over = true;
    sim_session_follows(next);
    run(&f);
    assert_int_equal(s->end, SESSION_INTERRUPTED);
    assert_true(s->session.tasks[0].n_counted >= 10);
    assert_int_equal(next->e, ERR_UNSUPPORTED);
    assert_non_null(strstr(next->why.text, "expected a device that is a recording"));
    sim_farm_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_of_others_is_not_opened_for_a_device_that_is_no_recording),
        cmocka_unit_test(the_clock_ends_the_search_and_the_finals_follow),
        cmocka_unit_test(the_clock_of_a_late_session_is_its_own),
        cmocka_unit_test(patience_ends_a_search_that_improves_no_more),
        cmocka_unit_test(a_search_of_which_little_is_expected_ends),
        cmocka_unit_test(a_target_that_is_reached_ends_the_search),
        cmocka_unit_test(each_task_has_its_own_reason),
        cmocka_unit_test(a_cancelled_job_ends_its_session_and_nothing_more_is_sent),
        cmocka_unit_test(an_interrupted_session_loses_no_record_and_gives_the_job_back),
        cmocka_unit_test(an_interrupted_run_names_the_best_of_its_log),
        cmocka_unit_test(the_lease_is_renewed_every_second_also_while_nothing_comes),
        cmocka_unit_test(a_lease_that_went_to_another_ends_the_session),
        cmocka_unit_test(without_a_device_a_session_waits_as_long_as_it_may),
        cmocka_unit_test(a_session_waits_for_its_first_device_and_says_so_once),
        cmocka_unit_test(behind_a_start_of_the_tracker_a_session_waits_for_its_key),
        cmocka_unit_test(behind_a_start_of_the_tracker_the_first_key_is_not_the_only_one),
        cmocka_unit_test(the_start_of_ones_own_farm_is_no_lack_of_devices),
        cmocka_unit_test(a_session_that_waits_for_a_device_can_be_interrupted),
        cmocka_unit_test(what_the_job_names_wrongly_is_refused_before_anything_is_sent),
        cmocka_unit_test(a_device_that_tells_no_energy_ends_the_job_at_its_first_record),
        cmocka_unit_test(one_that_told_energy_before_may_fail_to_once),
        cmocka_unit_test(a_job_whose_every_config_fails_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
