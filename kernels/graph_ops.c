/* SPDX-License-Identifier: MIT */
#include "kernels/graph_ops.h"

#include "core/buf.h"
#include "core/err.h"
#include "kernels/epilogue.h"
#include "kernels/images.h"
#include "kernels/workload.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define STEPS (GRAPH_KEY(STRIDE_H) | GRAPH_KEY(TOP))
#define RELUS (GRAPH_WORD_RELU | GRAPH_WORD_RELU6 | GRAPH_WORD_CURVES | GRAPH_WORD_U8)

/* ---- shapes ---- */

int64_t graph_elems(const struct graph_shape *s)
{
    int64_t n = 1;

    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 1 || n > GRAPH_MAX_ELEMS / s->dim[i])
            return -1;
        n *= s->dim[i];
    }
    return n;
}

bool graph_same_shape(const struct graph_shape *a, const struct graph_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
}

void graph_shape_words(const struct graph_shape *s, char *out, size_t n)
{
    size_t at = 0;

    snprintf(out, n, "one number");
    for (int i = 0; i < s->rank && at < n; i++)
        at += (size_t)snprintf(out + at, n - at, "%s%lld", i ? " x " : "", (long long)s->dim[i]);
}

int64_t graph_stretch(const struct graph_shape *s, int from, int to)
{
    int64_t n = 1;

    for (int i = from; i < to; i++)
        n *= s->dim[i];
    return n;
}

bool graph_broadcast(const struct graph_shape *a, const struct graph_shape *b, struct graph_shape *out)
{
    const struct graph_shape *longer = a->rank >= b->rank ? a : b, *shorter = longer == a ? b : a;
    struct graph_shape to = *longer;

    for (int i = 0, at = longer->rank - shorter->rank; i < shorter->rank; i++, at++) {
        if (to.dim[at] != shorter->dim[i] && to.dim[at] != 1 && shorter->dim[i] != 1)
            return false;
        to.dim[at] = to.dim[at] == 1 ? shorter->dim[i] : to.dim[at];
    }
    *out = to;
    return true;
}

static enum err check_images(const struct graph_node *n, const struct graph_shape *x, struct why *why)
{
    char words[128];

    graph_shape_words(x, words, sizeof words);
    return x->rank == 4
               ? ERR_OK
               : why_set(why, ERR_INPUT, "%s reads images, of 4 dimensions, not %s", graph_op_name(n->op), words);
}

static enum err check_addend(const struct graph_node *n, const struct graph_shape *addend, struct why *why)
{
    char a[128], y[128];

    graph_shape_words(addend, a, sizeof a);
    graph_shape_words(&n->shape, y, sizeof y);
    return graph_same_shape(addend, &n->shape) ? ERR_OK
                                               : why_set(why, ERR_INPUT, "a tensor of %s cannot be added to %s", a, y);
}

static enum err given_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    (void)n;
    (void)in;
    (void)why;
    return ERR_OK;
}

static enum err shape_of_first(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    n->shape = *in[0];
    return n->n_in > 1 ? check_addend(n, in[1], why) : ERR_OK;
}

static int64_t extent(int64_t size, int64_t pads, int64_t window, int64_t dilation, int64_t stride)
{
    const int64_t room = size + pads - (window - 1) * dilation - 1;

    return room < 0 || stride < 1 || window < 1 || dilation < 1 ? 0 : room / stride + 1;
}

