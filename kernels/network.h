/* network.h - networks as lists of workloads with counts (kernels/networks, embedded). */
#ifndef TUNE_KERNELS_NETWORK_H
#define TUNE_KERNELS_NETWORK_H

#include "core/err.h"

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

#endif
