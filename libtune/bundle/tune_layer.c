/* tune_layer.c - carries out the plans of a bundle on an OpenCL device. */
#include "tune_plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLATFORMS 16
#define MAX_DEVICES 64

struct tune_context {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    char name[256];
    char words[4096];
};

struct tune_op {
    struct tune_context *c;
    const struct tune_layer *layer;
    cl_program *programs; /* one per module */
    cl_mem *buffers;      /* one per buffer of the plan */
    cl_kernel *kernels;   /* one per launch; NULL for fills and copies */
    int packed;
};

static enum tune_status failed(struct tune_context *c, enum tune_status s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(c->words, sizeof c->words, format, args);
    va_end(args);
    return s;
}

const char *tune_status_words(enum tune_status s)
{
    static const char *const words[] = {"ok",
                                        "out of memory",
                                        "no OpenCL device that fits",
                                        "a kernel did not build",
                                        "an OpenCL call failed",
                                        "bad argument",
                                        "weights were not packed"};
    return (size_t)s < sizeof words / sizeof words[0] ? words[s] : "unknown status";
}

/* ---- the device ---- */

static enum tune_status device_by_name(const char *name, cl_device_id *out)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n_platforms = 0;
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms) != CL_SUCCESS) {
        return TUNE_NO_DEVICE;
    }
    for (cl_uint i = 0; i < n_platforms && i < MAX_PLATFORMS; i++) {
        cl_device_id devices[MAX_DEVICES];
        cl_uint n = 0;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n) != CL_SUCCESS) {
            continue;
        }
        for (cl_uint j = 0; j < n && j < MAX_DEVICES; j++) {
            char found[256] = "";
            (void)clGetDeviceInfo(devices[j], CL_DEVICE_NAME, sizeof found, found, NULL);
            if (name == NULL || strcmp(found, name) == 0) {
                *out = devices[j];
                return TUNE_OK;
            }
        }
    }
    return TUNE_NO_DEVICE;
}

enum tune_status tune_context_open(const char *device_name, struct tune_context **out)
{
    cl_device_id device = NULL;
    cl_int code = CL_SUCCESS;
    if (out == NULL) {
        return TUNE_BAD_ARGUMENT;
    }
    enum tune_status s = device_by_name(device_name, &device);
    if (s != TUNE_OK) {
        return s;
    }
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        return TUNE_DEVICE_FAILED;
    }
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    s = code == CL_SUCCESS ? tune_context_use(context, device, queue, out) : TUNE_DEVICE_FAILED;
    if (queue != NULL) {
        clReleaseCommandQueue(queue);
    }
    clReleaseContext(context);
    return s;
}

enum tune_status tune_context_use(cl_context context, cl_device_id device, cl_command_queue queue,
                                  struct tune_context **out)
{
    if (out == NULL || context == NULL || device == NULL || queue == NULL) {
        return TUNE_BAD_ARGUMENT;
    }
    struct tune_context *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return TUNE_NO_MEMORY;
    }
    c->context = context;
    c->device = device;
    c->queue = queue;
    clRetainContext(context);
    clRetainCommandQueue(queue);
    (void)clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof c->name, c->name, NULL);
    *out = c;
    return TUNE_OK;
}

void tune_context_close(struct tune_context *c)
{
    if (c == NULL) {
        return;
    }
    clReleaseCommandQueue(c->queue);
    clReleaseContext(c->context);
    free(c);
}

const char *tune_context_device(const struct tune_context *c)
{
    return c->name;
}

const char *tune_words(const struct tune_context *c)
{
    return c->words;
}

/* ---- a layer's objects ---- */

