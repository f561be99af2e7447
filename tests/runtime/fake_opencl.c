/* SPDX-License-Identifier: MIT */
#include "tests/runtime/fake_opencl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_opencl fake;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    const size_t n = strlen(fake.notes);
    va_list args;

    va_start(args, format);
    vsnprintf(fake.notes + n, sizeof fake.notes - n, format, args);
    va_end(args);
}

/* True when this call is the one that is to fail. */
static bool fails(void)
{
    return ++fake.n_calls == fake.fail_at;
}

/* A new object, or NULL with the error. */
static void *make(size_t n_bytes, cl_int *error)
{
    const bool failed = fails();

    if (error)
        *error = failed ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
    if (failed)
        return NULL;
    fake.n_live++;
    return calloc(1, n_bytes);
}

static cl_int release(void *object)
{
    fake.n_live--;
    free(object);
    return CL_SUCCESS;
}

static cl_int answer(const void *value, size_t n, size_t size, void *out)
{
    if (size < n)
        return CL_INVALID_VALUE;
    memcpy(out, value, n);
    return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t size, void *out)
{
    return answer(text ? text : "", strlen(text ? text : "") + 1, size, out);
}

static cl_int get_platform_ids(cl_uint n, cl_platform_id *out, cl_uint *n_out)
{
    for (cl_uint i = 0; out && i < n && i < fake.n_platforms; i++)
        out[i] = (cl_platform_id)(void *)fake.platforms[i];
    *n_out = fake.n_platforms;
    return CL_SUCCESS;
}

static cl_int get_platform_info(cl_platform_id id, cl_platform_info what, size_t size, void *out, size_t *n_out)
{
    const struct fake_platform *p = (const struct fake_platform *)(const void *)id;

    (void)n_out;
    return answer_text(what == CL_PLATFORM_NAME ? p->name : p->version, size, out);
}

static cl_int get_device_ids(cl_platform_id id, cl_device_type type, cl_uint n, cl_device_id *out, cl_uint *n_out)
{
    const struct fake_platform *p = (const struct fake_platform *)(const void *)id;

    (void)type;
    if (p->n_devices == 0)
        return CL_DEVICE_NOT_FOUND;
    for (cl_uint i = 0; out && i < n && i < p->n_devices; i++)
        out[i] = (cl_device_id)(void *)p->devices[i];
    *n_out = p->n_devices;
    return CL_SUCCESS;
}

static cl_int get_device_info(cl_device_id id, cl_device_info what, size_t size, void *out, size_t *n_out)
{
    const struct fake_device *d = (const struct fake_device *)(const void *)id;

    (void)n_out;
    if (d->silent)
        return CL_INVALID_VALUE;
    switch (what) {
    case CL_DEVICE_VENDOR:
        return answer_text(d->vendor, size, out);
    case CL_DEVICE_NAME:
        return answer_text(d->name, size, out);
    case CL_DRIVER_VERSION:
        return answer_text(d->driver, size, out);
    case CL_DEVICE_EXTENSIONS:
        return answer_text(d->extensions, size, out);
    case CL_DEVICE_TYPE:
        return answer(&d->type, sizeof d->type, size, out);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return answer(&d->units, sizeof d->units, size, out);
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
        return answer(&d->float_width, sizeof d->float_width, size, out);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return answer(&d->group, sizeof d->group, size, out);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return answer(d->sides, sizeof d->sides, size, out);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return answer(&d->local, sizeof d->local, size, out);
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
        return answer(&d->constant, sizeof d->constant, size, out);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        return answer(&d->global, sizeof d->global, size, out);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return answer(&d->alloc, sizeof d->alloc, size, out);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        return answer(&d->unified, sizeof d->unified, size, out);
    case 0x4000: /* compute capability of NVIDIA's driver */
        return answer(&d->major, sizeof d->major, size, out);
    case 0x4001:
        return answer(&d->minor, sizeof d->minor, size, out);
    default:
        return CL_INVALID_VALUE;
    }
}

static cl_program with_source(cl_context c, cl_uint n, const char **texts, const size_t *lengths, cl_int *error)
{
    (void)c;
    (void)n;
    note("source %.*s\n", (int)lengths[0], texts[0]);
    return make(8, error);
}

static cl_program with_binary(cl_context c, cl_uint n, const cl_device_id *devices, const size_t *lengths,
                              const unsigned char **binaries, cl_int *status, cl_int *error)
{
    (void)c;
    (void)n;
    (void)devices;
    note("binary %.*s\n", (int)lengths[0], (const char *)binaries[0]);
    *status = CL_SUCCESS;
    return make(8, error);
}

static cl_int build(cl_program p, cl_uint n, const cl_device_id *devices, const char *options,
                    void(CL_CALLBACK *done)(cl_program, void *), void *arg)
{
    (void)p;
    (void)n;
    (void)devices;
    (void)done;
    (void)arg;
    note("build %s\n", options);
    return fails() ? CL_OUT_OF_RESOURCES : fake.build_error;
}

