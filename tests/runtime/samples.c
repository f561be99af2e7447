/* SPDX-License-Identifier: MIT */
#include "tests/runtime/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sample_api sample_opencl = {
    "opencl", LANG_OPENCL_C, "-cl-opt-disable",
    "#define KERNEL __kernel void\n#define GLOBAL __global\n#define I ((int)get_global_id(0))\n#define FMAX fmax\n"};
const struct sample_api sample_cuda = {
    "cuda", LANG_CUDA_C, "",
    "#define KERNEL extern \"C\" __global__ void\n#define GLOBAL\n"
    "#define I ((int)(blockIdx.x * blockDim.x + threadIdx.x))\n#define FMAX fmaxf\n"};

static const struct sample_api *api = &sample_cuda;

void sample_use(const struct sample_api *used)
{
    api = used;
}

const char sample_add_text[] = SAMPLE_ADD_HEAD "{ int i = I; if (i < n) y[i] = a[i] + b[i]; }\n";

void sample_init(struct sample *s, const char *text)
{
    struct program_module *m;
    struct buf source;

    program_init(&s->program);
    blobs_init(&s->blobs, 1 << 20);
    strcpy(s->program.api, api->name);
    s->program.workload = strdup("sample");
    m = program_add_module(&s->program, "main", api->lang, api->options);
    buf_init(&source, 1 << 16);
    buf_puts(&source, api->preamble);
    buf_puts(&source, text);
    blobs_put(&s->blobs, source.data, source.len, &m->source);
    buf_fini(&source);
}

void sample_fini(struct sample *s)
{
    program_fini(&s->program);
    blobs_fini(&s->blobs);
}

struct program_launch *sample_launch(struct sample *s, const char *kernel, int64_t blocks, int64_t threads)
{
    const int64_t grid[3] = {blocks, 1, 1}, block[3] = {threads, 1, 1};

    return program_add_kernel(&s->program, PHASE_RUN, 0, kernel, grid, block);
}

static void check_values(struct sample *s, struct program_pass *pass, int i_buffer, const double *values, int64_t n)
{
    struct program_check *c = program_pass_check_add(pass, CHECK_SAMPLE, i_buffer);

    c->n = n;
    blobs_put(&s->blobs, values, (size_t)n * sizeof *values, &c->values);
}

