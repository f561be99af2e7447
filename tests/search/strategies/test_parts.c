/* SPDX-License-Identifier: MIT */
/* Parts that strategies share, each by its definition: distances, axes, what was told, what is awaited, moves. */
#include "search/strategies/axes.h"
#include "search/strategies/base.h"
#include "search/strategies/breed.h"
#include "search/strategies/history.h"
#include "search/strategies/near.h"
#include "search/strategies/pending.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* a: 1 2 3 4 5, b: a word of three, c: 0 8; a + c <= 5 leaves c = 0 alone, or nothing with c = 8. */
static struct space *a_space(const char *constraint)
{
    static const char *const words[] = {"p", "q", "r"};
    struct space *s = NULL;

    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "a", NULL, 5, (const int64_t[]){1, 2, 3, 4, 5}), ERR_OK);
    assert_int_equal(space_add_knob_words(s, "b", words, 3, NULL), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "c", NULL, 2, (const int64_t[]){0, 8}), ERR_OK);
    if (constraint)
        assert_int_equal(space_add_constraint(s, constraint, NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    return s;
}

static struct config at(int a, int b, int c)
{
    return (struct config){{(uint16_t)a, (uint16_t)b, (uint16_t)c}};
}

static void distances_count_knobs_and_how_far_they_are_apart(void **state)
{
    static const struct {
        int from[3], to[3];
        double distance;
    } cases[] = {{{0, 0, 0}, {0, 0, 0}, 0},           {{0, 0, 0}, {4, 0, 0}, 1},    {{0, 0, 0}, {1, 0, 0}, 0.625},
                 {{3, 0, 0}, {1, 0, 0}, 0.75},        {{0, 0, 0}, {0, 1, 0}, 1},    {{0, 2, 0}, {0, 0, 0}, 1},
                 {{0, 0, 0}, {4, 2, 1}, 1 + 1 + 1.0}, {{2, 1, 1}, {3, 1, 0}, 1.625}};
    struct space *s = a_space(NULL);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct config a = at(cases[i].from[0], cases[i].from[1], cases[i].from[2]),
                            b = at(cases[i].to[0], cases[i].to[1], cases[i].to[2]);

        assert_true(fabs(near_distance(s, &a, &b) - cases[i].distance) < 1e-12);
        assert_true(fabs(near_distance(s, &b, &a) - cases[i].distance) < 1e-12);
    }
    space_free(s);
}

/* An open config stays; of neighbours the nearest is taken, by lot among equals; then the nearest of all. */
static void the_nearest_open_config_is_taken(void **state)
{
    struct space *s = a_space(NULL);
    struct ground g;
    struct rng rng;
    size_t n_below = 0, n_above = 0;

    (void)state;
    rng_init(&rng, 5);
    assert_int_equal(ground_init(&g, s), ERR_OK);
    {
        struct config c = at(2, 1, 0);

        assert_int_equal(near_open(&g, &rng, &c), ERR_OK);
        assert_int_equal(c.choice[0], 2);
        assert_int_equal(ground_take(&g, space_index(s, &c)), ERR_OK);
    }
    for (int i = 0; i < 100; i++) { /* a = 1 and a = 3 are as near, all else is farther */
        struct config c = at(2, 1, 0);

        assert_int_equal(near_open(&g, &rng, &c), ERR_OK);
        assert_true(c.choice[1] == 1 && c.choice[2] == 0);
        n_below += c.choice[0] == 1;
        n_above += c.choice[0] == 3;
    }
    assert_int_equal(n_below + n_above, 100);
    assert_true(n_below > 25 && n_above > 25);
    for (uint64_t i = 0; i < space_size(s); i++) { /* all but the farthest corner */
        struct config c;

        assert_int_equal(space_at(s, i, &c), ERR_OK);
        if (!(c.choice[0] == 4 && c.choice[1] == 2 && c.choice[2] == 1))
            assert_int_equal(ground_take(&g, i), ERR_OK);
    }
    {
        struct config c = at(0, 0, 0), last = at(4, 2, 1);

        assert_int_equal(near_open(&g, &rng, &c), ERR_OK);
        assert_true(space_config_equal(s, &c, &last));
        assert_int_equal(ground_take(&g, space_index(s, &c)), ERR_OK);
        c = at(0, 1, 0);
        assert_int_equal(near_open(&g, &rng, &c), ERR_NOT_FOUND);
        assert_true(c.choice[0] == 0 && c.choice[1] == 1);
    }
    ground_fini(&g);
    space_free(s);
}

