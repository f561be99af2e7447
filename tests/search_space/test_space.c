/* SPDX-License-Identifier: MIT */
/* Spaces: index, validity, walks, text, features. */
#include "search_space/space.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* 4 * 3 * 2 * 3 = 72 configs of which those with tile * wide <= 8 and (order plain or wide > 1) are valid. */
static struct space *small_space(void)
{
    static const double tiles[] = {1, 2, 4, 8}, wides[] = {1, 2, 4}, flags[] = {0, 1};
    static const char *const orders[] = {"plain", "swapped", "z-curve"};
    struct space *s = NULL;

    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob(s, "tile", tiles, 4, NULL), ERR_OK);
    assert_int_equal(space_add_knob(s, "wide", wides, 3, NULL), ERR_OK);
    assert_int_equal(space_add_knob(s, "flag", flags, 2, NULL), ERR_OK);
    assert_int_equal(space_add_knob_words(s, "order", orders, 3, NULL), ERR_OK);
    assert_int_equal(space_add_constant(s, "limit", 8, NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "area", "tile * wide", NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "waste", "area / flag", NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "area <= limit", NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "order == 'plain' or wide > 1", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    return s;
}

static bool truly_valid(const struct space *s, const struct config *c)
{
    const double tile = space_value(s, c, 0).number, wide = space_value(s, c, 1).number;

    return tile * wide <= 8 && (strcmp(space_value(s, c, 3).text, "plain") == 0 || wide > 1);
}

static void space_finds_every_config_it_lists(void **state)
{
    struct space *s = small_space();
    struct config c;
    size_t n = 0;
    bool exact = false;

    (void)state;
    assert_int_equal(space_size(s), 72);
    for (uint64_t i = 0; i < 72; i++) {
        assert_int_equal(space_at(s, i, &c), ERR_OK);
        assert_int_equal(space_index(s, &c), i);
        assert_int_equal(space_is_valid(s, &c, NULL), truly_valid(s, &c));
        n += truly_valid(s, &c);
    }
    assert_int_equal(space_at(s, 72, &c), ERR_LIMIT);
    assert_int_equal((int)space_count_valid(s, 72, &exact), (int)n);
    assert_true(exact);
    space_free(s);
}

static void the_first_knob_is_least_significant(void **state)
{
    struct space *s = small_space();
    struct config c;

    (void)state;
    assert_int_equal(space_at(s, 1, &c), ERR_OK);
    assert_true(space_value(s, &c, 0).number == 2);
    assert_int_equal(space_at(s, 4 * 3 * 2, &c), ERR_OK);
    assert_string_equal(space_value(s, &c, 3).text, "swapped");
    space_free(s);
}

static void the_first_violated_constraint_is_named(void **state)
{
    struct space *s = small_space();
    const char *violated = NULL;
    struct config c;

    (void)state;
    assert_int_equal(space_config_parse(s, "tile=8 wide=4 flag=0 order=plain", &c, NULL), ERR_OK);
    assert_false(space_is_valid(s, &c, &violated));
    assert_string_equal(violated, "area <= limit");
    space_free(s);
}

static void samples_are_valid_and_uniform(void **state)
{
    enum { N = 36000 };
    struct space *s = small_space();
    unsigned hits[72] = {0};
    double chi2 = 0, expected;
    size_t n_valid = 0;
    struct config c;
    struct rng rng;
    bool exact;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < N; i++) {
        assert_int_equal(space_sample(s, &rng, 1000, &c), ERR_OK);
        hits[space_index(s, &c)]++;
    }
    n_valid = (size_t)space_count_valid(s, 100, &exact);
    expected = (double)N / (double)n_valid;
    for (uint64_t i = 0; i < 72; i++) {
        assert_int_equal(space_at(s, i, &c), ERR_OK);
        if (truly_valid(s, &c))
            chi2 += (hits[i] - expected) * (hits[i] - expected) / expected;
        else
            assert_int_equal(hits[i], 0);
    }
    /* mean n-1, deviation sqrt(2 (n-1)): six deviations never happen by chance, and the seed is fixed */
    if (chi2 > (double)n_valid + 6 * sqrt(2 * (double)n_valid))
        fail_msg("chi-square %g over %zu valid configs", chi2, n_valid);
    space_free(s);
}

