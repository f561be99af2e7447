/* SPDX-License-Identifier: MIT */
#include "logs/foreign/ktt_xml.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 64
#define MAX_VALUE 4096
#define MAX_PARTS 65536 /* attributes and elements of one result */

struct xml {
    const char *at, *end;
    int64_t i_line;
    bool is_closed; /* </TuningData> was seen */
};

struct tag {
    char name[MAX_NAME];
    bool is_end;  /* </name> */
    bool is_self; /* <name ../> */
    cJSON *attributes;
    int64_t i_line;
};

enum tag_kind { TAG_ONE, TAG_NONE, TAG_CUT, TAG_BAD, TAG_NOMEM };

static void step(struct xml *x)
{
    assert(x->at < x->end);
    x->i_line += *x->at++ == '\n';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == ':';
}

static void skip_space(struct xml *x)
{
    while (x->at < x->end && strchr(" \t\r\n", *x->at) && *x->at)
        step(x);
}

/* False when it is empty or too long. */
static bool read_name(struct xml *x, char out[MAX_NAME])
{
    size_t n = 0;

    while (x->at < x->end && is_name(*x->at) && n + 1 < MAX_NAME) {
        out[n++] = *x->at;
        step(x);
    }
    assert(n < MAX_NAME);
    out[n] = '\0';
    return n > 0 && (x->at == x->end || !is_name(*x->at));
}

/* One character of a value: itself, or of an entity. */
static char read_char(struct xml *x)
{
    static const struct {
        const char *text;
        char c;
    } entities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    const char c = *x->at;

    for (size_t i = 0; c == '&' && i < sizeof entities / sizeof *entities; i++) {
        const size_t n = strlen(entities[i].text);

        if ((size_t)(x->end - x->at) >= n && memcmp(x->at, entities[i].text, n) == 0) {
            x->at += n;
            return entities[i].c;
        }
    }
    step(x);
    return c;
}

static enum tag_kind read_value(struct xml *x, char out[MAX_VALUE])
{
    char quote;
    size_t n = 0;

    if (x->at == x->end)
        return TAG_CUT;
    quote = *x->at;
    if (quote != '"' && quote != '\'')
        return TAG_BAD;
    for (step(x); x->at < x->end && *x->at != quote;) {
        const char c = read_char(x);

        if (n + 1 == MAX_VALUE || !c)
            return TAG_BAD;
        out[n++] = c;
    }
    assert(n < MAX_VALUE);
    out[n] = '\0';
    if (x->at == x->end)
        return TAG_CUT;
    step(x);
    return TAG_ONE;
}

/* A number where the whole text is one, else the text. A pair's value stays text where its type says so. */
static cJSON *value_of(const char *text)
{
    char *end;
    const double v = strtod(text, &end);

    if (*text && !*end && isfinite(v) && strspn(text, "0123456789+-.eE") == strlen(text))
        return cJSON_CreateNumber(v);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return cJSON_CreateBool(*text == 't');
    return cJSON_CreateString(text);
}

static enum tag_kind read_attribute(struct xml *x, cJSON *attributes)
{
    char name[MAX_NAME], value[MAX_VALUE];
    enum tag_kind kind;
    cJSON *item;
    bool is_text;

    if (!read_name(x, name))
        return x->at == x->end ? TAG_CUT : TAG_BAD;
    skip_space(x);
    if (x->at == x->end)
        return TAG_CUT;
    if (*x->at != '=')
        return TAG_BAD;
    step(x);
    skip_space(x);
    kind = read_value(x, value);
    if (kind != TAG_ONE)
        return kind;
    item = cJSON_GetObjectItemCaseSensitive(attributes, "ValueType");
    is_text = strstr(name, "Name") || (cJSON_IsString(item) && strcmp(item->valuestring, "String") == 0);
    item = is_text ? cJSON_CreateString(value) : value_of(value);
    if (item && cJSON_AddItemToObject(attributes, name, item))
        return TAG_ONE;
    cJSON_Delete(item);
    return TAG_NOMEM;
}

/* Behind `<`. */
static enum tag_kind read_tag(struct xml *x, struct tag *out)
{
    enum tag_kind kind = TAG_ONE;

    out->is_end = x->at < x->end && *x->at == '/';
    if (out->is_end)
        step(x);
    if (!read_name(x, out->name))
        return x->at == x->end ? TAG_CUT : TAG_BAD;
    while (kind == TAG_ONE) {
        skip_space(x);
        if (x->at == x->end)
            return TAG_CUT;
        if (*x->at == '>' || *x->at == '/' || *x->at == '?')
            break;
        kind = read_attribute(x, out->attributes);
    }
    if (kind != TAG_ONE)
        return kind;
    out->is_self = *x->at == '/';
    if (out->is_self)
        step(x);
    if (x->at == x->end)
        return TAG_CUT;
    if (*x->at != '>')
        return TAG_BAD;
    step(x);
    return TAG_ONE;
}

