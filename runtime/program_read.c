/* SPDX-License-Identifier: MIT */
/* program_read.c - a program from untrusted JSON. Unknown members are refused: a misspelt one must not pass for a
 * default. */
#include "runtime/program.h"
#include "runtime/program_members.h"
#include "runtime/program_names.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum err read_defines(const cJSON *o, struct program_module *m, struct why *why)
{
    const cJSON *list = NULL, *d;
    enum err e = ERR_OK;

    if (!cJSON_GetObjectItemCaseSensitive(o, "defines"))
        return ERR_OK;
    e = json_get_object(o, "defines", &list, why);
    if (e)
        return e;
    cJSON_ArrayForEach(d, list)
    {
        if (!cJSON_IsString(d))
            return why_set(why, ERR_INPUT, "define '%.40s' is not a string", d->string);
        e = program_define_text(m, d->string, d->valuestring);
        if (e)
            return why_set(why, e, "define '%.40s': name or value too long, or more than %d defines", d->string,
                           PROGRAM_MAX_DEFINES);
    }
    return ERR_OK;
}

static enum err read_module(struct program *p, const cJSON *o, struct why *why)
{
    struct program_module *m;
    const char *id = NULL, *options = "";
    int lang = 0;
    enum err e = program_only_members(o, "module", "id lang sha256 options defines", why);

    if (!e)
        e = json_get_text(o, "id", &id, why);
    if (!e)
        e = json_text_or(o, "options", "", &options, why);
    if (!e)
        e = program_read_word(o, "lang", program_lang_names, N_LANGS, -1, &lang, why);
    if (e)
        return e;
    m = program_add_module(p, id, (enum program_lang)lang, options);
    if (!m)
        return why_set(why, ERR_LIMIT, "module: id too long, or more than %d modules", PROGRAM_MAX_MODULES);
    e = program_read_hash(o, "sha256", &m->source, why);
    return e ? e : read_defines(o, m, why);
}

/* "fold": [inner, cols, of, seed] */
static enum err read_fold(const cJSON *o, struct program_fold *f, struct why *why)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "fold");
    double v[4];

    for (int i = 0; list && i < 4; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);

        v[i] = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (cJSON_GetArraySize(list) != 4 || !(v[i] >= (i < 3) && v[i] < (double)JSON_EXACT_MAX) || v[i] != rint(v[i]))
            return why_set(why, ERR_INPUT, "'fold' is not [inner, cols, of, seed]");
    }
    if (list)
        *f = (struct program_fold){(int64_t)v[0], (int64_t)v[1], (int64_t)v[2], (uint64_t)v[3]};
    return ERR_OK;
}

#define FILL_MEMBERS "kind seed lo hi step sha256 block zeros seen plane fold"

static enum err read_fill(const cJSON *o, struct program_fill *f, struct why *why)
{
    const struct {
        const char *name;
        int64_t *to;
    } counts[] = {{"block", &f->block}, {"zeros", &f->zeros}, {"seen", &f->seen}, {"plane", &f->plane}};
    int kind = 0;
    enum err e = program_read_word(o, "kind", program_fill_names, N_FILLS, -1, &kind, why);

    f->kind = (enum fill_kind)kind;
    if (!e)
        e = program_read_seed(o, &f->seed, why);
    if (!e)
        e = json_real_or(o, "lo", 0, &f->lo, why);
    if (!e)
        e = json_real_or(o, "hi", 0, &f->hi, why);
    if (!e)
        e = json_real_or(o, "step", 0, &f->step, why);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && !e; i++)
        e = json_i64_or(o, counts[i].name, 0, 0, JSON_EXACT_MAX, counts[i].to, why);
    if (!e)
        e = read_fold(o, &f->fold, why);
    return e ? e : program_read_hash(o, "sha256", &f->blob, why);
}

