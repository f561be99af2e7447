/* SPDX-License-Identifier: MIT */
#include "kernels/rnn/launch.h"
#include "core/err.h"
#include "kernels/rnn/rnn.h"

#include <assert.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const struct rnn_shape s = rnn_shape_of(w);

    if (d->kind != DEVICE_CPU || s.pass != RNN_FWD) {
        why_set(why, ERR_UNSUPPORTED, "rnn/lanes computes pass=fwd on CPUs (rnn/plan and rnn/wgrad do the others)");
        return FIT_NONE;
    }
    return s.b < build_vector(d) || s.cell == RNN_GRU_RESET ? FIT_GOOD : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"persist", {0, 1, 2, BUILD_END}},
    {"vec", {1, 2, 4, 8, 16, BUILD_END}},
    {"nv", {1, 2, 3, 4, BUILD_END}},
    {"cols", {1, 2, 3, 4, 6, 8, BUILD_END}},
    {"ku", {1, 2, 4, 8, BUILD_END}},
    {"in_rows", {1, 2, 3, 4, 5, 6, 8, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"sums", "gates * nv * ceil_div(vec, max(lanes, 4))"},
    {"registers", "cols * sums + cols + 1"},
    {"in_registers", "in_rows * sums + in_rows + 1"},
    {"panels", "ceil_div(size_h, nv * vec)"},
    {"waste", "panels * nv * vec / size_h"},
    {"loads_per_fma", "(cols + sums) / (cols * sums)"},
    {"launches", "2 - (persist == 2) + (persist == 0) * size_t"},
    {"items", "size_b // cols * (1 + (persist == 0) * (panels - 1))"},
    {"weight_bytes", "gates * size_h * size_h * 4"},
    {"body", "max(cols, in_rows) * gates * nv * ku"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "size_b % cols == 0",
    "vec <= max(lanes, 4)",
    "(nv - 1) * vec < size_h",
    "in_rows <= size_t * (size_b + (persist == 2) * (cols - size_b))",
    "registers <= 33 or cols * nv == 1",
    "in_registers <= 33 or in_rows == 1",
    "body <= 256",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct rnn_shape z = rnn_shape_of(w);
    const struct build_named constants[] = {{"size_h", (double)z.h},
                                            {"size_b", (double)z.b},
                                            {"size_t", (double)z.t},
                                            {"gates", (double)z.gates},
                                            {NULL, 0}};

    return build_space_on(d, s, constants, knobs, quantities, constraints, why);
}

#define MOST_BYTES_ALONE                                                                                               \
    (1 << 20) /* of recurrent weights that one thread reads in a step where there are more threads */

/* The widest vector, or a narrower one that is as often needed for h units. */
static int64_t vector_for(int64_t h, int64_t lanes)
{
    int64_t vec = lanes;

    while (vec > 4 && CEIL(h, vec / 2) == CEIL(h, vec))
        vec /= 2;
    return vec;
}

/* Sums of all gates in registers, 24 at most; all in one launch where there is nobody to share it with. */
static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct rnn_shape z = rnn_shape_of(w);
    const int64_t vec = vector_for(z.h, build_vector(d) < 4 ? 4 : build_vector(d));
    const bool alone = build_threads(d) == 1 || z.gates * z.h * z.h * 4 <= MOST_BYTES_ALONE;
    int64_t cols = 4, nv;

    while (z.b % cols)
        cols /= 2;
    nv = 24 / (z.gates * cols);
    nv = nv < 1 ? 1 : nv > 4 ? 4 : nv;
    nv = CEIL(z.h, vec) < nv ? CEIL(z.h, vec) : nv;
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"persist", !alone                  ? 0
                                                           : build_threads(d) == 1 ? 2
                                                                                   : 1},
                                               {"vec", vec},
                                               {"nv", nv},
                                               {"cols", cols},
                                               {"ku", 2},
                                               {"in_rows", 24 / (z.gates * nv) > 0 ? 24 / (z.gates * nv) : 1},
                                               {NULL, 0}},
                 out);
    return build_make_valid(s, (const char *const[]){"in_rows", "nv", "cols", "ku", NULL}, out);
}

