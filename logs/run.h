/* SPDX-License-Identifier: MIT */
/* run.h - what one run says of a workload on a device: the records that may be its best, and their one scale. For
 * best.c and runs.c. */
#ifndef TUNE_LOGS_RUN_H
#define TUNE_LOGS_RUN_H

#include "core/err.h"
#include "logs/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_EPOCHS 8 /* of anchors that are looked at: 4^8 is more than any search gains */

/* Its records are in no order; which they are depends on what was added, not on the order of that. */
struct run {
    char job[sizeof((struct record *)0)->job];
    int64_t data_seed; /* with the job's name: whose run it is; 0 = not known */
    struct record *records;
    size_t n, cap;
    int64_t final_ms;   /* end of its earliest final; 0 = none yet */
    struct run *before; /* with finals: what was measured besides, as a run without any; NULL = nothing */
};

/* Takes a copy in where the record may be the run's best: the finals; where there are none all redos, and of the
 * searches against one anchor (or against none) the eight that cost least. ERR_NOMEM. */
enum err run_add(struct run *j, const struct record *r);
void run_fini(struct run *j);

/* What tells the run's best: itself, or, where its finals were cut short, what was measured before them: that is where
 * what was best then, clearly ahead of what is best of the finals, has no final. Lends. */
const struct run *run_counted(const struct run *j);

/* Is it of purpose "final"? */
bool record_is_final(const struct record *r);

/* Of a template for comparison, which is timed once and last, behind the finals. */
bool record_is_baseline(const struct record *r);

/* Do both name a program, and the same? */
bool record_is_one_program(const struct record *a, const struct record *b);

/* Was it timed against an anchor, of an epoch below RUN_EPOCHS? */
bool record_has_ratio(const struct record *r);

/* Below 0 when a was measured before b, by the clock, then by id; 0 when that does not tell. */
int record_by_clock(const struct record *a, const struct record *b);

/* record_cost; INFINITY where what was searched for was not measured. */
double record_cost_at(const struct record *r, double ln_time);

/* Has the run measured the program of its record r again, later or to better purpose? */
bool run_supersedes(const struct run *j, const struct record *r);

/* A run's anchors by epoch, each told by its earliest record, which is lent. */
struct chain {
    const struct record *links[RUN_EPOCHS];
    double ln_t0; /* ln ns of the first anchor: ratios + bridges + this are ln times on one scale; 0 without links */
};

/* The first anchor counts by the time of its own record, where that is there, so that what was measured alone beside it
 * stands on the same scale. */
struct chain run_chain(const struct run *j);

/* Was the record timed against one of the chain's anchors? It has to be of the chain's run. */
bool chain_has(const struct chain *c, const struct record *r);

/* ln ns of a record of the chain's run, on the scale of the chain; what was timed against no anchor of it counts by its
 * own time. */
double chain_ln_time(const struct chain *c, const struct record *r);

/* The least of what nothing supersedes; lends; NULL without records. */
const struct record *run_winner(const struct run *j, const struct chain *c);

#endif
