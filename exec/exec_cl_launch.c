/* SPDX-License-Identifier: MIT */
/* exec_cl_launch.c - kernels of a plan, their arguments, their starts. */
#include "exec/exec_cl_launch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- builds ---- */

EXEC_API cl_program exec_cl_from_binary(cl_context context, cl_device_id device, const unsigned char *bytes,
                                        size_t n_bytes, const char *options)
{
    cl_int code = CL_SUCCESS, taken = CL_SUCCESS;
    cl_program program = clCreateProgramWithBinary(context, 1, &device, &n_bytes, &bytes, &taken, &code);
    if (code != CL_SUCCESS)
        return NULL;
    if (taken == CL_SUCCESS && clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS)
        return program;
    clReleaseProgram(program);
    return NULL;
}

EXEC_API cl_program exec_cl_from_text(cl_context context, cl_device_id device, const char *text, size_t n_bytes,
                                      const char *options, cl_int *code)
{
    cl_program program = clCreateProgramWithSource(context, 1, &text, &n_bytes, code);
    if (*code != CL_SUCCESS)
        return NULL;
    *code = clBuildProgram(program, 1, &device, options, NULL, NULL);
    return program;
}

/* ---- arguments ---- */

static const int64_t exec_cl_first[EXEC_NEST]; /* iteration */

static cl_int exec_cl_set_arg(const struct exec_cl_launches *l, int i_launch, int i_arg, const int64_t *iteration)
{
    const struct exec_arg *a = &l->plan->launches[i_launch].args[i_arg];
    const cl_kernel kernel = l->kernels[i_launch];
    union exec_number value;
    if (a->kind == EXEC_ARG_BUFFER)
        return clSetKernelArg(kernel, (cl_uint)i_arg, sizeof(cl_mem), &l->mems[a->integer]);
    if (a->kind == EXEC_ARG_LOCAL)
        return clSetKernelArg(kernel, (cl_uint)i_arg, (size_t)a->integer, NULL);
    return clSetKernelArg(kernel, (cl_uint)i_arg, exec_arg_pack(a, iteration, &value), &value);
}

static enum exec_status exec_cl_first_args(const struct exec_cl_launches *l, int i_launch, int with_mems,
                                           struct exec_words *words)
{
    const struct exec_launch *x = &l->plan->launches[i_launch];
    cl_uint n = 0;
    if (clGetKernelInfo(l->kernels[i_launch], CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL) == CL_SUCCESS &&
        n != (cl_uint)x->n_args) {
        return exec_fail(words, EXEC_BUILD_FAILED, "kernel %.64s takes %u arguments, the launch gives %d", x->kernel,
                         (unsigned)n, x->n_args);
    }
    for (int i = 0; i < x->n_args; i++) {
        cl_int code = CL_SUCCESS;
        if (with_mems || x->args[i].kind != EXEC_ARG_BUFFER)
            code = exec_cl_set_arg(l, i_launch, i, exec_cl_first);
        if (code != CL_SUCCESS) {
            return exec_fail(words, EXEC_BUILD_FAILED, "argument %d of kernel %.64s: OpenCL error %d%s", i, x->kernel,
                             (int)code, code == CL_INVALID_ARG_SIZE ? ": its type has another size in the kernel" : "");
        }
    }
    return EXEC_OK;
}

EXEC_API cl_int exec_cl_bind(struct exec_cl_launches *l, enum exec_phase phase)
{
    cl_int code = CL_SUCCESS;
    for (int i = 0; code == CL_SUCCESS && i < l->plan->n_launches; i++) {
        const struct exec_launch *x = &l->plan->launches[i];
        l->i_launch = i;
        for (int a = 0; code == CL_SUCCESS && x->op == EXEC_KERNEL && x->phase == phase && a < x->n_args; a++)
            if (x->args[a].kind == EXEC_ARG_BUFFER)
                code = exec_cl_set_arg(l, i, a, exec_cl_first);
    }
    return code;
}

/* ---- kernels ---- */

/* What only the built kernel can say: on many devices its work-group limit falls with its registers. */
static enum exec_status exec_cl_ask_kernel(struct exec_cl_launches *l, int i_launch, cl_device_id device,
                                           size_t max_local, struct exec_words *words)
{
    const struct exec_launch *x = &l->plan->launches[i_launch];
    const cl_kernel kernel = l->kernels[i_launch];
    const size_t items = x->block[0] * x->block[1] * x->block[2];
    size_t most = items, fixed[3] = {0, 0, 0};
    cl_ulong local = 0;
    (void)clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    (void)clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    (void)clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof fixed, fixed, NULL);
    l->local_bytes[i_launch] = (size_t)local;
    if (items > most) {
        return exec_fail(words, EXEC_NO_DEVICE, "work-groups of %zu, the built kernel %.64s allows %zu", items,
                         x->kernel, most);
    }
    if (local > max_local) {
        return exec_fail(words, EXEC_NO_DEVICE, "kernel %.64s uses %zu bytes of local memory, the device has %zu",
                         x->kernel, (size_t)local, max_local);
    }
    if (fixed[0] != 0 && memcmp(fixed, x->block, sizeof fixed) != 0) {
        return exec_fail(words, EXEC_NO_DEVICE, "kernel %.64s requires work-groups of %zu x %zu x %zu", x->kernel,
                         fixed[0], fixed[1], fixed[2]);
    }
    return EXEC_OK;
}

