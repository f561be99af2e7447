#include "tuner/share.h"

#include <math.h>

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

static double saving(const struct share_task *t, double mean_ns, int64_t minimum)
{
    if (isnan(t->time_ns))
        return mean_ns * UNKNOWN * (double)(minimum + 1) / (double)(minimum + 1 + t->n_out);
    return t->time_ns * (isnan(t->gain) ? UNKNOWN : 1 - exp(-t->gain));
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
    const double mean_ns = mean_time(tasks, n);
    size_t next = starving(tasks, n, minimum);
    double most = -1;

    if (next < n)
        return next;
    for (size_t i = 0; i < n; i++) {
        const double saved = saving(&tasks[i], mean_ns, minimum);

        if (tasks[i].open && saved > most) {
            most = saved;
            next = i;
        }
    }
    return next;
}
