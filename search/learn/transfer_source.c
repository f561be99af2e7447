/* SPDX-License-Identifier: MIT */
/* transfer_source.c - groups rows by the shared knobs, looks configs up, and models those that were never measured. */
#include "search/learn/transfer_source.h"

#include "core/err.h"
#include "core/mix.h"
#include "core/order.h"
#include "cost_model/gbdt.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MODEL_ROWS 20000  /* groups that the model learns from, at most */
#define LEAST_SHARE 1e-6f /* of the best throughput: what the model's answers are cut at */

void transfer_source_fini(struct transfer_source *s)
{
    if (!s)
        return;
    if (s->model)
        gbdt_ops.fini(s->model);
    free(s->label);
    free(s->shared);
    free(s->keys);
    free(s->values);
    free(s->fails);
    map_fini(&s->by_key);
    free(s->logs);
    free(s->seen);
    free(s->first_seen);
    *s = (struct transfer_source){.label = NULL};
}

/* The column of a name: the same, or else the same but for the case of letters. -1 when there is none. */
static int column_of(const struct transfer_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->n_knobs; i++) {
        if (strcmp(rows->names[i], name) == 0)
            return (int)i;
    }
    for (size_t i = 0; i < rows->n_knobs; i++) {
        if (strcasecmp(rows->names[i], name) == 0)
            return (int)i;
    }
    return -1;
}

/* Numbers that are equal get equal bits. */
static uint64_t bits_of(double x)
{
    uint64_t bits;

    x = isnan(x) ? (double)NAN : x + 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static size_t hash_of(const double *key, size_t n)
{
    uint64_t h = MIX_BEGIN;

    for (size_t i = 0; i < n; i++)
        h = mix_word(h, bits_of(key[i]));
    return mix_end(h);
}

static bool keys_equal(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bits_of(a[i]) != bits_of(b[i]))
            return false;
    }
    return true;
}

/* The number of a key's group; n_groups when there is none. */
static size_t group_of(const struct transfer_source *s, const double *key)
{
    const size_t hash = hash_of(key, s->n_shared);
    const struct map_slot *slot;

    for (size_t at = 0; (slot = map_next(&s->by_key, hash, &at));)
        if (keys_equal(s->keys + slot->item * s->n_shared, key, s->n_shared))
            return slot->item;
    return s->n_groups;
}

/* Which knobs are shared; columns[n_shared] are the source's. */
static enum err share(struct transfer_source *s, const char *const *names, size_t n_names,
                      const struct transfer_rows *rows, size_t *columns)
{
    s->shared = malloc(n_names * sizeof(*s->shared));
    s->logs = malloc(n_names * sizeof(*s->logs));
    if (!s->shared || !s->logs)
        return ERR_NOMEM;
    for (size_t i = 0; i < n_names; i++) {
        const int column = column_of(rows, names[i]);

        if (column < 0)
            continue;
        s->logs[s->n_shared] = true;
        columns[s->n_shared] = (size_t)column;
        s->shared[s->n_shared++] = i;
    }
    return ERR_OK;
}

static enum err make_room(struct transfer_source *s, size_t n)
{
    s->keys = malloc(n * s->n_shared * sizeof(*s->keys));
    s->values = calloc(n, sizeof(*s->values));
    s->fails = calloc(n, sizeof(*s->fails));
    return s->keys && s->values && s->fails ? map_room(&s->by_key, n) : ERR_NOMEM;
}

/* Adds one row to its group; n_ok and n_failed count those of each group. */
static void add_row(struct transfer_source *s, const double *row, const size_t *columns, double value, uint32_t *n_ok,
                    uint32_t *n_failed)
{
    double *key = s->keys + s->n_groups * s->n_shared;
    size_t group;

    for (size_t i = 0; i < s->n_shared; i++) {
        key[i] = row[columns[i]];
        s->logs[i] = s->logs[i] && !(key[i] <= 0);
    }
    group = group_of(s, key);
    if (group == s->n_groups)
        map_add(&s->by_key, hash_of(key, s->n_shared), s->n_groups++);
    if (isfinite(value)) {
        s->values[group] += value;
        n_ok[group]++;
    } else {
        n_failed[group]++;
    }
}

