/* SPDX-License-Identifier: MIT */
/* winograd_shared.cl - y[n,k,p,q] = sum over c,r,s of x[n,c,p+r-PT,q+s-PL] * w[k,c,r,s] by F(M x M, 3 x 3), products through local
 * memory, for GPUs. x, y: f32 or f16 in any layout; w kcrs. U, V, products: SUM. Sizes rounded up: NTP tiles to FP_TILES, KP to
 * F_TILE, CP channels c to RC_I.
 *   U[e][c][k] = G w G^T, packed once; V[e][c][t] = B^T d B; products[e][k][t] = sum over c of U * V; y = A^T products A.
 * Knobs: M 2 4; F_T F_R F_V work-items, their neighbouring channels k, their strips (strip j lies j * F_T * F_R on); P_T P_R P_V the
 * same of tiles; RC_I channels c staged at once, STAGES 1, 2 (gemm/stages.clh); UNROLL_STEP the most multiply-adds of an unrolled
 * body; WG work-items of a group of the transforms.
 * VEC neighbouring tiles are a vector (it divides P_R).
 * Launch: pack groups (KP, CP), local 1; in local (WG, 1, 1), groups (ceil(NTP * CP / WG)); gemm local (P_T, F_T, 1), groups
 * (NTP / P_TILE, KP / F_TILE, AREA); out local (WG, 1, 1), groups (ceil(K * NT / WG)). */
#include "conv2d/winograd.clh"
#ifndef F_T
#define F_T 2
#define F_R 2
#define F_V 1
#define P_T 2
#define P_R VEC
#define P_V 1
#define RC_I 2
#define STAGES 1
#define UNROLL_STEP 128
#define WG 1
#endif

#define F_TILE (F_V * F_T * F_R)
#define P_TILE (P_V * P_T * P_R)
#define KP (CEIL_DIV(K, F_TILE) * F_TILE)
#define NTP (CEIL_DIV(NT, P_TILE) * P_TILE)
#define CP (CEIL_DIV(C, RC_I) * RC_I)
#define ITEMS (F_T * P_T)
#define STEPS (CP / RC_I)
#define P_OWN (P_V * P_R / VEC) /* vectors of tiles of an item */
/* Place of an item's i-th channel, and of its j-th vector, in the tile. */
#define F_PLACE(i) ((i) / F_R * F_T * F_R + ft * F_R + (i) % F_R)
#define P_PLACE(j) ((j) * VEC / P_R * P_T * P_R + pt * P_R + (j) * VEC % P_R)
#if F_V * F_R * P_V * P_R * RC_I <= UNROLL_STEP
#define UNROLL_C UNROLL
#else
#define UNROLL_C
#endif
#define V_STEP ((long)NTP * CP)
#define X_TILES NTP
#define X_CHANNELS CP
#define V_PLACE_OF(t, c) ((long)(c)*NTP + (t))
#define PRODUCT_STEP ((long)KP * NTP)
#define WG_IN WG
#define WG_OUT WG
#include "conv2d/winograd_planes.clh"

KERNEL WG_SIZE(1, 1, 1) winograd_pack(GLOBAL const ELEM *RESTRICT w, GLOBAL SUM *RESTRICT u)
{
    const int k = GRP(0), c = GRP(1);

    TRANSFORM_WEIGHT(u + (long)c * KP + k, (long)CP * KP, w, k, c)
}

