/* SPDX-License-Identifier: MIT */
/* The set of valid configs against the definition: every config of the product asked one by one. */
#include "search_space/valid_set.h"

#include "random_space.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_SPACES 3000
#define SEED 20240301u

static struct valid_set *set_of(const struct space *s)
{
    struct valid_set *v = NULL;
    struct why why = {""};

    if (valid_set_new(s, 0, &v, &why))
        fail_msg("%s", why.text);
    return v;
}

static void print_space(const struct space *s)
{
    for (size_t i = 0; i < space_n_knobs(s); i++) {
        fprintf(stderr, "%s:", space_knob_name(s, i));
        for (size_t k = 0; k < space_n_values(s, i); k++)
            fprintf(stderr, " %.17g", space_knob_value(s, i, k).number);
        fprintf(stderr, "\n");
    }
    for (size_t i = 0; i < space_n_constraints(s); i++)
        fprintf(stderr, "with %s\n", space_constraint_text(s, i));
}

/* Every config of the product: in the set exactly when it is valid, and then its rank gives it back. */
static void check_against_product(const struct space *s, const struct valid_set *v)
{
    uint64_t n_valid = 0, rank;
    struct config c, back;

    for (uint64_t i = 0; i < space_size(s); i++) {
        assert_int_equal(space_at(s, i, &c), ERR_OK);
        if (valid_set_has(v, &c) != space_is_valid(s, &c, NULL)) {
            print_space(s);
            fail_msg("config %llu: in the set %d, valid %d", (unsigned long long)i, valid_set_has(v, &c),
                     space_is_valid(s, &c, NULL));
        }
        if (!space_is_valid(s, &c, NULL))
            continue;
        n_valid++;
        assert_int_equal(valid_set_rank(v, &c, &rank), ERR_OK);
        assert_true(rank < valid_set_count(v));
        assert_int_equal(valid_set_at(v, rank, &back), ERR_OK);
        assert_true(space_config_equal(s, &c, &back));
    }
    assert_int_equal(valid_set_count(v), n_valid);
    assert_int_equal(valid_set_at(v, n_valid, &c), ERR_LIMIT);
}

static void the_set_is_what_the_constraints_say(void **state)
{
    struct rng rng;
    size_t n_some = 0;

    (void)state;
    rng_init(&rng, SEED);
    for (int i = 0; i < N_SPACES; i++) {
        struct space *s = random_space(&rng, 2 + (size_t)rng_below(&rng, 4), 6);
        struct valid_set *v = set_of(s);

        check_against_product(s, v);
        n_some += valid_set_count(v) > 0 && valid_set_count(v) < space_size(s);
        valid_set_free(v);
        space_free(s);
    }

    assert_true(n_some > N_SPACES / 5); /* the generator makes constraints that leave some and forbid some */
}

static void ranks_follow_the_order_of_the_set(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, SEED + 1);
    for (int i = 0; i < 200; i++) {
        struct space *s = random_space(&rng, 2 + (size_t)rng_below(&rng, 4), 5);
        struct valid_set *v = set_of(s);
        struct config before, c;

        for (uint64_t rank = 0; rank < valid_set_count(v); rank++) {
            size_t place = 0;

            assert_int_equal(valid_set_at(v, rank, &c), ERR_OK);
            while (rank && before.choice[valid_set_knob(v, place)] == c.choice[valid_set_knob(v, place)])
                place++;
            if (rank)
                assert_true(before.choice[valid_set_knob(v, place)] < c.choice[valid_set_knob(v, place)]);
            before = c;
        }
        valid_set_free(v);
        space_free(s);
    }
}

static void a_list_of_all_holds_what_ranks_give(void **state)
{
    struct rng rng;
    struct config c;

    (void)state;
    rng_init(&rng, SEED + 5);
    for (int i = 0; i < 500; i++) {
        struct space *s = random_space(&rng, 2 + (size_t)rng_below(&rng, 6), 4);
        struct valid_set *v = set_of(s);
        const uint64_t count = valid_set_count(v);
        uint64_t *indices = malloc((size_t)count * sizeof *indices + 1);

        assert_non_null(indices);
        assert_int_equal(valid_set_list(v, 0, count, indices), ERR_OK);
        for (uint64_t rank = 0; rank < count; rank++) {
            assert_int_equal(valid_set_at(v, rank, &c), ERR_OK);
            assert_int_equal(indices[rank], space_index(s, &c));
        }
        free(indices);
        valid_set_free(v);
        space_free(s);
    }
}

