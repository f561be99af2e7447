/* SPDX-License-Identifier: MIT */
#include "kernels/images.h"

#include "core/err.h"

#include <assert.h>
#include <string.h>

#define MAX_ELEMS (((int64_t)1 << 31) - 1)

const char *const images_layouts[] = {"nchw", "nchw4c", "nchw8c", "nchw16c", "nhwc", NULL};

int64_t images_block(int64_t word)
{
    static const int64_t blocks[IMAGES_LAYOUTS] = {1, 4, 8, 16, 1};

    assert(word >= 0 && word < IMAGES_LAYOUTS);
    return blocks[word];
}

int64_t images_lanes(int64_t word, int64_t c)
{
    const int64_t block = images_block(word);

    return word == IMAGES_NHWC ? c : c % block ? 1 : block;
}

struct images images_of(const struct workload *w, int64_t word)
{
    const int64_t c = workload_get(w, "c");

    return (struct images){workload_get(w, "n"), c, workload_get(w, "h"), workload_get(w, "w"), images_lanes(word, c)};
}

enum err images_check_layout(const struct workload *w, const char *key, struct why *why)
{
    const int64_t word = workload_get(w, key), c = workload_get(w, "c");

    if (c % images_block(word) == 0)
        return ERR_OK;
    return why_set(why, ERR_INPUT, "%s: %s=%s needs c in multiples of %lld, not c=%lld", w->op->name, key,
                   images_layouts[word], (long long)images_block(word), (long long)c);
}

enum err images_check_elems(const struct workload *w, const char *tensor, const int64_t shape[4], struct why *why)
{
    int64_t n = 1;

    for (int i = 0; i < 4; i++)
        if (__builtin_mul_overflow(n, shape[i], &n) || n > MAX_ELEMS)
            return why_set(why, ERR_LIMIT, "%s: %s of %lld x %lld x %lld x %lld has more than %lld elements",
                           w->op->name, tensor, (long long)shape[0], (long long)shape[1], (long long)shape[2],
                           (long long)shape[3], (long long)MAX_ELEMS);
    return ERR_OK;
}

struct tensor images_tensor(const char *name, enum buffer_role role, enum dtype t, int64_t word, const int64_t shape[4])
{
    struct tensor x = {.name = name, .role = role, .dtype = t, .n_dims = 4, .layout = images_layouts[IMAGES_NCHW]};
    const int64_t lanes = images_lanes(word, shape[1]);

    memcpy(x.shape, shape, 4 * sizeof shape[0]);
    x.n_elems = shape[0] * shape[1] * shape[2] * shape[3];
    if (lanes > 1 || word == IMAGES_NHWC) {
        x.layout = images_layouts[word];
        x.n_dims = 5;
        x.shape[1] /= lanes;
        x.shape[4] = lanes;
    }
    return x;
}

static int64_t index_of(const struct images *y, int64_t n, int64_t c, int64_t h, int64_t w)
{
    return (((n * (y->c / y->lanes) + c / y->lanes) * y->h + h) * y->w + w) * y->lanes + c % y->lanes;
}

void images_choose_samples(const struct images *y, const struct expected *e, size_t n, uint64_t *indices)
{
    const int64_t cs[] = {0, y->c - 1, y->c / 2}, hs[] = {0, y->h - 1, y->h / 2}, ws[] = {0, y->w - 1, y->w / 2};
    const uint64_t total = (uint64_t)(y->n * y->c) * (uint64_t)(y->h * y->w);
    size_t at = 0;

    assert(n <= total);
    if ((uint64_t)n == total) {
        for (; at < n; at++)
            indices[at] = at;
        return;
    }
    for (int64_t i = 0; i < 54 && at < n; i++)
        indices[at++] = (uint64_t)index_of(y, i / 27 ? y->n - 1 : 0, cs[i % 3], hs[i / 3 % 3], ws[i / 9 % 3]);
    for (; at < n; at++)
        indices[at] = expected_pick(e, at) % total;
}
