#include "kernels/deformable_conv2d/deformable_conv2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    (void)d;
    return conv_within("deformable_conv2d/naive", CONV_F16, w, why) ? FIT_NONE : FIT_BASELINE;
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
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t grid[] = {CEIL(z.n * z.k * z.p * z.q, 64), 1, 1}, block[] = {64, 1, 1};

    build_module(b, "deformable_conv2d/naive.cl");
    deformable_define_shape(b, &z);
    build_last_launch(b, "deformable_naive", grid, block, (const int[]){0, build_tensor(b, "offset"), 1, -1});
}

const struct template deformable_naive = {
    .id = "deformable_conv2d/naive",
    .version = 1,
    .summary = "one output a work-item, from the definition: the baseline",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
