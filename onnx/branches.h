/* SPDX-License-Identifier: MIT */
/* branches.h - nodes If: those of both branches become nodes of the graph, which are read where their condition says
 * so. */
#ifndef TUNE_ONNX_BRANCHES_H
#define TUNE_ONNX_BRANCHES_H

#include "core/err.h"
#include "onnx/expand.h"
#include "onnx/file.h"

#include <stdbool.h>

/* A branch: its nodes are read where the condition is this one, and those around it say so too. */
struct onnx_branch {
    const char *condition; /* a value of the graph */
    bool then;
    const struct onnx_branch *around; /* NULL: none */
};

/* Puts the nodes of branches, whose own names get an ending, into the graph behind nodes "If/choice" of the condition
 * and both results, one for each output. *origins: [n_node] of each its branch, and as what it counts; as a whole NULL
 * where there is no If. One whose branches are no graphs without inputs stays. ERR_LIMIT: more memory or nodes than a
 * model of this size may have. */
enum err onnx_inline_branches(struct onnx_file *f, const struct onnx_origin **origins, struct why *why);

#endif
