/* SPDX-License-Identifier: MIT */
/* implicit_gemm.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s] as a product of
 * matrices whose second factor, the patches of x, is never written out; f32 f16 bf16 i8 u8, all layouts, groups and epilogues.
 * For GPUs.
 * A word is an element, or of i8 four channels of a pixel (gemm/dot.clh): x as it lies (packed to [n][ceil(c/4)][h][w][4] from
 * nchw), wp[group][tile of MT][step][row][MT], zero beyond the last channels. A group of work-items computes MT output channels
 * x NT output pixels, counted over images; a step adds KT = CB * TB rows: CB words of channels at each of TB taps.
 * An item always fetches the same pixels: where they begin in x and which rows and columns of the window lie inside are known
 * before the first step, and what it fetches of a step are constant distances from there.
 * Knobs: MT NT tile; MR NR of it a work-item; CB words of channels, TB taps (1, S or R*S) of a step; STAGES as in
 * gemm/stages.clh; KS slices of a step's rows, each added up by work-items of its own; KU rows unrolled; SPLIT of the sum:
 * conv/split.clh. XV pixels come together (4 where a pixel is its own window and planes have whole fours, else 1).
 * Launch: local (MT/MR * NT/NR * KS, 1, 1); groups (ceil(KG/MT) * ceil(NB*P*Q / NT) * GROUPS * SPLIT, 1, 1). Packing: w local
 * (PACK_ITEMS, 1, 1), a word an item; x local (PACK_WG, 1, 1), groups (ceil(H*W / 4 or H*W / PACK_RUN), ceil(C/4), NB): four
 * pixels an item where planes have whole fours. */
#include "conv/conv.clh"
#ifndef MT
#define MT 16
#define NT 32
#define MR 4
#define NR 4
#define CB 4
#define TB 1
#define STAGES 1
#define KS 1
#define KU 1
#define XV 1
#define DOT 0
#define PACK_ITEMS 64
#endif
#if DT == 2
#include "gemm/dot.clh"
#define HELD_TYPE int
#include "gemm/held.clh"
#define WORD int
#define CW CEIL_DIV(CG, 4)
#define XLW (XL == 1 ? 1 : XL / 4)
#define MULTIPLY(a, b, acc)                                                                                            \
    UNROLL                                                                                                             \
    for (int l_ = 0; l_ < VEC; l_++)                                                                                   \
    (acc)[l_] = DOT4((b)[l_], (a), (acc)[l_])
#else
#define WORD ELEM
#define CW CG
#define XLW XL
#define MULTIPLY(a, b, acc) PRIVATE_VSTORE(VFMA(VSET(a), PRIVATE_VLOAD(b), PRIVATE_VLOAD(acc)), acc)
#endif
#include "gemm/fold_zero.clh"
#ifdef FOLDED
#define STAGE_OUTSIDE around[FOLD_LINE]
#define STAGE_LINE (around + FOLD_LINE)
#endif
#include "gemm/stages.clh"

#define PIXELS (NB * P * Q)
#define M_TILES CEIL_DIV(KG, MT)
#define N_TILES CEIL_DIV(PIXELS, NT)
#define TILES (M_TILES * N_TILES)
#define KT (CB * TB)
#define T_STEPS (R * S / TB)
#define STEPS_ALL (CEIL_DIV(CW, CB) * T_STEPS)
#ifndef SPLIT
#define SPLIT 1
#endif
#define STEPS_PART CEIL_DIV(STEPS_ALL, SPLIT)
#define PART (GRP(0) / (TILES * GROUPS))
#include "conv/split.clh"

#define TX (NT / NR)
#define TY (MT / MR)
#define SLICE (TX * TY) /* work-items of a slice */
#define ITEMS (SLICE * KS)
#define X_STAGE (KT * NT)
#define W_STAGE (KT * MT)
#define STAGE_WORDS (X_STAGE + W_STAGE) /* [KT][NT] of x, [KT][MT] of w */
#define LOCAL_TILES (STAGES * STAGE_WORDS)
#define LOCAL_SUMS (LOCAL_TILES > (KS - 1) * MT * NT ? LOCAL_TILES : (KS - 1) * MT * NT)

