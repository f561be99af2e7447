/* SPDX-License-Identifier: MIT */
/* sample_log.h - logs for the tests of libtune: records of a described device with configs that are no defaults. */
#ifndef TUNE_TESTS_LIBTUNE_SAMPLE_LOG_H
#define TUNE_TESTS_LIBTUNE_SAMPLE_LOG_H

#include "logs/record.h"
#include "runtime/device_desc.h"

#include <stdbool.h>

/* A good record of the workload with this time; its config is a valid one of the template ("" = the one that fits best)
 * drawn with `seed` that is not the default. record_fini it; false, and words on standard error, when it cannot be. */
bool sample_log_record(const struct device_desc *d, const char *workload, const char *template_id, uint64_t seed,
                       double time_ns, struct record *out);

/* The same, appended to a log. */
bool sample_log_add(const char *path, const struct device_desc *d, const char *workload, const char *template_id,
                    uint64_t seed, double time_ns);

#endif
