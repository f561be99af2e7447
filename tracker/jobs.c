/* SPDX-License-Identifier: MIT */
/* jobs.c - jobs: submitted, leased to one tuner at a time, done; and the stream of their records. */
#include "tracker/state.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS_BYTES (REPLY_BYTES / 4) /* they come from the disk: nobody is to wait long for one reply */

static const char *const state_names[] = {"open", "done", "failed", "cancelled"};

enum err job_of(struct call *c, const char *name, struct tracker_job **out)
{
    int64_t id = 0;

    call_id_parse(name, 'j', &id);
    *out = table_get_i64(&c->t->jobs, id);
    return *out ? ERR_OK : why_set(&c->why, ERR_NOT_FOUND, "there is no job %s", name);
}

enum err leased_job_of(struct call *c, const char *name, int64_t token, struct tracker_job **out)
{
    enum err e = job_of(c, name, out);

    if (!e && (token < 1 || token != (*out)->token)) /* 0: of one that nobody had */
        e = why_set(&c->why, ERR_STALE, "another tuner has job %s now", name);
    return e;
}

void job_free(struct tracker_job *j)
{
    if (!j)
        return;
    free(j->title);
    free(j->user);
    free(j->key);
    free(j->request);
    free(j->progress);
    free(j);
}

static struct tracker_job *job_new(const struct job_row *r)
{
    struct tracker_job *j = calloc(1, sizeof *j);

    if (!j)
        return NULL;
    *j = (struct tracker_job){.id = r->id,
                              .title = strdup(r->title),
                              .user = strdup(r->user),
                              .key = strdup(r->key),
                              .request = strdup(r->request),
                              .priority = r->priority,
                              .created_ms = r->created_ms,
                              .done_ms = r->done_ms,
                              .seq = r->seq,
                              .token = r->token,
                              .state = r->state,
                              .leased = r->leased,
                              .paused = r->paused,
                              .n_done = r->n_done,
                              .n_lost = r->n_lost,
                              .best_gflops = r->best_gflops,
                              .best_ns = r->best_ns};
    if (j->title && j->user && j->key && j->request)
        return j;
    job_free(j);
    return NULL;
}

static void set_driven(struct tracker_job *j, bool driven)
{
    j->owner->n_driven += (driven ? 1 : 0) - (j->leased ? 1 : 0);
    assert(j->owner->n_driven >= 0);
    j->leased = driven;
}

static struct owner *owner_of(struct tracker *t, const char *user)
{
    struct owner *o = table_get_text(&t->owners, user);

    if (o)
        return o;
    o = calloc(1, sizeof *o);
    if (o && table_put_text(&t->owners, user, o) != ERR_OK) {
        free(o);
        o = NULL;
    }
    return o;
}

static void link_open(struct tracker *t, struct tracker_job *j)
{
    j->owner->n_open++;
    j->owner->n_driven += j->leased;
    j->next_open = t->open_jobs;
    if (j->next_open)
        j->next_open->prev_open = j;
    t->open_jobs = j;
}

static void unlink_open(struct tracker *t, struct tracker_job *j)
{
    assert(j->state == JOB_OPEN && j->owner->n_open > 0);
    j->owner->n_open--;
    *(j->prev_open ? &j->prev_open->next_open : &t->open_jobs) = j->next_open;
    if (j->next_open)
        j->next_open->prev_open = j->prev_open;
    j->prev_open = j->next_open = NULL;
}

void job_forget(struct tracker *t, struct tracker_job *j)
{
    assert(j->state != JOB_OPEN && j->owner && j->owner->n_jobs > 0);
    table_remove_i64(&t->jobs, j->id);
    table_remove_text(&t->requests, j->request);
    if (--j->owner->n_jobs == 0)
        free(table_remove_text(&t->owners, j->user));
    job_free(j);
}

static int64_t lease_end(const struct tracker *t)
{
    return tracker_now_ns(t) + t->o.lease_ms * 1000000;
}

/* Takes the job. ERR_NOMEM: it may be there in part. */
static enum err keep(struct tracker *t, struct tracker_job *j)
{
    enum err e = table_put_i64(&t->jobs, j->id, j);

