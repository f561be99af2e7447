/* SPDX-License-Identifier: MIT */
/* exec_cl_device.c: is this device the one that a plan was measured on? Needs an OpenCL device. */
#include "exec/exec_cl_device.h"
#include "exec/exec_cl_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The driver's words in order of the alphabet. */
static void sorted(const char *list, char *out, size_t n_out)
{
    char text[8192], *words[512], *rest = NULL;
    size_t n = 0;
    (void)snprintf(text, sizeof text, "%s", list);
    for (char *w = strtok_r(text, " ", &rest); w != NULL && n < 512; w = strtok_r(NULL, " ", &rest)) {
        words[n++] = w;
    }
    qsort(words, n, sizeof *words, by_text);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const size_t at = strlen(out);
        (void)snprintf(out + at, n_out - at, "%s%s", i > 0 ? " " : "", words[i]);
    }
}

/* Does Linux say that its processor has it? */
static int cpu_says(const char *flag)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[8192], word[64];
    int has = 0;
    (void)snprintf(word, sizeof word, " %s ", flag);
    while (f && !has && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = ' ';
        has = strncmp(line, "flags", 5) == 0 && strstr(line, word) != NULL;
    }
    if (f)
        (void)fclose(f);
    return has;
}

static void a_device_is_the_same_when_all_of_it_is(void **state)
{
    struct exec_words words;
    cl_device_id device = *state;
    char texts[6][8192] = {""}, extensions[8192];
    cl_platform_id platform;
    cl_uint units = 0, n_devices = 0;
    const char *threads = getenv("POCL_MAX_PTHREAD_COUNT");
    assert_int_equal(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL), CL_SUCCESS);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, 95, texts[0], NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, 127, texts[1], NULL);
    clGetDeviceInfo(device, CL_DEVICE_VENDOR, 95, texts[2], NULL);
    clGetDeviceInfo(device, CL_DEVICE_NAME, 159, texts[3], NULL);
    clGetDeviceInfo(device, CL_DRIVER_VERSION, 95, texts[4], NULL);
    clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 8191, texts[5], NULL);
    clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    sorted(texts[5], extensions, sizeof extensions);
    if (strlen(extensions) > 2047) {
        skip(); /* a fingerprint has not all of them */
    }
    const int is_pocl = strstr(texts[0], "Portable Computing Language") != NULL;
    const int is_basic = is_pocl && strncmp(texts[3], "basic-", 6) == 0; /* goes by the name of one thread's device */
    if (is_basic) {                                                      /* one for each thread */
        assert_int_equal(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n_devices), CL_SUCCESS);
        units = n_devices > 1 ? n_devices : units;
    }
    const long long n = !is_pocl                       ? 0
                        : is_basic                     ? (long long)n_devices
                        : threads && atoi(threads) > 0 ? atoi(threads)
                                                       : (long long)units;
    if (is_basic) {
        memmove(texts[3] + 8, texts[3] + 6, strlen(texts[3] + 6) + 1);
        memcpy(texts[3], "pthread-", 8);
    }
    const struct exec_device same = {"ab",       texts[0], texts[1], texts[2], texts[3], texts[4],
                                     extensions, "",       units,    n,        0};
    assert_int_equal(exec_cl_same_device(device, &same, &words), EXEC_OK);
    for (int i = 0; i < 2; i++) { /* instructions that neither a name nor extensions tell */
        struct exec_device with = same;
        const int has = cpu_says(i ? "avx512_vnni" : "amx_int8");
        with.dots = i ? "tune_vnni" : "tune_amx";
        assert_int_equal(exec_cl_same_device(device, &with, &words), has ? EXEC_OK : EXEC_OTHER_DEVICE);
        assert_true(has || strstr(words.text, i ? "one without AVX-512 VNNI" : "one without AMX"));
    }
    for (int i = 0; i < 8; i++) {
        struct exec_device odd = same;
        *(const char **[]){&odd.platform, &odd.platform_version, &odd.vendor,     &odd.name,
                           &odd.driver,   &odd.extensions,       &odd.extensions, &odd.extensions}[i] = "another";
        odd.units += i == 6;
        odd.threads += i == 7;
        odd.extensions = i == 5 ? "another" : same.extensions;
        assert_int_equal(exec_cl_same_device(device, &odd, &words), EXEC_OTHER_DEVICE);
        assert_non_null(
            strstr(words.text,
                   (const char *const[]){"its platform is", "its platform's version is", "its vendor is", "its name is",
                                         "its driver is", "list of extensions", "compute units", "threads, here"}[i]));
    }
}

static void another_device_is_refused_in_words(void **state)
{
    cl_device_id device = *state;
    struct exec_device tuned = {"ab", "p", "v", "vendor", "a name of no device", "d", "e", "", 1, 1, 0};
    struct exec_words words;
    assert_int_equal(exec_cl_same_device(device, &tuned, &words), EXEC_OTHER_DEVICE);
    assert_non_null(strstr(words.text, "a name of no device"));
    tuned.fingerprint = "";
    assert_int_equal(exec_cl_same_device(device, &tuned, &words), EXEC_OTHER_DEVICE);
    assert_non_null(strstr(words.text, "cannot be told"));
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;

    if (exec_cl_load(NULL) != EXEC_OK || clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
        print_message("skipped: no OpenCL device\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(a_device_is_the_same_when_all_of_it_is, device),
                                       cmocka_unit_test_prestate(another_device_is_refused_in_words, device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
