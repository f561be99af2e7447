/* SPDX-License-Identifier: MIT */
#include "agent/host.h"

#include "runtime/sense.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

int host_cuda_version(const struct device_desc *d)
{
    int major, minor;

    return sscanf(d->platform_version, "CUDA %d.%d", &major, &minor) == 2 ? major * 1000 + minor * 10 : INT_MAX;
}

double host_load(void)
{
    return sense_number("/proc", "loadavg");
}

/* The value of the `nth` line (from 0) of /proc/cpuinfo or /proc/meminfo that begins with `name`. */
static double read_line(const char *path, const char *name, int nth)
{
    FILE *f = fopen(path, "re");
    char line[512];
    double v = NAN;

    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, name, strlen(name)) != 0 || !colon || nth-- > 0)
            continue;
        if (sscanf(colon + 1, "%lf", &v) != 1)
            v = NAN;
        break;
    }
    if (f)
        fclose(f);
    return v;
}

static double clock_mhz(int cpu)
{
    char path[96];
    double khz;

    snprintf(path, sizeof path, "devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
    khz = sense_number(NULL, path);
    return isnan(khz) ? read_line("/proc/cpuinfo", "cpu MHz", cpu) : khz * 1e-3;
}

double host_temperature_c(void)
{
    struct sense s;

    sense_sysfs(NULL, DEVICE_CPU, &s);
    return s.known & SENSE_TEMPERATURE ? s.temperature_c : NAN;
}

static int64_t meminfo_bytes(const char *name)
{
    const double kib = read_line("/proc/meminfo", name, 0);

    return isnan(kib) ? 0 : (int64_t)(kib * 1024);
}

int64_t host_available_bytes(void)
{
    return meminfo_bytes("MemAvailable");
}

int64_t host_total_bytes(void)
{
    return meminfo_bytes("MemTotal");
}

/* "aarch64" and such; an emulated agent tells the machine that it believes to be on. */
static void add_machine(cJSON *o, bool *ok)
{
    struct utsname u;

    if (uname(&u) == 0)
        json_add_text(o, "machine", u.machine, ok);
}

/* The operating system's kernel, and the microcode of a CPU device: what a change of times may come from. */
static void add_system(cJSON *o, const struct device_desc *d, bool *ok)
{
    char os[2 * sizeof((struct utsname *)0)->release], microcode[32] = "";
    struct utsname u;

    if (uname(&u) == 0) {
        snprintf(os, sizeof os, "%s %s", u.sysname, u.release);
        json_add_text(o, "os", os, ok);
    }
    if (d->kind == DEVICE_CPU)
        sense_cpuinfo("/proc/cpuinfo", "microcode", microcode, sizeof microcode);
    if (*microcode)
        json_add_text(o, "microcode", microcode, ok);
}

static void add_if_known(cJSON *o, const char *name, double v, bool *ok)
{
    if (!isnan(v))
        json_add_real(o, name, v, ok);
}

cJSON *host_device_object(const struct device_desc *d, double peak_gflops, int cpu)
{
    cJSON *o = device_desc_to_json(d); /* whole: `tune deploy` builds the program anew from it */
    bool ok = o != NULL;

    if (peak_gflops > 0) {
        cJSON_DeleteItemFromObjectCaseSensitive(o, "peak_gflops");
        json_add_real(o, "peak_gflops", round(peak_gflops * 10) / 10, &ok);
    }
    add_machine(o, &ok);
    add_system(o, d, &ok);
    add_if_known(o, "load", host_load(), &ok);
    add_if_known(o, "clock_mhz", cpu >= 0 ? round(clock_mhz(cpu)) : NAN, &ok);
    add_if_known(o, "temperature_c", host_temperature_c(), &ok);
    if (ok)
        return o;
    cJSON_Delete(o);
    return NULL;
}
