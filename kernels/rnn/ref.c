/* SPDX-License-Identifier: MIT */
/* ref.c - expected outputs. Columns of the batch do not touch one another, so a few of them are computed whole where
 * all would take long. */
#include "kernels/rnn/cell_ref.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FLOPS 8e9
#define LEAST_COLUMNS 8

/* The tensors of one pass on the host. */
struct data {
    float *all[OPERATOR_MAX_TENSORS];
    size_t n;
    struct rnn_tensors t;
};

static void data_fini(struct data *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->all[i]);
}

static enum err data_init(const struct expected *e, bool exact, struct data *d)
{
    const struct {
        const char *name;
        const float **to;
    } parts[] = {{"x", &d->t.x},         {"w", &d->t.w},          {"w_up", &d->t.w_up}, {"r", &d->t.r},
                 {"bias", &d->t.bias},   {"h0", &d->t.h0},        {"c0", &d->t.c0},     {"dy", &d->t.dy},
                 {"gates", &d->t.gates}, {"cand", &d->t.cand},    {"q", &d->t.q},       {"cs", &d->t.cs},
                 {"hs", &d->t.hs},       {"dgates", &d->t.dgates}};

    memset(d, 0, sizeof *d);
    for (size_t i = 0; i < e->n_tensors; i++) {
        if (e->tensors[i].role == ROLE_OUTPUT)
            continue;
        assert(d->n < OPERATOR_MAX_TENSORS);
        d->all[d->n] = expected_data(&e->tensors[i], exact, NULL);
        if (!d->all[d->n])
            return ERR_NOMEM;
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
            if (strcmp(parts[k].name, e->tensors[i].name) == 0)
                *parts[k].to = d->all[d->n];
        d->n++;
    }
    return ERR_OK;
}

/* First, last, the others drawn; all of them where that is cheap. cols: [b]. */
static int64_t choose_columns(const struct rnn_shape *s, const struct expected *e, double flops, int64_t *cols)
{
    int64_t n = (int64_t)(MAX_FLOPS / (flops / (double)s->b));

    n = n < LEAST_COLUMNS || (e->mode != EXPECT_PROGRAM && e->mode != EXPECT_FOLDED) ? LEAST_COLUMNS : n;
    n = n > s->b || s->b <= 2 * LEAST_COLUMNS ? s->b : n;
    assert(n >= 1 && n <= s->b);
    for (int64_t i = 0; i < n; i++)
        cols[i] = n == s->b ? i : (int64_t)(expected_pick(e, (uint64_t)i) % (uint64_t)s->b);
    cols[0] = 0;
    cols[n - 1] = s->b - 1;
    return n;
}

/* Samples of a tensor [rows][b], of the chosen columns: all elements, or the first and last rows and drawn ones. */
static void choose(const struct rnn_shape *s, const struct expected *e, const struct rnn_results *r,
                   struct expected_output *o, int64_t rows, int64_t *at)
{
    const int64_t total = rows * r->n_cols;

    for (size_t i = 0; i < o->n_samples; i++) {
        int64_t k = (int64_t)i;

        if ((int64_t)o->n_samples < total && i >= 2 * (size_t)r->n_cols)
            k = (int64_t)(expected_pick(e, i) % (uint64_t)total);
        else if ((int64_t)o->n_samples < total && i >= (size_t)r->n_cols)
            k = total - 1 - ((int64_t)i - r->n_cols);
        assert(k >= 0 && k < total);
        at[i] = k / r->n_cols * r->ld + k % r->n_cols;
        o->indices[i] = (uint64_t)(k / r->n_cols * s->b + r->cols[k % r->n_cols]);
    }
}

/* An output's name, its rows (the last dimension is the batch), and its part of the results. */
struct part {
    const char *name;
    int64_t outer, axis; /* rows = outer * axis */
    double *exact, *random;
    const double *held; /* of random, as in rnn_results; NULL = nothing */
};

static size_t parts_of(const struct rnn_shape *s, const struct rnn_results *exact, const struct rnn_results *random,
                       struct part *out)
{
    const bool lstm = s->cell == RNN_LSTM;
    size_t n = 0;

