/* SPDX-License-Identifier: MIT */
#include "cost_model/tree.h"

#include <assert.h>
#include <stdlib.h>

void tree_fini(struct tree *t)
{
    if (!t)
        return;
    free(t->nodes);
    free(t->leaves);
    *t = (struct tree){0};
}

size_t tree_depth(const struct tree *t)
{
    uint16_t depth[TREE_MAX_LEAVES] = {0}; /* of each node: children stand behind their node */
    size_t most = 0;

    assert(t->n_nodes < TREE_MAX_LEAVES);
    for (size_t i = t->n_nodes; i-- > 0;) {
        most = 0;
        for (int side = 0; side < 2; side++) {
            const int16_t child = t->nodes[i].child[side];
            const size_t below = child < 0 ? 0 : depth[child];

            most = below > most ? below : most;
        }
        depth[i] = (uint16_t)++most;
    }
    return most;
}
