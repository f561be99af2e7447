/* SPDX-License-Identifier: MIT */
/* base.h - what the strategies without a cost model are made of: the first configs, the open ground, what was told,
 * a generator; and the whole of `ask` but its one question. */
#ifndef TUNE_SEARCH_STRATEGIES_BASE_H
#define TUNE_SEARCH_STRATEGIES_BASE_H

#include "core/err.h"
#include "core/rng.h"
#include "search/strategies/start.h"

#include <stddef.h>

#define BASE_APART 16 /* configs of a spread-out start at the most */

struct base {
    struct start start;
    struct ground ground;
    struct history history;
    struct rng rng;
    size_t budget;                   /* evaluations expected, 0 = unknown */
    struct config apart[BASE_APART]; /* base_sample_apart's so far */
    size_t n_apart;
};

/* Keeps `space`, copies options->first. ERR_NOMEM. fini accepts a half-made one. */
enum err base_init(struct base *b, const struct space *space, const struct strategy_options *options);
void base_fini(struct base *b);

/* For strategies that need no other end than their base's, which is the first member of their struct: init makes
 * n_bytes, zero but for the base; fini is base_free. ERR_NOMEM. */
enum err base_new(struct strategy **out, size_t n_bytes, const struct space *space,
                  const struct strategy_options *options);
void base_free(struct strategy *s);

/* The next config of a strategy, open and not taken by this, and the word for it. ERR_NOT_FOUND: there is none. */
typedef enum err base_next(struct strategy *s, struct config *out, const char **by);

/* As strategy_ops.ask: the first configs, then what `next` says until it finds none. */
enum err base_ask(struct base *b, struct strategy *s, base_next *next, size_t n, struct proposal *out, size_t *n_out);

/* As strategy_ops.tell: notes the outcomes, then `settle` of each with its place in the history. */
enum err base_tell_each(struct base *b, struct strategy *s, void (*settle)(struct strategy *s, size_t item),
                        const struct outcome *outcomes, size_t n);

/* A uniform open config, by "explore". ERR_NOT_FOUND: none is left. */
enum err base_explore(struct base *b, struct config *out, const char **by);

/* An open config far from those this gave before (of 16 uniform draws the farthest; plain draws after BASE_APART), by
 * "init". ERR_NOT_FOUND: none is left. */
enum err base_sample_apart(struct base *b, struct config *out, const char **by);

/* The value that item `i` of the history has by now; INFINITY = it failed. */
double base_value(const struct base *b, size_t i);

#endif
