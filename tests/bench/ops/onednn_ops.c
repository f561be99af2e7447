/* SPDX-License-Identifier: MIT */
/* onednn_ops.c - oneDNN as a peer: convolution, matmul, inner product, recurrent cells. Weights are brought into its
 * favourite layout beforehand; activations too in the blocked form. */
#include "tests/bench/ops/onednn.h"

#include "kernels/epilogue.h"

#include <stdio.h>
#include <string.h>

/* reorder: blocked inside, plain outside, what is between them timed */
enum form { FORM_PLAIN, FORM_BLOCKED, FORM_REORDER, FORM_S8 };

/* Row-major, by number of dimensions. */
static const dnnl_format_tag_t plain_tags[] = {0, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde};

/* What follows the sums of bytes here: biases, ReLU, requantisation; oneDNN does the same with one zero point, 0. */
static unsigned after_sums(const struct task *t)
{
    return dtype_is_bytes(t->workload.dtype) && t->kind == TASK_CONV ? epilogue_of(&t->workload) : 0;
}

static enum err whole_types(const struct task *t, enum form form, dnnl_data_type_t *x, dnnl_data_type_t *y)
{
    const bool whole = dtype_is_bytes(t->workload.dtype);
    const dnnl_data_type_t type = dnn_type(t->workload.dtype);

    *x = whole && form != FORM_S8 ? dnnl_u8 : type;
    *y = whole && !(after_sums(t) & EPILOGUE_REQUANT) ? dnnl_s32 : type;
    return form == FORM_S8 && t->workload.dtype != DTYPE_I8 ? ERR_UNSUPPORTED : ERR_OK;
}

static void name_it(struct contender *out, const struct task *t, const char *what, enum form form)
{
    static const struct {
        const char *words, *x;
        enum contender_class class;
    } names[] = {[FORM_PLAIN] = {"plain", "u8", CLASS_PLAIN},
                 [FORM_BLOCKED] = {"blocked", "u8", CLASS_BLOCKED},
                 [FORM_REORDER] = {"reordered", "u8", CLASS_PLAIN},
                 [FORM_S8] = {"blocked", "s8", CLASS_BASELINE}};
    const bool whole = dtype_is_bytes(t->workload.dtype), last = whole && t->kind == TASK_CONV && form == FORM_PLAIN;
    const unsigned after = after_sums(t);

    out->class = last ? CLASS_BLOCKED : names[form].class; /* channels last is nobody's nchw */
    snprintf(out->name, sizeof out->name, "oneDNN%s %s%s%s%s%s", what, last ? "channels last" : names[form].words,
             whole ? " " : "", whole ? names[form].x : "", whole ? "s8" : "",
             !whole                          ? ""
             : !(after & EPILOGUE_REQUANT)   ? "s32"
             : t->workload.dtype == DTYPE_U8 ? "u8"
                                             : "s8");
}

/* x, w and y of a primitive whose descriptor exists, from the task's data. */
static enum err three_args(struct dnn *d, dnnl_memory_desc_t x, dnnl_memory_desc_t w, dnnl_memory_desc_t y,
                           struct contender *out, struct why *why)
{
    enum err e = dnn_arg(d, DNNL_ARG_SRC, dnnl_query_src_md, 0, x, d->task->x, why);

    if (!e)
        e = dnn_arg(d, DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0, w, d->task->w, why);
    if (!e)
        e = dnn_arg(d, DNNL_ARG_DST, dnnl_query_dst_md, 0, y, NULL, why);
    return e ? e : dnn_finish(d, out, why);
}

static enum err conv(const struct task *t, enum form form, struct contender *out, struct why *why)
{
    const struct conv_sizes *s = &t->conv;
    const bool grouped = s->groups > 1, whole = dtype_is_bytes(t->workload.dtype);
    const unsigned after = after_sums(t);
    const int64_t x[] = {s->n, s->c, s->h, s->w}, y[] = {s->n, s->k, s->p, s->q};
    const int64_t w[] = {s->groups, s->k / s->groups, s->c / s->groups, s->r, s->s}; /* one group: without the first */
    const int64_t *w_dims = grouped ? w : w + 1;
    const int n_w = grouped ? 5 : 4;
    const dnnl_dims_t stride = {s->stride[0], s->stride[1]}, begin = {s->pad[0], s->pad[1]};
    const dnnl_dims_t end = {s->pad[2], s->pad[3]}, dilation = {s->dilation[0] - 1, s->dilation[1] - 1};
    const dnnl_format_tag_t tag = form != FORM_PLAIN ? dnnl_format_tag_any : whole ? dnnl_nhwc : dnnl_nchw;
    dnnl_data_type_t x_type, y_type;
    struct dnn *d;
    enum err e = whole_types(t, form, &x_type, &y_type);

