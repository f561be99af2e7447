/* SPDX-License-Identifier: MIT */
#include "kernels/glue/stream.h"

#include "core/err.h"

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"run", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"part", "wg * run * vec"}, /* elements of a group */
    {"groups", "ceil_div(size, part)"}, {"work_items", "wg"},
    {"waste", "groups * part / size"},  {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"move_bytes", "vec * elem_bytes"}, {NULL, NULL},
};

static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",
    "vec == 1 or vec <= size",
    "run == 1 or part < 2 * size",
    "wg == 1 or wg * vec < 2 * size",
    NULL,
};

enum err stream_space(const struct workload *w, int64_t n, const struct device_desc *d, struct space *s,
                      struct why *why)
{
    const struct build_named constants[] = {
        {"size", (double)n}, {"elem_bytes", (double)dtype_bytes(w->dtype)}, {NULL, 0}};

    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

static struct build_items run_items(const int64_t *v, const void *arg)
{
    const int64_t *a = arg; /* elements, lanes */

    return (struct build_items){.n = CEIL(a[0], v[0] * a[1]), .cycles = (double)(8 * v[0]) + BUILD_ITEM_CYCLES};
}

/* CPUs: long runs of one work-item, several for each thread. Others: neighbours read neighbouring vectors. */
enum err stream_fallback(const struct workload *w, int64_t n, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t vec = cpu ? build_vector(d) : 16 / (int64_t)dtype_bytes(w->dtype);
    const int64_t run = CEIL(n, vec * 4);

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", vec},
                                               {"run", !cpu         ? 1
                                                       : run > 4096 ? 4096
                                                                    : run},
                                               {"wg", cpu ? 1 : 256},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"run", "wg", "vec", NULL}, out))
        return ERR_NOT_FOUND;
    if (cpu)
        build_spread(s, d, (const char *const[]){"run", NULL}, run_items, (const int64_t[]){n, vec}, out);
    return ERR_OK;
}
