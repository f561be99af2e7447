/* SPDX-License-Identifier: MIT */
/* make.h - from the best records of a log and the layers wanted to what goes into a bundle. */
#ifndef TUNE_DEPLOY_MAKE_H
#define TUNE_DEPLOY_MAKE_H

#include "core/err.h"
#include "logs/log.h"
#include "deploy/set.h"
#include "deploy/want.h"

#include <stdbool.h>

/* One bundle is for one device. ERR_INPUT naming two devices of the set when it has several. */
enum err deploy_check_device(const struct best_set *best, struct why *why);

/* Adds the layer of one workload where the set has none yet: of its own record, else as `choices` say (then
 * without test vectors). */
enum err deploy_make_layer(struct deploy_set *s, const struct best_set *best, const struct choices *choices,
                           const struct device_desc *device, const char *workload, struct why *why);

/* Adds layers and functions for all that is wanted; `want` NULL: for every record. Workloads without a record take the
 * config of the nearest one, or the default, when `allow_nearest`; else ERR_NOT_FOUND, naming them. */
enum err deploy_make(struct deploy_set *s, const struct best_set *best, const struct deploy_want *want,
                     bool allow_nearest, struct why *why);

#endif
