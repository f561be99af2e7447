#include "kernels/build.h"
#include "kernels/dense/dense.h"

#define MAX_SIZE ((int64_t)1 << 24)
#define MAX_ELEMS (((int64_t)1 << 31) - 1)

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

static enum err check_elems(const char *tensor, int64_t a, int64_t b, struct why *why)
{
    if (a > MAX_ELEMS / b)
        return why_set(why, ERR_LIMIT, "dense: %s of %lld x %lld has more than %lld elements", tensor, (long long)a,
                       (long long)b, (long long)MAX_ELEMS);
    return ERR_OK;
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct dense_shape s = dense_shape_of(w);
    enum err e = check_elems("x", s.m, s.k, why);

    if (!e)
        e = check_elems("w", s.n, s.k, why);
    if (!e)
        e = check_elems("y", s.m, s.n, why);
    return e ? e : epilogue_check(w, why);
}

enum err dense_within(const char *id, unsigned caps, const struct workload *w, struct why *why)
{
    if ((w->dtype == DTYPE_F16 && !(caps & DENSE_F16)) || (w->dtype == DTYPE_I8 && !(caps & DENSE_I8)))
        return why_set(why, ERR_UNSUPPORTED, "%s does not compute dtype %s", id, dtype_name(w->dtype));
    if (epilogue_of(w) && !(caps & DENSE_EPILOGUE))
        return why_set(why, ERR_UNSUPPORTED, "%s computes epilogue=none, not epilogue=%s", id,
                       epilogue_words[epilogue_of(w)]);
    return ERR_OK;
}

enum err dense_space(const struct workload *w, const struct device_desc *d, const struct build_knob *knobs,
                     const char *const (*quantities)[2], const char *const *constraints, struct space *s,
                     struct why *why)
{
    const struct dense_shape z = dense_shape_of(w);
    const struct build_named constants[] = {{"size_m", (double)z.m},
                                            {"size_n", (double)z.n},
                                            {"size_k", (double)z.k},
                                            {"elem_bytes", (double)dtype_bytes(w->dtype)},
                                            {"sum_bytes", sums_in_half(w, d) ? 2.0 : 4.0},
                                            {"lanes", (double)build_vector(d)},
                                            {"max_group", (double)build_max_group(d)},
                                            {"max_x", (double)build_max_side(d, 0)},
                                            {"max_y", (double)build_max_side(d, 1)},
                                            {"max_z", (double)build_max_side(d, 2)},
                                            {"max_local", (double)build_max_local(d)},
                                            {NULL, 0}};

    return build_space(s, constants, knobs, quantities, constraints, why);
}

void dense_define_shape(struct build *b, const struct dense_shape *s)
{
    build_defines(b, (const struct build_define[]){{"M", s->m}, {"N", s->n}, {"K", s->k}, {NULL, 0}});
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
    out[1] = (struct tensor){"w", ROLE_WEIGHT, w->dtype, 2, {s.n, s.k}, s.n * s.k, "nk", {0}, {0}};
    out[2] = (struct tensor){"y", ROLE_OUTPUT, epilogue_output_dtype(w), 2, {s.m, s.n}, s.m * s.n, "mn", {0}, {0}};
    product_fills(&out[0], &out[1], (double)s.k + 2, (double)s.n);
    return epilogue_tensors(w, s.n, (double)s.k, &out[2], out, 3);
}

static const struct template *const templates[] = {&dense_gemm_packed, &dense_gemm_direct, &dense_naive, NULL};

const struct operator operator_dense = {
    .name = "dense",
    .summary = "fully connected layer, a matrix product with transposed weights",
    .formula = "y[m,n] = sum over k of x[m,k] * w[n,k]",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_I8,
    .check = check,
    .flops = flops,
    .bytes_min = bytes_min,
    .tensors = tensors,
    .reference = dense_reference,
    .templates = templates,
};
