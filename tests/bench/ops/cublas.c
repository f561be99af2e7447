/* SPDX-License-Identifier: MIT */
/* cublas.c - cuBLAS as a peer: dense and batch_gemm in f32 (no TF32), f16, bf16 (sums in f32) and i8 (sums in i32). */
#include "tests/bench/ops/cuda_libs.h"

#include <stdio.h>
#include <stdlib.h>

struct blas {
    struct cuda_peer peer; /* first */
    cublasHandle_t handle;
    void *x, *w, *y, *space;
    bool as_vector; /* one row: through gemv, where that is faster */
};

#define WORKSPACE ((size_t)64 << 20) /* ours, since what the library allocates itself would become part of a graph */

static const struct form {
    cudaDataType_t in, out;
    cublasComputeType_t sums;
    enum dtype out_dtype;
} forms[N_DTYPES] = {
    [DTYPE_F32] = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, DTYPE_F32},
    [DTYPE_F16] = {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, DTYPE_F16},
    [DTYPE_BF16] = {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, DTYPE_BF16},
    [DTYPE_I8] = {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, DTYPE_I32},
};

static enum err status(cublasStatus_t s, const char *call, struct why *why)
{
    if (s == CUBLAS_STATUS_SUCCESS)
        return ERR_OK;
    return why_set(why, s == CUBLAS_STATUS_NOT_SUPPORTED ? ERR_UNSUPPORTED : ERR_DEVICE, "%s: %s", call,
                   cuda_libs.cublasGetStatusString(s));
}

/* y[m][n] = x[m][k] w[n][k]: by columns, y' = w x'. */
static enum err enqueue(struct cuda_peer *p, struct why *why)
{
    struct blas *b = (struct blas *)p;
    const struct gemm_sizes *s = &p->task->gemm;
    const struct form *f = &forms[p->task->workload.dtype];
    const float one_f = 1, zero_f = 0;
    const int32_t one_i = 1, zero_i = 0;
    const bool whole = f->sums == CUBLAS_COMPUTE_32I;

    if (b->as_vector)
        return status(cuda_libs.cublasSgemv_v2(b->handle, CUBLAS_OP_T, (int)s->k, (int)s->n, &one_f, b->w, (int)s->k,
                                               b->x, 1, &zero_f, b->y, 1),
                      "cublasSgemv", why);
    return status(cuda_libs.cublasGemmStridedBatchedEx(b->handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)s->n, (int)s->m,
                                                       (int)s->k, whole ? (const void *)&one_i : &one_f, b->w, f->in,
                                                       (int)s->k, s->n * s->k, b->x, f->in, (int)s->k, s->m * s->k,
                                                       whole ? (const void *)&zero_i : &zero_f, b->y, f->out, (int)s->n,
                                                       s->m * s->n, (int)s->b, f->sums, CUBLAS_GEMM_DEFAULT),
                  "cublasGemmStridedBatchedEx", why);
}

static void fini(struct cuda_peer *p)
{
    struct blas *b = (struct blas *)p;

    if (b->handle)
        cuda_libs.cublasDestroy_v2(b->handle);
}

/* A product with one row has two functions: the faster one. */
static void choose(struct blas *b)
{
    const struct task *t = b->peer.task;
    double best[2] = {0, 0};
    struct why why = {""};
    enum err e = ERR_OK;

    if (t->workload.dtype != DTYPE_F32 || t->gemm.m != 1 || t->gemm.b != 1)
        return;
    for (int i = 0; !e && i < 8; i++) {
        double ns = 0;

        b->as_vector = i % 2;
        e = cuda_peer_call(&b->peer, &ns, &why);
        best[i % 2] = i < 2 || ns < best[i % 2] ? ns : best[i % 2];
    }
    b->as_vector = !e && best[1] < best[0];
}

static enum err prepare(struct blas *b, struct contender *out, struct why *why)
{
    const struct task *t = b->peer.task;
    const struct form *f = &forms[t->workload.dtype];
    enum err e = status(cuda_libs.cublasCreate_v2(&b->handle), "cublasCreate", why);

    if (!e)
        e = status(cuda_libs.cublasSetStream_v2(b->handle, b->peer.stream), "cublasSetStream", why);
    if (!e)
        e = status(cuda_libs.cublasSetMathMode(b->handle, CUBLAS_DEFAULT_MATH), "cublasSetMathMode", why);
    if (e)
        return e;
    b->x = cuda_peer_tensor(&b->peer, t->x, t->n_x, t->workload.dtype, why);
    b->w = cuda_peer_tensor(&b->peer, t->w, t->n_w, t->workload.dtype, why);
    b->y = cuda_peer_buffer(&b->peer, NULL, (size_t)t->n_y * dtype_bytes(f->out_dtype), why);
    b->space = cuda_peer_buffer(&b->peer, NULL, WORKSPACE, why);
    if (!b->x || !b->w || !b->y || !b->space)
        return ERR_DEVICE;
    e = status(cuda_libs.cublasSetWorkspace_v2(b->handle, b->space, WORKSPACE), "cublasSetWorkspace", why);
    if (e)
        return e;
    choose(b);
    if (t->workload.dtype == DTYPE_F32)
        cuda_peer_outputs(&b->peer, b->y, out);
    cuda_peer_capture(&b->peer);
    return ERR_OK;
}

enum err cublas(const struct task *t, struct contender *out, struct why *why)
{
    enum err e = cuda_peer_fits(t, 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_BF16 | 1u << DTYPE_I8, why);
    struct blas *b;

    if (!e && t->kind != TASK_GEMM)
        e = why_set(why, ERR_UNSUPPORTED, "not compared here");
    snprintf(out->name, sizeof out->name, "cuBLAS");
    if (!e)
        e = cuda_libs_cublas(why);
    b = e ? NULL : calloc(1, sizeof *b);
    if (!b)
        return e ? e : ERR_NOMEM;
    b->peer.enqueue = enqueue;
    b->peer.fini = fini;
    e = cuda_peer_begin(&b->peer, t, out, why);
    if (!e)
        e = prepare(b, out, why);
    snprintf(out->note, sizeof out->note, "%s, its own choice of algorithm%s; no TF32", b->as_vector ? "gemv" : "gemm",
             b->peer.graph ? ", as a graph" : "");
    return e;
}
