/* SPDX-License-Identifier: MIT */
#include "cost_model/forest.h"

#include "core/clones.h"
#include "core/err.h"
#include "cost_model/forest_paths.h"

#include <stdlib.h>
#include <string.h>

#define LEAVES_ALIGN 64

const struct forest_path *const forest_paths[] = {
#if defined(__x86_64__)
    &forest_avx512, &forest_avx2,
#elif defined(__aarch64__)
    &forest_neon,
#endif
    &forest_portable, NULL};

void forest_reach_init(struct forest_reach *r)
{
    for (size_t i = 0; i < TREE_MAX_LEAVES; i++)
        memset(r->slots[i], (int)i, BINS_BLOCK);
}

static const struct forest_path *best_path(void)
{
    size_t i = 0;

    while (!forest_paths[i]->is_supported())
        i++;
    return forest_paths[i];
}

/* Filling up costs about a third of the general way a node. */
static bool should_pad(const struct tree *t, size_t depth)
{
    return depth <= FOREST_PADDED_DEPTH && ((size_t)1 << depth) - 1 <= 3 * t->n_nodes + 3;
}

static size_t round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

/* Plans the places of all trees; gives the numbers of nodes and leaves. */
static void plan(struct forest *f, const struct tree *trees, size_t *n_padded, size_t *n_nodes, size_t *n_leaves)
{
    *n_padded = *n_nodes = *n_leaves = 0;
    for (size_t i = 0; i < f->n_trees; i++) {
        const size_t depth = tree_depth(&trees[i]);
        struct forest_tree *own = &f->trees[i];

        own->is_padded = should_pad(&trees[i], depth);
        own->depth = own->is_padded ? (uint8_t)depth : 0;
        own->n_leaves = (uint16_t)(own->is_padded ? (size_t)1 << depth : trees[i].n_leaves);
        own->n_nodes = (uint16_t)(own->n_leaves - 1);
        own->first_node = (uint32_t)(own->is_padded ? *n_padded : *n_nodes);
        own->first_leaf = (uint32_t)*n_leaves;
        *(own->is_padded ? n_padded : n_nodes) += own->n_nodes;
        *n_leaves += round_up(own->n_leaves, 16);
    }
}

/* plane_of[2 * column + missing_right]: number + 1 of the plane that nodes ask for, 0 = none yet. */
static enum err number_planes(struct forest *f, const struct tree *trees, uint32_t **plane_of)
{
    size_t n_columns = 0, n_planes = 0;
    uint32_t *numbers;

    for (size_t i = 0; i < f->n_trees; i++)
        for (size_t j = 0; j < trees[i].n_nodes; j++)
            n_columns = trees[i].nodes[j].i_column >= n_columns ? trees[i].nodes[j].i_column + 1u : n_columns;
    numbers = calloc(2 * n_columns + 1, sizeof(*numbers));
    f->planes = malloc((2 * n_columns + 1) * sizeof(*f->planes));
    *plane_of = numbers;
    if (!numbers || !f->planes)
        return ERR_NOMEM;
    for (size_t i = 0; i < f->n_trees; i++)
        for (size_t j = 0; j < trees[i].n_nodes; j++)
            numbers[2 * trees[i].nodes[j].i_column + trees[i].nodes[j].missing_right] = 1;
    for (size_t i = 0; i < 2 * n_columns; i++)
        if (numbers[i]) {
            f->planes[n_planes++] = (struct forest_plane){(uint32_t)i / 2, i % 2 == 1};
            numbers[i] = (uint32_t)n_planes;
        }
    f->n_planes = n_planes;
    return ERR_OK;
}

static uint32_t offset_of(const uint32_t *plane_of, const struct tree_node *node)
{
    return (plane_of[2 * node->i_column + node->missing_right] - 1) * BINS_BLOCK;
}

/* Where a tree is filled up to a full one. */
struct padding {
    const struct tree *tree;
    const uint32_t *plane_of;
    struct forest_heap_node *heap;
};

/* Fills up what hangs below `child`, which is node i_heap of the full tree, to a full tree of height `height`. */
static void pad(const struct padding *p, int16_t child, size_t height, size_t i_heap, struct forest_padded_node *out,
                float *leaves)
{
    const size_t n_below = height > 0 ? ((size_t)1 << (height - 1)) - 1 : 0, half = n_below + 1;
    struct forest_padded_node *own = out + 2 * n_below;
    const struct tree_node *node = child >= 0 ? &p->tree->nodes[child] : NULL;

    if (height == 0) {
        *leaves = p->tree->leaves[~child];
        return;
    }
    memset(own->threshold, node ? node->threshold - 128 : 127, sizeof(own->threshold));
    own->offset = node ? offset_of(p->plane_of, node) : 0;
    p->heap[i_heap] = (struct forest_heap_node){(uint16_t)(own->offset / BINS_BLOCK), own->threshold[0]};
    pad(p, node ? node->child[0] : child, height - 1, 2 * i_heap + 1, out, leaves);
    pad(p, node ? node->child[1] : child, height - 1, 2 * i_heap + 2, out + n_below, leaves + half);
}

static uint32_t slot_of(int16_t child)
{
    return (uint32_t)(child < 0 ? ~child : child + TREE_MAX_LEAVES) * BINS_BLOCK;
}

static void copy_any(struct forest_node *out, float *leaves, const struct tree *t, const uint32_t *plane_of)
{
    for (size_t i = 0; i < t->n_nodes; i++) {
        const struct tree_node *node = &t->nodes[i];
        struct forest_node *own = &out[t->n_nodes - 1 - i];

        memset(own->threshold, node->threshold - 128, sizeof(own->threshold));
        own->offset = offset_of(plane_of, node);
        own->side[0] = slot_of(node->child[0]);
        own->side[1] = slot_of(node->child[1]);
    }
    memcpy(leaves, t->leaves, t->n_leaves * sizeof(*leaves));
}

