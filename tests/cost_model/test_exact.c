/* SPDX-License-Identifier: MIT */
/* Small fits worked out by hand, or by a plain way: what the models of real data are made of. */
#include "core/file.h"
#include "cost_model/gbdt_json.h"
#include "cost_model/gbdt_model.h"
#include "cost_model/gpr.h"
#include "cost_model/gpr_private.h"
#include "cost_model/linear.h"
#include "cost_model/ridge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void near(double v, double expected, double within, const char *of)
{
    if (!(fabs(v - expected) <= within))
        fail_msg("%s: %.9g, expected %.9g", of, v, expected);
}

/* Solves a[n][n] x = b by elimination with pivots; x in b. */
static void solve(double *a, double *b, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        size_t p = k;

        for (size_t i = k + 1; i < n; i++)
            p = fabs(a[i * n + k]) > fabs(a[p * n + k]) ? i : p;
        for (size_t j = 0; j < n; j++) {
            const double t = a[k * n + j];

            a[k * n + j] = a[p * n + j];
            a[p * n + j] = t;
        }
        {
            const double t = b[k];

            b[k] = b[p];
            b[p] = t;
        }
        for (size_t i = k + 1; i < n; i++) {
            const double by = a[i * n + k] / a[k * n + k];

            for (size_t j = k; j < n; j++)
                a[i * n + j] -= by * a[k * n + j];
            b[i] -= by * b[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
}

/* ---- linear ---- */

static struct model *ridge_of(const float *rows, const float *targets, const float *weights, size_t n, size_t p)
{
    struct model *m = NULL;

    assert_int_equal(ridge_ops.init(&m, 0), ERR_OK);
    assert_int_equal(ridge_ops.fit(m, &(struct model_data){rows, targets, weights, n, p}), ERR_OK);
    return m;
}

/* The system of a Hilbert matrix with a heavier diagonal, one row wider than it is long, beside elimination. */
static void positive_systems_are_solved_by_their_factor(void **state)
{
    enum { N = 11, STRIDE = 12 };
    double matrix[N * STRIDE], square[N * N], x[N], y[N];

    (void)state;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++)
            square[i * N + j] = 1.0 / (double)(i + j + 1) + (i == j ? 0.25 : 0);
        for (size_t j = 0; j < STRIDE; j++)
            matrix[i * STRIDE + j] = j <= i ? square[i * N + j] : NAN;
        x[i] = y[i] = (double)i - 3.5;
    }
    assert_true(linear_factor(matrix, 0, 5, STRIDE, 0));
    assert_true(linear_factor(matrix, 5, N, STRIDE, 0));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++)
            near(linear_dot(matrix + i * STRIDE, matrix + j * STRIDE, j + 1), square[i * N + j], 1e-14, "L L^T");
    linear_solve_lower(matrix, 0, 3, STRIDE, x);
    linear_solve_lower(matrix, 3, N, STRIDE, x);
    for (size_t i = 0; i < N; i++)
        near(linear_dot(matrix + i * STRIDE, x, i + 1), y[i], 1e-13, "L x");
    linear_solve_upper(matrix, N, STRIDE, x);
    solve(square, y, N);
    for (size_t i = 0; i < N; i++)
        near(x[i], y[i], 1e-11, "x");
}

static void systems_that_are_not_positive_are_told(void **state)
{
    double singular[4] = {4, 0, 2, 1}, small[4] = {4, 0, 2, 1.01}, negative[1] = {-1}, none[1] = {NAN};

    (void)state;
    assert_false(linear_factor(singular, 0, 2, 2, 0)); /* 1 - 1^2 = 0 */
    assert_false(linear_factor(small, 0, 2, 2, 0.02)); /* 1.01 - 1 */
    small[2] = 2;
    small[3] = 1.01;
    assert_true(linear_factor(small, 1, 2, 2, 0.005));
    near(small[3], 0.1, 1e-9, "the last pivot");
    assert_false(linear_factor(negative, 0, 1, 1, 0));
    assert_false(linear_factor(none, 0, 1, 1, 0));
}

