/* im2col_gemm.cl - y[n,k,pq] = sum over i of w[k,i] * col[n,i,pq], i = (c*R + r)*S + s, col the patches of x; all types, layouts, epilogues.
 * Explicit form: im2col writes panels cols[n][pq/NWG][i][pq%NWG]. Fused form: patches are gathered into local memory.
 * Weights wp[k/MWG][i][k%MWG]; both padded by zeros to whole panels and to KWG along i.
 * Knobs: MWG NWG KWG tile of a group along k pq i; MDIMC NDIMC its work-items; MDIMA NDIMB their shape while loading;
 * KWI unroll along i; VWM VEC lanes of loads along k and of arithmetic along pq; STRM STRN strided items; SA SB local memory.
 * Launch: local (MDIMC, NDIMC, 1); groups (ceil(K / MWG), ceil(P*Q / NWG), NB), the first two exchanged when SWAP. */
#include "conv/conv.clh"
#ifndef MWG
#define MWG 8
#define NWG 16
#define KWG 8
#define MDIMC 2
#define NDIMC 2
#define MDIMA 2
#define NDIMB 2
#define KWI 2
#define VWM 1
#define STRM 0
#define STRN 0
#define SA 1
#define SB 1
#define FUSED 1
#define SWAP 0
#define COL_WG 1
#endif

#define I (C * R * S)
#define IP (CEIL_DIV(I, KWG) * KWG)
#define PQ (P * Q)
#define NT CEIL_DIV(PQ, NWG)
#define WG (MDIMC * NDIMC)
#define MWI (MWG / MDIMC)
#define NVI (NWG / (NDIMC * VEC))

KERNEL WG_SIZE(1, 1, 1) im2col_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wp)
{
    const int tile = GRP(0), i = GRP(1);

    for (int m = 0; m < MWG; m++) {
        const int k = tile * MWG + m;

        STORE1(wp + ((long)tile * IP + i) * MWG + m, k < K && i < I ? LOAD1(w + (long)k * I + i) : (SUM)0);
    }
}

/* One patch element: 0 in the padding and beyond the last pixel and row. */
DEVICE SUM patch(GLOBAL const ELEM *x, int n, int i, int pq)
{
    const int c = i / (R * S), r = i / S % R, s = i % S;
    const int h = pq / Q * SH + r * DH - PT, w = pq % Q * SW + s * DW - PL;

    return i < I && pq < PQ && h >= 0 && h < H && w >= 0 && w < W ? LOAD1(x + X_AT(n, c, h, w)) : (SUM)0;
}

/* One group a (panel, channel); the last channel's also writes the zero rows from I to IP. */
KERNEL WG_SIZE(COL_WG, 1, 1) im2col(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT cols)
{
    const int tile = GRP(0), c = GRP(1), n = GRP(2);
    GLOBAL ELEM *to = cols + (long)(n * NT + tile) * IP * NWG;

    for (int j = LID(0); j < NWG; j += COL_WG) {
        const int pq = tile * NWG + j, h0 = pq / Q * SH - PT, w0 = pq % Q * SW - PL;

        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                const int h = h0 + r * DH, w = w0 + s * DW;
                const int inside = pq < PQ && h >= 0 && h < H && w >= 0 && w < W;

                STORE1(to + ((c * R + r) * S + s) * NWG + j, inside ? LOAD1(x + X_AT(n, c, h, w)) : (SUM)0);
            }
        for (int i = c == C - 1 ? I : IP; i < IP; i++)
            STORE1(to + i * NWG + j, (SUM)0);
    }
}

/* Position inside the group's tile of an item's row `i`, and of its vector `v`. */
#if STRM
#define ROW(i) (LID(0) + (i)*MDIMC)
#else
#define ROW(i) (LID(0) * MWI + (i))
#endif
#if STRN
#define COLUMN(v) ((LID(1) + (v)*NDIMC) * VEC)
#else
#define COLUMN(v) ((LID(1) * NVI + (v)) * VEC)
#endif

