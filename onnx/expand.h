/* SPDX-License-Identifier: MIT */
/* expand.h - operators that are defined by others: their nodes become several before a model is read. */
#ifndef TUNE_ONNX_EXPAND_H
#define TUNE_ONNX_EXPAND_H

#include "core/err.h"
#include "onnx/file.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a node comes from. */
struct onnx_origin {
    const char *op; /* that it is counted as, "com.microsoft.QLinearAdd"; "": not at all, NULL: its own */
    const struct onnx_branch *branch; /* that it is in (branches.h); NULL: none */
};

/* Replaces such nodes of the graph, in the file's memory; *origins: [n_node], as a whole NULL where none is other than
 * its own, before and behind. ERR_LIMIT: more memory or nodes than a model of this size may have. */
enum err onnx_expand_nodes(struct onnx_file *f, const struct onnx_origin **origins, struct why *why);

/* The nodes of an Einsum, as expand.c writes such; false: it is none of one tensor or two, of at most 8 axes each. */
bool onnx_einsum_nodes(const Onnx__AttributeProto *equation, size_t n_inputs, char *out, size_t room);

#endif
