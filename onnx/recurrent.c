/* SPDX-License-Identifier: MIT */
/* recurrent.c - LSTM, GRU and RNN: a layer rnn for each direction, whose batch is the fastest axis; reversed sequences
 * are read and written backwards, those of several lengths each from its own end. */
#include "onnx/model.h"
#include "onnx/views.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MOST_GATES 4

/* A kind of cell: its word, and for each gate of the layer's weights which one it is in ONNX's. */
static const struct kind {
    const char *op, *word;
    int n_gates, from[MOST_GATES];
    bool has_c;
} kinds[] = {
    {"LSTM", "lstm", 4, {0, 2, 3, 1}, true}, /* i f g o of i o f c */
    {"GRU", "gru", 3, {1, 0, 2}, false},     /* r i n of z r h */
    {"RNN", "tanh", 1, {0}, false},
};

/* The node at hand. */
struct recurrent {
    struct onnx_import *m;
    const Onnx__NodeProto *node;
    const struct kind *kind;
    const char *word;
    int64_t t, b, i, h, dirs;
    bool backward; /* of one direction */
    bool batch_first;
    bool has_lengths;
    struct onnx_value lengths; /* of each sequence, an activation */
    Onnx__NodeProto part;      /* what other operators take for the node: with one output, which is wanted */
    struct onnx_value *turned; /* with lengths: which step of all sequences stands where, backwards */
};

static bool is_word(const Onnx__AttributeProto *a, size_t k, const char *word)
{
    return a->strings[k].len == strlen(word) && memcmp(a->strings[k].data, word, strlen(word)) == 0;
}

static bool is_direction(const Onnx__AttributeProto *a, const char *word)
{
    return a && a->s.len == strlen(word) && memcmp(a->s.data, word, a->s.len) == 0;
}

/* Activations are those that the operator has by itself; of RNN all Relu, too. */
static bool read_activations(struct recurrent *r)
{
    static const char *const usual[][3] = {
        {"Sigmoid", "Tanh", "Tanh"}, {"Sigmoid", "Tanh", NULL}, {"Tanh", NULL, NULL}};
    const Onnx__AttributeProto *a = onnx_attribute(r->node, "activations");
    const size_t kind = (size_t)(r->kind - kinds), each = 3 - kind;
    bool relu = kind == 2 && a && a->n_strings == (size_t)r->dirs, fits = !a || a->n_strings == each * (size_t)r->dirs;

    for (size_t k = 0; a && k < a->n_strings && fits; k++) {
        relu = relu && is_word(a, k, "Relu");
        fits = relu || is_word(a, k, usual[kind][k % each]);
    }
    r->word = relu ? "relu" : r->kind->word;
    if (kind == 1 && onnx_attribute_int(r->node, "linear_before_reset", 0) == 0)
        r->word = "gru_reset";
    return fits;
}

static bool is_shape(const struct onnx_value *v, int rank, const int64_t *dim)
{
    return v->shape.rank == rank && memcmp(v->shape.dim, dim, (size_t)rank * sizeof *dim) == 0;
}

/* Are all sequences as long as the input? */
static bool full_length(const struct recurrent *r, const struct onnx_value *lengths)
{
    bool full = !lengths || lengths->kind == ONNX_CONSTANT;

    for (int64_t k = 0; lengths && full && k < r->b; k++)
        full = onnx_at(lengths, k) >= (double)r->t && onnx_at(lengths, k) <= (double)r->t;
    return full;
}

static bool is_constant_of(const struct onnx_value *v, int rank, const int64_t *dim)
{
    return v && v->kind == ONNX_CONSTANT && is_shape(v, rank, dim);
}

