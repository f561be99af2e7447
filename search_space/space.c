/* SPDX-License-Identifier: MIT */
#include "search_space/space_private.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum err space_new(struct space **out)
{
    struct space *s = calloc(1, sizeof *s);

    if (!s)
        return ERR_NOMEM;
    *out = s;
    return ERR_OK;
}

static void knob_fini(struct knob *k)
{
    for (size_t i = 0; k->values && k->words && i < k->n; i++)
        free((char *)(uintptr_t)k->values[i].text);
    free(k->values);
    *k = (struct knob){.n = 0};
}

void space_free(struct space *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_knobs; i++)
        knob_fini(&s->knobs[i]);
    for (size_t i = 0; i < s->n_quantities; i++) {
        free(s->quantities[i].text);
        expr_free(s->quantities[i].expr);
    }
    for (size_t i = 0; i < s->n_constraints; i++) {
        free(s->constraints[i].text);
        free(s->constraints[i].needs);
        expr_free(s->constraints[i].expr);
    }
    free(s->features);
    free(s);
}

static enum err out_of_memory(struct why *why)
{
    return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

/* The slot of a name, or -1. */
static int find_slot(const struct space *s, const char *name, size_t n)
{
    for (size_t i = 0; i < s->n_knobs; i++)
        if (strncmp(s->knobs[i].name, name, n) == 0 && !s->knobs[i].name[n])
            return (int)i;
    for (size_t i = 0; i < s->n_constants; i++)
        if (strncmp(s->constants[i].name, name, n) == 0 && !s->constants[i].name[n])
            return (int)(s->n_knobs + i);
    for (size_t i = 0; i < s->n_quantities; i++)
        if (strncmp(s->quantities[i].name, name, n) == 0 && !s->quantities[i].name[n])
            return (int)(s->n_knobs + s->n_constants + i);
    return -1;
}

/* A new name into to[SPACE_NAME_BYTES], when there is room for one more of its kind. */
static enum err take_name(const struct space *s, const char *name, size_t n_now, size_t max, char *to, struct why *why)
{
    assert(!s->sealed && "a sealed space cannot grow");
    if (!expr_is_name(name))
        return why_set(why, ERR_INPUT, "'%.60s' is no name: expected a letter, then letters, digits, _ and .", name);
    if (strlen(name) >= SPACE_NAME_BYTES)
        return why_set(why, ERR_LIMIT, "name '%.60s' is longer than %d bytes", name, SPACE_NAME_BYTES - 1);
    if (find_slot(s, name, strlen(name)) >= 0)
        return why_set(why, ERR_INPUT, "name '%s' is used twice", name);
    if (n_now >= max)
        return why_set(why, ERR_LIMIT, "'%s' is one too many: a space has at most %zu of its kind", name, max);
    strcpy(to, name);
    return ERR_OK;
}

/* A named, empty knob with room for n values at the end of the list; it counts only when the caller raises n_knobs. */
static enum err begin_knob(struct space *s, const char *name, size_t n, struct knob **out, struct why *why)
{
    struct knob *k = s->n_knobs < SPACE_MAX_KNOBS ? &s->knobs[s->n_knobs] : NULL;
    char copy[SPACE_NAME_BYTES];
    enum err e = take_name(s, name, s->n_knobs, SPACE_MAX_KNOBS, copy, why);

    if (e)
        return e;
    if (n == 0)
        return why_set(why, ERR_INPUT, "knob '%s' has no values", name);
    if (n > SPACE_MAX_VALUES)
        return why_set(why, ERR_LIMIT, "knob '%s' has %zu values, more than %d", name, n, SPACE_MAX_VALUES);
    *k = (struct knob){.positive = true, .values = calloc(n, sizeof *k->values)};
    if (!k->values)
        return out_of_memory(why);
    strcpy(k->name, copy);
    *out = k;
    return ERR_OK;
}

static bool same(const struct expr_value *a, const struct expr_value *b)
{
    if (a->text && b->text)
        return strcmp(a->text, b->text) == 0;
    return !a->text && !b->text && a->number == b->number;
}

static bool has_value(const struct knob *k, const struct expr_value *v)
{
    for (size_t i = 0; i < k->n; i++)
        if (same(&k->values[i], v))
            return true;
    return false;
}

static enum err put_number(struct knob *k, double v, struct why *why)
{
    const struct expr_value value = {v == 0 ? 0 : v, NULL}; /* no -0: its text would not be its own */