static enum err read_buffer_fill(const cJSON *o, struct program_buffer *b, struct why *why)
{
    const cJSON *fill = cJSON_GetObjectItemCaseSensitive(o, "fill");
    enum err e = fill ? program_only_members(fill, "fill", FILL_MEMBERS, why) : ERR_OK;

    return fill && !e ? read_fill(fill, &b->fill, why) : e;
}

static const char *const reset_names[] = {"once", "each_run"};

static enum err read_buffer_kind(const cJSON *o, int *role, enum dtype *dtype, struct why *why)
{
    const char *type = NULL;
    int t;
    enum err e = program_read_word(o, "role", program_role_names, N_ROLES, -1, role, why);

    if (!e)
        e = json_get_text(o, "dtype", &type, why);
    if (e)
        return e;
    t = dtype_by_name(type);
    if (t < 0)
        return why_set(why, ERR_INPUT, "'dtype' is '%.40s', expected f32, f64, f16, bf16, i8, i32 or u8", type);
    *dtype = (enum dtype)t;
    return ERR_OK;
}

static enum err read_buffer(struct program *p, const cJSON *o, struct why *why)
{
    struct program_buffer *b;
    const char *id = NULL;
    int role = 0, reset = 0;
    enum dtype dtype = DTYPE_F32;
    int64_t n_elems = 0;
    enum err e = program_only_members(o, "buffer", "id role dtype elems shape layout fill reset", why);

    if (!e)
        e = json_get_text(o, "id", &id, why);
    if (!e)
        e = read_buffer_kind(o, &role, &dtype, why);
    if (!e)
        e = json_get_i64(o, "elems", 1, PROGRAM_MAX_BUFFER_BYTES, &n_elems, why);
    if (e)
        return e;
    if (program_find_buffer(p, id) >= 0)
        return why_set(why, ERR_INPUT, "two buffers are named '%.40s'", id);
    b = program_add_buffer(p, id, (enum buffer_role)role, dtype, n_elems);
    if (!b)
        return why_set(why, ERR_LIMIT, "buffer: id too long, or more than %d buffers", PROGRAM_MAX_BUFFERS);
    e = program_read_numbers(o, "shape", 8, 0, b->shape, &b->n_dims, why);
    if (!e)
        e = program_read_fixed(o, "layout", b->layout, sizeof b->layout, why);
    if (!e)
        e = program_read_word(o, "reset", reset_names, 2, 0, &reset, why);
    b->reset_each_run = reset == 1;
    return e ? e : read_buffer_fill(o, b, why);
}

/* A buffer's name as an index. */
static enum err read_ref(const struct program *p, const cJSON *o, const char *name, int *out, struct why *why)
{
    const char *id = NULL;
    enum err e = json_get_text(o, name, &id, why);

    if (e)
        return e;
    *out = program_find_buffer(p, id);
    return *out >= 0 ? ERR_OK : why_set(why, ERR_INPUT, "'%s' names no buffer: '%.40s'", name, id);
}

/* The bumps of a whole number, one for each loop around its launch. */
static enum err read_bump(struct program_launch *l, const cJSON *o, struct why *why)
{
    const cJSON *list = NULL, *item;
    int i = 0;
    enum err e = program_optional_list(o, "bump", &list, why);

    if (e)
        return e;
    assert(l->n_args > 0); /* the one that was added last */
    cJSON_ArrayForEach(item, list)
    {
        const double v = item->valuedouble;

        if (i >= PROGRAM_MAX_NEST || !cJSON_IsNumber(item) || !(v >= -2147483648.0 && v <= 2147483648.0) ||
            v != (double)(int64_t)v)
            return why_set(why, ERR_INPUT, "'bump' is not a list of at most %d whole numbers within 2^31",
                           PROGRAM_MAX_NEST);
        l->args[l->n_args - 1].bump[i++] = (int64_t)v;
    }
    return ERR_OK;
}

