/* SPDX-License-Identifier: MIT */
/* energy.h - in a timing child: what one run of a program takes of energy, by the device's own counter or power. */
#ifndef TUNE_AGENT_ENERGY_H
#define TUNE_AGENT_ENERGY_H

#include "core/clock.h"
#include "core/err.h"
#include "runtime/device.h"

/* Runs a loaded program over and over for a second and more after a short warm-up: *energy_j is the energy of one run,
 * pauses between runs included. From the energy counter between two of its ticks where there is one, else from power
 * readings, integrated. Takes about two seconds of that clock (NULL = the machine's), longer for runs that are long
 * themselves. ERR_UNSUPPORTED for a device that tells neither; errors of device_ops.run. */
enum err energy_of_run(const struct device_ops *ops, struct device *d, struct loaded *l, const struct clock *clock,
                       double *energy_j, struct why *why);

#endif
