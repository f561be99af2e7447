/* SPDX-License-Identifier: MIT */
#include "tuner/earlier.h"

#include "core/err.h"
#include "core/json.h"
#include "core/vec.h"
#include "search/learn/transfer_recorded.h"
#include "tuner/sibling.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row {
    cJSON *knobs;
    double value; /* ln ns; NAN = failed */
};

struct earlier_search {
    char template_id[64];
    int64_t version;
    char *workload;
    struct sha256 fingerprint;
    struct row *rows;
    size_t n, cap, n_ok;
};

void earlier_fini(struct earlier *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++) {
        for (size_t k = 0; k < e->searches[i].n; k++)
            cJSON_Delete(e->searches[i].rows[k].knobs);
        free(e->searches[i].rows);
        free(e->searches[i].workload);
    }
    free(e->searches);
    *e = (struct earlier){0};
}

static struct earlier_search *find(struct earlier *e, const struct record *r)
{
    for (size_t i = e->n; i-- > 0;) { /* records of one search stand together */
        struct earlier_search *s = &e->searches[i];

        if (s->version == r->template_version && strcmp(s->template_id, r->template_id) == 0 &&
            strcmp(s->fingerprint.hex, r->fingerprint.hex) == 0 && strcmp(s->workload, r->workload) == 0)
            return s;
    }
    return NULL;
}

static struct earlier_search *search_of(struct earlier *e, const struct record *r)
{
    struct earlier_search *s = find(e, r);

    if (s)
        return s;
    if (VEC_ROOM(e->searches, e->cap, e->n + 1, VEC_ANY))
        return NULL;
    s = &e->searches[e->n];
    *s = (struct earlier_search){
        .version = r->template_version, .fingerprint = r->fingerprint, .workload = strdup(r->workload)};
    memcpy(s->template_id, r->template_id, sizeof s->template_id);
    if (!s->workload)
        return NULL;
    e->n++;
    return s;
}

void earlier_add(struct earlier *e, const struct record *r)
{
    const bool ok = r->status == STATUS_OK && r->time_ns > 0;
    struct earlier_search *s;
    struct row row;
    bool has_room;

    if (e->failed || e->n_rows == EARLIER_MAX_ROWS || !r->workload || !r->knobs || r->status == STATUS_LOST ||
        (r->status == STATUS_OK && !ok) || strcmp(r->purpose, "search") != 0)
        return;
    s = search_of(e, r);
    has_room = s && !VEC_ROOM(s->rows, s->cap, s->n + 1, VEC_ANY);
    row = (struct row){has_room ? cJSON_Duplicate(r->knobs, true) : NULL, ok ? log(r->time_ns) : (double)NAN};
    if (!row.knobs) {
        e->failed = ERR_NOMEM;
        return;
    }
    assert(s->n < s->cap);
    s->rows[s->n++] = row;
    s->n_ok += ok;
    e->n_rows++;
}

/* A person's own kernels have no template that tells them apart: their names do. */
static bool same_kernel(const char *a, const char *b)
{
    const size_t n = strcspn(a, " ") + 1, m = n + strcspn(strlen(a) > n ? a + n : "", " ");

    return strncmp(a, b, m) == 0 && (b[m] == ' ' || b[m] == '\0');
}

/* Is there something to learn that the task will not be told as its own? */
static bool is_source(const struct earlier_search *s, const struct task *t, const struct arm *a)
{
    const bool own =
        s->version == a->version && strcmp(s->workload, t->text) == 0 && task_has_device(t, &s->fingerprint);

    return !own && s->n_ok > 0 && strcmp(s->template_id, a->id) == 0 && (*a->id || same_kernel(s->workload, t->text));
}

/* How unlike the task's workload is; infinity for what is no workload of an operator. */
static double unlike(const struct earlier_search *s, const struct task *t)
{
    struct workload w;

    return t->workload.op && !workload_parse(s->workload, &w, NULL) ? sibling_unlike(&w, &t->workload)
                                                                    : (double)INFINITY;
}

static bool is_nearer(const struct earlier_search *a, const struct earlier_search *b, const struct task *t)
{
    const bool same_a = strcmp(a->workload, t->text) == 0, same_b = strcmp(b->workload, t->text) == 0;

    if (same_a != same_b || a->n != b->n)
        return same_a != same_b ? same_a : a->n > b->n;
    return unlike(a, t) < unlike(b, t);
}

