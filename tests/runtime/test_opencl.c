/* SPDX-License-Identifier: MIT */
/* Small programs on the first OpenCL device: right ones and each way of being wrong. */
#include "core/file.h"
#include "runtime/opencl.h"
#include "runtime/verify.h"

#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N 1000 /* no multiple of the work-group */
#define GROUP 64

static const struct device_ops *ops;
static struct device *device;
static char cache[PATH_MAX];

static const char add_text[] =
    "__kernel void add(__global const float *a, __global const float *b, __global float *y, int n)\n"
    "{ int i = get_global_id(0); if (i < n) y[i] = a[i] + b[i]; }\n";

struct sample {
    struct program program;
    struct blobs blobs;
};

static struct program_module *add_text_module(struct sample *s, const char *text)
{
    struct program_module *m = program_add_module(&s->program, "main", LANG_OPENCL_C, "-cl-opt-disable");

    assert_int_equal(blobs_put(&s->blobs, text, strlen(text), &m->source), ERR_OK);
    return m;
}

static struct program_launch *add_run(struct sample *s, const char *kernel, int64_t groups, int64_t items)
{
    const int64_t grid[3] = {groups, 1, 1}, block[3] = {items, 1, 1};

    return program_add_kernel(&s->program, PHASE_RUN, 0, kernel, grid, block);
}

/* y = a + b over whole numbers, every element compared. */
static void vector_add(struct sample *s, const char *text)
{
    const struct program_fill a = {.kind = FILL_INT, .seed = 1, .lo = -50, .hi = 50},
                              b = {.kind = FILL_INT, .seed = 2, .lo = -50, .hi = 50};
    double values[N], sum = 0;
    struct program_launch *l;
    struct program_pass *pass;
    struct program_check *c;

    program_init(&s->program);
    blobs_init(&s->blobs, 1 << 20);
    s->program.workload = strdup("vector add");
    add_text_module(s, text);
    program_add_buffer(&s->program, "a", ROLE_INPUT, DTYPE_F32, N)->fill = a;
    program_add_buffer(&s->program, "b", ROLE_INPUT, DTYPE_F32, N)->fill = b;
    program_add_buffer(&s->program, "y", ROLE_OUTPUT, DTYPE_F32, N);
    l = add_run(s, "add", (N + GROUP - 1) / GROUP, GROUP);
    for (int i = 0; i < 3; i++)
        program_arg_buffer(l, i);
    program_arg_int(l, ARG_I32, N);
    for (int i = 0; i < N; i++) {
        values[i] = fill_elem(&a, DTYPE_F32, i) + fill_elem(&b, DTYPE_F32, i);
        sum += values[i] * program_project_weight(3, i);
    }
    pass = program_add_pass(&s->program, "exact");
    c = program_pass_check_add(pass, CHECK_PROJECT, 2);
    c->outer = c->inner = 1;
    c->axis = N;
    c->seed = 3;
    blobs_put(&s->blobs, &sum, sizeof sum, &c->values);
    c = program_pass_check_add(pass, CHECK_SAMPLE, 2);
    c->n = N;
    blobs_put(&s->blobs, values, sizeof values, &c->values);
}

/* The same pass once more. */
static void vector_add_again(struct sample *s)
{
    struct program_pass *pass = program_add_pass(&s->program, "again");
    const struct program_pass *first = &s->program.passes[0];

    pass->n_checks = first->n_checks;
    memcpy(pass->checks, first->checks, sizeof pass->checks);
}

static void sample_fini(struct sample *s)
{
    program_fini(&s->program);
    blobs_fini(&s->blobs);
}

/* Loads, verifies and unloads. */
static enum err check(struct sample *s, struct verify_report *report, struct why *why)
{
    struct load_report load = {0};
    struct loaded *l = NULL;
    enum err e;

    why->text[0] = '\0';
    e = ops->load(device, &s->program, &s->blobs, cache, &l, &load, why);
    if (!e)
        e = verify_program(ops, l, &s->program, &s->blobs, report, why);
    if (l)
        ops->unload(l);
    if (e == ERR_COMPILE)
        assert_true(!load.log || strlen(load.log) <= 16 << 10);
    free(load.log);
    return e;
}

static void expect(struct sample *s, enum err wanted, const char *words)
{
    struct verify_report report;
    struct why why;
    const enum err e = check(s, &report, &why);

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
    vector_add(&s, add_text);
    if (check(&s, &report, &why) != ERR_OK)
        fail_msg("%s", why.text);
    assert_int_equal(report.n_compared, N + 1);
    assert_int_equal(report.n_wrong, 0);
    sample_fini(&s);
}

