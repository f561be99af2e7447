/* SPDX-License-Identifier: MIT */
/* nvrtc.c - the emulated NVRTC: the same calls, behind them g++. TUNE_NVRTC_VERSION=12.8 (13.0 when unset) decides
 * which architectures it knows. */
#include "tests/cuda/nvrtc_api.h"

#include "tests/cuda/compile.h"
#include "tests/cuda/emulated_abi.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 256
#define MAX_OBJECT ((size_t)64 << 20)
#define MAX_LOG ((size_t)1 << 20)

struct nvrtc_program {
    char *text;
    struct buf object, log;
    int sm;
    bool is_real;  /* compiled for sm_, else for compute_ */
    bool specific; /* for this architecture alone */
};

static void version(int *major, int *minor)
{
    const char *text = getenv("TUNE_NVRTC_VERSION");

    *major = 13;
    *minor = 0;
    if (text)
        sscanf(text, "%d.%d", major, minor);
}

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    version(major, minor);
    return NVRTC_SUCCESS;
}

/* From NVIDIA's release notes: CUDA 13 begins at 7.5, 12 at 5.0, 11 at 3.5. */
static const int *supported(void)
{
    static const int v11[] = {35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 0};
    static const int v12[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 0};
    static const int v12_8[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120, 0};
    static const int v13[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121, 0};
    int major, minor;

    version(&major, &minor);
    return major >= 13 ? v13 : major == 12 ? minor >= 8 ? v12_8 : v12 : v11;
}

static bool is_supported(int sm)
{
    for (const int *at = supported(); *at; at++)
        if (*at == sm)
            return true;
    return false;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *n)
{
    *n = 0;
    for (const int *at = supported(); *at; at++)
        ++*n;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *archs)
{
    for (const int *at = supported(); *at; at++)
        *archs++ = *at;
    return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult e)
{
    static const char *const words[] = {
        "NVRTC_SUCCESS",
        "NVRTC_ERROR_OUT_OF_MEMORY",
        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
        "NVRTC_ERROR_INVALID_INPUT",
        "NVRTC_ERROR_INVALID_PROGRAM",
        "NVRTC_ERROR_INVALID_OPTION",
        "NVRTC_ERROR_COMPILATION",
        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    };

    return e >= 0 && e < (int)(sizeof words / sizeof *words) ? words[e] : "NVRTC_ERROR_INTERNAL_ERROR";
}

/* Headers in memory are not emulated: the kernels of this project include none. */
nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name, int n_headers,
                               const char *const *headers, const char *const *names)
{
    nvrtcProgram p;
    struct buf text;

    (void)headers;
    (void)names;
    if (!out || !source || n_headers)
        return NVRTC_ERROR_INVALID_INPUT;
    p = calloc(1, sizeof *p);
    if (!p)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    buf_init(&text, MAX_OBJECT);
    buf_printf(&text, "#line 1 \"%s\"\n%s", name ? name : "default_program", source);
    p->text = buf_take(&text);
    buf_init(&p->object, MAX_OBJECT);
    buf_init(&p->log, MAX_LOG);
    if (!p->text || text.failed) {
        free(p->text);
        free(p);
        return NVRTC_ERROR_OUT_OF_MEMORY;
    }
    *out = p;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *p)
{
    if (!p || !*p)
        return NVRTC_ERROR_INVALID_PROGRAM;
    free((*p)->text);
    buf_fini(&(*p)->object);
    buf_fini(&(*p)->log);
    free(*p);
    *p = NULL;
    return NVRTC_SUCCESS;
}

/* Options. */

