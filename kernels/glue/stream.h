/* SPDX-License-Identifier: MIT */
/* stream.h - one long array of n elements cut into runs of vectors: what kernels of it share. */
#ifndef TUNE_KERNELS_GLUE_STREAM_H
#define TUNE_KERNELS_GLUE_STREAM_H

#include "core/err.h"
#include "kernels/build.h"

#include <stdint.h>

/* Knobs vec (elements of a vector), run (vectors of a work-item), wg (work-items of a group); quantity groups. */
enum err stream_space(const struct workload *w, int64_t n, const struct device_desc *d, struct space *s,
                      struct why *why);

/* A valid config of that space; ERR_NOT_FOUND. */
enum err stream_fallback(const struct workload *w, int64_t n, const struct device_desc *d, const struct space *s,
                         struct config *out);

#endif
