/* SPDX-License-Identifier: MIT */
/* cuda_load.c - a program onto the device: limits, modules, buffers with their bands, functions. */
#include "runtime/cuda.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GRID_X 2147483647LL

/* Limits that are known before anything is built. */

static enum err check_languages(const struct program *p, struct why *why)
{
    for (size_t i = 0; i < p->n_modules; i++) {
        const enum program_lang lang = p->modules[i].lang;

        if (lang != LANG_CUDA_C && lang != LANG_PTX && lang != LANG_CUBIN)
            return why_set(why, ERR_LIMITS, "module '%s' is not CUDA C, PTX or a cubin", p->modules[i].id);
    }
    return ERR_OK;
}

static enum err check_launch(const struct device_desc *d, const struct program_launch *l, struct why *why)
{
    enum err e = check_group(d, l, why);

    for (int i = 0; !e && i < 3; i++)
        if (l->grid[i] > (i ? CUDA_MAX_GRID_YZ : MAX_GRID_X))
            e = why_set(why, ERR_LIMITS, "launch '%s': %lld blocks in dimension %d, at most %lld are possible", l->id,
                        (long long)l->grid[i], i, i ? (long long)CUDA_MAX_GRID_YZ : MAX_GRID_X);
    if (!e && l->dyn_local > d->local_max_bytes)
        e = why_set(why, ERR_LIMITS, "launch '%s': %lld bytes of shared memory, the device has %lld for a block", l->id,
                    (long long)l->dyn_local, (long long)d->local_max_bytes);
    for (size_t i = 0; !e && i < l->n_args; i++)
        if (l->args[i].kind == ARG_LOCAL)
            e = why_set(why, ERR_LIMITS, "launch '%s': local memory as an argument is OpenCL's, CUDA has dyn_local",
                        l->id);
    if (!e && l->cooperative && !cuda_arch_has(d, "cooperative"))
        e = why_set(why, ERR_LIMITS, "launch '%s': the device has no cooperative launches", l->id);
    return e;
}

enum err cuda_check_limits(const struct device_desc *d, const struct program *p, struct why *why)
{
    enum err e = check_needs(d, p, d->local_max_bytes, why);

    if (!e)
        e = check_languages(p, why);
    if (!e)
        e = check_memory(d, p, why);
    for (size_t i = 0; !e && i < p->n_launches; i++)
        if (p->launches[i].op == LAUNCH_KERNEL)
            e = check_launch(d, &p->launches[i], why);
    return e;
}

/* Buffers. */

static enum err make_mem(struct loaded *l, size_t i, cuda_ptr *out, struct why *why)
{
    const size_t n = load_part_bytes(&l->head, i, PART_BUFFER) + 2 * GUARD_BYTES;
    char what[PROGRAM_ID_BYTES + 64];
    const cuda_result error = cuda.cuMemAlloc_v2(out, n);

    if (!error) {
        *out += GUARD_BYTES; /* what kernels see; released by where it begins */
        return ERR_OK;
    }
    *out = 0;
    snprintf(what, sizeof what, "buffer '%s' of %zu bytes", l->head.program.buffers[i].id, n);
    return cuda_blame(l->device, NULL, why, what, error);
}

static enum err make(struct loaded *l, size_t i, struct why *why)
{
    const enum err e = make_mem(l, i, &l->mems[i], why);

    return e || !l->head.program.buffers[i].reset_each_run ? e : make_mem(l, i, &l->pristine[i], why);
}

static cuda_ptr place_of(const struct loaded *l, size_t i, enum load_part part)
{
    assert(l->mems[i]);
    return part == PART_PRISTINE ? l->pristine[i]
           : part == PART_BEFORE ? l->mems[i] - GUARD_BYTES
           : part == PART_BEHIND ? l->mems[i] + load_part_bytes(&l->head, i, PART_BUFFER)
                                 : l->mems[i];
}

/* Copies go through stream 0, never the default stream, and are waited for: memory of the host that is not pinned may
 * otherwise arrive after the call's return. */
static enum err copied(struct loaded *l, cuda_result error, struct why *why, const char *what)
{
    if (!error)
        error = cuda.cuStreamSynchronize(l->stream);
    return error ? cuda_blame(l->device, l, why, what, error) : ERR_OK;
}

static enum err put(struct loaded *l, size_t i, enum load_part part, const void *data, struct why *why)
{
    const enum err e = cuda_enter(l->device, why);
    const size_t n = load_part_bytes(&l->head, i, part);

    return e ? e
             : copied(l, cuda.cuMemcpyHtoDAsync_v2(place_of(l, i, part), data, n, l->stream), why, "writing a buffer");
}

static enum err get(struct loaded *l, size_t i, enum load_part part, void *data, struct why *why)
{
    const enum err e = cuda_enter(l->device, why);
    const size_t n = load_part_bytes(&l->head, i, part);

    return e ? e
             : copied(l, cuda.cuMemcpyDtoHAsync_v2(data, place_of(l, i, part), n, l->stream), why, "reading a buffer");
}

/* Loading. */

static enum err begin(struct loaded *l, struct device *d, struct why *why)
{
    const struct program *p = &l->head.program;
    enum err e = cuda_enter(d, why);
    cuda_result error;

