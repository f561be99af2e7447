/* SPDX-License-Identifier: MIT */
/* wgmma.h - products by warpgroups, sm_90 only: dense/wgmma and batch_gemm/wgmma (wgmma.cl), and what other templates
 * of wgmma_tiles.clh share with them. */
#ifndef TUNE_KERNELS_GEMM_WGMMA_H
#define TUNE_KERNELS_GEMM_WGMMA_H

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/template.h"

#include <stdint.h>

extern const struct template dense_wgmma, batch_gemm_wgmma;

/* b products of `rows` by `outputs`, summed over k_bytes in `steps` of 128 bytes. */
struct wgmma_shape {
    int64_t b, rows, outputs, k_bytes, steps, elem_bytes;
};

/* How rows are cut into tiles: the caller's knobs; quantities m_tiles, and mt where it is no knob; constraints. */
struct wgmma_tiles {
    const struct build_knob *knobs;
    const char *const (*quantities)[2];
    const char *const *constraints;
};

/* These, then the knobs nt wgs stages cluster band gather turns, with what they mean. */
enum err wgmma_space(const struct wgmma_shape *z, const struct wgmma_tiles *tiles, const struct device_desc *d,
                     struct space *s, struct why *why);

struct wgmma_tile {
    int64_t m, n, wgs;
};

/* The first, largest, that gives half of the multiprocessors a tile; else the last. */
struct wgmma_tile wgmma_tile_for(int64_t b, int64_t rows, int64_t outputs, const struct device_desc *d);

/* The default of the shared knobs for a tile; mt and m_tiles are chosen already. */
enum err wgmma_choose(const struct wgmma_tile *t, int64_t m_tiles, int64_t outputs, int64_t elem_bytes,
                      const struct space *s, struct config *inout);

/* The last launch of the module added last: x in buffer 0, the rows of w in buffer `w`. */
void wgmma_launch(struct build *b, int w, int64_t outputs);

#endif
