/* SPDX-License-Identifier: MIT */
#include "kernels/rnn/rnn.h"

#include "core/err.h"

#include <math.h>

#define MAX_SIZE ((int64_t)1 << 20)
#define MAX_LAYERS 32
#define MAX_ELEMS (((int64_t)1 << 31) - 1)

static const char *const cells[] = {"lstm", "gru", "tanh", "relu", "gru_reset", NULL};
static const char *const passes[] = {"fwd", "bwd_data", "bwd_weight", NULL};

static const struct operator_key keys[] = {
    {"cell", KEY_WORD, false, 0, 0, 0, cells, "kind of cell"},
    {"pass", KEY_WORD, false, 0, 0, 0, passes, "forward, or one of the two backward passes"},
    {"i", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "inputs of the first layer"},
    {"h", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "hidden units of a layer"},
    {"l", KEY_INT, false, 1, MAX_LAYERS, 1, NULL, "layers"},
    {"b", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "batch"},
    {"t", KEY_INT, true, 1, 65536, 0, NULL, "time steps"},
    {0},
};

struct rnn_shape rnn_shape_of(const struct workload *w)
{
    static const int64_t gates[] = {4, 3, 1, 1, 3}, sigmoids[] = {3, 2, 0, 0, 2}, slots[] = {4, 4, 1, 1, 4};
    const int64_t cell = workload_get(w, "cell");

    return (struct rnn_shape){.cell = (enum rnn_cell)cell,
                              .pass = (enum rnn_pass)workload_get(w, "pass"),
                              .i = workload_get(w, "i"),
                              .h = workload_get(w, "h"),
                              .l = workload_get(w, "l"),
                              .b = workload_get(w, "b"),
                              .t = workload_get(w, "t"),
                              .gates = gates[cell],
                              .sigmoids = sigmoids[cell],
                              .slots = slots[cell]};
}

int64_t rnn_width(const struct rnn_shape *s, int64_t layer)
{
    return layer ? s->h : s->i;
}

void rnn_define_shape(struct build *b, const struct rnn_shape *s)
{
    build_defines(b, (const struct build_define[]){{"CELL", s->cell},
                                                   {"PASS", s->pass},
                                                   {"SIZE_I", s->i},
                                                   {"SIZE_H", s->h},
                                                   {"SIZE_L", s->l},
                                                   {"SIZE_B", s->b},
                                                   {"SIZE_T", s->t},
                                                   {"GATES", s->gates},
                                                   {"SIGMOIDS", s->sigmoids},
                                                   {"SLOTS", s->slots},
                                                   {NULL, 0}});
}

static enum err check(const struct workload *w, struct why *why)
{
    struct tensor tensors[OPERATOR_MAX_TENSORS];
    const struct rnn_shape s = rnn_shape_of(w);
    const double widest = (double)s.gates * (double)(s.i > s.h ? s.i : s.h);
    size_t n;

    if (s.cell == RNN_GRU_RESET && s.pass != RNN_FWD)
        return why_set(why, ERR_UNSUPPORTED, "rnn: cell=gru_reset has no gradients: expected pass=fwd");
    if (widest * (double)s.h > (double)MAX_ELEMS ||
        widest * (double)s.l * (double)s.t * (double)s.b > (double)MAX_ELEMS)
        return why_set(why, ERR_LIMIT, "rnn: weights or gates of more than %lld elements", (long long)MAX_ELEMS);
    n = w->op->tensors(w, tensors);
    for (size_t i = 0; i < n; i++)
        if (tensors[i].n_elems > MAX_ELEMS)
            return why_set(why, ERR_LIMIT, "rnn: %s has more than %lld elements", tensors[i].name,
                           (long long)MAX_ELEMS);
    return ERR_OK;
}

static double flops(const struct workload *w)
{
    const struct rnn_shape s = rnn_shape_of(w);
    double sum = 0;

    for (int64_t l = 0; l < s.l; l++)
        sum += 2.0 * (double)(s.gates * s.h) * (double)(rnn_width(&s, l) + s.h) * (double)(s.b * s.t);
    return sum;
}

static double bytes_min(const struct workload *w)
{
    struct tensor tensors[OPERATOR_MAX_TENSORS];
    const size_t n = w->op->tensors(w, tensors);
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)tensors[i].n_elems * (double)dtype_bytes(tensors[i].dtype);
    return sum;
}

/* Tensors one after another. */
struct list {
    struct tensor *out;
    size_t n;
    enum dtype dtype;
};

