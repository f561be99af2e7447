/* SPDX-License-Identifier: MIT */
/* agents.c - the devices: who is there, with what, and when it was heard of last. In memory only: agents register anew.
 */
#include "tracker/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SILENT_MS 90000 /* shown as lost, and no longer holds its key's fingerprint */
#define FORGET_MS 3600000

void agent_free(struct agent *a)
{
    if (!a)
        return;
    free(a->device);
    free(a->current);
    free(a);
}

static bool silent(const struct tracker *t, const struct agent *a)
{
    return a->seen_ns < tracker_now_ns(t) - (int64_t)SILENT_MS * 1000000;
}

const char *agent_state(const struct tracker *t, const struct agent *a)
{
    return a->gone ? "gone" : silent(t, a) ? "lost" : a->state;
}

static void seen(struct tracker *t, struct agent *a)
{
    a->seen_ns = tracker_now_ns(t);
    a->seen_ms = tracker_wall_ms(t);
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

enum err agent_of(struct call *c, struct agent **out)
{
    const char *id;
    struct agent *a;
    enum err e = json_get_text(c->args, "agent", &id, &c->why);

    if (e)
        return e;
    a = table_get_text(&c->t->agents, id);
    if (!a || a->gone)
        return why_set(&c->why, ERR_NOT_FOUND, "agent %.64s is not registered", id);
    if (!c->again) /* another try of a parked request is no sign of life */
        seen(c->t, a);
    *out = a;
    return ERR_OK;
}

/* The JSON text of a member, or NULL. */
static char *text_of(const cJSON *object, const char *name, size_t max_bytes)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    struct buf b;
    char *text;

    buf_init(&b, max_bytes);
    if (item)
        json_print(item, &b);
    text = b.failed ? NULL : buf_take(&b);
    buf_fini(&b);
    return text;
}

static enum err add_text(cJSON *object, const char *name, const char *text)
{
    cJSON *item = NULL;
    bool ok = true;

    if (!text || json_parse(text, strlen(text), &item, NULL) != ERR_OK)
        item = cJSON_CreateNull();
    json_add_item(object, name, item, &ok);
    return ok ? ERR_OK : ERR_NOMEM;
}

static enum err check_arch(struct call *c, const char *name)
{
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

    return n > 0 && n < ARCH_BYTES && !name[n]
               ? ERR_OK
               : why_set(&c->why, ERR_INPUT,
                         "'%.40s' is no architecture: expected 1 to %d of a-z, 0-9 and _, e.g. sm_61", name,
                         ARCH_BYTES - 1);
}

struct registration {
    const char *id, *nonce, *key, *fingerprint, *version, *arch;
    bool mix, builds;
};

static enum err read_registration(struct call *c, struct registration *r)
{
    enum err e = json_get_text(c->args, "agent", &r->id, &c->why);

    if (!e)
        e = json_get_text(c->args, "nonce", &r->nonce, &c->why);
    if (!e)
        e = json_get_text(c->args, "key", &r->key, &c->why);
    if (!e)
        e = json_get_text(c->args, "fingerprint", &r->fingerprint, &c->why);
    if (!e)
        e = json_text_or(c->args, "version", "", &r->version, &c->why);
    if (!e)
        e = json_bool_or(c->args, "mix", false, &r->mix, &c->why);
    if (!e)
        e = json_text_or(c->args, "arch", "", &r->arch, &c->why);
    if (!e)
        e = json_bool_or(c->args, "builds", true, &r->builds, &c->why);
    if (!e && r->arch[0])
        e = check_arch(c, r->arch);
    if (e)
        return e;
    if (!name_is_sane(r->id) || !name_is_sane(r->key))
        return why_set(&c->why, ERR_INPUT, "'agent' and 'key' must be 1 to 64 of letters, digits and . _ : @ + -");
    if (!sha256_is_hex(r->fingerprint))
        return why_set(&c->why, ERR_INPUT, "'fingerprint' must be a SHA-256 in hex");
    return ERR_OK;
}

static enum err check_fingerprint(struct call *c, const struct registration *r)
{
    size_t at = 0;
    const struct agent *a;

