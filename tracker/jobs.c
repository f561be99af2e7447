/* SPDX-License-Identifier: MIT */
/* jobs.c - jobs: submitted, leased to one tuner at a time, done; and the stream of their records. */
#include "tracker/state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RECORDS_BYTES ((size_t)1 << 20) /* of lines in one reply of record_wait */

static const char *const state_names[] = {"open", "done", "failed", "cancelled"};

enum err id_parse(const char *text, char kind, int64_t *out)
{
    int64_t v = 0;

    if (text[0] != kind || !text[1] || strlen(text) > 16)
        return ERR_INPUT;
    for (const char *p = text + 1; *p; p++) {
        if (*p < '0' || *p > '9')
            return ERR_INPUT;
        v = v * 10 + (*p - '0');
    }
    *out = v;
    return v > 0 ? ERR_OK : ERR_INPUT;
}

static void add_id(cJSON *object, const char *name, char kind, int64_t id, bool *ok)
{
    char text[24];

    snprintf(text, sizeof text, "%c%lld", kind, (long long)id);
    json_add_text(object, name, text, ok);
}

enum err job_of(struct call *c, struct job **out)
{
    const char *text;
    int64_t id;
    enum err e = json_get_text(c->args, "job", &text, &c->why);

    if (e)
        return e;
    if (id_parse(text, 'j', &id) != ERR_OK)
        return why_set(&c->why, ERR_INPUT, "'%.40s' is no job: expected e.g. j12", text);
    *out = table_get_i64(&c->t->jobs, id);
    return *out ? ERR_OK : why_set(&c->why, ERR_NOT_FOUND, "there is no job %s", text);
}

void job_free(struct job *j)
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

static struct job *job_new(const struct job_row *r)
{
    struct job *j = calloc(1, sizeof *j);

    if (!j)
        return NULL;
    *j = (struct job){.id = r->id,
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
                      .n_done = r->n_done,
                      .n_lost = r->n_lost,
                      .best_gflops = r->best_gflops,
                      .best_ns = r->best_ns};
    if (j->title && j->user && j->key && j->request)
        return j;
    job_free(j);
    return NULL;
}

static int64_t lease_end(const struct tracker *t)
{
    return tracker_now_ns(t) + t->o.lease_ms * 1000000;
}

static enum err keep(struct tracker *t, struct job *j)
{
    enum err e = table_put_i64(&t->jobs, j->id, j);

    if (!e && j->request[0])
        e = table_put_text(&t->requests, j->request, j);
    if (j->id >= t->next_job)
        t->next_job = j->id + 1;
    return e;
}

void job_load(const struct job_row *row, void *tracker)
{
    struct tracker *t = tracker;
    struct job *j = job_new(row);

    if (!j)
        return;
    j->deadline_ns = lease_end(t);
    keep(t, j);
}

static enum err save(struct tracker *t, const struct job *j, const char *summary)
{
    const struct job_row row = {.id = j->id,
                                .done_ms = j->done_ms,
                                .state = j->state,
                                .token = j->token,
                                .leased = j->leased,
                                .summary = summary};

    return t->o.ops->job_put(t->o.store, &row);
}

static enum err check_texts(struct call *c, const struct job_row *r)
{
    if (strlen(r->title) > 1024 || strlen(r->user) > 128)
        return why_set(&c->why, ERR_LIMIT, "'title' has over 1024 bytes or 'user' over 128");
    if (strlen(r->body) > MAX_BODY_BYTES)
        return why_set(&c->why, ERR_LIMIT, "'body' has %zu bytes: at most %zu", strlen(r->body), MAX_BODY_BYTES);
    if (r->key[0] && !name_is_sane(r->key))
        return why_set(&c->why, ERR_INPUT, "'key' must be 1 to 64 of letters, digits and . _ : @ + -");
    return ERR_OK;
}

static enum err read_submit(struct call *c, struct job_row *r)
{
    enum err e = json_text_or(c->args, "title", "", &r->title, &c->why);

    if (!e)
        e = json_text_or(c->args, "user", "", &r->user, &c->why);
    if (!e)
        e = json_text_or(c->args, "key", "", &r->key, &c->why);
    if (!e)
        e = json_get_text(c->args, "body", &r->body, &c->why);
    if (!e)
        e = json_i64_or(c->args, "priority", 0, -3, 3, &r->priority, &c->why);
    if (!e)
        e = json_bool_or(c->args, "lease", false, &r->leased, &c->why);
    return e ? e : check_texts(c, r);
}

static enum err answer_submit(struct call *c, const struct job *j)
{
    bool ok = true;

