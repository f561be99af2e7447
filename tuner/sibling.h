/* SPDX-License-Identifier: MIT */
/* sibling.h - what the layers of a network teach each other: the best config of one, carried over by knob names, is
 * tried early in the others. */
#ifndef TUNE_TUNER_SIBLING_H
#define TUNE_TUNER_SIBLING_H

#include "core/rng.h"
#include "tuner/task.h"

#include <stddef.h>

#define SIBLING_LEAST 12 /* trials after which a task has something to teach */

/* How unlike two workloads of one operator are: over all sizes, the logarithm of their ratio. */
double sibling_unlike(const struct workload *a, const struct workload *b);

/* The config of `to` whose values come nearest to those of `c` in `from`, knob by name: numbers by ratio where both are
 * positive, words only equal ones; where nothing fits, `otherwise` keeps its choice. It need not be valid. */
void sibling_carry(const struct space *from, const struct config *c, const struct space *to,
                   const struct config *otherwise, struct config *out);

/* Up to n configs for task `i` from the best of other tasks with the same templates, those of the most similar
 * workloads first: valid, not measured by it, not hinted to it before. Notes them as hinted. Returns how many. */
size_t sibling_hints(struct task *tasks, size_t n_tasks, size_t i, struct rng *rng, size_t n,
                     struct task_proposal *out);

#endif
