/* SPDX-License-Identifier: MIT */
/* program_check.c - is an untrusted program sane? Every index, size, name and limit. */
#include "runtime/program_loops.h"
#include "core/err.h"
#include "core/json.h"
#include "runtime/program_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT_BYTES 1024
#define MAX_GRID INT32_MAX
#define MAX_BLOCK ((int64_t)1 << 24)
#define MAX_ITEMS ((int64_t)1 << 53) /* work-items of one launch */
#define MAX_LOCAL_BYTES ((int64_t)1 << 30)
#define MAX_KNOBS 64
#define N_QUEUES 8

static const char name_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
static const char value_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
static const char identifier_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
static const char option_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-=,:/ ";
static const char list_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ";

static bool only(const char *text, const char *chars)
{
    return text[strspn(text, chars)] == '\0';
}

static bool is_name(const char *text)
{
    return text[0] && only(text, name_chars);
}

static bool is_identifier(const char *text)
{
    return text[0] && !(text[0] >= '0' && text[0] <= '9') && only(text, identifier_chars);
}

/* One printable line; NULL is "". */
static bool is_line(const char *text)
{
    const unsigned char *c = (const unsigned char *)(text ? text : "");
    size_t n = 0;

    for (; *c; c++, n++)
        if (*c < 0x20 || *c == 0x7f)
            return false;
    return n < MAX_TEXT_BYTES;
}

static bool is_hash(const struct sha256 *s, bool may_be_empty)
{
    return s->hex[0] ? sha256_is_hex(s->hex) : may_be_empty;
}

/* A finite number that is not negative. */
static bool is_amount(double v)
{
    return v >= 0 && isfinite(v);
}

static enum err check_knobs(const cJSON *knobs, struct why *why)
{
    const cJSON *k;
    int n = 0;

    if (!knobs)
        return ERR_OK;
    if (!cJSON_IsObject(knobs))
        return why_set(why, ERR_INPUT, "'knobs' is not an object");
    cJSON_ArrayForEach(k, knobs)
    {
        if (++n > MAX_KNOBS)
            return why_set(why, ERR_LIMIT, "more than %d knobs", MAX_KNOBS);
        if (!k->string || !is_name(k->string) || strlen(k->string) >= PROGRAM_ID_BYTES + 24)
            return why_set(why, ERR_INPUT, "knob %d has a bad name", n - 1);
        if (cJSON_GetObjectItemCaseSensitive(knobs, k->string) != k)
            return why_set(why, ERR_INPUT, "knob '%s' twice", k->string);
        if (!(cJSON_IsNumber(k) && isfinite(k->valuedouble)) && !(cJSON_IsString(k) && is_line(k->valuestring)))
            return why_set(why, ERR_INPUT, "knob '%s' is neither a number nor a word", k->string);
    }
    return ERR_OK;
}

static enum err check_head(const struct program *p, struct why *why)
{
    if (!is_line(p->workload) || !is_line(p->template_id))
        return why_set(why, ERR_INPUT, "'workload' and 'template' are one line of at most %d bytes",
                       MAX_TEXT_BYTES - 1);
    if (p->template_version < 0)
        return why_set(why, ERR_INPUT, "'template_version' is negative");
    if (!only(p->numerics, name_chars))
        return why_set(why, ERR_INPUT, "'numerics' has characters other than letters, digits, _ . -");
    if (!is_amount(p->flops) || !is_amount(p->flops_effective) || !is_amount(p->bytes_min))
        return why_set(why, ERR_INPUT, "a count of 'cost' is negative or no number");
    if (!is_amount(p->build_s) || !is_amount(p->run_s) || p->memory_bytes < 0 || p->memory_bytes > JSON_EXACT_MAX)
        return why_set(why, ERR_INPUT, "a limit is negative or no number");
    if (!only(p->api, name_chars) || !only(p->std, name_chars) || !only(p->extensions, list_chars))
        return why_set(why, ERR_INPUT, "'requires' has characters other than letters, digits, _ . -");
    if (p->needs_work_group < 0 || p->needs_work_group > MAX_ITEMS || p->needs_local_bytes < 0 ||
        p->needs_local_bytes > JSON_EXACT_MAX)
        return why_set(why, ERR_INPUT, "'wg_max' or 'local_bytes' of 'requires' is out of range");
    return check_knobs(p->knobs, why);
}

