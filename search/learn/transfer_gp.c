/* SPDX-License-Identifier: MIT */
/* transfer_gp.c - hypotheses by table, their evidence, and answers averaged over the best of them. */
#include "search/learn/transfer_gp.h"

#include "cost_model/linear.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SINGLES 8 /* up to so many sources, each alone is a hypothesis too */
#define OFFSET 0.09   /* variance of the unknown constant */
#define PRIOR_N 4     /* the variance of the process counts as seen this often already, */
#define PRIOR_SD 0.15 /* at this size */
#define LEAST_PART 0.05
#define JITTER 1e-6

/* Reach of the kernel in units of the knobs' spread; variances of its sum over knobs, of its product, and of noise. */
static const struct shape {
    double reach, sums, products, noise;
} shapes[] = {
    {1, 0, 1, .01}, {1, 0, 1, .16}, {1, 1, .25, .01}, {1, 1, .25, .16}, {1, .25, 1, .01}, {1, .25, 1, .16},
    {2, 0, 1, .01}, {2, 0, 1, .16}, {2, 1, .25, .01}, {2, 1, .25, .16}, {2, .25, 1, .01}, {2, .25, 1, .16},
    {4, 0, 1, .01}, {4, 0, 1, .16}, {4, 1, .25, .01}, {4, 1, .25, .16}, {4, .25, 1, .01}, {4, .25, 1, .16},
};

#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* How far weights of sources may be from their mean: none, little, much; in units of 1 / sqrt(n_sources). */
static const double slope_sds[] = {0, .3, 1};

#define N_SLOPES (sizeof(slope_sds) / sizeof(slope_sds[0]))

void gp_fini(struct gp *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_parts; i++) {
        free(g->parts[i].factor);
        free(g->parts[i].alpha);
        free(g->parts[i].slopes);
    }
    free(g->places);
    free(g->sources);
    free(g->words);
    free(g->trust);
    *g = (struct gp){.n = 0};
}

/* Rational quadratic kernels, (1 + d^2 / 4 r^2)^-2, of one place against all rows: the mean over dimensions into
 * sums[n], that of the mean squared distance into products[n]. far[n] is scratch. */
static void kernels(const struct gp *g, double reach, const float *place, float *sums, float *products, float *far)
{
    const float shrink = (float)(1 / (4 * reach * reach)), share = 1.0f / (float)g->n_dims;

    memset(sums, 0, g->n * sizeof(*sums));
    memset(far, 0, g->n * sizeof(*far));
    for (size_t j = 0; j < g->n_dims; j++) {
        const float *all = g->places + j * g->n;
        const bool word = g->words[j];

        for (size_t i = 0; i < g->n; i++) {
            const float apart = word ? (all[i] == place[j] ? 0.0f : 1.5f) : all[i] - place[j];
            const float d2 = apart * apart * shrink, k = 1 / (1 + d2);

            sums[i] += k * k;
            far[i] += d2;
        }
    }
    for (size_t i = 0; i < g->n; i++) {
        const float k = 1 / (1 + far[i] * share);

        sums[i] *= share;
        products[i] = k * k;
    }
}

/* Kernel matrices for each reach: sums and products, [n][n] each. */
struct matrices {
    float *sums[N_SHAPES], *products[N_SHAPES]; /* shared by shapes of one reach */
    float *memory;
    double *dots; /* [n][n]: of what sources say */
};

static void matrices_fini(struct matrices *m)
{
    free(m->memory);
    free(m->dots);
}

static void fill_dots(const struct gp *g, double *dots)
{
    for (size_t i = 0; i < g->n; i++) {
        for (size_t j = 0; j < g->n; j++) {
            double sum = 0;

            for (size_t k = 0; k < g->n_sources; k++)
                sum += (double)g->sources[i * g->n_sources + k] * (double)g->sources[j * g->n_sources + k];
            dots[i * g->n + j] = sum;
        }
    }
}

static enum err matrices_init(struct matrices *m, const struct gp *g)
{
    const size_t n = g->n;
    float place[1024], *at;

