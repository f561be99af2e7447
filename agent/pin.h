/* SPDX-License-Identifier: MIT */
/* pin.h - which CPUs time and which do all the rest, and workers of a CPU runtime each on a CPU of its own. */
#ifndef TUNE_AGENT_PIN_H
#define TUNE_AGENT_PIN_H

#include <stdbool.h>

#define PIN_MAX_CPUS 1024

struct pin_plan {
    int timing[PIN_MAX_CPUS], n_timing; /* the timing child's */
    int other[PIN_MAX_CPUS], n_other;   /* build child, agent, whatever else */
    bool overlap;                       /* building has CPUs of its own */
};

/* Splits n CPUs for a CPU runtime with `threads` workers (1 <= threads): timing gets the last `threads` of them,
 * because the first ones take most interrupts. When none is left both sides share all, without overlap. */
void pin_split(const int *cpus, int n, int threads, struct pin_plan *out);

/* The plan for a device that computes elsewhere: everything may run everywhere, overlapping. */
void pin_free(const int *cpus, int n, struct pin_plan *out);

/* Leaves n of the timing side's CPUs, the last ones, to it alone; nothing where the other side would have none left. */
void pin_spare(struct pin_plan *p, int n);

/* Keeps of n CPUs the fastest, in order, by cpu_capacity or else by cpufreq's highest clock in a sysfs tree (`root` as
 * for sense_sysfs); all where these do not tell them apart. The number kept. */
int pin_fastest(const char *root, int *cpus, int n);

/* Threads of the calling process, in a child before a runtime starts its workers. */
struct pin_threads {
    int tids[PIN_MAX_CPUS];
    int n;
};
void pin_note_threads(struct pin_threads *t);

/* Puts each thread started since `before` on a CPU of its own among those that this process may use, round robin; the
 * number of threads pinned. */
int pin_new_threads(const struct pin_threads *before);

#endif
