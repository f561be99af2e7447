/* SPDX-License-Identifier: MIT */
/* exec_cu_launch.c - functions of a plan, their starts on one stream or several. */
#include "exec/exec_cu_launch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXEC_CU_USUAL_BYTES (48 * 1024) /* of shared memory; more has to be asked for */

/* ---- functions ---- */

static int exec_cu_attribute(const struct exec_cu_launches *l, struct CUfunc_st *f, int attribute)
{
    int value = 0;
    return l->cu->cuFuncGetAttribute(&value, attribute, f) == 0 ? value : -1;
}

/* Newer drivers tell a kernel's parameters; older ones would read whatever lies behind ours. */
static enum exec_status exec_cu_check_args(const struct exec_cu_launches *l, const struct exec_launch *x,
                                           struct CUfunc_st *f, struct exec_words *words)
{
    static const int64_t first[EXEC_NEST];
    size_t offset = 0, n = 0;
    if (!l->cu->cuFuncGetParamInfo)
        return EXEC_OK;
    for (int i = 0; i < x->n_args; i++) {
        union exec_number unused;
        const size_t given =
            x->args[i].kind == EXEC_ARG_BUFFER ? sizeof(exec_cu_mem) : exec_arg_pack(&x->args[i], first, &unused);
        if (l->cu->cuFuncGetParamInfo(f, (size_t)i, &offset, &n) != 0) {
            return exec_fail(words, EXEC_BUILD_FAILED, "kernel %.64s takes %d arguments, the launch gives %d",
                             x->kernel, i, x->n_args);
        }
        if (n != given) {
            return exec_fail(words, EXEC_BUILD_FAILED,
                             "argument %d of kernel %.64s has %zu bytes, the launch gives %zu", i, x->kernel, n, given);
        }
    }
    if (l->cu->cuFuncGetParamInfo(f, (size_t)x->n_args, &offset, &n) == 0) {
        return exec_fail(words, EXEC_BUILD_FAILED, "kernel %.64s takes more arguments than the %d of the launch",
                         x->kernel, x->n_args);
    }
    return EXEC_OK;
}

/* Launches share functions: what one has asked for is never lowered by another. */
static enum exec_status exec_cu_opt_in(struct exec_cu_launches *l, const struct exec_launch *x, struct CUfunc_st *f,
                                       const struct exec_cu_limits *limits, struct exec_words *words)
{
    const int64_t fixed = exec_cu_attribute(l, f, EXEC_CU_FUNC_SHARED_BYTES), most = limits->optin_bytes - fixed;
    int64_t now = exec_cu_attribute(l, f, EXEC_CU_FUNC_MAX_DYNAMIC);
    char what[160];
    if (x->dyn_local > most) {
        return exec_fail(words, EXEC_NO_DEVICE, "kernel %.64s uses %lld bytes of shared memory, the device has %d",
                         x->kernel, (long long)(fixed + x->dyn_local), limits->optin_bytes);
    }
    now = now > most ? most : now;
    if (fixed + x->dyn_local <= EXEC_CU_USUAL_BYTES || now >= x->dyn_local)
        return EXEC_OK;
    l->error = l->cu->cuFuncSetAttribute(f, EXEC_CU_FUNC_MAX_DYNAMIC, (int)x->dyn_local);
    (void)snprintf(what, sizeof what, "kernel %.64s cannot have %lld bytes of dynamic shared memory", x->kernel,
                   (long long)x->dyn_local);
    return exec_cu_check(l->cu, l->error, what, words) == EXEC_OK ? EXEC_OK : EXEC_NO_DEVICE;
}

/* All blocks of a cooperative launch wait for one another: they have to be resident together. */
static enum exec_status exec_cu_check_cooperative(struct exec_cu_launches *l, const struct exec_launch *x,
                                                  struct CUfunc_st *f, const struct exec_cu_limits *limits,
                                                  struct exec_words *words)
{
    const size_t blocks = x->grid[0] * x->grid[1] * x->grid[2], threads = x->block[0] * x->block[1] * x->block[2];
    int resident = 0;
    if (!x->cooperative)
        return EXEC_OK;
    if (!l->cu->cuLaunchCooperativeKernel)
        return exec_fail(words, EXEC_NO_DEVICE, "kernel %.64s: the driver has no cooperative launches", x->kernel);
    l->error = l->cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, f, (int)threads, (size_t)x->dyn_local);
    if (l->error != 0)
        return exec_cu_check(l->cu, l->error, x->kernel, words);
    if (blocks > (size_t)resident * (size_t)limits->units) {
        return exec_fail(words, EXEC_NO_DEVICE, "kernel %.64s: %zu blocks at the same time, %zu fit (%d on each of %d)",
                         x->kernel, blocks, (size_t)resident * (size_t)limits->units, resident, limits->units);
    }
    return EXEC_OK;
}

