/* SPDX-License-Identifier: MIT */
/* The references of recurrent layers agree with finite differences of the forward pass, and the forward pass with cells
 * written out by hand. */
#include "kernels/rnn/cell_ref.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/rng.h"

#define BATCH 3
#define MAX_ELEMS 4096

/* All tensors of one small network, drawn; columns 0..BATCH-1 are all computed. */
struct net {
    struct rnn_shape s;
    float x[MAX_ELEMS], w[MAX_ELEMS], w_up[MAX_ELEMS], r[MAX_ELEMS], bias[MAX_ELEMS], h0[MAX_ELEMS], c0[MAX_ELEMS],
        dy[MAX_ELEMS];
    float gates[MAX_ELEMS], cand[MAX_ELEMS], q[MAX_ELEMS], cs[MAX_ELEMS], hs[MAX_ELEMS], dgates[MAX_ELEMS];
    struct rnn_tensors t;
};

static const int64_t columns[BATCH] = {0, 1, 2};

static struct rnn_shape shape_of(const char *text)
{
    struct workload w;

    assert_int_equal(workload_parse(text, &w, NULL), ERR_OK);
    return rnn_shape_of(&w);
}

static void draw(struct rng *rng, float *to, double scale)
{
    for (int i = 0; i < MAX_ELEMS; i++)
        to[i] = (float)(scale * ((double)rng_below(rng, 2001) / 1000 - 1));
}

static struct net *net_new(const char *text)
{
    struct net *n = calloc(1, sizeof *n);
    struct rng rng;

    assert_non_null(n);
    rng_init(&rng, 5);
    n->s = shape_of(text);
    float *const all[] = {n->x, n->w, n->w_up, n->r, n->bias, n->h0, n->c0, n->dy};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        draw(&rng, all[i], i == 1 || i == 2 || i == 3 ? 0.5 : 1);
    n->t = (struct rnn_tensors){.x = n->x,
                                .w = n->w,
                                .w_up = n->w_up,
                                .r = n->r,
                                .bias = n->bias,
                                .h0 = n->h0,
                                .c0 = n->s.cell == RNN_LSTM ? n->c0 : NULL,
                                .dy = n->dy,
                                .gates = n->gates,
                                .cand = n->cand,
                                .q = n->q,
                                .cs = n->cs,
                                .hs = n->hs,
                                .dgates = n->dgates};
    return n;
}

/* The batch's columns of results, as a tensor. */
static void keep(const double *from, int64_t rows, int64_t ld, float *to)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < BATCH; c++)
            to[row * BATCH + c] = (float)from[row * ld + c];
}

/* The loss whose gradient is dy: sum of dy * y. */
static double loss(const struct net *n)
{
    struct rnn_results r;
    double sum = 0;

    assert_int_equal(rnn_results_init(&n->s, columns, BATCH, &r), ERR_OK);
    assert_int_equal(rnn_forward(&n->s, &n->t, &r), ERR_OK);
    for (int64_t row = 0; row < n->s.t * n->s.h; row++)
        for (int64_t c = 0; c < BATCH; c++)
            sum += (double)n->dy[row * BATCH + c] * r.y[row * r.ld + c];
    rnn_results_fini(&r);
    return sum;
}

static void keep_activations(struct net *n)
{
    const int64_t rows = n->s.l * n->s.t * n->s.h;
    struct rnn_results r;

    assert_int_equal(rnn_results_init(&n->s, columns, BATCH, &r), ERR_OK);
    assert_int_equal(rnn_forward(&n->s, &n->t, &r), ERR_OK);
    keep(r.gates, n->s.sigmoids * rows, r.ld, n->gates);
    keep(r.cand, rows, r.ld, n->cand);
    keep(r.q, rows, r.ld, n->q);
    keep(r.cs, rows, r.ld, n->cs);
    keep(r.hs, rows, r.ld, n->hs);
    rnn_results_fini(&r);
}

/* The loss changes by `gradient` a unit of *at. */
static void check(struct net *n, float *at, double gradient, const char *what)
{
    const float was = *at;
    const double step = 0x1p-10;
    double up, down;

    *at = (float)((double)was + step);
    up = loss(n);
    *at = (float)((double)was - step);
    down = loss(n);
    *at = was;
    if (!(fabs((up - down) / (2 * step) - gradient) <= 2e-4 * (1 + fabs(gradient))))
        fail_msg("%s: gradient %.9g, finite difference %.9g", what, gradient, (up - down) / (2 * step));
}

