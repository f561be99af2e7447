/* SPDX-License-Identifier: MIT */
#include "kernels/gemm/gemm.h"

#include "core/err.h"
#include "runtime/cuda_arch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MAX_ELEMS (((int64_t)1 << 31) - 1)

struct gemm_shape gemm_shape_of(const struct workload *w)
{
    return (struct gemm_shape){workload_has(w, "b") ? workload_get(w, "b") : 1, workload_get(w, "m"),
                               workload_get(w, "n"), workload_get(w, "k")};
}

/* Local memory of a group when a launch asks for it (`dyn_local`): more than build_max_local on CUDA devices. */
static int64_t max_dynamic(const struct device_desc *d)
{
    return d->sm ? d->local_max_bytes : build_max_local(d);
}

enum err gemm_not_cuda(const char *id, const char *others, const struct device_desc *d, struct why *why)
{
    if (kernel_lang(d) != LANG_CUDA_C)
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "%s is a form for CPUs, with one work-item a group; on CUDA: %s", id, others);
}

void gemm_need(struct build *b, const char *word)
{
    const size_t n = strlen(b->p->extensions);

    assert(n + 1 + strlen(word) < sizeof b->p->extensions);
    if (!b->e)
        snprintf(b->p->extensions + n, sizeof b->p->extensions - n, "%s%s", n ? " " : "", word);
}

void gemm_launch(struct build *b, const struct gemm_shape *z, const char *kernel, const int64_t grid[3],
                 const int64_t block[3], const int from[2])
{
    static const int64_t add[] = {64, 1, 1};
    const int64_t split = build_int(b, "split"), sums = z->m * z->n;
    char name[64];
    int part;

    assert(split >= 1 && grid[0] % split == 0);
    if (split == 1) {
        build_last_launch(b, kernel, grid, block, (const int[]){from[0], from[1], -1});
        return;
    }
    part = build_buffer(b, "part", ROLE_SCRATCH, build_sums(b), split * sums);
    snprintf(name, sizeof name, "%s_add", kernel);
    build_launch(b, PHASE_RUN, kernel, grid, block, (const int[]){from[0], from[1], part, -1});
    build_last_launch(b, name, (const int64_t[]){CEIL(sums, 64), 1, 1}, add, (const int[]){part, -1});
}

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
                                            {"max_dynamic", (double)max_dynamic(d)},
                                            {NULL, 0}};

    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

void gemm_define_shape(struct build *b, const struct gemm_shape *z)
{
    build_defines(b, (const struct build_define[]){{"BATCH", z->b}, {"M", z->m}, {"N", z->n}, {"K", z->k}, {NULL, 0}});
}

static enum err check_elems(const char *op, const char *tensor, int64_t b, int64_t rows, int64_t columns,
                            struct why *why)
{
    assert(b > 0 && rows > 0 && columns > 0);
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
