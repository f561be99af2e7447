/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SQUARE "attention f32 b=1 heads=2 q=64 k=64 d=32"
#define RAGGED "attention f32 b=2 heads=3 q=37 k=71 d=40"
#define CAUSAL "attention f32 b=1 heads=2 q=53 k=53 d=32 causal=1"
#define PAST "attention f32 b=1 heads=2 q=9 k=77 d=32 causal=1 past=68"
#define GROUPED "attention f32 b=2 heads=6 q=11 k=45 d=32 group=3"
#define MASKED "attention f32 b=2 heads=2 q=7 k=33 d=32 mask=bhqk"
#define SHUT "attention f32 b=2 heads=2 q=40 k=3 d=37 mask=bqk" /* rows that see nothing */
#define LENGTHS "attention f32 b=7 heads=2 q=5 k=67 d=32 lengths=1"
#define DECODE "attention f32 b=2 heads=8 q=1 k=301 d=64 group=4 lengths=1"
#define LONG "attention f32 b=1 heads=1 q=3 k=1500 d=128 scale=1"
#define FEW "attention f32 b=1 heads=2 q=3 k=50 d=37 causal=1 past=40"
#define INSIDE "attention f32 b=2 heads=3 q=21 k=35 d=48 layout=blhd"

static const char *const shapes[] = {
    SQUARE,
    RAGGED,
    CAUSAL,
    PAST,
    GROUPED,
    MASKED,
    SHUT,
    LENGTHS,
    DECODE,
    INSIDE,
    FEW,
    "attention f32 b=1 heads=1 q=1 k=1 d=1",                                       /* tiny */
    "attention f32 b=1 heads=1 q=130 k=200 d=64 dv=24",                            /* other values */
    "attention f32 b=3 heads=4 q=19 k=65 d=33 dv=65 group=2 mask=hqk layout=blhd", /* nothing a multiple */
    "attention f32 b=1 heads=2 q=67 k=40 d=32 causal=1 past=3 mask=qk",            /* the keys end */
    LONG,
    "attention f32 b=1 heads=1 q=16 k=50 d=256",
    "attention f32 b=3 heads=4 q=2 k=90 d=32 group=4 causal=1 past=88 mask=k lengths=1 layout=blhd",
    "attention f16 b=1 heads=2 q=33 k=129 d=64",
    "attention f16 b=2 heads=4 q=1 k=200 d=128 group=2 lengths=1 layout=blhd",
    "attention f16 b=1 heads=2 q=50 k=50 d=40 causal=1 mask=bqk",
    NULL,
};

