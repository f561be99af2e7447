/* SPDX-License-Identifier: MIT */
/* gemm_packed.cl - y[m,n] = sum over k of x[m,k] * w[n,k], f32 f16, all epilogues, row-major, for CPUs; w packed at load.
 * Knobs and launch: gemm/cpu.clh. */
#include "gemm/cpu.clh"
