/* SPDX-License-Identifier: MIT */
/* opencl_dots.c - which instructions for products of int8 a device has beyond what its extensions say. */
#include "exec/exec_cl.h"
#include "runtime/opencl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

#ifndef CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV
#define CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV 0x4001
#endif

#define LANES 16

/* y = sum of four products of unsigned bytes of u and signed bytes of s, in every lane: the text that templates use. */
static const char vnni_text[] =
    "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void probe(__global const int16 *u,\n"
    "    __global const int16 *s, __global int16 *y)\n"
    "{\n"
    "    int16 sum = y[0];\n"
    "    __asm__(\"vpdpbusd %2, %1, %0\" : \"+v\"(sum) : \"v\"(u[0]), \"v\"(s[0]));\n"
    "    y[0] = sum;\n"
    "}\n";

/* Arm's: the same of vectors of four, with both signed, or as above. */
#define ARM_TEXT(instruction)                                                                                          \
    "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void probe(__global const int4 *u,\n"                     \
    "    __global const int4 *s, __global int4 *y)\n"                                                                  \
    "{\n"                                                                                                              \
    "    for (int i = 0; i < 4; i++) {\n"                                                                              \
    "        int4 sum = y[i];\n"                                                                                       \
    "        __asm__(\"" instruction " %0.4s, %1.16b, %2.16b\" : \"+w\"(sum) : \"w\"(u[i]), \"w\"(s[i]));\n"           \
    "        y[i] = sum;\n"                                                                                            \
    "    }\n"                                                                                                          \
    "}\n"

/* The same by tiles: 16 rows of four bytes of u by one row of s, whose diagonal are these sums. */
static const char amx_text[] =
    "#define TILES(text, ...) __asm__ volatile(text : : __VA_ARGS__ : \"memory\")\n"
    "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void probe(__global const int *u,\n"
    "    __global const int *s, __global int *y)\n"
    "{\n"
    "    int16 tiles = (int16)(0);\n"
    "    int sums[256];\n"
    "    tiles.s0 = 1;\n"
    "    tiles.s4 = 64 | 4 << 16;\n"
    "    tiles.s5 = 64;\n"
    "    tiles.sc = 16 | 16 << 8 | 1 << 16;\n"
    "    TILES(\"ldtilecfg (%0)\", \"r\"(&tiles));\n"
    "    TILES(\"tilezero %%tmm0\", \"r\"(0L));\n"
    "    TILES(\"tileloadd (%0,%1,1), %%tmm1\", \"r\"(u), \"r\"(4L));\n"
    "    TILES(\"tileloadd (%0,%1,1), %%tmm2\", \"r\"(s), \"r\"(64L));\n"
    "    TILES(\"tdpbusd %%tmm2, %%tmm1, %%tmm0\", \"r\"(0L));\n"
    "    TILES(\"tilestored %%tmm0, (%0,%1,1)\", \"r\"(sums), \"r\"(64L));\n"
    "    TILES(\"tilerelease\", \"r\"(0L));\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        y[i] += sums[17 * i];\n"
    "}\n";

/* What the processor says; elsewhere nothing. */
static bool cpu_has_arm(bool i8mm)
{
#if defined(__aarch64__) && defined(__linux__)
    return i8mm ? getauxval(AT_HWCAP2) & (1u << 13) : getauxval(AT_HWCAP) & (1u << 20); /* I8MM, ASIMDDP */
#else
    (void)i8mm;
    return false;
#endif
}

static bool cpu_has_vnni(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

/* CPUID.7.0:EDX, AMX-TILE and AMX-INT8 (Intel's manual); the system lets this process use them. */
static bool cpu_has_amx(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & 3u << 24) == 3u << 24 && exec_cl_ask_for_tiles();
#else
    return false;
#endif
}

struct lanes {
    unsigned char u[4 * LANES];
    signed char s[4 * LANES];
    int y[LANES];
};

static void fill(struct lanes *a)
{
    for (int i = 0; i < 4 * LANES; i++) {
        a->u[i] = (unsigned char)(i % 8 < 4 ? 255 - i : 37 * i); /* the first lanes would saturate 16 bits */
        a->s[i] = (signed char)(i % 8 < 4 ? -128 + i / 8 : 127 - 29 * i);
    }
    for (int i = 0; i < LANES; i++)
        a->y[i] = 1000 * i;
}

