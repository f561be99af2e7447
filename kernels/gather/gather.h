/* SPDX-License-Identifier: MIT */
/* gather.h - this operator and its templates: rows of a table by their numbers. */
#ifndef TUNE_KERNELS_GATHER_GATHER_H
#define TUNE_KERNELS_GATHER_GATHER_H

#include "kernels/build.h"
#include "kernels/template.h"

#include <stdint.h>

/* The module added last gets the defines of gather/gather.clh, and a launch over x, at and y. */
void gather_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group);

extern const struct operator_desc operator_gather;
extern const struct template gather_rows, gather_naive;

#endif
