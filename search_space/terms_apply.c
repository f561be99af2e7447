/* SPDX-License-Identifier: MIT */
#include "search_space/arith.h"
#include "search_space/terms.h"

/* An overflow has no value. */
static inline double if_finite(double x)
{
    return x - x == 0 ? x : NAN;
}

static inline double truth(bool known, bool value)
{
    return known ? (value ? 1.0 : 0.0) : NAN;
}

#define EACH(expression)                                                                                               \
    for (size_t i = 0; i < n; i++) {                                                                                   \
        const double x = a[i], y = b[i];                                                                               \
                                                                                                                       \
        out[i] = (expression);                                                                                         \
    }                                                                                                                  \
    break

/* Comparisons with NAN have no value; x == x is false for NAN only. */
#define BOTH (x == x && y == y)

static void apply_arithmetic(enum term_op op, const double *a, const double *b, double *out, size_t n)
{
    switch (op) {
    case TERM_ADD:
        EACH(if_finite(x + y));
    case TERM_SUB:
        EACH(if_finite(x - y));
    case TERM_MUL:
        EACH(if_finite(x * y));
    case TERM_DIV:
        EACH(if_finite(x / y)); /* x / 0 is infinite or NAN */
    case TERM_FLOOR_DIV:
        EACH(y == 0 ? NAN : if_finite(arith_floor_div(x, y)));
    case TERM_MOD:
        EACH(y == 0 ? NAN : if_finite(arith_mod(x, y)));
    case TERM_CEIL_DIV:
        EACH(y == 0 ? NAN : if_finite(arith_ceil_div(x, y)));
    case TERM_MIN:
        EACH(BOTH ? (y < x ? y : x) : NAN);
    default:
        EACH(BOTH ? (y > x ? y : x) : NAN);
    }
}

static void apply_comparison(enum term_op op, const double *a, const double *b, double *out, size_t n)
{
    switch (op) {
    case TERM_EQ:
        EACH(truth(BOTH, x == y));
    case TERM_NE:
        EACH(truth(BOTH, x != y));
    case TERM_LT:
        EACH(truth(BOTH, x < y));
    case TERM_LE:
        EACH(truth(BOTH, x <= y));
    case TERM_GT:
        EACH(truth(BOTH, x > y));
    default:
        EACH(truth(BOTH, x >= y));
    }
}

void term_apply(enum term_op op, const double *a, const double *b, double *out, size_t n)
{
    switch (op) {
    case TERM_NEG:
        EACH(x == x ? -y : NAN); /* y is x: both operands of a unary operation are the one */
    case TERM_NOT:
        EACH(truth(BOTH, x == 0));
    case TERM_BOOL:
        EACH(truth(BOTH, x != 0));
    case TERM_AND:
        EACH(x == 0 ? 0 : truth(BOTH, y != 0));
    case TERM_OR:
        EACH(x == x && x != 0 ? 1 : truth(BOTH, y != 0));
    default:
        if (op <= TERM_MAX)
            apply_arithmetic(op, a, b, out, n);
        else
            apply_comparison(op, a, b, out, n);
    }
}
