/* SPDX-License-Identifier: MIT */
/* reduce.h - this operator and its templates: one number out of those along an axis. */
#ifndef TUNE_KERNELS_REDUCE_REDUCE_H
#define TUNE_KERNELS_REDUCE_REDUCE_H

#include "kernels/build.h"
#include "kernels/template.h"

#include <stdbool.h>
#include <stdint.h>

/* Positions of the words of the key "kind"; kernels have them as KIND. */
enum reduce_kind {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_SUM_SQUARE,
    REDUCE_LOG_SUM,
    REDUCE_LOG_SUM_EXP
};

/* A launch of the module added last over both tensors, which has the defines of reduce/reduce.clh. */
void reduce_launch(struct build *b, const char *kernel, int64_t n_groups, const int64_t group[2]);

/* Are there finite results whatever the numbers? Not of products and logarithms. */
bool reduce_takes_any(const struct workload *w);

/* template->numerics. */
void reduce_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout);

extern const struct operator_desc operator_reduce;
extern const struct template reduce_rows, reduce_naive;

#endif
