/* SPDX-License-Identifier: MIT */
/* space.h - a finite set of configs: knobs with value lists, named quantities, constraints; lazy over a 64-bit index.
 *
 * A space is built (add_*), sealed once, and from then on read-only and shareable between threads.
 * Index = mixed radix over the product of all value lists, first knob least significant; it runs over the whole
 * product, valid or not. Expressions: see docs/expressions.md (arithmetic, comparisons also chained, and or not, in
 * {..}). */
#ifndef TUNE_SEARCH_SPACE_SPACE_H
#define TUNE_SEARCH_SPACE_SPACE_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "core/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPACE_MAX_KNOBS 48
#define SPACE_MAX_VALUES 4096 /* per knob */
#define SPACE_NAME_BYTES 48   /* of a knob or quantity, with the NUL */
#define SPACE_WORD_BYTES 64   /* of a word, with the NUL */
#define SPACE_MAX_CONSTANTS 128
#define SPACE_MAX_QUANTITIES 128
#define SPACE_MAX_CONSTRAINTS 128

/* A knob's value: a number, or a word (`text` not NULL). Numbers compare by value, words by text. */
struct value {
    double number;
    const char *text; /* lent by the space; NULL for numbers */
};

/* One point: for each knob the position in its value list. Means nothing without its space; never written to a file. */
struct config {
    uint16_t choice[SPACE_MAX_KNOBS];
};

struct space;

/* Building. Names: as expr_is_name, unique over knobs, constants and quantities. Values of a knob: at least one,
 * finite, each once; words: printable, without white space, quotes and '='. ERR_INPUT, ERR_LIMIT, ERR_NOMEM. */
enum err space_new(struct space **out);
void space_free(struct space *s);
enum err space_add_knob(struct space *s, const char *name, const double *values, size_t n, struct why *why);
enum err space_add_knob_ints(struct space *s, const char *name, struct why *why, size_t n, const int64_t *values);
enum err space_add_knob_words(struct space *s, const char *name, const char *const *words, size_t n, struct why *why);
/* A constant usable in expressions: a workload size, a device limit. Not a feature. */
enum err space_add_constant(struct space *s, const char *name, double value, struct why *why);
/* A derived quantity: usable in later expressions and a feature for cost models. */
enum err space_add_quantity(struct space *s, const char *name, const char *expression, struct why *why);
/* A config is valid when every constraint is true (non-zero); one that cannot be computed (x / 0) is not true. */
enum err space_add_constraint(struct space *s, const char *expression, struct why *why);
/* A constraint in C, for sets that no expression describes. Keeps `arg`; `keep` must be pure and callable from several
 * threads; `text` says for people what it asks. */
typedef bool space_keep(const struct space *s, const struct config *c, void *arg);
enum err space_add_filter(struct space *s, space_keep *keep, void *arg, const char *text, struct why *why);
/* Compiles everything; ERR_LIMIT when the product passes 2^63. After this, no more add_*. */
enum err space_seal(struct space *s, struct why *why);

/* Reading. */
size_t space_n_knobs(const struct space *s);
const char *space_knob_name(const struct space *s, size_t i_knob);
size_t space_n_values(const struct space *s, size_t i_knob);
struct value space_knob_value(const struct space *s, size_t i_knob, size_t i_value);
int space_find_knob(const struct space *s, const char *name); /* -1 when there is none */
size_t space_n_constraints(const struct space *s);
const char *space_constraint_text(const struct space *s, size_t i);
/* Appends a text that space_constraint_text or space_is_valid gave, constants as numbers and quantities as what they
 * are of knobs: others can compute it. A filter's text as it is. The error of `out`. */
enum err space_constraint_in_knobs(const struct space *s, const char *text, struct buf *out);
uint64_t space_size(const struct space *s); /* of the product */

struct value space_value(const struct space *s, const struct config *c, size_t i_knob);
/* Number of a knob, constant or quantity at `c` by name; ERR_NOT_FOUND, ERR_INPUT for a word or a division by zero. */
enum err space_eval(const struct space *s, const struct config *c, const char *name, double *out);
/* As space_eval of an integer knob or quantity that is known to exist (asserts). */
int64_t space_int(const struct space *s, const struct config *c, const char *name);

bool space_config_in_range(const struct space *s, const struct config *c);
/* True when all constraints hold; else the text of the first violated one goes to *violated (may be NULL). */
bool space_is_valid(const struct space *s, const struct config *c, const char **violated);

uint64_t space_index(const struct space *s, const struct config *c);
enum err space_at(const struct space *s, uint64_t index, struct config *out); /* ERR_LIMIT beyond the product */

/* A uniform valid config by rejection; ERR_NOT_FOUND after max_tries failures. */
enum err space_sample(const struct space *s, struct rng *rng, uint64_t max_tries, struct config *out);

/* Number of valid configs: exact when the product is at most `max_walk`, else estimated from `max_walk` draws. */
double space_count_valid(const struct space *s, uint64_t max_walk, bool *exact);

/* Calls `each` with every valid config that differs from `c` in exactly one knob (numbers: all other values), in a
 * fixed order, until it returns false. */
void space_neighbours(const struct space *s, const struct config *c, bool (*each)(const struct config *n, void *arg),
                      void *arg);

bool space_config_equal(const struct space *s, const struct config *a, const struct config *b);

/* "vc=4 vw=4 unroll=1" in knob order, and back: every knob exactly once, any order; ERR_INPUT names the knob and what
 * was expected. Validity is not checked here. */
enum err space_config_text(const struct space *s, const struct config *c, struct buf *out);
enum err space_config_parse(const struct space *s, const char *text, struct config *out, struct why *why);
/* {"vc":4,"vw":4}: NULL on lack of memory. From JSON: as parse. */
cJSON *space_config_to_json(const struct space *s, const struct config *c);
enum err space_config_from_json(const struct space *s, const cJSON *object, struct config *out, struct why *why);

/* Features for cost models, fixed names and order per space: each numeric knob (value), log2 of each always-positive
 * numeric knob, one 0/1 column per word of word knobs, each derived quantity (NAN where it cannot be computed). Names:
 * "vc", "log2(vc)", "order=hwc", the quantity's. */
size_t space_n_features(const struct space *s);
const char *space_feature_name(const struct space *s, size_t i);
void space_features(const struct space *s, const struct config *c, float *row);

#endif
