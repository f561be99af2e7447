#include "tracker/server.h"

#include "tracker/execute.h"

#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/transport/tcp/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define N_SLOTS 512    /* requests under way, long polls included */
#define MAX_PARKED 448 /* the rest is for requests that do not wait */
#define MAX_PIPES 4096
#define BATCH 128
#define MAX_PAGES 16
#define QUEUED_BYTES ((size_t)32 << 20)
#define TICK_MS 50

enum slot_state { SLOT_RECEIVING, SLOT_QUEUED, SLOT_PARKED, SLOT_READY, SLOT_SENDING };

/* One context: receives a request, waits for its reply, sends it, and so on. */
struct slot {
    struct server *server;
    nng_ctx ctx;
    nng_aio *aio;
    enum slot_state state;
    nng_msg *raw;
    uint32_t pipe;
    struct request request;
    nng_msg *reply;
    struct slot *next; /* in the queue */
};

struct page {
    enum err (*render)(struct tracker *t, struct buf *out);
    struct buf *out;
    enum err result;
    bool done;
    struct page *next;
};

struct server {
    struct tracker *tracker;
    nng_socket socket;
    char url[256];
    struct slot slots[N_SLOTS];
    pthread_t thread;
    pthread_mutex_t lock; /* the queue, pages, pipes, stopping */
    pthread_cond_t work, page_done;
    struct slot *first, *last;
    size_t queued_bytes;
    struct page *pages;
    int n_pages;
    int64_t n_pipes, max_pipes;
    uint32_t gone[256]; /* pipes that closed since the loop looked */
    int n_gone;
    bool gone_many, stopping, failed;
    struct why why;
    struct slot *parked[MAX_PARKED]; /* the core loop's own */
    int n_parked;
    int64_t ticked_ns;
};

/* ---- on nng's threads ---- */

static void receive(struct slot *s)
{
    s->state = SLOT_RECEIVING;
    nng_ctx_recv(s->ctx, s->aio);
}

/* Too much waits already: the client is told to come again, without its request being looked at. */
static nng_msg *busy_reply(void)
{
    static const char json[] = "{\"ok\":false,\"id\":\"\",\"err\":\"busy\",\"why\":\"the tracker is busy\"}";
    static const unsigned char head[12] = {'T', 'U', 'N', '1', 1, 0, 0, 0, sizeof json - 1, 0, 0, 0};
    nng_msg *m;

    if (nng_msg_alloc(&m, 0) != 0)
        return NULL;
    nng_msg_append(m, head, sizeof head);
    nng_msg_append(m, json, sizeof json - 1);
    return m;
}

