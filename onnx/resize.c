/* SPDX-License-Identifier: MIT */
/* resize.c - Resize and Upsample: images of another size, layers of resize2d; where more than two elements of an axis
 * make one (cubic, antialias), products with a matrix of weights. */
#include "onnx/model.h"
#include "onnx/views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DENOMINATOR 65536 /* of scales */
#define MAX_PART (1 << 28)    /* so that places fit 64 bits */

enum place { HALF_PIXEL, PYTORCH, CORNERS, ASYMMETRIC, CROP, SYMMETRIC, HALF_FOR_NEAREST };
static const char *const places[] = {"half_pixel",         "pytorch_half_pixel",   "align_corners",        "asymmetric",
                                     "tf_crop_and_resize", "half_pixel_symmetric", "tf_half_pixel_for_nn", NULL};
enum mode { NEAREST, LINEAR, CUBIC };
static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear", NULL};
enum rounding { TO_FLOOR_FIRST, TO_CEIL_FIRST, TO_FLOOR, TO_CEIL };
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
enum policy { STRETCH, NOT_LARGER, NOT_SMALLER };
static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};

struct ratio {
    int64_t over, under;
};

/* Of one axis: `size` outputs of n elements, number i at (i * step + first) / unit; those outside of [from, to) are
 * another value. */
struct axis {
    int64_t n, size, step, first, unit, from, to;
    struct ratio scale;
    bool changes;
};

struct resize {
    struct onnx_import *m;
    const Onnx__NodeProto *node;
    int mode, place, rounding, policy;
    bool antialias, excludes;
    double a; /* of cubic weights */
    struct axis axis[ONNX_MAX_RANK];
};

static bool refuse(const struct resize *r, const char *words)
{
    onnx_refuse(r->m, "%s", words);
    return false;
}

static int64_t divisor(int64_t a, int64_t b)
{
    return b ? divisor(b, a % b) : a < 0 ? -a : a;
}

static struct ratio reduced(int64_t over, int64_t under)
{
    const int64_t common = divisor(over, under);

    return (struct ratio){over / common, under / common};
}

/* The quotient of small numbers that a float above 0 was made of; over 0: there is none. */
static struct ratio ratio_of(double v)
{
    int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
    double rest = v;

    for (int i = 0; i < 32 && rest < 1e9; i++) {
        const int64_t whole = (int64_t)floor(rest), p = whole * p1 + p0, q = whole * q1 + q0;

        if (q > MAX_DENOMINATOR || p > GRAPH_MAX_SIZE)
            break;
        p0 = p1, q0 = q1, p1 = p, q1 = q;
        if (p > 0 && fabs((double)p / (double)q - v) <= v * 0x1p-23)
            return (struct ratio){p, q};
        if (rest - floor(rest) <= 0)
            break;
        rest = 1 / (rest - floor(rest));
    }
    return (struct ratio){0, 1};
}

/* The word of an attribute by position in a list, the first where it is left out; false: it is none of them. */
static bool read_word(const Onnx__NodeProto *node, const char *name, const char *const *words, int *out)
{
    const Onnx__AttributeProto *a = onnx_attribute(node, name);

    for (*out = 0; a && words[*out]; ++*out)
        if (a->s.len == strlen(words[*out]) && memcmp(a->s.data, words[*out], a->s.len) == 0)
            return true;
    return !a;
}

static bool read_words(struct resize *r)
{
    const bool old = strcmp(r->node->op_type, "Upsample") == 0 || r->m->opset < 11;
    const bool fine = read_word(r->node, "mode", modes, &r->mode) &&
                      read_word(r->node, "coordinate_transformation_mode", places, &r->place) &&
                      read_word(r->node, "nearest_mode", roundings, &r->rounding) &&
                      read_word(r->node, "keep_aspect_ratio_policy", policies, &r->policy);

    if (r->mode > CUBIC)
        r->mode = LINEAR; /* bilinear, of old */
    if (old) {
        r->place = ASYMMETRIC;
        r->rounding = TO_FLOOR;
    }
    r->antialias = onnx_attribute_int(r->node, "antialias", 0) != 0 && r->mode != NEAREST;
    r->excludes = onnx_attribute_int(r->node, "exclude_outside", 0) != 0;
    r->a = onnx_attribute_real(r->node, "cubic_coeff_a", -0.75);
    return fine || refuse(r, "in a mode that is not known");
}

