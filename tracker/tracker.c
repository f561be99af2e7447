/* SPDX-License-Identifier: MIT */
#include "tracker/state.h"

#include "tracker/vault.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RETAIN_EVERY_NS ((int64_t)3600 * 1000000000)
#define DAY_MS ((int64_t)86400000)
#define DROP_AT_ONCE 64

int64_t tracker_now_ns(const struct tracker *t)
{
    return clock_read_ns(t->o.clock);
}

int64_t tracker_wall_ms(const struct tracker *t)
{
    return clock_read_wall_ms(t->o.clock);
}

void wake(struct tracker *t, struct waiters *w)
{
    if (w->woken || !w->first)
        return;
    w->woken = true;
    w->next_woken = t->woken;
    t->woken = w;
}

void wake_devices(struct tracker *t)
{
    struct slug *s;
    size_t at = 0;

    while ((s = table_next(&t->slugs, &at)) != NULL)
        wake(t, &s->waiters);
}

enum err tracker_check_key(struct call *c, const char *key)
{
    const struct tracker_options *o = &c->t->o;
    const int64_t part = part_of_key(key, o->n_parts);

    return part == o->part ? ERR_OK
                           : why_set(&c->why, ERR_INPUT,
                                     "key '%.64s' is of part %lld of this farm, and this tracker has part %lld of %lld",
                                     key, (long long)part, (long long)o->part, (long long)o->n_parts);
}

void text_copy(char *out, size_t n_out, const char *text)
{
    const size_t n = strnlen(text, n_out - 1);

    memcpy(out, text, n);
    out[n] = '\0';
}

/* Numbers of jobs and trials go in steps of n_parts, from that of the part: whoever sees one knows the part. */
static enum err plan_trials(struct tracker *t)
{
    const enum err e = t->o.ops->next_trial(t->o.store, &t->next_trial);

    while (!e && part_of_id(t->next_trial, t->o.n_parts) != t->o.part)
        t->next_trial++;
    return e;
}

static enum err load(struct tracker *t)
{
    enum err e = t->o.ops->each_job(t->o.store, 0, job_load, t);

    if (!e)
        e = t->o.ops->each_mode(t->o.store, agent_mode_load, t);
    if (!e)
        e = t->o.ops->each_live_trial(t->o.store, trial_load, t);
    if (!e && t->is_starved)
        e = ERR_NOMEM;
    return e ? e : plan_trials(t);
}

enum err tracker_new(const struct tracker_options *options, struct tracker **out, struct why *why)
{
    struct tracker *t = calloc(1, sizeof *t);
    enum err e;

    if (!t)
        return ERR_NOMEM;
    t->o = *options;
    if (!t->o.n_parts)
        t->o.part = t->o.n_parts = 1;
    assert(t->o.part >= 1 && t->o.part <= t->o.n_parts && t->o.n_parts <= PARTS_MOST);
    t->started_ms = tracker_wall_ms(t);
    t->next_job = t->o.part;
    e = entropy_hex(t->o.entropy, t->boot, REQUEST_ID_HEX);
    if (!e)
        e = load(t);
    if (e) {
        why_set(why, e, "%s", err_words(e));
        options->ops->words(options->store, why);
        tracker_free(t);
        return why_prefix(why, e, "the store cannot be loaded");
    }
    *out = t;
    return ERR_OK;
}

void tracker_free(struct tracker *t)
{
    struct agent *a;
    struct tracker_job *j;
    struct agent_mode *m;
    struct owner *owner;
    size_t at = 0;

    if (!t)
        return;
    backup_fini(t);
    trials_fini(t);
    lanes_fini(t);
    builds_fini(t);
    while ((j = table_next(&t->jobs, &at)) != NULL)
        job_free(j);
    at = 0;
    while ((a = table_next(&t->agents, &at)) != NULL)
        agent_free(a);
    at = 0;
    while ((m = table_next(&t->modes, &at)) != NULL)
        free(m);
    table_fini(&t->modes);
    at = 0;
    while ((owner = table_next(&t->owners, &at)) != NULL)
        free(owner);
    table_fini(&t->owners);
    table_fini(&t->jobs);
    table_fini(&t->agents);
    table_fini(&t->requests);
    sessions_fini(t);
    free(t);
}

