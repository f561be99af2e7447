/* SPDX-License-Identifier: MIT */
#include "tracker/door.h"

#include "core/clock.h"
#include "tracker/table.h"

#include <assert.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define MAX_SHAKING 1024

/* Address and port of a peer, as bytes that are compared. */
struct place {
    unsigned char host[16];
    uint16_t family, port;
};

/* A connection; shown ones stay in `places` only. */
struct visitor {
    struct place from;
    uint32_t pipe;
    int fd; /* -1 = not looked for */
    int64_t since_ns;
    uint64_t n_taken; /* bytes of whole messages of his: those wait for nobody */
    bool shown;
    struct visitor *prev, *next; /* of the strangers, the oldest first */
};

/* A connection that nng does not tell of: its handshake goes on. */
struct shaking {
    struct place from;
    int64_t since_ns;
    bool seen;
};

struct door {
    pthread_mutex_t lock; /* all up to n_strangers */
    pthread_cond_t came;
    struct table pipes, places; /* of visitors */
    struct visitor *first, *last;
    atomic_int n_strangers;
    atomic_int tls_port;                 /* 0 = none */
    struct shaking shaking[MAX_SHAKING]; /* the thread's own */
    int n_shaking;
};

/* ---- places ---- */

static bool place_of(const struct sockaddr_storage *a, struct place *out)
{
    memset(out, 0, sizeof *out);
    out->family = a->ss_family;
    if (a->ss_family == AF_INET) {
        memcpy(out->host, &((const struct sockaddr_in *)a)->sin_addr, 4);
        out->port = ((const struct sockaddr_in *)a)->sin_port;
    } else if (a->ss_family == AF_INET6) {
        memcpy(out->host, &((const struct sockaddr_in6 *)a)->sin6_addr, 16);
        out->port = ((const struct sockaddr_in6 *)a)->sin6_port;
    }
    return out->port != 0;
}

static bool place_of_pipe(nng_pipe p, struct place *out)
{
    nng_sockaddr a;

    memset(out, 0, sizeof *out);
    if (nng_pipe_get_addr(p, NNG_OPT_REMADDR, &a) != 0)
        return false;
    if (a.s_family == NNG_AF_INET) {
        out->family = AF_INET;
        memcpy(out->host, &a.s_in.sa_addr, 4);
        out->port = a.s_in.sa_port;
    } else if (a.s_family == NNG_AF_INET6) {
        out->family = AF_INET6;
        memcpy(out->host, a.s_in6.sa_addr, 16);
        out->port = a.s_in6.sa_port;
    }
    return out->port != 0;
}

static bool peer_of(int fd, struct place *out)
{
    struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
    socklen_t n = sizeof a;

    return getpeername(fd, (struct sockaddr *)&a, &n) == 0 && place_of(&a, out);
}

static int own_port(int fd)
{
    struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
    socklen_t n = sizeof a;
    struct place p;

    return getsockname(fd, (struct sockaddr *)&a, &n) == 0 && place_of(&a, &p) ? ntohs(p.port) : 0;
}

