/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define BLOCK "transform f32 n=2 c=32 h=5 w=9 to=nchw16c"
#define TAIL "transform f32 n=1 c=16 h=1 w=9 to=nchw16c"
#define UNBLOCK "transform f32 n=1 c=32 h=5 w=9 from=nchw8c"
#define MERGE "transform f32 n=1 c=32 h=5 w=9 from=nchw4c to=nchw16c"

#define TO_NHWC "transform f32 n=2 c=37 h=5 w=9 to=nhwc"
#define FROM_NHWC "transform f32 n=1 c=40 h=5 w=9 from=nhwc to=nchw8c"

static const char *const shapes[] = {
    BLOCK,
    TAIL,
    UNBLOCK,
    MERGE,
    TO_NHWC,
    FROM_NHWC,
    "transform f32 n=2 c=70 h=11 w=13 from=nhwc", /* several tiles */
    "transform f32 n=1 c=3 h=20 w=31 to=nhwc",    /* an image */
    "transform f32 n=2 c=48 h=9 w=6 from=nchw16c to=nhwc",
    "transform f16 n=1 c=72 h=7 w=7 from=nhwc to=nchw4c",
    "transform i8 n=1 c=130 h=9 w=17 to=nhwc",
    "transform u8 n=2 c=64 h=8 w=8 from=nhwc",
    "transform f32 n=2 c=5 h=9 w=7 from=nhwc to=nhwc", /* copies */
    "transform f32 n=2 c=1 h=9 w=7 from=nhwc to=nchw",
    "transform f32 n=2 c=16 h=1 w=1 from=nchw16c to=nhwc",
    "transform f32 n=1 c=16 h=1 w=1 to=nchw16c",     /* tiny */
    "transform f32 n=1 c=16 h=16 w=16 from=nchw16c", /* no tail */
    "transform f32 n=2 c=8 h=7 w=11 to=nchw4c",
    "transform f32 n=1 c=16 h=13 w=7 from=nchw16c to=nchw8c",
    "transform f32 n=1 c=8 h=13 w=7 from=nchw4c to=nchw8c",
    "transform f32 n=1 c=3 h=11 w=13", /* a copy */
    "transform f32 n=1 c=8 h=11 w=13 from=nchw8c to=nchw8c",
    "transform f16 n=1 c=32 h=5 w=9 to=nchw16c",
    "transform f16 n=1 c=24 h=9 w=17 from=nchw8c",
    "transform f16 n=1 c=16 h=9 w=6 from=nchw8c to=nchw16c",
    "transform i8 n=1 c=32 h=5 w=9 to=nchw16c",
    "transform u8 n=1 c=8 h=5 w=9 to=nchw4c",
    "transform i8 n=1 c=8 h=9 w=17 to=nchw4c",
    "transform i8 n=1 c=20 h=9 w=17 from=nchw4c",
    "transform i8 n=1 c=16 h=9 w=6 from=nchw16c to=nchw4c",
    NULL,
};

static const struct mutant mutants[] = {
    {"transform/naive", BLOCK, "lanes reversed", "lane = (int)(i % YL)", "lane = (int)(YL - 1 - i % YL)"},
    {"transform/naive", TAIL, "unguarded tail", "if (i < (long)NB * C * H * W)", ""},
    {"transform/naive", BLOCK, "last one missing", "if (i < (long)NB * C * H * W)",
     "if (i < (long)NB * C * H * W - 1)"},
    {"transform/naive", UNBLOCK, "wrong block", "channel / XL) * (H * W)", "channel / XL) * H"},
    {"transform/naive", MERGE, "wrong lane", "channel % XL", "0"},

    {"transform/turned", TO_NHWC, "unguarded channels", "if (c < C && p < AREA)", "if (p < AREA)"},
    {"transform/turned", TO_NHWC, "unguarded pixels", "if (c < C && p < AREA)", "if (c < C)"},
    {"transform/turned", TO_NHWC, "the first image", "* C * AREA", "* 0"},
    {"transform/turned", TO_NHWC, "a row too short", "#define PITCH (TC + PAD)", "#define PITCH (TC - 1)"},
    {"transform/turned", FROM_NHWC, "wrong lane", "* (LN) + c % (LN)", "* (LN)"},
    {"transform/turned", FROM_NHWC, "the first tile", "p = p0 + pixel", "p = pixel"},
    {"transform/lanes", BLOCK, "lanes exchanged", "RZIP_LOW(v[l], v[l + YL / 2])", "RZIP_LOW(v[l + YL / 2], v[l])"},
    {"transform/lanes", BLOCK, "odd floats cut", "* XL + l % XL];", "* XL + l % XL] & ~1u;"},
    {"transform/lanes", BLOCK, "pixels missing", "i < AREA; i++)", "i < AREA - 1; i++)"},
    {"transform/lanes", BLOCK, "unguarded tail", "if (at + VEC <= AREA)", "if (at < AREA)"},
    {"transform/lanes", UNBLOCK, "even for odd", "w[l + XL / 2] = RODD(", "w[l + XL / 2] = REVEN("},
    {"transform/lanes", MERGE, "wrong lane", "j * U % YL", "0"},
    {"transform/lanes", MERGE, "wrong block", "* (L * AREA)", "* (U * AREA)"},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_transform = {shapes, mutants};
