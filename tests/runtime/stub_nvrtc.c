/* SPDX-License-Identifier: MIT */
/* stub_nvrtc.c - an NVRTC of version STUB_MAJOR that compiles nothing: the code it gives is the options it was asked
 * with, a line each, behind the program's name and text. Makes code for STUB_ARCHS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct stub_program {
    char text[8192];
    int failed;
};

int nvrtcVersion(int *major, int *minor);
int nvrtcGetNumSupportedArchs(int *n);
int nvrtcGetSupportedArchs(int *archs);
int nvrtcCreateProgram(void **out, const char *text, const char *name, int n_headers, const char *const *headers,
                       const char *const *names);
int nvrtcDestroyProgram(void **program);
int nvrtcCompileProgram(void *program, int n, const char *const *options);
int nvrtcGetCUBINSize(void *program, size_t *n);
int nvrtcGetCUBIN(void *program, char *out);
int nvrtcGetPTXSize(void *program, size_t *n);
int nvrtcGetPTX(void *program, char *out);
int nvrtcGetProgramLogSize(void *program, size_t *n);
int nvrtcGetProgramLog(void *program, char *out);
const char *nvrtcGetErrorString(int result);

static const int archs[] = {STUB_ARCHS};

EXPORT int nvrtcVersion(int *major, int *minor)
{
    *major = STUB_MAJOR;
    *minor = 4;
    return 0;
}

EXPORT int nvrtcGetNumSupportedArchs(int *n)
{
    *n = (int)(sizeof archs / sizeof archs[0]);
    return 0;
}

EXPORT int nvrtcGetSupportedArchs(int *out)
{
    memcpy(out, archs, sizeof archs);
    return 0;
}

EXPORT int nvrtcCreateProgram(void **out, const char *text, const char *name, int n_headers, const char *const *headers,
                              const char *const *names)
{
    struct stub_program *p = calloc(1, sizeof *p);

    (void)n_headers;
    (void)headers;
    (void)names;
    if (!p)
        return 1;
    snprintf(p->text, sizeof p->text, "%s\n%s\n", name, text);
    p->failed = strstr(text, "nonsense") != NULL;
    *out = p;
    return 0;
}

EXPORT int nvrtcDestroyProgram(void **program)
{
    free(*program);
    *program = NULL;
    return 0;
}

EXPORT int nvrtcCompileProgram(void *program, int n, const char *const *options)
{
    struct stub_program *p = program;

    for (int i = 0; i < n; i++) {
        const size_t at = strlen(p->text);

        snprintf(p->text + at, sizeof p->text - at, "%s\n", options[i]);
    }
    return p->failed ? 6 : 0;
}

EXPORT int nvrtcGetCUBINSize(void *program, size_t *n)
{
    *n = strlen(((struct stub_program *)program)->text);
    return 0;
}

EXPORT int nvrtcGetCUBIN(void *program, char *out)
{
    const struct stub_program *p = program;

    memcpy(out, p->text, strlen(p->text));
    return 0;
}

EXPORT int nvrtcGetPTXSize(void *program, size_t *n)
{
    *n = strlen(((struct stub_program *)program)->text) + 1;
    return 0;
}

EXPORT int nvrtcGetPTX(void *program, char *out)
{
    strcpy(out, ((struct stub_program *)program)->text);
    return 0;
}

static const char log_text[] =
    "main.cu(1): warning: odd\nmain.cu(2): error: what is nonsense\nmain.cu(3): error: more\n";

EXPORT int nvrtcGetProgramLogSize(void *program, size_t *n)
{
    *n = ((struct stub_program *)program)->failed ? sizeof log_text : 1;
    return 0;
}

EXPORT int nvrtcGetProgramLog(void *program, char *out)
{
    strcpy(out, ((struct stub_program *)program)->failed ? log_text : "");
    return 0;
}

EXPORT const char *nvrtcGetErrorString(int result)
{
    return result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}
