/* SPDX-License-Identifier: MIT */
/* cudnn_rnn.c - cuDNN's recurrent networks as a peer: forward in inference, f32 without TF32 or f16, standard and
 * persistent algorithms, the fastest taken. Its gates are computed as ours (knobs and order are its own); weights
 * are small numbers in no order of ours: outputs are not compared. */
#include "tests/bench/ops/cuda_libs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rnn {
    struct cuda_peer peer; /* first */
    cudnnHandle_t handle;
    cudnnRNNDescriptor_t desc;
    cudnnDropoutDescriptor_t dropout;
    cudnnRNNDataDescriptor_t x_desc, y_desc;
    cudnnTensorDescriptor_t h_desc;
    void *x, *y, *h, *c, *weights, *space;
    int32_t *lengths; /* on the device */
    size_t n_weights, n_space;
};

static const struct {
    cudnnRNNAlgo_t algorithm;
    const char *name;
} algorithms[] = {{CUDNN_RNN_ALGO_PERSIST_STATIC, "persistent"},
                  {CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, "persistent, small h"},
                  {CUDNN_RNN_ALGO_STANDARD, "standard"}};
#define N_ALGORITHMS (sizeof algorithms / sizeof algorithms[0])

static enum err status(cudnnStatus_t s, const char *call, struct why *why)
{
    if (s == CUDNN_STATUS_SUCCESS)
        return ERR_OK;
    return why_set(why, ERR_DEVICE, "%s: %s", call, cuda_libs.cudnnGetErrorString(s));
}

static enum err enqueue(struct cuda_peer *p, struct why *why)
{
    struct rnn *r = (struct rnn *)p;

    return status(cuda_libs.cudnnRNNForward(r->handle, r->desc, CUDNN_FWD_MODE_INFERENCE, r->lengths, r->x_desc, r->x,
                                            r->y_desc, r->y, r->h_desc, r->h, NULL, r->h_desc, r->c, NULL, r->n_weights,
                                            r->weights, r->n_space, r->space, 0, NULL),
                  "cudnnRNNForward", why);
}

static void fini(struct cuda_peer *p)
{
    struct rnn *r = (struct rnn *)p;

    if (r->x_desc)
        cuda_libs.cudnnDestroyRNNDataDescriptor(r->x_desc);
    if (r->y_desc)
        cuda_libs.cudnnDestroyRNNDataDescriptor(r->y_desc);
    if (r->h_desc)
        cuda_libs.cudnnDestroyTensorDescriptor(r->h_desc);
    if (r->desc)
        cuda_libs.cudnnDestroyRNNDescriptor(r->desc);
    if (r->dropout)
        cuda_libs.cudnnDestroyDropoutDescriptor(r->dropout);
    if (r->handle)
        cuda_libs.cudnnDestroy(r->handle);
}

static cudnnRNNMode_t mode_of(const char *cell)
{
    if (strcmp(cell, "lstm") == 0)
        return CUDNN_LSTM;
    if (strcmp(cell, "gru") == 0)
        return CUDNN_GRU;
    return strcmp(cell, "tanh") == 0 ? CUDNN_RNN_TANH : CUDNN_RNN_RELU;
}

static enum err describe(struct rnn *r, size_t i_algorithm, struct why *why)
{
    const struct rnn_sizes *s = &r->peer.task->rnn;
    const cudnnDataType_t type = r->peer.task->workload.dtype == DTYPE_F16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;

    return status(cuda_libs.cudnnSetRNNDescriptor_v8(
                      r->desc, algorithms[i_algorithm].algorithm, mode_of(s->cell), CUDNN_RNN_DOUBLE_BIAS,
                      CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, type, CUDNN_DATA_FLOAT,
                      type == CUDNN_DATA_HALF ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH, (int32_t)s->i, (int32_t)s->h,
                      (int32_t)s->h, (int32_t)s->l, r->dropout, CUDNN_RNN_PADDED_IO_DISABLED),
                  "cudnnSetRNNDescriptor", why);
}

/* Descriptors of x, y, h: all sequences as long as t. */
static enum err describe_data(struct rnn *r, struct why *why)
{
    const struct rnn_sizes *s = &r->peer.task->rnn;
    const cudnnDataType_t type = r->peer.task->workload.dtype == DTYPE_F16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
    const int dims[] = {(int)s->l, (int)s->b, (int)s->h}, strides[] = {(int)(s->b * s->h), (int)s->h, 1};
    int32_t *lengths = malloc((size_t)s->b * sizeof *lengths);
    enum err e = lengths ? ERR_OK : ERR_NOMEM;

    for (int64_t i = 0; !e && i < s->b; i++)
        lengths[i] = (int32_t)s->t;
    if (!e)
        e = status(cuda_libs.cudnnCreateRNNDataDescriptor(&r->x_desc), "cudnnCreateRNNDataDescriptor", why);
    if (!e)
        e = status(cuda_libs.cudnnCreateRNNDataDescriptor(&r->y_desc), "cudnnCreateRNNDataDescriptor", why);
    if (!e)
        e = status(cuda_libs.cudnnSetRNNDataDescriptor(r->x_desc, type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                                       (int)s->t, (int)s->b, (int)s->i, lengths, NULL),
                   "cudnnSetRNNDataDescriptor(x)", why);
    if (!e)
        e = status(cuda_libs.cudnnSetRNNDataDescriptor(r->y_desc, type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                                       (int)s->t, (int)s->b, (int)s->h, lengths, NULL),
                   "cudnnSetRNNDataDescriptor(y)", why);
    if (!e)
        e = status(cuda_libs.cudnnCreateTensorDescriptor(&r->h_desc), "cudnnCreateTensorDescriptor", why);
    if (!e)
        e = status(cuda_libs.cudnnSetTensorNdDescriptor(r->h_desc, type, 3, dims, strides),
                   "cudnnSetTensorNdDescriptor", why);
    if (!e && !(r->lengths = cuda_peer_buffer(&r->peer, lengths, (size_t)s->b * sizeof *lengths, why)))
        e = ERR_DEVICE;
    free(lengths);
    return e;
}

