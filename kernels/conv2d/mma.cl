/* SPDX-License-Identifier: MIT */
/* mma.cl - CUDA: a convolution as an implicit product of matrices by tensor cores (gemm/mma.clh), f16 bf16 i8, all layouts,
 * groups, strides, dilations and epilogues. Rows of A are pixels (n,p,q), rows of B output channels of a group; k counts taps
 * (r,s) and within them the group's channels, padded to 16 bytes: wp[K][R][S][CGP] (packed at load). Patches of the input are
 * gathered while loading: WIDTH bytes at a time where channels lie together (XL > 1), else element by element.
 * Knobs: MT NT KT WM WN STAGES LDM BAND; SPLIT of k: groups write part[SPLIT][y], then added up.
 * Launch: WM * WN * 32 threads; groups SPLIT * GROUPS * ceil(NB P Q / MT) * ceil(KG / NT); shared memory of STAGES stages. */
#if defined(TUNE_CUDA) && DT != 0 /* tensor cores have no f32 */
#include "conv/conv.clh"
#include "gemm/mma_bring.clh"
#define ELEM_BYTES (DT == 2 ? 1 : 2)
#define CHUNK_ELEMS (16 / ELEM_BYTES)
#define CGP (CEIL_DIV(CG, CHUNK_ELEMS) * CHUNK_ELEMS)
#define K_BYTES (R * S * CGP * ELEM_BYTES)
#define PIXELS (NB * P * Q)
#define ROWS_FIRST (XL == 1)

KERNEL WG_SIZE(128, 1, 1) conv_mma_pack(GLOBAL const ELEM *RESTRICT w, GLOBAL ELEM *RESTRICT wp)
{
    const int i = GRP(0) * 128 + LID(0), c = i % CGP, tap = i / CGP % (R * S), k = i / CGP / (R * S);

    if (k < K)
        wp[i] = c < CG ? w[W_AT(k, c, tap / S, tap % S)] : ELEM();
}

struct OPERANDS {
    const ELEM *x;
    const BYTE *w; /* of this group's output channels */
    int c0;        /* the group's first channel */
};
struct A_ROW {
    int n, h, w; /* image, and the window's first row and column; n < 0: no pixel */
};
typedef const BYTE *B_ROW;

DEVICE A_ROW a_row(const OPERANDS *, int i)
{
    A_ROW r = {-1, 0, 0};

    if (i < PIXELS) {
        r.n = i / (P * Q);
        r.h = i / Q % P * SH - PT;
        r.w = i % Q * SW - PL;
    }
    return r;
}
DEVICE B_ROW b_row(const OPERANDS *o, int i)
{
    return i < KG ? o->w + (long)i * K_BYTES : 0;
}
DEVICE void b_chunk(const OPERANDS *o, B_ROW row, int at, BYTE *to)
{
    bring_chunk<16>(to, row ? row + at : o->w, row ? K_BYTES - at : 0);
}
DEVICE void a_chunk(const OPERANDS *o, const A_ROW &row, int at, BYTE *to)
{
    const int c = at / ELEM_BYTES % CGP, tap = at / ELEM_BYTES / CGP;
    const int h = row.h + tap / S * DH, w = row.w + tap % S * DW;
    const bool there = row.n >= 0 && tap < R * S && (unsigned)h < H && (unsigned)w < W;
#if XL == 1
    const ELEM *const from = o->x + X_AT(there ? row.n : 0, o->c0 + c, there ? h : 0, there ? w : 0);
    union {
        ELEM e[CHUNK_ELEMS];
        uint4 all;
    } chunk;

    chunk.all = make_uint4(0, 0, 0, 0);
    UNROLL for (int i = 0; i < CHUNK_ELEMS; i++) if (there && c + i < CG)
        chunk.e[i] = from[(long)i * H * W];
    *(uint4 *)to = chunk.all;
#else
    UNROLL for (int i = 0; i < CHUNK_ELEMS; i += WIDTH / ELEM_BYTES)
    {
        const bool this_one = there && c + i < CG;

        bring<WIDTH>(to + i * ELEM_BYTES,
                     (const BYTE *)(this_one ? o->x + X_AT(row.n, o->c0 + c + i, h, w) : o->x), this_one);
    }
#endif
}
#include "gemm/mma.clh"

#define A_TILES CEIL_DIV(PIXELS, MT)
#define B_TILES CEIL_DIV(KG, NT)
#define TILES (A_TILES * B_TILES)
#define Y_ELEMS ((long)NB * K * P * Q)

#if SPLIT > 1
KERNEL WG_SIZE(THREADS, 1, 1) conv_mma(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT wp,
                                       GLOBAL MMA_SUM *RESTRICT part)
#else
KERNEL WG_SIZE(THREADS, 1, 1) conv_mma(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT wp, Y_PARAMS)
#endif
{
    const int tile = GRP(0) % TILES, group = GRP(0) / TILES % GROUPS, slice = GRP(0) / TILES / GROUPS;
    const int first = slice * STEPS_PART;
    const OPERANDS o = {x, (const BYTE *)wp + (long)group * KG * K_BYTES, group * CG};
    MMA_SUM acc[MI][NI][4];
    int pixel0, k0;

    place_tile(tile, A_TILES, B_TILES, &pixel0, &k0);
    pixel0 *= MT;
    k0 *= NT;
    multiply_tiles(acc, &o, pixel0, k0, first, first + STEPS_PART < STEPS_ALL ? first + STEPS_PART : STEPS_ALL);
#define PUT(i, j, sum)                                                                                                 \
    do {                                                                                                               \
        const int pixel_ = pixel0 + (i), k_ = k0 + (j);                                                                \
                                                                                                                       \
        if (pixel_ < PIXELS && k_ < KG)                                                                                \
            PUT_SUM(Y_AT(pixel_ / (P * Q), group * KG + k_, pixel_ / Q % P, pixel_ % Q), group * KG + k_, sum);        \
    } while (0)
#if SPLIT > 1
#define PUT_SUM(at, k, sum) part[slice * Y_ELEMS + (at)] = (sum)
#else
#define PUT_SUM(at, k, sum) STORE_Y(at, k, (SUM)(sum))
#endif
    EACH_SUM(acc, PUT);
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
