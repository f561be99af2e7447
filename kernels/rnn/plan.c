/* SPDX-License-Identifier: MIT */
#include "kernels/rnn/plan.h"

#include "kernels/rnn/launch.h"
#include "core/err.h"
#include "kernels/rnn/rnn.h"
#include "runtime/cuda_arch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A program under construction: the knobs, buffers by role (-1: not there), launches that others wait for. */
struct plan {
    struct build *b;
    struct rnn_shape s;
    bool comb_gate, wave, persist, concat, packed, back, tiled;
    int64_t streams, fuse, chunk, chunks, vec, wg;
    int64_t in_rows, rec_rows, in_wide, rec_wide; /* of a tile: an item's, or where tiled a group's */
    int w_packed, r_packed, zx, zr, c, between, temporaries, arrived;
    int last_pw, last_in; /* launches of the layer before */
};

/* A list of buffers that ends with -1. */
struct buffers {
    int at[PROGRAM_MAX_ARGS];
    size_t n;
};

static void put(struct buffers *to, int i_buffer)
{
    assert(to->n + 1 < PROGRAM_MAX_ARGS);
    to->at[to->n++] = i_buffer;
    to->at[to->n] = -1;
}

/* A tensor that this workload may lack: then the first one stands there and is not touched. */
static void put_tensor(const struct plan *p, struct buffers *to, const char *name)
{
    const int i = build_tensor(p->b, name);

    put(to, i < 0 ? 0 : i);
}

static void put_input_weights(const struct plan *p, struct buffers *to)
{
    if (p->packed) {
        put(to, p->w_packed);
        return;
    }
    put_tensor(p, to, "w");
    put_tensor(p, to, "w_up");
}

static int64_t in_tiles(const struct plan *p, int64_t layer)
{
    const int64_t rows = p->s.gates * p->s.h, mr = p->concat ? p->rec_rows : p->in_rows;

    if (p->back)
        return CEIL(rnn_width(&p->s, layer), mr);
    if (p->concat && p->fuse == 2)
        return CEIL(p->s.h, mr / p->s.gates);
    return CEIL(p->comb_gate ? rows : p->s.h, mr);
}

static int64_t rec_tiles(const struct plan *p)
{
    const int64_t mr = p->rec_rows;

    if (p->fuse == 2 && !p->back)
        return CEIL(p->s.h, mr / p->s.gates);
    return CEIL(p->back || !p->comb_gate ? p->s.h : p->s.gates * p->s.h, mr);
}

/* Work-items of a recurrent product. */
static int64_t rec_items(const struct plan *p)
{
    assert(p->s.b % p->rec_wide == 0);
    return rec_tiles(p) * (p->s.b / p->rec_wide) * (p->tiled ? p->wg : 1);
}

static int64_t gate_launches(const struct plan *p)
{
    return p->comb_gate ? 1 : p->s.gates;
}

static int64_t in_panels(const struct plan *p, int64_t layer)
{
    const int64_t n_k = p->back ? p->s.gates * p->s.h : rnn_width(&p->s, layer);

    return gate_launches(p) * in_tiles(p, layer) * n_k * (p->concat ? p->rec_rows : p->in_rows);
}

static void pack(struct plan *p)
{
    struct build *b = p->b;
    const int64_t n_k = p->back ? p->s.gates * p->s.h : p->s.h, gates = gate_launches(p);
    const int64_t tiles = in_tiles(p, 0) > in_tiles(p, 1) ? in_tiles(p, 0) : in_tiles(p, 1);
    const int up = p->s.l > 1 ? build_tensor(b, "w_up") : build_tensor(b, "w");

    if (!p->packed)
        return;
    p->w_packed = build_buffer(b, "wp", ROLE_PACKED, DTYPE_F32, in_panels(p, 0) + (p->s.l - 1) * in_panels(p, 1));
    p->r_packed = build_buffer(b, "rp", ROLE_PACKED, DTYPE_F32, p->s.l * gates * rec_tiles(p) * n_k * p->rec_rows);
    launch_add(b, PHASE_PACK, "rnn_pack_in", gates * tiles, 1, p->s.l,
               (const int[]){build_tensor(b, "w"), up, p->w_packed, -1}, 0, NULL);
    launch_add(b, PHASE_PACK, "rnn_pack_rec", gates * rec_tiles(p), 1, p->s.l,
               (const int[]){build_tensor(b, "r"), p->r_packed, -1}, 0, NULL);
}

