/* SPDX-License-Identifier: MIT */
#include "kernels/conv/ref.h"

#include "core/clones.h"
#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ALL 4e8 /* products of all outputs where all are compared */
#define MOST_ALL ((int64_t)1 << 20)

/* Elements of an output as logical indices. */
struct place {
    int64_t n, k, p, q;
};

static struct place place_of(const struct conv_shape *s, int64_t i)
{
    const int64_t lane = i % s->y_lanes, q = i / s->y_lanes % s->q, p = i / (s->y_lanes * s->q) % s->p;
    const int64_t block = i / (s->y_lanes * s->q * s->p), blocks = s->k / s->y_lanes;

    assert(i >= 0 && block < s->n * blocks);

    return (struct place){block / blocks, block % blocks * s->y_lanes + lane, p, q};
}

static int64_t index_of(const struct conv_shape *s, struct place a)
{
    const int64_t block = a.n * (s->k / s->y_lanes) + a.k / s->y_lanes;

    return ((block * s->p + a.p) * s->q + a.q) * s->y_lanes + a.k % s->y_lanes;
}

/* In place of [n][c/lanes][h][w][lanes]: [n][c][h][w]. NULL on lack of memory; takes `x`. */
static float *to_nchw(const struct conv_shape *s, float *x)
{
    const int64_t image = s->h * s->w, lanes = s->x_lanes;
    float *out;

    if (!x || lanes == 1)
        return x;
    out = malloc((size_t)(s->n * s->c * image) * sizeof *out);
    for (int64_t block = 0; out && block < s->n * s->c / lanes; block++)
        for (int64_t i = 0; i < image; i++)
            for (int64_t l = 0; l < lanes; l++)
                out[(block * lanes + l) * image + i] = x[(block * image + i) * lanes + l];
    free(x);
    return out;
}

/* Data of a tensor that the workload may lack; false on lack of memory. */
static bool make(struct expected *e, const char *name, bool exact, float **out)
{
    const struct tensor *t = expected_tensor(e, name);

    *out = t ? expected_data(t, exact, NULL) : NULL;
    return !t || *out;
}

/* The same as doubles. */
static bool make_addends(struct expected *e, const char *name, bool exact, double **out)
{
    const struct tensor *t = expected_tensor(e, name);
    void *stored;

    *out = NULL;
    if (!t)
        return true;
    stored = malloc((size_t)t->n_elems * dtype_bytes(t->dtype));
    if (stored && !fill_elems(exact ? &t->exact : &t->random, t->dtype, stored, t->n_elems, NULL))
        *out = malloc((size_t)t->n_elems * sizeof **out);
    for (int64_t i = 0; *out && i < t->n_elems; i++)
        (*out)[i] = dtype_load(t->dtype, stored, (size_t)i);
    free(stored);
    return *out;
}

enum err conv_data_make(struct expected *e, const struct conv_shape *s, bool exact, struct conv_data *out)
{
    bool ok;

    *out = (struct conv_data){0};
    ok = make(e, "x", exact, &out->x) && make(e, "w", exact, &out->w) && make_addends(e, "bias", exact, &out->bias) &&
         make_addends(e, "residual", exact, &out->residual) && make(e, "scale", exact, &out->scale) &&
         make(e, "sum_scale", exact, &out->sum_scale) && make(e, "zero", exact, &out->zero);
    out->x = to_nchw(s, out->x);
    for (int64_t i = 0; out->x && out->zero && i < s->n * s->c * s->h * s->w; i++)
        out->x[i] -= out->zero[0];
    return ok && out->x ? ERR_OK : ERR_NOMEM;
}

void conv_data_fini(struct conv_data *d)
{
    free(d->x);
    free(d->w);
    free(d->bias);
    free(d->residual);
    free(d->scale);
    free(d->sum_scale);
    free(d->zero);
    *d = (struct conv_data){0};
}

static double magnitude(double v)
{
    return v < 0 ? -v : v;
}

