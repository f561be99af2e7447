/* SPDX-License-Identifier: MIT */
/* Which code is made ahead for CUDA, by a stand-in for NVRTC (tests/cuda). */
#include "runtime/nvrtc.h"
#include "deploy/cuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char text[] = "extern \"C\" __global__ void f(float *y) { y[0] = 1; }\n";

/* Targets of a module's code, "compute_61 sm_61 ...", for a device of sm 61 and a driver. */
static enum err make(const char *version, const struct deploy_ahead *w, enum program_lang lang, char out[200],
                     struct why *why)
{
    struct device_desc d = {.sm = 61};
    struct program_module m = {.id = "m", .lang = lang};
    struct deploy_code code = {.n = 0};
    struct blobs blobs;

    snprintf(d.platform_version, sizeof d.platform_version, "%s", version);
    blobs_init(&blobs, 1 << 20);
    assert_int_equal(blobs_put(&blobs, text, strlen(text), &m.source), ERR_OK);
    const enum err e = deploy_cuda_code(&m, &blobs, &d, w, EMULATED_NVRTC_PATH, &code, why);
    out[0] = '\0';
    for (size_t i = 0; i < code.n; i++) {
        snprintf(out + strlen(out), 200 - strlen(out), "%s%s", i ? " " : "", code.list[i].target);
        assert_true(code.list[i].n_bytes > 0);
    }
    deploy_code_fini(&code);
    blobs_fini(&blobs);
    return e;
}

static void ptx_is_always_made_and_cubins_as_asked(void **state)
{
    static const struct {
        struct deploy_ahead w;
        const char *targets;
    } cases[] = {{{false, {0}, 0}, "compute_61"},
                 {{true, {0}, 0}, "compute_61 sm_61"},
                 {{false, {75, 61}, 2}, "compute_61 sm_75 sm_61"},
                 {{true, {61, 75}, 2}, "compute_61 sm_61 sm_75"}}; /* once each */
    char targets[200];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};

        if (make("CUDA 12.4", &cases[i].w, LANG_CUDA_C, targets, &why))
            fail_msg("%s", why.text);
        assert_string_equal(targets, cases[i].targets);
    }
}

static void other_texts_and_architectures_are_refused(void **state)
{
    const struct deploy_ahead none = {false, {0}, 0}, unknown = {false, {999}, 1};
    struct why why = {""};
    char targets[200];

    (void)state;
    assert_int_equal(make("CUDA 12.4", &none, LANG_OPENCL_C, targets, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "module 'm' is not CUDA C"));
    assert_int_equal(make("CUDA 12.4", &unknown, LANG_CUDA_C, targets, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "sm_999"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_is_always_made_and_cubins_as_asked),
        cmocka_unit_test(other_texts_and_architectures_are_refused),
    };

    setenv("TUNE_NVRTC_VERSION", "12.4", 1); /* knows sm_50 to sm_90 */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
