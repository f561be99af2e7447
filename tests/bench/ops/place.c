/* SPDX-License-Identifier: MIT */
#include "tests/bench/ops/place.h"

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define MAX_CPUS 1024
#define MAX_TASKS 4096

static int cpus[MAX_CPUS], n_cpus;
static int known[MAX_TASKS], n_known;

static void set_number(const char *variable, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    setenv(variable, text, 1);
}

static void pin(int thread, int i_cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpus[i_cpu % n_cpus], &one);
    (void)sched_setaffinity(thread, sizeof one, &one);
}

void place_restart(int threads, char **argv)
{
    if (threads > 1 && !getenv("GOMP_SPINCOUNT") && setenv("GOMP_SPINCOUNT", "1000", 1) == 0)
        (void)execv("/proc/self/exe", argv); /* libgomp has read its variables already */
}

void place_process(int threads)
{
    cpu_set_t may, chosen;

    CPU_ZERO(&chosen);
    if (sched_getaffinity(0, sizeof may, &may) == 0) {
        for (int i = CPU_SETSIZE - 1; i >= 0 && n_cpus < threads && n_cpus < MAX_CPUS; i--)
            if (CPU_ISSET((size_t)i, &may)) {
                CPU_SET((size_t)i, &chosen);
                cpus[n_cpus++] = i;
            }
        (void)sched_setaffinity(0, sizeof chosen, &chosen);
    }
    set_number("POCL_MAX_PTHREAD_COUNT", threads);
    set_number("OPENBLAS_NUM_THREADS", threads);
    set_number("OPENBLAS_THREAD_TIMEOUT", 20); /* 2^20 cycles of waiting awake instead of 2^26 */
    setenv("POCL_AFFINITY", "0", 1);
#ifdef _OPENMP
    omp_set_num_threads(threads);
#endif
}

void place_openmp(void)
{
#ifdef _OPENMP
#pragma omp parallel
    if (n_cpus > 1)
        pin(0, omp_get_thread_num());
#endif
}

static int tasks(int *out)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;

    for (struct dirent *entry; d && (entry = readdir(d)) != NULL && n < MAX_TASKS;)
        if (entry->d_name[0] != '.')
            out[n++] = atoi(entry->d_name);
    if (d)
        closedir(d);
    return n;
}

void place_known(void)
{
    cpu_set_t all;

    CPU_ZERO(&all);
    for (int i = 0; i < n_cpus; i++)
        CPU_SET((size_t)cpus[i], &all);
    (void)sched_setaffinity(0, sizeof all, &all);
    n_known = tasks(known);
}

const int *place_cpus(int *n)
{
    *n = n_cpus;
    return cpus;
}

void place_new(int i_first)
{
    static int now[MAX_TASKS];
    const int n = tasks(now);
    int i_cpu = n - n_known < n_cpus ? 1 : i_first; /* fewer threads than CPUs: the caller computes, too */

    if (n_cpus)
        pin(0, 0);
    for (int i = 0; i < n && n_cpus > 1; i++) {
        bool old = false;

        for (int j = 0; j < n_known && !old; j++)
            old = known[j] == now[i];
        if (!old)
            pin(now[i], i_cpu++);
    }
}
