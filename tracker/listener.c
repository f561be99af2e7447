/* SPDX-License-Identifier: MIT */
#include "tracker/listener.h"

#include "core/clock.h"
#include "tracker/protocol.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define GREETING 8
#define HEAD 8     /* of a message: its length */
#define MAX_HOPS 8 /* of 4 bytes; the last has its highest bit set: the request's number */
#define MAX_LETTER (MESSAGE_MAX_BYTES + 4096)
#define FIRST_BYTES 512                 /* room for a message; it grows as its bytes come, not as they are announced */
#define READ_BYTES 65536                /* from one connection before it is another's turn */
#define MAX_UNDERWAY 256                /* requests of one connection; then it is read again when one was answered */
#define UNSENT_BYTES ((size_t)16 << 20) /* for a peer that reads nothing; then its connection is closed */
#define GREET_MS 10000                  /* likewise for one that does not say what it speaks */
#define N_EVENTS 256

struct mail {
    struct connection *from;
    size_t n_trace, n; /* bytes before the request, which go before its reply; all bytes */
    unsigned char bytes[];
};

struct connection {
    struct listener *listener;
    uint32_t line;
    int64_t came_ns;
    struct connection *prev, *next; /* of all, and this half: the listener's thread's own */
    bool greeted;
    unsigned char head[HEAD];
    size_t n_head;
    struct mail *mail; /* that is coming */
    size_t n_due, n_room;
    pthread_mutex_t lock; /* all below */
    int fd;               /* -1 = closed */
    int n_users;          /* mails, and the listener */
    bool waits;           /* nothing is read from it now */
    struct buf unsent;
    size_t n_sent; /* of it */
};

struct listener {
    const struct listener_ops *ops;
    void *arg;
    char url[256];
    int fd, epoll_fd, stop_fd;
    pthread_t thread;
    bool started;
    int64_t n_lines, max_lines, swept_ns;
    uint32_t last_line;
    struct connection *first;
    unsigned char room[READ_BYTES];
};

static const unsigned char our_greeting[GREETING] = {0, 'S', 'P', 0, 0, 0x31, 0, 0}; /* REP */
static const unsigned char their_greeting[GREETING] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};

static void put_u64(unsigned char *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[7 - i] = (unsigned char)(v >> (8 * i));
}

static uint64_t get_u64(const unsigned char *p)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v = v << 8 | p[i];
    return v;
}

/* ---- connections: any thread ---- */

/* What is asked of epoll; the lock is held. */
static void watch(struct connection *c)
{
    const bool waits = c->n_users > MAX_UNDERWAY || c->unsent.len;
    struct epoll_event ev = {.events = (waits ? 0 : EPOLLIN) | (c->unsent.len ? EPOLLOUT : 0), .data.ptr = c};

    c->waits = waits;
    epoll_ctl(c->listener->epoll_fd, EPOLL_CTL_MOD, c->fd, &ev);
}

