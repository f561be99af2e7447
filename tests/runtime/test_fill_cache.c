/* SPDX-License-Identifier: MIT */
/* Kept contents of fills are those that would be made anew, and no more are kept than was allowed. */
#include "runtime/fill_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N 1000
#define BYTES (N * sizeof(float))

static const struct program_fill normal = {.kind = FILL_NORMAL, .seed = 21, .lo = 0, .hi = 1};

static void assert_is(const struct program_fill *f, const struct fill_use *u)
{
    float wanted[N];

    assert_int_equal(fill_elems(f, DTYPE_F32, wanted, N, NULL), ERR_OK);
    assert_memory_equal(u->data, wanted, BYTES);
}

static void use(const struct program_fill *f)
{
    struct fill_use u;

    assert_int_equal(fill_lend(f, DTYPE_F32, N, NULL, &u), ERR_OK);
    assert_is(f, &u);
    fill_done(&u);
}

static void nothing_is_kept_without_a_limit(void **state)
{
    (void)state;
    fill_cache_limit(0);
    use(&normal);
    assert_int_equal(fill_cache_bytes(), 0);
}

static void equal_fills_are_made_once(void **state)
{
    const struct program_fill other = {.kind = FILL_NORMAL, .seed = 22, .lo = 0, .hi = 1};
    int64_t before;

    (void)state;
    fill_cache_limit(10 * BYTES);
    before = fill_cache_made();
    for (int i = 0; i < 3; i++) {
        use(&normal);
        use(&other);
    }
    assert_int_equal(fill_cache_made() - before, 2);
    assert_int_equal(fill_cache_bytes(), 2 * BYTES);
}

static void the_limit_holds_and_the_last_used_stay(void **state)
{
    struct program_fill f = normal;
    int64_t before;

    (void)state;
    fill_cache_limit(0);
    fill_cache_limit(2 * BYTES);
    for (f.seed = 1; f.seed <= 5; f.seed++) {
        use(&f);
        use(&normal);
        assert_true(fill_cache_bytes() <= 2 * BYTES);
    }
    before = fill_cache_made();
    use(&normal);
    assert_int_equal(fill_cache_made(), before);
    fill_cache_limit(BYTES / 2); /* too small for any: made each time */
    assert_int_equal(fill_cache_bytes(), 0);
    use(&normal);
    assert_int_equal(fill_cache_bytes(), 0);
}

static void more_fills_than_places_are_all_right(void **state)
{
    struct program_fill f = normal;

    (void)state;
    fill_cache_limit(1000 * BYTES);
    for (f.seed = 1; f.seed <= 100; f.seed++)
        use(&f);
    assert_true(fill_cache_bytes() <= 100 * BYTES);
}

/* What differs in anything that decides the content is another entry. */
static void fills_that_differ_are_not_taken_for_one_another(void **state)
{
    const struct program_fill fills[] = {{.kind = FILL_INT, .seed = 1, .lo = -4, .hi = 4},
                                         {.kind = FILL_INT, .seed = 2, .lo = -4, .hi = 4},
                                         {.kind = FILL_INT, .seed = 1, .lo = -5, .hi = 4},
                                         {.kind = FILL_INT, .seed = 1, .lo = -4, .hi = 5},
                                         {.kind = FILL_INT, .seed = 1, .lo = -4, .hi = 4, .step = 2},
                                         {.kind = FILL_NORMAL, .seed = 1, .lo = -4, .hi = 4},
                                         {.kind = FILL_EDGES, .seed = 1, .lo = -4, .hi = 4, .block = 5},
                                         {.kind = FILL_EDGES, .seed = 1, .lo = -4, .hi = 4, .block = 7},
                                         {.kind = FILL_WIDE, .seed = 1, .lo = -4, .hi = 4, .step = 64, .block = 5},
                                         {.kind = FILL_WIDE, .seed = 1, .lo = -4, .hi = 4, .step = 64, .block = 7},
                                         {.kind = FILL_INT, .seed = 1, .lo = -4, .hi = 4, .fold = {1, 20, 10, 1}},
                                         {.kind = FILL_INT, .seed = 1, .lo = -4, .hi = 4, .fold = {2, 20, 10, 1}},
                                         {.kind = FILL_INT, .seed = 1, .lo = -4, .hi = 4, .fold = {1, 40, 10, 1}},
                                         {.kind = FILL_INT, .seed = 1, .lo = -4, .hi = 4, .fold = {1, 20, 5, 1}},
                                         {.kind = FILL_INT, .seed = 1, .lo = -4, .hi = 4, .fold = {1, 20, 10, 2}}};
    const size_t n_fills = sizeof fills / sizeof fills[0];
    struct fill_use u;
    uint16_t halves[N];

    (void)state;
    fill_cache_limit(0);
    fill_cache_limit(1000 * BYTES);
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < n_fills; i++)
            use(&fills[i]);
    assert_int_equal(fill_lend(&fills[0], DTYPE_F16, N, NULL, &u), ERR_OK);
    assert_int_equal(fill_elems(&fills[0], DTYPE_F16, halves, N, NULL), ERR_OK);
    assert_memory_equal(u.data, halves, sizeof halves);
    fill_done(&u);
    assert_int_equal(fill_lend(&fills[0], DTYPE_F32, N / 2, NULL, &u), ERR_OK);
    fill_done(&u);
    use(&fills[0]);
    assert_int_equal(fill_cache_bytes(), n_fills * BYTES + BYTES / 2 + BYTES / 2);
}

