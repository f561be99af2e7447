/* SPDX-License-Identifier: MIT */
#include "tracker/server.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "tracker/hall.h"
#include "tracker/listener.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define SPARE_SLOTS 4096 /* requests under way beyond those that wait for news */
#define MAX_PIPES 16384
#define OTHER_FDS 128 /* beside connections */
#define MIN_PIPES 64
#define MAX_PAGES 16
#define QUEUED_BYTES ((size_t)32 << 20)

/* A request under way. */
struct slot {
    struct caller caller; /* first: a caller of this server is the slot itself */
    struct mail *mail;
    int64_t received_ns;
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
    struct hall hall; /* the core loop's own */
    struct listener *listener;
    struct slot *taken, **taken_end; /* the listener's own: what it read in this round */
    struct slot *at_hand;            /* the core loop's own: from the queue, for this turn and the next */
    _Atomic size_t queued_bytes;
    _Atomic int n_slots, n_parked;
    pthread_t core, post;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t work, page_done, mail;
    struct slot *first, **end;
    struct caller *replies; /* committed, not flushed: for the post loop */
    bool core_ended;
    struct page *pages;
    int n_pages;
    uint32_t gone[256]; /* connections that closed since the loop looked */
    int n_gone;
    bool stopping, failed;
    struct why why;
    int64_t max_pipes; /* constant */
    bool told_full;    /* the listener's own */
};

/* ---- on the listener's thread ---- */

/* Too much waits already: the client is told to come again, without its request being looked at. */
static void answer_busy(struct mail *m)
{
    static const char json[] = "{\"ok\":false,\"id\":\"\",\"err\":\"busy\",\"why\":\"the tracker is busy\"}";
    char reply[MESSAGE_HEADER_BYTES + sizeof json - 1] = {'T', 'U', 'N', '1', 1, 0, 0, 0, sizeof json - 1};

    memcpy(reply + MESSAGE_HEADER_BYTES, json, sizeof json - 1);
    mail_answer(m, reply, sizeof reply);
}

static bool fits(struct server *sv, size_t n)
{
    const size_t queued = atomic_load(&sv->queued_bytes);

    return (queued == 0 || queued + n <= QUEUED_BYTES) &&
           atomic_load(&sv->n_slots) < atomic_load(&sv->n_parked) + SPARE_SLOTS;
}

static void take(void *arg, struct mail *m)
{
    struct server *sv = arg;
    struct slot *s;
    size_t n;
    const void *bytes = mail_bytes(m, &n);

    s = fits(sv, n) ? calloc(1, sizeof *s) : NULL;
    if (!s) {
        answer_busy(m);
        return;
    }
    s->caller.bytes = bytes;
    s->caller.n_bytes = n;
    s->caller.line = mail_line(m);
    s->mail = m;
    s->received_ns = clock_now_ns();
    request_read(&s->caller.request, bytes, n);
    atomic_fetch_add(&sv->queued_bytes, n);
    atomic_fetch_add(&sv->n_slots, 1);
    *sv->taken_end = s;
    sv->taken_end = &s->next;
}

/* What was read in a round goes to the core loop at once. */
static void enqueue_taken(void *arg)
{
    struct server *sv = arg;

    if (!sv->taken)
        return;
    pthread_mutex_lock(&sv->lock);
    *sv->end = sv->taken;
    sv->end = sv->taken_end;
    pthread_cond_signal(&sv->work);
    pthread_mutex_unlock(&sv->lock);
    sv->taken = NULL;
    sv->taken_end = &sv->taken;
}

static void line_gone(void *arg, uint32_t line)
{
    struct server *sv = arg;

    pthread_mutex_lock(&sv->lock);
    if (sv->n_gone < (int)(sizeof sv->gone / sizeof *sv->gone)) /* polls of the others end with their time */
        sv->gone[sv->n_gone++] = line;
    pthread_cond_signal(&sv->work);
    pthread_mutex_unlock(&sv->lock);
}

static void tell_full(void *arg)
{
    struct server *sv = arg;

    if (!sv->told_full)
        fprintf(stderr, "tune-tracker: all %lld connections are in use: others are refused until one ends%s\n",
                (long long)sv->max_pipes, sv->max_pipes < MAX_PIPES ? " (ulimit -n allows no more)" : "");
    sv->told_full = true;
}

static const struct listener_ops listener_ops = {
    .take = take, .taken = enqueue_taken, .gone = line_gone, .full = tell_full};

static void slot_end(struct server *sv, struct slot *s)
{
    atomic_fetch_sub(&sv->n_slots, 1);
    free(s);
}

/* ---- the core loop ---- */

/* What one turn of the core loop found to do. */
struct work {
    struct page *pages;
    uint32_t gone[256];
    int n_gone;
    bool stop;
};

