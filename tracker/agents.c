/* SPDX-License-Identifier: MIT */
/* agents.c - the devices: who is there, with what, and when it was heard of last. In memory only: agents register anew.
 */
#include "tracker/state.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENT_MS 90000 /* shown as lost, and no longer holds its key's fingerprint */
#define CUT_MS 3000     /* for an agent whose connection closed to come back by another */
#define FORGET_MS 3600000
#define LOOK_MS 1000 /* between two looks at all of them */
#define FORGET_AT_ONCE 64

void agent_free(struct agent *a)
{
    if (!a)
        return;
    free(a->device);
    free(a->cage);
    free(a->current);
    vitals_fini(&a->history);
    free(a);
}

static bool silent(const struct tracker *t, const struct agent *a)
{
    if (a->cut_ns && a->cut_ns < tracker_now_ns(t) - (int64_t)CUT_MS * 1000000)
        return true;
    return a->seen_ns < tracker_now_ns(t) - (int64_t)SILENT_MS * 1000000;
}

/* Whether it works is known by its leases before it tells. */
const char *agent_state(const struct tracker *t, const struct agent *a)
{
    if (a->gone || silent(t, a))
        return a->gone ? "gone" : "lost";
    if (!a->is_builder && (a->n_leased ? strcmp(a->state, "idle") == 0 : strcmp(a->state, "busy") == 0))
        return a->n_leased ? "busy" : "idle";
    return a->state;
}

static bool is_among(const uint32_t *lines, int n, uint32_t line)
{
    for (int i = 0; i < n; i++)
        if (lines[i] == line)
            return true;
    return false;
}

void agents_cut(struct tracker *t, const uint32_t *lines, int n)
{
    const int64_t now = tracker_now_ns(t);

    for (struct agent *a = n ? t->first_agent : NULL; a; a = a->later)
        if (a->line && is_among(lines, n, a->line)) {
            a->line = 0;
            a->cut_ns = now ? now : 1;
        }
}

static void seen(struct tracker *t, struct agent *a)
{
    a->seen_ns = tracker_now_ns(t);
    a->seen_ms = tracker_wall_ms(t);
    a->line = t->line;
    a->cut_ns = 0;
    for (int i = 0; i < a->n_arches; i++)
        a->arches[i]->seen_ns = a->seen_ns;
}

bool agents_build(const struct tracker *t, const char *key, const struct arch *arch)
{
    const struct agent *a;
    size_t at = 0;

    while ((a = table_next(&t->agents, &at)) != NULL)
        if (a->arch == arch && a->builds_itself && !a->gone && !silent(t, a) && strcmp(a->key, key) == 0)
            return true;
    return false;
}

enum err agent_of(struct call *c, const char *id, const char *nonce, struct agent **out)
{
    struct agent *a = table_get_text(&c->t->agents, id);

    if (!a || a->gone)
        return why_set(&c->why, ERR_NOT_FOUND, "agent %.64s is not registered", id);
    if (!c->again) /* another try of a parked request is no sign of life */
        seen(c->t, a);
    if (nonce && strcmp(nonce, a->nonce) != 0)
        return why_set(&c->why, ERR_EXISTS, "another process registered as agent %s", a->id);
    *out = a;
    return ERR_OK;
}

/* The JSON text of a tree, or NULL. */
static char *text_of(const cJSON *tree, size_t max_bytes)
{
    struct buf b;
    char *text;

    buf_init(&b, max_bytes);
    if (tree)
        json_print(tree, &b);
    text = b.failed ? NULL : buf_take(&b);
    buf_fini(&b);
    return text;
}

/* The tree of a text that may be NULL; NULL when there is none. */
static cJSON *tree_of(const char *text)
{
    cJSON *tree = NULL;

    if (text)
        json_parse(text, strlen(text), &tree, NULL);
    return tree;
}

static enum err check_fingerprint(struct call *c, const struct agent_register_args *r)
{
    size_t at = 0;
    const struct agent *a;

    while (!r->mix && (a = table_next(&c->t->agents, &at)) != NULL)
        if (strcmp(a->fingerprint, r->fingerprint) != 0 && strcmp(a->key, r->key) == 0 && !a->gone &&
            !silent(c->t, a) && strcmp(a->id, r->agent) != 0)
            return why_set(&c->why, ERR_EXISTS,
                           "conflict: key %s holds devices of fingerprint %.12s.. (agent %s), this one has %.12s..: "
                           "choose another key, or --mix",
                           r->key, a->fingerprint, a->id, r->fingerprint);
    return ERR_OK;
}