/* What the built code says of itself. */
static enum exec_status exec_cu_ask_function(struct exec_cu_launches *l, const struct exec_launch *x,
                                             struct CUfunc_st *f, const struct exec_cu_limits *limits,
                                             struct exec_words *words)
{
    const size_t threads = x->block[0] * x->block[1] * x->block[2];
    const int most = exec_cu_attribute(l, f, EXEC_CU_FUNC_MAX_THREADS);
    enum exec_status status;
    if (most > 0 && threads > (size_t)most) {
        return exec_fail(words, EXEC_NO_DEVICE, "work-groups of %zu, the built kernel %.64s allows %d", threads,
                         x->kernel, most);
    }
    status = exec_cu_opt_in(l, x, f, limits, words);
    status = status == EXEC_OK ? exec_cu_check_args(l, x, f, words) : status;
    return status == EXEC_OK ? exec_cu_check_cooperative(l, x, f, limits, words) : status;
}

static enum exec_status exec_cu_find_function(struct exec_cu_launches *l, int i, struct CUmod_st *module,
                                              const struct exec_cu_limits *limits, struct exec_words *words)
{
    const struct exec_launch *x = &l->plan->launches[i];
    if (x->n_args > EXEC_CU_MAX_ARGS) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "kernel %.64s: %d arguments, at most %d are possible", x->kernel,
                         x->n_args, EXEC_CU_MAX_ARGS);
    }
    for (int a = 0; a < x->n_args; a++) {
        if (x->args[a].kind == EXEC_ARG_LOCAL) {
            return exec_fail(words, EXEC_BAD_ARGUMENT, "kernel %.64s: local memory as an argument is OpenCL's",
                             x->kernel);
        }
    }
    l->error = l->cu->cuModuleGetFunction(&l->functions[i], module, x->kernel);
    if (l->error == EXEC_CU_NOT_FOUND) {
        return exec_fail(words, EXEC_BUILD_FAILED,
                         "the module has no kernel named %.64s (extern \"C\" keeps a name as it is)", x->kernel);
    }
    return l->error != 0 ? exec_cu_check(l->cu, l->error, x->kernel, words)
                         : exec_cu_ask_function(l, x, l->functions[i], limits, words);
}

/* Where a variable of the module lies; it takes all bytes that are copied there. */
static enum exec_status exec_cu_find_symbol(struct exec_cu_launches *l, int i, struct CUmod_st *module,
                                            struct exec_words *words)
{
    const struct exec_launch *x = &l->plan->launches[i];
    size_t n_bytes = 0;
    assert(x->n_args == 2);
    l->error = l->cu->cuModuleGetGlobal_v2(&l->symbols[i], &n_bytes, module, x->kernel);
    if (l->error == EXEC_CU_NOT_FOUND) {
        return exec_fail(words, EXEC_BUILD_FAILED, "the module has no variable named %.64s that a kernel uses",
                         x->kernel);
    }
    if (l->error == 0 && (size_t)x->args[1].integer > n_bytes) {
        return exec_fail(words, EXEC_BUILD_FAILED, "variable %.64s has %zu bytes, %lld are to go there", x->kernel,
                         n_bytes, (long long)x->args[1].integer);
    }
    return exec_cu_check(l->cu, l->error, x->kernel, words);
}

/* ---- streams and events ---- */

static int exec_cu_make_streams(struct exec_cu_launches *l)
{
    const unsigned used = exec_queues(l->plan);
    int error = used == 1 ? 0 : l->cu->cuEventCreate(&l->begin, EXEC_CU_NO_TIMING);
    for (int q = 1; error == 0 && q < EXEC_QUEUES; q++) {
        if ((used >> q & 1) != 0) {
            error = l->cu->cuStreamCreate(&l->streams[q], EXEC_CU_NON_BLOCKING);
            error = error != 0 ? error : l->cu->cuEventCreate(&l->joins[q], EXEC_CU_NO_TIMING);
        }
    }
    exec_mark_awaited(l->plan, 1, l->ran);
    for (int i = 0; error == 0 && i < l->plan->n_launches; i++)
        error = l->ran[i] ? l->cu->cuEventCreate(&l->after[i], EXEC_CU_NO_TIMING) : 0;
    return error;
}

