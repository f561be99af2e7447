/* SPDX-License-Identifier: MIT */
/* exec_cl.c - sessions of the OpenCL executor: the device, its modules, the arena. */
#include "exec/exec_cl_parts.h"

#include <stdlib.h>
#include <string.h>

EXEC_API enum exec_status exec_cl_failed(struct exec_words *words, const char *what, const char *name, cl_int code)
{
    const enum exec_status s = code == CL_OUT_OF_HOST_MEMORY ? EXEC_NO_MEMORY : EXEC_DEVICE_FAILED;
    return exec_fail(words, s, "%s %.900s: OpenCL error %d", what, name, (int)code);
}

EXEC_API void exec_cl_release(cl_mem *mems, int n)
{
    for (int i = 0; mems && i < n; i++)
        if (mems[i])
            clReleaseMemObject(mems[i]);
    free(mems);
}

/* ---- sessions ---- */

static char *exec_cl_copy(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = malloc(n);
    return copy ? memcpy(copy, text, n) : NULL;
}

/* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA); Linux 5.16 and later. */
EXEC_API int exec_cl_ask_for_tiles(void)
{
#if defined(__x86_64__) && defined(__linux__)
    extern long syscall(long number, ...);
    return syscall(158, 0x1023, 18) == 0;
#else
    return 0;
#endif
}

EXEC_API enum exec_status exec_cl_open(cl_context context, cl_device_id device, const char *fingerprint,
                                       struct exec_words *words, struct exec_cl **out)
{
    struct exec_cl *s;
    if (!context || !device)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an OpenCL context and one of its devices");
#ifdef TUNE_EXEC_CL_CALLS_H /* not in a bundle, which is linked with OpenCL */
    if (exec_cl_load(words) != EXEC_OK)
        return EXEC_NO_DEVICE;
#endif
    s = calloc(1, sizeof *s);
    if (s)
        s->fingerprint = exec_cl_copy(fingerprint ? fingerprint : "");
    if (!s || !s->fingerprint) {
        free(s);
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    }
    s->context = context;
    s->device = device;
    clRetainContext(context);
#ifdef TUNE_EXEC_TEAM_CL_H
    s->team = exec_cl_team_open(context, device);
#endif
    *out = s;
    return EXEC_OK;
}

/* Forgets the last command. */
EXEC_API void exec_cl_forget(struct exec_cl *s)
{
    if (s->last_event)
        clReleaseEvent(s->last_event);
    if (s->last_queue)
        clReleaseCommandQueue(s->last_queue);
    s->last_event = NULL;
    s->last_queue = NULL;
}

EXEC_API void exec_cl_close(struct exec_cl *s)
{
    if (!s)
        return;
    exec_cl_forget(s);
    for (int i = 0; i < s->n_modules; i++) {
        clReleaseProgram(s->modules[i].program);
        free(s->modules[i].text);
        free(s->modules[i].options);
    }
    for (int i = 0; i < s->n_slots; i++)
        if (s->slots[i].mem)
            clReleaseMemObject(s->slots[i].mem);
#ifdef TUNE_EXEC_TEAM_CL_H
    exec_cl_team_close(s->team);
#endif
    clReleaseContext(s->context);
    free(s->modules);
    free(s->slots);
    free(s->fingerprint);
    free(s);
}

/* The queue of the last run was looked at then, and is still that queue: the session keeps it. */
EXEC_API enum exec_status exec_cl_check_queue(const struct exec_cl *s, cl_command_queue queue, struct exec_words *words)
{
    cl_context context = NULL;
    cl_device_id device = NULL;
    cl_command_queue_properties properties = 0;
    if (queue && queue == s->last_queue)
        return EXEC_OK;
    if (!queue || clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS ||
        clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS ||
        clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL) != CL_SUCCESS)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an OpenCL queue");
    if (context != s->context || device != s->device) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected a queue of the %s that was opened, got one of another",
                         context != s->context ? "context" : "device");
    }
    if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected a queue that runs its commands in order");
    return EXEC_OK;
}

/* ---- modules ---- */

