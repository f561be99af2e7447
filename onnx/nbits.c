/* SPDX-License-Identifier: MIT */
/* nbits.c - weights of com.microsoft's MatMulNBits: rows of k numbers of few bits, the first in the lowest bits, in
 * blocks with a scale and a zero point each; and those that DequantizeLinear makes of columns in blocks. They stay as
 * they are in the file; those of 4 bits are written so where few rows are multiplied by them (dense4), others are
 * unpacked where they are read. */
#include "onnx/model.h"

#include <assert.h>
#include <stdio.h>

#define MOST_ROWS 8 /* from which on unpacked weights are faster: docs/notes/dense.md */

struct onnx_blocks {
    const struct onnx_value *w, *scale, *zero; /* zero NULL: half of the numbers' range, of columns 0 */
    int64_t n, k, bits, size;
    bool packed;            /* zero points are of as many bits */
    bool columns, has_sign; /* numbers are [k][n], scales and zero points [blocks][n]; of DequantizeLinear */
    bool bytes;             /* what they are multiplied by may be rounded to bytes */
};

/* Number i of a row of bytes that begins at byte `first`. */
static double number_at(const struct onnx_value *v, int64_t first, int64_t i, int64_t bits)
{
    const int64_t each = 8 / bits;

    return (double)((int64_t)onnx_at(v, first + i / each) >> (i % each * bits) & ((1 << bits) - 1));
}

static int64_t blocks_of(const struct onnx_blocks *b)
{
    return (b->k + b->size - 1) / b->size;
}

/* Where block `at` of all, a row's one behind the other, has its scale and zero point. */
static int64_t place_of(const struct onnx_blocks *b, int64_t at)
{
    return b->columns ? at % blocks_of(b) * b->n + at / blocks_of(b) : at;
}

/* Of block `at` of all; half of the numbers' range more where they have a sign. */
static double zero_at(const struct onnx_blocks *b, int64_t at)
{
    const int64_t blocks = blocks_of(b);

    if (b->columns)
        return (b->zero ? onnx_at(b->zero, place_of(b, at)) : 0) + (b->has_sign ? 1 << (b->bits - 1) : 0);
    if (b->zero && b->packed)
        return number_at(b->zero, at / blocks * ((blocks * b->bits + 7) / 8), at % blocks, b->bits);
    return b->zero ? onnx_at(b->zero, at) : (double)(1 << (b->bits - 1));
}

/* Number k of block `at`, without a sign. */
static double whole_at(const struct onnx_blocks *b, int64_t at, int64_t k)
{
    const int64_t row = at % blocks_of(b) * b->size + k;

    if (!b->columns)
        return number_at(b->w, at * (b->size * b->bits / 8), k, b->bits);
    return row < b->k ? onnx_at(b->w, row * b->n + at / blocks_of(b)) + (b->has_sign ? 1 << (b->bits - 1) : 0) : 0;
}

double onnx_blocks_at(const struct onnx_blocks *b, int64_t i)
{
    const int64_t k = i / b->n, at = i % b->n * blocks_of(b) + k / b->size;

    assert(i >= 0 && k < b->k);
    return (whole_at(b, at, k % b->size) - zero_at(b, at)) * onnx_at(b->scale, place_of(b, at));
}

/* Are there zero points other than half of the range? */
static bool has_zeros(const struct onnx_blocks *b)
{
    return b->zero || (b->columns && !b->has_sign);
}

bool onnx_keeps_blocks(const struct onnx_value *w, int64_t n_rows, char words[GRAPH_WORDS_BYTES])
{
    const struct onnx_blocks *b = w->blocks;

    if (!b || b->bits != 4 || n_rows > MOST_ROWS || b->size < 16 || b->size > 256 || (b->size & (b->size - 1)) ||
        (b->zero && !b->packed && !b->columns))
        return false;
    snprintf(words, GRAPH_WORDS_BYTES, "block=%lld%s%s", (long long)b->size, has_zeros(b) ? " zeros=1" : "",
             b->bytes ? " bytes=1" : "");
    return true;
}

int64_t onnx_kept_blocks(const struct onnx_layer *l, enum onnx_kept what)
{
    const struct onnx_blocks *b = l->w->blocks;
    const int64_t n = l->n_bias * blocks_of(b);

    return what == ONNX_KEPT_BYTES ? n * (b->size / 2) : what == ONNX_KEPT_ZEROS && !has_zeros(b) ? 0 : n;
}

double onnx_kept_at(const struct onnx_layer *l, enum onnx_kept what, int64_t i)
{
    const struct onnx_blocks *b = l->w->blocks;
    const int64_t each = what == ONNX_KEPT_BYTES ? blocks_of(b) * (b->size / 2) : blocks_of(b);

    assert(i >= 0 && i < onnx_kept_blocks(l, what));
    if (what == ONNX_KEPT_SCALES)
        return onnx_at(b->scale, place_of(b, i + l->w_first * each)) * l->factor[i / each];
    i += l->w_first * each;
    if (what == ONNX_KEPT_ZEROS)
        return zero_at(b, i);
    if (!b->columns)
        return onnx_at(b->w, i);
    i *= 2;
    return whole_at(b, i / b->size, i % b->size) + 16 * whole_at(b, i / b->size, i % b->size + 1);
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
                              .size = onnx_attribute_int(node, "block_size", 0),
                              .bytes = onnx_attribute_int(node, "accuracy_level", 0) == 4};
    if (onnx_in(m, node, 3))
        return onnx_refuse(m, "rows in groups of their own (g_idx)"), false;
    if ((b->scale && b->scale->blocks) || (b->zero && b->zero->blocks)) /* reads would be ever deeper */
        return onnx_refuse(m, "scales or zero points that are unpacked themselves"), false;
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

/* Has each block a zero point of 4 bits, as its numbers, or none of them one? */
static bool zeros_fit(const struct onnx_blocks *b)
{
    const int64_t n = blocks_of(b) * b->n, least = b->has_sign ? -8 : 0;
    bool fit = !b->zero || onnx_shape_elems(&b->zero->shape) == n;

    for (int64_t i = 0; b->zero && i < n && fit; i++)
        fit = onnx_at(b->zero, i) >= (double)least && onnx_at(b->zero, i) <= (double)(least + 15);
    return fit;
}

void onnx_join_blocks(struct onnx_import *m, struct onnx_value *v)
{
    const struct onnx_dequantised *d = v->dequantised;
    const int64_t type = d->x->tensor.proto && !d->x->v ? d->x->tensor.proto->data_type : 0;
    struct onnx_blocks *b;

    if ((type != ONNX_TYPE_UINT4 && type != ONNX_TYPE_INT4) || d->axis != 0 || d->block < 1 || d->x->shape.rank != 2 ||
        d->scale->shape.rank != 2 || (d->zero && d->zero->shape.rank != 2))
        return;
    b = onnx_memory_take(&m->file.memory, sizeof *b);
    if (!b) {
        m->failed = ERR_LIMIT;
        return;
    }
    *b = (struct onnx_blocks){.w = d->x, .scale = d->scale, .zero = d->zero, .bits = 4, .size = d->block};
    b->k = d->x->shape.dim[0];
    b->n = d->x->shape.dim[1];
    b->columns = true;
    b->has_sign = type == ONNX_TYPE_INT4;
    if (onnx_shape_elems(&b->scale->shape) == blocks_of(b) * b->n && zeros_fit(b)) /* not [1][1], one for all */
        v->blocks = b;
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
