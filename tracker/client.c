/* SPDX-License-Identifier: MIT */
#include "tracker/client.h"

#include "tracker/address.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/entropy.h"
#include "core/json.h"
#include "tracker/protocol.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>

#define REPLY_MS 10000 /* an ordinary call; long polls add wait_ms */
#define OPEN_TRIES 3
#define OPEN_MS 3300  /* of one try */
#define TAKEN_LINES 6 /* with TLS, where connections are taken: a minute, as DOOR_SHAKE_MOST_MS */
#define REACH_MS 2000
#define NAP_MS 5 /* between looks at what another thread does */
#define PAUSE_STEP_MS 50
#define AWAY_MS 50       /* a pause while the tracker is away */
#define BUSY_MS 250      /* while it is busy */
#define ELSEWHERE_MS 500 /* while no tracker has the part that is looked for: this once, twice and so on */
#define ELSEWHERE_MAX_MS 2000
#define TAKEN "takes connections and does not answer yet"
#define HAS_ANOTHER "the tracker at %s has another"
#define LARGE_BYTES 32768 /* of a message that a tracker takes only from whom it knows (tracker/door.h) */

struct client {
    const struct transport_ops *transport;
    void *transport_arg;
    struct line *line;
    const struct clock *clock;
    const struct entropy *entropy;
    char *url, *role, *name;
    struct tls_files tls;
    bool (*waiting)(int64_t out_ms, const char *does, void *arg);
    void *arg;
    bool has_key;
    struct key key;
    pthread_mutex_t lock; /* all below, and which line it is */
    char session[REQUEST_ID_HEX + 1], nonce[2 * REQUEST_ID_HEX + 1], boot[REQUEST_ID_HEX + 1];
    int64_t ctr, epoch;    /* epoch: number of hellos that went well */
    int64_t part, n_parts; /* which one of the farm's is spoken to (0 = any yet) of how many (1 until a tracker says) */
    int n_elsewhere;       /* hellos in a row that met a tracker of another part */
    bool saying_hello;     /* one at a time */
    bool closed, restarted;
    int n_calls;
    pthread_mutex_t opening;           /* of the next */
    struct client *others[PARTS_MOST]; /* of the other parts, by part - 1: opened when they are asked first */
    struct client *newcomer;           /* who is being opened for one; NULL = nobody */
};

/* A decoded reply; lends blobs from its letter. */
struct reply {
    const struct transport_ops *transport;
    struct letter letter;
    struct message message;
};

static void reply_fini(struct reply *r)
{
    message_fini(&r->message);
    if (r->transport)
        r->transport->discard(&r->letter);
    *r = (struct reply){.transport = NULL};
}

static bool is_closed(struct client *c)
{
    bool closed;

    pthread_mutex_lock(&c->lock);
    closed = c->closed;
    pthread_mutex_unlock(&c->lock);
    return closed;
}

/* ---- one exchange ---- */

static enum err check_reply(struct client *c, const struct reply *r, const char *id, const char *nonce, struct why *why)
{
    const cJSON *json = r->message.json, *got = cJSON_GetObjectItemCaseSensitive(json, "id");
    const cJSON *err = cJSON_GetObjectItemCaseSensitive(json, "err");

    if (!cJSON_IsBool(cJSON_GetObjectItemCaseSensitive(json, "ok")))
        return why_set(why, ERR_PROTOCOL, "the tracker's reply has no 'ok'");
    if (c->has_key && !message_may_be_unsigned(json)) {
        const bool right =
            r->message.has_mac && message_mac_is_right(r->letter.bytes, r->letter.n_bytes, &c->key, nonce);

        if (!right && cJSON_IsString(err) && strcmp(err->valuestring, "auth") == 0)
            return why_set(why, ERR_AUTH, "the tracker at %s refuses this key", c->url);
        if (!right)
            return why_set(why, ERR_AUTH, "the tracker at %s does not know this key", c->url);
    }
    if (cJSON_IsString(got) && got->valuestring[0] && strcmp(got->valuestring, id) != 0)
        return why_set(why, ERR_PROTOCOL, "the tracker's reply is for another request");
    return ERR_OK;
}

