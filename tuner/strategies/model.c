/* model.c - the default strategy: a space-filling start, then rounds of fitting a cost model to all that was told and
 * proposing the open configs that it scores best, less a bonus for those its parts disagree on. */
#include "tuner/strategies/table.h"

#include "cost_model/model.h"
#include "tuner/strategies/pool.h"
#include "tuner/strategies/start.h"

#include <math.h>
#include <stdlib.h>

#define MAX_INIT 16 /* configs of the start, at most a third of the budget but no fewer than MIN_INIT */
#define MIN_INIT 4
#define DRAWS 16     /* uniform draws for each of them */
#define SHARPNESS 3  /* of the target: at 20 % more time than the best it is at .58 */
#define SPREAD 1     /* bonus for disagreement, in units of the spread */
#define EXPLORE 0.03 /* share of uniform draws among the proposals */

struct strategy {
    struct start start;
    struct ground ground;
    struct history history;
    struct features features;
    struct pool pool;
    struct rng rng;
    const struct model_ops *model_ops;
    uint64_t seed;
    size_t n_init;                    /* configs proposed, or told before, when the model begins */
    struct config proposed[MAX_INIT]; /* by this start */
    size_t n_proposed;
};

static void fini(struct strategy *s)
{
    if (!s)
        return;
    start_fini(&s->start);
    ground_fini(&s->ground);
    history_fini(&s->history);
    pool_fini(&s->pool);
    free(s);
}

static size_t n_init_of(size_t budget)
{
    const size_t n = budget / 3;

    return budget == 0 || n > MAX_INIT ? MAX_INIT : n < MIN_INIT ? MIN_INIT : n;
}

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    struct strategy *s = calloc(1, sizeof(*s));
    enum err e = s ? ground_init(&s->ground, space) : ERR_NOMEM;

    if (e == ERR_OK)
        e = start_init(&s->start, options);
    if (e) {
        fini(s);
        return e;
    }
    features_init(&s->features, space);
    pool_init(&s->pool, &s->features);
    s->model_ops = options->cost_model ? model_find(options->cost_model) : model_table[0];
    if (!s->model_ops) {
        fini(s);
        return ERR_INPUT;
    }
    rng_init(&s->rng, options->seed);
    s->seed = options->seed;
    s->n_init = n_init_of(options->budget);
    *out = s;
    return ERR_OK;
}

/* How far apart two configs are: over knobs, the distance of their places in the value list as a share of its length,
 * and something for being different at all. */
static double distance(const struct space *space, const struct config *a, const struct config *b)
{
    double sum = 0;

    for (size_t i = 0; i < space_n_knobs(space); i++) {
        const size_t n_values = space_n_values(space, i);
        const double apart = fabs((double)a->choice[i] - (double)b->choice[i]);

        if (apart > 0)
            sum += 0.5 + 0.5 * apart / (double)(n_values - 1);
    }
    return sum;
}

/* Of some uniform draws the one farthest from all that was proposed so far. */
static enum err sample_apart(struct strategy *s, struct config *out)
{
    double farthest = -1;

    for (int i = 0; i < DRAWS; i++) {
        double nearest = INFINITY;
        struct config c;
        const enum err e = ground_sample(&s->ground, &s->rng, &c);

        if (e)
            return e;
        for (size_t j = 0; j < s->n_proposed; j++)
            nearest = fmin(nearest, distance(s->ground.space, &c, &s->proposed[j]));
        if (nearest > farthest) {
            farthest = nearest;
            *out = c;
        }
    }
    return ERR_OK;
}

static enum err ask_init(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    while (*n_out < n && s->ground.n_taken < s->n_init) {
        struct config c;
        enum err e = sample_apart(s, &c);

        if (e == ERR_OK)
            e = propose(&s->ground, &c, "init", out, n_out);
        if (e)
            return e;
        s->proposed[s->n_proposed++] = c;
    }
    return ERR_OK;
}

/* The target is the share of the best throughput, sharpened: exp(SHARPNESS * (best - value)) with the sign turned, as
 * values are logarithms of time. It spends the trees on telling good configs from the best; a failed config is 0. */
