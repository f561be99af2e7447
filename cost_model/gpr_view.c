/* SPDX-License-Identifier: MIT */
#include "core/clones.h"
#include "core/err.h"
#include "cost_model/gpr_private.h"
#include "cost_model/linear.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FALL 80.0f /* e^-80 is as good as nothing */
#define BLOCK 64        /* rows of the table worked on at once */

struct gpr_view {
    const struct gpr *g;
    float *columns;   /* [n / BLOCK, rounded up][n_columns][BLOCK] */
    size_t n, n_room; /* rows; with those that fill up the last block */
    float *parts;     /* [n_room / BLOCK][cap][BLOCK] factor^-1 kernel(measured, row), n_done of each cap */
    float *known;     /* [n_room] sum of parts^2 */
    uint64_t *serial; /* [n_done] of the measured rows in parts */
    size_t n_done, cap;
};

enum err gpr_view_new(struct gpr_view **out, const struct gpr *g, const float *rows, size_t n)
{
    const size_t width = g->shape.n_columns;
    struct gpr_view *v = calloc(1, sizeof(*v));

    if (!v)
        return ERR_NOMEM;
    v->g = g;
    v->n = n;
    v->n_room = (n + BLOCK - 1) / BLOCK * BLOCK;
    v->columns = calloc(v->n_room * width + 1, sizeof(*v->columns));
    v->known = calloc(v->n_room + 1, sizeof(*v->known));
    if (!v->columns || !v->known) {
        gpr_view_free(v);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < width; k++)
            v->columns[(i / BLOCK * width + k) * BLOCK + i % BLOCK] = rows[i * width + k];
    *out = v;
    return ERR_OK;
}

void gpr_view_free(struct gpr_view *v)
{
    if (!v)
        return;
    free(v->columns);
    free(v->parts);
    free(v->known);
    free(v->serial);
    free(v);
}

static enum err widen(struct gpr_view *v)
{
    const size_t cap = v->g->cap;
    float *parts;
    uint64_t *serial;

    if (v->cap >= cap)
        return ERR_OK;
    parts = malloc(cap * v->n_room * sizeof(*parts) + 1);
    serial = malloc(cap * sizeof(*serial));
    free(v->parts);
    free(v->serial);
    v->parts = parts;
    v->serial = serial;
    v->n_done = 0;
    v->cap = parts && serial ? cap : 0;
    memset(v->known, 0, v->n_room * sizeof(*v->known));
    return v->cap ? ERR_OK : ERR_NOMEM;
}

static float *parts_of(const struct gpr_view *v, size_t i_block, size_t j)
{
    assert(i_block < v->n_room / BLOCK && j <= v->cap);
    return v->parts + (i_block * v->cap + j) * BLOCK;
}

/* out[i] := e^-r[i], 0 <= r <= MOST_FALL, within 3e-7 of the truth: 2^-(i + f), i whole, f in [0, 1) by its Taylor
 * series. Loops of one kind of step each: compilers make vectors of them. */
static inline void fall_block(const float *r, float *out)
{
    int32_t whole[BLOCK];
    float powers[BLOCK];

    for (size_t i = 0; i < BLOCK; i++)
        whole[i] = (int32_t)(r[i] * 1.44269504f);
    for (size_t i = 0; i < BLOCK; i++) {
        const float f = ((float)whole[i] - r[i] * 1.44269504f) * 0.69314718f;
        float series = 1.0f / 720 + f * (1.0f / 5040);

        series = 1.0f / 24 + f * (1.0f / 120 + f * series);
        out[i] = 1 + f * (1 + f * (0.5f + f * (1.0f / 6 + f * series)));
    }
    for (size_t i = 0; i < BLOCK; i++)
        whole[i] = (127 - whole[i]) * (1 << 23);
    memcpy(powers, whole, sizeof powers);
    for (size_t i = 0; i < BLOCK; i++)
        out[i] *= powers[i];
}

/* out[BLOCK]: the kernel of a measured row, in lengths, with a block of columns[n_columns][BLOCK]. */
CLONES static void kernel_block(const float *row, const float *columns, const float *inverse, size_t n_columns,
                                float scale, float *out)
{
    float distance2[BLOCK] = {0}, r[BLOCK];

    for (size_t k = 0; k < n_columns; k++) {
        const float centre = row[k], by = inverse[k];

        for (size_t i = 0; i < BLOCK; i++) {
            const float apart = (columns[k * BLOCK + i] - centre) * by;

            distance2[i] += apart * apart;
        }
    }
    for (size_t i = 0; i < BLOCK; i++)
        distance2[i] = distance2[i] < MOST_FALL * MOST_FALL / 5 ? distance2[i] : MOST_FALL * MOST_FALL / 5;
    for (size_t i = 0; i < BLOCK; i++)
        r[i] = sqrtf(5 * distance2[i]);
    fall_block(r, out);
    for (size_t i = 0; i < BLOCK; i++)
        out[i] *= scale * (1 + r[i] + r[i] * r[i] * (1.0f / 3));
}

