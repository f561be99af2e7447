/* SPDX-License-Identifier: MIT */
/* spec_fill.c - contents of a job's vectors: as a rule of the program where there is one, else as bytes made here. */
#include "kernels/spec/spec_private.h"

#include "core/err.h"
#include "core/rng.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS 16                     /* i and the sizes of the problem */
#define RANDOM_STEPS ((double)(1 << 20)) /* random reals are multiples of the largest one / 2^20 */

void spec_fill_fini(struct spec_fill *f)
{
    free(f->source);
    free(f->made);
    f->source = NULL;
    f->made = NULL;
}

static size_t value_bytes(const struct spec_type *t)
{
    return t->raw_bytes ? (size_t)t->raw_bytes : dtype_bytes(t->dtype);
}

/* Value `i` into raw bytes, little-endian; whole numbers wrap like those of C. */
static void store_raw(const struct spec_type *t, unsigned char *to, double v)
{
    assert(t->raw_bytes > 0 && !isnan(v));

    const uint64_t bits = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;

    for (int k = 0; k < t->raw_bytes; k++)
        to[k] = k < 8 ? (unsigned char)(bits >> (8 * k)) : 0;
}

static double random_at(const struct spec_fill *f, const struct spec_type *t, int64_t i)
{
    assert(f->kind == SPEC_RANDOM);

    const double u = (double)(rng_at(f->seed, (uint64_t)i) >> 11) * 0x1p-53;

    return t->is_whole ? floor(u * (fabs(f->value) + 1)) * (f->value < 0 ? -1 : 1) : u * f->value;
}

static int resolve(const char *name, size_t n, void *arg)
{
    const struct spec *s = arg;

    if (n == 1 && name[0] == 'i')
        return 0;
    for (size_t k = 0; k < s->n_problem; k++) {
        char known[40];

        snprintf(known, sizeof known, "ProblemSize.%zu", k);
        if (strlen(known) == n && memcmp(known, name, n) == 0)
            return (int)k + 1;
    }
    return -1;
}

/* Numbers that a generator may name besides i. */
static void fill_slots(const struct spec *s, struct expr_value *slots)
{
    struct config any = {{0}};

    assert(s->n_problem < MAX_SLOTS);
    for (size_t k = 0; k < s->n_problem; k++) {
        char name[40];

        snprintf(name, sizeof name, "ProblemSize.%zu", k);
        slots[k + 1] = (struct expr_value){NAN, NULL};
        (void)space_eval(s->space, &any, name, &slots[k + 1].number);
    }
}

static bool is_in_range(const struct spec_type *t, double v)
{
    const double limit = ldexp(1, t->raw_bytes ? 8 * t->raw_bytes - t->is_signed : 63);

    return !t->is_whole || (t->is_signed ? v >= -limit && v < limit : v >= 0 && v < limit);
}

static enum err make_values(const struct spec_fill *f, struct spec *s, const struct spec_type *t, size_t n,
                            unsigned char *out, const char *where, struct why *why)
{
    struct expr_value slots[MAX_SLOTS] = {{0, NULL}};
    struct expr *source = NULL;
    enum err e = f->source ? expr_compile(f->source, resolve, s, &source, why) : ERR_OK;

    if (e)
        return why_prefix(why, e, "%s.DataSource", where);
    fill_slots(s, slots);
    for (size_t i = 0; i < n && !e; i++) {
        double v = f->value;

        slots[0].number = (double)i;
        if (source && (e = expr_eval(source, slots, &v)))
            why_set(why, e, "%s.DataSource: '%.100s' has no value for i = %zu", where, f->source, i);
        if (f->kind == SPEC_RANDOM)
            v = random_at(f, t, (int64_t)i);
        if (!e && !is_in_range(t, v))
            e = why_set(why, ERR_INPUT, "%s: %.17g is no value of %s", where, v, t->name);
        if (e)
            break; /* what is out of range has no bytes */
        if (t->raw_bytes)
            store_raw(t, out + i * value_bytes(t), v);
        else
            dtype_store(t->dtype, out, i, t->is_whole ? trunc(v) : v);
    }
    expr_free(source);
    return e;
}

