/* SPDX-License-Identifier: MIT */
#include "core/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 256u

void buf_init(struct buf *b, size_t max_bytes)
{
    *b = (struct buf){.max_bytes = max_bytes};
}

void buf_fini(struct buf *b)
{
    if (!b)
        return;
    free(b->data);
    *b = (struct buf){.max_bytes = b->max_bytes};
}

char *buf_room(struct buf *b, size_t n)
{
    size_t need, cap = b->cap ? b->cap : FIRST_CAP;
    char *data;

    assert(b->data ? b->len < b->cap : b->len == 0 && b->cap == 0);
    if (b->failed)
        return NULL;
    if (n > b->max_bytes || b->len > b->max_bytes - n || n >= (size_t)-1 - b->len) {
        b->failed = ERR_LIMIT;
        return NULL;
    }
    need = b->len + n + 1;
    if (need <= b->cap)
        return b->data + b->len;
    while (cap < need)
        cap = cap > (size_t)-1 / 2 ? need : cap * 2;
    data = realloc(b->data, cap);
    if (!data) {
        b->failed = ERR_NOMEM;
        return NULL;
    }
    b->data = data;
    b->cap = cap;
    b->data[b->len] = '\0';
    return b->data + b->len;
}

enum err buf_append(struct buf *b, const void *bytes, size_t n)
{
    char *to = buf_room(b, n);

    if (!to)
        return b->failed;
    if (n)
        memcpy(to, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
    return ERR_OK;
}

enum err buf_puts(struct buf *b, const char *text)
{
    return buf_append(b, text, strlen(text));
}

enum err buf_vprintf(struct buf *b, const char *format, va_list args)
{
    va_list again;
    char *to;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (n < 0) {
        b->failed = b->failed ? b->failed : ERR_INPUT;
        return b->failed;
    }
    to = buf_room(b, (size_t)n);
    if (!to)
        return b->failed;
    vsnprintf(to, (size_t)n + 1, format, args);
    b->len += (size_t)n;
    return ERR_OK;
}

enum err buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    enum err e;

    va_start(args, format);
    e = buf_vprintf(b, format, args);
    va_end(args);
    return e;
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = ERR_OK;
    if (b->data)
        b->data[0] = '\0';
}

char *buf_take(struct buf *b)
{
    char *data = b->data;

    assert(!data || b->len < b->cap);
    *b = (struct buf){.max_bytes = b->max_bytes};
    return data;
}

const char *buf_text(const struct buf *b)
{
    return b->data ? b->data : "";
}
