/* SPDX-License-Identifier: MIT */
/* graph_range_sizes.c - which sizes of a range become buckets. */
#include "kernels/graph_range.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define LEAST_BUCKET 2 /* of a size of 1 the graph may be another: what is transposed then lies as it did */

size_t graph_range_sizes(int64_t least, int64_t most, int64_t sizes[RANGE_MAX_BUCKETS])
{
    const int64_t end = least > LEAST_BUCKET ? least : LEAST_BUCKET;
    size_t n = 0;

    for (int64_t size = most; n < RANGE_MAX_BUCKETS && (n == 0 || (size >= end && size < sizes[n - 1]));
         size = (size + 1) / 2)
        sizes[n++] = size;
    for (size_t i = 0; i < n / 2; i++) {
        const int64_t swapped = sizes[i];

        sizes[i] = sizes[n - 1 - i];
        sizes[n - 1 - i] = swapped;
    }
    return n;
}

/* The time of a bucket of just this length. */
static double time_at(const int64_t *sizes, const double *time_ns, size_t n, int64_t length)
{
    size_t i = 0;

    while (i + 1 < n && sizes[i] < length)
        i++;
    if (i == 0)
        return time_ns[0];
    return time_ns[i - 1] +
           (time_ns[i] - time_ns[i - 1]) * (double)(length - sizes[i - 1]) / (double)(sizes[i] - sizes[i - 1]);
}

/* What bucket i takes for all lengths behind bucket `from` (n: behind none), in times of their own. */
static double cost_of(const int64_t *sizes, const double *time_ns, size_t n, int64_t least, size_t from, size_t i)
{
    double sum = 0;

    for (int64_t length = from == n ? least : sizes[from] + 1; length <= sizes[i]; length++)
        sum += time_ns[i] / time_at(sizes, time_ns, n, length);
    return sum;
}

double graph_range_choose(const int64_t *sizes, const double *time_ns, size_t n, int64_t least, size_t most,
                          bool *chosen)
{
    double best[RANGE_MAX_BUCKETS][RANGE_MAX_BUCKETS]; /* with so many more, of which i is the last */
    size_t before[RANGE_MAX_BUCKETS][RANGE_MAX_BUCKETS], k = 0;

    assert(n > 0 && n <= RANGE_MAX_BUCKETS && most > 0);
    most = most < n ? most : n;
    for (size_t c = 0; c < most; c++)
        for (size_t i = 0; i < n; i++) {
            best[c][i] = c ? INFINITY : cost_of(sizes, time_ns, n, least, n, i);
            before[c][i] = n;
            for (size_t from = 0; c && from < i; from++) {
                const double cost = best[c - 1][from] + cost_of(sizes, time_ns, n, least, from, i);

                if (cost < best[c][i]) {
                    best[c][i] = cost;
                    before[c][i] = from;
                }
            }
        }
    for (size_t c = 1; c < most; c++)
        k = best[c][n - 1] < best[k][n - 1] ? c : k;
    memset(chosen, 0, n * sizeof *chosen);
    for (size_t i = n - 1, c = k; i<n; i = before[c][i], c -= c> 0)
        chosen[i] = true;
    return best[k][n - 1] / (double)(sizes[n - 1] - least + 1);
}
