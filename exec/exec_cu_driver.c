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
    if (error == 0)
        return EXEC_OK;
    if (!cu->cuGetErrorName || cu->cuGetErrorName(error, &name) != 0 || !name)
        return exec_fail(words, EXEC_DEVICE_FAILED, "%s: CUDA error %d", what, error);
    return exec_fail(words, EXEC_DEVICE_FAILED, "%s: %s", what, name);
}

static void *exec_cu_open_library(const char **name, struct exec_words *words)
{
    static const char *const names[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
    const char *named = getenv("TUNE_CUDA_LIBRARY");
    void *library = NULL;
    if (named && *named != '\0') {
        *name = named;
        library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            (void)exec_fail(words, EXEC_NO_DEVICE, "TUNE_CUDA_LIBRARY: %s", dlerror());
        return library;
    }
    for (size_t i = 0; !library && i < sizeof names / sizeof names[0]; i++) {
        *name = names[i];
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (!library) {
        (void)exec_fail(words, EXEC_NO_DEVICE,
                        "no NVIDIA driver: libcuda.so.1 is not there (install the driver; in a container start it with "
                        "access to the GPU)");
    }
    return library;
}

EXEC_API void *exec_cu_find_driver(struct exec_cu_calls *out, struct exec_words *words)
{
    const char *name = NULL;
    void *library = exec_cu_open_library(&name, words), *found[EXEC_CU_N_CALLS];
    for (size_t i = 0; library && i < EXEC_CU_N_CALLS; i++) {
        found[i] = dlsym(library, exec_cu_names[i]);
        if (!found[i] && i < EXEC_CU_N_NEEDED) {
            (void)exec_fail(words, EXEC_NO_DEVICE,
                            "%s has no %s: the driver is too old, one of CUDA 10 or newer is needed", name,
                            exec_cu_names[i]);
            return NULL;
        }
    }
    if (library)
        memcpy(out, found, sizeof *out);
    return library;
}

EXEC_API enum exec_status exec_cu_load(struct exec_cu_calls *out, struct exec_words *words)
{
    if (!exec_cu_find_driver(out, words))
        return EXEC_NO_DEVICE;
    return exec_cu_check(out, out->cuInit(0), "cuInit", words) == EXEC_OK ? EXEC_OK : EXEC_NO_DEVICE;
}
