/* SPDX-License-Identifier: MIT */
/* nvml.c - a libnvidia-ml.so.1 for tests: one device, whose readings are set by environment:
 * TUNE_NVML_UUID=GPU-...   the device's; "" = no device; unset: any that is asked for
 * TUNE_NVML_WATTS=N        power, 100 when unset; the energy counter runs with the clock at that rate
 * TUNE_NVML_NO=energy,...  calls that say "not supported": energy power clocks temperature reasons
 * TUNE_NVML_REASONS=BITS   of the throttle reasons, 0 when unset */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define NOT_SUPPORTED 3
#define NOT_FOUND 6

typedef int nvml_result;
typedef struct device *nvml_handle;

static char the_device;

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

API nvml_result nvmlInit_v2(void);
API nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_handle *out);
API nvml_result nvmlDeviceGetClockInfo(nvml_handle d, unsigned clock, unsigned *mhz);
API nvml_result nvmlDeviceGetTemperature(nvml_handle d, unsigned sensor, unsigned *celsius);
API nvml_result nvmlDeviceGetPowerUsage(nvml_handle d, unsigned *mw);
API nvml_result nvmlDeviceGetTotalEnergyConsumption(nvml_handle d, unsigned long long *mj);
API nvml_result nvmlDeviceGetCurrentClocksThrottleReasons(nvml_handle d, unsigned long long *reasons);
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
    *mhz = clock == 1 ? 1500 : clock == 2 ? 5000 : 1400;
    return 0;
}

nvml_result nvmlDeviceGetTemperature(nvml_handle d, unsigned sensor, unsigned *celsius)
{
    if ((void *)d != &the_device || sensor != 0 || lacks("temperature"))
        return NOT_SUPPORTED;
    *celsius = 61;
    return 0;
}

nvml_result nvmlDeviceGetPowerUsage(nvml_handle d, unsigned *mw)
{
    if ((void *)d != &the_device || lacks("power"))
        return NOT_SUPPORTED;
    *mw = (unsigned)(1000 * number("TUNE_NVML_WATTS", 100));
    return 0;
}

nvml_result nvmlDeviceGetTotalEnergyConsumption(nvml_handle d, unsigned long long *mj)
{
    struct timespec now;

    if ((void *)d != &the_device || lacks("energy"))
        return NOT_SUPPORTED;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *mj =
        (unsigned long long)(1000 * number("TUNE_NVML_WATTS", 100) * ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec));
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
