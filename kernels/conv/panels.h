/* SPDX-License-Identifier: MIT */
/* panels.h - the side of conv/panels.clh that makes spaces and launches: what the window covers, written out in panels
 * or gathered, and a tiled matrix product. */
#ifndef TUNE_KERNELS_CONV_PANELS_H
#define TUNE_KERNELS_CONV_PANELS_H

#include "core/err.h"
#include "kernels/conv/shape.h"

#include <stdint.h>

/* A form's own part: the kernel that writes out the panels cols from x (and the tensor `other`, -1 = none). */
struct panels {
    const char *file, *gather;
    int64_t gathers; /* groups of it for each panel */
    int other;
};

/* Members of struct template. n_forms 1: explicit; 2: fused too, for a file that defines PATCH. */
enum err panels_space(const struct workload *w, const struct device_desc *d, int n_forms, struct space *s,
                      struct why *why);
enum err panels_fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out);
void panels_program(struct build *b, const struct panels *from);

#endif
