/* SPDX-License-Identifier: MIT */
/* plan.cl - recurrent layers, forward and backward data (docs/operators.md), as products of register tiles over packed or plain
 * weights with B fastest, and cells in kernels of their own or in the products' last lines.
 * Knobs: COMB_GATE 1: the gates' products are one launch; STREAMS > 1: inputs' products run ahead on a queue of their own;
 * FUSE_PW 0: a launch an operation of the cell, 1: one for the cell, 2: within the recurrent product; PRETRANS pack the weights at
 * load; COMB_IN steps whose inputs' products are one launch (a chunk); WAVE layers at once, each a chunk behind the one below;
 * PERSIST 1: one launch runs all steps of a layer with its weights in local memory, one group or (TILED) all that there are; CONCAT_XH 1: W x and R h in one product;
 * VEC lanes; G_IN_*, G_REC_*: rows MR and vectors NV of a tile, unroll KU; G_IN_ORDER 0: columns and steps fastest, 1: rows; PF
 * steps of k that cache lines are asked for ahead; WG work-items a group. TILED (GPUs): a tile is a group's, G_IN_TM G_REC_TM times MR
 * rows and G_IN_TN G_REC_TN times NV vectors, KT steps of k of it in local memory; G_REC_KS slices of k are items' of their own.
 * Launch: local (WG, 1, 1); groups (ceil(tiles * columns * steps / WG), 1, WAVE ? layers : 1). */
#include "rnn/cell.clh"
#ifndef WG
#define COMB_GATE 1
#define STREAMS 1
#define FUSE_PW 2
#define PRETRANS 1
#define COMB_IN 1
#define WAVE 0
#define PERSIST 0
#define CONCAT_XH 0
#define G_IN_MR 4
#define G_IN_NV 1
#define G_IN_KU 1
#define G_IN_ORDER 0
#define G_REC_MR 4
#define G_REC_NV 1
#define G_REC_KU 1
#define PF 0
#define WG 1
#endif
#ifndef TILED
#define TILED 0
#endif
#if TILED && !defined(KT)
#define KT 16
#define G_IN_TM 1
#define G_IN_TN 1
#define G_REC_TM 1
#define G_REC_TN 1
#define G_REC_KS 1
#endif
#include "gemm/micro.clh"
#undef NV
#undef KU
#undef GEMM_AHEAD
#if PF && PRETRANS
#define AHEAD(k, a, b, rows)                                                                                           \
    do {                                                                                                               \
        UNROLL                                                                                                         \
        for (int v_ = 0; v_ < NV; v_++)                                                                                \
            PREFETCH1(b + ((k) + PF) * SIZE_B + v_ * VEC);                                                             \
        PREFETCH1(a + ((k) + 2 * PF) * (rows));                                                                        \
    } while (0)
#else
#define AHEAD(k, a, b, rows)
#endif

