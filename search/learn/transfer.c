/* SPDX-License-Identifier: MIT */
/* transfer.c - sources looked up into columns, columns and measurements into scores. */
#include "search/learn/transfer.h"

#include "core/hash.h"
#include "search/learn/transfer_private.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARPNESS 2       /* of shares: at 20 % more time than the best a config's is .69 */
#define LEAST_SHARE 0.02  /* below this, shares are continued by a straight line */
#define WORDS_FROM 0x1p52 /* numbers from here on stand for words */
#define BEST_KEPT 4       /* of too many rows, the best 1 in so many are kept; others evenly */
#define LEAST_PRIOR 0.05  /* belief in a source none of whose values the target has */
#define UNKNOWN_SD 0.5    /* of a share, before any measurement */

double transfer_word(const char *word)
{
    return WORDS_FROM + (double)crc32c(word, strlen(word));
}

void transfer_free(struct transfer *t)
{
    if (!t)
        return;
    for (size_t i = 0; t->names && i < t->n_knobs; i++)
        free(t->names[i]);
    for (size_t i = 0; i < t->n_sources; i++)
        transfer_source_fini(&t->sources[i]);
    gp_fini(&t->gp);
    free(t->names);
    free(t->words);
    free(t->logs);
    free(t->centres);
    free(t->spreads);
    free(t);
}

enum err transfer_new(struct transfer **out, const char *const *names, size_t n_knobs, uint64_t seed)
{
    struct transfer *t;
    enum err e = ERR_OK;

    if (n_knobs == 0)
        return ERR_INPUT;
    if (n_knobs > TRANSFER_MAX_KNOBS)
        return ERR_LIMIT;
    t = calloc(1, sizeof(*t));
    if (!t)
        return ERR_NOMEM;
    t->n_knobs = n_knobs;
    t->seed = seed;
    t->names = calloc(n_knobs, sizeof(*t->names));
    t->words = calloc(n_knobs, sizeof(*t->words));
    t->logs = calloc(n_knobs, sizeof(*t->logs));
    t->centres = calloc(n_knobs, sizeof(*t->centres));
    t->spreads = calloc(n_knobs, sizeof(*t->spreads));
    if (!t->names || !t->words || !t->logs || !t->centres || !t->spreads)
        e = ERR_NOMEM;
    for (size_t i = 0; e == ERR_OK && i < n_knobs; i++)
        e = (t->names[i] = strdup(names[i])) ? ERR_OK : ERR_NOMEM;
    if (e)
        transfer_free(t);
    else
        *out = t;
    return e;
}

enum err transfer_add_source(struct transfer *t, const char *label, const struct transfer_rows *rows, struct why *why)
{
    const size_t at = t->n_sources;
    enum err e;

    if (at == TRANSFER_MAX_SOURCES)
        return why_set(why, ERR_LIMIT, "%.200s: more than %d sources", label, TRANSFER_MAX_SOURCES);
    e = transfer_source_init(&t->sources[at], (const char *const *)t->names, t->n_knobs, label, rows, t->seed + at,
                             why);
    if (e)
        return e;
    t->n_sources++;
    return ERR_OK;
}

size_t transfer_n_sources(const struct transfer *t)
{
    return t->n_sources;
}

const char *transfer_label(const struct transfer *t, size_t i_source)
{
    return t->sources[i_source].label;
}

size_t transfer_n_columns(const struct transfer *t)
{
    return t->n_sources * TRANSFER_COLUMNS;
}

enum err transfer_columns(struct transfer *t, const double *knobs, size_t n, float *columns)
{
    const size_t width = transfer_n_columns(t);
    struct transfer_answer *answers = malloc(n * sizeof(*answers) + 1);
    enum err e = answers ? ERR_OK : ERR_NOMEM;

    for (size_t k = 0; e == ERR_OK && k < t->n_sources; k++) {
        e = transfer_source_ask(&t->sources[k], knobs, t->n_knobs, n, answers);
        for (size_t i = 0; e == ERR_OK && i < n; i++) {
            columns[i * width + k * TRANSFER_COLUMNS] = (float)answers[i].above;
            columns[i * width + k * TRANSFER_COLUMNS + 1] = (float)answers[i].fail;
            columns[i * width + k * TRANSFER_COLUMNS + 2] = answers[i].like ? 1 : 0;
        }
    }
    free(answers);
    return e;
}

