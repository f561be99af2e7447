/* SPDX-License-Identifier: MIT */
#include "kernels/expect.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/rng.h"
#include "kernels/expect_like.h"
#include "kernels/expect_wide.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N_CACHED 32
#define MAX_SHEET 6 /* of PROGRAM_MAX_PASSES, two of one mode */
#define MAX_AHEAD 16
#define MOST_TOGETHER 6 /* of large layers each takes some 100 MB */
#define WATCH_NS ((int64_t)100 * 1000 * 1000)
#define MAX_BLOB_BYTES ((size_t)1 << 30)
#define LEAST_NORMAL_F16 0x1p-14
#define MOST_OF_F32_SUMS 5e-3 /* tolerances of halves that are summed in f32 are below, of such in f16 above */

/* What is expected beside the workload. */
struct expect_what {
    enum exact_data data;
    enum expect_mode mode;
    uint64_t seed;
};

/* One output's values as blobs. */
struct kept_output {
    struct sha256 indices, exact, random, scale, project;
};

/* One workload's expected outputs. */
struct entry {
    char *workload;
    struct expect_what what;
    uint64_t used; /* for the least recently used */
    struct blobs blobs;
    struct kept_output outputs[EXPECT_MAX_OUTPUTS];
    struct expected head; /* fills and sizes; its arrays are gone */
};

static struct entry cache[N_CACHED];
static uint64_t n_uses;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct expect_watch watch;

struct expect_watch expect_set_watch(struct expect_watch next)
{
    const struct expect_watch before = watch;

    watch = next;
    return before;
}

/* Outputs of bf16 hold whole numbers up to 256; sums of so many products of -1, 0, 1 (standard deviation 2/3 of the
 * root) stay below by 7 standard deviations. */
#define BF16_EXACT_TERMS 3000.0

/* May sums of outputs be compared exactly? Not where single outputs are rounded. */
static bool sums_are_exact(const struct expected *e, double flops)
{
    const struct tensor *y = &e->tensors[0];

    for (size_t i = 0; i < e->n_tensors; i++)
        if (e->tensors[i].role == ROLE_OUTPUT)
            y = &e->tensors[i];
    return y->dtype != DTYPE_BF16 || flops / 2 / (double)y->n_elems <= BF16_EXACT_TERMS;
}

/* Seeds of the run's own, for what is drawn: of 48 bits, which any JSON keeps. Weights that a program has baked into
 * its text are no tensors. */
static void reseed(struct program_fill *f, uint64_t seed)
{
    if (f->kind == FILL_INT || f->kind == FILL_NORMAL)
        f->seed = rng_at(seed, f->seed) >> 16;
}

void expected_begin(const struct workload *w, enum exact_data data, struct expected *e)
{
    expected_begin_for(w, data, EXPECT_PROGRAM, 0, e);
}

void expected_begin_for(const struct workload *w, enum exact_data data, enum expect_mode mode, uint64_t seed,
                        struct expected *e)
{
    memset(e, 0, sizeof *e);
    e->n_tensors = w->op->tensors(w, e->tensors);
    e->has_exact = data != EXACT_NONE && mode != EXPECT_FOLDED;
    e->mode = mode;
    e->seed = seed;
    for (size_t i = 0; seed && i < e->n_tensors; i++) {
        reseed(&e->tensors[i].exact, seed);
        reseed(&e->tensors[i].random, seed);
    }
    for (size_t i = 0; mode != EXPECT_PROGRAM && mode != EXPECT_FOLDED && i < e->n_tensors; i++)
        if (e->tensors[i].role != ROLE_OUTPUT)
            expect_widen(w, data, mode, &e->tensors[i]);
    expect_share_seeds(e);
    e->no_sums = !sums_are_exact(e, w->op->flops(w)) || expect_rounds(w, mode);
}

