#include "kernels/build.h"
#include "kernels/conv2d/conv2d.h"

#include <string.h>

#define MAX_SIZE ((int64_t)1 << 24)
#define MAX_ELEMS (((int64_t)1 << 31) - 1)

static const char *const layouts[] = {"nchw", "nchw4c", "nchw8c", "nchw16c", NULL};
static const char *const accs[] = {"f32", "f16", NULL};
static const char *const epilogues[] = {"none", "bias", "relu", "bias_relu", NULL};

static const struct operator_key keys[] = {
    {"n", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "batch"},
    {"c", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input channels"},
    {"h", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input rows"},
    {"w", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input columns"},
    {"k", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "output channels"},
    {"r", KEY_INT, true, 1, 4096, 0, NULL, "window rows"},
    {"s", KEY_INT, true, 1, 4096, 0, NULL, "window columns"},
    {"stride", KEY_PAIR, false, 1, 4096, 1, NULL, "step of the window"},
    {"pad", KEY_PAD, false, 0, 4096, 0, NULL, "zeros around the input"},
    {"dilation", KEY_PAIR, false, 1, 4096, 1, NULL, "distance between window elements"},
    {"groups", KEY_INT, false, 1, MAX_SIZE, 1, NULL, "groups of channels"},
    {"layout", KEY_WORD, false, 0, 0, 0, layouts, "layout of input and output"},
    {"acc", KEY_WORD, false, 0, 0, 0, accs, "type of the sums"},
    {"epilogue", KEY_WORD, false, 0, 0, 0, epilogues, "what is applied to the sums"},
    {0},
};

static int64_t extent(int64_t size, int64_t before, int64_t after, int64_t window, int64_t dilation, int64_t stride)
{
    const int64_t room = size + before + after - ((window - 1) * dilation + 1);

    return room < 0 ? 0 : room / stride + 1;
}

struct conv_shape conv_shape_of(const struct workload *w)
{
    struct conv_shape s = {.n = workload_get(w, "n"),
                           .c = workload_get(w, "c"),
                           .h = workload_get(w, "h"),
                           .w = workload_get(w, "w"),
                           .k = workload_get(w, "k"),
                           .r = workload_get(w, "r"),
                           .s = workload_get(w, "s"),
                           .groups = workload_get(w, "groups")};

    s.stride_h = workload_part(w, "stride", 0);
    s.stride_w = workload_part(w, "stride", 1);
    s.dil_h = workload_part(w, "dilation", 0);
    s.dil_w = workload_part(w, "dilation", 1);
    s.top = workload_part(w, "pad", 0);
    s.left = workload_part(w, "pad", 1);
    s.bottom = workload_part(w, "pad", 2);
    s.right = workload_part(w, "pad", 3);
    s.p = extent(s.h, s.top, s.bottom, s.r, s.dil_h, s.stride_h);
    s.q = extent(s.w, s.left, s.right, s.s, s.dil_w, s.stride_w);
    return s;
}

static enum err check_elems(const char *tensor, int64_t a, int64_t b, int64_t c, int64_t d, struct why *why)
{
    int64_t n;

    if (__builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n) || __builtin_mul_overflow(n, d, &n) ||
        n > MAX_ELEMS)
        return why_set(why, ERR_LIMIT, "conv2d: %s of %lld x %lld x %lld x %lld has more than %lld elements", tensor,
                       (long long)a, (long long)b, (long long)c, (long long)d, (long long)MAX_ELEMS);
    return ERR_OK;
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct conv_shape s = conv_shape_of(w);
    enum err e;

    if (s.p < 1 || s.q < 1)
        return why_set(why, ERR_INPUT,
                       "conv2d: the window covers %lld x %lld, larger than the padded input %lld x %lld",
                       (long long)((s.r - 1) * s.dil_h + 1), (long long)((s.s - 1) * s.dil_w + 1),
                       (long long)(s.h + s.top + s.bottom), (long long)(s.w + s.left + s.right));
    if (s.c % s.groups || s.k % s.groups)
        return why_set(why, ERR_INPUT, "conv2d: groups=%lld does not divide c=%lld and k=%lld", (long long)s.groups,
                       (long long)s.c, (long long)s.k);
    e = check_elems("x", s.n, s.c, s.h + s.top + s.bottom, s.w + s.left + s.right, why);
    if (!e)
        e = check_elems("w", s.k, s.c, s.r, s.s, why);
    if (!e)
        e = check_elems("y", s.n, s.k, s.p, s.q, why);
    if (!e && s.c / s.groups * s.r * s.s > MAX_SIZE)
        e = why_set(why, ERR_LIMIT, "conv2d: sums of %lld products; the most is %lld", (long long)(s.c * s.r * s.s),
                    (long long)MAX_SIZE);
    return e;
}

enum err conv_supported(const struct workload *w, struct why *why)
{
    if (w->dtype != DTYPE_F32)
        return why_set(why, ERR_UNSUPPORTED, "conv2d: dtype %s cannot be tuned yet, only f32", dtype_name(w->dtype));
    if (workload_get(w, "groups") != 1)
        return why_set(why, ERR_UNSUPPORTED, "conv2d: groups=%lld cannot be tuned yet, only groups=1",
                       (long long)workload_get(w, "groups"));
    if (workload_get(w, "layout") != 0)
        return why_set(why, ERR_UNSUPPORTED, "conv2d: layout=%s cannot be tuned yet, only layout=nchw",
                       layouts[workload_get(w, "layout")]);
    if (workload_get(w, "acc") != 0)
        return why_set(why, ERR_UNSUPPORTED, "conv2d: acc=f16 cannot be tuned yet, only acc=f32");
    if (workload_get(w, "epilogue") != 0)
        return why_set(why, ERR_UNSUPPORTED, "conv2d: epilogue=%s cannot be tuned yet, only epilogue=none",
                       epilogues[workload_get(w, "epilogue")]);
    return ERR_OK;
}

enum err conv_define_shape(struct program_module *m, const struct conv_shape *s)
{
    const struct build_define list[] = {{"NB", s->n},        {"C", s->c},      {"H", s->h},      {"W", s->w},
                                        {"K", s->k},         {"R", s->r},      {"S", s->s},      {"SH", s->stride_h},
                                        {"SW", s->stride_w}, {"DH", s->dil_h}, {"DW", s->dil_w}, {"PT", s->top},
                                        {"PL", s->left},     {"P", s->p},      {"Q", s->q},      {NULL, 0}};

    return build_defines(m, list);
}

static double flops(const struct workload *w)
{
    const struct conv_shape s = conv_shape_of(w);

    return 2.0 * (double)(s.n * s.k) * (double)(s.p * s.q) * (double)(s.c / s.groups * s.r * s.s);
}

static double bytes_min(const struct workload *w)
{
    const struct conv_shape s = conv_shape_of(w);
    const double elems = (double)(s.n * s.c) * (double)(s.h * s.w) +
                         (double)(s.k * s.c / s.groups) * (double)(s.r * s.s) +
                         (double)(s.n * s.k) * (double)(s.p * s.q);

    return elems * (double)dtype_bytes(w->dtype);
}

static struct tensor tensor4(const char *name, enum buffer_role role, enum dtype t, const char *layout,
                             const int64_t shape[4])
{
    struct tensor x = {.name = name, .role = role, .dtype = t, .n_dims = 4, .layout = layout};

    memcpy(x.shape, shape, 4 * sizeof shape[0]);
    x.n_elems = shape[0] * shape[1] * shape[2] * shape[3];
    return x;
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct conv_shape s = conv_shape_of(w);
    const enum dtype sums = w->dtype == DTYPE_I8 ? DTYPE_I32 : w->dtype;

    out[0] = tensor4("x", ROLE_INPUT, w->dtype, "nchw", (const int64_t[]){s.n, s.c, s.h, s.w});
    out[1] = tensor4("w", ROLE_WEIGHT, w->dtype, "kcrs", (const int64_t[]){s.k, s.c / s.groups, s.r, s.s});
    out[2] = tensor4("y", ROLE_OUTPUT, sums, "nchw", (const int64_t[]){s.n, s.k, s.p, s.q});
    return 3;
}

static enum err expect(const struct workload *w, double tolerance, struct program *p, struct blobs *blobs)
{
    return expect_passes(w, tolerance, conv_reference, p, blobs);
}

const struct operator operator_conv2d = {
    .name = "conv2d",
    .summary = "2-D convolution (cross-correlation) with padding, stride, dilation",
    .formula = "y[n,k,p,q] = sum over c,r,s of x[n,c,p*stride+r*dilation-pad,q*stride+s*dilation-pad] * w[k,c,r,s]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_I8,
    .check = check,
    .flops = flops,
    .bytes_min = bytes_min,
    .tensors = tensors,
    .expect = expect,
};
