/* SPDX-License-Identifier: MIT */
/* program.c - builders: arrays that grow by doubling, entries zeroed. */
#include "runtime/program.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void program_init(struct program *p)
{
    *p = (struct program){.template_version = 0};
}

static void module_fini(struct program_module *m)
{
    free(m->options);
    free(m->defines);
}

static void launch_fini(struct program_launch *l)
{
    free(l->args);
    free(l->after);
}

void program_drop_passes(struct program *p)
{
    for (size_t i = 0; i < p->n_passes; i++)
        free(p->passes[i].fills);
    free(p->passes);
    p->passes = NULL;
    p->n_passes = p->n_sheet = 0;
}

bool program_is_checked(const struct program *p)
{
    for (size_t i = 0; i < p->n_passes; i++)
        if (p->passes[i].n_checks > 0)
            return true;
    return false;
}

void program_fini(struct program *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_modules; i++)
        module_fini(&p->modules[i]);
    for (size_t i = 0; i < p->n_launches; i++)
        launch_fini(&p->launches[i]);
    program_drop_passes(p);
    free(p->modules);
    free(p->buffers);
    free(p->launches);
    free(p->loops);
    free(p->workload);
    free(p->template_id);
    cJSON_Delete(p->knobs);
    program_init(p);
}

/* Room for one more zeroed item at the end of *items; capacity is the next power of two of the count. */
static void *append(void **items, size_t *n, size_t n_bytes, size_t max)
{
    const size_t cap = *n ? *n * 2 : 1;
    char *at;

    assert(*items || *n == 0);
    if (*n >= max)
        return NULL;
    if ((*n & (*n - 1)) == 0) {
        void *grown = realloc(*items, cap * n_bytes);

        if (!grown)
            return NULL;
        *items = grown;
    }
    at = (char *)*items + *n * n_bytes;
    memset(at, 0, n_bytes);
    ++*n;
    return at;
}

#define APPEND(items, n, max) append((void **)&(items), &(n), sizeof *(items), (max))

static bool copy_name(char *to, size_t n_to, const char *from)
{
    const size_t n = strlen(from);

    if (n >= n_to)
        return false;
    memcpy(to, from, n + 1);
    return true;
}

struct program_module *program_add_module(struct program *p, const char *id, enum program_lang lang,
                                          const char *options)
{
    struct program_module *m;
    char *copy = strdup(options ? options : "");

    m = copy ? APPEND(p->modules, p->n_modules, PROGRAM_MAX_MODULES) : NULL;
    if (!m || !copy_name(m->id, sizeof m->id, id)) {
        p->n_modules -= m != NULL;
        free(copy);
        return NULL;
    }
    m->lang = lang;
    m->options = copy;
    return m;
}

enum err program_define_text(struct program_module *m, const char *name, const char *value)
{
    struct program_define *d = APPEND(m->defines, m->n_defines, PROGRAM_MAX_DEFINES);

    if (!d)
        return m->n_defines >= PROGRAM_MAX_DEFINES ? ERR_LIMIT : ERR_NOMEM;
    if (copy_name(d->name, sizeof d->name, name) && copy_name(d->value, sizeof d->value, value))
        return ERR_OK;
    m->n_defines--;
    return ERR_LIMIT;
}

enum err program_define(struct program_module *m, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)value);
    return program_define_text(m, name, text);
}

struct program_buffer *program_add_buffer(struct program *p, const char *id, enum buffer_role role, enum dtype t,
                                          int64_t n_elems)
{
    struct program_buffer *b = APPEND(p->buffers, p->n_buffers, PROGRAM_MAX_BUFFERS);

    if (!b)
        return NULL;
    if (!copy_name(b->id, sizeof b->id, id)) {
        p->n_buffers--;
        return NULL;
    }
    b->role = role;
    b->dtype = t;
    b->n_elems = n_elems;
    return b;
}

struct program_launch *program_add_launch(struct program *p, enum launch_op op, enum launch_phase phase)
{
    struct program_launch *l = APPEND(p->launches, p->n_launches, PROGRAM_MAX_LAUNCHES);

    if (!l)
        return NULL;
    snprintf(l->id, sizeof l->id, "l%zu", p->n_launches - 1);
    l->op = op;
    l->phase = phase;
    for (int i = 0; i < 3; i++)
        l->grid[i] = l->block[i] = 1;
    return l;
}

struct program_launch *program_add_symbol(struct program *p, int i_module, const char *symbol, int i_buffer,
                                          int64_t n_bytes)
{
    struct program_launch *l = program_add_launch(p, LAUNCH_SYMBOL, PHASE_PACK);

    if (!l)
        return NULL;
    if (!copy_name(l->kernel, sizeof l->kernel, symbol) || program_arg_buffer(l, i_buffer) ||
        program_arg_int(l, ARG_I64, n_bytes)) {
        p->n_launches--;
        return NULL;
    }
    l->i_module = i_module;
    return l;
}

struct program_launch *program_add_kernel(struct program *p, enum launch_phase phase, int i_module, const char *kernel,
                                          const int64_t grid[3], const int64_t block[3])
{
    struct program_launch *l = program_add_launch(p, LAUNCH_KERNEL, phase);

    if (!l)
        return NULL;
    if (!copy_name(l->kernel, sizeof l->kernel, kernel)) {
        p->n_launches--;
        return NULL;
    }
    l->i_module = i_module;
    memcpy(l->grid, grid, sizeof l->grid);
    memcpy(l->block, block, sizeof l->block);
    return l;
}

