/* i8.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], int8 with int32 sums, tiles in local memory;
 * all layouts, groups and epilogues. For GPUs. Channels by fours: one product (gemm/dot.clh) multiplies four of an input pixel
 * by four of a weight. CG and KG are multiples of four.
 * x4: x as stored by 4, 8 or 16 channels, or packed to [n][c/4][h][w][4]; w4[k/4][c/4][r][s][k%4][c%4].
 * A work-group computes a tile of images x groups x fours of channels x rows x columns; along each axis it holds V strips of T
 * work-items with R neighbours each: the i-th of an item is i/R*T*R + item*R + i%R of the tile.
 * Knobs: N_V N_T N_R images, G_V groups (all in one work-item), F_V F_T F_R fours of output channels, Y_V Y_T Y_R rows, X_V X_T X_R
 * columns; RC_I fours of input channels, RY_I RX_I window elements staged at a time; ORDER of those stages, slowest first: 0 c r s,
 * 1 c s r, 2 r c s, 3 r s c, 4 s c r, 5 s r c; DBUF_X DBUF_W the next stage is fetched before this one is used up; FUSE_YX shape of
 * the group; UNROLL_STEP the staged loops are unrolled while the body stays below it; DOT.
 * MATRIX: dense, as one row of M pixels: M_V M_T M_R along it, N_V N_T N_R fours of its features, K_I fours of k staged.
 * Launch: local (X_T, Y_T, N_T*F_T), fused (Y_T*X_T, F_T, N_T); groups (tiles of x, tiles of y, tiles of k, g and n), fused
 * (tiles of y and x, tiles of g and k, tiles of n). Packing: one item a row of four channels; one a (k/4, c/4). */
#include "conv/conv.clh"
#include "conv/strips.clh"
#include "gemm/dot.clh"
#ifdef MATRIX
#define F_V N_V
#define F_T N_T
#define F_R N_R
#define X_V M_V
#define X_T M_T
#define X_R M_R
#define RC_I K_I
#define I_T 1
#define I_R 1
#define I_V 1
#else
#ifndef F_T
#define F_V 1
#define F_T 2
#define F_R 1
#define Y_V 1
#define Y_T 2
#define Y_R 2
#define X_V 1
#define X_T 4
#define X_R 2
#define RC_I 1
#define RY_I 1
#define RX_I 1
#define ORDER 0
#define DBUF_X 0
#define DBUF_W 0
#define UNROLL_STEP 0
#undef C
#define C 4
#endif
#ifdef N_T
#define I_V N_V
#define I_T N_T
#define I_R N_R
#else
#define I_V 1
#define I_T 1
#define I_R 1
#endif
#endif
#ifndef Y_T
#define Y_V 1
#define Y_T 1
#define Y_R 1
#endif
#ifndef RY_I
#define RY_I 1
#define RX_I 1
#endif
#ifndef ORDER
#define ORDER 0
#endif
#ifndef DBUF_X
#define DBUF_X 0
#define DBUF_W 0
#endif
#ifndef G_V
#define G_V 1
#endif
#ifndef FUSE_YX
#define FUSE_YX 0
#endif

#define C4 (CG / 4)
#define K4 (KG / 4)
#define X4L (XL == 1 ? 4 : XL) /* channels stored together in x4 */
#define X4_AT(n, c, h, w) ((((long)((n) * (C / X4L) + (c) / X4L) * H + (h)) * W + (w)) * (X4L / 4) + (c) % X4L / 4)
#define I_TILE (I_V * I_T * I_R)
#define F_TILE (F_V * F_T * F_R)
#define Y_TILE (Y_V * Y_T * Y_R)
#define X_TILE (X_V * X_T * X_R)
#define F_TILES CEIL_DIV(K4, F_TILE)
#define X_TILES CEIL_DIV(Q, X_TILE)
#define IH ((Y_TILE - 1) * SH + (RY_I - 1) * DH + 1)
#define IW ((X_TILE - 1) * SW + (RX_I - 1) * DW + 1)
#define ITEMS (I_T * F_T * Y_T * X_T)
#define I_OWN (I_V * I_R)
#define F_OWN (F_V * F_R)
#define Y_OWN (Y_V * Y_R)
#define X_OWN (X_V * X_R)
#define X_STAGED (I_TILE * G_V * RC_I * IH * IW)
#define W_STAGED (G_V * F_TILE * RC_I * RY_I * RX_I * 4)
#define STEPS_C CEIL_DIV(C4, RC_I)
#define STEPS_R CEIL_DIV(R, RY_I)
#define STEPS_S CEIL_DIV(S, RX_I)
#if RC_I * RY_I * RX_I * G_V * I_OWN * F_OWN * 4 * Y_OWN * X_OWN <= UNROLL_STEP
#define LOOP_STAGED UNROLL
#else
#define LOOP_STAGED NO_UNROLL
#endif
#if FUSE_YX
#define LX (Y_T * X_T)
#define LY F_T
#define LZ I_T
#else
#define LX X_T
#define LY Y_T
#define LZ (I_T * F_T)
#endif

