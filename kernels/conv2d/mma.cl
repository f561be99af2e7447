/* SPDX-License-Identifier: MIT */
/* mma.cl - CUDA: a convolution as an implicit product of matrices by tensor cores (gemm/mma.clh), f16 bf16 i8 u8, all layouts,
 * groups, strides, dilations and epilogues. Rows of A are pixels (n,p,q), rows of B output channels of a group; k counts taps
 * (r,s) and within them the group's channels, padded to 16 bytes (CGP), so that a chunk of 16 bytes lies in one tap.
 * wp[K][R][S][CGP], filled up to whole KT, and taps[chunk of k] are made at load: where a chunk lies in the input, seen from a
 * window's first element, and what a window must have inside the input for that. Where 16 bytes of channels do not lie
 * together (PACK_X), the run packs xp[NB][GROUPS][H][W][CGP] first.
 * Knobs: MT NT KT WM WN STAGES LDM AHEAD BAND; SPLIT of k: groups write part[SPLIT][y], then added up.
 * Launch: WM * WN * 32 threads; groups SPLIT * GROUPS * ceil(NB P Q / MT) * ceil(KG / NT); shared memory as mma.cl's. */
#if defined(TUNE_CUDA) && DT != 0 /* tensor cores have no f32 */
#include "conv/conv.clh"
#include "gemm/mma_bring.clh"
#include "gemm/fold_zero.clh"
#ifndef PACK_X
#define PACK_X 0
#endif
#define ELEM_BYTES (DT == 2 ? 1 : 2)
#define CHUNK_ELEMS (16 / ELEM_BYTES)
#define C_CHUNKS CEIL_DIV(CG, CHUNK_ELEMS)
#define CGP (C_CHUNKS * CHUNK_ELEMS)
#define K_BYTES (CEIL_DIV(R * S * CGP * ELEM_BYTES, KT) * KT)
#define K_ELEMS (K_BYTES / ELEM_BYTES)
#define PIXELS (NB * P * Q)
/* The input as it is read: AL channels of AC together. */
#define AL (PACK_X ? CGP : XL)
#define AC (PACK_X ? GROUPS * CGP : C)
#define AG (AC / GROUPS)
#define A_AT(n, c, h, w) ((((long)((n) * (AC / AL) + (c) / AL) * H + (h)) * W + (w)) * AL + (c) % AL)
#define RUN_ROWS (YL == 1)
/* One group a multiprocessor is enough: unasked, ptxas spills words where that makes room for one more. */
#define CONV_GROUP __launch_bounds__(THREADS, 1)

/* Rows and columns of a window: bits 0 .. R - 1 and R .. R + S - 1; bit R + S is what no window has. */
#if R + S > 31
typedef unsigned long long WINDOW_BITS;
#else
typedef unsigned WINDOW_BITS;
#endif
#define WINDOW_BIT(i) ((WINDOW_BITS)1 << (i))
struct alignas(2 * sizeof(WINDOW_BITS)) TAP {
    WINDOW_BITS need;
    unsigned offset; /* in bytes */
};

KERNEL WG_SIZE(128, 1, 1) conv_mma_pack(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wp)
{
    const int i = GRP(0) * 128 + LID(0), at = i % K_ELEMS, c = at % CGP, tap = at / CGP, k = i / K_ELEMS;

    if (k < K)
        wp[i] = c < CG && tap < R * S ? w[W_AT(k, c, tap / S, tap % S)] : ELEM();
}

/* Of bytes with a zero point that is what lies outside, where windows reach there. */
#if defined(FOLDED) && (PT > 0 || PL > 0 || (P - 1) * SH + (R - 1) * DH - PT >= H || (Q - 1) * SW + (S - 1) * DW - PL >= W)
#define ZEROS_APART 1
#else
#define ZEROS_APART 0
#endif

/* More than there are, so that the stages that are under way can be asked for: without cp.async one more is, in
 * registers. */
KERNEL WG_SIZE(128, 1, 1) conv_mma_taps(GLOBAL TAP *RESTRICT taps)
{
    const int i = GRP(0) * 128 + LID(0), c = i * CHUNK_ELEMS % CGP, tap = i * CHUNK_ELEMS / CGP;
    const int r = tap / S, s = tap % S;

    if (i >= K_BYTES / 16 + (STAGES + 2 - ASYNC) * ROW_CHUNKS)
        return;
    taps[i].need = tap < R * S ? WINDOW_BIT(r) | WINDOW_BIT(R + s) : WINDOW_BIT(R + S);
    taps[i].offset = tap < R * S ? (unsigned)A_AT(0, c, r * DH, s * DW) * ELEM_BYTES : 0;
}

