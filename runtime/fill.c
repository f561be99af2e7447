/* fill.c - contents of buffers from (kind, seed, index) alone. Compiled without contraction of a*b+c, so that every
 * machine makes the same values. */
#include "core/rng.h"
#include "runtime/program.h"

#include <math.h>
#include <string.h>

#define CHUNK 1024

/* Uniform over the integers of [lo, hi]: the high half of random * span (Lemire 2019 without the rejection: the bias is
 * below span / 2^64). */
static double int_value(const struct program_fill *f, int64_t i)
{
    const uint64_t span = (uint64_t)(f->hi - f->lo) + 1;
    const unsigned __int128 wide = (unsigned __int128)rng_at(f->seed, (uint64_t)i) * span;

    return f->lo + (double)(uint64_t)(wide >> 64);
}

static uint32_t sum_of_four(uint64_t r)
{
    return (uint32_t)(r & 0xffff) + (uint32_t)(r >> 16 & 0xffff) + (uint32_t)(r >> 32 & 0xffff) + (uint32_t)(r >> 48);
}

/* Irwin-Hall: the sum of twelve 16-bit uniforms has mean 12 * 65535 / 2 and variance 65536^2 - 1; the quotient is
 * exact. */
static double normal_value(const struct program_fill *f, int64_t i)
{
    const uint64_t at = 3 * (uint64_t)i;
    const uint32_t sum =
        sum_of_four(rng_at(f->seed, at)) + sum_of_four(rng_at(f->seed, at + 1)) + sum_of_four(rng_at(f->seed, at + 2));
    const double z = ((double)sum - 393210.0) / 65536.0, scaled = f->hi * z;

    return f->lo + scaled;
}

static double zero_value(const struct program_fill *f, int64_t i)
{
    (void)f;
    (void)i;
    return 0;
}

static double constant_value(const struct program_fill *f, int64_t i)
{
    (void)i;
    return f->lo;
}

static double (*const values[N_FILLS])(const struct program_fill *, int64_t) = {
    [FILL_ZERO] = zero_value, [FILL_VALUE] = constant_value, [FILL_INT] = int_value, [FILL_NORMAL] = normal_value};

static enum err fill_blob(const struct program_fill *f, enum dtype t, void *data, int64_t n, const struct blobs *blobs)
{
    const struct blob *b = blobs ? blobs_get(blobs, f->blob.hex) : NULL;

    if (!b)
        return ERR_NOT_FOUND;
    if (b->n_bytes != (size_t)n * dtype_bytes(t))
        return ERR_INPUT;
    memcpy(data, b->data, b->n_bytes);
    return ERR_OK;
}

static void fill_f32(const struct program_fill *f, float *data, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)values[f->kind](f, i);
}

/* Constant contents of large buffers: one chunk is made and copied. */
static void fill_constant(double value, enum dtype t, char *data, int64_t n)
{
    const size_t n_bytes = dtype_bytes(t);
    const size_t total = (size_t)n * n_bytes;
    const size_t head = n < CHUNK ? (size_t)n : CHUNK;

    for (size_t i = 0; i < head; i++)
        dtype_store(t, data, i, value);
    for (size_t at = head * n_bytes; at < total; at += CHUNK * n_bytes)
        memcpy(data + at, data, total - at < CHUNK * n_bytes ? total - at : CHUNK * n_bytes);
}

enum err fill_elems(const struct program_fill *f, enum dtype t, void *data, int64_t n, const struct blobs *blobs)
{
    if ((unsigned)f->kind >= N_FILLS || n < 0)
        return ERR_INPUT;
    if (f->kind == FILL_BLOB)
        return fill_blob(f, t, data, n, blobs);
    if (f->kind == FILL_NONE) /* all bits set: NaN in f32 and f16 */
        memset(data, 0xff, (size_t)n * dtype_bytes(t));
    else if (f->kind == FILL_ZERO || f->kind == FILL_VALUE)
        fill_constant(f->kind == FILL_ZERO ? 0 : f->lo, t, data, n);
    else if (t == DTYPE_F32)
        fill_f32(f, data, n);
    else
        for (int64_t i = 0; i < n; i++)
            dtype_store(t, data, (size_t)i, values[f->kind](f, i));
    return ERR_OK;
}

double fill_elem(const struct program_fill *f, enum dtype t, int64_t i)
{
    char one[8];

    if ((unsigned)f->kind >= N_FILLS || !values[f->kind])
        return NAN;
    dtype_store(t, one, 0, values[f->kind](f, i));
    return dtype_load(t, one, 0);
}

double program_project_weight(uint64_t seed, int64_t i)
{
    return (double)((rng_at(seed, (uint64_t)i) & 0xfffff) + 1);
}
