/* SPDX-License-Identifier: MIT */
/* cuda_load.c - a program onto the device: limits, modules, buffers with their bands, functions. */
#include "core/clock.h"
#include "runtime/cuda.h"
#include "runtime/fill_cache.h"
#include "runtime/plan_of.h"

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

/* Copies go through stream 0, never the default stream, and are waited for: memory of the host that is not pinned may
 * otherwise arrive after the call's return. */
static enum err copied(struct loaded *l, cuda_result error, struct why *why, const char *what)
{
    if (!error)
        error = cuda.cuStreamSynchronize(l->launches.streams[0]);
    return error ? cuda_blame(l->device, l, why, what, error) : ERR_OK;
}

static enum err make_mem(struct loaded *l, size_t i, cuda_ptr *out, struct why *why)
{
    const struct program_buffer *b = &l->program.buffers[i];
    const size_t n = buffer_bytes(b) + 2 * GUARD_BYTES;
    char what[PROGRAM_ID_BYTES + 64];
    const cuda_result error = cuda.cuMemAlloc_v2(out, n);

    if (!error) {
        *out += GUARD_BYTES; /* what kernels see; released by where it begins */
        return ERR_OK;
    }
    *out = 0;
    snprintf(what, sizeof what, "buffer '%s' of %zu bytes", b->id, n);
    return cuda_blame(l->device, NULL, why, what, error);
}

enum err cuda_write(struct loaded *l, int i_buffer, const void *data, struct why *why)
{
    const size_t n = buffer_bytes(&l->program.buffers[i_buffer]);
    enum err e = cuda_enter(l->device, why);
    cuda_result error;

    assert((size_t)i_buffer < l->program.n_buffers && l->launches.mems[i_buffer]);
    if (e)
        return e;
    error = cuda.cuMemcpyHtoDAsync_v2(l->launches.mems[i_buffer], data, n, l->launches.streams[0]);
    if (!error && l->pristine[i_buffer])
        error = cuda.cuMemcpyDtoDAsync_v2(l->pristine[i_buffer], l->launches.mems[i_buffer], n, l->launches.streams[0]);
    return copied(l, error, why, "writing a buffer");
}

enum err cuda_read(struct loaded *l, int i_buffer, void *data, struct why *why)
{
    const size_t n = buffer_bytes(&l->program.buffers[i_buffer]);
    const enum err e = cuda_enter(l->device, why);

    assert((size_t)i_buffer < l->program.n_buffers && l->launches.mems[i_buffer]);
    if (e)
        return e;
    return copied(l, cuda.cuMemcpyDtoHAsync_v2(data, l->launches.mems[i_buffer], n, l->launches.streams[0]), why,
                  "reading a buffer");
}

/* The band before a buffer, or the one behind it. */
static cuda_ptr band_at(const struct loaded *l, size_t i, bool is_behind)
{
    return is_behind ? l->launches.mems[i] + buffer_bytes(&l->program.buffers[i]) : l->launches.mems[i] - GUARD_BYTES;
}

enum err cuda_poison(struct loaded *l, int byte, struct why *why)
{
    enum err e;

    if (byte == POISON_OFF || byte == l->guards)
        return ERR_OK;
    e = cuda_enter(l->device, why);
    l->guards = byte;
    for (size_t i = 0; !e && i < 2 * l->program.n_buffers; i++)
        e = copied(l,
                   cuda.cuMemsetD8Async(band_at(l, i / 2, i % 2), guard_byte(&l->program.buffers[i / 2], byte),
                                        GUARD_BYTES, l->launches.streams[0]),
                   why, "writing a buffer's band");
    return e;
}

enum err cuda_check_guards(struct loaded *l, struct why *why)
{
    unsigned char *band = malloc(GUARD_BYTES);
    enum err e = band ? cuda_enter(l->device, why) : ERR_NOMEM;

    for (size_t i = 0; l->guards != POISON_OFF && !e && i < 2 * l->program.n_buffers; i++) {
        e = copied(l, cuda.cuMemcpyDtoHAsync_v2(band, band_at(l, i / 2, i % 2), GUARD_BYTES, l->launches.streams[0]),
                   why, "reading a buffer's band");
        if (!e)
            e = guard_check(&l->program.buffers[i / 2], l->guards, i % 2, band, GUARD_BYTES, why);
    }
    free(band);
    return e;
}

