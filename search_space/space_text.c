/* SPDX-License-Identifier: MIT */
#include "search_space/space_private.h"

#include "core/buf.h"
#include "core/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 32

/* The shortest decimal text that reads back as the same double. */
static void number_text(double v, char out[NUMBER_BYTES])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, NUMBER_BYTES, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            return;
    }
}

static enum err value_text(const struct expr_value *v, struct buf *out)
{
    char text[NUMBER_BYTES];

    if (v->text)
        return buf_puts(out, v->text);
    number_text(v->number, text);
    return buf_puts(out, text);
}

enum err space_config_text(const struct space *s, const struct config *c, struct buf *out)
{
    for (size_t i = 0; i < s->n_knobs; i++) {
        buf_printf(out, "%s%s=", i ? " " : "", s->knobs[i].name);
        (void)value_text(&s->knobs[i].values[c->choice[i]], out);
    }
    return out->failed;
}

/* "one of 1, 2, 4": the first values of a knob for a message. */
static void list_values(const struct knob *k, struct buf *out)
{
    buf_puts(out, k->n > 1 ? "one of " : "");
    for (size_t i = 0; i < k->n && out->len < 200; i++) {
        buf_puts(out, i ? ", " : "");
        (void)value_text(&k->values[i], out);
    }
}

static enum err no_such_value(const struct knob *k, const char *given, struct why *why)
{
    struct buf list;

    buf_init(&list, 512);
    list_values(k, &list);
    why_set(why, ERR_INPUT, "knob '%s': '%.70s' is not a value of it; expected %s", k->name, given, buf_text(&list));
    buf_fini(&list);
    return ERR_INPUT;
}

static enum err choose_number(const struct knob *k, double v, struct config *out, size_t i_knob, struct why *why)
{
    char text[NUMBER_BYTES];

    for (size_t i = 0; !k->words && i < k->n; i++)
        if (k->values[i].number == v) {
            out->choice[i_knob] = (uint16_t)i;
            return ERR_OK;
        }
    number_text(v, text);
    return no_such_value(k, text, why);
}

static enum err choose_word(const struct knob *k, const char *word, struct config *out, size_t i_knob, struct why *why)
{
    for (size_t i = 0; k->words && i < k->n; i++)
        if (strcmp(k->values[i].text, word) == 0) {
            out->choice[i_knob] = (uint16_t)i;
            return ERR_OK;
        }
    return no_such_value(k, word, why);
}

static enum err choose_text(const struct knob *k, const char *text, struct config *out, size_t i_knob, struct why *why)
{
    char *end = NULL;
    double v;

    if (k->words)
        return choose_word(k, text, out, i_knob, why);
    v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return no_such_value(k, text, why);
    return choose_number(k, v, out, i_knob, why);
}

static enum err no_such_knob(const struct space *s, const char *name, struct why *why)
{
    struct buf list;

    buf_init(&list, SPACE_MAX_KNOBS * (SPACE_NAME_BYTES + 4));
    for (size_t i = 0; i < s->n_knobs; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", s->knobs[i].name);
    why_set(why, ERR_INPUT, "unknown knob '%.60s': expected one of %.600s", name, buf_text(&list));
    buf_fini(&list);
    return ERR_INPUT;
}

/* The knob of a name, which may appear once. */
static enum err open_knob(const struct space *s, const char *name, bool *seen, size_t *i_knob, struct why *why)
{
    const int i = space_find_knob(s, name);

    if (i < 0)
        return no_such_knob(s, name, why);
    if (seen[i])
        return why_set(why, ERR_INPUT, "knob '%s' is given twice", name);
    seen[i] = true;
    *i_knob = (size_t)i;
    return ERR_OK;
}

static enum err all_seen(const struct space *s, const bool *seen, struct why *why)
{
    struct buf missing;
    size_t n = 0;
    enum err e = ERR_OK;

    buf_init(&missing, SPACE_MAX_KNOBS * (SPACE_NAME_BYTES + 4));
    for (size_t i = 0; i < s->n_knobs; i++)
        if (!seen[i])
            buf_printf(&missing, "%s'%s'", n++ ? ", " : "", s->knobs[i].name);
    if (n)
        e = why_set(why, ERR_INPUT, "knob%s %s %s missing", n > 1 ? "s" : "", buf_text(&missing), n > 1 ? "are" : "is");
    buf_fini(&missing);
    return e;
}

static enum err parse_pair(const struct space *s, const char *pair, size_t n, bool *seen, struct config *out,
                           struct why *why)
{
    char copy[SPACE_NAME_BYTES + SPACE_WORD_BYTES];
    size_t i_knob = 0;
    char *equals;
    enum err e;

