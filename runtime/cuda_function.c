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

enum err cuda_make_launches(struct loaded *l, struct load_report *report, struct why *why)
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
