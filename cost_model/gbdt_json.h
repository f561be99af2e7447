/* SPDX-License-Identifier: MIT */
/* gbdt_json.h - trees as JSON: our own format (docs/model-format.md), and XGBoost's for comparison. Input may be
 * anything: sizes are bounded, every number is checked, and one line says what was expected. */
#ifndef TUNE_COST_MODEL_GBDT_JSON_H
#define TUNE_COST_MODEL_GBDT_JSON_H

#include "core/buf.h"
#include "core/json.h"
#include "cost_model/gbdt.h"

#define GBDT_JSON_MAX_BYTES ((size_t)1 << 28)
#define GBDT_JSON_SCHEMA "tune.gbdt/1"

/* Appends a fitted model. names: [n_features], or NULL: features without names. ERR_INPUT without a fit, ERR_LIMIT and
 * ERR_NOMEM of the buffer. Equal models give equal bytes. */
enum err gbdt_write(const struct model *m, const char *const *names, struct buf *out);

/* Makes a model of what gbdt_write wrote. With names[n_names] the file must have the same; NULL: any. ERR_INPUT,
 * ERR_LIMIT, ERR_NOMEM. */
enum err gbdt_read(struct model **out, const cJSON *object, const char *const *names, size_t n_names, struct why *why);

/* The same with files; `why` names the file. */
enum err gbdt_save(const struct model *m, const char *const *names, const char *path, struct why *why);
enum err gbdt_load(struct model **out, const char *path, const char *const *names, size_t n_names, struct why *why);

/* Makes a model of an XGBoost JSON file (save_model("x.json"), booster gbtree, numeric splits, one output, an objective
 * whose score is the plain sum). Its cuts are XGBoost's thresholds, so that all rows take the same ways.
 * ERR_UNSUPPORTED for other boosters, objectives or trees of more than 256 leaves. */
enum err gbdt_load_xgboost(struct model **out, const char *path, struct why *why);

#endif