static enum err check_define(const struct program_module *m, size_t i, struct why *why)
{
    const struct program_define *d = &m->defines[i];

    if (!is_identifier(d->name))
        return why_set(why, ERR_INPUT, "module '%s': define '%s' is not an identifier", m->id, d->name);
    if (!d->value[0] || !only(d->value, value_chars))
        return why_set(why, ERR_INPUT, "module '%s': value of define '%s' is not made of letters, digits, _ . + -",
                       m->id, d->name);
    for (size_t j = 0; j < i; j++)
        if (strcmp(m->defines[j].name, d->name) == 0)
            return why_set(why, ERR_INPUT, "module '%s': define '%s' twice", m->id, d->name);
    return ERR_OK;
}

static enum err check_module(const struct program *p, size_t i, struct why *why)
{
    const struct program_module *m = &p->modules[i];
    const char *options = m->options ? m->options : "";
    enum err e = ERR_OK;

    if (!is_name(m->id))
        return why_set(why, ERR_INPUT, "module %zu: a name is made of letters, digits, _ . -", i);
    for (size_t j = 0; j < i; j++)
        if (strcmp(p->modules[j].id, m->id) == 0)
            return why_set(why, ERR_INPUT, "two modules are named '%s'", m->id);
    if ((unsigned)m->lang >= N_LANGS)
        return why_set(why, ERR_INPUT, "module '%s': unknown language", m->id);
    if (!is_hash(&m->source, false))
        return why_set(why, ERR_INPUT, "module '%s': 'sha256' is not 64 lower-case hex digits", m->id);
    if (strlen(options) >= MAX_TEXT_BYTES || !only(options, option_chars))
        return why_set(why, ERR_INPUT,
                       "module '%s': options over %d bytes or with characters other than letters, digits, "
                       "space and _.+-=,:/",
                       m->id, MAX_TEXT_BYTES - 1);
    for (size_t d = 0; !e && d < m->n_defines; d++)
        e = check_define(m, d, why);
    return e;
}

static enum err check_fold(const struct program_fold *f, const char *buffer, int64_t n_elems, struct why *why)
{
    if (f->of == 0)
        return ERR_OK;
    if (f->of < 1 || f->inner < 1 || f->cols < f->of || f->seed >= (uint64_t)JSON_EXACT_MAX ||
        f->cols > n_elems / f->inner || n_elems % (f->inner * f->cols))
        return why_set(why, ERR_INPUT, "buffer '%s': its %lld elements are not columns to fold", buffer,
                       (long long)n_elems);
    return ERR_OK;
}

/* Do rows, windows and planes of what looks like something go into one another? */
static bool parts_fit(const struct program_fill *f)
{
    switch (f->kind) {
    case FILL_PIXELS:
        return f->seen >= 1 && f->block >= 1 && f->plane >= 1 && f->block % f->seen == 0 && f->plane % f->block == 0;
    case FILL_PREFIXES:
        return f->block >= 1 && f->plane >= 1 && f->plane % f->block == 0;
    case FILL_FILTERS:
        return f->seen >= 1 && f->block >= 1 && f->plane >= 1 && f->plane % f->seen == 0 && f->block % f->plane == 0 &&
               f->lo <= 0;
    case FILL_NEAR:
        return f->block >= 1 && f->hi >= 0 && f->hi <= (double)JSON_EXACT_MAX;
    case FILL_VALUE:
        return !f->zeros || (f->hi >= 0 && f->hi <= 7);
    case FILL_PICKS:
        return f->step > 0;
    case FILL_TIES:
        return f->block >= 1 && f->lo < f->hi;
    default:
        return true;
    }
}

