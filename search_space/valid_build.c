/* SPDX-License-Identifier: MIT */
/* From constraints to the set: conjuncts, domains, order of knobs, relations, one diagram a group, filters. */
#include "search_space/valid_private.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHUNK ((size_t)60 << 10) /* enough for most kernels' spaces, below malloc's way to the system */
#define FIRST_STORE ((size_t)8 << 10)
#define MAX_ENTRIES ((size_t)2 << 20) /* of a relation that is worked out before it is joined */

struct build {
    const struct space *space;
    struct arena arena; /* of everything but the set */
    struct domain domains[SPACE_MAX_KNOBS];
    struct terms decoded, ordered;
    uint32_t *roots; /* conjuncts: all must be true */
    size_t n_roots, cap_roots;
    struct knob_order order;
    struct relation *relations;
    size_t n_relations;
    bool is_empty; /* some constraint is never true */
};

static enum err make_domains(struct build *b)
{
    const struct space *s = b->space;

    for (size_t i = 0; i < s->n_knobs; i++) {
        struct domain *d = &b->domains[i];

        *d = (struct domain){.n = s->knobs[i].n, .is_word = s->knobs[i].words, .is_integer = true};
        d->choices = arena_take(&b->arena, d->n * sizeof *d->choices);
        d->values = arena_take(&b->arena, d->n * sizeof *d->values);
    }
    return b->arena.failed;
}

/* Values as numbers; a word's is that of its term. */
static void fill_domains(struct build *b)
{
    for (size_t i = 0; i < b->space->n_knobs; i++) {
        const struct knob *k = &b->space->knobs[i];
        struct domain *d = &b->domains[i];

        for (size_t v = 0; v < k->n; v++) {
            const uint32_t word = k->words ? terms_word(&b->decoded, k->values[v].text) : 0;

            d->choices[v] = (uint16_t)v;
            d->values[v] = k->words ? b->decoded.items[word].value : k->values[v].number;
            d->is_integer &= d->values[v] == trunc(d->values[v]) && fabs(d->values[v]) < 0x1p53;
        }
    }
}

static enum err put_root(struct build *b, uint32_t root)
{
    if (ARENA_ROOM(&b->arena, b->roots, b->cap_roots, b->n_roots + 1))
        return b->arena.failed;
    b->roots[b->n_roots++] = root;
    return ERR_OK;
}

/* not (a or b) holds exactly when not a and not b do, and a < 1 or an error on the way fails both forms alike. */
static bool split(struct terms *t, uint32_t root, uint32_t *left, uint32_t *right)
{
    const struct term x = t->items[root], inner = t->items[x.a];

    if (x.op == TERM_AND) {
        *left = x.a;
        *right = x.b;
        return true;
    }
    if (x.op != TERM_NOT || inner.op != TERM_OR)
        return false;
    *left = terms_add(t, TERM_NOT, inner.a, inner.a);
    *right = terms_add(t, TERM_NOT, inner.b, inner.b);
    return true;
}

/* Adds the conjuncts of a constraint: roots[first..] is the list of those still to be looked at. */
static enum err add_conjuncts(struct build *b, uint32_t constraint)
{
    size_t i = b->n_roots;
    enum err e = put_root(b, constraint);

    while (!e && i < b->n_roots) {
        uint32_t left, right;

        if (!split(&b->decoded, b->roots[i], &left, &right)) {
            i++;
            continue;
        }
        b->roots[i] = left;
        e = put_root(b, right);
    }
    return e ? e : b->decoded.failed;
}

/* True when a root is decided; one that is never true empties the set. */
static bool is_decided(struct build *b, const struct terms *t, uint32_t root)
{
    const struct term *x = &t->items[root];
    const bool is_true = range_is_true(x->in) && !x->is_word;
    const bool is_false = range_is_false(x->in) || x->is_word;

    b->is_empty |= is_false;
    return is_true || is_false;
}

static void drop_decided(struct build *b, const struct terms *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < b->n_roots; i++)
        if (!is_decided(b, t, b->roots[i]))
            b->roots[kept++] = b->roots[i];
    b->n_roots = kept;
}

