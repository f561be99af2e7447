/* SPDX-License-Identifier: MIT */
#include "agent/child.h"

#include "agent/built.h"
#include "agent/cage.h"
#include "agent/child_ops.h"
#include "agent/frame.h"
#include "agent/lock.h"
#include "agent/pin.h"
#include "agent/sandbox.h"
#include "agent/workdir.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/json.h"
#include "runtime/fill_cache.h"
#include "runtime/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MAX_WHY_BYTES 4096 /* as in records */
#define MAX_LOG_BYTES 65536
#define MAX_FILE_BYTES ((rlim_t)512 << 20) /* of anything a child writes: compiler caches, stderr */

void child_at(struct child *c, const char *stage, int i_item)
{
    frame_send(c->fd, child_stage_write(&(struct child_stage){.at = stage, .i = i_item}));
}

void child_program_init(struct child_program *p)
{
    memset(p, 0, sizeof *p);
    program_init(&p->program);
    blobs_init(&p->blobs, CHILD_MAX_BLOB_BYTES);
}

void child_program_fini(struct child *c, struct child_program *p)
{
    if (p->loaded)
        c->ops->unload(p->loaded);
    free(p->report.log);
    program_fini(&p->program);
    blobs_fini(&p->blobs);
}

void child_drop_anchor(struct child *c)
{
    if (c->anchor)
        child_program_fini(c, c->anchor);
    free(c->anchor);
    c->anchor = NULL;
}

enum err child_blob_read(struct child *c, struct child_program *p, const char *hex, struct why *why)
{
    const enum err e = workdir_load_blob(c->dir, hex, &p->blobs, why);

    p->unread |= e != ERR_OK;
    return e;
}

struct blob_reader {
    struct child *child;
    struct child_program *program;
    enum err e;
    struct why *why;
};

static void read_blob(const char *hex, void *arg)
{
    struct blob_reader *r = arg;

    if (!r->e)
        r->e = child_blob_read(r->child, r->program, hex, r->why);
}

enum err child_program_parse(struct child *c, struct child_program *p, const char *hex, struct why *why)
{
    const struct blob *text;
    enum err e = child_blob_read(c, p, hex, why);

    if (e)
        return e;
    text = blobs_get(&p->blobs, hex);
    return program_from_json((const char *)text->data, text->n_bytes, &p->program, why);
}

enum err child_program_read(struct child *c, struct child_program *p, const char *hex, struct why *why)
{
    struct blob_reader r = {c, p, child_program_parse(c, p, hex, why), why};

    if (!r.e)
        program_each_blob(&p->program, read_blob, &r);
    return r.e;
}

enum err child_sheet_read(struct child *c, struct child_program *p, const char *hex, struct why *why)
{
    struct blob_reader r = {c, p, ERR_OK, why};
    const struct blob *text;
    enum err e = child_blob_read(c, p, hex, why);

    if (e)
        return e;
    text = blobs_get(&p->blobs, hex);
    e = program_sheet_read((const char *)text->data, text->n_bytes, &p->program, why);
    if (e)
        return e;
    program_each_blob(&p->program, read_blob, &r);
    return r.e;
}

enum err child_program_load(struct child *c, struct child_program *p, struct why *why)
{
    return c->ops->load(c->device, &p->program, &p->blobs, c->cache_dir, &p->loaded, &p->report, why);
}

static enum err open_canary(struct child *c, struct why *why)
{
    enum err e = ERR_OK;

    if (!c->canary_tried)
        e = canary_open(c->ops, c->device, c->cache_dir, &c->canary, why);
    c->canary_tried = true;
    return e;
}

void child_open_canary(struct child *c)
{
    open_canary(c, NULL);
}

double child_canary_ns(struct child *c)
{
    double ns = 0;

    if (c->canary && canary_time(c->canary, CANARY_MAX_MS, &ns, NULL))
        return 0;
    return ns;
}

double child_canary_now_ns(struct child *c)
{
    double ns = 0;

    if (c->canary && canary_now(c->canary, &ns, NULL))
        return 0;
    return ns;
}

enum record_status status_of_err(enum err e)
{
    static const struct {
        enum err e;
        enum record_status status;
    } map[] = {{ERR_OK, STATUS_OK},          {ERR_COMPILE, STATUS_COMPILE}, {ERR_LIMITS, STATUS_LIMITS},
               {ERR_LIMIT, STATUS_LIMITS},   {ERR_NOMEM, STATUS_LIMITS},    {ERR_WRONG, STATUS_WRONG},
               {ERR_TIMEOUT, STATUS_TIMEOUT}};

    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        if (map[i].e == e)
            return map[i].status;
    return STATUS_RUNTIME;
}

