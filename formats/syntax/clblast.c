/* SPDX-License-Identifier: MIT */
/* Files of CLBlast's tuners: one JSON object of texts (kernel_family, precision, arg_*, device ..) and "results":
 * [{"kernel": .., "time": ms, "parameters": {"MWG": 64, ..}}, ..]; and of its database, {"sections": [..]}, whose
 * sections have "parameter_names" and results ["64,32,..", ms]. A row's task is the family, its args are precision and
 * arg_*, its extra what else stands there. */
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "formats/syntax/foreign.h"
#include "formats/syntax/json_parts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SECTION_BYTES ((size_t)64 << 20)

struct reading {
    const struct foreign_sink *sink;
    cJSON *meta; /* of the section at hand */
    bool more;
    enum err failed;
};

static void tell(struct reading *s, int64_t i_line, const char *words)
{
    if (s->sink->bad)
        s->sink->bad(i_line, words, s->sink->arg);
}

static bool is_argument(const char *name)
{
    return strncmp(name, "arg_", 4) == 0 || strcmp(name, "precision") == 0;
}

static char *text_of(const cJSON *meta, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(meta, name);

    return cJSON_IsString(v) ? strdup(v->valuestring) : NULL;
}

/* Members that stand elsewhere in a row, or follow from the results. */
static bool is_placed(const char *name)
{
    static const char *const placed[] = {"kernel_family", "results",   "parameter_names",
                                         "best_kernel",   "best_time", "best_parameters"};

    for (size_t i = 0; i < sizeof placed / sizeof placed[0]; i++)
        if (strcmp(placed[i], name) == 0)
            return true;
    return false;
}

static enum err fill(struct reading *s, struct foreign_row *r)
{
    const cJSON *item;
    bool ok = true;

    r->task = text_of(s->meta, "kernel_family");
    r->target = text_of(s->meta, json_has(s->meta, "clblast_device_name") ? "clblast_device_name" : "device");
    r->args = cJSON_CreateObject();
    r->extra = cJSON_CreateObject();
    cJSON_ArrayForEach(item, s->meta)
    {
        if (is_argument(item->string))
            json_add_item(r->args, item->string, cJSON_Duplicate(item, true), &ok);
        else if (!is_placed(item->string))
            json_add_item(r->extra, item->string, cJSON_Duplicate(item, true), &ok);
    }
    return ok && r->args && r->extra ? ERR_OK : ERR_NOMEM;
}

/* `parameters` is taken. */
static void give(struct reading *s, const cJSON *result, const cJSON *time, cJSON *parameters, int64_t i_line)
{
    static const char *const kept[] = {"kernel", "tune"};
    struct foreign_row row;
    bool ok = true;

    foreign_row_init(&row);
    row.knobs = parameters;
    row.i_line = i_line;
    if (!cJSON_IsObject(parameters))
        tell(s, i_line, "a result without \"parameters\"");
    else if (!cJSON_IsNumber(time) || !isfinite(time->valuedouble) || time->valuedouble <= 0)
        tell(s, i_line, "a result without a \"time\" in milliseconds");
    else {
        row.time_s = time->valuedouble / 1e3;
        s->failed = fill(s, &row);
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
            if (json_has(result, kept[i]) && !json_has(row.extra, kept[i]))
                json_add_item(row.extra, kept[i],
                              cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(result, kept[i]), true), &ok);
        s->failed = ok ? s->failed : ERR_NOMEM;
        s->more = !s->failed && s->sink->row(&row, s->sink->arg);
    }
    foreign_row_fini(&row);
}

static void take_result(struct reading *s, const struct json_part *part)
{
    struct why why = {""};
    cJSON *result = NULL, *parameters;
    const enum err e = json_part_tree(part, FOREIGN_MAX_ROW_BYTES, &result, &why);

    if (e == ERR_NOMEM)
        s->failed = e;
    else if (e)
        tell(s, part->i_line, why.text[0] ? why.text : err_words(e));
    if (e)
        return;
    parameters = cJSON_DetachItemFromObjectCaseSensitive(result, "parameters");
    give(s, result, cJSON_GetObjectItemCaseSensitive(result, "time"), parameters, part->i_line);
    cJSON_Delete(result);
}