#if DYN_LOCAL
extern __shared__ __align__(16) unsigned char dynamic_local[];
#endif

/* Packing. */
KERNEL WG_SIZE(PACK_ITEMS, 1, 1) implicit_pack_w(GLOBAL const ELEM *RESTRICT w, GLOBAL WORD *RESTRICT wp)
{
    const int i = GRP(0) * PACK_ITEMS + LID(0), row = i / MT % KT, step = i / (MT * KT) % STEPS_ALL;
    const int tile = i / (MT * KT * STEPS_ALL) % M_TILES, group = i / (MT * KT * STEPS_ALL) / M_TILES;
    const int tap = step % T_STEPS * TB + row / CB, c = step / T_STEPS * CB + row % CB, k = tile * MT + i % MT;

    if (group >= GROUPS)
        return;
#if DT == 2
    wp[i] = 0;
    for (int j = 0; j < 4; j++)
        if (k < KG && c * 4 + j < CG)
            wp[i] |= (int)(uchar)w[W_AT(group * KG + k, c * 4 + j, tap / S, tap % S)] << (8 * j);
#else
    STORE1(wp + i, k < KG && c < CG ? LOAD1(w + W_AT(group * KG + k, c, tap / S, tap % S)) : (SUM)0);
#endif
}

#if DT == 2 && XL == 1
/* Four pixels of four channels: what lies along a row goes along the channels. */
DEVICE void pack_four(GLOBAL const int *from, int channels, GLOBAL int *to)
{
    int rows[4], pixels[4];

    UNROLL
    for (int j = 0; j < 4; j++)
        rows[j] = j < channels ? from[j * (H * W / 4)] : 0;
    UNROLL
    for (int i = 0; i < 4; i++)
        pixels[i] = (rows[0] >> 8 * i & 255) | (rows[1] >> 8 * i & 255) << 8 | (rows[2] >> 8 * i & 255) << 16 |
                    (int)((uint)(rows[3] >> 8 * i) << 24);
    HELD_PUT(4, pixels, to);
}

KERNEL WG_SIZE(PACK_WG, 1, 1) implicit_pack_x(GLOBAL const ELEM *RESTRICT x, GLOBAL int *RESTRICT x4)
{
    const int c = GRP(1) * 4, n = GRP(2);
    GLOBAL const uchar *from = (GLOBAL const uchar *)(x + X_AT(n, c, 0, 0));
    GLOBAL int *to = x4 + (long)(n * CEIL_DIV(C, 4) + GRP(1)) * H * W;

#if H * W % 4 == 0
    PACK_RUN_OF(i, H * W / 4)
        pack_four((GLOBAL const int *)from + i, C % 4 == 0 ? 4 : C - c, to + 4 * i);
#else
    PACK_RUN_OF(i, H * W)
    {
        int v = 0;

        UNROLL
        for (int j = 0; j < 4; j++)
            if (C % 4 == 0 || c + j < C)
                v |= (int)from[j * H * W + i] << (8 * j);
        to[i] = v;
    }
#endif
}
#endif

/* What an item fetches: X_EACH pixels (XV each) of rows `first`, first + X_STEP ... of a stage. */
#define X_COLUMNS (NT / XV)
#define X_STEP (ITEMS > X_COLUMNS ? ITEMS / X_COLUMNS : 1)
#define X_EACH (ITEMS > X_COLUMNS ? 1 : X_COLUMNS / ITEMS)
#define X_ROWS CEIL_DIV(KT, X_STEP)
#define W_VECTORS CEIL_DIV(W_STAGE / 4, ITEMS)
#define CHANNEL_AT(c) ((c) / XLW * (H * W * XLW) + (c) % XLW)
#define TAP_AT(r, s) (((r) * DH * W + (s) * DW) * XLW)
#define X_WORDS_N (CEIL_DIV(C, DT == 2 ? 4 : 1) * H * W) /* of an image */

