/* SPDX-License-Identifier: MIT */
/* rig_parts.h - inside rig.h: what its files need of each other. */
#ifndef TUNE_AGENT_RIG_PARTS_H
#define TUNE_AGENT_RIG_PARTS_H

#include "agent/rig.h"

#include <stdbool.h>
#include <stdint.h>

/* Is the stop flag set? */
bool rig_stopping(const struct rig *r);

/* Of children that run or compile kernels; NULL = none. */
const struct cage *rig_cage(const struct rig *r);

/* A job's limit, or what the machine has left where that is less. */
int64_t rig_memory_limit(int64_t bytes);

/* No child can be started (this program was replaced, the machine is out of processes), which is no fault of a kernel:
 * the agent leaves, and its leases go to others. Returns when the stop flag is set. */
void rig_leave(struct rig *r, const char *words);

/* How many compile children there are to be, the device and its CPUs known; and sets them up. */
void rig_plan_forges(struct rig *r);

#endif
