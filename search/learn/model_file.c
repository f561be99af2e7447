/* SPDX-License-Identifier: MIT */
#include "search/learn/model_file.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"
#include "search_space/space_file.h"

#include <stdlib.h>
#include <string.h>

#define FORMAT "tune cost model"
#define VERSION 1
#define BLOCK 4096 /* rows whose derived features are held at once */

void model_file_fini(struct model_file *m)
{
    if (!m)
        return;
    ensemble_free(m->ensemble);
    ensemble_free(m->second.ensemble);
    for (size_t i = 0; i < m->second.n; i++)
        free(m->second.names[i]);
    derived_free(m->derived);
    cJSON_Delete(m->space);
    columns_fini(&m->columns);
    *m = (struct model_file){.space = NULL};
}

enum err model_file_take_space(struct model_file *m, const char *path, struct why *why)
{
    struct derived *derived = NULL;
    cJSON *space = NULL;
    struct buf text;
    enum err e;

    buf_init(&text, SPACE_FILE_MAX_BYTES);
    e = file_read(path, &text, why);
    if (e == ERR_OK) {
        e = json_parse(buf_text(&text), text.len, &space, why);
        if (e == ERR_OK)
            e = derived_new(&derived, space, &m->columns, why);
        if (e)
            why_prefix(why, e, "%.300s", path);
    }
    buf_fini(&text);
    if (e) {
        cJSON_Delete(space);
        return e;
    }
    cJSON_Delete(m->space);
    derived_free(m->derived);
    m->space = space;
    m->derived = derived;
    return ERR_OK;
}

static size_t n_derived(const struct model_file *m)
{
    return m->derived ? derived_n(m->derived) : 0;
}

/* Features beyond the columns' own, [n][*width]; NULL with ERR_OK when there are none. */
static enum err extra_of(const struct model_file *m, const double *values, size_t n, float **out, size_t *width)
{
    enum err e;

    *out = NULL;
    *width = n_derived(m);
    if (*width == 0)
        return ERR_OK;
    *out = malloc(n * *width * sizeof **out + 1);
    e = *out ? derived_of(m->derived, values, n, *out, *width) : ERR_NOMEM;
    if (e) {
        free(*out);
        *out = NULL;
    }
    return e;
}

enum err model_file_learn(struct model_file *m, const struct features_knob *knobs, const double *values,
                          const double *times, size_t n, uint64_t seed, struct why *why)
{
    struct ensemble_data data = {knobs, values, times, NULL, n, m->columns.n, 0};
    struct ensemble *ensemble = NULL;
    float *extra = NULL;
    enum err e = extra_of(m, values, n, &extra, &data.n_extra);

    if (e)
        return why_set(why, e, "%s", err_words(e));
    data.extra = extra;
    e = ensemble_fit(&ensemble, &data, seed, why);
    free(extra);
    if (e)
        return e;
    ensemble_free(m->ensemble);
    m->ensemble = ensemble;
    return ERR_OK;
}

enum err model_file_predict(const struct model_file *m, const double *values, size_t n, float *scores)
{
    enum err e = ERR_OK;

    for (size_t i = 0; e == ERR_OK && i < n; i += BLOCK) {
        const size_t n_block = n - i < BLOCK ? n - i : BLOCK;
        size_t width;
        float *extra;

        e = extra_of(m, values + i * m->columns.n, n_block, &extra, &width);
        if (e == ERR_OK)
            e = ensemble_predict(m->ensemble, values + i * m->columns.n, extra, n_block, scores + i);
        free(extra);
    }
    return e;
}

static enum err write_second(const struct second *s, struct buf *out)
{
    cJSON *names = cJSON_CreateStringArray((const char *const *)s->names, (int)s->n);
    enum err e = names ? ERR_OK : ERR_NOMEM;

    buf_puts(out, ",\"second\":{\"late\":");
    if (e == ERR_OK)
        e = json_print(names, out);
    buf_puts(out, ",\"ensemble\":");
    if (e == ERR_OK)
        e = ensemble_write(s->ensemble, out);
    buf_puts(out, "}");
    cJSON_Delete(names);
    return e;
}

static enum err read_second(const cJSON *object, struct model_file *m, struct why *why)
{
    const cJSON *late = NULL, *name, *ensemble = NULL;
    enum err e = json_get_array(object, "late", &late, why);