static cl_int build_info(cl_program p, cl_device_id d, cl_program_build_info what, size_t size, void *out,
                         size_t *n_out)
{
    const size_t n = fake.log ? strlen(fake.log) + 1 : 0;

    (void)p;
    (void)d;
    (void)what;
    if (n_out)
        *n_out = n;
    return out ? answer(fake.log, n, size, out) : CL_SUCCESS;
}

static cl_int program_info(cl_program p, cl_program_info what, size_t size, void *out, size_t *n_out)
{
    static const char binary[] = "made before";
    const size_t n = sizeof binary - 1;
    char *to;

    (void)p;
    (void)n_out;
    if (what == CL_PROGRAM_BINARY_SIZES)
        return answer(&n, sizeof n, size, out);
    memcpy(&to, out, sizeof to);
    memcpy(to, binary, n);
    return CL_SUCCESS;
}

static cl_command_queue create_queue(cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *error)
{
    (void)c;
    (void)d;
    note("queue %s\n", p == CL_QUEUE_PROFILING_ENABLE ? "profiling" : "plain");
    return make(8, error);
}

/* A buffer and its bytes; a part of one has those of the whole. */
struct buffer {
    char *bytes;
    char own[];
};

static cl_mem create_buffer(cl_context c, cl_mem_flags flags, size_t n, void *host, cl_int *error)
{
    struct buffer *m = make(sizeof *m + n, error);

    (void)c;
    (void)flags;
    (void)host;
    note("buffer %zu\n", n);
    if (m)
        m->bytes = m->own;
    return (cl_mem)(void *)m;
}

static char *bytes_of(cl_mem m)
{
    return ((const struct buffer *)(const void *)m)->bytes;
}

static cl_mem create_part(cl_mem whole, cl_mem_flags flags, cl_buffer_create_type type, const void *info, cl_int *error)
{
    const cl_buffer_region *region = info;
    struct buffer *m = make(sizeof *m, error);

    (void)flags;
    (void)type;
    note("part %zu at %zu\n", region->size, region->origin);
    if (m)
        m->bytes = bytes_of(whole) + region->origin;
    return (cl_mem)(void *)m;
}

static cl_int write_buffer(cl_command_queue q, cl_mem m, cl_bool wait, size_t at, size_t n, const void *data,
                           cl_uint n_w, const cl_event *w, cl_event *e)
{
    (void)q;
    (void)n_w;
    (void)w;
    (void)e;
    if (!wait || fails())
        return CL_OUT_OF_RESOURCES;
    memcpy(bytes_of(m) + at, data, n);
    return CL_SUCCESS;
}

static cl_int read_buffer(cl_command_queue q, cl_mem m, cl_bool wait, size_t at, size_t n, void *data, cl_uint n_w,
                          const cl_event *w, cl_event *e)
{
    (void)q;
    (void)n_w;
    (void)w;
    (void)e;
    if (!wait || fails())
        return CL_OUT_OF_RESOURCES;
    memcpy(data, bytes_of(m) + at, n);
    return CL_SUCCESS;
}

/* The event of a command, its number within it; NULL where none is asked for. */
static cl_int started(cl_event *out)
{
    int *e;

    if (fails())
        return CL_OUT_OF_RESOURCES;
    if (!out)
        return CL_SUCCESS;
    e = calloc(1, sizeof *e);
    *e = fake.n_events++;
    fake.n_live++;
    *out = (cl_event)(void *)e;
    return CL_SUCCESS;
}

static cl_int copy_buffer(cl_command_queue q, cl_mem from, cl_mem to, size_t at, size_t at_to, size_t n, cl_uint n_w,
                          const cl_event *w, cl_event *e)
{
    (void)q;
    (void)w;
    note("copy %zu waits %u\n", n, (unsigned)n_w);
    memcpy(bytes_of(to) + at_to, bytes_of(from) + at, n);
    return started(e);
}

static cl_int fill_buffer(cl_command_queue q, cl_mem m, const void *pattern, size_t n_pattern, size_t at, size_t n,
                          cl_uint n_w, const cl_event *w, cl_event *e)
{
    (void)q;
    (void)w;
    note("fill %zu of %zu waits %u\n", n_pattern, n, (unsigned)n_w);
    for (size_t i = 0; i < n; i++)
        bytes_of(m)[at + i] = ((const char *)pattern)[i % n_pattern];
    return started(e);
}

static cl_int start_kernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global,
                           const size_t *local, cl_uint n_w, const cl_event *w, cl_event *e)
{
    (void)q;
    (void)k;
    (void)dims;
    (void)offset;
    note("kernel %zux%zux%zu by %zux%zux%zu waits %u", global[0], global[1], global[2], local[0], local[1], local[2],
         (unsigned)n_w);
    for (cl_uint i = 0; i < n_w; i++)
        note(" #%d", *(const int *)(const void *)w[i]);
    note("\n");
    return started(e);
}

