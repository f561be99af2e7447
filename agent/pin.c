/* SPDX-License-Identifier: MIT */
#include "agent/pin.h"

#include "core/proc.h"
#include "runtime/sense.h"

#include <assert.h>
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pin_free(const int *cpus, int n, struct pin_plan *out)
{
    if (n > PIN_MAX_CPUS)
        n = PIN_MAX_CPUS;
    memcpy(out->timing, cpus, (size_t)n * sizeof *cpus);
    memcpy(out->other, cpus, (size_t)n * sizeof *cpus);
    out->n_timing = out->n_other = n;
    out->overlap = true;
}

void pin_split(const int *cpus, int n, int threads, struct pin_plan *out)
{
    pin_free(cpus, n, out);
    out->overlap = threads < out->n_other;
    if (!out->overlap)
        return;
    out->n_timing = threads;
    out->n_other -= threads;
    memcpy(out->timing, cpus + out->n_other, (size_t)threads * sizeof *cpus);
}

static bool is_spared(const struct pin_plan *p, int cpu, int n)
{
    for (int i = p->n_timing > n ? p->n_timing - n : 0; i < p->n_timing; i++)
        if (p->timing[i] == cpu)
            return true;
    return false;
}

void pin_spare(struct pin_plan *p, int n)
{
    int n_kept = 0;

    if (p->n_other <= n)
        return;
    for (int i = 0; i < p->n_other; i++)
        if (!is_spared(p, p->other[i], n))
            p->other[n_kept++] = p->other[i];
    p->n_other = n_kept;
    assert(n_kept > 0);
}

/* 0 where nothing is known. */
static double speed_of(const char *root, int cpu)
{
    static const char *const leaves[] = {"cpu_capacity", "cpufreq/cpuinfo_max_freq"};

    for (int i = 0; i < 2; i++) {
        char path[96];
        double v;

        snprintf(path, sizeof path, "devices/system/cpu/cpu%d/%s", cpu, leaves[i]);
        v = sense_number(root, path);
        if (!isnan(v))
            return v;
    }
    return 0;
}

int pin_fastest(const char *root, int *cpus, int n)
{
    double best = 0;
    int n_kept = 0;

    for (int i = 0; i < n; i++)
        best = fmax(best, speed_of(root, cpus[i]));
    for (int i = 0; i < n; i++)
        if (speed_of(root, cpus[i]) >= best)
            cpus[n_kept++] = cpus[i];
    assert(n_kept <= n && (n == 0 || n_kept > 0));
    return n_kept;
}

void pin_note_threads(struct pin_threads *t)
{
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *entry;

    t->n = 0;
    while (dir && (entry = readdir(dir)) && t->n < PIN_MAX_CPUS)
        if (entry->d_name[0] != '.')
            t->tids[t->n++] = (int)strtol(entry->d_name, NULL, 10);
    if (dir)
        closedir(dir);
}

static bool known(const struct pin_threads *t, int tid)
{
    for (int i = 0; i < t->n; i++)
        if (t->tids[i] == tid)
            return true;
    return false;
}

int pin_new_threads(const struct pin_threads *before)
{
    static struct pin_threads now;
    int cpus[PIN_MAX_CPUS], n_pinned = 0;
    const int n_cpus = proc_cpus(cpus, PIN_MAX_CPUS);

    pin_note_threads(&now);
    for (int i = 0; i < now.n; i++) {
        cpu_set_t set;

        if (known(before, now.tids[i]))
            continue;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpus[n_pinned % n_cpus], &set);
        if (sched_setaffinity(now.tids[i], sizeof set, &set) == 0)
            n_pinned++;
    }
    return n_pinned;
}
