/* SPDX-License-Identifier: MIT */
/* NVRTC as it is found on this machine (skipped, with words, where there is none), and the reading of its log. */
#include "core/file.h"
#include "runtime/cuda_arch.h"
#include "runtime/nvrtc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct nvrtc *nvrtc;
static int newest; /* architecture it makes code for, of those we know */

static const char stage_text[] =
    "extern \"C\" __global__ void __launch_bounds__(256) stage(const float *x, float *y, int n)\n"
    "{ __shared__ float s[256]; int i = blockIdx.x * 256 + threadIdx.x; s[threadIdx.x] = i < n ? x[i] * SCALE : 0;\n"
    "  __syncthreads(); if (i < n) y[i] = s[255 - threadIdx.x]; }\n";

/* More values live at a time than 32 registers hold; a thread's own, so that uniform registers hold none. */
static const char spill_text[] =
    "extern \"C\" __global__ void spill(const float *x, float *y, int n)\n"
    "{ float a[64]; const int t = threadIdx.x;\n"
    "  _Pragma(\"unroll\") for (int i = 0; i < 64; i++) a[i] = x[i * n + t];\n"
    "  __syncthreads();\n"
    "  for (int j = 0; j < n; j++) {\n"
    "    const float f = x[j + t];\n"
    "    _Pragma(\"unroll\") for (int i = 0; i < 64; i++) a[i] = a[i] * f + a[(i + 1) & 63];\n"
    "  }\n"
    "  _Pragma(\"unroll\") for (int i = 0; i < 64; i++) y[i * n + t] = a[i]; }\n";

struct sample {
    struct program program;
    struct blobs blobs;
    struct program_module *module;
    struct nvrtc_built built;
    struct why why;
};

static void sample_init(struct sample *s, const char *text, const char *options)
{
    *s = (struct sample){.why = {""}};
    program_init(&s->program);
    blobs_init(&s->blobs, 1 << 20);
    s->module = program_add_module(&s->program, "main", LANG_CUDA_C, options);
    assert_int_equal(blobs_put(&s->blobs, text, strlen(text), &s->module->source), ERR_OK);
    assert_int_equal(program_define(s->module, "SCALE", 3), ERR_OK);
}

static void sample_fini(struct sample *s)
{
    nvrtc_built_fini(&s->built);
    blobs_fini(&s->blobs);
    program_fini(&s->program);
}

static void need_nvrtc(void)
{
    if (!nvrtc)
        skip();
}

static void module_becomes_a_cubin_and_its_figures_are_told(void **state)
{
    struct sample s;

    (void)state;
    need_nvrtc();
    sample_init(&s, stage_text, "-cl-mad-enable -cl-std=CL1.2 -O7 --fmad=true");
    assert_int_equal(nvrtc_build(nvrtc, s.module, &s.blobs, newest, false, &s.built, &s.why), ERR_OK);
    assert_true(s.built.code.len > 64 && memcmp(s.built.code.data,
                                                "\x7f"
                                                "ELF",
                                                4) == 0);
    assert_int_equal(s.built.n_resources, 1);
    assert_string_equal(s.built.resources[0].kernel, "stage");
    assert_in_range(s.built.resources[0].registers, 4, 64);
    assert_int_equal(s.built.resources[0].local_bytes, 1024);
    assert_int_equal(s.built.resources[0].spill_bytes, 0);
    assert_true(s.built.build_ns > 0);
    sample_fini(&s);
}

static void spilled_registers_are_counted(void **state)
{
    struct sample s;

    (void)state;
    need_nvrtc();
    sample_init(&s, spill_text, "--maxrregcount=32");
    assert_int_equal(nvrtc_build(nvrtc, s.module, &s.blobs, newest, false, &s.built, &s.why), ERR_OK);
    assert_int_equal(s.built.n_resources, 1);
    assert_int_equal(s.built.resources[0].registers, 32);
    assert_true(s.built.resources[0].spill_bytes > 0);
    assert_true(s.built.resources[0].stack_bytes > 0);
    sample_fini(&s);
}

