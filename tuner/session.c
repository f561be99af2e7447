/* SPDX-License-Identifier: MIT */
#include "tuner/session.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/json.h"
#include "formats/convert.h"
#include "tuner/earlier.h"
#include "tuner/tell.h"
#include "tuner/trial.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS 400
#define SOON_MS 25 /* while a strategy is not ready */
#define FARM_BEGINS_NS ((int64_t)15 * 1000 * 1000 * 1000)
#define RENEW_NS ((int64_t)1000 * 1000 * 1000) /* leases may be as short as a few seconds */
#define DEVICES_NS ((int64_t)5 * 1000 * 1000 * 1000)

static bool is_interrupted(const struct session *s)
{
    return s->o.interrupted && s->o.interrupted();
}

static enum err check_farm(struct session *s, struct why *why)
{
    return s->o.check_farm ? s->o.check_farm(s->o.farm, why) : ERR_OK;
}

static enum err make_tasks(struct session *s, struct why *why)
{
    const struct job *j = s->o.job;
    const size_t n = j->replay[0] ? 1 : j->n_layers;

    s->tasks = calloc(n + 1, sizeof *s->tasks);
    if (!s->tasks)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    for (; s->n_tasks < n; s->n_tasks++) {
        struct task *t = &s->tasks[s->n_tasks];
        const enum err e = task_init(t, j, s->n_tasks, &s->device.desc, why);

        if (e)
            return e;
        if (t->note[0])
            progress_note(s->o.progress, "%s: %s", t->name[0] ? t->name : t->text, t->note);
    }
    return ERR_OK;
}

static bool take_warm(const struct record *r, const char *line, size_t n, void *arg)
{
    struct session *s = arg;

    (void)line;
    (void)n;
    for (size_t i = 0; i < s->n_tasks; i++)
        task_take(&s->tasks[i], r, ORIGIN_WARM);
    return true;
}

static bool gather(const struct record *r, const char *line, size_t n, void *arg)
{
    (void)line;
    (void)n;
    earlier_add(arg, r);
    return true;
}

/* Records of other devices and shapes warm the searches, before anything is told to them. */
static enum err warm(struct session *s, struct why *why)
{
    struct earlier earlier = {0};
    enum err e = convert_scan(s->o.records, NULL, gather, NULL, &earlier, why);

    for (size_t i = 0; i < s->n_tasks && !e; i++) {
        const struct task *t = &s->tasks[i];
        size_t n = 0;

        e = earlier_warm(&earlier, &s->tasks[i], s->o.job, &n, why);
        if (!e && n)
            progress_note(s->o.progress, "%s: warmed by %zu earlier search%s", t->name[0] ? t->name : t->text, n,
                          n == 1 ? "" : "es");
    }
    earlier_fini(&earlier);
    return e;
}

/* Failures count again too: a run that finds nothing says why, whoever measured it. */
static bool take_own(const struct record *r, const char *line, size_t n, void *arg)
{
    struct session *s = arg;
    bool known = false;

    (void)line;
    (void)n;
    for (size_t i = 0; i < s->n_tasks; i++) {
        known |= task_knows(&s->tasks[i], r);
        task_take(&s->tasks[i], r, ORIGIN_LOG);
    }
    if (known)
        failures_add(&s->failures, r);
    return true;
}

struct putting {
    struct session *session;
    const struct task *task;
};

static enum err put(const struct measured *m, struct sha256 *hash, void *arg)
{
    const struct putting *p = arg;

    return session_put_program(p->session, p->task, m, hash, NULL);
}

static enum err restore(struct session *s, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < s->n_tasks && !e; i++) {
        struct putting p = {s, &s->tasks[i]};

        if ((e = task_restore_anchor(&s->tasks[i], put, &p)))
            why_set(why, e, "%s", err_words(e));
        s->n_start += s->tasks[i].n_counted;
    }
    return e;
}

void session_fini(struct session *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_tasks; i++)
        task_fini(&s->tasks[i]);
    free(s->tasks);
    free(s->sent);
    failures_fini(&s->failures);
    if (s->is_watching)
        expect_set_watch(s->former_watch);
    *s = (struct session){.n_tasks = 0};
}

static struct sent *find_sent(struct session *s, int64_t n)
{
    const int64_t i = n - s->first_n;

    return i >= 0 && (size_t)i < s->n_sent && !s->sent[i].done ? &s->sent[i] : NULL;
}

