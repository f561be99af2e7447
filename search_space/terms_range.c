/* SPDX-License-Identifier: MIT */
/* Interval arithmetic. Rounding to nearest is monotone, so that an operation on the ends of two ranges, computed as the
 * values are, bounds every value between them. */
#include "search_space/arith.h"
#include "search_space/terms.h"

static const struct range anything = {-INFINITY, INFINITY, true};

static bool is_zero(struct range r) /* when it has a value */
{
    return r.lo == 0 && r.hi == 0;
}

static bool is_nonzero(struct range r) /* likewise */
{
    return r.lo > 0 || r.hi < 0;
}

bool range_is_true(struct range r)
{
    return is_nonzero(r) && !r.error;
}

bool range_is_false(struct range r)
{
    return is_zero(r) || r.lo > r.hi;
}

static struct range truth(bool can_be_false, bool can_be_true, bool error)
{
    return (struct range){can_be_false ? 0 : 1, can_be_true ? 1 : 0, error};
}

/* The hull of a product-like operation over the four corners. */
static struct range corners(double p, double q, double r, double s, bool error)
{
    const struct range hull = {fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s)), error};

    return isfinite(hull.lo) && isfinite(hull.hi) ? hull : anything;
}

static struct range quotient(enum term_op op, struct range a, struct range b, bool exact)
{
    const bool error = a.error || b.error;

    if (!is_nonzero(b) || !isfinite(a.lo) || !isfinite(a.hi) || !isfinite(b.lo) || !isfinite(b.hi))
        return anything;
    if (op == TERM_DIV)
        return corners(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi, error);
    if (op == TERM_MOD && b.lo > 0)
        return a.lo >= 0 && a.hi < b.lo ? (struct range){a.lo, a.hi, error}
                                        : (struct range){0, exact ? b.hi - 1 : b.hi, error};
    if (op == TERM_MOD || !exact)
        return anything;
    if (op == TERM_FLOOR_DIV)
        return corners(arith_floor_div(a.lo, b.lo), arith_floor_div(a.lo, b.hi), arith_floor_div(a.hi, b.lo),
                       arith_floor_div(a.hi, b.hi), error);
    return corners(arith_ceil_div(a.lo, b.lo), arith_ceil_div(a.lo, b.hi), arith_ceil_div(a.hi, b.lo),
                   arith_ceil_div(a.hi, b.hi), error);
}

static struct range arithmetic(enum term_op op, struct range a, struct range b, bool exact)
{
    const bool error = a.error || b.error;
    struct range r = anything;

    switch (op) {
    case TERM_ADD:
        r = (struct range){a.lo + b.lo, a.hi + b.hi, error};
        break;
    case TERM_SUB:
        r = (struct range){a.lo - b.hi, a.hi - b.lo, error};
        break;
    case TERM_MUL:
        return corners(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi, error);
    case TERM_MIN:
        r = (struct range){fmin(a.lo, b.lo), fmin(a.hi, b.hi), error};
        break;
    case TERM_MAX:
        r = (struct range){fmax(a.lo, b.lo), fmax(a.hi, b.hi), error};
        break;
    default:
        return quotient(op, a, b, exact);
    }
    return isfinite(r.lo) && isfinite(r.hi) ? r : anything;
}

static struct range comparison(enum term_op op, struct range a, struct range b)
{
    const bool error = a.error || b.error;
    const bool apart = a.hi < b.lo || b.hi < a.lo, one = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;

    switch (op) {
    case TERM_EQ:
        return truth(!one, !apart, error);
    case TERM_NE:
        return truth(!apart, !one, error);
    case TERM_LT:
        return truth(a.hi >= b.lo, a.lo < b.hi, error);
    case TERM_LE:
        return truth(a.hi > b.lo, a.lo <= b.hi, error);
    case TERM_GT:
        return truth(a.lo <= b.hi, a.hi > b.lo, error);
    default:
        return truth(a.lo < b.hi, a.hi >= b.lo, error);
    }
}

/* Of and, or: the right side is looked at only where the left does not decide. */
static struct range joined(enum term_op op, struct range a, struct range b)
{
    const bool decided = !a.error && (op == TERM_AND ? is_zero(a) : is_nonzero(a));
    const bool error = a.error || (!decided && b.error);

    if (decided)
        return truth(op == TERM_AND, op == TERM_OR, false);
    if (op == TERM_AND)
        return truth(!(is_nonzero(a) && is_nonzero(b)), !is_zero(a) && !is_zero(b), error);
    return truth(!is_nonzero(a) && !is_nonzero(b), !(is_zero(a) && is_zero(b)), error);
}

struct range range_of(enum term_op op, struct range a, struct range b, bool exact)
{
    if (op == TERM_NEG)
        return (struct range){-a.hi, -a.lo, a.error};
    if (op == TERM_NOT)
        return truth(!is_zero(a), !is_nonzero(a), a.error);
    if (op == TERM_BOOL)
        return truth(!is_nonzero(a), !is_zero(a), a.error);
    if (op >= TERM_AND)
        return joined(op, a, b);
    return op <= TERM_MAX ? arithmetic(op, a, b, exact) : comparison(op, a, b);
}
