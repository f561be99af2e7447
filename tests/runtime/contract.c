/* SPDX-License-Identifier: MIT */
#include "tests/runtime/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct device_ops *ops;
static struct device *device;
static const char *cache;

void contract_use(const struct device_ops *used, struct device *opened, const char *folder)
{
    ops = used;
    device = opened;
    cache = folder;
}

enum err contract_check(struct sample *s, struct verify_report *report, struct why *why)
{
    struct load_report load = {0};
    struct loaded *l = NULL;
    enum err e;

    why->text[0] = '\0';
    e = ops->load(device, &s->program, &s->blobs, cache, &l, &load, why);
    if (!e)
        e = verify_program(ops, l, &s->program, &s->blobs, report, why);
    if (!e)
        e = ops->check_guards(l, why);
    if (l)
        ops->unload(l);
    if (e == ERR_COMPILE)
        assert_true(!load.log || strlen(load.log) <= 16 << 10);
    free(load.log);
    return e;
}

void contract_expect(struct sample *s, enum err wanted, const char *words)
{
    struct verify_report report;
    struct why why;
    const enum err e = contract_check(s, &report, &why);

    if (e != wanted || !strstr(why.text, words))
        fail_msg("%s '%s', expected %s with '%s'", err_name(e), why.text, err_words(wanted), words);
    sample_fini(s);
}

static void right_kernel_is_right(void **state)
{
    struct sample s;
    struct verify_report report;
    struct why why;

    (void)state;
    sample_add(&s, sample_add_text);
    if (contract_check(&s, &report, &why) != ERR_OK)
        fail_msg("%s", why.text);
    assert_int_equal(report.n_compared, SAMPLE_N + 1);
    assert_int_equal(report.n_wrong, 0);
    sample_fini(&s);
}

static void wrong_kernels_are_told_by_element(void **state)
{
    struct sample s;
    struct verify_report report;
    struct why why;

    (void)state;
    sample_add(&s, SAMPLE_ADD_HEAD "{ int i = I; if (i < n) y[i] = a[i] + b[i] + (i == 77 ? 4 : 0); }\n");
    assert_int_equal(contract_check(&s, &report, &why), ERR_WRONG);
    assert_int_equal(report.i_elem, 77);
    assert_true(report.got == report.wanted + 4);
    assert_int_equal(report.n_wrong, 2); /* the sum and the element */
    assert_non_null(strstr(why.text, "pass exact: y[77] is "));
    sample_fini(&s);
    sample_add(&s, SAMPLE_ADD_HEAD "{ int i = I; if (i < n - 1) y[i] = a[i] + b[i]; }\n");
    contract_expect(&s, ERR_WRONG, "y[999] is ");
}

static void text_that_does_not_compile_says_where(void **state)
{
    struct sample s;

    (void)state;
    sample_add(&s, "KERNEL add(GLOBAL const float *a) { nonsense }\n");
    contract_expect(&s, ERR_COMPILE, "error");
    sample_add(&s, "KERNEL other(GLOBAL float *a) { a[0] = 1; }\n");
    contract_expect(&s, ERR_COMPILE, "no kernel named add");
    sample_add(&s, "KERNEL add(GLOBAL float *a) { a[0] = 1; }\n");
    contract_expect(&s, ERR_COMPILE, "takes 1 arguments");
}

static void unguarded_tail_is_caught_behind_the_end(void **state)
{
    struct sample s;

    (void)state;
    sample_add(&s, SAMPLE_ADD_HEAD "{ int i = I; y[i] = a[i] + b[i]; }\n");
    contract_expect(&s, ERR_WRONG, "wrote behind the end of y");
}

