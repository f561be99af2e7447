/* SPDX-License-Identifier: MIT */
/* trials.c - trials: added by tuners, leased to agents, answered once. */
#include "tracker/state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRIAL_BODY 65536
#define LEASE_BYTES ((size_t)1 << 20) /* of bodies in one lease */

static const char *const state_names[] = {"open", "leased", "done", "lost", "cancelled"};
static const char *const status_names[] = {"ok",      "compile", "limits", "runtime", "wrong",
                                           "timeout", "crash",   "lost",   NULL};

/* A trial's row with texts of its own. */
struct known {
    struct trial_row row;
    char key[65], fingerprint[65], program[65], anchor[65], purpose[33], protocol[33], agent[65];
};

static void know(const struct trial_row *row, void *arg)
{
    struct known *k = arg;

    k->row = *row;
    k->row.body = NULL;
    text_copy(k->key, sizeof k->key, row->key);
    text_copy(k->fingerprint, sizeof k->fingerprint, row->fingerprint);
    text_copy(k->program, sizeof k->program, row->program);
    text_copy(k->anchor, sizeof k->anchor, row->anchor);
    text_copy(k->purpose, sizeof k->purpose, row->purpose);
    text_copy(k->protocol, sizeof k->protocol, row->protocol);
    text_copy(k->agent, sizeof k->agent, row->agent);
    k->row.key = k->key;
    k->row.fingerprint = k->fingerprint;
    k->row.program = k->program;
    k->row.anchor = k->anchor;
    k->row.purpose = k->purpose;
    k->row.protocol = k->protocol;
    k->row.agent = k->agent;
}

/* ---- trials in memory ---- */

void trial_load(const struct trial_row *row, void *tracker)
{
    struct tracker *t = tracker;
    struct job *j = table_get_i64(&t->jobs, row->job);
    struct trial *tr = j ? calloc(1, sizeof *tr) : NULL;

    if (!tr)
        return;
    *tr = (struct trial){.id = row->id, .n = row->n, .token = row->token, .attempts = row->attempts, .job = j};
    text_copy(tr->fingerprint, sizeof tr->fingerprint, row->fingerprint);
    text_copy(tr->program.hex, sizeof tr->program.hex, row->program);
    text_copy(tr->anchor.hex, sizeof tr->anchor.hex, row->anchor);
    if (table_put_i64(&t->trials, tr->id, tr) != ERR_OK || lane_add(t, tr, row->key, false) != ERR_OK) {
        table_remove_i64(&t->trials, tr->id);
        free(tr);
        return;
    }
    if (row->state == TRIAL_LEASED) {
        lane_drop(tr);
        tr->leased = true;
        tr->deadline_ns = tracker_now_ns(t) + t->o.lease_ms * 1000000;
        list_append(&t->leased, tr);
        j->n_leased++;
    } else {
        j->n_open++;
    }
}

static void unlease(struct tracker *t, struct trial *tr)
{
    assert(tr->leased && tr->job->n_leased > 0 && (!tr->agent || tr->agent->n_leased > 0));
    list_remove(&t->leased, tr);
    tr->leased = false;
    tr->job->n_leased--;
    if (tr->agent)
        tr->agent->n_leased--;
    tr->agent = NULL;
}

static void forget(struct tracker *t, struct trial *tr)
{
    if (tr->leased) {
        unlease(t, tr);
    } else {
        assert(tr->job->n_open > 0);
        lane_drop(tr);
        tr->job->n_open--;
    }
    table_remove_i64(&t->trials, tr->id);
    free(tr);
}

static enum err save(struct tracker *t, const struct trial *tr, enum trial_state state, int64_t answered_by)
{
    const struct trial_row row = {.id = tr->id,
                                  .state = state,
                                  .token = tr->token,
                                  .attempts = tr->attempts,
                                  .agent = tr->agent ? tr->agent->id : "",
                                  .answered_by = answered_by};

    return t->o.ops->trial_put(t->o.store, &row);
}

void trials_forget(struct tracker *t, const struct job *j)
{
    struct trial *next;
    size_t at = 0;
    struct slug *s;

    for (struct trial *tr = t->leased.first; tr; tr = next) {
        next = tr->next;
        if (tr->job == j)
            forget(t, tr);
    }
    while ((s = table_next(&t->slugs, &at)) != NULL)
        for (struct lane *l = s->lanes; l; l = l->next)
            while (l->job == j && l->open.first)
                forget(t, l->open.first); /* NOLINT(clang-analyzer-unix.Malloc): it is taken out of its lane first */
    lanes_forget(t, j);
}

