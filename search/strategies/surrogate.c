/* SPDX-License-Identifier: MIT */
#include "search/strategies/surrogate.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLIP 1.5       /* in ln time: configs e^1.5 times slower than the best are all about equally bad, */
#define CLIP_SHARE 1.0 /* or this times the distance from the best to the median where that is more */
#define DOUBT 0.3      /* what one doubt adds to the expected target at first, in deviations; */
#define DOUBT_ROWS 8.0 /* so many measured configs one doubt apart weigh as much as that */
#define FIRST_STEPS 30 /* of improving lengths, at first */
#define STEPS 8        /* and later */

enum err surrogate_init(struct surrogate *s, const struct axes *axes, const struct prior *prior)
{
    enum err e;

    *s = (struct surrogate){.axes = axes, .prior = prior};
    e = gpr_new(&s->g, axes->n);
    return e ? e : gpr_new(&s->steady, axes->n);
}

void surrogate_fini(struct surrogate *s)
{
    gpr_view_free(s->view);
    gpr_view_free(s->look);
    gpr_free(s->g);
    gpr_free(s->steady);
    free(s->rows);
    free(s->targets);
    free(s->mean);
    *s = (struct surrogate){.cost_power = 0};
}

static enum err widen(struct surrogate *s, size_t n)
{
    const size_t cap = GPR_MAX_ROWS;

    if (n > cap)
        return ERR_LIMIT;
    if (s->cap >= n)
        return ERR_OK;
    s->rows = malloc(cap * s->axes->n * sizeof(*s->rows));
    s->targets = calloc(4 * cap, sizeof(*s->targets));
    if (!s->rows || !s->targets)
        return ERR_NOMEM;
    s->failed = s->targets + cap;
    s->costs = s->failed + cap;
    s->believed = s->costs + cap;
    s->cap = cap;
    return ERR_OK;
}

/* ln time with what is far from the best pressed together: the model spends itself on telling good from best. */
static double clip(double value, double best, double width)
{
    assert(width > 0);
    return width * tanh((value - best) / width);
}

static double deviation(double sum2, double n)
{
    assert(n > 0 && sum2 >= 0);

    const double sd = sqrt(sum2 / n);

    return sd > 1e-9 ? sd : 1;
}

/* What one doubt has been worth among targets of mean 0, given what was thought at first; never less than nothing. */
static double weigh_doubts(const struct surrogate *s, const struct history *h)
{
    double both = DOUBT * DOUBT_ROWS, square = DOUBT_ROWS;

    for (size_t i = 0; i < h->n; i++)
        if (!isnan(s->targets[i])) {
            const double apart = prior_doubts(s->prior, &h->items[i].config) - s->doubts;

            both += apart * s->targets[i];
            square += apart * apart;
        }
    return fmax(both / square, 0);
}

/* The targets of what succeeded, standardised, less what doubts say. */
static void set_targets(struct surrogate *s, struct history *h)
{
    const double best = history_best(h), n_ok = (double)h->n_ok, width = fmax(CLIP, CLIP_SHARE * history_spread(h));
    double sum = 0, sum2 = 0, doubts = 0;

    assert(h->n_ok > 0 && h->n <= s->cap);
    for (size_t i = 0; i < h->n; i++)
        if (!isnan(h->items[i].value)) {
            sum += clip(h->items[i].value, best, width);
            doubts += prior_doubts(s->prior, &h->items[i].config);
        }
    s->centre = sum / n_ok;
    s->doubts = doubts / n_ok;
    for (size_t i = 0; i < h->n; i++)
        if (!isnan(h->items[i].value))
            sum2 += pow(clip(h->items[i].value, best, width) - s->centre, 2);
    s->spread = deviation(sum2, n_ok);
    s->best = -s->centre / s->spread;
    for (size_t i = 0; i < h->n; i++)
        s->targets[i] = isnan(h->items[i].value) ? NAN : (clip(h->items[i].value, best, width) - s->centre) / s->spread;
    s->doubt = weigh_doubts(s, h);
    for (size_t i = 0; i < h->n; i++)
        s->targets[i] -= s->doubt * (prior_doubts(s->prior, &h->items[i].config) - s->doubts);
}

