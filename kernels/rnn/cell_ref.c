/* SPDX-License-Identifier: MIT */
/* cell_ref.c - cells by their definition, in double. */
#include "kernels/rnn/cell_ref.h"

#include "core/clones.h"
#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define ROWS 4
#define COLUMNS 8

/* A matrix a(row, k) = a[row * row_stride + k * k_stride]. */
struct matrix {
    const float *a;
    int64_t row_stride, k_stride;
};

/* y[r][c] += sum over k of a(r, k) * x[k][c] for ROWS rows and COLUMNS columns. */
CLONES static void block(const struct matrix *a, int64_t row, int64_t n_k, const double *x, double *y, int64_t ld)
{
    double sum[ROWS][COLUMNS] = {{0}};
    const float *at = a->a + row * a->row_stride;

    for (int64_t k = 0; k < n_k; k++)
        for (int r = 0; r < ROWS; r++) {
            const double v = (double)at[r * a->row_stride + k * a->k_stride];

            for (int c = 0; c < COLUMNS; c++)
                sum[r][c] += v * x[k * ld + c];
        }
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            y[(row + r) * ld + c] += sum[r][c];
}

static void one_row(const struct matrix *a, int64_t row, int64_t n_k, const double *x, double *y, int64_t ld)
{
    for (int64_t k = 0; k < n_k; k++)
        for (int64_t c = 0; c < ld; c++)
            y[row * ld + c] += (double)a->a[row * a->row_stride + k * a->k_stride] * x[k * ld + c];
}

/* y[rows][ld] += a x[n_k][ld]; ld is a multiple of COLUMNS. */
static void product(const struct matrix *a, int64_t rows, int64_t n_k, const double *x, double *y, int64_t ld)
{
    int64_t row = 0;

    assert(ld % COLUMNS == 0);
    for (; row + ROWS <= rows; row += ROWS)
        for (int64_t c = 0; c < ld; c += COLUMNS)
            block(a, row, n_k, x + c, y + c, ld);
    for (; row < rows; row++)
        one_row(a, row, n_k, x, y, ld);
}

static int64_t at_least_1(int64_t n)
{
    return n > 0 ? n : 1;
}

enum err rnn_results_init(const struct rnn_shape *s, const int64_t *cols, int64_t n_cols, struct rnn_results *out)
{
    const int64_t ld = (n_cols + COLUMNS - 1) / COLUMNS * COLUMNS, state = s->l * s->h * ld, kept = state * s->t;
    const struct {
        double **to;
        int64_t n;
        enum rnn_pass pass;
    } parts[] = {{&out->y, s->t * s->h * ld, RNN_FWD},
                 {&out->hn, state, RNN_FWD},
                 {&out->cn, state, RNN_FWD},
                 {&out->gates, s->sigmoids * kept, RNN_FWD},
                 {&out->cand, kept, RNN_FWD},
                 {&out->q, kept, RNN_FWD},
                 {&out->cs, kept, RNN_FWD},
                 {&out->hs, kept, RNN_FWD},
                 {&out->y_held, s->t * s->h * ld, RNN_FWD},
                 {&out->hn_held, state, RNN_FWD},
                 {&out->cn_held, state, RNN_FWD},
                 {&out->dx, s->t * s->i * ld, RNN_BWD_DATA},
                 {&out->dgates, s->slots * kept, RNN_BWD_DATA},
                 {&out->dh0, state, RNN_BWD_DATA},
                 {&out->dc0, state, RNN_BWD_DATA}};

    *out = (struct rnn_results){.n_cols = n_cols, .ld = ld, .cols = cols};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].pass == s->pass) {
            *parts[i].to = calloc((size_t)at_least_1(parts[i].n), sizeof(double));
            if (!*parts[i].to)
                return ERR_NOMEM;
        }
    return ERR_OK;
}

void rnn_results_fini(struct rnn_results *r)
{
    double *all[] = {r->y,  r->hn,     r->cn,  r->gates, r->cand,   r->q,       r->cs,     r->hs,
                     r->dx, r->dgates, r->dh0, r->dc0,   r->y_held, r->hn_held, r->cn_held};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    *r = (struct rnn_results){0};
}

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