/* ---- sizes ---- */

/* A constant input with numbers; NULL where it is left out or empty. */
static const struct onnx_value *numbers_of(const struct resize *r, size_t i)
{
    const struct onnx_value *v = onnx_in(r->m, r->node, i);

    return v && (v->kind != ONNX_CONSTANT || onnx_shape_elems(&v->shape) > 0) ? v : NULL;
}

static bool by_scale(struct axis *a, double scale)
{
    a->scale = scale > 0 ? ratio_of(scale) : (struct ratio){0, 1};
    a->size = a->scale.over ? a->n * a->scale.over / a->scale.under : 0;
    return a->size > 0 && a->size <= GRAPH_MAX_SIZE;
}

/* One scale for all axes, the smallest or the largest: sizes are rounded. */
static void keep_aspect(struct resize *r, const int *axes, size_t n)
{
    struct ratio best = r->axis[axes[0]].scale;

    for (size_t k = 1; k < n; k++) {
        const struct ratio s = r->axis[axes[k]].scale;
        const bool smaller = s.over * best.under < best.over * s.under;

        best = smaller == (r->policy == NOT_LARGER) ? s : best;
    }
    for (size_t k = 0; k < n; k++) {
        struct axis *a = &r->axis[axes[k]];

        a->scale = best;
        a->size = (2 * a->n * best.over + best.under) / (2 * best.under);
    }
}

/* Sizes and scales of the axes that are named, or of all. */
static bool read_sizes(struct resize *r, const int *axes, size_t n)
{
    const bool upsample = strcmp(r->node->op_type, "Upsample") == 0, old = upsample || r->m->opset < 11;
    const struct onnx_value *scales = numbers_of(r, old ? 1 : 2), *sizes = old ? NULL : numbers_of(r, 3);
    const struct onnx_value *given = sizes ? sizes : scales;
    const Onnx__AttributeProto *a = onnx_attribute(r->node, "scales");
    bool fine =
        given ? given->kind == ONNX_CONSTANT && (size_t)onnx_shape_elems(&given->shape) == n : a && a->n_floats == n;

    for (size_t k = 0; k < n && fine; k++) {
        struct axis *x = &r->axis[axes[k]];

        if (!sizes) {
            fine = by_scale(x, given ? onnx_at(given, (int64_t)k) : (double)a->floats[k]);
            continue;
        }
        fine = onnx_int_at(sizes, (int64_t)k, &x->size) && x->size > 0 && x->size <= GRAPH_MAX_SIZE;
        x->scale = fine ? reduced(x->size, x->n) : x->scale;
    }
    if (!fine)
        return refuse(r, "expected constant scales or sizes, scales of quotients of small numbers");
    if (sizes && r->policy != STRETCH)
        keep_aspect(r, axes, n);
    return true;
}

/* ---- places ---- */

/* Part of an axis, in elements, from and to which outputs lie: of CROP. */
static bool set_crop(struct resize *r, struct axis *a, const struct onnx_value *roi, int64_t k, int64_t n)
{
    const double from = roi ? onnx_at(roi, k) : 0, to = roi ? onnx_at(roi, n + k) : 1;
    const struct ratio f = from > 0 ? ratio_of(from) : ratio_of(-from), t = to > 0 ? ratio_of(to) : ratio_of(-to);
    const int64_t f_over = from < 0 ? -f.over : f.over, t_over = to < 0 ? -t.over : t.over;
    const int64_t under = f.under * t.under, begin = f_over * t.under, end = t_over * f.under;

    if ((!f.over && (from < 0 || from > 0)) || (!t.over && (to < 0 || to > 0)) || under > MAX_DENOMINATOR ||
        llabs(begin) > MAX_PART || llabs(end) > MAX_PART || a->n > MAX_PART / a->size)
        return refuse(r, "a part that is no quotient of small numbers");
    if (a->size == 1) {
        a->first = (begin + end) * (a->n - 1);
        a->unit = 2 * under;
        return true;
    }
    a->step = (end - begin) * (a->n - 1);
    a->first = begin * (a->n - 1) * (a->size - 1);
    a->unit = under * (a->size - 1);
    return true;
}

