/* SPDX-License-Identifier: MIT */
/* A team of PoCL's devices `basic` does each group of a launch once, whatever its grid; the test is started with
 * POCL_DEVICES="basic basic". */
#include "exec/team_cl.h"

#include "exec/common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_ITEMS 1024

/* done[i]: how often item i of the launch ran; told[i]: the group ids and the global id that it was told. */
static const char counting[] = "__kernel void count_up(__global int *done, __global int *told, int nx, int ny)\n"
                               "{\n"
                               "    const int i = get_global_id(0) + nx * (get_global_id(1) + ny * get_global_id(2));\n"
                               "    atomic_inc(done + i);\n"
                               "    told[4 * i] = get_group_id(0);\n"
                               "    told[4 * i + 1] = get_group_id(1);\n"
                               "    told[4 * i + 2] = get_group_id(2);\n"
                               "    told[4 * i + 3] = get_global_id(0);\n"
                               "}\n";
static const char asking[] = "__kernel void count_up(__global int *done, __global int *told, int nx, int ny)\n"
                             "{\n"
                             "    done[get_global_id(0)] = (int)get_num_groups(0);\n"
                             "    told[get_global_id(0)] = nx + ny;\n"
                             "}\n";

struct fixture {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    cl_mem done, told;
    struct exec_cl_team *team;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct exec_words words;
    cl_platform_id platform;
    cl_device_id list[8];
    cl_uint n = 0;
    cl_int code;

    if (exec_cl_load(&words) != EXEC_OK || clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &f.device, NULL) != CL_SUCCESS)
        exit(77);
    exec_cl_team_devices(f.device, 8, list, &n);
    if (n < 2)
        exit(77);
    assert_int_equal(exec_cl_team_size(f.device), n);
    f.context = clCreateContext(NULL, n, list, NULL, NULL, &code);
    f.queue = clCreateCommandQueue(f.context, f.device, 0, &code);
    f.done = clCreateBuffer(f.context, CL_MEM_READ_WRITE, MOST_ITEMS * sizeof(int), NULL, &code);
    f.told = clCreateBuffer(f.context, CL_MEM_READ_WRITE, 4 * MOST_ITEMS * sizeof(int), NULL, &code);
    f.team = exec_cl_team_open(f.context, f.device);
    assert_non_null(f.team);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    exec_cl_team_close(f->team);
    clReleaseMemObject(f->done);
    clReleaseMemObject(f->told);
    clReleaseCommandQueue(f->queue);
    clReleaseContext(f->context);
    return 0;
}

static cl_kernel kernel_of(struct fixture *f, const char *text)
{
    cl_int code = CL_SUCCESS;
    cl_program program = exec_cl_team_text(f->team, text, strlen(text), "", &code);
    cl_kernel kernel;

    assert_non_null(program);
    assert_int_equal(code, CL_SUCCESS);
    kernel = clCreateKernel(program, "count_up", &code);
    assert_int_equal(code, CL_SUCCESS);
    clReleaseProgram(program);
    return kernel;
}

static void set_args(struct fixture *f, cl_kernel kernel, const size_t grid[3], const size_t block[3])
{
    const int nx = (int)(grid[0] * block[0]), ny = (int)(grid[1] * block[1]);

    clSetKernelArg(kernel, 0, sizeof f->done, &f->done);
    clSetKernelArg(kernel, 1, sizeof f->told, &f->told);
    clSetKernelArg(kernel, 2, sizeof nx, &nx);
    clSetKernelArg(kernel, 3, sizeof ny, &ny);
}

static void clear(struct fixture *f)
{
    static const int zeros[MOST_ITEMS];

    assert_int_equal(clEnqueueWriteBuffer(f->queue, f->done, CL_TRUE, 0, sizeof zeros, zeros, 0, NULL, NULL),
                     CL_SUCCESS);
}

/* Of `times` launches; item (x, y, z) is number x + nx * (y + ny * z). */
static void check(struct fixture *f, const size_t grid[3], const size_t block[3], int times)
{
    static int done[MOST_ITEMS], told[4 * MOST_ITEMS];
    const size_t nx = grid[0] * block[0], ny = grid[1] * block[1], n = nx * ny * grid[2] * block[2];

    clEnqueueReadBuffer(f->queue, f->done, CL_TRUE, 0, sizeof done, done, 0, NULL, NULL);
    clEnqueueReadBuffer(f->queue, f->told, CL_TRUE, 0, sizeof told, told, 0, NULL, NULL);
    for (size_t i = 0; i < MOST_ITEMS; i++)
        assert_int_equal(done[i], i < n ? times : 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(told[4 * i], i % nx / block[0]);
        assert_int_equal(told[4 * i + 1], i / nx % ny / block[1]);
        assert_int_equal(told[4 * i + 2], i / nx / ny / block[2]);
        assert_int_equal(told[4 * i + 3], i % nx);
    }
}