#if PACK_X
#define X_PIECE (CG % XL == 0 && XL <= CHUNK_ELEMS && CHUNK_ELEMS % XL == 0 ? XL : 1) /* elements that lie together */
#define TILE_CHUNKS (C_CHUNKS >= 8 ? 8 : C_CHUNKS >= 4 ? 4 : C_CHUNKS >= 2 ? 2 : 1)
#define TILE_PIXELS (256 / TILE_CHUNKS)
#define CHUNK_TILES CEIL_DIV(C_CHUNKS, TILE_CHUNKS)
#define PIXEL_TILES CEIL_DIV(H *W, TILE_PIXELS)
/* A group of threads turns TILE_PIXELS pixels of TILE_CHUNKS chunks of channels around in shared memory. */
KERNEL WG_SIZE(256, 1, 1) conv_mma_pack_x(GLOBAL const ELEM *RESTRICT x, GLOBAL ELEM *RESTRICT xp)
{
    LOCAL_ALIGNED uint4 tile[256];
    const int first_chunk = GRP(0) % CHUNK_TILES * TILE_CHUNKS, image = GRP(0) / CHUNK_TILES / PIXEL_TILES;
    const int first_pixel = GRP(0) / CHUNK_TILES % PIXEL_TILES * TILE_PIXELS, n = image / GROUPS, group = image % GROUPS;
    const int p_in = LID(0) % TILE_PIXELS, c_in = LID(0) / TILE_PIXELS;
    const int p_out = LID(0) / TILE_CHUNKS, c_out = LID(0) % TILE_CHUNKS;
    const int pixel = first_pixel + p_in, c = (first_chunk + c_in) * CHUNK_ELEMS;
    union {
        wide_of<X_PIECE * ELEM_BYTES>::is piece[CHUNK_ELEMS / X_PIECE];
        uint4 all;
    } chunk;

    UNROLL for (int i = 0; i < CHUNK_ELEMS; i += X_PIECE)
    {
        const bool there = pixel < H * W && c + i < CG;

        chunk.piece[i / X_PIECE] = load_piece<X_PIECE * ELEM_BYTES>(
            (const BYTE *)(x + (there ? X_AT(n, group * CG + c + i, pixel / W, pixel % W) : 0)), there);
    }
    tile[p_in * TILE_CHUNKS + (c_in ^ p_in % TILE_CHUNKS)] = chunk.all;
    BARRIER();
    if (first_pixel + p_out < H * W && first_chunk + c_out < C_CHUNKS)
        ((uint4 *)xp)[((long)image * H * W + first_pixel + p_out) * C_CHUNKS + first_chunk + c_out] =
            tile[p_out * TILE_CHUNKS + (c_out ^ p_out % TILE_CHUNKS)];
}
#endif

/* Chunks of patches. Pixels behind the last one are the last. */
struct A_FEED {
    const BYTE *window[CHUNKS_OF(MT)];   /* its first element, which may lie outside */
    WINDOW_BITS outside[CHUNKS_OF(MT)];  /* its rows and columns that do */
    const TAP *tap;
    TAP now;
#if ZEROS_APART
    const BYTE *zeros;
#endif
    MEMBER A_FEED(const ELEM *x, const TAP *taps, int first_pixel, int first_k)
    {
        tap = taps + first_k / 16 + LID(0) % ROW_CHUNKS;
        now = *tap;
        UNROLL for (int i = 0; i < CHUNKS_OF(MT); i++)
        {
            const int mine = first_pixel + LID(0) / ROW_CHUNKS + i * ROW_STEP;
            const unsigned pixel = mine < PIXELS ? mine : PIXELS - 1, image = pixel / (P * Q), of_it = pixel % (P * Q);
            const int h = (int)(of_it / Q) * SH - PT, w = (int)(of_it % Q) * SW - PL;

            window[i] = one_pointer(x + A_AT((int)image, 0, 0, 0) + ((long)h * W + w) * AL);
            outside[i] = WINDOW_BIT(R + S);
            UNROLL for (int r = 0; r < R; r++)
                outside[i] |= (unsigned)(h + r * DH) < H ? 0 : WINDOW_BIT(r);
            UNROLL for (int s = 0; s < S; s++)
                outside[i] |= (unsigned)(w + s * DW) < W ? 0 : WINDOW_BIT(R + s);
        }
    }
    MEMBER const BYTE *chunk(int i, int *there) const
    {
        const bool inside = (outside[i] & now.need) == 0;

#if ZEROS_APART
        *there = 16;
        return inside ? window[i] + now.offset : zeros;
#else
        *there = inside ? 16 : 0;
        return window[i] + now.offset;
#endif
    }
    MEMBER void next() /* wanted a stage later */
    {
        tap += ROW_CHUNKS;
        now = *tap;
    }
};
typedef row_feed<KG, NT, K_BYTES> B_FEED;
#include "gemm/mma.clh"
#include "gemm/mma_store.clh"

