/* A matrix product on tensor cores; knobs are those of a tiled product in shared memory with stages. */
#include "kernels/dense/dense.h"
#include "kernels/gemm/mma.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (mma_within("dense/mma", w, d, why))
        return FIT_NONE;
    return workload_get(w, "m") < 8 ? FIT_POSSIBLE : FIT_GOOD;
}

static struct mma_shape shape_of(const struct workload *w)
{
    const struct gemm_shape z = dense_gemm(w);

    return mma_gemm_shape(&z, w->dtype);
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
    const struct gemm_shape z = dense_gemm(b->w);

    mma_gemm_program(b, &z, "dense/mma.cl");
}

const struct template dense_mma = {
    .id = "dense/mma",
    .version = 2,
    .summary = "CUDA, sm_75 and up: tensor cores on f16, bf16 and i8, tiles staged in shared memory",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