static void sampling_an_empty_space_gives_up(void **state)
{
    static const int64_t values[] = {1, 2};
    struct space *s = NULL;
    struct config c;
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "a", NULL, 2, values), ERR_OK);
    assert_int_equal(space_add_constraint(s, "a > 2", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    assert_int_equal(space_sample(s, &rng, 100, &c), ERR_NOT_FOUND);
    space_free(s);
}

struct neighbours {
    const struct space *s;
    const struct config *of;
    size_t n, stop_after;
};

static bool see_neighbour(const struct config *c, void *arg)
{
    struct neighbours *seen = arg;
    size_t n_different = 0;

    for (size_t i = 0; i < space_n_knobs(seen->s); i++)
        n_different += c->choice[i] != seen->of->choice[i];
    assert_int_equal(n_different, 1);
    assert_true(truly_valid(seen->s, c));
    return ++seen->n != seen->stop_after;
}

static void neighbours_differ_in_one_knob_and_are_valid(void **state)
{
    struct space *s = small_space();
    struct config c;
    struct neighbours seen = {.s = s, .of = &c};

    (void)state;
    assert_int_equal(space_config_parse(s, "tile=2 wide=2 flag=0 order=plain", &c, NULL), ERR_OK);
    space_neighbours(s, &c, see_neighbour, &seen);
    assert_int_equal(seen.n, 2 /* tile 1 4 */ + 2 /* wide 1 4 */ + 1 + 2);
    seen = (struct neighbours){.s = s, .of = &c, .stop_after = 3};
    space_neighbours(s, &c, see_neighbour, &seen);
    assert_int_equal(seen.n, 3);
    space_free(s);
}

static void text_and_json_name_every_config(void **state)
{
    struct space *s = small_space();
    struct buf text;

    (void)state;
    buf_init(&text, 1000);
    for (uint64_t i = 0; i < space_size(s); i++) {
        struct config c, back, from_json;
        cJSON *json;

        assert_int_equal(space_at(s, i, &c), ERR_OK);
        buf_clear(&text);
        assert_int_equal(space_config_text(s, &c, &text), ERR_OK);
        assert_int_equal(space_config_parse(s, buf_text(&text), &back, NULL), ERR_OK);
        assert_true(space_config_equal(s, &c, &back));
        json = space_config_to_json(s, &c);
        assert_int_equal(space_config_from_json(s, json, &from_json, NULL), ERR_OK);
        assert_true(space_config_equal(s, &c, &from_json));
        cJSON_Delete(json);
    }
    assert_string_equal(buf_text(&text), "tile=8 wide=4 flag=1 order=z-curve");
    buf_fini(&text);
    space_free(s);
}

static void bad_configs_are_refused_with_the_knob_s_name(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"tile=1 wide=1 flag=0", "'order' is missing"},
        {"tile=1 wide=1 flag=0 order=plain tile=1", "'tile' is given twice"},
        {"tile=3 wide=1 flag=0 order=plain", "knob 'tile': '3' is not a value of it; expected one of 1, 2, 4, 8"},
        {"tile=x wide=1 flag=0 order=plain", "'x'"},
        {"tile=1 wide=1 flag=0 order=3", "plain, swapped, z-curve"},
        {"size=1", "unknown knob 'size': expected one of "},
        {"tile", "expected name=value"},
        {"", "knobs 'tile', 'wide', 'flag', 'order' are missing"},
    };
    struct space *s = small_space();

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct why why = {""};
        struct config c;
        enum err e = space_config_parse(s, bad[i].text, &c, &why);

        if (e != ERR_INPUT || !strstr(why.text, bad[i].words))
            fail_msg("'%s': got %s '%s', expected '%s'", bad[i].text, err_name(e), why.text, bad[i].words);
    }
    space_free(s);
}