void sample_add(struct sample *s, const char *text)
{
    const struct program_fill a = {.kind = FILL_INT, .seed = 1, .lo = -50, .hi = 50},
                              b = {.kind = FILL_INT, .seed = 2, .lo = -50, .hi = 50};
    double values[SAMPLE_N], sum = 0;
    struct program_launch *l;
    struct program_check *c;

    sample_init(s, text);
    program_add_buffer(&s->program, "a", ROLE_INPUT, DTYPE_F32, SAMPLE_N)->fill = a;
    program_add_buffer(&s->program, "b", ROLE_INPUT, DTYPE_F32, SAMPLE_N)->fill = b;
    program_add_buffer(&s->program, "y", ROLE_OUTPUT, DTYPE_F32, SAMPLE_N);
    l = sample_launch(s, "add", (SAMPLE_N + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK, SAMPLE_BLOCK);
    for (int i = 0; i < 3; i++)
        program_arg_buffer(l, i);
    program_arg_int(l, ARG_I32, SAMPLE_N);
    for (int i = 0; i < SAMPLE_N; i++) {
        values[i] = fill_elem(&a, DTYPE_F32, i) + fill_elem(&b, DTYPE_F32, i);
        sum += values[i] * program_project_weight(3, i);
    }
    c = program_pass_check_add(program_add_pass(&s->program, "exact"), CHECK_PROJECT, 2);
    c->outer = c->inner = 1;
    c->axis = SAMPLE_N;
    c->seed = 3;
    blobs_put(&s->blobs, &sum, sizeof sum, &c->values);
    check_values(s, &s->program.passes[0], 2, values, SAMPLE_N);
}

void sample_add_again(struct sample *s)
{
    struct program_pass *pass = program_add_pass(&s->program, "again");
    const struct program_pass *first = &s->program.passes[0];

    pass->n_checks = first->n_checks;
    memcpy(pass->checks, first->checks, sizeof pass->checks);
}

static const char queues_text[] =
    "KERNEL put(GLOBAL int *x, int v)\n"
    "{ for (int i = 0; i < 20000; i++) ((volatile GLOBAL int *)x)[0] = i; x[0] = v; }\n"
    "KERNEL twice(GLOBAL int *y, GLOBAL const int *x) { y[0] = 2 * x[0]; }\n"
    "KERNEL sum(GLOBAL int *z, GLOBAL const int *x, GLOBAL const int *y) { z[0] = x[0] + y[0]; }\n";

void sample_queues(struct sample *s)
{
    const double wanted = 21;
    struct program_launch *l;

    sample_init(s, queues_text);
    program_add_buffer(&s->program, "x", ROLE_SCRATCH, DTYPE_I32, 1);
    program_add_buffer(&s->program, "y", ROLE_SCRATCH, DTYPE_I32, 1);
    program_add_buffer(&s->program, "z", ROLE_OUTPUT, DTYPE_I32, 1);
    l = sample_launch(s, "put", 1, 1);
    program_arg_buffer(l, 0);
    program_arg_int(l, ARG_I32, 7);
    l = sample_launch(s, "twice", 1, 1);
    program_arg_buffer(l, 1);
    program_arg_buffer(l, 0);
    l->queue = 1;
    program_after(l, 0);
    l = sample_launch(s, "sum", 1, 1);
    for (int i = 0; i < 3; i++)
        program_arg_buffer(l, (i + 2) % 3);
    l->queue = 2;
    program_after(l, 0);
    program_after(l, 1);
    check_values(s, program_add_pass(&s->program, "exact"), 2, &wanted, 1);
}

static const char loops_text[] = "KERNEL add(GLOBAL int *x, int v) { x[0] += v; }\n"
                                 "KERNEL twice(GLOBAL int *x) { x[0] *= 2; }\n";

void sample_loops(struct sample *s)
{
    struct program_launch *l;
    double wanted = 1;

    sample_init(s, loops_text);
    program_add_buffer(&s->program, "x", ROLE_OUTPUT, DTYPE_I32, 1);
    l = program_add_launch(&s->program, LAUNCH_FILL, PHASE_RUN);
    program_arg_buffer(l, 0);
    program_arg_real(l, 1);
    l = sample_launch(s, "add", 1, 1);
    program_arg_buffer(l, 0);
    program_arg_int(l, ARG_I32, 1);
    l->args[1].bump[0] = 10;
    l->args[1].bump[1] = 1;
    l->queue = 1;
    program_after(l, 0);
    program_after(l, 2);
    l = sample_launch(s, "twice", 1, 1);
    program_arg_buffer(l, 0);
    program_after(l, 1);
    program_add_loop(&s->program, 1, 2, 2);
    program_add_loop(&s->program, 1, 2, 3);
    for (int outer = 0; outer < 2; outer++)
        for (int inner = 0; inner < 3; inner++)
            wanted = 2 * (wanted + 1 + 10 * outer + inner);
    check_values(s, program_add_pass(&s->program, "exact"), 0, &wanted, 1);
}

#ifdef EMULATED_CUDA
int sample_use_emulated(void)
{
    if (getenv("TUNE_CUDA_LIBRARY")) /* a real one (scripts/gpu_check.sh) */
        return 0;
    if (system("g++ --version > /dev/null 2>&1") != 0) {
        printf("no g++, which emulated CUDA is compiled with: skipped\n");
        return 77;
    }
    setenv("TUNE_CUDA_LIBRARY", EMULATED_CUDA, 1);
    setenv("TUNE_NVRTC", EMULATED_NVRTC_PATH, 1);
    return 0;
}
#endif
