/* SPDX-License-Identifier: MIT */
/* check_import.h - models written as lines (wire.h), imported and held against graphs and weights; fails the test that
 * runs where they differ. */
#ifndef TUNE_TESTS_ONNX_CHECK_IMPORT_H
#define TUNE_TESTS_ONNX_CHECK_IMPORT_H

#include "core/err.h"
#include "onnx/import.h"

#include <stdbool.h>
#include <stddef.h>

#define MAX_MODEL ((size_t)64 << 20)
#define IMAGE "opset 13\ninput x batch 4 8 6\n"
#define OF_IMAGE "opset 13\ninput x 1 4 8 6\n" /* 192 elements, of which a channel has 48 and a row 6 */
#define IMAGE_LINE "x = input c=4 h=8 w=6\n"
#define CONV "const w 4 4 1 1 = 0.5 ...\nnode Conv x w -> a\n"

/* Makes this program's folder, with `name` in its name; false, with words on stdout, where that cannot be. */
bool folder_open(const char *name);

/* The folder, for as long as it is open. */
const char *folder_path(void);

/* Removes the folder and all in it. */
void folder_close(void);

/* The path of a file in the folder; good until the call after the next. */
const char *below(const char *name);

/* Writes n bytes to a file in the folder. */
void write_file(const char *name, const void *bytes, size_t n);

/* The model of the lines, imported, for the caller to close; its words where it is refused. */
enum err import_lines(const char *lines, const struct onnx_dim *dims, size_t n_dims, struct onnx_import **out,
                      struct why *why);

/* The graph of a model that is fine. */
void check_graph(const char *lines, const char *graph);

/* The graph of nodes that make y of the image x, but for the line of x. */
void check_nodes(const char *nodes, const char *graph);

/* Weights of a model, as written: `n` floats from weights.bin, and the list. */
void check_weights(const char *lines, const float *expected, size_t n, const char *list);

/* The same of an import that is open. */
void check_weights_of(struct onnx_import *m, const float *expected, size_t n, const char *list);

/* A model that is read, but for one node of an operator, which is refused with these words. */
void check_refused(const char *lines, const char *op, const char *words);

/* The row of an operator in the table of a model, which has the row. */
const struct onnx_row *row_of(const struct onnx_import *m, const char *op);

#endif
