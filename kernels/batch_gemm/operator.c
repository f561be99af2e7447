/* SPDX-License-Identifier: MIT */
#include "kernels/batch_gemm/batch_gemm.h"

#include "core/err.h"
#include "kernels/gemm/mma.h"
#include "kernels/gemm/wgmma.h"

#include "kernels/expect.h"

#define MAX_SIZE ((int64_t)1 << 24)

static const char *const accs[] = {"f32", "f16", NULL};

static const struct operator_key keys[] = {
    {"b", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "batch: independent products"},
    {"m", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "rows of x and y"},
    {"n", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "rows of w, columns of y"},
    {"k", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "terms of a sum"},
    {"acc", KEY_WORD, false, 0, 0, 0, accs, "type of the sums"},
    {0},
};

static enum err check(const struct workload *w, struct why *why)
{
    const struct gemm_shape z = gemm_shape_of(w);

    return gemm_check_elems("batch_gemm", &z, why);
}

static double flops(const struct workload *w)
{
    const struct gemm_shape z = gemm_shape_of(w);

    return 2.0 * (double)z.b * (double)z.m * (double)z.n * (double)z.k;
}

static enum dtype output_dtype(const struct workload *w)
{
    return w->dtype == DTYPE_I8 ? DTYPE_I32 : w->dtype;
}

static double bytes_min(const struct workload *w)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const double inputs = (double)(z.m + z.n) * (double)z.k * (double)dtype_bytes(w->dtype);

    return (double)z.b * (inputs + (double)(z.m * z.n) * (double)dtype_bytes(output_dtype(w)));
}

/* Both factors are activations: neither can be packed beforehand. */
static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct gemm_shape z = gemm_shape_of(w);

    out[0] = (struct tensor){"x", ROLE_INPUT, w->dtype, 3, {z.b, z.m, z.k}, z.b * z.m * z.k, "bmk", {0}, {0}};
    out[1] = (struct tensor){"w", ROLE_INPUT, w->dtype, 3, {z.b, z.n, z.k}, z.b * z.n * z.k, "bnk", {0}, {0}};
    out[2] = (struct tensor){"y", ROLE_OUTPUT, output_dtype(w), 3, {z.b, z.m, z.n}, z.b * z.m * z.n, "bmn", {0}, {0}};
    product_fills(&out[0], &out[1], (double)z.k, (double)z.n);
    return 3;
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const struct gemm_shape z = gemm_shape_of(w);

    (void)data;
    return gemm_reference(w, &z, e);
}

static const struct template *const templates[] = {&batch_gemm_packed, &batch_gemm_tiled, &batch_gemm_wgmma,
                                                   &batch_gemm_mma,    &batch_gemm_naive, NULL};

const struct operator_desc operator_batch_gemm = {
    .name = "batch_gemm",
    .summary = "a batch of independent matrix products, the second factor transposed",
    .formula = "y[b,m,n] = sum over k of x[b,m,k] * w[b,n,k]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_BF16 | 1u << DTYPE_I8,
    .check = check,
    .flops = flops,
    .flops_least = flops,
    .bytes_min = bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
