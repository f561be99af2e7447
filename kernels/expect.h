/* SPDX-License-Identifier: MIT */
/* expect.h - expected outputs of a workload: fills, samples and projections that its reference makes; kept per
 * workload. */
#ifndef TUNE_KERNELS_EXPECT_H
#define TUNE_KERNELS_EXPECT_H

#include "core/blobs.h"
#include "core/buf.h"
#include "core/err.h"
#include "kernels/operator.h"
#include "kernels/template.h"
#include "kernels/workload.h"
#include "runtime/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPECT_MAX_SAMPLES 4096
#define EXPECT_MAX_OUTPUTS 4
#define EXPECT_MAX_VALUES ((int64_t)1 << 23) /* of a list: 64 MiB, the largest blob; where it is longer samples do */
#define EXPECT_GRADIENT_UNIT 262144.0        /* of tolerances where gradients are 2^20 times as large as usual */
#define EXPECT_RELU_UNIT 8388608.0           /* by which all of a recurrent ReLU layer is larger in the wide pass */

/* Seeds of the fills of the exact pass; the random pass (also used for timing) has SEED_RANDOM more. */
enum {
    SEED_X = 11,
    SEED_W = 12,
    SEED_BIAS = 13,
    SEED_RESIDUAL = 14,
    SEED_SCALE = 15,
    SEED_OFFSET = 16,
    SEED_ZERO = 17,
    SEED_SUM_SCALE = 18,
    SEED_RANDOM = 10,
    SEED_PROJECT = 31,
    SEED_SAMPLE = 41
};

/* On which data. PROGRAM: the seeds above, part of every program, normal and timed. WIDE: seeds of a run's own; the
 * random pass has magnitudes far apart, ties, zeros, and integers at their bounds. FOLDED: the random pass alone, for
 * arithmetic that is exact on no data: inputs whose columns repeat a few, so that every element of an output is
 * compared. TURNED: the exact pass of WIDE with the other sign, so that each output behind a ReLU is above 0 in one of
 * both, floats smaller by a power of two, zero points at their ends; it has no random one. ENDS: zero points at the
 * other ends, scales and addends far from the usual; the exact pass alone; of softmax, reduce,
 * norm and pool2d the random one: sums of equal numbers, rows with one that is far from the others, variances of about
 * epsilon. IN_F32: WIDE for
 * f16 with sums in f32, which a sum in f16 is far from. For what may be chosen (kernels/expect_like.h): LIKE, exact
 * data that look like others; MOVED, the same with its rows mirrored; SPECIAL, random ones at places of their own. */
enum expect_mode {
    EXPECT_PROGRAM,
    EXPECT_WIDE,
    EXPECT_FOLDED,
    EXPECT_TURNED,
    EXPECT_ENDS,
    EXPECT_IN_F32,
    EXPECT_LIKE,
    EXPECT_MOVED,
    EXPECT_SPECIAL
};

/* What is expected of one output tensor. */
struct expected_output {
    const char *tensor; /* "y" */
    size_t n_samples;   /* chosen by the reference */
    uint64_t *indices;  /* [n_samples] into the tensor as stored */
    double *exact;      /* [n_samples] */
    size_t n_random;    /* 0: the same samples; where it is folded all elements of the columns that differ */
    double *random;     /* [n_random] */
    double *scale;      /* [n_random]: sum |x||w| of the random pass (1 = absolute tolerance) */
    /* The tensor seen as [outer][axis][inner][lanes], projected over axis and lanes; outer = 0: no projection,
     * which expected_alloc makes of more than EXPECT_MAX_VALUES sums. */
    int64_t outer, axis, inner, lanes;
    double *project;          /* [outer * inner] of the exact pass */
    struct program_fold fold; /* of the random pass; of = 0: not folded */
};

/* What a reference computes. Begins with the operator's tensors and has_exact = (data != EXACT_NONE); the reference may
 * change fills, gives outputs and their sizes, then calls expected_alloc and computes. */
struct expected {
    struct tensor tensors[OPERATOR_MAX_TENSORS]; /* with the fills of both passes */
    size_t n_tensors;
    bool has_exact;
    enum expect_mode mode; /* FOLDED: a reference that cannot gives no outputs */
    uint64_t seed;         /* of which samples, and of the fills; PROGRAM: 0 */
    bool no_sums;          /* of the exact pass: outputs are compared one by one, no projection is kept */
    bool all;              /* of the random pass all outputs, where that is cheap */
    struct expected_output outputs[EXPECT_MAX_OUTPUTS];
    size_t n_outputs;
};

/* The operator's tensors into an empty `e`, with the fills of the mode; expected_begin, for tests: as programs have
 * them. */
