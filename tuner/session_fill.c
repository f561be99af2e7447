/* SPDX-License-Identifier: MIT */
/* session_fill.c - what to measure next: defaults, baseline, searched batches, bridges, finals; enough that no agent
 * waits. */
#include "core/err.h"
#include "core/json.h"
#include "core/vec.h"
#include "kernels/expect.h"
#include "tuner/session.h"

#include "tuner/sibling.h"
#include "tuner/trial.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_HINTS 2 /* of a batch may come from other tasks */

static enum err note_sent(struct session *s, size_t i_task, size_t i_arm, const struct config *c, int kind)
{
    assert(i_task < s->n_tasks && i_arm < s->tasks[i_task].n_arms);
    if (VEC_ROOM(s->sent, s->cap_sent, s->n_sent + 1, VEC_ANY))
        return ERR_NOMEM;
    s->sent[s->n_sent++] = (struct sent){.i_task = i_task, .i_arm = i_arm, .config = *c, .kind = kind};
    s->tasks[i_task].n_in_flight++;
    return ERR_OK;
}

static int64_t next_n(const struct session *s)
{
    return s->first_n + (int64_t)s->n_sent;
}

/* One trial into the batch; a config that makes no program is told as failed. */
static enum err add(struct session *s, struct trial_batch *b, size_t i_task, enum trial_kind kind, size_t i_arm,
                    const struct config *c, const char *by)
{
    struct task *t = &s->tasks[i_task];
    struct why why = {""};
    enum err e = trial_batch_add(b, t, kind, i_arm, c, by, next_n(s), NULL, &why);

    if (e == ERR_NOMEM || e == ERR_CANCELLED)
        return e;
    if (e) {
        failures_add_words(&s->failures, STATUS_LIMITS, why.text);
        return task_refuse(t, i_arm, c);
    }
    return note_sent(s, i_task, i_arm, c, kind);
}

/* Answers that the store had already come back at once; record_wait may repeat them: done trials are ignored then. */
static enum err take_answers(struct session *s, const cJSON *answers, struct why *why)
{
    const cJSON *entry;
    enum err e = ERR_OK;

    cJSON_ArrayForEach(entry, answers)
    {
        struct trial_added a;

        if (!e)
            e = trial_added_read(entry, &a, why);
        if (!e && a.record)
            e = session_record(s, a.n, a.record, strlen(a.record), why);
    }
    return e;
}

static enum err send(struct session *s, struct trial_batch *b, struct why *why)
{
    struct trial_add_result added = {.trials = NULL};
    cJSON *tree = NULL, *o;
    bool ok = true;
    const int64_t n = (int64_t)b->n;
    enum err e = n ? trial_batch_send(b, s->o.client, s->o.job_id, s->o.token, &added, &tree, why) : ERR_OK;

    if (!e)
        e = take_answers(s, added.trials, why);
    cJSON_Delete(tree);
    if (!e && n) {
        o = cJSON_CreateObject();
        json_add_i64(o, "trials", n, &ok);
        json_add_text(o, "job", s->o.job_id, &ok);
        progress_event(s->o.progress, "submitted", o);
    }
    return e;
}

/* The defaults of the templates that fit well, or of those that possibly do, as far as the budget reaches. */
static enum err add_defaults(struct session *s, struct trial_batch *b, size_t i_task, bool possible)
{
    struct task *t = &s->tasks[i_task];
    enum err e = ERR_OK;

    for (size_t i = 0; i < t->n_arms && !e && t->n_counted + t->n_refused + t->n_in_flight < t->budget; i++) {
        const struct arm *a = &t->arms[i];

        if (a->baseline || !a->has_fallback || a->possible != possible || task_fallback(t, i))
            continue;
        e = add(s, b, i_task, TRIAL_SEARCH, i, &a->fallback, "init");
        t->arms[i].n_trials++;
    }
    return e;
}

/* What the defaults are verified with takes seconds on large layers, and devices wait meanwhile. */
static void compute_ahead(const struct session *s, const struct task *t)
{
    struct numerics *all = calloc(t->n_arms + 1, sizeof *all);
    size_t n = 0;

    for (size_t i = 0; all && i < t->n_arms; i++)
        if (t->arms[i].has_fallback && t->arms[i].source->numerics)
            all[n++] = t->arms[i].source->numerics(t, &t->arms[i], &t->arms[i].fallback);
    if (n)
        expect_ahead(&t->workload, all, n, (uint64_t)s->o.job->data_seed);
    free(all);
}

