/* SPDX-License-Identifier: MIT */
/* arith.h - the arithmetic of expressions on doubles, one definition for all that evaluate: % and // round as Python's
 * do, the result of % has the sign of b. b is not 0. */
#ifndef TUNE_SEARCH_SPACE_ARITH_H
#define TUNE_SEARCH_SPACE_ARITH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool arith_is_integer(double x)
{
    return fabs(x) < 0x1p53 && (double)(int64_t)x == x;
}

/* For integers |a| < 2^53 the rounded quotient never passes the next integer (that is at least 1/|b| away, and the
 * error at most 2^-53 |a/b|), so that one division gives the exact remainder, without the slow integer one. */
static inline double arith_mod(double a, double b)
{
    double r;

    if (arith_is_integer(a) && arith_is_integer(b))
        r = a - (double)(int64_t)(a / b) * b;
    else
        r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* (a - a mod b) / b is an integer but for rounding. */
static inline double arith_floor_div(double a, double b)
{
    const double quotient = (a - arith_mod(a, b)) / b, below = floor(quotient);

    return quotient - below > 0.5 ? below + 1 : below;
}

static inline double arith_ceil_div(double a, double b)
{
    return -arith_floor_div(-a, b);
}

#endif
