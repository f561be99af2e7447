/* SPDX-License-Identifier: MIT */
/* generated.cl - y[n,k,p,q] = sum over the nonzeros w[k,c,r,s] of x[n,c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], f32, nchw:
 * what does not depend on the weights. The kernels sparse_0, sparse_1 .. are appended by kernels/sparse_conv2d/text.c: straight-line
 * code, one FMA a nonzero and output vector, positions as displacements, values as immediates or constants.
 * STAGED: a group's part of x, padded, in local memory, no copy xp; else
 * xp: x padded by zeros, columns and rows dealt out by stride (conv/shape.h); yp: outputs with padding between rows (FLAT) or with
 * images in the lanes (CHWN); part: sums between two blocks of input channels.
 * Knobs: VEC lanes (along q; along n where CHWN); X_R Y_R N_R output vectors of a tile; K_T channels at a time; STRIP tiles a
 * work-item, one after the other, so that the code stays in cache; WG_X WG_Y WG_N work-items of a group; FLAT 1 = rows of the padded
 * input are one long row, the outputs between them are dropped; C_BLK input channels of a block; UNROLL_CAP FMAs of a kernel; SCHED
 * taps that loads run ahead. GPUs: SPREAD 1 = the channel groups of a kernel are branches, run by different groups of the grid; values
 * are read from their array directly; with CHWN images lie along the first axis of groups and grid (N_FIRST).
 * Launch of sparse_*: local (WG_X, WG_Y, WG_N); groups (ceil(TILES_X / WG_X), ceil(TILES_Y / (WG_Y*STRIP)), ceil(TILES_N / WG_N)), where
 * FLAT ceil(TILES_X / (WG_X*STRIP)); N_FIRST: x and n exchanged; SPREAD: the first axis times branches. Copies: a group a channel and
 * image, or a channel and 32 images. */
#include "sparse_conv2d/copy.clh"
#ifndef X_R
#define X_R 1
#define Y_R 1
#define N_R 1
#define WG_X 1
#define WG_Y 1
#define WG_N 1
#define STRIP 1
#define FLAT 0
#define STAGED 0
#define SPREAD 0
#define N_FIRST 0
#define STAGE_ROWS 1
#define STAGE_COLUMNS 1
#define STAGE_CHANNEL 1
#define STAGE_ROW 1
#define STAGE_PHASE 1
#define STAGE_IMAGE 1
#define STAGE_ELEMS 1
#define TILES_X 1
#define TILES_Y P
#define TILES_N 1
#define GRID_P P
#define GRID_N NB
#define GRID_Q Q
#define YN_STEP 1
#define YK_STEP 1
#define YP_STEP 1
#define YQ_STEP 1
#define Y_COPIED 0
#endif
#ifndef SPREAD
#define SPREAD 0
#endif
#if CHWN
#define ACROSS X_R
#define TALL (N_R * VEC)
#else
#define ACROSS (X_R * VEC)
#define TALL N_R
#endif

#if COPY_WG == 1
/* One channel of one image from yp, with the epilogue. */
KERNEL WG_SIZE(1, 1, 1) sparse_copy_y(GLOBAL const float *RESTRICT yp, Y_PARAMS)
{
    const int k = GRP(0), n = GRP(1);
    GLOBAL const float *RESTRICT from = yp + (long)n * YN_STEP + (long)k * YK_STEP;

    for (int p = 0; p < P; p++)
        for (int q = 0; q < Q; q++)
            STORE_Y(((long)(n * K + k) * P + p) * Q + q, k, from[(long)p * YP_STEP + (long)q * YQ_STEP]);
}
#elif CHWN
/* One channel of SQUARE images. */
KERNEL WG_SIZE(COPY_WG, 1, 1) sparse_copy_y(GLOBAL const float *RESTRICT yp, Y_PARAMS)
{
    LOCAL_ARRAY SUM square[SQUARE * SQUARE_ROW];
    const int k = GRP(0), n0 = GRP(1) * SQUARE, lane = LID(0) % SQUARE;

    POISON_LOCAL(square, SQUARE * SQUARE_ROW, LID(0), COPY_WG);
    for (int pq0 = 0; pq0 < P * Q; pq0 += SQUARE) {
        FOR_SQUARE(j)
        if (pq0 + j < P * Q && n0 + lane < YQ_STEP)
            square[j * SQUARE_ROW + lane] = yp[(long)k * YK_STEP + (long)(pq0 + j) * YQ_STEP + n0 + lane];
        BARRIER();
        FOR_SQUARE(j)
        if (n0 + j < NB && pq0 + lane < P * Q)
            STORE_Y(((long)(n0 + j) * K + k) * P * Q + pq0 + lane, k, square[lane * SQUARE_ROW + j]);
        BARRIER();
    }
}
#else
KERNEL WG_SIZE(COPY_WG, 1, 1) sparse_copy_y(GLOBAL const float *RESTRICT yp, Y_PARAMS)
{
    const int k = GRP(0), n = GRP(1);
    GLOBAL const float *RESTRICT from = yp + (long)n * YN_STEP + (long)k * YK_STEP;

    for (int i = LID(0); i < P * Q; i += COPY_WG)
        STORE_Y(((long)n * K + k) * P * Q + i, k, from[(long)(i / Q) * YP_STEP + (long)(i % Q) * YQ_STEP]);
}
#endif

