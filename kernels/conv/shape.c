/* SPDX-License-Identifier: MIT */
#include "kernels/conv/shape.h"

#include "core/err.h"
#include "kernels/expect.h"
#include "runtime/cuda_arch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define PACK_GROUP 128
#define MAX_TERMS ((int64_t)1 << 24)
#define MAX_ELEMS (((int64_t)1 << 31) - 1)

const char *const conv_accs[] = {"f32", "f16", NULL};

static int64_t extent(int64_t size, int64_t before, int64_t after, int64_t window, int64_t dilation, int64_t stride)
{
    assert(window > 0 && dilation > 0 && stride > 0);

    const int64_t room = size + before + after - ((window - 1) * dilation + 1);

    return room < 0 ? 0 : room / stride + 1;
}

static int64_t get_or(const struct workload *w, const char *key, int64_t otherwise)
{
    return workload_has(w, key) ? workload_get(w, key) : otherwise;
}

int64_t conv_reach(int64_t n, int64_t apart, int64_t window, int64_t dilation)
{
    return (n - 1) * apart + (window - 1) * dilation + 1;
}

struct conv_shape conv_shape_of(const struct workload *w)
{
    const int64_t c = workload_get(w, "c");
    const bool depthwise = workload_has(w, "mult"), pools = !depthwise && !workload_has(w, "k");
    struct conv_shape s = {.n = workload_get(w, "n"),
                           .c = c,
                           .h = workload_get(w, "h"),
                           .w = workload_get(w, "w"),
                           .k = depthwise ? c * workload_get(w, "mult") : get_or(w, "k", c),
                           .r = workload_get(w, "r"),
                           .s = workload_get(w, "s"),
                           .groups = depthwise || pools ? c : get_or(w, "groups", 1),
                           .dil_h = 1,
                           .dil_w = 1};

    s.stride_h = workload_part(w, "stride", 0);
    s.stride_w = workload_part(w, "stride", 1);
    if (workload_has(w, "dilation")) {
        s.dil_h = workload_part(w, "dilation", 0);
        s.dil_w = workload_part(w, "dilation", 1);
    }
    s.top = workload_part(w, "pad", 0);
    s.left = workload_part(w, "pad", 1);
    s.bottom = workload_part(w, "pad", 2);
    s.right = workload_part(w, "pad", 3);
    s.p = extent(s.h, s.top, s.bottom, s.r, s.dil_h, s.stride_h);
    s.q = extent(s.w, s.left, s.right, s.s, s.dil_w, s.stride_w);
    s.layout = get_or(w, "layout", IMAGES_NCHW);
    s.x_lanes = images_lanes(s.layout, s.c);
    s.y_lanes = images_lanes(s.layout, s.k);
    assert(s.groups > 0 && s.c % s.x_lanes == 0 && s.k % s.y_lanes == 0);
    return s;
}

double conv_terms(const struct conv_shape *s)
{
    return (double)(s->c / s->groups) * (double)(s->r * s->s);
}

double conv_flops(const struct workload *w)
{
    const struct conv_shape s = conv_shape_of(w);

    return 2.0 * (double)(s.n * s.k) * (double)(s.p * s.q) * conv_terms(&s);
}

/* Windows' places inside the image, of one axis. */
static double places_inside(int64_t size, int64_t outputs, int64_t taps, int64_t stride, int64_t dilation, int64_t pad)
{
    double n = 0;

    for (int64_t r = 0; r < taps; r++) /* outputs p with 0 <= p * stride + r * dilation - pad < size */
    {
        const int64_t shift = r * dilation - pad;
        const int64_t first = shift < 0 ? (-shift + stride - 1) / stride : 0;
        const int64_t behind = size - shift <= 0 ? 0 : (size - shift + stride - 1) / stride;
        const int64_t end = behind < outputs ? behind : outputs;

        n += end > first ? (double)(end - first) : 0;
    }
    return n;
}

double conv_flops_least(const struct workload *w)
{
    const struct conv_shape s = conv_shape_of(w);
    const double rows = places_inside(s.h, s.p, s.r, s.stride_h, s.dil_h, s.top);
    const double columns = places_inside(s.w, s.q, s.s, s.stride_w, s.dil_w, s.left);

    return 2.0 * (double)(s.n * s.k) * (double)(s.c / s.groups) * rows * columns;
}

static enum err check_sizes(const struct workload *w, const struct conv_shape *s, struct why *why)
{
    enum err e = images_check_elems(
        w, "x", (const int64_t[]){s->n, s->c, s->h + s->top + s->bottom, s->w + s->left + s->right}, why);

