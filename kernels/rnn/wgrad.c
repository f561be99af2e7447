/* SPDX-License-Identifier: MIT */
#include "kernels/rnn/launch.h"
#include "core/err.h"
#include "kernels/rnn/rnn.h"

#include <assert.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (rnn_shape_of(w).pass != RNN_BWD_WEIGHT) {
        why_set(why, ERR_UNSUPPORTED, "rnn/wgrad computes pass=bwd_weight alone (rnn/plan computes the other two)");
        return FIT_NONE;
    }
    return d->kind == DEVICE_CPU ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"mr", {1, 2, 3, 4, 5, 6, 8, 10, 12, 13, 14, 16, 20, BUILD_END}},
    {"nv", {1, 2, 3, 4, BUILD_END}},
    {"ku", {1, 2, 4, 8, BUILD_END}},
    {"kc", {64, 128, 256, 512, 1024, 16777216, BUILD_END}},
    {"stacked", {0, 1, BUILD_END}},
    {"pf", {0, 4, 8, 16, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"registers", "(mr * nv + nv) * ceil_div(vec, max(lanes, 4)) + 1"},
    {"lane_use", "min(vec, lanes) / max(lanes, 4)"},
    {"loads_per_fma", "(mr + nv) / (mr * nv)"},
    {"waste", "ceil_div(size_h, vec * nv) * vec * nv / size_h * ceil_div(slots * size_h, mr) * mr / (slots * size_h)"},
    {"blocks", "ceil_div(size_k, kc)"},
    {"panel_bytes", "nv * vec * min(kc, size_k) * 4"},
    {"rows_bytes", "mr * min(kc, size_k) * 4"},
    {"body", "mr * nv * ku"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "registers <= 33",
    "vec <= max(lanes, 4)",
    "body <= 512",
    "kc < size_k or kc == 16777216",
    "mr < slots * size_h + 2",
    "nv == 1 or (nv - 1) * vec < max(size_h, size_i)",
    "wg <= max_group and wg <= max_x",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct rnn_shape z = rnn_shape_of(w);
    const struct build_named constants[] = {{"size_i", (double)z.i},
                                            {"size_h", (double)z.h},
                                            {"size_k", (double)(z.t * z.b)},
                                            {"slots", (double)z.slots},
                                            {NULL, 0}};

    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct rnn_shape z = rnn_shape_of(w);
    const int64_t lanes = build_vector(d) < 4 ? 4 : build_vector(d), k = z.t * z.b;
    const bool cpu = d->kind == DEVICE_CPU;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", cpu ? lanes : 4},
                                               {"mr", cpu ? 12 : 4},
                                               {"nv", cpu ? 2 : 1},
                                               {"ku", 4},
                                               {"kc", k > 256 ? 256 : 16777216},
                                               {"stacked", 0},
                                               {"pf", cpu ? 8 : 0},
                                               {"wg", cpu ? 1 : 32},
                                               {NULL, 0}},
                 out);
    return build_make_valid(s, (const char *const[]){"nv", "mr", "wg", NULL}, out);
}

/* A program under construction, and its buffers. */
struct plan {
    struct build *b;
    struct rnn_shape s;
    int64_t wg, tile, kc;
    int panels, rows, sums;
};

static int64_t pitch_of(const struct plan *p, int64_t columns)
{
    return CEIL(columns, p->tile) * p->tile;
}

/* A factor on the right: x of a layer, or the states before. */
struct factor {
    const char *x, *to; /* the result's tensor */
    int64_t layer, x_layer, to_layer, width;
    bool before;
};

static void add_rows(const struct plan *p, const struct factor *f, int64_t offset, int64_t pitch)
{
    const int64_t numbers[] = {f->layer, f->x_layer, f->width, f->before, offset, pitch};
    struct launch_int ints[6] = {{0}};

    assert(offset + f->width <= pitch);
    for (int i = 0; i < 6; i++)
        ints[i].value = numbers[i];
    launch_add(p->b, PHASE_RUN, "wgrad_rows", p->s.t * f->width, p->wg, 1,
               (const int[]){build_tensor(p->b, f->x), build_tensor(p->b, "h0"), p->rows, -1}, 6, ints);
}