struct tensor *expected_tensor(struct expected *e, const char *name)
{
    for (size_t i = 0; i < e->n_tensors; i++)
        if (strcmp(e->tensors[i].name, name) == 0)
            return &e->tensors[i];
    return NULL;
}

static void widen(enum dtype t, const void *from, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)dtype_load(t, from, (size_t)i);
}

float *expected_data(const struct tensor *t, bool exact, const struct blobs *blobs)
{
    const size_t n = (size_t)t->n_elems;
    float *out = malloc(n * sizeof *out);
    void *stored = t->dtype == DTYPE_F32 ? out // cppcheck-suppress uninitdata ; it is filled below
                                         : malloc(n * dtype_bytes(t->dtype));

    if (!out || !stored || fill_elems(exact ? &t->exact : &t->random, t->dtype, stored, t->n_elems, blobs)) {
        if (stored != out)
            free(stored);
        free(out);
        return NULL;
    }
    if (stored != out) {
        widen(t->dtype, stored, out, t->n_elems);
        free(stored);
    }
    return out;
}

static enum err output_alloc(struct expected_output *o, bool has_exact)
{
    const size_t n = o->n_samples, n_project = (size_t)(o->outer * o->inner);

    o->lanes = o->lanes ? o->lanes : 1;
    o->n_random = o->n_random ? o->n_random : n;
    o->indices = calloc(n, sizeof *o->indices);
    o->random = calloc(o->n_random, sizeof *o->random);
    o->scale = calloc(o->n_random, sizeof *o->scale);
    o->exact = calloc(n, sizeof *o->exact);
    o->project = has_exact && o->outer ? calloc(n_project, sizeof *o->project) : NULL;
    return o->indices && o->random && o->scale && o->exact && (!has_exact || !o->outer || o->project) ? ERR_OK
                                                                                                      : ERR_NOMEM;
}

enum err expected_alloc(struct expected *e)
{
    enum err failed = ERR_OK;

    for (size_t i = 0; i < e->n_outputs; i++)
        if (e->no_sums || e->outputs[i].outer * e->outputs[i].inner > EXPECT_MAX_VALUES)
            e->outputs[i].outer = 0;
    for (size_t i = 0; !failed && i < e->n_outputs; i++)
        failed = output_alloc(&e->outputs[i], e->has_exact);
    return failed;
}

void expected_fini(struct expected *e)
{
    for (size_t i = 0; i < e->n_outputs; i++) {
        struct expected_output *o = &e->outputs[i];

        free(o->indices);
        free(o->exact);
        free(o->random);
        free(o->scale);
        free(o->project);
        o->indices = NULL;
        o->exact = o->random = o->scale = o->project = NULL;
    }
}

void tensor_fills(struct tensor *t, uint64_t seed, double bound, double sd)
{
    t->exact = (struct program_fill){.kind = FILL_INT, .seed = seed, .lo = -bound, .hi = bound};
    t->random = t->exact;
    if (t->dtype == DTYPE_F32 || t->dtype == DTYPE_F16 || t->dtype == DTYPE_BF16)
        t->random = (struct program_fill){.kind = FILL_NORMAL, .lo = 0, .hi = sd};
    t->random.seed = seed + SEED_RANDOM;
}

void byte_fills(struct tensor *t, uint64_t seed)
{
    tensor_fills(t, seed, t->dtype == DTYPE_U8 ? 255 : 127, 1);
    t->exact.lo = t->random.lo = t->dtype == DTYPE_U8 ? 0 : -128;
}

void product_fills(struct tensor *x, struct tensor *w, double terms, double axis)
{
    const double bound = dtype_bytes(x->dtype) == 2 ? 1 : exact_bound(terms, axis);

    if (dtype_is_bytes(x->dtype)) {
        byte_fills(x, SEED_X);
        byte_fills(w, SEED_W);
        return;
    }
    tensor_fills(x, SEED_X, bound, 1);
    tensor_fills(w, SEED_W, bound, 0.0625);
}

