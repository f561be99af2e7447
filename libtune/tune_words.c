/* SPDX-License-Identifier: MIT */
#include "libtune/tune_parts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char words[4096];

static const char *const status_words[] = {
    [TUNE_OK] = "ok",
    [TUNE_NO_MEMORY] = "out of memory",
    [TUNE_NO_DEVICE] = "no device, or one that lacks what the kernels need",
    [TUNE_BUILD_FAILED] = "a kernel did not build",
    [TUNE_DEVICE_FAILED] = "the device failed",
    [TUNE_BAD_ARGUMENT] = "bad argument",
    [TUNE_NOT_PACKED] = "executed without weights",
    [TUNE_OTHER_DEVICE] = "the log was measured on another device",
    [TUNE_NO_LOG] = "the log cannot be read",
    [TUNE_NO_RECORD] = "no record",
    [TUNE_BAD_WORKLOAD] = "no workload",
    [TUNE_UNSUPPORTED] = "no template computes the workload on this device",
    [TUNE_CANNOT_WRITE] = "a file could not be written",
};

const char *tune_status_words(enum tune_status status)
{
    return (size_t)status < sizeof status_words / sizeof status_words[0] ? status_words[status] : "unknown status";
}

const char *tune_words(void)
{
    return words;
}

const char *tune_version(void)
{
    return TUNE_VERSION;
}

enum tune_status tune_fail(enum tune_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return status;
}

/* The first numbers of both lists are the same. */
enum tune_status tune_fail_exec(enum exec_status status, const struct exec_words *why)
{
    static_assert((int)TUNE_OTHER_DEVICE == (int)EXEC_OTHER_DEVICE, "the first numbers are the same");
    assert((unsigned)status <= EXEC_OTHER_DEVICE);
    return status == EXEC_OK ? TUNE_OK : tune_fail((enum tune_status)status, "%s", why->text);
}