static void each_group_of_a_launch_runs_once_and_knows_its_place(void **state)
{
    static const size_t shapes[][2][3] = {{{1, 1, 1}, {4, 1, 1}}, {{2, 1, 1}, {1, 1, 1}}, {{7, 1, 1}, {3, 2, 1}},
                                          {{3, 5, 2}, {2, 1, 2}}, {{1, 1, 9}, {1, 1, 1}}, {{101, 1, 1}, {1, 1, 1}}};
    struct fixture *f = *state;
    cl_kernel kernel = kernel_of(f, counting);

    assert_true(exec_cl_team_has(kernel));
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int splits = 1; splits >= 0; splits--) {
            const struct exec_cl_team_job job = {kernel, shapes[i][0], shapes[i][1], 0, NULL, NULL};

            set_args(f, kernel, shapes[i][0], shapes[i][1]);
            clear(f);
            for (int time = 0; time < 50; time++)
                assert_int_equal(exec_cl_team_start(f->team, f->queue, &job, splits), CL_SUCCESS);
            clFinish(f->queue);
            check(f, shapes[i][0], shapes[i][1], 50);
        }
    clReleaseKernel(kernel);
}

static void a_kernel_that_asks_for_totals_is_not_of_the_team(void **state)
{
    const size_t grid[3] = {6, 1, 1}, block[3] = {1, 1, 1};
    struct fixture *f = *state;
    cl_kernel kernel = kernel_of(f, asking);
    int done[6];

    assert_false(exec_cl_team_has(kernel));
    set_args(f, kernel, grid, block);
    assert_int_equal(clEnqueueNDRangeKernel(f->queue, kernel, 1, NULL, grid, block, 0, NULL, NULL), CL_SUCCESS);
    clEnqueueReadBuffer(f->queue, f->done, CL_TRUE, 0, sizeof done, done, 0, NULL, NULL);
    for (int i = 0; i < 6; i++)
        assert_int_equal(done[i], 6);
    clReleaseKernel(kernel);
}

/* Whatever would be another number in a part, in its code or behind it; and what none of them is. */
static void whatever_tells_totals_is_not_split(void **state)
{
    static const char *const totals[] = {"get_num_groups", "get_global_size", "get_global_offset",
                                         "get_global_linear_id"},
                             *const places[] = {"get_group_id", "get_global_id", "get_local_id", "get_local_size"};
    struct fixture *f = *state;

    for (int is_total = 0; is_total < 2; is_total++)
        for (size_t i = 0; i < 4; i++) {
            char text[1024];
            cl_kernel kernel;

            snprintf(text, sizeof text, "%s/* %s */\n", counting, is_total ? totals[i] : places[i]);
            kernel = kernel_of(f, text);
            if (exec_cl_team_has(kernel) == is_total)
                fail_msg("a kernel with %s is%s split", is_total ? totals[i] : places[i], is_total ? "" : " not");
            clReleaseKernel(kernel);
        }
}

/* Its groups are larger than the device takes: that launch fails, and no other. */
static void a_launch_that_fails_leaves_nothing_to_the_next(void **state)
{
    static const size_t grid[3] = {7, 1, 1}, block[3] = {3, 1, 1}, too_large[3] = {(size_t)1 << 20, 1, 1};
    struct fixture *f = *state;
    cl_kernel kernel = kernel_of(f, counting);
    const struct exec_cl_team_job fine = {kernel, grid, block, 0, NULL, NULL},
                                  bad = {kernel, grid, too_large, 0, NULL, NULL};

    set_args(f, kernel, grid, block);
    for (int i = 0; i < 2; i++) {
        assert_int_not_equal(exec_cl_team_start(f->team, f->queue, &bad, 1), CL_SUCCESS);
        clear(f);
        for (int time = 0; time < 3; time++)
            assert_int_equal(exec_cl_team_start(f->team, f->queue, &fine, 1), CL_SUCCESS);
        clFinish(f->queue);
        check(f, grid, block, 3);
    }
    clReleaseKernel(kernel);
}

static void a_context_of_one_device_has_no_team(void **state)
{
    struct fixture *f = *state;
    cl_context one = clCreateContext(NULL, 1, &f->device, NULL, NULL, NULL);

    assert_true(exec_cl_team_is_idle(f->queue));
    assert_null(exec_cl_team_open(one, f->device));
    exec_cl_team_close(NULL);
    clReleaseContext(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_group_of_a_launch_runs_once_and_knows_its_place),
        cmocka_unit_test(a_kernel_that_asks_for_totals_is_not_of_the_team),
        cmocka_unit_test(whatever_tells_totals_is_not_split),
        cmocka_unit_test(a_launch_that_fails_leaves_nothing_to_the_next),
        cmocka_unit_test(a_context_of_one_device_has_no_team),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