static void bad_json_configs_are_refused(void **state)
{
    static const char *const bad[] = {"[]",
                                      "3",
                                      "{}",
                                      "{\"tile\":true,\"wide\":1,\"flag\":0,\"order\":\"plain\"}",
                                      "{\"tile\":1,\"wide\":1,\"flag\":0,\"order\":0}",
                                      "{\"tile\":\"1\",\"wide\":1,\"flag\":0,\"order\":\"plain\"}",
                                      "{\"tile\":1,\"tile\":1,\"wide\":1,\"flag\":0,\"order\":\"plain\"}"};
    struct space *s = small_space();

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cJSON *json = cJSON_Parse(bad[i]);
        struct config c;

        if (space_config_from_json(s, json, &c, NULL) != ERR_INPUT)
            fail_msg("%s was taken", bad[i]);
        cJSON_Delete(json);
    }
    space_free(s);
}

static void features_have_names_and_fixed_columns(void **state)
{
    static const char *const names[] = {"tile",        "log2(tile)",    "wide",          "log2(wide)", "flag",
                                        "order=plain", "order=swapped", "order=z-curve", "area",       "waste"};
    struct space *s = small_space();
    struct config c;
    float row[10];

    (void)state;
    assert_int_equal(space_n_features(s), 10);
    for (size_t i = 0; i < 10; i++)
        assert_string_equal(space_feature_name(s, i), names[i]);
    assert_int_equal(space_config_parse(s, "tile=4 wide=2 flag=0 order=swapped", &c, NULL), ERR_OK);
    space_features(s, &c, row);
    assert_true(row[0] == 4 && row[1] == 2 && row[2] == 2 && row[3] == 1 && row[4] == 0);
    assert_true(row[5] == 0 && row[6] == 1 && row[7] == 0 && row[8] == 8 && isnan(row[9]));
    assert_int_equal(space_config_parse(s, "tile=2 wide=2 flag=1 order=swapped", &c, NULL), ERR_OK);
    space_features(s, &c, row);
    assert_true(row[8] == 4 && row[9] == 4); /* the one is made of the other */
    space_free(s);
}

static void names_evaluate_at_a_config(void **state)
{
    struct space *s = small_space();
    struct config c;
    double v = 0;

    (void)state;
    assert_int_equal(space_config_parse(s, "tile=4 wide=2 flag=1 order=plain", &c, NULL), ERR_OK);
    assert_int_equal(space_int(s, &c, "tile"), 4);
    assert_int_equal(space_int(s, &c, "area"), 8);
    assert_int_equal(space_eval(s, &c, "limit", &v), ERR_OK);
    assert_true(v == 8);
    assert_int_equal(space_eval(s, &c, "nothing", &v), ERR_NOT_FOUND);
    assert_int_equal(space_eval(s, &c, "order", &v), ERR_INPUT);
    assert_int_equal(space_config_parse(s, "tile=4 wide=2 flag=0 order=plain", &c, NULL), ERR_OK);
    assert_int_equal(space_eval(s, &c, "waste", &v), ERR_INPUT);
    space_free(s);
}

static bool is_even(const struct space *s, const struct config *c, void *arg)
{
    ++*(size_t *)arg;
    return (int)space_value(s, c, 0).number % 2 == 0;
}

