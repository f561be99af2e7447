/* SPDX-License-Identifier: MIT */
/* Parts of the search space that have no other test of their own: arenas, orders of knobs, subterms, files. */
#include "search_space/arena.h"
#include "search_space/knob_order.h"
#include "search_space/space_file.h"
#include "search_space/subterms.h"

#include "core/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- arenas ---- */

static void pieces_are_aligned_apart_and_zero_when_asked(void **state)
{
    struct arena a;
    char *pieces[100];

    (void)state;
    arena_init(&a, 64, 1 << 20);
    for (size_t i = 0; i < 100; i++) {
        pieces[i] = i % 2 ? arena_take(&a, i) : arena_zero(&a, i);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t k = 0; k < i && i % 2 == 0; k++)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)i, i);
    }
    for (size_t i = 0; i < 100; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_equal(pieces[i][k], i);
    assert_int_equal(a.failed, ERR_OK);
    arena_fini(&a);
}

static void an_array_grows_with_its_content(void **state)
{
    struct arena a;
    char *list = NULL, *before, *other;
    size_t cap = 0;

    (void)state;
    arena_init(&a, 4096, 1 << 20);
    assert_int_equal(ARENA_ROOM(&a, list, cap, 5), ERR_OK);
    assert_in_range(cap, 5, 100);
    memcpy(list, "abcd", 5);
    before = list;
    assert_int_equal(ARENA_ROOM(&a, list, cap, 200), ERR_OK);
    assert_ptr_equal(list, before); /* nothing was taken behind it */
    other = arena_take(&a, 8);
    assert_true(other >= list + cap && cap >= 200);
    memset(other, 'x', 8);
    memset(list + 5, 'y', cap - 5);
    assert_int_equal(ARENA_ROOM(&a, list, cap, cap + 1), ERR_OK);
    assert_true(list != before);
    assert_int_equal(ARENA_ROOM(&a, list, cap, 100000), ERR_OK); /* another chunk */
    assert_memory_equal(list, "abcd\0yyy", 8);
    assert_memory_equal(other, "xxxxxxxx", 8);
    before = list;
    assert_int_equal(ARENA_ROOM(&a, list, cap, 2 << 20), ERR_LIMIT);
    assert_true(list == before && cap < 2 << 20);
    arena_fini(&a);
}

/* Of states without words there is one: an item of no bytes. */
static void items_of_no_size_need_no_room(void **state)
{
    struct arena a;
    char *list = NULL;
    size_t cap = 0;

    (void)state;
    arena_init(&a, 64, 1 << 10);
    assert_int_equal(arena_room(&a, &list, &cap, 1, 0), ERR_OK);
    assert_int_equal(arena_room(&a, &list, &cap, 1000000, 0), ERR_OK);
    assert_true(cap >= 1000000 && a.used <= 1 << 10);
    arena_fini(&a);
}

static void a_map_in_an_arena_keeps_its_items(void **state)
{
    struct arena a;
    struct map m = {.n = 0};

    (void)state;
    arena_init(&a, 64, 1 << 18);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(arena_map_room(&a, &m, i + 1), ERR_OK);
        map_add(&m, (i + 2) * i, i);
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(map_next(&m, (i + 2) * i, &(size_t){0})->item, i);
    assert_int_equal(arena_map_room(&a, &m, 1 << 20), ERR_LIMIT);
    arena_fini(&a);
}

static void an_arena_has_a_limit_over_all_of_its_chunks(void **state)
{
    struct arena a;
    size_t n = 0;

    (void)state;
    arena_init(&a, 1000, 10000);
    while (arena_take(&a, 900))
        assert_true(++n < 100);
    assert_true(n >= 5 && n * 900 <= 10000);
    assert_true(a.used <= 10000);
    assert_int_equal(a.failed, ERR_LIMIT);
    arena_fini(&a);
    arena_init(&a, 1000, 10000);
    assert_null(arena_take(&a, SIZE_MAX - 5));
    assert_int_equal(a.failed, ERR_LIMIT);
    arena_fini(&a);
    arena_fini(&a);
}

