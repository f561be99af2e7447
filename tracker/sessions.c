/* SPDX-License-Identifier: MIT */
/* sessions.c - hello, authentication, replay window, and the table of answered requests. */
#include "core/json.h"
#include "tracker/revoked.h"
#include "tracker/state.h"

#include "core/err.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRONT_BYTES 512

/* ---- answered requests ---- */

static void write_whose(char out[ANSWERED_KEY_BYTES], const char *id, enum call_name call, const char *identity)
{
    snprintf(out, ANSWERED_KEY_BYTES, "%s %d %s", id, (int)call, identity);
}

const struct answered *answered_find(const struct tracker *t, const char *id, enum call_name call, const char *identity)
{
    char whose[ANSWERED_KEY_BYTES];

    write_whose(whose, id, call, identity);
    return table_get_text(&t->answered, whose);
}

static void forget_oldest(struct tracker *t)
{
    struct answered *a = t->oldest_answered;

    assert(a && t->answered_bytes >= a->n_reply);
    t->oldest_answered = a->next;
    if (!a->next)
        t->newest_answered = NULL;
    t->answered_bytes -= a->n_reply;
    table_remove_text(&t->answered, a->whose);
    free(a->reply);
    free(a);
}

void answered_add(struct tracker *t, const char *id, enum call_name call, const char *identity, const char *reply,
                  size_t n)
{
    struct answered *a = calloc(1, sizeof *a);
    char *copy = malloc(n + 1), whose[ANSWERED_KEY_BYTES];

    write_whose(whose, id, call, identity);
    if (!a || !copy || table_put_text(&t->answered, whose, a) != ERR_OK) {
        free(a);
        free(copy);
        return; /* out of memory: a repeat is executed again, which every operation bears */
    }
    memcpy(copy, reply, n);
    copy[n] = '\0';
    *a = (struct answered){.reply = copy, .n_reply = n, .at_ns = tracker_now_ns(t)};
    strcpy(a->whose, whose);
    *(t->newest_answered ? &t->newest_answered->next : &t->oldest_answered) = a;
    t->newest_answered = a;
    t->answered_bytes += n;
    while (t->answered.n > ANSWERED_MAX || t->answered_bytes > ANSWERED_BYTES)
        forget_oldest(t);
}

void answered_expire(struct tracker *t)
{
    while (t->oldest_answered && t->oldest_answered->at_ns < tracker_now_ns(t) - (int64_t)ANSWERED_MS * 1000000)
        forget_oldest(t);
}

/* ---- sessions ---- */

static void unlink_session(struct tracker *t, struct tracker_session *s)
{
    *(s->prev ? &s->prev->next : &t->oldest_session) = s->next;
    *(s->next ? &s->next->prev : &t->newest_session) = s->prev;
}

static void link_newest(struct tracker *t, struct tracker_session *s)
{
    s->prev = t->newest_session;
    s->next = NULL;
    *(s->prev ? &s->prev->next : &t->oldest_session) = s;
    t->newest_session = s;
}

static void end_session(struct tracker *t, struct tracker_session *s)
{
    unlink_session(t, s);
    table_remove_text(&t->sessions, s->id);
    if (table_get_text(&t->hellos, s->hello) == s)
        table_remove_text(&t->hellos, s->hello);
    free(s);
}

int sessions_revoke(struct tracker *t, const char *list)
{
    int n = 0;

    t->o.revoked = list;
    t->n_revocations++;
    for (struct tracker_session *s = t->oldest_session, *next; s; s = next) {
        next = s->next;
        if (!revoked_has(list, s->key.identity))
            continue;
        end_session(t, s);
        n++;
    }
    return n;
}

static enum err add_session(struct tracker *t, struct tracker_session **out)
{
    struct tracker_session *s = calloc(1, sizeof *s);
    enum err e = s ? entropy_hex(t->o.entropy, s->id, REQUEST_ID_HEX) : ERR_NOMEM;

