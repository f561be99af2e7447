/* SPDX-License-Identifier: MIT */
/* fill_sum.c - what this version of tune makes of a program's fills, in a few digits. From the data themselves: nothing
 * is to be raised by hand when a fill changes. */
#include "core/err.h"
#include "core/hash.h"
#include "core/rng.h"
#include "runtime/program.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define N_FIRST 1024 /* elements of a buffer's begin */
#define N_SPREAD 128 /* elements anywhere */
#define SEED_SPREAD 1

/* NaN is one, whatever its bits: no arithmetic of an expected value has it. */
static void make_alike(double *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (isnan(values[i]))
            values[i] = NAN;
}

/* `sum`, and what is at the buffer's begin and at places all over it. */
static uint32_t with_fill(uint32_t sum, const struct program_fill *f, int64_t n_elems)
{
    const int64_t n_first = n_elems < N_FIRST ? n_elems : N_FIRST, n = 1 + n_first + N_SPREAD;
    struct program_fill unfolded = *f;
    double values[1 + N_FIRST + N_SPREAD] = {(double)sum};
    enum err e;

    if (f->kind == FILL_NONE || f->kind == FILL_BLOB)
        return sum;
    unfolded.fold = (struct program_fold){.of = 0};
    e = fill_elems(&unfolded, DTYPE_F64, values + 1, n_first, NULL);
    assert(!e);
    (void)e;
    for (int64_t i = 0; i < N_SPREAD; i++)
        values[1 + n_first + i] =
            fill_elem(f, DTYPE_F64, (int64_t)(rng_at(SEED_SPREAD, (uint64_t)i) % (uint64_t)n_elems));
    make_alike(values, n);
    return crc32c(values, (size_t)n * sizeof values[0]);
}

static bool has_values(const struct program_pass *pass)
{
    for (size_t i = 0; i < pass->n_checks; i++)
        if (pass->checks[i].kind != CHECK_BUFFER)
            return true;
    return false;
}

void program_fills_sum(const struct program *p, char out[PROGRAM_SUM_BYTES])
{
    uint32_t sum = 0;
    bool any = false;

    for (size_t k = p->n_sheet ? p->n_passes - p->n_sheet : 0; k < p->n_passes; k++)
        for (size_t i = 0; has_values(&p->passes[k]) && i < p->n_buffers; i++) {
            sum = with_fill(sum, program_fill_of(p, &p->passes[k], i), p->buffers[i].n_elems);
            any = true;
        }
    out[0] = '\0';
    if (any)
        snprintf(out, PROGRAM_SUM_BYTES, "%08x", sum);
}
