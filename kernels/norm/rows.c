/* SPDX-License-Identifier: MIT */
#include "kernels/norm/norm.h"

#include "core/err.h"
#include "kernels/build.h"

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "wg"},
    {"vectors", "size_n // vec"},
    {"turns", "ceil_div(size_n, wg * vec)"},
    {"waste", "turns * wg * vec / size_n"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"local_bytes", "(wg > 1) * 4 * sums * wg"},
    {"groups", "size_m"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",
    "local_bytes <= max_local",
    "vec == 1 or vec <= size_n",
    "wg == 1 or wg * vec < 2 * size_n",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct build_named constants[] = {{"size_m", (double)workload_get(w, "m")},
                                            {"size_n", (double)workload_get(w, "n")},
                                            {"sums", norm_is_layer(w) ? 2 : 1}, /* of a row: of numbers, of squares */
                                            {NULL, 0}};

    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const bool cpu = d->kind == DEVICE_CPU;

    (void)w;
    *out = (struct config){{0}};
    build_choose(s, (const struct build_define[]){{"vec", cpu ? build_vector(d) : 4}, {"wg", cpu ? 1 : 256}, {NULL, 0}},
                 out);
    return build_make_valid(s, (const char *const[]){"wg", "vec", NULL}, out);
}

static void program(struct build *b)
{
    build_module(b, "norm/rows.cl");
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    norm_launch(b, "norm_rows", workload_get(b->w, "m"), build_int(b, "wg"));
}

const struct template norm_rows = {
    .id = "norm/rows",
    .stages = true,
    .version = 1,
    .summary = "a group of work-items a row: mean, squares, what is made of them",
    .fit = fit_anywhere,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = norm_numerics,
};