/* Other outputs: failed or not, and ln cost where it is known; both around 0. */
static void set_others(struct surrogate *s, const struct history *h)
{
    double sum = 0, sum2 = 0, n = 0;

    s->failing = (double)(h->n - h->n_ok) / (double)h->n;
    assert(s->failing >= 0 && s->failing < 1);
    for (size_t i = 0; i < h->n; i++) {
        const double cost = h->items[i].cost_s;

        s->failed[i] = (isnan(h->items[i].value) ? 1 : 0) - s->failing;
        s->costs[i] = cost > 0 ? log(cost) : NAN;
        sum += cost > 0 ? s->costs[i] : 0;
        n += cost > 0;
    }
    s->cost = n > 0 ? sum / n : 0;
    for (size_t i = 0; i < h->n; i++)
        sum2 += isnan(s->costs[i]) ? 0 : pow(s->costs[i] - s->cost, 2);
    s->cost_spread = n > 0 ? deviation(sum2, n) : 1;
    for (size_t i = 0; i < h->n; i++)
        s->costs[i] = isnan(s->costs[i]) ? 0 : (s->costs[i] - s->cost) / s->cost_spread;
}

static bool has_others(const struct surrogate *s)
{
    return s->failing > 0 || s->cost_power > 0;
}

/* Both processes on the first n rows. */
static enum err fit(struct surrogate *s, size_t n)
{
    const enum err e = gpr_fit(s->g, s->rows, s->targets, n, 0);

    return e || !has_others(s) ? e : gpr_fit(s->steady, s->rows, s->failed, n, 0);
}

/* How many measurements may come before lengths are improved again. */
static size_t patience(size_t n)
{
    return n < 32 ? 1 : n < 100 ? 4 : n < 200 ? 10 : 40;
}

/* Improves lengths on what succeeded alone; then what stands for the times of failures is thought over. */
static enum err shape(struct surrogate *s, const struct history *h)
{
    const size_t width = s->axes->n;
    float *rows = malloc(h->n_ok * width * sizeof(*rows));
    double *targets = malloc(h->n_ok * sizeof(*targets));
    enum err e = rows && targets ? ERR_OK : ERR_NOMEM;
    size_t n = 0;

    for (size_t i = 0; e == ERR_OK && i < h->n; i++)
        if (!isnan(s->targets[i])) {
            memcpy(rows + n * width, s->rows + i * width, width * sizeof(*rows));
            targets[n++] = s->targets[i];
        }
    assert(e || n == h->n_ok);
    if (e == ERR_OK)
        e = gpr_fit(s->g, rows, targets, n, s->n_shaped == 0 ? FIRST_STEPS : STEPS);
    for (size_t i = 0; e == ERR_OK && i < h->n; i++)
        if (isnan(s->targets[i]))
            s->believed[i] = gpr_mean_of(s->g, s->rows + i * width);
    s->n_shaped = h->n;
    free(rows);
    free(targets);
    return e;
}

/* An expected config: its time is what the model says, of the rest nothing is known. */
static void believe(struct surrogate *s, size_t i, double mean)
{
    s->believed[i] = mean;
    s->targets[i] = mean;
    s->failed[i] = 0;
    s->costs[i] = 0;
}

enum err surrogate_learn(struct surrogate *s, struct history *h, const struct config *awaited, size_t n_awaited)
{
    const size_t n_before = s->n_shaped ? s->n : 0;
    enum err e = h->n + n_awaited > SURROGATE_MAX ? ERR_LIMIT : widen(s, h->n + n_awaited);

    if (e)
        return e;
    for (size_t i = 0; i < h->n; i++)
        axes_row(s->axes, &h->items[i].config, s->rows + i * s->axes->n);
    set_targets(s, h);
    set_others(s, h);
    if (s->n_shaped == 0 || h->n >= s->n_shaped + patience(h->n))
        e = shape(s, h);
    else
        for (size_t i = n_before < h->n ? n_before : h->n; i < h->n; i++)
            s->believed[i] = gpr_mean_of(s->g, s->rows + i * s->axes->n);
    for (size_t i = 0; i < h->n; i++)
        if (isnan(s->targets[i]))
            s->targets[i] = s->believed[i];
    if (e == ERR_OK)
        e = fit(s, h->n);
    for (size_t i = h->n; e == ERR_OK && i < h->n + n_awaited; i++) {
        axes_row(s->axes, &awaited[i - h->n], s->rows + i * s->axes->n);
        believe(s, i, gpr_mean_of(s->g, s->rows + i * s->axes->n));
    }
    if (e == ERR_OK && n_awaited > 0)
        e = fit(s, h->n + n_awaited);
    s->n = h->n;
    return e;
}