    add_id(c->result, "job", 'j', j->id, &ok);
    json_add_i64(c->result, "token", j->token, &ok);
    json_add_i64(c->result, "deadline_ms", c->t->o.lease_ms, &ok);
    return ok ? ERR_OK : ERR_NOMEM;
}

enum err op_job_submit(struct call *c)
{
    struct tracker *t = c->t;
    struct job_row row = {.id = t->next_job, .request = c->id, .created_ms = tracker_wall_ms(t)};
    struct job *j = table_get_text(&t->requests, c->id);
    enum err e;

    if (j) /* the same request from before a restart */
        return answer_submit(c, j);
    e = read_submit(c, &row);
    if (e)
        return e;
    row.token = row.leased;
    j = job_new(&row);
    if (!j)
        return ERR_NOMEM;
    j->deadline_ns = lease_end(t);
    e = keep(t, j);
    if (!e)
        e = t->o.ops->job_put(t->o.store, &row);
    if (e)
        return e;
    t->woken |= WAKE_JOBS;
    return answer_submit(c, j);
}

static void add_text_to_arg(const struct job_row *row, void *arg)
{
    struct call *c = arg;
    bool ok = true;

    json_add_text(c->result, "body", row->body, &ok);
    json_add_text(c->result, "summary", row->summary, &ok);
}

static struct job *job_waiting(const struct tracker *t)
{
    struct job *best = NULL, *j;
    size_t at = 0;

    while ((j = table_next(&t->jobs, &at)) != NULL)
        if (j->state == JOB_OPEN && !j->leased &&
            (!best || j->priority > best->priority || (j->priority == best->priority && j->id < best->id)))
            best = j;
    return best;
}

enum err op_job_lease(struct call *c)
{
    struct job *j = job_waiting(c->t);
    bool ok = true;
    enum err e;

    if (!j) {
        c->park = !c->last;
        return cJSON_AddNullToObject(c->result, "job") ? ERR_OK : ERR_NOMEM;
    }
    assert(j->state == JOB_OPEN && !j->leased);
    j->leased = true;
    j->token++;
    j->deadline_ns = lease_end(c->t);
    e = save(c->t, j, NULL);
    if (!e)
        e = answer_submit(c, j);
    if (e)
        return e;
    json_add_text(c->result, "title", j->title, &ok);
    json_add_text(c->result, "key", j->key, &ok);
    json_add_text(c->result, "user", j->user, &ok);
    e = c->t->o.ops->each_job(c->t->o.store, j->id, add_text_to_arg, c);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

/* The job of the arguments, when the caller's token is the newest. */
static enum err leased_job(struct call *c, struct job **out)
{
    int64_t token;
    enum err e = job_of(c, out);

    if (!e)
        e = json_get_i64(c->args, "token", 0, JSON_EXACT_MAX, &token, &c->why);
    if (!e && token != (*out)->token)
        e = why_set(&c->why, ERR_STALE, "another tuner has job j%lld now", (long long)(*out)->id);
    return e;
}

/* "waits" for a person, when trials of the job cannot go on. */
static enum err add_waits(struct call *c, const struct job *j)
{
    char words[256];
    bool ok = true;
    enum err e = builds_waits(c->t, j, words, sizeof words);

    if (!e && words[0])
        json_add_text(c->result, "waits", words, &ok);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

enum err op_job_renew(struct call *c)
{
    const cJSON *progress = cJSON_GetObjectItemCaseSensitive(c->args, "progress");
    struct buf text;
    struct job *j;
    bool ok = true;
    enum err e = leased_job(c, &j);

    if (e)
        return e;
    if (cJSON_IsObject(progress)) {
        buf_init(&text, 16384);
        if (json_print(progress, &text) == ERR_OK) {
            free(j->progress);
            j->progress = buf_take(&text);
        }
        buf_fini(&text);
    }
    if (j->state == JOB_OPEN && !j->leased) { /* lapsed, but nobody took it */
        j->leased = true;
        e = save(c->t, j, NULL);
    }
    j->deadline_ns = lease_end(c->t);
    json_add_bool(c->result, "cancel", j->state == JOB_CANCELLED, &ok);
    json_add_i64(c->result, "deadline_ms", c->t->o.lease_ms, &ok);
    if (!e)
        e = add_waits(c, j);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

static enum err end_job(struct call *c, struct job *j, enum job_state state, const char *summary)
{
    struct tracker *t = c->t;
    enum err e;

