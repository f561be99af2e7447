/* SPDX-License-Identifier: MIT */
/* The forms of conv2d with local memory or Mali's registers. */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SHAPE "conv2d f32 n=1 c=5 h=10 w=9 k=7 r=3 s=3 pad=1"
#define LONG "conv2d f32 n=1 c=600 h=10 w=9 k=7 r=3 s=3 pad=1"
#define NHWC "conv2d f32 n=2 c=20 h=9 w=10 k=24 r=3 s=3 pad=1 layout=nhwc epilogue=bias_add"
#define STRIDED "conv2d f32 n=2 c=24 h=15 w=14 k=40 r=1 s=1 stride=2,3 pad=1"
#define GROUPED "conv2d f32 n=3 c=10 h=10 w=9 k=14 r=3 s=3 pad=1 groups=2"

#define U8_SPLIT "conv2d u8 n=1 c=64 h=4 w=5 k=8 r=3 s=3 pad=1 layout=nchw4c epilogue=bias_relu_requant"

static const char *const shapes[] = {
    "conv2d f32 n=1 c=64 h=4 w=5 k=10 r=3 s=3 pad=1 epilogue=bias_relu", /* few tiles, long sums: in several parts */
    "conv2d f32 n=3 c=12 h=9 w=11 k=8 r=3 s=3 stride=2 pad=1,0,2,1 groups=4",
    "conv2d f16 n=2 c=12 h=7 w=7 k=18 r=1 s=3 groups=6 epilogue=bias_relu",
    "conv2d i8 n=1 c=32 h=5 w=6 k=32 r=3 s=3 pad=1 groups=2 layout=nchw8c epilogue=bias_requant",
    "conv2d i8 n=1 c=64 h=4 w=5 k=8 r=3 s=3 pad=1 layout=nchw4c epilogue=bias_relu_requant", /* the same */
    "conv2d f32 n=2 c=40 h=8 w=10 k=96 r=1 s=1 epilogue=add",    /* pixels that come by fours */
    "conv2d f32 n=1 c=32 h=16 w=16 k=64 r=2 s=2",                /* whole tiles of channels */
    "conv2d i8 n=2 c=7 h=9 w=8 k=17 r=5 s=3 stride=2,1 pad=2,1", /* no fours */
    U8_SPLIT,
    "conv2d u8 n=2 c=7 h=9 w=8 k=67 r=5 s=3 stride=2,1 pad=2,1 epilogue=bias_relu", /* no fours */
    "conv2d u8 n=1 c=16 h=8 w=7 k=18 r=2 s=1 pad=1,0 layout=nhwc epilogue=bias_requant",
    NHWC,
    STRIDED,
    "conv2d i8 n=1 c=32 h=11 w=12 k=24 r=1 s=3 stride=2 pad=0,1 layout=nchw4c epilogue=bias_requant",
    "conv2d i8 n=1 c=16 h=8 w=7 k=18 r=1 s=1 layout=nhwc epilogue=bias_requant",
    "conv2d f16 n=2 c=12 h=7 w=9 k=16 r=3 s=3 stride=2 pad=1 groups=2 layout=nhwc",
    "conv2d f16 n=2 c=48 h=6 w=7 k=96 r=3 s=2 pad=1 groups=3 layout=nchw16c epilogue=bias", /* groups of whole blocks */
    NULL,
};

