/* SPDX-License-Identifier: MIT */
/* direct.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], tiles in local memory; all types,
 * layouts, groups and epilogues. For GPUs. Tiles, knobs and launch: conv/strips.clh and strips_ahead.clh; VEC neighbouring channels f are a vector (VEC
 * divides F_R). */
#include "conv/conv.clh"
#define F_SIZE KG
#define C_SIZE CG
#define F_LANES VEC
#include "conv/strips_plain.clh"
#include "conv/strips_ahead.clh"

KERNEL WG_SIZE(LX, LY, LZ) conv2d_direct(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT wp, OUT_PARAMS)
{
    STAGES_LOCAL;
    STRIPS_PLACE;
    GLOBAL const ELEM *STEPPED weights = W_FIRST;
    STAGES_HELD;
    SUMS_ARRAY(acc);
    KNOW_PIXELS;

    STAGES_CLEAR
    EACH_OUTPUT acc[g][n][f / F_LANES][i][j] = SUMS_OF(0);
    STAGES_BEGIN
    for (int step = FIRST_STEP; step < LAST_STEP; step++) {
        STAGE_BEGIN(step)
        LOOP_STAGED
        for (int c = 0; c < RC_I; c++)
            LOOP_STAGED
            for (int r = 0; r < RY_I; r++)
                LOOP_STAGED
                for (int s = 0; s < RX_I; s++)
                    UNROLL
                    for (int g = 0; g < G_V; g++) {
                        LOCAL const SUM *row = ws + THIS_W + (((g * RC_I + c) * RY_I + r) * RX_I + s) * W_ROW;
                        SUMS weight[F_OWN / F_LANES];

                        UNROLL
                        for (int f = 0; f < F_OWN; f += F_LANES)
                            weight[f / F_LANES] = LOCAL_VLOAD_ALIGNED(row + OWN(f, F_T, F_R, ft));
                        UNROLL
                        for (int n = 0; n < I_OWN; n++) {
                            LOCAL const SUM *image =
                                xs + THIS_X + ((OWN(n, I_T, I_R, nt) * G_V + g) * RC_I + c) * IH * IW + r * DH * IW + s * DW;

                            UNROLL
                            for (int i = 0; i < Y_OWN; i++)
                                UNROLL
                                for (int j = 0; j < X_OWN; j++) {
                                    const SUM pixel = image[OWN(i, Y_T, Y_R, yt) * ROW_APART * IW + OWN(j, X_T, X_R, xt) * COLUMN_APART];

                                    UNROLL
                                    for (int f = 0; f < F_OWN / F_LANES; f++)
                                        acc[g][n][f][i][j] = VFMA(VSET(pixel), weight[f], acc[g][n][f][i][j]);
                                }
                        }
                    }
        STAGE_END
    }
    PUT_OUTPUTS(acc)
}
