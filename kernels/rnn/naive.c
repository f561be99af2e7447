/* SPDX-License-Identifier: MIT */
#include "kernels/rnn/launch.h"
#include "kernels/rnn/rnn.h"
#include "kernels/naive.h"

/* A tensor that this cell or depth has, or the first one in its place: kernels take it and do not look. */
static int tensor_or_first(const struct build *b, const char *name)
{
    const int i = build_tensor(b, name);

    return i < 0 ? 0 : i;
}

/* The weights of a layer's input; w_up holds the upper layers', one after another. */
static int input_weights(struct build *b, int64_t layer)
{
    return build_tensor(b, layer ? "w_up" : "w");
}

static void forward(struct build *b, const struct rnn_shape *s, int64_t wg)
{
    const int64_t state = s->h * s->b;
    const int hidden = s->l > 1 ? build_buffer(b, "hidden", ROLE_SCRATCH, b->w->dtype, s->t * state) : 0;
    const int odd = s->l > 1 ? build_buffer(b, "hidden_odd", ROLE_SCRATCH, b->w->dtype, s->t * state) : 0;
    const int c = build_buffer(b, "c", ROLE_SCRATCH, DTYPE_F32, state);
    const bool resets = s->cell == RNN_GRU_RESET;
    const int c0 = resets ? build_buffer(b, "reset", ROLE_SCRATCH, b->w->dtype, state) : tensor_or_first(b, "c0");

    for (int64_t l = 0; l < s->l; l++) {
        const int below = l == 0 ? build_tensor(b, "x") : l % 2 ? hidden : odd;
        const int above = l == s->l - 1 ? build_tensor(b, "y") : l % 2 ? odd : hidden, first = launch_next(b);
        const struct launch_int numbers[] = {{l, {0}}, {l > 1 ? l - 1 : 0, {0}}, {rnn_width(s, l), {0}}, {0, {1}}};

        if (resets)
            launch_add(b, PHASE_RUN, "naive_reset", state, wg, 1,
                       (const int[]){input_weights(b, l), build_tensor(b, "r"), build_tensor(b, "bias"), below,
                                     build_tensor(b, "h0"), above, c0, -1},
                       4, numbers);
        launch_add(b, PHASE_RUN, "naive_step", state, wg, 1,
                   (const int[]){input_weights(b, l), build_tensor(b, "r"), build_tensor(b, "bias"), below,
                                 build_tensor(b, "h0"), above, build_tensor(b, "hn"), c0, c, tensor_or_first(b, "cn"),
                                 -1},
                   4, numbers);
        launch_loop(b, first, s->t);
    }
}

static int kept_tensors(const struct build *b, const struct rnn_shape *s, int *out)
{
    static const char *const names[4][5] = {
        {"cand", "gates", "cs", "c0", "dc0"}, {"cand", "gates", "q", "hs", "h0"}, {"cand", NULL}, {"cand", NULL}};
    int n = 0;

    while (n < 5 && names[s->cell][n]) {
        out[n] = build_tensor(b, names[s->cell][n]);
        n++;
    }
    out[n] = -1;
    return n;
}

static void backward_steps(struct build *b, const struct rnn_shape *s, int64_t l, int above, const int *states,
                           int64_t wg)
{
    const int first = launch_next(b), dgates = build_tensor(b, "dgates");
    const struct launch_int numbers[] = {{l, {0}}, {0, {1}}};
    int buffers[10] = {above, states[0], states[1], dgates};

    kept_tensors(b, s, buffers + 4);
    launch_add(b, PHASE_RUN, "naive_gates", s->h * s->b, wg, 1, buffers, 2, numbers);
    launch_add(b, PHASE_RUN, "naive_back", s->h * s->b, wg, 1,
               (const int[]){build_tensor(b, "r"), dgates, states[1], states[0], build_tensor(b, "dh0"), -1}, 2,
               numbers);
    launch_loop(b, first, s->t);
}

static void backward(struct build *b, const struct rnn_shape *s, int64_t wg)
{
    const int64_t state = s->h * s->b;
    const int states[] = {build_buffer(b, "dh", ROLE_SCRATCH, DTYPE_F32, state),
                          build_buffer(b, "carry", ROLE_SCRATCH, DTYPE_F32, state)};
    const int between = s->l > 1 ? build_buffer(b, "between", ROLE_SCRATCH, b->w->dtype, s->t * state) : 0;

    for (int64_t l = s->l - 1; l >= 0; l--) {
        const int to = l ? between : build_tensor(b, "dx");

        backward_steps(b, s, l, l == s->l - 1 ? build_tensor(b, "dy") : between, states, wg);
        launch_add(b, PHASE_RUN, "naive_input", s->t * rnn_width(s, l) * s->b, wg, 1,
                   (const int[]){input_weights(b, l), build_tensor(b, "dgates"), to, -1}, 3,
                   (const struct launch_int[]){{l, {0}}, {l > 1 ? l - 1 : 0, {0}}, {rnn_width(s, l), {0}}});
    }
}

/* Numbers: layer of dgates, of x, of the result; width; x is the state before. */
static void gradient_of(struct build *b, const struct rnn_shape *s, const char *to, const char *x,
                        const int64_t numbers[5], int64_t wg)
{
    struct launch_int ints[5] = {{0}};

    for (int i = 0; i < 5; i++)
        ints[i].value = numbers[i];
    launch_add(
        b, PHASE_RUN, "naive_gradient", s->gates * s->h * (numbers[3] ? numbers[3] : 2), wg, 1,
        (const int[]){build_tensor(b, "dgates"), build_tensor(b, x), build_tensor(b, "h0"), build_tensor(b, to), -1}, 5,
        ints);
}

static void gradient(struct build *b, const struct rnn_shape *s, int64_t wg)
{
    for (int64_t l = 0; l < s->l; l++) {
        if (l == 0)
            gradient_of(b, s, "dw", "x", (const int64_t[]){0, 0, 0, s->i, 0}, wg);
        else
            gradient_of(b, s, "dw_up", "hs", (const int64_t[]){l, l - 1, l - 1, s->h, 0}, wg);
        gradient_of(b, s, "dr", "hs", (const int64_t[]){l, l, l, s->h, 1}, wg);
        gradient_of(b, s, "dbias", "hs", (const int64_t[]){l, l, l, 0, 0}, wg);
    }
}

static void program(struct build *b)
{
    static void (*const passes[])(struct build *, const struct rnn_shape *, int64_t) = {forward, backward, gradient};
    const struct rnn_shape s = rnn_shape_of(b->w);

    build_module(b, "rnn/naive.cl");
    rnn_define_shape(b, &s);
    build_define(b, "VEC", 1);
    passes[s.pass](b, &s, build_int(b, "wg"));
}

const struct template rnn_naive = {
    .id = "rnn/naive",
    .version = 1,
    .summary = "one work-item a result, a launch a step: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
    .numerics = rnn_numerics,
};