static enum err read_arg(const struct program *p, struct program_launch *l, const cJSON *o, struct why *why)
{
    const char *name = cJSON_IsObject(o) && o->child ? o->child->string : "";
    const cJSON *more = name[0] ? o->child->next : NULL;
    int kind = 0, i_buffer = -1;
    int64_t integer = 0;
    double real = 0;
    enum err e;

    while (kind < N_ARGS && strcmp(name, program_arg_names[kind]) != 0)
        kind++;
    if (kind == N_ARGS || (more && (strcmp(more->string, "bump") != 0 || more->next)))
        return why_set(why, ERR_INPUT,
                       "an argument is {\"buf\": name} or one of i32, u32, i64, f32, f64, b8, b16, local with a "
                       "number, and 'bump'");
    if (kind == ARG_BUFFER) {
        e = read_ref(p, o, name, &i_buffer, why);
        e = e ? e : program_arg_buffer(l, i_buffer);
    } else if (kind == ARG_F32 || kind == ARG_F64) {
        e = json_get_real(o, name, &real, why);
        e = e ? e : kind == ARG_F32 ? program_arg_real(l, real) : program_arg_double(l, real);
    } else {
        e = json_get_i64(o, name, -JSON_EXACT_MAX, JSON_EXACT_MAX, &integer, why);
        e = e ? e : program_arg_int(l, (enum arg_kind)kind, integer);
    }
    return e ? e : read_bump(l, o, why);
}

static enum err read_args(const struct program *p, struct program_launch *l, const cJSON *o, struct why *why)
{
    const cJSON *list = NULL, *a;
    enum err e = program_optional_list(o, "args", &list, why);

    if (e)
        return e;
    cJSON_ArrayForEach(a, list)
    {
        e = read_arg(p, l, a, why);
        if (e)
            return e == ERR_LIMIT ? why_set(why, e, "more than %d arguments", PROGRAM_MAX_ARGS) : e;
    }
    return ERR_OK;
}

static enum err read_module_name(const struct program *p, struct program_launch *l, const cJSON *o, struct why *why)
{
    const char *module = NULL;
    size_t i = 0;
    enum err e = json_get_text(o, "module", &module, why);

    if (e)
        return e;
    while (i < p->n_modules && strcmp(p->modules[i].id, module) != 0)
        i++;
    if (i == p->n_modules)
        return why_set(why, ERR_INPUT, "'module' names no module: '%.40s'", module);
    l->i_module = (int)i;
    return ERR_OK;
}

static enum err read_symbol(const struct program *p, struct program_launch *l, const cJSON *o, struct why *why)
{
    const enum err e = read_module_name(p, l, o, why);

    return e ? e : program_read_fixed(o, "symbol", l->kernel, sizeof l->kernel, why);
}

static enum err read_kernel(const struct program *p, struct program_launch *l, const cJSON *o, struct why *why)
{
    enum err e = read_module_name(p, l, o, why);

    if (!e)
        e = program_read_fixed(o, "kernel", l->kernel, sizeof l->kernel, why);
    if (!e)
        e = program_read_numbers(o, "grid", 3, 3, l->grid, NULL, why);
    return e ? e : program_read_numbers(o, "block", 3, 3, l->block, NULL, why);
}

/* Names of launches, sorted, while they are read. */
struct launch_names {
    struct launch_name {
        const char *id; /* lent by the tree */
        int i;
    } * sorted;
    size_t n;
};

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct launch_name *)a)->id, ((const struct launch_name *)b)->id);
}

static enum err names_of(const cJSON *list, struct launch_names *out, struct why *why)
{
    const cJSON *l;
    int i = 0;

    out->sorted = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *out->sorted);
    if (!out->sorted)
        return ERR_NOMEM;
    cJSON_ArrayForEach(l, list)
    {
        enum err e = json_get_text(l, "id", &out->sorted[i].id, why);

        if (e)
            return why_prefix(why, e, "launch %d", i);
        out->sorted[i].i = i;
        i++;
    }
    assert(i == cJSON_GetArraySize(list));
    out->n = (size_t)i;
    qsort(out->sorted, out->n, sizeof *out->sorted, by_id);
    return ERR_OK;
}

