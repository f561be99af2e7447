/* SPDX-License-Identifier: MIT */
/* batch_gemm.h - what the files of this operator share. */
#ifndef TUNE_KERNELS_BATCH_GEMM_BATCH_GEMM_H
#define TUNE_KERNELS_BATCH_GEMM_BATCH_GEMM_H

#include "kernels/gemm/gemm.h"
#include "kernels/template.h"

extern const struct operator_desc operator_batch_gemm;
extern const struct template batch_gemm_naive, batch_gemm_tiled, batch_gemm_packed;

#endif