/* The canary's time, or in words why there is none; canary_unbuilt: for want of a compiler, which another may have. */
static void describe_canary(struct child *c, struct describe_reply *out, struct why *why)
{
    enum err e = open_canary(c, why);

    out->canary_unbuilt = e == ERR_NOT_FOUND || e == ERR_UNSUPPORTED;
    if (!e && c->canary)
        e = canary_time(c->canary, CANARY_MAX_MS, &out->canary_ns, why);
    out->canary_why = e && !why->text[0] ? err_words(e) : why->text;
    out->gflops = out->canary_ns > 0 ? canary_flops(c->canary) / out->canary_ns : 0;
}

cJSON *child_describe(struct child *c, const cJSON *request)
{
    struct describe_reply out = {.device = device_desc_to_json(c->ops->describe(c->device)),
                                 .simulated = c->ops->simulated,
                                 .builds = true,
                                 .cage = c->cage.lacks};
    struct child_compiler compiler = {.words = ""};
    struct describe_args in;
    struct why why = {""};

    (void)describe_args_read(request, &in, NULL);
    if (in.canary)
        describe_canary(c, &out, &why);
    child_describe_compiler(c, &out, &compiler);
    return out.device ? describe_reply_write(&out) : NULL;
}

/* Appends `text` with the compiler's temporary files called kernel.cl: equal mistakes then have equal words. */
static void append_without_paths(struct buf *out, const char *text, const char *dir)
{
    const size_t n_dir = strlen(dir);
    const char *at;

    while (n_dir && (at = strstr(text, dir))) {
        const size_t n_path = strcspn(at, ": \n\t\"'");

        buf_append(out, text, (size_t)(at - text));
        buf_puts(out, "kernel.cl");
        text = at + n_path;
    }
    buf_puts(out, text);
}

/* Compiler output behind the words: that is what a person wants to see. */
void child_words(const struct child *c, enum err e, const struct why *why, const char *log, struct buf *text)
{
    buf_init(text, MAX_LOG_BYTES);
    if (e)
        append_without_paths(text, why->text, c->dir);
    if (e == ERR_COMPILE && log && *log && !strstr(why->text, log)) {
        buf_puts(text, "\n");
        append_without_paths(text, log, c->dir);
    }
    if (text->len > MAX_WHY_BYTES)
        text->data[MAX_WHY_BYTES] = '\0';
}

/* One pass has no other to compare its launches with. */
static bool ran_once(const struct child_program *p)
{
    return verify_n_before(&p->program) == 1;
}

/* Each pass has the limit of a run to itself, the first one more for compiling. *late_ns: what the first pass's
 * launches took longer than the last one's, which is the driver's compiler (PoCL makes code at the first run). With one
 * pass nobody knows: all they took, of which timing takes a run off. */
static enum err verify_passes(struct child *c, struct child_program *p, int64_t *late_ns, struct why *why)
{
    const size_t n = verify_n_before(&p->program);
    struct verify_report report;
    int64_t first_ns = 0;
    enum err e = ERR_OK;

    *late_ns = 0;
    for (size_t i = 0; !e && i < n; i++) {
        child_at(c, i == 0 ? "first" : "verify", SANDBOX_NOWHERE);
        e = verify_before(c->ops, p->loaded, &p->program, &p->blobs, i, &report, why);
        if (i == 0)
            first_ns = report.run_ns;
        if (ran_once(p))
            *late_ns = first_ns;
        else if (i + 1 == n && first_ns > report.run_ns)
            *late_ns = first_ns - report.run_ns;
    }
    return e;
}

static cJSON *verify_reply(const struct child *c, enum err e, const struct why *why, const struct child_program *p,
                           struct verify_reply out)
{
    const struct load_report *report = &p->report;
    struct buf words;
    cJSON *reply;

    child_words(c, e, why, report->log, &words);
    out.status = status_name(status_of_err(e));
    out.why = buf_text(&words);
    out.build_ms = (double)report->build_ns * 1e-6;
    out.build_cached = report->build_cached;
    out.compiler = report->compiler;
    out.built_by = report->built_by;
    out.once = ran_once(p);
    out.resources = resources_json(report->resources, (size_t)report->n_resources);
    reply = verify_reply_write(&out);
    buf_fini(&words);
    return reply;
}

/* A device with memory of its own: what it runs for us would be felt by what is timed on it, the compiler would not. A
 * parent's clock starts anew with each message. */
static void take_device(struct child *c)
{
    while (c->lock_fd >= 0 && lock_take(c->lock_fd, NULL, 100) == ERR_BUSY)
        child_at(c, "wait", SANDBOX_NOWHERE);
}

/* Compiles first, where that is apart from loading, and then waits for the device. */
static enum err compile_and_load(struct child *c, struct child_program *p, struct why *why)
{
    struct load_report ahead = {.build_cached = true};
    enum err e = ERR_OK;

    if (c->ops->compile && c->cache_dir)
        e = c->ops->compile(c->device, &p->program, &p->blobs, c->cache_dir, &ahead, why);
    if (e) {
        p->report = ahead;
        return e;
    }
    take_device(c);
    e = child_program_load(c, p, why);
    p->report.build_ns += ahead.build_ns;
    p->report.build_cached = p->report.build_cached && ahead.build_cached;
    free(ahead.log);
    return e;
}

