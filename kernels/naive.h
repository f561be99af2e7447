/* SPDX-License-Identifier: MIT */
/* naive.h - what the baselines share: a space of one config, work-groups of 64. */
#ifndef TUNE_KERNELS_NAIVE_H
#define TUNE_KERNELS_NAIVE_H

#include "core/err.h"
#include "kernels/build.h"

#define NAIVE_GROUP 64 /* work-items */

/* template->space: the knob wg with one value, NAIVE_GROUP or what the device allows. */
enum err naive_space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why);

/* template->fallback: that config. */
enum err naive_fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                        struct config *out);

/* template->fit of an operator whose baseline computes every workload of it. */
enum fit naive_fit(const struct workload *w, const struct device_desc *d, struct why *why);

#endif
