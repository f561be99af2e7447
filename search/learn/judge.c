/* SPDX-License-Identifier: MIT */
#include "search/learn/judge.h"

#include "core/rng.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

const char *const measure_names[N_MEASURES] = {"spearman", "recall1",   "recall5", "regret1", "regret8",
                                               "regret32", "regret128", "fail32",  "found32"};

static bool is_ratio(enum measure m)
{
    return (m >= MEASURE_REGRET1 && m <= MEASURE_REGRET128) || m == MEASURE_FOUND32;
}

double measure_mean(enum measure m, const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += is_ratio(m) ? log(values[i]) : values[i];
    return is_ratio(m) ? exp(sum / (double)n) : sum / (double)n;
}

struct item {
    double key;
    uint64_t tie; /* or, of judge_order, the key */
    uint32_t i;
};

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->tie > y->tie) - (x->tie < y->tie);
}

static uint64_t splitmix64(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

enum err judge_order(uint32_t *order, size_t n, uint64_t seed)
{
    struct item *items = malloc((n + 1) * sizeof *items);

    if (!items)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){0, splitmix64((seed << 32) + i), (uint32_t)i};
    qsort(items, n, sizeof *items, by_key);
    for (size_t i = 0; i < n; i++)
        order[i] = items[i].i;
    free(items);
    return ERR_OK;
}

/* Sorted copies of what is judged. */
struct bench {
    struct item *by_score, *by_time; /* all rows; the ok ones */
    double *ranks_a, *ranks_b;       /* [n_ok] */
    size_t n, n_ok;
};

static void ranks_of(const struct item *sorted, size_t n, double *ranks)
{
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && sorted[j].key == sorted[i].key; j++)
            ;
        for (size_t k = i; k < j; k++)
            ranks[sorted[k].i] = (double)(i + j - 1) / 2;
        assert(j > i && j <= n && sorted[i].i < n);
    }
}

/* Of two lists of ranks over the same n. */
static double correlation(const double *a, const double *b, size_t n)
{
    const double mean = (double)(n - 1) / 2;
    double ab = 0, aa = 0, bb = 0;

    assert(n > 0);
    for (size_t i = 0; i < n; i++) {
        ab += (a[i] - mean) * (b[i] - mean);
        aa += (a[i] - mean) * (a[i] - mean);
        bb += (b[i] - mean) * (b[i] - mean);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

static enum err spearman(const double *times, const float *scores, size_t n, struct bench *b, double *out)
{
    struct item *items = malloc((n + 1) * sizeof *items);
    size_t n_ok = 0;

    if (!items)
        return ERR_NOMEM;
    for (int pass = 0; pass < 2; pass++) {
        n_ok = 0;
        for (size_t i = 0; i < n; i++)
            if (!isnan(times[i])) {
                items[n_ok] = (struct item){pass ? times[i] : (double)scores[i], n_ok, (uint32_t)n_ok};
                n_ok++;
            }
        qsort(items, n_ok, sizeof *items, by_key);
        ranks_of(items, n_ok, pass ? b->ranks_b : b->ranks_a);
    }
    free(items);
    *out = correlation(b->ranks_a, b->ranks_b, n_ok);
    return ERR_OK;
}

static double recall(const struct bench *b, const double *times, double share)
{
    const size_t k = (size_t)fmax(1, ceil(share * (double)b->n_ok));
    assert(k <= b->n_ok);

    const double last = b->by_time[k - 1].key;
    size_t n_found = 0;

    for (size_t i = 0; i < k; i++)
        n_found += times[b->by_score[i].i] <= last; /* NAN is not */
    return fmin((double)k, (double)n_found) / (double)k;
}

static double best_of_first(const struct bench *b, const double *times, size_t k)
{
    double best = INFINITY;

    for (size_t i = 0; i < k && i < b->n; i++)
        best = fmin(best, times[b->by_score[i].i]);
    return best;
}

static double regret(const struct bench *b, const double *times, size_t k)
{
    const double best = best_of_first(b, times, k);

    assert(b->by_time[0].key <= best); /* nothing is better than the best */
    return (isfinite(best) ? best : b->by_time[b->n_ok - 1].key) / b->by_time[0].key;
}

static void measure(const struct bench *b, const double *times, double best_trained, double out[N_MEASURES])
{
    const size_t n_first = b->n < 32 ? b->n : 32;
    size_t n_failed = 0;

    for (size_t i = 0; i < n_first; i++)
        n_failed += isnan(times[b->by_score[i].i]);
    out[MEASURE_RECALL1] = recall(b, times, 0.01);
    out[MEASURE_RECALL5] = recall(b, times, 0.05);
    out[MEASURE_REGRET1] = regret(b, times, 1);
    out[MEASURE_REGRET8] = regret(b, times, 8);
    out[MEASURE_REGRET32] = regret(b, times, 32);
    out[MEASURE_REGRET128] = regret(b, times, 128);
    out[MEASURE_FAIL32] = (double)n_failed / (double)n_first;
    out[MEASURE_FOUND32] = fmin(best_trained, best_of_first(b, times, 32));
    if (!isfinite(out[MEASURE_FOUND32]))
        out[MEASURE_FOUND32] = b->by_time[b->n_ok - 1].key;
    out[MEASURE_FOUND32] /= fmin(best_trained, b->by_time[0].key);
}

enum err judge(const double *times, const float *scores, size_t n, double best_trained, double out[N_MEASURES])
{
    struct bench b = {.n = n};
    enum err e;

    b.by_score = malloc(2 * (n + 1) * sizeof *b.by_score);
    b.ranks_a = malloc(2 * (n + 1) * sizeof *b.ranks_a);
    if (!b.by_score || !b.ranks_a) {
        free(b.by_score);
        free(b.ranks_a);
        return ERR_NOMEM;
    }
    b.by_time = b.by_score + n + 1;
    b.ranks_b = b.ranks_a + n + 1;
    for (size_t i = 0; i < n; i++) {
        b.by_score[i] = (struct item){(double)scores[i], i, (uint32_t)i};
        if (!isnan(times[i]))
            b.by_time[b.n_ok++] = (struct item){times[i], i, (uint32_t)i};
    }
    qsort(b.by_score, n, sizeof *b.by_score, by_key);
    qsort(b.by_time, b.n_ok, sizeof *b.by_time, by_key);
    e = spearman(times, scores, n, &b, &out[MEASURE_SPEARMAN]);
    if (e == ERR_OK)
        measure(&b, times, best_trained, out);
    free(b.by_score);
    free(b.ranks_a);
    return e;
}
