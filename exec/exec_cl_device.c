/* SPDX-License-Identifier: MIT */
/* exec_cl_device.c - compares a device with the one that kernels were tuned on. */
#include "exec/exec_cl_device.h"
#include "exec/common.h"
#include "exec/team_cl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXEC_TEXT_BYTES 8192
#define EXEC_WORDS 512
#define EXEC_LIST_BYTES 2048

/* Bytes that a fingerprint keeps of each text, its NUL among them. */
#define EXEC_PLATFORM_BYTES 96
#define EXEC_VERSION_BYTES 128
#define EXEC_VENDOR_BYTES 96
#define EXEC_NAME_BYTES 160
#define EXEC_DRIVER_BYTES 96

static void exec_cl_device_text(cl_device_id device, cl_device_info what, size_t n_most, char *out)
{
    if (clGetDeviceInfo(device, what, EXEC_TEXT_BYTES - 1, out, NULL) != CL_SUCCESS)
        out[0] = '\0';
    out[n_most - 1] = '\0';
}

static void exec_cl_platform_text(cl_device_id device, cl_platform_info what, size_t n_most, char *out)
{
    cl_platform_id platform = NULL;
    if (clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS ||
        clGetPlatformInfo(platform, what, EXEC_TEXT_BYTES - 1, out, NULL) != CL_SUCCESS)
        out[0] = '\0';
    out[n_most - 1] = '\0';
}

static int exec_cl_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The driver's list sorted, as many words as fit. `text` is cut into words. */
static void exec_cl_sort_words(char *text, char *out)
{
    char *words[EXEC_WORDS] = {NULL};
    size_t n = 0, at = 0;
    while (*(text += strspn(text, " ")) != '\0' && n < EXEC_WORDS) {
        words[n++] = text;
        text += strcspn(text, " ");
        if (*text != '\0')
            *text++ = '\0';
    }
    qsort(words, n, sizeof *words, exec_cl_by_text);
    out[0] = '\0';
    for (size_t i = 0; i < n && at + strlen(words[i]) + 2 <= EXEC_LIST_BYTES; i++)
        at += (size_t)snprintf(out + at, EXEC_LIST_BYTES - at, "%s%s", at > 0 ? " " : "", words[i]);
}

/* PoCL's device `basic` runs in the caller's thread what `pthread` with one thread hands to a thread of its own, the
 * same code, and goes by that one's name. Is it one? */
static int exec_cl_as_pthread(cl_device_id device, char *name)
{
    char platform[EXEC_TEXT_BYTES];
    exec_cl_platform_text(device, CL_PLATFORM_NAME, EXEC_TEXT_BYTES, platform);
    if (!strstr(platform, "Portable Computing Language") || strncmp(name, "basic-", 6) != 0)
        return 0;
    memmove(name + 8, name + 6, EXEC_NAME_BYTES - 8);
    memcpy(name, "pthread-", 8);
    name[EXEC_NAME_BYTES - 1] = '\0';
    return 1;
}

static enum exec_status exec_cl_same_texts(cl_device_id device, const struct exec_device *tuned,
                                           struct exec_words *words)
{
    const struct {
        const char *what, *there;
        int of_platform;
        cl_uint info;
        size_t n_most;
    } texts[] = {
        {"name", tuned->name, 0, CL_DEVICE_NAME, EXEC_NAME_BYTES},
        {"platform", tuned->platform, 1, CL_PLATFORM_NAME, EXEC_PLATFORM_BYTES},
        {"platform's version", tuned->platform_version, 1, CL_PLATFORM_VERSION, EXEC_VERSION_BYTES},
        {"vendor", tuned->vendor, 0, CL_DEVICE_VENDOR, EXEC_VENDOR_BYTES},
        {"driver", tuned->driver, 0, CL_DRIVER_VERSION, EXEC_DRIVER_BYTES},
    };
    char here[EXEC_TEXT_BYTES], list[EXEC_LIST_BYTES];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        memset(here, 0, sizeof here);
        if (texts[i].of_platform)
            exec_cl_platform_text(device, texts[i].info, texts[i].n_most, here);
        else
            exec_cl_device_text(device, texts[i].info, texts[i].n_most, here);
        if (texts[i].info == CL_DEVICE_NAME && !texts[i].of_platform)
            (void)exec_cl_as_pthread(device, here);
        if (exec_same(tuned, texts[i].what, here, texts[i].there, words) != EXEC_OK)
            return EXEC_OTHER_DEVICE;
    }
    memset(here, 0, sizeof here);
    exec_cl_device_text(device, CL_DEVICE_EXTENSIONS, EXEC_TEXT_BYTES, here);
    exec_cl_sort_words(here, list);
    return exec_same(tuned, "list of extensions", list, tuned->extensions, words);
}