static const float *input_weights(const struct rnn_shape *s, const struct rnn_tensors *in, int64_t l)
{
    return l ? in->w_up + (l - 1) * s->gates * s->h * s->h : in->w;
}

/* The chosen columns of rows of a tensor whose last dimension is the batch. */
static void gather(const struct rnn_shape *s, const struct rnn_results *r, const float *from, int64_t rows, double *to)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < r->n_cols; c++)
            to[row * r->ld + c] = (double)from[row * s->b + r->cols[c]];
}

/* Sums of one step, of inputs and of the state before, each with its bias. */
struct sums {
    double *input, *recurrent; /* [gates * h][ld] */
    double *reset, *reset_off; /* of gru_reset: [h][ld] r h, and how far that may be off */
};

/* Errors in units of the tolerance of f32, 2e-5: of a quotient for tanh or a sigmoid, 6e-7; of a gate's sum a few
 * roundings at the magnitude of its biases, which may cancel, and of its products. */
#define GATE_ERROR 0.03
#define SUM_ERROR 0.024
#define SUM_MAGNITUDE 8

/* How far off a hidden unit's gates may be from their sums, and its states by errors of all steps so far. */
struct errors {
    double sum[4];
    double *c, *h;
};

static double sigmoid_error(double gate, double sum)
{
    return gate * (1 - gate) * sum + GATE_ERROR;
}

static double tanh_error(double v, double sum)
{
    return (1 - v * v) * sum + GATE_ERROR;
}

/* Of a row of the gates' sums; bias: of the layer. */
static double sum_error(const struct rnn_shape *s, const float *bias, int64_t row)
{
    return SUM_ERROR * (SUM_MAGNITUDE + fabs((double)bias[row]) + fabs((double)bias[s->gates * s->h + row]));
}

/* Hidden unit j of column c, an index `at` within [h][ld] of step `place`, number n of all; g: its gates' sums. */
struct unit {
    int64_t at, step, place, n;
    double g[4], q, h_before, c_before;
};

/* c = f c + i tanh(g), h = o tanh(c). */
static double lstm_unit(const struct unit *u, const struct errors *e, struct rnn_results *r)
{
    const double i = sigmoid(u->g[0]), f = sigmoid(u->g[1]), o = sigmoid(u->g[3]), g = tanh(u->g[2]);
    const double c = f * u->c_before + i * g;

    r->gates[(u->place * 3) * u->step + u->at] = i;
    r->gates[(u->place * 3 + 1) * u->step + u->at] = f;
    r->gates[(u->place * 3 + 2) * u->step + u->at] = o;
    r->cand[u->n] = g;
    r->cs[u->n] = c;
    *e->c = f * *e->c + fabs(u->c_before) * sigmoid_error(f, e->sum[1]) + fabs(g) * sigmoid_error(i, e->sum[0]) +
            i * tanh_error(g, e->sum[2]);
    *e->h = o * tanh_error(tanh(c), *e->c) + fabs(tanh(c)) * sigmoid_error(o, e->sum[3]);
    return o * tanh(c);
}

/* h = (1 - i) n + i h, n = tanh(g + r q). */
static double gru_unit(const struct unit *u, const struct errors *e, struct rnn_results *r)
{
    const double reset = sigmoid(u->g[0]), i = sigmoid(u->g[1]), n = tanh(u->g[2] + reset * u->q);
    const double sum = e->sum[2] + fabs(u->q) * sigmoid_error(reset, e->sum[0]);

    r->gates[(u->place * 2) * u->step + u->at] = reset;
    r->gates[(u->place * 2 + 1) * u->step + u->at] = i;
    r->cand[u->n] = n;
    *e->h = i * *e->h + fabs(u->h_before - n) * sigmoid_error(i, e->sum[1]) + (1 - i) * tanh_error(n, sum);
    return (1 - i) * n + i * u->h_before;
}

/* What the candidates of gru_reset take from the state before, R_n (r h), and the errors of r times what it is
 * multiplied by. bias: of the layer. */