/* Products of one output lie far apart in nchw: what single outputs are computed from has channels last. */
struct by_channels {
    const struct conv_shape *s;
    float *x, *w;         /* [n][h][w][c], [k][r][s][c of a group] */
    int64_t tile;         /* as in conv_data */
    double *w_magnitudes; /* [k][c]: sums over r and s; NULL without a tile */
    double *inputs;       /* [c]: scratch */
};

/* to[i][n] = from[n][i] for each of `n_outer` matrices of n_rows x n_cols. */
static float *transposed(const float *from, int64_t n_outer, int64_t n_rows, int64_t n_cols)
{
    float *to = malloc((size_t)(n_outer * n_rows * n_cols) * sizeof *to);

    for (int64_t o = 0; to && o < n_outer; o++)
        for (int64_t r = 0; r < n_rows; r++)
            for (int64_t c = 0; c < n_cols; c++)
                to[(o * n_cols + c) * n_rows + r] = from[(o * n_rows + r) * n_cols + c];
    return to;
}

static void by_channels_fini(struct by_channels *b)
{
    free(b->x);
    free(b->w);
    free(b->w_magnitudes);
    free(b->inputs);
}

static enum err by_channels_init(const struct conv_shape *s, const struct conv_data *d, struct by_channels *out)
{
    const int64_t cg = s->c / s->groups, taps = s->r * s->s;
    bool ok;

    *out = (struct by_channels){.s = s, .tile = d->tile};
    out->x = transposed(d->x, s->n, s->c, s->h * s->w);
    out->w = transposed(d->w, s->k, cg, taps);
    ok = out->x && out->w;
    if (ok && d->tile) {
        out->w_magnitudes = calloc((size_t)(s->k * cg), sizeof *out->w_magnitudes);
        out->inputs = malloc((size_t)s->c * sizeof *out->inputs);
        ok = out->w_magnitudes && out->inputs;
    }
    for (int64_t i = 0; ok && d->tile && i < s->k * cg * taps; i++)
        out->w_magnitudes[i / taps] += magnitude((double)d->w[i]);
    return ok ? ERR_OK : ERR_NOMEM;
}

/* Terms are added in LANES sums, in the same order at every vector width. */
#define LANES 8
CLONES static void add_products(const float *x, const float *w, int64_t n, double sum[LANES], double magnitudes[LANES])
{
    int64_t c = 0;

    for (; c + LANES <= n; c += LANES)
        for (int l = 0; l < LANES; l++) {
            const double product = (double)x[c + l] * (double)w[c + l];

            sum[l] += product;
            magnitudes[l] += fabs(product);
        }
    for (; c < n; c++) {
        const double product = (double)x[c] * (double)w[c];

        sum[0] += product;
        magnitudes[0] += fabs(product);
    }
}

/* The sum of products of one output, and of their magnitudes. */
static double sum_of(const struct by_channels *b, struct place a, double *magnitudes)
{
    const struct conv_shape *s = b->s;
    const int64_t cg = s->c / s->groups, c0 = a.k / (s->k / s->groups) * cg;
    double sums[LANES] = {0}, all[LANES] = {0}, sum = 0;

    assert(c0 + cg <= s->c && a.n < s->n && a.p < s->p && a.q < s->q);

    for (int64_t r = 0; r < s->r; r++)
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t y = a.p * s->stride_h + r * s->dil_h - s->top;
            const int64_t x = a.q * s->stride_w + t * s->dil_w - s->left;

            if (y >= 0 && y < s->h && x >= 0 && x < s->w)
                add_products(b->x + ((a.n * s->h + y) * s->w + x) * s->c + c0,
                             b->w + ((a.k * s->r + r) * s->s + t) * cg, cg, sums, all);
        }
    *magnitudes = 0;
    for (int l = 0; l < LANES; l++) {
        sum += sums[l];
        *magnitudes += all[l];
    }
    return sum;
}

CLONES static void add_magnitudes(const float *x, int64_t n, double *to)
{
    for (int64_t c = 0; c < n; c++)
        to[c] += fabs((double)x[c]);
}

/* Winograd's transforms mix a tile: an output's error goes by all of it, of which its own window may be the least. The
 * mean magnitude of the tile's inputs, times the weights', twice: of one channel errors come to .7 of the tolerance in
 * units of the mean. */
