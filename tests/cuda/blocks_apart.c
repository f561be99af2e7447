/* SPDX-License-Identifier: MIT */
#include "tests/cuda/blocks_apart.h"

#include "tests/cuda/block.h"

#include <stdio.h>
#include <stdlib.h>

/* A byte that the running block writes where another wrote: what it was. */
struct rewrite {
    const struct apart_buffer *buffer;
    size_t offset;
    int thread;
    unsigned char was;
};

static struct {
    const struct apart_buffer *buffers;
    size_t n;
    size_t last;           /* buffer that was touched */
    uint32_t first, block; /* of the launch, running: blocks are counted on from launch to launch */
    struct rewrite *rewrites;
    size_t n_rewrites, cap;
} apart;

void apart_launch(const struct apart_buffer *buffers, size_t n)
{
    apart.buffers = buffers;
    apart.n = n;
    apart.last = 0;
    apart.first = apart.block + 1;
}

void apart_block(void)
{
    apart.block++;
    apart.n_rewrites = 0;
}

static const struct apart_buffer *find(const void *at, size_t n, size_t *offset)
{
    for (size_t k = 0; k < apart.n; k++) {
        const size_t i = (apart.last + k) % apart.n;
        const struct apart_buffer *b = &apart.buffers[i];

        *offset = (size_t)((uintptr_t)at - (uintptr_t)b->at);
        if (*offset < b->n_bytes && n <= b->n_bytes - *offset) {
            apart.last = i;
            return b;
        }
    }
    return NULL;
}

uintptr_t apart_place(const void *at)
{
    size_t offset;

    return find(at, 1, &offset) ? offset : (uintptr_t)at;
}

static int is_other(uint32_t block)
{
    return block >= apart.first && block != apart.block;
}

static void tell(const struct apart_buffer *b, size_t offset, int thread, const char *what, const char *was)
{
    char words[256], mine[80];

    block_describe(thread, mine);
    snprintf(words, sizeof words, "race: byte %zu of a buffer of %zu is %s by %s, and was %s by another block", offset,
             b->n_bytes, what, mine, was);
    block_fail(719, words);
}

void apart_block_ends(void)
{
    for (size_t i = 0; i < apart.n_rewrites; i++) {
        const struct rewrite *r = &apart.rewrites[i];

        if (r->buffer->at[r->offset] != r->was)
            tell(r->buffer, r->offset, r->thread, "changed", "written");
    }
}

static void note_rewrite(const struct apart_buffer *b, size_t offset)
{
    if (apart.n_rewrites == apart.cap) {
        const size_t cap = apart.cap ? 2 * apart.cap : 256;
        struct rewrite *more = realloc(apart.rewrites, cap * sizeof *more);

        if (!more)
            block_fail(2, "no memory to note what blocks write");
        apart.rewrites = more;
        apart.cap = cap;
    }
    apart.rewrites[apart.n_rewrites++] = (struct rewrite){b, offset, block_thread(), b->at[offset]};
}

static void note_write(const struct apart_buffer *b, size_t offset)
{
    struct touch *t = &b->touches[offset];

    if (is_other(t->reader))
        tell(b, offset, block_thread(), "written", "read");
    if (is_other(t->writer))
        note_rewrite(b, offset);
    t->writer = apart.block;
}

static void note_read(const struct apart_buffer *b, size_t offset)
{
    struct touch *t = &b->touches[offset];

    if (is_other(t->writer))
        tell(b, offset, block_thread(), "read", "written");
    if (t->reader < apart.first)
        t->reader = apart.block;
}

static void tell_band(const struct apart_buffer *b, size_t offset, size_t n)
{
    const size_t begin = b->n_band, end = b->n_bytes - b->n_band;
    char words[256], mine[80];

    block_describe(block_thread(), mine);
    snprintf(words, sizeof words, "%zu bytes %zu %s a buffer of %zu are read by %s", n,
             offset < begin ? begin - offset : offset - end, offset < begin ? "before" : "behind", end - begin, mine);
    block_fail(700, words);
}

void apart_access(const void *at, size_t n, int writes)
{
    size_t offset;
    const struct apart_buffer *b = find(at, n, &offset);

    if (b && n && !writes && (offset < b->n_band || offset + n > b->n_bytes - b->n_band))
        tell_band(b, offset, n);
    for (size_t i = 0; b && i < n; i++)
        if (writes)
            note_write(b, offset + i);
        else
            note_read(b, offset + i);
}