#if XL == 1
KERNEL WG_SIZE(1, 1, 1) i8_pack_x(GLOBAL const char *RESTRICT x, GLOBAL int *RESTRICT x4)
{
    const int h = GRP(0), c = GRP(1) * 4, n = GRP(2);
    GLOBAL const uchar *from = (GLOBAL const uchar *)(x + X_AT(n, c, h, 0));
    GLOBAL int *to = x4 + X4_AT(n, c, h, 0);

    for (int i = 0; i < W; i++)
        to[i] = (int)from[i] | (int)from[i + H * W] << 8 | (int)from[i + 2 * H * W] << 16 | (int)from[i + 3 * H * W] << 24;
}
#endif

KERNEL WG_SIZE(1, 1, 1) i8_pack_w(GLOBAL const char *RESTRICT w, GLOBAL int *RESTRICT w4)
{
    const int k = GRP(0) * 4, c = GRP(1) * 4;

    for (int rs = 0; rs < R * S; rs++)
        for (int i = 0; i < 4; i++) {
            int v = 0;

            for (int j = 0; j < 4; j++)
                v |= (int)(uchar)w[W_AT(k + i, c + j, rs / S, rs % S)] << (8 * j);
            w4[((GRP(0) * C4 + GRP(1)) * R * S + rs) * 4 + i] = v;
        }
}

/* Four channels of an input pixel: zero outside the image and after the last. */
DEVICE int input_at(GLOBAL const int *x4, int n, int g, int c4, int row, int column)
{
    if (n >= NB || c4 >= C4 || row < 0 || row >= H || column < 0 || column >= W)
        return 0;
    return x4[X4_AT(n, g * CG + c4 * 4, row, column)];
}

DEVICE int weight_at(GLOBAL const int *w4, int g, int f, int i, int c4, int r, int s)
{
    return f < K4 && c4 < C4 && r < R && s < S ? w4[((((long)(g * K4 + f) * C4 + c4) * R + r) * S + s) * 4 + i] : 0;
}

/* Fetches stage `step` of the input or the weights into the local array `to`. */
#define STAGE_X(to, step)                                                                                              \
    for (int at = item; at < X_STAGED; at += ITEMS) {                                                                  \
        const int j = at % IW, i = at / IW % IH, c = at / (IW * IH) % RC_I, g = at / (IW * IH * RC_I) % G_V;           \
                                                                                                                       \
        (to)[at] = input_at(x4, n0 + at / (IW * IH * RC_I * G_V), g0 + g, STEP_C(step) * RC_I + c,                     \
                            p0 * SH + STEP_R(step) * RY_I * DH - PT + i, q0 * SW + STEP_S(step) * RX_I * DW - PL + j); \
    }
#define STAGE_W(to, step)                                                                                              \
    for (int at = item; at < W_STAGED; at += ITEMS) {                                                                  \
        const int s = at / 4 % RX_I, r = at / (4 * RX_I) % RY_I, c = at / (4 * RX_I * RY_I) % RC_I;                    \
        const int f = at / (4 * RX_I * RY_I * RC_I) % F_TILE, g = at / (4 * RX_I * RY_I * RC_I * F_TILE);              \
                                                                                                                       \
        (to)[at] = weight_at(w4, g0 + g, f0 + f, at % 4, STEP_C(step) * RC_I + c, STEP_R(step) * RY_I + r,             \
                             STEP_S(step) * RX_I + s);                                                                 \
    }

