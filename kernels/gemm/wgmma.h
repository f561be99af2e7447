/* SPDX-License-Identifier: MIT */
/* wgmma.h - dense/wgmma and batch_gemm/wgmma: matrix products by warpgroups (wgmma.cl), sm_90 only. */
#ifndef TUNE_KERNELS_GEMM_WGMMA_H
#define TUNE_KERNELS_GEMM_WGMMA_H

#include "kernels/template.h"

extern const struct template dense_wgmma, batch_gemm_wgmma;

#endif
