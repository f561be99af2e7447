/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SHAPE "conv2d f32 n=1 c=20 h=10 w=9 k=19 r=3 s=3 pad=1"
#define STAGED "conv2d f32 n=1 c=40 h=10 w=9 k=19 r=3 s=3 pad=1" /* GPUs' defaults stage it; dp4a: no CPU */

static const char *const shapes[] = {
    "conv2d f32 n=1 c=16 h=20 w=20 k=32 r=3 s=3 pad=1",                /* square: whole tiles, 5 rows */
    "conv2d f32 n=1 c=20 h=10 w=9 k=19 r=3 s=3 pad=1",                 /* ragged everywhere */
    "conv2d f32 n=1 c=1 h=1 w=1 k=1 r=3 s=3 pad=1",                    /* tiny */
    "conv2d f32 n=3 c=17 h=13 w=6 k=33 r=3 s=3 pad=0,1,2,1",           /* batch, asymmetric */
    "conv2d f32 n=1 c=8 h=9 w=31 k=16 r=3 s=3",                        /* no pad */
    "conv2d f32 n=1 c=16 h=5 w=4 k=16 r=3 s=3 pad=2",                  /* the most pad */
    "conv2d f32 n=2 c=32 h=20 w=12 k=48 r=3 s=3 pad=1 layout=nchw16c", /* rows of tiles left over */
    "conv2d f32 n=1 c=16 h=14 w=14 k=32 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_add_relu",
    "conv2d f32 n=1 c=3 h=9 w=10 k=16 r=3 s=3 pad=1 layout=nchw16c epilogue=bias", /* only the output in blocks */
    "conv2d f32 n=1 c=16 h=9 w=10 k=7 r=3 s=3 pad=1 layout=nchw16c",               /* only the input */
    "conv2d f32 n=1 c=24 h=9 w=10 k=16 r=3 s=3 pad=2,0,1,1 layout=nchw8c",
    "conv2d f32 n=1 c=12 h=7 w=7 k=20 r=3 s=3 pad=1 layout=nchw4c epilogue=add_relu",
    "conv2d f32 n=2 c=18 h=9 w=11 k=21 r=3 s=3 pad=1 epilogue=bias_add_relu",
    "conv2d f32 n=1 c=6 h=9 w=11 k=16 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_swish",
    "conv2d f16 n=1 c=20 h=9 w=10 k=18 r=3 s=3 pad=1 epilogue=bias",
    "conv2d f16 n=2 c=16 h=8 w=9 k=32 r=3 s=3 pad=1 layout=nchw16c acc=f16 epilogue=relu",
    NULL,
};

static const struct mutant mutants[] = {
    {"conv2d/winograd_tile", SHAPE, "missing last term", "cv * VEC + l < C ?", "cv * VEC + l < C - 1 ?"},
    {"conv2d/winograd_tile", SHAPE, "wrong pad", "row0 * M - PT", "row0 * M - PT + 1"},
    {"conv2d/winograd_tile", SHAPE, "unguarded tail", "(Q % M == 0 || q + b < Q)", "1"},
    {"conv2d/winograd_tile", SHAPE, "r and s swapped", "W_AT((k), (c), r, s)", "W_AT((k), (c), s, r)"},
    {"conv2d/winograd_tile", SHAPE, "border not cleared", "    clear_border(strip, h0);", ""},
    {"conv2d/winograd_tile", SHAPE, "uninitialised accumulator", "acc[i][k] = VSET(0)", "acc[i][k] = VSET(v[0])"},

    {"conv2d/winograd", SHAPE, "missing last term", "c < C; c++", "c < C - 1; c++"},
    {"conv2d/winograd", SHAPE, "wrong pad", "% NH * M - PT", "% NH * M - PT + 1"},
    {"conv2d/winograd", SHAPE, "unguarded tail", "p + a < P && q + b < Q", "p + a < P"},
    {"conv2d/winograd", SHAPE, "r and s swapped", "W_AT((k), (c), r, s)", "W_AT((k), (c), s, r)"},
    {"conv2d/winograd", SHAPE, "uninitialised accumulator", "acc[i] = VSET(0)", "acc[i] = VSET(b[0])"},

    {"conv2d/winograd_shared", SHAPE, "missing last term", "c < RC_I; c++",
     "c < RC_I - (step + 1 == STEPS) * (1 + CP - C); c++"},
    {"conv2d/winograd_shared", SHAPE, "wrong pad", "% NH * M - PT", "% NH * M - PT + 1"},
    {"conv2d/winograd_shared", SHAPE, "unguarded tail", "p + a < P && q + b < Q", "p + a < P"},
    {"conv2d/winograd_shared", SHAPE, "r and s swapped", "W_AT((k), (c), r, s)", "W_AT((k), (c), s, r)"},
    {"conv2d/winograd_shared", SHAPE, "uninitialised accumulator", "acc[i][j] = VSET(0);", "acc[i][j] = VSET(us[0]);"},
    {"conv2d/winograd_shared", SHAPE, "channels behind the last", "c < C && t < NT", "t < NT"},
    {"conv2d/winograd_shared", SHAPE, "pieces behind the last", "|| first_ < RC_I * (tile)) {", "|| 1) {", "dp4a"},
    {"conv2d/winograd_shared", STAGED, "stage of another buffer", "us + step % STAGES", "us + (step + 1) % STAGES",
     "dp4a"},
    {"conv2d/winograd_shared", STAGED, "stage that stays", "from += (n);", ";", "dp4a"},

    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_winograd = {shapes, mutants};