    if (!isfinite(v))
        return why_set(why, ERR_INPUT, "knob '%s' has a value that is not a finite number", k->name);
    if (has_value(k, &value))
        return why_set(why, ERR_INPUT, "knob '%s' has the value %.17g twice", k->name, v);
    k->positive &= v > 0;
    k->values[k->n++] = value;
    return ERR_OK;
}

static enum err end_knob(struct space *s, struct knob *k, enum err e)
{
    if (e)
        knob_fini(k);
    else
        s->n_knobs++;
    return e;
}

enum err space_add_knob(struct space *s, const char *name, const double *values, size_t n, struct why *why)
{
    struct knob *k = NULL;
    enum err e = begin_knob(s, name, n, &k, why);

    if (e)
        return e;
    for (size_t i = 0; !e && i < n; i++)
        e = put_number(k, values[i], why);
    return end_knob(s, k, e);
}

enum err space_add_knob_ints(struct space *s, const char *name, struct why *why, size_t n, const int64_t *values)
{
    struct knob *k = NULL;
    enum err e = begin_knob(s, name, n, &k, why);

    if (e)
        return e;
    for (size_t i = 0; !e && i < n; i++) {
        if (values[i] > JSON_EXACT_MAX || values[i] < -JSON_EXACT_MAX)
            e = why_set(why, ERR_INPUT, "knob '%s' has a value beyond 2^53", name);
        else
            e = put_number(k, (double)values[i], why);
    }
    return end_knob(s, k, e);
}

static bool is_word(const char *w)
{
    size_t n = 0;

    for (; w[n]; n++)
        if (w[n] <= ' ' || w[n] > '~' || w[n] == '\'' || w[n] == '"' || w[n] == '=' || n + 1 >= SPACE_WORD_BYTES)
            return false;
    return n > 0;
}

static enum err put_word(struct knob *k, const char *word, struct why *why)
{
    struct expr_value value = {0, word};

    if (!is_word(word))
        return why_set(why, ERR_INPUT,
                       "knob '%s' has the value '%.70s': expected a word of 1 to %d bytes, no spaces, "
                       "quotes or '='",
                       k->name, word, SPACE_WORD_BYTES - 1);
    if (has_value(k, &value))
        return why_set(why, ERR_INPUT, "knob '%s' has the value '%s' twice", k->name, word);
    value.text = strdup(word);
    if (!value.text)
        return out_of_memory(why);
    k->values[k->n++] = value;
    return ERR_OK;
}

enum err space_add_knob_words(struct space *s, const char *name, const char *const *words, size_t n, struct why *why)
{
    struct knob *k = NULL;
    enum err e = begin_knob(s, name, n, &k, why);

    if (e)
        return e;
    k->words = true;
    k->positive = false;
    for (size_t i = 0; !e && i < n; i++)
        e = put_word(k, words[i], why);
    return end_knob(s, k, e);
}

enum err space_add_constant(struct space *s, const char *name, double value, struct why *why)
{
    char copy[SPACE_NAME_BYTES];
    enum err e = take_name(s, name, s->n_constants, SPACE_MAX_CONSTANTS, copy, why);

    if (e)
        return e;
    if (!isfinite(value))
        return why_set(why, ERR_INPUT, "constant '%s' is not a finite number", name);
    strcpy(s->constants[s->n_constants].name, copy);
    s->constant_values[s->n_constants++] = (struct expr_value){value, NULL};
    return ERR_OK;
}

enum err space_add_quantity(struct space *s, const char *name, const char *expression, struct why *why)
{
    struct quantity *q = s->n_quantities < SPACE_MAX_QUANTITIES ? &s->quantities[s->n_quantities] : NULL;
    char copy[SPACE_NAME_BYTES];
    enum err e = take_name(s, name, s->n_quantities, SPACE_MAX_QUANTITIES, copy, why);

