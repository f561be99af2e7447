/* SPDX-License-Identifier: MIT */
#include "libtune/tune_network_read.h"

#include "core/blobs.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "libtune/tune_parts.h"
#include "runtime/device_desc.h"
#include "runtime/plan_of.h"
#include "runtime/program.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA 2 /* of bundles */
#define MAX_FILE ((size_t)512 << 20)
#define MAX_COUNT 65536 /* of layers, values, steps */
#define MAX_BYTES ((int64_t)1 << 40)

/* A folder while it is read. */
struct reading {
    const char *dir;
    struct network_files *f;
    struct why why;
};

static enum tune_status no_memory(void)
{
    return tune_fail(TUNE_NO_MEMORY, "out of memory");
}

static enum tune_status damaged(const struct reading *r, const char *file)
{
    return tune_fail(TUNE_NO_LOG, "%s/%s: expected a whole bundle of tune deploy: %s", r->dir, file, r->why.text);
}

static enum err read_file(struct reading *r, const char *name, struct buf *out)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", r->dir, name) >= (int)sizeof path)
        return why_set(&r->why, ERR_LIMIT, "the path is too long");
    return file_read(path, out, &r->why);
}

/* ---- the manifest ---- */

/* Is plan.json the one that the manifest lists? */
static enum err check_listed(struct reading *r, const cJSON *manifest, const struct buf *plans)
{
    const struct sha256 now = sha256_of(plans->data, plans->len);
    const cJSON *files, *entry;
    enum err e = json_get_array(manifest, "files", &files, &r->why);

    if (e)
        return e;
    cJSON_ArrayForEach(entry, files)
    {
        const char *path = "", *hash = "";

        if (json_get_text(entry, "path", &path, NULL) == ERR_OK && strcmp(path, "plan.json") == 0 &&
            json_get_text(entry, "sha256", &hash, NULL) == ERR_OK && strcmp(hash, now.hex) == 0)
            return ERR_OK;
    }
    return why_set(&r->why, ERR_INPUT, "plan.json is not the one that manifest.json lists");
}

/* The device that the first layer was tuned on. */
static enum err read_device(struct reading *r, const cJSON *manifest, const char *api)
{
    const cJSON *layers, *layer, *device;
    const char *fingerprint = "";
    struct device_desc desc;
    enum err e = json_get_array(manifest, "layers", &layers, &r->why);

    layer = e ? NULL : cJSON_GetArrayItem(layers, 0);
    if (!e && !layer)
        e = why_set(&r->why, ERR_INPUT, "no layer");
    if (!e)
        e = json_get_object(layer, "device", &device, &r->why);
    if (!e)
        e = device_desc_from_json(device, &desc, &r->why);
    if (!e)
        e = json_get_text(layer, "fingerprint", &fingerprint, &r->why);
    if (e)
        return e;
    if (strcmp(desc.api, api) != 0)
        return why_set(&r->why, ERR_UNSUPPORTED, "its kernels are for %s, not %s", desc.api, api);
    r->f->fingerprint = device_desc_fingerprint(&desc);
    if (strlen(fingerprint) == SHA256_HEX)
        memcpy(r->f->fingerprint.hex, fingerprint, SHA256_HEX + 1);
    snprintf(r->f->device, sizeof r->f->device, "%.127s", desc.name);
    return ERR_OK;
}

static enum err read_manifest(struct reading *r, const char *api, const struct buf *plans)
{
    struct buf text;
    cJSON *manifest = NULL;
    int64_t schema = 0;
    enum err e;

    buf_init(&text, MAX_FILE);
    e = read_file(r, "manifest.json", &text);
    if (!e)
        e = json_parse(buf_text(&text), text.len, &manifest, &r->why);
    if (!e)
        e = json_get_i64(manifest, "schema", 1, JSON_EXACT_MAX, &schema, &r->why);
    if (!e && schema != SCHEMA)
        e = why_set(&r->why, ERR_UNSUPPORTED, "schema %lld, this libtune knows %d", (long long)schema, SCHEMA);
    if (!e)
        e = check_listed(r, manifest, plans);
    if (!e)
        e = read_device(r, manifest, api);
    cJSON_Delete(manifest);
    buf_fini(&text);
    return e;
}