/* The index of the launch of this name; -1 when there is none. */
static int find_launch(const struct launch_names *names, const char *id)
{
    struct launch_name key = {.id = id}, *found;

    found = bsearch(&key, names->sorted, names->n, sizeof key, by_id);
    return found ? found->i : -1;
}

static enum err read_after(struct program_launch *l, const cJSON *o, const struct launch_names *names, struct why *why)
{
    const cJSON *list = NULL, *item;
    enum err e = program_optional_list(o, "after", &list, why);

    if (e)
        return e;
    cJSON_ArrayForEach(item, list)
    {
        const char *id = cJSON_IsString(item) ? item->valuestring : "";
        const int i = find_launch(names, id);

        if (i < 0)
            return why_set(why, ERR_INPUT, "'after' names no launch: '%.40s'", id);
        e = program_after(l, i);
        if (e)
            return why_set(why, e, "'after' names more than %d launches", PROGRAM_MAX_AFTER);
    }
    return ERR_OK;
}

static enum err read_launch(struct program *p, const cJSON *o, const struct launch_names *names, struct why *why)
{
    struct program_launch *l;
    int op = 0, phase = 0;
    int64_t queue = 0, dyn_local = 0;
    bool cooperative = false;
    enum err e = program_only_members(
        o, "launch", "id op phase module kernel symbol grid block args queue after dyn_local cooperative", why);

    if (!e)
        e = program_read_word(o, "op", program_op_names, N_LAUNCH_OPS, LAUNCH_KERNEL, &op, why);
    if (!e)
        e = program_read_word(o, "phase", program_phase_names, N_PHASES, PHASE_RUN, &phase, why);
    if (!e)
        e = json_i64_or(o, "queue", 0, 0, 7, &queue, why);
    if (!e)
        e = json_i64_or(o, "dyn_local", 0, 0, INT32_MAX, &dyn_local, why);
    if (!e)
        e = json_bool_or(o, "cooperative", false, &cooperative, why);
    if (e)
        return e;
    l = program_add_launch(p, (enum launch_op)op, (enum launch_phase)phase);
    if (!l)
        return why_set(why, ERR_LIMIT, "more than %d launches", PROGRAM_MAX_LAUNCHES);
    l->queue = (int)queue;
    l->dyn_local = dyn_local;
    l->cooperative = cooperative;
    e = program_read_fixed(o, "id", l->id, sizeof l->id, why);
    if (!e && op == LAUNCH_KERNEL)
        e = read_kernel(p, l, o, why);
    if (!e && op == LAUNCH_SYMBOL)
        e = read_symbol(p, l, o, why);
    if (!e)
        e = read_args(p, l, o, why);
    return e ? e : read_after(l, o, names, why);
}

static enum err read_loop(struct program *p, const cJSON *o, const struct launch_names *names, struct why *why)
{
    const char *first = NULL, *last = NULL;
    int64_t count = 0;
    enum err e = program_only_members(o, "loop", "first last count", why);

    if (!e)
        e = json_get_text(o, "first", &first, why);
    if (!e)
        e = json_get_text(o, "last", &last, why);
    if (!e)
        e = json_get_i64(o, "count", 1, PROGRAM_MAX_RUNS, &count, why);
    if (!e)
        e = program_add_loop(p, find_launch(names, first), find_launch(names, last), count);
    return e == ERR_LIMIT ? why_set(why, e, "more than %d loops", PROGRAM_MAX_LOOPS) : e;
}

static enum err read_loops(struct program *p, const cJSON *o, const struct launch_names *names, struct why *why)
{
    const cJSON *list = NULL, *l;
    enum err e = program_optional_list(o, "loops", &list, why);

    cJSON_ArrayForEach(l, list)
    {
        if (e)
            break;
        e = read_loop(p, l, names, why);
        if (e)
            why_prefix(why, e, "loop %zu", p->n_loops);
    }
    return e;
}

