/* SPDX-License-Identifier: MIT */
/* opencl_build.c - one module from text (or a kept binary) to a built cl_program. */
#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "exec/exec_cl_launch.h"
#include "runtime/device_checks.h"
#include "runtime/opencl.h"
#include "runtime/plan_of.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS_BYTES ((size_t)64 << 10)
#define BINARY_BYTES ((size_t)64 << 20)

/* Name of a build: device, driver, source and options. */
static struct sha256 build_name(const struct device *d, const struct program_module *m, const char *options)
{
    const struct sha256 device = device_desc_fingerprint(&d->desc), opts = sha256_of(options, strlen(options));
    char text[3 * SHA256_HEX + 1];

    snprintf(text, sizeof text, "%s%s%s", device.hex, m->source.hex, opts.hex);
    return sha256_of(text, strlen(text));
}

/* Where traces of a build are kept. PoCL's own cache goes with its directory, and so do our markers of it. */
static bool cache_path(const struct device *d, const char *cache_dir, const struct sha256 *name, char *out,
                       size_t n_out)
{
    const char *pocl = getenv("POCL_CACHE_DIR"), *dir = d->pocl && pocl ? pocl : cache_dir;

    if (!dir || !dir[0])
        return false;
    return snprintf(out, n_out, "%s/tune-%s.%s", dir, name->hex, d->pocl ? "seen" : "clbin") < (int)n_out;
}

/* The compiler's words, at most LOAD_LOG_BYTES; free() them. NULL when there are none. */
static char *take_log(cl_program program, cl_device_id device)
{
    size_t n = 0;
    char *text;

    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) != CL_SUCCESS || n < 2 ||
        n > ((size_t)64 << 20))
        return NULL;
    text = calloc(1, n + 1);
    if (text && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, n, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    if (text && n > LOAD_LOG_BYTES)
        text[LOAD_LOG_BYTES] = '\0';
    return text;
}

/* Frees the log. */
static enum err compile_failed(const struct program_module *m, cl_int error, char *log, struct why *why)
{
    char words[600] = "";

    if (log)
        log_first_words(log, words, sizeof words);
    free(log);
    return why_set(why, error == CL_OUT_OF_HOST_MEMORY ? ERR_NOMEM : ERR_COMPILE, "module '%s': %s%s%s", m->id,
                   opencl_error_name(error), words[0] ? ": " : "", words);
}

/* A program from a kept binary; NULL when there is none or the driver does not take it any more. */
static cl_program from_cache(struct device *d, const char *path, const char *options)
{
    struct buf bytes;
    cl_program program = NULL;

    buf_init(&bytes, BINARY_BYTES);
    if (file_read(path, &bytes, NULL) == ERR_OK && bytes.len)
        program = exec_cl_from_binary(d->context, d->id, (const unsigned char *)bytes.data, bytes.len, options);
    buf_fini(&bytes);
    return program;
}

enum err opencl_take_binary(cl_program program, struct buf *out, struct why *why)
{
    unsigned char *room;
    size_t n = 0;
    cl_int error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL);

    if (error == CL_SUCCESS && n == 0)
        return why_set(why, ERR_UNSUPPORTED, "the driver gives no program binaries");
    room = error == CL_SUCCESS ? (unsigned char *)buf_room(out, n) : NULL;
    if (error == CL_SUCCESS && !room)
        return why_set(why, ERR_LIMIT, "a program binary of %zu bytes", n);
    if (error == CL_SUCCESS)
        error = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof room, &room, NULL);
    if (error != CL_SUCCESS)
        return opencl_failed(why, ERR_DEVICE, "clGetProgramInfo", error);
    out->len += n;
    return ERR_OK;
}

/* Keeps the binary by rename; a cache that cannot be written is no error. */
static void keep_binary(cl_program program, const char *path)
{
    struct buf bytes;

    buf_init(&bytes, BINARY_BYTES);
    if (opencl_take_binary(program, &bytes, NULL) == ERR_OK)
        (void)file_replace(path, bytes.data, bytes.len, 0600, NULL);
    buf_fini(&bytes);
}

static enum err from_source(struct device *d, const struct program_module *m, const struct blobs *blobs,
                            const char *options, cl_program *out, struct load_report *report, struct why *why)
{
    const struct blob *source = blobs ? blobs_get(blobs, m->source.hex) : NULL;
    cl_int error = CL_SUCCESS;
    cl_program program;
    char *log;

    if (!source)
        return why_set(why, ERR_NOT_FOUND, "module '%s': source %.12s is not among the blobs", m->id, m->source.hex);
    program = d->team
                  ? exec_cl_team_text(d->team, (const char *)source->data, source->n_bytes, options, &error)
                  : exec_cl_from_text(d->context, d->id, (const char *)source->data, source->n_bytes, options, &error);
    if (!program)
        return opencl_failed(why, ERR_DEVICE, "clCreateProgramWithSource", error);
    log = take_log(program, d->id);
    if (log)
        report_add_log(report, m->id, log);
    if (error == CL_SUCCESS) {
        *out = program;
        free(log);
        return ERR_OK;
    }
    clReleaseProgram(program);
    return compile_failed(m, error, log, why);
}

enum err opencl_build(struct device *d, const struct program_module *m, const struct program *p,
                      const struct blobs *blobs, const char *cache_dir, cl_program *out, struct load_report *report,
                      struct why *why)
{
    struct buf options;
    struct sha256 name;
    char path[PATH_MAX];
    bool keeps, seen;
    enum err e;

    buf_init(&options, OPTIONS_BYTES);
    e = plan_options(p, m, &options);
    if (e) {
        buf_fini(&options);
        return why_set(why, e, "module '%s': options over %zu bytes", m->id, OPTIONS_BYTES);
    }
    name = build_name(d, m, buf_text(&options));
    keeps = cache_path(d, cache_dir, &name, path, sizeof path);
    seen = keeps && access(path, R_OK) == 0;
    *out = seen && !d->pocl ? from_cache(d, path, buf_text(&options)) : NULL;
    if (!*out) {
        seen = seen && d->pocl;
        e = from_source(d, m, blobs, buf_text(&options), out, report, why);
        if (!e && keeps && !seen && d->pocl)
            (void)file_replace(path, "1\n", 2, 0600, NULL);
        else if (!e && keeps && !seen)
            keep_binary(*out, path);
    }
    report->build_cached = report->build_cached && seen;
    buf_fini(&options);
    return e;
}