/* A device's sensors are not in its description, only its records tell what it lacks. */
static void note_energy(struct session *s, const struct record *r)
{
    s->saw_energy |= r->status == STATUS_OK && r->energy_j > 0;
    s->no_energy |=
        *s->o.job->objective && !s->saw_energy && r->status != STATUS_OK && strcmp(r->cause, RECORD_NO_ENERGY) == 0;
}

static enum err refuse_objective(struct session *s, struct why *why)
{
    session_close(s, "failed", NULL);
    return why_set(why, ERR_UNSUPPORTED,
                   "--objective %s: the device tells neither energy nor power: only --objective time is possible on it",
                   s->o.job->objective);
}

static void note_failure(struct session *s, const struct task *t, const struct record *r)
{
    note_energy(s, r);
    failures_add(&s->failures, r);
    if (r->status != STATUS_OK && s->o.progress->verbosity > 0)
        progress_note(s->o.progress, "%s: %s: %s", t ? t->text : "", status_name(r->status), r->why ? r->why : "");
}

/* The record of a trial of this session. What is none of its config ends the trial, no more. */
static enum err take_answer(struct session *s, const struct sent *sent, const struct record *r)
{
    struct task *t = &s->tasks[sent->i_task];

    if (sent->kind == TRIAL_BRIDGE)
        anchor_bridge(&t->anchor, r);
    else if (task_answers(t, r, trial_purpose(sent->kind), sent->i_arm, &sent->config))
        return task_take(t, r, ORIGIN_JOB);
    else if (sent->kind == TRIAL_SEARCH)
        return task_refuse(t, sent->i_arm, &sent->config);
    return ERR_OK;
}

static void note_taken(struct session *s, size_t i_task, const struct record *r, int best)
{
    const struct task *t = &s->tasks[i_task];

    s->i_current = i_task;
    note_failure(s, t, r);
    progress_measured(s->o.progress, r, t->i_best != best);
}

/* A record of an earlier session of the job, or one more of a trial that has its own: only what is new is told. */
static enum err take_other(struct session *s, const struct record *r)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < s->n_tasks && !e; i++) {
        struct task *t = &s->tasks[i];
        const size_t n = t->n_all + t->n_finals;
        const int best = t->i_best;

        e = task_take(t, r, ORIGIN_JOB);
        if (t->n_all + t->n_finals > n)
            note_taken(s, i, r, best);
    }
    return e;
}

enum err session_record(struct session *s, int64_t n, const char *line, size_t n_line, struct why *why)
{
    struct sent *sent = find_sent(s, n);
    const int best = sent ? s->tasks[sent->i_task].i_best : -1;
    struct record r;
    enum err e;

    record_init(&r);
    e = record_parse(line, n_line, &r, NULL);
    if (e == ERR_NOMEM) { /* the record may be a good one: nothing is settled */
        record_fini(&r);
        return why_set(why, e, "%s", err_words(e));
    }
    if (e) { /* a foreign or damaged record ends its trial, no more */
        r.status = STATUS_LOST;
        e = ERR_OK;
    } else if (s->o.log) {
        e = joblog_line(s->o.log, &r, line, n_line, why);
    }
    if (!e && (e = sent ? take_answer(s, sent, &r) : take_other(s, &r)))
        why_set(why, e, "%s", err_words(e));
    if (sent) {
        assert(s->tasks[sent->i_task].n_in_flight > 0);
        note_taken(s, sent->i_task, &r, best);
        sent->done = true;
        s->tasks[sent->i_task].n_in_flight--;
    }
    if (r.time_ns > 0) {
        s->current_gflops = record_gflops(&r);
        s->current_ns = r.time_ns;
    }
    record_fini(&r);
    return e;
}

/* Trials that cannot go on (code for their device has no builder) are told once, and again when the words change. */
static void tell_waits(struct session *s, const char *words)
{
    if (strcmp(words, s->waits) == 0)
        return;
    snprintf(s->waits, sizeof s->waits, "%s", words);
    if (*words && s->o.progress)
        progress_waits(s->o.progress, words);
}

/* At the pace since this session began, of which some trials are counted. */
static double eta_s(const struct session *s, int64_t done, int64_t total)
{
    assert(done > s->n_start);
    return (double)(total - done) * (double)(clock_read_ns(s->o.clock) - s->start_ns) / 1e9 /
           (double)(done - s->n_start);
}

