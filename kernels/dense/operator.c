#include "kernels/build.h"
#include "kernels/dense/dense.h"

#define MAX_SIZE ((int64_t)1 << 24)
#define MAX_ELEMS (((int64_t)1 << 31) - 1)

static const char *const accs[] = {"f32", "f16", NULL};
static const char *const epilogues[] = {"none", "bias", "relu", "bias_relu", NULL};

static const struct operator_key keys[] = {
    {"m", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "rows of x and y: the batch"},
    {"n", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "output features"},
    {"k", KEY_INT, true, 1, MAX_SIZE, 0, NULL, "input features"},
    {"acc", KEY_WORD, false, 0, 0, 0, accs, "type of the sums"},
    {"epilogue", KEY_WORD, false, 0, 0, 0, epilogues, "what is applied to the sums"},
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
    return e ? e : check_elems("y", s.m, s.n, why);
}

enum err dense_supported(const struct workload *w, struct why *why)
{
    if (w->dtype != DTYPE_F32)
        return why_set(why, ERR_UNSUPPORTED, "dense: dtype %s cannot be tuned yet, only f32", dtype_name(w->dtype));
    if (workload_get(w, "acc") != 0)
        return why_set(why, ERR_UNSUPPORTED, "dense: acc=f16 cannot be tuned yet, only acc=f32");
    if (workload_get(w, "epilogue") != 0)
        return why_set(why, ERR_UNSUPPORTED, "dense: epilogue=%s cannot be tuned yet, only epilogue=none",
                       epilogues[workload_get(w, "epilogue")]);
    return ERR_OK;
}

enum err dense_define_shape(struct program_module *m, const struct dense_shape *s)
{
    return build_defines(m, (const struct build_define[]){{"M", s->m}, {"N", s->n}, {"K", s->k}, {NULL, 0}});
}

static double flops(const struct workload *w)
{
    const struct dense_shape s = dense_shape_of(w);

    return 2.0 * (double)s.m * (double)s.n * (double)s.k;
}

static double bytes_min(const struct workload *w)
{
    const struct dense_shape s = dense_shape_of(w);

    return (double)(s.m * s.k + s.n * s.k + s.m * s.n) * (double)dtype_bytes(w->dtype);
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct dense_shape s = dense_shape_of(w);
    const enum dtype sums = w->dtype == DTYPE_I8 ? DTYPE_I32 : w->dtype;

    out[0] = (struct tensor){"x", ROLE_INPUT, w->dtype, 2, {s.m, s.k}, s.m * s.k, "mk"};
    out[1] = (struct tensor){"w", ROLE_WEIGHT, w->dtype, 2, {s.n, s.k}, s.n * s.k, "nk"};
    out[2] = (struct tensor){"y", ROLE_OUTPUT, sums, 2, {s.m, s.n}, s.m * s.n, "mn"};
    return 3;
}

static enum err expect(const struct workload *w, double tolerance, struct program *p, struct blobs *blobs)
{
    return expect_passes(w, tolerance, dense_reference, p, blobs);
}

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
    .expect = expect,
};
