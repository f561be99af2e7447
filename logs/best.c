#include "logs/log.h"

#include "core/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 8                           /* records kept of a job: a second measurement may throw the first out */
#define BEST_MAX_BYTES ((size_t)1 << 30) /* of a best log */

/* What one job says of a workload on a device: its best records, each of another program, in no order. */
struct job_best {
    char job[sizeof((struct record *)0)->job];
    struct record records[KEPT];
    size_t n;
};

struct group {
    char *workload;
    struct sha256 fingerprint;
    struct job_best *jobs;
    size_t n_jobs;
};

struct best_set {
    struct group *groups;
    size_t n, last; /* last: the group of the latest add, where the next one usually belongs */
};

enum err best_new(struct best_set **out)
{
    struct best_set *b = calloc(1, sizeof *b);

    if (!b)
        return ERR_NOMEM;
    *out = b;
    return ERR_OK;
}

static void group_fini(struct group *g)
{
    for (size_t j = 0; j < g->n_jobs; j++)
        for (size_t i = 0; i < g->jobs[j].n; i++)
            record_fini(&g->jobs[j].records[i]);
    free(g->jobs);
    free(g->workload);
}

void best_free(struct best_set *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n; i++)
        group_fini(&b->groups[i]);
    free(b->groups);
    free(b);
}

/* How much a record's purpose counts against others of its job. */
static int rank(const struct record *r)
{
    return strcmp(r->purpose, "final") == 0 ? 2 : strcmp(r->purpose, "redo") == 0;
}

static bool is_final(const struct record *r)
{
    return rank(r) == 2;
}

/* By what both were searched for. Values compare when both were taken against the same anchor; times compare always,
 * less well. */
static bool is_faster(const struct record *a, const struct record *b)
{
    const bool anchored = a->anchor.hash.hex[0] && strcmp(a->anchor.hash.hex, b->anchor.hash.hex) == 0 &&
                          !isnan(a->lnratio) && !isnan(b->lnratio);

    if (*a->objective && strcmp(a->objective, b->objective) == 0) {
        const double cost_a = record_cost(a, log(a->time_ns)), cost_b = record_cost(b, log(b->time_ns));

        return isnan(cost_b) ? !isnan(cost_a) : cost_a < cost_b;
    }
    return anchored ? record_value(a) < record_value(b) : a->time_ns < b->time_ns;
}

static bool is_better_in_job(const struct record *a, const struct record *b)
{
    return is_final(a) != is_final(b) ? is_final(a) : is_faster(a, b);
}

static const struct record *job_winner(const struct job_best *j)
{
    const struct record *best = &j->records[0];

    for (size_t i = 1; i < j->n; i++)
        if (is_better_in_job(&j->records[i], best))
            best = &j->records[i];
    return best;
}

static const struct record *group_winner(const struct group *g)
{
    const struct record *best = job_winner(&g->jobs[0]);

    for (size_t j = 1; j < g->n_jobs; j++) {
        const struct record *r = job_winner(&g->jobs[j]);

        if (is_faster(r, best))
            best = r;
    }
    return best;
}

static bool is_group(const struct group *g, const char *workload, const char *fingerprint)
{
    return strcmp(g->workload, workload) == 0 && strcmp(g->fingerprint.hex, fingerprint) == 0;
}

static enum err open_group(struct best_set *b, const struct record *r, struct group **out)
{
    struct group *groups;
    char *workload;

    if (b->n && is_group(&b->groups[b->last], r->workload, r->fingerprint.hex)) {
        *out = &b->groups[b->last];
        return ERR_OK;
    }
    for (size_t i = 0; i < b->n; i++)
        if (is_group(&b->groups[i], r->workload, r->fingerprint.hex)) {
            b->last = i;
            *out = &b->groups[i];
            return ERR_OK;
        }
    groups = realloc(b->groups, (b->n + 1) * sizeof *groups);
    if (!groups)
        return ERR_NOMEM;
    b->groups = groups;
    workload = strdup(r->workload);
    if (!workload)
        return ERR_NOMEM;
    groups[b->n] = (struct group){.workload = workload, .fingerprint = r->fingerprint};
    b->last = b->n++;
    *out = &groups[b->last];
    return ERR_OK;
}

