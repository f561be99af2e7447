/* SPDX-License-Identifier: MIT */
#include "runtime/nvml.h"

#include "core/err.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names, arguments and numbers as in the public NVML API reference. */
typedef int nvml_result; /* 0 = success */
typedef void *nvml_handle;

#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3
#define NO_PERMISSION 4
#define CLOCK_SM 1
#define CLOCK_MEM 2
#define SENSOR_GPU 0

#define NVML_CALLS(X)                                                                                                  \
    X(nvmlInit_v2, (void))                                                                                             \
    X(nvmlDeviceGetHandleByUUID, (const char *uuid, nvml_handle *out))                                                 \
    X(nvmlDeviceGetClockInfo, (nvml_handle d, unsigned clock, unsigned *mhz))                                          \
    X(nvmlDeviceGetTemperature, (nvml_handle d, unsigned sensor, unsigned *celsius))                                   \
    X(nvmlDeviceGetPowerUsage, (nvml_handle d, unsigned *mw))                                                          \
    X(nvmlDeviceGetTotalEnergyConsumption, (nvml_handle d, unsigned long long *mj))                                    \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, (nvml_handle d, unsigned long long *reasons))                         \
    X(nvmlDeviceGetCurrentClocksEventReasons, (nvml_handle d, unsigned long long *reasons)) /* its newer name */       \
    X(nvmlDeviceSetGpuLockedClocks, (nvml_handle d, unsigned least_mhz, unsigned most_mhz))                            \
    X(nvmlDeviceResetGpuLockedClocks, (nvml_handle d))                                                                 \
    X(nvmlDeviceGetPowerManagementDefaultLimit, (nvml_handle d, unsigned *mw))                                         \
    X(nvmlDeviceSetPowerManagementLimit, (nvml_handle d, unsigned mw))                                                 \
    X(nvmlSystemGetDriverVersion, (char *out, unsigned n_out))

static struct calls { /* NULL: not exported */
#define X(name, arguments) nvml_result(*name) arguments;
    NVML_CALLS(X)
#undef X
} nvml;

static const char *const call_names[] = {
#define X(name, arguments) #name,
    NVML_CALLS(X)
#undef X
};

#define N_CALLS (sizeof call_names / sizeof call_names[0])
static_assert(sizeof(struct calls) == N_CALLS * sizeof(void *), "one pointer a call and nothing else");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

