/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

/* x[5][37][11]: its last two dimensions exchanged. */
#define TURNED "strided_copy f32 x=2035 d0=37,11 d1=11,1 d2=5,407"
/* x[7][45] in reverse rows, every second column from the third on, 2 and 3 of 1.5 around the columns, 1 row before. */
#define PADDED "strided_copy f32 x=315 at=272 d0=21,2 d1=7,-45 p0=2,3 p1=1,0 fill=1069547520"
/* Turned, with whole tiles around it and inside. */
#define FRAMED "strided_copy f32 x=4096 d0=64,64 d1=64,1 p0=16,16 fill=1069547520"
#define BACK "strided_copy f32 x=300 d0=20,1 d1=15,20 p0=3,4 p1=2,6 mode=reflect"

static const char *const shapes[] = {
    TURNED,
    PADDED,
    BACK,
    FRAMED,
    "strided_copy f32 x=1 d0=1",                                                    /* tiny */
    "strided_copy f32 x=4096 d0=64,64 d1=64,1",                                     /* square, no tail */
    "strided_copy f32 x=3 d0=7,0 d1=3,1 d2=2,0",                                    /* repeated */
    "strided_copy f32 x=720 d0=3,120 d1=4,1 d2=2,60 d3=5,4 d4=3,20 d5=2,360",       /* all dimensions */
    "strided_copy f32 x=720 d0=6,1 d1=5,24 d2=4,6 d3=3,120 d4=2,360 p1=1,1 p3=0,2", /* tiles of d2 */
    "strided_copy f32 x=10403 d0=103,1 d1=101,103",                                 /* several groups, a tail */
    "strided_copy f32 x=60 d0=5,1 d1=4,5 d2=3,20 p0=2,3 p1=4,0 p2=1,1 mode=edge",   /* all around */
    "strided_copy f32 x=60 at=4 d0=5,-1 d1=4,5 d2=3,20 p0=5,2 p2=1,3 mode=wrap",    /* round again */
    "strided_copy f16 x=2035 d0=37,11 d1=11,1 d2=5,407 p0=0,1 fill=1065353216",     /* 1 */
    "strided_copy i8 x=600 d0=30,20 d1=20,1 p0=1,2 p1=1,1 fill=3238002688",         /* -7 */
    "strided_copy u8 x=600 d0=10,2 d1=30,20 mode=edge p0=0,9",
    NULL,
};

static const struct mutant mutants[] = {
    {"strided_copy/naive", PADDED, "nothing around", "return (RAW)FILL;", "return x[0];"},
    {"strided_copy/naive", TURNED, "as it was", "(long)p1 * S1 + (long)p0 * S0", "(long)p1 * N0 + (long)p0"},
    {"strided_copy/naive", TURNED, "unguarded tail", "if (i < ELEMS)", ""},
    {"strided_copy/naive", TURNED, "last one missing", "if (i < ELEMS)", "if (i < ELEMS - 1)"},
    {"strided_copy/naive", BACK, "the edge itself again", "i < 0 ? -i :", "i < 0 ? -i - 1 :"},

    {"strided_copy/tile", TURNED, "edges left out", "for (int j = 0; j < TB && b + j < LB; j++)",
     "for (int j = 0; j < TB && b + TB <= LB; j++)"},
    {"strided_copy/tile", FRAMED, "always the first tile", "(int)(rb % TILES_B) * TB", "0"},
    {"strided_copy/tile", FRAMED, "around is x", "a >= B0 && ", ""},
    {"strided_copy/tile", FRAMED, "not behind what is before", "(long)(a - B0) * S0", "(long)a * S0"},
    {"strided_copy/tile", BACK, "the edge behind again", "2 * (n - 1) - i", "2 * n - 1 - i"},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_strided_copy = {shapes, mutants};
