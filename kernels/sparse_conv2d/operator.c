/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "core/hash.h"
#include "kernels/epilogue.h"
#include "kernels/conv/ref.h"
#include "kernels/sparse_conv2d/sparse.h"
#include "kernels/sparse_conv2d/weights.h"

#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 2e-6 /* of numerics_of for f32 */
#define DEFAULT_SEED 1
#define MAX_BOUND 255 /* drawn weights: multiples of 1/64 up to this many */

static const struct operator_key keys[] = {
    CONV_INPUT_KEYS,
    CONV_K_KEY,
    CONV_WINDOW_KEYS,
    CONV_GROUPS_KEY,
    CONV_EPILOGUE_KEY,
    CONV_KEY("sparsity", KEY_FRACTION, false, 1, 999999, 0, NULL, "part of the weights that is 0, drawn from the seed"),
    CONV_KEY("seed", KEY_INT, false, 0, IMAGES_MAX_SIZE, DEFAULT_SEED, NULL, "of the drawn weights"),
    CONV_KEY("weights", KEY_HASH, false, 0, 0, 0, NULL, "a .npy file, or sha256: and its name in the store"),
    {0}};

static bool from_file(const struct workload *w)
{
    return workload_get(w, "weights") || workload_part(w, "weights", 1) || workload_part(w, "weights", 2) ||
           workload_part(w, "weights", 3);
}

static void hash_name(const struct workload *w, char hex[65])
{
    int64_t v[4];

    for (int i = 0; i < 4; i++)
        v[i] = workload_part(w, "weights", i);
    workload_hash_text(v, hex);
}

int64_t sparse_n_weights(const struct conv_shape *z)
{
    return z->k * (z->c / z->groups) * z->r * z->s;
}

int64_t sparse_n_kept(int64_t n, int64_t millionths)
{
    return (int64_t)(((__int128)n * (1000000 - millionths) + 500000) / 1000000);
}

/* Multiples of 1/64 so small that the sums of the exact pass stay whole in f32
 * (in units of 1/64) and their projections in a double. */
static int64_t draw_bound(const struct conv_shape *z)
{
    const double terms = conv_terms(z) + 2;
    int64_t bound = MAX_BOUND;

    while (bound > 1 && (terms * (double)bound > 16777216.0 ||
                         terms * (double)bound * (double)z->k * 1048576.0 >= 9007199254740992.0))
        bound /= 2;
    return bound;
}

enum err sparse_weights(const struct workload *w, float **out, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t n = sparse_n_weights(&z);
    char hex[65];

    if (from_file(w)) {
        hash_name(w, hex);
        return weights_get(hex, n, out, why);
    }
    *out = malloc((size_t)n * sizeof **out);
    if (!*out)
        return ERR_NOMEM;
    weights_draw((uint64_t)workload_get(w, "seed"), n, sparse_n_kept(n, workload_get(w, "sparsity")), draw_bound(&z),
                 *out);
    return ERR_OK;
}

static bool is_set(float v)
{
    return v < 0 || v > 0;
}

int64_t sparse_nnz(const struct workload *w)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t n = sparse_n_weights(&z);
    int64_t nnz = 0;
    float *values;

    if (!from_file(w))
        return sparse_n_kept(n, workload_get(w, "sparsity"));
    if (sparse_weights(w, &values, NULL))
        return -1;
    for (int64_t i = 0; i < n; i++)
        nnz += is_set(values[i]);
    free(values);
    return nnz;
}

static enum err list_alloc(struct sparse_list *l, int64_t k)
{
    l->row = calloc((size_t)k + 1, sizeof *l->row);
    l->c = calloc((size_t)l->nnz + 1, sizeof *l->c);
    l->r = calloc((size_t)l->nnz + 1, sizeof *l->r);
    l->s = calloc((size_t)l->nnz + 1, sizeof *l->s);
    l->value = calloc((size_t)l->nnz + 1, sizeof *l->value);
    return l->row && l->c && l->r && l->s && l->value ? ERR_OK : ERR_NOMEM;
}

static void list_fill(struct sparse_list *l, const struct conv_shape *z, const float *values)
{
    const int64_t cg = z->c / z->groups, per_k = cg * z->r * z->s;
    int64_t n = 0;

    for (int64_t k = 0; k < z->k; k++) {
        for (int64_t i = 0; i < per_k; i++)
            if (is_set(values[k * per_k + i])) {
                l->c[n] = (int32_t)(k / (z->k / z->groups) * cg + i / (z->r * z->s));
                l->r[n] = (int32_t)(i / z->s % z->r);
                l->s[n] = (int32_t)(i % z->s);
                l->value[n++] = values[k * per_k + i];
            }
        l->row[k + 1] = n;
    }
    assert(n == l->nnz);
}

enum err sparse_list_make(const struct workload *w, struct sparse_list *out, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    struct sparse_list l = {.nnz = 0};
    float *values;
    enum err e = sparse_weights(w, &values, why);

    if (e)
        return e;
    for (int64_t i = 0; i < sparse_n_weights(&z); i++)
        l.nnz += is_set(values[i]);
    e = list_alloc(&l, z.k);
    if (e)
        sparse_list_fini(&l);
    else
        list_fill(&l, &z, values);
    free(values);
    if (!e)
        *out = l;
    return e;
}

void sparse_list_fini(struct sparse_list *l)
{
    free(l->row);
    free(l->c);
    free(l->r);
    free(l->s);
    free(l->value);
    *l = (struct sparse_list){.nnz = 0};
}

