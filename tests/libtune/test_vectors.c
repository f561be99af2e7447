/* SPDX-License-Identifier: MIT */
/* The bundle's own fills agree with those that programs are verified with. */
#include "runtime/program.h"
#include "NAME_vectors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void fills_agree(enum fill_kind kind, enum NAME_vector_kind vector_kind, double lo, double hi)
{
    enum { N = 1000 };
    float expected[N], made[N];
    struct program_fill fill = {.kind = kind, .seed = 77, .lo = lo, .hi = hi};
    struct NAME_vector_fill vector_fill = {"x", vector_kind, 77, lo, hi, 0};
    struct NAME_vector v = {.workload = "w", .pass = "p", .fills = &vector_fill, .n_fills = 1};
    struct NAME_tensor t = {"x", "f32", "", CAPS_INPUT, 2, {10, 100}, sizeof made};
    assert_int_equal(fill_elems(&fill, DTYPE_F32, expected, N, NULL), ERR_OK);
    assert_int_equal(NAME_vectors_fill(&v, &t, made), CAPS_OK);
    assert_memory_equal(made, expected, sizeof made);
}

static void vectors_fill_as_programs_do(void **state)
{
    (void)state;
    fills_agree(FILL_INT, CAPS_VECTOR_INT, -7, 7);
    fills_agree(FILL_INT, CAPS_VECTOR_INT, 0, 1000000);
    fills_agree(FILL_NORMAL, CAPS_VECTOR_NORMAL, 0, 1);
    fills_agree(FILL_NORMAL, CAPS_VECTOR_NORMAL, 0.3, 0.0625);
    fills_agree(FILL_VALUE, CAPS_VECTOR_VALUE, 2.5, 0);
}

/* Of f16, whose conversion the bundle brings itself; with a step, and with values among the subnormals. */
static void vectors_fill_halves_as_programs_do(void **state)
{
    static const struct program_fill fills[] = {{.kind = FILL_INT, .seed = 5, .lo = -3, .hi = 3, .step = 4},
                                                {.kind = FILL_NORMAL, .seed = 6, .lo = 0, .hi = 1},
                                                {.kind = FILL_NORMAL, .seed = 7, .lo = 0, .hi = 1e-5},
                                                {.kind = FILL_NORMAL, .seed = 8, .lo = 0, .hi = 40000}};
    enum { N = 4000 };
    uint16_t expected[N], made[N];
    (void)state;
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        const struct program_fill *f = &fills[i];
        struct NAME_vector_fill vector_fill = {
            "x", f->kind == FILL_INT ? CAPS_VECTOR_INT : CAPS_VECTOR_NORMAL, f->seed, f->lo, f->hi, f->step};
        struct NAME_vector v = {.workload = "w", .pass = "p", .fills = &vector_fill, .n_fills = 1};
        struct NAME_tensor t = {"x", "f16", "", CAPS_INPUT, 1, {N}, sizeof made};
        assert_int_equal(fill_elems(f, DTYPE_F16, expected, N, NULL), ERR_OK);
        assert_int_equal(NAME_vectors_fill(&v, &t, made), CAPS_OK);
        assert_memory_equal(made, expected, sizeof made);
    }
}

static void vectors_refuse_unknown_tensors(void **state)
{
    float data[4];
    struct NAME_vector_fill fill = {"x", CAPS_VECTOR_INT, 1, 0, 1, 0};
    struct NAME_vector v = {.fills = &fill, .n_fills = 1};
    struct NAME_tensor t = {"z", "f32", "", CAPS_INPUT, 1, {4}, sizeof data};
    (void)state;
    assert_int_equal(NAME_vectors_fill(&v, &t, data), CAPS_BAD_ARGUMENT);
}

static void vectors_name_the_worst_element(void **state)
{
    static const uint64_t indices[] = {0, 2, 3};
    static const double values[] = {1, 2, 3}, scale[] = {1, 10, 1};
    const float data[] = {1, 99, 2.5f, 3};
    struct NAME_vector v = {.tolerance = 0.01, .n = 3, .indices = indices, .values = values, .scale = scale};
    struct NAME_tensor t = {"y", "f32", "", CAPS_OUTPUT, 1, {4}, sizeof data};
    struct NAME_vector_result result;
    (void)state;
    assert_false(NAME_vectors_check(&v, &t, data, &result));
    assert_int_equal(result.n_wrong, 1);
    assert_int_equal(result.i_worst, 2);
    assert_true(fabs(result.worst - 0.05) < 1e-9);
    v.tolerance = 0.06;
    assert_true(NAME_vectors_check(&v, &t, data, &result));
}

static void vectors_call_nan_wrong(void **state)
{
    static const uint64_t indices[] = {0};
    static const double values[] = {1};
    const float data[] = {NAN};
    struct NAME_vector v = {.tolerance = 1e9, .n = 1, .indices = indices, .values = values};
    struct NAME_tensor t = {"y", "f32", "", CAPS_OUTPUT, 1, {1}, sizeof data};
    struct NAME_vector_result result;
    (void)state;
    assert_false(NAME_vectors_check(&v, &t, data, &result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_fill_as_programs_do),    cmocka_unit_test(vectors_fill_halves_as_programs_do),
        cmocka_unit_test(vectors_refuse_unknown_tensors), cmocka_unit_test(vectors_name_the_worst_element),
        cmocka_unit_test(vectors_call_nan_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
