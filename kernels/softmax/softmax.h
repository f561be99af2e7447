/* SPDX-License-Identifier: MIT */
/* softmax.h - this operator and its templates. */
#ifndef TUNE_KERNELS_SOFTMAX_SOFTMAX_H
#define TUNE_KERNELS_SOFTMAX_SOFTMAX_H

#include "kernels/glue/glue.h"
#include "kernels/template.h"

#include <stdint.h>

/* A launch of the module added last over all tensors, which has the defines of softmax/softmax.clh: M, N; groups of
 * group[0] x group[1]. */
void softmax_launch(struct build *b, const char *kernel, int64_t n_groups, const int64_t group[2]);

/* template->numerics: classes of their own, of relative errors. */
void softmax_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout);

extern const struct operator_desc operator_softmax;
extern const struct template softmax_rows, softmax_naive;

#endif