static void ptx_is_text_for_the_architecture(void **state)
{
    struct sample s;
    char target[32];

    (void)state;
    need_nvrtc();
    sample_init(&s, stage_text, "");
    snprintf(target, sizeof target, ".target sm_%d", newest);
    assert_int_equal(nvrtc_build(nvrtc, s.module, &s.blobs, newest, true, &s.built, &s.why), ERR_OK);
    assert_non_null(strstr(buf_text(&s.built.code), target));
    assert_non_null(strstr(buf_text(&s.built.code), "stage"));
    assert_int_equal(strlen(buf_text(&s.built.code)), s.built.code.len);
    sample_fini(&s);
}

static void broken_text_is_answered_with_the_error_s_line(void **state)
{
    struct sample s;

    (void)state;
    need_nvrtc();
    sample_init(&s, "extern \"C\" __global__ void k(float *x)\n{ x[0] = nowhere; }\n", "");
    assert_int_equal(nvrtc_build(nvrtc, s.module, &s.blobs, newest, false, &s.built, &s.why), ERR_COMPILE);
    assert_non_null(strstr(s.why.text, "nowhere"));
    assert_non_null(strstr(s.why.text, "main.cu(2)"));
    assert_non_null(s.built.log);
    sample_fini(&s);
}

static void source_that_is_not_there_is_named(void **state)
{
    struct sample s;

    (void)state;
    need_nvrtc();
    sample_init(&s, stage_text, "");
    assert_int_equal(nvrtc_build(nvrtc, s.module, NULL, newest, false, &s.built, &s.why), ERR_NOT_FOUND);
    assert_non_null(strstr(s.why.text, "not among the blobs"));
    sample_fini(&s);
}

static void architecture_it_does_not_know_is_refused_with_advice(void **state)
{
    struct why why = {""};
    int target = 0;
    bool as_ptx = false;

    (void)state;
    need_nvrtc();
    assert_int_equal(nvrtc_supports(nvrtc, newest, &why), ERR_OK);
    assert_int_equal(nvrtc_supports(nvrtc, 20, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "makes no code for sm_20"));
    assert_non_null(strstr(why.text, "nvidia-cuda-nvrtc-cu12"));
    assert_non_null(strstr(why.text, nvrtc_path(nvrtc)));
    assert_false(nvrtc_target(nvrtc, 20, &target, &as_ptx));
    assert_true(nvrtc_target(nvrtc, newest, &target, &as_ptx));
    assert_true(target == newest && !as_ptx);
    assert_true(nvrtc_target(nvrtc, 999, &target, &as_ptx));
    assert_true(target >= newest && target < 999 && as_ptx);
}

static void name_of_a_cubin_follows_what_decides_it(void **state)
{
    char a[NVRTC_NAME_BYTES], b[NVRTC_NAME_BYTES];
    struct sample s;

    (void)state;
    sample_init(&s, stage_text, "");
    nvrtc_cache_name(s.module, 75, a);
    nvrtc_cache_name(s.module, 75, b);
    assert_string_equal(a, b);
    assert_int_equal(strlen(a), strlen("tune-.cubin") + SHA256_HEX);
    nvrtc_cache_name(s.module, 80, b);
    assert_string_not_equal(a, b);
    program_define(s.module, "MORE", 1);
    nvrtc_cache_name(s.module, 75, b);
    assert_string_not_equal(a, b);
    sample_fini(&s);
}