/* The job's entry; a new one counts only when the caller has put a record into it and raised n_jobs. */
static enum err open_job(struct group *g, const char *job, struct job_best **out)
{
    struct job_best *jobs;

    for (size_t i = g->n_jobs; i-- > 0;)
        if (strcmp(g->jobs[i].job, job) == 0) {
            *out = &g->jobs[i];
            return ERR_OK;
        }
    jobs = realloc(g->jobs, (g->n_jobs + 1) * sizeof *jobs);
    if (!jobs)
        return ERR_NOMEM;
    g->jobs = jobs;
    jobs[g->n_jobs] = (struct job_best){.n = 0};
    strcpy(jobs[g->n_jobs].job, job);
    *out = &jobs[g->n_jobs];
    return ERR_OK;
}

static struct record *same_program(struct job_best *j, const struct record *r)
{
    for (size_t i = 0; i < j->n; i++)
        if (r->program.hex[0] && strcmp(j->records[i].program.hex, r->program.hex) == 0)
            return &j->records[i];
    return NULL;
}

static struct record *worst(struct job_best *j)
{
    struct record *w = &j->records[0];

    for (size_t i = 1; i < j->n; i++)
        if (is_better_in_job(w, &j->records[i]))
            w = &j->records[i];
    return w;
}

/* Where the record goes: over the same program's when it counts as much, into free room, over the worst; else NULL. */
static struct record *place_for(struct job_best *j, const struct record *r)
{
    struct record *same = same_program(j, r), *w;

    if (same)
        return rank(r) >= rank(same) ? same : NULL;
    if (j->n < KEPT)
        return &j->records[j->n];
    w = worst(j);
    return is_better_in_job(r, w) ? w : NULL;
}

enum err best_add(struct best_set *b, const struct record *r)
{
    struct group *g = NULL;
    struct job_best *j = NULL;
    struct record copy, *place;
    enum err e;

    if (r->status != STATUS_OK || !(r->time_ns > 0) || !r->workload)
        return ERR_OK;
    e = record_copy(&copy, r);
    if (e)
        return e;
    e = open_group(b, r, &g);
    if (!e)
        e = open_job(g, r->job, &j);
    place = e ? NULL : place_for(j, r);
    if (!place) {
        record_fini(&copy);
        return e;
    }
    if (place == &j->records[j->n]) {
        j->n++;
        g->n_jobs += j == &g->jobs[g->n_jobs];
    } else {
        record_fini(place);
    }
    *place = copy;
    return ERR_OK;
}

size_t best_n(const struct best_set *b)
{
    return b->n;
}

const struct record *best_at(const struct best_set *b, size_t i)
{
    return i < b->n && b->groups[i].n_jobs ? group_winner(&b->groups[i]) : NULL;
}

const struct record *best_find(const struct best_set *b, const char *workload, const char *fingerprint)
{
    const struct record *best = NULL;

    for (size_t i = 0; i < b->n; i++) {
        const struct record *r = best_at(b, i);

        if (r && strcmp(b->groups[i].workload, workload) == 0 &&
            (!fingerprint || strcmp(b->groups[i].fingerprint.hex, fingerprint) == 0) && (!best || is_faster(r, best)))
            best = r;
    }
    return best;
}

enum err best_write(const struct best_set *b, const char *path, struct why *why)
{
    struct buf text;
    enum err e = ERR_OK;

    buf_init(&text, BEST_MAX_BYTES);
    for (size_t i = 0; !e && i < b->n; i++)
        if (best_at(b, i))
            e = record_print(best_at(b, i), &text);
    if (e)
        why_set(why, e, "%s: %s", path, err_words(e));
    else
        e = file_replace(path, buf_text(&text), text.len, 0644, why);
    buf_fini(&text);
    return e;
}

enum err best_path(const char *log_path, char *out, size_t n_out)
{
    static const char end[] = ".jsonl";
    const size_t n = strlen(log_path), n_end = sizeof end - 1;
    const size_t n_stem = n > n_end && strcmp(log_path + n - n_end, end) == 0 ? n - n_end : n;

    if (n_stem + sizeof ".best.jsonl" > n_out)
        return ERR_LIMIT;
    snprintf(out, n_out, "%.*s.best.jsonl", (int)n_stem, log_path);
    return ERR_OK;
}