static enum err make_room(struct surrogate *s, size_t n)
{
    float *mean;

    if (n <= s->n_room)
        return ERR_OK;
    mean = malloc(4 * n * sizeof(*mean));
    if (!mean)
        return ERR_NOMEM;
    free(s->mean);
    s->mean = mean;
    s->sd = mean + n;
    s->fails = s->sd + n;
    s->dear = s->fails + n;
    s->n_room = n;
    return ERR_OK;
}

static enum err ask_others(struct surrogate *s)
{
    const enum err e = gpr_view_update(s->look);

    if (e)
        return e;
    if (s->failing > 0)
        gpr_view_mean(s->look, s->failed, s->fails);
    if (s->cost_power > 0)
        gpr_view_mean(s->look, s->costs, s->dear);
    return ERR_OK;
}

static enum err ask_view(struct surrogate *s)
{
    const enum err e = gpr_view_update(s->view);

    if (e)
        return e;
    gpr_view_mean(s->view, NULL, s->mean);
    gpr_view_sd(s->view, s->sd);
    return has_others(s) ? ask_others(s) : ERR_OK;
}

static enum err view_of(struct gpr_view **view, const struct gpr *g, const struct pool *p)
{
    gpr_view_free(*view);
    *view = NULL;
    return gpr_view_new(view, g, p->rows, p->n);
}

enum err surrogate_look(struct surrogate *s, const struct pool *p, bool is_new)
{
    enum err e = make_room(s, p->n);

    if (e == ERR_OK && (is_new || !s->view)) {
        e = view_of(&s->view, s->g, p);
        if (e == ERR_OK)
            e = view_of(&s->look, s->steady, p);
    }
    return e ? e : ask_view(s);
}

/* The target expected of config `i` of the pool, doubts included. */
static double expected(const struct surrogate *s, const struct pool *p, size_t i)
{
    return (double)s->mean[i] + s->doubt * ((double)p->doubts[i] - s->doubts);
}

/* Of a normal variable: how far it lies below `best`, on average. With u deviations to go it is sd (u P(u) + p(u));
 * where the tail P is small it comes from p (Abramowitz and Stegun 1964, 26.2.17), beyond 4 from its expansion. */
static double improvement(double best, double mean, double sd)
{
    const double u = (best - mean) / sd, x = fabs(u), p = 0.39894228040143268 * exp(-0.5 * x * x);
    const double t = 1 / (1 + 0.2316419 * x);
    const double tail =
        p * t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));

    if (u >= 0)
        return sd * (u * (1 - tail) + p);
    return x > 4 ? sd * p / (x * x + 3) : sd * (p - x * tail);
}

void surrogate_gain(const struct surrogate *s, const struct pool *p, double *gain)
{
    assert(p->n <= s->n_room);
    for (size_t i = 0; i < p->n; i++) {
        gain[i] = improvement(s->best, expected(s, p, i), (double)s->sd[i]);
        if (s->failing > 0)
            gain[i] *= 1 - fmin(fmax(s->failing + (double)s->fails[i], 0), 0.99);
        if (s->cost_power > 0)
            gain[i] *= exp(-s->cost_power * s->cost_spread * (double)s->dear[i]);
        assert(!isnan(gain[i]));
    }
}

enum err surrogate_expect(struct surrogate *s, const struct pool *p, size_t i)
{
    const size_t n = gpr_n_rows(s->g), width = s->axes->n;
    enum err e = widen(s, n + 1);

    assert(i < p->n);
    if (e)
        return e;
    memcpy(s->rows + n * width, p->rows + i * width, width * sizeof(*s->rows));
    believe(s, n, (double)s->mean[i]);
    e = fit(s, n + 1);
    return e ? e : ask_view(s);
}
