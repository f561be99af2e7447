/* SPDX-License-Identifier: MIT */
#include "core/csvz.h"

#include "core/buf.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define READ_STEP 65536u
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* that spreadsheets write before UTF-8 */

static enum err read_text(const char *path, struct buf *out, struct why *why)
{
    gzFile f;
    char *to;
    int n = 0, status = Z_OK, code;

    errno = 0;
    f = gzopen(path, "rbe");
    if (!f)
        return why_set(why, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path, strerror(errno));
    while ((to = buf_room(out, READ_STEP)) && (n = gzread(f, to, READ_STEP)) > 0) {
        out->len += (size_t)n;
        out->data[out->len] = '\0';
    }
    code = errno;
    (void)gzerror(f, &status);
    if (gzclose_r(f) != Z_OK || n < 0 || status != Z_OK)
        return why_set(why, ERR_IO, "%s: %s", path,
                       status == Z_ERRNO ? strerror(code) : "cannot be read, or cut short");
    if (out->failed == ERR_LIMIT)
        return why_set(why, ERR_LIMIT, "%s: larger than %zu bytes", path, CSVZ_MAX_BYTES);
    if (out->failed)
        return why_set(why, out->failed, "%s: %s", path, err_words(out->failed));
    return ERR_OK;
}

static size_t count(const char *text, size_t n, char c)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += text[i] == c;
    return found;
}

/* How many cells a line has; 0 = a quotation mark is not closed. */
static size_t count_cells(const char *line, size_t n)
{
    size_t found = 1;
    bool quoted = false;

    for (size_t i = 0; i < n; i++) {
        quoted ^= line[i] == '"';
        found += line[i] == ',' && !quoted;
    }
    return quoted ? 0 : found;
}

/* The cell that begins here, without the marks around it, in its own place; returns where it ends: at a comma, the NUL,
 * or where something stands that should not. */
static char *take_cell(char *at, const char **cell)
{
    char *to = at + 1;

    *cell = *at == '"' ? to : at;
    if (*at != '"')
        return at + strcspn(at, ",\"");
    for (at = to; *at && (*at != '"' || at[1] == '"'); at++) {
        at += *at == '"';
        *to++ = *at;
    }
    at += *at == '"';
    if (*at == ',' || !*at)
        *to = '\0';
    return at;
}

/* Cuts one line, of n bytes and a NUL, into cells; ERR_INPUT without words when it has not exactly n_cells, *n_found
 * (0: a mark is not closed or stands within a cell). */
static enum err split(char *line, size_t n, const char **cells, size_t n_cells, size_t *n_found)
{
    if (n && line[n - 1] == '\r')
        line[--n] = '\0';
    *n_found = count_cells(line, n);
    if (*n_found == 0 || *n_found != n_cells)
        return ERR_INPUT;
    for (size_t i = 0; i < n_cells; i++) {
        char *end = take_cell(line, &cells[i]);

        if (*end && *end != ',') {
            *n_found = 0;
            return ERR_INPUT;
        }
        assert((*end == ',') == (i + 1 < n_cells));
        line = end + (*end == ',');
        *end = '\0';
    }
    return ERR_OK;
}

static enum err split_all(struct csvz *t, size_t n_text, const char *path, struct why *why)
{
    const size_t n_lines = count(t->text, n_text, '\n') + (n_text && t->text[n_text - 1] != '\n');
    char *at = t->text, *end = t->text + n_text;
    size_t n_found = 0;

    const char *nul = memchr(t->text, '\0', n_text);

    if (nul)
        return why_set(why, ERR_INPUT, "%s:%zu: a NUL byte, expected text", path,
                       count(t->text, (size_t)(nul - t->text), '\n') + 1);
    if (n_lines == 0)
        return why_set(why, ERR_INPUT, "%s: expected text with a line of column names first", path);
    t->n_columns = count_cells(t->text, strcspn(t->text, "\n"));
    t->n_rows = n_lines - 1;
    t->cells = calloc(n_lines * t->n_columns + 1, sizeof *t->cells);
    if (!t->cells)
        return why_set(why, ERR_NOMEM, "%s: %s", path, err_words(ERR_NOMEM));
    if (strncmp(at, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
        at += strlen(BYTE_ORDER_MARK);
    for (size_t i = 0; i < n_lines; i++) {
        char *stop = memchr(at, '\n', (size_t)(end - at));

        stop = stop ? stop : end;
        *stop = '\0';
        if (split(at, (size_t)(stop - at), t->cells + i * t->n_columns, t->n_columns, &n_found))
            return n_found ? why_set(why, ERR_INPUT, "%s:%zu: expected %zu cells, found %zu", path, i + 1, t->n_columns,
                                     n_found)
                           : why_set(why, ERR_INPUT,
                                     "%s:%zu: a quotation mark, expected such only around a cell, two for one in it",
                                     path, i + 1);
        at = stop + 1;
    }
    assert(at >= end); /* no byte is left over */
    return ERR_OK;
}

enum err csvz_read(const char *path, struct csvz *out, struct why *why)
{
    struct csvz t = {.text = NULL};
    struct buf text;
    size_t n_text;
    enum err e;

    buf_init(&text, CSVZ_MAX_BYTES);
    e = read_text(path, &text, why);
    n_text = text.len;
    if (!e) {
        t.text = buf_take(&text);
        e = split_all(&t, n_text, path, why);
    }
    buf_fini(&text);
    if (e)
        csvz_fini(&t);
    else
        *out = t;
    return e;
}

void csvz_fini(struct csvz *t)
{
    if (!t)
        return;
    free(t->text);
    free(t->cells);
    *t = (struct csvz){.text = NULL};
}

int csvz_column(const struct csvz *t, const char *name)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->cells[i], name) == 0)
            return (int)i;
    return -1;
}

const char *csvz_text(const struct csvz *t, size_t i_row, size_t i_column)
{
    assert(i_row < t->n_rows && i_column < t->n_columns);
    return t->cells[(i_row + 1) * t->n_columns + i_column];
}

/* Plain decimals such as -12.75 whose digits fit 2^53: the quotient of two exact numbers is rounded once, as strtod's
 * result is (Clinger 1990). False: something else. */
static bool plain_number(const char *text, double *out)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const bool minus = *text == '-';
    const char *at = text + minus, *point = NULL;
    uint64_t digits = 0;
    size_t n = 0;

    for (; n <= 15 && ((*at >= '0' && *at <= '9') || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = at;
        } else {
            digits = 10 * digits + (uint64_t)(*at - '0');
            n++;
        }
    }
    if (*at || n == 0 || n > 15)
        return false;
    *out = (double)digits / powers[point ? (size_t)(at - point) - 1 : 0];
    *out = minus ? -*out : *out;
    return true;
}

double csvz_number(const struct csvz *t, size_t i_row, size_t i_column)
{
    const char *text = csvz_text(t, i_row, i_column);
    char *end = NULL;
    double v;

    if (plain_number(text, &v))
        return v;
    v = strtod(text, &end);
    return end == text || *end ? NAN : v;
}

enum err csvz_put(struct buf *out, const char *word)
{
    if (!strpbrk(word, ",\"\r\n"))
        return buf_puts(out, word);
    buf_puts(out, "\"");
    for (; *word; word++)
        buf_printf(out, "%s%c", *word == '"' ? "\"" : "", *word);
    return buf_puts(out, "\"");
}