static void add_buffers(struct plan *p)
{
    struct build *b = p->b;
    const int64_t state = p->s.h * p->s.b, sums = p->s.gates * state, layers = p->wave ? p->s.l : 1;
    const int64_t steps = p->streams > 1 || p->persist ? p->chunks * p->chunk : p->chunk;

    if (!p->back && !p->concat)
        p->zx = build_buffer(b, "zx", ROLE_SCRATCH, DTYPE_F32,
                             (layers - 1) * (p->streams > 1 ? p->s.t : p->chunk) * sums + steps * sums);
    if (p->fuse < 2)
        p->zr = build_buffer(b, "zr", ROLE_SCRATCH, DTYPE_F32, layers * (p->back ? state : sums));
    p->c = build_buffer(b, "carry", ROLE_SCRATCH, DTYPE_F32, p->s.l * state);
    if (p->s.l > 1)
        p->between = build_buffer(b, "between", ROLE_SCRATCH, b->w->dtype, (p->s.l - 1) * p->s.t * state);
    if (p->persist && p->tiled)
        p->arrived = build_buffer(b, "arrived", ROLE_SCRATCH, DTYPE_I32, 1);
    if (p->fuse == 0)
        p->temporaries = build_buffer(b, "temporaries", ROLE_SCRATCH, DTYPE_F32, layers * 7 * state);
}

/* What a step's kernels take beyond weights: PW_PARAMS of the two .clh files. */
static void put_cell(const struct plan *p, struct buffers *to)
{
    static const char *const kept[4][5] = {
        {"cand", "gates", "cs", "c0", "dc0"}, {"cand", "gates", "q", "hs", "h0"}, {"cand", NULL}, {"cand", NULL}};

    if (p->back) {
        put_tensor(p, to, "dgates");
        put_tensor(p, to, "dy");
        put(to, p->between >= 0 ? p->between : build_tensor(p->b, "dx"));
        put(to, p->c);
        for (int i = 0; i < 5 && kept[p->s.cell][i]; i++)
            put_tensor(p, to, kept[p->s.cell][i]);
        return;
    }
    put_tensor(p, to, "h0");
    put(to, p->between >= 0 ? p->between : build_tensor(p->b, "y"));
    put_tensor(p, to, "y");
    put_tensor(p, to, "bias");
    put(to, p->zx >= 0 ? p->zx : p->c);
    put_tensor(p, to, "hn");
    if (p->s.cell == RNN_LSTM) {
        put_tensor(p, to, "c0");
        put(to, p->c);
        put_tensor(p, to, "cn");
    }
}

/* The buffers of rnn_step and rnn_persist. */
static struct buffers step_buffers(const struct plan *p)
{
    struct buffers to = {.n = 0};

    put(&to, p->packed ? p->r_packed : build_tensor(p->b, "r"));
    if (p->concat) {
        put_input_weights(p, &to);
        put_tensor(p, &to, "x");
    }
    if (p->fuse == 2) {
        put_cell(p, &to);
    } else if (p->back) {
        put_tensor(p, &to, "dgates");
        put(&to, p->zr);
    } else {
        put_tensor(p, &to, "h0");
        put(&to, p->between >= 0 ? p->between : build_tensor(p->b, "y"));
        put_tensor(p, &to, "y");
        put(&to, p->zr);
    }
    return to;
}

/* Queues: with several, the recurrent products have the first half and the inputs' products the other. */
static int queue_of(const struct plan *p, bool input, int64_t gate)
{
    const int64_t half = p->streams / 2;

    assert(p->streams == 1 || half > 0);
    return p->streams == 1 ? 0 : (int)((input ? half : 0) + gate % half);
}

