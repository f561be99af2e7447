/* SPDX-License-Identifier: MIT */
/* concat.h - this operator and its templates. */
#ifndef TUNE_KERNELS_CONCAT_CONCAT_H
#define TUNE_KERNELS_CONCAT_CONCAT_H

#include "kernels/glue/glue.h"
#include "kernels/template.h"

#include <stdint.h>

/* Elements of y. */
int64_t concat_elems(const struct workload *w);

/* A launch of the module added last over all tensors, which has the defines of concat/concat.clh: N, A, B. */
void concat_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group);

extern const struct operator_desc operator_concat;
extern const struct template concat_stream, concat_naive;

#endif
