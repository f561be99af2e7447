/* SPDX-License-Identifier: MIT */
/* dot.h - the knob `dot`: with which instruction products of int8 are made (kernels/gemm/dot.clh). */
#ifndef TUNE_KERNELS_GEMM_DOT_H
#define TUNE_KERNELS_GEMM_DOT_H

#include "core/err.h"
#include "kernels/build.h"

#include <stdbool.h>

/* What a template can write down: scalars (one product of four a work-item), vectors of VK lanes, or such vectors of
 * neighbours of one channel. */
enum dot_form { DOT_SCALARS, DOT_VECTORS, DOT_TAPS };

/* Adds the knob with the words that the device can do for x of this dtype, the fastest first; without "fma" where
 * `exact_in_f32` is false (a block of the sum may have over 1024 products). */
enum err dot_add_knob(struct space *s, const struct device_desc *d, enum dot_form form, enum dtype x, bool exact_in_f32,
                      struct why *why);

/* The define DOT of the module added last, and the program's need of what its device must have. */
void dot_define(struct build *b);

#endif
