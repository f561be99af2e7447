/* SPDX-License-Identifier: MIT */
/* cudnn_conv.c - cuDNN's convolution as a peer: f32 with CUDNN_FMA_MATH (no TF32), f16 and bf16 on tensor cores, i8
 * with i8 outputs in blocks of 4 channels (dp4a), in blocks of 32 and with channels last (tensor cores). All algorithms
 * in all layouts of a dtype are tried on the device and the fastest is taken, with a workspace of at most WORKSPACE
 * bytes. Weights are left as they are: cuDNN's own transforms of them are in its time (blocks of 32: they count as
 * reordered).
 */
#include "tests/bench/ops/cuda_libs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE ((size_t)256 << 20)
#define MAX_ALGORITHMS 16

struct conv {
    struct cuda_peer peer; /* first */
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x_desc, y_desc;
    cudnnFilterDescriptor_t w_desc;
    cudnnConvolutionDescriptor_t desc;
    cudnnConvolutionFwdAlgo_t algorithm;
    void *x, *w, *y, *space;
};

/* How a dtype can be asked for; channels of a group have to be multiples of `lanes`. */
static const struct form {
    enum dtype dtype;
    int lanes;
    cudnnDataType_t type, sums;
    cudnnTensorFormat_t layout;
    cudnnMathType_t math;
    const char *name;
} forms[] = {
    {DTYPE_F32, 1, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, CUDNN_FMA_MATH, "nchw"},
    {DTYPE_F16, 1, CUDNN_DATA_HALF, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, CUDNN_TENSOR_OP_MATH, "nhwc"},
    {DTYPE_BF16, 1, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, CUDNN_TENSOR_OP_MATH, "nhwc"},
    {DTYPE_I8, 4, CUDNN_DATA_INT8x4, CUDNN_DATA_INT32, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DEFAULT_MATH, "nchw4c"},
    {DTYPE_I8, 32, CUDNN_DATA_INT8x32, CUDNN_DATA_INT32, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_TENSOR_OP_MATH, "nchw32c"},
    {DTYPE_I8, 4, CUDNN_DATA_INT8, CUDNN_DATA_INT32, CUDNN_TENSOR_NHWC, CUDNN_DEFAULT_MATH, "nhwc"},
};
#define N_FORMS (sizeof forms / sizeof forms[0])

static enum err status(cudnnStatus_t s, const char *call, struct why *why)
{
    if (s == CUDNN_STATUS_SUCCESS)
        return ERR_OK;
    return why_set(why, ERR_DEVICE, "%s: %s", call, cuda_libs.cudnnGetErrorString(s));
}

static enum err enqueue(struct cuda_peer *p, struct why *why)
{
    struct conv *c = (struct conv *)p;
    const float one = 1, zero = 0;

    return status(cuda_libs.cudnnConvolutionForward(c->handle, &one, c->x_desc, c->x, c->w_desc, c->w, c->desc,
                                                    c->algorithm, c->space, WORKSPACE, &zero, c->y_desc, c->y),
                  "cudnnConvolutionForward", why);
}

static void fini(struct cuda_peer *p)
{
    struct conv *c = (struct conv *)p;

    if (c->desc)
        cuda_libs.cudnnDestroyConvolutionDescriptor(c->desc);
    if (c->w_desc)
        cuda_libs.cudnnDestroyFilterDescriptor(c->w_desc);
    if (c->x_desc)
        cuda_libs.cudnnDestroyTensorDescriptor(c->x_desc);
    if (c->y_desc)
        cuda_libs.cudnnDestroyTensorDescriptor(c->y_desc);
    if (c->handle)
        cuda_libs.cudnnDestroy(c->handle);
}

static enum err describe_tensors(struct conv *c, const struct conv_sizes *s, const struct form *f, struct why *why)
{
    enum err e = status(
        cuda_libs.cudnnSetTensor4dDescriptor(c->x_desc, f->layout, f->type, (int)s->n, (int)s->c, (int)s->h, (int)s->w),
        "cudnnSetTensor4dDescriptor(x)", why);

