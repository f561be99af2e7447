/* SPDX-License-Identifier: MIT */
/* bench.h - rounds of contenders for one workload, and what they say. */
#ifndef TUNE_TESTS_BENCH_OPS_BENCH_H
#define TUNE_TESTS_BENCH_OPS_BENCH_H

#include "tests/bench/ops/contender.h"

#include <stdio.h>

struct bench {
    struct task task;
    struct contender contenders[MAX_CONTENDERS];
    size_t n;
    int rounds;
    int64_t slot_ns;
    double patience_ns; /* of one contender: then it leaves, after one round at least */
    bool on_host;       /* the device is a CPU: its peaks are measured */
    bool reads;         /* the read bandwidth is measured beside the FMA peak */
};

/* Compares the outputs of those that have them with the first one's. ERR_NOMEM; a device's errors. */
enum err bench_compare(struct bench *b, struct why *why);

/* All rounds: in each, every contender in turn, the core's peaks just before it. One that fails is told on stdout and
 * leaves. */
void bench_run(struct bench *b);

/* True unless its output differs from the first one's. */
bool contender_right(const struct bench *b, const struct contender *c);

/* Medians over the rounds: ns of a call, share of the FMA peak and of the read bandwidth (0 = not measured), and how
 * many times faster it is than `other` in the same rounds (0 when other is NULL). Need n_rounds > 0. */
double contender_ns(const struct contender *c);
double contender_of_peak(const struct bench *b, const struct contender *c);
double contender_of_read(const struct bench *b, const struct contender *c);
double contender_speed(const struct contender *c, const struct contender *other);

/* The fastest right one of a class that is a peer (ours == false) or ours; NULL when there is none. */
const struct contender *bench_best(const struct bench *b, enum contender_class class, bool ours);

void bench_print(const struct bench *b, FILE *to);
/* One JSON line a contender, with the workload and the threads. ERR_NOMEM, ERR_IO. */
enum err bench_json(const struct bench *b, FILE *to);

#endif
