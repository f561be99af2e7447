/* SPDX-License-Identifier: MIT */
/* quantize.h - this operator and its templates: floats to bytes of a scale and zero point, and back. */
#ifndef TUNE_KERNELS_QUANTIZE_QUANTIZE_H
#define TUNE_KERNELS_QUANTIZE_QUANTIZE_H

#include "kernels/build.h"
#include "kernels/template.h"

#include <stdint.h>

/* A launch of the module added last over all tensors, which has the defines of quantize/quantize.clh: N, BACK. */
void quantize_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group);

extern const struct operator_desc operator_quantize;
extern const struct template quantize_stream, quantize_naive;

#endif
