/* SPDX-License-Identifier: MIT */
/* winograd_tile.cl - y[n,k,p,q] = sum over c,r,s of x[n,c,p+r-PT,q+s-PL] * w[k,c,r,s] by F(M x M, 3 x 3), for CPUs. x, y: f32 or
 * f16, nchw or in blocks of VEC channels; w kcrs. U, V, products, sums: SUM.
 * A block is ROWS rows of tiles of one image: TILES = ROWS * NW tiles in PANELS of MR. For all e of the ALPHA x ALPHA places:
 *   V[e][panel][c/VEC][MR][VEC] = B^T d B, a vector of channels at a time; nchw input is transposed into a padded strip first;
 *   U[k/KR][e][c][KR] (FUSED), U[e][k/KR][c][KR] = G w G^T, packed once, KR = NV * VEC; products[e][tile][KR] = V[e] * U[e];
 *   y = A^T products A, in vectors of channels; for nchw through z[pixel][VEC], transposed into vectors of pixels.
 * Knobs: M 2 4; VEC lanes; NV vectors of channels and MR tiles in registers; ROWS rows of tiles of a block; KU channels unrolled;
 * AHEAD 1: the next panel of U is prefetched; FUSED 1: one work-item does a block from x to y in local memory; 0: three launches over global scratch, each place's U read once.
 * Launch: local 1; groups: pack (KB, CV * VEC); FUSED (BLOCKS); else in (CV, BLOCKS), gemm (KB, AREA), out (KB, BLOCKS). */
#include "conv2d/winograd.clh"
#include "conv/turned.clh"
/* Its meaning for parameters of inlined functions is an intrinsic of LLVM that Oclgrind does not know; nothing here needs it. */
#undef RESTRICT
#define RESTRICT
#ifndef MR
#define MR 4
#define NV 1
#define ROWS 1
#define KU 1
#define FUSED 1
#define AHEAD 1
#endif

#define CV CEIL_DIV(C, VEC)
#define KR (NV * VEC)
#define KB CEIL_DIV(K, KR)
#define TILES (ROWS * NW)
#define PANELS CEIL_DIV(TILES, MR)
#define BLOCKS_H CEIL_DIV(NH, ROWS)
#define V_PLACE (PANELS * CV * MR * VEC)
#define PRODUCTS_PLACE (PANELS * MR * KR)
#define U_PANEL (CV * VEC * KR)
#define STRIP_H (ROWS * M + 2)
#define STRIP_W (NW * M + 2)
#if FUSED
#define U_PLACE(kb, e) ((long)((kb)*AREA + (e)) * U_PANEL)
#define U_SHARERS PANELS
#define SCRATCH LOCAL
#define SCRATCH_VSTORE LOCAL_VSTORE
#define SCRATCH_VLOAD LOCAL_VLOAD
#else
#define U_PLACE(kb, e) ((long)((e)*KB + (kb)) * U_PANEL)
#define U_SHARERS (NB * BLOCKS_H * PANELS)
#define SCRATCH GLOBAL
#define SCRATCH_VSTORE SUM_VSTORE
#define SCRATCH_VLOAD SUM_VLOAD
#endif

KERNEL WG_SIZE(1, 1, 1) winograd_tile_pack(GLOBAL const ELEM *RESTRICT w, GLOBAL SUM *RESTRICT u)
{
    const int kb = GRP(0), c = GRP(1);

    for (int i = 0; i < KR; i++)
        TRANSFORM_WEIGHT(u + U_PLACE(kb, 0) + c * KR + i, U_PLACE(0, 1), w, kb * KR + i, c)
}

#if XL == 1
/* Zeros around the image, rows h0 .. of it between. */
DEVICE void clear_border(LOCAL SUM *RESTRICT strip, int h0)
{
    for (int i = 0; i < STRIP_H; i++) {
        const int outside = h0 + i < 0 || h0 + i >= H;

        for (int j = 0; j < STRIP_W; j++)
            if (outside || j < PL || j >= PL + W)
                LOCAL_VSTORE(VSET(0), strip + (i * STRIP_W + j) * VEC);
    }
}

