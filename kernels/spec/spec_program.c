/* SPDX-License-Identifier: MIT */
/* spec_program.c - the program of one config of a job: text and macros, buffers, launches, what is right. */
#include "kernels/spec/spec_private.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Largest |y - ref| over the largest |ref| of a buffer, where the file names no tolerance. */
static double tolerance_of(enum dtype t)
{
    switch (t) {
    case DTYPE_F64:
        return 1e-10;
    case DTYPE_F32:
        return 1e-4;
    case DTYPE_F16:
        return 1e-2;
    default:
        return 0;
    }
}

struct making {
    struct spec *s;
    const struct config *config;
    struct program *p;
    struct blobs *blobs;
    int buffers[PROGRAM_MAX_ARGS], shadows[PROGRAM_MAX_ARGS]; /* -1 = none */
    struct why *why;
};

static enum err value_of(const struct making *m, const struct config *c, const char *name, const char *where,
                         double *out)
{
    const enum err e = space_eval(m->s->space, c, name, out);

    return e ? why_set(m->why, ERR_INPUT, "%s has no value for this config", where) : ERR_OK;
}

/* A whole number of [1, max]. */
static enum err count_of(const struct making *m, const struct config *c, const char *name, const char *where,
                         double max, int64_t *out)
{
    double v = 0;
    const enum err e = value_of(m, c, name, where, &v);

    if (e)
        return e;
    if (!(v >= 1 && v <= max) || v != rint(v))
        return why_set(m->why, ERR_LIMIT, "%s is %.15g: expected a whole number from 1 to %.15g", where, v, max);
    *out = (int64_t)v;
    return ERR_OK;
}

/* Modules. */

#define NUMBER_BYTES 40

static const char *number_text(double v, char out[NUMBER_BYTES])
{
    if (v == rint(v) && fabs(v) <= (double)JSON_EXACT_MAX)
        snprintf(out, NUMBER_BYTES, "%lld", (long long)v);
    else
        snprintf(out, NUMBER_BYTES, "%.17g", v);
    return out;
}

/* The text of knob i as a macro; lends, or writes into `number`. */
static const char *macro_of(const struct space *s, const struct config *c, size_t i, char number[NUMBER_BYTES])
{
    const struct value v = space_value(s, c, i);

    return v.text ? v.text : number_text(v.number, number);
}

/* The macro of a definition: its name, NULL = it is none; its text goes to `number`, "" = it has no value. */
static const char *define_of(const struct spec *s, const struct config *c, size_t i, char number[NUMBER_BYTES])
{
    const struct spec_definition *d = &s->definitions[i];
    double v;

    if (strncmp(d->name, SPEC_DEFINE, strlen(SPEC_DEFINE)) != 0)
        return NULL;
    number[0] = '\0';
    if (!space_eval(s->space, c, d->name, &v))
        number_text(v, number);
    return d->name + strlen(SPEC_DEFINE);
}

enum err spec_macros(const struct spec *s, const cJSON *knobs, struct buf *out, struct why *why)
{
    struct config c;
    enum err e = space_config_from_json(s->space, knobs, &c, why);

    for (size_t i = 0; !e && i < space_n_knobs(s->space); i++) {
        char number[NUMBER_BYTES];

        e = buf_printf(out, "#define %s %s\n", space_knob_name(s->space, i), macro_of(s->space, &c, i, number));
    }
    for (size_t i = 0; !e && i < s->n_definitions; i++) {
        char number[NUMBER_BYTES];
        const char *name = define_of(s, &c, i, number);

        if (name && !number[0])
            e = why_set(why, ERR_INPUT, "%s has no value for this config", s->definitions[i].where);
        else if (name)
            e = buf_printf(out, "#define %s %s\n", name, number);
    }
    return e;
}

static enum err add_module(struct making *m, const char *id, const struct spec_kernel *k, const struct config *c)
{
    const struct space *space = m->s->space;
    struct program_module *module = program_add_module(m->p, id, m->s->lang, k->options);
    const struct blob *source = blobs_get(&m->s->files, k->source.hex);
    char number[NUMBER_BYTES];
    enum err e = module && source ? ERR_OK : ERR_NOMEM;

