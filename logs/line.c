/* SPDX-License-Identifier: MIT */
#include "logs/line.h"

#include "core/err.h"
#include "core/json.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define TAIL_BYTES 21 /* ,"crc32c":"xxxxxxxx"} */

/* Behind `word` at p, or NULL. */
static const char *behind(const char *p, const char *end, const char *word)
{
    const size_t n = strlen(word);

    return p && (size_t)(end - p) >= n && memcmp(p, word, n) == 0 ? p + n : NULL;
}

/* Behind the digits at p; NULL when there are none, or more than an exact number has. */
static const char *read_digits(const char *p, const char *end, int64_t *out)
{
    const char *start = p;

    *out = 0;
    while (p && p < end && *p >= '0' && *p <= '9' && p - start < 16)
        *out = *out * 10 + (*p++ - '0');
    return p && p > start && p - start < 16 ? p : NULL;
}

/* Behind the closing quote of plain text; NULL for escapes and for what does not fit. */
static const char *read_text(const char *p, const char *end, char *out, size_t n_out)
{
    const char *quote = p ? memchr(p, '"', (size_t)(end - p)) : NULL;
    const size_t n = quote ? (size_t)(quote - p) : 0;

    if (!quote || n >= n_out || memchr(p, '\\', n))
        return NULL;
    assert(n < n_out && p[n] == '"');
    memcpy(out, p, n);
    out[n] = '\0';
    return quote + 1;
}

/* `"ts":123` before the checksum, read from its end. */
static bool read_ts(const char *line, const char *end, int64_t *out)
{
    static const char name[] = ",\"ts\":";
    const char *p = end;

    while (p > line && p[-1] >= '0' && p[-1] <= '9')
        p--;
    return p - line > (long)sizeof name - 1 && memcmp(p - (sizeof name - 1), name, sizeof name - 1) == 0 &&
           read_digits(p, end, out) == end;
}

static bool read_quickly(const char *text, size_t n, struct line_head *out)
{
    const char *end = text + n - TAIL_BYTES, *p = text;

    p = behind(p, end, "{\"schema\":");
    p = read_digits(p, end, &out->schema);
    p = behind(p, end, ",\"id\":\"");
    p = read_text(p, end, out->id, sizeof out->id);
    p = behind(p, end, ",\"job\":\"");
    p = read_text(p, end, out->job, sizeof out->job);
    return p && out->schema >= 1 && out->schema <= INT32_MAX && *p == ',' && read_ts(p, end, &out->ts_ms);
}

/* Of a line whose members stand in another order, or of a newer schema: what its tree says. */
static enum err read_tree(const char *text, size_t n, struct line_head *out, struct why *why)
{
    cJSON *tree = NULL;
    const char *id = "", *job = "";
    enum err e = json_parse(text, n, &tree, why);

    if (!e)
        e = json_get_i64(tree, "schema", 1, INT32_MAX, &out->schema, why);
    if (!e)
        e = json_get_text(tree, "id", &id, why);
    if (!e)
        e = json_text_or(tree, "job", "", &job, why);
    if (!e)
        e = json_i64_or(tree, "ts", 0, -JSON_EXACT_MAX, JSON_EXACT_MAX, &out->ts_ms, why);
    if (!e && (strlen(id) >= sizeof out->id || strlen(job) >= sizeof out->job))
        e = why_set(why, ERR_INPUT, "'id' or 'job' is too long");
    if (!e) {
        strcpy(out->id, id);
        strcpy(out->job, job);
    }
    cJSON_Delete(tree);
    return !e || e == ERR_NOMEM ? e : ERR_INPUT;
}

enum err line_head(const struct log_line *line, struct line_head *out, struct why *why)
{
    struct line_head head = {.schema = 0};
    size_t n = line->n;
    enum err e;

    if (!line->text)
        return why_set(why, ERR_INPUT, "longer than %d bytes", RECORD_MAX_BYTES);
    if (n && line->text[n - 1] == '\r')
        n--;
    e = record_check_sum(line->text, n, why);
    if (e && line->is_torn)
        why_prefix(why, e, "the file ends within this line");
    if (!e && !read_quickly(line->text, n, &head))
        e = read_tree(line->text, n, &head, why);
    assert(e || (head.schema >= 1 && head.schema <= INT32_MAX));
    if (!e)
        *out = head;
    return e;
}
