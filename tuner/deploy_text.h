/* deploy_text.h - deployable layers as C text: tune_bundle.h, tune_bundle.c and tune_vectors_data.c of a bundle. */
#ifndef TUNE_TUNER_DEPLOY_TEXT_H
#define TUNE_TUNER_DEPLOY_TEXT_H

#include "tuner/deploy_layer.h"

/* Declarations: the list of layers and two functions for each of them. */
enum err deploy_text_header(const struct deploy_layer *layers, size_t n, struct buf *out);

/* Kernel text, buffers and launches as constant tables for libtune/bundle/tune_layer.c, and the functions.
 * ERR_UNSUPPORTED for a module that is not OpenCL C. */
enum err deploy_text_tables(const struct deploy_layer *layers, size_t n, struct buf *out, struct why *why);

/* Test vectors: the sampled expectations of each layer's verification passes, at most 512 elements each.
 * ERR_UNSUPPORTED for inputs that no rule can make (fills by blob). */
enum err deploy_text_vectors(const struct deploy_layer *layers, size_t n, struct buf *out, struct why *why);

/* `text` as a C string literal with its quotes. */
void deploy_text_literal(const char *text, size_t n, struct buf *out);

#endif