void winograd_fills(enum exact_data data, struct tensor *x, struct tensor *w)
{
    const double step = w->exact.step == 0 ? 1 : w->exact.step;
    const double bound = data == EXACT_WINOGRAD4 || x->dtype == DTYPE_F16 ? 1 : x->exact.hi < 3 ? x->exact.hi : 3;

    if (data != EXACT_WINOGRAD2 && data != EXACT_WINOGRAD4)
        return;
    x->exact.lo = w->exact.lo = -bound;
    x->exact.hi = w->exact.hi = bound;
    w->exact.step = step * (data == EXACT_WINOGRAD2 ? 4 : 576);
}

double exact_bound(double terms, double axis)
{
    for (double b = 7; b >= 1; b--)
        if (terms * b * b <= 16777216.0 && terms * b * b * axis * 1048576.0 < 9007199254740992.0)
            return b;
    return 0;
}

struct program_fold expected_fold(const struct expected *e, int64_t inner, int64_t cols, double flops, double elems)
{
    double of = 8;

    of = of > 1e9 / flops ? 1e9 / flops : of;
    of = of > 262144 / elems ? 262144 / elems : of;
    of = of < 2 ? 2 : of;
    if (of * elems > EXPECT_MAX_VALUES)
        return (struct program_fold){0};
    return (struct program_fold){
        .inner = inner, .cols = cols, .of = of > (double)cols ? cols : (int64_t)of, .seed = rng_at(e->seed, 0) >> 16};
}

bool expected_in_full(const struct expected *e)
{
    return e->mode != EXPECT_PROGRAM && e->mode != EXPECT_TURNED && e->mode != EXPECT_LIKE && e->mode != EXPECT_MOVED;
}

void expected_folded(struct expected_output *o, const struct program_fold *fold, int64_t rows)
{
    o->fold = *fold;
    o->n_random = (size_t)(rows * fold->of * fold->inner);
}

void expected_all(struct expected_output *o, int64_t n)
{
    expected_folded(o, &(struct program_fold){.inner = n, .cols = 1, .of = 1}, 1);
}

uint64_t expected_random_at(const struct expected_output *o, size_t i)
{
    const uint64_t n = (uint64_t)(o->fold.of * o->fold.inner), n_row = (uint64_t)(o->fold.cols * o->fold.inner);

    return n ? i / n * n_row + i % n : o->indices[i];
}

uint64_t expected_pick(const struct expected *e, uint64_t i)
{
    return rng_at(SEED_SAMPLE + e->seed, i);
}

size_t sample_count(double terms, int64_t n_elems)
{
    double n = 2e7 / terms;

    n = n > EXPECT_MAX_SAMPLES ? EXPECT_MAX_SAMPLES : n < 64 ? 64 : n;
    return n > (double)n_elems ? (size_t)n_elems : (size_t)n;
}

static void forget(struct entry *slot)
{
    free(slot->workload);
    blobs_fini(&slot->blobs);
    memset(slot, 0, sizeof *slot);
}

static bool all_are_one(const double *scale, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (scale[i] != 1)
            return false;
    return true;
}

static enum err output_to_blobs(struct blobs *blobs, const struct expected_output *o, bool has_exact,
                                struct kept_output *kept)
{
    const size_t n = o->n_samples * sizeof(double), n_random = o->n_random * sizeof(double);
    enum err failed = ERR_OK;

    if (has_exact || !o->fold.of)
        failed = blobs_put(blobs, o->indices, o->n_samples * sizeof *o->indices, &kept->indices);
    if (!failed && has_exact)
        failed = blobs_put(blobs, o->exact, n, &kept->exact);
    if (!failed)
        failed = blobs_put(blobs, o->random, n_random, &kept->random);
    if (!failed && !all_are_one(o->scale, o->n_random))
        failed = blobs_put(blobs, o->scale, n_random, &kept->scale);
    if (!failed && o->project)
        failed = blobs_put(blobs, o->project, (size_t)(o->outer * o->inner) * sizeof(double), &kept->project);
    return failed;
}

