/* SPDX-License-Identifier: MIT */
#include "kernels/build.h"

#include "core/buf.h"
#include "core/err.h"
#include "kernels/epilogue.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ELEMS (((int64_t)1 << 31) - 1)
#define MAX_FILE_TEXT ((size_t)1 << 20)
#define FOLD_GROUP 64  /* work-items */
#define MAX_SPLITS 128 /* values of a knob over divisors */
#define MAX_SPREAD 4   /* knobs of a spread */

int64_t build_int(const struct build *b, const char *name)
{
    return space_int(b->s, b->c, name);
}

const char *build_word(const struct build *b, const char *name)
{
    const int i = space_find_knob(b->s, name);

    assert(i >= 0);
    return space_value(b->s, b->c, (size_t)i).text;
}

int build_tensor(const struct build *b, const char *name)
{
    return program_find_buffer(b->p, name);
}

enum dtype build_sums(const struct build *b)
{
    return dtype_is_bytes(b->w->dtype) ? DTYPE_I32 : sums_in_half(b->w, b->d) ? DTYPE_F16 : DTYPE_F32;
}

int build_buffer(struct build *b, const char *id, enum buffer_role role, enum dtype t, int64_t n_elems)
{
    struct program_buffer *to;

    if (b->e)
        return -1;
    assert(n_elems > 0);
    if (n_elems > MAX_ELEMS) {
        b->e = why_set(b->why, ERR_LIMIT, "buffer %s of %lld elements; the most is %lld", id, (long long)n_elems,
                       (long long)MAX_ELEMS);
        return -1;
    }
    to = program_add_buffer(b->p, id, role, t, n_elems);
    if (!to) {
        b->e = ERR_NOMEM;
        return -1;
    }
    to->n_dims = 1;
    to->shape[0] = n_elems;
    return program_find_buffer(b->p, id);
}

static struct program_module *last_module(struct build *b)
{
    assert(b->p->n_modules > 0);
    return &b->p->modules[b->p->n_modules - 1];
}

void build_define(struct build *b, const char *name, int64_t value)
{
    if (!b->e)
        b->e = program_define(last_module(b), name, value);
}

void build_defines(struct build *b, const struct build_define *list)
{
    for (; list->name; list++)
        build_define(b, list->name, list->value);
}

void build_arch_specific(struct build *b)
{
    struct program_module *m;
    char *options = NULL;

    if (b->e)
        return;
    m = last_module(b);
    if (asprintf(&options, "%s " PROGRAM_ARCH_SPECIFIC, m->options) < 0) {
        b->e = ERR_NOMEM;
        return;
    }
    free(m->options);
    m->options = options;
}

/* Knobs under their names in capitals. */
static void define_knobs(struct build *b)
{
    for (size_t i = 0; i < space_n_knobs(b->s); i++) {
        const struct value v = space_knob_value(b->s, i, b->c->choice[i]);
        char name[PROGRAM_ID_BYTES];
        size_t n = 0;

        if (v.text || v.number != (double)(int64_t)v.number)
            continue;
        for (const char *from = space_knob_name(b->s, i); *from && n + 1 < sizeof name; from++)
            name[n++] = (char)toupper((unsigned char)*from);
        name[n] = '\0';
        build_define(b, name, (int64_t)v.number);
    }
}

/* What the preamble asks about the workload; parts that are off are left out, so that texts keep their hashes. */
static void define_workload(struct build *b)
{
    enum { N_PARTS = 10 };
    static const char *const names[N_PARTS] = {"EPI_BIAS", "EPI_RELU",   "EPI_ADD", "OUT_BYTES",    "EPI_JOIN",
                                               NULL,       "HARD_SWISH", "SWISH",   "HARD_SIGMOID", "SIGMOID"};
    const unsigned bits = workload_has(b->w, "epilogue") ? epilogue_of(b->w) : 0;

    if (b->w->dtype != DTYPE_F32)
        build_define(b, "DT", dtype_of_weights(b->w->dtype));
    if (b->w->dtype == DTYPE_U8)
        build_define(b, "UNSIGNED", 1);
    if (sums_in_half(b->w, b->d)) {
        build_define(b, "SUM_HALF", 1);
        snprintf(b->p->extensions, sizeof b->p->extensions, "%s", b->d->sm ? "fp16" : "cl_khr_fp16");
    }
    for (int i = 0; i < N_PARTS; i++)
        if (names[i] && bits & (1u << i))
            build_define(b, names[i], 1);
}

