/* SPDX-License-Identifier: MIT */
#include "kernels/conv/strips.h"

#include "core/err.h"
#include "kernels/conv/split.h"

#include <assert.h>

#define MOST_APART                                                                                                     \
    32 /* tiles of an item that lie apart along one axis (TVM's virtual threads): records have up to 32 */
#define MOST_SUMS 128 /* "accumulators" below */

static const char *const conv_axes[][2] = {{"n_tile", "n_v * n_t * n_r"},
                                           {"f_tile", "f_v * f_t * f_r"},
                                           {"y_tile", "y_v * y_t * y_r"},
                                           {"x_tile", "x_v * x_t * x_r"},
                                           {"n_items", "n_t"},
                                           {"f_items", "f_t"},
                                           {"y_items", "y_t"},
                                           {"x_items", "x_t"},
                                           {"f_own", "g_v * f_v * f_r"},
                                           {"x_own", "n_v * n_r * y_v * y_r * x_v * x_r"},
                                           {"staged_c", "rc_i"},
                                           {NULL, NULL}};

static const char *const staging[][2] = {
    {"work_items", "n_items * f_items * y_items * x_items"},
    {"accumulators", "f_own * x_own * f_unit"},
    {"terms", "staged_c * ry_i * rx_i"},
    {"staged_rows", "(y_tile - 1) * (1 + (ry_i > 1) * (stride_h - 1)) + (ry_i - 1) * dil_h + 1"},
    {"staged_columns", "(x_tile - 1) * (1 + (rx_i > 1) * (stride_w - 1)) + (rx_i - 1) * dil_w + 1"},
    {NULL, NULL},
};

static const char *const quantities[][2] = {
    {"steps_c", "ceil_div(size_sum_c, staged_c)"},
    {"steps_r", "ceil_div(size_r, ry_i)"},
    {"steps_s", "ceil_div(size_s, rx_i)"},
    {"steps", "steps_c * steps_r * steps_s"},
    {"tiles_f", "ceil_div(size_f, f_tile) * (size_g // g_v)"},
    {"tiles_n", "ceil_div(size_n, n_tile)"},
    {"waste_n", "tiles_n * n_tile / size_n"},
    {"waste_f", "ceil_div(size_f, f_tile) * f_tile / size_f"},
    {"waste_y", "ceil_div(size_p, y_tile) * y_tile / size_p"},
    {"waste_x", "ceil_div(size_q, x_tile) * x_tile / size_q"},
    {"waste_c", "steps * terms / (size_sum_c * size_r * size_s)"},
    {"waste", "waste_n * waste_f * waste_y * waste_x * waste_c"},
    {"groups_whole", "tiles_n * tiles_f * ceil_div(size_p, y_tile) * ceil_div(size_q, x_tile)"},
    {"loads_per_fma", "1 / (f_own * f_unit) + 1 / x_own"},
    {"staged_per_fma", "(x_staged + w_staged) / (accumulators * work_items * terms)"},
    {"body", "accumulators * terms"},
    {"held", "(x_staged + w_staged) / work_items"},
    {NULL, NULL},
};

/* Orders and unrollings that come to the same are one config. */
static const char *const constraints[] = {
    "work_items <= max_group",
    "fuse_yx == 1 or (x_items <= max_x and y_items <= max_y and n_items * f_items <= max_z)",
    "fuse_yx == 0 or (x_items * y_items <= max_x and f_items <= max_y and n_items <= max_z)",
    "tiles_f <= max_grid and tiles_n * split <= max_grid",
    "local_bytes <= max_local",
    "accumulators <= 128",
    "size_g % g_v == 0",
    "steps > 1 or dbuf_x + dbuf_w == 0",
    "n_tile < 2 * size_n",
    "f_tile < 2 * size_f",
    "y_tile < 2 * size_p",
    "x_tile < 2 * size_q",
    "steps_c > 1 or order == 0 or order == 1",
    "steps_r > 1 or order == 0 or order == 4",
    "steps_s > 1 or order == 0 or order == 2",
    "unroll_step == 0 or body <= unroll_step",
    "unroll_step != 1500 or body > unroll_low",
    NULL,
};