/* b is cols, or x in the fused form. */
KERNEL WG_SIZE(MDIMC, NDIMC, 1) im2col_gemm(GLOBAL const ELEM *RESTRICT wp, GLOBAL const ELEM *RESTRICT b,
                                            Y_PARAMS)
{
    const int mt = GRP(SWAP), nt = GRP(1 - SWAP), n = GRP(2);
    GLOBAL const ELEM *RESTRICT a = wp + (long)mt * IP * MWG;
#if !FUSED
    GLOBAL const ELEM *RESTRICT panel = b + (long)(n * NT + nt) * IP * NWG;
#endif
#if SA
    LOCAL_ARRAY SUM a_tile[KWG * MWG];
#endif
#if SB
    LOCAL_ARRAY SUM b_tile[KWG * NWG];
#endif
#if SA || SB
    const int id = LID(1) * MDIMC + LID(0);
#endif
    VT acc[MWI][NVI];

#if SA
    POISON_LOCAL(a_tile, KWG * MWG, id, WG);
#endif
#if SB
    POISON_LOCAL(b_tile, KWG * NWG, id, WG);
#endif
    UNROLL
    for (int i = 0; i < MWI; i++)
        UNROLL
        for (int v = 0; v < NVI; v++)
            acc[i][v] = VSET(0);
    for (int i0 = 0; i0 < IP; i0 += KWG) {
#if SA
        for (int row = id / MDIMA; row < KWG; row += WG / MDIMA)
            for (int column = id % MDIMA * VWM; column < MWG; column += MDIMA * VWM)
                UNROLL
                for (int j = 0; j < VWM; j++)
                    a_tile[row * MWG + column + j] = LOAD1(a + (i0 + row) * MWG + column + j);
#endif
#if SB
        for (int row = id / NDIMB; row < KWG; row += WG / NDIMB)
            for (int column = id % NDIMB * VEC; column < NWG; column += NDIMB * VEC)
                UNROLL
                for (int j = 0; j < VEC; j++)
#if FUSED
                    b_tile[row * NWG + column + j] = patch(b, n, i0 + row, nt * NWG + column + j);
#else
                    b_tile[row * NWG + column + j] = LOAD1(panel + (i0 + row) * NWG + column + j);
#endif
#endif
#if SA || SB
        BARRIER();
#endif
        UNROLL_BY(KWI)
        for (int i = 0; i < KWG; i++) {
            VT pixels[NVI];

            UNROLL
            for (int v = 0; v < NVI; v++)
#if SB
                pixels[v] = LOCAL_VLOAD(b_tile + i * NWG + COLUMN(v));
#else
                pixels[v] = VLOAD(panel + (i0 + i) * NWG + COLUMN(v));
#endif
            UNROLL
            for (int m = 0; m < MWI; m++) {
#if SA
                const VT weight = VSET(a_tile[i * MWG + ROW(m)]);
#else
                const VT weight = VSET(LOAD1(a + (i0 + i) * MWG + ROW(m)));
#endif

                UNROLL
                for (int v = 0; v < NVI; v++)
                    acc[m][v] = VFMA(weight, pixels[v], acc[m][v]);
            }
        }
#if SA || SB
        BARRIER();
#endif
    }
    UNROLL
    for (int m = 0; m < MWI; m++) {
        const int k = mt * MWG + ROW(m);

        UNROLL
        for (int v = 0; v < NVI; v++) {
            const int pq = nt * NWG + COLUMN(v);

            if (k >= K)
                continue;
#if YL == 1
            if (pq + VEC <= PQ) {
                const long at = (long)(n * K + k) * PQ + pq;

                STORE_YQ(at, k, acc[m][v]);
                continue;
            }
#endif
            {
                SUM out[VEC];

                PRIVATE_VSTORE(acc[m][v], out);
                for (int j = 0; j < VEC && pq + j < PQ; j++)
                    STORE_Y(Y_AT(n, k, (pq + j) / Q, (pq + j) % Q), k, out[j]);
            }
        }
    }
}