/* n_bytes of the task's weights, again and again. */
static void *make_weights(struct rnn *r, size_t n_bytes, struct why *why)
{
    const struct task *t = r->peer.task;
    const int64_t n = (int64_t)(n_bytes / dtype_bytes(t->workload.dtype));
    float *w = malloc((size_t)n * sizeof *w);
    void *to = NULL;

    for (int64_t i = 0; w && i < n; i++)
        w[i] = t->n_w > 0 ? t->w[i % t->n_w] : 0;
    if (w)
        to = cuda_peer_tensor(&r->peer, w, n, t->workload.dtype, why);
    free(w);
    return to;
}

/* What this algorithm needs more than the others before it. */
static enum err make_room(struct rnn *r, struct why *why)
{
    size_t n_weights = 0, n_space = 0, n_reserve = 0;
    enum err e =
        status(cuda_libs.cudnnGetRNNWeightSpaceSize(r->handle, r->desc, &n_weights), "cudnnGetRNNWeightSpaceSize", why);

    if (!e)
        e = status(cuda_libs.cudnnGetRNNTempSpaceSizes(r->handle, r->desc, CUDNN_FWD_MODE_INFERENCE, r->x_desc,
                                                       &n_space, &n_reserve),
                   "cudnnGetRNNTempSpaceSizes", why);
    if (!e && n_weights > r->n_weights && !(r->weights = make_weights(r, n_weights, why)))
        e = ERR_DEVICE;
    if (!e && n_space > r->n_space && !(r->space = cuda_peer_buffer(&r->peer, NULL, n_space, why)))
        e = ERR_DEVICE;
    r->n_weights = n_weights;
    r->n_space = n_space > r->n_space ? n_space : r->n_space;
    return e;
}

/* Time of one algorithm; a failure is that algorithm's. */
static enum err try_one(struct rnn *r, size_t i, double *ns, struct why *why)
{
    enum err e = describe(r, i, why);

    if (!e)
        e = make_room(r, why);
    return e ? e : cuda_peer_least(&r->peer, ns, why);
}

static enum err choose(struct rnn *r, struct contender *out, struct why *why)
{
    double best_ns = 0;
    size_t best = N_ALGORITHMS;

    for (size_t i = 0; i < N_ALGORITHMS; i++) {
        double ns = 0;

        if (!try_one(r, i, &ns, why) && (best == N_ALGORITHMS || ns < best_ns)) {
            best = i;
            best_ns = ns;
        }
    }
    if (best == N_ALGORITHMS)
        return ERR_UNSUPPORTED;
    snprintf(out->note, sizeof out->note, "algorithm %s, the fastest of %zu", algorithms[best].name, N_ALGORITHMS);
    return try_one(r, best, &best_ns, why);
}

static enum err prepare(struct rnn *r, struct contender *out, struct why *why)
{
    const struct task *t = r->peer.task;
    const size_t elem = dtype_bytes(t->workload.dtype), n_h = (size_t)(t->rnn.l * t->rnn.b * t->rnn.h) * elem;
    enum err e = status(cuda_libs.cudnnCreate(&r->handle), "cudnnCreate", why);

    if (!e)
        e = status(cuda_libs.cudnnSetStream(r->handle, r->peer.stream), "cudnnSetStream", why);
    if (!e)
        e = status(cuda_libs.cudnnCreateRNNDescriptor(&r->desc), "cudnnCreateRNNDescriptor", why);
    if (!e)
        e = status(cuda_libs.cudnnCreateDropoutDescriptor(&r->dropout), "cudnnCreateDropoutDescriptor", why);
    if (!e)
        e = status(cuda_libs.cudnnSetDropoutDescriptor(r->dropout, r->handle, 0, NULL, 0, 0),
                   "cudnnSetDropoutDescriptor", why);
    if (!e)
        e = describe_data(r, why);
    if (e)
        return e;
    r->x = cuda_peer_tensor(&r->peer, t->x, t->n_x, t->workload.dtype, why);
    r->y = cuda_peer_buffer(&r->peer, NULL, (size_t)t->n_y * elem, why);
    r->h = cuda_peer_buffer(&r->peer, NULL, n_h, why);
    r->c = cuda_peer_buffer(&r->peer, NULL, n_h, why);
    if (!r->x || !r->y || !r->h || !r->c)
        return ERR_DEVICE;
    e = choose(r, out, why);
    if (!e)
        cuda_peer_capture(&r->peer);
    return e;
}

enum err cudnn_rnn(const struct task *t, struct contender *out, struct why *why)
{
    enum err e = cuda_peer_fits(t, 1u << DTYPE_F32 | 1u << DTYPE_F16, why);
    struct rnn *r;

    if (!e && (t->kind != TASK_RNN || strcmp(t->rnn.pass, "fwd") != 0))
        e = why_set(why, ERR_UNSUPPORTED, "not compared here");
    snprintf(out->name, sizeof out->name, "cuDNN");
    if (!e)
        e = cuda_libs_cudnn(why);
    r = e ? NULL : calloc(1, sizeof *r);
    if (!r)
        return e ? e : ERR_NOMEM;
    r->peer.enqueue = enqueue;
    r->peer.fini = fini;
    e = cuda_peer_begin(&r->peer, t, out, why);
    return e ? e : prepare(r, out, why);
}
