/* SPDX-License-Identifier: MIT */
#include "logs/log.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"
#include "core/map.h"
#include "core/mix.h"
#include "core/vec.h"
#include "logs/runs.h"
#include "logs/seen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEST_MAX_BYTES ((size_t)1 << 30) /* of a best log */

struct group {
    char *workload;
    char device[SHA256_HEX + 1]; /* see best_device */
    char former[SHA256_HEX + 1]; /* its fingerprint before processors were told apart; "" = the same, or not known */
    struct run *runs;
    size_t n_runs, cap_runs;
    enum record_proof proof; /* of all its records: those with less do not count */
    size_t next;             /* of the same workload, + 1; 0 = none */
};

struct best_set {
    struct group *groups;
    size_t n, cap, last;    /* last: the group of the latest add, where the next one usually belongs */
    struct map by_workload; /* the newest group of each */
    struct seen runs;       /* a run's name and its group: the newest of that name, + 1 */
};

enum err best_new(struct best_set **out)
{
    struct best_set *b = calloc(1, sizeof *b);
    const enum err e = b ? seen_init(&b->runs) : ERR_NOMEM;

    if (e) {
        free(b);
        return e;
    }
    *out = b;
    return ERR_OK;
}

static void group_fini(struct group *g)
{
    for (size_t j = 0; j < g->n_runs; j++)
        run_fini(&g->runs[j]);
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
    seen_fini(&b->runs);
    free(b);
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

/* Each private farm has a "j1": the data's seed tells the runs apart. Records that lack it are parted at a search
 * behind a final of the job, in the file and by the clock. */
static bool is_next_run(const struct run *j, const struct record *r)
{
    return !r->data_seed && !record_is_final(r) && !record_is_baseline(r) && j->final_ms && r->ts_ms > j->final_ms;
}

static enum err add_run(struct group *g, const struct record *r)
{
    struct run *j;

    if (VEC_ROOM(g->runs, g->cap_runs, g->n_runs + 1, VEC_ANY))
        return ERR_NOMEM;
    j = &g->runs[g->n_runs++];
    *j = (struct run){.data_seed = r->data_seed};
    strcpy(j->job, r->job);
    return ERR_OK;
}

static uint64_t hash_of_run(const struct best_set *b, const struct group *g, const struct record *r)
{
    char name[sizeof r->job + 64];
    const int n = snprintf(name, sizeof name, "%zu %lld %s", (size_t)(g - b->groups), (long long)r->data_seed, r->job);

    return seen_hash(&b->runs, name, (size_t)n);
}

static enum err open_run(struct best_set *b, struct group *g, const struct record *r, struct run **out)
{
    struct seen_entry *newest = seen_only(&b->runs, hash_of_run(b, g, r));
    enum err e;

    if (!newest)
        return ERR_NOMEM;
    if (!newest->place || is_next_run(&g->runs[newest->place - 1], r)) {
        e = add_run(g, r);
        if (e)
            return e;
        newest->place = g->n_runs;
    }
    *out = &g->runs[newest->place - 1];
    return ERR_OK;
}

/* What had less proof counts no longer; whose run was which stays. */
static void want_proof(struct group *g, enum record_proof proof)
{
    for (size_t j = 0; j < g->n_runs; j++) {
        struct run fresh = {.data_seed = g->runs[j].data_seed};

        memcpy(fresh.job, g->runs[j].job, sizeof fresh.job);
        run_fini(&g->runs[j]);
        g->runs[j] = fresh;
    }
    g->proof = proof;
}

enum err best_add(struct best_set *b, const struct record *r)
{
    const enum record_proof proof = record_proof(r);
    struct group *g = NULL;
    struct run *j = NULL;
    enum err e;

    if (proof == PROOF_NONE || !r->workload)
        return ERR_OK;
    e = open_group(b, r, &g);
    if (!e && proof < g->proof)
        return ERR_OK;
    if (!e && proof > g->proof)
        want_proof(g, proof);
    if (!e)
        e = open_run(b, g, r, &j);
    if (!e && record_is_final(r) && (!j->final_ms || r->ts_ms < j->final_ms))
        j->final_ms = r->ts_ms;
    return e ? e : run_add(j, r);
}

size_t best_n(const struct best_set *b)
{
    return b->n;
}

const struct record *best_at(const struct best_set *b, size_t i)
{
    return i < b->n && b->groups[i].n_runs ? runs_best(b->groups[i].runs, b->groups[i].n_runs) : NULL;
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
        const struct record *r = g->n_runs ? runs_best(g->runs, g->n_runs) : NULL;

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
        runs_errors(b->groups[i].runs, b->groups[i].n_runs, &errors);
    for (size_t i = 0; i < a->n; i++) {
        const struct group *g = &a->groups[i], *h = same_group(b, g);

        runs_errors(g->runs, g->n_runs, &errors);
        if (h)
            runs_errors_across(g->runs, g->n_runs, h->runs, h->n_runs, &errors);
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
    for (size_t i = 0; !e && i < b->n; i++) {
        const struct record *best = best_at(b, i);

        e = best ? record_print(best, &text) : ERR_NOMEM;
    }
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
