/* SPDX-License-Identifier: MIT */
#include "tracker/door.h"

#include "core/clock.h"
#include "tracker/table.h"

#include <assert.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define LEAST_HELLO 50 /* bytes of a TLS hello, at the least */

/* Address and port of a peer, as bytes that are compared. */
struct place {
    unsigned char host[16];
    uint16_t family, port;
};

/* A connection; shown ones stay in `places` only. */
struct visitor {
    struct place from;
    uint32_t pipe; /* 0 = nng does not tell of it yet: its TLS handshake goes on */
    int fd;        /* -1 = not looked for */
    int64_t since_ns;
    uint64_t n_taken; /* bytes of whole messages of his: those wait for nobody */
    bool shown, refused;
    bool limited;                /* its silence: see limit_silence */
    bool seen;                   /* of a handshake: at the last look */
    struct visitor *prev, *next; /* of the strangers, the oldest first */
};

struct door {
    pthread_mutex_t lock; /* all up to n_shaking */
    pthread_cond_t came;
    struct table pipes, places; /* of visitors */
    struct visitor *first, *last;
    atomic_int n_strangers;
    int n_shaking; /* of the strangers */
    int most;
    atomic_int tls_port, page_port; /* 0 = none */
    atomic_int silent_ms;           /* 0 = for ever */
    atomic_bool fresh;              /* pipes came since the last look */
    int n_pages;                    /* at the last look; the door's thread's own */
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

/* With IPv6 a network of 64 bits is one: a machine there has as many addresses as it likes. */
static bool is_same_host(const struct place *a, const struct place *b)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}; /* IPv4 in IPv6 */
    const bool is_net = a->family == AF_INET6 && memcmp(a->host, mapped, sizeof mapped) != 0;

    return a->family == b->family && memcmp(a->host, b->host, is_net ? 8 : sizeof a->host) == 0;
}

static int max_files(void)
{
    struct rlimit l = {.rlim_cur = 1024};

    getrlimit(RLIMIT_NOFILE, &l);
    return l.rlim_cur < INT_MAX ? (int)l.rlim_cur : INT_MAX;
}

/* The first socket of this process from fd on that has a peer, and whom; -1: there is none. */
static int next_socket(int fd, int n_files, struct place *peer)
{
    for (int n_missing = 0; fd < n_files && n_missing < 1024; fd++, n_missing++)
        if (peer_of(fd, peer))
            return fd;
    return -1;
}

/* There is no memory to watch him. */
static void turn_away(const struct place *who)
{
    const int n_files = max_files();
    struct place peer;

    for (int fd = 3; (fd = next_socket(fd, n_files, &peer)) >= 0; fd++)
        if (is_same(&peer, who))
            shutdown(fd, SHUT_RDWR);
}

/* ---- coming and going ---- */

static void unlink_stranger(struct door *d, struct visitor *v)
{
    assert(d->first && d->last && atomic_load(&d->n_strangers) > 0);
    *(v->prev ? &v->prev->next : &d->first) = v->next;
    *(v->next ? &v->next->prev : &d->last) = v->prev;
    atomic_fetch_sub(&d->n_strangers, 1);
    d->n_shaking -= !v->pipe;
}

static void link_stranger(struct door *d, struct visitor *v)
{
    v->since_ns = clock_now_ns();
    v->prev = d->last;
    v->next = NULL;
    *(d->last ? &d->last->next : &d->first) = v;
    d->last = v;
    d->n_shaking += !v->pipe;
    if (atomic_fetch_add(&d->n_strangers, 1) == 0)
        pthread_cond_signal(&d->came);
}

/* The visitor from there: one whose handshake has ended, or a new one; NULL on lack of memory. */
static struct visitor *take_visitor(struct door *d, const struct place *from)
{
    struct visitor *v = table_get(&d->places, from, sizeof *from);

    if (v && !v->pipe) {
        unlink_stranger(d, v);
        return v;
    }
    v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->from = *from;
    v->fd = -1;
    if (table_put(&d->places, &v->from, sizeof v->from, v) == ERR_OK)
        return v;
    free(v);
    return NULL;
}

static void forget_place(struct door *d, const struct visitor *v)
{
    if (table_get(&d->places, &v->from, sizeof v->from) == v)
        table_remove(&d->places, &v->from, sizeof v->from);
}

void door_came(struct door *d, nng_pipe p, bool refused)
{
    struct visitor *v;
    struct place from;

    if (!place_of_pipe(p, &from)) /* gone again */
        return;
    pthread_mutex_lock(&d->lock);
    v = take_visitor(d, &from);
    if (v && table_put_i64(&d->pipes, (uint32_t)nng_pipe_id(p), v) == ERR_OK) {
        v->pipe = (uint32_t)nng_pipe_id(p);
        v->refused = refused;
        atomic_store(&d->fresh, true);
        link_stranger(d, v);
    } else {
        if (v)
            forget_place(d, v);
        free(v);
        turn_away(&from);
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
    if (v && !v->shown && !v->refused) {
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
    if (v)
        forget_place(d, v);
    if (v && !v->shown)
        unlink_stranger(d, v);
    pthread_mutex_unlock(&d->lock);
    free(v);
}

/* ---- the door's thread ---- */

static struct tcp_info info_of(int fd)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof info;

    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n);
    return info;
}

