/* SPDX-License-Identifier: MIT */
#include "search/strategies/pending.h"

#include <assert.h>
#include <stdlib.h>

void pending_fini(struct pending *p)
{
    free(p->items);
    *p = (struct pending){0};
}

enum err pending_add(struct pending *p, uint64_t index, size_t i_member)
{
    if (p->n == p->cap) {
        const size_t cap = p->cap ? 2 * p->cap : 64;
        struct waiting *items = realloc(p->items, cap * sizeof(*items));

        if (!items)
            return ERR_NOMEM;
        p->items = items;
        p->cap = cap;
    }
    assert(p->n < p->cap);
    p->items[p->n++] = (struct waiting){index, i_member};
    return ERR_OK;
}

bool pending_take(struct pending *p, uint64_t index, size_t *i_member)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->items[i].index == index) {
            assert(p->n <= p->cap);
            *i_member = p->items[i].i_member;
            p->items[i] = p->items[--p->n];
            return true;
        }
    return false;
}