/* x = -1 1 has mean 0 and deviation 1. Without weights: mean 0, slope 4 / (2 + 1). With 3 and 1: mean -1, slope
 * (3 + 3) / (4 + 4 / 2). */
static void a_line_through_two_points_is_held_back_by_a_row(void **state)
{
    const float x[2] = {-1, 1}, y[2] = {-2, 2}, weights[2] = {3, 1}, asked[4] = {-1, 1, 3, NAN};
    float scores[4], spread[4] = {7, 7, 7, 7};
    struct model *m = ridge_of(x, y, NULL, 2, 1);

    (void)state;
    assert_int_equal(ridge_ops.predict(m, asked, 4, scores, spread), ERR_OK);
    near((double)scores[0], -4.0 / 3, 1e-6, "-1");
    near((double)scores[2], 4, 1e-6, "3");
    near((double)scores[3], 0, 1e-6, "missing");
    assert_true(spread[0] == 0 && spread[3] == 0);
    ridge_ops.fini(m);
    m = ridge_of(x, y, weights, 2, 1);
    assert_int_equal(ridge_ops.predict(m, asked, 4, scores, NULL), ERR_OK);
    near((double)scores[0], -2, 1e-6, "-1 by weight");
    near((double)scores[1], 0, 1e-6, "1 by weight");
    near((double)scores[3], -1, 1e-6, "missing by weight");
    ridge_ops.fini(m);
}

/* Against the normal equations, written out. */
static void ridge_solves_its_normal_equations(void **state)
{
    enum { N = 30, P = 4 };
    float rows[N * P], y[N], w[N], scores[N], share[P];
    double mean[P] = {0}, scale[P], a[P * P] = {0}, b[P] = {0}, base = 0, sum_w = 0, sum_slopes = 0;
    struct model *m;
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < P; j++) {
            rows[i * P + j] = (float)(rng_unit(&rng) * (double)(j + 1)) + (j ? 0.5f * rows[i * P] : 0);
            mean[j] += (double)rows[i * P + j] / N;
        }
        w[i] = 0.25f + (float)rng_unit(&rng);
        y[i] = 2 * rows[i * P] - 3 * rows[i * P + 2] + (float)rng_unit(&rng);
        base += (double)w[i] * (double)y[i];
        sum_w += (double)w[i];
    }
    base /= sum_w;
    for (size_t j = 0; j < P; j++) {
        double squares = 0;

        for (size_t i = 0; i < N; i++)
            squares += pow((double)rows[i * P + j] - mean[j], 2);
        scale[j] = 1 / sqrt(squares / N);
    }
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < P; j++) {
            const double u = ((double)rows[i * P + j] - mean[j]) * scale[j];

            b[j] += (double)w[i] * u * ((double)y[i] - base);
            for (size_t k = 0; k < P; k++)
                a[j * P + k] += (double)w[i] * u * ((double)rows[i * P + k] - mean[k]) * scale[k];
        }
    for (size_t j = 0; j < P; j++)
        a[j * P + j] += sum_w / N;
    solve(a, b, P);
    m = ridge_of(rows, y, w, N, P);
    assert_int_equal(ridge_ops.predict(m, rows, N, scores, NULL), ERR_OK);
    for (size_t i = 0; i < N; i++) {
        double expected = base;

        for (size_t j = 0; j < P; j++)
            expected += b[j] * ((double)rows[i * P + j] - mean[j]) * scale[j];
        near((double)scores[i], expected, 1e-5, "score");
    }
    assert_int_equal(ridge_ops.importance(m, share), ERR_OK);
    for (size_t j = 0; j < P; j++)
        sum_slopes += fabs(b[j]);
    for (size_t j = 0; j < P; j++)
        near((double)share[j], fabs(b[j]) / sum_slopes, 1e-5, "share");
    ridge_ops.fini(m);
}

