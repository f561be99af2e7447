/* SPDX-License-Identifier: MIT */
#include "agent/child_ops.h"
#include "agent/cool.h"
#include "agent/energy.h"
#include "agent/measure.h"
#include "agent/plausible.h"
#include "agent/prove.h"
#include "core/clock.h"
#include "runtime/verify.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOW_CALL_NS 100e6
#define COSTLY_CALL_NS 20e6
#define FAR_OFF 3 /* times what the job has: as censored ones, which were told of it */

/* One request: the batch, its programs, and what failed before it could be timed. */
struct timed {
    struct child *child;
    struct measure_batch batch;
    struct measure_item items[TIMING_MAX_BATCH], anchor;
    struct child_program programs[TIMING_MAX_BATCH];
    const char *stage[TIMING_MAX_BATCH]; /* where items[i].e happened */
    struct proof proofs[TIMING_MAX_BATCH];
    bool wants_energy[TIMING_MAX_BATCH];
    double least_flops[TIMING_MAX_BATCH];
    double energy_j[TIMING_MAX_BATCH]; /* of one run; 0 = not measured */
    bool no_energy[TIMING_MAX_BATCH];  /* the device has no sensor of it */
    double canary_before, canary_after;
    struct cool_rules cool_rules;
    struct cool cool;
};

/* What has been timed here since the search told of its best counts, too: of the first ones it tells nothing. A best
 * that is known by its ratio stays: a time of another moment of the device is none to set beside it. */
static void know_best(struct timing_rules *r, double known_ns)
{
    if (!(known_ns > 0) || (r->best_ns > 0 && r->best_ns <= known_ns))
        return;
    r->best_ns = known_ns;
}

static struct timing_rules rules_of(const struct time_trial *in)
{
    return (struct timing_rules){.rounds = (int)in->rounds,
                                 .rounds_near_best = (int)in->rounds_near_best,
                                 .min_calls = (int)in->min_calls,
                                 .warmup = (int)in->warmup,
                                 .min_slot_ns = in->min_slot_ns,
                                 .best_ns = in->best_ns,
                                 .best_lnratio = in->best_lnratio,
                                 .bridge = in->bridge,
                                 .may_censor = in->may_censor};
}

static void note_slot(int i, void *arg)
{
    const struct timed *t = arg;

    child_at(t->child, "time", i);
}

/* Once in each round. */
static double note_canary(void *arg)
{
    struct timed *t = arg;

    cool_during(&t->cool);
    return child_canary_now_ns(t->child);
}

/* A wait renews the parent's clock. */
static void note_alive(void *arg)
{
    child_at(arg, "time", MEASURE_CANARY);
}

static enum err read_and_load(struct timed *t, struct child_program *p, const char *hex, int i, struct why *why)
{
    enum err e;

    child_at(t->child, "load", i);
    e = child_program_read(t->child, p, hex, why);
    return e ? e : child_program_load(t->child, p, why);
}

static void load_item(struct timed *t, int i, const cJSON *trial)
{
    struct measure_item *m = &t->items[i];
    struct time_trial in;

    t->stage[i] = "load";
    m->e = time_trial_read(trial, &in, &m->why);
    m->rules = rules_of(&in);
    know_best(&m->rules, in.known_ns);
    t->wants_energy[i] = in.energy;
    t->least_flops[i] = in.least_flops;
    t->proofs[i] = (struct proof){.how = prove_of(in.prove), .had = in.proven, .known_ns = in.known_ns};
    if (!m->e)
        m->e = read_and_load(t, &t->programs[i], in.program, i, &m->why);
    if (!m->e && *in.sheet)
        m->e = child_sheet_read(t->child, &t->programs[i], in.sheet, &m->why);
    if (t->programs[i].unread)
        t->stage[i] = SANDBOX_START;
    if (m->e)
        return;
    t->stage[i] = "time";
    m->program = &t->programs[i].program;
    m->loaded = t->programs[i].loaded;
    m->blobs = &t->programs[i].blobs;
    m->runs_again = verify_n_behind(m->program) > 0; /* check_candidates */
}

/* The anchor of the batch before, or another one in its place. */
static enum err want_anchor(struct timed *t, const char *hex, struct why *why)
{
    struct child *c = t->child;
    enum err e;