/* One user less; takes the lock's place. */
static void leave(struct connection *c)
{
    const int left = --c->n_users;

    assert(left >= 0);
    if (left && c->waits && c->fd >= 0)
        watch(c);
    pthread_mutex_unlock(&c->lock);
    if (left)
        return;
    buf_fini(&c->unsent);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static bool is_for_later(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* Keeps what the system did not take; the lock is held. */
static void keep_unsent(struct connection *c, const struct iovec *parts, int n_parts, size_t n_sent)
{
    for (int i = 0; i < n_parts; i++) {
        const size_t skip = n_sent < parts[i].iov_len ? n_sent : parts[i].iov_len;

        n_sent -= skip;
        if (parts[i].iov_len > skip)
            buf_append(&c->unsent, (const char *)parts[i].iov_base + skip, parts[i].iov_len - skip);
    }
    if (c->unsent.failed)
        shutdown(c->fd, SHUT_RDWR); /* the listener hears that and closes it */
    watch(c);
}

static void send_parts(struct connection *c, struct iovec *parts, int n_parts, size_t n)
{
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = (size_t)n_parts};
    const ssize_t got = c->unsent.len ? 0 : sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (got >= 0 ? (size_t)got < n : is_for_later(got)) /* other errors are told by epoll */
        keep_unsent(c, parts, n_parts, got > 0 ? (size_t)got : 0);
}

const void *mail_bytes(const struct mail *m, size_t *n)
{
    *n = m->n - m->n_trace;
    return m->bytes + m->n_trace;
}

uint32_t mail_line(const struct mail *m)
{
    return m->from->line;
}

void mail_answer(struct mail *m, const void *reply, size_t n)
{
    struct connection *c = m->from;
    unsigned char head[HEAD];
    struct iovec parts[] = {{head, HEAD}, {m->bytes, m->n_trace}, {(void *)(uintptr_t)reply, n}};

    put_u64(head, m->n_trace + n);
    pthread_mutex_lock(&c->lock);
    if (c->fd >= 0)
        send_parts(c, parts, 3, HEAD + m->n_trace + n);
    leave(c);
    free(m);
}

void mail_drop(struct mail *m)
{
    pthread_mutex_lock(&m->from->lock);
    leave(m->from);
    free(m);
}

/* ---- the listener's thread ---- */

static void close_line(struct connection *c)
{
    struct listener *l = c->listener;
    const uint32_t line = c->line;

    *(c->prev ? &c->prev->next : &l->first) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    assert(l->n_lines > 0);
    l->n_lines--;
    free(c->mail);
    pthread_mutex_lock(&c->lock);
    close(c->fd); /* epoll forgets it */
    c->fd = -1;
    leave(c);
    l->ops->gone(l->arg, line);
}

/* The bytes that go before the reply; 0: it is no request. */
static size_t trace_of(const struct mail *m)
{
    for (size_t n = 4; n <= m->n && n <= (size_t)4 * MAX_HOPS; n += 4)
        if (m->bytes[n - 4] & 0x80)
            return n;
    return 0;
}

static bool deliver(struct connection *c)
{
    struct mail *m = c->mail;

    m->from = c;
    m->n_trace = trace_of(m);
    if (!m->n_trace)
        return false;
    c->mail = NULL;
    c->n_head = 0;
    pthread_mutex_lock(&c->lock);
    c->n_users++;
    if (c->n_users > MAX_UNDERWAY)
        watch(c);
    pthread_mutex_unlock(&c->lock);
    c->listener->ops->take(c->listener->arg, m);
    return true;
}

/* Room for n more bytes of the message that comes. */
static bool make_room(struct connection *c, size_t n)
{
    size_t wanted = c->n_room ? c->n_room : FIRST_BYTES;
    struct mail *m;

    while (wanted < c->mail->n + n)
        wanted *= 2;
    if (wanted > c->n_due)
        wanted = c->n_due;
    if (wanted <= c->n_room)
        return true;
    m = realloc(c->mail, sizeof *m + wanted);
    if (!m)
        return false;
    c->mail = m;
    c->n_room = wanted;
    return true;
}

/* Another message begins: its length is there. */
static bool begin(struct connection *c)
{
    const uint64_t n = get_u64(c->head);

    if (n < 4 || n > MAX_LETTER)
        return false;
    c->mail = calloc(1, sizeof *c->mail);
    c->n_due = (size_t)n;
    c->n_room = 0;
    return c->mail != NULL;
}

/* Takes the next of n bytes that came, at least one; *n_taken. False: not what a peer sends. */
static bool take_some(struct connection *c, const unsigned char *p, size_t n, size_t *n_taken)
{
    if (!c->mail) {
        *n_taken = n < HEAD - c->n_head ? n : HEAD - c->n_head;
        memcpy(c->head + c->n_head, p, *n_taken);
        c->n_head += *n_taken;
        if (c->n_head < HEAD)
            return true;
        if (c->greeted)
            return begin(c);
        c->greeted = true;
        c->n_head = 0;
        return memcmp(c->head, their_greeting, GREETING) == 0;
    }
    *n_taken = n < c->n_due - c->mail->n ? n : c->n_due - c->mail->n;
    if (!make_room(c, *n_taken))
        return false;
    memcpy(c->mail->bytes + c->mail->n, p, *n_taken);
    c->mail->n += *n_taken;
    return c->mail->n < c->n_due || deliver(c);
}

/* False: it is to be closed. */
static bool read_line(struct connection *c)
{
    const unsigned char *p = c->listener->room;
    const ssize_t got = recv(c->fd, c->listener->room, READ_BYTES, MSG_DONTWAIT);
    size_t n_taken;

    if (got <= 0)
        return is_for_later(got);
    for (size_t n = (size_t)got; n; n -= n_taken, p += n_taken)
        if (!take_some(c, p, n, &n_taken))
            return false;
    return true;
}

static bool send_unsent(struct connection *c)
{
    ssize_t got;
    bool ok;

    pthread_mutex_lock(&c->lock);
    got = send(c->fd, c->unsent.data + c->n_sent, c->unsent.len - c->n_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    ok = got >= 0 || is_for_later(got);
    c->n_sent += got > 0 ? (size_t)got : 0;
    if (c->n_sent == c->unsent.len) {
        buf_fini(&c->unsent);
        buf_init(&c->unsent, UNSENT_BYTES);
        c->n_sent = 0;
        watch(c);
    }
    pthread_mutex_unlock(&c->lock);
    return ok;
}

static void serve_line(struct connection *c, uint32_t events)
{
    bool ok = !(events & (EPOLLERR | EPOLLHUP)) || (events & EPOLLIN);

    if (ok && (events & EPOLLOUT))
        ok = send_unsent(c);
    if (ok && (events & EPOLLIN))
        ok = read_line(c);
    if (!ok)
        close_line(c);
}

static struct connection *line_new(struct listener *l, int fd)
{
    struct connection *c = calloc(1, sizeof *c);
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};

    if (!c || epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
        free(c);
        return NULL;
    }
    *c = (struct connection){.listener = l, .line = ++l->last_line, .fd = fd, .n_users = 1, .next = l->first};
    c->line += c->line == 0;
    l->last_line = c->line;
    c->came_ns = clock_now_ns();
    pthread_mutex_init(&c->lock, NULL);
    buf_init(&c->unsent, UNSENT_BYTES);
    if (l->first)
        l->first->prev = c;
    l->first = c;
    l->n_lines++;
    return c;
}

static void accept_line(struct listener *l)
{
    const int one = 1, fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const bool is_full = l->n_lines >= l->max_lines;

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            clock_sleep_ms(10); /* it stays ready: not a core for that */
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    if (is_full)
        l->ops->full(l->arg);
    if (is_full || send(fd, our_greeting, GREETING, MSG_NOSIGNAL) != GREETING || !line_new(l, fd))
        close(fd);
}

/* Once a second: those that never said what they speak. */
static void sweep(struct listener *l)
{
    const int64_t now = clock_now_ns();

    if (now - l->swept_ns < INT64_C(1000000000))
        return;
    l->swept_ns = now;
    for (struct connection *c = l->first, *next; c; c = next) {
        next = c->next;
        if (!c->greeted && now - c->came_ns > (int64_t)GREET_MS * 1000000)
            close_line(c);
    }
}

static void *listen_loop(void *arg)
{
    struct epoll_event got[N_EVENTS];
    struct listener *l = arg;
    bool stops = false;

    while (!stops) {
        const int n = epoll_wait(l->epoll_fd, got, N_EVENTS, 1000);

        for (int i = 0; i < n; i++)
            if (got[i].data.ptr == &l->fd)
                accept_line(l);
            else if (got[i].data.ptr == &l->stop_fd)
                stops = true;
            else
                serve_line(got[i].data.ptr, got[i].events);
        l->ops->taken(l->arg);
        sweep(l);
    }
    while (l->first)
        close_line(l->first);
    return NULL;
}

/* ---- opening ---- */

/* tcp://[::1]:9477 as family, host without brackets, and port. */
struct address {
    int family;
    char host[200], port[8];
};

static bool read_url(const char *url, struct address *out)
{
    static const struct {
        const char *begin;
        int family;
    } schemes[] = {{"tcp://", AF_UNSPEC}, {"tcp4://", AF_INET}, {"tcp6://", AF_INET6}};
    const char *colon = strrchr(url, ':'), *host;
    size_t n, i = 0;

    while (i < 3 && strncmp(url, schemes[i].begin, strlen(schemes[i].begin)) != 0)
        i++;
    if (i == 3)
        return false;
    host = url + strlen(schemes[i].begin);
    if (colon < host)
        return false;
    n = (size_t)(colon - host);
    if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
        host++;
        n -= 2;
    }
    if (n >= sizeof out->host || strlen(colon + 1) > 5 || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")] ||
        strtol(colon + 1, NULL, 10) > 65535)
        return false;
    out->family = schemes[i].family;
    snprintf(out->host, sizeof out->host, "%.*s", (int)n, strncmp(host, "*", n) == 0 ? "" : host);
    snprintf(out->port, sizeof out->port, "%s", colon + 1);
    return true;
}

