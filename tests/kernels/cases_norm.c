/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define ROWS "norm f32 m=9 n=768"
#define RAGGED "norm f32 m=70 n=37"
#define LONG "norm f32 m=1 n=300000"
#define RMS "norm f32 m=7 n=300 kind=rms epsilon=1000000"

static const char *const shapes[] = {
    ROWS,
    RAGGED,
    RMS,
    "norm f32 m=1 n=1", /* tiny */
    "norm f32 m=600 n=3 epsilon=1",
    "norm f32 m=2 n=20011",
    "norm f16 m=9 n=768",
    "norm f16 m=3 n=77 kind=rms",
    NULL,
};

static const struct mutant mutants[] = {
    {"norm/naive", RAGGED, "missing last term", "part += LOAD1(from + i)",
     "part += i < N - 1 ? LOAD1(from + i) : 0.0f"},
    {"norm/naive", RAGGED, "unguarded tail", "if (row >= M)", "if (row < 0)"},
    {"norm/naive", ROWS, "wrong row", "x + (long)row * N", "x + (long)(row / 2) * N"},
    {"norm/naive", ROWS, "bias of another", "BIAS1(i) LOAD1(bias + (i))", "BIAS1(i) LOAD1(bias + (i) / 2)"},
    {"norm/naive", RMS, "mean of one less", "(squares) / (float)N", "(squares) / (float)(N - 1)"},

    {"norm/rows", RAGGED, "squares of the rest missing", "#define OFF1(v) SQUARE((v)-mean)", "#define OFF1(v) 0.0f"},
    {"norm/rows", LONG, "roundings not carried on", "next = part - *over", "next = part", "cpu", "vec=1 wg=1 rows=1"},
    {"norm/rows", RAGGED, "rest not stored", "EACH_OF_THE_REST STORE1", "if (0) EACH_OF_THE_REST STORE1"},
    {"norm/rows", ROWS, "no epsilon, twice", "+ EPSILON)", "+ 1e6f * EPSILON)"},
    {"norm/rows", ROWS, "mean is kept", "VSUB(VLOAD(from + i), VSET(mean))", "VLOAD(from + i)"},
    {"norm/rows", ROWS, "weights of another vector", "VLOAD(w + i)", "VLOAD(w + (i + VEC) % (N / VEC * VEC))"},
    {"norm/rows", ROWS, "no bias", "BIASES(i) VLOAD(bias + (i))", "BIASES(i) VSET(0.0f)"},
    {"norm/rows", RMS, "not the root", "inverse(ROOT(", "inverse(("},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_norm = {shapes, mutants};
