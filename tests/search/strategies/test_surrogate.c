/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "search/strategies/axes.h"
#include "search/strategies/surrogate.h"

#include <math.h>
#include <stdlib.h>

static const double widths[] = {16, 24, 32, 48, 64, 96, 128, 256};

/* Width 16..256 (not all powers of two), height 1..8, a signed shift, an order; width * height is a work-group. */
static struct space *a_space(void)
{
    static const char *const words[] = {"row", "column", "tile"};
    struct space *s;

    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob(s, "width", widths, 8, NULL), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "height", NULL, 4, (const int64_t[]){1, 2, 4, 8}), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "shift", NULL, 3, (const int64_t[]){-1, 0, 1}), ERR_OK);
    assert_int_equal(space_add_knob_words(s, "order", words, 3, NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "width * height <= 1024", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    return s;
}

static struct config at(size_t width, size_t height, size_t shift, size_t order)
{
    return (struct config){{(uint16_t)width, (uint16_t)height, (uint16_t)shift, (uint16_t)order}};
}

static void axes_lie_between_0_and_1_and_tell_configs_apart(void **state)
{
    const struct config a = at(0, 0, 0, 0), b = at(7, 3, 2, 2), wide = at(2, 0, 0, 0), odd = at(3, 0, 0, 0);
    float of_a[AXES_MAX], of_b[AXES_MAX], of_wide[AXES_MAX], of_odd[AXES_MAX];
    struct space *s = a_space();
    struct axes axes;

    (void)state;
    assert_int_equal(axes_init(&axes, s, NULL), ERR_OK);
    assert_int_equal(axes.n, 3 + 1 + 1 + 3); /* width with evenness and oddness; words one each */
    axes_row(&axes, &a, of_a);
    axes_row(&axes, &b, of_b);
    axes_row(&axes, &wide, of_wide);
    axes_row(&axes, &odd, of_odd);
    for (size_t i = 0; i < axes.n; i++)
        assert_true(of_a[i] >= 0 && of_a[i] <= 1 && of_b[i] >= 0 && of_b[i] <= 1);
    assert_true(of_a[0] == 0 && of_b[0] == 1);
    assert_true(fabs((double)of_wide[0] - 0.25) < 1e-6); /* 32 of 16..256, by logarithms */
    assert_true(of_wide[2] == 0 && of_odd[2] == 1);      /* 32 leaves 1, 48 leaves 3 */
    axes_fini(&axes);
    space_free(s);
}

static void a_space_of_one_config_has_an_axis(void **state)
{
    struct space *s;
    struct axes axes;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "x", NULL, 1, (const int64_t[]){4}), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    assert_int_equal(axes_init(&axes, s, NULL), ERR_OK);
    assert_int_equal(axes.n, 1);
    axes_fini(&axes);
    space_free(s);
}

static void doubts_count_odd_sizes_and_unusual_work_groups(void **state)
{
    const struct config likely = at(2, 2, 1, 0), odd = at(3, 1, 1, 0), large = at(7, 2, 1, 0), both = at(1, 0, 1, 0);
    struct space *s = a_space();
    struct prior p;

    (void)state;
    assert_int_equal(prior_init(&p, s), ERR_OK);
    assert_true(prior_doubts(&p, &likely) == 0); /* 32 x 4 */
    assert_true(prior_doubts(&p, &odd) == 1);    /* 48 x 2 */
    assert_true(prior_doubts(&p, &large) == 1);  /* 256 x 4 */
    assert_true(prior_doubts(&p, &both) == 2);   /* 24 x 1 */
    prior_fini(&p);
    space_free(s);
}

/* A strategy's insides on the space above. */
struct stage {
    struct space *space;
    struct ground ground;
    struct history history;
    struct axes axes;
    struct prior prior;
    struct pool pool;
    struct surrogate surrogate;
    struct rng rng;
};

static void stage_init(struct stage *t)
{
    t->space = a_space();
    rng_init(&t->rng, 1);
    history_init(&t->history);
    assert_int_equal(ground_init(&t->ground, t->space), ERR_OK);
    assert_int_equal(axes_init(&t->axes, t->space, NULL), ERR_OK);
    assert_int_equal(prior_init(&t->prior, t->space), ERR_OK);
    pool_init(&t->pool, &t->axes, &t->prior);
    assert_int_equal(surrogate_init(&t->surrogate, &t->axes, &t->prior), ERR_OK);
    assert_int_equal(pool_fill(&t->pool, &t->ground, &t->history, &t->rng), ERR_OK);
}

static void stage_fini(struct stage *t)
{
    surrogate_fini(&t->surrogate);
    pool_fini(&t->pool);
    prior_fini(&t->prior);
    axes_fini(&t->axes);
    history_fini(&t->history);
    ground_fini(&t->ground);
    space_free(t->space);
}