static enum err decode(struct build *b)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < b->space->n_constraints && !e; i++)
        if (!b->space->constraints[i].keep)
            e = add_conjuncts(b, terms_of_expr(&b->decoded, b->space->constraints[i].expr));
    if (!e)
        e = b->decoded.failed;
    if (!e)
        drop_decided(b, &b->decoded);
    return e;
}

static void keep_values(struct domain *d, const uint32_t *row)
{
    size_t kept = 0;

    for (size_t v = 0; v < d->n; v++) {
        if (row[v] == RELATION_FALSE)
            continue;
        d->choices[kept] = d->choices[v];
        d->values[kept++] = d->values[v];
    }
    d->n = kept;
}

/* Constraints on one knob leave it fewer values. */
static enum err narrow(struct build *b, uint32_t root)
{
    static const uint8_t place[SPACE_MAX_KNOBS] = {0};
    struct relation r;
    const enum err e = relation_build(&b->decoded, &root, 1, place, MAX_ENTRIES, &r);

    if (e)
        return e;
    if (r.root >= RELATION_ROW)
        keep_values(&b->domains[r.levels[0].i_knob], relation_row(&r, 0, r.root));
    b->is_empty |= r.root == RELATION_FALSE;
    return ERR_OK;
}

static enum err narrow_domains(struct build *b)
{
    size_t kept = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < b->n_roots && !e && !b->is_empty; i++) {
        if (__builtin_popcountll(b->decoded.items[b->roots[i]].knobs) == 1)
            e = narrow(b, b->roots[i]);
        else
            b->roots[kept++] = b->roots[i];
    }
    b->n_roots = kept;
    return e;
}

static enum err choose_order(struct build *b)
{
    uint64_t *scopes = arena_take(&b->arena, b->n_roots * sizeof *scopes);
    size_t n_values[SPACE_MAX_KNOBS], n_scopes = 0;

    if (!scopes)
        return b->arena.failed;
    for (size_t i = 0; i < b->space->n_knobs; i++)
        n_values[i] = b->domains[i].n;
    for (size_t i = 0; i < b->n_roots; i++) {
        const uint64_t scope = b->decoded.items[b->roots[i]].knobs;
        size_t k = 0;

        while (k < n_scopes && scopes[k] != scope)
            k++;
        scopes[k] = scope;
        n_scopes += k == n_scopes;
    }
    knob_order_choose(scopes, n_scopes, n_values, b->space->n_knobs, &b->order);
    return ERR_OK;
}

static enum err put_in_order(struct build *b)
{
    terms_init(&b->ordered, &b->arena, b->space, b->domains);
    terms_rebuild(&b->ordered, &b->decoded, b->order.place, b->roots, b->n_roots);
    if (!b->ordered.failed)
        drop_decided(b, &b->ordered);
    return b->ordered.failed;
}

/* One relation for all conjuncts over the same knobs. */
static enum err make_relations(struct build *b)
{
    const struct term *items = b->ordered.items;
    size_t left = b->n_roots;
    enum err e = ERR_OK;

    b->relations = arena_take(&b->arena, b->n_roots * sizeof *b->relations);
    if (!b->relations)
        return b->arena.failed;
    for (uint32_t *from = b->roots; left > 0 && !e && !b->is_empty;) {
        struct relation *r = &b->relations[b->n_relations];
        size_t n = 1;

        for (size_t i = 1; i < left; i++)
            if (items[from[i]].knobs == items[from[0]].knobs) {
                const uint32_t same = from[i];

                from[i] = from[n];
                from[n++] = same;
            }
        e = relation_build(&b->ordered, from, n, b->order.place, MAX_ENTRIES, r);
        if (e)
            break;
        b->is_empty |= r->root == RELATION_FALSE;
        b->n_relations += r->root != RELATION_TRUE;
        from += n;
        left -= n;
    }
    return e;
}

/* The relations of a group to the front of those left. */
static size_t gather(struct relation *relations, size_t n, uint64_t knobs)
{
    size_t n_here = 0;

    for (size_t i = 0; i < n; i++)
        if (relations[i].scope & knobs) {
            const struct relation here = relations[i];

            relations[i] = relations[n_here];
            relations[n_here++] = here;
        }
    return n_here;
}