static double tile_magnitude(const struct by_channels *b, struct place a)
{
    const struct conv_shape *s = b->s;
    const int64_t m = b->tile, n = m + 2, y0 = a.p / m * m - s->top, x0 = a.q / m * m - s->left;
    double sum = 0;

    memset(b->inputs, 0, (size_t)s->c * sizeof *b->inputs);
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t y = y0 + i / n, x = x0 + i % n;

        if (y >= 0 && y < s->h && x >= 0 && x < s->w)
            add_magnitudes(b->x + ((a.n * s->h + y) * s->w + x) * s->c, s->c, b->inputs);
    }
    for (int64_t c = 0; c < s->c; c++)
        sum += 2 * b->inputs[c] / (double)(n * n) * b->w_magnitudes[a.k * s->c + c];
    return sum;
}

static double finish(unsigned bits, const struct conv_data *d, int64_t k, int64_t index, double sum)
{
    return epilogue_apply(bits, sum,
                          &(struct epilogue_values){d->bias ? d->bias[k] : 0, d->residual ? d->residual[index] : 0,
                                                    d->scale ? (double)d->scale[k] : 0, d->sum_scale, d->zero});
}

/* Output element `index` as the kernel must write it, and the scale of its tolerance. */
static double element(const struct by_channels *b, unsigned bits, const struct conv_data *d, int64_t index,
                      double *scale)
{
    const struct place a = place_of(b->s, index);
    const double sum = sum_of(b, a, scale), tile = b->tile ? tile_magnitude(b, a) : 0;

    *scale = (tile > *scale ? tile : *scale) + epilogue_scale(bits);
    if (d->bias)
        *scale += magnitude(d->bias[a.k]);
    if (d->residual)
        *scale += magnitude(d->residual[index]);
    *scale =
        epilogue_settled(bits, sum + (d->bias ? d->bias[a.k] : 0) + (d->residual ? d->residual[index] : 0), *scale);
    return finish(bits, d, a.k, index, sum);
}

/* Projections by linearity: of all channels at once. */

/* weights[c,r,s] = sum over the k of c's group of project_weight(k) * w[k,c,r,s]. */
static double *combine_weights(const struct conv_shape *s, const float *w)
{
    const int64_t n = s->c / s->groups * s->r * s->s;
    double *sum = calloc((size_t)(n * s->groups), sizeof *sum);

    for (int64_t k = 0; sum && k < s->k; k++) {
        const double weight = program_project_weight(SEED_PROJECT, k);
        double *to = sum + k / (s->k / s->groups) * n;

        for (int64_t i = 0; i < n; i++)
            to[i] += weight * (double)w[k * n + i];
    }
    return sum;
}

/* Adds weight * one shifted row of x to one row of outputs. */
static void add_row(const struct conv_shape *s, const float *row, double weight, int64_t shift, double *to)
{
    int64_t q0 = 0, q1 = s->q;

    while (q0 < q1 && q0 * s->stride_w + shift < 0)
        q0++;
    while (q1 > q0 && (q1 - 1) * s->stride_w + shift >= s->w)
        q1--;
    assert(q0 == q1 || (q0 * s->stride_w + shift >= 0 && (q1 - 1) * s->stride_w + shift < s->w));
    if (s->stride_w == 1)
        for (int64_t q = q0; q < q1; q++)
            to[q] += weight * (double)row[q + shift];
    else
        for (int64_t q = q0; q < q1; q++)
            to[q] += weight * (double)row[q * s->stride_w + shift];
}

/* Adds channels [c0, c0 + n_c) of image n with weights [n_c][r][s] to row p of outputs. */
static void add_channels(const struct conv_shape *s, const float *x, const double *weights, int64_t n, int64_t c0,
                         int64_t n_c, int64_t p, double *to)
{
    for (int64_t c = 0; c < n_c; c++)
        for (int64_t r = 0; r < s->r; r++) {
            const int64_t y = p * s->stride_h + r * s->dil_h - s->top;

            if (y < 0 || y >= s->h)
                continue;
            for (int64_t t = 0; t < s->s; t++)
                add_row(s, x + ((n * s->c + c0 + c) * s->h + y) * s->w, weights[(c * s->r + r) * s->s + t],
                        t * s->dil_w - s->left, to);
        }
}

