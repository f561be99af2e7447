/* SPDX-License-Identifier: MIT */
#include "search_space/bounds.h"

#include "core/err.h"
#include "search_space/arena.h"
#include "search_space/terms.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define MAX_BOUNDS 16
#define MAX_SIZES 32
#define FIRST_CHUNK 16384
#define MAX_BYTES ((size_t)64 << 20)

struct bounds {
    const struct space *space;
    struct arena arena;
    struct terms terms;
    struct domain domains[SPACE_MAX_KNOBS];
    uint32_t found[MAX_BOUNDS];
    uint32_t sizes[MAX_SIZES];
    size_t n, n_sizes;
    double least, most;
};

/* Full domains: all values of each knob. */
static enum err make_domain(struct bounds *b, struct domain *d, const struct knob *k)
{
    struct terms *t = &b->terms;

    *d = (struct domain){.n = k->n, .is_word = k->words, .is_integer = true};
    d->choices = arena_take(&b->arena, k->n * sizeof *d->choices);
    d->values = arena_take(&b->arena, k->n * sizeof *d->values);
    if (!d->choices || !d->values)
        return b->arena.failed;
    for (size_t v = 0; v < k->n; v++) {
        const uint32_t word = k->words ? terms_word(t, k->values[v].text) : 0;

        d->choices[v] = (uint16_t)v;
        d->values[v] = k->words ? t->items[word].value : k->values[v].number;
        d->is_integer &= d->values[v] == trunc(d->values[v]) && fabs(d->values[v]) < 0x1p53;
    }
    return t->failed;
}

static bool is_product(const struct terms *t, uint32_t i)
{
    const struct term *x = &t->items[i];

    switch (x->op) {
    case TERM_CONST:
        return !x->is_word;
    case TERM_KNOB:
        return !x->is_word;
    case TERM_MUL:
    case TERM_DIV:
    case TERM_FLOOR_DIV:
    case TERM_CEIL_DIV:
        return is_product(t, x->a) && is_product(t, x->b);
    default:
        return false;
    }
}

static void note(struct bounds *b, uint32_t product, uint32_t limit)
{
    const struct term *x = &b->terms.items[limit];

    if (x->op != TERM_CONST || x->is_word || !(x->value >= b->least && x->value <= b->most))
        return;
    if (b->terms.items[product].knobs == 0 || !is_product(&b->terms, product))
        return;
    for (size_t i = 0; i < b->n; i++)
        if (b->found[i] == product)
            return;
    if (b->n < MAX_BOUNDS)
        b->found[b->n++] = product;
}

/* Looks at a constraint and what it joins with `and`. */
static void look(struct bounds *b, uint32_t root)
{
    const struct term x = b->terms.items[root];

    switch (x.op) {
    case TERM_AND:
        look(b, x.a);
        look(b, x.b);
        break;
    case TERM_BOOL:
        look(b, x.a);
        break;
    case TERM_LT:
    case TERM_LE:
        note(b, x.a, x.b);
        break;
    case TERM_GT:
    case TERM_GE:
        note(b, x.b, x.a);
        break;
    default:
        break;
    }
}

static void note_size(struct bounds *b, uint32_t size)
{
    const struct term *x = &b->terms.items[size];
    const bool is_several = (x->knobs & (x->knobs - 1)) != 0;

    if (!is_several || !(x->in.lo > 0) || !(x->in.hi > x->in.lo) || x->in.error || b->n_sizes == MAX_SIZES)
        return;
    for (size_t i = 0; i < b->n_sizes; i++)
        if (b->sizes[i] == size)
            return;
    b->sizes[b->n_sizes++] = size;
}

/* Notes the sizes of all divisions that a term asks about: the divisor and the quotient. */
static void look_for_sizes(struct bounds *b, uint32_t i)
{
    const struct term x = b->terms.items[i];

    if (x.op == TERM_CONST || x.op == TERM_KNOB)
        return;
    if (x.op == TERM_MOD && is_product(&b->terms, x.a) && is_product(&b->terms, x.b)) {
        note_size(b, x.b);
        if (b->terms.items[x.b].op == TERM_DIV || b->terms.items[x.b].op == TERM_FLOOR_DIV)
            note_size(b, b->terms.items[x.b].a);
        note_size(b, terms_add(&b->terms, TERM_DIV, x.a, x.b));
    }
    look_for_sizes(b, x.a);
    look_for_sizes(b, x.b);
}

enum err bounds_new(struct bounds **out, const struct space *s, double least, double most)
{
    struct bounds *b = calloc(1, sizeof *b);
    enum err e = ERR_OK;

    if (!b)
        return ERR_NOMEM;
    *b = (struct bounds){.space = s, .least = least, .most = most};
    arena_init(&b->arena, FIRST_CHUNK, MAX_BYTES);
    terms_init(&b->terms, &b->arena, s, b->domains);
    for (size_t i = 0; i < s->n_knobs && !e; i++)
        e = make_domain(b, &b->domains[i], &s->knobs[i]);
    for (size_t i = 0; i < s->n_constraints && !e; i++) {
        if (!s->constraints[i].keep) {
            const uint32_t root = terms_of_expr(&b->terms, s->constraints[i].expr);

            look(b, root);
            look_for_sizes(b, root);
        }
        e = b->terms.failed;
    }
    if (e)
        bounds_free(b);
    else
        *out = b;
    return e;
}

void bounds_free(struct bounds *b)
{
    if (!b)
        return;
    arena_fini(&b->arena);
    free(b);
}

size_t bounds_n(const struct bounds *b)
{
    return b->n;
}

static double value_of(const struct bounds *b, uint32_t i, const struct config *c)
{
    const struct term *x = &b->terms.items[i];
    double left, right, value = NAN;

    if (x->op == TERM_CONST)
        return x->value;
    if (x->op == TERM_KNOB)
        return space_value(b->space, c, x->a).number;
    left = value_of(b, x->a, c);
    right = value_of(b, x->b, c);
    term_apply((enum term_op)x->op, &left, &right, &value, 1);
    return value;
}

double bounds_value(const struct bounds *b, size_t i, const struct config *c)
{
    return i < b->n ? value_of(b, b->found[i], c) : NAN;
}

size_t bounds_n_sizes(const struct bounds *b)
{
    return b->n_sizes;
}

double bounds_size(const struct bounds *b, size_t i, const struct config *c)
{
    const struct range in = b->terms.items[b->sizes[i]].in;

    assert(i < b->n_sizes && in.lo > 0 && in.hi > in.lo);
    return log2(value_of(b, b->sizes[i], c) / in.lo) / log2(in.hi / in.lo);
}
