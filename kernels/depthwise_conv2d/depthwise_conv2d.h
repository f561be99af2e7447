/* SPDX-License-Identifier: MIT */
/* depthwise_conv2d.h - this operator and its templates. */
#ifndef TUNE_KERNELS_DEPTHWISE_CONV2D_DEPTHWISE_CONV2D_H
#define TUNE_KERNELS_DEPTHWISE_CONV2D_DEPTHWISE_CONV2D_H

#include "kernels/conv/shape.h"
#include "kernels/template.h"

extern const struct operator_desc operator_depthwise_conv2d;
extern const struct template depthwise_naive, depthwise_tile, depthwise_direct, depthwise_shared, depthwise_channels;

#endif
