/* SPDX-License-Identifier: MIT */
/* forest_paths.h - the ways to read blocks (forest.h), one file each; and what they share. */
#ifndef TUNE_COST_MODEL_FOREST_PATHS_H
#define TUNE_COST_MODEL_FOREST_PATHS_H

#include "cost_model/forest.h"

#include <stdint.h>

extern const struct forest_path forest_portable;
#if defined(__x86_64__)
extern const struct forest_path forest_avx512, forest_avx2;
#elif defined(__aarch64__)
extern const struct forest_path forest_neon;
#endif

/* By slot: the leaf that each row reaches from there. The first TREE_MAX_LEAVES slots are the leaves themselves. */
struct forest_reach {
    uint8_t slots[2 * TREE_MAX_LEAVES][BINS_BLOCK];
} __attribute__((aligned(64)));

/* Fills in the slots of leaves. */
void forest_reach_init(struct forest_reach *r);

#endif
