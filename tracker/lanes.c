/* SPDX-License-Identifier: MIT */
/* lanes.c - which open trial is next: fair shares of a key's devices by device time, between users and then between the
 * jobs of one (start-time fair queueing: who used least goes first, a newcomer starts where the others are). */
#include "tracker/state.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_GUESS_MS 500.0

void list_append(struct trial_list *l, struct tracker_trial *tr)
{
    tr->prev = l->last;
    tr->next = NULL;
    *(l->last ? &l->last->next : &l->first) = tr;
    l->last = tr;
}

void list_prepend(struct trial_list *l, struct tracker_trial *tr)
{
    tr->prev = NULL;
    tr->next = l->first;
    *(l->first ? &l->first->prev : &l->last) = tr;
    l->first = tr;
}

void list_remove(struct trial_list *l, struct tracker_trial *tr)
{
    assert((tr->prev ? tr->prev->next : l->first) == tr && (tr->next ? tr->next->prev : l->last) == tr);
    *(tr->prev ? &tr->prev->next : &l->first) = tr->next;
    *(tr->next ? &tr->next->prev : &l->last) = tr->prev;
    tr->prev = tr->next = NULL;
}

struct slug *slug_of(struct tracker *t, const char *key)
{
    struct slug *s = table_get_text(&t->slugs, key);

    if (s)
        return s;
    s = calloc(1, sizeof *s);
    if (s && table_put_text(&t->slugs, key, s) != ERR_OK) {
        free(s);
        s = NULL;
    }
    if (s)
        text_copy(s->key, sizeof s->key, key);
    if (s)
        s->waiters.left = &s->n_open;
    return s;
}

static struct share *share_of(struct slug *s, const char *user)
{
    struct share *h;

    for (h = s->shares; h; h = h->next)
        if (strcmp(h->user, user) == 0)
            return h;
    h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    text_copy(h->user, sizeof h->user, user);
    h->next = s->shares;
    s->shares = h;
    return h;
}

static struct lane *lane_of(struct slug *s, struct tracker_job *job, const char *key)
{
    struct share *h;
    struct lane *l;

    for (l = s->lanes; l; l = l->next)
        if (l->job == job)
            return l;
    h = share_of(s, job->user);
    l = h ? calloc(1, sizeof *l) : NULL;
    if (!l)
        return NULL;
    l->job = job;
    l->slug = s;
    l->share = h;
    strcpy(l->key, key);
    l->mean_ms = FIRST_GUESS_MS;
    l->next = s->lanes;
    s->lanes = l;
    return l;
}

/* Idle time is not saved up. */
static void raise_to(double *used_ms, double floor_ms)
{
    if (*used_ms < floor_ms)
        *used_ms = floor_ms;
}

/* Where a user without trials starts: where the last one served was, or, since then, the least of those at work. What
 * is charged for leases under way is a guess, and no reason for newcomers to wait. */
static double floor_of_users(const struct slug *s, const struct share *newcomer)
{
    double least = INFINITY;

    for (const struct share *h = s->shares; h; h = h->next)
        if (h != newcomer && (h->n_open || h->n_guesses > 0) && h->used_ms - h->guessed_ms < least)
            least = h->used_ms - h->guessed_ms;
    return isfinite(least) && least > s->floor_ms ? least : s->floor_ms;
}

/* The same of a user's jobs. */
static double floor_of_jobs(const struct lane *newcomer)
{
    double least = INFINITY;

    for (const struct lane *l = newcomer->slug->lanes; l; l = l->next)
        if (l != newcomer && l->share == newcomer->share && (l->open.first || l->n_guesses > 0) &&
            l->used_ms - l->guessed_ms < least)
            least = l->used_ms - l->guessed_ms;
    return isfinite(least) && least > newcomer->share->floor_ms ? least : newcomer->share->floor_ms;
}

enum err lane_add(struct tracker *t, struct tracker_trial *tr, const char *key, bool front)
{
    struct slug *s = slug_of(t, key);
    struct lane *l = s ? lane_of(s, tr->job, key) : NULL;

    assert(!tr->leased && tr->charged_ms == 0);
    if (!l)
        return ERR_NOMEM;
    if (l->share->n_open == 0)
        raise_to(&l->share->used_ms, floor_of_users(s, l->share));
    if (!l->open.first)
        raise_to(&l->used_ms, floor_of_jobs(l));
    tr->lane = l;
    tr->since_ns = tracker_now_ns(t);
    (front ? list_prepend : list_append)(&l->open, tr);
    l->share->n_open++;
    s->n_open++;
    wake(t, &s->waiters);
    if (s->n_wants)
        wake(t, &t->build_waiters);
    return ERR_OK;
}

