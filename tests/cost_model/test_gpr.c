/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/rng.h"
#include "cost_model/gpr_private.h"

#include <math.h>
#include <stdlib.h>

#define N 40
#define N_TABLE 300
#define WIDTH 3

/* What is learned: a bump in the first column, a slope in the second, nothing from the third. */
static double truth(const float *row)
{
    return 3 * exp(-20 * ((double)row[0] - 0.4) * ((double)row[0] - 0.4)) - (double)row[1];
}

static float rows[N * WIDTH], table[N_TABLE * WIDTH];
static double targets[N];

static int draw(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 5);
    for (size_t i = 0; i < N * WIDTH; i++)
        rows[i] = (float)rng_unit(&rng);
    for (size_t i = 0; i < N_TABLE * WIDTH; i++)
        table[i] = (float)rng_unit(&rng);
    for (size_t i = 0; i < N; i++)
        targets[i] = truth(rows + i * WIDTH);
    return 0;
}

static void it_learns_a_smooth_function(void **state)
{
    float mean[N_TABLE], sd[N_TABLE];
    double wrong = 0, spread = 0;
    struct gpr_view *view;
    struct gpr *g;

    (void)state;
    assert_int_equal(gpr_new(&g, WIDTH), ERR_OK);
    assert_int_equal(gpr_view_new(&view, g, table, N_TABLE), ERR_OK);
    assert_int_equal(gpr_fit(g, rows, targets, N, 30), ERR_OK);
    assert_int_equal(gpr_view_update(view), ERR_OK);
    gpr_view_mean(view, NULL, mean);
    gpr_view_sd(view, sd);
    for (size_t i = 0; i < N_TABLE; i++) {
        const double y = truth(table + i * WIDTH);

        wrong += ((double)mean[i] - y) * ((double)mean[i] - y);
        spread += y * y;
        assert_true(sd[i] > 0);
        assert_true(fabs((double)mean[i] - y) < 6 * (double)sd[i] + 0.1);
    }
    if (wrong > 0.02 * spread)
        fail_msg("squared error %g of %g", wrong, spread);
    gpr_view_free(view);
    gpr_free(g);
}

/* The answer for a measured row, asked with little noise, is what was measured; far away it is the prior. */
static void it_repeats_what_was_measured_and_knows_what_it_does_not(void **state)
{
    const float asked[2 * 1] = {0.5f, 1000};
    const float measured[3 * 1] = {-4, 0.5f, 5};
    const double y[3] = {-1, 0.5, 0.8};
    float mean[2], sd[2];
    struct gpr_view *view;
    struct gpr *g;

    (void)state;
    assert_int_equal(gpr_new(&g, 1), ERR_OK);
    assert_int_equal(gpr_view_new(&view, g, asked, 2), ERR_OK);
    assert_int_equal(gpr_fit(g, measured, y, 3, 0), ERR_OK);
    assert_int_equal(gpr_view_update(view), ERR_OK);
    gpr_view_mean(view, NULL, mean);
    gpr_view_sd(view, sd);
    assert_true(fabs((double)mean[0] - 0.5) < 0.05);
    assert_true(fabs((double)mean[0] - gpr_mean_of(g, asked)) < 1e-4);
    assert_true((double)sd[0] < 0.1);
    assert_true(fabs((double)mean[1]) < 1e-3);
    assert_true(fabs((double)sd[1] - 1) < 1e-3);
    gpr_view_free(view);
    gpr_free(g);
}

