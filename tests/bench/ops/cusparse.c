/* SPDX-License-Identifier: MIT */
/* cusparse.c - cuSPARSE as a peer of sparse_conv2d: weights in compressed rows times patches of the input that are laid
 * out beforehand (their making is not timed, which favours it), f32. */
#include "tests/bench/ops/cuda_libs.h"

#include <stdio.h>
#include <stdlib.h>

struct csr {
    struct cuda_peer peer; /* first */
    cusparseHandle_t handle;
    cusparseSpMatDescr_t w;
    cusparseDnMatDescr_t cols, y;
    cusparseSpMMAlg_t algorithm;
    void *space;
};

static const struct {
    cusparseSpMMAlg_t algorithm;
    const char *name;
} algorithms[] = {
    {CUSPARSE_SPMM_CSR_ALG1, "CSR 1"}, {CUSPARSE_SPMM_CSR_ALG2, "CSR 2"}, {CUSPARSE_SPMM_CSR_ALG3, "CSR 3"}};
#define N_ALGORITHMS (sizeof algorithms / sizeof algorithms[0])

static enum err status(cusparseStatus_t s, const char *call, struct why *why)
{
    if (s == CUSPARSE_STATUS_SUCCESS)
        return ERR_OK;
    return why_set(why, ERR_DEVICE, "%s: %s", call, cuda_libs.cusparseGetErrorString(s));
}

static enum err enqueue(struct cuda_peer *p, struct why *why)
{
    struct csr *c = (struct csr *)p;
    const float one = 1, zero = 0;

    return status(cuda_libs.cusparseSpMM(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                         &one, c->w, c->cols, &zero, c->y, CUDA_R_32F, c->algorithm, c->space),
                  "cusparseSpMM", why);
}

static void fini(struct cuda_peer *p)
{
    struct csr *c = (struct csr *)p;

    if (c->w)
        cuda_libs.cusparseDestroySpMat(c->w);
    if (c->cols)
        cuda_libs.cusparseDestroyDnMat(c->cols);
    if (c->y)
        cuda_libs.cusparseDestroyDnMat(c->y);
    if (c->handle)
        cuda_libs.cusparseDestroy(c->handle);
}

/* Patch element (c,r,s) of pixel (n,p,q). */
static float patch(const struct task *t, int64_t i_row, int64_t i_column)
{
    const struct conv_sizes *s = &t->conv;
    const int64_t c = i_row / (s->r * s->s), r = i_row / s->s % s->r, tap = i_row % s->s;
    const int64_t n = i_column / (s->p * s->q), p = i_column / s->q % s->p, q = i_column % s->q;
    const int64_t h = p * s->stride[0] + r * s->dilation[0] - s->pad[0];
    const int64_t w = q * s->stride[1] + tap * s->dilation[1] - s->pad[1];

    return h < 0 || h >= s->h || w < 0 || w >= s->w ? 0.0f : t->x[((n * s->c + c) * s->h + h) * s->w + w];
}

static enum err make_patches(struct csr *c, int64_t rows, int64_t columns, struct why *why)
{
    float *data = malloc((size_t)(rows * columns) * sizeof *data);
    void *to;

    if (!data)
        return why_set(why, ERR_NOMEM, "out of memory");
    for (int64_t i = 0; i < rows * columns; i++)
        data[i] = patch(c->peer.task, i / columns, i % columns);
    to = cuda_peer_buffer(&c->peer, data, (size_t)(rows * columns) * sizeof *data, why);
    free(data);
    return to ? status(
                    cuda_libs.cusparseCreateDnMat(&c->cols, rows, columns, columns, to, CUDA_R_32F, CUSPARSE_ORDER_ROW),
                    "cusparseCreateDnMat", why)
              : ERR_DEVICE;
}

static enum err make_weights(struct csr *c, int64_t n_rows, int64_t n_columns, struct why *why)
{
    const float *w = c->peer.task->w;
    int32_t *starts = calloc((size_t)n_rows + 1, sizeof *starts), *columns, n = 0;
    float *values;
    void *at[3] = {NULL};