    if (e) {
        job_free(j);
        return e;
    }
    j->owner = owner_of(t, j->user);
    if (j->owner)
        j->owner->n_jobs++;
    else
        e = ERR_NOMEM;
    if (!e && j->state == JOB_OPEN)
        link_open(t, j);
    if (!e && j->request[0])
        e = table_put_text(&t->requests, j->request, j);
    if (j->id >= t->next_job)
        t->next_job = j->id + t->o.n_parts;
    return e;
}

void job_load(const struct job_row *row, void *tracker)
{
    struct tracker *t = tracker;
    struct tracker_job *j = job_new(row);

    if (j)
        j->deadline_ns = lease_end(t);
    if (!j || keep(t, j) != ERR_OK)
        t->is_starved = true;
}

static enum err save(struct tracker *t, const struct tracker_job *j, const char *summary)
{
    const struct job_row row = {.id = j->id,
                                .done_ms = j->done_ms,
                                .state = j->state,
                                .token = j->token,
                                .leased = j->leased,
                                .paused = j->paused,
                                .summary = summary};

    return t->o.ops->job_put(t->o.store, &row);
}

/* Nobody's guess where there are keys; without one everybody may do everything. */
static enum err next_lease(struct tracker *t, int64_t *token)
{
    if (t->o.key)
        return next_token(t, token);
    ++*token;
    return ERR_OK;
}

static void answer_submit(struct call *c, const struct tracker_job *j)
{
    c->result.job_submit = (struct job_submit_result){
        .job = call_keep_id(c, 'j', j->id), .token = j->token, .deadline_ms = c->t->o.lease_ms};
}

/* In a farm in parts a job goes to that of its key. */
static enum err check_key(struct call *c)
{
    const char *key = c->args.job_submit.key;

    if (!*key && c->t->o.n_parts > 1)
        return why_set(&c->why, ERR_INPUT, "this farm is in parts by device keys: expected the job's key (--key SLUG)");
    return tracker_check_key(c, key);
}

static enum err check_quota(struct call *c)
{
    const char *user = c->args.job_submit.user;
    const struct owner *o = table_get_text(&c->t->owners, user);

    if (!c->t->o.max_user_jobs || !o || o->n_open < c->t->o.max_user_jobs)
        return ERR_OK;
    return why_set(&c->why, ERR_LIMIT, "user %s has %lld open jobs, as many as this tracker allows (--user-jobs)", user,
                   (long long)o->n_open);
}

enum err op_job_submit(struct call *c)
{
    const struct job_submit_args *in = &c->args.job_submit;
    struct tracker *t = c->t;
    struct job_row row = {.id = t->next_job,
                          .title = in->title,
                          .user = in->user,
                          .key = in->key,
                          .body = in->body,
                          .request = c->id,
                          .priority = in->priority,
                          .created_ms = tracker_wall_ms(t),
                          .leased = in->lease};
    struct tracker_job *j = table_get_text(&t->requests, c->id);
    enum err e;

    if (j && strcmp(j->user, in->user) != 0)
        return why_set(&c->why, ERR_AUTH, "a request of this id made a job of user %s", j->user);
    if (j) { /* the same request from before a restart */
        answer_submit(c, j);
        return ERR_OK;
    }
    e = check_key(c);
    if (!e)
        e = check_quota(c);
    if (!e && in->lease)
        e = next_lease(t, &row.token);
    if (e)
        return e;
    j = job_new(&row);
    if (!j)
        return ERR_NOMEM;
    j->deadline_ns = lease_end(t);
    e = keep(t, j);
    if (!e)
        e = t->o.ops->job_put(t->o.store, &row);
    if (e)
        return e;
    wake(t, &t->job_waiters);
    answer_submit(c, j);
    return ERR_OK;
}

static bool is_waiting(const struct tracker_job *j)
{
    return j->state == JOB_OPEN && !j->leased && !j->paused;
}

/* For a tuner: first jobs of users who have fewer driven, then by priority, then the oldest. */
static bool goes_before(const struct tracker_job *j, const struct tracker_job *k)
{
    if (j->owner->n_driven != k->owner->n_driven)
        return j->owner->n_driven < k->owner->n_driven;
    return j->priority != k->priority ? j->priority > k->priority : j->id < k->id;
}

