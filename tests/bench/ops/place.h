/* place.h - threads onto CPUs: two runs of a bench shall not differ by where the kernel put its threads. */
#ifndef TUNE_TESTS_BENCH_OPS_PLACE_H
#define TUNE_TESTS_BENCH_OPS_PLACE_H

/* The process, and with it the threads that runtimes start later, onto the last `threads` CPUs that it may use; tells
 * PoCL, OpenBLAS and OpenMP how many threads to use. Call before any of them starts. */
void place_process(int threads);

/* Each OpenMP thread onto a CPU of its own; call once OpenMP may start its threads. */
void place_openmp(void);

/* Threads that started since the last call of place_known: one a CPU in turn, from the i_first-th of the chosen. */
void place_known(void);
void place_new(int i_first);

/* The chosen CPUs, lent; how many to *n. */
const int *place_cpus(int *n);

#endif