static enum err fit(struct strategy *s, struct model *m)
{
    const struct history *h = &s->history;
    const size_t n_features = s->features.n;
    float *rows = malloc(h->n * n_features * sizeof(*rows) + 1), *targets = malloc(h->n * sizeof(*targets));
    const double best = history_best(h);
    enum err e = rows && targets ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < h->n; i++) {
        const double value = h->items[i].value;

        features_row(&s->features, &h->items[i].config, rows + i * n_features);
        targets[i] = isnan(value) ? 0 : (float)-exp(SHARPNESS * (best - value));
    }
    if (e == ERR_OK)
        e = s->model_ops->fit(m, &(struct model_data){rows, targets, NULL, h->n, n_features});
    free(rows);
    free(targets);
    return e;
}

/* The open config of the pool with the least score - SPREAD * spread. ERR_NOT_FOUND when none is open. */
static enum err best_of(const struct strategy *s, const float *scores, const float *spread, struct config *out)
{
    double least = INFINITY;
    size_t i_best = s->pool.n;

    for (size_t i = 0; i < s->pool.n; i++) {
        const double hoped = (double)scores[i] - SPREAD * (double)spread[i];

        if (hoped >= least || ground_is_taken(&s->ground, space_index(s->ground.space, &s->pool.configs[i])))
            continue;
        least = hoped;
        i_best = i;
    }
    if (i_best == s->pool.n)
        return ERR_NOT_FOUND;
    *out = s->pool.configs[i_best];
    return ERR_OK;
}

static enum err pick(struct strategy *s, const float *scores, const float *spread, size_t n, struct proposal *out,
                     size_t *n_out)
{
    enum err e = ERR_OK;

    while (e == ERR_OK && *n_out < n) {
        const bool explore = rng_unit(&s->rng) < EXPLORE;
        struct config c;

        e = explore ? ground_sample(&s->ground, &s->rng, &c) : best_of(s, scores, spread, &c);
        if (e == ERR_OK)
            e = propose(&s->ground, &c, explore ? "explore" : "model", out, n_out);
    }
    return e;
}

static enum err ask_model(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    struct model *m = NULL;
    float *scores = NULL;
    enum err e = s->model_ops->init(&m, rng_at(s->seed, s->history.n));

    if (e)
        return e;
    e = fit(s, m);
    if (e == ERR_OK)
        e = pool_fill(&s->pool, &s->ground, &s->history, &s->rng);
    if (e == ERR_OK)
        scores = malloc(2 * s->pool.n * sizeof(*scores) + 1);
    if (e == ERR_OK && !scores)
        e = ERR_NOMEM;
    if (e == ERR_OK)
        e = s->model_ops->predict(m, s->pool.rows, s->pool.n, scores, scores + s->pool.n);
    if (e == ERR_OK)
        e = pick(s, scores, scores + s->pool.n, n, out, n_out);
    free(scores);
    s->model_ops->fini(m);
    return e;
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    size_t n_done = 0;
    enum err e = start_ask(&s->start, &s->ground, n, out, &n_done);

    if (e == ERR_OK)
        e = ask_init(s, n, out, &n_done);
    if (e == ERR_OK && n_done < n && s->history.n_ok > 1)
        e = ask_model(s, n, out, &n_done);
    if (e == ERR_NOT_FOUND)
        e = ERR_OK; /* the pool is used up: draw */
    while (e == ERR_OK && n_done < n) {
        struct config c;

        e = ground_sample(&s->ground, &s->rng, &c);
        if (e == ERR_OK)
            e = propose(&s->ground, &c, "explore", out, &n_done);
    }
    if (e && e != ERR_NOT_FOUND)
        return e;
    *n_out = n_done;
    return ERR_OK;
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    return history_tell(&s->history, &s->ground, outcomes, n);
}

const struct strategy_ops model_strategy_ops = {
    "model", "a cost model fitted to what was measured; the default", init, ask, tell, fini};
