/* SPDX-License-Identifier: MIT */
#include "search/strategies/warm.h"

#include "search/learn/transfer_recorded.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* tx, ty in powers of two up to 128, u 1..n_u; tx * ty <= 1024. */
static struct space *space_of(int64_t n_u)
{
    struct space *s = NULL;
    const int64_t powers[] = {1, 2, 4, 8, 16, 32, 64, 128};
    int64_t *us = malloc((size_t)n_u * sizeof(*us));

    assert_non_null(us);
    for (int64_t i = 0; i < n_u; i++)
        us[i] = i + 1;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "tx", NULL, 8, powers), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "ty", NULL, 8, powers), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "u", NULL, (size_t)n_u, us), ERR_OK);
    assert_int_equal(space_add_constraint(s, "tx * ty <= 1024", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    free(us);
    return s;
}

static double value_of(const double *k)
{
    return 0.4 * fabs(log2(k[0]) - 4) + 0.3 * fabs(log2(k[1]) - 2) + 0.02 * fabs(k[2] - 5);
}

/* A transfer for the space with one source: `n` uniform configs whose times have a sign, or are at odds with it. */
static struct transfer *history_of(const struct space *s, size_t n, double sign)
{
    static const char *const names[] = {"tx", "ty", "u"};
    double *knobs = malloc(n * 3 * sizeof(*knobs)), *values = malloc(n * sizeof(*values));
    struct transfer *t = NULL;
    struct rng rng;

    assert_true(knobs && values);
    rng_init(&rng, 11);
    for (size_t i = 0; i < n; i++) {
        struct config c;

        assert_int_equal(space_sample(s, &rng, 1000, &c), ERR_OK);
        transfer_knobs_of(s, &c, knobs + 3 * i);
        values[i] = sign * value_of(knobs + 3 * i);
    }
    assert_int_equal(transfer_new_for(&t, s, 1), ERR_OK);
    assert_int_equal(transfer_add_source(t, "other", &(struct transfer_rows){names, knobs, values, n, 3}, NULL),
                     ERR_OK);
    free(knobs);
    free(values);
    return t;
}

/* Runs `budget` evaluations in batches; the least value. Checks that proposals are valid and new. */
static double run(const struct space *s, struct transfer *t, size_t budget, size_t batch, size_t *n_done)
{
    struct strategy_options o = {.seed = 5, .budget = budget, .history = t, .inner = strategy_find("random")};
    struct strategy *w = NULL;
    uint64_t seen[600];
    double best = INFINITY;

    assert_true(budget <= 600 && batch <= 16);
    assert_int_equal(warm_ops.init(&w, s, &o), ERR_OK);
    for (*n_done = 0; *n_done < budget;) {
        struct proposal p[16];
        struct outcome out[16];
        size_t n = 0;

        assert_int_equal(warm_ops.ask(w, batch, p, &n), ERR_OK);
        if (n == 0)
            break;
        for (size_t i = 0; i < n; i++) {
            double k[3];

            assert_true(space_is_valid(s, &p[i].config, NULL));
            seen[*n_done] = space_index(s, &p[i].config);
            for (size_t j = 0; j < *n_done; j++)
                assert_true(seen[j] != seen[*n_done]);
            ++*n_done;
            transfer_knobs_of(s, &p[i].config, k);
            out[i] = (struct outcome){.config = p[i].config, .value = k[0] > 64 ? (double)NAN : value_of(k)};
            best = fmin(best, isnan(out[i].value) ? INFINITY : out[i].value);
        }
        assert_int_equal(warm_ops.tell(w, out, n), ERR_OK);
    }
    warm_ops.fini(w);
    return best;
}

static void records_of_a_like_device_lead_to_the_best_at_once(void **state)
{
    struct space *s = space_of(12);
    struct transfer *t = history_of(s, 400, 1);
    size_t n;

    (void)state;
    assert_true(run(s, t, 6, 1, &n) < 0.11);
    assert_int_equal(n, 6);
    transfer_free(t);
    space_free(s);
}

static void batches_are_as_large_as_asked_and_repeat_nothing(void **state)
{
    struct space *s = space_of(12);
    struct transfer *t = history_of(s, 400, 1);
    size_t n;

    (void)state;
    assert_true(run(s, t, 64, 16, &n) < 0.11);
    assert_int_equal(n, 64);
    transfer_free(t);
    space_free(s);
}

static void records_at_odds_with_the_device_lose_their_turns(void **state)
{
    struct space *s = space_of(12);
    struct transfer *t = history_of(s, 400, -1);
    size_t n;

    (void)state;
    run(s, t, 60, 4, &n);
    assert_true(transfer_trust(t, 0) < 0.3);
    transfer_free(t);
    space_free(s);
}

static void a_space_is_proposed_to_its_last_config(void **state)
{
    struct space *s = space_of(2);
    struct transfer *t = history_of(s, 50, 1);
    bool exact;
    const double all = space_count_valid(s, 1 << 20, &exact);
    size_t n;

    (void)state;
    assert_true(exact && all < 600);
    run(s, t, 600, 16, &n);
    assert_int_equal(n, (size_t)all);
    transfer_free(t);
    space_free(s);
}

static void a_space_too_large_to_list_starts_from_the_best_of_the_source(void **state)
{
    struct space *s = space_of(4000);
    struct transfer *t = history_of(s, 300, 1);
    double best_of_source = INFINITY, rows[3 * 3];
    size_t n;

    (void)state;
    for (size_t i = 0; i < transfer_best_of(t, 0, 3, rows); i++)
        best_of_source = fmin(best_of_source, value_of(rows + 3 * i));
    assert_true(run(s, t, 24, 4, &n) <= best_of_source);
    assert_int_equal(n, 24);
    transfer_free(t);
    space_free(s);
}

static void the_same_seed_repeats_a_run(void **state)
{
    struct space *s = space_of(12);
    struct transfer *t = history_of(s, 100, 1), *again = history_of(s, 100, 1);
    size_t n;

    (void)state;
    assert_float_equal(run(s, t, 20, 3, &n), run(s, again, 20, 3, &n), 0);
    transfer_free(t);
    transfer_free(again);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_a_like_device_lead_to_the_best_at_once),
        cmocka_unit_test(batches_are_as_large_as_asked_and_repeat_nothing),
        cmocka_unit_test(records_at_odds_with_the_device_lose_their_turns),
        cmocka_unit_test(a_space_is_proposed_to_its_last_config),
        cmocka_unit_test(a_space_too_large_to_list_starts_from_the_best_of_the_source),
        cmocka_unit_test(the_same_seed_repeats_a_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
