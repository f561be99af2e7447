/* SPDX-License-Identifier: MIT */
#include "agent/trial.h"

#include "agent/child_calls.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/json.h"
#include "tracker/calls.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the host needs beside the kernel, added to run_s: filling, packing and checking at a slow board's pace. */
#define HOST_BYTES_PER_S 50e6

#define COPY(to, from) snprintf(to, sizeof(to), "%.*s", (int)sizeof(to) - 1, from)

static int within(double v, int min, int max)
{
    return v >= max ? max : v > min ? (int)v : min;
}

void trial_limits(const cJSON *body, double *build_s, double *run_s, int64_t *memory_bytes)
{
    struct trial_body b;
    struct body_limits l;

    (void)trial_body_read(body, &b, NULL); /* as all that is read of a body: what does not fit has its default */
    (void)body_limits_read(b.limits, &l, NULL);
    *build_s = fmin(fmax(l.build_s, 0.1), 3600);
    if (run_s)
        *run_s = fmin(fmax(l.run_s, 0.1), 3600);
    *memory_bytes = (int64_t)fmin(fmax(l.memory_bytes, 1048576), 1e15);
}

static void read_rules(struct trial *t, const struct trial_body *body)
{
    struct timing_rules *r = &t->rules;
    struct body_timing timing;
    struct body_anchor anchor;

    (void)body_timing_read(body->timing, &timing, NULL);
    (void)body_anchor_read(body->anchor, &anchor, NULL);
    r->rounds = within(timing.rounds, 1, TIMING_MAX_ROUNDS);
    r->rounds_near_best = within(timing.rounds_near_best, 1, TIMING_MAX_ROUNDS);
    r->min_calls = within(timing.min_calls, 1, 1000);
    r->warmup = within(timing.warmup, 0, 100);
    r->min_slot_ns = 1e6 * fmin(fmax(timing.min_slot_ms, 0.01), 1e4);
    assert(r->min_slot_ns > 0 && r->rounds > 0 && r->min_calls > 0); /* of a NaN, too */
    r->best_ns = timing.best_ns;
    r->best_lnratio = timing.best_lnratio;
    r->bridge = t->record.anchor.bridge = anchor.bridge;
    t->record.anchor.epoch = (int64_t)fmin(fmax(anchor.epoch, 0), 1e9);
}

static void read_body(struct trial *t, const struct trial_grant *grant, const struct trial_agent *agent)
{
    struct record *r = &t->record;
    struct trial_body body;

    (void)trial_body_read(grant->body, &body, NULL);
    COPY(r->id, t->id);
    COPY(r->job, grant->job);
    COPY(r->purpose, grant->purpose ? grant->purpose : body.purpose);
    COPY(r->proposed_by, body.proposed_by);
    COPY(r->key, body.key ? body.key : agent->key);
    COPY(r->agent, agent->name);
    COPY(r->tune, agent->tune ? agent->tune : "");
    COPY(r->objective, body.objective);
    t->least_flops = fmax(body.least_flops, 0);
    COPY(t->prove, body.prove);
    t->proven = body.proven;
    COPY(t->fills, body.fills);
    t->wants_energy = r->objective[0] != '\0';
    snprintf(r->protocol, sizeof r->protocol, TIMING_PROTOCOL "%s%s%s", t->wants_energy ? "+" : "", r->objective,
             t->wants_energy ? "-rest" : "");
    r->seed = (int64_t)fmin(fmax(body.seed, -9e15), 9e15);
    if (sha256_is_hex(body.sheet)) {
        COPY(t->sheet_name.hex, body.sheet);
        r->data_seed = (int64_t)fmin(fmax(body.data_seed, 0), 9e15);
    }
    r->program = t->program_name;
    r->fingerprint = agent->fingerprint;
    read_rules(t, &body);
    trial_limits(grant->body, &t->build_s, &t->run_s, &t->memory_bytes);
    t->rules.may_censor = strcmp(r->purpose, "search") == 0 && !t->wants_energy;
}

/* The code that builders made of the trial's programs. */
static enum err read_built(const cJSON *built, struct trial *t, struct why *why)
{
    struct built_code code;
    enum err e = built_code_read(built, &code, why);

    if (!e && code.program)
        e = built_from_json(code.program, &t->code, why);
    if (!e && code.anchor)
        e = built_from_json(code.anchor, &t->anchor_code, why);
    return e;
}

enum err trial_new(const cJSON *lease, const struct trial_agent *agent, struct trial **out, struct why *why)
{
    struct trial *t = calloc(1, sizeof *t);
    struct trial_grant grant;
    enum err e;

