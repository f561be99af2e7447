/* SPDX-License-Identifier: MIT */
/* The OpenCL executor carries out plans made by hand: several modules, nested loops, fills, copies, states, scratch
 * that plans share, sets of weights, several queues. Needs an OpenCL device. */
#include "exec/common.h"
#include "exec/exec_cl_parts.h"
#include "exec/network_cl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

enum { N = 64 };

static const char *const add_text[] = {
    "__kernel void pack(__global const int *w, __global int *to) { int i = get_global_id(0); to[i] = w[i] * SCALE; }\n",
    "__kernel void add(__global const int *x, __global const int *w, __global int *t)\n",
    "{ int i = get_global_id(0); t[i] += x[i] + w[i]; }\n"};
static const char *const count_text[] = {
    "__kernel void count(__global int *t, __global const int *ones, __global int *y, int step, __global int *runs)\n",
    "{ int i = get_global_id(0); y[i] += ones[i] * step; if (step == 0) y[i] += t[i]; if (i == 0) runs[0] += 1; }\n"};
static const struct exec_module add_module = {add_text, 3, "-cl-opt-disable -D SCALE=2", NULL, 0};
static const struct exec_module add_again = {add_text, 3, "-cl-opt-disable -D SCALE=2", NULL, 0}; /* equal to it */
static const struct exec_module add_other = {add_text, 3, "-cl-opt-disable -D SCALE=5", NULL, 0};
static const struct exec_module count_module = {count_text, 2, "-cl-opt-disable", NULL, 0};

static const unsigned char one_bytes[4 * N] = {1}; /* ones[0] = 1, the rest 0: told apart from a pattern */

/* y = sum over the loops of ones * step, + x + SCALE * w; `runs` counts the starts of count over all runs. */
#define B(i)                                                                                                           \
    {                                                                                                                  \
        EXEC_ARG_BUFFER, i, 0,                                                                                         \
        {                                                                                                              \
            0, 0, 0                                                                                                    \
        }                                                                                                              \
    }
