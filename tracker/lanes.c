/* SPDX-License-Identifier: MIT */
/* lanes.c - which open trial is next: fair share between the jobs of a key by device time (start-time fair queueing:
 * the lane with the least weighted time goes first, a new lane starts where the others are). */
#include "tracker/state.h"

#include "core/err.h"

#include <assert.h>
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
    return s;
}

static struct lane *lane_of(struct slug *s, struct tracker_job *job, const char *key)
{
    struct lane *l;

    for (l = s->lanes; l; l = l->next)
        if (l->job == job)
            return l;
    l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->job = job;
    strcpy(l->key, key);
    l->used_ms = s->floor_ms;
    l->mean_ms = FIRST_GUESS_MS;
    l->next = s->lanes;
    s->lanes = l;
    return l;
}

enum err lane_add(struct tracker *t, struct tracker_trial *tr, const char *key, bool front)
{
    struct slug *s = slug_of(t, key);
    struct lane *l = s ? lane_of(s, tr->job, key) : NULL;

    assert(!tr->leased && tr->charged_ms == 0);
    if (!l)
        return ERR_NOMEM;
    if (!l->open.first && l->used_ms < s->floor_ms)
        l->used_ms = s->floor_ms; /* idle time is not saved up */
    tr->lane = l;
    (front ? list_prepend : list_append)(&l->open, tr);
    t->woken |= WAKE_TRIALS | WAKE_BUILDS;
    return ERR_OK;
}

static struct tracker_trial *first_fitting(struct tracker *t, const struct lane *l, const struct agent *a,
                                           const char *fingerprint, enum err *e)
{
    for (struct tracker_trial *tr = l->open.first; tr && !*e; tr = tr->next) {
        bool ready = true;

        if (tr->fingerprint[0] && strcmp(tr->fingerprint, fingerprint) != 0)
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

struct tracker_trial *lane_take(struct tracker *t, const struct agent *a, const char *key, const char *fingerprint,
                                struct lane *stay, enum err *e)
{
    struct slug *s = table_get_text(&t->slugs, key);
    struct lane *best = NULL;
    struct tracker_trial *found = NULL;

    for (struct lane *l = s ? s->lanes : NULL; l; l = l->next) {
        struct tracker_trial *tr;

        if ((stay && l != stay) || !l->open.first || (best && l->used_ms >= best->used_ms))
            continue;
        tr = first_fitting(t, l, a, fingerprint, e);
        if (tr) {
            best = l;
            found = tr;
        }
    }
    if (!found)
        return NULL;
    assert(!found->leased && found->lane == best && (!stay || best == stay));
    if (!stay) /* what is charged within a lease is a guess, and no reason for newcomers to wait */
        s->floor_ms = best->used_ms;
    list_remove(&best->open, found);
    found->charged_ms = best->mean_ms;
    best->used_ms += found->charged_ms / job_weight(best->job);
    return found;
}

void lane_settle(struct tracker_trial *tr, double cost_ms)
{
    struct lane *l = tr->lane;

    assert(l->job == tr->job && tr->charged_ms >= 0);
    if (cost_ms > 0)
        l->mean_ms += (cost_ms - l->mean_ms) / 8;
    l->used_ms += ((cost_ms > 0 ? cost_ms : 0) - tr->charged_ms) / job_weight(l->job);
    tr->charged_ms = 0;
}

void lane_drop(struct tracker_trial *tr)
{
    assert(!tr->leased);
    list_remove(&tr->lane->open, tr);
}

void lanes_forget(struct tracker *t, const struct tracker_job *j)
{
    size_t at = 0;
    struct slug *s;

    while ((s = table_next(&t->slugs, &at)) != NULL)
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
        free(s);
    }
    table_fini(&t->slugs);
}
