/* SPDX-License-Identifier: MIT */
/* program_write.c - canonical JSON: members in one order, defaults left out. */
#include "runtime/program.h"
#include "runtime/program_names.h"

#include <assert.h>
#include <string.h>

/* A number, a text, a hash, unless it is the default. */
static void add_i64(cJSON *o, const char *name, int64_t v, bool *ok)
{
    if (v)
        json_add_i64(o, name, v, ok);
}

static void add_real(cJSON *o, const char *name, double v, bool *ok)
{
    if (v != 0)
        json_add_real(o, name, v, ok);
}

static void add_text(cJSON *o, const char *name, const char *text, bool *ok)
{
    if (text && text[0])
        json_add_text(o, name, text, ok);
}

/* Adds `sub` unless it is empty. */
static void add_sub(cJSON *o, const char *name, cJSON *sub, bool *ok)
{
    if (sub && !sub->child)
        cJSON_Delete(sub);
    else
        json_add_item(o, name, sub, ok);
}

static void push(cJSON *list, cJSON *takes, bool *ok)
{
    if (takes && list && cJSON_AddItemToArray(list, takes))
        return;
    cJSON_Delete(takes);
    *ok = false;
}

static cJSON *of_numbers(const int64_t *v, int n, bool *ok)
{
    cJSON *list = cJSON_CreateArray();

    assert(n >= 0 && n <= 8);
    for (int i = 0; i < n; i++)
        push(list, cJSON_CreateNumber((double)v[i]), ok);
    return list;
}

static cJSON *of_module(const struct program_module *m, bool *ok)
{
    cJSON *o = cJSON_CreateObject(), *defines = cJSON_CreateObject();

    json_add_text(o, "id", m->id, ok);
    json_add_text(o, "lang", program_lang_names[m->lang], ok);
    json_add_text(o, "sha256", m->source.hex, ok);
    add_text(o, "options", m->options, ok);
    for (size_t i = 0; i < m->n_defines; i++)
        json_add_text(defines, m->defines[i].name, m->defines[i].value, ok);
    add_sub(o, "defines", defines, ok);
    return o;
}

/* Members of a fill, put into `o`. */
static void add_fold(cJSON *o, const struct program_fold *f, bool *ok)
{
    const double numbers[] = {(double)f->inner, (double)f->cols, (double)f->of, (double)f->seed};

    if (f->of)
        json_add_item(o, "fold", cJSON_CreateDoubleArray(numbers, 4), ok);
}

static void put_fill(cJSON *o, const struct program_fill *f, bool *ok)
{
    json_add_text(o, "kind", program_fill_names[f->kind], ok);
    add_i64(o, "seed", (int64_t)f->seed, ok);
    add_real(o, "lo", f->lo, ok);
    add_real(o, "hi", f->hi, ok);
    add_real(o, "step", f->step, ok);
    add_text(o, "sha256", f->blob.hex, ok);
    add_i64(o, "block", f->block, ok);
    add_i64(o, "zeros", f->zeros, ok);
    add_i64(o, "seen", f->seen, ok);
    add_i64(o, "plane", f->plane, ok);
    add_fold(o, &f->fold, ok);
}

static cJSON *of_buffer(const struct program_buffer *b, bool *ok)
{
    cJSON *o = cJSON_CreateObject(), *fill;

    json_add_text(o, "id", b->id, ok);
    json_add_text(o, "role", program_role_names[b->role], ok);
    json_add_text(o, "dtype", dtype_name(b->dtype), ok);
    json_add_i64(o, "elems", b->n_elems, ok);
    add_sub(o, "shape", of_numbers(b->shape, b->n_dims, ok), ok);
    add_text(o, "layout", b->layout, ok);
    if (b->fill.kind != FILL_NONE) {
        fill = cJSON_CreateObject();
        put_fill(fill, &b->fill, ok);
        json_add_item(o, "fill", fill, ok);
    }
    if (b->reset_each_run)
        json_add_text(o, "reset", "each_run", ok);
    return o;
}

static cJSON *of_arg(const struct program *p, const struct program_arg *a, bool *ok)
{
    cJSON *o = cJSON_CreateObject();

    assert(a->kind != ARG_BUFFER || (size_t)a->i_buffer < p->n_buffers);
    if (a->kind == ARG_BUFFER)
        json_add_text(o, program_arg_names[a->kind], p->buffers[a->i_buffer].id, ok);
    else if (a->kind == ARG_F32 || a->kind == ARG_F64)
        json_add_real(o, program_arg_names[a->kind], a->real, ok);
    else
        json_add_i64(o, program_arg_names[a->kind], a->integer, ok);
    if (program_arg_bumps(a)) {
        cJSON *bump = cJSON_CreateArray();

        for (int i = 0; i < PROGRAM_MAX_NEST; i++)
            push(bump, cJSON_CreateNumber((double)a->bump[i]), ok);
        json_add_item(o, "bump", bump, ok);
    }
    return o;
}

