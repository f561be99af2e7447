/* SPDX-License-Identifier: MIT */
/* panels.cl - y[m,n] = sum over k of x[m,k] * (w[n,k] - w_zero[n,k/BLOCK]) * w_scale[n,k/BLOCK], weights of 4 bits, x
 * rounded to bytes block by block, see dense4.clh; f32, f16, all epilogues. CPUs and others that compile OpenCL C.
 * dense4_round_x: xq[m][BLOCKS][BLOCK], 0 behind K, the power of two of each block and the sum of its bytes. Weights are packed at
 * load into wp[n/NR][BLOCKS][BLOCK/8][NR][4], NR = NV*VEC rows of w: byte j has weight j of the eight in its lower half and weight 4+j
 * in the upper one; scales and zero points into [n/NR][BLOCKS][NR]. A work-item computes MR rows of x by TURNS panels one after the
 * other: whole sums of a block by the instruction DOT (gemm/dot.clh), made floats and multiplied by both scales.
 * Knobs: VEC lanes; NV vectors of rows of w; MR rows of x; TURNS panels; AHEAD bytes that weights are asked for in advance, 0: not; DOT.
 * Launch: local (1, 1, 1); groups (ceil(N / (NR*TURNS)), ceil(M / MR), 1). */
#include "dense4/dense4.clh"
#ifndef NV
#define NV 1
#define MR 1
#define TURNS 1
#define AHEAD 1024
#define DOT 0
#endif
#define VK VEC
#define DOT_U8_B 1
#include "gemm/dot.clh"

#ifndef TUNE_CUDA /* which has no vectors of bytes */
#define NR (NV * VEC)
#define GROUPS (BLOCK / 8)                /* of eight weights */
#define PANEL_INTS (BLOCKS * GROUPS * NR) /* of weights */
#define NUMBER(n, b, k) (w[((long)(n)*BLOCKS + (b)) * BLOCK_BYTES + (k) / 2] >> ((k) % 2 * 4) & 15)

#ifdef POCL_DEVICE_ADDRESS_BITS /* whose conversions go lane by lane */
typedef uchar zero_lanes __attribute__((ext_vector_type(VEC), aligned(1)));
#define ZEROS_AT(p) __builtin_convertvector(*(GLOBAL const zero_lanes *)(p), INT_V)
#define FLOATS(v) __builtin_convertvector((v), VT)
#else
#define ZEROS_AT(p) CAT(convert_int, VEC)(CAT(vload, VEC)(0, (p)))
#define FLOATS(v) CAT(convert_float, VEC)(v)
#endif
#if ZEROS
#define ZERO_PANELS_PARAM , GLOBAL const uchar *RESTRICT zp
#define BEGIN(at, sum) (-(sum)*ZEROS_AT(zp + (at)))
#else
#define ZERO_PANELS_PARAM
#define BEGIN(at, sum) ((INT_V)(-8 * (sum)))
#endif

/* One panel and block a group. */
KERNEL WG_SIZE(1, 1, 1) dense4_pack_panels(W_PARAMS, GLOBAL int *RESTRICT wp, GLOBAL float *RESTRICT sp, GLOBAL uchar *RESTRICT zp)
{
    const int b = GRP(1), n0 = GRP(0) * NR;
    const long block = (long)GRP(0) * BLOCKS + b;

    for (int i = 0; i < NR; i++) {
        const int n = n0 + i < N ? n0 + i : N - 1;

        sp[block * NR + i] = SCALE_AT(n, b);
        zp[block * NR + i] = (uchar)ZERO_AT(n, b);
        for (int g = 0; g < GROUPS; g++) {
            uint eight = 0;

            for (int j = 0; j < 4; j++)
                eight |= (uint)(NUMBER(n, b, 8 * g + j) | NUMBER(n, b, 8 * g + 4 + j) << 4) << (8 * j);
            wp[(block * GROUPS + g) * NR + i] = (int)eight;
        }
    }
}