static void exec_cu_drop_event(const struct exec_cu_launches *l, struct CUevent_st *event)
{
    if (event)
        (void)l->cu->cuEventDestroy_v2(event);
}

static int exec_cu_launches_room(struct exec_cu_launches *l)
{
    const size_t n = (size_t)l->plan->n_launches + 1;
    l->functions = calloc(n, sizeof *l->functions);
    l->symbols = calloc(n, sizeof *l->symbols);
    l->mems = calloc((size_t)l->plan->n_buffers + 1, sizeof *l->mems);
    l->after = calloc(n, sizeof *l->after);
    l->ran = calloc(n, 1);
    return l->functions && l->symbols && l->mems && l->after && l->ran;
}

EXEC_API enum exec_status exec_cu_launches_init(const struct exec_cu_calls *cu, const struct exec_plan *plan,
                                                const struct exec_cu_limits *limits, struct CUmod_st *const *modules,
                                                const exec_cu_mem *mems, struct exec_words *words,
                                                struct exec_cu_launches *out)
{
    enum exec_status status = EXEC_OK;
    memset(out, 0, sizeof *out);
    out->cu = cu;
    out->plan = plan;
    if (!exec_cu_launches_room(out))
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    if (mems)
        memcpy(out->mems, mems, (size_t)plan->n_buffers * sizeof *mems);
    for (int phase = 0; phase < EXEC_N_PHASES; phase++)
        out->n_starts[phase] = exec_count(plan, (enum exec_phase)phase);
    for (int i = 0; status == EXEC_OK && i < plan->n_launches; i++) {
        out->i_launch = i;
        if (plan->launches[i].op == EXEC_KERNEL)
            status = exec_cu_find_function(out, i, modules[plan->launches[i].i_module], limits, words);
        else if (plan->launches[i].op == EXEC_SYMBOL)
            status = exec_cu_find_symbol(out, i, modules[plan->launches[i].i_module], words);
    }
    if (status != EXEC_OK)
        return status;
    out->i_launch = -1;
    out->error = exec_cu_make_streams(out);
    return exec_cu_check(cu, out->error, "making streams and events", words);
}

EXEC_API void exec_cu_launches_fini(struct exec_cu_launches *l)
{
    for (int i = 0; l->after && i < l->plan->n_launches; i++)
        exec_cu_drop_event(l, l->after[i]);
    exec_cu_drop_event(l, l->begin);
    for (int q = 1; q < EXEC_QUEUES; q++) {
        exec_cu_drop_event(l, l->joins[q]);
        if (l->streams[q])
            (void)l->cu->cuStreamDestroy_v2(l->streams[q]);
    }
    free(l->functions);
    free(l->symbols);
    free(l->mems);
    free(l->after);
    free(l->ran);
    memset(l, 0, sizeof *l);
}

/* ---- starts ---- */

EXEC_API int exec_cu_set(const struct exec_cu_calls *cu, exec_cu_mem to, const unsigned char *element, size_t n_element,
                         size_t n_bytes, struct CUstream_st *stream)
{
    uint16_t two = 0;
    uint32_t four = 0;
    assert(n_element == 1 || n_element == 2 || n_element == 4);
    assert(n_bytes % n_element == 0);
    if (n_element == 1)
        return cu->cuMemsetD8Async(to, element[0], n_bytes, stream);
    if (n_element == 2) {
        memcpy(&two, element, 2);
        return cu->cuMemsetD16Async(to, two, n_bytes / 2, stream);
    }
    memcpy(&four, element, 4);
    return cu->cuMemsetD32Async(to, four, n_bytes / 4, stream);
}

