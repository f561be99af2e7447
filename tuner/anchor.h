/* SPDX-License-Identifier: MIT */
/* anchor.h - the frozen program that candidates of one workload are timed against, its epochs and their bridges. */
#ifndef TUNE_TUNER_ANCHOR_H
#define TUNE_TUNER_ANCHOR_H

#include "logs/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANCHOR_RATIO 4.0 /* a best config this much faster opens a new epoch */
#define ANCHOR_BRIDGE_ROUNDS 25
#define ANCHOR_MAX_EPOCHS 16 /* that one session opens: 4^16 is more than any search gains */

/* A program of the chain of anchors, and ln(its time / the first one's). */
struct anchor_link {
    struct sha256 hash;
    double bridge;
};

/* Values of a task are ln(time) on the scale of the first anchor: ln(t0) + bridge + lnratio. With another objective
 * than time they are record_cost of that, and anchors have no epochs. */
struct anchor {
    struct sha256 hash; /* program; hex "" = none yet: trials are timed alone */
    int64_t epoch;
    double bridge;                                /* ln(this anchor / first anchor); 0 for the first */
    double ln_t0;                                 /* ln ns of the first anchor when it was chosen */
    struct anchor_link former[ANCHOR_MAX_EPOCHS]; /* of epochs before: records of theirs may still come */
    size_t n_former;
    struct sha256 next;    /* a successor whose bridge is being measured; hex "" = none */
    struct sha256 refused; /* one whose bridge could not be measured: not tried again */
};

/* Freezes the first anchor. */
void anchor_first(struct anchor *a, const struct sha256 *hash, double time_ns);

/* Adds an anchor of an earlier epoch and how it stands to the first; nothing when it is there or the chain is full. */
void anchor_link(struct anchor *a, const struct sha256 *hash, double bridge);

/* Is the program an anchor of this chain? */
bool anchor_has(const struct anchor *a, const struct sha256 *hash);

/* The value of a record on the task's scale, NAN unless it is ok: by its ratio where it was timed against an anchor of
 * this chain, else (alone, or against the anchor of another job) by ln(time). */
double anchor_value(const struct anchor *a, const struct record *r);

/* True when `value` (of the program `hash`) is so far below the anchor's own that a new epoch should open. Never for a
 * program of the chain. */
bool anchor_wants_epoch(const struct anchor *a, double value, const struct sha256 *hash);

/* A bridge trial to the program `hash` was sent. */
void anchor_await_bridge(struct anchor *a, const struct sha256 *hash);

/* Takes the record of that trial (purpose redo, timed against the present anchor), or one that says that it was lost:
 * opens the epoch, or notes the refusal. */
void anchor_bridge(struct anchor *a, const struct record *r);

/* A best value in terms of the present anchor: what a trial's best_lnratio says. */
double anchor_lnratio(const struct anchor *a, double value);

#endif
