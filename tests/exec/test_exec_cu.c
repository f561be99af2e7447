/* SPDX-License-Identifier: MIT */
/* The CUDA executor on the emulated driver (tests/cuda): plans written by hand, in the caller's context and streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/exec/cu_rig.h"

#define N 1000
#define AT "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"

static char calls[] = "/tmp/test_exec_cu_XXXXXX"; /* the emulated driver's log */

/* ---- one kernel: y[i] = value of the code ---- */

static const struct exec_arg put_args[] = {{.kind = EXEC_ARG_BUFFER, .integer = 0},
                                           {.kind = EXEC_ARG_I32, .integer = N}};
static const struct exec_buffer put_buffers[] = {{.id = "y", .role = EXEC_OUTPUT, .n_bytes = N * sizeof(int)}};
#define PUT(value) KERNEL "put(int *y, int n) {" AT "if (i < n) y[i] = " value "; }\n"

static void expect_put(struct session *x, struct code *c, int value)
{
    const struct exec_launch launches[] = {kernel("put", (N + 63) / 64, 64, put_args, 2)};
    PLAN(put, c, put_buffers, launches);
    const exec_cu_mem y = emulated_buffer(NULL, N * sizeof(int));
    struct exec_cu_op *op = open_op(x, &put);

    run(x, op, 0, &y, NULL);
    wait_for(x);
    expect_all(y, N, value);
    exec_cu_op_close(op);
    assert_int_equal(cuda.cuMemFree_v2(y), 0);
}

static void code_of_the_device_s_own_sm_goes_first(void **state)
{
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "75");
    code_make(&c, PUT("61"));
    expect_put(&x, &c, 61);
    code_add(&c, "compute_75", PUT("175"));
    expect_put(&x, &c, 175); /* the highest PTX */
    code_add(&c, "sm_75", PUT("75"));
    expect_put(&x, &c, 75);
    code_free(&c);
    end(&x);
    begin(&x, "86");
    code_make(&c, PUT("61"));
    code_add(&c, "sm_80", PUT("80"));
    expect_put(&x, &c, 61); /* PTX before the cubin of an older one */
    c.binaries[0].target = "compute_90";
    expect_put(&x, &c, 80);
    code_free(&c);
    end(&x);
}

static void code_that_the_driver_refuses_falls_back_to_the_next(void **state)
{
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "75");
    code_make(&c, PUT("61"));
    code_add(&c, "sm_75", PUT("75"));
    memset(c.images[1] + 64, 0, c.binaries[1].n_bytes - 64); /* an ELF head and nothing behind it */
    expect_put(&x, &c, 61);
    c.binaries[1].n_bytes = 10;
    expect_put(&x, &c, 61);
    code_add(&c, "compute_70", PUT("70"));
    expect_put(&x, &c, 70);
    c.binaries[2].sum = 1; /* not that of its bytes */
    expect_put(&x, &c, 61);
    code_free(&c);
    end(&x);
}

static void code_for_other_devices_is_refused(void **state)
{
    const struct exec_launch launches[] = {kernel("put", 1, 64, put_args, 2)}, other[] = {kernel("no", 1, 1, NULL, 0)};
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "52");
    code_make(&c, PUT("1"));
    PLAN(put, &c, put_buffers, launches);
    refused(&x, &put, EXEC_NO_DEVICE, "is an sm_52: the code here is for compute_61");
    c.binaries[0].target = "compute_52"; /* a lie: the driver finds it out */
    refused(&x, &put, EXEC_BUILD_FAILED, "code for compute_52: CUDA_ERROR_NO_BINARY_FOR_GPU");
    c.module.n_binaries = 0;
    refused(&x, &put, EXEC_NO_DEVICE, "for nothing");
    code_free(&c);
    end(&x);
    begin(&x, "61");
    code_make(&c, PUT("1"));
    setenv("TUNE_CUDA_DRIVER", "12000", 1);
    refused(&x, &put, EXEC_BUILD_FAILED, "UNSUPPORTED_PTX_VERSION");
    unsetenv("TUNE_CUDA_DRIVER");
    put.launches = other;
    refused(&x, &put, EXEC_BUILD_FAILED, "no kernel named no ");
    code_free(&c);
    end(&x);
}

/* ---- weights ---- */

