/* SPDX-License-Identifier: MIT */
/* opencl.c - the OpenCL backend: opens devices, loads programs, runs their launches with profiling. */
#include "runtime/opencl.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "exec/exec_cl_launch.h"
#include "runtime/fence.h"
#include "runtime/load.h"
#include "runtime/opencl_binary.h"
#include "runtime/opencl_memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEAM 255

struct loaded {
    struct load head;
    struct device *device;                /* borrowed */
    cl_command_queue queues[EXEC_QUEUES]; /* NULL = not used; 0 is always there */
    cl_program *programs;                 /* one a module */
    cl_mem *mems, *pristine;              /* one a buffer */
    cl_mem *views;                        /* one a buffer: of its memory the part between the bands */
    struct exec_cl_launches launches;
};

/* Opening. */

static enum err cl_open(const char *selector, struct device **out, struct why *why)
{
    struct device *d = calloc(1, sizeof *d);
    cl_device_id team[MAX_TEAM];
    cl_uint n = 0;
    cl_int error = CL_SUCCESS;
    enum err e = d ? opencl_pick(selector, &d->platform, &d->id, why) : ERR_NOMEM;

    if (e) {
        free(d);
        return e;
    }
    opencl_describe(d->platform, d->id, &d->desc);
    d->pocl = strstr(d->desc.platform, "Portable Computing Language") != NULL;
    exec_cl_team_devices(d->id, MAX_TEAM, team, &n);
    d->context = n > 1 ? clCreateContext(NULL, n, team, NULL, NULL, &error)
                       : clCreateContext(NULL, 1, &d->id, NULL, NULL, &error);
    if (error != CL_SUCCESS) {
        free(d);
        return opencl_failed(why, ERR_DEVICE, "clCreateContext", error);
    }
    d->team = exec_cl_team_open(d->context, d->id);
    opencl_probe_dots(d->context, d->id, &d->desc);
    *out = d;
    return ERR_OK;
}

static void cl_close(struct device *d)
{
    if (!d)
        return;
    opencl_poison_close(d);
    exec_cl_team_close(d->team);
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

static enum err make_queues(struct loaded *l, struct why *why)
{
    const unsigned used = exec_queues(l->head.plan);
    cl_int error = CL_SUCCESS;

    for (int i = 0; i < EXEC_QUEUES; i++) {
        if (used >> i & 1)
            l->queues[i] = clCreateCommandQueue(l->device->context, l->device->id, CL_QUEUE_PROFILING_ENABLE, &error);
        if (error != CL_SUCCESS)
            return opencl_failed(why, ERR_DEVICE, "clCreateCommandQueue", error);
    }
    return ERR_OK;
}

static enum err begin(struct loaded *l, struct device *d, struct why *why)
{
    const struct program *p = &l->head.program;

    l->device = d;
    l->programs = calloc(p->n_modules + 1, sizeof *l->programs);
    l->mems = calloc(p->n_buffers + 1, sizeof *l->mems);
    l->pristine = calloc(p->n_buffers + 1, sizeof *l->pristine);
    l->views = calloc(p->n_buffers + 1, sizeof *l->views);
    return l->programs && l->mems && l->pristine && l->views ? make_queues(l, why) : ERR_NOMEM;
}

static enum err build(struct loaded *l, size_t i, const struct blobs *blobs, const char *cache_dir,
                      struct load_report *report, struct why *why)
{
    return opencl_build(l->device, &l->head.program.modules[i], &l->head.program, blobs, cache_dir, &l->programs[i],
                        report, why);
}

/* Each kernel finds local memory poisoned at its first start of a run. */
static cl_int poison_local(int i_launch, void *arg)
{
    struct loaded *l = arg;
    const size_t n = l->launches.local_bytes[i_launch];

    if (l->head.poison == POISON_OFF || !n || l->launches.latest[i_launch])
        return CL_SUCCESS;
    return opencl_poison_local(l->device, l->queues[l->head.program.launches[i_launch].queue], (n + 3) / 4 * 4,
                               l->head.poison);
}

static enum err make_launches(struct loaded *l, struct load_report *report, struct why *why)
{
    struct exec_words words = {""};
    const enum exec_status s = exec_cl_launches_init(l->head.plan, l->device->id, (size_t)l->device->desc.local_bytes,
                                                     l->programs, l->views, l->device->team, &words, &l->launches);

    (void)report;
    if (s != EXEC_OK)
        return load_failed(&l->head, l->launches.i_launch, s, &words, why);
    memcpy(l->launches.queues, l->queues, sizeof l->queues);
    l->launches.all_events = 1;
    l->launches.before = poison_local;
    l->launches.arg = l;
    return ERR_OK;
}

static enum err make_mem(struct loaded *l, size_t i, size_t n, bool has_bands, cl_mem *out, struct why *why)
{
    cl_int error = CL_SUCCESS;

    *out = opencl_buffer(l->device, n, has_bands ? l->head.program.buffers[i].id : NULL, &error);
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_INVALID_BUFFER_SIZE)
        return why_set(why, ERR_LIMITS, "buffer '%s' of %zu bytes: %s", l->head.program.buffers[i].id, n,
                       opencl_error_name(error));
    return error == CL_SUCCESS ? ERR_OK : opencl_failed(why, ERR_DEVICE, "clCreateBuffer", error);
}

/* A band, the buffer, a band; kernels get the middle. */
static enum err make(struct loaded *l, size_t i, struct why *why)
{
    const cl_buffer_region middle = {GUARD_BYTES, load_part_bytes(&l->head, i, PART_BUFFER)};
    enum err e = make_mem(l, i, middle.size + 2 * GUARD_BYTES, true, &l->mems[i], why);
    cl_int error = CL_SUCCESS;

