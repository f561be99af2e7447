/* SPDX-License-Identifier: MIT */
#include "agent/plausible.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Bytes that a core stores while it does one operation at its peak, at the most: 64 of 32 on AVX-512 with one FMA pipe,
 * 16 of 8 on small ARM cores; GPUs have less. */
#define BYTES_PER_FLOP 2.0

/* GFLOPS of a unit below which the canary tells nothing of the rest of the device: FMA made by a library or an
 * emulator, beside integers and stores that are not. The smallest cores with vectors do 10. */
#define LEAST_GFLOPS 2.0

/* The narrowest type of what is multiplied. */
static size_t element_bytes(const struct program *p)
{
    size_t least = 4;

    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].role == ROLE_INPUT || p->buffers[i].role == ROLE_WEIGHT)
            least = dtype_bytes(p->buffers[i].dtype) < least ? dtype_bytes(p->buffers[i].dtype) : least;
    return least;
}

/* How many times the peak of f32 products of a type may reach: dot products of int8 4 times on GPUs, up to 8 on CPUs;
 * vendors' figures of tensor cores are below 16 (f16) and 32 (int8) times f32; AMX has 32 of two AVX-512 FMA pipes. */
static double times_f32(const struct program *p, const struct device_desc *d)
{
    const bool tensor_cores = strstr(p->extensions, "mma") || strstr(p->extensions, "tune_amx");

    switch (element_bytes(p)) {
    case 1:
        return tensor_cores ? 32 : d->kind == DEVICE_CPU ? 8 : 4;
    case 2:
        return tensor_cores ? 16 : 2;
    default:
        return 1;
    }
}

double plausible_ns(const struct program *p, const struct device_desc *d, double least_flops, double peak_gflops)
{
    double bytes = 0;

    assert(least_flops >= 0);
    if (!(peak_gflops >= LEAST_GFLOPS * (double)(d->units > 1 ? d->units : 1)))
        return 0;
    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].role == ROLE_OUTPUT)
            bytes += (double)p->buffers[i].n_elems * (double)dtype_bytes(p->buffers[i].dtype);
    return fmax(least_flops / (peak_gflops * times_f32(p, d)), bytes / (peak_gflops * BYTES_PER_FLOP));
}

enum err plausible_check(const struct program *p, const struct device_desc *d, double least_flops, double peak_gflops,
                         double time_ns, struct why *why)
{
    const double least_ns = plausible_ns(p, d, least_flops, peak_gflops);

    if (time_ns * PLAUSIBLE_MARGIN >= least_ns)
        return ERR_OK;
    return why_set(why, ERR_WRONG,
                   "%.4g ms is too fast to be true: at the measured peak of %.4g GFLOPS the least it has to do, %.4g "
                   "operations and writing its outputs, takes %.4g ms",
                   time_ns * 1e-6, peak_gflops, least_flops, least_ns * 1e-6);
}
