/* SPDX-License-Identifier: MIT */
#include "kernels/strided_copy/strided_copy.h"

#include "core/err.h"

static const struct build_knob knobs[] = {
    {"ta", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, BUILD_END}},
    {"tb", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {"by_b", {0, 1, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, 128, 256, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"tiles_a", "ceil_div(length_a, ta)"},
    {"tiles_b", "ceil_div(length_b, tb)"},
    {"tiles", "tiles_a * tiles_b * others"},
    {"groups", "ceil_div(tiles, wg)"},
    {"work_items", "wg"},
    {"waste", "tiles_a * ta * tiles_b * tb / (length_a * length_b)"},
    {"held", "ta * tb"},
    {"read_apart", "by_b * near_b + (1 - by_b) * near_a"}, /* elements of x from one to the next in the inner loop */
    {"written_apart", "by_b * length_a + (1 - by_b)"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "wg <= max_group and wg <= max_x",
    "ta < 2 * length_a",
    "tb < 2 * length_b",
    "wg == 1 or wg < 2 * tiles",
    "by_b == 0 or tb > 1", /* else it changes nothing */
    "ta * tb <= 16384",
    NULL,
};

static int64_t distance(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* The dimension beside the innermost one along which tiles reach: of d1 and d2 the one with the nearer neighbours. */
static int other_dim(const struct strided_copy *s)
{
    const int64_t d1 = distance(s->dim[1].stride), d2 = distance(s->dim[2].stride);

    return strided_copy_length(s, 2) > 1 && (strided_copy_length(s, 1) == 1 || d2 < d1) ? 2 : 1;
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct strided_copy z = strided_copy_of(w);
    const int b = other_dim(&z);
    const double a_b = (double)strided_copy_length(&z, 0) * (double)strided_copy_length(&z, b);
    const struct build_named constants[] = {{"length_a", (double)strided_copy_length(&z, 0)},
                                            {"length_b", (double)strided_copy_length(&z, b)},
                                            {"others", (double)strided_copy_elems(&z) / a_b},
                                            {"near_a", (double)distance(z.dim[0].stride)},
                                            {"near_b", (double)distance(z.dim[b].stride)},
                                            {"elem_bytes", (double)dtype_bytes(w->dtype)},
                                            {NULL, 0}};

    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

static struct build_items tile_items(const int64_t *v, const void *arg)
{
    const int64_t *a = arg; /* lengths, how many such planes */

    return (struct build_items){.n = a[2] * CEIL(a[0], v[0]) * CEIL(a[1], v[1]),
                                .cycles = (double)(2 * v[0] * v[1]) + BUILD_ITEM_CYCLES};
}

/* CPUs: long rows where x has them, else square tiles, several for each thread. Others: neighbours write neighbours. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct strided_copy z = strided_copy_of(w);
    const int b = other_dim(&z);
    const bool cpu = d->kind == DEVICE_CPU, rows = distance(z.dim[0].stride) <= 1;
    const int64_t n_a = strided_copy_length(&z, 0), n_b = strided_copy_length(&z, b);

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"ta", !cpu   ? 1
                                                      : rows ? 1024
                                                             : 16},
                                               {"tb", !cpu   ? rows ? 1 : 4
                                                      : rows ? 4
                                                             : 16},
                                               {"by_b", 0},
                                               {"wg", cpu ? 1 : 128},
                                               {NULL, 0}},
                 out);
    if (build_make_valid(s, (const char *const[]){"ta", "tb", "wg", NULL}, out))
        return ERR_NOT_FOUND;
    if (cpu)
        build_spread(s, d, (const char *const[]){"ta", "tb", NULL}, tile_items,
                     (const int64_t[]){n_a, n_b, strided_copy_elems(&z) / n_a / n_b}, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct strided_copy z = strided_copy_of(b->w);

    build_module(b, "strided_copy/tile.cl");
    build_define(b, "D2", other_dim(&z) == 2);
    strided_copy_launch(b, "strided_copy_tile", build_int(b, "groups"), build_int(b, "wg"));
}

const struct template strided_copy_tile = {
    .id = "strided_copy/tile",
    .version = 1,
    .summary = "tiles of the innermost dimension and of the one that is nearest in x",
    .fit = fit_anywhere,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = numerics_exact,
};
