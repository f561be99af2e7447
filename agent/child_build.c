/* SPDX-License-Identifier: MIT */
/* child_build.c - in a child: compiling for NVIDIA architectures, whether a device is there or not. */
#include "agent/built.h"
#include "agent/child_ops.h"
#include "agent/host.h"
#include "agent/sandbox.h"
#include "agent/workdir.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "runtime/device_checks.h"
#include "runtime/nvrtc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void child_close_compiler(struct child *c)
{
    nvrtc_close(c->nvrtc);
    c->nvrtc = NULL;
}

/* One that makes code for `sm` which a driver of this CUDA takes; of several versions on a machine each may know
 * others.
 */
static enum err want_compiler(struct child *c, int sm, int cuda_version, struct why *why)
{
    enum err e;

    if (c->nvrtc && nvrtc_supports(c->nvrtc, sm, NULL) == ERR_OK)
        return ERR_OK;
    child_close_compiler(c);
    e = nvrtc_open_for(NULL, sm, cuda_version, &c->nvrtc, why);
    return e ? e : nvrtc_supports(c->nvrtc, sm, why);
}

/* The one that this device's modules are compiled with here, beside its driver; compiles_apart: into code, so that
 * another child can do it, not into PTX, of which the driver makes code when it is loaded. */
static void describe_used(const struct device_desc *d, struct describe_reply *out, struct child_compiler *keeps)
{
    struct nvrtc *n = NULL;

    if (nvrtc_open_for(NULL, (int)d->sm, host_cuda_version(d), &n, NULL))
        return;
    snprintf(keeps->words, sizeof keeps->words, "NVRTC %d.%d (%.700s)", nvrtc_version(n) / 1000,
             nvrtc_version(n) % 1000 / 10, nvrtc_path(n));
    out->compiles_apart = nvrtc_supports(n, (int)d->sm, NULL) == ERR_OK;
    out->compiler = keeps->words;
    nvrtc_close(n);
}

void child_describe_compiler(struct child *c, struct describe_reply *out, struct child_compiler *keeps)
{
    const int sm = (int)c->ops->describe(c->device)->sm;
    bool as_ptx = false;
    int target;
    enum err e;

    if (sm <= 0)
        return;
    e = want_compiler(c, sm, INT_MAX, &keeps->why);
    if (e == ERR_UNSUPPORTED && nvrtc_target(c->nvrtc, sm, &target, &as_ptx))
        e = ERR_OK; /* newer than the compiler: the driver makes code of its PTX */
    out->builds = !e;
    out->builds_why = e ? keeps->why.text : "";
    describe_used(c->ops->describe(c->device), out, keeps);
}

cJSON *child_refuse(const struct why *why)
{
    return child_refusal_write(&(struct child_refusal){.refused = why->text});
}

cJSON *child_compiler(struct child *c, const cJSON *request)
{
    char one[32], names[128] = "", paths[800] = "";
    struct compiler_args in;
    struct why why = {""};
    const cJSON *sm;

    (void)compiler_args_read(request, &in, NULL);
    cJSON_ArrayForEach(sm, in.sms)
    {
        if (want_compiler(c, sm->valueint, INT_MAX, &why))
            return child_refuse(&why);
        nvrtc_name(c->nvrtc, one, sizeof one);
        if (strstr(names, one))
            continue;
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", one);
        snprintf(paths + strlen(paths), sizeof paths - strlen(paths), "%s%s", *paths ? ", " : "", nvrtc_path(c->nvrtc));
    }
    return compiler_reply_write(&(struct compiler_reply){.compiler = names, .path = paths, .cage = c->cage.lacks});
}

/* The program and its sources, as they lie in the work directory; expected values are not needed. */
static enum err read_sources(struct child *c, struct child_program *p, const char *hex, struct why *why)
{
    enum err e = child_program_parse(c, p, hex, why);

    for (size_t i = 0; !e && i < p->program.n_modules; i++)
        e = child_blob_read(c, p, p->program.modules[i].source.hex, why);
    return e;
}

/* What one request makes. */
struct compiled {
    cJSON *files, *resources;
    struct load_report report; /* its log: of the module that does not compile */
    bool ok, unkept;           /* unkept: code could not be written */
};

static void note(struct compiled *x, const char *name, const struct nvrtc_built *b)
{
    cJSON *list = resources_json(b->resources, b->n_resources), *one;

    x->ok = x->ok && cJSON_AddItemToArray(x->files, cJSON_CreateString(name));
    while (list && (one = cJSON_DetachItemFromArray(list, 0)) != NULL)
        cJSON_AddItemToArray(x->resources, one);
    cJSON_Delete(list);
}

static enum err compile_module(struct child *c, const struct child_program *p, const struct program_module *m, int sm,
                               struct compiled *x, struct why *why)
{
    char name[NVRTC_NAME_BYTES], path[PATH_MAX];
    struct nvrtc_built b;
    enum err e = nvrtc_build(c->nvrtc, m, &p->blobs, sm, false, &b, why);

    x->report.build_ns += b.build_ns;
    if (e && b.log)
        report_add_log(&x->report, m->id, b.log);
    nvrtc_cache_name(m, sm, name);
    snprintf(path, sizeof path, "%s/%s", c->cache_dir, name);
    if (!e) {
        e = file_replace(path, b.code.data, b.code.len, 0600, why);
        x->unkept = e;
    }
    if (!e)
        note(x, name, &b);
    nvrtc_built_fini(&b);
    return e;
}

static cJSON *compile_reply(const struct child *c, enum err e, const char *stage, const struct why *why,
                            struct compiled *x)
{
    struct compile_reply out = {.status = status_name(status_of_err(e)),
                                .stage = e ? stage : "",
                                .build_ms = (double)x->report.build_ns * 1e-6,
                                .files = x->files,
                                .resources = x->resources};
    char compiler[32] = "";
    struct buf words;
    cJSON *reply;

    child_words(c, e, why, x->report.log, &words);
    if (c->nvrtc)
        nvrtc_name(c->nvrtc, compiler, sizeof compiler);
    out.compiler = compiler;
    out.why = buf_text(&words);
    reply = compile_reply_write(&out);
    buf_fini(&words);
    if (x->ok)
        return reply;
    cJSON_Delete(reply);
    return NULL;
}

cJSON *child_compile(struct child *c, const cJSON *request)
{
    struct compiled x = {.files = cJSON_CreateArray(), .resources = cJSON_CreateArray()};
    const char *stage = "prepare";
    struct child_program p;
    struct compile_args in;
    struct why why = {""};
    cJSON *reply;
    enum err e;

    x.ok = x.files && x.resources;
    child_program_init(&p);
    child_at(c, "build", SANDBOX_NOWHERE);
    e = compile_args_read(request, &in, &why);
    if (!e)
        e = read_sources(c, &p, in.program, &why);
    if (!e) {
        e = want_compiler(c, (int)in.sm, (int)in.cuda_version, &why);
        stage = e ? SANDBOX_START : "build"; /* it was there when the agent began: no fault of the program */
    }
    for (size_t i = 0; !e && i < p.program.n_modules; i++)
        if (p.program.modules[i].lang == LANG_CUDA_C)
            e = compile_module(c, &p, &p.program.modules[i], (int)in.sm, &x, &why);
    reply = compile_reply(c, e, p.unread || x.unkept ? SANDBOX_START : stage, &why, &x);
    child_program_fini(c, &p);
    free(x.report.log);
    return reply;
}