static bool is_same(const struct place *a, const struct place *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool is_same_host(const struct place *a, const struct place *b)
{
    return a->family == b->family && memcmp(a->host, b->host, sizeof a->host) == 0;
}

/* ---- coming and going ---- */

static void unlink_stranger(struct door *d, struct visitor *v)
{
    assert(d->first && d->last && atomic_load(&d->n_strangers) > 0);
    *(v->prev ? &v->prev->next : &d->first) = v->next;
    *(v->next ? &v->next->prev : &d->last) = v->prev;
    atomic_fetch_sub(&d->n_strangers, 1);
}

void door_came(struct door *d, nng_pipe p)
{
    struct visitor *v = calloc(1, sizeof *v);

    if (!v || !place_of_pipe(p, &v->from)) { /* of this machine: ipc, inproc */
        free(v);
        return;
    }
    v->pipe = (uint32_t)nng_pipe_id(p);
    v->fd = -1;
    v->since_ns = clock_now_ns();
    pthread_mutex_lock(&d->lock);
    if (table_put_i64(&d->pipes, v->pipe, v) != ERR_OK) {
        free(v);
    } else {
        table_put(&d->places, &v->from, sizeof v->from, v);
        v->prev = d->last;
        *(d->last ? &d->last->next : &d->first) = v;
        d->last = v;
        if (atomic_fetch_add(&d->n_strangers, 1) == 0)
            pthread_cond_signal(&d->came);
    }
    pthread_mutex_unlock(&d->lock);
}

void door_took(struct door *d, uint32_t pipe, size_t n_bytes)
{
    struct visitor *v;

    if (atomic_load(&d->n_strangers) == 0)
        return;
    pthread_mutex_lock(&d->lock);
    v = table_get_i64(&d->pipes, pipe);
    if (v)
        v->n_taken += n_bytes;
    pthread_mutex_unlock(&d->lock);
}

void door_shown(struct door *d, uint32_t pipe)
{
    struct visitor *v;

    if (atomic_load(&d->n_strangers) == 0)
        return;
    pthread_mutex_lock(&d->lock);
    v = table_get_i64(&d->pipes, pipe);
    if (v && !v->shown) {
        v->shown = true;
        unlink_stranger(d, v);
    }
    pthread_mutex_unlock(&d->lock);
}

void door_went(struct door *d, nng_pipe p)
{
    struct visitor *v;

    pthread_mutex_lock(&d->lock);
    v = table_remove_i64(&d->pipes, (uint32_t)nng_pipe_id(p));
    if (v && table_get(&d->places, &v->from, sizeof v->from) == v)
        table_remove(&d->places, &v->from, sizeof v->from);
    if (v && !v->shown)
        unlink_stranger(d, v);
    pthread_mutex_unlock(&d->lock);
    free(v);
}

/* ---- the door's thread ---- */

static uint64_t received_bytes(int fd)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 ? info.tcpi_bytes_received : 0;
}

/* A handshake that nng does not tell of, met once more; true when it has taken too long. nng sees the end of the
 * connection and closes. */
static bool is_overdue(struct door *d, const struct place *from, int64_t now)
{
    struct shaking *s = d->shaking;

    for (int i = 0; i < d->n_shaking; i++, s++)
        if (is_same(&s->from, from)) {
            s->seen = true;
            return now - s->since_ns > DOOR_SHAKE_MS * INT64_C(1000000);
        }
    if (d->n_shaking < MAX_SHAKING)
        d->shaking[d->n_shaking++] = (struct shaking){.from = *from, .since_ns = now, .seen = true};
    return false;
}

static void forget_ended(struct door *d)
{
    int n = 0;

    for (int i = 0; i < d->n_shaking; i++)
        if (d->shaking[i].seen) {
            d->shaking[n] = d->shaking[i];
            d->shaking[n++].seen = false;
        }
    assert(n <= d->n_shaking && d->n_shaking <= MAX_SHAKING);
    d->n_shaking = n;
}

/* Looks at all sockets of this process: strangers get their descriptors, which nng keeps to itself, and handshakes
 * without end are ended. (Were one closed and its number given to another in between, that one would dial again.) */
static void look_around(struct door *d, int64_t now)
{
    struct rlimit l = {.rlim_cur = 1024};
    struct place from;
    struct visitor *v;

    getrlimit(RLIMIT_NOFILE, &l);
    for (int fd = 3, n_missing = 0; fd < (int)l.rlim_cur && n_missing < 1024; fd++) {
        if (!peer_of(fd, &from)) {
            n_missing++;
            continue;
        }
        n_missing = 0;
        pthread_mutex_lock(&d->lock);
        v = table_get(&d->places, &from, sizeof from);
        if (v)
            v->fd = fd;
        pthread_mutex_unlock(&d->lock);
        if (!v && own_port(fd) == atomic_load(&d->tls_port) && is_overdue(d, &from, now))
            shutdown(fd, SHUT_RDWR);
    }
    forget_ended(d);
}

