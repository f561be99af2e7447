/* SPDX-License-Identifier: MIT */
/* expect_wide.h - data far from the usual: what a kernel must compute rightly too. */
#ifndef TUNE_KERNELS_EXPECT_WIDE_H
#define TUNE_KERNELS_EXPECT_WIDE_H

#include "kernels/expect.h"

#include <stdbool.h>

/* Does anything become 0 because it is negative? */
bool expect_has_relu(const struct workload *w);

/* Gives an input or weight the fills of a mode with data of its own. The exact one: halves, and zeros that are
 * negative; with the other sign. The random one: as far as the operator's tolerance, in sums of magnitudes, bears it:
 * magnitudes are one for a plane of an image and for a window of weights, which Winograd's transforms mix. Tensors that
 * are no factors or addends (offsets, states, scales) stay as they are, or are chosen so that halves come up. */
void expect_widen(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t);

#endif
