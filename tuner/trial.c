/* SPDX-License-Identifier: MIT */
#include "tuner/trial.h"

#include "kernels/expect.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BATCH_MAX_BYTES ((size_t)1 << 30)

/* How each kind of trial differs from the job's own timing; 0 = as the job says. */
static const struct {
    const char *purpose;
    int64_t rounds, min_calls;
    double run_factor; /* of the run limit */
    bool censor;       /* may be given up against the best */
} kinds[N_TRIAL_KINDS] = {
    [TRIAL_SEARCH] = {"search", 0, 0, 1, true},
    [TRIAL_BASELINE] = {"search", 1, 1, 12, false},
    [TRIAL_BRIDGE] = {"redo", ANCHOR_BRIDGE_ROUNDS, 0, 3, false},
    [TRIAL_FINAL] = {"final", 15, 0, 3, false},
};

const char *trial_purpose(enum trial_kind kind)
{
    return kinds[kind].purpose;
}

enum err trial_batch_init(struct trial_batch *b, const struct job *job, const struct device_choice *device)
{
    *b = (struct trial_batch){.job = job, .device = device, .trials = cJSON_CreateArray()};
    blobs_init(&b->blobs, BATCH_MAX_BYTES);
    return b->trials ? ERR_OK : ERR_NOMEM;
}

void trial_batch_fini(struct trial_batch *b)
{
    blobs_fini(&b->blobs);
    cJSON_Delete(b->trials);
    b->trials = NULL;
}

/* Records of one are no answer to trials of the other. */
static void protocol_of(const struct job *j, char out[32])
{
    snprintf(out, 32, JOB_PROTOCOL "%s%s", *j->objective ? "+" : "", j->objective);
}

static cJSON *timing(const struct trial_batch *b, const struct task *t, enum trial_kind kind, bool *ok)
{
    const struct job_timing *jt = &b->job->timing;
    const bool by_time = !*b->job->objective;
    const struct measured *best = by_time && t && t->i_best >= 0 && kinds[kind].censor ? &t->all[t->i_best] : NULL;
    const int64_t rounds = kinds[kind].rounds ? kinds[kind].rounds : jt->rounds;
    const int64_t near = rounds > jt->rounds_near_best || kind != TRIAL_SEARCH ? rounds : jt->rounds_near_best;
    cJSON *o = cJSON_CreateObject();
    char protocol[32];

    protocol_of(b->job, protocol);
    json_add_text(o, "protocol", protocol, ok);
    json_add_i64(o, "rounds", rounds, ok);
    json_add_i64(o, "rounds_near_best", near, ok);
    json_add_i64(o, "min_calls", kinds[kind].min_calls ? kinds[kind].min_calls : jt->min_calls, ok);
    json_add_real(o, "min_slot_ms", kind == TRIAL_BASELINE ? 0 : jt->min_slot_ms, ok);
    json_add_i64(o, "warmup", kind == TRIAL_BASELINE ? 0 : jt->warmup, ok);
    json_add_real(o, "best_ns", best ? best->record.time_ns : 0, ok);
    if (best && t->anchor.hash.hex[0] && kind != TRIAL_BASELINE)
        json_add_real(o, "best_lnratio", best->value - t->anchor.ln_t0, ok); /* bridge included */
    else
        json_add_item(o, "best_lnratio", cJSON_CreateNull(), ok);
    return o;
}

static cJSON *limits(const struct trial_batch *b, enum trial_kind kind, bool *ok)
{
    cJSON *o = cJSON_CreateObject();

    json_add_real(o, "build_s", b->job->build_s, ok);
    json_add_real(o, "run_s", b->job->run_s * kinds[kind].run_factor, ok);
    json_add_i64(o, "memory_bytes", b->job->memory_bytes, ok);
    return o;
}

static cJSON *body(const struct trial_batch *b, const struct task *t, enum trial_kind kind, const char *by, bool *ok)
{
    cJSON *o = cJSON_CreateObject(), *anchor = cJSON_CreateObject();

    json_add_text(o, "purpose", kinds[kind].purpose, ok);
    json_add_text(o, "proposed_by", by, ok);
    if (*b->job->objective)
        json_add_text(o, "objective", b->job->objective, ok);
    json_add_i64(o, "seed", b->job->seed, ok);
    json_add_text(o, "key", b->device->key, ok);
    json_add_item(o, "timing", timing(b, t, kind, ok), ok);
    json_add_i64(anchor, "epoch", t ? t->anchor.epoch : 0, ok);
    json_add_real(anchor, "bridge", t ? t->anchor.bridge : 0, ok);
    json_add_item(o, "anchor", anchor, ok);
    json_add_item(o, "limits", limits(b, kind, ok), ok);
    return o;
}

