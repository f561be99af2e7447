/* SPDX-License-Identifier: MIT */
/* exec_cu_driver.c - finding the CUDA driver. */
#include "exec/exec_cu_driver.h"
#include "exec/common.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const exec_cu_names[] = {
#define X(name, arguments) #name,
    EXEC_CU_CALLS(X) EXEC_CU_NEWER_CALLS(X)
#undef X
};

#define EXEC_CU_COUNT(name, arguments) +1
#define EXEC_CU_N_NEEDED ((size_t)(0 EXEC_CU_CALLS(EXEC_CU_COUNT)))
#define EXEC_CU_N_CALLS (sizeof exec_cu_names / sizeof exec_cu_names[0])

EXEC_API enum exec_status exec_cu_check(const struct exec_cu_calls *cu, int error, const char *what,
                                        struct exec_words *words)
{
    const char *name = NULL;
    if (error == 0) {
        return EXEC_OK;
    }
    if (cu->cuGetErrorName == NULL || cu->cuGetErrorName(error, &name) != 0 || name == NULL) {
        return exec_fail(words, EXEC_DEVICE_FAILED, "%s: CUDA error %d", what, error);
    }
    return exec_fail(words, EXEC_DEVICE_FAILED, "%s: %s", what, name);
}

static void *exec_cu_open_library(const char **name)
{
    const char *named = getenv("TUNE_CUDA_LIBRARY");
    *name = named != NULL && *named != '\0' ? named : "libcuda.so.1";
    return dlopen(*name, RTLD_NOW | RTLD_LOCAL);
}

static enum exec_status exec_cu_find(void *library, const char *name, struct exec_cu_calls *out,
                                     struct exec_words *words)
{
    void *found[EXEC_CU_N_CALLS];
    for (size_t i = 0; i < EXEC_CU_N_CALLS; i++) {
        found[i] = dlsym(library, exec_cu_names[i]);
        if (i < EXEC_CU_N_NEEDED && found[i] == NULL) {
            return exec_fail(words, EXEC_NO_DEVICE, "%s has no %s: a driver of CUDA 10 or newer is needed", name,
                             exec_cu_names[i]);
        }
    }
    memcpy(out, found, sizeof *out);
    return EXEC_OK;
}

EXEC_API enum exec_status exec_cu_load(struct exec_cu_calls *out, struct exec_words *words)
{
    const char *name = NULL;
    void *library = exec_cu_open_library(&name);
    if (library == NULL) {
        const char *reason = dlerror();
        return exec_fail(words, EXEC_NO_DEVICE, "no CUDA driver: %s", reason != NULL ? reason : name);
    }
    enum exec_status s = exec_cu_find(library, name, out, words);
    if (s == EXEC_OK && exec_cu_check(out, out->cuInit(0), "cuInit", words) != EXEC_OK) {
        s = EXEC_NO_DEVICE;
    }
    return s;
}