    assert(g->n_dims <= sizeof(place) / sizeof(place[0]));
    m->memory = malloc((2 * N_SHAPES * n * n + n) * sizeof(*m->memory));
    m->dots = malloc(n * n * sizeof(*m->dots));
    if (!m->memory || !m->dots)
        return ERR_NOMEM;
    at = m->memory + n;
    for (size_t s = 0; s < N_SHAPES; s++) {
        if (s > 0 && shapes[s].reach == shapes[s - 1].reach) {
            m->sums[s] = m->sums[s - 1];
            m->products[s] = m->products[s - 1];
            continue;
        }
        m->sums[s] = at;
        m->products[s] = at + n * n;
        at += 2 * n * n;
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < g->n_dims; j++)
                place[j] = g->places[j * n + i];
            kernels(g, shapes[s].reach, place, m->sums[s] + i * n, m->products[s] + i * n, m->memory);
        }
    }
    fill_dots(g, m->dots);
    return ERR_OK;
}

static void fill_covariance(const struct matrices *m, size_t i_shape, double slope_var, size_t n, double *out)
{
    const struct shape *s = &shapes[i_shape];

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            out[i * n + j] = OFFSET + s->sums * (double)m->sums[i_shape][i * n + j] +
                             s->products * (double)m->products[i_shape][i * n + j] + slope_var * m->dots[i * n + j];
        out[i * n + i] += s->noise + JITTER;
    }
}

/* The mean of a hypothesis at one row. */
static double mean_at(size_t i_mean, const float *sources, size_t n_sources)
{
    double sum = 0;

    if (i_mean == GP_MEAN_NONE)
        return 0;
    assert(n_sources > 0 && (i_mean <= GP_MEAN_ALL || i_mean - 2 < n_sources));
    if (i_mean > GP_MEAN_ALL)
        return (double)sources[i_mean - 2];
    for (size_t k = 0; k < n_sources; k++)
        sum += (double)sources[k];
    return sum / (double)n_sources;
}

/* What is under trial while fitting. */
struct fitting {
    double evidence; /* log, up to a constant */
    size_t i_shape, i_slope, i_mean;
    double scale;
};

struct fit {
    struct gp *g;
    const double *targets, *priors;
    double prior; /* in sources as a whole */
    struct matrices matrices;
    double *factor, *rest; /* [n][n], [n] */
    struct fitting *trials;
    size_t n_trials;
};

/* Evidence of one mean under the factor that is there; a share `prior` of belief. */
static void try_mean(struct fit *f, size_t i_shape, size_t i_slope, size_t i_mean, double log_det, double prior)
{
    const size_t n = f->g->n;
    double squares, degrees = (double)n + PRIOR_N;

    for (size_t i = 0; i < n; i++)
        f->rest[i] = f->targets[i] - mean_at(i_mean, f->g->sources + i * f->g->n_sources, f->g->n_sources);
    linear_solve_lower(f->factor, 0, n, n, f->rest);
    squares = linear_dot(f->rest, f->rest, n) + PRIOR_N * PRIOR_SD * PRIOR_SD;
    assert(f->n_trials < N_SHAPES * (N_SLOPES + MAX_SINGLES) && squares > 0);
    f->trials[f->n_trials++] = (struct fitting){
        .evidence = -0.5 * degrees * log(squares) - log_det + log(prior),
        .i_shape = i_shape,
        .i_slope = i_slope,
        .i_mean = i_mean,
        .scale = squares / degrees,
    };
}

/* Variance of a source's weight. */
static double slope_variance(const struct gp *g, size_t i_slope)
{
    return g->n_sources ? slope_sds[i_slope] * slope_sds[i_slope] / (double)g->n_sources : 0;
}

static void try_shape(struct fit *f, size_t i_shape, size_t i_slope)
{
    const size_t n = f->g->n, n_sources = f->g->n_sources;
    const bool singles = i_slope == 1 && n_sources > 1 && n_sources <= MAX_SINGLES;
    double log_det = 0;

    fill_covariance(&f->matrices, i_shape, slope_variance(f->g, i_slope), n, f->factor);
    if (!linear_factor(f->factor, 0, n, n, 0))
        return;
    for (size_t i = 0; i < n; i++)
        log_det += log(f->factor[i * n + i]);
    try_mean(f, i_shape, i_slope, i_slope == 0 ? GP_MEAN_NONE : GP_MEAN_ALL, log_det,
             (i_slope == 0 ? 1 : f->prior) * (singles ? .5 : 1));
    for (size_t k = 0; singles && k < n_sources; k++)
        try_mean(f, i_shape, i_slope, 2 + k, log_det, f->priors[k] * .5 / (double)n_sources);
}

