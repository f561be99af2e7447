/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define TWICE "resize2d f32 n=2 c=3 h=7 w=13 size=14,26 step=1 unit=2"
#define SMOOTH "resize2d f32 n=1 c=5 h=9 w=11 size=18,22 step=2 first=-1 unit=4 kind=linear"
#define RAGGED "resize2d f32 n=1 c=3 h=5 w=19 size=8,27 step=4,18 unit=7,26 kind=linear"
#define THIRDS "resize2d f32 n=1 c=2 h=6 w=37 size=9,55 step=2 unit=3 kind=linear"
#define BLOCKED "resize2d f32 n=1 c=32 h=5 w=7 size=10,14 step=2 first=-1 unit=4 kind=linear layout=nchw16c"

static const char *const shapes[] = {
    TWICE,
    SMOOTH,
    RAGGED, /* corners on corners */
    THIRDS,
    BLOCKED,
    "resize2d f32 n=1 c=1 h=1 w=1 size=1 step=1",                                         /* tiny */
    "resize2d f32 n=1 c=4 h=16 w=16 size=32 step=1 unit=2",                               /* no tail */
    "resize2d f32 n=1 c=3 h=20 w=30 size=7,11 step=3 first=1",                            /* smaller, none alike */
    "resize2d f32 n=1 c=3 h=20 w=31 size=10,15 step=4 first=1 unit=2 kind=linear",        /* halves */
    "resize2d f32 n=1 c=2 h=8 w=40 size=8,17 step=1,-2 first=0,35 unit=1 kind=linear",    /* backwards */
    "resize2d f32 n=2 c=2 h=3 w=5 size=12,50 step=1,1 first=-9,-20 unit=2,4 kind=linear", /* mostly outside */
    "resize2d f32 n=1 c=2 h=3 w=5 size=1,30 step=3,1 first=-9,40 unit=2,4",               /* outside as a whole */
    "resize2d f32 n=1 c=2 h=3 w=9 size=4 step=2,3 first=0,1 unit=3,5 kind=nearest",
    "resize2d f32 n=1 c=3 h=2 w=300 size=5,1000 step=2,3 first=-1 unit=5,10 kind=linear",
    "resize2d f32 n=2 c=24 h=4 w=6 size=9,13 step=4,5 first=1 unit=9,13 layout=nchw8c",
    "resize2d f32 n=1 c=4 h=33 w=9 size=66,18 step=1 unit=2 layout=nchw4c",
    "resize2d f32 n=2 c=20 h=5 w=7 size=10,14 step=2 first=-1 unit=4 kind=linear layout=nhwc",
    "resize2d f16 n=1 c=5 h=9 w=6 size=18,12 step=1 unit=2 layout=nhwc",
    "resize2d f16 n=1 c=3 h=9 w=20 size=18,40 step=2 first=-1 unit=4 kind=linear",
    "resize2d f16 n=1 c=3 h=9 w=21 size=27,63 step=1 unit=3",
    "resize2d f16 n=1 c=16 h=5 w=6 size=10,12 step=4,5 unit=9,11 kind=linear layout=nchw8c",
    NULL,
};

static const struct mutant mutants[] = {
    {"resize2d/naive", TWICE, "one element on", "/ COL_UNIT;", "/ COL_UNIT + 1;"},
    {"resize2d/naive", TWICE, "unguarded tail", "if (i < (long)PLANES * P * Q * LANES)", ""},
    {"resize2d/naive", SMOOTH, "no right neighbour", "units_w ? LANES : 0", "0"},
    {"resize2d/naive", RAGGED, "weights exchanged", "FRONT(units_h, ROW_UNIT),", "BACK(units_h, ROW_UNIT),"},
    {"resize2d/naive", SMOOTH, "places not held inside", "at > last ? last : at", "at"},
    {"resize2d/naive", BLOCKED, "one lane for all", "* LANES + i % LANES", "* LANES"},

    {"resize2d/pixels", TWICE, "one element on", "column / COL_UNIT * LANES", "(column / COL_UNIT + 1) * LANES"},
    {"resize2d/pixels", TWICE, "last row missing", "p < P;", "p < P - 1;"},
    {"resize2d/pixels", SMOOTH, "rows from above alone", "MEAN(a, b, above, under)", "a"},
    {"resize2d/pixels", RAGGED, "the first weights for all", "units_w = column % COL_UNIT", "units_w = COL_FIRST"},
    {"resize2d/pixels", BLOCKED, "the block before", "(plane * H + h)", "(plane / 2 * H + h)"},

    {"resize2d/rows", TWICE, "rows not made anew", "kept = place;", "kept = place + ROW_UNIT;"},
    {"resize2d/rows", SMOOTH, "rows between made once", "if (place != kept)",
     "if (kept < 0 || place / ROW_UNIT != kept / ROW_UNIT)"},
    {"resize2d/rows", SMOOTH, "ends left out", "row[w] = row[BEFORE];", "row[w] = 0.0f;"},
    {"resize2d/rows", SMOOTH, "end behind left out", "row[w] = row[BEFORE + W - 1];", "row[w] = 0.0f;"},
    {"resize2d/rows", THIRDS, "rest of a row missing", "i < Q % PERIOD", "i < Q % PERIOD - 1"},
    {"resize2d/rows", THIRDS, "weights exchanged", "FRONT(REST(i), COL_UNIT), BACK(REST(i), COL_UNIT)",
     "BACK(REST(i), COL_UNIT), FRONT(REST(i), COL_UNIT)"},
    {"resize2d/rows", SMOOTH, "the row above alone", "a + (units ? W : 0)", "a"},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_resize2d = {shapes, mutants};
