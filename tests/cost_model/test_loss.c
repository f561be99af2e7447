/* SPDX-License-Identifier: MIT */
/* Facts about losses: their slopes are those of their values. */
#include "cost_model/loss.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 24

static float targets[N], weights[N], scores[N];
static uint32_t all[N];

/* Targets with ties, and failed rows where the loss takes them. */
static struct loss_rows draw(uint64_t seed, bool with_failed, bool with_weights)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (uint32_t i = 0; i < N; i++) {
        targets[i] = (float)rng_below(&rng, 12) / 4;
        if (with_failed && rng_below(&rng, 5) == 0)
            targets[i] = INFINITY;
        weights[i] = 0.5f + (float)rng_unit(&rng);
        scores[i] = (float)(4 * rng_unit(&rng) - 2);
        all[i] = i;
    }
    return (struct loss_rows){targets, with_weights ? weights : NULL, all, N};
}

/* The difference of the value around row i's score, by the score's. */
static double difference(const struct loss *loss, const struct loss_rows *r, size_t i)
{
    float up[N], down[N];
    double above, below;

    memcpy(up, scores, sizeof(up));
    memcpy(down, scores, sizeof(down));
    up[i] += 1.0f / 256;
    down[i] -= 1.0f / 256;
    assert_int_equal(loss->value(r, up, &above), ERR_OK);
    assert_int_equal(loss->value(r, down, &below), ERR_OK);
    return (above - below) / ((double)up[i] - (double)down[i]);
}

static void slopes_are_finite_differences_of_the_value(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 0);
    for (size_t i_loss = 0; loss_table[i_loss]; i_loss++)
        for (uint64_t seed = 0; seed < 10; seed++) {
            const struct loss *loss = loss_table[i_loss];
            const struct loss_rows r = draw(seed, loss->takes_failed, seed % 2 == 1);
            float gradients[N] = {0}, curvatures[N] = {0};

            assert_int_equal(loss->slopes(&r, scores, &rng, gradients, loss->is_flat ? NULL : curvatures), ERR_OK);
            for (size_t i = 0; i < N; i++) {
                const double expected = difference(loss, &r, i);

                if (fabs(-(double)gradients[i] - expected) > 1e-4 * (1 + fabs(expected)))
                    fail_msg("%s, seed %d, row %zu: %g, by differences %g", loss->name, (int)seed, i,
                             -(double)gradients[i], expected);
                assert_true(loss->is_flat || curvatures[i] > 0);
            }
        }
}

static void rows_that_are_not_listed_are_left_alone(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 0);
    for (size_t i_loss = 0; loss_table[i_loss]; i_loss++) {
        struct loss_rows r = draw(3, false, false);
        float gradients[N] = {0}, curvatures[N] = {0};

        r.n = N / 2;
        assert_int_equal(loss_table[i_loss]->slopes(&r, scores, &rng, gradients, curvatures), ERR_OK);
        for (size_t i = N / 2; i < N; i++)
            assert_true(gradients[i] == 0 && curvatures[i] == 0);
    }
}

static void a_right_order_is_worth_more_than_a_wrong_one(void **state)
{
    (void)state;
    for (size_t i_loss = 0; loss_table[i_loss]; i_loss++) {
        const struct loss_rows r = draw(5, loss_table[i_loss]->takes_failed, false);
        float right[N], wrong[N];
        double good, bad;

        for (size_t i = 0; i < N; i++) {
            right[i] = isfinite(targets[i]) ? targets[i] : 4;
            wrong[i] = -right[i];
        }
        assert_int_equal(loss_table[i_loss]->value(&r, right, &good), ERR_OK);
        assert_int_equal(loss_table[i_loss]->value(&r, wrong, &bad), ERR_OK);
        assert_true(good < bad);
    }
}

/* Of four rows, one of them failed, with weights; each loss as its paper has it, in plain C. */
static void values_are_those_of_the_definitions(void **state)
{
    static const float t[4] = {2, 0.5f, INFINITY, 1}, w[4] = {1, 2, 0.5f, 3}, own[4] = {0.25f, -1, 0.5f, 2};
    static const uint32_t rows[4] = {0, 1, 2, 3}, in_order[4] = {1, 3, 0, 2};
    const struct loss_rows ranked = {t, w, rows, 4}, timed = {t, w, (const uint32_t[]){0, 1, 3}, 3};
    double squared = 0, pairs = 0, list = 0, v;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        double rest = 0;

        squared += isfinite(t[i]) ? 0.5 * (double)w[i] * pow((double)t[i] - (double)own[i], 2) : 0;
        for (size_t j = 0; j < 4; j++)
            if (t[i] < t[j])
                pairs += (double)w[i] * (double)w[j] * log(1 + exp((double)own[i] - (double)own[j]));
        for (size_t j = i; j < 4; j++)
            rest += (double)w[in_order[j]] * exp(-(double)own[in_order[j]]);
        if (isfinite(t[in_order[i]]))
            list += (double)w[in_order[i]] / (double)(i + 1) * (log(rest) + (double)own[in_order[i]]);
    }
    assert_int_equal(loss_table[0]->value(&timed, own, &v), ERR_OK);
    assert_true(fabs(v - squared) < 1e-9);
    assert_int_equal(loss_table[1]->value(&ranked, own, &v), ERR_OK);
    assert_true(fabs(v - pairs) < 1e-9);
    assert_int_equal(loss_table[2]->value(&ranked, own, &v), ERR_OK);
    assert_true(fabs(v - list) < 1e-9);
}

static void exp_and_log_are_close_to_those_of_libm(void **state)
{
    (void)state;
    for (double x = -60; x <= 60; x += 0.0137)
        assert_true(fabs(loss_exp(x) / exp(x) - 1) < 1e-13);
    assert_true(loss_exp(-1e9) == 0 && isfinite(loss_exp(1e9)));
    for (double x = 1e-6; x < 1e6; x *= 1.0137)
        assert_true(fabs(loss_log(x) - log(x)) < 1e-13 * (1 + fabs(log(x))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_finite_differences_of_the_value),
        cmocka_unit_test(rows_that_are_not_listed_are_left_alone),
        cmocka_unit_test(a_right_order_is_worth_more_than_a_wrong_one),
        cmocka_unit_test(exp_and_log_are_close_to_those_of_libm),
        cmocka_unit_test(values_are_those_of_the_definitions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
