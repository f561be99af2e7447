/* SPDX-License-Identifier: MIT */
#include "agent/farm.h"

#include "agent/farm_parts.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "core/version.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool farm_is_full(const struct farm *f)
{
    return f->ready.n >= f->options.batch;
}

int farm_n_compiled(const struct farm *f)
{
    return f->rig->n_forges > 0 ? f->leased.n + f->n_building : 0;
}

/* ---- held trials ---- */

/* The held trial of that id which the tracker has not taken back, or NULL; with the lock held. */
static struct trial *find_held(const struct farm *f, const char *id)
{
    for (int i = 0; i < f->n_held; i++)
        if (strcmp(f->held[i]->id, id) == 0 && !atomic_load(&f->held[i]->dropped))
            return f->held[i];
    return NULL;
}

bool farm_hold(struct farm *f, struct trial *t)
{
    struct trial *same;
    bool ok;

    pthread_mutex_lock(&f->hands.lock);
    same = find_held(f, t->id);
    if (same)
        same->token = t->token;
    ok = !same && f->n_held < MAX_HELD;
    if (ok)
        f->held[f->n_held++] = t;
    assert(f->n_held <= MAX_HELD);
    pthread_mutex_unlock(&f->hands.lock);
    return ok;
}

static void let_go(struct farm *f, struct trial *t)
{
    int i = 0;

    pthread_mutex_lock(&f->hands.lock);
    while (i < f->n_held && f->held[i] != t)
        i++;
    assert(i < f->n_held);
    f->held[i] = f->held[--f->n_held];
    hands_changed(&f->hands);
    pthread_mutex_unlock(&f->hands.lock);
    trial_free(t);
}

static void count(struct farm *f, const struct record *r)
{
    pthread_mutex_lock(&f->hands.lock);
    f->done++;
    f->failed += r->status != STATUS_OK;
    if (r->canary_after > 0)
        f->canary_ns = r->canary_after;
    assert(f->failed <= f->done);
    pthread_mutex_unlock(&f->hands.lock);
}

void farm_counts(struct farm *f, int64_t *done, int64_t *failed)
{
    pthread_mutex_lock(&f->hands.lock);
    *done = f->done;
    *failed = f->failed;
    pthread_mutex_unlock(&f->hands.lock);
}

/* ---- results ---- */

static void tell_result(struct farm *f, const struct trial *t)
{
    const struct record *r = &t->record;
    char ratio[64] = "no anchor";

    if (!isnan(r->lnratio))
        snprintf(ratio, sizeof ratio, "%.4f of the anchor", exp(r->lnratio));
    if (r->status == STATUS_OK)
        enlist_tell(&f->enlist, 1, "%s ok %.1f GFLOPS %.4g ms +- %.1f %%, %s (%s)", t->id, record_gflops(r),
                    r->time_ns * 1e-6, 100 * r->se, ratio, r->workload);
    else
        enlist_tell(&f->enlist, 1, "%s %s at %s: %.300s", t->id, status_name(r->status), r->stage,
                    r->why ? r->why : "");
}

static enum err send_record(struct farm *f, struct trial *t, struct accepted *reply, struct why *why)
{
    const struct record *r = &t->record;
    const struct envelope envelope = {.key = r->key,
                                      .fingerprint = r->fingerprint.hex,
                                      .program = r->program.hex,
                                      .status = status_name(r->status),
                                      .time_ns = r->time_ns,
                                      .flops = r->flops,
                                      .device_ms = r->device_ms};
    struct trial_result_args args = {.trial = t->id};
    struct buf line;
    enum err e;

    buf_init(&line, RECORD_MAX_BYTES);
    e = record_print(r, &line);
    if (e) {
        why_set(why, e, "cannot write a record: %s", err_words(e));
    } else {
        args.record = buf_text(&line);
        args.envelope = envelope_write(&envelope);
        pthread_mutex_lock(&f->hands.lock);
        args.token = t->token;
        pthread_mutex_unlock(&f->hands.lock);
        e = client_trial_result(f->enlist.client, &args, reply, NULL, why);
    }
    buf_fini(&line);
    return e;
}

void farm_give_back(struct farm *f, struct trial *t, const struct why *why)
{
    char words[sizeof why->text], cut[301];
    struct trial_release_args args = {.counted = true, .why = cut};
    bool ok = true;

    snprintf(words, sizeof words, "%.128s: %.800s", f->options.name, why->text);
    text_utf8(cut, sizeof cut, words);
    if (!atomic_load(&t->dropped) && !enlist_stopping(&f->enlist)) {
        enlist_tell(&f->enlist, 0, "%s is given back: %s", t->id, why->text);
        pthread_mutex_lock(&f->hands.lock);
        call_list_add(&args.trials, trial_ref_write(&(struct trial_ref){.trial = t->id, .token = t->token}), &ok);
        pthread_mutex_unlock(&f->hands.lock);
        if (ok)
            client_trial_release(f->enlist.client, &args, NULL, NULL, NULL); /* else its lease runs out */
        else
            cJSON_Delete(args.trials);
    }
    let_go(f, t);
}

