/* SPDX-License-Identifier: MIT */
#include "search_space/knob_order.h"

#include <assert.h>
#include <string.h>

#define MAX_STARTS 12
#define MUCH_WORK 20000 /* estimated cells above which exchanges are tried */
#define MAX_PASSES 4
#define MAX_VISITS 1000000u /* of constraints while choosing, but for the first order: some milliseconds */

struct chooser {
    const uint64_t *scopes;
    size_t n_scopes;
    const size_t *n_values;
    uint64_t group;
    size_t n_visits; /* of constraints so far */
};

static double product(const struct chooser *c, uint64_t knobs)
{
    double n = 1;

    for (; knobs; knobs &= knobs - 1)
        n *= (double)c->n_values[__builtin_ctzll(knobs)];
    return n;
}

/* About how many states are open when the knobs of `set` are. */
static double n_states(struct chooser *c, uint64_t set)
{
    double apart = 1;
    uint64_t open = 0;

    c->n_visits += c->n_scopes;
    for (size_t i = 0; i < c->n_scopes; i++) {
        const uint64_t inside = c->scopes[i] & set, outside = c->scopes[i] & ~set;
        double before, behind;

        if (!inside || !outside)
            continue;
        open |= inside;
        before = product(c, inside);
        behind = product(c, outside) + 1;
        apart *= before < behind ? before : behind;
    }
    if (apart > 1) {
        const double together = product(c, open);

        return together < apart ? together : apart;
    }
    return 1;
}

static double cost_of(struct chooser *c, const uint8_t *knobs, size_t n)
{
    double cost = 0;
    uint64_t set = 0;

    for (size_t i = 0; i < n; i++) {
        cost += n_states(c, set) * (double)c->n_values[knobs[i]];
        set |= (uint64_t)1 << knobs[i];
    }
    return cost;
}

static uint8_t best_next(struct chooser *c, uint64_t set)
{
    double least = 0;
    uint8_t best = UINT8_MAX;

    for (uint64_t left = c->group & ~set; left; left &= left - 1) {
        const uint8_t k = (uint8_t)__builtin_ctzll(left);
        const double n = n_states(c, set | ((uint64_t)1 << k));

        if (best == UINT8_MAX || n < least || (n <= least && c->n_values[k] < c->n_values[best])) {
            best = k;
            least = n;
        }
    }
    return best;
}

static void greedy(struct chooser *c, uint8_t start, uint8_t *knobs, size_t n)
{
    uint64_t set = (uint64_t)1 << start;

    knobs[0] = start;
    for (size_t i = 1; i < n; i++) {
        knobs[i] = best_next(c, set);
        set |= (uint64_t)1 << knobs[i];
    }
}

static void move(uint8_t *knobs, size_t from, size_t to)
{
    const uint8_t k = knobs[from];

    if (from < to)
        memmove(knobs + from, knobs + from + 1, to - from);
    else
        memmove(knobs + to + 1, knobs + to, from - to);
    knobs[to] = k;
}

/* Moves single knobs elsewhere while that lowers the cost. */
static void improve(struct chooser *c, uint8_t *knobs, size_t n, double cost)
{
    bool better = true;

    for (int pass = 0; pass < MAX_PASSES && better; pass++) {
        better = false;
        for (size_t from = 0; from < n && c->n_visits < MAX_VISITS; from++)
            for (size_t to = 0; to < n; to++) {
                double now;

                if (from == to)
                    continue;
                move(knobs, from, to);
                now = cost_of(c, knobs, n);
                if (now < cost) {
                    cost = now;
                    better = true;
                } else {
                    move(knobs, to, from);
                }
            }
    }
}

static void order_group(struct chooser *c, uint8_t *out)
{
    const size_t n = (size_t)__builtin_popcountll(c->group);
    uint8_t knobs[SPACE_MAX_KNOBS];
    double least = -1;
    size_t n_starts = 0;

    for (uint64_t left = c->group; left && n_starts < MAX_STARTS; left &= left - 1, n_starts++) {
        double cost;

        if (n_starts && c->n_visits > MAX_VISITS)
            break;
        greedy(c, (uint8_t)__builtin_ctzll(left), knobs, n);
        cost = cost_of(c, knobs, n);
        if (least >= 0 && cost >= least)
            continue;
        least = cost;
        memcpy(out, knobs, n);
    }
    if (least > MUCH_WORK)
        improve(c, out, n, least);
}

/* All knobs tied to those of `group`. */
static uint64_t all_tied(const uint64_t *scopes, size_t n_scopes, uint64_t group)
{
    uint64_t before;

    do {
        before = group;
        for (size_t i = 0; i < n_scopes; i++)
            if (scopes[i] & group)
                group |= scopes[i];
    } while (group != before);
    return group;
}

/* The groups, those with few combinations first: lists of configs run fastest over what stands last. */
static size_t list_groups(const struct chooser *c, size_t n_knobs, uint64_t *groups)
{
    uint64_t done = 0;
    size_t n = 0;

    for (size_t i = 0; i < n_knobs; i++) {
        const uint64_t group = all_tied(c->scopes, c->n_scopes, (uint64_t)1 << i);
        size_t at = n;

        if (done >> i & 1)
            continue;
        for (; at > 0 && product(c, groups[at - 1]) > product(c, group); at--)
            groups[at] = groups[at - 1];
        groups[at] = group;
        n++;
        done |= group;
    }
    return n;
}

void knob_order_choose(const uint64_t *scopes, size_t n_scopes, const size_t *n_values, size_t n_knobs,
                       struct knob_order *out)
{
    struct chooser c = {scopes, n_scopes, n_values, 0, 0};
    uint64_t groups[SPACE_MAX_KNOBS];

    out->n = 0;
    out->n_groups = list_groups(&c, n_knobs, groups);
    for (size_t i = 0; i < out->n_groups; i++) {
        c.group = groups[i];
        order_group(&c, out->knobs + out->n);
        out->n += (size_t)__builtin_popcountll(c.group);
        out->group_ends[i] = out->n;
    }
    assert(out->n == n_knobs && n_knobs <= SPACE_MAX_KNOBS);
    for (size_t i = 0; i < out->n; i++)
        out->place[out->knobs[i]] = (uint8_t)i;
}
