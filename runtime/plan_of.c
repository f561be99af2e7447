/* SPDX-License-Identifier: MIT */
#include "runtime/plan_of.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_BYTES ((size_t)64 << 10)

/* A plan and all that it points to, which goes with it. */
struct piece {
    struct piece *next;
};

struct whole {
    struct exec_plan plan; /* first: what callers hold */
    struct piece *pieces;
};

struct making {
    const struct program *p;
    const struct blobs *blobs;
    struct whole *whole;
    bool all;          /* launches of all phases, but neither modules nor what buffers are filled with */
    int *launch_index; /* of each launch of the program: its place in the plan */
    struct why *why;
};

/* Zeroed memory that lives as long as the plan; NULL when there is no more. */
static void *keep(struct making *m, size_t n, size_t n_each)
{
    struct piece *piece = n < ((size_t)1 << 40) / (n_each + 1) ? calloc(1, sizeof *piece + 16 + n * n_each) : NULL;
    assert(n_each > 0);
    if (piece == NULL)
        return NULL;
    piece->next = m->whole->pieces;
    m->whole->pieces = piece;
    return (char *)piece + 16; /* aligned as calloc's own */
}

static char *keep_text(struct making *m, const char *text)
{
    char *copy = keep(m, strlen(text) + 1, 1);
    return copy != NULL ? strcpy(copy, text) : NULL;
}

static enum err no_memory(struct making *m)
{
    return why_set(m->why, ERR_NOMEM, "out of memory");
}

/* ---- modules ---- */

enum err plan_options(const struct program *p, const struct program_module *m, struct buf *out)
{
    const char *own = m->options != NULL ? m->options : "";
    if (m->lang == LANG_OPENCL_C && p->std[0] != '\0' && strstr(own, "-cl-std") == NULL)
        buf_printf(out, "-cl-std=%s ", p->std);
    buf_puts(out, own);
    for (size_t i = 0; i < m->n_defines; i++)
        buf_printf(out, " -D %s=%s", m->defines[i].name, m->defines[i].value);
    return out->failed;
}

static enum err keep_options(struct making *m, const struct program_module *from, struct exec_module *to)
{
    struct buf options;
    buf_init(&options, OPTIONS_BYTES);
    enum err e = plan_options(m->p, from, &options);
    if (e == ERR_OK) {
        to->options = keep_text(m, buf_text(&options));
        e = to->options != NULL ? ERR_OK : no_memory(m);
    } else {
        why_set(m->why, e, "module '%s': options over %zu bytes", from->id, OPTIONS_BYTES);
    }
    buf_fini(&options);
    return e;
}

static int count_lines(const char *text, size_t n)
{
    int n_lines = n > 0 && text[n - 1] != '\n';
    for (size_t i = 0; i < n; i++)
        n_lines += text[i] == '\n';
    return n_lines;
}

/* Lines with their newlines, each ended by NUL. */
static enum err keep_lines(struct making *m, const struct blob *source, struct exec_module *to)
{
    const char *at = (const char *)source->data, *end = at + source->n_bytes;
    const int n = count_lines(at, source->n_bytes);
    const char **lines = keep(m, (size_t)n + 1, sizeof *lines);
    char *copy = keep(m, source->n_bytes + (size_t)n + 1, 1);
    if (lines == NULL || copy == NULL)
        return no_memory(m);
    for (int i = 0; i < n; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t n_line = (size_t)((newline != NULL ? newline + 1 : end) - at);
        memcpy(copy, at, n_line);
        lines[i] = copy;
        copy += n_line + 1;
        at += n_line;
    }
    assert(at == end);
    to->lines = lines;
    to->n_lines = n;
    return ERR_OK;
}

static enum err keep_binary(struct making *m, const struct blob *source, struct exec_module *to)
{
    struct exec_binary *b = keep(m, 1, sizeof *b);
    unsigned char *bytes = keep(m, source->n_bytes + 1, 1);
    if (b == NULL || bytes == NULL)
        return no_memory(m);
    memcpy(bytes, source->data, source->n_bytes);
    *b = (struct exec_binary){"", bytes, source->n_bytes, 0};
    to->binaries = b;
    to->n_binaries = 1;
    return ERR_OK;
}

