/* SPDX-License-Identifier: MIT */
#include "search_space/terms.h"

#include "core/err.h"
#include "core/mix.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static uint32_t fail(struct terms *t, enum err e)
{
    if (!t->failed)
        t->failed = e;
    return TERMS_NONE;
}

static size_t hash_of(const struct term *x)
{
    return mix_end(mix_word(mix_word(mix_word(x->op, x->a), x->b), mix_bits(x->value)));
}

static bool is_same(const struct term *x, const struct term *y)
{
    return x->op == y->op && x->a == y->a && x->b == y->b && mix_bits(x->value) == mix_bits(y->value) &&
           x->is_word == y->is_word;
}

/* The number of a term equal to x, which is new if need be. */
static uint32_t put(struct terms *t, const struct term *x)
{
    const size_t hash = hash_of(x);
    const struct map_slot *s;

    if (t->failed)
        return TERMS_NONE;
    for (size_t at = 0; (s = map_next(&t->by_value, hash, &at));)
        if (is_same(&t->items[s->item], x))
            return s->item;
    if (t->n >= TERMS_MAX)
        return fail(t, ERR_LIMIT);
    if (ARENA_ROOM(t->arena, t->items, t->cap, t->n + 1) || arena_map_room(t->arena, &t->by_value, t->n))
        return fail(t, t->arena->failed);
    map_add(&t->by_value, hash, t->n);
    t->items[t->n] = *x;
    return (uint32_t)t->n++;
}

void terms_init(struct terms *t, struct arena *arena, const struct space *s, struct domain *domains)
{
    *t = (struct terms){.space = s, .arena = arena, .domains = domains};
    if (ARENA_ROOM(arena, t->items, t->cap, 64)) {
        fail(t, arena->failed);
        return;
    }
    t->items[TERMS_NONE] = (struct term){.op = TERM_CONST, .value = NAN, .in = {0, 0, true}};
    t->n = 1;
}

static bool is_small_integer(double v)
{
    return v == trunc(v) && fabs(v) < 0x1p53;
}

static uint32_t put_const(struct terms *t, double v, bool is_word)
{
    const double value = v == 0 ? 0 : v; /* -0 is 0 */

    return put(t, &(struct term){.op = TERM_CONST,
                                 .value = value,
                                 .is_word = is_word,
                                 .is_integer = is_small_integer(v),
                                 .in = {value, value, false}});
}

uint32_t terms_const(struct terms *t, double v)
{
    return isnan(v) ? TERMS_NONE : put_const(t, v, false);
}

uint32_t terms_word(struct terms *t, const char *word)
{
    for (size_t i = 0; i < t->n_words; i++)
        if (strcmp(t->words[i], word) == 0)
            return put_const(t, (double)i, true);
    if (ARENA_ROOM(t->arena, t->words, t->cap_words, t->n_words + 1))
        return fail(t, t->arena->failed);
    t->words[t->n_words++] = word;
    return put_const(t, (double)(t->n_words - 1), true);
}

static struct range hull(const struct domain *d)
{
    struct range r = {d->values[0], d->values[0], false};

    for (size_t i = 1; i < d->n; i++) {
        r.lo = fmin(r.lo, d->values[i]);
        r.hi = fmax(r.hi, d->values[i]);
    }
    return r;
}

uint32_t terms_knob(struct terms *t, size_t i_knob)
{
    const struct domain *d = &t->domains[i_knob];

    assert(d->n > 0);
    if (d->n == 1)
        return put_const(t, d->values[0], d->is_word);
    return put(t, &(struct term){.op = TERM_KNOB,
                                 .a = (uint32_t)i_knob,
                                 .is_word = d->is_word,
                                 .is_integer = d->is_integer,
                                 .knobs = (uint64_t)1 << i_knob,
                                 .in = hull(d)});
}

static bool is_unary(enum term_op op)
{
    return op == TERM_NEG || op == TERM_NOT || op == TERM_BOOL;
}

static bool is_arithmetic(enum term_op op)
{
    return op == TERM_NEG || (op >= TERM_ADD && op <= TERM_MAX);
}

static bool is_exact(const struct terms *t, uint32_t a, uint32_t b)
{
    const struct term *x = &t->items[a], *y = &t->items[b];

    return x->is_integer && y->is_integer;
}

/* Of a result: an integer that no rounding has touched. */
static bool gives_integer(const struct terms *t, enum term_op op, uint32_t a, uint32_t b, struct range in)
{
    if (!is_arithmetic(op))
        return true;
    return op != TERM_DIV && t->items[a].is_integer && (is_unary(op) || t->items[b].is_integer) &&
           fmax(fabs(in.lo), fabs(in.hi)) < 0x1p53;
}

/* Words are compared with words by number, never equal a number, and are no operands of anything else. */
static bool is_misused_word(const struct terms *t, enum term_op op, uint32_t a, uint32_t b)
{
    if (op == TERM_EQ || op == TERM_NE)
        return false;
    return t->items[a].is_word || (!is_unary(op) && t->items[b].is_word);
}

static uint32_t fold(struct terms *t, enum term_op op, double a, double b)
{
    double v;

    term_apply(op, &a, &b, &v, 1);
    return terms_const(t, v);
}

uint32_t terms_add(struct terms *t, enum term_op op, uint32_t a, uint32_t b)
{
    const bool joins = op == TERM_AND || op == TERM_OR;
    struct term x = {.op = (uint8_t)op, .a = a, .b = b};

    if (t->failed)
        return TERMS_NONE;
    if (joins && t->items[b].is_word)
        b = x.b = TERMS_NONE;
    if (is_unary(op))
        b = x.b = a;
    if (op == TERM_BOOL && t->items[a].op >= TERM_EQ)
        return a; /* 0 or 1 already */
    if (a == TERMS_NONE || (b == TERMS_NONE && !joins) || is_misused_word(t, op, a, b))
        return TERMS_NONE;
    if (t->items[a].is_word != t->items[b].is_word &&
        !joins) { /* a comparison: never equal, but both must have values */
        const uint32_t number = t->items[a].is_word ? b : a;

        return terms_add(t, op, number, terms_const(t, INFINITY));
    }
    if (t->items[a].op == TERM_CONST && t->items[b].op == TERM_CONST)
        return fold(t, op, t->items[a].value, t->items[b].value);
    x.in = range_of(op, t->items[a].in, t->items[b].in, is_exact(t, a, b));
    if (!x.in.error && x.in.lo == x.in.hi)
        return terms_const(t, x.in.lo);
    x.knobs = t->items[a].knobs | t->items[b].knobs;
    x.is_integer = gives_integer(t, op, a, b, x.in);
    return put(t, &x);
}
