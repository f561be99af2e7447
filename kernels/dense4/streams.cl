/* SPDX-License-Identifier: MIT */
/* streams.cl - y[m,n] = sum over k of x[m,k] * (w[n,k] - w_zero[n,k/BLOCK]) * w_scale[n,k/BLOCK], weights of 4 bits, see
 * dense4.clh; f32, f16, all epilogues: bound by reading w where rows of x are few. CPUs and others that compile OpenCL C.
 * Weights are packed at load so that VEC bytes, of 2*VEC weights of a row, are the lanes of two vectors: the lower halves
 * the first VEC weights, the upper ones the others. A work-item computes MR rows of x by ROWS streams of TURNS rows of w, vectors
 * along k; the sums of a block are multiplied by its scale as vectors, and added up across lanes at the end of a row.
 * Knobs: VEC lanes; MR rows of x; ROWS streams; TURNS rows of each; AHEAD bytes that a stream is asked for in advance, 0: not.
 * Launch: local (1, 1, 1); groups (ceil(N / (ROWS*TURNS)), ceil(M / MR), 1). */
#include "dense4/dense4.clh"

#ifndef TUNE_CUDA /* which has no vectors of bytes */
#ifndef ROWS
#define ROWS 2
#define MR 1
#define TURNS 1
#define AHEAD 1024
#endif
#define CHUNK (2 * VEC)
#define CHUNKS (BLOCK / CHUNK)
#define ROW_BYTES ((long)BLOCKS * BLOCK_BYTES)
#define LINE_BLOCKS (BLOCK_BYTES < 64 ? 64 / BLOCK_BYTES : 1) /* that a cache line has */
#define INTS CAT(int, VEC)

/* The bytes at p as whole numbers; whole numbers as floats. */
#ifdef POCL_DEVICE_ADDRESS_BITS /* whose conversions go lane by lane */
typedef uchar weight_lanes __attribute__((ext_vector_type(VEC), aligned(1)));
#define BYTES(p) __builtin_convertvector(*(GLOBAL const weight_lanes *)(p), INTS)
#define FLOATS(v) __builtin_convertvector((v), VT)
#else
#define BYTES(p) CAT(convert_int, VEC)(CAT(vload, VEC)(0, (p)))
#define FLOATS(v) CAT(convert_float, VEC)(v)
#endif

#if AHEAD
#define ASK(p)                                                                                                         \
    UNROLL                                                                                                             \
    for (int j_ = 0; j_ < LINE_BLOCKS * BLOCK_BYTES; j_ += 64)                                                         \
        PREFETCH1((p) + AHEAD + j_)
#else
#define ASK(p)
#endif

/* Where byte j of a row of packed weights comes from: its lower and its upper half, weights of the row. */
#define LOW_OF(j) ((j) / VEC * CHUNK + (j) % VEC)
#define HIGH_OF(j) (LOW_OF(j) + VEC)
#define NUMBER(row, k) ((row)[(k) / 2] >> ((k) % 2 * 4) & 15)

KERNEL WG_SIZE(1, 1, 1) dense4_pack_w(GLOBAL const uchar *RESTRICT w, GLOBAL uchar *RESTRICT wp)
{
    GLOBAL const uchar *row = w + GRP(0) * ROW_BYTES;

    for (int j = 0; j < BLOCKS * BLOCK_BYTES; j++)
        wp[GRP(0) * ROW_BYTES + j] = (uchar)(NUMBER(row, LOW_OF(j)) | NUMBER(row, HIGH_OF(j)) << 4);
}

/* Streams past the last row read it again and store nothing; so do rows of x. */
KERNEL WG_SIZE(1, 1, 1) dense4_streams(GLOBAL const ELEM *RESTRICT x, W_PARAMS, Y_PARAMS)
{
    GLOBAL const ELEM *from_x[MR];

    UNROLL
    for (int i = 0; i < MR; i++) {
        const int m = GRP(1) * MR + i;

        from_x[i] = x + (long)(m < M ? m : M - 1) * K;
    }
    for (int turn = 0; turn < TURNS; turn++) {
        VT acc[MR][ROWS];
        int row[ROWS];

        UNROLL
        for (int r = 0; r < ROWS; r++) {
            const int n = (GRP(0) * ROWS + r) * TURNS + turn;

            row[r] = n < N ? n : N - 1;
            UNROLL
            for (int i = 0; i < MR; i++)
                acc[i][r] = VSET(0);
        }
        for (int b = 0; b < K / BLOCK; b++) {
            VT part[MR][ROWS];

            if (b % LINE_BLOCKS == 0) {
                UNROLL
                for (int r = 0; r < ROWS; r++)
                    ASK(w + row[r] * ROW_BYTES + b * BLOCK_BYTES);
            }
            UNROLL
            for (int c = 0; c < CHUNKS; c++) {
                VT low_x[MR], high_x[MR];

                UNROLL
                for (int i = 0; i < MR; i++) {
                    low_x[i] = VLOAD(from_x[i] + b * BLOCK + c * CHUNK);
                    high_x[i] = VLOAD(from_x[i] + b * BLOCK + c * CHUNK + VEC);
                }
                UNROLL
                for (int r = 0; r < ROWS; r++) {
                    const INTS bytes = BYTES(w + row[r] * ROW_BYTES + b * BLOCK_BYTES + c * VEC);
                    const VT low = FLOATS((bytes & 15) - ZERO_AT(row[r], b));
                    const VT high = FLOATS((bytes >> 4) - ZERO_AT(row[r], b));

                    UNROLL
                    for (int i = 0; i < MR; i++)
                        part[i][r] = VFMA(high_x[i], high, c ? VFMA(low_x[i], low, part[i][r]) : VMUL(low_x[i], low));
                }
            }
            UNROLL
            for (int r = 0; r < ROWS; r++)
                UNROLL
                for (int i = 0; i < MR; i++)
                    acc[i][r] = VFMA(part[i][r], VSET(SCALE_AT(row[r], b)), acc[i][r]);
        }
        UNROLL
        for (int r = 0; r < ROWS; r++)
            UNROLL
            for (int i = 0; i < MR; i++) {
                const int n = (GRP(0) * ROWS + r) * TURNS + turn, m = GRP(1) * MR + i;
                SUM lanes[VEC], sum = 0, part = 0;

                PRIVATE_VSTORE(acc[i][r], lanes);
                UNROLL
                for (int j = 0; j < VEC; j++)
                    sum += lanes[j];
                for (int k = K / BLOCK * BLOCK; k < K; k++) {
                    const int j = k % BLOCK, at = j / CHUNK * VEC + j % VEC;
                    const int byte = w[row[r] * ROW_BYTES + K / BLOCK * BLOCK_BYTES + at];

                    part += LOAD1(from_x[i] + k) *
                            (SUM)((j % CHUNK < VEC ? byte & 15 : byte >> 4) - ZERO_AT(row[r], K / BLOCK));
                }
                if (K % BLOCK)
                    sum += part * SCALE_AT(row[r], K / BLOCK);
                if (n < N && m < M)
                    STORE_Y((long)m * N + n, n, sum);
            }
    }
}
#endif
