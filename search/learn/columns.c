/* SPDX-License-Identifier: MIT */
#include "search/learn/records.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void columns_fini(struct columns *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++) {
        for (size_t w = 0; c->words[i] && w < c->knobs[i].n_words; w++)
            free(c->words[i][w]);
        free(c->words[i]);
        free(c->names[i]);
    }
    free(c->names);
    free(c->words);
    free(c->knobs);
    *c = (struct columns){0};
}

static cJSON *knob_json(const struct columns *c, size_t i)
{
    const struct features_knob *k = &c->knobs[i];
    cJSON *knob = cJSON_CreateObject(), *list = cJSON_CreateArray();
    bool ok = knob && list;

    json_add_text(knob, "name", c->names[i], &ok);
    if (k->n_words == 0) {
        json_add_bool(knob, "whole", k->whole, &ok);
        json_add_bool(knob, "positive", k->positive, &ok);
        json_add_bool(knob, "powers_of_two", k->all_powers, &ok);
    }
    for (size_t w = 0; ok && w < k->n_words; w++)
        ok = cJSON_AddItemToArray(list, cJSON_CreateString(c->words[i][w]));
    for (size_t v = 0; ok && k->n_words == 0 && v < k->n_values; v++)
        ok = cJSON_AddItemToArray(list, cJSON_CreateNumber(k->seen[v]));
    json_add_item(knob, k->n_words > 0 ? "words" : "values", list, &ok);
    if (ok)
        return knob;
    cJSON_Delete(knob);
    return NULL;
}

enum err columns_write(const struct columns *c, struct buf *out)
{
    cJSON *array = cJSON_CreateArray();
    bool ok = array != NULL;
    enum err e;

    for (size_t i = 0; ok && i < c->n; i++)
        ok = cJSON_AddItemToArray(array, knob_json(c, i));
    e = ok ? json_print(array, out) : ERR_NOMEM;
    cJSON_Delete(array);
    return e;
}

static enum err read_words(struct columns *c, size_t i, const cJSON *words, struct why *why)
{
    const size_t n = (size_t)cJSON_GetArraySize(words);
    const cJSON *word;

    if (n == 0 || n > 256)
        return why_set(why, ERR_INPUT, "words of column %.60s: %zu, expected 1 to 256", c->names[i], n);
    c->words[i] = calloc(n, sizeof **c->words);
    if (!c->words[i])
        return ERR_NOMEM;
    cJSON_ArrayForEach(word, words)
    {
        if (!cJSON_IsString(word))
            return why_set(why, ERR_INPUT, "words of column %.60s: expected texts", c->names[i]);
        c->words[i][c->knobs[i].n_words] = strdup(word->valuestring);
        if (!c->words[i][c->knobs[i].n_words])
            return ERR_NOMEM;
        c->knobs[i].n_words++;
    }
    return ERR_OK;
}

static enum err read_values(struct features_knob *k, const cJSON *knob, struct why *why)
{
    const cJSON *values = NULL, *v;
    enum err e = json_get_array(knob, "values", &values, why);

    cJSON_ArrayForEach(v, values)
    {
        if (!cJSON_IsNumber(v))
            return why_set(why, ERR_INPUT, "values: expected numbers");
        features_knob_meet(k, v->valuedouble);
    }
    if (e == ERR_OK)
        e = json_get_bool(knob, "whole", &k->whole, why);
    if (e == ERR_OK)
        e = json_get_bool(knob, "positive", &k->positive, why);
    return e ? e : json_get_bool(knob, "powers_of_two", &k->all_powers, why);
}

static enum err read_column(struct columns *c, const cJSON *knob, struct why *why)
{
    const cJSON *words = cJSON_GetObjectItemCaseSensitive(knob, "words");
    const char *name = NULL;
    enum err e = cJSON_IsObject(knob) ? json_get_text(knob, "name", &name, why)
                                      : why_set(why, ERR_INPUT, "columns: expected objects");

    if (e)
        return e;
    assert(c->n < FEATURES_MAX_KNOBS);
    c->names[c->n] = strdup(name);
    if (!c->names[c->n])
        return ERR_NOMEM;
    c->n++;
    if (cJSON_IsArray(words))
        return read_words(c, c->n - 1, words, why);
    return read_values(&c->knobs[c->n - 1], knob, why);
}

enum err columns_read(struct columns *c, const cJSON *array, struct why *why)
{
    const size_t n = (size_t)cJSON_GetArraySize(array);
    struct columns own = {0};
    const cJSON *knob;
    enum err e = ERR_OK;

    if (n == 0 || n > FEATURES_MAX_KNOBS)
        return why_set(why, ERR_INPUT, "%zu columns, expected 1 to %d", n, FEATURES_MAX_KNOBS);
    own.names = calloc(n, sizeof *own.names);
    own.words = calloc(n, sizeof *own.words);
    own.knobs = calloc(n, sizeof *own.knobs);
    if (!own.names || !own.words || !own.knobs)
        e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    cJSON_ArrayForEach(knob, array)
    {
        if (e == ERR_OK)
            e = read_column(&own, knob, why);
    }
    if (e)
        columns_fini(&own);
    else
        *c = own;
    return e;
}