static enum err cannot(const char *url, enum err e, const char *words, struct why *why)
{
    return why_set(why, e, "cannot listen on %s: %s; expected e.g. %s", url, words, PROTOCOL_DEFAULT_URL);
}

static enum err bind_to(struct listener *l, const char *url, const struct addrinfo *a, struct why *why)
{
    const int one = 1;

    l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return cannot(url, ERR_IO, strerror(errno), why);
    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(l->fd, a->ai_addr, a->ai_addrlen) != 0 || listen(l->fd, SOMAXCONN) != 0)
        return cannot(url, errno == EADDRNOTAVAIL ? ERR_INPUT : ERR_IO, strerror(errno), why);
    return ERR_OK;
}

static int real_port(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;

    if (getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

static enum err listen_on(struct listener *l, const char *url, struct why *why)
{
    struct addrinfo like = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found = NULL;
    struct address at;
    enum err e;
    int rc;

    if (!read_url(url, &at))
        return cannot(url, ERR_INPUT, "no address", why);
    like.ai_family = at.family;
    rc = getaddrinfo(at.host[0] ? at.host : NULL, at.port, &like, &found);
    if (rc != 0)
        return cannot(url, ERR_INPUT, gai_strerror(rc), why);
    e = bind_to(l, url, found, why);
    freeaddrinfo(found);
    if (!e)
        snprintf(l->url, sizeof l->url, "%.*s:%d", (int)(strrchr(url, ':') - url), url, real_port(l->fd));
    return e;
}

static bool watch_own(struct listener *l, int *fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = fd};

    return *fd >= 0 && epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, *fd, &ev) == 0;
}

