#include "cost_model/packed.h"

#include "cost_model/coded_table.h"

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

/* Gives each column its lane and its cells. */
static void place(struct packed *p)
{
    size_t i = 0;

    qsort(p->columns, p->n_columns, sizeof(*p->columns), by_codes);
    while (p->n_narrow < p->n_columns && p->columns[p->n_narrow].n_codes <= PACKED_NARROW)
        p->n_narrow++;
    for (; i < p->n_narrow; i++) {
        struct packed_column *c = &p->columns[i];
        struct packed_group *group = &p->groups[i / PACKED_LANES];

        if (i % PACKED_LANES == 0) {
            *group = (struct packed_group){.first_cell = (uint32_t)p->n_cells};
            p->n_groups++;
        }
        c->lane = (uint8_t)(i % PACKED_LANES);
        c->step = PACKED_LANES;
        c->first_cell = group->first_cell;
        group->width++;
        group->n_codes = c->n_codes;
        if (i + 1 == p->n_narrow || group->width == PACKED_LANES)
            p->n_cells += group->n_codes * PACKED_LANES;
    }
    for (; i < p->n_columns; i++) {
        p->columns[i].step = 1;
        p->columns[i].first_cell = (uint32_t)p->n_cells;
        p->n_cells += (p->columns[i].n_codes + 7u) & ~7u;
    }
    p->stride = (PACKED_CODES_AT + p->n_columns + 15) & ~(size_t)15;
}

static void write_column(struct packed *p, size_t i, const uint8_t *codes)
{
    const struct packed_column *c = &p->columns[i];
    uint8_t byte_of[PACKED_MAX_CODES];
    uint8_t *at = p->records + PACKED_CODES_AT + i;

    for (size_t j = 0; j < c->n_codes; j++)
        byte_of[c->table_code[j]] = (uint8_t)(j * c->step + c->lane);
    for (size_t j = 0; j < p->n; j++, at += p->stride)
        *at = byte_of[codes[j]];
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
    p->groups = malloc((most / PACKED_LANES + 1) * sizeof(*p->groups));
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
