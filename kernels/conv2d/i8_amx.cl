/* SPDX-License-Identifier: MIT */
/* i8_amx.cl - y[n,k,p,q] = sum over c,r,s of x[n,c0+c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], x int8 or, without its zero point,
 * UNSIGNED, w int8, int32 sums, in the tile registers of x86's AMX; all layouts, groups and epilogues. dense is the case of one
 * row of M pixels with K channels stored together.
 * A step multiplies CB channels of 16 pixels by those of 16 output channels (tdpbusd, tdpbssd: 16 x 16 sums of CB products).
 * xp[n][g][c/CB][row][column][CB] holds x with the zero point around and after the last channel; or it is x itself (IN_PLACE:
 * no padding, channels stored together by CB). wp[g][k/16][c/CB][r][s][CB/4][16][4], zero after the last channel;
 * sums[k] = bias - z * (sum of w), which is added in the bias's place (UNSIGNED).
 * Without strides the pixels of an image are one line, with the padding between its rows, whose sums nobody stores; with
 * strides each row is a line. A 1x1 window's packed x has its output pixels only.
 * Knobs: CB; MV x 16 pixels by NV x 16 output channels of a tile; TILES tiles a work-item along the line, KT blocks of
 * output channels it does for each of them; ORDER fastest axis: 0 pixels (weights stay in cache), 1 k; AHEAD steps that
 * weights are fetched ahead into the first cache, 0 not.
 * Launch: local 1; groups (NB*KPARTS*LINES*PARTS, 1, 1). Packing: one item a row of a block; one a (k block, c block). */
#include "conv/conv.clh"
#ifndef MV
#define CB 64
#define MV 1
#define NV 1
#define TILES 1
#define KT 1
#define ORDER 0
#define AHEAD 0
#define IN_PLACE 0
#endif

#define NR (16 * NV)
#define CBLOCKS CEIL_DIV(CG, CB)
#define GBLOCKS CEIL_DIV(KG, NR) /* blocks of output channels of a group */
#define GPARTS CEIL_DIV(GBLOCKS, KT)
#define KPARTS (GROUPS * GPARTS)
#define W_TILE (16 * CB)                         /* bytes of a step's weights for 16 output channels */
#define W_BLOCK ((long)CBLOCKS * R * S * W_TILE) /* of all steps */

#if IN_PLACE || (R == 1 && S == 1) /* pixels as the kernel sees them */
#define HP (IN_PLACE ? H : P)
#define WP (IN_PLACE ? W : Q)
#define STEP_H (IN_PLACE ? SH : 1)
#define STEP_W (IN_PLACE ? SW : 1)
#define PACK_H SH
#define PACK_W SW
#else
#define HP ((P - 1) * SH + (R - 1) * DH + 1)
#define WP ((Q - 1) * SW + (S - 1) * DW + 1)
#define STEP_H SH
#define STEP_W SW
#define PACK_H 1
#define PACK_W 1
#endif
#define PIXEL (IN_PLACE ? XL : CB) /* bytes from a pixel to the next */
#define BLOCK_AT(cb) (IN_PLACE ? (long)((cb) * CB / XL) * H * W * XL + (cb) * CB % XL : (long)(cb) * HP * WP * CB)
#define FLAT (STEP_H == 1 && STEP_W == 1)
#define LINES (FLAT ? 1 : P)
#define LENGTH (FLAT ? (P - 1) * WP + Q : Q)
#define T_ROWS (IN_PLACE && LENGTH < 16 ? LENGTH : 16) /* pixels of a tile */
#define PIXELS (T_ROWS * MV)
#define PARTS CEIL_DIV(LENGTH, PIXELS *TILES)

#ifdef UNSIGNED
#define SUMS_PARAM , GLOBAL const int *RESTRICT sums
#define DOT "tdpbusd"
#else
#define SUMS_PARAM
#define DOT "tdpbssd"
#endif

#ifdef AMX
#define TILE_LOAD(t, p, stride)                                                                                        \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(p), "r"((long)(stride)) : "memory")
#define TILE_STORE(t, p) __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"(p), "r"(64L) : "memory")
#define TILE_DOT(c, a, b) __asm__ volatile(DOT " %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")
#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t : : : "memory")
#define TILES_END() __asm__ volatile("tilerelease" : : : "memory")
#else /* the file alone compiles everywhere */
#define TILE_LOAD(t, p, stride)
#define TILE_STORE(t, p)
#define TILE_DOT(c, a, b)
#define TILE_ZERO(t)
#define TILES_END()
#endif

