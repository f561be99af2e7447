/* SPDX-License-Identifier: MIT */
#include "tracker/transport.h"

#include "core/proc.h"
#include "tracker/address.h"
#include "tracker/protocol.h"
#include "tracker/tls.h"

#include <assert.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <nng/transport/tcp/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SEND_MS 1000      /* waiting for a connection */
#define CLOSE_MS 1000     /* then a socket is left to the end of the process */
#define CLOSE_AGAIN_MS 50 /* while another is left: nng has one thread for all, and it waits for that one */
/* nng draws each pause before it dials again below a longest one, which grows from the first to the second (1.5: in
 * half of the draws it dials at once). So a lease of a second outlives a tracker that is started again at once. */
#define REDIAL_MS 100
#define REDIAL_MAX_MS 500

/* One request on its way: a context and an aio of its own, in the line's list so that an abort finds it. */
struct flight {
    nng_ctx ctx;
    nng_aio *aio;
    bool done;
    struct line *line;
    struct flight *next;
};

struct line {
    nng_socket socket;
    bool opened;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t changed;
    bool aborted;
    struct flight *flights;
};

/* ---- flights ---- */

static void flight_done(void *arg)
{
    struct flight *f = arg;

    pthread_mutex_lock(&f->line->lock);
    f->done = true;
    pthread_cond_broadcast(&f->line->changed);
    pthread_mutex_unlock(&f->line->lock);
}

static enum err flight_open(struct line *l, struct flight *f)
{
    *f = (struct flight){.line = l};
    if (nng_aio_alloc(&f->aio, flight_done, f) != 0)
        return ERR_NOMEM;
    if (nng_ctx_open(&f->ctx, l->socket) != 0) {
        nng_aio_free(f->aio);
        return ERR_CANCELLED;
    }
    pthread_mutex_lock(&l->lock);
    f->next = l->flights;
    l->flights = f;
    pthread_mutex_unlock(&l->lock);
    return ERR_OK;
}

static void flight_close(struct flight *f)
{
    struct flight **p = &f->line->flights;

    pthread_mutex_lock(&f->line->lock);
    while (*p && *p != f)
        p = &(*p)->next;
    assert(*p == f);
    *p = f->next;
    pthread_mutex_unlock(&f->line->lock);
    nng_ctx_close(f->ctx);
    nng_aio_free(f->aio);
}

/* An abort meets a flight between its halves too, when there is nothing to abort: hence the look every second. */
static bool wait_done(struct flight *f)
{
    struct line *l = f->line;
    struct timespec t;
    bool aborted;

    pthread_mutex_lock(&l->lock);
    while (!f->done) {
        if (l->aborted)
            nng_aio_abort(f->aio, NNG_ECANCELED); /* calls back from another thread: no lock is taken here */
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_sec++;
        pthread_cond_timedwait(&l->changed, &l->lock, &t);
    }
    aborted = l->aborted;
    pthread_mutex_unlock(&l->lock);
    return aborted;
}

/* Runs one half of an exchange to its end; ERR_UNREACHABLE when the connection went, ERR_TIMEOUT, ERR_CANCELLED. */
static enum err flight_run(struct flight *f, void (*start)(nng_ctx, nng_aio *), int64_t timeout_ms)
{
    bool aborted;

    pthread_mutex_lock(&f->line->lock);
    aborted = f->line->aborted;
    f->done = false;
    pthread_mutex_unlock(&f->line->lock);
    if (aborted)
        return ERR_CANCELLED;
    nng_aio_set_timeout(f->aio, (nng_duration)timeout_ms);
    start(f->ctx, f->aio);
    aborted = wait_done(f);
    nng_aio_wait(f->aio); /* the callback has returned */
    switch (nng_aio_result(f->aio)) {
    case 0:
        return ERR_OK;
    case NNG_ETIMEDOUT:
        return aborted ? ERR_CANCELLED : ERR_TIMEOUT;
    case NNG_ENOMEM:
        return ERR_NOMEM;
    default:
        return aborted ? ERR_CANCELLED : ERR_UNREACHABLE;
    }
}

static enum err send_bytes(struct flight *f, const void *bytes, size_t n_bytes)
{
    nng_msg *m;
    enum err e;

    if (nng_msg_alloc(&m, 0) != 0)
        return ERR_NOMEM;
    if (nng_msg_append(m, bytes, n_bytes) != 0) {
        nng_msg_free(m);
        return ERR_NOMEM;
    }
    nng_aio_set_msg(f->aio, m);
    e = flight_run(f, nng_ctx_send, SEND_MS);
    if (e)
        nng_msg_free(m);
    return e == ERR_TIMEOUT ? ERR_UNREACHABLE : e;
}

/* ---- the ops ---- */

static enum err nng_line_exchange(struct line *l, const void *bytes, size_t n_bytes, int64_t timeout_ms,
                                  struct letter *reply)
{
    struct flight f;
    enum err e = flight_open(l, &f);

    if (e)
        return e;
    e = send_bytes(&f, bytes, n_bytes);
    if (!e)
        e = flight_run(&f, nng_ctx_recv, timeout_ms);
    if (!e) {
        nng_msg *m = nng_aio_get_msg(f.aio);

        *reply = (struct letter){.bytes = nng_msg_body(m), .n_bytes = nng_msg_len(m), .own = m};
    }
    flight_close(&f);
    return e;
}

static void nng_line_discard(struct letter *reply)
{
    if (reply->own)
        nng_msg_free(reply->own);
    *reply = (struct letter){.own = NULL};
}

