/* SPDX-License-Identifier: MIT */
#include "search_space/relation_machine.h"

#include "core/err.h"
#include "core/mix.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define MIN_COLUMN 16
#define MAX_COLUMN 256 /* rows evaluated together: all columns stay in the first cache */
#define MIN_REST 24    /* combinations still to come that make looking ahead by ranges worth its time */

/* The level whose knob is the last of `knobs`, or -1. */
static int8_t ready_level(const struct relation *r, uint64_t knobs)
{
    for (size_t i = r->n_levels; i-- > 0;)
        if (knobs >> r->levels[i].i_knob & 1)
            return (int8_t)i;
    return -1;
}

/* Marks what the roots need: place[term] = 1; returns how many terms. */
static size_t mark_needed(const struct terms *t, const uint32_t *roots, size_t n_roots, uint32_t *place)
{
    size_t n = 0;

    for (size_t i = 0; i < n_roots; i++)
        place[roots[i]] = 1;
    for (size_t i = t->n; i-- > 0;) {
        if (!place[i])
            continue;
        n++;
        if (t->items[i].op > TERM_KNOB)
            place[t->items[i].a] = place[t->items[i].b] = 1;
    }
    return n;
}

static void note_use(struct step *steps, uint32_t operand, int8_t level)
{
    if (steps[operand].last_use < level)
        steps[operand].last_use = level;
}

static void list_steps(struct relation_machine *m, const struct relation *r, const uint32_t *roots, size_t n_roots,
                       uint32_t *place)
{
    const struct terms *t = m->terms;
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++) {
        const struct term *x = &t->items[i];
        struct step *s = &m->steps[n];

        if (!place[i])
            continue;
        place[i] = (uint32_t)n++;
        *s = (struct step){.op = x->op, .in = x->in, .ready = ready_level(r, x->knobs), .last_use = -1};
        s->i_knob = x->op == TERM_KNOB ? (uint16_t)x->a : 0;
        if (x->op <= TERM_KNOB)
            continue;
        s->a = place[x->a];
        s->b = place[x->b];
        s->is_exact = t->items[x->a].is_integer && t->items[x->b].is_integer;
        note_use(m->steps, s->a, s->ready);
        note_use(m->steps, s->b, s->ready);
    }
    assert(n == m->n_steps);
    for (size_t i = 0; i < n_roots; i++)
        m->steps[place[roots[i]]].is_root = true;
}

static bool is_state_of(const struct step *s, size_t i_level)
{
    return s->ready >= 0 && s->ready < (int)i_level && s->last_use >= (int)i_level;
}

static enum err list_states(struct relation_machine *m, const struct relation *r)
{
    for (size_t l = 0; l < r->n_levels; l++) {
        struct states *s = &m->states[l];

        s->steps = arena_take(m->terms->arena, m->n_steps * sizeof *s->steps);
        if (!s->steps)
            return m->terms->arena->failed;
        for (size_t i = 0; i < m->n_steps; i++)
            if (is_state_of(&m->steps[i], l))
                s->steps[s->width++] = (uint32_t)i;
    }
    return ERR_OK;
}

/* The longest column that any level needs, within bounds, and the combinations behind each level. */
static void measure(struct relation_machine *m, const struct relation *r)
{
    size_t longest = MIN_COLUMN;

    m->rest[r->n_levels] = 1;
    for (size_t i = r->n_levels; i-- > 0;) {
        m->rest[i] = m->rest[i + 1] * (double)r->levels[i].n_values;
        if (r->levels[i].n_values > longest)
            longest = r->levels[i].n_values;
    }
    m->n_column = m->rest[0] < MAX_COLUMN ? (size_t)m->rest[0] : MAX_COLUMN;
    if (m->n_column < longest)
        m->n_column = longest;
}

static enum err make_scratch(struct relation_machine *m, const struct relation *r)
{
    struct arena *a = m->terms->arena;

    m->rest = arena_take(a, (r->n_levels + 1) * sizeof *m->rest);
    if (!m->rest)
        return a->failed;
    measure(m, r);
    m->columns = arena_take(a, m->n_steps * m->n_column * sizeof *m->columns);
    m->ranges = arena_take(a, m->n_steps * sizeof *m->ranges);
    if (!m->columns || !m->ranges)
        return a->failed;
    for (size_t i = 0; i < m->n_steps; i++)
        if (m->steps[i].op == TERM_CONST)
            for (size_t k = 0; k < m->n_column; k++)
                m->columns[i * m->n_column + k] = m->steps[i].in.error ? NAN : m->steps[i].in.lo;
    return ERR_OK;
}

