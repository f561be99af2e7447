/* SPDX-License-Identifier: MIT */
/* From the instructions of a compiled expression back to terms: the stack machine runs once with terms as values. */
#include "search_space/expr_code.h"
#include "search_space/terms.h"

#include <assert.h>
#include <math.h>

/* A jump whose landing place has not been reached: the left side of and, or, a link of a chain, a member of in. */
struct pending {
    size_t lands;
    uint32_t left;
    enum term_op op;
};

struct decoder {
    struct terms *t;
    const struct expr *e;
    uint32_t stack[EXPR_MAX_STACK + 1];
    struct pending *pending; /* at most one an instruction */
    size_t n_stack, n_pending;
};

static uint32_t of_quantity(struct terms *t, size_t i)
{
    uint32_t term;

    if (t->quantities[i])
        return t->quantities[i];
    term = terms_of_expr(t, t->space->quantities[i].expr);
    if (t->items[term].is_word)
        term = TERMS_NONE; /* a quantity is a number */
    t->quantities[i] = term;
    return term;
}

static uint32_t of_slot(struct terms *t, size_t slot)
{
    const struct space *s = t->space;

    if (slot < s->n_knobs)
        return terms_knob(t, slot);
    if (slot < s->n_knobs + s->n_constants)
        return terms_const(t, s->constant_values[slot - s->n_knobs].number);
    return of_quantity(t, slot - s->n_knobs - s->n_constants);
}

static void push(struct decoder *d, uint32_t term)
{
    assert(d->n_stack <= EXPR_MAX_STACK);
    d->stack[d->n_stack++] = term;
}

static uint32_t pop(struct decoder *d)
{
    assert(d->n_stack > 0);
    return d->stack[--d->n_stack];
}

static void wait_for(struct decoder *d, size_t lands, enum term_op op, uint32_t left)
{
    d->pending[d->n_pending++] = (struct pending){lands, left, op};
}

static enum term_op comparison_of(unsigned code)
{
    return (enum term_op)(TERM_EQ + (code - OP_EQ));
}

/* x in {..}: the members wait above each other, the last tested first in line. */
static void end_in(struct decoder *d, size_t i)
{
    uint32_t any = terms_const(d->t, 0);

    (void)pop(d); /* x; each pending member holds x == member */
    while (d->n_pending && d->pending[d->n_pending - 1].lands == i + 1 && d->pending[d->n_pending - 1].op == TERM_EQ)
        any = terms_add(d->t, TERM_OR, d->pending[--d->n_pending].left, any);
    push(d, any);
}

static void land(struct decoder *d, size_t i)
{
    while (d->n_pending && d->pending[d->n_pending - 1].lands == i && d->pending[d->n_pending - 1].op != TERM_EQ) {
        const struct pending p = d->pending[--d->n_pending];
        const uint32_t right = pop(d);

        push(d, terms_add(d->t, p.op, p.left, right));
    }
}

static void decode_branch(struct decoder *d, size_t *i)
{
    const struct instruction in = d->e->code[*i];
    const uint32_t top = pop(d);

    if (in.code == OP_CHAIN) {
        const uint32_t left = pop(d);

        wait_for(d, in.arg, TERM_AND, terms_add(d->t, comparison_of(d->e->code[*i + 1].code), left, top));
        push(d, top);
        *i += 1; /* the comparison is part of the link */
    } else if (in.code == OP_IN) {
        const uint32_t x = pop(d);

        wait_for(d, in.arg, TERM_EQ, terms_add(d->t, TERM_EQ, x, top));
        push(d, x);
    } else {
        wait_for(d, in.arg, in.code == OP_AND ? TERM_AND : TERM_OR, top);
    }
}

static void decode_plain(struct decoder *d, struct instruction in)
{
    static const uint8_t binary[] = {[OP_ADD] = TERM_ADD,
                                     [OP_SUB] = TERM_SUB,
                                     [OP_MUL] = TERM_MUL,
                                     [OP_DIV] = TERM_DIV,
                                     [OP_FLOOR_DIV] = TERM_FLOOR_DIV,
                                     [OP_MOD] = TERM_MOD,
                                     [OP_CEIL_DIV] = TERM_CEIL_DIV,
                                     [OP_MIN] = TERM_MIN,
                                     [OP_MAX] = TERM_MAX};
    struct terms *t = d->t;
    uint32_t a, b;

    if (in.code == OP_NUMBER) {
        push(d, terms_const(t, d->e->numbers[in.arg]));
    } else if (in.code == OP_WORD) {
        push(d, terms_word(t, d->e->words[in.arg]));
    } else if (in.code == OP_SLOT) {
        push(d, of_slot(t, in.arg));
    } else if (in.code >= OP_ADD) {
        b = pop(d);
        a = pop(d);
        push(d, terms_add(t, in.code <= OP_MAX ? (enum term_op)binary[in.code] : comparison_of(in.code), a, b));
    } else {
        a = pop(d);
        if (in.code == OP_PLUS)
            push(d, t->items[a].is_word ? TERMS_NONE : a);
        else
            push(d, terms_add(t, in.code == OP_NEG ? TERM_NEG : in.code == OP_NOT ? TERM_NOT : TERM_BOOL, a, a));
    }
}

uint32_t terms_of_expr(struct terms *t, const struct expr *e)
{
    struct decoder d;

    d.t = t;
    d.e = e;
    d.n_stack = d.n_pending = 0;
    d.pending = arena_take(t->arena, e->n_code * sizeof *d.pending);
    if (!d.pending) {
        t->failed = t->failed ? t->failed : t->arena->failed;
        return TERMS_NONE;
    }
    for (size_t i = 0; i < e->n_code; i++) {
        const unsigned code = e->code[i].code;

        if (code == OP_IN_END)
            end_in(&d, i);
        else if (code >= OP_CHAIN)
            decode_branch(&d, &i);
        else
            decode_plain(&d, e->code[i]);
        land(&d, i + 1);
    }
    return pop(&d);
}
