/* SPDX-License-Identifier: MIT */
/* tile_rows.cl - y[n,k,p,q] = sum over r,s of x[n,k/KG,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,0,r,s], all types, nchw, for CPUs: a
 * vector's lanes are neighbours along q.
 * One work-item computes ROWS rows of KB channels: it copies the input rows they need into a private array, with zeros where
 * the window leaves the image and columns sorted by their remainder mod SW, so that every vector load afterwards is
 * contiguous and unguarded; then register tiles of VH rows x VW vectors.
 * Knobs: VEC lanes; VH VW rows and vectors of a tile; ROWS rows, KB channels of an item (several: the loads of one do not wait
 * for its stores).
 * Launch: local (1, 1, 1); groups (ceil(NB * K / KB) * ceil(P / ROWS), 1, 1). */
#include "conv/conv.clh"
#ifndef VH
#define VH 2
#define VW 1
#define ROWS 4
#define KB 1
#endif

#define CHUNKS CEIL_DIV(P, ROWS)
#define VECTORS CEIL_DIV(Q, VEC)
#define TILES CEIL_DIV(VECTORS, VW)
#define IN_H ((VH - 1) * SH + (R - 1) * DH + 1)                         /* input rows of a tile */
#define STAGED ((CEIL_DIV(ROWS, VH) * VH - 1) * SH + (R - 1) * DH + 1)  /* and of an item */
/* Column c of the padded input stands at (c % SW) * PITCH + c / SW of its row. */
#define PITCH (CEIL_DIV(TILES * VW * VEC + (S - 1) * DW / SW, VEC) * VEC)
#define SHIFT(s) ((s)*DW % SW * PITCH + (s)*DW / SW)
#define STAGED_SIZE (STAGED * SW * PITCH)
#define SLACK ((CEIL_DIV(W, SW * VEC) + CEIL_DIV(PL, VEC) + 1) * VEC) /* what the last row may write too much */
/* First and past the last place of remainder m that lies in the image. */
#define BEGIN(m) ((PL - (m) + SW - 1) / SW)
#define END_(m) ((PL + W - (m) + SW - 1) / SW)
#define END(m) (END_(m) < PITCH ? END_(m) : PITCH)

#define ROW_VECTORS CEIL_DIV(W, SW *VEC) /* that hold the columns of one remainder */

#if SW == 1
#define COLUMNS(from, m) VLOAD(from)
#elif SW == 2
#define COLUMNS(from, m)                                                                                               \
    ((m) == PL % 2 ? VEVEN(VLOAD(from), VLOAD((from) + VEC)) : VODD(VLOAD(from), VLOAD((from) + VEC)))
#endif

DEVICE void stage_zeros(int begin, int end, SUM *to)
{
    for (int i = begin; i < end; i += VEC)
        PRIVATE_VSTORE(VSET(0), to + i);
}

/* One input row into the staged rows; `from` is the row, with `room` elements of x from there on, without x's zero point. Writes whole vectors and so
 * up to a few elements behind the row, where the next one is written later. */
DEVICE void stage_row(GLOBAL const ELEM *from, long room, SUM zero_point, SUM *to)
{
    UNROLL
    for (int m = 0; m < SW; m++) {
        SUM *part = to + m * PITCH;

        stage_zeros(0, BEGIN(m), part);
#ifdef COLUMNS
        if (room >= ROW_VECTORS * SW * VEC) {
            for (int v = 0; v < ROW_VECTORS; v++)
                PRIVATE_VSTORE(VSUB(COLUMNS(from + v * SW * VEC, m), VSET(zero_point)), part + BEGIN(m) + v * VEC);
        } else
#endif
            for (int i = BEGIN(m); i < END(m); i++)
                part[i] = LOAD1(from + i * SW + m - PL) - zero_point;
        stage_zeros(END(m), PITCH, part);
    }
}

/* Output rows [begin, end) of plane n*K + k from its staged rows. */
DEVICE void convolve(const SUM *staged, GLOBAL const WEIGHT *RESTRICT w, int plane, int begin, int end, Y_PARAMS)
{
    const int k = plane % K;
    const long at = (long)plane * P * Q;
    SUM weight[R * S];

    UNROLL
    for (int i = 0; i < R * S; i++)
        weight[i] = LOAD1(w + k * R * S + i);
    for (int p0 = begin; p0 < end; p0 += VH)
        for (int t = 0; t < TILES; t++) {
            const SUM *from = staged + (p0 - begin) * SH * SW * PITCH + t * VW * VEC;
            VT acc[VH][VW];

            UNROLL
            for (int i = 0; i < VH; i++)
                UNROLL
                for (int j = 0; j < VW; j++)
                    acc[i][j] = VSET(0);
            UNROLL
            for (int row = 0; row < IN_H; row++)
                UNROLL
                for (int s = 0; s < S; s++)
                    UNROLL
                    for (int j = 0; j < VW; j++) {
                        const VT pixels = PRIVATE_VLOAD(from + row * SW * PITCH + SHIFT(s) + j * VEC);

                        UNROLL
                        for (int i = 0; i < VH; i++) {
                            const int r = row - i * SH;

                            if (r >= 0 && r % DH == 0 && r / DH < R)
                                acc[i][j] = VFMA(pixels, VSET(weight[r / DH * S + s]), acc[i][j]);
                        }
                    }
            UNROLL
            for (int i = 0; i < VH; i++)
                UNROLL
                for (int j = 0; j < VW; j++) {
                    const int q = (t * VW + j) * VEC;

                    if (p0 + i >= end || q >= Q)
                        continue;
                    if (q + VEC <= Q) {
                        STORE_YQ(at + (long)(p0 + i) * Q + q, k, acc[i][j]);
                    } else {
                        SUM out[VEC];

                        PRIVATE_VSTORE(acc[i][j], out);
                        for (int l = 0; l < Q % VEC; l++)
                            STORE_Y(at + (long)(p0 + i) * Q + q + l, k, out[l]);
                    }
                }
        }
}

KERNEL WG_SIZE(1, 1, 1)
depthwise_tile(GLOBAL const ELEM *RESTRICT x, GLOBAL const WEIGHT *RESTRICT w, Y_PARAMS)
{
    const int chunk = GRP(0) % CHUNKS, first = GRP(0) / CHUNKS * KB;
    const int begin = chunk * ROWS, end = begin + ROWS < P ? begin + ROWS : P;
    SUM all[KB * STAGED_SIZE + SLACK];

    for (int i = 0; i < KB && first + i < NB * K; i++) {
        const int n = (first + i) / K, c = (first + i) % K / KG;
        GLOBAL const ELEM *RESTRICT plane = x + (long)(n * C + c) * H * W;

        for (int row = 0; row < STAGED; row++) {
            const int h = begin * SH + row - PT;
            SUM *to = all + i * STAGED_SIZE + row * SW * PITCH;

            if (h >= 0 && h < H)
                stage_row(plane + (long)h * W, ((long)(NB * C - n * C - c) * H - h) * W, (SUM)ZERO_OF(0), to);
            else
                stage_zeros(0, SW * PITCH, to);
        }
    }
    for (int i = 0; i < KB && first + i < NB * K; i++)
        convolve(all + i * STAGED_SIZE, w, first + i, begin, end, Y_ARGS);
}