/* step, first, unit of an axis as its mode has them. */
static void set_place(const struct resize *r, struct axis *a)
{
    const int64_t p = a->scale.over, q = a->scale.under;

    a->step = 2 * q;
    a->first = q - p;
    a->unit = 2 * p;
    if (r->place == SYMMETRIC)
        a->first += a->n * p - a->size * q;
    if (r->place == HALF_FOR_NEAREST)
        a->first = q;
    if (r->place == ASYMMETRIC || (r->place == PYTORCH && a->size == 1))
        a->first = 0;
    if (r->place == CORNERS) {
        const bool one = a->n * p == q;

        a->step = one ? 0 : (a->n - 1) * q;
        a->first = 0;
        a->unit = one ? 1 : a->n * p - q;
        if (a->unit < 0) {
            a->unit = -a->unit;
            a->step = -a->step;
        }
    }
}

/* Outputs before the first element or behind the last one are left to be filled. */
static void set_inside(struct axis *a)
{
    const int64_t last = (a->n - 1) * a->unit;

    while (a->from < a->to && (a->from * a->step + a->first < 0 || a->from * a->step + a->first > last))
        a->from++;
    while (a->from < a->to && ((a->to - 1) * a->step + a->first < 0 || (a->to - 1) * a->step + a->first > last))
        a->to--;
}

