/* SPDX-License-Identifier: MIT */
#include "runtime/checks.h"

#include "core/err.h"
#include "runtime/dtype.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err checks_read(const struct check_run *r, int i_buffer, void **out, struct why *why)
{
    const struct program_buffer *b = &r->program->buffers[i_buffer];
    void *data = malloc((size_t)b->n_elems * dtype_bytes(b->dtype));
    enum err e = data ? r->ops->read(r->loaded, i_buffer, data, why) : ERR_NOMEM;

    if (e)
        free(data);
    else
        *out = data;
    return e;
}

enum err checks_look(const struct check_run *r, int i_buffer, struct checks_look *out, struct why *why)
{
    enum err e = r->ops->lend ? r->ops->lend(r->loaded, i_buffer, &out->data, why) : ERR_UNSUPPORTED;

    out->copy = NULL;
    if (e == ERR_UNSUPPORTED) {
        e = checks_read(r, i_buffer, &out->copy, why);
        out->data = out->copy;
    }
    if (e)
        out->data = NULL;
    return e;
}

void checks_look_end(const struct check_run *r, int i_buffer, struct checks_look *look)
{
    if (look->data && !look->copy)
        r->ops->give_back(r->loaded, i_buffer, look->data);
    free(look->copy);
    *look = (struct checks_look){NULL, NULL};
}

/* Blobs of a check. */

/* Lends n 8-byte values; ERR_NOT_FOUND, ERR_INPUT when the blob is of another size. An empty name gives NULL. */
static enum err values_of(const struct check_run *r, const struct sha256 *name, int64_t n, const char *what,
                          const unsigned char **out, struct why *why)
{
    const struct blob *b;

    *out = NULL;
    if (!name->hex[0])
        return ERR_OK;
    b = r->blobs ? blobs_get(r->blobs, name->hex) : NULL;
    if (!b)
        return why_set(why, ERR_NOT_FOUND, "pass %s: blob %.12s (%s) is missing", r->pass->id, name->hex, what);
    if (b->n_bytes != (size_t)n * 8)
        return why_set(why, ERR_INPUT, "pass %s: blob %.12s (%s) has %zu bytes, expected %zu", r->pass->id, name->hex,
                       what, b->n_bytes, (size_t)n * 8);
    *out = b->data;
    return ERR_OK;
}

static double real_at(const unsigned char *values, int64_t i)
{
    double v;

    memcpy(&v, values + 8 * i, sizeof v);
    return v;
}

static uint64_t index_at(const unsigned char *values, int64_t i)
{
    uint64_t v;

    memcpy(&v, values + 8 * i, sizeof v);
    return v;
}

/* Comparing. */

/* The value that a buffer of this type would hold. */
static double converted(enum dtype t, double v)
{
    char one[8];

    dtype_store(t, one, 0, v);
    return dtype_load(t, one, 0);
}

/* |got - wanted| / scale; infinite for NaN and for a difference on scale 0. */
static double distance(double got, double wanted, double scale)
{
    const double d = fabs(got - wanted);

    if (got == wanted)
        return 0;
    return isnan(d) || scale <= 0 ? INFINITY : d / scale;
}

/* Takes one comparison into the report: the worst stays, but a wrong element says more than a wrong sum. */
void checks_note(struct check_run *r, const char *buffer, int64_t i_elem, double got, double wanted, double d,
                 bool wrong, bool by_sum)
{
    struct verify_report *v = r->report;
    bool better = v->i_elem < 0 || d > v->worst;

    if (v->n_wrong && by_sum != r->by_sum)
        better = wrong && !by_sum;
    v->n_compared++;
    v->n_wrong += wrong;
    if (!better)
        return;
    if (v->i_elem < 0 || strcmp(v->buffer, buffer) != 0 || strcmp(v->pass, r->pass->id) != 0) {
        snprintf(v->pass, sizeof v->pass, "%s", r->pass->id);
        snprintf(v->buffer, sizeof v->buffer, "%s", buffer);
    }
    v->i_elem = i_elem;
    v->got = got;
    v->wanted = wanted;
    v->worst = d;
    r->by_sum = by_sum;
}

/* Of elements that are moved. */
static double distance_of_bits(double got, double wanted)
{
    return memcmp(&got, &wanted, sizeof got) == 0 ? 0 : INFINITY;
}

/* Infinite where what is expected may be beyond the largest number, by as much as it may be off? */
static bool is_beyond(enum dtype t, double got, double wanted, double most_off)
{
    return isinf(got) && converted(t, wanted + copysign(most_off, got)) == got;
}

static void compare(struct check_run *r, const struct program_buffer *b, int64_t i, double got, double wanted,
                    double tolerance, double scale)
{
    const double w = tolerance > 0 ? wanted : converted(b->dtype, wanted);
    const double d = r->by_bits                                                        ? distance_of_bits(got, w)
                     : tolerance > 0 && is_beyond(b->dtype, got, w, tolerance * scale) ? 0
                                                                                       : distance(got, w, scale);

    checks_note(r, b->id, i, got, w, d, !(d <= tolerance), false);
}