    name_it(out, t, "", form);
    if (!e)
        e = dnn_begin(t, out, &d, why);
    if (!e && (after & (EPILOGUE_ADD | EPILOGUE_JOIN)))
        e = why_set(why, ERR_UNSUPPORTED, "not compared here");
    if (!e && (after & EPILOGUE_REQUANT))
        e = dnn_requantised(d, grouped ? 2 : 1, after & EPILOGUE_RELU, why);
    if (!e)
        e = dnn_status(dnnl_convolution_forward_primitive_desc_create(
                           &d->pd, d->engine, dnnl_forward_inference, dnnl_convolution_auto,
                           dnn_desc(d, 4, x, x_type, tag),
                           dnn_desc(d, n_w, w_dims, dnn_type(dtype_of_weights(t->workload.dtype)), dnnl_format_tag_any),
                           after & EPILOGUE_BIAS ? dnn_desc(d, 1, &s->k, dnnl_f32, dnnl_a) : NULL,
                           dnn_desc(d, 4, y, y_type, tag), stride, dilation, begin, end, d->attr),
                       "convolution", why);
    if (!e && (after & EPILOGUE_BIAS))
        e = dnn_arg(d, DNNL_ARG_BIAS, dnnl_query_weights_md, 1, NULL, NULL, why);
    if (!e && (after & EPILOGUE_REQUANT))
        e = dnn_scales(d, s->k, why);
    if (!e)
        e = three_args(d, dnn_desc(d, 4, x, dnnl_f32, dnnl_nchw), dnn_desc(d, n_w, w_dims, dnnl_f32, plain_tags[n_w]),
                       dnn_desc(d, 4, y, dnnl_f32, dnnl_nchw), out, why);
    if (!e && form == FORM_REORDER)
        e = dnn_reorders(d, dnn_desc(d, 4, x, x_type, dnnl_nchw), dnn_desc(d, 4, y, y_type, dnnl_nchw), why);
    return e;
}

/* y[b,m,n] = x[b,m,k] w[b,n,k]^T; without the first dimension when b == 1. */
static enum err matmul(const struct task *t, enum form form, struct contender *out, struct why *why)
{
    const struct gemm_sizes *s = &t->gemm;
    const int64_t x[] = {s->b, s->m, s->k}, w[] = {s->b, s->k, s->n}, y[] = {s->b, s->m, s->n};
    const int n = s->b > 1 ? 3 : 2, from = s->b > 1 ? 0 : 1;
    const dnnl_format_tag_t tag = form == FORM_PLAIN ? plain_tags[n] : dnnl_format_tag_any;
    const dnnl_format_tag_t turned = n == 3 ? dnnl_acb : dnnl_ba;
    /* w of a batch_gemm is an activation: it stays as it is in the plain form */
    const dnnl_format_tag_t w_tag = form == FORM_PLAIN && !s->shared_w ? turned : dnnl_format_tag_any;
    dnnl_data_type_t x_type, y_type;
    struct dnn *d;
    enum err e = whole_types(t, form, &x_type, &y_type);

    name_it(out, t, "", form);
    if (!e)
        e = dnn_begin(t, out, &d, why);
    if (!e)
        e = dnn_status(dnnl_matmul_primitive_desc_create(
                           &d->pd, d->engine, dnn_desc(d, n, x + from, x_type, tag),
                           dnn_desc(d, n, w + from, dnn_type(dtype_of_weights(t->workload.dtype)), w_tag), NULL,
                           dnn_desc(d, n, y + from, y_type, tag), NULL),
                       "matmul", why);
    return e ? e
             : three_args(d, dnn_desc(d, n, x + from, dnnl_f32, plain_tags[n]),
                          dnn_desc(d, n, w + from, dnnl_f32, turned), dnn_desc(d, n, y + from, dnnl_f32, plain_tags[n]),
                          out, why);
}

