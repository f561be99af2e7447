/* SPDX-License-Identifier: MIT */
/* cuda_module.c - one module from text, PTX, a cubin or a kept file to what the driver has loaded. */
#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/file.h"
#include "runtime/cuda.h"
#include "runtime/cuda_made.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CUBIN_BYTES ((size_t)64 << 20)
#define JIT_LOG_BYTES 8192

/* Loading an image. */

static enum err load_image(struct device *d, const struct program_module *m, const void *image, cuda_module *out,
                           struct load_report *report, struct why *why)
{
    char info[JIT_LOG_BYTES] = "", errors[JIT_LOG_BYTES] = "", what[64 + PROGRAM_ID_BYTES];
    int options[] = {CUDA_JIT_INFO, CUDA_JIT_INFO_BYTES, CUDA_JIT_ERROR, CUDA_JIT_ERROR_BYTES};
    void *values[] = {info, (void *)(uintptr_t)(sizeof info - 1), errors, (void *)(uintptr_t)(sizeof errors - 1)};
    const cuda_result error = cuda.cuModuleLoadDataEx(out, image, 4, options, values);
    enum err e;

    if (report) {
        report_add_log(report, m->id, info);
        report_add_log(report, m->id, errors);
    }
    if (!error)
        return ERR_OK;
    *out = NULL;
    snprintf(what, sizeof what, "module '%s'", m->id);
    e = cuda_blame(d, NULL, why, what, error);
    if (why && errors[0]) {
        const size_t n = strlen(why->text);

        snprintf(why->text + n, sizeof why->text - n, ": %.*s", (int)strcspn(errors, "\r\n"), errors);
    }
    return e;
}

static const struct blob *bytes_of(const struct program_module *m, const struct blobs *blobs)
{
    return blobs ? blobs_get(blobs, m->source.hex) : NULL;
}

/* PTX ends with a NUL, a cubin knows its own length: one copy with a NUL does for both. */
static enum err load_blob(struct device *d, const struct program_module *m, const struct blobs *blobs, cuda_module *out,
                          struct load_report *report, struct why *why)
{
    const struct blob *b = bytes_of(m, blobs);
    char *copy;
    enum err e;

    if (!b)
        return why_set(why, ERR_NOT_FOUND, "module '%s': code %.12s is not among the blobs", m->id, m->source.hex);
    if (m->lang == LANG_CUBIN && (b->n_bytes < 64 || memcmp(b->data,
                                                            "\x7f"
                                                            "ELF",
                                                            4) != 0))
        return why_set(why, ERR_COMPILE, "module '%s' is no cubin", m->id);
    copy = calloc(1, b->n_bytes + 1);
    if (!copy)
        return ERR_NOMEM;
    memcpy(copy, b->data, b->n_bytes);
    report->build_cached = report->build_cached && m->lang == LANG_CUBIN;
    e = load_image(d, m, copy, out, report, why);
    free(copy);
    return e;
}

/* Kept cubins. */

/* Where a module's cubin is kept, and beside it ("log") what the compiler said; false without a place. */
static bool kept_path(const struct device *d, const struct program_module *m, const char *cache_dir, const char *suffix,
                      char *out, size_t n_out)
{
    char name[NVRTC_NAME_BYTES];
    int n;

    if (!cache_dir || !*cache_dir)
        return false;
    nvrtc_cache_name(m, (int)d->desc.sm, name);
    n = snprintf(out, n_out, "%s/%.*s%s", cache_dir, (int)(strlen(name) - strlen("cubin")), name, suffix);
    return n < (int)n_out;
}

static void take_figures(const char *log, struct cuda_figures *f)
{
    struct kernel_resources *list = NULL, *grown;
    size_t n = 0;

    if (nvrtc_read_resources(log, &list, &n))
        return;
    grown = n ? realloc(f->list, (f->n + n) * sizeof *grown) : NULL;
    if (grown) {
        memcpy(grown + f->n, list, n * sizeof *grown);
        f->list = grown;
        f->n += n;
    }
    free(list);
}

