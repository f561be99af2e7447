#include "cost_model/bins.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Sorted distinct finite values of one feature into values[n], how often each occurs into counts[n]. */
static size_t distinct(const float *rows, size_t n, size_t n_features, size_t i_feature, float *values, size_t *counts)
{
    size_t n_values = 0, n_distinct = 0;

    for (size_t i = 0; i < n; i++) {
        const float v = rows[i * n_features + i_feature];

        if (isfinite(v))
            values[n_values++] = v;
    }
    qsort(values, n_values, sizeof(*values), by_value);
    for (size_t i = 0; i < n_values; i++) {
        if (n_distinct > 0 && values[n_distinct - 1] == values[i]) {
            counts[n_distinct - 1]++;
            continue;
        }
        values[n_distinct] = values[i];
        counts[n_distinct++] = 1;
    }
    return n_distinct;
}

/* A cut between each two neighbours while they are few, else about every sum/BINS_MAX rows. */
static size_t make_cuts(const float *values, const size_t *counts, size_t n_values, float *cuts)
{
    size_t n_cuts = 0, sum = 0, taken = 0;

    for (size_t i = 0; i < n_values; i++)
        sum += counts[i];
    for (size_t i = 0, seen = 0; i + 1 < n_values && n_cuts < BINS_MAX - 1; i++) {
        seen += counts[i];
        if (n_values > BINS_MAX && (seen - taken) * (BINS_MAX - 1) < sum)
            continue;
        cuts[n_cuts++] = values[i] + 0.5f * (values[i + 1] - values[i]);
        taken = seen;
    }
    return n_cuts;
}

static uint8_t code_of(const struct bin_column *column, float value)
{
    size_t low = 0, n = column->n_cuts;

    if (!isfinite(value))
        return BINS_MISSING;
    while (n > 0) { /* first cut that is not below the value */
        const size_t half = n / 2;

        if (column->cuts[low + half] < value) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return (uint8_t)(1 + low);
}

/* True when some two rows differ in the new column and no earlier column has the same codes. */
static bool tells_more(const uint8_t *codes, size_t n, size_t n_columns)
{
    const uint8_t *own = codes + n_columns * n;

    if (memcmp(own, own + 1, n - 1) == 0) /* all equal */
        return false;
    for (size_t i = 0; i < n_columns; i++)
        if (memcmp(codes + i * n, own, n) == 0)
            return false;
    return true;
}

struct scratch {
    float *values;
    size_t *counts;
    uint8_t *codes;
};

static void learn(struct bins *b, const float *rows, size_t n, struct scratch *s)
{
    float *cuts = b->cuts;

    for (size_t i = 0; i < b->n_features; i++) {
        struct bin_column *column = &b->columns[b->n_columns];
        const size_t n_values = distinct(rows, n, b->n_features, i, s->values, s->counts);

        column->i_feature = i;
        column->cuts = cuts;
        column->n_cuts = make_cuts(s->values, s->counts, n_values, cuts);
        for (size_t j = 0; j < n; j++)
            s->codes[b->n_columns * n + j] = code_of(column, rows[j * b->n_features + i]);
        if (!tells_more(s->codes, n, b->n_columns))
            continue;
        cuts += column->n_cuts;
        b->n_columns++;
    }
}

enum err bins_fit(struct bins *b, const float *rows, size_t n, size_t n_features, uint8_t **codes)
{
    const size_t max_cuts = n < BINS_MAX ? n : BINS_MAX;
    struct scratch s = {malloc(n * sizeof(float)), malloc(n * sizeof(size_t)), malloc(n * n_features)};
    enum err e = ERR_OK;

    *b = (struct bins){.n_features = n_features};
    b->columns = malloc(n_features * sizeof(*b->columns));
    b->cuts = malloc(n_features * max_cuts * sizeof(*b->cuts));
    if (!s.values || !s.counts || !s.codes || !b->columns || !b->cuts) {
        bins_fini(b);
        free(s.codes);
        e = ERR_NOMEM;
    } else {
        learn(b, rows, n, &s);
        *codes = s.codes;
    }
    free(s.values);
    free(s.counts);
    return e;
}

void bins_fini(struct bins *b)
{
    if (!b)
        return;
    free(b->columns);
    free(b->cuts);
    *b = (struct bins){0};
}

void bins_code_block(const struct bins *b, const float *rows, size_t n, uint8_t *codes)
{
    for (size_t i = 0; i < b->n_columns; i++) {
        const struct bin_column *column = &b->columns[i];
        uint8_t *own = codes + i * BINS_BLOCK;

        for (size_t j = 0; j < n; j++)
            own[j] = code_of(column, rows[j * b->n_features + column->i_feature]);
        memset(own + n, BINS_MISSING, BINS_BLOCK - n);
    }
}