#define BACK (PASS == 1)
#define CHUNKS CEIL_DIV(SIZE_T, COMB_IN)
#define WIDTH(layer) ((layer) ? SIZE_H : SIZE_I)
#define ROWS (GATES * SIZE_H)
#define N_GATES (COMB_GATE ? 1 : GATES) /* launches of a product */
#define SUMS (GATES * STATE)            /* elements of z of one step */
/* A tile of the recurrent product: REC_HB hidden units of REC_G gates. */
#define REC_G (FUSE_PW == 2 && !BACK ? GATES : 1)
#if TILED /* a tile of a group: TM rows of items */
#define REC_MR (G_REC_TM * G_REC_MR)
#define REC_WIDE (VEC * G_REC_NV * G_REC_TN)
#define IN_WIDE (VEC * G_IN_NV * G_IN_TN)
#define STEP_OF(n) ((n) % 4 == 0 ? 4 : (n) % 2 == 0 ? 2 : 1)
#else
#define REC_MR G_REC_MR
#define REC_WIDE (VEC * G_REC_NV)
#define IN_WIDE (VEC * G_IN_NV)
#endif
#define REC_HB (REC_MR / REC_G)
#define REC_UNITS (BACK || FUSE_PW == 2 || !COMB_GATE ? SIZE_H : ROWS)
#define REC_TILES CEIL_DIV(REC_UNITS, REC_HB)
#define REC_COLUMNS (SIZE_B / REC_WIDE)
#define REC_K (BACK ? ROWS : SIZE_H)
/* Of row i from the tile's first unit; tiles of a group: an item's units, each gate's. */
#if TILED
#define ITEM_HB (G_REC_MR / REC_G)
#define REC_ROW(i) ((i) % G_REC_MR / ITEM_HB * SIZE_H + (i) / G_REC_MR * ITEM_HB + (i) % G_REC_MR % ITEM_HB)
#else
#define REC_ROW(i) ((i) / REC_HB * SIZE_H + (i) % REC_HB)
#endif
#define REC_ITEMS (REC_TILES * REC_COLUMNS)
/* Of the inputs' product; with CONCAT_XH it is the first part of the recurrent one. */
#if CONCAT_XH
#define IN_MR REC_MR
#define IN_HB REC_HB
#define IN_ROW(i) REC_ROW(i)
#define IN_UNITS(layer) REC_UNITS
#else
#if TILED
#define IN_MR (G_IN_TM * G_IN_MR)
#else
#define IN_MR G_IN_MR
#endif
#define IN_HB IN_MR
#define IN_ROW(i) (i)
#define IN_UNITS(layer) (BACK ? WIDTH(layer) : COMB_GATE ? ROWS : SIZE_H)
#endif
#define IN_TILES(layer) CEIL_DIV(IN_UNITS(layer), IN_HB)
#define IN_COLUMNS (SIZE_B / IN_WIDE)
#define IN_K(layer) (BACK ? ROWS : WIDTH(layer))
#define IN_PANELS(layer) ((long)N_GATES * IN_TILES(layer) * IN_K(layer) * IN_MR) /* elements */
/* A last tile that would leave the rows begins earlier. */
#define FIRST(tile, height, units) ((tile) * (height) < (units) - (height) ? (tile) * (height) : (units) - (height))

#if PRETRANS
#define PANEL SUM
#else
#define PANEL ELEM
#endif

/* Panels [gate][tile][k][row] of every layer. */
KERNEL WG_SIZE(1, 1, 1)
    rnn_pack_in(GLOBAL const ELEM *RESTRICT w, GLOBAL const ELEM *RESTRICT w_up, GLOBAL SUM *RESTRICT wp)
{
    const int layer = GRP(2), tiles = IN_TILES(layer), width = WIDTH(layer), n_k = IN_K(layer);
    const int unit = GRP(0) / tiles * SIZE_H + FIRST(GRP(0) % tiles, IN_HB, IN_UNITS(layer));
    GLOBAL const ELEM *from = layer ? w_up + (long)(layer - 1) * ROWS * SIZE_H : w;
    GLOBAL SUM *to = wp + (layer ? IN_PANELS(0) + (layer - 1) * IN_PANELS(1) : 0) + (long)GRP(0) * n_k * IN_MR;

    if (GRP(0) >= N_GATES * tiles)
        return;
    for (int k = 0; k < n_k; k++)
        for (int i = 0; i < IN_MR; i++) {
            const int row = unit + IN_ROW(i);

            to[(long)k * IN_MR + i] = LOAD1(from + (BACK ? (long)k * width + row : (long)row * width + k));
        }
}

KERNEL WG_SIZE(1, 1, 1) rnn_pack_rec(GLOBAL const ELEM *RESTRICT r, GLOBAL SUM *RESTRICT rp)
{
    const int unit = GRP(0) / REC_TILES * SIZE_H + FIRST(GRP(0) % REC_TILES, REC_HB, REC_UNITS);
    GLOBAL const ELEM *from = r + (long)GRP(2) * ROWS * SIZE_H;
    GLOBAL SUM *to = rp + ((long)GRP(2) * N_GATES * REC_TILES + GRP(0)) * REC_K * REC_MR;

    for (int k = 0; k < REC_K; k++)
        for (int i = 0; i < REC_MR; i++) {
            const int row = unit + REC_ROW(i);

            to[(long)k * REC_MR + i] = LOAD1(from + (BACK ? (long)k * SIZE_H + row : (long)row * SIZE_H + k));
        }
}

/* Weights of an inputs' tile, and their strides where they are not packed. */
#if PRETRANS
#define IN_PARAMS GLOBAL const SUM *RESTRICT wp
#define IN_ARGS wp
#define IN_TILE(layer, gate, tile)                                                                                     \
    (wp + ((layer) ? IN_PANELS(0) + ((layer)-1) * IN_PANELS(1) : 0) +                                                  \
     ((long)(gate)*IN_TILES(layer) + (tile)) * IN_K(layer) * IN_MR)
