/* SPDX-License-Identifier: MIT */
#include "search/learn/derived.h"

#include "core/err.h"
#include "search_space/space_file.h"
#include "search_space/subterms.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_AXES 3
#define PRODUCT_BYTES 256

struct derived {
    struct space *space;
    struct subterms *terms;
    size_t n_columns;                /* of the table */
    int column_of[SPACE_MAX_KNOBS];  /* -1: the knob's only value */
    double *places[SPACE_MAX_KNOBS]; /* of a word's number in the table, its place in the knob's list; else NULL */
    double only_value[SPACE_MAX_KNOBS];
};

/* A formula: text, or a number. NULL when it is neither. */
static const char *formula_of(const cJSON *item, char number[32])
{
    if (cJSON_IsString(item))
        return item->valuestring;
    if (!cJSON_IsNumber(item))
        return NULL;
    snprintf(number, 32, "%.15g", item->valuedouble);
    return number;
}

/* Adds "NAME0", "NAME1", .. for the formulas of an array or of members X Y Z; returns how many. */
static size_t add_axes(struct space *s, const cJSON *list, const char *name, enum err *e, struct why *why)
{
    static const char *const axes[N_AXES] = {"X", "Y", "Z"};
    size_t n = 0;

    for (int i = 0; i < N_AXES && *e == ERR_OK; i++) {
        const cJSON *item =
            cJSON_IsArray(list) ? cJSON_GetArrayItem(list, i) : cJSON_GetObjectItemCaseSensitive(list, axes[i]);
        char quantity[32], number[32];
        const char *text = formula_of(item, number);

        if (!item)
            break;
        if (!text) {
            *e = why_set(why, ERR_INPUT, "launch formula %d of %s: expected text or a number", i + 1, name);
            break;
        }
        snprintf(quantity, sizeof quantity, "launch_%s%zu", name, n);
        *e = space_add_quantity(s, quantity, text, why);
        n += *e == ERR_OK;
    }
    return n;
}

/* "launch_local0 * launch_local1", "1" of none. */
static void product_text(const char *name, size_t n, char out[PRODUCT_BYTES])
{
    size_t used = 0;

    snprintf(out, PRODUCT_BYTES, "1");
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(out + used, PRODUCT_BYTES - used, "%slaunch_%s%zu", i > 0 ? " * " : "", name, i);
    assert(n <= N_AXES && used < PRODUCT_BYTES);
}

static enum err add_launch(struct space *s, const cJSON *root, struct why *why)
{
    const cJSON *launch = cJSON_GetObjectItemCaseSensitive(root, "launch");
    const cJSON *kernel = cJSON_GetObjectItemCaseSensitive(root, "KernelSpecification");
    const cJSON *local = cJSON_GetObjectItemCaseSensitive(launch ? launch : kernel, launch ? "local" : "LocalSize");
    const cJSON *grid = cJSON_GetObjectItemCaseSensitive(launch ? launch : kernel, launch ? "groups" : "GlobalSize");
    const char *const grid_name = launch ? "groups" : "global";
    char size[PRODUCT_BYTES], groups[PRODUCT_BYTES];
    enum err e = ERR_OK;
    const size_t n_local = add_axes(s, local, "local", &e, why), n_grid = add_axes(s, grid, grid_name, &e, why);

    product_text("local", n_local, size);
    product_text(grid_name, n_grid, groups);
    if (e == ERR_OK && n_local > 0)
        e = space_add_quantity(s, "launch_size", size, why);
    if (e == ERR_OK && n_local > 0)
        e = space_add_quantity(s, "launch_warps", "ceil_div(launch_size, 32)", why);
    if (e == ERR_OK && n_grid > 0)
        e = space_add_quantity(s, "launch_grid", groups, why);
    if (e == ERR_OK && n_local > 0 && n_grid > 0)
        e = space_add_quantity(s, "launch_ratio", launch ? "launch_grid * launch_size" : "launch_grid / launch_size",
                               why);
    return e;
}

