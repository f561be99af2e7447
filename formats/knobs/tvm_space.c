/* SPDX-License-Identifier: MIT */
/* The candidates of TVM's knobs in TVM's order, and where a value stands among them. Splits are made depth first, the
 * last part slowest, divisors ascending; permutations and annotations in lexicographic order. Source: define_split,
 * define_reorder, define_annotate, define_knob of TVM 0.9's ConfigSpace. */
#include "core/err.h"
#include "core/json.h"
#include "kernels/build.h"
#include "formats/knobs/tvm_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* How many tuples of n_parts numbers have a product that divides n: for a prime power p^e the ways to hand out e or
 * fewer of them, C(e + n_parts, n_parts). */
static uint64_t n_tuples(int64_t n, int n_parts)
{
    uint64_t all = 1;

    assert(n > 0 && n_parts >= 0);
    for (int64_t p = 2; n > 1; p++) {
        uint64_t ways = 1, e = 0;

        if (p * p > n)
            p = n;
        for (; n % p == 0; n /= p)
            e++;
        for (int i = 1; i <= n_parts; i++)
            ways = ways * (e + (uint64_t)i) / (uint64_t)i;
        all *= ways;
    }
    return all;
}

/* How many of these tuples begin (slowest part) with a divisor below `limit`. */
static uint64_t n_below(int64_t n, int n_parts, int64_t limit)
{
    uint64_t all = 0;

    for (int64_t d = 1; d * d <= n; d++) {
        if (n % d)
            continue;
        if (d < limit)
            all += n_tuples(n / d, n_parts - 1);
        if (d * d != n && n / d < limit)
            all += n_tuples(d, n_parts - 1);
    }
    return all;
}

static uint64_t n_splits(const struct tvm_knob *k, int64_t length)
{
    if (k->only_ones)
        return 1;
    if (k->most && k->most < length) /* only of splits in two */
        return n_below(length, 1, k->most + 1);
    return n_tuples(length, k->n_parts - 1);
}

static enum err no_split(const struct tvm_knob *k, int64_t length, const cJSON *value, struct why *why)
{
    char *text = cJSON_PrintUnformatted(value);

    why_set(why, ERR_INPUT, "%s %.60s does not split %lld in %d parts", k->name, text ? text : "", (long long)length,
            k->n_parts);
    free(text);
    return ERR_INPUT;
}

enum err tvm_split_parts(const struct tvm_knob *k, int64_t length, const cJSON *value, int64_t parts[TVM_MAX_PARTS],
                         struct why *why)
{
    int64_t rest = length;
    const cJSON *item;
    int n = 0;

    if (!cJSON_IsArray(value) || cJSON_GetArraySize(value) != k->n_parts)
        return no_split(k, length, value, why);
    cJSON_ArrayForEach(item, value)
    {
        const double v = cJSON_IsNumber(item) ? item->valuedouble : 0;

        if (!(v >= 1 && v <= (double)length && v == (double)(int64_t)v) && !(n == 0 && v == -1))
            return no_split(k, length, value, why);
        parts[n++] = (int64_t)v;
    }
    for (int i = n - 1; i > 0; i--) {
        if (rest % parts[i] || (k->only_ones && parts[i] != 1) || (k->most && parts[i] > k->most))
            return no_split(k, length, value, why);
        rest /= parts[i];
    }
    if (parts[0] != -1 && parts[0] != rest)
        return no_split(k, length, value, why);
    parts[0] = rest;
    return ERR_OK;
}

static enum err split_position(const struct tvm_knob *k, int64_t length, const cJSON *value, uint64_t *position,
                               uint64_t *n, struct why *why)
{
    int64_t parts[TVM_MAX_PARTS];
    const enum err e = tvm_split_parts(k, length, value, parts, why);

    if (e)
        return e;
    *n = n_splits(k, length);
    *position = 0;
    for (int i = k->n_parts - 1; i > 0; i--) {
        *position += n_below(length, i, parts[i]);
        assert(parts[i] > 0 && length % parts[i] == 0);
        length /= parts[i];
    }
    return ERR_OK;
}

static enum err number_at(const struct tvm_knob *k, const cJSON *value, int i, int n, int *out, struct why *why)
{
    const cJSON *item = cJSON_IsArray(value) && cJSON_GetArraySize(value) == n ? cJSON_GetArrayItem(value, i) : NULL;

    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < n) ||
        item->valuedouble != (double)(int)item->valuedouble)
        return why_set(why, ERR_INPUT, "%s is no order of %d loops", k->name, n);
    *out = (int)item->valuedouble;
    return ERR_OK;
}

/* Of 3 loops, in lexicographic order. */
static enum err order_position(const struct tvm_knob *k, const cJSON *value, uint64_t *position, uint64_t *n,
                               struct why *why)
{
    int p[3];