static enum err inner_product(const struct task *t, enum form form, struct contender *out, struct why *why)
{
    const struct gemm_sizes *s = &t->gemm;
    const int64_t x[] = {s->m, s->k}, w[] = {s->n, s->k}, y[] = {s->m, s->n};
    const dnnl_format_tag_t tag = form == FORM_PLAIN ? dnnl_ab : dnnl_format_tag_any;
    dnnl_data_type_t x_type, y_type;
    struct dnn *d;
    enum err e = whole_types(t, form, &x_type, &y_type);

    name_it(out, t, " inner product,", form);
    if (!e && (t->kind != TASK_GEMM || !s->shared_w))
        e = ERR_UNSUPPORTED;
    if (!e)
        e = dnn_begin(t, out, &d, why);
    if (!e)
        e = dnn_status(dnnl_inner_product_forward_primitive_desc_create(
                           &d->pd, d->engine, dnnl_forward_inference, dnn_desc(d, 2, x, x_type, tag),
                           dnn_desc(d, 2, w, dnn_type(dtype_of_weights(t->workload.dtype)), dnnl_format_tag_any), NULL,
                           dnn_desc(d, 2, y, y_type, tag), NULL),
                       "inner product", why);
    return e ? e
             : three_args(d, dnn_desc(d, 2, x, dnnl_f32, dnnl_ab), dnn_desc(d, 2, w, dnnl_f32, dnnl_ab),
                          dnn_desc(d, 2, y, dnnl_f32, dnnl_ab), out, why);
}

/* The descriptors of a recurrent layer. */
struct cell {
    dnnl_memory_desc_t x, w, r, bias, y, state;
};

static enum err cell_primitive(struct dnn *d, const struct cell *c, struct why *why)
{
    const struct rnn_sizes *s = &d->task->rnn;
    const dnnl_rnn_direction_t direction = dnnl_unidirectional_left2right;
    const dnnl_prop_kind_t kind = dnnl_forward_inference;

    if (strcmp(s->cell, "lstm") == 0)
        return dnn_status(dnnl_lstm_forward_primitive_desc_create(&d->pd, d->engine, kind, direction, c->x, c->state,
                                                                  c->state, c->w, c->r, NULL, NULL, c->bias, c->y,
                                                                  c->state, c->state, 0, NULL),
                          "lstm", why);
    if (strcmp(s->cell, "gru") == 0)
        return dnn_status(dnnl_lbr_gru_forward_primitive_desc_create(&d->pd, d->engine, kind, direction, c->x, c->state,
                                                                     c->w, c->r, c->bias, c->y, c->state, 0, NULL),
                          "lbr_gru", why);
    return dnn_status(dnnl_vanilla_rnn_forward_primitive_desc_create(
                          &d->pd, d->engine, kind, strcmp(s->cell, "relu") == 0 ? dnnl_eltwise_relu : dnnl_eltwise_tanh,
                          direction, c->x, c->state, c->w, c->r, c->bias, c->y, c->state, 0, 0, 0, NULL),
                      "vanilla_rnn", why);
}

/* Weights are the task's, in whatever order its gates are: times do not depend on it, so nobody compares outputs. */
static enum err cell_args(struct dnn *d, const struct cell *plain, struct why *why)
{
    const bool lstm = d->task->rnn.gates == 4;
    const struct {
        int arg;
        dnnl_query_t what;
        int index;
        dnnl_memory_desc_t plain;
        const float *data;
        bool there;
    } list[] = {
        {DNNL_ARG_SRC_LAYER, dnnl_query_src_md, 0, plain->x, d->task->x, true},
        {DNNL_ARG_SRC_ITER, dnnl_query_src_md, 1, NULL, NULL, true},
        {DNNL_ARG_SRC_ITER_C, dnnl_query_src_md, 2, NULL, NULL, lstm},
        {DNNL_ARG_WEIGHTS_LAYER, dnnl_query_weights_md, 0, plain->w, d->task->w, true},
        {DNNL_ARG_WEIGHTS_ITER, dnnl_query_weights_md, 1, plain->r, d->task->w, true},
        {DNNL_ARG_BIAS, dnnl_query_weights_md, 2, NULL, NULL, true},
        {DNNL_ARG_DST_LAYER, dnnl_query_dst_md, 0, NULL, NULL, true},
        {DNNL_ARG_DST_ITER, dnnl_query_dst_md, 1, NULL, NULL, true},
        {DNNL_ARG_DST_ITER_C, dnnl_query_dst_md, 2, NULL, NULL, lstm},
    };
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < sizeof list / sizeof list[0]; i++)
        if (list[i].there)
            e = dnn_arg(d, list[i].arg, list[i].what, list[i].index, list[i].plain, list[i].data, why);
    return e;
}