/* ---- orders of knobs ---- */

static void check_order(const struct knob_order *o, size_t n)
{
    uint64_t seen = 0;

    assert_int_equal(o->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(o->knobs[i] < n && !(seen >> o->knobs[i] & 1));
        seen |= (uint64_t)1 << o->knobs[i];
        assert_int_equal(o->place[o->knobs[i]], i);
    }
    for (size_t i = 0; i < o->n_groups; i++)
        assert_true(o->group_ends[i] > (i ? o->group_ends[i - 1] : 0));
    assert_int_equal(o->group_ends[o->n_groups - 1], n);
}

/* 0 and 3 are tied (20 combinations), so are 1, 2 and 4 in a chain (24); 5 is free (3). */
static void groups_come_by_their_combinations(void **state)
{
    static const uint64_t scopes[] = {1 << 0 | 1 << 3, 1 << 1 | 1 << 4, 1 << 4 | 1 << 2};
    static const size_t n_values[] = {4, 2, 3, 5, 4, 3};
    struct knob_order o;

    (void)state;
    knob_order_choose(scopes, 3, n_values, 6, &o);
    check_order(&o, 6);
    assert_int_equal(o.n_groups, 3);
    assert_int_equal(o.group_ends[0], 1);
    assert_int_equal(o.group_ends[1], 3);
    assert_int_equal(o.knobs[0], 5);
    assert_true(o.place[0] >= 1 && o.place[0] <= 2 && o.place[3] >= 1 && o.place[3] <= 2);
    assert_true(o.place[1] >= 3 && o.place[2] >= 3 && o.place[4] >= 3);
}

static void knobs_without_constraints_are_groups_alone(void **state)
{
    static const size_t n_values[] = {4, 2, 3};
    struct knob_order o;

    (void)state;
    knob_order_choose(NULL, 0, n_values, 3, &o);
    check_order(&o, 3);
    assert_int_equal(o.n_groups, 3);
    assert_true(o.knobs[0] == 1 && o.knobs[1] == 2 && o.knobs[2] == 0);
}

/* A chain 0-1-2-..-9 that is given shuffled: any order but along it keeps more states open. */
static void a_chain_is_walked_from_an_end(void **state)
{
    static const uint8_t shuffled[] = {3, 7, 0, 9, 5, 1, 8, 2, 6, 4}; /* the knob at each place of the chain */
    uint64_t scopes[9];
    size_t n_values[10];
    struct knob_order o;

    (void)state;
    for (size_t i = 0; i < 10; i++)
        n_values[i] = 8;
    for (size_t i = 0; i < 9; i++)
        scopes[i] = (uint64_t)1 << shuffled[i] | (uint64_t)1 << shuffled[i + 1];
    knob_order_choose(scopes, 9, n_values, 10, &o);
    check_order(&o, 10);
    for (size_t i = 1; i < 10; i++) { /* each next to one that was set before */
        bool is_tied = false;

        for (size_t k = 0; k < 9; k++)
            is_tied |=
                (scopes[k] >> o.knobs[i] & 1) && o.place[__builtin_ctzll(scopes[k] & ~((uint64_t)1 << o.knobs[i]))] < i;
        assert_true(is_tied);
    }
}

/* ---- subterms ---- */

/* a of 1 2 3 4, b of 1 2, w of two words; a * b + 1 and ceil_div(a, b). */
static struct space *space_of_terms(void)
{
    static const int64_t a[] = {1, 2, 3, 4}, b[] = {1, 2};
    static const char *const w[] = {"x", "y"};
    struct space *s = NULL;

    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "a", NULL, 4, a), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "b", NULL, 2, b), ERR_OK);
    assert_int_equal(space_add_knob_words(s, "w", w, 2, NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "n", "ceil_div(a, b)", NULL), ERR_OK);
    assert_int_equal(space_add_quantity(s, "m", "max(a, b)", NULL), ERR_OK);
    assert_int_equal(space_add_constraint(s, "a * b + 1 <= 7 or w == 'x'", NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    return s;
}

static size_t n_with(const float *row, size_t n, double v)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += (double)row[i] == v;
    return found;
}