/* Spread and centre of one knob over rows, and whether it is better seen as a logarithm. */
static void measure_knob(struct transfer *t, size_t i_knob, const double *knobs, size_t n)
{
    double sum = 0, squares = 0;
    size_t n_seen = 0;
    bool logs = true, words = false;

    for (size_t i = 0; i < n; i++) {
        const double x = knobs[i * t->n_knobs + i_knob];

        logs = logs && !(x <= 0);
        words = words || x >= WORDS_FROM;
    }
    for (size_t i = 0; i < n; i++) {
        const double raw = knobs[i * t->n_knobs + i_knob], x = logs ? log2(raw) : raw;

        if (!isfinite(x))
            continue;
        sum += x;
        squares += x * x;
        n_seen++;
    }
    if (n_seen) {
        const double mean = sum / (double)n_seen, variance = squares / (double)n_seen - mean * mean;

        t->centres[i_knob] = (float)mean;
        t->spreads[i_knob] = variance > 1e-9 * (1 + mean * mean) ? (float)sqrt(variance) : 0;
    }
    t->logs[i_knob] = logs;
    t->words[i_knob] = words;
}

enum err transfer_space(struct transfer *t, const double *knobs, size_t n)
{
    for (size_t i = 0; i < t->n_knobs; i++)
        measure_knob(t, i, knobs, n);
    t->has_units = n > 0;
    return ERR_OK;
}

/* Places of configs, [n][n_knobs]. A knob that never differs, or has no value, is at 0. */
static void places_of(const struct transfer *t, const double *knobs, size_t n, float *places)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < t->n_knobs; j++) {
            const double raw = knobs[i * t->n_knobs + j];
            const float x = (float)(t->logs[j] ? log2(raw) : raw) - t->centres[j];
            const bool none = !isfinite(x) || t->spreads[j] <= 0;

            places[i * t->n_knobs + j] = t->words[j] ? (float)(raw - WORDS_FROM) : none ? 0 : x / t->spreads[j];
        }
    }
}

/* A share of the best throughput, sharpened and with the sign turned: -1 = the best, 0 = failed. */
static double share_of(double above)
{
    return isnan(above) ? 0 : -exp(-SHARPNESS * above);
}

/* What sources say as shares, [n][n_sources]. */
void transfer_shares(const struct transfer *t, const float *columns, size_t n, float *shares)
{
    for (size_t i = 0; i < n * t->n_sources; i++) {
        const double fails = (double)columns[i * TRANSFER_COLUMNS + 1];

        shares[i] = (float)(share_of((double)columns[i * TRANSFER_COLUMNS]) * (isnan(fails) ? 1 : 1 - fails));
    }
}

/* The inverse of share_of, continued by its tangent where a share is too small or on the wrong side. */
static double above_of(double share)
{
    const double s = -share;

    return s > LEAST_SHARE ? -log(s) / SHARPNESS : (-log(LEAST_SHARE) + (LEAST_SHARE - s) / LEAST_SHARE) / SHARPNESS;
}

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->i < y->i ? -1 : 1;
}

void transfer_sort(struct ranked *order, size_t n)
{
    qsort(order, n, sizeof(*order), by_value);
}

/* Which rows to learn from: all, or the best ones and of the others every so many. Gives their number. */
static enum err choose_rows(const double *values, size_t n, size_t *rows, size_t *n_rows)
{
    struct ranked *order;
    size_t n_best = GP_MAX_ROWS / BEST_KEPT;

    *n_rows = n < GP_MAX_ROWS ? n : GP_MAX_ROWS;
    for (size_t i = 0; i < *n_rows; i++)
        rows[i] = i;
    if (n <= GP_MAX_ROWS)
        return ERR_OK;
    order = malloc(n * sizeof(*order));
    if (!order)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct ranked){isfinite(values[i]) ? values[i] : (double)INFINITY, i};
    transfer_sort(order, n);
    for (size_t i = 0; i < n_best; i++)
        rows[i] = order[i].i;
    for (size_t i = n_best; i < *n_rows; i++)
        rows[i] = order[n_best + (i - n_best) * (n - n_best) / (*n_rows - n_best)].i;
    assert(*n_rows <= GP_MAX_ROWS && rows[*n_rows - 1] < n);
    free(order);
    return ERR_OK;
}

/* The rows that are learned from, gathered. */
struct told {
    double *knobs, *targets;
    float *columns, *places, *shares;
    double priors[TRANSFER_MAX_SOURCES];
    size_t n;
};

static void told_fini(struct told *d)
{
    free(d->knobs);
    free(d->targets);
    free(d->columns);
    free(d->places);
    free(d->shares);
}

static enum err gather(const struct transfer *t, const double *knobs, const float *columns, const double *values,
                       size_t n, struct told *d)
{
    const size_t width = transfer_n_columns(t);
    size_t rows[GP_MAX_ROWS];
    double best = INFINITY;
    enum err e = choose_rows(values, n, rows, &d->n);

    d->knobs = malloc(d->n * t->n_knobs * sizeof(*d->knobs) + 1);
    d->targets = malloc(d->n * sizeof(*d->targets));
    d->columns = malloc(d->n * width * sizeof(*d->columns) + 1);
    d->places = malloc(d->n * t->n_knobs * sizeof(*d->places) + 1);
    d->shares = malloc(d->n * t->n_sources * sizeof(*d->shares) + 1);
    if (e || !d->knobs || !d->targets || !d->columns || !d->places || !d->shares)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        best = isfinite(values[i]) ? fmin(best, values[i]) : best;
    for (size_t i = 0; i < d->n; i++) {
        memcpy(d->knobs + i * t->n_knobs, knobs + rows[i] * t->n_knobs, t->n_knobs * sizeof(*d->knobs));
        if (width)
            memcpy(d->columns + i * width, columns + rows[i] * width, width * sizeof(*d->columns));
        d->targets[i] = isfinite(values[rows[i]]) ? share_of(values[rows[i]] - best) : 0;
    }
    return ERR_OK;
}