static void add_inputs(struct plan *p, int64_t layer, int *first)
{
    const int64_t tiles =
        p->wave && in_tiles(p, 1) > in_tiles(p, 0) ? in_tiles(p, 1) : in_tiles(p, p->wave ? 0 : layer);
    const int64_t columns = p->s.b / p->in_wide;
    struct buffers buffers = {.n = 0};

    assert(layer >= 0 && layer < p->s.l && p->s.b % p->in_wide == 0);
    put_input_weights(p, &buffers);
    if (p->back) {
        put_tensor(p, &buffers, "dgates");
        put_tensor(p, &buffers, "dx");
        put(&buffers, p->between >= 0 ? p->between : build_tensor(p->b, "dx"));
    } else {
        put_tensor(p, &buffers, "x");
        put(&buffers, p->between >= 0 ? p->between : build_tensor(p->b, "x"));
        put(&buffers, p->zx);
    }
    *first = launch_next(p->b);
    for (int64_t gate = 0; gate < gate_launches(p); gate++) {
        const int l = launch_add(p->b, PHASE_RUN, "rnn_in", tiles * columns * p->chunk * (p->tiled ? p->wg : 1), p->wg,
                                 p->wave ? p->s.l : 1, buffers.at, 3,
                                 (const struct launch_int[]){{layer, {0}}, {gate, {0}}, {0, {1, 0}}});

        launch_queue(p->b, l, queue_of(p, true, gate));
    }
}

/* One operation of a cell; the codes are those of rnn_op. */
struct cell_op {
    int op, first, second, result, biases, gate;
};

enum {
    ZR = 8,
    ZX = 12,
    H_BEFORE = 16,
    C_BEFORE = 17,
    H = 18,
    C = 19,
    ADD = 0,
    MUL,
    SIGMOID,
    TANH,
    RELU,
    ONE_MINUS,
    SAME
};

static const struct cell_op lstm_ops[] = {{ADD, ZR, ZX, 0, 3, 0},         {ADD, ZR + 1, ZX + 1, 1, 3, 1},
                                          {ADD, ZR + 2, ZX + 2, 2, 3, 2}, {ADD, ZR + 3, ZX + 3, 3, 3, 3},
                                          {SIGMOID, 0, 0, 0, 0, 0},       {SIGMOID, 1, 1, 1, 0, 0},
                                          {TANH, 2, 2, 2, 0, 0},          {SIGMOID, 3, 3, 3, 0, 0},
                                          {MUL, 1, C_BEFORE, 4, 0, 0},    {MUL, 0, 2, 5, 0, 0},
                                          {ADD, 4, 5, C, 0, 0},           {TANH, C, C, 6, 0, 0},
                                          {MUL, 3, 6, H, 0, 0},           {-1, 0, 0, 0, 0, 0}};
static const struct cell_op gru_ops[] = {{ADD, ZR, ZX, 0, 3, 0},
                                         {ADD, ZR + 1, ZX + 1, 1, 3, 1},
                                         {SAME, ZR + 2, ZR + 2, 4, 2, 2},
                                         {SAME, ZX + 2, ZX + 2, 2, 1, 2},
                                         {SIGMOID, 0, 0, 0, 0, 0},
                                         {SIGMOID, 1, 1, 1, 0, 0},
                                         {MUL, 0, 4, 4, 0, 0},
                                         {ADD, 2, 4, 2, 0, 0},
                                         {TANH, 2, 2, 2, 0, 0},
                                         {ONE_MINUS, 1, 1, 5, 0, 0},
                                         {MUL, 5, 2, 5, 0, 0},
                                         {MUL, 1, H_BEFORE, 6, 0, 0},
                                         {ADD, 5, 6, H, 0, 0},
                                         {-1, 0, 0, 0, 0, 0}};
static const struct cell_op tanh_ops[] = {{ADD, ZR, ZX, 0, 3, 0}, {TANH, 0, 0, H, 0, 0}, {-1, 0, 0, 0, 0, 0}};
static const struct cell_op relu_ops[] = {{ADD, ZR, ZX, 0, 3, 0}, {RELU, 0, 0, H, 0, 0}, {-1, 0, 0, 0, 0, 0}};

/* The cell as launches of its own, when it is not within the recurrent product. The first one's index. */
static int add_cell(struct plan *p, int64_t layer)
{
    static const struct cell_op *const cells[] = {lstm_ops, gru_ops, tanh_ops, relu_ops};
    const struct launch_int at[] = {{layer, {0}}, {0, {1, 0}}, {0, {0, 1}}};
    const int64_t items = p->s.h * p->s.b / p->vec, layers = p->wave ? p->s.l : 1;
    const int first = launch_next(p->b);
    struct buffers buffers = {.n = 0};

    assert(p->s.b % p->vec == 0);
    put(&buffers, p->zr);
    if (p->fuse == 0)
        put(&buffers, p->temporaries);
    put_cell(p, &buffers);
    if (p->fuse == 1)
        launch_add(p->b, PHASE_RUN, "rnn_cell", items, p->wg, layers, buffers.at, 3, at);
    for (const struct cell_op *o = cells[p->s.cell]; p->fuse == 0 && o->op >= 0; o++) {
        const int codes[] = {o->op, o->first, o->second, o->result, o->biases, o->gate};
        struct launch_int numbers[9] = {at[0], at[1], at[2]};

        for (int i = 0; i < 6; i++)
            numbers[3 + i].value = codes[i];
        launch_add(p->b, PHASE_RUN, "rnn_op", items, p->wg, layers, buffers.at, 9, numbers);
    }
    return first;
}