/* Pixels are taken as they lie in memory, rows after rows, VEC at a time; the last VEC may overlap those before. */
DEVICE void fill_strip(GLOBAL const ELEM *RESTRICT x, LOCAL SUM *RESTRICT strip, int cv, int h0)
{
    const int begin = (h0 > 0 ? h0 : 0) * W, end = (h0 + STRIP_H < H ? h0 + STRIP_H : H) * W;

    clear_border(strip, h0);
    if (cv * VEC + VEC <= C && end - begin >= VEC)
        for (int i = begin; i < end; i += VEC) {
            const int from = i + VEC <= end ? i : end - VEC;
            VT r[VEC];

            UNROLL
            for (int l = 0; l < VEC; l++)
                r[l] = VLOAD(x + (long)(cv * VEC + l) * H * W + from);
            TRANSPOSE(r)
            UNROLL
            for (int l = 0; l < VEC; l++)
                LOCAL_VSTORE(r[l], strip + (((from + l) / W - h0) * STRIP_W + (from + l) % W + PL) * VEC);
        }
    else
        for (int i = begin; i < end; i++)
            for (int l = 0; l < VEC; l++)
                strip[((i / W - h0) * STRIP_W + i % W + PL) * VEC + l] =
                    cv * VEC + l < C ? LOAD1(x + (long)(cv * VEC + l) * H * W + i) : (SUM)0;
}
#define STRIP_PARAM , LOCAL SUM *RESTRICT strip
#define STRIP_ARG , strip
#define STRIP_ARRAY LOCAL_ARRAY SUM strip[STRIP_H * STRIP_W * VEC];
#define POISON_STRIP POISON_LOCAL(strip, STRIP_H * STRIP_W * VEC, 0, 1);
#define PIXEL(a, b) LOCAL_VLOAD(strip + ((i * M + (a)) * STRIP_W + j * M + (b)) * VEC)
#else
#define STRIP_PARAM
#define STRIP_ARG
#define STRIP_ARRAY
#define POISON_STRIP
#define INSIDE(a, b) (h + (a) >= 0 && h + (a) < H && left + (b) >= 0 && left + (b) < W)
#define PIXEL(a, b) (whole || INSIDE(a, b) ? VLOAD(from + ((a)*W + (b)) * VEC) : VSET(0))
#endif

/* One vector of channels of a block's tiles; x: of this image. */
DEVICE void transform_input(GLOBAL const ELEM *RESTRICT x, SCRATCH SUM *RESTRICT v, int cv, int row0 STRIP_PARAM)
{
#if XL == 1
    fill_strip(x, strip, cv, row0 * M - PT);
#endif
    for (int t = 0; t < TILES; t++) {
        const int i = t / NW, j = t % NW;
        SCRATCH SUM *RESTRICT to = v + ((t / MR * CV + cv) * MR + t % MR) * VEC;
        VT mid[ALPHA][ALPHA];
#if XL != 1
        const int h = (row0 + i) * M - PT, left = j * M - PL;
        const int whole = h >= 0 && h + ALPHA <= H && left >= 0 && left + ALPHA <= W;
        GLOBAL const ELEM *RESTRICT from = x + (((long)cv * H + h) * W + left) * VEC;
#endif

#define AT_PIXEL(a) PIXEL(a, b)
#define AT_MID(a) mid[a][b]
        UNROLL
        for (int b = 0; b < ALPHA; b++) {
            VT d[ALPHA];

            UNROLL
            for (int a = 0; a < ALPHA; a++)
                d[a] = PIXEL(a, b);
#define AT_D(a) d[a]
            INPUT_1D(VECTOR_F, VT, AT_MID, AT_D)
        }
#define AT_MIDS(b) mid[a][b]
        UNROLL
        for (int a = 0; a < ALPHA; a++) {
            VT d[ALPHA];

            INPUT_1D(VECTOR_F, VT, AT_D, AT_MIDS)
            UNROLL
            for (int b = 0; b < ALPHA; b++)
                SCRATCH_VSTORE(d[b], to + (a * ALPHA + b) * V_PLACE);
        }
    }
}