static void a_list_from_anywhere_holds_what_ranks_give(void **state)
{
    struct rng rng;
    uint64_t indices[64];
    struct config c;

    (void)state;
    rng_init(&rng, SEED + 2);
    for (int i = 0; i < 300; i++) {
        struct space *s = random_space(&rng, 2 + (size_t)rng_below(&rng, 4), 5);
        struct valid_set *v = set_of(s);
        const uint64_t count = valid_set_count(v), first = rng_below(&rng, count + 1);
        const uint64_t left = count - first, n = left < 64 ? left : 64;

        assert_int_equal(valid_set_list(v, first, n, indices), ERR_OK);
        for (uint64_t k = 0; k < n; k++) {
            assert_int_equal(valid_set_at(v, first + k, &c), ERR_OK);
            assert_int_equal(indices[k], space_index(s, &c));
        }
        assert_int_equal(valid_set_list(v, first, left + 1, indices), ERR_LIMIT);
        valid_set_free(v);
        space_free(s);
    }
}

static const double powers[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};

/* 10^n raw configs: n knobs of 10 powers of two, their product at most 2^limit. */
static struct space *product_space(size_t n, unsigned limit)
{
    struct space *s = NULL;
    struct buf text;
    char name[24];

    buf_init(&text, 4096);
    assert_int_equal(space_new(&s), ERR_OK);
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "k%zu", i);
        assert_int_equal(space_add_knob(s, name, powers, 10, NULL), ERR_OK);
        buf_printf(&text, "%s%s", i ? " * " : "", name);
    }
    buf_printf(&text, " <= %.0f", ldexp(1, (int)limit));
    assert_int_equal(space_add_constraint(s, buf_text(&text), NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    buf_fini(&text);
    return s;
}

/* How many ways n digits 0..9 add up to at most `limit`. */
static uint64_t digit_sums(size_t n, unsigned limit)
{
    uint64_t ways[256] = {1}, total = 0;

    for (size_t i = 0; i < n; i++)
        for (unsigned sum = 255; sum < 256; sum--)
            for (unsigned digit = 1; digit < 10 && digit <= sum; digit++)
                ways[sum] += ways[sum - digit];
    for (unsigned sum = 0; sum <= limit; sum++)
        total += ways[sum];
    return total;
}

static void a_million_million_configs_are_counted_in_little_memory(void **state)
{
    struct space *s = product_space(12, 40);
    struct valid_set *v = NULL;
    struct config c, back;
    struct rng rng;
    uint64_t rank;

    (void)state;
    assert_int_equal(space_size(s), 1000000000000u);
    assert_int_equal(valid_set_new(s, (size_t)4 << 20, &v, NULL), ERR_OK);
    assert_int_equal(valid_set_count(v), digit_sums(12, 40));
    assert_true(valid_set_size(v).bytes < 100000);
    rng_init(&rng, 5);
    for (int i = 0; i < 1000; i++) {
        const uint64_t wanted = rng_below(&rng, valid_set_count(v));

        assert_int_equal(valid_set_at(v, wanted, &c), ERR_OK);
        assert_true(space_is_valid(s, &c, NULL));
        assert_int_equal(valid_set_rank(v, &c, &rank), ERR_OK);
        assert_int_equal(rank, wanted);
        assert_int_equal(valid_set_sample(v, &rng, &back), ERR_OK);
        assert_true(space_is_valid(s, &back, NULL));
    }
    valid_set_free(v);
    space_free(s);
}

/* More operands than are ever taken apart. */
static void a_sum_of_hundreds_is_worked_out(void **state)
{
    static const double values[] = {0, 1, 2};

    (void)state;
    for (int n = 254; n < 260; n++) {
        struct space *s = NULL;
        struct valid_set *v;
        struct buf text;

        buf_init(&text, 4096);
        assert_int_equal(space_new(&s), ERR_OK);
        for (int i = 0; i < 3; i++)
            assert_int_equal(space_add_knob(s, (const char *[]){"a", "b", "c"}[i], values, 3, NULL), ERR_OK);
        for (int i = 0; i < n; i++)
            buf_printf(&text, "%s%c", i ? "+" : "", "abc"[i % 3]);
        buf_printf(&text, "<=%d", n);
        assert_int_equal(space_add_constraint(s, buf_text(&text), NULL), ERR_OK);
        assert_int_equal(space_seal(s, NULL), ERR_OK);
        v = set_of(s);
        check_against_product(s, v);
        valid_set_free(v);
        space_free(s);
        buf_fini(&text);
    }
}

static void samples_are_uniform(void **state)
{
    enum { N = 60000 };
    struct space *s = product_space(3, 6);
    struct valid_set *v = set_of(s);
    const uint64_t count = valid_set_count(v);
    unsigned hits[1000] = {0};
    const double expected = (double)N / (double)count;
    double chi2 = 0;
    struct config c;
    struct rng rng;

    (void)state;
    assert_int_equal(count, digit_sums(3, 6));
    rng_init(&rng, 7);
    for (int i = 0; i < N; i++) {
        assert_int_equal(valid_set_sample(v, &rng, &c), ERR_OK);
        hits[space_index(s, &c)]++;
    }
    for (uint64_t i = 0; i < space_size(s); i++) {
        assert_int_equal(space_at(s, i, &c), ERR_OK);
        if (space_is_valid(s, &c, NULL))
            chi2 += (hits[i] - expected) * (hits[i] - expected) / expected;
        else
            assert_int_equal(hits[i], 0);
    }
    /* mean n-1, deviation sqrt(2 (n-1)): six deviations never happen by chance, and the seed is fixed */
    if (fabs(chi2 - (double)count) > 6 * sqrt(2 * (double)count))
        fail_msg("chi-square %g over %llu configs", chi2, (unsigned long long)count);
    valid_set_free(v);
    space_free(s);
}

static void an_empty_set_answers_everything(void **state)
{
    static const char *const never[] = {"a > 4", "a / 0 == 1", "a * b == 7", "a == 'x'", "not (a < b or a >= b)", "0"};
    static const double values[] = {1, 2, 4};

    (void)state;
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        struct space *s = NULL;
        struct valid_set *v;
        struct config c = {.choice = {0}};
        struct rng rng;
        uint64_t rank;

        rng_init(&rng, 1);
        assert_int_equal(space_new(&s), ERR_OK);
        assert_int_equal(space_add_knob(s, "a", values, 3, NULL), ERR_OK);
        assert_int_equal(space_add_knob(s, "b", values, 3, NULL), ERR_OK);
        assert_int_equal(space_add_constraint(s, never[i], NULL), ERR_OK);
        assert_int_equal(space_seal(s, NULL), ERR_OK);
        v = set_of(s);
        assert_int_equal(valid_set_count(v), 0);
        assert_int_equal(valid_set_at(v, 0, &c), ERR_LIMIT);
        assert_int_equal(valid_set_rank(v, &c, &rank), ERR_NOT_FOUND);
        assert_int_equal(valid_set_sample(v, &rng, &c), ERR_NOT_FOUND);
        assert_int_equal(valid_set_list(v, 0, 0, NULL), ERR_OK);
        valid_set_free(v);
        space_free(s);
    }
}

