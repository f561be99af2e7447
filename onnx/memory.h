/* SPDX-License-Identifier: MIT */
/* memory.h - memory of one model: counted, never more than a limit, freed at once. */
#ifndef TUNE_ONNX_MEMORY_H
#define TUNE_ONNX_MEMORY_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

#define ONNX_BLOCK_BYTES ((size_t)48) /* what a block takes besides its bytes: its head and malloc's */

struct onnx_memory {
    size_t used, most; /* bytes; `used` counts ONNX_BLOCK_BYTES a block */
    struct onnx_block *blocks;
};

void onnx_memory_init(struct onnx_memory *m, size_t most);
void onnx_memory_fini(struct onnx_memory *m); /* frees every block */

/* `n` zeros, lent until onnx_memory_fini; NULL where the limit would be passed, too. */
void *onnx_memory_take(struct onnx_memory *m, size_t n);

/* The same for protobuf-c; keeps `m`. */
ProtobufCAllocator onnx_memory_allocator(struct onnx_memory *m);

#endif
