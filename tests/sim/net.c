/* SPDX-License-Identifier: MIT */
#include "tests/sim/net.h"

#include "core/file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_NS (50 * WORLD_MS)
#define TICK_NS (HALL_TICK_MS * WORLD_MS)

enum parcel_state { ON_ITS_WAY, AT_THE_TRACKER, ANSWERED, DEAD }; /* dead: its connection went */

/* One exchange. */
struct parcel {
    struct caller caller; /* first: a caller of this hall is the parcel itself */
    struct net *net;
    struct line *line;
    enum parcel_state state;
    bool left;      /* nobody waits for it any more */
    int64_t due_ns; /* at the tracker, then the reply's at the peer */
    unsigned char *bytes;
    struct buf reply;
    struct parcel *next;
};

struct line {
    struct peer *peer;
    uint32_t id;
    bool second; /* of two addresses it is spoken to */
    bool aborted;
};

/* ---- parcels ---- */

static int64_t delay(struct net *n)
{
    const int64_t most = n->faults.delay_ns ? n->faults.delay_ns : WORLD_MS;

    return 1 + (int64_t)rng_below(world_rng(n->world), (uint64_t)most);
}

static bool happens(struct net *n, int of_thousand)
{
    return of_thousand > 0 && rng_below(world_rng(n->world), 1000) < (uint64_t)of_thousand;
}

static struct parcel *parcel_new(struct net *n, struct line *l, const void *bytes, size_t n_bytes)
{
    struct parcel *p = calloc(1, sizeof *p);

    assert(p);
    p->bytes = malloc(n_bytes + 1);
    assert(p->bytes);
    memcpy(p->bytes, bytes, n_bytes);
    p->net = n;
    p->line = l;
    p->caller = (struct caller){.bytes = p->bytes, .n_bytes = n_bytes, .line = l->id};
    p->due_ns = world_now_ns(n->world) + delay(n);
    p->next = n->parcels;
    n->parcels = p;
    return p;
}

static void parcel_free(struct net *n, struct parcel *p)
{
    struct parcel **at = &n->parcels;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    buf_fini(&p->reply);
    free(p->bytes);
    free(p);
}

/* The connection went: whoever waits is told, the rest is forgotten. */
static void break_connections(struct net *n)
{
    for (struct parcel *p = n->parcels, *next; p; p = next) {
        next = p->next;
        if (p->left)
            parcel_free(n, p);
        else if (p->state != ANSWERED)
            p->state = DEAD;
    }
}

/* ---- the tracker's host ---- */

static void bring_up(struct net *n)
{
    struct why why = {""};

    if (n->options.ops->open(n->dir, n->options.clock, &n->options.store, &why) ||
        tracker_new(&n->options, &n->tracker, &why)) {
        fprintf(stderr, "net: the tracker does not start: %s\n", why.text);
        abort();
    }
    hall_init(&n->hall, n->tracker);
    n->up = true;
}

static void forget_callers(struct hall *h)
{
    hall_fini(h);
    for (struct caller *c = h->left; c; c = c->next)
        buf_fini(&c->reply);
}

/* What is not committed is lost with the connection to the store. */
static void bring_down(struct net *n)
{
    forget_callers(&n->hall);
    tracker_free(n->tracker);
    n->options.ops->close(n->options.store);
    n->tracker = NULL;
    n->options.store = NULL;
    n->up = false;
    break_connections(n);
}

static bool is_due(const struct net *n, const struct parcel *p)
{
    return p->state == ON_ITS_WAY && p->due_ns <= world_now_ns(n->world);
}

/* Callers whose connection went since the last turn. */
static int list_gone(struct net *n, uint32_t gone[], int most)
{
    int n_gone = 0;

    for (struct parcel *p = n->parcels; p && n_gone < most; p = p->next)
        if (p->left && p->state == AT_THE_TRACKER)
            gone[n_gone++] = p->caller.line;
    return n_gone;
}

static void deliver(struct net *n, struct caller *left)
{
    for (struct caller *c = left, *next; c; c = next) {
        struct parcel *p = (struct parcel *)c;

        next = c->next;
        if (p->left) {
            buf_fini(&c->reply);
            parcel_free(n, p);
            continue;
        }
        p->reply = c->reply;
        c->reply = (struct buf){0};
        p->state = p->reply.len && !p->reply.failed && !n->cut && !happens(n, n->faults.lose_reply) ? ANSWERED
                                                                                                    : AT_THE_TRACKER;
        if (p->state == AT_THE_TRACKER)
            p->due_ns = INT64_MAX; /* its reply was lost: the peer's time runs out */
        else
            p->due_ns = world_now_ns(n->world) + delay(n);
    }
}

