/* SPDX-License-Identifier: MIT */
/* transfer_model.h - the cost model of a table that has sources: a transfer, and two ensembles of the target's own rows
 * (with what the sources say among the features, and without), made one ranking by transfer_rank. */
#ifndef TUNE_SEARCH_LEARN_TRANSFER_MODEL_H
#define TUNE_SEARCH_LEARN_TRANSFER_MODEL_H

#include "core/err.h"
#include "search/learn/ensemble.h"
#include "search/learn/records.h"
#include "search/learn/transfer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRANSFER_MODEL_MAX_ROWS ((size_t)1 << 19) /* of all sources together */

struct transfer_model;

/* Learns from a table, which may have no rows but its column names, and tables of sources. ERR_INPUT names file, line
 * and what was expected: as records_read, a source without a column of the target or without an ok row; ERR_LIMIT,
 * ERR_NOT_FOUND, ERR_IO, ERR_NOMEM. */
enum err transfer_model_train(struct transfer_model **out, const char *path, const char *const *sources,
                              size_t n_sources, uint64_t seed, struct why *why);
void transfer_model_free(struct transfer_model *m);

/* Lends the target's columns. */
const struct columns *transfer_model_columns(const struct transfer_model *m);

/* scores[n] of a list of configs, values[n][columns->n] as records_read_as gives them: lower = faster; comparable
 * within the list only. ERR_NOMEM. */
enum err transfer_model_predict(struct transfer_model *m, const double *values, size_t n, float *scores);

/* In a file of its own format (docs/transfer.md), replaced as one step; and back. True for a file that begins like one.
 * ERR_INPUT names what is missing or wrong. */
enum err transfer_model_write(const struct transfer_model *m, const char *path, struct why *why);
enum err transfer_model_read(struct transfer_model **out, const char *path, struct why *why);
bool transfer_model_is(const char *path);

#endif
