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

/* Where a config leads in each group: the node before each level as far as its choices are allowed. */
struct trace {
    uint32_t node[SPACE_MAX_KNOBS]; /* NOWHERE: not reached */
    bool holds[SPACE_MAX_KNOBS];    /* the whole group */
    size_t n_failed;                /* groups */
};

static void follow_group(const struct valid_set *v, const struct config *c, size_t i_group, struct trace *t)
{
    const struct valid_group *g = &v->groups[i_group];
    uint32_t node = g->root;

    for (size_t i = g->first; i < g->end; i++) {
        const size_t edge =
            node == NOWHERE ? SIZE_MAX : valid_edge_of_choice(&v->levels[i], node, c->choice[v->levels[i].i_knob]);

        t->node[i] = node;
        node = edge == SIZE_MAX ? NOWHERE : v->levels[i].child[edge];
    }
    t->holds[i_group] = node != NOWHERE;
    t->n_failed += node == NOWHERE;
}

struct neighbours {
    const struct valid_set *v;
    bool (*each)(const struct config *n, void *arg);
    void *arg;
    struct config c;
};

/* Gives the config with the choice of an edge, when it is valid; false: `each` wants no more. *given: it was. */
static bool give(struct neighbours *n, const struct valid_group *g, size_t level, size_t edge, bool *given)
{
    const struct valid_level *l = &n->v->levels[level];
    const uint16_t own = n->c.choice[l->i_knob];
    uint64_t rank = 0;
    bool goes_on = true;

    n->c.choice[l->i_knob] = l->choice[edge];
    *given = valid_follow(n->v, level + 1, g->end, l->child[edge], &n->c, &rank) &&
             (!n->v->is_filtered || valid_set_has(n->v, &n->c));
    if (*given)
        goes_on = n->each(&n->c, n->arg);
    n->c.choice[l->i_knob] = own;
    return goes_on;
}

static bool give_all(struct neighbours *n, const struct valid_group *g, size_t level, uint32_t node)
{
    const struct valid_level *l = &n->v->levels[level];
    bool given, goes_on = true;

    for (size_t e = l->first[node]; e < l->first[node + 1] && goes_on; e++)
        if (l->choice[e] != n->c.choice[l->i_knob])
            goes_on = give(n, g, level, e, &given);
    return goes_on;
}

static bool give_adjacent(struct neighbours *n, const struct valid_group *g, size_t level, uint32_t node)
{
    const struct valid_level *l = &n->v->levels[level];
    const uint16_t own = n->c.choice[l->i_knob];
    const size_t first = l->first[node], end = l->first[node + 1];
    size_t up = first;
    bool given = false, goes_on = true;

    while (up < end && l->choice[up] < own)
        up++;
    for (size_t e = up; e-- > first && goes_on && !given;)
        goes_on = give(n, g, level, e, &given);
    given = false;
    for (size_t e = up + (up < end && l->choice[up] == own); e < end && goes_on && !given; e++)
        goes_on = give(n, g, level, e, &given);
    return goes_on;
}

void valid_set_neighbours(const struct valid_set *v, const struct config *c, enum valid_neighbours which,
                          bool (*each)(const struct config *n, void *arg), void *arg)
{
    struct neighbours n = {v, each, arg, *c};
    struct trace t = {.n_failed = 0};
    size_t level_of[SPACE_MAX_KNOBS] = {0}, group_of[SPACE_MAX_KNOBS] = {0};
    bool goes_on = true;

    if (v->count == 0)
        return;
    for (size_t g = 0; g < v->n_groups; g++) {
        follow_group(v, c, g, &t);
        for (size_t i = v->groups[g].first; i < v->groups[g].end; i++) {
            level_of[v->levels[i].i_knob] = i;
            group_of[v->levels[i].i_knob] = g;
        }
    }
    for (size_t k = 0; k < v->n_levels && goes_on; k++) {
        const size_t level = level_of[k], g = group_of[k];

        if (t.node[level] == NOWHERE || t.n_failed > (t.holds[g] ? 0u : 1u))
            continue;
        goes_on = which == VALID_ADJACENT ? give_adjacent(&n, &v->groups[g], level, t.node[level])
                                          : give_all(&n, &v->groups[g], level, t.node[level]);
    }
}
