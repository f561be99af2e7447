/* SPDX-License-Identifier: MIT */
#include "logs/log.h"

#include "core/file.h"
#include "core/map.h"
#include "core/mix.h"
#include "core/vec.h"
#include "logs/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 8                           /* records kept of a run: a second measurement may throw the first out */
#define BEST_MAX_BYTES ((size_t)1 << 30) /* of a best log */

#define MAX_EPOCHS 8 /* of anchors that are kept of a run: 4^8 is more than any search gains */

/* What one run says of a workload on a device: its best records, each of another program, in no order. */
struct run {
    char job[sizeof((struct record *)0)->job];
    struct record *records;
    size_t n, cap;
    int64_t final_ms;                /* end of its earliest final; 0 = none yet */
    struct sha256 chain[MAX_EPOCHS]; /* its anchors by epoch */
    bool has_chain;
    double ln_t0; /* ln ns of the first anchor: ratios + bridges + this are ln times on one scale */
};

struct group {
    char *workload;
    char device[SHA256_HEX + 1]; /* see best_device */
    char former[SHA256_HEX + 1]; /* its fingerprint before processors were told apart; "" = the same, or not known */
    struct run *runs;
    size_t n_runs, cap_runs;
    size_t next; /* of the same workload, + 1; 0 = none */
};

struct best_set {
    struct group *groups;
    size_t n, cap, last;    /* last: the group of the latest add, where the next one usually belongs */
    struct map by_workload; /* the newest group of each */
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
    for (size_t j = 0; j < g->n_runs; j++) {
        for (size_t i = 0; i < g->runs[j].n; i++)
            record_fini(&g->runs[j].records[i]);
        free(g->runs[j].records);
    }
    free(g->runs);
    free(g->workload);
}

void best_free(struct best_set *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n; i++)
        group_fini(&b->groups[i]);
    free(b->groups);
    map_fini(&b->by_workload);
    free(b);
}

/* How much a record's purpose counts against others of its run. */
static int rank(const struct record *r)
{
    return strcmp(r->purpose, "final") == 0 ? 2 : strcmp(r->purpose, "redo") == 0;
}

static bool is_final(const struct record *r)
{
    return rank(r) == 2;
}

static bool is_of_chain(const struct run *j, const struct record *r)
{
    const int64_t epoch = r->anchor.epoch;

    return isfinite(r->lnratio) && r->anchor.hash.hex[0] && epoch >= 0 && epoch < MAX_EPOCHS &&
           strcmp(j->chain[epoch].hex, r->anchor.hash.hex) == 0;
}

/* The first record with an anchor of an epoch tells the chain's link. The anchor counts by the time of its own record,
 * where that is there, so that what was measured alone beside it stands on the same scale. */
static void note_anchor(struct run *j, const struct record *r)
{
    const int64_t epoch = r->anchor.epoch;
    const struct record *own = NULL;

    if (!isfinite(r->lnratio) || !r->anchor.hash.hex[0] || epoch < 0 || epoch >= MAX_EPOCHS || j->chain[epoch].hex[0])
        return;
    j->chain[epoch] = r->anchor.hash;
    if (j->has_chain)
        return;
    for (size_t i = 0; i < j->n && !own; i++)
        if (strcmp(j->records[i].program.hex, r->anchor.hash.hex) == 0)
            own = &j->records[i];
    j->ln_t0 = (own ? log(own->time_ns) : log(r->time_ns) - r->lnratio) - r->anchor.bridge;
    j->has_chain = true;
}

/* What the run's records are ordered by: ln time, or of what was searched for; by the ratio to the run's anchors where
 * there is one. INFINITY where what was searched for was not measured. */
static double cost_in_run(const struct run *j, const struct record *r)
{
    const double cost = record_cost(r, is_of_chain(j, r) ? j->ln_t0 + r->anchor.bridge + r->lnratio : log(r->time_ns));

    return isnan(cost) ? (double)INFINITY : cost;
}

static bool is_better_in_run(const struct run *j, const struct record *a, const struct record *b)
{
    return is_final(a) != is_final(b) ? is_final(a) : cost_in_run(j, a) < cost_in_run(j, b);
}

