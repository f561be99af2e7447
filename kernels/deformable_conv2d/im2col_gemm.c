/* SPDX-License-Identifier: MIT */
#include "kernels/deformable_conv2d/deformable_conv2d.h"

#include <assert.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (conv_within("deformable_conv2d/im2col_gemm", CONV_F16, w, why) ||
        conv_not_cuda("deformable_conv2d/im2col_gemm", "deformable_conv2d/direct or deformable_conv2d/im2col_tiled", d,
                      why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"mr", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 28, BUILD_END}},
    {"nv", {1, 2, 3, 4, BUILD_END}},
    {"ku", {1, 2, 4, 8, BUILD_END}},
    {"ib", {0, 64, 128, 256, 512, 1024, BUILD_END}},
    {"tiles", {1, 2, 4, 7, 8, 14, 16, 32, BUILD_END}},
    {"kt", {1, 2, 4, 8, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"vectors", "ceil_div(vec, max(lanes, 4))"}, /* registers of one vector */
    {"accumulators", "mr * nv * vectors"},
    {"registers", "accumulators + nv * vectors + 1"},
    {"nr", "nv * vec"},
    {"cp", "ceil_div(size_cd, vec) * vec"},
    {"terms", "deformable_n * size_r * size_s * cp"},
    {"waste_c", "cp / size_cd"},
    {"waste_k", "ceil_div(size_k, nr * kt) * nr * kt / size_k"},
    {"waste_pq", "ceil_div(size_p * size_q, mr) * mr / (size_p * size_q)"},
    {"waste", "waste_c * waste_k * waste_pq"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"loads_per_fma", "(nv + mr) / (mr * nv)"},
    {"block", "(ib == 0) * terms + min(ib, terms)"},
    {"weight_bytes", "block * nr * kt * 4"},
    {"sample_bytes", "block * mr * tiles * 4"},
    {"sum_bytes", "(ib > 0) * mr * nr * tiles * kt * 4"},
    {"groups", "size_n * ceil_div(size_k, nr * kt) * ceil_div(size_p * size_q, mr * tiles)"},
    {"body", "accumulators * ku"},
    {NULL, NULL},
};

/* A register file holds 32 vectors; a few more spill but can still be fair. Without blocks of terms, tiles only make
 * the groups fewer. */
static const char *const constraints[] = {
    "registers <= 34",
    "body <= 256",
    "vec <= max(lanes, 4)",
    "vec == 1 or vec < 2 * size_cd",
    "nv == 1 or (nv - 1) * vec < size_k",
    "mr < 2 * size_p * size_q",
    "tiles == 1 or mr * tiles < size_p * size_q + mr",
    "kt == 1 or nr * kt < size_k + nr",
    "ib == 0 or (ib < terms and tiles * kt > 1)",
    "ib > 0 or kt == 1",
    "sum_bytes <= 131072",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const double groups = (double)workload_get(w, "deformable_groups");
    const struct build_named constants[] = {
        {"deformable_n", groups}, {"size_cd", (double)workload_get(w, "c") / groups}, {NULL, 0}};
    const enum err e = build_constants(s, constants, why);

    return e ? e : conv_space(w, d, knobs, quantities, constraints, s, why);
}

/* Pixels of a tile and channels of a panel, and how many there are. */
struct panels {
    int64_t n, pixels, k, terms, mr, nr;
};

/* The work-items of so many tiles and kt panels, in cycles. */
static struct build_items panel_items(const int64_t *v, const void *arg)
{
    const struct panels *a = arg;
    const double terms = (double)a->terms, sums = (double)(a->mr * a->nr) / 32;

    return (struct build_items){.n = a->n * CEIL(a->pixels, a->mr * v[0]) * CEIL(a->k, a->nr * v[1]),
                                .cycles =
                                    terms * ((double)(v[0] * v[1]) * sums + (double)(v[0] * a->mr) * 0.1 +
                                             (double)(v[1] * a->nr) * build_weight_cycles((double)a->k * terms * 4)) +
                                    BUILD_ITEM_CYCLES};
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d), cd = z.c / workload_get(w, "deformable_groups");

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", cd < lanes ? cd : lanes},
                                               {"mr", 14},
                                               {"nv", 2},
                                               {"ku", 1},
                                               {"ib", 256},
                                               {"tiles", 14},
                                               {"kt", 4},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"tiles", "kt", "nv", "ib", "mr", "vec", NULL}, out))
        return ERR_NOT_FOUND;
    if (d->kind == DEVICE_CPU)
        build_spread(s, d, (const char *const[]){"tiles", "kt", NULL}, panel_items,
                     &(const struct panels){z.n, z.p * z.q, z.k, space_int(s, out, "terms"), space_int(s, out, "mr"),
                                            space_int(s, out, "nr")},
                     out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t groups = workload_get(b->w, "deformable_groups"), vec = build_int(b, "vec"), mr = build_int(b, "mr");
    const int64_t nr = build_int(b, "nr"), cp = build_int(b, "cp"), terms = build_int(b, "terms");
    const int64_t k_blocks = CEIL(z.k, nr), taps = z.r * z.s, one[] = {1, 1, 1};
    const int64_t grid[] = {CEIL(z.p * z.q, mr * build_int(b, "tiles")), CEIL(k_blocks, build_int(b, "kt")), z.n};
    const enum dtype sums = sums_in_half(b->w, b->d) ? DTYPE_F16 : DTYPE_F32;
    const int offset = build_tensor(b, "offset");
    const int xt = build_buffer(b, "xt", ROLE_SCRATCH, sums, z.n * groups * z.h * z.w * cp);
    const int samples = build_buffer(b, "samples", ROLE_SCRATCH, sums, (z.n * z.p * z.q + mr) * (terms + 16));
    const int wp = build_buffer(b, "wp", ROLE_PACKED, sums, k_blocks * terms * nr);

    assert(cp % vec == 0 && cp * groups >= z.c && terms == groups * taps * cp && k_blocks * nr >= z.k);
    build_module(b, "deformable_conv2d/im2col_gemm.cl");
    deformable_define_shape(b, &z);
    build_launch(b, PHASE_PACK, "deformable_pack_w", (const int64_t[]){k_blocks, groups * taps, 1}, one,
                 (const int[]){1, wp, -1});
    build_launch(b, PHASE_RUN, "deformable_transpose", (const int64_t[]){cp / vec, groups, z.n}, one,
                 (const int[]){0, xt, -1});
    build_launch(b, PHASE_RUN, "deformable_sample", (const int64_t[]){z.p, groups, z.n}, one,
                 (const int[]){xt, offset, samples, -1});
    build_last_launch(b, "deformable_gemm", grid, one, (const int[]){samples, wp, -1});
}

const struct template deformable_im2col_gemm = {
    .id = "deformable_conv2d/im2col_gemm",
    .version = 1,
    .summary = "CPU: samples written out with channels in the lanes, then a matrix product over packed weights",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
