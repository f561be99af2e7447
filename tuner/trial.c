/* SPDX-License-Identifier: MIT */
#include "tuner/trial.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
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
    const char *prove; /* which of a batch are put through all passes of their sheet */
} kinds[N_TRIAL_KINDS] = {
    [TRIAL_SEARCH] = {"search", 0, 0, 1, true, "least"},
    [TRIAL_BASELINE] = {"search", 1, 1, 12, false, "no"},
    [TRIAL_BRIDGE] = {"redo", ANCHOR_BRIDGE_ROUNDS, 0, 3, false, "no"},
    [TRIAL_FINAL] = {"final", 15, 0, 3, false, "winner"},
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
static void protocol_of(const struct trial_batch *b, char out[32])
{
    const char *objective = b->job->objective;

    snprintf(out, 32, JOB_PROTOCOL "%s%s%s%s", *objective ? "+" : "", objective, *objective ? "-rest" : "",
             b->is_told ? "+told" : "");
}

/* Nobody chooses a bridge. Where energy counts an agent does not know who wins. A best that was not verified in full
 * may have nobody behind it who was, and what is for comparison alone may be all there is. */
static const char *how_proven(const struct trial_batch *b, const struct task *t, enum trial_kind kind)
{
    if (kind != TRIAL_BRIDGE && (b->is_told || *b->job->objective))
        return "each";
    if (kind == TRIAL_SEARCH && t && t->i_best >= 0 && record_proof(&t->all[t->i_best].record) < PROOF_FULL)
        return "winner";
    return kind == TRIAL_BASELINE && t && !task_winner(t) ? "least" : kinds[kind].prove;
}

static cJSON *timing(const struct trial_batch *b, const struct task *t, enum trial_kind kind, const char *protocol)
{
    const struct job_timing *jt = &b->job->timing;
    const bool by_time = !*b->job->objective, quick = kind == TRIAL_BASELINE;
    const struct measured *best = by_time && t && t->i_best >= 0 && kinds[kind].censor ? &t->all[t->i_best] : NULL;
    const int64_t rounds = kinds[kind].rounds ? kinds[kind].rounds : jt->rounds;
    const int64_t near = rounds > jt->rounds_near_best || kind != TRIAL_SEARCH ? rounds : jt->rounds_near_best;
    const bool has_ratio = best && t && t->anchor.hash.hex[0] && !quick;
    const struct body_timing timing = {
        .protocol = protocol,
        .rounds = (double)rounds,
        .rounds_near_best = (double)near,
        .min_calls = (double)(kinds[kind].min_calls ? kinds[kind].min_calls : jt->min_calls),
        .min_slot_ms = quick ? 0 : jt->min_slot_ms,
        .warmup = quick ? 0 : (double)jt->warmup,
        .best_ns = best ? best->record.time_ns : 0,
        .best_lnratio =
            has_ratio ? best->value - t->anchor.ln_t0 : NAN, // cppcheck-suppress nullPointer ; bridge included
    };

    return body_timing_write(&timing);
}

/* What the body says of one config. */
struct of_config {
    const char *program, *sheet; /* names; "" = no sheet */
    const char *fills;           /* program_fills_sum; "" = not known */
    double least_flops;          /* 0 = not known */
};

static cJSON *body(const struct trial_batch *b, const struct task *t, enum trial_kind kind, const struct of_config *of,
                   const char *by, const char *protocol)
{
    const struct job *j = b->job;
    const struct body_anchor anchor = {.epoch = t ? (double)t->anchor.epoch : 0, .bridge = t ? t->anchor.bridge : 0};
    const struct body_limits limits = {
        .build_s = j->build_s, .run_s = j->run_s * kinds[kind].run_factor, .memory_bytes = (double)j->memory_bytes};
    const struct trial_body body = {.purpose = kinds[kind].purpose,
                                    .proposed_by = by,
                                    .objective = *j->objective ? j->objective : NULL,
                                    .seed = (double)j->seed,
                                    .key = b->device->key,
                                    .timing = timing(b, t, kind, protocol),
                                    .anchor = body_anchor_write(&anchor),
                                    .limits = body_limits_write(&limits),
                                    .least_flops = of->least_flops > 0 ? of->least_flops : NAN,
                                    .sheet = *of->sheet ? of->sheet : NULL,
                                    .data_seed = (double)j->data_seed,
                                    .prove = how_proven(b, t, kind),
                                    .proven = t && task_proved(t, of->program, j->data_seed),
                                    .fills = *of->fills ? of->fills : NULL};

    return trial_body_write(&body);
}

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
    protocol_of(b, protocol);
    offer.body = body(b, t, kind, of, by, protocol);
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

/* What the run's own data say of programs whose arithmetic is known; no name for others. Its passes go behind `p`'s. */
static enum err put_sheet(struct trial_batch *b, const struct task *t, size_t i_arm, const struct config *c,
                          struct program *p, struct sha256 *name)
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
    if (!e)
        e = program_sheet_read(buf_text(&text), text.len, p, NULL);
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
    char fills[PROGRAM_SUM_BYTES] = "";
    enum err e = task_program(t, i_arm, c, &p, &b->blobs, why);

    if (e)
        return e;
    e = put_program(b, &p, &name);
    if (!e)
        e = put_sheet(b, t, i_arm, c, &p, &sheet);
    if (!e)
        program_fills_sum(&p, fills);
    program_fini(&p);
    if (!e)
        e = add(b, t, kind, &(struct of_config){name.hex, sheet.hex, fills, least_flops(t, i_arm, c)}, by, n);
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
        e = add(b, NULL, TRIAL_SEARCH, &(struct of_config){name.hex, "", "", 0}, "user", n);
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