static const struct record *run_winner(const struct run *j)
{
    const struct record *best = &j->records[0];

    for (size_t i = 1; i < j->n; i++)
        if (is_better_in_run(j, &j->records[i], best))
            best = &j->records[i];
    return best;
}

/* Does the newcomer take the holder's place? Of two that tie a final beats what was measured once; else who holds it
 * keeps it. */
static bool takes_over(const struct record *newcomer, const struct record *holder, const struct run_error *e)
{
    const struct comparison c = compare_records(newcomer, holder, e);

    return comparison_ties(&c) ? is_final(newcomer) && !is_final(holder) : c.gain > 0;
}

static void add_pair(const struct run *x, const struct run *y, struct run_pair *pair)
{
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < y->n; k++)
            run_pair_add(pair, &x->records[i], &y->records[k]);
}

/* Each run beside the next. */
static void add_errors(const struct group *g, struct run_errors *errors)
{
    for (size_t j = 1; j < g->n_runs; j++) {
        struct run_pair pair = {.n_time = 0};

        add_pair(&g->runs[j - 1], &g->runs[j], &pair);
        run_errors_add(errors, &pair);
    }
}

static const struct record *record_of(const struct run *j, const struct record *like)
{
    for (size_t i = 0; i < j->n; i++)
        if (like->program.hex[0] && strcmp(j->records[i].program.hex, like->program.hex) == 0 &&
            is_final(&j->records[i]) == is_final(like))
            return &j->records[i];
    return NULL;
}

/* Of a program that several runs measured, the record of the run in the middle: neither the run that flattered it nor
 * one that was disturbed. */
static const struct record *in_the_middle(const struct group *g, const struct record *winner)
{
    for (size_t j = 0; j < g->n_runs; j++) {
        const struct record *r = record_of(&g->runs[j], winner);
        size_t n = 0, n_before = 0;

        for (size_t k = 0; r && k < g->n_runs; k++) {
            const struct record *other = record_of(&g->runs[k], winner);

            n += other != NULL;
            n_before += other && (other->time_ns < r->time_ns || (other->time_ns == r->time_ns && k < j));
        }
        if (r && n_before == (n - 1) / 2)
            return r;
    }
    return winner;
}

static const struct record *group_winner(const struct group *g)
{
    const struct record *best = run_winner(&g->runs[0]);
    struct run_errors errors = {.n_time = 0};
    struct run_error e;

    if (g->n_runs == 1)
        return best;
    add_errors(g, &errors);
    e = run_errors_of(&errors);
    for (size_t j = 1; j < g->n_runs; j++) {
        const struct record *r = run_winner(&g->runs[j]);

        if (takes_over(r, best, &e))
            best = r;
    }
    return in_the_middle(g, best);
}

void best_device(const struct record *r, char out[SHA256_HEX + 1])
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(r->device, "name");

    if (r->fingerprint.hex[0])
        memcpy(out, r->fingerprint.hex, SHA256_HEX + 1);
    else
        snprintf(out, SHA256_HEX + 1, "%s", r->key[0] ? r->key : cJSON_IsString(name) ? name->valuestring : "");
}

static const char *former_of(const struct record *r)
{
    const cJSON *former = cJSON_GetObjectItemCaseSensitive(r->device, "former");

    return cJSON_IsString(former) && sha256_is_hex(former->valuestring) ? former->valuestring : "";
}

/* A device is told by its name now and before. */
static bool is_one(const char *a, const char *former_a, const char *b, const char *former_b)
{
    return strcmp(a, b) == 0 || (*former_a && strcmp(former_a, b) == 0) || (*former_b && strcmp(a, former_b) == 0);
}

bool best_same_device(const struct record *a, const struct record *b)
{
    char one[SHA256_HEX + 1], other[SHA256_HEX + 1];

    best_device(a, one);
    best_device(b, other);
    return is_one(one, former_of(a), other, former_of(b));
}

