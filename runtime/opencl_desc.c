/* SPDX-License-Identifier: MIT */
/* opencl_desc.c - which OpenCL devices there are, and what they say of themselves. */
#include "runtime/opencl.h"
#include "runtime/sense.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLATFORMS 16
#define MAX_DEVICES 64

/* X(name): errors of OpenCL 1.2 and of the loader. */
#define CL_ERROR_MAP(X)                                                                                                \
    X(CL_DEVICE_NOT_FOUND)                                                                                             \
    X(CL_DEVICE_NOT_AVAILABLE)                                                                                         \
    X(CL_COMPILER_NOT_AVAILABLE)                                                                                       \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE)                                                                                \
    X(CL_OUT_OF_RESOURCES)                                                                                             \
    X(CL_OUT_OF_HOST_MEMORY)                                                                                           \
    X(CL_PROFILING_INFO_NOT_AVAILABLE)                                                                                 \
    X(CL_MEM_COPY_OVERLAP)                                                                                             \
    X(CL_BUILD_PROGRAM_FAILURE)                                                                                        \
    X(CL_MAP_FAILURE)                                                                                                  \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET)                                                                                 \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                                                                    \
    X(CL_COMPILE_PROGRAM_FAILURE)                                                                                      \
    X(CL_LINKER_NOT_AVAILABLE)                                                                                         \
    X(CL_LINK_PROGRAM_FAILURE)                                                                                         \
    X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)                                                                                \
    X(CL_INVALID_VALUE)                                                                                                \
    X(CL_INVALID_DEVICE_TYPE)                                                                                          \
    X(CL_INVALID_PLATFORM)                                                                                             \
    X(CL_INVALID_DEVICE)                                                                                               \
    X(CL_INVALID_CONTEXT)                                                                                              \
    X(CL_INVALID_QUEUE_PROPERTIES)                                                                                     \
    X(CL_INVALID_COMMAND_QUEUE)                                                                                        \
    X(CL_INVALID_MEM_OBJECT)                                                                                           \
    X(CL_INVALID_BINARY)                                                                                               \
    X(CL_INVALID_BUILD_OPTIONS)                                                                                        \
    X(CL_INVALID_PROGRAM)                                                                                              \
    X(CL_INVALID_PROGRAM_EXECUTABLE)                                                                                   \
    X(CL_INVALID_KERNEL_NAME)                                                                                          \
    X(CL_INVALID_KERNEL_DEFINITION)                                                                                    \
    X(CL_INVALID_KERNEL)                                                                                               \
    X(CL_INVALID_ARG_INDEX)                                                                                            \
    X(CL_INVALID_ARG_VALUE)                                                                                            \
    X(CL_INVALID_ARG_SIZE)                                                                                             \
    X(CL_INVALID_KERNEL_ARGS)                                                                                          \
    X(CL_INVALID_WORK_DIMENSION)                                                                                       \
    X(CL_INVALID_WORK_GROUP_SIZE)                                                                                      \
    X(CL_INVALID_WORK_ITEM_SIZE)                                                                                       \
    X(CL_INVALID_GLOBAL_OFFSET)                                                                                        \
    X(CL_INVALID_EVENT_WAIT_LIST)                                                                                      \
    X(CL_INVALID_EVENT)                                                                                                \
    X(CL_INVALID_OPERATION)                                                                                            \
    X(CL_INVALID_BUFFER_SIZE)                                                                                          \
    X(CL_INVALID_GLOBAL_WORK_SIZE)                                                                                     \
    X(CL_INVALID_PROPERTY)                                                                                             \
    X(CL_INVALID_COMPILER_OPTIONS)

static const struct {
    cl_int number;
    const char *name;
} cl_errors[] = {
#define X(name) {name, #name},
    CL_ERROR_MAP(X)
#undef X
        {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

const char *opencl_error_name(cl_int error)
{
    static _Thread_local char other[32];

    for (size_t i = 0; i < sizeof cl_errors / sizeof cl_errors[0]; i++)
        if (cl_errors[i].number == error)
            return cl_errors[i].name;
    snprintf(other, sizeof other, "CL error %d", (int)error);
    return other;
}

enum err opencl_failed(struct why *why, enum err e, const char *call, cl_int error)
{
    return why_set(why, e, "%s: %s", call, opencl_error_name(error));
}

enum err opencl_api_load(struct why *why)
{
    struct exec_words words = {""};

    return exec_cl_load(&words) == EXEC_OK ? ERR_OK : why_set(why, ERR_NOT_FOUND, "%s", words.text);
}

static enum err platforms(cl_platform_id out[MAX_PLATFORMS], cl_uint *n, struct why *why)
{
    const enum err e = opencl_api_load(why);
    cl_int error;

    if (e)
        return e;
    error = clGetPlatformIDs(MAX_PLATFORMS, out, n);
    if (error != CL_SUCCESS || *n == 0)
        return why_set(why, ERR_NOT_FOUND,
                       "no OpenCL platform: install a driver, for a CPU the package pocl-opencl-icd");
    if (*n > MAX_PLATFORMS)
        *n = MAX_PLATFORMS;
    return ERR_OK;
}

static cl_uint devices_of(cl_platform_id platform, cl_device_id out[MAX_DEVICES])
{
    cl_uint n = 0;

    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, out, &n) != CL_SUCCESS)
        return 0;
    return n > MAX_DEVICES ? MAX_DEVICES : n;
}

