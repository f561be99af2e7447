/* SPDX-License-Identifier: MIT */
#include "tests/kernels/cases.h"

#include <stddef.h>

#define SUM "eltwise f32 y=2035 f=add(a,b)"
#define GATE "eltwise f32 y=5x407 b=5x1 f=mul(a,b)"
#define ACROSS "eltwise f32 y=11x5x37 a=1x5x1 b=11x1x37 f=mul(max(a,b),a)"
#define SWISH "eltwise f32 y=2035 f=mul(a,sigmoid(a))"
#define TANH "eltwise f32 y=2035 f=tanh(a)"
#define GELU "eltwise f32 y=2035 f=gelu(a)"
#define ANGLES "eltwise f32 y=2035 f=sub(sin(a),cos(a))"
#define ARCS "eltwise f32 y=2035 f=asin(a)"
#define ELU "eltwise f32 y=2035 f=elu(a,0.7)"
#define COSH "eltwise f32 y=2035 f=cosh(a)"

static const char *const shapes[] = {
    SUM,
    GATE,
    ACROSS,
    SWISH,
    TANH,
    GELU,
    ELU,
    "eltwise f32 y=1 f=neg(a)",                    /* tiny */
    "eltwise f32 y=64x64 b=1x64 f=relu(add(a,b))", /* no tail */
    "eltwise f32 y=31209 f=hard_swish(a)",         /* several work-groups, a tail */
    "eltwise f32 y=4x9x16 b=4x1x16 f=hard_sigmoid(mul(a,b),0.2,0.5)",
    "eltwise f32 y=3x5x2x7x2x9 a=1x5x1x7x1x9 b=3x1x2x1x2x1 f=min(a,b)",
    "eltwise f32 y=1000x3 b=1x3 f=clip(add(a,b),-2,6)",
    "eltwise f32 y=7x11 a=7x1 f=a",
    "eltwise f32 y=777 f=where(less(a,b),floor(c),ceil(d))",
    "eltwise f32 y=777 f=where(equal(a,sign(b)),abs(a),round(mul(b,0.3)))",
    "eltwise f32 y=777 f=div(sqrt(a),add(log(b),reciprocal(c)))",
    "eltwise f32 y=777 f=pow(a,b) weights=b",
    "eltwise f32 y=5x407 b=5x1 f=max(a,b) weights=ab",
    "eltwise f32 y=777 f=softplus(exp(a))",
    "eltwise f32 y=777 f=add(erf(a),softsign(b))",
    "eltwise f32 y=777 f=leaky_relu(gelu_tanh(a),0.1)",
    "eltwise f32 y=777 f=swish(mul(8,a))",
    ANGLES,
    ARCS,
    "eltwise f32 y=777 f=add(tan(a),atan(b))",
    "eltwise f32 y=777 f=sub(sinh(a),cosh(mul(2,b)))",
    "eltwise f32 y=777 f=mul(asinh(a),acosh(add(b,1)))",
    "eltwise f32 y=777 f=add(atanh(a),acos(b))",
    "eltwise f16 y=777 f=add(sin(a),asin(mul(0.5,tanh(b))))",
    "eltwise f16 y=2035 f=add(a,b)",
    "eltwise f16 y=5x407 b=5x1 f=mul(a,sigmoid(b))",
    "eltwise f16 y=8x63x8 a=8x1x8 f=exp(sub(a,b))",
    NULL,
};

#define FORGOTTEN "p = FMA(f, p, SET(1.0f / 24));"

static const struct mutant mutants[] = {
    {"eltwise/naive", SUM, "difference", "f_add(a, b) ((a) + (b))", "f_add(a, b) ((a) - (b))"},
    {"eltwise/naive", SUM, "unguarded tail", "if (i < (long)ROWS * INNER)", ""},
    {"eltwise/naive", SUM, "last one missing", "if (i < (long)ROWS * INNER)", "if (i < (long)ROWS * INNER - 1)"},
    {"eltwise/naive", GATE, "broadcast along the other axis", "row = i / INNER, column = i % INNER",
     "row = i % ROWS, column = i % INNER"},
    {"eltwise/naive", ACROSS, "a size of the middle", "% D4 * STEP(X, 4)", "% D3 * STEP(X, 4)"},
    {"eltwise/naive", SWISH, "a term of the series missing", FORGOTTEN, ""},
    {"eltwise/naive", TANH, "even", "SELECT(a < NUM(0.0f), -far, far)", "far"},

    {"eltwise/rows", SUM, "difference", "f_add(a, b) ((a) + (b))", "f_add(a, b) ((a) - (b))"},
    {"eltwise/rows", SUM, "tail missing", "if (n > 0)", "if (n > VEC)"},
    {"eltwise/rows", SUM, "unguarded tail", "l < n; l++)\n        STORE1", "l < VEC; l++)\n        STORE1"},
    {"eltwise/rows", GATE, "one of a row not spread", "VSET(LOAD1(PLACE(x, X)))", "GET_VECTOR(PLACE(x, X))"},
    {"eltwise/rows", GATE, "rows exchanged", "row * INNER + at", "(ROWS - 1 - row) * INNER + at"},
    {"eltwise/rows", ACROSS, "a row too few", "row < ROWS; row++", "row < ROWS - 1; row++"},
    {"eltwise/rows", ACROSS, "rest not spread", "l < n ? l * step : 0", "l < n ? l : 0"},
    {"eltwise/rows", SWISH, "a term of the series missing", FORGOTTEN, ""},
    {"eltwise/rows", TANH, "a term of the other series missing", "near = F_FMA(square, near, NUM(2.0f / 15));", ""},
    {"eltwise/rows", GELU, "a digit of a coefficient", "0.254829592f", "0.254729592f"},
    {"eltwise/rows", ANGLES, "the other one", "f_sin(a) sin", "f_sin(a) cos"},
    {"eltwise/rows", ANGLES, "its quotient", "f_cos(a) cos", "f_cos(a) tan"},
    {"eltwise/rows", ARCS, "the rest of a right angle", "f_asin(a) asin", "f_asin(a) acos"},
    {"eltwise/rows", COSH, "infinite before the end", "f_cosh(a) cosh",
     "f_cosh(a) (NUM(0.5f) * (f_exp(a) + f_exp(-(a))))\n#define g_cosh"},
    {"eltwise/rows", ELU, "wrong side", "SELECT(a < NUM(0.0f), alpha", "SELECT(a > NUM(0.0f), alpha"},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct cases cases_eltwise = {shapes, mutants};
