/* SPDX-License-Identifier: MIT */
/* opencl.c - the OpenCL backend: opens devices, loads programs, runs their launches with profiling. */
#include "runtime/opencl.h"

#include "core/clock.h"
#include "exec/exec_cl_launch.h"
#include "runtime/device_checks.h"
#include "runtime/fill_cache.h"
#include "runtime/opencl_binary.h"
#include "runtime/opencl_memory.h"
#include "runtime/plan_of.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loaded {
    struct device *device;                /* borrowed */
    struct program program;               /* own copy */
    struct exec_plan *plan;               /* its launches */
    cl_program *programs;                 /* one a module */
    cl_mem *mems, *pristine;              /* one a buffer; pristine: what a buffer with reset_each_run starts with */
    cl_mem *views;                        /* one a buffer: of its memory the part between the bands */
    cl_command_queue queues[EXEC_QUEUES]; /* NULL = not used; 0 is always there */
    struct exec_cl_launches launches;
    int guards, poison; /* enum poison: in the bands; of runs */
};

/* Opening. */

static enum err cl_open(const char *selector, struct device **out, struct why *why)
{
    struct device *d = calloc(1, sizeof *d);
    cl_int error = CL_SUCCESS;
    enum err e = d ? opencl_pick(selector, &d->platform, &d->id, why) : ERR_NOMEM;

    if (e) {
        free(d);
        return e;
    }
    opencl_describe(d->platform, d->id, &d->desc);
    d->pocl = strstr(d->desc.platform, "Portable Computing Language") != NULL;
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &error);
    if (error != CL_SUCCESS) {
        free(d);
        return opencl_failed(why, ERR_DEVICE, "clCreateContext", error);
    }
    opencl_probe_dots(d->context, d->id, &d->desc);
    *out = d;
    return ERR_OK;
}

static void cl_close(struct device *d)
{
    if (!d)
        return;
    opencl_poison_close(d);
    if (d->context)
        clReleaseContext(d->context);
    free(d);
}

static const struct device_desc *cl_describe(const struct device *d)
{
    return &d->desc;
}

/* Limits that are known before anything is built. */

static enum err check_languages(const struct program *p, struct why *why)
{
    for (size_t i = 0; i < p->n_modules; i++)
        if (p->modules[i].lang != LANG_OPENCL_C)
            return why_set(why, ERR_LIMITS, "module '%s' is not OpenCL C", p->modules[i].id);
    return ERR_OK;
}

static enum err check_launch(const struct device_desc *d, const struct program_launch *l, struct why *why)
{
    int64_t local = 0;
    const enum err e = check_group(d, l, why);

    for (size_t i = 0; i < l->n_args; i++)
        local += l->args[i].kind == ARG_LOCAL ? l->args[i].integer : 0;
    if (!e && local > d->local_bytes)
        return why_set(why, ERR_LIMITS, "launch '%s': %lld bytes of local memory, the device has %lld", l->id,
                       (long long)local, (long long)d->local_bytes);
    return e;
}

static enum err check_limits(const struct device_desc *d, const struct program *p, struct why *why)
{
    enum err e = check_needs(d, p, d->local_bytes, why);

    if (!e)
        e = check_languages(p, why);
    if (!e)
        e = check_memory(d, p, why);
    for (size_t i = 0; !e && i < p->n_launches; i++)
        e = check_launch(d, &p->launches[i], why);
    return e;
}

/* Loading. */

static size_t bytes_of(const struct loaded *l, size_t i_buffer)
{
    assert(i_buffer < l->program.n_buffers);
    return buffer_bytes(&l->program.buffers[i_buffer]);
}

static enum err make_queues(struct loaded *l, struct why *why)
{
    const unsigned used = exec_queues(l->plan);
    cl_int error = CL_SUCCESS;

    for (int i = 0; i < EXEC_QUEUES; i++) {
        if (used >> i & 1)
            l->queues[i] = clCreateCommandQueue(l->device->context, l->device->id, CL_QUEUE_PROFILING_ENABLE, &error);
        if (error != CL_SUCCESS)
            return opencl_failed(why, ERR_DEVICE, "clCreateCommandQueue", error);
    }
    return ERR_OK;
}