    if (n >= sizeof copy)
        return why_set(why, ERR_INPUT, "'%.60s...' is too long for name=value", pair);
    memcpy(copy, pair, n);
    copy[n] = '\0';
    equals = strchr(copy, '=');
    if (!equals)
        return why_set(why, ERR_INPUT, "'%s': expected name=value", copy);
    *equals = '\0';
    e = open_knob(s, copy, seen, &i_knob, why);
    return e ? e : choose_text(&s->knobs[i_knob], equals + 1, out, i_knob, why);
}

enum err space_config_parse(const struct space *s, const char *text, struct config *out, struct why *why)
{
    static const char white[] = " \t\r\n";
    bool seen[SPACE_MAX_KNOBS] = {false};
    struct config c = {.choice = {0}};
    enum err e = ERR_OK;

    text += strspn(text, white);
    while (!e && *text) {
        const size_t n = strcspn(text, white);

        e = parse_pair(s, text, n, seen, &c, why);
        text += n;
        text += strspn(text, white);
    }
    if (!e)
        e = all_seen(s, seen, why);
    if (!e)
        *out = c;
    return e;
}

cJSON *space_config_to_json(const struct space *s, const struct config *c)
{
    cJSON *object = cJSON_CreateObject();
    bool ok = object != NULL;

    for (size_t i = 0; ok && i < s->n_knobs; i++) {
        const struct expr_value *v = &s->knobs[i].values[c->choice[i]];

        if (v->text)
            json_add_text(object, s->knobs[i].name, v->text, &ok);
        else
            json_add_real(object, s->knobs[i].name, v->number, &ok);
    }
    if (ok)
        return object;
    cJSON_Delete(object);
    return NULL;
}

static enum err choose_json(const struct knob *k, const cJSON *item, struct config *out, size_t i_knob, struct why *why)
{
    if (cJSON_IsNumber(item))
        return choose_number(k, item->valuedouble, out, i_knob, why);
    if (cJSON_IsString(item) && item->valuestring)
        return choose_word(k, item->valuestring, out, i_knob, why);
    return why_set(why, ERR_INPUT, "knob '%s': expected a number or a word", k->name);
}

enum err space_config_from_json(const struct space *s, const cJSON *object, struct config *out, struct why *why)
{
    bool seen[SPACE_MAX_KNOBS] = {false};
    struct config c = {.choice = {0}};
    const cJSON *item;
    enum err e = ERR_OK;

    if (!cJSON_IsObject(object))
        return why_set(why, ERR_INPUT, "knobs: expected an object such as {\"vc\":4}");
    cJSON_ArrayForEach(item, object)
    {
        size_t i_knob = 0;

        if (!e)
            e = open_knob(s, item->string ? item->string : "", seen, &i_knob, why);
        if (!e)
            e = choose_json(&s->knobs[i_knob], item, &c, i_knob, why);
    }
    if (!e)
        e = all_seen(s, seen, why);
    if (!e)
        *out = c;
    return e;
}

static bool is_name_of(const char *name, const char *at, size_t n)
{
    return strlen(name) == n && memcmp(name, at, n) == 0;
}

/* As deep as quantities name each other: each names those before it. */
static void put_in_knobs(const struct space *s, const char *text, struct buf *out);

static void put_token(const struct space *s, const char *at, size_t n, struct buf *out)
{
    for (size_t i = 0; i < s->n_constants; i++)
        if (is_name_of(s->constants[i].name, at, n)) {
            const bool below = s->constant_values[i].number < 0;

            buf_puts(out, below ? "(" : "");
            (void)value_text(&s->constant_values[i], out);
            buf_puts(out, below ? ")" : "");
            return;
        }
    for (size_t i = 0; i < s->n_quantities; i++)
        if (is_name_of(s->quantities[i].name, at, n)) {
            buf_puts(out, "(");
            put_in_knobs(s, s->quantities[i].text, out);
            buf_puts(out, ")");
            return;
        }
    buf_append(out, at, n);
}

static void put_in_knobs(const struct space *s, const char *text, struct buf *out)
{
    for (size_t n; *text && !out->failed; text += n) {
        n = expr_token_bytes(text);
        put_token(s, text, n, out);
    }
}

enum err space_constraint_in_knobs(const struct space *s, const char *text, struct buf *out)
{
    const struct constraint *c = NULL;

    for (size_t i = 0; i < s->n_constraints && !c; i++)
        if (s->constraints[i].text == text)
            c = &s->constraints[i];
    assert(c);
    if (c->keep)
        buf_puts(out, text);
    else
        put_in_knobs(s, text, out);
    return out->failed;
}