    if (!e)
        e = status(cuda_libs.cudnnSetTensor4dDescriptor(c->y_desc, f->layout, f->type, (int)s->n, (int)s->k, (int)s->p,
                                                        (int)s->q),
                   "cudnnSetTensor4dDescriptor(y)", why);
    return e ? e
             : status(cuda_libs.cudnnSetFilter4dDescriptor(c->w_desc, f->type, f->layout, (int)s->k,
                                                           (int)(s->c / s->groups), (int)s->r, (int)s->s),
                      "cudnnSetFilter4dDescriptor", why);
}

static enum err describe(struct conv *c, const struct conv_sizes *s, const struct form *f, struct why *why)
{
    enum err e = describe_tensors(c, s, f, why);

    if (!e)
        e = status(cuda_libs.cudnnSetConvolution2dDescriptor(c->desc, (int)s->pad[0], (int)s->pad[1], (int)s->stride[0],
                                                             (int)s->stride[1], (int)s->dilation[0],
                                                             (int)s->dilation[1], CUDNN_CROSS_CORRELATION, f->sums),
                   "cudnnSetConvolution2dDescriptor", why);
    if (!e)
        e = status(cuda_libs.cudnnSetConvolutionGroupCount(c->desc, (int)s->groups), "cudnnSetConvolutionGroupCount",
                   why);
    if (!e && f->lanes == 32)
        e = status(cuda_libs.cudnnSetConvolutionReorderType(c->desc, CUDNN_NO_REORDER),
                   "cudnnSetConvolutionReorderType", why);
    return e ? e : status(cuda_libs.cudnnSetConvolutionMathType(c->desc, f->math), "cudnnSetConvolutionMathType", why);
}

static enum err make_descriptors(struct conv *c, struct why *why)
{
    enum err e = status(cuda_libs.cudnnCreateTensorDescriptor(&c->x_desc), "cudnnCreateTensorDescriptor", why);

    if (!e)
        e = status(cuda_libs.cudnnCreateTensorDescriptor(&c->y_desc), "cudnnCreateTensorDescriptor", why);
    if (!e)
        e = status(cuda_libs.cudnnCreateFilterDescriptor(&c->w_desc), "cudnnCreateFilterDescriptor", why);
    return e ? e
             : status(cuda_libs.cudnnCreateConvolutionDescriptor(&c->desc), "cudnnCreateConvolutionDescriptor", why);
}

/* What was found fastest so far. */
struct best {
    const struct form *form; /* NULL = none */
    cudnnConvolutionFwdAlgoPerf_t perf;
    double ns;
    int n_tried;
};

static enum err use(struct conv *c, const struct form *f, const cudnnConvolutionFwdAlgoPerf_t *p, struct why *why)
{
    const enum err e = describe(c, &c->peer.task->conv, f, why);

    c->algorithm = p->algo;
    return e ? e
             : status(cuda_libs.cudnnSetConvolutionMathType(c->desc, p->mathType), "cudnnSetConvolutionMathType", why);
}

/* The fastest algorithm of one form that works, of those with the math that was asked for: by our own clock. cuDNN's
 * own search runs each once, and with it loads it. */
static enum err try_form(struct conv *c, const struct form *f, struct best *best, struct why *why)
{
    cudnnConvolutionFwdAlgoPerf_t found[MAX_ALGORITHMS];
    int n = 0;
    enum err e = describe(c, &c->peer.task->conv, f, why);

    if (!e)
        e = status(cuda_libs.cudnnFindConvolutionForwardAlgorithmEx(c->handle, c->x_desc, c->x, c->w_desc, c->w,
                                                                    c->desc, c->y_desc, c->y, MAX_ALGORITHMS, &n, found,
                                                                    c->space, WORKSPACE),
                   "cudnnFindConvolutionForwardAlgorithmEx", why);
    for (int i = 0; !e && i < n; i++) {
        const cudnnConvolutionFwdAlgoPerf_t *p = &found[i];
        struct why unfit = {""};
        double ns = 0;

        if (p->status != CUDNN_STATUS_SUCCESS || (f->math == CUDNN_FMA_MATH && p->mathType != CUDNN_FMA_MATH) ||
            use(c, f, p, &unfit) || cuda_peer_least(&c->peer, &ns, &unfit))
            continue;
        best->n_tried++;
        if (!best->form || ns < best->ns) {
            best->form = f;
            best->perf = *p;
            best->ns = ns;
        }
    }
    return e;
}

