/* SPDX-License-Identifier: MIT */
#include "agent/canary.h"

#include "agent/timing.h"
#include "core/clock.h"
#include "core/err.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 5
#define SHORT_WINDOW 3
#define AGREE 0.01
#define STEPS 300000 /* of the inner loop on a CPU: about 0.6 ms of 16 lanes of two FMA pipes at 3 GHz */
#define GPU_STEPS 4096
#define GPU_GROUPS_PER_UNIT 32
#define GPU_GROUP 64

/* Twelve chains: more than latency times pipes of the CPUs seen (4 x 2), fewer than their registers. */
static const char source[] =
    "__kernel void canary(__global float *out, int steps)\n"
    "{\n"
    "    const float x = (float)get_global_id(0) * 1e-9f;\n"
    "    const VEC m = (VEC)(0.999f), s = (VEC)(0.001f + x);\n"
    "    VEC a0 = (VEC)(x), a1 = a0 + 1.0f, a2 = a0 + 2.0f, a3 = a0 + 3.0f, a4 = a0 + 4.0f, a5 = a0 + 5.0f;\n"
    "    VEC b0 = a0 + 6.0f, b1 = a0 + 7.0f, b2 = a0 + 8.0f, b3 = a0 + 9.0f, b4 = a0 + 10.0f, b5 = a0 + 11.0f;\n"
    "    for (int i = 0; i < steps; i++) {\n"
    "        a0 = fma(a0, m, s); a1 = fma(a1, m, s); a2 = fma(a2, m, s);\n"
    "        a3 = fma(a3, m, s); a4 = fma(a4, m, s); a5 = fma(a5, m, s);\n"
    "        b0 = fma(b0, m, s); b1 = fma(b1, m, s); b2 = fma(b2, m, s);\n"
    "        b3 = fma(b3, m, s); b4 = fma(b4, m, s); b5 = fma(b5, m, s);\n"
    "    }\n"
    "    a0 += a1 + a2 + a3 + a4 + a5 + b0 + b1 + b2 + b3 + b4 + b5;\n"
    "    VSTORE(a0, get_global_id(0), out);\n"
    "}\n";

/* The same of plain numbers; a CPU that stands for the device has better to do. */
static const char cuda_source[] =
    "extern \"C\" __global__ void __launch_bounds__(64) canary(float *out, int steps)\n"
    "{\n"
    "    const int id = blockIdx.x * 64 + threadIdx.x;\n"
    "    const float x = (float)id * 1e-9f, m = 0.999f, s = 0.001f + x;\n"
    "    float a0 = x, a1 = x + 1.0f, a2 = x + 2.0f, a3 = x + 3.0f, a4 = x + 4.0f, a5 = x + 5.0f;\n"
    "    float b0 = x + 6.0f, b1 = x + 7.0f, b2 = x + 8.0f, b3 = x + 9.0f, b4 = x + 10.0f, b5 = x + 11.0f;\n"
    "#ifdef TUNE_EMULATED\n"
    "    steps = 1;\n"
    "#endif\n"
    "#pragma unroll 8\n"
    "    for (int i = 0; i < steps; i++) {\n"
    "        a0 = a0 * m + s; a1 = a1 * m + s; a2 = a2 * m + s; a3 = a3 * m + s; a4 = a4 * m + s; a5 = a5 * m + s;\n"
    "        b0 = b0 * m + s; b1 = b1 * m + s; b2 = b2 * m + s; b3 = b3 * m + s; b4 = b4 * m + s; b5 = b5 * m + s;\n"
    "    }\n"
    "    out[id] = a0 + a1 + a2 + a3 + a4 + a5 + b0 + b1 + b2 + b3 + b4 + b5;\n"
    "}\n";