static enum err find_or_make(struct call *c, const char *id, struct agent **out)
{
    struct agent *a = table_get_text(&c->t->agents, id);

    if (!a) {
        if (c->t->agents.n >= MAX_AGENTS)
            return why_set(&c->why, ERR_LIMIT, "over %d agents", MAX_AGENTS);
        a = calloc(1, sizeof *a);
        if (!a || table_put_text(&c->t->agents, id, a) != ERR_OK) {
            free(a);
            return ERR_NOMEM;
        }
        text_copy(a->id, sizeof a->id, id);
        a->serial = ++c->t->n_serials;
        a->previous = c->t->last_agent;
        *(a->previous ? &a->previous->later : &c->t->first_agent) = a;
        c->t->last_agent = a;
    }
    *out = a;
    return ERR_OK;
}

/* A new nonce is a new process: what the old one had leased goes back. */
static enum err begin_session(struct call *c, struct agent *a, const char *nonce, const char *version)
{
    enum err e = ERR_OK;

    if (strcmp(a->nonce, nonce) != 0)
        e = trials_of_agent_back(c->t, a, true);
    if (!e && strcmp(a->nonce, nonce) != 0)
        e = builds_of_agent_back(c->t, a, true);
    a->told = 0;
    text_copy(a->nonce, sizeof a->nonce, nonce);
    text_copy(a->version, sizeof a->version, version);
    text_copy(a->state, sizeof a->state, "idle");
    a->gone = a->drain = a->is_builder = false;
    a->temperature = a->canary_ns = NAN;
    a->arch = NULL;
    a->n_arches = 0;
    return e;
}

/* What the device wants built is what its key wants from now on. */
static enum err take_arch(struct tracker *t, struct agent *a, const struct agent_register_args *r)
{
    struct slug *s;

    a->builds_itself = r->builds;
    a->capacity = r->capacity;
    if (!r->arch)
        return ERR_OK;
    s = slug_of(t, a->key);
    a->arch = s ? arch_of(t, r->arch) : NULL;
    if (!a->arch)
        return ERR_NOMEM;
    slug_want(s, a);
    wake(t, &t->build_waiters);
    return ERR_OK;
}

enum err op_agent_register(struct call *c)
{
    const struct agent_register_args *in = &c->args.agent_register;
    struct agent *a = NULL;
    enum err e = tracker_check_key(c, in->key);

    if (!e)
        e = check_fingerprint(c, in);
    if (!e)
        e = find_or_make(c, in->agent, &a);
    if (!e)
        e = begin_session(c, a, in->nonce, in->version);
    if (e)
        return e;
    text_copy(a->key, sizeof a->key, in->key);
    text_copy(a->fingerprint, sizeof a->fingerprint, in->fingerprint);
    free(a->device);
    a->device = text_of(in->device, 65536);
    e = take_arch(c->t, a, in);
    seen(c->t, a);
    c->result.agent_register.lease_ms = c->t->o.lease_ms;
    c->result.agent_register.builds = true;
    return e;
}

static enum err take_arches(struct call *c, struct agent *a, const cJSON *names)
{
    const cJSON *name;

    cJSON_ArrayForEach(name, names)
    {
        struct arch *arch = arch_of(c->t, name->valuestring);

        if (!arch)
            return ERR_NOMEM;
        assert(a->n_arches < CALL_MAX_ARCHES);
        a->arches[a->n_arches++] = arch;
    }
    return ERR_OK;
}

enum err op_builder_register(struct call *c)
{
    const struct builder_register_args *in = &c->args.builder_register;
    struct agent *a = NULL;
    enum err e = find_or_make(c, in->agent, &a);

    if (!e)
        e = begin_session(c, a, in->nonce, in->version);
    if (!e)
        e = take_arches(c, a, in->arches);
    if (e)
        return e;
    a->is_builder = true;
    a->key[0] = a->fingerprint[0] = '\0';
    text_copy(a->compiler, sizeof a->compiler, in->compiler);
    free(a->cage);
    a->cage = in->cage[0] ? strdup(in->cage) : NULL;
    seen(c->t, a);
    c->result.builder_register.lease_ms = c->t->o.lease_ms;
    return ERR_OK;
}

