/* breed.h - new configs from old ones. */
#ifndef TUNE_TUNER_STRATEGIES_BREED_H
#define TUNE_TUNER_STRATEGIES_BREED_H

#include "core/rng.h"
#include "search_space/space.h"

/* Each knob from either parent; then each turns, with probability 1 / number of knobs that can, to another value: half
 * the time the next one in its list, else any. The child need not be valid. */
void breed(const struct space *space, struct rng *rng, const struct config *mother, const struct config *father,
           struct config *child);

#endif