/* What is pasted behind the preamble for activations other than ReLU, so that the texts of all others stay as they are.
 */
static const char *preamble_of(const struct workload *w)
{
    const unsigned bits = workload_has(w, "epilogue") ? epilogue_of(w) : 0;

    return bits & EPILOGUE_RELU6 ? "preamble_relu6.h+" : bits & EPILOGUE_CURVES ? "preamble_curves.h+" : "";
}

static enum err put_source(struct build *b, const char *name, const struct buf *more, struct sha256 *out)
{
    struct buf text;
    enum err e;

    if (!more)
        return kernel_blob(name, kernel_lang(b->d), b->blobs, out);
    buf_init(&text, more->len + MAX_FILE_TEXT);
    e = kernel_text(name, kernel_lang(b->d), &text);
    if (!e)
        e = buf_append(&text, buf_text(more), more->len);
    if (!e)
        e = blobs_put(b->blobs, buf_text(&text), text.len, out);
    buf_fini(&text);
    return e;
}

void build_module(struct build *b, const char *name)
{
    build_module_behind(b, name, NULL);
}

void build_module_behind(struct build *b, const char *name, const struct buf *more)
{
    struct program_module *m = NULL;
    struct sha256 source;
    char text[128];

    if (b->e)
        return;
    snprintf(text, sizeof text, "%s%s", preamble_of(b->w), name);
    b->e = put_source(b, text, more, &source);
    if (b->e) {
        why_set(b->why, b->e, "kernel file %s: %s", name, err_words(b->e));
        return;
    }
    m = program_add_module(b->p, b->p->n_modules ? name : "kernels", kernel_lang(b->d), "-w");
    if (m)
        m->source = source;
    else
        b->e = ERR_NOMEM;
    define_knobs(b);
    define_workload(b);
}

void build_launch(struct build *b, enum launch_phase phase, const char *kernel, const int64_t grid[3],
                  const int64_t block[3], const int *buffers)
{
    const int64_t items = block[0] * block[1] * block[2];
    struct program_launch *l;

    if (b->e)
        return;
    assert(items > 0 && grid[0] > 0 && grid[1] > 0 && grid[2] > 0);
    assert(block[0] > 0 && block[1] > 0 && block[2] > 0 && b->p->n_modules > 0);
    l = program_add_kernel(b->p, phase, (int)b->p->n_modules - 1, kernel, grid, block);
    b->e = l ? ERR_OK : ERR_NOMEM;
    for (; !b->e && *buffers >= 0; buffers++) {
        assert((size_t)*buffers < b->p->n_buffers);
        b->e = program_arg_buffer(l, *buffers);
    }
    if (items > b->p->needs_work_group)
        b->p->needs_work_group = items;
}

int build_fold_zero(struct build *b, int64_t n_rows, int64_t n_terms)
{
    const int zero = build_tensor(b, "zero"), bias = build_tensor(b, "bias");
    const int64_t most = build_max_side(b->d, 0), group = most < FOLD_GROUP ? most : FOLD_GROUP;

    if (zero < 0)
        return -1;
    b->bias = build_buffer(b, "folded", ROLE_PACKED, DTYPE_I32, CEIL(n_rows, 4) * 4 + 4);
    if (bias < 0)
        build_define(b, "EPI_BIAS", 1);
    build_defines(b, (const struct build_define[]){{"FOLDED", bias < 0 ? 1 : 2},
                                                   {"FOLD_K", n_rows},
                                                   {"FOLD_TERMS", n_terms},
                                                   {"FOLD_ITEMS", group},
                                                   {NULL, 0}});
    build_launch(b, PHASE_PACK, "fold_zero", (const int64_t[]){CEIL(n_rows, group), 1, 1},
                 (const int64_t[]){group, 1, 1}, (const int[]){1, b->bias, zero, bias, -1});
    return b->bias;
}

