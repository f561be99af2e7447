/* SPDX-License-Identifier: MIT */
/* gemm.h - what the operators that are matrix products (dense, batch_gemm) share. */
#ifndef TUNE_KERNELS_GEMM_GEMM_H
#define TUNE_KERNELS_GEMM_GEMM_H

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/expect.h"
#include "kernels/operator.h"

#include <stdbool.h>
#include <stdint.h>

/* y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k]; row-major. */
struct gemm_shape {
    int64_t b, m, n, k;
};

/* Of the keys m n k and, where there is one, b. */
struct gemm_shape gemm_shape_of(const struct workload *w);

/* size_b size_m size_n size_k elem_bytes sum_bytes lanes max_group max_x max_y max_z max_local max_dynamic as
 * constants, then the lists. */
enum err gemm_space(const struct workload *w, const struct gemm_shape *z, const struct device_desc *d,
                    const struct build_knob *knobs, const char *const (*quantities)[2], const char *const *constraints,
                    struct space *s, struct why *why);

/* Defines BATCH M N K of the module added last. */
void gemm_define_shape(struct build *b, const struct gemm_shape *z);

/* ERR_UNSUPPORTED with words for devices of CUDA: `others` names the templates for them. */
enum err gemm_not_cuda(const char *template_id, const char *others, const struct device_desc *d, struct why *why);

/* Adds a word (runtime/cuda_arch.h) to what the program needs of its device; after build_module. */
void gemm_need(struct build *b, const char *word);

/* The launch of a kernel over the buffers `from` that writes y; with the knob split > 1 it writes part[split][m][n]
 * instead, and "<kernel>_add" (gemm/split.clh) y. One product, no batch. */
void gemm_launch(struct build *b, const struct gemm_shape *z, const char *kernel, const int64_t grid[3],
                 const int64_t block[3], const int from[2]);

/* Refuses tensors x, w, y of over 2^31-1 elements: ERR_LIMIT. */
enum err gemm_check_elems(const char *op, const struct gemm_shape *z, struct why *why);

/* Expected outputs from the definition (ref.c), in double, for tensors x, w, y and those of an epilogue. */
enum err gemm_reference(const struct workload *w, const struct gemm_shape *z, struct expected *e);

/* The form for CPUs (cpu.clh): its space, default config and launches. `packs_w`: w is packed in the timed run, by each
 * work-item, and not beforehand. */
enum err gemm_cpu_space(const struct workload *w, const struct gemm_shape *z, const struct device_desc *d, bool packs_w,
                        struct space *s, struct why *why);
enum err gemm_cpu_fallback(const struct gemm_shape *z, const struct device_desc *d, bool packs_w, const struct space *s,
                           struct config *out);
void gemm_cpu_program(struct build *b, const struct gemm_shape *z, const char *kernel_file, bool packs_w);

#endif
