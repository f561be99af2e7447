/* SPDX-License-Identifier: MIT */
/* device_desc.h - what the upper rooms may know of a device: facts that shape a search space, and its fingerprint. */
#ifndef TUNE_RUNTIME_DEVICE_DESC_H
#define TUNE_RUNTIME_DEVICE_DESC_H

#include "core/err.h"
#include "core/hash.h"
#include "core/json.h"

#include <stdbool.h>
#include <stdint.h>

enum device_class { DEVICE_CPU, DEVICE_GPU, DEVICE_MALI, DEVICE_OTHER };

struct device_desc {
    char api[16]; /* "opencl", "cuda", "c", "replay" */
    enum device_class kind;
    char platform[96], platform_version[128], vendor[96], name[160], driver[96];
    char extensions[2048];  /* space-separated, sorted */
    char cpu[128];          /* of a CPU device: which processor (sense_cpu); "" elsewhere */
    char dots[64];          /* words for products of int8 that were tried and found: "tune_vnni", "tune_dp4a"; or "" */
    int64_t units;          /* compute units (CPU: threads used) */
    int64_t threads;        /* host threads the runtime uses (PoCL), 0 elsewhere */
    int64_t max_work_group; /* work-items in a group */
    int64_t max_local[3];   /* per dimension */
    int64_t local_bytes;    /* local (shared) memory of a group */
    int64_t constant_bytes;
    int64_t global_bytes, max_alloc_bytes;
    int64_t vector_bits; /* natural SIMD width of f32 code: 512 AVX-512, 256 AVX2, 128 Mali or NEON; 0 scalar */
    bool fp16;           /* arithmetic in half */
    bool shares_host;    /* memory, cores or heat shared with the host: building may disturb timing */
    double peak_gflops;  /* measured FMA peak of all units used, 0 = not measured */
    /* CUDA devices (0 elsewhere). max_work_group, max_local, local_bytes (without opt-in) and constant_bytes above hold
     * for them too; `extensions` are the words of runtime/cuda_arch.h. */
    int64_t sm;               /* compute capability, 10 * major + minor: 61, 90, 120 */
    int64_t local_max_bytes;  /* shared memory of a block by opt-in */
    int64_t local_unit_bytes; /* shared memory of a multiprocessor */
    int64_t local_reserved;   /* of it taken by the system for each block */
    int64_t registers;        /* 32-bit, of a multiprocessor */
    int64_t unit_threads;     /* resident threads of a multiprocessor, at most */
    int64_t unit_groups;      /* resident blocks */
    int64_t cache_bytes;      /* L2 */
};

/* sha256 over api, platform and version, vendor, name, driver, extensions, dots and cpu (where there are any: drivers
 * give one name to many processors), units, threads, sm (where there is one); no clocks, no host. */
struct sha256 device_desc_fingerprint(const struct device_desc *d);

/* The same without `cpu`, as records of earlier versions have it: "former" in the JSON of a device with one. hex ""
 * without. */
struct sha256 device_desc_former(const struct device_desc *d);

/* Is a record with this fingerprint of this device, or of the time when its processor was not told? */
bool device_desc_has(const struct device_desc *d, const struct sha256 *fingerprint);

cJSON *device_desc_to_json(const struct device_desc *d); /* NULL on lack of memory */
enum err device_desc_from_json(const cJSON *object, struct device_desc *out, struct why *why);

const char *device_class_name(enum device_class c); /* "cpu" "gpu" "mali" "other" */

#endif
