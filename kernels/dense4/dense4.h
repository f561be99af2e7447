/* SPDX-License-Identifier: MIT */
/* dense4.h - this operator and its templates. Formulas and contract: docs/operators.md. */
#ifndef TUNE_KERNELS_DENSE4_DENSE4_H
#define TUNE_KERNELS_DENSE4_DENSE4_H

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/gemm/gemm.h"
#include "kernels/operator.h"
#include "kernels/template.h"

#include <stdbool.h>
#include <stdint.h>

/* The blocks of a row of k weights; the last one may be cut. */
int64_t dense4_blocks(const struct workload *w);

/* Defines M N K BLOCK ZEROS BYTES of the module added last. */
void dense4_define(struct build *b);

/* ERR_UNSUPPORTED with words: of a template for CPUs that leaves workloads of bytes=0, or 1, to another. */
enum err dense4_not(const char *template_id, bool bytes, const char *other, const struct workload *w,
                    const struct device_desc *d, struct why *why);

/* The launch that writes y over `x`, scales, weights and, where there are, zero points. `weights`: the buffer that they
 * are in, the operator's own or one that they were packed into. */
void dense4_launch(struct build *b, const char *kernel, const int64_t grid[3], const int64_t block[3], int weights);

extern const struct operator_desc operator_dense4;
extern const struct template dense4_streams, dense4_panels, dense4_naive;

#endif
