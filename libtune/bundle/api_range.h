/* SPDX-License-Identifier: MIT */
/* Where the dimension is in an argument: its elements are `outer` times the size and `more` (twice of two axes) times
 * `inner` bytes, row-major. */
struct NAME_place {
    int n_axes; /* 0: it has not the dimension */
    size_t outer, inner, more;
};

/* A size that kernels were chosen for, and the sum of its steps' times; a run takes the smallest that holds its size.
 */
struct NAME_bucket {
    size_t size;
    double time_ns;
};

extern const struct NAME_place NAME_places[CAPS_N_ARGUMENTS];
extern const struct NAME_bucket NAME_buckets[CAPS_N_BUCKETS]; /* the smallest first */

/* Bytes of argument i when the dimension has that size, in NAME_arguments the largest; 0: no such argument or size, or
 * there is nothing in it, and it may be no buffer. */
size_t NAME_argument_bytes(int i, size_t size);

/* Enqueues the whole network on an in-order queue and does not wait; its dimension has this size, from CAPS_LEAST to
 * CAPS_MOST. Arguments are device buffers of as many bytes as NAME_argument_bytes says, dense at that size, in the
 * order of NAME_arguments; outputs may be read in between. CAPS_NOT_PACKED names a layer whose weights are missing;
 * CAPS_BAD_ARGUMENT: a size out of the range, or a buffer that is too small. NAME_run takes them one by one. */
int NAME_run_list(NAME_queue queue, size_t size, const NAME_buffer *arguments);
