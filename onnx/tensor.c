/* SPDX-License-Identifier: MIT */
#include "onnx/tensor.h"

#include "runtime/dtype.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kept { IN_FLOATS, IN_INT32S, IN_INT64S, IN_DOUBLES, IN_UINT64S };

/* Of each type: bits of a raw element (0: not read here), and the field that keeps it otherwise. */
static const struct type {
    size_t n_bits;
    enum kept kept;
    bool is_float;
} types[] = {
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT] = {32, IN_FLOATS, true},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT8] = {8, IN_INT32S, false},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT8] = {8, IN_INT32S, false},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT16] = {16, IN_INT32S, false},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT16] = {16, IN_INT32S, false},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT32] = {32, IN_INT32S, false},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT64] = {64, IN_INT64S, false},
    [ONNX__TENSOR_PROTO__DATA_TYPE__BOOL] = {8, IN_INT32S, false},
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16] = {16, IN_INT32S, true},
    [ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE] = {64, IN_DOUBLES, true},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT32] = {32, IN_UINT64S, false},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT64] = {64, IN_UINT64S, false},
    [ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16] = {16, IN_INT32S, true},
    [ONNX_TYPE_UINT4] = {4, IN_INT32S, false}, /* two in a byte, the first in the lower bits */
    [ONNX_TYPE_INT4] = {4, IN_INT32S, false},
};

int64_t onnx_shape_elems(const struct graph_shape *s)
{
    int64_t n = 1; /* without the dimensions that are 0 */
    bool empty = false;

    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0 || (s->dim[i] > 0 && n > ONNX_MAX_ELEMS / s->dim[i]))
            return -1;
        empty = empty || s->dim[i] == 0;
        n *= s->dim[i] ? s->dim[i] : 1;
    }
    return empty ? 0 : n;
}

static enum err read_shape(const Onnx__TensorProto *p, struct onnx_tensor *t, struct why *why)
{
    if (p->n_dims > ONNX_MAX_RANK)
        return why_set(why, ERR_LIMIT, "%zu dimensions, over %d", p->n_dims, ONNX_MAX_RANK);
    t->shape.rank = (int)p->n_dims;
    for (size_t i = 0; i < p->n_dims; i++)
        t->shape.dim[i] = p->dims[i];
    t->n_elems = onnx_shape_elems(&t->shape);
    return t->n_elems < 0
               ? why_set(why, ERR_INPUT, "a shape that is none, or of over %lld elements", (long long)ONNX_MAX_ELEMS)
               : ERR_OK;
}

/* A decimal number of external data; false for anything else. */
static bool read_number(const char *text, uint64_t *out)
{
    char *end = NULL;

    errno = 0;
    *out = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    return end && *end == '\0' && errno == 0;
}

static enum err find_external(struct onnx_file *f, struct onnx_tensor *t, size_t *n, struct why *why)
{
    const Onnx__TensorProto *p = t->proto;
    const char *name = NULL;
    uint64_t offset = 0, length = SIZE_MAX;
    bool fine = true;

    for (size_t i = 0; i < p->n_external_data; i++) {
        const char *key = p->external_data[i]->key, *value = p->external_data[i]->value;

        if (!key || !value)
            continue;
        if (strcmp(key, "location") == 0)
            name = value;
        else if (strcmp(key, "offset") == 0)
            fine = fine && read_number(value, &offset);
        else if (strcmp(key, "length") == 0)
            fine = fine && read_number(value, &length);
    }
    if (!name || !fine)
        return why_set(why, ERR_INPUT, "external data: expected a location, and numbers as offset and length");
    *n = (size_t)length;
    return onnx_file_external(f, name, offset, n, &t->raw, why);
}