/* ---- programs ---- */

/* The texts of a program's modules, each the one that it names. */
static enum err read_sources(struct reading *r, const struct program *p, struct blobs *blobs)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < p->n_modules && !e; i++) {
        char name[SHA256_HEX + 16];
        struct sha256 is;
        struct buf text;

        buf_init(&text, MAX_FILE);
        snprintf(name, sizeof name, "kernels/%s.cl", p->modules[i].source.hex);
        e = read_file(r, name, &text);
        if (!e)
            e = blobs_put(blobs, buf_text(&text), text.len, &is);
        if (!e && strcmp(is.hex, p->modules[i].source.hex) != 0)
            e = why_set(&r->why, ERR_INPUT, "%s: another text than the one that was written", name);
        buf_fini(&text);
    }
    return e;
}

static enum err read_program(struct reading *r, const cJSON *layer, struct program *p, struct exec_plan **out)
{
    const cJSON *tree;
    struct blobs blobs;
    struct buf text;
    enum err e = json_get_object(layer, "program", &tree, &r->why);

    buf_init(&text, PROGRAM_MAX_BYTES);
    blobs_init(&blobs, MAX_FILE);
    if (!e)
        e = json_print(tree, &text);
    if (!e)
        e = program_from_json(buf_text(&text), text.len, p, &r->why);
    if (!e)
        e = read_sources(r, p, &blobs);
    if (!e)
        e = plan_of_program(p, &blobs, out, &r->why);
    blobs_fini(&blobs);
    buf_fini(&text);
    return e;
}

static enum err count_of(struct reading *r, const cJSON *object, const char *name, const cJSON **list, int *n)
{
    const enum err e = json_get_array(object, name, list, &r->why);
    const int found = e ? 0 : cJSON_GetArraySize(*list);

    if (e)
        return e;
    if (found > MAX_COUNT)
        return why_set(&r->why, ERR_LIMIT, "%s: more than %d", name, MAX_COUNT);
    *n = found;
    return ERR_OK;
}

/* All plans; programs: [n], of which weights are described, to be freed by the caller. */
static enum err read_programs(struct reading *r, struct program **programs)
{
    struct exec_network *n = &r->f->tables;
    const cJSON *layers = NULL, *layer;
    enum err e = count_of(r, r->f->plans, "layers", &layers, &n->n_plans);
    int i = 0;

    if (e)
        return e;
    r->f->list = calloc((size_t)n->n_plans + 1, sizeof(*r->f->list));
    *programs = calloc((size_t)n->n_plans + 1, sizeof **programs);
    if (!r->f->list || !*programs)
        return ERR_NOMEM;
    n->plans = (const struct exec_plan *const *)r->f->list;
    for (int k = 0; k < n->n_plans; k++)
        program_init(&(*programs)[k]);
    cJSON_ArrayForEach(layer, layers)
    {
        if (!e)
            e = read_program(r, layer, &(*programs)[i], &r->f->list[i]);
        i++;
    }
    return e;
}

/* ---- tables ---- */

static enum err read_shape(struct reading *r, const cJSON *entry, struct tune_tensor *t)
{
    const cJSON *shape, *d;
    enum err e = count_of(r, entry, "shape", &shape, &t->n_dims);

    if (!e && t->n_dims > NETWORK_MAX_RANK)
        e = why_set(&r->why, ERR_LIMIT, "more than %d dimensions", NETWORK_MAX_RANK);
    if (e)
        return e;
    t->n_elems = 1;
    t->n_dims = 0;
    cJSON_ArrayForEach(d, shape)
    {
        if (!cJSON_IsNumber(d) || !(d->valuedouble >= 1 && d->valuedouble <= INT32_MAX) ||
            t->n_elems > (unsigned long long)MAX_BYTES / (unsigned long long)d->valuedouble)
            return why_set(&r->why, ERR_INPUT, "a shape that is none");
        t->shape[t->n_dims++] = (long long)d->valuedouble;
        t->n_elems *= (unsigned long long)d->valuedouble;
    }
    return ERR_OK;
}

