/* SPDX-License-Identifier: MIT */
#include "kernels/deformable_conv2d/deformable_conv2d.h"
#include "kernels/expect.h"

#define MAX_ELEMS (((int64_t)1 << 31) - 1)

static const struct operator_key keys[] = {CONV_INPUT_KEYS,
                                           CONV_K_KEY,
                                           CONV_WINDOW_KEYS,
                                           CONV_KEY("deformable_groups", KEY_INT, false, 1, IMAGES_MAX_SIZE, 1, NULL,
                                                    "groups of input channels with offsets of their own"),
                                           CONV_ACC_KEY,
                                           {0}};

static enum err check(const struct workload *w, struct why *why)
{
    const struct conv_shape s = conv_shape_of(w);
    const int64_t groups = workload_get(w, "deformable_groups");
    const enum err e = conv_check(w, why);
    int64_t n = 2 * s.r * s.s;

    if (e)
        return e;
    if (s.c % groups)
        return why_set(why, ERR_INPUT, "%s: deformable_groups=%lld does not divide c=%lld", w->op->name,
                       (long long)groups, (long long)s.c);
    if (__builtin_mul_overflow(n, groups, &n) || __builtin_mul_overflow(n, s.n * s.p * s.q, &n) || n > MAX_ELEMS)
        return why_set(why, ERR_LIMIT, "%s: offset of %lld x %lld x %lld x %lld has more than %lld elements",
                       w->op->name, (long long)s.n, (long long)(groups * 2 * s.r * s.s), (long long)s.p, (long long)s.q,
                       (long long)MAX_ELEMS);
    return ERR_OK;
}

/* Exact pass: whole offsets, so that a sample is one pixel, up to the size of the image and so often outside it. Random
 * pass: between pixels, most of them near their place. */
static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct conv_shape s = conv_shape_of(w);
    const int64_t shape[] = {s.n, workload_get(w, "deformable_groups") * 2 * s.r * s.s, s.p, s.q};
    const size_t n = conv_tensors(w, out);
    struct tensor *offset = &out[n];

    *offset = (struct tensor){.name = "offset", .role = ROLE_INPUT, .dtype = w->dtype, .n_dims = 4, .layout = "nchw"};
    offset->n_elems = 1;
    for (int i = 0; i < 4; i++) {
        offset->shape[i] = shape[i];
        offset->n_elems *= shape[i];
    }
    tensor_fills(offset, SEED_OFFSET, (double)(s.h > s.w ? s.h : s.w) < 64 ? (double)(s.h > s.w ? s.h : s.w) : 64, 1.5);
    return n + 1;
}

static const struct template *const templates[] = {&deformable_im2col_gemm, &deformable_direct,
                                                   &deformable_im2col_tiled, &deformable_naive, NULL};

const struct operator_desc operator_deformable_conv2d = {
    .name = "deformable_conv2d",
    .summary = "2-D convolution whose window elements are shifted by offsets, between pixels",
    .formula = "y[n,k,p,q] = sum over c,r,s of sample(x[n,c], p*stride+r*dilation-pad+offset[n,b,p,q], "
               "q*stride+s*dilation-pad+offset[n,b+1,p,q]) * w[k,c,r,s], b = 2*((c*dg/C)*R*S+r*S+s)",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16,
    .check = check,
    .flops = conv_flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = deformable_reference,
    .templates = templates,
};

void deformable_define_shape(struct build *b, const struct conv_shape *s)
{
    conv_define_shape(b, s);
    build_define(b, "DG", workload_get(b->w, "deformable_groups"));
}
