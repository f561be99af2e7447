/* SPDX-License-Identifier: MIT */
/* cost.h - what templates are expected to take before anything was measured: a model that scripts/template_costs.py
 * learnt from records of `tune run` (kernels/cost_list.h). */
#ifndef TUNE_KERNELS_COST_H
#define TUNE_KERNELS_COST_H

#include "kernels/template.h"

#include <stddef.h>

#define OPERATOR_MAX_TEMPLATES 32

/* Natural logarithm of the nanoseconds that the template's default is expected to take; NAN: nothing was learnt of it
 * on this class of device, or the workload is not of floats or halves. To be held against other templates' for the same
 * workload. */
double template_cost(const struct template *t, const struct workload *w, const struct device_desc *d);

/* All templates of the workload's operator in the order in which they are to be tried: by their fit, and among those
 * that fit equally well by their cost, or as the operator lists them where the cost of one is not known. Gives their
 * number. */
size_t templates_in_order(const struct workload *w, const struct device_desc *d,
                          const struct template *out[OPERATOR_MAX_TEMPLATES]);

#endif
