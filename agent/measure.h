/* SPDX-License-Identifier: MIT */
/* measure.h - in a child: times a batch of loaded programs on a device by the rules of timing.h. */
#ifndef TUNE_AGENT_MEASURE_H
#define TUNE_AGENT_MEASURE_H

#include "agent/timing.h"
#include "core/err.h"
#include "runtime/device.h"

#include <stdbool.h>

#define MEASURE_CANARY (-2)

/* One candidate (or the anchor) of a batch. loaded NULL: it failed already and takes no part. */
struct measure_item {
    const struct program *program;
    struct loaded *loaded;
    const struct blobs *blobs; /* that fills of its buffers name; NULL = the batch's */
    struct timing_rules rules;
    bool runs_again; /* the caller verifies it once more afterwards: no run is made for the outputs' sake */
    /* Filled by measure_batch: */
    enum err e; /* ERR_OK; ERR_DEVICE a run failed; ERR_WRONG the outputs changed while timing */
    struct why why;
    struct timing_series series;
    double pack_ns; /* one run of its pack launches; 0 = it has none */
    struct timing_value value;
    double call_ns;       /* of the last call; 0 = none yet */
    double spent_ns;      /* wall time of all its calls */
    double check_ns;      /* wall time of poisoning and comparing outputs, with the run that is made for it */
    struct sha256 output; /* of the first run */
    bool censored;
    int watched;        /* calls that were not timed, but compared, the last time that it was watched */
    bool first_is_slot; /* the first run, before all rounds, is what the first round has of it */
    bool poisoned;      /* the outputs were overwritten before the last slot */
    int poison_at;      /* and before this one, whatever it lasts */
};

struct measure_batch {
    const struct device_ops *ops;
    const struct blobs *blobs;
    struct measure_item *items;
    int n_items;
    struct measure_item *anchor; /* NULL = none */
    struct rng rng;
    /* Told before each slot, so that the parent's clock for it starts anew; i is an index of items, TIMING_ANCHOR or
     * MEASURE_CANARY. */
    void (*before_slot)(int i, void *arg);
    /* Time of the canary just now, in ns; 0 = it failed. Called once in each round; NULL = there is none. */
    double (*canary)(void *arg);
    void *arg;
    /* Filled by measure_batch: */
    double canary_ns[TIMING_MAX_ROUNDS];
    int n_canaries;
};

/* Prepares all items, runs the rounds, checks the outputs once more and fills series, value, censored, e and why of
 * each. A failing anchor is dropped: the candidates are then timed without one. */
void measure_batch(struct measure_batch *b);

/* Behind measure_batch, of an item that it timed, before anything else is run with it: fills and poisons all as before
 * timing and compares calls with the first of all one by one, for longer than every candidate's; e, why and watched.
 * Nothing is done with calls that are slots by themselves, which are compared each time. */
void measure_watch(struct measure_batch *b, struct measure_item *m);

/* measure_batch for a backend that answers from records: one run each, no warm-up, se 0. */
void measure_simulated(struct measure_batch *b);

#endif