/* Has he stood there too long, sent too much, or are there too many of his address before which he came? */
static bool is_to_go(const struct visitor *v, int64_t now)
{
    const int64_t age_ms = (now - v->since_ns) / 1000000;
    int n_younger = 0, n_seen = 0;
    uint64_t n_bytes;

    assert(v->fd >= 0 && !v->shown && age_ms >= 0);
    if (age_ms > DOOR_PATIENCE_MS)
        return true;
    n_bytes = received_bytes(v->fd);
    if (n_bytes > v->n_taken && n_bytes - v->n_taken > DOOR_BYTES)
        return true;
    for (const struct visitor *o = v->next; o && age_ms > DOOR_CROWD_MS && n_younger < DOOR_CROWD && n_seen < 1024;
         o = o->next, n_seen++)
        n_younger += is_same_host(&o->from, &v->from);
    return n_younger >= DOOR_CROWD;
}

/* nng_pipe_close would hang nng 1.5 now and then: its reaper waits for ever for a receive that was under way. As nng
 * sees it, these peers hang up. */
static void end_strangers(struct door *d)
{
    const int64_t now = clock_now_ns();
    struct place from;

    pthread_mutex_lock(&d->lock);
    for (const struct visitor *v = d->first; v; v = v->next)
        if (v->fd >= 0 && peer_of(v->fd, &from) && is_same(&from, &v->from) && is_to_go(v, now))
            shutdown(v->fd, SHUT_RDWR);
    pthread_mutex_unlock(&d->lock);
}

/* Without strangers it sleeps, but that nobody tells it of handshakes. */
static void await_strangers(struct door *d)
{
    const int64_t ms = atomic_load(&d->n_strangers) ? DOOR_TICK_MS : DOOR_SHAKE_MS / 2;
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&d->lock);
    if (!atomic_load(&d->tls_port) && atomic_load(&d->n_strangers) == 0)
        pthread_cond_wait(&d->came, &d->lock);
    else
        pthread_cond_timedwait(&d->came, &d->lock, &t);
    pthread_mutex_unlock(&d->lock);
    if (ms > DOOR_TICK_MS) /* woken by the first that came: most have shown who they are a tick later */
        clock_sleep_ms(DOOR_TICK_MS);
}

/* Is there one whose descriptor is not known, and who has had time to show who he is? */
static bool has_newcomer(struct door *d, int64_t now)
{
    bool has = false;

    pthread_mutex_lock(&d->lock);
    for (const struct visitor *v = d->first; v && !has; v = v->next)
        has = v->fd < 0 && now - v->since_ns > DOOR_TICK_MS / 2 * INT64_C(1000000);
    pthread_mutex_unlock(&d->lock);
    return has;
}

static void *watch(void *arg)
{
    struct door *d = arg;
    int64_t looked_ns = 0;

    for (;;) {
        const bool due = atomic_load(&d->tls_port) && clock_now_ns() - looked_ns > DOOR_SHAKE_MS / 2 * INT64_C(1000000);

        if (due || has_newcomer(d, clock_now_ns()))
            look_around(d, looked_ns = clock_now_ns());
        end_strangers(d);
        await_strangers(d);
    }
    return NULL;
}

void door_expect_tls(struct door *d, int port)
{
    atomic_store(&d->tls_port, port);
    pthread_mutex_lock(&d->lock);
    pthread_cond_signal(&d->came);
    pthread_mutex_unlock(&d->lock);
}

enum err door_open(struct door **out)
{
    struct door *d = calloc(1, sizeof *d);
    pthread_condattr_t attr;
    pthread_t thread;

    if (!d)
        return ERR_NOMEM;
    pthread_mutex_init(&d->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&d->came, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&thread, NULL, watch, d) != 0) {
        free(d);
        return ERR_NOMEM;
    }
    *out = d;
    return ERR_OK;
}