/* Behind `<!` or `<?`: to the next `>`. */
static bool pass_declaration(struct xml *x)
{
    while (x->at < x->end && *x->at != '>')
        step(x);
    return x->at < x->end;
}

/* The next tag; its attributes are the caller's. TAG_NONE at the end. */
static enum tag_kind next_tag(struct xml *x, struct tag *out)
{
    enum tag_kind kind;

    for (;;) {
        while (x->at < x->end && *x->at != '<')
            step(x);
        if (x->at == x->end)
            return TAG_NONE;
        *out = (struct tag){.i_line = x->i_line};
        step(x);
        if (x->at == x->end || (*x->at != '!' && *x->at != '?'))
            break;
        if (!pass_declaration(x))
            return TAG_CUT;
    }
    out->attributes = cJSON_CreateObject();
    kind = out->attributes ? read_tag(x, out) : TAG_NOMEM;
    if (kind != TAG_ONE)
        cJSON_Delete(out->attributes);
    return kind;
}

/* Puts a child where the JSON form has it: pairs into "Configuration", results into "ComputationResults", what is said
 * of a result's kernel into the latest of these. Others (counters, sizes) are left out. Takes the attributes. */
static bool add_child(cJSON *result, const struct tag *t)
{
    const bool is_pair = strcmp(t->name, "Pair") == 0, is_run = strcmp(t->name, "ComputationResult") == 0;
    const char *list_name = is_pair ? "Configuration" : "ComputationResults";
    cJSON *list = cJSON_GetObjectItemCaseSensitive(result, list_name);
    bool ok = true;

    if (is_pair || is_run) {
        if (!list)
            list = cJSON_AddArrayToObject(result, list_name);
        ok = list && cJSON_AddItemToArray(list, t->attributes);
    } else if (strcmp(t->name, "CompilationData") == 0 && list) {
        cJSON *latest = list->child ? list->child->prev : NULL;

        ok = latest && cJSON_AddItemToObject(latest, t->name, t->attributes);
    } else {
        cJSON_Delete(t->attributes);
        return true;
    }
    if (!ok)
        cJSON_Delete(t->attributes);
    return ok;
}

/* All of <KernelResult>, whose start tag was read; its attributes become the tree. Frees the tree unless TAG_ONE. */
static enum tag_kind read_result(struct xml *x, const struct tag *start)
{
    size_t n_parts = 0;
    enum tag_kind kind = TAG_ONE;

    while (kind == TAG_ONE && !start->is_self) {
        struct tag t;

        kind = next_tag(x, &t);
        if (kind != TAG_ONE)
            break;
        if (t.is_end) {
            cJSON_Delete(t.attributes);
            if (strcmp(t.name, start->name) == 0)
                return TAG_ONE;
        } else if (++n_parts > MAX_PARTS) {
            cJSON_Delete(t.attributes);
            kind = TAG_BAD;
        } else if (!add_child(start->attributes, &t)) {
            kind = TAG_NOMEM;
        }
    }
    if (kind == TAG_ONE)
        return kind;
    cJSON_Delete(start->attributes);
    return kind == TAG_NONE ? TAG_CUT : kind;
}

/* One top-level tag; false ends the reading with *kind. */
static bool take_tag(struct xml *x, const struct ktt_xml_sink *sink, enum tag_kind *kind, struct why *why)
{
    struct tag t;
    bool is_result;

    *kind = next_tag(x, &t);
    if (*kind != TAG_ONE)
        return false;
    x->is_closed |= t.is_end && strcmp(t.name, "TuningData") == 0;
    is_result = strcmp(t.name, "KernelResult") == 0 && !t.is_end;
    if (!is_result && (t.is_end || strcmp(t.name, "Metadata") != 0)) {
        cJSON_Delete(t.attributes);
        return true;
    }
    if (is_result)
        *kind = read_result(x, &t);
    return *kind == TAG_ONE && sink->element(t.name, t.attributes, t.i_line, sink->arg, why);
}

enum err ktt_xml_read(const char *text, size_t n, const struct ktt_xml_sink *sink, struct why *why)
{
    struct xml x = {text, text + n, 1, false};
    enum tag_kind kind;

    while (take_tag(&x, sink, &kind, why))
        ;
    if (kind == TAG_CUT || (kind == TAG_NONE && !x.is_closed))
        sink->bad(x.i_line, "the file ends within its results", sink->arg);
    else if (kind == TAG_BAD)
        sink->bad(x.i_line, "not XML as KTT writes it from here on: what follows is left out", sink->arg);
    return kind == TAG_NOMEM ? why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM)) : ERR_OK;
}