static size_t n_kept(const Onnx__TensorProto *p, enum kept kept)
{
    const size_t n[] = {[IN_FLOATS] = p->n_float_data,
                        [IN_INT32S] = p->n_int32_data,
                        [IN_INT64S] = p->n_int64_data,
                        [IN_DOUBLES] = p->n_double_data,
                        [IN_UINT64S] = p->n_uint64_data};

    assert(kept < sizeof n / sizeof n[0]);
    return n[kept];
}

static enum err find_elems(struct onnx_file *f, struct onnx_tensor *t, const struct type *type, struct why *why)
{
    const Onnx__TensorProto *p = t->proto;
    const size_t n_bytes = ((size_t)t->n_elems * type->n_bits + 7) / 8;
    size_t n = n_bytes;
    enum err e = ERR_OK;

    if (p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        e = find_external(f, t, &n, why);
    } else if (p->has_raw_data) {
        t->raw = p->raw_data.data;
        n = p->raw_data.len;
    } else {
        n = n_kept(p, type->kept) * (type->n_bits < 8 ? 1 : type->n_bits / 8);
    }
    if (!e && n != n_bytes)
        e = why_set(why, ERR_INPUT, "%zu bytes of elements, its shape wants %zu", n, n_bytes);
    return e;
}

enum err onnx_tensor_open(struct onnx_file *f, const Onnx__TensorProto *p, struct onnx_tensor *out, struct why *why)
{
    struct onnx_tensor t = {.proto = p};
    const size_t i_type = (size_t)p->data_type;
    const struct type *type = i_type < sizeof types / sizeof types[0] ? &types[i_type] : &types[0];
    enum err e = read_shape(p, &t, why);

    if (!e && !type->n_bits)
        e = why_set(why, ERR_UNSUPPORTED, "elements of type %d: expected floats or integers", (int)p->data_type);
    t.is_float = type->is_float;
    if (!e)
        e = find_elems(f, &t, type, why);
    if (e)
        return why_prefix(why, e, "tensor %.100s", p->name ? p->name : "without a name");
    *out = t;
    return ERR_OK;
}

static double bits_at(int type, uint64_t bits)
{
    float f;
    double d;

    switch (type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
        memcpy(&f, &(uint32_t){(uint32_t)bits}, sizeof f);
        return (double)f;
    case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
        memcpy(&d, &bits, sizeof d);
        return d;
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16:
        return (double)half_to_float((uint16_t)bits);
    case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16:
        return (double)bf16_to_float((uint16_t)bits);
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT8:
        return (double)(int8_t)bits;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT16:
        return (double)(int16_t)bits;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
        return (double)(int32_t)bits;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
        return (double)(int64_t)bits;
    case ONNX_TYPE_INT4:
        return (double)bits - (bits > 7 ? 16 : 0);
    default:
        return (double)bits; /* without a sign */
    }
}

double onnx_tensor_at(const struct onnx_tensor *t, int64_t i)
{
    const Onnx__TensorProto *p = t->proto;
    const struct type *type = &types[p->data_type];
    const size_t each = type->n_bits < 8 ? 8 / type->n_bits : 1; /* in a byte */
    uint64_t bits = 0;
    size_t at = (size_t)i / each;

    assert(type->n_bits && i >= 0 && i < t->n_elems);
    if (!t->raw && type->kept == IN_FLOATS)
        return (double)p->float_data[i];
    if (!t->raw && type->kept == IN_DOUBLES)
        return p->double_data[i];
    if (!t->raw)
        bits = type->kept == IN_INT32S   ? (uint32_t)p->int32_data[at]
               : type->kept == IN_INT64S ? (uint64_t)p->int64_data[at]
                                         : p->uint64_data[at];
    else
        for (size_t k = 0, n = (type->n_bits + 7) / 8; k < n; k++)
            bits |= (uint64_t)t->raw[at * n + k] << 8 * k;
    if (each > 1)
        bits = bits >> (size_t)i % each * type->n_bits & ((1u << type->n_bits) - 1);
    return bits_at((int)p->data_type, bits);
}