    if (c->anchor && strcmp(c->anchor_hex, hex) == 0)
        return ERR_OK;
    child_drop_anchor(c);
    c->anchor = calloc(1, sizeof *c->anchor);
    if (!c->anchor)
        return why_set(why, ERR_NOMEM, "out of memory");
    child_program_init(c->anchor);
    e = read_and_load(t, c->anchor, hex, TIMING_ANCHOR, why);
    if (e)
        child_drop_anchor(c);
    else
        snprintf(c->anchor_hex, sizeof c->anchor_hex, "%s", hex);
    return e;
}

/* The anchor goes by the rules of the first trial. */
static void load_anchor(struct timed *t, const char *hex)
{
    if (!*hex || want_anchor(t, hex, &t->anchor.why))
        return;
    t->anchor.program = &t->child->anchor->program;
    t->anchor.loaded = t->child->anchor->loaded;
    t->anchor.blobs = &t->child->anchor->blobs;
    t->anchor.rules = t->items[0].rules;
    t->anchor.rules.best_ns = 0;
    t->batch.anchor = &t->anchor;
}

/* Apart from the rounds: a second for each, in which nothing is compared, behind one of rest. */
static void measure_energy(struct timed *t)
{
    const struct child *c = t->child;
    bool rested = false;

    for (int i = 0; i < t->batch.n_items; i++) {
        struct measure_item *m = &t->items[i];

        if (!t->wants_energy[i] || m->e || m->series.n == 0)
            continue;
        child_at(t->child, "time", i);
        if (!rested)
            m->e = energy_at_rest(c->ops, c->device, NULL, &t->cool.rest_w, &m->why);
        rested = rested || !m->e;
        if (!m->e)
            m->e = energy_of_run(c->ops, c->device, m->loaded, t->cool.rest_w, NULL, &t->energy_j[i], &m->why);
        t->no_energy[i] = m->e == ERR_UNSUPPORTED;
    }
}

/* The peak is the highest that this child has seen: a canary that was disturbed makes nobody wrong. */
static void judge_times(struct timed *t)
{
    struct child *c = t->child;
    double least_ns = t->canary_before;

    for (int i = 0; i < t->batch.n_canaries; i++)
        least_ns = least_ns > 0 && least_ns < t->batch.canary_ns[i] ? least_ns : t->batch.canary_ns[i];
    if (least_ns > 0)
        c->peak_gflops = fmax(c->peak_gflops, canary_flops(c->canary) / least_ns);
    for (int i = 0; i < t->batch.n_items; i++) {
        struct measure_item *m = &t->items[i];

        if (!m->e && m->series.n)
            m->e = plausible_check(m->program, c->ops->describe(c->device), t->least_flops[i], c->peak_gflops,
                                   m->value.time_ns, &m->why);
    }
}

/* How many of the passes behind timing are run. What is far off, or ran once, will not be chosen, nor will what is slow
 * before it is a finalist; of long calls one more pass takes as long as many trials' all. */
static size_t passes_behind_timing(const struct measure_item *m, double known_ns, bool proves)
{
    const bool is_far = m->censored || (known_ns > 0 && m->value.time_ns > FAR_OFF * known_ns);
    const size_t n_all = verify_n_behind(m->program), n = verify_n_for_all(m->program);

    if (proves)
        return n_all;
    if (is_far || m->series.calls == 1 || m->call_ns >= SLOW_CALL_NS)
        return 0;
    return m->call_ns >= COSTLY_CALL_NS && n > 1 ? 1 : n;
}

/* Passes over what the timed runs left. */
static void check_anew(struct timed *t, int i, bool proves)
{
    struct measure_item *m = &t->items[i];
    struct proof *proof = &t->proofs[i];
    struct verify_report report;
    size_t n;
    int64_t from;

    child_at(t->child, "time", i);
    if (proves && prove_watches(&t->proofs[i]))
        measure_watch(&t->batch, m);
    from = clock_now_ns();
    n = passes_behind_timing(m, proof->known_ns, proves && !proof->had);
    for (size_t k = 0; !m->e && k < n; k++) {
        child_at(t->child, "time", i);
        m->e = verify_behind(t->child->ops, m->loaded, m->program, m->blobs, k, &report, &m->why);
    }
    proof->in_part = n < verify_n_behind(m->program) && !proof->had;
    m->check_ns += (double)(clock_now_ns() - from);
}