    columns = malloc((size_t)(n_rows * n_columns) * sizeof *columns);
    values = malloc((size_t)(n_rows * n_columns) * sizeof *values);
    for (int64_t i = 0; starts && columns && values && i < n_rows * n_columns; i++) {
        if (w[i] < 0 || w[i] > 0) {
            columns[n] = (int32_t)(i % n_columns);
            values[n++] = w[i];
        }
        starts[i / n_columns + 1] = n;
    }
    if (starts && columns && values) {
        at[0] = cuda_peer_buffer(&c->peer, starts, ((size_t)n_rows + 1) * sizeof *starts, why);
        at[1] = cuda_peer_buffer(&c->peer, columns, (size_t)n * sizeof *columns, why);
        at[2] = cuda_peer_buffer(&c->peer, values, (size_t)n * sizeof *values, why);
    }
    free(starts);
    free(columns);
    free(values);
    if (!at[0] || !at[1] || !at[2])
        return ERR_DEVICE;
    return status(cuda_libs.cusparseCreateCsr(&c->w, n_rows, n_columns, n, at[0], at[1], at[2], CUSPARSE_INDEX_32I,
                                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
                  "cusparseCreateCsr", why);
}

/* Room for an algorithm, and what it can prepare of the weights. */
static enum err make_room(struct csr *c, struct why *why)
{
    const float one = 1, zero = 0;
    size_t n = 0;
    enum err e = status(cuda_libs.cusparseSpMM_bufferSize(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                                          CUSPARSE_OPERATION_NON_TRANSPOSE, &one, c->w, c->cols, &zero,
                                                          c->y, CUDA_R_32F, c->algorithm, &n),
                        "cusparseSpMM_bufferSize", why);

    if (!e && !(c->space = cuda_peer_buffer(&c->peer, NULL, n, why)))
        e = ERR_DEVICE;
    if (!e && c->algorithm != CUSPARSE_SPMM_CSR_ALG2)
        e = status(cuda_libs.cusparseSpMM_preprocess(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                                     CUSPARSE_OPERATION_NON_TRANSPOSE, &one, c->w, c->cols, &zero, c->y,
                                                     CUDA_R_32F, c->algorithm, c->space),
                   "cusparseSpMM_preprocess", why);
    return e;
}

static enum err try_one(struct csr *c, size_t i, double *ns, struct why *why)
{
    enum err e;

    c->algorithm = algorithms[i].algorithm;
    e = make_room(c, why);
    return e ? e : cuda_peer_least(&c->peer, ns, why);
}

static enum err choose(struct csr *c, struct contender *out, struct why *why)
{
    double best_ns = 0, ns = 0;
    size_t best = N_ALGORITHMS;

    for (size_t i = 0; i < N_ALGORITHMS; i++)
        if (!try_one(c, i, &ns, why) && (best == N_ALGORITHMS || ns < best_ns)) {
            best = i;
            best_ns = ns;
        }
    if (best == N_ALGORITHMS)
        return ERR_UNSUPPORTED;
    snprintf(out->note, sizeof out->note, "%s, the fastest of %zu, on patches made beforehand", algorithms[best].name,
             N_ALGORITHMS);
    return try_one(c, best, &ns, why);
}

static enum err prepare(struct csr *c, struct contender *out, struct why *why)
{
    const struct task *t = c->peer.task;
    const struct conv_sizes *s = &t->conv;
    const int64_t rows = s->c * s->r * s->s, columns = s->n * s->p * s->q;
    void *y = cuda_peer_buffer(&c->peer, NULL, (size_t)t->n_y * sizeof(float), why);
    enum err e = y ? status(cuda_libs.cusparseCreate(&c->handle), "cusparseCreate", why) : ERR_DEVICE;

    if (!e)
        e = status(cuda_libs.cusparseSetStream(c->handle, c->peer.stream), "cusparseSetStream", why);
    if (!e)
        e = make_weights(c, s->k, rows, why);
    if (!e)
        e = make_patches(c, rows, columns, why);
    if (!e)
        e = status(cuda_libs.cusparseCreateDnMat(&c->y, s->k, columns, columns, y, CUDA_R_32F, CUSPARSE_ORDER_ROW),
                   "cusparseCreateDnMat", why);
    if (!e)
        e = choose(c, out, why);
    if (!e)
        cuda_peer_capture(&c->peer);
    return e;
}

enum err cusparse(const struct task *t, struct contender *out, struct why *why)
{
    enum err e = cuda_peer_fits(t, 1u << DTYPE_F32, why);
    struct csr *c;

    if (!e && (t->kind != TASK_CONV || t->sparsity <= 0))
        e = why_set(why, ERR_UNSUPPORTED, "not compared here");
    snprintf(out->name, sizeof out->name, "cuSPARSE SpMM");
    if (!e)
        e = cuda_libs_cusparse(why);
    c = e ? NULL : calloc(1, sizeof *c);
    if (!c)
        return e ? e : ERR_NOMEM;
    c->peer.enqueue = enqueue;
    c->peer.fini = fini;
    e = cuda_peer_begin(&c->peer, t, out, why);
    return e ? e : prepare(c, out, why);
}
