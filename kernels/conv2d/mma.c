/* SPDX-License-Identifier: MIT */
/* A convolution as an implicit matrix product on tensor cores. */
#include "kernels/conv2d/conv2d.h"
#include "core/err.h"
#include "kernels/gemm/mma.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);

    if (mma_within("conv2d/mma", w, d, why))
        return FIT_NONE;
    return z.c / z.groups < 8 || z.k / z.groups < 8 ? FIT_POSSIBLE : FIT_GOOD;
}

/* Bytes of k of one output channel: taps, and in each the group's channels padded to 16 bytes. */
static int64_t k_bytes(const struct conv_shape *z, enum dtype t)
{
    const int64_t elem = (int64_t)dtype_bytes(t);

    return z->r * z->s * CEIL(z->c / z->groups * elem, 16) * 16;
}

static struct mma_shape shape_of(const struct workload *w)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t elem = (int64_t)dtype_bytes(w->dtype), lanes = z.x_lanes * elem;

    return (struct mma_shape){z.groups, z.n * z.p * z.q, z.k / z.groups, k_bytes(&z, w->dtype),
                              mma_width(z.c / z.groups * elem, lanes < 16 ? lanes : 16)};
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

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const struct mma_shape shape = shape_of(b->w);
    const int64_t packed = z.k * shape.k_bytes / (int64_t)dtype_bytes(b->w->dtype);
    const int wp = build_buffer(b, "wp", ROLE_PACKED, b->w->dtype, packed);

    build_module(b, "conv2d/mma.cl");
    conv_define_shape(b, &z);
    mma_define(b, &shape);
    build_launch(b, PHASE_PACK, "conv_mma_pack", (const int64_t[]){CEIL(packed, 128), 1, 1},
                 (const int64_t[]){128, 1, 1}, (const int[]){1, wp, -1});
    mma_launch(b, "conv_mma", (const int[]){0, wp}, z.n * z.k * z.p * z.q);
}

const struct template conv2d_mma = {
    .id = "conv2d/mma",
    .version = 2,
    .summary = "CUDA, sm_75 and up: tensor cores on f16, bf16 and i8, patches gathered while loading",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
