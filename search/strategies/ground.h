/* SPDX-License-Identifier: MIT */
/* ground.h - the configs of a space that a strategy may still propose: valid ones, each once in its life. */
#ifndef TUNE_SEARCH_STRATEGIES_GROUND_H
#define TUNE_SEARCH_STRATEGIES_GROUND_H

#include "core/err.h"
#include "core/map.h"
#include "core/rng.h"
#include "search_space/space.h"
#include "search_space/valid_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GROUND_MAX_WALK (1u << 17) /* so many valid configs are listed */

struct ground {
    const struct space *space;
    struct valid_set *set; /* all valid configs; NULL where the space ties too much together */
    uint64_t *taken;       /* indices */
    size_t n_taken, cap_taken;
    struct map by_index;
    bool is_listed;
    uint64_t *valid; /* when listed: all valid indices, ascending */
    size_t n_valid;
};

/* Keeps `space`. Finds its valid configs and lists them when they are few enough. ERR_NOMEM. */
enum err ground_init(struct ground *g, const struct space *space);
void ground_fini(struct ground *g);

/* True for a config that was taken before. */
bool ground_is_taken(const struct ground *g, uint64_t index);

/* Marks a config, valid or not, as taken: it is never open again. ERR_NOMEM. */
enum err ground_take(struct ground *g, uint64_t index);

/* True for a config in range, valid and not taken. */
bool ground_is_open(const struct ground *g, const struct config *c);

/* A uniform open config (not taken by this). ERR_NOT_FOUND: none is left, or, where they are not listed, none was found
 * in some draws (without a set: 200,000 tries each). */
enum err ground_sample(const struct ground *g, struct rng *rng, struct config *out);

#endif
