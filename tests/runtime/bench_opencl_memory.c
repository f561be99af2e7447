/* SPDX-License-Identifier: MIT */
/* Writing, reading and running on buffers that are mapped (as on devices that share the host's memory) beside copied
 * ones: medians in us for several sizes, in turns. The first run after a write is not counted: who wrote, this thread
 * or a worker of the driver, has the data in its cache. Asserts nothing. */
#include "core/clock.h"
#include "runtime/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS 61

extern const struct device_ops opencl_device_ops;

static const char text[] = "__kernel void twice(__global const float *x, __global float *y)\n"
                           "{ int i = get_global_id(0); y[i] = 2 * x[i]; }\n";

enum { WRITE, READ, RUN, N_WAYS };

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static enum err make(struct program *p, struct blobs *blobs, int64_t n)
{
    const int64_t grid[3] = {n / 64, 1, 1}, block[3] = {64, 1, 1};
    struct program_module *m;
    struct program_launch *l;

    program_init(p);
    p->workload = strdup("twice");
    m = program_add_module(p, "main", LANG_OPENCL_C, "");
    program_add_buffer(p, "x", ROLE_INPUT, DTYPE_F32, n);
    program_add_buffer(p, "y", ROLE_OUTPUT, DTYPE_F32, n);
    l = program_add_kernel(p, PHASE_RUN, 0, "twice", grid, block);
    program_arg_buffer(l, 0);
    program_arg_buffer(l, 1);
    return blobs_put(blobs, text, strlen(text), &m->source);
}

static double once(struct loaded *l, int way, float *data, struct why *why)
{
    const int64_t from = clock_now_ns();
    int64_t device_ns = 0;
    enum err e;

    if (way == WRITE)
        e = opencl_device_ops.write(l, 0, data, why);
    else if (way == READ)
        e = opencl_device_ops.read(l, 1, data, why);
    else
        e = opencl_device_ops.run(l, PHASE_RUN, NULL, NULL, why);
    if (!e && way == RUN)
        e = opencl_device_ops.run(l, PHASE_RUN, &device_ns, NULL, why);
    return e ? -1 : (double)(device_ns > 0 ? device_ns : clock_now_ns() - from) * 1e-3;
}

static enum err compare(struct device *d, int64_t n, struct why *why)
{
    struct program p;
    struct blobs blobs;
    struct loaded *l[2] = {NULL};
    double us[2][N_WAYS][TURNS];
    float *data = calloc((size_t)n, sizeof *data);
    enum err e = data ? ERR_OK : ERR_NOMEM;

    blobs_init(&blobs, 1 << 20);
    if (!e)
        e = make(&p, &blobs, n);
    for (int mapped = 0; !e && mapped < 2; mapped++) {
        d->desc.shares_host = mapped;
        e = opencl_device_ops.load(d, &p, &blobs, NULL, &l[mapped], NULL, why);
    }
    for (int t = 0; !e && t < TURNS; t++)
        for (int i = 0; i < 2; i++)
            for (int way = 0; way < N_WAYS; way++) {
                const int mapped = (t + i) % 2; /* each goes first in every second turn */

                d->desc.shares_host = mapped;
                us[mapped][way][t] = once(l[mapped], way, data, why);
            }
    for (int mapped = 0; !e && mapped < 2; mapped++)
        for (int way = 0; way < N_WAYS; way++)
            qsort(us[mapped][way], TURNS, sizeof(double), by_size);
    if (!e)
        printf("%10lld bytes: write %9.1f -> %9.1f, read %9.1f -> %9.1f, run %9.1f -> %9.1f us copied -> mapped\n",
               (long long)n * 4, us[0][WRITE][TURNS / 2], us[1][WRITE][TURNS / 2], us[0][READ][TURNS / 2],
               us[1][READ][TURNS / 2], us[0][RUN][TURNS / 2], us[1][RUN][TURNS / 2]);
    opencl_device_ops.unload(l[0]);
    opencl_device_ops.unload(l[1]);
    program_fini(&p);
    blobs_fini(&blobs);
    free(data);
    return e;
}

int main(void)
{
    struct device *d = NULL;
    struct why why = {""};
    enum err e;

    setenv("POCL_MAX_PTHREAD_COUNT", "1", 0);
    e = opencl_device_ops.open("", &d, &why);
    if (e) {
        printf("skipped: %s\n", why.text);
        return 77;
    }
    for (int64_t n = 1024; !e && n <= (int64_t)16 << 20; n *= 16)
        e = compare(d, n, &why);
    if (e)
        printf("%s: %s\n", err_name(e), why.text);
    opencl_device_ops.close(d);
    return e != ERR_OK;
}