/* False: m->failed, or words. */
static bool read_lengths(struct recurrent *r)
{
    const struct onnx_value *c = onnx_out(r->m, r->node, 2);
    struct onnx_value *v = onnx_in(r->m, r->node, 4);

    if (v && onnx_shape_elems(&v->shape) != r->b)
        return onnx_refuse(r->m, "expected a length for each sequence"), false;
    if (full_length(r, v))
        return true;
    if (c && c->n_readers && r->kind->has_c)
        return onnx_refuse(r->m, "the cell behind sequences of several lengths (Y_c)"), false;
    for (size_t k = 0; k < r->node->n_output && r->part.n_output == 0; k++)
        if (onnx_out(r->m, r->node, k)) {
            r->part = *r->node;
            r->part.output += k;
            r->part.n_output = 1;
        }
    if (r->part.n_output == 0)
        return onnx_refuse(r->m, "it has no output"), false;
    if (v->kind == ONNX_CONSTANT ? !onnx_as_activation(r->m, v, &r->lengths) : !onnx_dense(r->m, v))
        return false;
    r->lengths = v->kind == ONNX_CONSTANT ? r->lengths : *v;
    r->has_lengths = true;
    if (r->backward || r->dirs == 2)
        r->turned = onnx_steps_turned(r->m, &r->part, v, r->t, 0);
    return r->turned || !(r->backward || r->dirs == 2);
}

/* False with words. */
static bool read_node(struct recurrent *r)
{
    const Onnx__NodeProto *n = r->node;
    const Onnx__AttributeProto *direction = onnx_attribute(n, "direction");
    const struct onnx_value *x = onnx_in(r->m, n, 0), *w = onnx_in(r->m, n, 1), *b = onnx_in(r->m, n, 3);
    const struct onnx_value *rec = onnx_in(r->m, n, 2);
    int64_t rows;

    r->batch_first = onnx_attribute_int(n, "layout", 0) != 0;
    r->dirs = is_direction(direction, "bidirectional") ? 2 : 1;
    r->backward = is_direction(direction, "reverse");
    if (!onnx_is_activation(x) || x->shape.rank != 3 || !w || w->shape.rank != 3 || !rec || rec->shape.rank != 3)
        return onnx_refuse(r->m, "expected sequences as input, weights of 3 dimensions"), false;
    r->t = x->shape.dim[r->batch_first];
    r->b = x->shape.dim[!r->batch_first];
    r->i = x->shape.dim[2];
    r->h = rec->shape.dim[2];
    rows = r->kind->n_gates * r->h;
    if (!is_constant_of(w, 3, (const int64_t[]){r->dirs, rows, r->i}) ||
        !is_constant_of(rec, 3, (const int64_t[]){r->dirs, rows, r->h}) ||
        (b && !is_constant_of(b, 2, (const int64_t[]){r->dirs, 2 * rows})))
        return onnx_refuse(r->m, "expected constant weights and biases that fit the input"), false;
    if (!read_activations(r))
        return onnx_refuse(r->m, "activations other than its usual ones"), false;
    if (onnx_attribute(n, "clip") || onnx_attribute_int(n, "input_forget", 0))
        return onnx_refuse(r->m, "clip or input_forget"), false;
    if (onnx_in(r->m, n, 7))
        return onnx_refuse(r->m, "peepholes"), false;
    return read_lengths(r);
}

/* ---- weights ---- */

/* Rows of `width` of direction d, gate by gate in the layer's order; NULL: m->failed. */
static double *gates_of(const struct recurrent *r, const struct onnx_value *v, int64_t d, int64_t at, int64_t total,
                        int64_t width)
{
    const int64_t each = r->h * width;
    double *out = onnx_memory_take(&r->m->file.memory, (size_t)(r->kind->n_gates * each) * sizeof *out);

    assert(r->kind->n_gates <= MOST_GATES && d < r->dirs);
    if (!out)
        r->m->failed = ERR_LIMIT;
    for (int g = 0; out && v && g < r->kind->n_gates; g++)
        for (int64_t k = 0; k < each; k++)
            out[g * each + k] = onnx_at(v, d * total + at + r->kind->from[g] * each + k);
    return out;
}