void build_last_launch(struct build *b, const char *kernel, const int64_t grid[3], const int64_t block[3],
                       const int *buffers)
{
    enum { BIAS = 1 };
    static const char *const names[] = {"y", "bias", "residual", "scale", "sum_scale", "zero"};
    int all[PROGRAM_MAX_ARGS];
    size_t n = 0;

    for (; *buffers >= 0; buffers++) {
        assert(n < PROGRAM_MAX_ARGS);
        all[n++] = *buffers;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (i == BIAS && b->bias)
            all[n++] = b->bias;
        else if (build_tensor(b, names[i]) >= 0)
            all[n++] = build_tensor(b, names[i]);
    assert(n < PROGRAM_MAX_ARGS);
    all[n] = -1;
    build_launch(b, PHASE_RUN, kernel, grid, block, all);
}

enum err build_constants(struct space *s, const struct build_named *list, struct why *why)
{
    enum err e = ERR_OK;

    for (; !e && list->name; list++)
        e = space_add_constant(s, list->name, list->value, why);
    return e;
}

enum err build_knobs(struct space *s, const struct build_knob *list, struct why *why)
{
    enum err e = ERR_OK;

    for (; !e && list->name; list++) {
        size_t n = 0;

        while (n < sizeof list->values / sizeof list->values[0] && list->values[n] != BUILD_END)
            n++;
        assert(n > 0 && n < sizeof list->values / sizeof list->values[0]); /* it has an end */
        e = space_add_knob_ints(s, list->name, why, n, list->values);
    }
    return e;
}

enum err build_quantities(struct space *s, const char *const (*list)[2], struct why *why)
{
    enum err e = ERR_OK;

    for (; !e && (*list)[0]; list++)
        e = space_add_quantity(s, (*list)[0], (*list)[1], why);
    return e;
}

enum err build_constraints(struct space *s, const char *const *list, struct why *why)
{
    enum err e = ERR_OK;

    for (; !e && *list; list++)
        e = space_add_constraint(s, *list, why);
    return e;
}

static bool is_among(int64_t v, const int64_t *values)
{
    for (; *values != BUILD_END; values++)
        if (*values == v)
            return true;
    return false;
}

static enum err add_divisors(struct space *s, const struct build_knob *knob, const struct build_axis *a, bool divide,
                             struct why *why)
{
    int64_t values[MAX_SPLITS], last = divide ? a->most : 0;
    size_t n = 0;

    for (const int64_t *v = knob->values; *v != BUILD_END; v++)
        last = *v > last ? *v : last;
    for (int64_t v = 0; v <= last && n < MAX_SPLITS; v++) {
        const bool divides = divide && v > 0 && v <= a->most &&
                             ((a->lengths[0] && a->lengths[0] % v == 0) || (a->lengths[1] && a->lengths[1] % v == 0));

        if (divides || is_among(v, knob->values))
            values[n++] = v;
    }
    assert(n > 0);
    return space_add_knob_ints(s, knob->name, why, n, values);
}

enum err build_knobs_or_divisors(struct space *s, const struct device_desc *d, const struct build_knob *knobs,
                                 const struct build_axis *axes, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && knobs[i].name; i++) {
        assert(axes[i].name && strcmp(knobs[i].name, axes[i].name) == 0); /* the lists go together */
        e = add_divisors(s, &knobs[i], &axes[i], d->kind != DEVICE_CPU, why);
    }
    return e;
}

struct build_rows build_rows_of(int64_t m, int64_t n)
{
    struct build_rows r = {4, 256, 1};

    while (r.vec > n)
        r.vec /= 2;
    while (r.wg > 1 && r.wg * r.vec >= 2 * n)
        r.wg /= 2;
    while (r.wg * r.rows < 64 && r.rows < m)
        r.rows *= 2;
    return r;
}