void agent_feels(struct tracker *t, struct agent *a, double temperature, double load)
{
    const struct vitals_point point = {.ts_ms = tracker_wall_ms(t),
                                       .temperature = (float)temperature,
                                       .load = (float)load,
                                       .canary_ns = (float)a->canary_ns,
                                       .done = (uint32_t)a->done,
                                       .failed = (uint32_t)a->failed};

    a->temperature = temperature;
    a->load = load;
    vitals_add(&a->history, &point);
}

enum err op_agent_beat(struct call *c)
{
    const struct agent_beat_args *in = &c->args.agent_beat;
    struct agent *a;
    enum err e = agent_of(c, in->agent, NULL, &a);

    if (e)
        return e;
    if (!isnan(in->canary_ns))
        a->canary_ns = in->canary_ns;
    if (in->state[0])
        text_copy(a->state, sizeof a->state, in->state);
    free(a->current);
    a->current = text_of(in->current, 4096);
    agent_feels(c->t, a, in->temperature, in->load);
    c->result.agent_beat.drain = a->drain;
    return ERR_OK;
}

enum err op_agent_bye(struct call *c)
{
    struct agent *a;
    enum err e = agent_of(c, c->args.agent_bye.agent, c->args.agent_bye.session_nonce, &a);

    if (e) /* what it had went when another registered under its name */
        return e == ERR_NOT_FOUND || e == ERR_EXISTS ? ERR_OK : e;
    a->gone = true;
    for (int i = 0; i < a->n_arches; i++)
        arch_recount(c->t, a->arches[i]);
    e = trials_of_agent_back(c->t, a, false);
    if (!e)
        e = builds_of_agent_back(c->t, a, false);
    assert(e || a->n_leased == 0);
    return e;
}

/* ---- what operators say ---- */

static const char *const mode_names[] = {"serve", "drain", "reserve"};

void agent_mode_load(const char *agent, enum mode mode, const char *user, void *tracker)
{
    struct tracker *t = tracker;
    struct agent_mode *m = table_get_text(&t->modes, agent), *fresh = NULL;

    if (mode == MODE_SERVE) {
        free(table_remove_text(&t->modes, agent));
        return;
    }
    if (!m)
        m = fresh = calloc(1, sizeof *m);
    if (!m || (fresh && table_put_text(&t->modes, agent, fresh) != ERR_OK)) {
        free(fresh);
        t->is_starved = true;
        return;
    }
    m->mode = mode;
    text_copy(m->user, sizeof m->user, user);
}

bool agent_serves(const struct tracker *t, const struct agent *a, const char *user)
{
    const struct agent_mode *m = table_get_text(&t->modes, a->id);

    return !m || (m->mode == MODE_RESERVE && strcmp(m->user, user) == 0);
}

enum err op_agent_mode(struct call *c)
{
    const struct agent_mode_args *in = &c->args.agent_mode;
    enum mode mode = MODE_SERVE;

    while (strcmp(mode_names[mode], in->mode) != 0)
        mode++;
    if (mode == MODE_SERVE ? !table_get_text(&c->t->modes, in->agent) && !table_get_text(&c->t->agents, in->agent)
                           : !table_get_text(&c->t->modes, in->agent) && c->t->modes.n >= MAX_AGENTS)
        return why_set(&c->why, mode == MODE_SERVE ? ERR_NOT_FOUND : ERR_LIMIT,
                       mode == MODE_SERVE ? "there is no agent %s" : "%s: too many agents are drained or reserved",
                       in->agent);
    agent_mode_load(in->agent, mode, in->user, c->t);
    if (c->t->is_starved)
        return ERR_NOMEM;
    wake_devices(c->t);
    c->result.agent_mode.absent = !table_get_text(&c->t->agents, in->agent);
    return c->t->o.ops->mode_put(c->t->o.store, in->agent, mode, in->user);
}

/* Does a device of that key serve that user? Else `out` says what keeps it. */
static bool key_serves(const struct tracker *t, const char *key, const char *user, char *out, size_t n_out)
{
    const struct agent *a, *hindered = NULL;
    size_t at = 0;
    int64_t n = 0;

    while ((a = table_next(&t->agents, &at)) != NULL) {
        if (a->is_builder || a->gone || silent(t, a) || strcmp(a->key, key) != 0)
            continue;
        n++;
        if (!agent_serves(t, a, user))
            continue;
        if (strcmp(a->state, AGENT_HINDERED) != 0)
            return true;
        hindered = a;
    }
    if (hindered)
        snprintf(out, n_out, "key %s: the disk of agent %s is full or cannot be written", key, hindered->id);
    else if (n)
        snprintf(out, n_out, "every device of key %s is drained or reserved for another user", key);
    else
        snprintf(out, n_out, "no device of key %s is there: the job goes on when one comes", key);
    return false;
}

