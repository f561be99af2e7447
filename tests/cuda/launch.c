/* SPDX-License-Identifier: MIT */
/* launch.c - launches: their limits are checked as a driver does, then they wait in their stream. */
#include "runtime/device_checks.h"
#include "tests/cuda/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parameters are copied when the call is made, as the driver does. */
static void **copy_params(const struct emu_kernel *k, void **params)
{
    size_t n_bytes = (size_t)k->n_params * sizeof(void *);
    void **copy;
    unsigned char *at;

    for (int i = 0; i < k->n_params; i++)
        n_bytes += (size_t)(k->param_bytes[i] + 15) / 16 * 16;
    copy = malloc(n_bytes + 16);
    if (!copy)
        return NULL;
    at = (unsigned char *)(copy + k->n_params);
    for (int i = 0; i < k->n_params; i++) {
        copy[i] = at;
        memcpy(at, params[i], k->param_bytes[i]);
        at += (size_t)(k->param_bytes[i] + 15) / 16 * 16;
    }
    return copy;
}

static CUresult check_sizes(const struct CUfunc_st *f, struct emu_dim g, struct emu_dim b)
{
    const CUdevice d = f->module->context->device;
    const int64_t registers = environment_number("TUNE_CUDA_REGS", 0), threads = (int64_t)b.x * b.y * b.z;

    if (!g.x || !g.y || !g.z || !threads || g.x > 2147483647u || g.y > 65535 || g.z > 65535)
        return CUDA_ERROR_INVALID_VALUE;
    if (b.x > 1024 || b.y > 1024 || b.z > 64 || threads > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (f->kernel->max_threads && threads > f->kernel->max_threads)
        return CUDA_ERROR_INVALID_VALUE;
    if (registers * threads > device_attribute(d, 12))
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return CUDA_SUCCESS;
}

static CUresult check_shared(const struct CUfunc_st *f, unsigned dynamic_bytes)
{
    if (f->static_bytes > (size_t)device_attribute(f->module->context->device, 8))
        return CUDA_ERROR_INVALID_VALUE;
    return (int64_t)dynamic_bytes > f->dynamic_max ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult put_kernel(CUfunction f, struct emu_dim g, struct emu_dim b, unsigned dynamic_bytes, CUstream s,
                           void **params, bool cooperative)
{
    struct work *w;
    CUresult e = stream_find(s, &s);

    if (!e)
        e = check_sizes(f, g, b);
    if (!e)
        e = check_shared(f, dynamic_bytes);
    if (!e && f->kernel->n_params && !params)
        e = CUDA_ERROR_INVALID_VALUE;
    if (e)
        return e;
    w = work_new(WORK_KERNEL);
    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->kernel.function = f;
    w->kernel.grid = g;
    w->kernel.block = b;
    w->kernel.dynamic_bytes = dynamic_bytes;
    w->kernel.cooperative = cooperative;
    w->kernel.params = copy_params(f->kernel, params);
    if (!w->kernel.params) {
        work_free(w);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return stream_put(s, w);
}

static CUresult enter(const char *name, CUfunction f, struct emu_dim g, struct emu_dim b, unsigned bytes, CUstream s)
{
    const bool known = f && f->magic == MAGIC_FUNCTION;
    const CUresult e =
        driver_enter(CALL_LAUNCH, name, "%s grid=%u,%u,%u block=%u,%u,%u shared=%u stream=%d",
                     known ? f->kernel->name : "?", g.x, g.y, g.z, b.x, b.y, b.z, bytes, s > (CUstream)2 ? s->id : 0);

    if (e)
        return e;
    return known ? CUDA_SUCCESS : driver_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned dynamic_bytes, CUstream s, void **params, void **extra)
{
    const struct emu_dim g = {gx, gy, gz}, b = {bx, by, bz};
    const CUresult e = enter("cuLaunchKernel", f, g, b, dynamic_bytes, s);

    if (e)
        return e;
    return driver_leave(extra ? CUDA_ERROR_NOT_SUPPORTED : put_kernel(f, g, b, dynamic_bytes, s, params, false));
}

/* All blocks must fit at a time; they run as processes of their own and may wait for each other. */
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned dynamic_bytes, CUstream s, void **params)
{
    const struct emu_dim g = {gx, gy, gz}, b = {bx, by, bz};
    const CUresult e = enter("cuLaunchCooperativeKernel", f, g, b, dynamic_bytes, s);
    const int64_t warps = ((int64_t)bx * by * bz + EMU_WARP - 1) / EMU_WARP;
    CUdevice d;

    if (e)
        return e;
    d = f->module->context->device;
    if ((int64_t)gx * gy * gz * warps * EMU_WARP > (int64_t)device_attribute(d, 39) * device_attribute(d, 16))
        return driver_leave(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    return driver_leave(put_kernel(f, g, b, dynamic_bytes, s, params, true));
}

/* What lies around what the kernel is told of: the bands of runtime/cuda_load.c; none where they may be read, as on
 * devices (TUNE_CUDA_BANDS). */
static size_t band_of(const struct work *w, const struct memory *m)
{
    const struct emu_kernel *k = w->kernel.function->kernel;

    for (int i = 0; i < k->n_params && m->n_bytes > 2 * GUARD_BYTES && !getenv("TUNE_CUDA_BANDS"); i++) {
        const unsigned char *p;

        if (k->param_bytes[i] != sizeof p)
            continue;
        memcpy(&p, w->kernel.params[i], sizeof p);
        if (p == m->at + GUARD_BYTES)
            return GUARD_BYTES;
    }
    return 0;
}

/* The context's buffers that are watched: malloc()ed. */
static struct apart_buffer *buffers_of(const struct work *w, const struct CUctx_st *c, size_t *n)
{
    struct apart_buffer *list;

    *n = 0;
    for (const struct memory *m = c->memory; m; m = m->next)
        *n += m->touches != NULL;
    list = calloc(*n + 1, sizeof *list);
    *n = 0;
    for (const struct memory *m = c->memory; m && list; m = m->next)
        if (m->touches)
            list[(*n)++] = (struct apart_buffer){m->at, m->n_bytes, m->touches, band_of(w, m)};
    return list;
}

CUresult kernel_run(const struct work *w, uint64_t seed)
{
    const struct CUmod_st *m = w->kernel.function->module;
    struct block_shared *shared = calloc(m->n_shared + 1, sizeof *shared);
    size_t n_buffers;
    struct apart_buffer *buffers = buffers_of(w, m->context, &n_buffers);
    struct block_launch l = {.module = m->object,
                             .kernel = w->kernel.function->kernel,
                             .params = w->kernel.params,
                             .grid = w->kernel.grid,
                             .size = w->kernel.block,
                             .dynamic_bytes = w->kernel.dynamic_bytes,
                             .shared = shared,
                             .n_shared = m->n_shared,
                             .buffers = buffers,
                             .n_buffers = n_buffers,
                             .seed = seed,
                             .together = w->kernel.cooperative};
    char words[256];
    CUresult e;

    if (!shared || !buffers) {
        free(shared);
        free(buffers);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < m->n_shared; i++)
        shared[i] = m->shared[i].range;
    e = block_run_all(&l, words);
    if (e) {
        driver_note("  kernel %s: %d, %s", l.kernel->name, e, words);
        if (environment_number("TUNE_CUDA_VERBOSE", 0))
            fprintf(stderr, "emulated CUDA: kernel %s: %d, %s\n", l.kernel->name, e, words);
    }
    free(shared);
    free(buffers);
    return e;
}
