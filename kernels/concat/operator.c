/* SPDX-License-Identifier: MIT */
#include "kernels/concat/concat.h"

#include "core/err.h"

static const struct operator_key keys[] = {
    {"n", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "batch"},
    {"c", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "channels of a"},
    {"c2", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "channels of b"},
    {"h", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "rows"},
    {"w", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "columns"},
    {"layout", KEY_WORD, false, 0, 0, 0, images_layouts, "layout of all tensors"},
    {0},
};

/* Shape of y. */
static struct images shape_of(const struct workload *w)
{
    const int64_t layout = workload_get(w, "layout");
    struct images s = images_of(w, layout);

    s.c += workload_get(w, "c2");
    s.lanes = images_lanes(layout, s.c);
    return s;
}

int64_t concat_elems(const struct workload *w)
{
    const struct images s = shape_of(w);

    return s.n * s.c * s.h * s.w;
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct images s = shape_of(w);
    const int64_t layout = workload_get(w, "layout"), c2 = workload_get(w, "c2");
    enum err e = images_check_layout(w, "layout", why);

    if (!e && c2 % images_block(layout))
        e = why_set(why, ERR_INPUT, "concat: layout=%s needs c2 in multiples of %lld, not c2=%lld",
                    images_layouts[layout], (long long)images_block(layout), (long long)c2);
    return e ? e : images_check_elems(w, "y", (const int64_t[]){s.n, s.c, s.h, s.w}, why);
}

/* None: an element that is moved counts as one. */
static double flops(const struct workload *w)
{
    return (double)concat_elems(w);
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct images s = shape_of(w);
    const int64_t c = workload_get(w, "c"), layout = workload_get(w, "layout");

    out[0] = images_tensor("a", ROLE_INPUT, w->dtype, layout, (const int64_t[]){s.n, c, s.h, s.w});
    out[1] = images_tensor("b", ROLE_INPUT, w->dtype, layout, (const int64_t[]){s.n, s.c - c, s.h, s.w});
    out[2] = images_tensor("y", ROLE_OUTPUT, w->dtype, layout, (const int64_t[]){s.n, s.c, s.h, s.w});
    if (w->dtype == DTYPE_U8) {
        byte_fills(&out[0], SEED_X);
        byte_fills(&out[1], SEED_RESIDUAL);
        return 3;
    }
    tensor_fills(&out[0], SEED_X, 1000, 1);
    tensor_fills(&out[1], SEED_RESIDUAL, 1000, 1);
    return 3;
}

struct concat_ref {
    struct images s;
    int64_t layout, c; /* channels of a */
    struct glue_data data;
};

/* By channels, whatever the layout: which image, channel and pixel stand at `index` of y, and where they do in a or b.
 */
static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct concat_ref *ref = arg;
    const struct images *s = &ref->s;
    const int64_t area = s->h * s->w, lanes = s->lanes, pixel = index / lanes % area;
    const int64_t channel = index / lanes / area * lanes % s->c + index % lanes, image = index / (s->c * area);
    const bool in_b = channel >= ref->c;
    const int64_t c = in_b ? s->c - ref->c : ref->c, k = in_b ? channel - ref->c : channel;
    const int64_t own = images_lanes(ref->layout, c); /* lanes of a or b */

    *scale = 1;
    return (double)ref->data.of[is_exact][in_b][((image * c + k) / own * area + pixel) * own + k % own];
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    struct concat_ref ref = {shape_of(w), workload_get(w, "layout"), workload_get(w, "c"), {{{NULL}}}};
    enum err failed = glue_data_make(e, (const char *const[GLUE_MAX_TENSORS]){"a", "b"}, &ref.data);

    (void)data;
    if (!failed)
        failed = glue_expect(&ref.s, 1, element, &ref, e);
    glue_data_fini(&ref.data);
    return failed;
}

void concat_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group)
{
    const int64_t grid[] = {n_groups, 1, 1}, block[] = {group, 1, 1};
    const int64_t area =
        workload_get(b->w, "layout") == IMAGES_NHWC ? 1 : workload_get(b->w, "h") * workload_get(b->w, "w");

    build_define(b, "N", concat_elems(b->w));
    build_define(b, "A", workload_get(b->w, "c") * area);
    build_define(b, "B", workload_get(b->w, "c2") * area);
    build_launch(b, PHASE_RUN, kernel, grid, block, (const int[]){0, 1, 2, -1});
}

static const struct template *const templates[] = {&concat_stream, &concat_naive, NULL};

const struct operator_desc operator_concat = {
    .name = "concat",
    .summary = "the channels of two tensors, those of a first",
    .formula = "y[n,k,h,w] = a[n,k,h,w] for k < c, else b[n,k-c,h,w]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_U8,
    .check = check,
    .flops = flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