static enum err check_fill(const struct program_fill *f, const char *buffer, int64_t n_elems, struct why *why)
{
    if ((unsigned)f->kind >= N_FILLS)
        return why_set(why, ERR_INPUT, "buffer '%s': unknown kind of fill", buffer);
    if (f->seed >= (uint64_t)JSON_EXACT_MAX)
        return why_set(why, ERR_INPUT, "buffer '%s': a seed is below 2^53", buffer);
    if (!isfinite(f->lo) || !isfinite(f->hi) || !isfinite(f->step))
        return why_set(why, ERR_INPUT, "buffer '%s': a bound of the fill is no number", buffer);
    if ((f->kind == FILL_INT || f->kind == FILL_EDGES || f->kind == FILL_FLOATS || f->kind == FILL_PIXELS ||
         f->kind == FILL_PREFIXES || f->kind == FILL_FILTERS || f->kind == FILL_TIES) &&
        !(f->lo == rint(f->lo) && f->hi == rint(f->hi) && f->lo <= f->hi && f->lo >= -(double)JSON_EXACT_MAX &&
          f->hi <= (double)JSON_EXACT_MAX))
        return why_set(why, ERR_INPUT, "buffer '%s': the fill needs whole bounds lo <= hi", buffer);
    if (f->block < 0 || f->zeros < 0 || f->seen < 0 || f->plane < 0 || (f->kind == FILL_WIDE && f->step < 0) ||
        (f->kind == FILL_ROWS && f->block < 1) || (f->kind == FILL_BANDS && (f->block < 1 || f->lo < 1 || f->step < 1)))
        return why_set(why, ERR_INPUT,
                       "buffer '%s': a wide fill needs a factor and blocks that are not negative, rows need a block, "
                       "bands that and lo and step of 1 or more",
                       buffer);
    if (!parts_fit(f))
        return why_set(
            why, ERR_INPUT,
            "buffer '%s': pixels need seen, block and plane, prefixes block and plane, filters seen, plane and "
            "block, each a multiple of the one before; near and ties need a block, picks a step above 0",
            buffer);
    if (!is_hash(&f->blob, f->kind != FILL_BLOB) || (f->blob.hex[0] && f->kind != FILL_BLOB))
        return why_set(why, ERR_INPUT, "buffer '%s': 'sha256' belongs to a fill of kind blob, 64 hex digits", buffer);
    return check_fold(&f->fold, buffer, n_elems, why);
}

/* True when the product of the shape is n_elems; no shape is right too. */
static bool shape_fits(const struct program_buffer *b)
{
    int64_t left = b->n_elems;

    if (b->n_dims < 0 || b->n_dims > 8)
        return false;
    for (int i = 0; i < b->n_dims; i++) {
        if (b->shape[i] < 1 || left % b->shape[i])
            return false;
        left /= b->shape[i];
    }
    return b->n_dims == 0 || left == 1;
}

static enum err check_buffer(const struct program *p, size_t i, int64_t *left_bytes, struct why *why)
{
    const struct program_buffer *b = &p->buffers[i];

