/* SPDX-License-Identifier: MIT */
/* nvml.c - a libnvidia-ml.so.1 for tests: one device, whose readings are set by environment:
 * TUNE_NVML_UUID=GPU-...   the device's; "" = no device; unset: any that is asked for
 * TUNE_NVML_WATTS=N        power at work, 100 when unset; the energy counter runs with the clock at that rate
 * TUNE_NVML_REST_WATTS=N   power at rest, that at work when unset: between both by what the process has of a CPU
 * TUNE_NVML_NO=energy,...  calls that say "not supported": energy power clocks temperature reasons locking limiting
 * TUNE_NVML_ROOT=0         clocks and limits may not be set. Else: clocks of 300 to 2000 MHz, 50 to 300 W, 250 by
 * default TUNE_NVML_REASONS=BITS   of the throttle reasons, 0 when unset */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3
#define NO_PERMISSION 4
#define NOT_FOUND 6

typedef int nvml_result;
typedef struct device *nvml_handle;

static char the_device;

static unsigned locked_mhz, limit_mw = 250000; /* 0: not locked */

static double number(const char *name, double otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtod(text, NULL) : otherwise;
}

static int lacks(const char *word)
{
    const char *text = getenv("TUNE_NVML_NO");

    return text && strstr(text, word) != NULL;
}

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The emulated device works on this process's CPU time. */
static double joules(void)
{
    const double work_w = number("TUNE_NVML_WATTS", 100), rest_w = number("TUNE_NVML_REST_WATTS", work_w);

    return rest_w * seconds(CLOCK_MONOTONIC) + (work_w - rest_w) * seconds(CLOCK_PROCESS_CPUTIME_ID);
}

API nvml_result nvmlInit_v2(void);
API nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_handle *out);
API nvml_result nvmlDeviceGetClockInfo(nvml_handle d, unsigned clock, unsigned *mhz);
API nvml_result nvmlDeviceGetTemperature(nvml_handle d, unsigned sensor, unsigned *celsius);
API nvml_result nvmlDeviceGetPowerUsage(nvml_handle d, unsigned *mw);
API nvml_result nvmlDeviceGetTotalEnergyConsumption(nvml_handle d, unsigned long long *mj);
API nvml_result nvmlDeviceGetCurrentClocksThrottleReasons(nvml_handle d, unsigned long long *reasons);
API nvml_result nvmlDeviceSetGpuLockedClocks(nvml_handle d, unsigned least_mhz, unsigned most_mhz);
API nvml_result nvmlDeviceResetGpuLockedClocks(nvml_handle d);
API nvml_result nvmlDeviceGetPowerManagementDefaultLimit(nvml_handle d, unsigned *mw);
API nvml_result nvmlDeviceSetPowerManagementLimit(nvml_handle d, unsigned mw);
API nvml_result nvmlSystemGetDriverVersion(char *out, unsigned n_out);

nvml_result nvmlInit_v2(void)
{
    return 0;
}

nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_handle *out)
{
    const char *mine = getenv("TUNE_NVML_UUID");

    if (mine && strcasecmp(mine, uuid) != 0)
        return NOT_FOUND;
    *out = (nvml_handle)(void *)&the_device;
    return 0;
}

nvml_result nvmlDeviceGetClockInfo(nvml_handle d, unsigned clock, unsigned *mhz)
{
    if ((void *)d != &the_device || lacks("clocks"))
        return NOT_SUPPORTED;
    *mhz = clock == 1 ? (locked_mhz ? locked_mhz : 1500) : clock == 2 ? 5000 : 1400;
    return 0;
}

nvml_result nvmlDeviceGetTemperature(nvml_handle d, unsigned sensor, unsigned *celsius)
{
    if ((void *)d != &the_device || sensor != 0 || lacks("temperature"))
        return NOT_SUPPORTED;
    *celsius = 61;
    return 0;
}

/* Since the last reading. */
nvml_result nvmlDeviceGetPowerUsage(nvml_handle d, unsigned *mw)
{
    static double last_s, last_j;
    const double now_s = seconds(CLOCK_MONOTONIC), now_j = joules();

    if ((void *)d != &the_device || lacks("power"))
        return NOT_SUPPORTED;
    *mw = (unsigned)(1000 * (last_s > 0 && now_s > last_s ? (now_j - last_j) / (now_s - last_s)
                                                          : number("TUNE_NVML_WATTS", 100)) +
                     0.5);
    *mw = *mw > limit_mw ? limit_mw : *mw;
    last_s = now_s;
    last_j = now_j;
    return 0;
}

nvml_result nvmlDeviceGetTotalEnergyConsumption(nvml_handle d, unsigned long long *mj)
{
    if ((void *)d != &the_device || lacks("energy"))
        return NOT_SUPPORTED;
    *mj = (unsigned long long)(1000 * joules());
    return 0;
}

nvml_result nvmlDeviceGetCurrentClocksThrottleReasons(nvml_handle d, unsigned long long *reasons)
{
    if ((void *)d != &the_device || lacks("reasons"))
        return NOT_SUPPORTED;
    *reasons = (unsigned long long)number("TUNE_NVML_REASONS", 0);
    return 0;
}

nvml_result nvmlSystemGetDriverVersion(char *out, unsigned n_out)
{
    if (n_out < 7)
        return NOT_SUPPORTED;
    strcpy(out, "999.01");
    return 0;
}

static nvml_result may_set(nvml_handle d, const char *what)
{
    return (void *)d != &the_device || lacks(what) ? NOT_SUPPORTED
           : number("TUNE_NVML_ROOT", 1) < 1       ? NO_PERMISSION
                                                   : 0;
}

nvml_result nvmlDeviceSetGpuLockedClocks(nvml_handle d, unsigned least_mhz, unsigned most_mhz)
{
    if (may_set(d, "locking"))
        return may_set(d, "locking");
    if (least_mhz != most_mhz || least_mhz < 300 || most_mhz > 2000)
        return INVALID_ARGUMENT;
    locked_mhz = most_mhz;
    return 0;
}

nvml_result nvmlDeviceResetGpuLockedClocks(nvml_handle d)
{
    locked_mhz = may_set(d, "locking") ? locked_mhz : 0;
    return may_set(d, "locking");
}

nvml_result nvmlDeviceGetPowerManagementDefaultLimit(nvml_handle d, unsigned *mw)
{
    *mw = 250000;
    return (void *)d == &the_device ? 0 : NOT_FOUND;
}

nvml_result nvmlDeviceSetPowerManagementLimit(nvml_handle d, unsigned mw)
{
    if (may_set(d, "limiting"))
        return may_set(d, "limiting");
    if (mw < 50000 || mw > 300000)
        return INVALID_ARGUMENT;
    limit_mw = mw;
    return 0;
}
