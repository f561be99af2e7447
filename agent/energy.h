/* SPDX-License-Identifier: MIT */
/* energy.h - in a timing child: what one run of a program takes of energy, by the device's own counter or power. */
#ifndef TUNE_AGENT_ENERGY_H
#define TUNE_AGENT_ENERGY_H

#include "core/clock.h"
#include "core/err.h"
#include "runtime/device.h"

/* The power that the device takes while it does nothing, in watts: the same sensors for as long as below, read at once
 * after a load, so that clocks are still those of a busy device. 0 where they do not move. ERR_UNSUPPORTED for a device
 * that tells neither energy nor power. */
enum err energy_at_rest(const struct device_ops *ops, struct device *d, const struct clock *clock, double *rest_w,
                        struct why *why);

/* Runs a loaded program over and over for a second and more after a short warm-up: *energy_j is what one run takes
 * beyond what the device at rest, of `rest_w` watts, takes in that time; so pauses between runs count for nothing. From
 * the energy counter between two of its ticks where there is one, else from power readings, integrated. Takes about two
 * seconds of that clock (NULL = the machine's), longer for runs that are long themselves. ERR_UNSUPPORTED for a device
 * that tells neither; ERR_DEVICE where readings do not move or are those at rest; errors of device_ops.run. */
enum err energy_of_run(const struct device_ops *ops, struct device *d, struct loaded *l, double rest_w,
                       const struct clock *clock, double *energy_j, struct why *why);

#endif