    if (!e)
        e = blobs_put(m->blobs, source->data, source->n_bytes, &module->source);
    for (size_t i = 0; i < space_n_knobs(space) && !e; i++)
        e = program_define_text(module, space_knob_name(space, i), macro_of(space, c, i, number));
    for (size_t i = 0; i < m->s->n_definitions && !e; i++) {
        const char *name = define_of(m->s, c, i, number);

        if (name && !number[0])
            return why_set(m->why, ERR_INPUT, "%s has no value for this config", m->s->definitions[i].where);
        e = name ? program_define_text(module, name, number) : ERR_OK;
    }
    return e ? why_set(m->why, e, "module %s: %s", id, err_words(e)) : ERR_OK;
}

/* Buffers. */

static enum err elems_of(const struct making *m, const struct spec_arg *a, int64_t *out)
{
    const struct spec_fill *f = &a->fill;
    const struct blob *file = f->kind == SPEC_BINARY ? blobs_get(&m->s->files, f->file.hex) : NULL;

    if (a->number[0])
        return count_of(m, m->config, a->number, a->where, (double)PROGRAM_MAX_BUFFER_BYTES, out);
    *out = file ? (int64_t)(file->n_bytes / ((size_t)a->type->lanes * dtype_bytes(a->type->dtype))) : 0;
    return *out > 0 ? ERR_OK : why_set(m->why, ERR_INPUT, "%s.DataSource: the file is empty", a->where);
}

enum err spec_check_sizes(struct spec *s, struct why *why)
{
    const struct config any = {{0}};
    const struct making m = {.s = s, .config = &any, .why = why};
    enum err e = ERR_OK;

    for (size_t i = 0; i < s->n_args && !e; i++) {
        const struct spec_arg *a = &s->args[i];
        char where[sizeof a->where + 8];
        int64_t n = 0;

        if (a->memory != SPEC_VECTOR)
            continue;
        snprintf(where, sizeof where, "%s.Size", a->where);
        if (a->number[0] && !spec_varies(s, a->number))
            e = count_of(&m, &any, a->number, where,
                         (double)(PROGRAM_MAX_BUFFER_BYTES / (int64_t)dtype_bytes(a->type->dtype) / a->type->lanes),
                         &n);
        if (!e)
            e = spec_check_fill(&a->fill, s, a->type, n, a->where, why);
        if (!e && a->is_expected)
            e = spec_check_fill(&a->expected, s, a->type, n, a->where, why);
    }
    return e;
}

static enum err add_buffer(struct making *m, const char *id, enum buffer_role role, const struct spec_type *t,
                           int64_t n, const struct program_fill *fill, int *out)
{
    struct program_buffer *b = program_add_buffer(m->p, id, role, t->dtype, n * t->lanes);

    if (!b)
        return why_set(m->why, ERR_LIMIT, "buffer %s: %s", id, err_words(ERR_LIMIT));
    b->fill = *fill;
    if (t->raw_bytes > 1) { /* a wrong byte is told with its element */
        b->shape[0] = n;
        b->shape[1] = t->raw_bytes;
        b->n_dims = 2;
        snprintf(b->layout, sizeof b->layout, "%s", PROGRAM_LAYOUT_BYTES);
    }
    *out = (int)(b - m->p->buffers);
    return ERR_OK;
}

static enum err add_vector(struct making *m, size_t i)
{
    struct spec_arg *a = &m->s->args[i];
    struct program_fill fill, expected;
    char shadow[PROGRAM_ID_BYTES];
    const bool is_written = a->access != SPEC_READ_ONLY;
    int64_t n = 0;
    enum err e = elems_of(m, a, &n);

    if (!e)
        e = spec_make_fill(&a->fill, m->s, a->type, n, a->where, &fill, m->blobs, m->why);
    if (!e)
        e = add_buffer(m, a->id,
                       is_written     ? ROLE_OUTPUT
                       : a->is_symbol ? ROLE_WEIGHT
                                      : ROLE_INPUT,
                       a->type, n, &fill, &m->buffers[i]);
    if (e || !is_written)
        return e;
    m->p->buffers[m->buffers[i]].reset_each_run = a->access == SPEC_READ_WRITE;
    snprintf(shadow, sizeof shadow, "ref.%.*s", PROGRAM_ID_BYTES - 5, a->id);
    if (a->is_expected) {
        e = spec_make_fill(&a->expected, m->s, a->type, n, a->where, &expected, m->blobs, m->why);
        return e ? e : add_buffer(m, shadow, ROLE_SCRATCH, a->type, n, &expected, &m->shadows[i]);
    }
    return m->s->has_reference ? add_buffer(m, shadow, ROLE_SCRATCH, a->type, n, &fill, &m->shadows[i]) : ERR_OK;
}

