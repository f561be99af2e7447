/* SPDX-License-Identifier: MIT */
/* Which NVRTC is taken, and what it is asked: on two that compile nothing (stub_nvrtc.c), 13.4 for sm_75 to sm_120
 * and 12.4 for sm_50 to sm_90, in a folder that CUDA_HOME names, and which the
 * loader looks into for this program before all others (its RUNPATH). */
#include "runtime/nvrtc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    int sm, driver, version;
} choices[] = {
    {80, 13000, 13040},  {80, 13020, 13040},  {80, 14000, 13040}, /* the newest that the driver takes */
    {80, 12020, 12040},  {90, 12090, 12040},                      /* the driver is of 12 */
    {61, 13000, 12040},  {50, 13000, 12040},                      /* 13 makes no code for these */
    {120, 13000, 13040}, {120, 12080, 13040}, {80, 11040, 13040},
    {30, 13000, 13040}, /* nobody serves: the newest, which says why */
};

static void the_newest_that_serves_device_and_driver_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        struct nvrtc *n = NULL;
        struct why why = {""};

        if (nvrtc_open_for(NULL, choices[i].sm, choices[i].driver, &n, &why))
            fail_msg("%s", why.text);
        if (nvrtc_version(n) != choices[i].version)
            fail_msg("sm_%d, driver %d: NVRTC %d, expected %d", choices[i].sm, choices[i].driver, nvrtc_version(n),
                     choices[i].version);
        nvrtc_close(n);
    }
}

static struct nvrtc *opened(int version)
{
    struct nvrtc *n = NULL;
    char path[1024], name[32];

    snprintf(path, sizeof path, "%s/lib64/libnvrtc.so.%d", STUB_HOME, version);
    assert_int_equal(nvrtc_open(path, &n, NULL), ERR_OK);
    nvrtc_name(n, name, sizeof name);
    assert_string_equal(name, version == 13 ? "NVRTC 13.4" : "NVRTC 12.4");
    return n;
}

/* A device newer than the compiler gets PTX of the newest below it. */
static void devices_get_code_of_their_own_or_text_of_an_older_one(void **state)
{
    static const struct {
        int sm, target;
        bool as_ptx;
    } cases[] = {{50, 50, false}, {52, 50, true},  {61, 61, false}, {89, 80, true},
                 {90, 90, false}, {120, 90, true}, {37, 0, false}};
    struct nvrtc *n = opened(12);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int target = -1;
        bool as_ptx = false;

        assert_int_equal(nvrtc_target(n, cases[i].sm, &target, &as_ptx), cases[i].target > 0);
        if (!cases[i].target)
            continue;
        assert_int_equal(target, cases[i].target);
        assert_int_equal(as_ptx, cases[i].as_ptx);
        as_ptx = true; /* only ever set */
        assert_true(nvrtc_target(n, cases[i].sm, &target, &as_ptx) && as_ptx);
    }
    assert_int_equal(nvrtc_supports(n, 61, NULL), ERR_OK);
    assert_int_equal(nvrtc_supports(n, 62, NULL), ERR_UNSUPPORTED);
    nvrtc_close(n);
}

static void built(struct nvrtc *n, const char *options, bool as_ptx, const char *wanted)
{
    struct program p;
    struct blobs blobs;
    struct program_module *m;
    struct nvrtc_built b;

    program_init(&p);
    blobs_init(&blobs, 1 << 20);
    m = program_add_module(&p, "main", LANG_CUDA_C, options);
    assert_int_equal(blobs_put(&blobs, "text\0more", 9, &m->source), ERR_OK); /* taken up to the NUL */
    assert_int_equal(program_define(m, "TM", 4) | program_define_text(m, "T", "float4"), ERR_OK);
    assert_int_equal(nvrtc_build(n, m, &blobs, 80, as_ptx, &b, NULL), ERR_OK);
    assert_string_equal(buf_text(&b.code), wanted);
    assert_int_equal(b.code.len, strlen(wanted));
    assert_null(b.log);
    nvrtc_built_fini(&b);
    program_fini(&p);
    blobs_fini(&blobs);
}

/* Of a module's options those that NVRTC knows go on, with one dash or two; OpenCL's mean nothing here. */
static void options_that_it_knows_are_handed_on(void **state)
{
    struct nvrtc *n = opened(13);

    (void)state;
    built(n, "", false,
          "main.cu\ntext\n--gpu-architecture=sm_80\n-w\n--std=c++17\n--ptxas-options=-v\n-DTM=4\n-DT=float4\n");
    built(n, "", true, "main.cu\ntext\n--gpu-architecture=compute_80\n-w\n--std=c++17\n-DTM=4\n-DT=float4\n");
    built(n, "-cl-mad-enable --fmad=true -use_fast_math ---fmad=true -w -DX=1 --maxrregcount=32 fmad=true -fmadx -O3",
          true,
          "main.cu\ntext\n--gpu-architecture=compute_80\n-w\n--std=c++17\n--fmad=true\n-use_fast_math\n-DX=1\n"
          "--maxrregcount=32\n-DTM=4\n-DT=float4\n");
    built(n, "-w -arch-specific", false,
          "main.cu\ntext\n--gpu-architecture=sm_80a\n-w\n--std=c++17\n--ptxas-options=-v\n-DTM=4\n-DT=float4\n");
    built(n, "-arch-specific", true,
          "main.cu\ntext\n--gpu-architecture=compute_80a\n-w\n--std=c++17\n-DTM=4\n-DT=float4\n");
    built(n, "-std=c++14", true, "main.cu\ntext\n--gpu-architecture=compute_80\n-w\n-std=c++14\n-DTM=4\n-DT=float4\n");
    nvrtc_close(n);
}

static void a_failed_build_tells_the_first_error_and_keeps_the_log(void **state)
{
    struct nvrtc *n = opened(13);
    struct program p;
    struct blobs blobs;
    struct program_module *m;
    struct nvrtc_built b;
    struct why why = {""};

    (void)state;
    program_init(&p);
    blobs_init(&blobs, 1 << 20);
    m = program_add_module(&p, "main", LANG_CUDA_C, "");
    assert_int_equal(blobs_put(&blobs, "nonsense", 8, &m->source), ERR_OK);
    assert_int_equal(nvrtc_build(n, m, &blobs, 80, false, &b, &why), ERR_COMPILE);
    assert_string_equal(why.text, "module 'main': NVRTC_ERROR_COMPILATION: main.cu(2): error: what is nonsense");
    assert_non_null(strstr(b.log, "main.cu(3): error: more"));
    nvrtc_built_fini(&b);
    assert_int_equal(nvrtc_build(n, m, &blobs, 61, false, &b, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "makes no code for sm_61 (it makes sm_75 to sm_120)"));
    nvrtc_built_fini(&b);
    m->lang = LANG_PTX;
    assert_int_equal(nvrtc_build(n, m, &blobs, 80, false, &b, &why), ERR_UNSUPPORTED);
    nvrtc_built_fini(&b);
    program_fini(&p);
    blobs_fini(&blobs);
    nvrtc_close(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_that_serves_device_and_driver_is_taken),
        cmocka_unit_test(devices_get_code_of_their_own_or_text_of_an_older_one),
        cmocka_unit_test(options_that_it_knows_are_handed_on),
        cmocka_unit_test(a_failed_build_tells_the_first_error_and_keeps_the_log),
    };

    unsetenv("TUNE_NVRTC");
    setenv("CUDA_HOME", STUB_HOME, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