/* Holds the lease and tells the tracker how far the job is. */
static enum err renew_now(struct session *s, struct why *why)
{
    struct job_renew_args args = {.job = s->o.job_id, .token = s->o.token};
    struct job_renew_result result;
    cJSON *tree = NULL;
    int64_t done = 0;
    bool ok = true;
    enum err e;

    for (size_t i = 0; i < s->n_tasks; i++)
        done += s->tasks[i].n_counted;
    args.progress = cJSON_CreateObject();
    json_add_i64(args.progress, "done", done, &ok);
    json_add_i64(args.progress, "total", session_total(s), &ok);
    if (done - s->n_start > 2)
        json_add_i64(args.progress, "eta_s", (int64_t)eta_s(s, done, session_total(s)), &ok);
    e = client_job_renew(s->o.client, &args, &result, &tree, why);
    s->last_renew_ns = clock_read_ns(s->o.clock);
    if (!e) {
        /* A last word to the tracker asks for none; one's own farm is there once it has been at work, or has ended, or
         * could have begun. */
        if (why && (!s->o.check_farm || done > s->n_start || s->last_renew_ns - s->start_ns > FARM_BEGINS_NS))
            tell_waits(s, result.waits ? result.waits : "");
        s->cancelled |= result.cancel;
    }
    cJSON_Delete(tree);
    if (e == ERR_STALE) {
        s->lease_lost = true;
        return ERR_OK;
    }
    return e;
}

static enum err renew(struct session *s, struct why *why)
{
    return clock_read_ns(s->o.clock) - s->last_renew_ns < RENEW_NS ? ERR_OK : renew_now(s, why);
}

/* The same before the loop: ERR_STALE when another tuner has the job, ERR_CANCELLED when it goes on nowhere. */
static enum err keep_lease(struct session *s, struct why *why)
{
    enum err e = renew(s, why);

    if (!e && s->lease_lost)
        e = why_set(why, ERR_STALE, "the lease of job %s went to another", s->o.job_id);
    if (!e && (s->cancelled || is_interrupted(s)))
        e = why_set(why, ERR_CANCELLED, "job %s: %s", s->o.job_id, s->cancelled ? "cancelled" : "interrupted");
    return e;
}

/* A device of the job's own key may come later; a submitted job waits for it, whatever other keys there are. */
static bool is_absent(const struct session *s, enum err e)
{
    return e == ERR_NOT_FOUND || (e == ERR_INPUT && s->o.stored && s->o.job->key[0]);
}

static enum err wait_for_device(struct session *s, struct why *why)
{
    const int64_t start = clock_read_ns(s->o.clock);
    bool told = false;

    for (;;) {
        const char *key = s->o.job->key;
        const bool absent = told && key[0] && !devices_are_there(s->o.client, key); /* asks for no list of all */
        enum err e = absent ? ERR_NOT_FOUND : devices_choose(s->o.client, key, &s->device, why);
        const int64_t waited_ms = (clock_read_ns(s->o.clock) - start) / 1000000;

        if (e == ERR_NOT_FOUND && s->o.check_farm)
            why_set(why, e, "%s", DEVICES_OPENING);
        if (!is_absent(s, e) || (s->o.wait_device_ms >= 0 && waited_ms >= s->o.wait_device_ms))
            return e;
        if (!told && waited_ms > 2000) {
            progress_note(s->o.progress, "waiting: %s", why->text);
            told = true;
        }
        if (is_interrupted(s))
            return why_set(why, ERR_CANCELLED, "interrupted while waiting for a device");
        if (check_farm(s, why))
            return ERR_CHILD;
        e = s->o.job_id && s->o.job_id[0] ? keep_lease(s, why) : ERR_OK;
        if (e)
            return e;
        clock_wait_ms(s->o.clock, told ? 1000 : 300);
    }
}

static enum err take_entry(const struct record_entry *r, void *session, struct why *why)
{
    return session_record(session, r->n, r->record, strlen(r->record), why);
}

static enum err receive(struct session *s, int64_t wait_ms, int *n_got, struct why *why)
{
    return client_records(s->o.client, s->o.job_id, wait_ms, &s->after, take_entry, s, n_got, why);
}

/* Trials of the job at the tracker: all, and those without a record yet. */
static enum err count_trials(struct session *s, int64_t *n, int64_t *n_waiting, struct why *why)
{
    const struct job_name args = {.job = s->o.job_id};
    struct trial_counts counts = {.open = 0};
    struct job_entry entry;
    cJSON *tree = NULL;
    enum err e = client_job_status(s->o.client, &args, &entry, &tree, why);

