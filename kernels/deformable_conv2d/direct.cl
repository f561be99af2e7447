/* SPDX-License-Identifier: MIT */
/* direct.cl - y[n,k,p,q] = sum over c,r,s of sample(n,c,r,s,p,q) * w[k,c,r,s], f32 and f16, nchw: samples and weights
 * staged in local memory. For GPUs. Tiles, knobs and launch: conv/strips.clh and strips_ahead.clh, without those
 * of n and g; VEC neighbouring channels f are a vector (VEC divides F_R). */
#include "deformable_conv2d/deform.clh"
#define F_SIZE K
#define C_SIZE C
#define F_LANES VEC
#include "conv/strips_plain.clh"
#include "deformable_conv2d/samples.clh"
#include "conv/strips_ahead.clh"

KERNEL WG_SIZE(LX, LY, LZ) deformable_direct(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT offset,
                                             GLOBAL const ELEM *RESTRICT wp, OUT_PARAMS)
{
    STAGES_LOCAL;
    STRIPS_PLACE;
    GLOBAL const ELEM *STEPPED weights = W_FIRST;
    STAGES_HELD;
    SUMS_ARRAY(acc);
    KNOW_SAMPLES;

    STAGES_CLEAR
    EACH_OUTPUT acc[g][n][f / F_LANES][i][j] = SUMS_OF(0);
    STAGES_BEGIN
    for (int step = FIRST_STEP; step < LAST_STEP; step++) {
        STAGE_BEGIN(step)
        LOOP_STAGED
        for (int term = 0; term < STAGED; term++) {
            SUMS weight[F_OWN / F_LANES];

            UNROLL
            for (int f = 0; f < F_OWN; f += F_LANES)
                weight[f / F_LANES] = LOCAL_VLOAD_ALIGNED(ws + THIS_W + term * W_ROW + OWN(f, F_T, F_R, ft));
            UNROLL
            for (int i = 0; i < Y_OWN; i++)
                UNROLL
            for (int j = 0; j < X_OWN; j++) {
                const SUM pixel = xs[THIS_X + term * PIXELS + OWN(i, Y_T, Y_R, yt) * X_TILE + OWN(j, X_T, X_R, xt)];

                UNROLL
                for (int f = 0; f < F_OWN / F_LANES; f++)
                    acc[0][0][f][i][j] = VFMA(VSET(pixel), weight[f], acc[0][0][f][i][j]);
            }
        }
        STAGE_END
    }
    PUT_OUTPUTS(acc)
}
