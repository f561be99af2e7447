/* SPDX-License-Identifier: MIT */
/* csr.c - the sparse baseline: direct convolution over compressed sparse rows, in C as a good compiler vectorises it.
 * For each output channel and each of its nonzeros (c, r, s): y[k,p,:] += v * x[c, p*stride+r, s + :*stride]; the input
 * is padded in the timed run; blocks of 4 x 32 outputs stay in registers while the channel's nonzeros pass. */
#include "tests/bench/ops/contender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 4
#define COLUMNS 32

struct csr {
    const struct task *task;
    int64_t hp, wp;    /* of the padded input */
    int64_t pitch;     /* elements of an output channel, at least ROWS rows */
    float *padded, *y; /* padded[c][hp][wp] of one batch item */
    int64_t *row;      /* row[k] .. row[k+1]: nonzeros of output channel k */
    int64_t *offset;   /* into padded, of the nonzero's first input */
    float *value;
};

static void pad(const struct csr *m, const float *x)
{
    const struct conv_sizes *s = &m->task->conv;

    for (int64_t c = 0; c < s->c; c++)
        for (int64_t i = 0; i < s->h; i++)
            memcpy(m->padded + (c * m->hp + i + s->pad[0]) * m->wp + s->pad[1], x + (c * s->h + i) * s->w,
                   (size_t)s->w * sizeof *x);
}

/* One block of outputs, its sums in registers; what lies behind the last column is computed and dropped. */
#define BLOCK(stride_)                                                                                                 \
    for (int64_t i = 0; i < nnz; i++) {                                                                                \
        const float *restrict x = from + offset[i];                                                                    \
        const float v = value[i];                                                                                      \
                                                                                                                       \
        for (int a = 0; a < ROWS; a++)                                                                                 \
            for (int j = 0; j < COLUMNS; j++)                                                                          \
                sum[a][j] += v * x[a * step + j * (stride_)];                                                          \
    }

#if defined(__x86_64__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void
block(const float *restrict from, int64_t step, int64_t stride, const int64_t *restrict offset,
      const float *restrict value, int64_t nnz, float *restrict to, int64_t q, int64_t n_columns)
{
    float sum[ROWS][COLUMNS] = {{0}};

    if (stride == 1)
        BLOCK(1)
    else
        BLOCK(stride)
    for (int a = 0; a < ROWS; a++)
        for (int64_t j = 0; j < n_columns; j++)
            to[a * q + j] = sum[a][j];
}

/* All of one output channel. The last rows may be computed twice. */
static void channel(const struct csr *m, int64_t k, float *y)
{
    const struct conv_sizes *s = &m->task->conv;
    const int64_t step = s->stride[0] * m->wp;

    for (int64_t p = 0; p < s->p; p += ROWS) {
        const int64_t p0 = p + ROWS <= s->p ? p : s->p > ROWS ? s->p - ROWS : 0;

        for (int64_t q = 0; q < s->q; q += COLUMNS)
            block(m->padded + p0 * step + q * s->stride[1], step, s->stride[1], m->offset + m->row[k],
                  m->value + m->row[k], m->row[k + 1] - m->row[k], y + p0 * s->q + q, s->q,
                  s->q - q < COLUMNS ? s->q - q : COLUMNS);
    }
}

static enum err run(struct contender *contender, struct why *why)
{
    const struct csr *m = contender->own;
    const struct conv_sizes *s = &m->task->conv;

    (void)why;
    for (int64_t n = 0; n < s->n; n++) {
        pad(m, m->task->x + n * s->c * s->h * s->w);
#pragma omp parallel for schedule(static)
        for (int64_t k = 0; k < s->k; k++)
            channel(m, k, m->y + (n * s->k + k) * m->pitch);
    }
    return ERR_OK;
}

static enum err output(struct contender *c, float *y, struct why *why)
{
    struct csr *m = c->own;

    (void)why;
    for (int64_t i = 0, pq = m->task->conv.p * m->task->conv.q; i < m->task->n_y / pq; i++)
        memcpy(y + i * pq, m->y + i * m->pitch, (size_t)pq * sizeof *y);
    return ERR_OK;
}

static void fini(struct contender *c)
{
    struct csr *m = c->own;

    free(m->padded);
    free(m->y);
    free(m->row);
    free(m->offset);
    free(m->value);
    free(m);
}

static void compress(struct csr *m)
{
    const struct conv_sizes *s = &m->task->conv;
    const float *w = m->task->w;
    int64_t n = 0;

    for (int64_t k = 0; k < s->k; k++) {
        m->row[k] = n;
        for (int64_t c = 0; c < s->c; c++)
            for (int64_t r = 0; r < s->r; r++)
                for (int64_t t = 0; t < s->s; t++, w++)
                    if (*w < 0 || *w > 0) {
                        m->offset[n] = (c * m->hp + r * s->dilation[0]) * m->wp + t * s->dilation[1];
                        m->value[n++] = *w;
                    }
    }
    m->row[s->k] = n;
}

enum err csr(const struct task *t, struct contender *out, struct why *why)
{
    const struct conv_sizes *s = &t->conv;
    struct csr *m;

    snprintf(out->name, sizeof out->name, "CSR direct in C");
    out->class = CLASS_BASELINE;
    if (t->kind != TASK_CONV || t->sparsity <= 0 || s->groups > 1)
        return why_set(why, ERR_UNSUPPORTED, "sparse weights only");
    m = calloc(1, sizeof *m);
    if (!m)
        return ERR_NOMEM;
    out->own = m;
    out->run = run;
    out->output = output;
    out->fini = fini;
    m->task = t;
    m->hp = s->h + s->pad[0] + s->pad[2] + ROWS * s->stride[0];
    m->wp = s->w + s->pad[1] + s->pad[3];
    m->pitch = (s->p > ROWS ? s->p : ROWS) * s->q;
    m->padded = calloc((size_t)(s->c * m->hp * m->wp + COLUMNS * s->stride[1]), sizeof *m->padded);
    m->y = calloc((size_t)(s->n * s->k * m->pitch), sizeof *m->y);
    m->row = calloc((size_t)s->k + 1, sizeof *m->row);
    m->offset = calloc((size_t)t->n_w, sizeof *m->offset);
    m->value = calloc((size_t)t->n_w, sizeof *m->value);
    if (!m->padded || !m->y || !m->row || !m->offset || !m->value)
        return ERR_NOMEM;
    compress(m);
    return ERR_OK;
}