    if (!t)
        return why_set(why, ERR_NOMEM, "out of memory");
    record_init(&t->record);
    program_init(&t->program);
    atomic_init(&t->dropped, false);
    e = trial_grant_read(lease, &grant, why);
    if (!e && strlen(grant.trial) >= sizeof t->id)
        e = why_set(why, ERR_PROTOCOL, "a leased trial without a sane id");
    if (!e)
        e = read_built(grant.built, t, why);
    if (e) {
        trial_free(t);
        return e == ERR_NOMEM ? e : ERR_PROTOCOL;
    }
    COPY(t->id, grant.trial);
    t->token = grant.token;
    COPY(t->program_name.hex, grant.program);
    COPY(t->anchor_name.hex, grant.anchor);
    read_body(t, &grant, agent);
    t->clock = agent->clock;
    t->leased_ns = clock_read_ns(t->clock);
    *out = t;
    return ERR_OK;
}

void trial_free(struct trial *t)
{
    if (!t)
        return;
    built_fini(&t->code);
    built_fini(&t->anchor_code);
    program_fini(&t->program);
    cJSON_Delete(t->sense);
    record_fini(&t->record);
    free(t);
}

static void finish(struct trial *t)
{
    assert(!t->finished);
    t->record.ts_ms = clock_read_wall_ms(t->clock);
    t->finished = true;
}

void trial_fail(struct trial *t, enum record_status status, const char *stage, const char *why)
{
    struct record *r = &t->record;

    if (t->finished)
        return;
    r->status = status;
    COPY(r->stage, stage);
    free(r->why);
    r->why = strdup(why);
    finish(t);
}

void trial_take_program(struct trial *t, const void *text, size_t n)
{
    struct why why = {""};
    struct record *r = &t->record;
    const enum err e = program_from_json(text, n, &t->program, &why);

    if (e) {
        trial_fail(t, STATUS_RUNTIME, "prepare", why.text);
        return;
    }
    free(r->workload);
    cJSON_Delete(r->knobs);
    r->workload = strdup(t->program.workload ? t->program.workload : "");
    COPY(r->template_id, t->program.template_id ? t->program.template_id : "");
    r->template_version = t->program.template_version;
    r->knobs = t->program.knobs ? cJSON_Duplicate(t->program.knobs, true) : NULL;
    r->flops = t->program.flops;
    if (!program_is_checked(&t->program) && t->program.n_launches > 0)
        COPY(r->verified, "not checked");
    for (size_t i = 0; i < t->program.n_buffers; i++)
        t->buffer_bytes += t->program.buffers[i].n_elems * (int64_t)dtype_bytes(t->program.buffers[i].dtype);
    if (t->program.build_s > 0)
        t->build_s = fmin(t->build_s, t->program.build_s);
    if (t->program.run_s > 0)
        t->run_s = fmin(t->run_s, t->program.run_s);
    t->run_s += (double)t->buffer_bytes / HOST_BYTES_PER_S;
    if (t->program.memory_bytes > 0 && t->program.memory_bytes < t->memory_bytes)
        t->memory_bytes = t->program.memory_bytes;
}

void trial_check_fills(struct trial *t, const struct program *p)
{
    char own[PROGRAM_SUM_BYTES], words[256];

    if (!t->fills[0])
        return;
    program_fills_sum(p, own);
    if (strcmp(own, t->fills) == 0)
        return;
    snprintf(
        words, sizeof words,
        "this agent's version of tune makes other data of the program than its tuner's (fills %s, there %s): bring "
        "agents and tuners to one version",
        own, t->fills);
    trial_fail(t, STATUS_RUNTIME, "prepare", words);
}

void trial_take_code(struct trial *t)
{
    struct record *r = &t->record;

    COPY(r->built_by, t->code.by);
    COPY(r->compiler, t->code.compiler);
    r->build_ms = t->code.build_ms;
    cJSON_Delete(r->resources);
    r->resources = t->code.resources ? cJSON_Duplicate(t->code.resources, true) : NULL;
    if (t->code.status != STATUS_OK)
        trial_fail(t, t->code.status, t->code.stage[0] ? t->code.stage : "build", t->code.why ? t->code.why : "");
}

static enum record_status status_of(const char *name)
{
    const int s = status_by_name(name);

    return s < 0 ? STATUS_CRASH : (enum record_status)s;
}

/* Who made the code that was loaded: what the runtime tells, since the agent may have made it before any builder did;
 * what the builder told where the runtime has got nowhere. */
static void take_maker(struct trial *t, const struct verify_reply *v)
{
    if (!*v->compiler)
        return;
    COPY(t->record.compiler, v->compiler);
    COPY(t->record.built_by, v->built_by);
}