struct options {
    const char *defines[MAX_OPTIONS + 16];
    int n;
    char own[8][64]; /* what the architecture defines */
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_ignored(const char *option)
{
    static const char *const known[] = {"--std=",
                                        "-std=",
                                        "--ptxas-options",
                                        "-Xptxas",
                                        "--use_fast_math",
                                        "-use_fast_math",
                                        "--fmad=",
                                        "-fmad=",
                                        "-w",
                                        "--disable-warnings",
                                        "-default-device",
                                        "--maxrregcount",
                                        "-maxrregcount",
                                        "-lineinfo",
                                        "--generate-line-info",
                                        "--restrict",
                                        "-restrict",
                                        "--ftz=",
                                        "-ftz=",
                                        "--prec-",
                                        "--diag-suppress",
                                        "-diag-suppress",
                                        "--extra-device-vectorization",
                                        "--device-as-default-execution-space",
                                        "--dopt",
                                        "-dopt",
                                        "-v",
                                        "--minimal",
                                        "-minimal",
                                        NULL};

    for (int i = 0; known[i]; i++)
        if (begins(option, known[i]))
            return true;
    return false;
}

static const char *arch_of(const char *option)
{
    static const char *const forms[] = {"--gpu-architecture=", "-arch=", "--gpu-architecture", "-arch"};

    for (int i = 0; i < 4; i++)
        if (begins(option, forms[i]))
            return option + strlen(forms[i]);
    return NULL;
}

static nvrtcResult read_arch(nvrtcProgram p, const char *text)
{
    char kind[16], suffix[8] = "";

    if (sscanf(text, "%15[a-z]_%d%7s", kind, &p->sm, suffix) >= 2 && is_supported(p->sm) &&
        (strcmp(kind, "sm") == 0 || strcmp(kind, "compute") == 0)) {
        p->is_real = strcmp(kind, "sm") == 0;
        p->specific = strcmp(suffix, "a") == 0;
        return NVRTC_SUCCESS;
    }
    buf_printf(&p->log, "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
    return NVRTC_ERROR_INVALID_OPTION;
}

static void define(struct options *o, int i, const char *name, int value)
{
    snprintf(o->own[i], sizeof o->own[i], "-D%s=%d", name, value);
    o->defines[o->n++] = o->own[i];
}

/* `i`: the option's index; moves on where its value is the next one. */
static nvrtcResult read_option(nvrtcProgram p, struct options *o, const char *const *options, int n, int *i)
{
    const char *option = options[*i], *arch = arch_of(option);

    if (arch && !*arch && *i + 1 < n)
        arch = options[++*i];
    if (arch)
        return read_arch(p, arch);
    if (begins(option, "-D") || begins(option, "-U") || begins(option, "-I")) {
        o->defines[o->n++] = option;
        if (!option[2] && *i + 1 < n)
            o->defines[o->n++] = options[++*i];
        return NVRTC_SUCCESS;
    }
    if (is_ignored(option)) {
        *i += (strcmp(option, "-Xptxas") == 0 || strcmp(option, "--ptxas-options") == 0) && *i + 1 < n;
        return NVRTC_SUCCESS;
    }
    buf_printf(&p->log, "nvrtc: error: unrecognized option %s found\n", option);
    return NVRTC_ERROR_INVALID_OPTION;
}

static nvrtcResult read_options(nvrtcProgram p, int n, const char *const *options, struct options *o)
{
    nvrtcResult e = n > MAX_OPTIONS / 2 * 2 ? NVRTC_ERROR_INVALID_OPTION : NVRTC_SUCCESS;
    int major, minor;

    o->n = 0;
    p->sm = supported()[0];
    p->is_real = false;
    for (int i = 0; i < n && !e; i++)
        e = read_option(p, o, options, n, &i);
    version(&major, &minor);
    define(o, 0, "__CUDA_ARCH__", p->sm * 10);
    define(o, 1, "__CUDACC__", 1);
    define(o, 2, "__CUDACC_RTC__", 1);
    define(o, 3, "__CUDACC_VER_MAJOR__", major);
    define(o, 4, "__CUDACC_VER_MINOR__", minor);
    if (p->specific && p->sm == 90)
        define(o, 5, "__CUDA_ARCH_FEAT_SM90_ALL", 1);
    o->defines[o->n] = NULL;
    return e;
}

/* Writes the architecture into the object. */
static bool mark(struct buf *object, int sm)
{
    static const char text[] = EMU_SM_MARK;
    char *at = object->len ? memmem(object->data, object->len, text, sizeof text - 1) : NULL, digits[8];

    if (!at)
        return false;
    snprintf(digits, sizeof digits, "%03d", sm % 1000);
    memcpy(at + sizeof text - 1, digits, 3);
    return true;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int n_options, const char *const *options)
{
    struct options o;
    nvrtcResult e;
    enum err failed;

    if (!p)
        return NVRTC_ERROR_INVALID_PROGRAM;
    buf_clear(&p->object);
    buf_clear(&p->log);
    e = read_options(p, n_options, options, &o);
    if (e)
        return e;
    failed = compile_cuda(p->text, o.defines, &p->object, &p->log);
    if (failed)
        return failed == ERR_COMPILE ? NVRTC_ERROR_COMPILATION : NVRTC_ERROR_INTERNAL_ERROR;
    return mark(&p->object, p->sm) ? NVRTC_SUCCESS : NVRTC_ERROR_INTERNAL_ERROR;
}

/* Results. */

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *n)
{
    if (!p)
        return NVRTC_ERROR_INVALID_PROGRAM;
    *n = p->is_real ? p->object.len : 0; /* compute_ gives none */
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *bytes)
{
    if (!p)
        return NVRTC_ERROR_INVALID_PROGRAM;
    if (!p->is_real || !p->object.len)
        return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(bytes, p->object.data, p->object.len);
    return NVRTC_SUCCESS;
}

static int ptx_head(nvrtcProgram p, char *text, size_t n)
{
    int major, minor;

    version(&major, &minor);
    return snprintf(text, n, "// emulated, CUDA %d\n.target sm_%d\n// %zu bytes: ", major * 1000 + minor * 10, p->sm,
                    p->object.len);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *n)
{
    if (!p || !p->object.len)
        return NVRTC_ERROR_INVALID_PROGRAM;
    *n = (size_t)ptx_head(p, NULL, 0) + 2 * p->object.len + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *text)
{
    static const char digits[] = "0123456789abcdef";

    if (!p || !p->object.len)
        return NVRTC_ERROR_INVALID_PROGRAM;
    text += ptx_head(p, text, 200);
    for (size_t i = 0; i < p->object.len; i++) {
        const unsigned char byte = (unsigned char)p->object.data[i];

        *text++ = digits[byte >> 4];
        *text++ = digits[byte & 15];
    }
    *text = '\0';
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *n)
{
    if (!p)
        return NVRTC_ERROR_INVALID_PROGRAM;
    *n = p->log.len + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *log)
{
    if (!p)
        return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(log, buf_text(&p->log), p->log.len + 1);
    return NVRTC_SUCCESS;
}
