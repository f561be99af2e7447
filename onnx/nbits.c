/* SPDX-License-Identifier: MIT */
/* nbits.c - weights of com.microsoft's MatMulNBits: rows of k numbers of few bits, the first in the lowest bits, in
 * blocks with a scale and a zero point each. They stay as they are in the file, and are unpacked where they are read.
 */
#include "onnx/model.h"

#include <assert.h>

struct onnx_blocks {
    const struct onnx_value *w, *scale, *zero; /* zero NULL: half of the numbers' range */
    int64_t n, k, bits, size;
    bool packed; /* zero points are of as many bits */
};

/* Number i of a row of bytes that begins at byte `first`. */
static double number_at(const struct onnx_value *v, int64_t first, int64_t i, int64_t bits)
{
    const int64_t each = 8 / bits;

    return (double)((int64_t)onnx_at(v, first + i / each) >> (i % each * bits) & ((1 << bits) - 1));
}

double onnx_blocks_at(const struct onnx_blocks *b, int64_t i)
{
    const int64_t k = i / b->n, row = i % b->n, blocks = (b->k + b->size - 1) / b->size, block = k / b->size;
    const int64_t bytes = b->size * b->bits / 8, at = row * blocks + block;
    double zero = (double)(1 << (b->bits - 1));

    assert(i >= 0 && k < b->k);
    if (b->zero && b->packed)
        zero = number_at(b->zero, row * ((blocks * b->bits + 7) / 8), block, b->bits);
    else if (b->zero)
        zero = onnx_at(b->zero, at);
    return (number_at(b->w, at * bytes, k % b->size, b->bits) - zero) * onnx_at(b->scale, at);
}

static bool is_constant_of(const struct onnx_value *v, int64_t n)
{
    return v && v->kind == ONNX_CONSTANT && onnx_shape_elems(&v->shape) == n;
}

/* False with words. */
static bool read_blocks(struct onnx_import *m, const Onnx__NodeProto *node, struct onnx_blocks *b)
{
    int64_t blocks;

    *b = (struct onnx_blocks){.w = onnx_in(m, node, 0),
                              .scale = onnx_in(m, node, 1),
                              .zero = onnx_in(m, node, 2),
                              .n = onnx_attribute_int(node, "N", 0),
                              .k = onnx_attribute_int(node, "K", 0),
                              .bits = onnx_attribute_int(node, "bits", 4),
                              .size = onnx_attribute_int(node, "block_size", 0)};
    if (onnx_in(m, node, 3))
        return onnx_refuse(m, "rows in groups of their own (g_idx)"), false;
    if ((b->bits != 2 && b->bits != 4 && b->bits != 8) || b->size < 8 || b->size > ONNX_MAX_REPEATED || b->size % 8 ||
        b->n < 1 || b->k < 1 || b->n > ONNX_MAX_ELEMS || b->k > ONNX_MAX_ELEMS ||
        b->n > ONNX_MAX_ELEMS / (b->k + b->size))
        return onnx_refuse(m, "expected 2, 4 or 8 bits, and whole blocks"), false;
    blocks = (b->k + b->size - 1) / b->size;
    b->packed = b->zero && !b->zero->is_float;
    if (!is_constant_of(b->w, b->n * blocks * (b->size * b->bits / 8)) || b->w->is_float ||
        !is_constant_of(b->scale, b->n * blocks) ||
        (b->zero && !is_constant_of(b->zero, b->n * (b->packed ? (blocks * b->bits + 7) / 8 : blocks))))
        return onnx_refuse(m, "expected constant weights, scales and zero points that fit"), false;
    return true;
}

enum onnx_role onnx_unpack_blocks(struct onnx_import *m, const Onnx__NodeProto *node)
{
    struct onnx_value *out = onnx_out(m, node, 0);
    struct onnx_blocks *b = onnx_memory_take(&m->file.memory, sizeof *b);

    if (!b) {
        m->failed = ERR_LIMIT;
        return ONNX_FOLDED;
    }
    if (!read_blocks(m, node, b))
        return ONNX_UNSUPPORTED;
    out->kind = ONNX_CONSTANT;
    out->shape = (struct graph_shape){2, {b->k, b->n}};
    out->is_float = true;
    out->blocks = b;
    return ONNX_FOLDED;
}
