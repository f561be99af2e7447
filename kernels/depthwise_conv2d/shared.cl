/* SPDX-License-Identifier: MIT */
/* shared.cl - y[n,k,p,q] = sum over r,s of x[n,k/KG,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,0,r,s], all types and layouts: the input of
 * a group's tile and its weights staged in local memory. For GPUs. Tiles, knobs and launch: conv/strips.clh, without those of n and
 * g; the whole window is one stage. */
#include "conv/conv.clh"
#define F_SIZE K
#define C_SIZE 1
#define G_SIZE 1
#define RC_I 1
#define RY_I R
#define RX_I S
#include "conv/strips_plain.clh"

#define F_STAGED (F_TILE * IH * IW)
#define F_HELD (EACH(F_STAGED) < MOST_HELD ? EACH(F_STAGED) : MOST_HELD)

/* Element `at` of the staged input of a tile that begins at channel k0: zero outside the image and beyond the last. */
DEVICE SUM staged_at(GLOBAL const ELEM *x, int n, int k0, int row0, int column0, int at)
{
    const int k = k0 + at / (IH * IW), row = row0 + at / IW % IH * ROW_STEP, column = column0 + at % IW * COLUMN_STEP;

    return at < F_STAGED && k < K && row >= 0 && row < H && column >= 0 && column < W ? LOAD1(x + X_AT(n, k / KG, row, column))
                                                                                      : (SUM)0;
}

KERNEL WG_SIZE(LX, LY, LZ) depthwise_shared(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT wp, Y_PARAMS)
{
    LOCAL_ALIGNED SUM ws[W_STAGE];
    LOCAL_ARRAY SUM xs[F_STAGED];
    STRIPS_PLACE;
    GLOBAL const ELEM *STEPPED weights = W_FIRST;
    SUMS_ARRAY(acc);

    POISON_LOCAL(xs, F_STAGED, item, ITEMS);
    POISON_LOCAL(ws, W_STAGE, item, ITEMS);
    for (int first = 0; first < EACH(F_STAGED); first += F_HELD) {
        SUM held[F_HELD];

        UNROLL
        for (int i = 0; i < F_HELD; i++)
            held[i] = staged_at(x, n0, f0, p0 * SH - PT, q0 * SW - PL, item + (first + i) * ITEMS);
        UNROLL
        for (int i = 0; i < F_HELD; i++)
            if (item + (first + i) * ITEMS < F_STAGED)
                xs[item + (first + i) * ITEMS] = held[i];
    }
    STAGE_W(ws, 0)
    BARRIER();
    EACH_OUTPUT acc[g][n][f][i][j] = 0;
    LOOP_STAGED
    for (int r = 0; r < R; r++)
        LOOP_STAGED
        for (int s = 0; s < S; s++)
            UNROLL
            for (int f = 0; f < F_OWN; f++) {
                const int own = OWN(f, F_T, F_R, ft);
                const SUM weight = ws[(r * S + s) * W_ROW + own];

                UNROLL
                for (int i = 0; i < Y_OWN; i++)
                    UNROLL
                    for (int j = 0; j < X_OWN; j++)
                        acc[0][0][f][i][j] = FMA1(xs[(own * IH + OWN(i, Y_T, Y_R, yt) * ROW_APART + r * DH) * IW +
                                                     OWN(j, X_T, X_R, xt) * COLUMN_APART + s * DW],
                                                  weight, acc[0][0][f][i][j]);
            }
    PUT_OUTPUTS(acc)
}
