/* SPDX-License-Identifier: MIT */
#include "agent/forge.h"

#include "agent/host.h"
#include "core/file.h"
#include "core/json.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_S 120.0

void forge_init(struct forge *f, const struct forge_options *options)
{
    f->options = *options;
    f->n_built = 0;
    snprintf(f->cache, sizeof f->cache, "%s/forge.%d", options->dir, options->i);
    sandbox_init(&f->child, options->sandbox, options->sandbox_arg);
}

void forge_fini(struct forge *f)
{
    if (f->child.ops)
        sandbox_end_child(&f->child);
}

void forge_kill(struct forge *f)
{
    sandbox_kill(&f->child);
}

static bool stopping(const struct forge *f)
{
    return f->options.stop && atomic_load(f->options.stop);
}

/* ---- the child ---- */

/* In an empty folder: what its forerunner was at is half made. */
static enum err start_child(struct forge *f, struct why *why)
{
    const struct sandbox_options o = {.mode = "compile",
                                      .device = "none",
                                      .dir = f->options.dir,
                                      .cache_dir = f->cache,
                                      .wrapper = f->options.wrapper,
                                      .cage = f->options.cage,
                                      .cpus = f->options.cpus,
                                      .n_cpus = f->options.n_cpus,
                                      .data_bytes = host_total_bytes(),
                                      .stop = f->options.stop};

    if (stopping(f))
        return why_set(why, ERR_CANCELLED, "the agent stops");
    sandbox_end_child(&f->child);
    dir_remove(f->cache);
    f->n_built = 0;
    return sandbox_start(&f->child, &o, why);
}

enum err forge_ask_compiler(struct forge *f, const int *sms, int n_sms, struct forge_compiler *out, struct why *why)
{
    const struct sandbox_limits limits = {.build_s = START_S, .run_s = START_S};
    struct compiler_args args = {.op = "compiler"};
    struct compiler_reply answer;
    struct sandbox_end end;
    cJSON *reply = NULL;
    enum err e = start_child(f, why);

    if (e)
        return e;
    args.sms = cJSON_CreateIntArray(sms, n_sms);
    sandbox_ask(&f->child, compiler_args_write(&args), &limits, &reply, &end);
    if (end.fate != SANDBOX_REPLIED)
        return why_set(why, ERR_CHILD, "cannot ask the compiler: %s", end.words.text);
    e = compiler_reply_read(reply, &answer, why);
    if (answer.refused)
        e = why_set(why, ERR_UNSUPPORTED, "%s", answer.refused);
    snprintf(out->name, sizeof out->name, "%s", answer.compiler);
    snprintf(out->path, sizeof out->path, "%s", answer.path);
    snprintf(out->caged.lacks, sizeof out->caged.lacks, "%s", answer.cage);
    cJSON_Delete(reply);
    return e;
}

/* ---- compiling ---- */

static void fail(struct built *b, enum record_status status, const char *stage, const char *words)
{
    free(b->why);
    b->status = status;
    b->why = strdup(words);
    b->n_files = 0;
    snprintf(b->stage, sizeof b->stage, "%s", stage);
}

/* Off the disk with it: a forge's folder holds what is being made, no more. */
static enum err take_file(const struct forge *f, const char *name, struct buf *out, struct why *why)
{
    char path[sizeof f->cache + BUILT_NAME_BYTES + 1], opened[32];
    struct stat st;
    enum err e;
    int fd;

    snprintf(path, sizeof path, "%s/%s", f->cache, name);
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); /* a child may have put a link in its place */
    snprintf(opened, sizeof opened, "/proc/self/fd/%d", fd);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        e = why_set(why, ERR_IO, "%s is no file that a compiler made", path);
    else
        e = file_read(opened, out, why);
    if (fd >= 0)
        close(fd);
    unlink(path);
    return e;
}