static bool is_right(const struct lanes *a, bool both_signed, const int got[LANES])
{
    for (int i = 0; i < LANES; i++) {
        int sum = a->y[i];

        for (int k = 0; k < 4; k++)
            sum += (both_signed ? (signed char)a->u[4 * i + k] : a->u[4 * i + k]) * a->s[4 * i + k];
        if (got[i] != sum)
            return false;
    }
    return true;
}

static cl_mem copy_of(cl_context context, const void *data, size_t n_bytes, cl_int *error)
{
    return clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n_bytes, (void *)data, error);
}

static bool run_probe(cl_context context, cl_command_queue queue, cl_kernel kernel, bool both_signed)
{
    struct lanes a;
    int got[LANES] = {0};
    cl_int error[3] = {0};
    cl_mem mems[3];
    const size_t one = 1;
    bool ok = true;

    fill(&a);
    mems[0] = copy_of(context, a.u, sizeof a.u, &error[0]);
    mems[1] = copy_of(context, a.s, sizeof a.s, &error[1]);
    mems[2] = copy_of(context, a.y, sizeof a.y, &error[2]);
    for (cl_uint i = 0; i < 3; i++)
        ok = ok && error[i] == CL_SUCCESS && clSetKernelArg(kernel, i, sizeof mems[i], &mems[i]) == CL_SUCCESS;
    ok = ok && clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL) == CL_SUCCESS &&
         clEnqueueReadBuffer(queue, mems[2], CL_TRUE, 0, sizeof got, got, 0, NULL, NULL) == CL_SUCCESS;
    for (int i = 0; i < 3; i++)
        if (mems[i])
            clReleaseMemObject(mems[i]);
    return ok && is_right(&a, both_signed, got);
}

static bool build_and_run(cl_context context, cl_device_id device, const char *text, bool both_signed)
{
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
    cl_kernel kernel = NULL;
    bool ok = program && queue && clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS;

    if (ok)
        kernel = clCreateKernel(program, "probe", &error);
    ok = ok && kernel && run_probe(context, queue, kernel, both_signed);
    if (kernel)
        clReleaseKernel(kernel);
    if (queue)
        clReleaseCommandQueue(queue);
    if (program)
        clReleaseProgram(program);
    return ok;
}

/* Fastest first. */
static const struct {
    const char *word, *text;
    bool both_signed;
} texts[] = {
    {"tune_vnni", vnni_text, false},
    {"tune_amx", amx_text, false},
    {"tune_usdot", ARM_TEXT("usdot"), false},
    {"tune_sdot", ARM_TEXT("sdot"), true},
};

/* Asked only where compiler and processor cannot fail at it: an unknown instruction may abort. */
static bool can_try(size_t i, const struct device_desc *d)
{
    switch (texts[i].word[5]) {
    case 'v':
        return d->vector_bits == 512 && cpu_has_vnni();
    case 'a':
        return d->vector_bits == 512 && cpu_has_amx();
    default:
        return cpu_has_arm(texts[i].word[5] == 'u');
    }
}

/* The words of a CPU, tried once a process. */
static void cpu_dots(cl_context context, cl_device_id device, struct device_desc *d)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int known[sizeof texts / sizeof texts[0]]; /* 1 it has it, -1 not */

    if (d->kind != DEVICE_CPU || !strstr(d->platform, "Portable Computing Language"))
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const size_t n = strlen(d->dots);

        if (!known[i] && can_try(i, d))
            known[i] = build_and_run(context, device, texts[i].text, texts[i].both_signed) ? 1 : -1;
        if (known[i] == 1 && can_try(i, d))
            snprintf(d->dots + n, sizeof d->dots - n, "%s%s", n ? " " : "", texts[i].word);
    }
    pthread_mutex_unlock(&lock);
}

/* __dp4a: sm_61, sm_70 and later, by the number that NVIDIA's driver tells. */
static bool has_dp4a(cl_device_id device, const struct device_desc *d)
{
    cl_uint major = 0, minor = 0;

    if (!strstr(d->extensions, "cl_nv_device_attribute_query"))
        return false;
    clGetDeviceInfo(device, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, sizeof major, &major, NULL);
    clGetDeviceInfo(device, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, sizeof minor, &minor, NULL);
    return major >= 7 || (major == 6 && minor == 1);
}

void opencl_probe_dots(cl_context context, cl_device_id device, struct device_desc *d)
{
    d->dots[0] = '\0';
    cpu_dots(context, device, d);
    if (has_dp4a(device, d))
        snprintf(d->dots, sizeof d->dots, "tune_dp4a");
}
