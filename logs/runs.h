/* SPDX-License-Identifier: MIT */
/* runs.h - what several runs say of one workload on one device, and which record of all is the best. For best.c. */
#ifndef TUNE_LOGS_RUNS_H
#define TUNE_LOGS_RUNS_H

#include "logs/compare.h"
#include "logs/run.h"

#include <stddef.h>

/* The best record of all; lends; NULL without memory or records. What it is depends on the records, not their order.
 * Within a run the finals count where there are some, else searches and redos; a later record of a program (by its
 * time, then its id) stands for one of the same or lower purpose; the least wins, on the one scale of the run's
 * anchors. The runs' winners are brought on one scale by the programs that they were timed against. The least of all
 * wins; but the earliest run whose final ties with it (compare.h) holds the place. Of a program that several runs
 * measured, the record in the middle by time stands. */
const struct record *runs_best(const struct run *runs, size_t n);

/* Adds what programs tell of the error between runs that were measured in two runs next to each other in time (each two
 * of these are a pair), or in two sets of runs (all that both have is one pair). Nothing without memory. */
void runs_errors(const struct run *runs, size_t n, struct run_errors *errors);
void runs_errors_across(const struct run *a, size_t n_a, const struct run *b, size_t n_b, struct run_errors *errors);

#endif
