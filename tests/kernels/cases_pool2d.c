/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define MAX "pool2d f32 n=1 c=5 h=11 w=37 r=3 s=3 stride=2 pad=1"
#define AVG "pool2d f32 n=1 c=5 h=10 w=21 r=3 s=2 pad=1,0 kind=avg"
#define BLOCKED "pool2d f32 n=1 c=32 h=11 w=13 r=3 s=3 stride=2 pad=1 layout=nchw16c"
#define NHWC "pool2d f32 n=2 c=40 h=11 w=13 r=3 s=3 stride=2 pad=1 layout=nhwc"
#define PLANE "pool2d f32 n=1 c=37 h=13 w=7 r=13 s=7 kind=avg"
#define FLAT "pool2d f32 n=1 c=1 h=12 w=12 r=3 s=3 stride=2 pad=1"
#define ONE "pool2d f16 n=1 c=1 h=9 w=10 r=9 s=10"
#define AVG_U8 "pool2d u8 n=1 c=16 h=8 w=8 r=2 s=2 stride=2 kind=avg layout=nchw16c"
#define AVG_I8 "pool2d i8 n=1 c=8 h=9 w=10 r=3 s=2 pad=1 kind=avg layout=nchw8c"

static const char *const shapes[] = {
    "pool2d f32 n=1 c=16 h=14 w=14 r=3 s=3 stride=2 pad=1",      /* square */
    MAX,                                                         /* ragged */
    "pool2d f32 n=1 c=1 h=1 w=1 r=1 s=1",                        /* tiny */
    "pool2d f32 n=2 c=6 h=8 w=36 r=2 s=2 stride=2",              /* VGG's, batch */
    "pool2d f32 n=1 c=3 h=9 w=8 r=2 s=3 stride=3,1 pad=1,0,0,2", /* asymmetric */
    "pool2d f32 n=1 c=2 h=40 w=40 r=13 s=11 stride=3 pad=6,5",   /* more than is unrolled */
    "pool2d f32 n=1 c=4 h=23 w=19 r=1 s=1 stride=4",             /* most is not read */
    "pool2d f32 n=1 c=3 h=5 w=50 r=3 s=5 stride=3,4 pad=1,2",    /* strides over 2 */
    BLOCKED,                                                     /* blocks of channels */
    "pool2d f32 n=2 c=24 h=8 w=6 r=2 s=2 stride=2 layout=nchw8c",
    "pool2d f32 n=1 c=8 h=7 w=5 r=3 s=3 stride=1,2 pad=2,1,0,2 layout=nchw4c",
    NHWC,
    "pool2d f32 n=2 c=6 h=7 w=5 r=3 s=3 stride=1,2 pad=2,1,0,2 layout=nhwc",
    "pool2d f16 n=2 c=24 h=7 w=7 r=7 s=7 kind=avg layout=nhwc", /* global */
    "pool2d u8 n=1 c=20 h=9 w=10 r=3 s=2 pad=1 kind=avg layout=nhwc",
    FLAT, /* one plane */
    ONE,  /* of one output */
    AVG,
    "pool2d f32 n=1 c=3 h=13 w=20 r=3 s=3 stride=2 pad=1 kind=avg",
    "pool2d f32 n=1 c=16 h=9 w=10 r=2 s=3 stride=1,2 pad=1 kind=avg layout=nchw16c",
    "pool2d f32 n=2 c=37 h=7 w=7 r=7 s=7 kind=avg", /* global */
    "pool2d f32 n=1 c=48 h=7 w=7 r=7 s=7 kind=avg layout=nchw16c",
    "pool2d f32 n=2 c=3 h=61 w=53 r=61 s=53 kind=avg",
    "pool2d f32 n=1 c=9 h=10 w=11 r=10 s=11",
    "pool2d f32 n=1 c=2 h=300 w=400 r=300 s=397 kind=avg", /* nothing to be exact about */
    "pool2d f16 n=1 c=5 h=9 w=20 r=3 s=3 stride=2 pad=1",
    "pool2d f16 n=1 c=16 h=9 w=10 r=3 s=3 pad=1 kind=avg layout=nchw8c",
    "pool2d f16 n=1 c=24 h=7 w=7 r=7 s=7 kind=avg",
    "pool2d i8 n=1 c=5 h=9 w=20 r=3 s=3 stride=2 pad=1",
    "pool2d i8 n=1 c=12 h=9 w=10 r=2 s=2 stride=2 layout=nchw4c",
    AVG_I8,
    PLANE,
    "pool2d u8 n=1 c=16 h=9 w=10 r=3 s=3 stride=2 pad=1 layout=nchw16c",
    "pool2d u8 n=1 c=5 h=9 w=20 r=3 s=3 pad=1 kind=avg",
    "pool2d i8 n=1 c=20 h=7 w=7 r=7 s=7 kind=avg layout=nchw4c",
    "pool2d i8 n=1 c=3 h=8 w=8 r=8 s=8 kind=avg",
    "pool2d i8 n=1 c=3 h=9 w=33 r=4 s=2 kind=avg",
    "pool2d i8 n=1 c=3 h=9 w=7 r=9 s=7",
    NULL,
};

