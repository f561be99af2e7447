/* SPDX-License-Identifier: MIT */
/* network_ref.h - small networks computed from their definition, for tests: one tensor after another, nchw, in double;
 * networks of bytes in integers. */
#ifndef TUNE_TESTS_NETWORK_REF_H
#define TUNE_TESTS_NETWORK_REF_H

#include "kernels/graph.h"
#include "runtime/dtype.h"

/* The weights of a layer by name ("conv2", "w"), as doubles: lends n values. */
typedef const double *ref_weights(const char *layer, const char *tensor, int64_t n, void *arg);

/* x: [c][h][w] of the input; y: the last tensor, in double. Every other tensor is rounded to the dtype that it has in
 * memory. */
void ref_network(const struct graph *g, enum dtype t, const double *x, ref_weights *weights, void *arg, double *y);

#endif