static enum exec_status exec_cl_make_kernel(struct exec_cl_launches *l, int i_launch, const cl_program *programs,
                                            struct exec_words *words)
{
    const struct exec_launch *x = &l->plan->launches[i_launch];
    cl_int code = CL_SUCCESS;
    l->kernels[i_launch] = clCreateKernel(programs[x->i_module], x->kernel, &code);
    if (code == CL_SUCCESS)
        return EXEC_OK;
    l->kernels[i_launch] = NULL;
    return code == CL_INVALID_KERNEL_NAME
               ? exec_fail(words, EXEC_BUILD_FAILED, "the module has no kernel named %.64s", x->kernel)
               : exec_fail(words, EXEC_DEVICE_FAILED, "kernel %.64s: OpenCL error %d", x->kernel, (int)code);
}

static int exec_cl_launches_room(struct exec_cl_launches *l)
{
    const size_t n = (size_t)l->plan->n_launches + 1;
    l->kernels = calloc(n, sizeof *l->kernels);
    l->local_bytes = calloc(n, sizeof *l->local_bytes);
    l->mems = calloc((size_t)l->plan->n_buffers + 1, sizeof *l->mems);
    l->latest = calloc(n, sizeof *l->latest);
    l->awaited = calloc(n, 1);
    l->of_team = calloc(n, 1);
    l->is_small = calloc(n, 1);
    return l->kernels && l->local_bytes && l->mems && l->latest && l->awaited && l->of_team && l->is_small;
}

#ifdef TUNE_EXEC_TEAM_CL_H
#define EXEC_CL_SMALL_BYTES 32768 /* of all buffers of a launch */

static int exec_cl_is_small(const struct exec_plan *plan, const struct exec_launch *x)
{
    size_t n = 0;

    for (int a = 0; a < x->n_args; a++)
        if (x->args[a].kind == EXEC_ARG_BUFFER)
            n += plan->buffers[x->args[a].integer].n_bytes;
    return n <= EXEC_CL_SMALL_BYTES;
}
#endif

EXEC_API enum exec_status exec_cl_launches_init(const struct exec_plan *plan, cl_device_id device, size_t max_local,
                                                const cl_program *programs, const cl_mem *mems,
                                                struct exec_cl_team *team, struct exec_words *words,
                                                struct exec_cl_launches *out)
{
    enum exec_status status = EXEC_OK;
    memset(out, 0, sizeof *out);
    out->plan = plan;
    out->team = team;
    if (!exec_cl_launches_room(out))
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    exec_mark_awaited(plan, 0, out->awaited);
    for (int phase = 0; phase < EXEC_N_PHASES; phase++)
        out->n_starts[phase] = exec_count(plan, (enum exec_phase)phase);
    if (mems)
        memcpy(out->mems, mems, (size_t)plan->n_buffers * sizeof *mems);
    for (int i = 0; status == EXEC_OK && i < plan->n_launches; i++) {
        out->i_launch = i;
        if (plan->launches[i].op == EXEC_SYMBOL)
            status = exec_fail(words, EXEC_BAD_ARGUMENT, "%.64s: variables of a module are CUDA's",
                               plan->launches[i].kernel);
        if (plan->launches[i].op == EXEC_KERNEL) {
            status = exec_cl_make_kernel(out, i, programs, words);
            status = status == EXEC_OK ? exec_cl_first_args(out, i, mems != NULL, words) : status;
            status = status == EXEC_OK ? exec_cl_ask_kernel(out, i, device, max_local, words) : status;
#ifdef TUNE_EXEC_TEAM_CL_H
            out->of_team[i] = (char)(team && status == EXEC_OK && exec_cl_team_has(out->kernels[i]));
            out->is_small[i] = (char)exec_cl_is_small(plan, &plan->launches[i]);
#endif
        }
    }
    return status;
}

EXEC_API void exec_cl_launches_fini(struct exec_cl_launches *l)
{
    for (int i = 0; l->kernels && i < l->plan->n_launches; i++)
        if (l->kernels[i])
            clReleaseKernel(l->kernels[i]);
    free(l->kernels);
    free(l->local_bytes);
    free(l->mems);
    free(l->latest);
    free(l->awaited);
    free(l->of_team);
    free(l->is_small);
    free(l->started);
    memset(l, 0, sizeof *l);
}

/* ---- starts ---- */

/* What a start waits for and where its event goes; NULL = nobody wants it. */
struct exec_cl_turn {
    cl_command_queue queue;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
};