/* Of `n` places from `from` on, `step` apart, those inside 0 .. size - 1, as bits. */
DEVICE uint inside(int from, int step, int n, int size)
{
    uint bits = 0;

    for (int i = 0; i < n; i++)
        bits |= (uint)(from + i * step >= 0 && from + i * step < size) << i;
    return bits;
}

#define ALL_THERE                                                                                                      \
    (PIXELS % NT == 0 && PT == 0 && PL == 0 && (P - 1) * SH + (R - 1) * DH < H && (Q - 1) * SW + (S - 1) * DW < W)
#define THERE(j, r, s, c)                                                                                              \
    ((ALL_THERE || (rows_in[j] >> (r) & columns_in[j] >> (s) & 1)) && (CW % CB == 0 || (c) < CW))

/* The stage that is fetched next: its first channel, its first tap, and how far from an item's first words it lies. */
#if TB == R * S
#define NEXT_STAGE next_c += CB, next_at += CHANNEL_AT(CB)
#else
#define NEXT_BLOCK next_r = 0, next_c += CB, next_at += CHANNEL_AT(CB) - TAP_AT(R, 0)
#define NEXT_ROW                                                                                                       \
    next_r++, next_at += TAP_AT(1, 0);                                                                                 \
    if (next_r == R)                                                                                                   \
    NEXT_BLOCK
#if TB == S
#define NEXT_STAGE NEXT_ROW
#else
#define NEXT_STAGE                                                                                                     \
    next_s++, next_at += TAP_AT(0, 1);                                                                                 \
    if (next_s == S) {                                                                                                 \
        next_s = 0, next_at -= TAP_AT(0, S);                                                                           \
        NEXT_ROW;                                                                                                      \
    }
#endif
#endif

