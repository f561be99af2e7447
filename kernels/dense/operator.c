/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/dense/dense.h"

#include "kernels/gemm/mma.h"
#include "kernels/gemm/wgmma.h"

#define MAX_SIZE ((int64_t)1 << 24)

static const char *const accs[] = {"f32", "f16", NULL};

static const struct operator_key keys[] = {
    {"m", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "rows of x and y: the batch"},
    {"n", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "output features"},
    {"k", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input features"},
    {"acc", KEY_WORD, false, 0, 0, 0, accs, "type of the sums"},
    {"epilogue", KEY_WORD, false, 0, 0, 0, epilogue_words, "what is applied to the sums"},
    {0},
};

struct dense_shape dense_shape_of(const struct workload *w)
{
    return (struct dense_shape){workload_get(w, "m"), workload_get(w, "n"), workload_get(w, "k")};
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct gemm_shape z = gemm_shape_of(w);
    const enum err e = gemm_check_elems("dense", &z, why);

    return e ? e : epilogue_check(w, why);
}

enum err dense_within(const char *id, unsigned caps, const struct workload *w, struct why *why)
{
    if ((w->dtype == DTYPE_BF16 && !(caps & DENSE_BF16)) || (w->dtype == DTYPE_F16 && !(caps & DENSE_F16)) ||
        (w->dtype == DTYPE_I8 && !(caps & DENSE_I8)) || (w->dtype == DTYPE_U8 && !(caps & DENSE_U8)))
        return why_set(why, ERR_UNSUPPORTED, "%s does not compute dtype %s", id, dtype_name(w->dtype));
    if (epilogue_of(w) && !(caps & DENSE_EPILOGUE))
        return why_set(why, ERR_UNSUPPORTED, "%s computes epilogue=none, not epilogue=%s", id,
                       epilogue_word(epilogue_of(w)));
    return ERR_OK;
}

enum err dense_space(const struct workload *w, const struct device_desc *d, const struct build_knob *knobs,
                     const char *const (*quantities)[2], const char *const *constraints, struct space *s,
                     struct why *why)
{
    const struct gemm_shape z = gemm_shape_of(w);

    return gemm_space(w, &z, d, knobs, quantities, constraints, s, why);
}

void dense_define_shape(struct build *b, const struct dense_shape *s)
{
    build_defines(b, (const struct build_define[]){{"M", s->m}, {"N", s->n}, {"K", s->k}, {NULL, 0}});
}

enum err dense_reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const struct gemm_shape z = gemm_shape_of(w);

    (void)data;
    return gemm_reference(w, &z, e);
}

static double flops(const struct workload *w)
{
    const struct dense_shape s = dense_shape_of(w);

    return 2.0 * (double)s.m * (double)s.n * (double)s.k;
}

static double bytes_min(const struct workload *w)
{
    const struct dense_shape s = dense_shape_of(w);
    const double inputs = (double)(s.m * s.k + s.n * s.k) * (double)dtype_bytes(w->dtype);

    return inputs + (double)(s.m * s.n) * (double)dtype_bytes(epilogue_output_dtype(w));
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct dense_shape s = dense_shape_of(w);

    out[0] = (struct tensor){"x", ROLE_INPUT, w->dtype, 2, {s.m, s.k}, s.m * s.k, "mk", {0}, {0}};
    out[1] = (struct tensor){"w", ROLE_WEIGHT, dtype_of_weights(w->dtype), 2, {s.n, s.k}, s.n * s.k, "nk", {0}, {0}};
    out[2] = (struct tensor){"y", ROLE_OUTPUT, epilogue_output_dtype(w), 2, {s.m, s.n}, s.m * s.n, "mn", {0}, {0}};
    product_fills(&out[0], &out[1], (double)s.k + 2, (double)s.n);
    return epilogue_tensors(w, s.n, (double)s.k, &out[2], out, 3);
}

static const struct template *const templates[] = {&dense_gemm_packed,
                                                   &dense_gemv,
                                                   &dense_gemm_tiled,
                                                   &dense_gemm_direct,
                                                   &dense_small_batch,
                                                   &dense_dense,
                                                   &dense_i8_amx,
                                                   &dense_i8_tile,
                                                   &dense_i8,
                                                   &dense_wgmma,
                                                   &dense_mma,
                                                   &dense_naive,
                                                   NULL};

const struct operator_desc operator_dense = {
    .name = "dense",
    .summary = "fully connected layer, a matrix product with transposed weights",
    .formula = "y[m,n] = sum over k of x[m,k] * w[n,k]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_BF16 | 1u << DTYPE_I8 | 1u << DTYPE_U8,
    .check = check,
    .flops = flops,
    .flops_least = flops,
    .bytes_min = bytes_min,
    .tensors = tensors,
    .reference = dense_reference,
    .templates = templates,
};