/* part[BLOCK] := (part - sum of factor[j] parts[j][BLOCK]) / factor[n]; adds its square to known. */
CLONES static void reduce_block(const double *factor, const float *parts, size_t n, float *part, float *known)
{
    const float last = (float)(1 / factor[n]);

    for (size_t j = 0; j < n; j++) {
        const float share = (float)factor[j];

        for (size_t i = 0; i < BLOCK; i++)
            part[i] -= share * parts[j * BLOCK + i];
    }
    for (size_t i = 0; i < BLOCK; i++) {
        part[i] *= last;
        known[i] += part[i] * part[i];
    }
}

CLONES static void add_block(const float *part, float share, float *sum)
{
    for (size_t i = 0; i < BLOCK; i++)
        sum[i] += share * part[i];
}

CLONES static void forget_block(const float *part, float *known)
{
    for (size_t i = 0; i < BLOCK; i++)
        known[i] -= part[i] * part[i];
}

/* The parts of one block of the table for the measured rows from v->n_done on. */
static void update_block(struct gpr_view *v, size_t i_block, const float *inverse, float scale)
{
    const struct gpr *g = v->g;
    const size_t width = g->shape.n_columns;
    const float *columns = v->columns + i_block * BLOCK * width;
    float *parts = parts_of(v, i_block, 0);

    for (size_t j = v->n_done; j < g->n; j++) {
        float *part = parts + j * BLOCK;

        kernel_block(g->rows + j * width, columns, inverse, width, scale, part);
        reduce_block(g->factor + j * g->cap, parts, j, part, v->known + i_block * BLOCK);
    }
}

/* Drops what was computed for measured rows that are others now. */
static void truncate_parts(struct gpr_view *v)
{
    size_t n_same = 0;

    while (n_same < v->n_done && n_same < v->g->n && v->serial[n_same] == v->g->serial[n_same])
        n_same++;
    if (n_same == 0)
        memset(v->known, 0, v->n_room * sizeof(*v->known));
    for (size_t j = n_same; n_same > 0 && j < v->n_done; j++)
        for (size_t i = 0; i < v->n_room; i += BLOCK)
            forget_block(parts_of(v, i / BLOCK, j), v->known + i);
    v->n_done = n_same;
}

enum err gpr_view_update(struct gpr_view *v)
{
    const struct gpr *g = v->g;
    double lengths[GPR_MAX_COLUMNS];
    float inverse[GPR_MAX_COLUMNS];
    const enum err e = widen(v);

    if (e)
        return e;
    truncate_parts(v);
    assert(v->n_done <= g->n && g->n <= v->cap);
    gpr_inverse_lengths(&g->shape, lengths);
    for (size_t k = 0; k < g->shape.n_columns; k++)
        inverse[k] = (float)lengths[k];
    for (size_t i = 0; i < v->n_room / BLOCK; i++)
        update_block(v, i, inverse, (float)exp(2 * gpr_log_scale(&g->shape)));
    memcpy(v->serial, g->serial, g->n * sizeof(*g->serial));
    v->n_done = g->n;
    return ERR_OK;
}

void gpr_view_mean(const struct gpr_view *v, const double *targets, float *mean)
{
    double weighed[GPR_MAX_ROWS];

    assert(v->n_done <= GPR_MAX_ROWS && v->n_done == v->g->n); /* gpr_view_update came before */
    memcpy(weighed, targets ? targets : v->g->weighed, v->n_done * sizeof(*weighed));
    if (targets)
        linear_solve_lower(v->g->factor, 0, v->n_done, v->g->cap, weighed);
    for (size_t i = 0; i < v->n; i += BLOCK) {
        float sum[BLOCK] = {0};

        for (size_t j = 0; j < v->n_done; j++)
            add_block(parts_of(v, i / BLOCK, j), (float)weighed[j], sum);
        memcpy(mean + i, sum, (v->n - i < BLOCK ? v->n - i : BLOCK) * sizeof(*sum));
    }
}

void gpr_view_sd(const struct gpr_view *v, float *sd)
{
    const float scale = (float)exp(2 * gpr_log_scale(&v->g->shape));

    for (size_t i = 0; i < v->n; i++) {
        const float left = scale - v->known[i];

        sd[i] = left > 1e-8f ? sqrtf(left) : 1e-4f;
    }
}