static void writes_before_the_beginning_are_caught(void **state)
{
    struct sample s;

    (void)state;
    sample_add(&s, SAMPLE_ADD_HEAD "{ int i = I; if (i < n) y[i] = a[i] + b[i]; if (i == 5) y[-2048] = 0; }\n");
    contract_expect(&s, ERR_WRONG, "wrote before the beginning of y, 8192 bytes");
    sample_add(&s, SAMPLE_ADD_HEAD "{ int i = I; if (i < n) y[i] = a[i] + b[i]; if (i == 5) y[n + 25000] = 0; }\n");
    contract_expect(&s, ERR_WRONG, "wrote behind the end of y, 100000 bytes");
}

/* What is read there is NaN in one pass, and so large in the next that a maximum shows it. */
static void reads_out_of_bounds_show_in_the_outputs(void **state)
{
    static const char *const reads[] = {"+ 0 * a[n + 16000]", "+ 0 * b[-3000]", "+ FMAX(0.0f, a[n + 2])"};
    struct sample s;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char text[512];

        snprintf(text, sizeof text, SAMPLE_ADD_HEAD "{ int i = I; if (i < n) y[i] = a[i] + b[i] %s; }\n", reads[i]);
        sample_add(&s, text);
        sample_add_again(&s);
        contract_expect(&s, ERR_WRONG, i < 2 ? "pass exact: y[" : "pass again: y[");
    }
}

/* Nothing looks at element 500 but the search for what was left. */
static void elements_that_nobody_wrote_are_found_without_a_check(void **state)
{
    struct sample s;

    (void)state;
    sample_add(&s, SAMPLE_ADD_HEAD "{ int i = I; if (i < n && i != 500) y[i] = a[i] + b[i]; }\n");
    s.program.passes[0].n_checks = 0;
    contract_expect(&s, ERR_WRONG, "nan, expected a number");
    sample_add(&s, sample_add_text);
    s.program.passes[0].n_checks = 0;
    contract_expect(&s, ERR_OK, "");
}

/* A maximum with what stood there hides NaN, and not what the second pass begins with. */
static void results_that_depend_on_what_stood_there_are_wrong(void **state)
{
    static const char *const stores[] = {"y[i] = FMAX(y[i], v)", "if (!(y[i] > 1e30f)) y[i] = v"};
    struct sample s;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char text[512];

        snprintf(text, sizeof text, SAMPLE_ADD_HEAD "{ int i = I; if (i < n) { float v = a[i] + b[i]; %s; } }\n",
                 stores[i]);
        sample_add(&s, text);
        contract_expect(&s, ERR_WRONG, "pass exact: y["); /* over what the timed call left */
        sample_add(&s, text);
        sample_add_again(&s);
        contract_expect(&s, ERR_WRONG, "pass again: y[");
    }
}

static void sources_that_are_missing_are_named(void **state)
{
    struct sample s;

    (void)state;
    sample_add(&s, sample_add_text);
    program_define(&s.program.modules[0], "NOT_KEPT", 1);
    blobs_fini(&s.blobs);
    contract_expect(&s, ERR_NOT_FOUND, "source");
}

static void defines_reach_the_compiler(void **state)
{
    struct sample s;

    (void)state;
    sample_add(&s, SAMPLE_ADD_HEAD "{ TYPE i = I + OFFSET - 3; if (i < n) y[i] = a[i] + b[i]; }\n");
    program_define(&s.program.modules[0], "OFFSET", 3);
    program_define_text(&s.program.modules[0], "TYPE", "int");
    strcpy(s.program.std, "CL1.2");
    contract_expect(&s, ERR_OK, "");
}

