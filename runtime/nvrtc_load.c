/* SPDX-License-Identifier: MIT */
/* nvrtc_load.c - which libnvrtc: the one named, else the newest that is found. */
#include "runtime/nvrtc_api.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const call_names[] = {
#define X(name) #name,
    NVRTC_CALLS(X)
#undef X
};

#define N_CALLS (sizeof call_names / sizeof call_names[0])
static_assert(sizeof(struct nvrtc_calls) == N_CALLS * sizeof(void *), "one pointer a call and nothing else");

/* Newest first; 11.2 was the first that can be asked for its architectures and kept that name to the end of 11. */
static const char *const file_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL};

static enum err find_calls(void *handle, const char *path, struct nvrtc_calls *out, struct why *why)
{
    void *found[N_CALLS];

    for (size_t i = 0; i < N_CALLS; i++) {
        found[i] = dlsym(handle, call_names[i]);
        if (!found[i])
            return why_set(why, ERR_NOT_FOUND, "%s has no %s: NVRTC 11.2 or newer is needed", path, call_names[i]);
    }
    memcpy(out, found, sizeof found);
    return ERR_OK;
}

/* Where the loader found it, for people; the name asked for where it does not tell. */
static void put_found(const struct nvrtc_calls *calls, const char *asked, char *out, size_t n_out)
{
    Dl_info info;
    void *address;

    memcpy(&address, &calls->nvrtcVersion, sizeof address);
    snprintf(out, n_out, "%s", dladdr(address, &info) && info.dli_fname ? info.dli_fname : asked);
}

static enum err load_one(const char *path, struct nvrtc_calls *out, void **handle, char *found, size_t n_found,
                         struct why *why)
{
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    enum err e;

    if (!h)
        return why_set(why, ERR_NOT_FOUND, "%s", dlerror());
    e = find_calls(h, path, out, why);
    if (e) {
        dlclose(h);
        return e;
    }
    put_found(out, path, found, n_found);
    *handle = h;
    return ERR_OK;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The first of the known file names in a folder; "" = wherever the loader looks. */
static enum err load_from(const char *folder, const char *name, struct nvrtc_calls *out, void **handle, char *found,
                          size_t n_found)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/" : "", name);
    return load_one(path, out, handle, found, n_found, NULL);
}

static enum err load_named(const char *path, struct nvrtc_calls *out, void **handle, char *found, size_t n_found,
                           struct why *why)
{
    if (!is_folder(path)) {
        const enum err e = load_one(path, out, handle, found, n_found, why);

        return e ? why_prefix(why, e, "no NVRTC at '%s'", path) : ERR_OK;
    }
    for (size_t i = 0; file_names[i]; i++)
        if (load_from(path, file_names[i], out, handle, found, n_found) == ERR_OK)
            return ERR_OK;
    return why_set(why, ERR_NOT_FOUND, "no NVRTC at '%s': the folder has none of libnvrtc.so.13, .so.12, .so.11.2",
                   path);
}

enum err nvrtc_load(const char *path, size_t n_skip, struct nvrtc_calls *out, void **handle, char *found,
                    size_t n_found, struct why *why)
{
    const char *named = path && *path ? path : getenv("TUNE_NVRTC"), *home = getenv("CUDA_HOME");
    char home_lib[PATH_MAX];
    const char *folders[] = {"", home_lib, "/usr/local/cuda/lib64"};

    if (named && *named && n_skip)
        return why_set(why, ERR_NOT_FOUND, "there is one NVRTC at '%s'", named);
    if (named && *named)
        return load_named(named, out, handle, found, n_found, why);
    snprintf(home_lib, sizeof home_lib, "%s/lib64", home ? home : "/usr/local/cuda");
    for (size_t i = 0; file_names[i]; i++)
        for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
            if (load_from(folders[f], file_names[i], out, handle, found, n_found))
                continue;
            if (n_skip-- == 0)
                return ERR_OK;
            dlclose(*handle);
            *handle = NULL;
        }
    return why_set(why, ERR_NOT_FOUND,
                   "no NVRTC: looked for libnvrtc.so.13, .so.12 and .so.11.2 where the loader does, in %s and in "
                   "/usr/local/cuda/lib64; name one with --nvrtc PATH or TUNE_NVRTC (PyPI: nvidia-cuda-nvrtc-cu12)",
                   home_lib);
}
