/* SPDX-License-Identifier: MIT */
#include "kernels/attention/attention.h"

#include "core/err.h"
#include "kernels/gemm/gemm.h"

#define FEW_ROWS 8 /* that are not worth packing keys for */

/* Of a config of one row, 4 x 4 keys, none packed. */
static int64_t least_local_bytes(const struct attention_shape *z)
{
    const int64_t sums = CEIL(z->dv, 16) * 16;

    return (z->d + sums + 2 + 16 + (sums == z->dv ? 0 : 16 * sums)) * 4;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct attention_shape z = attention_shape_of(w);

    if (gemm_not_cuda("attention/packed", "attention/tiled", d, why))
        return FIT_NONE;
    if (least_local_bytes(&z) > build_max_local(d)) {
        why_set(why, ERR_UNSUPPORTED,
                "attention/packed needs %lld bytes of local memory for a row, the device has %lld",
                (long long)least_local_bytes(&z), (long long)build_max_local(d));
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {4, 8, 16, BUILD_END}},
    {"mr", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, BUILD_END}},
    {"nv", {1, 2, 3, 4, 6, 8, BUILD_END}},
    {"ku", {1, 2, 4, 8, BUILD_END}},
    {"tiles", {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,       17,
               18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 36, 40, 48, 64, BUILD_END}},
    {"panels", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, BUILD_END}},
    {"pack", {0, 1, BUILD_END}},
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
    {"local_bytes", "rows_bytes + (pack * keys * size_d + mr * keys + copy * keys * sums) * 4"},
    {"packs_per_row", "pack / item_rows"},
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
    "nv == 1 or (nv - 1) * vec < max(size_k, size_dv) or (nv == 4 and mr == 1)",
    "copy == 1 or sums == size_dv",
    "pack == 1 or item_rows <= 32",
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

/* The work-items of so many tiles of rows: products, powers, and the keys that each packs. */
static struct build_items items_of(const int64_t *v, const void *arg)
{
    const struct attention_shape *z = arg;
    const int64_t rows = z->group * z->q, high = v[0] * v[1], n = CEIL(rows, high);
    const double k = attention_pairs(z) / (double)z->q, d = (double)(z->d + z->dv);

    return (struct build_items){.n = z->b * z->heads / z->group * n,
                                .cycles = (double)high * k * (d / 24 + 1.5) + k * d * 0.4 + BUILD_ITEM_CYCLES,
                                .whole = (double)rows / (double)(n * high)};
}

/* The tile of rows x vectors that wastes least of products and sums, and then loads least for each. Vectors of 8 lanes
 * have 16 registers, others 32. */
static void choose_tile(const struct attention_shape *z, int64_t lanes, int64_t *rows, int64_t *vectors)
{
    const int64_t registers = lanes == 8 ? 16 : 32, n = z->group * z->q;
    double best = 1e300;

    for (int64_t v = 1; v <= (n <= 6 ? 4 : 2); v++)
        for (int64_t r = 1; r <= 12 && r <= n && r * v + v + 1 <= registers; r += r < 8 ? 1 : 2) {
            const int64_t width = v * lanes;
            const double computed = (double)(CEIL(n, r) * r) *
                                    (double)(CEIL(z->k, width) * width * z->d + CEIL(z->dv, width) * width * z->k);
            const double cost = computed * (1 + 0.4 * (double)(r + v) / (double)(r * v));

            if (cost >= best)
                continue;
            best = cost;
            *rows = r;
            *vectors = v;
        }
}

/* What needs least local memory. */
static enum err smallest(const struct attention_shape *z, const struct space *s, struct config *out)
{
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", 4},
                                               {"mr", 1},
                                               {"nv", 4},
                                               {"ku", 1},
                                               {"tiles", 1},
                                               {"panels", 1},
                                               {"pack", 0},
                                               {"copy", z->dv % 16 != 0},
                                               {NULL, 0}},
                 out);
    return space_is_valid(s, out, NULL) ? ERR_OK : ERR_NOT_FOUND;
}

/* Blocks of keys and values take a quarter of a second-level
 * cache of 1 MiB, rows as much. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct attention_shape z = attention_shape_of(w);
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d), rows = z.group * z.q;
    int64_t mr = 1, nv = 1;

    choose_tile(&z, lanes, &mr, &nv);

    const int64_t keys = (128 << 10) / ((z.d + z.dv) * 4), items = CEIL(rows * (z.d + z.dv) * 4, 160 << 10);
    const bool pack = rows > FEW_ROWS;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", lanes},
                                               {"mr", mr},
                                               {"nv", nv},
                                               {"ku", z.d < 8 ? 1 : 8},
                                               {"tiles", CEIL(CEIL(rows, mr), items)},
                                               {"panels", keys / (nv * lanes) > 1 ? keys / (nv * lanes) : 1},
                                               {"pack", pack},
                                               {"copy", (w->dtype == DTYPE_F16 && pack) || z.dv % (nv * lanes) != 0},
                                               {NULL, 0}},
                 out);
    for (size_t i = 0; i < 4 && !space_is_valid(s, out, NULL); i++) {
        static const char *const names[][2] = {{"panels", NULL}, {"tiles", NULL}, {"ku", NULL}, {"nv", NULL}};

        (void)build_make_valid(s, names[i], out);
    }
    if (!space_is_valid(s, out, NULL))
        return smallest(&z, s, out);
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
