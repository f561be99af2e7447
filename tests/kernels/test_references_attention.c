/* SPDX-License-Identifier: MIT */
/* The reference of attention against rows by hand and against the definition with a matrix of weights, written out here
 * with sizes and strides of its own. */
#include "kernels/attention/attention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A workload, and what it says: strides of a batch, a head and a row of q y, k v; steps of the mask. */
struct written {
    const char *text;
    int b, heads, group, q, k, d, dv;
    double scale;
    int past;             /* -1: not causal */
    int q_at[3], k_at[3]; /* rows of d: batch, head, row */
    int mask[3];          /* elements: batch, head, query; all -1: none */
    bool lengths;
};

static const struct written cases[] = {
    {"attention f32 b=2 heads=3 q=4 k=5 d=6",
     2,
     3,
     1,
     4,
     5,
     6,
     6,
     0.408248290463863,
     -1,
     {12, 4, 1},
     {15, 5, 1},
     {-1, -1, -1},
     false},
    {"attention f32 b=1 heads=4 q=3 k=7 d=4 dv=2 group=2 causal=1 past=2 mask=hqk scale=0.25",
     1,
     4,
     2,
     3,
     7,
     4,
     2,
     0.25,
     2,
     {12, 3, 1},
     {14, 7, 1},
     {0, 21, 7},
     false},
    {"attention f32 b=3 heads=2 q=2 k=6 d=4 mask=bk lengths=1 layout=blhd",
     3,
     2,
     1,
     2,
     6,
     4,
     4,
     0.5,
     -1,
     {4, 1, 2},
     {12, 1, 2},
     {6, 0, 0},
     true},
    {"attention f16 b=1 heads=2 q=5 k=3 d=4 group=2 causal=1 mask=qk layout=blhd",
     1,
     2,
     2,
     5,
     3,
     4,
     4,
     0.5,
     0,
     {10, 1, 2},
     {3, 1, 1},
     {0, 0, 3},
     false},
};

static float *data(struct expected *e, const char *name, bool exact)
{
    const struct tensor *t = expected_tensor(e, name);

    return t ? expected_data(t, exact, NULL) : NULL;
}

struct tensors {
    float *q, *k, *v, *mask, *lengths;
};

static struct tensors tensors_of(struct expected *e, bool exact)
{
    return (struct tensors){data(e, "q", exact), data(e, "k", exact), data(e, "v", exact), data(e, "mask", exact),
                            data(e, "lengths", exact)};
}

static void tensors_free(struct tensors *t)
{
    free(t->q);
    free(t->k);
    free(t->v);
    free(t->mask);
    free(t->lengths);
}

/* Element (b, h, i, c) of y as a quotient of two sums of e^logit, without taking out a largest one: where logits are
 * small. NAN: no key is seen. */
static double plain(const struct written *c, const struct tensors *t, const int at[4])
{
    const float *q = t->q + (at[0] * c->q_at[0] + at[1] * c->q_at[1] + at[2] * c->q_at[2]) * c->d;
    long double above = 0, below = 0;

    for (int j = 0; j < c->k; j++) {
        const int row = at[0] * c->k_at[0] + at[1] / c->group * c->k_at[1] + j * c->k_at[2];
        long double logit = 0;

        if ((c->past >= 0 && j > at[2] + c->past) || (c->lengths && j >= (int)t->lengths[at[0]]))
            continue;
        for (int i = 0; i < c->d; i++)
            logit += (long double)c->scale * (long double)q[i] * (long double)t->k[row * c->d + i];
        if (c->mask[0] >= 0)
            logit += (long double)t->mask[at[0] * c->mask[0] + at[1] * c->mask[1] + at[2] * c->mask[2] + j];
        above += expl(logit) * (long double)t->v[row * c->dv + at[3]];
        below += expl(logit);
    }
    return (double)(above / below);
}

static void compare(const struct written *c, const struct expected *e, const struct tensors *t)
{
    const struct expected_output *o = &e->outputs[0];
    size_t n_compared = 0;

    for (int n = 0; n < c->b * c->heads * c->q * c->dv; n++) {
        const int at[] = {n / c->dv / c->q / c->heads, n / c->dv / c->q % c->heads, n / c->dv % c->q, n % c->dv};
        const uint64_t index =
            (uint64_t)((at[0] * c->q_at[0] + at[1] * c->q_at[1] + at[2] * c->q_at[2]) * c->dv + at[3]);
        const double y = plain(c, t, at);

        for (size_t i = 0; i < o->n_random; i++)
            if (expected_random_at(o, i) == index) {
                if (fabs(o->random[i] - y) > 1e-12 * (1 + fabs(y)) || !(o->scale[i] >= fabs(y)))
                    fail_msg("%s: y[%llu] is %.17g of %g, expected %.17g", c->text, (unsigned long long)index,
                             o->random[i], o->scale[i], y);
                n_compared++;
            }
    }
    assert_int_equal(n_compared, c->b * c->heads * c->q * c->dv);
}