static void check_states(struct net *n, const struct rnn_results *r)
{
    for (int64_t row = 0; row < n->s.t * n->s.i; row += 3)
        check(n, &n->x[row * BATCH + 1], r->dx[row * r->ld + 1], "dx");
    for (int64_t row = 0; row < n->s.l * n->s.h; row++)
        for (int64_t c = 0; c < BATCH; c += 2) {
            check(n, &n->h0[row * BATCH + c], r->dh0[row * r->ld + c], "dh0");
            if (n->s.cell == RNN_LSTM)
                check(n, &n->c0[row * BATCH + c], r->dc0[row * r->ld + c], "dc0");
        }
}

static void check_weights(struct net *n)
{
    const int64_t rows = n->s.gates * n->s.h, h = n->s.h;
    double scale;

    for (int64_t row = 0; row < rows; row++) {
        check(n, &n->w[row * n->s.i + row % n->s.i], rnn_gradient(&n->s, &n->t, false, 0, row, row % n->s.i, &scale),
              "dw");
        for (int64_t l = 0; l < n->s.l; l++) {
            if (l)
                check(n, &n->w_up[((l - 1) * rows + row) * h + row % h],
                      rnn_gradient(&n->s, &n->t, false, l, row, row % h, &scale), "dw_up");
            check(n, &n->r[(l * rows + row) * h + row % h], rnn_gradient(&n->s, &n->t, true, l, row, row % h, &scale),
                  "dr");
            for (int part = 0; part < 2; part++)
                check(n, &n->bias[(2 * l + part) * rows + row],
                      rnn_gradient(&n->s, &n->t, part == 1, l, row, -1, &scale), "dbias");
        }
    }
}

/* A candidate takes all units of the state, each behind its own reset gate, and is off by what these are. */
static void a_state_is_reset_before_its_product(void **state)
{
    struct net *n = net_new("rnn f32 cell=gru_reset i=1 h=2 b=3 t=1");
    struct rnn_results r;

    (void)state;
    memset(n->w, 0, sizeof n->w);
    memset(n->r, 0, sizeof n->r);
    memset(n->bias, 0, sizeof n->bias);
    n->bias[1] = -200; /* gates r i n of two units: the first one's reset is open by half, the second one's shut */
    n->bias[2] = n->bias[3] = -200;
    n->r[4 * 2] = 0.5F; /* the first candidate of both units of the state */
    n->r[4 * 2 + 1] = 0.25F;
    n->h0[0] = -0.75F;
    n->h0[BATCH] = 0.5F;
    assert_int_equal(rnn_results_init(&n->s, columns, BATCH, &r), ERR_OK);
    assert_int_equal(rnn_forward(&n->s, &n->t, &r), ERR_OK);
    assert_true(fabs(r.y[0] - tanh(-0.75 * 0.5 * 0.5)) < 1e-12);
    assert_true(fabs(r.hn_held[0] - ((1 - pow(tanh(-0.75 * 0.25), 2)) *
                                         (0.024 * 8 + 0.5 * 0.75 * (0.25 * 0.024 * 8 + 0.03) + 0.25 * 0.5 * 0.03) +
                                     0.03 + 0.03 * fabs(-0.75 - tanh(-0.75 * 0.25)))) < 1e-9);
    rnn_results_fini(&r);
    free(n);
}

static void gradients_are_those_of_finite_differences(void **state)
{
    static const char *const texts[] = {
        "rnn f32 cell=lstm i=4 h=3 l=2 b=3 t=4",
        "rnn f32 cell=gru i=3 h=4 l=2 b=3 t=4",
        "rnn f32 cell=tanh i=5 h=4 l=2 b=3 t=5",
        "rnn f32 cell=relu i=4 h=5 l=2 b=3 t=3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct net *n = net_new(texts[i]);
        struct rnn_shape back = n->s;
        struct rnn_results r;

        keep_activations(n);
        back.pass = RNN_BWD_DATA;
        assert_int_equal(rnn_results_init(&back, columns, BATCH, &r), ERR_OK);
        assert_int_equal(rnn_backward(&back, &n->t, &r), ERR_OK);
        keep(r.dgates, n->s.l * n->s.t * n->s.slots * n->s.h, r.ld, n->dgates);
        check_states(n, &r);
        check_weights(n);
        rnn_results_fini(&r);
        free(n);
    }
}