    for (int i = 0; i < 3; i++) {
        const enum err e = number_at(k, value, i, 3, &p[i], why);

        if (e)
            return e;
    }
    if (p[0] == p[1] || p[0] == p[2] || p[1] == p[2])
        return why_set(why, ERR_INPUT, "%s is no order of 3 loops", k->name);
    *n = 6;
    *position = (uint64_t)(2 * p[0] + (p[1] > p[2]));
    return ERR_OK;
}

/* The three inner loops of ten: as they are, or the last one first. */
static enum err inner_position(const struct tvm_knob *k, const cJSON *value, uint64_t *position, uint64_t *n,
                               struct why *why)
{
    static const int orders[2][10] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {0, 1, 2, 3, 4, 5, 6, 9, 7, 8}};
    int p[10];

    for (int i = 0; i < 10; i++) {
        const enum err e = number_at(k, value, i, 10, &p[i], why);

        if (e)
            return e;
    }
    *n = 2;
    for (*position = 0; *position < *n; ++*position)
        if (memcmp(p, orders[*position], sizeof p) == 0)
            return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "%s: another order of loops than [..7,8,9] and [..9,7,8]", k->name);
}

/* 0 none, 1 unroll, 2 vec for each loop. Lists with more than one vec are no candidates. */
static enum err annotation_position(const struct tvm_knob *k, const cJSON *value, uint64_t *position, uint64_t *n,
                                    struct why *why)
{
    const int n_words = k->kind == KNOB_UNROLL_VEC ? 3 : 2;
    int all = 1, wanted = 0;

    for (int i = 0; i < k->n_parts; i++) {
        const int word = tvm_annotation(k, value, i);

        if (word < 0)
            return why_set(why, ERR_INPUT, "%s is not %d times none%s unroll", k->name, k->n_parts,
                           n_words > 2 ? ", vec or" : " or");
        wanted = wanted * n_words + word;
        all *= n_words;
    }
    *n = *position = 0;
    for (int i = 0; i < all; i++) {
        int n_vec = 0;

        for (int rest = i; rest; rest /= n_words)
            n_vec += rest % n_words == 2;
        if (n_vec > 1 && i == wanted)
            return why_set(why, ERR_INPUT, "%s has two loops as vectors", k->name);
        *position += n_vec < 2 && i < wanted;
        *n += n_vec < 2;
    }
    return ERR_OK;
}

/* Candidates that do not divide the channels are none (tile_bna). */
static enum err other_position(const struct tvm_task *t, const struct workload *w, const struct tvm_knob *k,
                               const cJSON *value, uint64_t *position, uint64_t *n, struct why *why)
{
    const int64_t divides = tvm_axis_length(t, w, k->axis);
    bool found = false;

    *n = 0;
    for (int i = 0; k->values[i] != BUILD_END; i++) {
        if (divides && divides % k->values[i])
            continue;
        if (cJSON_IsNumber(value) && value->valuedouble == (double)k->values[i]) {
            *position = *n;
            found = true;
        }
        ++*n;
    }
    return found ? ERR_OK : why_set(why, ERR_INPUT, "%s is not one of TVM's values for this task", k->name);
}

enum err tvm_position(const struct tvm_task *t, const struct workload *w, const struct tvm_knob *k, const cJSON *value,
                      uint64_t *position, uint64_t *n, struct why *why)
{
    switch (k->kind) {
    case KNOB_SPLIT:
        return split_position(k, tvm_axis_length(t, w, k->axis), value, position, n, why);
    case KNOB_INNER:
        return inner_position(k, value, position, n, why);
    case KNOB_ORDER:
        return order_position(k, value, position, n, why);
    case KNOB_UNROLL:
    case KNOB_UNROLL_VEC:
        return annotation_position(k, value, position, n, why);
    case KNOB_OTHER:
        return other_position(t, w, k, value, position, n, why);
    }
    return why_set(why, ERR_INPUT, "%s: no such knob", k->name);
}

enum err tvm_index(const struct tvm_task *t, const struct workload *w, const cJSON *entities, uint64_t *index,
                   uint64_t *size, struct why *why)
{
    const cJSON *at[TVM_MAX_KNOBS], *entity;
    uint64_t sum = 0, stride = 1;
    enum err e = tvm_match(t, entities, at, why);

    if (e)
        return e;
    cJSON_ArrayForEach(entity, entities)
    {
        const struct tvm_knob *k = tvm_knob_at(t, at, entity);
        uint64_t position, n;

        e = tvm_position(t, w, k, cJSON_GetArrayItem(entity, 2), &position, &n, why);
        assert(e || position < n);
        if (!e && (__builtin_mul_overflow(position, stride, &position) || __builtin_add_overflow(sum, position, &sum) ||
                   __builtin_mul_overflow(stride, n, &stride)))
            e = why_set(why, ERR_LIMIT, "a space of more than 2^64 configs");
        if (e)
            return e;
    }
    *index = sum;
    *size = stride;
    return ERR_OK;
}
