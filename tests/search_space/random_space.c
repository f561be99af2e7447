/* SPDX-License-Identifier: MIT */
#include "random_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 4000

struct writer {
    struct rng *rng;
    size_t n_knobs, n_quantities;
    bool has_words;
    struct buf text;
};

static const char *const words[] = {"hwc", "chw", "vec", "none"};

static bool one_in(struct writer *w, uint64_t n)
{
    return rng_below(w->rng, n) == 0;
}

static void put_number(struct writer *w)
{
    static const char *const numbers[] = {"0", "1", "2", "3", "4", "8", "16", "0.5", "-1", "64", "1e300"};

    buf_puts(&w->text, numbers[rng_below(w->rng, sizeof numbers / sizeof numbers[0])]);
}

static void put_name(struct writer *w)
{
    const uint64_t i = rng_below(w->rng, w->n_knobs + 2);

    if (i < w->n_knobs)
        buf_printf(&w->text, "k%llu", (unsigned long long)i);
    else if (i == w->n_knobs || w->n_quantities == 0)
        buf_puts(&w->text, "limit");
    else
        buf_printf(&w->text, "q%llu", (unsigned long long)rng_below(w->rng, w->n_quantities));
}

static void put_sum(struct writer *w, int depth)
{
    static const char *const signs[] = {" + ", " - ", " * ", " * ", " / ", " // ", " % "};
    static const char *const calls[] = {"min(", "max(", "ceil_div("};
    const uint64_t kind = depth > 0 ? rng_below(w->rng, 12) : 11;

    if (kind < 7) {
        buf_puts(&w->text, "(");
        put_sum(w, depth - 1);
        buf_puts(&w->text, signs[rng_below(w->rng, 7)]);
        put_sum(w, depth - 1);
        buf_puts(&w->text, ")");
    } else if (kind == 7) {
        buf_puts(&w->text, calls[rng_below(w->rng, 3)]);
        put_sum(w, depth - 1);
        buf_puts(&w->text, ", ");
        put_sum(w, depth - 1);
        buf_puts(&w->text, ")");
    } else if (kind == 8) {
        buf_puts(&w->text, one_in(w, 2) ? "-" : "+");
        put_name(w);
    } else if (one_in(w, 3)) {
        put_number(w);
    } else {
        put_name(w);
    }
}

static void put_members(struct writer *w)
{
    const uint64_t n = 1 + rng_below(w->rng, 3);

    buf_puts(&w->text, one_in(w, 3) ? " not in {" : " in {");
    for (uint64_t i = 0; i < n; i++) {
        buf_puts(&w->text, i ? ", " : "");
        put_sum(w, 1);
    }
    buf_puts(&w->text, "}");
}

static void put_comparison(struct writer *w)
{
    static const char *const signs[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};

    if (w->has_words && one_in(w, 6)) {
        buf_printf(&w->text, one_in(w, 3) ? "k0 in {'%s', '%s'}" : "k0 == '%s' or k0 != '%s'",
                   words[rng_below(w->rng, 4)], words[rng_below(w->rng, 4)]);
        return;
    }
    put_sum(w, 2);
    if (one_in(w, 6)) {
        put_members(w);
        return;
    }
    buf_puts(&w->text, signs[rng_below(w->rng, 6)]);
    put_sum(w, 2);
    if (one_in(w, 4)) {
        buf_puts(&w->text, signs[rng_below(w->rng, 6)]);
        put_sum(w, 1);
        if (one_in(w, 3))
            put_members(w);
    }
}

static void put_condition(struct writer *w, int depth)
{
    const uint64_t kind = depth > 0 ? rng_below(w->rng, 5) : 4;

    if (kind < 3) {
        buf_puts(&w->text, "(");
        put_condition(w, depth - 1);
        buf_puts(&w->text, kind == 0 ? " and " : " or ");
        put_condition(w, depth - 1);
        buf_puts(&w->text, ")");
    } else if (kind == 3) {
        buf_puts(&w->text, "not (");
        put_condition(w, depth - 1);
        buf_puts(&w->text, ")");
    } else if (one_in(w, 12)) {
        put_sum(w, 1); /* a number as a condition */
    } else {
        buf_puts(&w->text, "(");
        put_comparison(w);
        buf_puts(&w->text, ")");
    }
}

