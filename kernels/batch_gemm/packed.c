/* SPDX-License-Identifier: MIT */
#include "kernels/batch_gemm/batch_gemm.h"

#include "core/err.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (w->dtype == DTYPE_I8 || w->dtype == DTYPE_BF16) {
        why_set(why, ERR_UNSUPPORTED, "batch_gemm/packed does not compute dtype %s", dtype_name(w->dtype));
        return FIT_NONE;
    }
    if (gemm_not_cuda("batch_gemm/packed", "batch_gemm/tiled, batch_gemm/mma", d, why))
        return FIT_NONE;
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct gemm_shape z = gemm_shape_of(w);

    return gemm_cpu_space(w, &z, d, true, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct gemm_shape z = gemm_shape_of(w);

    return gemm_cpu_fallback(&z, d, true, s, out);
}

static void program(struct build *b)
{
    const struct gemm_shape z = gemm_shape_of(b->w);

    gemm_cpu_program(b, &z, "batch_gemm/packed.cl", true);
}

const struct template batch_gemm_packed = {
    .id = "batch_gemm/packed",
    .stages = true,
    .version = 2,
    .summary = "CPU: vector registers hold rows x columns, each work-item packs the panels it uses",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