/* Sends `request` once and waits for its reply; *large (may be NULL): it had over LARGE_BYTES. */
static enum err exchange(struct client *c, cJSON *request, const struct blobs *attach, const char *id,
                         const char *nonce, int64_t timeout_ms, bool *large, struct reply *out, struct why *why)
{
    struct reply r = {.transport = c->transport};
    struct buf bytes;
    enum err e;

    buf_init(&bytes, MESSAGE_MAX_BYTES + 64);
    e = message_encode(request, attach, c->has_key ? &c->key : NULL, nonce, &bytes);
    if (e == ERR_LIMIT)
        why_set(why, e, "request over %zu bytes", MESSAGE_MAX_BYTES);
    if (large)
        *large = bytes.len > LARGE_BYTES;
    if (!e)
        e = is_closed(c) ? ERR_CANCELLED
                         : c->transport->exchange(c->line, bytes.data, bytes.len, timeout_ms, &r.letter);
    buf_fini(&bytes);
    if (!e)
        e = message_decode(r.letter.bytes, r.letter.n_bytes, &r.message, why);
    if (!e)
        e = check_reply(c, &r, id, nonce, why);
    if (e) {
        reply_fini(&r);
        return e;
    }
    *out = r;
    return ERR_OK;
}

/* ---- hello ---- */

static cJSON *hello_tree(struct client *c, const char *nonce)
{
    struct hello_args args = {.role = c->role, .name = c->name, .nonce = nonce, .identity = c->key.identity};
    bool ok = true;

    pthread_mutex_lock(&c->lock);
    args.part = c->part;
    pthread_mutex_unlock(&c->lock);
    call_list_add(&args.versions, cJSON_CreateNumber(PROTOCOL_VERSION), &ok);
    return hello_args_write(&args);
}

static enum err accept_hello(struct client *c, const cJSON *tree, const char *nonce, struct why *why)
{
    struct hello_result r;

    if (hello_result_read(tree, &r, NULL) != ERR_OK)
        return why_set(why, ERR_PROTOCOL, "the tracker's answer to hello is not understood");
    pthread_mutex_lock(&c->lock);
    if (c->part && r.part != c->part) { /* of a tracker that knows no parts */
        pthread_mutex_unlock(&c->lock);
        return ERR_NOT_FOUND;
    }
    c->part = r.part;
    c->n_parts = r.parts;
    c->n_elsewhere = 0;
    c->restarted |= c->boot[0] && strcmp(c->boot, r.boot) != 0;
    strcpy(c->session, r.session);
    strcpy(c->boot, r.boot);
    memcpy(c->nonce, nonce, REQUEST_ID_HEX);
    strcpy(c->nonce + REQUEST_ID_HEX, r.nonce);
    c->ctr = 0;
    c->epoch++;
    pthread_mutex_unlock(&c->lock);
    return ERR_OK;
}

/* A tracker answered that has another part: the next address may lead to the one that is looked for. When all were
 * asked it is away, and the others are to be asked less and less often. */
static enum err go_elsewhere(struct client *c)
{
    int64_t pause_ms;

    pthread_mutex_lock(&c->lock);
    pause_ms = ++c->n_elsewhere / ADDRESSES_MOST * ELSEWHERE_MS;
    pthread_mutex_unlock(&c->lock);
    if (c->transport->turn)
        c->transport->turn(c->line);
    for (int64_t ms = 0; ms < pause_ms && ms < ELSEWHERE_MAX_MS && !is_closed(c); ms += PAUSE_STEP_MS)
        clock_wait_ms(c->clock, PAUSE_STEP_MS);
    return ERR_UNREACHABLE;
}

static enum err hello_once(struct client *c, int64_t timeout_ms, struct why *why)
{
    char id[REQUEST_ID_HEX + 1], nonce[REQUEST_ID_HEX + 1];
    cJSON *request = cJSON_CreateObject();
    bool ok = request != NULL;
    struct reply r = {0};
    enum err e = ok ? entropy_hex(c->entropy, id, REQUEST_ID_HEX) : ERR_NOMEM;

