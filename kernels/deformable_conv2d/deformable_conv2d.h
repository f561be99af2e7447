/* SPDX-License-Identifier: MIT */
/* deformable_conv2d.h - this operator, its reference and its templates. */
#ifndef TUNE_KERNELS_DEFORMABLE_CONV2D_DEFORMABLE_CONV2D_H
#define TUNE_KERNELS_DEFORMABLE_CONV2D_DEFORMABLE_CONV2D_H

#include "core/err.h"
#include "kernels/conv/shape.h"
#include "kernels/template.h"

extern const struct operator_desc operator_deformable_conv2d;
extern const struct template deformable_naive, deformable_direct, deformable_im2col_gemm, deformable_im2col_tiled;

/* Samples and projection of y by the definition. operator->reference. */
enum err deformable_reference(const struct workload *w, enum exact_data data, struct expected *e);

/* Defines of deform.clh: those of conv.clh, and DG groups of channels that are shifted alike. */
void deformable_define_shape(struct build *b, const struct conv_shape *s);

#endif