static void names_of_models_are_listed(void **state)
{
    size_t n = 0;

    (void)state;
    for (; model_name_at(n); n++)
        assert_string_equal(model_name_at(n), model_table[n]->name);
    assert_true(n >= 2 && !model_table[n]);
}

/* ---- trees ---- */

static struct gbdt_options one_split(void)
{
    struct gbdt_options o = gbdt_defaults();

    o.n_forests = o.n_trees = o.max_depth = 1;
    o.rate = o.row_share = o.column_share = 1;
    o.l2 = 0;
    return o;
}

static struct model *tree_of(const struct gbdt_options *o, const float *rows, const float *targets,
                             const float *weights, size_t n, size_t p)
{
    struct model *m = NULL;

    assert_int_equal(gbdt_new(&m, 0, o), ERR_OK);
    assert_int_equal(gbdt_ops.fit(m, &(struct model_data){rows, targets, weights, n, p}), ERR_OK);
    return m;
}

static double score_of(const struct model *m, float x)
{
    float score;

    assert_int_equal(gbdt_ops.predict(m, &x, 1, &score, NULL), ERR_OK);
    return (double)score;
}

/* Targets 0 2 at 0 and 10 12 at 1: mean 6, sides -10 and 10 of two rows each. */
static void a_split_gives_each_side_its_mean(void **state)
{
    const float x[4] = {0, 0, 1, 1}, y[4] = {0, 2, 10, 12};
    struct gbdt_options o = one_split();
    struct model *m = tree_of(&o, x, y, NULL, 4, 1);

    (void)state;
    near(score_of(m, 0), 1, 1e-5, "0");
    near(score_of(m, 0.5f), 1, 1e-5, "the cut itself is left");
    near(score_of(m, 0.501f), 11, 1e-5, "above the cut");
    near(score_of(m, -1e30f), 1, 1e-5, "far below");
    gbdt_ops.fini(m);
    o.l2 = 2; /* counts as two rows more: 10 / (2 + 2) */
    m = tree_of(&o, x, y, NULL, 4, 1);
    near(score_of(m, 0), 3.5, 1e-5, "held back");
    gbdt_ops.fini(m);
    o.rate = 0.5;
    m = tree_of(&o, x, y, NULL, 4, 1);
    near(score_of(m, 1), 7.25, 1e-5, "shrunk");
    gbdt_ops.fini(m);
}

/* The split above: 100 / 2 + 100 / 2 - 0. */
static void a_split_must_gain_more_than_min_gain_and_leave_min_child(void **state)
{
    const float x[4] = {0, 0, 1, 1}, y[4] = {0, 2, 10, 12};
    static const struct {
        double min_gain, min_child;
        bool splits;
    } cases[] = {{0, 1, true}, {99, 1, true}, {101, 1, false}, {0, 2, true}, {0, 2.01, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gbdt_options o = one_split();
        struct model *m;

        o.min_gain = cases[i].min_gain;
        o.min_child = cases[i].min_child;
        m = tree_of(&o, x, y, NULL, 4, 1);
        near(score_of(m, 0), cases[i].splits ? 1 : 6, 1e-5, "0");
        gbdt_ops.fini(m);
    }
}

/* One split tells 0 from what is missing and 1, then 1 from what is missing and 0, then what is missing from both. */
static void one_split_puts_missing_values_on_either_side(void **state)
{
    static const float y[3][3] = {{0, 10, 10}, {0, 10, 0}, {10, 10, 0}};
    const struct gbdt_options o = one_split();

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        float x[30], targets[30];
        struct model *m;

        for (size_t i = 0; i < 30; i++) {
            x[i] = i % 3 == 2 ? NAN : (float)(i % 3);
            targets[i] = y[k][i % 3];
        }
        m = tree_of(&o, x, targets, NULL, 30, 1);
        near(score_of(m, 0), (double)y[k][0], 1e-5, "0");
        near(score_of(m, 1), (double)y[k][1], 1e-5, "1");
        near(score_of(m, NAN), (double)y[k][2], 1e-5, "missing");
        near(score_of(m, INFINITY), (double)y[k][2], 1e-5, "infinite counts as missing");
        gbdt_ops.fini(m);
    }
}

