/* SPDX-License-Identifier: MIT */
/* packed.cl - y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k], f32 f16, row-major, for CPUs; each work-item packs the panels of
 * w that it uses. Knobs and launch: gemm/cpu.clh. */
#define PACKS_W
#include "gemm/cpu.clh"
