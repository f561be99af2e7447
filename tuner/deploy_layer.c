/* deploy_layer.c - from a best record to the program it was measured with. */
#include "tuner/deploy_layer.h"

#include "kernels/template.h"

#include <ctype.h>
#include <string.h>

#define BLOBS_MAX_BYTES ((size_t)1 << 30)

enum err deploy_symbol(const char *workload, char *out, size_t n_out)
{
    size_t n = 0;
    for (const char *p = workload; *p != '\0'; p++) {
        if (*p == '=') {
            continue;
        }
        if (n + 1 >= n_out) {
            return ERR_LIMIT;
        }
        out[n++] = isalnum((unsigned char)*p) ? *p : '_';
    }
    out[n] = '\0';
    return ERR_OK;
}

static enum err check_record(const struct record *r, struct why *why)
{
    if (r->workload == NULL || r->status != STATUS_OK) {
        return why_set(why, ERR_INPUT,
                       "%s: the record's status is %s; only layers that were measured well can be deployed",
                       r->workload != NULL ? r->workload : "record without a workload", status_name(r->status));
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
    if (e != ERR_OK) {
        return why_set(why, e, "%s: the record does not describe its device: %s", l->record.workload, inner.text);
    }
    if (strcmp(l->device.api, "opencl") != 0) {
        return why_set(why, ERR_UNSUPPORTED, "%s: measured on a %s device; bundles hold OpenCL kernels",
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
    if (e == ERR_OK) {
        e = template_space(t, &w, &l->device, &s, why);
    }
    if (e == ERR_OK) {
        e = space_config_from_json(s, l->record.knobs, &c, why);
    }
    if (e == ERR_OK) {
        e = template_program(t, &w, &l->device, s, &c, &l->program, &l->blobs, why);
    }
    space_free(s);
    return e == ERR_OK ? ERR_OK : why_prefix(why, e, "%s", l->record.workload);
}

static enum err compare_hash(struct deploy_layer *l, const struct template *t, struct why *why)
{
    struct sha256 hash;
    enum err e = program_hash(&l->program, &hash);
    if (e != ERR_OK) {
        return why_set(why, e, "%s: hashing the program failed", l->record.workload);
    }
    if (strcmp(hash.hex, l->record.program.hex) != 0) {
        return why_set(why, ERR_STALE,
                       "%s: %s (version %d) makes program %.12s, the record measured %.12s with version %lld; tune "
                       "this layer again",
                       l->record.workload, t->id, t->version, hash.hex, l->record.program.hex,
                       (long long)l->record.template_version);
    }
    return ERR_OK;
}

enum err deploy_layer_init(struct deploy_layer *l, const struct record *r, struct why *why)
{
    record_init(&l->record);
    program_init(&l->program);
    blobs_init(&l->blobs, BLOBS_MAX_BYTES);
    enum err e = check_record(r, why);
    if (e != ERR_OK) {
        return e;
    }
    const struct template *t = template_find(r->template_id);
    if (t == NULL) {
        return why_set(why, ERR_NOT_FOUND, "%s: there is no template %s here", r->workload, r->template_id);
    }
    e = record_copy(&l->record, r);
    e = e == ERR_OK ? deploy_symbol(r->workload, l->symbol, sizeof l->symbol) : e;
    if (e != ERR_OK) {
        return why_set(why, e, "%s: cannot keep the record", r->workload);
    }
    e = read_device(l, why);
    e = e == ERR_OK ? rebuild(l, t, why) : e;
    return e == ERR_OK ? compare_hash(l, t, why) : e;
}

void deploy_layer_fini(struct deploy_layer *l)
{
    record_fini(&l->record);
    program_fini(&l->program);
    blobs_fini(&l->blobs);
}
