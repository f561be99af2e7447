/* SPDX-License-Identifier: MIT */
#include "kernels/sparse_conv2d/weights.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/rng.h"
#include "kernels/npy.h"
#include "kernels/sparse_conv2d/sparse.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define KEY " weights="
#define HASH "sha256:"

void weights_draw(uint64_t seed, int64_t n, int64_t kept, int64_t bound, float *out)
{
    struct rng r;

    assert(kept >= 0 && kept <= n && bound > 0);
    rng_init(&r, seed);
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        if ((int64_t)rng_below(&r, (uint64_t)(n - i)) >= kept)
            continue;
        kept--;
        out[i] = (float)(1 + (int64_t)rng_below(&r, (uint64_t)bound)) / 64.0f;
        if (rng_below(&r, 2))
            out[i] = -out[i];
    }
    assert(kept == 0);
}

static enum err store_dir(char out[PATH_MAX], struct why *why)
{
    const char *given = getenv("TUNE_WEIGHTS_DIR"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;

    if (given && given[0])
        n = snprintf(out, PATH_MAX, "%s", given);
    else if (cache && cache[0])
        n = snprintf(out, PATH_MAX, "%s/tune/weights", cache);
    else if (home && home[0])
        n = snprintf(out, PATH_MAX, "%s/.cache/tune/weights", home);
    else
        return why_set(why, ERR_INPUT,
                       "no place to keep weights: none of TUNE_WEIGHTS_DIR, "
                       "XDG_CACHE_HOME, HOME is set");
    return n < PATH_MAX - 80 ? ERR_OK : why_set(why, ERR_LIMIT, "the path of the store of weights is too long");
}

static enum err store_path(const char *hex, char out[PATH_MAX], struct why *why)
{
    enum err e = store_dir(out, why);
    const size_t n = e ? 0 : strlen(out);

    if (!e)
        snprintf(out + n, PATH_MAX - n, "/%s.f32", hex);
    return e;
}

static enum err missing(const char *hex, const char *path, struct why *why)
{
    return why_set(why, ERR_NOT_FOUND,
                   "weights=" HASH "%s: no file %s; name the .npy file once more "
                   "on this machine, e.g. tune spaces "
                   "\"... weights=FILE.npy\"",
                   hex, path);
}

enum err weights_look(const char *hex, int64_t n, struct why *why)
{
    char path[PATH_MAX];
    struct stat s;
    enum err e = store_path(hex, path, why);

    if (e)
        return e;
    if (stat(path, &s))
        return missing(hex, path, why);
    if (s.st_size != n * (int64_t)sizeof(float))
        return why_set(why, ERR_INPUT, "weights=" HASH "%s: %lld elements; the workload has k*c/groups*r*s = %lld", hex,
                       (long long)s.st_size / (long long)sizeof(float), (long long)n);
    return ERR_OK;
}

enum err weights_get(const char *hex, int64_t n, float **out, struct why *why)
{
    char path[PATH_MAX];
    struct buf bytes;
    enum err e = weights_look(hex, n, why);

    if (e)
        return e;
    store_path(hex, path, NULL);
    buf_init(&bytes, (size_t)n * sizeof(float) + 1);
    e = file_read(path, &bytes, why);
    if (!e && (bytes.len != (size_t)n * sizeof(float) || strcmp(sha256_of(bytes.data, bytes.len).hex, hex) != 0))
        e = why_set(why, ERR_INPUT, "%s: its content is not what its name says", path);
    if (!e)
        *out = (float *)(void *)buf_take(&bytes);
    buf_fini(&bytes);
    return e;
}

/* Keeps a copy; an equal one stays as it is. ERR_IO. */
static enum err keep(const float *values, int64_t n, char hex[65], struct why *why)
{
    const struct sha256 name = sha256_of(values, (size_t)n * sizeof *values);
    char path[PATH_MAX];
    enum err e = store_dir(path, why);

    if (!e)
        e = dir_make(path, 0755, why);
    memcpy(hex, name.hex, sizeof name.hex);
    if (e || weights_look(hex, n, NULL) == ERR_OK)
        return e;
    e = store_path(hex, path, why);
    return e ? e : file_replace(path, values, (size_t)n * sizeof *values, 0644, why);
}

/* Values that a sum can be made of, one of them not 0. */
static enum err check_values(const char *path, const struct npy *a, struct why *why)
{
    bool some = false;