enum err listener_open(const char *url, int64_t max_lines, const struct listener_ops *ops, void *arg,
                       struct listener **out, struct why *why)
{
    struct listener *l = calloc(1, sizeof *l);
    enum err e;

    if (!l)
        return ERR_NOMEM;
    l->ops = ops;
    l->arg = arg;
    l->max_lines = max_lines;
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->stop_fd = eventfd(0, EFD_CLOEXEC);
    l->fd = -1;
    e = listen_on(l, url, why);
    if (!e && (!watch_own(l, &l->fd) || !watch_own(l, &l->stop_fd)))
        e = cannot(url, ERR_IO, strerror(errno), why);
    if (!e) {
        l->started = pthread_create(&l->thread, NULL, listen_loop, l) == 0;
        e = l->started ? ERR_OK : why_set(why, ERR_NOMEM, "cannot start a thread");
    }
    if (e) {
        listener_close(l);
        return e;
    }
    *out = l;
    return ERR_OK;
}

const char *listener_url(const struct listener *l)
{
    return l->url;
}

void listener_close(struct listener *l)
{
    const uint64_t one = 1;

    if (!l)
        return;
    if (l->started && write(l->stop_fd, &one, sizeof one) == sizeof one)
        pthread_join(l->thread, NULL);
    if (l->fd >= 0)
        close(l->fd);
    if (l->epoll_fd >= 0)
        close(l->epoll_fd);
    if (l->stop_fd >= 0)
        close(l->stop_fd);
    free(l);
}
