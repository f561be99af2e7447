/* SPDX-License-Identifier: MIT */
#include "tracker/hall.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <string.h>

void hall_init(struct hall *h, struct tracker *t)
{
    *h = (struct hall){.tracker = t};
}

static void leave(struct hall *h, struct caller *c)
{
    c->next = h->left;
    h->left = c;
}

static struct caller *unpark(struct hall *h, int i)
{
    struct caller *c = h->parked[i];

    assert(h->n_parked > 0 && i < h->n_parked);
    h->parked[i] = h->parked[--h->n_parked];
    return c;
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

/* An older parked request of the same id lost its connection: its client has sent it again. */
static void drop_double(struct hall *h, const struct caller *fresh)
{
    for (int i = 0; i < h->n_parked; i++) {
        struct caller *old = h->parked[i];

        if (strcmp(old->request.id, fresh->request.id) != 0)
            continue;
        request_fini(&old->request);
        leave(h, unpark(h, i));
        return;
    }
}

bool hall_enter(struct hall *h, struct caller *c)
{
    enum outcome_of_request how;

    buf_init(&c->reply, MESSAGE_MAX_BYTES + 64);
    how = request_start(h->tracker, c->bytes, c->n_bytes, &c->request, &c->reply);
    if (how == REQUEST_PARKED) {
        drop_double(h, c);
        if (h->n_parked < HALL_MAX_PARKED) {
            h->parked[h->n_parked++] = c;
            return true;
        }
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

/* Long polls: those woken or at their end are tried again; those without a peer end without being granted anything. */
static bool try_parked(struct hall *h, const uint32_t *gone, int n_gone)
{
    const unsigned woken = h->tracker->woken;
    const int64_t now = tracker_now_ns(h->tracker);

    h->tracker->woken = 0;
    for (int i = 0; i < h->n_parked;) {
        struct caller *c = h->parked[i];
        enum outcome_of_request how = REQUEST_PARKED;

        if (is_gone(gone, n_gone, c->line)) {
            request_fini(&c->request);
            how = REQUEST_ANSWERED;
        } else if (now >= c->request.deadline_ns || (op_table[c->request.name].wake & woken)) {
            how = request_again(h->tracker, &c->request, now >= c->request.deadline_ns, &c->reply);
        }
        if (how == REQUEST_STORE_FAILED)
            return false;
        if (how == REQUEST_PARKED)
            i++;
        else
            leave(h, unpark(h, i));
    }
    return true;
}

bool hall_end(struct hall *h, const uint32_t *gone, int n_gone, struct caller **left, struct why *why)
{
    if (!try_parked(h, gone, n_gone) || tracker_commit(h->tracker, why) != ERR_OK)
        return false;
    h->tracker->stats.commits++;
    *left = h->left;
    h->left = NULL;
    return true;
}
