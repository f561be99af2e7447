/* SPDX-License-Identifier: MIT */
#include "tracker/hall.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <string.h>

void hall_init(struct hall *h, struct tracker *t)
{
    *h = (struct hall){.tracker = t, .max_parked = HALL_MAX_PARKED};
}

static void leave(struct hall *h, struct caller *c)
{
    c->next = h->left;
    h->left = c;
}

static int bucket_of(int64_t ns)
{
    return (int)(ns / ((int64_t)HALL_BUCKET_MS * 1000000) % HALL_BUCKETS);
}

static enum err park(struct hall *h, struct caller *c)
{
    struct waiters *w = c->request.waits_with;
    enum err e = table_put_text(&h->ids, c->request.id, c);

    if (e)
        return e;
    c->waits_with = w;
    c->bucket = bucket_of(c->request.deadline_ns);
    c->prev_parked = NULL;
    c->next_parked = h->parked[c->bucket];
    if (c->next_parked)
        c->next_parked->prev_parked = c;
    h->parked[c->bucket] = c;
    c->next_waiting = NULL;
    c->prev_waiting = w->last;
    *(w->last ? &w->last->next_waiting : &w->first) = c;
    w->last = c;
    h->n_parked++;
    return ERR_OK;
}

static void unpark(struct hall *h, struct caller *c)
{
    struct waiters *w = c->waits_with;

    assert(h->n_parked > 0);
    table_remove_text(&h->ids, c->request.id);
    *(c->prev_parked ? &c->prev_parked->next_parked : &h->parked[c->bucket]) = c->next_parked;
    if (c->next_parked)
        c->next_parked->prev_parked = c->prev_parked;
    *(c->prev_waiting ? &c->prev_waiting->next_waiting : &w->first) = c->next_waiting;
    *(c->next_waiting ? &c->next_waiting->prev_waiting : &w->last) = c->prev_waiting;
    h->n_parked--;
}

void hall_fini(struct hall *h)
{
    for (int i = 0; i < HALL_BUCKETS; i++)
        while (h->parked[i]) {
            struct caller *c = h->parked[i];

            unpark(h, c);
            request_fini(&c->request);
            buf_fini(&c->reply);
        }
    table_fini(&h->ids);
}

/* Deadlines are looked at a few times in the shortest lease, not with every turn. */
bool hall_begin(struct hall *h)
{
    const int64_t now = tracker_now_ns(h->tracker);

    assert(!h->left);
    if (h->turned_ns && now - h->turned_ns > (int64_t)HALL_PAUSE_MS * 1000000)
        tracker_was_paused(h->tracker, now - h->turned_ns);
    h->turned_ns = now;
    if (h->ticked_ns && now < h->ticked_ns + (int64_t)HALL_TICK_MS / 2 * 1000000)
        return true;
    h->ticked_ns = now ? now : 1;
    return tracker_tick(h->tracker) == ERR_OK;
}

/* It leaves without a reply. */
static void send_away(struct hall *h, struct caller *c)
{
    unpark(h, c);
    request_fini(&c->request);
    leave(h, c);
}

/* Is it answered at once? An older parked request of the same id lost its connection: its client has sent it again. */
static bool stays(struct hall *h, struct caller *c)
{
    struct caller *old = table_get_text(&h->ids, c->request.id);

    if (old)
        send_away(h, old);
    return h->n_parked < h->max_parked && park(h, c) == ERR_OK;
}

bool hall_enter(struct hall *h, struct caller *c)
{
    enum outcome_of_request how;

    buf_init(&c->reply, MESSAGE_MAX_BYTES + 64);
    h->tracker->line = c->line;
    how = request_start(h->tracker, c->bytes, c->n_bytes, &c->request, &c->reply);
    if (how == REQUEST_PARKED) {
        if (stays(h, c))
            return true;
        how = request_again(h->tracker, &c->request, true, &c->reply);
        assert(how != REQUEST_PARKED);
    }
    if (how == REQUEST_STORE_FAILED)
        return false;
    leave(h, c);
    return true;
}

static bool is_gone(const uint32_t *gone, int n_gone, uint32_t line)
{
    for (int i = 0; i < n_gone; i++)
        if (gone[i] == line)
            return true;
    return false;
}

/* Another try of one that is parked; false when the store failed. */
static bool try_again(struct hall *h, struct caller *c, bool last)
{
    const enum outcome_of_request how = request_again(h->tracker, &c->request, last, &c->reply);

    if (how == REQUEST_PARKED && c->request.waits_with == c->waits_with)
        return true;
    unpark(h, c);
    if (how == REQUEST_PARKED) /* for something else: its agent has another key now */
        return park(h, c) == ERR_OK;
    leave(h, c);
    return how != REQUEST_STORE_FAILED;
}

/* Those without a peer end without being granted anything. */
static void end_gone(struct hall *h, const uint32_t *gone, int n_gone)
{
    agents_cut(h->tracker, gone, n_gone);
    for (int i = 0; n_gone && i < HALL_BUCKETS; i++)
        for (struct caller *c = h->parked[i], *next; c; c = next) {
            next = c->next_parked;
            if (is_gone(gone, n_gone, c->line))
                send_away(h, c);
        }
}

/* Those whose time is over get what there is. */
static bool end_due(struct hall *h)
{
    const int64_t now = tracker_now_ns(h->tracker), width = (int64_t)HALL_BUCKET_MS * 1000000;
    int64_t n = (now - h->ended_ns) / width + 2; /* the first and the last are looked at again */
    bool ok = true;

    for (int64_t k = 0; ok && k < n && k < HALL_BUCKETS; k++)
        for (struct caller *c = h->parked[bucket_of(now - k * width < 0 ? 0 : now - k * width)], *next; c && ok;
             c = next) {
            next = c->next_parked;
            if (now >= c->request.deadline_ns)
                ok = try_again(h, c, true);
        }
    h->ended_ns = now;
    return ok;
}

static bool try_woken(struct hall *h)
{
    struct waiters *next, *w = h->tracker->woken;
    bool ok = true;

    h->tracker->woken = NULL; /* whom these tries wake is tried in the next turn */
    for (; w; w = next) {
        next = w->next_woken;
        w->woken = false;
        for (struct caller *c = w->first, *after; c && ok && (!w->left || *w->left); c = after) {
            after = c->next_waiting;
            ok = try_again(h, c, false);
        }
    }
    return ok;
}

bool hall_end(struct hall *h, const uint32_t *gone, int n_gone, struct caller **left, struct why *why)
{
    end_gone(h, gone, n_gone);
    if (!end_due(h) || !try_woken(h) || tracker_commit(h->tracker, why) != ERR_OK)
        return false;
    h->tracker->stats.commits++;
    *left = h->left;
    h->left = NULL;
    return true;
}
