/* SPDX-License-Identifier: MIT */
#include "runtime/opencl_api.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
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

static enum err find_all(void *library, const char *path, struct why *why)
{
    void *found[N_CALLS];

    for (size_t i = 0; i < N_CALLS; i++) {
        found[i] = dlsym(library, names[i]);
        if (!found[i])
            return why_set(why, ERR_NOT_FOUND, "%s has no %s: it is no library of OpenCL 1.2", path, names[i]);
    }
    memcpy(&opencl_calls, found, sizeof found);
    return ERR_OK;
}

/* `words` are dlerror's; they begin with the file that could not be opened, which may be one that the library needs. */
static enum err cannot_load(bool named, const char *words, struct why *why)
{
    if (named)
        return why_set(why, ERR_NOT_FOUND, "TUNE_OPENCL_LIBRARY: %s", words);
    if (strncmp(words, LIBRARY ": cannot open", strlen(LIBRARY ": cannot open")) != 0)
        return why_set(why, ERR_NOT_FOUND, "OpenCL cannot be loaded: %s", words);
    return why_set(why, ERR_NOT_FOUND,
                   LIBRARY " is not there: install the OpenCL loader (Debian: ocl-icd-libopencl1) and a driver");
}

static enum err load(struct why *why)
{
    const char *named = getenv("TUNE_OPENCL_LIBRARY"), *path = named && *named ? named : LIBRARY;
    void *library;

    if (dlsym(RTLD_DEFAULT, names[0]))
        return find_all(RTLD_DEFAULT, "the library preloaded", why);
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    return library ? find_all(library, path, why) : cannot_load(path == named, dlerror(), why);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct why loaded_why;
static enum err loaded;

static void load_once(void)
{
    loaded = load(&loaded_why);
}

enum err opencl_api_load(struct why *why)
{
    pthread_once(&once, load_once);
    return loaded ? why_set(why, loaded, "%s", loaded_why.text) : ERR_OK;
}