/* Where the words of a column stand in the knob's list. */
static enum err match_words(struct derived *d, size_t i_knob, const struct columns *c, size_t i_column)
{
    double *places = malloc((c->knobs[i_column].n_words + 1) * sizeof *places);

    if (!places)
        return ERR_NOMEM;
    for (size_t w = 0; w < c->knobs[i_column].n_words; w++) {
        places[w] = NAN;
        for (size_t v = 0; v < space_n_values(d->space, i_knob); v++)
            if (strcmp(space_knob_value(d->space, i_knob, v).text, c->words[i_column][w]) == 0)
                places[w] = (double)v;
    }
    d->places[i_knob] = places;
    return ERR_OK;
}

static enum err match_knob(struct derived *d, size_t i_knob, const struct columns *c, struct why *why)
{
    const char *name = space_knob_name(d->space, i_knob);
    const struct value first = space_knob_value(d->space, i_knob, 0);
    size_t i = 0;

    while (i < c->n && strcmp(c->names[i], name) != 0)
        i++;
    if (i == c->n) {
        if (space_n_values(d->space, i_knob) > 1)
            return why_set(why, ERR_INPUT, "the table has no column %.60s, a knob of the space", name);
        d->column_of[i_knob] = -1;
        d->only_value[i_knob] = first.text ? 0 : first.number;
        return ERR_OK;
    }
    if ((first.text != NULL) != (c->knobs[i].n_words > 0))
        return why_set(why, ERR_INPUT, "column %.60s: %s in the table, %s in the space", name,
                       first.text ? "numbers" : "words", first.text ? "words" : "numbers");
    d->column_of[i_knob] = (int)i;
    return first.text ? match_words(d, i_knob, c, i) : ERR_OK;
}

static enum err make_space(struct space **out, const cJSON *root, struct why *why)
{
    struct space *s = NULL;
    enum err e = space_new(&s);

    if (e == ERR_OK)
        e = space_file_add(s, root, NULL, why);
    if (e == ERR_OK)
        e = add_launch(s, root, why);
    if (e == ERR_OK)
        e = space_seal(s, why);
    if (e)
        space_free(s);
    else
        *out = s;
    return e;
}

enum err derived_new(struct derived **out, const cJSON *space, const struct columns *c, struct why *why)
{
    struct derived *d = calloc(1, sizeof *d);
    enum err e;

    if (!d)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    d->n_columns = c->n;
    e = make_space(&d->space, space, why);
    for (size_t i = 0; e == ERR_OK && i < space_n_knobs(d->space); i++)
        e = match_knob(d, i, c, why);
    if (e == ERR_OK) {
        e = subterms_new(&d->terms, d->space);
        if (e)
            why_set(why, e, "%s", err_words(e));
    }
    if (e)
        derived_free(d);
    else
        *out = d;
    return e;
}

void derived_free(struct derived *d)
{
    if (!d)
        return;
    subterms_free(d->terms);
    space_free(d->space);
    for (size_t i = 0; i < SPACE_MAX_KNOBS; i++)
        free(d->places[i]);
    free(d);
}

size_t derived_n(const struct derived *d)
{
    return subterms_n(d->terms);
}

static double value_of(const struct derived *d, size_t i_knob, const double *values)
{
    double v;

    if (d->column_of[i_knob] < 0)
        return d->only_value[i_knob];
    assert((size_t)d->column_of[i_knob] < d->n_columns);
    v = values[d->column_of[i_knob]];
    return d->places[i_knob] && !isnan(v) ? d->places[i_knob][(size_t)v] : v;
}

enum err derived_of(const struct derived *d, const double *values, size_t n, float *out, size_t width)
{
    double knobs[SPACE_MAX_KNOBS];
    enum err e = ERR_OK;

    assert(derived_n(d) <= width);
    for (size_t i = 0; e == ERR_OK && i < n; i++) {
        for (size_t k = 0; k < space_n_knobs(d->space); k++)
            knobs[k] = value_of(d, k, values + i * d->n_columns);
        e = subterms_of(d->terms, knobs, out + i * width);
    }
    return e;
}