static void entry_free(struct entry *entry)
{
    if (entry)
        forget(entry);
    free(entry);
}

/* The places of a half below 2^-14 are those of 2^-14. */
static void scale_halves(struct expected *e)
{
    for (size_t i = 0; i < e->n_outputs; i++) {
        struct expected_output *o = &e->outputs[i];

        for (size_t k = 0; expected_tensor(e, o->tensor)->dtype == DTYPE_F16 && k < o->n_random; k++)
            o->scale[k] = o->scale[k] < LEAST_NORMAL_F16 ? LEAST_NORMAL_F16 : o->scale[k];
    }
}

static enum err fill_entry(const struct workload *w, const char *text, const struct expect_what *what,
                           struct entry *out)
{
    struct expected e;
    enum err failed;

    expected_begin_for(w, what->data, what->mode, what->seed, &e);
    failed = w->op->reference(w, what->data, &e);
    if (!failed)
        scale_halves(&e);
    for (size_t i = 0; !failed && i < e.n_outputs; i++)
        failed = output_to_blobs(&out->blobs, &e.outputs[i], e.has_exact, &out->outputs[i]);
    expected_fini(&e);
    out->head = e;
    out->what = *what;
    if (!failed && !(out->workload = strdup(text)))
        failed = ERR_NOMEM;
    return failed;
}

/* Computes an entry that belongs to nobody yet. */
static enum err make_entry(const struct workload *w, const char *text, const struct expect_what *what,
                           struct entry **out)
{
    struct entry *made = calloc(1, sizeof *made);
    enum err e;

    if (!made)
        return ERR_NOMEM;
    blobs_init(&made->blobs, MAX_BLOB_BYTES);
    e = fill_entry(w, text, what, made);
    if (e)
        entry_free(made);
    else
        *out = made;
    return e;
}

/* One computation on a thread of its own; the last one to leave frees it. */
struct computing {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_done, is_left; /* by the thread; by who waited */
    struct workload w;
    char text[WORKLOAD_MAX_TEXT];
    struct expect_what what;
    struct entry *entry; /* NULL = none, or taken */
    enum err e;
};

static void computing_free(struct computing *c)
{
    entry_free(c->entry);
    pthread_cond_destroy(&c->ended);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static struct computing *computing_new(const struct workload *w, const char *text, const struct expect_what *what)
{
    struct computing *c = calloc(1, sizeof *c);
    pthread_condattr_t attr;

    if (!c)
        return NULL;
    c->w = *w;
    c->what = *what;
    snprintf(c->text, sizeof c->text, "%s", text);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->ended, &attr);
    pthread_condattr_destroy(&attr);
    return c;
}

static void *compute(void *arg)
{
    struct computing *c = arg;
    struct entry *made = NULL;
    const enum err e = make_entry(&c->w, c->text, &c->what, &made);
    bool is_left;

    pthread_mutex_lock(&c->lock);
    c->entry = made;
    c->e = e;
    c->is_done = true;
    is_left = c->is_left;
    pthread_cond_signal(&c->ended);
    pthread_mutex_unlock(&c->lock);
    if (is_left)
        computing_free(c);
    return NULL;
}

/* Waits until the thread is done or the watch gives up. */
static enum err wait_for(struct computing *c, struct entry **out)
{
    const int64_t begin_ns = clock_now_ns();
    bool is_done, goes_on = true;
    enum err e;

    pthread_mutex_lock(&c->lock);
    while (!c->is_done && goes_on) {
        const int64_t until_ns = clock_now_ns() + WATCH_NS;
        const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};