static cJSON *of_launch(const struct program *p, const struct program_launch *l, bool *ok)
{
    cJSON *o = cJSON_CreateObject(), *args = cJSON_CreateArray(), *after = cJSON_CreateArray();

    json_add_text(o, "id", l->id, ok);
    if (l->op != LAUNCH_KERNEL)
        json_add_text(o, "op", program_op_names[l->op], ok);
    if (l->phase != PHASE_RUN)
        json_add_text(o, "phase", program_phase_names[l->phase], ok);
    if (l->op == LAUNCH_KERNEL) {
        assert((size_t)l->i_module < p->n_modules);
        json_add_text(o, "module", p->modules[l->i_module].id, ok);
        json_add_text(o, "kernel", l->kernel, ok);
        json_add_item(o, "grid", of_numbers(l->grid, 3, ok), ok);
        json_add_item(o, "block", of_numbers(l->block, 3, ok), ok);
    }
    if (l->op == LAUNCH_SYMBOL) {
        json_add_text(o, "module", p->modules[l->i_module].id, ok);
        json_add_text(o, "symbol", l->kernel, ok);
    }
    for (size_t i = 0; i < l->n_args; i++)
        push(args, of_arg(p, &l->args[i], ok), ok);
    add_sub(o, "args", args, ok);
    add_i64(o, "queue", l->queue, ok);
    add_i64(o, "dyn_local", l->dyn_local, ok);
    if (l->cooperative)
        json_add_bool(o, "cooperative", true, ok);
    for (size_t i = 0; i < l->n_after; i++)
        push(after, cJSON_CreateString(p->launches[l->after[i]].id), ok);
    add_sub(o, "after", after, ok);
    return o;
}

static cJSON *of_loop(const struct program *p, const struct program_loop *l, bool *ok)
{
    cJSON *o = cJSON_CreateObject();

    assert(l->first <= l->last && (size_t)l->last < p->n_launches);
    json_add_text(o, "first", p->launches[l->first].id, ok);
    json_add_text(o, "last", p->launches[l->last].id, ok);
    json_add_i64(o, "count", l->count, ok);
    return o;
}

static cJSON *of_check(const struct program *p, const struct program_check *c, bool *ok)
{
    cJSON *o = cJSON_CreateObject();

    assert((size_t)c->i_buffer < p->n_buffers);
    json_add_text(o, "kind", program_check_names[c->kind], ok);
    json_add_text(o, "buffer", p->buffers[c->i_buffer].id, ok);
    if (c->kind == CHECK_BUFFER)
        json_add_text(o, "reference", p->buffers[c->i_reference].id, ok);
    add_real(o, "tolerance", c->tolerance, ok);
    add_text(o, "relative", program_relative_names[c->relative], ok);
    add_i64(o, "n", c->n, ok);
    add_text(o, "indices", c->indices.hex, ok);
    add_text(o, "values", c->values.hex, ok);
    add_text(o, "scale", c->scale.hex, ok);
    add_fold(o, &c->fold, ok);
    if (c->kind == CHECK_PROJECT) {
        json_add_i64(o, "outer", c->outer, ok);
        json_add_i64(o, "axis", c->axis, ok);
        json_add_i64(o, "inner", c->inner, ok);
        add_i64(o, "lanes", c->lanes, ok);
        add_i64(o, "seed", (int64_t)c->seed, ok);
    }
    return o;
}

static cJSON *of_pass(const struct program *p, const struct program_pass *pass, bool *ok)
{
    cJSON *o = cJSON_CreateObject(), *fills = cJSON_CreateArray(), *checks = cJSON_CreateArray();

    json_add_text(o, "id", pass->id, ok);
    add_i64(o, "last", pass->is_last, ok);
    for (size_t i = 0; i < pass->n_fills; i++) {
        cJSON *fill = cJSON_CreateObject();

        json_add_text(fill, "buffer", p->buffers[pass->fills[i].i_buffer].id, ok);
        put_fill(fill, &pass->fills[i].fill, ok);
        push(fills, fill, ok);
    }
    add_sub(o, "fills", fills, ok);
    for (size_t i = 0; i < pass->n_checks; i++)
        push(checks, of_check(p, &pass->checks[i], ok), ok);
    add_sub(o, "checks", checks, ok);
    return o;
}