static enum err make_module(struct making *m, const struct program_module *from, struct exec_module *to)
{
    const struct blob *source = blobs_get(m->blobs, from->source.hex);
    if (source == NULL)
        return why_set(m->why, ERR_NOT_FOUND, "module '%s': its source %.12s is not there", from->id, from->source.hex);
    enum err e = keep_options(m, from, to);
    if (e != ERR_OK)
        return e;
    if (from->lang == LANG_PTX || from->lang == LANG_CUBIN)
        return keep_binary(m, source, to);
    if (from->lang == LANG_CLBIN || memchr(source->data, '\0', source->n_bytes) != NULL)
        return why_set(m->why, ERR_UNSUPPORTED, "module '%s' is not the text of a kernel", from->id);
    return keep_lines(m, source, to);
}

static enum err make_modules(struct making *m)
{
    const size_t n = m->p->n_modules;
    struct exec_module *modules = keep(m, n + 1, sizeof *modules);
    const struct exec_module **list = keep(m, n + 1, sizeof *list);
    enum err e = modules != NULL && list != NULL ? ERR_OK : no_memory(m);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        e = make_module(m, &m->p->modules[i], &modules[i]);
        list[i] = &modules[i];
    }
    m->whole->plan.modules = list;
    m->whole->plan.n_modules = (int)n;
    return e;
}

/* ---- buffers ---- */

static const enum exec_role roles[N_ROLES] = {
    [ROLE_INPUT] = EXEC_INPUT,   [ROLE_WEIGHT] = EXEC_WEIGHT, [ROLE_PACKED] = EXEC_PACKED,
    [ROLE_OUTPUT] = EXEC_OUTPUT, [ROLE_STATE] = EXEC_STATE,   [ROLE_SCRATCH] = EXEC_SCRATCH,
};

/* Content by rule becomes bytes, whatever the rule. */
static enum err keep_content(struct making *m, const struct program_buffer *from, struct exec_buffer *to)
{
    unsigned char *bytes = keep(m, to->n_bytes, 1);
    if (bytes == NULL)
        return no_memory(m);
    enum err e = fill_elems(&from->fill, from->dtype, bytes, from->n_elems, m->blobs);
    to->fill = EXEC_FILL_BYTES;
    to->bytes = bytes;
    return e == ERR_OK ? ERR_OK : why_set(m->why, e, "content of buffer '%s': %s", from->id, err_words(e));
}

static enum err make_buffer(struct making *m, const struct program_buffer *from, struct exec_buffer *to)
{
    assert((unsigned)from->role < N_ROLES && from->n_elems > 0);
    to->id = keep_text(m, from->id);
    to->role = roles[from->role];
    to->n_bytes = (size_t)from->n_elems * dtype_bytes(from->dtype);
    if (to->id == NULL)
        return no_memory(m);
    if (m->all || to->role == EXEC_INPUT || to->role == EXEC_WEIGHT || to->role == EXEC_OUTPUT ||
        from->fill.kind == FILL_NONE)
        return ERR_OK;
    to->each_run = from->reset_each_run;
    const size_t element = dtype_bytes(from->dtype);
    const bool is_value = from->fill.kind == FILL_VALUE && element <= 4; /* CUDA sets no elements of 8 bytes */
    if (from->fill.kind != FILL_ZERO && !is_value)
        return keep_content(m, from, to);
    to->fill = EXEC_FILL_VALUE;
    to->n_pattern = element <= 4 ? element : 4;
    dtype_store(from->dtype, to->pattern, 0, from->fill.kind == FILL_VALUE ? from->fill.lo : 0.0);
    return ERR_OK;
}

static enum err make_buffers(struct making *m)
{
    const size_t n = m->p->n_buffers;
    struct exec_buffer *buffers = keep(m, n + 1, sizeof *buffers);
    enum err e = buffers != NULL ? ERR_OK : no_memory(m);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = make_buffer(m, &m->p->buffers[i], &buffers[i]);
    m->whole->plan.buffers = buffers;
    m->whole->plan.n_buffers = (int)n;
    return e;
}