/* Launches. */

static const char *const axes[3] = {"X", "Y", "Z"};

static enum err dims_of(const struct making *m, const struct spec_kernel *k, const struct config *c, int64_t grid[3],
                        int64_t block[3])
{
    const bool is_grouped = k->has_global ? k->is_grouped : m->s->kernel.is_grouped;
    enum err e = ERR_OK;

    for (int i = 0; i < 3 && !e; i++) {
        char global[SPACE_NAME_BYTES], local[SPACE_NAME_BYTES];
        double v = 0;

        snprintf(global, sizeof global, "%sGlobalSize.%s", k->has_global ? k->prefix : "", axes[i]);
        snprintf(local, sizeof local, "%sLocalSize.%s", k->has_local ? k->prefix : "", axes[i]);
        e = count_of(m, c, local, local, 1 << 24, &block[i]);
        if (!e)
            e = value_of(m, c, global, global, &v);
        if (!e)
            v = ceil(is_grouped ? v : v / (double)block[i]);
        if (!e && !(v >= 1 && v <= INT32_MAX))
            e = why_set(m->why, ERR_LIMIT, "%s gives %.15g groups: expected 1 to %d", global, v, INT32_MAX);
        if (!e)
            grid[i] = (int64_t)v;
    }
    return e;
}

/* A char, short or half as its bits. */
static enum err small_bits(const struct making *m, const struct spec_arg *a, double v, int64_t *out)
{
    const int n_bits = a->type->scalar == ARG_B8 ? 8 : 16;
    const double least = a->type->is_signed ? -ldexp(1, n_bits - 1) : 0;
    const double most = strcmp(a->type->name, "bool") == 0 ? 1 : ldexp(1, n_bits - a->type->is_signed) - 1;

    if (!a->type->is_whole) {
        *out = half_from_float((float)v);
        return isfinite(half_to_float((uint16_t)*out))
                   ? ERR_OK
                   : why_set(m->why, ERR_INPUT, "%s is %.15g: a half is at most 65504", a->where, v);
    }
    if (!(v >= least && v <= most) || v != rint(v))
        return why_set(m->why, ERR_INPUT, "%s is %.15g: expected a whole number from %g to %g of %s", a->where, v,
                       least, most, a->type->name);
    *out = (int64_t)v & ((1 << n_bits) - 1);
    return ERR_OK;
}

static enum err add_scalar(struct making *m, const struct spec_arg *a, const struct config *c, struct program_launch *l)
{
    double v = 0;
    int64_t bits = 0;
    enum err e = value_of(m, c, a->number, a->where, &v);

    if (!e && (a->type->scalar == ARG_B8 || a->type->scalar == ARG_B16)) {
        e = small_bits(m, a, v, &bits);
        return e ? e : program_arg_int(l, (enum arg_kind)a->type->scalar, bits);
    }
    if (e)
        return e;
    if (a->type->scalar == ARG_F64)
        return program_arg_double(l, v);
    if (a->type->scalar == ARG_F32)
        return program_arg_real(l, v);
    if (v != rint(v) || fabs(v) > (double)JSON_EXACT_MAX)
        return why_set(m->why, ERR_INPUT, "%s is %.15g: expected a whole number of %s", a->where, v, a->type->name);
    return program_arg_int(l, (enum arg_kind)a->type->scalar, (int64_t)v);
}

