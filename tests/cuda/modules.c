/* SPDX-License-Identifier: MIT */
/* modules.c - modules, functions, and what they tell of themselves. TUNE_CUDA_REGS=N: registers a thread that every
 * function claims to use. */
#include "tests/cuda/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool module_is_alive(const struct CUmod_st *m)
{
    return m->magic == MAGIC_MODULE;
}

void module_drop(struct CUmod_st *m)
{
    m->magic = 0;
    for (CUfunction f = m->functions; f; f = f->next)
        f->magic = 0;
    if (m->library)
        dlclose(m->library);
    free(m->shared);
    m->library = NULL;
    m->shared = NULL;
}

/* The loader takes a path that it has seen for the library it had there: the count of modules is written into the
 * path as slashes with and without a dot. */
static void path_of(int fd, char path[160])
{
    static unsigned n_opened;
    const unsigned serial = ++n_opened;
    size_t n = (size_t)snprintf(path, 160, "/proc/self/fd");

    for (int bit = 0; bit < 32; bit++)
        n += (size_t)snprintf(path + n, 160 - n, serial >> bit & 1 ? "/." : "/");
    snprintf(path + n, 160 - n, "/%d", fd);
}

/* Loads the bytes as a library, from memory: every module has variables of its own. */
static CUresult open_object(struct CUmod_st *m, const unsigned char *bytes, size_t n_bytes)
{
    const int fd = memfd_create("module", MFD_CLOEXEC);
    char path[160];

    path_of(fd, path);
    if (fd >= 0 && write(fd, bytes, n_bytes) == (ssize_t)n_bytes)
        m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!m->library)
        driver_note("  %s", fd >= 0 ? dlerror() : "no memfd");
    if (fd >= 0)
        close(fd);
    m->object = m->library ? dlsym(m->library, EMU_MODULE) : NULL;
    if (!m->object || m->object->magic != EMU_MAGIC)
        return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
    return image_find_shared(m, bytes, n_bytes);
}

static CUresult load(CUmodule *out, const void *image)
{
    CUcontext c = context_current();
    struct CUmod_st *m = calloc(1, sizeof *m);
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    CUresult e = m ? image_read(image, c->device, &bytes, &n_bytes) : CUDA_ERROR_OUT_OF_MEMORY;

    if (!e) {
        *m = (struct CUmod_st){.magic = MAGIC_MODULE, .context = c};
        e = open_object(m, bytes, n_bytes);
        if (e)
            module_drop(m);
    }
    free(bytes);
    if (e) {
        free(m);
        return e;
    }
    m->next = c->modules;
    c->modules = m;
    *out = m;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, int *options, void **values)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuModuleLoadDataEx", "options=%u", n);

    (void)options;
    (void)values;
    if (e)
        return e;
    e = load(m, image);
    return driver_leave(e);
}

CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
    CUresult e = driver_enter(CALL_CONTEXT, "cuModuleLoadData", "%s", "");

    if (e)
        return e;
    e = load(m, image);
    return driver_leave(e);
}

CUresult cuModuleUnload(CUmodule m)
{
    CUresult e = driver_enter(CALL_WAIT, "cuModuleUnload", "%s", "");

    if (e)
        return e;
    if (!m || !module_is_alive(m))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    e = stream_drain(m->context, NULL);
    memory_forget(m->context, m);
    module_drop(m);
    return driver_leave(e);
}

/* Its own variables, and those of functions that it may call. */
static size_t static_bytes(const struct CUmod_st *m, const char *kernel)
{
    size_t sum = 0;

    for (size_t i = 0; i < m->n_shared; i++)
        if (!*m->shared[i].kernel || strcmp(m->shared[i].kernel, kernel) == 0)
            sum += m->shared[i].range.n_bytes;
    return sum;
}

