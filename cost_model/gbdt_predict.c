/* SPDX-License-Identifier: MIT */
#include "cost_model/gbdt_model.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 8       /* that go through the trees together */
#define PLANES_BYTES 20480 /* of them, to stay in the nearest cache */
#define ROW_BY_ROW 4       /* so few rows are led down the trees one by one */

/* Memory of a prediction. */
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

static enum err score(const struct model *m, const float *rows, size_t n, float *scores, float *spread)
{
    const size_t step = blocks_at_once(m) * BINS_BLOCK, n_features = m->fit.cuts->bins.n_features;
    struct bench b = {0};
    enum err e = bench_init(&b, m) ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < n; i += step) {
        const size_t n_now = n - i < step ? n - i : step;

        for (size_t j = 0; j < n_now; j += BINS_BLOCK) {
            code_floats(m, rows + (i + j) * n_features, n_now - j < BINS_BLOCK ? n_now - j : BINS_BLOCK, b.columns);
            forest_planes(&m->fit.forest, b.columns, b.planes + j * m->fit.forest.n_planes);
        }
        score_blocks(m, b.planes, n_now, scores + i, spread ? spread + i : NULL);
    }
    bench_fini(&b);
    return e;
}

enum err gbdt_predict(const struct model *m, const float *rows, size_t n, float *scores, float *spread)
{
    int8_t *planes;

    if (!m->fit.cuts)
        return ERR_INPUT;
    if (n > ROW_BY_ROW)
        return score(m, rows, n, scores, spread);
    planes = malloc(m->fit.forest.n_planes + 1);
    if (!planes)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        score_row(m, rows + i * m->fit.cuts->bins.n_features, planes, &scores[i], spread ? &spread[i] : NULL);
    free(planes);
    return ERR_OK;
}