    if (!is_name(b->id))
        return why_set(why, ERR_INPUT, "buffer %zu: a name is made of letters, digits, _ . -", i);
    for (size_t j = 0; j < i; j++)
        if (strcmp(p->buffers[j].id, b->id) == 0)
            return why_set(why, ERR_INPUT, "two buffers are named '%s'", b->id);
    if ((unsigned)b->role >= N_ROLES || (unsigned)b->dtype >= N_DTYPES)
        return why_set(why, ERR_INPUT, "buffer '%s': unknown role or dtype", b->id);
    if (b->n_elems < 1 || b->n_elems > *left_bytes / (int64_t)dtype_bytes(b->dtype))
        return why_set(why, ERR_LIMIT, "buffer '%s': %lld elements; at least 1, and all buffers at most %lld GiB",
                       b->id, (long long)b->n_elems, (long long)(PROGRAM_MAX_BUFFER_BYTES >> 30));
    *left_bytes -= b->n_elems * (int64_t)dtype_bytes(b->dtype);
    if (!shape_fits(b))
        return why_set(why, ERR_INPUT, "buffer '%s': the shape's product is not %lld", b->id, (long long)b->n_elems);
    if (!only(b->layout, name_chars))
        return why_set(why, ERR_INPUT, "buffer '%s': a layout is made of letters, digits, _ . -", b->id);
    return check_fill(&b->fill, b->id, b->n_elems, why);
}

static int64_t bytes_of(const struct program_buffer *b)
{
    return b->n_elems * (int64_t)dtype_bytes(b->dtype);
}

static bool is_buffer(const struct program *p, int i)
{
    return i >= 0 && (size_t)i < p->n_buffers;
}

static enum err check_sizes(const struct program_launch *l, struct why *why)
{
    int64_t items = 1;

    for (int i = 0; i < 3; i++) {
        if (l->grid[i] < 1 || l->grid[i] > MAX_GRID || l->block[i] < 1 || l->block[i] > MAX_BLOCK)
            return why_set(why, ERR_INPUT, "launch '%s': grid is 1..%d, block 1..%lld", l->id, MAX_GRID,
                           (long long)MAX_BLOCK);
        if (items > MAX_ITEMS / l->grid[i] || items * l->grid[i] > MAX_ITEMS / l->block[i])
            return why_set(why, ERR_LIMIT, "launch '%s': more than 2^53 work-items", l->id);
        items *= l->grid[i] * l->block[i];
    }
    return ERR_OK;
}

static bool arg_is_sane(const struct program *p, const struct program_arg *a)
{
    switch (a->kind) {
    case ARG_BUFFER:
        return is_buffer(p, a->i_buffer);
    case ARG_I32:
        return a->integer >= INT32_MIN && a->integer <= INT32_MAX;
    case ARG_U32:
        return a->integer >= 0 && a->integer <= UINT32_MAX;
    case ARG_I64:
        return a->integer >= -JSON_EXACT_MAX && a->integer <= JSON_EXACT_MAX;
    case ARG_F32:
        return isfinite(a->real) && isfinite((float)a->real);
    case ARG_F64:
        return isfinite(a->real);
    case ARG_B8:
        return a->integer >= 0 && a->integer <= UINT8_MAX;
    case ARG_B16:
        return a->integer >= 0 && a->integer <= UINT16_MAX;
    case ARG_LOCAL:
        return a->integer >= 1 && a->integer <= MAX_LOCAL_BYTES;
    default:
        return false;
    }
}

static enum err check_kernel(const struct program *p, const struct program_launch *l, struct why *why)
{
    if (l->i_module < 0 || (size_t)l->i_module >= p->n_modules)
        return why_set(why, ERR_INPUT, "launch '%s': no such module", l->id);
    if (!is_identifier(l->kernel))
        return why_set(why, ERR_INPUT, "launch '%s': the kernel's name is not an identifier", l->id);
    return check_sizes(l, why);
}

static enum err check_fill_launch(const struct program *p, const struct program_launch *l, struct why *why)
{
    if (l->n_args != 2 || l->args[0].kind != ARG_BUFFER || l->args[1].kind != ARG_F32)
        return why_set(why, ERR_INPUT, "launch '%s': a fill has the arguments buf, f32", l->id);
    if (p->buffers[l->args[0].i_buffer].dtype == DTYPE_F64)
        return why_set(why, ERR_INPUT, "launch '%s': a fill launch sets no f64", l->id);
    return ERR_OK;
}

