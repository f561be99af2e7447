/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define PLAIN "concat f32 n=2 c=5 c2=2 h=11 w=37"
#define NHWC "concat f32 n=2 c=5 c2=9 h=7 w=9 layout=nhwc"
#define BLOCKS "concat f32 n=2 c=16 c2=32 h=7 w=9 layout=nchw16c"

static const char *const shapes[] = {
    PLAIN,
    BLOCKS,
    NHWC,
    "concat f32 n=1 c=1 c2=1 h=1 w=1",     /* tiny */
    "concat f32 n=1 c=64 c2=64 h=16 w=16", /* no tail */
    "concat f32 n=1 c=3 c2=1 h=101 w=103", /* several work-groups, a tail */
    "concat f32 n=3 c=1 c2=7 h=1 w=3",     /* less than a vector of each */
    "concat f16 n=1 c=5 c2=9 h=11 w=37",
    "concat f16 n=2 c=8 c2=4 h=7 w=8 layout=nchw4c",
    "concat f16 n=1 c=24 c2=8 h=11 w=9 layout=nhwc",
    "concat u8 n=2 c=16 c2=4 h=7 w=8 layout=nhwc",
    "concat u8 n=1 c=5 c2=9 h=11 w=37",
    "concat u8 n=2 c=16 c2=32 h=7 w=8 layout=nchw16c",
    NULL,
};

static const struct mutant mutants[] = {
    {"concat/naive", PLAIN, "exchanged", "at < A ? *FROM_A(i, at) : *FROM_B(i, at)",
     "at < B ? b[i / (A + B) * B + at] : a[i / (A + B) * A + at - B]"},
    {"concat/naive", PLAIN, "of the first image", "(b + ((i) / (A + B) * B + (at) - A))", "(b + ((at) - A))"},
    {"concat/naive", PLAIN, "unguarded tail", "if (i < N)", ""},
    {"concat/naive", BLOCKS, "last one missing", "if (i < N)", "if (i < N - 1)"},
    {"concat/naive", BLOCKS, "one element on", "(a + ((i) / (A + B) * A + (at)))",
     "(a + ((i) / (A + B) * A + ((at) + 1) % A))"},

    {"concat/stream", NHWC, "pixels of a alone", "*FROM_B(k, k % (A + B));", "a[k % A];"},
    {"concat/stream", PLAIN, "a's end ignored", "at + VEC <= A)", "at < A)"},
    {"concat/stream", PLAIN, "unguarded tail", "k < i + VEC && k < N", "k < i + VEC"},
    {"concat/stream", PLAIN, "first of both missing", "long k = i;", "long k = i + 1;"},
    {"concat/stream", BLOCKS, "b from a", "RVLOAD(FROM_B(i, at))", "RVLOAD(FROM_A(i, at - A))"},
    {"concat/stream", PLAIN, "next image's b", "at >= A && at + VEC <= A + B", "at >= A"},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_concat = {shapes, mutants};