static enum err send_defaults(struct session *s, size_t i_task, struct why *why)
{
    struct task *t = &s->tasks[i_task];
    struct trial_batch b;
    enum err e = trial_batch_init(&b, s->o.job, &s->device);

    compute_ahead(s, t);
    if (!e)
        e = add_defaults(s, &b, i_task, false);
    if (!e)
        e = add_defaults(s, &b, i_task, true);
    t->phase = TASK_DEFAULTS;
    if (!e)
        e = send(s, &b, why);
    trial_batch_fini(&b);
    return e;
}

/* Once, and last: one call of it may take seconds. */
static enum err send_baseline(struct session *s, size_t i_task, struct why *why)
{
    struct task *t = &s->tasks[i_task];
    struct trial_batch b;
    enum err e = trial_batch_init(&b, s->o.job, &s->device);

    for (size_t i = 0; i < t->n_arms && !e; i++)
        if (t->arms[i].baseline && t->arms[i].has_fallback && !task_fallback(t, i))
            e = add(s, &b, i_task, TRIAL_BASELINE, i, &t->arms[i].fallback, "init");
    if (!e)
        e = send(s, &b, why);
    trial_batch_fini(&b);
    return e;
}

static enum err send_bridge(struct session *s, size_t i_task, struct why *why)
{
    struct task *t = &s->tasks[i_task];
    const struct measured *best = &t->all[t->i_best];
    struct trial_batch b;
    enum err e = trial_batch_init(&b, s->o.job, &s->device);

    assert(t->i_best >= 0 && (size_t)t->i_best < t->n_all);
    if (!e)
        e = add(s, &b, i_task, TRIAL_BRIDGE, best->i_arm, &best->config, best->record.proposed_by);
    if (!e && b.n)
        anchor_await_bridge(&t->anchor, &best->record.program);
    if (!e)
        e = send(s, &b, why);
    trial_batch_fini(&b);
    return e;
}

static bool was_sent(const struct session *s, size_t i_task, const struct task_proposal *p)
{
    const struct space *space = s->tasks[i_task].arms[p->i_arm].space;

    for (size_t i = 0; i < s->n_sent; i++)
        if (s->sent[i].i_task == i_task && s->sent[i].i_arm == p->i_arm &&
            space_config_equal(space, &s->sent[i].config, &p->config))
            return true;
    return false;
}

/* What other layers of the network found best and this one has not tried. */
static size_t hints(struct session *s, size_t i_task, size_t n, struct task_proposal *out)
{
    size_t n_out = 0;
    const size_t n_hints = sibling_hints(s->tasks, s->n_tasks, i_task, &s->rng, n, out);

    for (size_t i = 0; i < n_hints; i++)
        if (!was_sent(s, i_task, &out[i])) {
            s->tasks[i_task].arms[out[i].i_arm].n_trials++;
            out[n_out++] = out[i];
        }
    return n_out;
}

static enum err send_search(struct session *s, size_t i_task, size_t n, struct why *why)
{
    struct task *t = &s->tasks[i_task];
    struct task_proposal proposals[SESSION_BATCH];
    struct trial_batch b;
    size_t got = hints(s, i_task, n < SESSION_HINTS ? n : SESSION_HINTS, proposals), asked = 0;
    enum err e = task_ask(t, n - got, proposals + got, &asked, why);

    t->waits = e == ERR_BUSY;
    got += asked;
    assert(n > 0 && n <= SESSION_BATCH && got <= n);
    if (e && e != ERR_BUSY)
        return e;
    if (got == 0) {
        t->exhausted = !t->waits;
        return ERR_OK;
    }
    e = trial_batch_init(&b, s->o.job, &s->device);
    for (size_t i = 0; i < got && !e; i++)
        e = add(s, &b, i_task, TRIAL_SEARCH, proposals[i].i_arm, &proposals[i].config, proposals[i].by);
    if (!e)
        e = send(s, &b, why);
    trial_batch_fini(&b);
    return e;
}

static bool has_final(const struct task *t, const struct measured *m)
{
    return task_finest(t, m) != m;
}

/* The best five and the default, interleaved; nothing when the log has them all from an earlier run. */
static enum err send_finals(struct session *s, size_t i_task, struct why *why)
{
    struct task *t = &s->tasks[i_task];
    const struct measured *list[TASK_FINALISTS + 1], *before = task_best_fallback(t);
    size_t n = task_top(t, TASK_FINALISTS, list), n_known = 0;
    bool listed = false;
    struct trial_batch b;
    enum err e;

