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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_set_is_what_the_constraints_say),
    };

    return cmocka_run_group_tests_name("valid_set", tests, NULL, NULL);
}
