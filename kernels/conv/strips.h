/* SPDX-License-Identifier: MIT */
/* strips.h - the side of conv/strips.clh and conv/split.clh that makes spaces and launches: forms whose tiles lie in
 * local memory, each axis in V strips of T work-items with R neighbours each. */
#ifndef TUNE_KERNELS_CONV_STRIPS_H
#define TUNE_KERNELS_CONV_STRIPS_H

#include "core/err.h"
#include "kernels/conv/shape.h"

#include <stdbool.h>
#include <stdint.h>

/* One form over a shape. Knobs that a form lacks are constants of its space: 1, order, fuse_yx and dbuf 0, the whole
 * window staged. */
struct strips {
    int64_t f, g, c;                 /* sizes of the axes f and g, and of the sum's channels, as the form counts them */
    int64_t f_unit;                  /* output channels of one f: 4 where they come by fours, else 1 */
    int64_t most_f, most_c;          /* of the knobs f_r and rc_i */
    int64_t most_window;             /* of ry_i and rx_i */
    int64_t unroll;                  /* the lower value of unroll_step; the upper one is 1500 */
    bool grouped;                    /* knobs n_v n_t n_r, g_v and fuse_yx */
    bool staged;                     /* knobs rc_i ry_i rx_i and order */
    bool splits;                     /* the knob split */
    bool ahead;                      /* the knobs dbuf_x and dbuf_w of strips_ahead.clh */
    enum dtype elem, sum;            /* in memory; of a sum */
    const struct build_split *knobs; /* NULL = those of the axes; others come with `axes`: */
    const char *const (*axes)[2];    /* n_tile .. x_tile, n_items .. x_items, f_own x_own staged_c f_unit size_f */
};

/* Constants of conv_add_constants and of the form, knobs, and the quantities that all forms have: tiles, n_items
 * f_items y_items x_items (of a group, along each axis), f_own x_own (outputs of an item), terms (of the sum, staged at
 * once), staged_rows, staged_columns. The form then adds x_staged, w_staged (elements) and local_bytes, and calls
 * strips_add_constraints. */
enum err strips_add_knobs(struct space *s, const struct strips *f, const struct conv_shape *z,
                          const struct device_desc *d, struct why *why);

/* The quantities that follow from these, and the constraints of all forms. */
enum err strips_add_constraints(struct space *s, const struct device_desc *d, struct why *why);

/* A default's words of a stage, each item's, that it holds in registers beside the sums, at most. */
#define STRIPS_MOST_AHEAD 18

/* The tile and stage of a default for GPUs, of forms with the axes of conv/strips.clh, one image and one group of
 * channels each: of what the knobs of `s` can say the one with the fewest cycles by a count of instructions, of reads
 * of shared and of global memory, and of groups side by side; ahead: an item holds few words, the next stage may wait
 * in registers. alike: of x that is sampled, so many channels at the same places; 0 where it is read as it lies. */
struct strips_tile {
    int64_t f_t, f_r, y_t, y_r, x_t, x_r, rc_i, ry_i, rx_i;
    bool ahead;
};
struct strips_tile strips_tile_of(const struct space *s, const struct conv_shape *z, const struct device_desc *d,
                                  int64_t alike);

/* Turns a form's choice into a valid config, lowering knobs in the order of `lowered` where it is not; on a GPU, sums
 * in as many parts as give its units two groups each, where the space can and parts are cheap, and the stage unrolled
 * and, where an item holds few words of it, fetched ahead as most of TVM's recorded bests. */
enum err strips_choose(const struct space *s, const struct device_desc *d, const struct build_define *choice,
                       const char *const *lowered, struct config *out);

/* strips_choose of the tile of strips_tile_of, or, where it is no GPU, of `other`; of samples dbuf_x and dbuf_w
 * are as the tile has them. */
enum err strips_fallback(const struct space *s, const struct conv_shape *z, const struct device_desc *d, int64_t alike,
                         const struct build_define *other, struct config *out);

/* Weights as strips_pack_w of the module added last makes them; gives their buffer. */
int strips_pack_weights(struct build *b, enum dtype word);

/* The last launches of a program whose space is of strips_add_knobs: `kernel` over `buffers` (ended by -1), and what it
 * writes. */
void strips_launch(struct build *b, const struct conv_shape *z, const char *kernel, const int *buffers);

#endif
