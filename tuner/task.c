/* SPDX-License-Identifier: MIT */
#include "tuner/task.h"

#include "core/err.h"
#include "core/json.h"
#include "core/vec.h"
#include "tuner/allocate.h"
#include "search/learn/transfer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void free_measured(struct measured *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        record_fini(&list[i].record);
    free(list);
}

void task_fini(struct task *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_arms; i++) {
        if (t->arms[i].strategy)
            t->arms[i].ops->fini(t->arms[i].strategy);
        transfer_free(t->arms[i].history);
        t->arms[i].source->close(&t->arms[i]);
    }
    free_measured(t->all, t->n_all);
    free_measured(t->finals, t->n_finals);
    free(t->text);
    free(t->name);
    *t = (struct task){.i_best = -1, .i_crown = -1};
}

static struct measured *append(struct measured **list, size_t *n, size_t *cap)
{
    if (VEC_ROOM(*list, *cap, *n + 1, VEC_ANY))
        return NULL;
    (*list)[*n] = (struct measured){.value = NAN};
    record_init(&(*list)[*n].record);
    return &(*list)[*n];
}

static int find_arm(const struct task *t, const struct record *r)
{
    for (size_t i = 0; i < t->n_arms; i++)
        if (strcmp(t->arms[i].id, r->template_id) == 0 && t->arms[i].version == r->template_version)
            return (int)i;
    return -1;
}

bool task_has_device(const struct task *t, const struct sha256 *fingerprint)
{
    return strcmp(fingerprint->hex, t->fingerprint.hex) == 0 ||
           (t->former.hex[0] && strcmp(fingerprint->hex, t->former.hex) == 0);
}

bool task_knows(const struct task *t, const struct record *r)
{
    return r->workload && strcmp(r->workload, t->text) == 0 && task_has_device(t, &r->fingerprint) &&
           r->status != STATUS_LOST && find_arm(t, r) >= 0;
}

static struct measured *find(const struct task *t, struct measured *list, size_t n, size_t i_arm,
                             const struct config *c)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].i_arm == i_arm && space_config_equal(t->arms[i_arm].space, &list[i].config, c))
            return &list[i];
    return NULL;
}

bool task_answers(const struct task *t, const struct record *r, const char *purpose, size_t i_arm,
                  const struct config *c)
{
    struct config got;

    return task_knows(t, r) && (size_t)find_arm(t, r) == i_arm && strcmp(r->objective, t->objective) == 0 &&
           strcmp(r->purpose, purpose) == 0 && !space_config_from_json(t->arms[i_arm].space, r->knobs, &got, NULL) &&
           space_config_equal(t->arms[i_arm].space, &got, c);
}

static enum err tell(struct task *t, const struct measured *m)
{
    const struct arm *a = &t->arms[m->i_arm];
    const struct record *r = &m->record;
    const struct outcome o = {
        .config = m->config, .value = m->value, .cost_s = (r->build_ms + r->verify_ms + r->device_ms) / 1e3};

    return a->strategy ? a->ops->tell(a->strategy, &o, 1) : ERR_OK;
}

static void note_best(struct task *t, size_t i, enum origin origin)
{
    const struct measured *m = &t->all[i];

    assert(i < t->n_all && (t->i_best < 0 || !isnan(t->all[t->i_best].value)));
    if (origin == ORIGIN_JOB && m->counted)
        t->since_better++;
    if (t->arms[m->i_arm].baseline)
        return;
    gain_add(&t->gain, m->value);
    if (isnan(m->value))
        return;
    if (t->i_best < 0 || m->value < t->all[t->i_best].value) {
        t->i_best = (int)i;
        t->since_better = 0;
    }
}

static const struct measured *by_program(const struct task *t, const char *hex)
{
    for (size_t i = 0; i < t->n_all; i++)
        if (strcmp(t->all[i].record.program.hex, hex) == 0 && t->all[i].record.status == STATUS_OK)
            return &t->all[i];
    return NULL;
}

/* What the store answers was timed against the anchor of another job, often a default, which is measured here too: by
 * their ratio then, from that one's value. */
static double value_of(const struct task *t, const struct record *r)
{
    const bool is_ratio = r->status == STATUS_OK && isfinite(r->lnratio) && r->anchor.hash.hex[0] && !*r->objective;
    const struct measured *beside =
        is_ratio && !anchor_has(&t->anchor, &r->anchor.hash) ? by_program(t, r->anchor.hash.hex) : NULL;

    return beside && !isnan(beside->value) ? beside->value + r->lnratio : anchor_value(&t->anchor, r);
}

