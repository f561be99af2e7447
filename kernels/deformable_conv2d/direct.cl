/* SPDX-License-Identifier: MIT */
/* direct.cl - y[n,k,p,q] = sum over c,r,s of sample(n,c,r,s,p,q) * w[k,c,r,s], f32 and f16, nchw: samples and weights
 * staged in local memory. For GPUs. Tiles, knobs and launch: conv/strips.clh, without those of n and g; VEC
 * neighbouring channels f are a vector (VEC divides F_R). */
#include "deformable_conv2d/deform.clh"
#define F_SIZE K
#define C_SIZE C
#define F_LANES VEC
#include "conv/strips_plain.clh"

#define PIXELS (Y_TILE * X_TILE)

#define TAPS (RY_I * RX_I)
#define PLACES (TAPS * PIXELS)
/* Of a step's channels an item stages each SLICES-th: one place serves them, and no item is without one. */
#define SLICES (PLACES >= ITEMS ? 1 : ITEMS / PLACES < RC_I ? ITEMS / PLACES : RC_I)

/* A place's samples of a step: channels c0 + slice, c0 + slice + SLICES ..., PLACES apart in local memory. */
DEVICE void stage_samples(GLOBAL const ELEM *x, GLOBAL const ELEM *offset, int n, int c0, int slice, int r, int s,
                          int p, int q, LOCAL SUM *to)
{
    const int inside = r < R && s < S && p < P && q < Q, rs = r * S + s;
    struct place a = {{0, 0, 0, 0}, {0.0f, 0.0f, 0.0f, 0.0f}};

    if (inside && c0 + slice < C)
        a = place_of(offset, n, (c0 + slice) / CD, rs, p, q);
    UNROLL
    for (int i = 0; i < CEIL_DIV(RC_I, SLICES); i++) {
        const int c = slice + i * SLICES;
        float sum = 0;

        if (inside && (C % RC_I == 0 && RC_I % SLICES == 0 || c0 + c < C)) {
            GLOBAL const ELEM *plane = x + (long)(n * C + c0 + c) * H * W;

            if (CD % RC_I != 0 && i > 0 && (c0 + c) / CD != (c0 + c - SLICES) / CD)
                a = place_of(offset, n, (c0 + c) / CD, rs, p, q);
            UNROLL
            for (int j = 0; j < 4; j++)
                sum += a.share[j] * (float)LOAD1(plane + a.at[j]);
        }
        if (RC_I % SLICES == 0 || c < RC_I)
            to[c * PLACES] = (SUM)sum;
    }
}

KERNEL WG_SIZE(LX, LY, LZ) deformable_direct(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT offset,
                                             GLOBAL const ELEM *RESTRICT wp, OUT_PARAMS)
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

        for (int at = item; at < SLICES * PLACES; at += ITEMS) {
            const int j = at % X_TILE, i = at / X_TILE % Y_TILE, tap = at / PIXELS % TAPS;

            stage_samples(x, offset, n0, c0, at / PLACES, r0 + tap / RX_I, s0 + tap % RX_I, p0 + i, q0 + j,
                          xs + at % PLACES);
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
