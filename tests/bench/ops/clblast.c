/* SPDX-License-Identifier: MIT */
/* clblast.c - CLBlast as a peer, on the same OpenCL device as our kernels, in a context of its own. */
#include "tests/bench/ops/contender.h"

#ifdef HAVE_CLBLAST
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <clblast_c.h>
#include <stdio.h>
#include <stdlib.h>

struct blast {
    const struct task *task;
    cl_context context;
    cl_command_queue queue;
    cl_mem x, w, y;
};

static CLBlastStatusCode convolve(struct blast *b)
{
    const struct conv_sizes *s = &b->task->conv;

    return CLBlastSconvgemm(CLBlastKernelModeCrossCorrelation, (size_t)s->c, (size_t)s->h, (size_t)s->w, (size_t)s->r,
                            (size_t)s->s, (size_t)s->pad[0], (size_t)s->pad[1], (size_t)s->stride[0],
                            (size_t)s->stride[1], (size_t)s->dilation[0], (size_t)s->dilation[1], (size_t)s->k,
                            (size_t)s->n, b->x, 0, b->w, 0, b->y, 0, &b->queue, NULL);
}

static CLBlastStatusCode multiply(struct blast *b)
{
    const struct gemm_sizes *s = &b->task->gemm;

    if (s->b == 1)
        return CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeYes, (size_t)s->m, (size_t)s->n,
                            (size_t)s->k, 1, b->x, 0, (size_t)s->k, b->w, 0, (size_t)s->k, 0, b->y, 0, (size_t)s->n,
                            &b->queue, NULL);
    return CLBlastSgemmStridedBatched(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeYes, (size_t)s->m,
                                      (size_t)s->n, (size_t)s->k, 1, b->x, 0, (size_t)s->k, (size_t)(s->m * s->k), b->w,
                                      0, (size_t)s->k, (size_t)(s->n * s->k), 0, b->y, 0, (size_t)s->n,
                                      (size_t)(s->m * s->n), (size_t)s->b, &b->queue, NULL);
}

static enum err run(struct contender *c, struct why *why)
{
    struct blast *b = c->own;
    const CLBlastStatusCode status = b->task->kind == TASK_CONV ? convolve(b) : multiply(b);

    if (status != CLBlastSuccess)
        return why_set(why, ERR_DEVICE, "CLBlast answers %d", (int)status);
    if (clFinish(b->queue) != CL_SUCCESS)
        return why_set(why, ERR_DEVICE, "clFinish fails");
    return ERR_OK;
}

static enum err output(struct contender *c, float *y, struct why *why)
{
    struct blast *b = c->own;
    const size_t n = (size_t)b->task->n_y * sizeof *y;

    if (clEnqueueReadBuffer(b->queue, b->y, CL_TRUE, 0, n, y, 0, NULL, NULL) != CL_SUCCESS)
        return why_set(why, ERR_DEVICE, "clEnqueueReadBuffer fails");
    return ERR_OK;
}

static void fini(struct contender *c)
{
    struct blast *b = c->own;
    const cl_mem mems[] = {b->x, b->w, b->y};

    for (size_t i = 0; i < sizeof mems / sizeof mems[0]; i++)
        if (mems[i])
            clReleaseMemObject(mems[i]);
    if (b->queue)
        clReleaseCommandQueue(b->queue);
    if (b->context)
        clReleaseContext(b->context);
    free(b);
}

static cl_mem buffer(cl_context context, float *data, int64_t n)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0);

    return clCreateBuffer(context, flags, (size_t)n * sizeof *data, data, NULL);
}

/* Device "p.d", "" = 0.0. */
static cl_device_id pick(const char *selector)
{
    unsigned i_platform = 0, i_device = 0;
    cl_platform_id platforms[16];
    cl_device_id devices[16];
    cl_uint n = 0;

    (void)sscanf(selector, "%u.%u", &i_platform, &i_device);
    if (i_platform >= 16 || clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS || i_platform >= n)
        return NULL;
    if (i_device >= 16 || clGetDeviceIDs(platforms[i_platform], CL_DEVICE_TYPE_ALL, 16, devices, &n) != CL_SUCCESS)
        return NULL;
    return i_device < n ? devices[i_device] : NULL;
}

static enum err prepare(struct blast *b, struct why *why)
{
    const struct task *t = b->task;
    cl_device_id device = pick(t->selector);

    b->context = device ? clCreateContext(NULL, 1, &device, NULL, NULL, NULL) : NULL;
    if (!b->context)
        return why_set(why, ERR_DEVICE, "no OpenCL context for CLBlast");
    b->queue = clCreateCommandQueue(b->context, device, 0, NULL);
    b->x = buffer(b->context, t->x, t->n_x);
    b->w = buffer(b->context, t->w, t->n_w);
    b->y = buffer(b->context, NULL, t->n_y);
    if (!b->queue || !b->x || !b->w || !b->y)
        return why_set(why, ERR_DEVICE, "no queue or buffers for CLBlast");
    return ERR_OK;
}

static enum err computes(const struct task *t, struct why *why)
{
    const struct conv_sizes *s = &t->conv;

    if (t->workload.dtype != DTYPE_F32 || (t->kind != TASK_CONV && t->kind != TASK_GEMM))
        return why_set(why, ERR_UNSUPPORTED, "not compared here");
    if (t->kind == TASK_CONV && (s->pad[0] != s->pad[2] || s->pad[1] != s->pad[3] || s->groups > 1))
        return why_set(why, ERR_UNSUPPORTED, "no groups, no other padding at the end");
    return ERR_OK;
}

enum err clblast(const struct task *t, struct contender *out, struct why *why)
{
    const enum err e = computes(t, why);
    struct blast *b = e ? NULL : calloc(1, sizeof *b);

    snprintf(out->name, sizeof out->name, "CLBlast %s", t->kind == TASK_CONV ? "Sconvgemm" : "Sgemm");
    snprintf(out->note, sizeof out->note, "%s", "its defaults for a CPU, not tuned here");
    out->class = CLASS_BASELINE;
    if (!b)
        return e ? e : ERR_NOMEM;
    out->own = b;
    out->run = run;
    out->output = output;
    out->fini = fini;
    b->task = t;
    return prepare(b, why);
}

#else

enum err clblast(const struct task *t, struct contender *out, struct why *why)
{
    (void)t;
    (void)out;
    return why_set(why, ERR_NOT_FOUND, "built without CLBlast (Debian: libclblast-dev)");
}

#endif
