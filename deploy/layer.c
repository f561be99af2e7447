/* SPDX-License-Identifier: MIT */
/* layer.c - from a record to the program it was measured with, and its plan. */
#include "deploy/layer.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "kernels/template.h"
#include "formats/syntax/foreign.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOBS_MAX_BYTES ((size_t)1 << 30)

const char *deploy_origin_name(enum deploy_origin o)
{
    static const char *const names[N_DEPLOY_ORIGINS] = {[DEPLOY_RECORD] = "record",
                                                        [DEPLOY_FOREIGN] = "foreign",
                                                        [DEPLOY_NEAREST] = "nearest",
                                                        [DEPLOY_DEFAULT] = "default"};
    assert((unsigned)o < N_DEPLOY_ORIGINS);
    return names[o];
}

static enum err check_record(const struct record *r, struct why *why)
{
    if (!r->workload || r->status != STATUS_OK) {
        return why_set(why, ERR_INPUT,
                       "%s: the record's status is %s; only layers that were measured well can be deployed",
                       r->workload ? r->workload : "record without a workload", status_name(r->status));
    }
    if (!record_may_be_best(r)) {
        return why_set(why, ERR_INPUT,
                       "%s: the record was verified %s; tune recheck, or a run to its end, does the rest", r->workload,
                       r->verified);
    }
    if (r->template_id[0] == '\0') {
        return why_set(why, ERR_INPUT, "%s: measured from a program file; deploy needs a record of a template",
                       r->workload);
    }
    return ERR_OK;
}

static enum err read_device(struct deploy_layer *l, struct why *why)
{
    struct why inner = {""};
    enum err e = device_desc_from_json(l->record.device, &l->device, &inner);
    if (e != ERR_OK)
        return why_set(why, e, "%s: the record does not describe its device: %s", l->record.workload, inner.text);
    if (strcmp(l->device.api, "opencl") != 0 && strcmp(l->device.api, "cuda") != 0) {
        return why_set(why, ERR_UNSUPPORTED, "%s: measured on a %s device; bundles hold OpenCL or CUDA kernels",
                       l->record.workload, l->device.api);
    }
    return ERR_OK;
}

static enum err rebuild(struct deploy_layer *l, const struct template *t, struct why *why)
{
    struct workload w;
    struct config c;
    struct space *s = NULL;
    enum err e = workload_parse(l->record.workload, &w, why);
    if (e == ERR_OK)
        e = template_space(t, &w, &l->device, &s, why);
    if (e == ERR_OK)
        e = space_config_from_json(s, l->record.knobs, &c, why);
    if (e == ERR_OK)
        e = template_program(t, &w, &l->device, s, &c, &l->program, &l->blobs, why);
    space_free(s);
    return e == ERR_OK ? ERR_OK : why_prefix(why, e, "%s", l->record.workload);
}

/* Another tuner's records name their format where ours name a way of timing, and have no hash of a program. */
static enum err mark_foreign(struct deploy_layer *l, const struct sha256 *hash, struct why *why)
{
    if (!foreign_find(l->record.protocol)) {
        return why_set(why, ERR_INPUT,
                       "%s: the record has no hash of the program that was measured; tune this layer again",
                       l->record.workload);
    }
    l->origin = DEPLOY_FOREIGN;
    l->record.program = *hash;
    return ERR_OK;
}

static enum err compare_hash(struct deploy_layer *l, const struct template *t, struct why *why)
{
    struct sha256 hash;
    enum err e = program_hash(&l->program, &hash);
    if (e != ERR_OK)
        return why_set(why, e, "%s: hashing the program failed", l->record.workload);
    if (l->record.program.hex[0] == '\0')
        return mark_foreign(l, &hash, why);
    if (strcmp(hash.hex, l->record.program.hex) != 0) {
        return why_set(why, ERR_STALE,
                       "%s: %s (version %d) makes program %.12s, the record measured %.12s; tune this layer again",
                       l->record.workload, t->id, t->version, hash.hex, l->record.program.hex);
    }
    return ERR_OK;
}

