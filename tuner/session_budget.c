/* SPDX-License-Identifier: MIT */
/* session_budget.c - when a task has had enough, and which one gets the next batch. */
#include "tuner/session.h"

#include "core/clock.h"
#include "tuner/share.h"
#include "tuner/stop.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int64_t out_of(const struct task *t)
{
    return t->n_counted + t->n_refused + t->n_in_flight;
}

int64_t session_total(const struct session *s)
{
    int64_t total = 0;

    for (size_t i = 0; i < s->n_tasks; i++)
        total += s->tasks[i].budget;
    return total;
}

/* Trials that nobody has taken: of a shared budget, or of the task's own. */
static int64_t left_of(const struct session *s, const struct task *t, bool with_flying)
{
    int64_t left = session_total(s);

    assert(t->n_in_flight >= 0 && t->n_counted >= 0 && t->n_refused >= 0);
    if (!job_shares_budget(s->o.job))
        return t->budget - out_of(t) + (with_flying ? 0 : t->n_in_flight);
    for (size_t i = 0; i < s->n_tasks; i++)
        left -= out_of(&s->tasks[i]) - (with_flying ? 0 : s->tasks[i].n_in_flight);
    return left;
}

static bool time_is_up(const struct session *s)
{
    return s->o.job->time_s > 0 && (double)(clock_read_ns(s->o.clock) - s->start_ns) / 1e9 >= s->o.job->time_s;
}

enum stop_reason session_stop(const struct session *s, const struct task *t)
{
    return stop_reason_of(s->o.job, t, left_of(s, t, false), time_is_up(s));
}

/* 0 while the defaults are out. */
size_t session_room(const struct session *s, const struct task *t)
{
    const int64_t left = left_of(s, t, true);

    if (t->waits || t->phase != TASK_SEARCH || t->stop != STOP_NONE || session_stop(s, t) != STOP_NONE || left <= 0)
        return 0;
    return left < SESSION_BATCH ? (size_t)left : SESSION_BATCH;
}

/* Round robin in effect: each batch moves its task behind the others. */
static size_t least_served(const struct session *s)
{
    double least = INFINITY;
    size_t found = s->n_tasks;

    for (size_t i = 0; i < s->n_tasks; i++) {
        const struct task *t = &s->tasks[i];
        const double taken = (double)(t->n_counted + t->n_in_flight) / (double)t->budget;

        if (session_room(s, t) > 0 && taken < least) {
            least = taken;
            found = i;
        }
    }
    return found;
}

static size_t most_to_gain(const struct session *s)
{
    struct share_task tasks[JOB_MAX_LAYERS];
    const int64_t mean = session_total(s) / (int64_t)s->n_tasks;

    for (size_t i = 0; i < s->n_tasks; i++) {
        const struct task *t = &s->tasks[i];

        tasks[i] = (struct share_task){
            .time_ns = t->i_best >= 0 ? (double)t->count * exp(t->all[t->i_best].value) : (double)NAN,
            .gain = task_gain(t, (double)t->n_in_flight, SESSION_BATCH),
            .n_out = out_of(t),
            .open = session_room(s, t) > 0,
        };
    }
    return share_next(tasks, s->n_tasks, mean < SESSION_LEAST ? mean : SESSION_LEAST);
}

size_t session_next_task(const struct session *s)
{
    return job_shares_budget(s->o.job) ? most_to_gain(s) : least_served(s);
}
