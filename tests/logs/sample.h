/* SPDX-License-Identifier: MIT */
/* sample.h - records for the tests of logs. */
#ifndef TUNE_TESTS_LOGS_SAMPLE_H
#define TUNE_TESTS_LOGS_SAMPLE_H

#include "logs/record.h"

/* A whole record of trial `id`, every member set to something. record_fini it. Aborts without memory. */
struct record sample_record(const char *id);

/* An ok record as the best sets see it: workload and fingerprint by one letter each, no anchor. */
struct record sample_timed(const char *workload, char fingerprint, const char *job, const char *purpose, char program,
                           double time_ns);

#endif