    for (int64_t i = 0; i < a->n_elems; i++) {
        if (!isfinite(a->values[i]))
            return why_set(why, ERR_INPUT, "%s: element %lld is %s; expected finite numbers", path, (long long)i,
                           isnan(a->values[i]) ? "NaN" : "infinite");
        if (fabsf(a->values[i]) > WEIGHTS_MAX)
            return why_set(why, ERR_INPUT,
                           "%s: element %lld is %g; expected magnitudes up to %g, so that sums stay finite", path,
                           (long long)i, (double)a->values[i], (double)WEIGHTS_MAX);
        some |= a->values[i] < 0 || a->values[i] > 0;
    }
    return some ? ERR_OK : why_set(why, ERR_INPUT, "%s: all weights are 0; expected at least one other", path);
}

static enum err check_shape(const char *path, const struct npy *a, const struct conv_shape *z, struct why *why)
{
    const int64_t expected[] = {z->k, z->c / z->groups, z->r, z->s};
    struct buf text;
    enum err e = ERR_OK;

    buf_init(&text, 256);
    for (int i = 0; i < a->n_dims; i++)
        buf_printf(&text, "%s%lld", i ? " x " : "", (long long)a->shape[i]);
    if (a->n_dims != 4 || memcmp(a->shape, expected, sizeof expected) != 0)
        e = why_set(why, ERR_INPUT,
                    "%s: an array of %s; expected [k][c/groups][r][s] = %lld x "
                    "%lld x %lld x %lld",
                    path, buf_text(&text), (long long)expected[0], (long long)expected[1], (long long)expected[2],
                    (long long)expected[3]);
    buf_fini(&text);
    return e;
}

/* -0 becomes 0, so that equal weights have one name. */
static void plain_zeros(struct npy *a)
{
    for (int64_t i = 0; i < a->n_elems; i++)
        if (!(a->values[i] < 0 || a->values[i] > 0))
            a->values[i] = 0;
}

/* The sizes of a workload that names a file: parsed with a draw in its place.
 */
static enum err shape_of(const char *before, size_t n_before, const char *after, struct conv_shape *out,
                         struct why *why)
{
    struct workload w;
    struct buf text;
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = buf_append(&text, before, n_before);
    if (!e)
        e = buf_printf(&text, " sparsity=0.000001%s", after);
    if (!e)
        e = workload_parse(buf_text(&text), &w, why);
    if (!e)
        *out = conv_shape_of(&w);
    buf_fini(&text);
    return e;
}

static enum err import_file(const char *path, const struct conv_shape *z, char hex[65], struct why *why)
{
    struct npy a = {.values = NULL};
    enum err e = npy_read(path, &a, why);

    if (!e)
        e = check_shape(path, &a, z, why);
    if (!e)
        e = check_values(path, &a, why);
    if (!e) {
        plain_zeros(&a);
        e = keep(a.values, a.n_elems, hex, why);
    }
    npy_fini(&a);
    return e;
}

enum err weights_import(const char *text, struct buf *out, struct why *why)
{
    const char *key = strncmp(text, "sparse_conv2d ", 14) == 0 ? strstr(text, KEY) : NULL, *value, *after;
    char path[PATH_MAX], hex[65];
    struct conv_shape z;
    enum err e;

    if (key && strstr(text, " seed="))
        return why_set(why, ERR_INPUT, "sparse_conv2d: seed= is for weights drawn by sparsity=, not for weights=");
    if (!key || strncmp(key + strlen(KEY), HASH, strlen(HASH)) == 0)
        return buf_puts(out, text);
    value = key + strlen(KEY);
    after = value + strcspn(value, " \t");
    if (after == value || (size_t)(after - value) >= sizeof path)
        return why_set(why, ERR_INPUT, "weights=: expected a .npy file or sha256: and 64 hex digits");
    if (strstr(text, " sparsity="))
        return why_set(why, ERR_INPUT, "sparse_conv2d: expected one of sparsity= and weights=, not both");
    memcpy(path, value, (size_t)(after - value));
    path[after - value] = '\0';
    e = shape_of(text, (size_t)(key - text), after, &z, why);
    if (!e)
        e = import_file(path, &z, hex, why);
    if (!e)
        e = buf_append(out, text, (size_t)(key - text));
    return e ? e : buf_printf(out, KEY HASH "%s%s", hex, after);
}
