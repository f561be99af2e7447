/* SPDX-License-Identifier: MIT */
#include "search/learn/ensemble.h"
#include "search/learn/judge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_KNOBS 4
#define N_ALL 1600

/* A made-up kernel: tiles of x by y, a width, a flag. Fast where x * y is near 256 and a multiple of 32; too large ones
 * fail. */
struct made {
    double values[N_ALL][N_KNOBS], times[N_ALL];
    struct features_knob knobs[N_KNOBS];
};

static double time_of(const double *v)
{
    const double area = v[0] * v[1], rounded = ceil(area / 32) * 32;

    if (area > 2048)
        return NAN;
    return (1 + fabs(log2(area / 256))) * rounded / area * (1 + 1 / v[2]) * (v[3] > 0 ? 0.9 : 1);
}

static struct made *made(void)
{
    struct made *m = calloc(1, sizeof *m);
    struct rng rng;

    assert_non_null(m);
    rng_init(&rng, 7);
    for (size_t i = 0; i < N_ALL; i++) {
        m->values[i][0] = (double)(8 * (1 + rng_below(&rng, 16)));
        m->values[i][1] = (double)(1 + rng_below(&rng, 24));
        m->values[i][2] = (double)(1u << rng_below(&rng, 4));
        m->values[i][3] = (double)rng_below(&rng, 2);
        m->times[i] = time_of(m->values[i]);
        for (size_t j = 0; j < N_KNOBS; j++)
            features_knob_meet(&m->knobs[j], m->values[i][j]);
    }
    return m;
}

static struct ensemble_data data_of(const struct made *m, size_t n)
{
    return (struct ensemble_data){m->knobs, m->values[0], m->times, NULL, n, N_KNOBS, 0};
}

static struct ensemble *fitted(const struct ensemble_data *d, uint64_t seed)
{
    struct ensemble *e = NULL;
    struct why why = {""};

    if (ensemble_fit(&e, d, seed, &why))
        fail_msg("%s", why.text);
    return e;
}

static void it_ranks_configs_that_it_has_not_seen(void **state)
{
    static const struct {
        size_t n;
        double spearman;
    } cases[] = {{60, .6}, {200, .85}, {600, .9}};
    struct made *m = made();
    float *scores = malloc(N_ALL * sizeof *scores);

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const size_t n = cases[i].n;
        const struct ensemble_data d = data_of(m, n);
        struct ensemble *e = fitted(&d, 0);
        double out[N_MEASURES];

        assert_int_equal(ensemble_predict(e, m->values[n], NULL, N_ALL - n, scores), ERR_OK);
        assert_int_equal(judge(m->times + n, scores, N_ALL - n, INFINITY, out), ERR_OK);
        if (out[MEASURE_SPEARMAN] < cases[i].spearman || out[MEASURE_FAIL32] > 0.1)
            fail_msg("%zu rows: spearman %g, failures %g", n, out[MEASURE_SPEARMAN], out[MEASURE_FAIL32]);
        ensemble_free(e);
    }
    free(scores);
    free(m);
}

static void the_same_data_and_seed_give_the_same_scores(void **state)
{
    struct made *m = made();
    const struct ensemble_data d = data_of(m, 100);
    struct ensemble *a = fitted(&d, 3), *b = fitted(&d, 3), *c = fitted(&d, 4);
    float x[100], y[100], z[100];

    (void)state;
    ensemble_predict(a, m->values[200], NULL, 100, x);
    ensemble_predict(b, m->values[200], NULL, 100, y);
    ensemble_predict(c, m->values[200], NULL, 100, z);
    assert_memory_equal(x, y, sizeof x);
    assert_memory_not_equal(x, z, sizeof x);
    ensemble_free(a);
    ensemble_free(b);
    ensemble_free(c);
    free(m);
}

static void a_score_does_not_depend_on_the_rows_beside_it(void **state)
{
    struct made *m = made();
    const struct ensemble_data d = data_of(m, 100);
    struct ensemble *e = fitted(&d, 0);
    float all[1500], one;

    (void)state;
    ensemble_predict(e, m->values[100], NULL, 1500, all);
    for (size_t i = 0; i < 1500; i += 293) {
        ensemble_predict(e, m->values[100 + i], NULL, 1, &one);
        assert_float_equal(all[i], one, 1e-5);
    }
    ensemble_free(e);
    free(m);
}