static void wait_work(struct server *sv)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)HALL_TICK_MS * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    if (!sv->first && !sv->at_hand && !sv->pages && !sv->n_gone && !sv->stopping)
        pthread_cond_timedwait(&sv->work, &sv->lock, &t);
}

static struct slot *next_queued(struct server *sv)
{
    struct slot *s;

    if (!sv->at_hand) {
        pthread_mutex_lock(&sv->lock);
        sv->at_hand = sv->first;
        sv->first = NULL;
        sv->end = &sv->first;
        pthread_mutex_unlock(&sv->lock);
    }
    s = sv->at_hand;
    if (s) {
        sv->at_hand = s->next;
        atomic_fetch_sub(&sv->queued_bytes, s->caller.n_bytes);
    }
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
        const enum err e = p->render(sv->hall.tracker, p->out);

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

/* ---- the post loop ---- */

static void answer(struct server *sv, struct caller *left)
{
    for (struct caller *c = left, *next; c; c = next) {
        struct slot *s = (struct slot *)c;

        if (c->request.name < N_CALLS && !c->waits_with)
            meter_add(&sv->hall.tracker->calls[c->request.name], clock_now_ns() - s->received_ns);
        next = c->next;
        if (c->reply.failed || !c->reply.len)
            mail_drop(s->mail);
        else
            mail_answer(s->mail, c->reply.data, c->reply.len);
        buf_fini(&c->reply);
        slot_end(sv, s);
    }
}

static void store_has_failed(struct server *sv, const struct why *why)
{
    pthread_mutex_lock(&sv->lock);
    if (!sv->failed)
        sv->why = *why;
    if (!sv->why.text[0])
        why_set(&sv->why, ERR_IO, "the store failed");
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
            break; /* nobody is answered any more */
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
    struct caller *left = NULL;
    struct why why = {""};
    struct slot *s;
    size_t n_bytes = 0;
    bool ok = hall_begin(&sv->hall);

    for (int n = 0; ok && n < HALL_MAX_BATCH && n_bytes < QUEUED_BYTES && (s = next_queued(sv)) != NULL; n++) {
        n_bytes += s->caller.n_bytes;
        ok = hall_enter(&sv->hall, &s->caller);
    }
    ok = ok && hall_end(&sv->hall, b->gone, b->n_gone, &left, &why);
    if (ok)
        post(sv, left);
    else
        store_has_failed(sv, &why);
    return ok;
}

static void *core_loop(void *arg)
{
    struct server *sv = arg;
    struct work b;
    bool ok = true;

    while (ok) {
        collect(sv, &b);
        ok = turn(sv, &b);
        atomic_store(&sv->n_parked, sv->hall.n_parked);
        answer_pages(sv, b.pages);
        if (b.stop)
            break;
    }
    pthread_mutex_lock(&sv->lock);
    sv->stopping = sv->core_ended = true;
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

enum err server_start(struct tracker *t, const char *url, struct server **out, struct why *why)
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
    sv->end = &sv->first;
    sv->taken_end = &sv->taken;
    e = listener_open(url, sv->max_pipes, &listener_ops, sv, &sv->listener, why);
    if (!e &&
        (pthread_create(&sv->core, NULL, core_loop, sv) != 0 || pthread_create(&sv->post, NULL, post_loop, sv) != 0))
        e = why_set(why, ERR_NOMEM, "cannot start a thread");
    if (e)
        return e; /* the process ends */
    *out = sv;
    return ERR_OK;
}

const char *server_url(const struct server *s)
{
    return listener_url(s->listener);
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

static void drop_slot(struct server *sv, struct slot *s)
{
    request_fini(&s->caller.request);
    buf_fini(&s->caller.reply);
    mail_drop(s->mail);
    slot_end(sv, s);
}

static void drop_queue(struct server *sv, struct slot *first)
{
    for (struct slot *s = first, *next; s; s = next) {
        next = s->next;
        drop_slot(sv, s);
    }
}

static void drop_replies(struct server *sv)
{
    for (struct caller *c = sv->replies, *next; c; c = next) {
        next = c->next;
        drop_slot(sv, (struct slot *)c);
    }
}

static void drop_parked(struct server *sv)
{
    struct caller *all = NULL;

    for (int i = 0; i < HALL_BUCKETS; i++)
        for (struct caller *c = sv->hall.parked[i]; c; c = c->next_parked) {
            c->next = all;
            all = c;
        }
    hall_fini(&sv->hall);
    sv->replies = all;
    drop_replies(sv);
}

void server_stop(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->core, NULL);
    pthread_join(s->post, NULL);
    listener_close(s->listener);
    drop_queue(s, s->taken);
    drop_queue(s, s->first);
    drop_queue(s, s->at_hand);
    drop_replies(s); /* of a store that failed */
    drop_parked(s);
}
