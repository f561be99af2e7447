/* SPDX-License-Identifier: MIT */
/* opencl.c - the OpenCL backend: opens devices, loads programs, runs their launches with profiling. */
#include "runtime/opencl.h"

#include "core/clock.h"
#include "runtime/device_checks.h"
#include "runtime/fill_cache.h"
#include "runtime/opencl_binary.h"
#include "runtime/opencl_memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loaded {
    struct device *device;                  /* borrowed */
    struct program program;                 /* own copy */
    cl_command_queue queues[OPENCL_QUEUES]; /* NULL = not used; 0 is always there */
    cl_program *programs;                   /* one a module */
    cl_mem *mems, *pristine;                /* one a buffer; pristine: what a buffer with reset_each_run starts with */
    cl_mem *views;                          /* one a buffer: of its memory the part between the bands */
    cl_kernel *kernels;                     /* one a launch; NULL for fill and copy */
    size_t *local_bytes;                    /* one a launch: of a group's local memory */
    int guards, poison;                     /* enum poison: in the bands; of runs */
    /* While running: what has been started, and each launch's latest event (lent from there; NULL = not yet). */
    struct started {
        cl_event event;
        size_t i_launch;
    } * started;
    size_t n_started, cap_started;
    cl_event *latest;
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
    const struct program *p = &l->program;
    bool used[OPENCL_QUEUES] = {true};
    cl_int error = CL_SUCCESS;

    for (size_t i = 0; i < p->n_launches; i++)
        used[p->launches[i].queue] = true;
    for (int i = 0; i < OPENCL_QUEUES; i++) {
        if (used[i])
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

static cl_int set_arg(struct loaded *l, cl_kernel kernel, cl_uint i, const struct program_arg *a, int64_t integer)
{
    const cl_int i32 = (cl_int)integer;
    const cl_uint u32 = (cl_uint)integer;
    const cl_long i64 = (cl_long)integer;
    const cl_float f32 = (cl_float)a->real;
    const cl_double f64 = a->real;

    switch (a->kind) {
    case ARG_BUFFER:
        return clSetKernelArg(kernel, i, sizeof(cl_mem), &l->views[a->i_buffer]);
    case ARG_I32:
        return clSetKernelArg(kernel, i, sizeof i32, &i32);
    case ARG_U32:
        return clSetKernelArg(kernel, i, sizeof u32, &u32);
    case ARG_I64:
        return clSetKernelArg(kernel, i, sizeof i64, &i64);
    case ARG_F32:
        return clSetKernelArg(kernel, i, sizeof f32, &f32);
    case ARG_F64:
        return clSetKernelArg(kernel, i, sizeof f64, &f64);
    default:
        return clSetKernelArg(kernel, i, (size_t)integer, NULL);
    }
}

static enum err set_args(struct loaded *l, cl_kernel kernel, const struct program_launch *launch, struct why *why)
{
    cl_uint n = 0;

    if (clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL) == CL_SUCCESS && n != launch->n_args)
        return why_set(why, ERR_COMPILE, "launch '%s': kernel %s takes %u arguments, the launch gives %zu", launch->id,
                       launch->kernel, (unsigned)n, launch->n_args);
    for (size_t i = 0; i < launch->n_args; i++) {
        const cl_int error = set_arg(l, kernel, (cl_uint)i, &launch->args[i], launch->args[i].integer);

        if (error != CL_SUCCESS)
            return why_set(why, ERR_COMPILE, "launch '%s': argument %zu of kernel %s: %s", launch->id, i,
                           launch->kernel, opencl_error_name(error));
    }
    return ERR_OK;
}

/* What only the built kernel can say: on many devices its work-group limit falls with its registers. */
static enum err ask_kernel(struct loaded *l, size_t i_launch, struct why *why)
{
    const struct program_launch *launch = &l->program.launches[i_launch];
    const cl_kernel kernel = l->kernels[i_launch];
    const cl_device_id id = l->device->id;
    const int64_t items = launch->block[0] * launch->block[1] * launch->block[2];
    size_t max = 0, fixed[3] = {0};
    cl_ulong local = 0;

