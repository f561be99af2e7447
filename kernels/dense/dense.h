/* SPDX-License-Identifier: MIT */
/* dense.h - what the files of this operator share. */
#ifndef TUNE_KERNELS_DENSE_DENSE_H
#define TUNE_KERNELS_DENSE_DENSE_H

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/epilogue.h"
#include "kernels/expect.h"
#include "kernels/gemm/gemm.h"
#include "kernels/operator.h"
#include "kernels/template.h"

#include <stdbool.h>
#include <stdint.h>

/* y[m,n] = sum over k of x[m,k] * w[n,k]. */
struct dense_shape {
    int64_t m, n, k;
};

struct dense_shape dense_shape_of(const struct workload *w);

/* What a template can do beyond f32 without an epilogue. */
enum { DENSE_F16 = 1, DENSE_I8 = 2, DENSE_EPILOGUE = 4, DENSE_BF16 = 8, DENSE_U8 = 16 };

/* ERR_UNSUPPORTED with words naming what this template (by its id) lacks for `w`. */
enum err dense_within(const char *template_id, unsigned caps, const struct workload *w, struct why *why);

/* The constants of gemm_space, then the lists. */
enum err dense_space(const struct workload *w, const struct device_desc *d, const struct build_knob *knobs,
                     const char *const (*quantities)[2], const char *const *constraints, struct space *s,
                     struct why *why);

/* Defines M N K. */
void dense_define_shape(struct build *b, const struct dense_shape *s);

/* Outputs of a group and its work-items along both axes, elements of k a step, parts of k. */
struct dense_tile {
    int64_t m, n, m_items, n_items, k, split;
};

/* What the default of a GPU takes the least of (tiles.c). */
double dense_tile_cost(const struct dense_shape *z, const struct device_desc *d, const struct dense_tile *t);

/* Makes `t` in the cheapest number of parts the best one where it costs less than `best` (m 0: there is none yet): of
 * 128 of k at least, and no more parts than give each multiprocessor its items. */
void dense_tile_try(const struct dense_shape *z, const struct device_desc *d, struct dense_tile t,
                    struct dense_tile *best);

/* Expected outputs from the definition (gemm/ref.c), in double. */
enum err dense_reference(const struct workload *w, enum exact_data data, struct expected *e);

/* Up to so many rows only templates of matrix times vector are good ones on CPUs. */
#define DENSE_GEMV_ROWS 4

/* A GPU, and fewer rows or columns than its tiles have at least: they compute twice what is needed and more. */
#define DENSE_FEW 16
bool dense_is_few(const struct workload *w, const struct device_desc *d);

extern const struct operator_desc operator_dense;
extern const struct template dense_naive, dense_gemv, dense_dense, dense_small_batch, dense_gemm_packed,
    dense_gemm_direct, dense_gemm_tiled, dense_i8, dense_i8_tile, dense_i8_amx;

#endif
