/* shared.cl - y[n,k,p,q] = sum over r,s of x[n,k/KG,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,0,r,s], all types and layouts: the input of
 * a group's tile and its weights staged in local memory. For GPUs.
 * A work-group computes a tile of channels x rows x columns; along each axis it holds V strips of T work-items with R
 * neighbouring outputs each: output v*T*R + item*R + r of the tile.
 * Knobs: F_V F_T F_R, Y_V Y_T Y_R, X_V X_T X_R splits of K P Q; UNROLL_STEP the window's loops are unrolled while their body
 * stays below it.
 * Launch: local (X_T, Y_T, F_T); groups (tiles of x, tiles of y, tiles of k * NB). */
#include "conv/conv.clh"
#include "conv/strips.clh"
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
#define UNROLL_STEP 0
#endif

#define F_OWN (F_V * F_R)
#define Y_OWN (Y_V * Y_R)
#define X_OWN (X_V * X_R)
#define F_TILE (F_OWN * F_T)
#define F_TILES CEIL_DIV(K, F_TILE)
#define IH ((Y_OWN * Y_T - 1) * SH + (R - 1) * DH + 1)
#define IW ((X_OWN * X_T - 1) * SW + (S - 1) * DW + 1)
#define ITEMS (F_T * Y_T * X_T)
#if R * S * F_OWN * Y_OWN * X_OWN <= UNROLL_STEP
#define LOOP_RS UNROLL
#else
#define LOOP_RS NO_UNROLL
#endif

DEVICE SUM input_at(GLOBAL const ELEM *x, int n, int k, int row, int column)
{
    return k < K && row >= 0 && row < H && column >= 0 && column < W ? LOAD1(x + X_AT(n, k / KG, row, column)) : (SUM)0;
}

KERNEL WG_SIZE(X_T, Y_T, F_T)
depthwise_shared(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w, Y_PARAMS)
{
    LOCAL_ARRAY SUM xs[F_TILE * IH * IW];
    LOCAL_ARRAY SUM ws[F_TILE * R * S];
    const int q0 = GRP(0) * X_OWN * X_T, p0 = GRP(1) * Y_OWN * Y_T, f0 = GRP(2) % F_TILES * F_TILE, n = GRP(2) / F_TILES;
    const int item = (LID(2) * Y_T + LID(1)) * X_T + LID(0);
    SUM acc[F_OWN][Y_OWN][X_OWN];

    POISON_LOCAL(xs, F_TILE * IH * IW, item, ITEMS);
    POISON_LOCAL(ws, F_TILE * R * S, item, ITEMS);
    for (int at = item; at < F_TILE * IH * IW; at += ITEMS)
        xs[at] = input_at(x, n, f0 + at / (IH * IW), p0 * SH - PT + at / IW % IH, q0 * SW - PL + at % IW);
    for (int at = item; at < F_TILE * R * S; at += ITEMS)
        ws[at] = f0 + at / (R * S) < K ? LOAD1(w + (long)f0 * R * S + at) : (SUM)0;
    BARRIER();
    UNROLL
    for (int f = 0; f < F_OWN; f++)
        UNROLL
        for (int i = 0; i < Y_OWN; i++)
            UNROLL
            for (int j = 0; j < X_OWN; j++)
                acc[f][i][j] = 0;
    LOOP_RS
    for (int r = 0; r < R; r++)
        LOOP_RS
        for (int s = 0; s < S; s++)
            UNROLL
            for (int f = 0; f < F_OWN; f++) {
                const int own = OWN(f, F_T, F_R, LID(2));
                const SUM weight = ws[own * R * S + r * S + s];

                UNROLL
                for (int i = 0; i < Y_OWN; i++)
                    UNROLL
                    for (int j = 0; j < X_OWN; j++)
                        acc[f][i][j] = FMA1(xs[(own * IH + OWN(i, Y_T, Y_R, LID(1)) * SH + r * DH) * IW +
                                               OWN(j, X_T, X_R, LID(0)) * SW + s * DW],
                                            weight, acc[f][i][j]);
            }
    UNROLL
    for (int f = 0; f < F_OWN; f++)
        UNROLL
        for (int i = 0; i < Y_OWN; i++)
            UNROLL
            for (int j = 0; j < X_OWN; j++) {
                const int k = f0 + OWN(f, F_T, F_R, LID(2)), p = p0 + OWN(i, Y_T, Y_R, LID(1));
                const int q = q0 + OWN(j, X_T, X_R, LID(0));

                if (k < K && p < P && q < Q)
                    STORE_Y(Y_AT(n, k, p, q), k, acc[f][i][j]);
            }
}
