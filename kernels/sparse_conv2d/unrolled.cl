/* SPDX-License-Identifier: MIT */
/* unrolled.cl - CUDA: y[n,k,p,q] = sum over the nonzeros w[k,c,r,s] of x[n,c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s],
 * f32, nchw, one launch: what does not depend on the weights. The kernel is appended by
 * kernels/sparse_conv2d/unrolled.c: straight-line code, one FMA a nonzero and output, its weight an immediate, x from
 * local memory, sums in registers. A group makes WG_Y * Y_R rows of WG_X columns of one image's K_T channels; a
 * work-item K_T sums of Y_R rows of one column. C_BLK input channels at a time lie in local memory, padded by zeros,
 * STAGES buffers of [channel][STAGE_ROWS][STAGE_ROW], brought in pieces of PIECE columns, by cp.async where ASYNC; the
 * first column brought is SHIFT to the left of the first that is needed. Branches of the code, one for K_T channels
 * each, are run by IN_A_ROW tiles one after the other: neighbours share code in the caches for instructions. RESIDENT
 * groups share a multiprocessor: bounds registers. Launch: local (WG_X, WG_Y, 1); groups ceil(TILES / IN_A_ROW) *
 * IN_A_ROW * GROUPS_K. */
#ifdef TUNE_CUDA
#include "conv/conv.clh"
#include "gemm/ahead.clh"
#ifndef STAGE_ROW
#define K_T 4
#define Y_R 1
#define WG_X 8
#define WG_Y 8
#define C_BLK 1
#define STAGES 2
#define IN_A_ROW 1
#define RESIDENT 1
#define GROUPS_K 1
#define TILES_X 1
#define TILES_Y 1
#define STAGE_ROWS 10
#define STAGE_ROW 10
#define STAGE_COLUMNS 10
#define SHIFT 0
#define PIECE 1
#define ASYNC 0
#endif
#define TILES (TILES_X * TILES_Y * NB)
#define ITEMS (WG_X * WG_Y)
#define STAGE_ELEMS (C_BLK * STAGE_ROWS * STAGE_ROW)
#define ROW_PIECES (STAGE_COLUMNS / PIECE)
#define PIECES (C_BLK * STAGE_ROWS * ROW_PIECES)
#define SHARE CEIL_DIV(PIECES, ITEMS) /* pieces of a work-item */
#define STEPS (CG / C_BLK)

/* PIECE numbers of step STEP_: by cp.async from global to local memory, `to` bytes behind STAGE_BASE, or to registers
 * and from there. Steps are displacements in the instruction. */
#if ASYNC && !defined(TUNE_EMULATED)
#define STAGE_BASE(stage) (unsigned)__cvta_generic_to_shared(stage)
#else
#define STAGE_BASE(stage) 0u
#endif
#define STAGE_BYTES(step) ((step) % STAGES * (4 * STAGE_ELEMS))
#define STEP_BYTES(step) ((step) * (C_BLK * H * W * 4))
#if !ASYNC
template <int STEP_> DEVICE void fetch(const float *from, float *held)
{
    HOLD_HERE(PIECE, (const float *)((const char *)from + STEP_BYTES(STEP_)), held);
}
template <int STEP_> DEVICE void put(float *stage, unsigned to, const float *held)
{
    HELD_PUT(PIECE, held, (float *)((char *)stage + to + STAGE_BYTES(STEP_)));
}
#elif defined(TUNE_EMULATED)
template <int STEP_> DEVICE void bring(float *stage, unsigned to, const float *from)
{
    tune_emu_cp_async((char *)stage + to + STAGE_BYTES(STEP_), (const char *)from + STEP_BYTES(STEP_), 4 * PIECE);
}
#else
template <int STEP_> DEVICE void bring(float *stage, unsigned to, const float *from)
{
    enum { stage_offset = STAGE_BYTES(STEP_), offset = STEP_BYTES(STEP_) };
#if PIECE == 4
    asm volatile("cp.async.cg.shared.global [%0+%2], [%1+%3], 16;" ::"r"(to), "l"(from), "n"((int)stage_offset),
                 "n"((int)offset)
                 : "memory");
#else
    asm volatile("cp.async.ca.shared.global [%0+%2], [%1+%3], 4;" ::"r"(to), "l"(from), "n"((int)stage_offset),
                 "n"((int)offset)
                 : "memory");
#endif
}
#endif

/* Zeros where the input ends, in all stages: what is brought lies beside them. */
DEVICE void pad(float *stage)
{
    UNROLL
    for (int i = 0; i < STAGES * PIECE; i++)
        stage[i / PIECE * STAGE_ELEMS + i % PIECE] = 0.0f;
}
#if ASYNC && defined(TUNE_EMULATED)
#define SENT() tune_emu_cp_async_commit()
#define WAIT_SENT(n) tune_emu_cp_async_wait(n)
#elif ASYNC
#define SENT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_SENT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#else
#define SENT()
#define WAIT_SENT(n)
#endif

/* What the appended kernel is written with. A weight by its bits; as an instruction of its own: a compiler that may
 * think about thousands of products takes twice as long. */
#ifdef TUNE_EMULATED
#define F(sum, x, bits) sum = fmaf(x, __uint_as_float(0x##bits##u), sum);
#define KEEP(from, to)
#else
#define F(sum, x, bits) asm("fma.rn.f32 %0, %1, 0f" #bits ", %0;" : "+f"(sum) : "f"(x));
/* Addresses stay in registers: a compiler that knows how they are made makes them anew for each step, or all before the
 * first. */