/* What the body says of one config. */
struct of_config {
    const char *program, *sheet; /* names; "" = no sheet */
    double least_flops;          /* 0 = not known */
};

static enum err add(struct trial_batch *b, const struct task *t, enum trial_kind kind, const struct of_config *of,
                    const char *by, int64_t n)
{
    char protocol[32];
    struct trial_offer offer = {.n = n,
                                .key = b->device->key,
                                .fingerprint = b->device->fingerprint.hex,
                                .program = of->program,
                                .anchor = t && kind != TRIAL_BASELINE ? t->anchor.hash.hex : "",
                                .purpose = kinds[kind].purpose,
                                .protocol = protocol};
    bool ok = true;

    assert(kind < N_TRIAL_KINDS && n >= 0);
    protocol_of(b->job, protocol);
    offer.body = body(b, t, kind, by, &ok);
    if (of->least_flops > 0)
        json_add_real(offer.body, "least_flops", of->least_flops, &ok);
    if (*of->sheet) {
        json_add_text(offer.body, "sheet", of->sheet, &ok);
        json_add_i64(offer.body, "data_seed", b->job->data_seed, &ok);
    }
    call_list_add(&b->trials, trial_offer_write(&offer), &ok);
    b->n += ok;
    return ok ? ERR_OK : ERR_NOMEM;
}

static enum err put_program(struct trial_batch *b, const struct program *p, struct sha256 *name)
{
    struct buf text;
    enum err e;

    buf_init(&text, PROGRAM_MAX_BYTES);
    e = program_to_json(p, &text);
    if (!e)
        e = blobs_put(&b->blobs, buf_text(&text), text.len, name);
    buf_fini(&text);
    return e;
}

/* What the run's own data say of programs whose arithmetic is known; no name for others. */
static enum err put_sheet(struct trial_batch *b, const struct task *t, size_t i_arm, const struct config *c,
                          struct sha256 *name)
{
    const struct arm *a = &t->arms[i_arm];
    struct numerics numerics;
    struct buf text;
    enum err e;

    if (!a->source->numerics || !b->job->data_seed)
        return ERR_OK;
    numerics = a->source->numerics(t, a, c);
    buf_init(&text, PROGRAM_MAX_BYTES);
    e = expect_sheet(&t->workload, &numerics, (uint64_t)b->job->data_seed, &text, &b->blobs);
    if (!e)
        e = blobs_put(&b->blobs, buf_text(&text), text.len, name);
    buf_fini(&text);
    return e;
}

static double least_flops(const struct task *t, size_t i_arm, const struct config *c)
{
    const struct arm *a = &t->arms[i_arm];

    return a->source->least_flops ? a->source->least_flops(t, a, c) : 0;
}

enum err trial_batch_add(struct trial_batch *b, const struct task *t, enum trial_kind kind, size_t i_arm,
                         const struct config *c, const char *by, int64_t n, struct sha256 *program, struct why *why)
{
    struct program p;
    struct sha256 name = {""}, sheet = {""};
    enum err e = task_program(t, i_arm, c, &p, &b->blobs, why);

    if (e)
        return e;
    e = put_program(b, &p, &name);
    program_fini(&p);
    if (!e)
        e = put_sheet(b, t, i_arm, c, &sheet);
    if (!e)
        e = add(b, t, kind, &(struct of_config){name.hex, sheet.hex, least_flops(t, i_arm, c)}, by, n);
    if (!e && program)
        *program = name;
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

enum err trial_batch_add_program(struct trial_batch *b, const struct program *p, int64_t n, struct sha256 *program,
                                 struct why *why)
{
    struct sha256 name = {""};
    enum err e = put_program(b, p, &name);

    if (!e)
        e = add(b, NULL, TRIAL_SEARCH, &(struct of_config){name.hex, "", 0}, "user", n);
    if (!e && program)
        *program = name;
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

enum err trial_batch_send(struct trial_batch *b, struct client *c, const char *job_id, int64_t token,
                          struct trial_add_result *out, cJSON **tree, struct why *why)
{
    struct trial_add_args args = {.job = job_id, .token = token};
    enum err e = client_put_blobs(c, &b->blobs, why);

    if (e)
        return e;
    args.trials = b->trials;
    b->trials = NULL;
    return client_trial_add(c, &args, out, tree, why);
}