/* Each of the panels that use one panel of U asks for its part of the next one, in lines of 16 elements. */
#define U_LINES CEIL_DIV(VEC * KR, 16 * U_SHARERS)
#if AHEAD
#define ASK(next, cv)                                                                                                  \
    UNROLL                                                                                                             \
    for (int line = 0; line < U_LINES; line++)                                                                         \
        PREFETCH2((next) + ((cv)*U_LINES + line) * 16);
#else
#define ASK(next, cv)
#endif

/* products[MR][KR] of panel `sharer` of those that use this u, at one place: all channels. */
DEVICE void multiply(GLOBAL const SUM *RESTRICT u, SCRATCH const SUM *RESTRICT v, SCRATCH SUM *RESTRICT products,
                     int sharer)
{
    GLOBAL const SUM *next = u + U_PANEL + sharer * CV * U_LINES * 16;
    VT acc[MR][NV];

    UNROLL
    for (int i = 0; i < MR; i++)
        UNROLL
        for (int k = 0; k < NV; k++)
            acc[i][k] = VSET(0);
    for (int cv = 0; cv < CV; cv++) {
        ASK(next, cv)
        UNROLL_BY(KU)
        for (int c = 0; c < VEC; c++) {
            VT weight[NV];

            UNROLL
            for (int k = 0; k < NV; k++)
                weight[k] = SUM_VLOAD(u + (cv * VEC + c) * KR + k * VEC);
            UNROLL
            for (int i = 0; i < MR; i++) {
                const VT pixel = VSET(v[(cv * MR + i) * VEC + c]);

                UNROLL
                for (int k = 0; k < NV; k++)
                    acc[i][k] = VFMA(pixel, weight[k], acc[i][k]);
            }
        }
    }
    UNROLL
    for (int i = 0; i < MR; i++)
        UNROLL
        for (int k = 0; k < NV; k++)
            SCRATCH_VSTORE(acc[i][k], products + i * KR + k * VEC);
}

#if YL == 1
#define Z_PARAM , LOCAL SUM *RESTRICT z
#define Z_ARG , z
#define Z_ARRAY LOCAL_ARRAY SUM z[ROWS * M * Q * VEC];
#define POISON_Z POISON_LOCAL(z, ROWS * M * Q * VEC, 0, 1);
#define STORE_PIXEL(p, q, value) LOCAL_VSTORE(value, z + (((p)-row0 * M) * Q + (q)) * VEC)
#else
#define Z_PARAM
#define Z_ARG
#define Z_ARRAY
#define POISON_Z
#define STORE_PIXEL(p, q, value) STORE_YK(Y_AT(n, k, p, q), k, value)
#endif

/* VEC channels from k on of a block's tiles; products: of the first of them. */
DEVICE void transform_output(SCRATCH const SUM *RESTRICT products, int n, int k, int row0 Z_PARAM, Y_PARAMS)
{
    if (k >= K)
        return;
    for (int t = 0; t < TILES; t++) {
        const int p = (row0 + t / NW) * M, q = t % NW * M;
        SCRATCH const SUM *RESTRICT from = products + t * KR;
        VT mid[M][ALPHA];

        UNROLL
        for (int b = 0; b < ALPHA; b++) {
            VT d[ALPHA];

            UNROLL
            for (int a = 0; a < ALPHA; a++)
                d[a] = SCRATCH_VLOAD(from + (a * ALPHA + b) * PRODUCTS_PLACE);
            OUTPUT_1D(VECTOR_F, VT, AT_MID, AT_D)
        }
        UNROLL
        for (int a = 0; a < M; a++) {
            VT d[M];

            OUTPUT_1D(VECTOR_F, VT, AT_D, AT_MIDS)
            UNROLL
            for (int b = 0; b < M; b++)
                if ((P % (ROWS * M) == 0 || p + a < P) && (Q % M == 0 || q + b < Q))
                    STORE_PIXEL(p + a, q + b, d[b]);
        }
    }
#if YL == 1
    store_turned(z, VEC, (row0 + ROWS) * M < P ? ROWS * M * Q : (P - row0 * M) * Q, n, 0, k, row0 * M, 0, Y_ARGS);
#endif
}