/* The nearest searches for one template, in order; returns how many. */
static size_t nearest(const struct earlier *e, const struct task *t, const struct arm *a,
                      const struct earlier_search *out[EARLIER_MAX_SOURCES])
{
    size_t n = 0;

    for (size_t i = 0; i < e->n; i++) {
        const struct earlier_search *s = &e->searches[i];
        size_t k;

        if (!is_source(s, t, a))
            continue;
        if (n == EARLIER_MAX_SOURCES && !is_nearer(s, out[n - 1], t))
            continue;
        n += n < EARLIER_MAX_SOURCES;
        for (k = n - 1; k > 0 && is_nearer(s, out[k - 1], t); k--)
            out[k] = out[k - 1];
        out[k] = s;
    }
    return n;
}

static double knob_of(const cJSON *knobs, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(knobs, name);

    if (cJSON_IsString(v))
        return transfer_word(v->valuestring);
    return cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
}

static enum err add_source(struct transfer *t, const struct space *space, const struct earlier_search *s)
{
    const size_t n_knobs = space_n_knobs(space);
    const char *names[SPACE_MAX_KNOBS];
    double *knobs = malloc(s->n * n_knobs * sizeof(*knobs) + 1), *values = malloc(s->n * sizeof(*values) + 1);
    enum err e = knobs && values ? ERR_OK : ERR_NOMEM;

    for (size_t k = 0; k < n_knobs; k++)
        names[k] = space_knob_name(space, k);
    for (size_t i = 0; i < s->n && !e; i++) {
        for (size_t k = 0; k < n_knobs; k++)
            knobs[i * n_knobs + k] = knob_of(s->rows[i].knobs, names[k]);
        values[i] = s->rows[i].value;
    }
    if (!e)
        e = transfer_add_source(t, s->workload, &(struct transfer_rows){names, knobs, values, s->n, n_knobs}, NULL);
    free(knobs);
    free(values);
    return e == ERR_NOMEM ? e : ERR_OK; /* a version without a knob in common tells nothing */
}

/* A log of winners has one record of each search: its config is worth a trial as it is, where the space has it. */
static void give_winner(const struct earlier_search *s, struct task *t, size_t i_arm)
{
    const struct row *best = NULL;
    struct config c;

    for (size_t i = 0; i < s->n; i++)
        if (!isnan(s->rows[i].value) && (!best || s->rows[i].value < best->value))
            best = &s->rows[i];
    if (best && s->n_ok <= EARLIER_WINNERS && !space_config_from_json(t->arms[i_arm].space, best->knobs, &c, NULL))
        task_give(t, i_arm, &c);
}

static enum err warm_arm(const struct earlier *e, struct task *t, size_t i_arm, const struct job *j, size_t *n_used,
                         struct why *why)
{
    const struct earlier_search *sources[EARLIER_MAX_SOURCES];
    struct arm *a = &t->arms[i_arm];
    const size_t n = nearest(e, t, a, sources);
    struct transfer *history = NULL;
    enum err err;

    if (n == 0)
        return ERR_OK;
    err = transfer_new_for(&history, a->space, (uint64_t)j->seed + i_arm);
    for (size_t i = 0; i < n && !err; i++)
        err = add_source(history, a->space, sources[i]);
    for (size_t i = 0; i < n; i++)
        give_winner(sources[i], t, i_arm);
    if (!err && transfer_n_sources(history) > 0) {
        *n_used += transfer_n_sources(history);
        return task_warm(t, j, i_arm, history, why);
    }
    transfer_free(history);
    return err ? why_set(why, err, "%s", err_words(err)) : ERR_OK;
}

enum err earlier_warm(const struct earlier *e, struct task *t, const struct job *j, size_t *n_used, struct why *why)
{
    enum err err = e->failed;

    *n_used = 0;
    if (err)
        return why_set(why, err, "%s", err_words(err));
    for (size_t i = 0; i < t->n_arms && !err; i++)
        if (!t->arms[i].baseline && (strcmp(j->strategy, "auto") == 0 || strcmp(j->strategy, "model") == 0))
            err = warm_arm(e, t, i, j, n_used, why);
    return err;
}