/* to[q] += weight of k * (bias and residual) over all k: the linear part of an epilogue. */
static void project_addends(const struct conv_shape *s, const struct conv_data *d, int64_t n, int64_t p, double *to)
{
    for (int64_t k = 0; (d->bias || d->residual) && k < s->k; k++) {
        const double weight = program_project_weight(SEED_PROJECT, k);

        for (int64_t q = 0; q < s->q; q++) {
            const int64_t i = index_of(s, (struct place){n, k, p, q});

            to[q] += weight * ((d->bias ? d->bias[k] : 0) + (d->residual ? d->residual[i] : 0));
        }
    }
}

static enum err project_linear(const struct conv_shape *s, const struct conv_data *d, double *project)
{
    double *weights = combine_weights(s, d->w);

    for (int64_t i = 0; weights && i < s->n * s->p; i++) {
        add_channels(s, d->x, weights, i / s->p, 0, s->c, i % s->p, project + i * s->q);
        project_addends(s, d, i / s->p, i % s->p, project + i * s->q);
    }
    free(weights);
    return weights ? ERR_OK : ERR_NOMEM;
}

/* Projections of what is not linear: every output is computed. */
static enum err project_all(const struct conv_shape *s, unsigned bits, const struct conv_data *d, double *project)
{
    const int64_t cg = s->c / s->groups, n_w = cg * s->r * s->s;
    double *row = malloc((size_t)s->q * sizeof *row), *weights = malloc((size_t)n_w * sizeof *weights);

    for (int64_t k = 0; row && weights && k < s->k; k++) {
        const double weight = program_project_weight(SEED_PROJECT, k);

        for (int64_t i = 0; i < n_w; i++)
            weights[i] = (double)d->w[k * n_w + i];
        for (int64_t i = 0; i < s->n * s->p; i++) {
            for (int64_t q = 0; q < s->q; q++)
                row[q] = 0;
            add_channels(s, d->x, weights, i / s->p, k / (s->k / s->groups) * cg, cg, i % s->p, row);
            for (int64_t q = 0; q < s->q; q++)
                project[i * s->q + q] +=
                    weight * finish(bits, d, k, index_of(s, (struct place){i / s->p, k, i % s->p, q}), row[q]);
        }
    }
    free(weights);
    free(row);
    return row && weights ? ERR_OK : ERR_NOMEM;
}

/* Elements of `o` from data of one pass. */
static enum err put_samples(const struct conv_shape *s, unsigned bits, const struct conv_data *d, bool exact,
                            const struct expected_output *o)
{
    struct by_channels b;
    enum err failed = by_channels_init(s, d, &b);
    double ignored;

    for (size_t i = 0; !failed && exact && i < o->n_samples; i++)
        o->exact[i] = element(&b, bits, d, (int64_t)o->indices[i], &ignored);
    for (size_t i = 0; !failed && !exact && i < o->n_random; i++)
        o->random[i] = element(&b, bits, d, (int64_t)expected_random_at(o, i), &o->scale[i]);
    by_channels_fini(&b);
    return failed;
}

/* The output as [rows][n][inner]: columns are channels, or blocks of them. */
struct columns {
    int64_t rows, n, inner;
};

static struct columns columns_of(const struct conv_shape *s)
{
    if (s->layout == IMAGES_NHWC)
        return (struct columns){s->n * s->p * s->q, s->k, 1};
    return (struct columns){s->n, s->k / s->y_lanes, s->p * s->q * s->y_lanes};
}

enum err conv_reference_of(const struct workload *w, const struct conv_data *exact, const struct conv_data *random,
                           struct expected *e)
{
    const struct conv_shape s = conv_shape_of(w);
    const unsigned bits = workload_has(w, "epilogue") ? epilogue_of(w) : 0;
    const struct images y = conv_output(&s);
    const struct tensor *weights = expected_tensor(e, "w");
    struct expected_output *o = &e->outputs[0];
    const int64_t n = s.n * s.k * s.p * s.q;
    enum err failed;

