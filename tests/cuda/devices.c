/* SPDX-License-Identifier: MIT */
/* devices.c - which devices there seem to be. Settings by environment, read at every call:
 * TUNE_CUDA_SM=61,80      architectures, one a device; "" = no device; 80 when unset
 * TUNE_CUDA_MEMORY=BYTES  of each device
 * TUNE_CUDA_DRIVER=12040  the driver's version: 1000 * major + 10 * minor */
#include "tests/cuda/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 8
#define KIB 1024

/* Facts from the table of technical specifications in NVIDIA's programming guide; units, clocks and sizes are those of
 * one product of each architecture. */
static const struct device_kind {
    int sm, units, clock_mhz, memory_clock_mhz, bus_bits, l2_kib, memory_mib;
    int unit_threads, unit_blocks, unit_shared_kib, shared_max_kib, reserved_bytes, block_registers;
    int single_to_double, integrated;
} kinds[] = {
    {52, 16, 1216, 3505, 256, 2048, 4096, 2048, 32, 96, 48, 0, 65536, 32, 0},
    {53, 1, 921, 1600, 64, 256, 4096, 2048, 32, 64, 48, 0, 32768, 32, 1},
    {60, 56, 1328, 715, 4096, 4096, 16384, 2048, 32, 64, 48, 0, 65536, 2, 0},
    {61, 20, 1733, 5005, 256, 2048, 8192, 2048, 32, 96, 48, 0, 65536, 32, 0},
    {62, 2, 1300, 1600, 128, 512, 8192, 2048, 32, 64, 48, 0, 32768, 32, 1},
    {70, 80, 1380, 877, 4096, 6144, 16384, 2048, 32, 96, 96, 0, 65536, 2, 0},
    {72, 8, 1377, 2133, 256, 512, 16384, 2048, 32, 96, 96, 0, 65536, 2, 1},
    {75, 40, 1590, 5001, 256, 4096, 15360, 1024, 16, 64, 64, 0, 65536, 32, 0},
    {80, 108, 1410, 1215, 5120, 40960, 40960, 2048, 32, 164, 163, 1024, 65536, 2, 0},
    {86, 82, 1695, 9751, 384, 6144, 24576, 1536, 16, 100, 99, 1024, 65536, 32, 0},
    {87, 16, 1300, 3199, 256, 4096, 32768, 1536, 16, 164, 163, 1024, 65536, 32, 1},
    {89, 128, 2520, 10501, 384, 73728, 24576, 1536, 24, 100, 99, 1024, 65536, 64, 0},
    {90, 132, 1980, 2619, 5120, 51200, 81920, 2048, 32, 228, 227, 1024, 65536, 2, 0},
    {100, 148, 1965, 3996, 8192, 129024, 184320, 2048, 32, 228, 227, 1024, 65536, 2, 0},
    {120, 170, 2407, 14001, 512, 98304, 32768, 1536, 24, 100, 99, 1024, 65536, 64, 0},
};

static const struct device_kind *find(int sm)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].sm == sm)
            return &kinds[i];
    return NULL;
}

static int list(const struct device_kind *found[MAX_DEVICES])
{
    const char *text = getenv("TUNE_CUDA_SM");
    char copy[128], *rest = NULL;
    int n = 0;

    snprintf(copy, sizeof copy, "%s", text ? text : "80");
    for (char *item = strtok_r(copy, ",", &rest); item && n < MAX_DEVICES; item = strtok_r(NULL, ",", &rest)) {
        found[n] = find(atoi(item));
        if (found[n])
            n++;
        else
            fprintf(stderr, "TUNE_CUDA_SM: no architecture '%s'\n", item);
    }
    return n;
}

static const struct device_kind *kind_of(CUdevice d)
{
    const struct device_kind *found[MAX_DEVICES];

    return d >= 0 && d < list(found) ? found[d] : NULL;
}

int device_count(void)
{
    const struct device_kind *found[MAX_DEVICES];

    return list(found);
}

int device_sm(CUdevice d)
{
    const struct device_kind *k = kind_of(d);

    return k ? k->sm : 0;
}

int64_t device_memory(CUdevice d)
{
    const struct device_kind *k = kind_of(d);

    return environment_number("TUNE_CUDA_MEMORY", k ? (int64_t)k->memory_mib << 20 : 0);
}