static enum err check_copy_launch(const struct program *p, const struct program_launch *l, struct why *why)
{
    int64_t n;

    if (l->n_args != 3 || l->args[0].kind != ARG_BUFFER || l->args[1].kind != ARG_BUFFER || l->args[2].kind != ARG_I64)
        return why_set(why, ERR_INPUT, "launch '%s': a copy has the arguments buf (to), buf (from), i64 (bytes)",
                       l->id);
    n = l->args[2].integer;
    if (l->args[0].i_buffer == l->args[1].i_buffer || n < 1 || n > bytes_of(&p->buffers[l->args[0].i_buffer]) ||
        n > bytes_of(&p->buffers[l->args[1].i_buffer]))
        return why_set(why, ERR_INPUT, "launch '%s': a copy goes between two buffers, within both", l->id);
    return ERR_OK;
}

static enum err check_symbol_launch(const struct program *p, const struct program_launch *l, struct why *why)
{
    if (l->i_module < 0 || (size_t)l->i_module >= p->n_modules || p->modules[l->i_module].lang != LANG_CUDA_C)
        return why_set(why, ERR_INPUT, "launch '%s': a symbol is a variable of a module in CUDA C", l->id);
    if (!is_identifier(l->kernel))
        return why_set(why, ERR_INPUT, "launch '%s': the symbol's name is not an identifier", l->id);
    if (l->n_args != 2 || l->args[0].kind != ARG_BUFFER || l->args[1].kind != ARG_I64 || l->args[1].integer < 1 ||
        l->args[1].integer > bytes_of(&p->buffers[l->args[0].i_buffer]))
        return why_set(why, ERR_INPUT, "launch '%s': a symbol has the arguments buf (from), i64 (bytes, within it)",
                       l->id);
    return ERR_OK;
}

static enum err (*const launch_checks[N_LAUNCH_OPS])(const struct program *, const struct program_launch *,
                                                     struct why *) = {[LAUNCH_KERNEL] = check_kernel,
                                                                      [LAUNCH_FILL] = check_fill_launch,
                                                                      [LAUNCH_COPY] = check_copy_launch,
                                                                      [LAUNCH_SYMBOL] = check_symbol_launch};

static enum err check_launch(const struct program *p, size_t i, struct why *why)
{
    const struct program_launch *l = &p->launches[i];

