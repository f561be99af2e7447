/* SPDX-License-Identifier: MIT */
/* Facts about every strategy of the table, and about the parts they share. */
#include "search/strategy.h"

#include "cost_model/model.h"
#include "search/strategies/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_ASK 64

/* 6 * 5 * 3 * 2 = 180 configs; 3 knobs of numbers, one of words. */
static struct space *small_space(void)
{
    const char *const words[] = {"row", "column"};
    struct space *s = NULL;
    struct why why = {""};

    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "x", &why, 6, (const int64_t[]){1, 2, 4, 6, 8, 16}), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "y", &why, 5, (const int64_t[]){1, 2, 3, 4, 5}), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "z", &why, 3, (const int64_t[]){0, 1, 2}), ERR_OK);
    assert_int_equal(space_add_knob_words(s, "order", words, 2, &why), ERR_OK);
    assert_int_equal(space_add_quantity(s, "area", "x * y", &why), ERR_OK);
    assert_int_equal(space_add_constraint(s, "area <= 32", &why), ERR_OK);
    assert_int_equal(space_add_constraint(s, "z == 0 or x > 1", &why), ERR_OK);
    assert_int_equal(space_seal(s, &why), ERR_OK);
    return s;
}

/* 16^10 configs: none can list it. */
static struct space *large_space(void)
{
    struct space *s = NULL;
    struct why why = {""};
    double values[16];
    char name[8] = "k0";

    for (size_t i = 0; i < 16; i++)
        values[i] = (double)(i + 1);
    assert_int_equal(space_new(&s), ERR_OK);
    for (char c = '0'; c <= '9'; c++) {
        name[1] = c;
        assert_int_equal(space_add_knob(s, name, values, 16, &why), ERR_OK);
    }
    assert_int_equal(space_add_constraint(s, "k0 + k1 <= 24", &why), ERR_OK);
    assert_int_equal(space_seal(s, &why), ERR_OK);
    return s;
}

/* A made-up ln time, with every seventh config failing when `fails`. */
static double measure(const struct space *s, const struct config *c, bool fails)
{
    double sum = 0;

    if (fails && space_index(s, c) % 7 == 3)
        return (double)NAN;
    for (size_t i = 0; i < space_n_knobs(s); i++)
        sum += fabs((double)c->choice[i] - 0.6 * (double)space_n_values(s, i)) * (1 + 0.3 * (double)i);
    return 0.2 * sum;
}

static struct strategy *started(const struct strategy_ops *ops, const struct space *s, uint64_t seed)
{
    const struct strategy_options o = {.seed = seed, .budget = 100};
    struct strategy *strategy = NULL;

    assert_int_equal(ops->init(&strategy, s, &o), ERR_OK);
    return strategy;
}

static size_t asked(const struct strategy_ops *ops, struct strategy *s, size_t n, struct proposal *out)
{
    size_t n_out = 0;

    assert_int_equal(ops->ask(s, n, out, &n_out), ERR_OK);
    assert_true(n_out <= n);
    return n_out;
}

static void tell(const struct strategy_ops *ops, struct strategy *s, const struct space *space,
                 const struct proposal *proposals, size_t n, bool fails)
{
    struct outcome outcomes[MAX_ASK];

    for (size_t i = 0; i < n; i++)
        outcomes[i] =
            (struct outcome){.config = proposals[i].config, .value = measure(space, &proposals[i].config, fails)};
    assert_int_equal(ops->tell(s, outcomes, n), ERR_OK);
}

static size_t n_valid_of(const struct space *s)
{
    size_t n = 0;
    struct config c;

    for (uint64_t i = 0; i < space_size(s); i++)
        n += space_at(s, i, &c) == ERR_OK && space_is_valid(s, &c, NULL);
    return n;
}

static void strategies_propose_every_valid_config_once_and_then_nothing(void **state)
{
    struct space *s = small_space();
    const size_t n_valid = n_valid_of(s);

    (void)state;
    for (size_t i = 0; strategy_table[i]; i++) {
        const struct strategy_ops *ops = strategy_table[i];
        struct strategy *strategy = started(ops, s, 3);
        struct proposal p[MAX_ASK];
        char seen[256] = {0};
        size_t n, n_all = 0;

        while ((n = asked(ops, strategy, 8, p)) > 0) {
            for (size_t j = 0; j < n; j++) {
                assert_true(space_is_valid(s, &p[j].config, NULL));
                assert_non_null(p[j].by);
                if (seen[space_index(s, &p[j].config)]++)
                    fail_msg("%s proposes a config twice", ops->name);
            }
            n_all += n;
            tell(ops, strategy, s, p, n, true);
        }
        assert_int_equal(n_all, n_valid);
        assert_int_equal(asked(ops, strategy, 8, p), 0);
        ops->fini(strategy);
    }
    space_free(s);
}

