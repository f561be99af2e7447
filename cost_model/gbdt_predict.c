/* SPDX-License-Identifier: MIT */
#include "cost_model/gbdt_model.h"

#include "cost_model/share.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 8        /* that go through the trees together */
#define PLANES_BYTES 20480  /* of them, to stay in the nearest cache */
#define ROW_BY_ROW 4        /* so few rows are led down the trees one by one */
#define THREAD_WORK 4000000 /* rows times trees that are worth another thread */

/* Where rows come from: floats, or a table's range, or a table's rows by number. */
struct source {
    const struct model *m;
    const float *floats;
    const struct coded *table;
    const uint32_t *listed;
    size_t first;
    float *scores, *spread;
};

/* Memory of one thread. */
struct bench {
    uint8_t *columns; /* [n_columns][BINS_BLOCK] */
    int8_t *planes;   /* [MAX_BLOCKS][n_planes][BINS_BLOCK] */
};

static bool bench_init(struct bench *b, const struct model *m)
{
    const size_t n_columns = m->fit.cuts->bins.n_columns, n_planes = m->fit.forest.n_planes;

    b->columns = calloc(n_columns + 1, BINS_BLOCK);
    b->planes = calloc(MAX_BLOCKS * n_planes + 1, BINS_BLOCK);
    return b->columns && b->planes;
}

static void bench_fini(struct bench *b)
{
    free(b->columns);
    free(b->planes);
}

static size_t blocks_at_once(const struct model *m)
{
    const size_t n = PLANES_BYTES / ((m->fit.forest.n_planes + 1) * BINS_BLOCK);

    return n < 2 ? 2 : n > MAX_BLOCKS ? MAX_BLOCKS : n;
}

/* Codes n <= BINS_BLOCK floats for the columns that the trees read. */
static void code_floats(const struct model *m, const float *rows, size_t n, uint8_t *columns)
{
    const struct bins *bins = &m->fit.cuts->bins;
    const struct forest *f = &m->fit.forest;

    for (size_t i = 0; i < f->n_planes; i++)
        if (i == 0 || f->planes[i].i_column != f->planes[i - 1].i_column)
            bins_code_column(bins, f->planes[i].i_column, rows, n, columns + f->planes[i].i_column * BINS_BLOCK);
}

/* Codes of rows [i, i + n) of the source, n <= BINS_BLOCK; of a table's range i stands at the beginning of a block, and
 * its codes are lent. */
static const uint8_t *columns_of(const struct source *s, struct bench *b, size_t i, size_t n)
{
    const struct bins *bins = &s->m->fit.cuts->bins;

    assert(n >= 1 && n <= BINS_BLOCK);
    if (s->floats) {
        code_floats(s->m, s->floats + i * bins->n_features, n, b->columns);
        return b->columns;
    }
    if (!s->listed)
        return coded_block(s->table, (s->first + i) / BINS_BLOCK);
    for (size_t j = 0; j < n; j++) {
        const uint32_t row = s->listed[i + j];
        const uint8_t *codes = coded_block(s->table, row / BINS_BLOCK) + row % BINS_BLOCK;

        for (size_t k = 0; k < bins->n_columns; k++)
            b->columns[k * BINS_BLOCK + j] = codes[k * BINS_BLOCK];
    }
    return b->columns;
}

/* Mean and standard deviation over forests for n rows of blocks whose planes are ready. */
static void score_blocks(const struct model *m, const int8_t *planes, size_t n, float *scores, float *spread)
{
    const size_t n_forests = m->options.n_forests, n_blocks = (n + BINS_BLOCK - 1) / BINS_BLOCK;
    const struct forest *f = &m->fit.forest;
    double sum[MAX_BLOCKS * BINS_BLOCK] = {0}, squares[MAX_BLOCKS * BINS_BLOCK] = {0};

    assert(n_blocks <= MAX_BLOCKS);
    for (size_t i = 0; i < n_forests; i++) {
        float answers[MAX_BLOCKS * BINS_BLOCK] = {0};

        f->path->add(f, m->fit.first[i], m->fit.first[i + 1] - m->fit.first[i], planes, n_blocks, answers);
        for (size_t j = 0; j < n; j++) {
            sum[j] += (double)answers[j];
            squares[j] += (double)answers[j] * (double)answers[j];
        }
    }
    for (size_t j = 0; j < n; j++) {
        const double mean = sum[j] / (double)n_forests, variance = squares[j] / (double)n_forests - mean * mean;

        scores[j] = (float)(m->fit.base + mean);
        if (spread)
            spread[j] = n_forests > 1 && variance > 0 ? (float)sqrt(variance) : 0;
    }
}