    e->n_outputs = 1;
    *o = (struct expected_output){.tensor = "y",
                                  .n_samples = sample_count(conv_terms(&s), n),
                                  .outer = s.n,
                                  .axis = s.k / s.y_lanes,
                                  .inner = s.p * s.q,
                                  .lanes = s.y_lanes};
    if (weights && weights->random.fold.of) {
        const struct columns c = columns_of(&s);

        expected_folded(o, &(struct program_fold){c.inner, c.n, weights->random.fold.of, weights->random.fold.seed},
                        c.rows);
    } else if (e->all && conv_terms(&s) * (double)n <= MAX_ALL && n <= MOST_ALL)
        expected_all(o, n);
    failed = expected_alloc(e);
    if (failed)
        return failed;
    images_choose_samples(&y, e, o->n_samples, o->indices);
    if (e->has_exact)
        failed = put_samples(&s, bits, exact, true, o);
    if (!failed)
        failed = put_samples(&s, bits, random, false, o);
    if (failed)
        return failed;
    if (!o->project)
        return ERR_OK;
    return epilogue_is_linear(bits) ? project_linear(&s, exact, o->project) : project_all(&s, bits, exact, o->project);
}

/* Can output channels repeat a few? Of groups only where each has one: its inputs repeat with it. */
static bool folds(const struct conv_shape *s)
{
    return s->groups == 1 ||
           (s->layout != IMAGES_NHWC && s->groups == s->c && s->groups == s->k && s->x_lanes == s->y_lanes);
}

void conv_fold_channels(const struct workload *w, const struct conv_shape *s, struct expected *e)
{
    const struct columns c = columns_of(s);
    const struct program_fold fold =
        expected_fold(e, 1, c.n, w->op->flops(w) / (double)c.n, (double)(c.rows * c.inner));

    for (size_t i = 0; fold.of && folds(s) && i < e->n_tensors; i++) {
        struct tensor *t = &e->tensors[i];
        const bool by_image = strcmp(t->name, "residual") == 0 || strcmp(t->name, "x") == 0;

        if (t->role == ROLE_OUTPUT || strcmp(t->name, "offset") == 0 || (t->name[0] == 'x' && s->groups == 1))
            continue;
        t->random.fold = fold;
        t->random.fold.inner = t->n_elems / c.n / (by_image ? c.rows : 1);
    }
}

/* All factors are positive: the tolerance of arithmetic that is exact on no data is a tenth of the sum of magnitudes,
 * which sums of both signs rarely reach. */
static void fill_folded(struct expected *e)
{
    static const char *const names[] = {"x", "w"};

    for (int i = 0; i < 2; i++) {
        struct program_fill *f = &expected_tensor(e, names[i])->random;

        *f = (struct program_fill){.kind = FILL_INT, .seed = f->seed, .lo = 0, .hi = 3, .step = i ? 1.0 / 64 : 0};
    }
}

enum err conv_reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const struct conv_shape s = conv_shape_of(w);
    struct conv_data exact = {0}, random = {0};
    enum err failed;

    if (w->dtype == DTYPE_F32 && exact_bound(conv_terms(&s), (double)s.k) < 1)
        return ERR_LIMIT;
    if (e->mode == EXPECT_FOLDED && s.groups > 1) /* a channel's inputs are those of its group */
        return ERR_OK;
    if (e->mode == EXPECT_FOLDED)
        fill_folded(e);
    if (expected_in_full(e) && !dtype_is_bytes(w->dtype))
        conv_fold_channels(w, &s, e);
    e->all = expected_in_full(e) && !dtype_is_bytes(w->dtype);
    winograd_fills(data, expected_tensor(e, "x"), expected_tensor(e, "w"));
    failed = conv_data_make(e, &s, true, &exact);
    if (!failed)
        failed = conv_data_make(e, &s, false, &random);
    random.tile = data == EXACT_PLAIN || s.groups > 1 ? 0 : data == EXACT_WINOGRAD2 ? 2 : 4;
    if (!failed)
        failed = conv_reference_of(w, &exact, &random, e);
    conv_data_fini(&exact);
    conv_data_fini(&random);
    return failed;
}
