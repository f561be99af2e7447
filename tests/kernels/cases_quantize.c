/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define BYTES "quantize u8 n=2035"
#define FLOATS "quantize u8 n=2035 back=1"

static const char *const shapes[] = {
    BYTES,
    FLOATS,
    "quantize u8 n=1", /* tiny */
    "quantize u8 n=1 back=1",
    "quantize u8 n=16384", /* no tail */
    "quantize u8 n=31209", /* several work-groups, a tail */
    "quantize u8 n=31209 back=1",
    NULL,
};

static const struct mutant mutants[] = {
    {"quantize/naive", BYTES, "unguarded tail", "if (i < N)", ""},
    {"quantize/naive", BYTES, "last one missing", "i < N", "i < N - 1"},
    {"quantize/naive", BYTES, "no zero point", "LEAST(zero[0]), zero[0])", "LEAST(0), 0)"},
    {"quantize/naive", BYTES, "times the inverse", "quotient(x[i], scale[0])", "(x[i] * (1.0f / scale[0]))"},
    {"quantize/naive", BYTES, "halves away from 0", "quotient(x[i], scale[0])", "(quotient(x[i], scale[0]) * 1.0001f)"},
    {"quantize/naive", FLOATS, "no zero point", "(int)x[i] - zero[0]", "(int)x[i]"},
    {"quantize/naive", FLOATS, "signed bytes", "(int)x[i] - zero[0]", "((int)x[i] ^ 128) - 128 - zero[0]"},

    {"quantize/stream", BYTES, "tail missing", "QUANTIZE1(i + l);", ";"},
    {"quantize/stream", BYTES, "unguarded tail", "l < VEC && i + l < N", "l < VEC"},
    {"quantize/stream", BYTES, "times the inverse", "quotients(FVLOAD(x + (i)), by, i_by)",
     "FVLOAD(x + (i)) * FVSET(i_by)"},
    {"quantize/stream", BYTES, "least is 0", "LEAST(point), point, y", "0.0f, point, y"},
    {"quantize/stream", FLOATS, "no zero point", "FVSET((float)point)", "FVSET(0.0f)"},
    {"quantize/stream", FLOATS, "no scale", "FVSET(by)", "FVSET(1.0f)"},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_quantize = {shapes, mutants};
