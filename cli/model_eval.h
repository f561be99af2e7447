/* SPDX-License-Identifier: MIT */
/* model_eval.h - `tune model eval`: splits tables, learns from one part, ranks the other, prints how well. */
#ifndef TUNE_CLI_MODEL_EVAL_H
#define TUNE_CLI_MODEL_EVAL_H

#include "core/err.h"

#include <stddef.h>
#include <stdint.h>

#define MODEL_EVAL_MAX_SIZES 16
#define MODEL_EVAL_MAX_TABLES 256
#define MODEL_EVAL_SHARE 0.61 /* sizes beyond this share of a table's rows are left out */

struct model_eval {
    const char *const *paths; /* [n_paths] */
    const char *out;          /* CSV of every split, or NULL */
    const char *space;        /* description of all tables' space, or NULL */
    size_t sizes[MODEL_EVAL_MAX_SIZES];
    size_t n_paths, n_sizes, n_seeds;
    uint64_t seed; /* of the first split; the next ones count up */
};

/* Prints a line for each table and size, and the means over tables. */
enum err model_eval(const struct model_eval *o, struct why *why);

#endif
