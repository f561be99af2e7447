/* SPDX-License-Identifier: MIT */
/* What the emulated CUDA must do and must find, by kernels that are right and kernels that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/cuda/emulated.h"

#define N 1000
#define KERNEL "extern \"C\" __global__ void "

static CUresult launch(CUfunction f, unsigned grid, unsigned block, unsigned bytes, CUstream s, void **params)
{
    return cuda.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, bytes, s, params, NULL);
}

/* Runs a kernel with one buffer of n floats, all -1 before, one block; what waiting for it said. */
static CUresult run_alone(const char *text, const char *name, unsigned block, unsigned bytes, float *y, size_t n)
{
    CUfunction f = emulated_kernel(text, name);
    CUdeviceptr dy;
    CUresult e;

    for (size_t i = 0; i < n; i++)
        y[i] = -1.0f;
    dy = emulated_buffer(y, n * sizeof *y);
    e = launch(f, 1, block, bytes, NULL, (void *[]){&dy});
    if (!e)
        e = cuda.cuCtxSynchronize();
    if (!e)
        emulated_read(y, dy, n * sizeof *y);
    return e;
}

static void end(CUcontext c)
{
    assert_int_equal(cuda.cuCtxDestroy_v2(c), 0);
    unsetenv("TUNE_CUDA_FAIL");
    unsetenv("TUNE_CUDA_SEED");
    unsetenv("TUNE_CUDA_MEMORY");
    unsetenv("TUNE_CUDA_DRIVER");
    unsetenv("TUNE_CUDA_REGS");
}