static struct tensor *add(struct list *to, const char *name, enum buffer_role role, const char *layout,
                          const int64_t shape[4])
{
    struct tensor *t = &to->out[to->n++];

    *t = (struct tensor){.name = name, .role = role, .dtype = to->dtype, .n_elems = 1, .layout = layout};
    for (int i = 0; i < 4; i++)
        if (shape[i]) {
            t->shape[t->n_dims++] = shape[i];
            t->n_elems *= shape[i];
        }
    return t;
}

/* Whole numbers of lo..hi in the exact pass; in the random pass multiples of `step` between lo_r and hi_r. */
static void uniform(struct tensor *t, uint64_t seed, double bound, double lo, double hi, double step)
{
    tensor_fills(t, seed, bound, 1);
    t->random = (struct program_fill){.kind = FILL_INT, .seed = seed + SEED_RANDOM, .lo = lo, .hi = hi, .step = step};
}

enum { SEED_RNN = 100 };

static void add_weights(struct list *to, const struct rnn_shape *s)
{
    const int64_t rows = s->gates * s->h;
    const double step = 1 / (1024 * sqrt((double)s->h));

    uniform(add(to, "w", ROLE_WEIGHT, "oi", (const int64_t[4]){rows, s->i}), SEED_RNN, 1, -1024, 1024, step);
    if (s->l > 1)
        uniform(add(to, "w_up", ROLE_WEIGHT, "loi", (const int64_t[4]){s->l - 1, rows, s->h}), SEED_RNN + 1, 1, -1024,
                1024, step);
    uniform(add(to, "r", ROLE_WEIGHT, "loi", (const int64_t[4]){s->l, rows, s->h}), SEED_RNN + 2, 1, -1024, 1024, step);
}

static void add_normal(struct list *to, const char *name, const int64_t shape[4], uint64_t seed, double bound,
                       double sd)
{
    tensor_fills(add(to, name, ROLE_INPUT, "", shape), seed, bound, sd);
}

/* States between -1 and 1. */
static void add_state(struct list *to, const char *name, const int64_t shape[4], uint64_t seed, double bound)
{
    uniform(add(to, name, ROLE_INPUT, "", shape), seed, bound, -255, 255, 1.0 / 256);
}

static void add_forward(struct list *to, const struct rnn_shape *s)
{
    const int64_t sequence[4] = {s->t, s->h, s->b}, state[4] = {s->l, s->h, s->b};
    const double step = 1 / (1024 * sqrt((double)s->h));

    add_normal(to, "x", (const int64_t[4]){s->t, s->i, s->b}, SEED_RNN + 3, 1, 1);
    add_weights(to, s);
    uniform(add(to, "bias", ROLE_WEIGHT, "lso", (const int64_t[4]){s->l, 2, s->gates * s->h}), SEED_RNN + 4, 1, -1024,
            1024, step);
    add_state(to, "h0", state, SEED_RNN + 5, 1);
    if (s->cell == RNN_LSTM)
        add_normal(to, "c0", state, SEED_RNN + 6, 1, 0.5);
    add(to, "y", ROLE_OUTPUT, "thb", sequence);
    add(to, "hn", ROLE_OUTPUT, "lhb", state);
    if (s->cell == RNN_LSTM)
        add(to, "cn", ROLE_OUTPUT, "lhb", state);
}

/* What the forward pass keeps: gates between 0 and 1, the candidate between -1 and 1 (ReLU: not negative, often 0). */
static void add_kept(struct list *to, const struct rnn_shape *s)
{
    const int64_t kept[4] = {s->l, s->t, s->h, s->b}, state[4] = {s->l, s->h, s->b};
    const bool relu = s->cell == RNN_RELU;

    if (s->sigmoids)
        uniform(add(to, "gates", ROLE_INPUT, "ltgb", (const int64_t[4]){s->l, s->t, s->sigmoids * s->h, s->b}),
                SEED_RNN + 7, 1, 1, 255, 1.0 / 256);
    uniform(add(to, "cand", ROLE_INPUT, "lthb", kept), SEED_RNN + 8, 1, relu ? 0 : -255, relu ? 3 : 255,
            relu ? 0.25 : 1.0 / 256);
    if (s->cell == RNN_LSTM) {
        add_normal(to, "cs", kept, SEED_RNN + 9, 1, 0.5);
        add_normal(to, "c0", state, SEED_RNN + 6, 1, 0.5);
    }
    if (s->cell == RNN_GRU) {
        add_normal(to, "q", kept, SEED_RNN + 10, 1, 0.5);
        add_state(to, "hs", kept, SEED_RNN + 11, 1);
        add_state(to, "h0", state, SEED_RNN + 5, 1);
    }
}

