/* The forms of conv2d with local memory or Mali's registers. */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SHAPE "conv2d f32 n=1 c=5 h=10 w=9 k=7 r=3 s=3 pad=1"
#define GROUPED "conv2d f32 n=3 c=10 h=10 w=9 k=14 r=3 s=3 pad=1 groups=2"

static const char *const shapes[] = {
    "conv2d f32 n=3 c=12 h=9 w=11 k=8 r=3 s=3 stride=2 pad=1,0,2,1 groups=4",
    "conv2d f16 n=2 c=12 h=7 w=7 k=18 r=1 s=3 groups=6 epilogue=bias_relu",
    "conv2d i8 n=1 c=32 h=5 w=6 k=32 r=3 s=3 pad=1 groups=2 layout=nchw8c epilogue=bias_requant",
    NULL,
};

static const struct mutant mutants[] = {
    {"conv2d/direct", SHAPE, "missing last term", "step < N_STEPS", "step < N_STEPS - 1"},
    {"conv2d/direct", SHAPE, "wrong pad", "r0 * DH - PT + i", "r0 * DH - PT + 1 + i"},
    {"conv2d/direct", SHAPE, "unguarded tail", "of < KG && p < P && q < Q", "p < P && q < Q"},
    {"conv2d/direct", SHAPE, "r and s swapped", "* RY_I + r) * RX_I + s]", "* RY_I + s) * RX_I + r]"},
    {"conv2d/direct", SHAPE, "uninitialised accumulator", "acc[g][n][f][i][j] = 0;", "acc[g][n][f][i][j] = y[0];"},

    {"conv2d/group", GROUPED, "missing last term", "step < N_STEPS", "step < N_STEPS - 1"},
    {"conv2d/group", GROUPED, "channels of another group", "g * CG + c, row", "g + c, row"},
    {"conv2d/group", GROUPED, "unguarded tail", "of < KG && p < P && q < Q", "p < P && q < Q"},
    {"conv2d/group", GROUPED, "images swapped", "image = n0 + OWN(n, N_T, N_R, nt)",
     "image = NB - 1 - (n0 + OWN(n, N_T, N_R, nt))"},
    {"conv2d/group", GROUPED, "uninitialised accumulator", "acc[g][n][f][i][j] = 0;", "acc[g][n][f][i][j] = y[0];"},

    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_conv2d_gpu = {shapes, mutants};
