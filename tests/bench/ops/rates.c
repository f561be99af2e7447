/* SPDX-License-Identifier: MIT */
/* bench_rates - how many products a second a CUDA device's instructions can do: fma in f32, fma on pairs of f16, dp4a,
 * and mma on f16, bf16 and i8; each as independent chains in registers on all multiprocessors. The ratios are what int8
 * and f16 kernels can gain at most over f32. */
#include "core/buf.h"
#include "core/cli.h"
#include "runtime/cuda_arch.h"
#include "runtime/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAINS 8
#define STEPS 4096
#define BLOCK 256
#define RUNS 5

/* One kind of instruction: how many operations (2 a product) one thread does in a step of a chain. */
struct rate {
    const char *name, *word; /* what the architecture must have; "" = all have it */
    const char *state;       /* type and number of registers of one chain */
    const char *step;        /* over d (the chain), a, b */
    double operations;
};

static const struct rate rates[] = {
    {"fma f32", "", "float d[1];", "d[0] = fmaf(__int_as_float(a), d[0], __int_as_float(b));", 2},
    {"fma f16x2", "fp16", "unsigned d[1];",
     "asm volatile(\"fma.rn.f16x2 %0, %1, %0, %2;\" : \"+r\"(d[0]) : \"r\"(a), \"r\"(b));", 4},
    {"dp4a", "dp4a", "int d[1];", "asm volatile(\"dp4a.s32.s32 %0, %1, %2, %0;\" : \"+r\"(d[0]) : \"r\"(a), \"r\"(b));",
     8},
    {"mma f16 m16n8k8", "mma_f16", "float d[4];",
     "asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4}, {%5}, {%0,%1,%2,%3};\""
     " : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"r\"(a), \"r\"(b));",
     2.0 * 16 * 8 * 8 / 32},
    {"mma f16 m16n8k16", "mma_k16", "float d[4];",
     "asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, "
     "{%0,%1,%2,%3};\" : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"r\"(a), \"r\"(b));",
     2.0 * 16 * 8 * 16 / 32},
    {"mma bf16 m16n8k16", "mma_bf16", "float d[4];",
     "asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, "
     "{%0,%1,%2,%3};\" : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"r\"(a), \"r\"(b));",
     2.0 * 16 * 8 * 16 / 32},
    {"mma i8 m8n8k16", "mma_i8", "int d[2];",
     "asm volatile(\"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};\""
     " : \"+r\"(d[0]), \"+r\"(d[1]) : \"r\"(a), \"r\"(b));",
     2.0 * 8 * 8 * 16 / 32},
    {"mma i8 m16n8k32", "mma_k16", "int d[4];",
     "asm volatile(\"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, "
     "{%0,%1,%2,%3};\" : \"+r\"(d[0]), \"+r\"(d[1]), \"+r\"(d[2]), \"+r\"(d[3]) : \"r\"(a), \"r\"(b));",
     2.0 * 16 * 8 * 32 / 32},
};

/* Zeros stay zeros in every type, whatever the rate. */
static const char text[] = "struct chain { %s };\n"
                           "extern \"C\" __global__ void __launch_bounds__(%d) rate(const int *x, int *y)\n"
                           "{\n"
                           "    chain chains[%d];\n"
                           "    const int a = x[threadIdx.x], b = x[threadIdx.x + %d];\n"
                           "    int sum = 0;\n"
                           "    memset(chains, 0, sizeof chains);\n"
                           "#pragma unroll 16\n" /* else the loop itself is measured too */
                           "    for (int step = 0; step < %d; step++) {\n"
                           "#pragma unroll\n"
                           "        for (int i = 0; i < %d; i++) {\n"
                           "            auto &d = chains[i].d;\n"
                           "            %s\n"
                           "        }\n"
                           "    }\n"
                           "#pragma unroll\n"
                           "    for (int i = 0; i < %d; i++) sum += (int)chains[i].d[0];\n"
                           "    y[blockIdx.x * %d + threadIdx.x] = sum;\n"
                           "}\n";

static enum err make_program(const struct rate *r, int64_t groups, struct program *p, struct blobs *blobs)
{
    const int64_t grid[] = {groups, 1, 1}, block[] = {BLOCK, 1, 1};
    struct program_module *m;
    struct program_launch *l;
    char source[4096];
    const int n =
        snprintf(source, sizeof source, text, r->state, BLOCK, CHAINS, BLOCK, STEPS, CHAINS, r->step, CHAINS, BLOCK);