static void add_product(const struct plan *p, int64_t pitch)
{
    const int64_t tiles = CEIL(p->s.slots * p->s.h, build_int(p->b, "mr")), k = p->s.t * p->s.b;
    const int first = launch_next(p->b);

    assert(p->tile > 0 && pitch % p->tile == 0);
    launch_add(p->b, PHASE_RUN, "wgrad_product", tiles * (pitch / p->tile), p->wg, 1,
               (const int[]){p->panels, p->rows, p->sums, -1}, 2,
               (const struct launch_int[]){{pitch, {0}}, {0, {p->kc, 0}}});
    launch_loop(p->b, first, CEIL(k, p->kc));
}

static void add_store(const struct plan *p, const struct factor *f, int64_t offset, int64_t pitch)
{
    const int64_t numbers[] = {f->to_layer, f->width, f->before, offset, pitch};
    struct launch_int ints[5] = {{0}};

    assert(offset + f->width <= pitch && f->to_layer < p->s.l);
    for (int i = 0; i < 5; i++)
        ints[i].value = numbers[i];
    launch_add(p->b, PHASE_RUN, "wgrad_store", p->s.gates * p->s.h, p->wg, 1,
               (const int[]){p->sums, build_tensor(p->b, f->to), -1}, 5, ints);
}

static void add_layer(const struct plan *p, int64_t l, bool stacked)
{
    const struct factor input = {l ? "hs" : "x", l ? "dw_up" : "dw",  l,    l ? l - 1 : 0,
                                 l ? l - 1 : 0,  rnn_width(&p->s, l), false};
    const struct factor state = {"hs", "dr", l, l, l, p->s.h, true};
    const int64_t both = pitch_of(p, input.width + state.width);

    launch_add(p->b, PHASE_RUN, "wgrad_pack", CEIL(p->s.slots * p->s.h, build_int(p->b, "mr")) * p->s.t, p->wg, 1,
               (const int[]){build_tensor(p->b, "dgates"), p->panels, -1}, 1, (const struct launch_int[]){{l, {0}}});
    if (stacked) {
        add_rows(p, &input, 0, both);
        add_rows(p, &state, input.width, both);
        add_product(p, both);
        add_store(p, &input, 0, both);
        add_store(p, &state, input.width, both);
        return;
    }
    for (int i = 0; i < 2; i++) {
        const struct factor *f = i ? &state : &input;
        const int64_t pitch = pitch_of(p, f->width);

        add_rows(p, f, 0, pitch);
        add_product(p, pitch);
        add_store(p, f, 0, pitch);
    }
}

static void program(struct build *b)
{
    const struct rnn_shape s = rnn_shape_of(b->w);
    const int64_t k = s.t * s.b, kc = build_int(b, "kc"), tiles = CEIL(s.slots * s.h, build_int(b, "mr"));
    const int64_t widest = s.i > s.h ? s.i : s.h;
    const bool stacked = build_int(b, "stacked") != 0;
    struct plan p = {.b = b,
                     .s = s,
                     .wg = build_int(b, "wg"),
                     .tile = build_int(b, "vec") * build_int(b, "nv"),
                     .kc = kc < k ? kc : k};
    const int64_t pitch = pitch_of(&p, stacked ? widest + s.h : widest);

    p.panels = build_buffer(b, "ap", ROLE_SCRATCH, DTYPE_F32, tiles * build_int(b, "mr") * k);
    p.rows = build_buffer(b, "xt", ROLE_SCRATCH, DTYPE_F32, k * pitch);
    p.sums = build_buffer(b, "sums", ROLE_SCRATCH, DTYPE_F32, tiles * build_int(b, "mr") * pitch);
    build_module(b, "rnn/wgrad.cl");
    rnn_define_shape(b, &s);
    for (int64_t l = 0; l < s.l; l++)
        add_layer(&p, l, stacked);
    launch_add(b, PHASE_RUN, "wgrad_bias", 2 * s.l * s.gates * s.h, p.wg, 1,
               (const int[]){build_tensor(b, "dgates"), build_tensor(b, "dbias"), -1}, 0, NULL);
}

const struct template rnn_wgrad = {
    .id = "rnn/wgrad",
    .version = 1,
    .summary = "weight gradient: one large product a matrix over all steps and the batch",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = rnn_numerics,
};