    if (!e)
        e = entropy_hex(c->entropy, nonce, REQUEST_ID_HEX);
    if (!e) {
        json_add_text(request, "op", "hello", &ok);
        json_add_text(request, "id", id, &ok);
        json_add_item(request, "args", hello_tree(c, nonce), &ok);
        e = ok ? exchange(c, request, NULL, id, nonce, timeout_ms, NULL, &r, why) : ERR_NOMEM;
    }
    cJSON_Delete(request);
    if (e)
        return e;
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(r.message.json, "ok")))
        e = message_error(r.message.json, why);
    else
        e = accept_hello(c, cJSON_GetObjectItemCaseSensitive(r.message.json, "result"), nonce, why);
    reply_fini(&r);
    return e == ERR_NOT_FOUND ? go_elsewhere(c) : e;
}

/* Waits for its turn to say hello; false when another thread did since `epoch`. */
static bool begin_hello(struct client *c, int64_t epoch)
{
    bool mine = false, fresh = false;

    while (!mine && !fresh) {
        pthread_mutex_lock(&c->lock);
        fresh = c->epoch != epoch;
        mine = !fresh && !c->saying_hello;
        c->saying_hello |= mine;
        pthread_mutex_unlock(&c->lock);
        if (!mine && !fresh)
            clock_wait_ms(c->clock, NAP_MS);
    }
    return mine;
}

static enum err hello_again(struct client *c, int64_t epoch, struct why *why)
{
    enum err e;

    if (!begin_hello(c, epoch))
        return ERR_OK;
    e = hello_once(c, REPLY_MS, why);
    pthread_mutex_lock(&c->lock);
    assert(c->saying_hello);
    c->saying_hello = false;
    pthread_mutex_unlock(&c->lock);
    return e;
}

/* ---- open and close ---- */

/* nng does not tell why a handshake failed: a look at the peer does. ERR_AUTH: no further try mends it. */
static bool is_hopeless(struct client *c, struct why *why)
{
    return c->transport == &transport_nng && tls_look(c->url, &c->tls, why) == ERR_AUTH;
}

static bool goes_on(struct client *c, int64_t began_ns, const char *does)
{
    return !c->waiting || c->waiting((clock_read_ns(c->clock) - began_ns) / 1000000, does, c->arg);
}

static enum err give_up(const struct client *c, struct why *why)
{
    return why_set(why, ERR_CANCELLED, "interrupted; the tracker at %s did not answer so far", c->url);
}

/* The tracker that answered last has another part. */
static bool is_elsewhere(struct client *c)
{
    bool is;

    pthread_mutex_lock(&c->lock);
    is = c->n_elsewhere > 0;
    pthread_mutex_unlock(&c->lock);
    return is;
}

/* It is elsewhere, and knows no other address. */
static bool is_lonely(struct client *c)
{
    return !c->transport->turn && is_elsewhere(c);
}

static enum err first_hello(struct client *c, int64_t began_ns, struct why *why)
{
    enum err e = ERR_UNREACHABLE;
    bool looked = false;

    for (int i = 0; i < OPEN_TRIES; i++) {
        const int64_t end_ns = clock_read_ns(c->clock) + (int64_t)OPEN_MS * 1000000;

        do {
            e = hello_once(c, OPEN_MS, why);
            if (e != ERR_UNREACHABLE && e != ERR_TIMEOUT)
                return e;
            if (is_lonely(c))
                return why_set(why, ERR_UNREACHABLE, HAS_ANOTHER, c->url);
            if (e == ERR_UNREACHABLE && !looked && is_hopeless(c, why))
                return ERR_AUTH;
            looked = true;
            if (!goes_on(c, began_ns, NULL))
                return give_up(c, why);
        } while (e == ERR_UNREACHABLE && clock_read_ns(c->clock) < end_ns);
    }
    return why_set(why, ERR_UNREACHABLE, "no tracker %s at %s (tried %d times in %d s)",
                   is_elsewhere(c) ? "of it answers" : "answers", c->url, OPEN_TRIES, OPEN_TRIES * OPEN_MS / 1000 + 1);
}