static void send_reply(struct slot *s, nng_msg *m)
{
    if (!m) {
        receive(s);
        return;
    }
    s->state = SLOT_SENDING;
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
    s->pipe = (uint32_t)nng_pipe_id(nng_msg_get_pipe(s->raw));
    s->state = SLOT_QUEUED;
    if (enqueue(s->server, s))
        return;
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
    if (s->state == SLOT_SENDING) {
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
    bool refuse = false;

    pthread_mutex_lock(&sv->lock);
    if (ev == NNG_PIPE_EV_ADD_PRE) { /* every pipe that was announced so is announced when it goes, refused ones too */
        refuse = ++sv->n_pipes > sv->max_pipes;
    } else {
        sv->n_pipes--;
        if (sv->n_gone < (int)(sizeof sv->gone / sizeof *sv->gone))
            sv->gone[sv->n_gone++] = (uint32_t)nng_pipe_id(p);
        else
            sv->gone_many = true;
        pthread_cond_signal(&sv->work);
    }
    pthread_mutex_unlock(&sv->lock);
    if (refuse)
        nng_pipe_close(p);
}

/* ---- the core loop ---- */

struct batch {
    struct slot *ready[BATCH + MAX_PARKED];
    int n_ready;
    struct page *pages;
    uint32_t gone[256];
    int n_gone;
    bool stop;
};

static nng_msg *message_of(struct buf *reply)
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

static void make_ready(struct batch *b, struct slot *s, struct buf *reply)
{
    s->reply = message_of(reply);
    s->state = SLOT_READY;
    if (s->raw)
        nng_msg_free(s->raw);
    s->raw = NULL;
    b->ready[b->n_ready++] = s;
}

static bool settle(struct server *sv, struct batch *b, struct slot *s, enum outcome_of_request how, struct buf *reply)
{
    if (how == REQUEST_STORE_FAILED)
        return false;
    make_ready(b, s, reply);
    (void)sv;
    return true;
}

/* An older parked request of the same id lost its connection: its client has sent it again. */
static void drop_double(struct server *sv, struct batch *b, const struct slot *fresh)
{
    for (int i = 0; i < sv->n_parked; i++) {
        struct slot *old = sv->parked[i];
        struct buf none;

        if (strcmp(old->request.id, fresh->request.id) != 0)
            continue;
        buf_init(&none, 1);
        request_fini(&old->request);
        make_ready(b, old, &none);
        sv->parked[i] = sv->parked[--sv->n_parked];
        return;
    }
}

static bool execute(struct server *sv, struct batch *b, struct slot *s)
{
    enum outcome_of_request how;
    struct buf reply;
    bool ok = true;

    buf_init(&reply, MESSAGE_MAX_BYTES + 64);
    how = request_start(sv->tracker, nng_msg_body(s->raw), nng_msg_len(s->raw), &s->request, &reply);
    if (how == REQUEST_PARKED) {
        drop_double(sv, b, s);
        if (sv->n_parked < MAX_PARKED) {
            s->state = SLOT_PARKED;
            sv->parked[sv->n_parked++] = s;
        } else {
            how = request_again(sv->tracker, &s->request, true, &reply);
        }
    }
    if (how != REQUEST_PARKED)
        ok = settle(sv, b, s, how, &reply);
    buf_fini(&reply);
    return ok;
}

static bool is_gone(const struct batch *b, uint32_t pipe)
{
    for (int i = 0; i < b->n_gone; i++)
        if (b->gone[i] == pipe)
            return true;
    return false;
}

/* Long polls: those woken or at their end are tried again; those without a peer end without being granted anything. */
static bool try_parked(struct server *sv, struct batch *b)
{
    const unsigned woken = sv->tracker->woken;
    const int64_t now = tracker_now_ns(sv->tracker);
    bool ok = true;

    sv->tracker->woken = 0;
    for (int i = 0; ok && i < sv->n_parked;) {
        struct slot *s = sv->parked[i];
        const bool gone = is_gone(b, s->pipe), last = gone || now >= s->request.deadline_ns;
        enum outcome_of_request how = REQUEST_PARKED;
        struct buf reply;

        buf_init(&reply, MESSAGE_MAX_BYTES + 64);
        if (gone) {
            request_fini(&s->request);
            how = REQUEST_ANSWERED;
        } else if (last || (s->request.op->wake & woken)) {
            how = request_again(sv->tracker, &s->request, last, &reply);
        }
        if (how == REQUEST_PARKED) {
            i++;
        } else {
            sv->parked[i] = sv->parked[--sv->n_parked];
            ok = settle(sv, b, s, how, &reply);
        }
        buf_fini(&reply);
    }
    return ok;
}

static void wait_work(struct server *sv)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)TICK_MS * 1000000;
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
        sv->queued_bytes -= nng_msg_len(s->raw);
    }
    pthread_mutex_unlock(&sv->lock);
    return s;
}

static void collect(struct server *sv, struct batch *b)
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
        const enum err e = p->render(sv->tracker, p->out);

        next = p->next;
        pthread_mutex_lock(&sv->lock);
        p->result = e;
        p->done = true;
        sv->n_pages--;
        pthread_cond_broadcast(&sv->page_done);
        pthread_mutex_unlock(&sv->lock);
    }
}

/* Deadlines are looked at a few times in the shortest lease, not with every batch. */
static bool tick(struct server *sv)
{
    const int64_t now = tracker_now_ns(sv->tracker);

    if (sv->ticked_ns && now < sv->ticked_ns + (int64_t)TICK_MS / 2 * 1000000)
        return true;
    sv->ticked_ns = now;
    return tracker_tick(sv->tracker) == ERR_OK;
}

/* One turn: requests of one transaction, then the commit, then the replies. Requests that come while a commit waits for
 * the disk make the next batch, so nobody is kept waiting for company. */
static bool turn(struct server *sv, struct batch *b)
{
    struct tracker *t = sv->tracker;
    struct slot *s;
    int n = 0;
    bool ok = tick(sv);

    while (ok && n < BATCH && (s = next_queued(sv)) != NULL) {
        n++;
        ok = execute(sv, b, s);
    }
    ok = ok && try_parked(sv, b);
    if (ok && t->o.ops->commit(t->o.store, &sv->why) != ERR_OK)
        ok = false;
    if (!ok)
        return false;
    t->stats.commits++;
    for (int i = 0; i < b->n_ready; i++) {
        nng_msg *m = b->ready[i]->reply;

        b->ready[i]->reply = NULL;
        send_reply(b->ready[i], m);
    }
    return true;
}

