/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define ROWS "softmax f32 m=7 n=1000"
#define RAGGED "softmax f32 m=70 n=37"
#define VERY_LONG "softmax f32 m=1 n=300000"
#define LONG "softmax f32 m=1 n=20011"
#define SCALED "softmax i8 m=3 n=101"

static const char *const shapes[] = {
    ROWS,
    RAGGED,
    "softmax f32 m=1 n=1", /* tiny */
    "softmax f32 m=600 n=3",
    LONG,
    "softmax f32 m=5 n=512",
    "softmax f16 m=9 n=1000",
    "softmax f16 m=3 n=77",
    "softmax f16 m=5 n=65",
    SCALED,
    "softmax i8 m=2 n=1000",
    NULL,
};

static const struct mutant mutants[] = {
    {"softmax/naive", ROWS, "missing last term", "i < n + PART && i < N", "i < n + PART && i < N - 1"},
    {"softmax/naive", ROWS, "nothing subtracted", "BELOW1(v, top) ((v) - (top))", "BELOW1(v, top) ((v) - 0 * (top))"},
    {"softmax/naive", RAGGED, "unguarded tail", "if (row >= M)", "if (row < 0)"},
    {"softmax/naive", RAGGED, "wrong row", "x + (long)row * N", "x + (long)(row / 2) * N"},
    {"softmax/naive", ROWS, "uninitialised accumulator", "float sum = 0.0f,", "float sum = y[0],"},
    {"softmax/naive", LONG, "one running sum", "#define PART 32", "#define PART 1000000"},
    {"softmax/naive", SCALED, "not scaled", "((float)((v) - (top)) * scale[0])", "((float)((v) - (top)))"},
    {"softmax/naive", ROWS, "a term of the series missing", "p = FMA(f, p, SET(1.0f / 24));", ""},

    {"softmax/naive", VERY_LONG, "roundings not carried on", "next = part - *over", "next = part", "cpu"},
    {"softmax/rows", VERY_LONG, "roundings not carried on", "next = part - *over", "next = part", "cpu",
     "vec=1 wg=1 rows=1 keep=0"},
    {"softmax/rows", RAGGED, "missing last term", "i < N; i += WG)", "i < N - 1; i += WG)"},
    {"softmax/rows", RAGGED, "largest not of the tail", "EACH_OF_THE_REST top = MAX1(top, IN_LOAD1(from + i));", ""},
    {"softmax/rows", ROWS, "largest at least 0", "SUM top = IN_LOAD1(from);", "SUM top = 0;"},
    {"softmax/rows", ROWS, "nothing subtracted", "BELOW(v, top) VSUB((v), VSET(top))", "BELOW(v, top) (v)"},
    {"softmax/rows", ROWS, "largest of a few", "EACH_VECTOR tops = VMAX(tops, IN_VLOAD(from + i));", ""},
    {"softmax/rows", RAGGED, "wrong row", "x + WITHIN(row) * N", "x + WITHIN(row) / 2 * N"},
    {"softmax/rows", ROWS, "uninitialised accumulator", "sums = FVSET(0.0f)", "sums = FVSET(y[0])"},
    {"softmax/rows", ROWS, "lanes lost", "out = take(out, lanes_[l_])", "out = take(out, lanes_[0])"},
    {"softmax/rows", SCALED, "not scaled", "((float)((v) - (top)) * scale[0])", "((float)((v) - (top)))"},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct rare_config configs[] = {
    /* loads of eight halves from odd addresses, held in a register: PoCL made aligned ones of them */
    {"softmax/rows", "softmax f16 m=5 n=65", "vec=8 wg=16 rows=1 keep=0"},
    {NULL, NULL, NULL},
};

const struct cases cases_softmax = {shapes, mutants, configs};
