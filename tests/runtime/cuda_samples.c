/* SPDX-License-Identifier: MIT */
#include "tests/runtime/cuda_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char sample_add_text[] = "extern \"C\" __global__ void add(const float *a, const float *b, float *y, int n)\n"
                               "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a[i] + b[i]; }\n";

void sample_init(struct sample *s, const char *text)
{
    struct program_module *m;

    program_init(&s->program);
    blobs_init(&s->blobs, 1 << 20);
    strcpy(s->program.api, "cuda");
    s->program.workload = strdup("sample");
    m = program_add_module(&s->program, "main", LANG_CUDA_C, "");
    blobs_put(&s->blobs, text, strlen(text), &m->source);
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

static void check_values(struct sample *s, int i_buffer, const double *values, int64_t n)
{
    struct program_check *c = program_pass_check_add(program_add_pass(&s->program, "exact"), CHECK_SAMPLE, i_buffer);

    c->n = n;
    blobs_put(&s->blobs, values, (size_t)n * sizeof *values, &c->values);
}

void sample_add(struct sample *s, const char *text)
{
    const struct program_fill a = {.kind = FILL_INT, .seed = 1, .lo = -50, .hi = 50},
                              b = {.kind = FILL_INT, .seed = 2, .lo = -50, .hi = 50};
    double values[SAMPLE_N];
    struct program_launch *l;

    sample_init(s, text);
    program_add_buffer(&s->program, "a", ROLE_INPUT, DTYPE_F32, SAMPLE_N)->fill = a;
    program_add_buffer(&s->program, "b", ROLE_INPUT, DTYPE_F32, SAMPLE_N)->fill = b;
    program_add_buffer(&s->program, "y", ROLE_OUTPUT, DTYPE_F32, SAMPLE_N);
    l = sample_launch(s, "add", (SAMPLE_N + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK, SAMPLE_BLOCK);
    for (int i = 0; i < 3; i++)
        program_arg_buffer(l, i);
    program_arg_int(l, ARG_I32, SAMPLE_N);
    for (int i = 0; i < SAMPLE_N; i++)
        values[i] = fill_elem(&a, DTYPE_F32, i) + fill_elem(&b, DTYPE_F32, i);
    check_values(s, 2, values, SAMPLE_N);
}

static const char queues_text[] =
    "extern \"C\" __global__ void put(int *x, int v) { for (int i = 0; i < 20000; i++) ((volatile int *)x)[0] = i; "
    "x[0] "
    "= v; }\n"
    "extern \"C\" __global__ void twice(int *y, const int *x) { y[0] = 2 * x[0]; }\n"
    "extern \"C\" __global__ void sum(int *z, const int *x, const int *y) { z[0] = x[0] + y[0]; }\n";

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
    check_values(s, 2, &wanted, 1);
}

static const char loops_text[] = "extern \"C\" __global__ void add(int *x, int v) { x[0] += v; }\n"
                                 "extern \"C\" __global__ void twice(int *x) { x[0] *= 2; }\n";

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
    check_values(s, 0, &wanted, 1);
}

int sample_use_emulated(void)
{
    if (system("g++ --version > /dev/null 2>&1") != 0) {
        printf("no g++, which emulated CUDA is compiled with: skipped\n");
        return 77;
    }
    setenv("TUNE_CUDA_LIBRARY", EMULATED_CUDA, 1);
    setenv("TUNE_NVRTC", EMULATED_NVRTC_PATH, 1);
    return 0;
}
