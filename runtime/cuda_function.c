/* SPDX-License-Identifier: MIT */
/* cuda_function.c - the functions of a program's launches and what the built code says of itself. */
#include "runtime/cuda.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

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

/* Newer drivers tell a kernel's parameters; older ones would read whatever lies behind ours. */
static enum err check_arguments(const struct program_launch *launch, cuda_function f, struct why *why)
{
    static const size_t bytes[N_ARGS] = {
        [ARG_BUFFER] = 8, [ARG_I32] = 4, [ARG_U32] = 4, [ARG_I64] = 8, [ARG_F32] = 4, [ARG_F64] = 8};
    size_t offset, n;

    if (!cuda.cuFuncGetParamInfo)
        return ERR_OK;
    for (size_t i = 0; i < launch->n_args; i++) {
        if (cuda.cuFuncGetParamInfo(f, i, &offset, &n))
            return why_set(why, ERR_COMPILE, "launch '%s': kernel %s takes %zu arguments, the launch gives %zu",
                           launch->id, launch->kernel, i, launch->n_args);
        assert(bytes[launch->args[i].kind]); /* others were refused before */
        if (n != bytes[launch->args[i].kind])
            return why_set(why, ERR_COMPILE,
                           "launch '%s': argument %zu of kernel %s has %zu bytes, the launch gives %zu", launch->id, i,
                           launch->kernel, n, bytes[launch->args[i].kind]);
    }
    if (cuda.cuFuncGetParamInfo(f, launch->n_args, &offset, &n) == 0)
        return why_set(why, ERR_COMPILE, "launch '%s': kernel %s takes more arguments than the %zu of the launch",
                       launch->id, launch->kernel, launch->n_args);
    return ERR_OK;
}

/* The most that any launch of this kernel asks for: the last word is the function's. */
static int64_t most_dynamic(const struct program *p, const struct program_launch *launch)
{
    int64_t most = 0;

    for (size_t i = 0; i < p->n_launches; i++) {
        const struct program_launch *o = &p->launches[i];

        if (o->op == LAUNCH_KERNEL && o->i_module == launch->i_module && strcmp(o->kernel, launch->kernel) == 0 &&
            o->dyn_local > most)
            most = o->dyn_local;
    }
    return most;
}

/* More shared memory than the usual 48 KiB has to be asked for. */
static enum err opt_in(const struct loaded *l, const struct program_launch *launch, cuda_function f, struct why *why)
{
    const struct device_desc *d = &l->device->desc;
    const int64_t fixed = attribute(f, CUDA_FUNC_SHARED_BYTES), dynamic = most_dynamic(&l->program, launch);
    cuda_result error;

    if (fixed + dynamic > d->local_max_bytes)
        return why_set(why, ERR_LIMITS, "launch '%s': kernel %s uses %lld bytes of shared memory, the device has %lld",
                       launch->id, launch->kernel, (long long)(fixed + dynamic), (long long)d->local_max_bytes);
    if (fixed + dynamic <= d->local_bytes)
        return ERR_OK;
    error = cuda.cuFuncSetAttribute(f, CUDA_FUNC_MAX_DYNAMIC_BYTES, (int)dynamic);
    if (error)
        return why_set(why, cuda_is_sticky(error) ? ERR_DEVICE : ERR_LIMITS,
                       "launch '%s': kernel %s cannot have %lld bytes of dynamic shared memory: %s", launch->id,
                       launch->kernel, (long long)dynamic, cuda_error_name(error));
    return ERR_OK;
}

/* All blocks of a cooperative launch wait for one another: they have to be resident together. */
static enum err check_cooperative(const struct device *d, const struct program_launch *launch, cuda_function f,
                                  struct why *why)
{
    const int64_t blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    const int64_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    int resident = 0;
    cuda_result error;

    if (!launch->cooperative)
        return ERR_OK;
    if (!cuda.cuLaunchCooperativeKernel)
        return why_set(why, ERR_LIMITS, "launch '%s': the driver has no cooperative launches", launch->id);
    error = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, f, (int)threads, (size_t)launch->dyn_local);
    if (error)
        return cuda_failed(why, "cuOccupancyMaxActiveBlocksPerMultiprocessor", error);
    if (blocks > resident * d->desc.units)
        return why_set(why, ERR_LIMITS, "launch '%s': %lld blocks at the same time, %lld fit (%d on each of %lld)",
                       launch->id, (long long)blocks, (long long)(resident * d->desc.units), resident,
                       (long long)d->desc.units);
    return ERR_OK;
}

static enum err ask_function(const struct loaded *l, const struct program_launch *launch, cuda_function f,
                             struct why *why)
{
    const int64_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    const int max = attribute(f, CUDA_FUNC_MAX_THREADS);
    enum err e;

    if (max > 0 && threads > max)
        return why_set(why, ERR_LIMITS, "launch '%s': work-groups of %lld, the built kernel %s allows %d", launch->id,
                       (long long)threads, launch->kernel, max);
    e = opt_in(l, launch, f, why);
    if (!e)
        e = check_arguments(launch, f, why);
    return e ? e : check_cooperative(l->device, launch, f, why);
}

static enum err find_one(struct loaded *l, size_t i, const struct cuda_figures *figures, struct load_report *report,
                         struct why *why)
{
    const struct program_launch *launch = &l->program.launches[i];
    cuda_result error;

    if (launch->op != LAUNCH_KERNEL)
        return ERR_OK;
    assert((size_t)launch->i_module < l->program.n_modules && l->modules[launch->i_module]);
    error = cuda.cuModuleGetFunction(&l->functions[i], l->modules[launch->i_module], launch->kernel);
    if (error == CUDA_NOT_FOUND)
        return why_set(why, ERR_COMPILE, "module '%s' has no kernel named %s (extern \"C\" keeps a name as it is)",
                       l->program.modules[launch->i_module].id, launch->kernel);
    if (error)
        return cuda_blame(l->device, NULL, why, "cuModuleGetFunction", error);
    add_resources(launch, l->functions[i], figures, report);
    return ask_function(l, launch, l->functions[i], why);
}

enum err cuda_find_functions(struct loaded *l, const struct cuda_figures *figures, struct load_report *report,
                             struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < l->program.n_launches; i++)
        e = find_one(l, i, figures, report, why);
    return e;
}
