/* expect.h - expected outputs of a workload: fills, samples and projections that its references make; kept per
 * workload. */
#ifndef TUNE_KERNELS_EXPECT_H
#define TUNE_KERNELS_EXPECT_H

#include "core/blobs.h"
#include "kernels/workload.h"
#include "runtime/program.h"

#define EXPECT_MAX_SAMPLES 4096

/* Seeds of the fills: of x and w in the exact pass, in the random pass (also used for timing), of projection weights.
 */
enum {
    SEED_X_EXACT = 11,
    SEED_W_EXACT = 12,
    SEED_X_RANDOM = 21,
    SEED_W_RANDOM = 22,
    SEED_PROJECT = 31,
    SEED_SAMPLE = 41
};

/* What a reference computes into: arrays of the caller. */
struct expected {
    struct program_fill x_exact, w_exact, x_random, w_random;
    size_t n_samples;       /* <= EXPECT_MAX_SAMPLES, chosen by the operator */
    uint64_t *indices;      /* [n_samples] into y */
    double *exact, *random; /* [n_samples] */
    double *scale;          /* [n_samples]: sum |x||w| of the random pass */
    int64_t outer, axis, inner;
    double *project; /* [outer * inner] */
};

/* Allocates the arrays of `e` from its n_samples, outer and inner; ERR_NOMEM. expected_fini frees them. */
enum err expected_alloc(struct expected *e);
void expected_fini(struct expected *e);

/* Fills of the two passes: exact integers in [-bound, bound], and normal with standard deviation 1 (w: 1/16). */
void expected_fills(struct expected *e, double bound);

/* The largest bound <= 7 for which sums of `terms` products stay exact in f32 and projections over `axis` of them exact
 * in a double; 0 when there is none. */
double exact_bound(double terms, double axis);

/* Number of samples so that `terms` products each cost at most about 2e7 in all: 64 .. EXPECT_MAX_SAMPLES, not over
 * n_elems. */
size_t sample_count(double terms, int64_t n_elems);

/* Adds both passes for the outputs of `w` to `p`. `compute` fills an expected (which it allocates) on a miss of the
 * cache, which holds the last few workloads; safe to call from several threads. */
enum err expect_passes(const struct workload *w, double tolerance,
                       enum err (*compute)(const struct workload *w, struct expected *e), struct program *p,
                       struct blobs *blobs);

#endif