enum err build_split_knob(struct space *s, const char *name, int64_t n, int64_t most, struct why *why)
{
    int64_t values[MAX_SPLITS];
    size_t n_values = 0;

    for (int64_t v = 1; v <= n && v <= most && n_values < sizeof values / sizeof values[0]; v++)
        if (n % v == 0 || (v & (v - 1)) == 0)
            values[n_values++] = v;
    assert(n > 0 && most > 0 && n_values > 0);
    return space_add_knob_ints(s, name, why, n_values, values);
}

enum err build_split_knobs(struct space *s, const struct build_split *list, struct why *why)
{
    enum err e = ERR_OK;

    for (; !e && list->name; list++)
        e = build_split_knob(s, list->name, list->n, list->most, why);
    return e;
}

enum err build_space(struct space *s, const struct build_named *constants, const struct build_knob *knobs,
                     const char *const (*quantities)[2], const char *const *constraints, struct why *why)
{
    enum err e = build_constants(s, constants, why);

    if (!e)
        e = build_knobs(s, knobs, why);
    if (!e)
        e = build_quantities(s, quantities, why);
    return e ? e : build_constraints(s, constraints, why);
}

enum err build_limits(struct space *s, const struct device_desc *d, struct why *why)
{
    const struct build_named list[] = {{"lanes", (double)build_vector(d)},
                                       {"max_group", (double)build_max_group(d)},
                                       {"max_x", (double)build_max_side(d, 0)},
                                       {"max_y", (double)build_max_side(d, 1)},
                                       {"max_z", (double)build_max_side(d, 2)},
                                       {"max_local", (double)build_max_local(d)},
                                       {NULL, 0}};

    return build_constants(s, list, why);
}

enum err build_space_on(const struct device_desc *d, struct space *s, const struct build_named *constants,
                        const struct build_knob *knobs, const char *const (*quantities)[2],
                        const char *const *constraints, struct why *why)
{
    const enum err e = build_limits(s, d, why);

    return e ? e : build_space(s, constants, knobs, quantities, constraints, why);
}

void build_choose(const struct space *s, const struct build_define *list, struct config *out)
{
    for (; list->name; list++) {
        const int i = space_find_knob(s, list->name);
        double best = -1;

        for (size_t v = 0; i >= 0 && v < space_n_values(s, (size_t)i); v++) {
            const double number = space_knob_value(s, (size_t)i, v).number;

            if (number > (double)list->value || number < best)
                continue;
            best = number;
            out->choice[i] = (uint16_t)v;
        }
    }
}

bool build_choose_if_valid(const struct space *s, const struct build_define *list, struct config *c)
{
    struct config chosen = *c;

    build_choose(s, list, &chosen);
    if (!space_is_valid(s, &chosen, NULL))
        return false;
    *c = chosen;
    return true;
}

enum err build_make_valid(const struct space *s, const char *const *names, struct config *c)
{
    for (bool moved = true; moved;) {
        if (space_is_valid(s, c, NULL))
            return ERR_OK;
        moved = false;
        for (size_t n = 0; names[n]; n++) {
            const int i = space_find_knob(s, names[n]);

            if (i < 0 || c->choice[i] == 0)
                continue;
            c->choice[i]--;
            moved = true;
            if (space_is_valid(s, c, NULL))
                return ERR_OK;
        }
    }
    return ERR_NOT_FOUND;
}

int64_t build_vector(const struct device_desc *d)
{
    return d->vector_bits >= 512 ? 16 : d->vector_bits >= 256 ? 8 : d->vector_bits >= 64 ? 4 : 1;
}

static int64_t mali_warp(const char *name)
{
    static const struct {
        const char *name;
        int64_t warp;
    } bifrost[] = {{"Mali-G31", 4}, {"Mali-G51", 4}, {"Mali-G71", 4},
                   {"Mali-G72", 4}, {"Mali-G52", 8}, {"Mali-G76", 8}};

    for (size_t i = 0; i < sizeof bifrost / sizeof bifrost[0]; i++) {
        const char *found = strstr(name, bifrost[i].name);

        if (found && !isdigit((unsigned char)found[strlen(bifrost[i].name)])) /* a Mali-G310 is a Valhall */
            return bifrost[i].warp;
    }
    return strstr(name, "Mali-T") ? 1 : 16;
}

