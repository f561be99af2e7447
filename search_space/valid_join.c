/* SPDX-License-Identifier: MIT */
/* Forward: states between levels, a state being what each open relation still allows; equal states are one. Backward:
 * counts and edges; nodes with the same edges are one, those without any way on are dropped. */
#include "core/err.h"
#include "core/mix.h"
#include "search_space/valid_private.h"

#include <assert.h>
#include <string.h>

#define NOWHERE UINT32_MAX
#define MAX_WORDS 64

/* Where an id stands in a state's words. */
struct field {
    uint32_t word, shift;
    uint64_t mask; /* 0: it is not there */
};

/* A relation that a level's knob belongs to. */
struct touch {
    struct relation *relation;
    size_t i_level;        /* of the relation */
    struct field from, to; /* from.mask 0: begins here; to.mask 0: ends here */
    const uint32_t *row;   /* of the state at hand */
};

struct keep {
    struct field from, to;
};

struct states {
    size_t n_words, n, cap;
    uint64_t *keys; /* [n][n_words] */
    struct map by_key;
};

struct join {
    struct valid_set *v;
    struct valid_group *g;
    struct relation *relations;
    size_t n_relations;
    const struct domain *domains;
    struct arena *scratch;
    struct touch *touches; /* [n_relations], of the level at hand */
    struct keep *keeps;
    struct field *fields; /* [n_relations], of the boundary at hand */
    size_t *at;           /* [n_relations]: the relation's next level */
    size_t n_touches, n_keeps;
    struct states states[2];             /* before and after the level at hand */
    uint32_t *children[SPACE_MAX_KNOBS]; /* a level's [n_states][n_values] */
    size_t n_states[SPACE_MAX_KNOBS];
};

static size_t hash_words(const uint64_t *words, size_t n)
{
    uint64_t h = MIX_BEGIN;

    for (size_t i = 0; i < n; i++)
        h = mix_word(h, words[i]);
    return mix_end(h);
}

