/* SPDX-License-Identifier: MIT */
/* Times that cannot be true. */
#include "agent/plausible.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct device_desc cpu = {.kind = DEVICE_CPU}, gpu = {.kind = DEVICE_GPU};

/* x[1000], y[1000] of one type. */
static void make(struct program *p, enum dtype t)
{
    program_init(p);
    program_add_buffer(p, "x", ROLE_INPUT, t, 1000);
    program_add_buffer(p, "y", ROLE_OUTPUT, t, 1000);
}

/* 1e6 operations at 100 GFLOPS are 10 us, 4000 bytes at 200 GB/s 20 ns. */
static void the_least_time_is_that_of_operations_or_of_stores(void **state)
{
    struct program p;

    (void)state;
    make(&p, DTYPE_F32);
    assert_true(fabs(plausible_ns(&p, &cpu, 1e6, 100) - 10000) < 1e-6);
    assert_true(fabs(plausible_ns(&p, &cpu, 0, 100) - 20) < 1e-9);
    assert_true(plausible_ns(&p, &cpu, 1e6, 0) == 0);
    program_fini(&p);
}

/* 8 units of 1 GFLOPS: their FMA is a library's. */
static void an_emulated_peak_says_nothing(void **state)
{
    const struct device_desc eight = {.kind = DEVICE_CPU, .units = 8};
    struct program p;

    (void)state;
    make(&p, DTYPE_F32);
    assert_true(plausible_ns(&p, &eight, 1e6, 8) == 0);
    assert_true(fabs(plausible_ns(&p, &eight, 1e6, 16) - 62500) < 1e-6);
    program_fini(&p);
}

static void narrow_types_are_faster(void **state)
{
    static const struct {
        enum dtype t;
        const struct device_desc *d;
        const char *extensions;
        double times;
    } cases[] = {{DTYPE_F16, &cpu, "", 2},         {DTYPE_I8, &cpu, "", 8},        {DTYPE_I8, &gpu, "dp4a", 4},
                 {DTYPE_F16, &gpu, "mma_f16", 16}, {DTYPE_I8, &gpu, "mma_i8", 32}, {DTYPE_F32, &gpu, "", 1},
                 {DTYPE_I8, &cpu, "tune_amx", 32}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program p;

        make(&p, cases[i].t);
        strcpy(p.extensions, cases[i].extensions);
        assert_true(fabs(plausible_ns(&p, cases[i].d, 1e6, 100) - 10000 / cases[i].times) < 1e-6);
        program_fini(&p);
    }
}

/* 211 ns for 10 us of work; a fifth more than the peak is believed. */
static void too_fast_a_time_is_wrong_with_words(void **state)
{
    struct program p;
    struct why why = {""};

    (void)state;
    make(&p, DTYPE_F32);
    assert_int_equal(plausible_check(&p, &cpu, 1e6, 100, 211, &why), ERR_WRONG);
    assert_non_null(strstr(why.text, "0.000211 ms is too fast to be true: at the measured peak of 100 GFLOPS"));
    assert_non_null(strstr(why.text, "takes 0.01 ms"));
    assert_int_equal(plausible_check(&p, &cpu, 1e6, 100, 8300, &why), ERR_WRONG);
    assert_int_equal(plausible_check(&p, &cpu, 1e6, 100, 8400, &why), ERR_OK);
    assert_int_equal(plausible_check(&p, &cpu, 1e6, 0, 1, &why), ERR_OK); /* no canary */
    program_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_time_is_that_of_operations_or_of_stores),
        cmocka_unit_test(an_emulated_peak_says_nothing),
        cmocka_unit_test(narrow_types_are_faster),
        cmocka_unit_test(too_fast_a_time_is_wrong_with_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