static void add_backward(struct list *to, const struct rnn_shape *s)
{
    const int64_t state[4] = {s->l, s->h, s->b};

    add_normal(to, "dy", (const int64_t[4]){s->t, s->h, s->b}, SEED_RNN + 12, 1, 0.5);
    add_weights(to, s);
    add_kept(to, s);
    add(to, "dx", ROLE_OUTPUT, "tib", (const int64_t[4]){s->t, s->i, s->b});
    add(to, "dgates", ROLE_OUTPUT, "ltgb", (const int64_t[4]){s->l, s->t, s->slots * s->h, s->b});
    add(to, "dh0", ROLE_OUTPUT, "lhb", state);
    if (s->cell == RNN_LSTM)
        add(to, "dc0", ROLE_OUTPUT, "lhb", state);
}

static void add_gradient(struct list *to, const struct rnn_shape *s)
{
    const int64_t rows = s->gates * s->h;
    const double bound = s->i < 1 << 19 && to->dtype == DTYPE_F32
                             ? exact_bound((double)(s->t * s->b), (double)(s->i > s->h ? s->i : s->h))
                             : 1;

    add_normal(to, "dgates", (const int64_t[4]){s->l, s->t, s->slots * s->h, s->b}, SEED_RNN + 13, bound, 0.0625);
    add_normal(to, "x", (const int64_t[4]){s->t, s->i, s->b}, SEED_RNN + 3, bound, 1);
    add_state(to, "hs", (const int64_t[4]){s->l, s->t, s->h, s->b}, SEED_RNN + 11, bound);
    add_state(to, "h0", (const int64_t[4]){s->l, s->h, s->b}, SEED_RNN + 5, bound);
    add(to, "dw", ROLE_OUTPUT, "oi", (const int64_t[4]){rows, s->i});
    if (s->l > 1)
        add(to, "dw_up", ROLE_OUTPUT, "loi", (const int64_t[4]){s->l - 1, rows, s->h});
    add(to, "dr", ROLE_OUTPUT, "loi", (const int64_t[4]){s->l, rows, s->h});
    add(to, "dbias", ROLE_OUTPUT, "lso", (const int64_t[4]){s->l, 2, rows});
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    static void (*const adders[])(struct list *, const struct rnn_shape *) = {add_forward, add_backward, add_gradient};
    const struct rnn_shape s = rnn_shape_of(w);
    struct list to = {out, 0, w->dtype};

    adders[s.pass](&to, &s);
    return to.n;
}

/* The largest |h| of integers in -1..1 after all steps and layers stays a whole number of the type. */
static bool relu_stays_small(const struct rnn_shape *s, double most)
{
    double in = 1;

    for (int64_t l = 0; l < s->l; l++) {
        double h = 1;

        for (int64_t t = 0; t < s->t && h < most; t++)
            h = in * (double)rnn_width(s, l) + h * (double)s->h + 2;
        in = h;
        if (h >= most)
            return false;
    }
    return true;
}

/* Is integer data of this workload computed exactly? The weight gradient, and ReLU where sums cannot grow far. */
static bool is_exact(const struct workload *w)
{
    const struct rnn_shape s = rnn_shape_of(w);

    if (s.pass == RNN_BWD_WEIGHT)
        return w->dtype == DTYPE_F32 ? exact_bound((double)(s.t * s.b), (double)(s.i > s.h ? s.i : s.h)) >= 1
                                     : s.t * s.b < 2048;
    return s.pass == RNN_FWD && s.cell == RNN_RELU && s.b <= 16 &&
           relu_stays_small(&s, w->dtype == DTYPE_F32 ? 1 << 22 : 2048);
}

void rnn_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout)
{
    (void)s;
    (void)c;
    inout->data = is_exact(w) ? EXACT_PLAIN : EXACT_NONE;
    if (rnn_shape_of(w).pass == RNN_BWD_WEIGHT)
        return;
    inout->name = w->dtype == DTYPE_F32 ? "f32-recurrent" : "f16-f32-recurrent";
    inout->tolerance = w->dtype == DTYPE_F32 ? 2e-5 : 4e-3;
}

static const struct template *const templates[] = {&rnn_lanes, &rnn_plan, &rnn_wgrad, &rnn_naive, NULL};

const struct operator_desc operator_rnn = {
    .name = "rnn",
    .summary =
        "recurrent layers (LSTM, GRU in both forms, tanh, ReLU) over time: forward, backward data, weight gradient",
    .formula = "z = W x_t + bW + R h_t-1 + bR; lstm i f g o: c = f c + i tanh(g), h = o tanh(c)",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16,
    .check = check,
    .flops = flops,
    .flops_least = flops,
    .bytes_min = bytes_min,
    .tensors = tensors,
    .reference = rnn_reference,
    .templates = templates,
};
