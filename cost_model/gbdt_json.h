/* SPDX-License-Identifier: MIT */
/* gbdt_json.h - trees as JSON (docs/model-format.md). Input may be anything: sizes are bounded, every number is
 * checked, and one line says what was expected. */
#ifndef TUNE_COST_MODEL_GBDT_JSON_H
#define TUNE_COST_MODEL_GBDT_JSON_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "cost_model/gbdt.h"

#include <stddef.h>

#define GBDT_JSON_MAX_BYTES ((size_t)1 << 28)
#define GBDT_JSON_SCHEMA "tune.gbdt/1"

/* Appends a fitted model. names: [n_features], or NULL: features without names. ERR_INPUT without a fit, ERR_LIMIT and
 * ERR_NOMEM of the buffer. Equal models give equal bytes. */
enum err gbdt_write(const struct model *m, const char *const *names, struct buf *out);

/* Makes a model of what gbdt_write wrote. With names[n_names] the file must have the same; NULL: any. ERR_INPUT,
 * ERR_LIMIT, ERR_NOMEM. */
enum err gbdt_read(struct model **out, const cJSON *object, const char *const *names, size_t n_names, struct why *why);

#endif
