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

/* Words of the key "layout": nchw, blocks of channels, all channels together. */
enum { IMAGES_NCHW, IMAGES_NCHW4C, IMAGES_NCHW8C, IMAGES_NCHW16C, IMAGES_NHWC, IMAGES_LAYOUTS };
extern const char *const images_layouts[];

/* Channels stored together where a tensor has c of them: a block's, c in nhwc; 1 in nchw, and where c is no multiple of
 * a block's (the 3 channels of an image): that is nchw, too. */
int64_t images_lanes(int64_t word, int64_t c);

/* Channels of a block of the layout's; 1 of nchw and nhwc. */
int64_t images_block(int64_t word);

/* n images of c channels, `lanes` of them stored together: [n][c/lanes][h][w][lanes]. */
struct images {
    int64_t n, c, h, w, lanes;
};

/* Of the keys n c h w, in a layout. */
struct images images_of(const struct workload *w, int64_t word);

/* ERR_INPUT with words where channels are no multiple of the lanes of the layout that `key` names. */
enum err images_check_layout(const struct workload *w, const char *key, struct why *why);

/* ERR_LIMIT, naming the tensor, where it has more than 2^31-1 elements. */
enum err images_check_elems(const struct workload *w, const char *tensor, const int64_t shape[4], struct why *why);

/* The tensor, shape n c h w, in a layout: [n][c][h][w], or [n][c/lanes][h][w][lanes], nhwc [n][1][h][w][c]. No fills.
 */
struct tensor images_tensor(const char *name, enum buffer_role role, enum dtype t, int64_t word,
                            const int64_t shape[4]);

/* Corners and last rows, columns, channels of y first, the rest random: indices as stored. */
void images_choose_samples(const struct images *y, const struct expected *e, size_t n, uint64_t *indices);

#endif
