/* SPDX-License-Identifier: MIT */
#include "onnx/memory.h"

#include <assert.h>
#include <stdlib.h>

struct onnx_block {
    struct onnx_block *next, *last;
    size_t n; /* counted */
    max_align_t bytes[];
};

void onnx_memory_init(struct onnx_memory *m, size_t most)
{
    *m = (struct onnx_memory){.most = most};
}

void onnx_memory_fini(struct onnx_memory *m)
{
    while (m->blocks) {
        struct onnx_block *next = m->blocks->next;

        free(m->blocks);
        m->blocks = next;
    }
    m->used = 0;
}

void *onnx_memory_take(struct onnx_memory *m, size_t n)
{
    struct onnx_block *b;

    assert(m->used <= m->most);
    if (n > m->most - m->used || ONNX_BLOCK_BYTES > m->most - m->used - n)
        return NULL;
    b = calloc(1, sizeof *b + n);
    if (!b)
        return NULL;
    b->n = n + ONNX_BLOCK_BYTES;
    b->next = m->blocks;
    if (b->next)
        b->next->last = b;
    m->blocks = b;
    m->used += b->n;
    return b->bytes;
}

static void *take(void *m, size_t n)
{
    return onnx_memory_take(m, n);
}

static void give(void *arg, void *bytes)
{
    struct onnx_memory *m = arg;
    struct onnx_block *b;

    if (!bytes)
        return;
    b = (struct onnx_block *)(void *)((char *)bytes - offsetof(struct onnx_block, bytes));
    *(b->last ? &b->last->next : &m->blocks) = b->next;
    if (b->next)
        b->next->last = b->last;
    assert(m->used >= b->n);
    m->used -= b->n;
    free(b);
}

ProtobufCAllocator onnx_memory_allocator(struct onnx_memory *m)
{
    return (ProtobufCAllocator){take, give, m};
}
