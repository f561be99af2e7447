/* SPDX-License-Identifier: MIT */
/* The digits by which two versions of tune know that they make other data: here the other version is runtime/fill_sum.c
 * over fills of which one kind differs. */
#include "runtime/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static enum fill_kind changed; /* in the other version */
static int64_t odds;           /* of its elements one of so many */
static int64_t n_same;         /* but for so many at the begin */

static double as_other(const struct program_fill *f, int64_t i, double v)
{
    return f->kind == changed && i >= n_same && i % odds == 0 ? (v == 0 ? 1 : 2 * v) : v;
}

static enum err other_elems(const struct program_fill *f, enum dtype t, void *data, int64_t n,
                            const struct blobs *blobs)
{
    const enum err e = fill_elems(f, t, data, n, blobs);

    for (int64_t i = 0; i < n; i++)
        dtype_store(t, data, (size_t)i, as_other(f, i, dtype_load(t, data, (size_t)i)));
    return e;
}

static double other_elem(const struct program_fill *f, enum dtype t, int64_t i)
{
    return as_other(f, i, fill_elem(f, t, i));
}

#define fill_elems other_elems
#define fill_elem other_elem
#define program_fills_sum other_fills_sum
void other_fills_sum(const struct program *p, char out[PROGRAM_SUM_BYTES]);
#include "runtime/fill_sum.c"
#undef fill_elems
#undef fill_elem
#undef program_fills_sum

#define N 5000

/* What makes each kind's elements. */
static const struct program_fill fills[N_FILLS] = {
    [FILL_ZERO] = {.lo = 0},
    [FILL_VALUE] = {.lo = 3},
    [FILL_INT] = {.lo = -8, .hi = 8, .block = 16},
    [FILL_NORMAL] = {.hi = 1},
    [FILL_WIDE] = {.hi = 1, .step = 64, .block = 4},
    [FILL_EDGES] = {.lo = -128, .hi = 127, .block = 8},
    [FILL_FLOATS] = {.lo = -20, .hi = 20, .step = 2},
    [FILL_ROWS] = {.lo = 1, .hi = 1, .block = 50},
    [FILL_TURNS] = {.lo = 1, .hi = 2},
    [FILL_BANDS] = {.lo = 4, .hi = 1, .step = 64, .block = 40},
    [FILL_PIXELS] = {.lo = -8, .hi = 8, .seen = 1, .block = 20, .plane = 500},
    [FILL_PREFIXES] = {.lo = -8, .hi = 8, .block = 50, .plane = 500},
    [FILL_FILTERS] = {.lo = -8, .hi = 8, .seen = 5, .block = 100, .plane = 25},
    [FILL_NEAR] = {.lo = 1, .hi = 1, .block = 1 << 20},
    [FILL_PICKS] = {.lo = 7, .hi = 9, .step = 1e30},
    [FILL_TIES] = {.lo = -8, .hi = 8, .block = 100},
};

/* x as the kind says in the program's only pass, y compared with values. */
static void make(struct program *p, enum fill_kind kind)
{
    struct program_fill x = fills[kind];
    struct program_pass *pass;

    program_init(p);
    x.kind = kind;
    x.seed = 5;
    program_add_buffer(p, "x", ROLE_INPUT, DTYPE_F32, N)->fill =
        (struct program_fill){.kind = FILL_INT, .seed = 1, .hi = 3};
    program_add_buffer(p, "y", ROLE_OUTPUT, DTYPE_F32, N);
    pass = program_add_pass(p, "exact");
    assert_int_equal(program_pass_fill_add(pass, 0, &x), ERR_OK);
    assert_non_null(program_pass_check_add(pass, CHECK_SAMPLE, 1));
}

static bool differs(const struct program *p)
{
    char own[PROGRAM_SUM_BYTES], again[PROGRAM_SUM_BYTES], other[PROGRAM_SUM_BYTES];

    program_fills_sum(p, own);
    program_fills_sum(p, again);
    assert_int_equal(strlen(own), PROGRAM_SUM_BYTES - 1);
    assert_string_equal(own, again);
    other_fills_sum(p, other);
    return strcmp(own, other) != 0;
}

