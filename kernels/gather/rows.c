/* SPDX-License-Identifier: MIT */
#include "kernels/gather/gather.h"

#include "core/err.h"

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"run", {1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"parts", "ceil_div(inner, run * vec)"},
    {"items", "rows * parts"},
    {"groups", "ceil_div(items, wg)"},
    {"part", "run * vec"}, /* elements of a work-item */
    {"work_items", "wg"},
    {"waste", "groups * wg * part / (rows * inner)"},
    {"move_bytes", "vec * elem_bytes"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",
    "vec == 1 or vec <= inner",
    "run == 1 or run * vec < 2 * inner",
    "wg == 1 or wg < 2 * items",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct build_named constants[] = {{"rows", (double)(workload_get(w, "outer") * workload_get(w, "m"))},
                                            {"inner", (double)workload_get(w, "inner")},
                                            {"elem_bytes", (double)dtype_bytes(w->dtype)},
                                            {NULL, 0}};

    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

/* CPUs: a row each. Others: neighbours move neighbouring vectors. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const bool cpu = d->kind == DEVICE_CPU;
    int64_t vec = cpu ? build_vector(d) : 16 / (int64_t)dtype_bytes(w->dtype);

    while (!cpu && vec > workload_get(w, "inner"))
        vec /= 2;
    *out = (struct config){{0}};
    build_choose(
        s,
        (const struct build_define[]){
            {"vec", vec}, {"run", cpu ? CEIL(workload_get(w, "inner"), vec) : 1}, {"wg", cpu ? 1 : 64}, {NULL, 0}},
        out);
    return build_make_valid(s, (const char *const[]){"run", "wg", "vec", NULL}, out);
}

static void program(struct build *b)
{
    build_module(b, "gather/rows.cl");
    gather_launch(b, "gather_rows", build_int(b, "groups"), build_int(b, "wg"));
}

const struct template gather_rows = {
    .id = "gather/rows",
    .version = 1,
    .summary = "a work-item moves a part of a row in vectors",
    .fit = fit_anywhere,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = numerics_exact,
};