    if (!e)
        e = images_check_elems(w, "w", (const int64_t[]){s->k, s->c / s->groups, s->r, s->s}, why);
    if (!e)
        e = images_check_elems(w, "y", (const int64_t[]){s->n, s->k, s->p, s->q}, why);
    if (!e && conv_terms(s) > (double)MAX_TERMS)
        e = why_set(why, ERR_LIMIT, "%s: sums of %.0f products; the most is %lld", w->op->name, conv_terms(s),
                    (long long)MAX_TERMS);
    return e;
}

static enum err check_layout(const struct workload *w, const struct conv_shape *s, struct why *why)
{
    if (images_block(s->layout) > 1 && s->x_lanes == 1 && s->y_lanes == 1)
        return why_set(why, ERR_INPUT,
                       "%s: layout=%s needs input or output channels in multiples of %lld, not %lld and %lld",
                       w->op->name, images_layouts[s->layout], (long long)images_block(s->layout), (long long)s->c,
                       (long long)s->k);
    return ERR_OK;
}

enum err conv_check(const struct workload *w, struct why *why)
{
    const struct conv_shape s = conv_shape_of(w);
    enum err e;

    if (s.p < 1 || s.q < 1)
        return why_set(why, ERR_INPUT, "%s: the window covers %lld x %lld, larger than the padded input %lld x %lld",
                       w->op->name, (long long)((s.r - 1) * s.dil_h + 1), (long long)((s.s - 1) * s.dil_w + 1),
                       (long long)(s.h + s.top + s.bottom), (long long)(s.w + s.left + s.right));
    if (s.c % s.groups || s.k % s.groups)
        return why_set(why, ERR_INPUT, "%s: groups=%lld does not divide c=%lld and k=%lld", w->op->name,
                       (long long)s.groups, (long long)s.c, (long long)s.k);
    e = check_sizes(w, &s, why);
    if (!e)
        e = check_layout(w, &s, why);
    return !e && workload_has(w, "epilogue") ? epilogue_check(w, why) : e;
}

static struct tensor tensor4(const char *name, enum buffer_role role, enum dtype t, const char *layout,
                             const int64_t shape[4])
{
    struct tensor x = {.name = name, .role = role, .dtype = t, .n_dims = 4, .layout = layout};

    memcpy(x.shape, shape, 4 * sizeof shape[0]);
    x.n_elems = shape[0] * shape[1] * shape[2] * shape[3];
    return x;
}

size_t conv_tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct conv_shape s = conv_shape_of(w);
    const bool has_epilogue = workload_has(w, "epilogue");
    const enum dtype y = has_epilogue ? epilogue_output_dtype(w) : dtype_is_bytes(w->dtype) ? DTYPE_I32 : w->dtype;

    out[0] = images_tensor("x", ROLE_INPUT, w->dtype, s.layout, (const int64_t[]){s.n, s.c, s.h, s.w});
    out[1] =
        tensor4("w", ROLE_WEIGHT, dtype_of_weights(w->dtype), "kcrs", (const int64_t[]){s.k, s.c / s.groups, s.r, s.s});
    out[2] = images_tensor("y", ROLE_OUTPUT, y, s.layout, (const int64_t[]){s.n, s.k, s.p, s.q});
    product_fills(&out[0], &out[1], conv_terms(&s) + 2, (double)s.k);
    return has_epilogue ? epilogue_tensors(w, s.k, conv_terms(&s), &out[2], out, 3) : 3;
}

enum err conv_within(const char *id, unsigned caps, const struct workload *w, struct why *why)
{
    const struct conv_shape s = conv_shape_of(w);

    if ((w->dtype == DTYPE_BF16 && !(caps & CONV_BF16)) || (w->dtype == DTYPE_F16 && !(caps & CONV_F16)) ||
        (w->dtype == DTYPE_I8 && !(caps & CONV_I8)) || (w->dtype == DTYPE_U8 && !(caps & CONV_U8)))
        return why_set(why, ERR_UNSUPPORTED, "%s does not compute dtype %s", id, dtype_name(w->dtype));
    if (s.groups != 1 && !(caps & CONV_GROUPS))
        return why_set(why, ERR_UNSUPPORTED, "%s computes one group, not groups=%lld", id, (long long)s.groups);
    if (s.layout != IMAGES_NCHW && !(caps & (s.layout == IMAGES_NHWC ? CONV_NHWC : CONV_LAYOUTS)))
        return why_set(why, ERR_UNSUPPORTED, "%s computes layout=nchw%s, not layout=%s", id,
                       caps & CONV_LAYOUTS ? " and channel blocks" : "", images_layouts[s.layout]);
    if (get_or(w, "epilogue", 0) && !(caps & CONV_EPILOGUE))
        return why_set(why, ERR_UNSUPPORTED, "%s computes epilogue=none, not epilogue=%s", id,
                       epilogue_word(epilogue_of(w)));
    return ERR_OK;
}

