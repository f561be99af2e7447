/* SPDX-License-Identifier: MIT */
#include "kernels/eltwise/eltwise.h"

#include "core/err.h"

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"run", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, BUILD_END}},
    {"tall", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"columns", "ceil_div(inner, run * vec)"},
    {"pairs", "ceil_div(rows, tall)"},
    {"groups", "ceil_div(columns * pairs, wg)"},
    {"part", "run * vec * tall"}, /* elements of a work-item */
    {"work_items", "wg"},
    {"waste", "groups * wg * part / (rows * inner)"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"move_bytes", "vec * elem_bytes"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",     "vec == 1 or vec <= inner",
    "run == 1 or run * vec < 2 * inner",   "tall == 1 or tall < 2 * rows",
    "wg == 1 or wg < 2 * columns * pairs", NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    struct eltwise_shape shape;
    struct eltwise chain;

    eltwise_of(w, &chain, &shape);
    return build_space_on(d, s,
                          (const struct build_named[]){{"rows", (double)shape.rows},
                                                       {"inner", (double)shape.inner},
                                                       {"elem_bytes", (double)dtype_bytes(w->dtype)},
                                                       {NULL, 0}},
                          knobs, quantities, constraints, why);
}

static struct build_items part_items(const int64_t *v, const void *arg)
{
    const int64_t *a = arg; /* rows, inner, lanes */

    return (struct build_items){.n = CEIL(a[1], v[0] * a[2]) * CEIL(a[0], v[1]),
                                .cycles = (double)(8 * v[0] * v[1]) + BUILD_ITEM_CYCLES};
}

/* CPUs: long runs of one work-item, several for each thread. Others: neighbours make neighbouring vectors. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t vec = cpu ? build_vector(d) : 16 / (int64_t)dtype_bytes(w->dtype);
    struct eltwise_shape shape;
    struct eltwise chain;
    int64_t run, tall;

    eltwise_of(w, &chain, &shape);
    run = CEIL(shape.inner, vec) < 4096 ? CEIL(shape.inner, vec) : 4096;
    tall = 4096 / run < CEIL(shape.rows, 4) ? 4096 / run : CEIL(shape.rows, 4);
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){
                     {"vec", vec}, {"run", cpu ? run : 1}, {"tall", cpu ? tall : 1}, {"wg", cpu ? 1 : 256}, {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"run", "wg", "tall", "vec", NULL}, out))
        return ERR_NOT_FOUND;
    if (cpu)
        build_spread(s, d, (const char *const[]){"run", "tall", NULL}, part_items,
                     (const int64_t[]){shape.rows, shape.inner, vec}, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    eltwise_module(b, "eltwise/rows.cl");
    eltwise_launch(b, "eltwise_rows", build_int(b, "groups"), build_int(b, "wg"));
}

const struct template eltwise_rows = {
    .id = "eltwise/rows",
    .version = 1,
    .summary = "vectors along rows, inputs of one element a row spread over their lanes",
    .fit = fit_anywhere,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = eltwise_numerics,
};
