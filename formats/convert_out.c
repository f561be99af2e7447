/* SPDX-License-Identifier: MIT */
#include "core/buf.h"
#include "core/err.h"
#include "core/file_out.h"
#include "core/json.h"
#include "core/vec.h"
#include "formats/convert.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 1024 /* rows of formats that are written piece by piece */
#define MAX_TEXT_BYTES ((size_t)1 << 32)

struct convert_out {
    struct file_out file;
    const struct foreign_format *format; /* NULL = our own */
    const struct convert_map *map;
    struct foreign_row *rows;
    size_t n, cap;
};

static enum err open_format(struct convert_out *o, const char *name, struct why *why)
{
    enum err e = convert_find(name, &o->format, why);

    if (e || !o->format)
        return e;
    o->map = convert_map_of(name);
    if (!o->format->write || !o->map || !o->map->from_record)
        return why_set(why, ERR_INPUT, "format %s is read, not written", name);
    return ERR_OK;
}

enum err convert_open(struct convert_out **out, const char *path, const char *format, struct why *why)
{
    struct convert_out *o = calloc(1, sizeof *o);
    enum err e;

    if (!o)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    o->file.fd = -1;
    e = open_format(o, format, why);
    if (!e)
        e = file_out_open(&o->file, path, 0644, why);
    if (e)
        (void)convert_close(o, false, NULL);
    else
        *out = o;
    return e;
}

static void forget_rows(struct convert_out *o)
{
    while (o->n)
        foreign_row_fini(&o->rows[--o->n]);
}

static enum err write_rows(struct convert_out *o, struct why *why)
{
    struct buf text;
    enum err e;

    assert(o->format && o->format->write && o->n <= o->cap);
    buf_init(&text, MAX_TEXT_BYTES);
    e = o->format->write(o->rows, o->n, &text, why);
    if (!e)
        e = file_out_put(&o->file, buf_text(&text), text.len, why);
    buf_fini(&text);
    forget_rows(o);
    return e;
}

static enum err grow(struct convert_out *o, struct why *why)
{
    const enum err e = VEC_ROOM(o->rows, o->cap, o->n + 1, CONVERT_MAX_ROWS);

    if (e == ERR_LIMIT)
        return why_set(why, e, "more than %zu records for one file of format %s", CONVERT_MAX_ROWS, o->format->name);
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

/* Where a row carries the record whole, it carries the line as it stood: a line may have fewer members than a record
 * prints (the tracker's own) or more. */
static enum err carry_line(struct foreign_row *row, const char *line, size_t n_line)
{
    cJSON *carried = cJSON_GetObjectItemCaseSensitive(row->extra, CONVERT_CARRIED);
    char *copy = cJSON_IsString(carried) ? strndup(line, n_line) : NULL;
    cJSON *text = copy ? cJSON_CreateString(copy) : NULL;

    free(copy);
    if (!cJSON_IsString(carried))
        return ERR_OK;
    if (text && cJSON_ReplaceItemInObjectCaseSensitive(row->extra, CONVERT_CARRIED, text))
        return ERR_OK;
    cJSON_Delete(text);
    return ERR_NOMEM;
}

enum err convert_put(struct convert_out *o, const struct record *r, const char *line, size_t n_line, struct why *why)
{
    enum err e;

    if (!o->format) {
        e = file_out_put(&o->file, line, n_line, why);
        return e ? e : file_out_put(&o->file, "\n", 1, why);
    }
    e = grow(o, why);
    assert(e || o->n < o->cap);
    if (!e)
        e = o->map->from_record(r, &o->rows[o->n], why);
    o->n += !e;
    if (!e && carry_line(&o->rows[o->n - 1], line, n_line))
        e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    return !e && o->format->is_lines && o->n == BATCH ? write_rows(o, why) : e;
}

enum err convert_close(struct convert_out *o, bool keep, struct why *why)
{
    enum err e = ERR_OK;

    if (!o)
        return e;
    if (keep && o->format && (o->n || !o->format->is_lines))
        e = write_rows(o, why);
    if (keep && !e)
        e = file_out_commit(&o->file, why);
    forget_rows(o);
    free(o->rows);
    file_out_close(&o->file);
    free(o);
    return e;
}
