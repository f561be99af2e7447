/* SPDX-License-Identifier: MIT */
/* network.h - networks as lists of workloads with counts (kernels/networks, embedded). */
#ifndef TUNE_KERNELS_NETWORK_H
#define TUNE_KERNELS_NETWORK_H

#include "core/buf.h"
#include "core/err.h"
#include "kernels/graph.h"

#include <stddef.h>

struct network_layer {
    const char *name;     /* first member's name, "conv3_2" */
    const char *workload; /* text; NULL when tune cannot tune this layer yet */
    const char *skipped;  /* why, when workload is NULL, e.g. "depthwise_conv2d f32 ..." */
    int count;            /* how often it stands in the network */
};

struct network {
    const char *name;
    const struct network_layer *layers;
    size_t n_layers;
};

/* All networks in alphabetical order; NULL-ended list of names; parsed on first use, never freed. */
enum err network_find(const char *name, const struct network **out, struct why *why); /* ERR_NOT_FOUND: the names */
const char *const *network_names(void);
const char *network_name_at(size_t i); /* NULL behind the last */

/* What network_layer_as takes; NULL behind the last. */
const char *network_dtype_at(size_t i);
const char *network_layout_at(size_t i);

/* Makes a list of one's own known to network_find, as `name`; lines as in kernels/networks/NAME.net. ERR_INPUT naming
 * the line. Never freed; not from several threads. */
enum err network_add(const char *name, const char *text, size_t n, struct why *why);

/* Appends the list of a graph's layers with weights, which may be none: lines that network_add reads. */
enum err network_list(const struct graph *g, struct buf *out, struct why *why);

/* Appends a layer's workload in another dtype ("f16" "i8") and layout ("nchw16c"), NULL = as listed. What cannot have
 * the dtype (no such kernel: deformable convolutions in i8) stays as it is, what cannot have the layout (the 3 channels
 * of an image) stays nchw; `note` then says so, else it is empty. ERR_INPUT: no such dtype or layout. */
enum err network_layer_as(const struct network_layer *l, const char *dtype, const char *layout, struct buf *out,
                          struct why *note);

#endif
