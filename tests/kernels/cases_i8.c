/* SPDX-License-Identifier: MIT */
/* int8: conv2d/i8_tile, conv2d/i8, conv2d/group_i8 and their forms of dense. Data are full-range bytes, compared bit
 * for bit. */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define RELU "conv2d u8 n=1 c=32 h=9 w=10 k=48 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_relu_requant"
#define TILE "conv2d i8 n=1 c=12 h=6 w=5 k=20 r=3 s=3 pad=1 epilogue=bias"
#define BLOCKED "conv2d i8 n=1 c=16 h=10 w=9 k=20 r=3 s=3 pad=1 layout=nchw4c"
#define GROUPED "conv2d i8 n=1 c=16 h=10 w=9 k=24 r=3 s=3 pad=1 groups=2"
#define UNSIGNED "conv2d u8 n=1 c=12 h=6 w=5 k=20 r=3 s=3 pad=1 epilogue=bias_requant_add"
#define WIDE "conv2d u8 n=1 c=12 h=6 w=21 k=20 r=3 s=3 pad=1 epilogue=bias_requant_add" /* two tiles a row */
#define U8_BLOCKED "conv2d u8 n=1 c=16 h=10 w=9 k=72 r=3 s=3 pad=1 layout=nchw4c epilogue=bias_requant"
#define U8_STRIDED "conv2d u8 n=1 c=32 h=11 w=12 k=24 r=1 s=3 stride=2 pad=0,1 layout=nchw4c epilogue=requant"
#define U8_GROUPED "conv2d u8 n=2 c=48 h=5 w=7 k=80 r=2 s=2 stride=2 pad=0,1,1,0 groups=4 layout=nchw4c epilogue=add"
#define MATRIX "dense i8 m=9 n=20 k=36 epilogue=bias"

static const char *const shapes[] = {
    "conv2d i8 n=1 c=32 h=9 w=10 k=48 r=3 s=3 pad=1 layout=nchw16c",
    "conv2d i8 n=1 c=32 h=7 w=7 k=32 r=1 s=1 layout=nchw16c", /* in place */
    "conv2d i8 n=2 c=48 h=9 w=11 k=32 r=1 s=1 stride=2 layout=nchw16c epilogue=bias_relu_requant",
    "conv2d i8 n=1 c=20 h=8 w=9 k=20 r=2 s=3 layout=nchw4c epilogue=add",                      /* no padding */
    "conv2d i8 n=1 c=6 h=9 w=8 k=10 r=2 s=3 stride=2,1 pad=1,0,2,1 dilation=1,2",              /* no fours */
    "conv2d i8 n=2 c=3 h=11 w=12 k=16 r=3 s=3 stride=2 pad=1 layout=nchw16c epilogue=requant", /* an image, blocked out
                                                                                                */
    "conv2d i8 n=1 c=1 h=1 w=1 k=1 r=1 s=1",
    "conv2d i8 n=1 c=16 h=6 w=6 k=16 r=1 s=1 pad=1 stride=2 layout=nchw8c",
    "conv2d i8 n=2 c=48 h=5 w=7 k=24 r=2 s=2 groups=4 layout=nchw8c", /* groups that begin amidst a block */
    "conv2d i8 n=1 c=32 h=7 w=7 k=64 r=1 s=1 groups=4 layout=nchw16c epilogue=bias_add_relu_requant",
    "conv2d i8 n=1 c=12 h=8 w=9 k=18 r=3 s=3 pad=1 groups=3",
    "conv2d i8 n=1 c=16 h=9 w=9 k=24 r=3 s=3 pad=2 dilation=2 layout=nchw8c",
    "conv2d i8 n=1 c=32 h=7 w=7 k=48 r=1 s=1 layout=nchw16c epilogue=bias_requant_add_relu",
    "conv2d i8 n=1 c=12 h=8 w=9 k=18 r=3 s=3 pad=1 epilogue=requant_add",
    "conv2d u8 n=1 c=32 h=9 w=10 k=48 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_relu_requant",
    "conv2d u8 n=1 c=32 h=7 w=7 k=32 r=1 s=1 layout=nchw16c epilogue=bias_requant_add_relu", /* in place */
    "conv2d u8 n=1 c=6 h=9 w=8 k=10 r=2 s=3 stride=2,1 pad=1,0,2,1 dilation=1,2",
    "conv2d u8 n=2 c=3 h=11 w=12 k=16 r=3 s=3 stride=2 pad=1 layout=nchw16c epilogue=requant",
    "conv2d u8 n=2 c=48 h=5 w=7 k=24 r=2 s=2 groups=4 layout=nchw8c epilogue=bias_requant_add",
    U8_STRIDED,
    U8_GROUPED,
    "conv2d u8 n=1 c=64 h=4 w=5 k=8 r=3 s=3 pad=1 epilogue=bias_relu_requant", /* few tiles, long sums */
    "dense u8 m=17 n=68 k=64 epilogue=bias_requant_add_relu",
    "dense u8 m=5 n=19 k=37 epilogue=bias",
    "dense i8 m=17 n=32 k=64 epilogue=bias_add_relu_requant",
    "dense i8 m=1 n=70 k=132",
    "dense i8 m=33 n=24 k=1100",
    "dense i8 m=5 n=19 k=37 epilogue=requant",
    "dense i8 m=1 n=1 k=1",
    NULL,
};