/* A stage of a factor, RC_I rows of `tile` values, `ld` apart in memory: pieces of `w`, of an item each ITEMS-th. */
#define HELD_TYPE SUM
#include "gemm/held.clh"
#include "gemm/stages.clh"
#define WIDEST(n) ((n) % 4 == 0 ? 4 : (n) % 2 == 0 ? 2 : 1)
#define PIECES(tile, w) CEIL_DIV(RC_I * (tile), ITEMS * (w))
#if STAGES == 1
#define HELD_OF(held, w, i) held
#define HELD_ALL(tile, w) (w)
#else
#define HELD_OF(held, w, i) ((held) + (i) * (w))
#define HELD_ALL(tile, w) (PIECES(tile, w) * (w))
#endif
#if STAGES == 2 || RC_I * (F_TILE + P_TILE) <= 64 * ITEMS
#define UNROLL_PIECES UNROLL
#else
#define UNROLL_PIECES NO_UNROLL
#endif
#define STAGE_PART(step, DO, from, ld, tile, w, held, to)                                                              \
    UNROLL_PIECES                                                                                                      \
    for (int i_ = 0; i_ < PIECES(tile, w); i_++) {                                                                     \
        const int first_ = (item + i_ * ITEMS) * (w);                                                                  \
                                                                                                                       \
        if (RC_I * (tile) % (ITEMS * (w)) == 0 || first_ < RC_I * (tile)) {                                            \
            DO(w,                                                                                                      \
               STAGE_FROM(from, (long)RC_I * (ld), step, STEPS) + ((long)(first_ / (tile)) * (ld) + first_ % (tile)),  \
               HELD_OF(held, w, i_), (to) + (step) % STAGES * (RC_I * (tile)) + first_);                               \
        }                                                                                                              \
    }                                                                                                                  \
    STAGE_ON(from, (long)RC_I * (ld), step, STEPS, DO)
#define STAGE(step, DO)                                                                                                \
    do {                                                                                                               \
        STAGE_PART(step, DO, u, KP, F_TILE, WIDEST(F_TILE), held_u, us)                                                \
        STAGE_PART(step, DO, v, NTP, P_TILE, WIDEST(P_TILE), held_v, vs)                                               \
    } while (0)

KERNEL WG_SIZE(P_T, F_T, 1) winograd_gemm(GLOBAL const SUM *RESTRICT u, GLOBAL const SUM *RESTRICT v,
                                          GLOBAL SUM *RESTRICT products)
{
    LOCAL_ALIGNED SUM us[STAGES * RC_I * F_TILE];
    LOCAL_ALIGNED SUM vs[STAGES * RC_I * P_TILE];
    const int pt = LID(0), ft = LID(1), item = ft * P_T + pt, t0 = GRP(0) * P_TILE, k0 = GRP(1) * F_TILE, e = GRP(2);
    HELD held_u[HELD_ALL(F_TILE, WIDEST(F_TILE))], held_v[HELD_ALL(P_TILE, WIDEST(P_TILE))];
    VT acc[F_V * F_R][P_OWN];

    POISON_LOCAL(us, STAGES * RC_I * F_TILE, item, ITEMS);
    POISON_LOCAL(vs, STAGES * RC_I * P_TILE, item, ITEMS);
    u += (long)e * CP * KP + k0;
    v += (long)e * CP * NTP + t0;
    UNROLL
    for (int i = 0; i < F_V * F_R; i++)
        UNROLL
        for (int j = 0; j < P_OWN; j++)
            acc[i][j] = VSET(0);
    STAGES_BEGIN(STEPS);
    for (int step = 0; step < STEPS; step++) {
        LOCAL const SUM *at_u = us + step % STAGES * (RC_I * F_TILE), *at_v = vs + step % STAGES * (RC_I * P_TILE);

        STAGES_BEFORE(step, STEPS);
        UNROLL_C
        for (int c = 0; c < RC_I; c++) {
            SUM weights[F_V * F_R];
            VT tiles[P_OWN];

            UNROLL
            for (int j = 0; j < P_OWN; j++)
                tiles[j] = LOCAL_VLOAD_ALIGNED(at_v + c * P_TILE + P_PLACE(j));
            UNROLL
            for (int i = 0; i < F_V * F_R; i += WIDEST(F_R))
                LOCAL_GET(WIDEST(F_R), at_u + c * F_TILE + F_PLACE(i), weights + i);
            UNROLL
            for (int i = 0; i < F_V * F_R; i++)
                UNROLL
                for (int j = 0; j < P_OWN; j++)
                    acc[i][j] = VFMA(VSET(weights[i]), tiles[j], acc[i][j]);
        }
        STAGES_AFTER(step, STEPS);
    }
    UNROLL
    for (int i = 0; i < F_V * F_R; i++)
        UNROLL
        for (int j = 0; j < P_OWN; j++)
            SUM_VSTORE_ALIGNED(acc[i][j], products + ((long)e * KP + k0 + F_PLACE(i)) * NTP + t0 + P_PLACE(j));
}