    if (e)
        return e;
    q->text = strdup(expression);
    if (!q->text)
        return out_of_memory(why);
    strcpy(q->name, copy);
    s->n_quantities++;
    return ERR_OK;
}

static enum err add_constraint(struct space *s, const char *text, space_keep *keep, void *arg, struct why *why)
{
    struct constraint c = {.keep = keep, .arg = arg};

    assert(!s->sealed && "a sealed space cannot grow");
    if (s->n_constraints >= SPACE_MAX_CONSTRAINTS)
        return why_set(why, ERR_LIMIT, "more than %d constraints", SPACE_MAX_CONSTRAINTS);
    c.text = strdup(text);
    if (!c.text)
        return out_of_memory(why);
    s->constraints[s->n_constraints++] = c;
    return ERR_OK;
}

enum err space_add_constraint(struct space *s, const char *expression, struct why *why)
{
    return add_constraint(s, expression, NULL, NULL, why);
}

enum err space_add_filter(struct space *s, space_keep *keep, void *arg, const char *text, struct why *why)
{
    return add_constraint(s, text, keep, arg, why);
}

/* Names an expression may use: knobs, constants and the first n_quantities quantities. */
struct scope {
    const struct space *s;
    size_t n_quantities;
};

static int resolve(const char *name, size_t n, void *arg)
{
    const struct scope *scope = arg;
    const int slot = n < SPACE_NAME_BYTES ? find_slot(scope->s, name, n) : -1;

    return slot < (int)(scope->s->n_knobs + scope->s->n_constants + scope->n_quantities) ? slot : -1;
}

static enum err compile_quantities(struct space *s, struct why *why)
{
    for (size_t i = 0; i < s->n_quantities; i++) {
        struct scope scope = {s, i};
        struct quantity *q = &s->quantities[i];
        enum err e = expr_compile(q->text, resolve, &scope, &q->expr, why);

        if (e)
            return why_prefix(why, e, "quantity %s", q->name);
    }
    return ERR_OK;
}

/* Marks in done[] the quantities that `e` needs and appends the new ones, each after those it needs itself. */
static void collect_needs(const struct space *s, const struct expr *e, bool *done, struct constraint *c)
{
    for (size_t i = 0; i < s->n_quantities; i++) {
        if (done[i] || !expr_uses(e, s->n_knobs + s->n_constants + i))
            continue;
        done[i] = true;
        collect_needs(s, s->quantities[i].expr, done, c);
        c->needs[c->n_needs++] = (uint16_t)i;
    }
}

static enum err compile_constraints(struct space *s, struct why *why)
{
    bool done[SPACE_MAX_QUANTITIES] = {false};
    struct scope scope = {s, s->n_quantities};

    for (size_t i = 0; i < s->n_constraints; i++) {
        struct constraint *c = &s->constraints[i];
        enum err e;

        if (c->keep)
            continue;
        e = expr_compile(c->text, resolve, &scope, &c->expr, why);
        if (e)
            return why_prefix(why, e, "constraint %zu", i + 1);
        c->needs = calloc(s->n_quantities + 1, sizeof *c->needs);
        if (!c->needs)
            return out_of_memory(why);
        collect_needs(s, c->expr, done, c);
    }
    return ERR_OK;
}

enum err space_seal(struct space *s, struct why *why)
{
    uint64_t size = 1;
    enum err e;

