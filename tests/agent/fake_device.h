/* SPDX-License-Identifier: MIT */
/* fake_device.h - a device in the test's own process, of a struct device_ops as the real ones: it knows the programs of
 * samples.h by their sources, computes what they would, and takes the times that a test sets. */
#ifndef TUNE_TESTS_AGENT_FAKE_DEVICE_H
#define TUNE_TESTS_AGENT_FAKE_DEVICE_H

#include "runtime/device.h"
#include "samples.h"

/* What goes on in it, to be set and looked at. */
struct fake_device {
    struct device_desc desc;
    int64_t good_ns, slower_ns, canary_ns; /* of a run of sample_good (and its like), sample_slower, the canary */
    int64_t pack_ns;                       /* of phase pack */
    int64_t drift_ns;                      /* longer after each run */
    int64_t compile_ns, late_ns;           /* of load; of the first run after it, by wall time */
    unsigned known;                        /* of its sensors: 0 = they cannot be read */
    struct sense sense;                    /* power is 50 W where it is known, the counter goes up by it */
    int fails_at;                          /* this run of a program fails; 0 = none */
    bool load_fails;
    bool one_state; /* what a kernel keeps from run to run is one for all that were loaded */
    const struct loaded *lost;
    int64_t n_loads, n_unloads, n_runs, n_canary_runs, n_writes;
};

extern struct fake_device fake;
extern const struct device_ops fake_ops, fake_compiling_ops, fake_blind_ops, fake_simulated_ops;

/* All as at first: a GPU, 20 us and 40 us a run, canaries of 1 ms. */
void fake_reset(void);
int64_t fake_runs_of(const struct loaded *l); /* of phase run */

#endif
