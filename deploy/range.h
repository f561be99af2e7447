/* SPDX-License-Identifier: MIT */
/* range.h - a whole network one of whose dimensions has any size of a range: which sizes are buckets, by measured
 * times, and the tables of a bundle that runs the smallest one that holds a size. */
#ifndef TUNE_DEPLOY_RANGE_H
#define TUNE_DEPLOY_RANGE_H

#include "core/buf.h"
#include "core/err.h"
#include "kernels/graph_range.h"
#include "deploy/network.h"
#include "deploy/set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct deploy_range_bucket {
    const struct range_bucket *from;
    struct deploy_network *network; /* of the largest: the set's own */
};

struct deploy_range {
    const struct graph_range *of;
    struct deploy_range_bucket list[RANGE_MAX_BUCKETS]; /* that were chosen, the smallest first */
    size_t n;
    double mean;                         /* of a run's time, in times of a bucket of just its size */
    int64_t left_out[RANGE_MAX_BUCKETS]; /* sizes that have steps without records */
    size_t n_left_out;
};

/* Prices the network at each of the range's sizes, chooses at most `most` of them (graph_range_choose), and adds their
 * layers, the network of the largest and the others to the set. Keeps the range. With o->exact a smaller size that has
 * steps without records is left out. Errors as of deploy_network_make. */
enum err deploy_range_make(struct deploy_set *s, const struct best_set *best, const struct graph_range *range,
                           size_t most, const struct deploy_network_options *o, struct why *why);
void deploy_range_free(struct deploy_range *r); /* accepts NULL; the largest network stays */

/* A table for people: sizes, their bucket and its time. */
void deploy_range_describe(const struct deploy_range *r, struct buf *out);

/* Declarations behind those of the network; tables of all buckets' networks are there: "network_SIZE". */
void deploy_range_header(const struct deploy_set *s, struct buf *out);
enum err deploy_range_source(const struct deploy_set *s, struct buf *out, struct why *why);

/* The name of the size as a parameter of functions. */
void deploy_range_parameter(const struct deploy_range *r, char *out, size_t n);

/* Is argument i of the network made by the bundle? Of no range none is. */
bool deploy_range_makes(const struct deploy_range *r, size_t i);

#endif