static enum err make_programs(struct loaded *l, const struct blobs *blobs, const char *cache_dir,
                              struct load_report *report, struct why *why)
{
    const int64_t start_ns = clock_now_ns();
    enum err e = ERR_OK;

    report->build_cached = l->program.n_modules > 0;
    for (size_t i = 0; !e && i < l->program.n_modules; i++)
        e = opencl_build(l->device, &l->program.modules[i], &l->program, blobs, cache_dir, &l->programs[i], report,
                         why);
    report->build_ns = clock_now_ns() - start_ns;
    return e;
}

/* Each kernel finds local memory poisoned at its first start of a run. */
static cl_int poison_local(int i_launch, void *arg)
{
    struct loaded *l = arg;
    const size_t n = l->launches.local_bytes[i_launch];

    if (l->poison == POISON_OFF || !n || l->launches.latest[i_launch])
        return CL_SUCCESS;
    return opencl_poison_local(l->device, l->queues[l->program.launches[i_launch].queue], (n + 3) / 4 * 4, l->poison);
}

static enum err make_launches(struct loaded *l, struct why *why)
{
    static const enum err errors[] = {[EXEC_NO_MEMORY] = ERR_NOMEM,
                                      [EXEC_NO_DEVICE] = ERR_LIMITS,
                                      [EXEC_BUILD_FAILED] = ERR_COMPILE,
                                      [EXEC_DEVICE_FAILED] = ERR_DEVICE};
    struct exec_words words = {""};
    const enum exec_status s = exec_cl_launches_init(l->plan, l->device->id, (size_t)l->device->desc.local_bytes,
                                                     l->programs, l->views, &words, &l->launches);

    if (s != EXEC_OK)
        return why_set(why, errors[s], "launch '%s': %s", l->program.launches[l->launches.i_launch].id, words.text);
    memcpy(l->launches.queues, l->queues, sizeof l->queues);
    l->launches.all_events = 1;
    l->launches.before = poison_local;
    l->launches.arg = l;
    return ERR_OK;
}

static enum err make_mem(struct loaded *l, size_t i, size_t n, cl_mem *out, struct why *why)
{
    cl_int error = CL_SUCCESS;

    *out = opencl_buffer(l->device, n, &error);
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_INVALID_BUFFER_SIZE)
        return why_set(why, ERR_LIMITS, "buffer '%s' of %zu bytes: %s", l->program.buffers[i].id, n,
                       opencl_error_name(error));
    return error == CL_SUCCESS ? ERR_OK : opencl_failed(why, ERR_DEVICE, "clCreateBuffer", error);
}

/* A band, the buffer, a band; kernels get the middle. */
static enum err make_guarded(struct loaded *l, size_t i, struct why *why)
{
    const cl_buffer_region middle = {GUARD_BYTES, bytes_of(l, i)};
    enum err e = make_mem(l, i, bytes_of(l, i) + 2 * GUARD_BYTES, &l->mems[i], why);
    cl_int error = CL_SUCCESS;

    if (e)
        return e;
    l->views[i] = clCreateSubBuffer(l->mems[i], CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &middle, &error);
    return error == CL_SUCCESS ? ERR_OK : opencl_failed(why, ERR_DEVICE, "clCreateSubBuffer", error);
}

static enum err cl_write(struct loaded *l, int i_buffer, const void *data, struct why *why)
{
    const size_t n = bytes_of(l, (size_t)i_buffer);
    enum err e = opencl_put(l->device, l->queues[0], l->mems[i_buffer], GUARD_BYTES, n, data, why);

    if (!e && l->pristine[i_buffer])
        e = opencl_put(l->device, l->queues[0], l->pristine[i_buffer], 0, n, data, why);
    return e;
}

static enum err cl_read(struct loaded *l, int i_buffer, void *data, struct why *why)
{
    return opencl_get(l->device, l->queues[0], l->mems[i_buffer], GUARD_BYTES, bytes_of(l, (size_t)i_buffer), data,
                      why);
}

static enum err make_buffer(struct loaded *l, size_t i, const struct blobs *blobs, struct why *why)
{
    const struct program_buffer *b = &l->program.buffers[i];
    struct fill_use use = {.data = NULL};
    enum err e = fill_lend(&b->fill, b->dtype, b->n_elems, blobs, &use);

