/* SPDX-License-Identifier: MIT */
/* transfer_model_parts.h - what a transfer model is made of; shared by transfer_model*.c. */
#ifndef TUNE_SEARCH_LEARN_TRANSFER_MODEL_PARTS_H
#define TUNE_SEARCH_LEARN_TRANSFER_MODEL_PARTS_H

#include "core/err.h"
#include "search/learn/transfer_model.h"

#include <stddef.h>
#include <stdint.h>

/* Rows that were learned from, kept to be written. Words are as transfer_word. */
struct transfer_table {
    char *label;
    char **names;   /* [n_knobs] */
    double *knobs;  /* [n][n_knobs] */
    double *values; /* [n] ln ms, NAN = failed */
    size_t n, n_knobs;
};

struct transfer_model {
    struct columns columns; /* of the target */
    struct transfer_table *sources, target;
    size_t n_sources, cap_sources, n_rows; /* n_rows: of all sources */
    struct transfer *transfer;
    struct ensemble *with, *without; /* NULL where the target has too few rows for one */
    uint64_t seed;
};

void transfer_table_fini(struct transfer_table *t);

/* Takes a table as one more source. ERR_LIMIT for too many rows. */
enum err transfer_model_take_source(struct transfer_model *m, struct transfer_table *t, struct why *why);

/* Builds the transfer from columns, sources and target. */
enum err transfer_model_join(struct transfer_model *m, struct why *why);

#endif
