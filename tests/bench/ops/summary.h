/* SPDX-License-Identifier: MIT */
/* summary.h - lines of --json from any number of runs into one table: a row a workload, and geometric means. */
#ifndef TUNE_TESTS_BENCH_OPS_SUMMARY_H
#define TUNE_TESTS_BENCH_OPS_SUMMARY_H

#include "core/err.h"

#include <stdio.h>

/* A later measurement of the same workload, threads and contender replaces an earlier one. ERR_NOT_FOUND, ERR_IO,
 * ERR_INPUT naming the line; ERR_LIMIT for more than 8192 lines. */
enum err summary_print(const char *const *files, int n_files, FILE *to, struct why *why);

#endif