/* One row of x a group. */
KERNEL WG_SIZE(1, 1, 1)
dense4_round_x(GLOBAL const ELEM *RESTRICT x, GLOBAL char *RESTRICT xq, GLOBAL float *RESTRICT steps, GLOBAL int *RESTRICT sums)
{
    const int m = GRP(0);

    for (int b = 0; b < BLOCKS; b++) {
        GLOBAL const ELEM *from = x + (long)m * K + b * BLOCK;
        GLOBAL char *to = xq + ((long)m * BLOCKS + b) * BLOCK;
        const int n = K - b * BLOCK < BLOCK ? K - b * BLOCK : BLOCK, e = step_bits(from, n);
        int sum = 0;

        for (int i = 0; i < n; i++) {
            const int q = rounded((float)LOAD1(from + i), e);

            to[i] = (char)q;
            sum += q;
        }
        for (int i = n; i < BLOCK; i++)
            to[i] = 0;
        steps[m * BLOCKS + b] = STEP(e);
        sums[m * BLOCKS + b] = sum;
    }
}

/* Rows of x past the last one are that one again, and are not stored. */
KERNEL WG_SIZE(1, 1, 1)
dense4_panels(GLOBAL const int *RESTRICT xq, GLOBAL const float *RESTRICT steps, GLOBAL const int *RESTRICT sums, GLOBAL const int *RESTRICT wp,
              GLOBAL const float *RESTRICT sp ZERO_PANELS_PARAM, Y_PARAMS)
{
    for (int turn = 0; turn < TURNS; turn++) {
        const int panel = GRP(0) * TURNS + turn;
        VT acc[MR][NV];
        long row[MR];

        if (panel * NR >= N)
            return;
        UNROLL
        for (int i = 0; i < MR; i++) {
            row[i] = (long)(GRP(1) * MR + i < M ? GRP(1) * MR + i : M - 1) * BLOCKS;
            UNROLL
            for (int v = 0; v < NV; v++)
                acc[i][v] = VSET(0);
        }
        for (int b = 0; b < BLOCKS; b++) {
            const long block = (long)panel * BLOCKS + b;
            INT_V sum[MR][NV];

            UNROLL
            for (int i = 0; i < MR; i++)
                UNROLL
                for (int v = 0; v < NV; v++)
                    sum[i][v] = BEGIN(block * NR + v * VEC, sums[row[i] + b]);
            UNROLL_BY(4)
            for (int g = 0; g < GROUPS; g++)
                UNROLL
                for (int v = 0; v < NV; v++) {
                    GLOBAL const int *from = wp + (block * GROUPS + g) * NR + v * VEC;
                    const INT_V eight = INT_VLOAD(from);
                    const INT_V low = eight & 0x0f0f0f0f, high = eight >> 4 & 0x0f0f0f0f;

#if AHEAD
                    PREFETCH1(from + AHEAD / 4);
#endif
                    UNROLL
                    for (int i = 0; i < MR; i++) {
                        GLOBAL const int *four = xq + (row[i] + b) * (BLOCK / 4) + 2 * g;

                        VDOT4(sum[i][v], four[0], low);
                        VDOT4(sum[i][v], four[1], high);
                    }
                }
            UNROLL
            for (int v = 0; v < NV; v++) {
                const VT scale = SUM_VLOAD(sp + block * NR + v * VEC);

                UNROLL
                for (int i = 0; i < MR; i++)
                    acc[i][v] = VFMA(VMUL(FLOATS(sum[i][v]), VSET(steps[row[i] + b])), scale, acc[i][v]);
            }
        }
        UNROLL
        for (int i = 0; i < MR; i++)
            UNROLL
            for (int v = 0; v < NV; v++) {
                const int n = panel * NR + v * VEC, m = GRP(1) * MR + i;
                SUM out[VEC];

                if (m < M && n + VEC <= N) {
                    STORE_YK((long)m * N + n, n, acc[i][v]);
                } else if (m < M) {
                    PRIVATE_VSTORE(acc[i][v], out);
                    for (int j = 0; n + j < N; j++)
                        STORE_Y((long)m * N + n + j, n + j, out[j]);
                }
            }
    }
}
#endif
