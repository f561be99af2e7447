/* SPDX-License-Identifier: MIT */
/* cuda_arch.h - what an NVIDIA architecture has, known without a device or a driver: for search spaces, for building
 * cubins for devices that are elsewhere, and for tests. Source: the technical specifications for each compute
 * capability in the CUDA C++ programming guide, and the target notes of the PTX ISA. */
#ifndef TUNE_RUNTIME_CUDA_ARCH_H
#define TUNE_RUNTIME_CUDA_ARCH_H

#include "runtime/device_desc.h"

#include <stdbool.h>
#include <stdint.h>

#define CUDA_WARP 32
#define CUDA_MAX_SIDE_Z 64        /* of a block; x and y: 1024 */
#define CUDA_MAX_GRID_YZ 65535    /* x: 2^31 - 1 */
#define CUDA_LOCAL_STATIC 49152   /* bytes of shared memory without opt-in */
#define CUDA_CONSTANT_BYTES 65536 /* of __constant__ variables of a module */

struct cuda_arch {
    int sm;                            /* 10 * major + minor */
    int unit_threads, unit_groups;     /* resident on a multiprocessor */
    int local_unit_kib, local_max_kib; /* shared memory of a multiprocessor, of a block by opt-in */
    int local_reserved;                /* bytes taken for each block */
    int group_registers;               /* 32-bit, of a block */
    const char *words;                 /* see cuda_arch_has */
};

/* NULL for one that is not known (the next lower one of the same major number is close). */
const struct cuda_arch *cuda_arch_find(int sm);

/* All of them, ended by sm == 0. */
extern const struct cuda_arch cuda_arch_table[];

/* Has the device, by its `extensions`, one of these? dp4a: four products of int8 an instruction; fp16: arithmetic in
 * half at full rate; mma_f16 mma_i8 mma_bf16: mma.sync on such operands (f16: m16n8k8 and i8: m8n8k16 from sm_75 on);
 * mma_k16: the wide forms, m16n8k16 and m16n8k32 for i8, from sm_80 on; cp_async: global to shared memory without
 * registers; wgmma: products of warpgroups and what feeds them, sm_90 alone; cooperative: all groups of a launch
 * resident. False for a device that is not CUDA's. */
bool cuda_arch_has(const struct device_desc *d, const char *word);

/* Fills in what the architecture decides: api, kind, vendor, limits, extensions, dots, fp16. */
void cuda_arch_limits(const struct cuda_arch *a, struct device_desc *d);

/* The description of a device that is not there, with `units` multiprocessors: enough to make programs for it. */
void cuda_arch_describe(const struct cuda_arch *a, int units, struct device_desc *out);

/* Blocks of `threads` threads, `registers` a thread and `local_bytes` of shared memory that fit on one multiprocessor
 * at the same time; 0 = none. Registers are given out by warp, in 256s; shared memory in 128s. registers 0 = not asked.
 */
int cuda_arch_resident(const struct device_desc *d, int64_t threads, int64_t registers, int64_t local_bytes);

#endif
