/* SPDX-License-Identifier: MIT */
/* place.h - threads onto CPUs: two runs of a bench shall not differ by where the kernel put its threads. */
#ifndef TUNE_TESTS_BENCH_OPS_PLACE_H
#define TUNE_TESTS_BENCH_OPS_PLACE_H

/* OpenMP's threads wait awake for 15 ms after their work and so take a CPU from whoever comes next: with more than one
 * thread the program starts once more with a shorter wait. Call first in main. */
void place_restart(int threads, char **argv);

/* The process, and with it the threads that runtimes start later, onto the last `threads` CPUs that it may use; tells
 * PoCL, OpenBLAS and OpenMP how many threads to use. Call before any of them starts. */
void place_process(int threads);

/* Each OpenMP thread onto a CPU of its own; call once OpenMP may start its threads. */
void place_openmp(void);

/* From place_known to place_new the calling thread may use all chosen CPUs, so that a library which counts them when it
 * starts counts right; then it gets the first one again, and threads that started in between get one each in turn, from
 * the i_first-th. */
void place_known(void);
void place_new(int i_first);

/* The chosen CPUs, lent; how many to *n. */
const int *place_cpus(int *n);

#endif
