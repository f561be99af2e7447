/* SPDX-License-Identifier: MIT */
#include "search/strategies/pending.h"

#include "core/vec.h"

#include <assert.h>
#include <stdlib.h>

void pending_fini(struct pending *p)
{
    free(p->items);
    *p = (struct pending){0};
}

enum err pending_add(struct pending *p, uint64_t index, size_t i_member)
{
    const enum err e = VEC_ROOM(p->items, p->cap, p->n + 1, VEC_ANY);

    if (e == ERR_OK)
        p->items[p->n++] = (struct waiting){index, i_member};
    return e;
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
