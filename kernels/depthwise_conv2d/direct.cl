/* SPDX-License-Identifier: MIT */
/* direct.cl - y[n,k,p,q] = sum over r,s of x[n,k/KG,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,0,r,s], all types, nchw. For Mali.
 * Two kernels: pad x into xp[n][c][HP][WP], with zeros so far that no tile needs a guard; convolve. A work-item computes
 * C_R x Y_R x X_R neighbouring outputs.
 * Knobs: C_T Y_T X_T work-items of a group along k p q; C_R Y_R X_R outputs of one; ANN_C ANN_Y ANN_X how a loop over these is
 * written: 0 as a loop, 1 unrolled, 2 as a vector (one axis at most; VEC is its extent). PAD_WG items of a padding group.
 * Launch: local (X_T, Y_T, C_T); groups (ceil(Q / (X_T*X_R)), ceil(P / (Y_T*Y_R)), NB * ceil(K / (C_T*C_R)));
 * FLAT: in the same order along the first axis, where CUDA has more room. */
#include "conv/conv.clh"
#ifndef C_T
#define C_T 1
#define C_R 1
#define Y_T 2
#define Y_R 2
#define X_T 2
#define X_R 4
#define ANN_C 0
#define ANN_Y 1
#define ANN_X 2
#define PAD_WG 4
#define FLAT 0
#endif

#define C_TILES CEIL_DIV(K, C_T *C_R)
#define HP ((CEIL_DIV(P, Y_T * Y_R) * Y_T * Y_R - 1) * SH + (R - 1) * DH + 1)
#define TILES_X CEIL_DIV(Q, X_T *X_R)
#define TILES_Y CEIL_DIV(P, Y_T *Y_R)
#define WP ((CEIL_DIV(Q, X_T * X_R) * X_T * X_R - 1) * SW + (S - 1) * DW + 1)
#define PADS CEIL_DIV(WP, PAD_WG)
/* Of a grid of so many groups along x and y. */
#if FLAT
#define GROUP_X(nx) (GRP(0) % (nx))
#define GROUP_Y(nx, ny) (GRP(0) / (nx) % (ny))
#define GROUP_Z(nx, ny) (GRP(0) / (nx) / (ny))
#else
#define GROUP_X(nx) GRP(0)
#define GROUP_Y(nx, ny) GRP(1)
#define GROUP_Z(nx, ny) GRP(2)
#endif
/* Vectors along each axis, and how far a lane is from the next. */
#define LANE_C (ANN_C == 2)
#define LANE_Y (ANN_Y == 2)
#define LANE_X (ANN_X == 2)
#define C_VECTORS (LANE_C ? 1 : C_R)
#define Y_VECTORS (LANE_Y ? 1 : Y_R)
#define X_VECTORS (LANE_X ? 1 : X_R)
#if ANN_C == 1
#define LOOP_C UNROLL
#else
#define LOOP_C NO_UNROLL
#endif
#if ANN_Y == 1
#define LOOP_Y UNROLL
#else
#define LOOP_Y NO_UNROLL
#endif
#if ANN_X == 1
#define LOOP_X UNROLL
#else
#define LOOP_X NO_UNROLL
#endif
#if R * S <= 64
#define LOOP_RS UNROLL
#else
#define LOOP_RS NO_UNROLL
#endif

KERNEL WG_SIZE(PAD_WG, 1, 1) depthwise_pad(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT xp)
{
    const int i = GROUP_X(PADS) * PAD_WG + LID(0), row = GROUP_Y(PADS, HP), h = row - PT, w = i - PL;
    const long plane = GROUP_Z(PADS, HP);

    if (i >= WP)
        return;
    STORE1(xp + (plane * HP + row) * WP + i,
           h >= 0 && h < H && w >= 0 && w < W ? LOAD1(x + (plane * H + h) * W + w) : (SUM)0);
}