/* Local memory is an argument in OpenCL, and a size of the launch in CUDA. */
static enum err add_local(struct making *m, struct program_launch *l, double n_bytes)
{
    if (n_bytes > 1 << 30)
        return why_set(m->why, ERR_LIMIT, "%.15g bytes of local memory", n_bytes);
    if (m->s->lang == LANG_OPENCL_C)
        return program_arg_int(l, ARG_LOCAL, (int64_t)n_bytes);
    l->dyn_local += (int64_t)n_bytes;
    return ERR_OK;
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does a text name a variable? */
static bool has_word(const struct blob *text, const char *word)
{
    const char *from = (const char *)text->data, *end = from + text->n_bytes;
    const size_t n = strlen(word);

    for (const char *at = from; (at = memmem(at, (size_t)(end - at), word, n)); at += n)
        if ((at == from || !is_letter(at[-1])) && (at + n == end || !is_letter(at[n])))
            return true;
    return false;
}

enum err spec_check_symbols(const struct spec *s, struct why *why)
{
    const struct blob *texts[2] = {blobs_get(&s->files, s->kernel.source.hex),
                                   s->has_reference ? blobs_get(&s->files, s->reference.source.hex) : NULL};

    for (size_t i = 0; i < s->n_args; i++) {
        const struct spec_arg *a = &s->args[i];

        if (a->is_symbol && !(texts[0] && has_word(texts[0], a->id)) && !(texts[1] && has_word(texts[1], a->id)))
            return why_set(why, ERR_INPUT, "%s: the kernel's text has no variable named %s", a->where, a->id);
    }
    return ERR_OK;
}

/* Constant memory is filled with the weights, once a module that has the variable. */
static enum err add_symbols(struct making *m)
{
    for (size_t i = 0; i < m->s->n_args; i++)
        for (int k = 0; m->s->args[i].is_symbol && k < (int)m->p->n_modules; k++) {
            const struct blob *text = blobs_get(m->blobs, m->p->modules[k].source.hex);
            const struct program_buffer *b = &m->p->buffers[m->buffers[i]];

            assert(m->buffers[i] >= 0);
            if (text && has_word(text, b->id) &&
                !program_add_symbol(m->p, k, b->id, m->buffers[i], b->n_elems * (int64_t)dtype_bytes(b->dtype)))
                return why_set(m->why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
        }
    return ERR_OK;
}

static enum err add_arg(struct making *m, size_t i, const struct config *c, bool is_reference, struct program_launch *l)
{
    const struct spec_arg *a = &m->s->args[i];
    int64_t n = 0;
    enum err e;

    if (a->memory == SPEC_VECTOR)
        return program_arg_buffer(l, is_reference && m->shadows[i] >= 0 ? m->shadows[i] : m->buffers[i]);
    if (a->memory == SPEC_SCALAR)
        return add_scalar(m, a, c, l);
    e = count_of(m, c, a->number, a->where, 1 << 30, &n);
    return e ? e : add_local(m, l, (double)n * a->type->lanes * (double)dtype_bytes(a->type->dtype));
}

static enum err add_launch(struct making *m, const struct spec_kernel *k, const struct config *c, int i_module)
{
    const bool is_reference = k == &m->s->reference;
    const struct spec_kernel *shared = k->has_shared || !is_reference ? k : &m->s->kernel;
    char name[SPACE_NAME_BYTES], entry[sizeof k->name + sizeof SPEC_ENTRY];
    int64_t grid[3], block[3], n_shared = 0;
    struct program_launch *l;
    enum err e = dims_of(m, k, c, grid, block);

    if (e)
        return e;
    snprintf(entry, sizeof entry, "%s%s", spec_is_function(m->s) ? SPEC_ENTRY : "", k->name);
    l = program_add_kernel(m->p, is_reference ? PHASE_REFERENCE : PHASE_RUN, i_module, entry, grid, block);
    if (!l)
        return why_set(m->why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    for (size_t i = 0; i < m->s->n_args && !e; i++)
        e = m->s->args[i].is_symbol ? ERR_OK : add_arg(m, i, c, is_reference, l);
    if (!e && shared->has_shared) {
        snprintf(name, sizeof name, "%sSharedMemory", shared->prefix);
        e = count_of(m, c, name, name, 1 << 30, &n_shared);
        if (!e)
            e = add_local(m, l, (double)n_shared);
    }
    assert(block[0] > 0 && block[1] > 0 && block[2] > 0 && i_module < (int)m->p->n_modules);
    if (!is_reference)
        m->p->needs_work_group = block[0] * block[1] * block[2];
    return e && !m->why->text[0] ? why_set(m->why, e, "%s", err_words(e)) : e;
}

/* What is right. */

static enum err add_check(const struct making *m, struct program_pass *pass, size_t i)
{
    const struct spec_arg *a = &m->s->args[i];
    struct program_check *c = program_pass_check_add(pass, CHECK_BUFFER, m->buffers[i]);
    const bool by_arg = a->has_threshold, by_file = by_arg || m->s->has_threshold;