    if (!e)
        e = cuda_hold_of(d, p, &l->hold, why);
    l->device = d;
    l->modules = calloc(p->n_modules + 1, sizeof *l->modules);
    l->mems = calloc(p->n_buffers + 1, sizeof *l->mems);
    l->pristine = calloc(p->n_buffers + 1, sizeof *l->pristine);
    if (e || !l->modules || !l->mems || !l->pristine)
        return e ? e : ERR_NOMEM;
    error = cuda.cuStreamCreate(&l->stream, CUDA_STREAM_NON_BLOCKING);
    if (!error)
        error = cuda.cuEventCreate(&l->start, CUDA_EVENT_TIMED);
    if (!error)
        error = cuda.cuEventCreate(&l->end, CUDA_EVENT_TIMED);
    return error ? cuda_blame(d, NULL, why, "making streams and events", error) : ERR_OK;
}

static enum err build(struct loaded *l, size_t i, const struct blobs *blobs, const char *cache_dir,
                      struct load_report *report, struct why *why)
{
    return cuda_module_load(l->device, &l->head.program.modules[i], blobs, cache_dir, &l->modules[i], report,
                            &l->figures, why);
}

/* What the built code says of itself. */

static int attribute(cuda_function f, enum cuda_function_attribute a)
{
    int v = 0;

    return cuda.cuFuncGetAttribute(&v, a, f) == 0 ? v : -1;
}

/* What the compiler told of a kernel of this name. */
static const struct kernel_resources *told(const struct cuda_figures *f, const char *kernel)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->list[i].kernel, kernel) == 0)
            return &f->list[i];
    return NULL;
}

static void add_resources(const struct program_launch *launch, cuda_function f, const struct cuda_figures *figures,
                          struct load_report *report)
{
    const struct kernel_resources *k = told(figures, launch->kernel);
    struct kernel_resources *r;

    for (int i = 0; i < report->n_resources; i++)
        if (strcmp(report->resources[i].kernel, launch->kernel) == 0)
            return;
    if (report->n_resources == LOAD_MAX_RESOURCES)
        return;
    assert(report->n_resources < LOAD_MAX_RESOURCES);
    r = &report->resources[report->n_resources++];
    *r = (struct kernel_resources){.registers = attribute(f, CUDA_FUNC_REGISTERS),
                                   .local_bytes = attribute(f, CUDA_FUNC_SHARED_BYTES),
                                   .spill_bytes = k ? k->spill_bytes : -1,
                                   .stack_bytes = attribute(f, CUDA_FUNC_LOCAL_BYTES),
                                   .constant_bytes = attribute(f, CUDA_FUNC_CONST_BYTES),
                                   .max_group = attribute(f, CUDA_FUNC_MAX_THREADS)};
    snprintf(r->kernel, sizeof r->kernel, "%s", launch->kernel);
}

static enum err make_launches(struct loaded *l, struct load_report *report, struct why *why)
{
    const struct exec_cu_limits limits = {(int)l->device->desc.units, (int)l->device->desc.local_max_bytes};
    struct exec_cu_launches *x = &l->launches;
    struct exec_words words = {""};
    const enum exec_status s = exec_cu_launches_init(&cuda.exec, l->head.plan, &limits, l->modules, l->mems, &words, x);
    char what[PROGRAM_ID_BYTES + 64] = "making streams and events";

    for (size_t i = 0; x->functions && i < l->head.program.n_launches; i++)
        if (x->functions[i])
            add_resources(&l->head.program.launches[i], x->functions[i], &l->figures, report);
    x->streams[0] = l->stream;
    if (s == EXEC_OK)
        return ERR_OK;
    if (s != EXEC_DEVICE_FAILED && !cuda_is_sticky(x->error))
        return load_failed(&l->head, x->i_launch, s, &words, why);
    if (x->i_launch >= 0)
        snprintf(what, sizeof what, "launch '%s'", l->head.program.launches[x->i_launch].id);
    return cuda_blame(l->device, NULL, why, what, x->error);
}

static void release(cuda_ptr *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        if (list[i])
            cuda.cuMemFree_v2(list[i] - GUARD_BYTES);
    free(list);
}

/* After a broken context everything here fails and frees nothing: the process is at its end. */
static void drop(struct loaded *l)
{
    const struct program *p = &l->head.program;

    (void)cuda.cuCtxSetCurrent(l->device->context);
    if (l->replay.graph)
        cuda.cuGraphExecDestroy(l->replay.graph);
    exec_cu_launches_fini(&l->launches);
    if (l->start)
        cuda.cuEventDestroy_v2(l->start);
    if (l->end)
        cuda.cuEventDestroy_v2(l->end);
    if (l->stream)
        cuda.cuStreamDestroy_v2(l->stream);
    release(l->mems, p->n_buffers);
    release(l->pristine, p->n_buffers);
    for (size_t i = 0; l->modules && i < p->n_modules; i++)
        if (l->modules[i])
            cuda.cuModuleUnload(l->modules[i]);
    free(l->modules);
    free(l->figures.list);
}

static const struct load_api load_api = {
    .bytes = sizeof(struct loaded),
    .check = cuda_check_limits,
    .begin = begin,
    .build = build,
    .make = make,
    .put = put,
    .get = get,
    .make_launches = make_launches,
    .drop = drop,
};

enum err cuda_load(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                   struct loaded **out, struct load_report *report, struct why *why)
{
    return load_program(&load_api, d, &d->desc, p, blobs, cache_dir, out, report, why);
}
