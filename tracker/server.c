/* SPDX-License-Identifier: MIT */
#include "tracker/server.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "tracker/door.h"
#include "tracker/hall.h"
#include "tracker/tls.h"
#include "tracker/transport.h"

#include <assert.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/supplemental/tls/tls.h>
#include <nng/transport/tcp/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define SPARE_SLOTS 192 /* more than wait: for requests that do not */
#define MAX_PIPES 16384
#define OTHER_FDS 128 /* beside connections */
#define MIN_PIPES 64
#define MAX_PAGES 16
#define QUEUED_BYTES ((size_t)32 << 20)
#define DEAD_LEAST_MS 10000 /* of a peer's host that is gone: two leases, but */
#define DEAD_MOST_MS 60000

/* One context: receives a request, waits for its reply, sends it, and so on. */
struct slot {
    struct caller caller; /* first: a caller of this server is the slot itself */
    struct server *server;
    nng_ctx ctx;
    nng_aio *aio;
    bool sending;
    int64_t received_ns;
    nng_msg *raw;
    struct slot *next; /* in the queue */
};

struct page {
    enum err (*work)(struct tracker *t, void *arg);
    void *arg;
    enum err result;
    bool done;
    struct page *next;
};

struct server {
    struct hall hall; /* the core loop's own */
    nng_socket socket;
    struct door *door;
    char url[256], near_url[256];
    int n_slots;
    pthread_t core, post;
    pthread_mutex_t lock; /* the queue, replies, pages, pipes, stopping */
    pthread_cond_t work, page_done, mail;
    struct slot *first, *last;
    struct caller *replies; /* committed, not flushed: for the post loop */
    bool core_ended;
    size_t queued_bytes;
    struct page *pages;
    int n_pages;
    int64_t n_pipes, max_pipes;
    uint32_t gone[256]; /* pipes that closed since the loop looked */
    int n_gone;
    bool stopping, failed, told_full;
    struct why why;
};

/* ---- on nng's threads ---- */

static void receive(struct slot *s)
{
    s->sending = false;
    nng_ctx_recv(s->ctx, s->aio);
}

/* Too much waits already: the client is told to come again, without its request being looked at. */
static nng_msg *busy_reply(void)
{
    static const char json[] = "{\"ok\":false,\"id\":\"\",\"err\":\"busy\",\"why\":\"the tracker is busy\"}";
    static const unsigned char head[12] = {'T', 'U', 'N', '1', 1, 0, 0, 0, sizeof json - 1, 0, 0, 0};
    nng_msg *m;
    unsigned char *body;

    if (nng_msg_alloc(&m, sizeof head + sizeof json - 1) != 0)
        return NULL;
    body = nng_msg_body(m);
    memcpy(body, head, sizeof head);
    memcpy(body + sizeof head, json, sizeof json - 1);
    return m;
}

static void send_reply(struct slot *s, nng_msg *m)
{
    if (!m) {
        receive(s);
        return;
    }
    s->sending = true;
    nng_aio_set_msg(s->aio, m);
    nng_ctx_send(s->ctx, s->aio);
}

static bool enqueue(struct server *sv, struct slot *s)
{
    const size_t n = nng_msg_len(s->raw);
    bool fits;

    pthread_mutex_lock(&sv->lock);
    fits = sv->queued_bytes == 0 || sv->queued_bytes + n <= QUEUED_BYTES;
    if (fits) {
        sv->queued_bytes += n;
        s->next = NULL;
        *(sv->last ? &sv->last->next : &sv->first) = s;
        sv->last = s;
        pthread_cond_signal(&sv->work);
    }
    pthread_mutex_unlock(&sv->lock);
    return fits;
}

static void received(struct slot *s)
{
    s->raw = nng_aio_get_msg(s->aio);
    s->received_ns = clock_now_ns();
    s->caller = (struct caller){.bytes = nng_msg_body(s->raw),
                                .n_bytes = nng_msg_len(s->raw),
                                .line = (uint32_t)nng_pipe_id(nng_msg_get_pipe(s->raw))};
    door_took(s->server->door, s->caller.line, s->caller.n_bytes);
    request_read(&s->caller.request, s->caller.bytes, s->caller.n_bytes);
    if (enqueue(s->server, s))
        return;
    request_fini(&s->caller.request);
    nng_msg_free(s->raw);
    s->raw = NULL;
    send_reply(s, busy_reply());
}

