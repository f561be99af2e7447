/* SPDX-License-Identifier: MIT */
#include "runtime/nvrtc.h"

#include "core/clock.h"
#include "core/err.h"
#include "runtime/nvrtc_api.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARCHS 128
#define CODE_BYTES ((size_t)64 << 20)
#define LOG_BYTES ((size_t)1 << 20)
#define NAME_BYTES ((size_t)64 << 10)
#define MAX_OPTIONS (PROGRAM_MAX_DEFINES + 40)

struct nvrtc {
    struct nvrtc_calls calls;
    int version, archs[MAX_ARCHS], n_archs; /* archs: as told, ascending */
    char path[PATH_MAX];
};

/* One at a time: the older ones are not meant for several threads. */
static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;

/* Opening. */

static enum err ask(struct nvrtc *n, struct why *why)
{
    int major = 0, minor = 0, n_archs = 0;

    if (n->calls.nvrtcVersion(&major, &minor) || n->calls.nvrtcGetNumSupportedArchs(&n_archs) || n_archs < 1 ||
        n_archs > MAX_ARCHS || n->calls.nvrtcGetSupportedArchs(n->archs))
        return why_set(why, ERR_NOT_FOUND, "%s does not tell its version and architectures", n->path);
    n->version = 1000 * major + 10 * minor;
    n->n_archs = n_archs;
    return ERR_OK;
}

static enum err open_nth(const char *path, size_t n_skip, struct nvrtc **out, struct why *why)
{
    struct nvrtc *n = calloc(1, sizeof *n);
    void *handle;
    enum err e = n ? nvrtc_load(path, n_skip, &n->calls, &handle, n->path, sizeof n->path, why) : ERR_NOMEM;

    if (!e)
        e = ask(n, why);
    if (e)
        nvrtc_close(n);
    else
        *out = n;
    return e;
}

enum err nvrtc_open(const char *path, struct nvrtc **out, struct why *why)
{
    return open_nth(path, 0, out, why);
}

enum err nvrtc_open_for(const char *path, int sm, int driver, struct nvrtc **out, struct why *why)
{
    struct nvrtc *n = NULL;

    for (size_t i = 0; open_nth(path, i, &n, NULL) == ERR_OK; i++) {
        if (nvrtc_supports(n, sm, NULL) == ERR_OK && n->version / 1000 <= driver / 1000) {
            *out = n;
            return ERR_OK;
        }
        nvrtc_close(n);
    }
    return nvrtc_open(path, out, why);
}

/* The library stays: it keeps memory of its own that nothing frees, and the next one to open it finds it loaded. */
void nvrtc_close(struct nvrtc *n)
{
    free(n);
}

int nvrtc_version(const struct nvrtc *n)
{
    assert(n->version > 0);
    return n->version;
}

void nvrtc_name(const struct nvrtc *n, char *out, size_t n_out)
{
    const int v = nvrtc_version(n);

    snprintf(out, n_out, "NVRTC %d.%d", v / 1000, v % 1000 / 10);
}

const char *nvrtc_path(const struct nvrtc *n)
{
    return n->path;
}

static bool makes(const struct nvrtc *n, int sm)
{
    for (int i = 0; i < n->n_archs; i++)
        if (n->archs[i] == sm)
            return true;
    return false;
}

enum err nvrtc_supports(const struct nvrtc *n, int sm, struct why *why)
{
    const int first = n->archs[0], last = n->archs[n->n_archs - 1];
    const char *advice = sm < 75 ? "use an NVRTC of CUDA 12 or older, e.g. from PyPI nvidia-cuda-nvrtc-cu12"
                                 : "use that of a newer CUDA, e.g. from PyPI nvidia-cuda-nvrtc";

    assert(n->n_archs > 0);
    if (makes(n, sm))
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED,
                   "NVRTC %d.%d (%s) makes no code for sm_%d (it makes sm_%d to sm_%d): %s, with --nvrtc PATH",
                   n->version / 1000, n->version % 1000 / 10, n->path, sm, first, last, advice);
}

bool nvrtc_target(const struct nvrtc *n, int sm, int *target, bool *as_ptx)
{
    int lower = 0;

    for (int i = 0; i < n->n_archs; i++)
        if (n->archs[i] <= sm && n->archs[i] > lower)
            lower = n->archs[i];
    if (!lower)
        return false;
    *target = lower;
    *as_ptx = *as_ptx || lower != sm;
    return true;
}

/* Options. */

struct options {
    char text[MAX_OPTIONS][PROGRAM_ID_BYTES + 72];
    const char *list[MAX_OPTIONS];
    int n;
};

