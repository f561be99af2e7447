/* SPDX-License-Identifier: MIT */
#include "core/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LITTLE_BYTES 65536

/* cJSON's own depth limit is 1000: a cheap scan refuses deeper text before any tree is built. */
static bool depth_is_sane(const char *text, size_t n)
{
    int depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < n; i++) {
        const char c = text[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > JSON_MAX_DEPTH)
                return false;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return true;
}

static bool only_space_follows(const char *p, const char *end)
{
    for (; p < end; p++)
        if (*p != ' ' && *p != '\n' && *p != '\r' && *p != '\t')
            return false;
    return true;
}

/* cJSON does not tell bad text from a lack of memory: what memory was short for a moment is read at a second try. */
static enum err read_tree(const char *text, size_t n, const char **end, cJSON **out)
{
    void *volatile little = NULL; /* asked for, whatever a compiler thinks of it */
    enum err e = ERR_INPUT;

    *out = cJSON_ParseWithLengthOpts(text, n, end, 0);
    if (!*out)
        *out = cJSON_ParseWithLengthOpts(text, n, end, 0);
    if (*out)
        return ERR_OK;
    little = malloc(LITTLE_BYTES);
    if (!little)
        e = ERR_NOMEM;
    free(little);
    return e;
}

/* As json_parse without words: of ERR_INPUT *what is wrong at byte *at. */
static enum err parse(const char *text, size_t n, cJSON **out, size_t *at, const char **what)
{
    const char *nul = memchr(text, '\0', n), *end = NULL;
    cJSON *tree = NULL;

    if (!depth_is_sane(text, n))
        return ERR_LIMIT;
    if (!nul && read_tree(text, n, &end, &tree) == ERR_NOMEM)
        return ERR_NOMEM;
    if (tree && only_space_follows(end, text + n)) {
        *out = tree;
        return ERR_OK;
    }
    *what = nul ? "JSON with a NUL byte" : tree ? "text after the JSON value" : "not JSON";
    *at = nul ? (size_t)(nul - text) : end ? (size_t)(end - text) : 0;
    cJSON_Delete(tree);
    return ERR_INPUT;
}

/* ERR_LIMIT and ERR_NOMEM. */
static enum err tell(enum err e, struct why *why)
{
    return e == ERR_LIMIT ? why_set(why, e, "JSON nested deeper than %d", JSON_MAX_DEPTH)
                          : why_set(why, e, "%s", err_words(e));
}

enum err json_parse(const char *text, size_t n, cJSON **out, struct why *why)
{
    const char *what;
    size_t at;
    const enum err e = parse(text, n, out, &at, &what);

    if (e == ERR_LIMIT || e == ERR_NOMEM)
        return tell(e, why);
    return e ? why_set(why, e, "%s at byte %zu", what, at) : ERR_OK;
}

enum err json_parse_file(const char *text, size_t n, cJSON **out, struct why *why)
{
    size_t at, line = 1, column = 1;
    const char *what;
    const enum err e = parse(text, n, out, &at, &what);

    if (e == ERR_LIMIT || e == ERR_NOMEM)
        return tell(e, why);
    for (size_t i = 0; e && i < at; i++) {
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
    }
    return e ? why_set(why, e, "%s at line %zu, column %zu", what, line, column) : ERR_OK;
}

enum err json_print(const cJSON *tree, struct buf *out)
{
    char *text = cJSON_PrintUnformatted(tree);
    enum err e;

    if (!text)
        return ERR_NOMEM;
    e = buf_puts(out, text);
    cJSON_free(text);
    return e;
}

bool json_has(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name) != NULL;
}

static enum err find(const cJSON *object, const char *name, const cJSON **out, struct why *why)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    if (!item)
        return why_set(why, ERR_INPUT, "'%s' is missing", name);
    *out = item;
    return ERR_OK;
}

void json_plain(cJSON *tree)
{
    text_plain(tree->string, "");
    text_plain(tree->valuestring, "");
    for (cJSON *m = tree->child; m; m = m->next)
        json_plain(m);
}

enum err json_get_text(const cJSON *object, const char *name, const char **out, struct why *why)
{
    const cJSON *item = NULL;
    enum err e = find(object, name, &item, why);

