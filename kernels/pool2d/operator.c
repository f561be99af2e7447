/* SPDX-License-Identifier: MIT */
#include "kernels/pool2d/pool2d.h"

#include "core/err.h"

static const char *const kinds[] = {"max", "avg", NULL};

static const struct operator_key keys[] = {
    {"n", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "batch"},
    {"c", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "channels"},
    {"h", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "input rows"},
    {"w", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "input columns"},
    {"r", KEY_INT, true, 1, 4096, 0, NULL, "window rows"},
    {"s", KEY_INT, true, 1, 4096, 0, NULL, "window columns"},
    {"stride", KEY_PAIR, false, 1, 4096, 1, NULL, "step of the window"},
    {"pad", KEY_PAD, false, 0, 4095, 0, NULL, "how far windows reach beyond the input"},
    {"kind", KEY_WORD, false, 0, 0, 0, kinds, "the largest element, or the mean of those inside the image"},
    {"layout", KEY_WORD, false, 0, 0, 0, images_layouts, "layout of input and output"},
    {0},
};

/* Is there a window with nothing of the axis in it? The first and the last are the outermost. */
static bool reaches_outside(int64_t size, int64_t before, int64_t window, int64_t stride, int64_t n)
{
    return before >= window || (n - 1) * stride - before >= size;
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct conv_shape s = conv_shape_of(w);
    enum err e = images_check_layout(w, "layout", why);

    if (!e)
        e = conv_check(w, why);
    if (!e && (reaches_outside(s.h, s.top, s.r, s.stride_h, s.p) || reaches_outside(s.w, s.left, s.s, s.stride_w, s.q)))
        e = why_set(why, ERR_INPUT,
                    "pool2d: pad=%lld,%lld,%lld,%lld puts whole windows of %lld x %lld outside the image, where there "
                    "is nothing to take; expected a pad below the window's size",
                    (long long)s.top, (long long)s.left, (long long)s.bottom, (long long)s.right, (long long)s.r,
                    (long long)s.s);
    return e;
}

static double flops(const struct workload *w)
{
    const struct conv_shape s = conv_shape_of(w);

    return (double)(s.n * s.k) * (double)(s.p * s.q) * (double)(s.r * s.s);
}

/* How many of an axis' elements lie in a window. */
static int64_t touched(int64_t size, int64_t before, int64_t window, int64_t stride, int64_t n)
{
    int64_t sum = 0, end = 0;

    for (int64_t i = 0; i < n; i++) {
        const int64_t from = i * stride - before > end ? i * stride - before : end;
        const int64_t to = i * stride - before + window < size ? i * stride - before + window : size;

        sum += to > from ? to - from : 0;
        end = to > end ? to : end;
    }
    return sum;
}

static double bytes_min(const struct workload *w)
{
    const struct conv_shape s = conv_shape_of(w);
    const int64_t in = touched(s.h, s.top, s.r, s.stride_h, s.p) * touched(s.w, s.left, s.s, s.stride_w, s.q);

    return (double)(s.n * s.c) * (double)(in + s.p * s.q) * (double)dtype_bytes(w->dtype);
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct conv_shape s = conv_shape_of(w);
    const struct pool_data data = pool2d_exact_data(w);

    out[0] = images_tensor("x", ROLE_INPUT, w->dtype, s.layout, (const int64_t[]){s.n, s.c, s.h, s.w});
    out[1] = images_tensor("y", ROLE_OUTPUT, w->dtype, s.layout, (const int64_t[]){s.n, s.k, s.p, s.q});
    if (dtype_is_bytes(w->dtype))
        byte_fills(&out[0], SEED_X);
    else
        tensor_fills(&out[0], SEED_X, (double)(data.bound ? data.bound : 1), 1);
    if (data.step > 1)
        out[0].exact.step = (double)data.step;
    return 2;
}

void pool2d_define_shape(struct build *b, const struct conv_shape *s)
{
    conv_define_shape(b, s);
    if (workload_get(b->w, "kind") == POOL_AVG)
        build_define(b, "AVG", 1);
}

static const struct template *const templates[] = {&pool2d_rows, &pool2d_plane, &pool2d_window, &pool2d_naive, NULL};

const struct operator_desc operator_pool2d = {
    .name = "pool2d",
    .summary = "the largest element or the mean of each window of a channel",
    .formula = "y[n,c,p,q] = max or mean over r,s of x[n,c,p*stride+r-pad,q*stride+s-pad] inside the image",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_I8 | 1u << DTYPE_U8,
    .check = check,
    .flops = flops,
    .bytes_min = bytes_min,
    .tensors = tensors,
    .reference = pool2d_reference,
    .templates = templates,
};
