/* model_file.h - a cost model in a file: the columns it was learned from and the ensemble (docs/cost-model.md). */
#ifndef TUNE_TUNER_LEARN_MODEL_FILE_H
#define TUNE_TUNER_LEARN_MODEL_FILE_H

#include "tuner/learn/ensemble.h"
#include "tuner/learn/records.h"

#define MODEL_FILE_MAX_BYTES ((size_t)1 << 30)

/* Replaces `path` as one step. ERR_IO, ERR_LIMIT, ERR_NOMEM. */
enum err model_file_write(const char *path, const struct columns *c, const struct ensemble *m, struct why *why);

/* Makes both. ERR_INPUT for a file that is no model, is cut short or of another version; ERR_NOT_FOUND, ERR_IO, .. */
enum err model_file_read(const char *path, struct columns *c, struct ensemble **m, struct why *why);

#endif
