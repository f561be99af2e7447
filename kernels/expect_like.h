/* SPDX-License-Identifier: MIT */
/* expect_like.h - data that look like something else to a kernel that looks at a part of them: the last passes of a
 * sheet, for what may be chosen. */
#ifndef TUNE_KERNELS_EXPECT_LIKE_H
#define TUNE_KERNELS_EXPECT_LIKE_H

#include "kernels/expect.h"

#include <stdbool.h>

/* Is it a mode of such passes? */
bool expect_is_last(enum expect_mode mode);

/* Has the workload a pass LIKE, one MOVED behind it, a SPECIAL one? */
bool expect_has_like(const struct workload *w);
bool expect_has_moved(const struct workload *w);
bool expect_has_special(const struct workload *w);

/* Are outputs of the mode rounded when they are stored, so that no sums of them are known? */
bool expect_rounds(const struct workload *w, enum expect_mode mode);

/* Gives an input or weight the fills of such a mode. LIKE: flat images, rows that begin like others, filters that are
 * symmetric, dead, equal, alone or cancel, scales far above 1, numbers that nearly cancel, offsets beyond any image; of
 * bf16 sums that are rounded when they are stored.
 * MOVED: the same with rows mirrored, so that sums over a row are as before; sums that floats do not hold. SPECIAL:
 * first states of 0, gates that are shut, large gradients or single ones, rows with one number far or a little above
 * the others, numbers that somebody thinks of. */
void expect_liken(const struct workload *w, enum exact_data data, enum expect_mode mode, struct tensor *t);

/* Tensors that are near each other have one seed: the first's. */
void expect_share_seeds(struct expected *e);

#endif
