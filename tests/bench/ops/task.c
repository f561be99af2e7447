/* SPDX-License-Identifier: MIT */
#include "tests/bench/ops/task.h"

#include "kernels/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool operator_has_key(const struct operator_desc *op, const char *key)
{
    for (const struct operator_key *k = op->keys; k->name; k++)
        if (strcmp(k->name, key) == 0)
            return true;
    return false;
}

static int64_t part_or(const struct workload *w, const char *key, int i_part, int64_t otherwise)
{
    return operator_has_key(w->op, key) ? workload_part(w, key, i_part) : otherwise;
}

static int64_t get_or(const struct workload *w, const char *key, int64_t otherwise)
{
    return part_or(w, key, 0, otherwise);
}

/* The word of a KEY_WORD key, "" when the operator has none of this name. */
static const char *word_of(const struct workload *w, const char *key)
{
    for (const struct operator_key *k = w->op->keys; k->name; k++)
        if (strcmp(k->name, key) == 0 && k->kind == KEY_WORD)
            return k->words[workload_part(w, key, 0)];
    return "";
}

enum err text_with(const char *text, const char *key, const char *value, char *out, size_t n_out)
{
    const size_t n_key = strlen(key);
    size_t n = 0;

    for (const char *at = text; *at;) {
        const size_t n_token = strcspn(at, " ");

        if (n_token && !(strncmp(at, key, n_key) == 0 && at[n_key] == '=')) {
            if (n + n_token + 2 > n_out)
                return ERR_LIMIT;
            n += (size_t)snprintf(out + n, n_out - n, "%s%.*s", n ? " " : "", (int)n_token, at);
        }
        at += n_token + strspn(at + n_token, " ");
    }
    if (n + n_key + strlen(value) + 3 > n_out)
        return ERR_LIMIT;
    if (*value)
        snprintf(out + n, n_out - n, " %s=%s", key, value);
    return ERR_OK;
}

static void conv_sizes(struct task *t, const struct workload *w)
{
    struct conv_sizes *s = &t->conv;
    const bool depthwise = !operator_has_key(w->op, "k");

    s->n = get_or(w, "n", 1);
    s->c = get_or(w, "c", 1);
    s->h = get_or(w, "h", 1);
    s->w = get_or(w, "w", 1);
    s->k = depthwise ? s->c * get_or(w, "mult", 1) : get_or(w, "k", 1);
    s->r = get_or(w, "r", 1);
    s->s = get_or(w, "s", 1);
    s->groups = depthwise ? s->c : get_or(w, "groups", 1);
    for (int i = 0; i < 2; i++) {
        s->stride[i] = part_or(w, "stride", i, 1);
        s->dilation[i] = part_or(w, "dilation", i, 1);
    }
    for (int i = 0; i < 4; i++)
        s->pad[i] = part_or(w, "pad", i, 0);
    s->p = (s->h + s->pad[0] + s->pad[2] - (s->r - 1) * s->dilation[0] - 1) / s->stride[0] + 1;
    s->q = (s->w + s->pad[1] + s->pad[3] - (s->s - 1) * s->dilation[1] - 1) / s->stride[1] + 1;
    t->n_x = s->n * s->c * s->h * s->w;
    t->n_w = s->k * (s->c / s->groups) * s->r * s->s;
    t->n_y = s->n * s->k * s->p * s->q;
}

static void gemm_sizes(struct task *t, const struct workload *w)
{
    struct gemm_sizes *s = &t->gemm;

    s->b = get_or(w, "b", 1);
    s->m = get_or(w, "m", 1);
    s->n = get_or(w, "n", 1);
    s->k = get_or(w, "k", 1);
    s->shared_w = s->b == 1;
    t->n_x = s->b * s->m * s->k;
    t->n_w = s->b * s->n * s->k;
    t->n_y = s->b * s->m * s->n;
}

static void rnn_sizes(struct task *t, const struct workload *w)
{
    struct rnn_sizes *s = &t->rnn;

    s->i = get_or(w, "i", 1);
    s->h = get_or(w, "h", 1);
    s->l = get_or(w, "l", 1);
    s->b = get_or(w, "b", 1);
    s->t = get_or(w, "t", 1);
    snprintf(s->cell, sizeof s->cell, "%s", word_of(w, "cell"));
    snprintf(s->pass, sizeof s->pass, "%s", word_of(w, "pass"));
    s->gates = strcmp(s->cell, "lstm") == 0 ? 4 : strcmp(s->cell, "gru") == 0 ? 3 : 1;
    t->n_x = s->t * s->b * s->i;
    t->n_w = s->l * s->gates * s->h * (s->i > s->h ? s->i + s->h : 2 * s->h); /* enough for any layer */
    t->n_y = s->t * s->b * s->h;
}

