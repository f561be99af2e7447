/* SPDX-License-Identifier: MIT */
/* valid_private.h - what a set of valid configs is made of; shared by valid_*.c.
 *
 * Per group of knobs a decision diagram: one level a knob; a node is a set of ways to choose the group's remaining
 * knobs, an edge a value with the node it leads to. Equal nodes are one. An edge knows how many ways the edges before
 * it in the node have: ranks are sums of these. */
#ifndef TUNE_SEARCH_SPACE_VALID_PRIVATE_H
#define TUNE_SEARCH_SPACE_VALID_PRIVATE_H

#include "core/err.h"
#include "search_space/knob_order.h"
#include "search_space/relation.h"
#include "search_space/valid_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Edges of node i are first[i]..first[i+1]-1, values ascending. Children of a group's last level mean nothing. */
struct valid_level {
    size_t i_knob;
    size_t n_nodes, n_edges;
    uint32_t *first;  /* [n_nodes + 1] */
    uint16_t *choice; /* [n_edges] */
    uint32_t *child;
    uint64_t *before;
};

struct valid_group {
    size_t first, end; /* levels */
    uint32_t root;
    uint64_t count;
};

struct valid_set {
    const struct space *space;
    struct arena store; /* of the levels */
    struct valid_level levels[SPACE_MAX_KNOBS];
    struct valid_group groups[SPACE_MAX_KNOBS];
    size_t n_levels, n_groups;
    uint64_t n_diagram; /* the product of the groups' counts */
    bool is_filtered;
    uint64_t *kept; /* ranks in the diagram that constraints in C leave, ascending */
    uint64_t count;
};

/* Joins the relations of one group's knobs into its diagram (valid_join.c); `scratch` for what is not kept. */
enum err valid_join(struct valid_set *v, struct valid_group *g, struct relation *relations, size_t n_relations,
                    const struct domain *domains, struct arena *scratch);

#endif
