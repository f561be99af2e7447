/* SPDX-License-Identifier: MIT */
#include "agent/prove.h"

#include <math.h>
#include <string.h>

enum prove prove_of(const char *word)
{
    static const char *const words[] = {
        [PROVE_EACH] = "each", [PROVE_WINNER] = "winner", [PROVE_LEAST] = "least", [PROVE_NOT] = "no"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return (enum prove)i;
    return PROVE_EACH;
}

/* By their ratios to one anchor where both have one. */
static bool is_faster(const struct timing_value *a, const struct timing_value *b)
{
    return isfinite(a->lnratio) && isfinite(b->lnratio) ? a->lnratio < b->lnratio : a->time_ns < b->time_ns;
}

int prove_order(const struct measure_item *items, int n_items, int *order)
{
    int n = 0;

    for (int i = 0; i < n_items; i++) {
        int at = n;

        if (items[i].e || !items[i].series.n)
            continue;
        for (; at > 0 && is_faster(&items[i].value, &items[order[at - 1]].value); at--)
            order[at] = order[at - 1];
        order[at] = i;
        n++;
    }
    return n;
}

/* Faster than the best that the search told of, else than what this job has put through here. */
static bool is_least(const struct measure_item *m, const struct proof *p)
{
    const double gap = timing_gap(&m->rules, &m->value, NULL);

    return isnan(gap) ? !(p->known_ns > 0) || m->value.time_ns < p->known_ns : gap < 0;
}

bool prove_wanted(const struct measure_item *m, const struct proof *p, bool is_found)
{
    switch (p->how) {
    case PROVE_WINNER:
        return !is_found;
    case PROVE_LEAST:
        return !is_found && is_least(m, p);
    case PROVE_NOT:
        return false;
    case PROVE_EACH:
        break;
    }
    return true;
}

bool prove_watches(const struct proof *p)
{
    return p->how == PROVE_EACH || p->how == PROVE_WINNER;
}