    if (!is_name(l->id))
        return why_set(why, ERR_INPUT, "launch %zu: a name is made of letters, digits, _ . -", i);
    if (l->dyn_local < 0 || l->dyn_local > INT32_MAX)
        return why_set(why, ERR_INPUT, "launch '%s': dyn_local is 0..%d bytes", l->id, INT32_MAX);
    if ((unsigned)l->op >= N_LAUNCH_OPS || (unsigned)l->phase >= N_PHASES || l->queue < 0 || l->queue >= N_QUEUES)
        return why_set(why, ERR_INPUT, "launch '%s': unknown op or phase, or a queue outside 0..%d", l->id,
                       N_QUEUES - 1);
    for (size_t a = 0; a < l->n_args; a++)
        if (!arg_is_sane(p, &l->args[a]))
            return why_set(why, ERR_INPUT, "launch '%s': argument %zu is out of range", l->id, a);
    for (size_t a = 0; a < l->n_after; a++)
        if (l->after[a] < 0 || (size_t)l->after[a] >= p->n_launches || p->launches[l->after[a]].phase != l->phase ||
            ((size_t)l->after[a] >= i && !program_share_loop(p, i, (size_t)l->after[a])))
            return why_set(why, ERR_INPUT,
                           "launch '%s': 'after' names earlier launches of the same phase, or any in a loop with it",
                           l->id);
    return launch_checks[l->op](p, l, why);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum err check_launch_names(const struct program *p, struct why *why)
{
    const char **names = malloc((p->n_launches + 1) * sizeof *names);
    enum err e = ERR_OK;

    if (!names)
        return ERR_NOMEM;
    for (size_t i = 0; i < p->n_launches; i++)
        names[i] = p->launches[i].id;
    qsort(names, p->n_launches, sizeof *names, by_text);
    for (size_t i = 1; !e && i < p->n_launches; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            e = why_set(why, ERR_INPUT, "two launches are named '%s'", names[i]);
    free(names);
    return e;
}

static enum err check_sample(const struct program *p, const struct program_check *c, struct why *why)
{
    const struct program_buffer *b = &p->buffers[c->i_buffer];

    if (c->n < 1 || c->n > PROGRAM_MAX_SAMPLES || (!c->indices.hex[0] && c->n > b->n_elems))
        return why_set(why, ERR_INPUT, "sample of '%s': n is 1..%lld, without indices at most the buffer's elements",
                       b->id, (long long)PROGRAM_MAX_SAMPLES);
    if (!c->values.hex[0])
        return why_set(why, ERR_INPUT, "sample of '%s': 'values' is missing", b->id);
    if (c->fold.of && (c->indices.hex[0] || check_fold(&c->fold, b->id, b->n_elems, NULL) ||
                       c->n != b->n_elems / c->fold.cols * c->fold.of))
        return why_set(why, ERR_INPUT, "sample of '%s': a folded one has a value for each element of its columns",
                       b->id);
    return ERR_OK;
}

static bool view_fits(const struct program_check *c, int64_t n)
{
    const int64_t parts[] = {c->outer, c->axis, c->inner, c->lanes ? c->lanes : 1};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i] < 1 || n % parts[i])
            return false;
        n /= parts[i];
    }
    return n == 1;
}

static enum err check_project(const struct program *p, const struct program_check *c, struct why *why)
{
    const struct program_buffer *b = &p->buffers[c->i_buffer];

    if (!view_fits(c, b->n_elems))
        return why_set(why, ERR_INPUT, "project of '%s': outer * axis * inner * lanes is not %lld", b->id,
                       (long long)b->n_elems);
    if (c->outer * c->inner > PROGRAM_MAX_SAMPLES)
        return why_set(why, ERR_LIMIT, "project of '%s': more than %lld sums", b->id, (long long)PROGRAM_MAX_SAMPLES);
    if (!c->values.hex[0] || c->tolerance != 0)
        return why_set(why, ERR_INPUT, "project of '%s': needs 'values' and takes no tolerance", b->id);
    return ERR_OK;
}

static enum err check_reference(const struct program *p, const struct program_check *c, struct why *why)
{
    if (!is_buffer(p, c->i_reference) || c->i_reference == c->i_buffer ||
        p->buffers[c->i_reference].n_elems != p->buffers[c->i_buffer].n_elems)
        return why_set(why, ERR_INPUT, "check of '%s': 'reference' is another buffer with as many elements",
                       p->buffers[c->i_buffer].id);
    if ((unsigned)c->relative >= N_RELATIVES || (c->relative != RELATIVE_NO && c->tolerance == 0))
        return why_set(why, ERR_INPUT, "check of '%s': 'relative' needs a tolerance", p->buffers[c->i_buffer].id);
    return ERR_OK;
}

static enum err (*const checks_of_checks[N_CHECKS])(const struct program *, const struct program_check *,
                                                    struct why *) = {
    [CHECK_SAMPLE] = check_sample, [CHECK_PROJECT] = check_project, [CHECK_BUFFER] = check_reference};

