/* SPDX-License-Identifier: MIT */
#include "runtime/cuda_driver.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda_calls cuda;

static const char *const call_names[] = {
#define X(name, arguments) #name,
    CUDA_CALLS(X) CUDA_NEWER_CALLS(X)
#undef X
};

#define COUNT(name, arguments) +1
#define N_NEEDED ((size_t)(0 CUDA_CALLS(COUNT)))
#define N_CALLS (sizeof call_names / sizeof call_names[0])
static_assert(sizeof(struct cuda_calls) == sizeof(struct exec_cu_calls) + N_CALLS * sizeof(void *),
              "one pointer a call and nothing else");

static int version;

/* "CUDA_ERROR_OUT_OF_MEMORY" or "CUDA error 12345". */
static const char *name_of(cuda_result error)
{
    static _Thread_local char number[32];
    const char *name = NULL;

    if (cuda.cuGetErrorName && cuda.cuGetErrorName(error, &name) == 0 && name)
        return name;
    snprintf(number, sizeof number, "CUDA error %d", error);
    return number;
}

static const struct {
    cuda_result error;
    enum err e;
    const char *advice;
} meanings[] = {
    {CUDA_OUT_OF_MEMORY, ERR_LIMITS, "the device has not enough memory left"},
    {CUDA_STUB_LIBRARY, ERR_NOT_FOUND, "this libcuda.so.1 is the toolkit's stub: install NVIDIA's driver"},
    {CUDA_OLD_DRIVER, ERR_DEVICE, "the driver is too old"},
    {CUDA_NEEDS_NEWER_DRIVER, ERR_DEVICE, "the driver is too old"},
    {CUDA_UNAVAILABLE, ERR_DEVICE, "another process has the device for itself (compute mode exclusive)"},
    {CUDA_NO_DEVICE, ERR_NOT_FOUND, "the driver sees no device (nvidia-smi, CUDA_VISIBLE_DEVICES)"},
    {CUDA_INVALID_IMAGE, ERR_COMPILE,
     "the driver does not take this code: made by a newer NVRTC than the driver knows, or damaged?"},
    {CUDA_NO_BINARY, ERR_COMPILE, "the code was made for another architecture"},
    {CUDA_INVALID_PTX, ERR_COMPILE, "the driver does not take this PTX: newer than it knows, or damaged?"},
    {CUDA_INVALID_SOURCE, ERR_COMPILE, "the driver does not take this code: damaged?"},
    {CUDA_NO_JIT, ERR_COMPILE, "the driver has no compiler for PTX: give it cubins"},
    {CUDA_NEW_PTX, ERR_COMPILE,
     "this PTX is of a newer CUDA than the driver: use an NVRTC no newer than the driver, or cubins"},
    {CUDA_ILLEGAL_ADDRESS, ERR_DEVICE, "a kernel read or wrote memory that is not its own"},
    {CUDA_TOO_MANY_RESOURCES, ERR_LIMITS, "the launch needs more registers or shared memory than a block can have"},
    {CUDA_LAUNCH_TIMEOUT, ERR_TIMEOUT, "a kernel ran longer than the device's run time limit for kernels allows"},
    {CUDA_TOO_LARGE_COOPERATIVE, ERR_LIMITS, "not all blocks of a cooperative launch fit on the device"},
    {CUDA_NOT_READY, ERR_DEVICE,
     "the system is not ready: does nvidia-fabricmanager run, where the board has NVSwitch?"},
    {CUDA_UNKNOWN, ERR_DEVICE,
     "often /dev/nvidia-uvm is missing (modprobe nvidia-uvm), or the device fell off the bus"},
    {CUDA_DRIVER_MISMATCH, ERR_DEVICE, "library and kernel module of the driver differ: reboot after an update"},
    {CUDA_COMPAT_NOT_HERE, ERR_DEVICE, "forward compatibility is not for this device: use its own driver's libcuda"},
};

/* 700 to 719 are of running kernels; 701 is told before one runs. 214 and 220: memory and links that failed. */
bool cuda_is_sticky(cuda_result error)
{
    return (error >= 700 && error < 720 && error != CUDA_TOO_MANY_RESOURCES && error != 704 && error != 705 &&
            error != 708 && error != 711 && error != 712 && error != 713) ||
           error == 214 || error == 220 || error == 226 || error == 999;
}

enum err cuda_failed(struct why *why, const char *what, cuda_result error)
{
    const char *lost = cuda_is_sticky(error) ? "; nothing more works in this process" : "";

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].error == error)
            return why_set(why, meanings[i].e, "%s: %s: %s%s", what, name_of(error), meanings[i].advice, lost);
    return why_set(why, ERR_DEVICE, "%s: %s%s", what, name_of(error), lost);
}

/* Loading. */

static enum err find_calls(void *library, struct why *why)
{
    void *found[N_CALLS];

    for (size_t i = 0; i < N_CALLS; i++) {
        found[i] = dlsym(library, call_names[i]);
        if (!found[i] && i < N_NEEDED)
            return why_set(why, ERR_NOT_FOUND,
                           "libcuda has no %s: the driver is too old, one of CUDA 10 or newer is needed",
                           call_names[i]);
    }
    memcpy((char *)&cuda + sizeof cuda.exec, found, sizeof found);
    return ERR_OK;
}

/* Kernels are loaded when their module is, not at their first start; devices are counted as nvidia-smi does. */
static void set_defaults(void)
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
}

static enum err load(struct why *why)
{
    struct exec_words words = {""};
    void *library = exec_cu_find_driver(&cuda.exec, &words);
    cuda_result error;
    enum err e = library ? find_calls(library, why) : why_set(why, ERR_NOT_FOUND, "%s", words.text);

    if (e)
        return e;
    set_defaults();
    error = cuda.cuInit(0);
    if (error)
        return cuda_failed(why, "cuInit", error);
    error = cuda.cuDriverGetVersion(&version);
    return error ? cuda_failed(why, "cuDriverGetVersion", error) : ERR_OK;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct why loaded_why;
static enum err loaded;

static void load_once(void)
{
    loaded = load(&loaded_why);
}

enum err cuda_driver_load(struct why *why)
{
    pthread_once(&once, load_once);
    return loaded ? why_set(why, loaded, "%s", loaded_why.text) : ERR_OK;
}

int cuda_driver_version(void)
{
    return version;
}
