/* SPDX-License-Identifier: MIT */
/* dense/mma and batch_gemm/mma: matrix products on tensor cores, over x and w as they lie (mma.cl). */
#include "kernels/gemm/mma.h"

static struct mma_shape shape_of(const struct workload *w)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const int64_t k_bytes = z.k * (int64_t)dtype_bytes(w->dtype);

    return (struct mma_shape){z.b, z.m, z.n, k_bytes, mma_width(k_bytes, 16), mma_width(z.n, 8), 0};
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (mma_within(workload_has(w, "b") ? "batch_gemm/mma" : "dense/mma", w, d, why))
        return FIT_NONE;
    return workload_get(w, "m") < 8 ? FIT_POSSIBLE : FIT_GOOD;
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
    const struct gemm_shape z = gemm_shape_of(b->w);
    const struct mma_shape shape = shape_of(b->w);

    build_module(b, "gemm/mma.cl");
    gemm_define_shape(b, &z);
    mma_define(b, &shape);
    (void)build_fold_zero(b, z.n, z.k);
    mma_launch(b, "gemm_mma", (const int[]){0, 1, -1}, z.b * z.m * z.n);
}

const struct template dense_mma = {
    .id = "dense/mma",
    .version = 5,
    .summary = "CUDA, sm_75 and up: tensor cores on f16, bf16, i8 and u8, tiles staged in shared memory",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};

const struct template batch_gemm_mma = {
    .id = "batch_gemm/mma",
    .version = 5,
    .summary = "CUDA, sm_75 and up: tensor cores on f16, bf16 and i8, tiles staged in shared memory",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