static enum err window_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    const int64_t *key = n->key, *x = in[0]->dim;
    const enum err e = check_images(n, in[0], why);

    if (e)
        return e;
    n->shape = *in[0];
    if (n->op == GRAPH_CONV2D)
        n->shape.dim[1] = key[GRAPH_K];
    n->shape.dim[2] =
        extent(x[2], key[GRAPH_TOP] + key[GRAPH_BOTTOM], key[GRAPH_R], key[GRAPH_DIL_H], key[GRAPH_STRIDE_H]);
    n->shape.dim[3] =
        extent(x[3], key[GRAPH_LEFT] + key[GRAPH_RIGHT], key[GRAPH_S], key[GRAPH_DIL_W], key[GRAPH_STRIDE_W]);
    if (n->shape.dim[2] < 1 || n->shape.dim[3] < 1)
        return why_set(why, ERR_INPUT, "a window of %lld x %lld and stride %lld,%lld does not fit %lld x %lld",
                       (long long)key[GRAPH_R], (long long)key[GRAPH_S], (long long)key[GRAPH_STRIDE_H],
                       (long long)key[GRAPH_STRIDE_W], (long long)x[2], (long long)x[3]);
    if (key[GRAPH_GROUPS] < 1 || x[1] % key[GRAPH_GROUPS] || n->shape.dim[1] % key[GRAPH_GROUPS])
        return why_set(why, ERR_INPUT, "groups=%lld do not divide %lld and %lld channels", (long long)key[GRAPH_GROUPS],
                       (long long)x[1], (long long)n->shape.dim[1]);
    return n->n_in > 1 ? check_addend(n, in[1], why) : ERR_OK;
}

static enum err dense_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    if (in[0]->rank < 2)
        return why_set(why, ERR_INPUT, "%s reads rows, of 2 dimensions or more", graph_op_name(n->op));
    n->shape = (struct graph_shape){2, {in[0]->dim[0], n->key[GRAPH_K]}};
    return n->n_in > 1 ? check_addend(n, in[1], why) : ERR_OK;
}

static enum err concat_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    struct graph_shape b = *in[1];

    n->shape = *in[0];
    if (n->shape.rank < 2 || b.rank != n->shape.rank)
        return why_set(why, ERR_INPUT, "concat joins two tensors of as many dimensions, 2 or more");
    b.dim[1] = n->shape.dim[1];
    if (check_addend(n, &b, why))
        return ERR_INPUT;
    n->shape.dim[1] += in[1]->dim[1];
    return ERR_OK;
}

static enum err softmax_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    n->shape = *in[0];
    return in[0]->rank > 1 ? ERR_OK : why_set(why, ERR_INPUT, "softmax reads rows, of 2 dimensions or more");
}

static enum err reduce_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    if (in[0]->rank != 3)
        return why_set(why, ERR_INPUT, "reduce reads tensors of 3 dimensions and takes away the second");
    n->shape = (struct graph_shape){2, {in[0]->dim[0], in[0]->dim[2]}};
    return ERR_OK;
}

static enum err reshape_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    char x[128], y[128];

    graph_shape_words(in[0], x, sizeof x);
    graph_shape_words(&n->shape, y, sizeof y);
    return graph_elems(in[0]) == graph_elems(&n->shape)
               ? ERR_OK
               : why_set(why, ERR_INPUT, "%s cannot be reshaped to %s: expected as many elements", x, y);
}

enum err graph_infer(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    const enum err e = graph_rules[n->op].shape(n, in, why);
    char words[128];

    if (e)
        return e;
    graph_shape_words(&n->shape, words, sizeof words);
    return n->shape.rank > 0 && n->shape.rank <= GRAPH_MAX_RANK && graph_elems(&n->shape) > 0
               ? ERR_OK
               : why_set(why, ERR_INPUT, "a tensor of %s: expected 1 to %lld elements", words,
                         (long long)GRAPH_MAX_ELEMS);
}

/* ---- sizes of workloads ---- */

static const struct graph_shape *read_by(const struct graph *g, size_t i)
{
    assert(i < g->n_nodes && g->nodes[i].n_in > 0 && g->nodes[i].in[0] < (int)i);
    return &g->nodes[g->nodes[i].in[0]].shape;
}

