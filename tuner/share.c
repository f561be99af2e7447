/* SPDX-License-Identifier: MIT */
#include "tuner/share.h"

#include <assert.h>
#include <math.h>

#define OWN 0.5     /* weight of a task's own gain beside the mean pace */
#define FLOOR 0.1   /* least part of an equal share */
#define UNKNOWN 0.5 /* share of the time that a task nothing is known of may lose */

static double mean_time(const struct share_task *tasks, size_t n)
{
    double sum = 0;
    size_t n_known = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(tasks[i].time_ns)) {
            sum += tasks[i].time_ns;
            n_known++;
        }
    return n_known ? sum / (double)n_known : 1;
}

/* What gain x trials is on average: of a search without memory it is about the same at any time. 0 = not known. */
static double mean_pace(const struct share_task *tasks, size_t n)
{
    double sum = 0;
    size_t n_known = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(tasks[i].gain) && tasks[i].n_out > 0) {
            sum += tasks[i].gain * (double)tasks[i].n_out;
            n_known++;
        }
    return n_known ? sum / (double)n_known : 0;
}

static double saving(const struct share_task *t, double mean_ns, double pace, int64_t minimum)
{
    if (isnan(t->time_ns))
        return mean_ns * UNKNOWN * (double)(minimum + 1) / (double)(minimum + 1 + t->n_out);
    if (isnan(t->gain) || t->n_out < 1)
        return t->time_ns * UNKNOWN;
    return t->time_ns * (1 - exp(-OWN * t->gain - (1 - OWN) * pace / (double)t->n_out));
}

/* The open task with the fewest trials when it has less than its least part; n otherwise. */
static size_t starving(const struct share_task *tasks, size_t n, int64_t minimum)
{
    int64_t sum = 0;
    size_t fewest = n;

    for (size_t i = 0; i < n; i++) {
        sum += tasks[i].n_out;
        if (tasks[i].open && (fewest == n || tasks[i].n_out < tasks[fewest].n_out))
            fewest = i;
    }
    if (fewest == n ||
        (tasks[fewest].n_out >= minimum && (double)tasks[fewest].n_out >= FLOOR * (double)sum / (double)n))
        return n;
    return fewest;
}

size_t share_next(const struct share_task *tasks, size_t n, int64_t minimum)
{
    const double mean_ns = mean_time(tasks, n), pace = mean_pace(tasks, n);
    size_t next = starving(tasks, n, minimum);
    double most = -1;

    assert(n > 0 && minimum >= 0 && (next == n || tasks[next].open));
    if (next < n)
        return next;
    for (size_t i = 0; i < n; i++) {
        const double saved = saving(&tasks[i], mean_ns, pace, minimum);

        if (tasks[i].open && saved > most) {
            most = saved;
            next = i;
        }
    }
    return next;
}