static void wrong_kernels_are_told_by_element(void **state)
{
    struct sample s;
    struct verify_report report;
    struct why why;

    (void)state;
    vector_add(&s, "__kernel void add(__global const float *a, __global const float *b, __global float *y, int n)\n"
                   "{ int i = get_global_id(0); if (i < n) y[i] = a[i] + b[i] + (i == 77 ? 4 : 0); }\n");
    assert_int_equal(check(&s, &report, &why), ERR_WRONG);
    assert_int_equal(report.i_elem, 77);
    assert_true(report.got == report.wanted + 4);
    assert_int_equal(report.n_wrong, 2); /* the sum and the element */
    assert_non_null(strstr(why.text, "pass exact: y[77] is "));
    sample_fini(&s);
    vector_add(&s, "__kernel void add(__global const float *a, __global const float *b, __global float *y, int n)\n"
                   "{ int i = get_global_id(0); if (i < n - 1) y[i] = a[i] + b[i]; }\n");
    expect(&s, ERR_WRONG, "y[999] is ");
}

static void text_that_does_not_compile_says_where(void **state)
{
    struct sample s;

    (void)state;
    vector_add(&s, "__kernel void add(__global const float *a) { nonsense }\n");
    expect(&s, ERR_COMPILE, "error");
    vector_add(&s, "__kernel void other(__global float *a) { a[0] = 1; }\n");
    expect(&s, ERR_COMPILE, "no kernel named add");
    vector_add(&s, "__kernel void add(__global float *a) { a[0] = 1; }\n");
    expect(&s, ERR_COMPILE, "takes 1 arguments");
}

static void needs_over_the_device_are_limits(void **state)
{
    struct sample s;

    (void)state;
    vector_add(&s, add_text);
    s.program.launches[0].block[0] = 1000000;
    expect(&s, ERR_LIMITS, "at most");
    vector_add(&s, add_text);
    s.program.needs_local_bytes = (int64_t)1 << 40;
    expect(&s, ERR_LIMITS, "local memory");
    vector_add(&s, add_text);
    s.program.needs_work_group = 1 << 24;
    expect(&s, ERR_LIMITS, "work-groups");
    vector_add(&s, add_text);
    strcpy(s.program.extensions, "cl_none_such");
    expect(&s, ERR_LIMITS, "cl_none_such");
    vector_add(&s, add_text);
    strcpy(s.program.extensions, "tune_none_such"); /* an instruction for products of int8: kernels/gemm/dot.clh */
    expect(&s, ERR_LIMITS, "tune_none_such");
    vector_add(&s, add_text);
    strcpy(s.program.api, "cuda");
    expect(&s, ERR_LIMITS, "cuda");
    vector_add(&s, "__kernel __attribute__((reqd_work_group_size(32, 1, 1)))\n"
                   "void add(__global const float *a, __global const float *b, __global float *y, int n) {}\n");
    expect(&s, ERR_LIMITS, "requires work-groups of 32");
}

static void unguarded_tail_is_caught_behind_the_end(void **state)
{
    struct sample s;

    (void)state;
    vector_add(&s, "__kernel void add(__global const float *a, __global const float *b, __global float *y, int n)\n"
                   "{ int i = get_global_id(0); y[i] = a[i] + b[i]; }\n");
    expect(&s, ERR_WRONG, "wrote behind the end of y");
}

#define ADD_HEAD "__kernel void add(__global const float *a, __global const float *b, __global float *y, int n)\n"

static void writes_before_the_beginning_are_caught(void **state)
{
    struct sample s;

    (void)state;
    vector_add(&s, ADD_HEAD "{ int i = get_global_id(0); if (i < n) y[i] = a[i] + b[i]; if (i == 5) y[-2048] = 0; }\n");
    expect(&s, ERR_WRONG, "wrote before the beginning of y, 8192 bytes");
    vector_add(&s,
               ADD_HEAD "{ int i = get_global_id(0); if (i < n) y[i] = a[i] + b[i]; if (i == 5) y[n + 25000] = 0; }\n");
    expect(&s, ERR_WRONG, "wrote behind the end of y, 100000 bytes");
}

