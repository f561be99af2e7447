/* SPDX-License-Identifier: MIT */
/* text.c - small parts of C text, and the parts that are the same in every bundle. */
#include "deploy/text.h"

#include "core/buf.h"
#include "core/err.h"
#include "libtune/bundle_files.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void deploy_text_literal(const char *text, size_t n, struct buf *out)
{
    buf_puts(out, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            buf_puts(out, "\\n");
        else if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '?' || c < 0x20 || c > 0x7e) /* '?': no trigraphs */
            buf_printf(out, "\\%03o", c);
        else
            buf_append(out, &text[i], 1);
    }
    buf_puts(out, "\"");
}

void deploy_text_string(const char *text, struct buf *out)
{
    deploy_text_literal(text, strlen(text), out);
}

void deploy_text_real(double value, struct buf *out)
{
    if (isnan(value))
        buf_puts(out, "NAN");
    else if (isinf(value))
        buf_puts(out, value > 0 ? "INFINITY" : "-INFINITY");
    else
        buf_printf(out, "%.17g", value);
}

void deploy_text_whole(int64_t value, struct buf *out)
{
    if (value == INT64_MIN)
        buf_puts(out, "(-9223372036854775807 - 1)");
    else
        buf_printf(out, "%lld", (long long)value);
}

void deploy_text_bytes(const unsigned char *bytes, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%u,", i % 24 == 0 ? "\n    " : "", bytes[i]);
}

/* ---- parts that are the same in every bundle ---- */

static const struct bundle_file *find_part(const char *file)
{
    for (const struct bundle_file *f = bundle_files; f->name; f++)
        if (strcmp(f->name, file) == 0)
            return f;
    return NULL;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The word at `at` with the bundle's name in its place; returns its length in the part's text. */
static size_t put_word(const struct deploy_set *s, const char *at, struct buf *out)
{
    size_t n = 0;
    assert(is_word(at[0]));
    while (is_word(at[n]))
        n++;
    if (n >= 4 && strncmp(at, "NAME", 4) == 0 && (n == 4 || strchr("_CT", at[4]))) { /* NAMEConfig, NAMETargets */
        buf_puts(out, s->name);
        buf_append(out, at + 4, n - 4);
    } else if (n > 5 && strncmp(at, "CAPS_", 5) == 0) {
        buf_puts(out, s->capitals);
        buf_append(out, at + 4, n - 4);
    } else {
        buf_append(out, at, n);
    }
    return n;
}

static void put_line(const struct deploy_set *s, const char *at, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;)
        if (is_word(at[i]))
            i += put_word(s, at + i, out);
        else
            buf_append(out, at + i++, 1);
}

/* The line at the head of a part; a file of a bundle has it once, at its own head. */
static bool names_licence(const char *line)
{
    static const char in_c[] = "/* " DEPLOY_LICENCE, in_lists[] = "# " DEPLOY_LICENCE;
    return strncmp(line, in_c, sizeof in_c - 1) == 0 || strncmp(line, in_lists, sizeof in_lists - 1) == 0;
}

enum err deploy_text_part(const struct deploy_set *s, const char *file, struct buf *out, struct why *why)
{
    const struct bundle_file *f = find_part(file);
    if (!f)
        return why_set(why, ERR_NOT_FOUND, "the part %s of bundles is not built in", file);
    for (const char *at = f->text, *end = f->text + f->n_bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((newline ? newline + 1 : end) - at);
        if (strncmp(at, "#include \"exec/", 15) != 0 && !names_licence(at))
            put_line(s, at, n, out);
        at += n;
    }
    return out->failed;
}