        pthread_cond_timedwait(&c->ended, &c->lock, &until);
        pthread_mutex_unlock(&c->lock); /* a watch may take its time */
        goes_on = !watch.go_on || watch.go_on(&c->w, (double)(clock_now_ns() - begin_ns) * 1e-9, watch.arg);
        pthread_mutex_lock(&c->lock);
    }
    is_done = c->is_done;
    e = is_done ? c->e : ERR_CANCELLED;
    if (is_done) {
        *out = c->entry;
        c->entry = NULL;
    }
    c->is_left = true;
    pthread_mutex_unlock(&c->lock);
    if (is_done)
        computing_free(c);
    return e;
}

/* Signals stay with the thread that waits. */
static bool start_thread(struct computing *c)
{
    sigset_t all, before;
    pthread_t thread;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&thread, NULL, compute, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        pthread_detach(thread);
    return !failed;
}

static enum err make_watched(const struct workload *w, const char *text, const struct expect_what *what,
                             struct entry **out)
{
    struct computing *c = watch.go_on ? computing_new(w, text, what) : NULL;

    if (c && start_thread(c))
        return wait_for(c, out);
    if (c)
        computing_free(c);
    return make_entry(w, text, what, out);
}

/* The entry of a workload in the cache, or NULL; the lock is held. */
static struct entry *look_up(const char *text, const struct expect_what *what)
{
    for (size_t i = 0; i < N_CACHED; i++)
        if (cache[i].workload && cache[i].what.data == what->data && cache[i].what.mode == what->mode &&
            cache[i].what.seed == what->seed && strcmp(cache[i].workload, text) == 0)
            return &cache[i];
    return NULL;
}

/* Puts an entry into the place of the one that was not used for the longest time; the lock is held. */
static struct entry *keep(struct entry *takes_made)
{
    struct entry *slot = &cache[0];

    for (size_t i = 1; i < N_CACHED; i++)
        if (cache[i].used < slot->used)
            slot = &cache[i];
    forget(slot);
    *slot = *takes_made;
    free(takes_made);
    return slot;
}

/* The entry of a workload, computed on a miss; the lock is held, but not meanwhile. */
static enum err find_entry(const struct workload *w, const char *text, const struct expect_what *what,
                           struct entry **out)
{
    struct entry *made = NULL;
    enum err e = ERR_OK;

    *out = look_up(text, what);
    if (!*out) {
        pthread_mutex_unlock(&lock);
        e = make_watched(w, text, what, &made);
        pthread_mutex_lock(&lock);
        if (!e)
            *out = keep(made);
    }
    if (!e)
        (*out)->used = ++n_uses;
    return e;
}

/* Tensors that a program has baked into its text have no buffer to fill. */
static enum err add_fills(struct program *p, struct program_pass *pass, const struct expected *from, bool exact)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < from->n_tensors; i++) {
        const struct tensor *t = &from->tensors[i];
        const int buffer = program_find_buffer(p, t->name);

        if (t->role != ROLE_OUTPUT && buffer >= 0)
            e = program_pass_fill_add(pass, buffer, exact ? &t->exact : &t->random);
    }
    return e;
}

static enum err add_sample(struct program *p, struct program_pass *pass, const struct expected_output *o,
                           const struct kept_output *kept)
{
    struct program_check *c = program_pass_check_add(pass, CHECK_SAMPLE, program_find_buffer(p, o->tensor));

    if (!c)
        return ERR_NOMEM;
    c->n = (int64_t)o->n_samples;
    c->indices = kept->indices;
    c->values = kept->exact;
    return ERR_OK;
}

static enum err add_random_check(struct program *p, struct program_pass *pass, const struct expected_output *o,
                                 const struct kept_output *kept, double tolerance)
{
    struct program_check *c = program_pass_check_add(pass, CHECK_SAMPLE, program_find_buffer(p, o->tensor));

    if (!c)
        return ERR_NOMEM;
    c->tolerance = tolerance;
    c->n = (int64_t)o->n_random;
    c->fold = o->fold;
    if (!o->fold.of)
        c->indices = kept->indices;
    c->values = kept->random;
    if (tolerance > 0)
        c->scale = kept->scale;
    return ERR_OK;
}