    if (j->state == JOB_OPEN) {
        j->state = state;
        j->done_ms = tracker_wall_ms(t);
    }
    j->leased = false;
    e = save(t, j, summary);
    if (!e)
        e = t->o.ops->cancel(t->o.store, j->id);
    if (!e)
        trials_forget(t, j);
    assert(e || (j->n_open == 0 && j->n_leased == 0));
    t->woken |= WAKE_RECORDS;
    return e;
}

enum err op_job_done(struct call *c)
{
    const cJSON *summary = cJSON_GetObjectItemCaseSensitive(c->args, "summary");
    const char *state;
    struct buf text;
    struct job *j;
    int i = 1;
    enum err e = leased_job(c, &j);

    if (!e)
        e = json_text_or(c->args, "state", "done", &state, &c->why);
    if (e)
        return e;
    while (i < 4 && strcmp(state_names[i], state) != 0)
        i++;
    if (i == 4)
        return why_set(&c->why, ERR_INPUT, "'state' is '%.40s': expected done, failed or cancelled", state);
    buf_init(&text, MAX_BODY_BYTES);
    if (summary)
        e = json_print(summary, &text);
    if (!e)
        e = end_job(c, j, (enum job_state)i, buf_text(&text));
    buf_fini(&text);
    return e;
}

enum err op_job_release(struct call *c)
{
    struct job *j;
    enum err e = leased_job(c, &j);

    if (e || !j->leased)
        return e;
    j->leased = false;
    c->t->woken |= WAKE_JOBS;
    return save(c->t, j, NULL);
}

enum err op_job_cancel(struct call *c)
{
    struct job *j;
    bool ok = true;
    enum err e = job_of(c, &j);

    if (e)
        return e;
    if (j->state == JOB_OPEN)
        e = end_job(c, j, JOB_CANCELLED, NULL);
    json_add_text(c->result, "state", state_names[j->state], &ok);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

static const char *shown_state(const struct job *j)
{
    return j->state == JOB_OPEN && j->leased ? "running" : state_names[j->state];
}

static cJSON *counts_json(const struct job *j)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    if (!o)
        return NULL;
    json_add_i64(o, "open", j->n_open, &ok);
    json_add_i64(o, "leased", j->n_leased, &ok);
    json_add_i64(o, "done", j->n_done, &ok);
    json_add_i64(o, "lost", j->n_lost, &ok);
    return o;
}

static cJSON *best_json(const struct job *j)
{
    cJSON *o;
    bool ok = true;

    if (j->best_ns <= 0)
        return cJSON_CreateNull();
    o = cJSON_CreateObject();
    if (o) {
        json_add_real(o, "time_ns", j->best_ns, &ok);
        json_add_real(o, "gflops", j->best_gflops, &ok);
    }
    return o;
}

cJSON *job_json(const struct job *j)
{
    cJSON *o = cJSON_CreateObject(), *progress = NULL;
    bool ok = o != NULL;

    if (!o)
        return NULL;
    add_id(o, "job", 'j', j->id, &ok);
    json_add_text(o, "title", j->title, &ok);
    json_add_text(o, "user", j->user, &ok);
    json_add_text(o, "key", j->key, &ok);
    json_add_text(o, "state", shown_state(j), &ok);
    json_add_item(o, "trials", counts_json(j), &ok);
    json_add_item(o, "best", best_json(j), &ok);
    if (!j->progress || json_parse(j->progress, strlen(j->progress), &progress, NULL) != ERR_OK)
        progress = cJSON_CreateNull();
    json_add_item(o, "progress", progress, &ok);
    json_add_i64(o, "records", j->seq, &ok);
    json_add_i64(o, "created_ms", j->created_ms, &ok);
    json_add_i64(o, "done_ms", j->done_ms, &ok);
    if (ok)
        return o;
    cJSON_Delete(o);
    return NULL;
}

enum err op_job_list(struct call *c)
{
    cJSON *list = cJSON_AddArrayToObject(c->result, "jobs");
    const char *state;
    int64_t max;
    enum err e = json_text_or(c->args, "state", "all", &state, &c->why);

    if (!e)
        e = json_i64_or(c->args, "max", 100, 1, 1000, &max, &c->why);
    if (e || !list)
        return e ? e : ERR_NOMEM;
    for (int64_t id = c->t->next_job - 1; id > 0 && max > 0; id--) { /* newest first */
        const struct job *j = table_get_i64(&c->t->jobs, id);
        cJSON *one;

        if (!j || (strcmp(state, "all") != 0 && strcmp(state, shown_state(j)) != 0))
            continue;
        one = job_json(j);
        if (!one || !cJSON_AddItemToArray(list, one))
            return ERR_NOMEM;
        max--;
    }
    return ERR_OK;
}

enum err op_job_status(struct call *c)
{
    struct job *j;
    enum err e = job_of(c, &j);