static void read_kept_log(const struct device *d, const struct program_module *m, const char *cache_dir,
                          struct load_report *report, struct cuda_figures *figures)
{
    char path[PATH_MAX];
    struct buf log;

    buf_init(&log, (size_t)1 << 20);
    if (kept_path(d, m, cache_dir, "log", path, sizeof path) && file_read(path, &log, NULL) == ERR_OK) {
        report_add_log(report, m->id, buf_text(&log));
        take_figures(buf_text(&log), figures);
    }
    buf_fini(&log);
}

/* What is told of the first module that knows stands for the program. */
static void note_made(struct load_report *report, const struct cuda_made *made)
{
    if (!report->built_by[0])
        strcpy(report->built_by, made->by);
    if (!report->compiler[0])
        strcpy(report->compiler, made->compiler);
}

/* Words say that the code is not ours: nobody here has compiled it, and the farm must know whose compiler to mend. */
static enum err blame_builder(const struct cuda_made *made, enum err e, struct why *why)
{
    const struct why driver = why ? *why : (struct why){""};

    return why_set(why, e, "%.800s (this code was made by a builder: %s%s%s)", driver.text, made->by,
                   *made->compiler ? ", " : "", made->compiler);
}

static enum err load_bytes(struct device *d, const struct program_module *m, const struct buf *bytes, cuda_module *out,
                           struct load_report *report, struct why *why)
{
    if (bytes->len <= 64)
        return why_set(why, ERR_COMPILE, "module '%s': %zu bytes are no cubin", m->id, bytes->len);
    return load_image(d, m, bytes->data, out, report, why);
}

/* ERR_NOT_FOUND: there is none, or one of our own that the driver does not take any more and that is made anew. What a
 * builder made is loaded or refused, never made anew: the record would tell of other code than was run. */
static enum err load_kept(struct device *d, const struct program_module *m, const char *cache_dir, cuda_module *out,
                          struct load_report *report, struct why *why)
{
    struct load_report unused = {0};
    struct cuda_made made;
    char path[PATH_MAX];
    struct buf bytes;
    enum err e;

    if (!kept_path(d, m, cache_dir, "cubin", path, sizeof path))
        return ERR_NOT_FOUND;
    buf_init(&bytes, CUBIN_BYTES);
    e = file_read(path, &bytes, NULL) ? ERR_NOT_FOUND : ERR_OK;
    if (!e) {
        cuda_made_read(path, &made);
        e = load_bytes(d, m, &bytes, out, made.by[0] ? report : &unused, why);
        if (!e || made.by[0])
            note_made(report, &made);
        if (e && made.by[0])
            e = blame_builder(&made, e, why);
        else if (e == ERR_COMPILE)
            e = ERR_NOT_FOUND;
    }
    free(unused.log);
    buf_fini(&bytes);
    return e;
}

/* A cache that cannot be written is no error. The cubin last: who sees it finds the rest. */
static void keep(const struct device *d, const struct program_module *m, const char *cache_dir,
                 const struct nvrtc_built *b)
{
    struct cuda_made made = {.by = ""};
    char path[PATH_MAX];

    if (b->log && kept_path(d, m, cache_dir, "log", path, sizeof path))
        (void)file_replace(path, b->log, strlen(b->log), 0600, NULL);
    if (!kept_path(d, m, cache_dir, "cubin", path, sizeof path))
        return;
    nvrtc_name(d->nvrtc, made.compiler, sizeof made.compiler);
    (void)cuda_made_write(path, &made, NULL);
    (void)file_replace(path, b->code.data, b->code.len, 0600, NULL);
}

/* Compiling. */

/* The NVRTC that serves this device and driver, opened once; none in an agent with --no-build. */
static enum err want_nvrtc(struct device *d, struct why *why)
{
    const char *forbidden = getenv("TUNE_NO_BUILD");

