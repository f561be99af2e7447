/* SPDX-License-Identifier: MIT */
/* plan.h - the geometry of one config of sparse_conv2d/generated: where inputs,
 * sums and outputs lie, how the nonzeros are cut into blocks of straight-line
 * code, and blocks into kernels. */
#ifndef TUNE_KERNELS_SPARSE_CONV2D_PLAN_H
#define TUNE_KERNELS_SPARSE_CONV2D_PLAN_H

#include "core/buf.h"
#include "core/err.h"
#include "kernels/build.h"
#include "kernels/sparse_conv2d/sparse.h"

#include <stdbool.h>
#include <stdint.h>

enum sparse_layout { SPARSE_NCHW, SPARSE_CHWN };
enum {
    SPARSE_CAP_ALL = 1 << 24,
    SPARSE_COPY_GROUP = 256 /* work-items of a copy's group on a GPU */,
    SPARSE_SQUARE_BYTES = 32 * 33 * 4 /* of local memory where it exchanges axes */
};

/* Input element (n, c, row, column) of the padded copy, its rows and columns
 * dealt out by stride (row h is row h / sh of phase h % sh), lies at n * n_step
 * + c * c_step + (phase_h * sw + phase_w) * phase_step + row * row_step +
 * column * column_step. Output (n, k, p, q) is written at n * n_step + k *
 * k_step + p * p_step + q * q_step. */
struct sparse_input {
    bool copied; /* else x itself is read */
    int64_t n_step, c_step, phase_step, row_step, column_step, rows, columns, n_elems;
};
struct sparse_output {
    bool copied; /* else y itself is written, with the epilogue */
    int64_t n_step, k_step, p_step, q_step, n_elems;
};

/* The code of channels [k0, k1) over input channels [c0, c1) of every group. A kernel's units of the same channels are
 * a branch: where a kernel is spread, groups of the grid run a branch each. */
struct sparse_unit {
    int64_t k0, k1, c0, c1, i_kernel, i_branch, i_module;
};

struct sparse_plan {
    struct conv_shape z;
    enum sparse_layout layout;
    bool flat, staged, constants, by_rows;
    bool gpu, spread, n_first; /* gpu: work-items are lanes, constants are read from their array; n_first: images lie
                                  along the first axis of groups and grid */
    int64_t vec, k_t, x_r, y_r, n_r, wg_x, wg_y, wg_n, c_blk, strip, cap, sched;
    int64_t wide, n, p, q;             /* outputs of a tile along the lanes' axis; extents of
                                          the tiled axes */
    int64_t tiles_x, tiles_y, tiles_n; /* of one channel */
    int64_t groups_k, blocks_c, tile;  /* groups of channels, blocks of input
                                          channels, outputs of a tile / vec */
    struct sparse_input x;
    struct sparse_output y;
    int64_t stage_row, stage_phase, stage_channel, stage_image; /* steps of the inputs in local memory */
    int64_t stage_rows, stage_columns, stage_elems;
    struct sparse_list list;
    struct sparse_unit *units; /* in the order they run */
    int64_t n_units, n_kernels, n_modules, n_fmas;
};

/* ERR_NOMEM; ERR_LIMIT where a kernel would be longer than unroll_cap on a GPU. sparse_plan_fini frees; accepts a
 * zeroed plan. */
enum err sparse_plan_make(const struct build *b, struct sparse_plan *out);
void sparse_plan_fini(struct sparse_plan *p);

/* Adds to a space with the knobs and quantities of sparse_conv2d/generated: oi (FLOP a byte loaded), product_bytes (of
 * code) and predicted_flops (the predicted time, in FLOPs at the device's peak). */
enum err sparse_roofline(const struct device_desc *d, double density, struct space *s, struct why *why);

/* The geometry alone, from the shape and the knobs that are set in `p` already. */
void sparse_plan_lay(struct sparse_plan *p);

/* Defines of sparse_conv2d/copy.clh. */
void sparse_define_copy(struct build *b, const struct sparse_plan *p);

/* Launches sparse_copy_x from x to xp, where the plan has a copy. */
void sparse_add_copy(struct build *b, const struct sparse_plan *p, int x, int xp);

/* Groups and work-items of a copy of all images of `channels` channels. */
void sparse_copy_grid(const struct sparse_plan *p, int64_t channels, int64_t images, int64_t grid[3], int64_t block[3]);

/* Nonzeros of list row k that lie in input channels [c0, c1) of k's group:
 * *first .. the number returned. */
int64_t sparse_rows_part(const struct sparse_plan *p, int64_t k, int64_t c0, int64_t c1, int64_t *first);

/* Elements from a tile's first input (in the copy, or staged in local memory: c from the block's first channel) to that
 * of tap (c, r, s). */
int64_t sparse_tap_offset(const struct sparse_plan *p, int64_t c, int64_t r, int64_t s);

/* Nonzeros of the output channel that has most of them in one block of `c_blk` input channels: no unit is shorter. */
int64_t sparse_most_of_channel(const struct conv_shape *z, const struct sparse_list *l, int64_t c_blk);

/* Branches of a kernel; its module. */
int64_t sparse_branches(const struct sparse_plan *p, int64_t i_kernel);
int64_t sparse_module(const struct sparse_plan *p, int64_t i_kernel);

/* Appends the text of the kernels of one module, behind the text of
 * sparse_conv2d/generated.cl. */
enum err sparse_text(const struct sparse_plan *p, int64_t i_module, struct buf *out);

#endif