static int enter_due(struct net *n)
{
    int n_new = 0;

    for (struct parcel *p = n->parcels, *next; p && n_new < HALL_MAX_BATCH; p = next) {
        next = p->next;
        if (!is_due(n, p))
            continue;
        p->state = AT_THE_TRACKER;
        n_new++;
        if (!hall_enter(&n->hall, &p->caller))
            abort(); /* the store of a test does not fail */
    }
    n->n_requests += n_new;
    return n_new;
}

static void one_turn(struct net *n)
{
    struct caller *left = NULL;
    struct why why = {""};
    uint32_t gone[64];
    int n_gone, n_new;

    if (!hall_begin(&n->hall))
        abort();
    n_gone = list_gone(n, gone, 64);
    n_new = enter_due(n);
    if (n_new && happens(n, n->faults.crash_before)) {
        net_crash(n);
        return;
    }
    if (!hall_end(&n->hall, gone, n_gone, &left, &why)) {
        fprintf(stderr, "net: the store failed: %s\n", why.text);
        abort();
    }
    if (n->after_turn)
        n->after_turn(n, n->arg);
    if (n_new && happens(n, n->faults.crash_after)) {
        for (struct caller *c = left; c; c = c->next)
            buf_fini(&c->reply);
        net_crash(n);
        return;
    }
    deliver(n, left);
}

static bool has_work(void *arg)
{
    struct net *n = arg;

    if (n->stopping)
        return true;
    if (n->paused || !n->up)
        return false;
    for (const struct parcel *p = n->parcels; p; p = p->next)
        if (is_due(n, p))
            return true;
    return false;
}

static bool is_stopping(void *arg)
{
    return ((struct net *)arg)->stopping;
}

/* The next message that will be due; nothing else makes it wake. */
static int64_t next_due(const struct net *n)
{
    int64_t next = world_now_ns(n->world) + TICK_NS;

    for (const struct parcel *p = n->parcels; p; p = p->next)
        if (p->state == ON_ITS_WAY && p->due_ns < next)
            next = p->due_ns;
    return next;
}

static void host(void *arg)
{
    struct net *n = arg;

    bring_up(n);
    while (!n->stopping) {
        if (!n->up) {
            const int64_t down = n->faults.down_ns ? n->faults.down_ns : WORLD_S;

            world_wait(n->world, is_stopping, n, world_now_ns(n->world) + down);
            bring_up(n);
        }
        world_wait(n->world, has_work, n, n->paused ? world_now_ns(n->world) + TICK_NS : next_due(n));
        if (n->up && !n->paused && !n->stopping)
            one_turn(n);
    }
    if (n->up)
        bring_down(n);
}

void net_crash(struct net *n)
{
    if (!n->up)
        return;
    n->n_crashes++;
    bring_down(n);
    if (n->front)
        n->front->swapped ^= happens(n, 500);
}

void net_init(struct net *n, struct world *w)
{
    struct why why = {""};

    *n = (struct net){.world = w, .next_line = 1};
    n->options = (struct tracker_options){.ops = store_table[0],
                                          .where = n->dir,
                                          .lease_ms = 30000,
                                          .clock = world_clock(w),
                                          .entropy = world_entropy(w)};
    if (access("/dev/shm", W_OK) == 0 && !getenv("TMPDIR"))
        setenv("TMPDIR", "/dev/shm", 1); /* nothing here is about disks */
    if (dir_temporary("tune-sim", n->dir, sizeof n->dir, &why)) {
        fprintf(stderr, "net: %s\n", why.text);
        abort();
    }
}

void net_divide(struct net *n)
{
    assert(!n->front && !n->tracker);
    n->beside = net_new(n->world);
    n->front = n->beside->front = n;
    n->options.part = 1;
    n->beside->options.part = 2;
    n->options.n_parts = n->beside->options.n_parts = 2;
}

void net_start(struct net *n)
{
    world_add(n->world, "tracker", host, n);
    if (n->beside) {
        n->beside->faults = n->faults;
        world_add(n->world, "tracker of part 2", host, n->beside);
    }
}