static enum err take_search(struct task *t, const struct record *r, size_t i_arm, const struct config *c,
                            enum origin origin)
{
    struct arm *a = &t->arms[i_arm];
    struct measured *m = find(t, t->all, t->n_all, i_arm, c);
    enum err e;

    if (m)
        return ERR_OK;
    m = append(&t->all, &t->n_all, &t->cap_all);
    if (!m || record_copy(&m->record, r))
        return ERR_NOMEM;
    m->i_arm = i_arm;
    m->config = *c;
    m->value = value_of(t, r);
    m->counted = origin != ORIGIN_WARM && !a->baseline;
    t->n_all++;
    t->n_counted += m->counted;
    t->n_failed += r->status != STATUS_OK && origin != ORIGIN_WARM;
    if (origin != ORIGIN_JOB)
        a->n_trials++;
    e = tell(t, m);
    note_best(t, t->n_all - 1, origin);
    return e;
}

static enum err take_final(struct task *t, const struct record *r, size_t i_arm, const struct config *c)
{
    struct measured *m = find(t, t->finals, t->n_finals, i_arm, c);

    if (!m) {
        m = append(&t->finals, &t->n_finals, &t->cap_finals);
        if (!m)
            return ERR_NOMEM;
        t->n_finals++;
    }
    record_fini(&m->record);
    record_init(&m->record);
    m->i_arm = i_arm;
    m->config = *c;
    m->value = value_of(t, r);
    return record_copy(&m->record, r);
}

enum err task_take(struct task *t, const struct record *r, enum origin origin)
{
    struct config c;
    int i_arm;

    if (!task_knows(t, r) || strcmp(r->objective, t->objective) != 0)
        return ERR_OK;
    i_arm = find_arm(t, r);
    if (space_config_from_json(t->arms[i_arm].space, r->knobs, &c, NULL))
        return ERR_OK;
    if (strcmp(r->purpose, "search") == 0)
        return take_search(t, r, (size_t)i_arm, &c, origin);
    if (strcmp(r->purpose, "final") == 0 && origin != ORIGIN_WARM)
        return take_final(t, r, (size_t)i_arm, &c);
    return ERR_OK;
}

enum err task_refuse(struct task *t, size_t i_arm, const struct config *c)
{
    const struct measured m = {.i_arm = i_arm, .config = *c, .value = NAN};

    assert(i_arm < t->n_arms);
    t->n_failed++;
    t->n_refused++;
    return tell(t, &m);
}

void task_freeze_anchor(struct task *t, const struct sha256 *program)
{
    assert(!t->anchor.hash.hex[0] && t->i_best >= 0);
    anchor_first(&t->anchor, program, t->all[t->i_best].record.time_ns);
}

/* Values again from the records, after the anchor became known; strategies hear the new ones. */
static enum err revalue(struct task *t)
{
    enum err e = ERR_OK;

    t->i_best = -1;
    t->gain = (struct gain){.n = 0};
    for (size_t i = 0; i < t->n_all && !e; i++) {
        t->all[i].value = value_of(t, &t->all[i].record);
        e = tell(t, &t->all[i]);
        note_best(t, i, ORIGIN_LOG);
    }
    for (size_t i = 0; i < t->n_finals; i++)
        t->finals[i].value = value_of(t, &t->finals[i].record);
    return e;
}

/* The counted record with the newest anchor whose own search record is here: of the latest epoch, there the last. A log
 * may hold anchors of several jobs, by answers from a store; any of them will do. */
static const struct record *newest_anchored(const struct task *t)
{
    const struct record *newest = NULL;
    const char *unknown = "";

    for (size_t i = 0; i < t->n_all; i++) {
        const struct record *r = &t->all[i].record;
        const char *hex = r->anchor.hash.hex;

        if (!t->all[i].counted || !*hex || strcmp(hex, unknown) == 0 ||
            (newest && r->anchor.epoch < newest->anchor.epoch))
            continue;
        if ((newest && strcmp(hex, newest->anchor.hash.hex) == 0) || by_program(t, hex))
            newest = r;
        else
            unknown = hex;
    }
    return newest;
}

/* The epochs before that of `r`, of the same job: the scale is the first anchor's again, where its record is here. */
static void restore_links(struct task *t, const struct record *r)
{
    for (size_t i = 0; i < t->n_all; i++) {
        const struct record *q = &t->all[i].record;
        const struct measured *first = NULL;

        if (strcmp(q->job, r->job) != 0 || q->anchor.epoch >= r->anchor.epoch || !q->anchor.hash.hex[0] ||
            anchor_has(&t->anchor, &q->anchor.hash))
            continue;
        anchor_link(&t->anchor, &q->anchor.hash, q->anchor.bridge);
        if (q->anchor.epoch == 0 && (first = by_program(t, q->anchor.hash.hex)))
            t->anchor.ln_t0 = log(first->record.time_ns) - q->anchor.bridge;
    }
}