static void slot_event(void *arg)
{
    struct slot *s = arg;
    const int rv = nng_aio_result(s->aio);

    if (rv == NNG_ECLOSED)
        return;
    if (s->sending) {
        if (rv != 0)
            nng_msg_free(nng_aio_get_msg(s->aio));
        receive(s);
    } else if (rv != 0) {
        receive(s);
    } else {
        received(s);
    }
}

static void pipe_event(nng_pipe p, nng_pipe_ev ev, void *arg)
{
    struct server *sv = arg;
    bool refuse = false, tell = false;

    pthread_mutex_lock(&sv->lock);
    if (ev == NNG_PIPE_EV_ADD_PRE) { /* every pipe that was announced so is announced when it goes, refused ones too */
        refuse = ++sv->n_pipes > sv->max_pipes;
        tell = refuse && !sv->told_full;
        sv->told_full |= refuse;
    } else {
        sv->n_pipes--;
        if (sv->n_gone < (int)(sizeof sv->gone / sizeof *sv->gone)) /* polls of the others end with their time */
            sv->gone[sv->n_gone++] = (uint32_t)nng_pipe_id(p);
        pthread_cond_signal(&sv->work);
    }
    pthread_mutex_unlock(&sv->lock);
    if (tell)
        fprintf(stderr, "tune-tracker: all %lld connections are in use: others are refused until one ends%s\n",
                (long long)sv->max_pipes, sv->max_pipes < MAX_PIPES ? " (ulimit -n allows no more)" : "");
    if (ev != NNG_PIPE_EV_ADD_PRE)
        door_went(sv->door, p);
    else
        door_came(sv->door, p, refuse);
}

/* ---- the core loop ---- */

static bool open_slot(struct server *sv)
{
    struct slot *s = calloc(1, sizeof *s);

    if (!s)
        return false;
    s->server = sv;
    if (nng_ctx_open(&s->ctx, sv->socket) != 0) {
        free(s);
        return false;
    }
    if (nng_aio_alloc(&s->aio, slot_event, s) != 0) {
        nng_ctx_close(s->ctx);
        free(s);
        return false;
    }
    sv->n_slots++;
    receive(s);
    return true;
}

/* As many requests as wait, and then some, can be under way; slots live as long as the server. When memory is short
 * those that there are have to do. */
static void open_slots(struct server *sv)
{
    while (sv->n_slots < sv->hall.n_parked + SPARE_SLOTS && open_slot(sv))
        ;
}

/* What one turn of the core loop found to do. */
struct work {
    struct page *pages;
    uint32_t gone[256];
    int n_gone;
    bool stop;
};

static nng_msg *message_of(const struct buf *reply)
{
    nng_msg *m = NULL;

    if (reply->failed || !reply->len || nng_msg_alloc(&m, 0) != 0)
        return NULL;
    if (nng_msg_append(m, reply->data, reply->len) != 0) {
        nng_msg_free(m);
        return NULL;
    }
    return m;
}

static void wait_work(struct server *sv)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)HALL_TICK_MS * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    if (!sv->first && !sv->pages && !sv->n_gone && !sv->stopping)
        pthread_cond_timedwait(&sv->work, &sv->lock, &t);
}

static struct slot *next_queued(struct server *sv)
{
    struct slot *s;

    pthread_mutex_lock(&sv->lock);
    s = sv->first;
    if (s) {
        sv->first = s->next;
        if (!sv->first)
            sv->last = NULL;
        assert(sv->queued_bytes >= s->caller.n_bytes);
        sv->queued_bytes -= s->caller.n_bytes;
    }
    pthread_mutex_unlock(&sv->lock);
    return s;
}

static void collect(struct server *sv, struct work *b)
{
    pthread_mutex_lock(&sv->lock);
    wait_work(sv);
    b->pages = sv->pages;
    sv->pages = NULL;
    memcpy(b->gone, sv->gone, sizeof b->gone);
    b->n_gone = sv->n_gone;
    sv->n_gone = 0;
    b->stop = sv->stopping;
    pthread_mutex_unlock(&sv->lock);
}

