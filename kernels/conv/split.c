/* SPDX-License-Identifier: MIT */
#include "kernels/conv/split.h"

#include "core/err.h"

#include <assert.h>

#define SUM_GROUP 128 /* work-items */

enum err split_add_knob(struct space *s, struct why *why)
{
    static const struct build_knob knobs[] = {{"split", {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, BUILD_END}}, {0}};

    return build_knobs(s, knobs, why);
}

enum err split_add_constraints(struct space *s, const struct device_desc *d, struct why *why)
{
    static const char *const quantities[][2] = {{"groups", "groups_whole * split"}, {NULL, NULL}};
    static const char *const constraints[] = {
        "split == 1 or ceil_div(steps, ceil_div(steps, split)) == split",
        "split == 1 or split * size_n * size_k * size_p * size_q <= 16777216",
        "split == 1 or groups_whole < 16 * units",
        NULL,
    };
    enum err e = space_add_constant(s, "units", (double)build_threads(d), why);

    if (!e)
        e = build_quantities(s, quantities, why);
    return e ? e : build_constraints(s, constraints, why);
}

/* Bytes of all parts, written and read, and of the layer's own tensors. */
static bool parts_are_cheap(const struct space *s, const struct config *c)
{
    const int64_t outputs =
        space_int(s, c, "size_n") * space_int(s, c, "size_k") * space_int(s, c, "size_p") * space_int(s, c, "size_q");
    const int64_t inputs =
        space_int(s, c, "size_n") * space_int(s, c, "size_c") * space_int(s, c, "size_h") * space_int(s, c, "size_w");
    const int64_t weights =
        space_int(s, c, "size_k") * space_int(s, c, "size_cg") * space_int(s, c, "size_r") * space_int(s, c, "size_s");
    const int64_t sum_bytes = space_int(s, c, "sum_elem_bytes");
    const int64_t own_bytes = (inputs + weights) * space_int(s, c, "elem_bytes") + outputs * sum_bytes;

    return space_int(s, c, "split") * outputs * sum_bytes <= own_bytes;
}

void split_spread(const struct space *s, const struct device_desc *d, struct config *c)
{
    const int knob = space_find_knob(s, "split");
    struct config best = *c;

    if (d->kind != DEVICE_GPU || knob < 0)
        return;
    for (size_t v = 0; v < space_n_values(s, (size_t)knob); v++) {
        struct config next = *c;

        if (space_int(s, &best, "groups") >= 2 * build_threads(d))
            break;
        next.choice[knob] = (uint16_t)v;
        if (space_is_valid(s, &next, NULL) && parts_are_cheap(s, &next))
            best = next;
    }
    *c = best;
}

void split_last_launch(struct build *b, const struct conv_shape *z, const char *kernel, const int64_t grid[3],
                       const int64_t block[3], const int *buffers)
{
    const int64_t split = build_int(b, "split"), n = z->n * z->k * z->p * z->q;
    const int64_t most = build_max_side(b->d, 0), wg = most < SUM_GROUP ? most : SUM_GROUP;
    int all[PROGRAM_MAX_ARGS], n_buffers = 0;

    assert(split >= 1 && wg >= 1);
    if (split == 1) {
        build_last_launch(b, kernel, grid, block, buffers);
        return;
    }
    for (; buffers[n_buffers] >= 0; n_buffers++)
        all[n_buffers] = buffers[n_buffers];
    assert(n_buffers < PROGRAM_MAX_ARGS - 1);
    all[n_buffers] = build_buffer(b, "partial", ROLE_SCRATCH, build_sums(b), split * n);
    all[n_buffers + 1] = -1;
    build_define(b, "SUM_WG", wg);
    build_launch(b, PHASE_RUN, kernel, grid, block, all);
    build_last_launch(b, "conv_sum_parts", (const int64_t[]){CEIL(n, wg), 1, 1}, (const int64_t[]){wg, 1, 1},
                      (const int[]){all[n_buffers], -1});
}