/* One unit, one step: the formulas of docs/operators.md, term by term. */
static void one_unit_is_what_the_formulas_say(void **state)
{
    static const char *const texts[] = {"rnn f32 cell=lstm i=1 h=1 b=3 t=1", "rnn f32 cell=gru i=1 h=1 b=3 t=1",
                                        "rnn f32 cell=gru_reset i=1 h=1 b=3 t=1"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct net *n = net_new(texts[i]);
        const float *b = n->bias;
        const double h = (double)n->h0[1];
        double z[4], q[4], y;
        struct rnn_results r;

        for (int g = 0; g < (int)n->s.gates; g++) {
            z[g] = (double)n->w[g] * (double)n->x[1] + (double)b[g];
            q[g] = (double)n->r[g] * h + (double)b[n->s.gates + g];
        }
#define SIGMOID(v) (1 / (1 + exp(-(v))))
        if (i == 0)
            y = SIGMOID(z[3] + q[3]) *
                tanh(SIGMOID(z[1] + q[1]) * (double)n->c0[1] + SIGMOID(z[0] + q[0]) * tanh(z[2] + q[2]));
        else if (i == 1)
            y = (1 - SIGMOID(z[1] + q[1])) * tanh(z[2] + SIGMOID(z[0] + q[0]) * q[2]) + SIGMOID(z[1] + q[1]) * h;
        else
            y = (1 - SIGMOID(z[1] + q[1])) *
                    tanh(z[2] + (double)n->r[2] * SIGMOID(z[0] + q[0]) * h + (double)b[n->s.gates + 2]) +
                SIGMOID(z[1] + q[1]) * h;
        assert_int_equal(rnn_results_init(&n->s, columns, BATCH, &r), ERR_OK);
        assert_int_equal(rnn_forward(&n->s, &n->t, &r), ERR_OK);
        if (fabs(r.y[1] - y) > 1e-12)
            fail_msg("%s: %.17g, expected %.17g", texts[i], r.y[1], y);
        rnn_results_fini(&r);
        free(n);
    }
}

/* A cell behind an open gate and a shut one is the same after 20 steps, with the error of 20 gates times it: 3 % of the
 * tolerance each; what is let in is tanh(0) = 0, shut out but for its own 3 % of nothing. A GRU's state behind a gate
 * that lets all in has one step's errors: of the gate, and of tanh at 0, whose sum is off by 2.4 % of 8 + |0| and as
 * much by what reset lets by. */
static void states_that_gates_hold_add_errors_up(void **state)
{
    struct net *n = net_new("rnn f32 cell=lstm i=2 h=1 b=3 t=20");
    struct rnn_results r;

    (void)state;
    memset(n->w, 0, sizeof n->w);
    memset(n->r, 0, sizeof n->r);
    memset(n->bias, 0, sizeof n->bias);
    n->bias[0] = -200; /* gates i f g o, each one unit */
    n->bias[1] = 200;
    for (int c = 0; c < BATCH; c++)
        n->c0[c] = 8;
    assert_int_equal(rnn_results_init(&n->s, columns, BATCH, &r), ERR_OK);
    assert_int_equal(rnn_forward(&n->s, &n->t, &r), ERR_OK);
    assert_true(fabs(r.cn[0] - 8) < 1e-12);
    assert_true(fabs(r.cn_held[0] - 20 * 0.03 * 8) < 1e-9);
    rnn_results_fini(&r);
    n->s = shape_of("rnn f32 cell=gru i=2 h=1 b=3 t=20");
    n->bias[1] = -200; /* gates r i n */
    n->bias[0] = 0;
    assert_int_equal(rnn_results_init(&n->s, columns, BATCH, &r), ERR_OK);
    assert_int_equal(rnn_forward(&n->s, &n->t, &r), ERR_OK);
    assert_true(fabs(r.hn_held[0] - (0.03 + 0.024 * 8)) < 1e-9);
    assert_true(r.y_held[19 * r.ld] == r.hn_held[0]);
    rnn_results_fini(&r);
    free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_unit_is_what_the_formulas_say),
        cmocka_unit_test(states_that_gates_hold_add_errors_up),
        cmocka_unit_test(a_state_is_reset_before_its_product),
        cmocka_unit_test(gradients_are_those_of_finite_differences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