enum err task_restore_anchor(struct task *t,
                             enum err (*build)(const struct measured *m, struct sha256 *hash, void *arg), void *arg)
{
    const struct record *r = newest_anchored(t);
    const struct measured *m = r ? by_program(t, r->anchor.hash.hex) : NULL;
    struct sha256 rebuilt = {""};

    if (!m || build(m, &rebuilt, arg) || strcmp(rebuilt.hex, r->anchor.hash.hex) != 0)
        return ERR_OK;
    anchor_first(&t->anchor, &r->anchor.hash, m->record.time_ns);
    t->anchor.epoch = r->anchor.epoch;
    t->anchor.bridge = r->anchor.bridge;
    t->anchor.ln_t0 -= r->anchor.bridge; /* so that the anchor's own value is by its time */
    restore_links(t, r);
    return revalue(t);
}

static double best_of_arm(const struct task *t, size_t i_arm)
{
    double best = NAN;

    for (size_t i = 0; i < t->n_all; i++)
        if (t->all[i].i_arm == i_arm && !isnan(t->all[i].value) && !(t->all[i].value >= best))
            best = t->all[i].value;
    return best;
}

bool task_was_hinted(const struct task *t, size_t i_arm, const struct config *c)
{
    for (size_t i = 0; i < t->n_hinted; i++)
        if (t->hinted[i].i_arm == i_arm && space_config_equal(t->arms[i_arm].space, &t->hinted[i].config, c))
            return true;
    return false;
}

enum err task_ask(struct task *t, size_t n, struct task_proposal *out, size_t *n_out, struct why *why)
{
    struct allocate_arm arms[TASK_MAX_ARMS];
    bool busy = false;

    for (size_t i = 0; i < t->n_arms; i++)
        arms[i] = (struct allocate_arm){.best = best_of_arm(t, i),
                                        .n_trials = t->arms[i].n_trials,
                                        .possible = t->arms[i].possible,
                                        .exhausted = t->arms[i].exhausted || t->arms[i].baseline};
    for (*n_out = 0; *n_out < n;) {
        size_t share[TASK_MAX_ARMS] = {0}, sum = 0;

        for (size_t i; *n_out + sum < n && (i = allocate_next(arms, t->n_arms)) < t->n_arms; sum++) {
            arms[i].n_trials++;
            share[i]++;
        }
        if (sum == 0)
            return *n_out == 0 && busy ? ERR_BUSY : ERR_OK;
        for (size_t i = 0; i < t->n_arms; i++) {
            struct proposal p[64];
            size_t got = 0;
            const size_t want = share[i] < 64 ? share[i] : 64;
            enum err e = want ? t->arms[i].ops->ask(t->arms[i].strategy, want, p, &got) : ERR_OK;

            if (e && e != ERR_BUSY)
                return strategy_why(t->arms[i].ops, t->arms[i].strategy, e, why);
            busy |= e == ERR_BUSY;
            assert(got <= want);
            for (size_t k = 0; k < got; k++)
                if (!task_was_hinted(t, i, &p[k].config))
                    out[(*n_out)++] = (struct task_proposal){.i_arm = i, .config = p[k].config, .by = p[k].by};
            t->arms[i].n_trials += got;
            t->arms[i].exhausted |= got < want && !e;
            arms[i].exhausted = t->arms[i].exhausted || t->arms[i].baseline || e == ERR_BUSY;
        }
    }
    return ERR_OK;
}

const struct measured *task_fallback(const struct task *t, size_t i_arm)
{
    const struct arm *a = &t->arms[i_arm];

    return a->has_fallback ? find(t, t->all, t->n_all, i_arm, &a->fallback) : NULL;
}

const struct measured *task_best_fallback(const struct task *t)
{
    const struct measured *best = NULL;

    for (size_t i = 0; i < t->n_arms; i++) {
        const struct measured *m = t->arms[i].baseline ? NULL : task_fallback(t, i);

        if (m && !isnan(m->value) && (!best || m->value < best->value))
            best = m;
    }
    return best;
}

const struct measured *task_baseline(const struct task *t)
{
    for (size_t i = 0; i < t->n_all; i++)
        if (t->arms[t->all[i].i_arm].baseline)
            return &t->all[i];
    return NULL;
}

double task_peak_gflops(const struct record *r)
{
    const cJSON *peak = cJSON_GetObjectItemCaseSensitive(r->device, "peak_gflops");

    return cJSON_IsNumber(peak) && peak->valuedouble > 0 ? peak->valuedouble : 0;
}

