/* SPDX-License-Identifier: MIT */
/* transform.h - this operator and its templates. */
#ifndef TUNE_KERNELS_TRANSFORM_TRANSFORM_H
#define TUNE_KERNELS_TRANSFORM_TRANSFORM_H

#include "kernels/conv/shape.h"
#include "kernels/glue/glue.h"
#include "kernels/template.h"

/* x and y with their lanes. */
struct conv_shape transform_shape(const struct workload *w);

extern const struct operator_desc operator_transform;
extern const struct template transform_lanes, transform_naive;

#endif
