/* SPDX-License-Identifier: MIT */
#include "kernels/pool2d/pool2d.h"

#define MAX_ROW 8192 /* elements in private memory: half of a CPU's first cache */

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const char *id = "pool2d/rows";
    const struct conv_shape z = conv_shape_of(w);
    const int64_t row = (z.q - 1) * z.stride_w + z.s;

    if (conv_within(id, CONV_F16 | CONV_I8 | CONV_GROUPS, w, why) || conv_not_cuda(id, "pool2d/window", d, why))
        return FIT_NONE;
    if (row > MAX_ROW) {
        why_set(why, ERR_UNSUPPORTED, "%s keeps a row of up to %d elements, not %lld", id, MAX_ROW, (long long)row);
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU && !pool2d_is_plane(&z) ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"rows", {1, 2, 4, 7, 8, 14, 16, 28, 32, 56, 64, 112, 128, 224, 256, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"chunks", "ceil_div(size_p, rows)"},
    {"groups", "size_n * size_k * chunks"},
    {"waste_p", "chunks * rows / size_p"},
    {"waste_q", "ceil_div(size_q, vec) * vec / size_q"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"row_elems", "(size_q - 1) * stride_w + size_s"},
    {"loads_per_output", "stride_w * size_r + size_s"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "rows == 1 or rows < 2 * size_p",
    "vec == 1 or vec < 2 * size_w",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return conv_space(w, d, knobs, quantities, constraints, s, why);
}

static struct build_items row_items(const int64_t *v, const void *arg)
{
    const struct conv_shape *z = arg;

    return (struct build_items){.n = z->n * z->k * CEIL(z->p, v[0]),
                                .cycles = (double)(((v[0] - 1) * z->stride_h + z->r) * z->w) + BUILD_ITEM_CYCLES};
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);

    *out = (struct config){{0}};
    build_choose(
        s,
        (const struct build_define[]){{"vec", build_vector(d) < z.w ? build_vector(d) : z.w}, {"rows", z.p}, {NULL, 0}},
        out);
    if (build_make_valid(s, (const char *const[]){"rows", "vec", NULL}, out))
        return ERR_NOT_FOUND;
    if (d->kind == DEVICE_CPU)
        build_spread(s, d, (const char *const[]){"rows", NULL}, row_items, &z, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t grid[] = {build_int(b, "groups"), 1, 1};

    build_module(b, "pool2d/rows.cl");
    pool2d_define_shape(b, &z);
    build_launch(b, PHASE_RUN, "pool2d_rows", grid, (const int64_t[]){1, 1, 1}, (const int[]){0, 1, -1});
}

const struct template pool2d_rows = {
    .id = "pool2d/rows",
    .version = 1,
    .summary = "CPU, nchw: a window's rows taken together in vectors along the row, then its columns",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = pool2d_numerics,
};