static void random_outputs_are_quotients_of_sums(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct workload w;
        struct expected e;
        struct tensors t;

        assert_int_equal(workload_parse(cases[i].text, &w, NULL), ERR_OK);
        expected_begin(&w, EXACT_PLAIN, &e);
        assert_int_equal(w.op->reference(&w, EXACT_PLAIN, &e), ERR_OK);
        t = tensors_of(&e, false);
        compare(&cases[i], &e, &t);
        tensors_free(&t);
        expected_fini(&e);
    }
}

/* The mean of the values at the largest logits, in whole numbers; 0 where all are -infinity or there are none. */
static double mean_of_largest(const struct written *c, const struct tensors *t, const int at[4])
{
    const float *q = t->q + (at[0] * c->q_at[0] + at[1] * c->q_at[1] + at[2] * c->q_at[2]) * c->d;
    double top = -INFINITY, sum = 0;
    int n = 0;

    for (int j = 0; j < c->k; j++) {
        const int row = at[0] * c->k_at[0] + at[1] / c->group * c->k_at[1] + j * c->k_at[2];
        double logit = 0;

        if ((c->past >= 0 && j > at[2] + c->past) || (c->lengths && j >= (int)t->lengths[at[0]]))
            continue;
        for (int i = 0; i < c->d; i++)
            logit += (double)q[i] * (double)t->k[row * c->d + i];
        if (c->mask[0] >= 0)
            logit += (double)t->mask[at[0] * c->mask[0] + at[1] * c->mask[1] + at[2] * c->mask[2] + j] / c->scale;
        if (logit == -INFINITY)
            continue;
        if (logit > top)
            top = logit, sum = 0, n = 0;
        if (logit == top)
            sum += (double)t->v[row * c->dv + at[3]], n++;
    }
    return n ? (double)(float)(sum / n) : 0;
}

static void compare_exact(const struct written *c, const struct expected *e, const struct tensors *t)
{
    const struct expected_output *o = &e->outputs[0];

    assert_int_equal(o->n_samples, c->b * c->heads * c->q * c->dv);
    for (int n = 0; n < c->b * c->heads * c->q * c->dv; n++) {
        const int at[] = {n / c->dv / c->q / c->heads, n / c->dv / c->q % c->heads, n / c->dv % c->q, n % c->dv};
        const int index = (at[0] * c->q_at[0] + at[1] * c->q_at[1] + at[2] * c->q_at[2]) * c->dv + at[3];
        const double y = mean_of_largest(c, t, at);

        assert_int_equal(o->indices[index], index); /* all there are, in their order */
        if ((float)o->exact[index] != (float)y)
            fail_msg("%s: y[%d] is %.17g, expected %.17g", c->text, index, o->exact[index], y);
    }
}

/* With the data of programs, and of a run's own, where masks are infinite. */
static void exact_outputs_are_means_of_values(void **state)
{
    int n_zeros = 0;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            struct workload w;
            struct expected e;
            struct tensors t;

            assert_int_equal(workload_parse(cases[i].text, &w, NULL), ERR_OK);
            expected_begin_for(&w, EXACT_PLAIN, seed ? EXPECT_WIDE : EXPECT_PROGRAM, seed, &e);
            assert_int_equal(w.op->reference(&w, EXACT_PLAIN, &e), ERR_OK);
            t = tensors_of(&e, true);
            compare_exact(&cases[i], &e, &t);
            for (size_t k = 0; k < e.outputs[0].n_samples; k++)
                n_zeros += e.outputs[0].exact[k] == 0;
            tensors_free(&t);
            expected_fini(&e);
        }
    assert_true(n_zeros > 10); /* rows that see nothing */
}

/* FLOPs: the pairs, counted by hand. */
static void pairs_are_those_that_are_seen(void **state)
{
    static const struct {
        const char *text;
        double flops;
    } counted[] = {
        {"attention f32 b=2 heads=3 q=4 k=5 d=6", 2.0 * 6 * 20 * 12},
        {"attention f32 b=1 heads=1 q=4 k=4 d=6 causal=1", 2.0 * (1 + 2 + 3 + 4) * 12},
        {"attention f32 b=1 heads=1 q=4 k=2 d=6 causal=1", 2.0 * (1 + 2 + 2 + 2) * 12},
        {"attention f32 b=1 heads=1 q=2 k=9 d=6 dv=1 causal=1 past=3", 2.0 * (4 + 5) * 7},
        {"attention f32 b=1 heads=1 q=3 k=4 d=6 causal=1 past=2", 2.0 * (3 + 4 + 4) * 12},
        {"attention f32 b=1 heads=2 q=3 k=4 d=6 causal=1 past=9", 2.0 * 2 * 12 * 12},
    };

    (void)state;
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        struct workload w;

        assert_int_equal(workload_parse(counted[i].text, &w, NULL), ERR_OK);
        assert_true(w.op->flops(&w) == counted[i].flops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_outputs_are_quotients_of_sums),
        cmocka_unit_test(exact_outputs_are_means_of_values),
        cmocka_unit_test(pairs_are_those_that_are_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
