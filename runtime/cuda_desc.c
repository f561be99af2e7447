/* SPDX-License-Identifier: MIT */
/* cuda_desc.c - what a CUDA device is: its architecture's table, corrected by what the driver says. */
#include "runtime/cuda.h"

#include "core/buf.h"
#include "core/file.h"

#include <stdio.h>
#include <string.h>

#define OLDEST_SM 50

static int64_t attribute(cuda_device id, enum cuda_attribute a)
{
    int v = 0;

    return cuda.cuDeviceGetAttribute(&v, a, id) == 0 ? v : 0;
}

/* Overwrites what the table says where the driver knows better. */
static void correct(int64_t *value, cuda_device id, enum cuda_attribute a)
{
    const int64_t v = attribute(id, a);

    if (v > 0)
        *value = v;
}

/* The table's entry, or for an architecture newer than the table the closest older one: what it lacks, newer ones have
 * only more of. */
static const struct cuda_arch *nearest(int sm)
{
    const struct cuda_arch *best = NULL;

    for (const struct cuda_arch *a = cuda_arch_table; a->sm; a++)
        if (a->sm <= sm && (!best || a->sm > best->sm) && (a->sm / 10 == sm / 10 || sm > 120))
            best = a;
    return best;
}

static void put_uuid(cuda_device id, char out[CUDA_UUID_BYTES])
{
    struct cuda_uuid u;
    const unsigned char *b = u.bytes;
    cuda_result error = 1;

    out[0] = '\0';
    if (cuda.cuDeviceGetUuid_v2)
        error = cuda.cuDeviceGetUuid_v2(&u, id);
    if (error && cuda.cuDeviceGetUuid)
        error = cuda.cuDeviceGetUuid(&u, id);
    if (!error)
        snprintf(out, CUDA_UUID_BYTES, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* The kernel module's version, as it tells it itself or as NVML does; both say the same. Where neither is to be had,
 * the newest CUDA that the driver knows. */
static void put_driver(char *out, size_t n_out)
{
    const int v = cuda_driver_version();
    struct buf text;

    buf_init(&text, 256);
    if (file_read("/sys/module/nvidia/version", &text, NULL) == ERR_OK && text.len)
        snprintf(out, n_out, "%.*s", (int)strcspn(buf_text(&text), " \n"), buf_text(&text));
    else if (!nvml_driver_version(out, (unsigned)n_out))
        snprintf(out, n_out, "CUDA %d.%d", v / 1000, v % 1000 / 10);
    buf_fini(&text);
}

static void put_limits(cuda_device id, struct device_desc *d)
{
    d->units = attribute(id, CUDA_UNITS);
    correct(&d->max_work_group, id, CUDA_MAX_THREADS);
    for (int i = 0; i < 3; i++)
        correct(&d->max_local[i], id, CUDA_MAX_BLOCK_X + i);
    correct(&d->local_bytes, id, CUDA_SHARED_BYTES);
    correct(&d->local_max_bytes, id, CUDA_SHARED_OPTIN_BYTES);
    correct(&d->local_unit_bytes, id, CUDA_UNIT_SHARED_BYTES);
    correct(&d->local_reserved, id, CUDA_SHARED_RESERVED_BYTES);
    correct(&d->registers, id, CUDA_UNIT_REGISTERS);
    correct(&d->unit_threads, id, CUDA_UNIT_THREADS);
    correct(&d->unit_groups, id, CUDA_UNIT_BLOCKS);
    correct(&d->cache_bytes, id, CUDA_L2_BYTES);
    d->shares_host = attribute(id, CUDA_INTEGRATED) != 0;
}

enum err cuda_describe_device(cuda_device id, struct device_desc *out, char uuid[CUDA_UUID_BYTES], struct why *why)
{
    const int sm = (int)(10 * attribute(id, CUDA_MAJOR) + attribute(id, CUDA_MINOR)), v = cuda_driver_version();
    const struct cuda_arch *arch = nearest(sm);
    struct device_desc d = {.units = 0};
    size_t bytes = 0;
    cuda_result error;

    error = cuda.cuDeviceGetName(d.name, sizeof d.name - 1, id);
    if (!error)
        error = cuda.cuDeviceTotalMem_v2(&bytes, id);
    if (error)
        return cuda_failed(why, "asking a device for its name and memory", error);
    if (!arch)
        return why_set(why, ERR_UNSUPPORTED, "%s is an sm_%d: sm_%d and newer are supported", d.name, sm, OLDEST_SM);
    cuda_arch_limits(arch, &d);
    d.sm = sm;
    snprintf(d.platform_version, sizeof d.platform_version, "CUDA %d.%d", v / 1000, v % 1000 / 10);
    put_driver(d.driver, sizeof d.driver);
    put_uuid(id, uuid);
    d.global_bytes = d.max_alloc_bytes = (int64_t)bytes;
    put_limits(id, &d);
    *out = d;
    return ERR_OK;
}