/* One thread's: what it counts as is told in make_program. */
static const char c_source[] =
    "typedef float vec __attribute__((vector_size(4 * LANES)));\n"
    "double canary(void *const *args)\n"
    "{\n"
    "    float *out = *(float *const *)args[0];\n"
    "    const int steps = *(const int *)args[1];\n"
    "    const vec zero = {0}, m = zero + 0.9999f, s = zero + 0.0001f;\n"
    "    vec a0 = zero + 1.0f, a1 = zero + 2.0f, a2 = zero + 3.0f, a3 = zero + 4.0f, a4 = zero + 5.0f, a5 = zero + "
    "6.0f;\n"
    "    vec b0 = zero + 7.0f, b1 = zero + 8.0f, b2 = zero + 9.0f, b3 = zero + 10.0f, b4 = zero + 11.0f, b5 = zero + "
    "12.0f;\n"
    "    for (int i = 0; i < steps; i++) {\n"
    "        a0 = a0 * m + s; a1 = a1 * m + s; a2 = a2 * m + s; a3 = a3 * m + s; a4 = a4 * m + s; a5 = a5 * m + s;\n"
    "        b0 = b0 * m + s; b1 = b1 * m + s; b2 = b2 * m + s; b3 = b3 * m + s; b4 = b4 * m + s; b5 = b5 * m + s;\n"
    "    }\n"
    "    a0 += a1 + a2 + a3 + a4 + a5 + b0 + b1 + b2 + b3 + b4 + b5;\n"
    "    for (int i = 0; i < LANES; i++)\n"
    "        out[i] = a0[i];\n"
    "    return -__builtin_inf();\n"
    "}\n";

struct canary {
    const struct device_ops *ops;
    struct program program;
    struct blobs blobs;
    struct loaded *loaded;
};

static bool is_cuda(const struct device_desc *d)
{
    return strcmp(d->api, "cuda") == 0;
}

static bool is_c(const struct device_desc *d)
{
    return strcmp(d->api, "c") == 0;
}

static int lanes_of(const struct device_desc *d)
{
    const int64_t lanes = d->vector_bits / 32;

    return is_cuda(d) ? 1 : lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
}

static enum err add_cuda_module(struct canary *c)
{
    struct program_module *m = program_add_module(&c->program, "canary", LANG_CUDA_C, "");

    return m ? blobs_put(&c->blobs, cuda_source, sizeof cuda_source - 1, &m->source) : ERR_NOMEM;
}

static enum err add_c_module(struct canary *c, int lanes)
{
    struct program_module *m = program_add_module(&c->program, "canary", LANG_C, "-march=native");

    if (!m || program_define(m, "LANES", lanes))
        return ERR_NOMEM;
    return blobs_put(&c->blobs, c_source, sizeof c_source - 1, &m->source);
}

static enum err add_module(struct canary *c, int lanes)
{
    struct program_module *m = program_add_module(&c->program, "canary", LANG_OPENCL_C, "");
    char vec[32], store[32];

    assert(lanes == 4 || lanes == 8 || lanes == 16);
    if (!m)
        return ERR_NOMEM;
    strcpy(vec, lanes == 16 ? "float16" : lanes == 8 ? "float8" : "float4");
    strcpy(store, lanes == 16 ? "vstore16" : lanes == 8 ? "vstore8" : "vstore4");
    if (program_define_text(m, "VEC", vec) || program_define_text(m, "VSTORE", store))
        return ERR_NOMEM;
    return blobs_put(&c->blobs, source, sizeof source - 1, &m->source);
}

static enum err make_program(struct canary *c, const struct device_desc *d)
{
    const bool cpu = d->kind == DEVICE_CPU;
    const int lanes = lanes_of(d);
    const int64_t units = d->units > 0 ? d->units : 1;
    const int64_t n_groups = is_c(d) ? 1 : cpu ? units : units * GPU_GROUPS_PER_UNIT;
    const int64_t grid[3] = {n_groups, 1, 1}, block[3] = {cpu ? 1 : GPU_GROUP, 1, 1};
    const int64_t steps = cpu ? STEPS : GPU_STEPS;
    struct program_launch *l;
    enum err e = is_cuda(d) ? add_cuda_module(c) : is_c(d) ? add_c_module(c, lanes) : add_module(c, lanes);

