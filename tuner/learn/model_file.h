/* model_file.h - a cost model of a table: its columns, the space it comes from where that is known, and the ensemble
 * learned from both; in memory and in a file (docs/cost-model.md). */
#ifndef TUNE_TUNER_LEARN_MODEL_FILE_H
#define TUNE_TUNER_LEARN_MODEL_FILE_H

#include "tuner/learn/derived.h"
#include "tuner/learn/ensemble.h"
#include "tuner/learn/records.h"

#define MODEL_FILE_MAX_BYTES ((size_t)1 << 30)

struct model_file {
    struct columns columns;
    cJSON *space; /* NULL: not known */
    struct derived *derived;
    struct ensemble *ensemble;
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

/* Replaces `path` as one step. ERR_IO, ERR_LIMIT, ERR_NOMEM. */
enum err model_file_write(const char *path, const struct model_file *m, struct why *why);

/* ERR_INPUT for a file that is no model, is cut short or of another version; ERR_NOT_FOUND, ERR_IO, .. */
enum err model_file_read(const char *path, struct model_file *m, struct why *why);

#endif
