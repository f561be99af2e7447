/* SPDX-License-Identifier: MIT */
/* images.h - tensors of images and their layouts: what operators of any family may share. */
#ifndef TUNE_KERNELS_IMAGES_H
#define TUNE_KERNELS_IMAGES_H

#include "core/err.h"
#include "kernels/expect.h"
#include "kernels/operator.h"

#include <stddef.h>
#include <stdint.h>

#define IMAGES_MAX_SIZE ((int64_t)1 << 24) /* of each of n c h w, and of other operators' sizes */

/* Words of the key "layout"; a tensor whose channels are a multiple of the word's lanes has that layout, others (the 3
 * channels of an image) are nchw. */
extern const char *const images_layouts[];

/* Channels stored together in the layout at this position of images_layouts. */
int64_t images_lanes(int64_t word);

/* n images of c channels, `lanes` of them stored together: [n][c/lanes][h][w][lanes]. */
struct images {
    int64_t n, c, h, w, lanes;
};

/* Of the keys n c h w. */
struct images images_of(const struct workload *w, int64_t lanes);

/* ERR_INPUT with words where channels are no multiple of the lanes of the layout that `key` names. */
enum err images_check_layout(const struct workload *w, const char *key, struct why *why);

/* ERR_LIMIT, naming the tensor, where it has more than 2^31-1 elements. */
enum err images_check_elems(const struct workload *w, const char *tensor, const int64_t shape[4], struct why *why);

/* The tensor, shape n c h w: [n][c][h][w], or [n][c/lanes][h][w][lanes] with lanes > 1 (4 8 16). No fills. */
struct tensor images_tensor(const char *name, enum buffer_role role, enum dtype t, int64_t lanes,
                            const int64_t shape[4]);

/* Corners and last rows, columns, channels of y first, the rest random: indices as stored. */
void images_choose_samples(const struct images *y, const struct expected *e, size_t n, uint64_t *indices);

#endif
