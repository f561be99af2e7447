/* SPDX-License-Identifier: MIT */
/* expect_wide.h - data far from the usual: what a kernel must compute rightly too. */
#ifndef TUNE_KERNELS_EXPECT_WIDE_H
#define TUNE_KERNELS_EXPECT_WIDE_H

#include "kernels/expect.h"

#include <stdbool.h>

/* Has it sums of products of the tensors x and w? Of sparse weights those are no tensor. */
bool expect_has_products(const struct workload *w);

/* Has the workload a turned pass, and one at the ends of zero points and scales? */
bool expect_turns(const struct workload *w);
bool expect_has_ends(const struct workload *w);

/* Of which of its two passes a mode has none: the random one, the exact one. */
bool expect_is_exact(const struct workload *w, enum expect_mode mode);
bool expect_is_random(const struct workload *w, enum expect_mode mode);

/* Gives an input or weight the fills of a mode with data of its own. The exact one: halves, and zeros that are
 * negative; turned; at the ends. The random one: as far as the operator's tolerance, in sums of magnitudes, bears it:
 * magnitudes are one for a plane of an image and for a window of weights, which Winograd's transforms mix. Tensors that
 * are no factors or addends (offsets, states, scales) stay as they are, or are chosen so that halves come up. */
void expect_widen(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t);

#endif