/* What is read there is NaN in one pass, and so large in the next that a maximum shows it. */
static void reads_out_of_bounds_show_in_the_outputs(void **state)
{
    static const char *const reads[] = {"+ 0 * a[n + 16000]", "+ 0 * b[-3000]", "+ fmax(0.0f, a[n + 2])"};
    struct sample s;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char text[512];

        snprintf(text, sizeof text, ADD_HEAD "{ int i = get_global_id(0); if (i < n) y[i] = a[i] + b[i] %s; }\n",
                 reads[i]);
        vector_add(&s, text);
        vector_add_again(&s);
        expect(&s, ERR_WRONG, i < 2 ? "pass exact: y[" : "pass again: y[");
    }
}

/* Where a busy machine wakes one of the device's threads too late, that one is not poisoned. */
static void local_memory_that_nobody_wrote_shows_in_the_outputs(void **state)
{
    struct why why = {""};
    enum err e = ERR_OK;

    (void)state;
    for (int i = 0; i < 5 && !e; i++) {
        struct sample s;

        vector_add(&s, ADD_HEAD "{ __local float t[65]; int i = get_global_id(0), l = get_local_id(0);"
                                " t[l] = a[i < n ? i : 0]; barrier(CLK_LOCAL_MEM_FENCE);"
                                " if (i < n) y[i] = t[l] + b[i] + t[64]; }\n");
        e = check(&s, NULL, &why);
        sample_fini(&s);
    }
    assert_int_equal(e, ERR_WRONG);
    assert_non_null(strstr(why.text, "nan, expected a number"));
}

/* Nothing looks at element 500 but the search for what was left. */
static void elements_that_nobody_wrote_are_found_without_a_check(void **state)
{
    struct sample s;

    (void)state;
    vector_add(&s, ADD_HEAD "{ int i = get_global_id(0); if (i < n && i != 500) y[i] = a[i] + b[i]; }\n");
    s.program.passes[0].n_checks = 0;
    expect(&s, ERR_WRONG, "nan, expected a number");
    vector_add(&s, add_text);
    s.program.passes[0].n_checks = 0;
    expect(&s, ERR_OK, "");
}

/* A maximum with what stood there hides NaN, and not what the second pass begins with. */
static void results_that_depend_on_what_stood_there_are_wrong(void **state)
{
    static const char *const stores[] = {"y[i] = fmax(y[i], v)", "if (!(y[i] > 1e30f)) y[i] = v"};
    struct sample s;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char text[512];

        snprintf(text, sizeof text,
                 ADD_HEAD "{ int i = get_global_id(0); if (i < n) { float v = a[i] + b[i]; %s; } }\n", stores[i]);
        vector_add(&s, text);
        expect(&s, ERR_OK, "");
        vector_add(&s, text);
        vector_add_again(&s);
        expect(&s, ERR_WRONG, "pass again: y[");
    }
}

static void sources_that_are_missing_are_named(void **state)
{
    struct sample s;

    (void)state;
    vector_add(&s, add_text);
    blobs_fini(&s.blobs);
    expect(&s, ERR_NOT_FOUND, "source");
}

static void defines_reach_the_compiler(void **state)
{
    struct sample s;

    (void)state;
    vector_add(&s, "__kernel void add(__global const float *a, __global const float *b, __global float *y, int n)\n"
                   "{ TYPE i = get_global_id(0) + OFFSET - 3; if (i < n) y[i] = a[i] + b[i]; }\n");
    program_define(&s.program.modules[0], "OFFSET", 3);
    program_define_text(&s.program.modules[0], "TYPE", "int");
    strcpy(s.program.std, "CL1.2");
    expect(&s, ERR_OK, "");
}

static const char steps_text[] =
    "__kernel void put(__global int *x, int v) { for (int i = 0; i < 20000; i++) x[0] = v + i / 20000; x[0] = v; }\n"
    "__kernel void twice(__global int *y, __global const int *x) { y[0] = 2 * x[0]; }\n"
    "__kernel void sum(__global int *z, __global const int *x, __global const int *y, __local int *t)\n"
    "{ t[0] = x[0]; z[0] = t[0] + y[0]; }\n";

