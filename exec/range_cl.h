/* SPDX-License-Identifier: MIT */
/* range_cl.h - a network one of whose dimensions has any size of a range: networks of several sizes, the buckets, of
 * which the smallest that holds a run's size computes it. Habits as of network_cl.h. */
#ifndef TUNE_EXEC_RANGE_CL_H
#define TUNE_EXEC_RANGE_CL_H

#include "exec/network_cl.h"

#include <stddef.h>
#include <stdint.h>

/* What a run is told besides the caller's tensors, as `n_axes` of an argument that is made here: floats or halves but
 * for lengths, which are whole numbers of 32 bits. Of all but the last the size is that and `more`, and so is the
 * bucket's. */
enum exec_made {
    EXEC_LENGTHS = -1, /* all are the size */
    EXEC_SEEN = -2,    /* so many times 1, then 0 */
    EXEC_LAST = -3,    /* the size less one */
    EXEC_BACK = -4,    /* from there down to 0, then 0 */
    EXEC_SHARE = -5,   /* the bucket's size by the size */
    EXEC_JOIN = -6     /* from 0 up to the size, then from the bucket's size on, then 0 */
};

/* An argument's elements: `outer` times the size and `more` times `inner` bytes; with two axes that twice. */
struct exec_axes {
    int n_axes; /* 0: it has not the dimension; below 0: enum exec_made, `outer` elements of `inner` bytes */
    size_t outer, inner, more;
};

/* A tensor of weights that is smaller than the largest bucket's: the beginning of each of its dimensions. */
struct exec_crop {
    const char *layer, *name;
    size_t n_bytes; /* of an element */
    int n_dims;
    int64_t from[8], to[8];
};

struct exec_bucket {
    size_t size;
    const struct exec_network *network;
    const struct exec_crop *crops;
    int n_crops;
};

struct exec_range {
    const char *name;                  /* of the dimension */
    size_t least;                      /* 0: what has no bytes then may be NULL */
    const struct exec_bucket *buckets; /* the smallest first */
    int n_buckets;
    const struct exec_axes *places; /* [n_arguments of a network] */
    int n_inputs;                   /* arguments from the first on that are read */
};

struct exec_range_cl;

/* As exec_net_cl_open; ops: of the plans of all buckets, whose networks have one list. */
EXEC_API enum exec_status exec_range_cl_open(cl_context context, const struct exec_range *r,
                                             struct exec_cl_op *const *ops, struct exec_words *words,
                                             struct exec_range_cl **out);
EXEC_API void exec_range_cl_close(struct exec_range_cl *range); /* accepts NULL */

/* As exec_net_cl_set, of the largest bucket's layers; the others are given what is theirs of it. */
EXEC_API enum exec_status exec_range_cl_set(struct exec_range_cl *range, cl_command_queue queue, const char *layer,
                                            const char *name, const void *data, size_t n_bytes,
                                            struct exec_words *words);

/* Enqueues the network with its dimension of a size, over buffers that are dense at that size; arguments: all but what
 * is made here. EXEC_BAD_ARGUMENT: a size out of the range, a buffer that is too small. */
EXEC_API enum exec_status exec_range_cl_run(struct exec_range_cl *range, cl_command_queue queue, size_t size,
                                            const cl_mem *arguments, struct exec_words *words);

#endif