    if (!e)
        e = trial_counts_read(entry.trials, &counts, why);
    if (!e) {
        *n = counts.open + counts.leased + counts.done + counts.lost;
        *n_waiting = counts.open + counts.leased;
    }
    cJSON_Delete(tree);
    return e;
}

/* What an earlier session of this job left: its records, and first of all those of its trials that are still on the
 * way, so that no config is proposed twice. */
static enum err take_over(struct session *s, struct why *why)
{
    for (;;) {
        int64_t n_waiting = 0;
        int n = 0;
        enum err e = count_trials(s, &s->first_n, &n_waiting, why);

        if (!e)
            e = keep_lease(s, why);
        if (!e)
            e = receive(s, n_waiting ? POLL_MS : 0, &n, why);
        if (e || (n == 0 && n_waiting == 0))
            return e;
    }
}

/* While expected values are computed the lease must not lapse, and who waits wants to know for what. */
static bool go_on_computing(const struct workload *w, double waited_s, void *arg)
{
    struct session *s = arg;
    char words[TELL_WORDS];

    if (tell_computing(&s->told_s, w, waited_s, words))
        progress_note(s->o.progress, "%s", words);
    if (s->o.job_id && s->o.job_id[0])
        (void)renew(s, NULL);
    return !s->cancelled && !s->lease_lost && !is_interrupted(s);
}

/* ERR_UNSUPPORTED: the job has nothing to measure there. A path in it is of whoever gave it: for nothing it is not
 * opened. */
static enum err check_device(const struct session *s, struct why *why)
{
    const struct device_desc *d = &s->device.desc;

    if (s->o.stored && s->o.job->replay[0] && strcmp(d->api, "replay") != 0)
        return why_set(why, ERR_UNSUPPORTED,
                       "the job searches a recorded space: expected a device that is a recording "
                       "(--device replay:FILE), not one of %s",
                       d->api);
    return job_check_device(s->o.job, d, why);
}

enum err session_init(struct session *s, const struct session_options *o, struct why *why)
{
    enum err e;

    *s = (struct session){.o = *o, .start_ns = clock_read_ns(o->clock)};
    s->former_watch = expect_set_watch((struct expect_watch){go_on_computing, s});
    s->is_watching = true;
    rng_init(&s->rng, (uint64_t)o->job->seed);
    failures_init(&s->failures);
    e = wait_for_device(s, why);
    if (!e)
        e = check_device(s, why);
    if (!e)
        e = make_tasks(s, why);
    if (!e && o->records)
        e = warm(s, why);
    if (!e && o->log && !o->log->is_stdout)
        e = log_scan(o->log->path, take_own, NULL, s, why);
    if (!e && o->stored)
        e = take_over(s, why);
    if (!e)
        e = restore(s, why);
    if (!e && o->records)
        e = convert_scan(o->records, NULL, take_warm, NULL, s, why);
    return e;
}

/* The highest reading so far, for the progress line: it never falls, whereas the winner is chosen by its ratio to the
 * anchor and may have been timed in a slow moment. */
static void best_reading(const struct task *t, struct progress_state *p)
{
    for (size_t i = 0; i < t->n_all; i++) {
        const struct record *r = &t->all[i].record;

        if (isnan(t->all[i].value))
            continue;
        p->best_gflops = fmax(p->best_gflops, record_gflops(r));
        if (r->time_ns > 0 && (p->best_ns <= 0 || r->time_ns < p->best_ns))
            p->best_ns = r->time_ns;
    }
}

static void draw(struct session *s, bool force)
{
    struct progress_state p = {.n_tasks = s->n_tasks,
                               .i_task = s->i_current,
                               .eta_s = -1,
                               .key = s->device.key,
                               .n_devices = s->device.n_agents,
                               .current_gflops = s->current_gflops,
                               .current_ns = s->current_ns};
    const struct task *t = &s->tasks[s->i_current];
    const int64_t now = clock_read_ns(s->o.clock);
    struct buf failed;

    assert(s->i_current < s->n_tasks);
    buf_init(&failed, 256);
    failures_line(&s->failures, &failed);
    for (size_t i = 0; i < s->n_tasks; i++) {
        p.done += s->tasks[i].n_counted;
        p.total += s->tasks[i].phase >= TASK_FINALS ? s->tasks[i].n_counted : s->tasks[i].budget;
    }
    if (job_shares_budget(s->o.job))
        p.total = session_total(s);
    p.task = t->name[0] ? t->name : t->text;
    best_reading(t, &p);
    p.failures = buf_text(&failed);
    if (p.done - s->n_start > 2)
        p.eta_s = eta_s(s, p.done, p.total);
    progress_draw(s->o.progress, &p, now, force);
    buf_fini(&failed);
}