/* Where nothing was missing it follows the heavier side. */
static void what_was_never_missing_goes_with_the_many(void **state)
{
    const float x[5] = {0, 0, 0, 1, 1}, y[5] = {0, 0, 0, 10, 10}, weights[5] = {1, 1, 1, 9, 9};
    struct gbdt_options o = one_split();
    struct model *m = tree_of(&o, x, y, NULL, 5, 1);

    (void)state;
    near(score_of(m, NAN), 0, 1e-5, "three of five");
    gbdt_ops.fini(m);
    o.min_child = 0.1; /* of the mean weight: the left side has 3 of 21 */
    m = tree_of(&o, x, y, weights, 5, 1);
    near(score_of(m, NAN), 10, 1e-5, "by weight");
    gbdt_ops.fini(m);
}

/* Features of equal gain: the first; of three ranges the better cut. */
static void the_best_of_several_splits_is_taken(void **state)
{
    const float x[6] = {0, 1, 2, 3, 4, 5}, y[6] = {0, 0, 0, 0, 9, 9};
    const struct gbdt_options o = one_split();
    struct model *m = tree_of(&o, x, y, NULL, 6, 1);

    (void)state;
    for (int i = 0; i < 6; i++)
        near(score_of(m, (float)i), (double)y[i], 1e-5, "score");
    near(score_of(m, 3.5f), 0, 1e-5, "3.5");
    near(score_of(m, 3.6f), 9, 1e-5, "3.6");
    gbdt_ops.fini(m);
}

#define OPTIONS                                                                                                        \
    "\"options\":{\"loss\":\"squared\",\"n_forests\":%d,\"n_trees\":1,\"max_depth\":6,\"max_leaves\":0,\"patience\":"  \
    "0,"                                                                                                               \
    "\"rate\":0.1,\"row_share\":1,\"column_share\":1,\"l2\":1,\"min_child\":1,\"min_gain\":0,\"held_back\":0}"

/* A model of `n` forests with these columns and trees. */
static enum err read_made(int n, const char *columns, const char *forests, struct model **m, struct why *why)
{
    char text[4096];
    cJSON *root = NULL;
    enum err e;

    snprintf(text, sizeof text,
             "{\"schema\":\"tune.gbdt/1\",\"features\":1,\"seed\":\"18446744073709551615\"," OPTIONS
             ",\"base\":10,\"gains\":[1],\"columns\":[%s],\"forests\":[%s]}",
             n, columns, forests);
    assert_int_equal(json_parse(text, strlen(text), &root, NULL), ERR_OK);
    e = gbdt_read(m, root, NULL, 0, why);
    cJSON_Delete(root);
    return e;
}

/* Forests that answer 1, 3 and 8: their mean is 4, the deviation sqrt((9 + 1 + 16) / 3); of one row and of many. */
static void scores_are_means_and_spreads_deviations_of_forests(void **state)
{
    static const char tree[] = "[{\"nodes\":[],\"leaves\":[%d]}]";
    char forests[256] = "";
    const float rows[70] = {0};
    float scores[70], spread[70];
    struct model *m = NULL;
    struct why why = {""};

    (void)state;
    for (int i = 0; i < 3; i++) {
        strcat(forests, i ? "," : "");
        snprintf(forests + strlen(forests), 64, tree, (const int[]){1, 3, 8}[i]);
    }
    if (read_made(3, "", forests, &m, &why))
        fail_msg("%s", why.text);
    for (size_t n = 1; n <= 70; n += 69) {
        assert_int_equal(gbdt_ops.predict(m, rows, n, scores, spread), ERR_OK);
        near((double)scores[n - 1], 14, 1e-6, "score");
        near((double)spread[n - 1], sqrt(26.0 / 3), 1e-6, "spread");
    }
    {
        struct buf text;

        buf_init(&text, 1 << 16);
        assert_int_equal(gbdt_write(m, NULL, &text), ERR_OK);
        assert_non_null(strstr(buf_text(&text), "\"seed\":\"18446744073709551615\""));
        buf_fini(&text);
    }
    gbdt_ops.fini(m);
}