static cl_int exec_cl_start_kernel(struct exec_cl_launches *l, int i, const int64_t *iteration,
                                   const struct exec_cl_turn *t)
{
    const struct exec_launch *x = &l->plan->launches[i];
    size_t global[3];
    cl_int code = l->before ? l->before(i, l->arg) : CL_SUCCESS;
    for (int a = 0; code == CL_SUCCESS && a < x->n_args; a++)
        if (exec_arg_bumps(&x->args[a]))
            code = exec_cl_set_arg(l, i, a, iteration); /* a kernel keeps those of its last start */
    if (code != CL_SUCCESS)
        return code;
#ifdef TUNE_EXEC_TEAM_CL_H
    if (l->team && l->of_team[i]) {
        const struct exec_cl_team_job job = {l->kernels[i], x->grid, x->block, t->n_wait, t->wait, t->event};
        return exec_cl_team_start(l->team, t->queue, &job, !l->is_late && !l->is_small[i]);
    }
#endif
    for (int d = 0; d < 3; d++)
        global[d] = x->grid[d] * x->block[d];
    return clEnqueueNDRangeKernel(t->queue, l->kernels[i], 3, NULL, global, x->block, t->n_wait, t->wait, t->event);
}

static cl_int exec_cl_start_other(struct exec_cl_launches *l, const struct exec_launch *x, const struct exec_cl_turn *t)
{
    const int to = (int)x->args[0].integer;
    unsigned char element[8];
    if (x->op == EXEC_COPY) {
        return clEnqueueCopyBuffer(t->queue, l->mems[x->args[1].integer], l->mems[to], 0, 0, (size_t)x->args[2].integer,
                                   t->n_wait, t->wait, t->event);
    }
    return clEnqueueFillBuffer(t->queue, l->mems[to], element, exec_fill_element(x, element), 0,
                               l->plan->buffers[to].n_bytes, t->n_wait, t->wait, t->event);
}

/* Room for one more event; NULL without memory. */
static struct exec_cl_start *exec_cl_next_start(struct exec_cl_launches *l)
{
    if (l->n_started == l->cap_started) {
        const size_t cap = l->cap_started > 0 ? 2 * l->cap_started : 64;
        struct exec_cl_start *grown = realloc(l->started, cap * sizeof *grown);
        if (!grown)
            return NULL;
        l->started = grown;
        l->cap_started = cap;
    }
    assert(l->n_started < l->cap_started);
    return &l->started[l->n_started];
}

/* The events that launch i waits for; gives their number. */
static cl_uint exec_cl_waits(const struct exec_cl_launches *l, const struct exec_launch *x, cl_event *out)
{
    cl_uint n = 0;
    assert(x->n_after <= EXEC_MAX_AFTER);
    for (int a = 0; a < x->n_after; a++)
        if (l->latest[x->after[a]] != NULL)
            out[n++] = l->latest[x->after[a]];
    return n;
}

static int exec_cl_start(int i, const int64_t *iteration, void *arg)
{
    struct exec_cl_launches *l = arg;
    const struct exec_launch *x = &l->plan->launches[i];
    cl_event wait[EXEC_MAX_AFTER];
    struct exec_cl_start *kept = NULL;
    struct exec_cl_turn t = {l->queues[x->queue], exec_cl_waits(l, x, wait), NULL, NULL};
    cl_int code;
    assert(t.queue && l->n_left > 0);
    l->i_launch = i;
    if (--l->n_left == 0 || l->all_events || l->awaited[i]) {
        kept = exec_cl_next_start(l);
        if (!kept)
            return CL_OUT_OF_HOST_MEMORY;
        t.event = &kept->event;
    }
    t.wait = t.n_wait > 0 ? wait : NULL;
    code = x->op == EXEC_KERNEL ? exec_cl_start_kernel(l, i, iteration, &t) : exec_cl_start_other(l, x, &t);
    if (code == CL_SUCCESS && kept) {
        kept->i_launch = i;
        l->latest[i] = kept->event;
        l->n_started++;
    }
    return code;
}

EXEC_API cl_int exec_cl_launch(struct exec_cl_launches *l, enum exec_phase phase)
{
    cl_int code;
    l->n_left = l->n_starts[phase];
#ifdef TUNE_EXEC_TEAM_CL_H
    l->is_late = l->team && !exec_cl_team_is_idle(l->queues[0]);
#endif
    code = exec_walk(l->plan, phase, exec_cl_start, l);
    assert(code != CL_SUCCESS || l->n_left == 0);
    return code;
}

EXEC_API void exec_cl_forget_starts(struct exec_cl_launches *l)
{
    for (size_t i = 0; i < l->n_started; i++)
        clReleaseEvent(l->started[i].event);
    l->n_started = 0;
    if (l->latest)
        memset(l->latest, 0, (size_t)l->plan->n_launches * sizeof *l->latest);
}