double task_gain(const struct task *t, double ahead, double n_more)
{
    const struct record *best = t->i_best >= 0 ? &t->all[t->i_best].record : NULL;
    const double gain = gain_expected(&t->gain, ahead, n_more);
    const double peak = best && t->workload.op && t->workload.dtype == DTYPE_F32 ? task_peak_gflops(best) : 0;

    if (peak > 0 && record_gflops(best) > 0 && record_gflops(best) < peak)
        return fmin(gain, log(peak / record_gflops(best)));
    return gain;
}

static int by_value(const void *a, const void *b)
{
    const double x = (*(const struct measured *const *)a)->value, y = (*(const struct measured *const *)b)->value;

    return x < y ? -1 : x > y;
}

size_t task_top(const struct task *t, size_t n, const struct measured **out)
{
    const struct measured **good = calloc(t->n_all + 1, sizeof(*good));
    size_t n_good = 0;

    if (!good)
        return 0;
    for (size_t i = 0; i < t->n_all; i++)
        if (!isnan(t->all[i].value) && !t->arms[t->all[i].i_arm].baseline && !t->all[i].record.censored)
            good[n_good++] = &t->all[i];
    qsort(good, n_good, sizeof(*good), by_value);
    if (n_good > n)
        n_good = n;
    for (size_t i = 0; i < n_good; i++)
        out[i] = good[i];
    free(good);
    return n_good;
}

const struct measured *task_finest(const struct task *t, const struct measured *m)
{
    const struct measured *f = find(t, t->finals, t->n_finals, m->i_arm, &m->config);

    return f && !isnan(f->value) ? f : m;
}

static struct measured *find_program(struct measured *list, size_t n, const struct record *r)
{
    for (size_t i = 0; i < n && r->program.hex[0]; i++)
        if (strcmp(list[i].record.program.hex, r->program.hex) == 0 && !isnan(list[i].value))
            return &list[i];
    return NULL;
}

enum err task_crown(struct task *t, const struct record *r)
{
    struct measured *m = strcmp(r->purpose, "final") == 0 ? find_program(t->finals, t->n_finals, r) : NULL;
    const bool is_final = m != NULL;
    struct record copy;

    if (!m && !(m = find_program(t->all, t->n_all, r)))
        return ERR_OK;
    if (record_copy(&copy, r))
        return ERR_NOMEM;
    record_fini(&m->record);
    m->record = copy;
    t->i_crown = is_final ? (int)(t->n_all + (size_t)(m - t->finals)) : (int)(m - t->all);
    return ERR_OK;
}

static bool proves(const struct record *r, const char *program, int64_t data_seed)
{
    return data_seed && r->data_seed == data_seed && record_proof(r) == PROOF_FULL &&
           strcmp(r->program.hex, program) == 0;
}

bool task_proved(const struct task *t, const char *program, int64_t data_seed)
{
    for (size_t i = 0; i < t->n_all; i++)
        if (proves(&t->all[i].record, program, data_seed))
            return true;
    for (size_t i = 0; i < t->n_finals; i++)
        if (proves(&t->finals[i].record, program, data_seed))
            return true;
    return false;
}

static const struct measured *least(const struct task *t, const struct measured *list, size_t n,
                                    enum record_proof proof)
{
    const struct measured *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (!isnan(list[i].value) && !t->arms[list[i].i_arm].baseline && record_proof(&list[i].record) == proof &&
            (!best || list[i].value < best->value))
            best = &list[i];
    return best;
}

const struct measured *task_winner(const struct task *t)
{
    const struct measured *best = NULL;

    if (t->i_crown >= 0)
        return (size_t)t->i_crown < t->n_all ? &t->all[t->i_crown] : &t->finals[(size_t)t->i_crown - t->n_all];
    for (enum record_proof proof = PROOF_FULL; proof > PROOF_NONE && !best; proof--) {
        best = least(t, t->finals, t->n_finals, proof);
        best = best ? best : least(t, t->all, t->n_all, proof);
    }
    return best;
}

bool measured_tie(const struct measured *a, const struct measured *b)
{
    const double se = sqrt(a->record.se * a->record.se + b->record.se * b->record.se);

    return fabs(a->value - b->value) < fmax(0.01, 2 * se);
}

size_t task_n_ties(const struct task *t)
{
    const struct measured *w = task_winner(t);
    size_t n = 0;

    for (size_t i = 0; w && i < t->n_finals; i++)
        n += &t->finals[i] != w && !isnan(t->finals[i].value) && measured_tie(w, &t->finals[i]);
    return n;
}