KERNEL WG_SIZE(LX, LY, LZ) conv2d_i8(GLOBAL const int *RESTRICT x4, GLOBAL const int *RESTRICT w4, Y_PARAMS)
{
    LOCAL_ARRAY int xs[(1 + DBUF_X) * X_STAGED];
    LOCAL_ARRAY int ws[(1 + DBUF_W) * W_STAGED];
#if FUSE_YX
    const int xt = LID(0) % X_T, yt = LID(0) / X_T, ft = LID(1), nt = LID(2);
    const int q0 = GRP(0) % X_TILES * X_TILE, p0 = GRP(0) / X_TILES * Y_TILE;
    const int f0 = GRP(1) % F_TILES * F_TILE, g0 = GRP(1) / F_TILES * G_V, n0 = GRP(2) * I_TILE;
#else
    const int xt = LID(0), yt = LID(1), ft = LID(2) % F_T, nt = LID(2) / F_T;
    const int q0 = GRP(0) * X_TILE, p0 = GRP(1) * Y_TILE, f0 = GRP(2) % F_TILES * F_TILE;
    const int g0 = GRP(2) / F_TILES % (GROUPS / G_V) * G_V, n0 = GRP(2) / (F_TILES * (GROUPS / G_V)) * I_TILE;
#endif
    const int item = ((nt * F_T + ft) * Y_T + yt) * X_T + xt;
    int acc[G_V][I_OWN][F_OWN][Y_OWN][X_OWN][4];

    UNROLL
    for (int g = 0; g < G_V; g++)
        UNROLL
        for (int n = 0; n < I_OWN; n++)
            UNROLL
            for (int f = 0; f < F_OWN; f++)
                UNROLL
                for (int i = 0; i < Y_OWN; i++)
                    UNROLL
                    for (int j = 0; j < X_OWN; j++)
                        UNROLL
                        for (int a = 0; a < 4; a++)
                            acc[g][n][f][i][j][a] = 0;
#if DBUF_X
    STAGE_X(xs, 0)
#endif
#if DBUF_W
    STAGE_W(ws, 0)
#endif
    for (int step = 0; step < N_STEPS; step++) {
#if !DBUF_X
        STAGE_X(xs, step)
#endif
#if !DBUF_W
        STAGE_W(ws, step)
#endif
        BARRIER();
#if DBUF_X
        if (step + 1 < N_STEPS)
            STAGE_X(xs + (step + 1) % 2 * X_STAGED, step + 1)
#endif
#if DBUF_W
        if (step + 1 < N_STEPS)
            STAGE_W(ws + (step + 1) % 2 * W_STAGED, step + 1)
#endif
        LOOP_STAGED
        for (int c = 0; c < RC_I; c++)
            LOOP_STAGED
            for (int r = 0; r < RY_I; r++)
                LOOP_STAGED
                for (int s = 0; s < RX_I; s++)
                    UNROLL
                    for (int g = 0; g < G_V; g++)
                        UNROLL
                        for (int n = 0; n < I_OWN; n++) {
                            LOCAL const int *image = xs + step % (1 + DBUF_X) * X_STAGED +
                                                     ((OWN(n, I_T, I_R, nt) * G_V + g) * RC_I + c) * IH * IW +
                                                     r * DH * IW + s * DW;

                            UNROLL
                            for (int f = 0; f < F_OWN; f++) {
                                LOCAL const int *weight =
                                    ws + step % (1 + DBUF_W) * W_STAGED +
                                    ((((g * F_TILE + OWN(f, F_T, F_R, ft)) * RC_I + c) * RY_I + r) * RX_I + s) * 4;

                                UNROLL
                                for (int i = 0; i < Y_OWN; i++)
                                    UNROLL
                                    for (int j = 0; j < X_OWN; j++) {
                                        const int pixel =
                                            image[OWN(i, Y_T, Y_R, yt) * SH * IW + OWN(j, X_T, X_R, xt) * SW];

                                        UNROLL
                                        for (int a = 0; a < 4; a++)
                                            acc[g][n][f][i][j][a] = DOT4(pixel, weight[a], acc[g][n][f][i][j][a]);
                                    }
                            }
                        }
#if !(DBUF_X && DBUF_W)
        BARRIER();
#endif
    }
    UNROLL
    for (int g = 0; g < G_V; g++)
        UNROLL
        for (int n = 0; n < I_OWN; n++)
            UNROLL
            for (int f = 0; f < F_OWN; f++)
                UNROLL
                for (int i = 0; i < Y_OWN; i++)
                    UNROLL
                    for (int j = 0; j < X_OWN; j++) {
                        const int image = n0 + OWN(n, I_T, I_R, nt), of = f0 + OWN(f, F_T, F_R, ft);
                        const int p = p0 + OWN(i, Y_T, Y_R, yt), q = q0 + OWN(j, X_T, X_R, xt);
                        const int k = (g0 + g) * KG + of * 4;

                        if (image < NB && of < K4 && p < P && q < Q) {
#if VEC == 4
                            STORE_YK(Y_AT(image, k, p, q), k, PRIVATE_VLOAD(acc[g][n][f][i][j]));
#else
                            UNROLL
                            for (int a = 0; a < 4; a++)
                                STORE_Y(Y_AT(image, k + a, p, q), k + a, acc[g][n][f][i][j][a]);
#endif
                        }
                    }
}