static const struct mutant mutants[] = {
    {"pool2d/naive", MAX, "missing last term", "s < S; s++", "s < S - 1; s++"},
    {"pool2d/naive", MAX, "wrong pad", "p * SH + r - PT", "p * SH + r - PT + 1"},
    {"pool2d/naive", MAX, "unguarded tail", "if (i >= (long)NB * C * P * Q)", "if (i < 0)"},
    {"pool2d/naive", MAX, "least is 0", "v = NOTHING", "v = 0"},
    {"pool2d/naive", FLAT, "least is the lowest number", "((SUM)LOWEST)", "((SUM)-3.402823466e38f)"},
    {"pool2d/naive", AVG, "elements outside counted", "pooled1(v, taken)", "pooled1(v, R * S)"},
    {"pool2d/naive", AVG, "uninitialised accumulator", "v = NOTHING", "v = LOAD1(y + i)"},
    {"pool2d/naive", BLOCKED, "lanes of the wrong block", "block % (C / YL) * YL", "block % (C / YL)"},
    {"pool2d/naive", AVG_I8, "halves away from 0", "(q & 1)", "1"},
    {"pool2d/naive", AVG_U8, "the last half away from 0", "(doubled == n && (q & 1))",
     "(doubled == n && ((q & 1) || q == 254))"},
    {"pool2d/naive", AVG_I8, "rounded towards 0", "doubled > n ||", "0 &&"},

    {"pool2d/window", BLOCKED, "missing last term", "i < j * SW + S)", "i < j * SW + S - 1)"},
    {"pool2d/window", BLOCKED, "wrong pad", "p * SH - PT", "p * SH - PT + 1"},
    {"pool2d/window", BLOCKED, "unguarded edge", "(w0 + i < 0 || w0 + i >= W)", "w0 + i < 0"},
    {"pool2d/window", BLOCKED, "wrong block", "block * H * W * YL", "block * H * W"},
    {"pool2d/window", NHWC, "parts of 16 channels", "(int)(item % PARTS)", "(int)(item % (16 / VEC))"},
    {"pool2d/window", BLOCKED, "least is -2^20", "P_SET(NOTHING)", "P_SET(-1048576)"},
    {"pool2d/window", BLOCKED, "least is 0", "P_SET(NOTHING)", "P_SET(0)"},
    {"pool2d/window", AVG_U8, "the last half away from 0", "(doubled == n && (q & 1))",
     "(doubled == n && ((q & 1) || q == 254))"},
    {"pool2d/window", AVG_I8, "elements outside counted", "EDGE ? END(first, S, W) - BEGIN(first) : S;", "S;"},

    {"pool2d/rows", MAX, "missing last term", "s < S; s++", "s < S - 1; s++"},
    {"pool2d/rows", MAX, "wrong pad", "row + PL)", "row + PL + 1)"},
    {"pool2d/rows", MAX, "unguarded rows", "r1 = END(h0, R, H)", "r1 = h0 + R"},
    {"pool2d/rows", MAX, "least is -2^20", "P_SET(NOTHING)", "P_SET(-1048576)"},
    {"pool2d/rows", MAX, "least is 0", "row[i] = NOTHING", "row[i] = 0"},
    {"pool2d/rows", AVG, "elements outside counted", "(r1 - r0) * (END", "R * (END"},
    {"pool2d/rows", AVG, "uninitialised accumulator", "PVT v = P_SET(NOTHING)", "PVT v = P_SET(row[0])"},

    {"pool2d/plane", "pool2d f32 n=1 c=9 h=6 w=5 r=6 s=5", "least is -2^20", "P_SET(NOTHING)", "P_SET(-1048576)"},
    {"pool2d/plane", ONE, "least is the lowest number", "((SUM)LOWEST)", "((SUM)-65504.0f)"},
    {"pool2d/plane", PLANE, "missing last term", "l < AREA; l += WG", "l < AREA - 1; l += WG"},
    {"pool2d/plane", PLANE, "one accumulator lost", "v = TAKE(v, u);", ""},
    {"pool2d/plane", PLANE, "wrong plane", "x + plane * AREA", "x + plane * H"},
    {"pool2d/plane", PLANE, "unguarded tail", "if (plane >= (long)NB * C)", "if (plane < 0)"},
    {"pool2d/plane", PLANE, "uninitialised accumulator", "SUM all = NOTHING;", "SUM all = LOAD1(x);"},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_pool2d = {shapes, mutants};