static enum err make_blob(struct spec_fill *f, struct spec *s, const struct spec_type *t, int64_t n, const char *where,
                          struct program_fill *out, struct blobs *blobs, struct why *why)
{
    const size_t n_values = (size_t)(t->raw_bytes ? n : n * t->lanes), n_bytes = n_values * value_bytes(t);
    enum err e = ERR_OK;

    if (n_values > (size_t)SPEC_MAX_BLOB_ELEMS || n_bytes > SPEC_MAX_DATA_BYTES)
        return why_set(why, ERR_LIMIT, "%s: more than %lld values or %zu MiB made from a generator or of type %s",
                       where, (long long)SPEC_MAX_BLOB_ELEMS, SPEC_MAX_DATA_BYTES >> 20, t->name);
    if (!f->made || f->n_made != n_bytes) {
        free(f->made);
        f->made = malloc(n_bytes);
        f->n_made = n_bytes;
        e = f->made ? make_values(f, s, t, n_values, f->made, where, why) : ERR_NOMEM;
        if (e) {
            free(f->made);
            f->made = NULL;
            return e == ERR_NOMEM ? why_set(why, e, "%s", err_words(e)) : e;
        }
    }
    out->kind = FILL_BLOB;
    e = blobs_put(blobs, f->made, n_bytes, &out->blob);
    return e ? why_set(why, e, "%s: %s", where, err_words(e)) : ERR_OK;
}

enum err spec_check_fill(const struct spec_fill *f, struct spec *s, const struct spec_type *t, int64_t n,
                         const char *where, struct why *why)
{
    const struct blob *b = f->kind == SPEC_BINARY ? blobs_get(&s->files, f->file.hex) : NULL;
    const size_t n_bytes = (size_t)n * (size_t)t->lanes * dtype_bytes(t->dtype);
    struct expr *source = NULL;

    if (f->source && expr_compile(f->source, resolve, s, &source, why))
        return why_prefix(why, ERR_INPUT, "%s.DataSource", where);
    expr_free(source);
    if (f->kind == SPEC_BINARY && !b)
        return why_set(why, ERR_NOT_FOUND, "%s.DataSource: the file is not here", where);
    if (b && n > 0 && b->n_bytes != n_bytes)
        return why_set(why, ERR_INPUT, "%s.DataSource: the file has %zu bytes, %lld elements of %s are %zu", where,
                       b->n_bytes, (long long)n, t->name, n_bytes);
    return ERR_OK;
}

static enum err take_file(const struct spec_fill *f, struct spec *s, const struct spec_type *t, int64_t n,
                          const char *where, struct program_fill *out, struct blobs *blobs, struct why *why)
{
    const struct blob *b = blobs_get(&s->files, f->file.hex);
    enum err e = spec_check_fill(f, s, t, n, where, why);

    if (e)
        return e;
    out->kind = FILL_BLOB;
    e = blobs_put(blobs, b->data, b->n_bytes, &out->blob);
    return e ? why_set(why, e, "%s: %s", where, err_words(e)) : ERR_OK;
}

enum err spec_make_fill(struct spec_fill *f, struct spec *s, const struct spec_type *t, int64_t n, const char *where,
                        struct program_fill *out, struct blobs *blobs, struct why *why)
{
    const bool is_small = fabs(f->value) <= INT32_MAX;

    *out = (struct program_fill){.kind = FILL_ZERO};
    if (f->kind == SPEC_BINARY)
        return take_file(f, s, t, n, where, out, blobs, why);
    if (f->kind != SPEC_GENERATOR && f->value == 0)
        return ERR_OK;
    if (f->kind == SPEC_GENERATOR || t->raw_bytes || (t->is_whole && !is_small))
        return make_blob(f, s, t, n, where, out, blobs, why);
    if (f->kind == SPEC_CONSTANT) {
        *out = (struct program_fill){.kind = FILL_VALUE, .lo = f->value};
        return ERR_OK;
    }
    *out = (struct program_fill){.kind = FILL_INT, .seed = f->seed};
    if (t->is_whole) {
        out->lo = fmin(0, trunc(f->value));
        out->hi = fmax(0, trunc(f->value));
    } else {
        out->hi = RANDOM_STEPS - 1;
        out->step = f->value / RANDOM_STEPS;
    }
    return ERR_OK;
}