static void answer_pages(struct server *sv, struct page *p)
{
    for (struct page *next; p; p = next) {
        const enum err e = p->work(sv->hall.tracker, p->arg);

        next = p->next;
        pthread_mutex_lock(&sv->lock);
        p->result = e;
        assert(!p->done && sv->n_pages > 0);
        p->done = true;
        sv->n_pages--;
        pthread_cond_broadcast(&sv->page_done);
        pthread_mutex_unlock(&sv->lock);
    }
}

/* Those that were asked for since the last look get no answer but ERR_BUSY. Under the lock. */
static void turn_pages_away(struct server *sv)
{
    for (struct page *p = sv->pages, *next; p; p = next) {
        next = p->next;
        p->done = true;
        sv->n_pages--;
    }
    sv->pages = NULL;
    pthread_cond_broadcast(&sv->page_done);
}

/* ---- the post loop ---- */

static void answer(struct server *sv, struct caller *left)
{
    for (struct caller *c = left, *next; c; c = next) {
        struct slot *s = (struct slot *)c;
        nng_msg *m = message_of(&c->reply);

        if (c->request.name < N_CALLS && !c->waits_with)
            meter_add(&sv->hall.tracker->calls[c->request.name], clock_now_ns() - s->received_ns);
        next = c->next;
        buf_fini(&c->reply);
        nng_msg_free(s->raw);
        s->raw = NULL;
        send_reply(s, m);
    }
}

static void store_has_failed(struct server *sv, const struct why *why)
{
    pthread_mutex_lock(&sv->lock);
    if (!sv->failed)
        sv->why = *why;
    if (!sv->why.text[0])
        why_set(&sv->why, ERR_IO, "the store failed without a word: memory may be used up");
    sv->failed = sv->stopping = true;
    pthread_cond_signal(&sv->work);
    pthread_mutex_unlock(&sv->lock);
}

/* All replies there are; false when there will be none any more. */
static bool collect_replies(struct server *sv, struct caller **out)
{
    pthread_mutex_lock(&sv->lock);
    while (!sv->replies && !sv->core_ended)
        pthread_cond_wait(&sv->mail, &sv->lock);
    *out = sv->replies;
    sv->replies = NULL;
    pthread_mutex_unlock(&sv->lock);
    return *out != NULL;
}

/* One flush of the disk for all turns that ended while it was at the one before. A reply leaves when what it tells, its
 * own or another's, is durable. */
static void *post_loop(void *arg)
{
    struct server *sv = arg;
    const struct tracker_options *o = &sv->hall.tracker->o;
    struct caller *replies;
    struct why why = {""};
    int64_t start_ns;

    while (collect_replies(sv, &replies)) {
        start_ns = clock_now_ns();
        if (o->ops->flush(o->store, &why) != ERR_OK) {
            store_has_failed(sv, &why);
            return NULL;
        }
        meter_add(&sv->hall.tracker->flushes, clock_now_ns() - start_ns);
        answer(sv, replies);
    }
    return NULL;
}

static void post(struct server *sv, struct caller *left)
{
    struct caller *last = left;

    while (last && last->next)
        last = last->next;
    if (!last)
        return;
    pthread_mutex_lock(&sv->lock);
    last->next = sv->replies;
    sv->replies = left;
    pthread_cond_signal(&sv->mail);
    pthread_mutex_unlock(&sv->lock);
}

/* ---- turns ---- */

/* One turn: requests of one transaction, then the commit, then the replies go to the post. Requests that come meanwhile
 * make the next batch, so nobody is kept waiting for company. */