static enum err read_argument(struct reading *r, const cJSON *entry, struct tune_tensor *t)
{
    const char *role = "";
    int dtype = -1;
    enum err e = json_get_text(entry, "name", &t->name, &r->why);

    if (!e)
        e = json_get_text(entry, "role", &role, &r->why);
    if (!e)
        e = json_get_text(entry, "dtype", &t->dtype, &r->why);
    if (!e)
        e = json_get_text(entry, "layout", &t->layout, &r->why);
    if (!e)
        e = read_shape(r, entry, t);
    if (e)
        return e;
    dtype = dtype_by_name(t->dtype);
    if (dtype < 0 || (strcmp(role, "input") != 0 && strcmp(role, "output") != 0))
        return why_set(&r->why, ERR_INPUT, "argument %.60s of type %.20s, role %.20s", t->name, t->dtype, role);
    t->role = strcmp(role, "input") == 0 ? TUNE_INPUT : TUNE_OUTPUT;
    t->n_bytes = t->n_elems * dtype_bytes((enum dtype)dtype);
    return ERR_OK;
}

static enum err read_value(struct reading *r, const cJSON *entry, struct exec_value *v)
{
    const struct exec_network *n = &r->f->tables;
    int64_t bytes = 0, slot = -1, argument = -1, at = -1;
    size_t room;
    enum err e = json_get_text(entry, "name", &v->name, &r->why);

    if (!e)
        e = json_get_i64(entry, "bytes", 1, MAX_BYTES, &bytes, &r->why);
    if (!e)
        e = json_i64_or(entry, "slot", -1, 0, n->n_slots - 1, &slot, &r->why);
    if (!e)
        e = json_i64_or(entry, "argument", -1, 0, n->n_arguments - 1, &argument, &r->why);
    if (!e)
        e = json_i64_or(entry, "at", -1, 0, MAX_BYTES, &at, &r->why);
    if (e)
        return e;
    if ((slot < 0) == (argument < 0) || (at >= 0 && slot < 0))
        return why_set(&r->why, ERR_INPUT, "value %.60s: expected a slot or an argument", v->name);
    room = slot >= 0 ? n->slot_bytes[slot] : (size_t)r->f->arguments[argument].n_bytes;
    if ((uint64_t)bytes + (uint64_t)(at < 0 ? 0 : at) > room)
        return why_set(&r->why, ERR_INPUT, "value %.60s is larger than its memory", v->name);
    v->n_bytes = (size_t)bytes;
    v->slot = slot >= 0 ? (int)slot : EXEC_ARGUMENT((int)argument);
    v->is_part = at >= 0;
    v->at = at < 0 ? 0 : (size_t)at;
    return ERR_OK;
}

static bool is_operand(const struct exec_buffer *b)
{
    return b->role == EXEC_INPUT || b->role == EXEC_OUTPUT;
}

/* The values of a step are as many and as large as its plan's inputs and outputs. */
static enum err check_step(struct reading *r, const struct exec_step *s)
{
    const struct exec_plan *p = r->f->list[s->i_plan];
    int n = 0;

    for (int i = 0; i < p->n_buffers; i++)
        if (is_operand(&p->buffers[i])) {
            if (n >= s->n_values || r->f->values[s->values[n]].n_bytes != p->buffers[i].n_bytes)
                return why_set(&r->why, ERR_INPUT, "step %.60s has other values than its program", s->layer);
            n++;
        }
    return n == s->n_values ? ERR_OK
                            : why_set(&r->why, ERR_INPUT, "step %.60s has other values than its program", s->layer);
}

