/* direct.cl - y[n,k,p,q] = sum over c,r,s of sample(n,c,r,s,p,q) * w[k,c,r,s], f32 and f16, nchw: samples and weights staged in
 * local memory. For GPUs.
 * A work-group computes a tile of channels x rows x columns; along each axis it holds V strips of T work-items with R
 * neighbouring outputs each: output v*T*R + item*R + r of the tile.
 * Knobs: F_V F_T F_R, Y_V Y_T Y_R, X_V X_T X_R splits of K P Q; RC_I RY_I RX_I channels and window elements staged at a time;
 * ORDER of those stages, slowest first: 0 c r s, 1 c s r, 2 r c s, 3 r s c, 4 s c r, 5 s r c; UNROLL_STEP the staged loops are
 * unrolled while their body stays below it.
 * Launch: local (X_T, Y_T, F_T); groups (tiles of x, tiles of y, tiles of k * NB). */
#include "deformable_conv2d/deform.clh"
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

#define F_OWN (F_V * F_R)
#define Y_OWN (Y_V * Y_R)
#define X_OWN (X_V * X_R)
#define F_TILE (F_OWN * F_T)
#define Y_TILE (Y_OWN * Y_T)
#define X_TILE (X_OWN * X_T)
#define F_TILES CEIL_DIV(K, F_TILE)
#define ITEMS (F_T * Y_T * X_T)
#define STAGED (RC_I * RY_I * RX_I) /* terms of the sum at a time */
#define PIXELS (Y_TILE * X_TILE)
#define STEPS_C CEIL_DIV(C, RC_I)
#define STEPS_R CEIL_DIV(R, RY_I)
#define STEPS_S CEIL_DIV(S, RX_I)
#if STAGED * F_OWN * Y_OWN * X_OWN <= UNROLL_STEP
#define LOOP_STAGED UNROLL
#else
#define LOOP_STAGED NO_UNROLL
#endif

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

KERNEL WG_SIZE(X_T, Y_T, F_T)
deformable_direct(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT offset, GLOBAL const ELEM *RESTRICT w,
                  Y_PARAMS)
{
    LOCAL_ARRAY SUM xs[STAGED * PIXELS];
    LOCAL_ARRAY SUM ws[F_TILE * STAGED];
    const int q0 = GRP(0) * X_TILE, p0 = GRP(1) * Y_TILE, f0 = GRP(2) % F_TILES * F_TILE, n = GRP(2) / F_TILES;
    const int item = (LID(2) * Y_T + LID(1)) * X_T + LID(0);
    SUM acc[F_OWN][Y_OWN][X_OWN];

    POISON_LOCAL(xs, STAGED * PIXELS, item, ITEMS);
    POISON_LOCAL(ws, F_TILE * STAGED, item, ITEMS);
    UNROLL
    for (int f = 0; f < F_OWN; f++)
        UNROLL
        for (int i = 0; i < Y_OWN; i++)
            UNROLL
            for (int j = 0; j < X_OWN; j++)
                acc[f][i][j] = 0;
    for (int step = 0; step < N_STEPS; step++) {
        const int c0 = STEP_C(step) * RC_I, r0 = STEP_R(step) * RY_I;
        const int s0 = STEP_S(step) * RX_I;

        for (int at = item; at < STAGED * PIXELS; at += ITEMS) {
            const int j = at % X_TILE, i = at / X_TILE % Y_TILE, term = at / PIXELS;

            xs[at] = sample_at(x, offset, n, c0 + term / (RY_I * RX_I), r0 + term / RX_I % RY_I, s0 + term % RX_I,
                               p0 + i, q0 + j);
        }
        for (int at = item; at < F_TILE * STAGED; at += ITEMS) {
            const int term = at % STAGED, k = f0 + at / STAGED, c = c0 + term / (RY_I * RX_I);
            const int r = r0 + term / RX_I % RY_I, s = s0 + term % RX_I;

            ws[at] = k < K && c < C && r < R && s < S ? LOAD1(w + W_AT(k, c, r, s)) : (SUM)0;
        }
        BARRIER();
        LOOP_STAGED
        for (int term = 0; term < STAGED; term++)
            UNROLL
            for (int f = 0; f < F_OWN; f++) {
                const SUM weight = ws[OWN(f, F_T, F_R, LID(2)) * STAGED + term];

                UNROLL
                for (int i = 0; i < Y_OWN; i++)
                    UNROLL
                    for (int j = 0; j < X_OWN; j++)
                        acc[f][i][j] = FMA1(xs[term * PIXELS + OWN(i, Y_T, Y_R, LID(1)) * X_TILE +
                                               OWN(j, X_T, X_R, LID(0))],
                                            weight, acc[f][i][j]);
            }
        BARRIER();
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