#define IN_AT(i, k) a[(k)*IN_MR + (i)]
#else
#define IN_PARAMS GLOBAL const ELEM *RESTRICT w, GLOBAL const ELEM *RESTRICT w_up
#define IN_ARGS w, w_up
#define IN_TILE(layer, gate, tile)                                                                                     \
    (((layer) ? w_up + (long)((layer)-1) * ROWS * SIZE_H : w) +                                                        \
     (long)((gate)*SIZE_H + FIRST(tile, IN_HB, IN_UNITS(layer))) * (BACK ? 1 : WIDTH(layer)))
#define IN_AT(i, k) LOAD1(a + (BACK ? (k)*width + IN_ROW(i) : IN_ROW(i) * width + (k)))
#endif

/* The layer and chunk of a launch; layers of a wave are each a chunk behind the one before. */
#define IN_WAVE                                                                                                        \
    if (WAVE) {                                                                                                        \
        layer = GRP(2);                                                                                                \
        chunk -= BACK ? SIZE_L - 1 - layer : layer;                                                                    \
        if (chunk < 0 || chunk >= CHUNKS)                                                                              \
            return;                                                                                                    \
    }

#define BELOW(layer, t) ((layer) ? hidden + ((long)((layer)-1) * SIZE_T + (t)) * STATE : x + (long)(t)*SIZE_I * SIZE_B)
/* z of inputs: steps of a chunk, or of all time where launches run ahead. */
#define ZX_ALL (STREAMS > 1 || PERSIST)
#define ZX(layer, chunk, j)                                                                                            \
    (((WAVE ? (layer) * (ZX_ALL ? SIZE_T : COMB_IN) : 0) + (ZX_ALL ? (chunk)*COMB_IN : 0) + (j)) * (long)SUMS)

/* Weights of a recurrent tile: with PERSIST a copy of one layer's in local memory. */
#if PERSIST && TILED
#define REC_PARAMS LOCAL const SUM *RESTRICT rp
#define REC_POINTER LOCAL const SUM *
#define REC_TILE(layer, gate, tile) rp /* of the group's tile */
#elif PERSIST
#define REC_PARAMS LOCAL const SUM *RESTRICT rp
#define REC_POINTER LOCAL const SUM *
#define REC_TILE(layer, gate, tile) (rp + (tile)*REC_K * REC_MR)
#elif PRETRANS
#define REC_PARAMS GLOBAL const SUM *RESTRICT rp
#define REC_POINTER GLOBAL const SUM *
#define REC_TILE(layer, gate, tile)                                                                                    \
    (rp + (((long)(layer)*N_GATES + (gate)) * REC_TILES + (tile)) * REC_K * REC_MR)
#else
#define REC_PARAMS GLOBAL const ELEM *RESTRICT r
#define REC_POINTER GLOBAL const ELEM *
#define REC_TILE(layer, gate, tile)                                                                                    \
    (r + ((long)(layer)*ROWS + (BACK ? 0 : (gate)*SIZE_H + FIRST(tile, REC_HB, REC_UNITS))) * SIZE_H +                 \
     (BACK ? FIRST(tile, REC_HB, REC_UNITS) : 0))
#endif
#if PERSIST || PRETRANS
#define REC_ARGS rp
#define REC_AT(i, k) a[(k)*REC_MR + (i)]
#else
#define REC_ARGS r
#define REC_AT(i, k) LOAD1(a + (BACK ? (k)*SIZE_H + REC_ROW(i) : REC_ROW(i) * SIZE_H + (k)))
#endif

#if TILED
#include "rnn/plan_tile.clh"
#else
#define KU G_IN_KU
#define NV G_IN_NV
/* Forward: z = W x of a chunk's steps. Backward: the gradient of a layer's input, dx or between [layers-1][T][H][B]. */
KERNEL WG_SIZE(WG, 1, 1)
#if BACK
    rnn_in(IN_PARAMS, GLOBAL const ELEM *RESTRICT dgates, GLOBAL ELEM *RESTRICT dx, GLOBAL ELEM *between, int layer, int gate,
           int chunk)