static enum err read_step(struct reading *r, const cJSON *entry, struct exec_step *s, int *operands, int room)
{
    const cJSON *list, *v;
    int64_t program = 0;
    enum err e = json_get_text(entry, "layer", &s->layer, &r->why);

    if (!e)
        e = json_get_i64(entry, "program", 0, r->f->tables.n_plans - 1, &program, &r->why);
    if (!e)
        e = json_real_or(entry, "time_ns", 0, &s->time_ns, &r->why);
    if (!e)
        e = count_of(r, entry, "values", &list, &s->n_values);
    if (e)
        return e;
    if (s->n_values > room)
        return why_set(&r->why, ERR_INPUT, "step %.60s has more values than there are", s->layer);
    s->i_plan = (int)program;
    s->values = operands;
    cJSON_ArrayForEach(v, list)
    {
        if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0 && v->valuedouble < r->f->tables.n_values))
            return why_set(&r->why, ERR_INPUT, "step %.60s names a value that is not there", s->layer);
        *operands++ = (int)v->valuedouble;
    }
    return check_step(r, s);
}

static enum err read_slots(struct reading *r, const cJSON *network)
{
    const cJSON *list = NULL, *v;
    int i = 0;
    enum err e = count_of(r, network, "slots", &list, &r->f->tables.n_slots);

    r->f->slots = e ? NULL : calloc((size_t)r->f->tables.n_slots + 1, sizeof *r->f->slots);
    if (e || !r->f->slots)
        return e ? e : ERR_NOMEM;
    r->f->tables.slot_bytes = r->f->slots;
    cJSON_ArrayForEach(v, list)
    {
        if (!cJSON_IsNumber(v) || !(v->valuedouble >= 1 && v->valuedouble <= (double)MAX_BYTES))
            return why_set(&r->why, ERR_INPUT, "a slot of no size");
        r->f->slots[i++] = (size_t)v->valuedouble;
    }
    return ERR_OK;
}

static enum err read_arguments(struct reading *r, const cJSON *network)
{
    const cJSON *list = NULL, *entry;
    int i = 0;
    enum err e = count_of(r, network, "arguments", &list, &r->f->tables.n_arguments);

    r->f->arguments = e ? NULL : calloc((size_t)r->f->tables.n_arguments + 1, sizeof *r->f->arguments);
    if (e || !r->f->arguments)
        return e ? e : ERR_NOMEM;
    cJSON_ArrayForEach(entry, list)
    {
        if (!e)
            e = read_argument(r, entry, &r->f->arguments[i++]);
    }
    return e;
}

static enum err read_values(struct reading *r, const cJSON *network)
{
    const cJSON *list = NULL, *entry;
    int i = 0;
    enum err e = count_of(r, network, "values", &list, &r->f->tables.n_values);

    r->f->values = e ? NULL : calloc((size_t)r->f->tables.n_values + 1, sizeof *r->f->values);
    if (e || !r->f->values)
        return e ? e : ERR_NOMEM;
    r->f->tables.values = r->f->values;
    cJSON_ArrayForEach(entry, list)
    {
        if (!e)
            e = read_value(r, entry, &r->f->values[i++]);
    }
    return e;
}

/* How many values all steps name. */
static int count_operands(const cJSON *steps)
{
    const cJSON *entry;
    int n = 0;

    cJSON_ArrayForEach(entry, steps)
    {
        const int more = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(entry, "values"));

        n += more < INT_MAX - n ? more : 0;
    }
    return n;
}

static enum err read_steps(struct reading *r, const cJSON *network)
{
    struct network_files *f = r->f;
    const cJSON *list = NULL, *entry;
    enum err e = count_of(r, network, "steps", &list, &f->tables.n_steps);
    int i = 0, at = 0;
    const int n = e ? 0 : count_operands(list);