static void strategies_repeat_themselves_for_a_seed(void **state)
{
    struct space *spaces[2] = {small_space(), large_space()};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; strategy_table[i]; i++) {
            const struct strategy_ops *ops = strategy_table[i];
            struct strategy *a = started(ops, spaces[k], 11), *b = started(ops, spaces[k], 11);

            for (size_t round = 0; round < 6; round++) {
                struct proposal p[2][MAX_ASK];
                const size_t n = asked(ops, a, 5, p[0]);

                assert_int_equal(asked(ops, b, 5, p[1]), n);
                for (size_t j = 0; j < n; j++) {
                    assert_true(space_config_equal(spaces[k], &p[0][j].config, &p[1][j].config));
                    assert_string_equal(p[0][j].by, p[1][j].by);
                }
                tell(ops, a, spaces[k], p[0], n, true);
                tell(ops, b, spaces[k], p[1], n, true);
            }
            ops->fini(a);
            ops->fini(b);
        }
        space_free(spaces[k]);
    }
}

static void strategies_propose_new_valid_configs_of_a_space_too_large_to_list(void **state)
{
    struct space *s = large_space();

    (void)state;
    for (size_t i = 0; strategy_table[i]; i++) {
        const struct strategy_ops *ops = strategy_table[i];
        struct strategy *strategy = started(ops, s, 1);
        uint64_t seen[64];
        size_t n_seen = 0;

        while (n_seen < 64) {
            struct proposal p[MAX_ASK];

            assert_int_equal(asked(ops, strategy, 8, p), 8);
            for (size_t j = 0; j < 8; j++) {
                const uint64_t index = space_index(s, &p[j].config);

                assert_true(space_is_valid(s, &p[j].config, NULL));
                for (size_t k = 0; k < n_seen; k++)
                    assert_true(seen[k] != index);
                seen[n_seen++] = index;
            }
            tell(ops, strategy, s, p, 8, false);
        }
        ops->fini(strategy);
    }
    space_free(s);
}

static void strategies_go_on_when_every_config_fails(void **state)
{
    struct space *s = small_space();
    const size_t n_valid = n_valid_of(s);

    (void)state;
    for (size_t i = 0; strategy_table[i]; i++) {
        const struct strategy_ops *ops = strategy_table[i];
        struct strategy *strategy = started(ops, s, 0);
        struct proposal p[MAX_ASK];
        size_t n, n_all = 0;

        while ((n = asked(ops, strategy, 8, p)) > 0) {
            struct outcome o[MAX_ASK];

            for (size_t j = 0; j < n; j++)
                o[j] = (struct outcome){.config = p[j].config, .value = (double)NAN};
            assert_int_equal(ops->tell(strategy, o, n), ERR_OK);
            n_all += n;
        }
        assert_int_equal(n_all, n_valid);
        ops->fini(strategy);
    }
    space_free(s);
}

static void strategies_never_propose_what_they_were_told_first(void **state)
{
    struct space *s = small_space();
    struct outcome told[60];
    size_t n_told = 0;

    (void)state;
    for (uint64_t i = 0; i < 60; i++) { /* valid and invalid ones, some failed */
        struct config c;

        assert_int_equal(space_at(s, 3 * i, &c), ERR_OK);
        told[n_told++] = (struct outcome){.config = c, .value = measure(s, &c, true)};
    }
    for (size_t i = 0; strategy_table[i]; i++) {
        const struct strategy_ops *ops = strategy_table[i];
        struct strategy *strategy = started(ops, s, 0);
        struct proposal p[MAX_ASK];
        size_t n;

        assert_int_equal(ops->tell(strategy, told, n_told), ERR_OK);
        assert_int_equal(ops->tell(strategy, told, n_told), ERR_OK); /* twice is harmless */
        while ((n = asked(ops, strategy, 8, p)) > 0) {
            for (size_t j = 0; j < n; j++)
                assert_true(space_index(s, &p[j].config) >= 180 || space_index(s, &p[j].config) % 3 != 0);
            tell(ops, strategy, s, p, n, false);
        }
        ops->fini(strategy);
    }
    space_free(s);
}