static const struct mutant mutants[] = {
    {"conv2d/direct", SHAPE, "missing last term", "step < LAST_STEP", "step < LAST_STEP - 1"},
    {"conv2d/direct", SHAPE, "wrong pad", "p0 * SH - PT, q0", "p0 * SH - PT + 1, q0"},
    {"conv2d/direct", SHAPE, "unguarded tail", "if (of + l < F_SIZE)", "if (l < F_SIZE)"},
    {"conv2d/direct", SHAPE, "r and s swapped", "* RY_I + r) * RX_I + s) * W_ROW", "* RY_I + s) * RX_I + r) * W_ROW"},
    {"conv2d/direct", SHAPE, "uninitialised accumulator", "= SUMS_OF(0);", "= SUMS_OF(y[0]);"},
    {"conv2d/direct", STRIDED, "rows between those that count", "row0 + i * ROW_STEP", "row0 + i", "dp4a"},
    {"conv2d/direct", STRIDED, "columns as far apart as in the image", "#define COLUMN_APART (SW / COLUMN_STEP)",
     "#define COLUMN_APART SW", "dp4a"},
    {"conv2d/direct", LONG, "a stage ahead over the one in use", "#define NEXT_W (turn_w ^ W_STAGE)",
     "#define NEXT_W turn_w", "dp4a"},
    {"conv2d/direct", LONG, "buffers that do not turn", "turn_x ^= DBUF_X * X_STAGED;", "turn_x ^= 0;", "dp4a"},
    {"conv2d/direct", LONG, "the stage before the last fetched again",
     "#define X_GOES_ON(step) ((step) + 1 < LAST_STEP)", "#define X_GOES_ON(step) ((step) + 2 < LAST_STEP)", "dp4a"},

    {"conv2d/group", GROUPED, "missing last term", "step < LAST_STEP", "step < LAST_STEP - 1"},
    {"conv2d/group", GROUPED, "channels of another group", "channel = (g0 + g) * C_SIZE + c;", "channel = g0 + g + c;"},
    {"conv2d/group", GROUPED, "unguarded tail", "if (of + l < F_SIZE)", "if (l < F_SIZE)"},
    {"conv2d/group", GROUPED, "images swapped", "image = n0 + OWN(n, I_T, I_R, nt)",
     "image = NB - 1 - (n0 + OWN(n, I_T, I_R, nt))"},
    {"conv2d/group", GROUPED, "uninitialised accumulator", "= SUMS_OF(0);", "= SUMS_OF(y[0]);"},

    {"conv2d/implicit_gemm", SHAPE, "missing last step", "step < steps; step++", "step < steps - 1; step++"},
    {"conv2d/implicit_gemm", SHAPE, "wrong pad", "% P * SH - PT", "% P * SH - PT + 1"},
    {"conv2d/implicit_gemm", SHAPE, "unguarded tail", "(KG % MT == 0 || (k) < KG)", "1"},
    {"conv2d/implicit_gemm", U8_SPLIT, "padding without the zero point", "#define STAGE_OUTSIDE around[FOLD_LINE]",
     "#define STAGE_OUTSIDE 0\n#undef STAGE_LINE"},
    {"conv2d/implicit_gemm", U8_SPLIT, "unsigned weights", "DOT4((b)[l_], (a),", "DOT4((a), (b)[l_],"},
    {"conv2d/implicit_gemm", SHAPE, "r and s swapped", "tap / S, tap % S)", "tap % S, tap / S)"},
    {"conv2d/implicit_gemm", SHAPE, "uninitialised accumulator", "acc[i][j] = 0;", "acc[i][j] = y[0];"},
    {"conv2d/implicit_gemm", SHAPE, "columns outside", "columns_in[j] >> (s) & 1", "1"},
    {"conv2d/implicit_gemm", SHAPE, "a slice left out", "other < KS - 1; other++", "other < KS - 2; other++", "dp4a"},
    {"conv2d/implicit_gemm", NHWC, "pixels side by side", "(h * W + w) * XLW;", "h * W + w;"},
    {"conv2d/implicit_gemm",
     "conv2d i8 n=1 c=32 h=9 w=9 k=24 r=3 s=3 pad=1 groups=2 layout=nchw4c epilogue=bias_requant",
     "channels of another group", "CHANNEL_AT(group * CW)", "CHANNEL_AT(0)"},

    {NULL, NULL, NULL, NULL, NULL},
};