static const char pack_text[] = KERNEL "pack(int *p, const int *w, int n) {" AT "if (i < n) p[i] = 2 * w[i]; }\n" KERNEL
                                       "apply(int *y, const int *x, const int *p, const int *w, int n) {" AT
                                       "if (i < n) y[i] = x[i] * p[i] + w[i]; }\n";

static CUdeviceptr whole_numbers(int value)
{
    int content[N];

    for (int i = 0; i < N; i++)
        content[i] = value;
    return emulated_buffer(content, sizeof content);
}

/* The host's memory may go at once. */
static void weights_come_from_host_memory(struct session *x, struct exec_cu_op *op, const exec_cu_mem *tensors)
{
    const void *missing[1] = {NULL}, *list[1];
    struct exec_cu_weights *w = NULL;
    int *content = malloc(N * sizeof *content);

    assert_non_null(content);
    for (int i = 0; i < N; i++)
        content[i] = 11;
    list[0] = content;
    assert_int_equal(exec_cu_pack_host(op, x->streams[0], missing, &words, &w), EXEC_BAD_ARGUMENT);
    assert_int_equal(exec_cu_pack_host(op, x->streams[0], list, &words, &w), EXEC_OK);
    memset(content, 0, N * sizeof *content);
    free(content);
    run(x, op, 1, tensors, w);
    wait_for(x);
    expect_all(tensors[1], N, 7 * 22 + 11);
    exec_cu_weights_free(w);
}

static void weights_are_packed_once_and_live_side_by_side(void **state)
{
    static const struct exec_buffer buffers[] = {{.id = "x", .role = EXEC_INPUT, .n_bytes = N * sizeof(int)},
                                                 {.id = "w", .role = EXEC_WEIGHT, .n_bytes = N * sizeof(int)},
                                                 {.id = "y", .role = EXEC_OUTPUT, .n_bytes = N * sizeof(int)},
                                                 {.id = "p", .role = EXEC_PACKED, .n_bytes = N * sizeof(int)}};
    const struct exec_arg pack[] = {buffer(3), buffer(1), i32(N)},
                          apply[] = {buffer(2), buffer(0), buffer(3), buffer(1), i32(N)};
    struct exec_launch launches[] = {kernel("pack", 16, 64, pack, 3), kernel("apply", 16, 64, apply, 5)};
    struct exec_cu_weights *w[2] = {NULL, NULL}, *of_other = NULL;
    struct exec_cu_op *op, *other;
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "61");
    launches[0].phase = EXEC_PACK;
    code_make(&c, pack_text);
    PLAN(layer, &c, buffers, launches);
    op = open_op(&x, &layer);
    other = open_op(&x, &layer);
    const exec_cu_mem given[2] = {whole_numbers(3), whole_numbers(5)},
                      tensors[2] = {whole_numbers(7), whole_numbers(-1)};
    const exec_cu_mem missing[2] = {tensors[0], 0}, none = 0;

    assert_int_equal(exec_cu_run(op, x.streams[0], tensors, NULL, &words), EXEC_NOT_PACKED);
    assert_int_equal(exec_cu_pack(op, x.streams[0], &none, &words, &w[0]), EXEC_BAD_ARGUMENT);
    assert_non_null(strstr(words.text, "weight w is missing"));
    for (int i = 0; i < 2; i++)
        assert_int_equal(exec_cu_pack(op, x.streams[i], &given[i], &words, &w[i]), EXEC_OK);
    assert_int_equal(exec_cu_pack(other, x.streams[0], &given[0], &words, &of_other), EXEC_OK);
    assert_int_equal(exec_cu_run(op, x.streams[0], tensors, of_other, &words), EXEC_BAD_ARGUMENT);
    assert_int_equal(exec_cu_run(op, x.streams[0], missing, w[0], &words), EXEC_BAD_ARGUMENT);
    assert_non_null(strstr(words.text, "tensor y is missing"));
    for (int round = 0; round < 4; round++) {
        run(&x, op, round / 2, tensors, w[round % 2]); /* a stream that did not pack, too */
        wait_for(&x);
        expect_all(tensors[1], N, round % 2 ? 7 * 10 + 5 : 7 * 6 + 3);
    }
    weights_come_from_host_memory(&x, op, tensors);
    for (int i = 0; i < 2; i++) {
        exec_cu_weights_free(w[i]);
        cuda.cuMemFree_v2(given[i]);
        cuda.cuMemFree_v2(tensors[i]);
    }
    exec_cu_weights_free(of_other);
    exec_cu_op_close(other);
    exec_cu_op_close(op);
    code_free(&c);
    end(&x);
}

