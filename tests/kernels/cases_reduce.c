/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define ROWS "reduce f32 outer=7 n=1003"
#define COLUMNS "reduce f32 outer=3 n=301 inner=37"
#define LONG "reduce f32 n=70001"
#define VERY_LONG "reduce f32 outer=2 n=300000"
#define MEAN "reduce f32 outer=5 n=101 inner=19 kind=mean"
#define NORM "reduce f32 outer=4 n=128 kind=l2"
#define ONE_ROW "reduce f32 n=300 kind=max"
#define LARGEST "reduce f32 outer=9 n=83 kind=max"
#define LOG_SUM_EXP "reduce f32 outer=7 n=501 kind=log_sum_exp"

static const char *const shapes[] = {
    ROWS,
    COLUMNS,
    MEAN,
    LARGEST,
    LOG_SUM_EXP,
    "reduce f32 n=1",                     /* tiny */
    "reduce f32 outer=64 n=49 kind=mean", /* a global pool */
    LONG,
    "reduce f32 n=70001 kind=l1",
    ONE_ROW,
    "reduce f32 outer=3 n=65 inner=64 kind=min",
    "reduce f32 outer=11 n=37 kind=prod",
    "reduce f32 n=19 inner=21 kind=prod",
    NORM,
    "reduce f32 outer=4 n=33 inner=5 kind=sum_square",
    "reduce f32 outer=4 n=33 inner=5 kind=log_sum",
    "reduce f32 outer=2 n=77 inner=35 kind=log_sum_exp",
    "reduce f16 outer=7 n=203",
    "reduce f16 outer=3 n=21 inner=37 kind=mean",
    "reduce f16 outer=3 n=65 inner=8 kind=max",
    NULL,
};

static const struct mutant mutants[] = {
    {"reduce/naive", ROWS, "last term missing", "i < from + PART && i < N", "i < from + PART && i < N - 1"},
    {"reduce/naive", ROWS, "parts overlap", "from += PART", "from += PART - 1"},
    {"reduce/naive", COLUMNS, "rows for columns", "i % INNER), INNER)", "i % INNER), 1)"},
    {"reduce/naive", MEAN, "a sum", "quotient((v), (float)N)", "(v)"},
    {"reduce/naive", LARGEST, "never below 0", "#define START (-INFINITE)", "#define START 0.0f"},
    {"reduce/naive", LOG_SUM_EXP, "largest left out", "((top) + LOG(v))", "(LOG(v))"},

    {"reduce/naive", LONG, "one running sum", "#define PART 32", "#define PART 1000000"},
    {"reduce/naive", ROWS, "infinity lost", "OF_FINITE_SUM(*sum, (*sum - last) - next)", "(*sum - last) - next"},
    {"reduce/naive", ONE_ROW, "least is the lowest number", "#define START (-INFINITE)",
     "#define START -3.402823466e38f"},
    {"reduce/naive", NORM, "a root that has none of infinity", "ROOT(v) SQRT(v)", "ROOT(v) ((v) * (1.0f / SQRT(v)))"},

    {"reduce/rows", ROWS, "rest missing", "EACH_OF_THE_REST all = TAKE(all, EACH(LOAD1(from + i), top));", ""},
    {"reduce/rows", ROWS, "lanes lost", "out = take(out, lanes_[l_])", "out = take(out, lanes_[0])"},
    {"reduce/rows", ROWS, "wrong row", "x + WITHIN(row) * N", "x + WITHIN(row) / 2 * N"},
    {"reduce/rows", COLUMNS, "unguarded tail", "if (column + VEC > INNER) {", "if (column + VEC > INNER + VEC) {"},
    {"reduce/rows", COLUMNS, "a row too few", "i < first + PART && i < N;", "i < first + PART && i < N - 1;"},
    {"reduce/rows", MEAN, "a sum", "quotient((v), (float)N)", "(v)"},
    {"reduce/rows", VERY_LONG, "roundings not carried on", "next = part - *over", "next = part", "cpu",
     "vec=1 wg=1 rows=1"},
    {"reduce/rows", "reduce f32 outer=64 n=41 kind=mean", "quotient not rounded",
     "return FFMA1(OF_FINITE1(q, FFMA1(-q, n, v)), i, q);", "return q;"},
    {"reduce/rows", LONG, "one running sum", "#define PART 32", "#define PART 1000000"},
    {"reduce/rows", MEAN, "no mean of infinity", "OF_FINITE1(q, FFMA1(-q, n, v))", "FFMA1(-q, n, v)"},
    {"reduce/rows", ONE_ROW, "least is the lowest number", "#define START (-INFINITE)",
     "#define START -3.402823466e38f"},
    {"reduce/rows", LARGEST, "never below 0", "#define START (-INFINITE)", "#define START 0.0f"},
    {"reduce/rows", LOG_SUM_EXP, "largest of a few", "tops = VMAX(tops, VLOAD(from + i * VEC));",
     "tops = VSET(-1000.0f);"},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct rare_config configs[] = {
    {"reduce/rows", LOG_SUM_EXP, "vec=2 wg=4 rows=2"},                      /* two largest numbers in local memory */
    {"reduce/rows", "reduce f32 outer=3 n=35", "vec=4 wg=1 rows=1"},        /* more left than items */
    {"reduce/rows", "reduce f32 outer=3 n=5 inner=7", "vec=4 wg=4 rows=1"}, /* columns left: more than half a vector */
    {NULL, NULL, NULL},
};

const struct cases cases_reduce = {shapes, mutants, configs};