/* The fastest first: when one that was to be chosen is wrong, the next one is put through all. */
static void check_candidates(struct timed *t)
{
    int order[TIMING_MAX_BATCH];
    const int n = prove_order(t->items, t->batch.n_items, order);
    bool is_found = false;

    for (int k = 0; k < n; k++) {
        const int i = order[k];
        const bool proves = !t->items[i].censored && prove_wanted(&t->items[i], &t->proofs[i], is_found);

        check_anew(t, i, proves);
        is_found |= proves && !t->items[i].e;
    }
}

static void run_batch(struct timed *t)
{
    struct child *c = t->child;

    t->batch.ops = c->ops;
    if (c->ops->simulated) {
        measure_simulated(&t->batch);
        measure_energy(t);
        return;
    }
    child_at(c, "load", MEASURE_CANARY);
    child_open_canary(c);
    child_at(c, "time", MEASURE_CANARY);
    cool_wait(&t->cool, &t->cool_rules, note_alive, c);
    t->canary_before = child_canary_ns(c);
    measure_batch(&t->batch);
    judge_times(t);
    measure_energy(t);
    check_candidates(t);
    cool_after(&t->cool);
    child_at(c, "time", MEASURE_CANARY);
    t->canary_after = child_canary_now_ns(c);
}

/* What the cores reached while this batch was timed. */
static double gflops_of(struct timed *t)
{
    const double ns = t->batch.n_canaries ? timing_median(t->batch.canary_ns, t->batch.n_canaries) : t->canary_before;

    return ns > 0 ? canary_flops(t->child->canary) / ns : 0;
}

static cJSON *samples_of(const struct timing_series *s)
{
    double ns[RECORD_MAX_SAMPLES] = {0};
    int n = s->n < RECORD_MAX_SAMPLES ? s->n : RECORD_MAX_SAMPLES;

    for (int i = 0; i < n; i++)
        ns[i] = s->slots[i].ns;
    return cJSON_CreateDoubleArray(ns, n);
}

/* The anchor as interpolated at each of the candidate's slots: what its ratio was taken with. */
static cJSON *anchor_samples_of(const struct timed *t, const struct timing_series *s)
{
    double ns[RECORD_MAX_SAMPLES] = {0};
    int n = s->n < RECORD_MAX_SAMPLES ? s->n : RECORD_MAX_SAMPLES;

    if (!t->batch.anchor || t->anchor.e || t->anchor.series.n == 0)
        return cJSON_CreateDoubleArray(ns, 0);
    for (int i = 0; i < n; i++)
        ns[i] = exp(timing_anchor_ln(&t->anchor.series, s->slots[i].at_ns));
    return cJSON_CreateDoubleArray(ns, n);
}

/* The anchor's own slots round each of the candidate's, in pairs. */
static cJSON *anchor_slots_of(const struct timed *t, const struct timing_series *s)
{
    double ns[RECORD_MAX_SAMPLES] = {0};
    int n = 2 * s->n <= RECORD_MAX_SAMPLES ? s->n : RECORD_MAX_SAMPLES / 2;

    if (!t->batch.anchor || t->anchor.e || t->anchor.series.n == 0)
        n = 0;
    for (int i = 0; i < n; i++) {
        struct timing_slot pair[2];

        timing_anchor_slots(&t->anchor.series, s->slots[i].at_ns, pair);
        ns[2 * i] = pair[0].ns;
        ns[2 * i + 1] = pair[1].ns;
    }
    return cJSON_CreateDoubleArray(ns, 2 * n);
}