#define BLOCK_SIZE(place) ((long)AREA * (place))
#define X_IMAGE(n) (x + (long)(n)*C * H * W)
#if FUSED
KERNEL WG_SIZE(1, 1, 1) winograd_tile(GLOBAL const ELEM *RESTRICT x, GLOBAL const SUM *RESTRICT u, Y_PARAMS)
{
    LOCAL_ARRAY SUM v[AREA * V_PLACE], products[AREA * PRODUCTS_PLACE];
    STRIP_ARRAY
    Z_ARRAY
    const int n = GRP(0) / BLOCKS_H, row0 = GRP(0) % BLOCKS_H * ROWS;

    POISON_LOCAL(v, AREA * V_PLACE, 0, 1);
    POISON_LOCAL(products, AREA * PRODUCTS_PLACE, 0, 1);
    POISON_STRIP
    POISON_Z
    for (int cv = 0; cv < CV; cv++)
        transform_input(X_IMAGE(n), v, cv, row0 STRIP_ARG);
    for (int kb = 0; kb < KB; kb++) {
        for (int e = 0; e < AREA; e++)
            for (int panel = 0; panel < PANELS; panel++)
                multiply(u + U_PLACE(kb, e), v + e * V_PLACE + panel * CV * MR * VEC,
                         products + e * PRODUCTS_PLACE + panel * MR * KR, panel);
        for (int i = 0; i < NV; i++)
            transform_output(products + i * VEC, n, kb * KR + i * VEC, row0 Z_ARG, Y_ARGS);
    }
}
#else
#define BLOCKS (NB * BLOCKS_H)

KERNEL WG_SIZE(1, 1, 1) winograd_tile_in(GLOBAL const ELEM *RESTRICT x, GLOBAL SUM *RESTRICT v)
{
    STRIP_ARRAY
    const int cv = GRP(0), block = GRP(1);

    POISON_STRIP
    transform_input(X_IMAGE(block / BLOCKS_H), v + block * BLOCK_SIZE(V_PLACE), cv, block % BLOCKS_H * ROWS STRIP_ARG);
}

KERNEL WG_SIZE(1, 1, 1) winograd_tile_gemm(GLOBAL const SUM *RESTRICT u, GLOBAL const SUM *RESTRICT v,
                                           GLOBAL SUM *RESTRICT products)
{
    const int kb = GRP(0), e = GRP(1);

    for (int block = 0; block < BLOCKS; block++)
        for (int panel = 0; panel < PANELS; panel++)
            multiply(u + U_PLACE(kb, e), v + block * BLOCK_SIZE(V_PLACE) + e * V_PLACE + panel * CV * MR * VEC,
                     products + (kb * BLOCKS + block) * BLOCK_SIZE(PRODUCTS_PLACE) + e * PRODUCTS_PLACE + panel * MR * KR,
                     block * PANELS + panel);
}

KERNEL WG_SIZE(1, 1, 1) winograd_tile_out(GLOBAL const SUM *RESTRICT products, Y_PARAMS)
{
    Z_ARRAY
    const int kb = GRP(0), block = GRP(1);

    POISON_Z
    for (int i = 0; i < NV; i++)
        transform_output(products + (kb * BLOCKS + block) * BLOCK_SIZE(PRODUCTS_PLACE) + i * VEC, block / BLOCKS_H,
                         kb * KR + i * VEC, block % BLOCKS_H * ROWS Z_ARG, Y_ARGS);
}
#endif