    if (!c)
        return why_set(m->why, ERR_LIMIT, "more than %d outputs to compare", PROGRAM_MAX_CHECKS);
    assert(m->buffers[i] >= 0 && m->shadows[i] >= 0);
    c->i_reference = m->shadows[i];
    if (by_file && !a->type->raw_bytes) {
        c->tolerance = by_arg ? a->threshold : m->s->threshold;
        c->relative = by_arg ? a->relative : m->s->relative;
    } else if (!a->type->is_whole) {
        c->tolerance = tolerance_of(a->type->dtype);
        c->relative = RELATIVE_PEAK;
    }
    return ERR_OK;
}

/* Without checks it is run for the fences alone: what reads or writes beside its arguments. */
static enum err add_pass(struct making *m)
{
    struct program_pass *pass = program_add_pass(m->p, spec_is_checked(m->s) ? "reference" : "fences");
    enum err e = pass ? ERR_OK : why_set(m->why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));

    for (size_t i = 0; i < m->s->n_args && !e; i++)
        if (m->shadows[i] >= 0 && (m->s->args[i].is_expected || m->s->args[i].is_output))
            e = add_check(m, pass, i);
    return e;
}

static enum err set_head(struct making *m)
{
    struct program *p = m->p;
    bool doubles = false, halves = false;
    enum err e = ERR_OK;

    for (size_t i = 0; i < m->s->n_args; i++) {
        const struct spec_arg *a = &m->s->args[i];

        doubles |= a->type->dtype == DTYPE_F64;
        halves |= a->type->dtype == DTYPE_F16 && a->memory == SPEC_SCALAR; /* vectors may be read by vload_half */
    }
    p->workload = strdup(m->s->workload);
    p->template_id = strdup("");
    p->template_version = m->s->version;
    p->knobs = space_config_to_json(m->s->space, m->config);
    snprintf(p->api, sizeof p->api, "%s", spec_language(m->s)->api);
    if (m->s->lang == LANG_OPENCL_C)
        snprintf(p->extensions, sizeof p->extensions, "%s%s%s", doubles ? "cl_khr_fp64" : "",
                 doubles && halves ? " " : "", halves ? "cl_khr_fp16" : "");
    if (!p->workload || !p->template_id || !p->knobs)
        return why_set(m->why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    if (m->s->has_operations)
        e = value_of(m, m->config, "Operations", "KernelSpecification.Operations", &p->flops);
    if (!e && !(p->flops >= 0))
        e = why_set(m->why, ERR_INPUT, "KernelSpecification.Operations is %.15g: expected a number from 0", p->flops);
    p->flops_effective = p->flops;
    return e;
}

enum err spec_program(struct spec *s, const struct config *c, struct program *out, struct blobs *blobs, struct why *why)
{
    struct why words = {""};
    struct making m = {.s = s, .config = c, .p = out, .blobs = blobs, .why = &words};
    enum err e;

    for (size_t i = 0; i < PROGRAM_MAX_ARGS; i++)
        m.buffers[i] = m.shadows[i] = -1;
    program_init(out);
    e = set_head(&m);
    if (!e)
        e = add_module(&m, "main", &s->kernel, c);
    if (!e && s->has_reference)
        e = add_module(&m, "reference", &s->reference, &s->reference_config);
    for (size_t i = 0; i < s->n_args && !e; i++)
        if (s->args[i].memory == SPEC_VECTOR)
            e = add_vector(&m, i);
    if (!e)
        e = add_symbols(&m);
    if (!e && s->has_reference)
        e = add_launch(&m, &s->reference, &s->reference_config, 1);
    if (!e)
        e = add_launch(&m, &s->kernel, c, 0);
    if (!e)
        e = add_pass(&m);
    if (!e)
        e = program_check_sane(out, &words);
    if (e) {
        program_fini(out);
        spec_one_line(&words, e);
        why_set(why, e, "%s", words.text[0] ? words.text : err_words(e));
    }
    return e;
}