/* The same for one row. */
static void score_row(const struct model *m, const float *row, int8_t *planes, float *score, float *spread)
{
    const size_t n_forests = m->options.n_forests;
    const struct bins *bins = &m->fit.cuts->bins;
    const struct forest *f = &m->fit.forest;
    double sum = 0, squares = 0, mean, variance;

    for (size_t i = 0; i < f->n_planes; i++) {
        const struct bin_column *column = &bins->columns[f->planes[i].i_column];
        const uint8_t code = bins_code(column, row[column->i_feature]);

        planes[i] = (int8_t)((code == BINS_MISSING && f->planes[i].missing_high ? 255 : code) - 128);
    }
    for (size_t i = 0; i < n_forests; i++) {
        const float answer = forest_add_row(f, m->fit.first[i], m->fit.first[i + 1] - m->fit.first[i], planes, 0);

        sum += (double)answer;
        squares += (double)answer * (double)answer;
    }
    mean = sum / (double)n_forests;
    variance = squares / (double)n_forests - mean * mean;
    *score = (float)(m->fit.base + mean);
    if (spread)
        *spread = n_forests > 1 && variance > 0 ? (float)sqrt(variance) : 0;
}

/* Rows [begin, end) of the source; begin is a multiple of BINS_BLOCK. */
static enum err score_range(void *context, size_t begin, size_t end)
{
    const struct source *s = context;
    const size_t step = blocks_at_once(s->m) * BINS_BLOCK, n_planes = s->m->fit.forest.n_planes;
    struct bench b = {0};
    enum err e = bench_init(&b, s->m) ? ERR_OK : ERR_NOMEM;

    assert(begin % BINS_BLOCK == 0);
    for (size_t i = begin; e == ERR_OK && i < end; i += step) {
        const size_t n = end - i < step ? end - i : step;

        for (size_t j = 0; j < n; j += BINS_BLOCK)
            forest_planes(&s->m->fit.forest, columns_of(s, &b, i + j, n - j < BINS_BLOCK ? n - j : BINS_BLOCK),
                          b.planes + j * n_planes);
        score_blocks(s->m, b.planes, n, s->scores + i, s->spread ? s->spread + i : NULL);
    }
    bench_fini(&b);
    return e;
}

/* Begins at a block's beginning. */
static enum err score(const struct source *s, size_t n)
{
    const size_t n_trees = s->m->fit.first[s->m->options.n_forests];
    const size_t worth = n * (n_trees + 1) / THREAD_WORK + 1;
    const size_t n_threads = s->m->options.n_threads < worth ? s->m->options.n_threads : worth;

    return share_out(score_range, (void *)(uintptr_t)s, n, blocks_at_once(s->m) * BINS_BLOCK, n_threads);
}

enum err gbdt_predict(const struct model *m, const float *rows, size_t n, float *scores, float *spread)
{
    const struct source s = {.m = m, .floats = rows, .scores = scores, .spread = spread};
    int8_t *planes;

    if (!m->fit.cuts)
        return ERR_INPUT;
    if (n > ROW_BY_ROW)
        return score(&s, n);
    planes = malloc(m->fit.forest.n_planes + 1);
    if (!planes)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        score_row(m, rows + i * m->fit.cuts->bins.n_features, planes, &scores[i], spread ? &spread[i] : NULL);
    free(planes);
    return ERR_OK;
}

static bool fits(const struct model *m, const struct coded *table)
{
    return m->fit.cuts && m->fit.cuts == table->cuts;
}

/* Rows of one block that do not begin with its first. */
static enum err score_inside(const struct model *m, const struct coded *table, size_t first, size_t n, float *scores,
                             float *spread)
{
    uint32_t rows[BINS_BLOCK];

    for (size_t i = 0; i < n; i++)
        rows[i] = (uint32_t)(first + i);
    return gbdt_predict_listed(m, table, rows, n, scores, spread);
}

enum err gbdt_predict_coded(const struct model *m, const struct coded *table, size_t first, size_t n, float *scores,
                            float *spread)
{
    const size_t skip = first % BINS_BLOCK, room = BINS_BLOCK - skip, n_inside = skip == 0 ? 0 : n < room ? n : room;
    struct source s = {.m = m, .table = table, .first = first + n_inside, .scores = scores + n_inside};
    enum err e = ERR_OK;

    if (!fits(m, table) || first > table->n || n > table->n - first)
        return ERR_INPUT;
    s.spread = spread ? spread + n_inside : NULL;
    if (n_inside > 0)
        e = score_inside(m, table, first, n_inside, scores, spread);
    return e ? e : score(&s, n - n_inside);
}

enum err gbdt_predict_listed(const struct model *m, const struct coded *table, const uint32_t *rows, size_t n,
                             float *scores, float *spread)
{
    const struct source s = {.m = m, .table = table, .listed = rows, .scores = scores, .spread = spread};

    if (!fits(m, table))
        return ERR_INPUT;
    for (size_t i = 0; i < n; i++)
        if (rows[i] >= table->n)
            return ERR_INPUT;
    return score(&s, n);
}
