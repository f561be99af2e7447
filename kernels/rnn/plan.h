/* SPDX-License-Identifier: MIT */
/* plan.h - what the two files of rnn/plan share: members of its template (kernels/template.h). */
#ifndef TUNE_KERNELS_RNN_PLAN_H
#define TUNE_KERNELS_RNN_PLAN_H

#include "core/err.h"
#include "kernels/template.h"

#include <stdbool.h>

enum fit rnn_plan_fit(const struct workload *w, const struct device_desc *d, struct why *why);
enum err rnn_plan_space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why);
enum err rnn_plan_fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                           struct config *out);

/* Do groups compute tiles together (GPUs)? Else each work-item has its own. */
bool rnn_plan_is_tiled(const struct device_desc *d);

#endif
