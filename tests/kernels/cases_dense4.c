/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define CUT "dense4 f32 m=2 n=19 k=100 zeros=1"

static const char *const shapes[] = {
    CUT,
    "dense4 f32 m=16 n=64 k=64", /* square */
    "dense4 f32 m=1 n=1 k=1",    /* tiny */
    "dense4 f32 m=1 n=130 k=512 block=128 epilogue=bias_add",
    "dense4 f32 m=5 n=37 k=51 block=16 zeros=1 epilogue=bias_add_relu",
    "dense4 f32 m=3 n=70 k=300 block=256 epilogue=bias_swish",
    "dense4 f16 m=1 n=45 k=2100 zeros=1 epilogue=bias", /* sums that halves do not hold */
    "dense4 f16 m=9 n=19 k=96 block=64",
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
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_dense4 = {shapes, mutants};