static bool all_done(const struct session *s)
{
    for (size_t i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].phase != TASK_DONE)
            return false;
    return true;
}

static bool is_waiting(const struct session *s)
{
    for (size_t i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].waits)
            return true;
    return false;
}

static void event_device(struct session *s)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    json_add_text(o, "key", s->device.key, &ok);
    json_add_text(o, "name", s->device.desc.name, &ok);
    json_add_i64(o, "agents", (int64_t)s->device.n_agents, &ok);
    progress_event(s->o.progress, "device", o);
}

static enum err look_at_devices(struct session *s, int64_t *last_ns)
{
    struct device_choice now;

    if (clock_read_ns(s->o.clock) - *last_ns < DEVICES_NS)
        return ERR_OK;
    *last_ns = clock_read_ns(s->o.clock);
    if (devices_choose(s->o.client, s->device.key, &now, NULL) != ERR_OK)
        return ERR_OK;
    s->device.capacity = now.capacity;
    if (now.n_agents != s->device.n_agents) {
        s->device.n_agents = now.n_agents;
        event_device(s);
    }
    return ERR_OK;
}

enum err session_run(struct session *s, enum session_end *end, struct why *why)
{
    enum err e = ERR_OK;
    int64_t devices_ns = clock_read_ns(s->o.clock);

    *end = SESSION_DONE;
    event_device(s);
    while (!e) {
        int n;

        if (is_interrupted(s)) {
            *end = SESSION_INTERRUPTED;
            break;
        }
        e = check_farm(s, why);
        if (!e)
            e = renew(s, why);
        if (!e && s->no_energy)
            e = refuse_objective(s, why);
        if (!e)
            e = session_fill(s, why);
        if (e || s->cancelled || s->lease_lost || all_done(s))
            break;
        e = receive(s, is_waiting(s) ? SOON_MS : POLL_MS, &n, why);
        if (!e)
            e = look_at_devices(s, &devices_ns);
        draw(s, false);
    }
    if (e == ERR_CANCELLED && !is_interrupted(s)) /* the job has ended, or the client is gone: the tracker knows */
        (void)renew_now(s, NULL);
    if (e == ERR_CANCELLED || (e && is_interrupted(s))) {
        *end = SESSION_INTERRUPTED;
        e = ERR_OK;
    }
    if (e == ERR_STALE) {
        s->lease_lost = true;
        e = ERR_OK;
    }
    if (s->cancelled)
        *end = SESSION_CANCELLED;
    if (s->lease_lost)
        *end = SESSION_LEASE_LOST;
    draw(s, true);
    progress_pause(s->o.progress);
    return e;
}

void session_drain(struct session *s)
{
    int n = 1;

    for (int i = 0; i < 16 && n > 0; i++)
        if (receive(s, 0, &n, NULL))
            break;
}

enum err session_write_best(struct session *s, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; s->o.log && i < s->n_tasks && !e; i++) {
        const struct record *r = best_find(s->o.log->best, s->tasks[i].text, s->tasks[i].fingerprint.hex);

        e = r ? task_crown(&s->tasks[i], r) : ERR_OK;
    }
    if (e)
        return why_set(why, e, "%s", err_words(e));
    return s->o.log ? joblog_write_best(s->o.log, why) : ERR_OK;
}

bool session_has_best(const struct session *s)
{
    for (size_t i = 0; i < s->n_tasks; i++)
        if (task_winner(&s->tasks[i]))
            return true;
    return false;
}

enum err session_close(struct session *s, const char *state, struct why *why)
{
    const struct job_release_args release = {.job = s->o.job_id, .token = s->o.token};
    struct job_done_args done = {.job = s->o.job_id, .token = s->o.token, .state = state};
    int64_t n = 0;
    bool ok = true;

    if (!*state)
        return client_job_release(s->o.client, &release, NULL, NULL, why);
    (void)renew_now(s, NULL); /* what was done since the last time */
    for (size_t i = 0; i < s->n_tasks; i++)
        n += s->tasks[i].n_counted;
    done.summary = cJSON_CreateObject();
    json_add_i64(done.summary, "trials", n, &ok);
    return client_job_done(s->o.client, &done, NULL, NULL, why);
}