static struct tracker_trial *first_fitting(struct tracker *t, const struct lane *l, const struct agent *a, enum err *e)
{
    for (struct tracker_trial *tr = l->open.first; tr && !*e; tr = tr->next) {
        bool ready = true;

        if (tr->fingerprint[0] && strcmp(tr->fingerprint, a->fingerprint) != 0)
            continue;
        if (a->arch)
            *e = build_ready(t, a, tr, &ready);
        if (!*e && ready)
            return tr;
    }
    return NULL;
}

double job_weight(const struct tracker_job *j)
{
    double w = 1.0;

    for (int64_t i = 0; i < j->priority; i++)
        w *= 2.0;
    for (int64_t i = 0; i > j->priority; i--)
        w /= 2.0;
    return w;
}

/* The user who used less, then the job of that user that used less. */
static bool goes_before(const struct lane *l, const struct lane *best)
{
    if (!best)
        return true;
    if (l->share != best->share)
        return l->share->used_ms < best->share->used_ms;
    return l->used_ms < best->used_ms;
}

static void take_out(struct lane *l, struct tracker_trial *tr)
{
    assert(l->share->n_open > 0 && l->slug->n_open > 0);
    list_remove(&l->open, tr);
    l->share->n_open--;
    l->slug->n_open--;
}

/* Adds to what was used, and to what of that is a guess, of `n` leases more or less. Sums of guesses that came and went
 * leave crumbs. */
static void charge(struct lane *l, double ms, double guess_ms, int n)
{
    const double weight = job_weight(l->job);

    l->share->used_ms += ms;
    l->share->guessed_ms += guess_ms;
    l->used_ms += ms / weight;
    l->guessed_ms += guess_ms / weight;
    l->share->n_guesses += n;
    l->n_guesses += n;
    assert(l->n_guesses >= 0 && l->share->n_guesses >= l->n_guesses);
    if (!l->n_guesses)
        l->guessed_ms = 0;
    if (!l->share->n_guesses)
        l->share->guessed_ms = 0;
}

struct tracker_trial *lane_take(struct tracker *t, const struct agent *a, struct slug *s, struct lane *stay,
                                enum err *e)
{
    struct lane *best = NULL;
    struct tracker_trial *found = NULL;

    for (struct lane *l = s->lanes; l; l = l->next) {
        struct tracker_trial *tr;

        if ((stay && l != stay) || !l->open.first || l->job->paused || !goes_before(l, best) ||
            !agent_serves(t, a, l->share->user))
            continue;
        tr = first_fitting(t, l, a, e);
        if (tr) {
            best = l;
            found = tr;
        }
    }
    if (!found)
        return NULL;
    assert(!found->leased && found->lane == best && (!stay || best == stay));
    s->floor_ms = best->share->used_ms - best->share->guessed_ms;
    best->share->floor_ms = best->used_ms - best->guessed_ms;
    take_out(best, found);
    found->charged_ms = best->mean_ms;
    charge(best, found->charged_ms, found->charged_ms, 1);
    return found;
}

void lane_settle(struct tracker_trial *tr, double cost_ms)
{
    struct lane *l = tr->lane;

    assert(l->job == tr->job && tr->charged_ms >= 0);
    if (cost_ms > 0)
        l->mean_ms += (cost_ms - l->mean_ms) / 8;
    charge(l, (cost_ms > 0 ? cost_ms : 0) - tr->charged_ms, -tr->charged_ms, tr->charged_ms > 0 ? -1 : 0);
    tr->charged_ms = 0;
}

void lane_drop(struct tracker_trial *tr)
{
    assert(!tr->leased);
    take_out(tr->lane, tr);
}

static bool has_lane(const struct slug *s, const struct share *h)
{
    for (const struct lane *l = s->lanes; l; l = l->next)
        if (l->share == h)
            return true;
    return false;
}

/* A user without jobs who used no more than those served now starts where a new one does. */
static void forget_shares(struct slug *s)
{
    for (struct share **p = &s->shares; *p;) {
        struct share *h = *p;

        if (has_lane(s, h) || (s->lanes && h->used_ms > s->floor_ms)) {
            p = &h->next;
            continue;
        }
        *p = h->next;
        free(h);
    }
}

void lanes_forget(struct tracker *t, const struct tracker_job *j)
{
    size_t at = 0;
    struct slug *s;

    while ((s = table_next(&t->slugs, &at)) != NULL) {
        for (struct lane **p = &s->lanes; *p;) {
            struct lane *l = *p;

            if (l->job != j) {
                p = &l->next;
                continue;
            }
            assert(!l->open.first);
            *p = l->next;
            free(l);
        }
        forget_shares(s);
    }
}

void lanes_fini(struct tracker *t)
{
    size_t at = 0;
    struct slug *s;

    while ((s = table_next(&t->slugs, &at)) != NULL) {
        for (struct lane *l = s->lanes, *next; l; l = next) {
            next = l->next;
            free(l);
        }
        s->lanes = NULL;
        forget_shares(s);
        free(s);
    }
    table_fini(&t->slugs);
}
