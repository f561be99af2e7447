/* SPDX-License-Identifier: MIT */
/* What the CUDA executor asks of kernels and modules before it starts them: shared memory, cooperative launches,
 * variables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exec/cu_rig.h"

/* ---- shared memory, cooperative launches ---- */

static void more_than_48_kib_of_shared_memory_are_asked_for(void **state)
{
    static const struct exec_buffer buffers[] = {{.id = "y", .role = EXEC_OUTPUT, .n_bytes = 4}};
    const struct exec_arg args[] = {buffer(0), i32(0)};
    struct exec_launch launches[2] = {kernel("wide", 1, 32, args, 2), kernel("wide", 1, 32, args, 2)};
    struct exec_arg later[] = {buffer(0), i32(15000)};
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "80");
    code_make(&c, KERNEL "wide(int *y, int last)\n{ extern __shared__ int s[];\n"
                         "  if (threadIdx.x == 0) s[last] = 5; __syncthreads(); y[0] = s[last]; }\n");
    launches[0].dyn_local = 1024; /* the smaller one of a kernel does not lower the larger one */
    launches[1].dyn_local = 60004;
    launches[1].args = later;
    PLAN(wide, &c, buffers, launches);
    const exec_cu_mem y = emulated_buffer(NULL, 4);
    struct exec_cu_op *op = open_op(&x, &wide), *again;
    launches[1].dyn_local = 50000;
    again = open_op(&x, &wide);
    launches[1].dyn_local = 60004;
    run(&x, op, 0, &y, NULL);
    wait_for(&x);
    expect_all(y, 1, 5);
    exec_cu_op_close(again);
    exec_cu_op_close(op);
    launches[1].dyn_local = 200000;
    refused(&x, &wide, EXEC_NO_DEVICE, "kernel wide uses 200000 bytes of shared memory, the device has ");
    cuda.cuMemFree_v2(y);
    code_free(&c);
    end(&x);
}

static void cooperative_launches_have_to_fit(void **state)
{
    static const struct exec_buffer buffers[] = {{.id = "y", .role = EXEC_OUTPUT, .n_bytes = 4 * sizeof(int)},
                                                 {.id = "n", .role = EXEC_SCRATCH, .n_bytes = 4 * sizeof(int)}};
    const struct exec_arg args[] = {buffer(0), buffer(1)}, fill[] = {buffer(1), i32(0), i32(4)};
    struct exec_launch launches[] = {{.op = EXEC_FILL, .args = fill, .n_args = 3}, kernel("meet", 4, 1, args, 2)};
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "75");
    code_make(&c, KERNEL "meet(int *y, volatile int *here)\n"
                         "{ int n; here[blockIdx.x] = 1;\n"
                         "  do { __nanosleep(200000); n = here[0] + here[1] + here[2] + here[3]; } while (n < 4);\n"
                         "  y[blockIdx.x] = n; }\n");
    launches[1].cooperative = 1;
    PLAN(meeting, &c, buffers, launches);
    const exec_cu_mem y = emulated_buffer(NULL, 4 * sizeof(int));
    struct exec_cu_op *op = open_op(&x, &meeting);
    run(&x, op, 0, &y, NULL);
    wait_for(&x);
    expect_all(y, 4, 4);
    exec_cu_op_close(op);
    for (int side = 0; side < 4; side++) { /* along each side, and of all three */
        for (int i = 0; i < 3; i++)
            launches[1].grid[i] = side == 3 ? 100 : side == i ? 1000000 : 1;
        refused(&x, &meeting, EXEC_NO_DEVICE, "1000000 blocks at the same time");
    }
    cuda.cuMemFree_v2(y);
    code_free(&c);
    end(&x);
}

/* ---- variables of modules ---- */

/* As many bytes as it has go into a variable, or fewer; y is the sum of what is there. */
static void a_variable_takes_as_many_bytes_as_it_has(void **state)
{
    static const struct {
        int64_t n_bytes;
        int sum; /* of 5, 6, 7, 8 behind what was there */
        const char *words;
    } cases[] = {{16, 26, NULL}, {4, 5 + 2 + 3 + 4, NULL}, {20, 0, "variable taps has 16 bytes, 20 are to go there"}};
    static const struct exec_buffer buffers[] = {{.id = "x", .role = EXEC_INPUT, .n_bytes = 8 * sizeof(int)},
                                                 {.id = "y", .role = EXEC_OUTPUT, .n_bytes = sizeof(int)}};
    const struct exec_arg args[] = {buffer(1)};
    struct exec_arg copied[] = {buffer(0), {.kind = EXEC_ARG_I64}};
    const struct exec_launch launches[] = {{.op = EXEC_SYMBOL, .kernel = "taps", .args = copied, .n_args = 2},
                                           kernel("sum", 1, 1, args, 1)};
    struct session x;
    struct code c;

    (void)state;
    begin(&x, "75");
    code_make(&c, "__device__ int taps[4] = {1, 2, 3, 4};\n" KERNEL
                  "sum(int *y) { *y = taps[0] + taps[1] + taps[2] + taps[3]; }\n");
    PLAN(taps, &c, buffers, launches);
    const exec_cu_mem tensors[] = {emulated_buffer((const int[]){5, 6, 7, 8, 9, 9, 9, 9}, 8 * sizeof(int)),
                                   emulated_buffer(NULL, sizeof(int))};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct exec_cu_op *op;

        copied[1].integer = cases[i].n_bytes;
        if (cases[i].words) {
            refused(&x, &taps, EXEC_BUILD_FAILED, cases[i].words);
            continue;
        }
        op = open_op(&x, &taps);
        run(&x, op, 0, tensors, NULL);
        wait_for(&x);
        expect_all(tensors[1], 1, cases[i].sum);
        exec_cu_op_close(op);
    }
    for (int i = 0; i < 2; i++)
        cuda.cuMemFree_v2(tensors[i]);
    code_free(&c);
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_48_kib_of_shared_memory_are_asked_for),
        cmocka_unit_test(cooperative_launches_have_to_fit),
        cmocka_unit_test(a_variable_takes_as_many_bytes_as_it_has),
    };
    const int result = cu_rig_start();

    return result ? result : cmocka_run_group_tests(tests, NULL, NULL);
}
