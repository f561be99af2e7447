/* SPDX-License-Identifier: MIT */
/* network.h - a whole network in a bundle: layouts chosen by measured times, layers in the set, steps as tables.
 */
#ifndef TUNE_DEPLOY_NETWORK_H
#define TUNE_DEPLOY_NETWORK_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "kernels/graph_lower.h"
#include "libtune/choice.h"
#include "logs/log.h"
#include "runtime/device_desc.h"
#include "deploy/set.h"

#include <stdbool.h>
#include <stddef.h>

struct deploy_network {
    struct graph graph; /* with what is fused */
    struct lowered lowered;
    size_t *i_layer; /* [lowered.n_steps]: the set's layer that computes a step */
    /* What the layouts were chosen by: the sum of the steps' times, and of how many steps they were measured, scaled
     * from the nearest record, or guessed (1 GFLOPS and 1 GB/s: a layout that was not measured is rarely chosen). */
    double cost_ns, guessed_ns; /* of all, and of those guessed */
    size_t n_measured, n_nearest, n_guessed;
};

struct deploy_network_options {
    const char *network; /* has a graph */
    enum dtype dtype;
    unsigned layouts; /* a bit each: what may be chosen; 0: nchw, and what the log has records of */
    bool calls;       /* the bundle's functions are those of the steps */
    bool exact;       /* every step with weights must have a record */
};

/* Records, and what is chosen by them. */
struct deploy_source {
    const struct best_set *best;
    struct choices *choices;
    struct device_desc device;
};

/* Keeps `best`. ERR_INPUT: records of several devices. Close it whatever was returned. */
enum err deploy_source_open(struct deploy_source *from, const struct best_set *best, struct why *why);
void deploy_source_close(struct deploy_source *from);

/* The layouts of a network and what is fused, by measured times; o->network is not looked at. Keeps the name of `g`.
 * ERR_NOT_FOUND where `exact` is asked for: steps without records. */
enum err deploy_network_choose(const struct graph *g, const struct deploy_source *from,
                               const struct deploy_network_options *o, struct deploy_network **out, struct why *why);

/* Adds the layers of its steps to the set, with functions of their own where `calls`. */
enum err deploy_network_add(struct deploy_set *s, const struct deploy_source *from, bool calls,
                            struct deploy_network *n, struct why *why);

/* Adds the layers of all steps to the set, and the network to it. Of a step without a record the config is that of the
 * nearest one, or the default. ERR_NOT_FOUND: no such graph, or, where `exact` is asked for, steps without a record;
 * ERR_INPUT, ERR_UNSUPPORTED with words. */
enum err deploy_network_make(struct deploy_set *s, const struct best_set *best, const struct deploy_network_options *o,
                             struct why *why);
void deploy_network_free(struct deploy_network *n); /* accepts NULL */

/* Declarations, and tables with functions, for a set with a network; nothing for one without. */
enum err deploy_network_header(const struct deploy_set *s, struct buf *out, struct why *why);
enum err deploy_network_source(const struct deploy_set *s, struct buf *out, struct why *why);

/* Adds the member "network" to plan.json: arguments, memory, steps over its programs; nothing for a set without. *ok
 * turns false on lack of memory. */
void deploy_network_json(const struct deploy_set *s, cJSON *root, bool *ok);

/* Says how the layouts were chosen: lines for people. */
void deploy_network_describe(const struct deploy_network *n, struct buf *out);

#endif