/* Has he sent less than a handshake begins with? */
static bool is_silent(int fd)
{
    return info_of(fd).tcpi_bytes_received < LEAST_HELLO;
}

/* Has he, and not nng, had to send something for two looks or more? An answer needs its time on the way, however long
 * he waited for nng before: in a crowd of agents that all come at once the oldest is the next to be answered. */
static bool is_his_turn(int fd)
{
    const struct tcp_info info = info_of(fd);
    int n_unread = 0;

    ioctl(fd, FIONREAD, &n_unread);
    return n_unread == 0 && info.tcpi_last_data_sent > 2 * DOOR_TICK_MS &&
           (is_silent(fd) || info.tcpi_last_data_sent <= info.tcpi_last_data_recv);
}

/* Has he not said anything for as long as a handshake may stand still, though it is his turn? */
static bool is_still(int fd)
{
    return is_his_turn(fd) && info_of(fd).tcpi_last_data_recv > DOOR_SHAKE_MS;
}

/* A connection whose handshake goes on, met for the first time. */
static void add_shaking(struct door *d, const struct place *from, int fd)
{
    struct visitor *v = calloc(1, sizeof *v);

    if (!v)
        return;
    v->from = *from;
    v->fd = fd;
    v->seen = true;
    if (table_put(&d->places, &v->from, sizeof v->from, v) == ERR_OK)
        link_stranger(d, v);
    else
        free(v);
}

/* A connection to the page: who asks nothing and hears nothing goes, of too many sooner; who asks byte by byte and has
 * heard nothing for twice as long; and who sends heads without an end, which nng keeps: an answer is longer than an
 * eighth of what was asked. */
static void end_page(const struct door *d, int fd)
{
    const struct tcp_info info = info_of(fd);
    const uint32_t most_ms = d->n_pages > d->most / 4 ? DOOR_PAGE_CROWD_MS : DOOR_PAGE_MS;
    const bool is_idle = info.tcpi_last_data_sent > (info.tcpi_last_data_recv > most_ms ? most_ms : 2 * most_ms);

    if ((is_idle || info.tcpi_bytes_received > DOOR_BYTES + 8 * info.tcpi_bytes_acked) &&
        own_port(fd) == atomic_load(&d->page_port))
        shutdown(fd, SHUT_RDWR);
}

/* Of a host that is gone without a word. On the listening socket it would be simpler, and end connections that the
 * tracker has no time to accept. */
static void limit_silence(int fd, int silent_ms)
{
    const int on = 1, interval_s = silent_ms / 9000 + 1, n_probes = 3,
              idle_s = silent_ms / 1000 - n_probes * interval_s;

    assert(idle_s > 0);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &n_probes, sizeof n_probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof silent_ms);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/* Handshakes that were not met at this look: nng has closed them. */
static void forget_ended(struct door *d)
{
    for (struct visitor *v = d->first, *next; v; v = next) {
        next = v->next;
        if (!v->pipe && !v->seen) {
            unlink_stranger(d, v);
            forget_place(d, v);
            free(v);
        } else {
            v->seen = false;
        }
    }
}

/* Looks at all sockets of this process: strangers get their descriptors, which nng keeps to itself, and those are met
 * whose TLS handshake goes on, of whom nng does not tell. */
static void look_around(struct door *d)
{
    const int n_files = max_files(), tls_port = atomic_load(&d->tls_port), page_port = atomic_load(&d->page_port);
    struct place from;
    struct visitor *v;
    int n_pages = 0;

    atomic_store(&d->fresh, false);
    for (int fd = 3; (fd = next_socket(fd, n_files, &from)) >= 0; fd++) {
        pthread_mutex_lock(&d->lock);
        v = table_get(&d->places, &from, sizeof from);
        if (v) {
            v->fd = fd;
            v->seen = true;
            if (!v->limited && v->pipe && atomic_load(&d->silent_ms))
                limit_silence(fd, atomic_load(&d->silent_ms));
            v->limited |= v->pipe != 0;
        } else if (tls_port && own_port(fd) == tls_port) {
            add_shaking(d, &from, fd);
        } else if (page_port && own_port(fd) == page_port) {
            n_pages++;
            end_page(d, fd);
        }
        pthread_mutex_unlock(&d->lock);
    }
    d->n_pages = n_pages;
    pthread_mutex_lock(&d->lock);
    forget_ended(d);
    pthread_mutex_unlock(&d->lock);
}

/* Are so many of his address there, before which he came? */
static bool is_crowd(const struct visitor *v)
{
    int n_younger = 0, n_seen = 0;

    for (const struct visitor *o = v->next; o && n_younger < DOOR_CROWD && n_seen < 1024; o = o->next, n_seen++)
        n_younger += is_same_host(&o->from, &v->from);
    return n_younger >= DOOR_CROWD;
}