static cl_kernel create_kernel(cl_program p, const char *name, cl_int *error)
{
    (void)p;
    note("make %s\n", name);
    return make(8, error);
}

static cl_int set_arg(cl_kernel k, cl_uint i, size_t n, const void *value)
{
    (void)k;
    if (n == 4 && value)
        note("arg %u = %d\n", (unsigned)i, *(const int *)value);
    else
        note("arg %u of %zu%s\n", (unsigned)i, n, value ? "" : " local");
    return fails() ? CL_INVALID_ARG_SIZE : CL_SUCCESS;
}

static cl_int kernel_info(cl_kernel k, cl_kernel_info what, size_t size, void *out, size_t *n_out)
{
    (void)k;
    (void)n_out;
    return what == CL_KERNEL_NUM_ARGS && fake.n_kernel_args
               ? answer(&fake.n_kernel_args, sizeof fake.n_kernel_args, size, out)
               : CL_INVALID_VALUE;
}

static cl_int group_info(cl_kernel k, cl_device_id d, cl_kernel_work_group_info what, size_t size, void *out,
                         size_t *n_out)
{
    (void)k;
    (void)d;
    (void)n_out;
    if (what == CL_KERNEL_WORK_GROUP_SIZE && fake.kernel_group)
        return answer(&fake.kernel_group, sizeof fake.kernel_group, size, out);
    if (what == CL_KERNEL_LOCAL_MEM_SIZE)
        return answer(&fake.kernel_local, sizeof fake.kernel_local, size, out);
    if (what == CL_KERNEL_COMPILE_WORK_GROUP_SIZE)
        return answer(fake.kernel_fixed, sizeof fake.kernel_fixed, size, out);
    return CL_INVALID_VALUE;
}

static cl_int event_info(cl_event e, cl_event_info what, size_t size, void *out, size_t *n_out)
{
    const int i = *(const int *)(const void *)e;

    (void)what;
    (void)n_out;
    return answer(&fake.state[i], sizeof fake.state[i], size, out);
}

static cl_int event_times(cl_event e, cl_profiling_info what, size_t size, void *out, size_t *n_out)
{
    const int i = *(const int *)(const void *)e;
    const cl_ulong ns = what == CL_PROFILING_COMMAND_START ? fake.start_ns[i] : fake.end_ns[i];

    (void)n_out;
    return answer(&ns, sizeof ns, size, out);
}

static cl_int wait_for(cl_command_queue q)
{
    (void)q;
    return fails() ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

static cl_int flush(cl_command_queue q)
{
    (void)q;
    return CL_SUCCESS;
}

static cl_int release_queue(cl_command_queue q)
{
    return release((void *)q);
}

static cl_int release_event(cl_event e)
{
    return release((void *)e);
}

static cl_int release_kernel(cl_kernel k)
{
    return release((void *)k);
}

static cl_int release_mem(cl_mem m)
{
    return release((void *)m);
}

static cl_int release_program(cl_program p)
{
    return release((void *)p);
}

void fake_opencl_begin(void)
{
    (void)opencl_api_load(NULL); /* once a process: it would put the loaded calls back */
    memset(&fake, 0, sizeof fake);
    /* the names of the calls are those of what was loaded: exec/cl_calls.h */
    clGetPlatformIDs = get_platform_ids;
    clGetPlatformInfo = get_platform_info;
    clGetDeviceIDs = get_device_ids;
    clGetDeviceInfo = get_device_info;
    clCreateProgramWithSource = with_source;
    clCreateProgramWithBinary = with_binary;
    clBuildProgram = build;
    clGetProgramBuildInfo = build_info;
    clGetProgramInfo = program_info;
    clCreateCommandQueue = create_queue;
    clCreateBuffer = create_buffer;
    clCreateSubBuffer = create_part;
    clEnqueueWriteBuffer = write_buffer;
    clEnqueueReadBuffer = read_buffer;
    clEnqueueCopyBuffer = copy_buffer;
    clEnqueueFillBuffer = fill_buffer;
    clEnqueueNDRangeKernel = start_kernel;
    clCreateKernel = create_kernel;
    clSetKernelArg = set_arg;
    clGetKernelInfo = kernel_info;
    clGetKernelWorkGroupInfo = group_info;
    clGetEventInfo = event_info;
    clGetEventProfilingInfo = event_times;
    clFinish = wait_for;
    clFlush = flush;
    clReleaseCommandQueue = release_queue;
    clReleaseEvent = release_event;
    clReleaseKernel = release_kernel;
    clReleaseMemObject = release_mem;
    clReleaseProgram = release_program;
}

struct device fake_opencl_device(struct fake_device *d)
{
    struct device made = {.id = (cl_device_id)(void *)d,
                          .desc = {.api = "opencl",
                                   .kind = DEVICE_GPU,
                                   .name = "fake",
                                   .max_work_group = 256,
                                   .max_local = {256, 256, 64},
                                   .local_bytes = 1024,
                                   .global_bytes = 1 << 20,
                                   .max_alloc_bytes = 1 << 19}};

    return made;
}
