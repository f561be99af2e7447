/* SPDX-License-Identifier: MIT */
/* transform.h - this operator and its templates. */
#ifndef TUNE_KERNELS_TRANSFORM_TRANSFORM_H
#define TUNE_KERNELS_TRANSFORM_TRANSFORM_H

#include "core/err.h"
#include "kernels/conv/shape.h"
#include "kernels/glue/glue.h"
#include "kernels/template.h"

#include <stdbool.h>

/* Is one of two layouts nhwc, and is there something to turn around? One channel or one pixel lies alike in both. */
bool transform_is_turned(const struct workload *w);

/* x and y with their lanes; 1 and 1 where nhwc is from or to and nothing is turned around: a copy. */
struct conv_shape transform_shape(const struct workload *w);

/* A template's space: names of a convolution of such images, and `area`, the pixels of one. */
enum err transform_space(const struct workload *w, const struct device_desc *d, const struct build_knob *knobs,
                         const char *const (*quantities)[2], const char *const *constraints, struct space *s,
                         struct why *why);

extern const struct operator_desc operator_transform;
extern const struct template transform_lanes, transform_turned, transform_naive;

#endif