/* Is somebody there who takes connections, and may be at the TLS handshakes of others? */
static bool is_taken(const struct client *c)
{
    return c->transport == &transport_nng && tls_wanted(c->url) && address_takes(c->url, REACH_MS);
}

/* In place of the one there was; ERR_CANCELLED when it was cut off meanwhile. */
static enum err open_line(struct client *c, struct why *why)
{
    struct line *line = NULL, *former;
    enum err e = c->transport->open(c->transport_arg, c->url, &line, why);

    pthread_mutex_lock(&c->lock);
    former = c->line;
    c->line = line;
    if (!e && c->closed)
        e = ERR_CANCELLED;
    pthread_mutex_unlock(&c->lock);
    if (former)
        c->transport->close(former);
    return e;
}

/* A line and the first hello by it. Of a herd some handshakes come to nothing: those begin anew, by another line. */
static enum err connect_first(struct client *c, struct why *why)
{
    const int64_t began_ns = clock_read_ns(c->clock);
    enum err e = ERR_UNREACHABLE;

    for (int i = 0; i < TAKEN_LINES && e == ERR_UNREACHABLE && (i == 0 || (!is_lonely(c) && is_taken(c))); i++) {
        if (i > 0 && !goes_on(c, began_ns, TAKEN))
            return give_up(c, why);
        e = open_line(c, why);
        if (!e)
            e = first_hello(c, began_ns, why);
    }
    return e;
}

/* Only what nng is to dial has to be an address. */
static enum err complete_url(struct client *c, const struct client_options *o, struct why *why)
{
    const char *url = o->url ? o->url : PROTOCOL_DEFAULT_URL;
    char all[ADDRESSES_BYTES];
    const enum err e = o->transport ? ERR_OK : address_complete(url, o->tls.ca && *o->tls.ca, all, why);

    if (!e)
        c->url = strdup(o->transport ? url : all);
    return e;
}

static enum err copy_options(struct client *c, const struct client_options *o, struct why *why)
{
    const enum err e = complete_url(c, o, why);

    if (e)
        return e;
    c->role = strdup(o->role ? o->role : "tune");
    c->name = strdup(o->name ? o->name : "");
    c->tls = o->tls;
    c->waiting = o->waiting;
    c->arg = o->arg;
    c->transport = o->transport ? o->transport : strchr(c->url ? c->url : "", ',') ? &transport_many : &transport_nng;
    c->transport_arg = o->transport ? o->transport_arg : &c->tls;
    c->clock = o->clock;
    c->entropy = o->entropy;
    return c->url && c->role && c->name ? ERR_OK : ERR_NOMEM;
}

static enum err new_client(const struct client_options *options, struct client **out, struct why *why)
{
    struct client *c = calloc(1, sizeof *c);
    enum err e;

    if (!c)
        return ERR_NOMEM;
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->opening, NULL);
    c->n_parts = 1;
    e = copy_options(c, options, why);
    *out = c;
    return e;
}

enum err client_open(const struct client_options *options, struct client **out, struct why *why)
{
    struct client *c = NULL;
    enum err e = new_client(options, &c, why);

    if (!e && options->key_file) {
        e = key_load(options->key_file, &c->key, why);
        c->has_key = !e;
    }
    if (!e)
        e = connect_first(c, why);
    if (e) {
        client_close(c);
        return e;
    }
    *out = c;
    return ERR_OK;
}

/* Whatever a client waits for ends now. */
static void cut_off(struct client *c)
{
    pthread_mutex_lock(&c->lock);
    c->closed = true;
    if (c->line)
        c->transport->abort(c->line);
    pthread_mutex_unlock(&c->lock);
}