static int64_t floor_of(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The place rounded as `nearest_mode` says is the one below another place. */
static void set_rounding(const struct resize *r, struct axis *a)
{
    int64_t common;

    if (r->rounding == TO_CEIL)
        a->first += a->unit - 1;
    if (r->rounding == TO_FLOOR_FIRST || r->rounding == TO_CEIL_FIRST) {
        a->step *= 2;
        a->first = 2 * a->first + a->unit - (r->rounding == TO_FLOOR_FIRST);
        a->unit *= 2;
    }
    common = divisor(a->step, a->unit);
    a->step /= common;
    a->first = floor_of(a->first, common);
    a->unit /= common;
}

static bool set_axis(struct resize *r, struct axis *a)
{
    int64_t common;

    a->from = 0;
    a->to = a->size;
    if (r->place == CROP)
        set_inside(a);
    a->first += a->from * a->step;
    if (r->mode == NEAREST)
        set_rounding(r, a);
    common = divisor(divisor(a->step, a->unit), a->first);
    a->step /= common;
    a->first /= common;
    a->unit /= common;
    a->changes = a->n != a->to - a->from || (a->n > 1 && (a->first != 0 || a->step != a->unit));
    if (a->from == a->to)
        return refuse(r, "nothing is inside");
    if (a->unit > INT32_MAX / a->n || llabs(a->step) > INT32_MAX / 2 / a->size || llabs(a->first) > INT32_MAX / 2)
        return refuse(r, "scales that are no quotients of small numbers");
    return true;
}

/* All of the node's inputs and attributes. */
static bool read_all(struct resize *r, const struct onnx_value *x)
{
    const Onnx__AttributeProto *named = onnx_attribute(r->node, "axes");
    const struct onnx_value *roi = r->m->opset < 11 ? NULL : numbers_of(r, 1);
    int64_t numbers[ONNX_MAX_RANK];
    int axes[ONNX_MAX_RANK];
    size_t n = 0;
    bool fine = read_words(r) && onnx_ints(r->m, r->node, "axes", r->node->n_input, numbers, ONNX_MAX_RANK, &n);

    n = named ? n : (size_t)x->shape.rank;
    for (size_t k = 0; k < n && fine; k++) {
        const int64_t d = !named ? (int64_t)k : numbers[k] < 0 ? numbers[k] + x->shape.rank : numbers[k];

        if (d < 0 || d >= x->shape.rank)
            return refuse(r, "an axis that is none");
        axes[k] = (int)d;
    }
    for (int d = 0; d < x->shape.rank; d++)
        r->axis[d] = (struct axis){.n = x->shape.dim[d], .size = x->shape.dim[d], .to = x->shape.dim[d]};
    if (!fine || n == 0 || !read_sizes(r, axes, n))
        return false;
    if (r->place == CROP && (!roi || roi->kind != ONNX_CONSTANT || onnx_shape_elems(&roi->shape) != 2 * (int64_t)n))
        return refuse(r, "expected a constant part of each axis");
    for (size_t k = 0; k < n && fine; k++) {
        struct axis *a = &r->axis[axes[k]];

        if (r->place == CROP)
            fine = set_crop(r, a, roi, (int64_t)k, (int64_t)n);
        else
            set_place(r, a);
        fine = fine && set_axis(r, a);
    }
    return fine;
}

/* ---- layers ---- */

/* A layer of resize2d over rows and columns of x seen as images; either may be left as it is. */
static enum onnx_role resize_images(struct resize *r, const struct onnx_value *x, const struct graph_shape *images,
                                    const struct axis *rows, const struct axis *cols)
{
    static const struct axis as_it_is = {.step = 1, .unit = 1};
    struct onnx_import *m = r->m;
    const int from = onnx_layer_as(m, x, images), i = from < 0 ? -1 : onnx_new_layer(m, r->node, GRAPH_RESIZE, from);
    const struct axis *h = rows && rows->changes ? rows : &as_it_is, *w = cols && cols->changes ? cols : &as_it_is;
    struct graph_node *n = i < 0 ? NULL : &m->layers[i].node;

    if (!n)
        return ONNX_PLAIN;
    n->shape = *images;
    n->shape.dim[2] = h == rows ? h->to - h->from : images->dim[2];
    n->shape.dim[3] = w == cols ? w->to - w->from : images->dim[3];
    snprintf(n->words, sizeof n->words, "step=%lld,%lld first=%lld,%lld unit=%lld,%lld kind=%s", (long long)h->step,
             (long long)w->step, (long long)h->first, (long long)w->first, (long long)h->unit, (long long)w->unit,
             modes[r->mode]);
    return onnx_finish(m, r->node, i, ONNX_PLAIN);
}

/* How much an element at a distance counts. */
static double weight_at(const struct resize *r, double distance)
{
    const double d = fabs(distance), a = r->a;

    if (r->mode == LINEAR)
        return d < 1 ? 1 - d : 0;
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* The weights of one output: what lies outside counts for the nearest end, or not at all. */
static void put_weights(const struct resize *r, const struct axis *a, int64_t i, double *row)
{
    const double scale = (double)a->scale.over / (double)a->scale.under, near = r->antialias ? fmin(scale, 1) : 1;
    const double place = (double)(i * a->step + a->first) / (double)a->unit, reach = (r->mode == LINEAR ? 1 : 2) / near;
    double sum = 0;

    for (int64_t k = (int64_t)ceil(place - reach); (double)k <= place + reach; k++) {
        const double v = weight_at(r, ((double)k - place) * near);

        if (r->excludes && (k < 0 || k >= a->n))
            continue;
        row[k < 0 ? 0 : k < a->n ? k : a->n - 1] += v;
        sum += v;
    }
    for (int64_t k = 0; k < a->n; k++)
        row[k] /= sum;
}

/* A product with the weights of an axis, as a constant matrix. */
static enum onnx_role resize_by_matrix(struct resize *r, const struct onnx_value *x, int d)
{
    const struct axis *a = &r->axis[d];
    const struct graph_shape shape = {2, {a->to - a->from, a->n}};
    struct onnx_value *w;

    if (graph_elems(&shape) < 1 || graph_elems(&shape) > ONNX_MAX_REPEATED)
        return onnx_refuse(r->m, "of over %d weights", ONNX_MAX_REPEATED);
    w = onnx_new_constant(r->m, x->name, &shape, true);
    for (int64_t i = 0; w && i < shape.dim[0]; i++)
        put_weights(r, a, i, w->v + i * a->n);
    return w ? onnx_multiply_along(r->m, r->node, x, d, w) : ONNX_TUNED;
}

/* The last two axes together, others alone. */
static enum onnx_role resize_axis(struct resize *r, const struct onnx_value *x, int d)
{
    const int rank = x->shape.rank;
    const bool is_pair = rank > 1 && d >= rank - 2;
    struct graph_shape shape = x->shape;
    const struct graph_shape pair = {4,
                                     {rank > 2 ? shape.dim[0] : 1, rank > 2 ? graph_stretch(&shape, 1, rank - 2) : 1,
                                      shape.dim[is_pair ? rank - 2 : 0], shape.dim[rank - 1]}};
    const struct graph_shape alone = {
        4, {1, graph_stretch(&shape, 0, d), shape.dim[d], graph_stretch(&shape, d + 1, rank)}};
    const struct axis *rows = &r->axis[is_pair ? rank - 2 : d], *cols = is_pair ? &r->axis[rank - 1] : NULL;
    enum onnx_role role;

    if (r->mode == CUBIC || r->antialias)
        return resize_by_matrix(r, x, d);
    role = resize_images(r, x, is_pair ? &pair : &alone, rows, cols);
    for (int k = d; k < (is_pair ? rank : d + 1); k++)
        shape.dim[k] = r->axis[k].to - r->axis[k].from;
    onnx_out(r->m, r->node, 0)->shape = shape;
    return role;
}

/* The node's output with the extrapolation value around it, where there is something. */
static enum onnx_role put_around(struct resize *r, enum onnx_role role)
{
    const struct onnx_value y = *onnx_out(r->m, r->node, 0);
    struct onnx_view s;

    if (y.view)
        return role; /* nothing is around products */
    onnx_view_of(&y, &s);
    for (int d = 0; d < y.shape.rank; d++) {
        s.before[d] = r->axis[d].from;
        s.after[d] = r->axis[d].size - r->axis[d].to;
        s.shape.dim[d] = r->axis[d].size;
    }
    s.fill = (float)onnx_attribute_real(r->node, "extrapolation_value", 0);
    return onnx_view_is_bare(&s)                                     ? role
           : onnx_give(r->m, r->node, 0, &y, &s) == ONNX_UNSUPPORTED ? ONNX_UNSUPPORTED
                                                                     : role;
}

enum onnx_role onnx_resize(struct onnx_import *m, const Onnx__NodeProto *node)
{
    const struct onnx_value *x = onnx_in(m, node, 0);
    struct resize r = {.m = m, .node = node};
    enum onnx_role role = ONNX_FOLDED;
    struct onnx_value at;

    if (!onnx_is_activation(x) || x->shape.rank < 1)
        return onnx_refuse(m, "expected an activation");
    if (!read_all(&r, x))
        return ONNX_UNSUPPORTED;
    if (r.place == CROP && (r.mode == CUBIC || r.antialias))
        return onnx_refuse(m, "cubic or antialias of a part");
    at = *x;
    for (int d = 0; d < x->shape.rank && role != ONNX_UNSUPPORTED && !m->failed; d++) {
        const bool with_next = d == x->shape.rank - 2 && r.mode != CUBIC && !r.antialias && r.axis[d + 1].changes;

        if (!r.axis[d].changes && !with_next)
            continue;
        role = resize_axis(&r, &at, d);
        at = *onnx_out(m, node, 0);
        d += with_next;
    }
    if (role == ONNX_FOLDED)
        role = onnx_identity(m, node);
    return role == ONNX_UNSUPPORTED || m->failed ? role : put_around(&r, role);
}
