/* SPDX-License-Identifier: MIT */
/* transfer.h - what records of other devices, shapes or template versions tell about a target; see docs/transfer.md.
 * Sources may have other knobs, other values, or be of no use at all: what the target's own measurements say of each
 * decides how far it is followed. Knobs are matched by name; rows are numbers in the order of those names. */
#ifndef TUNE_SEARCH_LEARN_TRANSFER_H
#define TUNE_SEARCH_LEARN_TRANSFER_H

#include "core/err.h"

#include <stddef.h>
#include <stdint.h>

#define TRANSFER_MAX_SOURCES 64
#define TRANSFER_MAX_KNOBS 256
#define TRANSFER_MAX_ROWS ((size_t)1 << 20) /* of a source */

struct transfer;

/* Measured configs: knobs is row-major [n][n_knobs]; NAN = the row has no such knob. values[n]: ln of the time, NAN =
 * the config failed. Words are numbers by transfer_word. */
struct transfer_rows {
    const char *const *names; /* [n_knobs] */
    const double *knobs;
    const double *values;
    size_t n, n_knobs;
};

/* What is expected of a config; all of it comparable among configs of one call only. */
struct transfer_score {
    double mean; /* ln time above the best measurement of the target, or of the sources before there is one */
    double sd;   /* how far the truth may lie from the mean, > 0 */
    double hope; /* lower = sooner worth a trial: the mean's share of throughput less one deviation, negative = good */
    double p_fail; /* in [0, 1] */
};

/* The number that stands for a word in a row of knobs; the same in every process. */
double transfer_word(const char *word);

/* A target with these knobs and no sources yet. Copies the names. ERR_INPUT for no knobs, ERR_LIMIT beyond the maximum.
 */
enum err transfer_new(struct transfer **out, const char *const *names, size_t n_knobs, uint64_t seed);
void transfer_free(struct transfer *t);

/* Takes what the rows tell (copied); `label` is for people: a file, a device. ERR_INPUT where no knob is in common with
 * the target, or no row is ok; ERR_LIMIT beyond the maxima; ERR_NOMEM. The sources stay as they were on failure. */
enum err transfer_add_source(struct transfer *t, const char *label, const struct transfer_rows *rows, struct why *why);
size_t transfer_n_sources(const struct transfer *t);
/* For tests: which source is where. */
const char *transfer_label(const struct transfer *t, size_t i_source);

/* What the sources say of configs, unchanged by tell: columns[n][transfer_n_columns()], to be computed once for a list
 * of configs and handed to the calls below; also good features for a cost model of the target (NAN = not known).
 * `knobs` is row-major [n][n_knobs] in the order of transfer_new. */
size_t transfer_n_columns(const struct transfer *t);
enum err transfer_columns(struct transfer *t, const double *knobs, size_t n, float *columns);

/* Optional, before tell: configs that the target has, knobs[n][n_knobs]; they set the units in which knobs differ. Else
 * the sources' configs and those told do. ERR_NOMEM. */
enum err transfer_space(struct transfer *t, const double *knobs, size_t n);

/* Learns from ALL measurements of the target so far (replaces what was told before): knobs[n][n_knobs], their columns,
 * values[n] ln time or NAN = failed. n == 0 is allowed. ERR_NOMEM. */
enum err transfer_tell(struct transfer *t, const double *knobs, const float *columns, const double *values, size_t n);

/* Scores of configs. Before any tell: what the sources alone say. */
enum err transfer_predict(const struct transfer *t, const double *knobs, const float *columns, size_t n,
                          struct transfer_score *out);

/* How far a source is followed now, 0 (ignored) to 1. */
double transfer_trust(const struct transfer *t, size_t i_source);

/* The best configs of a source in order, in the target's knobs: knobs[n][n_knobs], NAN where the source has no such
 * knob. Returns how many, at most n. */
size_t transfer_best_of(const struct transfer *t, size_t i_source, size_t n, double *knobs);

/* One ranking of a list of configs, scores[n], lower = faster: a mean of logarithms of ranks. It follows the sources'
 * own order where little was told, transfer_predict, and two models of the target where given (or NULL): `with` had the
 * columns among its features, `without` not; the less the sources are trusted, the more `without` decides alone.
 * ERR_NOMEM. */
enum err transfer_rank(const struct transfer *t, const double *knobs, const float *columns, size_t n, const float *with,
                       const float *without, double *scores);

/* How far the sources are believed as a whole, 0 to 1; 1 before any tell, 0 with none. */
double transfer_belief(const struct transfer *t);

/* An order of first picks: numbers of up to n_picks of n configs, the best of all sources' common ranking and of each
 * source in turns, no config twice. *n_out: how many. ERR_NOMEM. */
enum err transfer_first(const struct transfer *t, const float *columns, size_t n, size_t *picks, size_t n_picks,
                        size_t *n_out);

#endif
