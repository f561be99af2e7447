/* SPDX-License-Identifier: MIT */
#include "runtime/cuda_arch.h"

#include <stdio.h>
#include <string.h>

#define PASCAL_GTX "cooperative dp4a"
#define TURING "cooperative dp4a fp16 mma_f16 mma_i8"
#define AMPERE TURING " mma_k16 mma_bf16 cp_async"

const struct cuda_arch cuda_arch_table[] = {
    {50, 2048, 32, 64, 48, 0, 65536, ""},
    {52, 2048, 32, 96, 48, 0, 65536, ""},
    {53, 2048, 32, 64, 48, 0, 32768, "fp16"},
    {60, 2048, 32, 64, 48, 0, 65536, "cooperative fp16"},
    {61, 2048, 32, 96, 48, 0, 65536, PASCAL_GTX},
    {62, 2048, 32, 64, 48, 0, 32768, "cooperative fp16"},
    {70, 2048, 32, 96, 96, 0, 65536, "cooperative dp4a fp16"},
    {72, 2048, 32, 96, 96, 0, 65536, "cooperative dp4a fp16"},
    {75, 1024, 16, 64, 64, 0, 65536, TURING},
    {80, 2048, 32, 164, 163, 1024, 65536, AMPERE},
    {86, 1536, 16, 100, 99, 1024, 65536, AMPERE},
    {87, 1536, 16, 164, 163, 1024, 65536, AMPERE},
    {88, 1536, 16, 100, 99, 1024, 65536, AMPERE},
    {89, 1536, 24, 100, 99, 1024, 65536, AMPERE},
    {90, 2048, 32, 228, 227, 1024, 65536, AMPERE " wgmma"},
    {100, 2048, 32, 228, 227, 1024, 65536, AMPERE},
    {103, 2048, 32, 228, 227, 1024, 65536, AMPERE},
    {110, 1536, 24, 228, 227, 1024, 65536, AMPERE},
    {120, 1536, 24, 100, 99, 1024, 65536, AMPERE},
    {121, 1536, 24, 100, 99, 1024, 65536, AMPERE},
    {.sm = 0},
};

const struct cuda_arch *cuda_arch_find(int sm)
{
    for (const struct cuda_arch *a = cuda_arch_table; a->sm; a++)
        if (a->sm == sm)
            return a;
    return NULL;
}

bool cuda_arch_has(const struct device_desc *d, const char *word)
{
    const size_t n = strlen(word);

    if (!d->sm)
        return false;
    for (const char *at = d->extensions; (at = strstr(at, word)); at += n)
        if ((at == d->extensions || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

void cuda_arch_limits(const struct cuda_arch *a, struct device_desc *d)
{
    snprintf(d->api, sizeof d->api, "cuda");
    snprintf(d->platform, sizeof d->platform, "NVIDIA CUDA");
    snprintf(d->vendor, sizeof d->vendor, "NVIDIA");
    snprintf(d->extensions, sizeof d->extensions, "%s", a->words);
    d->kind = DEVICE_GPU;
    d->sm = a->sm;
    if (cuda_arch_has(d, "dp4a"))
        snprintf(d->dots, sizeof d->dots, "tune_dp4a");
    d->fp16 = cuda_arch_has(d, "fp16");
    d->max_work_group = 1024;
    d->max_local[0] = d->max_local[1] = 1024;
    d->max_local[2] = CUDA_MAX_SIDE_Z;
    d->local_bytes = CUDA_LOCAL_STATIC;
    d->local_max_bytes = a->local_max_kib * 1024;
    d->local_unit_bytes = a->local_unit_kib * 1024;
    d->local_reserved = a->local_reserved;
    d->constant_bytes = CUDA_CONSTANT_BYTES;
    d->registers = a->group_registers;
    d->unit_threads = a->unit_threads;
    d->unit_groups = a->unit_groups;
    d->vector_bits = 128;
}

void cuda_arch_describe(const struct cuda_arch *a, int units, struct device_desc *out)
{
    *out = (struct device_desc){.units = units, .global_bytes = (int64_t)8 << 30, .max_alloc_bytes = (int64_t)8 << 30};
    cuda_arch_limits(a, out);
    snprintf(out->name, sizeof out->name, "sm_%d", a->sm);
    out->cache_bytes = (int64_t)2 << 20;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

int cuda_arch_resident(const struct device_desc *d, int64_t threads, int64_t registers, int64_t local_bytes)
{
    const int64_t warps = round_up(threads, CUDA_WARP) / CUDA_WARP;
    const int64_t by_registers = warps * round_up(registers * CUDA_WARP, 256);
    const int64_t by_local = round_up(local_bytes + d->local_reserved, 128);
    int64_t n = d->unit_groups;

    if (threads < 1)
        return 0;
    if (d->unit_threads / (warps * CUDA_WARP) < n)
        n = d->unit_threads / (warps * CUDA_WARP);
    if (by_registers > 0 && d->registers / by_registers < n)
        n = d->registers / by_registers;
    if (by_local > 0 && d->local_unit_bytes / by_local < n)
        n = d->local_unit_bytes / by_local;
    return (int)n;
}
