/* SPDX-License-Identifier: MIT */
/* Limits that hold before anything is built, each at its edge, and the log of a report. */
#include "runtime/device_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct device_desc gpu = {.api = "opencl",
                                       .extensions = "cl_a cl_khr_fp16",
                                       .dots = "tune_dp4a",
                                       .max_work_group = 64,
                                       .max_local = {32, 16, 8},
                                       .global_bytes = 100000,
                                       .max_alloc_bytes = 20000};

static void expect(enum err e, const struct why *why, enum err wanted, const char *words)
{
    if (e != wanted || !strstr(why->text, words))
        fail_msg("%s '%s', expected %s with '%s'", err_name(e), why->text, err_name(wanted), words);
}

static void bytes_follow_type_and_elements(void **state)
{
    static const size_t bytes[N_DTYPES] = {[DTYPE_F32] = 4, [DTYPE_F16] = 2,  [DTYPE_I8] = 1, [DTYPE_I32] = 4,
                                           [DTYPE_U8] = 1,  [DTYPE_BF16] = 2, [DTYPE_F64] = 8};

    (void)state;
    for (int t = 0; t < N_DTYPES; t++) {
        const struct program_buffer b = {.dtype = (enum dtype)t, .n_elems = (int64_t)1 << 33};

        assert_true(buffer_bytes(&b) == bytes[t] << 33); /* over 32 bits */
    }
}

static void needs_of_a_program_are_the_device_s_at_most(void **state)
{
    static const struct {
        const char *api, *extensions;
        int64_t group, local;
        enum err e;
        const char *words;
    } cases[] = {
        {"", "", 0, 0, ERR_OK, ""},
        {"opencl", "cl_khr_fp16", 64, 1000, ERR_OK, ""},
        {"opencl", "cl_a cl_khr_fp16 tune_dp4a", 0, 0, ERR_OK, ""},
        {"cuda", "", 0, 0, ERR_LIMITS, "the program is for cuda, the device is OpenCL"},
        {"", "cl_a cl_b", 0, 0, ERR_LIMITS, "no extension cl_b"},
        {"", "cl_khr_fp", 0, 0, ERR_LIMITS, "no extension cl_khr_fp"}, /* the beginning of one */
        {"", "khr_fp16", 0, 0, ERR_LIMITS, "no extension khr_fp16"},   /* its end */
        {"", "tune_vnni", 0, 0, ERR_LIMITS, "no extension tune_vnni"},
        {"", "", 65, 0, ERR_LIMITS, "needs work-groups of 65, the device has at most 64"},
        {"", "", 0, 1001, ERR_LIMITS, "needs 1001 bytes of local memory, the device has 1000"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct program p = {.needs_work_group = cases[i].group, .needs_local_bytes = cases[i].local};
        struct why why = {""};

        strcpy(p.api, cases[i].api);
        strcpy(p.extensions, cases[i].extensions);
        expect(check_needs(&gpu, &p, 1000, &why), &why, cases[i].e, cases[i].words);
    }
}

/* Two buffers of n floats with their bands; the first is kept twice when it is reset before each run. */
static enum err check_two(int64_t n, bool reset, int64_t most_each, int64_t most_all, struct why *why)
{
    struct program_buffer buffers[2] = {{.id = "a", .dtype = DTYPE_F32, .n_elems = n, .reset_each_run = reset},
                                        {.id = "b", .dtype = DTYPE_F32, .n_elems = n}};
    const struct program p = {.buffers = buffers, .n_buffers = 2};
    struct device_desc d = gpu;

    d.max_alloc_bytes = most_each;
    d.global_bytes = most_all;
    why->text[0] = '\0';
    return check_memory(&d, &p, why);
}

static void buffers_fit_one_by_one_and_together(void **state)
{
    const int64_t each = 4 * 1000 + 2 * (int64_t)GUARD_BYTES;
    struct why why;

    (void)state;
    expect(check_two(1000, false, each, 2 * each, &why), &why, ERR_OK, "");
    expect(check_two(1000, false, each - 1, 2 * each, &why), &why, ERR_LIMITS, "buffer 'a' has ");
    expect(check_two(1000, false, each, 2 * each - 1, &why), &why, ERR_LIMITS, "buffers of ");
    expect(check_two(1000, true, each, 3 * each, &why), &why, ERR_OK, "");
    expect(check_two(1000, true, each, 3 * each - 1, &why), &why, ERR_LIMITS, "buffers of ");
}

static void groups_stay_within_sides_and_size(void **state)
{
    static const struct {
        int64_t block[3];
        enum err e;
        const char *words;
    } cases[] = {{{32, 2, 1}, ERR_OK, ""},
                 {{4, 16, 1}, ERR_OK, ""},
                 {{1, 8, 8}, ERR_OK, ""},
                 {{33, 1, 1}, ERR_LIMITS, "33 work-items in dimension 0, the device has at most 32"},
                 {{1, 17, 1}, ERR_LIMITS, "17 work-items in dimension 1"},
                 {{1, 1, 9}, ERR_LIMITS, "9 work-items in dimension 2"},
                 {{13, 5, 1}, ERR_LIMITS, "work-groups of 65, the device has at most 64"},
                 {{4, 4, 5}, ERR_LIMITS, "work-groups of 80"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct program_launch l = {.id = "l"};
        struct why why = {""};

        memcpy(l.block, cases[i].block, sizeof l.block);
        expect(check_group(&gpu, &l, &why), &why, cases[i].e, cases[i].words);
    }
}

static void logs_of_modules_follow_one_another(void **state)
{
    struct load_report report = {.log = NULL};
    char *large = malloc(2 * LOAD_LOG_BYTES + 1);

    (void)state;
    report_add_log(&report, "m0", " \t\r\n");
    assert_null(report.log);
    report_add_log(&report, "m1", "first\n");
    assert_string_equal(report.log, "[m1]\nfirst\n");
    report_add_log(&report, "m2", "second");
    assert_string_equal(report.log, "[m1]\nfirst\n[m2]\nsecond");
    memset(large, 'x', 2 * LOAD_LOG_BYTES);
    large[2 * LOAD_LOG_BYTES] = '\0';
    report_add_log(&report, "m3", large);
    assert_int_equal(strlen(report.log), LOAD_LOG_BYTES);
    assert_int_equal(strncmp(report.log, "[m1]\nfirst\n[m2]\nsecond[m3]\nxxx", 30), 0);
    report_add_log(&report, "m4", "more");
    assert_int_equal(strlen(report.log), LOAD_LOG_BYTES);
    free(large);
    free(report.log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_follow_type_and_elements),
        cmocka_unit_test(needs_of_a_program_are_the_device_s_at_most),
        cmocka_unit_test(buffers_fit_one_by_one_and_together),
        cmocka_unit_test(groups_stay_within_sides_and_size),
        cmocka_unit_test(logs_of_modules_follow_one_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
