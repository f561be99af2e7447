#include "tuner/learn/model_file.h"

#include "core/file.h"

#include <string.h>

#define FORMAT "tune cost model"
#define VERSION 1

enum err model_file_write(const char *path, const struct columns *c, const struct ensemble *m, struct why *why)
{
    struct buf out;
    enum err e;

    buf_init(&out, MODEL_FILE_MAX_BYTES);
    buf_printf(&out, "{\"format\":\"%s\",\"version\":%d,\"columns\":", FORMAT, VERSION);
    e = columns_write(c, &out);
    buf_puts(&out, ",\"ensemble\":");
    if (e == ERR_OK)
        e = ensemble_write(m, &out);
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

enum err model_file_read(const char *path, struct columns *c, struct ensemble **m, struct why *why)
{
    const cJSON *columns = NULL, *ensemble = NULL;
    struct columns own = {0};
    cJSON *root = NULL;
    struct buf text;
    enum err e;

    buf_init(&text, MODEL_FILE_MAX_BYTES);
    e = file_read(path, &text, why);
    if (e) {
        buf_fini(&text);
        return e;
    }
    e = json_parse(buf_text(&text), text.len, &root, why);
    buf_fini(&text);
    if (e == ERR_OK)
        e = check_format(root, why);
    if (e == ERR_OK)
        e = json_get_array(root, "columns", &columns, why);
    if (e == ERR_OK)
        e = json_get_object(root, "ensemble", &ensemble, why);
    if (e == ERR_OK)
        e = columns_read(&own, columns, why);
    if (e == ERR_OK)
        e = ensemble_read(m, own.knobs, own.n, ensemble, why);
    cJSON_Delete(root);
    if (e) {
        columns_fini(&own);
        return why_prefix(why, e, "%s", path);
    }
    *c = own;
    return ERR_OK;
}
