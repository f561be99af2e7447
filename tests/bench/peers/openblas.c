/* openblas.c - OpenBLAS as a peer, loaded when the bench runs: nothing to link, and its kernels can be chosen before.
 */
#include "tests/bench/peers/contender.h"

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
    /* Version 0.3.21 takes newer CPUs with AVX-512 for Haswell on some hosts. */
    if (__builtin_cpu_supports("avx512f"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
    for (size_t i = 0; !handle && names[i]; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        why_set(why, ERR_NOT_FOUND, "no libopenblas.so.0 here (Debian: libopenblas-dev)");
    return handle;
}

static void im2col_row(const struct conv_shape *s, const float *x, int64_t r, int64_t t, float *to)
{
    for (int64_t p = 0; p < s->p; p++)
        for (int64_t q = 0; q < s->q; q++) {
            const int64_t i = p * s->stride_h + r * s->dil_h - s->top, j = q * s->stride_w + t * s->dil_w - s->left;

            to[p * s->q + q] = i < 0 || i >= s->h || j < 0 || j >= s->w ? 0.0f : x[i * s->w + j];
        }
}

/* A row within the input is copied as a whole. */
static void im2col_row_stride1(const struct conv_shape *s, const float *x, int64_t r, int64_t t, float *to)
{
    const int64_t shift = t * s->dil_w - s->left, q0 = shift < 0 ? -shift : 0;
    const int64_t q1 = s->w - shift < s->q ? s->w - shift : s->q;

    memset(to, 0, (size_t)(s->p * s->q) * sizeof *to);
    for (int64_t p = 0; p < s->p && q0 < q1; p++) {
        const int64_t i = p * s->stride_h + r * s->dil_h - s->top;

        if (i >= 0 && i < s->h)
            memcpy(to + p * s->q + q0, x + i * s->w + q0 + shift, (size_t)(q1 - q0) * sizeof *to);
    }
}

static void im2col(const struct conv_shape *s, const float *x, float *col)
{
    for (int64_t c = 0; c < s->c; c++)
        for (int64_t r = 0; r < s->r; r++)
            for (int64_t t = 0; t < s->s; t++) {
                float *to = col + ((c * s->r + r) * s->s + t) * s->p * s->q;

                (s->stride_w == 1 ? im2col_row_stride1 : im2col_row)(s, x + c * s->h * s->w, r, t, to);
            }
}

static enum err run_conv(struct contender *c, struct why *why)
{
    struct blas *b = c->own;
    const struct conv_shape *s = &b->task->conv_shape;
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

static enum err run_dense(struct contender *c, struct why *why)
{
    struct blas *b = c->own;
    const struct dense_shape *s = &b->task->dense_shape;
    const int m = (int)s->m, n = (int)s->n, k = (int)s->k;

    (void)why;
    b->sgemm(ROW_MAJOR, NO_TRANS, TRANS, m, n, k, 1, b->task->x, k, b->task->w, k, 0, b->y, n);
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

static bool needs_columns(const struct task *t)
{
    const struct conv_shape *s = &t->conv_shape;

    return t->conv && !(s->r == 1 && s->s == 1 && s->p == s->h && s->q == s->w && s->stride_h == 1 && s->stride_w == 1);
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
             b->col ? ", im2col timed with it" : ", weights packed in every call");
    return ERR_OK;
}

enum err openblas(const struct task *t, struct contender *out, struct why *why)
{
    void *handle = library(why);
    struct blas *b = handle ? calloc(1, sizeof *b) : NULL;
    const bool columns = needs_columns(t);
    const struct conv_shape *s = &t->conv_shape;

    snprintf(out->name, sizeof out->name, "OpenBLAS %s", columns ? "im2col + sgemm" : "sgemm");
    out->peer = true;
    if (!b)
        return handle ? ERR_NOMEM : ERR_NOT_FOUND;
    out->own = b;
    out->run = t->conv ? run_conv : run_dense;
    out->output = output;
    out->fini = fini;
    b->task = t;
    b->y = calloc((size_t)t->n_y, sizeof *b->y);
    if (columns)
        b->col = calloc((size_t)(s->c * s->r * s->s * s->p * s->q), sizeof *b->col);
    if (!b->y || (columns && !b->col))
        return ERR_NOMEM;
    return bind(b, handle, out, why);
}