/* Widths 16 to 4096, most of them no powers of two. */
static void axes_of_a_width_are_its_logarithm_evenness_and_oddness(void **state)
{
    static const double widths[] = {16, 24, 48, 96, 192, 4096};
    /* factors of two 4 3 4 5 6, of 4096 eight of its twelve; log2 of 1 3 3 3 3 1 */
    static const double expected[6][2] = {{0.2, 0}, {0, 1}, {0.2, 1}, {0.4, 1}, {0.6, 1}, {1, 0}};
    struct space *s = NULL;
    struct axes axes;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob(s, "width", widths, 6, NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    assert_int_equal(axes_init(&axes, s, NULL), ERR_OK);
    assert_int_equal(axes.n, 3);
    for (int i = 0; i < 6; i++) {
        const struct config c = at(i, 0, 0);
        float row[3];

        axes_row(&axes, &c, row);
        assert_true(fabs((double)row[0] - (log2(widths[i]) - 4) / 8) < 1e-6);
        assert_true(fabs((double)row[1] - expected[i][0]) < 1e-6);
        assert_true(fabs((double)row[2] - expected[i][1]) < 1e-6);
    }
    axes_fini(&axes);
    space_free(s);
}

static void powers_of_two_are_told(void **state)
{
    static const struct {
        double v;
        bool is;
    } cases[] = {{1, true}, {2, true}, {4096, true}, {0, false}, {-2, false}, {0.5, false}, {3, false}, {12, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(axes_is_power(cases[i].v), cases[i].is);
}

/* Values 7 3 9 1 5 and a failure that is measured well later. */
static void what_was_told_is_counted_ranked_and_spread(void **state)
{
    static const double values[] = {7, 3, NAN, 9, 1, 5};
    struct space *s = a_space(NULL);
    struct ground g;
    struct history h;
    struct outcome o;
    size_t best[6];

    (void)state;
    assert_int_equal(ground_init(&g, s), ERR_OK);
    history_init(&h);
    assert_true(history_spread(&h) == 0);
    for (int i = 0; i < 6; i++) {
        o = (struct outcome){at(i % 5, i / 5, 0), values[i], 0};
        assert_int_equal(history_tell(&h, &g, &o, 1), ERR_OK);
    }
    assert_int_equal(h.n_ok, 5);
    assert_true(history_spread(&h) == 4); /* the middle of 1 3 5 7 9 is 5 */
    o = (struct outcome){at(2, 0, 0), 3, 0};
    assert_int_equal(history_tell(&h, &g, &o, 1), ERR_OK);
    assert_int_equal(h.n, 6);
    assert_int_equal(h.n_ok, 6);
    assert_true(history_best(&h) == 1);
    assert_int_equal(history_top(&h, 6, best), 6);
    assert_int_equal(best[0], 4);
    assert_int_equal(best[1], 1); /* of equal values the one told first */
    assert_int_equal(best[2], 2);
    assert_int_equal(best[5], 3);
    assert_int_equal(history_top(&h, 2, best), 2);
    assert_int_equal(best[1], 1);
    assert_int_equal(history_find(&h, s, &(struct config){{0, 1, 0}}), 5);
    assert_int_equal(history_find(&h, s, &(struct config){{0, 1, 1}}), h.n);
    history_fini(&h);
    ground_fini(&g);
    space_free(s);
}

static void what_is_awaited_is_taken_once(void **state)
{
    struct pending p = {0};
    size_t member = 99;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(pending_add(&p, 1000 + i, i), ERR_OK);
    assert_false(pending_take(&p, 5, &member));
    assert_int_equal(member, 99);
    for (size_t i = 0; i < 100; i += 2) {
        assert_true(pending_take(&p, 1000 + i, &member));
        assert_int_equal(member, i);
        assert_false(pending_take(&p, 1000 + i, &member));
    }
    assert_int_equal(p.n, 50);
    for (size_t i = 1; i < 100; i += 2) { /* the others are still there, the last one too */
        assert_true(pending_take(&p, 1000 + i, &member));
        assert_int_equal(member, i);
    }
    assert_int_equal(p.n, 0);
    pending_fini(&p);
}

/* A turn changes one knob, to another value in range; every value of every knob comes. */
static void a_turn_changes_one_knob(void **state)
{
    struct space *s = a_space(NULL);
    const struct config from = at(2, 1, 0);
    size_t seen[3][5] = {{0}};
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    assert_int_equal(breed_n_turning(s), 3);
    for (int i = 0; i < 2000; i++) {
        struct config c = from;
        int n_changed = 0;

        breed_turn(s, &rng, &c);
        for (size_t k = 0; k < 3; k++)
            if (c.choice[k] != from.choice[k]) {
                assert_true(c.choice[k] < space_n_values(s, k));
                seen[k][c.choice[k]]++;
                n_changed++;
            }
        assert_int_equal(n_changed, 1);
    }
    for (size_t k = 0; k < 3; k++)
        for (size_t v = 0; v < space_n_values(s, k); v++)
            assert_true((seen[k][v] > 0) == (v != from.choice[k]));
    assert_true(seen[0][1] > seen[0][0] && seen[0][3] > seen[0][4]); /* the next values more often */
    space_free(s);
}

/* A knob of a child is its mother's, its father's, or turned, one in three here. */
static void children_have_knobs_of_both(void **state)
{
    struct space *s = a_space(NULL);
    const struct config mother = at(0, 0, 0), father = at(4, 2, 1);
    size_t n_mother[3] = {0}, n_father[3] = {0};
    struct rng rng;

    (void)state;
    rng_init(&rng, 11);
    for (int i = 0; i < 3000; i++) {
        struct config c;

        breed(s, &rng, &mother, &father, &c);
        for (size_t k = 0; k < 3; k++) {
            assert_true(c.choice[k] < space_n_values(s, k));
            n_mother[k] += c.choice[k] == mother.choice[k];
            n_father[k] += c.choice[k] == father.choice[k];
        }
    }
    for (size_t k = 0; k < 3; k++)
        assert_true(n_mother[k] > 900 && n_father[k] > 900); /* a third is turned, to at most half of them back */
    space_free(s);
}

/* Of 16 draws the one farthest from what was taken: mean distances are larger than those of uniform draws. */
static void a_start_is_spread_out(void **state)
{
    const struct strategy_options options = {.seed = 7};
    double nearest_apart = 0, nearest_drawn = 0;

    (void)state;
    for (int way = 0; way < 2; way++)
        for (uint64_t seed = 0; seed < 40; seed++) {
            struct space *s = a_space(NULL);
            struct strategy_options o = options;
            struct config picked[5];
            struct base b;

            o.seed = seed;
            assert_int_equal(base_init(&b, s, &o), ERR_OK);
            for (size_t i = 0; i < 5; i++) {
                const char *by = "";
                double nearest = INFINITY;

                assert_int_equal(way ? base_sample_apart(&b, &picked[i], &by) : base_explore(&b, &picked[i], &by),
                                 ERR_OK);
                assert_string_equal(by, way ? "init" : "explore");
                for (size_t k = 0; k < i; k++)
                    nearest = fmin(nearest, near_distance(s, &picked[i], &picked[k]));
                *(way ? &nearest_apart : &nearest_drawn) += i ? nearest : 0;
            }
            base_fini(&b);
            space_free(s);
        }
    assert_true(nearest_apart > 1.3 * nearest_drawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_count_knobs_and_how_far_they_are_apart),
        cmocka_unit_test(the_nearest_open_config_is_taken),
        cmocka_unit_test(axes_of_a_width_are_its_logarithm_evenness_and_oddness),
        cmocka_unit_test(powers_of_two_are_told),
        cmocka_unit_test(what_was_told_is_counted_ranked_and_spread),
        cmocka_unit_test(what_is_awaited_is_taken_once),
        cmocka_unit_test(a_turn_changes_one_knob),
        cmocka_unit_test(children_have_knobs_of_both),
        cmocka_unit_test(a_start_is_spread_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
