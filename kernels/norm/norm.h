/* SPDX-License-Identifier: MIT */
/* norm.h - this operator and its templates. Formulas and contract: docs/operators.md. */
#ifndef TUNE_KERNELS_NORM_NORM_H
#define TUNE_KERNELS_NORM_NORM_H

#include "kernels/build.h"
#include "kernels/operator.h"
#include "kernels/template.h"

#include <stdbool.h>
#include <stdint.h>

/* kind=layer: rows have a mean and a bias; else kind=rms. */
bool norm_is_layer(const struct workload *w);

/* A launch of the module added last over all tensors, which has the defines of norm/norm.clh; groups of group[0] x
 * group[1]. */
void norm_launch(struct build *b, const char *kernel, int64_t n_groups, const int64_t group[2]);

/* template->numerics: classes of their own. */
void norm_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout);

extern const struct operator_desc operator_norm;
extern const struct template norm_rows, norm_naive;

#endif