int sparse_buffer(struct build *b, const char *id, enum dtype t, int64_t n_elems, const void *bytes)
{
    const int i = build_buffer(b, id, ROLE_PACKED, t, n_elems);
    struct program_fill *fill = i < 0 ? NULL : &b->p->buffers[i].fill;

    if (!fill)
        return -1;
    *fill = (struct program_fill){.kind = FILL_BLOB};
    b->e = blobs_put(b->blobs, bytes, (size_t)n_elems * dtype_bytes(t), &fill->blob);
    return i;
}

static enum err check_weights(const struct workload *w, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t n = sparse_n_weights(&z), sparsity = workload_get(w, "sparsity");
    char hex[65];

    if (from_file(w) == (sparsity > 0))
        return why_set(why, ERR_INPUT,
                       "sparse_conv2d: expected either sparsity=, a number between 0 and 1, or weights=%s",
                       sparsity > 0 ? ", not both" : "");
    if (from_file(w) && workload_get(w, "seed") != DEFAULT_SEED)
        return why_set(why, ERR_INPUT, "sparse_conv2d: seed= is for weights drawn by sparsity=, not for weights=");
    if (from_file(w)) {
        hash_name(w, hex);
        return weights_look(hex, n, why);
    }
    if (sparse_n_kept(n, sparsity) < 1)
        return why_set(why, ERR_INPUT, "sparse_conv2d: none of the %lld weights is left at this sparsity",
                       (long long)n);
    return ERR_OK;
}

static enum err check(const struct workload *w, struct why *why)
{
    enum err e = conv_check(w, why);

    return e ? e : check_weights(w, why);
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct conv_shape s = conv_shape_of(w);
    const double terms = conv_terms(&s), bound = from_file(w) ? 7 : (double)draw_bound(&s);
    double x = 7;
    struct tensor weights;
    size_t n = conv_tensors(w, out);

    weights = out[1];
    for (size_t i = 1; i + 1 < n; i++)
        out[i] = out[i + 1];
    while (x > 1 &&
           (terms * x * bound > 16777216.0 || terms * x * bound * (double)s.k * 1048576.0 >= 9007199254740992.0))
        x--;
    product_fills(&out[0], &weights, terms + 2, (double)s.k);
    out[0].exact.lo = -x;
    out[0].exact.hi = x;
    if (epilogue_unit(w) > 1) /* the weights are no tensor */
        out[0].exact.step = epilogue_unit(w);
    return n - 1;
}

static double bytes_min(const struct workload *w)
{
    return operator_bytes_min(w) + 4.0 * (double)sparse_nnz(w);
}

static double flops_effective(const struct workload *w)
{
    const struct conv_shape s = conv_shape_of(w);

    return 2.0 * (double)sparse_nnz(w) * (double)(s.n * s.p) * (double)s.q;
}

/* As if all weights stood where most products fall on padding. */
static double flops_least(const struct workload *w)
{
    const struct conv_shape s = conv_shape_of(w);
    const int64_t past_h = s.top + s.bottom, past_w = s.left + s.right;
    const int64_t p = s.p > past_h ? s.p - past_h : 0, q = s.q > past_w ? s.q - past_w : 0;

    return 2.0 * (double)sparse_nnz(w) * (double)(s.n * p) * (double)q;
}

/* Devices may flush products and sums below the smallest normal number to 0: each may lose that much, whatever the
 * tolerance says of weights so small. */
static void allow_flushing(double terms, struct expected_output *o)
{
    for (size_t i = 0; i < o->n_random; i++)
        o->scale[i] += 2 * terms * FLT_MIN / TOLERANCE;
}

/* Integer x and weights in 64ths give sums that are exact in f32; weights of a
 * file do not: only the random pass. */
static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const struct conv_shape s = conv_shape_of(w);
    struct conv_data exact = {0}, random = {0};
    enum err failed = ERR_OK;

    (void)data;
    e->has_exact = e->has_exact && !from_file(w);
    e->all = e->mode == EXPECT_WIDE;
    if (e->has_exact)
        failed = conv_data_make(e, &s, true, &exact);
    if (!failed && e->has_exact)
        failed = sparse_weights(w, &exact.w, NULL);
    if (!failed)
        failed = conv_data_make(e, &s, false, &random);
    if (!failed)
        failed = sparse_weights(w, &random.w, NULL);
    if (!failed)
        failed = conv_reference_of(w, &exact, &random, e);
    if (!failed && from_file(w))
        allow_flushing(conv_terms(&s), &e->outputs[0]);
    conv_data_fini(&exact);
    conv_data_fini(&random);
    return failed;
}

static const struct template *const templates[] = {&sparse_conv2d_unrolled,
                                                   &sparse_conv2d_generated,
                                                   &sparse_conv2d_csr,
                                                   &sparse_conv2d_dense_direct,
                                                   &sparse_conv2d_dense_gemm,
                                                   &sparse_conv2d_naive,
                                                   NULL};

const struct operator_desc operator_sparse_conv2d = {
    .name = "sparse_conv2d",
    .summary = "2-D convolution whose weights, mostly zeros, are known when "
               "the kernel is built",
    .formula = "y[n,k,p,q] = sum over the c,r,s with w[k,c,r,s] != 0 of "
               "x[n,c,p*stride+r*dilation-pad,..] * w[k,c,r,s]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32,
    .check = check,
    .flops = conv_flops,
    .flops_effective = flops_effective,
    .flops_least = flops_least,
    .bytes_min = bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