static void *core_loop(void *arg)
{
    struct server *sv = arg;
    struct batch *b = calloc(1, sizeof *b);
    bool ok = b != NULL;

    while (ok) {
        b->n_ready = 0;
        collect(sv, b);
        ok = turn(sv, b);
        answer_pages(sv, b->pages);
        if (b->stop)
            break;
    }
    free(b);
    pthread_mutex_lock(&sv->lock);
    sv->failed = !ok;
    sv->stopping = true;
    if (!ok && !sv->why.text[0])
        why_set(&sv->why, ERR_IO, "the store failed");
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

static enum err open_slots(struct server *sv, struct why *why)
{
    for (int i = 0; i < N_SLOTS; i++) {
        struct slot *s = &sv->slots[i];

        s->server = sv;
        if (nng_ctx_open(&s->ctx, sv->socket) != 0 || nng_aio_alloc(&s->aio, slot_event, s) != 0)
            return why_set(why, ERR_NOMEM, "out of memory");
    }
    return ERR_OK;
}

static enum err listen_on(struct server *sv, const char *url, struct why *why)
{
    nng_listener l;
    int rv = nng_listener_create(&l, sv->socket, url), port = 0;
    const char *colon = strrchr(url, ':');

    if (rv == 0)
        nng_listener_set_bool(l, NNG_OPT_TCP_KEEPALIVE, true);
    if (rv == 0)
        rv = nng_listener_start(l, 0);
    if (rv != 0)
        return why_set(why, rv == NNG_EADDRINUSE || rv == NNG_EPERM ? ERR_IO : ERR_INPUT,
                       "cannot listen on %s: %s; expected e.g. %s", url, nng_strerror(rv), PROTOCOL_DEFAULT_URL);
    if (nng_listener_get_int(l, NNG_OPT_TCP_BOUND_PORT, &port) == 0 && colon && strncmp(url, "tcp", 3) == 0)
        snprintf(sv->url, sizeof sv->url, "%.*s:%d", (int)(colon - url), url, port);
    else
        snprintf(sv->url, sizeof sv->url, "%s", url);
    return ERR_OK;
}

static enum err open_socket(struct server *sv, const char *url, struct why *why)
{
    int rv = nng_rep0_open(&sv->socket);
    enum err e;

    if (rv != 0)
        return why_set(why, ERR_IO, "cannot open a socket: %s", nng_strerror(rv));
    nng_socket_set_size(sv->socket, NNG_OPT_RECVMAXSZ,
                        MESSAGE_MAX_BYTES + 4096); /* before listen: its default is no limit */
    nng_pipe_notify(sv->socket, NNG_PIPE_EV_ADD_PRE, pipe_event, sv);
    nng_pipe_notify(sv->socket, NNG_PIPE_EV_REM_POST, pipe_event, sv);
    e = open_slots(sv, why);
    return e ? e : listen_on(sv, url, why);
}

static void init_locks(struct server *sv)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&sv->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&sv->work, &attr);
    pthread_cond_init(&sv->page_done, &attr);
    pthread_condattr_destroy(&attr);
}

enum err server_start(struct tracker *t, const char *url, struct server **out, struct why *why)
{
    struct server *sv = calloc(1, sizeof *sv);
    const int64_t fds = raise_fd_limit();
    enum err e;

    if (!sv)
        return ERR_NOMEM;
    sv->tracker = t;
    sv->max_pipes = fds - 128 < MAX_PIPES ? fds - 128 : MAX_PIPES;
    init_locks(sv);
    e = open_socket(sv, url, why);
    if (!e && pthread_create(&sv->thread, NULL, core_loop, sv) != 0)
        e = why_set(why, ERR_NOMEM, "cannot start a thread");
    if (e)
        return e; /* the process ends: nng is not closed */
    for (int i = 0; i < N_SLOTS; i++)
        receive(&sv->slots[i]);
    *out = sv;
    return ERR_OK;
}

const char *server_url(const struct server *s)
{
    return s->url;
}

enum err server_page(struct server *s, enum err (*render)(struct tracker *t, struct buf *out), struct buf *out)
{
    struct page p = {.render = render, .out = out, .result = ERR_BUSY};

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
    pthread_join(s->thread, NULL);
}
