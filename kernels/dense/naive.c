#include "kernels/build.h"
#include "kernels/dense/dense.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    (void)d;
    return dense_supported(w, why) ? FIT_NONE : FIT_BASELINE;
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

static enum err program(const struct workload *w, const struct device_desc *d, const struct space *s,
                        const struct config *c, struct program *p, struct blobs *blobs, struct why *why)
{
    const struct dense_shape z = dense_shape_of(w);
    const int64_t grid[] = {CEIL(z.m * z.n, 64), 1, 1}, block[] = {64, 1, 1};
    struct program_module *m;
    enum err e = build_tensors(w, p);

    (void)d;
    (void)s;
    (void)c;
    if (!e)
        e = build_module(p, blobs, "dense/naive.cl", &m, why);
    if (!e)
        e = dense_define_shape(m, &z);
    return e ? e : build_launch(p, PHASE_RUN, "dense_naive", grid, block, (const int[]){0, 1, 2, -1});
}

const struct template dense_naive = {
    .id = "dense/naive",
    .operator_name = "dense",
    .version = 1,
    .summary = "one output a work-item, from the definition: the baseline",
    .tolerance = 2e-6,
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
