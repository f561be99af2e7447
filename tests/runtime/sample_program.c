/* SPDX-License-Identifier: MIT */
#include "sample_program.h"

#include <stdlib.h>
#include <string.h>

static void add_buffers(struct program *p)
{
    struct program_buffer *b = program_add_buffer(p, "x", ROLE_INPUT, DTYPE_F32, 24);

    b->n_dims = 2;
    b->shape[0] = 4;
    b->shape[1] = 6;
    strcpy(b->layout, "mk");
    b->fill = (struct program_fill){.kind = FILL_NORMAL, .seed = 7, .hi = 1};
    b = program_add_buffer(p, "w", ROLE_WEIGHT, DTYPE_I8, 24);
    b->fill = (struct program_fill){.kind = FILL_BLOB, .blob = sha256_of("w", 1)};
    program_add_buffer(p, "packed", ROLE_PACKED, DTYPE_F16, 24);
    b = program_add_buffer(p, "y", ROLE_OUTPUT, DTYPE_F32, 24);
    b->reset_each_run = true;
    program_add_buffer(p, "ref", ROLE_SCRATCH, DTYPE_F32, 24);
}

static void add_launches(struct program *p)
{
    const int64_t grid[3] = {4, 1, 1}, block[3] = {6, 1, 1};
    struct program_launch *l = program_add_kernel(p, PHASE_PACK, 0, "pack", grid, block);

    program_arg_buffer(l, 2);
    program_arg_buffer(l, 1);
    l = program_add_launch(p, LAUNCH_FILL, PHASE_RUN);
    program_arg_buffer(l, 3);
    program_arg_real(l, 0.5);
    l = program_add_kernel(p, PHASE_RUN, 0, "work", grid, block);
    program_arg_buffer(l, 0);
    program_arg_int(l, ARG_I32, -6);
    program_arg_int(l, ARG_U32, 4000000000);
    program_arg_int(l, ARG_I64, (int64_t)1 << 50);
    program_arg_real(l, 0.1);
    program_arg_int(l, ARG_LOCAL, 256);
    program_arg_double(l, 0.1);
    l->args[1].bump[0] = 5;
    l->args[3].bump[1] = -((int64_t)1 << 30);
    l->queue = 3;
    program_after(l, 1);
    program_after(l, 2);
    program_add_loop(p, 1, 2, 4);
    program_add_loop(p, 2, 2, 3);
    l = program_add_launch(p, LAUNCH_COPY, PHASE_REFERENCE);
    program_arg_buffer(l, 4);
    program_arg_buffer(l, 0);
    program_arg_int(l, ARG_I64, 96);
}

static void add_passes(struct program *p)
{
    const struct program_fill ints = {.kind = FILL_INT, .seed = 9, .lo = -3, .hi = 3};
    struct program_pass *pass = program_add_pass(p, "exact");
    struct program_check *c;

    program_pass_fill_add(pass, 0, &ints);
    c = program_pass_check_add(pass, CHECK_PROJECT, 3);
    c->outer = 2;
    c->axis = 4;
    c->inner = 3;
    c->seed = 5;
    c->values = sha256_of("sums", 4);
    pass = program_add_pass(p, "random");
    c = program_pass_check_add(pass, CHECK_SAMPLE, 3);
    c->n = 10;
    c->tolerance = 1e-5;
    c->indices = sha256_of("indices", 7);
    c->values = sha256_of("values", 6);
    c->scale = sha256_of("scale", 5);
    c = program_pass_check_add(pass, CHECK_BUFFER, 3);
    c->i_reference = 4;
    c->tolerance = 0.25;
    c->relative = RELATIVE_PEAK;
}

void sample_program(struct program *p)
{
    struct program_module *m;

    program_init(p);
    p->workload = strdup("dense f32 m=4 n=6 k=6");
    p->template_id = strdup("dense/sample");
    p->template_version = 3;
    p->knobs = cJSON_CreateObject();
    cJSON_AddNumberToObject(p->knobs, "vc", 4);
    cJSON_AddStringToObject(p->knobs, "order", "ik");
    strcpy(p->numerics, "f32");
    p->flops = p->flops_effective = 288;
    p->bytes_min = 288.5;
    p->build_s = 5;
    p->memory_bytes = 1 << 20;
    strcpy(p->api, "opencl");
    strcpy(p->std, "CL1.2");
    strcpy(p->extensions, "cl_khr_fp16");
    p->needs_work_group = 6;
    p->needs_local_bytes = 256;
    m = program_add_module(p, "main", LANG_OPENCL_C, "-cl-fast-relaxed-math");
    m->source = sha256_of("source", 6);
    if (program_define(m, "TM", -4) != ERR_OK || program_define_text(m, "T", "float4") != ERR_OK)
        abort();
    add_buffers(p);
    add_launches(p);
    add_passes(p);
}