static void the_unit_of_time_does_not_matter(void **state)
{
    struct made *m = made();
    struct ensemble_data d = data_of(m, 100);
    struct ensemble *a = fitted(&d, 0), *b;
    float x[100], y[100];

    (void)state;
    for (size_t i = 0; i < N_ALL; i++)
        m->times[i] *= 1024;
    b = fitted(&d, 0);
    ensemble_predict(a, m->values[200], NULL, 100, x);
    ensemble_predict(b, m->values[200], NULL, 100, y);
    for (size_t i = 0; i < 100; i++)
        assert_float_equal(x[i], y[i], 1e-3);
    ensemble_free(a);
    ensemble_free(b);
    free(m);
}

static void text_brings_back_the_same_scores(void **state)
{
    struct made *m = made();
    const struct ensemble_data d = data_of(m, 80);
    struct ensemble *a = fitted(&d, 9), *b = NULL;
    struct why why = {""};
    cJSON *tree = NULL;
    struct buf text;
    float x[100], y[100];

    (void)state;
    buf_init(&text, 64 << 20);
    assert_int_equal(ensemble_write(a, &text), ERR_OK);
    assert_int_equal(json_parse(buf_text(&text), text.len, &tree, &why), ERR_OK);
    if (ensemble_read(&b, m->knobs, N_KNOBS, tree, &why))
        fail_msg("%s", why.text);
    ensemble_predict(a, m->values[200], NULL, 100, x);
    ensemble_predict(b, m->values[200], NULL, 100, y);
    for (size_t i = 0; i < 100; i++)
        assert_float_equal(x[i], y[i], 1e-5);
    cJSON_Delete(tree);
    buf_fini(&text);
    ensemble_free(a);
    ensemble_free(b);
    free(m);
}

/* Extra features that hold the answer are used; ones that are all missing do no harm. */
static void extra_features_are_learned_from(void **state)
{
    struct made *m = made();
    struct ensemble_data d = data_of(m, 100);
    float *extra = malloc(N_ALL * sizeof *extra), *scores = malloc(N_ALL * sizeof *scores);
    struct ensemble *e;
    double plain[N_MEASURES], told[N_MEASURES];

    (void)state;
    for (size_t i = 0; i < N_ALL; i++)
        extra[i] = isnan(m->times[i]) ? 9 : (float)log(m->times[i]);
    e = fitted(&d, 0);
    ensemble_predict(e, m->values[100], NULL, 1500, scores);
    judge(m->times + 100, scores, 1500, INFINITY, plain);
    ensemble_free(e);
    d.extra = extra;
    d.n_extra = 1;
    e = fitted(&d, 0);
    ensemble_predict(e, m->values[100], extra + 100, 1500, scores);
    judge(m->times + 100, scores, 1500, INFINITY, told);
    if (told[MEASURE_SPEARMAN] <= plain[MEASURE_SPEARMAN])
        fail_msg("told %g, plain %g", told[MEASURE_SPEARMAN], plain[MEASURE_SPEARMAN]);
    assert_int_equal(ensemble_predict(e, m->values[100], NULL, 10, scores), ERR_OK);
    ensemble_free(e);
    free(extra);
    free(scores);
    free(m);
}

static void data_that_tell_nothing_are_refused_with_words(void **state)
{
    static const char *const words[] = {"0 of 3 rows", "1 of 3 rows", "all times are 2", "no column takes two values",
                                        "expected a finite one above 0"};
    const double times[][3] = {{NAN, NAN, NAN}, {NAN, 5, NAN}, {2, 2, NAN}, {1, 2, 3}, {1, -2, 3}};
    const double values[][3] = {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {4, 4, 4}, {1, 2, 3}};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct features_knob knob = {0};
        struct ensemble *e = NULL;
        struct why why = {""};

        for (size_t j = 0; j < 3; j++)
            features_knob_meet(&knob, values[i][j]);
        assert_int_equal(ensemble_fit(&e, &(struct ensemble_data){&knob, values[i], times[i], NULL, 3, 1, 0}, 0, &why),
                         ERR_INPUT);
        assert_null(e);
        if (!strstr(why.text, words[i]))
            fail_msg("said \"%s\", expected \"%s\"", why.text, words[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ranks_configs_that_it_has_not_seen),
        cmocka_unit_test(the_same_data_and_seed_give_the_same_scores),
        cmocka_unit_test(a_score_does_not_depend_on_the_rows_beside_it),
        cmocka_unit_test(the_unit_of_time_does_not_matter),
        cmocka_unit_test(text_brings_back_the_same_scores),
        cmocka_unit_test(extra_features_are_learned_from),
        cmocka_unit_test(data_that_tell_nothing_are_refused_with_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