#if !IN_PLACE
#if XL % 16 == 0 && CG % 16 == 0
#define PIECE uchar16 /* of a pixel's channels that lie together */
#define PIECE_BYTES 16
#elif XL % 4 == 0 && CG % 4 == 0
#define PIECE uchar4
#define PIECE_BYTES 4
#else
#define PIECE uchar
#define PIECE_BYTES 1
#endif

KERNEL WG_SIZE(1, 1, 1) i8_amx_pack_x(GLOBAL const ELEM *RESTRICT x, GLOBAL uchar *RESTRICT xp ZERO_PARAM)
{
    const PIECE padding = (PIECE)((uchar)ZERO_OF(0));
    const int row = GRP(0), cb = GRP(1), g = GRP(2) % GROUPS, n = GRP(2) / GROUPS, h = row * PACK_H - PT;
    const int n_channels = CG - cb * CB < CB ? CG - cb * CB : CB;
    GLOBAL uchar *to = xp + ((long)((n * GROUPS + g) * CBLOCKS + cb) * HP + row) * WP * CB;

    for (int i = 0; i < WP; i++, to += CB) {
        const int at = i * PACK_W - PL, inside = h >= 0 && h < H && at >= 0 && at < W;

        UNROLL
        for (int j = 0; j < CB; j += PIECE_BYTES)
            *(GLOBAL PIECE *)(to + j) =
                inside && j < n_channels ? *(GLOBAL const PIECE *)(x + X_AT(n, g * CG + cb * CB + j, h, at)) : padding;
    }
}
#endif

DEVICE char weight_at(GLOBAL const char *w, int g, int k, int c, int rs)
{
    return k < KG && c < CG ? w[W_AT(g * KG + k, c, rs / S, rs % S)] : 0;
}

/* One block of 16 output channels, one of CB channels. */
KERNEL WG_SIZE(1, 1, 1) i8_amx_pack_w(GLOBAL const char *RESTRICT w, GLOBAL char *RESTRICT wp)
{
    const int kb = GRP(0), cb = GRP(1), g = kb / (GBLOCKS * NV), k0 = kb % (GBLOCKS * NV) * 16;
    GLOBAL char *to = wp + kb * W_BLOCK + (long)cb * R * S * W_TILE;

    for (int rs = 0; rs < R * S; rs++, to += W_TILE)
        for (int i = 0; i < W_TILE; i++)
            to[i] = weight_at(w, g, k0 + i / 4 % 16, cb * CB + i / 64 * 4 + i % 4, rs);
}

#ifdef UNSIGNED
KERNEL WG_SIZE(1, 1, 1) i8_amx_sum_w(GLOBAL const char *RESTRICT w, GLOBAL int *RESTRICT sums ZERO_PARAM BIAS_PARAM)
{
    const int k = GRP(0);
    int sum = 0;

    for (int c = 0; c < CG; c++)
        for (int rs = 0; rs < R * S; rs++)
            sum += weight_at(w, k / KG, k % KG, c, rs);
    sums[k] = ADD_BIAS(-zero[0] * sum, k);
}

#undef ADD_BIAS
#undef VADD_BIAS_K
#define ADD_BIAS(v, k) ((v) + sums[k])
#define VADD_BIAS_K(v, k) VADD((v), SUM_VLOAD(sums + (k)))
#endif

/* tmm0..3: sums of pixels m, channels v in 2*m + v; 4, 5: pixels; 6, 7: weights (Intel's manual, "TILECFG"). */
DEVICE void begin_tiles(void)
{
#ifdef AMX
    int16 a = (int16)(0);

    a.s0 = 1;                           /* palette */
    a.s4 = a.s5 = 64 | 64 << 16;        /* bytes of a row */
    a.s6 = CB | CB << 16;
    a.s7 = 64 | 64 << 16;
    a.sc = T_ROWS * 0x01010101;         /* rows */
    a.sd = T_ROWS | T_ROWS << 8 | CB / 4 << 16 | CB / 4 << 24;
    __asm__ volatile("ldtilecfg (%0)" : : "r"(&a) : "memory");
#endif
}

#if AHEAD
#define AHEAD_OF(p)                                                                                                    \
    UNROLL                                                                                                             \
    for (int i = 0; i < W_TILE; i += 64)                                                                               \
        PREFETCH1((p) + i + AHEAD * W_TILE);
#else
#define AHEAD_OF(p)
#endif

DEVICE void begin_sums(void)
{
    TILE_ZERO(0);
#if NV > 1
    TILE_ZERO(1);
#endif
#if MV > 1
    TILE_ZERO(2);
#if NV > 1
    TILE_ZERO(3);
#endif
#endif
}

