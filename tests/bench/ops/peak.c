/* SPDX-License-Identifier: MIT */
#include "tests/bench/ops/peak.h"

#include "agent/timing.h"
#include "core/clock.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define CHAINS 12 /* more than latency times pipes of the CPUs seen (4 x 2), fewer than their registers */
#define STEPS 40000
#define MAX_SLICES 256
#define STREAMS                                                                                                        \
    4 /* places that are read in turn, with prefetching: 14 % more than one after another on an AVX-512 server */
#define STEP 64   /* floats of a place */
#define AHEAD 512 /* floats */
#define PART ((size_t)128 << 20)
#define N_PARTS 4

typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));

/* FMA loops and reading loops for one vector type; GCC contracts a * b + c (compiled with -ffp-contract=fast). */
#define LOOPS(name, vector, lanes, attribute)                                                                          \
    attribute static void fma_##name(int64_t steps, float *out)                                                        \
    {                                                                                                                  \
        vector a[CHAINS], m, s, sum;                                                                                   \
        for (int l = 0; l < lanes; l++) {                                                                              \
            m[l] = 0.999f + out[0] * 1e-9f;                                                                            \
            s[l] = 0.001f;                                                                                             \
            for (int i = 0; i < CHAINS; i++)                                                                           \
                a[i][l] = (float)i;                                                                                    \
        }                                                                                                              \
        for (int64_t n = 0; n < steps; n++) {                                                                          \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) a[i] = a[i] * m + s;                             \
        }                                                                                                              \
        sum = a[0];                                                                                                    \
        for (int i = 1; i < CHAINS; i++)                                                                               \
            sum += a[i];                                                                                               \
        for (int l = 0; l < lanes; l++)                                                                                \
            out[l] = sum[l];                                                                                           \
    }                                                                                                                  \
    attribute static void read_##name(const float *from, size_t n, float *out)                                         \
    {                                                                                                                  \
        vector sums[STREAMS];                                                                                          \
        for (int i = 0; i < STREAMS; i++)                                                                              \
            sums[i] = *(const vector *)from;                                                                           \
        for (size_t at = 0; at < n / STREAMS; at += STEP)                                                              \
            _Pragma("GCC unroll 4") for (size_t i = 0; i < STREAMS; i++)                                               \
            {                                                                                                          \
                const float *x = from + i * (n / STREAMS) + at;                                                        \
                _Pragma("GCC unroll 4") for (size_t line = 0; line < STEP; line += 16)                                 \
                    __builtin_prefetch(x + AHEAD + line);                                                              \
                _Pragma("GCC unroll 16") for (size_t l = 0; l < STEP; l += lanes) sums[i] += *(const vector *)(x + l); \
            }                                                                                                          \
        for (int i = 1; i < STREAMS; i++)                                                                              \
            sums[0] += sums[i];                                                                                        \
        for (int l = 0; l < lanes; l++)                                                                                \
            out[l] = sums[0][l];                                                                                       \
    }

#define NOTHING
LOOPS(plain, v4, 4, NOTHING)
#if defined(__x86_64__)
LOOPS(avx2, v8, 8, __attribute__((target("avx2,fma"))))
LOOPS(avx512, v16, 16, __attribute__((target("avx512f"))))
#endif

struct loops {
    int lanes;
    void (*fma)(int64_t steps, float *out);
    void (*read)(const float *from, size_t n, float *out);
};

static const struct loops *loops(void)
{
    static const struct loops plain = {4, fma_plain, read_plain};
#if defined(__x86_64__)
    static const struct loops avx2 = {8, fma_avx2, read_avx2}, avx512 = {16, fma_avx512, read_avx512};

    if (__builtin_cpu_supports("avx512f"))
        return &avx512;
    if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
        return &avx2;
#endif
    return &plain;
}

static int n_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

int peak_lanes(void)
{
    return loops()->lanes;
}

double peak_flops(int ms)
{
    const struct loops *l = loops();
    const double flops = 2.0 * CHAINS * STEPS * l->lanes * n_threads();
    const int64_t start_ns = clock_now_ns();
    double slices[MAX_SLICES];
    int n = 0;

    do {
        const int64_t slice_ns = clock_now_ns();

#pragma omp parallel
        {
            float out[16] = {1.0f};

            l->fma(STEPS, out);
            __asm__ volatile("" : : "r"(out) : "memory");
        }
        slices[n++] = (double)(clock_now_ns() - slice_ns);
    } while (n < MAX_SLICES && clock_now_ns() - start_ns < (int64_t)ms * 1000000);
    return flops / timing_median(slices, n);
}

static float *array;
static size_t i_part;

double peak_read(void)
{
    const size_t n = PART / sizeof *array;
    const int n_parts = n_threads();
    int64_t start_ns;

    if (!array) {
        array = aligned_alloc(4096, N_PARTS * PART);
        if (!array)
            return 0;
        memset(array, 0, N_PARTS * PART);
    }
    start_ns = clock_now_ns();
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < n_parts; i++) {
        const size_t slice = n / (size_t)n_parts / (STREAMS * STEP) * (STREAMS * STEP);
        float out[16];

        loops()->read(array + i_part * n + (size_t)i * slice, slice, out);
        __asm__ volatile("" : : "r"(out) : "memory");
    }
    i_part = (i_part + 1) % N_PARTS;
    return (double)(n / (size_t)n_parts / (STREAMS * STEP) * (STREAMS * STEP) * (size_t)n_parts * sizeof *array) /
           (double)(clock_now_ns() - start_ns);
}

void peak_fini(void)
{
    free(array);
    array = NULL;
}