    if (!e && l->head.program.buffers[i].reset_each_run)
        e = make_mem(l, i, middle.size, false, &l->pristine[i], why);
    if (e)
        return e;
    l->views[i] = clCreateSubBuffer(l->mems[i], CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &middle, &error);
    return error == CL_SUCCESS ? ERR_OK : opencl_failed(why, ERR_DEVICE, "clCreateSubBuffer", error);
}

/* Where a part begins in its memory. */
static cl_mem place_of(const struct loaded *l, size_t i, enum load_part part, size_t *at)
{
    const size_t n = load_part_bytes(&l->head, i, PART_BUFFER);

    *at = part == PART_BUFFER ? GUARD_BYTES : part == PART_BEHIND ? GUARD_BYTES + n : 0;
    return part == PART_PRISTINE ? l->pristine[i] : l->mems[i];
}

static enum err put(struct loaded *l, size_t i, enum load_part part, const void *data, struct why *why)
{
    size_t at;
    const cl_mem to = place_of(l, i, part, &at);

    return opencl_put(l->device, l->queues[0], to, at, load_part_bytes(&l->head, i, part), data, why);
}

static enum err get(struct loaded *l, size_t i, enum load_part part, void *data, struct why *why)
{
    size_t at;
    const cl_mem from = place_of(l, i, part, &at);

    return opencl_get(l->device, l->queues[0], from, at, load_part_bytes(&l->head, i, part), data, why);
}

static enum err cl_lend(struct loaded *l, int i_buffer, const void **data, struct why *why)
{
    size_t at;
    const cl_mem from = place_of(l, (size_t)i_buffer, PART_BUFFER, &at);

    return opencl_lend(l->device, l->queues[0], from, at, load_part_bytes(&l->head, (size_t)i_buffer, PART_BUFFER),
                       data, why);
}

static void cl_give_back(struct loaded *l, int i_buffer, const void *data)
{
    opencl_give_back(l->queues[0], l->mems[i_buffer], data);
}

static void release(cl_mem *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        opencl_buffer_free(list[i]);
    free(list);
}

static void release_views(cl_mem *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        if (list[i])
            clReleaseMemObject(list[i]);
    free(list);
}

static void drop(struct loaded *l)
{
    const struct program *p = &l->head.program;

    exec_cl_launches_fini(&l->launches);
    release_views(l->views, p->n_buffers);
    release(l->mems, p->n_buffers);
    release(l->pristine, p->n_buffers);
    for (size_t i = 0; l->programs && i < p->n_modules; i++)
        if (l->programs[i])
            clReleaseProgram(l->programs[i]);
    for (int i = 0; i < EXEC_QUEUES; i++)
        if (l->queues[i])
            clReleaseCommandQueue(l->queues[i]);
    free(l->programs);
}

static const struct load_api load_api = {
    .bytes = sizeof(struct loaded),
    .check = check_limits,
    .begin = begin,
    .build = build,
    .make = make,
    .put = put,
    .get = get,
    .make_launches = make_launches,
    .drop = drop,
};

static enum err cl_load(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                        struct loaded **out, struct load_report *report, struct why *why)
{
    return load_program(&load_api, d, &d->desc, p, blobs, cache_dir, out, report, why);
}

/* Running. */

static enum err enqueue(struct loaded *l, enum launch_phase phase, struct why *why)
{
    const cl_int error = exec_cl_launch(&l->launches, plan_phase(phase));

    return error == CL_SUCCESS ? ERR_OK
                               : why_set(why, ERR_DEVICE, "launch '%s': %s",
                                         l->head.program.launches[l->launches.i_launch].id, opencl_error_name(error));
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
        const char *id = l->head.program.launches[l->launches.started[i].i_launch].id;
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

    for (size_t i = 0; error == CL_SUCCESS && i < l->head.program.n_buffers; i++)
        if (l->pristine[i])
            error = clEnqueueCopyBuffer(l->queues[0], l->pristine[i], l->mems[i], 0, GUARD_BYTES,
                                        load_part_bytes(&l->head, i, PART_BUFFER), 0, NULL, NULL);
    if (error == CL_SUCCESS)
        error = clFinish(l->queues[0]);
    return error == CL_SUCCESS ? ERR_OK : opencl_failed(why, ERR_DEVICE, "reset of buffers", error);
}

/* Inputs and weights, while kernels run that have fences. */
static void protect(struct loaded *l, bool read_only)
{
    for (size_t i = 0; i < l->head.program.n_buffers; i++) {
        const struct program_buffer *b = &l->head.program.buffers[i];

        if ((b->role == ROLE_INPUT || b->role == ROLE_WEIGHT) && !b->reset_each_run)
            fence_read_only(l->mems[i], read_only);
    }
}

static enum err cl_run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns, struct why *why)
{
    enum err e = phase == PHASE_RUN ? reset_buffers(l, why) : ERR_OK, finished;
    int64_t start_ns, end_ns;

    if (e)
        return e;
    protect(l, true);
    start_ns = clock_now_ns();
    e = enqueue(l, phase, why);
    finished = finish(l, e ? NULL : why);
    end_ns = clock_now_ns();
    protect(l, false);
    if (!e)
        e = finished;
    if (!e)
        e = collect(l, device_ns, why);
    if (!e && wall_ns)
        *wall_ns = end_ns - start_ns;
    if (!e && device_ns && l->device->team) /* events are of the caller's part */
        *device_ns = end_ns - start_ns;
    exec_cl_forget_starts(&l->launches);
    return e;
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
    .unload = load_unload,
    .run = cl_run,
    .write = load_write,
    .read = load_read,
    .lend = cl_lend,
    .give_back = cl_give_back,
    .poison = load_poison,
    .check_guards = load_check_guards,
    .sense = cl_sense,
};