static enum err add_arg(struct program_launch *l, struct program_arg arg)
{
    struct program_arg *a = APPEND(l->args, l->n_args, PROGRAM_MAX_ARGS);

    if (!a)
        return l->n_args >= PROGRAM_MAX_ARGS ? ERR_LIMIT : ERR_NOMEM;
    *a = arg;
    return ERR_OK;
}

enum err program_arg_buffer(struct program_launch *l, int i_buffer)
{
    return add_arg(l, (struct program_arg){.kind = ARG_BUFFER, .i_buffer = i_buffer});
}

enum err program_arg_int(struct program_launch *l, enum arg_kind kind, int64_t value)
{
    return add_arg(l, (struct program_arg){.kind = kind, .integer = value});
}

enum err program_arg_double(struct program_launch *l, double value)
{
    return add_arg(l, (struct program_arg){.kind = ARG_F64, .real = value});
}

enum err program_arg_real(struct program_launch *l, double value)
{
    return add_arg(l, (struct program_arg){.kind = ARG_F32, .real = value});
}

enum err program_after(struct program_launch *l, int i_launch)
{
    int *a = APPEND(l->after, l->n_after, PROGRAM_MAX_AFTER);

    if (!a)
        return l->n_after >= PROGRAM_MAX_AFTER ? ERR_LIMIT : ERR_NOMEM;
    *a = i_launch;
    return ERR_OK;
}

enum err program_add_loop(struct program *p, int first, int last, int64_t count)
{
    struct program_loop *l = APPEND(p->loops, p->n_loops, PROGRAM_MAX_LOOPS);

    if (!l)
        return p->n_loops >= PROGRAM_MAX_LOOPS ? ERR_LIMIT : ERR_NOMEM;
    *l = (struct program_loop){first, last, count};
    return ERR_OK;
}

struct program_pass *program_add_pass(struct program *p, const char *id)
{
    struct program_pass *pass = APPEND(p->passes, p->n_passes, PROGRAM_MAX_PASSES);

    if (!pass)
        return NULL;
    if (!copy_name(pass->id, sizeof pass->id, id)) {
        p->n_passes--;
        return NULL;
    }
    return pass;
}

enum err program_pass_fill_add(struct program_pass *pass, int i_buffer, const struct program_fill *fill)
{
    struct program_pass_fill *f = APPEND(pass->fills, pass->n_fills, PROGRAM_MAX_BUFFERS);

    if (!f)
        return pass->n_fills >= PROGRAM_MAX_BUFFERS ? ERR_LIMIT : ERR_NOMEM;
    f->i_buffer = i_buffer;
    f->fill = *fill;
    return ERR_OK;
}

struct program_check *program_pass_check_add(struct program_pass *pass, enum check_kind kind, int i_buffer)
{
    struct program_check *c;

    if (pass->n_checks >= PROGRAM_MAX_CHECKS)
        return NULL;
    c = &pass->checks[pass->n_checks++];
    *c = (struct program_check){.kind = kind, .i_buffer = i_buffer};
    return c;
}

int program_find_buffer(const struct program *p, const char *id)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        if (strcmp(p->buffers[i].id, id) == 0)
            return (int)i;
    return -1;
}

const struct program_fill *program_fill_of(const struct program *p, const struct program_pass *pass, size_t i_buffer)
{
    assert(i_buffer < p->n_buffers);
    for (size_t f = 0; pass && f < pass->n_fills; f++)
        if (pass->fills[f].i_buffer == (int)i_buffer)
            return &pass->fills[f].fill;
    return &p->buffers[i_buffer].fill;
}

/* One name, unless it is empty or was told before. */
struct blob_walk {
    void (*each)(const char *hex, void *arg);
    void *arg;
    const char **told;
    size_t n_told, cap;
};

static void tell(struct blob_walk *w, const struct sha256 *name)
{
    if (!name->hex[0])
        return;
    for (size_t i = 0; i < w->n_told; i++)
        if (strcmp(w->told[i], name->hex) == 0)
            return;
    assert(w->n_told < w->cap); /* room for every name that a program can have */
    if (w->n_told < w->cap)
        w->told[w->n_told++] = name->hex;
    w->each(name->hex, w->arg);
}

static void tell_pass(struct blob_walk *w, const struct program_pass *pass)
{
    for (size_t i = 0; i < pass->n_fills; i++)
        tell(w, &pass->fills[i].fill.blob);
    for (size_t i = 0; i < pass->n_checks; i++) {
        tell(w, &pass->checks[i].indices);
        tell(w, &pass->checks[i].values);
        tell(w, &pass->checks[i].scale);
    }
}

void program_each_blob(const struct program *p, void (*each)(const char *hex, void *arg), void *arg)
{
    const char *told[PROGRAM_MAX_MODULES + PROGRAM_MAX_BUFFERS +
                     PROGRAM_MAX_PASSES * (PROGRAM_MAX_BUFFERS + 3 * PROGRAM_MAX_CHECKS)];
    struct blob_walk w = {.each = each, .arg = arg, .told = told, .cap = sizeof told / sizeof told[0]};

    for (size_t i = 0; i < p->n_modules; i++)
        tell(&w, &p->modules[i].source);
    for (size_t i = 0; i < p->n_buffers; i++)
        tell(&w, &p->buffers[i].fill.blob);
    for (size_t i = 0; i < p->n_passes; i++)
        tell_pass(&w, &p->passes[i]);
}