    if (s->pass == RNN_FWD) {
        out[n++] = (struct part){"y", s->t, s->h, exact->y, random->y, random->y_held};
        out[n++] = (struct part){"hn", s->l, s->h, exact->hn, random->hn, random->hn_held};
        if (lstm)
            out[n++] = (struct part){"cn", s->l, s->h, exact->cn, random->cn, random->cn_held};
        return n;
    }
    out[n++] = (struct part){"dx", s->t, s->i, exact->dx, random->dx, NULL};
    out[n++] = (struct part){"dgates", s->l * s->t, s->slots * s->h, exact->dgates, random->dgates, NULL};
    out[n++] = (struct part){"dh0", s->l, s->h, exact->dh0, random->dh0, NULL};
    if (lstm)
        out[n++] = (struct part){"dc0", s->l, s->h, exact->dc0, random->dc0, NULL};
    return n;
}

static void project(const struct part *p, const struct rnn_results *r, struct expected_output *o)
{
    for (int64_t i = 0; i < o->outer; i++)
        for (int64_t a = 0; a < o->axis; a++)
            for (int64_t c = 0; c < o->inner; c++)
                o->project[i * o->inner + c] +=
                    program_project_weight(SEED_PROJECT, a) * p->exact[(i * o->axis + a) * r->ld + c];
}

/* Of absolute tolerances. */
static double unit_of(const struct rnn_shape *s, const struct expected *e)
{
    if (e->tensors[0].dtype != DTYPE_F32)
        return 1;
    if (e->mode == EXPECT_SPECIAL && s->pass == RNN_BWD_DATA)
        return EXPECT_GRADIENT_UNIT;
    return e->mode == EXPECT_WIDE && s->cell == RNN_RELU && s->pass == RNN_FWD ? EXPECT_RELU_UNIT : 1;
}

static enum err put(const struct rnn_shape *s, const struct part *parts, const struct rnn_results *r,
                    const struct program_fold *fold, struct expected *e)
{
    const bool folded = e->mode == EXPECT_FOLDED, f32 = e->tensors[0].dtype == DTYPE_F32;
    const double unit = unit_of(s, e);
    int64_t most = 0, *at;
    enum err failed;

    for (size_t i = 0; i < e->n_outputs; i++) {
        const int64_t n = parts[i].outer * parts[i].axis * r->n_cols;

        most = n > most ? n : most;
        e->outputs[i] =
            (struct expected_output){.tensor = parts[i].name,
                                     .n_samples = (size_t)(folded || n < EXPECT_MAX_SAMPLES ? n : EXPECT_MAX_SAMPLES),
                                     .fold = folded ? *fold : (struct program_fold){0},
                                     .outer = e->has_exact ? parts[i].outer : 0,
                                     .axis = parts[i].axis,
                                     .inner = s->b};
    }
    at = malloc((size_t)(most ? most : 1) * sizeof *at);
    failed = at ? expected_alloc(e) : ERR_NOMEM;
    for (size_t i = 0; !failed && i < e->n_outputs; i++) {
        struct expected_output *o = &e->outputs[i];

        choose(s, e, r, o, parts[i].outer * parts[i].axis, at);
        for (size_t k = 0; k < o->n_samples; k++) {
            o->random[k] = parts[i].random[at[k]];
            o->scale[k] = fmax(fmax(fabs(o->random[k]), unit), parts[i].held && f32 ? parts[i].held[at[k]] : 0);
            o->exact[k] = e->has_exact ? parts[i].exact[at[k]] : 0;
        }
        if (e->has_exact)
            project(&parts[i], r, o);
    }
    free(at);
    return failed;
}

static enum err compute(const struct rnn_shape *s, const struct expected *e, bool exact, struct rnn_results *r)
{
    struct data d;
    enum err failed = data_init(e, exact, &d);

    if (!failed)
        failed = s->pass == RNN_FWD ? rnn_forward(s, &d.t, r) : rnn_backward(s, &d.t, r);
    data_fini(&d);
    return failed;
}

/* Columns of the batch repeat a few, in what has them: not the weights. */
static struct program_fold fold_columns(const struct workload *w, const struct rnn_shape *s, struct expected *e)
{
    struct program_fold fold;
    double elems = 0;

