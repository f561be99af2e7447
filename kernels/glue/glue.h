/* SPDX-License-Identifier: MIT */
/* glue.h - what the operators between layers share (pool2d, add, softmax, transform): expected values, one by one. */
#ifndef TUNE_KERNELS_GLUE_GLUE_H
#define TUNE_KERNELS_GLUE_GLUE_H

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/expect.h"
#include "kernels/images.h"

#include <stdbool.h>
#include <stdint.h>

#define GLUE_MAX_TENSORS 4

/* Data of inputs and weights: [1] of the exact pass (NULL where there is none), [0] of the random one. */
struct glue_data {
    float *of[2][GLUE_MAX_TENSORS];
};

/* The tensors of these names (NULL: none at this place; one that the workload lacks has no data). ERR_NOMEM.
 * glue_data_fini frees it. */
enum err glue_data_make(struct expected *e, const char *const names[GLUE_MAX_TENSORS], struct glue_data *out);
void glue_data_fini(struct glue_data *d);

/* Element `index` of y as stored, before its conversion to y's type; `scale`: of its tolerance. `is_exact`: of which
 * pass. */
typedef double glue_element(const void *arg, bool is_exact, int64_t index, double *scale);

/* Gives the output "y": samples of both passes, corners first, and where there is an exact pass the projection over
 * channels. `terms`: operations of one element. ERR_NOMEM. */
enum err glue_expect(const struct images *y, double terms, glue_element *element, const void *arg, struct expected *e);

#endif
