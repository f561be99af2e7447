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

/* What an item stages, one element after the other: its place in x, which is counted on from one to the next, for
 * divisions take longer than the rest. Places outside the image are modulo 2^32. */
struct staged {
    int k, row, column;
    uint at;
};
#define COUNTED (KG == 1 && XL == 1)
#define COLUMNS_ON (ITEMS % IW)
#define ROWS_ON (ITEMS / IW % IH)
#define CHANNELS_ON (ITEMS / (IH * IW))

DEVICE struct staged staged_first(int n, int k0, int row0, int column0, int at)
{
    struct staged a;

    a.k = k0 + at / (IH * IW);
    a.row = row0 + at / IW % IH * ROW_STEP;
    a.column = column0 + at % IW * COLUMN_STEP;
    a.at = ((uint)(n * K + a.k) * H + (uint)a.row) * W + (uint)a.column;
    return a;
}

DEVICE struct staged staged_next(struct staged a, int row0, int column0)
{
    a.k += CHANNELS_ON;
    a.row += ROWS_ON * ROW_STEP;
    a.column += COLUMNS_ON * COLUMN_STEP;
    a.at += ((uint)CHANNELS_ON * H + ROWS_ON * ROW_STEP) * W + COLUMNS_ON * COLUMN_STEP;
    if (COLUMNS_ON && a.column >= column0 + IW * COLUMN_STEP) {
        a.column -= IW * COLUMN_STEP;
        a.row += ROW_STEP;
        a.at += (uint)ROW_STEP * W - IW * COLUMN_STEP;
    }
    if (ITEMS % (IH * IW) && a.row >= row0 + IH * ROW_STEP) {
        a.row -= IH * ROW_STEP;
        a.k++;
        a.at += ((uint)H - IH * ROW_STEP) * W;
    }
    return a;
}

/* Bytes with a zero point are staged without it, and packed weights, which lie as what x has, are signed. */
#ifdef UNSIGNED
#define ZERO_OF_X zero[0]
#define WEIGHT_OF(v) ((v) << 24 >> 24)
#else
#define ZERO_OF_X 0
#define WEIGHT_OF(v) (v)
#endif

/* Zero outside the image and from channel k_end on. */
DEVICE SUM staged_value(GLOBAL const ELEM *x, SUM zero_of_x, int n, int k_end, struct staged a)
{
    if (a.k >= k_end || (uint)a.row >= H || (uint)a.column >= W)
        return (SUM)0;
    return (COUNTED ? LOAD1(x + a.at) : LOAD1(x + X_AT(n, a.k / KG, a.row, a.column))) - zero_of_x;
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
    const int row0 = p0 * SH - PT, column0 = q0 * SW - PL, k_end = f0 + F_TILE < K ? f0 + F_TILE : K;
    struct staged a = staged_first(n0, f0, row0, column0, item);
    for (int first = 0; first < EACH(F_STAGED); first += F_HELD) {
        SUM held[F_HELD];

        UNROLL
        for (int i = 0; i < F_HELD; i++) {
            held[i] = staged_value(x, (SUM)ZERO_OF_X, n0, k_end, a);
            a = staged_next(a, row0, column0);
        }
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
                const SUM weight = WEIGHT_OF(ws[(r * S + s) * W_ROW + own]);

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