    if (clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_WORK_GROUP_SIZE, sizeof max, &max, NULL) == CL_SUCCESS &&
        items > (int64_t)max)
        return why_set(why, ERR_LIMITS, "launch '%s': work-groups of %lld, the built kernel %s allows %zu", launch->id,
                       (long long)items, launch->kernel, max);
    if (clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL) != CL_SUCCESS)
        local = 0;
    l->local_bytes[i_launch] = (size_t)local;
    if (local > (cl_ulong)l->device->desc.local_bytes)
        return why_set(why, ERR_LIMITS, "launch '%s': kernel %s uses %llu bytes of local memory, the device has %lld",
                       launch->id, launch->kernel, (unsigned long long)local, (long long)l->device->desc.local_bytes);
    if (clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof fixed, fixed, NULL) ==
            CL_SUCCESS &&
        fixed[0])
        for (int i = 0; i < 3; i++)
            if ((int64_t)fixed[i] != launch->block[i])
                return why_set(why, ERR_LIMITS, "launch '%s': kernel %s requires work-groups of %zu x %zu x %zu",
                               launch->id, launch->kernel, fixed[0], fixed[1], fixed[2]);
    return ERR_OK;
}

static enum err make_kernel(struct loaded *l, size_t i, struct why *why)
{
    const struct program_launch *launch = &l->program.launches[i];
    cl_int error = CL_SUCCESS;
    enum err e;

    if (launch->op != LAUNCH_KERNEL)
        return ERR_OK;
    l->kernels[i] = clCreateKernel(l->programs[launch->i_module], launch->kernel, &error);
    if (error == CL_INVALID_KERNEL_NAME)
        return why_set(why, ERR_COMPILE, "module '%s' has no kernel named %s", l->program.modules[launch->i_module].id,
                       launch->kernel);
    if (error != CL_SUCCESS)
        return opencl_failed(why, ERR_DEVICE, "clCreateKernel", error);
    e = set_args(l, l->kernels[i], launch, why);
    return e ? e : ask_kernel(l, i, why);
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
    for (size_t i = 0; l->kernels && i < l->program.n_launches; i++)
        if (l->kernels[i])
            clReleaseKernel(l->kernels[i]);
    for (size_t i = 0; l->mems && l->pristine && i < l->program.n_buffers; i++) {
        if (l->views && l->views[i])
            clReleaseMemObject(l->views[i]);
        opencl_buffer_free(l->mems[i]);
        opencl_buffer_free(l->pristine[i]);
    }
    for (size_t i = 0; l->programs && i < l->program.n_modules; i++)
        if (l->programs[i])
            clReleaseProgram(l->programs[i]);
    for (int i = 0; i < OPENCL_QUEUES; i++)
        if (l->queues[i])
            clReleaseCommandQueue(l->queues[i]);
    free(l->kernels);
    free(l->local_bytes);
    free(l->views);
    free(l->mems);
    free(l->pristine);
    free(l->programs);
    free(l->started);
    free(l->latest);
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
    l->kernels = calloc(p->n_launches + 1, sizeof *l->kernels);
    l->latest = calloc(p->n_launches + 1, sizeof *l->latest);
    l->views = calloc(p->n_buffers + 1, sizeof *l->views);
    l->local_bytes = calloc(p->n_launches + 1, sizeof *l->local_bytes);
    *out = l;
    return l->programs && l->mems && l->pristine && l->kernels && l->latest && l->views && l->local_bytes ? ERR_OK
                                                                                                          : ERR_NOMEM;
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
    for (size_t i = 0; !e && i < p->n_launches; i++)
        e = make_kernel(l, i, why);
    free(unwanted.log);
    if (e)
        cl_unload(l);
    else
        *out = l;
    return e;
}

/* Running. */

/* One launch of one iteration: its place, what it waits for, where its event goes. */
struct start {
    size_t i_launch;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
};

static cl_int enqueue_kernel(struct loaded *l, const struct start *s)
{
    const struct program_launch *launch = &l->program.launches[s->i_launch];
    size_t global[3], local[3];

    assert(l->kernels[s->i_launch]);
    if (l->poison != POISON_OFF && l->local_bytes[s->i_launch] && !l->latest[s->i_launch]) { /* once a run */
        const cl_int error = opencl_poison_local(l->device, l->queues[launch->queue],
                                                 (l->local_bytes[s->i_launch] + 3) / 4 * 4, l->poison);

        if (error != CL_SUCCESS)
            return error;
    }
    for (int d = 0; d < 3; d++) {
        local[d] = (size_t)launch->block[d];
        global[d] = (size_t)(launch->grid[d] * launch->block[d]);
    }
    return clEnqueueNDRangeKernel(l->queues[launch->queue], l->kernels[s->i_launch], 3, NULL, global, local, s->n_wait,
                                  s->wait, s->event);
}