static const struct mutant mutants[] = {
    {"conv2d/i8_tile", TILE, "missing last term", "step < STEPS; step++) {",
     "step < STEPS - (cb == CBLOCKS - 1); step++) {"},
    {"conv2d/i8_tile", TILE, "wrong pad", "h = row * PACK_H - PT;", "h = row * PACK_H - PT + 1;"},
    {"conv2d/i8_tile", TILE, "unguarded tail", "&& k < g * KG + KG; k++", "; k++"},
    {"conv2d/i8_tile", TILE, "r and s swapped", "W_AT(g * KG + k, c, rs / S, rs % S)",
     "W_AT(g * KG + k, c, rs % S, rs / S)"},
    {"conv2d/i8_tile", TILE, "uninitialised accumulator", "acc[i][v] = BEGIN(v);",
     "acc[i][v] = BEGIN(v) + (INT_V)(y[0]);"},

    {"conv2d/i8_tile", UNSIGNED, "a column of the window left out", "< PL + W))", "< PL + W - 1))"},
    {"conv2d/i8_tile", UNSIGNED, "a row of the window left out", "CEIL_DIV(-h0, DH) : 0", "CEIL_DIV(-h0, DH) : 1"},
    {"conv2d/i8_tile", UNSIGNED, "sums of rows that were left out", "SKIP_ROWS ? r_begin : 0", "0"},
    {"conv2d/i8_tile", WIDE, "padding without the zero point",
     "(FLOATS ? (OPERAND)zero[0] : (OPERAND)(zero[0] * 0x01010101 ^ FLIP))", "(OPERAND)0"},
    {"conv2d/i8_tile", RELU, "below 0 behind a ReLU", "(LEAST(ZERO_OF_Y) < 0.0f ? 0.0f : LEAST(ZERO_OF_Y))",
     "LEAST(ZERO_OF_Y)"},
    {"conv2d/i8_tile", UNSIGNED, "no zero point of x", "#define SHIFT ((DOT == 6 ? 128 : 0) - zero[0])",
     "#define SHIFT 0"},
    {"conv2d/i8_tile", UNSIGNED, "zero points swapped", "#define ZERO_OF(i) held_zero[i]",
     "#define ZERO_OF(i) held_zero[3 - (i)]"},
    {"conv2d/i8_tile", UNSIGNED, "scales swapped", "#define ZERO_OF(i) held_zero[i]",
     "#define ZERO_OF(i) held_zero[i]\n#undef SUM_OF_SCALED1\n#undef SUM_OF_SCALED\n"
     "#define SUM_OF_SCALED1(a, b, s) fma((b), (s)[0], (a) * (s)[1])\n"
     "#define SUM_OF_SCALED(a, b, s) fma((b), (FLOAT_LANES)((s)[0]), (a) * (s)[1])"},
    {"conv2d/i8_tile", UNSIGNED, "not requantised before the sum", "#define ZERO_OF(i) held_zero[i]",
     "#define ZERO_OF(i) held_zero[i]\n#undef ROUNDED1\n#undef ROUNDED\n"
     "#define ROUNDED1(f, zero) (f)\n#define ROUNDED(f, zero) (f)"},

    {"conv2d/i8_amx", TILE, "missing last term", "c < CG ? w[", "c < CG - 1 ? w["},
    {"conv2d/i8_amx", TILE, "wrong pad", "h = row * PACK_H - PT;", "h = row * PACK_H - PT + 1;"},
    {"conv2d/i8_amx", TILE, "unguarded tail", "j < NR && k0 + j < KG", "j < NR"},
    {"conv2d/i8_amx", TILE, "r and s swapped", "rs / S, rs % S)]", "rs % S, rs / S)]"},
    {"conv2d/i8_amx", TILE, "uninitialised accumulator", "at[j / 16 * 256 + j % 16]);",
     "at[j / 16 * 256 + j % 16] + y[0]);"},
    {"conv2d/i8_amx", TILE, "a pixel that nobody stores", "if (q >= Q)", "if (q >= Q - (p == P - 1))"},
    {"conv2d/i8_amx", UNSIGNED, "padding without the zero point", "(PIECE)((uchar)ZERO_OF(0))", "(PIECE)(0)"},
    {"conv2d/i8_amx", UNSIGNED, "no zero point of x", "-zero[0] * sum", "0 * sum"},
    {"conv2d/i8_amx", UNSIGNED, "signed bytes", "\"tdpbusd\"", "\"tdpbssd\""},

    {"conv2d/i8", BLOCKED, "missing last term", "c < RC_I; c++", "c < RC_I - (step == LAST_STEP - 1); c++"},
    {"conv2d/i8", BLOCKED, "wrong pad", "p0 * SH - PT, q0", "p0 * SH - PT + 1, q0"},
    {"conv2d/i8", BLOCKED, "unguarded tail", "of < F_SIZE && p < P && q < Q", "p < P && q < Q"},
    {"conv2d/i8", BLOCKED, "r and s swapped", "at % UNIT, c, r, s)", "at % UNIT, c, s, r)"},
    {"conv2d/i8", BLOCKED, "uninitialised accumulator", "acc[g][n][f][i][j][a] = 0;", "acc[g][n][f][i][j][a] = y[0];"},

    {"conv2d/i8", U8_BLOCKED, "padding without the zero point", "#define OUTSIDE outside", "#define OUTSIDE 0"},
    {"conv2d/i8", U8_STRIDED, "zeros put once without the zero point", "#define OUTSIDE_SUM outside",
     "#define OUTSIDE_SUM 0", "dp4a"},
    {"conv2d/i8", U8_BLOCKED, "no zero point of x", "(uint)zero[0] * (uint)sum", "0"},
    {"conv2d/i8", U8_BLOCKED, "no bias beside the zero point", "#define FOLD_BIAS(k) bias[k]",
     "#define FOLD_BIAS(k) 0"},
    {"conv2d/i8", U8_BLOCKED, "weights of the first channel alone", "w[(long)k * FOLD_TERMS + i]", "w[i]"},
    {"conv2d/i8", U8_BLOCKED, "the first group's channels alone", "const int k = GRP(0) * FOLD_ITEMS",
     "const int k = 0"},
    {"conv2d/i8", U8_BLOCKED, "signed bytes", "#define DOT_U8_A", "#define NO_U8_A"},

    {"conv2d/group_i8", GROUPED, "missing last term", "step < LAST_STEP; step++", "step < LAST_STEP - 1; step++"},
    {"conv2d/group_i8", GROUPED, "channels of another group", "channel = (g0 + g) * C_SIZE + c;", "channel = c;"},
    {"conv2d/group_i8", GROUPED, "unguarded tail", "of < F_SIZE && p < P && q < Q", "of < F_SIZE && p < P"},
    {"conv2d/group_i8", GROUPED, "weights of another group", "(g * F_SIZE + f) * UNIT", "f * UNIT"},
    {"conv2d/group_i8", GROUPED, "uninitialised accumulator", "acc[g][n][f][i][j][a] = 0;",
     "acc[g][n][f][i][j][a] = y[0];"},
    {"conv2d/group_i8", U8_GROUPED, "weights of the first group alone", "w[(long)k * FOLD_TERMS",
     "w[(long)(k % (FOLD_K / GROUPS)) * FOLD_TERMS"},

    {"dense/dense_i8", MATRIX, "missing last term", "f < F_SIZE && c < C_SIZE &&", "f < F_SIZE && c < C_SIZE - 1 &&"},
    {"dense/dense_i8", MATRIX, "wrong row", "q0 * SW - PL)", "q0 * SW - PL + 1)"},
    {"dense/dense_i8", MATRIX, "unguarded tail", "of < F_SIZE && p < P && q < Q", "of < F_SIZE && p < P"},
    {"dense/dense_i8", MATRIX, "k and n swapped", "w[W_AT(k, c * 4 + j", "w[W_AT(k / 4 * 4 + j, c * 4 + k % 4"},
    {"dense/dense_i8", MATRIX, "uninitialised accumulator", "acc[g][n][f][i][j][a] = 0;",
     "acc[g][n][f][i][j][a] = y[0];"},

    {"dense/dense_i8_tile", MATRIX, "missing last term", "step < STEPS; step++) {", "step < STEPS - 1; step++) {"},
    {"dense/dense_i8_tile", MATRIX, "wrong row", "i % VW * STEP_W) * PIXEL", "(i + 1) % VW * STEP_W) * PIXEL"},
    {"dense/dense_i8_tile", MATRIX, "unguarded tail", "&& k < g * KG + KG; k++", "; k++"},
    {"dense/dense_i8_tile", MATRIX, "k and n swapped", "w[W_AT(g * KG + k, c, rs / S, rs % S)]",
     "w[W_AT(g * KG + k / 2 * 2 + c % 2, c / 2 * 2 + k % 2, rs / S, rs % S)]"},
    {"dense/dense_i8_tile", MATRIX, "uninitialised accumulator", "acc[i][v] = BEGIN(v);",
     "acc[i][v] = BEGIN(v) + (INT_V)(y[0]);"},

    {"dense/dense_i8_amx", MATRIX, "missing last term", "c < CG ? w[", "c < CG - 1 ? w["},
    {"dense/dense_i8_amx", MATRIX, "wrong row", "(long)begin * STEP_W", "(long)(begin + 1) * STEP_W"},
    {"dense/dense_i8_amx", MATRIX, "unguarded tail", "j < NR && k0 + j < KG", "j < NR"},
    {"dense/dense_i8_amx", MATRIX, "k and n swapped", "+ i / 64 * 4 + i % 4, rs)", "+ i / 64 * 4 + 3 - i % 4, rs)"},
    {"dense/dense_i8_amx", MATRIX, "uninitialised accumulator", "at[j / 16 * 256 + j % 16]);",
     "at[j / 16 * 256 + j % 16] + y[0]);"},

    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_i8 = {shapes, mutants};
