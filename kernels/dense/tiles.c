/* SPDX-License-Identifier: MIT */
/* tiles.c - what a tile of a product costs on a GPU, for defaults. */
#include "kernels/dense/dense.h"

#include <stdint.h>

bool dense_is_few(const struct workload *w, const struct device_desc *d)
{
    return d->kind == DEVICE_GPU && (workload_get(w, "m") < DENSE_FEW || workload_get(w, "n") < DENSE_FEW);
}

#define ENOUGH_ITEMS 384 /* of a multiprocessor: with fewer each waits for local memory */
#define MOST_ITEMS 512   /* where there are as many, k is not split */
#define STEP 16          /* two barriers, addresses */
#define PART 64          /* an output of a part is written and read: 8 bytes of memory's time */
#define LAUNCH 100000    /* of what adds parts up */

/* Instructions of the busiest multiprocessor's items: an item's products, its loads from local memory and its share of
 * what is staged, all for each of k. */
double dense_tile_cost(const struct dense_shape *z, const struct device_desc *d, const struct dense_tile *t)
{
    const int64_t units = d->units > 0 ? d->units : 16, items = t->m_items * t->n_items;
    const int64_t busiest = CEIL(CEIL(z->m, t->m) * CEIL(z->n, t->n) * t->split, units) * items;
    const double rows = (double)(t->m / t->m_items), columns = (double)(t->n / t->n_items);
    const double staged = 2 * (double)(t->m + t->n) / (double)items;
    const double step = (rows * columns + rows + columns + staged) * (double)t->k + STEP;
    const double parts = PART * (double)z->m * (double)z->n * (double)t->split / (double)units + LAUNCH;

    return (double)(busiest > ENOUGH_ITEMS ? busiest : ENOUGH_ITEMS) * step * (double)CEIL(z->k, t->k * t->split) +
           (t->split > 1 ? parts : 0);
}

void dense_tile_try(const struct dense_shape *z, const struct device_desc *d, struct dense_tile t,
                    struct dense_tile *best)
{
    const int64_t items = CEIL(z->m, t.m) * t.m_items * CEIL(z->n, t.n) * t.n_items;
    const int64_t most = 2 * MOST_ITEMS * (d->units > 0 ? d->units : 16);

    for (t.split = 1; t.split == 1 || (t.split <= 16 && items * t.split < most && t.split * 128 <= z->k); t.split *= 2)
        if (!best->m || dense_tile_cost(z, d, &t) < dense_tile_cost(z, d, best))
            *best = t;
}
