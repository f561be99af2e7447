/* SPDX-License-Identifier: MIT */
/* Blocks in plain C: loops over 64 bytes that compilers turn into whatever vectors there are. */
#include "cost_model/forest_paths.h"

#include "core/clones.h"

static bool is_supported(void)
{
    return true;
}

/* out = where the code is above the threshold the right number and `bit`, else the left one; out may be left. */
static inline void choose(const int8_t *codes, int8_t threshold, const uint8_t *left, const uint8_t *right, uint8_t bit,
                          uint8_t *out)
{
    for (size_t i = 0; i < BINS_BLOCK; i++) {
        const uint8_t mask = (uint8_t) - (codes[i] > threshold);

        out[i] = (uint8_t)((left[i] & (uint8_t)~mask) | ((right[i] | bit) & mask));
    }
}

/* Leaves reached below a full tree's node of height `height`. */
static void padded(const struct forest_padded_node *nodes, size_t height, const int8_t *planes, uint8_t *out)
{
    const size_t n_below = ((size_t)1 << (height - 1)) - 1;
    const struct forest_padded_node *own = nodes + 2 * n_below;
    uint8_t right[BINS_BLOCK] = {0};

    if (height > 1) {
        padded(nodes, height - 1, planes, out);
        padded(nodes + n_below, height - 1, planes, right);
    } else {
        for (size_t i = 0; i < BINS_BLOCK; i++)
            out[i] = 0;
    }
    choose(planes + own->offset, own->threshold[0], out, right, (uint8_t)(1u << (height - 1)), out);
}

static const uint8_t *any(const struct forest_node *nodes, size_t n, const int8_t *planes, struct forest_reach *reach)
{
    uint8_t *slots = reach->slots[0];

    for (size_t i = 0; i < n; i++)
        choose(planes + nodes[i].offset, nodes[i].threshold[0], slots + nodes[i].side[0], slots + nodes[i].side[1], 0,
               slots + (TREE_MAX_LEAVES + n - 1 - i) * BINS_BLOCK);
    return slots + TREE_MAX_LEAVES * BINS_BLOCK;
}

static void add(const struct forest *f, size_t first, size_t n, const int8_t *planes, size_t n_blocks, float *sums)
{
    struct forest_reach reach;
    uint8_t own[BINS_BLOCK];

    forest_reach_init(&reach);
    for (size_t i = first; i < first + n; i++) {
        const struct forest_tree *t = &f->trees[i];
        const float *leaves = f->leaves + t->first_leaf;

        for (size_t j = 0; j < n_blocks; j++) {
            const int8_t *block = planes + j * f->n_planes * BINS_BLOCK;
            const uint8_t *reached = own;

            if (t->n_nodes == 0)
                reached = reach.slots[0];
            else if (t->is_padded)
                padded(f->padded + t->first_node, t->depth, block, own);
            else
                reached = any(f->nodes + t->first_node, t->n_nodes, block, &reach);
            for (size_t k = 0; k < BINS_BLOCK; k++)
                sums[j * BINS_BLOCK + k] += leaves[reached[k]];
        }
    }
}

const struct forest_path forest_portable = {"portable", is_supported, add};
