/* SPDX-License-Identifier: MIT */
#include "tracker/meters.h"

const int64_t meter_bounds_us[METER_BUCKETS] = {500,     1000,     2500,     5000,     10000,   25000,
                                                50000,   100000,   250000,   500000,   1000000, 2500000,
                                                5000000, 15000000, 60000000, 300000000};

void meter_add(struct meter *m, int64_t ns)
{
    int i = 0;

    if (ns < 0)
        ns = 0;
    while (i < METER_BUCKETS && ns > meter_bounds_us[i] * 1000)
        i++;
    atomic_fetch_add_explicit(&m->counts[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->sum_ns, ns, memory_order_relaxed);
}