static enum err grow_states(struct arena *a, struct states *s)
{
    size_t cap_keys = s->cap, cap_ids = cap_keys;
    enum err e = arena_room(a, &s->keys, &cap_keys, s->n + 1, s->width * sizeof *s->keys);

    if (!e)
        e = ARENA_ROOM(a, s->ids, cap_ids, s->n + 1);
    return e ? e : ARENA_ROOM(a, s->of_row, s->cap, s->n + 1);
}

static size_t hash_key(const double *key, size_t width)
{
    uint64_t h = MIX_BEGIN;

    for (size_t i = 0; i < width; i++)
        h = mix_word(h, mix_bits(key[i]));
    return mix_end(h);
}

/* Bit by bit: a NAN is itself. */
static bool same_key(const double *a, const double *b, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if (mix_bits(a[i]) != mix_bits(b[i]))
            return false;
    return true;
}

/* What the roots can still become from a state before a level: RELATION_FALSE, RELATION_TRUE, or RELATION_ROW. */
static uint32_t look_ahead(const struct relation_machine *m, const struct states *s, size_t i_level, const double *key)
{
    bool is_true = true;

    for (size_t i = 0; i < s->width; i++)
        m->ranges[s->steps[i]] =
            isnan(key[i]) ? (struct range){-INFINITY, INFINITY, true} : (struct range){key[i], key[i], false};
    for (size_t i = 0; i < m->n_steps; i++) {
        const struct step *x = &m->steps[i];

        if (x->ready >= 0 && x->ready < (int)i_level)
            continue;
        m->ranges[i] =
            x->op <= TERM_KNOB ? x->in : range_of((enum term_op)x->op, m->ranges[x->a], m->ranges[x->b], x->is_exact);
        if (x->is_root && range_is_false(m->ranges[i]))
            return RELATION_FALSE;
        is_true &= !x->is_root || range_is_true(m->ranges[i]);
    }
    return is_true ? RELATION_TRUE : RELATION_ROW;
}

static enum err append_row(struct arena *a, struct relation_level *level, uint32_t *id)
{
    if (level->n_rows == RELATION_MAX_ROWS)
        return ERR_LIMIT;
    if (arena_room(a, &level->next, &level->cap_rows, level->n_rows + 1, level->n_values * sizeof *level->next))
        return a->failed;
    level->next[level->n_rows * level->n_values] = RELATION_OPEN;
    *id = (uint32_t)level->n_rows++ + RELATION_ROW;
    return ERR_OK;
}

/* The id of a state before a level; a new one gets a row unless looking ahead decides it. */
static enum err enter(struct relation *r, size_t i_level, const double *key, uint32_t *id)
{
    struct relation_machine *m = r->machine;
    struct arena *a = m->terms->arena;
    struct states *s = &m->states[i_level];
    const size_t hash = hash_key(key, s->width);
    const struct map_slot *slot;

    for (size_t at = 0; (slot = map_next(&s->by_key, hash, &at));)
        if (same_key(s->keys + slot->item * s->width, key, s->width)) {
            *id = s->ids[slot->item];
            return ERR_OK;
        }
    if (grow_states(a, s) || arena_map_room(a, &s->by_key, s->n + 1))
        return a->failed;
    memcpy(s->keys + s->n * s->width, key, s->width * sizeof *key);
    *id = m->rest[i_level] >= MIN_REST ? look_ahead(m, s, i_level, key) : RELATION_ROW;
    if (*id == RELATION_ROW) {
        const enum err e = append_row(a, &r->levels[i_level], id);

        if (e)
            return e;
        s->of_row[*id - RELATION_ROW] = (uint32_t)s->n;
    }
    s->ids[s->n] = *id;
    map_add(&s->by_key, hash, s->n++);
    return ERR_OK;
}

enum err relation_machine_new(const struct terms *t, const uint32_t *roots, size_t n_roots, struct relation *r)
{
    struct relation_machine *m = arena_zero(t->arena, sizeof *m);
    uint32_t *place = arena_zero(t->arena, t->n * sizeof *place);
    const double nothing = 0;
    enum err e;

