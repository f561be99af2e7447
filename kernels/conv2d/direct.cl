/* SPDX-License-Identifier: MIT */
/* direct.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], tiles in local memory; all types,
 * layouts, groups and epilogues. For GPUs. Tiles, knobs and launch: conv/strips.clh; VEC neighbouring channels f are a vector (VEC
 * divides F_R). */
#include "conv/conv.clh"
#define F_SIZE KG
#define C_SIZE CG
#define F_LANES VEC
#include "conv/strips_plain.clh"

/* Element (i_n, i_g, c, row, column) of the staged input: zero outside the image and beyond the last channel. */
DEVICE SUM input_at(GLOBAL const ELEM *x, int n, int g, int c, int row, int column)
{
    if (n >= NB || c >= CG || row < 0 || row >= H || column < 0 || column >= W)
        return 0;
    return LOAD1(x + X_AT(n, g * CG + c, row, column));
}

KERNEL WG_SIZE(LX, LY, LZ) conv2d_direct(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w, OUT_PARAMS)
{
    LOCAL_ALIGNED SUM ws[W_ROWS * F_ROW];
    LOCAL_ARRAY SUM xs[X_STAGED];
    STRIPS_PLACE;
    SUMS_ARRAY(acc);

    POISON_LOCAL(xs, X_STAGED, item, ITEMS);
    POISON_LOCAL(ws, W_ROWS * F_ROW, item, ITEMS);
    EACH_OUTPUT acc[g][n][f / F_LANES][i][j] = SUMS_OF(0);
    for (int step = FIRST_STEP; step < LAST_STEP; step++) {
        const int c0 = STEP_C(step) * RC_I, r0 = STEP_R(step) * RY_I, s0 = STEP_S(step) * RX_I;

        for (int at = item; at < X_STAGED; at += ITEMS) {
            STAGED_PIXEL(at);

            xs[at] = input_at(x, n0 + n, g0 + g, c0 + c, p0 * SH + r0 * DH - PT + i, q0 * SW + s0 * DW - PL + j);
        }
        STAGE_WEIGHTS(ws, c0, r0, s0)
        BARRIER();
        LOOP_STAGED
        for (int c = 0; c < RC_I; c++)
            LOOP_STAGED
            for (int r = 0; r < RY_I; r++)
                LOOP_STAGED
                for (int s = 0; s < RX_I; s++)
                    UNROLL
                    for (int g = 0; g < G_V; g++) {
                        LOCAL const SUM *row = ws + (((g * RC_I + c) * RY_I + r) * RX_I + s) * F_ROW;
                        SUMS weight[F_OWN / F_LANES];

                        UNROLL
                        for (int f = 0; f < F_OWN; f += F_LANES)
                            weight[f / F_LANES] = LOCAL_VLOAD_ALIGNED(row + OWN(f, F_T, F_R, ft));
                        UNROLL
                        for (int n = 0; n < I_OWN; n++) {
                            LOCAL const SUM *image =
                                xs + ((OWN(n, I_T, I_R, nt) * G_V + g) * RC_I + c) * IH * IW + r * DH * IW + s * DW;

                            UNROLL
                            for (int i = 0; i < Y_OWN; i++)
                                UNROLL
                                for (int j = 0; j < X_OWN; j++) {
                                    const SUM pixel = image[OWN(i, Y_T, Y_R, yt) * SH * IW + OWN(j, X_T, X_R, xt) * SW];

                                    UNROLL
                                    for (int f = 0; f < F_OWN / F_LANES; f++)
                                        acc[g][n][f][i][j] = VFMA(VSET(pixel), weight[f], acc[g][n][f][i][j]);
                                }
                        }
                    }
        BARRIER();
    }
    PUT_OUTPUTS(acc)
}