bool graph_gives_sums(const struct graph *g, size_t i)
{
    bool read = false;

    if (g->nodes[i].op != GRAPH_DENSE || g->nodes[i].bytes)
        return false;
    for (size_t k = i + 1; k < g->n_nodes; k++) {
        if (graph_reads(g, k, i) && g->nodes[k].op == GRAPH_SOFTMAX)
            return true;
        read = read || graph_reads(g, k, i);
    }
    return !read;
}

static const char *epilogue_of_node(const struct graph *g, size_t i, enum dtype t)
{
    const struct graph_node *n = &g->nodes[i];
    const unsigned add = dtype_is_bytes(t) ? EPILOGUE_JOIN : EPILOGUE_ADD;

    if (n->relu6 || n->curve) /* refused of bytes with the workload */
        return epilogue_word(EPILOGUE_BIAS | (n->n_in > 1 ? EPILOGUE_ADD : 0) | (n->relu6 ? EPILOGUE_RELU6 : n->curve));
    return epilogue_word(EPILOGUE_BIAS | (n->n_in > 1 ? add : 0) | (n->relu ? EPILOGUE_RELU : 0) |
                         (dtype_is_bytes(t) && !graph_gives_sums(g, i) ? EPILOGUE_REQUANT : 0));
}

/* "n=1 c=64 h=56 w=56" of a tensor; of one that is no images all behind its second dimension are rows. */
static void put_image(struct buf *b, const struct graph_shape *s)
{
    const bool images = s->rank == 4;

    buf_printf(b, " n=%lld c=%lld h=%lld w=%lld", (long long)s->dim[0], (long long)(s->rank > 1 ? s->dim[1] : 1),
               (long long)(images        ? s->dim[2]
                           : s->rank > 2 ? graph_stretch(s, 2, s->rank)
                                         : 1),
               (long long)(images ? s->dim[3] : 1));
}

static void put_window(struct buf *b, const struct graph_node *n)
{
    buf_printf(b, " r=%lld s=%lld stride=%lld,%lld pad=%lld,%lld,%lld,%lld", (long long)n->key[GRAPH_R],
               (long long)n->key[GRAPH_S], (long long)n->key[GRAPH_STRIDE_H], (long long)n->key[GRAPH_STRIDE_W],
               (long long)n->key[GRAPH_TOP], (long long)n->key[GRAPH_LEFT], (long long)n->key[GRAPH_BOTTOM],
               (long long)n->key[GRAPH_RIGHT]);
}

static void conv_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    const struct graph_node *n = &g->nodes[i];

    put_image(out, read_by(g, i));
    if (n->op == GRAPH_CONV2D)
        buf_printf(out, " k=%lld", (long long)n->key[GRAPH_K]);
    put_window(out, n);
    buf_printf(out, " dilation=%lld,%lld", (long long)n->key[GRAPH_DIL_H], (long long)n->key[GRAPH_DIL_W]);
    if (n->key[GRAPH_GROUPS] > 1)
        buf_printf(out, " groups=%lld", (long long)n->key[GRAPH_GROUPS]);
    buf_printf(out, " layout=%s epilogue=%s", images_layouts[layout], epilogue_of_node(g, i, t));
}

static void pool_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    (void)t;
    put_image(out, read_by(g, i));
    put_window(out, &g->nodes[i]);
    buf_printf(out, " kind=%s layout=%s", g->nodes[i].avg ? "avg" : "max", images_layouts[layout]);
}

static void dense_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    const struct graph_shape *x = read_by(g, i);

    (void)layout;
    buf_printf(out, " m=%lld n=%lld k=%lld epilogue=%s", (long long)x->dim[0], (long long)g->nodes[i].key[GRAPH_K],
               (long long)graph_stretch(x, 1, x->rank), epilogue_of_node(g, i, t));
}

static void add_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    (void)t;
    put_image(out, &g->nodes[i].shape);
    buf_printf(out, " layout=%s relu=%d", images_layouts[layout], g->nodes[i].relu ? 1 : 0);
}