/* The tables of a sample. */
struct sample {
    const unsigned char *indices, *values, *scale;
};

static void compare_sample(struct check_run *r, const struct program_check *c, const struct sample *s, const void *data,
                           int64_t at, int64_t i)
{
    compare(r, &r->program->buffers[c->i_buffer], at,
            dtype_load(r->program->buffers[c->i_buffer].dtype, data, (size_t)at), real_at(s->values, i), c->tolerance,
            s->scale ? real_at(s->scale, i) : 1);
}

#define CHUNK 256

/* What a buffer holds, as doubles. */
static void load_chunk(enum dtype t, const void *data, int64_t at, int64_t n, double *out)
{
    const float *floats = data;

    if (t == DTYPE_F32) /* by far the most frequent, so not one call for each element */
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)floats[at + i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = dtype_load(t, data, (size_t)(at + i));
}

/* The largest distance of a chunk; infinite where one is. */
static double farthest(const double *got, const double *wanted, const double *scale, int64_t n)
{
    double most = 0;

    for (int64_t i = 0; i < n; i++) {
        const double d = got[i] == wanted[i] ? 0 : fabs(got[i] - wanted[i]) / scale[i];

        most = d <= most ? most : d >= 0 && scale[i] > 0 ? d : INFINITY;
    }
    return most;
}

/* Is a chunk of elements from `at` on, compared with those of the sample from `from` on, right and nothing new to a
 * report that has a worst place? */
static bool is_right(struct check_run *r, const struct program_check *c, const struct sample *s, const void *data,
                     int64_t at, int64_t from, int64_t n)
{
    const enum dtype t = r->program->buffers[c->i_buffer].dtype;
    double got[CHUNK], wanted[CHUNK], scale[CHUNK];

    assert(n <= CHUNK);
    if (r->report->i_elem < 0)
        return false;
    load_chunk(t, data, at, n, got);
    memcpy(wanted, s->values + 8 * from, (size_t)n * 8);
    if (c->tolerance <= 0)
        for (int64_t i = 0; i < n; i++)
            wanted[i] = t == DTYPE_F32 ? (double)(float)wanted[i] : converted(t, wanted[i]);
    if (r->by_bits)
        return memcmp(got, wanted, (size_t)n * 8) == 0;
    for (int64_t i = 0; !s->scale && i < n; i++)
        scale[i] = 1;
    if (s->scale)
        memcpy(scale, s->scale + 8 * from, (size_t)n * 8);
    return farthest(got, wanted, scale, n) <= fmin(c->tolerance, r->report->worst);
}

static void compare_chunk(struct check_run *r, const struct program_check *c, const struct sample *s, const void *data,
                          int64_t at, int64_t from, int64_t n)
{
    if (is_right(r, c, s, data, at, from, n))
        r->report->n_compared += n;
    else
        for (int64_t k = 0; k < n; k++)
            compare_sample(r, c, s, data, at + k, from + k);
}

/* Every element, with those of the columns that differ. */
static enum err run_folded(struct check_run *r, const struct program_check *c, const struct sample *s, const void *data)
{
    const struct program_fold *f = &c->fold;
    const int64_t n_rows = r->program->buffers[c->i_buffer].n_elems / (f->cols * f->inner);
    int64_t *columns = malloc((size_t)f->cols * sizeof *columns);

    assert(n_rows * f->cols * f->inner == r->program->buffers[c->i_buffer].n_elems &&
           n_rows * f->of * f->inner == c->n);
    for (int64_t col = 0; columns && col < f->cols; col++)
        columns[col] = program_fold_column(f, col);
    for (int64_t row = 0; columns && row < n_rows; row++)
        for (int64_t col = 0; col < f->cols; col++) {
            const int64_t at = (row * f->cols + col) * f->inner;
            const int64_t from = (row * f->of + columns[col]) * f->inner;

            for (int64_t k = 0; k < f->inner; k += CHUNK)
                compare_chunk(r, c, s, data, at + k, from + k, f->inner - k < CHUNK ? f->inner - k : CHUNK);
        }
    free(columns);
    return columns ? ERR_OK : ERR_NOMEM;
}

static enum err run_sample(struct check_run *r, const struct program_check *c, const void *data, struct why *why)
{
    const struct program_buffer *b = &r->program->buffers[c->i_buffer];
    struct sample s = {NULL, NULL, NULL};
    enum err e = values_of(r, &c->indices, c->n, "indices", &s.indices, why);

    if (!e)
        e = values_of(r, &c->values, c->n, "values", &s.values, why);
    if (!e)
        e = values_of(r, &c->scale, c->n, "scale", &s.scale, why);
    if (!e && c->fold.of)
        e = run_folded(r, c, &s, data);
    for (int64_t i = 0; !e && !c->fold.of && i < c->n; i++) {
        const uint64_t at = s.indices ? index_at(s.indices, i) : (uint64_t)i;

        if (at >= (uint64_t)b->n_elems)
            return why_set(why, ERR_INPUT,
                           "pass %s: sample %" PRId64 " is element %" PRIu64 " of %s, which has %" PRId64, r->pass->id,
                           i, at, b->id, b->n_elems);
        compare_sample(r, c, &s, data, (int64_t)at, i);
    }
    return e;
}

