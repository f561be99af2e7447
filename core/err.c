/* SPDX-License-Identifier: MIT */
#include "core/err.h"

#include "core/terminal.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    enum err e;
    const char *name;
    const char *words;
} errors[] = {
#define X(number, name, words) {ERR_##name, #name, words},
    ERR_MAP(X)
#undef X
};

#define N_ERRORS (sizeof errors / sizeof errors[0])

const char *err_words(enum err e)
{
    for (size_t i = 0; i < N_ERRORS; i++)
        if (errors[i].e == e)
            return errors[i].words;
    return "unknown error";
}

const char *err_name(enum err e)
{
    static _Thread_local char name[32];
    const char *upper = "PROTOCOL";
    size_t n = 0;

    for (size_t i = 0; i < N_ERRORS; i++)
        if (errors[i].e == e)
            upper = errors[i].name;
    for (; n < sizeof name - 1 && upper[n]; n++)
        name[n] = (char)tolower((unsigned char)upper[n]);
    name[n] = '\0';
    return name;
}

/* Not through err_name: `name` may be what it returned last. */
static int is_lower_of(const char *name, const char *upper)
{
    while (*upper && *name == (char)tolower((unsigned char)*upper)) {
        name++;
        upper++;
    }
    return !*upper && !*name;
}

enum err err_by_name(const char *name)
{
    for (size_t i = 0; name && i < N_ERRORS; i++)
        if (is_lower_of(name, errors[i].name))
            return errors[i].e;
    return ERR_PROTOCOL;
}

void text_plain(char *text, const char *keep)
{
    unsigned code;

    for (; text && *text; text++)
        if (!strchr(keep, *text))
            memset(text, ' ', text_unseen(text, &code));
}

/* Bytes of the UTF-8 character at s (RFC 3629), or 0 where there is none. */
static size_t utf8_length(const unsigned char *s)
{
    const size_t n = s[0] < 0x80                   ? 1
                     : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                     : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                     : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                   : 0;

    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

void text_utf8(char *out, size_t n_out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t n = 0;

    while (*s) {
        const size_t n_char = utf8_length(s), step = n_char ? n_char : 1;

        if (n + step >= n_out)
            break;
        memcpy(out + n, n_char ? (const char *)s : "?", step);
        n += step;
        s += step;
    }
    assert(n < n_out);
    out[n] = '\0';
}

enum err why_set(struct why *why, enum err e, const char *format, ...)
{
    va_list args;

    if (!why)
        return e;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    text_plain(why->text, ""); /* words quote what was read */
    return e;
}

enum err why_prefix(struct why *why, enum err e, const char *format, ...)
{
    char tail[sizeof why->text];
    va_list args;
    size_t n, room;

    if (!why)
        return e;
    memcpy(tail, why->text, sizeof tail);
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    n = strlen(why->text);
    room = sizeof why->text - 1 - n;
    strncat(why->text, ": ", room);
    strncat(why->text, tail, room > 2 ? room - 2 : 0);
    text_plain(why->text, ""); /* words quote what was read */
    return e;
}