/* False = no room, or too long. */
static bool put(struct options *o, const char *format, const char *a, const char *b)
{
    if (o->n == MAX_OPTIONS)
        return false;
    o->list[o->n] = o->text[o->n];
    return snprintf(o->text[o->n], sizeof o->text[0], format, a, b) < (int)sizeof o->text[0] && ++o->n;
}

/* Of a module's options those that NVRTC knows are handed on; OpenCL's and unknown ones mean nothing here. */
static bool is_known(const char *word)
{
    static const char *const known[] = {"D",        "U",        "use_fast_math", "fmad",
                                        "ftz",      "prec-div", "prec-sqrt",     "maxrregcount",
                                        "restrict", "lineinfo", "device-int128", "extra-device-vectorization",
                                        "std",      NULL};
    const char *name = word + strspn(word, "-");

    if (name == word || name - word > 2)
        return false;
    for (size_t i = 0; known[i]; i++) {
        const size_t n = strlen(known[i]);

        if (strncmp(name, known[i], n) == 0 && (n == 1 || name[n] == '\0' || name[n] == '='))
            return true;
    }
    return false;
}

static bool put_module_options(struct options *o, const struct program_module *m)
{
    char *copy = strdup(m->options ? m->options : ""), *rest = NULL;
    bool ok = copy != NULL;

    for (char *w = ok ? strtok_r(copy, " \t\n", &rest) : NULL; ok && w; w = strtok_r(NULL, " \t\n", &rest))
        if (is_known(w))
            ok = put(o, "%s%s", w, "");
    free(copy);
    for (size_t i = 0; ok && i < m->n_defines; i++) {
        char name[PROGRAM_ID_BYTES + 4];

        snprintf(name, sizeof name, "-D%s", m->defines[i].name);
        ok = put(o, "%s=%s", name, m->defines[i].value);
    }
    return ok;
}

static bool put_options(struct options *o, const struct program_module *m, int sm, bool as_ptx)
{
    char number[16];
    bool ok;

    o->n = 0;
    snprintf(number, sizeof number, "%d%s", sm, m->options && strstr(m->options, PROGRAM_ARCH_SPECIFIC) ? "a" : "");
    ok = put(o, "--gpu-architecture=%s_%s", as_ptx ? "compute" : "sm", number) && put(o, "-w%s%s", "", "");
    if (!(m->options && strstr(m->options, "-std")))
        ok = ok && put(o, "--std=c++17%s%s", "", "");
    if (!as_ptx)
        ok = ok && put(o, "--ptxas-options=-v%s%s", "", "");
    return ok && put_module_options(o, m);
}

/* Building. */

/* Lends the first line that says "error", else the first that is not empty. */
static int first_error(const char *log, const char **line)
{
    const char *at = strstr(log, "error");

    while (at && at > log && at[-1] != '\n')
        at--;
    *line = at ? at : log + strspn(log, " \t\r\n");
    return (int)strcspn(*line, "\r\n");
}

static char *take_log(struct nvrtc *n, nvrtc_program program)
{
    size_t bytes = 0;
    char *log;

    if (n->calls.nvrtcGetProgramLogSize(program, &bytes) || bytes < 2)
        return NULL;
    log = calloc(1, bytes + 1);
    if (!log || n->calls.nvrtcGetProgramLog(program, log) || !log[strspn(log, " \t\r\n")]) {
        free(log);
        return NULL;
    }
    if (bytes > LOG_BYTES)
        log[LOG_BYTES] = '\0';
    return log;
}

static enum err failed(struct nvrtc *n, const struct program_module *m, nvrtc_result result, const char *log,
                       struct why *why)
{
    const enum err e = result == NVRTC_OUT_OF_MEMORY ? ERR_NOMEM : ERR_COMPILE;
    const char *line = "";
    const int len = log ? first_error(log, &line) : 0;

    return why_set(why, e, "module '%s': %s%s%.*s", m->id, n->calls.nvrtcGetErrorString(result), len ? ": " : "",
                   len > 600 ? 600 : len, line);
}

static enum err take_code(struct nvrtc *n, nvrtc_program program, bool as_ptx, struct buf *out, struct why *why)
{
    size_t bytes = 0;
    nvrtc_result r = as_ptx ? n->calls.nvrtcGetPTXSize(program, &bytes) : n->calls.nvrtcGetCUBINSize(program, &bytes);
    char *room = r || bytes < 2 ? NULL : buf_room(out, bytes + 1);