static bool same_words(const uint64_t *a, const uint64_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* The number of a state, which is new if need be. */
static enum err enter(struct join *j, struct states *s, const uint64_t *key, uint32_t *out)
{
    const size_t hash = hash_words(key, s->n_words), n_each = s->n_words * sizeof *key;
    const struct map_slot *slot;

    for (size_t at = 0; (slot = map_next(&s->by_key, hash, &at));)
        if (same_words(s->keys + slot->item * s->n_words, key, s->n_words)) {
            *out = slot->item;
            return ERR_OK;
        }
    if (arena_room(j->scratch, &s->keys, &s->cap, s->n + 1, n_each) || arena_map_room(j->scratch, &s->by_key, s->n + 1))
        return j->scratch->failed;
    map_add(&s->by_key, hash, s->n);
    memcpy(s->keys + s->n * s->n_words, key, n_each);
    *out = (uint32_t)s->n++;
    return ERR_OK;
}

static uint64_t mask_for(const struct relation *r, size_t i_level)
{
    const uint64_t most = r->machine ? UINT32_MAX : r->levels[i_level].n_rows + RELATION_ROW;
    uint64_t mask = 1;

    while (mask < most)
        mask = mask << 1 | 1;
    return mask;
}

/* The next free place for an id of a relation whose next level is i_level. */
static struct field take_field(const struct relation *r, size_t i_level, uint32_t *word, uint32_t *shift)
{
    struct field f = {*word, *shift, mask_for(r, i_level)};
    const uint32_t bits = (uint32_t)__builtin_popcountll(f.mask);

    if (f.shift + bits > 64) {
        f.word++;
        f.shift = 0;
    }
    *word = f.word;
    *shift = f.shift + bits;
    return f;
}

/* Fills touches and keeps for a level and gives fields to what stays open behind it. */
static enum err plan_level(struct join *j, size_t i_knob, size_t *n_words)
{
    uint32_t word = 0, shift = 0;

    j->n_touches = j->n_keeps = 0;
    for (size_t i = 0; i < j->n_relations; i++) {
        struct relation *r = &j->relations[i];
        const struct field from = j->fields[i];
        const bool is_touched = r->scope >> i_knob & 1, is_open = j->at[i] > 0 && j->at[i] < r->n_levels;
        const bool ends = is_touched && j->at[i] + 1 == r->n_levels;
        struct field to = {0, 0, 0};

        if (!is_touched && !is_open)
            continue;
        if (!ends)
            to = take_field(r, j->at[i] + is_touched, &word, &shift);
        if (is_touched)
            j->touches[j->n_touches++] = (struct touch){r, j->at[i]++, from, to, NULL};
        else
            j->keeps[j->n_keeps++] = (struct keep){from, to};
        j->fields[i] = to;
    }
    assert(j->n_touches + j->n_keeps <= j->n_relations);
    *n_words = word + 1;
    return word < MAX_WORDS ? ERR_OK : ERR_LIMIT;
}

static uint64_t get(const uint64_t *key, struct field f)
{
    return key[f.word] >> f.shift & f.mask;
}

/* Loads what a state allows: rows of the touched relations; key words that do not depend on the value. */
static enum err load_state(struct join *j, const uint64_t *key, uint64_t *base, size_t n_words)
{
    memset(base, 0, n_words * sizeof *base);
    for (size_t i = 0; i < j->n_keeps; i++)
        base[j->keeps[i].to.word] |= get(key, j->keeps[i].from) << j->keeps[i].to.shift;
    for (size_t i = 0; i < j->n_touches; i++) {
        struct touch *t = &j->touches[i];
        const uint32_t id = t->from.mask ? (uint32_t)get(key, t->from) : t->relation->root;

        t->row = id == RELATION_TRUE ? NULL : relation_row(t->relation, t->i_level, id);
        if (t->row && t->row[0] == RELATION_OPEN) {
            const enum err e = relation_open_row(t->relation, t->i_level, id - RELATION_ROW);

            if (e)
                return e;
            t->row = relation_row(t->relation, t->i_level, id);
        }
    }
    return ERR_OK;
}

/* The key behind value v; false when a relation forbids it. */
static bool step(const struct join *j, size_t v, uint64_t *key)
{
    for (size_t i = 0; i < j->n_touches; i++) {
        const struct touch *t = &j->touches[i];
        const uint32_t id = t->row ? t->row[v] : RELATION_TRUE;

        if (id == RELATION_FALSE)
            return false;
        key[t->to.word] |= (id & t->to.mask) << t->to.shift;
    }
    return true;
}

static enum err forward_level(struct join *j, size_t i_level)
{
    const size_t i_knob = j->v->levels[i_level].i_knob, n_values = j->domains[i_knob].n;
    struct states *before = &j->states[0], *after = &j->states[1];
    uint64_t base[MAX_WORDS], key[MAX_WORDS];
    uint32_t *children;
    enum err e = plan_level(j, i_knob, &after->n_words);

    if (e)
        return e;
    children = arena_take(j->scratch, before->n * n_values * sizeof *children);
    if (!children)
        return j->scratch->failed;
    j->children[i_level] = children;
    j->n_states[i_level] = before->n;
    for (size_t i = 0; i < before->n && !e; i++) {
        e = load_state(j, before->keys + i * before->n_words, base, after->n_words);
        for (size_t v = 0; v < n_values && !e; v++) {
            uint32_t *child = &children[i * n_values + v];

            memcpy(key, base, after->n_words * sizeof *key);
            if (step(j, v, key))
                e = enter(j, after, key, child);
            else
                *child = NOWHERE;
        }
    }
    return e;
}

static enum err forward(struct join *j)
{
    const uint64_t nothing[1] = {0};
    uint32_t root;
    enum err e;

    j->states[0].n_words = 1;
    e = enter(j, &j->states[0], nothing, &root);
    for (size_t l = j->g->first; l < j->g->end && !e; l++) {
        e = forward_level(j, l);
        j->states[0] = j->states[1];
        j->states[1] = (struct states){.n = 0};
    }
    return e;
}

/* The level behind, as nodes: what each state has become, and how many ways each node has. */
struct behind {
    uint32_t *nodes;
    uint64_t *counts;
};

/* The level being made, in scratch memory that has room for an edge a cell. */
struct maker {
    struct valid_level level;
    uint64_t *counts;
    struct map by_edges;
};

static size_t hash_edges(const struct valid_level *l, size_t first, size_t n)
{
    uint64_t h = MIX_BEGIN;

    for (size_t i = first; i < first + n; i++)
        h = mix_word(h, (uint64_t)l->child[i] << 16 | l->choice[i]);
    return mix_end(h);
}

static bool same_edges(const struct valid_level *l, uint32_t i_node, size_t first, size_t n)
{
    const size_t from = l->first[i_node];

    return l->first[i_node + 1] - from == n &&
           memcmp(l->choice + from, l->choice + first, n * sizeof *l->choice) == 0 &&
           memcmp(l->child + from, l->child + first, n * sizeof *l->child) == 0;
}

/* Makes the edges behind the last node a node, or finds the one that has the same. */
static uint32_t end_node(struct maker *m, size_t n_edges, uint64_t count)
{
    struct valid_level *l = &m->level;
    const size_t hash = hash_edges(l, l->n_edges, n_edges);
    const struct map_slot *s;

    for (size_t at = 0; (s = map_next(&m->by_edges, hash, &at));)
        if (same_edges(l, s->item, l->n_edges, n_edges))
            return s->item;
    map_add(&m->by_edges, hash, l->n_nodes);
    m->counts[l->n_nodes] = count;
    l->n_edges += n_edges;
    l->first[++l->n_nodes] = (uint32_t)l->n_edges;
    return (uint32_t)l->n_nodes - 1;
}

static uint32_t make_node(struct maker *m, const uint32_t *children, const struct domain *d, const struct behind *b)
{
    struct valid_level *l = &m->level;
    size_t at = l->n_edges;
    uint64_t count = 0;

    for (size_t v = 0; v < d->n; v++) {
        const uint32_t node = children[v] == NOWHERE ? NOWHERE : b->nodes[children[v]];

        if (node == NOWHERE)
            continue;
        l->choice[at] = d->choices[v];
        l->child[at] = node;
        l->before[at++] = count;
        count += b->counts[node];
    }
    assert(at == l->n_edges || count > 0);
    return at > l->n_edges ? end_node(m, at - l->n_edges, count) : NOWHERE;
}

static enum err maker_init(struct maker *m, struct arena *a, size_t n_states, size_t n_cells)
{
    *m = (struct maker){.level = {.n_nodes = 0}};
    (void)arena_map_room(a, &m->by_edges, n_states); /* a->failed tells */
    m->counts = arena_take(a, n_states * sizeof *m->counts);
    m->level.first = arena_zero(a, (n_states + 1) * sizeof *m->level.first);
    m->level.choice = arena_take(a, n_cells * sizeof *m->level.choice);
    m->level.child = arena_take(a, n_cells * sizeof *m->level.child);
    m->level.before = arena_take(a, n_cells * sizeof *m->level.before);
    return a->failed;
}

static void *copy(struct arena *a, const void *from, size_t bytes)
{
    void *to = arena_take(a, bytes);

    return to ? memcpy(to, from, bytes) : NULL;
}

/* Copies a level out of the scratch memory. */
static enum err store(struct arena *a, const struct valid_level *from, struct valid_level *to)
{
    const size_t i_knob = to->i_knob;

    *to = *from;
    to->i_knob = i_knob;
    to->first = copy(a, from->first, (from->n_nodes + 1) * sizeof *from->first);
    to->choice = copy(a, from->choice, from->n_edges * sizeof *from->choice);
    to->child = copy(a, from->child, from->n_edges * sizeof *from->child);
    to->before = copy(a, from->before, from->n_edges * sizeof *from->before);
    return a->failed;
}

static enum err backward_level(struct join *j, size_t i_level, struct behind *b)
{
    const struct domain *d = &j->domains[j->v->levels[i_level].i_knob];
    const size_t n = j->n_states[i_level];
    struct maker m;
    uint32_t *nodes = arena_take(j->scratch, n * sizeof *nodes);
    enum err e = n * d->n > UINT32_MAX ? ERR_LIMIT : maker_init(&m, j->scratch, n, n * d->n);

    if (e)
        return e;
    for (size_t i = 0; i < n; i++)
        nodes[i] = make_node(&m, j->children[i_level] + i * d->n, d, b);
    *b = (struct behind){nodes, m.counts};
    return store(&j->v->store, &m.level, &j->v->levels[i_level]);
}

static enum err backward(struct join *j)
{
    uint32_t end = 0;
    uint64_t one = 1;
    struct behind b = {&end, &one};
    enum err e = ERR_OK;

    for (size_t l = j->g->end; l-- > j->g->first && !e;)
        e = backward_level(j, l, &b);
    if (!e) {
        j->g->root = b.nodes[0];
        j->g->count = b.nodes[0] == NOWHERE ? 0 : b.counts[b.nodes[0]];
    }
    return e;
}

/* A level whose every value leads to the one node behind it, which has `count` ways. */
static enum err make_free_level(struct arena *a, struct valid_level *l, const struct domain *d, uint64_t count)
{
    l->n_nodes = 1;
    l->n_edges = d->n;
    l->first = arena_take(a, 2 * sizeof *l->first);
    l->choice = copy(a, d->choices, d->n * sizeof *l->choice);
    l->child = arena_zero(a, d->n * sizeof *l->child);
    l->before = arena_take(a, d->n * sizeof *l->before);
    if (a->failed)
        return a->failed;
    l->first[0] = 0;
    l->first[1] = (uint32_t)d->n;
    for (size_t i = 0; i < d->n; i++)
        l->before[i] = i * count;
    return ERR_OK;
}

/* A group of which nothing is asked: all constraints on it have turned out to be always true. */
static enum err make_free(struct valid_set *v, struct valid_group *g, const struct domain *domains)
{
    enum err e = ERR_OK;

    g->root = 0;
    g->count = 1;
    for (size_t l = g->end; l-- > g->first && !e;) {
        const struct domain *d = &domains[v->levels[l].i_knob];

        e = make_free_level(&v->store, &v->levels[l], d, g->count);
        g->count *= d->n;
    }
    return e;
}

enum err valid_join(struct valid_set *v, struct valid_group *g, struct relation *relations, size_t n_relations,
                    const struct domain *domains, struct arena *scratch)
{
    struct join j;
    enum err e;

    if (n_relations == 0)
        return make_free(v, g, domains);
    j.v = v;
    j.g = g;
    j.relations = relations;
    j.n_relations = n_relations;
    j.domains = domains;
    j.scratch = scratch;
    j.states[0] = j.states[1] = (struct states){.n = 0};
    j.touches = arena_take(scratch, n_relations * sizeof *j.touches);
    j.keeps = arena_take(scratch, n_relations * sizeof *j.keeps);
    j.fields = arena_zero(scratch, n_relations * sizeof *j.fields);
    j.at = arena_zero(scratch, n_relations * sizeof *j.at);
    if (scratch->failed)
        return scratch->failed;
    e = forward(&j);
    return e ? e : backward(&j);
}
