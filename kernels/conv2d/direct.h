/* SPDX-License-Identifier: MIT */
/* direct.h - what the templates of direct convolution on CPUs share. */
#ifndef TUNE_KERNELS_CONV2D_DIRECT_H
#define TUNE_KERNELS_CONV2D_DIRECT_H

#include "kernels/conv/shape.h"

/* The sizes of `w`; 1x1 windows that step over every pixel see one long row (h = p = 1): no edges within the image. */
struct conv_shape direct_flat_shape(const struct workload *w);

#endif