static int exec_cu_start_kernel(struct exec_cu_launches *l, int i, const int64_t *iteration)
{
    const struct exec_launch *x = &l->plan->launches[i];
    const unsigned g[3] = {(unsigned)x->grid[0], (unsigned)x->grid[1], (unsigned)x->grid[2]};
    const unsigned b[3] = {(unsigned)x->block[0], (unsigned)x->block[1], (unsigned)x->block[2]};
    const unsigned dynamic = (unsigned)x->dyn_local;
    struct CUstream_st *const stream = l->streams[x->queue];
    union exec_number values[EXEC_CU_MAX_ARGS];
    void *params[EXEC_CU_MAX_ARGS];
    assert(x->n_args <= EXEC_CU_MAX_ARGS);
    for (int a = 0; a < x->n_args; a++) {
        if (exec_arg_pack(&x->args[a], iteration, &values[a]) == 0)
            values[a].address = l->mems[x->args[a].integer];
        params[a] = &values[a];
    }
    if (x->cooperative) {
        return l->cu->cuLaunchCooperativeKernel(l->functions[i], g[0], g[1], g[2], b[0], b[1], b[2], dynamic, stream,
                                                params);
    }
    return l->cu->cuLaunchKernel(l->functions[i], g[0], g[1], g[2], b[0], b[1], b[2], dynamic, stream, params, NULL);
}

static int exec_cu_start_other(struct exec_cu_launches *l, int i)
{
    const struct exec_launch *x = &l->plan->launches[i];
    const struct exec_arg *a = x->args;
    unsigned char element[8];
    if (x->op == EXEC_SYMBOL) {
        return l->cu->cuMemcpyDtoDAsync_v2(l->symbols[i], l->mems[a[0].integer], (size_t)a[1].integer,
                                           l->streams[x->queue]);
    }
    if (x->op == EXEC_COPY) {
        return l->cu->cuMemcpyDtoDAsync_v2(l->mems[a[0].integer], l->mems[a[1].integer], (size_t)a[2].integer,
                                           l->streams[x->queue]);
    }
    return exec_cu_set(l->cu, l->mems[a[0].integer], element, exec_fill_element(x, element),
                       l->plan->buffers[a[0].integer].n_bytes, l->streams[x->queue]);
}

static int exec_cu_start(int i, const int64_t *iteration, void *arg)
{
    struct exec_cu_launches *l = arg;
    const struct exec_launch *x = &l->plan->launches[i];
    int error = 0;
    l->i_launch = i;
    for (int a = 0; error == 0 && a < x->n_after; a++) {
        const int other = x->after[a];
        assert(l->plan->launches[other].queue == x->queue || l->after[other]);
        if (l->plan->launches[other].queue != x->queue && l->ran[other])
            error = l->cu->cuStreamWaitEvent(l->streams[x->queue], l->after[other], 0);
    }
    if (error == 0)
        error = x->op == EXEC_KERNEL ? exec_cu_start_kernel(l, i, iteration) : exec_cu_start_other(l, i);
    if (error == 0 && l->after[i]) {
        error = l->cu->cuEventRecord(l->after[i], l->streams[x->queue]);
        l->ran[i] = error == 0;
    }
    return error;
}

/* The other streams begin behind a point of stream 0, and end before another one. */
static int exec_cu_fork(struct exec_cu_launches *l)
{
    int error = l->begin ? l->cu->cuEventRecord(l->begin, l->streams[0]) : 0;
    for (int q = 1; error == 0 && q < EXEC_QUEUES; q++) {
        assert(!l->streams[q] || (l->begin && l->joins[q]));
        error = l->streams[q] ? l->cu->cuStreamWaitEvent(l->streams[q], l->begin, 0) : 0;
    }
    return error;
}

static int exec_cu_join(struct exec_cu_launches *l)
{
    int error = 0;
    for (int q = 1; error == 0 && q < EXEC_QUEUES; q++) {
        if (l->streams[q]) {
            error = l->cu->cuEventRecord(l->joins[q], l->streams[q]);
            error = error != 0 ? error : l->cu->cuStreamWaitEvent(l->streams[0], l->joins[q], 0);
        }
    }
    return error;
}

EXEC_API int exec_cu_launch(struct exec_cu_launches *l, enum exec_phase phase)
{
    memset(l->ran, 0, (size_t)l->plan->n_launches);
    l->i_launch = -1;
    l->error = exec_cu_fork(l);
    if (l->error == 0)
        l->error = exec_walk(l->plan, phase, exec_cu_start, l);
    if (l->error == 0) {
        l->i_launch = -1;
        l->error = exec_cu_join(l);
    }
    return l->error;
}