static CUresult make_function(struct CUmod_st *m, const char *name, CUfunction *out)
{
    for (int i = 0; i < m->object->n_kernels; i++)
        if (strcmp(m->object->kernels[i].name, name) == 0) {
            CUfunction f = calloc(1, sizeof *f);

            if (!f)
                return CUDA_ERROR_OUT_OF_MEMORY;
            *f = (struct CUfunc_st){.magic = MAGIC_FUNCTION,
                                    .module = m,
                                    .kernel = &m->object->kernels[i],
                                    .static_bytes = static_bytes(m, name),
                                    .next = m->functions};
            f->dynamic_max = 48 * 1024 - (int)f->static_bytes;
            m->functions = f;
            *out = f;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuModuleGetFunction", "%s", name);

    if (e)
        return e;
    if (!m || !module_is_alive(m))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    for (CUfunction f = m->functions; f; f = f->next)
        if (strcmp(f->kernel->name, name) == 0) {
            *out = f;
            return driver_leave(CUDA_SUCCESS);
        }
    return driver_leave(make_function(m, name, out));
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *n_bytes, CUmodule m, const char *name)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuModuleGetGlobal", "%s", name);
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;
    void *found;

    if (e)
        return e;
    if (!m || !module_is_alive(m))
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    found = dlsym(m->library, name);
    if (!found || !dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return driver_leave(CUDA_ERROR_NOT_FOUND);
    if (at)
        *at = (CUdeviceptr)(uintptr_t)found;
    if (n_bytes)
        *n_bytes = symbol->st_size;
    return driver_leave(memory_note(m->context, found, symbol->st_size, m));
}

/* Functions. */

static int max_threads(const struct CUfunc_st *f)
{
    const int64_t registers = environment_number("TUNE_CUDA_REGS", 0);
    int most = f->kernel->max_threads ? f->kernel->max_threads : 1024;

    if (registers && device_attribute(f->module->context->device, 12) / registers < most)
        most = (int)(device_attribute(f->module->context->device, 12) / registers);
    return most;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuFuncGetAttribute", "attribute=%d", attribute);

    if (e)
        return e;
    if (!f || f->magic != MAGIC_FUNCTION)
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    switch (attribute) {
    case 0: /* MAX_THREADS_PER_BLOCK */
        *value = max_threads(f);
        break;
    case 1: /* SHARED_SIZE_BYTES */
        *value = (int)f->static_bytes;
        break;
    case 4: /* NUM_REGS */
        *value = (int)environment_number("TUNE_CUDA_REGS", 0);
        break;
    case 5: /* PTX_VERSION, BINARY_VERSION */
    case 6:
        *value = device_sm(f->module->context->device);
        break;
    case 8: /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
        *value = f->dynamic_max;
        break;
    case 9: /* PREFERRED_SHARED_MEMORY_CARVEOUT */
        *value = -1;
        break;
    default: /* constant and local bytes are not known here */
        *value = 0;
    }
    return driver_leave(CUDA_SUCCESS);
}

/* Parameters lie one behind the other, each aligned to its size (structs are rare here: to 16 at most). */
CUresult cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *n_bytes)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuFuncGetParamInfo", "%zu", i);
    size_t at = 0, size = 0;

    if (e)
        return e;
    if (!f || f->magic != MAGIC_FUNCTION)
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    if (i >= (size_t)f->kernel->n_params)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t k = 0; k <= i; k++) {
        size_t alignment = 1;

        at += size;
        size = f->kernel->param_bytes[k];
        while (alignment < 16 && size % (2 * alignment) == 0)
            alignment *= 2;
        at = (at + alignment - 1) / alignment * alignment;
    }
    *offset = at;
    if (n_bytes)
        *n_bytes = size;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuFuncSetAttribute", "attribute=%d value=%d", attribute, value);
    int most;

    if (e)
        return e;
    if (!f || f->magic != MAGIC_FUNCTION)
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    if (attribute == 9)
        return driver_leave(value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    most = device_attribute(f->module->context->device, 97) - (int)f->static_bytes;
    if (attribute != 8 || value < 0 || value > most)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    f->dynamic_max = value;
    return driver_leave(CUDA_SUCCESS);
}

CUresult cuFuncSetCacheConfig(CUfunction f, int config)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuFuncSetCacheConfig", "config=%d", config);

    if (e)
        return e;
    return driver_leave(f && f->magic == MAGIC_FUNCTION ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int n_threads, size_t dynamic_bytes)
{
    const CUresult e = driver_enter(CALL_CONTEXT, "cuOccupancyMaxActiveBlocksPerMultiprocessor", "threads=%d bytes=%zu",
                                    n_threads, dynamic_bytes);
    const int64_t registers = environment_number("TUNE_CUDA_REGS", 0);
    CUdevice d;
    int warps, shared;

    if (e)
        return e;
    if (!f || f->magic != MAGIC_FUNCTION)
        return driver_leave(CUDA_ERROR_INVALID_HANDLE);
    if (n_threads < 1)
        return driver_leave(CUDA_ERROR_INVALID_VALUE);
    d = f->module->context->device;
    warps = (n_threads + EMU_WARP - 1) / EMU_WARP;
    shared = (int)(f->static_bytes + dynamic_bytes) + device_attribute(d, 111);
    *n = least(device_attribute(d, 39) / (warps * EMU_WARP), device_attribute(d, 106));
    if (shared)
        *n = least(*n, device_attribute(d, 81) / shared);
    if (registers)
        *n = least(*n, (int)(device_attribute(d, 82) / (registers * warps * EMU_WARP)));
    return driver_leave(CUDA_SUCCESS);
}