static void sizes(struct task *t, const struct workload *w)
{
    static const struct {
        const char *operator_name;
        enum task_kind kind;
        void (*sizes)(struct task *t, const struct workload *w);
    } kinds[] = {
        {"conv2d", TASK_CONV, conv_sizes},        {"depthwise_conv2d", TASK_CONV, conv_sizes},
        {"sparse_conv2d", TASK_CONV, conv_sizes}, {"dense", TASK_GEMM, gemm_sizes},
        {"batch_gemm", TASK_GEMM, gemm_sizes},    {"rnn", TASK_RNN, rnn_sizes},
    };

    t->kind = TASK_OTHER;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(w->op->name, kinds[i].operator_name) == 0) {
            t->kind = kinds[i].kind;
            kinds[i].sizes(t, w);
        }
}

/* Zeros in w: the operator's own positions do not matter to those who compute the dense form. */
static void prune(struct task *t)
{
    for (int64_t i = 0; t->sparsity > 0 && i < t->n_w; i++)
        if ((double)((uint64_t)i * 2654435761u % 1000003u) < t->sparsity * 1000003.0)
            t->w[i] = 0.0f;
}

static enum err task_data(struct task *t)
{
    const bool whole = dtype_is_bytes(t->workload.dtype);
    const struct program_fill x = {whole ? FILL_INT : FILL_NORMAL, .seed = SEED_X + SEED_RANDOM, .lo = 0,
                                   .hi = whole ? 127 : 1};
    const struct program_fill w = {whole ? FILL_INT : FILL_NORMAL, .seed = SEED_W + SEED_RANDOM, .lo = whole ? -127 : 0,
                                   .hi = whole ? 127 : 0.0625};
    enum err e;

    if (t->kind == TASK_OTHER)
        return ERR_OK;
    t->x = malloc((size_t)t->n_x * sizeof *t->x);
    t->w = malloc((size_t)t->n_w * sizeof *t->w);
    if (!t->x || !t->w)
        return ERR_NOMEM;
    e = fill_elems(&x, DTYPE_F32, t->x, t->n_x, NULL);
    if (!e)
        e = fill_elems(&w, DTYPE_F32, t->w, t->n_w, NULL);
    if (!e)
        prune(t);
    return e;
}

enum err text_canonical(const char *text, char out[WORKLOAD_MAX_TEXT], struct why *why)
{
    struct workload w;
    struct buf canonical;
    enum err e = workload_parse(text, &w, why);

    if (e)
        return e;
    buf_init(&canonical, WORKLOAD_MAX_TEXT);
    e = workload_text(&w, &canonical);
    if (!e)
        snprintf(out, WORKLOAD_MAX_TEXT, "%s", buf_text(&canonical));
    buf_fini(&canonical);
    return e;
}

enum err task_init(struct task *t, const char *text, struct why *why)
{
    struct workload plain;
    char layout[WORKLOAD_MAX_TEXT];
    enum err e = workload_parse(text, &t->workload, why);

    t->x = t->w = NULL;
    t->n_x = t->n_w = t->n_y = 0;
    t->sparsity = 0;
    if (!e)
        e = text_canonical(text, t->text, why);
    if (!e)
        e = text_with(t->text, "layout", "", layout, sizeof layout);
    if (!e)
        e = text_with(layout, "epilogue", "", t->plain, sizeof t->plain);
    if (!e)
        e = workload_parse(t->plain, &plain, why);
    if (e)
        return e;
    sizes(t, &plain);
    (void)sscanf(strstr(t->text, " sparsity=") ? strstr(t->text, " sparsity=") : "", " sparsity=%lf", &t->sparsity);
    t->flops = t->workload.op->flops(&t->workload);
    t->bytes_min = t->workload.op->bytes_min(&t->workload);
    return task_data(t);
}

void task_fini(struct task *t)
{
    free(t->x);
    free(t->w);
    t->x = t->w = NULL;
}
