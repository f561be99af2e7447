/* SPDX-License-Identifier: MIT */
/* spec_metrics.c - Metrics: numbers that the job's author names, of a config and its time. */
#include "kernels/spec/spec_private.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slots of their expressions: `time` in ms, metrics, parameters, definitions. */
enum {
    SLOT_TIME,
    SLOT_METRICS,
    SLOT_KNOBS = SLOT_METRICS + SPEC_MAX_METRICS,
    SLOT_DEFINITIONS = SLOT_KNOBS + SPACE_MAX_KNOBS,
    N_SLOTS = SLOT_DEFINITIONS + SPEC_MAX_DEFINITIONS
};

static int resolve(const char *name, size_t n, void *arg)
{
    const struct spec *s = arg;
    const int definition = spec_find_definition(s, name, n);
    char copy[SPACE_NAME_BYTES];
    int knob;

    if (n >= sizeof copy)
        return -1;
    memcpy(copy, name, n);
    copy[n] = '\0';
    knob = space_find_knob(s->space, copy);
    if (knob >= 0)
        return SLOT_KNOBS + knob;
    if (definition >= 0)
        return SLOT_DEFINITIONS + definition;
    for (size_t i = 0; i < s->n_metrics; i++) /* those before this one */
        if (strcmp(s->metrics[i].name, copy) == 0)
            return SLOT_METRICS + (int)i;
    return strcmp(copy, "time") == 0 ? SLOT_TIME : -1;
}

static bool is_title(const char *text)
{
    const size_t n = strlen(text);

    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] <= 0x20 || text[i] == 0x7f || text[i] == '=' || text[i] == ',')
            return false;
    return n > 0 && n < sizeof((struct spec_metric *)NULL)->name;
}

static enum err read_metric(struct spec *s, const cJSON *item, struct why *why)
{
    struct spec_metric *m = &s->metrics[s->n_metrics];
    char where[SPEC_WHERE_BYTES];
    struct buf ours;
    enum err e;

    snprintf(where, sizeof where, "Metrics.%.60s", item->string);
    if (s->n_metrics == SPEC_MAX_METRICS)
        return why_set(why, ERR_LIMIT, "Metrics: more than %d", SPEC_MAX_METRICS);
    if (!is_title(item->string))
        return why_set(why, ERR_INPUT, "%s: expected a name of at most %zu bytes without blanks, = and ,", where,
                       sizeof m->name - 1);
    if (!cJSON_IsString(item))
        return why_set(why, ERR_INPUT, "%s: expected an expression of time (ms), parameters and scalars", where);
    buf_init(&ours, 8 * EXPR_MAX_TEXT);
    e = spec_expression(s, item->valuestring, where, &ours, why);
    if (!e && (e = expr_compile(buf_text(&ours), resolve, s, &m->expression, why)))
        why_prefix(why, e, "%s", where);
    buf_fini(&ours);
    if (e)
        return e;
    snprintf(m->name, sizeof m->name, "%s", item->string);
    s->n_metrics++;
    return ERR_OK;
}

enum err spec_read_metrics(struct spec *s, const cJSON *metrics, struct why *why)
{
    const cJSON *item;
    enum err e = ERR_OK;

    if (metrics && !cJSON_IsObject(metrics))
        return why_set(why, ERR_INPUT, "Metrics: expected an object of names and expressions");
    cJSON_ArrayForEach(item, metrics)
    {
        if (!e)
            e = read_metric(s, item, why);
    }
    return e;
}

static void fill_slots(const struct spec *s, const struct config *c, double time_ns, struct expr_value slots[N_SLOTS])
{
    for (size_t i = 0; i < N_SLOTS; i++)
        slots[i].number = NAN;
    slots[SLOT_TIME].number = time_ns / 1e6;
    for (size_t i = 0; i < space_n_knobs(s->space); i++) {
        const struct value v = space_value(s->space, c, i);

        slots[SLOT_KNOBS + i] = (struct expr_value){v.number, v.text};
    }
    for (size_t i = 0; i < s->n_definitions; i++)
        if (space_eval(s->space, c, s->definitions[i].name, &slots[SLOT_DEFINITIONS + i].number))
            slots[SLOT_DEFINITIONS + i].number = NAN;
}

cJSON *spec_metrics(const struct spec *s, const struct config *c, double time_ns)
{
    struct expr_value slots[N_SLOTS] = {{0}};
    cJSON *out = cJSON_CreateObject();
    bool ok = out != NULL;

    assert(s->n_metrics <= SPEC_MAX_METRICS);
    if (ok && s->n_metrics)
        fill_slots(s, c, time_ns, slots);
    for (size_t i = 0; ok && i < s->n_metrics; i++) {
        double *v = &slots[SLOT_METRICS + i].number;

        if (expr_eval(s->metrics[i].expression, slots, v))
            *v = NAN;
        json_add_real(out, s->metrics[i].name, *v, &ok);
    }
    if (ok)
        return out;
    cJSON_Delete(out);
    return NULL;
}