    if (e)
        return e;
    if (!cJSON_IsString(item) || !item->valuestring)
        return why_set(why, ERR_INPUT, "'%s' is not a string", name);
    *out = item->valuestring;
    return ERR_OK;
}

enum err json_get_i64(const cJSON *object, const char *name, int64_t min, int64_t max, int64_t *out, struct why *why)
{
    const cJSON *item = NULL;
    enum err e = find(object, name, &item, why);
    double v;

    if (e)
        return e;
    v = item->valuedouble;
    if (!cJSON_IsNumber(item) || !(fabs(v) <= (double)JSON_EXACT_MAX) || v != floor(v))
        return why_set(why, ERR_INPUT, "'%s' is not an integer", name);
    if ((int64_t)v < min || (int64_t)v > max)
        return why_set(why, ERR_INPUT, "'%s' is %.0f, not in %lld..%lld", name, v, (long long)min, (long long)max);
    *out = (int64_t)v;
    return ERR_OK;
}

enum err json_get_real(const cJSON *object, const char *name, double *out, struct why *why)
{
    const cJSON *item = NULL;
    enum err e = find(object, name, &item, why);

    if (e)
        return e;
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
        return why_set(why, ERR_INPUT, "'%s' is not a number", name);
    *out = item->valuedouble;
    return ERR_OK;
}

enum err json_get_bool(const cJSON *object, const char *name, bool *out, struct why *why)
{
    const cJSON *item = NULL;
    enum err e = find(object, name, &item, why);

    if (e)
        return e;
    if (!cJSON_IsBool(item))
        return why_set(why, ERR_INPUT, "'%s' is not true or false", name);
    *out = cJSON_IsTrue(item);
    return ERR_OK;
}

enum err json_get_array(const cJSON *object, const char *name, const cJSON **out, struct why *why)
{
    const cJSON *item = NULL;
    enum err e = find(object, name, &item, why);

    if (e)
        return e;
    if (!cJSON_IsArray(item))
        return why_set(why, ERR_INPUT, "'%s' is not an array", name);
    *out = item;
    return ERR_OK;
}

enum err json_get_object(const cJSON *object, const char *name, const cJSON **out, struct why *why)
{
    const cJSON *item = NULL;
    enum err e = find(object, name, &item, why);

    if (e)
        return e;
    if (!cJSON_IsObject(item))
        return why_set(why, ERR_INPUT, "'%s' is not an object", name);
    *out = item;
    return ERR_OK;
}

enum err json_text_or(const cJSON *object, const char *name, const char *otherwise, const char **out, struct why *why)
{
    if (json_has(object, name))
        return json_get_text(object, name, out, why);
    *out = otherwise;
    return ERR_OK;
}

enum err json_i64_or(const cJSON *object, const char *name, int64_t otherwise, int64_t min, int64_t max, int64_t *out,
                     struct why *why)
{
    if (json_has(object, name))
        return json_get_i64(object, name, min, max, out, why);
    *out = otherwise;
    return ERR_OK;
}

enum err json_real_or(const cJSON *object, const char *name, double otherwise, double *out, struct why *why)
{
    if (json_has(object, name))
        return json_get_real(object, name, out, why);
    *out = otherwise;
    return ERR_OK;
}

enum err json_bool_or(const cJSON *object, const char *name, bool otherwise, bool *out, struct why *why)
{
    if (json_has(object, name))
        return json_get_bool(object, name, out, why);
    *out = otherwise;
    return ERR_OK;
}

void json_add_text(cJSON *object, const char *name, const char *text, bool *ok)
{
    *ok = cJSON_AddStringToObject(object, name, text) && *ok;
}

void json_add_i64(cJSON *object, const char *name, int64_t value, bool *ok)
{
    *ok = cJSON_AddNumberToObject(object, name, (double)value) && *ok;
}

void json_add_real(cJSON *object, const char *name, double value, bool *ok)
{
    *ok = cJSON_AddNumberToObject(object, name, value) && *ok;
}

void json_add_bool(cJSON *object, const char *name, bool value, bool *ok)
{
    *ok = cJSON_AddBoolToObject(object, name, value) && *ok;
}

void json_add_item(cJSON *object, const char *name, cJSON *takes, bool *ok)
{
    if (takes && cJSON_AddItemToObject(object, name, takes))
        return;
    cJSON_Delete(takes);
    *ok = false;
}
