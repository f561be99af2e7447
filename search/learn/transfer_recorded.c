/* SPDX-License-Identifier: MIT */
/* transfer_recorded.c - spaces and recordings as rows of knobs. */
#include "search/learn/transfer_recorded.h"

#include "core/err.h"

#include <math.h>
#include <stdlib.h>

void transfer_knobs_of(const struct space *space, const struct config *c, double *row)
{
    for (size_t i = 0; i < space_n_knobs(space); i++) {
        const struct value v = space_value(space, c, i);

        row[i] = v.text ? transfer_word(v.text) : v.number;
    }
}

static void names_of(const struct space *space, const char **names)
{
    for (size_t i = 0; i < space_n_knobs(space); i++)
        names[i] = space_knob_name(space, i);
}

enum err transfer_new_for(struct transfer **out, const struct space *space, uint64_t seed)
{
    const char *names[SPACE_MAX_KNOBS];

    names_of(space, names);
    return transfer_new(out, names, space_n_knobs(space), seed);
}

enum err transfer_add_recorded(struct transfer *t, const struct recorded *r, struct why *why)
{
    const struct space *space = recorded_space(r);
    const size_t n = recorded_n_rows(r), n_knobs = space_n_knobs(space);
    const char *names[SPACE_MAX_KNOBS];
    double *knobs = malloc(n * n_knobs * sizeof(*knobs) + 1), *values = malloc(n * sizeof(*values) + 1);
    enum err e = ERR_NOMEM;

    names_of(space, names);
    if (knobs && values) {
        for (size_t i = 0; i < n; i++) {
            transfer_knobs_of(space, &recorded_row(r, i)->config, knobs + i * n_knobs);
            values[i] = log(recorded_row(r, i)->time_ms);
        }
        e = transfer_add_source(t, recorded_name(r), &(struct transfer_rows){names, knobs, values, n, n_knobs}, why);
    } else {
        why_set(why, e, "%s", err_words(e));
    }
    free(knobs);
    free(values);
    return e;
}