    if (e == ERR_OK)
        e = json_get_object(object, "ensemble", &ensemble, why);
    cJSON_ArrayForEach(name, late)
    {
        if (e == ERR_OK && !cJSON_IsString(name))
            e = why_set(why, ERR_INPUT, "late: expected texts");
        if (e == ERR_OK)
            e = model_file_name_second(m, name->valuestring, why);
    }
    if (e == ERR_OK)
        e = ensemble_read(&m->second.ensemble, m->columns.knobs, m->columns.n, ensemble, why);
    if (e == ERR_OK && ensemble_n_extra(m->second.ensemble) != n_derived(m) + m->second.n)
        e = why_set(why, ERR_INPUT, "second: learned from %zu more features, expected %zu",
                    ensemble_n_extra(m->second.ensemble), n_derived(m) + m->second.n);
    return e;
}

enum err model_file_write(const char *path, const struct model_file *m, struct why *why)
{
    struct buf out;
    enum err e;

    buf_init(&out, MODEL_FILE_MAX_BYTES);
    buf_printf(&out, "{\"format\":\"%s\",\"version\":%d,\"columns\":", FORMAT, VERSION);
    e = columns_write(&m->columns, &out);
    if (e == ERR_OK && m->space) {
        buf_puts(&out, ",\"space\":");
        e = json_print(m->space, &out);
    }
    buf_puts(&out, ",\"ensemble\":");
    if (e == ERR_OK)
        e = ensemble_write(m->ensemble, &out);
    if (e == ERR_OK && m->second.n > 0)
        e = write_second(&m->second, &out);
    if (e == ERR_OK)
        e = buf_puts(&out, "}\n");
    if (e)
        why_set(why, e, "%s: %s", path, err_words(e));
    else
        e = file_replace(path, buf_text(&out), out.len, 0644, why);
    buf_fini(&out);
    return e;
}

static enum err check_format(const cJSON *root, struct why *why)
{
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
    int64_t version = 0;
    enum err e;

    if (!cJSON_IsString(format) || strcmp(format->valuestring, FORMAT) != 0)
        return why_set(why, ERR_INPUT, "no cost model: expected \"format\": \"%s\"", FORMAT);
    e = json_get_i64(root, "version", 0, JSON_EXACT_MAX, &version, why);
    if (e == ERR_OK && version != VERSION)
        e = why_set(why, ERR_INPUT, "version %lld of the format, expected %d", (long long)version, VERSION);
    return e;
}

static enum err read_parts(cJSON *root, struct model_file *m, struct why *why)
{
    const cJSON *columns = NULL, *ensemble = NULL;
    enum err e = check_format(root, why);

    if (e == ERR_OK)
        e = json_get_array(root, "columns", &columns, why);
    if (e == ERR_OK)
        e = json_get_object(root, "ensemble", &ensemble, why);
    if (e == ERR_OK)
        e = columns_read(&m->columns, columns, why);
    if (e)
        return e;
    m->space = cJSON_DetachItemFromObjectCaseSensitive(root, "space");
    if (m->space)
        e = derived_new(&m->derived, m->space, &m->columns, why);
    if (e == ERR_OK)
        e = ensemble_read(&m->ensemble, m->columns.knobs, m->columns.n, ensemble, why);
    if (e == ERR_OK && ensemble_n_extra(m->ensemble) != n_derived(m))
        e = why_set(why, ERR_INPUT, "learned from %zu derived features, its space has %zu",
                    ensemble_n_extra(m->ensemble), n_derived(m));
    if (e == ERR_OK && json_has(root, "second"))
        e = read_second(cJSON_GetObjectItemCaseSensitive(root, "second"), m, why);
    return e;
}

enum err model_file_read(const char *path, struct model_file *m, struct why *why)
{
    struct model_file own = {.space = NULL};
    cJSON *root = NULL;
    struct buf text;
    enum err e;

    buf_init(&text, MODEL_FILE_MAX_BYTES);
    e = file_read(path, &text, why);
    if (e == ERR_OK) {
        e = json_parse(buf_text(&text), text.len, &root, why);
        if (e == ERR_OK)
            e = read_parts(root, &own, why);
        if (e)
            why_prefix(why, e, "%s", path);
    }
    buf_fini(&text);
    cJSON_Delete(root);
    if (e)
        model_file_fini(&own);
    else
        *m = own;
    return e;
}
