/* SPDX-License-Identifier: MIT */
/* A convolution as an implicit matrix product on tensor cores. */
#include "kernels/conv2d/conv2d.h"
#include "core/err.h"
#include "kernels/gemm/mma.h"
#include "runtime/cuda_arch.h"

#include <stdbool.h>
#include <stdint.h>

#define PACK_LOCAL_BYTES 4096 /* of conv_mma_pack_x: a chunk a thread */
#define MAX_WINDOW 63         /* rows and columns of a window, together: bits of a mask */

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (mma_within("conv2d/mma", w, d, why))
        return FIT_NONE;
    if (z.r + z.s > MAX_WINDOW) {
        (void)why_set(why, ERR_UNSUPPORTED, "conv2d/mma takes windows of %d rows and columns together", MAX_WINDOW);
        return FIT_NONE;
    }
    return z.c / z.groups < 8 || z.k / z.groups < 8 ? FIT_POSSIBLE : FIT_GOOD;
}

/* A group's channels, padded to 16 bytes. */
static int64_t group_bytes(const struct conv_shape *z, enum dtype t)
{
    return CEIL(z->c / z->groups * (int64_t)dtype_bytes(t), 16) * 16;
}

/* Is x packed first, because 16 bytes of a group's channels do not lie together? */
static bool packs_x(const struct conv_shape *z, enum dtype t)
{
    const int64_t elem = (int64_t)dtype_bytes(t);

    return z->x_lanes * elem % 16 != 0 || z->c / z->groups * elem % 16 != 0;
}

/* Outputs that lie together: channels of a block, or pixels of a plane. */
static int64_t run_of(const struct conv_shape *z)
{
    return z->y_lanes > 1 ? mma_width(z->k / z->groups, z->y_lanes == 4 ? 4 : 8) : mma_width(z->p * z->q, 8);
}

static struct mma_shape shape_of(const struct workload *w)
{
    const struct conv_shape z = conv_shape_of(w);

    return (struct mma_shape){z.groups,
                              z.n * z.p * z.q,
                              z.k / z.groups,
                              z.r * z.s * group_bytes(&z, w->dtype),
                              16,
                              run_of(&z),
                              packs_x(&z, w->dtype) ? PACK_LOCAL_BYTES : 0};
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct mma_shape z = shape_of(w);

    return mma_space(&z, d, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct mma_shape z = shape_of(w);

    return mma_fallback(&z, d, s, out);
}

/* Adds a launch that makes `n` elements, `block` a group. */
static void make(struct build *b, enum launch_phase phase, const char *kernel, int64_t n_groups, int64_t block,
                 const int *buffers)
{
    build_launch(b, phase, kernel, (const int64_t[]){n_groups, 1, 1}, (const int64_t[]){block, 1, 1}, buffers);
}

/* The input in chunks of 16 bytes of channels: a buffer of its own where it is packed. */
static int packed_x(struct build *b, const struct conv_shape *z)
{
    const int64_t bytes = group_bytes(z, b->w->dtype), pixels = z->h * z->w, chunks = bytes / 16;
    const int64_t tile = chunks >= 8 ? 8 : chunks >= 4 ? 4 : chunks >= 2 ? 2 : 1;
    int xp;

    if (!packs_x(z, b->w->dtype))
        return 0;
    xp = build_buffer(b, "xp", ROLE_SCRATCH, b->w->dtype,
                      z->n * z->groups * pixels * bytes / (int64_t)dtype_bytes(b->w->dtype));
    make(b, PHASE_RUN, "conv_mma_pack_x", z->n * z->groups * CEIL(chunks, tile) * CEIL(pixels, 256 / tile), 256,
         (const int[]){0, xp, -1});
    return xp;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const struct mma_shape shape = shape_of(b->w);
    const int64_t kt = build_int(b, "kt"), k_bytes = CEIL(shape.k_bytes, kt) * kt,
                  under_way = build_int(b, "stages") + 2 - cuda_arch_has(b->d, "cp_async"),
                  chunks = (k_bytes + under_way * kt) / 16;
    const int64_t packed = z.k * k_bytes / (int64_t)dtype_bytes(b->w->dtype);
    const int wp = build_buffer(b, "wp", ROLE_PACKED, b->w->dtype, packed);
    const int taps = build_buffer(b, "taps", ROLE_PACKED, DTYPE_I32, chunks * (z.r + z.s > 31 ? 4 : 2));
    int x, around;

    build_module(b, "conv2d/mma.cl");
    conv_define_shape(b, &z);
    mma_define(b, &shape);
    build_define(b, "PACK_X", packs_x(&z, b->w->dtype));
    make(b, PHASE_PACK, "conv_mma_pack", CEIL(packed, 128), 128, (const int[]){1, wp, -1});
    make(b, PHASE_PACK, "conv_mma_taps", CEIL(chunks, 128), 128, (const int[]){taps, -1});
    around = build_fold_zero(b, z.k, z.c / z.groups * z.r * z.s);
    x = packed_x(b, &z);
    mma_launch(b, "conv_mma", (const int[]){x, wp, taps, around, -1}, z.n * z.k * z.p * z.q);
}

const struct template conv2d_mma = {
    .id = "conv2d/mma",
    .version = 4,
    .summary = "CUDA, sm_75 and up: tensor cores on f16, bf16, i8 and u8, patches by a table of taps",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