static enum err add_constants(struct space *s, const struct strips *f, const struct conv_shape *z,
                              const struct device_desc *d, struct why *why)
{
    const struct build_named form[] = {
        {"size_g", (double)f->g}, {"size_sum_c", (double)f->c}, {"unroll_low", (double)f->unroll}, {NULL, 0}};
    const struct build_named counted[] = {{"size_f", (double)f->f}, {"f_unit", (double)f->f_unit}, {NULL, 0}};
    const struct build_named one_group[] = {{"g_v", 1}, {"fuse_yx", 0}, {NULL, 0}};
    const struct build_named one_image[] = {{"n_v", 1}, {"n_t", 1}, {"n_r", 1}, {NULL, 0}};
    static const struct build_named one_buffer[] = {{"dbuf_x", 0}, {"dbuf_w", 0}, {NULL, 0}};
    const struct build_named one_stage[] = {
        {"rc_i", 1}, {"ry_i", (double)z->r}, {"rx_i", (double)z->s}, {"order", 0}, {NULL, 0}};
    enum err e = conv_add_constants(z, f->elem, f->sum, d, s, why);

    if (!e)
        e = build_constants(s, form, why);
    if (!e && !f->axes)
        e = build_constants(s, counted, why);
    if (!e && !f->grouped)
        e = build_constants(s, one_group, why);
    if (!e && !f->grouped && !f->axes)
        e = build_constants(s, one_image, why);
    if (!e && !f->staged)
        e = build_constants(s, one_stage, why);
    if (!e && !f->ahead)
        e = build_constants(s, one_buffer, why);
    return e || f->splits ? e : space_add_constant(s, "split", 1, why);
}

/* Work-items go up to the device's groups; strips and neighbours as far as registers reach. */
static enum err add_axes(struct space *s, const struct strips *f, const struct conv_shape *z, int64_t items,
                         struct why *why)
{
    const struct build_split grouped[] = {
        {"n_v", z->n, 16}, {"n_t", z->n, 32}, {"n_r", z->n, 8}, {"g_v", f->g, 8}, {NULL, 0, 0}};
    const struct build_split axes[] = {{"f_v", f->f, MOST_APART}, {"f_t", f->f, items},
                                       {"f_r", f->f, f->most_f},  {"y_v", z->p, MOST_APART},
                                       {"y_t", z->p, items},      {"y_r", z->p, MOST_SUMS},
                                       {"x_v", z->q, MOST_APART}, {"x_t", z->q, items},
                                       {"x_r", z->q, MOST_SUMS},  {NULL, 0, 0}};
    const struct build_split staged[] = {
        {"rc_i", f->c, f->most_c}, {"ry_i", z->r, f->most_window}, {"rx_i", z->s, f->most_window}, {NULL, 0, 0}};
    enum err e = f->grouped ? build_split_knobs(s, grouped, why) : ERR_OK;

    if (!e)
        e = build_split_knobs(s, axes, why);
    return e || !f->staged ? e : build_split_knobs(s, staged, why);
}

enum err strips_add_knobs(struct space *s, const struct strips *f, const struct conv_shape *z,
                          const struct device_desc *d, struct why *why)
{
    static const struct build_knob fuse[] = {{"fuse_yx", {0, 1, BUILD_END}}, {0}};
    static const struct build_knob order[] = {{"order", {0, 1, 2, 3, 4, 5, BUILD_END}}, {0}};
    static const struct build_knob buffers[] = {{"dbuf_x", {0, 1, BUILD_END}}, {"dbuf_w", {0, 1, BUILD_END}}, {0}};
    const struct build_knob unroll[] = {{"unroll_step", {0, f->unroll, 1500, BUILD_END}}, {0}};
    const int64_t items = build_max_group(d) < 1024 ? build_max_group(d) : 1024;
    enum err e = add_constants(s, f, z, d, why);

    if (!e)
        e = f->knobs ? build_split_knobs(s, f->knobs, why) : add_axes(s, f, z, items, why);
    if (!e && f->grouped)
        e = build_knobs(s, fuse, why);
    if (!e && f->staged)
        e = build_knobs(s, order, why);
    if (!e)
        e = build_knobs(s, unroll, why);
    if (!e && f->splits)
        e = split_add_knob(s, why);
    if (!e && f->ahead)
        e = build_knobs(s, buffers, why);
    if (!e)
        e = build_quantities(s, f->axes ? f->axes : conv_axes, why);
    return e ? e : build_quantities(s, staging, why);
}