/* Launches of `list`, and the program's loops over them. */
static enum err read_launches(struct program *p, const cJSON *list, const cJSON *o, struct why *why)
{
    struct launch_names names = {0};
    const cJSON *l;
    enum err e = names_of(list, &names, why);

    cJSON_ArrayForEach(l, list)
    {
        if (e)
            break;
        e = read_launch(p, l, &names, why);
        if (e)
            why_prefix(why, e, "launch %zu", p->n_launches);
    }
    if (!e)
        e = read_loops(p, o, &names, why);
    free(names.sorted);
    return e;
}

#define MAX_LANES 4096

static enum err read_view(const cJSON *o, struct program_check *c, struct why *why)
{
    enum err e = json_get_i64(o, "outer", 1, JSON_EXACT_MAX, &c->outer, why);

    if (!e)
        e = json_get_i64(o, "axis", 1, JSON_EXACT_MAX, &c->axis, why);
    if (!e)
        e = json_get_i64(o, "inner", 1, JSON_EXACT_MAX, &c->inner, why);
    return e ? e : json_i64_or(o, "lanes", 0, 0, MAX_LANES, &c->lanes, why);
}

static const char *const check_members[N_CHECKS] = {
    [CHECK_SAMPLE] = "kind buffer tolerance n indices values scale fold",
    [CHECK_PROJECT] = "kind buffer values outer axis inner lanes seed",
    [CHECK_BUFFER] = "kind buffer reference tolerance relative",
};

static enum err read_check_blobs(const cJSON *o, struct program_check *c, struct why *why)
{
    enum err e = program_read_hash(o, "indices", &c->indices, why);

    if (!e)
        e = program_read_hash(o, "values", &c->values, why);
    return e ? e : program_read_hash(o, "scale", &c->scale, why);
}

static enum err read_check(struct program *p, struct program_pass *pass, const cJSON *o, struct why *why)
{
    struct program_check *c;
    int kind = 0, i_buffer = 0, relative = RELATIVE_NO;
    enum err e = program_read_word(o, "kind", program_check_names, N_CHECKS, -1, &kind, why);

    if (!e)
        e = program_only_members(o, "check", check_members[kind], why);
    if (!e)
        e = read_ref(p, o, "buffer", &i_buffer, why);
    if (e)
        return e;
    c = program_pass_check_add(pass, (enum check_kind)kind, i_buffer);
    if (!c)
        return why_set(why, ERR_LIMIT, "more than %d checks", PROGRAM_MAX_CHECKS);
    if (kind == CHECK_BUFFER)
        e = read_ref(p, o, "reference", &c->i_reference, why);
    if (!e && kind == CHECK_BUFFER)
        e = program_read_word(o, "relative", program_relative_names, N_RELATIVES, RELATIVE_NO, &relative, why);
    c->relative = (enum check_relative)relative;
    if (kind == CHECK_PROJECT)
        e = read_view(o, c, why);
    if (!e)
        e = json_real_or(o, "tolerance", 0, &c->tolerance, why);
    if (!e)
        e = json_i64_or(o, "n", 0, 0, PROGRAM_MAX_SAMPLES, &c->n, why);
    if (!e)
        e = program_read_seed(o, &c->seed, why);
    if (!e)
        e = read_fold(o, &c->fold, why);
    return e ? e : read_check_blobs(o, c, why);
}

/* Of a sheet: `is_sheet`; its tensors may be baked into this program. */
static enum err read_pass_fill(struct program *p, struct program_pass *pass, const cJSON *o, bool is_sheet,
                               struct why *why)
{
    struct program_fill fill = {0};
    const char *id = "";
    int i_buffer = 0;
    enum err e = program_only_members(o, "fill", "buffer " FILL_MEMBERS, why);