static void vectors_are_added(void **state)
{
    CUcontext c = emulated_start("61");
    CUfunction f =
        emulated_kernel(KERNEL "__launch_bounds__(128)\n"
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
    end(c);
}

/* y[block] = sum of 256 elements of x, by a tree in shared memory; BARRIER is what stands between its steps. */
#define REDUCTION                                                                                                      \
    KERNEL "__launch_bounds__(256) reduce(const float *x, float *y)\n"                                                 \
           "{\n"                                                                                                       \
           "    __shared__ float s[256];\n"                                                                            \
           "    const int t = threadIdx.x;\n"                                                                          \
           "    s[t] = x[blockIdx.x * 256 + t];\n"                                                                     \
           "    __syncthreads();\n"                                                                                    \
           "    for (int n = 128; n; n /= 2) {\n"                                                                      \
           "        if (t < n) s[t] += s[t + n];\n"                                                                    \
           "        BARRIER;\n"                                                                                        \
           "    }\n"                                                                                                   \
           "    if (t == 0) y[blockIdx.x] = s[0];\n"                                                                   \
           "}\n"

/* How many of 3 blocks' sums are wrong; compiled without calls at accesses: races show by their outcome alone. */
static int reduce(const char *barrier, int seed)
{
    char text[2000], seed_text[16];
    float x[768], y[3];
    CUfunction f;
    CUdeviceptr dx, dy;
    CUcontext c;
    int n_wrong = 0;

    snprintf(seed_text, sizeof seed_text, "%d", seed);
    setenv("TUNE_CUDA_SEED", seed_text, 1);
    c = emulated_start("75");
    snprintf(text, sizeof text, "#define BARRIER %s\n%s", barrier, REDUCTION);
    setenv("TUNE_NVRTC_FLAGS", "-O1", 1);
    f = emulated_kernel(text, "reduce");
    unsetenv("TUNE_NVRTC_FLAGS");
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
    end(c);
    return n_wrong;
}

static void sums_in_shared_memory_are_right(void **state)
{
    (void)state;
    for (int seed = 1; seed < 6; seed++)
        assert_int_equal(reduce("__syncthreads()", seed), 0);
}

static void a_missing_barrier_shows(void **state)
{
    (void)state;
    for (int seed = 1; seed < 6; seed++)
        assert_in_range(reduce("(void)0", seed), 1, 3);
}

static void shared_memory_that_was_not_written_is_nan(void **state)
{
    CUcontext c = emulated_start("75");
    float y[64];

    (void)state;
    assert_int_equal(run_alone(KERNEL "k(float *y) { __shared__ float s[64]; const int t = threadIdx.x;\n"
                                      "    if (t % 2) s[t] = 1.0f;\n"
                                      "    __syncthreads();\n"
                                      "    y[t] = s[t]; }",
                               "k", 64, 0, y, 64),
                     0);
    for (int i = 0; i < 64; i++)
        assert_true(i % 2 ? y[i] == 1.0f : y[i] != y[i]);
    end(c);
}

static void a_divergent_barrier_is_an_error(void **state)
{
    static const char *const texts[] = {
        KERNEL
        "k(float *y) { if (threadIdx.x < 3) return;\n __syncthreads(); y[threadIdx.x] = 0; }", /* one has ended */
        KERNEL
        "k(float *y) { if (threadIdx.x < 3)\n __syncthreads();\n else\n __syncthreads();\n y[threadIdx.x] = 0; }",
        KERNEL "k(float *y) { if (threadIdx.x < 3)\n __syncwarp();\n else\n __syncthreads();\n y[threadIdx.x] = 0; }",
    };

    (void)state;
    for (int i = 0; i < 3; i++) {
        CUcontext c = emulated_start("90");
        float y[64];

        assert_int_equal(run_alone(texts[i], "k", 64, 0, y, 64), 719);
        assert_int_equal(cuda.cuCtxSynchronize(), 719);
        end(c);
    }
}

/* An access behind the end, by one element: told when waiting, and by every call after that. Another context works. */
static void an_access_out_of_bounds_stays(void **state)
{
    static const char *const texts[] = {
        KERNEL "k(float *y) { y[threadIdx.x + 1] = 0.0f; }", KERNEL "k(float *y) { y[0] = y[64]; }",
        KERNEL "k(float *y) { *(int *)4096 = 1; }", KERNEL "k(float *y) { y[-4096] = 1; }"};
    float y[64];

    (void)state;
    for (int i = 0; i < 4; i++) {
        CUcontext c = emulated_start("80"), other = NULL;
        CUdeviceptr d = 0;

        assert_int_equal(run_alone(texts[i], "k", 64, 0, y, 64), 700);
        assert_int_equal(cuda.cuMemAlloc_v2(&d, 4), 700);
        assert_int_equal(cuda.cuCtxSynchronize(), 700);
        assert_int_equal(cuda.cuCtxCreate_v2(&other, 0, 0), 0);
        assert_int_equal(run_alone(KERNEL "k(float *y) { y[threadIdx.x] = threadIdx.x; }", "k", 64, 0, y, 64), 0);
        assert_true(y[63] == 63.0f);
        assert_int_equal(cuda.cuCtxDestroy_v2(other), 0);
        end(c);
    }
}

static void a_misaligned_vector_is_an_error(void **state)
{
    CUcontext c = emulated_start("80");
    float y[64];

    (void)state;
    assert_int_equal(
        run_alone(KERNEL "k(float *y) { *(float4 *)(y + 1) = make_float4(1, 2, 3, 4); }", "k", 1, 0, y, 64), 716);
    end(c);
}

static void an_index_out_of_an_array_is_an_error(void **state)
{
    CUcontext c = emulated_start("80");
    float y[64];

    (void)state;
    assert_int_equal(run_alone(KERNEL "k(float *y) { __shared__ float s[63]; s[threadIdx.x] = 1; __syncthreads();\n"
                                      "    y[threadIdx.x] = s[0]; }",
                               "k", 64, 0, y, 64),
                     716);
    end(c);
}

static void a_write_beside_shared_memory_is_an_error(void **state)
{
    static const struct {
        int first;
        CUresult expected;
    } cases[] = {{0, 0}, {-1, 700}, {1, 700}, {-100, 700}, {100, 700}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CUcontext c = emulated_start("80");
        float y[64];
        char text[300];

        snprintf(text, sizeof text,
                 KERNEL "k(float *y) { __shared__ float s[64]; float *to = s; to += %d; to[threadIdx.x] = 1;\n"
                        "    __syncthreads(); y[threadIdx.x] = s[32]; }",
                 cases[i].first);
        assert_int_equal(run_alone(text, "k", 64, 0, y, 64), cases[i].expected);
        end(c);
    }
}

static void constants_are_written_by_name(void **state)
{
    CUcontext c = emulated_start("75");
    char log[500], *image = emulated_image("__constant__ float table[8];\n" KERNEL
                                           "k(float *y) { y[threadIdx.x] = table[threadIdx.x % 8]; }",
                                           "sm_75", log);
    const float table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    CUmodule m;
    CUfunction f;
    CUdeviceptr at = 0, dy = emulated_buffer(NULL, 64 * sizeof(float));
    size_t n = 0;
    float y[64];

    (void)state;
    assert_non_null(image);
    assert_int_equal(cuda.cuModuleLoadData(&m, image), 0);
    assert_int_equal(cuda.cuModuleGetFunction(&f, m, "k"), 0);
    assert_int_equal(cuda.cuModuleGetFunction(&f, m, "no_such"), 500);
    assert_int_equal(cuda.cuModuleGetFunction(&f, m, "k"), 0);
    assert_int_equal(cuda.cuModuleGetGlobal_v2(&at, &n, m, "table"), 0);
    assert_int_equal(n, sizeof table);
    assert_int_equal(cuda.cuMemcpyHtoD_v2(at, table, sizeof table), 0);
    assert_int_equal(cuda.cuMemcpyHtoD_v2(at, table, sizeof table + 4), 1);
    assert_int_equal(launch(f, 1, 64, 0, NULL, (void *[]){&dy}), 0);
    emulated_read(y, dy, sizeof y);
    for (int i = 0; i < 64; i++)
        assert_true(y[i] == table[i % 8]);
    assert_int_equal(cuda.cuModuleUnload(m), 0);
    assert_int_equal(cuda.cuModuleGetFunction(&f, m, "k"), 400);
    free(image);
    end(c);
}

#define DYNAMIC                                                                                                        \
    KERNEL "k(float *y) { extern __shared__ __align__(16) float s[]; __shared__ float t[8];\n"                         \
           "    s[threadIdx.x] = 2.0f * threadIdx.x; if (threadIdx.x < 8) t[threadIdx.x] = 0.5f;\n"                    \
           "    __syncthreads();\n"                                                                                    \
           "    y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + t[0]; }"

static void dynamic_shared_memory_has_the_size_of_the_launch(void **state)
{
    CUcontext c = emulated_start("75");
    CUfunction f;
    CUdeviceptr dy;
    float y[256];
    int value = 0;

    (void)state;
    assert_int_equal(run_alone(DYNAMIC, "k", 256, 1024, y, 256), 0);
    for (int i = 0; i < 256; i++)
        assert_true(y[i] == 2.0f * (float)(255 - i) + 0.5f);
    f = emulated_kernel(DYNAMIC, "k");
    dy = emulated_buffer(NULL, sizeof y);
    assert_int_equal(cuda.cuFuncGetAttribute(&value, 1, f), 0);
    assert_int_equal(value, 32); /* static */
    assert_int_equal(launch(f, 1, 256, 49152, NULL, (void *[]){&dy}), 1);
    assert_int_equal(cuda.cuFuncSetAttribute(f, 8, 65536), 1); /* with the static part more than the 64 KiB of sm_75 */
    assert_int_equal(cuda.cuFuncSetAttribute(f, 8, 65536 - 32), 0);
    assert_int_equal(launch(f, 1, 256, 49152, NULL, (void *[]){&dy}), 0);
    assert_int_equal(cuda.cuCtxSynchronize(), 0);
    assert_int_equal(launch(f, 1, 256, 1020, NULL, (void *[]){&dy}), 0); /* one element short */
    assert_int_equal(cuda.cuCtxSynchronize(), 700);
    end(c);
}

/* y[i] = y[i] * a + b for n elements, slowly enough said to come in any order. */
#define AXPB                                                                                                           \
    KERNEL "axpb(float *y, float a, float b) { const int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = y[i] * a "  \
           "+ b; }"

/* Two kernels on two streams that must come one after the other; waits: by an event, or not. */
static float two_streams(bool waits, int n_drains)
{
    CUcontext c = emulated_start("80");
    CUfunction f = emulated_kernel(AXPB, "axpb");
    float y[32] = {0}, two = 2, three = 3, zero = 0, result;
    CUdeviceptr d = emulated_buffer(y, sizeof y);
    CUstream s, t;
    CUevent first, last;

    assert_int_equal(cuda.cuStreamCreate(&s, 1), 0);
    assert_int_equal(cuda.cuStreamCreate(&t, 1), 0);
    assert_int_equal(cuda.cuEventCreate(&first, 0), 0);
    assert_int_equal(cuda.cuEventCreate(&last, 0), 0);
    for (int i = 0; i < n_drains; i++)
        assert_int_equal(cuda.cuCtxSynchronize(), 0);
    assert_int_equal(launch(f, 1, 32, 0, s, (void *[]){&d, &zero, &three}), 0);
    assert_int_equal(cuda.cuEventRecord(first, s), 0);
    assert_int_equal(cuda.cuEventQuery(last), 0); /* never recorded */
    if (waits)
        assert_int_equal(cuda.cuStreamWaitEvent(t, first, 0), 0);
    assert_int_equal(launch(f, 1, 32, 0, t, (void *[]){&d, &two, &zero}), 0);
    assert_int_equal(cuda.cuEventRecord(last, t), 0);
    assert_int_equal(cuda.cuEventElapsedTime(&result, first, last), 600);
    assert_int_equal(cuda.cuStreamSynchronize(t), 0);
    assert_int_equal(cuda.cuStreamSynchronize(s), 0);
    assert_int_equal(cuda.cuEventElapsedTime(&result, first, last), 0);
    if (waits)
        assert_true(result >= 0.0f);
    emulated_read(y, d, sizeof y);
    result = y[31];
    end(c);
    return result;
}

static void events_order_streams(void **state)
{
    int n_wrong = 0;

    (void)state;
    for (int n = 0; n < 6; n++) {
        assert_true(two_streams(true, n) == 6.0f);
        n_wrong += two_streams(false, n) != 6.0f;
    }
    assert_in_range(n_wrong, 1, 6); /* a missing wait shows, in one order or the other */
}

static void pinned_memory_is_copied_later(void **state)
{
    CUcontext c = emulated_start("80");
    CUdeviceptr d = emulated_buffer(NULL, 64);
    CUstream s;
    void *pinned = NULL;
    float *x, loose[16];

    (void)state;
    assert_int_equal(cuda.cuStreamCreate(&s, 1), 0);
    assert_int_equal(cuda.cuMemHostAlloc(&pinned, 64, 0), 0);
    x = pinned;
    for (int i = 0; i < 16; i++)
        x[i] = 1.0f;
    assert_int_equal(cuda.cuMemcpyHtoDAsync_v2(d, x, 64, s), 0);
    x[3] = 2.0f; /* too early */
    assert_int_equal(cuda.cuStreamQuery(s), 600);
    assert_int_equal(cuda.cuStreamQuery(s), 0);
    emulated_read(loose, d, 64);
    assert_true(loose[3] == 2.0f);
    assert_int_equal(cuda.cuMemsetD32Async(d, 0x40400000, 16, s), 0);
    assert_int_equal(cuda.cuMemcpyDtoHAsync_v2(x, d, 64, s), 0);
    assert_true(x[0] == 1.0f); /* not there yet */
    assert_int_equal(cuda.cuStreamSynchronize(s), 0);
    assert_true(x[15] == 3.0f);
    assert_int_equal(cuda.cuMemsetD8Async(d, 0, 65, s), 1);
    assert_int_equal(cuda.cuMemFreeHost(x), 0);
    end(c);
}

/* A graph over two streams, launched three times. */
static void graphs_repeat_what_was_captured(void **state)
{
    CUcontext c = emulated_start("80");
    CUfunction f = emulated_kernel(AXPB, "axpb");
    float y[32] = {0}, one = 1, two = 2, zero = 0;
    CUdeviceptr d = emulated_buffer(y, sizeof y), spare = 0;
    CUstream s, t;
    CUevent forked, joined;
    CUgraph g;
    CUgraphExec x;

    (void)state;
    assert_int_equal(cuda.cuStreamCreate(&s, 1), 0);
    assert_int_equal(cuda.cuStreamCreate(&t, 1), 0);
    assert_int_equal(cuda.cuEventCreate(&forked, 2), 0);
    assert_int_equal(cuda.cuEventCreate(&joined, 2), 0);
    assert_int_equal(cuda.cuStreamBeginCapture_v2(s, 0), 0);
    assert_int_equal(launch(f, 1, 32, 0, s, (void *[]){&d, &one, &one}), 0); /* + 1 */
    assert_int_equal(cuda.cuEventRecord(forked, s), 0);
    assert_int_equal(cuda.cuStreamWaitEvent(t, forked, 0), 0);
    assert_int_equal(launch(f, 1, 32, 0, t, (void *[]){&d, &two, &zero}), 0); /* * 2 */
    assert_int_equal(cuda.cuEventRecord(joined, t), 0);
    assert_int_equal(cuda.cuStreamWaitEvent(s, joined, 0), 0);
    assert_int_equal(launch(f, 1, 32, 0, s, (void *[]){&d, &one, &one}), 0); /* + 1 */
    assert_int_equal(cuda.cuMemAlloc_v2(&spare, 4), 900);
    assert_int_equal(cuda.cuStreamEndCapture(s, &g), 0);
    assert_int_equal(cuda.cuGraphInstantiateWithFlags(&x, g, 0), 0);
    assert_int_equal(cuda.cuGraphDestroy(g), 0);
    emulated_read(y, d, sizeof y);
    assert_true(y[0] == 0.0f); /* captured, not run */
    for (int i = 0; i < 3; i++)
        assert_int_equal(cuda.cuGraphLaunch(x, s), 0);
    assert_int_equal(cuda.cuStreamSynchronize(s), 0);
    emulated_read(y, d, sizeof y);
    assert_true(y[31] == 21.0f); /* 0 3 9 21 */
    assert_int_equal(cuda.cuGraphExecDestroy(x), 0);
    end(c);
}

static void captures_that_cannot_be_are_refused(void **state)
{
    CUcontext c = emulated_start("80");
    CUfunction f = emulated_kernel(AXPB, "axpb");
    float one = 1;
    CUdeviceptr d = emulated_buffer(NULL, 128);
    CUstream s, t;
    CUevent forked;
    CUgraph g;

    (void)state;
    assert_int_equal(cuda.cuStreamCreate(&s, 1), 0);
    assert_int_equal(cuda.cuStreamCreate(&t, 1), 0);
    assert_int_equal(cuda.cuEventCreate(&forked, 2), 0);
    assert_int_equal(cuda.cuStreamBeginCapture_v2(NULL, 0), 900);
    assert_int_equal(cuda.cuStreamBeginCapture_v2(s, 0), 0);
    assert_int_equal(cuda.cuEventRecord(forked, s), 0);
    assert_int_equal(cuda.cuStreamWaitEvent(t, forked, 0), 0);
    assert_int_equal(launch(f, 1, 32, 0, t, (void *[]){&d, &one, &one}), 0);
    assert_int_equal(cuda.cuStreamEndCapture(s, &g), 904); /* nobody waits for the second stream */
    assert_int_equal(cuda.cuStreamBeginCapture_v2(s, 0), 0);
    assert_int_equal(cuda.cuStreamSynchronize(s), 900);
    assert_int_equal(cuda.cuStreamEndCapture(s, &g), 901);
    end(c);
}

static void calls_fail_on_request(void **state)
{
    CUcontext c;
    CUfunction f;
    CUdeviceptr d = 0, e = 0;
    float one = 1;
    const char *name = NULL;
    int version = 0;
    size_t n_free, n_total;

    (void)state;
    setenv("TUNE_CUDA_FAIL", "cuMemAlloc=2@2,cuLaunchKernel=702@2", 1);
    setenv("TUNE_CUDA_DRIVER", "11040", 1);
    c = emulated_start("80");
    f = emulated_kernel(AXPB, "axpb");
    assert_int_equal(cuda.cuMemAlloc_v2(&d, 128), 0);
    assert_int_equal(cuda.cuMemAlloc_v2(&e, 128), 2);
    assert_int_equal(cuda.cuMemAlloc_v2(&e, 128), 2);
    assert_int_equal(launch(f, 1, 32, 0, NULL, (void *[]){&d, &one, &one}), 0);
    assert_int_equal(cuda.cuCtxSynchronize(), 0);
    assert_int_equal(launch(f, 1, 32, 0, NULL, (void *[]){&d, &one, &one}), 0); /* is told later */
    assert_int_equal(cuda.cuCtxSynchronize(), 702);
    assert_int_equal(cuda.cuMemGetInfo_v2(&n_free, &n_total), 702); /* and from now on */
    assert_int_equal(cuda.cuDriverGetVersion(&version), 0);
    assert_int_equal(version, 11040);
    assert_int_equal(cuda.cuGetErrorName(702, &name), 0);
    assert_string_equal(name, "CUDA_ERROR_LAUNCH_TIMEOUT");
    end(c);
    setenv("TUNE_CUDA_MEMORY", "1000000", 1);
    c = emulated_start("80");
    assert_int_equal(cuda.cuMemAlloc_v2(&d, 600000), 0);
    assert_int_equal(cuda.cuMemAlloc_v2(&e, 600000), 2);
    assert_int_equal(cuda.cuMemFree_v2(d), 0);
    assert_int_equal(cuda.cuMemAlloc_v2(&e, 600000), 0);
    end(c);
    setenv("TUNE_CUDA_SM", "", 1);
    assert_int_equal(cuda.cuInit(0), 100);
}

static void images_of_other_devices_are_refused(void **state)
{
    CUcontext c;
    char log[500], *image = emulated_image(AXPB, "sm_75", log), *ptx = emulated_image(AXPB, "compute_75", log);
    static const unsigned char real[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [18] = 190};
    CUmodule m;

    (void)state;
    c = emulated_start("80");
    assert_int_equal(cuda.cuModuleLoadDataEx(&m, image, 0, NULL, NULL), 209);
    assert_int_equal(cuda.cuModuleLoadDataEx(&m, ptx, 0, NULL, NULL), 0); /* is compiled for later ones */
    assert_int_equal(cuda.cuModuleLoadDataEx(&m, real, 0, NULL, NULL), 209);
    assert_int_equal(cuda.cuModuleLoadDataEx(&m, "nonsense", 0, NULL, NULL), 200);
    assert_int_equal(cuda.cuModuleLoadDataEx(&m, ".version 8.0\n", 0, NULL, NULL), 218);
    setenv("TUNE_CUDA_DRIVER", "12040", 1); /* older than the compiler */
    assert_int_equal(cuda.cuModuleLoadDataEx(&m, ptx, 0, NULL, NULL), 222);
    end(c);
    c = emulated_start("61");
    assert_int_equal(cuda.cuModuleLoadDataEx(&m, ptx, 0, NULL, NULL), 209);
    end(c);
    free(image);
    free(ptx);
}

static void compile_errors_have_words(void **state)
{
    char log[500] = "";

    (void)state;
    assert_null(emulated_image("\n" KERNEL "k(float *y) { y[0] = no_such; }", "sm_80", log));
    if (!strstr(log, "test.cu:2") || !strstr(log, "no_such"))
        fail_msg("%s", log);
    assert_null(emulated_image(AXPB, "sm_42", log));
    assert_non_null(strstr(log, "--gpu-architecture"));
}

static void devices_tell_what_they_are(void **state)
{
    CUcontext c = emulated_start("61,90");
    CUuuid a, b;
    char name[64];
    int n = 0;
    size_t bytes = 0;

    (void)state;
    assert_int_equal(cuda.cuDeviceGetCount(&n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(cuda.cuDeviceGetAttribute(&n, 97, 1), 0);
    assert_int_equal(n, 232448);
    assert_int_equal(cuda.cuDeviceGetAttribute(&n, 76, 0), 0);
    assert_int_equal(n, 1);
    assert_int_equal(cuda.cuDeviceGetAttribute(&n, 76, 2), 101);
    assert_int_equal(cuda.cuDeviceGetName(name, sizeof name, 1), 0);
    assert_string_equal(name, "Emulated sm_90");
    assert_int_equal(cuda.cuDeviceTotalMem_v2(&bytes, 0), 0);
    assert_int_equal(bytes, (size_t)8 << 30);
    assert_int_equal(cuda.cuDeviceGetUuid_v2(&a, 0), 0);
    assert_int_equal(cuda.cuDeviceGetUuid_v2(&b, 1), 0);
    assert_memory_not_equal(&a, &b, sizeof a);
    end(c);
}

static void launches_are_held_to_limits(void **state)
{
    CUcontext c;
    CUfunction f;
    CUdeviceptr d;
    float one = 1;
    void *params[] = {&d, &one, &one};
    int n = 0;

    (void)state;
    setenv("TUNE_CUDA_REGS", "128", 1);
    c = emulated_start("80");
    f = emulated_kernel(AXPB, "axpb");
    d = emulated_buffer(NULL, 4096 * sizeof(float));
    assert_int_equal(launch(f, 0, 32, 0, NULL, params), 1);
    assert_int_equal(launch(f, 1, 1025, 0, NULL, params), 1);
    assert_int_equal(cuda.cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, NULL, params, NULL), 1);
    assert_int_equal(cuda.cuLaunchKernel(f, 1, 1, 1, 1, 1, 65, 0, NULL, params, NULL), 1);
    assert_int_equal(launch(f, 1, 1024, 0, NULL, params), 701); /* 128 registers each */
    assert_int_equal(launch(f, 8, 512, 0, NULL, params), 0);
    assert_int_equal(cuda.cuFuncGetAttribute(&n, 0, f), 0);
    assert_int_equal(n, 512);
    assert_int_equal(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 256, 0), 0);
    assert_int_equal(n, 2);
    assert_int_equal(cuda.cuLaunchCooperativeKernel(f, 1000, 1, 1, 512, 1, 1, 0, NULL, params), 720);
    end(c);
}

/* Its blocks are processes. */
static void atomics_of_a_cooperative_launch_lose_nothing(void **state)
{
    CUcontext c = emulated_start("80");
    CUfunction f = emulated_kernel(KERNEL "count(int *n, float *sum)\n"
                                          "{\n"
                                          "    for (int i = 0; i < 50000; i++) {\n"
                                          "        atomicAdd(n, 1);\n"
                                          "        atomicAdd(sum, 1.0f);\n"
                                          "        __threadfence();\n"
                                          "    }\n"
                                          "}\n",
                                   "count");
    int n = 0;
    float sum = 0;
    CUdeviceptr dn = emulated_buffer(&n, sizeof n), dsum = emulated_buffer(&sum, sizeof sum);

    (void)state;
    assert_int_equal(cuda.cuLaunchCooperativeKernel(f, 16, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&dn, &dsum}), 0);
    emulated_read(&n, dn, sizeof n);
    emulated_read(&sum, dsum, sizeof sum);
    assert_int_equal(n, 800000);
    assert_float_equal(sum, 800000, 0);
    end(c);
}