static int64_t lanes_of(const struct program_check *c)
{
    return c->lanes ? c->lanes : 1;
}

static void add_row(const float *y, int64_t n, double weight, double *sums)
{
    for (int64_t k = 0; k < n; k++)
        sums[k] += weight * (double)y[k];
}

/* sums[inner] += weights . y[axis][inner][lanes] of one outer index. */
static void add_slab(const struct program_buffer *b, const struct program_check *c, const void *data, int64_t outer,
                     const double *weights, double *sums)
{
    const int64_t lanes = lanes_of(c);
    size_t at = (size_t)(outer * c->axis * c->inner * lanes);

    memset(sums, 0, (size_t)c->inner * sizeof *sums);
    for (int64_t a = 0; a < c->axis; a++) {
        if (lanes == 1 && b->dtype == DTYPE_F32) { /* by far the most frequent */
            add_row((const float *)data + at, c->inner, weights[a], sums);
            at += (size_t)c->inner;
            continue;
        }
        for (int64_t k = 0; k < c->inner; k++)
            for (int64_t lane = 0; lane < lanes; lane++)
                sums[k] += weights[a * lanes + lane] * dtype_load(b->dtype, data, at++);
    }
    assert(at <= (size_t)b->n_elems);
}

/* A wrong sum, told by an element that is no number when there is one along the axis. */
static void note_sum(struct check_run *r, const struct program_buffer *b, const struct program_check *c,
                     const void *data, int64_t outer, int64_t k, double got, double wanted)
{
    const int64_t lanes = lanes_of(c), first = (outer * c->axis * c->inner + k) * lanes;

    assert(first >= 0 && first < b->n_elems);
    for (int64_t a = 0; !isfinite(got) && a < c->axis * lanes; a++) {
        const int64_t at = first + a / lanes * c->inner * lanes + a % lanes;
        const double v = dtype_load(b->dtype, data, (size_t)at);

        if (!isfinite(v)) {
            checks_note(r, b->id, at, v, NAN, INFINITY, true, false);
            return;
        }
    }
    checks_note(r, b->id, first, got, wanted, distance(got, wanted, 1), got != wanted, true);
}

static enum err run_project(struct check_run *r, const struct program_check *c, const void *data, struct why *why)
{
    const struct program_buffer *b = &r->program->buffers[c->i_buffer];
    const unsigned char *values = NULL;
    const int64_t n_weights = c->axis * lanes_of(c);
    double *weights = malloc((size_t)n_weights * sizeof *weights), *sums = malloc((size_t)c->inner * sizeof *sums);
    enum err e = weights && sums ? values_of(r, &c->values, c->outer * c->inner, "values", &values, why) : ERR_NOMEM;

    for (int64_t a = 0; !e && a < n_weights; a++)
        weights[a] = program_project_weight(c->seed, a);
    for (int64_t o = 0; !e && o < c->outer; o++) {
        add_slab(b, c, data, o, weights, sums);
        for (int64_t k = 0; k < c->inner; k++)
            note_sum(r, b, c, data, o, k, sums[k], real_at(values, o * c->inner + k));
    }
    free(weights);
    free(sums);
    return e;
}

/* The scale of an element's tolerance; `peak` is the largest |ref|. */
static double scale_of(enum check_relative relative, double wanted, double peak)
{
    if (relative == RELATIVE_NO)
        return 1;
    return relative == RELATIVE_PEAK ? peak : fmax(fabs(wanted), 1e-4 * peak);
}

static double peak_of(const struct program_buffer *b, const void *data)
{
    double peak = 0;

    for (int64_t i = 0; i < b->n_elems; i++) {
        const double v = fabs(dtype_load(b->dtype, data, (size_t)i));

        if (isfinite(v) && v > peak)
            peak = v;
    }
    return peak;
}

static enum err run_reference(struct check_run *r, const struct program_check *c, const void *data, struct why *why)
{
    const struct program_buffer *b = &r->program->buffers[c->i_buffer], *ref = &r->program->buffers[c->i_reference];
    struct checks_look wanted;
    enum err e = checks_look(r, c->i_reference, &wanted, why);
    const double peak = !e && c->relative != RELATIVE_NO ? peak_of(ref, wanted.data) : 0;

    for (int64_t i = 0; !e && i < b->n_elems; i++) {
        const double v = dtype_load(ref->dtype, wanted.data, (size_t)i);

        compare(r, b, i, dtype_load(b->dtype, data, (size_t)i), v, c->tolerance, scale_of(c->relative, v, peak));
    }
    checks_look_end(r, c->i_reference, &wanted);
    return e;
}

static enum err (*const runners[N_CHECKS])(struct check_run *, const struct program_check *, const void *,
                                           struct why *) = {
    [CHECK_SAMPLE] = run_sample, [CHECK_PROJECT] = run_project, [CHECK_BUFFER] = run_reference};

enum err checks_compare(struct check_run *r, const struct program_check *c, const void *data, struct why *why)
{
    return runners[c->kind](r, c, data, why);
}