static void take_code(const struct forge *f, const cJSON *names, struct built *b, struct buf *code)
{
    const cJSON *name;
    struct why why = {""};

    cJSON_ArrayForEach(name, names)
    {
        struct buf *bytes = &code[b->n_files];

        if (b->n_files == PROGRAM_MAX_MODULES || !cJSON_IsString(name) || !built_name_is_plain(name->valuestring)) {
            fail(b, STATUS_CRASH, "build", "the compiling child named its files wrongly");
            return;
        }
        if (take_file(f, name->valuestring, bytes, &why)) {
            fail(b, STATUS_RUNTIME, "build", why.text);
            return;
        }
        strcpy(b->files[b->n_files].name, name->valuestring);
        b->files[b->n_files++].blob = sha256_of(bytes->data, bytes->len);
    }
}

static void take_reply(const struct forge *f, const cJSON *reply, struct built *b, struct buf *code)
{
    struct compile_reply answer;
    int number;

    (void)compile_reply_read(reply, &answer, NULL);
    b->build_ms = answer.build_ms;
    snprintf(b->compiler, sizeof b->compiler, "%s", answer.compiler);
    number = status_by_name(answer.status);
    if (number != STATUS_OK) {
        fail(b, number < 0 ? STATUS_CRASH : (enum record_status)number, answer.stage, answer.why);
        return;
    }
    b->resources = cJSON_GetArraySize(answer.resources) > 0 ? cJSON_Duplicate(answer.resources, true) : NULL;
    take_code(f, answer.files, b, code);
}

static enum err ask_compile(struct forge *f, const struct forge_order *o, cJSON **reply, struct sandbox_end *end,
                            struct why *why)
{
    const struct sandbox_limits limits = {
        .build_s = o->build_s, .run_s = o->build_s, .start_s = START_S, .memory_bytes = o->memory_bytes};
    const bool fresh = !sandbox_is_whole(&f->child) || f->n_built >= FORGE_CHILD_BUILDS;
    const enum err e = fresh ? start_child(f, why) : ERR_OK;
    const struct compile_args args = {
        .op = "compile", .program = o->program, .sm = o->sm, .cuda_version = o->cuda_version};

    if (e)
        return e;
    f->n_built++;
    sandbox_ask(&f->child, compile_args_write(&args), &limits, reply, end);
    return end->fate == SANDBOX_CANCELLED ? ERR_CANCELLED : ERR_OK;
}

static void forget_reply(struct built *b, struct buf *code)
{
    char by[sizeof b->by];

    memcpy(by, b->by, sizeof by);
    built_fini(b);
    memcpy(b->by, by, sizeof by);
    for (int i = 0; i < PROGRAM_MAX_MODULES; i++)
        buf_clear(&code[i]);
}

/* Asks once. A failure that is answered without the child's folder, which somebody removed, is none: as if it died. */
static enum err try_compile(struct forge *f, const struct forge_order *o, struct built *out, struct buf *code,
                            struct sandbox_end *end, struct why *why)
{
    cJSON *reply = NULL;
    const enum err e = ask_compile(f, o, &reply, end, why);

    if (!e && end->fate == SANDBOX_REPLIED)
        take_reply(f, reply, out, code);
    cJSON_Delete(reply);
    if (e || end->fate != SANDBOX_REPLIED || out->status == STATUS_OK || sandbox_is_whole(&f->child))
        return e;
    forget_reply(out, code);
    end->fate = SANDBOX_DIED;
    strcpy(end->stage, SANDBOX_START);
    why_set(&end->words, ERR_CHILD, "somebody removed %s", f->cache);
    return ERR_OK;
}

enum err forge_compile(struct forge *f, const struct forge_order *o, struct built *out, struct buf *code,
                       struct why *why)
{
    static const enum record_status by_fate[] = {
        [SANDBOX_DIED] = STATUS_CRASH, [SANDBOX_TIMEOUT] = STATUS_TIMEOUT, [SANDBOX_MEMORY] = STATUS_LIMITS};
    struct sandbox_end end = {.fate = SANDBOX_DIED};
    enum err e = try_compile(f, o, out, code, &end, why);

    if (!e && end.fate == SANDBOX_DIED)
        e = try_compile(f, o, out, code, &end, why);
    if (!e && end.fate != SANDBOX_REPLIED)
        fail(out, by_fate[end.fate], end.stage, end.words.text);
    return e;
}