/* Tells every `step`th config: word order 2 fails, order 1 costs ten times as much, height makes it slow. */
static void tell_some(struct stage *t, size_t step)
{
    for (size_t i = 0; i < t->pool.n; i += step) {
        const struct config c = t->pool.configs[i];
        const double value = c.choice[3] == 2 ? (double)NAN : 0.5 * (double)c.choice[1] + 0.1 * (double)c.choice[0];
        const struct outcome o = {c, value, c.choice[3] == 1 ? 10 : 1};

        assert_int_equal(history_tell(&t->history, &t->ground, &o, 1), ERR_OK);
    }
}

/* The mean gain over the open configs with an order. */
static double gain_of_order(const struct stage *t, const double *gain, size_t order)
{
    double sum = 0, n = 0;

    for (size_t i = 0; i < t->pool.n; i++)
        if (t->pool.configs[i].choice[3] == order && ground_is_open(&t->ground, &t->pool.configs[i])) {
            sum += gain[i];
            n++;
        }
    return sum / n;
}

static void gain_avoids_what_fails_and_what_is_dear(void **state)
{
    struct stage t = {0};
    double *gain, dear[2];

    (void)state;
    stage_init(&t);
    tell_some(&t, 7);
    gain = malloc(t.pool.n * sizeof(*gain));
    for (int with_cost = 0; with_cost < 2; with_cost++) {
        t.surrogate.cost_power = with_cost;
        assert_int_equal(surrogate_learn(&t.surrogate, &t.history, NULL, 0), ERR_OK);
        assert_int_equal(surrogate_look(&t.surrogate, &t.pool, true), ERR_OK);
        surrogate_gain(&t.surrogate, &t.pool, gain);
        dear[with_cost] = gain_of_order(&t, gain, 1) / gain_of_order(&t, gain, 0);
        assert_true(gain_of_order(&t, gain, 2) < 0.3 * gain_of_order(&t, gain, 0));
    }
    if (dear[1] > 0.4 * dear[0])
        fail_msg("dear to cheap: %g without cost, %g with it", dear[0], dear[1]);
    free(gain);
    stage_fini(&t);
}

/* What is awaited promises less than it did, and so does what lies around it; nothing else is forgotten. */
static void an_awaited_config_gains_less_than_before(void **state)
{
    struct stage t = {0};
    double *gain;
    size_t i_best = 0;
    double before;

    (void)state;
    stage_init(&t);
    tell_some(&t, 11);
    gain = malloc(t.pool.n * sizeof(*gain));
    assert_int_equal(surrogate_learn(&t.surrogate, &t.history, NULL, 0), ERR_OK);
    assert_int_equal(surrogate_look(&t.surrogate, &t.pool, true), ERR_OK);
    surrogate_gain(&t.surrogate, &t.pool, gain);
    for (size_t i = 0; i < t.pool.n; i++)
        i_best = gain[i] > gain[i_best] ? i : i_best;
    before = gain[i_best];
    assert_int_equal(surrogate_expect(&t.surrogate, &t.pool, i_best), ERR_OK);
    surrogate_gain(&t.surrogate, &t.pool, gain);
    assert_true(gain[i_best] < 0.5 * before);
    assert_int_equal(surrogate_learn(&t.surrogate, &t.history, &t.pool.configs[i_best], 1), ERR_OK);
    assert_int_equal(surrogate_look(&t.surrogate, &t.pool, false), ERR_OK);
    surrogate_gain(&t.surrogate, &t.pool, gain);
    assert_true(gain[i_best] < 0.5 * before);
    free(gain);
    stage_fini(&t);
}

static void more_than_it_takes_is_refused(void **state)
{
    struct stage t = {0};
    struct config *awaited = calloc(SURROGATE_MAX + 1, sizeof(*awaited));

    (void)state;
    stage_init(&t);
    tell_some(&t, 11);
    assert_int_equal(surrogate_learn(&t.surrogate, &t.history, awaited, SURROGATE_MAX), ERR_LIMIT);
    assert_int_equal(surrogate_learn(&t.surrogate, &t.history, awaited, 1), ERR_OK);
    free(awaited);
    stage_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_lie_between_0_and_1_and_tell_configs_apart),
        cmocka_unit_test(a_space_of_one_config_has_an_axis),
        cmocka_unit_test(doubts_count_odd_sizes_and_unusual_work_groups),
        cmocka_unit_test(gain_avoids_what_fails_and_what_is_dear),
        cmocka_unit_test(an_awaited_config_gains_less_than_before),
        cmocka_unit_test(more_than_it_takes_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