/* Sums become means, above the least. ERR_INPUT when no row was ok. */
static enum err finish_groups(struct transfer_source *s, const uint32_t *n_ok, const uint32_t *n_failed)
{
    double best = INFINITY;

    for (size_t i = 0; i < s->n_groups; i++) {
        assert(n_ok[i] + n_failed[i] > 0);
        s->values[i] = n_ok[i] ? s->values[i] / n_ok[i] : (double)NAN;
        s->fails[i] = (float)n_failed[i] / (float)(n_ok[i] + n_failed[i]);
        best = fmin(best, s->values[i]);
    }
    for (size_t i = 0; i < s->n_groups; i++)
        s->values[i] -= best;
    return isfinite(best) ? ERR_OK : ERR_INPUT;
}

static enum err group(struct transfer_source *s, const struct transfer_rows *rows, const size_t *columns)
{
    uint32_t *n_ok = calloc(rows->n + 1, sizeof(*n_ok)), *n_failed = calloc(rows->n + 1, sizeof(*n_failed));
    enum err e = n_ok && n_failed ? make_room(s, rows->n + 1) : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < rows->n; i++)
        add_row(s, rows->knobs + i * rows->n_knobs, columns, rows->values[i], n_ok, n_failed);
    if (e == ERR_OK)
        e = finish_groups(s, n_ok, n_failed);
    free(n_ok);
    free(n_failed);
    return e;
}

/* Lists the values of each knob. */
static enum err list_seen(struct transfer_source *s)
{
    size_t n = 0;

    s->seen = malloc(s->n_groups * s->n_shared * sizeof(*s->seen) + 1);
    s->first_seen = malloc((s->n_shared + 1) * sizeof(*s->first_seen));
    if (!s->seen || !s->first_seen)
        return ERR_NOMEM;
    for (size_t j = 0; j < s->n_shared; j++) {
        const size_t first = s->first_seen[j] = n;
        size_t last = first;

        for (size_t i = 0; i < s->n_groups; i++) {
            const double x = s->keys[i * s->n_shared + j];

            if (!isnan(x))
                s->seen[last++] = x;
        }
        qsort(s->seen + first, last - first, sizeof(*s->seen), order_doubles);
        for (size_t i = first; i < last; i++) {
            if (n == first || s->seen[i] > s->seen[n - 1])
                s->seen[n++] = s->seen[i];
        }
    }
    s->first_seen[s->n_shared] = n;
    return ERR_OK;
}

static bool has_seen(const struct transfer_source *s, const double *key)
{
    for (size_t j = 0; j < s->n_shared; j++) {
        const size_t first = s->first_seen[j];

        if (!isnan(key[j]) &&
            !bsearch(key + j, s->seen + first, s->first_seen[j + 1] - first, sizeof(*s->seen), order_doubles))
            return false;
    }
    return true;
}

enum err transfer_source_init(struct transfer_source *s, const char *const *names, size_t n_names, const char *label,
                              const struct transfer_rows *rows, uint64_t seed, struct why *why)
{
    size_t *columns = malloc(n_names * sizeof(*columns));
    enum err e;

    *s = (struct transfer_source){.label = strdup(label), .seed = seed};
    e = rows->n > TRANSFER_MAX_ROWS ? ERR_LIMIT : s->label && columns ? ERR_OK : ERR_NOMEM;
    if (e == ERR_OK)
        e = share(s, names, n_names, rows, columns);
    if (e == ERR_LIMIT)
        why_set(why, e, "%.200s: %zu rows, expected at most %zu", label, rows->n, TRANSFER_MAX_ROWS);
    else if (e == ERR_OK && s->n_shared == 0)
        e = why_set(why, ERR_INPUT, "%.200s: no knob in common with the target, expected some of its names", label);
    else if (e == ERR_OK && (e = group(s, rows, columns)) == ERR_INPUT)
        why_set(why, e, "%.200s: no row that ran, expected at least one with a time", label);
    if (e == ERR_OK)
        e = list_seen(s);
    if (e == ERR_NOMEM)
        why_set(why, e, "%s", err_words(e));
    if (e)
        transfer_source_fini(s);
    free(columns);
    return e;
}