    while (!r->mix && (a = table_next(&c->t->agents, &at)) != NULL)
        if (!a->gone && !silent(c->t, a) && strcmp(a->id, r->id) != 0 && strcmp(a->key, r->key) == 0 &&
            strcmp(a->fingerprint, r->fingerprint) != 0)
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
    text_copy(a->nonce, sizeof a->nonce, nonce);
    text_copy(a->version, sizeof a->version, version);
    text_copy(a->state, sizeof a->state, "idle");
    a->gone = a->drain = a->is_builder = false;
    a->arch = NULL;
    a->n_arches = 0;
    return e;
}

/* What the device wants built is what its key wants from now on. */
static enum err take_arch(struct tracker *t, struct agent *a, const struct registration *r)
{
    struct slug *s;

    a->builds_itself = r->builds;
    if (!r->arch[0])
        return ERR_OK;
    s = slug_of(t, a->key);
    a->arch = s ? arch_of(t, r->arch) : NULL;
    if (!a->arch)
        return ERR_NOMEM;
    slug_want(s, a);
    t->woken |= WAKE_BUILDS;
    return ERR_OK;
}

enum err op_agent_register(struct call *c)
{
    struct registration r;
    struct agent *a = NULL;
    bool ok = true;
    enum err e = read_registration(c, &r);

    if (!e)
        e = check_fingerprint(c, &r);
    if (!e)
        e = find_or_make(c, r.id, &a);
    if (!e)
        e = begin_session(c, a, r.nonce, r.version);
    if (e)
        return e;
    text_copy(a->key, sizeof a->key, r.key);
    text_copy(a->fingerprint, sizeof a->fingerprint, r.fingerprint);
    free(a->device);
    a->device = text_of(c->args, "device", 65536);
    e = take_arch(c->t, a, &r);
    seen(c->t, a);
    json_add_i64(c->result, "lease_ms", c->t->o.lease_ms, &ok);
    json_add_bool(c->result, "builds", true, &ok);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

static enum err take_arches(struct call *c, struct agent *a, const cJSON *names)
{
    const cJSON *name;

    cJSON_ArrayForEach(name, names)
    {
        struct arch *arch = arch_of(c->t, name->valuestring);

        if (!arch)
            return ERR_NOMEM;
        assert(a->n_arches < MAX_ARCHES);
        a->arches[a->n_arches++] = arch;
    }
    return ERR_OK;
}

static enum err check_arches(struct call *c, const cJSON *names)
{
    const cJSON *name;
    const int n = cJSON_GetArraySize(names);

    if (n < 1 || n > MAX_ARCHES)
        return why_set(&c->why, ERR_INPUT, "'arches' has %d names: expected 1 to %d", n, MAX_ARCHES);
    cJSON_ArrayForEach(name, names)
    {
        const enum err e = check_arch(c, cJSON_IsString(name) ? name->valuestring : "");

        if (e)
            return e;
    }
    return ERR_OK;
}

enum err op_builder_register(struct call *c)
{
    const char *id, *nonce, *version, *compiler;
    const cJSON *arches;
    struct agent *a = NULL;
    bool ok = true;
    enum err e = json_get_text(c->args, "agent", &id, &c->why);

    if (!e)
        e = json_get_text(c->args, "nonce", &nonce, &c->why);
    if (!e)
        e = json_text_or(c->args, "version", "", &version, &c->why);
    if (!e)
        e = json_text_or(c->args, "compiler", "", &compiler, &c->why);
    if (!e)
        e = json_get_array(c->args, "arches", &arches, &c->why);
    if (!e && !name_is_sane(id))
        e = why_set(&c->why, ERR_INPUT, "'agent' must be 1 to 64 of letters, digits and . _ : @ + -");
    if (!e)
        e = check_arches(c, arches);
    if (!e)
        e = find_or_make(c, id, &a);
    if (!e)
        e = begin_session(c, a, nonce, version);
    if (!e)
        e = take_arches(c, a, arches);
    if (e)
        return e;
    a->is_builder = true;
    a->key[0] = a->fingerprint[0] = '\0';
    text_copy(a->compiler, sizeof a->compiler, compiler);
    seen(c->t, a);
    json_add_i64(c->result, "lease_ms", c->t->o.lease_ms, &ok);
    return ok ? ERR_OK : ERR_NOMEM;
}

enum err op_agent_beat(struct call *c)
{
    const char *state;
    struct agent *a;
    bool ok = true;
    enum err e = agent_of(c, &a);

