/* SPDX-License-Identifier: MIT */
/* compare.h - two records of one workload on one device, of different runs: how much better the one is, and how sure
 * that is. */
#ifndef TUNE_LOGS_COMPARE_H
#define TUNE_LOGS_COMPARE_H

#include "logs/record.h"

#include <stdbool.h>
#include <stddef.h>

#define COMPARE_TIE 0.01 /* of ln time: what differs by less is a tie however small the error */

/* By what two records were compared. */
enum compare_by {
    COMPARE_PROGRAM, /* both are of one program: the kernel is the same, whatever their times */
    COMPARE_RATIO,   /* to one program that both were timed against */
    COMPARE_TIME     /* of the clock, or of what both were searched for */
};

/* Standard deviations of ln between runs, of one record each: where its buffers came to lie, and how the machine was.
 * What slots of one batch scatter (record.se) comes on top. */
struct run_error {
    double ratio; /* of a ratio to an anchor, the machine being in one state */
    double time;  /* of a time */
};

/* What was measured (docs/measuring.md: PoCL on shared machines), for where a log tells nothing of its own. */
#define RUN_ERROR_FLOOR ((struct run_error){.ratio = 0.02, .time = 0.06})

struct comparison {
    enum compare_by by;
    double gain;  /* ln of how many times less `a` costs than `b`, NAN where neither tells what was searched for */
    double error; /* its standard error */
};

/* Of records of status ok with a time. Ratios are compared only where both are to the same program (two ratios), or
 * where the one record's program is what the other was timed against (one); a bridge is of its own job's chain and says
 * nothing here. Records of a recorded device (api "replay") are exact: between runs nothing is added to their slots. */
struct comparison compare_records(const struct record *a, const struct record *b, const struct run_error *e);

/* The same where the caller knows the gain: over a chain of n ratios, whose variances add (Bucher et al., The results
 * of direct and indirect treatment comparisons in meta-analysis of randomized controlled trials, 1997); 0 = by time. */
struct comparison compare_along(const struct record *a, const struct record *b, double gain, int n_ratios,
                                const struct run_error *e);

/* |gain| is below 1 % or twice its error, or the program is the same: no winner can be named. Where there is no error
 * the least difference counts. */
bool comparison_ties(const struct comparison *c);

/* Half the width of the interval that holds the gain in 95 of 100 cases, of ln. */
double comparison_margin(const struct comparison *c);

/* Estimates from programs that several runs have measured. */
struct run_errors {
    double sum_ratio, sum_time; /* of squares; the mean of each pair of runs once */
    double n_ratio, n_time;     /* pairs of runs */
};

/* Squares of one pair of runs, before they are counted as one. */
struct run_pair {
    double sum_ratio, sum_time;
    size_t n_ratio, n_time;
};

/* Takes in one program's records of both runs of a pair; records of two programs, or one and the same, are ignored. */
void run_pair_add(struct run_pair *p, const struct record *a, const struct record *b);
void run_errors_add(struct run_errors *s, const struct run_pair *p);

/* The floor counts as three pairs of runs beside those that were seen, or ten where these tell less. */
struct run_error run_errors_of(const struct run_errors *s);

#endif