static void columns_of_files_must_ascend(void **state)
{
    static const char forests[] = "[{\"nodes\":[0,1,0,-1,-2],\"leaves\":[1,2]}]";
    static const struct {
        const char *columns, *words;
    } cases[] = {
        {"{\"feature\":0,\"cuts\":[1,2]}", NULL},
        {"{\"feature\":0,\"cuts\":[1,2],\"low\":[0,1,2],\"high\":[0,1,2]}", NULL}, /* as they once were */
        {"{\"feature\":0,\"cuts\":[1,1]}", "ascending"},
        {"{\"feature\":0,\"cuts\":[2,1]}", "ascending"},
        {"{\"feature\":1,\"cuts\":[1,2]}", "feature"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model *m = NULL;
        struct why why = {""};
        const enum err e = read_made(1, cases[i].columns, forests, &m, &why);

        if (e != (cases[i].words ? ERR_INPUT : ERR_OK) || (cases[i].words && !strstr(why.text, cases[i].words)))
            fail_msg("%s: %s %s", cases[i].columns, err_name(e), why.text);
        if (!e)
            gbdt_ops.fini(m);
    }
}

static void files_of_another_schema_are_refused(void **state)
{
    static const char text[] = "{\"schema\":\"tune.gbdt/2\",\"features\":1}";
    struct model *m = NULL;
    struct why why = {""};
    cJSON *root = NULL;

    (void)state;
    assert_int_equal(json_parse(text, sizeof text - 1, &root, NULL), ERR_OK);
    assert_int_equal(gbdt_read(&m, root, NULL, 0, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "expected \"tune.gbdt/1\""));
    assert_null(m);
    cJSON_Delete(root);
}

/* A split that only what is missing passes: of a row alone and among many. */
static void what_is_missing_is_above_every_threshold(void **state)
{
    struct model *m = NULL;
    struct why why = {""};
    float rows[70], scores[70];

    (void)state;
    if (read_made(1, "{\"feature\":0,\"cuts\":[0.5],\"low\":[0,1],\"high\":[0,1]}",
                  "[{\"nodes\":[0,254,1,-1,-2],\"leaves\":[1,2]}]", &m, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < 70; i++)
        rows[i] = i % 2 ? NAN : 1;
    assert_int_equal(gbdt_ops.predict(m, rows, 70, scores, NULL), ERR_OK);
    near((double)scores[68], 11, 1e-6, "among many");
    near((double)scores[69], 12, 1e-6, "missing among many");
    near(score_of(m, 1), 11, 1e-6, "alone");
    near(score_of(m, NAN), 12, 1e-6, "missing alone");
    gbdt_ops.fini(m);
}

static void rows_of_no_weight_count_for_nothing(void **state)
{
    const float x[3] = {-1, 1, 0}, y[3] = {2, 4, 1000}, weights[3] = {1, 1, 0}, asked[1] = {0};
    float score;

    (void)state;
    for (size_t i = 0; model_table[i]; i++) {
        struct model *m = NULL;

        assert_int_equal(model_table[i]->init(&m, 0), ERR_OK);
        assert_int_equal(model_table[i]->fit(m, &(struct model_data){x, y, weights, 3, 1}), ERR_OK);
        assert_int_equal(model_table[i]->predict(m, asked, 1, &score, NULL), ERR_OK);
        assert_true(score >= 2 && score <= 4);
        model_table[i]->fini(m);
    }
}

/* Where a is 0 there is b = 0 and 8 only, elsewhere all of 0 .. 8: the cut of the former stands half-way. */
static void a_cut_within_a_node_is_half_way_between_its_own_rows(void **state)
{
    static float x[2 * 900], y[900];

    (void)state;
    for (size_t n = 36; n <= 900; n *= 5) {
        struct gbdt_options o = one_split();
        const float asked[6] = {0, 3, 0, 5, 1, 5};
        float scores[3];
        struct model *m;

        for (size_t i = 0; i < n; i++) {
            x[2 * i] = (float)(i % 2);
            x[2 * i + 1] = i % 2 ? (float)(i / 2 % 9) : (float)(i / 2 % 2 * 8);
            y[i] = i % 2 ? 1000 : (float)(i / 2 % 2 * 10);
        }
        o.max_depth = 2;
        m = tree_of(&o, x, y, NULL, n, 2);
        assert_int_equal(gbdt_ops.predict(m, asked, 3, scores, NULL), ERR_OK);
        near((double)scores[0], 0, 1e-3, "b = 3");
        near((double)scores[1], 10, 1e-3, "b = 5");
        near((double)scores[2], 1000, 1e-3, "a = 1");
        gbdt_ops.fini(m);
    }
}

/* ---- Gaussian processes ---- */

#define G_MAX 70
#define G_WIDTH 2

/* Matern 5/2 at the shape a new process has: lengths of e^.5, scale 1. */
static double kernel(const float *a, const float *b)
{
    double d2 = 0, r;

    for (size_t k = 0; k < G_WIDTH; k++)
        d2 += pow(((double)a[k] - (double)b[k]) / exp(0.5), 2);
    r = sqrt(5 * d2);
    return (1 + r + 5 * d2 / 3) * exp(-r);
}

/* Mean and variance at a row by the textbook's formulas (Rasmussen and Williams, 2.25 and 2.26). */
static void posterior(const float *rows, const double *y, size_t n, const float *at, double *mean, double *variance)
{
    static double a[G_MAX * G_MAX], b[G_MAX * G_MAX];
    double alpha[G_MAX], v[G_MAX];

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = b[i * n + j] =
                kernel(rows + i * G_WIDTH, rows + j * G_WIDTH) + (i == j ? exp(2 * -3.0) + 1e-6 : 0);
        alpha[i] = y[i];
        v[i] = kernel(rows + i * G_WIDTH, at);
    }
    solve(a, alpha, n);
    solve(b, v, n);
    *mean = 0;
    *variance = 1;
    for (size_t i = 0; i < n; i++) {
        *mean += alpha[i] * kernel(rows + i * G_WIDTH, at);
        *variance -= v[i] * kernel(rows + i * G_WIDTH, at);
    }
}

static void check_posterior(const struct gpr *g, struct gpr_view *view, const float *rows, const double *y, size_t n,
                            const float *table, size_t n_table)
{
    float mean[100], sd[100];

    assert_int_equal(gpr_n_rows(g), n);
    assert_int_equal(gpr_view_update(view), ERR_OK);
    gpr_view_mean(view, NULL, mean);
    gpr_view_sd(view, sd);
    for (size_t i = 0; i < n_table; i += 13) {
        double m, v;

        posterior(rows, y, n, table + i * G_WIDTH, &m, &v);
        near(gpr_mean_of(g, table + i * G_WIDTH), m, 1e-8, "mean");
        near((double)mean[i], m, 2e-3, "mean of the view");
        near((double)sd[i], sqrt(v), 2e-3, "deviation");
    }
}

/* As it grows over the sizes at which memory is widened, with rows replaced, and shorter again. */
static void means_and_deviations_are_those_of_the_textbook(void **state)
{
    static const size_t sizes[] = {1, 2, 5, 63, 64, 65, 70, 70, 70, 30, 66};
    float rows[G_MAX * G_WIDTH], table[100 * G_WIDTH];
    double y[G_MAX];
    struct gpr_view *view = NULL;
    struct gpr *g = NULL;
    struct rng rng;

    (void)state;
    rng_init(&rng, 11);
    for (size_t i = 0; i < G_MAX * G_WIDTH; i++)
        rows[i] = (float)rng_unit(&rng) * 3;
    for (size_t i = 0; i < 100 * G_WIDTH; i++)
        table[i] = (float)rng_unit(&rng) * 3;
    for (size_t i = 0; i < G_MAX; i++)
        y[i] = sin(3 * (double)rows[i * G_WIDTH]) + (double)rows[i * G_WIDTH + 1] - 1.5;
    assert_int_equal(gpr_new(&g, G_WIDTH), ERR_OK);
    assert_true(gpr_mean_of(g, table) == 0);
    assert_int_equal(gpr_view_new(&view, g, table, 100), ERR_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (i == 7)
            rows[69 * G_WIDTH + 1] += 1; /* the last one is another now */
        if (i == 8)
            rows[0] += 1; /* and the first; targets alone may change too */
        if (i == 10)
            y[3] += 1;
        assert_int_equal(gpr_fit(g, rows, y, sizes[i], 0), ERR_OK);
        check_posterior(g, view, rows, y, sizes[i], table, 100);
    }
    gpr_view_free(view);
    gpr_free(g);
}

/* Of one row with target 0 the likelihood asks for little variance, the priors for what they hold probable. With scale
 * e^a and noise e^n the slopes are e^2a / (e^2a + e^2n) + a and e^2n / (e^2a + e^2n) + n + 3: a = -1 and n = -3 but for
 * some hundredths. The length, of which one row says nothing, stays. */
static void shapes_are_the_most_probable_ones(void **state)
{
    const float row[1] = {0.5f};
    const double y[1] = {0};
    struct gpr_shape s;

    (void)state;
    gpr_shape_init(&s, 1);
    assert_int_equal(gpr_shape_improve(&s, row, y, 1, 200), ERR_OK);
    near(s.logs[0], 0.5, 1e-9, "length");
    near(gpr_log_noise(&s), -3.02, 0.03, "noise");
    near(gpr_log_scale(&s), -0.98, 0.03, "scale");
}

/* Thirty zeros ask for about thirty times less noise than any prior would stand for. */
static void shapes_stay_within_bounds(void **state)
{
    float rows[30];
    const double y[30] = {0};
    struct gpr_shape s;

    (void)state;
    for (size_t i = 0; i < 30; i++)
        rows[i] = (float)i / 30;
    gpr_shape_init(&s, 1);
    assert_int_equal(gpr_shape_improve(&s, rows, y, 30, 100), ERR_OK);
    for (size_t i = 0; i < 3; i++)
        assert_true(s.logs[i] >= -4 && s.logs[i] <= 4);
    near(gpr_log_noise(&s), -4, 1e-9, "noise");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positive_systems_are_solved_by_their_factor),
        cmocka_unit_test(systems_that_are_not_positive_are_told),
        cmocka_unit_test(a_line_through_two_points_is_held_back_by_a_row),
        cmocka_unit_test(ridge_solves_its_normal_equations),
        cmocka_unit_test(names_of_models_are_listed),
        cmocka_unit_test(a_split_gives_each_side_its_mean),
        cmocka_unit_test(a_split_must_gain_more_than_min_gain_and_leave_min_child),
        cmocka_unit_test(one_split_puts_missing_values_on_either_side),
        cmocka_unit_test(what_was_never_missing_goes_with_the_many),
        cmocka_unit_test(the_best_of_several_splits_is_taken),
        cmocka_unit_test(scores_are_means_and_spreads_deviations_of_forests),
        cmocka_unit_test(columns_of_files_must_ascend),
        cmocka_unit_test(means_and_deviations_are_those_of_the_textbook),
        cmocka_unit_test(shapes_are_the_most_probable_ones),
        cmocka_unit_test(files_of_another_schema_are_refused),
        cmocka_unit_test(what_is_missing_is_above_every_threshold),
        cmocka_unit_test(rows_of_no_weight_count_for_nothing),
        cmocka_unit_test(a_cut_within_a_node_is_half_way_between_its_own_rows),
        cmocka_unit_test(shapes_stay_within_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
