/* SPDX-License-Identifier: MIT */
#include "search_space/space_file.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"
#include "search_space/value_list.h"

#include <stdlib.h>
#include <string.h>

static enum err out_of_memory(struct why *why)
{
    return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

static enum err mixed(const char *name, struct why *why)
{
    return why_set(why, ERR_INPUT, "knob '%.60s': expected only numbers, or only words", name);
}

static bool is_number(const cJSON *v)
{
    return cJSON_IsNumber(v) || cJSON_IsBool(v);
}

static enum err add_numbers(struct space *s, const char *name, const cJSON *values, size_t n, struct why *why)
{
    double *numbers = calloc(n + 1, sizeof *numbers);
    const cJSON *v;
    size_t i = 0;
    enum err e = numbers ? ERR_OK : out_of_memory(why);

    cJSON_ArrayForEach(v, values)
    {
        if (!e && !is_number(v))
            e = mixed(name, why);
        if (!e)
            numbers[i++] = cJSON_IsBool(v) ? cJSON_IsTrue(v) : v->valuedouble;
    }
    if (!e)
        e = space_add_knob(s, name, numbers, n, why);
    free(numbers);
    return e;
}

static enum err add_words(struct space *s, const char *name, const cJSON *values, size_t n, struct why *why)
{
    const char **words = calloc(n + 1, sizeof *words);
    const cJSON *v;
    size_t i = 0;
    enum err e = words ? ERR_OK : out_of_memory(why);

    cJSON_ArrayForEach(v, values)
    {
        if (!e && (!cJSON_IsString(v) || !v->valuestring))
            e = mixed(name, why);
        if (!e)
            words[i++] = v->valuestring;
    }
    if (!e)
        e = space_add_knob_words(s, name, words, n, why);
    free(words);
    return e;
}

static enum err add_values(struct space *s, const char *name, const cJSON *values, struct why *why)
{
    const size_t n = (size_t)cJSON_GetArraySize(values);

    if (!cJSON_IsArray(values))
        return why_set(why, ERR_INPUT, "knob '%.60s': expected an array of values", name);
    return cJSON_IsString(values->child) ? add_words(s, name, values, n, why) : add_numbers(s, name, values, n, why);
}

static enum err add_param(struct space *s, const cJSON *param, struct why *why)
{
    const char *name = NULL;
    const cJSON *values = NULL;
    enum err e = json_get_text(param, "name", &name, why);

    if (!e)
        e = json_get_array(param, "values", &values, why);
    return e ? why_prefix(why, e, "params") : add_values(s, name, values, why);
}

static enum err add_params(struct space *s, const cJSON *object, bool *is_known, struct why *why)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "restrictions"), *params = NULL, *item;
    enum err e = json_get_array(object, "params", &params, why);

    cJSON_ArrayForEach(item, params)
    {
        if (!e)
            e = add_param(s, item, why);
    }
    *is_known = !cJSON_IsNull(list);
    if (e || !list || cJSON_IsNull(list))
        return e;
    if (!cJSON_IsArray(list))
        return why_set(why, ERR_INPUT, "'restrictions': expected an array or null");
    cJSON_ArrayForEach(item, list)
    {
        if (!e && (!cJSON_IsString(item) || !item->valuestring))
            e = why_set(why, ERR_INPUT, "'restrictions': expected strings");
        if (!e)
            e = space_add_constraint(s, item->valuestring, why);
    }
    return e;
}

/* The list of a tuning parameter: an array, or the text of one. Gives a tree where it had to read text. */
static enum err read_list(const char *name, const cJSON *values, cJSON **out, struct why *why)
{
    enum err e;

    if (!cJSON_IsString(values))
        return ERR_OK;
    e = value_list_parse(values->valuestring ? values->valuestring : "", out, why);
    return e ? why_prefix(why, e, "knob '%.60s': Values", name) : ERR_OK;
}

static enum err add_tuning_parameter(struct space *s, const cJSON *parameter, struct why *why)
{
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(parameter, "Values");
    const char *name = NULL;
    cJSON *list = NULL;
    enum err e = json_get_text(parameter, "Name", &name, why);

    if (e)
        return why_prefix(why, e, "TuningParameters");
    e = read_list(name, values, &list, why);
    if (!e)
        e = add_values(s, name, list ? list : values, why);
    cJSON_Delete(list);
    return e;
}

static enum err add_configuration_space(struct space *s, const cJSON *object, struct why *why)
{
    const cJSON *list = NULL, *conditions = cJSON_GetObjectItemCaseSensitive(object, "Conditions"), *item;
    enum err e = json_get_array(object, "TuningParameters", &list, why);

    cJSON_ArrayForEach(item, list)
    {
        if (!e)
            e = add_tuning_parameter(s, item, why);
    }
    if (!e && conditions && !cJSON_IsArray(conditions))
        e = why_set(why, ERR_INPUT, "'Conditions': expected an array");
    cJSON_ArrayForEach(item, conditions)
    {
        const char *expression = NULL;

        if (!e) {
            e = json_get_text(item, "Expression", &expression, why);
            e = e ? why_prefix(why, e, "Conditions") : space_add_constraint(s, expression, why);
        }
    }
    return e;
}

enum err space_file_add(struct space *s, const cJSON *object, bool *is_known, struct why *why)
{
    const cJSON *t1 = cJSON_GetObjectItemCaseSensitive(object, "ConfigurationSpace");
    bool known = true;
    enum err e;

    if (!cJSON_IsObject(object))
        return why_set(why, ERR_INPUT, "expected an object with 'params' or 'ConfigurationSpace'");
    if (!t1 && !cJSON_GetObjectItemCaseSensitive(object, "params"))
        return why_set(why, ERR_INPUT, "no space in it: expected 'params' or 'ConfigurationSpace'");
    e = t1 ? add_configuration_space(s, t1, why) : add_params(s, object, &known, why);
    if (!e && is_known)
        *is_known = known;
    return e;
}

enum err space_file_parse(const char *text, size_t n, struct space **out, bool *is_known, struct why *why)
{
    struct space *s = NULL;
    cJSON *object = NULL;
    enum err e = json_parse(text, n, &object, why);

    if (!e && space_new(&s))
        e = out_of_memory(why);
    if (!e)
        e = space_file_add(s, object, is_known, why);
    if (!e)
        e = space_seal(s, why);
    cJSON_Delete(object);
    if (e)
        space_free(s);
    else
        *out = s;
    return e;
}

enum err space_file_read(const char *path, struct space **out, bool *is_known, struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, SPACE_FILE_MAX_BYTES);
    e = file_read(path, &text, why);
    if (!e) {
        e = space_file_parse(buf_text(&text), text.len, out, is_known, why);
        if (e)
            why_prefix(why, e, "%.300s", path);
    }
    buf_fini(&text);
    return e;
}
