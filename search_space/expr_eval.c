/* SPDX-License-Identifier: MIT */
#include "search_space/arith.h"
#include "core/err.h"
#include "search_space/expr_code.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool equal(const struct expr_value *a, const struct expr_value *b)
{
    if (a->text && b->text)
        return a->text == b->text || strcmp(a->text, b->text) == 0;
    return !a->text && !b->text && a->number == b->number;
}

static bool compare(unsigned code, double a, double b)
{
    switch (code) {
    case OP_LT:
        return a < b;
    case OP_LE:
        return a <= b;
    case OP_GT:
        return a > b;
    default:
        return a >= b;
    }
}

/* All ( a b -- c ) on a and b, into a. False: words where numbers belong, division by zero, overflow. */
static bool binary(unsigned code, struct expr_value *a, const struct expr_value *b)
{
    double x = a->number;
    const double y = b->number;

    if (code == OP_EQ || code == OP_NE) {
        *a = (struct expr_value){equal(a, b) == (code == OP_EQ), NULL};
        return true;
    }
    if (a->text || b->text || (code >= OP_DIV && code <= OP_CEIL_DIV && y == 0))
        return false;
    switch (code) {
    case OP_ADD:
        x += y;
        break;
    case OP_SUB:
        x -= y;
        break;
    case OP_MUL:
        x *= y;
        break;
    case OP_DIV:
        x /= y;
        break;
    case OP_FLOOR_DIV:
        x = arith_floor_div(x, y);
        break;
    case OP_MOD:
        x = arith_mod(x, y);
        break;
    case OP_CEIL_DIV:
        x = arith_ceil_div(x, y);
        break;
    case OP_MIN:
        x = y < x ? y : x;
        break;
    case OP_MAX:
        x = y > x ? y : x;
        break;
    default:
        x = compare(code, x, y);
    }
    a->number = x;
    return isfinite(x);
}

/* One of the instructions that may jump: its next position goes to *i. False as binary. */
static bool branch(const struct expr *e, size_t *i, struct expr_value **top)
{
    const struct instruction in = e->code[*i];
    struct expr_value *t = *top;
    bool jump;

    if (in.code == OP_CHAIN) {
        struct expr_value result = t[-1];

        if (!binary(e->code[*i + 1].code, &result, t))
            return false;
        jump = result.number == 0;
        t[-1] = jump ? result : *t;
        *top = t - 1;
        *i += 2;
    } else if (in.code == OP_IN) {
        jump = equal(&t[-1], t);
        if (jump)
            t[-1] = (struct expr_value){1, NULL};
        *top = t - 1;
        *i += 1;
    } else {
        if (t->text)
            return false;
        jump = (t->number != 0) == (in.code == OP_OR);
        t->number = in.code == OP_OR;
        *top = jump ? t : t - 1;
        *i += 1;
    }
    if (jump)
        *i = in.arg;
    return true;
}

static bool unary(unsigned code, struct expr_value *a)
{
    if (code == OP_IN_END) {
        *a = (struct expr_value){0, NULL};
        return true;
    }
    if (a->text)
        return false;
    if (code == OP_NEG)
        a->number = -a->number;
    else if (code != OP_PLUS)
        a->number = (a->number != 0) == (code == OP_BOOL);
    return true;
}

static bool push(const struct expr *e, struct instruction in, const struct expr_value *slots, struct expr_value *to)
{
    if (in.code == OP_SLOT)
        *to = slots[in.arg];
    else if (in.code == OP_NUMBER)
        *to = (struct expr_value){e->numbers[in.arg], NULL};
    else
        *to = (struct expr_value){0, e->words[in.arg]};
    return to->text || !isnan(to->number);
}

enum err expr_eval(const struct expr *e, const struct expr_value *slots, double *out)
{
    struct expr_value stack[EXPR_MAX_STACK + 1], *top = stack;
    size_t i = 0;

    *top = (struct expr_value){NAN, NULL}; /* what an expression without code would give */
    while (i < e->n_code) {
        const struct instruction in = e->code[i];
        bool ok;

        if (in.code <= OP_SLOT) {
            ok = push(e, in, slots, ++top);
            i++;
        } else if (in.code >= OP_ADD && in.code <= OP_GE) {
            ok = binary(in.code, top - 1, top);
            top--;
            i++;
        } else if (in.code >= OP_CHAIN && in.code <= OP_IN) {
            ok = branch(e, &i, &top);
        } else {
            ok = unary(in.code, top);
            i++;
        }
        if (!ok)
            return ERR_INPUT;
    }
    assert(top == stack + (e->n_code > 0));
    if (top->text || !isfinite(top->number))
        return ERR_INPUT;
    *out = top->number;
    return ERR_OK;
}

bool expr_uses(const struct expr *e, size_t slot)
{
    for (size_t i = 0; i < e->n_code; i++)
        if (e->code[i].code == OP_SLOT && e->code[i].arg == slot)
            return true;
    return false;
}
