/* SPDX-License-Identifier: MIT */
#include "cost_model/coded.h"

#include "core/err.h"
#include "cost_model/coded_table.h"
#include "cost_model/data.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct coded_cuts *coded_cuts_keep(struct coded_cuts *cuts)
{
    const int n_before = (int)__atomic_fetch_add(&cuts->n_users, 1, __ATOMIC_RELAXED);

    assert(n_before > 0); /* somebody holds what is shared */
    (void)n_before;
    return cuts;
}

void coded_cuts_drop(struct coded_cuts *cuts)
{
    if (!cuts || __atomic_sub_fetch(&cuts->n_users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    bins_fini(&cuts->bins);
    free(cuts);
}

static size_t n_blocks(size_t n)
{
    return (n + BINS_BLOCK - 1) / BINS_BLOCK;
}

/* A table of n rows with room for their codes; keeps the cuts. */
static enum err table_new(struct coded **out, struct coded_cuts *cuts, size_t n)
{
    struct coded *c = calloc(1, sizeof(*c));

    if (c)
        c->codes = malloc((n_blocks(n) * cuts->bins.n_columns + 1) * BINS_BLOCK);
    if (!c || !c->codes) {
        free(c);
        return ERR_NOMEM;
    }
    c->cuts = coded_cuts_keep(cuts);
    c->n = n;
    *out = c;
    return ERR_OK;
}

/* From codes[n_columns][n] to blocks. */
static void put_blocks(struct coded *c, const uint8_t *codes)
{
    const size_t n_columns = c->cuts->bins.n_columns;

    for (size_t i = 0; i < n_blocks(c->n); i++) {
        const size_t n = c->n - i * BINS_BLOCK < BINS_BLOCK ? c->n - i * BINS_BLOCK : BINS_BLOCK;

        for (size_t j = 0; j < n_columns; j++) {
            uint8_t *own = c->codes + (i * n_columns + j) * BINS_BLOCK;

            memcpy(own, codes + j * c->n + i * BINS_BLOCK, n);
            memset(own + n, BINS_MISSING, BINS_BLOCK - n);
        }
    }
}

static enum err check_size(size_t n, size_t n_features)
{
    if (n == 0 || n_features == 0)
        return ERR_INPUT;
    return n > MODEL_MAX_ROWS || n_features > MODEL_MAX_FEATURES ? ERR_LIMIT : ERR_OK;
}

enum err coded_new(struct coded **out, const float *rows, size_t n, size_t n_features)
{
    struct coded_cuts *cuts;
    uint8_t *codes = NULL;
    enum err e = check_size(n, n_features);

    if (e)
        return e;
    cuts = calloc(1, sizeof(*cuts));
    if (!cuts)
        return ERR_NOMEM;
    cuts->n_users = 1;
    e = bins_fit(&cuts->bins, rows, n, n_features, &codes);
    if (e == ERR_OK)
        e = table_new(out, cuts, n);
    if (e == ERR_OK)
        put_blocks(*out, codes);
    free(codes);
    coded_cuts_drop(cuts);
    return e;
}

void coded_free(struct coded *c)
{
    if (!c)
        return;
    coded_cuts_drop(c->cuts);
    free(c->codes);
    free(c);
}

void coded_columns(const struct coded *c, const uint32_t *rows, size_t n, uint8_t *out)
{
    const size_t n_columns = c->cuts->bins.n_columns;

    for (size_t i = 0; i < n; i++) {
        const size_t row = rows ? rows[i] : i;
        const uint8_t *codes = coded_block(c, row / BINS_BLOCK) + row % BINS_BLOCK;

        assert(row < c->n);
        for (size_t j = 0; j < n_columns; j++)
            out[j * n + i] = codes[j * BINS_BLOCK];
    }
}
