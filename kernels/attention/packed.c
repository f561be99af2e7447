/* SPDX-License-Identifier: MIT */
#include "kernels/attention/attention.h"

#include "core/err.h"
#include "kernels/gemm/gemm.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    (void)w;
    if (gemm_not_cuda("attention/packed", "attention/tiled", d, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {4, 8, 16, BUILD_END}},
    {"mr", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, BUILD_END}},
    {"nv", {1, 2, 3, 4, 6, 8, BUILD_END}},
    {"ku", {1, 2, 4, 8, BUILD_END}},
    {"tiles", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, BUILD_END}},
    {"panels", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, BUILD_END}},
    {"copy", {0, 1, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"accumulators", "mr * nv * ceil_div(vec, max(lanes, 4))"},
    {"registers", "accumulators + nv * ceil_div(vec, max(lanes, 4)) + 1"},
    {"keys", "panels * nv * vec"},
    {"item_rows", "mr * tiles"},
    {"sums", "ceil_div(size_dv, nv * vec) * nv * vec"},
    {"waste_rows", "ceil_div(size_rows, mr) * mr / size_rows"},
    {"waste_keys", "ceil_div(size_k, nv * vec) * nv * vec / size_k"},
    {"waste_values", "sums / size_dv"},
    {"waste", "waste_rows * (waste_keys * size_d + waste_values * size_dv) / (size_d + size_dv)"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"loads_per_fma", "(nv + mr) / (mr * nv)"},
    {"panel_bytes", "nv * vec * size_d * 4"},
    {"block_bytes", "keys * (size_d + size_dv) * 4"},
    {"rows_bytes", "item_rows * (size_d + sums + 2) * 4"},
    {"local_bytes", "rows_bytes + (keys * size_d + mr * keys + copy * keys * sums) * 4"},
    {"packs_per_row", "1 / item_rows"},
    {"items", "size_heads * ceil_div(size_rows, item_rows)"},
    {"body", "accumulators * ku"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "registers <= 33",
    "accumulators >= min(4, size_rows)",
    "vec <= max(lanes, 4)",
    "body <= 512",
    "ku <= size_d",
    "mr <= size_rows",
    "tiles == 1 or mr * (tiles - 1) < size_rows",
    "panels == 1 or (panels - 1) * nv * vec < size_k",
    "nv == 1 or (nv - 1) * vec < max(size_k, size_dv)",
    "copy == 1 or sums == size_dv",
    "local_bytes <= max_local",
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
                                            {"elem_bytes", (double)dtype_bytes(w->dtype)},
                                            {NULL, 0}};

    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

/* The work-items of so many tiles of rows: products, powers, and what each packs. */
static struct build_items items_of(const int64_t *v, const void *arg)
{
    const struct attention_shape *z = arg;
    const int64_t rows = z->group * z->q, high = v[0] * v[1] < rows ? v[0] * v[1] : rows;
    const double k = attention_pairs(z) / (double)z->q, d = (double)(z->d + z->dv);

    return (struct build_items){.n = z->b * z->heads / z->group * CEIL(rows, high),
                                .cycles = (double)high * k * (d / 24 + 1.5) + k * d * 0.4 + BUILD_ITEM_CYCLES};
}

/* Registers of 16 lanes hold 12 rows x 2 or 6 x 4 sums; blocks of keys and values take a quarter of a second-level
 * cache of 1 MiB, rows another. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct attention_shape z = attention_shape_of(w);
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d), rows = z.group * z.q;
    const int64_t nv = rows >= 12 && z.dv % (2 * lanes) == 0 ? 2 : rows < 6 ? 4 : 2;
    const int64_t most = lanes == 8 ? 6 : 12, mr = rows < most                      ? rows
                                                   : rows % most && rows < 3 * most ? CEIL(rows, CEIL(rows, most))
                                                                                    : most;
    const int64_t keys = (128 << 10) / ((z.d + z.dv) * 4), item = (160 << 10) / ((z.d + z.dv) * 4);

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", lanes},
                                               {"mr", mr},
                                               {"nv", nv},
                                               {"ku", z.d < 4 ? 1 : 4},
                                               {"tiles", CEIL(item, mr)},
                                               {"panels", keys / (nv * lanes) > 1 ? keys / (nv * lanes) : 1},
                                               {"copy", w->dtype == DTYPE_F16 || z.dv % (nv * lanes) != 0},
                                               {NULL, 0}},
                 out);
    for (size_t i = 0; i < 4 && !space_is_valid(s, out, NULL); i++) {
        static const char *const names[][2] = {{"tiles", NULL}, {"panels", NULL}, {"ku", NULL}, {"nv", NULL}};

        (void)build_make_valid(s, names[i], out);
    }
    if (!space_is_valid(s, out, NULL))
        return build_make_valid(s, (const char *const[]){"tiles", "panels", "mr", "nv", "ku", NULL}, out);
    build_spread(s, d, (const char *const[]){"mr", "tiles", NULL}, items_of, &z, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    build_module(b, "attention/packed.cl");
    attention_define(b);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    attention_launch(b, "attention_packed", (const int64_t[]){build_int(b, "items"), 1, 1}, (const int64_t[]){1, 1, 1},
                     NULL);
}

const struct template attention_packed = {
    .id = "attention/packed",
    .stages = true,
    .version = 1,
    .summary = "CPU: blocks of keys packed by the work-item that uses them, products and sums in vector registers",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = attention_numerics,
};
