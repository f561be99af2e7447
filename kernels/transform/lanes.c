/* SPDX-License-Identifier: MIT */
#include "kernels/transform/transform.h"

#include "core/err.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (!transform_is_turned(w))
        return fit_anywhere(w, d, why);
    why_set(why, ERR_UNSUPPORTED, "transform/lanes is for nchw and blocks of channels; nhwc: transform/turned");
    return FIT_NONE;
}

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"run", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"part", "wg * run * vec"}, /* pixels of a group */
    {"larger", "max(x_lanes, y_lanes)"},
    {"smaller", "min(x_lanes, y_lanes)"},
    {"parts", "ceil_div(area, part)"},
    {"groups", "size_n * size_c / larger * parts"},
    {"work_items", "wg"},
    {"waste", "parts * part / area"},
    {"held", "vec * larger"}, /* elements in registers */
    {"move_bytes", "((smaller == 1) * vec + (smaller > 1) * smaller) * elem_bytes"},
    {"interleaved", "(smaller == 1) * (larger > 1) * (vec > 1)"},
    {NULL, NULL},
};

/* Sixteen vectors are half of a register file; the interleaved ones are there twice. */
static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",
    "vec == 1 or vec <= area",
    "run == 1 or part < 2 * area",
    "wg == 1 or wg * vec < 2 * area",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return transform_space(w, d, knobs, quantities, constraints, s, why);
}

static struct build_items run_items(const int64_t *v, const void *arg)
{
    const int64_t *a = arg; /* blocks of channels, pixels, lanes */

    return (struct build_items){.n = a[0] * CEIL(a[1], v[0] * a[2]), .cycles = (double)(64 * v[0]) + BUILD_ITEM_CYCLES};
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = transform_shape(w);
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t area = z.h * z.w, vec = cpu ? build_vector(d) : 1;

    *out = (struct config){{0}};
    build_choose(
        s,
        (const struct build_define[]){
            {"vec", vec < area ? vec : area}, {"run", cpu ? CEIL(area, vec) : 1}, {"wg", cpu ? 1 : 64}, {NULL, 0}},
        out);
    if (build_make_valid(s, (const char *const[]){"run", "wg", "vec", NULL}, out))
        return ERR_NOT_FOUND;
    if (cpu)
        build_spread(s, d, (const char *const[]){"run", NULL}, run_items,
                     (const int64_t[]){z.n * z.c / (z.x_lanes > z.y_lanes ? z.x_lanes : z.y_lanes), area, vec}, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct conv_shape z = transform_shape(b->w);
    const int64_t grid[] = {build_int(b, "groups"), 1, 1}, block[] = {build_int(b, "wg"), 1, 1};

    build_module(b, "transform/lanes.cl");
    conv_define_shape(b, &z);
    build_launch(b, PHASE_RUN, "transform_lanes", grid, block, (const int[]){0, 1, -1});
}

const struct template transform_lanes = {
    .id = "transform/lanes",
    .version = 1,
    .summary = "vectors of pixels, interleaved in registers to vectors of channels and back",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = numerics_exact,
};