    for (size_t i = 0; i < e->n_tensors; i++)
        elems += e->tensors[i].role == ROLE_OUTPUT ? (double)(e->tensors[i].n_elems / s->b) : 0;
    fold = expected_fold(e, 1, s->b, w->op->flops(w) / (double)s->b, elems);
    for (size_t i = 0; i < e->n_tensors; i++)
        if (e->tensors[i].role == ROLE_INPUT) {
            struct program_fill *f = &e->tensors[i].random;

            f->fold = fold;
            if (strcmp(e->tensors[i].name, "x") == 0 || strcmp(e->tensors[i].name, "dy") == 0) {
                f->kind = FILL_WIDE; /* not so far that all gates are open or shut */
                f->step = 16;
            }
        }
    return fold;
}

static enum err recurrent(const struct workload *w, const struct rnn_shape *s, struct expected *e)
{
    struct rnn_results results[2] = {{0}, {0}};
    struct part parts[EXPECT_MAX_OUTPUTS];
    struct program_fold fold = {0};
    int64_t *cols = calloc((size_t)s->b + 1, sizeof *cols), n_cols;
    enum err failed = ERR_OK;

    if (!cols)
        return ERR_NOMEM;
    n_cols = choose_columns(s, e, w->op->flops(w), cols);
    if (e->mode == EXPECT_FOLDED) {
        fold = fold_columns(w, s, e);
        if (!fold.of) {
            free(cols);
            return ERR_OK;
        }
        n_cols = fold.of;
        for (int64_t i = 0; i < n_cols; i++)
            cols[i] = i;
    }
    for (int i = e->has_exact ? 0 : 1; !failed && i < 2; i++) {
        failed = rnn_results_init(s, cols, n_cols, &results[i]);
        if (!failed)
            failed = compute(s, e, i == 0, &results[i]);
    }
    e->n_outputs = parts_of(s, &results[0], &results[1], parts);
    if (!failed)
        failed = put(s, parts, &results[1], &fold, e);
    else
        e->n_outputs = 0;
    rnn_results_fini(&results[0]);
    rnn_results_fini(&results[1]);
    free(cols);
    return failed;
}

#define MAX_ALL 2e8 /* products of all elements of a gradient where all are compared */

/* The weight gradient: a tensor [layers][rows][columns], of layers from `first` on. */
struct gradient {
    const char *name;
    int64_t layers, rows, columns, first;
    bool recurrent;
};

static double element(const struct rnn_shape *s, const struct rnn_tensors *in, const struct gradient *g, uint64_t index,
                      double *scale)
{
    const int64_t column = (int64_t)index % g->columns, row = (int64_t)index / g->columns % g->rows;
    const int64_t layer = (int64_t)index / g->columns / g->rows;

    assert(layer < g->layers);
    if (g->columns > 1 || g->name[1] != 'b')
        return rnn_gradient(s, in, g->recurrent, layer + g->first, row, column, scale);
    return rnn_gradient(s, in, row >= s->gates * s->h, layer, row % (s->gates * s->h), -1, scale);
}

static size_t gradients_of(const struct rnn_shape *s, struct gradient *out)
{
    const int64_t rows = s->gates * s->h;
    size_t n = 0;

    out[n++] = (struct gradient){"dw", 1, rows, s->i, 0, false};
    if (s->l > 1)
        out[n++] = (struct gradient){"dw_up", s->l - 1, rows, s->h, 1, false};
    out[n++] = (struct gradient){"dr", s->l, rows, s->h, 0, true};
    out[n++] = (struct gradient){"dbias", s->l, 2 * rows, 1, 0, false};
    return n;
}

