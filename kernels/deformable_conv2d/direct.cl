/* SPDX-License-Identifier: MIT */
/* direct.cl - y[n,k,p,q] = sum over c,r,s of sample(n,c,r,s,p,q) * w[k,c,r,s], f32 and f16, nchw: samples and weights staged in
 * local memory. For GPUs. Tiles, knobs and launch: conv/strips.clh, without those of n and g; VEC neighbouring channels f are a
 * vector (VEC divides F_R). */
#include "deformable_conv2d/deform.clh"
#define F_SIZE K
#define C_SIZE C
#define F_LANES VEC
#include "conv/strips_plain.clh"

#define PIXELS (Y_TILE * X_TILE)

DEVICE SUM sample_at(GLOBAL const ELEM *x, GLOBAL const ELEM *offset, int n, int c, int r, int s, int p, int q)
{
    float sum = 0;

    if (c < C && r < R && s < S && p < P && q < Q) {
        const struct place a = place_of(offset, n, c / CD, r * S + s, p, q);
        GLOBAL const ELEM *plane = x + (long)(n * C + c) * H * W;

        UNROLL
        for (int j = 0; j < 4; j++)
            sum += a.share[j] * (float)LOAD1(plane + a.at[j]);
    }
    return (SUM)sum;
}

KERNEL WG_SIZE(LX, LY, LZ)
deformable_direct(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT offset, GLOBAL const ELEM *RESTRICT wp,
                  OUT_PARAMS)
{
    LOCAL_ALIGNED SUM ws[W_STAGE];
    LOCAL_ARRAY SUM xs[STAGED * PIXELS];
    STRIPS_PLACE;
    GLOBAL const ELEM *STEPPED weights = W_FIRST;
    SUMS_ARRAY(acc);

    POISON_LOCAL(xs, STAGED * PIXELS, item, ITEMS);
    POISON_LOCAL(ws, W_STAGE, item, ITEMS);
    EACH_OUTPUT acc[g][n][f / F_LANES][i][j] = SUMS_OF(0);
    for (int step = FIRST_STEP; step < LAST_STEP; step++) {
        const int c0 = STEP_C(step) * RC_I, r0 = STEP_R(step) * RY_I, s0 = STEP_S(step) * RX_I;

        for (int at = item; at < STAGED * PIXELS; at += ITEMS) {
            const int j = at % X_TILE, i = at / X_TILE % Y_TILE, term = at / PIXELS;

            xs[at] = sample_at(x, offset, n0, c0 + term / (RY_I * RX_I), r0 + term / RX_I % RY_I, s0 + term % RX_I,
                               p0 + i, q0 + j);
        }
        STAGE_W(ws, step)
        BARRIER();
        LOOP_STAGED
        for (int term = 0; term < STAGED; term++) {
            SUMS weight[F_OWN / F_LANES];

            UNROLL
            for (int f = 0; f < F_OWN; f += F_LANES)
                weight[f / F_LANES] = LOCAL_VLOAD_ALIGNED(ws + term * W_ROW + OWN(f, F_T, F_R, ft));
            UNROLL
            for (int i = 0; i < Y_OWN; i++)
                UNROLL
                for (int j = 0; j < X_OWN; j++) {
                    const SUM pixel = xs[term * PIXELS + OWN(i, Y_T, Y_R, yt) * X_TILE + OWN(j, X_T, X_R, xt)];

                    UNROLL
                    for (int f = 0; f < F_OWN / F_LANES; f++)
                        acc[0][0][f][i][j] = VFMA(VSET(pixel), weight[f], acc[0][0][f][i][j]);
                }
        }
        BARRIER();
    }
    PUT_OUTPUTS(acc)
}