#define KEEP(from, to) asm volatile("" : "+l"(from), "+r"(to))
#endif
#define BRINGS(step) ((step) < STEPS ? (step) : 0) /* that it can be compiled with */
#define EACH_PIECE(step)                                                                                               \
    if ((step) < STEPS)                                                                                                \
        UNROLL                                                                                                         \
    for (int i = 0; i < SHARE; i++)                                                                                    \
        if (i < PIECES / ITEMS ? any_there : last_there)
#if ASYNC
#define BRING(step)                                                                                                    \
    EACH_PIECE(step) bring<BRINGS(step)>(stage, to[i], from[i]);                                                       \
    SENT();
#define STEP(step)                                                                                                     \
    WAIT_SENT(STAGES - 2);                                                                                             \
    BARRIER();                                                                                                         \
    BRING((step) + STAGES - 1)
#else /* a stage is on its way to registers behind the barrier, and put before the next */
#define FETCH(step) EACH_PIECE(step) fetch<BRINGS(step)>(from[i], held[i]);
#define HAND_OVER(step) EACH_PIECE(step) put<BRINGS(step)>(stage, to[i], held[i]);
#define BRING(step) FETCH(step) HAND_OVER(step)
#define STEP(step)                                                                                                     \
    if ((step) > 0)                                                                                                    \
        HAND_OVER((step) + STAGES - 2)                                                                                 \
    BARRIER();                                                                                                         \
    FETCH((step) + STAGES - 1)
#endif
#define X(step, c, row, column) a[(step) % STAGES * STAGE_ELEMS + ((c)*STAGE_ROWS + (row)) * STAGE_ROW + (column)]
#define PUT(k, row, sum)                                                                                               \
    if (p + (row) < P && q < Q)                                                                                        \
    STORE_Y((((long)n * K + (k)) * P + p + (row)) * Q + q, k, sum)
#if ASYNC
#define HELD
#else
#define HELD float held[SHARE][PIECE];
#endif
#ifdef TUNE_EMULATED
#define BOUNDS __launch_bounds__(ITEMS)
#else
#define BOUNDS __launch_bounds__(ITEMS, RESIDENT)
#endif
#define KERNEL_BEGIN                                                                                                   \
    KERNEL BOUNDS sparse_unrolled(GLOBAL const float *RESTRICT x, Y_PARAMS)                                            \
    {                                                                                                                  \
        LOCAL_ALIGNED float stage[STAGES * STAGE_ELEMS];                                                               \
        const int group = GRP(0) / IN_A_ROW % GROUPS_K,                                                                \
                  tile = GRP(0) / (IN_A_ROW * GROUPS_K) * IN_A_ROW + GRP(0) % IN_A_ROW;                                \
        const int n = tile / (TILES_X * TILES_Y), p0 = tile / TILES_X % TILES_Y * (WG_Y * Y_R);                        \
        const int q0 = tile % TILES_X * WG_X, item = LID(1) * WG_X + LID(0);                                           \
        const int p = p0 + LID(1) * Y_R, q = q0 + LID(0);                                                              \
        const float *a = stage + LID(1) * (Y_R * SH * STAGE_ROW) + LID(0) * SW + SHIFT;                                \
        const float *image = x + ((long)n * C + group / (GROUPS_K / GROUPS) * CG) * H * W, *from[SHARE];               \
        const float *own = image;                                                                                      \
        unsigned to[SHARE], own_to = 0;                                                                                \
        HELD bool any_there = false, last_there;                                                                       \
                                                                                                                       \
        if (tile >= TILES)                                                                                             \
            return;                                                                                                    \
        POISON_LOCAL(stage, STAGES *STAGE_ELEMS, item, ITEMS);                                                         \
        UNROLL                                                                                                         \
        for (int i = 0; i < SHARE; i++) {                                                                              \
            const int at = item + i * ITEMS, column = at % ROW_PIECES * PIECE, line = at / ROW_PIECES;                 \
            const int h = p0 * SH - PT + line % STAGE_ROWS, w = q0 * SW - PL - SHIFT + column;                         \
            const bool there = at < PIECES && h >= 0 && h < H && w >= 0 && w < W;                                      \
                                                                                                                       \
            from[i] = there ? image + (line / STAGE_ROWS * H + h) * W + w : 0;                                         \
            to[i] = STAGE_BASE(stage) + 4 * (line * STAGE_ROW + column);                                               \
            own = there ? from[i] : own;                                                                               \
            own_to = there ? to[i] : own_to;                                                                           \
            any_there |= there;                                                                                        \
            if (at < PIECES && !there)                                                                                 \
                pad(stage + line * STAGE_ROW + column);                                                                \
        }                                                                                                              \
        last_there = any_there && item + (SHARE - 1) * ITEMS < PIECES;                                                 \
        UNROLL                                                                                                         \
        for (int i = 0; i < SHARE; i++) {                                                                              \
            to[i] = from[i] ? to[i] : own_to;                                                                          \
            from[i] = from[i] ? from[i] : own;                                                                         \
            KEEP(from[i], to[i]);                                                                                      \
        }
#define KERNEL_END }
#endif