#define STAGE(step, DO)                                                                                                \
    do {                                                                                                               \
        LOCAL SUM *const to_x_ = put_x + (step) % STAGES * STAGE_WORDS;                                                \
        LOCAL SUM *const to_w_ = put_w + (step) % STAGES * STAGE_WORDS;                                                \
                                                                                                                       \
        UNROLL                                                                                                         \
        for (int j = 0; j < X_EACH; j++) {                                                                             \
            GLOBAL const WORD *const from_ = x + (at[j] + next_at);                                                    \
                                                                                                                       \
            UNROLL                                                                                                     \
            for (int i = 0; i < X_ROWS; i++) {                                                                         \
                const int c = i * X_STEP % CB, t = i * X_STEP / CB;                                                    \
                                                                                                                       \
                if (KT % X_STEP == 0 || first + i * X_STEP < KT) {                                                     \
                    CAT(DO, _IF)                                                                                       \
                    (THERE(j, next_r + t / S, next_s + t % S, next_c + first + c), XV,                                 \
                     from_ + CHANNEL_AT(c) + TAP_AT(t / S, t % S), held_x + (j * X_ROWS + i) * XV,                     \
                     to_x_ + i * X_STEP * NT + j * ITEMS * XV);                                                        \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        UNROLL                                                                                                         \
        for (int i = 0; i < W_VECTORS; i++)                                                                            \
            if (W_STAGE / 4 % ITEMS == 0 || i * ITEMS + id < W_STAGE / 4) {                                            \
                DO(4, weights + i * ITEMS * 4, held_w + i * 4, to_w_ + i * ITEMS * 4);                                 \
            }                                                                                                          \
        if (CAT(DO, _READS) && GOES_ON(step, steps)) {                                                                 \
            weights += W_STAGE;                                                                                        \
            NEXT_STAGE;                                                                                                \
        }                                                                                                              \
    } while (0)

/* A warp's lanes: 8 along the pixels, 4 along the channels. */
#if TX % 8 == 0 && TY % 4 == 0
#define TX_OF(item) ((item) / 32 % (TX / 8) * 8 + (item) % 8)
#define TY_OF(item) ((item) / 32 / (TX / 8) * 4 + (item) % 32 / 8)
#else
#define TX_OF(item) ((item) % TX)
#define TY_OF(item) ((item) / TX)
#endif
/* Sum i, j of an item, from its first on; and in the tile. */
#define M_AT(i) ((i) / 4 * (TY * 4) + (i) % 4)
#define N_AT(j) ((j) / 4 * (TX * 4) + (j) % 4)
#define M_OF(i) (ty * 4 + M_AT(i))
#define N_OF(j) (tx * 4 + N_AT(j))

/* Slices: each adds up its own part of all slices' sums, the others' by way of local memory: rows, or where channels lie together
 * columns. */
#if YL > 1
#define OWN (NR / KS)
#define OWNER(i, j) ((j) / OWN)
#define OWN_PLACE(i, j) ((i)*OWN + (j) % OWN)
#else
#define OWN (MR / KS)
#define OWNER(i, j) ((i) / OWN)
#define OWN_PLACE(i, j) ((i) % OWN * NR + (j))
#endif
#define TOLD_AT(i, j, other)                                                                                           \
    (((OWNER(i, j) * (KS - 1) + (other)) * (MR * NR / KS) + OWN_PLACE(i, j)) * SLICE + item)

/* Where pixel and channel lie in y; is the sum this item's to write? */
#define PIXEL_AT(pixel) ((pixel) / (P * Q) * (K * P * Q) + (pixel) % (P * Q) * YL)
#define OUT_CHANNEL_AT(k) ((k) / YL * (P * Q * YL) + (k) % YL)
#define TO_WRITE(i, j, k, pixel)                                                                                       \
    ((KS == 1 || OWNER(i, j) == slice) && (KG % MT == 0 || (k) < KG) && (PIXELS % NT == 0 || (pixel) < PIXELS))
#if YL > 1 && KG % 4 == 0
#define EACH_ROW(i) for (int i = 0; i < MR; i += 4)
#else
#define EACH_ROW(i) for (int i = 0; i < MR; i++)
#endif
#if YL == 1 && P * Q % 4 == 0
#define EACH_COLUMN(j) for (int j = 0; j < NR; j += 4)
#define PUT_SUM(at, k, i, j) PUT_YQ_ALIGNED(at, k, PRIVATE_VLOAD(acc[i] + (j)))
#elif YL > 1 && KG % 4 == 0
#define EACH_COLUMN(j) for (int j = 0; j < NR; j++)
#define PUT_SUM(at, k, i, j)                                                                                           \
    const SUM four[] = {acc[i][j], acc[(i) + 1][j], acc[(i) + 2][j], acc[(i) + 3][j]};                                 \
                                                                                                                       \
    PUT_YK_ALIGNED(at, k, PRIVATE_VLOAD(four))
#else
#define EACH_COLUMN(j) for (int j = 0; j < NR; j++)
#define PUT_SUM(at, k, i, j) PUT_Y(at, k, acc[i][j])
#endif

/* CUDA: one group a multiprocessor is enough; unasked, ptxas spills a few words where that makes room for one more. */
#ifdef TUNE_CUDA
#define GEMM_GROUP __launch_bounds__(ITEMS, 1)
#else
#define GEMM_GROUP WG_SIZE(ITEMS, 1, 1)
#endif

KERNEL GEMM_GROUP conv_implicit_gemm(GLOBAL const WORD *RESTRICT x, GLOBAL const WORD *RESTRICT wp, AROUND_PARAM OUT_PARAMS)
{
    const int id = LID(0), item = id % SLICE, slice = id / SLICE, tx = TX_OF(item), ty = TY_OF(item);
    const int group = GRP(0) / TILES % GROUPS, tile = GRP(0) % TILES;
    const int k0 = tile % M_TILES * MT, pixel0 = tile / M_TILES * NT;
    const int begin = SPLIT == 1 ? 0 : PART * STEPS_PART;
    const int steps = STEPS_ALL % SPLIT == 0 || STEPS_ALL - begin > STEPS_PART ? STEPS_PART : STEPS_ALL - begin;
    const int column = id % X_COLUMNS, first = X_STEP == 1 ? 0 : id / X_COLUMNS;
    GLOBAL const WORD *weights =
        wp + ((long)(group * M_TILES + tile % M_TILES) * STEPS_ALL + begin) * W_STAGE + id * 4;
    int next_c = begin / T_STEPS * CB, next_r = begin % T_STEPS * TB / S, next_s = begin % T_STEPS * TB % S;
    int next_at = CHANNEL_AT(next_c) + TAP_AT(next_r, next_s);
#if DYN_LOCAL
    SUM *const tiles = (SUM *)dynamic_local;
#else
    LOCAL_ALIGNED SUM tiles[LOCAL_SUMS];
#endif
    LOCAL SUM *const put_x = tiles + first * NT + column * XV, *const put_w = tiles + X_STAGE + id * 4;
    LOCAL const SUM *const get_x = tiles + slice * (KT / KS * NT) + N_OF(0);
    LOCAL const SUM *const get_w = tiles + X_STAGE + slice * (KT / KS * MT) + M_OF(0);
    HELD held_x[X_EACH * X_ROWS * XV], held_w[W_VECTORS * 4];
    int at[X_EACH];
    uint rows_in[X_EACH], columns_in[X_EACH];
    SUM acc[MR][NR];

    POISON_LOCAL(tiles, LOCAL_SUMS, id, ITEMS);
    UNROLL
    for (int j = 0; j < X_EACH; j++) {
        const int pixel = pixel0 + (column + j * ITEMS) * XV;
        const int h = pixel / Q % P * SH - PT, w = pixel % Q * SW - PL;

        rows_in[j] = pixel < PIXELS ? inside(h, DH, R, H) : 0;
        columns_in[j] = inside(w, DW, S, W);
        at[j] = pixel / (P * Q) * X_WORDS_N + CHANNEL_AT(group * CW) + CHANNEL_AT(first) + (h * W + w) * XLW;
    }
    UNROLL
    for (int i = 0; i < MR; i++)
        UNROLL
        for (int j = 0; j < NR; j++)
            acc[i][j] = 0;
    STAGES_BEGIN(steps);
    for (int step = 0; step < steps; step++) {
        LOCAL const SUM *const at_x = get_x + step % STAGES * STAGE_WORDS;
        LOCAL const SUM *const at_w = get_w + step % STAGES * STAGE_WORDS;

        STAGES_BEFORE(step, steps);
        UNROLL_BY(KU)
        for (int row = 0; row < KT / KS; row++) {
            SUM a[MR], b[NR];

            UNROLL
            for (int i = 0; i < MR; i += 4)
                LOCAL_GET(4, at_w + row * MT + M_AT(i), a + i);
            UNROLL
            for (int j = 0; j < NR; j += 4)
                LOCAL_GET(4, at_x + row * NT + N_AT(j), b + j);
            UNROLL
            for (int i = 0; i < MR; i++)
                UNROLL
                for (int j = 0; j < NR; j += VEC)
                    MULTIPLY(a[i], b + j, acc[i] + j);
        }
        STAGES_AFTER(step, steps);
    }
#if KS > 1
    BARRIER();
    UNROLL
    for (int i = 0; i < MR; i++)
        UNROLL
        for (int j = 0; j < NR; j++)
            if (OWNER(i, j) != slice)
                tiles[TOLD_AT(i, j, slice - (slice > OWNER(i, j)))] = acc[i][j];
    BARRIER();
    UNROLL
    for (int i = 0; i < MR; i++)
        UNROLL
        for (int j = 0; j < NR; j++)
            if (OWNER(i, j) == slice)
                UNROLL
                for (int other = 0; other < KS - 1; other++)
                    acc[i][j] += tiles[TOLD_AT(i, j, other)];
#endif
    UNROLL
    EACH_COLUMN(j)
    {
        const int pixel = pixel0 + N_OF(j), pixel_at = PIXEL_AT(pixel);

        UNROLL
        EACH_ROW(i)
        {
            const int k = k0 + M_OF(i), channel = group * KG + k;

            if (TO_WRITE(i, j, k, pixel)) {
                PUT_SUM(pixel_at + OUT_CHANNEL_AT(channel), channel, i, j);
            }
        }
    }
}
