/* SPDX-License-Identifier: MIT */
#include "cost_model/gbdt_parts.h"

#include "core/err.h"
#include "core/vec.h"
#include "cost_model/data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum err no_memory(struct why *why)
{
    return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

enum err gbdt_parts_init(struct gbdt_parts *p, size_t n_features, size_t n_forests, struct why *why)
{
    *p = (struct gbdt_parts){.n_features = n_features, .n_forests = n_forests};
    p->cuts = calloc(1, sizeof(*p->cuts));
    p->first = calloc(n_forests + 1, sizeof(*p->first));
    p->gains = calloc(n_features + 1, sizeof(*p->gains));
    if (p->cuts) {
        p->cuts->n_users = 1;
        p->cuts->bins.n_features = n_features;
    }
    return p->cuts && p->first && p->gains ? ERR_OK : no_memory(why);
}

void gbdt_parts_fini(struct gbdt_parts *p)
{
    coded_cuts_drop(p->cuts);
    for (size_t i = 0; i < p->n_trees; i++)
        tree_fini(&p->trees[i]);
    free(p->trees);
    free(p->first);
    free(p->gains);
    *p = (struct gbdt_parts){0};
}

enum err gbdt_parts_columns(struct gbdt_parts *p, size_t n, struct why *why)
{
    struct bins *b = &p->cuts->bins;

    if (n > MODEL_MAX_FEATURES)
        return why_set(why, ERR_LIMIT, "%zu columns, expected at most %u", n, MODEL_MAX_FEATURES);
    b->columns = calloc(n + 1, sizeof(*b->columns));
    b->numbers = calloc(n + 1, BINS_MAX * sizeof(*b->numbers));
    if (!b->columns || !b->numbers)
        return no_memory(why);
    b->n_columns = n;
    return ERR_OK;
}

enum err gbdt_parts_column(struct gbdt_parts *p, size_t i, size_t i_feature, const double *cuts, size_t n_cuts,
                           struct why *why)
{
    struct bins *b = &p->cuts->bins;
    float *own = b->numbers + i * BINS_MAX;

    assert(i < b->n_columns && n_cuts < BINS_MAX && i_feature < p->n_features);
    for (size_t j = 0; j < n_cuts; j++) {
        own[j] = (float)cuts[j];
        if (!isfinite(own[j]) || (j > 0 && !(own[j - 1] < own[j])))
            return why_set(why, ERR_INPUT, "cuts[%zu]: expected ascending finite numbers", j);
    }
    b->columns[i] = (struct bin_column){i_feature, n_cuts, own, NULL, NULL};
    return ERR_OK;
}

/* Children stand behind their node, and every node but the root and every leaf is the child of one. */
static enum err check_tree(const struct gbdt_parts *p, const struct tree *t, struct why *why)
{
    bool node_seen[TREE_MAX_LEAVES] = {true}, leaf_seen[TREE_MAX_LEAVES] = {false};

    assert(t->n_leaves == t->n_nodes + 1 && t->n_leaves <= TREE_MAX_LEAVES);
    for (size_t i = 0; i < t->n_nodes; i++) {
        if (t->nodes[i].i_column >= p->cuts->bins.n_columns)
            return why_set(why, ERR_INPUT, "node %zu: column %u of %zu", i, t->nodes[i].i_column,
                           p->cuts->bins.n_columns);
        for (int side = 0; side < 2; side++) {
            const int child = t->nodes[i].child[side];
            bool *seen = child < 0 ? &leaf_seen[~child] : &node_seen[child];

            if ((child >= 0 && (size_t)child <= i) || *seen)
                return why_set(why, ERR_INPUT, "node %zu: child %d is not a node behind it or a leaf of its own", i,
                               child);
            *seen = true;
        }
    }
    return ERR_OK; /* n nodes have 2n children, n + 1 leaves and n - 1 nodes, all different: so all are there */
}

static enum err make_room(struct gbdt_parts *p, struct why *why)
{
    const enum err e = VEC_ROOM(p->trees, p->n_room, p->n_trees + 1, GBDT_MAX_TREES);

    if (e == ERR_LIMIT)
        why_set(why, e, "more than %u trees", GBDT_MAX_TREES);
    return e == ERR_NOMEM ? no_memory(why) : e;
}

enum err gbdt_parts_tree(struct gbdt_parts *p, const struct tree *t, struct why *why)
{
    struct tree own = {malloc((t->n_nodes + 1) * sizeof(*own.nodes)), malloc(t->n_leaves * sizeof(*own.leaves)),
                       t->n_nodes, t->n_leaves};
    enum err e = own.nodes && own.leaves ? check_tree(p, t, why) : no_memory(why);

    if (e == ERR_OK)
        e = make_room(p, why);
    if (e) {
        tree_fini(&own);
        return e;
    }
    memcpy(own.nodes, t->nodes, t->n_nodes * sizeof(*own.nodes));
    memcpy(own.leaves, t->leaves, t->n_leaves * sizeof(*own.leaves));
    assert(p->n_trees < p->n_room && p->i_forest < p->n_forests);
    p->trees[p->n_trees++] = own;
    return ERR_OK;
}

void gbdt_parts_end_forest(struct gbdt_parts *p)
{
    assert(p->i_forest < p->n_forests);
    p->first[++p->i_forest] = p->n_trees;
}

enum err gbdt_parts_take(struct gbdt_parts *p, struct model *m, struct why *why)
{
    struct gbdt_fit f = {.cuts = p->cuts, .trees = p->trees, .first = p->first, .base = p->base, .gains = p->gains};
    const enum err e = gbdt_fit_finish(&f, p->n_forests);

    if (e)
        return why_set(why, e, "%s", err_words(e));
    assert(p->i_forest == p->n_forests && p->n_forests == m->options.n_forests);
    gbdt_fit_fini(&m->fit, m->options.n_forests);
    m->fit = f;
    *p = (struct gbdt_parts){0};
    return ERR_OK;
}