static struct tracker_job *job_waiting(const struct tracker *t)
{
    struct tracker_job *best = NULL;

    for (struct tracker_job *j = t->open_jobs; j; j = j->next_open)
        if (is_waiting(j) && (!best || goes_before(j, best)))
            best = j;
    return best;
}

/* From 1 among those that wait for a tuner; 0 of one that does not. */
static int64_t position_of(const struct tracker *t, const struct tracker_job *job)
{
    int64_t n = 1;

    if (!is_waiting(job))
        return 0;
    for (const struct tracker_job *j = t->open_jobs; j; j = j->next_open)
        n += is_waiting(j) && goes_before(j, job);
    return n;
}

static void keep_lease_texts(const struct job_row *row, void *arg)
{
    struct call *c = arg;

    c->result.job_lease.body = call_keep(c, row->body);
    c->result.job_lease.summary = call_keep(c, row->summary);
}

enum err op_job_lease(struct call *c)
{
    struct tracker_job *j = job_waiting(c->t);
    enum err e;

    if (!j) {
        c->park = c->last ? NULL : &c->t->job_waiters;
        return ERR_OK;
    }
    assert(j->state == JOB_OPEN && !j->leased);
    e = next_lease(c->t, &j->token);
    if (e)
        return e;
    set_driven(j, true);
    j->deadline_ns = lease_end(c->t);
    e = save(c->t, j, NULL);
    if (e)
        return e;
    c->result.job_lease = (struct job_lease_result){.job = call_keep_id(c, 'j', j->id),
                                                    .token = j->token,
                                                    .deadline_ms = c->t->o.lease_ms,
                                                    .title = j->title,
                                                    .key = j->key,
                                                    .user = j->user};
    return c->t->o.ops->each_job(c->t->o.store, j->id, keep_lease_texts, c);
}

static void keep_progress(struct tracker_job *j, const cJSON *progress)
{
    struct buf text;

    buf_init(&text, 16384);
    if (cJSON_IsObject(progress) && json_print(progress, &text) == ERR_OK) {
        free(j->progress);
        j->progress = buf_take(&text);
    }
    buf_fini(&text);
}

enum err op_job_renew(struct call *c)
{
    const struct job_renew_args *in = &c->args.job_renew;
    struct tracker_job *j;
    enum err e = leased_job_of(c, in->job, in->token, &j);

    if (e)
        return e;
    keep_progress(j, in->progress);
    if (j->state == JOB_OPEN && !j->leased) { /* lapsed, but nobody took it */
        set_driven(j, true);
        e = save(c->t, j, NULL);
    }
    j->deadline_ns = lease_end(c->t);
    c->result.job_renew.cancel = j->state == JOB_CANCELLED;
    c->result.job_renew.deadline_ms = c->t->o.lease_ms;
    return e ? e : call_keep_waits(c, j, &c->result.job_renew.waits);
}

static enum err end_job(struct call *c, struct tracker_job *j, enum job_state state, const char *summary)
{
    struct tracker *t = c->t;
    enum err e;

    if (j->state == JOB_OPEN) {
        set_driven(j, false);
        unlink_open(t, j);
        j->state = state;
        j->done_ms = tracker_wall_ms(t);
    }
    e = save(t, j, summary);
    if (!e)
        e = t->o.ops->cancel(t->o.store, j->id);
    if (!e)
        trials_forget(t, j);
    assert(e || (j->n_open == 0 && j->n_leased == 0));
    wake(t, &j->waiters);
    return e;
}

enum err op_job_done(struct call *c)
{
    const struct job_done_args *in = &c->args.job_done;
    struct buf text;
    struct tracker_job *j;
    int state = JOB_DONE;
    enum err e = leased_job_of(c, in->job, in->token, &j);

    if (e)
        return e;
    while (strcmp(state_names[state], in->state) != 0)
        state++;
    buf_init(&text, CALL_BODY_BYTES);
    if (in->summary)
        e = json_print(in->summary, &text);
    if (!e)
        e = end_job(c, j, (enum job_state)state, buf_text(&text));
    buf_fini(&text);
    return e;
}

enum err op_job_release(struct call *c)
{
    struct tracker_job *j;
    enum err e = leased_job_of(c, c->args.job_release.job, c->args.job_release.token, &j);

