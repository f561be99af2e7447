/* SPDX-License-Identifier: MIT */
/* openblas.c - OpenBLAS as a peer, loaded when the bench runs: nothing to link, and its kernels can be chosen before.
 */
#include "tests/bench/ops/contender.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* cblas.h */

typedef void sgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);

struct blas {
    const struct task *task;
    sgemm_fn *sgemm;
    float *col, *y; /* col[c*r*s][p*q]; NULL where the input serves as it is */
};

static void *library(struct why *why)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    void *handle = NULL;

#if defined(__x86_64__)
    /* Version 0.3.21 takes newer CPUs with AVX-512 for Haswell or Prescott on some hosts. */
    if (__builtin_cpu_supports("avx512f"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
    for (size_t i = 0; !handle && names[i]; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        why_set(why, ERR_NOT_FOUND, "no libopenblas.so.0 here (Debian: libopenblas-dev)");
    return handle;
}

static void im2col_row(const struct conv_sizes *s, const float *x, int64_t r, int64_t t, float *to)
{
    for (int64_t p = 0; p < s->p; p++)
        for (int64_t q = 0; q < s->q; q++) {
            const int64_t i = p * s->stride[0] + r * s->dilation[0] - s->pad[0];
            const int64_t j = q * s->stride[1] + t * s->dilation[1] - s->pad[1];

            to[p * s->q + q] = i < 0 || i >= s->h || j < 0 || j >= s->w ? 0.0f : x[i * s->w + j];
        }
}

/* A row within the input is copied as a whole. */
static void im2col_row_stride1(const struct conv_sizes *s, const float *x, int64_t r, int64_t t, float *to)
{
    const int64_t shift = t * s->dilation[1] - s->pad[1], q0 = shift < 0 ? -shift : 0;
    const int64_t q1 = s->w - shift < s->q ? s->w - shift : s->q;

    memset(to, 0, (size_t)(s->p * s->q) * sizeof *to);
    for (int64_t p = 0; p < s->p && q0 < q1; p++) {
        const int64_t i = p * s->stride[0] + r * s->dilation[0] - s->pad[0];

        if (i >= 0 && i < s->h)
            memcpy(to + p * s->q + q0, x + i * s->w + q0 + shift, (size_t)(q1 - q0) * sizeof *to);
    }
}

static void im2col(const struct conv_sizes *s, const float *x, float *col)
{
    for (int64_t c = 0; c < s->c; c++)
        for (int64_t r = 0; r < s->r; r++)
            for (int64_t t = 0; t < s->s; t++) {
                float *to = col + ((c * s->r + r) * s->s + t) * s->p * s->q;

                (s->stride[1] == 1 ? im2col_row_stride1 : im2col_row)(s, x + c * s->h * s->w, r, t, to);
            }
}

static enum err run_conv(struct contender *c, struct why *why)
{
    struct blas *b = c->own;
    const struct conv_sizes *s = &b->task->conv;
    const int crs = (int)(s->c * s->r * s->s), pq = (int)(s->p * s->q);

    (void)why;
    for (int64_t n = 0; n < s->n; n++) {
        const float *x = b->task->x + n * s->c * s->h * s->w;

        if (b->col)
            im2col(s, x, b->col);
        b->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, (int)s->k, pq, crs, 1, b->task->w, crs, b->col ? b->col : x, pq, 0,
                 b->y + n * s->k * pq, pq);
    }
    return ERR_OK;
}

static enum err run_gemm(struct contender *c, struct why *why)
{
    struct blas *b = c->own;
    const struct gemm_sizes *s = &b->task->gemm;
    const int m = (int)s->m, n = (int)s->n, k = (int)s->k;

    (void)why;
    for (int64_t i = 0; i < s->b; i++)
        b->sgemm(ROW_MAJOR, NO_TRANS, TRANS, m, n, k, 1, b->task->x + i * s->m * s->k, k, b->task->w + i * s->n * s->k,
                 k, 0, b->y + i * s->m * s->n, n);
    return ERR_OK;
}

/* The products of a forward pass: a layer's inputs of all steps at once, then each step's state. */
static enum err run_rnn(struct contender *c, struct why *why)
{
    struct blas *b = c->own;
    const struct rnn_sizes *s = &b->task->rnn;
    const int gh = (int)(s->gates * s->h), h = (int)s->h, batch = (int)s->b;

    (void)why;
    for (int64_t l = 0; l < s->l; l++) {
        const int i = (int)(l ? s->h : s->i);

        b->sgemm(ROW_MAJOR, NO_TRANS, TRANS, (int)s->t * batch, gh, i, 1, l ? b->y : b->task->x, i, b->task->w, i, 0,
                 b->col, gh);
        for (int64_t t = 0; t < s->t; t++)
            b->sgemm(ROW_MAJOR, NO_TRANS, TRANS, batch, gh, h, 1, b->y + t * batch * h, h, b->task->w, h, 1,
                     b->col + t * batch * gh, gh);
    }
    return ERR_OK;
}

static enum err output(struct contender *c, float *y, struct why *why)
{
    struct blas *b = c->own;

    (void)why;
    memcpy(y, b->y, (size_t)b->task->n_y * sizeof *y);
    return ERR_OK;
}

static void fini(struct contender *c)
{
    struct blas *b = c->own;

    free(b->col);
    free(b->y);
    free(b);
}

/* Elements of the scratch that the run fills; 0 = none is needed. */
static int64_t scratch(const struct task *t)
{
    const struct conv_sizes *s = &t->conv;

    if (t->kind == TASK_RNN)
        return t->rnn.t * t->rnn.b * t->rnn.gates * t->rnn.h;
    if (t->kind != TASK_CONV ||
        (s->r == 1 && s->s == 1 && s->p == s->h && s->q == s->w && s->stride[0] == 1 && s->stride[1] == 1))
        return 0;
    return s->c * s->r * s->s * s->p * s->q;
}

static enum err bind(struct blas *b, void *handle, struct contender *out, struct why *why)
{
    void (*set_threads)(int) = (void (*)(int))dlsym(handle, "openblas_set_num_threads");
    char *(*core_name)(void) = (char *(*)(void))dlsym(handle, "openblas_get_corename");

    b->sgemm = (sgemm_fn *)dlsym(handle, "cblas_sgemm");
    if (!b->sgemm || !set_threads || !core_name)
        return why_set(why, ERR_NOT_FOUND, "libopenblas has no cblas_sgemm");
    set_threads(b->task->threads);
    snprintf(out->note, sizeof out->note, "core %s%s", core_name(),
             b->task->kind == TASK_RNN ? ", products only"
             : b->col                  ? ", im2col timed with it"
                                       : ", weights packed in every call");
    return ERR_OK;
}

static enum err computes(const struct task *t, struct why *why)
{
    if (t->workload.dtype != DTYPE_F32 || t->kind == TASK_OTHER)
        return why_set(why, ERR_UNSUPPORTED, "f32 products only");
    if (t->kind == TASK_CONV && t->conv.groups > 1)
        return why_set(why, ERR_UNSUPPORTED, "no groups");
    if (t->kind == TASK_RNN && strcmp(t->rnn.pass, "fwd") != 0)
        return why_set(why, ERR_UNSUPPORTED, "forward only");
    return ERR_OK;
}

enum err openblas(const struct task *t, struct contender *out, struct why *why)
{
    static enum err (*const runs[])(struct contender * c, struct why * why) = {run_conv, run_gemm, run_rnn};
    const enum err e = computes(t, why);
    void *handle = e ? NULL : library(why);
    struct blas *b = handle ? calloc(1, sizeof *b) : NULL;
    const int64_t n_col = e ? 0 : scratch(t);

    snprintf(out->name, sizeof out->name, "OpenBLAS %s", t->kind == TASK_CONV && n_col ? "im2col + sgemm" : "sgemm");
    out->class = t->kind == TASK_RNN ? CLASS_BASELINE : CLASS_PLAIN;
    if (!b)
        return e ? e : handle ? ERR_NOMEM : ERR_NOT_FOUND;
    out->own = b;
    out->run = runs[t->kind];
    out->output = t->kind == TASK_RNN ? NULL : output;
    out->fini = fini;
    b->task = t;
    b->y = calloc((size_t)t->n_y, sizeof *b->y);
    if (n_col)
        b->col = calloc((size_t)n_col, sizeof *b->col);
    if (!b->y || (n_col && !b->col))
        return ERR_NOMEM;
    return bind(b, handle, out, why);
}
