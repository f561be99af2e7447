/* SPDX-License-Identifier: MIT */
/* Maps by hash, against a search through all items; growing arrays. */
#include "core/map.h"
#include "core/mix.h"
#include "core/rng.h"
#include "core/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_KEYS 3000

static bool has(const struct map *m, const uint64_t *keys, uint64_t hash, uint64_t key)
{
    const struct map_slot *s;

    for (size_t at = 0; (s = map_next(m, hash, &at));)
        if (keys[s->item] == key)
            return true;
    return false;
}

/* Few different hashes, so that most searches pass items of another key and of another hash. */
static uint64_t poor_hash(uint64_t key)
{
    return key % 97;
}

static void a_map_finds_what_was_added_and_nothing_else(void **state)
{
    struct rng rng;
    struct map m = {.n = 0};
    uint64_t keys[N_KEYS];

    (void)state;
    rng_init(&rng, 1);
    for (size_t i = 0; i < N_KEYS; i++) {
        bool is_there = false;

        keys[i] = rng_below(&rng, 2 * N_KEYS);
        for (size_t k = 0; k < i; k++)
            is_there |= keys[k] == keys[i];
        assert_int_equal(has(&m, keys, poor_hash(keys[i]), keys[i]), is_there);
        assert_int_equal(map_room(&m, i + 1), ERR_OK);
        map_add(&m, poor_hash(keys[i]), i);
        assert_int_equal(m.n, i + 1);
        assert_true(has(&m, keys, poor_hash(keys[i]), keys[i]));
    }
    map_fini(&m);
    assert_null(map_next(&m, 1, &(size_t){0}));
}

/* The hashes 0, 1 and 16 stand side by side or in one another's place: 0 counts as 1, and 16 is 0 in 16 slots. */
static void items_of_one_hash_come_in_the_order_of_their_adding(void **state)
{
    const uint64_t hashes[] = {16, 1, 31, 15};
    struct map m = {.n = 0};

    (void)state;
    for (size_t i = 0; i < 400; i++) {
        assert_int_equal(map_room(&m, i + 1), ERR_OK);
        map_add(&m, hashes[i % 4], i);
    }
    for (size_t h = 0; h < 4; h++) {
        size_t at = 0;

        for (size_t i = h; i < 400; i += 4) {
            const struct map_slot *s = map_next(&m, hashes[h], &at);

            assert_non_null(s);
            assert_int_equal(s->item, i);
        }
        assert_null(map_next(&m, hashes[h], &at));
    }
    map_fini(&m);
}

static void an_item_can_take_the_place_of_another(void **state)
{
    struct map m = {.n = 0};
    size_t at = 0;

    (void)state;
    assert_int_equal(map_room(&m, 2), ERR_OK);
    map_add(&m, 7, 0);
    map_add(&m, 0, 1);
    map_next(&m, 7, &at)->item = 9;
    assert_int_equal(map_room(&m, 1000), ERR_OK);
    assert_int_equal(map_next(&m, 7, &(size_t){0})->item, 9);
    assert_int_equal(map_next(&m, 0, &(size_t){0})->item, 1);
    map_fini(&m);
}

static void a_map_moves_to_the_callers_memory(void **state)
{
    struct map m = {.n = 0};
    struct map_slot few[16] = {{0}}, many[64] = {{0}};

    (void)state;
    assert_in_range(map_slots_for(&m, 8), 9, 16);
    map_move(&m, few, 16);
    for (size_t i = 0; i < 8; i++)
        map_add(&m, mix_end(i), i);
    assert_true(map_has_room(&m, 8) && !map_has_room(&m, 9) && map_slots_for(&m, 9) > 16);
    map_move(&m, many, 64);
    memset(few, 0xff, sizeof few);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(map_next(&m, mix_end(i), &(size_t){0})->item, i);
    assert_int_equal(m.n, 8);
}

static void a_map_has_a_limit(void **state)
{
    struct map m = {.n = 0};

    (void)state;
    assert_int_equal(map_room(&m, MAP_MAX_ITEMS + 1), ERR_LIMIT);
    assert_null(m.slots);
}

static void hashes_of_texts_differ(void **state)
{
    const char *texts[] = {"", "a", "b", "ab", "ba", "aa", "dense f32 m=1", "dense f32 m=2"};

    (void)state;
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < 8; k++)
            assert_int_equal(mix_text(texts[i]) == mix_text(texts[k]), i == k);
}

static void an_array_grows_and_keeps_its_items(void **state)
{
    int64_t *items = NULL;
    size_t cap = 0, n_moves = 0;

    (void)state;
    for (size_t n = 0; n < 10000; n++) {
        const size_t before = cap;

        assert_int_equal(VEC_ROOM(items, cap, n + 1, VEC_ANY), ERR_OK);
        assert_true(cap > n);
        items[n] = (int64_t)n * 3;
        n_moves += cap != before;
    }
    assert_in_range(n_moves, 2, 20); /* doubled: log2(10000) < 14 */
    for (size_t n = 0; n < 10000; n++)
        assert_int_equal(items[n], n * 3);
    free(items);
}

static void an_array_never_passes_its_limit(void **state)
{
    int *items = NULL;
    size_t cap = 0;

    (void)state;
    for (size_t n = 1; n <= 7; n++)
        assert_int_equal(VEC_ROOM(items, cap, n, 7), ERR_OK);
    assert_int_equal(cap, 7);
    memset(items, 1, 7 * sizeof *items);
    assert_int_equal(VEC_ROOM(items, cap, 8, 7), ERR_LIMIT);
    assert_int_equal(cap, 7);
    assert_int_equal(items[6], 0x01010101);
    free(items);
}

static void sizes_that_overflow_are_refused(void **state)
{
    char *items = NULL;
    size_t cap = 0;

    (void)state;
    assert_int_equal(vec_room(&items, &cap, SIZE_MAX / 16 + 1, VEC_ANY, 16), ERR_NOMEM);
    assert_int_equal(vec_room(&items, &cap, SIZE_MAX, VEC_ANY, 1), ERR_NOMEM);
    assert_null(items);
    assert_int_equal(cap, 0);
}

static void items_of_no_size_have_room(void **state)
{
    char *items = NULL;
    size_t cap = 0;

    (void)state;
    assert_int_equal(vec_room(&items, &cap, 3, VEC_ANY, 0), ERR_OK);
    assert_true(items && cap >= 3);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_map_finds_what_was_added_and_nothing_else),
                                       cmocka_unit_test(items_of_one_hash_come_in_the_order_of_their_adding),
                                       cmocka_unit_test(an_item_can_take_the_place_of_another),
                                       cmocka_unit_test(a_map_moves_to_the_callers_memory),
                                       cmocka_unit_test(a_map_has_a_limit),
                                       cmocka_unit_test(hashes_of_texts_differ),
                                       cmocka_unit_test(an_array_grows_and_keeps_its_items),
                                       cmocka_unit_test(an_array_never_passes_its_limit),
                                       cmocka_unit_test(sizes_that_overflow_are_refused),
                                       cmocka_unit_test(items_of_no_size_have_room)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
