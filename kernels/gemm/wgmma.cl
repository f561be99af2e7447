/* SPDX-License-Identifier: MIT */
/* wgmma.cl - CUDA, sm_90a: y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k] by warpgroups (wgmma.clh), f16 bf16 i8, all
 * epilogues; rows of whole 16 bytes, as they lie. One warp brings tiles of MT rows of x and NT of w, 128 bytes of k at
 * a time, STAGES of them under way; WGS warpgroups multiply, each MT / WGS rows. Blocks of a cluster have tiles one
 * below the other, and each brings its part of the rows of w to all of them.
 * Knobs: MT NT tile; WGS warpgroups; STAGES; CLUSTER 1 2 blocks; BAND tiles of m that are done together through all of
 * n; GATHER 1: stores of eight outputs, f16 and bf16, N a multiple of 8. VEC: 2, or 1 for an odd N. maps: 64 words a
 * group.
 * Launch: WGS * 128 + 32 threads; GROUPS groups, a multiple of CLUSTER, take TURNS each at the BATCH *
 * ceil(M / MT) * ceil(N / NT) tiles; shared memory STAGES * (MT + NT) * 128 + 512. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && DT != 0
#ifndef MT
#define BATCH 1
#define M 4
#define N 8
#define K 16
#define MT 128
#define NT 128
#define WGS 2
#define STAGES 3
#define CLUSTER 1
#define BAND 8
#define GATHER 0
#define GROUPS 1
#endif
#include "gemm/wgmma.clh"
#define MI (MT / WGS / 64)
#define K_BYTES (K * (int)sizeof(ELEM))
#define STEPS CEIL_DIV(K_BYTES, 128)
#define STAGE_BYTES ((MT + NT) * 128)
#define M_UNITS CEIL_DIV(CEIL_DIV(M, MT), CLUSTER) /* tiles of a cluster */
#define N_TILES CEIL_DIV(N, NT)
#define UNITS (BATCH * M_UNITS * N_TILES)
#if CLUSTER > 1 && !defined(TUNE_EMULATED)
#define CLUSTERED __cluster_dims__(CLUSTER, 1, 1)
#define B_BOX (NT / CLUSTER)
#else
#define CLUSTERED
#define B_BOX NT
#endif

struct PLACE {
    int b, m, n; /* matrix; first row and column */
};

/* Of this block in unit `unit`: bands of BAND units of m one after another, each through all of n, so that groups that
 * run together share what they read. */
DEVICE PLACE place_of(int unit)
{
    const int in_matrix = unit % (M_UNITS * N_TILES), band = in_matrix / (BAND * N_TILES) * BAND;
    const int height = M_UNITS - band < BAND ? M_UNITS - band : BAND, in_band = in_matrix - band * N_TILES;
    const int rank = GRP(0) % CLUSTER;

    return PLACE{unit / (M_UNITS * N_TILES), ((band + in_band % height) * CLUSTER + rank) * MT, in_band / height * NT};
}

/* A ring of stages: `full` when its bytes have come, `empty` when all that read it are done. */
struct RING {
    BYTE *tiles;
    BITS64 *full, *empty;
    int stage, parity;

    MEMBER void next()
    {
        parity ^= stage == STAGES - 1;
        stage = stage == STAGES - 1 ? 0 : stage + 1;
    }
};

/* One lane: all tiles of this block, stage by stage. */
DEVICE void bring_tiles(RING ring, const BYTE *x_map, const BYTE *w_map)
{
    const int b_part = cluster_rank() * B_BOX;

    see_map(x_map);
    see_map(w_map);
    for (int unit = GRP(0) / CLUSTER; unit < UNITS; unit += GROUPS / CLUSTER) {
        const PLACE at = place_of(unit);

        NO_UNROLL for (int step = 0; step < STEPS; step++)
        {
            BYTE *const to = ring.tiles + ring.stage * STAGE_BYTES;

            barrier_wait(ring.empty + ring.stage, ring.parity ^ 1);
            barrier_expect(ring.full + ring.stage, STAGE_BYTES);
            bring_box(to, x_map, step * 128, at.b * M + at.m, ring.full + ring.stage, false);
            bring_box(to + (MT + b_part) * 128, w_map, step * 128, at.b * N + at.n + b_part, ring.full + ring.stage,
                      true);
            ring.next();
        }
    }
}

/* One thread of a warpgroup tells all blocks that write into the stage. */
DEVICE void release(const RING &ring, int stage)
{
    if (LID(0) % 128 < (B_BOX < NT ? CLUSTER : 1))
        barrier_arrive(ring.empty + stage, LID(0) % 128);
}

/* The sums of this warpgroup's rows of a tile: one stage is multiplied while the one before is told to be free. */
DEVICE void multiply_tile(MMA_SUM (&acc)[MI][NT / 2], RING &ring)
{
    const unsigned a_rows = rows_at(ring.tiles + LID(0) / 128 * (MI * 64 * 128));
    const unsigned b_rows = rows_at(ring.tiles + MT * 128);
    int before = 0;

    NO_UNROLL for (int step = 0; step < STEPS; step++)
    {
        const unsigned at = ring.stage * (STAGE_BYTES >> 4);

        barrier_wait(ring.full + ring.stage, ring.parity);
        WGMMA_BEGIN();
        UNROLL for (int k = 0; k < 4; k++)
            UNROLL for (int i = 0; i < MI; i++)
                wgmma(acc[i], a_rows + (at + i * 64 * 8 + k * 2), b_rows + (at + k * 2), step > 0 || k > 0);
        WGMMA_SENT();
        WGMMA_WAIT(1);
        if (step > 0)
            release(ring, before);
        before = ring.stage;
        ring.next();
    }
    WGMMA_WAIT(0);
    release(ring, before);
}

