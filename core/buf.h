/* SPDX-License-Identifier: MIT */
/* buf.h - a growing byte buffer with a maximum; always NUL-terminated behind its length. */
#ifndef TUNE_CORE_BUF_H
#define TUNE_CORE_BUF_H

#include "core/err.h"

#include <stdarg.h>
#include <stddef.h>

struct buf {
    char *data;       /* NULL while empty; else data[len] == '\0' */
    size_t len;       /* bytes used */
    size_t cap;       /* bytes allocated */
    size_t max_bytes; /* len never passes this */
    enum err failed;  /* first failure of an append; sticky, so a chain needs one check */
};

/* The caller's memory; nothing is allocated before the first append. */
void buf_init(struct buf *b, size_t max_bytes);
void buf_fini(struct buf *b);

/* Appends; ERR_NOMEM or ERR_LIMIT leave the content as it was and set `failed`. */
enum err buf_append(struct buf *b, const void *bytes, size_t n);
enum err buf_puts(struct buf *b, const char *text);
enum err buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum err buf_vprintf(struct buf *b, const char *format, va_list args);

/* Makes room for `n` more bytes and lends the place; the caller fills it and adds to `len` itself. NULL on failure. */
char *buf_room(struct buf *b, size_t n);

/* Forgets the content, keeps the memory. */
void buf_clear(struct buf *b);

/* Gives the content away (free() it); the buffer is empty afterwards. NULL when nothing was ever appended. */
char *buf_take(struct buf *b);

/* Lends the text; "" while empty. */
const char *buf_text(const struct buf *b);

#endif
