/* SPDX-License-Identifier: MIT */
/* cool.h - in a timing child: what the device's sensors say round a batch, and waiting until it is cool enough. */
#ifndef TUNE_AGENT_COOL_H
#define TUNE_AGENT_COOL_H

#include "agent/child_calls.h"
#include "core/clock.h"
#include "core/json.h"
#include "runtime/device.h"

#include <stdbool.h>

#define COOL_MAX_S 300 /* longest wait for a device to cool */

/* Readings round one batch. */
struct cool {
    const struct device_ops *ops;
    struct device *device;
    const struct clock *clock; /* of waiting; NULL = the machine's */
    struct sense before, during, after;
    double waited_s;
    double rest_w; /* at rest, where energy was measured (energy.h); 0 = it was not */
    bool hot;      /* over the limit still when the wait was given up */
};

/* Waits as the rules say, at most COOL_MAX_S; calls `alive` every half second. Then takes c->before. */
void cool_wait(struct cool *c, const struct cool_rules *r, void (*alive)(void *arg), void *arg);

/* A reading while the batch is timed: the hottest of all is kept. */
void cool_during(struct cool *c);

/* A reading after it. */
void cool_after(struct cool *c);

/* {"before", "during", "after": as sense_add_json, "waited_s", "rest_w", "hot"}, what is not known left out; NULL when
 * nothing is, or on lack of memory. */
cJSON *cool_to_json(const struct cool *c);

#endif
