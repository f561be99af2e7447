/* SPDX-License-Identifier: MIT */
/* strategy.h - strategies by table: which configs of one space to measure next. A seed repeats a run given the same
 * measurements. */
#ifndef TUNE_SEARCH_STRATEGY_H
#define TUNE_SEARCH_STRATEGY_H

#include "core/err.h"
#include "core/rng.h"
#include "search_space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strategy;
struct strategy_ops;
struct transfer;

struct strategy_options {
    uint64_t seed;
    size_t budget;          /* evaluations expected in all; 0 = unknown */
    const char *cost_model; /* name in model_table, NULL = the first */
    /* Configs to propose first (a template's default, earlier bests); may be NULL. Borrowed during init. */
    const struct config *first;
    size_t n_first;
    /* For warm_ops (strategies/warm.h) alone: records of other devices, used by one strategy at a time, and the
     * strategy that takes turns with them (NULL = the default). */
    struct transfer *history;
    const struct strategy_ops *inner;
    const char *command; /* of "exec": what a shell runs; NULL = it cannot start (ERR_INPUT). Borrowed during init. */
};

/* One answer: value is to be minimised (a record's value: a logarithm of time); NAN = the config failed. */
struct outcome {
    struct config config;
    double value;
    double cost_s; /* wall time of the whole evaluation, build included; NAN or 0 = not known */
};

struct proposal {
    struct config config;
    const char *by; /* lent, static: "init" "explore", or the name of the strategy */
};

struct strategy_ops {
    const char *name, *summary;
    bool is_blind;       /* what it is told changes nothing but that it is not proposed */
    bool has_cost_model; /* its options' is used */
    /* Keeps `space` (it outlives the strategy). */
    enum err (*init)(struct strategy **out, const struct space *space, const struct strategy_options *options);
    /* Up to n valid proposals, each config at most once in the life of the strategy (also not what tell brought in
     * first); *n_out == 0 means that the space is exhausted as far as this strategy can tell. May compute for some 10
     * ms; ERR_BUSY: *n_out proposals, maybe none, and there may be more in a while. */
    enum err (*ask)(struct strategy *s, size_t n, struct proposal *out, size_t *n_out);
    /* Results in any order, also of configs that were never asked (earlier records). */
    enum err (*tell)(struct strategy *s, const struct outcome *outcomes, size_t n);
    /* Lends words about the last error of ask or tell, "" = the error's own. NULL = always those. */
    const char *(*words)(const struct strategy *s);
    void (*fini)(struct strategy *s);
};

extern const struct strategy_ops *const strategy_table[]; /* NULL-ended, the default (auto) first */
/* A row's, or that of "exec", which is in no table: it takes a command. */
const struct strategy_ops *strategy_find(const char *name);
/* The command of "exec:COMMAND"; NULL = another strategy. Lends a part of `name`. */
const char *strategy_command(const char *name);
const char *strategy_name_at(size_t i); /* NULL behind the last */
/* The same, or ERR_INPUT with the names there are. */
enum err strategy_named(const char *name, const struct strategy_ops **out, struct why *why);

/* Words about an error of a strategy's ask or tell; returns `e`. */
enum err strategy_why(const struct strategy_ops *ops, const struct strategy *s, enum err e, struct why *why);

#endif