/* Adds the products of CB channels of the tile whose first pixel's bytes are at `a`, and weights at `b`. */
DEVICE void add_step(GLOBAL const uchar *a, GLOBAL const char *b)
{
    TILE_LOAD(6, b, 64);
    AHEAD_OF(b)
#if NV > 1
    TILE_LOAD(7, b + W_BLOCK, 64);
    AHEAD_OF(b + W_BLOCK)
#endif
    TILE_LOAD(4, a, STEP_W * PIXEL);
    TILE_DOT(0, 4, 6);
#if NV > 1
    TILE_DOT(1, 4, 7);
#endif
#if MV > 1
    TILE_LOAD(5, a + 16 * STEP_W * PIXEL, STEP_W * PIXEL);
    TILE_DOT(2, 5, 6);
#if NV > 1
    TILE_DOT(3, 5, 7);
#endif
#endif
}

/* out[MV][NV][16 pixels][16 channels] */
DEVICE void keep_sums(int *out)
{
    TILE_STORE(0, out);
#if NV > 1
    TILE_STORE(1, out + 256);
#endif
#if MV > 1
    TILE_STORE(2, out + 256 * NV);
#if NV > 1
    TILE_STORE(3, out + 256 * NV + 256);
#endif
#endif
}

#ifdef UNSIGNED
#undef ZERO_OF
#define ZERO_OF(i) held_zero[i]
#define HELD_PARAM , const int *held_zero SUMS_PARAM
#define HELD_ARG , held_zero, sums
#else
#define HELD_PARAM
#define HELD_ARG
#endif

/* Bytes of four pixels, whose 16 channels lie one after the other, at once: AVX-512 rounds to nearest even and
 * saturates in the packing, so that only what is above the most is cut before (docs/notes/int8.md). */
#if defined(AMX) && defined(OUT_BYTES) && !defined(EPI_JOIN) && YL == 16 && VEC == 16
#define QUADS 1
typedef int16 quad_of_pixels __attribute__((aligned(16)));

#ifdef UNSIGNED
#define PACK_BYTES "vpackuswb"
#define MOST_BYTES "vpmaxub"
#else
#define PACK_BYTES "vpacksswb"
#define MOST_BYTES "vpmaxsb"
#endif

DEVICE int16 rounded(float16 f, float most)
{
    int16 v;

    f = f < (float16)most ? f : (float16)most;
    __asm__("vcvtps2dq %1, %0" : "=v"(v) : "v"(f));
    return v;
}