/* "p.d" with small decimal numbers and nothing else. */
static bool parse_selector(const char *text, unsigned *p, unsigned *d)
{
    int n = 0;

    *p = *d = 0;
    if (!text[0])
        return true;
    if (strspn(text, "0123456789.") != strlen(text) || strlen(text) > 9)
        return false;
    return sscanf(text, "%u.%u%n", p, d, &n) == 2 && text[n] == '\0';
}

enum err opencl_pick(const char *selector, cl_platform_id *platform, cl_device_id *device, struct why *why)
{
    cl_platform_id list[MAX_PLATFORMS];
    cl_device_id devices[MAX_DEVICES];
    cl_uint n = 0;
    unsigned p, d;
    enum err e;

    if (!parse_selector(selector, &p, &d))
        return why_set(why, ERR_INPUT, "OpenCL device '%.40s': expected PLATFORM.DEVICE, e.g. 0.0", selector);
    e = platforms(list, &n, why);
    if (e)
        return e;
    if (!selector[0]) /* the first platform that has a device */
        while (p + 1 < n && devices_of(list[p], devices) == 0)
            p++;
    if (p >= n || d >= devices_of(list[p], devices))
        return why_set(why, ERR_NOT_FOUND, "no OpenCL device %u.%u (%u platforms)", p, d, (unsigned)n);
    assert(p < MAX_PLATFORMS && d < MAX_DEVICES);
    *platform = list[p];
    *device = devices[d];
    return ERR_OK;
}

