/* SPDX-License-Identifier: MIT */
/* add.h - this operator and its templates. */
#ifndef TUNE_KERNELS_ADD_ADD_H
#define TUNE_KERNELS_ADD_ADD_H

#include "kernels/glue/glue.h"
#include "kernels/template.h"

#include <stdint.h>

/* Elements of y. */
int64_t add_elems(const struct workload *w);

/* A launch of the module added last over all tensors, which has the defines of add/add.clh: N, RELU. */
void add_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group);

extern const struct operator_desc operator_add;
extern const struct template add_stream, add_naive;

#endif