DEVICE void store_quad(const int16 *v, int zero, GLOBAL OUT *y)
{
    const int16 order = (int16)(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const int16 zeros = (int16)(zero * 0x10001);
    int16 a, b, bytes;

    __asm__("vpackssdw %2, %1, %0" : "=v"(a) : "v"(v[0]), "v"(v[1]));
    __asm__("vpackssdw %2, %1, %0" : "=v"(b) : "v"(v[2]), "v"(v[3]));
    __asm__("vpaddsw %2, %1, %0" : "=v"(a) : "v"(a), "v"(zeros));
    __asm__("vpaddsw %2, %1, %0" : "=v"(b) : "v"(b), "v"(zeros));
    __asm__(PACK_BYTES " %2, %1, %0" : "=v"(bytes) : "v"(a), "v"(b));
    __asm__("vpermd %1, %2, %0" : "=v"(a) : "v"(bytes), "v"(order));
#ifdef EPI_RELU
    __asm__(MOST_BYTES " %2, %1, %0" : "=v"(a) : "v"(a), "v"((int16)((int)((uint)zero * 0x01010101u))));
#endif
    *(GLOBAL quad_of_pixels *)y = a;
}

#define ROUNDED_SUM(i, k, v)                                                                                           \
    rounded(FLOATS_OF(EPILOGUE_K(i, k, v)) * FLOATS_LOAD(scale + (k)), MOST(ZERO_OF_Y))
#else
#define QUADS 0
#endif

/* Stores pixels i to `end` of a tile of line `line` whose first pixel is `begin`, or up to 3 more: the first one that is
 * left. out: sums of output channels from g * KG + k0 on, as keep_sums has them. */
__attribute__((always_inline)) DEVICE int store_pixels(int i, int end, int begin, int line, int n, int g, int k0, const int *out HELD_PARAM, Y_PARAMS)
{
    for (; i < end && begin + i < LENGTH; i++) {
        const int p = FLAT ? (begin + i) / WP : line, q = FLAT ? (begin + i) % WP : begin + i;
        const int *at = out + i / T_ROWS * (NV * 256) + i % T_ROWS * 16;

        if (q >= Q)
            continue;
#if QUADS
        if ((KG % NR == 0 || k0 + NR <= KG) && q + 3 < Q && i % T_ROWS + 3 < T_ROWS) {
            UNROLL
            for (int j = 0; j < NV; j++) {
                const int k = g * KG + k0 + 16 * j;
                int16 v[4];

                UNROLL
                for (int l = 0; l < 4; l++)
                    v[l] = ROUNDED_SUM(Y_AT(n, k, p, q + l), k, PRIVATE_VLOAD(at + j * 256 + l * 16));
                store_quad(v, ZERO_OF_Y, y + Y_AT(n, k, p, q));
            }
            i += 3;
            continue;
        }
#endif
#if VEC > 1
        if (KG % NR == 0 || k0 + NR <= KG) {
            UNROLL
            for (int j = 0; j < NR; j += VEC) {
                const int k = g * KG + k0 + j;

                STORE_YK(Y_AT(n, k, p, q), k, PRIVATE_VLOAD(at + j / 16 * 256 + j % 16));
            }
        } else
#endif
            for (int j = 0; j < NR && k0 + j < KG; j++) {
                const int k = g * KG + k0 + j;

                STORE_Y(Y_AT(n, k, p, q), k, at[j / 16 * 256 + j % 16]);
            }
    }
    return i;
}

#define STEPS (CBLOCKS * R * S)
#define LATE (STEPS >= 4)                            /* a tile is stored between the steps of the next one */
#define PIXELS_A_STEP (4 * CEIL_DIV(PIXELS, 4 * STEPS)) /* of those that are stored so */

/* x is xp unless IN_PLACE; then the last tile begins earlier instead of reading behind the line. */
KERNEL WG_SIZE(1, 1, 1) i8_amx(GLOBAL const uchar *RESTRICT x, GLOBAL const char *RESTRICT wp SUMS_PARAM, Y_PARAMS)
{
    const int item = GRP(0);
#if ORDER == 0
    const int part = item % PARTS, line = item / PARTS % LINES, k_part = item / (PARTS * LINES) % KPARTS;
#else
    const int k_part = item % KPARTS, part = item / KPARTS % PARTS, line = item / (KPARTS * PARTS) % LINES;
#endif
    const int n = item / (PARTS * LINES * KPARTS), g = k_part / GPARTS, k_first = k_part % GPARTS * KT;
    int out[MV * NV * 256], left = PIXELS, left_begin = 0, left_k = 0; /* of the tile before: pixels from `left` on */

#ifdef UNSIGNED
    HOLD_ZEROS(held_zero);
#endif

    begin_tiles();
    for (int tile = 0; tile < TILES; tile++) {
        const int first = (part * TILES + tile) * PIXELS;
        const int begin = IN_PLACE && first + PIXELS > LENGTH ? LENGTH - PIXELS : first;
        GLOBAL const uchar *from =
            x + (IN_PLACE ? X_AT(n, g * CG, line * STEP_H, 0)
                          : (((long)(n * GROUPS + g) * CBLOCKS * HP) + line * STEP_H) * WP * CB) +
            (long)begin * STEP_W * PIXEL;

        if (first >= LENGTH)
            break;
        for (int kg = k_first; kg < k_first + KT && kg < GBLOCKS; kg++) {
            GLOBAL const char *b = wp + (g * GBLOCKS + kg) * NV * W_BLOCK;

            begin_sums();
            for (int cb = 0; cb < CBLOCKS; cb++)
                for (int r = 0; r < R; r++)
                    for (int s = 0; s < S; s++, b += W_TILE) {
                        add_step(from + BLOCK_AT(cb) + ((long)r * DH * WP + s * DW) * PIXEL, b);
                        if (LATE && left < PIXELS)
                            left = store_pixels(left, left + PIXELS_A_STEP, left_begin, line, n, g, left_k,
                                                out HELD_ARG, Y_ARGS);
                    }
            keep_sums(out);
            left = first - begin;
            left_begin = begin;
            left_k = kg * NR;
            if (!LATE)
                store_pixels(left, PIXELS, left_begin, line, n, g, left_k, out HELD_ARG, Y_ARGS);
        }
    }
    if (LATE)
        store_pixels(left, PIXELS, left_begin, line, n, g, left_k, out HELD_ARG, Y_ARGS);
    TILES_END();
}
