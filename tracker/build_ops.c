/* SPDX-License-Identifier: MIT */
/* build_ops.c - the calls of builders: they lease builds and answer them. A build is named by its program and its
 * architecture, and equal builds give equal answers: so leases have no tokens, and whoever answers first is right. */
#include "tracker/state.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_ANSWER 65536
#define MAX_ANSWER_BLOBS 64

static const char *const status_names[] = {"ok", "compile", "limits", "runtime", "timeout", "crash", NULL};

/* ---- which build is next ---- */

/* The next trial of a lane that a builder can do something for, what, and how many are served before it. */
struct next_build {
    const struct trial *trial;
    struct build *build;
    int64_t n_ahead;
};

static enum err look_at(struct tracker *t, const struct trial *tr, const char *program, struct arch *arch,
                        struct next_build *out, bool *ahead)
{
    struct build *b;
    enum err e = program[0] ? build_of(t, program, arch, &b) : ERR_OK;

    if (e || !program[0] || b->attempts >= MAX_ATTEMPTS)
        return e;
    if (b->agent || build_answers(b, tr)) {
        *ahead = true;
    } else if (!out->build) {
        out->trial = tr;
        out->build = b;
    }
    return ERR_OK;
}

static enum err look_through(struct tracker *t, const struct lane *l, const struct want *w, struct next_build *out)
{
    enum err e = ERR_OK;

    for (const struct trial *tr = l->open.first; tr && !e; tr = tr->next) {
        bool ahead = false;

        if (!want_fits(w, tr))
            continue;
        e = look_at(t, tr, tr->anchor.hex, w->arch, out, &ahead);
        ahead = false;
        if (!e)
            e = look_at(t, tr, tr->program.hex, w->arch, out, &ahead);
        out->n_ahead += ahead;
    }
    return e;
}

static bool builds_for(const struct agent *a, const struct arch *arch)
{
    for (int i = 0; i < a->n_arches; i++)
        if (a->arches[i] == arch)
            return true;
    return false;
}

/* Jobs keep as much code ready as each other, by priority: the lane with the least goes first. */
static enum err choose(struct tracker *t, const struct agent *a, struct next_build *best)
{
    double least = 0;
    const struct slug *s;
    size_t at = 0;
    enum err e = ERR_OK;

    *best = (struct next_build){0};
    while (!e && (s = table_next(&t->slugs, &at)) != NULL)
        for (int i = 0; i < s->n_wants; i++)
            for (const struct lane *l = s->lanes; l && !e && builds_for(a, s->wants[i].arch); l = l->next) {
                struct next_build x = {0};
                double ahead;

                e = look_through(t, l, &s->wants[i], &x);
                ahead = (double)x.n_ahead / job_weight(l->job);
                if (x.build && (!best->build || ahead < least)) {
                    *best = x;
                    least = ahead;
                }
            }
    return e;
}

/* ---- build_lease ---- */

static void take_body(const struct trial_row *row, void *arg)
{
    cJSON **out = arg;

    if (json_parse(row->body, strlen(row->body), out, NULL) != ERR_OK)
        *out = cJSON_CreateObject();
}

static enum err grant(struct call *c, struct agent *a, const struct next_build *x, cJSON *list)
{
    cJSON *one = cJSON_CreateObject(), *body = NULL;
    char id[24];
    bool ok = one != NULL;
    enum err e = c->t->o.ops->trial_get(c->t->o.store, x->trial->id, 0, 0, take_body, &body);

    snprintf(id, sizeof id, "t%" PRId64, x->trial->id);
    json_add_text(one, "program", x->build->program.hex, &ok);
    json_add_text(one, "arch", x->build->arch->name, &ok);
    json_add_text(one, "trial", id, &ok);
    json_add_i64(one, "attempt", x->build->attempts + 1, &ok);
    json_add_item(one, "body", body, &ok);
    cJSON_AddItemToArray(list, one);
    if (e || !ok)
        return e ? e : ERR_NOMEM;
    assert(!x->build->agent && x->build->attempts < MAX_ATTEMPTS);
    x->build->agent = a;
    x->build->deadline_ns = tracker_now_ns(c->t) + c->t->o.lease_ms * 1000000;
    a->n_leased++;
    return ERR_OK;
}