static void filters_are_constraints_in_c(void **state)
{
    static const int64_t values[] = {1, 2, 3, 4};
    struct space *s = NULL;
    size_t n_calls = 0;
    bool exact;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "a", NULL, 4, values), ERR_OK);
    assert_int_equal(space_add_filter(s, is_even, &n_calls, "a is even", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    assert_int_equal((int)space_count_valid(s, 10, &exact), 2);
    assert_int_equal(n_calls, 4);
    assert_int_equal(space_n_constraints(s), 1);
    assert_string_equal(space_constraint_text(s, 0), "a is even");
    space_free(s);
}

static void constraints_are_told_in_knobs_alone(void **state)
{
    static const int64_t values[] = {1, 2, 3, 4};
    static const char *const words[] = {"n", "plain"};
    static const struct {
        const char *text, *in_knobs;
    } all[] = {
        {"n%(x*x_2)==0", "1000%(x*x_2)==0"},
        {"bytes <= size.x + e3 + 1e3 - .5", "(4*(x+1)*x) <= 8 + (-0.25) + 1e3 - .5"},
        {"w == 'n' or w != \"bytes\" or max(n, x) > 2", "w == 'n' or w != \"bytes\" or max(1000, x) > 2"},
    };
    struct space *s = NULL;
    struct buf out;
    size_t n_calls = 0;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "x", NULL, 4, values), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "x_2", NULL, 4, values), ERR_OK);
    assert_int_equal(space_add_knob_words(s, "w", words, 2, NULL), ERR_OK);
    assert_int_equal(space_add_constant(s, "n", 1000, NULL), ERR_OK);
    assert_int_equal(space_add_constant(s, "size.x", 8, NULL), ERR_OK);
    assert_int_equal(space_add_constant(s, "e3", -.25, NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "more", "x+1", NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "bytes", "4*more*x", NULL), ERR_OK);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        assert_int_equal(space_add_constraint(s, all[i].text, NULL), ERR_OK);
    assert_int_equal(space_add_filter(s, is_even, &n_calls, "n is even", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    buf_init(&out, 1000);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        buf_clear(&out);
        assert_int_equal(space_constraint_in_knobs(s, space_constraint_text(s, i), &out), ERR_OK);
        assert_string_equal(buf_text(&out), all[i].in_knobs);
    }
    buf_clear(&out);
    assert_int_equal(space_constraint_in_knobs(s, space_constraint_text(s, 3), &out), ERR_OK);
    assert_string_equal(buf_text(&out), "n is even");
    buf_fini(&out);
    buf_init(&out, 10);
    assert_int_equal(space_constraint_in_knobs(s, space_constraint_text(s, 1), &out), ERR_LIMIT);
    buf_fini(&out);
    space_free(s);
}

static void building_refuses_what_is_no_space(void **state)
{
    static const double ok[] = {1, 2}, twice[] = {1, 1}, not_finite[] = {1, INFINITY};
    static const char *const bad_words[] = {"a b"}, *const with_sign[] = {"a=b"};
    struct space *s = NULL;
    struct why why;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob(s, "a", ok, 2, NULL), ERR_OK);
    assert_int_equal(space_add_knob(s, "a", ok, 2, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "used twice"));
    assert_int_equal(space_add_knob(s, "b", ok, 0, NULL), ERR_INPUT);
    assert_int_equal(space_add_knob(s, "b", twice, 2, NULL), ERR_INPUT);
    assert_int_equal(space_add_knob(s, "b", not_finite, 2, NULL), ERR_INPUT);
    assert_int_equal(space_add_knob(s, "9", ok, 2, NULL), ERR_INPUT);
    assert_int_equal(space_add_knob(s, "or", ok, 2, NULL), ERR_INPUT);
    assert_int_equal(space_add_knob_words(s, "w", bad_words, 1, NULL), ERR_INPUT);
    assert_int_equal(space_add_knob_words(s, "w", with_sign, 1, NULL), ERR_INPUT);
    assert_int_equal(space_add_constant(s, "a", 1, NULL), ERR_INPUT);
    assert_int_equal(space_add_constant(s, "k", NAN, NULL), ERR_INPUT);
    assert_int_equal(space_add_knob(s, "b", ok, SPACE_MAX_VALUES + 1, NULL), ERR_LIMIT);
    assert_int_equal(space_n_knobs(s), 1);
    assert_int_equal(space_add_quantity(s, "q", "later + 1", NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "later", "a", NULL), ERR_OK);
    assert_int_equal(space_seal(s, &why), ERR_INPUT);
    assert_string_equal(why.text, "quantity q: 'later + 1': unknown name 'later'");
    space_free(s);
}