/* A view that grew row by row, and lost some again, answers as one made at once. */
static void a_view_that_grew_answers_as_a_new_one(void **state)
{
    float grown[N_TABLE], fresh[N_TABLE], grown_sd[N_TABLE], fresh_sd[N_TABLE];
    struct gpr_view *view, *other;
    struct gpr *g;

    (void)state;
    assert_int_equal(gpr_new(&g, WIDTH), ERR_OK);
    assert_int_equal(gpr_view_new(&view, g, table, N_TABLE), ERR_OK);
    assert_int_equal(gpr_view_new(&other, g, table, N_TABLE), ERR_OK);
    for (size_t n = 5; n <= 30; n++) {
        assert_int_equal(gpr_fit(g, rows, targets, n, n % 10 == 0 ? 3 : 0), ERR_OK);
        assert_int_equal(gpr_view_update(view), ERR_OK);
    }
    for (size_t i = 20 * WIDTH; i < 30 * WIDTH; i++) /* the last ten become others */
        rows[i] = rows[i + 10 * WIDTH];
    assert_int_equal(gpr_fit(g, rows, targets, 28, 0), ERR_OK);
    assert_int_equal(gpr_view_update(view), ERR_OK);
    assert_int_equal(gpr_view_update(other), ERR_OK);
    gpr_view_mean(view, NULL, grown);
    gpr_view_mean(other, NULL, fresh);
    gpr_view_sd(view, grown_sd);
    gpr_view_sd(other, fresh_sd);
    for (size_t i = 0; i < N_TABLE; i++) {
        assert_true(fabs((double)grown[i] - (double)fresh[i]) < 1e-4);
        assert_true(fabs((double)grown_sd[i] - (double)fresh_sd[i]) < 1e-3);
    }
    gpr_view_free(view);
    gpr_view_free(other);
    gpr_free(g);
}

#define N_SHAPED 14

/* The negative logarithm of the posterior, but for a constant, by its definition: y' K^-1 y / 2 + ln |K| / 2 and the
 * priors, which are around what a shape begins with, of deviation 1. */
static double unlikelihood(const struct gpr_shape *s, const double *values)
{
    const double scale = exp(2 * gpr_log_scale(s)), noise = exp(2 * gpr_log_noise(s)) + 1e-6;
    double k[N_SHAPED][N_SHAPED], y[N_SHAPED], inverse[GPR_MAX_COLUMNS], sum = 0;
    struct gpr_shape prior;

    gpr_inverse_lengths(s, inverse);
    for (size_t i = 0; i < N_SHAPED; i++) {
        y[i] = values[i];
        for (size_t j = 0; j <= i; j++)
            k[i][j] = scale * gpr_kernel(gpr_distance2(rows + i * WIDTH, rows + j * WIDTH, inverse, WIDTH), NULL) +
                      (i == j ? noise : 0);
    }
    for (size_t i = 0; i < N_SHAPED; i++) { /* Cholesky, and y := L^-1 y beside it */
        for (size_t j = 0; j <= i; j++) {
            for (size_t l = 0; l < j; l++)
                k[i][j] -= k[i][l] * k[j][l];
            k[i][j] = i == j ? sqrt(k[i][i]) : k[i][j] / k[j][j];
        }
        for (size_t l = 0; l < i; l++)
            y[i] -= k[i][l] * y[l];
        y[i] /= k[i][i];
        sum += y[i] * y[i] / 2 + log(k[i][i]);
    }
    gpr_shape_init(&prior, WIDTH);
    for (size_t i = 0; i < WIDTH + 2; i++)
        sum += (s->logs[i] - prior.logs[i]) * (s->logs[i] - prior.logs[i]) / 2;
    return sum;
}

/* A step of any length, of the noise or of the scale away from it is less likely. */
static void the_shape_that_is_found_is_the_most_likely(void **state)
{
    struct gpr_shape shape;
    double least, noisy[N_SHAPED];

    (void)state;
    for (size_t i = 0; i < N_SHAPED; i++)
        noisy[i] = targets[i] + (i % 2 ? 0.2 : -0.2);
    gpr_shape_init(&shape, WIDTH);
    assert_int_equal(gpr_shape_improve(&shape, rows, noisy, N_SHAPED, 400), ERR_OK);
    least = unlikelihood(&shape, noisy);
    for (size_t i = 0; i < WIDTH + 2; i++)
        for (int side = -1; side <= 1; side += 2) {
            struct gpr_shape beside = shape;

            beside.logs[i] += 0.02 * side;
            if (!(unlikelihood(&beside, noisy) > least))
                fail_msg("logarithm %zu: %g, %g at %+g", i, least, unlikelihood(&beside, noisy), 0.02 * side);
        }
}

