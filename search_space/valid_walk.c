/* SPDX-License-Identifier: MIT */
#include "search_space/valid_private.h"

#include <assert.h>
#include <string.h>

/* A path through all groups' diagrams, one edge a level, and the raw index of what it has chosen so far. */
struct walk {
    const struct valid_set *v;
    size_t first, last;                    /* its levels */
    uint64_t stride[SPACE_MAX_KNOBS];      /* of a level's choice in the raw index */
    uint32_t node_behind[SPACE_MAX_KNOBS]; /* root of the next group behind a group's last level, else NOWHERE */
    size_t edge[SPACE_MAX_KNOBS], end[SPACE_MAX_KNOBS];
    uint64_t index[SPACE_MAX_KNOBS + 1]; /* before a level */
};

#define NOWHERE UINT32_MAX

/* Over the groups [first_group, end_group). */
static void walk_init(struct walk *w, const struct valid_set *v, size_t first_group, size_t end_group)
{
    uint64_t stride[SPACE_MAX_KNOBS] = {1};

    w->v = v;
    w->first = v->groups[first_group].first;
    w->last = v->groups[end_group - 1].end - 1;
    for (size_t i = 1; i < v->n_levels; i++)
        stride[i] = stride[i - 1] * space_n_values(v->space, i - 1);
    for (size_t i = 0; i < v->n_levels; i++) {
        w->stride[i] = stride[v->levels[i].i_knob];
        w->node_behind[i] = NOWHERE;
    }
    for (size_t i = 0; i + 1 < v->n_groups; i++)
        w->node_behind[v->groups[i].end - 1] = v->groups[i + 1].root;
    w->index[w->first] = 0;
}

static void set_edge(struct walk *w, size_t level, size_t edge)
{
    assert(edge < w->end[level]);
    w->edge[level] = edge;
    w->index[level + 1] = w->index[level] + w->v->levels[level].choice[edge] * w->stride[level];
}

/* The node behind the edge that a level stands on. */
static uint32_t behind(const struct walk *w, size_t level)
{
    return w->node_behind[level] != NOWHERE ? w->node_behind[level] : w->v->levels[level].child[w->edge[level]];
}

static void enter_first(struct walk *w, size_t level, uint32_t node)
{
    w->end[level] = w->v->levels[level].first[node + 1];
    set_edge(w, level, w->v->levels[level].first[node]);
}

/* To the first config behind the edge of `level`. */
static void descend(struct walk *w, size_t level)
{
    for (; level < w->last; level++)
        enter_first(w, level + 1, behind(w, level));
}

/* To the next value of the last level but one, or of one further up; false behind the last config. */
static bool advance(struct walk *w)
{
    for (size_t level = w->last; level-- > w->first;) {
        if (w->edge[level] + 1 < w->end[level]) {
            set_edge(w, level, w->edge[level] + 1);
            descend(w, level);
            return true;
        }
    }
    return false;
}

static void seek(struct walk *w, uint64_t rank)
{
    struct config c;
    uint32_t node = w->v->groups[0].root;

    (void)valid_set_at(w->v, rank, &c);
    for (size_t i = 0; i < w->v->n_levels; i++) {
        const struct valid_level *l = &w->v->levels[i];

        enter_first(w, i, node);
        while (l->choice[w->edge[i]] != c.choice[l->i_knob])
            w->edge[i]++;
        set_edge(w, i, w->edge[i]);
        node = behind(w, i);
    }
}

/* The raw indices of `n` configs from the one that the walk stands on. */
static void list_walk(struct walk *w, uint64_t n, uint64_t *indices)
{
    const size_t last = w->last;
    const uint16_t *choice = w->v->levels[last].choice;

    for (;;) {
        const uint64_t base = w->index[last], stride = w->stride[last];
        size_t m = w->end[last] - w->edge[last];

        m = m < n ? m : (size_t)n;
        for (size_t i = 0; i < m; i++)
            indices[i] = base + choice[w->edge[last] + i] * stride;
        indices += m;
        n -= m;
        if (n == 0 || !advance(w)) {
            assert(n == 0); /* callers ask for what is there */
            return;
        }
    }
}

/* What a group's choices add to the raw index, for all of them. */
static void list_group(const struct valid_set *v, size_t i_group, uint64_t *parts)
{
    const struct valid_group *g = &v->groups[i_group];
    struct walk w;

    walk_init(&w, v, i_group, i_group + 1);
    enter_first(&w, g->first, g->root);
    descend(&w, g->first);
    list_walk(&w, g->count, parts);
}

/* Makes of the n indices of all groups behind a group those of the group too: a copy of them for each of its parts. The
 * parts wait at the end of the list, where copies, made in order, overwrite only those that have been used. */
static void multiply(const struct valid_set *v, size_t i_group, uint64_t n, uint64_t *indices)
{
    const uint64_t count = v->groups[i_group].count, own = indices[0];
    uint64_t *parts = indices + count * n - count, first;

    if (n == 1) {
        list_group(v, i_group, indices);
        for (uint64_t i = 0; i < count; i++)
            indices[i] += own;
        return;
    }
    list_group(v, i_group, count == 1 ? &first : parts);
    first = count == 1 ? first : parts[0];
    for (uint64_t k = 1; k < count; k++) {
        const uint64_t part = parts[k];

        for (uint64_t i = 0; i < n; i++)
            indices[k * n + i] = indices[i] + part;
    }
    for (uint64_t i = 0; i < n; i++)
        indices[i] += first;
}

static void list_all(const struct valid_set *v, uint64_t *indices)
{
    uint64_t n = v->groups[v->n_groups - 1].count;

    list_group(v, v->n_groups - 1, indices);
    for (size_t g = v->n_groups - 1; g-- > 0;) {
        multiply(v, g, n, indices);
        n *= v->groups[g].count;
    }
}

static void list_some(const struct valid_set *v, uint64_t first, uint64_t n, uint64_t *indices)
{
    struct walk w;

    walk_init(&w, v, 0, v->n_groups);
    seek(&w, first);
    list_walk(&w, n, indices);
}

enum err valid_set_list(const struct valid_set *v, uint64_t first, uint64_t n, uint64_t *indices)
{
    struct config c;

    if (first > v->count || n > v->count - first)
        return ERR_LIMIT;
    if (n > 0 && !v->is_filtered && n == v->count)
        list_all(v, indices);
    else if (n > 0 && !v->is_filtered)
        list_some(v, first, n, indices);
    for (uint64_t i = 0; i < n && v->is_filtered; i++) {
        (void)valid_set_at(v, first + i, &c);
        indices[i] = space_index(v->space, &c);
    }
    return ERR_OK;
}