    if (!e)
        e = json_text_or(c->args, "state", "", &state, &c->why);
    if (!e)
        e = json_real_or(c->args, "temperature", 0, &a->temperature, &c->why);
    if (!e)
        e = json_real_or(c->args, "load", 0, &a->load, &c->why);
    if (e)
        return e;
    if (state[0])
        text_copy(a->state, sizeof a->state, state);
    free(a->current);
    a->current = text_of(c->args, "current", 4096);
    json_add_bool(c->result, "drain", a->drain, &ok);
    return ok ? ERR_OK : ERR_NOMEM;
}

enum err op_agent_bye(struct call *c)
{
    struct agent *a;
    enum err e = agent_of(c, &a);

    if (e)
        return e == ERR_NOT_FOUND ? ERR_OK : e;
    a->gone = true;
    for (int i = 0; i < a->n_arches; i++)
        arch_recount(c->t, a->arches[i]);
    e = trials_of_agent_back(c->t, a, false);
    if (!e)
        e = builds_of_agent_back(c->t, a, false);
    assert(e || a->n_leased == 0);
    return e;
}

static void add_arches(const struct agent *a, cJSON *o, bool *ok)
{
    cJSON *list = cJSON_CreateArray();

    for (int i = 0; list && i < a->n_arches; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(a->arches[i]->name));
    json_add_item(o, "arches", list, ok);
    json_add_text(o, "compiler", a->compiler, ok);
}

static enum err add_agent(const struct tracker *t, const struct agent *a, cJSON *list)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    if (!a->is_builder)
        json_add_text(o, "key", a->key, &ok);
    json_add_text(o, "agent", a->id, &ok);
    if (!a->is_builder)
        json_add_text(o, "fingerprint", a->fingerprint, &ok);
    json_add_text(o, "version", a->version, &ok);
    json_add_text(o, "state", agent_state(t, a), &ok);
    json_add_i64(o, "last_seen_ms", a->seen_ms, &ok);
    json_add_i64(o, "leased", a->n_leased, &ok);
    json_add_i64(o, "done", a->done, &ok);
    json_add_i64(o, "failed", a->failed, &ok);
    json_add_real(o, "temperature", a->temperature, &ok);
    json_add_real(o, "load", a->load, &ok);
    if (a->is_builder)
        add_arches(a, o, &ok);
    else if (add_text(o, "device", a->device) != ERR_OK)
        ok = false;
    if (a->arch) {
        json_add_text(o, "arch", a->arch->name, &ok);
        json_add_bool(o, "builds", a->builds_itself, &ok);
    }
    if (add_text(o, "current", a->current) != ERR_OK)
        ok = false;
    cJSON_AddItemToArray(list, o);
    return ok ? ERR_OK : ERR_NOMEM;
}

enum err op_devices(struct call *c)
{
    cJSON *devices = cJSON_AddArrayToObject(c->result, "devices");
    cJSON *builders = cJSON_AddArrayToObject(c->result, "builders");
    const struct agent *a;
    size_t at = 0;
    enum err e = devices && builders ? ERR_OK : ERR_NOMEM;

    while (!e && (a = table_next(&c->t->agents, &at)) != NULL)
        if (!a->gone)
            e = add_agent(c->t, a, a->is_builder ? builders : devices);
    return e;
}

void agents_tick(struct tracker *t)
{
    const int64_t before = tracker_now_ns(t) - (int64_t)FORGET_MS * 1000000;
    struct agent *a;
    size_t at = 0;

    while ((a = table_next(&t->agents, &at)) != NULL) {
        assert(a->n_leased >= 0 && a->seen_ns <= tracker_now_ns(t));
        if (a->seen_ns < before && a->n_leased == 0) {
            table_remove_text(&t->agents, a->id);
            agent_free(a);
            return; /* the table changed: the next one at the next tick */
        }
    }
}
