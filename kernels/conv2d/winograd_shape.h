/* SPDX-License-Identifier: MIT */
/* winograd_shape.h - what the templates of Winograd's convolution share: what they compute, and how exactly. */
#ifndef TUNE_KERNELS_CONV2D_WINOGRAD_SHAPE_H
#define TUNE_KERNELS_CONV2D_WINOGRAD_SHAPE_H

#include "core/err.h"
#include "kernels/conv/shape.h"
#include "kernels/template.h"

/* Windows of 3 x 3, stride and dilation 1, pad up to 2, one group, f32 or f16, `caps` of conv_within. ERR_UNSUPPORTED
 * with words that begin with the template's id. */
enum err winograd_within(const char *id, unsigned caps, const struct workload *w, struct why *why);

/* template->numerics of spaces with the knob `m`: class "...-winograd2" or "...-winograd4", its data and tolerance. */
void winograd_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout);

#endif
