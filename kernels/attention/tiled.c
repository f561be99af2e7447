/* SPDX-License-Identifier: MIT */
#include "kernels/attention/attention.h"

#include "core/err.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    (void)w, (void)why;
    return d->kind == DEVICE_CPU ? FIT_POSSIBLE : FIT_GOOD;
}

static const struct build_knob knobs[] = {
    {"tx", {4, 8, 16, 32, BUILD_END}},
    {"ty", {1, 2, 4, 8, 16, BUILD_END}},
    {"mr", {1, 2, 4, 8, BUILD_END}},
    {"nr", {1, 2, 4, 8, BUILD_END}},
    {"vec", {1, 2, 4, BUILD_END}},
    {"stage", {0, 1, BUILD_END}},
    {"split", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "tx * ty"},
    {"item_rows", "ty * mr"},
    {"keys", "tx * nr"},
    {"d_row", "ceil_div(size_d, vec) * vec + 4"},
    {"accumulators", "mr * nr * vec + mr * ceil_div(size_dv, tx)"},
    {"tile", "keys * max(d_row, ceil_div(size_dv, 4) * 4)"},
    {"queries", "ceil_div(item_rows * d_row, 4) * 4"}, /* each array begins at 16 bytes */
    {"powers", "ceil_div(item_rows * (keys + 4), 4) * 4"},
    {"local_bytes", "(stage * (queries + ceil_div(tile, 4) * 4) + powers + item_rows * tx) * 4"},
    {"waste_rows", "ceil_div(size_rows, item_rows) * item_rows / size_rows"},
    {"waste_columns", "ceil_div(size_dv, tx) * tx / size_dv"},
    {"waste", "waste_rows * ceil_div(size_k, keys) * keys / size_k"},
    {"loads_per_fma", "(mr + nr) / (mr * nr)"},
    {"groups", "size_heads * ceil_div(size_rows, item_rows) * split"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "work_items <= max_group and work_items <= max_x",
    "local_bytes <= max_local",
    "accumulators <= 160",
    "vec == 1 or vec <= size_d",
    "mr == 1 or ty * (mr // 2) < size_rows",
    "ty == 1 or mr * (ty // 2) < size_rows",
    "nr == 1 or tx * (nr // 2) < size_k",
    "split == 1 or keys * (split - 1) < size_k",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct attention_shape z = attention_shape_of(w);
    const struct build_named constants[] = {{"size_heads", (double)(z.b * z.heads / z.group)},
                                            {"size_rows", (double)(z.group * z.q)},
                                            {"size_k", (double)z.k},
                                            {"size_d", (double)z.d},
                                            {"size_dv", (double)z.dv},
                                            {NULL, 0}};

    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

/* GPUs: 64 rows x 32 keys, or what there are; up to eight rows, of decoding, a warp each, which has one or two keys an
 * item. Keys are split where heads and rows give a multiprocessor less than 512 items. Mali, whose local memory is no
 * nearer, reads where things lie and has small tiles. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct attention_shape z = attention_shape_of(w);
    const bool small = d->kind != DEVICE_GPU;
    const int64_t rows = z.group * z.q, units = d->units > 0 ? d->units : small ? 4 : 16;
    const bool few = !small && rows <= 8;
    const int64_t tx = small ? 8 : few ? 32 : 16, mr = few ? 1 : small || z.d > 64 ? 2 : 4, least = few ? 32 : 64;
    int64_t ty = small ? 4 : rows > 32 ? 16 : 8, split = 1, items;

    while (few && ty / 2 >= rows)
        ty /= 2;
    items = z.b * z.heads / z.group * CEIL(rows, ty * mr) * (small ? 256 : tx * ty);
    while (split < 32 && 2 * split * items <= 512 * units && z.k / (2 * split) >= least)
        split *= 2;
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"tx", tx},
                                               {"ty", ty},
                                               {"mr", mr},
                                               {"nr", few && z.k / split < 64 ? 1 : 2},
                                               {"vec", 4},
                                               {"stage", !small && !few},
                                               {"split", split},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"mr", "ty", NULL}, out) == ERR_OK)
        return ERR_OK;
    return build_make_valid(s, (const char *const[]){"mr", "ty", "split", "nr", "vec", "stage", NULL}, out);
}

static void program(struct build *b)
{
    const struct attention_shape z = attention_shape_of(b->w);
    const int64_t rows = z.b * z.heads * z.q, split = build_int(b, "split");
    const int part = split > 1 ? build_buffer(b, "part", ROLE_SCRATCH, DTYPE_F32, split * rows * (z.dv + 2)) : -1;

    build_module(b, "attention/tiled.cl");
    attention_define(b);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    attention_launch(b, "attention_tiled", (const int64_t[]){build_int(b, "groups"), 1, 1},
                     (const int64_t[]){build_int(b, "work_items"), 1, 1}, (const int[]){part, -1});
    if (split > 1)
        build_launch(b, PHASE_RUN, "attention_join", (const int64_t[]){CEIL(rows * z.dv, 64), 1, 1},
                     (const int64_t[]){64, 1, 1}, (const int[]){part, build_tensor(b, "y"), -1});
}

const struct template attention_tiled = {
    .id = "attention/tiled",
    .stages = true,
    .version = 2,
    .summary = "GPU, Mali: rows x keys a group, powers through local memory, keys split where rows are few",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = attention_numerics,
};