void trials_fini(struct tracker *t)
{
    struct trial *tr;
    size_t at = 0;

    while ((tr = table_next(&t->trials, &at)) != NULL)
        free(tr);
    table_fini(&t->trials);
}

/* ---- the way back ---- */

enum err trial_make_lost(struct tracker *t, struct trial *tr, const char *why)
{
    struct record_row record = {.trial = tr->id, .n = tr->n, .status = "lost"};
    struct known k = {0};
    struct buf line;
    enum err e;

    buf_init(&line, MAX_RECORD_BYTES);
    e = t->o.ops->trial_get(t->o.store, tr->id, 0, 0, know, &k);
    if (!e)
        e = lost_line(&k.row, k.key, why, tracker_wall_ms(t), &line);
    record.line = buf_text(&line);
    record.key = k.key;
    record.fingerprint = k.fingerprint;
    record.program = k.program;
    record.purpose = k.purpose;
    record.protocol = k.protocol;
    if (!e)
        e = job_record(t, tr->job, &record);
    if (!e)
        e = save(t, tr, TRIAL_LOST, 0);
    buf_fini(&line);
    if (e)
        return e;
    tr->job->n_lost++;
    t->stats.lost++;
    forget(t, tr);
    return ERR_OK;
}

static enum err send_back(struct tracker *t, struct trial *tr, bool counted)
{
    struct lane *l = tr->lane;
    enum err e;

    assert(tr->leased && tr->attempts < MAX_ATTEMPTS);
    lane_settle(tr, -1);
    tr->attempts += counted;
    if (tr->attempts >= MAX_ATTEMPTS)
        return trial_make_lost(t, tr, "five agents took this trial and none answered; `tune requeue` tries it again");
    unlease(t, tr);
    e = lane_add(t, tr, l->key, true);
    tr->job->n_open++;
    return e ? e : save(t, tr, TRIAL_OPEN, 0);
}

enum err trials_of_agent_back(struct tracker *t, const struct agent *a, bool counted)
{
    struct trial *next;
    enum err e = ERR_OK;

    for (struct trial *tr = t->leased.first; tr && !e; tr = next) {
        next = tr->next;
        if (tr->agent == a)
            e = send_back(t, tr, counted);
    }
    return e;
}

enum err trials_tick(struct tracker *t)
{
    const int64_t now = tracker_now_ns(t);
    struct trial *next;
    enum err e = ERR_OK;

    for (struct trial *tr = t->leased.first; tr && !e; tr = next) {
        next = tr->next;
        if (tr->deadline_ns < now) {
            t->stats.expired++;
            e = send_back(t, tr, true);
        }
    }
    return e;
}

/* ---- trial_add ---- */

static enum err check_hash(struct call *c, const char *name, const char *text, bool may_be_empty)
{
    if ((may_be_empty && !text[0]) || sha256_is_hex(text))
        return ERR_OK;
    return why_set(&c->why, ERR_INPUT, "'%s' must be a SHA-256 in hex%s", name, may_be_empty ? " or empty" : "");
}

static enum err check_row(struct call *c, const struct trial_row *r)
{
    enum err e = check_hash(c, "program", r->program, false);

    if (!e)
        e = check_hash(c, "anchor", r->anchor, true);
    if (!e)
        e = check_hash(c, "fingerprint", r->fingerprint, true);
    if (!e && !name_is_sane(r->key))
        e = why_set(&c->why, ERR_INPUT, "'key' must be 1 to 64 of letters, digits and . _ : @ + -");
    if (!e && (strlen(r->purpose) > 15 || strlen(r->protocol) > 31))
        e = why_set(&c->why, ERR_INPUT, "'purpose' has over 15 bytes or 'protocol' over 31");
    return e;
}

static enum err read_trial(struct call *c, const cJSON *item, const struct job *j, struct trial_row *r,
                           struct buf *body)
{
    const cJSON *object;
    enum err e = json_get_i64(item, "n", 0, JSON_EXACT_MAX, &r->n, &c->why);