static enum err add_project(struct program *p, struct program_pass *pass, const struct expected_output *o,
                            const struct kept_output *kept)
{
    struct program_check *c = program_pass_check_add(pass, CHECK_PROJECT, program_find_buffer(p, o->tensor));

    if (!c)
        return ERR_NOMEM;
    c->values = kept->project;
    c->outer = o->outer;
    c->axis = o->axis;
    c->inner = o->inner;
    c->lanes = o->lanes > 1 ? o->lanes : 0;
    c->seed = SEED_PROJECT;
    return ERR_OK;
}

/* By mode, of exact passes and of random ones. */
static const char *const exact_names[] = {"exact", "exact", NULL, "turned", "ends", "exact", "like", "moved", NULL};
static const char *const random_names[] = {"random", "wide", "folded", NULL, "ends", "wide", NULL, NULL, "special"};

static enum err add_exact(const struct entry *from, struct program *p)
{
    struct program_pass *pass = program_add_pass(p, exact_names[from->what.mode]);
    enum err e = pass ? add_fills(p, pass, &from->head, true) : ERR_NOMEM;

    for (size_t i = 0; !e && i < from->head.n_outputs; i++) {
        const struct expected_output *o = &from->head.outputs[i];

        e = add_sample(p, pass, o, &from->outputs[i]);
        if (!e && from->outputs[i].project.hex[0])
            e = add_project(p, pass, o, &from->outputs[i]);
    }
    return e;
}

static enum err add_random(const struct entry *from, double tolerance, struct program *p)
{
    struct program_pass *pass = program_add_pass(p, random_names[from->what.mode]);
    enum err e = pass ? add_fills(p, pass, &from->head, false) : ERR_NOMEM;

    for (size_t i = 0; !e && i < from->head.n_outputs; i++)
        e = add_random_check(p, pass, &from->head.outputs[i], &from->outputs[i], tolerance);
    return e;
}

/* Both passes of one mode, or the random one. */
static enum err add_passes(const struct workload *w, const struct numerics *numerics, const struct expect_what *what,
                           struct program *p, struct blobs *blobs)
{
    struct entry *from;
    struct buf text;
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = workload_text(w, &text);
    if (!e) {
        pthread_mutex_lock(&lock);
        e = find_entry(w, buf_text(&text), what, &from);
        if (!e)
            e = blobs_merge(blobs, &from->blobs);
        if (!e && from->head.has_exact && !expect_is_random(w, what->mode))
            e = add_exact(from, p);
        if (!e && from->head.n_outputs && !expect_is_exact(w, what->mode))
            e = add_random(from, numerics->tolerance, p);
        if (!e && p->n_passes && expect_is_last(what->mode))
            p->passes[p->n_passes - 1].is_last = true;
        pthread_mutex_unlock(&lock);
    }
    buf_fini(&text);
    return e;
}

enum err expect_passes(const struct workload *w, const struct numerics *numerics, struct program *p,
                       struct blobs *blobs)
{
    return add_passes(w, numerics, &(struct expect_what){.data = numerics->data}, p, blobs);
}

/* What a sheet's passes come from, in their order; tells how many. */
static size_t sheet_whats(const struct workload *w, const struct numerics *numerics, uint64_t seed,
                          struct expect_what out[MAX_SHEET])
{
    const enum expect_mode mode =
        w->dtype == DTYPE_F16 && numerics->tolerance < MOST_OF_F32_SUMS ? EXPECT_IN_F32 : EXPECT_WIDE;
    const bool sums_in_half = w->dtype == DTYPE_F16 && mode == EXPECT_WIDE;
    size_t n = 0;