int64_t build_warp(const struct device_desc *d)
{
    if (d->kind == DEVICE_MALI)
        return mali_warp(d->name);
    return d->kind == DEVICE_CPU ? 1 : 32;
}

struct build_knob build_vectors(int64_t lanes)
{
    struct build_knob k = {"vec", {1}};
    size_t n = 1;

    for (int64_t v = 2; v <= 16 && lanes % v == 0; v *= 2)
        k.values[n++] = v;
    assert(n < sizeof k.values / sizeof k.values[0]);
    k.values[n] = BUILD_END;
    return k;
}

int64_t build_max_group(const struct device_desc *d)
{
    return d->max_work_group > 0 ? d->max_work_group : 256;
}

int64_t build_threads(const struct device_desc *d)
{
    const int64_t n = d->threads ? d->threads : d->units;

    return n < 1 ? 1 : n;
}

/* A thread is woken later than another, or kept from its work for a while: what is waited for at the end is a part of
 * an item, on average, and never more than the delay. */
#define TAIL 0.25
#define MOST_TAIL 20000
#define MANY 4          /* items of a thread: large and small ones among them */
#define LEAST_GAIN 1e-9 /* of smaller items: more than rounding */

double build_makespan(const struct device_desc *d, struct build_items items)
{
    const int64_t threads = build_threads(d);
    const double tail = TAIL * items.cycles, share = items.whole > 0 && items.n >= MANY * threads ? items.whole : 1;

    if (threads == 1)
        return (double)items.n * items.cycles;
    return (double)CEIL(items.n, threads) * items.cycles * share + (tail < MOST_TAIL ? tail : MOST_TAIL);
}

double build_weight_cycles(double bytes)
{
    return bytes < (1 << 20) ? 0.1 : bytes < (1 << 24) ? 0.4 : 1;
}

/* Knobs on their way down from the default's values. */
struct spread {
    const struct space *s;
    const struct device_desc *d;
    build_items_fn *items;
    const void *arg;
    size_t n, knobs[MAX_SPREAD];
};

static double spread_cycles(const struct spread *a, const struct config *c)
{
    int64_t v[MAX_SPREAD];

    for (size_t i = 0; i < a->n; i++)
        v[i] = (int64_t)space_knob_value(a->s, a->knobs[i], c->choice[a->knobs[i]]).number;
    return build_makespan(a->d, a->items(v, a->arg));
}

/* The next lower combination: the first knob fastest, again from its value in `from`. False behind the last. */
static bool spread_next(const struct spread *a, const struct config *from, struct config *c)
{
    for (size_t i = 0; i < a->n; i++) {
        if (c->choice[a->knobs[i]]-- > 0)
            return true;
        c->choice[a->knobs[i]] = from->choice[a->knobs[i]];
    }
    return false;
}

void build_spread(const struct space *s, const struct device_desc *d, const char *const *knobs, build_items_fn *items,
                  const void *arg, struct config *c)
{
    struct spread a = {.s = s, .d = d, .items = items, .arg = arg};
    const struct config from = *c;
    struct config at = from;
    double best;

    if (build_threads(d) == 1)
        return;
    for (; knobs[a.n]; a.n++)
        a.knobs[a.n] = (size_t)space_find_knob(s, knobs[a.n]);
    best = spread_cycles(&a, &from);
    while (spread_next(&a, &from, &at)) {
        const double cycles = spread_cycles(&a, &at);

        if (cycles >= best * (1 - LEAST_GAIN) || !space_is_valid(s, &at, NULL))
            continue;
        best = cycles;
        *c = at;
    }
}

int64_t build_max_side(const struct device_desc *d, int axis)
{
    return d->max_local[axis] > 0 ? d->max_local[axis] : build_max_group(d);
}

int64_t build_max_local(const struct device_desc *d)
{
    return d->local_bytes > 0 ? d->local_bytes : 32768;
}