static void calls_are_written_to_the_log(void **state)
{
    char path[] = "/tmp/emulated-XXXXXX", line[200];
    const int fd = mkstemp(path);
    bool alloc = false, kernel = false, left = false;
    CUcontext c;
    CUfunction f;
    CUdeviceptr d;
    float one = 1;
    FILE *log;

    (void)state;
    assert_true(fd >= 0);
    setenv("TUNE_CUDA_LOG", path, 1);
    c = emulated_start("80");
    unsetenv("TUNE_CUDA_LOG");
    f = emulated_kernel(AXPB, "axpb");
    d = emulated_buffer(NULL, 4096);
    assert_int_equal(launch(f, 2, 32, 16, NULL, (void *[]){&d, &one, &one}), 0);
    end(c);
    log = fopen(path, "r");
    assert_non_null(log);
    while (fgets(line, sizeof line, log)) {
        alloc |= strcmp(line, "cuMemAlloc bytes=4096\n") == 0;
        kernel |= strcmp(line, "cuLaunchKernel axpb grid=2,1,1 block=32,1,1 shared=16 stream=0\n") == 0;
        left |= strcmp(line, "  left over: buffers=1 streams=0 events=0 modules=1\n") == 0;
    }
    fclose(log);
    unlink(path);
    assert_true(alloc && kernel && left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_added),
        cmocka_unit_test(sums_in_shared_memory_are_right),
        cmocka_unit_test(a_missing_barrier_shows),
        cmocka_unit_test(shared_memory_that_was_not_written_is_nan),
        cmocka_unit_test(a_divergent_barrier_is_an_error),
        cmocka_unit_test(an_access_out_of_bounds_stays),
        cmocka_unit_test(a_misaligned_vector_is_an_error),
        cmocka_unit_test(an_index_out_of_an_array_is_an_error),
        cmocka_unit_test(a_write_beside_shared_memory_is_an_error),
        cmocka_unit_test(constants_are_written_by_name),
        cmocka_unit_test(dynamic_shared_memory_has_the_size_of_the_launch),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(pinned_memory_is_copied_later),
        cmocka_unit_test(graphs_repeat_what_was_captured),
        cmocka_unit_test(captures_that_cannot_be_are_refused),
        cmocka_unit_test(calls_fail_on_request),
        cmocka_unit_test(images_of_other_devices_are_refused),
        cmocka_unit_test(compile_errors_have_words),
        cmocka_unit_test(devices_tell_what_they_are),
        cmocka_unit_test(launches_are_held_to_limits),
        cmocka_unit_test(atomics_of_a_cooperative_launch_lose_nothing),
        cmocka_unit_test(calls_are_written_to_the_log),
    };
    int e;

    setenv("TUNE_NVRTC_VERSION", "12.8", 1); /* knows sm_61 */
    e = emulated_open();
    return e ? e : cmocka_run_group_tests(tests, NULL, NULL);
}