void expected_begin(const struct workload *w, enum exact_data data, struct expected *e);
void expected_begin_for(const struct workload *w, enum exact_data data, enum expect_mode mode, uint64_t seed,
                        struct expected *e);

/* The tensor of this name; NULL when the workload has none. Lent. */
struct tensor *expected_tensor(struct expected *e, const char *name);

/* A tensor's data of one pass on the host: f32 holds f16, int8 and f32 values exactly. free() it. NULL on lack of
 * memory. Weights of kind blob: from `blobs`. */
float *expected_data(const struct tensor *t, bool exact, const struct blobs *blobs);

/* Allocates the arrays of all outputs from their sizes; ERR_NOMEM. expected_fini frees them. */
enum err expected_alloc(struct expected *e);
void expected_fini(struct expected *e);

/* Gives a tensor its fills. Floats: integers in [-bound, bound], and normal with standard deviation `sd`; integer
 * types: [-bound, bound] in both passes. */
void tensor_fills(struct tensor *t, uint64_t seed, double bound, double sd);

/* Bytes of all values, signed or not. */
void byte_fills(struct tensor *t, uint64_t seed);

/* Fills of the factors x and w of sums of `terms` products, projected over `axis` of them: f32 in exact integers up to
 * 7, f16 in -1..1, i8 over all its values; normal x (deviation 1) and w (1/16). */
void product_fills(struct tensor *x, struct tensor *w, double terms, double axis);

/* The same for the exact pass of Winograd's transforms; EXACT_PLAIN changes nothing. */
void winograd_fills(enum exact_data data, struct tensor *x, struct tensor *w);

/* The largest bound <= 7 for which sums of `terms` products stay exact in f32 and projections over `axis` of them exact
 * in a double; 0 when there is none. */
double exact_bound(double terms, double axis);

/* The columns of a folded tensor [rows][cols][inner]: at most 8 and no more than cols, so many that `flops` for each
 * are at most 1e9 and `elems` of each, of all outputs, at most 2^18, but two at the least; none (of = 0) where two have
 * more than EXPECT_MAX_VALUES. */
struct program_fold expected_fold(const struct expected *e, int64_t inner, int64_t cols, double flops, double elems);

/* Are all outputs of the random pass to be compared, where that is cheap or they can be folded? */
bool expected_in_full(const struct expected *e);

/* Of y[rows][cols][inner] all elements of the columns that differ are of the random pass. */
void expected_folded(struct expected_output *o, const struct program_fold *fold, int64_t rows);

/* All n elements are. */
void expected_all(struct expected_output *o, int64_t n);

/* Which element the i-th of the random pass is; after expected_alloc. */
uint64_t expected_random_at(const struct expected_output *o, size_t i);

/* Which element to sample: the i-th random number of the expected outputs' seed. */
uint64_t expected_pick(const struct expected *e, uint64_t i);

/* Number of samples so that `terms` products each cost at most about 2e7 in all: 64 .. EXPECT_MAX_SAMPLES, not over
 * n_elems. */
size_t sample_count(double terms, int64_t n_elems);

/* Who waits while expected values are computed. `go_on` is called every tenth of a second on the thread that asked,
 * with the workload and the time since the computation began; false gives it up. */
struct expect_watch {
    bool (*go_on)(const struct workload *w, double waited_s, void *arg); /* NULL: nobody looks, nothing is given up */
    void *arg;
};

/* Sets who waits from now on, gives who waited before. A process has one; call it where no expect_passes runs. */
struct expect_watch expect_set_watch(struct expect_watch next);

/* Adds both passes for the outputs of `w` to `p`, whose buffers carry the tensors' names. The cache holds the last few
 * workloads; safe to call from several threads. ERR_CANCELLED: the watch gave up; what was begun ends unseen on a
 * thread of its own. ERR_NOMEM, ERR_LIMIT. */
enum err expect_passes(const struct workload *w, const struct numerics *numerics, struct program *p,
                       struct blobs *blobs);

/* The passes that a run with this seed (1 .. 2^53 - 1) is verified with, as a sheet (runtime/program.h) that fits all
 * programs of the workload and this class of arithmetic: exact, wide, and where they tell more turned and ends; or
 * folded and wide. Its blobs go to `blobs`. Errors as of expect_passes. */
enum err expect_sheet(const struct workload *w, const struct numerics *numerics, uint64_t seed, struct buf *out,
                      struct blobs *blobs);

/* Puts into the cache what expect_passes and, with a seed (0 = none), expect_sheet will want for programs of these n
 * classes of arithmetic, several at a time where the machine has CPUs for it; else does nothing. What fails is told by
 * them. */
void expect_ahead(const struct workload *w, const struct numerics *numerics, size_t n, uint64_t seed);

#endif
