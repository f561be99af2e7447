/* SPDX-License-Identifier: MIT */
/* driver.c - every call passes here: the log, failures on request, errors that stay. Settings by environment:
 * TUNE_CUDA_LOG=FILE     a line a call is appended
 * TUNE_CUDA_FAIL=NAME=ERROR@N,...   the Nth call of a function and later ones give this CUresult
 * TUNE_CUDA_SEED=N       another order of threads and streams
 * and those in devices.c. All are read by cuInit. */
#include "tests/cuda/driver.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FAILURES 32

static struct {
    pthread_mutex_t lock;
    bool up;
    int log;
    struct failure {
        char name[64];
        int error, from, n_calls;
    } failures[MAX_FAILURES];
    int n_failures;
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER, .log = -1};

int64_t environment_number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

bool driver_is_up(void)
{
    return driver.up;
}

void driver_note(const char *format, ...)
{
    char line[512];
    va_list args;
    int n;

    if (driver.log < 0)
        return;
    va_start(args, format);
    n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    n = n < (int)sizeof line - 1 ? n : (int)sizeof line - 2;
    line[n] = '\n';
    if (write(driver.log, line, (size_t)n + 1) < 0)
        driver.log = -1;
}

/* False, with a line on stderr, where the text says anything else. */
static bool read_failures(const char *text)
{
    char copy[1024], *rest = NULL;
    bool sane = true;

    driver.n_failures = 0;
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        struct failure *f = &driver.failures[driver.n_failures];

        *f = (struct failure){.from = 1};
        if (driver.n_failures < MAX_FAILURES &&
            sscanf(item, " %63[A-Za-z0-9]=%d@%d", f->name, &f->error, &f->from) >= 2) {
            driver.n_failures++;
        } else {
            fprintf(stderr, "TUNE_CUDA_FAIL: '%s'; expected FUNCTION=ERROR@CALL\n", item);
            sane = false;
        }
    }
    return sane;
}

bool driver_read_environment(void)
{
    const char *log = getenv("TUNE_CUDA_LOG");

    if (driver.log >= 0)
        close(driver.log);
    driver.log = log && *log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    driver.up = read_failures(getenv("TUNE_CUDA_FAIL"));
    return driver.up;
}

bool driver_is_sticky(CUresult e)
{
    return e == CUDA_ERROR_ILLEGAL_ADDRESS || e == CUDA_ERROR_LAUNCH_TIMEOUT || e == CUDA_ERROR_ASSERT ||
           (e >= CUDA_ERROR_HARDWARE_STACK_ERROR && e <= CUDA_ERROR_LAUNCH_FAILED);
}

/* What was asked for with TUNE_CUDA_FAIL. */
static CUresult asked_for(const char *name)
{
    for (int i = 0; i < driver.n_failures; i++) {
        struct failure *f = &driver.failures[i];

        if (strcmp(f->name, name) == 0 && ++f->n_calls >= f->from)
            return f->error;
    }
    return CUDA_SUCCESS;
}

static CUresult fail_as_asked(enum call kind, CUcontext c, CUresult asked)
{
    if (!c || !driver_is_sticky(asked))
        return asked;
    if (kind == CALL_LAUNCH) {
        c->coming = asked; /* launches tell nothing: the next wait does */
        return CUDA_SUCCESS;
    }
    c->sticky = asked;
    return asked;
}

static CUresult check(enum call kind, const char *name)
{
    CUcontext c = context_current();
    const CUresult asked = asked_for(name);

    if (kind == CALL_FREE)
        return asked;
    if (!driver.up)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!c->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (kind == CALL_WAIT && c->coming) {
        c->sticky = c->coming;
        c->coming = CUDA_SUCCESS;
    }
    return c->sticky ? c->sticky : asked ? fail_as_asked(kind, c, asked) : CUDA_SUCCESS;
}

CUresult driver_enter(enum call kind, const char *name, const char *format, ...)
{
    char words[400];
    va_list args;
    CUresult e;

    pthread_mutex_lock(&driver.lock);
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    e = check(kind, name);
    if (e)
        driver_note("%s %s = %d", name, words, e);
    else
        driver_note("%s%s%s", name, *words ? " " : "", words);
    if (e)
        pthread_mutex_unlock(&driver.lock);
    return e;
}

CUresult driver_leave(CUresult result)
{
    if (result)
        driver_note("  = %d", result);
    pthread_mutex_unlock(&driver.lock);
    return result;
}

CUresult cuInit(unsigned flags)
{
    CUresult e;

    if (!driver_read_environment())
        return CUDA_ERROR_INVALID_VALUE;
    e = driver_enter(CALL_FREE, "cuInit", "%u", flags);
    if (e)
        return e;
    return driver_leave(device_count() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

CUresult cuDriverGetVersion(int *version)
{
    const CUresult e = driver_enter(CALL_FREE, "cuDriverGetVersion", "%s", "");

    if (e)
        return e;
    *version = (int)environment_number("TUNE_CUDA_DRIVER", 13000);
    return driver_leave(CUDA_SUCCESS);
}

/* The real NVRTC asks a driver that it finds loaded for tables of its own; this one has none, and says so. */
CUresult cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

/* The function of the newest version that there is. */
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
    static const char *const suffixes[] = {"_v2", ""};
    Dl_info self;
    void *library = NULL;

    (void)version;
    (void)flags;
    *function = NULL;
    if (dladdr((void *)(uintptr_t)&cuInit, &self))
        library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    for (int i = 0; library && i < 2 && !*function; i++) {
        char name[128];

        snprintf(name, sizeof name, "%s%s", symbol, suffixes[i]);
        *function = dlsym(library, name);
    }
    if (library)
        dlclose(library);
    if (status)
        *status = *function ? 0 : 1;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}

/* Names. */

static const struct error_name {
    CUresult e;
    const char *name, *text;
} error_names[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {35, "CUDA_ERROR_INSUFFICIENT_DRIVER", "the driver is older than needed"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX was compiled with an unsupported toolchain"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static const struct error_name *find_name(CUresult e)
{
    for (size_t i = 0; i < sizeof error_names / sizeof *error_names; i++)
        if (error_names[i].e == e)
            return &error_names[i];
    return NULL;
}

CUresult cuGetErrorName(CUresult e, const char **name)
{
    const struct error_name *found = find_name(e);

    *name = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult e, const char **text)
{
    const struct error_name *found = find_name(e);

    *text = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
