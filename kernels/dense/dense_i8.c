/* SPDX-License-Identifier: MIT */
/* int8 as convolutions of one row: m pixels, their k channels and the n features stored together. */
#include "core/err.h"
#include "kernels/conv2d/i8.h"
#include "kernels/conv2d/i8_amx.h"
#include "kernels/conv2d/i8_tile.h"
#include "kernels/dense/dense.h"

static struct conv_shape row_of(const struct workload *w)
{
    const struct dense_shape a = dense_shape_of(w);

    return (struct conv_shape){.n = 1,
                               .c = a.k,
                               .h = 1,
                               .w = a.m,
                               .k = a.n,
                               .r = 1,
                               .s = 1,
                               .stride_h = 1,
                               .stride_w = 1,
                               .dil_h = 1,
                               .dil_w = 1,
                               .groups = 1,
                               .p = 1,
                               .q = a.m,
                               .x_lanes = a.k,
                               .y_lanes = a.n};
}

static bool is_bytes(const char *id, const struct workload *w, struct why *why)
{
    if (dtype_is_bytes(w->dtype))
        return !dense_within(id, DENSE_I8 | DENSE_U8 | DENSE_EPILOGUE, w, why);
    why_set(why, ERR_UNSUPPORTED, "%s computes dtype i8 or u8, not %s", id, dtype_name(w->dtype));
    return false;
}

static enum fit fit_tile(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (!is_bytes("dense/dense_i8_tile", w, why) ||
        gemm_not_cuda("dense/dense_i8_tile", "dense/dense_i8, dense/mma", d, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static enum err space_tile(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = row_of(w);

    return i8_tile_space(&z, w->dtype, d, s, why);
}

static enum err fallback_tile(const struct workload *w, const struct device_desc *d, const struct space *s,
                              struct config *out)
{
    const struct conv_shape z = row_of(w);

    return i8_tile_fallback(&z, w->dtype, d, s, out);
}

static void program_tile(struct build *b)
{
    const struct conv_shape z = row_of(b->w);

    i8_tile_program(b, &z);
}

static enum fit fit_amx(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = row_of(w);

    return is_bytes("dense/dense_i8_amx", w, why) ? i8_amx_fit("dense/dense_i8_amx", &z, d, why) : FIT_NONE;
}

static enum err space_amx(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = row_of(w);

    return i8_amx_space(&z, w->dtype, d, s, why);
}

static enum err fallback_amx(const struct workload *w, const struct device_desc *d, const struct space *s,
                             struct config *out)
{
    const struct conv_shape z = row_of(w);

    return i8_amx_fallback(&z, d, s, out);
}

static void program_amx(struct build *b)
{
    const struct conv_shape z = row_of(b->w);

    i8_amx_program(b, &z);
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = row_of(w);

    if (!is_bytes("dense/dense_i8", w, why) || i8_by_fours("dense/dense_i8", "dense/dense_i8_tile takes it", &z, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_POSSIBLE : FIT_GOOD;
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = row_of(w);

    return i8_space(&z, w->dtype, true, d, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = row_of(w);

    return i8_fallback(&z, true, d, s, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = row_of(b->w);

    i8_program(b, &z, true);
}

const struct template dense_i8 = {
    .id = "dense/dense_i8",
    .stages = true,
    .version = 7,
    .summary = "GPU: i8 and u8 by fours of k, tiles in local memory",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};

const struct template dense_i8_tile = {
    .id = "dense/dense_i8_tile",
    .version = 3,
    .summary = "CPU: int8, rows x columns in vector registers over packed weights (VNNI where it is found)",
    .fit = fit_tile,
    .space = space_tile,
    .fallback = fallback_tile,
    .program = program_tile,
};

const struct template dense_i8_amx = {
    .id = "dense/dense_i8_amx",
    .version = 2,
    .summary = "CPU: int8, 16 rows x 16 columns in the tile registers of AMX, where it is found",
    .fit = fit_amx,
    .space = space_amx,
    .fallback = fallback_amx,
    .program = program_amx,
};