static void strategies_begin_with_the_first_configs_that_are_valid(void **state)
{
    struct space *s = small_space();
    struct config first[3];
    struct why why = {""};

    (void)state;
    assert_int_equal(space_config_parse(s, "x=8 y=4 z=1 order=row", &first[0], &why), ERR_OK);
    assert_int_equal(space_config_parse(s, "x=16 y=5 z=1 order=row", &first[1], &why), ERR_OK); /* area 80 */
    assert_int_equal(space_config_parse(s, "x=2 y=1 z=2 order=column", &first[2], &why), ERR_OK);
    for (size_t i = 0; strategy_table[i]; i++) {
        const struct strategy_options o = {.first = first, .n_first = 3};
        const struct strategy_ops *ops = strategy_table[i];
        struct strategy *strategy = NULL;
        struct proposal p[MAX_ASK];

        assert_int_equal(ops->init(&strategy, s, &o), ERR_OK);
        assert_int_equal(asked(ops, strategy, 4, p), 4);
        assert_true(space_config_equal(s, &p[0].config, &first[0]));
        assert_true(space_config_equal(s, &p[1].config, &first[2]));
        assert_string_equal(p[0].by, "init");
        ops->fini(strategy);
    }
    space_free(s);
}

static void strategies_refuse_configs_of_another_space(void **state)
{
    struct space *s = small_space();
    struct outcome o = {.config = {{9999}}, .value = 1};

    (void)state;
    for (size_t i = 0; strategy_table[i]; i++) {
        struct strategy *strategy = started(strategy_table[i], s, 0);

        assert_int_equal(strategy_table[i]->tell(strategy, &o, 1), ERR_INPUT);
        assert_int_equal(strategy_table[i]->tell(strategy, NULL, 0), ERR_OK);
        strategy_table[i]->fini(strategy);
        strategy_table[i]->fini(NULL);
    }
    space_free(s);
}

static void strategies_take_results_late_and_in_any_order(void **state)
{
    struct space *s = small_space();

    (void)state;
    for (size_t i = 0; strategy_table[i]; i++) {
        const struct strategy_ops *ops = strategy_table[i];
        struct strategy *strategy = started(ops, s, 0);
        struct proposal p[4][MAX_ASK];

        for (size_t round = 0; round < 4; round++) /* four batches under way at once */
            assert_int_equal(asked(ops, strategy, 10, p[round]), 10);
        for (size_t round = 4; round-- > 0;)
            tell(ops, strategy, s, p[round], 10, true);
        assert_int_equal(asked(ops, strategy, 10, p[0]), 10);
        ops->fini(strategy);
    }
    space_free(s);
}

/* Best of 80 evaluations on the large space. */
static double best_of_seed(const struct strategy_ops *ops, const char *cost_model, uint64_t seed)
{
    struct space *s = large_space();
    const struct strategy_options o = {.seed = seed, .cost_model = cost_model};
    struct strategy *strategy = NULL;
    double best = INFINITY;

    assert_int_equal(ops->init(&strategy, s, &o), ERR_OK);
    for (size_t round = 0; round < 10; round++) {
        struct proposal p[MAX_ASK];
        const size_t n = asked(ops, strategy, 8, p);

        for (size_t j = 0; j < n; j++)
            best = fmin(best, measure(s, &p[j].config, false));
        tell(ops, strategy, s, p, n, false);
    }
    ops->fini(strategy);
    space_free(s);
    return best;
}

/* The mean over some seeds: one draw may be lucky. */
static double best_of(const struct strategy_ops *ops, const char *cost_model)
{
    enum { N = 3 };
    double sum = 0;

    for (uint64_t seed = 5; seed < 5 + N; seed++)
        sum += best_of_seed(ops, cost_model, seed);
    return sum / (double)N;
}

static void strategies_that_are_not_blind_learn_what_random_does_not(void **state)
{
    const double by_random = best_of(strategy_find("random"), NULL);

    (void)state;
    for (size_t i = 0; strategy_table[i]; i++)
        if (!strategy_table[i]->is_blind && best_of(strategy_table[i], NULL) >= by_random)
            fail_msg("%s: %g, random %g", strategy_table[i]->name, best_of(strategy_table[i], NULL), by_random);
    assert_true(best_of_seed(strategy_find("model"), model_table[0]->name, 5) < by_random); /* the default */
}