static void another_quantity_shares_the_kernel(void **state)
{
    double twice[N];
    float mean[N_TABLE], doubled[N_TABLE];
    struct gpr_view *view;
    struct gpr *g;

    (void)state;
    for (size_t i = 0; i < N; i++)
        twice[i] = 2 * targets[i];
    assert_int_equal(gpr_new(&g, WIDTH), ERR_OK);
    assert_int_equal(gpr_view_new(&view, g, table, N_TABLE), ERR_OK);
    assert_int_equal(gpr_fit(g, rows, targets, N, 5), ERR_OK);
    assert_int_equal(gpr_view_update(view), ERR_OK);
    gpr_view_mean(view, NULL, mean);
    gpr_view_mean(view, twice, doubled);
    for (size_t i = 0; i < N_TABLE; i++)
        assert_true(fabs(2 * (double)mean[i] - (double)doubled[i]) < 1e-3);
    gpr_view_free(view);
    gpr_free(g);
}

static void it_refuses_what_it_cannot_fit(void **state)
{
    const double bad[1] = {NAN};
    const float gap[WIDTH] = {0, NAN, 0};
    struct gpr *g = NULL;

    (void)state;
    assert_int_equal(gpr_new(&g, 0), ERR_LIMIT);
    assert_int_equal(gpr_new(&g, GPR_MAX_COLUMNS + 1), ERR_LIMIT);
    assert_int_equal(gpr_new(&g, WIDTH), ERR_OK);
    assert_int_equal(gpr_fit(g, rows, targets, 0, 0), ERR_INPUT);
    assert_int_equal(gpr_fit(g, rows, bad, 1, 0), ERR_INPUT);
    assert_int_equal(gpr_fit(g, gap, targets, 1, 0), ERR_INPUT);
    gpr_free(g);
    gpr_free(NULL);
    gpr_view_free(NULL);
}

/* Equal rows with different answers, and constant answers, are no reason to stop. */
static void rows_that_contradict_each_other_are_fitted(void **state)
{
    float same[20 * WIDTH];
    double y[20], flat[20];
    float mean[1];
    struct gpr_view *view;
    struct gpr *g;

    (void)state;
    for (size_t i = 0; i < 20; i++) {
        for (size_t k = 0; k < WIDTH; k++)
            same[i * WIDTH + k] = 0.25f;
        y[i] = i % 2 ? 1 : -1;
        flat[i] = 0;
    }
    assert_int_equal(gpr_new(&g, WIDTH), ERR_OK);
    assert_int_equal(gpr_view_new(&view, g, same, 1), ERR_OK);
    assert_int_equal(gpr_fit(g, same, y, 20, 50), ERR_OK);
    assert_int_equal(gpr_view_update(view), ERR_OK);
    gpr_view_mean(view, NULL, mean);
    assert_true(fabs((double)mean[0]) < 0.5);
    assert_int_equal(gpr_fit(g, rows, flat, 20, 50), ERR_OK);
    assert_int_equal(gpr_view_update(view), ERR_OK);
    gpr_view_mean(view, NULL, mean);
    assert_true(fabs((double)mean[0]) < 1e-3);
    gpr_view_free(view);
    gpr_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_learns_a_smooth_function, draw),
        cmocka_unit_test(it_repeats_what_was_measured_and_knows_what_it_does_not),
        cmocka_unit_test_setup(a_view_that_grew_answers_as_a_new_one, draw),
        cmocka_unit_test_setup(the_shape_that_is_found_is_the_most_likely, draw),
        cmocka_unit_test_setup(another_quantity_shares_the_kernel, draw),
        cmocka_unit_test_setup(it_refuses_what_it_cannot_fit, draw),
        cmocka_unit_test_setup(rows_that_contradict_each_other_are_fitted, draw),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
