/* SPDX-License-Identifier: MIT */
/* trials.c - trials: added by tuners, leased to agents, answered once. */
#include "tracker/state.h"

#include "core/entropy.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRIAL_BODY 65536
#define TOKEN_STEP 0x0fffffff         /* of one lease to the next at most */
#define LEASE_BYTES ((size_t)1 << 20) /* of bodies in one lease */

const char *const trial_statuses[N_TRIAL_STATUSES] = {"ok",    "compile", "limits", "runtime",
                                                      "wrong", "timeout", "crash",  "lost"};
static const char *const state_names[] = {"open", "leased", "done", "lost", "cancelled"};

/* A trial's row with texts of its own. */
struct known {
    struct trial_row row;
    char texts[7][65];
};

static void know(const struct trial_row *row, void *arg)
{
    struct known *k = arg;
    const char **const texts[] = {&k->row.key,     &k->row.fingerprint, &k->row.program, &k->row.anchor,
                                  &k->row.purpose, &k->row.protocol,    &k->row.agent};

    k->row = *row;
    k->row.body = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        text_copy(k->texts[i], sizeof k->texts[i], *texts[i]);
        *texts[i] = k->texts[i];
    }
}

/* ---- trials in memory ---- */

void trial_load(const struct trial_row *row, void *tracker)
{
    struct tracker *t = tracker;
    struct tracker_job *j = table_get_i64(&t->jobs, row->job);
    struct tracker_trial *tr = j ? calloc(1, sizeof *tr) : NULL;

    t->is_starved |= j && !tr;
    if (!tr)
        return;
    *tr = (struct tracker_trial){.id = row->id, .n = row->n, .token = row->token, .attempts = row->attempts, .job = j};
    text_copy(tr->fingerprint, sizeof tr->fingerprint, row->fingerprint);
    text_copy(tr->program.hex, sizeof tr->program.hex, row->program);
    text_copy(tr->anchor.hex, sizeof tr->anchor.hex, row->anchor);
    if (table_put_i64(&t->trials, tr->id, tr) != ERR_OK || lane_add(t, tr, row->key, false) != ERR_OK) {
        table_remove_i64(&t->trials, tr->id);
        free(tr);
        t->is_starved = true;
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

static void unlease(struct tracker *t, struct tracker_trial *tr)
{
    assert(tr->leased && tr->job->n_leased > 0 && (!tr->agent || tr->agent->n_leased > 0));
    list_remove(&t->leased, tr);
    tr->leased = false;
    tr->job->n_leased--;
    if (tr->agent)
        tr->agent->n_leased--;
    tr->agent = NULL;
}

static void forget(struct tracker *t, struct tracker_trial *tr)
{
    if (tr->leased) {
        lane_settle(tr, tr->charged_ms); /* of a job that is over: a guess no longer, its device is at work still */
        unlease(t, tr);
    } else {
        assert(tr->job->n_open > 0);
        lane_drop(tr);
        tr->job->n_open--;
    }
    table_remove_i64(&t->trials, tr->id);
    free(tr);
}

static enum err save(struct tracker *t, const struct tracker_trial *tr, enum trial_state state, int64_t answered_by)
{
    const struct trial_row row = {.id = tr->id,
                                  .state = state,
                                  .token = tr->token,
                                  .attempts = tr->attempts,
                                  .agent = tr->agent ? tr->agent->id : "",
                                  .answered_by = answered_by};

    return t->o.ops->trial_put(t->o.store, &row);
}

void trials_forget(struct tracker *t, const struct tracker_job *j)
{
    struct tracker_trial *next;
    size_t at = 0;
    struct slug *s;

    for (struct tracker_trial *tr = t->leased.first; tr; tr = next) {
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
    struct tracker_trial *tr;
    size_t at = 0;

    while ((tr = table_next(&t->trials, &at)) != NULL)
        free(tr);
    table_fini(&t->trials);
}

/* ---- the way back ---- */

static void count_record(struct slug *s, const char *status)
{
    for (int i = 0; s && i < N_TRIAL_STATUSES; i++)
        s->n_records[i] += strcmp(trial_statuses[i], status) == 0;
}

enum err trial_make_lost(struct tracker *t, struct tracker_trial *tr, const char *why)
{
    struct record_row record = {.trial = tr->id, .n = tr->n, .status = "lost"};
    struct known k = {0};
    struct buf line;
    enum err e;

    buf_init(&line, CALL_RECORD_BYTES);
    e = t->o.ops->trial_get(t->o.store, tr->id, 0, 0, know, &k);
    if (!e)
        e = lost_line(&k.row, k.row.key, why, tracker_wall_ms(t), &line);
    record.line = buf_text(&line);
    record.key = k.row.key;
    record.fingerprint = k.row.fingerprint;
    record.program = k.row.program;
    record.purpose = k.row.purpose;
    record.protocol = k.row.protocol;
    if (!e)
        e = job_record(t, tr->job, &record);
    if (!e)
        e = save(t, tr, TRIAL_LOST, 0);
    buf_fini(&line);
    if (e)
        return e;
    tr->job->n_lost++;
    t->stats.lost++;
    count_record(tr->lane->slug, record.status);
    forget(t, tr);
    return ERR_OK;
}

/* `why`: the words of the agent that gives it back; "" = it said none. */
static enum err send_back(struct tracker *t, struct tracker_trial *tr, bool counted, const char *why)
{
    struct lane *l = tr->lane;
    char words[480], said[301];
    enum err e;

    assert(tr->leased && tr->attempts < MAX_ATTEMPTS);
    lane_settle(tr, -1);
    tr->attempts += counted;
    if (tr->attempts >= MAX_ATTEMPTS) {
        text_utf8(said, sizeof said, why);
        text_plain(said, "");
        snprintf(words, sizeof words,
                 "agents took this trial five times and none answered%s%s; `tune requeue` tries it again",
                 said[0] ? "; the last said: " : "", said);
        return trial_make_lost(t, tr, words);
    }
    unlease(t, tr);
    e = lane_add(t, tr, l->key, true);
    tr->job->n_open++;
    return e ? e : save(t, tr, TRIAL_OPEN, 0);
}

enum err trials_of_agent_back(struct tracker *t, const struct agent *a, bool counted)
{
    struct tracker_trial *next;
    enum err e = ERR_OK;

    for (struct tracker_trial *tr = t->leased.first; tr && !e; tr = next) {
        next = tr->next;
        if (tr->agent == a)
            e = send_back(t, tr, counted, "");
    }
    return e;
}

enum err trials_tick(struct tracker *t)
{
    const int64_t now = tracker_now_ns(t);
    struct tracker_trial *tr;
    enum err e = ERR_OK;

    while (!e && (tr = t->leased.first) != NULL && tr->deadline_ns < now) { /* all leases are as long */
        t->stats.expired++;
        e = send_back(t, tr, true, "");
    }
    return e;
}

/* ---- trial_add ---- */

static enum err read_trial(struct call *c, const cJSON *item, const struct tracker_job *j, struct trial_row *r,
                           struct buf *body)
{
    struct trial_offer offer;
    enum err e = trial_offer_read(item, &offer, &c->why);

    if (!e && !offer.key && !j->key[0])
        e = why_set(&c->why, ERR_INPUT, "trial_offer: member key: job j%lld has none", (long long)j->id);
    if (!e && offer.key)
        e = tracker_check_key(c, offer.key);
    if (!e && (e = json_print(offer.body, body)) == ERR_LIMIT)
        why_set(&c->why, e, "'body' of a trial over %d bytes", MAX_TRIAL_BODY);
    if (e)
        return e;
    *r = (struct trial_row){.job = j->id,
                            .n = offer.n,
                            .key = offer.key ? offer.key : j->key,
                            .fingerprint = offer.fingerprint,
                            .program = offer.program,
                            .anchor = offer.anchor,
                            .purpose = offer.purpose,
                            .protocol = offer.protocol,
                            .body = body->data,
                            .state = TRIAL_OPEN};
    return ERR_OK;
}

/* The record that answers a trial: its line (owned), and the numbers beside it. */
struct same {
    char *line;
    int64_t trial;
    double time_ns, flops;
};

static bool take_same(const struct record_row *row, void *arg)
{
    struct same *s = arg;

    *s = (struct same){strdup(row->line), row->trial, row->time_ns, row->flops};
    return false;
}

static enum err find_line(struct call *c, int64_t trial, struct same *same)
{
    return c->t->o.ops->each_record(c->t->o.store, 0, 0, trial, 1, take_same, same);
}

static enum err answer_add(struct call *c, const struct trial_row *row, struct same *same)
{
    struct trial_added added = {.n = row->n, .trial = call_keep_id(c, 't', row->id), .state = state_names[row->state]};
    enum err e = ERR_OK;

    if (!same->line && (row->state == TRIAL_DONE || row->state == TRIAL_LOST))
        e = find_line(c, row->id, same);
    if (!e && !same->line && row->answered_by) /* answered by a tracker that kept no record of it */
        e = find_line(c, row->answered_by, same);
    added.record = same->line;
    call_list_add(&c->result.trial_add.trials, trial_added_write(&added), &c->ok);
    return e;
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
static enum err keep_answer(struct call *c, struct tracker_job *j, const struct trial_row *row, const struct same *same)
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
    record.line = same->line;
    j->n_done++;
    return job_record(c->t, j, &record);
}

static enum err add_new(struct call *c, struct tracker_job *j, struct trial_row *row, struct same *same)
{
    struct tracker *t = c->t;
    enum err e;

    if (j->n_open + j->n_leased >= MAX_OPEN_TRIALS)
        return why_set(&c->why, ERR_BUSY, "the job has %d trials waiting already", MAX_OPEN_TRIALS);
    e = answer_from_store(c, row, same);
    row->id = t->next_trial;
    t->next_trial += t->o.n_parts;
    if (!e)
        e = t->o.ops->trial_put(t->o.store, row);
    if (e)
        return e;
    if (row->state == TRIAL_DONE)
        return keep_answer(c, j, row, same);
    trial_load(row, t);
    return t->is_starved ? ERR_NOMEM : ERR_OK;
}

static enum err add_one(struct call *c, struct tracker_job *j, const cJSON *item)
{
    struct trial_row row;
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
    if (!e)
        e = answer_add(c, &row, &same);
    free(same.line);
    buf_fini(&body);
    return e;
}

enum err op_trial_add(struct call *c)
{
    const struct trial_add_args *in = &c->args.trial_add;
    const cJSON *item;
    struct tracker_job *j;
    enum err e = leased_job_of(c, in->job, in->token, &j);

    if (!e && j->state != JOB_OPEN)
        e = why_set(&c->why, ERR_CANCELLED, "job j%lld has ended", (long long)j->id);
    if (e)
        return e;
    cJSON_ArrayForEach(item, in->trials)
    {
        e = add_one(c, j, item);
        if (e)
            return e;
    }
    return ERR_OK;
}

/* ---- trial_lease ---- */

struct grant {
    struct call *call;
    cJSON *built; /* or NULL */
    size_t n_bytes;
};

static void add_grant(const struct trial_row *row, void *arg)
{
    struct grant *g = arg;
    struct call *c = g->call;
    cJSON *body = NULL;
    struct trial_grant one = {.trial = call_keep_id(c, 't', row->id),
                              .token = row->token,
                              .job = call_keep_id(c, 'j', row->job),
                              .n = row->n,
                              .program = row->program,
                              .anchor = row->anchor,
                              .purpose = row->purpose,
                              .protocol = row->protocol,
                              .attempt = row->attempts + 1,
                              .built = g->built};

    if (json_parse(row->body, strlen(row->body), &body, NULL) != ERR_OK)
        body = cJSON_CreateObject();
    one.body = body;
    g->built = NULL;
    call_list_add(&c->result.trial_lease.trials, trial_grant_write(&one), &c->ok);
    g->n_bytes += strlen(row->body);
}

enum err next_token(struct tracker *t, int64_t *token)
{
    uint32_t step;
    const enum err e = entropy_fill(t->o.entropy, &step, sizeof step);

    if (!e)
        *token += 1 + (int64_t)(step & TOKEN_STEP);
    assert(*token < JSON_EXACT_MAX);
    return e;
}

/* Its holder may answer by any token that it had without another's coming between: leases cross results. */
static void note_token(struct tracker_trial *tr, const struct agent *a)
{
    if (tr->holder != a->serial)
        memset(tr->before, 0, sizeof tr->before);
    else
        memmove(tr->before + 1, tr->before, sizeof tr->before - sizeof *tr->before);
    tr->before[0] = tr->holder == a->serial ? tr->token : 0;
    tr->holder = a->serial;
}

static bool had_token(const struct tracker_trial *tr, int64_t token)
{
    for (int i = 0; i < MAX_ATTEMPTS; i++)
        if (tr->before[i] == token)
            return true;
    return false;
}

static enum err grant(struct call *c, struct agent *a, struct tracker_trial *tr, struct grant *g)
{
    struct tracker *t = c->t;
    enum err e;

    assert(!tr->leased && !tr->agent && tr->job->n_open > 0);
    meter_add(&tr->lane->slug->waits, tracker_now_ns(t) - tr->since_ns);
    tr->since_ns = tracker_now_ns(t);
    tr->leased = true;
    tr->agent = a;
    tr->deadline_ns = tracker_now_ns(t) + t->o.lease_ms * 1000000;
    list_append(&t->leased, tr);
    tr->job->n_open--;
    tr->job->n_leased++;
    a->n_leased++;
    t->stats.grants++;
    note_token(tr, a);
    e = next_token(t, &tr->token);
    if (!e)
        e = save(t, tr, TRIAL_LEASED, 0);
    if (!e && a->arch)
        e = build_answers_of(t, a, tr, &g->built, &g->n_bytes);
    return e ? e : t->o.ops->trial_get(t->o.store, tr->id, 0, 0, add_grant, g);
}

enum err op_trial_lease(struct call *c)
{
    const struct trial_lease_args *in = &c->args.trial_lease;
    struct grant g = {.call = c};
    struct lane *lane = NULL;
    int64_t n = 0;
    struct tracker_trial *tr;
    struct slug *s;
    struct agent *a;
    enum err e = agent_of(c, in->agent, in->session_nonce, &a);

    if (e)
        return e;
    if (!c->again && !isnan(in->load))
        agent_feels(c->t, a, in->temperature, in->load);
    s = slug_of(c->t, a->key);
    if (!s)
        return ERR_NOMEM;
    while (!e && !a->drain && n++ < in->max && g.n_bytes < LEASE_BYTES && (tr = lane_take(c->t, a, s, lane, &e))) {
        lane = tr->lane;
        e = grant(c, a, tr, &g);
    }
    cJSON_Delete(g.built); /* of a grant that failed */
    c->park = !lane && !c->last && !a->drain ? &s->waiters : NULL;
    c->result.trial_lease.deadline_ms = c->t->o.lease_ms;
    c->result.trial_lease.drain = a->drain;
    return e;
}

/* ---- renewals, results, returns ---- */

/* The lease with this token, or NULL. */
static struct tracker_trial *lease_of(struct tracker *t, int64_t id, int64_t token)
{
    struct tracker_trial *tr = table_get_i64(&t->trials, id);

    return tr && tr->leased && tr->token == token ? tr : NULL;
}

static enum err renew_one(struct call *c, struct agent *a, const cJSON *item)
{
    struct trial_renew_result *out = &c->result.trial_renew;
    struct trial_ref ref;
    struct known k = {0};
    int64_t id = 0;
    struct tracker_trial *tr;
    enum err e = trial_ref_read(item, &ref, &c->why);

    if (e)
        return e;
    call_id_parse(ref.trial, 't', &id);
    tr = lease_of(c->t, id, ref.token);
    assert(!tr || tr->deadline_ns <= tracker_now_ns(c->t) + c->t->o.lease_ms * 1000000);
    if (tr && !tr->agent) { /* granted before a restart */
        tr->agent = a;
        a->n_leased++;
    }
    if (tr && tr->agent == a) {
        list_remove(&c->t->leased, tr); /* in the order of their ends */
        list_append(&c->t->leased, tr);
        tr->deadline_ns = tracker_now_ns(c->t) + c->t->o.lease_ms * 1000000;
        return ERR_OK;
    }
    e = c->t->o.ops->trial_get(c->t->o.store, id, 0, 0, know, &k);
    if (e && e != ERR_NOT_FOUND)
        return e;
    call_list_add_text(!e && k.row.state == TRIAL_CANCELLED ? &out->cancelled : &out->lost, ref.trial, &c->ok);
    return ERR_OK;
}

enum err op_trial_renew(struct call *c)
{
    const struct trial_renew_args *in = &c->args.trial_renew;
    const cJSON *item;
    struct agent *a;
    enum err e = agent_of(c, in->agent, NULL, &a);

    if (e)
        return e;
    cJSON_ArrayForEach(item, in->trials)
    {
        e = renew_one(c, a, item);
        if (e)
            return e;
    }
    c->result.trial_renew.deadline_ms = c->t->o.lease_ms;
    c->result.trial_renew.drain = a->drain;
    return ERR_OK;
}

static void count_result(struct tracker *t, const struct tracker_trial *tr, const char *status)
{
    t->stats.results++;
    if (!tr->agent)
        return;
    tr->agent->done++;
    tr->agent->failed += strcmp(status, "ok") != 0;
}

static enum err accept(struct call *c, const struct known *k, struct record_row *record)
{
    struct tracker_job *j = table_get_i64(&c->t->jobs, k->row.job);
    struct tracker_trial *tr = table_get_i64(&c->t->trials, k->row.id);
    struct trial_row row = k->row;
    enum err e;

    if (!j)
        return ERR_NOT_FOUND;
    record->trial = k->row.id;
    record->n = k->row.n;
    record->program = k->row.program;
    record->purpose = k->row.purpose;
    record->protocol = k->row.protocol;
    row.state = TRIAL_DONE;
    row.agent = tr && tr->agent ? tr->agent->id : k->row.agent;
    e = job_record(c->t, j, record);
    if (!e)
        e = c->t->o.ops->trial_put(c->t->o.store, &row);
    if (e)
        return e;
    j->n_done++;
    count_record(slug_of(c->t, k->row.key), record->status);
    if (tr) {
        assert(tr->job == j);
        if (tr->leased)
            meter_add(&tr->lane->slug->runs, tracker_now_ns(c->t) - tr->since_ns);
        if (tr->leased)
            lane_settle(tr, record->device_ms);
        count_result(c->t, tr, record->status);
        forget(c->t, tr);
    }
    return ERR_OK;
}

/* On a device as the one that leased it. */
static enum err check_device(struct call *c, const struct envelope *env, const struct known *k)
{
    const struct tracker_trial *tr = table_get_i64(&c->t->trials, k->row.id);
    const char *fingerprint = tr && tr->agent ? tr->agent->fingerprint : k->row.fingerprint;

    return env->fingerprint[0] && fingerprint[0] && strcmp(env->fingerprint, fingerprint) != 0
               ? why_set(&c->why, ERR_INPUT, "trial %s is of another fingerprint", c->args.trial_result.trial)
               : ERR_OK;
}

/* Numbers that a device can have: a quotient of any two is finite, and sums of devices' times are. */
static enum err check_numbers(struct call *c, const struct envelope *env)
{
    const struct {
        const char *name;
        double value, least, most; /* 0: not told */
    } numbers[] = {{"time_ns", env->time_ns, 1e-3, 1e15},
                   {"flops", env->flops, 1, 1e24},
                   {"device_ms", env->device_ms, 1e-9, 1e9}};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value != 0 && !(numbers[i].value >= numbers[i].least && numbers[i].value <= numbers[i].most))
            return why_set(&c->why, ERR_INPUT, "envelope: %s is %g, expected %g to %g", numbers[i].name,
                           numbers[i].value, numbers[i].least, numbers[i].most);
    return ERR_OK;
}

/* Who has the lease, or had it last: a result that comes late is as good as long as nobody else was given
 * the trial. */
static enum err check_token(struct call *c, const struct known *k)
{
    const struct trial_result_args *in = &c->args.trial_result;
    const struct tracker_trial *tr = table_get_i64(&c->t->trials, k->row.id);

    return in->token > 0 && (in->token == k->row.token || (tr && had_token(tr, in->token)))
               ? ERR_OK
               : why_set(&c->why, ERR_STALE, "trial %s is not leased by that token", in->trial);
}

enum err op_trial_result(struct call *c)
{
    const struct trial_result_args *in = &c->args.trial_result;
    struct envelope env;
    struct record_row record;
    struct known k = {0};
    int64_t id = 0;
    enum err e = envelope_read(in->envelope, &env, &c->why);

    if (e)
        return e;
    call_id_parse(in->trial, 't', &id);
    e = c->t->o.ops->trial_get(c->t->o.store, id, 0, 0, know, &k);
    if (e)
        return e == ERR_NOT_FOUND ? why_set(&c->why, e, "there is no trial %s", in->trial) : e;
    if (env.program[0] && strcmp(env.program, k.row.program) != 0)
        return why_set(&c->why, ERR_INPUT, "trial %s is of another program", in->trial);
    if (k.row.state != TRIAL_OPEN && k.row.state != TRIAL_LEASED && k.row.state != TRIAL_CANCELLED) {
        c->t->stats.duplicates++;
        return ERR_OK;
    }
    e = check_token(c, &k);
    if (!e)
        e = check_device(c, &env, &k);
    if (!e)
        e = check_numbers(c, &env);
    if (e)
        return e;
    record = (struct record_row){.line = in->record,
                                 .status = env.status,
                                 .key = env.key,
                                 .fingerprint = env.fingerprint,
                                 .time_ns = env.time_ns,
                                 .flops = env.flops,
                                 .device_ms = env.device_ms};
    c->result.trial_result.accepted = true;
    return accept(c, &k, &record);
}

enum err op_trial_release(struct call *c)
{
    const struct trial_release_args *in = &c->args.trial_release;
    const cJSON *item;

    cJSON_ArrayForEach(item, in->trials)
    {
        struct trial_ref ref;
        struct tracker_trial *tr;
        int64_t id = 0;
        enum err e = trial_ref_read(item, &ref, &c->why);

        if (e)
            return e;
        call_id_parse(ref.trial, 't', &id);
        tr = lease_of(c->t, id, ref.token);
        if (tr)
            e = send_back(c->t, tr, in->counted, in->why);
        if (e)
            return e;
        c->result.trial_release.released += tr != NULL;
    }
    return ERR_OK;
}