static void concat_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    (void)t;
    put_image(out, read_by(g, i));
    buf_printf(out, " c2=%lld layout=%s", (long long)g->nodes[g->nodes[i].in[1]].shape.dim[1], images_layouts[layout]);
}

static void softmax_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    const struct graph_shape *s = &g->nodes[i].shape;

    (void)t;
    (void)layout;
    buf_printf(out, " m=%lld n=%lld", (long long)s->dim[0], (long long)graph_stretch(s, 1, s->rank));
}

static enum err norm_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    n->shape = *in[0];
    return in[0]->rank > 1 ? ERR_OK : why_set(why, ERR_INPUT, "norm reads rows, of 2 dimensions or more");
}

static void reduce_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    const struct graph_shape *x = read_by(g, i);

    (void)t;
    (void)layout;
    buf_printf(out, " outer=%lld n=%lld inner=%lld", (long long)x->dim[0], (long long)x->dim[1], (long long)x->dim[2]);
}

static enum err product_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    const int64_t *x = in[0]->dim, *w = in[1]->dim;
    char a[128], b[128];

    graph_shape_words(in[0], a, sizeof a);
    graph_shape_words(in[1], b, sizeof b);
    if (in[0]->rank != 3 || in[1]->rank != 3 || x[0] != w[0] || x[2] != w[2])
        return why_set(why, ERR_INPUT, "batch_gemm multiplies b x m x k by b x n x k, not %s by %s", a, b);
    n->shape = (struct graph_shape){3, {x[0], x[1], w[1]}};
    return ERR_OK;
}

static void product_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    const int64_t *y = g->nodes[i].shape.dim;

    (void)t;
    (void)layout;
    buf_printf(out, " b=%lld m=%lld n=%lld k=%lld", (long long)y[0], (long long)y[1], (long long)y[2],
               (long long)read_by(g, i)->dim[2]);
}

/* Of as many images and channels. */
static enum err resize_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    char x[128], y[128];

    graph_shape_words(in[0], x, sizeof x);
    graph_shape_words(&n->shape, y, sizeof y);
    return in[0]->rank == 4 && n->shape.rank == 4 && in[0]->dim[0] == n->shape.dim[0] &&
                   in[0]->dim[1] == n->shape.dim[1]
               ? ERR_OK
               : why_set(why, ERR_INPUT, "resize2d makes images of as many channels, of 4 dimensions, not %s of %s", y,
                         x);
}

static void resize_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    const int64_t *y = g->nodes[i].shape.dim;

    (void)t;
    put_image(out, read_by(g, i));
    buf_printf(out, " size=%lld,%lld layout=%s", (long long)y[2], (long long)y[3], images_layouts[layout]);
}

/* Tables of rows by numbers in any order. */
static enum err gather_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    char words[128];

    graph_shape_words(in[0], words, sizeof words);
    if (in[0]->rank != 3)
        return why_set(why, ERR_INPUT, "gather reads tables, of 3 dimensions, not %s", words);
    n->shape = (struct graph_shape){3, {in[0]->dim[0], graph_elems(in[1]), in[0]->dim[2]}};
    return ERR_OK;
}

static void gather_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    const struct graph_node *n = &g->nodes[i], *x = &g->nodes[n->in[0]];

    (void)t;
    (void)layout;
    buf_printf(out, " outer=%lld n=%lld m=%lld inner=%lld", (long long)x->shape.dim[0], (long long)x->shape.dim[1],
               (long long)n->shape.dim[1], (long long)x->shape.dim[2]);
    if (x->op == GRAPH_CONSTANT)
        buf_puts(out, " weights=x");
}