static enum err choose(struct conv *c, struct contender *out, struct why *why)
{
    const struct task *t = c->peer.task;
    const struct conv_sizes *s = &t->conv;
    struct best best = {.form = NULL};
    enum err e = ERR_OK;

    for (size_t i = 0; i < N_FORMS; i++)
        if (forms[i].dtype == t->workload.dtype && s->c / s->groups % forms[i].lanes == 0 &&
            s->k / s->groups % forms[i].lanes == 0)
            e = try_form(c, &forms[i], &best, why);
    if (!best.form)
        return e ? e : why_set(why, ERR_UNSUPPORTED, "no algorithm");
    snprintf(out->note, sizeof out->note, "fastest of %d: %s, algorithm %d, math %d, workspace %zu KiB", best.n_tried,
             best.form->name, (int)best.perf.algo, (int)best.perf.mathType, best.perf.memory >> 10);
    return use(c, best.form, &best.perf, why);
}

static enum err prepare(struct conv *c, struct contender *out, struct why *why)
{
    const struct task *t = c->peer.task;
    const enum dtype dtype = t->workload.dtype;
    enum err e = status(cuda_libs.cudnnCreate(&c->handle), "cudnnCreate", why);

    if (!e)
        e = status(cuda_libs.cudnnSetStream(c->handle, c->peer.stream), "cudnnSetStream", why);
    if (!e)
        e = make_descriptors(c, why);
    if (e)
        return e;
    c->x = cuda_peer_tensor(&c->peer, t->x, t->n_x, dtype, why);
    c->w = cuda_peer_tensor(&c->peer, t->w, t->n_w, dtype, why);
    c->y = cuda_peer_buffer(&c->peer, NULL, (size_t)t->n_y * dtype_bytes(dtype), why);
    c->space = cuda_peer_buffer(&c->peer, NULL, WORKSPACE, why);
    if (!c->x || !c->w || !c->y || !c->space)
        return ERR_DEVICE;
    e = choose(c, out, why);
    if (e)
        return e;
    if (dtype == DTYPE_F32)
        cuda_peer_outputs(&c->peer, c->y, out);
    cuda_peer_capture(&c->peer);
    return ERR_OK;
}

static enum err computes(const struct task *t, struct why *why)
{
    const struct conv_sizes *s = &t->conv;
    enum err e = cuda_peer_fits(t, 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_BF16 | 1u << DTYPE_I8, why);

    if (e || t->kind != TASK_CONV)
        return e ? e : why_set(why, ERR_UNSUPPORTED, "not compared here");
    if (s->pad[0] != s->pad[2] || s->pad[1] != s->pad[3])
        return why_set(why, ERR_UNSUPPORTED, "no other padding at the end");
    if (t->workload.dtype == DTYPE_I8 && (s->c / s->groups % 4 || s->k / s->groups % 4))
        return why_set(why, ERR_UNSUPPORTED, "channels by fours only");
    return ERR_OK;
}

enum err cudnn_conv(const struct task *t, struct contender *out, struct why *why)
{
    enum err e = computes(t, why);
    struct conv *c;

    snprintf(out->name, sizeof out->name, "cuDNN");
    if (!e)
        e = cuda_libs_cudnn(why);
    c = e ? NULL : calloc(1, sizeof *c);
    if (!c)
        return e ? e : ERR_NOMEM;
    c->peer.enqueue = enqueue;
    c->peer.fini = fini;
    e = cuda_peer_begin(&c->peer, t, out, why);
    if (e)
        return e;
    e = prepare(c, out, why);
    if (c->peer.graph)
        strncat(out->note, ", as a graph", sizeof out->note - strlen(out->note) - 1);
    if (t->workload.dtype != DTYPE_F32)
        out->class = CLASS_BLOCKED;
    return e;
}