    if (!e)
        e = table_put_text(&t->sessions, s->id, s);
    if (e) {
        free(s);
        return e;
    }
    link_newest(t, s);
    if (t->sessions.n > MAX_SESSIONS) {
        assert(t->oldest_session != s);
        end_session(t, t->oldest_session);
    }
    *out = s;
    return ERR_OK;
}

void sessions_fini(struct tracker *t)
{
    for (struct tracker_session *s = t->oldest_session, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    while (t->oldest_answered)
        forget_oldest(t);
    table_fini(&t->sessions);
    table_fini(&t->hellos);
    table_fini(&t->answered);
}

static enum err has_version(const cJSON *versions, struct why *why)
{
    const cJSON *v;

    cJSON_ArrayForEach(v, versions)
    {
        if (cJSON_IsNumber(v) && v->valuedouble == PROTOCOL_VERSION)
            return ERR_OK;
    }
    return why_set(why, ERR_PROTOCOL, "no common version: this tracker speaks version %d", PROTOCOL_VERSION);
}

static void answer_hello(struct call *c, struct tracker_session *s)
{
    c->result.hello = (struct hello_result){.session = s->id,
                                            .version = PROTOCOL_VERSION,
                                            .boot = c->t->boot,
                                            .nonce = s->nonce + REQUEST_ID_HEX,
                                            .server = "tune-tracker " TUNE_VERSION,
                                            .part = c->t->o.part,
                                            .parts = c->t->o.n_parts};
}

/* Whoever looks for another part asks at another address. */
static enum err check_part(struct call *c, int64_t part)
{
    return !part || part == c->t->o.part ? ERR_OK
                                         : why_set(&c->why, ERR_NOT_FOUND, "this tracker has part %lld of %lld",
                                                   (long long)c->t->o.part, (long long)c->t->o.n_parts);
}

/* A hello that was heard before, captured or sent again, brings the session that it brought then, and ends no other. */
enum err op_hello(struct call *c)
{
    const struct hello_args *in = &c->args.hello;
    char own[REQUEST_ID_HEX + 1];
    struct tracker_session *s = c->t->o.key ? table_get_text(&c->t->hellos, in->nonce) : NULL;
    enum err e = has_version(in->versions, &c->why);

    if (!e)
        e = check_part(c, in->part);
    if (!e && s) {
        answer_hello(c, s);
        return ERR_OK;
    }
    if (!e)
        e = entropy_hex(c->t->o.entropy, own, REQUEST_ID_HEX);
    if (!e)
        e = add_session(c->t, &s);
    if (e)
        return e;
    memcpy(s->nonce, in->nonce, REQUEST_ID_HEX);
    memcpy(s->nonce + REQUEST_ID_HEX, own, REQUEST_ID_HEX + 1);
    s->key = c->key;
    strcpy(s->hello, in->nonce);
    if (c->t->o.key)
        e = table_put_text(&c->t->hellos, s->hello, s);
    answer_hello(c, s);
    return e;
}

static void set_nonce(struct call *c, const char *nonce)
{
    text_copy(c->nonce_bytes, sizeof c->nonce_bytes, nonce);
    c->nonce = c->nonce_bytes;
}

static enum err check_mac(struct call *c, const void *bytes, size_t n, const char *nonce)
{
    if (!c->t->o.key)
        return c->message->has_mac ? why_set(&c->why, ERR_AUTH, "this tracker uses no key: leave --key out") : ERR_OK;
    if (!c->message->has_mac)
        return why_set(&c->why, ERR_AUTH, "this tracker wants a key: --key-file FILE");
    if (!message_mac_is_right(bytes, n, &c->key, nonce))
        return why_set(&c->why, ERR_AUTH, "the key is not this tracker's");
    set_nonce(c, nonce);
    return ERR_OK;
}

/* Takes a counter once: ERR_AUTH when it was seen or is older than the window. */
static enum err take_ctr(struct call *c, struct tracker_session *s, int64_t ctr)
{
    if (ctr > s->ctr) {
        const int64_t step = ctr - s->ctr;

        s->window = (step < 64 ? s->window << step : 0) | 1;
        s->ctr = ctr;
        return ERR_OK;
    }
    if (s->ctr - ctr >= 64 || (s->window >> (s->ctr - ctr) & 1)) {
        c->hello = true;
        return why_set(&c->why, ERR_AUTH, "a message was seen before");
    }
    s->window |= (uint64_t)1 << (s->ctr - ctr);
    return ERR_OK;
}

enum err session_check_key(struct call *c, const char *identity)
{
    return revoked_has(c->t->o.revoked, identity) ? why_set(&c->why, ERR_AUTH, "the key of %s was taken back", identity)
                                                  : ERR_OK;
}

/* Who says hello so; the MAC proves it. */
static enum err take_identity(struct call *c, const char *identity)
{
    if (!c->t->o.key)
        return ERR_OK;
    if (*identity && !key_identity_is_sane(identity))
        return why_set(&c->why, ERR_AUTH, "'%.80s' is no identity", identity);
    key_derive(c->t->o.key, identity, &c->key);
    return ERR_OK;
}

/* The session, near the front of the JSON where clients put it, without reading the rest. */
static bool find_session(const char *json, size_t n, char out[REQUEST_ID_HEX + 1])
{
    static const char head[] = "\"session\":\"";
    const size_t n_head = strlen(head);
    const char *at = memmem(json, n < FRONT_BYTES ? n : FRONT_BYTES, head, n_head);

    if (!at || (size_t)(at - json) + n_head + REQUEST_ID_HEX > n)
        return false;
    memcpy(out, at + n_head, REQUEST_ID_HEX);
    out[REQUEST_ID_HEX] = '\0';
    return strspn(out, "0123456789abcdef") == REQUEST_ID_HEX;
}

enum err session_ahead(struct tracker *t, const void *bytes, size_t n, const struct tracker_session **out, bool *hello,
                       struct why *why)
{
    const char *json = (const char *)bytes + MESSAGE_HEADER_BYTES;
    const size_t n_json = n > MESSAGE_HEADER_BYTES ? n - MESSAGE_HEADER_BYTES : 0;
    char session[REQUEST_ID_HEX + 1];
    const struct tracker_session *s;

    if (!find_session(json, n_json, session))
        return why_set(why, ERR_AUTH, "a message of %zu bytes has to name its session in front", n);
    s = table_get_text(&t->sessions, session);
    *hello = !s;
    if (!s)
        return why_set(why, ERR_STALE, "unknown session: say hello");
    if (!message_mac_is_right(bytes, n, &s->key, s->nonce))
        return why_set(why, ERR_AUTH, "the key is not this tracker's");
    *out = s;
    return ERR_OK;
}

enum err session_check(struct call *c, const void *bytes, size_t n)
{
    const char *id;
    struct tracker_session *s;
    int64_t ctr;
    enum err e;

    if (c->name == CALL_HELLO) {
        e = call_read_args(c);
        if (!e)
            e = take_identity(c, c->args.hello.identity);
        if (!e)
            e = check_mac(c, bytes, n, c->args.hello.nonce);
        return e ? e : session_check_key(c, c->args.hello.identity); /* signed: its owner may believe it */
    }
    e = json_get_text(c->message->json, "session", &id, &c->why);
    if (!e)
        e = json_get_i64(c->message->json, "ctr", 1, JSON_EXACT_MAX, &ctr, &c->why);
    if (e)
        return e;
    s = table_get_text(&c->t->sessions, id);
    if (!s) {
        c->hello = true;
        return why_set(&c->why, ERR_STALE, "unknown session: say hello");
    }
    c->key = s->key;
    if (c->proved == s)
        set_nonce(c, s->nonce);
    else
        e = check_mac(c, bytes, n, s->nonce);
    if (!e)
        e = take_ctr(c, s, ctr);
    if (e)
        return e;
    unlink_session(c->t, s);
    link_newest(c->t, s);
    return ERR_OK;
}