/* Every row's elements, summed with weights: one pass over the products with the weighted sum of the columns. */
static enum err project_rows(const struct rnn_shape *s, const struct rnn_tensors *in, const struct gradient *g,
                             double *to)
{
    const bool bias = g->name[1] == 'b';
    const int64_t width = bias ? 1 : g->columns, rows = s->gates * s->h;
    double *sums = calloc((size_t)(s->t * s->b), sizeof *sums);

    if (!sums)
        return ERR_NOMEM;
    for (int64_t l = 0; l < g->layers; l++) {
        for (int64_t t = 0; t < s->t; t++) {
            const int64_t place = (l + g->first) * s->t + t, one = s->h * s->b;
            const float *x = bias            ? NULL
                             : !g->recurrent ? (g->first ? in->hs + (place - s->t) * one : in->x + t * width * s->b)
                             : t             ? in->hs + (place - 1) * one
                                             : in->h0 + l * one;

            for (int64_t c = 0; c < s->b; c++) {
                double sum = bias ? 1 : 0;

                for (int64_t a = 0; x && a < width; a++)
                    sum += program_project_weight(SEED_PROJECT, a) * (double)x[a * s->b + c];
                sums[t * s->b + c] = bias ? program_project_weight(SEED_PROJECT, 0) * sum : sum;
            }
        }
        for (int64_t row = 0; row < g->rows; row++) {
            const bool recurrent_row = g->recurrent || (bias && row >= rows);
            const int64_t r = row % rows;
            const int64_t slot = r + (recurrent_row && s->cell == RNN_GRU && r >= 2 * s->h ? s->h : 0);

            assert(slot < s->slots * s->h);
            for (int64_t t = 0; t < s->t; t++)
                for (int64_t c = 0; c < s->b; c++)
                    to[l * g->rows + row] +=
                        sums[t * s->b + c] *
                        (double)in->dgates[(((l + g->first) * s->t + t) * s->slots * s->h + slot) * s->b + c];
        }
    }
    free(sums);
    return ERR_OK;
}

static void sample_gradient(const struct rnn_shape *s, const struct expected *e, const struct rnn_tensors *exact,
                            const struct rnn_tensors *random, const struct gradient *g, struct expected_output *o)
{
    const uint64_t total = (uint64_t)(g->layers * g->rows * g->columns);

    for (size_t i = 0; i < o->n_samples; i++) {
        double ignored;

        o->indices[i] = o->n_samples == total ? i : i < 2 ? i * (total - 1) : expected_pick(e, i) % total;
        o->exact[i] = exact ? element(s, exact, g, o->indices[i], &ignored) : 0;
    }
    for (size_t i = 0; i < o->n_random; i++)
        o->random[i] = element(s, random, g, expected_random_at(o, i), &o->scale[i]);
}

static enum err gradient(const struct rnn_shape *s, struct expected *e)
{
    struct gradient parts[EXPECT_MAX_OUTPUTS];
    struct data exact = {.n = 0}, random = {.n = 0};
    enum err failed = data_init(e, false, &random);

    e->n_outputs = gradients_of(s, parts);
    for (size_t i = 0; i < e->n_outputs; i++) {
        const int64_t n = parts[i].layers * parts[i].rows * parts[i].columns;

        e->outputs[i] = (struct expected_output){.tensor = parts[i].name,
                                                 .n_samples = sample_count((double)(s->t * s->b), n),
                                                 .outer = e->has_exact ? parts[i].layers * parts[i].rows : 0,
                                                 .axis = parts[i].columns,
                                                 .inner = 1};
        if (expected_in_full(e) && (double)(s->t * s->b) * (double)n <= MAX_ALL)
            expected_all(&e->outputs[i], n);
    }
    if (!failed && e->has_exact)
        failed = data_init(e, true, &exact);
    if (!failed)
        failed = expected_alloc(e);
    for (size_t i = 0; !failed && i < e->n_outputs; i++) {
        sample_gradient(s, e, e->has_exact ? &exact.t : NULL, &random.t, &parts[i], &e->outputs[i]);
        if (e->has_exact)
            failed = project_rows(s, &exact.t, &parts[i], e->outputs[i].project);
    }
    data_fini(&exact);
    data_fini(&random);
    return failed;
}

enum err rnn_reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const struct rnn_shape s = rnn_shape_of(w);

    (void)data;
    if (s.pass == RNN_BWD_WEIGHT && e->mode != EXPECT_FOLDED)
        return gradient(&s, e);
    if (s.pass == RNN_BWD_WEIGHT)
        return ERR_OK;
    return recurrent(w, &s, e);
}
