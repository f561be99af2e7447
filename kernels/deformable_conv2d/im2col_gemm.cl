/* SPDX-License-Identifier: MIT */
/* im2col_gemm.cl - y[n,k,p,q] = sum over c,r,s of sample(n,c,r,s,p,q) * w[k,c,r,s], f32 and f16, nchw: the samples written out,
 * then a matrix product. For CPUs: a vector's lanes are channels throughout, so that the four pixels of a sample are four
 * loads for VEC channels and their shares are computed once for a whole group of channels.
 * xt[n][group][h][w][CP]: x with channels last, groups padded by zeros to CP = whole vectors; samples[n][p][q][group][r][s][CP], rows of LDA;
 * wp[k/NR][group][r][s][CP][k%NR], NR = NV*VEC, zeros where padded. All in SUM.
 * Knobs: VEC lanes; MR pixels x NV vectors of output channels in registers; KU unroll of the sum; IB terms of the sum done
 * for all tiles of an item before the next ones, so that its operands stay in cache (0 = all); TILES KT tiles of pixels and
 * blocks of channels an item.
 * Launch: deformable_gemm: local (1, 1, 1); groups (ceil(PQ / (MR*TILES)), ceil(ceil(K / NR) / KT), NB). */
#include "deformable_conv2d/deform.clh"
#ifndef MR
#define MR 4
#define NV 1
#define KU 1
#define IB 0
#define TILES 1
#define KT 1
#endif

#define CP (CEIL_DIV(CD, VEC) * VEC)
#define I (DG * R * S * CP)
#define LDA (I + 16) /* a row of samples: rows of whole pages would meet in few sets of the cache */
#define NR (NV * VEC)
#define PQ (P * Q)
#if IB
#define STEP (IB < I ? IB : I)
#else
#define STEP I
#endif

/* One item a vector of channels. */
KERNEL WG_SIZE(1, 1, 1) deformable_transpose(GLOBAL const ELEM *RESTRICT x, GLOBAL SUM *RESTRICT xt)
{
    const int c0 = GRP(0) * VEC, group = GRP(1), n = GRP(2);
    GLOBAL const ELEM *from = x + (long)(n * C + group * CD + c0) * H * W;
    GLOBAL SUM *to = xt + (long)(n * DG + group) * H * W * CP + c0;

    for (int i = 0; i < H * W; i++)
        for (int l = 0; l < VEC; l++)
            to[(long)i * CP + l] = c0 + l < CD ? LOAD1(from + (long)l * H * W + i) : (SUM)0;
}

/* One item a (k block, window element of a group). */
KERNEL WG_SIZE(1, 1, 1) deformable_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL SUM *RESTRICT wp)
{
    const int kb = GRP(0), rs = GRP(1) % (R * S), group = GRP(1) / (R * S);
    GLOBAL SUM *to = wp + ((long)kb * I + GRP(1) * CP) * NR;

    for (int c = 0; c < CP; c++)
        for (int i = 0; i < NR; i++) {
            const int k = kb * NR + i;

            to[c * NR + i] = k < K && c < CD ? LOAD1(w + ((long)k * C + group * CD + c) * R * S + rs) : (SUM)0;
        }
}

/* One item a row of output pixels and a group. */
KERNEL WG_SIZE(1, 1, 1)
deformable_sample(GLOBAL const SUM *RESTRICT xt, GLOBAL const ELEM *RESTRICT offset, GLOBAL SUM *RESTRICT samples)
{
    const int p = GRP(0), group = GRP(1), n = GRP(2);
    GLOBAL const SUM *RESTRICT from = xt + (long)(n * DG + group) * H * W * CP;

    for (int q = 0; q < Q; q++)
        for (int rs = 0; rs < R * S; rs++) {
            const struct place a = place_of(offset, n, group, rs, p, q);
            const VT s0 = VSET((SUM)a.share[0]), s1 = VSET((SUM)a.share[1]);
            const VT s2 = VSET((SUM)a.share[2]), s3 = VSET((SUM)a.share[3]);
            GLOBAL SUM *RESTRICT to = samples + ((long)(n * P + p) * Q + q) * LDA + (group * R * S + rs) * CP;

            for (int c = 0; c < CP; c += VEC) {
                VT sum = VFMA(s0, SUM_VLOAD(from + (long)a.at[0] * CP + c), VSET(0));

                sum = VFMA(s1, SUM_VLOAD(from + (long)a.at[1] * CP + c), sum);
                sum = VFMA(s2, SUM_VLOAD(from + (long)a.at[2] * CP + c), sum);
                sum = VFMA(s3, SUM_VLOAD(from + (long)a.at[3] * CP + c), sum);
                SUM_VSTORE(sum, to + c);
            }
        }
}

/* The last tile reads rows that are not its image's (the buffer has MR more) and does not write them. */
KERNEL WG_SIZE(1, 1, 1) deformable_gemm(GLOBAL const SUM *RESTRICT samples, GLOBAL const SUM *RESTRICT wp, Y_PARAMS)
{
    const int n = GRP(2);
#if IB
    VT sums[KT][TILES][MR][NV];
#endif

    for (int i0 = 0; i0 < I; i0 += STEP)
        for (int j = 0; j < KT && (GRP(1) * KT + j) * NR < K; j++)
            for (int t = 0; t < TILES && (GRP(0) * TILES + t) * MR < PQ; t++) {
                const int kb = GRP(1) * KT + j, pq = (GRP(0) * TILES + t) * MR, end = i0 + STEP < I ? i0 + STEP : I;
                GLOBAL const SUM *RESTRICT a = samples + ((long)n * PQ + pq) * LDA;
                GLOBAL const SUM *RESTRICT b = wp + (long)kb * I * NR;
                VT acc[MR][NV];

                UNROLL
                for (int m = 0; m < MR; m++)
                    UNROLL
                    for (int v = 0; v < NV; v++)
#if IB
                        acc[m][v] = i0 ? sums[j][t][m][v] : VSET(0);
#else
                        acc[m][v] = VSET(0);
#endif
                UNROLL_BY(KU)
                for (int i = i0; i < end; i++) {
                    VT weight[NV];

                    UNROLL
                    for (int v = 0; v < NV; v++)
                        weight[v] = SUM_VLOAD(b + (long)i * NR + v * VEC);
                    UNROLL
                    for (int m = 0; m < MR; m++) {
                        const VT pixel = VSET(a[(long)m * LDA + i]);

                        UNROLL
                        for (int v = 0; v < NV; v++)
                            acc[m][v] = VFMA(pixel, weight[v], acc[m][v]);
                    }
                }
                if (end == I) {
                    SUM out[MR][NR];

                    UNROLL
                    for (int m = 0; m < MR; m++)
                        UNROLL
                        for (int v = 0; v < NV; v++)
                            PRIVATE_VSTORE(acc[m][v], &out[m][v * VEC]);
                    for (int k = kb * NR; k < kb * NR + NR && k < K; k++)
                        for (int m = 0; m < MR && pq + m < PQ; m++)
                            STORE_Y(((long)n * K + k) * PQ + pq + m, k, out[m][k - kb * NR]);
                }
#if IB
                else {
                    UNROLL
                    for (int m = 0; m < MR; m++)
                        UNROLL
                        for (int v = 0; v < NV; v++)
                            sums[j][t][m][v] = acc[m][v];
                }
#endif
            }
}
