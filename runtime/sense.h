/* SPDX-License-Identifier: MIT */
/* sense.h - what the sensors of a device or its board say just now: clocks, temperature, power, energy, throttling. */
#ifndef TUNE_RUNTIME_SENSE_H
#define TUNE_RUNTIME_SENSE_H

#include "core/json.h"
#include "runtime/device_desc.h"

#include <stdbool.h>
#include <stddef.h>

/* Bits of sense.known. */
enum sense_bit {
    SENSE_CORE_MHZ = 1,
    SENSE_MEM_MHZ = 2,
    SENSE_TEMPERATURE = 4,
    SENSE_POWER = 8,
    SENSE_ENERGY = 16,
    SENSE_THROTTLE = 32
};

/* Values whose bit is not set are 0 and mean nothing. */
struct sense {
    unsigned known;       /* of enum sense_bit */
    double core_mhz;      /* of the cores that compute (of an NVIDIA device: SM clock) */
    double mem_mhz;       /* of the device's memory */
    double temperature_c; /* degrees Celsius */
    double power_w;       /* drawn now, or the driver's short average */
    double energy_j;      /* a counter: only differences between two readings mean something */
    char throttle[64];    /* why clocks are held down just now, words with commas between; "" = they are not */
};

/* Reads a Linux sysfs tree: thermal zones, devfreq and cpufreq clocks, cooling devices at work. `root` "/sys"; NULL =
 * the environment's TUNE_SYSFS (a copy for tests), else "/sys". A device of `kind` is told by the zone and the clock
 * named after it; where no zone is, by the hottest of all. What cannot be read stays unknown. Fills all of `out`. */
void sense_sysfs(const char *root, enum device_class kind, struct sense *out);

/* The first number in the file root/path (`root` as above); NAN where there is none. */
double sense_number(const char *root, const char *path);

/* One member of the first processor in a file in the form of /proc/cpuinfo ("model name"); "" where there is none. */
void sense_cpuinfo(const char *path, const char *name, char *out, size_t n_out);

/* What tells a processor from others of its name: "Intel(R) Xeon(R) Processor, family 6 model 143 stepping 8", "0x41
 * part 0xd08 variant 0x0 revision 3"; no clocks, no microcode. "" where it cannot be read. */
void sense_cpu(const char *path, char *out, size_t n_out);

/* The known values as an object with the members' names: core_mhz, mem_mhz, temperature_c, power_w, energy_j, throttle.
 * Adds nothing when none is known. `ok` as for json_add_item. */
void sense_add_json(cJSON *object, const char *name, const struct sense *s, bool *ok);

#endif
