/* SPDX-License-Identifier: MIT */
/* ensemble.h - the cost model of records: forests that look at time in different ways (its logarithm, the share of the
 * best throughput, that share sharpened) and, while rows are few, a Gaussian process; their mean is the score. What
 * each part gave was measured: docs/notes/cost-model.md. */
#ifndef TUNE_SEARCH_LEARN_ENSEMBLE_H
#define TUNE_SEARCH_LEARN_ENSEMBLE_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "search/learn/features.h"

#include <stddef.h>
#include <stdint.h>

#define ENSEMBLE_MAX_EXTRA 256

struct ensemble;

/* Measured configs; everything is borrowed for the call. */
struct ensemble_data {
    const struct features_knob *knobs; /* [n_knobs]: features_knob_meet over their values; words have n_words */
    const double *values;              /* row-major [n][n_knobs]; NAN = missing */
    const double *times;               /* [n] > 0 in any unit; NAN = the config failed */
    const float *extra;                /* row-major [n][n_extra] more features, or NULL */
    size_t n, n_knobs, n_extra;
};

/* Learns; the same data and seed give the same ensemble on every machine. ERR_INPUT, with words about the data: fewer
 * than two rows that are ok, times that are all equal or not above 0, or rows that do not differ; ERR_LIMIT; ERR_NOMEM.
 */
enum err ensemble_fit(struct ensemble **out, const struct ensemble_data *data, uint64_t seed, struct why *why);
void ensemble_free(struct ensemble *m);

size_t ensemble_n_extra(const struct ensemble *m);

/* scores[n] of values[n][n_knobs] and extra[n][n_extra] (NULL: all missing): lower = faster, of no unit. ERR_NOMEM. */
enum err ensemble_predict(const struct ensemble *m, const double *values, const float *extra, size_t n, float *scores);

/* As a JSON object (docs/cost-model.md), to the end of `out`; and back, for the knobs it was learned with: ERR_INPUT
 * names what is missing or wrong. Reading learns anew. */
enum err ensemble_write(const struct ensemble *m, struct buf *out);
enum err ensemble_read(struct ensemble **out, const struct features_knob *knobs, size_t n_knobs, const cJSON *object,
                       struct why *why);

#endif