    assert(t->n_in_flight == 0);
    t->phase = TASK_FINALS;
    for (size_t i = 0; i < n; i++)
        listed |= list[i] == before;
    if (before && !listed)
        list[n++] = before;
    for (size_t i = 0; i < n; i++)
        n_known += has_final(t, list[i]);
    if (n_known == n || source_of(s->o.job)->repeats_itself)
        return ERR_OK;
    e = trial_batch_init(&b, s->o.job, &s->device);
    for (size_t i = 0; i < n && !e; i++)
        e = add(s, &b, i_task, TRIAL_FINAL, list[i]->i_arm, &list[i]->config, list[i]->record.proposed_by);
    if (!e)
        e = send(s, &b, why);
    trial_batch_fini(&b);
    return e;
}

enum err session_put_program(struct session *s, const struct task *t, const struct measured *m, struct sha256 *program,
                             struct why *why)
{
    struct trial_batch b;
    enum err e = trial_batch_init(&b, s->o.job, &s->device);

    if (!e)
        e = trial_batch_add(&b, t, TRIAL_SEARCH, m->i_arm, &m->config, "init", 0, program, why);
    if (!e)
        e = client_put_blobs(s->o.client, &b.blobs, why);
    trial_batch_fini(&b);
    return e;
}

/* The best so far becomes what others are timed against, be it from a log that another farm wrote. */
static enum err freeze_anchor(struct session *s, struct task *t, struct why *why)
{
    struct sha256 program;
    enum err e;

    if (t->anchor.hash.hex[0] || t->i_best < 0)
        return ERR_OK;
    e = session_put_program(s, t, &t->all[t->i_best], &program, why);
    if (!e)
        task_freeze_anchor(t, &program);
    return e == ERR_INPUT || e == ERR_LIMIT ? ERR_OK : e; /* no program any more: trials are timed alone */
}

/* Moves a task through its phases as far as it can go without waiting. */
static enum err advance(struct session *s, size_t i_task, struct why *why)
{
    struct task *t = &s->tasks[i_task];
    enum err e = ERR_OK;

    if (t->phase == TASK_NEW)
        e = send_defaults(s, i_task, why);
    if (!e && t->phase == TASK_DEFAULTS && t->n_in_flight == 0)
        t->phase = TASK_SEARCH;
    if (!e && t->phase == TASK_SEARCH)
        e = freeze_anchor(s, t, why);
    if (!e && t->phase == TASK_SEARCH && t->i_best >= 0 && !*t->objective &&
        anchor_wants_epoch(&t->anchor, t->all[t->i_best].value, &t->all[t->i_best].record.program))
        e = send_bridge(s, i_task, why);
    if (!e && t->phase == TASK_SEARCH && t->stop == STOP_NONE)
        t->stop = session_stop(s, t);
    if (!e && t->phase == TASK_SEARCH && t->stop != STOP_NONE && t->n_in_flight == 0) {
        e = send_finals(s, i_task, why);
        if (!e)
            e = send_baseline(s, i_task, why);
    }
    if (!e && t->phase == TASK_FINALS && t->n_in_flight == 0) {
        t->phase = TASK_DONE;
        if (s->o.log)
            (void)joblog_write_best(s->o.log, NULL); /* session_write_best says whether it could be */
    }
    return e;
}

enum err session_fill(struct session *s, struct why *why)
{
    const int64_t target = s->device.capacity > DEVICES_CAPACITY ? s->device.capacity : DEVICES_CAPACITY;
    int64_t in_flight = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < s->n_tasks && !e; i++) {
        s->tasks[i].waits = false;
        if (s->tasks[i].phase != TASK_NEW || in_flight < target)
            e = advance(s, i, why);
        in_flight += s->tasks[i].n_in_flight;
    }
    while (!e && in_flight + SESSION_BATCH <= target) {
        const size_t i = session_next_task(s);
        const int64_t before = i < s->n_tasks ? s->tasks[i].n_in_flight : 0;

        if (i == s->n_tasks)
            return ERR_OK;
        e = send_search(s, i, session_room(s, &s->tasks[i]), why);
        in_flight += s->tasks[i].n_in_flight - before;
    }
    return e;
}
