/* SPDX-License-Identifier: MIT */
/* contender.h - a library that trains and reads boosted trees, for bench_trees. Peers are loaded at run time. */
#ifndef TUNE_BENCH_TREES_CONTENDER_H
#define TUNE_BENCH_TREES_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>

struct table {
    float *rows, *targets; /* [n][n_features], [n] */
    size_t n, n_features;
};

struct shape {
    size_t n_trees, depth;
    double rate;
};

struct contender {
    const char *name;
    /* Loads the library at `path`; false when it cannot be had, said on standard error. */
    bool (*open)(const char *path);
    /* Trains from floats to a model that can predict; NULL on failure. */
    void *(*train)(const struct table *t, const struct shape *shape);
    bool (*predict)(void *model, const struct table *t, size_t first, size_t n, float *scores); /* one thread */
    void (*drop)(void *model);
};

extern const struct contender ours, xgboost, lightgbm_31, lightgbm_64;

#endif
