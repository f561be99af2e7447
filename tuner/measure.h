/* SPDX-License-Identifier: MIT */
/* measure.h - a handful of trials measured outside any search: `tune measure` and `tune recheck`. */
#ifndef TUNE_TUNER_MEASURE_H
#define TUNE_TUNER_MEASURE_H

#include "core/err.h"
#include "tuner/trial.h"

#include <stdbool.h>
#include <stdint.h>

struct measure_options {
    struct client *client;
    const struct clock *clock; /* NULL = the machine's */
    const char *job_id;
    int64_t token;
    bool (*interrupted)(void);
    enum err (*check)(void *arg, struct why *why); /* called while waiting; may be NULL */
    void *arg;
};

/* Sends the batch as trials 0.. and calls `each` with every record as it comes, until all are there.
 * ERR_CANCELLED when interrupted. */
enum err measure_trials(const struct measure_options *o, struct trial_batch *b,
                        enum err (*each)(int64_t n, const struct record *r, const char *line, void *arg,
                                         struct why *why),
                        void *arg, struct why *why);

/* Reads a person's own program (docs/program-format.md): a module may say "source_file" (a path beside the JSON's own)
 * in place of its source hash, a fill or check "file" likewise; their bytes go into `blobs`. */
enum err program_load(const char *path, struct program *out, struct blobs *blobs, struct why *why);

#endif