static cl_int enqueue_fill(struct loaded *l, const struct start *s)
{
    const struct program_launch *launch = &l->program.launches[s->i_launch];
    const int to = launch->args[0].i_buffer;
    const enum dtype t = l->program.buffers[to].dtype;
    char pattern[8] = {0};

    assert(launch->n_args == 2 && dtype_bytes(t) <= sizeof pattern);
    dtype_store(t, pattern, 0, launch->args[1].real);
    return clEnqueueFillBuffer(l->queues[launch->queue], l->mems[to], pattern, dtype_bytes(t), GUARD_BYTES,
                               bytes_of(l, (size_t)to), s->n_wait, s->wait, s->event);
}

static cl_int enqueue_copy(struct loaded *l, const struct start *s)
{
    const struct program_launch *launch = &l->program.launches[s->i_launch];
    const struct program_arg *a = launch->args;

    assert(launch->n_args == 3);
    return clEnqueueCopyBuffer(l->queues[launch->queue], l->mems[a[1].i_buffer], l->mems[a[0].i_buffer], GUARD_BYTES,
                               GUARD_BYTES, (size_t)a[2].integer, s->n_wait, s->wait, s->event);
}

static cl_int (*const enqueuers[N_LAUNCH_OPS])(struct loaded *, const struct start *) = {
    [LAUNCH_KERNEL] = enqueue_kernel, [LAUNCH_FILL] = enqueue_fill, [LAUNCH_COPY] = enqueue_copy};

/* Arguments that change with the iteration; a kernel keeps those of its last start. */
static cl_int bump_args(struct loaded *l, size_t i_launch, const int64_t *iteration)
{
    const struct program_launch *launch = &l->program.launches[i_launch];
    cl_int error = CL_SUCCESS;

    for (size_t i = 0; error == CL_SUCCESS && i < launch->n_args; i++)
        if (program_arg_bumps(&launch->args[i]))
            error = set_arg(l, l->kernels[i_launch], (cl_uint)i, &launch->args[i],
                            program_arg_value(&launch->args[i], iteration));
    return error;
}

/* Room for one more event. */
static struct started *next_started(struct loaded *l)
{
    assert(l->n_started <= l->cap_started);
    if (l->n_started == l->cap_started) {
        const size_t cap = l->cap_started ? 2 * l->cap_started : 64;
        struct started *grown = realloc(l->started, cap * sizeof *grown);

        if (!grown)
            return NULL;
        l->started = grown;
        l->cap_started = cap;
    }
    return &l->started[l->n_started];
}

struct enqueuing {
    struct loaded *l;
    struct why *why;
};

static enum err enqueue_one(size_t i_launch, const int64_t *iteration, void *arg)
{
    const struct enqueuing *to = arg;
    struct loaded *l = to->l;
    const struct program_launch *launch = &l->program.launches[i_launch];
    struct started *started = next_started(l);
    cl_event wait[PROGRAM_MAX_AFTER];
    struct start s = {.i_launch = i_launch, .wait = wait};
    cl_int error;

    if (!started)
        return ERR_NOMEM;
    assert(launch->n_after <= PROGRAM_MAX_AFTER);
    assert(launch->queue < OPENCL_QUEUES && l->queues[launch->queue]);
    for (size_t a = 0; a < launch->n_after; a++)
        if (l->latest[launch->after[a]])
            wait[s.n_wait++] = l->latest[launch->after[a]];
    s.wait = s.n_wait ? wait : NULL;
    s.event = &started->event;
    error = bump_args(l, i_launch, iteration);
    if (error == CL_SUCCESS)
        error = enqueuers[launch->op](l, &s);
    if (error != CL_SUCCESS)
        return why_set(to->why, ERR_DEVICE, "launch '%s': %s", launch->id, opencl_error_name(error));
    started->i_launch = i_launch;
    l->latest[i_launch] = started->event;
    l->n_started++;
    return ERR_OK;
}

static enum err enqueue(struct loaded *l, enum launch_phase phase, struct why *why)
{
    struct enqueuing to = {l, why};

    return program_each_run(&l->program, phase, enqueue_one, &to);
}

/* Everything is handed to the device before anything is waited for: queues may wait for one another. */
static enum err finish(struct loaded *l, struct why *why)
{
    enum err e = ERR_OK;

    for (int i = 1; i < OPENCL_QUEUES; i++)
        if (l->queues[i])
            clFlush(l->queues[i]);
    for (int i = 0; i < OPENCL_QUEUES; i++) {
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

    for (size_t i = 0; i < l->n_started; i++) {
        const char *id = l->program.launches[l->started[i].i_launch].id;
        const cl_event event = l->started[i].event;
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

static void drop_events(struct loaded *l)
{
    for (size_t i = 0; i < l->n_started; i++)
        clReleaseEvent(l->started[i].event);
    l->n_started = 0;
    for (size_t i = 0; i < l->program.n_launches; i++)
        l->latest[i] = NULL;
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
    drop_events(l);
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
