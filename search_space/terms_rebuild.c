/* SPDX-License-Identifier: MIT */
#include "search_space/terms.h"

#include <math.h>
#include <stdlib.h>

#define MAX_CHAIN 256

/* An operand of a chain; `minus`: of a sum, subtracted. */
struct operand {
    uint32_t term;
    bool minus;
    uint8_t ready; /* the place behind the last of its knobs; 0 = constant */
};

/* Products or sums of integers whose every partial result is exact, in whatever order. */
struct chain {
    struct operand items[MAX_CHAIN];
    size_t n;
    bool is_product;
};

struct rebuild {
    struct terms *to;
    const struct terms *from;
    const uint8_t *place;
    bool *needed;
    uint32_t *map;
    struct chain chain;
};

static uint8_t ready_after(const struct rebuild *r, uint64_t knobs)
{
    uint8_t ready = 0;

    for (; knobs; knobs &= knobs - 1) {
        const uint8_t place = r->place[__builtin_ctzll(knobs)];

        if (place >= ready)
            ready = (uint8_t)(place + 1);
    }
    return ready;
}

static bool joins(const struct terms *t, uint32_t i, bool is_product)
{
    const struct term *x = &t->items[i];
    const bool is_op = is_product ? x->op == TERM_MUL : x->op == TERM_ADD || x->op == TERM_SUB || x->op == TERM_NEG;

    return is_op && x->is_integer && t->items[x->a].is_integer && t->items[x->b].is_integer;
}

static bool put_operand(struct rebuild *r, uint32_t i, bool minus)
{
    if (r->chain.n >= MAX_CHAIN)
        return false;
    r->chain.items[r->chain.n++] = (struct operand){i, minus, ready_after(r, r->from->items[i].knobs)};
    return true;
}

/* Takes the chain apart, innermost operands first written over in place. False: too long. */
static bool spread(struct rebuild *r)
{
    for (size_t i = 0; i < r->chain.n;) {
        const struct operand o = r->chain.items[i];
        const struct term *x = &r->from->items[o.term];

        if (!joins(r->from, o.term, r->chain.is_product)) {
            i++;
            continue;
        }
        r->chain.items[i] = (struct operand){x->a, o.minus != (x->op == TERM_NEG), 0};
        r->chain.items[i].ready = ready_after(r, r->from->items[x->a].knobs);
        if (x->op != TERM_NEG && !put_operand(r, x->b, o.minus != (x->op == TERM_SUB)))
            return false;
    }
    return true;
}

static bool every_part_is_exact(const struct rebuild *r)
{
    double bound = r->chain.is_product;

    for (size_t i = 0; i < r->chain.n; i++) {
        const struct range in = r->from->items[r->chain.items[i].term].in;
        const double most = fmax(fabs(in.lo), fabs(in.hi));

        bound = r->chain.is_product ? bound * fmax(most, 1) : bound + most;
    }
    return bound < 0x1p53;
}

/* Loads the chain that term i ends; false when it is none. */
static bool load_chain(struct rebuild *r, uint32_t i)
{
    r->chain.is_product = r->from->items[i].op == TERM_MUL;
    if (!joins(r->from, i, r->chain.is_product))
        return false;
    r->chain.n = 0;
    return put_operand(r, i, false) && spread(r) && every_part_is_exact(r);
}

static void mark(struct rebuild *r, uint32_t i)
{
    const struct term *x = &r->from->items[i];

    if (load_chain(r, i)) {
        for (size_t k = 0; k < r->chain.n; k++)
            r->needed[r->chain.items[k].term] = true;
    } else if (x->op > TERM_KNOB) {
        r->needed[x->a] = r->needed[x->b] = true;
    }
}

static int by_ready(const void *a, const void *b)
{
    const struct operand *x = a, *y = b;

    if (x->ready != y->ready)
        return x->ready < y->ready ? -1 : 1;
    return x->term < y->term ? -1 : x->term > y->term;
}

static uint32_t join_chain(struct rebuild *r)
{
    const struct operand *o = r->chain.items;
    uint32_t sum;

    qsort(r->chain.items, r->chain.n, sizeof r->chain.items[0], by_ready);
    sum = r->map[o[0].term];
    if (o[0].minus)
        sum = terms_add(r->to, TERM_NEG, sum, sum);
    for (size_t i = 1; i < r->chain.n; i++)
        sum = terms_add(r->to,
                        r->chain.is_product ? TERM_MUL
                        : o[i].minus        ? TERM_SUB
                                            : TERM_ADD,
                        sum, r->map[o[i].term]);
    return sum;
}

static uint32_t copy_const(struct rebuild *r, const struct term *x)
{
    if (x->is_word)
        return terms_word(r->to, r->from->words[(size_t)x->value]);
    return terms_const(r->to, x->value);
}

static uint32_t copy(struct rebuild *r, uint32_t i)
{
    const struct term *x = &r->from->items[i];

    if (x->op == TERM_CONST)
        return copy_const(r, x);
    if (x->op == TERM_KNOB)
        return terms_knob(r->to, x->a);
    if (load_chain(r, i))
        return join_chain(r);
    return terms_add(r->to, (enum term_op)x->op, r->map[x->a], r->map[x->b]);
}

void terms_rebuild(struct terms *to, const struct terms *from, const uint8_t *place, uint32_t *roots, size_t n)
{
    struct rebuild r;

    r.to = to;
    r.from = from;
    r.place = place;
    r.needed = arena_zero(to->arena, from->n * sizeof *r.needed);
    r.map = arena_zero(to->arena, from->n * sizeof *r.map);
    for (size_t i = 0; i < from->n_words; i++)
        (void)terms_word(to, from->words[i]); /* words keep their numbers: the domains hold them */
    if (r.needed && r.map) {
        for (size_t i = 0; i < n; i++)
            r.needed[roots[i]] = true;
        for (size_t i = from->n; i-- > 1;)
            if (r.needed[i])
                mark(&r, (uint32_t)i);
        for (size_t i = 1; i < from->n; i++)
            if (r.needed[i])
                r.map[i] = copy(&r, (uint32_t)i);
        for (size_t i = 0; i < n; i++)
            roots[i] = r.map[roots[i]];
    } else if (!to->failed) {
        to->failed = to->arena->failed;
    }
}
