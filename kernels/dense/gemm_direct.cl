/* SPDX-License-Identifier: MIT */
/* gemm_direct.cl - y[m,n] = sum over k of x[m,k] * w[n,k], f32 f16, all epilogues, row-major, any size, no packing
 * (gemm/rows.clh).
 * Knobs: WGD tile of a group along m, n and k; MDIMCD NDIMCD its work-items along m and n; MDIMAD NDIMBD items along k while
 * loading x and w; KWID unroll along k; VWMD VWND consecutive elements an item loads of x and w, which divide K; VEC lanes of
 * arithmetic along n; PADA PADB extra columns of the local tiles; STAGES 2: the next tiles wait in registers while these are used
 * up, STAGES_LOCAL of them in local memory; SPLIT of k.
 * Launch: local (NDIMCD, MDIMCD, 1); groups (SPLIT * ceil(M / WGD) * ceil(N / WGD), 1, 1). */
#ifndef WGD
#define WGD 8
#define MDIMCD 2
#define NDIMCD 2
#define MDIMAD 2
#define NDIMBD 2
#define KWID 2
#define VWMD 1
#define VWND 1
#define PADA 0
#define PADB 0
#define STAGES 1
#define SPLIT 1
#endif

#define MT WGD
#define NT WGD
#define KT WGD
#define M_ITEMS MDIMCD
#define N_ITEMS NDIMCD
#define A_ALONG MDIMAD
#define B_ALONG NDIMBD
#define A_W VWMD
#define B_W VWND
#define A_PAD PADA
#define B_PAD PADB
#define LOOP_K UNROLL_BY(KWID)
#include "gemm/rows.clh"
