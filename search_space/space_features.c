/* SPDX-License-Identifier: MIT */
#include "search_space/space_private.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t n_columns(const struct knob *k)
{
    return k->words ? k->n : k->positive ? 2 : 1;
}

static struct feature *add(struct space *s, int kind, size_t i, size_t i_value)
{
    struct feature *f = &s->features[s->n_features++];

    f->kind = (__typeof__(f->kind))kind;
    f->i = i;
    f->i_value = i_value;
    return f;
}

/* Appends to a feature's name, which is long enough for all its parts. */
static char *append(char *to, const char *part)
{
    const size_t n = strlen(part);

    memcpy(to, part, n + 1);
    return to + n;
}

static void list_knob(struct space *s, size_t i)
{
    const struct knob *k = &s->knobs[i];
    struct feature *f;

    for (size_t v = 0; k->words && v < k->n; v++) {
        f = add(s, FEATURE_WORD, i, v);
        append(append(append(f->name, k->name), "="), k->values[v].text);
    }
    if (k->words)
        return;
    f = add(s, FEATURE_KNOB, i, 0);
    append(f->name, k->name);
    if (!k->positive)
        return;
    f = add(s, FEATURE_LOG2, i, 0);
    append(append(append(f->name, "log2("), k->name), ")");
}

enum err space_list_features(struct space *s)
{
    size_t n = s->n_quantities;

    for (size_t i = 0; i < s->n_knobs; i++)
        n += n_columns(&s->knobs[i]);
    free(s->features);
    s->n_features = 0;
    s->features = malloc(n * sizeof *s->features);
    if (!s->features)
        return ERR_NOMEM;
    for (size_t i = 0; i < s->n_knobs; i++)
        list_knob(s, i);
    for (size_t i = 0; i < s->n_quantities; i++) {
        struct feature *f = add(s, FEATURE_QUANTITY, i, 0);

        append(f->name, s->quantities[i].name);
    }
    return ERR_OK;
}

size_t space_n_features(const struct space *s)
{
    return s->n_features;
}

const char *space_feature_name(const struct space *s, size_t i)
{
    assert(i < s->n_features);
    return s->features[i].name;
}

static double column(const struct space *s, const struct config *c, const struct feature *f,
                     const struct expr_value *slots)
{
    switch (f->kind) {
    case FEATURE_KNOB:
        return slots[f->i].number;
    case FEATURE_LOG2:
        return log2(slots[f->i].number);
    case FEATURE_WORD:
        return c->choice[f->i] == f->i_value;
    case FEATURE_QUANTITY:
        return slots[s->n_knobs + s->n_constants + f->i].number;
    }
    return NAN;
}

void space_features(const struct space *s, const struct config *c, float *row)
{
    struct expr_value slots[SPACE_MAX_SLOTS];

    assert(s->sealed && space_config_in_range(s, c));
    space_fill_slots(s, c, slots);
    for (size_t i = 0; i < s->n_quantities; i++)
        space_fill_quantity(s, i, slots);
    for (size_t i = 0; i < s->n_features; i++)
        row[i] = (float)column(s, c, &s->features[i], slots);
}
