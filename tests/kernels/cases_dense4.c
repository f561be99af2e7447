/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define CUT "dense4 f32 m=2 n=19 k=100 zeros=1"
#define ROUNDED "dense4 f32 m=2 n=37 k=100 zeros=1 bytes=1"

static const char *const shapes[] = {
    CUT,
    "dense4 f32 m=16 n=64 k=64", /* square */
    "dense4 f32 m=1 n=1 k=1",    /* tiny */
    "dense4 f32 m=1 n=130 k=512 block=128 epilogue=bias_add",
    "dense4 f32 m=5 n=37 k=51 block=16 zeros=1 epilogue=bias_add_relu",
    "dense4 f32 m=3 n=70 k=300 block=256 epilogue=bias_swish",
    "dense4 f16 m=1 n=45 k=2100 zeros=1 epilogue=bias", /* sums that halves do not hold */
    "dense4 f16 m=9 n=19 k=96 block=64",
    ROUNDED,
    "dense4 f32 m=16 n=64 k=64 bytes=1",
    "dense4 f32 m=1 n=1 k=1 bytes=1",
    "dense4 f32 m=3 n=130 k=512 block=128 bytes=1 epilogue=bias_add_relu",
    "dense4 f32 m=1 n=45 k=51 block=16 zeros=1 bytes=1 epilogue=bias_swish",
    "dense4 f16 m=5 n=70 k=2100 block=256 zeros=1 bytes=1 epilogue=bias",
    NULL,
};

static const struct mutant mutants[] = {
    {"dense4/naive", CUT, "missing last term", "k < K; k++", "k < K - 1; k++"},
    {"dense4/naive", CUT, "halves of a byte exchanged", "k % 2 ? byte >> 4 : byte & 15",
     "k % 2 ? byte & 15 : byte >> 4"},
    {"dense4/naive", CUT, "the first zero point for all", "w_zero[(long)(n)*BLOCKS + (b)]", "w_zero[(long)(n)*BLOCKS]"},
    {"dense4/naive", CUT, "rows of k bytes", "((long)n * BLOCKS + b) * BLOCK_BYTES + k % BLOCK / 2",
     "((long)n * K + k) / 2"},
    {"dense4/naive", CUT, "a scale that is another row's", "LOAD1(w_scale + (long)(n)*BLOCKS + (b))",
     "LOAD1(w_scale + (long)((n) + 1) % N * BLOCKS + (b))"},

    {"dense4/streams", CUT, "missing last term", "k < K; k++", "k < K - 1; k++"},
    {"dense4/streams", CUT, "not packed", "#define LOW_OF(j) ((j) / VEC * CHUNK + (j) % VEC)",
     "#define LOW_OF(j) (2 * (j))"},
    {"dense4/streams", CUT, "the first zero point for all", "w_zero[(long)(n)*BLOCKS + (b)]",
     "w_zero[(long)(n)*BLOCKS]"},
    {"dense4/streams", CUT, "the last block's scale missing", "sum += part * SCALE_AT(row[r], K / BLOCK)",
     "sum += part"},
    {"dense4/streams", CUT, "unguarded tail", "if (n < N && m < M)", "if (m < M)"},
    {"dense4/streams", CUT, "the lower halves twice", "VFMA(high_x[i], high,", "VFMA(high_x[i], low,"},

    {"dense4/panels", ROUNDED, "a last block that is not rounded whole",
     "K - b * BLOCK < BLOCK ? K - b * BLOCK : BLOCK,", "K - b * BLOCK < BLOCK ? K - b * BLOCK - 1 : BLOCK,"},
    {"dense4/panels", ROUNDED, "halves exchanged", "j) | NUMBER(n, b, 8 * g + 4 + j) << 4",
     "j) << 4 | NUMBER(n, b, 8 * g + 4 + j)"},
    {"dense4/panels", ROUNDED, "without the zero points", "(-(sum)*ZEROS_AT(zp + (at)))", "((INT_V)0)"},
    {"dense4/panels", ROUNDED, "the first block's power for all", "VSET(steps[row[i] + b])", "VSET(steps[row[i]])"},
    {"dense4/panels", ROUNDED, "unguarded tail", "n + j < N; j++", "j < VEC; j++"},
    {"dense4/panels", ROUNDED, "a power of two too large", "(most + 0x1ffffu) >> 23", "((most + 0x1ffffu) >> 23) + 1"},
    {"dense4/naive", ROUNDED, "not rounded", "(SUM)rounded(LOAD1(at), e) * STEP(e)", "LOAD1(at)"},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_dense4 = {shapes, mutants};
