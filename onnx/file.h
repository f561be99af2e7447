/* SPDX-License-Identifier: MIT */
/* file.h - an ONNX file unpacked, and the files of weights beside it. Memory is bounded before anything is unpacked:
 * ONNX_MEMORY_BASE and ONNX_MEMORY_PER_BYTE times the file, ONNX_MEMORY_PER_BULK times its weights. */
#ifndef TUNE_ONNX_FILE_H
#define TUNE_ONNX_FILE_H

#include "core/err.h"
#include "onnx/memory.h"
#include "onnx/onnx.pb-c.h"

#include <stddef.h>
#include <stdint.h>

#define ONNX_MAX_NODES 65536
#define ONNX_MAX_FILES 1024 /* of weights beside a model */
#define ONNX_MAX_BYTES ((size_t)1 << 31)
#define ONNX_MEMORY_BASE ((size_t)4 << 20)
#define ONNX_MEMORY_PER_BYTE 32 /* of names, sizes and the like, which become structs */
#define ONNX_MEMORY_PER_BULK 12 /* of weights: the bytes, and what is computed of them in double */

struct onnx_side { /* a file of weights, mapped */
    char *name;
    const uint8_t *bytes;
    size_t n;
};

struct onnx_file {
    struct onnx_memory memory;
    const Onnx__ModelProto *model; /* with a graph */
    int folder;                    /* open on the model's; -1: none, nothing external can be read */
    struct onnx_side *sides;
    size_t n_sides;
};

/* ERR_NOT_FOUND, ERR_IO; ERR_INPUT, ERR_LIMIT for what is no model, damaged, or beyond the bounds above. Words begin
 * with the path. */
enum err onnx_file_open(const char *path, struct onnx_file *out, struct why *why);

/* The same of bytes in memory, without a folder. */
enum err onnx_file_parse(const void *bytes, size_t n, struct onnx_file *out, struct why *why);
void onnx_file_close(struct onnx_file *f);

/* A tensor in a file of its own, lent until onnx_file_close; memory is bounded as for models. */
enum err onnx_file_tensor(struct onnx_file *f, const char *path, const Onnx__TensorProto **out, struct why *why);

/* Lends `n` bytes (with n = SIZE_MAX, in: all to the end) of a file in the model's folder or below it. ERR_INPUT: an
 * absolute name, one with "..", a symbolic link on the way, no plain file, a piece beyond its end. */
enum err onnx_file_external(struct onnx_file *f, const char *name, uint64_t offset, size_t *n, const uint8_t **out,
                            struct why *why);

#endif