/* ---- launches ---- */

static const enum exec_arg_kind kinds[N_ARGS] = {
    [ARG_BUFFER] = EXEC_ARG_BUFFER, [ARG_I32] = EXEC_ARG_I32, [ARG_U32] = EXEC_ARG_U32,
    [ARG_I64] = EXEC_ARG_I64,       [ARG_F32] = EXEC_ARG_F32, [ARG_LOCAL] = EXEC_ARG_LOCAL,
    [ARG_F64] = EXEC_ARG_F64,       [ARG_B8] = EXEC_ARG_B8,   [ARG_B16] = EXEC_ARG_B16,
};
static const enum exec_phase phases[N_PHASES] = {
    [PHASE_RUN] = EXEC_RUN, [PHASE_PACK] = EXEC_PACK, [PHASE_REFERENCE] = EXEC_REFERENCE};
static const enum exec_op ops[N_LAUNCH_OPS] = {
    [LAUNCH_KERNEL] = EXEC_KERNEL, [LAUNCH_FILL] = EXEC_FILL, [LAUNCH_COPY] = EXEC_COPY, [LAUNCH_SYMBOL] = EXEC_SYMBOL};

static void make_arg(const struct program_arg *from, struct exec_arg *to)
{
    to->kind = kinds[from->kind];
    const bool is_real = from->kind == ARG_F32 || from->kind == ARG_F64;
    to->integer = from->kind == ARG_BUFFER ? from->i_buffer : is_real ? 0 : from->integer;
    to->real = is_real ? from->real : 0.0;
    for (int d = 0; d < EXEC_NEST; d++)
        to->bump[d] = from->bump[d];
}

/* Arguments of a fill: the buffer, one element as a little-endian number, its bytes. */
static enum err make_fill(struct making *m, const struct program_launch *from, struct exec_launch *to)
{
    const enum dtype t = m->p->buffers[from->args[0].i_buffer].dtype;
    unsigned char element[8] = {0};
    uint64_t bits = 0;
    struct exec_arg *args = keep(m, 3, sizeof *args);
    if (args == NULL)
        return no_memory(m);
    assert(from->n_args == 2 && dtype_bytes(t) <= sizeof element);
    dtype_store(t, element, 0, from->args[1].real);
    for (int i = 7; i >= 0; i--)
        bits = bits << 8 | element[i];
    make_arg(&from->args[0], &args[0]);
    args[1] = (struct exec_arg){.kind = EXEC_ARG_I64, .integer = (int64_t)bits};
    args[2] = (struct exec_arg){.kind = EXEC_ARG_I64, .integer = (int64_t)dtype_bytes(t)};
    to->args = args;
    to->n_args = 3;
    return ERR_OK;
}

static enum err make_args(struct making *m, const struct program_launch *from, struct exec_launch *to)
{
    struct exec_arg *args = keep(m, from->n_args + 1, sizeof *args);
    if (args == NULL)
        return no_memory(m);
    for (size_t i = 0; i < from->n_args; i++)
        make_arg(&from->args[i], &args[i]);
    to->args = args;
    to->n_args = (int)from->n_args;
    return ERR_OK;
}

enum exec_phase plan_phase(enum launch_phase phase)
{
    return phases[phase];
}

static enum err make_after(struct making *m, const struct program_launch *from, struct exec_launch *to)
{
    int *after = keep(m, from->n_after + 1, sizeof *after);
    if (after == NULL)
        return no_memory(m);
    for (size_t i = 0; i < from->n_after; i++)
        after[i] = m->launch_index[from->after[i]];
    to->after = after;
    to->n_after = (int)from->n_after;
    return ERR_OK;
}