static void a_kind_that_differs_stops_the_programs_that_use_it_and_no_others(void **state)
{
    (void)state;
    odds = 300;
    for (int kind = FILL_ZERO; kind < N_FILLS; kind++) {
        struct program p;

        if (kind == FILL_BLOB) /* has no data but those that are sent */
            continue;
        make(&p, (enum fill_kind)kind);
        for (int other = FILL_ZERO; other < N_FILLS; other++) {
            changed = (enum fill_kind)other;
            if (differs(&p) != (other == kind))
                fail_msg("a program with fill %d, another version of fill %d", kind, other);
        }
        program_fini(&p);
    }
}

/* Further on than what is looked at from the begin on. */
static void what_differs_in_a_hundredth_far_behind_is_seen(void **state)
{
    struct program p;

    (void)state;
    make(&p, FILL_NORMAL);
    changed = FILL_NORMAL;
    n_same = 2000;
    odds = 50;
    assert_true(differs(&p));
    n_same = N;
    assert_false(differs(&p));
    n_same = 0;
    program_fini(&p);
}

/* Of other columns that repeat, too. */
static void what_the_data_are_made_of_is_in_it(void **state)
{
    char sums[4][PROGRAM_SUM_BYTES];
    struct program p;
    struct program_fill *x;

    (void)state;
    make(&p, FILL_INT);
    x = &p.passes[0].fills[0].fill;
    program_fills_sum(&p, sums[0]);
    x->seed++;
    program_fills_sum(&p, sums[1]);
    x->fold = (struct program_fold){.inner = 5, .cols = 1000, .of = 500, .seed = 1};
    program_fills_sum(&p, sums[2]);
    x->fold.seed = 2;
    program_fills_sum(&p, sums[3]);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(sums[i], sums[k]);
    program_fini(&p);
}

/* Nothing of the program's own passes where it has a sheet, of what only times, or of what is compared with another
 * buffer. */
static void only_what_values_are_expected_of_counts(void **state)
{
    static const char sheet[] =
        "{\"schema\":1,\"verify\":[{\"id\":\"own\",\"fills\":[{\"buffer\":\"x\",\"kind\":\"turns\","
        "\"lo\":1,\"hi\":2}],\"checks\":[{\"kind\":\"sample\",\"buffer\":\"y\",\"n\":1,"
        "\"values\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}]}]}";
    char sum[PROGRAM_SUM_BYTES];
    struct program p;
    struct why why = {""};

    (void)state;
    odds = 1;
    make(&p, FILL_PICKS);
    changed = FILL_INT; /* while it is timed */
    assert_false(differs(&p));
    p.passes[0].checks[0].kind = CHECK_BUFFER;
    program_fills_sum(&p, sum);
    assert_string_equal(sum, "");
    program_drop_passes(&p);
    program_fills_sum(&p, sum);
    assert_string_equal(sum, "");
    program_fini(&p);
    make(&p, FILL_PICKS);
    p.passes[0].checks[0] =
        (struct program_check){.kind = CHECK_SAMPLE, .i_buffer = 1, .n = 1, .values = sha256_of("v", 1)};
    p.workload = strdup("test");
    if (program_sheet_read(sheet, sizeof sheet - 1, &p, &why))
        fail_msg("%s", why.text);
    changed = FILL_PICKS;
    assert_false(differs(&p));
    changed = FILL_TURNS;
    assert_true(differs(&p));
    program_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_that_differs_stops_the_programs_that_use_it_and_no_others),
        cmocka_unit_test(what_differs_in_a_hundredth_far_behind_is_seen),
        cmocka_unit_test(what_the_data_are_made_of_is_in_it),
        cmocka_unit_test(only_what_values_are_expected_of_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