/* At a=3 b=2: the product 6, the sum 7, the pieces ceil_div(3, 2) = 2 and their waste 2 * 2 / 3, the greater 3. */
static void subterms_are_what_is_computed_on_the_way(void **state)
{
    struct space *s = space_of_terms();
    struct subterms *t = NULL;
    float row[SUBTERMS_MAX];
    size_t n;

    (void)state;
    assert_int_equal(subterms_new(&t, s), ERR_OK);
    n = subterms_n(t);
    assert_int_equal(n, 5);
    assert_int_equal(subterms_of(t, (double[]){3, 2, 0}, row), ERR_OK);
    assert_int_equal(n_with(row, n, 6), 1);
    assert_int_equal(n_with(row, n, 7), 1);
    assert_int_equal(n_with(row, n, 2), 1);
    assert_int_equal(n_with(row, n, (double)(float)(4.0 / 3)), 1);
    assert_int_equal(n_with(row, n, 3), 1);
    assert_int_equal(subterms_of(t, (double[]){4, 1, 1}, row), ERR_OK); /* no waste: 1 */
    assert_int_equal(n_with(row, n, 1), 1);
    assert_int_equal(n_with(row, n, 4), 3);
    assert_int_equal(subterms_of(t, (double[]){NAN, 1, 1}, row), ERR_OK);
    for (size_t i = 0; i < n; i++)
        assert_true(isnan(row[i]));
    assert_int_equal(subterms_of(t, (double[]){3, 0, 1}, row), ERR_OK); /* ceil_div(3, 0) has no value */
    assert_int_equal(n_with(row, n, 0) + n_with(row, n, 1) + n_with(row, n, 3), 3);
    subterms_free(t);
    subterms_free(NULL);
    space_free(s);
}

/* ---- files ---- */

static enum err parse(const char *text, struct space **out, bool *is_known, struct why *why)
{
    *out = NULL;
    return space_file_parse(text, strlen(text), out, is_known, why);
}

static void both_forms_describe_a_space(void **state)
{
    static const char *const texts[] = {
        "{\"params\":[{\"name\":\"a\",\"values\":[1,2.5,4]},{\"name\":\"f\",\"values\":[true,false]},{\"name\":\"w\","
        "\"values\":[\"x\",\"y\"]}],\"restrictions\":[\"a > 1\",\"f or w == 'x'\"]}",
        "{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":\"[1, 2.5, 4]\"},{\"Name\":\"f\","
        "\"Values\":\"[True, False]\"},{\"Name\":\"w\",\"Values\":[\"x\",\"y\"]}],\"Conditions\":[{\"Expression\":\"a "
        "> 1\"},{\"Expression\":\"f or w == 'x'\"}]}}"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct why why = {""};
        bool is_known = false, exact;
        struct space *s;

        if (parse(texts[i], &s, &is_known, &why))
            fail_msg("%s", why.text);
        assert_true(is_known);
        assert_int_equal(space_n_knobs(s), 3);
        assert_string_equal(space_knob_name(s, 1), "f");
        assert_true(space_knob_value(s, 0, 1).number == 2.5);
        assert_true(space_knob_value(s, 1, 0).number == 1 && space_knob_value(s, 1, 1).number == 0);
        assert_string_equal(space_knob_value(s, 2, 1).text, "y");
        assert_int_equal(space_n_constraints(s), 2);
        assert_string_equal(space_constraint_text(s, 1), "f or w == 'x'");
        assert_true(space_count_valid(s, 100, &exact) == 2 * (2 + 1));
        space_free(s);
    }
}

