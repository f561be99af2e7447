/* SPDX-License-Identifier: MIT */
/* Weights of 4 bits: two of a row in a byte, the first in its lower half; the blocks of a row one behind the other,
 * each as long as any, also where k ends within the last. */
#include "core/err.h"
#include "kernels/dense4/dense4.h"
#include "kernels/epilogue.h"
#include "kernels/expect.h"

#define MAX_SIZE ((int64_t)1 << 24)
#define MOST 15             /* of a weight of 4 bits */
#define MOST_EXACT_F16 2000 /* terms of sums that halves hold as they are */

static const struct operator_key keys[] = {
    {"m", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "rows of x and y: the batch"},
    {"n", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "output features"},
    {"k", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input features"},
    {"block", KEY_INT, false, 16, 256, 32, NULL, "weights of a row with one scale: 16, 32, 64, 128 or 256"},
    {"zeros", KEY_INT, false, 0, 1, 0, NULL, "1: each block has a zero point; 0: all are 8"},
    {"bytes", KEY_INT, false, 0, 1, 0, NULL, "1: x of each block is rounded to -127 .. 127 times a power of two"},
    {"epilogue", KEY_WORD, false, 0, 0, 0, epilogue_words, "what is applied to the sums"},
    {0},
};

int64_t dense4_blocks(const struct workload *w)
{
    return CEIL(workload_get(w, "k"), workload_get(w, "block"));
}

static bool has_zeros(const struct workload *w)
{
    return workload_get(w, "zeros") != 0;
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const int64_t block = workload_get(w, "block");
    enum err e = gemm_check_elems("dense4", &z, why);

    if (!e && (block & (block - 1)))
        e = why_set(why, ERR_INPUT, "dense4: expected block=16, 32, 64, 128 or 256, not block=%lld", (long long)block);
    return e ? e : epilogue_check(w, why);
}

static double flops(const struct workload *w)
{
    const struct gemm_shape z = gemm_shape_of(w);

    return 2.0 * (double)z.m * (double)z.n * (double)z.k;
}

static struct tensor tensor_of(const char *name, enum buffer_role role, enum dtype t, int64_t rows, int64_t columns)
{
    return (struct tensor){.name = name,
                           .role = role,
                           .dtype = t,
                           .n_dims = 2,
                           .shape = {rows, columns},
                           .n_elems = rows * columns,
                           .layout = role == ROLE_WEIGHT  ? "nk"
                                     : role == ROLE_INPUT ? "mk"
                                                          : "mn"};
}

/* Differences of numbers up to 15 are factors of the sums. */
static void fills(const struct workload *w, struct tensor *x, struct tensor *scale, struct tensor *weights)
{
    const struct gemm_shape z = gemm_shape_of(w);

    product_fills(x, scale, MOST * (double)z.k + 2, (double)z.n);
    scale->random.hi /= 4;
    byte_fills(weights, SEED_W + 100);
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct gemm_shape z = gemm_shape_of(w);
    const int64_t blocks = dense4_blocks(w);
    struct tensor *zero = has_zeros(w) ? &out[3] : NULL, *y = &out[zero ? 4 : 3];

    out[0] = tensor_of("x", ROLE_INPUT, w->dtype, z.m, z.k);
    out[1] = tensor_of("w_scale", ROLE_WEIGHT, w->dtype, z.n, blocks);
    out[2] = tensor_of("w", ROLE_WEIGHT, DTYPE_U8, z.n, blocks * workload_get(w, "block") / 2);
    fills(w, &out[0], &out[1], &out[2]);
    if (zero) {
        *zero = tensor_of("w_zero", ROLE_WEIGHT, DTYPE_U8, z.n, blocks);
        tensor_fills(zero, SEED_ZERO, MOST, 1);
        zero->exact.lo = zero->random.lo = 0;
    }
    *y = tensor_of("y", ROLE_OUTPUT, w->dtype, z.m, z.n);
    return epilogue_tensors(w, z.n, (double)z.k, y, out, (size_t)(y - out) + 1);
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const struct gemm_shape z = gemm_shape_of(w);

    (void)data;
    e->no_sums = e->no_sums || (w->dtype == DTYPE_F16 && z.k > MOST_EXACT_F16);
    return gemm_reference(w, &z, e);
}

void dense4_define(struct build *b)
{
    const struct gemm_shape z = gemm_shape_of(b->w);

    build_defines(b, (const struct build_define[]){{"M", z.m},
                                                   {"N", z.n},
                                                   {"K", z.k},
                                                   {"BLOCK", workload_get(b->w, "block")},
                                                   {"ZEROS", workload_get(b->w, "zeros")},
                                                   {"BYTES", workload_get(b->w, "bytes")},
                                                   {NULL, 0}});
}

enum err dense4_not(const char *id, bool bytes, const char *other, const struct workload *w,
                    const struct device_desc *d, struct why *why)
{
    if ((workload_get(w, "bytes") != 0) == bytes)
        return why_set(why, ERR_UNSUPPORTED, "%s does not compute bytes=%d: %s", id, bytes, other);
    return gemm_not_cuda(id, "dense4/naive", d, why);
}

void dense4_launch(struct build *b, const char *kernel, const int64_t grid[3], const int64_t block[3], int weights)
{
    build_last_launch(b, kernel, grid, block,
                      has_zeros(b->w) ? (const int[]){0, 1, weights, 3, -1} : (const int[]){0, 1, weights, -1});
}

static const struct template *const templates[] = {&dense4_streams, &dense4_panels, &dense4_naive, NULL};

const struct operator_desc operator_dense4 = {
    .name = "dense4",
    .summary = "fully connected layer whose weights have 4 bits, in blocks of one scale",
    .formula = "y[m,n] = sum over k of x[m,k] * (w[n,k] - w_zero[n,k/block]) * w_scale[n,k/block]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16,
    .check = check,
    .flops = flops,
    .flops_least = flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