static void text_of(cl_device_id device, cl_device_info what, char *out, size_t n_out)
{
    char text[8192] = "";

    if (clGetDeviceInfo(device, what, sizeof text - 1, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    snprintf(out, n_out, "%s", text);
}

static void platform_text(cl_platform_id platform, cl_platform_info what, char *out, size_t n_out)
{
    char text[1024] = "";

    if (clGetPlatformInfo(platform, what, sizeof text - 1, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    snprintf(out, n_out, "%s", text);
}

static int64_t uint_of(cl_device_id device, cl_device_info what)
{
    cl_uint v = 0;

    return clGetDeviceInfo(device, what, sizeof v, &v, NULL) == CL_SUCCESS ? (int64_t)v : 0;
}

static int64_t ulong_of(cl_device_id device, cl_device_info what)
{
    cl_ulong v = 0;

    if (clGetDeviceInfo(device, what, sizeof v, &v, NULL) != CL_SUCCESS)
        return 0;
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static int64_t size_of(cl_device_id device, cl_device_info what)
{
    size_t v = 0;

    return clGetDeviceInfo(device, what, sizeof v, &v, NULL) == CL_SUCCESS ? (int64_t)v : 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted words of the driver's list, as many as fit. */
static void put_extensions(cl_device_id device, char *out, size_t n_out)
{
    char text[8192], *words[512] = {NULL}, *rest = NULL;
    size_t n = 0, at = 0;

    text_of(device, CL_DEVICE_EXTENSIONS, text, sizeof text);
    for (char *w = strtok_r(text, " ", &rest); w && n < 512; w = strtok_r(NULL, " ", &rest))
        words[n++] = w;
    qsort(words, n, sizeof *words, by_text);
    out[0] = '\0';
    for (size_t i = 0; i < n && at + strlen(words[i]) + 2 <= n_out; i++)
        at += (size_t)snprintf(out + at, n_out - at, "%s%s", at ? " " : "", words[i]);
}

static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static enum device_class class_of(cl_device_id device, const char *name)
{
    const int64_t type = ulong_of(device, CL_DEVICE_TYPE);

    if (type & CL_DEVICE_TYPE_CPU)
        return DEVICE_CPU;
    if (strstr(name, "Mali"))
        return DEVICE_MALI;
    return type & CL_DEVICE_TYPE_GPU ? DEVICE_GPU : DEVICE_OTHER;
}

/* Worker threads of PoCL: its own variable, else one for each compute unit. Its device `basic` (one for each of a team,
 * exec/team_cl.h) runs in the caller's thread what `pthread` with one thread hands to a thread of its own, the same
 * code: it goes by that one's name, so that records of one serve the other (exec/exec_cl_device.c, too). */
static void put_threads(cl_device_id device, struct device_desc *d)
{
    const char *text = getenv("POCL_MAX_PTHREAD_COUNT");
    const long n = text ? strtol(text, NULL, 10) : 0;
    char name[sizeof d->name];

    d->threads = n > 0 ? n : d->units;
    if (strncmp(d->name, "basic-", 6) != 0)
        return;
    snprintf(name, sizeof name, "pthread-%.*s", (int)sizeof name - 9, d->name + 6);
    memcpy(d->name, name, sizeof name);
    d->threads = exec_cl_team_size(device);
    d->units = d->threads > 1 ? d->threads : d->units;
}

static void put_limits(cl_device_id device, struct device_desc *d)
{
    size_t local[3] = {0};

    d->units = uint_of(device, CL_DEVICE_MAX_COMPUTE_UNITS);
    d->max_work_group = size_of(device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    if (clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof local, local, NULL) == CL_SUCCESS)
        for (int i = 0; i < 3; i++)
            d->max_local[i] = (int64_t)local[i];
    d->local_bytes = ulong_of(device, CL_DEVICE_LOCAL_MEM_SIZE);
    d->constant_bytes = ulong_of(device, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE);
    d->global_bytes = ulong_of(device, CL_DEVICE_GLOBAL_MEM_SIZE);
    d->max_alloc_bytes = ulong_of(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
}

static bool has_unified_memory(cl_device_id device)
{
    cl_bool v = CL_FALSE;

    return clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof v, &v, NULL) == CL_SUCCESS && v;
}

void opencl_describe(cl_platform_id platform, cl_device_id device, struct device_desc *out)
{
    struct device_desc d = {.api = "opencl"};

    platform_text(platform, CL_PLATFORM_NAME, d.platform, sizeof d.platform);
    platform_text(platform, CL_PLATFORM_VERSION, d.platform_version, sizeof d.platform_version);
    text_of(device, CL_DEVICE_VENDOR, d.vendor, sizeof d.vendor);
    text_of(device, CL_DEVICE_NAME, d.name, sizeof d.name);
    text_of(device, CL_DRIVER_VERSION, d.driver, sizeof d.driver);
    put_extensions(device, d.extensions, sizeof d.extensions);
    put_limits(device, &d);
    d.kind = class_of(device, d.name);
    d.vector_bits = 32 * uint_of(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    if (d.kind == DEVICE_MALI) /* whatever width the driver prefers */
        d.vector_bits = 128;
    else if (d.kind != DEVICE_CPU && d.vector_bits == 32)
        d.vector_bits = 0; /* one lane a work-item: scalar code is natural */
    d.fp16 = has_word(d.extensions, "cl_khr_fp16");
    d.shares_host = d.kind == DEVICE_CPU || d.kind == DEVICE_MALI || has_unified_memory(device);
    if (strstr(d.platform, "Portable Computing Language"))
        put_threads(device, &d);
    if (d.kind == DEVICE_CPU)
        sense_cpu("/proc/cpuinfo", d.cpu, sizeof d.cpu);
    *out = d;
}

enum err opencl_list(bool (*each)(const char *selector, const struct device_desc *d, void *arg), void *arg,
                     struct why *why)
{
    cl_platform_id list[MAX_PLATFORMS];
    cl_device_id devices[MAX_DEVICES];
    cl_uint n = 0, n_found = 0;
    enum err e = platforms(list, &n, why);

    for (cl_uint p = 0; !e && p < n; p++) {
        const cl_uint n_devices = devices_of(list[p], devices);

        for (cl_uint d = 0; d < n_devices; d++, n_found++) {
            struct device_desc desc;
            char selector[32];

            snprintf(selector, sizeof selector, "%u.%u", (unsigned)p, (unsigned)d);
            opencl_describe(list[p], devices[d], &desc);
            if (!each(selector, &desc, arg))
                return ERR_OK;
        }
    }
    if (!e && n_found == 0)
        return why_set(why, ERR_NOT_FOUND, "%u OpenCL platforms, none with a device", (unsigned)n);
    return e;
}