static enum err builder_of(struct call *c, struct agent **a)
{
    const char *nonce = NULL;
    enum err e = agent_of(c, a);

    if (!e)
        e = json_text_or(c->args, "session_nonce", (*a)->nonce, &nonce, &c->why);
    if (!e && !(*a)->is_builder)
        e = why_set(&c->why, ERR_INPUT, "agent %s registered as a device, not as a builder", (*a)->id);
    if (!e && strcmp(nonce, (*a)->nonce) != 0)
        e = why_set(&c->why, ERR_EXISTS, "another process registered as agent %s", (*a)->id);
    return e;
}

enum err op_build_lease(struct call *c)
{
    cJSON *list = cJSON_AddArrayToObject(c->result, "builds");
    struct next_build x = {0};
    struct agent *a;
    int64_t max;
    bool ok = list != NULL;
    enum err e = builder_of(c, &a);

    if (!e)
        e = json_i64_or(c->args, "max", 1, 1, MAX_LEASE, &max, &c->why);
    if (e || !ok)
        return e ? e : ERR_NOMEM;
    do {
        e = a->drain ? ERR_OK : choose(c->t, a, &x);
        if (!e && x.build)
            e = grant(c, a, &x, list);
    } while (!e && x.build && --max > 0);
    if (!list->child && !c->last && !a->drain)
        c->park = true;
    json_add_i64(c->result, "deadline_ms", c->t->o.lease_ms, &ok);
    json_add_bool(c->result, "drain", a->drain, &ok);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

/* ---- renewals, answers, returns ---- */

static enum err read_build(struct call *c, const cJSON *item, struct build **out)
{
    const char *program, *name;
    struct arch *arch;
    enum err e = json_get_text(item, "program", &program, &c->why);

    if (!e)
        e = json_get_text(item, "arch", &name, &c->why);
    if (!e && !sha256_is_hex(program))
        e = why_set(&c->why, ERR_INPUT, "'program' must be a SHA-256 in hex");
    if (e)
        return e;
    arch = table_get_text(&c->t->arches, name);
    return arch ? build_of(c->t, program, arch, out)
                : why_set(&c->why, ERR_NOT_FOUND, "nobody asked for code for '%.16s'", name);
}

enum err op_build_renew(struct call *c)
{
    cJSON *lost = cJSON_AddArrayToObject(c->result, "lost");
    const cJSON *builds, *item;
    struct agent *a;
    bool ok = lost != NULL;
    enum err e = builder_of(c, &a);

    if (!e)
        e = json_get_array(c->args, "builds", &builds, &c->why);
    if (e || !ok)
        return e ? e : ERR_NOMEM;
    cJSON_ArrayForEach(item, builds)
    {
        struct build *b = NULL;

        e = read_build(c, item, &b);
        if (e && e != ERR_NOT_FOUND)
            return e;
        if (b && !b->agent && !b->answered) { /* granted before a restart, or lapsed and nobody took it */
            b->agent = a;
            a->n_leased++;
        }
        if (b && b->agent == a)
            b->deadline_ns = tracker_now_ns(c->t) + c->t->o.lease_ms * 1000000;
        else
            cJSON_AddItemToArray(lost, cJSON_Duplicate(item, true));
    }
    json_add_i64(c->result, "deadline_ms", c->t->o.lease_ms, &ok);
    json_add_bool(c->result, "drain", a->drain, &ok);
    return ok ? ERR_OK : ERR_NOMEM;
}

/* The names of the answer's blobs as one text; each has to be here. */
static enum err read_blobs(struct call *c, struct buf *out)
{
    const cJSON *names, *name;
    int64_t total;
    enum err e = json_get_array(c->args, "blobs", &names, &c->why);

