#include "kernels/gemm/gemm.h"

#define MAX_ELEMS (((int64_t)1 << 31) - 1)

enum err gemm_space(const struct workload *w, const struct gemm_shape *z, const struct device_desc *d,
                    const struct build_knob *knobs, const char *const (*quantities)[2], const char *const *constraints,
                    struct space *s, struct why *why)
{
    const struct build_named constants[] = {{"size_b", (double)z->b},
                                            {"size_m", (double)z->m},
                                            {"size_n", (double)z->n},
                                            {"size_k", (double)z->k},
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

void gemm_define_shape(struct build *b, const struct gemm_shape *z)
{
    build_defines(b, (const struct build_define[]){{"BATCH", z->b}, {"M", z->m}, {"N", z->n}, {"K", z->k}, {NULL, 0}});
}

static enum err check_elems(const char *op, const char *tensor, int64_t b, int64_t rows, int64_t columns,
                            struct why *why)
{
    if (rows <= MAX_ELEMS / columns && b <= MAX_ELEMS / (rows * columns))
        return ERR_OK;
    return why_set(why, ERR_LIMIT, "%s: %s of %lld x %lld x %lld has more than %lld elements", op, tensor, (long long)b,
                   (long long)rows, (long long)columns, (long long)MAX_ELEMS);
}

enum err gemm_check_elems(const char *op, const struct gemm_shape *z, struct why *why)
{
    enum err e = check_elems(op, "x", z->b, z->m, z->k, why);

    if (!e)
        e = check_elems(op, "w", z->b, z->n, z->k, why);
    return e ? e : check_elems(op, "y", z->b, z->m, z->n, why);
}
