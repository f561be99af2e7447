/* SPDX-License-Identifier: MIT */
/* model_file.h - a cost model of a table: its columns, the space it comes from where that is known, and the ensemble
 * learned from both; in memory and in a file (docs/cost-model.md). */
#ifndef TUNE_SEARCH_LEARN_MODEL_FILE_H
#define TUNE_SEARCH_LEARN_MODEL_FILE_H

#include "core/err.h"
#include "core/json.h"
#include "search/learn/derived.h"
#include "search/learn/ensemble.h"
#include "search/learn/records.h"

#include <stddef.h>
#include <stdint.h>

#define MODEL_FILE_MAX_BYTES ((size_t)1 << 30)

#define SECOND_MAX 32 /* late columns */

/* What is known of a config only after a build (registers, spills, code bytes), and the ensemble learned with it. */
struct second {
    char *names[SECOND_MAX];
    size_t n; /* 0: none */
    struct ensemble *ensemble;
};

struct model_file {
    struct columns columns;
    cJSON *space; /* NULL: not known */
    struct derived *derived;
    struct ensemble *ensemble;
    struct second second;
};

void model_file_fini(struct model_file *m);

/* Reads a description of the space into m->space, after the columns are known. ERR_INPUT, ERR_NOT_FOUND, .. */
enum err model_file_take_space(struct model_file *m, const char *path, struct why *why);

/* Learns values[n][columns.n] and times[n] (ms, NAN = failed). `knobs` says what the values are like; as
 * ensemble_fit. */
enum err model_file_learn(struct model_file *m, const struct features_knob *knobs, const double *values,
                          const double *times, size_t n, uint64_t seed, struct why *why);

/* scores[n] of values[n][columns.n]; lower = faster. ERR_NOMEM. */
enum err model_file_predict(const struct model_file *m, const double *values, size_t n, float *scores);

/* "registers,spills" into m->second. ERR_INPUT for an empty or repeated name, ERR_LIMIT, ERR_NOMEM. */
enum err model_file_name_second(struct model_file *m, const char *names, struct why *why);

/* Learns the second ensemble on the rows whose late[n][second.n] are all known. As model_file_learn. */
enum err model_file_learn_second(struct model_file *m, const double *values, const float *late, const double *times,
                                 size_t n, uint64_t seed, struct why *why);

/* Puts the rows whose late columns are all known into the order of the second ensemble, on the places (the scores) that
 * they hold together; others keep theirs. ERR_NOMEM. */
enum err model_file_rerank(const struct model_file *m, const double *values, const float *late, size_t n,
                           float *scores);

/* Replaces `path` as one step. ERR_IO, ERR_LIMIT, ERR_NOMEM. */
enum err model_file_write(const char *path, const struct model_file *m, struct why *why);

/* ERR_INPUT for a file that is no model, is cut short or of another version; ERR_NOT_FOUND, ERR_IO, .. */
enum err model_file_read(const char *path, struct model_file *m, struct why *why);

#endif