/* y += 1 over a state that is reset: after any number of runs it is 5 + 1; a fill and a copy go before. */
static void state_is_reset_before_each_run(void **state)
{
    struct sample s = {.program = {0}};
    struct program_buffer *b;
    struct program_launch *l;
    struct loaded *loaded = NULL;
    struct why why = {""};
    float y[4], z[4];
    int64_t device_ns = -1, wall_ns = -1;

    (void)state;
    sample_init(&s, "KERNEL inc(GLOBAL float *y) { y[I] += 1; }\n");
    b = program_add_buffer(&s.program, "y", ROLE_STATE, DTYPE_F32, 4);
    b->fill = (struct program_fill){.kind = FILL_VALUE, .lo = 5};
    b->reset_each_run = true;
    program_add_buffer(&s.program, "z", ROLE_OUTPUT, DTYPE_F32, 4);
    program_arg_buffer(sample_launch(&s, "inc", 2, 2), 0);
    l = program_add_launch(&s.program, LAUNCH_FILL, PHASE_RUN);
    program_arg_buffer(l, 1);
    program_arg_real(l, 2.5);
    l = program_add_launch(&s.program, LAUNCH_COPY, PHASE_RUN);
    program_arg_buffer(l, 1);
    program_arg_buffer(l, 0);
    program_arg_int(l, ARG_I64, 8);
    if (ops->load(device, &s.program, &s.blobs, NULL, &loaded, NULL, &why) != ERR_OK)
        fail_msg("%s", why.text);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ops->run(loaded, PHASE_RUN, &device_ns, &wall_ns, &why), ERR_OK);
    assert_int_equal(ops->read(loaded, 0, y, &why), ERR_OK);
    assert_int_equal(ops->read(loaded, 1, z, &why), ERR_OK);
    assert_true(y[0] == 6 && y[3] == 6);
    assert_true(z[0] == 6 && z[1] == 6 && z[2] == 2.5f && z[3] == 2.5f);
    assert_true(device_ns > 0 && wall_ns >= device_ns / 2);
    ops->unload(loaded);
    sample_fini(&s);
}

/* What a state is reset from has no bands, and no fences then: it was a fault for states of more than 256 KiB. */
static void a_large_state_is_reset_where_buffers_have_fences(void **state)
{
    enum { N = 80000 };
    struct sample s = {.program = {0}};
    struct program_buffer *b;
    struct loaded *loaded = NULL;
    struct why why = {""};
    float *y = calloc(N, sizeof *y);

    (void)state;
    assert_non_null(y);
    sample_init(&s, "KERNEL inc(GLOBAL float *y) { y[I] += 1; }\n");
    b = program_add_buffer(&s.program, "y", ROLE_STATE, DTYPE_F32, N);
    b->fill = (struct program_fill){.kind = FILL_VALUE, .lo = 5};
    b->reset_each_run = true;
    program_arg_buffer(sample_launch(&s, "inc", N / 16, 16), 0);
    setenv("TUNE_FENCE", "1", 1);
    if (ops->load(device, &s.program, &s.blobs, NULL, &loaded, NULL, &why) != ERR_OK)
        fail_msg("%s", why.text);
    unsetenv("TUNE_FENCE");
    for (int i = 0; i < 2; i++)
        assert_int_equal(ops->run(loaded, PHASE_RUN, NULL, NULL, &why), ERR_OK);
    assert_int_equal(ops->read(loaded, 0, y, &why), ERR_OK);
    assert_true(y[0] == 6 && y[N / 2] == 6 && y[N - 1] == 6);
    ops->unload(loaded);
    sample_fini(&s);
    free(y);
}

static void reference_buffers_are_compared(void **state)
{
    for (int i_case = 0; i_case < 2; i_case++) {
        struct sample s;
        const int64_t grid[3] = {SAMPLE_N, 1, 1}, block[3] = {1, 1, 1};
        struct program_launch *l;
        struct program_check *c;

        (void)state;
        sample_add(&s, i_case ? SAMPLE_ADD_HEAD "{ int i = I; if (i < n) y[i] = a[i] + (y == b ? 0 : b[i]); }\n"
                              : sample_add_text);
        program_add_buffer(&s.program, "ref", ROLE_SCRATCH, DTYPE_F32, SAMPLE_N);
        l = program_add_kernel(&s.program, PHASE_REFERENCE, 0, "add", grid, block);
        program_arg_buffer(l, 0);
        program_arg_buffer(l, i_case ? 0 : 1); /* second case: a + a, so that the kernel disagrees */
        program_arg_buffer(l, 3);
        program_arg_int(l, ARG_I32, SAMPLE_N);
        c = program_pass_check_add(program_add_pass(&s.program, "random"), CHECK_BUFFER, 2);
        c->i_reference = 3;
        contract_expect(&s, i_case ? ERR_WRONG : ERR_OK, i_case ? "pass random: y[" : "");
    }
}

