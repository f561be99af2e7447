/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define PLAIN "add f32 n=1 c=5 h=11 w=37"
#define RELU_ "add f32 n=1 c=5 h=11 w=37 relu=1"
#define SCALED "add i8 n=1 c=5 h=13 w=37"

#define UNSIGNED "add u8 n=1 c=5 h=13 w=37"

static const char *const shapes[] = {
    PLAIN,
    RELU_,
    "add f32 n=1 c=1 h=1 w=1",           /* tiny */
    "add f32 n=1 c=64 h=16 w=16 relu=1", /* no tail */
    "add f32 n=2 c=16 h=7 w=9 layout=nchw16c",
    "add f32 n=2 c=6 h=7 w=9 layout=nhwc relu=1",
    "add f32 n=1 c=3 h=101 w=103", /* several work-groups, a tail */
    "add f16 n=1 c=5 h=11 w=37 relu=1",
    "add f16 n=2 c=8 h=7 w=8 layout=nchw4c",
    SCALED,
    "add i8 n=1 c=8 h=12 w=16 layout=nchw8c relu=1",
    "add i8 n=1 c=3 h=101 w=103 relu=1",
    UNSIGNED,
    "add u8 n=1 c=8 h=12 w=16 layout=nchw8c relu=1",
    NULL,
};

static const struct mutant mutants[] = {
    {"add/naive", PLAIN, "one term", "LOAD1(b + (i))", "0"},
    {"add/naive", PLAIN, "difference", "#define SUM1(a, b) ((a) + (b))", "#define SUM1(a, b) ((a) - (b))"},
    {"add/naive", PLAIN, "unguarded tail", "if (i < N)", ""},
    {"add/naive", PLAIN, "last one missing", "i < N", "i < N - 1"},
    {"add/naive", RELU_, "no ReLU", "#define POSITIVE1(v) FMAX1((v), 0.0f)", "#define POSITIVE1(v) (v)"},
    {"add/naive", SCALED, "scales swapped", "SUM_OF_SCALED1((float)((a)-ZERO_OF(0)), (float)((b)-ZERO_OF(1)), scale)",
     "SUM_OF_SCALED1((float)((b)-ZERO_OF(1)), (float)((a)-ZERO_OF(0)), scale)"},
    {"add/naive", SCALED, "the other product rounded",
     "SUM_OF_SCALED1((float)((a)-ZERO_OF(0)), (float)((b)-ZERO_OF(1)), scale)",
     "FFMA1((float)(a), scale[0], (float)(b) * scale[1])"},
    {"add/naive", SCALED, "both products rounded",
     "SUM_OF_SCALED1((float)((a)-ZERO_OF(0)), (float)((b)-ZERO_OF(1)), scale)",
     "FFMA1(1.0f, (float)(b) * scale[1], (float)(a) * scale[0])"},
    {"add/naive", SCALED, "not saturated", "REQUANTISED1((v), LEAST(ZERO_OF(2)), ZERO_OF(2))",
     "(char)(int)((v) + 12582912.0f - 12582912.0f)"},
    {"add/naive", UNSIGNED, "no zero point of the sum", "LEAST(ZERO_OF(2)), ZERO_OF(2))", "LEAST(0), 0)"},

    {"add/stream", PLAIN, "one term", "VLOAD_ALIGNED(b + (i))", "VSET(0)"},
    {"add/stream", PLAIN, "last bits lost", "VLOAD_ALIGNED(b + (i))",
     "((VLOAD_ALIGNED(b + (i)) + VSET(1.0f)) - VSET(1.0f))"},
    {"add/stream", PLAIN, "unguarded tail", "l < VEC && i + l < N", "l < VEC"},
    {"add/stream", PLAIN, "tail missing", "ADD1(i + l);", ";"},
    {"add/stream", RELU_, "no ReLU", "FVMAX((v), FVSET(0.0f))", "(v)"},
    {"add/stream", SCALED, "scales swapped", "FVSET(scale[1])", "FVSET(scale[0])"},
    {"add/stream", SCALED, "both products rounded",
     "FVFMA(ELEM_FLOATS(b + (i)) - FVSET((float)ZERO_OF(1)), FVSET(scale[1]), ",
     "FVFMA(FVSET(1.0f), (ELEM_FLOATS(b + (i)) - FVSET((float)ZERO_OF(1))) * FVSET(scale[1]), "},
    {"add/stream", UNSIGNED, "one zero point for both", "FVSET((float)ZERO_OF(1))", "FVSET((float)ZERO_OF(0))"},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_add = {shapes, mutants};
