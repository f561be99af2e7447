/* SPDX-License-Identifier: MIT */
#include "libtune/choice_near.h"

#include "core/err.h"
#include "kernels/cost.h"
#include "kernels/epilogue.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPILOGUE_COST (1.0 / 1024) /* of each part that only one of two has: far less than other sizes */
#define HASH_COST 1.0              /* other weights: as far as a size twice as large */
#define TEXT_COST 2.0              /* another expression */
#define FAR 1.0                    /* one size twice as large: beyond, what is expected of templates counts, too */
#define SLOWER 0.2                 /* ln of time: a quarter more */
#define FRACTION_SCALE 4e-6        /* of millionths: a quarter counts as much as a size twice as large */

static double square(double v)
{
    return v * v;
}

static int n_bits(uint64_t v)
{
    int n = 0;

    for (; v; v &= v - 1)
        n++;
    return n;
}

static double word_cost(const struct operator_key *key, int64_t a, int64_t b)
{
    if (a == b)
        return 0;
    return key->words == epilogue_words ? EPILOGUE_COST * n_bits(epilogue_bits(a) ^ epilogue_bits(b)) : INFINITY;
}

/* Doublings between two sizes; of sizes that may be 0, and of lists, which end in zeros, one is added to both. */
static double doublings(const struct operator_key *key, int64_t a, int64_t b)
{
    const double more = key->kind == KEY_SIZES ? 1 : key->min < 1 ? 1 - (double)key->min : 0;

    assert((double)a + more > 0 && (double)b + more > 0);
    return log2(((double)a + more) / ((double)b + more));
}

/* The mean square over the parts of a pair or pad: stride=2 is as far from stride=1 as c=128 from c=64. */
static double key_cost(const struct operator_key *key, const int64_t a[], const int64_t b[])
{
    const int n = key->kind == KEY_PAIR    ? 2
                  : key->kind == KEY_PAD   ? 4
                  : key->kind == KEY_SIZES ? WORKLOAD_MAX_PARTS
                                           : 1;
    double sum = 0;

    if (key->kind == KEY_WORD)
        return square(word_cost(key, a[0], b[0]));
    if (key->kind == KEY_HASH)
        return memcmp(a, b, 4 * sizeof *a) == 0 ? 0 : square(HASH_COST);
    if (key->kind == KEY_FRACTION)
        return square(FRACTION_SCALE * (double)(a[0] - b[0]));
    for (int i = 0; i < n; i++)
        sum += square(doublings(key, a[i], b[i])) / n;
    return sum;
}

double choice_distance(const struct workload *a, const struct workload *b)
{
    double sum = a->op == b->op && a->dtype == b->dtype ? 0 : INFINITY;

    if (sum == 0 && strcmp(a->text, b->text) != 0)
        sum = square(TEXT_COST);

    for (int i = 0; sum < INFINITY && a->op->keys[i].name; i++)
        sum += key_cost(&a->op->keys[i], a->key[i].v, b->key[i].v);
    return sqrt(sum);
}

enum err choice_config(const struct record *r, const struct space *s, struct config *out)
{
    const enum err e = space_config_from_json(s, r->knobs, out, NULL);

    if (e)
        return e;
    return space_is_valid(s, out, NULL) ? ERR_OK : ERR_INPUT;
}

/* Is another template expected to do better than that of a record so far away? */
static bool is_outdone(const struct template *t, double distance, const struct workload *w, const struct device_desc *d)
{
    const struct template *list[OPERATOR_MAX_TEMPLATES];

    return distance > FAR && templates_in_order(w, d, list) > 0 &&
           template_cost(t, w, d) - template_cost(list[0], w, d) > SLOWER; /* no cost is known: NAN, so it is not */
}

struct candidate {
    double distance;
    const struct choice_entry *entry;
};

static int by_distance(const void *a, const void *b)
{
    const struct candidate *p = a, *q = b;

    if (p->distance != q->distance)
        return p->distance < q->distance ? -1 : 1;
    return (p->entry > q->entry) - (p->entry < q->entry); /* entries lie in the log's order */
}

/* Candidates by distance; free() them. */
static enum err list(const struct choice_entry *first, const struct workload *w, struct candidate **out, size_t *n_out)
{
    struct candidate *all;
    size_t n = 0;

    for (const struct choice_entry *e = first; e; e = e->next_of_kind)
        n++;
    all = malloc((n + 1) * sizeof *all);
    if (!all)
        return ERR_NOMEM;
    n = 0;
    for (const struct choice_entry *e = first; e; e = e->next_of_kind) {
        all[n] = (struct candidate){choice_distance(&e->workload, w), e};
        n += all[n].distance < INFINITY;
    }
    qsort(all, n, sizeof *all, by_distance);
    *out = all;
    *n_out = n;
    return ERR_OK;
}

#define MAX_TEMPLATES 64 /* of an operator */

/* The spaces of the operator's templates for this workload, each made when it is first asked for. */
struct spaces {
    struct space *of[MAX_TEMPLATES];
    bool asked[MAX_TEMPLATES];
};

static struct space **space_of(struct spaces *s, const struct template *t, const struct workload *w,
                               const struct device_desc *d)
{
    size_t i = 0;

    while (i < MAX_TEMPLATES - 1 && w->op->templates[i] && w->op->templates[i] != t)
        i++;
    assert(w->op->templates[i] == t); /* entries are of templates that compute the operator */
    if (!s->asked[i] && t->fit(w, d, NULL) > FIT_BASELINE)
        (void)template_space(t, w, d, &s->of[i], NULL);
    s->asked[i] = true;
    return &s->of[i];
}

/* What the record's time would be here at the same rate in FLOPs, of which every operator counts some. */
static double scaled_time(const struct choice_entry *from, const struct workload *w)
{
    const double there = w->op->flops(&from->workload);

    assert(there > 0);
    return from->record->time_ns * w->op->flops(w) / there;
}

enum err choice_nearest(const struct choice_entry *first, const struct workload *w, const struct device_desc *d,
                        struct choice *out, struct why *why)
{
    struct spaces spaces = {{NULL}, {false}};
    struct candidate *all = NULL;
    struct config config;
    size_t n = 0;
    enum err e = list(first, w, &all, &n);
    bool found = false;

    if (e)
        return why_set(why, e, "out of memory");
    for (size_t i = 0; !found && i < n; i++) {
        const struct choice_entry *c = all[i].entry;
        struct space **s = space_of(&spaces, c->t, w, d);

        assert(all[i].distance < INFINITY && (i == 0 || all[i].distance >= all[i - 1].distance));
        found = *s && !is_outdone(c->t, all[i].distance, w, d) && choice_config(c->record, *s, &config) == ERR_OK;
        if (!found)
            continue;
        *out = (struct choice){CHOICE_NEAREST, c->record, all[i].distance, scaled_time(c, w), c->t, *s, config};
        *s = NULL;
    }
    for (size_t i = 0; i < MAX_TEMPLATES; i++)
        space_free(spaces.of[i]);
    free(all);
    return found ? ERR_OK : ERR_NOT_FOUND;
}
