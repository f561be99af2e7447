/* SPDX-License-Identifier: MIT */
#include "logs/compare.h"

#include "core/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How much of a change of the machine's state, told by the anchor's time, a ratio to the anchor may follow: one config
 * stood at -3.7 % beside an anchor of 70 us and at -7.4 % beside the same at 78 us. */
#define STATE_SLOPE 0.35
/* The floor beside what logs tell: as three pairs of runs where they tell more, as ten where they tell less, for a few
 * programs scatter by far more than others of the same runs. */
#define FLOOR_PAIRS 3.0
#define FLOOR_PAIRS_LESS 10.0

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* ln of the time of the anchor that a record was timed against, NAN without one: in what state the machine was. */
static double ln_anchor(const struct record *r)
{
    double sorted[RECORD_MAX_SAMPLES];
    const size_t n = r->anchor.n_samples;

    if (!r->anchor.hash.hex[0] || n == 0 || n > RECORD_MAX_SAMPLES)
        return NAN;
    memcpy(sorted, r->anchor.samples_ns, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    return log((sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
}

static bool is_same(const struct sha256 *a, const struct sha256 *b)
{
    return a->hex[0] && strcmp(a->hex, b->hex) == 0;
}

static double slot_error(const struct record *r)
{
    return isfinite(r->se) ? r->se : 0;
}

/* What is known of the difference of the machine's states, in ln; 0 = nothing. */
static double state_change(double a, double b)
{
    return isfinite(a) && isfinite(b) ? a - b : 0;
}

static double ln_peak(const struct record *r)
{
    const cJSON *peak = cJSON_GetObjectItemCaseSensitive(r->device, "peak_gflops");

    return cJSON_IsNumber(peak) && peak->valuedouble > 0 ? log(peak->valuedouble) : NAN;
}

/* Standard deviation of the ln of times; 0 of fewer than two, or where one is none. */
static double scatter(const double *ns, size_t n)
{
    double mean = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        if (!(ns[i] > 0))
            return 0;
        mean += log(ns[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        squares += (log(ns[i]) - mean) * (log(ns[i]) - mean) / (double)n;
    return sqrt(squares);
}

/* How far the machine's state moved within a record's batch: so far, at the least, it may be from another's. */
static double unrest(const struct record *r)
{
    return hypot(scatter(r->canary_ns, r->n_canary), scatter(r->samples_ns, r->n_samples));
}

/* Of two times the machine's state is known by nothing but the peaks and the rounds beside each. */
static double state_between(const struct record *a, const struct record *b)
{
    return hypot(state_change(ln_peak(a), ln_peak(b)), hypot(unrest(a), unrest(b)));
}

/* ln cost of b less that of a, by what both were searched for; what was not measured is the worse. */
static double cost_gain(const struct record *a, const struct record *b)
{
    const bool is_one = strcmp(a->objective, b->objective) == 0;
    const double cost_a = is_one ? record_cost(a, log(a->time_ns)) : log(a->time_ns);
    const double cost_b = is_one ? record_cost(b, log(b->time_ns)) : log(b->time_ns);

    if (isnan(cost_a) || isnan(cost_b))
        return isnan(cost_a) && isnan(cost_b) ? 0 : isnan(cost_b) ? (double)INFINITY : -(double)INFINITY;
    return cost_b - cost_a;
}

/* The ratio of both to one program, where there is one: gain, of how many ratios it is made (0 = there is none), and by
 * how much the machine's state differed then. */
static int find_ratios(const struct record *a, const struct record *b, double *gain, double *change)
{
    const bool by_time = !*a->objective || strcmp(a->objective, b->objective) != 0;

    *change = 0;
    if (by_time && isfinite(a->lnratio) && is_same(&a->anchor.hash, &b->program)) {
        *gain = -a->lnratio; /* both were in one batch */
        return 1;
    }
    if (by_time && isfinite(b->lnratio) && is_same(&b->anchor.hash, &a->program)) {
        *gain = b->lnratio;
        return 1;
    }
    if (by_time && isfinite(a->lnratio) && isfinite(b->lnratio) && is_same(&a->anchor.hash, &b->anchor.hash)) {
        *gain = b->lnratio - a->lnratio;
        *change = state_change(ln_anchor(a), ln_anchor(b));
        return 2;
    }
    return 0;
}

/* The farm's recorded devices repeat what was measured to the digit. */
static bool is_exact(const struct record *r)
{
    const char *api = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(r->device, "api"));

    return api && strcmp(api, "replay") == 0;
}

/* Over n ratios (0 = of two times), the machine's state having moved the gain by `state` at the most. */
static struct comparison compare_by(const struct record *a, const struct record *b, double gain, int n_ratios,
                                    double state, const struct run_error *e)
{
    const double slots = hypot(slot_error(a), slot_error(b));
    const double between = n_ratios ? sqrt(n_ratios) * e->ratio : sqrt(2) * e->time;
    struct comparison c = {.by = n_ratios ? COMPARE_RATIO : COMPARE_TIME, .gain = gain};

    c.error = is_exact(a) && is_exact(b) ? slots : hypot(hypot(slots, between), state);
    if (is_same(&a->program, &b->program))
        c.by = COMPARE_PROGRAM;
    return c;
}

struct comparison compare_along(const struct record *a, const struct record *b, double gain, int n_ratios,
                                const struct run_error *e)
{
    return compare_by(a, b, gain, n_ratios, n_ratios ? 0 : state_between(a, b), e);
}

struct comparison compare_records(const struct record *a, const struct record *b, const struct run_error *e)
{
    double gain, change;
    const int n_ratios = find_ratios(a, b, &gain, &change);

    return n_ratios ? compare_by(a, b, gain, n_ratios, STATE_SLOPE * change, e)
                    : compare_along(a, b, cost_gain(a, b), 0, e);
}

double comparison_margin(const struct comparison *c)
{
    return 2 * c->error;
}

bool comparison_ties(const struct comparison *c)
{
    return c->by == COMPARE_PROGRAM || c->gain == 0 ||
           (c->error > 0 && fabs(c->gain) < fmax(COMPARE_TIE, comparison_margin(c)));
}

void run_pair_add(struct run_pair *p, const struct record *a, const struct record *b)
{
    const double time = log(a->time_ns / b->time_ns);
    double gain, change;

    if (!is_same(&a->program, &b->program) || (a->ts_ms == b->ts_ms && strcmp(a->id, b->id) == 0))
        return;
    p->sum_time += time * time;
    p->n_time++;
    if (!is_same(&a->anchor.hash, &a->program) && find_ratios(a, b, &gain, &change)) {
        p->sum_ratio += fmax(gain * gain - STATE_SLOPE * STATE_SLOPE * change * change, 0);
        p->n_ratio++;
    }
}

void run_errors_add(struct run_errors *s, const struct run_pair *p)
{
    if (p->n_time) {
        s->sum_time += p->sum_time / (double)p->n_time;
        s->n_time++;
    }
    if (p->n_ratio) {
        s->sum_ratio += p->sum_ratio / (double)p->n_ratio;
        s->n_ratio++;
    }
}

/* A difference of two has twice the variance of one. */
static double pooled(double floor, double sum, double n)
{
    const double weight = sum / 2 > n * floor * floor ? FLOOR_PAIRS : FLOOR_PAIRS_LESS;

    return sqrt((weight * floor * floor + sum / 2) / (weight + n));
}

struct run_error run_errors_of(const struct run_errors *s)
{
    const struct run_error floor = RUN_ERROR_FLOOR;

    return (struct run_error){.ratio = pooled(floor.ratio, s->sum_ratio, s->n_ratio),
                              .time = pooled(floor.time, s->sum_time, s->n_time)};
}