/* Batches of 64, of which every third result never comes. */
static void strategies_go_on_when_results_never_come(void **state)
{
    struct space *s = large_space();

    (void)state;
    for (size_t i = 0; strategy_table[i]; i++) {
        const struct strategy_ops *ops = strategy_table[i];
        struct strategy *strategy = started(ops, s, 2);
        double first = INFINITY, later = INFINITY;

        for (size_t round = 0; round < 4; round++) {
            struct proposal p[MAX_ASK];
            double *best = round == 0 ? &first : &later;

            assert_int_equal(asked(ops, strategy, MAX_ASK, p), MAX_ASK);
            for (size_t j = 0; j < MAX_ASK; j++) {
                const double value = measure(s, &p[j].config, false);

                if (j % 3 == 0)
                    continue;
                tell(ops, strategy, s, &p[j], 1, false);
                *best = fmin(*best, value);
            }
        }
        if (!ops->is_blind && later >= first)
            fail_msg("%s: %g after %g", ops->name, later, first);
        ops->fini(strategy);
    }
    space_free(s);
}

/* What is told before the first ask counts as if it had been asked for: the search begins around it. */
static void strategies_that_are_not_blind_begin_from_what_they_were_told(void **state)
{
    struct space *s = large_space();

    (void)state;
    for (size_t i = 0; strategy_table[i]; i++) {
        const struct strategy_ops *ops = strategy_table[i];
        double best[2] = {INFINITY, INFINITY};

        for (size_t told = 0; told < 2 && !ops->is_blind; told++) {
            struct strategy *strategy = started(ops, s, 3), *teacher = started(strategy_find("genetic"), s, 9);
            struct proposal p[MAX_ASK];

            for (size_t round = 0; told && round < 10; round++) {
                assert_int_equal(asked(strategy_find("genetic"), teacher, 16, p), 16);
                tell(strategy_find("genetic"), teacher, s, p, 16, false);
                tell(ops, strategy, s, p, 16, false);
            }
            assert_int_equal(asked(ops, strategy, 32, p), 32);
            for (size_t j = 0; j < 32; j++)
                best[told] = fmin(best[told], measure(s, &p[j].config, false));
            ops->fini(strategy);
            strategy_find("genetic")->fini(teacher);
        }
        if (!ops->is_blind && best[1] >= best[0])
            fail_msg("%s: %g told, %g untold", ops->name, best[1], best[0]);
    }
    space_free(s);
}

/* Children have the knobs of winners: of two drawn from the best told, the better. In a population whose r-th best has
 * its r-th value in each of ten knobs, those of children are on the mean those of the better of two, (16^2-1)/48 = 5.3
 * without mutations; of any one it would be 7.5, of the worse 9.7. */
static void genetic_breeds_from_the_better_of_two(void **state)
{
    const struct strategy_ops *ops = strategy_find("genetic");
    struct space *s = large_space();
    double sum = 0;
    size_t n = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct strategy *strategy = started(ops, s, seed);
        struct proposal p[MAX_ASK];
        struct outcome told[16];
        size_t n_asked = asked(ops, strategy, 16, p);

        for (size_t i = 0; i < n_asked; i++)
            told[i] = (struct outcome){.config = p[i].config, .value = (double)NAN};
        assert_int_equal(ops->tell(strategy, told, n_asked), ERR_OK);
        for (size_t r = 0; r < 16; r++) {
            told[r] = (struct outcome){.value = (double)r};
            for (size_t k = 0; k < space_n_knobs(s); k++)
                told[r].config.choice[k] = (uint16_t)r;
        }
        assert_int_equal(ops->tell(strategy, told, 16), ERR_OK);
        n_asked = asked(ops, strategy, MAX_ASK, p);
        for (size_t i = 0; i < n_asked; i++)
            for (size_t k = 2; k < space_n_knobs(s); k++, n++) /* the first two have a constraint */
                sum += p[i].config.choice[k];
        ops->fini(strategy);
    }
    assert_true(n > 1000);
    assert_true(sum / (double)n < 6.8);
    space_free(s);
}

#define POPULATION 12 /* of pso and diffevo */

/* What a strategy proposes after a population of the values 0 to 11 by lot, the last of them failed where `fails`, and
 * a config that nobody asked for (NAN: without that). */