enum err conv_not_cuda(const char *id, const char *others, const struct device_desc *d, struct why *why)
{
    if (strcmp(d->api, "cuda") != 0)
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "%s is for CPUs, one work-item a group; on a CUDA device: %s", id, others);
}

enum dtype conv_sums(const struct workload *w, const struct device_desc *d)
{
    return dtype_is_bytes(w->dtype) ? DTYPE_I32 : sums_in_half(w, d) ? DTYPE_F16 : DTYPE_F32;
}

enum err conv_add_constants(const struct conv_shape *z, enum dtype elem, enum dtype sum, const struct device_desc *d,
                            struct space *s, struct why *why)
{
    const struct build_named list[] = {{"size_n", (double)z->n},
                                       {"size_c", (double)z->c},
                                       {"size_cg", (double)(z->c / z->groups)},
                                       {"size_h", (double)z->h},
                                       {"size_w", (double)z->w},
                                       {"size_k", (double)z->k},
                                       {"size_kg", (double)(z->k / z->groups)},
                                       {"size_r", (double)z->r},
                                       {"size_s", (double)z->s},
                                       {"size_p", (double)z->p},
                                       {"size_q", (double)z->q},
                                       {"stride_h", (double)z->stride_h},
                                       {"stride_w", (double)z->stride_w},
                                       {"dil_h", (double)z->dil_h},
                                       {"dil_w", (double)z->dil_w},
                                       {"groups_n", (double)z->groups},
                                       {"x_lanes", (double)z->x_lanes},
                                       {"y_lanes", (double)z->y_lanes},
                                       {"elem_bytes", (double)dtype_bytes(elem)},
                                       {"sum_elem_bytes", (double)dtype_bytes(sum)},
                                       {"max_grid", strcmp(d->api, "cuda") == 0 ? CUDA_MAX_GRID_YZ : MAX_ELEMS},
                                       {NULL, 0}};
    const enum err e = build_limits(s, d, why);

    return e ? e : build_constants(s, list, why);
}

enum err conv_space(const struct workload *w, const struct device_desc *d, const struct build_knob *knobs,
                    const char *const (*quantities)[2], const char *const *constraints, struct space *s,
                    struct why *why)
{
    static const struct build_named none[] = {{NULL, 0}};
    const struct conv_shape z = conv_shape_of(w);
    const enum err e = conv_add_constants(&z, w->dtype, conv_sums(w, d), d, s, why);

    return e ? e : build_space(s, none, knobs, quantities, constraints, why);
}

struct conv_pack conv_pack_define(struct build *b, int64_t row)
{
    const int64_t most = build_max_side(b->d, 0), group = most < PACK_GROUP ? most : PACK_GROUP;
    const struct conv_pack p = b->d->kind == DEVICE_CPU ? (struct conv_pack){1, row} : (struct conv_pack){group, group};

    assert(p.group > 0 && p.run >= p.group);
    build_define(b, "PACK_WG", p.group);
    build_define(b, "PACK_RUN", p.run);
    return p;
}

int conv_pack_weights(struct build *b, const char *kernel, enum dtype word, int64_t n)
{
    const int64_t most = build_max_side(b->d, 0), group = most < PACK_GROUP ? most : PACK_GROUP;
    const int wp = build_buffer(b, "wp", ROLE_PACKED, word, n);

    build_define(b, "PACK_ITEMS", group);
    build_launch(b, PHASE_PACK, kernel, (const int64_t[]){CEIL(n, group), 1, 1}, (const int64_t[]){group, 1, 1},
                 (const int[]){1, wp, -1});
    return wp;
}

void conv_define_shape(struct build *b, const struct conv_shape *s)
{
    const struct build_define list[] = {{"NB", s->n},        {"C", s->c},      {"H", s->h},      {"W", s->w},
                                        {"K", s->k},         {"R", s->r},      {"S", s->s},      {"SH", s->stride_h},
                                        {"SW", s->stride_w}, {"DH", s->dil_h}, {"DW", s->dil_w}, {"PT", s->top},
                                        {"PL", s->left},     {"P", s->p},      {"Q", s->q},      {NULL, 0}};

    build_defines(b, list);
    if (s->groups > 1)
        build_define(b, "GROUPS", s->groups);
    if (s->x_lanes > 1)
        build_define(b, "XL", s->x_lanes);
    if (s->y_lanes > 1)
        build_define(b, "YL", s->y_lanes);
}