    assert(!s->sealed && "a space is sealed once");
    if (s->n_knobs == 0)
        return why_set(why, ERR_INPUT, "a space without knobs");
    for (size_t i = 0; i < s->n_knobs; i++) {
        if (size > ((uint64_t)1 << 63) / s->knobs[i].n)
            return why_set(why, ERR_LIMIT, "the product of all knobs passes 2^63 at knob '%s'", s->knobs[i].name);
        size *= s->knobs[i].n;
    }
    e = compile_quantities(s, why);
    if (!e)
        e = compile_constraints(s, why);
    if (!e && space_list_features(s) != ERR_OK)
        e = out_of_memory(why);
    if (e)
        return e;
    s->size = size;
    s->sealed = true;
    return ERR_OK;
}

size_t space_n_knobs(const struct space *s)
{
    return s->n_knobs;
}

const char *space_knob_name(const struct space *s, size_t i_knob)
{
    assert(i_knob < s->n_knobs);
    return s->knobs[i_knob].name;
}

size_t space_n_values(const struct space *s, size_t i_knob)
{
    assert(i_knob < s->n_knobs);
    return s->knobs[i_knob].n;
}

struct value space_knob_value(const struct space *s, size_t i_knob, size_t i_value)
{
    assert(i_knob < s->n_knobs && i_value < s->knobs[i_knob].n);
    return (struct value){s->knobs[i_knob].values[i_value].number, s->knobs[i_knob].values[i_value].text};
}

int space_find_knob(const struct space *s, const char *name)
{
    const int slot = find_slot(s, name, strlen(name));

    return slot < (int)s->n_knobs ? slot : -1;
}

size_t space_n_constraints(const struct space *s)
{
    return s->n_constraints;
}

const char *space_constraint_text(const struct space *s, size_t i)
{
    assert(i < s->n_constraints);
    return s->constraints[i].text;
}

uint64_t space_size(const struct space *s)
{
    return s->size;
}

struct value space_value(const struct space *s, const struct config *c, size_t i_knob)
{
    return space_knob_value(s, i_knob, c->choice[i_knob]);
}

void space_fill_slots(const struct space *s, const struct config *c, struct expr_value *slots)
{
    for (size_t i = 0; i < s->n_knobs; i++)
        slots[i] = s->knobs[i].values[c->choice[i]];
    memcpy(slots + s->n_knobs, s->constant_values, s->n_constants * sizeof *slots);
}

void space_fill_quantity(const struct space *s, size_t i, struct expr_value *slots)
{
    struct expr_value v = {NAN, NULL};

    (void)expr_eval(s->quantities[i].expr, slots, &v.number);
    slots[s->n_knobs + s->n_constants + i] = v;
}

enum err space_eval(const struct space *s, const struct config *c, const char *name, double *out)
{
    struct expr_value slots[SPACE_MAX_SLOTS];
    const int slot = find_slot(s, name, strlen(name));
    const size_t first = s->n_knobs + s->n_constants;

    assert(s->sealed);
    if (slot < 0)
        return ERR_NOT_FOUND;
    space_fill_slots(s, c, slots);
    for (size_t i = 0; first + i <= (size_t)slot; i++)
        space_fill_quantity(s, i, slots);
    if (slots[slot].text || isnan(slots[slot].number))
        return ERR_INPUT;
    *out = slots[slot].number;
    return ERR_OK;
}

int64_t space_int(const struct space *s, const struct config *c, const char *name)
{
    double v = NAN;
    const enum err e = space_eval(s, c, name, &v);

    assert(!e && v == floor(v) && "an integer knob or quantity of this space");
    return e ? 0 : (int64_t)v;
}

bool space_config_in_range(const struct space *s, const struct config *c)
{
    for (size_t i = 0; i < s->n_knobs; i++)
        if (c->choice[i] >= s->knobs[i].n)
            return false;
    return true;
}

static bool holds(const struct space *s, const struct config *c, const struct constraint *k, struct expr_value *slots)
{
    double v;

    if (k->keep)
        return k->keep(s, c, k->arg);
    for (size_t i = 0; i < k->n_needs; i++)
        space_fill_quantity(s, k->needs[i], slots);
    return expr_eval(k->expr, slots, &v) == ERR_OK && v != 0;
}

bool space_is_valid(const struct space *s, const struct config *c, const char **violated)
{
    struct expr_value slots[SPACE_MAX_SLOTS];

    assert(s->sealed && space_config_in_range(s, c));
    space_fill_slots(s, c, slots);
    for (size_t i = 0; i < s->n_constraints; i++) {
        if (holds(s, c, &s->constraints[i], slots))
            continue;
        if (violated)
            *violated = s->constraints[i].text;
        return false;
    }
    return true;
}

bool space_config_equal(const struct space *s, const struct config *a, const struct config *b)
{
    return memcmp(a->choice, b->choice, s->n_knobs * sizeof a->choice[0]) == 0;
}