    if (!e)
        e = json_text_or(item, "key", j->key, &r->key, &c->why);
    if (!e)
        e = json_text_or(item, "fingerprint", "", &r->fingerprint, &c->why);
    if (!e)
        e = json_get_text(item, "program", &r->program, &c->why);
    if (!e)
        e = json_text_or(item, "anchor", "", &r->anchor, &c->why);
    if (!e)
        e = json_text_or(item, "purpose", "search", &r->purpose, &c->why);
    if (!e)
        e = json_text_or(item, "protocol", "", &r->protocol, &c->why);
    if (!e)
        e = json_get_object(item, "body", &object, &c->why);
    if (!e && json_print(object, body) != ERR_OK)
        e = why_set(&c->why, ERR_LIMIT, "'body' of a trial over %d bytes", MAX_TRIAL_BODY);
    if (e)
        return e;
    r->job = j->id;
    r->body = body->data;
    return check_row(c, r);
}

/* The line of a stored record, as a JSON string. */
static bool take_line(const struct record_row *row, void *arg)
{
    *(cJSON **)arg = cJSON_CreateString(row->line);
    return false;
}

/* The record that answers a trial: its line, and the numbers beside it. */
struct same {
    cJSON *line;
    int64_t trial;
    double time_ns, flops;
};

static bool take_same(const struct record_row *row, void *arg)
{
    struct same *s = arg;

    *s = (struct same){cJSON_CreateString(row->line), row->trial, row->time_ns, row->flops};
    return false;
}

static enum err find_line(struct call *c, int64_t trial, cJSON **line)
{
    return c->t->o.ops->each_record(c->t->o.store, 0, 0, trial, 1, take_line, line);
}

static enum err answer_add(struct call *c, cJSON *list, const struct trial_row *row, cJSON *takes_line)
{
    cJSON *one = cJSON_CreateObject(), *line = takes_line;
    char id[24];
    bool ok = one != NULL;
    enum err e = ERR_OK;

    if (!line && (row->state == TRIAL_DONE || row->state == TRIAL_LOST))
        e = find_line(c, row->id, &line);
    if (!e && !line && row->answered_by) /* answered by a tracker that kept no record of it */
        e = find_line(c, row->answered_by, &line);
    snprintf(id, sizeof id, "t%lld", (long long)row->id);
    json_add_i64(one, "n", row->n, &ok);
    json_add_text(one, "trial", id, &ok);
    json_add_text(one, "state", state_names[row->state], &ok);
    json_add_item(one, "record", line ? line : cJSON_CreateNull(), &ok);
    cJSON_AddItemToArray(list, one);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

static enum err answer_from_store(struct call *c, struct trial_row *row, struct same *same)
{
    const struct record_row like = {
        .program = row->program, .fingerprint = row->fingerprint, .purpose = row->purpose, .protocol = row->protocol};
    enum err e;

    if (!row->fingerprint[0] || strcmp(row->purpose, "search") != 0)
        return ERR_OK;
    e = c->t->o.ops->record_find(c->t->o.store, &like, take_same, same);
    if (e)
        return e == ERR_NOT_FOUND ? ERR_OK : e;
    row->state = TRIAL_DONE;
    row->answered_by = same->trial;
    c->t->stats.answered_from_store++;
    return ERR_OK;
}

/* What another job measured becomes a record of this one too, so that its log and its best are whole. */
static enum err keep_answer(struct call *c, struct job *j, const struct trial_row *row, const struct same *same)
{
    struct record_row record = {.trial = row->id,
                                .n = row->n,
                                .status = "ok",
                                .key = row->key,
                                .fingerprint = row->fingerprint,
                                .program = row->program,
                                .purpose = row->purpose,
                                .protocol = row->protocol,
                                .time_ns = same->time_ns,
                                .flops = same->flops};

    if (!same->line)
        return ERR_NOMEM;
    record.line = same->line->valuestring;
    j->n_done++;
    return job_record(c->t, j, &record);
}

static enum err add_new(struct call *c, struct job *j, struct trial_row *row, struct same *same)
{
    struct tracker *t = c->t;
    enum err e;

    if (j->n_open + j->n_leased >= MAX_OPEN_TRIALS)
        return why_set(&c->why, ERR_BUSY, "the job has %d trials waiting already", MAX_OPEN_TRIALS);
    e = answer_from_store(c, row, same);
    row->id = t->next_trial++;
    if (!e)
        e = t->o.ops->trial_put(t->o.store, row);
    if (e)
        return e;
    if (row->state == TRIAL_DONE)
        return keep_answer(c, j, row, same);
    trial_load(row, t);
    return ERR_OK;
}

static enum err add_one(struct call *c, struct job *j, const cJSON *item, cJSON *list)
{
    struct trial_row row = {.state = TRIAL_OPEN};
    struct same same = {0};
    struct known k = {0};
    struct buf body;
    enum err e;