/* PoCL runs on so many threads as its variable says, else on one for each compute unit; `basic` on the caller's, a team
 * of them on one each. */
static long long exec_cl_threads(cl_device_id device, const char *platform, long long units)
{
    const char *text = getenv("POCL_MAX_PTHREAD_COUNT");
    const long n = text ? strtol(text, NULL, 10) : 0;
    char name[EXEC_TEXT_BYTES];
    if (!strstr(platform, "Portable Computing Language"))
        return 0;
    exec_cl_device_text(device, CL_DEVICE_NAME, EXEC_NAME_BYTES, name);
#ifdef TUNE_EXEC_TEAM_CL_H
    return exec_cl_as_pthread(device, name) ? exec_cl_team_size(device) : n > 0 ? n : units;
#else
    return exec_cl_as_pthread(device, name) ? 1 : n > 0 ? n : units;
#endif
}

static enum exec_status exec_cl_same_numbers(cl_device_id device, const struct exec_device *tuned,
                                             struct exec_words *words)
{
    cl_uint units = 0;
    long long threads;
    (void)clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    threads = exec_cl_threads(device, tuned->platform, (long long)units);
    if (threads != tuned->threads) {
        return exec_fail(words, EXEC_OTHER_DEVICE,
                         "these kernels were tuned on %s with %lld threads, here it runs with %lld: set "
                         "POCL_MAX_PTHREAD_COUNT=%lld before OpenCL is opened",
                         tuned->name, tuned->threads, threads, tuned->threads);
    }
#ifdef TUNE_EXEC_TEAM_CL_H
    units = exec_cl_team_size(device) > 1 ? (cl_uint)exec_cl_team_size(device) : units;
#endif
    if ((long long)units != tuned->units) {
        return exec_fail(words, EXEC_OTHER_DEVICE,
                         "these kernels were tuned on %s with %lld compute units, here it has %lld", tuned->name,
                         tuned->units, (long long)units);
    }
    return EXEC_OK;
}

/* Two processors of one name may differ in these instructions. */
static int exec_cl_lacks_vnni(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    return !(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vnni"));
#else
    return 1;
#endif
}

EXEC_API enum exec_status exec_cl_same_device(cl_device_id device, const struct exec_device *tuned,
                                              struct exec_words *words)
{
    enum exec_status status = exec_known(tuned, words);
    status = status == EXEC_OK ? exec_cl_same_texts(device, tuned, words) : status;
    status = status == EXEC_OK ? exec_cl_same_numbers(device, tuned, words) : status;
    if (status == EXEC_OK && strstr(tuned->dots, "tune_amx") && !exec_cl_ask_for_tiles())
        status = exec_same(tuned, "processor", "one without AMX", "one with AMX", words);
    if (status == EXEC_OK && strstr(tuned->dots, "tune_vnni") && exec_cl_lacks_vnni())
        status = exec_same(tuned, "processor", "one without AVX-512 VNNI", "one with AVX-512 VNNI", words);
    return status;
}