/* A word is not true; the first of a space has the number 0, others have not. */
static void a_word_alone_is_never_true(void **state)
{
    static const double values[] = {1, 2};
    struct space *s = NULL;
    struct valid_set *v;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob(s, "a", values, 2, NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "a != 'x'", NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "'y'", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    v = set_of(s);
    check_against_product(s, v);
    assert_int_equal(valid_set_count(v), 0);
    valid_set_free(v);
    space_free(s);
}

static bool keeps_odd_sums(const struct space *s, const struct config *c, void *arg)
{
    size_t sum = *(const size_t *)arg;

    for (size_t i = 0; i < space_n_knobs(s); i++)
        sum += c->choice[i];
    return sum % 2;
}

static void constraints_in_c_are_asked_too(void **state)
{
    static size_t start = 1;
    struct space *s = NULL;
    struct valid_set *v;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    for (int i = 0; i < 3; i++) {
        char name[24];

        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(space_add_knob(s, name, powers, 10, NULL), ERR_OK);
    }
    assert_int_equal(space_add_constraint(s, "k0 * k1 <= 64", NULL), ERR_OK);
    assert_int_equal(space_add_filter(s, keeps_odd_sums, &start, "an odd sum", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    v = set_of(s);
    check_against_product(s, v);
    valid_set_free(v);
    space_free(s);
}

static bool keeps_all(const struct space *s, const struct config *c, void *arg)
{
    (void)s;
    (void)c;
    (void)arg;
    return true;
}

static void what_passes_a_limit_is_refused_with_words(void **state)
{
    struct space *large = product_space(6, 20), *filtered = NULL;
    struct valid_set *v = NULL;
    struct why why = {""};

    (void)state;
    assert_int_equal(valid_set_new(large, 20000, &v, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "tie too many knobs"));
    assert_int_equal(space_new(&filtered), ERR_OK);
    for (int i = 0; i < 7; i++) {
        char name[24];

        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(space_add_knob(filtered, name, powers, 10, NULL), ERR_OK);
    }
    assert_int_equal(space_add_filter(filtered, keeps_all, NULL, "anything", NULL), ERR_OK);
    assert_int_equal(space_seal(filtered, NULL), ERR_OK);
    assert_int_equal(valid_set_new(filtered, 0, &v, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "constraints in C"));
    assert_null(v);
    space_free(large);
    space_free(filtered);
}

/* Six knobs of 12 values, tied by two constraints that share no intermediate value but the knobs themselves. */
static void tangled_constraints_are_found_exactly(void **state)
{
    static const double values[] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31};
    struct space *s = NULL;
    struct valid_set *v;
    struct config c;
    uint64_t n = 0;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    for (int i = 0; i < 5; i++) {
        char name[24];

        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(space_add_knob(s, name, values, 12, NULL), ERR_OK);
    }
    assert_int_equal(space_add_constraint(s, "(k0 * 7 + k1 * 11 + k2 * k3 + k4 * 3) % 5 == 2", NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "k0 % 3 == (k4 + k1 * k2) % 7 or k3 / k2 > k1 / k0", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    v = set_of(s);
    for (uint64_t i = 0; i < space_size(s); i++) {
        assert_int_equal(space_at(s, i, &c), ERR_OK);
        assert_int_equal(valid_set_has(v, &c), space_is_valid(s, &c, NULL));
        n += valid_set_has(v, &c);
    }
    assert_int_equal(valid_set_count(v), n);
    valid_set_free(v);
    space_free(s);
}

/* One constraint over six knobs of 16 values whose 16.8 million combinations no shared value sums up: what is worked
 * out beforehand stops at a limit, the rest is worked out where the other constraints leave a way. */
static void what_is_too_large_to_tabulate_is_worked_out_where_it_is_needed(void **state)
{
    static const char tangle[] = "(k0 * 1.1 + k1 * 1.01 + k2 * 1.001 + k3 * 1.0001) * k4 % (k5 + 0.3) > 2.5";
    struct space *s = NULL;
    struct valid_set *v;
    uint64_t n = 0;
    double values[16];

    (void)state;
    for (int i = 0; i < 16; i++)
        values[i] = i + 0.37 * (i % 5);
    assert_int_equal(space_new(&s), ERR_OK);
    for (int i = 0; i < 6; i++) {
        char name[24];

        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(space_add_knob(s, name, values, 16, NULL), ERR_OK);
    }
    assert_int_equal(space_add_constraint(s, tangle, NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "k1 == k0 and k3 == k2 and k4 < k5", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    v = set_of(s);
    for (unsigned i = 0; i < 65536; i++) {
        const uint16_t a = i % 16, b = i / 16 % 16;
        const struct config c = {.choice = {a, a, b, b, (uint16_t)(i / 256 % 16), (uint16_t)(i / 4096)}};

        assert_int_equal(valid_set_has(v, &c), space_is_valid(s, &c, NULL));
        n += valid_set_has(v, &c);
    }
    assert_int_equal(valid_set_count(v), n);
    valid_set_free(v);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_set_is_what_the_constraints_say),
        cmocka_unit_test(ranks_follow_the_order_of_the_set),
        cmocka_unit_test(a_list_of_all_holds_what_ranks_give),
        cmocka_unit_test(a_list_from_anywhere_holds_what_ranks_give),
        cmocka_unit_test(a_million_million_configs_are_counted_in_little_memory),
        cmocka_unit_test(a_sum_of_hundreds_is_worked_out),
        cmocka_unit_test(samples_are_uniform),
        cmocka_unit_test(an_empty_set_answers_everything),
        cmocka_unit_test(a_word_alone_is_never_true),
        cmocka_unit_test(constraints_in_c_are_asked_too),
        cmocka_unit_test(what_passes_a_limit_is_refused_with_words),
        cmocka_unit_test(tangled_constraints_are_found_exactly),
        cmocka_unit_test(what_is_too_large_to_tabulate_is_worked_out_where_it_is_needed),
    };

    return cmocka_run_group_tests_name("valid_set", tests, NULL, NULL);
}