static int by_evidence(const void *a, const void *b)
{
    const struct fitting *x = a, *y = b;

    return (x->evidence < y->evidence) - (x->evidence > y->evidence);
}

/* The weights of sources that a part has learned beyond its mean: slope_sd^2 S^T alpha. */
static void learn_slopes(const struct gp *g, struct gp_part *p)
{
    for (size_t k = 0; k < g->n_sources; k++) {
        p->slopes[k] = 0;
        for (size_t i = 0; i < g->n; i++)
            p->slopes[k] += p->slope_sd * p->slope_sd * (double)g->sources[i * g->n_sources + k] * p->alpha[i];
    }
}

static enum err add_part(struct fit *f, const struct fitting *t, double weight)
{
    struct gp *g = f->g;
    struct gp_part *p = &g->parts[g->n_parts];

    assert(g->n_parts < GP_MAX_PARTS && weight > 0);
    *p = (struct gp_part){.weight = weight, .i_shape = t->i_shape, .i_mean = t->i_mean, .scale = t->scale};
    p->slope_sd = sqrt(slope_variance(g, t->i_slope));
    p->factor = calloc(g->n * g->n, sizeof(*p->factor));
    p->alpha = malloc(g->n * sizeof(*p->alpha));
    p->slopes = malloc(g->n_sources * sizeof(*p->slopes) + 1);
    g->n_parts++;
    if (!p->factor || !p->alpha || !p->slopes)
        return ERR_NOMEM;
    fill_covariance(&f->matrices, t->i_shape, p->slope_sd * p->slope_sd, g->n, p->factor);
    (void)linear_factor(p->factor, 0, g->n, g->n, 0);
    for (size_t i = 0; i < g->n; i++)
        p->alpha[i] = f->targets[i] - mean_at(t->i_mean, g->sources + i * g->n_sources, g->n_sources);
    linear_solve_lower(p->factor, 0, g->n, g->n, p->alpha);
    linear_solve_upper(p->factor, g->n, g->n, p->alpha);
    learn_slopes(g, p);
    return ERR_OK;
}

/* A source's share in the mean of a part, 1 = as believed at first. */
static double share_in(const struct gp *g, const struct gp_part *p, size_t k)
{
    if (p->i_mean == GP_MEAN_NONE)
        return 0;
    if (p->i_mean == GP_MEAN_ALL)
        return fmin(1, fmax(0, 1 + p->slopes[k] * (double)g->n_sources));
    return fmin(1, fmax(0, (p->i_mean == 2 + k ? 1 : 0) + p->slopes[k]));
}

/* How far each source counts: belief in hypotheses that use it, each times its share there. */
static void learn_trust(struct gp *g)
{
    double of_parts = 0;

    for (size_t i = 0; i < g->n_parts; i++) {
        of_parts += g->parts[i].i_mean == GP_MEAN_NONE ? 0 : g->parts[i].weight;
        for (size_t k = 0; k < g->n_sources; k++)
            g->trust[k] += g->parts[i].weight * share_in(g, &g->parts[i], k);
    }
    for (size_t k = 0; k < g->n_sources; k++)
        g->trust[k] = of_parts > 0 ? fmin(1, g->trust[k] / of_parts) * g->belief : 0;
}

/* Keeps the hypotheses that count. */
static enum err choose(struct fit *f)
{
    double sum = 0, believed = 0, kept = 0;
    enum err e = ERR_OK;

    qsort(f->trials, f->n_trials, sizeof(*f->trials), by_evidence);
    for (size_t i = 0; i < f->n_trials; i++) {
        const double weight = exp(f->trials[i].evidence - f->trials[0].evidence);

        sum += weight;
        believed += f->trials[i].i_mean == GP_MEAN_NONE ? 0 : weight;
    }
    for (size_t i = 0; e == ERR_OK && i < f->n_trials && f->g->n_parts < GP_MAX_PARTS; i++) {
        const double weight = exp(f->trials[i].evidence - f->trials[0].evidence);

        if (weight < LEAST_PART)
            break;
        e = add_part(f, &f->trials[i], weight);
        kept += weight;
    }
    for (size_t i = 0; kept > 0 && i < f->g->n_parts; i++)
        f->g->parts[i].weight /= kept;
    f->g->belief = sum > 0 ? believed / sum : 0;
    assert(f->g->belief >= 0 && f->g->belief <= 1);
    if (e == ERR_OK)
        learn_trust(f->g);
    return e;
}