static void products_over_63_bits_are_refused(void **state)
{
    struct space *s = NULL;
    double values[4];
    char name[8];

    (void)state;
    for (int i = 0; i < 4; i++)
        values[i] = i;
    assert_int_equal(space_new(&s), ERR_OK);
    for (int i = 0; i < 32; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(space_add_knob(s, name, values, i < 31 ? 4 : 2, NULL), ERR_OK);
    }
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    assert_true(space_size(s) == (uint64_t)1 << 63);
    {
        struct config c, back;

        assert_int_equal(space_at(s, space_size(s) - 1, &c), ERR_OK);
        assert_int_equal(space_at(s, space_index(s, &c), &back), ERR_OK);
        assert_true(space_config_equal(s, &c, &back));
    }
    space_free(s);
    assert_int_equal(space_new(&s), ERR_OK);
    for (int i = 0; i < 32; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(space_add_knob(s, name, values, 4, NULL), ERR_OK);
    }
    assert_int_equal(space_seal(s, NULL), ERR_LIMIT);
    space_free(s);
}

static void large_spaces_are_counted_by_estimate(void **state)
{
    struct space *s = NULL;
    double values[100], n;
    bool exact = true;

    (void)state;
    for (int i = 0; i < 100; i++)
        values[i] = i;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob(s, "a", values, 100, NULL), ERR_OK);
    assert_int_equal(space_add_knob(s, "b", values, 100, NULL), ERR_OK);
    assert_int_equal(space_add_knob(s, "c", values, 100, NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "a < 50", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    n = space_count_valid(s, 20000, &exact);
    assert_false(exact);
    if (fabs(n - 500000) > 25000)
        fail_msg("estimate %g, expected about 500000", n);
    space_free(s);
}

static void names_and_words_have_a_greatest_length(void **state)
{
    char name[SPACE_NAME_BYTES + 1], word[SPACE_WORD_BYTES + 1];
    const char *const words[] = {word};
    const double one[] = {1, 2};
    struct space *s = NULL;
    struct why why = {""};
    struct config c;

    (void)state;
    memset(name, 'n', sizeof name);
    memset(word, 'w', sizeof word);
    assert_int_equal(space_new(&s), ERR_OK);
    name[SPACE_NAME_BYTES] = word[SPACE_WORD_BYTES] = '\0';
    assert_int_equal(space_add_knob(s, name, one, 2, &why), ERR_LIMIT);
    if (!strstr(why.text, "longer than 47 bytes"))
        fail_msg("'%s'", why.text);
    assert_int_equal(space_add_knob_words(s, "w", words, 1, NULL), ERR_INPUT);
    name[SPACE_NAME_BYTES - 1] = word[SPACE_WORD_BYTES - 1] = '\0';
    assert_int_equal(space_add_knob(s, name, one, 2, NULL), ERR_OK);
    assert_int_equal(space_add_knob_words(s, "w", words, 1, NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    assert_int_equal(space_find_knob(s, name), 0);
    assert_int_equal(space_at(s, 1, &c), ERR_OK);
    {
        struct buf text;
        struct config back;

        buf_init(&text, 1000);
        assert_int_equal(space_config_text(s, &c, &text), ERR_OK);
        assert_int_equal(space_config_parse(s, buf_text(&text), &back, NULL), ERR_OK);
        assert_true(space_config_equal(s, &c, &back));
        buf_fini(&text);
    }
    assert_int_equal(space_find_knob(s, "nn"), -1); /* no beginning of a name is one */
    assert_int_equal(space_find_knob(s, ""), -1);
    space_free(s);
}

/* Every knob's values come back as text, however many digits they take. */
static void values_come_back_from_their_text(void **state)
{
    static const double values[] = {0.1, 1.0 / 3, 2.0 / 3, 0.1 + 0.2, 1e-300, 123456789012345680.0, -0.0, 1e22, 5e-324};
    struct space *s = NULL;
    struct buf text;
    struct config c, back;

    (void)state;
    buf_init(&text, 1000);
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob(s, "v", values, 9, NULL), ERR_OK);
    assert_int_equal(space_add_constant(s, "k", 7, NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "q", "v * k", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    for (uint64_t i = 0; i < 9; i++) {
        assert_int_equal(space_at(s, i, &c), ERR_OK);
        buf_clear(&text);
        assert_int_equal(space_config_text(s, &c, &text), ERR_OK);
        assert_true(strtod(buf_text(&text) + 2, NULL) == values[i]);
        assert_int_equal(space_config_parse(s, buf_text(&text), &back, NULL), ERR_OK);
        assert_int_equal(back.choice[0], i);
    }
    assert_int_equal(space_at(s, 0, &c), ERR_OK);
    buf_clear(&text);
    assert_int_equal(space_config_text(s, &c, &text), ERR_OK);
    assert_string_equal(buf_text(&text), "v=0.1");
    assert_int_equal(space_find_knob(s, "k"), -1); /* names of other kinds are no knobs */
    assert_int_equal(space_find_knob(s, "q"), -1);
    assert_int_equal(space_config_parse(s, "\t v=0.1\r\n ", &c, NULL), ERR_OK);
    assert_int_equal(space_config_parse(s, "v=inf", &c, NULL), ERR_INPUT);
    assert_int_equal(space_config_parse(s, "v=0.1x", &c, NULL), ERR_INPUT);
    assert_int_equal(space_config_parse(s, "v=", &c, NULL), ERR_INPUT);
    buf_fini(&text);
    space_free(s);
}

static void integers_of_knobs_are_exact(void **state)
{
    static const int64_t good[] = {JSON_EXACT_MAX, -JSON_EXACT_MAX, 0}, high[] = {JSON_EXACT_MAX + 1},
                         low[] = {-JSON_EXACT_MAX - 1};
    struct space *s = NULL;
    struct config c;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "h", NULL, 1, high), ERR_INPUT);
    assert_int_equal(space_add_knob_ints(s, "l", NULL, 1, low), ERR_INPUT);
    assert_int_equal(space_add_knob_ints(s, "g", NULL, 3, good), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    assert_int_equal(space_at(s, 1, &c), ERR_OK);
    assert_true(space_int(s, &c, "g") == -JSON_EXACT_MAX);
    space_free(s);
}

/* Quantities that need each other, asked for by constraints in another order than they were added. */
/* A quantity is made of knobs, constants and the quantities before it: neither of itself nor of later ones. */
static void quantities_are_made_of_what_stands_before_them(void **state)
{
    static const struct {
        const char *first, *second, *words; /* NULL: it is one */
    } cases[] = {
        {"a + k", "2 * q", NULL},
        {"a", "r + 1", "quantity r: 'r + 1': unknown name 'r'"},
        {"q", "a", "quantity q: 'q': unknown name 'q'"},
        {"r", "a", "quantity q: 'r': unknown name 'r'"},
        {"a", "q * r", "quantity r: 'q * r': unknown name 'r'"},
    };
    static const double values[] = {1, 2};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct space *s = NULL;
        struct why why = {""};

        assert_int_equal(space_new(&s), ERR_OK);
        assert_int_equal(space_add_knob(s, "a", values, 2, NULL), ERR_OK);
        assert_int_equal(space_add_constant(s, "k", 3, NULL), ERR_OK);
        assert_int_equal(space_add_quantity(s, "q", cases[i].first, NULL), ERR_OK);
        assert_int_equal(space_add_quantity(s, "r", cases[i].second, NULL), ERR_OK);
        assert_int_equal(space_seal(s, &why), cases[i].words ? ERR_INPUT : ERR_OK);
        if (cases[i].words)
            assert_string_equal(why.text, cases[i].words);
        space_free(s);
    }
}

static void constraints_compute_the_quantities_they_need(void **state)
{
    static const int64_t values[] = {1, 2, 3, 4, 5, 6};
    struct space *s = NULL;
    struct config c;
    const char *violated = NULL;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "a", NULL, 6, values), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "b", NULL, 6, values), ERR_OK);
    assert_int_equal(space_add_quantity(s, "sum", "a + b", NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "twice", "2 * sum", NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "unused", "a / 0", NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "twice <= 10", NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "sum != 4", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    for (uint64_t i = 0; i < 36; i++) {
        const uint64_t sum = i % 6 + i / 6 + 2;

        assert_int_equal(space_at(s, i, &c), ERR_OK);
        assert_int_equal(space_is_valid(s, &c, &violated), sum <= 5 && sum != 4);
        if (sum > 5 || sum == 4)
            assert_string_equal(violated, sum == 4 ? "sum != 4" : "twice <= 10");
    }
    c.choice[0] = 6;
    assert_false(space_config_in_range(s, &c));
    c.choice[0] = 5;
    assert_true(space_config_in_range(s, &c));
    space_free(s);
}

static void a_space_has_so_many_of_each_kind(void **state)
{
    const double one[] = {1};
    struct space *s = NULL;
    char name[16];

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    for (int i = 0; i <= SPACE_MAX_CONSTRAINTS; i++) {
        const enum err expected = i < 128 ? ERR_OK : ERR_LIMIT;

        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(space_add_knob(s, name, one, 1, NULL), i < 48 ? ERR_OK : ERR_LIMIT);
        snprintf(name, sizeof name, "c%d", i);
        assert_int_equal(space_add_constant(s, name, i, NULL), expected);
        snprintf(name, sizeof name, "q%d", i);
        assert_int_equal(space_add_quantity(s, name, "c127 + k47", NULL), expected);
        assert_int_equal(space_add_constraint(s, "1", NULL), expected);
    }
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    {
        struct config c;

        assert_int_equal(space_at(s, 0, &c), ERR_OK);
        assert_int_equal(space_int(s, &c, "q127"), 128);
        assert_int_equal(space_int(s, &c, "c1"), 1);
        assert_int_equal(space_n_features(s), 48 * 2 + 128);
    }
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(space_finds_every_config_it_lists),
        cmocka_unit_test(the_first_knob_is_least_significant),
        cmocka_unit_test(the_first_violated_constraint_is_named),
        cmocka_unit_test(samples_are_valid_and_uniform),
        cmocka_unit_test(sampling_an_empty_space_gives_up),
        cmocka_unit_test(neighbours_differ_in_one_knob_and_are_valid),
        cmocka_unit_test(text_and_json_name_every_config),
        cmocka_unit_test(bad_configs_are_refused_with_the_knob_s_name),
        cmocka_unit_test(bad_json_configs_are_refused),
        cmocka_unit_test(features_have_names_and_fixed_columns),
        cmocka_unit_test(names_evaluate_at_a_config),
        cmocka_unit_test(filters_are_constraints_in_c),
        cmocka_unit_test(constraints_are_told_in_knobs_alone),
        cmocka_unit_test(building_refuses_what_is_no_space),
        cmocka_unit_test(products_over_63_bits_are_refused),
        cmocka_unit_test(large_spaces_are_counted_by_estimate),
        cmocka_unit_test(names_and_words_have_a_greatest_length),
        cmocka_unit_test(values_come_back_from_their_text),
        cmocka_unit_test(integers_of_knobs_are_exact),
        cmocka_unit_test(quantities_are_made_of_what_stands_before_them),
        cmocka_unit_test(constraints_compute_the_quantities_they_need),
        cmocka_unit_test(a_space_has_so_many_of_each_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