/* Queue 0 puts x, queue 1 doubles it into y, queue 2 sums both: x + 2x. */
static void queues_wait_for_one_another(void **state)
{
    struct sample s = {.program = {0}};
    struct program_launch *l;
    struct program_check *c;
    const double wanted = 21;

    (void)state;
    program_init(&s.program);
    blobs_init(&s.blobs, 1 << 20);
    add_text_module(&s, steps_text);
    program_add_buffer(&s.program, "x", ROLE_SCRATCH, DTYPE_I32, 1);
    program_add_buffer(&s.program, "y", ROLE_SCRATCH, DTYPE_I32, 1);
    program_add_buffer(&s.program, "z", ROLE_OUTPUT, DTYPE_I32, 1);
    l = add_run(&s, "put", 1, 1);
    program_arg_buffer(l, 0);
    program_arg_int(l, ARG_I32, 7);
    l = add_run(&s, "twice", 1, 1);
    program_arg_buffer(l, 1);
    program_arg_buffer(l, 0);
    l->queue = 1;
    program_after(l, 0);
    l = add_run(&s, "sum", 1, 1);
    for (int i = 0; i < 3; i++)
        program_arg_buffer(l, (i + 2) % 3);
    program_arg_int(l, ARG_LOCAL, 4);
    l->queue = 2;
    program_after(l, 0);
    program_after(l, 1);
    c = program_pass_check_add(program_add_pass(&s.program, "exact"), CHECK_SAMPLE, 2);
    c->n = 1;
    blobs_put(&s.blobs, &wanted, sizeof wanted, &c->values);
    expect(&s, ERR_OK, "");
}

/* Queue 1 adds outer * 10 + inner into x, queue 0 then doubles it; each waits for the other, the first also for the
 * second's iteration before. */
static void launches_repeat_with_bumped_arguments(void **state)
{
    struct sample s = {.program = {0}};
    struct program_launch *l;
    struct program_check *c;
    double wanted = 1;

    (void)state;
    program_init(&s.program);
    blobs_init(&s.blobs, 1 << 20);
    add_text_module(&s, "__kernel void add(__global int *x, int v) { x[0] += v; }\n"
                        "__kernel void twice(__global int *x) { x[0] *= 2; }\n");
    program_add_buffer(&s.program, "x", ROLE_OUTPUT, DTYPE_I32, 1);
    l = program_add_launch(&s.program, LAUNCH_FILL, PHASE_RUN);
    program_arg_buffer(l, 0);
    program_arg_real(l, 1);
    l = add_run(&s, "add", 1, 1);
    program_arg_buffer(l, 0);
    program_arg_int(l, ARG_I32, 1);
    l->args[1].bump[0] = 10;
    l->args[1].bump[1] = 1;
    l->queue = 1;
    program_after(l, 0);
    program_after(l, 2);
    l = add_run(&s, "twice", 1, 1);
    program_arg_buffer(l, 0);
    program_after(l, 1);
    program_add_loop(&s.program, 1, 2, 2);
    program_add_loop(&s.program, 1, 2, 3);
    for (int outer = 0; outer < 2; outer++)
        for (int inner = 0; inner < 3; inner++)
            wanted = 2 * (wanted + 1 + 10 * outer + inner);
    c = program_pass_check_add(program_add_pass(&s.program, "exact"), CHECK_SAMPLE, 0);
    c->n = 1;
    blobs_put(&s.blobs, &wanted, sizeof wanted, &c->values);
    expect(&s, ERR_OK, "");
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
    program_init(&s.program);
    blobs_init(&s.blobs, 1 << 20);
    add_text_module(&s, "__kernel void inc(__global float *y) { y[get_global_id(0)] += 1; }\n");
    b = program_add_buffer(&s.program, "y", ROLE_STATE, DTYPE_F32, 4);
    b->fill = (struct program_fill){.kind = FILL_VALUE, .lo = 5};
    b->reset_each_run = true;
    program_add_buffer(&s.program, "z", ROLE_OUTPUT, DTYPE_F32, 4);
    program_arg_buffer(add_run(&s, "inc", 2, 2), 0);
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

static void reference_buffers_are_compared(void **state)
{
    for (int i_case = 0; i_case < 2; i_case++) {
        struct sample s;
        const int64_t grid[3] = {N, 1, 1}, block[3] = {1, 1, 1};
        struct program_launch *l;
        struct program_check *c;

        (void)state;
        vector_add(
            &s, i_case
                    ? "__kernel void add(__global const float *a, __global const float *b, __global float *y, int n)\n"
                      "{ int i = get_global_id(0); if (i < n) y[i] = a[i] + (y == b ? 0 : b[i]); }\n"
                    : add_text);
        program_add_buffer(&s.program, "ref", ROLE_SCRATCH, DTYPE_F32, N);
        l = program_add_kernel(&s.program, PHASE_REFERENCE, 0, "add", grid, block);
        program_arg_buffer(l, 0);
        program_arg_buffer(l, i_case ? 0 : 1); /* second case: a + a, so that the kernel disagrees */
        program_arg_buffer(l, 3);
        program_arg_int(l, ARG_I32, N);
        c = program_pass_check_add(program_add_pass(&s.program, "random"), CHECK_BUFFER, 2);
        c->i_reference = 3;
        expect(&s, i_case ? ERR_WRONG : ERR_OK, i_case ? "pass random: y[" : "");
    }
}

/* y = a + b * scale against y = a + b, all near 1000, as doubles: 1e-6 of a value is far over an absolute 1e-5. */
static void references_are_compared_relative_to_their_size(void **state)
{
    static const char text[] = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                               "__kernel void add(__global double *y, double a, double by)\n"
                               "{ int i = get_global_id(0); y[i] = (a + i) * by; }\n";
    static const struct {
        enum check_relative relative;
        double by;
        enum err wanted;
    } cases[] = {{RELATIVE_NO, 1 + 1e-6, ERR_WRONG},   {RELATIVE_EACH, 1 + 1e-6, ERR_OK},
                 {RELATIVE_PEAK, 1 + 1e-6, ERR_OK},    {RELATIVE_EACH, 1 + 1e-4, ERR_WRONG},
                 {RELATIVE_PEAK, 1 + 1e-4, ERR_WRONG}, {RELATIVE_NO, 1, ERR_OK}};

    (void)state;
    if (!strstr(ops->describe(device)->extensions, "cl_khr_fp64"))
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sample s;
        const int64_t grid[3] = {N, 1, 1}, block[3] = {1, 1, 1};
        struct program_check *c;

        program_init(&s.program);
        blobs_init(&s.blobs, 1 << 20);
        s.program.workload = strdup("doubles");
        add_text_module(&s, text);
        for (int k = 0; k < 2; k++) {
            struct program_launch *l;

            program_add_buffer(&s.program, k ? "ref64" : "y64", k ? ROLE_SCRATCH : ROLE_OUTPUT, DTYPE_F64, N);
            l = program_add_kernel(&s.program, k ? PHASE_REFERENCE : PHASE_RUN, 0, "add", grid, block);
            program_arg_buffer(l, k);
            program_arg_double(l, 1000.1);
            program_arg_double(l, k ? 1 : cases[i].by);
        }
        c = program_pass_check_add(program_add_pass(&s.program, "ref"), CHECK_BUFFER, 0);
        c->i_reference = 1;
        c->tolerance = 1e-5;
        c->relative = cases[i].relative;
        expect(&s, cases[i].wanted, "");
    }
}