    buf_init(&body, MAX_TRIAL_BODY);
    e = read_trial(c, item, j, &row, &body);
    if (!e) {
        e = c->t->o.ops->trial_get(c->t->o.store, 0, j->id, row.n, know, &k);
        if (!e)
            row = k.row;
        else if (e == ERR_NOT_FOUND)
            e = add_new(c, j, &row, &same);
    }
    if (e)
        cJSON_Delete(same.line);
    else
        e = answer_add(c, list, &row, same.line);
    buf_fini(&body);
    return e;
}

enum err op_trial_add(struct call *c)
{
    cJSON *list = cJSON_AddArrayToObject(c->result, "trials");
    const cJSON *trials, *item;
    int64_t token;
    struct job *j;
    enum err e = job_of(c, &j);

    if (!e)
        e = json_get_i64(c->args, "token", 0, JSON_EXACT_MAX, &token, &c->why);
    if (!e)
        e = json_get_array(c->args, "trials", &trials, &c->why);
    if (e || !list)
        return e ? e : ERR_NOMEM;
    if (token != j->token)
        return why_set(&c->why, ERR_STALE, "another tuner has job j%lld now", (long long)j->id);
    if (j->state != JOB_OPEN)
        return why_set(&c->why, ERR_CANCELLED, "job j%lld has ended", (long long)j->id);
    cJSON_ArrayForEach(item, trials)
    {
        e = add_one(c, j, item, list);
        if (e)
            return e;
    }
    return ERR_OK;
}

/* ---- trial_lease ---- */

struct grant {
    cJSON *list, *last;
    size_t n_bytes;
    bool ok;
};

static void add_grant(const struct trial_row *row, void *arg)
{
    struct grant *g = arg;
    cJSON *one = cJSON_CreateObject(), *body = NULL;
    char id[24];

    g->ok = g->ok && one;
    if (!one)
        return;
    if (json_parse(row->body, strlen(row->body), &body, NULL) != ERR_OK)
        body = cJSON_CreateObject();
    snprintf(id, sizeof id, "t%lld", (long long)row->id);
    json_add_text(one, "trial", id, &g->ok);
    json_add_i64(one, "token", row->token, &g->ok);
    snprintf(id, sizeof id, "j%lld", (long long)row->job);
    json_add_text(one, "job", id, &g->ok);
    json_add_i64(one, "n", row->n, &g->ok);
    json_add_text(one, "program", row->program, &g->ok);
    json_add_text(one, "anchor", row->anchor, &g->ok);
    json_add_text(one, "purpose", row->purpose, &g->ok);
    json_add_text(one, "protocol", row->protocol, &g->ok);
    json_add_i64(one, "attempt", row->attempts + 1, &g->ok);
    json_add_item(one, "body", body, &g->ok);
    cJSON_AddItemToArray(g->list, one);
    g->last = one;
    g->n_bytes += strlen(row->body);
}

static enum err grant(struct call *c, struct agent *a, struct trial *tr, struct grant *g)
{
    struct tracker *t = c->t;
    enum err e;

    assert(!tr->leased && !tr->agent && tr->job->n_open > 0);
    tr->leased = true;
    tr->token++;
    tr->agent = a;
    tr->deadline_ns = tracker_now_ns(t) + t->o.lease_ms * 1000000;
    list_append(&t->leased, tr);
    tr->job->n_open--;
    tr->job->n_leased++;
    a->n_leased++;
    t->stats.grants++;
    e = save(t, tr, TRIAL_LEASED, 0);
    if (!e)
        e = t->o.ops->trial_get(t->o.store, tr->id, 0, 0, add_grant, g);
    return e || !a->arch || !g->ok ? e : build_add(t, a, tr, g->last, &g->n_bytes);
}

static enum err read_lease(struct call *c, struct agent **a, const char **key, const char **fingerprint, int64_t *max)
{
    const char *nonce = NULL;
    enum err e = agent_of(c, a);

