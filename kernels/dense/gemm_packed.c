/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/dense/dense.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (dense_within("dense/gemm_packed", DENSE_F16 | DENSE_EPILOGUE, w, why) ||
        gemm_not_cuda("dense/gemm_packed", "dense/gemm_tiled, dense/gemm_direct", d, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU && workload_get(w, "m") > DENSE_GEMV_ROWS ? FIT_GOOD : FIT_POSSIBLE;
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct gemm_shape z = gemm_shape_of(w);

    return gemm_cpu_space(w, &z, d, false, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct gemm_shape z = gemm_shape_of(w);

    return gemm_cpu_fallback(&z, d, false, s, out);
}

static void program(struct build *b)
{
    const struct gemm_shape z = gemm_shape_of(b->w);

    gemm_cpu_program(b, &z, "dense/gemm_packed.cl", false);
}

const struct template dense_gemm_packed = {
    .id = "dense/gemm_packed",
    .stages = true,
    .version = 4,
    .summary = "CPU: vector registers hold rows x columns over packed weights, k in blocks",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