static void put_head(cJSON *o, const struct program *p, bool *ok)
{
    cJSON *cost = cJSON_CreateObject(), *limits = cJSON_CreateObject(), *needs = cJSON_CreateObject();

    json_add_i64(o, "schema", PROGRAM_SCHEMA, ok);
    json_add_text(o, "workload", p->workload ? p->workload : "", ok);
    add_text(o, "template", p->template_id, ok);
    add_i64(o, "template_version", p->template_version, ok);
    if (p->knobs && p->knobs->child)
        json_add_item(o, "knobs", cJSON_Duplicate(p->knobs, 1), ok);
    add_text(o, "numerics", p->numerics, ok);
    add_real(cost, "flops", p->flops, ok);
    add_real(cost, "flops_effective", p->flops_effective, ok);
    add_real(cost, "bytes_min", p->bytes_min, ok);
    add_sub(o, "cost", cost, ok);
    add_real(limits, "build_s", p->build_s, ok);
    add_real(limits, "run_s", p->run_s, ok);
    add_i64(limits, "memory", p->memory_bytes, ok);
    add_sub(o, "limits", limits, ok);
    add_text(needs, "api", p->api, ok);
    add_text(needs, "std", p->std, ok);
    add_text(needs, "extensions", p->extensions, ok);
    add_i64(needs, "wg_max", p->needs_work_group, ok);
    add_i64(needs, "local_bytes", p->needs_local_bytes, ok);
    add_sub(o, "requires", needs, ok);
}

static void put_lists(cJSON *o, const struct program *p, bool *ok)
{
    cJSON *modules = cJSON_CreateArray(), *buffers = cJSON_CreateArray(), *launches = cJSON_CreateArray(),
          *loops = cJSON_CreateArray(), *passes = cJSON_CreateArray();

    for (size_t i = 0; i < p->n_modules; i++)
        push(modules, of_module(&p->modules[i], ok), ok);
    for (size_t i = 0; i < p->n_buffers; i++)
        push(buffers, of_buffer(&p->buffers[i], ok), ok);
    for (size_t i = 0; i < p->n_launches; i++)
        push(launches, of_launch(p, &p->launches[i], ok), ok);
    for (size_t i = 0; i < p->n_loops; i++)
        push(loops, of_loop(p, &p->loops[i], ok), ok);
    for (size_t i = 0; i < p->n_passes; i++)
        push(passes, of_pass(p, &p->passes[i], ok), ok);
    add_sub(o, "modules", modules, ok);
    add_sub(o, "buffers", buffers, ok);
    add_sub(o, "launches", launches, ok);
    add_sub(o, "loops", loops, ok);
    add_sub(o, "verify", passes, ok);
}

enum err program_to_json(const struct program *p, struct buf *out)
{
    cJSON *o = NULL;
    bool ok = true;
    enum err e = program_check_sane(p, NULL);

    if (e)
        return e;
    o = cJSON_CreateObject();
    put_head(o, p, &ok);
    put_lists(o, p, &ok);
    e = ok ? json_print(o, out) : ERR_NOMEM;
    cJSON_Delete(o);
    return e;
}

enum err program_sheet_write(const struct program *p, struct buf *out)
{
    cJSON *o = cJSON_CreateObject(), *passes = cJSON_CreateArray();
    bool ok = o != NULL;
    enum err e;

    json_add_i64(o, "schema", PROGRAM_SCHEMA, &ok);
    for (size_t i = 0; i < p->n_passes; i++)
        push(passes, of_pass(p, &p->passes[i], &ok), &ok);
    add_sub(o, "verify", passes, &ok);
    e = ok ? json_print(o, out) : ERR_NOMEM;
    cJSON_Delete(o);
    return e;
}

enum err program_hash(const struct program *p, struct sha256 *out)
{
    struct buf text;
    enum err e;

    buf_init(&text, PROGRAM_MAX_BYTES);
    e = program_to_json(p, &text);
    if (!e)
        *out = sha256_of(text.data, text.len);
    buf_fini(&text);
    return e;
}

/* By its text, both ways. */
enum err program_copy(const struct program *p, struct program *out, struct why *why)
{
    struct buf text;
    enum err e = program_check_sane(p, why);

    buf_init(&text, PROGRAM_MAX_BYTES);
    if (!e)
        e = program_to_json(p, &text);
    if (!e)
        e = program_from_json(buf_text(&text), text.len, out, why);
    buf_fini(&text);
    return e;
}