#else
    rnn_in(IN_PARAMS, GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT hidden, GLOBAL SUM *RESTRICT zx, int layer,
           int gate, int chunk)
#endif
{
    const int item = GRP(0) * WG + LID(0);

    IN_WAVE
    {
        const int left = SIZE_T - chunk * COMB_IN, n_steps = left < COMB_IN ? left : COMB_IN;
        const int width = WIDTH(layer), tiles = IN_TILES(layer), units = IN_UNITS(layer), many = n_steps * IN_COLUMNS;
        const int tile = G_IN_ORDER ? item % tiles : item / many, place = G_IN_ORDER ? item / tiles : item % many;
        const int column = place % IN_COLUMNS * NV * VEC, j = place / IN_COLUMNS, first = FIRST(tile, IN_HB, units);
        const int past = chunk * COMB_IN + j, t = BACK ? SIZE_T - 1 - past : past;
        GLOBAL const PANEL *a = IN_TILE(layer, gate, tile);
#if BACK
        GLOBAL const ELEM *b = dgates + ((long)layer * SIZE_T + t) * SLOTS * STATE + column;
        GLOBAL ELEM *to = (layer ? between + ((long)(layer - 1) * SIZE_T + t) * STATE : dx + (long)t * SIZE_I * SIZE_B) +
                          (long)first * SIZE_B + column;
#else
        GLOBAL const ELEM *b = BELOW(layer, t) + column;
        GLOBAL SUM *to = zx + ZX(layer, chunk, j) + (long)(gate * SIZE_H + first) * SIZE_B + column;
#endif
        VT acc[IN_MR][NV];

        if (tile >= tiles || j >= n_steps)
            return;
        GEMM_ZERO(acc, IN_MR)
#define GEMM_A(i, k) IN_AT(i, k)
#define GEMM_B(k, v) VLOAD(b + (k)*SIZE_B + (v)*VEC)
#define GEMM_AHEAD(k) AHEAD(k, a, b, IN_MR)
        GEMM_RUN(acc, IN_MR, IN_K(layer));
#undef GEMM_A
#undef GEMM_B
#undef GEMM_AHEAD
        UNROLL
        for (int i = 0; i < IN_MR; i++)
            if (first + i >= tile * IN_HB) /* a tile that begins earlier leaves its neighbour's rows alone */
                UNROLL
                for (int v = 0; v < NV; v++)
#if BACK
                    VSTORE(acc[i][v], to + i * SIZE_B + v * VEC);
#else
                    SUM_VSTORE(acc[i][v], to + i * SIZE_B + v * VEC);
#endif
    }
}
#undef KU
#undef NV
#define KU G_REC_KU
#define NV G_REC_NV

#if BACK
#include "rnn/plan_back.clh"
#else
#include "rnn/plan_forward.clh"
#endif

#if PERSIST
/* All steps of one layer by one group; its weights in local memory. */
KERNEL WG_SIZE(WG, 1, 1) rnn_persist(GLOBAL const SUM *RESTRICT panels, STEP_MORE_PARAMS, int layer)
{
    LOCAL_ARRAY SUM rp[REC_TILES * REC_K * G_REC_MR];

    POISON_LOCAL(rp, REC_TILES * REC_K * G_REC_MR, LID(0), WG);
    for (int i = LID(0); i < REC_TILES * REC_K * G_REC_MR; i += WG)
        rp[i] = panels[(long)layer * REC_TILES * REC_K * G_REC_MR + i];
    BARRIER();
    for (int past = 0; past < SIZE_T; past++) {
        for (int item = LID(0); item < REC_ITEMS; item += WG)
            step_tile(rp, STEP_MORE_ARGS, layer, 0, past / COMB_IN, past % COMB_IN, item);
        BARRIER_ALL();
    }
}
#else
/* One step: tiles of z = R h, or with FUSE_PW 2 the whole step. */
KERNEL WG_SIZE(WG, 1, 1) rnn_step(REC_PARAMS, STEP_MORE_PARAMS, int layer, int gate, int chunk, int j)
{
    const int item = GRP(0) * WG + LID(0);

    IN_WAVE
    if (item < REC_ITEMS && chunk * COMB_IN + j < SIZE_T)
        step_tile(REC_ARGS, STEP_MORE_ARGS, layer, gate, chunk, j, item);
}
#endif
#endif