/* ---- loops, fills, copies ---- */

static void loops_repeat_launches_and_bump_arguments(void **state)
{
    static const struct exec_buffer buffers[] = {{.id = "x", .role = EXEC_OUTPUT, .n_bytes = 4}};
    struct exec_arg fill[] = {buffer(0), i32(1), i32(4)}, add[] = {buffer(0), i32(1)}, twice[] = {buffer(0)};
    const struct exec_launch launches[] = {
        {.op = EXEC_FILL, .args = fill, .n_args = 3}, kernel("add", 1, 1, add, 2), kernel("twice", 1, 1, twice, 1)};
    static const struct exec_loop loops[] = {{1, 2, 2}, {1, 2, 3}};
    int wanted = 1;
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "61");
    add[1].bump[0] = 10;
    add[1].bump[1] = 1;
    code_make(&c, KERNEL "add(int *x, int v) { x[0] += v; }\n" KERNEL "twice(int *x) { x[0] *= 2; }\n");
    PLAN(looped, &c, buffers, launches);
    looped.loops = loops;
    looped.n_loops = 2;
    for (int outer = 0; outer < 2; outer++)
        for (int inner = 0; inner < 3; inner++)
            wanted = 2 * (wanted + 1 + 10 * outer + inner);
    struct exec_cu_op *op = open_op(&x, &looped);
    const exec_cu_mem y = emulated_buffer(NULL, 4);
    for (int round = 0; round < 2; round++) {
        run(&x, op, 0, &y, NULL);
        wait_for(&x);
        expect_all(y, 1, wanted);
    }
    cuda.cuMemFree_v2(y);
    exec_cu_op_close(op);
    code_free(&c);
    end(&x);
}

/* y = 1000 * a + 100 * b + 10 * s + h: a is bytes, filled once; b is a value, each run; s counts runs; h is two bytes
 * wide, filled by a launch. Then y is copied to z. */
static void buffers_are_filled_when_the_plan_says(void **state)
{
    static const int one = 1;
    static const struct exec_buffer buffers[] = {
        {.id = "y", .role = EXEC_OUTPUT, .n_bytes = 4},
        {.id = "z", .role = EXEC_OUTPUT, .n_bytes = 4},
        {.id = "a", .role = EXEC_SCRATCH, .n_bytes = 4, .fill = EXEC_FILL_BYTES, .bytes = (const unsigned char *)&one},
        {.id = "b",
         .role = EXEC_SCRATCH,
         .n_bytes = 4,
         .fill = EXEC_FILL_VALUE,
         .pattern = {2},
         .n_pattern = 4,
         .each_run = 1},
        {.id = "s", .role = EXEC_STATE, .n_bytes = 4, .fill = EXEC_FILL_VALUE, .pattern = {0}, .n_pattern = 1},
        {.id = "h", .role = EXEC_SCRATCH, .n_bytes = 4}};
    const struct exec_arg count[] = {buffer(0), buffer(2), buffer(3), buffer(4), buffer(5)},
                          fill[] = {buffer(5), i32(7), i32(2)}, copy[] = {buffer(1), buffer(0), i32(4)};
    const struct exec_launch launches[] = {{.op = EXEC_FILL, .args = fill, .n_args = 3},
                                           kernel("count", 1, 1, count, 5),
                                           {.op = EXEC_COPY, .args = copy, .n_args = 3}};
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "61");
    code_make(&c, KERNEL "count(int *y, int *a, int *b, int *s, short *h)\n"
                         "{ y[0] = 1000 * a[0]++ + 100 * b[0]++ + 10 * s[0]++ + (h[0] == h[1] ? h[0] : -1); }\n");
    PLAN(counted, &c, buffers, launches);
    struct exec_cu_op *op = open_op(&x, &counted);
    const exec_cu_mem tensors[2] = {emulated_buffer(NULL, 4), emulated_buffer(NULL, 4)};
    for (int round = 0; round < 3; round++) {
        run(&x, op, 0, tensors, NULL);
        wait_for(&x);
        expect_all(tensors[1], 1, 1000 * (1 + round) + 200 + 10 * round + 7);
    }
    cuda.cuMemFree_v2(tensors[0]);
    cuda.cuMemFree_v2(tensors[1]);
    exec_cu_op_close(op);
    code_free(&c);
    end(&x);
}

/* ---- scratch of the session ---- */

