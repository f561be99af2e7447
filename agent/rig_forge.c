/* SPDX-License-Identifier: MIT */
/* rig_forge.c - compiling for a CUDA device, which needs no device and is not felt by what is timed: as many at a time
 * as there are CPUs to spare. */
#include "agent/host.h"
#include "agent/rig_parts.h"
#include "core/blobs.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/proc.h"
#include "runtime/nvrtc.h"
#include "tracker/protocol.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TIMING_CPUS 2 /* kept free of compilers: of who launches, and of the driver's threads */
#define FEW_CPUS 3    /* of so few none can be kept free */

/* ---- how many ---- */

static int count_forges(const struct rig *r, int n_cpus)
{
    int n = r->options.builders;

    if (!r->compiles_apart || r->simulated)
        return 0;
    if (n <= 0)
        n = n_cpus > FEW_CPUS ? n_cpus - TIMING_CPUS : n_cpus - 1;
    return n < 1 ? 1 : n < FORGE_MAX ? n : FORGE_MAX;
}

void rig_plan_forges(struct rig *r)
{
    const int n_cpus = proc_cpus(NULL, 0);

    r->n_forges = count_forges(r, n_cpus);
    if (r->n_forges > 0 && n_cpus > FEW_CPUS)
        pin_spare(&r->cpus, TIMING_CPUS);
    for (int i = 0; i < r->n_forges; i++)
        forge_init(&r->forges[i], &(struct forge_options){.dir = r->dir.temp.path,
                                                          .i = i,
                                                          .wrapper = r->options.child_wrapper,
                                                          .cage = rig_cage(r),
                                                          .cpus = r->cpus.other,
                                                          .n_cpus = r->cpus.n_other,
                                                          .stop = r->options.stop,
                                                          .sandbox = r->options.sandbox,
                                                          .sandbox_arg = r->options.sandbox_arg});
}

/* ---- code ---- */

bool rig_compiles(const struct rig *r, const struct trial *t)
{
    if (r->n_forges == 0 || t->finished || t->code.n_files > 0)
        return false;
    for (size_t i = 0; i < t->program.n_modules; i++)
        if (t->program.modules[i].lang == LANG_CUDA_C)
            return true;
    return false;
}

/* Does the cache of now hold all its code? A finalist was compiled when it was searched. */
static bool is_compiled(struct rig *r, const struct trial *t)
{
    const struct program *p = &t->program;
    char cache[PATH_MAX + 32], name[NVRTC_NAME_BYTES], path[sizeof cache + sizeof name];

    workdir_cache(&r->dir, rig_generation(r, t), cache, sizeof cache);
    for (size_t i = 0; i < p->n_modules; i++) {
        if (p->modules[i].lang != LANG_CUDA_C)
            continue;
        nvrtc_cache_name(&p->modules[i], (int)r->desc.sm, name);
        snprintf(path, sizeof path, "%s/%s", cache, name);
        if (access(path, R_OK) != 0)
            return false;
    }
    return true;
}

/* Into the work directory, where a builder's code comes to lie too. */
static enum err keep_code(struct rig *r, const struct built *b, const struct buf *code, struct why *why)
{
    struct blobs set;
    enum err e = ERR_OK;

    blobs_init(&set, PROGRAM_MAX_MODULES * BLOB_MAX_BYTES);
    for (int i = 0; i < b->n_files && !e; i++) {
        e = blobs_put(&set, code[i].data, code[i].len, NULL);
        if (!e)
            e = workdir_put(&r->dir, &set, b->files[i].blob.hex, why);
    }
    blobs_fini(&set);
    return e;
}

/* Compiles a program under the limits of a trial. Not ERR_OK: the agent stops. */
static enum err compile(struct rig *r, int i_forge, const struct trial *t, const char *program, struct built *out)
{
    const struct forge_order order = {.program = program,
                                      .sm = (int)r->desc.sm,
                                      .cuda_version = host_cuda_version(&r->desc),
                                      .build_s = t->build_s,
                                      .memory_bytes = rig_memory_limit(t->memory_bytes)};
    struct buf code[PROGRAM_MAX_MODULES];
    struct why why = {""};
    enum err e;

    for (int i = 0; i < PROGRAM_MAX_MODULES; i++)
        buf_init(&code[i], BLOB_MAX_BYTES);
    e = forge_compile(&r->forges[i_forge], &order, out, code, &why);
    if (!e)
        e = keep_code(r, out, code, &why);
    for (int i = 0; i < PROGRAM_MAX_MODULES; i++)
        buf_fini(&code[i]);
    if (e && !rig_stopping(r))
        rig_leave(r, why.text);
    return e;
}

/* ---- anchors ---- */

/* Stamps what is kept as used. */
static bool keeps_anchor(struct rig *r, const struct trial *t)
{
    bool kept = strcmp(r->anchor_name.hex, t->anchor_name.hex) == 0;

    for (int i = 0; i < r->anchor_code.n_files; i++)
        kept = workdir_has(&r->dir, r->anchor_code.files[i].blob.hex) && kept;
    return kept;
}

/* Is it this thread that compiles the trial's anchor? One does, for all trials of the anchor. */
static bool claim_anchor(struct rig *r, const struct trial *t)
{
    bool claimed;

    if (!t->anchor_name.hex[0] || t->anchor_code.n_files > 0)
        return false;
    pthread_mutex_lock(&r->lock);
    claimed = !keeps_anchor(r, t);
    if (claimed) {
        r->anchor_name = t->anchor_name;
        built_fini(&r->anchor_code);
    }
    pthread_mutex_unlock(&r->lock);
    return claimed;
}

/* One that cannot be compiled is left to the build child, which tells. */
static void compile_anchor(struct rig *r, int i_forge, const struct trial *t)
{
    struct built b;

    if (!claim_anchor(r, t))
        return;
    built_init(&b);
    if (compile(r, i_forge, t, t->anchor_name.hex, &b) == ERR_OK && b.status == STATUS_OK) {
        pthread_mutex_lock(&r->lock);
        if (strcmp(r->anchor_name.hex, t->anchor_name.hex) == 0) {
            built_fini(&r->anchor_code);
            r->anchor_code = b;
            built_init(&b);
        }
        pthread_mutex_unlock(&r->lock);
    }
    built_fini(&b);
}

/* ---- a trial ---- */

/* What the device has no room for is refused before it is compiled: by the build child, in words. */
static bool is_refused(const struct rig *r, const struct trial *t)
{
    return r->ops->check && r->ops->check(&r->desc, &t->program, NULL) != ERR_OK;
}

void rig_compile(struct rig *r, int i_forge, struct trial *t)
{
    assert(i_forge >= 0 && i_forge < r->n_forges);
    if (is_refused(r, t))
        return;
    compile_anchor(r, i_forge, t);
    if (!is_compiled(r, t) && compile(r, i_forge, t, t->program_name.hex, &t->code) == ERR_OK)
        trial_take_code(t);
}
