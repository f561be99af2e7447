#include "kernels/expect.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define N_CACHED 8
#define MAX_BLOB_BYTES ((size_t)1 << 30)

/* One workload's expected outputs as blobs. */
struct entry {
    char *workload;
    uint64_t used; /* for the least recently used */
    struct blobs blobs;
    struct sha256 indices, exact, random, scale, project;
    struct expected head; /* fills and sizes; its arrays are gone */
};

static struct entry cache[N_CACHED];
static uint64_t n_uses;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum err expected_alloc(struct expected *e)
{
    e->indices = calloc(e->n_samples, sizeof *e->indices);
    e->exact = calloc(e->n_samples, sizeof *e->exact);
    e->random = calloc(e->n_samples, sizeof *e->random);
    e->scale = calloc(e->n_samples, sizeof *e->scale);
    e->project = calloc((size_t)(e->outer * e->inner), sizeof *e->project);
    return e->indices && e->exact && e->random && e->scale && e->project ? ERR_OK : ERR_NOMEM;
}

void expected_fini(struct expected *e)
{
    free(e->indices);
    free(e->exact);
    free(e->random);
    free(e->scale);
    free(e->project);
    e->indices = NULL;
    e->exact = e->random = e->scale = e->project = NULL;
}

void expected_fills(struct expected *e, double bound)
{
    e->x_exact = (struct program_fill){.kind = FILL_INT, .seed = SEED_X_EXACT, .lo = -bound, .hi = bound};
    e->w_exact = (struct program_fill){.kind = FILL_INT, .seed = SEED_W_EXACT, .lo = -bound, .hi = bound};
    e->x_random = (struct program_fill){.kind = FILL_NORMAL, .seed = SEED_X_RANDOM, .lo = 0, .hi = 1};
    e->w_random = (struct program_fill){.kind = FILL_NORMAL, .seed = SEED_W_RANDOM, .lo = 0, .hi = 0.0625};
}

double exact_bound(double terms, double axis)
{
    for (double b = 7; b >= 1; b--)
        if (terms * b * b <= 16777216.0 && terms * b * b * axis * 1048576.0 < 9007199254740992.0)
            return b;
    return 0;
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

static enum err to_blobs(struct entry *slot, const struct expected *e)
{
    const size_t n = e->n_samples * sizeof(double);
    enum err failed;

    failed = blobs_put(&slot->blobs, e->indices, e->n_samples * sizeof *e->indices, &slot->indices);
    if (!failed)
        failed = blobs_put(&slot->blobs, e->exact, n, &slot->exact);
    if (!failed)
        failed = blobs_put(&slot->blobs, e->random, n, &slot->random);
    if (!failed)
        failed = blobs_put(&slot->blobs, e->scale, n, &slot->scale);
    if (!failed)
        failed = blobs_put(&slot->blobs, e->project, (size_t)(e->outer * e->inner) * sizeof(double), &slot->project);
    return failed;
}

static enum err compute_entry(const struct workload *w, const char *text,
                              enum err (*compute)(const struct workload *w, struct expected *e), struct entry *slot)
{
    struct expected e = {0};
    enum err failed = compute(w, &e);

    forget(slot);
    blobs_init(&slot->blobs, MAX_BLOB_BYTES);
    if (!failed)
        failed = to_blobs(slot, &e);
    expected_fini(&e);
    slot->head = e;
    if (!failed && !(slot->workload = strdup(text)))
        failed = ERR_NOMEM;
    if (failed)
        forget(slot);
    return failed;
}

/* The entry of a workload, computed on a miss; the lock is held. */
static enum err find_entry(const struct workload *w, const char *text,
                           enum err (*compute)(const struct workload *w, struct expected *e), struct entry **out)
{
    struct entry *slot = &cache[0];
    enum err e = ERR_OK;

    for (size_t i = 0; i < N_CACHED; i++)
        if (cache[i].workload && strcmp(cache[i].workload, text) == 0) {
            slot = &cache[i];
            goto found;
        }
    for (size_t i = 1; i < N_CACHED; i++)
        if (cache[i].used < slot->used)
            slot = &cache[i];
    e = compute_entry(w, text, compute, slot);
found:
    if (!e)
        slot->used = ++n_uses;
    *out = slot;
    return e;
}

static enum err add_fills(struct program *p, struct program_pass *pass, const struct program_fill *x,
                          const struct program_fill *w)
{
    enum err e = program_pass_fill_add(pass, program_find_buffer(p, "x"), x);

    return e ? e : program_pass_fill_add(pass, program_find_buffer(p, "w"), w);
}

static enum err add_sample(struct program *p, struct program_pass *pass, const struct entry *from,
                           const struct sha256 *values, double tolerance)
{
    struct program_check *c = program_pass_check_add(pass, CHECK_SAMPLE, program_find_buffer(p, "y"));

    if (!c)
        return ERR_NOMEM;
    c->tolerance = tolerance;
    c->n = (int64_t)from->head.n_samples;
    c->indices = from->indices;
    c->values = *values;
    if (tolerance > 0)
        c->scale = from->scale;
    return ERR_OK;
}

static enum err add_project(struct program *p, struct program_pass *pass, const struct entry *from)
{
    struct program_check *c = program_pass_check_add(pass, CHECK_PROJECT, program_find_buffer(p, "y"));

    if (!c)
        return ERR_NOMEM;
    c->values = from->project;
    c->outer = from->head.outer;
    c->axis = from->head.axis;
    c->inner = from->head.inner;
    c->seed = SEED_PROJECT;
    return ERR_OK;
}

static enum err add_passes(const struct entry *from, double tolerance, struct program *p)
{
    struct program_pass *pass = program_add_pass(p, "exact");
    enum err e = pass ? add_fills(p, pass, &from->head.x_exact, &from->head.w_exact) : ERR_NOMEM;

    if (!e)
        e = add_sample(p, pass, from, &from->exact, 0);
    if (!e)
        e = add_project(p, pass, from);
    if (e)
        return e;
    pass = program_add_pass(p, "random");
    e = pass ? add_fills(p, pass, &from->head.x_random, &from->head.w_random) : ERR_NOMEM;
    return e ? e : add_sample(p, pass, from, &from->random, tolerance);
}

enum err expect_passes(const struct workload *w, double tolerance,
                       enum err (*compute)(const struct workload *w, struct expected *e), struct program *p,
                       struct blobs *blobs)
{
    struct entry *from;
    struct buf text;
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = workload_text(w, &text);
    if (!e) {
        pthread_mutex_lock(&lock);
        e = find_entry(w, buf_text(&text), compute, &from);
        if (!e)
            e = blobs_merge(blobs, &from->blobs);
        if (!e)
            e = add_passes(from, tolerance, p);
        pthread_mutex_unlock(&lock);
    }
    buf_fini(&text);
    return e;
}
