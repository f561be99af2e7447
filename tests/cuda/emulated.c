/* SPDX-License-Identifier: MIT */
#include "tests/cuda/emulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>

#include <cmocka.h>

struct emulated_cuda cuda;
struct emulated_nvrtc nvrtc;
static char arch_now[16];

static bool open_library(const char *path, void **out)
{
    *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*out)
        printf("%s\n", dlerror());
    return *out != NULL;
}

int emulated_open(void)
{
    void *driver, *compiler;
    char log[500], *image;

    if (!open_library(EMULATED_CUDA, &driver) || !open_library(EMULATED_NVRTC_PATH, &compiler))
        return 1;
#define FIND(f) cuda.f = (__typeof__(cuda.f))(uintptr_t)dlsym(driver, #f);
    EMULATED_DRIVER(FIND)
#undef FIND
#define FIND(f) nvrtc.f = (__typeof__(nvrtc.f))(uintptr_t)dlsym(compiler, #f);
    EMULATED_NVRTC(FIND)
#undef FIND
    image = emulated_image("extern \"C\" __global__ void k() {}", "sm_80", log);
    free(image);
    if (image)
        return 0;
    printf("%s: %s\n", strstr(log, "no g++") ? "skipped" : "failed", log);
    return strstr(log, "no g++") ? 77 : 1;
}

CUcontext emulated_start(const char *sm)
{
    CUcontext c = NULL;

    setenv("TUNE_CUDA_SM", sm, 1);
    snprintf(arch_now, sizeof arch_now, "sm_%d", atoi(sm));
    assert_int_equal(cuda.cuInit(0), 0);
    assert_int_equal(cuda.cuCtxCreate_v2(&c, 0, 0), 0);
    return c;
}

char *emulated_image(const char *text, const char *arch, char *log)
{
    nvrtcProgram p = NULL;
    char option[64], *image = NULL;
    const char *options[] = {option};
    size_t n = 0;

    snprintf(option, sizeof option, "--gpu-architecture=%s", arch);
    assert_int_equal(nvrtc.nvrtcCreateProgram(&p, text, "test.cu", 0, NULL, NULL), 0);
    if (nvrtc.nvrtcCompileProgram(p, 1, options) == 0) {
        const bool real = strncmp(arch, "sm_", 3) == 0;

        assert_int_equal(real ? nvrtc.nvrtcGetCUBINSize(p, &n) : nvrtc.nvrtcGetPTXSize(p, &n), 0);
        image = malloc(n);
        assert_non_null(image);
        assert_int_equal(real ? nvrtc.nvrtcGetCUBIN(p, image) : nvrtc.nvrtcGetPTX(p, image), 0);
    } else {
        char *all;

        assert_int_equal(nvrtc.nvrtcGetProgramLogSize(p, &n), 0);
        all = malloc(n);
        assert_non_null(all);
        assert_int_equal(nvrtc.nvrtcGetProgramLog(p, all), 0);
        snprintf(log, 500, "%s", all);
        free(all);
    }
    nvrtc.nvrtcDestroyProgram(&p);
    return image;
}

CUfunction emulated_kernel(const char *text, const char *name)
{
    char log[500] = "", *image = emulated_image(text, arch_now, log);
    CUmodule m = NULL;
    CUfunction f = NULL;

    if (!image)
        fail_msg("%s", log);
    assert_int_equal(cuda.cuModuleLoadDataEx(&m, image, 0, NULL, NULL), 0);
    free(image);
    assert_int_equal(cuda.cuModuleGetFunction(&f, m, name), 0);
    return f;
}

CUdeviceptr emulated_buffer(const void *content, size_t n_bytes)
{
    CUdeviceptr at = 0;

    assert_int_equal(cuda.cuMemAlloc_v2(&at, n_bytes), 0);
    if (content)
        assert_int_equal(cuda.cuMemcpyHtoD_v2(at, content, n_bytes), 0);
    return at;
}

void emulated_read(void *to, CUdeviceptr from, size_t n_bytes)
{
    assert_int_equal(cuda.cuMemcpyDtoH_v2(to, from, n_bytes), 0);
}
