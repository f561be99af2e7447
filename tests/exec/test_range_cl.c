/* SPDX-License-Identifier: MIT */
/* Networks of two sizes as one: which of them runs, the tensors at the size of a bucket and back, weights that are cut
 * and weights that both have. Needs an OpenCL device. */
#include "exec/exec_cl_parts.h"
#include "exec/range_cl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HALF = 8, N = 16, ROWS = 3, N_BEHIND = 5 };

/* A network of size n: h[r][i] = x[r][i] * w[i] of the layer "one", y[r][i] = h + how many there are, and at y[r][0]
 * 1000 times how often the layer "two" ran, which counts that in its weights. */
static const char *const text[] = {
    "__kernel void one(__global const int *x, __global const int *w, __global int *y)\n",
    "{ int i = get_global_id(0); y[i] = x[i] * w[i % SIZE]; }\n",
    "__kernel void two(__global const int *x, __global const int *n, __global int *w, __global int *y)\n",
    "{ int i = get_global_id(0); y[i] = x[i] + n[0] + (i % SIZE ? 0 : 1000 * w[0]);\n",
    "  barrier(CLK_GLOBAL_MEM_FENCE); if (i == 0) w[0] += 1; }\n"};

#define B(i)                                                                                                           \
    {                                                                                                                  \
        EXEC_ARG_BUFFER, i, 0,                                                                                         \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
static const struct exec_arg args[] = {B(0), B(1), B(2), B(3)};

#define TABLES(name, size, options)                                                                                    \
    static const struct exec_module name##_module = {text, 5, options, NULL, 0};                                       \
    static const struct exec_module *const name##_modules[] = {&name##_module};                                        \
    static const struct exec_buffer name##_one[] = {                                                                   \
        {"x", EXEC_INPUT, 4 * ROWS * (size), EXEC_FILL_NONE, {0}, 0, NULL, 0},                                         \
        {"w", EXEC_WEIGHT, 4 * (size), EXEC_FILL_NONE, {0}, 0, NULL, 0},                                               \
        {"y", EXEC_OUTPUT, 4 * ROWS * (size), EXEC_FILL_NONE, {0}, 0, NULL, 0}};                                       \
    static const struct exec_buffer name##_two[] = {                                                                   \
        {"x", EXEC_INPUT, 4 * ROWS * (size), EXEC_FILL_NONE, {0}, 0, NULL, 0},                                         \
        {"n", EXEC_INPUT, 4, EXEC_FILL_NONE, {0}, 0, NULL, 0},                                                         \
        {"w", EXEC_WEIGHT, 4, EXEC_FILL_NONE, {0}, 0, NULL, 0},                                                        \
        {"y", EXEC_OUTPUT, 4 * ROWS * (size), EXEC_FILL_NONE, {0}, 0, NULL, 0}};                                       \
    static const struct exec_launch name##_launch[] = {                                                                \
        {EXEC_KERNEL, EXEC_RUN, 0, "one", {1, 1, 1}, {ROWS * (size), 1, 1}, args, 3, 0, 0, 0, NULL, 0},                \
        {EXEC_KERNEL, EXEC_RUN, 0, "two", {1, 1, 1}, {ROWS * (size), 1, 1}, args, 4, 0, 0, 0, NULL, 0}};               \
    static const struct exec_plan name##_plan_one = {"one", name##_modules, 1, name##_one, 3, &name##_launch[0],       \
                                                     1,     NULL,           0},                                        \
                                  name##_plan_two = {"two", name##_modules, 1, name##_two, 4, &name##_launch[1],       \
                                                     1,     NULL,           0};                                        \
    static const struct exec_value name##_values[] = {{"x", 4 * ROWS * (size), EXEC_ARGUMENT(0), 0, 0},                \
                                                      {"n", 4, EXEC_ARGUMENT(1), 0, 0},                                \
                                                      {"h", 4 * ROWS * (size), 0, 0, 0},                               \
                                                      {"y", 4 * ROWS * (size), EXEC_ARGUMENT(2), 0, 0}};               \
    static const size_t name##_slots[] = {4 * ROWS * (size)}
TABLES(small, HALF, "-cl-opt-disable -D SIZE=8");
TABLES(large, N, "-cl-opt-disable -D SIZE=16");