static const char scratch_text[] =
    KERNEL "to(int *s, const int *y, int a, int b, int n) {" AT "if (i < n) s[i] = a * y[i % 1000] + b; }\n" KERNEL
           "from(int *y, const int *s, int n) {" AT "if (i < n) y[i] = s[i]; }\n";

/* y = y + 1 and y = 2 y by way of one piece of memory, of which the second needs more; on two streams, whose order the
 * driver changes. */
static void scratch_is_shared_and_streams_wait(void **state)
{
    const struct exec_buffer small[] = {{.id = "y", .role = EXEC_OUTPUT, .n_bytes = N * sizeof(int)},
                                        {.id = "s", .role = EXEC_SCRATCH, .n_bytes = N * sizeof(int)}},
                             large[] = {small[0], {.id = "s", .role = EXEC_SCRATCH, .n_bytes = 2 * N * sizeof(int)}};
    const struct exec_arg to[2][5] = {{buffer(1), buffer(0), i32(1), i32(1), i32(N)},
                                      {buffer(1), buffer(0), i32(2), i32(0), i32(2 * N)}},
                          from[] = {buffer(0), buffer(1), i32(N)};
    struct exec_launch launches[2][2];
    struct session x;
    struct code c;
    char seed[8];

    (void)state;
    code_make(&c, scratch_text);
    for (int i = 0; i < 2; i++) {
        launches[i][0] = kernel("to", 32, 64, to[i], 5);
        launches[i][1] = kernel("from", 16, 64, from, 3);
    }
    PLAN(one, &c, small, launches[0]);
    PLAN(two, &c, large, launches[1]);
    for (int round = 0; round < 8; round++) {
        snprintf(seed, sizeof seed, "%d", round);
        setenv("TUNE_CUDA_SEED", seed, 1);
        begin(&x, "61");
        const exec_cu_mem y = whole_numbers(0);
        struct exec_cu_op *ops[2] = {open_op(&x, &one), NULL};
        run(&x, ops[0], 0, &y, NULL);
        ops[1] = open_op(&x, &two); /* while the first one runs */
        for (int i = 1; i < 6; i++)
            run(&x, ops[i % 2], i % 2, &y, NULL);
        wait_for(&x);
        expect_all(y, N, 14); /* 1 2 3 6 7 14 */
        exec_cu_op_close(ops[0]);
        exec_cu_op_close(ops[1]);
        cuda.cuMemFree_v2(y);
        end(&x);
    }
    code_free(&c);
}

/* ---- queues ---- */

/* Launches of three queues that wait for one another, in the loop for the turn before too: y = 2 (3 y + turn) + 5
 * twice, then y + 100. Factors are doubles. The next run, on another stream, begins behind all of it. */
static void queues_of_a_plan_wait_for_one_another(void **state)
{
    static const int first[] = {0}, second[] = {1};
    const struct exec_arg args[3][4] = {
        {buffer(0), {.kind = EXEC_ARG_F64, .real = 3}, {.kind = EXEC_ARG_I32, .bump = {1}}, i32(N)},
        {buffer(0), {.kind = EXEC_ARG_F64, .real = 2}, i32(5), i32(N)},
        {buffer(0), {.kind = EXEC_ARG_F64, .real = 1}, i32(100), i32(N)}};
    static const struct exec_loop loop = {0, 1, 2};
    struct exec_launch launches[3];
    struct code c;
    int expected = 0;

    (void)state;
    code_make(&c, KERNEL "mad(int *y, double by, int add, int n) {" AT "if (i < n) y[i] = (int)(by * y[i]) + add; }\n");
    for (int i = 0; i < 3; i++) {
        launches[i] = kernel("mad", (N + 63) / 64, 64, args[i], 4);
        launches[i].queue = (i + 1) % 3;
        launches[i].after = i == 1 ? first : second;
        launches[i].n_after = 1;
    }
    PLAN(mads, &c, put_buffers, launches);
    mads.loops = &loop;
    mads.n_loops = 1;
    for (int i = 0; i < 3; i++) {
        for (int turn = 0; turn < 2; turn++)
            expected = 2 * (3 * expected + turn) + 5;
        expected += 100;
    }
    for (int round = 0; round < 8; round++) {
        const char seed[2] = {(char)('0' + round), '\0'};
        struct session x;

        setenv("TUNE_CUDA_SEED", seed, 1);
        begin(&x, "61");
        const exec_cu_mem y = whole_numbers(0);
        struct exec_cu_op *op = open_op(&x, &mads);
        for (int i = 0; i < 3; i++)
            run(&x, op, i % 2, &y, NULL);
        wait_for(&x);
        expect_all(y, N, expected);
        exec_cu_op_close(op);
        cuda.cuMemFree_v2(y);
        end(&x);
    }
    code_free(&c);
}