/* Ends the calls that are under way, by lines to other parts, too. */
static void end_calls(struct client *c)
{
    int n_calls;

    pthread_mutex_lock(&c->lock);
    c->closed = true;
    n_calls = c->n_calls;
    pthread_mutex_unlock(&c->lock);
    while (n_calls > 0) {
        cut_off(c);
        clock_wait_ms(c->clock, NAP_MS);
        pthread_mutex_lock(&c->lock);
        n_calls = c->n_calls;
        for (int i = 0; i < PARTS_MOST; i++)
            if (c->others[i])
                cut_off(c->others[i]);
        if (c->newcomer)
            cut_off(c->newcomer);
        pthread_mutex_unlock(&c->lock);
    }
}

void client_close(struct client *c)
{
    if (!c)
        return;
    end_calls(c);
    for (int i = 0; i < PARTS_MOST; i++)
        client_close(c->others[i]);
    if (c->line)
        c->transport->close(c->line);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->opening);
    explicit_bzero(&c->key, sizeof c->key);
    free(c->url);
    free(c->role);
    free(c->name);
    free(c);
}

bool client_tracker_restarted(struct client *c)
{
    bool was;

    pthread_mutex_lock(&c->lock);
    was = c->restarted;
    c->restarted = false;
    pthread_mutex_unlock(&c->lock);
    return was;
}

/* ---- calls ---- */

struct client_request {
    const char *op;
    cJSON *args;
    const struct blobs *attach;
    int64_t wait_ms;
    char id[REQUEST_ID_HEX + 1];
    int64_t out_since_ns; /* 0 while the tracker answers */
    bool large;
};

static cJSON *request_of(struct client *c, const struct client_request *call, char nonce[2 * REQUEST_ID_HEX + 1],
                         int64_t *epoch)
{
    cJSON *request = cJSON_CreateObject();
    bool ok = request != NULL;

    pthread_mutex_lock(&c->lock);
    json_add_text(request, "op", call->op, &ok);
    json_add_text(request, "id", call->id, &ok);
    json_add_text(request, "session", c->session, &ok);
    json_add_i64(request, "ctr", ++c->ctr, &ok);
    strcpy(nonce, c->nonce);
    *epoch = c->epoch;
    pthread_mutex_unlock(&c->lock);
    if (ok && !cJSON_AddItemReferenceToObject(request, "args", call->args))
        ok = false;
    if (ok)
        return request;
    cJSON_Delete(request);
    return NULL;
}

/* Pauses behind a try that ended with `tried`, whose words `why` has, and asks the callback; ERR_UNREACHABLE when it
 * gives up. */
static enum err stay_out(struct client *c, struct client_request *call, enum err tried, struct why *why)
{
    const int64_t now_ns = clock_read_ns(c->clock), pause_ms = tried == ERR_BUSY ? BUSY_MS : AWAY_MS;
    char does[160];

    if (!call->out_since_ns)
        call->out_since_ns = now_ns;
    for (int64_t ms = 0; ms < pause_ms && !is_closed(c); ms += PAUSE_STEP_MS)
        clock_wait_ms(c->clock, PAUSE_STEP_MS);
    if (is_closed(c))
        return ERR_CANCELLED;
    snprintf(does, sizeof does, "says: %.150s", why && why->text[0] ? why->text : "busy");
    if (c->waiting && !c->waiting((now_ns - call->out_since_ns) / 1000000, tried == ERR_BUSY ? does : NULL, c->arg))
        return why_set(why, ERR_UNREACHABLE, "the tracker at %s %s", c->url,
                       tried == ERR_BUSY ? does : "does not answer");
    return ERR_OK;
}

static enum err take_result(struct reply *r, cJSON **result, struct blobs *received)
{
    enum err e = ERR_OK;

    for (size_t i = 0; received && !e && i < r->message.n_blobs; i++)
        e = blobs_put(received, r->message.blobs[i].data, r->message.blobs[i].n_bytes, NULL);
    if (!e && result) {
        cJSON *got = cJSON_DetachItemFromObjectCaseSensitive(r->message.json, "result");

        if (!got)
            got = cJSON_CreateObject();
        if (!got)
            return ERR_NOMEM;
        *result = got;
    }
    return e;
}

