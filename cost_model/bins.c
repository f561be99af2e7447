/* SPDX-License-Identifier: MIT */
#include "cost_model/bins.h"

#include "core/clones.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT 11 /* bits that one pass of the sort looks at */
#define DIGITS (1u << DIGIT)
#define FEW_VALUES 24 /* of a feature: found without sorting */
#define FEW_CUTS 24   /* compared with each value in turn */
#define LANES 16      /* values side by side */

struct scratch {
    uint32_t *keys, *spare; /* [n] ordered like the floats they stand for */
    float *values;          /* [n] distinct ones, ascending */
    uint32_t *counts;       /* [n] how often each occurs */
    uint8_t *codes;         /* [n_features][n] */
};

/* Whole numbers that compare like the floats; -0 counts as 0. */
static inline uint32_t key_of(float v)
{
    uint32_t bits;

    v += 0.0f;
    memcpy(&bits, &v, sizeof(bits));
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static inline float value_of(uint32_t key)
{
    const uint32_t bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
    float v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* One pass of a radix sort, by the digit that begins at `shift`. */
static void sort_pass(const uint32_t *from, uint32_t *to, size_t n, unsigned shift)
{
    uint32_t starts[DIGITS + 1] = {0};

    for (size_t i = 0; i < n; i++)
        starts[(from[i] >> shift & (DIGITS - 1)) + 1]++;
    for (size_t i = 0; i < DIGITS; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < n; i++)
        to[starts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_few(uint32_t *keys, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const uint32_t key = keys[i];
        size_t j = i;

        for (; j > 0 && keys[j - 1] > key; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

/* Leaves the sorted keys in s->keys. */
static void sort_keys(struct scratch *s, size_t n)
{
    uint32_t *other;

    if (n <= 48) {
        sort_few(s->keys, n);
        return;
    }
    sort_pass(s->keys, s->spare, n, 0);
    sort_pass(s->spare, s->keys, n, DIGIT);
    sort_pass(s->keys, s->spare, n, 2 * DIGIT);
    other = s->keys;
    s->keys = s->spare;
    s->spare = other;
}

/* While a feature has few values they are found without sorting: keys seen so far, ascending. */
struct few {
    uint32_t keys[FEW_VALUES], counts[FEW_VALUES];
    size_t n;
};

/* False when there are more of them. */
static bool count_few(struct few *few, const float *rows, size_t n, size_t n_features)
{
    size_t last = 0;

    few->n = 0;
    for (size_t i = 0; i < n; i++) {
        const float v = rows[i * n_features];
        uint32_t key;
        size_t at = 0;

        if (!isfinite(v))
            continue;
        key = key_of(v);
        if (few->n > 0 && few->keys[last] == key) {
            few->counts[last]++;
            continue;
        }
        while (at < few->n && few->keys[at] < key)
            at++;
        last = at;
        if (at < few->n && few->keys[at] == key) {
            few->counts[at]++;
            continue;
        }
        if (few->n == FEW_VALUES)
            return false;
        memmove(few->keys + at + 1, few->keys + at, (few->n - at) * sizeof(*few->keys));
        memmove(few->counts + at + 1, few->counts + at, (few->n - at) * sizeof(*few->counts));
        few->keys[at] = key;
        few->counts[at] = 1;
        few->n++;
    }
    return true;
}

/* Sorted distinct finite values of one feature, and how often each occurs; returns their number. */
static size_t distinct(const float *rows, size_t n, size_t n_features, struct scratch *s)
{
    struct few few;
    size_t n_keys = 0, n_distinct = 0;

    if (count_few(&few, rows, n, n_features)) {
        for (size_t i = 0; i < few.n; i++)
            s->values[i] = value_of(few.keys[i]);
        memcpy(s->counts, few.counts, few.n * sizeof(*s->counts));
        return few.n;
    }
    for (size_t i = 0; i < n; i++)
        if (isfinite(rows[i * n_features]))
            s->keys[n_keys++] = key_of(rows[i * n_features]);
    sort_keys(s, n_keys);
    for (size_t i = 0; i < n_keys; i++) {
        if (i > 0 && s->keys[i - 1] == s->keys[i]) {
            s->counts[n_distinct - 1]++;
            continue;
        }
        assert(i == 0 || s->keys[i - 1] < s->keys[i]);
        s->values[n_distinct] = value_of(s->keys[i]);
        s->counts[n_distinct++] = 1;
    }
    return n_distinct;
}

/* A number that is not below `low` and below `high`, in the middle when there is one. */
static float between(float low, float high)
{
    const float middle = 0.5f * low + 0.5f * high;

    return middle >= low && middle < high ? middle : low;
}

/* A cut between each two neighbours while they are few, else about every sum/BINS_MAX rows. Fills in the values at both
 * ends of each range; returns the number of cuts. */
static size_t make_cuts(const struct scratch *s, size_t n_values, float *cuts, float *low, float *high)
{
    size_t n_cuts = 0, sum = 0, taken = 0, seen = 0;

    for (size_t i = 0; i < n_values; i++)
        sum += s->counts[i];
    for (size_t i = 0; i < n_values; i++) {
        if (seen == taken)
            low[n_cuts + 1] = s->values[i];
        high[n_cuts + 1] = s->values[i];
        seen += s->counts[i];
        if (i + 1 == n_values || n_cuts == BINS_MAX - 1 ||
            (n_values > BINS_MAX && (seen - taken) * (BINS_MAX - 1) < sum))
            continue;
        cuts[n_cuts++] = between(s->values[i], s->values[i + 1]);
        taken = seen;
    }
    assert(n_cuts < BINS_MAX && seen == sum);
    return n_cuts;
}

typedef float floats_t __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));
typedef int32_t counts_t __attribute__((vector_size(LANES * sizeof(int32_t)), aligned(sizeof(int32_t))));

/* How many of few cuts are below each of BINS_BLOCK values. */
CLONES static void count_each(const float *values, const float *cuts, size_t n_cuts, int32_t *below)
{
    for (size_t i = 0; i < BINS_BLOCK; i += LANES) {
        const floats_t mine = *(const floats_t *)(const void *)(values + i);
        counts_t sum = {0};

        for (size_t j = 0; j < n_cuts; j++)
            sum -= (cuts[j] + (floats_t){0}) < mine;
        memcpy(below + i, &sum, sizeof(sum));
    }
}

/* The same of many: halves them without a branch to guess. */
static void search_each(const float *values, const float *cuts, size_t n_cuts, int32_t *below)
{
    memset(below, 0, BINS_BLOCK * sizeof(*below));
    for (size_t n = n_cuts, half; n > 0; n -= half) {
        const float *last;

        half = (n + 1) / 2;
        last = cuts + half - 1;
        for (size_t j = 0; j < BINS_BLOCK; j++)
            below[j] += (int32_t)half & -(int32_t)(last[below[j]] < values[j]);
    }
}

/* Codes of BINS_BLOCK values: 1 + the number of cuts below. */
static void code_values(const float *values, const struct bin_column *column, uint8_t *out)
{
    int32_t below[BINS_BLOCK];

    if (column->n_cuts <= FEW_CUTS)
        count_each(values, column->cuts, column->n_cuts, below);
    else
        search_each(values, column->cuts, column->n_cuts, below);
    for (size_t i = 0; i < BINS_BLOCK; i++) {
        uint32_t bits;

        memcpy(&bits, &values[i], sizeof(bits));
        out[i] = (uint8_t)((1 + below[i]) & -((bits & 0x7fffffffu) < 0x7f800000u)); /* or BINS_MISSING */
    }
}

/* Codes one feature of n rows. */
static void code_feature(const struct bin_column *column, const float *rows, size_t n, size_t n_features, uint8_t *out)
{
    float values[BINS_BLOCK] = {0};
    uint8_t codes[BINS_BLOCK];

    for (size_t i = 0; i < n; i += BINS_BLOCK) {
        const size_t n_block = n - i < BINS_BLOCK ? n - i : BINS_BLOCK;

        for (size_t j = 0; j < n_block; j++)
            values[j] = rows[(i + j) * n_features + column->i_feature];
        code_values(values, column, codes);
        memcpy(out + i, codes, n_block);
    }
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

static void learn(struct bins *b, const float *rows, size_t n, struct scratch *s)
{
    float *numbers = b->numbers;

    for (size_t i = 0; i < b->n_features; i++) {
        struct bin_column *column = &b->columns[b->n_columns];
        const size_t n_values = distinct(rows + i, n, b->n_features, s);
        const size_t most = n_values < BINS_MAX ? n_values : BINS_MAX;
        float *low = numbers + most, *high = low + most + 1;

        column->i_feature = i;
        column->n_cuts = make_cuts(s, n_values, numbers, low, high);
        column->cuts = numbers;
        column->low = low;
        column->high = high;
        code_feature(column, rows, n, b->n_features, s->codes + b->n_columns * n);
        if (!tells_more(s->codes, n, b->n_columns))
            continue;
        numbers = high + most + 1;
        b->n_columns++;
        assert(column->n_cuts < most && b->n_columns <= i + 1);
    }
}

enum err bins_fit(struct bins *b, const float *rows, size_t n, size_t n_features, uint8_t **codes)
{
    const size_t most = n < BINS_MAX ? n : BINS_MAX;
    struct scratch s = {malloc(n * sizeof(uint32_t)), malloc(n * sizeof(uint32_t)), malloc(n * sizeof(float)),
                        malloc(n * sizeof(uint32_t)), malloc(n * n_features)};
    enum err e = ERR_OK;

    *b = (struct bins){.n_features = n_features};
    b->columns = malloc(n_features * sizeof(*b->columns));
    b->numbers = malloc(n_features * (3 * most + 2) * sizeof(*b->numbers));
    if (!s.keys || !s.spare || !s.values || !s.counts || !s.codes || !b->columns || !b->numbers) {
        bins_fini(b);
        free(s.codes);
        e = ERR_NOMEM;
    } else {
        learn(b, rows, n, &s);
        *codes = s.codes;
    }
    free(s.keys);
    free(s.spare);
    free(s.values);
    free(s.counts);
    return e;
}

void bins_fini(struct bins *b)
{
    if (!b)
        return;
    free(b->columns);
    free(b->numbers);
    *b = (struct bins){0};
}

void bins_code_column(const struct bins *b, size_t i_column, const float *rows, size_t n, uint8_t *codes)
{
    code_feature(&b->columns[i_column], rows, n, b->n_features, codes);
}

uint8_t bins_code(const struct bin_column *column, float value)
{
    const float *cuts = column->cuts;
    size_t below = 0;

    if (!isfinite(value))
        return BINS_MISSING;
    for (size_t n = column->n_cuts, half; n > 0; n -= half) {
        half = (n + 1) / 2;
        below += cuts[below + half - 1] < value ? half : 0;
    }
    return (uint8_t)(1 + below);
}
