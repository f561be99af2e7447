/* SPDX-License-Identifier: MIT */
#include "runtime/program_members.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum err program_only_members(const cJSON *o, const char *what, const char *known, struct why *why)
{
    const cJSON *m;

    if (!cJSON_IsObject(o))
        return why_set(why, ERR_INPUT, "%s is not an object", what);
    cJSON_ArrayForEach(m, o)
    {
        const size_t n = strlen(m->string);
        const char *at = n ? strstr(known, m->string) : NULL;

        while (at && !((at == known || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')))
            at = strstr(at + 1, m->string);
        if (!at)
            return why_set(why, ERR_INPUT, "%s: unknown member '%.40s', expected one of: %s", what, m->string, known);
        if (cJSON_GetObjectItemCaseSensitive(o, m->string) != m)
            return why_set(why, ERR_INPUT, "%s: member '%s' twice", what, m->string);
    }
    return ERR_OK;
}

enum err program_read_fixed(const cJSON *o, const char *name, char *out, size_t n_out, struct why *why)
{
    const char *text = "";
    enum err e = json_text_or(o, name, "", &text, why);

    if (e)
        return e;
    if (strlen(text) >= n_out)
        return why_set(why, ERR_LIMIT, "'%s' is longer than %zu bytes", name, n_out - 1);
    strcpy(out, text);
    return ERR_OK; /* NOLINT(clang-analyzer-unix.Malloc): no pointer of the program was written over */
}

enum err program_read_hash(const cJSON *o, const char *name, struct sha256 *out, struct why *why)
{
    return program_read_fixed(o, name, out->hex, sizeof out->hex, why);
}

enum err program_read_heap(const cJSON *o, const char *name, char **out, struct why *why)
{
    const char *text = "";
    enum err e = json_text_or(o, name, "", &text, why);

    if (e)
        return e;
    *out = strdup(text);
    return *out ? ERR_OK : ERR_NOMEM;
}

enum err program_read_word(const cJSON *o, const char *name, const char *const *words, int n, int otherwise, int *out,
                           struct why *why)
{
    const char *text = otherwise >= 0 ? words[otherwise] : "";
    enum err e = otherwise >= 0 ? json_text_or(o, name, text, &text, why) : json_get_text(o, name, &text, why);

    for (int i = 0; !e && i < n; i++)
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return ERR_OK;
        }
    return e ? e : why_set(why, ERR_INPUT, "'%s' is '%.40s', expected '%s' or one of its kind", name, text, words[0]);
}

enum err program_read_seed(const cJSON *o, uint64_t *out, struct why *why)
{
    int64_t v = 0;
    enum err e = json_i64_or(o, "seed", 0, 0, JSON_EXACT_MAX - 1, &v, why);

    *out = (uint64_t)v;
    return e;
}

enum err program_optional_list(const cJSON *o, const char *name, const cJSON **out, struct why *why)
{
    *out = NULL;
    return cJSON_GetObjectItemCaseSensitive(o, name) ? json_get_array(o, name, out, why) : ERR_OK;
}

enum err program_read_numbers(const cJSON *o, const char *name, int max, int n_exact, int64_t *out, int *n,
                              struct why *why)
{
    const cJSON *list = NULL, *item;
    int i = 0;
    enum err e = program_optional_list(o, name, &list, why);

    assert(max > 0 && n_exact <= max);
    if (e || (!list && !n_exact))
        return e;
    cJSON_ArrayForEach(item, list)
    {
        const double v = item->valuedouble;

        if (i >= max || !cJSON_IsNumber(item) || !(v >= 0 && v <= (double)JSON_EXACT_MAX) || v != (double)(int64_t)v)
            return why_set(why, ERR_INPUT, "'%s' is not a list of at most %d whole numbers", name, max);
        out[i++] = (int64_t)v;
    }
    if (n_exact && i != n_exact)
        return why_set(why, ERR_INPUT, "'%s' is not a list of %d whole numbers", name, n_exact);
    if (n)
        *n = i;
    return ERR_OK;
}