static void tell_end(struct reading *s, enum json_part_kind kind, int64_t i_line)
{
    if (kind == JSON_PART_CUT)
        tell(s, i_line, "the file ends here, within a value");
    else if (kind == JSON_PART_BAD)
        tell(s, i_line, "no JSON from here on");
}

/* Each part of a list that is one value; `name` is the list's. */
static void read_list(struct reading *s, const struct json_part *list, const char *name,
                      void (*take)(struct reading *s, const struct json_part *part))
{
    struct json_parts p;
    struct json_part part;
    enum json_part_kind kind = JSON_PART_BAD;
    char words[32];

    if (!json_parts_open(&p, list->value, list->n_value, list->i_line) || p.close != ']') {
        snprintf(words, sizeof words, "\"%s\" is no list", name);
        tell(s, list->i_line, words);
        return;
    }
    while (s->more && !s->failed && (kind = json_parts_next(&p, &part)) == JSON_PART_ONE)
        take(s, &part);
    if (s->more && !s->failed)
        tell_end(s, kind, p.i_line);
}

/* "64,32,.." by the names of the section. */
static cJSON *named(const cJSON *names, const char *values)
{
    cJSON *parameters = cJSON_CreateObject();
    const cJSON *name;
    bool ok = parameters && cJSON_IsArray(names);

    cJSON_ArrayForEach(name, names)
    {
        char *end = NULL;
        const double v = strtod(values, &end);

        ok = ok && cJSON_IsString(name) && end != values && (*end == ',' || !*end);
        if (ok)
            json_add_real(parameters, name->valuestring, v, &ok);
        values = ok && *end ? end + 1 : values + strlen(values);
    }
    if (ok && !*values)
        return parameters;
    cJSON_Delete(parameters);
    return NULL;
}

static void read_section(struct reading *s, const struct json_part *part)
{
    const cJSON *result;
    struct why why = {""};
    const enum err e = json_part_tree(part, MAX_SECTION_BYTES, &s->meta, &why);

    if (e == ERR_NOMEM)
        s->failed = e;
    else if (e)
        tell(s, part->i_line, why.text[0] ? why.text : err_words(e));
    if (e)
        return;
    cJSON_ArrayForEach(result, cJSON_GetObjectItemCaseSensitive(s->meta, "results"))
    {
        const cJSON *values = cJSON_GetArrayItem(result, 0);

        if (!s->more || s->failed)
            break;
        give(s, s->meta, cJSON_GetArrayItem(result, 1),
             cJSON_IsString(values)
                 ? named(cJSON_GetObjectItemCaseSensitive(s->meta, "parameter_names"), values->valuestring)
                 : NULL,
             part->i_line);
    }
    cJSON_Delete(s->meta);
    s->meta = NULL;
}

static void take_meta(struct reading *s, const struct json_part *part)
{
    char name[64];
    cJSON *value = NULL;
    bool ok = true;

    if (part->n_key >= sizeof name)
        return;
    memcpy(name, part->key, part->n_key);
    name[part->n_key] = '\0';
    if (json_part_tree(part, FOREIGN_MAX_ROW_BYTES, &value, NULL) == ERR_OK)
        json_add_item(s->meta, name, value, &ok);
    if (!ok)
        s->failed = ERR_NOMEM;
}

static enum err read_file(const char *text, size_t n, const struct foreign_sink *sink, struct why *why)
{
    struct reading s = {.sink = sink, .more = true};
    struct json_parts p;
    struct json_part part;
    enum json_part_kind kind = JSON_PART_END;
    bool any = false;

