/* SPDX-License-Identifier: MIT */
/* expand.h - operators that are defined by others: their nodes become several before a model is read. */
#ifndef TUNE_ONNX_EXPAND_H
#define TUNE_ONNX_EXPAND_H

#include "core/err.h"
#include "onnx/file.h"

#include <stdbool.h>
#include <stddef.h>

/* Replaces such nodes of the graph, in the file's memory; *origins: [n_node] the operator that a node is counted as,
 * "com.microsoft.QLinearAdd", "" not at all, NULL its own; as a whole NULL where there is none such. ERR_LIMIT: more
 * memory or nodes than a model of this size may have. */
enum err onnx_expand_nodes(struct onnx_file *f, const char *const **origins, struct why *why);

/* The nodes of an Einsum, as expand.c writes such; false: it is none of one tensor or two, of at most 8 axes each. */
bool onnx_einsum_nodes(const Onnx__AttributeProto *equation, size_t n_inputs, char *out, size_t room);

#endif
