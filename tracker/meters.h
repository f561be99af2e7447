/* SPDX-License-Identifier: MIT */
/* meters.h - times as histograms, for /metrics. Any thread may add to one while another reads it. */
#ifndef TUNE_TRACKER_METERS_H
#define TUNE_TRACKER_METERS_H

#include <stdatomic.h>
#include <stdint.h>

#define METER_BUCKETS 16

extern const int64_t meter_bounds_us[METER_BUCKETS]; /* inclusive upper bounds, ascending */

/* How long something took. All 0 is an empty one. */
struct meter {
    atomic_llong counts[METER_BUCKETS + 1]; /* [i]: over bound i - 1, up to bound i; the last: over all bounds */
    atomic_llong sum_ns;
};

/* Counts one of so many nanoseconds; less than 0 counts as 0. */
void meter_add(struct meter *m, int64_t ns);

#endif