/* Who went through a handshake has done his part of it: a slow host with many peers needs long to go on. */
static int64_t crowd_ms(const struct door *d, const struct visitor *v)
{
    const int tls_port = atomic_load(&d->tls_port);

    return tls_port && own_port(v->fd) == tls_port ? DOOR_SHAKE_MS : DOOR_CROWD_MS;
}

/* Has he stood there too long, sent too much, or are there too many after him: `n_younger` in all? Who waits for nng
 * in a handshake is not to blame, nor who is slow in one: after a start of the tracker all agents come at once. */
static bool is_to_go(const struct door *d, const struct visitor *v, int64_t now, int n_younger)
{
    const int64_t age_ms = (now - v->since_ns) / 1000000;
    uint64_t n_bytes;

    assert(v->fd >= 0 && !v->shown && age_ms >= 0);
    if (v->refused || age_ms > (v->pipe ? DOOR_PATIENCE_MS : DOOR_SHAKE_MOST_MS))
        return true;
    if (!v->pipe && age_ms > DOOR_SHAKE_MS && is_still(v->fd))
        return true;
    if (n_younger >= d->most && age_ms > 2 * DOOR_TICK_MS && is_his_turn(v->fd))
        return true;
    if (!v->pipe)
        return n_younger >= DOOR_FACTOR * d->most || (age_ms > DOOR_SHAKE_CROWD_MS && is_crowd(v) && is_silent(v->fd));
    n_bytes = info_of(v->fd).tcpi_bytes_received;
    return (n_bytes > v->n_taken && n_bytes - v->n_taken > DOOR_BYTES) || (age_ms > crowd_ms(d, v) && is_crowd(v));
}

/* nng_pipe_close would hang nng 1.5 now and then: its reaper waits for ever for a receive that was under way. As nng
 * sees it, these peers hang up. */
static void end_strangers(struct door *d)
{
    struct place from;
    int64_t now;
    int n_younger;

    pthread_mutex_lock(&d->lock);
    now = clock_now_ns(); /* behind all since_ns: a handshake that ends meanwhile begins anew */
    n_younger = atomic_load(&d->n_strangers) - 1;
    for (const struct visitor *v = d->first; v; v = v->next, n_younger--)
        if (v->fd >= 0 && is_to_go(d, v, now, n_younger) && peer_of(v->fd, &from) && is_same(&from, &v->from))
            shutdown(v->fd, SHUT_RDWR); /* asked for at the last moment: nng may have closed it, and opened another */
    pthread_mutex_unlock(&d->lock);
}

/* Between two looks for what nobody tells of; 0: there is no such thing. */
static int64_t look_ms(const struct door *d)
{
    if (atomic_load(&d->tls_port))
        return DOOR_LOOK_MS;
    if (atomic_load(&d->fresh) && atomic_load(&d->silent_ms))
        return DOOR_FRESH_MS;
    return atomic_load(&d->page_port) ? DOOR_PAGE_LOOK_MS : 0;
}

/* Without strangers it sleeps, but for what nobody tells of. */
static void await_strangers(struct door *d)
{
    const int64_t ms = atomic_load(&d->n_strangers) ? DOOR_TICK_MS : look_ms(d);
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&d->lock);
    if (!ms && atomic_load(&d->n_strangers) == 0)
        pthread_cond_wait(&d->came, &d->lock);
    else
        pthread_cond_timedwait(&d->came, &d->lock, &t);
    pthread_mutex_unlock(&d->lock);
    if (ms != DOOR_TICK_MS) /* woken by the first that came: most have shown who they are a tick later */
        clock_sleep_ms(DOOR_TICK_MS);
}

/* Is there one whose descriptor is not known, and who has had time to show who he is? Or are handshakes to be looked
 * after, since the last look? */
static bool has_newcomer(struct door *d, int64_t now, int64_t looked_ns)
{
    const int64_t since_ms = (now - looked_ns) / 1000000;
    bool has;

    pthread_mutex_lock(&d->lock);
    has = since_ms > 2 * DOOR_TICK_MS && d->n_shaking > 0;
    has |= look_ms(d) && since_ms >= look_ms(d);
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
        if (has_newcomer(d, clock_now_ns(), looked_ns)) {
            look_around(d);
            looked_ns = clock_now_ns();
        }
        end_strangers(d);
        await_strangers(d);
    }
    return NULL;
}

static void expect(struct door *d, atomic_int *which, int what)
{
    atomic_store(which, what);
    pthread_mutex_lock(&d->lock);
    pthread_cond_signal(&d->came);
    pthread_mutex_unlock(&d->lock);
}

void door_expect_tls(struct door *d, int port)
{
    expect(d, &d->tls_port, port);
}

void door_expect_page(struct door *d, int port)
{
    expect(d, &d->page_port, port);
}

void door_expect_dead(struct door *d, int64_t silent_ms)
{
    expect(d, &d->silent_ms, (int)silent_ms);
}

enum err door_open(int64_t n_connections, struct door **out)
{
    struct door *d = calloc(1, sizeof *d);
    pthread_condattr_t attr;
    pthread_t thread;

    if (!d)
        return ERR_NOMEM;
    d->most = (int)(n_connections / 8 < DOOR_MOST ? n_connections / 8 + 1 : DOOR_MOST);
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