/* x[t,i,b], h0[1,h,b] and, of lstm, c0 the same; y[t,h,b]. */
static enum err rnn_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    const struct graph_shape *y = &n->shape;
    const bool lstm = !strstr(n->words, "cell=") || strstr(n->words, "cell=lstm");
    char h[32];

    if (in[0]->rank != 3 || y->rank != 3 || y->dim[0] != in[0]->dim[0] || y->dim[2] != in[0]->dim[2])
        return why_set(why, ERR_INPUT, "rnn reads t x i x b and gives t x h x b");
    snprintf(h, sizeof h, "h=%lld", (long long)y->dim[1]);
    if (!strstr(n->words, h) || strncmp(n->words, "l=", 2) == 0 || strstr(n->words, "pass=") || strstr(n->words, " l="))
        return why_set(why, ERR_INPUT, "rnn of a graph is one forward layer with %s as its shape has it", h);
    if (n->n_in != (lstm ? 3 : 2))
        return why_set(why, ERR_INPUT, "rnn reads x + h0, and c0 of lstm alone");
    for (int k = 1; k < n->n_in; k++)
        if (graph_elems(in[k]) != y->dim[1] * y->dim[2])
            return why_set(why, ERR_INPUT, "an initial state of rnn has h x b numbers");
    return ERR_OK;
}

static void rnn_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    const struct graph_shape *x = read_by(g, i);

    (void)t;
    (void)layout;
    buf_printf(out, " i=%lld b=%lld t=%lld", (long long)x->dim[1], (long long)x->dim[2], (long long)x->dim[0]);
}

/* hn, or cn of lstm, h x b; graph.c sees that it is of a recurrent layer. */
static enum err state_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    if (in[0]->rank != 3 || (strcmp(n->words, "hn") != 0 && strcmp(n->words, "cn") != 0))
        return why_set(why, ERR_INPUT, "state is hn or cn of a recurrent layer");
    n->shape = (struct graph_shape){2, {in[0]->dim[1], in[0]->dim[2]}};
    return ERR_OK;
}

static void quantize_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    (void)t;
    (void)layout;
    buf_printf(out, " n=%lld back=%d", (long long)graph_elems(&g->nodes[i].shape), !g->nodes[i].bytes);
}

/* Sizes of attention, [batch, heads, rows, numbers] of q, k, v and y whatever their order. */
struct attended {
    int64_t b, heads, q, k, d, dv, group;
};

static bool is_rows_first(const struct graph_node *n)
{
    const char *word = strstr(n->words, "layout=");

    return word && strncmp(word, "layout=blhd", strlen("layout=blhd")) == 0;
}

static struct attended attended_by(const struct graph_node *n, const struct graph_shape *const in[])
{
    const int heads = is_rows_first(n) ? 2 : 1, rows = 3 - heads;

    return (struct attended){.b = in[0]->dim[0],
                             .heads = in[0]->dim[heads],
                             .q = in[0]->dim[rows],
                             .k = in[1]->dim[rows],
                             .d = in[0]->dim[3],
                             .dv = in[2]->dim[3],
                             .group = in[1]->dim[heads] ? in[0]->dim[heads] / in[1]->dim[heads] : 0};
}

/* What a mask adds is shaped by its word; the workload's parser tells what else is wrong with the words. */
static bool fits_mask(const struct graph_node *n, const struct graph_shape *mask, const struct attended *a)
{
    const char *word = strstr(n->words, "mask=");
    struct graph_shape shape = {.rank = 0};

    for (const char *axis = word ? word + strlen("mask=") : "";
         *axis && strchr("bhqk", *axis) && shape.rank < GRAPH_MAX_RANK; axis++)
        shape.dim[shape.rank++] = *axis == 'b' ? a->b : *axis == 'h' ? a->heads : *axis == 'q' ? a->q : a->k;
    return mask ? graph_same_shape(mask, &shape) : shape.rank == 0;
}

bool graph_reads_lengths(const struct graph_node *n)
{
    return n->op == GRAPH_ATTENTION && strstr(n->words, "lengths=1");
}