/* Of CUdevice_attribute. What is the same on all devices, and what one fact of the table says, times a factor. */
static const struct {
    int attribute, value;
} common[] = {
    {1, 1024},       /* MAX_THREADS_PER_BLOCK */
    {2, 1024},       /* MAX_BLOCK_DIM_X, _Y, _Z */
    {3, 1024},       /* */
    {4, 64},         /* */
    {5, 2147483647}, /* MAX_GRID_DIM_X, _Y, _Z */
    {6, 65535},      /* */
    {7, 65535},      /* */
    {8, 48 * KIB},   /* MAX_SHARED_MEMORY_PER_BLOCK */
    {9, 64 * KIB},   /* TOTAL_CONSTANT_MEMORY */
    {10, EMU_WARP},  /* WARP_SIZE */
    {14, 512},       /* TEXTURE_ALIGNMENT */
    {15, 1},         /* GPU_OVERLAP */
    {19, 1},         /* CAN_MAP_HOST_MEMORY */
    {31, 1},         /* CONCURRENT_KERNELS */
    {40, 2},         /* ASYNC_ENGINE_COUNT */
    {41, 1},         /* UNIFIED_ADDRESSING */
    {78, 1},         /* STREAM_PRIORITIES_SUPPORTED */
    {82, 65536},     /* MAX_REGISTERS_PER_MULTIPROCESSOR */
    {83, 1},         /* MANAGED_MEMORY */
};
#define FACT(name) offsetof(struct device_kind, name)
static const struct {
    int attribute;
    size_t fact;
    int factor;
} own[] = {
    {12, FACT(block_registers), 1},     /* MAX_REGISTERS_PER_BLOCK */
    {13, FACT(clock_mhz), 1000},        /* CLOCK_RATE, kHz */
    {16, FACT(units), 1},               /* MULTIPROCESSOR_COUNT */
    {18, FACT(integrated), 1},          /* INTEGRATED */
    {36, FACT(memory_clock_mhz), 1000}, /* MEMORY_CLOCK_RATE, kHz */
    {37, FACT(bus_bits), 1},            /* GLOBAL_MEMORY_BUS_WIDTH */
    {38, FACT(l2_kib), KIB},            /* L2_CACHE_SIZE */
    {39, FACT(unit_threads), 1},        /* MAX_THREADS_PER_MULTIPROCESSOR */
    {81, FACT(unit_shared_kib), KIB},   /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
    {87, FACT(single_to_double), 1},    /* SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO */
    {97, FACT(shared_max_kib), KIB},    /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    {106, FACT(unit_blocks), 1},        /* MAX_BLOCKS_PER_MULTIPROCESSOR */
    {111, FACT(reserved_bytes), 1},     /* RESERVED_SHARED_MEMORY_PER_BLOCK */
};

/* What is worked out. */
static int derived(const struct device_kind *k, CUdevice d, int attribute)
{
    switch (attribute) {
    case 33: /* PCI_BUS_ID */
        return d + 1;
    case 75: /* COMPUTE_CAPABILITY_MAJOR, _MINOR */
        return k->sm / 10;
    case 76:
        return k->sm % 10;
    case 95: /* COOPERATIVE_LAUNCH */
        return k->sm >= 60;
    default:
        return 0;
    }
}

int device_attribute(CUdevice d, int attribute)
{
    const struct device_kind *k = kind_of(d);

    if (!k)
        return 0;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (common[i].attribute == attribute)
            return common[i].value;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].attribute == attribute)
            return *(const int *)(const void *)((const char *)k + own[i].fact) * own[i].factor;
    return derived(k, d, attribute);
}

/* Calls that do something with a device: it must be there. */
static CUresult enter(const char *name, CUdevice d)
{
    const CUresult e = driver_enter(CALL_FREE, name, "device=%d", d);

    if (e)
        return e;
    if (!driver_is_up())
        return driver_leave(CUDA_ERROR_NOT_INITIALIZED);
    return kind_of(d) ? CUDA_SUCCESS : driver_leave(CUDA_ERROR_INVALID_DEVICE);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    const CUresult e = enter("cuDeviceGet", ordinal);

    if (e)
        return e;
    *device = ordinal;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetCount(int *n)
{
    const CUresult e = driver_enter(CALL_FREE, "cuDeviceGetCount", "%s", "");

    if (e)
        return e;
    if (!driver_is_up())
        return driver_leave(CUDA_ERROR_NOT_INITIALIZED);
    *n = device_count();
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int n, CUdevice d)
{
    const CUresult e = enter("cuDeviceGetName", d);

    if (e)
        return e;
    snprintf(name, (size_t)n, "Emulated sm_%d", device_sm(d));
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice d)
{
    const CUresult e = enter("cuDeviceGetUuid", d);

    if (e)
        return e;
    for (int i = 0; i < 16; i++)
        uuid->bytes[i] = (char)(i < 14 ? 0xe0 + i : i == 14 ? device_sm(d) : d);
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice d)
{
    return cuDeviceGetUuid(uuid, d);
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice d)
{
    const CUresult e = enter("cuDeviceGetAttribute", d);

    if (e)
        return e;
    *value = device_attribute(d, attribute);
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuDeviceTotalMem_v2(size_t *n_bytes, CUdevice d)
{
    const CUresult e = enter("cuDeviceTotalMem", d);

    if (e)
        return e;
    *n_bytes = (size_t)device_memory(d);
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetPCIBusId(char *id, int n, CUdevice d)
{
    const CUresult e = enter("cuDeviceGetPCIBusId", d);

    if (e)
        return e;
    snprintf(id, (size_t)n, "0000:%02X:00.0", (unsigned)d + 1);
    return driver_leave(CUDA_SUCCESS);
}