    if (numerics->data == EXACT_NONE)
        out[n++] = (struct expect_what){numerics->data, EXPECT_FOLDED, seed};
    out[n++] = (struct expect_what){numerics->data, mode, seed};
    if (numerics->data != EXACT_NONE && expect_turns(w))
        out[n++] = (struct expect_what){numerics->data, EXPECT_TURNED, seed};
    if (expect_has_ends(w) && (numerics->data != EXACT_NONE || expect_is_random(w, EXPECT_ENDS)))
        out[n++] = (struct expect_what){numerics->data, EXPECT_ENDS, seed};
    if (numerics->data != EXACT_NONE && !sums_in_half && expect_has_like(w))
        out[n++] = (struct expect_what){numerics->data, EXPECT_LIKE, seed};
    if (numerics->data != EXACT_NONE && !sums_in_half && expect_has_moved(w))
        out[n++] = (struct expect_what){numerics->data, EXPECT_MOVED, seed};
    if (expect_has_special(w))
        out[n++] = (struct expect_what){numerics->data, EXPECT_SPECIAL, seed};
    assert(n <= MAX_SHEET);
    return n;
}

enum err expect_sheet(const struct workload *w, const struct numerics *numerics, uint64_t seed, struct buf *out,
                      struct blobs *blobs)
{
    struct expect_what whats[MAX_SHEET];
    const size_t n = sheet_whats(w, numerics, seed, whats);
    struct program p;
    enum err e;

    program_init(&p);
    e = operator_add_tensors(w, &p);
    for (size_t i = 0; !e && i < n; i++)
        e = add_passes(w, numerics, &whats[i], &p, blobs);
    if (!e)
        e = program_sheet_write(&p, out);
    program_fini(&p);
    return e;
}

/* ---- ahead ---- */

/* What is wanted and not there yet, each once. */
struct wanted {
    struct expect_what whats[MAX_AHEAD];
    size_t n;
};

static void want(struct wanted *a, const char *text, const struct expect_what *what)
{
    bool known = a->n == MAX_AHEAD || look_up(text, what);

    for (size_t i = 0; i < a->n && !known; i++)
        known = a->whats[i].data == what->data && a->whats[i].mode == what->mode && a->whats[i].seed == what->seed;
    if (!known)
        a->whats[a->n++] = *what;
}

static struct wanted wanted_of(const struct workload *w, const char *text, const struct numerics *numerics, size_t n,
                               uint64_t seed)
{
    struct wanted a = {.n = 0};

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n; i++) {
        struct expect_what whats[MAX_SHEET];
        const size_t n_whats = seed ? sheet_whats(w, &numerics[i], seed, whats) : 0;

        want(&a, text, &(struct expect_what){.data = numerics[i].data});
        for (size_t k = 0; k < n_whats; k++)
            want(&a, text, &whats[k]);
    }
    pthread_mutex_unlock(&lock);
    return a;
}

/* Computes `n` at once; what fails is told by whoever needs it. */
static void compute_together(const struct workload *w, const char *text, const struct expect_what *whats, size_t n)
{
    struct computing *running[MAX_AHEAD] = {NULL};

    assert(n <= MAX_AHEAD);
    for (size_t i = 0; i < n; i++) {
        running[i] = computing_new(w, text, &whats[i]);
        if (running[i] && !start_thread(running[i])) {
            computing_free(running[i]);
            running[i] = NULL;
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct entry *made = NULL;

        if (!running[i] || wait_for(running[i], &made) || !made)
            continue;
        pthread_mutex_lock(&lock);
        keep(made)->used = ++n_uses;
        pthread_mutex_unlock(&lock);
    }
}

void expect_ahead(const struct workload *w, const struct numerics *numerics, size_t n, uint64_t seed)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t most = cpus / 2 < MOST_TOGETHER ? (size_t)(cpus / 2) : MOST_TOGETHER;
    struct wanted a;
    struct buf text;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    if (most > 1 && !workload_text(w, &text)) {
        a = wanted_of(w, buf_text(&text), numerics, n, seed);
        for (size_t i = 0; i < a.n; i += most)
            compute_together(w, buf_text(&text), a.whats + i, a.n - i < most ? a.n - i : most);
    }
    buf_fini(&text);
}