static void give_weights(const struct recurrent *r, struct onnx_layer *l, int64_t d)
{
    const int64_t rows = r->kind->n_gates * r->h;
    const struct onnx_value *b = onnx_in(r->m, r->node, 3);
    struct onnx_named *list = onnx_memory_take(&r->m->file.memory, 4 * sizeof *list);

    if (!list) {
        r->m->failed = ERR_LIMIT;
        return;
    }
    list[0] = (struct onnx_named){"w", rows * r->i, gates_of(r, onnx_in(r->m, r->node, 1), d, 0, rows * r->i, r->i)};
    list[1] = (struct onnx_named){"r", rows * r->h, gates_of(r, onnx_in(r->m, r->node, 2), d, 0, rows * r->h, r->h)};
    list[2] = (struct onnx_named){"bias", 2 * rows, onnx_memory_take(&r->m->file.memory, (size_t)(2 * rows) * 8)};
    for (int half = 0; half < 2 && list[2].v && b; half++) {
        const double *v = gates_of(r, b, d, half * rows, 2 * rows, 1);

        if (v)
            memcpy(&list[2].v[half * rows], v, (size_t)rows * sizeof *v);
    }
    if (!list[2].v)
        r->m->failed = ERR_LIMIT;
    l->named = list;
    l->n_w = list[0].n + list[1].n + list[2].n;
}

/* ---- inputs ---- */

/* An axis of a view backwards. */
static void turn_over(struct onnx_view *s, int axis)
{
    s->at += (s->shape.dim[axis] - 1) * s->stride[axis];
    s->stride[axis] = -s->stride[axis];
}

/* Steps of a layer [t][b][n], those of each sequence backwards, as [t][n][b]; -1: m->failed, or words. */
static int turned_steps(const struct recurrent *r, int layer, int64_t n)
{
    const struct graph_shape shape = {3, {r->t, r->b, n}};
    struct onnx_value rows = {.name = r->part.output[0], .n_readers = 1};
    struct onnx_view s;

    onnx_make_activation(&rows, layer, &(struct graph_shape){2, {r->t * r->b, n}});
    if (onnx_gather_rows(r->m, &r->part, &rows, r->turned, 0) == ONNX_UNSUPPORTED || r->m->failed)
        return -1;
    rows = *onnx_out(r->m, &r->part, 0);
    rows.shape = shape;
    onnx_view_of(&rows, &s);
    onnx_view_permute(&s, (const int[]){0, 2, 1});
    return onnx_view_layer(r->m, &rows, &s, &s.shape);
}

/* x as [t][i][b], backwards for the second direction; -1: m->failed, or words. */
static int sequence(const struct recurrent *r, bool backward)
{
    const bool turns = backward && r->has_lengths;
    const struct onnx_value *x = onnx_in(r->m, r->node, 0);
    struct onnx_view s;
    int i;

    onnx_view_of(x, &s);
    if (backward && !turns)
        turn_over(&s, r->batch_first);
    onnx_view_permute(&s, r->batch_first ? (const int[]){1, 0, 2} : (const int[]){0, 1, 2});
    if (!turns)
        onnx_view_permute(&s, (const int[]){0, 2, 1});
    i = onnx_view_layer(r->m, x, &s, &s.shape);
    return turns && i >= 0 ? turned_steps(r, i, r->i) : i;
}

static const char zeros_name[] = "zeros";

/* Zeros as an activation, the same for all that want some of a shape; -1: m->failed, or words. */
static int zeros_of(struct onnx_import *m, const struct graph_shape *shape)
{
    struct onnx_value *zeros, v;

    for (size_t i = 0; i < m->n_layers; i++) {
        const struct graph_node *n = &m->layers[i].node;
        const struct onnx_value *w = n->op == GRAPH_ELTWISE ? m->layers[n->in[0]].w : NULL;

        if (w && w->name == zeros_name && graph_same_shape(&n->shape, shape))
            return (int)i;
    }
    zeros = onnx_new_constant(m, zeros_name, shape, true);
    return zeros && onnx_as_activation(m, zeros, &v) ? v.i_layer : -1;
}

