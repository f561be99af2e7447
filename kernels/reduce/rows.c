/* SPDX-License-Identifier: MIT */
#include "kernels/reduce/reduce.h"

#include "core/err.h"

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, BUILD_END}},
    {"rows", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "wg * rows"},
    {"length", "(is_row > 0) * n + (is_row < 1) * inner"}, /* along vectors */
    {"columns", "ceil_div(inner, vec)"},
    {"groups", "(is_row > 0) * ceil_div(outer, rows) + (is_row < 1) * ceil_div(outer * columns, wg)"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"local_bytes", "(is_row > 0 and wg > 1) * 4 * work_items * arrays"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "work_items <= max_group and wg <= max_x and rows <= max_y",
    "rows == 1 or (is_row > 0 and work_items <= 128 and rows < 2 * outer)",
    "local_bytes <= max_local",
    "vec == 1 or vec <= length",
    "wg == 1 or wg * vec < 2 * ((is_row > 0) * n + (is_row < 1) * outer * inner)",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct build_named constants[] = {{"outer", (double)workload_get(w, "outer")},
                                            {"n", (double)workload_get(w, "n")},
                                            {"inner", (double)workload_get(w, "inner")},
                                            {"is_row", workload_get(w, "inner") == 1},
                                            {"arrays", workload_get(w, "kind") == REDUCE_LOG_SUM_EXP ? 2 : 1},
                                            {NULL, 0}};

    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

/* CPUs: a row an item. Others: rows as softmax's and norm's (build_rows_of), 64 columns a group. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const bool cpu = d->kind == DEVICE_CPU, is_row = workload_get(w, "inner") == 1;
    const struct build_rows r =
        is_row ? build_rows_of(workload_get(w, "outer"), workload_get(w, "n")) : (struct build_rows){1, 64, 1};

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
    build_module(b, "reduce/rows.cl");
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    reduce_launch(b, "reduce_rows", build_int(b, "groups"),
                  (const int64_t[]){build_int(b, "wg"), build_int(b, "rows")});
}

const struct template reduce_rows = {
    .id = "reduce/rows",
    .stages = true,
    .version = 2,
    .summary = "a group of work-items a row or several, or a work-item some columns",
    .fit = fit_anywhere,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = reduce_numerics,
};
