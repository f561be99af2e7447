/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define TABLE "gather f32 n=101 m=37 inner=67 weights=x"
#define SEVERAL "gather f32 outer=3 n=19 m=23 inner=5"

static const char *const shapes[] = {
    TABLE,
    SEVERAL,
    "gather f32 n=1 m=1",            /* tiny */
    "gather f32 n=1000 m=300",       /* numbers */
    "gather f32 n=64 m=64 inner=64", /* no tail */
    "gather f32 n=3052 m=129 inner=768 weights=x",
    "gather f16 outer=2 n=2048 m=33 inner=40",
    NULL,
};

static const struct mutant mutants[] = {
    {"gather/naive", TABLE, "from the front", "number < 0 ? number + N : number", "number < 0 ? -number : number"},
    {"gather/naive", TABLE, "unguarded tail", "if (i < (long)OUTER * M * INNER)", ""},
    {"gather/naive", TABLE, "last one missing", "if (i < (long)OUTER * M * INNER)",
     "if (i < (long)OUTER * M * INNER - 1)"},
    {"gather/naive", SEVERAL, "of the first table", "(row / M * N + (place", "((place"},
    {"gather/naive", SEVERAL, "the next row", "place > N - 1 ? N - 1 : place)", "place > N - 1 ? N - 1 : place + 1)"},

    {"gather/rows", TABLE, "from the front", "number < 0 ? number + N : number", "number < 0 ? -number : number"},
    {"gather/rows", TABLE, "tail missing", "for (; i < end; i++)", "for (; i < end - 1; i++)"},
    {"gather/rows", TABLE, "no numbers", "row_of(at, row)", "row % N * INNER"},
    {"gather/rows", SEVERAL, "of the first table", "(row / M * N + (place", "((place"},
    {"gather/rows", SEVERAL, "a row too few", "if (row >= (long)OUTER * M)", "if (row >= (long)OUTER * M - 1)"},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_gather = {shapes, mutants};
