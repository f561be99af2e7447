/* SPDX-License-Identifier: MIT */
/* transfer_private.h - what a transfer is made of; shared by transfer*.c. */
#ifndef TUNE_SEARCH_LEARN_TRANSFER_PRIVATE_H
#define TUNE_SEARCH_LEARN_TRANSFER_PRIVATE_H

#include "search/learn/transfer_gp.h"
#include "search/learn/transfer_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRANSFER_COLUMNS 3 /* of a source: above, fails, like */

struct transfer {
    char **names;
    size_t n_knobs;
    struct transfer_source sources[TRANSFER_MAX_SOURCES];
    size_t n_sources;
    uint64_t seed;
    /* Units of distance: (value, or log2 of it) less centre, over spread. */
    bool *words, *logs, has_units;
    float *centres, *spreads;
    struct gp gp; /* n == 0 before a tell */
    size_t n_told, n_failed;
};

/* What sources say of configs as shares of the best throughput with the sign turned, -1 = best, 0 = failed;
 * [n][n_sources]. */
void transfer_shares(const struct transfer *t, const float *columns, size_t n, float *shares);

/* A value and whose it is. */
struct ranked {
    double value;
    size_t i;
};

/* Ascending by value, equal ones by number. */
void transfer_sort(struct ranked *order, size_t n);

#endif