    if (r || bytes < 2)
        return why_set(why, ERR_COMPILE, "NVRTC gave no code: %s", n->calls.nvrtcGetErrorString(r));
    if (!room)
        return why_set(why, ERR_LIMIT, "code of %zu bytes, at most %zu are taken", bytes, CODE_BYTES);
    r = as_ptx ? n->calls.nvrtcGetPTX(program, room) : n->calls.nvrtcGetCUBIN(program, room);
    if (r)
        return why_set(why, ERR_COMPILE, "NVRTC gave no code: %s", n->calls.nvrtcGetErrorString(r));
    out->len += as_ptx ? bytes - 1 : bytes; /* PTX ends with a NUL */
    out->data[out->len] = '\0';
    return ERR_OK;
}

static enum err compile(struct nvrtc *n, nvrtc_program program, const struct program_module *m, int sm, bool as_ptx,
                        struct nvrtc_built *out, struct why *why)
{
    struct options *o = malloc(sizeof *o);
    enum err e = ERR_NOMEM;

    if (o && !put_options(o, m, sm, as_ptx))
        e = why_set(why, ERR_LIMIT, "module '%s': too many or too long options", m->id);
    else if (o) {
        const int64_t start_ns = clock_now_ns();
        const nvrtc_result r = n->calls.nvrtcCompileProgram(program, o->n, o->list);

        out->build_ns = clock_now_ns() - start_ns;
        out->log = take_log(n, program);
        e = r ? failed(n, m, r, out->log, why) : take_code(n, program, as_ptx, &out->code, why);
    }
    free(o);
    return e;
}

/* Blobs may hold any bytes; the compiler takes text up to the first NUL. */
static enum err source_of(const struct program_module *m, const struct blobs *blobs, char **out, struct why *why)
{
    const struct blob *source = blobs ? blobs_get(blobs, m->source.hex) : NULL;

    if (m->lang != LANG_CUDA_C)
        return why_set(why, ERR_UNSUPPORTED, "module '%s' is not CUDA C", m->id);
    if (!source)
        return why_set(why, ERR_NOT_FOUND, "module '%s': source %.12s is not among the blobs", m->id, m->source.hex);
    *out = calloc(1, source->n_bytes + 1);
    if (!*out)
        return ERR_NOMEM;
    memcpy(*out, source->data, source->n_bytes);
    return ERR_OK;
}

static enum err build_text(struct nvrtc *n, const struct program_module *m, const char *text, int sm, bool as_ptx,
                           struct nvrtc_built *out, struct why *why)
{
    char name[PROGRAM_ID_BYTES + 4];
    nvrtc_program program = NULL;
    nvrtc_result r;
    enum err e;

    snprintf(name, sizeof name, "%s.cu", m->id);
    pthread_mutex_lock(&compiling);
    r = n->calls.nvrtcCreateProgram(&program, text, name, 0, NULL, NULL);
    e = r ? failed(n, m, r, NULL, why) : compile(n, program, m, sm, as_ptx, out, why);
    if (program)
        n->calls.nvrtcDestroyProgram(&program);
    pthread_mutex_unlock(&compiling);
    return e;
}

enum err nvrtc_build(struct nvrtc *n, const struct program_module *m, const struct blobs *blobs, int sm, bool as_ptx,
                     struct nvrtc_built *out, struct why *why)
{
    char *text = NULL;
    enum err e;

    *out = (struct nvrtc_built){0};
    buf_init(&out->code, CODE_BYTES);
    e = nvrtc_supports(n, sm, why);
    if (!e)
        e = source_of(m, blobs, &text, why);
    if (!e)
        e = build_text(n, m, text, sm, as_ptx, out, why);
    if (!e && !as_ptx && out->log)
        e = nvrtc_read_resources(out->log, &out->resources, &out->n_resources);
    free(text);
    return e;
}

void nvrtc_built_fini(struct nvrtc_built *b)
{
    if (!b)
        return;
    buf_fini(&b->code);
    free(b->log);
    free(b->resources);
    *b = (struct nvrtc_built){0};
}

void nvrtc_cache_name(const struct program_module *m, int sm, char *out)
{
    struct sha256 hash;
    struct buf text;

    buf_init(&text, NAME_BYTES);
    buf_printf(&text, "tune cubin 1\nsm_%d\n%s\n%s\n", sm, m->source.hex, m->options ? m->options : "");
    for (size_t i = 0; i < m->n_defines; i++)
        buf_printf(&text, "%s=%s\n", m->defines[i].name, m->defines[i].value);
    hash = sha256_of(buf_text(&text), text.len);
    buf_fini(&text);
    snprintf(out, NVRTC_NAME_BYTES, "tune-%s.cubin", hash.hex);
}