static void output_hash_changes_with_the_output(void **state)
{
    struct sample s;
    struct loaded *l = NULL;
    struct sha256 a, b;
    struct why why = {""};
    float zeros[N] = {0};

    (void)state;
    vector_add(&s, add_text);
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
    struct sample s;
    struct load_report report;
    bool cached[2];

    (void)state;
    vector_add(&s, add_text);
    program_define(&s.program.modules[0], "NOT_BUILT_BEFORE", 1);
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

/* Devices that share the host's memory have their buffers mapped, others copied: the same either way. */
static void mapped_and_copied_buffers_hold_the_same(void **state)
{
    struct device *const opened = device;
    struct device other = *device;

    (void)state;
    for (int mapped = 0; mapped < 2; mapped++) {
        other.desc.shares_host = mapped;
        device = &other;
        right_kernel_is_right(NULL);
        unguarded_tail_is_caught_behind_the_end(NULL);
        state_is_reset_before_each_run(NULL);
        output_hash_changes_with_the_output(NULL);
        device = opened;
    }
}

/* The binary that was kept: its path in `out`, "" when there is none. */
static void find_binary(char out[PATH_MAX])
{
    DIR *dir = opendir(cache);
    const struct dirent *entry;

    *out = '\0';
    while (dir && (entry = readdir(dir)))
        if (strstr(entry->d_name, ".clbin"))
            snprintf(out, PATH_MAX, "%.3000s/%.255s", cache, entry->d_name);
    if (dir)
        closedir(dir);
}

static bool is_cached_and_right(struct device *d, struct sample *s)
{
    struct load_report report;
    struct loaded *l = NULL;
    struct why why = {""};

    assert_int_equal(ops->load(d, &s->program, &s->blobs, cache, &l, &report, &why), ERR_OK);
    if (verify_program(ops, l, &s->program, &s->blobs, NULL, &why))
        fail_msg("%s", why.text);
    free(report.log);
    ops->unload(l);
    return report.build_cached;
}

/* A driver without a cache of its own (Mali's): PoCL taken for one. */
static void binaries_are_kept_for_drivers_without_a_cache(void **state)
{
    struct device other = *device;
    struct sample s;
    char path[PATH_MAX];

    (void)state;
    other.pocl = false;
    vector_add(&s, add_text);
    program_define(&s.program.modules[0], "NOT_KEPT_BEFORE", 1);
    assert_false(is_cached_and_right(&other, &s));
    find_binary(path);
    assert_true(path[0]);
    assert_true(is_cached_and_right(&other, &s));
    assert_int_equal(file_replace(path, "damaged", 7, 0600, NULL), ERR_OK);
    assert_false(is_cached_and_right(&other, &s));
    assert_true(is_cached_and_right(&other, &s));
    sample_fini(&s);
}

static void description_is_sane(void **state)
{
    const struct device_desc *d = ops->describe(device);

    (void)state;
    assert_string_equal(d->api, "opencl");
    assert_true(d->name[0] && d->platform[0]);
    assert_true(d->units >= 1 && d->max_work_group >= 1 && d->local_bytes > 0 && d->global_bytes > 0);
    if (d->kind == DEVICE_CPU) {
        assert_true(d->shares_host);
        assert_true(d->vector_bits >= 128 && d->vector_bits <= 2048);
    }
    printf("%s: %lld units, %lld threads, %lld bits\n", d->name, (long long)d->units, (long long)d->threads,
           (long long)d->vector_bits);
}

static void bad_selectors_are_refused(void **state)
{
    static const char *const bad[] = {"x", "0", "0.", ".0", "0.0.0", "-1.0", "99999999999.1", "7.0", "0.63"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct device *d = NULL;
        struct why why = {""};

        if (ops->open(bad[i], &d, &why) == ERR_OK || !why.text[0])
            fail_msg("'%s' was taken, or refused without words", bad[i]);
    }
}

static int close_all(void **state)
{
    (void)state;
    ops->close(device);
    dir_remove(cache);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernel_is_right),
        cmocka_unit_test(wrong_kernels_are_told_by_element),
        cmocka_unit_test(text_that_does_not_compile_says_where),
        cmocka_unit_test(needs_over_the_device_are_limits),
        cmocka_unit_test(unguarded_tail_is_caught_behind_the_end),
        cmocka_unit_test(writes_before_the_beginning_are_caught),
        cmocka_unit_test(reads_out_of_bounds_show_in_the_outputs),
        cmocka_unit_test(local_memory_that_nobody_wrote_shows_in_the_outputs),
        cmocka_unit_test(elements_that_nobody_wrote_are_found_without_a_check),
        cmocka_unit_test(results_that_depend_on_what_stood_there_are_wrong),
        cmocka_unit_test(sources_that_are_missing_are_named),
        cmocka_unit_test(defines_reach_the_compiler),
        cmocka_unit_test(queues_wait_for_one_another),
        cmocka_unit_test(launches_repeat_with_bumped_arguments),
        cmocka_unit_test(state_is_reset_before_each_run),
        cmocka_unit_test(reference_buffers_are_compared),
        cmocka_unit_test(references_are_compared_relative_to_their_size),
        cmocka_unit_test(output_hash_changes_with_the_output),
        cmocka_unit_test(second_build_is_told_as_cached),
        cmocka_unit_test(mapped_and_copied_buffers_hold_the_same),
        cmocka_unit_test(binaries_are_kept_for_drivers_without_a_cache),
        cmocka_unit_test(description_is_sane),
        cmocka_unit_test(bad_selectors_are_refused),
    };
    struct why why = {""};

    ops = device_find("opencl");
    if (dir_temporary("tune-test", cache, sizeof cache, &why) != ERR_OK)
        return 1;
    if (ops->open("", &device, &why) != ERR_OK) {
        fprintf(stderr, "skipped: %s\n", why.text);
        dir_remove(cache);
        return 77;
    }
    setenv("POCL_CACHE_DIR", cache, 1); /* of our marks: PoCL has looked by now, and finds what it built another time */
    return cmocka_run_group_tests(tests, NULL, close_all);
}
