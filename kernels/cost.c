/* SPDX-License-Identifier: MIT */
#include "kernels/cost.h"

#include "kernels/operator.h"
#include "runtime/device_desc.h"
#include "runtime/dtype.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* What a cost depends on: a constant, FLOPs, threads, then keys of workloads by name; an operator has some of them. */
#define COST_KEYS(X) X(c) X(k) X(h) X(w) X(r) X(s) X(stride) X(groups) X(layout) X(m) X(n)

#define AT(key) AT_##key,
enum { AT_one, AT_flops, AT_threads, COST_KEYS(AT) N_PARTS };
#undef AT

/* The logarithm of the time is the sum of factor[i] times part i. */
struct model {
    enum device_class kind;
    const char *id; /* of the template */
    double factor[N_PARTS];
};

static const struct model models[] = {
#include "kernels/cost_list.h"
};

/* Of a size its logarithm to base 2 (of a pair the mean of both), of a word its place in the list; 0 as by default. */
static double part_of(const struct operator_key *key, const int64_t v[])
{
    if (key->kind == KEY_WORD)
        return (double)v[0];
    return key->kind == KEY_PAIR ? (log2((double)v[0]) + log2((double)v[1])) / 2 : log2((double)v[0]);
}

static void parts_of(const struct workload *w, const struct device_desc *d, double out[N_PARTS])
{
#define NAME(key) #key,
    static const char *const names[] = {COST_KEYS(NAME)};
#undef NAME

    for (size_t i = 0; i < N_PARTS; i++)
        out[i] = 0;
    out[AT_one] = 1;
    out[AT_flops] = log2(w->op->flops(w));
    out[AT_threads] = log2((double)(d->threads > 1 ? d->threads : 1));
    for (size_t i = 0; w->op->keys[i].name; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            if (strcmp(w->op->keys[i].name, names[k]) == 0)
                out[AT_c + k] = part_of(&w->op->keys[i], w->key[i].v);
}

/* Of floats; halves, which are summed as floats, have the same. */
static const struct model *model_of(const struct template *t, const struct workload *w, const struct device_desc *d)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (models[i].kind == d->kind && (w->dtype == DTYPE_F32 || w->dtype == DTYPE_F16) &&
            strcmp(models[i].id, t->id) == 0)
            return &models[i];
    return NULL;
}

double template_cost(const struct template *t, const struct workload *w, const struct device_desc *d)
{
    const struct model *m = model_of(t, w, d);
    double part[N_PARTS], sum = 0;

    if (!m)
        return NAN;
    parts_of(w, d, part);
    for (size_t i = 0; i < N_PARTS; i++)
        sum += m->factor[i] * part[i];
    return sum;
}

/* A template on its way into the order. */
struct place {
    const struct template *t;
    enum fit fit;
    double cost;
};

static bool goes_before(const struct place *a, const struct place *b)
{
    return a->fit != b->fit ? a->fit > b->fit : a->cost < b->cost;
}

size_t templates_in_order(const struct workload *w, const struct device_desc *d,
                          const struct template *out[OPERATOR_MAX_TEMPLATES])
{
    struct place list[OPERATOR_MAX_TEMPLATES];
    bool known = true; /* the cost of each one that fits best */
    size_t n = 0;

    for (const struct template *const *t = w->op->templates; *t; t++, n++) {
        assert(n < OPERATOR_MAX_TEMPLATES);
        list[n] = (struct place){*t, (*t)->fit(w, d, NULL), template_cost(*t, w, d)};
        known = known && (list[n].fit < FIT_GOOD || !isnan(list[n].cost));
    }
    for (size_t i = 0; i < n; i++) {
        struct place p = list[i];
        size_t at = i;

        if (!known || p.fit < FIT_GOOD)
            p.cost = 0;
        for (; at > 0 && goes_before(&p, &list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = p;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = list[i].t;
    return n;
}
