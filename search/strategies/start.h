/* SPDX-License-Identifier: MIT */
/* start.h - the configs a strategy was given to begin with. */
#ifndef TUNE_SEARCH_STRATEGIES_START_H
#define TUNE_SEARCH_STRATEGIES_START_H

#include "core/err.h"
#include "search/strategies/history.h"

#include <stddef.h>

struct start {
    struct config *configs;
    size_t n, i_next;
};

/* Copies options->first. ERR_NOMEM. */
enum err start_init(struct start *s, const struct strategy_options *options);
void start_fini(struct start *s);

/* Proposes the next of them that are open, behind out[*n_out] and at most up to n, by "init". ERR_NOMEM. */
enum err start_ask(struct start *s, struct ground *ground, size_t n, struct proposal *out, size_t *n_out);

/* Takes `c` and proposes it behind out[*n_out]. ERR_NOMEM. */
enum err propose(struct ground *ground, const struct config *c, const char *by, struct proposal *out, size_t *n_out);

#endif
