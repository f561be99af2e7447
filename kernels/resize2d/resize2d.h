/* SPDX-License-Identifier: MIT */
/* resize2d.h - this operator and its templates. */
#ifndef TUNE_KERNELS_RESIZE2D_RESIZE2D_H
#define TUNE_KERNELS_RESIZE2D_RESIZE2D_H

#include "core/err.h"
#include "kernels/glue/glue.h"
#include "kernels/template.h"

#include <stdbool.h>
#include <stdint.h>

/* An axis of `n` elements from which `size` are made: number i lies at (i * step + first) / unit, at the nearest end
 * where that is outside. */
struct resize_axis {
    int64_t n, size, step, first, unit;
};

struct resize_shape {
    int64_t n, c, lanes;
    struct resize_axis rows, cols;
    bool is_linear; /* else the element in front of the place */
};

struct resize_shape resize2d_shape(const struct workload *w);

/* The columns of `period` outputs next to each other lie as those of the next ones do, `advance` elements on; step is
 * above 0. */
struct resize_period {
    int64_t period, advance;
};
struct resize_period resize2d_period(const struct resize_axis *a);

/* Constants of a template's space: planes (of blocks of channels), lanes_n, size_p, size_q, elem_bytes, and those of
 * the device. */
enum err resize2d_space(const struct workload *w, const struct device_desc *d, const struct build_knob *knobs,
                        const char *const (*quantities)[2], const char *const *constraints, struct space *s,
                        struct why *why);

/* Defines of resize2d/resize2d.clh. */
void resize2d_define(struct build *b);

/* template->numerics: elements that are taken are exact; means where weights are quotients by powers of two. */
void resize2d_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout);

extern const struct operator_desc operator_resize2d;
extern const struct template resize2d_rows, resize2d_pixels, resize2d_naive;

#endif