    if (forbidden && *forbidden)
        return why_set(why, ERR_NOT_FOUND, "there is no code of a builder, and --no-build forbids to compile here");
    if (d->nvrtc)
        return ERR_OK;
    return nvrtc_open_for(NULL, (int)d->desc.sm, cuda_driver_version(), &d->nvrtc, why);
}

static enum err compile(struct device *d, const struct program_module *m, const struct blobs *blobs,
                        struct nvrtc_built *built, bool *as_ptx, struct load_report *report, struct why *why)
{
    struct cuda_made made = {.by = ""};
    int sm = (int)d->desc.sm;
    enum err e = want_nvrtc(d, why);

    *as_ptx = false;
    *built = (struct nvrtc_built){0};
    if (e)
        return e;
    nvrtc_name(d->nvrtc, made.compiler, sizeof made.compiler);
    note_made(report, &made);
    if (!nvrtc_target(d->nvrtc, sm, &sm, as_ptx))
        return nvrtc_supports(d->nvrtc, (int)d->desc.sm, why);
    return nvrtc_build(d->nvrtc, m, blobs, sm, *as_ptx, built, why);
}

static enum err load_compiled(struct device *d, const struct program_module *m, const struct blobs *blobs,
                              const char *cache_dir, cuda_module *out, struct load_report *report,
                              struct cuda_figures *figures, struct why *why)
{
    struct nvrtc_built built;
    bool as_ptx;
    enum err e = compile(d, m, blobs, &built, &as_ptx, report, why);

    if (built.log) {
        report_add_log(report, m->id, built.log);
        take_figures(built.log, figures);
    }
    if (!e)
        e = load_image(d, m, built.code.data, out, report, why);
    if (!e && !as_ptx)
        keep(d, m, cache_dir, &built);
    nvrtc_built_fini(&built);
    return e;
}

enum err cuda_module_load(struct device *d, const struct program_module *m, const struct blobs *blobs,
                          const char *cache_dir, cuda_module *out, struct load_report *report,
                          struct cuda_figures *figures, struct why *why)
{
    enum err e;

    if (m->lang != LANG_CUDA_C)
        return load_blob(d, m, blobs, out, report, why);
    e = load_kept(d, m, cache_dir, out, report, why);
    if (!e)
        read_kept_log(d, m, cache_dir, report, figures);
    if (e != ERR_NOT_FOUND)
        return e;
    report->build_cached = false;
    return load_compiled(d, m, blobs, cache_dir, out, report, figures, why);
}

/* Ahead of loading, without the device. */

static enum err compile_module(struct device *d, const struct program_module *m, const struct blobs *blobs,
                               const char *cache_dir, struct load_report *report, struct why *why)
{
    char path[PATH_MAX];
    struct nvrtc_built built;
    bool as_ptx;
    enum err e;

    if (m->lang != LANG_CUDA_C || !kept_path(d, m, cache_dir, "cubin", path, sizeof path) || access(path, R_OK) == 0)
        return ERR_OK;
    report->build_cached = false;
    e = compile(d, m, blobs, &built, &as_ptx, report, why);
    if (e && built.log)
        report_add_log(report, m->id, built.log);
    if (!e && !as_ptx)
        keep(d, m, cache_dir, &built);
    nvrtc_built_fini(&built);
    return e;
}

enum err cuda_compile(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                      struct load_report *report, struct why *why)
{
    const int64_t start_ns = clock_now_ns();
    enum err e;

    *report = (struct load_report){.build_cached = p->n_modules > 0};
    e = cuda_check_limits(&d->desc, p, why);
    for (size_t i = 0; !e && i < p->n_modules; i++)
        e = compile_module(d, &p->modules[i], blobs, cache_dir, report, why);
    report->build_ns = clock_now_ns() - start_ns;
    return e;
}