    if (e)
        return e;
    if (cJSON_GetArraySize(names) > MAX_ANSWER_BLOBS)
        return why_set(&c->why, ERR_LIMIT, "over %d blobs in one answer", MAX_ANSWER_BLOBS);
    cJSON_ArrayForEach(name, names)
    {
        if (!cJSON_IsString(name) || !sha256_is_hex(name->valuestring))
            return why_set(&c->why, ERR_INPUT, "'blobs' must be a list of 64 hex digits each");
        e = c->t->o.ops->blob_get(c->t->o.store, name->valuestring, 0, 0, &total, NULL);
        if (e == ERR_NOT_FOUND)
            return why_set(&c->why, e, "there is no blob %.12s..: put it before the answer that names it",
                           name->valuestring);
        if (e)
            return e;
        buf_printf(out, "%s%s", out->len ? " " : "", name->valuestring);
    }
    return out->failed;
}

static enum err read_status(struct call *c, const char **status)
{
    enum err e = json_get_text(c->args, "status", status, &c->why);
    int i = 0;

    while (!e && status_names[i] && strcmp(status_names[i], *status) != 0)
        i++;
    return e || status_names[i]
               ? e
               : why_set(&c->why, ERR_INPUT,
                         "'status' is '%.40s': expected ok, compile, limits, runtime, timeout or crash", *status);
}

static void count(struct call *c, struct build *b, bool good)
{
    c->t->stats.builds++;
    c->t->stats.builds_failed += !good;
    if (!b->agent)
        return;
    assert(b->agent->n_leased > 0);
    b->agent->done++;
    b->agent->failed += !good;
    b->agent->n_leased--;
    b->agent = NULL;
}

/* A failure holds for the trials there are now: the next one that wants this program has it tried again. */
static enum err accept(struct call *c, struct build *b, const char *status, const char *blobs, const char *body)
{
    b->answered = true;
    b->good = strcmp(status, "ok") == 0;
    b->through = b->good ? JSON_EXACT_MAX : c->t->next_trial - 1;
    b->attempts = 0;
    count(c, b, b->good);
    c->t->woken |= WAKE_TRIALS;
    return build_save(c->t, b, status, blobs, body);
}

enum err op_build_result(struct call *c)
{
    const cJSON *object = NULL;
    const char *status;
    struct buf blobs, body;
    struct build *b;
    bool ok = true, accepted = false;
    enum err e = read_build(c, c->args, &b);

    buf_init(&blobs, MAX_ANSWER_BLOBS * (SHA256_HEX + 1) + 1);
    buf_init(&body, MAX_ANSWER);
    if (!e)
        e = read_status(c, &status);
    if (!e)
        e = json_get_object(c->args, "body", &object, &c->why);
    if (!e)
        e = read_blobs(c, &blobs);
    if (!e && json_print(object, &body) != ERR_OK)
        e = why_set(&c->why, ERR_LIMIT, "'body' of an answer over %d bytes", MAX_ANSWER);
    if (!e) {
        accepted = !b->answered || (!b->good && b->agent);
        if (accepted)
            e = accept(c, b, status, buf_text(&blobs), body.data);
        else
            c->t->stats.duplicates++;
    }
    buf_fini(&blobs);
    buf_fini(&body);
    json_add_bool(c->result, "accepted", accepted, &ok);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

enum err op_build_release(struct call *c)
{
    const cJSON *builds, *item;
    struct agent *a;
    int64_t n = 0;
    bool ok = true;
    enum err e = builder_of(c, &a);

    if (!e)
        e = json_get_array(c->args, "builds", &builds, &c->why);
    if (e)
        return e;
    cJSON_ArrayForEach(item, builds)
    {
        struct build *b = NULL;

        e = read_build(c, item, &b);
        if (!e && b->agent == a) {
            e = build_back(c->t, b, false);
            n++;
        }
        if (e && e != ERR_NOT_FOUND)
            return e;
    }
    json_add_i64(c->result, "released", n, &ok);
    return ok ? ERR_OK : ERR_NOMEM;
}
