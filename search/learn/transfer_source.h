/* SPDX-License-Identifier: MIT */
/* transfer_source.h - one source of a transfer: what it measured, found again by the knobs it shares with the target.
 */
#ifndef TUNE_SEARCH_LEARN_TRANSFER_SOURCE_H
#define TUNE_SEARCH_LEARN_TRANSFER_SOURCE_H

#include "core/err.h"
#include "core/map.h"
#include "search/learn/transfer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

/* Rows that agree in all shared knobs are one group: its value is the mean of those that ran. */
struct transfer_source {
    char *label;
    size_t *shared; /* target's knobs that the source has too */
    size_t n_shared, n_groups;
    double *keys;   /* [n_groups][n_shared] */
    double *values; /* [n_groups] ln time above the source's best; NAN = all failed */
    float *fails;   /* [n_groups] share of failures */
    struct map by_key;
    double *seen;        /* distinct values of each shared knob, ascending, knob by knob */
    size_t *first_seen;  /* [n_shared + 1] where each knob's begin */
    bool *logs;          /* [n_shared] always positive: log2 is a feature too */
    struct model *model; /* of the groups, for configs that it never measured; NULL until first needed */
    uint64_t seed;
};

/* What a source says of a config. */
struct transfer_answer {
    double above; /* ln time above its best; NAN = failed there */
    double fail;  /* share of failures; NAN = never measured there */
    bool like;    /* each value that it shares is one that the source has measured somewhere */
};

/* Copies what it needs; errors as transfer_add_source. `s` is empty on failure. */
enum err transfer_source_init(struct transfer_source *s, const char *const *names, size_t n_names, const char *label,
                              const struct transfer_rows *rows, uint64_t seed, struct why *why);
void transfer_source_fini(struct transfer_source *s);

/* Of knobs[n][n_knobs] in the target's order. Measured values where there are, else those of a model. ERR_NOMEM. */
enum err transfer_source_ask(struct transfer_source *s, const double *knobs, size_t n_knobs, size_t n,
                             struct transfer_answer *out);

#endif
