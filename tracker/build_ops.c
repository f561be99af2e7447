/* SPDX-License-Identifier: MIT */
/* build_ops.c - the calls of builders: they lease builds and answer them. A build is named by its program and its
 * architecture, and equal builds give equal answers: so leases have no tokens, and whoever answers first is right. */
#include "tracker/state.h"

#include "core/buf.h"
#include "core/err.h"
#include "tracker/vault.h"

#include <assert.h>
#include <string.h>

#define MAX_ANSWER 65536

/* ---- which build is next ---- */

/* The next trial of a lane that a builder can do something for, what, and how many are served before it. */
struct next_build {
    const struct tracker_trial *trial;
    struct build *build;
    int64_t n_ahead;
};

static enum err look_at(struct tracker *t, const struct tracker_trial *tr, const char *program, struct arch *arch,
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

    for (const struct tracker_trial *tr = l->open.first; tr && !e; tr = tr->next) {
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

static enum err grant(struct call *c, struct agent *a, const struct next_build *x)
{
    struct build *b = x->build;
    struct build_grant one = {.program = b->program.hex,
                              .arch = b->arch->name,
                              .trial = call_keep_id(c, 't', x->trial->id),
                              .attempt = b->attempts + 1};
    enum err e = c->t->o.ops->trial_get(c->t->o.store, x->trial->id, 0, 0, take_body, &one.body);

    call_list_add(&c->result.build_lease.builds, build_grant_write(&one), &c->ok);
    if (e || !c->ok)
        return e ? e : ERR_NOMEM;
    assert(!b->agent && b->attempts < MAX_ATTEMPTS);
    b->agent = a;
    b->deadline_ns = tracker_now_ns(c->t) + c->t->o.lease_ms * 1000000;
    a->n_leased++;
    return ERR_OK;
}

static enum err builder_of(struct call *c, const char *id, const char *nonce, struct agent **a)
{
    enum err e = agent_of(c, id, nonce, a);

    if (!e && !(*a)->is_builder)
        e = why_set(&c->why, ERR_INPUT, "agent %s registered as a device, not as a builder", (*a)->id);
    return e;
}

enum err op_build_lease(struct call *c)
{
    const struct build_lease_args *in = &c->args.build_lease;
    struct next_build x = {0};
    struct agent *a;
    int64_t n = 0;
    enum err e = builder_of(c, in->agent, in->session_nonce, &a);

    if (e)
        return e;
    do {
        e = a->drain ? ERR_OK : choose(c->t, a, &x);
        if (!e && x.build)
            e = grant(c, a, &x);
    } while (!e && x.build && ++n < in->max);
    c->park = !c->result.build_lease.builds && !c->last && !a->drain ? &c->t->build_waiters : NULL;
    c->result.build_lease.deadline_ms = c->t->o.lease_ms;
    c->result.build_lease.drain = a->drain;
    return e;
}

/* ---- renewals, answers, returns ---- */

static enum err find_build(struct call *c, const char *program, const char *name, struct build **out)
{
    struct arch *arch = table_get_text(&c->t->arches, name);

    return arch ? build_of(c->t, program, arch, out)
                : why_set(&c->why, ERR_NOT_FOUND, "nobody asked for code for '%.16s'", name);
}

/* A build of a list; NULL when nobody asked for it. */
static enum err read_build(struct call *c, const cJSON *item, struct build_ref *ref, struct build **out)
{
    enum err e = build_ref_read(item, ref, &c->why);

    *out = NULL;
    if (!e)
        e = find_build(c, ref->program, ref->arch, out);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err op_build_renew(struct call *c)
{
    const struct build_refs *in = &c->args.build_renew;
    struct build_renew_result *out = &c->result.build_renew;
    const cJSON *item;
    struct agent *a;
    enum err e = builder_of(c, in->agent, in->session_nonce, &a);

    if (e)
        return e;
    cJSON_ArrayForEach(item, in->builds)
    {
        struct build_ref ref;
        struct build *b;

        e = read_build(c, item, &ref, &b);
        if (e)
            return e;
        if (b && !b->agent && !b->answered) { /* granted before a restart, or lapsed and nobody took it */
            b->agent = a;
            a->n_leased++;
        }
        if (b && b->agent == a)
            b->deadline_ns = tracker_now_ns(c->t) + c->t->o.lease_ms * 1000000;
        else
            call_list_add(&out->lost, build_ref_write(&ref), &c->ok);
    }
    out->deadline_ms = c->t->o.lease_ms;
    out->drain = a->drain;
    return ERR_OK;
}

/* The names of the answer's blobs as one text; each has to be here. */
static enum err read_blobs(struct call *c, const cJSON *names, struct buf *out)
{
    const cJSON *name;

    cJSON_ArrayForEach(name, names)
    {
        const enum err e = vault_look(c->t, name->valuestring);

        if (e == ERR_NOT_FOUND)
            return why_set(&c->why, e, "there is no blob %.12s..: put it before the answer that names it",
                           name->valuestring);
        if (e)
            return e;
        buf_printf(out, "%s%s", out->len ? " " : "", name->valuestring);
    }
    return out->failed;
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
    wake_devices(c->t);
    return build_save(c->t, b, status, blobs, body);
}

/* Is a build answered by who has it leased? Only a builder's own key tells; others are everybody's. ERR_AUTH. */
static enum err check_builder(struct call *c, const struct build *b, bool *late)
{
    const bool tells = key_role_of(c->identity) == KEY_BUILDER;
    const char *name = tells ? strchr(c->identity, ':') + 1 : "";

    *late = tells && !b->agent;
    if (tells && b->agent && strcmp(b->agent->id, name) != 0)
        return why_set(&c->why, ERR_AUTH, "the build is leased to %s, this key is %s's", b->agent->id, name);
    return ERR_OK;
}

enum err op_build_result(struct call *c)
{
    const struct build_result_args *in = &c->args.build_result;
    struct buf blobs, body;
    struct build *b;
    bool late = false;
    enum err e = find_build(c, in->program, in->arch, &b);

    if (!e)
        e = check_builder(c, b, &late);
    buf_init(&blobs, CALL_MAX_BLOBS * (SHA256_HEX + 1) + 1);
    buf_init(&body, MAX_ANSWER);
    if (!e)
        e = read_blobs(c, in->blobs, &blobs);
    if (!e && (e = json_print(in->body, &body)) == ERR_LIMIT)
        why_set(&c->why, e, "'body' of an answer over %d bytes", MAX_ANSWER);
    if (!e) {
        c->result.build_result.accepted = !late && (!b->answered || (!b->good && b->agent));
        if (c->result.build_result.accepted)
            e = accept(c, b, in->status, buf_text(&blobs), body.data);
        else
            c->t->stats.duplicates++;
    }
    buf_fini(&blobs);
    buf_fini(&body);
    return e;
}

enum err op_build_release(struct call *c)
{
    const struct build_refs *in = &c->args.build_release;
    const cJSON *item;
    struct agent *a;
    enum err e = builder_of(c, in->agent, in->session_nonce, &a);

    if (e)
        return e;
    cJSON_ArrayForEach(item, in->builds)
    {
        struct build_ref ref;
        struct build *b;

        e = read_build(c, item, &ref, &b);
        if (!e && b && b->agent == a) {
            e = build_back(c->t, b, false);
            c->result.build_release.released++;
        }
        if (e)
            return e;
    }
    return ERR_OK;
}