/* ---- the caller's context ---- */

static void runs_are_captured_into_graphs(void **state)
{
    const struct exec_launch launches[] = {kernel("put", (N + 63) / 64, 64, put_args, 2)};
    CUgraph graph = NULL;
    CUgraphExec replay = NULL;
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "75");
    code_make(&c, PUT("3"));
    PLAN(put, &c, put_buffers, launches);
    const exec_cu_mem y = emulated_buffer(NULL, N * sizeof(int)), other = emulated_buffer(NULL, N * sizeof(int));
    struct exec_cu_op *op = open_op(&x, &put);
    run(&x, op, 1, &other, NULL);
    assert_int_equal(cuda.cuStreamBeginCapture_v2(x.streams[0], 1), 0);
    run(&x, op, 0, &y, NULL);
    assert_int_equal(cuda.cuStreamEndCapture(x.streams[0], &graph), 0);
    assert_int_equal(cuda.cuGraphInstantiateWithFlags(&replay, graph, 0), 0);
    assert_int_equal(cuda.cuGraphLaunch(replay, x.streams[0]), 0);
    run(&x, op, 1, &other, NULL);
    wait_for(&x);
    expect_all(y, N, 3);
    cuda.cuGraphExecDestroy(replay);
    cuda.cuGraphDestroy(graph);
    exec_cu_op_close(op);
    cuda.cuMemFree_v2(y);
    cuda.cuMemFree_v2(other);
    code_free(&c);
    end(&x);
}

static void the_caller_s_context_stays_current(void **state)
{
    CUcontext second = NULL, now = NULL;
    struct exec_cu *none = NULL;
    struct exec_cu_device d;
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "61,75");
    exec_cu_device(x.s, &d);
    assert_int_equal(d.sm, 61);
    assert_true(d.units > 0 && d.name[0] != '\0');
    assert_int_equal(cuda.cuCtxCreate_v2(&second, 0, 1), 0); /* current now */
    code_make(&c, PUT("9"));
    assert_int_equal(cuda.cuCtxSetCurrent(x.context), 0);
    const exec_cu_mem y = emulated_buffer(NULL, N * sizeof(int));
    assert_int_equal(cuda.cuCtxSetCurrent(second), 0);
    const struct exec_launch launches[] = {kernel("put", (N + 63) / 64, 64, put_args, 2)};
    PLAN(put, &c, put_buffers, launches);
    struct exec_cu_op *op = open_op(&x, &put);
    run(&x, op, 0, &y, NULL);
    assert_int_equal(cuda.cuCtxGetCurrent(&now), 0);
    assert_ptr_equal(now, second);
    assert_int_equal(cuda.cuCtxSetCurrent(x.context), 0);
    wait_for(&x);
    expect_all(y, N, 9);
    exec_cu_op_close(op);
    cuda.cuMemFree_v2(y);
    assert_int_equal(cuda.cuCtxDestroy_v2(second), 0);
    code_free(&c);
    end(&x);
    assert_int_equal(cuda.cuCtxSetCurrent(NULL), 0);
    assert_int_equal(exec_cu_open(NULL, &words, &none), EXEC_BAD_ARGUMENT);
    assert_non_null(strstr(words.text, "no CUDA context is current"));
    exec_cu_close(NULL);
}