static enum err recurrent(const struct task *t, enum form form, struct contender *out, struct why *why)
{
    const struct rnn_sizes *s = &t->rnn;
    const int64_t x[] = {s->t, s->b, s->i}, y[] = {s->t, s->b, s->h}, state[] = {s->l, 1, s->b, s->h};
    const int64_t w[] = {s->l, 1, s->i, s->gates, s->h}, r[] = {s->l, 1, s->h, s->gates, s->h};
    const int64_t bias[] = {s->l, 1, s->gates + (s->gates == 3), s->h};
    const dnnl_data_type_t type = dnn_type(t->workload.dtype);
    struct dnn *d;
    enum err e =
        form == FORM_S8 || strcmp(s->pass, "fwd") != 0 || (s->l > 1 && s->i != s->h) ? ERR_UNSUPPORTED : ERR_OK;

    name_it(out, t, "", form);
    if (!e)
        e = dnn_begin(t, out, &d, why);
    if (!e) {
        const dnnl_format_tag_t tag = form == FORM_PLAIN ? dnnl_abc : dnnl_format_tag_any;
        const struct cell c = {
            .x = dnn_desc(d, 3, x, type, tag),
            .w = dnn_desc(d, 5, w, type, dnnl_format_tag_any),
            .r = dnn_desc(d, 5, r, type, dnnl_format_tag_any),
            .bias = dnn_desc(d, 4, bias, dnnl_f32, dnnl_abcd),
            .y = dnn_desc(d, 3, y, type, tag),
            .state = dnn_desc(d, 4, state, type, dnnl_abcd),
        };
        const struct cell plain = {
            .x = dnn_desc(d, 3, x, dnnl_f32, dnnl_abc),
            .w = dnn_desc(d, 5, w, dnnl_f32, dnnl_abcde),
            .r = dnn_desc(d, 5, r, dnnl_f32, dnnl_abcde),
        };

        e = cell_primitive(d, &c, why);
        if (!e)
            e = cell_args(d, &plain, why);
    }
    return e ? e : dnn_finish(d, out, why);
}

static enum err by_kind(const struct task *t, enum form form, struct contender *out, struct why *why)
{
    switch (t->kind) {
    case TASK_CONV:
        return conv(t, form, out, why);
    case TASK_GEMM:
        return matmul(t, form, out, why);
    case TASK_RNN:
        return recurrent(t, form, out, why);
    case TASK_OTHER:
        break;
    }
    return ERR_UNSUPPORTED;
}

enum err onednn_plain(const struct task *t, struct contender *out, struct why *why)
{
    return by_kind(t, FORM_PLAIN, out, why);
}

enum err onednn_blocked(const struct task *t, struct contender *out, struct why *why)
{
    return by_kind(t, FORM_BLOCKED, out, why);
}

enum err onednn_reordered(const struct task *t, struct contender *out, struct why *why)
{
    return t->kind == TASK_CONV ? conv(t, FORM_REORDER, out, why) : ERR_UNSUPPORTED;
}

enum err onednn_s8s8(const struct task *t, struct contender *out, struct why *why)
{
    return by_kind(t, FORM_S8, out, why);
}

enum err onednn_ip_plain(const struct task *t, struct contender *out, struct why *why)
{
    return inner_product(t, FORM_PLAIN, out, why);
}

enum err onednn_ip_blocked(const struct task *t, struct contender *out, struct why *why)
{
    return inner_product(t, FORM_BLOCKED, out, why);
}
