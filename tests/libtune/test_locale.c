/* SPDX-License-Identifier: MIT */
/* libtune in an application whose locale writes 0,5: records are found, and kernels have their constants. */
#include "core/file.h"
#include "libtune/tune.h"
#include "runtime/given.h"
#include "tests/libtune/sample_log.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DENSE "dense f32 m=12 n=48 k=40"
#define N 35

static cl_context context;
static cl_device_id device;
static char folder[256], log_path[300];

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        if ((call) != TUNE_OK)                                                                                         \
            fail_msg("%s: %s", #call, tune_words());                                                                   \
    } while (0)

/* What a plan of DENSE takes out of the log. */
static void plan_words(char *knobs, size_t n)
{
    struct tune_plan_info info = {.size = sizeof info};
    struct tune_plan *p;
    struct tune *t;

    assert_ok(tune_open_cl(log_path, context, device, NULL, &t));
    assert_ok(tune_plan_make(t, DENSE, 0, &p));
    assert_ok(tune_plan_about(p, &info));
    assert_int_equal(info.choice, TUNE_EXACT);
    snprintf(knobs, n, "%s", info.knobs);
    tune_plan_destroy(p);
    tune_close(t);
}

/* An eighth of 0 to N - 1. */
static void run_eighths(float *y)
{
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem tensors[2];
    struct tune_plan *p;
    float x[N];
    struct tune *t;

    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    tensors[0] = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof x, x, NULL);
    tensors[1] = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof x, NULL, NULL);
    assert_ok(tune_open_cl(log_path, context, device, NULL, &t));
    assert_ok(tune_plan_make(t, "eltwise f32 y=35 f=mul(a,0.125)", 0, &p));
    assert_ok(tune_execute_cl(p, queue, tensors, 2, NULL));
    assert_int_equal(clEnqueueReadBuffer(queue, tensors[1], CL_TRUE, 0, sizeof x, y, 0, NULL, NULL), CL_SUCCESS);
    tune_plan_destroy(p);
    tune_close(t);
    clReleaseMemObject(tensors[0]);
    clReleaseMemObject(tensors[1]);
    clReleaseCommandQueue(queue);
}

/* A country's that writes commas: one of the machine's, or made here. */
static bool use_commas(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "pt_BR.UTF-8"};
    char command[400];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (setlocale(LC_ALL, names[i]))
            return true;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null", folder);
    if (system(command) != 0)
        return false;
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_ALL, names[0]) != NULL;
}

static void numbers_have_points_whatever_the_locale(void **state)
{
    char knobs[2048], again[2048], half[8];
    float y[N];

    (void)state;
    plan_words(knobs, sizeof knobs);
    if (!use_commas()) {
        print_message("skipped: no locale with decimal commas, and no localedef (package locales) to make one\n");
        skip();
    }
    plan_words(again, sizeof again);
    assert_string_equal(again, knobs);
    run_eighths(y);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (float)i / 8);
    snprintf(half, sizeof half, "%.1f", .5);
    assert_string_equal(half, "0,5"); /* the application's own is as it was */
}

static int set_up(void **state)
{
    struct device_desc desc;
    cl_platform_id platform;
    cl_uint n = 0;

    (void)state;
    if (clGetPlatformIDs(1, &platform, &n) != CL_SUCCESS || n == 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &n) != CL_SUCCESS) {
        print_message("skipped: no OpenCL device\n");
        exit(77);
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    if (!context || given_opencl(context, device, 0, &desc, NULL) ||
        dir_temporary("tune-locale", folder, sizeof folder, NULL))
        return 1;
    snprintf(log_path, sizeof log_path, "%s/best.jsonl", folder);
    return !sample_log_add(log_path, &desc, DENSE, "", 5, 2000);
}

static int tear_down(void **state)
{
    (void)state;
    clReleaseContext(context);
    dir_remove(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_have_points_whatever_the_locale)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