static void after_a_population(const struct strategy_ops *ops, const struct space *space, bool fails, double stranger,
                               struct proposal out[POPULATION])
{
    struct strategy *s = started(ops, space, 11);
    struct outcome outcomes[POPULATION];
    struct proposal p[POPULATION];

    assert_int_equal(asked(ops, s, POPULATION, p), POPULATION);
    for (size_t i = 0; i < POPULATION; i++) {
        assert_string_equal(p[i].by, "init");
        outcomes[i] = (struct outcome){.config = p[i].config, .value = (double)((5 * i + 3) % POPULATION)};
        if (fails && outcomes[i].value > POPULATION - 1.5)
            outcomes[i].value = (double)NAN;
    }
    assert_int_equal(ops->tell(s, outcomes, POPULATION), ERR_OK);
    if (!isnan(stranger))
        assert_int_equal(ops->tell(s, &(struct outcome){.config = {{0}}, .value = stranger}, 1), ERR_OK);
    assert_int_equal(asked(ops, s, POPULATION, out), POPULATION);
    for (size_t i = 0; i < POPULATION; i++)
        assert_string_equal(out[i].by, ops->name);
    ops->fini(s);
}

/* A config that nobody asked for takes the place of the weakest where it is better, and no other's. */
static void populations_give_a_strangers_config_the_place_of_the_weakest(void **state)
{
    static const struct {
        const char *name;
        bool fails; /* the weakest */
        double value;
        bool is_taken;
    } cases[] = {{"pso", false, 10.5, true},     {"pso", false, 11.5, false},     {"pso", true, 20, true},
                 {"diffevo", false, 10.5, true}, {"diffevo", false, 11.5, false}, {"diffevo", true, 20, true}};
    struct space *space = large_space();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct strategy_ops *ops = strategy_find(cases[i].name);
        struct proposal without[POPULATION], with[POPULATION];
        bool differ = false;

        after_a_population(ops, space, cases[i].fails, (double)NAN, without);
        after_a_population(ops, space, cases[i].fails, cases[i].value, with);
        for (size_t k = 0; k < POPULATION; k++)
            differ |= !space_config_equal(space, &without[k].config, &with[k].config);
        if (differ != cases[i].is_taken)
            fail_msg("%s: %g was %s", ops->name, cases[i].value, differ ? "taken" : "left");
    }
    space_free(space);
}

static void strategies_are_found_by_name_and_auto_is_the_default(void **state)
{
    struct space *s = small_space();
    const struct strategy_options o = {.cost_model = "oracle"};
    struct strategy *strategy = NULL;

    (void)state;
    assert_string_equal(strategy_table[0]->name, "auto");
    for (size_t i = 0; strategy_table[i]; i++)
        assert_ptr_equal(strategy_find(strategy_table[i]->name), strategy_table[i]);
    assert_null(strategy_find("luck"));
    assert_int_equal(strategy_table[0]->init(&strategy, s, &o), ERR_INPUT);
    space_free(s);
}

static void grid_follows_the_index(void **state)
{
    struct space *s = small_space();
    const struct strategy_ops *ops = strategy_find("grid");
    struct strategy *strategy = started(ops, s, 0);
    struct proposal p[MAX_ASK];
    const size_t n = asked(ops, strategy, MAX_ASK, p);

    (void)state;
    for (size_t i = 1; i < n; i++)
        assert_true(space_index(s, &p[i].config) > space_index(s, &p[i - 1].config));
    ops->fini(strategy);
    space_free(s);
}

static void history_keeps_the_latest_value_and_ranks_by_value(void **state)
{
    struct space *s = small_space();
    struct ground g;
    struct history h;
    struct outcome o[4];
    size_t best[3];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(space_at(s, i, &o[i].config), ERR_OK);
        o[i].value = 4.0 - (double)i;
    }
    o[2].value = (double)NAN;
    assert_int_equal(ground_init(&g, s), ERR_OK);
    history_init(&h);
    assert_int_equal(history_tell(&h, &g, o, 4), ERR_OK);
    assert_int_equal(h.n, 4);
    assert_int_equal(h.n_ok, 3);
    assert_int_equal(history_top(&h, 3, best), 3);
    assert_int_equal(best[0], 3);
    o[0].value = 0.5;         /* measured again */
    o[3].value = (double)NAN; /* a failure does not undo a value */
    o[1].value = INFINITY;
    assert_int_equal(history_tell(&h, &g, o, 4), ERR_OK);
    assert_int_equal(h.n_ok, 3);
    assert_float_equal(history_best(&h), 0.5, 0);
    assert_int_equal(history_top(&h, 2, best), 2);
    assert_int_equal(best[0], 0);
    assert_int_equal(best[1], 3);
    history_fini(&h);
    ground_fini(&g);
    space_free(s);
}