static void load_once(void)
{
    const char *named = getenv("TUNE_NVML_LIBRARY");
    void *library = dlopen(named && *named ? named : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *found[N_CALLS];

    if (!library)
        return;
    for (size_t i = 0; i < N_CALLS; i++)
        found[i] = dlsym(library, call_names[i]);
    memcpy(&nvml, found, sizeof found);
    ready = nvml.nvmlInit_v2 && nvml.nvmlInit_v2() == 0;
}

static bool load(void)
{
    pthread_once(&once, load_once);
    return ready;
}

bool nvml_find(const char *uuid, struct nvml_device *out)
{
    nvml_handle handle = NULL;

    *out = (struct nvml_device){.handle = NULL};
    if (!load() || !*uuid || !nvml.nvmlDeviceGetHandleByUUID || nvml.nvmlDeviceGetHandleByUUID(uuid, &handle))
        return false;
    out->handle = handle;
    return handle != NULL;
}

bool nvml_driver_version(char *out, unsigned n_out)
{
    return load() && nvml.nvmlSystemGetDriverVersion && nvml.nvmlSystemGetDriverVersion(out, n_out) == 0;
}

/* Bits of the throttle reasons; an idle device is not held down. */
static const struct {
    unsigned long long bit;
    const char *word;
} reasons[] = {{0x2, "application-clocks"}, {0x4, "power-cap"},   {0x8, "hw-slowdown"},  {0x10, "sync-boost"},
               {0x20, "thermal"},           {0x40, "hw-thermal"}, {0x80, "power-brake"}, {0x100, "display-clocks"}};

static void put_reasons(unsigned long long bits, char *out, size_t n_out)
{
    size_t at = 0;

    assert(n_out > 0);
    out[0] = '\0';
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if ((bits & reasons[i].bit) && at + strlen(reasons[i].word) + 2 <= n_out)
            at += (size_t)snprintf(out + at, n_out - at, "%s%s", at ? "," : "", reasons[i].word);
}

static bool clock_of(const struct nvml_device *d, unsigned clock, double *mhz)
{
    unsigned v = 0;

    if (!nvml.nvmlDeviceGetClockInfo || nvml.nvmlDeviceGetClockInfo(d->handle, clock, &v))
        return false;
    *mhz = v;
    return true;
}

static bool reasons_of(const struct nvml_device *d, unsigned long long *bits)
{
    if (nvml.nvmlDeviceGetCurrentClocksEventReasons)
        return nvml.nvmlDeviceGetCurrentClocksEventReasons(d->handle, bits) == 0;
    return nvml.nvmlDeviceGetCurrentClocksThrottleReasons &&
           nvml.nvmlDeviceGetCurrentClocksThrottleReasons(d->handle, bits) == 0;
}

void nvml_sense(const struct nvml_device *d, struct sense *out)
{
    unsigned long long big = 0;
    unsigned v = 0;

    *out = (struct sense){.known = 0};
    if (!d->handle)
        return;
    if (clock_of(d, CLOCK_SM, &out->core_mhz))
        out->known |= SENSE_CORE_MHZ;
    if (clock_of(d, CLOCK_MEM, &out->mem_mhz))
        out->known |= SENSE_MEM_MHZ;
    if (nvml.nvmlDeviceGetTemperature && nvml.nvmlDeviceGetTemperature(d->handle, SENSOR_GPU, &v) == 0) {
        out->temperature_c = v;
        out->known |= SENSE_TEMPERATURE;
    }
    if (nvml.nvmlDeviceGetPowerUsage && nvml.nvmlDeviceGetPowerUsage(d->handle, &v) == 0) {
        out->power_w = v * 1e-3;
        out->known |= SENSE_POWER;
    }
    if (nvml.nvmlDeviceGetTotalEnergyConsumption && nvml.nvmlDeviceGetTotalEnergyConsumption(d->handle, &big) == 0) {
        out->energy_j = (double)big * 1e-3;
        out->known |= SENSE_ENERGY;
    }
    if (reasons_of(d, &big)) {
        put_reasons(big, out->throttle, sizeof out->throttle);
        out->known |= SENSE_THROTTLE;
    }
}

/* Holding. What a device cannot be held at is its own anyway. */

static nvml_result hold_clock(const struct nvml_device *d, int64_t mhz)
{
    if (!nvml.nvmlDeviceSetGpuLockedClocks || !nvml.nvmlDeviceResetGpuLockedClocks)
        return NOT_SUPPORTED;
    return mhz ? nvml.nvmlDeviceSetGpuLockedClocks(d->handle, (unsigned)mhz, (unsigned)mhz)
               : nvml.nvmlDeviceResetGpuLockedClocks(d->handle);
}

static nvml_result hold_power(const struct nvml_device *d, int64_t watts)
{
    unsigned mw = (unsigned)watts * 1000;

    if (!nvml.nvmlDeviceGetPowerManagementDefaultLimit || !nvml.nvmlDeviceSetPowerManagementLimit)
        return NOT_SUPPORTED;
    if (!watts && nvml.nvmlDeviceGetPowerManagementDefaultLimit(d->handle, &mw))
        return NOT_SUPPORTED;
    return nvml.nvmlDeviceSetPowerManagementLimit(d->handle, mw);
}

static enum err held(nvml_result result, const char *what, int64_t value, const char *unit, struct why *why)
{
    if (result == 0 || (result == NOT_SUPPORTED && !value))
        return ERR_OK;
    if (result == INVALID_ARGUMENT)
        return why_set(why, ERR_LIMITS, "%s of %lld %s is none that the device takes (nvidia-smi -q -d CLOCK,POWER)",
                       what, (long long)value, unit);
    return why_set(why, ERR_UNSUPPORTED, "%s cannot be set: %s", what,
                   result == NO_PERMISSION   ? "NVML wants root, and no cage (--cage off)"
                   : result == NOT_SUPPORTED ? "the device does not support it"
                                             : "NVML refuses it");
}

enum err nvml_hold(const struct nvml_device *d, const struct nvml_hold *h, struct why *why)
{
    enum err e;

    if (!d->handle)
        return why_set(why, ERR_UNSUPPORTED,
                       "clocks and power cannot be set: no libnvidia-ml.so.1 that knows the device");
    e = held(hold_clock(d, h->core_mhz), "a clock", h->core_mhz, "MHz", why);
    return e ? e : held(hold_power(d, h->power_w), "a power limit", h->power_w, "W", why);
}
