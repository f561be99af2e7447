/* SPDX-License-Identifier: MIT */
/* vitals.h - what an agent told of itself over time: at most VITALS_POINTS points, the closer together the younger
 * the agent is. In memory only. */
#ifndef TUNE_TRACKER_VITALS_H
#define TUNE_TRACKER_VITALS_H

#include "core/err.h"
#include "core/json.h"

#include <stddef.h>
#include <stdint.h>

#define VITALS_POINTS 120
#define VITALS_STEP_MS 5000 /* between the points of a young one; doubled whenever all places are taken */

struct vitals_point {
    int64_t ts_ms;
    float temperature, load, canary_ns; /* NAN = not told */
    uint32_t done, failed;              /* trials so far */
};

/* All 0 is an empty one. */
struct vitals {
    struct vitals_point *at;
    int n;
    size_t cap;
    int64_t step_ms;
};

/* Takes the point in, unless the last one is less than a step old. Lack of memory loses it. */
void vitals_add(struct vitals *h, const struct vitals_point *point);
void vitals_fini(struct vitals *h);

/* {"ts_ms": [..], "temperature": [..], "load": [..], "canary_ns": [..], "done": [..], "failed": [..]}, null for what
 * was not told; NULL on lack of memory. */
cJSON *vitals_json(const struct vitals *h);

#endif