    if (e)
        why_set(why, e, "fill of buffer '%s': %s", b->id, err_words(e));
    if (!e)
        e = make_guarded(l, i, why);
    if (!e && b->reset_each_run)
        e = make_mem(l, i, bytes_of(l, i), &l->pristine[i], why);
    if (!e)
        e = cl_write(l, (int)i, use.data, why);
    fill_done(&use);
    return e;
}

/* The band before a buffer, or the one behind it. */
static size_t band_at(const struct loaded *l, size_t i, bool is_behind)
{
    return is_behind ? GUARD_BYTES + bytes_of(l, i) : 0;
}

static enum err cl_poison(struct loaded *l, int byte, struct why *why)
{
    unsigned char *band;
    enum err e = ERR_OK;

    l->poison = byte;
    if (byte == POISON_OFF || byte == l->guards)
        return ERR_OK;
    band = malloc(GUARD_BYTES);
    l->guards = byte;
    for (size_t i = 0; band && !e && i < 2 * l->program.n_buffers; i++) {
        memset(band, guard_byte(&l->program.buffers[i / 2], byte), GUARD_BYTES);
        e = opencl_put(l->device, l->queues[0], l->mems[i / 2], band_at(l, i / 2, i % 2), GUARD_BYTES, band, why);
    }
    free(band);
    return band ? e : ERR_NOMEM;
}

static void cl_unload(struct loaded *l)
{
    if (!l)
        return;
    exec_cl_launches_fini(&l->launches);
    for (size_t i = 0; l->mems && l->pristine && i < l->program.n_buffers; i++) {
        if (l->views && l->views[i])
            clReleaseMemObject(l->views[i]);
        if (l->mems[i])
            clReleaseMemObject(l->mems[i]);
        if (l->pristine[i])
            clReleaseMemObject(l->pristine[i]);
    }
    for (size_t i = 0; l->programs && i < l->program.n_modules; i++)
        if (l->programs[i])
            clReleaseProgram(l->programs[i]);
    for (int i = 0; i < EXEC_QUEUES; i++)
        if (l->queues[i])
            clReleaseCommandQueue(l->queues[i]);
    free(l->views);
    free(l->mems);
    free(l->pristine);
    free(l->programs);
    plan_free(l->plan);
    program_fini(&l->program);
    free(l);
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
    l->guards = l->poison = POISON_OFF;
    l->programs = calloc(p->n_modules + 1, sizeof *l->programs);
    l->mems = calloc(p->n_buffers + 1, sizeof *l->mems);
    l->pristine = calloc(p->n_buffers + 1, sizeof *l->pristine);
    l->views = calloc(p->n_buffers + 1, sizeof *l->views);
    *out = l;
    if (!l->programs || !l->mems || !l->pristine || !l->views)
        return ERR_NOMEM;
    return plan_of_launches(&l->program, &l->plan, why);
}

static enum err cl_load(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                        struct loaded **out, struct load_report *report, struct why *why)
{
    struct load_report unwanted = {0}, *r = report ? report : &unwanted;
    struct loaded *l = NULL;
    enum err e;

    *r = (struct load_report){0};
    e = check_limits(&d->desc, p, why);
    if (!e)
        e = new_loaded(d, p, &l, why);
    if (!e)
        e = make_queues(l, why);
    if (!e)
        e = make_programs(l, blobs, cache_dir, r, why);
    for (size_t i = 0; !e && i < p->n_buffers; i++)
        e = make_buffer(l, i, blobs, why);
    if (!e)
        e = make_launches(l, why);
    free(unwanted.log);
    if (e)
        cl_unload(l);
    else
        *out = l;
    return e;
}

/* Running. */

static enum err enqueue(struct loaded *l, enum launch_phase phase, struct why *why)
{
    const cl_int error = exec_cl_launch(&l->launches, plan_phase(phase));

    return error == CL_SUCCESS ? ERR_OK
                               : why_set(why, ERR_DEVICE, "launch '%s': %s",
                                         l->program.launches[l->launches.i_launch].id, opencl_error_name(error));
}

/* Everything is handed to the device before anything is waited for: queues may wait for one another. */
static enum err finish(struct loaded *l, struct why *why)
{
    enum err e = ERR_OK;