/* A large message that did not get through may be the first of a new connection: a hello goes before it. */
static enum err hello_ahead(struct client *c, const struct client_request *call, struct why *why)
{
    int64_t epoch;

    if (!call->large || !call->out_since_ns)
        return ERR_OK;
    pthread_mutex_lock(&c->lock);
    epoch = c->epoch;
    pthread_mutex_unlock(&c->lock);
    return hello_again(c, epoch, why);
}

/* Of a hello or an exchange: a later one may go well. */
static bool is_passing(enum err e)
{
    return e == ERR_UNREACHABLE || e == ERR_TIMEOUT || e == ERR_BUSY;
}

/* One try. *again turns true when the same request has to be sent once more. */
static enum err call_once(struct client *c, struct client_request *call, cJSON **result, struct blobs *received,
                          bool *again, struct why *why)
{
    char nonce[2 * REQUEST_ID_HEX + 1];
    struct reply r = {0};
    int64_t epoch;
    enum err e = hello_ahead(c, call, why);
    cJSON *request = e ? NULL : request_of(c, call, nonce, &epoch);

    if (!e)
        e = request
                ? exchange(c, request, call->attach, call->id, nonce, call->wait_ms + REPLY_MS, &call->large, &r, why)
                : ERR_NOMEM;
    cJSON_Delete(request);
    *again = is_passing(e);
    if (!e && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(r.message.json, "hello"))) {
        *again = true;
        e = hello_again(c, epoch, why);
    } else if (!e && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(r.message.json, "ok"))) {
        e = take_result(&r, result, received);
    } else if (!e) {
        e = message_error(r.message.json, why);
        *again = e == ERR_BUSY;
    }
    if (*again && is_passing(e))
        e = stay_out(c, call, e, why);
    reply_fini(&r);
    return e;
}

static bool enter(struct client *c)
{
    bool ok;

    pthread_mutex_lock(&c->lock);
    ok = !c->closed;
    c->n_calls += ok;
    pthread_mutex_unlock(&c->lock);
    return ok;
}

static void leave(struct client *c)
{
    pthread_mutex_lock(&c->lock);
    assert(c->n_calls > 0);
    c->n_calls--;
    pthread_mutex_unlock(&c->lock);
}

/* A call by this client's own line. */
static enum err call_here(struct client *c, struct client_request *call, cJSON **result, struct blobs *received,
                          struct why *why)
{
    bool again = true;
    enum err e = enter(c) ? ERR_OK : ERR_CANCELLED;

    if (e)
        return e;
    while (!e && again)
        e = call_once(c, call, result, received, &again, why);
    leave(c);
    return e;
}

/* ---- a farm in parts ---- */

int64_t client_parts(struct client *c)
{
    int64_t n;

    pthread_mutex_lock(&c->lock);
    n = c->n_parts;
    pthread_mutex_unlock(&c->lock);
    return n;
}

static int64_t part_of_client(struct client *c)
{
    int64_t part;

    pthread_mutex_lock(&c->lock);
    part = c->part;
    pthread_mutex_unlock(&c->lock);
    return part;
}

static void set_newcomer(struct client *c, struct client *newcomer)
{
    pthread_mutex_lock(&c->lock);
    c->newcomer = newcomer;
    pthread_mutex_unlock(&c->lock);
}

/* A further client like `c`, of that part. */
static enum err open_part(struct client *c, int64_t part, struct client **out, struct why *why)
{
    const struct client_options o = {.url = c->url,
                                     .tls = c->tls,
                                     .role = c->role,
                                     .name = c->name,
                                     .waiting = c->waiting,
                                     .arg = c->arg,
                                     .transport = c->transport_arg == &c->tls ? NULL : c->transport,
                                     .transport_arg = c->transport_arg,
                                     .clock = c->clock,
                                     .entropy = c->entropy};
    struct client *other = NULL;
    enum err e = new_client(&o, &other, why);

    if (!e) {
        other->key = c->key;
        other->has_key = c->has_key;
        other->part = part;
        set_newcomer(c, other);
        e = connect_first(other, why);
        set_newcomer(c, NULL);
    }
    if (e) {
        client_close(other);
        return e == ERR_NOMEM ? e : why_prefix(why, e, "part %lld of the farm", (long long)part);
    }
    *out = other;
    return ERR_OK;
}