static void reset_sums(const struct rnn_shape *s, const struct matrix *u, const float *bias, const double *h,
                       const struct sums *z, int64_t ld)
{
    const int64_t step = s->h * ld;
    const struct matrix n = {u->a + 2 * s->h * s->h, s->h, 1};

    for (int64_t at = 0; at < step; at++) {
        const double r = sigmoid(z->input[at] + z->recurrent[at]);

        z->reset[at] = r * h[at];
        z->reset_off[at] = fabs(h[at]) * sigmoid_error(r, sum_error(s, bias, at / ld));
    }
    product(&n, s->h, s->h, z->reset, z->recurrent + 2 * step, ld);
}

/* How far a candidate's sum may be off by those errors. */
static double reset_error(const struct rnn_shape *s, const struct matrix *u, const struct sums *z, int64_t at,
                          int64_t ld)
{
    const float *row = u->a + (2 * s->h + at / ld) * s->h;
    double sum = 0;

    for (int64_t k = 0; k < s->h; k++)
        sum += fabs((double)row[k]) * z->reset_off[k * ld + at % ld];
    return sum;
}

static double plain_unit(const struct rnn_shape *s, const struct unit *u, const struct errors *e, struct rnn_results *r)
{
    const double h = s->cell == RNN_TANH ? tanh(u->g[0]) : u->g[0] > 0 ? u->g[0] : 0;

    r->cand[u->n] = h;
    if (s->cell == RNN_TANH)
        *e->h = tanh_error(h, e->sum[0]);
    return h;
}

static void forward_unit(const struct rnn_shape *s, const struct sums *z, struct unit *u, const struct errors *e,
                         struct rnn_results *r)
{
    for (int64_t k = 0; k < s->gates; k++)
        u->g[k] =
            z->input[k * u->step + u->at] + (s->cell == RNN_GRU && k == 2 ? 0 : z->recurrent[k * u->step + u->at]);
    u->q = s->cell == RNN_GRU ? z->recurrent[2 * u->step + u->at] : 0;
    r->hs[u->n] = s->cell == RNN_LSTM ? lstm_unit(u, e, r) : s->gates == 3 ? gru_unit(u, e, r) : plain_unit(s, u, e, r);
    r->q[u->n] = u->q;
}

static void add_bias(const struct rnn_shape *s, const float *bias, double *z, int64_t ld)
{
    for (int64_t row = 0; row < s->gates * s->h; row++)
        for (int64_t c = 0; c < ld; c++)
            z[row * ld + c] = (double)bias[row];
}

/* One step of layer l; x: [width][ld] its input, h and c: [h][ld] the states before. */
static void forward_step(const struct rnn_shape *s, const struct rnn_tensors *in, int64_t l, int64_t t, const double *x,
                         const double *h, const double *c, const struct sums *z, struct rnn_results *r)
{
    const int64_t rows = s->gates * s->h, width = rnn_width(s, l), step = s->h * r->ld, place = l * s->t + t;
    const struct matrix w = {input_weights(s, in, l), width, 1}, u = {in->r + l * rows * s->h, s->h, 1};
    const float *bias = in->bias + 2 * l * rows;
    const bool resets = s->cell == RNN_GRU_RESET;

    add_bias(s, bias, z->input, r->ld);
    add_bias(s, bias + rows, z->recurrent, r->ld);
    product(&w, rows, width, x, z->input, r->ld);
    product(&u, resets ? 2 * s->h : rows, s->h, h, z->recurrent, r->ld);
    if (resets)
        reset_sums(s, &u, bias, h, z, r->ld);
    for (int64_t at = 0; at < step; at++) {
        struct unit one = {at, step, place, place * step + at, {0}, 0, h[at], c ? c[at] : 0};
        struct errors e = {{0}, &r->cn_held[l * step + at], &r->hn_held[l * step + at]};

        for (int64_t k = 0; k < s->gates; k++)
            e.sum[k] = sum_error(s, bias, k * s->h + at / r->ld);
        e.sum[2] += resets ? reset_error(s, &u, z, at, r->ld) : 0;
        forward_unit(s, z, &one, &e, r);
    }
}

static void copy(double *to, const double *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i];
}