    if (!json_parts_open(&p, text, n, 1) || p.close != '}')
        return why_set(why, ERR_INPUT, "no file of CLBlast's tuners: expected a JSON object");
    s.meta = cJSON_CreateObject();
    s.failed = s.meta ? ERR_OK : ERR_NOMEM;
    while (s.more && !s.failed && ((kind = json_parts_next(&p, &part)) == JSON_PART_ONE || kind == JSON_PART_CUT)) {
        const bool results = json_part_is(&part, "results"), sections = json_part_is(&part, "sections");

        any = any || results || sections || json_part_is(&part, "kernel_family");
        if (kind == JSON_PART_CUT && !results && !sections)
            break;
        if (sections) {
            cJSON_Delete(s.meta);
            s.meta = NULL;
            read_list(&s, &part, "sections", read_section);
            break;
        }
        if (results)
            read_list(&s, &part, "results", take_result);
        else
            take_meta(&s, &part);
        if (kind == JSON_PART_CUT)
            break;
    }
    cJSON_Delete(s.meta);
    if (s.failed)
        return why_set(why, s.failed, "%s", err_words(s.failed));
    if (!any)
        return why_set(why, ERR_INPUT, "no file of CLBlast's tuners: no \"results\" and no \"sections\" in it");
    if (kind == JSON_PART_BAD)
        tell_end(&s, kind, p.i_line);
    return ERR_OK;
}

static bool sniff(const char *head, size_t n)
{
    size_t at = 0;

    while (at < n && (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t'))
        at++;
    return at < n && head[at] == '{' && memmem(head, n, "\"kernel_family\"", 15) &&
           memmem(head, n, "\"precision\"", 11);
}

/* Writing. Rows of one section have task, arguments and device in common. */
static bool is_same_section(const struct foreign_row *a, const struct foreign_row *b)
{
    return a->task && b->task && strcmp(a->task, b->task) == 0 && cJSON_Compare(a->args, b->args, true) &&
           strcmp(a->target ? a->target : "", b->target ? b->target : "") == 0;
}

static void add_all(cJSON *to, const cJSON *from, bool *ok)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, from)
    {
        if (strcmp(item->string, "tune") != 0 && strcmp(item->string, "kernel") != 0)
            json_add_item(to, item->string, cJSON_Duplicate(item, true), ok);
    }
}

static cJSON *copy_or(const cJSON *extra, const char *name, const char *otherwise)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(extra, name);

    return v ? cJSON_Duplicate(v, true) : cJSON_CreateString(otherwise);
}

static cJSON *result_of(const struct foreign_row *r, bool *ok)
{
    cJSON *result = cJSON_CreateObject();
    const cJSON *tune = cJSON_GetObjectItemCaseSensitive(r->extra, "tune");

    json_add_item(result, "kernel", copy_or(r->extra, "kernel", ""), ok);
    json_add_real(result, "time", r->time_s * 1e3, ok);
    json_add_item(result, "parameters", r->knobs ? cJSON_Duplicate(r->knobs, true) : cJSON_CreateObject(), ok);
    if (tune)
        json_add_item(result, "tune", cJSON_Duplicate(tune, true), ok);
    return result;
}

/* "MWG=64 NWG=32 ..", as the tuner sums up. */
static void add_best(cJSON *file, const struct foreign_row *best, bool *ok)
{
    const cJSON *p;
    struct buf text, time;

    buf_init(&text, 4096);
    buf_init(&time, 64);
    cJSON_ArrayForEach(p, best->knobs)
    {
        buf_printf(&text, "%s%s=%.0f", text.len ? " " : "", p->string, p->valuedouble);
    }
    buf_printf(&time, "%.6g", best->time_s * 1e3);
    json_add_item(file, "best_kernel", copy_or(best->extra, "kernel", ""), ok);
    json_add_text(file, "best_time", buf_text(&time), ok);
    json_add_text(file, "best_parameters", buf_text(&text), ok);
    buf_fini(&text);
    buf_fini(&time);
}

static const struct foreign_row *best_of(const struct foreign_row *rows, size_t n)
{
    const struct foreign_row *best = rows;

    assert(n > 0);
    for (size_t i = 1; i < n; i++)
        if (is_same_section(&rows[i], rows) && rows[i].time_s < best->time_s)
            best = &rows[i];
    return best;
}

