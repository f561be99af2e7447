/* SPDX-License-Identifier: MIT */
/* network_ref.h - small networks computed from their definition, for tests: one tensor after another, nchw, in double;
 * networks of bytes in integers. */
#ifndef TUNE_TESTS_NETWORK_REF_H
#define TUNE_TESTS_NETWORK_REF_H

#include "kernels/graph.h"
#include "runtime/dtype.h"

/* The weights of a layer by name ("conv2", "w"), as doubles: lends n values. */
typedef const double *ref_weights(const char *layer, const char *tensor, int64_t n, void *arg);

/* arguments: values of each input in the order of the nodes, then room for each output, in double. Every other tensor
 * is rounded to the dtype that it has in memory. Images are one at a time. */
void ref_network(const struct graph *g, enum dtype t, double *const *arguments, ref_weights *weights, void *arg);

#endif