/* The slot of a workload's newest group, or NULL. */
static struct map_slot *slot_of(const struct best_set *b, const char *workload, size_t hash)
{
    struct map_slot *s;

    for (size_t at = 0; (s = map_next(&b->by_workload, hash, &at));)
        if (strcmp(b->groups[s->item].workload, workload) == 0)
            return s;
    return NULL;
}

/* The newest group of a workload, or NULL; go on with group_next. */
static struct group *group_first(const struct best_set *b, const char *workload)
{
    const struct map_slot *s = slot_of(b, workload, mix_text(workload));

    return s ? &b->groups[s->item] : NULL;
}

static struct group *group_next(const struct best_set *b, const struct group *g)
{
    return g->next ? &b->groups[g->next - 1] : NULL;
}

static enum err add_group(struct best_set *b, const struct record *r, const char *device)
{
    const size_t hash = mix_text(r->workload);
    char *workload = strdup(r->workload);
    struct map_slot *slot;
    struct group *g;

    if (!workload || VEC_ROOM(b->groups, b->cap, b->n + 1, VEC_ANY) || map_room(&b->by_workload, b->n + 1)) {
        free(workload);
        return ERR_NOMEM;
    }
    slot = slot_of(b, workload, hash);
    g = &b->groups[b->n++];
    *g = (struct group){.workload = workload, .next = slot ? slot->item + 1 : 0};
    snprintf(g->device, sizeof g->device, "%s", device);
    if (slot)
        slot->item = (uint32_t)(b->n - 1);
    else
        map_add(&b->by_workload, hash, b->n - 1);
    return ERR_OK;
}

static enum err open_group(struct best_set *b, const struct record *r, struct group **out)
{
    char device[SHA256_HEX + 1];
    struct group *g = b->n ? &b->groups[b->last] : NULL;
    const char *former = former_of(r);

    best_device(r, device);
    if (!g || strcmp(g->workload, r->workload) != 0 || !is_one(g->device, g->former, device, former))
        for (g = group_first(b, r->workload); g && !is_one(g->device, g->former, device, former);)
            g = group_next(b, g);
    if (!g) {
        if (add_group(b, r, device))
            return ERR_NOMEM;
        g = &b->groups[b->n - 1];
    }
    if (*former && !*g->former) { /* what was told before is of this processor */
        memcpy(g->device, device, sizeof device);
        memcpy(g->former, former, sizeof g->former);
    }
    b->last = (size_t)(g - b->groups);
    *out = g;
    return ERR_OK;
}

/* The baseline, which is timed once and last, behind the finals. */
static bool is_baseline(const struct record *r)
{
    return r->rounds == 1 && !r->censored && !r->anchor.hash.hex[0];
}

/* A job's name says less than it seems: each private farm has a "j1". A search behind a final of the job, in the file
 * and by the clock, is the next run's. */
static bool is_next_run(const struct run *j, const struct record *r)
{
    return !is_final(r) && !is_baseline(r) && j->final_ms && r->ts_ms > j->final_ms;
}

/* The run's entry; a new one counts only when the caller has put a record into it and raised n_runs. */
static enum err open_run(struct group *g, const struct record *r, struct run **out)
{
    for (size_t i = g->n_runs; i-- > 0;)
        if (strcmp(g->runs[i].job, r->job) == 0) {
            if (is_next_run(&g->runs[i], r))
                break;
            *out = &g->runs[i];
            return ERR_OK;
        }
    if (VEC_ROOM(g->runs, g->cap_runs, g->n_runs + 1, VEC_ANY))
        return ERR_NOMEM;
    g->runs[g->n_runs] = (struct run){.n = 0};
    strcpy(g->runs[g->n_runs].job, r->job);
    *out = &g->runs[g->n_runs];
    return ERR_OK;
}

static struct record *same_program(struct run *j, const struct record *r)
{
    for (size_t i = 0; i < j->n; i++)
        if (r->program.hex[0] && strcmp(j->records[i].program.hex, r->program.hex) == 0)
            return &j->records[i];
    return NULL;
}

static struct record *worst(struct run *j)
{
    struct record *w = &j->records[0];