    for (int i = 1; i < EXEC_QUEUES; i++)
        if (l->queues[i])
            clFlush(l->queues[i]);
    for (int i = 0; i < EXEC_QUEUES; i++) {
        const cl_int error = l->queues[i] ? clFinish(l->queues[i]) : CL_SUCCESS;

        if (error != CL_SUCCESS && !e)
            e = opencl_failed(why, ERR_DEVICE, "clFinish", error);
    }
    return e;
}

/* Looks at every event of the phase: did it end well, and when? */
static enum err collect(struct loaded *l, int64_t *device_ns, struct why *why)
{
    cl_ulong first = CL_ULONG_MAX, last = 0, start = 0, end = 0;

    for (size_t i = 0; i < l->launches.n_started; i++) {
        const char *id = l->program.launches[l->launches.started[i].i_launch].id;
        const cl_event event = l->launches.started[i].event;
        cl_int state = CL_COMPLETE, error;

        assert(event);
        error = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
        if (error != CL_SUCCESS || state < 0)
            return why_set(why, ERR_DEVICE, "launch '%s': %s", id, opencl_error_name(error ? error : state));
        error = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
        if (error == CL_SUCCESS)
            error = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
        if (error != CL_SUCCESS)
            return why_set(why, ERR_DEVICE, "launch '%s': profiling: %s", id, opencl_error_name(error));
        first = start < first ? start : first;
        last = end > last ? end : last;
    }
    if (device_ns)
        *device_ns = last > first ? (int64_t)(last - first) : 0;
    return ERR_OK;
}

static enum err reset_buffers(struct loaded *l, struct why *why)
{
    cl_int error = CL_SUCCESS;

    for (size_t i = 0; error == CL_SUCCESS && i < l->program.n_buffers; i++)
        if (l->pristine[i])
            error = clEnqueueCopyBuffer(l->queues[0], l->pristine[i], l->mems[i], 0, GUARD_BYTES, bytes_of(l, i), 0,
                                        NULL, NULL);
    if (error == CL_SUCCESS)
        error = clFinish(l->queues[0]);
    return error == CL_SUCCESS ? ERR_OK : opencl_failed(why, ERR_DEVICE, "reset of buffers", error);
}

static enum err cl_run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns, struct why *why)
{
    enum err e = phase == PHASE_RUN ? reset_buffers(l, why) : ERR_OK, finished;
    int64_t start_ns, end_ns;

    if (e)
        return e;
    start_ns = clock_now_ns();
    e = enqueue(l, phase, why);
    finished = finish(l, e ? NULL : why);
    end_ns = clock_now_ns();
    if (!e)
        e = finished;
    if (!e)
        e = collect(l, device_ns, why);
    if (!e && wall_ns)
        *wall_ns = end_ns - start_ns;
    exec_cl_forget_starts(&l->launches);
    return e;
}

static enum err cl_check_guards(struct loaded *l, struct why *why)
{
    unsigned char *band = malloc(GUARD_BYTES);
    enum err e = ERR_OK;

    for (size_t i = 0; band && l->guards != POISON_OFF && !e && i < 2 * l->program.n_buffers; i++) {
        e = opencl_get(l->device, l->queues[0], l->mems[i / 2], band_at(l, i / 2, i % 2), GUARD_BYTES, band, why);
        if (!e)
            e = guard_check(&l->program.buffers[i / 2], l->guards, i % 2, band, GUARD_BYTES, why);
    }
    free(band);
    return band ? e : ERR_NOMEM;
}

static enum err cl_sense(struct device *d, struct sense *out)
{
    sense_sysfs(NULL, d->desc.kind, out);
    return ERR_OK;
}

enum err opencl_binary(struct loaded *l, size_t i_module, struct buf *out, struct why *why)
{
    return opencl_take_binary(l->programs[i_module], out, why);
}

const struct device_ops opencl_device_ops = {
    .name = "opencl",
    .summary = "OpenCL devices through the ICD loader: opencl[:PLATFORM.DEVICE]",
    .list = opencl_list,
    .open = cl_open,
    .close = cl_close,
    .describe = cl_describe,
    .load = cl_load,
    .unload = cl_unload,
    .run = cl_run,
    .write = cl_write,
    .read = cl_read,
    .poison = cl_poison,
    .check_guards = cl_check_guards,
    .sense = cl_sense,
};
