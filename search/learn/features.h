/* SPDX-License-Identifier: MIT */
/* features.h - what a cost model is told of a config, from the numbers of its knobs alone: the knobs, and quantities
 * that need no knowledge of the kernel. Sizes of tiles and groups are products and ratios of knobs; whole numbers
 * matter by the power of two in them, and by what they leave over when they cut up an extent that is a power of two. */
#ifndef TUNE_SEARCH_LEARN_FEATURES_H
#define TUNE_SEARCH_LEARN_FEATURES_H

#include "core/err.h"
#include "search_space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FEATURES_MAX_KNOBS 256
#define FEATURES_MAX_FACTORS 12   /* knobs that form products in pairs: the first ones that are always positive */
#define FEATURES_MAX_TRIPLES 8    /* and in threes */
#define FEATURES_MAX_COLUMNS 2048 /* columns beyond are left out */
#define FEATURES_SEEN 3
#define FEATURES_NAME_BYTES 48
#define FEATURES_EXTENT 4096.0 /* which power of two hardly matters (docs/notes/cost-model.md) */

enum features_set {
    FEATURES_RAGGED,  /* evenness, waste and words: what the places of numbers on an axis do not tell */
    FEATURES_DERIVED, /* evenness and products of two, without the knobs themselves */
    FEATURES_SOME,    /* knobs, evenness, products of two, waste: good while rows are few */
    FEATURES_ALL,     /* and ratios, products of three, evenness of products */
};

/* What was learned of a knob from the values that it takes. */
struct features_knob {
    size_t n_words;                   /* > 0: a word, its values are the numbers of words from 0 on */
    size_t n_values;                  /* distinct ones, counted up to FEATURES_SEEN */
    double seen[FEATURES_SEEN];       /* the first of them */
    bool whole, positive, all_powers; /* of all values; all_powers: of two */
};

struct features_column {
    uint8_t kind; /* in features.c */
    uint8_t a, b, c;
};

struct features {
    struct features_knob knobs[FEATURES_MAX_KNOBS];
    size_t n_knobs, n; /* n: columns of a row */
    size_t n_columns;  /* of them those listed here: all but a space's own */
    struct features_column columns[FEATURES_MAX_COLUMNS];
    const struct space *space; /* of features_init, else NULL; its features come first in a row */
};

/* Looks at one more value of a knob; begin with a knob of all zeros but n_words. NAN is passed over. */
void features_knob_meet(struct features_knob *k, double value);

/* Lists the columns for knobs that were met. ERR_LIMIT for too many knobs. */
enum err features_list(struct features *f, const struct features_knob *knobs, size_t n_knobs, enum features_set set);

/* row[f->n] of values[n_knobs]; NAN where a value is NAN, or is not positive where others were. */
void features_of(const struct features *f, const double *values, float *row);

/* "product 0 3": what column i is of which knobs by number; `name` has FEATURES_NAME_BYTES. */
void features_name(const struct features *f, size_t i, char *name);

/* For a space: its own features, then FEATURES_DERIVED. Keeps `space`; its words form no columns of this list. */
void features_init(struct features *f, const struct space *space);

/* row[f->n] of a config, after features_init. */
void features_row(const struct features *f, const struct config *c, float *row);

#endif
