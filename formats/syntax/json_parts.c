/* SPDX-License-Identifier: MIT */
#include "formats/syntax/json_parts.h"

#include "core/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void step(struct json_parts *p)
{
    assert(p->at < p->end);
    p->i_line += *p->at++ == '\n';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_space(struct json_parts *p)
{
    while (p->at < p->end && is_space(*p->at))
        step(p);
}

bool json_parts_open(struct json_parts *p, const char *text, size_t n, int64_t i_line)
{
    *p = (struct json_parts){.at = text, .end = text + n, .i_line = i_line};
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        p->at += 3;
    skip_space(p);
    if (p->at == p->end || (*p->at != '{' && *p->at != '['))
        return false;
    p->close = *p->at++ == '{' ? '}' : ']';
    return true;
}

/* Behind the string that begins here; false when it does not end. */
static bool pass_string(struct json_parts *p)
{
    for (step(p); p->at < p->end; step(p)) {
        if (*p->at == '"') {
            step(p);
            return true;
        }
        if (*p->at == '\\' && p->at + 1 < p->end)
            step(p);
    }
    return false;
}

/* Behind the object or array that begins here, however deep: only brackets are counted, the tree's reader judges. */
static bool pass_nested(struct json_parts *p)
{
    size_t depth = 0;

    while (p->at < p->end) {
        const char c = *p->at;

        if (c == '"') {
            if (!pass_string(p))
                return false;
            continue;
        }
        step(p);
        depth += c == '{' || c == '[';
        if ((c == '}' || c == ']') && --depth == 0)
            return true;
    }
    return false;
}

/* Behind a number or word, which must be followed by something to be whole. */
static bool pass_plain(struct json_parts *p)
{
    while (p->at < p->end && !is_space(*p->at) && !strchr(",]}:{[\"", *p->at))
        step(p);
    return p->at < p->end;
}

static bool pass_value(struct json_parts *p)
{
    if (*p->at == '"')
        return pass_string(p);
    return *p->at == '{' || *p->at == '[' ? pass_nested(p) : pass_plain(p);
}

/* The key and its colon. */
static enum json_part_kind read_key(struct json_parts *p, struct json_part *out)
{
    const char *start = p->at + 1;

    if (*p->at != '"')
        return JSON_PART_BAD;
    if (!pass_string(p))
        return JSON_PART_CUT;
    out->key = start;
    out->n_key = (size_t)(p->at - 1 - start);
    skip_space(p);
    if (p->at == p->end)
        return JSON_PART_CUT;
    if (*p->at != ':')
        return JSON_PART_BAD;
    step(p);
    skip_space(p);
    return p->at == p->end ? JSON_PART_CUT : JSON_PART_ONE;
}

enum json_part_kind json_parts_next(struct json_parts *p, struct json_part *out)
{
    enum json_part_kind kind = JSON_PART_ONE;

    *out = (struct json_part){.value = p->end, .i_line = p->i_line};
    for (skip_space(p); p->at < p->end && *p->at == ','; skip_space(p))
        step(p);
    if (p->at == p->end)
        return JSON_PART_CUT;
    if (*p->at == p->close) {
        step(p);
        return JSON_PART_END;
    }
    if (p->close == '}')
        kind = read_key(p, out);
    if (kind != JSON_PART_ONE)
        return kind;
    out->value = p->at;
    out->i_line = p->i_line;
    if (!pass_value(p))
        kind = JSON_PART_CUT;
    else if (p->at == out->value)
        kind = JSON_PART_BAD;
    assert(out->value <= p->at && p->at <= p->end);
    out->n_value = (size_t)(p->at - out->value);
    return kind;
}

bool json_part_is(const struct json_part *part, const char *name)
{
    return part->key && part->n_key == strlen(name) && memcmp(part->key, name, part->n_key) == 0;
}

/* Bytes of a word that is no JSON at s, 0 = none. */
static size_t not_a_number(const char *s, size_t n)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n >= strlen(words[i]) && memcmp(s, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

/* A copy with null in the place of such words outside of strings; they are never shorter than "nan". */
static size_t copy_clean(const char *text, size_t n, char *to)
{
    size_t n_out = 0;
    bool in_string = false;

    for (size_t i = 0; i < n; i++) {
        const size_t n_word = in_string ? 0 : not_a_number(text + i, n - i);

        if (n_word) {
            memcpy(to + n_out, "null", 4);
            n_out += 4;
            i += n_word - 1;
            continue;
        }
        if (text[i] == '"')
            in_string = !in_string;
        to[n_out++] = text[i];
        if (in_string && text[i] == '\\' && i + 1 < n)
            to[n_out++] = text[++i];
    }
    assert(n_out <= n + n / 3);
    return n_out;
}

enum err json_part_tree(const struct json_part *part, size_t max_bytes, cJSON **out, struct why *why)
{
    char *clean;
    enum err e;

    if (part->n_value > max_bytes)
        return why_set(why, ERR_LIMIT, "longer than %zu bytes", max_bytes);
    if (!memmem(part->value, part->n_value, "NaN", 3) && !memmem(part->value, part->n_value, "Infinity", 8))
        return json_parse(part->value, part->n_value, out, why);
    clean = malloc(part->n_value + part->n_value / 3 + 1); /* NaN grows by a byte */
    if (!clean)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    e = json_parse(clean, copy_clean(part->value, part->n_value, clean), out, why);
    free(clean);
    return e;
}
