/* SPDX-License-Identifier: MIT */
/* verify.h - does a loaded program compute what its passes say? */
#ifndef TUNE_RUNTIME_VERIFY_H
#define TUNE_RUNTIME_VERIFY_H

#include "runtime/device.h"

/* The worst element found: its place and both values, for a person. */
struct verify_report {
    char pass[16];
    char buffer[PROGRAM_ID_BYTES];
    int64_t i_elem; /* -1: nothing to tell */
    double got, wanted;
    double worst; /* largest |got - wanted| / scale over all checks */
    int64_t n_compared, n_wrong;
    int64_t run_ns; /* wall time of the last pass's launches: the first pass's holds what the driver compiles late */
};

/* Runs one pass of a device that is not simulated: fills, pack + reference + run, checks. What the program has to
 * write, the bands round its buffers and local memory hold NaN before even passes, POISON_HIGH before odd ones; an
 * output with an element left as it was, or that is NaN, is wrong. */
enum err verify_pass(const struct device_ops *ops, struct loaded *l, const struct program *p, const struct blobs *blobs,
                     size_t i_pass, struct verify_report *report, struct why *why);

/* Runs every pass, one after another. ERR_WRONG with words naming element and values; ERR_DEVICE as the device says.
 * Afterwards the buffers hold the timing fills again and `pack` has run on them. */
enum err verify_program(const struct device_ops *ops, struct loaded *l, const struct program *p,
                        const struct blobs *blobs, struct verify_report *report, struct why *why);

/* Fills the buffers for timing and runs the pack phase. */
enum err verify_prepare_timing(const struct device_ops *ops, struct loaded *l, const struct program *p,
                               const struct blobs *blobs, struct why *why);

/* Overwrites the outputs, but those that are filled anew before each run. */
enum err verify_poison_outputs(const struct device_ops *ops, struct loaded *l, const struct program *p,
                               enum poison poison, struct why *why);

/* Compares the outputs of a run on the timing fills, which began with NaN in them, with the passes that fill the same.
 * ERR_WRONG with words. */
enum err verify_timed(const struct device_ops *ops, struct loaded *l, const struct program *p,
                      const struct blobs *blobs, struct why *why);

/* A hash of the output buffers as they are now: equal before and after timing means that the kernel still writes the
 * same. */
enum err verify_output_hash(const struct device_ops *ops, struct loaded *l, const struct program *p, struct sha256 *out,
                            struct why *why);

#endif
