/* SPDX-License-Identifier: MIT */
/* farm_lease.c - how work comes to the farm: leases, and the blobs that their trials are made of. */
#include "agent/farm_parts.h"
#include "agent/fetch.h"
#include "agent/host.h"
#include "core/err.h"
#include "core/json.h"

#include <assert.h>
#include <string.h>

/* A poll is under way when the first one fails: twice this, and the agent leaves behind four tries of a trial. */
#define UNSTARTED_PAUSE_MS 10000

/* ---- leasing ---- */

static void take_leases(struct farm *f, const cJSON *list, struct queue *out)
{
    const cJSON *lease;
    struct why why = {""};

    cJSON_ArrayForEach(lease, list)
    {
        struct trial *t = NULL;

        if (out->n == TIMING_MAX_BATCH || trial_new(lease, &f->self, &t, &why)) {
            enlist_tell(&f->enlist, 0, "a lease was left alone: %s",
                        out->n == TIMING_MAX_BATCH ? "more than asked for" : why.text);
            continue;
        }
        t->blob_stamp = workdir_stamp(&f->rig->dir);
        if (farm_hold(f, t))
            out->trials[out->n++] = t;
        else
            trial_free(t);
    }
}

static void lease(struct farm *f, struct queue *out)
{
    const struct trial_lease_args args = {.max = f->options.batch,
                                          .agent = f->options.name,
                                          .session_nonce = f->enlist.nonce,
                                          .wait_ms = ENLIST_WAIT_MS,
                                          .temperature = host_temperature_c(),
                                          .load = host_load()};
    struct trial_lease_result result = {.drain = false};
    struct why why = {""};
    cJSON *tree = NULL;
    const enum err e = client_trial_lease(f->enlist.client, &args, &result, &tree, &why);

    enlist_polled(&f->enlist, e, result.drain, &why);
    out->n = 0;
    if (!e)
        take_leases(f, result.trials, out);
    cJSON_Delete(tree);
}

/* The tracker asks this agent to leave: it does, once all that it holds is answered. */
static void leave_when_done(struct farm *f)
{
    bool now;

    pthread_mutex_lock(&f->hands.lock);
    now = !f->left && !(f->uncompiled.n || f->n_compiling || f->leased.n || f->n_building || f->ready.n || f->timing);
    assert(!now || f->n_held == 0 || enlist_stopping(&f->enlist)); /* what is held is somewhere */
    f->left |= now;
    pthread_mutex_unlock(&f->hands.lock);
    if (now)
        enlist_leave(&f->enlist, true, "the tracker asks this agent to leave");
}

/* The next lease is taken while the last trials of the one before are being compiled or built, so that none of these
 * children waits; not while a whole batch waits for the device: another agent may be free. */
static bool has_room(struct farm *f)
{
    bool room;

    pthread_mutex_lock(&f->hands.lock);
    room = f->rig->n_forges > 0
               ? f->uncompiled.n < f->rig->n_forges && f->ready.n + farm_n_compiled(f) < f->options.batch
               : f->leased.n < f->n_builders && !farm_is_full(f);
    room = room && f->n_held <= MAX_HELD - TIMING_MAX_BATCH;
    pthread_mutex_unlock(&f->hands.lock);
    return room;
}

/* Forgets blobs that no held trial needs. */
static void trim_blobs(struct farm *f)
{
    int64_t oldest = workdir_stamp(&f->rig->dir);

    pthread_mutex_lock(&f->hands.lock);
    for (int i = 0; i < f->n_held; i++)
        if (f->held[i]->blob_stamp < oldest)
            oldest = f->held[i]->blob_stamp;
    pthread_mutex_unlock(&f->hands.lock);
    workdir_trim(&f->rig->dir, oldest);
}

/* What fails for other reasons than that the tracker lacks a blob may fail at once again: behind a pause. */
static void fetch_all(struct farm *f, const struct queue *b)
{
    bool failed = false;

    for (int i = 0; i < b->n && !enlist_stopping(&f->enlist); i++) {
        struct trial *t = b->trials[i];
        struct queue *next;
        struct why anchor = {""}, why = {""};
        enum err e = ERR_OK;

        if (!atomic_load(&t->dropped))
            e = fetch_trial(f->enlist.client, &f->rig->dir, t, &anchor, &why);
        if (e) {
            farm_give_back(f, t, &why);
            failed |= e != ERR_NOT_FOUND;
            continue;
        }
        if (anchor.text[0])
            enlist_tell(&f->enlist, 0, "%s: its anchor cannot be fetched: %s", t->id, anchor.text);
        if (t->finished || atomic_load(&t->dropped)) {
            farm_answer(f, t);
            continue;
        }
        pthread_mutex_lock(&f->hands.lock);
        next = rig_compiles(f->rig, t) ? &f->uncompiled : &f->leased;
        assert(next->n < MAX_HELD);
        next->trials[next->n++] = t;
        hands_changed(&f->hands);
        pthread_mutex_unlock(&f->hands.lock);
    }
    if (failed)
        enlist_nap(&f->enlist, ENLIST_RETRY_MS);
}

/* Children that do not begin their work: a while later they may. */
static void pause_unstarted(struct farm *f)
{
    if (atomic_load(&f->enlist.unstarted_ns))
        enlist_nap(&f->enlist, UNSTARTED_PAUSE_MS);
}

bool farm_lease_step(void *farm, int i)
{
    struct farm *f = farm;
    struct queue b;

    (void)i;
    if (atomic_load(&f->enlist.drain)) {
        leave_when_done(f);
        return false;
    }
    if (!has_room(f))
        return false;
    pause_unstarted(f);
    if (!enlist_finds_room(&f->enlist, &f->rig->dir))
        return true;
    trim_blobs(f);
    lease(f, &b);
    fetch_all(f, &b);
    return true;
}