    if (e)
        return e;
    snprintf(c->program.api, sizeof c->program.api, "%s", d->api);
    c->program.workload = strdup("canary fma");
    c->program.flops = (double)(grid[0] * block[0] * steps * lanes) * 12 * 2;
    if (is_c(d)) /* the other threads would do as much: no kernel is to be faster than the peak */
        c->program.flops *= (double)units;
    if (!c->program.workload ||
        !program_add_buffer(&c->program, "out", ROLE_OUTPUT, DTYPE_F32, grid[0] * block[0] * lanes))
        return ERR_NOMEM;
    l = program_add_kernel(&c->program, PHASE_RUN, 0, "canary", grid, block);
    if (!l || program_arg_buffer(l, 0) || program_arg_int(l, ARG_I32, steps))
        return ERR_NOMEM;
    return ERR_OK;
}

enum err canary_open(const struct device_ops *ops, struct device *d, const char *cache_dir, struct canary **out,
                     struct why *why)
{
    struct load_report report = {0};
    struct canary *c;
    enum err e;

    if (ops->simulated ||
        (strcmp(ops->name, "opencl") != 0 && strcmp(ops->name, "cuda") != 0 && strcmp(ops->name, "c") != 0))
        return why_set(why, ERR_UNSUPPORTED, "there is no canary for %s devices", ops->name);
    c = calloc(1, sizeof *c);
    if (!c)
        return why_set(why, ERR_NOMEM, "out of memory");
    c->ops = ops;
    program_init(&c->program);
    blobs_init(&c->blobs, 65536);
    e = make_program(c, ops->describe(d));
    if (!e)
        e = ops->load(d, &c->program, &c->blobs, cache_dir, &c->loaded, &report, why);
    free(report.log);
    if (e)
        canary_close(c);
    else
        *out = c;
    return e;
}

void canary_close(struct canary *c)
{
    if (!c)
        return;
    if (c->loaded)
        c->ops->unload(c->loaded);
    program_fini(&c->program);
    blobs_fini(&c->blobs);
    free(c);
}

static bool agree(const double *ns)
{
    double least = ns[0], most = ns[0];

    for (int i = 1; i < WINDOW; i++) {
        least = ns[i] < least ? ns[i] : least;
        most = ns[i] > most ? ns[i] : most;
    }
    return most <= least * (1 + AGREE);
}

static enum err run_once(struct canary *c, double *ns, struct why *why)
{
    int64_t device_ns = 0, wall_ns = 0;
    const enum err e = c->ops->run(c->loaded, PHASE_RUN, &device_ns, &wall_ns, why);

    *ns = (double)(device_ns > 0 ? device_ns : wall_ns);
    return e;
}

enum err canary_now(struct canary *c, double *ns, struct why *why)
{
    double runs[SHORT_WINDOW];

    for (int i = 0; i < SHORT_WINDOW; i++) {
        const enum err e = run_once(c, &runs[i], why);

        if (e)
            return e;
    }
    *ns = timing_median(runs, SHORT_WINDOW);
    return ERR_OK;
}

enum err canary_time(struct canary *c, int64_t max_ms, double *ns, struct why *why)
{
    const int64_t end = clock_now_ns() + max_ms * 1000000;
    double window[WINDOW];

    for (int n = 0;; n++) {
        const enum err e = run_once(c, &window[n % WINDOW], why);

        if (e)
            return e;
        if (n + 1 >= WINDOW && (agree(window) || clock_now_ns() >= end))
            break;
    }
    *ns = timing_median(window, WINDOW);
    return ERR_OK;
}

double canary_flops(const struct canary *c)
{
    return c->program.flops;
}