/* Belief in each source before its times are looked at: few of the target's configs are like any of another kernel's.
 */
static void expect_of_sources(const struct transfer *t, struct told *d)
{
    for (size_t k = 0; k < t->n_sources; k++) {
        double sum = 0;

        for (size_t i = 0; i < d->n; i++)
            sum += (double)d->columns[i * transfer_n_columns(t) + k * TRANSFER_COLUMNS + 2];
        d->priors[k] = fmax(sum / (double)d->n, LEAST_PRIOR);
        assert(d->priors[k] <= 1);
    }
}

enum err transfer_tell(struct transfer *t, const double *knobs, const float *columns, const double *values, size_t n)
{
    struct told d = {.n = 0};
    struct gp gp;
    enum err e = ERR_OK;

    t->n_told = n;
    t->n_failed = 0;
    for (size_t i = 0; i < n; i++)
        t->n_failed += isfinite(values[i]) ? 0 : 1;
    if (n == 0) {
        gp_fini(&t->gp);
        return ERR_OK;
    }
    if (!t->has_units) {
        for (size_t i = 0; i < t->n_knobs; i++)
            measure_knob(t, i, knobs, n);
    }
    e = gather(t, knobs, columns, values, n, &d);
    if (e == ERR_OK) {
        places_of(t, d.knobs, d.n, d.places);
        transfer_shares(t, d.columns, d.n, d.shares);
        expect_of_sources(t, &d);
        e = gp_fit(&gp,
                   &(struct gp_data){d.places, d.shares, d.targets, t->words, d.priors, d.n, t->n_knobs, t->n_sources});
    }
    if (e == ERR_OK) {
        gp_fini(&t->gp);
        t->gp = gp;
    }
    told_fini(&d);
    return e;
}

double transfer_trust(const struct transfer *t, size_t i_source)
{
    return t->gp.n ? t->gp.trust[i_source] : 1;
}

double transfer_belief(const struct transfer *t)
{
    return t->n_sources == 0 ? 0 : t->gp.n ? t->gp.belief : 1;
}

/* The sources' share of failures at a config, those believed most counting most; without any, the target's own. */
static double fails_of(const struct transfer *t, const float *columns)
{
    double sum = 0, weights = 0.1;

    sum = weights * ((double)t->n_failed + 0.1) / ((double)t->n_told + 1);
    for (size_t k = 0; k < t->n_sources; k++) {
        const double fails = (double)columns[k * TRANSFER_COLUMNS + 1], weight = transfer_trust(t, k);

        sum += isnan(fails) ? 0 : weight * fails;
        weights += isnan(fails) ? 0 : weight;
    }
    assert(sum >= 0 && weights > 0);
    return sum / weights;
}

/* Means and deviations of shares when nothing was told: the mean of the sources. */
static void predict_prior(const struct transfer *t, const float *shares, size_t n, double *means, double *sds)
{
    for (size_t i = 0; i < n; i++) {
        means[i] = t->n_sources ? 0 : -0.5;
        for (size_t k = 0; k < t->n_sources; k++)
            means[i] += (double)shares[i * t->n_sources + k] / (double)t->n_sources;
        sds[i] = UNKNOWN_SD;
    }
}

enum err transfer_predict(const struct transfer *t, const double *knobs, const float *columns, size_t n,
                          struct transfer_score *out)
{
    float *places = malloc(n * t->n_knobs * sizeof(*places) + 1),
          *shares = malloc(n * t->n_sources * sizeof(*shares) + 1);
    double *means = malloc(n * sizeof(*means) + 1), *sds = malloc(n * sizeof(*sds) + 1);
    enum err e = places && shares && means && sds ? ERR_OK : ERR_NOMEM;

    if (e == ERR_OK) {
        transfer_shares(t, columns, n, shares);
        if (t->gp.n) {
            places_of(t, knobs, n, places);
            e = gp_predict(&t->gp, places, shares, n, means, sds);
        } else {
            predict_prior(t, shares, n, means, sds);
        }
    }
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        out[i] = (struct transfer_score){
            .mean = above_of(means[i]),
            .sd = sds[i] / (SHARPNESS * fmax(-means[i], LEAST_SHARE)),
            .hope = means[i] - sds[i],
            .p_fail = fails_of(t, columns + i * transfer_n_columns(t)),
        };
    free(places);
    free(shares);
    free(means);
    free(sds);
    return e;
}