/* What the appended kernels are written with. */
#define F(sum, x, v) sum = VFMA(x, VSET(v), sum);
#if Y_COPIED
#define OUT_PARAMS GLOBAL float *RESTRICT yp
#else
#define OUT_PARAMS Y_PARAMS
#endif
#ifdef HAS_PART
#define PART_PARAM GLOBAL float *RESTRICT part,
#define PART(k, e) (part + (((long)(tn * K + (k)) * TILES_Y + ty) * TILES_X + tx) * (X_R * Y_R * N_R * VEC) + (e)*VEC)
#define KEEP_SUM(k, e, i, j, m, v) SUM_VSTORE(v, PART(k, e))
#else
#define PART_PARAM
#endif
#ifdef HALF_CHUNK
#define CHUNK_PARAM , const int half_chunk, const int nil
#else
#define CHUNK_PARAM
#endif
#define Y_INDEX(k, i, j, m)                                                                                            \
    ((long)(n0 + (m) * (CHWN ? VEC : 1)) * YN_STEP + (long)(k)*YK_STEP + (long)(p0 + (j)) * YP_STEP +                  \
     (long)(q0 + (i) * (CHWN ? 1 : VEC)) * YQ_STEP)
#if Y_COPIED
#define PUT_SUM(k, e, i, j, m, v) SUM_VSTORE(v, yp + Y_INDEX(k, i, j, m))
#elif Q < X_R * VEC
#define PUT_SUM(k, e, i, j, m, v)                                                                                      \
    {                                                                                                                  \
        float lane[VEC];                                                                                               \
                                                                                                                       \
        PRIVATE_VSTORE(v, lane);                                                                                       \
        for (int l = 0; l < Q; l++)                                                                                    \
            STORE_Y(Y_INDEX(k, i, j, m) + l, k, lane[l]);                                                              \
    }
#else
#define PUT_SUM(k, e, i, j, m, v) STORE_YQ(Y_INDEX(k, i, j, m), k, v)
#endif
/* Groups of the grid: along its first axis those of each branch of a kernel, one branch after the other (SPREAD). */
#if SPREAD
#define BRANCH (GRP(0) / GROUPS_0)
#define GROUP_0 (GRP(0) % GROUPS_0)
#else
#define GROUP_0 GRP(0)
#endif
#if N_FIRST
#define GROUP_X GRP(2)
#define GROUP_N GROUP_0
#define ID_X LID(2)
#define ID_N LID(0)
#define GROUP_SIZE WG_SIZE(WG_N, WG_Y, WG_X)
#else
#define GROUP_X GROUP_0
#define GROUP_N GRP(2)
#define ID_X LID(0)
#define ID_N LID(2)
#define GROUP_SIZE WG_SIZE(WG_X, WG_Y, WG_N)
#endif
#if FLAT
#define ITEM_X ((GROUP_X * WG_X + ID_X) * STRIP)
#define ITEM_Y (GRP(1) * WG_Y + LID(1))
#define STRIP_OF tx
#define STRIP_END TILES_X
#else
#define ITEM_X (GROUP_X * WG_X + ID_X)
#define ITEM_Y ((GRP(1) * WG_Y + LID(1)) * STRIP)
#define STRIP_OF ty
#define STRIP_END TILES_Y
#endif
#if STAGED
/* `columns` inputs of one row, of column w0 and every SW-th behind it; zeros outside of x and where not `inside`. */
#if SW == 1
#define PAD_LINE(to, from, inside, columns, w0)                                                                        \
    {                                                                                                                  \
        LOCAL float *line = to;                                                                                        \
        GLOBAL const float *RESTRICT source = from;                                                                    \
        const int lo = !(inside) ? columns : SMALLER(-SMALLER(w0, 0), columns);                                        \
        const int hi = SMALLER(columns, W - (w0)) < lo ? lo : SMALLER(columns, W - (w0));                              \
                                                                                                                       \
        SPAN(0, lo, columns, columns, line[j] = 0.0f, LOCAL_VSTORE(VSET(0.0f), line + j))                              \
        SPAN(hi, columns, columns, columns, line[j] = 0.0f, LOCAL_VSTORE(VSET(0.0f), line + j))                        \
        SPAN(lo, hi, hi, hi - lo, line[j] = source[(w0) + j], LOCAL_VSTORE(SUM_VLOAD(source + (w0) + j), line + j))        \
    }
