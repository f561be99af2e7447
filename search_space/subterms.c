/* SPDX-License-Identifier: MIT */
#include "search_space/subterms.h"

#include "core/err.h"
#include "search_space/arena.h"
#include "search_space/terms.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define ARENA_BYTES ((size_t)64 << 20)

struct column {
    uint32_t term;
    bool is_waste; /* of the term, a ceil_div */
};

struct subterms {
    const struct space *space;
    struct arena arena;
    struct domain domains[SPACE_MAX_KNOBS];
    struct terms terms;
    struct column columns[SUBTERMS_MAX];
    size_t n;
};

static enum err fill_domains(struct subterms *t)
{
    const struct space *s = t->space;

    for (size_t i = 0; i < s->n_knobs; i++) {
        struct domain *d = &t->domains[i];

        *d = (struct domain){.n = s->knobs[i].n, .is_word = s->knobs[i].words, .is_integer = true};
        d->choices = arena_take(&t->arena, d->n * sizeof *d->choices);
        d->values = arena_take(&t->arena, d->n * sizeof *d->values);
        if (!d->choices || !d->values)
            return t->arena.failed;
    }
    terms_init(&t->terms, &t->arena, s, t->domains);
    for (size_t i = 0; i < s->n_knobs; i++)
        for (size_t v = 0; v < s->knobs[i].n; v++) {
            const struct expr_value *value = &s->knobs[i].values[v];
            struct domain *d = &t->domains[i];

            d->choices[v] = (uint16_t)v;
            d->values[v] = d->is_word ? t->terms.items[terms_word(&t->terms, value->text)].value : value->number;
            d->is_integer = d->is_integer && d->values[v] == trunc(d->values[v]) && fabs(d->values[v]) < 0x1p53;
        }
    return t->terms.failed;
}

static void add_column(struct subterms *t, size_t i, bool is_waste)
{
    if (t->n < SUBTERMS_MAX)
        t->columns[t->n++] = (struct column){(uint32_t)i, is_waste};
}

static enum err decode(struct subterms *t)
{
    const struct space *s = t->space;

    for (size_t i = 0; i < s->n_constraints; i++)
        if (s->constraints[i].expr)
            (void)terms_of_expr(&t->terms, s->constraints[i].expr);
    for (size_t i = 0; i < s->n_quantities; i++)
        (void)terms_of_expr(&t->terms, s->quantities[i].expr);
    for (size_t i = 1; i < t->terms.n; i++) {
        const struct term *x = &t->terms.items[i];

        if (x->knobs == 0 || x->op < TERM_ADD || x->op > TERM_MAX)
            continue;
        add_column(t, i, false);
        if (x->op == TERM_CEIL_DIV)
            add_column(t, i, true);
    }
    return t->terms.failed;
}

enum err subterms_new(struct subterms **out, const struct space *s)
{
    struct subterms *t = calloc(1, sizeof *t);
    enum err e;

    if (!t)
        return ERR_NOMEM;
    t->space = s;
    arena_init(&t->arena, 1 << 16, ARENA_BYTES);
    e = fill_domains(t);
    if (e == ERR_OK)
        e = decode(t);
    if (e)
        subterms_free(t);
    else
        *out = t;
    return e;
}

void subterms_free(struct subterms *t)
{
    if (!t)
        return;
    arena_fini(&t->arena);
    free(t);
}

size_t subterms_n(const struct subterms *t)
{
    return t->n;
}

static double knob_value(const struct subterms *t, size_t i_knob, double value)
{
    const struct domain *d = &t->domains[i_knob];

    if (!d->is_word)
        return value;
    return value >= 0 && value < (double)d->n ? d->values[(size_t)value] : (double)NAN;
}

static void evaluate(const struct subterms *t, const double *values, double *at)
{
    at[TERMS_NONE] = NAN;
    for (size_t i = 1; i < t->terms.n; i++) {
        const struct term *x = &t->terms.items[i];

        if (x->op == TERM_CONST)
            at[i] = x->value;
        else if (x->op == TERM_KNOB)
            at[i] = knob_value(t, x->a, values[x->a]);
        else
            term_apply((enum term_op)x->op, &at[x->a], &at[x->b], &at[i], 1);
    }
}

enum err subterms_of(const struct subterms *t, const double *values, float *row)
{
    double *at = malloc((t->terms.n + 1) * sizeof *at);

    if (!at)
        return ERR_NOMEM;
    evaluate(t, values, at);
    for (size_t i = 0; i < t->n; i++) {
        const struct term *x = &t->terms.items[t->columns[i].term];
        const double v = at[t->columns[i].term];

        assert(t->columns[i].term < t->terms.n);
        row[i] = (float)(t->columns[i].is_waste ? v * at[x->b] / at[x->a] : v);
    }
    free(at);
    return ERR_OK;
}