cJSON *child_verify(struct child *c, const cJSON *request)
{
    struct child_program p;
    struct why why = {""};
    const char *stage = "prepare";
    int64_t from = clock_now_ns(), late_ns = 0;
    struct verify_args in;
    cJSON *reply;
    enum err e;

    child_program_init(&p);
    child_at(c, "build", SANDBOX_NOWHERE);
    e = verify_args_read(request, &in, &why);
    if (!e)
        e = child_program_read(c, &p, in.program, &why);
    if (!e && *in.sheet)
        e = child_sheet_read(c, &p, in.sheet, &why);
    if (!e) {
        stage = "build";
        e = compile_and_load(c, &p, &why);
        from = clock_now_ns();
    }
    if (!e && !c->ops->simulated) {
        stage = "verify";
        e = verify_passes(c, &p, &late_ns, &why);
    }
    if (p.unread)
        stage = SANDBOX_START;
    p.report.build_ns += late_ns;
    reply = verify_reply(
        c, e, &why, &p,
        (struct verify_reply){.stage = e ? stage : "",
                              .verify_ms = p.loaded ? (double)(clock_now_ns() - from - late_ns) * 1e-6 : 0});
    child_program_fini(c, &p);
    if (c->lock_fd >= 0)
        lock_release(c->lock_fd);
    return reply;
}

static cJSON *answer(struct child *c, const cJSON *request)
{
    static const struct {
        const char *op;
        cJSON *(*answer)(struct child *c, const cJSON *request);
    } ops[] = {{"describe", child_describe},
               {"verify", child_verify},
               {"time", child_time},
               {"compiler", child_compiler},
               {"compile", child_compile}};
    const char *op = "";

    json_get_text(request, "op", &op, NULL);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].op, op) == 0)
            return ops[i].answer(c, request);
    return NULL;
}

/* Of a device that could not be opened: the words, whatever is asked. */
/* Until the parent closes the stream: leaving earlier, with a request unread, would take the reply along. */
static int serve(struct child *c, const struct why *refused)
{
    struct frame_reader reader;
    cJSON *request = NULL;
    enum err e = ERR_OK;

    frame_reader_init(&reader, c->fd);
    while (!e && frame_read(&reader, -1, &request, NULL) == ERR_OK) {
        e = frame_send(c->fd, refused ? child_refuse(refused) : answer(c, request));
        cage_sweep();
        cJSON_Delete(request);
        request = NULL;
    }
    frame_reader_fini(&reader);
    return e ? 1 : 0;
}

static enum err open_lock(struct child *c, const char *selector, struct why *why)
{
    const struct device_desc *d = c->ops->describe(c->device);
    char name[LOCK_NAME_BYTES];

    if (d->kind == DEVICE_CPU || d->shares_host)
        return ERR_OK;
    lock_name_of_device(d, selector, name, sizeof name);
    return lock_open(name, &c->lock_fd, why);
}

static enum err open_device(struct child *c, const char *mode, const char *device, struct why *why)
{
    static struct pin_threads before;
    const char *selector = "";
    enum err e = device_parse(device, &c->ops, &selector, why);

    if (e)
        return e;
    if (strcmp(mode, "time") == 0)
        unsetenv("TUNE_REPLAY_DELAY"); /* the build child waits for the recorded cost, once */
    if (strcmp(mode, "build") == 0)
        setenv("TUNE_FENCE", "1", 1); /* what it verifies; not where time is taken: pages apart are other memory */
    pin_note_threads(&before);
    e = c->ops->open(selector, &c->device, why);
    if (!e && strcmp(mode, "build") == 0 && !c->ops->simulated)
        e = open_lock(c, selector, why);
    if (!e && strcmp(mode, "build") != 0 && c->ops->describe(c->device)->kind == DEVICE_CPU)
        pin_new_threads(&before);
    return e;
}

int child_main(int argc, char **argv)
{
    const struct rlimit files = {MAX_FILE_BYTES, MAX_FILE_BYTES};
    struct child c = {.fd = SANDBOX_DEVICE_FD, .lock_fd = -1};
    struct why why = {""};
    enum err e;
    int code;

    if (argc != 6 && argc != 7)
        return 1;
    c.dir = argv[4];
    c.cache_dir = *argv[5] ? argv[5] : NULL;
    setrlimit(RLIMIT_FSIZE, &files);
    e = cage_enter(argc == 7 ? argv[6] : "", c.dir, c.cache_dir, argv[3], &c.cage, &why);
    fill_cache_limit(CHILD_FILL_BYTES);
    if (!e && strcmp(argv[2], "compile") != 0)
        e = open_device(&c, argv[2], argv[3], &why);
    code = serve(&c, e ? &why : NULL);
    if (e)
        return 1;
    child_drop_anchor(&c);
    canary_close(c.canary);
    child_close_compiler(&c);
    if (c.ops)
        c.ops->close(c.device);
    return code;
}