/* When a record of an older or newer template cannot be had again, that is the reason, whatever else was said. */
static enum err explain(const struct record *r, const struct template *t, enum err e, struct why *why)
{
    struct why inner = *why;
    if (e == ERR_OK || e == ERR_NOMEM || r->program.hex[0] == '\0' || r->template_version == t->version)
        return e;
    return why_set(why, ERR_STALE,
                   "%s: measured with %s version %lld, this tune has version %d; tune this layer again (%.300s)",
                   r->workload, t->id, (long long)r->template_version, t->version, inner.text);
}

static void clear(struct deploy_layer *l)
{
    memset(l, 0, sizeof *l);
    record_init(&l->record);
    program_init(&l->program);
    blobs_init(&l->blobs, BLOBS_MAX_BYTES);
}

static enum err finish(struct deploy_layer *l, const char *workload, struct why *why)
{
    assert(!l->plan && !l->workload);
    l->workload = strdup(workload);
    if (!l->workload)
        return why_set(why, ERR_NOMEM, "out of memory");
    enum err e = plan_of_program(&l->program, &l->blobs, &l->plan, why);
    return e == ERR_OK ? ERR_OK : why_prefix(why, e, "%s", workload);
}

enum err deploy_layer_init(struct deploy_layer *l, const struct record *r, struct why *why)
{
    clear(l);
    enum err e = check_record(r, why);
    if (e != ERR_OK)
        return e;
    const struct template *t = template_find(r->template_id);
    if (!t)
        return why_set(why, ERR_NOT_FOUND, "%s: there is no template %s here", r->workload, r->template_id);
    e = record_copy(&l->record, r);
    if (e != ERR_OK)
        return why_set(why, e, "%s: cannot keep the record", r->workload);
    e = read_device(l, why);
    e = e == ERR_OK ? rebuild(l, t, why) : e;
    e = e == ERR_OK ? compare_hash(l, t, why) : e;
    e = explain(r, t, e, why);
    return e == ERR_OK ? finish(l, r->workload, why) : e;
}

/* What a record would say of a config that was not measured for this workload. */
static enum err describe_choice(struct deploy_layer *l, const struct choice *c, const struct device_desc *d,
                                struct why *why)
{
    struct record *r = &l->record;
    enum err e = c->record ? record_copy(r, c->record) : ERR_OK;
    if (e == ERR_OK && !c->record) {
        (void)snprintf(r->template_id, sizeof r->template_id, "%s", c->t->id);
        r->template_version = c->t->version;
        r->device = device_desc_to_json(d);
        r->fingerprint = device_desc_fingerprint(d);
        e = r->device ? ERR_OK : ERR_NOMEM;
    }
    if (e == ERR_OK) {
        cJSON_Delete(r->knobs);
        r->knobs = cJSON_Duplicate(l->program.knobs, 1);
        r->flops = l->program.flops;
        r->time_ns = 0.0;
        e = r->knobs ? program_hash(&l->program, &r->program) : ERR_NOMEM;
    }
    return e == ERR_OK ? ERR_OK : why_set(why, e, "%s: %s", l->program.workload, err_words(e));
}

enum err deploy_layer_init_choice(struct deploy_layer *l, const struct choice *c, const struct workload *w,
                                  const struct device_desc *d, bool vectors, struct why *why)
{
    clear(l);
    l->origin = c->kind == CHOICE_DEFAULT ? DEPLOY_DEFAULT : DEPLOY_NEAREST;
    l->distance = c->distance;
    l->device = *d;
    enum err e = vectors ? choice_program(c, w, d, &l->program, &l->blobs, why)
                         : choice_kernels(c, w, d, &l->program, &l->blobs, why);
    e = e == ERR_OK ? describe_choice(l, c, d, why) : e;
    return e == ERR_OK ? finish(l, l->program.workload, why) : e;
}

void deploy_layer_fini(struct deploy_layer *l)
{
    plan_free(l->plan);
    free(l->workload);
    record_fini(&l->record);
    program_fini(&l->program);
    blobs_fini(&l->blobs);
    memset(l, 0, sizeof *l);
}

enum err deploy_layer_knobs(const struct deploy_layer *l, struct buf *out)
{
    const cJSON *k;
    cJSON_ArrayForEach(k, l->record.knobs)
    {
        if (cJSON_IsString(k))
            buf_printf(out, "%s%s=%s", out->len > 0 ? " " : "", k->string, k->valuestring);
        else
            buf_printf(out, "%s%s=%.17g", out->len > 0 ? " " : "", k->string, k->valuedouble);
    }
    return out->failed;
}
