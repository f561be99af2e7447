/* SPDX-License-Identifier: MIT */
#include "onnx/wire.h"

#include "onnx/memory.h"

#include <assert.h>
#include <stdbool.h>

#define MEMBER_BYTES 40 /* protobuf-c notes each field of a message while it unpacks it */

enum wire_type { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct scan {
    const uint8_t *start; /* of the file: words name bytes from there */
    struct onnx_wire *w;
    struct why *why;
};

/* One field: its number and kind, and what lies in it. */
struct field {
    const ProtobufCFieldDescriptor *known; /* NULL: the schema has none of this number */
    enum wire_type type;
    const uint8_t *bytes; /* of VARINT and the fixed ones: the number */
    size_t n;
};

static enum err bad(const struct scan *s, const uint8_t *at, const char *words)
{
    return why_set(s->why, ERR_INPUT, "no model, or a damaged one: byte %zu: %s", (size_t)(at - s->start), words);
}

/* A number of 7 bits a byte; the place behind it, NULL where it does not end in ten bytes and before `end`. */
static const uint8_t *read_varint(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;

    for (int shift = 0; p < end && shift < 70; shift += 7, p++) {
        v |= (uint64_t)(*p & 0x7f) << (shift < 64 ? shift : 63);
        if (!(*p & 0x80)) {
            *out = v;
            return p + 1;
        }
    }
    return NULL;
}

/* How many bytes the value takes from `p` on, *p moved to its first one. */
static enum err read_size(const struct scan *s, enum wire_type type, const uint8_t **p, const uint8_t *end, size_t *out)
{
    const uint8_t *behind;
    uint64_t v = 0;

    if (type == FIXED64 || type == FIXED32) {
        *out = type == FIXED64 ? 8 : 4;
    } else if (type == VARINT || type == BYTES) {
        behind = read_varint(*p, end, &v);
        if (!behind)
            return bad(s, *p, "a number that does not end");
        *out = type == VARINT ? (size_t)(behind - *p) : (size_t)v;
        *p = type == VARINT ? *p : behind;
    } else {
        return bad(s, *p, "expected a wire type of 0, 1, 2 or 5");
    }
    return (type == BYTES ? v : *out) > (uint64_t)(end - *p) ? bad(s, *p, "cut off here: longer than what holds it")
                                                             : ERR_OK;
}

static bool takes(const ProtobufCFieldDescriptor *f, enum wire_type type)
{
    const bool packs = f->label == PROTOBUF_C_LABEL_REPEATED && type == BYTES;

    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        return type == BYTES;
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return type == FIXED32 || packs;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return type == FIXED64 || packs;
    default:
        return type == VARINT || packs;
    }
}

static enum err read_field(const struct scan *s, const ProtobufCMessageDescriptor *kind, const uint8_t **p,
                           const uint8_t *end, struct field *out)
{
    const uint8_t *at = *p, *behind;
    uint64_t tag = 0;
    enum err e;

    behind = read_varint(at, end, &tag);
    if (!behind || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return bad(s, at, "expected a field's number");
    out->type = (enum wire_type)(tag & 7);
    out->known = protobuf_c_message_descriptor_get_field(kind, (unsigned)(tag >> 3));
    *p = behind;
    e = read_size(s, out->type, p, end, &out->n);
    if (!e && out->known && !takes(out->known, out->type))
        e = bad(s, at, "another wire type than the schema's");
    out->bytes = *p;
    if (!e)
        *p += out->n;
    assert(*p <= end);
    return e;
}

/* What unpacking takes for a field besides what is in messages below it. */
static void count(struct onnx_wire *w, const struct field *f)
{
    const bool repeated = f->known && f->known->label == PROTOBUF_C_LABEL_REPEATED;

    w->memory_bytes += MEMBER_BYTES + (repeated ? 2 * sizeof(ProtobufCBinaryData) : 0);
    if (!f->known)
        w->memory_bytes += sizeof(ProtobufCMessageUnknownField) + ONNX_BLOCK_BYTES + f->n;
    else if (f->type == BYTES && f->known->type != PROTOBUF_C_TYPE_MESSAGE)
        w->memory_bytes += ONNX_BLOCK_BYTES + (repeated && f->known->type != PROTOBUF_C_TYPE_STRING ? 8 : 1) * f->n + 1;
    if (f->known && f->known->type == PROTOBUF_C_TYPE_BYTES)
        w->n_bulk += f->n;
}

static enum err scan_message(const struct scan *s, const ProtobufCMessageDescriptor *kind, const uint8_t *p,
                             const uint8_t *end, int depth)
{
    struct onnx_wire *w = s->w;
    enum err e = ERR_OK;

    assert(p <= end);
    if (depth > ONNX_MAX_DEPTH)
        return why_set(s->why, ERR_LIMIT, "byte %zu: messages in messages deeper than %d", (size_t)(p - s->start),
                       ONNX_MAX_DEPTH);
    if (kind == w->counted && w->n++ >= w->most)
        return why_set(s->why, ERR_LIMIT, "more than %zu nodes", w->most);
    w->memory_bytes += kind->sizeof_message + 4 * ONNX_BLOCK_BYTES; /* and arrays of its repeated fields */
    while (!e && p < end) {
        struct field f;

        e = read_field(s, kind, &p, end, &f);
        if (e)
            break;
        count(w, &f);
        if (f.known && f.known->type == PROTOBUF_C_TYPE_MESSAGE)
            e = scan_message(s, f.known->descriptor, f.bytes, f.bytes + f.n, depth + 1);
    }
    return e;
}

enum err onnx_wire_scan(const ProtobufCMessageDescriptor *kind, const uint8_t *bytes, size_t n, struct onnx_wire *w,
                        struct why *why)
{
    const struct scan s = {bytes, w, why};
    enum err e;

    w->n = w->n_bulk = w->n_other = w->memory_bytes = 0;
    e = scan_message(&s, kind, bytes, bytes + n, 0);
    w->n_other = n - w->n_bulk;
    return e;
}