static const struct exec_plan *const plans[] = {&small_plan_one, &small_plan_two, &large_plan_one, &large_plan_two};
static const int first_values[] = {0, 2}, second_values[] = {2, 1, 3};
static const struct exec_step small_steps[] = {{"one", 0, first_values, 2, 0}, {"two", 1, second_values, 3, 0}},
                              large_steps[] = {{"one", 2, first_values, 2, 0}, {"two", 3, second_values, 3, 0}};
static const struct exec_network small = {"net", plans, 4, small_values, 4, small_slots, 1, small_steps, 2, 3},
                                 large = {"net", plans, 4, large_values, 4, large_slots, 1, large_steps, 2, 3};
static const struct exec_crop crops[] = {{"one", "w", 4, 1, {N}, {HALF}}};
static const struct exec_bucket buckets[] = {{HALF, &small, crops, 1}, {N, &large, NULL, 0}};
static const struct exec_axes places[] = {{1, ROWS, 4, 0}, {-1, 1, 4, 0}, {1, ROWS, 4, 0}};
static const struct exec_range range = {"seq", 2, buckets, 2, places, 2};

struct fixture {
    cl_context context;
    cl_device_id device;
    cl_command_queue queues[2];
    struct exec_cl *s;
    struct exec_cl_op *ops[4];
    struct exec_range_cl *net;
    struct exec_words words;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    cl_platform_id platform;
    const cl_int zero = 0;
    cl_int w[N];

