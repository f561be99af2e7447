/* SPDX-License-Identifier: MIT */
/* model_second.c - the second stage of a model: configs that were built are ranked anew by what the build told. */
#include "search/learn/model_file.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum err model_file_name_second(struct model_file *m, const char *names, struct why *why)
{
    for (const char *at = names;; at++) {
        const size_t n = strcspn(at, ",");

        if (n == 0)
            return why_set(why, ERR_INPUT, "late columns \"%.60s\": expected names separated by commas", names);
        if (m->second.n == SECOND_MAX)
            return why_set(why, ERR_LIMIT, "more than %d late columns", SECOND_MAX);
        if ((n == 7 && strncmp(at, "time_ms", n) == 0) || (n == 6 && strncmp(at, "status", n) == 0))
            return why_set(why, ERR_INPUT, "late column %.*s: expected what a build tells, not an outcome", (int)n, at);
        for (size_t i = 0; i < m->second.n; i++)
            if (strlen(m->second.names[i]) == n && strncmp(m->second.names[i], at, n) == 0)
                return why_set(why, ERR_INPUT, "late column %.60s is named twice", m->second.names[i]);
        m->second.names[m->second.n] = strndup(at, n);
        if (!m->second.names[m->second.n])
            return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
        m->second.n++;
        at += n;
        if (!*at)
            return ERR_OK;
    }
}

/* The rows whose late columns are all known, with their features. */
struct built {
    size_t *rows; /* their numbers */
    double *values, *times;
    float *extra; /* [n][width]: derived, then late ones */
    size_t n, width;
};

static void built_fini(struct built *b)
{
    free(b->rows);
    free(b->values);
    free(b->times);
    free(b->extra);
}

static bool is_known(const float *late, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(late[i]))
            return false;
    return true;
}

static enum err built_init(struct built *b, const struct model_file *m, const double *values, const float *late,
                           const double *times, size_t n)
{
    const size_t n_knobs = m->columns.n, n_derived = m->derived ? derived_n(m->derived) : 0, n_late = m->second.n;

    *b = (struct built){.width = n_derived + n_late};
    b->rows = malloc((n + 1) * sizeof *b->rows);
    b->values = malloc((n * n_knobs + 1) * sizeof *b->values);
    b->times = malloc((n + 1) * sizeof *b->times);
    b->extra = malloc((n * b->width + 1) * sizeof *b->extra);
    if (!b->rows || !b->values || !b->times || !b->extra)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!is_known(late + i * n_late, n_late))
            continue;
        b->rows[b->n] = i;
        b->times[b->n] = times ? times[i] : (double)NAN;
        memcpy(b->values + b->n * n_knobs, values + i * n_knobs, n_knobs * sizeof *values);
        memcpy(b->extra + b->n * b->width + n_derived, late + i * n_late, n_late * sizeof *late);
        b->n++;
    }
    assert(b->n <= n);
    return n_derived > 0 ? derived_of(m->derived, b->values, b->n, b->extra, b->width) : ERR_OK;
}

enum err model_file_learn_second(struct model_file *m, const double *values, const float *late, const double *times,
                                 size_t n, uint64_t seed, struct why *why)
{
    struct ensemble *ensemble = NULL;
    struct built b;
    enum err e = built_init(&b, m, values, late, times, n);

    if (e)
        why_set(why, e, "%s", err_words(e));
    else
        e = ensemble_fit(
            &ensemble,
            &(struct ensemble_data){m->columns.knobs, b.values, b.times, b.extra, b.n, m->columns.n, b.width}, seed,
            why);
    built_fini(&b);
    if (e)
        return e;
    ensemble_free(m->second.ensemble);
    m->second.ensemble = ensemble;
    return ERR_OK;
}

struct place {
    float score;
    size_t i;
};

static int by_score(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

enum err model_file_rerank(const struct model_file *m, const double *values, const float *late, size_t n, float *scores)
{
    struct place *first = malloc((n + 1) * sizeof *first), *second = malloc((n + 1) * sizeof *second);
    float *anew = malloc((n + 1) * sizeof *anew);
    struct built b;
    enum err e = built_init(&b, m, values, late, NULL, n);

    if (e == ERR_OK)
        e = first && second && anew ? ensemble_predict(m->second.ensemble, b.values, b.extra, b.n, anew) : ERR_NOMEM;
    if (e == ERR_OK) {
        for (size_t i = 0; i < b.n; i++) {
            first[i] = (struct place){scores[b.rows[i]], i};
            second[i] = (struct place){anew[i], i};
        }
        qsort(first, b.n, sizeof *first, by_score);
        qsort(second, b.n, sizeof *second, by_score);
        for (size_t i = 0; i < b.n; i++)
            scores[b.rows[second[i].i]] = first[i].score;
    }
    built_fini(&b);
    free(first);
    free(second);
    free(anew);
    return e;
}
