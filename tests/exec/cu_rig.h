/* SPDX-License-Identifier: MIT */
/* cu_rig.h - plans for the CUDA executor, written by hand, and sessions on the emulated driver (tests/cuda). Behind
 * cmocka.h. */
#ifndef TUNE_TESTS_EXEC_CU_RIG_H
#define TUNE_TESTS_EXEC_CU_RIG_H

#include "exec/exec_cu.h"
#include "tests/cuda/emulated.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL "extern \"C\" __global__ void "

static struct exec_words words;

/* ---- making plans ---- */

/* A module, its code in up to three binaries; code_free frees it. */
struct code {
    struct exec_module module;
    struct exec_binary binaries[3];
    char *images[3];
};

static inline size_t image_bytes(const char *target, const char *image)
{
    uint64_t e_shoff;
    uint16_t size, n;

    if (target[0] == 'c')
        return strlen(image);
    memcpy(&e_shoff, image + 40, 8); /* an ELF file ends with its table of sections */
    memcpy(&size, image + 58, 2);
    memcpy(&n, image + 60, 2);
    return (size_t)e_shoff + (size_t)size * n;
}

static inline void code_add(struct code *c, const char *target, const char *text)
{
    const int i = c->module.n_binaries++;
    char log[500] = "";

    c->images[i] = emulated_image(text, target, log);
    if (!c->images[i])
        fail_msg("%s", log);
    c->binaries[i] = (struct exec_binary){target, (unsigned char *)c->images[i], image_bytes(target, c->images[i]), 0};
    c->module.binaries = c->binaries;
}

static inline void code_make(struct code *c, const char *text)
{
    *c = (struct code){.module = {.options = ""}};
    code_add(c, "compute_61", text);
}

static inline void code_free(struct code *c)
{
    for (int i = 0; i < 3; i++)
        free(c->images[i]);
}

static inline struct exec_arg buffer(int i)
{
    return (struct exec_arg){.kind = EXEC_ARG_BUFFER, .integer = i};
}

static inline struct exec_arg i32(int v)
{
    return (struct exec_arg){.kind = EXEC_ARG_I32, .integer = v};
}

static inline struct exec_launch kernel(const char *name, size_t blocks, size_t threads, const struct exec_arg *args,
                                        int n)
{
    return (struct exec_launch){
        .kernel = name, .grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .args = args, .n_args = n};
}

/* A plan with one module; the arrays are the caller's. */
#define PLAN(name, code, buffer_list, launch_list)                                                                     \
    const struct exec_module *name##_modules[] = {&(code)->module};                                                    \
    struct exec_plan name = {.workload = #name,                                                                        \
                             .modules = name##_modules,                                                                \
                             .n_modules = 1,                                                                           \
                             .buffers = buffer_list,                                                                   \
                             .n_buffers = (int)(sizeof buffer_list / sizeof buffer_list[0]),                           \
                             .launches = launch_list,                                                                  \
                             .n_launches = (int)(sizeof launch_list / sizeof launch_list[0])}

/* ---- sessions ---- */

struct session {
    CUcontext context;
    CUstream streams[2];
    struct exec_cu *s;
};

static inline void begin(struct session *x, const char *sm)
{
    x->context = emulated_start(sm);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cuda.cuStreamCreate(&x->streams[i], 1), 0);
    assert_int_equal(exec_cu_open(NULL, &words, &x->s), EXEC_OK);
}

static inline void end(struct session *x)
{
    exec_cu_close(x->s);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cuda.cuStreamDestroy_v2(x->streams[i]), 0);
    assert_int_equal(cuda.cuCtxDestroy_v2(x->context), 0);
    unsetenv("TUNE_CUDA_FAIL");
    unsetenv("TUNE_CUDA_DRIVER");
    unsetenv("TUNE_CUDA_SEED");
}

static inline struct exec_cu_op *open_op(struct session *x, const struct exec_plan *plan)
{
    struct exec_cu_op *op = NULL;

    if (exec_cu_op_open(x->s, plan, &words, &op) != EXEC_OK)
        fail_msg("%s", words.text);
    return op;
}

static inline void refused(struct session *x, const struct exec_plan *plan, enum exec_status wanted, const char *text)
{
    struct exec_cu_op *op = NULL;
    const enum exec_status got = exec_cu_op_open(x->s, plan, &words, &op);

    if (got != wanted || !strstr(words.text, text))
        fail_msg("status %d '%s', expected %d with '%s'", got, words.text, wanted, text);
    assert_null(op);
}

static inline void run(struct session *x, struct exec_cu_op *op, int stream, const exec_cu_mem *tensors,
                       const struct exec_cu_weights *w)
{
    if (exec_cu_run(op, x->streams[stream], tensors, w, &words) != EXEC_OK)
        fail_msg("%s", words.text);
}

static inline void wait_for(struct session *x)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(cuda.cuStreamSynchronize(x->streams[i]), 0);
}

static inline void expect_all(CUdeviceptr at, int n, int value)
{
    int *y = malloc((size_t)n * sizeof *y);

    assert_non_null(y);
    emulated_read(y, at, (size_t)n * sizeof *y);
    for (int i = 0; i < n; i++)
        if (y[i] != value)
            fail_msg("element %d is %d, expected %d", i, y[i], value);
    free(y);
}

/* Opens the emulated driver of which NVRTC makes code for sm_61, and runs them. */
static inline int cu_rig_start(void)
{
    setenv("TUNE_CUDA_LIBRARY", EMULATED_CUDA, 1);
    setenv("TUNE_NVRTC_VERSION", "12.8", 1);
    return emulated_open();
}

#endif