    if (!e && is_sheet && !json_text_or(o, "buffer", "", &id, NULL) && program_find_buffer(p, id) < 0)
        return ERR_OK;
    if (!e)
        e = read_ref(p, o, "buffer", &i_buffer, why);
    if (!e)
        e = read_fill(o, &fill, why);
    return e ? e : program_pass_fill_add(pass, i_buffer, &fill);
}

static enum err read_any_pass(struct program *p, const cJSON *o, bool is_sheet, struct why *why)
{
    const cJSON *list = NULL, *item;
    const char *id = NULL;
    struct program_pass *pass;
    int64_t last = 0;
    enum err e = program_only_members(o, "pass", "id last fills checks", why);

    if (!e)
        e = json_get_text(o, "id", &id, why);
    if (e)
        return e;
    pass = program_add_pass(p, id);
    if (!pass)
        return why_set(why, ERR_LIMIT, "pass: id too long, or more than %d passes", PROGRAM_MAX_PASSES);
    e = json_i64_or(o, "last", 0, 0, 1, &last, why);
    pass->is_last = last;
    if (!e)
        e = program_optional_list(o, "fills", &list, why);
    for (item = list ? list->child : NULL; !e && item; item = item->next)
        e = read_pass_fill(p, pass, item, is_sheet, why);
    if (!e)
        e = program_optional_list(o, "checks", &list, why);
    for (item = !e && list ? list->child : NULL; !e && item; item = item->next)
        e = read_check(p, pass, item, why);
    return e;
}

static enum err read_pass(struct program *p, const cJSON *o, struct why *why)
{
    return read_any_pass(p, o, false, why);
}

static enum err read_sheet_pass(struct program *p, const cJSON *o, struct why *why)
{
    return read_any_pass(p, o, true, why);
}

/* Calls `each` for the items of an optional list, naming the item that fails. */
static enum err read_list(struct program *p, const cJSON *o, const char *name,
                          enum err (*each)(struct program *, const cJSON *, struct why *), struct why *why)
{
    const cJSON *list = NULL, *item;
    int i = 0;
    enum err e = program_optional_list(o, name, &list, why);

    if (e)
        return e;
    cJSON_ArrayForEach(item, list)
    {
        e = each(p, item, why);
        if (e)
            return why_prefix(why, e, "%s[%d]", name, i);
        i++;
    }
    return ERR_OK;
}

/* An optional object whose members are all known; NULL when it is missing. */
static enum err optional_object(const cJSON *o, const char *name, const char *known, const cJSON **out, struct why *why)
{
    *out = cJSON_GetObjectItemCaseSensitive(o, name);
    return *out ? program_only_members(*out, name, known, why) : ERR_OK;
}

static enum err read_cost(struct program *p, const cJSON *o, struct why *why)
{
    const cJSON *cost = NULL;
    enum err e = optional_object(o, "cost", "flops flops_effective bytes_min", &cost, why);

    if (e || !cost)
        return e;
    e = json_real_or(cost, "flops", 0, &p->flops, why);
    if (!e)
        e = json_real_or(cost, "flops_effective", 0, &p->flops_effective, why);
    return e ? e : json_real_or(cost, "bytes_min", 0, &p->bytes_min, why);
}

static enum err read_limits(struct program *p, const cJSON *o, struct why *why)
{
    const cJSON *limits = NULL;
    enum err e = optional_object(o, "limits", "build_s run_s memory", &limits, why);

    if (e || !limits)
        return e;
    e = json_real_or(limits, "build_s", 0, &p->build_s, why);
    if (!e)
        e = json_real_or(limits, "run_s", 0, &p->run_s, why);
    return e ? e : json_i64_or(limits, "memory", 0, 0, JSON_EXACT_MAX, &p->memory_bytes, why);
}

static enum err read_requires(struct program *p, const cJSON *o, struct why *why)
{
    const cJSON *needs = NULL;
    enum err e = optional_object(o, "requires", "api std extensions wg_max local_bytes", &needs, why);

