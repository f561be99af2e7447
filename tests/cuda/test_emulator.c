/* What the emulated CUDA must find, by kernels that are right and kernels that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cuda/emulated.h"

#define N 1000

static CUresult launch(CUfunction f, unsigned grid, unsigned block, unsigned bytes, CUstream s, void **params)
{
    return cuda.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, bytes, s, params, NULL);
}

static void vectors_are_added(void **state)
{
    CUcontext c = emulated_start("61");
    CUfunction f = emulated_kernel("extern \"C\" __global__ void __launch_bounds__(128)\n"
                                   "add(const float *__restrict__ a, const float *__restrict__ b, float *y, int n)\n"
                                   "{\n"
                                   "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                   "    if (i < n) y[i] = a[i] + b[i];\n"
                                   "}\n",
                                   "add");
    float a[N], b[N], y[N];
    CUdeviceptr da, db, dy;
    int n = N, value = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)(3 * i);
    }
    da = emulated_buffer(a, sizeof a);
    db = emulated_buffer(b, sizeof b);
    dy = emulated_buffer(NULL, sizeof y);
    assert_int_equal(launch(f, 8, 128, 0, NULL, (void *[]){&da, &db, &dy, &n}), 0);
    emulated_read(y, dy, sizeof y);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (float)(4 * i));
    assert_int_equal(cuda.cuFuncGetAttribute(&value, 0, f), 0);
    assert_int_equal(value, 128);
    assert_int_equal(launch(f, 8, 129, 0, NULL, (void *[]){&da, &db, &dy, &n}), 1); /* more than its bounds */
    assert_int_equal(cuda.cuCtxDestroy_v2(c), 0);
}

/* y[block] = sum of 256 elements of x, by a tree in shared memory; BARRIER is what stands between its steps. */
#define REDUCTION                                                                                                      \
    "extern \"C\" __global__ void __launch_bounds__(256) reduce(const float *x, float *y)\n"                           \
    "{\n"                                                                                                              \
    "    __shared__ float s[256];\n"                                                                                   \
    "    const int t = threadIdx.x;\n"                                                                                 \
    "    s[t] = x[blockIdx.x * 256 + t];\n"                                                                            \
    "    __syncthreads();\n"                                                                                           \
    "    for (int n = 128; n; n /= 2) {\n"                                                                             \
    "        if (t < n) s[t] += s[t + n];\n"                                                                           \
    "        BARRIER;\n"                                                                                               \
    "    }\n"                                                                                                          \
    "    if (t == 0) y[blockIdx.x] = s[0];\n"                                                                          \
    "}\n"

/* How many of 3 blocks' sums are wrong. */
static int reduce(const char *barrier, const char *seed)
{
    char text[2000];
    float x[768], y[3];
    CUfunction f;
    CUdeviceptr dx, dy;
    CUcontext c;
    int n_wrong = 0;

    setenv("TUNE_CUDA_SEED", seed, 1);
    c = emulated_start("75");
    snprintf(text, sizeof text, "#define BARRIER %s\n%s", barrier, REDUCTION);
    f = emulated_kernel(text, "reduce");
    for (int i = 0; i < 768; i++)
        x[i] = (float)(i % 7);
    dx = emulated_buffer(x, sizeof x);
    dy = emulated_buffer(NULL, sizeof y);
    assert_int_equal(launch(f, 3, 256, 0, NULL, (void *[]){&dx, &dy}), 0);
    emulated_read(y, dy, sizeof y);
    for (int b = 0; b < 3; b++) {
        float sum = 0;

        for (int i = 0; i < 256; i++)
            sum += x[256 * b + i];
        n_wrong += !(y[b] == sum);
    }
    assert_int_equal(cuda.cuCtxDestroy_v2(c), 0);
    unsetenv("TUNE_CUDA_SEED");
    return n_wrong;
}

static void sums_in_shared_memory_are_right(void **state)
{
    (void)state;
    for (int seed = 1; seed < 6; seed++) {
        char text[8];

        snprintf(text, sizeof text, "%d", seed);
        assert_int_equal(reduce("__syncthreads()", text), 0);
    }
}

static void a_missing_barrier_shows(void **state)
{
    (void)state;
    for (int seed = 1; seed < 6; seed++) {
        char text[8];

        snprintf(text, sizeof text, "%d", seed);
        assert_in_range(reduce("(void)0", text), 1, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_added),
        cmocka_unit_test(sums_in_shared_memory_are_right),
        cmocka_unit_test(a_missing_barrier_shows),
    };

    setenv("TUNE_NVRTC_VERSION", "12.8", 1); /* knows sm_61 */
    if (!emulated_open())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
