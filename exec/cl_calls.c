/* SPDX-License-Identifier: MIT */
#include "exec/cl_calls.h"
#include "exec/common.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libOpenCL.so.1"

struct opencl_calls opencl_calls;

/* In the order of the struct's members, all of which are pointers to functions. */
static const char *const names[] = {
#define X(name) #name,
    OPENCL_CALLS(X)
#undef X
};

#define N_CALLS (sizeof names / sizeof names[0])
static_assert(sizeof(struct opencl_calls) == N_CALLS * sizeof(void *), "one pointer a call and nothing else");

static enum exec_status find_all(void *library, const char *path, struct exec_words *words)
{
    void *found[N_CALLS];

    for (size_t i = 0; i < N_CALLS; i++) {
        found[i] = dlsym(library, names[i]);
        if (!found[i])
            return exec_fail(words, EXEC_NO_DEVICE, "%s has no %s: it is no library of OpenCL 1.2", path, names[i]);
    }
    memcpy(&opencl_calls, found, sizeof found);
    return EXEC_OK;
}

/* `reason` is dlerror's; it begins with the file that could not be opened, which may be one that the library needs. */
static enum exec_status cannot_load(int named, const char *reason, struct exec_words *words)
{
    if (named)
        return exec_fail(words, EXEC_NO_DEVICE, "TUNE_OPENCL_LIBRARY: %s", reason);
    if (strncmp(reason, LIBRARY ": cannot open", strlen(LIBRARY ": cannot open")) != 0)
        return exec_fail(words, EXEC_NO_DEVICE, "OpenCL cannot be loaded: %s", reason);
    return exec_fail(words, EXEC_NO_DEVICE,
                     LIBRARY " is not there: install the OpenCL loader (Debian: ocl-icd-libopencl1) and a driver");
}

static enum exec_status load(struct exec_words *words)
{
    const char *named = getenv("TUNE_OPENCL_LIBRARY"), *path = named && *named ? named : LIBRARY;
    void *library;

    if (dlsym(RTLD_DEFAULT, names[0]))
        return find_all(RTLD_DEFAULT, "the library preloaded", words);
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    return library ? find_all(library, path, words) : cannot_load(path == named, dlerror(), words);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct exec_words loaded_words;
static enum exec_status loaded;

static void load_once(void)
{
    loaded = load(&loaded_words);
}

enum exec_status exec_cl_load(struct exec_words *words)
{
    pthread_once(&once, load_once);
    return loaded != EXEC_OK ? exec_fail(words, loaded, "%s", loaded_words.text) : EXEC_OK;
}