    if (e || !j->leased)
        return e;
    set_driven(j, false);
    wake(c->t, &c->t->job_waiters);
    return save(c->t, j, NULL);
}

enum err op_job_cancel(struct call *c)
{
    struct tracker_job *j;
    enum err e = job_of(c, c->args.job_cancel.job, &j);

    if (e)
        return e;
    if (j->state == JOB_OPEN)
        e = end_job(c, j, JOB_CANCELLED, NULL);
    c->result.job_cancel.state = state_names[j->state];
    return e;
}

const char *job_state(const struct tracker_job *j)
{
    return j->state != JOB_OPEN ? state_names[j->state] : j->paused ? "paused" : j->leased ? "running" : "open";
}

enum err op_job_pause(struct call *c)
{
    struct tracker_job *j;
    enum err e = job_of(c, c->args.job_pause.job, &j);

    if (e)
        return e;
    if (j->state == JOB_OPEN && j->paused != c->args.job_pause.paused) {
        j->paused = c->args.job_pause.paused;
        wake(c->t, &c->t->job_waiters);
        wake_devices(c->t);
        e = save(c->t, j, NULL);
    }
    c->result.job_pause.state = job_state(j);
    return e;
}

struct job_entry job_entry_of(struct call *c, const struct tracker_job *j)
{
    const struct trial_counts counts = {.open = j->n_open, .leased = j->n_leased, .done = j->n_done, .lost = j->n_lost};
    const struct job_best best = {.time_ns = j->best_ns, .gflops = j->best_gflops};
    cJSON *progress = NULL;

    if (j->progress)
        json_parse(j->progress, strlen(j->progress), &progress, NULL);
    return (struct job_entry){.job = call_keep_id(c, 'j', j->id),
                              .title = j->title,
                              .user = j->user,
                              .key = j->key,
                              .state = job_state(j),
                              .trials = trial_counts_write(&counts),
                              .best = j->best_ns > 0 ? job_best_write(&best) : NULL,
                              .progress = progress,
                              .records = j->seq,
                              .created_ms = j->created_ms,
                              .done_ms = j->done_ms,
                              .priority = j->priority};
}

enum err op_job_list(struct call *c)
{
    const struct job_list_args *in = &c->args.job_list;
    int64_t n = 0;

    size_t n_bytes = 0;
    int64_t id = in->before > 0 && in->before < c->t->next_job ? in->before - 1 : c->t->next_job - 1;

    for (; id > 0 && n < in->max && n_bytes < REPLY_BYTES; id--) { /* newest first */
        const struct tracker_job *j = table_get_i64(&c->t->jobs, id);
        struct job_entry entry;

        if (!j || (strcmp(in->state, "all") != 0 && strcmp(in->state, job_state(j)) != 0))
            continue;
        entry = job_entry_of(c, j);
        n_bytes += 600 + json_size(j->title) + json_size(j->user) + (j->progress ? strlen(j->progress) : 0);
        call_list_add(&c->result.job_list.jobs, job_entry_write(&entry), &c->ok);
        n++;
    }
    c->result.job_list.next = id > 0 ? id + 1 : 0;
    return ERR_OK;
}

static void keep_status_texts(const struct job_row *row, void *arg)
{
    struct call *c = arg;

    c->result.job_status.body = call_keep(c, row->body);
    c->result.job_status.summary = call_keep(c, row->summary);
}

enum err op_job_status(struct call *c)
{
    struct tracker_job *j;
    enum err e = job_of(c, c->args.job_status.job, &j);

    if (e)
        return e;
    c->result.job_status = job_entry_of(c, j);
    c->result.job_status.position = position_of(c->t, j);
    e = call_keep_waits(c, j, &c->result.job_status.waits);
    return e ? e : c->t->o.ops->each_job(c->t->o.store, j->id, keep_status_texts, c);
}

/* ---- records ---- */

void job_changes(struct tracker *t, struct tracker_job *j)
{
    if (j->changed)
        return;
    j->changed = true;
    j->next_changed = t->changed;
    t->changed = j;
}

enum err job_record(struct tracker *t, struct tracker_job *j, struct record_row *row)
{
    enum err e;