/* A child that did not begin with the trial, but for one that its job gives too little memory for that. An agent whose
 * children do not for a while leaves. */
static bool is_unstarted(struct farm *f, const struct trial *t)
{
    const bool is = t->finished && t->record.status != STATUS_LIMITS && strcmp(t->record.stage, SANDBOX_START) == 0;

    if (t->finished && enlist_unstarted(&f->enlist, !is))
        rig_doubt(f->rig);
    return is;
}

/* Does the trial's failure say something of this agent, and nothing of the trial? */
static bool is_own_failure(struct farm *f, const struct trial *t, struct why *why)
{
    if (is_unstarted(f, t)) {
        why_set(why, ERR_CHILD, "%s", t->record.why ? t->record.why : "");
        return true;
    }
    return t->finished && t->record.status != STATUS_OK && workdir_check(&f->rig->dir, why);
}

void farm_answer(struct farm *f, struct trial *t)
{
    struct accepted reply;
    struct why why = {""};
    enum err e;

    if (is_own_failure(f, t, &why)) {
        farm_give_back(f, t, &why);
        return;
    }
    if (t->finished && !atomic_load(&t->dropped)) {
        rig_complete(f->rig, t);
        tell_result(f, t); /* before it is sent: whatever the tracker has from this agent, the agent has told of */
        e = send_record(f, t, &reply, &why);
        if (e && !enlist_stopping(&f->enlist))
            enlist_tell(&f->enlist, 0, "%s: the record was not taken: %s", t->id, why.text);
        if (!e) {
            enlist_tell(&f->enlist, 2, "%s: %s", t->id, reply.accepted ? "stored" : "another's record of it counts");
            count(f, &t->record);
        }
    }
    let_go(f, t);
}

/* ---- renewing ---- */

/* What a renewal was for. */
struct renewal {
    int n;
    struct {
        char id[SHA256_HEX + 1];
        int64_t token;
    } trials[MAX_HELD];
};

/* What is held and not dropped, as a list for the call; NULL when there is nothing, or no memory. */
static cJSON *list_held(struct farm *f, struct renewal *r)
{
    cJSON *list = NULL;
    bool ok = true;

    pthread_mutex_lock(&f->hands.lock);
    for (int i = 0; i < f->n_held; i++) {
        const struct trial_ref ref = {.trial = f->held[i]->id, .token = f->held[i]->token};

        if (atomic_load(&f->held[i]->dropped))
            continue;
        call_list_add(&list, trial_ref_write(&ref), &ok);
        strcpy(r->trials[r->n].id, ref.trial);
        r->trials[r->n++].token = ref.token;
    }
    pthread_mutex_unlock(&f->hands.lock);
    if (ok)
        return list;
    cJSON_Delete(list);
    return NULL;
}

/* The tracker took back what it lent under this token; meanwhile it may have lent it anew. */
static void drop_one(struct farm *f, const char *id, int64_t token)
{
    struct trial *t;

    pthread_mutex_lock(&f->hands.lock);
    t = find_held(f, id);
    if (t && t->token == token)
        atomic_store(&t->dropped, true);
    hands_changed(&f->hands); /* finals wait for no dropped ones */
    pthread_mutex_unlock(&f->hands.lock);
}

static void drop(struct farm *f, const struct renewal *r, const cJSON *list)
{
    const cJSON *id;

    cJSON_ArrayForEach(id, list)
    {
        for (int i = 0; i < r->n; i++)
            if (strcmp(r->trials[i].id, id->valuestring) == 0)
                drop_one(f, r->trials[i].id, r->trials[i].token);
    }
}

static void renew(struct farm *f)
{
    struct renewal r = {.n = 0};
    const struct trial_renew_args args = {.agent = f->options.name, .trials = list_held(f, &r)};
    struct trial_renew_result result;
    cJSON *tree = NULL;
    enum err e;

    if (!args.trials)
        return;
    e = client_trial_renew(f->enlist.client, &args, &result, &tree, NULL);
    if (!e) {
        drop(f, &r, result.lost);
        drop(f, &r, result.cancelled);
    } else if (e == ERR_NOT_FOUND) {
        enlist_again(&f->enlist); /* the tracker was restarted while all threads were at work */
    }
    cJSON_Delete(tree);
}

