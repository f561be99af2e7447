/* SPDX-License-Identifier: MIT */
/* farm_work.c - what the farm does with leased trials: compile children make their code where that is done apart,
 * builders verify them, one thread times what is ready. */
#include "agent/farm_parts.h"

#include <assert.h>
#include <string.h>

/* ---- building ---- */

/* Has the anchor's binary made once per compiler cache, by the first builder that meets it. */
static void warm_anchor(struct farm *f, int i_builder, const struct trial *t)
{
    const int64_t generation = rig_generation(f->rig, t);
    bool warm;

    pthread_mutex_lock(&f->hands.lock);
    warm = strcmp(f->warm, t->anchor_name.hex) == 0 && generation == f->warm_generation;
    strcpy(f->warm, t->anchor_name.hex);
    f->warm_generation = generation;
    pthread_mutex_unlock(&f->hands.lock);
    if (!warm)
        rig_warm_anchor(f->rig, i_builder, t);
}

/* All below with the lock held, but for the threads themselves. */

static struct trial *remove_at(struct queue *q, int i)
{
    struct trial *t;

    assert(i >= 0 && i < q->n);
    t = q->trials[i];
    q->n--;
    memmove(&q->trials[i], &q->trials[i + 1], (size_t)(q->n - i) * sizeof *q->trials);
    return t;
}

/* Where building and timing share CPUs they take turns: a batch is built, then timed. */
static bool may_build(const struct farm *f)
{
    return f->overlap || (!f->timing && !farm_is_full(f));
}

/* The next of a queue, counted as at work; NULL when there is none, or none may be built now. */
static struct trial *next_of(struct farm *f, struct queue *q, int *n_at_work)
{
    struct trial *t = NULL;

    pthread_mutex_lock(&f->hands.lock);
    if (q->n > 0 && may_build(f)) {
        t = remove_at(q, 0);
        (*n_at_work)++;
        hands_changed(&f->hands);
    }
    pthread_mutex_unlock(&f->hands.lock);
    return t;
}

/* What goes on waits in a queue; anything else is answered at once. */
static void hand_on(struct farm *f, struct trial *t, bool built, struct queue *to, int *n_at_work)
{
    const bool goes_on = !t->finished && !atomic_load(&t->dropped);

    if (!goes_on)
        farm_answer(f, t);
    pthread_mutex_lock(&f->hands.lock);
    if (goes_on) {
        assert(to->n < MAX_HELD);
        t->built = built;
        to->trials[to->n++] = t;
    }
    assert(*n_at_work > 0);
    (*n_at_work)--;
    hands_changed(&f->hands);
    pthread_mutex_unlock(&f->hands.lock);
}

bool farm_compile_step(void *farm, int i)
{
    struct farm *f = farm;
    struct trial *t = next_of(f, &f->uncompiled, &f->n_compiling);

    if (!t)
        return false;
    if (!atomic_load(&t->dropped))
        rig_compile(f->rig, i, t);
    if (!enlist_stopping(&f->enlist))
        hand_on(f, t, false, &f->leased, &f->n_compiling);
    return true;
}

bool farm_build_step(void *farm, int i)
{
    struct farm *f = farm;
    struct trial *t = next_of(f, &f->leased, &f->n_building);

    if (!t)
        return false;
    if (!atomic_load(&t->dropped)) {
        warm_anchor(f, i, t);
        rig_verify(f->rig, i, t);
    }
    if (!enlist_stopping(&f->enlist))
        hand_on(f, t, true, &f->ready, &f->n_building);
    return true;
}

/* ---- timing ---- */

/* Each batch has its anchor and its canary: half a batch is waited for while builders are at work. */
static bool is_worth_it(const struct farm *f)
{
    return !f->overlap || f->rig->n_forges > 0 || 2 * f->ready.n >= f->options.batch ||
           f->n_building + f->leased.n == 0;
}

/* Finalists and the like are compared with each other: they wait until all of them are here. */
static bool is_complete(const struct farm *f, const struct trial *t)
{
    if (farm_is_full(f))
        return true;
    if (t->rules.may_censor)
        return is_worth_it(f);
    for (int i = 0; i < f->n_held; i++) {
        const struct trial *other = f->held[i];

        if (!other->built && !atomic_load(&other->dropped) && strcmp(other->record.job, t->record.job) == 0 &&
            strcmp(other->record.purpose, t->record.purpose) == 0)
            return false;
    }
    return true;
}

/* The first of the ready trials that may be timed now; -1 = none. */
static int first_complete(const struct farm *f)
{
    for (int i = 0; i < f->ready.n; i++)
        if (is_complete(f, f->ready.trials[i]))
            return i;
    return -1;
}

/* Moves what goes with ready trial `first` into one batch: whatever there is now, no waiting for more. */
static void gather(struct farm *f, int first, struct queue *out)
{
    struct queue *ready = &f->ready;

    out->trials[0] = remove_at(ready, first);
    out->n = 1;
    for (int i = 0; i < ready->n && out->n < f->options.batch;) {
        out->trials[out->n] = ready->trials[i];
        if (rig_batch_size(out->trials, out->n + 1) == out->n + 1) {
            remove_at(ready, i);
            out->n++;
        } else {
            i++;
        }
    }
}

/* Beside building: at once, but for what is to be verified on the device itself, which cannot go on meanwhile and makes
 * the batch longer. In turns: when a batch, or all there is, is built. With the lock held. */
static bool may_time(const struct farm *f)
{
    const int n_at_work = f->n_compiling + f->n_building, n_waiting = f->uncompiled.n + f->leased.n;

    return f->overlap ? farm_is_full(f) || farm_n_compiled(f) == 0
                      : n_at_work == 0 && (n_waiting == 0 || farm_is_full(f));
}

/* False when nothing may be timed now. */
static bool next_ready(struct farm *f, struct queue *out)
{
    int first;
    bool may;

    pthread_mutex_lock(&f->hands.lock);
    first = first_complete(f);
    may = first >= 0 && may_time(f);
    if (may) {
        gather(f, first, out);
        assert(!f->timing);
        f->timing = true;
        hands_changed(&f->hands);
    }
    pthread_mutex_unlock(&f->hands.lock);
    return may;
}

/* Times all but those that were taken back, and answers each. */
static void time_batch(struct farm *f, struct queue *b)
{
    int n = 0;

    for (int i = 0; i < b->n; i++)
        if (atomic_load(&b->trials[i]->dropped))
            farm_answer(f, b->trials[i]);
        else
            b->trials[n++] = b->trials[i];
    if (n > 0)
        rig_time(f->rig, b->trials, n);
    for (int i = 0; i < n && !enlist_stopping(&f->enlist); i++)
        farm_answer(f, b->trials[i]);
}

bool farm_time_step(void *farm, int i)
{
    struct farm *f = farm;
    struct queue b;

    (void)i;
    if (!next_ready(f, &b))
        return false;
    time_batch(f, &b);
    pthread_mutex_lock(&f->hands.lock);
    assert(f->timing);
    f->timing = false;
    hands_changed(&f->hands);
    pthread_mutex_unlock(&f->hands.lock);
    return true;
}