static void nng_line_abort(struct line *l)
{
    pthread_mutex_lock(&l->lock);
    l->aborted = true;
    for (struct flight *f = l->flights; f; f = f->next)
        nng_aio_abort(f->aio, NNG_ECANCELED);
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

/* nng_close hangs now and then (nng's issues 1543 and 1813; here 1.5.2, once in some thousand, in a test under load): a
 * thread closes, and one that does not end in time is left behind with its socket. */
static atomic_int n_left_behind;

struct closing {
    nng_socket socket;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t ended;
    bool done, left;
    int n_users; /* the thread and who waits: the last frees */
};

static void closing_leave(struct closing *c)
{
    const int left = --c->n_users;

    pthread_mutex_unlock(&c->lock);
    if (left > 0)
        return;
    pthread_cond_destroy(&c->ended);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static void *close_socket(void *arg)
{
    struct closing *c = arg;

    nng_close(c->socket);
    pthread_mutex_lock(&c->lock);
    c->done = true;
    if (c->left)
        atomic_fetch_sub(&n_left_behind, 1);
    pthread_cond_signal(&c->ended);
    closing_leave(c);
    return NULL;
}

static void init_monotonic(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

static struct timespec in_ms(int64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)ms % 1000 * 1000000;
    t.tv_sec += (time_t)(ms / 1000) + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Without memory or a thread the socket stays open until the process ends. */
static void close_or_leave(nng_socket socket)
{
    struct closing *c = calloc(1, sizeof *c);
    struct timespec until;
    pthread_t thread;

    if (!c)
        return;
    *c = (struct closing){.socket = socket, .n_users = 2};
    pthread_mutex_init(&c->lock, NULL);
    init_monotonic(&c->ended);
    pthread_mutex_lock(&c->lock);
    if (pthread_create(&thread, NULL, close_socket, c) != 0) {
        c->n_users = 1;
        closing_leave(c);
        return;
    }
    pthread_detach(thread);
    until = in_ms(atomic_load(&n_left_behind) ? CLOSE_AGAIN_MS : CLOSE_MS);
    while (!c->done && pthread_cond_timedwait(&c->ended, &c->lock, &until) == 0)
        ;
    c->left = !c->done;
    if (c->left)
        atomic_fetch_add(&n_left_behind, 1);
    closing_leave(c);
}

static void nng_line_close(struct line *l)
{
    if (!l)
        return;
    assert(!l->flights);
    if (l->opened)
        close_or_leave(l->socket);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* nng 1.5: a poller, a resolver's four, a timer, a reaper; and for each CPU two for tasks and one for what expires. */
enum err transport_nng_may_start(struct why *why)
{
    static atomic_bool looked;
    const long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int n = 8 + 3 * (int)(n_cpus < 1 ? 1 : n_cpus < 8 ? n_cpus : 8);
    enum err e = ERR_OK;

    if (!atomic_load(&looked))
        e = proc_try_threads(n, why);
    atomic_store(&looked, !e);
    return e;
}

/* Of an address with TLS; that the tracker's certificate is checked is nng's default. */
static int set_tls(nng_dialer d, const char *url, const struct tls_files *files)
{
    int rv = tls_wanted(url) ? nng_dialer_set_string(d, NNG_OPT_TLS_CA_FILE, files->ca) : 0;

    if (rv == 0 && tls_wanted(url) && files->cert && *files->cert)
        rv = nng_dialer_set_string(d, NNG_OPT_TLS_CERT_KEY_FILE, files->cert);
    return rv;
}

static enum err dial(struct line *l, const char *url, const struct tls_files *files, struct why *why)
{
    struct address address;
    nng_dialer d;
    enum err e = address_read(url, strlen(url), false, &address, why); /* nng dials what is none for ever */
    int rv;

    if (!e)
        e = tls_check(url, files, false, why);
    if (!e)
        e = transport_nng_may_start(why);
    if (e)
        return e;
    rv = nng_req0_open(&l->socket);
    if (rv != 0)
        return why_set(why, ERR_IO, "cannot open a socket: %s", nng_strerror(rv));
    l->opened = true;
    nng_socket_set_size(l->socket, NNG_OPT_RECVMAXSZ, MESSAGE_MAX_BYTES + 4096);
    nng_socket_set_ms(l->socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
    nng_socket_set_ms(l->socket, NNG_OPT_RECONNMINT, REDIAL_MS);
    nng_socket_set_ms(l->socket, NNG_OPT_RECONNMAXT, REDIAL_MAX_MS);
    rv = nng_dialer_create(&d, l->socket, url);
    if (rv == 0)
        rv = set_tls(d, url, files);
    if (rv != 0)
        return why_set(why, ERR_INPUT, "%s is no address of a tracker: %s; expected e.g. %s", url, nng_strerror(rv),
                       PROTOCOL_DEFAULT_URL);
    nng_dialer_set_bool(d, NNG_OPT_TCP_KEEPALIVE, true);
    rv = nng_dialer_start(d, NNG_FLAG_NONBLOCK);
    if (rv != 0)
        return why_set(why, ERR_INPUT, "%s cannot be dialled: %s", url, nng_strerror(rv));
    return ERR_OK;
}

static enum err nng_line_open(void *arg, const char *url, struct line **out, struct why *why)
{
    static const struct tls_files none;
    struct line *l = calloc(1, sizeof *l);
    enum err e;

    if (!l)
        return ERR_NOMEM;
    pthread_mutex_init(&l->lock, NULL);
    init_monotonic(&l->changed);
    e = dial(l, url, arg ? arg : &none, why);
    if (e) {
        nng_line_close(l);
        return e;
    }
    *out = l;
    return ERR_OK;
}

const struct transport_ops transport_nng = {
    .name = "nng",
    .open = nng_line_open,
    .exchange = nng_line_exchange,
    .discard = nng_line_discard,
    .abort = nng_line_abort,
    .close = nng_line_close,
};