static void forward_layer(const struct rnn_shape *s, const struct rnn_tensors *in, int64_t l, const struct sums *z,
                          double *x, double *first, struct rnn_results *r)
{
    const int64_t step = s->h * r->ld, state = l * step;
    double *h0 = first, *c0 = first + step;

    gather(s, r, in->h0 + l * s->h * s->b, s->h, h0);
    if (in->c0)
        gather(s, r, in->c0 + l * s->h * s->b, s->h, c0);
    for (int64_t t = 0; t < s->t; t++) {
        const int64_t now = (l * s->t + t) * step, below = ((l - 1) * s->t + t) * step;

        if (!l)
            gather(s, r, in->x + t * s->i * s->b, s->i, x);
        forward_step(s, in, l, t, l ? r->hs + below : x, t ? r->hs + now - step : h0,
                     !in->c0 ? NULL
                     : t     ? r->cs + now - step
                             : c0,
                     z, r);
        if (l == s->l - 1)
            copy(r->y + t * step, r->hs + now, step);
        if (l == s->l - 1)
            copy(r->y_held + t * step, r->hn_held + state, step);
    }
    copy(r->hn + state, r->hs + (l * s->t + s->t - 1) * step, step);
    copy(r->cn + state, r->cs + (l * s->t + s->t - 1) * step, step);
}

enum err rnn_forward(const struct rnn_shape *s, const struct rnn_tensors *in, struct rnn_results *out)
{
    const int64_t step = s->h * out->ld;
    struct sums z = {calloc((size_t)(s->gates * step), sizeof(double)),
                     calloc((size_t)(s->gates * step), sizeof(double)), calloc((size_t)step, sizeof(double)),
                     calloc((size_t)step, sizeof(double))};
    double *x = calloc((size_t)(s->i * out->ld), sizeof *x), *first = calloc((size_t)(2 * step), sizeof *first);
    const enum err e = z.input && z.recurrent && z.reset && z.reset_off && x && first ? ERR_OK : ERR_NOMEM;

    for (int64_t l = 0; !e && l < s->l; l++)
        forward_layer(s, in, l, &z, x, first, out);
    free(z.input);
    free(z.recurrent);
    free(z.reset);
    free(z.reset_off);
    free(x);
    free(first);
    return e;
}

/* What the forward pass kept of one hidden unit of one column. */
struct kept {
    double gate[3], cand, q, c, c_before, h_before;
};

static struct kept kept_of(const struct rnn_shape *s, const struct rnn_tensors *in, int64_t l, int64_t t, int64_t j,
                           int64_t column)
{
    const int64_t place = l * s->t + t, unit = j * s->b + column, one = s->h * s->b, n = place * one + unit;
    struct kept k = {.cand = (double)in->cand[n]};

    for (int64_t i = 0; i < s->sigmoids; i++)
        k.gate[i] = (double)in->gates[(place * s->sigmoids + i) * one + unit];
    if (s->cell == RNN_LSTM) {
        k.c = (double)in->cs[n];
        k.c_before = (double)(t ? in->cs[n - one] : in->c0[l * one + unit]);
    }
    if (s->cell == RNN_GRU) {
        k.q = (double)in->q[n];
        k.h_before = (double)(t ? in->hs[n - one] : in->h0[l * one + unit]);
    }
    return k;
}

/* Gradients of one unit's sums into d[slots]; dc and the direct part of dh are carried to the step before. */
static void backward_unit(const struct rnn_shape *s, const struct kept *k, double dh, double *dc, double *carry,
                          double *d)
{
    const double *g = k->gate;

    *carry = 0;
    if (s->cell == RNN_LSTM) {
        const double tc = tanh(k->c), dc_now = *dc + dh * g[2] * (1 - tc * tc);

        d[0] = dc_now * k->cand * g[0] * (1 - g[0]);
        d[1] = dc_now * k->c_before * g[1] * (1 - g[1]);
        d[2] = dc_now * g[0] * (1 - k->cand * k->cand);
        d[3] = dh * tc * g[2] * (1 - g[2]);
        *dc = dc_now * g[1];
    } else if (s->cell == RNN_GRU) {
        d[2] = dh * (1 - g[1]) * (1 - k->cand * k->cand);
        d[0] = d[2] * k->q * g[0] * (1 - g[0]);
        d[1] = dh * (k->h_before - k->cand) * g[1] * (1 - g[1]);
        d[3] = d[2] * g[0];
        *carry = dh * g[1];
    } else {
        d[0] = s->cell == RNN_TANH ? dh * (1 - k->cand * k->cand) : k->cand > 0 ? dh : 0;
    }
}