#if GATHER
/* Two outputs in a word. */
DEVICE unsigned word_of(VT v)
{
#ifdef TUNE_EMULATED
    return elem_of_sum(lane(v, 0)).bits | (unsigned)elem_of_sum(lane(v, 1)).bits << 16;
#else
    unsigned word;

    asm(ROUND_PAIR " %0, %1, %2;" : "=r"(word) : "f"((float)lane(v, 1)), "f"((float)lane(v, 0)));
    return word;
#endif
}

/* Of four lanes that have a word of each of four eights of columns, lane t gets all of eight t. */
DEVICE void gather_eights(unsigned (&v)[4])
{
    const bool odd = LID(0) % 2, high = LID(0) / 2 % 2;

    UNROLL for (int i = 0; i < 4; i += 2)
    {
        const unsigned got = __shfl_xor_sync(0xffffffffu, odd ? v[i] : v[i + 1], 1);

        v[i] = odd ? got : v[i];
        v[i + 1] = odd ? v[i + 1] : got;
    }
    UNROLL for (int i = 0; i < 2; i++)
    {
        const unsigned got = __shfl_xor_sync(0xffffffffu, high ? v[i] : v[i + 2], 2);

        v[i] = high ? got : v[i];
        v[i + 2] = high ? v[i + 2] : got;
    }
}
#endif

#define ROW_THERE(m) (M % (MT * CLUSTER) == 0 || (m) < M)
#define COLUMN_THERE(n) (N % NT == 0 || (n) < N)

/* Outputs of row m, four eights of columns from n on: sums[4 i] and the next are this thread's of eight i. */
DEVICE void store_row(const MMA_SUM *sums, int b, int m, int n, Y_PARAMS)
{
    const long row = ((long)b * M + m) * N;
#if GATHER
    const bool in = ROW_THERE(m);
    unsigned v[4];
#endif

    UNROLL for (int i = 0; i < 4; i++)
    {
        const int k = n + i * 8 + LID(0) % 4 * 2;
#if VEC == 1
        if (ROW_THERE(m) && COLUMN_THERE(k))
            STORE_Y(row + k, k, (SUM)sums[i * 4]);
        if (ROW_THERE(m) && COLUMN_THERE(k + 1))
            STORE_Y(row + k + 1, k + 1, (SUM)sums[i * 4 + 1]);
#else
        VT out;

        lane(out, 0) = (SUM)sums[i * 4];
        lane(out, 1) = (SUM)sums[i * 4 + 1];
#if GATHER
        v[i] = word_of(EPILOGUE_K(in && COLUMN_THERE(k) ? row + k : 0, COLUMN_THERE(k) ? k : 0, out));
#else
        if (ROW_THERE(m) && COLUMN_THERE(k))
            STORE_YK_ALIGNED(row + k, k, out);
#endif
#endif
    }
#if GATHER
    gather_eights(v);
    n += LID(0) % 4 * 8;
    if (in && COLUMN_THERE(n))
        *(uint4 *)(y + row + n) = make_uint4(v[0], v[1], v[2], v[3]);
#endif
}

DEVICE void store_tile(const MMA_SUM (&acc)[MI][NT / 2], PLACE at, Y_PARAMS)
{
    at.m += LID(0) / 128 * (MI * 64) + LID(0) / 32 % 4 * 16 + LID(0) % 32 / 4;
    UNROLL for (int j = 0; j < NT / 8; j += 4) /* outside: what belongs to columns is loaded once, and not kept */
        UNROLL for (int i = 0; i < MI; i++)
            UNROLL for (int h = 0; h < 2; h++)
                store_row(&acc[i][j * 4 + h * 2], at.b, at.m + i * 64 + h * 8, at.n + j * 8, Y_ARGS);
}

KERNEL CLUSTERED WG_SIZE(WGS * 128 + 32, 1, 1) gemm_wgmma(GLOBAL const ELEM *RESTRICT x, GLOBAL const ELEM *RESTRICT w,
                                                          GLOBAL int *maps, Y_PARAMS)
{
    extern __shared__ __align__(1024) BYTE shared_[];
    BYTE *const room = shared_ + STAGES * STAGE_BYTES, *const map = (BYTE *)(maps + GRP(0) * 64);
    BITS64 *const barriers = (BITS64 *)(room + 256);
    RING ring = {shared_, barriers, barriers + STAGES, 0, 0};

    if (LID(0) / 32 == 0)
        make_map(map, room, x, BATCH * M, K_BYTES, MT);
    if (LID(0) / 32 == 1)
        make_map(map + 128, room + 128, w, BATCH * N, K_BYTES, B_BOX);
    if (LID(0) == 64) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(ring.full + i, 1);
            barrier_init(ring.empty + i, WGS * (NT / B_BOX));
        }
        barriers_made();
    }
    cluster_barrier();
    if (LID(0) >= WGS * 128) {
        if (LID(0) == WGS * 128)
            bring_tiles(ring, map, map + 128);
    } else {
        for (int unit = GRP(0) / CLUSTER; unit < UNITS; unit += GROUPS / CLUSTER) {
            MMA_SUM acc[MI][NT / 2];

            multiply_tile(acc, ring);
            store_tile(acc, place_of(unit), Y_ARGS);
        }
    }
    if (B_BOX < NT) /* blocks stay while others may write to them */
        cluster_barrier();
}
#endif