/* The steps of a chunk, in a loop. in: the first inputs' launch, -1 when it comes later. */
static void add_steps(struct plan *p, int64_t layer, int in)
{
    const int64_t gates = gate_launches(p);
    const struct buffers buffers = step_buffers(p);
    const int first = launch_next(p->b);
    int cell;

    for (int64_t gate = 0; gate < gates; gate++) {
        const int l = launch_add(p->b, PHASE_RUN, "rnn_step", rec_items(p), p->wg, p->wave ? p->s.l : 1, buffers.at, 4,
                                 (const struct launch_int[]){{layer, {0}}, {gate, {0}}, {0, {1, 0}}, {0, {0, 1}}});

        launch_queue(p->b, l, queue_of(p, false, gate));
        launch_after(p->b, l, p->last_pw); /* which reads the sums of the layer before */
    }
    cell = p->fuse == 2 ? first : add_cell(p, layer);
    for (int64_t gate = 0; gate < gates; gate++) {
        if (cell != first) {
            launch_after(p->b, cell, first + (int)gate);
            launch_after(p->b, first + (int)gate, launch_next(p->b) - 1);
        }
        if (in >= 0)
            launch_after(p->b, cell, in + (int)gate);
    }
    /* a backward step reads what the layer above handed down, a product over the inputs of that one */
    if (p->back)
        launch_after(p->b, cell, p->last_in);
    launch_loop(p->b, first, p->chunk);
}

/* Loops are listed outer first; launch_loop appended the inner one before its end was known: exchange them. */
static void outer_loop(struct plan *p, int first, size_t n_loops, int64_t count)
{
    struct program *to = p->b->p;

    launch_loop(p->b, first, count);
    if (!p->b->e && to->n_loops == n_loops + 2) {
        const struct program_loop inner = to->loops[n_loops];

        to->loops[n_loops] = to->loops[n_loops + 1];
        to->loops[n_loops + 1] = inner;
    }
}

/* A layer's launches; or with a wave those of all layers. */
static void add_layer(struct plan *p, int64_t layer)
{
    const int64_t count = p->chunks + (p->wave ? p->s.l - 1 : 0);
    const size_t n_loops = p->b->p->n_loops;
    const int first = launch_next(p->b);
    int in = -1;

    if (!p->back && !p->concat) {
        add_inputs(p, layer, &in);
        for (int64_t gate = 0; gate < gate_launches(p); gate++)
            launch_after(p->b, in + (int)gate, p->last_pw);
    }
    add_steps(p, layer, in);
    p->last_pw = launch_next(p->b) - 1;
    if (p->back) {
        add_inputs(p, layer, &in);
        launch_after(p->b, in, p->last_pw);
        p->last_in = in;
    }
    outer_loop(p, first, n_loops, count);
}

/* All steps of a layer in a launch: one group, or where tiled all groups of a step, which count themselves in a buffer.
 */
static void add_persistent_steps(struct plan *p, int64_t layer)
{
    struct buffers buffers = step_buffers(p);
    struct program_launch *l;

    if (p->tiled) {
        put(&buffers, p->arrived);
        launch_zeros(p->b, p->arrived);
    }
    launch_add(p->b, PHASE_RUN, "rnn_persist", p->tiled ? rec_items(p) : p->wg, p->wg, 1, buffers.at, 1,
               (const struct launch_int[]){{layer, {0}}});
    if (p->b->e || !p->tiled)
        return;
    l = &p->b->p->launches[p->b->p->n_launches - 1];
    l->cooperative = true;
}

static void add_persistent_layer(struct plan *p, int64_t layer)
{
    int in = -1, first = launch_next(p->b);

    if (!p->back) {
        add_inputs(p, layer, &in);
        launch_loop(p->b, first, p->chunks);
    }
    add_persistent_steps(p, layer);
    if (p->back) {
        first = launch_next(p->b);
        add_inputs(p, layer, &in);
        launch_loop(p->b, first, p->chunks);
    }
}

