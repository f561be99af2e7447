/* SPDX-License-Identifier: MIT */
/* cuda_hold.c - clocks and power limits as knobs: macros of a program that the device follows, where it was opened with
 * "clocks". What a process that was killed left behind is undone by the next that is opened so. */
#include "core/clock.h"
#include "core/err.h"
#include "runtime/cuda.h"

#include <stdlib.h>
#include <string.h>

#define SETTLE_MS 100 /* until clocks follow */
#define MOST 1000000  /* MHz, watts */

static const struct {
    const char *name;
    size_t at;
} knobs[] = {{"nvml_gr_clock", offsetof(struct nvml_hold, core_mhz)},
             {"nvml_pwr_limit", offsetof(struct nvml_hold, power_w)}};

static enum err read_knob(const struct program_define *define, struct nvml_hold *out, struct why *why)
{
    for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++) {
        char *end = NULL;
        int64_t value;

        if (strcmp(define->name, knobs[i].name) != 0)
            continue;
        value = strtoll(define->value, &end, 10);
        if (!*define->value || *end || value < 1 || value > MOST)
            return why_set(why, ERR_LIMITS, "%s=%s: expected a whole number from 1 to %d", define->name, define->value,
                           MOST);
        memcpy((char *)out + knobs[i].at, &value, sizeof value);
    }
    return ERR_OK;
}

enum err cuda_hold_of(const struct device *d, const struct program *p, struct nvml_hold *out, struct why *why)
{
    enum err e = ERR_OK;

    *out = (struct nvml_hold){0, 0};
    for (size_t i = 0; i < p->n_modules; i++)
        for (size_t k = 0; !e && k < p->modules[i].n_defines; k++)
            e = read_knob(&p->modules[i].defines[k], out, why);
    if (!e && (out->core_mhz || out->power_w) && !d->may_hold)
        return why_set(why, ERR_LIMITS,
                       "nvml_gr_clock and nvml_pwr_limit are set on a device that was opened with "
                       "'clocks' alone, as --device cuda,clocks");
    return e;
}

enum err cuda_hold(struct device *d, const struct nvml_hold *wanted, struct why *why)
{
    enum err e;

    if (!d->may_hold || (wanted->core_mhz == d->hold.core_mhz && wanted->power_w == d->hold.power_w))
        return ERR_OK;
    e = nvml_hold(&d->nvml, wanted, why);
    d->hold = e ? (struct nvml_hold){-1, -1} : *wanted; /* of what was refused half may be set */
    if (!e)
        clock_sleep_ms(SETTLE_MS);
    return e;
}
