/* SPDX-License-Identifier: MIT */
#include "cost_model/packed.h"

#include "core/err.h"
#include "cost_model/coded_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Marks the codes that are used; returns their number. */
static size_t count_codes(const uint8_t *codes, size_t n, bool used[PACKED_MAX_CODES])
{
    size_t sum = 0;

    memset(used, 0, PACKED_MAX_CODES * sizeof(*used));
    for (size_t i = 0; i < n; i++)
        used[codes[i]] = true;
    for (size_t i = 0; i < PACKED_MAX_CODES; i++)
        sum += used[i];
    return sum;
}

static void add_column(struct packed *p, size_t i_column, const bool used[PACKED_MAX_CODES], bool missing_high)
{
    struct packed_column *c = &p->columns[p->n_columns];
    size_t n = 0;

    *c = (struct packed_column){.i_column = (uint32_t)i_column,
                                .missing_high = missing_high,
                                .has_missing = used[BINS_MISSING],
                                .table_code = p->table_codes + p->n_columns * PACKED_MAX_CODES};
    if (used[BINS_MISSING] && !missing_high)
        c->table_code[n++] = BINS_MISSING;
    for (size_t i = BINS_MISSING + 1; i < PACKED_MAX_CODES; i++)
        if (used[i])
            c->table_code[n++] = (uint8_t)i;
    if (missing_high)
        c->table_code[n++] = BINS_MISSING;
    assert(n >= 2 && n <= PACKED_MAX_CODES);
    c->n_codes = (uint16_t)n;
    p->n_columns++;
}

static int by_codes(const void *a, const void *b)
{
    const struct packed_column *x = a, *y = b;

    if (x->n_codes != y->n_codes)
        return x->n_codes < y->n_codes ? -1 : 1;
    if (x->i_column != y->i_column)
        return x->i_column < y->i_column ? -1 : 1;
    return (int)x->missing_high - (int)y->missing_high;
}

/* Puts the column into the last group, or into a new one when that is full or of the other kind. */
static void join_group(struct packed *p, struct packed_column *c, bool is_narrow)
{
    const uint32_t n_lanes = is_narrow ? PACKED_NARROW_LANES : PACKED_WIDE_LANES;
    const uint32_t n_rows = is_narrow ? PACKED_NARROW : c->n_codes;
    struct packed_group *group = p->n_groups > 0 ? &p->groups[p->n_groups - 1] : NULL;

    if (!group || group->width == n_lanes || group->n_lanes != n_lanes) {
        group = &p->groups[p->n_groups++];
        *group = (struct packed_group){
            .first_cell = (uint32_t)p->n_cells, .n_lanes = n_lanes, .first_column = (uint32_t)(c - p->columns)};
    }
    c->i_group = (uint16_t)(p->n_groups - 1);
    c->lane = (uint8_t)group->width++;
    p->n_cells = group->first_cell + n_rows * n_lanes;
    group->n_codes = c->n_codes; /* they come by number of codes */
    p->n_narrow += is_narrow;
    p->n_narrow_groups += is_narrow && c->lane == 0;
}

static size_t round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

/* Gives each column its lane, its cells and its byte. */
static void place(struct packed *p)
{
    qsort(p->columns, p->n_columns, sizeof(*p->columns), by_codes);
    for (size_t i = 0; i < p->n_columns; i++)
        join_group(p, &p->columns[i], p->columns[i].n_codes <= PACKED_NARROW);
    assert(p->n_narrow <= p->n_columns && p->n_narrow_groups <= p->n_groups);
    p->n_pairs = round_up((p->n_narrow + 1) / 2, PACKED_CHUNK);
    p->wide_at = PACKED_CODES_AT + round_up(p->n_pairs, PACKED_NARROW_LANES / 2);
    p->stride = round_up(p->wide_at + round_up(p->n_columns - p->n_narrow, PACKED_CHUNK), 8);
    for (size_t i = 0; i < p->n_columns; i++)
        p->columns[i].i_byte = (uint32_t)(i < p->n_narrow ? PACKED_CODES_AT + i / 2 : p->wide_at + (i - p->n_narrow));
}

static void write_column(struct packed *p, size_t i, const uint8_t *codes)
{
    const struct packed_column *c = &p->columns[i];
    const size_t digit = i < p->n_narrow && i % 2 == 0 ? PACKED_NARROW : 1;
    uint8_t own[PACKED_MAX_CODES] = {0}, *at = p->records + c->i_byte;

    for (size_t j = 0; j < c->n_codes; j++)
        own[c->table_code[j]] = (uint8_t)(j * digit);
    for (size_t j = 0; j < p->n; j++, at += p->stride)
        *at = (uint8_t)(*at + own[codes[j]]);
}

/* codes[n_columns of the table][n] */
static enum err pack(struct packed *p, const uint8_t *codes, size_t n_table_columns)
{
    bool used[PACKED_MAX_CODES];

    for (size_t i = 0; i < n_table_columns; i++) {
        const size_t n_codes = count_codes(codes + i * p->n, p->n, used);

        if (n_codes < 2)
            continue;
        add_column(p, i, used, false);
        if (used[BINS_MISSING] && n_codes > 2) /* of missing and one value there is but one split */
            add_column(p, i, used, true);
    }
    place(p);
    p->records = calloc(p->n, p->stride);
    if (!p->records)
        return ERR_NOMEM;
    for (size_t i = 0; i < p->n_columns; i++)
        write_column(p, i, codes + p->columns[i].i_column * p->n);
    for (uint32_t i = 0; i < p->n; i++)
        memcpy(p->records + i * p->stride + sizeof(uint64_t), &i, sizeof(i));
    return ERR_OK;
}

enum err packed_init(struct packed *p, const struct coded *table, const uint32_t *rows, size_t n)
{
    const size_t n_columns = table->cuts->bins.n_columns, most = 2 * n_columns + 1;
    uint8_t *codes = malloc(n_columns * n + 1);
    enum err e = ERR_NOMEM;

    *p = (struct packed){.n = n};
    p->columns = malloc(most * sizeof(*p->columns));
    p->groups = malloc((most + 1) * sizeof(*p->groups));
    p->table_codes = malloc(most * PACKED_MAX_CODES);
    if (codes && p->columns && p->groups && p->table_codes) {
        coded_columns(table, rows, n, codes);
        e = pack(p, codes, n_columns);
    }
    free(codes);
    if (e)
        packed_fini(p);
    return e;
}

void packed_fini(struct packed *p)
{
    if (!p)
        return;
    free(p->columns);
    free(p->groups);
    free(p->records);
    free(p->table_codes);
    *p = (struct packed){0};
}