static bool turn(struct server *sv, const struct work *b)
{
    const struct tracker_options *o = &sv->hall.tracker->o;
    struct caller *left = NULL;
    struct why why = {""};
    struct slot *s;
    size_t n_bytes = 0;
    bool ok = hall_begin(&sv->hall);

    for (int n = 0; ok && n < HALL_MAX_BATCH && n_bytes < QUEUED_BYTES && (s = next_queued(sv)) != NULL; n++) {
        n_bytes += s->caller.n_bytes;
        ok = hall_enter(&sv->hall, &s->caller);
        if (ok && s->caller.request.shown)
            door_shown(sv->door, s->caller.line);
    }
    ok = ok && hall_end(&sv->hall, b->gone, b->n_gone, &left, &why);
    if (ok) {
        post(sv, left);
        return true;
    }
    if (!why.text[0])
        o->ops->words(o->store, &why);
    store_has_failed(sv, &why);
    return false;
}

static void *core_loop(void *arg)
{
    struct server *sv = arg;
    struct work b;
    bool ok = true;

    while (ok) {
        collect(sv, &b);
        open_slots(sv);
        ok = turn(sv, &b);
        answer_pages(sv, b.pages);
        if (b.stop)
            break;
    }
    pthread_mutex_lock(&sv->lock);
    sv->stopping = sv->core_ended = true;
    turn_pages_away(sv);
    pthread_cond_signal(&sv->mail);
    pthread_mutex_unlock(&sv->lock);
    return NULL;
}

/* ---- starting and stopping ---- */

static int64_t raise_fd_limit(void)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) != 0)
        return 256;
    l.rlim_cur = l.rlim_max < 65536 ? l.rlim_max : 65536;
    setrlimit(RLIMIT_NOFILE, &l);
    getrlimit(RLIMIT_NOFILE, &l);
    return (int64_t)l.rlim_cur;
}

/* What is asked of peers that come to an address with TLS: a certificate where an authority of theirs is named. */
static int set_tls(nng_listener l, const struct tls_files *tls)
{
    int rv = nng_listener_set_string(l, NNG_OPT_TLS_CERT_KEY_FILE, tls->cert);

    if (rv == 0 && tls->ca && *tls->ca)
        rv = nng_listener_set_string(l, NNG_OPT_TLS_CA_FILE, tls->ca);
    if (rv == 0 && tls->ca && *tls->ca)
        rv = nng_listener_set_int(l, NNG_OPT_TLS_AUTH_MODE, NNG_TLS_AUTH_MODE_REQUIRED);
    return rv;
}

static enum err listen_on(struct server *sv, const char *url, const struct tls_files *tls, char real[256],
                          struct why *why)
{
    nng_listener l;
    int rv = nng_listener_create(&l, sv->socket, url), port = 0;
    const char *colon = strrchr(url, ':');

    if (rv == 0)
        nng_listener_set_bool(l, NNG_OPT_TCP_KEEPALIVE, true);
    if (rv == 0 && tls_wanted(url))
        rv = set_tls(l, tls);
    if (rv == 0)
        rv = nng_listener_start(l, 0);
    if (rv != 0)
        return why_set(why, rv == NNG_EADDRINUSE || rv == NNG_EPERM ? ERR_IO : ERR_INPUT,
                       "cannot listen on %s: %s; expected e.g. %s", url, nng_strerror(rv), PROTOCOL_DEFAULT_URL);
    if (nng_listener_get_int(l, NNG_OPT_TCP_BOUND_PORT, &port) == 0 && colon &&
        strncmp(url + (tls_wanted(url) ? 4 : 0), "tcp", 3) == 0)
        snprintf(real, 256, "%.*s:%d", (int)(colon - url), url, port);
    else
        snprintf(real, 256, "%.255s", url);
    if (tls_wanted(url))
        door_expect_tls(sv->door, port);
    return ERR_OK;
}

static enum err open_socket(struct server *sv, const char *url, const struct tls_files *tls, bool plain,
                            struct why *why)
{
    static const struct tls_files none;
    enum err e = tls_check(url, tls ? tls : &none, true, why);
    int rv;