/* The names are listed, ours first; theirs lead to ours. */
static void strategies_have_the_names_of_kernel_tuner_too(void **state)
{
    static const char *const names[][2] = {{"brute_force", "grid"}, {"bayes_opt", "model"}, {"greedy_ils", "ils"}};
    size_t n = 0, n_ours = 0;

    (void)state;
    while (strategy_table[n_ours])
        n_ours++;
    for (; strategy_name_at(n); n++) {
        assert_non_null(strategy_find(strategy_name_at(n)));
        if (n < n_ours)
            assert_string_equal(strategy_name_at(n), strategy_table[n]->name);
    }
    assert_int_equal(n, n_ours + 7);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(strategy_find(names[i][0])->name, names[i][1]);
    assert_null(strategy_find("firefly"));
}

/* The process answers what it was asked for first only when it has been told something. */
static void a_searchers_answer_may_come_when_fewer_are_asked_for(void **unused)
{
    static const char command[] =
        "read start; read ask; read tell; echo '{\"configs\":[{\"x\":2,\"y\":1,\"z\":0,\"order\":\"row\"},"
        "{\"x\":4,\"y\":1,\"z\":0,\"order\":\"row\"},{\"x\":6,\"y\":1,\"z\":0,\"order\":\"row\"}]}'; cat >/dev/null";
    const struct strategy_options options = {.budget = 20, .command = command};
    const struct strategy_ops *ops = strategy_find("exec");
    const struct outcome first = {.config = {{0}}, .value = 1};
    struct space *space = small_space();
    struct proposal p[MAX_ASK] = {{.by = NULL}};
    struct strategy *s = NULL;
    size_t n = 0;
    enum err e;

    (void)unused;
    assert_int_equal(ops->init(&s, space, &options), ERR_OK);
    assert_int_equal(ops->ask(s, 8, p, &n), ERR_BUSY);
    assert_int_equal(n, 0);
    assert_int_equal(ops->tell(s, &first, 1), ERR_OK);
    do
        e = ops->ask(s, 2, p, &n);
    while (e == ERR_BUSY && n == 0);
    assert_int_equal(e, ERR_OK);
    assert_int_equal(n, 2);
    assert_null(p[2].by); /* nothing is written behind the two */
    assert_int_equal(p[1].config.choice[0], 2);
    assert_int_equal(ops->ask(s, 8, p, &n), ERR_BUSY);
    assert_int_equal(n, 1);
    assert_int_equal(p[0].config.choice[0], 3);
    ops->fini(s);
    space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_have_the_names_of_kernel_tuner_too),
        cmocka_unit_test(strategies_propose_every_valid_config_once_and_then_nothing),
        cmocka_unit_test(strategies_repeat_themselves_for_a_seed),
        cmocka_unit_test(strategies_propose_new_valid_configs_of_a_space_too_large_to_list),
        cmocka_unit_test(strategies_go_on_when_every_config_fails),
        cmocka_unit_test(strategies_never_propose_what_they_were_told_first),
        cmocka_unit_test(strategies_begin_with_the_first_configs_that_are_valid),
        cmocka_unit_test(strategies_refuse_configs_of_another_space),
        cmocka_unit_test(strategies_take_results_late_and_in_any_order),
        cmocka_unit_test(strategies_that_are_not_blind_learn_what_random_does_not),
        cmocka_unit_test(strategies_go_on_when_results_never_come),
        cmocka_unit_test(strategies_that_are_not_blind_begin_from_what_they_were_told),
        cmocka_unit_test(genetic_breeds_from_the_better_of_two),
        cmocka_unit_test(populations_give_a_strangers_config_the_place_of_the_weakest),
        cmocka_unit_test(strategies_are_found_by_name_and_auto_is_the_default),
        cmocka_unit_test(grid_follows_the_index),
        cmocka_unit_test(history_keeps_the_latest_value_and_ranks_by_value),
        cmocka_unit_test(a_searchers_answer_may_come_when_fewer_are_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