    assert_int_equal(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    assert_int_equal(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &f->device, NULL), CL_SUCCESS);
    f->context = clCreateContext(NULL, 1, &f->device, NULL, NULL, NULL);
    for (int i = 0; i < 2; i++)
        f->queues[i] = clCreateCommandQueue(f->context, f->device, 0, NULL);
    assert_int_equal(exec_cl_open(f->context, f->device, "", &f->words, &f->s), EXEC_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(exec_cl_op_open(f->s, plans[i], &f->words, &f->ops[i]), EXEC_OK);
    assert_int_equal(exec_range_cl_open(f->context, &range, f->ops, &f->words, &f->net), EXEC_OK);
    for (int i = 0; i < N; i++)
        w[i] = i + 3;
    assert_int_equal(exec_range_cl_set(f->net, f->queues[0], "one", "w", w, sizeof w, &f->words), EXEC_OK);
    assert_int_equal(exec_range_cl_set(f->net, f->queues[0], "two", "w", &zero, sizeof zero, &f->words), EXEC_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    exec_range_cl_close(f->net);
    for (int i = 0; i < 4; i++)
        exec_cl_op_close(f->ops[i]);
    exec_cl_close(f->s);
    for (int i = 0; i < 2; i++)
        clReleaseCommandQueue(f->queues[i]);
    clReleaseContext(f->context);
    free(f);
    return 0;
}

static cl_mem buffer(const struct fixture *f, const cl_int *v, size_t n)
{
    cl_int code;
    cl_mem mem = clCreateBuffer(f->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n * sizeof *v,
                                (void *)(uintptr_t)v, &code);

    assert_int_equal(code, CL_SUCCESS);
    return mem;
}

/* One run at a size behind so many others: every element, and what is behind the output. */
static void expect_run(struct fixture *f, int i_queue, int size, int n_before)
{
    cl_int x[ROWS * N], got[ROWS * N + N_BEHIND];
    cl_mem list[2];

    for (int i = 0; i < ROWS * size; i++)
        x[i] = 7 * i + size;
    for (int i = 0; i < ROWS * N + N_BEHIND; i++)
        got[i] = -1;
    list[0] = buffer(f, x, (size_t)(ROWS * size));
    list[1] = buffer(f, got, (size_t)(ROWS * size + N_BEHIND));
    if (exec_range_cl_run(f->net, f->queues[i_queue], (size_t)size, list, &f->words) != EXEC_OK)
        fail_msg("%s", f->words.text);
    assert_int_equal(clEnqueueReadBuffer(f->queues[i_queue], list[1], CL_TRUE, 0,
                                         (size_t)(ROWS * size + N_BEHIND) * sizeof got[0], got, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int i = 0; i < ROWS * size + N_BEHIND; i++) {
        const int expected = i >= ROWS * size ? -1 : x[i] * (i % size + 3) + size + (i % size ? 0 : 1000 * n_before);

        if (got[i] != expected)
            fail_msg("size %d: y[%d] is %d, expected %d", size, i, (int)got[i], expected);
    }
    clReleaseMemObject(list[0]);
    clReleaseMemObject(list[1]);
}

/* Whichever bucket ran before, and on which queue; both count in the same weights. */
static void every_size_is_run_by_the_smallest_bucket_that_holds_it(void **state)
{
    static const int sizes[] = {N, 2, HALF, HALF + 1, HALF - 1, N - 1, 3, N, 5};
    struct fixture *f = *state;

    for (int i = 0; i < (int)(sizeof sizes / sizeof sizes[0]); i++)
        expect_run(f, i / 2 % 2, sizes[i], i);
}

static void weights_that_are_set_anew_are_those_of_all_buckets(void **state)
{
    struct fixture *f = *state;
    const cl_int seven = 7;

    expect_run(f, 0, 3, 0);
    expect_run(f, 0, N, 1);
    assert_int_equal(exec_range_cl_set(f->net, f->queues[0], "two", "w", &seven, sizeof seven, &f->words), EXEC_OK);
    expect_run(f, 0, 3, 7);
    expect_run(f, 0, N, 8);
}

static void what_is_out_of_the_range_is_told(void **state)
{
    struct fixture *f = *state;
    const cl_int zeros[ROWS * N] = {0};
    const cl_mem list[] = {buffer(f, zeros, ROWS * 9), buffer(f, zeros, ROWS * 9)};

    assert_int_equal(exec_range_cl_run(f->net, f->queues[0], 1, list, &f->words), EXEC_BAD_ARGUMENT);
    assert_string_equal(f->words.text, "seq=1: expected 2 to 16");
    assert_int_equal(exec_range_cl_run(f->net, f->queues[0], N + 1, list, &f->words), EXEC_BAD_ARGUMENT);
    assert_string_equal(f->words.text, "seq=17: expected 2 to 16");
    assert_int_equal(exec_range_cl_run(f->net, f->queues[0], 10, list, &f->words), EXEC_BAD_ARGUMENT);
    assert_string_equal(f->words.text, "argument 0: expected an OpenCL buffer of 120 bytes with seq=10, got 108");
    assert_int_equal(exec_range_cl_run(f->net, f->queues[0], 9, (const cl_mem[]){list[0], NULL}, &f->words),
                     EXEC_BAD_ARGUMENT);
    assert_int_equal(exec_range_cl_run(f->net, f->queues[0], 9, NULL, &f->words), EXEC_BAD_ARGUMENT);
    assert_int_equal(exec_range_cl_set(f->net, f->queues[0], "one", "w", zeros, 4 * HALF, &f->words),
                     EXEC_BAD_ARGUMENT);
    assert_string_equal(f->words.text, "weight w of layer one: expected 64 bytes, not 32");
    clReleaseMemObject(list[0]);
    clReleaseMemObject(list[1]);
}

static void a_network_beside_one_with_less_memory_is_refused(void **state)
{
    struct fixture *f = *state;
    struct exec_net_cl *base = NULL, *beside = NULL;

    assert_int_equal(exec_net_cl_open(f->context, &small, f->ops, &f->words, &base), EXEC_OK);
    assert_int_equal(exec_net_cl_open_beside(base, &large, &f->words, &beside), EXEC_BAD_ARGUMENT);
    assert_string_equal(f->words.text, "net needs more memory than the network beside it");
    exec_net_cl_close(base);
}

static int has_device(void)
{
    cl_platform_id platform;
    cl_device_id device;

    return clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
           clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_size_is_run_by_the_smallest_bucket_that_holds_it),
        TEST(weights_that_are_set_anew_are_those_of_all_buckets),
        TEST(what_is_out_of_the_range_is_told),
        TEST(a_network_beside_one_with_less_memory_is_refused),
    };

    if (exec_cl_load(NULL) != EXEC_OK || !has_device()) {
        print_message("skipped: no OpenCL device\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