/* y = a + b * scale against y = a + b, all near 1000, as doubles: 1e-6 of a value is far over an absolute 1e-5. */
static void references_are_compared_relative_to_their_size(void **state)
{
    static const char text[] = "KERNEL add(GLOBAL double *y, double a, double by)\n"
                               "{ int i = I; y[i] = (a + i) * by; }\n";
    static const struct {
        enum check_relative relative;
        double by;
        enum err wanted;
    } cases[] = {{RELATIVE_NO, 1 + 1e-6, ERR_WRONG},   {RELATIVE_EACH, 1 + 1e-6, ERR_OK},
                 {RELATIVE_PEAK, 1 + 1e-6, ERR_OK},    {RELATIVE_EACH, 1 + 1e-4, ERR_WRONG},
                 {RELATIVE_PEAK, 1 + 1e-4, ERR_WRONG}, {RELATIVE_NO, 1, ERR_OK}};

    (void)state;
    if (strcmp(ops->name, "opencl") == 0 && !strstr(ops->describe(device)->extensions, "cl_khr_fp64"))
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sample s;
        const int64_t grid[3] = {SAMPLE_N, 1, 1}, block[3] = {1, 1, 1};
        struct program_check *c;

        sample_init(&s, text);
        for (int k = 0; k < 2; k++) {
            struct program_launch *l;

            program_add_buffer(&s.program, k ? "ref64" : "y64", k ? ROLE_SCRATCH : ROLE_OUTPUT, DTYPE_F64, SAMPLE_N);
            l = program_add_kernel(&s.program, k ? PHASE_REFERENCE : PHASE_RUN, 0, "add", grid, block);
            program_arg_buffer(l, k);
            program_arg_double(l, 1000.1);
            program_arg_double(l, k ? 1 : cases[i].by);
        }
        c = program_pass_check_add(program_add_pass(&s.program, "ref"), CHECK_BUFFER, 0);
        c->i_reference = 1;
        c->tolerance = 1e-5;
        c->relative = cases[i].relative;
        contract_expect(&s, cases[i].wanted, "");
    }
}

static void output_hash_changes_with_the_output(void **state)
{
    struct sample s;
    struct loaded *l = NULL;
    struct sha256 a, b;
    struct why why = {""};
    float zeros[SAMPLE_N] = {0};

    (void)state;
    sample_add(&s, sample_add_text);
    assert_int_equal(ops->load(device, &s.program, &s.blobs, cache, &l, NULL, &why), ERR_OK);
    assert_int_equal(ops->run(l, PHASE_RUN, NULL, NULL, &why), ERR_OK);
    assert_int_equal(verify_output_hash(ops, l, &s.program, &a, &why), ERR_OK);
    assert_int_equal(ops->run(l, PHASE_RUN, NULL, NULL, &why), ERR_OK);
    assert_int_equal(verify_output_hash(ops, l, &s.program, &b, &why), ERR_OK);
    assert_string_equal(a.hex, b.hex);
    assert_int_equal(ops->write(l, 2, zeros, &why), ERR_OK);
    assert_int_equal(verify_output_hash(ops, l, &s.program, &b, &why), ERR_OK);
    assert_string_not_equal(a.hex, b.hex);
    ops->unload(l);
    sample_fini(&s);
}

static void second_build_is_told_as_cached(void **state)
{
    static int round;
    struct sample s;
    struct load_report report;
    bool cached[2];

    (void)state;
    sample_add(&s, sample_add_text);
    program_define(&s.program.modules[0], "NOT_BUILT_BEFORE", ++round);
    for (int i = 0; i < 2; i++) {
        struct loaded *l = NULL;

        assert_int_equal(ops->load(device, &s.program, &s.blobs, cache, &l, &report, NULL), ERR_OK);
        cached[i] = report.build_cached;
        assert_true(report.build_ns > 0);
        free(report.log);
        ops->unload(l);
    }
    assert_false(cached[0]);
    assert_true(cached[1]);
    sample_fini(&s);
}