/* What kernels ask for: products below a limit, one divides another, a switch that frees from a rule. */
static void put_usual(struct writer *w)
{
    const unsigned long long a = rng_below(w->rng, w->n_knobs), b = rng_below(w->rng, w->n_knobs);
    const unsigned long long limit = 1 + rng_below(w->rng, 40);

    switch (rng_below(w->rng, 6)) {
    case 0:
        buf_printf(&w->text, "k%llu * k%llu <= %llu", a, b, limit);
        break;
    case 1:
        buf_printf(&w->text, "k%llu %% k%llu == 0 or limit > %llu", a, b, limit);
        break;
    case 2:
        buf_printf(&w->text, "%llu <= k%llu * k%llu", limit, a, b);
        break;
    case 3:
        buf_printf(&w->text, "k%llu + k%llu < %llu and k1 != 3", a, b, limit);
        break;
    case 4:
        buf_printf(&w->text, "k%llu > 1 or k%llu == k1 - %llu", a, b, limit % 4);
        break;
    default:
        buf_printf(&w->text, "k%llu // (k%llu - 1) < %llu", a, b, limit % 4);
    }
}

/* Values as tuning knows them: counted, powers of two, or a mixed bag. */
static double value_of(struct rng *rng, uint64_t kind, size_t i)
{
    static const double bag[] = {0, -3, 0.5, 7, 1e200, -1, 2.25, 12};

    if (kind == 0)
        return (double)(1u << i);
    if (kind == 1)
        return (double)(i + 1);
    if (kind == 2)
        return (double)i * 16 + (double)rng_below(rng, 8);
    return bag[i % 8];
}

static void add_knob(struct space *s, struct writer *w, size_t i, size_t max_values)
{
    const size_t n = 1 + (size_t)rng_below(w->rng, max_values - 1) + !one_in(w, 6);
    const uint64_t kind = rng_below(w->rng, 8);
    double values[16];
    char name[24];

    snprintf(name, sizeof name, "k%zu", i);
    for (size_t v = 0; v < n; v++)
        values[v] = value_of(w->rng, kind > 3 ? kind % 3 : kind, v);
    if (i == 0 && w->has_words ? space_add_knob_words(s, name, words, n < 4 ? n : 4, NULL)
                               : space_add_knob(s, name, values, n < 8 ? n : 8, NULL))
        abort();
}

static void add_constraint(struct space *s, struct writer *w)
{
    buf_clear(&w->text);
    if (one_in(w, 2))
        put_usual(w);
    else
        put_condition(w, (int)rng_below(w->rng, 4));
    if (w->text.failed || w->text.len > MAX_TEXT || space_add_constraint(s, buf_text(&w->text), NULL))
        abort();
}

struct space *random_space(struct rng *rng, size_t n_knobs, size_t max_values)
{
    struct writer w = {.rng = rng, .n_knobs = n_knobs};
    struct space *s = NULL;
    struct why why = {""};
    char name[24];

    buf_init(&w.text, 1 << 16);
    w.has_words = one_in(&w, 2);
    if (space_new(&s) || space_add_constant(s, "limit", (double)rng_below(rng, 40), NULL))
        abort();
    for (size_t i = 0; i < n_knobs; i++)
        add_knob(s, &w, i, max_values);
    for (uint64_t n = rng_below(rng, 3); n > 0; n--) {
        buf_clear(&w.text);
        put_sum(&w, 2);
        snprintf(name, sizeof name, "q%zu", w.n_quantities);
        if (space_add_quantity(s, name, buf_text(&w.text), NULL))
            abort();
        w.n_quantities++;
    }
    for (uint64_t n = 1 + rng_below(rng, 3); n > 0; n--)
        add_constraint(s, &w);
    buf_fini(&w.text);
    if (space_seal(s, &why)) {
        fprintf(stderr, "%s\n", why.text);
        abort();
    }
    return s;
}