    if (!e)
        e = json_text_or(c->args, "session_nonce", (*a)->nonce, &nonce, &c->why);
    if (!e)
        e = json_text_or(c->args, "key", (*a)->key, key, &c->why);
    if (!e)
        e = json_text_or(c->args, "fingerprint", (*a)->fingerprint, fingerprint, &c->why);
    if (!e)
        e = json_i64_or(c->args, "max", 1, 1, MAX_LEASE, max, &c->why);
    if (!e && strcmp(nonce, (*a)->nonce) != 0)
        e = why_set(&c->why, ERR_EXISTS, "another process registered as agent %s", (*a)->id);
    return e;
}

enum err op_trial_lease(struct call *c)
{
    struct grant g = {.ok = true};
    const char *key, *fingerprint;
    struct lane *lane = NULL;
    struct trial *tr;
    struct agent *a;
    int64_t max;
    enum err e = read_lease(c, &a, &key, &fingerprint, &max);

    if (e)
        return e;
    g.list = cJSON_AddArrayToObject(c->result, "trials");
    if (!g.list)
        return ERR_NOMEM;
    while (!e && !a->drain && max-- > 0 && g.n_bytes < LEASE_BYTES &&
           (tr = lane_take(c->t, a, key, fingerprint, lane, &e))) {
        lane = tr->lane;
        e = grant(c, a, tr, &g);
    }
    if (!lane && !c->last && !a->drain)
        c->park = true;
    json_add_i64(c->result, "deadline_ms", c->t->o.lease_ms, &g.ok);
    json_add_bool(c->result, "drain", a->drain, &g.ok);
    return e ? e : g.ok ? ERR_OK : ERR_NOMEM;
}

/* ---- renewals, results, returns ---- */

static enum err read_token(struct call *c, const cJSON *item, int64_t *id, int64_t *token)
{
    const char *text;
    enum err e = json_get_text(item, "trial", &text, &c->why);

    if (!e)
        e = json_get_i64(item, "token", 0, JSON_EXACT_MAX, token, &c->why);
    if (!e && id_parse(text, 't', id) != ERR_OK)
        e = why_set(&c->why, ERR_INPUT, "'%.40s' is no trial: expected e.g. t345", text);
    return e;
}

/* The lease with this token, or NULL. */
static struct trial *lease_of(struct tracker *t, int64_t id, int64_t token)
{
    struct trial *tr = table_get_i64(&t->trials, id);

    return tr && tr->leased && tr->token == token ? tr : NULL;
}

static enum err renew_one(struct call *c, struct agent *a, const cJSON *item, cJSON *lost, cJSON *cancelled)
{
    struct known k = {0};
    int64_t id, token;
    struct trial *tr;
    enum err e = read_token(c, item, &id, &token);

    if (e)
        return e;
    tr = lease_of(c->t, id, token);
    assert(!tr || tr->deadline_ns <= tracker_now_ns(c->t) + c->t->o.lease_ms * 1000000);
    if (tr && !tr->agent) { /* granted before a restart */
        tr->agent = a;
        a->n_leased++;
    }
    if (tr && tr->agent == a) {
        tr->deadline_ns = tracker_now_ns(c->t) + c->t->o.lease_ms * 1000000;
        return ERR_OK;
    }
    e = c->t->o.ops->trial_get(c->t->o.store, id, 0, 0, know, &k);
    if (e && e != ERR_NOT_FOUND)
        return e;
    cJSON_AddItemToArray(!e && k.row.state == TRIAL_CANCELLED ? cancelled : lost,
                         cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(item, "trial"), 0));
    return ERR_OK;
}

enum err op_trial_renew(struct call *c)
{
    cJSON *lost = cJSON_AddArrayToObject(c->result, "lost"),
          *cancelled = cJSON_AddArrayToObject(c->result, "cancelled");
    const cJSON *trials, *item;
    struct agent *a;
    bool ok = lost && cancelled;
    enum err e = agent_of(c, &a);

    if (!e)
        e = json_get_array(c->args, "trials", &trials, &c->why);
    if (e || !ok)
        return e ? e : ERR_NOMEM;
    cJSON_ArrayForEach(item, trials)
    {
        e = renew_one(c, a, item, lost, cancelled);
        if (e)
            return e;
    }
    json_add_i64(c->result, "deadline_ms", c->t->o.lease_ms, &ok);
    json_add_bool(c->result, "drain", a->drain, &ok);
    return ok ? ERR_OK : ERR_NOMEM;
}

static enum err read_envelope(struct call *c, struct record_row *r)
{
    const cJSON *env;
    int i = 0;
    enum err e = json_get_object(c->args, "envelope", &env, &c->why);

