/* SPDX-License-Identifier: MIT */
/* verify.h - does a loaded program compute what its passes say? */
#ifndef TUNE_RUNTIME_VERIFY_H
#define TUNE_RUNTIME_VERIFY_H

#include "core/err.h"
#include "runtime/device.h"

#include <stddef.h>
#include <stdint.h>

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

/* The order in which a program is verified, on farms (agent/child.c, then in another process child_time.c) and in
 * tests: before timing the passes of verify_before; then what is timed, in buffers that hold its own data; behind it
 * the passes of verify_behind, over all that was left. Of a sheet's passes the first is before timing, all others
 * behind it; without one all of the program's own are before, and behind it is one of them again, on other data. */

size_t verify_n_before(const struct program *p);
size_t verify_n_behind(const struct program *p);

/* Of those behind timing how many are not for what may be chosen alone: they come first. */
size_t verify_n_for_all(const struct program *p);

/* The i-th pass before timing, on a device that is not simulated: fills, pack + reference + run, checks. What the
 * program has to write, the bands round its buffers and local memory hold NaN before even passes, POISON_HIGH before
 * odd ones; an output with an element left as it was, or that is NaN, is wrong; so is an input or weight that was
 * changed. */
enum err verify_before(const struct device_ops *ops, struct loaded *l, const struct program *p,
                       const struct blobs *blobs, size_t i, struct verify_report *report, struct why *why);

/* The i-th behind it: the same, but outputs, scratch and packed weights still hold what the runs before left there:
 * results of other inputs, which a kernel that finds them done already would keep. The bands and local memory hold
 * POISON_HIGH; a sheet's last passes leave local memory as it was, too. Of a program's own: the last one on other data
 * than timing's; or one that has references, with other seeds. */
enum err verify_behind(const struct device_ops *ops, struct loaded *l, const struct program *p,
                       const struct blobs *blobs, size_t i, struct verify_report *report, struct why *why);

/* Everything in that order, with a single call in the place of those that are timed. ERR_WRONG with words naming
 * element and values; ERR_DEVICE as the device says. Afterwards the buffers hold the timing fills again and `pack` has
 * run on them. */
enum err verify_program(const struct device_ops *ops, struct loaded *l, const struct program *p,
                        const struct blobs *blobs, struct verify_report *report, struct why *why);

/* Fills the buffers and the bands round them for timing and runs the pack phase. */
enum err verify_prepare_timing(const struct device_ops *ops, struct loaded *l, const struct program *p,
                               const struct blobs *blobs, struct why *why);

/* Overwrites the outputs, but those that are filled anew before each run. */
enum err verify_poison_outputs(const struct device_ops *ops, struct loaded *l, const struct program *p,
                               enum poison poison, struct why *why);

/* Puts each element of the outputs, but of those that are filled anew before each run, a little off what it is: by
 * about 2^-8 of it, up or down, whole numbers by 1, and further off each time. A kernel that leaves what is nearly
 * right, or larger, is found by the outputs' hash. */
enum err verify_nudge_outputs(const struct device_ops *ops, struct loaded *l, const struct program *p, struct why *why);

/* Compares the outputs of a run on the timing fills, which began with POISON_HIGH in them, with the passes that fill
 * the same. ERR_WRONG with words. */
enum err verify_timed(const struct device_ops *ops, struct loaded *l, const struct program *p,
                      const struct blobs *blobs, struct why *why);

/* After runs on the timing fills: bands round buffers, inputs and weights are as they were before. ERR_WRONG with
 * words. */
enum err verify_kept(const struct device_ops *ops, struct loaded *l, const struct program *p, const struct blobs *blobs,
                     struct why *why);

/* A hash of the output buffers as they are now: equal before and after timing means that the kernel still writes the
 * same. */
enum err verify_output_hash(const struct device_ops *ops, struct loaded *l, const struct program *p, struct sha256 *out,
                            struct why *why);

#endif