static void build_log(struct tune_op *op, cl_program program, int i_module, cl_int code)
{
    char log[3072] = "";
    (void)clGetProgramBuildInfo(program, op->c->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    (void)failed(op->c, TUNE_BUILD_FAILED, "%s: module %d did not build (OpenCL error %d): %s", op->layer->workload,
                 i_module, (int)code, log);
}

static enum tune_status build_modules(struct tune_op *op)
{
    const struct tune_plan *plan = op->layer->plan;
    for (int i = 0; i < plan->n_modules; i++) {
        const struct tune_plan_module *m = &plan->modules[i];
        cl_int code = CL_SUCCESS;
        op->programs[i] = clCreateProgramWithSource(op->c->context, (cl_uint)m->n_lines, m->lines, NULL, &code);
        if (code != CL_SUCCESS) {
            return failed(op->c, TUNE_DEVICE_FAILED, "clCreateProgramWithSource: OpenCL error %d", (int)code);
        }
        code = clBuildProgram(op->programs[i], 1, &op->c->device, m->options, NULL, NULL);
        if (code != CL_SUCCESS) {
            build_log(op, op->programs[i], i, code);
            return TUNE_BUILD_FAILED;
        }
    }
    return TUNE_OK;
}

/* Fills as the plan says; at first all of them, later those of every run. */
static enum tune_status fill_buffer(struct tune_op *op, int i, int later)
{
    const struct tune_plan_buffer *b = &op->layer->plan->buffers[i];
    cl_int code = CL_SUCCESS;
    if (later && !b->each_run) {
        return TUNE_OK;
    }
    if (b->fill == TUNE_FILL_VALUE) {
        code =
            clEnqueueFillBuffer(op->c->queue, op->buffers[i], b->pattern, b->n_pattern, 0, b->n_bytes, 0, NULL, NULL);
    } else if (b->fill == TUNE_FILL_BYTES) {
        code = clEnqueueWriteBuffer(op->c->queue, op->buffers[i], CL_TRUE, 0, b->n_bytes, b->bytes, 0, NULL, NULL);
    }
    if (code != CL_SUCCESS) {
        return failed(op->c, TUNE_DEVICE_FAILED, "filling %s: OpenCL error %d", b->id, (int)code);
    }
    return TUNE_OK;
}

static enum tune_status make_buffers(struct tune_op *op)
{
    const struct tune_plan *plan = op->layer->plan;
    for (int i = 0; i < plan->n_buffers; i++) {
        cl_int code = CL_SUCCESS;
        op->buffers[i] = clCreateBuffer(op->c->context, CL_MEM_READ_WRITE, plan->buffers[i].n_bytes, NULL, &code);
        if (code != CL_SUCCESS) {
            return failed(op->c, TUNE_DEVICE_FAILED, "%s: buffer %s of %zu bytes: OpenCL error %d", op->layer->workload,
                          plan->buffers[i].id, plan->buffers[i].n_bytes, (int)code);
        }
        enum tune_status s = fill_buffer(op, i, 0);
        if (s != TUNE_OK) {
            return s;
        }
    }
    return TUNE_OK;
}

/* Sets an argument to its value in an iteration of the loops around its launch. */
static cl_int set_arg(struct tune_op *op, cl_kernel kernel, cl_uint i, const struct tune_plan_arg *a,
                      const int64_t *iteration)
{
    int64_t integer = a->integer;
    for (int d = 0; d < TUNE_PLAN_NEST; d++) {
        integer += a->bump[d] * iteration[d];
    }
    cl_int i32 = (cl_int)integer;
    cl_uint u32 = (cl_uint)integer;
    cl_long i64 = (cl_long)integer;
    cl_float f32 = (cl_float)a->real;
    switch (a->kind) {
    case TUNE_ARG_BUFFER:
        return clSetKernelArg(kernel, i, sizeof(cl_mem), &op->buffers[a->integer]);
    case TUNE_ARG_I32:
        return clSetKernelArg(kernel, i, sizeof i32, &i32);
    case TUNE_ARG_U32:
        return clSetKernelArg(kernel, i, sizeof u32, &u32);
    case TUNE_ARG_I64:
        return clSetKernelArg(kernel, i, sizeof i64, &i64);
    case TUNE_ARG_F32:
        return clSetKernelArg(kernel, i, sizeof f32, &f32);
    case TUNE_ARG_LOCAL:
        return clSetKernelArg(kernel, i, (size_t)a->integer, NULL);
    }
    return CL_INVALID_ARG_VALUE;
}

static enum tune_status make_kernels(struct tune_op *op)
{
    const struct tune_plan *plan = op->layer->plan;
    for (int i = 0; i < plan->n_launches; i++) {
        const struct tune_plan_launch *l = &plan->launches[i];
        const int64_t start[TUNE_PLAN_NEST] = {0};
        cl_int code = CL_SUCCESS;
        if (l->op != TUNE_OP_KERNEL) {
            continue;
        }
        op->kernels[i] = clCreateKernel(op->programs[l->i_module], l->kernel, &code);
        for (int j = 0; code == CL_SUCCESS && j < l->n_args; j++) {
            code = set_arg(op, op->kernels[i], (cl_uint)j, &l->args[j], start);
        }
        if (code != CL_SUCCESS) {
            return failed(op->c, TUNE_DEVICE_FAILED, "%s: kernel %s: OpenCL error %d", op->layer->workload, l->kernel,
                          (int)code);
        }
    }
    return TUNE_OK;
}

static enum tune_status allocate(struct tune_op *op)
{
    const struct tune_plan *plan = op->layer->plan;
    op->programs = calloc((size_t)plan->n_modules + 1, sizeof *op->programs);
    op->buffers = calloc((size_t)plan->n_buffers + 1, sizeof *op->buffers);
    op->kernels = calloc((size_t)plan->n_launches + 1, sizeof *op->kernels);
    return op->programs != NULL && op->buffers != NULL && op->kernels != NULL ? TUNE_OK : TUNE_NO_MEMORY;
}

enum tune_status tune_op_open(struct tune_context *c, const struct tune_layer *layer, struct tune_op **out)
{
    if (c == NULL || layer == NULL || out == NULL) {
        return TUNE_BAD_ARGUMENT;
    }
    struct tune_op *op = calloc(1, sizeof *op);
    if (op == NULL) {
        return TUNE_NO_MEMORY;
    }
    op->c = c;
    op->layer = layer;
    enum tune_status s = allocate(op);
    s = s == TUNE_OK ? build_modules(op) : s;
    s = s == TUNE_OK ? make_buffers(op) : s;
    s = s == TUNE_OK ? make_kernels(op) : s;
    if (s != TUNE_OK) {
        tune_op_close(op);
        return s;
    }
    *out = op;
    return TUNE_OK;
}

void tune_op_close(struct tune_op *op)
{
    if (op == NULL) {
        return;
    }
    const struct tune_plan *plan = op->layer->plan;
    for (int i = 0; op->kernels != NULL && i < plan->n_launches; i++) {
        if (op->kernels[i] != NULL) {
            clReleaseKernel(op->kernels[i]);
        }
    }
    for (int i = 0; op->buffers != NULL && i < plan->n_buffers; i++) {
        if (op->buffers[i] != NULL) {
            clReleaseMemObject(op->buffers[i]);
        }
    }
    for (int i = 0; op->programs != NULL && i < plan->n_modules; i++) {
        if (op->programs[i] != NULL) {
            clReleaseProgram(op->programs[i]);
        }
    }
    free(op->kernels);
    free(op->buffers);
    free(op->programs);
    free(op);
}

/* ---- data and runs ---- */

const struct tune_tensor *tune_layer_tensor(const struct tune_layer *layer, const char *name)
{
    for (int i = 0; i < layer->n_tensors; i++) {
        if (strcmp(layer->tensors[i].name, name) == 0) {
            return &layer->tensors[i];
        }
    }
    return NULL;
}

static int find_buffer(const struct tune_op *op, const char *id)
{
    const struct tune_plan *plan = op->layer->plan;
    for (int i = 0; i < plan->n_buffers; i++) {
        if (strcmp(plan->buffers[i].id, id) == 0) {
            return i;
        }
    }
    return -1;
}

cl_mem tune_op_buffer(struct tune_op *op, const char *tensor)
{
    int i = tune_layer_tensor(op->layer, tensor) != NULL ? find_buffer(op, tensor) : -1;
    return i >= 0 ? op->buffers[i] : NULL;
}

static enum tune_status check_transfer(struct tune_op *op, const char *tensor, const void *data, size_t n_bytes)
{
    const struct tune_tensor *t = tune_layer_tensor(op->layer, tensor);
    if (t == NULL || tune_op_buffer(op, tensor) == NULL) {
        return failed(op->c, TUNE_BAD_ARGUMENT, "%s has no tensor %s", op->layer->workload, tensor);
    }
    if (data == NULL || n_bytes != t->n_bytes) {
        return failed(op->c, TUNE_BAD_ARGUMENT, "tensor %s has %zu bytes, not %zu", tensor, t->n_bytes, n_bytes);
    }
    return TUNE_OK;
}

enum tune_status tune_op_write(struct tune_op *op, const char *tensor, const void *data, size_t n_bytes)
{
    enum tune_status s = check_transfer(op, tensor, data, n_bytes);
    if (s != TUNE_OK) {
        return s;
    }
    cl_int code =
        clEnqueueWriteBuffer(op->c->queue, tune_op_buffer(op, tensor), CL_TRUE, 0, n_bytes, data, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        return failed(op->c, TUNE_DEVICE_FAILED, "writing %s: OpenCL error %d", tensor, (int)code);
    }
    if (tune_layer_tensor(op->layer, tensor)->role == TUNE_WEIGHT) {
        op->packed = 0;
    }
    return TUNE_OK;
}

enum tune_status tune_op_read(struct tune_op *op, const char *tensor, void *data, size_t n_bytes)
{
    enum tune_status s = check_transfer(op, tensor, data, n_bytes);
    if (s != TUNE_OK) {
        return s;
    }
    cl_int code =
        clEnqueueReadBuffer(op->c->queue, tune_op_buffer(op, tensor), CL_TRUE, 0, n_bytes, data, 0, NULL, NULL);
    return code == CL_SUCCESS ? TUNE_OK
                              : failed(op->c, TUNE_DEVICE_FAILED, "reading %s: OpenCL error %d", tensor, (int)code);
}

static cl_int enqueue_fill(struct tune_op *op, const struct tune_plan_launch *l)
{
    cl_float value = (cl_float)l->args[1].real;
    int i = (int)l->args[0].integer;
    return clEnqueueFillBuffer(op->c->queue, op->buffers[i], &value, sizeof value, 0,
                               op->layer->plan->buffers[i].n_bytes, 0, NULL, NULL);
}

static cl_int enqueue(struct tune_op *op, int i_launch)
{
    const struct tune_plan_launch *l = &op->layer->plan->launches[i_launch];
    size_t global[3];
    if (l->op == TUNE_OP_FILL) {
        return enqueue_fill(op, l);
    }
    if (l->op == TUNE_OP_COPY) {
        return clEnqueueCopyBuffer(op->c->queue, op->buffers[l->args[1].integer], op->buffers[l->args[0].integer], 0, 0,
                                   (size_t)l->args[2].integer, 0, NULL, NULL);
    }
    for (int d = 0; d < 3; d++) {
        global[d] = l->grid[d] * l->block[d];
    }
    return clEnqueueNDRangeKernel(op->c->queue, op->kernels[i_launch], 3, NULL, global, l->block, 0, NULL, NULL);
}

static int bumps(const struct tune_plan_arg *a)
{
    for (int d = 0; d < TUNE_PLAN_NEST; d++) {
        if (a->bump[d] != 0) {
            return 1;
        }
    }
    return 0;
}

/* One launch of one iteration; a kernel keeps the arguments of its last start. */
static cl_int launch_one(struct tune_op *op, int i_launch, const int64_t *iteration)
{
    const struct tune_plan_launch *l = &op->layer->plan->launches[i_launch];
    cl_int code = CL_SUCCESS;
    for (int i = 0; code == CL_SUCCESS && i < l->n_args; i++) {
        if (bumps(&l->args[i])) {
            code = set_arg(op, op->kernels[i_launch], (cl_uint)i, &l->args[i], iteration);
        }
    }
    return code == CL_SUCCESS ? enqueue(op, i_launch) : code;
}

/* Launches first .. last of one kind, whose loops begin at i_loop. */
static cl_int launch_range(struct tune_op *op, int pack, int first, int last, int i_loop, int depth, int64_t *iteration)
{
    const struct tune_plan *plan = op->layer->plan;
    cl_int code = CL_SUCCESS;
    for (int i = first; code == CL_SUCCESS && i <= last; i++) {
        while (i_loop < plan->n_loops && plan->loops[i_loop].first < i) {
            i_loop++;
        }
        if (plan->launches[i].pack != pack) {
            continue;
        }
        if (i_loop == plan->n_loops || plan->loops[i_loop].first != i || depth == TUNE_PLAN_NEST) {
            code = launch_one(op, i, iteration);
            continue;
        }
        for (int64_t n = 0; code == CL_SUCCESS && n < plan->loops[i_loop].count; n++) {
            iteration[depth] = n;
            code = launch_range(op, pack, i, plan->loops[i_loop].last, i_loop + 1, depth + 1, iteration);
        }
        iteration[depth] = 0;
        i = plan->loops[i_loop].last;
    }
    return code;
}

static enum tune_status launch_all(struct tune_op *op, int pack)
{
    int64_t iteration[TUNE_PLAN_NEST] = {0};
    cl_int code = launch_range(op, pack, 0, op->layer->plan->n_launches - 1, 0, 0, iteration);
    if (code == CL_SUCCESS) {
        code = clFinish(op->c->queue);
    }
    if (code != CL_SUCCESS) {
        return failed(op->c, TUNE_DEVICE_FAILED, "%s: a launch failed: OpenCL error %d", op->layer->workload,
                      (int)code);
    }
    return TUNE_OK;
}

enum tune_status tune_op_pack(struct tune_op *op)
{
    enum tune_status s = launch_all(op, 1);
    op->packed = s == TUNE_OK;
    return s;
}

enum tune_status tune_op_run(struct tune_op *op)
{
    if (!op->packed) {
        return failed(op->c, TUNE_NOT_PACKED, "%s: write the weights and call tune_op_pack before running",
                      op->layer->workload);
    }
    for (int i = 0; i < op->layer->plan->n_buffers; i++) {
        enum tune_status s = fill_buffer(op, i, 1);
        if (s != TUNE_OK) {
            return s;
        }
    }
    return launch_all(op, 0);
}
