/* SPDX-License-Identifier: MIT */
/* tiled.cl - y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k], row-major, all types, for GPUs (gemm/rows.clh).
 * Knobs: M_T N_T work-items; M_R N_R outputs of an item; K_I columns of a stage, fetched by A_ALONG B_ALONG items; V_K consecutive elements along k that an item
 * fetches, which divide K and K_I; PAD extra columns of the local tiles; STAGES 2: the next stage waits in registers while this
 * one is used up, STAGES_LOCAL of them in local memory; UNROLL_STEP: the staged loop is unrolled by the largest power of two whose
 * body of M_R*N_R*(that power) products does not exceed it; UNROLL_EXPLICIT 1: it is a straight line. VEC: of arithmetic, divides
 * N_R.
 * Launch: local (N_T, M_T, 1); groups (BATCH * ceil(M / (M_T*M_R)) * ceil(N / (N_T*N_R)), 1, 1). */
#ifndef M_R
#define M_T 2
#define N_T 2
#define M_R 2
#define N_R 4
#define K_I 4
#define V_K 1
#define PAD 0
#define STAGES 1
#define A_ALONG 4
#define B_ALONG 4
#define UNROLL_BODY 1
#define UNROLL_EXPLICIT 0
#endif

#define MT (M_T * M_R)
#define NT (N_T * N_R)
#define KT K_I
#define M_ITEMS M_T
#define N_ITEMS N_T
#define A_W V_K
#define B_W V_K
#define A_PAD PAD
#define B_PAD PAD
#if UNROLL_EXPLICIT
#define LOOP_K UNROLL
#else
#define LOOP_K UNROLL_BY(UNROLL_BODY)
#endif
#include "gemm/rows.clh"
