/* SPDX-License-Identifier: MIT */
#include "kernels/norm/norm.h"

#include "core/err.h"
#include "kernels/build.h"

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, BUILD_END}},
    {"rows", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "wg * rows"},
    {"groups", "ceil_div(size_m, rows)"},
    {"vectors", "size_n // vec"},
    {"turns", "ceil_div(size_n, wg * vec)"},
    {"waste", "turns * wg * vec / size_n * groups * rows / size_m"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"local_bytes", "(wg > 1) * 4 * sums * work_items"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "work_items <= max_group and wg <= max_x and rows <= max_y",
    "rows == 1 or (work_items <= 128 and rows < 2 * size_m)",
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

/* CPUs: a row an item. Others: vectors of four, 256 items of a long row, short ones together in groups of 64. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const bool cpu = d->kind == DEVICE_CPU;
    const struct build_rows r = build_rows_of(workload_get(w, "m"), workload_get(w, "n"));

    *out = (struct config){{0}};
    build_choose(
        s,
        (const struct build_define[]){
            {"vec", cpu ? build_vector(d) : r.vec}, {"wg", cpu ? 1 : r.wg}, {"rows", cpu ? 1 : r.rows}, {NULL, 0}},
        out);
    return build_make_valid(s, (const char *const[]){"wg", "vec", "rows", NULL}, out);
}

static void program(struct build *b)
{
    build_module(b, "norm/rows.cl");
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    norm_launch(b, "norm_rows", build_int(b, "groups"), (const int64_t[]){build_int(b, "wg"), build_int(b, "rows")});
}

const struct template norm_rows = {
    .id = "norm/rows",
    .stages = true,
    .version = 3,
    .summary = "a group of work-items a row: mean, squares, what is made of them",
    .fit = fit_anywhere,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = norm_numerics,
};
