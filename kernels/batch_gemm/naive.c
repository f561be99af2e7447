#include "kernels/batch_gemm/batch_gemm.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    (void)w;
    (void)d;
    (void)why;
    return FIT_BASELINE;
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    (void)w;
    (void)d;
    return build_knobs(s, (const struct build_knob[]){{"wg", {64, BUILD_END}}, {0}}, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    (void)w;
    (void)d;
    (void)s;
    *out = (struct config){{0}};
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct gemm_shape z = batch_gemm_shape(b->w);
    const int64_t grid[] = {CEIL(z.b * z.m * z.n, 64), 1, 1}, block[] = {64, 1, 1};

    build_module(b, "batch_gemm/naive.cl");
    gemm_define_shape(b, &z);
    build_last_launch(b, "batch_gemm_naive", grid, block, (const int[]){0, 1, -1});
}

const struct template batch_gemm_naive = {
    .id = "batch_gemm/naive",
    .version = 1,
    .summary = "one output a work-item, from the definition: the baseline",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