void net_stop(struct net *n)
{
    n->stopping = true;
    if (n->beside)
        n->beside->stopping = true;
}

void net_fini(struct net *n)
{
    if (n->beside)
        net_free(n->beside);
    while (n->parcels)
        parcel_free(n, n->parcels);
    dir_remove(n->dir);
}

/* ---- the peers' end ---- */

static enum err line_open(void *arg, const char *url, struct line **out, struct why *why)
{
    struct peer *p = arg;
    struct line *l = calloc(1, sizeof *l);

    (void)url;
    (void)why;
    assert(l && p->net);
    *l = (struct line){.peer = p, .id = p->net->next_line++};
    *out = l;
    return ERR_OK;
}

static bool has_ended(void *arg)
{
    const struct parcel *p = arg;
    const struct peer *peer = p->line->peer;

    return p->line->aborted || peer->dead || peer->cut || p->state == DEAD || p->state == ANSWERED;
}

/* Gives the reply and lets the parcel go, or leaves it to whoever has it. */
static enum err take(struct parcel *p, struct letter *reply)
{
    struct net *n = p->net;

    if (p->state == ANSWERED) {
        struct buf *own = malloc(sizeof *own);

        assert(own);
        *own = p->reply;
        p->reply = (struct buf){0};
        *reply = (struct letter){.bytes = own->data, .n_bytes = own->len, .own = own};
        parcel_free(n, p);
        return ERR_OK;
    }
    if (p->state == AT_THE_TRACKER && p->due_ns != INT64_MAX)
        p->left = true;
    else
        parcel_free(n, p);
    return ERR_UNREACHABLE;
}

static bool is_out(const struct line *l)
{
    return l->aborted || l->peer->dead;
}

static enum err exchange(struct net *n, struct line *l, const void *bytes, size_t n_bytes, int64_t timeout_ms,
                         struct letter *reply)
{
    const int64_t until_ns = world_now_ns(n->world) + timeout_ms * WORLD_MS;
    struct parcel *p;
    bool ended;
    enum err e;

    if (!is_out(l) && (!n->up || n->cut || l->peer->cut)) {
        world_sleep(n->world, CONNECT_NS);
        return is_out(l) ? ERR_CANCELLED : ERR_UNREACHABLE;
    }
    if (is_out(l))
        return ERR_CANCELLED;
    p = parcel_new(n, l, bytes, n_bytes);
    if (happens(n, n->faults.lose_request))
        p->due_ns = INT64_MAX;
    ended = world_wait(n->world, has_ended, p, until_ns);
    if (p->state == ANSWERED)
        world_sleep(n->world, p->due_ns - world_now_ns(n->world)); /* the reply is on its way */
    e = take(p, reply);
    if (e && is_out(l))
        return ERR_CANCELLED;
    return e && !ended ? ERR_TIMEOUT : e;
}

static void line_turn(struct line *l)
{
    l->second = !l->second;
}

static enum err line_exchange(struct line *l, const void *bytes, size_t n_bytes, int64_t timeout_ms,
                              struct letter *reply)
{
    struct net *front = l->peer->net, *n = front->beside && l->second != front->swapped ? front->beside : front;
    const enum err e = exchange(n, l, bytes, n_bytes, timeout_ms, reply);

    if (front->beside && (e == ERR_UNREACHABLE || e == ERR_TIMEOUT))
        line_turn(l);
    return e;
}

static void line_discard(struct letter *reply)
{
    if (reply->own)
        buf_fini(reply->own);
    free(reply->own);
    *reply = (struct letter){.own = NULL};
}

static void line_abort(struct line *l)
{
    l->aborted = true;
}

static void line_close(struct line *l)
{
    free(l);
}

const struct transport_ops transport_net = {
    .name = "net",
    .open = line_open,
    .exchange = line_exchange,
    .discard = line_discard,
    .abort = line_abort,
    .close = line_close,
    .turn = line_turn,
};

enum err net_client(struct peer *p, const char *name, struct client **out, struct why *why)
{
    const struct client_options o = {.url = "net",
                                     .role = "tune",
                                     .name = name,
                                     .transport = &transport_net,
                                     .transport_arg = p,
                                     .clock = world_clock(p->net->world),
                                     .entropy = world_entropy(p->net->world)};

    return client_open(&o, out, why);
}
