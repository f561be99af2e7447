/* SPDX-License-Identifier: MIT */
/* copies.c - cp.async: what a thread has asked for is unknown (NaN) until the thread waits for it. So a missing wait
 * shows, and a copy that starts while others still read its target. */
#include "tests/cuda/block.h"
#include "tests/cuda/blocks_apart.h"
#include "tests/cuda/races.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COPY 16
#define UNKNOWN 0xff

struct copy {
    unsigned char *to;
    unsigned char bytes[MAX_COPY];
    int n;
    int group; /* counted by commits */
};

static struct pending {
    struct copy *copies;
    size_t n, cap;
    int n_groups; /* committed */
} threads[BLOCK_MAX_THREADS];

void copies_start(int n_threads)
{
    for (int i = 0; i < n_threads; i++) {
        threads[i].n = 0;
        threads[i].n_groups = 0;
    }
}

/* The same bytes to the same place in the same group: which of the two comes last changes nothing. */
static bool is_coming(const struct pending *p, const struct copy *c)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->copies[i].to == c->to && p->copies[i].n == c->n && p->copies[i].group == c->group &&
            memcmp(p->copies[i].bytes, c->bytes, sizeof c->bytes) == 0)
            return true;
    return false;
}

void copies_add(void *to, const void *from, int n, int n_from)
{
    struct pending *p = &threads[block_thread()];
    struct copy c = {.to = to, .n = n, .group = p->n_groups};

    if ((n != 4 && n != 8 && n != 16) || n_from < 0 || n_from > n)
        block_fail(715, "cp.async of a size that there is not");
    if ((uintptr_t)to % (size_t)n || (n_from && (uintptr_t)from % (size_t)n))
        block_fail(716, "cp.async with a misaligned address");
    if (p->n == p->cap) {
        const size_t cap = p->cap ? 2 * p->cap : 16;
        struct copy *more = realloc(p->copies, cap * sizeof *more);

        if (!more)
            block_fail(2, "no memory for copies");
        p->copies = more;
        p->cap = cap;
    }
    memcpy(c.bytes, from, (size_t)n_from);
    apart_access(from, (size_t)n_from, 0);
    if (is_coming(p, &c))
        return;
    races_copy_begins(to, (size_t)n);
    memset(to, UNKNOWN, (size_t)n);
    p->copies[p->n++] = c;
}

void copies_commit(void)
{
    threads[block_thread()].n_groups++;
}

void copies_wait(int n_pending)
{
    struct pending *p = &threads[block_thread()];
    size_t kept = 0;

    for (size_t i = 0; i < p->n; i++)
        if (n_pending < 0 || p->copies[i].group < p->n_groups - n_pending) {
            races_copy_ends(p->copies[i].to, (size_t)p->copies[i].n);
            memcpy(p->copies[i].to, p->copies[i].bytes, (size_t)p->copies[i].n);
        } else {
            p->copies[kept++] = p->copies[i];
        }
    p->n = kept;
}