static void add_last(struct plan *p)
{
    const int r = p->packed ? p->r_packed : build_tensor(p->b, "r");

    launch_add(p->b, PHASE_RUN, "rnn_last", rec_items(p), p->wg, p->s.l,
               (const int[]){r, build_tensor(p->b, "dgates"), p->c, build_tensor(p->b, "dh0"), -1}, 0, NULL);
}

static struct plan plan_of(struct build *b)
{
    const struct rnn_shape s = rnn_shape_of(b->w);
    const int64_t comb_in = build_int(b, "comb_in"), chunk = comb_in < s.t ? comb_in : s.t, vec = build_int(b, "vec");
    const bool tiled = rnn_plan_is_tiled(b->d);

    assert(chunk > 0 && chunk <= s.t);
    return (struct plan){.b = b,
                         .s = s,
                         .comb_gate = build_int(b, "comb_gate") != 0,
                         .wave = build_int(b, "wave") != 0,
                         .persist = build_int(b, "persist") != 0,
                         .concat = build_int(b, "concat_xh") != 0,
                         .packed = build_int(b, "pretrans") != 0,
                         .back = s.pass == RNN_BWD_DATA,
                         .streams = build_int(b, "streams"),
                         .fuse = build_int(b, "fuse_pw"),
                         .chunk = chunk,
                         .chunks = CEIL(s.t, chunk),
                         .vec = vec,
                         .tiled = tiled,
                         .in_rows = build_int(b, tiled ? "in_rows" : "g_in_mr"),
                         .rec_rows = build_int(b, tiled ? "rec_rows" : "g_rec_mr"),
                         .in_wide = tiled ? build_int(b, "in_wide") : vec * build_int(b, "g_in_nv"),
                         .rec_wide = tiled ? build_int(b, "rec_wide") : vec * build_int(b, "g_rec_nv"),
                         .wg = build_int(b, "wg"),
                         .w_packed = -1,
                         .r_packed = -1,
                         .zx = -1,
                         .zr = -1,
                         .c = -1,
                         .between = -1,
                         .temporaries = -1,
                         .arrived = -1,
                         .last_pw = -1,
                         .last_in = -1};
}

/* The size in place of "all steps". */
static void define_chunk(struct build *b, int64_t chunk)
{
    struct program_module *m = &b->p->modules[b->p->n_modules - 1];

    for (size_t i = 0; i < m->n_defines; i++)
        if (strcmp(m->defines[i].name, "COMB_IN") == 0)
            snprintf(m->defines[i].value, sizeof m->defines[i].value, "%lld", (long long)chunk);
}

/* Of the kernel that takes most. */
static int64_t tiled_local_bytes(const struct build *b)
{
    const int64_t in = build_int(b, "in_space"), rec = build_int(b, "rec_space") + build_int(b, "persist_space");

    return 4 * (in > rec ? in : rec);
}

static void program(struct build *b)
{
    struct plan p = plan_of(b);

    build_module(b, "rnn/plan.cl");
    rnn_define_shape(b, &p.s);
    if (b->e)
        return;
    define_chunk(b, p.chunk);
    if (p.tiled)
        build_defines(
            b, (const struct build_define[]){
                   {"TILED", 1}, {"G_IN_TM", build_int(b, "in_tm")}, {"G_REC_TM", build_int(b, "rec_tm")}, {NULL, 0}});
    pack(&p);
    add_buffers(&p);
    for (int64_t i = 0; i < (p.wave ? 1 : p.s.l); i++) {
        const int64_t layer = p.back ? p.s.l - 1 - i : i;

        if (p.persist)
            add_persistent_layer(&p, layer);
        else
            add_layer(&p, layer);
    }
    if (p.back)
        add_last(&p);
    if (p.tiled)
        b->p->needs_local_bytes = tiled_local_bytes(b);
    else if (p.persist)
        b->p->needs_local_bytes = rec_tiles(&p) * p.rec_rows * (p.back ? p.s.gates : 1) * p.s.h * 4;
}

const struct template rnn_plan = {
    .id = "rnn/plan",
    .version = 2,
    .summary = "products of register tiles, steps in loops; every step of the cuDNN 5 post's ladder is a knob",
    .fit = rnn_plan_fit,
    .space = rnn_plan_space,
    .fallback = rnn_plan_fallback,
    .program = program,
    .numerics = rnn_numerics,
};