    if (!e)
        e = json_get_text(c->args, "record", &r->line, &c->why);
    if (!e)
        e = json_text_or(env, "key", "", &r->key, &c->why);
    if (!e)
        e = json_text_or(env, "fingerprint", "", &r->fingerprint, &c->why);
    if (!e)
        e = json_text_or(env, "program", "", &r->program, &c->why);
    if (!e)
        e = json_get_text(env, "status", &r->status, &c->why);
    if (!e)
        e = json_real_or(env, "time_ns", 0, &r->time_ns, &c->why);
    if (!e)
        e = json_real_or(env, "flops", 0, &r->flops, &c->why);
    if (!e)
        e = json_real_or(env, "device_ms", 0, &r->device_ms, &c->why);
    if (e)
        return e;
    while (status_names[i] && strcmp(status_names[i], r->status) != 0)
        i++;
    if (!status_names[i])
        return why_set(&c->why, ERR_INPUT,
                       "'status' is '%.40s': expected ok, compile, limits, runtime, wrong, timeout, crash or lost",
                       r->status);
    if (strlen(r->line) > MAX_RECORD_BYTES)
        return why_set(&c->why, ERR_LIMIT, "'record' has %zu bytes: at most %d", strlen(r->line), MAX_RECORD_BYTES);
    return strlen(r->key) > 64 ? why_set(&c->why, ERR_LIMIT, "'key' has over 64 bytes")
                               : check_hash(c, "fingerprint", r->fingerprint, true);
}

static void count_result(struct tracker *t, const struct trial *tr, const char *status)
{
    t->stats.results++;
    if (!tr->agent)
        return;
    tr->agent->done++;
    tr->agent->failed += strcmp(status, "ok") != 0;
}

static enum err accept(struct call *c, const struct known *k, struct record_row *record)
{
    struct job *j = table_get_i64(&c->t->jobs, k->row.job);
    struct trial *tr = table_get_i64(&c->t->trials, k->row.id);
    struct trial_row row = k->row;
    enum err e;

    if (!j)
        return ERR_NOT_FOUND;
    record->trial = k->row.id;
    record->n = k->row.n;
    record->program = k->program;
    record->purpose = k->purpose;
    record->protocol = k->protocol;
    row.state = TRIAL_DONE;
    row.agent = tr && tr->agent ? tr->agent->id : k->agent;
    e = job_record(c->t, j, record);
    if (!e)
        e = c->t->o.ops->trial_put(c->t->o.store, &row);
    if (e)
        return e;
    j->n_done++;
    if (tr) {
        assert(tr->job == j);
        if (tr->leased)
            lane_settle(tr, record->device_ms);
        count_result(c->t, tr, record->status);
        forget(c->t, tr);
    }
    return ERR_OK;
}

enum err op_trial_result(struct call *c)
{
    struct record_row record = {0};
    struct known k = {0};
    int64_t id, token;
    bool ok = true, accepted;
    enum err e = read_token(c, c->args, &id, &token);

    if (!e)
        e = read_envelope(c, &record);
    if (e)
        return e;
    e = c->t->o.ops->trial_get(c->t->o.store, id, 0, 0, know, &k);
    if (e)
        return e == ERR_NOT_FOUND ? why_set(&c->why, e, "there is no trial t%lld", (long long)id) : e;
    if (record.program[0] && strcmp(record.program, k.program) != 0)
        return why_set(&c->why, ERR_INPUT, "trial t%lld is of another program", (long long)id);
    accepted = k.row.state == TRIAL_OPEN || k.row.state == TRIAL_LEASED || k.row.state == TRIAL_CANCELLED;
    if (accepted)
        e = accept(c, &k, &record);
    else
        c->t->stats.duplicates++;
    json_add_bool(c->result, "accepted", accepted, &ok);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

enum err op_trial_release(struct call *c)
{
    const cJSON *trials, *item;
    int64_t id, token, n = 0;
    bool counted, ok = true;
    enum err e = json_get_array(c->args, "trials", &trials, &c->why);

    if (!e)
        e = json_bool_or(c->args, "counted", true, &counted, &c->why);
    if (e)
        return e;
    cJSON_ArrayForEach(item, trials)
    {
        struct trial *tr;

        e = read_token(c, item, &id, &token);
        tr = e ? NULL : lease_of(c->t, id, token);
        if (tr) {
            e = send_back(c->t, tr, counted);
            n++;
        }
        if (e)
            return e;
    }
    json_add_i64(c->result, "released", n, &ok);
    return ok ? ERR_OK : ERR_NOMEM;
}