    program_init(p);
    snprintf(p->api, sizeof p->api, "cuda");
    m = program_add_module(p, "rate", LANG_CUDA_C, "-w");
    if (!m || blobs_put(blobs, source, (size_t)n, &m->source))
        return ERR_NOMEM;
    if (!program_add_buffer(p, "x", ROLE_INPUT, DTYPE_I32, 2 * BLOCK) ||
        !program_add_buffer(p, "y", ROLE_OUTPUT, DTYPE_I32, groups * BLOCK))
        return ERR_NOMEM;
    p->buffers[0].fill.kind = p->buffers[1].fill.kind = FILL_ZERO;
    l = program_add_kernel(p, PHASE_RUN, 0, "rate", grid, block);
    if (!l || program_arg_buffer(l, 0) || program_arg_buffer(l, 1))
        return ERR_NOMEM;
    return ERR_OK;
}

/* Operations a ns, the best of a few runs. */
static enum err measure(const struct device_ops *ops, struct device *d, const struct rate *r, double *rate,
                        struct why *why)
{
    const int64_t groups = 8 * (ops->describe(d)->units > 0 ? ops->describe(d)->units : 1);
    struct load_report report = {0};
    struct loaded *l = NULL;
    struct program p;
    struct blobs blobs;
    enum err e;

    blobs_init(&blobs, (size_t)1 << 20);
    e = make_program(r, groups, &p, &blobs);
    if (!e)
        e = ops->load(d, &p, &blobs, NULL, &l, &report, why);
    *rate = 0;
    for (int i = 0; !e && i < RUNS; i++) {
        int64_t ns = 0;

        e = ops->run(l, PHASE_RUN, &ns, NULL, why);
        if (!e && ns > 0 && r->operations * CHAINS * STEPS * BLOCK * (double)groups / (double)ns > *rate)
            *rate = r->operations * CHAINS * STEPS * BLOCK * (double)groups / (double)ns;
    }
    if (l)
        ops->unload(l);
    free(report.log);
    program_fini(&p);
    blobs_fini(&blobs);
    return e;
}

static enum err print_rates(const struct device_ops *ops, struct device *d, struct why *why)
{
    const struct device_desc *desc = ops->describe(d);
    double first = 0;

    printf("Device: %s, %s, sm_%lld, %lld multiprocessors.\n\n| instruction | GOPS | x fma f32 |\n|---|---|---|\n",
           desc->name, desc->driver, (long long)desc->sm, (long long)desc->units);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        double rate;
        enum err e;

        if (rates[i].word[0] && !cuda_arch_has(desc, rates[i].word))
            continue;
        e = measure(ops, d, &rates[i], &rate, why);
        if (e)
            return why_prefix(why, e, "%s", rates[i].name);
        if (i == 0)
            first = rate;
        printf("| %s | %.0f | %.2f |\n", rates[i].name, rate, first > 0 ? rate / first : 0);
    }
    return ERR_OK;
}

static const struct cli_option options[] = {
    {.name = "device", .kind = CLI_TEXT, .argument = "NAME", .otherwise = "cuda", .help = "cuda or cuda:I"},
    {.name = NULL},
};

int main(int argc, char **argv)
{
    const struct device_ops *ops = NULL;
    const char *selector = "";
    struct device *d = NULL;
    struct cli c;
    struct buf help;
    struct why why = {""};
    enum err e = cli_parse(&c, options, argc, argv, &why);

    buf_init(&help, 1 << 16);
    if (!e && c.help) {
        cli_help(options, "bench_rates", "What the instructions of a CUDA device can do: fma, dp4a, mma.",
                 "bench_rates --device cuda:1", &help);
        fputs(buf_text(&help), stdout);
        buf_fini(&help);
        return 0;
    }
    if (!e)
        e = device_parse(cli_text(&c, "device"), &ops, &selector, &why);
    if (!e && strcmp(ops->name, "cuda") != 0)
        e = why_set(&why, ERR_INPUT, "bench_rates measures instructions of CUDA devices, not of %s", ops->name);
    if (!e)
        e = ops->open(selector, &d, &why);
    if (!e)
        e = print_rates(ops, d, &why);
    if (d)
        ops->close(d);
    cli_fini(&c);
    if (e)
        fprintf(stderr, "bench_rates: %s\n", why.text[0] ? why.text : err_words(e));
    return e != ERR_OK;
}
