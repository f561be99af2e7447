/* SPDX-License-Identifier: MIT */
/* graph_range.h - a network one of whose dimensions has any size of a range: graphs of the same model at some sizes,
 * the buckets, each of which computes smaller sizes too, with anything behind what is there.
 *
 * That is exact where nothing that is there reads what is behind it. An operator's rule (graph_range.c) says where the
 * dimension lies in what it gives, or that it mixes what lies along it, which is refused, or that it is exact once the
 * graph reads how many places there are (graph_mend.h). */
#ifndef TUNE_KERNELS_GRAPH_RANGE_H
#define TUNE_KERNELS_GRAPH_RANGE_H

#include "core/err.h"
#include "kernels/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGE_MAX_BUCKETS 16
#define RANGE_NAME_BYTES 64

/* The dimension in a dense tensor: the elements are `outer` times its places times `inner`, row-major; it has `more`
 * places than the size, as keys have behind a cache. Attention's masks may have it twice. */
struct range_axis {
    int64_t outer, inner, more;
};
struct range_place {
    int n; /* 0: the tensor does not have it */
    struct range_axis axis[2];
};

/* What a run is told besides the caller's tensors, each a node of the graphs behind their inputs. */
enum range_made {
    RANGE_GIVEN,   /* nothing: the caller gives it */
    RANGE_LENGTHS, /* how many places there are, whole numbers; of each of attention's batch */
    RANGE_SEEN,    /* of each place: 1, and 0 behind what is there */
    RANGE_LAST,    /* the number of the last place */
    RANGE_BACK,    /* of each place the one that is as far from the last; behind what is there 0 */
    RANGE_SHARE,   /* the bucket's size by how many there are */
    RANGE_JOIN,    /* of each place where it is behind a bucket's cache: places of the cache, then those that are new */
    N_RANGE_MADE
};

/* The graph at one size. */
struct range_bucket {
    int64_t size;
    struct graph graph;
    struct range_place *places; /* [graph.n_nodes] */
    int made[N_RANGE_MADE];     /* nodes; 0: there is none */
    int64_t more[N_RANGE_MADE]; /* places than the size */
};

/* Buckets by size, the smallest first; they have the same nodes, and as many arguments. */
struct graph_range {
    char name[RANGE_NAME_BYTES], model[RANGE_NAME_BYTES]; /* of the dimension; of the graphs */
    int64_t least, most;                                  /* both are sizes that it may have */
    struct range_bucket buckets[RANGE_MAX_BUCKETS];
    size_t n_buckets;
};

/* Appends a bucket: `g` is the model's graph at `size`, `other` at another size, from whose difference it is seen where
 * the dimension is; sizes from r->least on are to be exact. ERR_UNSUPPORTED: what mixes along the dimension, or differs
 * in another way, by its name; ERR_INPUT: no input has the dimension; ERR_LIMIT, ERR_NOMEM. */
enum err graph_range_add(struct graph_range *r, const struct graph *g, int64_t size, const struct graph *other,
                         int64_t other_size, struct why *why);
void graph_range_fini(struct graph_range *r);

/* The place in argument i of a bucket's network, inputs and what is made, then outputs. */
const struct range_place *graph_range_argument(const struct range_bucket *b, size_t i, enum range_made *made);

/* Sizes to measure between least, which may be 0, and most, the smallest first: halves of the largest, to 2 at the
 * least. */
size_t graph_range_sizes(int64_t least, int64_t most, int64_t sizes[RANGE_MAX_BUCKETS]);

/* Chooses at most `most` of n buckets, the largest among them, so that the mean over all lengths from `least` on of the
 * time of the smallest chosen one that holds it, by the time that a bucket of just that length would take (between two
 * times a straight line), is the least. `chosen`: [n]; that mean. */
double graph_range_choose(const int64_t *sizes, const double *time_ns, size_t n, int64_t least, size_t most,
                          bool *chosen);

#endif