static cJSON *tuner_file(const struct foreign_row *rows, size_t n, bool *ok)
{
    cJSON *file = cJSON_CreateObject(), *results = cJSON_CreateArray();

    json_add_text(file, "kernel_family", rows->task ? rows->task : "", ok);
    add_all(file, rows->args, ok);
    add_best(file, best_of(rows, n), ok);
    add_all(file, rows->extra, ok);
    for (size_t i = 0; *ok && i < n; i++)
        *ok = cJSON_AddItemToArray(results, result_of(&rows[i], ok));
    json_add_item(file, "results", results, ok);
    return file;
}

/* The database drops the number behind a family and the parameter PRECISION. */
static cJSON *values_of(const struct foreign_row *r, const cJSON *names, bool *ok)
{
    cJSON *pair = cJSON_CreateArray();
    const cJSON *name;
    struct buf text;

    buf_init(&text, 4096);
    cJSON_ArrayForEach(name, names)
    {
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(r->knobs, name->valuestring);

        *ok = *ok && cJSON_IsNumber(v);
        buf_printf(&text, "%s%.0f", text.len ? "," : "", v ? v->valuedouble : 0);
    }
    *ok = *ok && cJSON_AddItemToArray(pair, cJSON_CreateString(buf_text(&text))) &&
          cJSON_AddItemToArray(pair, cJSON_CreateNumber(r->time_s * 1e3));
    buf_fini(&text);
    return pair;
}

static cJSON *section_of(const struct foreign_row *rows, size_t n, size_t first, bool *ok)
{
    cJSON *section = cJSON_CreateObject(), *names = cJSON_CreateArray(), *results = cJSON_CreateArray();
    const struct foreign_row *r = &rows[first];
    const cJSON *p;
    char family[64];

    assert(first < n);
    snprintf(family, sizeof family, "%s", r->task ? r->task : "");
    if (strrchr(family, '_') && strspn(strrchr(family, '_') + 1, "0123456789") == strlen(strrchr(family, '_') + 1))
        *strrchr(family, '_') = '\0';
    json_add_text(section, "kernel_family", family, ok);
    json_add_item(section, "kernel", copy_or(r->extra, "kernel", ""), ok);
    add_all(section, r->args, ok);
    add_all(section, r->extra, ok);
    cJSON_ArrayForEach(p, r->knobs)
    {
        if (strcmp(p->string, "PRECISION") != 0)
            *ok = *ok && cJSON_AddItemToArray(names, cJSON_CreateString(p->string));
    }
    for (size_t i = first; *ok && i < n; i++)
        if (is_same_section(&rows[i], r))
            *ok = cJSON_AddItemToArray(results, values_of(&rows[i], names, ok));
    json_add_item(section, "parameter_names", names, ok);
    json_add_item(section, "results", results, ok);
    return section;
}

static cJSON *database_of(const struct foreign_row *rows, size_t n, bool *ok)
{
    cJSON *file = cJSON_CreateObject(), *sections = cJSON_CreateArray();

    for (size_t i = 0; *ok && i < n; i++) {
        bool done = false;

        for (size_t k = 0; k < i && !done; k++)
            done = is_same_section(&rows[k], &rows[i]);
        if (!done)
            *ok = cJSON_AddItemToArray(sections, section_of(rows, n, i, ok)) && *ok;
    }
    json_add_item(file, "sections", sections, ok);
    return file;
}

/* One section: a file as of a tuner; several: a database, which has no place for whole records. */
static enum err write_file(const struct foreign_row *rows, size_t n, struct buf *out, struct why *why)
{
    bool one = true, ok = true;
    cJSON *file;
    enum err e;

    for (size_t i = 1; i < n; i++)
        one = one && is_same_section(rows, &rows[i]);
    file = n && one ? tuner_file(rows, n, &ok) : database_of(rows, n, &ok);
    e = ok && file ? json_print(file, out) : ERR_NOMEM;
    cJSON_Delete(file);
    if (!e)
        e = buf_puts(out, "\n");
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

const struct foreign_format foreign_clblast = {
    .name = "clblast",
    .summary = "CLBlast's tuners (xgemm, xgemm_direct, xconvgemm) and database, JSON",
    .sniff = sniff,
    .read = read_file,
    .write = write_file,
};