/* dh (of this step's h, in) becomes that of the step before. above: [h][ld] gradient that comes from above. */
static void backward_step(const struct rnn_shape *s, const struct rnn_tensors *in, int64_t l, int64_t t,
                          const double *above, double *dh, double *dc, struct rnn_results *r)
{
    const int64_t step = s->h * r->ld, rows = s->gates * s->h;
    double *dg = r->dgates + (l * s->t + t) * s->slots * step;
    const float *u = in->r + l * rows * s->h;

    for (int64_t j = 0; j < s->h; j++)
        for (int64_t c = 0; c < r->n_cols; c++) {
            const int64_t at = j * r->ld + c;
            const struct kept k = kept_of(s, in, l, t, j, r->cols[c]);
            double d[4];

            backward_unit(s, &k, above[at] + dh[at], &dc[at], &dh[at], d);
            for (int64_t i = 0; i < s->slots; i++)
                dg[i * step + at] = d[i];
        }
    if (s->cell == RNN_GRU) {
        product(&(struct matrix){u, 1, s->h}, s->h, 2 * s->h, dg, dh, r->ld);
        product(&(struct matrix){u + 2 * s->h * s->h, 1, s->h}, s->h, s->h, dg + 3 * step, dh, r->ld);
    } else {
        product(&(struct matrix){u, 1, s->h}, s->h, rows, dg, dh, r->ld);
    }
}

/* above: [t][h][ld], becomes the gradient of this layer's input; the first layer's goes to dx. */
static void backward_layer(const struct rnn_shape *s, const struct rnn_tensors *in, int64_t l, double *above,
                           struct rnn_results *r)
{
    const int64_t step = s->h * r->ld, width = rnn_width(s, l);
    const struct matrix w = {input_weights(s, in, l), 1, width};

    for (int64_t t = s->t - 1; t >= 0; t--)
        backward_step(s, in, l, t, above + t * step, r->dh0 + l * step, r->dc0 + l * step, r);
    for (int64_t t = 0; t < s->t; t++) {
        double *to = l ? above + t * step : r->dx + t * s->i * r->ld;

        for (int64_t i = 0; i < width * r->ld; i++)
            to[i] = 0;
        product(&w, width, s->gates * s->h, r->dgates + (l * s->t + t) * s->slots * step, to, r->ld);
    }
}

enum err rnn_backward(const struct rnn_shape *s, const struct rnn_tensors *in, struct rnn_results *out)
{
    double *above = calloc((size_t)(s->t * s->h * out->ld), sizeof *above);

    if (!above)
        return ERR_NOMEM;
    gather(s, out, in->dy, s->t * s->h, above);
    for (int64_t l = s->l - 1; l >= 0; l--)
        backward_layer(s, in, l, above, out);
    free(above);
    return ERR_OK;
}

double rnn_gradient(const struct rnn_shape *s, const struct rnn_tensors *in, bool recurrent, int64_t l, int64_t row,
                    int64_t column, double *scale)
{
    const int64_t slot = row + (recurrent && s->cell == RNN_GRU && row >= 2 * s->h ? s->h : 0);
    const int64_t width = recurrent ? s->h : rnn_width(s, l), one = s->h * s->b;
    double sum = 0;

    *scale = 0;
    for (int64_t t = 0; t < s->t; t++) {
        const int64_t place = l * s->t + t;
        const float *dg = in->dgates + (place * s->slots * s->h + slot) * s->b;
        const float *x = !recurrent ? (l ? in->hs + (place - s->t) * one : in->x + t * width * s->b)
                         : t        ? in->hs + (place - 1) * one
                                    : in->h0 + l * one;

        for (int64_t c = 0; c < s->b; c++) {
            const double v = (double)dg[c] * (column < 0 ? 1 : (double)x[column * s->b + c]);

            sum += v;
            *scale += fabs(v);
        }
    }
    return sum;
}
