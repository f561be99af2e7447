/* direct.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], tiles in local memory; all types,
 * layouts, groups and epilogues. For GPUs.
 * A work-group computes a tile of images x groups x channels (of a group) x rows x columns; along each axis it holds
 * V strips of T work-items with R neighbouring outputs each: output v*T*R + item*R + r of the tile.
 * Knobs (axes and ORDER: conv/strips.clh): N_V N_T N_R, G_V (groups of channels, all in one work-item), F_V F_T F_R, Y_V Y_T Y_R, X_V X_T X_R; RC_I RY_I RX_I channels
 * and window elements staged in local memory at a time; ORDER of those stages; FUSE_YX shape of the group; UNROLL_STEP the staged loops are unrolled while the body stays below it.
 * Launch: local (X_T, Y_T, N_T*F_T), fused (Y_T*X_T, F_T, N_T); groups (tiles of x, tiles of y, tiles of k, g and n), fused
 * (tiles of y and x, tiles of g and k, tiles of n). */
#include "conv/conv.clh"
#include "conv/strips.clh"
#ifndef F_T
#define F_V 1
#define F_T 2
#define F_R 2
#define Y_V 1
#define Y_T 2
#define Y_R 2
#define X_V 1
#define X_T 4
#define X_R 2
#define RC_I 2
#define RY_I 1
#define RX_I 1
#define ORDER 0
#define UNROLL_STEP 0
#endif
#ifndef N_T
#define N_V 1
#define N_T 1
#define N_R 1
#define G_V 1
#define FUSE_YX 0
#endif

#define N_TILE (N_V * N_T * N_R)
#define F_TILE (F_V * F_T * F_R)
#define Y_TILE (Y_V * Y_T * Y_R)
#define X_TILE (X_V * X_T * X_R)
#define F_TILES CEIL_DIV(KG, F_TILE)
#define X_TILES CEIL_DIV(Q, X_TILE)
#define IH ((Y_TILE - 1) * SH + (RY_I - 1) * DH + 1)
#define IW ((X_TILE - 1) * SW + (RX_I - 1) * DW + 1)
#define ITEMS (N_T * F_T * Y_T * X_T)
#define N_OWN (N_V * N_R)
#define F_OWN (F_V * F_R)
#define Y_OWN (Y_V * Y_R)
#define X_OWN (X_V * X_R)
#define X_STAGED (N_TILE * G_V * RC_I * IH * IW)
#define W_STAGED (G_V * F_TILE * RC_I * RY_I * RX_I)
#define STEPS_C CEIL_DIV(CG, RC_I)
#define STEPS_R CEIL_DIV(R, RY_I)
#define STEPS_S CEIL_DIV(S, RX_I)
#if RC_I * RY_I * RX_I * G_V * N_OWN * F_OWN * Y_OWN * X_OWN <= UNROLL_STEP
#define LOOP_STAGED UNROLL
#else
#define LOOP_STAGED NO_UNROLL
#endif
#if FUSE_YX
#define LX (Y_T * X_T)
#define LY F_T
#define LZ N_T
#else
#define LX X_T
#define LY Y_T
#define LZ (N_T * F_T)
#endif

/* Element (i_n, i_g, c, row, column) of the staged input: zero outside the image and beyond the last channel. */
DEVICE SUM input_at(GLOBAL const ELEM *x, int n, int g, int c, int row, int column)
{
    if (n >= NB || c >= CG || row < 0 || row >= H || column < 0 || column >= W)
        return 0;
    return LOAD1(x + X_AT(n, g * CG + c, row, column));
}

DEVICE SUM weight_at(GLOBAL const ELEM *w, int g, int f, int c, int r, int s)
{
    return f < KG && c < CG && r < R && s < S ? LOAD1(w + W_AT(g * KG + f, c, r, s)) : (SUM)0;
}