static enum err copy(struct gp *g, const struct gp_data *data)
{
    *g = (struct gp){.n = data->n, .n_dims = data->n_dims, .n_sources = data->n_sources};
    g->places = malloc(g->n * g->n_dims * sizeof(*g->places));
    g->sources = malloc(g->n * g->n_sources * sizeof(*g->sources) + 1);
    g->words = malloc(g->n_dims * sizeof(*g->words));
    g->trust = calloc(g->n_sources + 1, sizeof(*g->trust));
    if (!g->places || !g->sources || !g->words || !g->trust)
        return ERR_NOMEM;
    for (size_t i = 0; i < g->n; i++) {
        for (size_t j = 0; j < g->n_dims; j++)
            g->places[j * g->n + i] = data->places[i * g->n_dims + j];
    }
    if (g->n_sources)
        memcpy(g->sources, data->sources, g->n * g->n_sources * sizeof(*g->sources));
    memcpy(g->words, data->words, g->n_dims * sizeof(*g->words));
    return ERR_OK;
}

enum err gp_fit(struct gp *g, const struct gp_data *data)
{
    struct fit f = {.g = g, .targets = data->targets, .priors = data->priors};
    enum err e = copy(g, data);

    assert(data->n >= 1 && data->n <= GP_MAX_ROWS);
    for (size_t k = 0; k < data->n_sources; k++)
        f.prior += data->priors[k] / (double)data->n_sources;
    if (e == ERR_OK)
        e = matrices_init(&f.matrices, g);
    f.factor = malloc(g->n * g->n * sizeof(*f.factor));
    f.rest = malloc(g->n * sizeof(*f.rest));
    f.trials = malloc(N_SHAPES * (N_SLOPES + MAX_SINGLES) * sizeof(*f.trials));
    if (e == ERR_OK && (!f.factor || !f.rest || !f.trials))
        e = ERR_NOMEM;
    for (size_t s = 0; e == ERR_OK && s < N_SHAPES; s++) {
        for (size_t l = 0; l < (g->n_sources ? N_SLOPES : 1); l++)
            try_shape(&f, s, l);
    }
    if (e == ERR_OK)
        e = choose(&f);
    matrices_fini(&f.matrices);
    free(f.factor);
    free(f.rest);
    free(f.trials);
    if (e)
        gp_fini(g);
    return e;
}

#define BLOCK 16 /* places that are answered at once */

/* Where gp_predict works, for a block of places. */
struct scratch {
    float *sums, *products; /* [BLOCK][n] */
    float *far, *factor;    /* [n]; [n][n]: of the first part, in floats */
    float (*solved)[BLOCK]; /* [n] */
    double *k;              /* [n] */
};

static void scratch_fini(struct scratch *s)
{
    free(s->sums);
    free(s->products);
    free(s->far);
    free(s->factor);
    free(s->solved);
    free(s->k);
}

static enum err scratch_init(struct scratch *s, const struct gp *g)
{
    s->sums = malloc(BLOCK * g->n * sizeof(*s->sums));
    s->products = malloc(BLOCK * g->n * sizeof(*s->products));
    s->far = malloc(g->n * sizeof(*s->far));
    s->factor = malloc(g->n * g->n * sizeof(*s->factor));
    s->solved = malloc(g->n * sizeof(*s->solved));
    s->k = malloc(g->n * sizeof(*s->k));
    if (!s->sums || !s->products || !s->far || !s->factor || !s->solved || !s->k)
        return ERR_NOMEM;
    for (size_t i = 0; i < g->n * g->n; i++)
        s->factor[i] = (float)g->parts[0].factor[i];
    return ERR_OK;
}