static void failures_of_the_driver_are_told(void **state)
{
    const struct exec_launch launches[] = {kernel("put", (N + 63) / 64, 64, put_args, 2)};
    const struct exec_buffer more[] = {put_buffers[0],
                                       {.id = "s", .role = EXEC_STATE, .n_bytes = 64, .fill = EXEC_FILL_NONE}};
    const struct exec_arg args[] = {buffer(1), i32(1)};
    const struct exec_launch state_launch[] = {kernel("put", 1, 1, args, 2)};
    struct exec_cu *none = NULL;
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "61");
    code_make(&c, PUT("1"));
    PLAN(put, &c, put_buffers, launches);
    PLAN(kept, &c, more, state_launch);
    const exec_cu_mem y = emulated_buffer(NULL, N * sizeof(int));
    struct exec_cu_op *op = open_op(&x, &put);
    setenv("TUNE_CUDA_FAIL", "cuMemAlloc=2@1", 1);
    assert_int_equal(cuda.cuInit(0), 0); /* reads it */
    refused(&x, &kept, EXEC_DEVICE_FAILED, "memory for s, 64 bytes: CUDA_ERROR_OUT_OF_MEMORY");
    setenv("TUNE_CUDA_FAIL", "cuLaunchKernel=701@1", 1);
    assert_int_equal(cuda.cuInit(0), 0);
    assert_int_equal(exec_cu_run(op, x.streams[0], &y, NULL, &words), EXEC_DEVICE_FAILED);
    assert_non_null(strstr(words.text, "put: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"));
    unsetenv("TUNE_CUDA_FAIL");
    assert_int_equal(cuda.cuInit(0), 0);
    exec_cu_op_close(op);
    cuda.cuMemFree_v2(y);
    code_free(&c);
    end(&x);
    setenv("TUNE_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
    assert_int_equal(exec_cu_open(NULL, &words, &none), EXEC_NO_DEVICE);
    assert_non_null(strstr(words.text, "/nowhere/libcuda.so.1"));
    setenv("TUNE_CUDA_LIBRARY", "", 1); /* as if it were not set: the machine's driver, if any */
    if (exec_cu_open(NULL, &words, &none) == EXEC_OK)
        exec_cu_close(none);
    else if (strstr(words.text, "has no cuInit") || strstr(words.text, "TUNE_CUDA_LIBRARY"))
        fail_msg("an empty TUNE_CUDA_LIBRARY: %s", words.text);
    none = NULL;
    setenv("TUNE_CUDA_LIBRARY", EMULATED_NVRTC_PATH, 1);
    assert_int_equal(exec_cu_open(NULL, &words, &none), EXEC_NO_DEVICE);
    assert_non_null(strstr(words.text, "has no cuInit"));
    setenv("TUNE_CUDA_LIBRARY", EMULATED_CUDA, 1);
}

/* Equal modules are loaded once: who closes first leaves the others their code. */
static void code_stays_while_one_op_uses_it(void **state)
{
    const struct exec_launch launches[] = {kernel("put", (N + 63) / 64, 64, put_args, 2)};
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "61");
    code_make(&c, PUT("5"));
    PLAN(put, &c, put_buffers, launches);
    const exec_cu_mem y = emulated_buffer(NULL, N * sizeof(int));
    struct exec_cu_op *first = open_op(&x, &put), *second = open_op(&x, &put);
    exec_cu_op_close(first);
    run(&x, second, 0, &y, NULL);
    wait_for(&x);
    expect_all(y, N, 5);
    exec_cu_op_close(second);
    cuda.cuMemFree_v2(y);
    code_free(&c);
    end(&x);
}

/* What a destroyed context still held is in the driver's log. */
static void nothing_is_left_behind(void **state)
{
    char line[1024];
    int n = 0;
    FILE *f = fopen(calls, "r");

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        n++;
        if (strstr(line, "left over") && !strstr(line, "buffers=0 streams=0 events=0 modules=0"))
            fail_msg("%s", line);
    }
    fclose(f);
    assert_true(n > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_of_the_device_s_own_sm_goes_first),
        cmocka_unit_test(code_that_the_driver_refuses_falls_back_to_the_next),
        cmocka_unit_test(code_for_other_devices_is_refused),
        cmocka_unit_test(weights_are_packed_once_and_live_side_by_side),
        cmocka_unit_test(loops_repeat_launches_and_bump_arguments),
        cmocka_unit_test(buffers_are_filled_when_the_plan_says),
        cmocka_unit_test(scratch_is_shared_and_streams_wait),
        cmocka_unit_test(queues_of_a_plan_wait_for_one_another),
        cmocka_unit_test(runs_are_captured_into_graphs),
        cmocka_unit_test(the_caller_s_context_stays_current),
        cmocka_unit_test(failures_of_the_driver_are_told),
        cmocka_unit_test(code_stays_while_one_op_uses_it),
        cmocka_unit_test(nothing_is_left_behind),
    };
    const int fd = mkstemp(calls);
    int result;

    if (fd < 0)
        return 1;
    close(fd);
    setenv("TUNE_CUDA_LOG", calls, 1);
    result = cu_rig_start();
    if (!result)
        result = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(calls);
    return result;
}