/* A channel beyond the last one is computed as the last one and not written. */
#define CHANNEL(k) ((k) < K ? (k) : K - 1)

/* The input of the vector of outputs that begins at (k, p, q), for window element (r, s). */
DEVICE VT pixels_at(GLOBAL const ELEM *xp, int n, int k, int row, int column)
{
#if VEC == 1 || (ANN_X == 2 && SW == 1)
    return VLOAD(xp + ((long)(n * C + CHANNEL(k) / KG) * HP + row) * WP + column);
#else
    SUM lanes[VEC];

    UNROLL
    for (int l = 0; l < VEC; l++)
        lanes[l] = LOAD1(xp + ((long)(n * C + CHANNEL(k + l * LANE_C) / KG) * HP + row + l * LANE_Y * SH) * WP + column +
                         l * LANE_X * SW);
    return PRIVATE_VLOAD(lanes);
#endif
}

DEVICE VT weights_at(GLOBAL const ELEM *w, int k, int rs)
{
#if ANN_C == 2 && VEC > 1
    SUM lanes[VEC];

    UNROLL
    for (int l = 0; l < VEC; l++)
        lanes[l] = LOAD1(w + (long)CHANNEL(k + l) * R * S + rs);
    return PRIVATE_VLOAD(lanes);
#else
    return VSET(LOAD1(w + (long)CHANNEL(k) * R * S + rs));
#endif
}

KERNEL WG_SIZE(X_T, Y_T, C_T)
depthwise_direct(GLOBAL const ELEM *RESTRICT xp, GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
{
    const int q0 = (GROUP_X(TILES_X) * X_T + LID(0)) * X_R, p0 = (GROUP_Y(TILES_X, TILES_Y) * Y_T + LID(1)) * Y_R;
    const int plane = GROUP_Z(TILES_X, TILES_Y), k0 = (plane % C_TILES * C_T + LID(2)) * C_R, n = plane / C_TILES;
    VT acc[C_VECTORS][Y_VECTORS][X_VECTORS];

    LOOP_C
    for (int c = 0; c < C_VECTORS; c++)
        LOOP_Y
        for (int i = 0; i < Y_VECTORS; i++)
            LOOP_X
            for (int j = 0; j < X_VECTORS; j++)
                acc[c][i][j] = VSET(0);
    LOOP_C
    for (int c = 0; c < C_VECTORS; c++)
        LOOP_RS
        for (int r = 0; r < R; r++)
            LOOP_RS
            for (int s = 0; s < S; s++) {
                const VT weight = weights_at(w, k0 + c, r * S + s);

                LOOP_Y
                for (int i = 0; i < Y_VECTORS; i++)
                    LOOP_X
                    for (int j = 0; j < X_VECTORS; j++)
                        acc[c][i][j] =
                            VFMA(pixels_at(xp, n, k0 + c, (p0 + i) * SH + r * DH, (q0 + j) * SW + s * DW), weight,
                                 acc[c][i][j]);
            }
    LOOP_C
    for (int c = 0; c < C_VECTORS; c++)
        LOOP_Y
        for (int i = 0; i < Y_VECTORS; i++)
            LOOP_X
            for (int j = 0; j < X_VECTORS; j++) {
                const int k = k0 + c, p = p0 + i, q = q0 + j;
                SUM out[VEC];

#if ANN_X == 2
                if (k < K && p < P && q + VEC <= Q) {
                    STORE_YQ(Y_AT(n, k, p, q), k, acc[c][i][j]);
                    continue;
                }
#endif
                PRIVATE_VSTORE(acc[c][i][j], out);
                for (int l = 0; l < VEC; l++)
                    if (k + l * LANE_C < K && p + l * LANE_Y < P && q + l * LANE_X < Q)
                        STORE_Y(Y_AT(n, k + l * LANE_C, p + l * LANE_Y, q + l * LANE_X), k + l * LANE_C, out[l]);
            }
}