/* A buffer of each type, of as many elements: those of one width have other bytes, too. */
static void fills_of_every_type_are_kept_apart(void **state)
{
    const struct program_fill f = {.kind = FILL_INT, .seed = 3, .lo = 1, .hi = 100};

    (void)state;
    fill_cache_limit(0);
    fill_cache_limit(1000 * BYTES);
    for (int turn = 0; turn < 2; turn++)
        for (int t = 0; t < N_DTYPES; t++) {
            unsigned char wanted[N * 8];
            struct fill_use u;

            assert_in_range(dtype_bytes((enum dtype)t), 1, 8);
            assert_int_equal(fill_elems(&f, (enum dtype)t, wanted, N, NULL), ERR_OK);
            assert_int_equal(fill_lend(&f, (enum dtype)t, N, NULL, &u), ERR_OK);
            if (memcmp(u.data, wanted, N * dtype_bytes((enum dtype)t)) != 0)
                fail_msg("%s got the fill of another type", dtype_name((enum dtype)t));
            fill_done(&u);
        }
    fill_cache_limit(0);
}

/* 32 places: the one that was not used for the longest time goes first. */
static void places_are_given_up_in_the_order_of_use(void **state)
{
    struct program_fill f = normal;
    int64_t before;

    (void)state;
    fill_cache_limit(0);
    fill_cache_limit(1000 * BYTES);
    for (f.seed = 1; f.seed <= 32; f.seed++)
        use(&f);
    assert_int_equal(fill_cache_bytes(), 32 * BYTES);
    f.seed = 1; /* now the second is the oldest */
    use(&f);
    f.seed = 33;
    use(&f);
    assert_int_equal(fill_cache_bytes(), 32 * BYTES);
    before = fill_cache_made();
    f.seed = 1;
    use(&f);
    f.seed = 3;
    use(&f);
    assert_int_equal(fill_cache_made(), before);
    f.seed = 2;
    use(&f);
    assert_int_equal(fill_cache_made(), before + 1);
    fill_cache_limit(BYTES); /* as many as fit stay: the last */
    assert_int_equal(fill_cache_bytes(), BYTES);
    before = fill_cache_made();
    use(&f);
    assert_int_equal(fill_cache_made(), before);
}

static void a_blob_is_lent_as_it_is(void **state)
{
    struct program_fill f = {.kind = FILL_BLOB};
    const float data[2] = {1, 2};
    struct fill_use u;
    struct blobs blobs;

    (void)state;
    blobs_init(&blobs, 1000);
    assert_int_equal(blobs_put(&blobs, data, sizeof data, &f.blob), ERR_OK);
    assert_int_equal(fill_lend(&f, DTYPE_F32, 2, &blobs, &u), ERR_OK);
    assert_ptr_equal(u.data, blobs_get(&blobs, f.blob.hex)->data);
    fill_done(&u);
    assert_int_equal(fill_lend(&f, DTYPE_F32, 3, &blobs, &u), ERR_INPUT);
    assert_int_equal(fill_lend(&f, DTYPE_F32, 2, NULL, &u), ERR_NOT_FOUND);
    blobs_fini(&blobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_kept_without_a_limit),
        cmocka_unit_test(equal_fills_are_made_once),
        cmocka_unit_test(the_limit_holds_and_the_last_used_stay),
        cmocka_unit_test(more_fills_than_places_are_all_right),
        cmocka_unit_test(fills_that_differ_are_not_taken_for_one_another),
        cmocka_unit_test(fills_of_every_type_are_kept_apart),
        cmocka_unit_test(places_are_given_up_in_the_order_of_use),
        cmocka_unit_test(a_blob_is_lent_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