    if (!e)
        e = transport_nng_may_start(why);
    if (e)
        return e;
    rv = nng_rep0_open(&sv->socket);
    if (rv != 0)
        return why_set(why, ERR_IO, "cannot open a socket: %s", nng_strerror(rv));
    nng_socket_set_size(sv->socket, NNG_OPT_RECVMAXSZ,
                        MESSAGE_MAX_BYTES + 4096); /* before listen: its default is no limit */
    nng_pipe_notify(sv->socket, NNG_PIPE_EV_ADD_PRE, pipe_event, sv);
    nng_pipe_notify(sv->socket, NNG_PIPE_EV_REM_POST, pipe_event, sv);
    e = listen_on(sv, url, tls, sv->url, why);
    if (!e && plain && tls_wanted(url))
        return listen_on(sv, "tcp://127.0.0.1:0", NULL, sv->near_url, why);
    strcpy(sv->near_url, sv->url);
    return e;
}

static void init_locks(struct server *sv)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&sv->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&sv->work, &attr);
    pthread_cond_init(&sv->page_done, &attr);
    pthread_cond_init(&sv->mail, &attr);
    pthread_condattr_destroy(&attr);
}

/* How long a peer's host may acknowledge nothing. */
static int64_t dead_ms(const struct tracker *t)
{
    const int64_t ms = 2 * t->o.lease_ms;

    return ms < DEAD_LEAST_MS ? DEAD_LEAST_MS : ms < DEAD_MOST_MS ? ms : DEAD_MOST_MS;
}

enum err server_start(struct tracker *t, const char *url, const struct tls_files *tls, bool plain, struct server **out,
                      struct why *why)
{
    struct server *sv = calloc(1, sizeof *sv);
    const int64_t fds = raise_fd_limit();
    enum err e;

    if (!sv)
        return ERR_NOMEM;
    hall_init(&sv->hall, t);
    sv->max_pipes = fds - OTHER_FDS < MAX_PIPES ? fds - OTHER_FDS : MAX_PIPES;
    if (sv->max_pipes < MIN_PIPES)
        return why_set(
            why, ERR_LIMIT,
            "only %lld files may be open, which is too few to serve anybody: raise the limit (ulimit -n) to %d "
            "or more",
            (long long)fds, OTHER_FDS + MIN_PIPES);
    init_locks(sv);
    e = door_open(sv->max_pipes, &sv->door);
    if (!e)
        door_expect_dead(sv->door, dead_ms(t));
    if (!e)
        e = open_socket(sv, url, tls, plain, why);
    if (!e &&
        (pthread_create(&sv->core, NULL, core_loop, sv) != 0 || pthread_create(&sv->post, NULL, post_loop, sv) != 0))
        e = why_set(why, ERR_NOMEM, "cannot start a thread");
    if (e)
        return e; /* the process ends: nng is not closed */
    *out = sv;
    return ERR_OK;
}

const char *server_url(const struct server *s)
{
    return s->url;
}

const char *server_near_url(const struct server *s)
{
    return s->near_url;
}

enum err server_do(struct server *s, enum err (*work)(struct tracker *t, void *arg), void *arg)
{
    struct page p = {.work = work, .arg = arg, .result = ERR_BUSY};

    pthread_mutex_lock(&s->lock);
    if (s->n_pages < MAX_PAGES && !s->stopping) {
        s->n_pages++;
        p.next = s->pages;
        s->pages = &p; // cppcheck-suppress autoVariables ; this call waits until it is done and unlinked
        pthread_cond_signal(&s->work);
        while (!p.done)
            pthread_cond_wait(&s->page_done, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return p.result;
}

struct text {
    enum err (*render)(struct tracker *t, struct buf *out);
    struct buf *out;
};

static enum err render_text(struct tracker *t, void *arg)
{
    const struct text *text = arg;

    return text->render(t, text->out);
}

enum err server_page(struct server *s, enum err (*render)(struct tracker *t, struct buf *out), struct buf *out)
{
    struct text text = {render, out};

    return server_do(s, render_text, &text);
}

void server_expect_page(struct server *s, int port)
{
    door_expect_page(s->door, port);
}

const struct key *server_key(const struct server *s)
{
    return s->hall.tracker->o.key;
}

bool server_failed(struct server *s, struct why *why)
{
    bool failed;

    pthread_mutex_lock(&s->lock);
    failed = s->failed;
    if (failed && why)
        *why = s->why;
    pthread_mutex_unlock(&s->lock);
    return failed;
}

void server_stop(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->core, NULL);
    pthread_join(s->post, NULL);
}