    if (!m || !place)
        return t->arena->failed;
    r->machine = m;
    m->terms = t;
    m->n_steps = mark_needed(t, roots, n_roots, place);
    m->steps = arena_take(t->arena, m->n_steps * sizeof *m->steps);
    m->states = arena_zero(t->arena, r->n_levels * sizeof *m->states);
    if (!m->steps || !m->states)
        return t->arena->failed;
    list_steps(m, r, roots, n_roots, place);
    e = list_states(m, r);
    if (!e)
        e = make_scratch(m, r);
    return e ? e : enter(r, 0, &nothing, &r->root);
}

/* Columns of what earlier levels computed, and of the level's knob, for n rows from `first` on. */
static void load(const struct relation *r, size_t i_level, size_t first, size_t n)
{
    const struct relation_machine *m = r->machine;
    const struct states *s = &m->states[i_level];
    const size_t n_values = r->levels[i_level].n_values;
    const double *values = m->terms->domains[r->levels[i_level].i_knob].values;

    for (size_t k = 0; k < s->width; k++) {
        double *column = m->columns + s->steps[k] * m->n_column;

        for (size_t i = 0; i < n; i++) {
            const double v = s->keys[s->of_row[first + i] * s->width + k];

            for (size_t j = 0; j < n_values; j++)
                column[i * n_values + j] = v;
        }
    }
    for (size_t k = 0; k < m->n_steps; k++)
        if (m->steps[k].op == TERM_KNOB && m->steps[k].ready == (int)i_level)
            for (size_t i = 0; i < n; i++)
                memcpy(m->columns + k * m->n_column + i * n_values, values, n_values * sizeof *values);
}

/* The last level: all roots are known. */
static void decide(const struct relation *r, size_t first, size_t n)
{
    const struct relation_level *level = &r->levels[r->n_levels - 1];
    const struct relation_machine *m = r->machine;
    uint32_t *next = level->next + first * level->n_values;
    const size_t n_cells = n * level->n_values;

    for (size_t i = 0; i < n_cells; i++)
        next[i] = RELATION_TRUE;
    for (size_t k = 0; k < m->n_steps; k++) {
        const double *v = m->columns + k * m->n_column;

        if (!m->steps[k].is_root)
            continue;
        for (size_t i = 0; i < n_cells; i++)
            next[i] &= (uint32_t)((v[i] == v[i]) & (v[i] != 0));
    }
}

static enum err lead_on(struct relation *r, size_t i_level, size_t first, size_t n)
{
    const struct relation_machine *m = r->machine;
    const struct states *s = &m->states[i_level + 1];
    uint32_t *next = r->levels[i_level].next + first * r->levels[i_level].n_values;
    const size_t n_cells = n * r->levels[i_level].n_values;
    double key[SPACE_MAX_KNOBS * 8];
    enum err e = ERR_OK;

    if (s->width > sizeof key / sizeof key[0])
        return ERR_LIMIT;
    for (size_t i = 0; i < n_cells && !e; i++) {
        for (size_t k = 0; k < s->width; k++)
            key[k] = m->columns[s->steps[k] * m->n_column + i] + 0.0; /* -0 is 0 */
        e = enter(r, i_level + 1, key, &next[i]);
    }
    return e;
}

static void compute(const struct relation *r, size_t i_level, size_t n_cells)
{
    const struct relation_machine *m = r->machine;

    for (size_t k = 0; k < m->n_steps; k++) {
        const struct step *x = &m->steps[k];

        if (x->op > TERM_KNOB && x->ready == (int)i_level)
            term_apply((enum term_op)x->op, m->columns + x->a * m->n_column, m->columns + x->b * m->n_column,
                       m->columns + k * m->n_column, n_cells);
    }
}

enum err relation_machine_expand(struct relation *r, size_t i_level, size_t first, size_t n)
{
    const size_t n_values = r->levels[i_level].n_values, at_once = r->machine->n_column / n_values;
    enum err e = ERR_OK;

    assert(at_once > 0 && first + n <= r->levels[i_level].n_rows);
    for (size_t done = 0; done < n && !e; done += at_once) {
        const size_t part = n - done < at_once ? n - done : at_once;

        load(r, i_level, first + done, part);
        compute(r, i_level, part * n_values);
        if (i_level + 1 == r->n_levels)
            decide(r, first + done, part);
        else
            e = lead_on(r, i_level, first + done, part);
    }
    return e;
}