static enum err make_buffer(struct loaded *l, size_t i, const struct blobs *blobs, struct why *why)
{
    const struct program_buffer *b = &l->program.buffers[i];
    struct fill_use use = {.data = NULL};
    enum err e = fill_lend(&b->fill, b->dtype, b->n_elems, blobs, &use);

    if (e)
        why_set(why, e, "fill of buffer '%s': %s", b->id, err_words(e));
    if (!e)
        e = make_mem(l, i, &l->launches.mems[i], why);
    if (!e && b->reset_each_run)
        e = make_mem(l, i, &l->pristine[i], why);
    if (!e)
        e = cuda_write(l, (int)i, use.data, why);
    fill_done(&use);
    return e;
}

/* Loading. */

static enum err make_modules(struct loaded *l, const struct blobs *blobs, const char *cache_dir,
                             struct load_report *report, struct cuda_figures *figures, struct why *why)
{
    const int64_t start_ns = clock_now_ns();
    enum err e = ERR_OK;

    report->build_cached = l->program.n_modules > 0;
    for (size_t i = 0; !e && i < l->program.n_modules; i++)
        e = cuda_module_load(l->device, &l->program.modules[i], blobs, cache_dir, &l->modules[i], report, figures, why);
    report->build_ns = clock_now_ns() - start_ns;
    return e;
}

static enum err new_loaded(struct device *d, const struct program *p, struct loaded **out, struct why *why)
{
    struct loaded *l = calloc(1, sizeof *l);
    enum err e = l ? program_copy(p, &l->program, why) : ERR_NOMEM;

    if (e) {
        free(l);
        return e;
    }
    l->device = d;
    l->guards = POISON_OFF;
    l->modules = calloc(p->n_modules + 1, sizeof *l->modules);
    l->pristine = calloc(p->n_buffers + 1, sizeof *l->pristine);
    *out = l;
    return l->modules && l->pristine ? plan_of_launches(&l->program, &l->plan, why) : ERR_NOMEM;
}

static void drop_own(struct loaded *l)
{
    if (l->replay.graph)
        cuda.cuGraphExecDestroy(l->replay.graph);
    if (l->start)
        cuda.cuEventDestroy_v2(l->start);
    if (l->end)
        cuda.cuEventDestroy_v2(l->end);
    if (l->launches.streams[0])
        cuda.cuStreamDestroy_v2(l->launches.streams[0]);
}

/* After a broken context everything here fails and frees nothing: the process is at its end. */
void cuda_unload(struct loaded *l)
{
    if (!l)
        return;
    (void)cuda.cuCtxSetCurrent(l->device->context);
    drop_own(l);
    for (size_t i = 0; l->launches.mems && l->pristine && i < l->program.n_buffers; i++) {
        if (l->launches.mems[i])
            cuda.cuMemFree_v2(l->launches.mems[i] - GUARD_BYTES);
        if (l->pristine[i])
            cuda.cuMemFree_v2(l->pristine[i] - GUARD_BYTES);
    }
    exec_cu_launches_fini(&l->launches);
    for (size_t i = 0; l->modules && i < l->program.n_modules; i++)
        if (l->modules[i])
            cuda.cuModuleUnload(l->modules[i]);
    free(l->modules);
    free(l->pristine);
    plan_free(l->plan);
    program_fini(&l->program);
    free(l);
}

static enum err load_all(struct loaded *l, const struct blobs *blobs, const char *cache_dir, struct load_report *report,
                         struct why *why)
{
    struct cuda_figures figures = {.list = NULL};
    enum err e = make_modules(l, blobs, cache_dir, report, &figures, why);

    if (!e)
        e = cuda_make_launches(l, &figures, report, why);
    for (size_t i = 0; !e && i < l->program.n_buffers; i++)
        e = make_buffer(l, i, blobs, why);
    free(figures.list);
    return e;
}

enum err cuda_load(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                   struct loaded **out, struct load_report *report, struct why *why)
{
    struct load_report unwanted = {0}, *r = report ? report : &unwanted;
    struct loaded *l = NULL;
    enum err e;

    *r = (struct load_report){0};
    e = cuda_check_limits(&d->desc, p, why);
    if (!e)
        e = cuda_enter(d, why);
    if (!e)
        e = new_loaded(d, p, &l, why);
    if (!e)
        e = load_all(l, blobs, cache_dir, r, why);
    free(unwanted.log);
    if (e)
        cuda_unload(l);
    else
        *out = l;
    return e;
}