    if (e || !needs)
        return e;
    e = program_read_fixed(needs, "api", p->api, sizeof p->api, why);
    if (!e)
        e = program_read_fixed(needs, "std", p->std, sizeof p->std, why);
    if (!e)
        e = program_read_fixed(needs, "extensions", p->extensions, sizeof p->extensions, why);
    if (!e)
        e = json_i64_or(needs, "wg_max", 0, 0, JSON_EXACT_MAX, &p->needs_work_group, why);
    return e ? e : json_i64_or(needs, "local_bytes", 0, 0, JSON_EXACT_MAX, &p->needs_local_bytes, why);
}

static enum err read_head(struct program *p, const cJSON *o, struct why *why)
{
    const cJSON *knobs = cJSON_GetObjectItemCaseSensitive(o, "knobs");
    int64_t schema = 0, version = 0;
    enum err e = json_get_i64(o, "schema", PROGRAM_SCHEMA, PROGRAM_SCHEMA, &schema, why);

    if (!e)
        e = program_read_heap(o, "workload", &p->workload, why);
    if (!e)
        e = program_read_heap(o, "template", &p->template_id, why);
    if (!e)
        e = json_i64_or(o, "template_version", 0, 0, INT32_MAX, &version, why);
    if (e)
        return e;
    p->template_version = (int)version;
    if (knobs) {
        p->knobs = cJSON_Duplicate(knobs, 1);
        if (!p->knobs)
            return ERR_NOMEM;
    }
    e = program_read_fixed(o, "numerics", p->numerics, sizeof p->numerics, why);
    if (!e)
        e = read_cost(p, o, why);
    if (!e)
        e = read_limits(p, o, why);
    return e ? e : read_requires(p, o, why);
}

static enum err read_program(struct program *p, const cJSON *o, struct why *why)
{
    const cJSON *launches = NULL;
    enum err e =
        program_only_members(o, "program",
                             "schema workload template template_version knobs numerics cost limits requires modules "
                             "buffers launches loops verify",
                             why);

    if (!e)
        e = read_head(p, o, why);
    if (!e)
        e = read_list(p, o, "modules", read_module, why);
    if (!e)
        e = read_list(p, o, "buffers", read_buffer, why);
    if (!e)
        e = program_optional_list(o, "launches", &launches, why);
    if (!e)
        e = read_launches(p, launches, o, why);
    if (!e)
        e = read_list(p, o, "verify", read_pass, why);
    return e ? e : program_check_sane(p, why);
}

enum err program_from_json(const char *text, size_t n, struct program *out, struct why *why)
{
    struct program p;
    cJSON *tree = NULL;
    enum err e;

    if (n > PROGRAM_MAX_BYTES)
        return why_set(why, ERR_LIMIT, "a program is at most %zu bytes of JSON", PROGRAM_MAX_BYTES);
    e = json_parse(text, n, &tree, why);
    if (e)
        return e;
    program_init(&p);
    e = read_program(&p, tree, why);
    cJSON_Delete(tree);
    if (e)
        program_fini(&p);
    else
        *out = p;
    return e;
}

enum err program_sheet_read(const char *text, size_t n, struct program *p, struct why *why)
{
    const size_t n_before = p->n_passes;
    cJSON *o = NULL;
    int64_t schema = 0;
    enum err e = n > PROGRAM_MAX_BYTES
                     ? why_set(why, ERR_LIMIT, "a sheet is at most %zu bytes of JSON", PROGRAM_MAX_BYTES)
                     : json_parse(text, n, &o, why);

    if (!e)
        e = program_only_members(o, "sheet", "schema verify", why);
    if (!e)
        e = json_get_i64(o, "schema", PROGRAM_SCHEMA, PROGRAM_SCHEMA, &schema, why);
    if (!e)
        e = read_list(p, o, "verify", read_sheet_pass, why);
    p->n_sheet += p->n_passes - n_before;
    cJSON_Delete(o);
    return e ? e : program_check_sane(p, why);
}