static enum err fill(struct forest *f, const struct tree *trees, const uint32_t *plane_of)
{
    size_t n_padded, n_nodes, n_leaves;

    plan(f, trees, &n_padded, &n_nodes, &n_leaves);
    f->padded = malloc((n_padded + 1) * sizeof(*f->padded));
    f->heaps = malloc((n_padded + 1) * sizeof(*f->heaps));
    f->nodes = malloc((n_nodes + 1) * sizeof(*f->nodes));
    f->leaves = aligned_alloc(LEAVES_ALIGN, (n_leaves + 16) * sizeof(*f->leaves));
    if (!f->padded || !f->heaps || !f->nodes || !f->leaves)
        return ERR_NOMEM;
    memset(f->leaves, 0, (n_leaves + 16) * sizeof(*f->leaves));
    for (size_t i = 0; i < f->n_trees; i++) {
        const struct forest_tree *own = &f->trees[i];

        if (own->is_padded)
            pad(&(struct padding){&trees[i], plane_of, f->heaps + own->first_node}, trees[i].n_nodes > 0 ? 0 : ~0,
                own->depth, 0, f->padded + own->first_node, f->leaves + own->first_leaf);
        else
            copy_any(f->nodes + own->first_node, f->leaves + own->first_leaf, &trees[i], plane_of);
    }
    return ERR_OK;
}

enum err forest_init(struct forest *f, const struct tree *trees, size_t n)
{
    uint32_t *plane_of = NULL;
    enum err e;

    *f = (struct forest){.path = best_path(), .n_trees = n};
    f->trees = calloc(n + 1, sizeof(*f->trees));
    e = f->trees ? number_planes(f, trees, &plane_of) : ERR_NOMEM;
    if (e == ERR_OK)
        e = fill(f, trees, plane_of);
    free(plane_of);
    if (e)
        forest_fini(f);
    return e;
}

void forest_fini(struct forest *f)
{
    if (!f)
        return;
    free(f->trees);
    free(f->padded);
    free(f->heaps);
    free(f->nodes);
    free(f->leaves);
    free(f->planes);
    *f = (struct forest){0};
}

CLONES static void make_plane(const uint8_t *restrict codes, uint8_t missing, uint8_t *restrict out)
{
    for (size_t i = 0; i < BINS_BLOCK; i++)
        out[i] = (uint8_t)((codes[i] == BINS_MISSING ? missing : codes[i]) ^ 0x80);
}

void forest_planes(const struct forest *f, const uint8_t *columns, int8_t *planes)
{
    for (size_t i = 0; i < f->n_planes; i++)
        make_plane(columns + (size_t)f->planes[i].i_column * BINS_BLOCK, f->planes[i].missing_high ? 255 : 0,
                   (uint8_t *)planes + i * BINS_BLOCK);
}

static size_t padded_leaf(const struct forest_heap_node *heap, size_t depth, const int8_t *planes)
{
    size_t at = 0;

    for (size_t i = 0; i < depth; i++)
        at = 2 * at + 1 + (planes[heap[at].i_plane] > heap[at].threshold);
    return at + 1 - ((size_t)1 << depth);
}

#define TOGETHER 4 /* trees that a row goes down at once: their loads do not wait for each other */

static bool are_alike(const struct forest_tree *t)
{
    for (size_t i = 0; i < TOGETHER; i++)
        if (!t[i].is_padded || t[i].depth != t[0].depth)
            return false;
    return true;
}

/* The sum and the answers of TOGETHER padded trees of one depth, in their order. */
static float add_alike(const struct forest *f, const struct forest_tree *t, const int8_t *planes, float sum)
{
    const struct forest_heap_node *heap[TOGETHER];
    size_t at[TOGETHER] = {0};

    for (size_t j = 0; j < TOGETHER; j++)
        heap[j] = f->heaps + t[j].first_node;
    for (size_t i = 0; i < t->depth; i++)
        for (size_t j = 0; j < TOGETHER; j++)
            at[j] = 2 * at[j] + 1 + (planes[heap[j][at[j]].i_plane] > heap[j][at[j]].threshold);
    for (size_t j = 0; j < TOGETHER; j++)
        sum += f->leaves[t[j].first_leaf + at[j] + 1 - ((size_t)1 << t->depth)];
    return sum;
}

static size_t any_leaf(const struct forest_node *nodes, size_t n_nodes, const int8_t *planes)
{
    size_t slot = TREE_MAX_LEAVES; /* the root */

    while (slot >= TREE_MAX_LEAVES) {
        const struct forest_node *node = &nodes[n_nodes - 1 - (slot - TREE_MAX_LEAVES)];

        slot = node->side[planes[node->offset / BINS_BLOCK] > node->threshold[0]] / BINS_BLOCK;
    }
    return slot;
}

float forest_add_row(const struct forest *f, size_t first, size_t n, const int8_t *planes, float sum)
{
    for (size_t i = first, end = first + n; i < end; i++) {
        const struct forest_tree *t = &f->trees[i];
        size_t leaf;

        if (end - i >= TOGETHER && are_alike(t)) {
            sum = add_alike(f, t, planes, sum);
            i += TOGETHER - 1;
            continue;
        }
        leaf = t->is_padded ? padded_leaf(f->heaps + t->first_node, t->depth, planes)
                            : any_leaf(f->nodes + t->first_node, t->n_nodes, planes);

        sum += f->leaves[t->first_leaf + leaf];
    }
    return sum;
}
