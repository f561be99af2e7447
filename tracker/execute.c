/* SPDX-License-Identifier: MIT */
#include "tracker/execute.h"

#include "tracker/access.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MAX_POLL_JSON 8192  /* a parked request keeps its bytes, and is read again at each try: it has to be small */
#define MAX_READ_AHEAD 4096 /* likewise while it waits for its turn */
#define POLL_STEP_MS 500
#define MIN_STEPPED_MS 10000

void request_fini(struct request *r)
{
    message_fini(&r->message);
}

static cJSON *reply_json(struct call *c, const char *id, enum err e)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    json_add_bool(o, "ok", e == ERR_OK, &ok);
    json_add_text(o, "id", id, &ok);
    if (e) {
        json_add_text(o, "err", err_name(e), &ok);
        json_add_text(o, "why", c->why.text[0] ? c->why.text : err_words(e), &ok);
        if (c->hello)
            json_add_bool(o, "hello", true, &ok);
    } else {
        json_add_item(o, "result", call_write(call_table[c->name].result, &c->result), &ok);
        memset(&c->result, 0, sizeof c->result);
    }
    if (ok)
        return o;
    cJSON_Delete(o);
    return NULL;
}

static bool writes(const struct request *r)
{
    return r->name < N_CALLS && op_table[r->name].writes;
}

/* Encodes the reply and, where the operation changed something, remembers its JSON. */
static void encode_reply(struct tracker *t, struct call *c, const struct request *r, enum err e, struct buf *reply)
{
    cJSON *json = reply_json(c, r->id, e);
    const struct key *key = r->nonce[0] && t->o.key ? &r->key : NULL;

    assert(!reply->len);
    if (json && message_encode(json, e ? NULL : &c->out, key, r->nonce, reply) == ERR_LIMIT) {
        cJSON_Delete(json);
        buf_clear(reply);
        reply->failed = ERR_OK;
        why_set(&c->why, ERR_LIMIT, "the reply would have over %zu bytes: ask for less", MESSAGE_MAX_BYTES);
        json = reply_json(c, r->id, ERR_LIMIT);
        if (json)
            message_encode(json, NULL, key, r->nonce, reply);
    }
    cJSON_Delete(json);
    assert(!writes(r) || !c->out.n); /* what is kept has no blobs */
    if (!reply->failed && reply->len && writes(r) && r->id[0] && !c->hello && e != ERR_BUSY)
        answered_add(t, r->id, r->name, r->key.identity, reply->data + MESSAGE_HEADER_BYTES,
                     message_json_bytes(reply->data));
    t->stats.refused += e != ERR_OK;
}

/* Answers a repeated request as before. */
static void encode_again(struct tracker *t, const struct answered *a, const struct request *r, struct buf *reply)
{
    cJSON *json;

    if (json_parse(a->reply, a->n_reply, &json, NULL) != ERR_OK)
        return;
    message_encode(json, NULL, r->nonce[0] && t->o.key ? &r->key : NULL, r->nonce, reply);
    cJSON_Delete(json);
}

void call_begin(struct call *c, struct tracker *t)
{
    memset(c, 0, sizeof *c); /* unions whole */
    c->t = t;
    c->id = "";
    c->identity = "";
    c->name = N_CALLS;
    c->ok = true;
    blobs_init(&c->out, MESSAGE_ATTACH_BYTES);
}

static void call_init(struct call *c, struct tracker *t, const struct request *r)
{
    call_begin(c, t);
    c->id = r->id;
    c->name = r->name;
    c->message = &r->message;
    c->identity = r->key.identity;
}

void call_end(struct call *c)
{
    if (c->name < N_CALLS)
        call_drop(call_table[c->name].result, &c->result);
    cJSON_Delete(c->kept);
    blobs_fini(&c->out);
}

size_t json_size(const char *text)
{
    size_t n = 0;

    for (; text && *text; text++)
        n += (unsigned char)*text < ' ' ? 6 : *text == '"' || *text == '\\' ? 2 : 1;
    return n;
}

const char *call_keep(struct call *c, const char *text)
{
    cJSON *copy = cJSON_CreateString(text);

    call_list_add(&c->kept, copy, &c->ok);
    return c->ok ? copy->valuestring : NULL;
}

const char *call_keep_id(struct call *c, char kind, int64_t id)
{
    char text[24];

    snprintf(text, sizeof text, "%c%lld", kind, (long long)id);
    return call_keep(c, text);
}

enum err call_keep_waits(struct call *c, const struct tracker_job *j, const char **out)
{
    char words[256];
    enum err e = builds_waits(c->t, j, words, sizeof words);

    if (!e && !words[0] && j)
        agents_waits(c->t, j, words, sizeof words);
    if (!e && words[0])
        *out = call_keep(c, words);
    return e;
}

/* Finds id and name of a decoded request. */
static enum err read_request(struct request *r, struct why *why)
{
    const char *id, *name = "";
    enum err e = json_get_text(r->message.json, "id", &id, why);

    if (e || strlen(id) != REQUEST_ID_HEX)
        return e ? e : why_set(why, ERR_INPUT, "'id' must have %d hex digits", REQUEST_ID_HEX);
    strcpy(r->id, id);
    e = json_get_text(r->message.json, "op", &name, why);
    if (e)
        return e;
    r->name = call_find(name);
    return r->name < N_CALLS ? ERR_OK : why_set(why, ERR_UNSUPPORTED, "'%.40s' is no operation of this tracker", name);
}

enum err call_read_args(struct call *c)
{
    char what[64];

    snprintf(what, sizeof what, "call %s", call_table[c->name].name);
    return call_read(call_table[c->name].args, what, cJSON_GetObjectItemCaseSensitive(c->message->json, "args"),
                     &c->args, &c->why);
}

