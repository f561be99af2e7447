/* SPDX-License-Identifier: MIT */
#include "tracker/events.h"

#include "core/clock.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_MS 250
#define ALIVE_MS 10000 /* between two lines when there is nothing to tell */
#define MAX_LISTENERS 64
#define LATE_BYTES ((size_t)8 << 20) /* of what one has not read yet */

struct listener {
    struct events *events;
    nng_http_conn *conn;
    nng_aio *aio;
    struct buf sending, next; /* under way; behind it */
    bool busy, dead, fresh;   /* fresh: it was not greeted yet */
    struct listener *later;
};

struct events {
    struct server *server;
    pthread_t thread;
    pthread_mutex_t lock; /* all below, and the listeners */
    pthread_cond_t came;
    struct listener *first;
    int n;
};

static const char hello[] = "event: hello\ndata: {}\n\n";

/* ---- one listener ---- */

static void send_next(struct listener *l)
{
    const struct buf sent = l->sending;
    nng_iov iov;

    if (l->busy || l->dead || !l->next.len)
        return;
    l->sending = l->next;
    l->next = sent;
    buf_clear(&l->next);
    iov = (nng_iov){.iov_buf = l->sending.data, .iov_len = l->sending.len};
    nng_aio_set_iov(l->aio, 1, &iov);
    l->busy = true;
    nng_http_conn_write_all(l->conn, l->aio);
}

static void was_sent(void *arg)
{
    struct listener *l = arg;

    pthread_mutex_lock(&l->events->lock);
    l->busy = false;
    l->dead |= nng_aio_result(l->aio) != 0;
    send_next(l);
    pthread_mutex_unlock(&l->events->lock);
}

static void tell(struct listener *l, const char *text, size_t n)
{
    if (buf_append(&l->next, text, n) != ERR_OK)
        l->dead = true; /* it reads too slowly: its browser comes again */
    send_next(l);
}

static void listener_free(struct listener *l)
{
    assert(!l->busy);
    if (l->aio)
        nng_aio_free(l->aio);
    nng_http_conn_close(l->conn);
    buf_fini(&l->sending);
    buf_fini(&l->next);
    free(l);
}

/* ---- all of them ---- */

/* Those that left, and were told nothing more. */
static struct listener *take_dead(struct events *e)
{
    struct listener *dead = NULL;

    for (struct listener **at = &e->first; *at;) {
        struct listener *l = *at;

        if (!l->dead || l->busy) {
            if (l->dead)
                nng_aio_cancel(l->aio);
            at = &l->later;
            continue;
        }
        *at = l->later;
        l->later = dead;
        dead = l;
        e->n--;
    }
    return dead;
}

/* The fresh ones are greeted in its place: they ask for all there is now, and hear of all that comes. */
static void tell_all(struct events *e, const char *text, size_t n)
{
    struct listener *dead;

    pthread_mutex_lock(&e->lock);
    for (struct listener *l = e->first; l; l = l->later) {
        if (l->fresh)
            tell(l, hello, sizeof hello - 1);
        else if (n)
            tell(l, text, n);
        l->fresh = false;
    }
    dead = take_dead(e);
    pthread_mutex_unlock(&e->lock);
    for (struct listener *next; dead; dead = next) {
        next = dead->later;
        listener_free(dead);
    }
}

/* Waits for a listener; true when there was none, so that what changed meanwhile is nobody's affair. */
static bool wait_for_some(struct events *e)
{
    bool waited = false;

    pthread_mutex_lock(&e->lock);
    while (!e->first) {
        waited = true;
        pthread_cond_wait(&e->came, &e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return waited;
}

/* Something was not told: all is to be asked for again, behind the next look that succeeds. */
static void greet_again(struct events *e)
{
    pthread_mutex_lock(&e->lock);
    for (struct listener *l = e->first; l; l = l->later)
        l->fresh = true;
    pthread_mutex_unlock(&e->lock);
}

static void *look_on(void *arg)
{
    static const char alive[] = ": alive\n\n";
    struct events *e = arg;
    struct told told = {.next_job = 0};
    int64_t told_ns = clock_now_ns();
    struct buf out;

    buf_init(&out, (size_t)32 << 20);
    for (;; clock_sleep_ms(LOOK_MS)) {
        if (wait_for_some(e))
            told_fini(&told);
        told.out = &out;
        buf_clear(&out);
        out.failed = ERR_OK;
        if (server_do(e->server, events_look, &told) != ERR_OK) {
            told_fini(&told);
            greet_again(e);
        } else if (!out.len && clock_now_ns() - told_ns > (int64_t)ALIVE_MS * 1000000) {
            tell_all(e, alive, sizeof alive - 1);
            told_ns = clock_now_ns();
        } else {
            tell_all(e, buf_text(&out), out.len);
            told_ns = out.len ? clock_now_ns() : told_ns;
        }
    }
    return NULL;
}

enum err events_start(struct server *s, struct events **out)
{
    struct events *e = calloc(1, sizeof *e);

    if (!e)
        return ERR_NOMEM;
    e->server = s;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->came, NULL);
    if (pthread_create(&e->thread, NULL, look_on, e) != 0) {
        free(e);
        return ERR_NOMEM;
    }
    *out = e;
    return ERR_OK;
}

static struct listener *listener_new(struct events *e, nng_http_conn *conn)
{
    struct listener *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    *l = (struct listener){.events = e, .conn = conn, .fresh = true};
    buf_init(&l->sending, LATE_BYTES);
    buf_init(&l->next, LATE_BYTES);
    if (nng_aio_alloc(&l->aio, was_sent, l) == 0)
        return l;
    free(l);
    return NULL;
}

enum err events_listen(struct events *e, nng_http_conn *conn, const char *head)
{
    struct listener *l = NULL;
    struct buf text;

    buf_init(&text, 4096);
    buf_printf(&text,
               "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%sX-Accel-Buffering: no\r\n"
               "Connection: close\r\n\r\nretry: 1000\n\n",
               head);
    pthread_mutex_lock(&e->lock);
    if (e->n < MAX_LISTENERS && !text.failed)
        l = listener_new(e, conn);
    if (l) {
        l->later = e->first;
        e->first = l;
        e->n++;
        tell(l, text.data, text.len);
        pthread_cond_signal(&e->came);
    }
    pthread_mutex_unlock(&e->lock);
    buf_fini(&text);
    return l ? ERR_OK : ERR_BUSY;
}