    row->job = j->id;
    row->seq = j->seq + 1;
    row->created_ms = tracker_wall_ms(t);
    e = t->o.ops->record_put(t->o.store, row);
    if (e)
        return e;
    j->seq++;
    job_changes(t, j);
    if (strcmp(row->status, "ok") == 0 && row->time_ns > 0 && !strstr(row->line, STORE_IN_PART)) {
        if (row->flops / row->time_ns > j->best_gflops)
            j->best_gflops = row->flops / row->time_ns;
        if (j->best_ns <= 0 || row->time_ns < j->best_ns)
            j->best_ns = row->time_ns;
    }
    wake(t, &j->waiters);
    return ERR_OK;
}

struct collect {
    struct call *call;
    size_t n_bytes;
};

static bool add_record(const struct record_row *row, void *arg)
{
    struct collect *a = arg;
    struct record_wait_result *out = &a->call->result.record_wait;
    const struct record_entry one = {
        .seq = row->seq, .n = row->n, .trial = call_keep_id(a->call, 't', row->trial), .record = row->line};

    a->n_bytes += json_size(row->line) + 128;
    if (a->n_bytes > RECORDS_BYTES && out->records)
        return false;
    call_list_add(&out->records, record_entry_write(&one), &a->call->ok);
    out->next = row->seq;
    return true;
}

enum err op_record_wait(struct call *c)
{
    const struct record_wait_args *in = &c->args.record_wait;
    struct record_wait_result *out = &c->result.record_wait;
    struct collect a = {.call = c};
    struct tracker_job *j;
    enum err e = job_of(c, in->job, &j);

    if (e)
        return e;
    c->park = j->seq <= in->after && j->state == JOB_OPEN && !c->last ? &j->waiters : NULL;
    out->next = in->after;
    out->state = job_state(j);
    return j->seq > in->after ? c->t->o.ops->each_record(c->t->o.store, j->id, in->after, 0, in->max, add_record, &a)
                              : ERR_OK;
}

/* ---- requeue ---- */

struct requeued {
    struct tracker *t;
    int64_t n;
    enum err e;
};

static void take_back(const struct trial_row *row, void *arg)
{
    struct requeued *a = arg;
    struct tracker_job *j = table_get_i64(&a->t->jobs, row->job);
    const struct tracker_trial *tr;

    if (!j)
        return;
    assert(j->n_lost > 0 && !table_get_i64(&a->t->trials, row->id));
    trial_load(row, a->t);
    j->n_lost--;
    job_changes(a->t, j);
    a->n++;
    if (a->t->is_starved)
        a->e = ERR_NOMEM;
    tr = table_get_i64(&a->t->trials, row->id);
    if (tr && !a->e)
        a->e = builds_forgive(a->t, tr);
}

static void ignore(const struct trial_row *row, void *arg)
{
    (void)row;
    (void)arg;
}

enum err op_requeue(struct call *c)
{
    const struct requeue_args *in = &c->args.requeue;
    struct requeued a = {.t = c->t};
    int64_t trial = 0;
    struct tracker_job *j = NULL;
    enum err e = ERR_OK;

    if (!in->trial && !in->job)
        return why_set(&c->why, ERR_INPUT, "call requeue: expected a job or a trial");
    if (in->trial)
        call_id_parse(in->trial, 't', &trial);
    else
        e = job_of(c, in->job, &j);
    if (trial && c->t->o.ops->trial_get(c->t->o.store, trial, 0, 0, ignore, NULL) == ERR_NOT_FOUND)
        return why_set(&c->why, ERR_NOT_FOUND, "there is no trial %s", in->trial);
    if (!e)
        e = c->t->o.ops->requeue(c->t->o.store, j ? j->id : 0, trial, take_back, &a);
    c->result.requeue.requeued = a.n;
    return e ? e : a.e;
}

void jobs_tick(struct tracker *t)
{
    const int64_t now = tracker_now_ns(t);

    for (struct tracker_job *j = t->open_jobs; j; j = j->next_open)
        if (j->leased && j->deadline_ns < now) {
            set_driven(j, false); /* in the store with the next change of the job; a restart only adds grace */
            wake(t, &t->job_waiters);
        }
}
