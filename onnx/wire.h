/* SPDX-License-Identifier: MIT */
/* wire.h - looks over the bytes of a message before anything is unpacked: its form, its depth, how many messages of a
 * kind it holds, what unpacking it will take. */
#ifndef TUNE_ONNX_WIRE_H
#define TUNE_ONNX_WIRE_H

#include "core/err.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#define ONNX_MAX_DEPTH 32 /* of messages in messages */

struct onnx_wire {
    const ProtobufCMessageDescriptor *counted; /* the kind that is counted, and how many there may be */
    size_t most;
    size_t n;            /* out: how many there are */
    size_t n_bulk;       /* out: bytes in fields of bytes, as weights are */
    size_t n_other;      /* out: all other bytes of the message */
    size_t memory_bytes; /* out: what unpacking takes, onnx_memory's heads among it */
};

/* ERR_INPUT, naming the byte: cut, no such wire type, a length beyond its message, another wire type than the field's.
 * ERR_LIMIT: deeper than ONNX_MAX_DEPTH, more than w->most of the counted kind. Takes no memory. */
enum err onnx_wire_scan(const ProtobufCMessageDescriptor *kind, const uint8_t *bytes, size_t n, struct onnx_wire *w,
                        struct why *why);

#endif