/* Buffers of the steps, in the order of STEP_PARAMS, without the tensors. */
struct plan {
    struct build *b;
    struct rnn_shape s;
    int wp, rp, bp, zx, held, hidden;
};

static void add_buffers(struct plan *p)
{
    const struct rnn_shape *s = &p->s;
    const int64_t units = build_int(p->b, "panels") * build_int(p->b, "nv") * build_int(p->b, "vec"),
                  sums = units * s->gates;

    p->wp = build_buffer(p->b, "wp", ROLE_PACKED, DTYPE_F32, (s->i + (s->l - 1) * s->h) * sums);
    p->rp = build_buffer(p->b, "rp", ROLE_PACKED, DTYPE_F32, s->l * s->h * sums);
    p->bp = build_buffer(p->b, "bp", ROLE_PACKED, DTYPE_F32, 2 * s->l * sums);
    p->zx = build_buffer(p->b, "zx", ROLE_SCRATCH, DTYPE_F32, s->t * s->b * sums);
    p->held = build_buffer(p->b, "held", ROLE_SCRATCH, DTYPE_F32, 3 * s->b * units);
    p->hidden = s->l > 1 ? build_buffer(p->b, "hidden", ROLE_SCRATCH, p->b->w->dtype, (s->l - 1) * s->t * s->h * s->b)
                         : build_tensor(p->b, "y");
}

static void add_layer(const struct plan *p, int64_t layer)
{
    struct build *b = p->b;
    const int64_t panels = build_int(b, "panels"), columns = p->s.b / build_int(b, "cols"),
                  persist = build_int(b, "persist");
    const bool lstm = p->s.cell == RNN_LSTM;
    const int step[] = {p->wp,
                        build_tensor(b, "x"),
                        p->rp,
                        p->bp,
                        p->zx,
                        build_tensor(b, "h0"),
                        p->held,
                        p->hidden,
                        build_tensor(b, "y"),
                        build_tensor(b, "hn"),
                        lstm ? build_tensor(b, "c0") : -1,
                        lstm ? build_tensor(b, "cn") : -1,
                        -1};
    const struct launch_int numbers[] = {{layer, {0}}, {0, {1}}};
    int first;

    assert(p->s.b % build_int(b, "cols") == 0);
    if (persist < 2)
        launch_add(b, PHASE_RUN, "lanes_in", panels * CEIL(p->s.t * p->s.b, build_int(b, "in_rows")), 1, 1,
                   (const int[]){step[0], step[1], p->bp, p->s.l > 1 ? p->hidden : step[1], p->zx, -1}, 1, numbers);
    if (persist) {
        launch_add(b, PHASE_RUN, "lanes_steps", columns, 1, 1, persist == 2 ? step : step + 2, 1, numbers);
        return;
    }
    launch_add(b, PHASE_RUN, "lanes_begin", columns, 1, 1, step + 2, 1, numbers);
    first = launch_next(b);
    if (p->s.cell == RNN_GRU_RESET)
        launch_add(b, PHASE_RUN, "lanes_reset", columns * panels, 1, 1, step + 2, 2, numbers);
    launch_add(b, PHASE_RUN, "lanes_steps", columns * panels, 1, 1, step + 2, 2, numbers);
    launch_loop(b, first, p->s.t);
}

static void program(struct build *b)
{
    struct plan p = {.b = b, .s = rnn_shape_of(b->w)};
    const int up = p.s.l > 1 ? build_tensor(b, "w_up") : build_tensor(b, "w");

    build_module(b, "rnn/lanes.cl");
    rnn_define_shape(b, &p.s);
    add_buffers(&p);
    launch_add(
        b, PHASE_PACK, "lanes_pack", build_int(b, "panels"), 1, p.s.l,
        (const int[]){build_tensor(b, "w"), up, build_tensor(b, "r"), build_tensor(b, "bias"), p.wp, p.rp, p.bp, -1}, 0,
        NULL);
    for (int64_t l = 0; l < p.s.l; l++)
        add_layer(&p, l);
}

const struct template rnn_lanes = {
    .id = "rnn/lanes",
    .version = 1,
    .summary = "few columns: lanes along hidden units, all steps in one launch",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = rnn_numerics,
};