static enum err check_part(struct client *c, int64_t part, struct why *why)
{
    const int64_t n = client_parts(c);

    return part >= 1 && part <= n ? ERR_OK
           : n == 1
               ? why_set(why, ERR_INPUT, "part %lld: this farm is not in parts", (long long)part)
               : why_set(why, ERR_INPUT, "part %lld: this farm has the parts 1 to %lld", (long long)part, (long long)n);
}

enum err client_part(struct client *c, int64_t part, struct client **out, struct why *why)
{
    struct client *other = NULL;
    enum err e = check_part(c, part, why);

    *out = c;
    if (e || part == part_of_client(c))
        return e;
    pthread_mutex_lock(&c->opening);
    *out = c->others[part - 1];
    if (!*out && (e = open_part(c, part, &other, why)) == ERR_OK) {
        pthread_mutex_lock(&c->lock);
        *out = c->others[part - 1] = other;
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&c->opening);
    return e;
}

/* Of a process that was told none. */
static enum err only_part(struct client *c, int64_t *part, struct why *why)
{
    const int64_t n = client_parts(c);

    *part = 1;
    return n == 1 ? ERR_OK
                  : why_set(why, ERR_INPUT, "this farm is in %lld parts: expected --part 1 to %lld, a process for each",
                            (long long)n, (long long)n);
}

enum err client_settle(struct client *c, int64_t part, struct why *why)
{
    struct client_request call = {.op = "hello"};
    char boot[sizeof c->boot];
    int64_t epoch, former;
    enum err e = part ? ERR_OK : only_part(c, &part, why);

    if (!e)
        e = check_part(c, part, why);
    if (e || part == part_of_client(c))
        return e;
    if (!enter(c))
        return ERR_CANCELLED;
    pthread_mutex_lock(&c->lock);
    former = c->part;
    strcpy(boot, c->boot);
    c->part = part;
    c->boot[0] = '\0'; /* another tracker, not one that was restarted */
    epoch = c->epoch;
    pthread_mutex_unlock(&c->lock);
    while (is_passing(e = hello_again(c, epoch, why))) {
        if (is_lonely(c))
            why_set(why, e, "part %lld of the farm: " HAS_ANOTHER, (long long)part, c->url);
        else
            e = stay_out(c, &call, e, why);
        if (e)
            break;
    }
    if (e) {
        pthread_mutex_lock(&c->lock);
        c->part = former;
        strcpy(c->boot, boot);
        pthread_mutex_unlock(&c->lock);
    }
    leave(c);
    return e;
}

static enum err route(struct client *c, struct client_request *call, cJSON **result, struct blobs *received,
                      struct why *why)
{
    const int64_t n_parts = client_parts(c), part = n_parts > 1 ? part_of_args(call->args, n_parts) : 0;
    struct client *to = c;
    enum err e = part ? client_part(c, part, &to, why) : ERR_OK;

    return e ? e : call_here(to, call, result, received, why);
}

enum err client_call(struct client *c, const char *op, cJSON *takes_args, const struct blobs *attach, int64_t wait_ms,
                     cJSON **result, struct blobs *received, struct why *why)
{
    struct client_request call = {.op = op, .args = takes_args, .attach = attach, .wait_ms = wait_ms};
    enum err e;

    if (!enter(c)) {
        cJSON_Delete(takes_args);
        return ERR_CANCELLED;
    }
    if (!call.args)
        call.args = cJSON_CreateObject();
    if (call.args && wait_ms > 0 && !json_has(call.args, "wait_ms"))
        cJSON_AddNumberToObject(call.args, "wait_ms", (double)wait_ms);
    e = call.args ? entropy_hex(c->entropy, call.id, REQUEST_ID_HEX) : ERR_NOMEM;
    if (!e)
        e = route(c, &call, result, received, why);
    cJSON_Delete(call.args);
    leave(c);
    return e;
}