/* Elements [begin, end), a vector at a time where `room` before `last` takes one; the last vector overlaps. */
#define SPAN(begin, end, last, room, one, vector)                                                                      \
    if ((room) < VEC)                                                                                                  \
        for (int j = begin; j < (end); j++)                                                                            \
            one;                                                                                                       \
    else                                                                                                               \
        for (int at = begin; at < (end); at += VEC) {                                                                  \
            const int j = SMALLER(at, (last)-VEC);                                                                     \
                                                                                                                       \
            vector;                                                                                                    \
        }
#else
#define PAD_LINE(to, from, inside, columns, w0)                                                                        \
    for (int j = 0; j < columns; j++) {                                                                                \
        const int w = (w0) + j * SW;                                                                                   \
                                                                                                                       \
        (to)[j] = (inside) && w >= 0 && w < W ? (from)[w] : 0.0f;                                                      \
    }
#endif
#define XLOAD(p) LOCAL_VLOAD(p)
#define STAGE_PARTS LOCAL_ARRAY float stage[STAGE_ELEMS];
#define STAGE_N LAST_AT(GROUP_N * WG_N, N_R, NB)
#define STAGE_P LAST_AT(GRP(1) * WG_Y * STRIP, Y_R, GRID_P)
#define STAGE_Q LAST_AT(GROUP_X * WG_X, ACROSS, GRID_Q)
#define STAGE(c0, c1)                                                                                                  \
    for (int i = (ID_N * WG_Y + LID(1)) * WG_X + ID_X; i < WG_N * N_R * SH * SW * STAGE_ROWS * (c1 - c0);           \
         i += WG_X * WG_Y * WG_N) {                                                                                    \
        const int line_row = i % STAGE_ROWS, line_c = i / STAGE_ROWS % (c1 - c0);                                      \
        const int phase = i / (STAGE_ROWS * (c1 - c0)) % (SH * SW), image = i / (STAGE_ROWS * (c1 - c0) * SH * SW);    \
        const int h = (STAGE_P + line_row) * SH + phase / SW - PT, n = STAGE_N + image;                                \
                                                                                                                       \
        PAD_LINE(stage + image * STAGE_IMAGE + phase * STAGE_PHASE + line_row * STAGE_ROW + line_c * STAGE_CHANNEL,    \
                 x + (((long)n * C + c0 + line_c) * H + h) * W, h >= 0 && h < H && n < NB, STAGE_COLUMNS,              \
                 STAGE_Q * SW + phase % SW - PL)                                                                       \
    }                                                                                                                  \
    BARRIER();
#define INPUTS                                                                                                         \
    const LOCAL float *a = stage + (n0 - STAGE_N) * STAGE_IMAGE + (p0 - STAGE_P) * STAGE_ROW + (q0 - STAGE_Q)
#else
#define XLOAD(p) SUM_VLOAD(p)
#define STAGE_PARTS
#define INPUTS                                                                                                         \
    GLOBAL const float *RESTRICT a = x + (long)n0 * XN_STEP + (long)p0 * XR_STEP + (long)q0 * XQ_STEP
#endif
#define KERNEL_BEGIN(name)                                                                                             \
    KERNEL GROUP_SIZE                                                                                                  \
    name(GLOBAL const float *RESTRICT x, PART_PARAM OUT_PARAMS CHUNK_PARAM)                                            \
    {                                                                                                                  \
        const int first_x = ITEM_X, first_y = ITEM_Y, tn = GROUP_N * WG_N + ID_N, n0 = LAST_AT(tn, TALL, GRID_N);     \
        STAGE_PARTS
#define KERNEL_END }
#define TILES_BEGIN                                                                                                    \
    if (first_x < TILES_X && first_y < TILES_Y && tn < TILES_N)                                                        \
        for (int t = 0, tx = first_x, ty = first_y; t < STRIP && STRIP_OF < STRIP_END; t++, STRIP_OF++) {              \
            const int p0 = LAST_AT(ty, Y_R, GRID_P), q0 = LAST_AT(tx, ACROSS, GRID_Q);                                   \
            INPUTS;
#define TILES_END }