static enum err attention_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    const int heads = is_rows_first(n) ? 2 : 1;
    struct attended a;

    if (in[0]->rank != 4 || in[1]->rank != 4 || in[2]->rank != 4)
        return why_set(why, ERR_INPUT, "attention reads queries, keys and values of 4 dimensions");
    a = attended_by(n, in);
    if (in[1]->dim[0] != a.b || in[2]->dim[0] != a.b || in[1]->dim[3] != a.d || in[2]->dim[3 - heads] != a.k ||
        in[1]->dim[heads] * a.group != a.heads || in[2]->dim[heads] != in[1]->dim[heads])
        return why_set(why, ERR_INPUT, "queries, keys and values of attention do not fit each other");
    if (graph_reads_lengths(n) && (n->n_in < 4 || in[n->n_in - 1]->rank != 1 || in[n->n_in - 1]->dim[0] != a.b))
        return why_set(why, ERR_INPUT, "attention of lengths=1 reads, last, as many lengths as its batch is large");
    if (!fits_mask(n, n->n_in > 3 + graph_reads_lengths(n) ? in[3] : NULL, &a))
        return why_set(why, ERR_INPUT, "attention adds a tensor of the axes that mask= names, and no other");
    n->shape = *in[0];
    n->shape.dim[3] = a.dv;
    return ERR_OK;
}

static void attention_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    const struct graph_node *n = &g->nodes[i];
    const struct graph_shape *in[3];
    struct attended a;

    (void)t;
    (void)layout;
    for (int k = 0; k < 3; k++)
        in[k] = &g->nodes[n->in[k]].shape;
    a = attended_by(n, in);
    buf_printf(out, " b=%lld heads=%lld q=%lld k=%lld d=%lld", (long long)a.b, (long long)a.heads, (long long)a.q,
               (long long)a.k, (long long)a.d);
    if (a.dv != a.d)
        buf_printf(out, " dv=%lld", (long long)a.dv);
    if (a.group > 1)
        buf_printf(out, " group=%lld", (long long)a.group);
}

/* All but the elements of x are own words. */
static void copy_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    (void)t;
    (void)layout;
    buf_printf(out, " x=%lld", (long long)graph_elems(read_by(g, i)));
}

