/* SPDX-License-Identifier: MIT */
/* timing.h - the protocol "rounds-1" without a device: what to time next, when a slot is full, and what the slots say.
 * docs/measuring.md tells why. Pure functions: no clock, no allocation, no input or output. */
#ifndef TUNE_AGENT_TIMING_H
#define TUNE_AGENT_TIMING_H

#include "core/rng.h"

#include <stdbool.h>
#include <stdint.h>

#define TIMING_PROTOCOL "rounds-1"
#define TIMING_MAX_BATCH 16 /* candidates timed together */
#define TIMING_MAX_ROUNDS 32
#define TIMING_MAX_ANCHORS ((TIMING_MAX_BATCH / 2 + 1) * TIMING_MAX_ROUNDS)
#define TIMING_ANCHOR (-1) /* the anchor's place in a plan */

/* What one trial asks for. best_ns 0 and best_lnratio NAN: nothing is known of a best yet. */
struct timing_rules {
    int rounds, rounds_near_best; /* 1..TIMING_MAX_ROUNDS */
    int min_calls;                /* of a slot */
    int warmup;                   /* untimed calls before a slot */
    double min_slot_ns;
    double best_ns, best_lnratio; /* best_lnratio includes its bridge */
    double bridge;                /* of this trial's anchor */
    bool may_censor;              /* may be given up when it is far from the best: false for finals */
};

/* One slot: the median of its calls, and the middle of its span on a common clock. */
struct timing_slot {
    double at_ns, ns;
};

struct timing_series {
    struct timing_slot slots[TIMING_MAX_ANCHORS];
    int n;
    int64_t calls;
};

struct timing_value {
    double time_ns; /* median of the slots */
    double lnratio; /* median of ln(slot) - ln(anchor there); NAN without an anchor */
    double se;      /* 1.25 * 1.48 * MAD / sqrt(slots) of what the line above (else of ln slot) is the median of */
};

/* Median of n >= 1 values; sorts them. */
double timing_median(double *values, int n);

/* One round: a fresh permutation of live[n_live], an anchor before every second candidate and at the end when
 * `anchored`. Writes at most 2 * n_live + 1 entries, returns how many. */
int timing_plan(struct rng *rng, const int *live, int n_live, bool anchored, int *plan);

/* Does a slot want its untimed calls first? Not when a call is known to last longer than twice the slot. 0 = not known.
 */
bool timing_wants_warmup(const struct timing_rules *r, double call_ns);

/* Is a slot full? min_calls and min_slot_ns are reached; or twice min_slot_ns is, whatever the number of calls. */
bool timing_slot_full(const struct timing_rules *r, int calls, double sum_ns);

/* Adds a slot of `n` calls (sorts them); a full series drops it. */
void timing_add(struct timing_series *s, double at_ns, double *calls_ns, int n);

/* ln of the anchor's time at `at_ns`: linear between its neighbours in time, the nearest outside. anchors->n >= 1. */
double timing_anchor_ln(const struct timing_series *anchors, double at_ns);

/* The two slots that lie round `at_ns`, the nearest twice outside: what timing_anchor_ln takes. anchors->n >= 1. */
void timing_anchor_slots(const struct timing_series *anchors, double at_ns, struct timing_slot out[2]);

/* What the slots of a candidate say (n >= 1); anchors may be NULL or empty. */
void timing_estimate(const struct timing_series *s, const struct timing_series *anchors, struct timing_value *out);

/* ln(candidate / best so far) on the finest scale both have; `batch_best`: the batch's fastest, or NULL. NAN when
 * no best is known. */
double timing_gap(const struct timing_rules *r, const struct timing_value *v, const struct timing_value *batch_best);

/* The first call of a candidate: over five times the best, so one sample says enough. Never when !may_censor. */
bool timing_hopeless(const struct timing_rules *r, double first_call_ns);

/* After round 1: over three times the best. Never when !may_censor. */
bool timing_censored(const struct timing_rules *r, double gap);

/* Rounds a candidate deserves: more within 10 % of the best, or where no best is known. */
int timing_rounds_wanted(const struct timing_rules *r, double gap);

#endif