static enum err make_launch(struct making *m, const struct program_launch *from, struct exec_launch *to)
{
    assert((unsigned)from->op < N_LAUNCH_OPS && from->queue < EXEC_QUEUES);
    to->op = ops[from->op];
    to->phase = plan_phase(from->phase);
    to->i_module = from->i_module;
    to->kernel = keep_text(m, from->kernel);
    for (int d = 0; d < 3; d++) {
        to->grid[d] = (size_t)from->grid[d];
        to->block[d] = (size_t)from->block[d];
    }
    to->dyn_local = from->dyn_local;
    to->cooperative = from->cooperative;
    to->queue = from->queue;
    enum err e = to->kernel != NULL ? make_after(m, from, to) : no_memory(m);
    if (e != ERR_OK)
        return e;
    return from->op == LAUNCH_FILL ? make_fill(m, from, to) : make_args(m, from, to);
}

/* Is the launch part of the plan? */
static bool is_kept(const struct making *m, const struct program_launch *l)
{
    return m->all || l->phase != PHASE_REFERENCE;
}

static enum err make_launches(struct making *m)
{
    struct exec_plan *plan = &m->whole->plan;
    struct exec_launch *launches = keep(m, m->p->n_launches + 1, sizeof *launches);
    m->launch_index = keep(m, m->p->n_launches + 1, sizeof *m->launch_index);
    enum err e = launches != NULL && m->launch_index != NULL ? ERR_OK : no_memory(m);
    for (size_t i = 0; i < m->p->n_launches && e == ERR_OK;
         i++) { /* the index of all first: they wait for later ones */
        m->launch_index[i] = plan->n_launches;
        plan->n_launches += is_kept(m, &m->p->launches[i]);
    }
    for (size_t i = 0; i < m->p->n_launches && e == ERR_OK; i++)
        if (is_kept(m, &m->p->launches[i]))
            e = make_launch(m, &m->p->launches[i], &launches[m->launch_index[i]]);
    plan->launches = launches;
    return e;
}

static enum err make_loops(struct making *m)
{
    struct exec_plan *plan = &m->whole->plan;
    struct exec_loop *loops = keep(m, m->p->n_loops + 1, sizeof *loops);
    if (loops == NULL)
        return no_memory(m);
    for (size_t i = 0; i < m->p->n_loops; i++) {
        const struct program_loop *l = &m->p->loops[i];
        assert(l->first <= l->last && (size_t)l->last < m->p->n_launches);
        if (is_kept(m, &m->p->launches[l->first]))
            loops[plan->n_loops++] = (struct exec_loop){m->launch_index[l->first], m->launch_index[l->last], l->count};
    }
    plan->loops = loops;
    return ERR_OK;
}

static enum err make_plan(struct making *m, struct exec_plan **out)
{
    m->whole = calloc(1, sizeof *m->whole);
    if (m->whole == NULL)
        return no_memory(m);
    m->whole->plan.workload = keep_text(m, m->p->workload != NULL ? m->p->workload : "");
    enum err e = m->whole->plan.workload != NULL ? ERR_OK : no_memory(m);
    e = e == ERR_OK && !m->all ? make_modules(m) : e;
    e = e == ERR_OK ? make_buffers(m) : e;
    e = e == ERR_OK ? make_launches(m) : e;
    e = e == ERR_OK ? make_loops(m) : e;
    if (e != ERR_OK) {
        plan_free(&m->whole->plan);
        return e;
    }
    *out = &m->whole->plan;
    return ERR_OK;
}

enum err plan_of_program(const struct program *p, const struct blobs *blobs, struct exec_plan **out, struct why *why)
{
    struct making m = {.p = p, .blobs = blobs, .why = why};
    return make_plan(&m, out);
}

enum err plan_of_launches(const struct program *p, struct exec_plan **out, struct why *why)
{
    struct making m = {.p = p, .all = true, .why = why};
    return make_plan(&m, out);
}

void plan_free(struct exec_plan *plan)
{
    struct whole *whole = (struct whole *)plan;
    for (struct piece *piece = whole != NULL ? whole->pieces : NULL, *next; piece != NULL; piece = next) {
        next = piece->next;
        free(piece);
    }
    free(whole);
}
