/* SPDX-License-Identifier: MIT */
#include "search/strategies/scorer.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define SHARPNESS 3 /* of the target: at 20 % more time than the best it is at .58 */
#define SPREAD 1    /* bonus for disagreement, in units of the spread */
#define BLOCK 1024  /* rows predicted at once */

void scorer_init(struct scorer *s, const struct space *space, const struct model_ops *ops, uint64_t seed)
{
    *s = (struct scorer){.ops = ops, .seed = seed};
    features_init(&s->features, space);
}

void scorer_fini(struct scorer *s)
{
    s->ops = NULL;
}

/* The target is the share of the best throughput, sharpened: exp(SHARPNESS * (best - value)) with the sign turned, as
 * values are logarithms of time. It spends the trees on telling good configs from the best; a failed config is 0. */
static enum err fit(const struct scorer *s, const struct history *h, struct model *m)
{
    const size_t n_features = s->features.n;
    float *rows = malloc(h->n * n_features * sizeof(*rows) + 1), *targets = malloc(h->n * sizeof(*targets));
    const double best = history_best(h);
    enum err e = rows && targets ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < h->n; i++) {
        const double value = h->items[i].value;

        assert(isnan(value) || value >= best);
        features_row(&s->features, &h->items[i].config, rows + i * n_features);
        targets[i] = isnan(value) ? 0 : (float)-exp(SHARPNESS * (best - value));
    }
    if (e == ERR_OK)
        e = s->ops->fit(m, &(struct model_data){rows, targets, NULL, h->n, n_features});
    free(rows);
    free(targets);
    return e;
}

static enum err predict(const struct scorer *s, const struct model *m, const struct pool *p, double *gain)
{
    const size_t n_features = s->features.n;
    float *rows = malloc(BLOCK * (n_features + 2) * sizeof(*rows));
    float *scores = rows ? rows + BLOCK * n_features : NULL;
    enum err e = rows ? ERR_OK : ERR_NOMEM;

    for (size_t at = 0; e == ERR_OK && at < p->n; at += BLOCK) {
        const size_t n = p->n - at < BLOCK ? p->n - at : BLOCK;

        for (size_t i = 0; i < n; i++)
            features_row(&s->features, &p->configs[at + i], rows + i * n_features);
        e = s->ops->predict(m, rows, n, scores, scores + BLOCK);
        for (size_t i = 0; i < n; i++)
            gain[at + i] = SPREAD * (double)scores[BLOCK + i] - (double)scores[i];
    }
    free(rows);
    return e;
}

enum err scorer_gain(const struct scorer *s, const struct history *h, const struct pool *p, double *gain)
{
    struct model *m = NULL;
    enum err e = s->ops->init(&m, rng_at(s->seed, h->n));

    if (e)
        return e;
    e = fit(s, h, m);
    if (e == ERR_OK)
        e = predict(s, m, p, gain);
    s->ops->fini(m);
    return e;
}