const struct graph_rule graph_rules[N_GRAPH_OPS] = {
    [GRAPH_INPUT] = {.name = "input", .has_shape = true, .shape = given_shape},
    [GRAPH_CONV2D] = {.name = "conv2d",
                      .least_in = 1,
                      .most_in = 2,
                      .needs = GRAPH_KEY(K) | GRAPH_KEY(R) | GRAPH_KEY(S),
                      .takes = STEPS | GRAPH_KEY(DIL_H) | GRAPH_KEY(GROUPS),
                      .words = RELUS,
                      .blocks = true,
                      .shape = window_shape,
                      .sizes = conv_sizes},
    [GRAPH_DEPTHWISE] = {.name = "depthwise_conv2d",
                         .least_in = 1,
                         .most_in = 1,
                         .needs = GRAPH_KEY(R) | GRAPH_KEY(S),
                         .takes = STEPS | GRAPH_KEY(DIL_H),
                         .words = RELUS,
                         .blocks = true,
                         .shape = window_shape,
                         .sizes = conv_sizes},
    [GRAPH_POOL2D] = {.name = "pool2d",
                      .least_in = 1,
                      .most_in = 1,
                      .takes = GRAPH_KEY(R) | GRAPH_KEY(S) | STEPS,
                      .words = GRAPH_WORD_MAX | GRAPH_WORD_AVG | GRAPH_WORD_GLOBAL | GRAPH_WORD_U8,
                      .blocks = true,
                      .shape = window_shape,
                      .sizes = pool_sizes},
    [GRAPH_DENSE] = {.name = "dense",
                     .least_in = 1,
                     .most_in = 2,
                     .needs = GRAPH_KEY(K),
                     .words = RELUS,
                     .shape = dense_shape,
                     .sizes = dense_sizes},
    [GRAPH_DENSE4] = {.name = "dense4",
                      .least_in = 1,
                      .most_in = 2,
                      .needs = GRAPH_KEY(K),
                      .words = RELUS & ~GRAPH_WORD_U8,
                      .own_words = true,
                      .shape = dense_shape,
                      .sizes = dense_sizes},
    [GRAPH_ADD] = {.name = "add",
                   .least_in = 2,
                   .most_in = 2,
                   .words = GRAPH_WORD_RELU | GRAPH_WORD_U8,
                   .blocks = true,
                   .shape = shape_of_first,
                   .sizes = add_sizes},
    [GRAPH_CONCAT] = {.name = "concat",
                      .least_in = 2,
                      .most_in = 2,
                      .words = GRAPH_WORD_U8,
                      .blocks = true,
                      .shape = concat_shape,
                      .sizes = concat_sizes},
    [GRAPH_SOFTMAX] = {.name = "softmax", .least_in = 1, .most_in = 1, .shape = softmax_shape, .sizes = softmax_sizes},
    [GRAPH_GATHER] =
        {.name = "gather", .least_in = 2, .most_in = 2, .constants = 1, .shape = gather_shape, .sizes = gather_sizes},
    [GRAPH_ATTENTION] = {.name = "attention",
                         .least_in = 3,
                         .most_in = 5,
                         .own_words = true,
                         .shape = attention_shape,
                         .sizes = attention_sizes},
    [GRAPH_NORM] =
        {.name = "norm", .least_in = 1, .most_in = 1, .own_words = true, .shape = norm_shape, .sizes = softmax_sizes},
    [GRAPH_LENGTHS] = {.name = "lengths", .has_shape = true, .shape = given_shape},
    [GRAPH_CONSTANT] = {.name = "constant", .has_shape = true, .shape = given_shape},
    [GRAPH_ELTWISE] = {.name = "eltwise",
                       .least_in = 1,
                       .most_in = 4,
                       .constants = 4,
                       .own_words = true,
                       .blocks = true,
                       .shape = graph_eltwise_shape,
                       .sizes = graph_eltwise_sizes},
    [GRAPH_REDUCE] = {.name = "reduce",
                      .least_in = 1,
                      .most_in = 1,
                      .own_words = true,
                      .shape = reduce_shape,
                      .sizes = reduce_sizes},
    [GRAPH_RESHAPE] = {.name = "reshape",
                       .least_in = 1,
                       .most_in = 1,
                       .words = GRAPH_WORD_U8,
                       .has_shape = true,
                       .shape = reshape_shape},
    [GRAPH_RNN] = {.name = "rnn",
                   .least_in = 2,
                   .most_in = 3,
                   .has_shape = true,
                   .own_words = true,
                   .shape = rnn_shape,
                   .sizes = rnn_sizes},
    [GRAPH_STATE] = {.name = "state", .least_in = 1, .most_in = 1, .own_words = true, .shape = state_shape},
    [GRAPH_QUANTIZE] = {.name = "quantize",
                        .least_in = 1,
                        .most_in = 1,
                        .words = GRAPH_WORD_U8,
                        .blocks = true,
                        .shape = shape_of_first,
                        .sizes = quantize_sizes},
    [GRAPH_COPY] = {.name = "strided_copy",
                    .least_in = 1,
                    .most_in = 1,
                    .words = GRAPH_WORD_U8,
                    .has_shape = true,
                    .own_words = true,
                    .shape = given_shape,
                    .sizes = copy_sizes},
    [GRAPH_BATCH_GEMM] =
        {.name = "batch_gemm", .least_in = 2, .most_in = 2, .shape = product_shape, .sizes = product_sizes},
    [GRAPH_RESIZE] = {.name = "resize2d",
                      .least_in = 1,
                      .most_in = 1,
                      .has_shape = true,
                      .own_words = true,
                      .blocks = true,
                      .shape = resize_shape,
                      .sizes = resize_sizes},
};