bool farm_beat_step(void *farm, int i)
{
    struct farm *f = farm;
    int64_t done, failed;
    double canary_ns;
    int n_held;

    (void)i;
    renew(f);
    farm_counts(f, &done, &failed);
    pthread_mutex_lock(&f->hands.lock);
    n_held = f->n_held;
    canary_ns = f->canary_ns;
    pthread_mutex_unlock(&f->hands.lock);
    enlist_beat(&f->enlist, n_held, done, failed, canary_ns);
    enlist_nap(&f->enlist, atomic_load(&f->enlist.renew_ms));
    return true;
}

/* ---- opening ---- */

static enum err enroll(struct enlist *x, int64_t *lease_ms, void *arg, struct why *why)
{
    const struct farm *f = arg;
    const struct device_desc *d = &f->rig->desc;
    char arch[32];
    const struct agent_register_args args = {.agent = f->options.name,
                                             .nonce = x->nonce,
                                             .version = TUNE_VERSION,
                                             .key = f->options.key,
                                             .fingerprint = f->rig->fingerprint.hex,
                                             .device = device_desc_to_json(d),
                                             .mix = f->options.mix,
                                             .arch = d->sm > 0 ? arch : NULL,
                                             .builds = f->rig->builds,
                                             .capacity =
                                                 f->rig->n_forges ? f->rig->n_forges + 2 * f->options.batch : 0};
    struct agent_register_result result;
    char words[CAGE_LINE_BYTES];
    const char *cage = rig_cage_words(f->rig, words);
    enum err e;

    if (args.device && cage)
        cJSON_AddStringToObject(args.device, "cage", cage);
    snprintf(arch, sizeof arch, "sm_%lld", (long long)d->sm);
    e = client_agent_register(x->client, &args, &result, NULL, why);
    if (e)
        return e;
    x->knows_builds = result.builds;
    *lease_ms = result.lease_ms;
    return ERR_OK;
}

static enum err enlist(struct farm *f, struct why *why)
{
    const struct enlist_options o = {.url = f->options.url,
                                     .key_file = f->options.key_file,
                                     .tls = f->options.tls,
                                     .name = f->options.name,
                                     .key = f->options.key,
                                     .enroll = enroll,
                                     .enroll_arg = f,
                                     .stop = f->options.stop,
                                     .log = f->options.log,
                                     .quit = f->options.quit,
                                     .log_arg = f->options.arg,
                                     .transport = f->options.transport,
                                     .transport_arg = f->options.transport_arg,
                                     .clock = f->options.clock,
                                     .entropy = f->options.entropy};
    const enum err e = enlist_open(&f->enlist, &o, why);

    if (!e && f->rig->desc.sm > 0 && !f->rig->builds && !f->enlist.knows_builds)
        enlist_tell(&f->enlist, 0, "this tracker hands out no builds (it is of an older version), and %s",
                    f->rig->builds_why.text);
    return e;
}

static void plan_hands(struct farm *f)
{
    f->n_builders = f->overlap ? f->rig->n_builders : 1;
    assert(f->n_builders >= 1 && f->n_builders <= RIG_MAX_BUILDERS);
    for (int i = 0; i < f->rig->n_forges; i++)
        hands_add(&f->hands, farm_compile_step, i);
    for (int i = 0; i < f->n_builders; i++)
        hands_add(&f->hands, farm_build_step, i);
    hands_add(&f->hands, farm_time_step, 0);
    hands_add(&f->hands, farm_lease_step, 0);
    hands_add(&f->hands, farm_beat_step, 0);
}

enum err farm_open(const struct farm_options *options, struct rig *rig, struct farm **out, struct why *why)
{
    struct farm *f = calloc(1, sizeof *f);
    enum err e;

    if (!f)
        return why_set(why, ERR_NOMEM, "out of memory");
    f->options = *options;
    f->rig = rig;
    f->overlap = options->overlap && rig_overlaps(rig);
    f->self = (struct trial_agent){options->name, options->key, rig->fingerprint, options->clock, version_text()};
    hands_init(&f->hands, options->stop, f);
    e = enlist(f, why);
    if (e) {
        farm_close(f);
        return e;
    }
    plan_hands(f);
    *out = f;
    return ERR_OK;
}

void farm_close(struct farm *f)
{
    if (!f)
        return;
    enlist_close(&f->enlist);
    for (int i = 0; i < f->n_held; i++)
        trial_free(f->held[i]);
    hands_fini(&f->hands);
    free(f);
}

enum err farm_start(struct farm *f, struct why *why)
{
    return hands_start(&f->hands, why);
}

void farm_bye(struct farm *f)
{
    enlist_bye(&f->enlist);
}