/* The initial state of a direction, input i or zeros, as [1][h][b]; -1: m->failed, or words. */
static int state(const struct recurrent *r, size_t i, int64_t d)
{
    const struct graph_shape shape = {3, {1, r->h, r->b}};
    const struct onnx_value *given = onnx_in(r->m, r->node, i);
    struct onnx_value v;
    struct onnx_view s;

    if (!given)
        return zeros_of(r->m, &shape);
    if (!is_shape(given, 3,
                  r->batch_first ? (const int64_t[]){r->b, r->dirs, r->h} : (const int64_t[]){r->dirs, r->b, r->h}))
        return onnx_refuse(r->m, "an initial state that does not fit"), -1;
    if (given->kind == ONNX_CONSTANT && !onnx_as_activation(r->m, given, &v))
        return -1;
    given = given->kind == ONNX_CONSTANT ? &v : given;
    onnx_view_of(given, &s);
    if (r->batch_first)
        onnx_view_permute(&s, (const int[]){1, 0, 2});
    s.at += d * s.stride[0];
    s.shape.dim[0] = 1;
    onnx_view_permute(&s, (const int[]){0, 2, 1});
    return onnx_view_layer(r->m, given, &s, &shape);
}

/* ---- outputs ---- */

/* The layer of a direction. */
static int direction(const struct recurrent *r, int64_t d)
{
    const bool backward = r->backward || d == 1;
    int in[3] = {sequence(r, backward), -1, -1}, i;
    const int n_in = r->kind->has_c ? 3 : 2;
    struct onnx_layer *l;

    for (int k = 1; k < n_in && in[k - 1] >= 0; k++)
        in[k] = state(r, (size_t)(4 + k), d);
    i = in[n_in - 1] < 0 ? -1 : onnx_new_layer(r->m, r->node, GRAPH_RNN, in[0]);
    if (i < 0)
        return -1;
    l = &r->m->layers[i];
    memcpy(l->node.in, in, sizeof in);
    l->node.n_in = n_in;
    l->node.shape = (struct graph_shape){3, {r->t, r->h, r->b}};
    snprintf(l->node.words, sizeof l->node.words, "cell=%s h=%lld", r->word, (long long)r->h);
    give_weights(r, l, d);
    return i;
}

/* Rows of both directions one behind the other, [steps][direction][h][b], those of the second turned to the sequence's
 * order; -1: m->failed, or words. */
static int joined(const struct recurrent *r, const int *layers, int64_t steps)
{
    const struct graph_shape shape = {3, {steps, r->h, r->b}}, rows = {2, {steps, r->h * r->b}};
    int made[2] = {-1, -1}, i;

    for (int d = 0; d < 2; d++) {
        struct onnx_value v = {.name = r->node->output[0], .n_readers = 1};
        struct onnx_view s;

        onnx_make_activation(&v, layers[d], &shape);
        onnx_view_of(&v, &s);
        if (d == 1 && !r->has_lengths)
            turn_over(&s, 0);
        made[d] = onnx_view_layer(r->m, &v, &s, &rows);
        if (made[d] < 0)
            return -1;
    }
    i = onnx_new_layer(r->m, r->node, GRAPH_CONCAT, made[0]);
    if (i >= 0) {
        r->m->layers[i].node.in[r->m->layers[i].node.n_in++] = made[1];
        r->m->layers[i].node.shape = (struct graph_shape){2, {steps, 2 * r->h * r->b}};
    }
    return i;
}

/* A layer [t][h][b] with 0 in the place of what `text` says of a, the step, and b, the length of its sequence. */
static bool chosen_steps(const struct recurrent *r, int layer, const char *text, struct onnx_value *out)
{
    const struct graph_shape shape = {3, {r->t, r->h, r->b}};
    struct onnx_value all = {.name = r->part.output[0], .n_readers = 1}, lengths = r->lengths;
    struct onnx_value *step = onnx_new_constant(r->m, all.name, &(struct graph_shape){3, {r->t, 1, 1}}, false);

    for (int64_t k = 0; step && k < r->t; k++)
        step->v[k] = (double)k;
    lengths.shape = (struct graph_shape){1, {r->b}};
    onnx_make_activation(&all, layer, &shape);
    if (!step || onnx_eltwise_values(r->m, &r->part, text, (const struct onnx_value *const[]){step, &lengths, &all}, 3,
                                     0) == ONNX_UNSUPPORTED)
        return false;
    *out = *onnx_out(r->m, &r->part, 0);
    out->n_readers = 1;
    return !r->m->failed;
}