static enum err check_check(const struct program *p, const struct program_check *c, struct why *why)
{
    if ((unsigned)c->kind >= N_CHECKS || !is_buffer(p, c->i_buffer))
        return why_set(why, ERR_INPUT, "a check of unknown kind or of a buffer that there is not");
    if (!is_amount(c->tolerance) || c->seed >= (uint64_t)JSON_EXACT_MAX)
        return why_set(why, ERR_INPUT, "check of '%s': bad tolerance or seed", p->buffers[c->i_buffer].id);
    if (!is_hash(&c->indices, true) || !is_hash(&c->values, true) || !is_hash(&c->scale, true))
        return why_set(why, ERR_INPUT, "check of '%s': a blob's name is 64 lower-case hex digits",
                       p->buffers[c->i_buffer].id);
    if (c->kind != CHECK_SAMPLE && (c->indices.hex[0] || c->scale.hex[0] || c->n))
        return why_set(why, ERR_INPUT, "check of '%s': 'n', 'indices' and 'scale' belong to samples",
                       p->buffers[c->i_buffer].id);
    if (c->fold.of && c->kind != CHECK_SAMPLE)
        return why_set(why, ERR_INPUT, "check of '%s': 'fold' belongs to samples", p->buffers[c->i_buffer].id);
    return checks_of_checks[c->kind](p, c, why);
}

static enum err check_pass(const struct program *p, const struct program_pass *pass, struct why *why)
{
    enum err e = ERR_OK;

    if (!is_name(pass->id))
        return why_set(why, ERR_INPUT, "a pass without a name of letters, digits, _ . -");
    for (size_t i = 0; i < pass->n_fills; i++) {
        if (!is_buffer(p, pass->fills[i].i_buffer))
            return why_set(why, ERR_INPUT, "pass '%s': fill %zu names no buffer", pass->id, i);
        for (size_t j = 0; j < i; j++)
            if (pass->fills[j].i_buffer == pass->fills[i].i_buffer)
                return why_set(why, ERR_INPUT, "pass '%s': two fills of one buffer", pass->id);
        e = check_fill(&pass->fills[i].fill, p->buffers[pass->fills[i].i_buffer].id,
                       p->buffers[pass->fills[i].i_buffer].n_elems, why);
        if (e)
            return why_prefix(why, e, "pass '%s'", pass->id);
    }
    for (size_t i = 0; !e && i < pass->n_checks; i++)
        e = check_check(p, &pass->checks[i], why);
    return e ? why_prefix(why, e, "pass '%s'", pass->id) : ERR_OK;
}

/* With launches there is something to time. */
static enum err check_phases(const struct program *p, struct why *why)
{
    for (size_t i = 0; i < p->n_launches; i++)
        if (p->launches[i].phase == PHASE_RUN)
            return ERR_OK;
    if (p->n_launches || p->n_modules)
        return why_set(why, ERR_INPUT, "no launch of phase run");
    return ERR_OK;
}

enum err program_check_sane(const struct program *p, struct why *why)
{
    int64_t left_bytes = PROGRAM_MAX_BUFFER_BYTES;
    enum err e;

    if (p->n_modules > PROGRAM_MAX_MODULES || p->n_buffers > PROGRAM_MAX_BUFFERS ||
        p->n_launches > PROGRAM_MAX_LAUNCHES || p->n_loops > PROGRAM_MAX_LOOPS || p->n_passes > PROGRAM_MAX_PASSES)
        return why_set(why, ERR_LIMIT, "too many modules, buffers, launches or passes");
    e = check_head(p, why);
    for (size_t i = 0; !e && i < p->n_modules; i++)
        e = check_module(p, i, why);
    for (size_t i = 0; !e && i < p->n_buffers; i++)
        e = check_buffer(p, i, &left_bytes, why);
    if (!e)
        e = check_launch_names(p, why);
    for (size_t i = 0; !e && i < p->n_launches; i++)
        e = check_launch(p, i, why);
    if (!e)
        e = program_check_loops(p, why);
    if (!e)
        e = check_phases(p, why);
    if (!e)
        e = program_check_order(p, why);
    for (size_t i = 0; !e && i < p->n_passes; i++)
        e = check_pass(p, &p->passes[i], why);
    return e;
}