static enum err run(struct call *c)
{
    enum err e = op_table[c->name].run(c);

    return e || c->ok ? e : ERR_NOMEM;
}

/* Long ones end together, up to POLL_STEP_MS before their time: their replies, and the polls that follow these, are one
 * burst, for which each thread on their way wakes once. */
static int64_t end_of_poll(int64_t now_ns, int64_t wait_ms)
{
    const int64_t end_ns = now_ns + wait_ms * 1000000;

    return wait_ms < MIN_STEPPED_MS ? end_ns : end_ns - end_ns % (POLL_STEP_MS * INT64_C(1000000));
}

static enum err start(struct tracker *t, struct call *c, struct request *r)
{
    enum err e = call_read_args(c);
    int64_t wait_ms = e ? 0 : call_wait_ms(c->name, &c->args);

    if (!e && op_table[c->name].wake && r->n_bytes > MAX_POLL_JSON)
        e = why_set(&c->why, ERR_LIMIT, "a request that waits may have %d bytes", MAX_POLL_JSON);
    if (wait_ms > MAX_WAIT_MS)
        wait_ms = MAX_WAIT_MS;
    r->deadline_ns = end_of_poll(tracker_now_ns(t), wait_ms);
    c->last = wait_ms == 0;
    if (!e)
        e = access_check(c);
    return e ? e : run(c);
}

/* Errors after which the state in memory may not be what the store has. */
static bool is_fatal(enum call_name name, enum err e)
{
    return name != N_CALLS && name != CALL_BACKUP && (e == ERR_IO || e == ERR_NOMEM);
}

static enum outcome_of_request finish(struct tracker *t, struct call *c, struct request *r, enum err e,
                                      struct buf *reply)
{
    if (!e && c->park) {
        r->waits_with = c->park;
        call_end(c);
        request_fini(r);
        return REQUEST_PARKED;
    }
    if (is_fatal(r->name, e)) {
        call_end(c);
        request_fini(r);
        return REQUEST_STORE_FAILED;
    }
    if (e == ERR_AUTH || (e == ERR_STALE && r->name == CALL_TRIAL_RESULT))
        access_audit(t, r->name < N_CALLS ? call_table[r->name].name : "a message", c->identity, c->why.text);
    encode_reply(t, c, r, e, reply);
    call_end(c);
    request_fini(r);
    return REQUEST_ANSWERED;
}

void request_read(struct request *r, const void *bytes, size_t n)
{
    if (n <= MAX_READ_AHEAD)
        message_decode(bytes, n, &r->message, NULL);
}

enum err call_here(struct tracker *t, enum call_name name, const union call_args *args, cJSON **result,
                   struct buf *attached, struct why *why)
{
    struct call c;
    enum err e;

    assert(!op_table[name].writes);
    call_begin(&c, t);
    c.name = name;
    c.args = *args;
    c.last = true;
    e = run(&c);
    *result = e ? NULL : call_write(call_table[name].result, &c.result);
    if (!e)
        memset(&c.result, 0, sizeof c.result);
    for (size_t i = 0; !e && attached && i < c.out.n; i++)
        e = buf_append(attached, c.out.items[i].data, c.out.items[i].n_bytes);
    *why = c.why;
    call_end(&c);
    return e || *result ? e : ERR_NOMEM;
}

enum outcome_of_request request_start(struct tracker *t, const void *bytes, size_t n, struct request *r,
                                      struct buf *reply)
{
    const struct tracker_session *proved = NULL;
    const struct answered *before;
    struct why why = {""};
    bool hello = false;
    struct call c;
    enum err e;

    *r = (struct request){.bytes = bytes, .n_bytes = n, .message = r->message, .name = N_CALLS};
    t->stats.requests++;
    e = !r->message.json && n > MAX_READ_AHEAD && t->o.key ? session_ahead(t, bytes, n, &proved, &hello, &why) : ERR_OK;
    if (!e && !r->message.json)
        e = message_decode(bytes, n, &r->message, &why);
    if (!e)
        e = read_request(r, &why);
    call_init(&c, t, r);
    c.why = why;
    c.proved = proved;
    c.hello = hello;
    if (!e) {
        e = session_check(&c, bytes, n);
        r->shown = !e;
        if (c.nonce)
            strcpy(r->nonce, c.nonce);
        r->key = c.key; /* c.identity is its */
        r->n_revocations = t->n_revocations;
    }
    if (e) {
        r->name = N_CALLS;
        return finish(t, &c, r, e, reply);
    }
    before = writes(r) ? answered_find(t, r->id, r->name, r->key.identity) : NULL;
    if (before) {
        encode_again(t, before, r, reply);
        call_end(&c);
        request_fini(r);
        return REQUEST_ANSWERED;
    }
    return finish(t, &c, r, start(t, &c, r), reply);
}

enum outcome_of_request request_again(struct tracker *t, struct request *r, bool last, struct buf *reply)
{
    const struct answered *before = writes(r) ? answered_find(t, r->id, r->name, r->key.identity) : NULL;
    struct call c;
    enum err e;

    assert(op_table[r->name].wake && r->id[0]);
    if (before) { /* its client came again by another connection, and was served there */
        encode_again(t, before, r, reply);
        request_fini(r);
        return REQUEST_ANSWERED;
    }
    call_init(&c, t, r);
    c.last = last;
    c.again = true;
    e = message_decode(r->bytes, r->n_bytes, &r->message, &c.why);
    if (!e)
        e = call_read_args(&c);
    if (!e && r->n_revocations != t->n_revocations)
        e = session_check_key(&c, c.identity);
    r->n_revocations = t->n_revocations;
    if (!e)
        e = run(&c);
    return finish(t, &c, r, e, reply);
}