KERNEL WG_SIZE(LX, LY, LZ) conv2d_direct(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
{
    LOCAL_ARRAY SUM xs[X_STAGED];
    LOCAL_ARRAY SUM ws[W_STAGED];
#if FUSE_YX
    const int xt = LID(0) % X_T, yt = LID(0) / X_T, ft = LID(1), nt = LID(2);
    const int q0 = GRP(0) % X_TILES * X_TILE, p0 = GRP(0) / X_TILES * Y_TILE;
    const int f0 = GRP(1) % F_TILES * F_TILE, g0 = GRP(1) / F_TILES * G_V, n0 = GRP(2) * N_TILE;
#else
    const int xt = LID(0), yt = LID(1), ft = LID(2) % F_T, nt = LID(2) / F_T;
    const int q0 = GRP(0) * X_TILE, p0 = GRP(1) * Y_TILE, f0 = GRP(2) % F_TILES * F_TILE;
    const int g0 = GRP(2) / F_TILES % (GROUPS / G_V) * G_V, n0 = GRP(2) / (F_TILES * (GROUPS / G_V)) * N_TILE;
#endif
    const int item = ((nt * F_T + ft) * Y_T + yt) * X_T + xt;
    SUM acc[G_V][N_OWN][F_OWN][Y_OWN][X_OWN];

    POISON_LOCAL(xs, X_STAGED, item, ITEMS);
    POISON_LOCAL(ws, W_STAGED, item, ITEMS);
    UNROLL
    for (int g = 0; g < G_V; g++)
        UNROLL
        for (int n = 0; n < N_OWN; n++)
            UNROLL
            for (int f = 0; f < F_OWN; f++)
                UNROLL
                for (int i = 0; i < Y_OWN; i++)
                    UNROLL
                    for (int j = 0; j < X_OWN; j++)
                        acc[g][n][f][i][j] = 0;
    for (int step = 0; step < N_STEPS; step++) {
        const int c0 = STEP_C(step) * RC_I, r0 = STEP_R(step) * RY_I, s0 = STEP_S(step) * RX_I;

        for (int at = item; at < X_STAGED; at += ITEMS) {
            const int j = at % IW, i = at / IW % IH, c = at / (IW * IH) % RC_I, g = at / (IW * IH * RC_I) % G_V;
            const int n = at / (IW * IH * RC_I * G_V);

            xs[at] = input_at(x, n0 + n, g0 + g, c0 + c, p0 * SH + r0 * DH - PT + i, q0 * SW + s0 * DW - PL + j);
        }
        for (int at = item; at < W_STAGED; at += ITEMS) {
            const int s = at % RX_I, r = at / RX_I % RY_I, c = at / (RX_I * RY_I) % RC_I;
            const int f = at / (RX_I * RY_I * RC_I) % F_TILE, g = at / (RX_I * RY_I * RC_I * F_TILE);

            ws[at] = weight_at(w, g0 + g, f0 + f, c0 + c, r0 + r, s0 + s);
        }
        BARRIER();
        LOOP_STAGED
        for (int c = 0; c < RC_I; c++)
            LOOP_STAGED
            for (int r = 0; r < RY_I; r++)
                LOOP_STAGED
                for (int s = 0; s < RX_I; s++)
                    UNROLL
                    for (int g = 0; g < G_V; g++)
                        UNROLL
                        for (int n = 0; n < N_OWN; n++) {
                            LOCAL const SUM *image =
                                xs + ((OWN(n, N_T, N_R, nt) * G_V + g) * RC_I + c) * IH * IW + r * DH * IW + s * DW;

                            UNROLL
                            for (int f = 0; f < F_OWN; f++) {
                                const SUM weight =
                                    ws[(((g * F_TILE + OWN(f, F_T, F_R, ft)) * RC_I + c) * RY_I + r) * RX_I + s];

                                UNROLL
                                for (int i = 0; i < Y_OWN; i++)
                                    UNROLL
                                    for (int j = 0; j < X_OWN; j++)
                                        acc[g][n][f][i][j] =
                                            FMA1(image[OWN(i, Y_T, Y_R, yt) * SH * IW + OWN(j, X_T, X_R, xt) * SW],
                                                 weight, acc[g][n][f][i][j]);
                            }
                        }
        BARRIER();
    }
    UNROLL
    for (int g = 0; g < G_V; g++)
        UNROLL
        for (int n = 0; n < N_OWN; n++)
            UNROLL
            for (int f = 0; f < F_OWN; f++)
                UNROLL
                for (int i = 0; i < Y_OWN; i++)
                    UNROLL
                    for (int j = 0; j < X_OWN; j++) {
                        const int image = n0 + OWN(n, N_T, N_R, nt), of = f0 + OWN(f, F_T, F_R, ft);
                        const int p = p0 + OWN(i, Y_T, Y_R, yt), q = q0 + OWN(j, X_T, X_R, xt), k = (g0 + g) * KG + of;

                        if (image < NB && of < KG && p < P && q < Q)
                            STORE_Y(Y_AT(image, k, p, q), k, acc[g][n][f][i][j]);
                    }
}