    if (e)
        return e;
    cJSON_Delete(c->result);
    c->result = job_json(j);
    if (!c->result)
        return ERR_NOMEM;
    e = add_waits(c, j);
    return e ? e : c->t->o.ops->each_job(c->t->o.store, j->id, add_text_to_arg, c);
}

/* ---- records ---- */

enum err job_record(struct tracker *t, struct job *j, struct record_row *row)
{
    enum err e;

    row->job = j->id;
    row->seq = j->seq + 1;
    row->created_ms = tracker_wall_ms(t);
    e = t->o.ops->record_put(t->o.store, row);
    if (e)
        return e;
    j->seq++;
    if (strcmp(row->status, "ok") == 0 && row->time_ns > 0) {
        if (row->flops / row->time_ns > j->best_gflops)
            j->best_gflops = row->flops / row->time_ns;
        if (j->best_ns <= 0 || row->time_ns < j->best_ns)
            j->best_ns = row->time_ns;
    }
    t->woken |= WAKE_RECORDS;
    return ERR_OK;
}

struct collect {
    cJSON *list;
    size_t n_bytes;
    int64_t next;
    bool ok;
};

static bool add_record(const struct record_row *row, void *arg)
{
    struct collect *a = arg;
    cJSON *one = cJSON_CreateObject();

    a->n_bytes += strlen(row->line) + 128;
    if (!one || (a->n_bytes > MAX_RECORDS_BYTES && cJSON_GetArraySize(a->list) > 0)) {
        cJSON_Delete(one);
        return false;
    }
    json_add_i64(one, "seq", row->seq, &a->ok);
    json_add_i64(one, "n", row->n, &a->ok);
    add_id(one, "trial", 't', row->trial, &a->ok);
    json_add_text(one, "record", row->line, &a->ok);
    cJSON_AddItemToArray(a->list, one);
    a->next = row->seq;
    return true;
}

enum err op_record_wait(struct call *c)
{
    struct collect a = {.ok = true};
    struct job *j;
    int64_t max;
    enum err e = job_of(c, &j);

    if (!e)
        e = json_i64_or(c->args, "after", 0, 0, JSON_EXACT_MAX, &a.next, &c->why);
    if (!e)
        e = json_i64_or(c->args, "max", 64, 1, 1024, &max, &c->why);
    if (e)
        return e;
    if (j->seq <= a.next && j->state == JOB_OPEN && !c->last) {
        c->park = true;
        return ERR_OK;
    }
    a.list = cJSON_AddArrayToObject(c->result, "records");
    if (!a.list)
        return ERR_NOMEM;
    if (j->seq > a.next)
        e = c->t->o.ops->each_record(c->t->o.store, j->id, a.next, 0, max, add_record, &a);
    json_add_i64(c->result, "next", a.next, &a.ok);
    json_add_text(c->result, "state", shown_state(j), &a.ok);
    return e ? e : a.ok ? ERR_OK : ERR_NOMEM;
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
    struct job *j = table_get_i64(&a->t->jobs, row->job);
    const struct trial *tr;

    if (!j)
        return;
    assert(j->n_lost > 0 && !table_get_i64(&a->t->trials, row->id));
    trial_load(row, a->t);
    j->n_lost--;
    a->n++;
    tr = table_get_i64(&a->t->trials, row->id);
    if (tr && !a->e)
        a->e = builds_forgive(a->t, tr);
}

enum err op_requeue(struct call *c)
{
    struct requeued a = {.t = c->t};
    int64_t trial = 0;
    const char *text;
    struct job *j = NULL;
    bool ok = true;
    enum err e;

    if (cJSON_HasObjectItem(c->args, "trial")) {
        e = json_get_text(c->args, "trial", &text, &c->why);
        if (!e && id_parse(text, 't', &trial) != ERR_OK)
            e = why_set(&c->why, ERR_INPUT, "'%.40s' is no trial: expected e.g. t345", text);
    } else {
        e = job_of(c, &j);
    }
    if (!e)
        e = c->t->o.ops->requeue(c->t->o.store, j ? j->id : 0, trial, take_back, &a);
    if (!e)
        e = a.e;
    json_add_i64(c->result, "requeued", a.n, &ok);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

void jobs_tick(struct tracker *t)
{
    const int64_t now = tracker_now_ns(t);
    size_t at = 0;
    struct job *j;

    while ((j = table_next(&t->jobs, &at)) != NULL)
        if (j->leased && j->state == JOB_OPEN && j->deadline_ns < now) {
            j->leased =
                false; /* in the store too with the next change of the job; a restart only adds a period of grace */
            t->woken |= WAKE_JOBS;
        }
}