void agents_waits(const struct tracker *t, const struct tracker_job *j, char *out, size_t n_out)
{
    const struct slug *s;
    size_t at = 0;
    bool serves = j->state != JOB_OPEN || !j->key[0] || key_serves(t, j->key, j->user, out, n_out);

    while (j->state == JOB_OPEN && serves && (s = table_next(&t->slugs, &at)) != NULL)
        for (const struct lane *l = s->lanes; l && serves; l = l->next)
            serves = l->job != j || !l->open.first || key_serves(t, s->key, j->user, out, n_out);
    if (serves)
        out[0] = '\0';
}

/* ---- lists ---- */

cJSON *agent_entry_of(struct call *c, const struct agent *a, bool device)
{
    struct peer_entry entry = {.agent = a->id,
                               .version = a->version,
                               .state = agent_state(c->t, a),
                               .last_seen_ms = a->seen_ms,
                               .leased = a->n_leased,
                               .done = a->done,
                               .failed = a->failed,
                               .temperature = a->temperature,
                               .load = a->load,
                               .canary_ns = a->canary_ns,
                               .arch = a->arch ? a->arch->name : NULL,
                               .builds = a->builds_itself,
                               .capacity = a->capacity,
                               .current = tree_of(a->current)};

    const struct agent_mode *m = table_get_text(&c->t->modes, a->id);

    entry.mode = m ? mode_names[m->mode] : NULL;
    entry.reserved = m && m->mode == MODE_RESERVE ? m->user : NULL;
    if (a->is_builder) {
        for (int i = 0; i < a->n_arches; i++)
            call_list_add_text(&entry.arches, a->arches[i]->name, &c->ok);
        entry.compiler = a->compiler;
        entry.cage = a->cage ? a->cage : "";
    } else {
        entry.key = a->key;
        entry.fingerprint = a->fingerprint;
        entry.device = device ? tree_of(a->device) : NULL;
        if (device && !entry.device)
            entry.device = cJSON_CreateNull();
    }
    return peer_entry_write(&entry);
}

enum err op_devices(struct call *c)
{
    const struct devices_args *in = &c->args.devices;
    struct devices_result *out = &c->result.devices;
    size_t n_bytes = 0;
    int64_t n = 0;

    out->builders = cJSON_CreateArray(); /* there also when there are none */
    for (const struct agent *a = c->t->first_agent; a; a = a->later) {
        if (a->gone || a->serial <= in->after || (in->key[0] && strcmp(in->key, a->key) != 0))
            continue;
        if (n_bytes > REPLY_BYTES || (in->max && n++ == in->max)) {
            out->next = a->serial - 1;
            break;
        }
        n_bytes += 900 + (a->device ? strlen(a->device) : 0) + (a->current ? strlen(a->current) : 0);
        call_list_add(a->is_builder ? &out->builders : &out->devices, agent_entry_of(c, a, true), &c->ok);
    }
    return ERR_OK;
}

static void unlink_agent(struct tracker *t, const struct agent *a)
{
    *(a->previous ? &a->previous->later : &t->first_agent) = a->later;
    *(a->later ? &a->later->previous : &t->last_agent) = a->previous;
}

void agents_tick(struct tracker *t)
{
    const int64_t now = tracker_now_ns(t), before = now - (int64_t)FORGET_MS * 1000000;
    struct agent *a, *old[FORGET_AT_ONCE];
    size_t at = 0;
    int n = 0;

    if (t->agents_ns && now < t->agents_ns + (int64_t)LOOK_MS * 1000000)
        return;
    t->agents_ns = now ? now : 1;
    while (n < FORGET_AT_ONCE && (a = table_next(&t->agents, &at)) != NULL) {
        assert(a->n_leased >= 0 && a->seen_ns <= now);
        if (a->seen_ns < before && a->n_leased == 0)
            old[n++] = a;
    }
    while (n-- > 0) {
        table_remove_text(&t->agents, old[n]->id);
        unlink_agent(t, old[n]);
        agent_free(old[n]);
    }
}