/* The steps of sequences of several lengths, in their order, of a layer [t][h][b]; 0 behind them. -1: m->failed, or
 * words. */
static int steps_of(const struct recurrent *r, int layer, bool backward)
{
    struct onnx_value v;
    struct onnx_view s;
    int i;

    if (!chosen_steps(r, layer, "where(less(a,b),c,0)", &v))
        return -1;
    if (!backward)
        return v.i_layer;
    onnx_view_of(&v, &s);
    onnx_view_permute(&s, (const int[]){0, 2, 1});
    i = onnx_view_layer(r->m, &v, &s, &s.shape);
    return i < 0 ? -1 : turned_steps(r, i, r->h);
}

/* The state [h][b] behind the last step of each sequence: the sum of all that are 0 but that one. */
static int last_step(const struct recurrent *r, int layer)
{
    struct onnx_value v;

    if (!chosen_steps(r, layer, "where(equal(add(a,1),b),c,0)", &v) ||
        onnx_reduce_axes(r->m, &r->part, &v, "sum", 1) == ONNX_UNSUPPORTED || r->m->failed)
        return -1;
    v = *onnx_out(r->m, &r->part, 0);
    return onnx_layer_as(r->m, &v, &(struct graph_shape){2, {r->h, r->b}});
}

/* The state [h][b] behind the last step. */
static int state_behind(const struct recurrent *r, int layer, const char *words)
{
    const int i = onnx_new_layer(r->m, r->node, GRAPH_STATE, layer);

    if (i >= 0) {
        strcpy(r->m->layers[i].node.words, words);
        r->m->layers[i].node.shape = (struct graph_shape){2, {r->h, r->b}};
    }
    return i;
}

/* Output k of the node: all steps, or a state behind the last one. */
static enum onnx_role give(const struct recurrent *r, size_t k, const int *layers)
{
    const int64_t steps = k ? 1 : r->t;
    struct graph_shape shape = {4, {steps, r->dirs, r->h, r->b}};
    struct onnx_value v = {.name = r->node->output[k], .n_readers = 1};
    int of[2] = {layers[0], layers[1]}, i;
    struct onnx_view s;

    for (int64_t d = 0; d < r->dirs; d++) {
        if (r->has_lengths)
            of[d] = k ? last_step(r, layers[d]) : steps_of(r, layers[d], r->backward || d == 1);
        else if (k)
            of[d] = state_behind(r, layers[d], k == 1 ? "hn" : "cn");
        if (of[d] < 0)
            return r->m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    }
    i = r->dirs == 2 ? joined(r, of, steps) : of[0];
    if (i < 0)
        return r->m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    if (k > 0)
        shape = (struct graph_shape){3, {r->dirs, r->h, r->b}};
    onnx_make_activation(&v, i, &shape);
    onnx_view_of(&v, &s);
    if (r->backward && k == 0 && !r->has_lengths)
        turn_over(&s, 0);
    if (k > 0)
        onnx_view_permute(&s, r->batch_first ? (const int[]){2, 0, 1} : (const int[]){0, 2, 1});
    else
        onnx_view_permute(&s, r->batch_first ? (const int[]){3, 0, 1, 2} : (const int[]){0, 1, 3, 2});
    return onnx_give(r->m, r->node, k, &v, &s);
}

enum onnx_role onnx_recurrent(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct recurrent r = {.m = m, .node = node, .kind = kinds};
    int layers[2] = {-1, -1};

    while (strcmp(r.kind->op, node->op_type) != 0)
        r.kind++;
    if (!read_node(&r))
        return ONNX_UNSUPPORTED;
    for (int64_t d = 0; d < r.dirs; d++)
        if ((layers[d] = direction(&r, d)) < 0)
            return m->failed ? ONNX_TUNED : ONNX_UNSUPPORTED;
    for (size_t k = r.kind->has_c && !r.has_lengths ? 3 : 2;
         k-- > 0 && !m->failed;) /* the first is used until it is given */
        if (onnx_out(m, node, k) && give(&r, k, layers) == ONNX_UNSUPPORTED)
            return ONNX_UNSUPPORTED;
    return ONNX_TUNED;
}