static const struct exec_buffer buffers[] = {
    {"x", EXEC_INPUT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
    {"w", EXEC_WEIGHT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
    {"y", EXEC_OUTPUT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
    {"packed", EXEC_PACKED, 4 * N, EXEC_FILL_VALUE, {77}, 4, NULL, 0}, /* before packing, never behind it */
    {"t", EXEC_SCRATCH, 4 * N, EXEC_FILL_VALUE, {9}, 4, NULL, 1},
    {"ones", EXEC_PACKED, 4 * N, EXEC_FILL_BYTES, {0}, 0, one_bytes, 0},
    {"runs", EXEC_STATE, 4, EXEC_FILL_VALUE, {3, 1}, 4, NULL, 0},
    {"sum", EXEC_SCRATCH, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
};
static const struct exec_arg pack_args[] = {B(1), B(3)};
static const struct exec_arg add_args[] = {B(0), B(3), B(4)};
static const struct exec_arg fill_args[] = {
    B(7), {EXEC_ARG_I64, 0x10203, 0, {0, 0, 0}}, {EXEC_ARG_I64, 4, 0, {0, 0, 0}}};
static const struct exec_arg count_args[] = {B(4), B(5), B(7), {EXEC_ARG_I32, 0, 0, {10, 1, 0}}, B(6)};
static const struct exec_arg copy_args[] = {B(2), B(7), {EXEC_ARG_I64, 4 * N, 0, {0, 0, 0}}};
static const struct exec_launch launches[] = {
    {EXEC_KERNEL, EXEC_PACK, 0, "pack", {N / 8, 1, 1}, {8, 1, 1}, pack_args, 2, 0, 0, 0, NULL, 0},
    {EXEC_KERNEL, EXEC_RUN, 0, "add", {N / 8, 1, 1}, {8, 1, 1}, add_args, 3, 0, 0, 0, NULL, 0},
    {EXEC_FILL, EXEC_RUN, 0, "", {1, 1, 1}, {1, 1, 1}, fill_args, 3, 0, 0, 0, NULL, 0},
    {EXEC_KERNEL, EXEC_RUN, 1, "count", {N / 8, 1, 1}, {8, 1, 1}, count_args, 5, 0, 0, 0, NULL, 0},
    {EXEC_COPY, EXEC_RUN, 0, "", {1, 1, 1}, {1, 1, 1}, copy_args, 3, 0, 0, 0, NULL, 0},
};
static const struct exec_loop loops[] = {{3, 3, 2}, {3, 3, 3}};
static const struct exec_module *const modules[] = {&add_module, &count_module};
static const struct exec_module *const modules_again[] = {&add_again, &count_module};
static const struct exec_module *const modules_other[] = {&add_other, &count_module};
#define PLAN(list)                                                                                                     \
    {                                                                                                                  \
        "by hand", list, 2, buffers, 8, launches, 5, loops, 2                                                          \
    }
static const struct exec_plan plan = PLAN(modules), again = PLAN(modules_again), other = PLAN(modules_other);

/* Element i of y: 0x10203 of the fill, the steps 0 1 2 10 11 12 times ones[i], and at step 0 t[i], which was 9. */
static int expected(int i, int scale, int w)
{
    return 0x10203 + 9 + (i == 0 ? 36 : 0) + 100 * i + scale * w * (i + 1);
}

struct fixture {
    cl_context context;
    cl_device_id device;
    cl_command_queue queues[2];
    struct exec_cl *s;
    struct exec_words words;
    cl_mem x, w[2], y[4];
};

static cl_mem ints(struct fixture *f, int slope, int offset)
{
    cl_int values[N], code = CL_SUCCESS;
    for (int i = 0; i < N; i++) {
        values[i] = slope * (i + offset);
    }
    cl_mem mem = clCreateBuffer(f->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values, &code);
    assert_int_equal(code, CL_SUCCESS);
    return mem;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    cl_platform_id platform;
    cl_device_id team[8];
    cl_uint n_team = 0;
    cl_int code = CL_SUCCESS;
    assert_int_equal(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    assert_int_equal(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &f->device, NULL), CL_SUCCESS);
    exec_cl_team_devices(f->device, 8, team, &n_team);
    f->context = n_team > 1 ? clCreateContext(NULL, n_team, team, NULL, NULL, &code)
                            : clCreateContext(NULL, 1, &f->device, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        f->queues[i] = clCreateCommandQueue(f->context, f->device, 0, &code);
        assert_int_equal(code, CL_SUCCESS);
    }
    f->x = ints(f, 100, 0);
    f->w[0] = ints(f, 1, 1);
    f->w[1] = ints(f, 3, 1);
    for (int i = 0; i < 4; i++) {
        f->y[i] = ints(f, 0, 0);
    }
    assert_int_equal(exec_cl_open(f->context, f->device, "", &f->words, &f->s), EXEC_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    exec_cl_close(f->s);
    for (int i = 0; i < 4; i++) {
        clReleaseMemObject(f->y[i]);
    }
    clReleaseMemObject(f->w[0]);
    clReleaseMemObject(f->w[1]);
    clReleaseMemObject(f->x);
    clReleaseCommandQueue(f->queues[0]);
    clReleaseCommandQueue(f->queues[1]);
    clReleaseContext(f->context);
    free(f);
    return 0;
}

static struct exec_cl_op *open_op(struct fixture *f, const struct exec_plan *p)
{
    struct exec_cl_op *op = NULL;
    if (exec_cl_op_open(f->s, p, &f->words, &op) != EXEC_OK) {
        fail_msg("%s", f->words.text);
    }
    return op;
}

static struct exec_cl_weights *pack(struct fixture *f, struct exec_cl_op *op, int i_queue, int i_weights)
{
    struct exec_cl_weights *w = NULL;
    if (exec_cl_pack(op, f->queues[i_queue], &f->w[i_weights], &f->words, &w) != EXEC_OK) {
        fail_msg("%s", f->words.text);
    }
    return w;
}

static void run(struct fixture *f, struct exec_cl_op *op, int i_queue, const struct exec_cl_weights *w, int i_y)
{
    const cl_mem tensors[] = {f->x, f->y[i_y]};
    if (exec_cl_run(op, f->queues[i_queue], tensors, w, &f->words) != EXEC_OK) {
        fail_msg("%s", f->words.text);
    }
}

static void expect_y(struct fixture *f, int i_y, int scale, int w)
{
    cl_int got[N];
    assert_int_equal(clFinish(f->queues[0]) | clFinish(f->queues[1]), CL_SUCCESS);
    assert_int_equal(clEnqueueReadBuffer(f->queues[0], f->y[i_y], CL_TRUE, 0, sizeof got, got, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int i = 0; i < N; i++) {
        if (got[i] != expected(i, scale, w)) {
            fail_msg("y%d[%d] is %d, expected %d", i_y, i, (int)got[i], expected(i, scale, w));
        }
    }
}

static void a_plan_runs_again_and_again(void **state)
{
    struct fixture *f = *state;
    struct exec_cl_op *op = open_op(f, &plan);
    struct exec_cl_weights *w = pack(f, op, 0, 0);
    run(f, op, 0, w, 0);
    expect_y(f, 0, 2, 1);
    run(f, op, 0, w, 0);
    run(f, op, 0, w, 1);
    expect_y(f, 0, 2, 1);
    expect_y(f, 1, 2, 1);
    exec_cl_weights_free(w);
    exec_cl_op_close(op);
}

/* The state is filled once and lives on: 3 runs of 6 starts each. */
static void a_state_outlives_runs(void **state)
{
    struct fixture *f = *state;
    struct exec_cl_op *op = open_op(f, &plan);
    struct exec_cl_weights *w = pack(f, op, 0, 0);
    cl_int runs = -1;
    for (int i = 0; i < 3; i++) {
        run(f, op, 0, w, 0);
    }
    assert_int_equal(clEnqueueReadBuffer(f->queues[0], op->own[6], CL_TRUE, 0, sizeof runs, &runs, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(runs, 259 + 18); /* the fill, and */
    exec_cl_weights_free(w);
    exec_cl_op_close(op);
}

static void equal_modules_are_built_once(void **state)
{
    struct fixture *f = *state;
    struct exec_cl_op *a = open_op(f, &plan), *b = open_op(f, &again), *c = open_op(f, &other);
    assert_int_equal(f->s->n_modules, 3);
    struct exec_cl_weights *w[] = {pack(f, a, 0, 0), pack(f, b, 0, 0), pack(f, c, 0, 0)};
    run(f, a, 0, w[0], 0);
    run(f, b, 0, w[1], 1);
    run(f, c, 0, w[2], 2);
    expect_y(f, 0, 2, 1);
    expect_y(f, 1, 2, 1);
    expect_y(f, 2, 5, 1);
    for (int i = 0; i < 3; i++) {
        exec_cl_weights_free(w[i]);
    }
    exec_cl_op_close(c);
    exec_cl_op_close(a); /* the first to have the module */
    run(f, b, 0, w[1] = pack(f, b, 0, 1), 3);
    expect_y(f, 3, 2, 3);
    exec_cl_weights_free(w[1]);
    exec_cl_op_close(b);
}

/* Two plans share their scratch: what one left there is not seen by the other, and it is no more than one needs. */
static void plans_share_scratch(void **state)
{
    struct fixture *f = *state;
    struct exec_cl_op *a = open_op(f, &plan);
    const int n_slots = f->s->n_slots;
    struct exec_cl_op *b = open_op(f, &other);
    assert_int_equal(n_slots, 2);
    assert_int_equal(f->s->n_slots, n_slots);
    struct exec_cl_weights *wa = pack(f, a, 0, 0), *wb = pack(f, b, 0, 1);
    for (int i = 0; i < 20; i++) { /* queues in turn: each run waits for the one before */
        run(f, a, i % 2, wa, 0);
        run(f, b, (i / 2) % 2, wb, 1);
    }
    expect_y(f, 0, 2, 1);
    expect_y(f, 1, 5, 3);
    exec_cl_weights_free(wa);
    exec_cl_weights_free(wb);
    exec_cl_op_close(a);
    exec_cl_op_close(b);
}

static void a_plan_has_several_sets_of_weights(void **state)
{
    struct fixture *f = *state;
    struct exec_cl_op *op = open_op(f, &plan);
    struct exec_cl_weights *w[] = {pack(f, op, 0, 0), pack(f, op, 1, 1)};
    run(f, op, 0, w[1], 1);
    run(f, op, 1, w[0], 0);
    expect_y(f, 0, 2, 1);
    expect_y(f, 1, 2, 3);
    exec_cl_weights_free(w[0]);
    run(f, op, 0, w[1], 2);
    expect_y(f, 2, 2, 3);
    exec_cl_weights_free(w[1]);
    exec_cl_op_close(op);
}

/* Launches of three queues that wait for one another, in the loop for the turn before too: y = 2 (3 y + turn) + 5
 * twice, then y + 100. Factors are doubles where the device has them. The next run, on another queue of the caller's,
 * begins behind all of it. */
static void queues_of_a_plan_wait_for_one_another(void **state)
{
    static const char *const mad_text[] = {"__kernel void grow(__global int *y, REAL by, int add)\n",
                                           "{ int i = get_global_id(0); y[i] = (int)(by * y[i]) + add; }\n"};
    static const int first[] = {0}, second[] = {1};
    static const struct exec_loop loop = {0, 1, 2};
    struct fixture *f = *state;
    cl_device_fp_config doubles = 0;
    (void)clGetDeviceInfo(f->device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof doubles, &doubles, NULL);
    const struct exec_module module = {mad_text, 2, doubles != 0 ? "-D REAL=double" : "-D REAL=float", NULL, 0};
    const struct exec_module *const list[] = {&module};
    const enum exec_arg_kind real = doubles != 0 ? EXEC_ARG_F64 : EXEC_ARG_F32;
    const struct exec_arg args[3][3] = {{B(0), {real, 0, 3, {0}}, {EXEC_ARG_I32, 0, 0, {1}}},
                                        {B(0), {real, 0, 2, {0}}, {EXEC_ARG_I32, 5, 0, {0}}},
                                        {B(0), {real, 0, 1, {0}}, {EXEC_ARG_I32, 100, 0, {0}}}};
    struct exec_launch mads[3];
    int expected = 0, got[N];
    for (int i = 0; i < 3; i++) {
        mads[i] = (struct exec_launch){.kernel = "grow",
                                       .grid = {N / 8, 1, 1},
                                       .block = {8, 1, 1},
                                       .args = args[i],
                                       .n_args = 3,
                                       .queue = (i + 1) % 3,
                                       .after = i == 1 ? first : second,
                                       .n_after = 1};
    }
    const struct exec_plan mad = {"mad", list, 1, &buffers[2], 1, mads, 3, &loop, 1};
    struct exec_cl_op *op = open_op(f, &mad);
    struct exec_cl_weights *w = NULL;
    assert_int_equal(exec_cl_pack(op, f->queues[0], NULL, &f->words, &w), EXEC_OK);
    for (int i = 0; i < 3; i++) { /* three fit into an int */
        assert_int_equal(exec_cl_run(op, f->queues[i % 2], &f->y[0], w, &f->words), EXEC_OK);
        for (int turn = 0; turn < 2; turn++) {
            expected = 2 * (3 * expected + turn) + 5;
        }
        expected += 100;
    }
    assert_int_equal(clEnqueueReadBuffer(f->queues[0], f->y[0], CL_TRUE, 0, sizeof got, got, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int i = 0; i < N; i++) {
        assert_int_equal(got[i], expected);
    }
    exec_cl_weights_free(w);
    exec_cl_op_close(op);
}

/* What the built kernel cannot have, and other arguments than it takes, are told when the op is opened. */
/* Launch 0 is awaited by another queue and then by its own, which needs no event. */
static void one_of_several_that_wait_is_enough_to_be_awaited(void **state)
{
    static const int first[] = {0};
    static const struct exec_launch list[] = {{.phase = EXEC_RUN, .queue = 0},
                                              {.phase = EXEC_RUN, .queue = 1, .after = first, .n_after = 1},
                                              {.phase = EXEC_RUN, .queue = 0, .after = first, .n_after = 1}};
    const struct exec_plan p = {.launches = list, .n_launches = 3};
    char awaited[3];
    (void)state;
    exec_mark_awaited(&p, 1, awaited);
    assert_memory_equal(awaited, "\1\0\0", 3);
    exec_mark_awaited(&p, 0, awaited);
    assert_memory_equal(awaited, "\1\0\0", 3);
}

static void launches_that_do_not_suit_their_kernel_are_refused(void **state)
{
    static const char *const fixed_text[] = {
        "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void fixed(__global int *y) { y[0] = 1; }\n"};
    static const struct exec_module module = {fixed_text, 1, "", NULL, 0};
    static const struct exec_module *const list[] = {&module};
    static const struct exec_arg args[] = {B(0), {EXEC_ARG_I32, 1, 0, {0}}};
    static const struct {
        const char *kernel;
        size_t group;
        int n_args;
        enum exec_status status;
        const char *words;
    } cases[] = {{"fixed", 8, 1, EXEC_OK, ""},
                 {"fixed", 4, 1, EXEC_NO_DEVICE, "requires work-groups of 8 x 1 x 1"},
                 {"fixed", 8, 2, EXEC_BUILD_FAILED, "takes 1 arguments, the launch gives 2"},
                 {"none", 8, 1, EXEC_BUILD_FAILED, "no kernel named none"}};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct exec_launch launch = {.kernel = cases[i].kernel,
                                           .grid = {1, 1, 1},
                                           .block = {cases[i].group, 1, 1},
                                           .args = args,
                                           .n_args = cases[i].n_args};
        const struct exec_plan one = {"one", list, 1, &buffers[2], 1, &launch, 1, NULL, 0};
        struct exec_cl_op *op = NULL;
        f->words.text[0] = '\0';
        assert_int_equal(exec_cl_op_open(f->s, &one, &f->words, &op), cases[i].status);
        assert_non_null(strstr(f->words.text, cases[i].words));
        exec_cl_op_close(op);
    }
}

static void what_is_wrong_is_told(void **state)
{
    static const char *const bad_text[] = {"__kernel void pack( { this is no kernel }\n"};
    static const struct exec_module bad = {bad_text, 1, "", NULL, 0};
    static const struct exec_module *const bad_list[] = {&bad, &count_module};
    static const struct exec_plan broken = PLAN(bad_list);
    struct fixture *f = *state;
    struct exec_cl_op *op = NULL, *second;
    struct exec_cl_weights *w;
    cl_mem tensors[] = {f->x, NULL};
    assert_int_equal(exec_cl_op_open(f->s, &broken, &f->words, &op), EXEC_BUILD_FAILED);
    assert_non_null(strstr(f->words.text, "did not build"));
    assert_null(op);
    op = open_op(f, &plan);
    second = open_op(f, &other);
    w = pack(f, second, 0, 0);
    assert_int_equal(exec_cl_run(op, f->queues[0], tensors, NULL, &f->words), EXEC_NOT_PACKED);
    assert_int_equal(exec_cl_run(op, f->queues[0], tensors, w, &f->words), EXEC_NOT_PACKED);
    assert_int_equal(exec_cl_run(second, f->queues[0], tensors, w, &f->words), EXEC_BAD_ARGUMENT);
    assert_non_null(strstr(f->words.text, "tensor y"));
    assert_int_equal(exec_cl_pack(op, f->queues[0], NULL, &f->words, &w), EXEC_BAD_ARGUMENT);
    assert_non_null(strstr(f->words.text, "tensor w"));
    assert_int_equal(exec_cl_run(NULL, f->queues[0], tensors, w, &f->words), EXEC_BAD_ARGUMENT);
    exec_cl_weights_free(w);
    exec_cl_op_close(op);
    exec_cl_op_close(second);
}

/* A binary is taken on the device it was made for, and the text where it is damaged or of another one. */
static void damaged_binaries_fall_back_to_text(void **state)
{
    static const unsigned char noise[64] = "no program";
    static struct exec_binary binary = {"0123", noise, sizeof noise, 1};
    static struct exec_module with_binary;
    static const struct exec_module *const list[] = {&with_binary, &count_module};
    static const struct exec_plan p = PLAN(list);
    struct fixture *f = *state;
    exec_cl_close(f->s);
    assert_int_equal(exec_cl_open(f->context, f->device, "0123", &f->words, &f->s), EXEC_OK);
    with_binary = add_module;
    with_binary.binaries = &binary;
    with_binary.n_binaries = 1;
    struct exec_cl_op *op = open_op(f, &p);
    struct exec_cl_weights *w = pack(f, op, 0, 0);
    run(f, op, 0, w, 0);
    expect_y(f, 0, 2, 1);
    exec_cl_weights_free(w);
    exec_cl_op_close(op);
}

/* Of the caller's buffers no byte may be missing; larger ones are fine. */
static void tensors_are_as_large_as_the_plan_says(void **state)
{
    struct fixture *f = *state;
    struct exec_cl_op *op = open_op(f, &plan);
    struct exec_cl_weights *w = pack(f, op, 0, 0), *none = NULL;
    for (size_t n = 4 * N - 1; n <= 4 * N + 1; n++) {
        cl_mem y = clCreateBuffer(f->context, CL_MEM_READ_WRITE, n, NULL, NULL);
        const cl_mem tensors[] = {f->x, y};
        const enum exec_status wanted = n < 4 * N ? EXEC_BAD_ARGUMENT : EXEC_OK;
        assert_int_equal(exec_cl_run(op, f->queues[0], tensors, w, &f->words), wanted);
        if (wanted == EXEC_OK) {
            assert_int_equal(exec_cl_pack(op, f->queues[0], &y, &f->words, &none), EXEC_OK);
            exec_cl_weights_free(none);
        } else {
            assert_string_equal(f->words.text, "tensor y: expected a buffer of 256 bytes, got one of 255");
            assert_int_equal(exec_cl_pack(op, f->queues[0], &y, &f->words, &none), EXEC_BAD_ARGUMENT);
        }
        clReleaseMemObject(y);
    }
    exec_cl_weights_free(w);
    exec_cl_op_close(op);
}

/* Scratch memory only grows: a plan that needs less leaves what another one has. */
static void scratch_is_never_made_smaller(void **state)
{
    static const struct exec_buffer small_buffers[] = {{"x", EXEC_INPUT, 4, EXEC_FILL_NONE, {0}, 0, NULL, 0},
                                                       {"t", EXEC_SCRATCH, 4, EXEC_FILL_NONE, {0}, 0, NULL, 0}};
    static const struct exec_arg small_args[] = {B(1), B(0), {EXEC_ARG_I64, 4, 0, {0, 0, 0}}};
    static const struct exec_launch small_launch[] = {
        {EXEC_COPY, EXEC_RUN, 0, "", {1, 1, 1}, {1, 1, 1}, small_args, 3, 0, 0, 0, NULL, 0}};
    static const struct exec_plan small = {"small", modules, 0, small_buffers, 2, small_launch, 1, NULL, 0};
    struct fixture *f = *state;
    struct exec_cl_op *first = open_op(f, &small), *large = open_op(f, &plan), *last = open_op(f, &small);
    size_t n = 0;
    for (int i = 0; i < f->s->n_slots; i++) {
        assert_int_equal(clGetMemObjectInfo(f->s->slots[i].mem, CL_MEM_SIZE, sizeof n, &n, NULL), CL_SUCCESS);
        assert_true(n >= 4 * N);
        assert_int_equal(f->s->slots[i].n_bytes, n);
    }
    exec_cl_op_close(first);
    exec_cl_op_close(large);
    exec_cl_op_close(last);
}

static void queues_are_of_the_session_and_in_order(void **state)
{
    struct fixture *f = *state;
    cl_context foreign = clCreateContext(NULL, 1, &f->device, NULL, NULL, NULL);
    cl_command_queue elsewhere = clCreateCommandQueue(foreign, f->device, 0, NULL),
                     loose = clCreateCommandQueue(f->context, f->device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    assert_int_equal(exec_cl_check_queue(f->s, f->queues[1], &f->words), EXEC_OK);
    assert_int_equal(exec_cl_check_queue(f->s, NULL, &f->words), EXEC_BAD_ARGUMENT);
    assert_int_equal(exec_cl_check_queue(f->s, elsewhere, &f->words), EXEC_BAD_ARGUMENT);
    assert_non_null(strstr(f->words.text, "of the context that was opened"));
    if (loose != NULL) { /* not every device has such queues */
        assert_int_equal(exec_cl_check_queue(f->s, loose, &f->words), EXEC_BAD_ARGUMENT);
        assert_non_null(strstr(f->words.text, "in order"));
        clReleaseCommandQueue(loose);
    }
    clReleaseCommandQueue(elsewhere);
    clReleaseContext(foreign);
}

/* ---- networks ---- */

static const char *const layer_text[] = {
    "__kernel void scale(__global const int *x, __global const int *w, __global const int *b, __global int *y)\n",
    "{ int i = get_global_id(0); y[i] = x[i] * w[i] + b[i]; }\n",
    "__kernel void sum(__global const int *a, __global const int *b, __global int *y)\n",
    "{ int i = get_global_id(0); y[i] = a[i] - b[i]; }\n"};
static const struct exec_module layer_module = {layer_text, 4, "-cl-opt-disable", NULL, 0};
static const struct exec_module *const layer_modules[] = {&layer_module};
static const struct exec_buffer scale_buffers[] = {{"x", EXEC_INPUT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
                                                   {"w", EXEC_WEIGHT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
                                                   {"bias", EXEC_WEIGHT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
                                                   {"y", EXEC_OUTPUT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0}};
static const struct exec_buffer sum_buffers[] = {{"a", EXEC_INPUT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
                                                 {"b", EXEC_INPUT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
                                                 {"y", EXEC_OUTPUT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0}};
static const struct exec_arg four_args[] = {B(0), B(1), B(2), B(3)};
static const struct exec_launch scale_launch[] = {
    {EXEC_KERNEL, EXEC_RUN, 0, "scale", {N / 8, 1, 1}, {8, 1, 1}, four_args, 4, 0, 0, 0, NULL, 0}};
static const struct exec_launch sum_launch[] = {
    {EXEC_KERNEL, EXEC_RUN, 0, "sum", {N / 8, 1, 1}, {8, 1, 1}, four_args, 3, 0, 0, 0, NULL, 0}};
static const struct exec_plan scale_plan = {"scale", layer_modules, 1, scale_buffers, 4, scale_launch, 1, NULL, 0},
                              sum_plan = {"sum", layer_modules, 1, sum_buffers, 3, sum_launch, 1, NULL, 0};
/* h = x * w1 + b1; g = h * w2 + b2; y = h - g. */
static const struct exec_plan *const net_plans[] = {&scale_plan, &sum_plan};
static const struct exec_value net_values[] = {{"x", 4 * N, EXEC_ARGUMENT(0), 0, 0},
                                               {"h", 4 * N, 1, 1, 512},
                                               {"g", 4 * N, 0, 0, 0},
                                               {"y", 4 * N, EXEC_ARGUMENT(1), 0, 0}};
static const size_t net_slots[] = {4 * N, 512 + 4 * N};
static const int first_values[] = {0, 1}, second_values[] = {1, 2}, third_values[] = {1, 2, 3};
static const struct exec_step net_steps[] = {
    {"one", 0, first_values, 2, 0}, {"two", 0, second_values, 2, 0}, {"last", 1, third_values, 3, 0}};
static const struct exec_network three_layers = {"three", net_plans, 2, net_values, 4, net_slots, 2, net_steps, 3, 2};

static void set_weight(struct fixture *f, struct exec_net_cl *net, const char *layer, const char *name, int slope)
{
    cl_int values[N];
    for (int i = 0; i < N; i++) {
        values[i] = slope * (i + 1);
    }
    assert_int_equal(exec_net_cl_set(net, f->queues[0], layer, name, values, sizeof values, &f->words), EXEC_OK);
}

static void expect_network(struct fixture *f, struct exec_net_cl *net, int w1, int b1, int w2, int b2)
{
    cl_int got[N];
    assert_int_equal(exec_net_cl_run(net, f->queues[0], (const cl_mem[]){f->x, f->y[0]}, &f->words), EXEC_OK);
    assert_int_equal(clEnqueueReadBuffer(f->queues[0], f->y[0], CL_TRUE, 0, sizeof got, got, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int i = 0; i < N; i++) {
        const int h = 100 * i * w1 * (i + 1) + b1 * (i + 1), g = h * w2 * (i + 1) + b2 * (i + 1);
        if (got[i] != h - g) {
            fail_msg("y[%d] is %d, expected %d", i, (int)got[i], h - g);
        }
    }
}

static void a_network_runs_its_layers_with_weights_of_their_own(void **state)
{
    struct fixture *f = *state;
    struct exec_cl_op *ops[] = {open_op(f, &scale_plan), open_op(f, &sum_plan)};
    struct exec_net_cl *net = NULL;
    assert_int_equal(exec_net_cl_open(f->context, &three_layers, ops, &f->words, &net), EXEC_OK);
    set_weight(f, net, "two", "bias", 7);
    set_weight(f, net, "one", "w", 2);
    set_weight(f, net, "one", "bias", 5);
    assert_int_equal(exec_net_cl_run(net, f->queues[0], (const cl_mem[]){f->x, f->y[0]}, &f->words), EXEC_NOT_PACKED);
    assert_string_equal(f->words.text, "three: weights of layer two are missing");
    set_weight(f, net, "two", "w", 3);
    expect_network(f, net, 2, 5, 3, 7);
    expect_network(f, net, 2, 5, 3, 7); /* nothing is left of the run before */
    set_weight(f, net, "one", "w", 4);  /* replaced when all of the layer's have been given again */
    expect_network(f, net, 2, 5, 3, 7);
    set_weight(f, net, "one", "bias", 6);
    expect_network(f, net, 4, 6, 3, 7);
    set_weight(f, net, "two", "w", 8);
    set_weight(f, net, "two", "w", 9); /* of one given twice the last counts */
    set_weight(f, net, "two", "bias", 1);
    expect_network(f, net, 4, 6, 9, 1);
    exec_net_cl_close(net);
    exec_cl_op_close(ops[0]);
    exec_cl_op_close(ops[1]);
}

static cl_uint references(cl_context context)
{
    cl_uint n = 0;
    assert_int_equal(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof n, &n, NULL), CL_SUCCESS);
    return n;
}

/* As many as they are when they have not changed for a while: PoCL's threads let go of what they ran behind its end. */
static cl_uint settled_references(cl_context context)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    cl_uint n = references(context);
    for (int quiet = 0; quiet < 30; quiet++) {
        nanosleep(&pause, NULL);
        const cl_uint now = references(context);
        quiet = now == n ? quiet : 0;
        n = now;
    }
    return n;
}

/* A network whose weights are given so often, run and closed: what still holds the context. */
static cl_uint held_behind(struct fixture *f, int n_times)
{
    struct exec_cl_op *ops[] = {open_op(f, &scale_plan), open_op(f, &sum_plan)};
    struct exec_net_cl *net = NULL;
    assert_int_equal(exec_net_cl_open(f->context, &three_layers, ops, &f->words, &net), EXEC_OK);
    for (int i = 1; i <= n_times; i++) {
        set_weight(f, net, "one", "w", i);
        set_weight(f, net, "one", "bias", 2);
        set_weight(f, net, "two", "w", 3);
        set_weight(f, net, "two", "bias", 4);
        expect_network(f, net, i, 2, 3, 4);
    }
    exec_net_cl_close(net);
    exec_cl_op_close(ops[0]);
    exec_cl_op_close(ops[1]);
    return settled_references(f->context);
}

/* Memory that is not released holds its context. */
static void weights_that_are_set_anew_free_the_former_ones(void **state)
{
    struct fixture *f = *state;
    const cl_uint once = held_behind(f, 1);
    assert_int_equal(held_behind(f, 3), once);
}

/* y = x by way of scratch, three times: steps that were bound to scratch memory follow when a plan opened later makes
 * it larger. */
static void steps_of_a_network_follow_scratch_that_grows(void **state)
{
    static const struct exec_buffer way_buffers[] = {{"x", EXEC_INPUT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
                                                     {"t", EXEC_SCRATCH, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
                                                     {"y", EXEC_OUTPUT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0}};
    static const struct exec_buffer large_buffers[] = {{"x", EXEC_INPUT, 4 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0},
                                                       {"t", EXEC_SCRATCH, 4096 * N, EXEC_FILL_NONE, {0}, 0, NULL, 0}};
    static const struct exec_arg there[] = {B(1), B(0), {EXEC_ARG_I64, 4 * N, 0, {0, 0, 0}}};
    static const struct exec_arg back[] = {B(2), B(1), {EXEC_ARG_I64, 4 * N, 0, {0, 0, 0}}};
    static const struct exec_launch way_launches[] = {
        {EXEC_COPY, EXEC_RUN, 0, "", {1, 1, 1}, {1, 1, 1}, there, 3, 0, 0, 0, NULL, 0},
        {EXEC_COPY, EXEC_RUN, 0, "", {1, 1, 1}, {1, 1, 1}, back, 3, 0, 0, 0, NULL, 0}};
    static const struct exec_plan way = {"way", layer_modules, 0, way_buffers, 3, way_launches, 2, NULL, 0},
                                  large = {"large", layer_modules, 0, large_buffers, 2, way_launches, 1, NULL, 0};
    static const struct exec_plan *const plans[] = {&way};
    static const int last_values[] = {2, 3};
    static const struct exec_step steps[] = {
        {"one", 0, first_values, 2, 0}, {"two", 0, second_values, 2, 0}, {"last", 0, last_values, 2, 0}};
    static const struct exec_network ways = {"ways", plans, 1, net_values, 4, net_slots, 2, steps, 3, 2};
    struct fixture *f = *state;
    struct exec_cl_op *op = open_op(f, &way), *later = NULL;
    struct exec_net_cl *net = NULL;
    assert_int_equal(exec_net_cl_open(f->context, &ways, &op, &f->words, &net), EXEC_OK);
    for (int i = 0; i < 2; i++) {
        cl_int got[N];
        assert_int_equal(exec_net_cl_run(net, f->queues[0], (const cl_mem[]){f->x, f->y[i]}, &f->words), EXEC_OK);
        assert_int_equal(clEnqueueReadBuffer(f->queues[0], f->y[i], CL_TRUE, 0, sizeof got, got, 0, NULL, NULL),
                         CL_SUCCESS);
        for (int k = 0; k < N; k++)
            assert_int_equal(got[k], 100 * k);
        if (!later)
            later = open_op(f, &large);
    }
    exec_net_cl_close(net);
    exec_cl_op_close(op);
    exec_cl_op_close(later);
}

/* Weights packed on one queue serve runs on another; closing the network ends what is under way before its memory goes.
 */
static void a_network_runs_on_another_queue_and_closes_behind_its_run(void **state)
{
    struct fixture *f = *state;
    struct exec_cl_op *ops[] = {open_op(f, &scale_plan), open_op(f, &sum_plan)};
    struct exec_net_cl *net = NULL;
    cl_int got[N];
    assert_int_equal(exec_net_cl_open(f->context, &three_layers, ops, &f->words, &net), EXEC_OK);
    set_weight(f, net, "one", "w", 2);
    set_weight(f, net, "one", "bias", 5);
    set_weight(f, net, "two", "w", 3);
    set_weight(f, net, "two", "bias", 7);
    assert_int_equal(exec_net_cl_run(net, f->queues[1], (const cl_mem[]){f->x, f->y[0]}, &f->words), EXEC_OK);
    exec_net_cl_close(net);
    assert_int_equal(clEnqueueReadBuffer(f->queues[1], f->y[0], CL_TRUE, 0, sizeof got, got, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int i = 0; i < N; i++) {
        const int h = 100 * i * 2 * (i + 1) + 5 * (i + 1);
        assert_int_equal(got[i], h - (h * 3 * (i + 1) + 7 * (i + 1)));
    }
    exec_cl_op_close(ops[0]);
    exec_cl_op_close(ops[1]);
}

static void weights_of_a_network_are_checked(void **state)
{
    static const struct exec_step short_steps[] = {{"one", 0, third_values, 3, 0}};
    static const struct exec_network wrong = {"wrong", net_plans, 2, net_values, 4, net_slots, 2, short_steps, 1, 2};
    static const int zeros[N] = {0};
    struct fixture *f = *state;
    cl_command_queue q = f->queues[0];
    struct exec_cl_op *ops[] = {open_op(f, &scale_plan), open_op(f, &sum_plan)};
    struct exec_net_cl *net = NULL;
    assert_int_equal(exec_net_cl_open(f->context, &wrong, ops, &f->words, &net), EXEC_BAD_ARGUMENT);
    assert_string_equal(f->words.text, "step one has 3 tensors, its plan 2");
    assert_null(net);
    assert_int_equal(exec_net_cl_open(f->context, &three_layers, ops, &f->words, &net), EXEC_OK);
    assert_int_equal(exec_net_cl_set(net, q, "four", "w", zeros, 4 * N, &f->words), EXEC_BAD_ARGUMENT);
    assert_string_equal(f->words.text, "three has no layer 'four'");
    assert_int_equal(exec_net_cl_set(net, q, "two", "u", zeros, 4 * N, &f->words), EXEC_BAD_ARGUMENT);
    assert_string_equal(f->words.text, "layer two of three has no weight 'u'; it has: w, bias");
    assert_int_equal(exec_net_cl_set(net, q, "last", "w", zeros, 4 * N, &f->words), EXEC_BAD_ARGUMENT);
    assert_non_null(strstr(f->words.text, "it has: none"));
    for (size_t n = 4 * N - 1; n <= 4 * N + 1; n += 2) {
        assert_int_equal(exec_net_cl_set(net, q, "two", "w", zeros, n, &f->words), EXEC_BAD_ARGUMENT);
    }
    assert_string_equal(f->words.text, "weight w of layer two: expected 256 bytes, not 257");
    assert_int_equal(exec_net_cl_set(net, q, "two", "w", NULL, 4 * N, &f->words), EXEC_BAD_ARGUMENT);
    assert_int_equal(exec_net_cl_run(net, q, NULL, &f->words), EXEC_BAD_ARGUMENT);
    assert_int_equal(exec_net_cl_run(net, q, (const cl_mem[]){NULL, f->y[0]}, &f->words), EXEC_BAD_ARGUMENT);
    assert_int_equal(exec_net_cl_run(net, q, (const cl_mem[]){f->x, NULL}, &f->words), EXEC_BAD_ARGUMENT);
    assert_string_equal(f->words.text, "argument 1 of three is NULL");
    exec_net_cl_close(net);
    exec_net_cl_close(NULL);
    exec_cl_op_close(ops[0]);
    exec_cl_op_close(ops[1]);
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
        TEST(a_plan_runs_again_and_again),
        TEST(a_state_outlives_runs),
        TEST(equal_modules_are_built_once),
        TEST(plans_share_scratch),
        TEST(a_plan_has_several_sets_of_weights),
        TEST(queues_of_a_plan_wait_for_one_another),
        TEST(one_of_several_that_wait_is_enough_to_be_awaited),
        TEST(launches_that_do_not_suit_their_kernel_are_refused),
        TEST(what_is_wrong_is_told),
        TEST(damaged_binaries_fall_back_to_text),
        TEST(tensors_are_as_large_as_the_plan_says),
        TEST(scratch_is_never_made_smaller),
        TEST(queues_are_of_the_session_and_in_order),
        TEST(a_network_runs_its_layers_with_weights_of_their_own),
        TEST(weights_that_are_set_anew_free_the_former_ones),
        TEST(steps_of_a_network_follow_scratch_that_grows),
        TEST(a_network_runs_on_another_queue_and_closes_behind_its_run),
        TEST(weights_of_a_network_are_checked),
    };
    if (exec_cl_load(NULL) != EXEC_OK || !has_device()) {
        print_message("skipped: no OpenCL device\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
