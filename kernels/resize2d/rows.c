/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/resize2d/resize2d.h"

#include <string.h>

#define MAX_ROW 8192 /* elements in private memory: half of a CPU's first cache */
#define MAX_PERIOD 16

/* Elements of a row that are kept before and behind x's, so that no place is outside; FRONT to END in all. */
struct kept {
    int64_t before, all;
};

static int64_t floor_of(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Outputs are made in whole periods. */
static struct kept kept_of(const struct resize_shape *z)
{
    const struct resize_axis *a = &z->cols;
    const int64_t period = resize2d_period(a).period, last = (CEIL(a->size, period) * period - 1) * a->step + a->first;
    const int64_t low = floor_of(a->first, a->unit), high = floor_of(last, a->unit) + 1;
    const int64_t before = low < 0 ? -low : 0;

    return (struct kept){before, before + (high + 1 > a->n ? high + 1 : a->n)};
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct resize_shape z = resize2d_shape(w);
    const char *words = NULL;

    if (z.lanes > 1)
        words = "is for nchw";
    else if (strcmp(d->api, "cuda") == 0)
        words = "is for CPUs, one work-item a group; on a CUDA device: resize2d/pixels";
    else if (z.cols.step < 1 || resize2d_period(&z.cols).period > MAX_PERIOD)
        words = "wants columns that lie alike after 16 outputs at the most";
    else if (kept_of(&z).all > MAX_ROW)
        words = "keeps a row of up to 8192 elements";
    if (words) {
        why_set(why, ERR_UNSUPPORTED, "resize2d/rows %s", words);
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"rows", {1, 2, 4, 7, 8, 14, 16, 28, 32, 56, 64, 112, 128, 224, 256, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"chunks", "ceil_div(size_p, rows)"},
    {"groups", "planes * chunks"},
    {"waste_p", "chunks * rows / size_p"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "rows == 1 or rows < 2 * size_p",
    "vec == 1 or vec * col_up <= size_q",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return resize2d_space(w, d, knobs, quantities, constraints, s, why);
}

static struct build_items row_items(const int64_t *v, const void *arg)
{
    const struct resize_shape *z = arg;

    return (struct build_items){.n = z->n * z->c * CEIL(z->rows.size, v[0]),
                                .cycles = (double)(v[0] * (z->cols.n + z->cols.size)) + BUILD_ITEM_CYCLES};
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct resize_shape z = resize2d_shape(w);

    *out = (struct config){{0}};
    build_choose(s, (const struct build_define[]){{"vec", build_vector(d)}, {"rows", z.rows.size}, {NULL, 0}}, out);
    if (build_make_valid(s, (const char *const[]){"rows", "vec", NULL}, out))
        return ERR_NOT_FOUND;
    if (d->kind == DEVICE_CPU)
        build_spread(s, d, (const char *const[]){"rows", NULL}, row_items, &z, out);
    return ERR_OK;
}

static void program(struct build *b)
{
    const struct resize_shape z = resize2d_shape(b->w);
    const struct resize_period period = resize2d_period(&z.cols);
    const int64_t grid[] = {build_int(b, "groups"), 1, 1};

    build_module(b, "resize2d/rows.cl");
    resize2d_define(b);
    build_define(b, "PERIOD", period.period);
    build_define(b, "ADVANCE", period.advance);
    build_define(b, "BEFORE", kept_of(&z).before);
    build_define(b, "KEPT", kept_of(&z).all);
    build_launch(b, PHASE_RUN, "resize2d_rows", grid, (const int64_t[]){1, 1, 1}, (const int[]){0, 1, -1});
}

const struct template resize2d_rows = {
    .id = "resize2d/rows",
    .version = 1,
    .summary = "CPU, nchw: a row between two of x in private memory, then its columns, whose weights repeat",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = resize2d_numerics,
};