/* Queues wait for one another, launches repeat with bumped arguments: the same answer in every run. */
static void queues_and_loops_say_the_same_again_and_again(void **state)
{
    static void (*const samples[])(struct sample *) = {sample_queues, sample_loops};
    static const int i_buffer[] = {2, 0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        int64_t device_ns = -1, wall_ns = -1;
        struct loaded *l = NULL;
        struct why why = {""};
        int got[2] = {0, 1};
        struct sample s;

        samples[i](&s);
        contract_expect(&s, ERR_OK, "");
        samples[i](&s);
        if (ops->load(device, &s.program, &s.blobs, cache, &l, NULL, &why))
            fail_msg("%s", why.text);
        for (int run = 0; run < 9; run++) {
            assert_int_equal(ops->run(l, PHASE_RUN, &device_ns, &wall_ns, &why), ERR_OK);
            assert_int_equal(ops->read(l, i_buffer[i], &got[run > 0], &why), ERR_OK);
            assert_int_equal(got[0], run > 0 ? got[1] : got[0]);
            assert_true(device_ns > 0 && wall_ns > 0);
        }
        ops->unload(l);
        sample_fini(&s);
    }
}

/* A fill reaches all of its buffer, in every size of elements, and nothing behind it. */
static void fills_cover_their_buffer(void **state)
{
    static const enum dtype types[] = {DTYPE_I8, DTYPE_F16, DTYPE_F32, DTYPE_I32};

    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        struct sample s;
        struct program_launch *l;
        struct program_check *c;
        double values[7];

        sample_init(&s, "KERNEL nothing(GLOBAL float *y) { }\n");
        program_add_buffer(&s.program, "y", ROLE_OUTPUT, types[t], 7);
        l = program_add_launch(&s.program, LAUNCH_FILL, PHASE_RUN);
        program_arg_buffer(l, 0);
        program_arg_real(l, -3);
        c = program_pass_check_add(program_add_pass(&s.program, "exact"), CHECK_SAMPLE, 0);
        c->n = 7;
        for (int i = 0; i < 7; i++)
            values[i] = -3;
        blobs_put(&s.blobs, values, sizeof values, &c->values);
        contract_expect(&s, ERR_OK, "");
    }
}

int contract_run_buffers(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernel_is_right),
        cmocka_unit_test(unguarded_tail_is_caught_behind_the_end),
        cmocka_unit_test(state_is_reset_before_each_run),
        cmocka_unit_test(a_large_state_is_reset_where_buffers_have_fences),
        cmocka_unit_test(output_hash_changes_with_the_output),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int contract_run(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_kernels_are_told_by_element),
        cmocka_unit_test(text_that_does_not_compile_says_where),
        cmocka_unit_test(writes_before_the_beginning_are_caught),
        cmocka_unit_test(reads_out_of_bounds_show_in_the_outputs),
        cmocka_unit_test(elements_that_nobody_wrote_are_found_without_a_check),
        cmocka_unit_test(results_that_depend_on_what_stood_there_are_wrong),
        cmocka_unit_test(sources_that_are_missing_are_named),
        cmocka_unit_test(defines_reach_the_compiler),
        cmocka_unit_test(reference_buffers_are_compared),
        cmocka_unit_test(references_are_compared_relative_to_their_size),
        cmocka_unit_test(second_build_is_told_as_cached),
        cmocka_unit_test(queues_and_loops_say_the_same_again_and_again),
        cmocka_unit_test(fills_cover_their_buffer),
    };

    return contract_run_buffers(name) + cmocka_run_group_tests_name(name, tests, NULL, NULL);
}