/* As CUDA 12 writes it and as 13 does; a function that is no kernel stands between. */
static void log_of_the_assembler_is_read(void **state)
{
    static const char log[] = "ptxas info    : 0 bytes gmem, 400 bytes cmem[3]\n"
                              "ptxas info    : Compiling entry function 'k1' for 'sm_61'\n"
                              "ptxas info    : Function properties for k1\n"
                              "    80 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
                              "ptxas info    : Used 20 registers, 1024 bytes smem, 332 bytes cmem[0], 8 bytes cmem[2]\n"
                              "ptxas info    : Function properties for helper\n"
                              "    7 bytes stack frame, 7 bytes spill stores, 7 bytes spill loads\n"
                              "ptxas info    : Compiling entry function 'k2' for 'sm_61'\n"
                              "ptxas info    : Function properties for k2\n"
                              "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                              "ptxas info    : Used 255 registers, used 1 barriers\n";
    struct kernel_resources *r = NULL;
    size_t n = 0;

    (void)state;
    assert_int_equal(nvrtc_read_resources(log, &r, &n), ERR_OK);
    assert_int_equal(n, 2);
    assert_string_equal(r[0].kernel, "k1");
    assert_int_equal(r[0].registers, 20);
    assert_int_equal(r[0].local_bytes, 1024);
    assert_int_equal(r[0].spill_bytes, 28);
    assert_int_equal(r[0].stack_bytes, 80);
    assert_int_equal(r[0].constant_bytes, 408);
    assert_int_equal(r[1].registers, 255);
    assert_int_equal(r[1].spill_bytes, 0);
    assert_int_equal(r[1].local_bytes, 0);
    free(r);
    r = NULL;
    assert_int_equal(nvrtc_read_resources("a.cu(1): warning: 3 registers\n", &r, &n), ERR_OK);
    assert_int_equal(n, 0);
    free(r);
    r = NULL;
    assert_int_equal(
        nvrtc_read_resources("info : Compiling entry function 'k' for 'sm_75'\n"
                             "  0 bytes stack frame, 2000000000 bytes spill stores, 2000000000 bytes spill loads\n"
                             "info : Used 55555555555 registers, 1500000000 bytes cmem[2], 1500000000 bytes cmem[3]\n",
                             &r, &n),
        ERR_OK); /* more than any kernel has: as much as can be told */
    assert_int_equal(n, 1);
    assert_int_equal(r[0].spill_bytes, 1 << 30);
    assert_int_equal(r[0].registers, 1 << 30);
    assert_int_equal(r[0].constant_bytes, 1 << 30);
    free(r);
}

static void library_that_is_none_is_named(void **state)
{
    struct nvrtc *none = NULL;
    struct why why = {""};

    (void)state;
    assert_int_equal(nvrtc_open("/nowhere/libnvrtc.so.12", &none, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "/nowhere/libnvrtc.so.12"));
    assert_int_equal(nvrtc_open("/", &none, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "the folder has none"));
    assert_int_equal(nvrtc_open("libm.so.6", &none, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "nvrtcVersion"));
    assert_null(none);
}

static int open_one(void **state)
{
    struct why why = {""};

    (void)state;
    if (nvrtc_open(NULL, &nvrtc, &why)) {
        printf("no NVRTC here, most tests are skipped: %s\n", why.text);
        return 0;
    }
    for (const struct cuda_arch *a = cuda_arch_table; a->sm; a++)
        if (nvrtc_supports(nvrtc, a->sm, NULL) == ERR_OK)
            newest = a->sm;
    printf("NVRTC %d of %s, newest architecture sm_%d\n", nvrtc_version(nvrtc), nvrtc_path(nvrtc), newest);
    return newest ? 0 : 1;
}

static int close_it(void **state)
{
    (void)state;
    nvrtc_close(nvrtc);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(module_becomes_a_cubin_and_its_figures_are_told),
        cmocka_unit_test(spilled_registers_are_counted),
        cmocka_unit_test(ptx_is_text_for_the_architecture),
        cmocka_unit_test(broken_text_is_answered_with_the_error_s_line),
        cmocka_unit_test(source_that_is_not_there_is_named),
        cmocka_unit_test(architecture_it_does_not_know_is_refused_with_advice),
        cmocka_unit_test(name_of_a_cubin_follows_what_decides_it),
        cmocka_unit_test(log_of_the_assembler_is_read),
        cmocka_unit_test(library_that_is_none_is_named),
    };

    return cmocka_run_group_tests(tests, open_one, close_it);
}