static enum err join_groups(struct build *b, struct valid_set *v)
{
    size_t done = 0;
    enum err e = ERR_OK;

    v->n_diagram = 1;
    for (size_t i = 0; i < b->order.n_groups && !e; i++) {
        struct valid_group *g = &v->groups[v->n_groups++];
        uint64_t knobs = 0;
        size_t n;

        *g = (struct valid_group){.first = i ? b->order.group_ends[i - 1] : 0, .end = b->order.group_ends[i]};
        for (size_t l = g->first; l < g->end; l++)
            knobs |= (uint64_t)1 << b->order.knobs[l];
        n = gather(b->relations + done, b->n_relations - done, knobs);
        e = valid_join(v, g, b->relations + done, n, b->domains, &b->arena);
        done += n;
        v->n_diagram *= e ? 1 : g->count;
    }
    return e;
}

static enum err build(struct build *b, struct valid_set *v)
{
    enum err e = make_domains(b);

    if (e)
        return e;
    terms_init(&b->decoded, &b->arena, b->space, b->domains);
    fill_domains(b);
    e = b->decoded.failed ? b->decoded.failed : decode(b);
    if (!e)
        e = narrow_domains(b);
    if (!e)
        e = choose_order(b);
    for (size_t i = 0; i < b->order.n && !e; i++)
        v->levels[i].i_knob = b->order.knobs[i];
    v->n_levels = b->space->n_knobs;
    if (!e && !b->is_empty)
        e = put_in_order(b);
    if (!e && !b->is_empty)
        e = make_relations(b);
    if (!e && !b->is_empty)
        e = join_groups(b, v);
    return e;
}

static bool has_filters(const struct space *s)
{
    for (size_t i = 0; i < s->n_constraints; i++)
        if (s->constraints[i].keep)
            return true;
    return false;
}

static bool passes_filters(const struct space *s, const struct config *c)
{
    for (size_t i = 0; i < s->n_constraints; i++)
        if (s->constraints[i].keep && !s->constraints[i].keep(s, c, s->constraints[i].arg))
            return false;
    return true;
}

/* Asks the constraints in C about every config of the diagram. */
static enum err filter(struct valid_set *v, struct why *why)
{
    struct config c;
    size_t n = 0;

    if (v->n_diagram > VALID_SET_MAX_FILTERED)
        return why_set(why, ERR_LIMIT, "constraints in C would be asked about %llu configs, at most %u are",
                       (unsigned long long)v->n_diagram, VALID_SET_MAX_FILTERED);
    v->count = v->n_diagram; /* for valid_set_at */
    v->kept = malloc((size_t)v->n_diagram * sizeof *v->kept + 1);
    if (!v->kept)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    for (uint64_t rank = 0; rank < v->n_diagram; rank++)
        if (valid_set_at(v, rank, &c) == ERR_OK && passes_filters(v->space, &c))
            v->kept[n++] = rank;
    v->is_filtered = true;
    v->count = n;
    return ERR_OK;
}

enum err valid_set_new(const struct space *s, size_t max_bytes, struct valid_set **out, struct why *why)
{
    struct build b = {.space = s};
    struct valid_set *v = calloc(1, sizeof *v);
    enum err e;

    assert(s->sealed && "the set of a sealed space");
    if (!v)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    v->space = s;
    max_bytes = max_bytes ? max_bytes : VALID_SET_BYTES;
    arena_init(&b.arena, FIRST_CHUNK, max_bytes);
    arena_init(&v->store, FIRST_STORE, max_bytes);
    e = build(&b, v);
    arena_fini(&b.arena);
    if (e == ERR_LIMIT)
        why_set(why, e, "the constraints tie too many knobs together to find all valid configs in %zu MiB",
                max_bytes >> 20);
    else if (e)
        why_set(why, e, "%s", err_words(e));
    if (!e) {
        v->count = v->n_diagram;
        if (has_filters(s))
            e = filter(v, why);
    }
    if (e)
        valid_set_free(v);
    else
        *out = v;
    return e;
}
