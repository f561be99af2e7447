/* SPDX-License-Identifier: MIT */
#include "agent/timing.h"

#include "core/order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_BEST 0.0953     /* ln 1.1 */
#define CENSORED_OVER 1.0986 /* ln 3 */
#define HOPELESS_TIMES 5.0
#define LONG_SLOTS 2.0 /* a slot never goes on past this many times its minimum */

double timing_median(double *values, int n)
{
    assert(n >= 1);
    qsort(values, (size_t)n, sizeof *values, order_doubles);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

int timing_plan(struct rng *rng, const int *live, int n_live, bool anchored, int *plan)
{
    int order[TIMING_MAX_BATCH], n = 0;

    memcpy(order, live, (size_t)n_live * sizeof *order);
    for (int i = n_live - 1; i > 0; i--) {
        const int j = (int)rng_below(rng, (uint64_t)i + 1), swap = order[i];

        order[i] = order[j];
        order[j] = swap;
    }
    for (int i = 0; i < n_live; i++) {
        if (anchored && i % 2 == 0)
            plan[n++] = TIMING_ANCHOR;
        plan[n++] = order[i];
    }
    if (anchored && n_live)
        plan[n++] = TIMING_ANCHOR;
    assert(n <= 2 * n_live + 1);
    return n;
}

bool timing_wants_warmup(const struct timing_rules *r, double call_ns)
{
    return r->warmup > 0 && call_ns <= LONG_SLOTS * r->min_slot_ns;
}

bool timing_slot_full(const struct timing_rules *r, int calls, double sum_ns)
{
    if (calls < 1)
        return false;
    if (sum_ns >= LONG_SLOTS * r->min_slot_ns && r->min_slot_ns > 0)
        return true;
    return calls >= r->min_calls && sum_ns >= r->min_slot_ns;
}

void timing_add(struct timing_series *s, double at_ns, double *calls_ns, int n)
{
    if (s->n == TIMING_MAX_ANCHORS || n < 1)
        return;
    s->slots[s->n].at_ns = at_ns;
    s->slots[s->n].ns = timing_median(calls_ns, n);
    s->n++;
    s->calls += n;
}

void timing_anchor_slots(const struct timing_series *a, double at_ns, struct timing_slot out[2])
{
    int i = 0;

    assert(a->n >= 1);
    while (i < a->n && a->slots[i].at_ns < at_ns)
        i++;
    out[0] = a->slots[i ? i - 1 : 0];
    out[1] = a->slots[i < a->n ? i : a->n - 1];
}

double timing_anchor_ln(const struct timing_series *a, double at_ns)
{
    struct timing_slot s[2];
    double part;

    timing_anchor_slots(a, at_ns, s);
    if (!(s[1].at_ns > s[0].at_ns))
        return log(s[0].ns);
    part = (at_ns - s[0].at_ns) / (s[1].at_ns - s[0].at_ns);
    return (1 - part) * log(s[0].ns) + part * log(s[1].ns);
}

/* 1.25 (a median's standard error over a mean's) * 1.48 (sigma over MAD), both for a normal distribution. */
static double standard_error(const double *values, int n, double median)
{
    double far[TIMING_MAX_ANCHORS];

    assert(n >= 1);
    for (int i = 0; i < n; i++)
        far[i] = fabs(values[i] - median);
    return 1.25 * 1.48 * timing_median(far, n) / sqrt(n);
}

void timing_estimate(const struct timing_series *s, const struct timing_series *anchors, struct timing_value *out)
{
    const bool anchored = anchors && anchors->n > 0;
    double time[TIMING_MAX_ANCHORS], ln[TIMING_MAX_ANCHORS], middle;

    assert(s->n >= 1);
    for (int i = 0; i < s->n; i++) {
        time[i] = s->slots[i].ns;
        ln[i] = log(s->slots[i].ns) - (anchored ? timing_anchor_ln(anchors, s->slots[i].at_ns) : 0);
    }
    middle = timing_median(ln, s->n);
    out->time_ns = timing_median(time, s->n);
    out->lnratio = anchored ? middle : NAN;
    out->se = standard_error(ln, s->n, middle);
}

static double least(double a, double b)
{
    return isnan(a) || b < a ? b : a; /* NAN b: a */
}

double timing_gap(const struct timing_rules *r, const struct timing_value *v, const struct timing_value *batch_best)
{
    double ratio_best = r->best_lnratio, time_best = r->best_ns > 0 ? log(r->best_ns) : NAN;

    if (batch_best) {
        ratio_best = least(ratio_best, batch_best->lnratio + r->bridge);
        time_best = least(time_best, log(batch_best->time_ns));
    }
    if (!isnan(v->lnratio) && !isnan(ratio_best))
        return v->lnratio + r->bridge - ratio_best;
    return log(v->time_ns) - time_best;
}

bool timing_hopeless(const struct timing_rules *r, double first_call_ns)
{
    return r->may_censor && r->best_ns > 0 && first_call_ns > HOPELESS_TIMES * r->best_ns &&
           first_call_ns > r->min_slot_ns;
}

bool timing_censored(const struct timing_rules *r, double gap)
{
    return r->may_censor && gap > CENSORED_OVER;
}

int timing_rounds_wanted(const struct timing_rules *r, double gap)
{
    const bool near = isnan(gap) || gap <= NEAR_BEST;

    return near && r->rounds_near_best > r->rounds ? r->rounds_near_best : r->rounds;
}