/* Features of a key for the source's own model: each shared knob and its log2. */
static void features_of(const struct transfer_source *s, const double *key, float *row)
{
    for (size_t i = 0; i < s->n_shared; i++) {
        row[2 * i] = (float)key[i];
        row[2 * i + 1] = s->logs[i] && key[i] > 0 ? (float)log2(key[i]) : NAN;
    }
}

/* Fits the model to shares of the best throughput, so that a failure is a number too: 0. */
static enum err fit(struct transfer_source *s)
{
    const size_t n = s->n_groups < MODEL_ROWS ? s->n_groups : MODEL_ROWS, width = 2 * s->n_shared;
    float *rows = malloc(n * width * sizeof(*rows)), *targets = malloc(n * sizeof(*targets));
    struct model *model = NULL;
    enum err e = rows && targets ? gbdt_ops.init(&model, s->seed) : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < n; i++) {
        const size_t i_group = (size_t)((double)i * (double)s->n_groups / (double)n);
        const double above = s->values[i_group];

        features_of(s, s->keys + i_group * s->n_shared, rows + i * width);
        targets[i] = isnan(above) ? 0 : (float)-exp(-above);
    }
    if (e == ERR_OK)
        e = gbdt_ops.fit(model, &(struct model_data){rows, targets, NULL, n, width});
    if (e == ERR_OK)
        s->model = model;
    else if (model)
        gbdt_ops.fini(model);
    free(rows);
    free(targets);
    return e;
}

/* Answers of the model where nothing was measured: those whose `fail` is NAN. */
static enum err ask_model(struct transfer_source *s, const float *rows, const size_t *which, size_t n,
                          struct transfer_answer *out)
{
    float *scores = malloc(n * sizeof(*scores) + 1);
    enum err e = !scores ? ERR_NOMEM : s->model ? ERR_OK : fit(s);

    if (e == ERR_OK)
        e = gbdt_ops.predict(s->model, rows, n, scores, NULL);
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        out[which[i]].above = -log((double)fmaxf(-scores[i], LEAST_SHARE));
    free(scores);
    return e;
}

enum err transfer_source_ask(struct transfer_source *s, const double *knobs, size_t n_knobs, size_t n,
                             struct transfer_answer *out)
{
    const size_t width = 2 * s->n_shared;
    double *key = malloc(s->n_shared * sizeof(*key));
    size_t *missing = malloc(n * sizeof(*missing) + 1), n_missing = 0;
    float *rows = NULL;
    enum err e = key && missing ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < n; i++) {
        size_t at;
        bool is_known;

        for (size_t j = 0; j < s->n_shared; j++)
            key[j] = knobs[i * n_knobs + s->shared[j]];
        at = group_of(s, key);
        is_known = at < s->n_groups;
        out[i] = (struct transfer_answer){
            .above = is_known ? s->values[at] : (double)NAN,
            .fail = is_known ? (double)s->fails[at] : (double)NAN,
            .like = is_known || has_seen(s, key),
        };
        if (!is_known)
            missing[n_missing++] = i;
    }
    if (e == ERR_OK && n_missing && !(rows = malloc(n_missing * width * sizeof(*rows))))
        e = ERR_NOMEM;
    for (size_t i = 0; e == ERR_OK && i < n_missing; i++) {
        for (size_t j = 0; j < s->n_shared; j++)
            key[j] = knobs[missing[i] * n_knobs + s->shared[j]];
        features_of(s, key, rows + i * width);
    }
    if (e == ERR_OK && n_missing)
        e = ask_model(s, rows, missing, n_missing, out);
    free(key);
    free(missing);
    free(rows);
    return e;
}