/* Covariance of a place with all rows, but for what sources add, from its kernels. */
static double covariance(const struct gp_part *p, float sums, float products)
{
    return OFFSET + shapes[p->i_shape].sums * (double)sums + shapes[p->i_shape].products * (double)products;
}

static double mean_of(const struct gp *g, const struct gp_part *p, const float *sources, const float *sums,
                      const float *products, double *k)
{
    double mean = mean_at(p->i_mean, sources, g->n_sources);

    for (size_t i = 0; i < g->n; i++)
        k[i] = covariance(p, sums[i], products[i]);
    mean += linear_dot(k, p->alpha, g->n);
    for (size_t j = 0; j < g->n_sources; j++)
        mean += p->slopes[j] * (double)sources[j];
    return mean;
}

/* What sources add to a covariance. */
static double source_covariance(const struct gp *g, const struct gp_part *p, const float *a, const float *b)
{
    double sum = 0;

    for (size_t k = 0; p->slope_sd > 0 && k < g->n_sources; k++)
        sum += (double)a[k] * (double)b[k];
    return p->slope_sd * p->slope_sd * sum;
}

/* Variances of n <= BLOCK places by the first part, whose kernels are in `s`. */
static void variances_of(const struct gp *g, const float *sources, size_t n, const struct scratch *s, double *out)
{
    const struct gp_part *p = &g->parts[0];
    float squares[BLOCK] = {0};

    for (size_t i = 0; i < g->n; i++) {
        float *x = s->solved[i];

        for (size_t b = 0; b < BLOCK; b++)
            x[b] = b < n ? (float)(covariance(p, s->sums[b * g->n + i], s->products[b * g->n + i]) +
                                   source_covariance(g, p, sources + b * g->n_sources, g->sources + i * g->n_sources))
                         : 0;
        for (size_t j = 0; j < i; j++) {
            const float l = s->factor[i * g->n + j], *y = s->solved[j];

            for (size_t b = 0; b < BLOCK; b++)
                x[b] -= l * y[b];
        }
        for (size_t b = 0; b < BLOCK; b++) {
            x[b] /= s->factor[i * g->n + i];
            squares[b] += x[b] * x[b];
        }
    }
    for (size_t b = 0; b < n; b++) {
        const float *own = sources + b * g->n_sources;

        out[b] = p->scale * fmax(covariance(p, 1, 1) + source_covariance(g, p, own, own) - (double)squares[b], JITTER);
    }
}

/* The parts' averages at n <= BLOCK places; their disagreement adds to the variance, which is otherwise the first
 * part's. */
static void ask(const struct gp *g, const float *places, const float *sources, size_t n, const struct scratch *s,
                double *mean, double *sd)
{
    double first[BLOCK] = {0}, squares[BLOCK] = {0}, reach = 0;

    for (size_t b = 0; b < n; b++)
        mean[b] = 0;
    for (size_t i = 0; i < g->n_parts; i++) {
        const struct gp_part *p = &g->parts[i];

        for (size_t b = 0; shapes[p->i_shape].reach != reach && b < n; b++)
            kernels(g, shapes[p->i_shape].reach, places + b * g->n_dims, s->sums + b * g->n, s->products + b * g->n,
                    s->far);
        reach = shapes[p->i_shape].reach;
        if (sd && i == 0)
            variances_of(g, sources, n, s, first);
        for (size_t b = 0; b < n; b++) {
            const double m =
                mean_of(g, p, sources + b * g->n_sources, s->sums + b * g->n, s->products + b * g->n, s->k);

            mean[b] += p->weight * m;
            squares[b] += p->weight * m * m;
        }
    }
    for (size_t b = 0; sd && b < n; b++)
        sd[b] = sqrt(first[b] + fmax(squares[b] - mean[b] * mean[b], 0));
}

enum err gp_predict(const struct gp *g, const float *places, const float *sources, size_t n, double *mean, double *sd)
{
    struct scratch s = {.k = NULL};
    const enum err e = scratch_init(&s, g);

    for (size_t i = 0; e == ERR_OK && i < n; i += BLOCK)
        ask(g, places + i * g->n_dims, g->n_sources ? sources + i * g->n_sources : NULL, n - i < BLOCK ? n - i : BLOCK,
            &s, mean + i, sd ? sd + i : NULL);
    scratch_fini(&s);
    return e;
}