#define A_TILES CEIL_DIV(PIXELS, MT)
#define B_TILES CEIL_DIV(KG, NT)
#define TILES (A_TILES * B_TILES)
/* Where a pixel (of all images) begins in y, and a channel from there: one division where Y_AT has three. */
#define PIXEL_AT(pixel) ((long)((unsigned)(pixel) / (P * Q)) * ((long)(K - YL) * P * Q) + (long)(pixel)*YL)
#define CHANNEL_AT(k) ((long)((unsigned)(k) / YL) * (P * Q * YL) + (int)((unsigned)(k) % YL))
#define Y_ELEMS ((long)NB * K * P * Q)

#if SPLIT > 1
KERNEL CONV_GROUP conv_mma(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT wp,
                           GLOBAL const TAP *RESTRICT taps, AROUND_PARAM GLOBAL MMA_SUM *RESTRICT part)
#else
KERNEL CONV_GROUP conv_mma(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT wp,
                           GLOBAL const TAP *RESTRICT taps, AROUND_PARAM Y_PARAMS)
#endif
{
    const int tile = GRP(0) % TILES, group = GRP(0) / TILES % GROUPS, slice = GRP(0) / TILES / GROUPS;
    const int first = (SPLIT - 1) * STEPS_PART <= STEPS_ALL || slice * STEPS_PART < STEPS_ALL
                          ? slice * STEPS_PART
                          : STEPS_ALL; /* a part without a step asks for a tap, too */
    const int steps = (first + STEPS_PART < STEPS_ALL ? first + STEPS_PART : STEPS_ALL) - first;
    MMA_SUM acc[MI][NI][4];
    int pixel0, k0;

    place_tile(tile, A_TILES, B_TILES, &pixel0, &k0);
    pixel0 *= MT;
    k0 *= NT;
    A_FEED pixels(x + A_AT(0, group * AG, 0, 0), taps, pixel0, first * KT);
#if ZEROS_APART
    pixels.zeros = one_pointer(around + FOLD_LINE);
#endif
    multiply_tiles(acc, pixels,
                   B_FEED(wp + (long)group * KG * K_ELEMS, k0, first * KT), steps);
#if SPLIT > 1
#define PUT_RUN(at, k, run) STORE_RUN(part + slice * Y_ELEMS + (at), run)
#else
#define PUT_RUN(at, k, run) STORE_RUN(at, k, run)
#endif
#define PUT(i, j, run)                                                                                                 \
    do {                                                                                                               \
        const int pixel_ = pixel0 + (i), c_ = k0 + (j), k_all_ = group * KG + c_;                                      \
                                                                                                                       \
        if ((PIXELS % MT == 0 || pixel_ < PIXELS) && (KG % NT == 0 || c_ < KG))                                        \
            PUT_RUN(PIXEL_AT(pixel_) + CHANNEL_AT(k_all_), k_all_, run);                                               \
    } while (0)
    EACH_RUN(acc, PUT);
}

#if SPLIT > 1
KERNEL WG_SIZE(128, 1, 1) conv_mma_add(GLOBAL const MMA_SUM *RESTRICT part, Y_PARAMS)
{
    const long i = (long)GRP(0) * 128 + LID(0);
    MMA_SUM sum = 0;

    if (i >= Y_ELEMS)
        return;
    for (int slice = 0; slice < SPLIT; slice++)
        sum += part[slice * Y_ELEMS + i];
    STORE_Y(i, (int)(i / YL / (P * Q) % (K / YL)) * YL + (int)(i % YL), (SUM)sum);
}
#endif
#endif