    for (size_t i = 1; i < j->n; i++)
        if (is_better_in_run(j, w, &j->records[i]))
            w = &j->records[i];
    return w;
}

/* Room for one more record at the end; NULL without memory. */
static struct record *room(struct run *j)
{
    if (VEC_ROOM(j->records, j->cap, j->n + 1, VEC_ANY))
        return NULL;
    record_init(&j->records[j->n]);
    return &j->records[j->n];
}

/* Puts a copy over the same program's record when it counts as much, into free room, over the worst; or nowhere. */
static enum err place(struct group *g, struct run *j, const struct record *r)
{
    struct record *to = same_program(j, r), copy;
    const bool is_new = !to && j->n < KEPT;

    note_anchor(j, r);
    if (to ? rank(r) < rank(to) : !is_new && !is_better_in_run(j, r, to = worst(j)))
        return ERR_OK;
    if (is_new)
        to = room(j);
    if (!to || record_copy(&copy, r))
        return ERR_NOMEM;
    record_fini(to);
    *to = copy;
    j->n += is_new;
    g->n_runs += j == &g->runs[g->n_runs];
    return ERR_OK;
}

enum err best_add(struct best_set *b, const struct record *r)
{
    struct group *g = NULL;
    struct run *j = NULL;
    enum err e;

    if (r->status != STATUS_OK || !(r->time_ns > 0) || !r->workload)
        return ERR_OK;
    e = open_group(b, r, &g);
    if (!e)
        e = open_run(g, r, &j);
    if (!e && is_final(r) && (!j->final_ms || r->ts_ms < j->final_ms))
        j->final_ms = r->ts_ms;
    return e ? e : place(g, j, r);
}

size_t best_n(const struct best_set *b)
{
    return b->n;
}

const struct record *best_at(const struct best_set *b, size_t i)
{
    return i < b->n && b->groups[i].n_runs ? group_winner(&b->groups[i]) : NULL;
}

/* Of two devices: by their times, or what both were searched for. */
static bool is_cheaper(const struct record *a, const struct record *b)
{
    const struct run_error none = {.ratio = 0};

    return compare_records(a, b, &none).gain > 0;
}

const struct record *best_find(const struct best_set *b, const char *workload, const char *fingerprint)
{
    const struct record *best = NULL;

    for (const struct group *g = group_first(b, workload); g; g = group_next(b, g)) {
        const struct record *r = g->n_runs ? group_winner(g) : NULL;

        if (r && (!fingerprint || is_one(g->device, g->former, fingerprint, "")) && (!best || is_cheaper(r, best)))
            best = r;
    }
    return best;
}

static const struct group *same_group(const struct best_set *b, const struct group *g)
{
    for (const struct group *h = group_first(b, g->workload); h; h = group_next(b, h))
        if (is_one(h->device, h->former, g->device, g->former))
            return h;
    return NULL;
}

struct run_error best_error(const struct best_set *a, const struct best_set *b)
{
    struct run_errors errors = {.n_time = 0};

    for (size_t i = 0; i < b->n; i++)
        add_errors(&b->groups[i], &errors);
    for (size_t i = 0; i < a->n; i++) {
        const struct group *g = &a->groups[i], *h = same_group(b, g);
        struct run_pair pair = {.n_time = 0};

        add_errors(g, &errors);
        for (size_t j = 0; h && j < g->n_runs; j++)
            for (size_t k = 0; k < h->n_runs; k++)
                add_pair(&g->runs[j], &h->runs[k], &pair);
        run_errors_add(&errors, &pair);
    }
    return run_errors_of(&errors);
}

void best_each(const struct best_set *b, bool (*each)(const struct record *r, bool is_winner, void *arg), void *arg)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct group *g = &b->groups[i];
        const struct record *winner = best_at(b, i);

        for (size_t j = 0; j < g->n_runs; j++)
            for (size_t k = 0; k < g->runs[j].n; k++)
                if (!each(&g->runs[j].records[k], &g->runs[j].records[k] == winner, arg))
                    return;
    }
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