    f->steps = e ? NULL : calloc((size_t)f->tables.n_steps + 1, sizeof *f->steps);
    f->operands = e ? NULL : calloc((size_t)n + 1, sizeof *f->operands);
    if (e || !f->steps || !f->operands)
        return e ? e : ERR_NOMEM;
    f->tables.steps = f->steps;
    cJSON_ArrayForEach(entry, list)
    {
        if (!e)
            e = read_step(r, entry, &f->steps[i], f->operands + at, n - at);
        at += f->steps[i++].n_values;
    }
    return e;
}

/* ---- weights ---- */

static void describe_weight(struct network_files *f, const char *layer, const struct program_buffer *b)
{
    char(*words)[160] = f->words[f->n_weights];
    struct tune_tensor *t = &f->weights[f->n_weights++];

    snprintf(words[0], sizeof words[0], "%.90s %.60s", layer, b->id);
    snprintf(words[1], sizeof words[1], "%s", dtype_name(b->dtype));
    snprintf(words[2], sizeof words[2], "%s", b->layout);
    *t = (struct tune_tensor){.name = words[0], .role = TUNE_WEIGHT, .dtype = words[1], .layout = words[2]};
    t->n_dims = b->n_dims;
    for (int d = 0; d < b->n_dims; d++)
        t->shape[d] = (long long)b->shape[d];
    t->n_elems = (unsigned long long)b->n_elems;
    t->n_bytes = t->n_elems * dtype_bytes(b->dtype);
}

static enum err describe_weights(struct network_files *f, const struct program *programs)
{
    size_t n = 0;

    for (int i = 0; i < f->tables.n_steps; i++)
        n += programs[f->steps[i].i_plan].n_buffers;
    f->weights = calloc(n + 1, sizeof *f->weights);
    f->words = calloc(n + 1, sizeof *f->words);
    if (!f->weights || !f->words)
        return ERR_NOMEM;
    for (int i = 0; i < f->tables.n_steps; i++) {
        const struct program *p = &programs[f->steps[i].i_plan];

        for (size_t k = 0; k < p->n_buffers; k++)
            if (p->buffers[k].role == ROLE_WEIGHT)
                describe_weight(f, f->steps[i].layer, &p->buffers[k]);
    }
    return ERR_OK;
}

static enum err read_network(struct reading *r, struct program **programs)
{
    const cJSON *network = cJSON_GetObjectItemCaseSensitive(r->f->plans, "network");
    enum err e = network ? ERR_OK : why_set(&r->why, ERR_INPUT, "no whole network: expected one of --network");

    if (!e)
        e = json_get_text(network, "name", &r->f->tables.name, &r->why);
    if (!e)
        e = read_programs(r, programs);
    if (!e)
        e = read_arguments(r, network);
    if (!e)
        e = read_slots(r, network);
    if (!e)
        e = read_values(r, network);
    if (!e)
        e = read_steps(r, network);
    return e ? e : describe_weights(r->f, *programs);
}

enum tune_status network_files_read(const char *dir, const char *api, struct network_files *out)
{
    struct reading r = {.dir = dir, .f = out};
    struct program *programs = NULL;
    struct buf text;
    enum err e;

    memset(out, 0, sizeof *out);
    buf_init(&text, MAX_FILE);
    e = read_file(&r, "plan.json", &text);
    if (!e)
        e = read_manifest(&r, api, &text);
    if (!e)
        e = json_parse(buf_text(&text), text.len, &out->plans, &r.why);
    if (!e)
        e = read_network(&r, &programs);
    for (int i = 0; programs && i < out->tables.n_plans; i++)
        program_fini(&programs[i]);
    free(programs);
    buf_fini(&text);
    if (e == ERR_NOMEM)
        return no_memory();
    return e ? damaged(&r, "plan.json") : TUNE_OK;
}

void network_files_fini(struct network_files *f)
{
    for (int i = 0; f->list && i < f->tables.n_plans; i++)
        plan_free(f->list[i]);
    cJSON_Delete(f->plans);
    free(f->list);
    free(f->values);
    free(f->steps);
    free(f->operands);
    free(f->slots);
    free(f->arguments);
    free(f->weights);
    free(f->words);
    memset(f, 0, sizeof *f);
}