/* Jobs that the store forgets are forgotten here, some at once; true when there may be more. */
static bool drop_old_jobs(struct tracker *t, int64_t before_ms)
{
    struct tracker_job *j, *old[DROP_AT_ONCE];
    size_t at = 0;
    int n = 0;

    while (n < DROP_AT_ONCE && (j = table_next(&t->jobs, &at)) != NULL)
        if (j->state != JOB_OPEN && j->done_ms < before_ms && !j->changed)
            old[n++] = j;
    for (int i = 0; i < n; i++) {
        trials_forget(t, old[i]);
        job_forget(t, old[i]);
    }
    return n == DROP_AT_ONCE;
}

/* Every hour, in steps of one a tick until all is done. */
static enum err retain(struct tracker *t)
{
    const int64_t before_ms = tracker_wall_ms(t) - t->o.retention_days * DAY_MS, now = tracker_now_ns(t);
    bool more = true;
    enum err e;

    if (t->o.retention_days <= 0 || (t->retained_ns && now < t->retained_ns + RETAIN_EVERY_NS))
        return ERR_OK;
    assert(t->retained_ns <= now);
    if (drop_old_jobs(t, before_ms))
        return ERR_OK;
    e = t->o.ops->retain(t->o.store, before_ms, &more);
    if (!more)
        t->retained_ns = now ? now : 1;
    return e;
}

/* A time behind a pause. What was set in the turn that the pause fell into may have been so behind it: it is as if now
 * at the latest. */
static int64_t later(int64_t at_ns, int64_t pause_ns, int64_t latest_ns)
{
    return at_ns + pause_ns < latest_ns ? at_ns + pause_ns : latest_ns;
}

void tracker_was_paused(struct tracker *t, int64_t pause_ns)
{
    const int64_t now = tracker_now_ns(t), end = now + t->o.lease_ms * 1000000;
    struct build *b;
    struct agent *a;
    struct arch *arch;
    struct tracker_job *j;
    size_t at = 0;

    assert(pause_ns >= 0);
    for (struct tracker_trial *tr = t->leased.first; tr; tr = tr->next)
        tr->deadline_ns = later(tr->deadline_ns, pause_ns, end);
    while ((j = table_next(&t->jobs, &at)) != NULL)
        j->deadline_ns = later(j->deadline_ns, pause_ns, end);
    at = 0;
    while ((b = table_next(&t->builds, &at)) != NULL)
        b->deadline_ns = later(b->deadline_ns, pause_ns, end);
    at = 0;
    while ((a = table_next(&t->agents, &at)) != NULL)
        a->seen_ns = later(a->seen_ns, pause_ns, now);
    at = 0;
    while ((arch = table_next(&t->arches, &at)) != NULL)
        if (arch->seen_ns)
            arch->seen_ns = later(arch->seen_ns, pause_ns, now);
}

enum err tracker_commit(struct tracker *t, struct why *why)
{
    enum err e = ERR_OK;

    for (struct tracker_job *j = t->changed; j && !e; j = j->next_changed) {
        const struct job_row sums = {.id = j->id,
                                     .seq = j->seq,
                                     .n_done = j->n_done,
                                     .n_lost = j->n_lost,
                                     .best_gflops = j->best_gflops,
                                     .best_ns = j->best_ns};

        assert(j->changed);
        j->changed = false;
        e = t->o.ops->sums_put(t->o.store, &sums);
    }
    t->changed = NULL;
    return e ? e : t->o.ops->commit(t->o.store, why);
}

enum err tracker_tick(struct tracker *t)
{
    enum err e = trials_tick(t);

    if (!e)
        e = builds_tick(t);
    jobs_tick(t);
    agents_tick(t);
    backup_tick(t);
    answered_expire(t);
    if (!e)
        e = vault_tick(t);
    return e ? e : retain(t);
}