/* Rare branches of strips_stepped.clh, and of the stages of implicit_gemm. */
#define DIRECT_AXES "f_v=1 y_v=1 y_r=1 x_v=1 x_r=1 order=0 unroll_step=0 dbuf_x=0 "
#define DIRECT(own, staged) DIRECT_AXES "split=1 dbuf_w=0 " own " " staged
#define DIRECT_OF "f_t=2 f_r=2 y_t=2 x_t=2"
static const struct rare_config configs[] = {
    {"conv2d/direct", "conv2d f32 n=1 c=2 h=13 w=6 k=4 r=11 s=3 pad=1", DIRECT(DIRECT_OF, "rc_i=2 ry_i=1 rx_i=1"),
     "dp4a"}, /* 33 windows */
    {"conv2d/direct", "conv2d f32 n=1 c=2 h=9 w=6 k=4 r=8 s=4 pad=1", DIRECT(DIRECT_OF, "rc_i=2 ry_i=1 rx_i=1"),
     "dp4a"}, /* 32 */
    {"conv2d/direct", "conv2d f32 n=1 c=24 h=4 w=5 k=24 r=1 s=1 layout=nchw4c",
     DIRECT("f_t=6 f_r=4 y_t=2 x_t=2", "rc_i=12 ry_i=1 rx_i=1"), "dp4a"}, /* an item's channels, in several blocks */
    {"conv2d/direct", "conv2d f32 n=1 c=5 h=4 w=5 k=4 r=3 s=3 pad=1", DIRECT(DIRECT_OF, "rc_i=2 ry_i=3 rx_i=3"),
     "dp4a"}, /* channels beyond the last, */
    {"conv2d/direct", "conv2d f32 n=1 c=5 h=4 w=4 k=4 r=1 s=1 pad=1", DIRECT(DIRECT_OF, "rc_i=4 ry_i=1 rx_i=1"),
     "dp4a"}, /* of one pixel */
    {"conv2d/direct", "conv2d f32 n=1 c=4 h=9 w=10 k=4 r=3 s=3 pad=1 dilation=2",
     DIRECT(DIRECT_OF, "rc_i=2 ry_i=1 rx_i=1"), "dp4a"}, /* windows that lie apart, */
    {"conv2d/direct", "conv2d f32 n=1 c=4 h=6 w=6 k=4 r=3 s=4 pad=2", DIRECT(DIRECT_OF, "rc_i=2 ry_i=1 rx_i=2"),
     "dp4a"}, /* of two elements, more along rows than along columns */
    {"conv2d/direct", "conv2d f32 n=1 c=24 h=4 w=5 k=4 r=1 s=1 layout=nchw4c",
     DIRECT(DIRECT_OF, "rc_i=6 ry_i=1 rx_i=1"), "dp4a"}, /* stages that begin inside a block of channels */
    {"conv2d/direct", "conv2d f32 n=2 c=4 h=4 w=5 k=4 r=3 s=3 pad=1 epilogue=bias",
     DIRECT_AXES DIRECT_OF " rc_i=2 ry_i=1 rx_i=1 split=2 dbuf_w=0"}, /* parts of several images */
    {"conv2d/direct", "conv2d f32 n=1 c=6 h=4 w=5 k=4 r=3 s=3 pad=1",
     DIRECT_AXES DIRECT_OF " rc_i=1 ry_i=3 rx_i=3 split=2 dbuf_w=1"}, /* a part whose first stage is odd */
    {"conv2d/direct", "conv2d f32 n=1 c=8 h=4 w=5 k=8 r=3 s=3 pad=1",
     DIRECT_AXES "f_t=1 f_r=8 y_t=2 x_t=2 rc_i=4 ry_i=3 rx_i=3 split=1 dbuf_w=1"}, /* more weights than an item holds */
    {"conv2d/group", "conv2d f32 n=4 c=8 h=6 w=6 k=8 r=1 s=1 groups=4",
     "n_v=1 n_t=1 n_r=2 g_v=2 fuse_yx=0 " DIRECT("f_t=2 f_r=1 y_t=2 x_t=2", "rc_i=1 ry_i=1 rx_i=1"),
     "dp4a"}, /* an item's pixels, of several images and groups, of which there are more */
    {"conv2d/implicit_gemm", "conv2d f32 n=1 c=6 h=6 w=7 k=40 r=1 s=3 pad=1",
     "mt=64 nt=32 mr=4 nr=4 cb=2 ks=1 ku=4 tb=1 stages=2 split=1", "dp4a"}, /* fewer rows than items fetch at once */
    {"conv2d/implicit_gemm", "conv2d f32 n=1 c=8 h=6 w=7 k=16 r=1 s=5 pad=1",
     "mt=16 nt=32 mr=4 nr=4 cb=8 ks=2 ku=4 tb=1 stages=4 split=3", "cp_async"}, /* parts shorter than what is ahead */
    {NULL, NULL, NULL, NULL},
};

const struct cases cases_conv2d_gpu = {shapes, mutants, configs};