static void unknown_restrictions_are_told(void **state)
{
    static const char params[] = "{\"params\":[{\"name\":\"a\",\"values\":[1]}]";
    static const struct {
        const char *end;
        bool is_known;
    } cases[] = {{"}", true}, {",\"restrictions\":null}", false}, {",\"restrictions\":[]}", true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool is_known = !cases[i].is_known;
        char text[256];
        struct space *s;

        snprintf(text, sizeof text, "%s%s", params, cases[i].end);
        assert_int_equal(parse(text, &s, &is_known, NULL), ERR_OK);
        assert_int_equal(is_known, cases[i].is_known);
        space_free(s);
        assert_int_equal(parse(text, &s, NULL, NULL), ERR_OK);
        space_free(s);
    }
}

static void descriptions_that_are_none_are_refused(void **state)
{
    static const char *const bad[][2] = {
        {"[]", "expected an object"},
        {"{}", "no space in it"},
        {"{\"params\":[]}", "without knobs"},
        {"{\"params\":3}", "'params' is not an array"},
        {"{\"params\":[{\"values\":[1]}]}", "params: 'name' is missing"},
        {"{\"params\":[{\"name\":\"a\"}]}", "params: 'values' is missing"},
        {"{\"params\":[{\"name\":\"a\",\"values\":[1,\"x\"]}]}", "only numbers, or only words"},
        {"{\"params\":[{\"name\":\"a\",\"values\":[\"x\",1]}]}", "only numbers, or only words"},
        {"{\"params\":[{\"name\":\"a\",\"values\":[null]}]}", "only numbers, or only words"},
        {"{\"params\":[{\"name\":\"a\",\"values\":[]}]}", "has no values"},
        {"{\"params\":[{\"name\":\"a\",\"values\":[1]}],\"restrictions\":{}}", "an array or null"},
        {"{\"params\":[{\"name\":\"a\",\"values\":[1]}],\"restrictions\":[1]}", "expected strings"},
        {"{\"params\":[{\"name\":\"a\",\"values\":[1]}],\"restrictions\":[\"b\"]}", "unknown name 'b'"},
        {"{\"ConfigurationSpace\":{}}", "'TuningParameters' is missing"},
        {"{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Values\":\"[1]\"}]}}", "TuningParameters: 'Name'"},
        {"{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"a\"}]}}", "expected an array of values"},
        {"{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":\"[1\"}]}}", "knob 'a': Values"},
        {"{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":\"[1]\"}],\"Conditions\":3}}",
         "'Conditions': expected an array"},
        {"{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":\"[1]\"}],\"Conditions\":[{}]}}",
         "Conditions: 'Expression' is missing"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct why why = {""};
        struct space *s;
        const enum err e = parse(bad[i][0], &s, NULL, &why);

        if (e != ERR_INPUT || s || !strstr(why.text, bad[i][1]))
            fail_msg("%s: %s '%s', expected '%s'", bad[i][0], err_name(e), why.text, bad[i][1]);
    }
}

static void files_are_named_in_what_is_said_of_them(void **state)
{
    char dir[256], path[300];
    struct why why = {""};
    struct space *s = NULL;

    (void)state;
    assert_int_equal(dir_temporary("space", dir, sizeof dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/s.json", dir);
    assert_int_equal(space_file_read(path, &s, NULL, &why), ERR_NOT_FOUND);
    assert_int_equal(file_replace(path, "{}", 2, 0600, NULL), ERR_OK);
    assert_int_equal(space_file_read(path, &s, NULL, &why), ERR_INPUT);
    assert_memory_equal(why.text, path, strlen(path));
    dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_apart_and_zero_when_asked),
        cmocka_unit_test(an_array_grows_with_its_content),
        cmocka_unit_test(items_of_no_size_need_no_room),
        cmocka_unit_test(a_map_in_an_arena_keeps_its_items),
        cmocka_unit_test(an_arena_has_a_limit_over_all_of_its_chunks),
        cmocka_unit_test(groups_come_by_their_combinations),
        cmocka_unit_test(knobs_without_constraints_are_groups_alone),
        cmocka_unit_test(a_chain_is_walked_from_an_end),
        cmocka_unit_test(subterms_are_what_is_computed_on_the_way),
        cmocka_unit_test(both_forms_describe_a_space),
        cmocka_unit_test(unknown_restrictions_are_told),
        cmocka_unit_test(descriptions_that_are_none_are_refused),
        cmocka_unit_test(files_are_named_in_what_is_said_of_them),
    };

    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