static const struct mutant mutants[] = {
    {"attention/naive", RAGGED, "last key missing", "j < from + TOGETHER && j < n", "j < from + TOGETHER && j < n - 1"},
    {"attention/naive", RAGGED, "not scaled", "FFMA1((product), SCALE, 0.0f)", "FFMA1((product), 1.0f, 0.0f)"},
    {"attention/naive", RAGGED, "largest at least 0", "float top = LEAST_LOGIT", "float top = 0.0f"},
    {"attention/naive", RAGGED, "unguarded tail", "if (row >= (long)BATCH * HEADS * Q)", "if (row < 0)"},
    {"attention/naive", GROUPED, "another head's keys", "k + K_AT(b, h / GROUP, j)", "k + K_AT(b, h % KV_HEADS, j)"},
    {"attention/naive", CAUSAL, "one key too many", "(i) + PAST + 1 < K ? (i) + PAST + 1",
     "(i) + PAST + 2 < K ? (i) + PAST + 2"},
    {"attention/naive", PAST, "no past", "(i) + PAST + 1 < K ? (i) + PAST + 1", "(i) + 1 < K ? (i) + 1"},
    {"attention/naive", LENGTHS, "length of the first", "lengths[b])", "lengths[0])"},
    {"attention/naive", SHUT, "no keys, no zeros", "((sum) > 0.0f ? quotient((v), (sum)) : 0.0f)",
     "quotient((v), (sum))"},
    {"attention/naive", MASKED, "mask of the first head", "(MASK_H ? (h) : 0)", "0"},
    {"attention/naive", SHUT, "powers end at e^-87", "SET(-88.02f)", "SET(-87.0f)"},
    {"attention/naive", INSIDE, "heads outside", "#if ROWS_FIRST", "#if 0"},
    {"attention/naive", RAGGED, "a term missing", "p = FMA(f, p, SET(POWER_3));", ""},
    {"attention/naive", SQUARE, "a query taken for the one that begins alike",
     "GLOBAL const ELEM *query = q + Q_AT(b, h, i);",
     "const long before = i && LOAD1(q + Q_AT(b, h, i)) == LOAD1(q + Q_AT(b, h, i - 1)) && "
     "LOAD1(q + Q_AT(b, h, i) + 1) == LOAD1(q + Q_AT(b, h, i - 1) + 1) && LOAD1(q + Q_AT(b, h, i) + 2) == "
     "LOAD1(q + Q_AT(b, h, i - 1) + 2) && LOAD1(q + Q_AT(b, h, i) + 3) == LOAD1(q + Q_AT(b, h, i - 1) + 3) && "
     "LOAD1(q + Q_AT(b, h, i)) != 0.0f;\n    GLOBAL const ELEM *query = q + Q_AT(b, h, i - before);"},

    {"attention/packed", RAGGED, "last key missing", "n = seen < n_keys ? seen : n_keys;",
     "n = (seen < n_keys ? seen : n_keys) - 1;"},
    {"attention/packed", RAGGED, "not scaled", "VFMA(LOCAL_VLOAD(row + j), VSET(SCALE), EACH_MASK(j))",
     "LOCAL_VLOAD(row + j) + EACH_MASK(j)"},
    {"attention/packed", RAGGED, "largest at least 0", "tops[r] = LEAST_LOGIT", "tops[r] = 0.0f"},
    {"attention/packed", RAGGED, "rest of a row in y missing", "for (; c < DV; c++)\n        STORE1",
     "for (; c < DV - 1; c++)\n        STORE1"},
    {"attention/packed", LONG, "sums not scaled anew", "* VSET(factors[i])", "+ VSET(0.0f)"},
    {"attention/packed", LONG, "powers not scaled anew", "FMA1(*total, factor, sum)", "*total + sum"},
    {"attention/packed", LONG, "uninitialised sums", "sums[r * SUMS + c] = 0.0f;", ""},
    {"attention/packed", GROUPED, "another head's queries", "((head)*GROUP + (row) % GROUP)",
     "((head) + (row) % GROUP)"},
    {"attention/packed", CAUSAL, "a tile's rows all alike", "own < 0 ? 0 : own < n ? own : n,", "n,"},
    {"attention/packed", LENGTHS, "length of the first", "lengths[b])", "lengths[0])"},
    {"attention/packed", SHUT, "no keys, no zeros", "total > 0.0f ? inverse(total) : 0.0f", "inverse(total)"},
    {"attention/packed", MASKED, "mask of the first query", "(MASK_Q ? (i) : 0)", "0"},
    {"attention/packed", DECODE, "lanes exchanged", "VEVEN(parts[2 * i], parts[2 * i + 1])",
     "VEVEN(parts[2 * i + 1], parts[2 * i])"},
    {"attention/packed", FEW, "rest of a product missing", "rest[i] = FMA1(query[c],", "rest[i] = 0 * FMA1(query[c],"},
    {"attention/tiled", RAGGED, "last key missing", "j < n_keys; j++) {", "j < n_keys - 1; j++) {"},
    {"attention/tiled", RAGGED, "not scaled", "FFMA1((product), SCALE, 0.0f)", "FFMA1((product), 1.0f, 0.0f)"},
    {"attention/tiled", RAGGED, "largest at least 0", "top[i] = LEAST_LOGIT", "top[i] = 0.0f"},
    {"attention/tiled", RAGGED, "largest of one work-item", "tops[(y0 + i) * TX + x]);", "tops[(y0 + i) * TX]);"},
    {"attention/tiled", RAGGED, "unguarded tail", "if (row < ROWS) {", "if (row < ROWS + 3) {"},
    {"attention/tiled", RAGGED, "sums not scaled anew", "sums[i][c] *= factor;", ";"},
    {"attention/tiled", RAGGED, "uninitialised sums", "sums[i][c] = 0.0f;", "sums[i][c] = tops[0];"},
    {"attention/tiled", CAUSAL, "rows all alike", "at < seen[i] && at < end", "at < end"},
    {"attention/tiled", GROUPED, "another head's queries", "((head)*GROUP + (row) % GROUP)",
     "((head) + (row) % GROUP)"},
    {"attention/tiled", MASKED, "mask of the first query", "(MASK_Q ? (i) : 0)", "0"},
    {"attention/tiled", FEW, "rest of a product missing", "c = D / VEC * VEC; c < D; c++)",
     "c = D / VEC * VEC; c < D - 1; c++)"},
    {"attention/tiled", LONG, "a slice missing", "s < SPLIT; s++) {", "s < SPLIT - 1; s++) {"},
    {"attention/tiled", LONG, "slices not scaled", "FMA1(from[c], factor, sum)", "from[c] + sum"},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct rare_config configs[] = {
    {"attention/tiled", "attention f32 b=2 heads=4 q=5 k=9 d=16 dv=24 layout=blhd",
     "tx=8 ty=4 mr=1 nr=1 vec=4 stage=0 split=1"}, /* values apart by another step than keys, read where they lie */
    {NULL, NULL, NULL},
};

const struct cases cases_attention = {shapes, mutants, configs};