enum err strips_add_constraints(struct space *s, const struct device_desc *d, struct why *why)
{
    enum err e = build_quantities(s, quantities, why);

    if (!e)
        e = split_add_constraints(s, d, why);
    return e ? e : build_constraints(s, constraints, why);
}

/* The highest valid value of a knob that the form may lack. */
static void raise_knob(const struct space *s, const char *name, struct config *c)
{
    const int knob = space_find_knob(s, name);

    for (size_t v = knob < 0 ? 0 : space_n_values(s, (size_t)knob); v-- > 0;) {
        struct config next = *c;

        next.choice[knob] = (uint16_t)v;
        if (!space_is_valid(s, &next, NULL))
            continue;
        *c = next;
        return;
    }
}

enum err strips_choose(const struct space *s, const struct device_desc *d, const struct build_define *choice,
                       const char *const *lowered, struct config *out)
{
    enum err e = ERR_OK;
    double held = 0;

    *out = (struct config){{0}};
    build_choose(s, choice, out);
    if (!space_is_valid(s, out, NULL))
        e = build_make_valid(s, lowered, out);
    if (e || d->kind != DEVICE_GPU)
        return e;
    split_spread(s, d, out);
    raise_knob(s, "unroll_step", out);
    e = space_eval(s, out, "held", &held);
    if (!e && held <= STRIPS_MOST_AHEAD) {
        raise_knob(s, "dbuf_x", out);
        raise_knob(s, "dbuf_w", out);
    }
    return e;
}

enum err strips_fallback(const struct space *s, const struct conv_shape *z, const struct device_desc *d, int64_t alike,
                         const struct build_define *other, struct config *out)
{
    static const char *const lowered[] = {"rc_i", "y_t",  "f_t",  "x_t", "x_r", "y_r",
                                          "f_r",  "ry_i", "rx_i", "n_t", NULL};
    struct strips_tile t;
    enum err e;

    if (d->kind != DEVICE_GPU)
        return strips_choose(s, d, other, lowered, out);
    t = strips_tile_of(s, z, d, alike);
    e = strips_choose(s, d,
                      (const struct build_define[]){{"f_t", t.f_t},
                                                    {"f_r", t.f_r},
                                                    {"y_t", t.y_t},
                                                    {"y_r", t.y_r},
                                                    {"x_t", t.x_t},
                                                    {"x_r", t.x_r},
                                                    {"rc_i", t.rc_i},
                                                    {"ry_i", t.ry_i},
                                                    {"rx_i", t.rx_i},
                                                    {NULL, 0}},
                      lowered, out);
    if (e || alike == 0)
        return e;
    build_choose(s, (const struct build_define[]){{"dbuf_x", 0}, {"dbuf_w", 0}, {NULL, 0}}, out);
    if (t.ahead)
        build_choose_if_valid(s, (const struct build_define[]){{"dbuf_x", 1}, {"dbuf_w", 1}, {NULL, 0}}, out);
    return ERR_OK;
}

int strips_pack_weights(struct build *b, enum dtype word)
{
    return conv_pack_weights(b, "strips_pack_w", word,
                             build_int(b, "tiles_f") * build_int(b, "steps") * build_int(b, "w_staged"));
}

void strips_launch(struct build *b, const struct conv_shape *z, const char *kernel, const int *buffers)
{
    const int64_t n_t = build_int(b, "n_items"), f_t = build_int(b, "f_items"), y_t = build_int(b, "y_items");
    const int64_t x_t = build_int(b, "x_items"), split = build_int(b, "split");
    const int64_t tiles = CEIL(z->q, build_int(b, "x_tile")) * CEIL(z->p, build_int(b, "y_tile"));
    const int64_t grid[] = {tiles, build_int(b, "tiles_f"), build_int(b, "tiles_n") * split};
    const int64_t plain[] = {x_t, y_t, n_t * f_t}, fused[] = {x_t * y_t, f_t, n_t};

    assert(n_t * f_t * y_t * x_t == build_int(b, "work_items"));
    assert(build_int(b, "x_tile") % x_t == 0 && build_int(b, "y_tile") % y_t == 0);
    b->p->needs_local_bytes = build_int(b, "local_bytes");
    split_last_launch(b, z, kernel, grid, build_int(b, "fuse_yx") ? fused : plain, buffers);
}