static cJSON *trial_reply(const struct timed *t, int i)
{
    const struct measure_item *m = &t->items[i];
    const bool timed = !m->e && m->series.n > 0;
    struct timed_trial out = {
        .status = status_name(m->e    ? status_of_err(m->e)
                              : timed ? STATUS_OK
                                      : STATUS_RUNTIME),
        .stage = timed ? "" : t->stage[i],
        .cause = t->no_energy[i] ? RECORD_NO_ENERGY : NULL,
        .why = timed  ? ""
               : m->e ? m->why.text
                      : "no run of it could be timed",
        .device_ms = m->spent_ns * 1e-6,
        .check_ms = m->check_ns * 1e-6,
        .time_ns = NAN,
        .energy_j = NAN,
        .lnratio = NAN,
        .se = NAN,
        .pack_ns = NAN,
        .in_part = t->proofs[i].in_part,
    };

    if (!timed)
        return timed_trial_write(&out);
    out.time_ns = m->value.time_ns;
    if (t->energy_j[i] > 0)
        out.energy_j = t->energy_j[i];
    out.lnratio = m->value.lnratio;
    out.se = m->value.se;
    out.rounds = m->series.n;
    out.calls = m->series.calls;
    out.censored = m->censored;
    out.samples = samples_of(&m->series);
    out.anchors = anchor_samples_of(t, &m->series);
    out.anchor_slots = anchor_slots_of(t, &m->series);
    out.pack_ns = m->pack_ns;
    return timed_trial_write(&out);
}

static cJSON *batch_reply(struct timed *t)
{
    struct time_reply out = {.canary_before = t->canary_before,
                             .canary_after = t->canary_after,
                             .canary_rounds = cJSON_CreateDoubleArray(t->batch.canary_ns, t->batch.n_canaries),
                             .gflops = gflops_of(t),
                             .anchor_why = t->anchor.why.text,
                             .sense = cool_to_json(&t->cool)};
    bool ok = true;

    for (int i = 0; ok && i < t->batch.n_items; i++)
        call_list_add(&out.trials, trial_reply(t, i), &ok);
    if (ok)
        return time_reply_write(&out);
    call_drop(&time_reply_shape, &out);
    return NULL;
}

static void fini(struct timed *t)
{
    for (int i = 0; i < t->batch.n_items; i++)
        child_program_fini(t->child, &t->programs[i]);
    if (t->anchor.e)
        child_drop_anchor(t->child);
    free(t);
}

/* After a kernel that broke the device all others fail for nothing: a process that had more than the culprit in hand
 * ends, telling where it was, and the parent times each program in a process of its own. */
static void leave_if_lost(struct timed *t)
{
    const struct child *c = t->child;
    const struct loaded *culprit = c->ops->lost_by ? c->ops->lost_by(c->device) : NULL;
    int i_culprit = MEASURE_CANARY;

    if (!culprit || (t->batch.n_items == 1 && culprit == t->items[0].loaded))
        return;
    if (t->batch.anchor && culprit == t->anchor.loaded)
        i_culprit = TIMING_ANCHOR;
    for (int i = 0; i < t->batch.n_items; i++)
        if (culprit == t->items[i].loaded)
            i_culprit = i;
    fprintf(stderr, "%s\n",
            i_culprit >= 0               ? t->items[i_culprit].why.text
            : i_culprit == TIMING_ANCHOR ? t->anchor.why.text
                                         : "the canary broke the device");
    child_at(t->child, "time", i_culprit);
    _exit(1);
}

cJSON *child_time(struct child *c, const cJSON *request)
{
    struct timed *t = calloc(1, sizeof *t);
    struct time_args in;
    const cJSON *trial;
    cJSON *reply;

    if (!t)
        return NULL;
    (void)time_args_read(request, &in, NULL);
    t->child = c;
    t->batch.items = t->items;
    t->batch.before_slot = note_slot;
    t->batch.canary = note_canary;
    t->batch.arg = t;
    t->cool.ops = c->ops;
    t->cool.device = c->device;
    (void)cool_rules_read(in.cool, &t->cool_rules, NULL);
    rng_init(&t->batch.rng, (uint64_t)in.seed);
    cJSON_ArrayForEach(trial, in.trials)
    {
        if (t->batch.n_items == TIMING_MAX_BATCH)
            break;
        child_program_init(&t->programs[t->batch.n_items]);
        load_item(t, t->batch.n_items, trial);
        t->batch.n_items++;
    }
    load_anchor(t, in.anchor);
    assert(!t->batch.anchor || c->anchor);
    run_batch(t);
    leave_if_lost(t);
    reply = batch_reply(t);
    fini(t);
    return reply;
}