/* What making the code took: a builder's time where its code was loaded, else all that was spent here, in a compile
 * child and in the one that loaded it. */
static void take_build_time(struct trial *t, const struct verify_reply *v)
{
    const bool apart = t->code.n_files > 0 && !t->code.by[0];

    t->record.build_ms = t->record.built_by[0] ? t->code.build_ms : v->build_ms + (apart ? t->code.build_ms : 0);
    t->record.build_cached = !apart && v->build_cached;
}

void trial_take_verify(struct trial *t, const cJSON *reply)
{
    struct verify_reply v;

    (void)verify_reply_read(reply, &v, NULL); /* what does not fit has its default */
    cJSON_Delete(t->record.resources);
    t->record.resources = resources_merge(v.resources ? cJSON_Duplicate(v.resources, true) : NULL, t->code.resources);
    take_maker(t, &v);
    take_build_time(t, &v);
    t->record.verify_ms = v.verify_ms;
    t->ran_once = v.once;
    if (v.refused)
        trial_fail(t, STATUS_RUNTIME, SANDBOX_START, v.refused);
    else if (status_of(v.status) != STATUS_OK)
        trial_fail(t, status_of(v.status), v.stage, v.why);
}

static size_t take_samples(const cJSON *array, double **out)
{
    const cJSON *v;
    double *samples = calloc(RECORD_MAX_SAMPLES, sizeof *samples);
    size_t n = 0;

    free(*out);
    *out = samples;
    if (!samples)
        return 0;
    cJSON_ArrayForEach(v, array)
    {
        if (n < RECORD_MAX_SAMPLES && cJSON_IsNumber(v))
            samples[n++] = v->valuedouble;
    }
    return n;
}

void trial_take_time(struct trial *t, const cJSON *item, const cJSON *reply)
{
    struct record *r = &t->record;
    struct time_reply batch;
    struct timed_trial m;

    (void)time_reply_read(reply, &batch, NULL);
    (void)timed_trial_read(item, &m, NULL);
    r->device_ms = m.device_ms;
    r->verify_ms += m.check_ms;
    r->canary_before = batch.canary_before;
    r->canary_after = batch.canary_after;
    r->n_canary = take_samples(batch.canary_rounds, &r->canary_ns);
    t->peak_gflops = batch.gflops;
    cJSON_Delete(t->sense);
    t->sense = cJSON_Duplicate(batch.sense, true);
    if (status_of(m.status) != STATUS_OK) {
        COPY(r->cause, m.cause);
        trial_fail(t, status_of(m.status), m.stage, m.why);
        return;
    }
    r->status = STATUS_OK;
    r->time_ns = m.time_ns;
    if (t->ran_once && r->time_ns * 1e-6 < r->build_ms) { /* of what the first run took one run is no compiling */
        r->build_ms -= r->time_ns * 1e-6;
        r->verify_ms += r->time_ns * 1e-6;
    }
    r->energy_j = m.energy_j;
    r->lnratio = m.lnratio;
    r->se = m.se;
    r->rounds = m.rounds;
    r->calls = m.calls;
    r->censored = m.censored;
    r->n_samples = take_samples(m.samples, &r->samples_ns);
    r->pack_ns = m.pack_ns;
    if (!*r->verified)
        COPY(r->verified, m.in_part ? RECORD_IN_PART : RECORD_IN_FULL);
    if (!isnan(r->lnratio)) {
        r->anchor.hash = t->anchor_name;
        r->anchor.n_samples = take_samples(m.anchors, &r->anchor.samples_ns);
        r->anchor.n_slots = take_samples(m.anchor_slots, &r->anchor.slots_ns);
    }
    finish(t);
}

cJSON *trial_time_request(const struct trial *t, double known_ns)
{
    const struct timing_rules *r = &t->rules;

    return time_trial_write(&(struct time_trial){.program = t->program_name.hex,
                                                 .sheet = t->sheet_name.hex,
                                                 .least_flops = t->least_flops,
                                                 .energy = t->wants_energy,
                                                 .rounds = r->rounds,
                                                 .rounds_near_best = r->rounds_near_best,
                                                 .min_calls = r->min_calls,
                                                 .warmup = r->warmup,
                                                 .min_slot_ns = r->min_slot_ns,
                                                 .best_ns = r->best_ns,
                                                 .best_lnratio = r->best_lnratio,
                                                 .bridge = r->bridge,
                                                 .may_censor = r->may_censor,
                                                 .prove = t->prove,
                                                 .proven = t->proven,
                                                 .known_ns = known_ns});
}