static char *exec_cl_join(const struct exec_module *m)
{
    size_t n = 1, at = 0;
    char *text;
    for (int i = 0; i < m->n_lines; i++)
        n += strlen(m->lines[i]);
    text = malloc(n);
    for (int i = 0; text && i < m->n_lines; i++) {
        const size_t n_line = strlen(m->lines[i]);
        memcpy(text + at, m->lines[i], n_line);
        at += n_line;
    }
    if (text)
        text[at] = '\0';
    return text;
}

/* From a binary made for this very device; NULL when there is none, or the driver does not take it, or a team wants
 * what its launches can be split by. */
static cl_program exec_cl_made_before(const struct exec_cl *s, const struct exec_module *m)
{
    cl_program program = NULL;
    for (int i = 0; !s->team && !program && i < m->n_binaries; i++) {
        const struct exec_binary *b = &m->binaries[i];
        if (s->fingerprint[0] != '\0' && strcmp(b->target, s->fingerprint) == 0 && exec_is_whole(b))
            program = exec_cl_from_binary(s->context, s->device, b->bytes, b->n_bytes, m->options);
    }
    return program;
}

static enum exec_status exec_cl_build_failed(const struct exec_cl *s, cl_program program, cl_int code,
                                             struct exec_words *words)
{
    char log[3500] = "the device's compiler left no words";
    (void)clGetProgramBuildInfo(program, s->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    log[sizeof log - 1] = '\0';
    return exec_fail(words, EXEC_BUILD_FAILED, "a kernel did not build (OpenCL error %d): %s", (int)code, log);
}

static enum exec_status exec_cl_make_anew(const struct exec_cl *s, const char *text, const char *options,
                                          struct exec_words *words, cl_program *out)
{
    cl_int code = CL_SUCCESS;
#ifdef TUNE_EXEC_TEAM_CL_H
    cl_program program = s->team ? exec_cl_team_text(s->team, text, strlen(text), options, &code)
                                 : exec_cl_from_text(s->context, s->device, text, strlen(text), options, &code);
#else
    cl_program program = exec_cl_from_text(s->context, s->device, text, strlen(text), options, &code);
#endif
    if (!program)
        return exec_cl_failed(words, "call of", "clCreateProgramWithSource", code);
    if (code != CL_SUCCESS) {
        enum exec_status failed = exec_cl_build_failed(s, program, code, words);
        clReleaseProgram(program);
        return failed;
    }
    *out = program;
    return EXEC_OK;
}

/* Adds a module to the session; takes `text` when it succeeds. */
static enum exec_status exec_cl_add_module(struct exec_cl *s, const struct exec_module *m, char *text,
                                           struct exec_words *words, cl_program *out)
{
    struct exec_cl_module *grown = realloc(s->modules, ((size_t)s->n_modules + 1) * sizeof *grown);
    char *options = exec_cl_copy(m->options);
    cl_program program = NULL;
    enum exec_status status = EXEC_OK;
    if (strstr(text, "tileloadd") != NULL) /* asking is felt in the whole process: its signals' frames grow */
        (void)exec_cl_ask_for_tiles();
    if (grown)
        s->modules = grown;
    if (!grown || !options) {
        status = exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    } else {
        program = exec_cl_made_before(s, m);
        status = program ? EXEC_OK : exec_cl_make_anew(s, text, options, words, &program);
    }
    if (status != EXEC_OK) {
        free(options);
        return status;
    }
    s->modules[s->n_modules++] = (struct exec_cl_module){text, options, program};
    *out = program;
    return EXEC_OK;
}

/* The session's program of a module: built the first time that its text and options are asked for. */
EXEC_API enum exec_status exec_cl_module(struct exec_cl *s, const struct exec_module *m, struct exec_words *words,
                                         cl_program *out)
{
    enum exec_status status;
    char *text = exec_cl_join(m);
    if (!text)
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    for (int i = 0; i < s->n_modules; i++) {
        if (strcmp(s->modules[i].options, m->options) == 0 && strcmp(s->modules[i].text, text) == 0) {
            free(text);
            *out = s->modules[i].program;
            return EXEC_OK;
        }
    }
    status = exec_cl_add_module(s, m, text, words, out);
    if (status != EXEC_OK)
        free(text);
    return status;
}
