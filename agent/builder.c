/* SPDX-License-Identifier: MIT */
#include "agent/builder.h"

#include "agent/built.h"
#include "agent/enlist.h"
#include "agent/fetch.h"
#include "agent/forge.h"
#include "agent/hands.h"
#include "agent/workdir.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/json.h"
#include "core/proc.h"
#include "tracker/protocol.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARCH_BYTES (CALL_ARCH_BYTES + 1)

/* One leased build. */
struct order {
    char program[SHA256_HEX + 1], arch[ARCH_BYTES], trial[24];
    int sm;
    double build_s;
    int64_t memory_bytes, blob_stamp;
    struct built built;
    struct buf code[PROGRAM_MAX_MODULES]; /* of built.files */
    bool taken;                           /* a thread is at work on it */
    atomic_bool dropped;                  /* another builder has it */
};

struct workshop {
    struct builder_options options;
    struct enlist enlist;
    struct workdir dir;
    struct cage cage; /* its children are shut into it */
    struct forge_compiler compiler;
    char caged[CAGE_LINE_BYTES], compiler_words[600];
    struct forge forges[FORGE_MAX];
    int n_forges;
    struct hands hands;            /* its lock: of all below */
    bool left;                     /* the tracker asked, and all is done */
    struct order *held[FORGE_MAX]; /* leased and not answered */
    int n_held;
    int64_t done, failed;
};

/* ---- options ---- */

enum err builder_read_sms(const char *text, struct builder_options *out, struct why *why)
{
    const char *at = text;

    out->n_sms = 0;
    for (;;) {
        const size_t n = strcspn(at, ",");
        const size_t digits = n > 3 && strncmp(at, "sm_", 3) == 0 ? strspn(at + 3, "0123456789") : 0;

        if (digits < 2 || digits > 3 || digits + 3 != n)
            return why_set(why, ERR_INPUT, "'%.*s' is no architecture: expected a list such as sm_61,sm_75,sm_90",
                           (int)(n < 40 ? n : 40), at);
        if (out->n_sms == BUILDER_MAX_SMS)
            return why_set(why, ERR_LIMIT, "over %d architectures for one builder", BUILDER_MAX_SMS);
        out->sms[out->n_sms++] = atoi(at + 3);
        if (!at[n])
            return ERR_OK;
        at += n + 1;
    }
}

/* ---- registering ---- */

static enum err enroll(struct enlist *x, int64_t *lease_ms, void *arg, struct why *why)
{
    const struct workshop *w = arg;
    struct builder_register_args args = {.agent = w->options.name,
                                         .nonce = x->nonce,
                                         .version = TUNE_VERSION,
                                         .compiler = w->compiler.name,
                                         .cage = w->caged};
    struct builder_register_result result;
    char name[ARCH_BYTES];
    bool ok = true;
    enum err e;

    for (int i = 0; i < w->options.n_sms; i++) {
        snprintf(name, sizeof name, "sm_%d", w->options.sms[i]);
        call_list_add_text(&args.arches, name, &ok);
    }
    if (!ok) {
        call_drop(&builder_register_args_shape, &args);
        return why_set(why, ERR_NOMEM, "out of memory");
    }
    e = client_builder_register(x->client, &args, &result, NULL, why);
    if (!e)
        *lease_ms = result.lease_ms;
    return e;
}

enum err builder_enlist(struct workshop *w, struct why *why)
{
    const struct enlist_options o = {.url = w->options.url,
                                     .key_file = w->options.key_file,
                                     .tls = w->options.tls,
                                     .name = w->options.name,
                                     .part = w->options.part,
                                     .enroll = enroll,
                                     .enroll_arg = w,
                                     .beats_idle = true,
                                     .stop = w->options.stop,
                                     .log = w->options.log,
                                     .quit = w->options.quit,
                                     .log_arg = w->options.arg,
                                     .transport = w->options.transport,
                                     .transport_arg = w->options.transport_arg,
                                     .clock = w->options.clock,
                                     .entropy = w->options.entropy};
    const enum err e = enlist_open(&w->enlist, &o, why);

    return e == ERR_UNSUPPORTED
               ? why_set(why, e, "the tracker %s is older than builders: it needs a newer tune-tracker", w->options.url)
               : e;
}

const char *builder_compiler(const struct workshop *w)
{
    return w->compiler_words;
}

const char *builder_cage(const struct workshop *w)
{
    return w->caged;
}

/* ---- orders ---- */

static void order_free(struct order *o)
{
    if (!o)
        return;
    for (int i = 0; i < PROGRAM_MAX_MODULES; i++)
        buf_fini(&o->code[i]);
    built_fini(&o->built);
    free(o);
}

static void fail(struct order *o, enum record_status status, const char *words)
{
    free(o->built.why);
    o->built.status = status;
    o->built.why = strdup(words);
    o->built.n_files = 0;
}

/* NULL, with words, for what is no build. */
static struct order *order_new(struct workshop *w, const cJSON *lease, struct why *why)
{
    struct build_grant grant;
    struct order *o;

    if (build_grant_read(lease, &grant, why) != ERR_OK)
        return NULL;
    if (strncmp(grant.arch, "sm_", 3) != 0) {
        why_set(why, ERR_PROTOCOL, "a leased build of program '%.12s' for '%.20s'", grant.program, grant.arch);
        return NULL;
    }
    o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    for (int i = 0; i < PROGRAM_MAX_MODULES; i++)
        buf_init(&o->code[i], BLOB_MAX_BYTES);
    strcpy(o->program, grant.program);
    strcpy(o->arch, grant.arch);
    snprintf(o->trial, sizeof o->trial, "%s", grant.trial);
    o->sm = atoi(grant.arch + 3);
    trial_limits(grant.body, &o->build_s, NULL, &o->memory_bytes);
    o->blob_stamp = workdir_stamp(&w->dir);
    snprintf(o->built.by, sizeof o->built.by, "%s", w->options.name);
    return o;
}

static void let_go(struct workshop *w, struct order *o, bool answered)
{
    int i = 0;

    pthread_mutex_lock(&w->hands.lock);
    while (i < w->n_held && w->held[i] != o)
        i++;
    assert(i < w->n_held && o->taken);
    w->held[i] = w->held[--w->n_held];
    w->done += answered;
    w->failed += answered && o->built.status != STATUS_OK;
    assert(w->failed <= w->done);
    hands_changed(&w->hands);
    pthread_mutex_unlock(&w->hands.lock);
    order_free(o);
}

void builder_counts(struct workshop *w, int64_t *done, int64_t *failed)
{
    pthread_mutex_lock(&w->hands.lock);
    *done = w->done;
    *failed = w->failed;
    pthread_mutex_unlock(&w->hands.lock);
}

/* ---- answers ---- */

static enum err put_code(struct workshop *w, struct order *o, struct why *why)
{
    struct blobs set;
    enum err e = ERR_OK;

    blobs_init(&set, PROGRAM_MAX_MODULES * BLOB_MAX_BYTES);
    for (int i = 0; i < o->built.n_files && !e; i++)
        e = blobs_put(&set, o->code[i].data, o->code[i].len, &o->built.files[i].blob);
    if (!e)
        e = client_put_blobs(w->enlist.client, &set, why);
    blobs_fini(&set);
    return e;
}

static void tell_answer(const struct workshop *w, const struct order *o)
{
    size_t n_bytes = 0;

    for (int i = 0; i < o->built.n_files; i++)
        n_bytes += o->code[i].len;
    if (o->built.status == STATUS_OK)
        enlist_tell(&w->enlist, 1, "%s %.12s %s ok, %d files, %zu bytes, %.0f ms", o->trial, o->program, o->arch,
                    o->built.n_files, n_bytes, o->built.build_ms);
    else
        enlist_tell(&w->enlist, 1, "%s %.12s %s %s: %.300s", o->trial, o->program, o->arch,
                    status_name(o->built.status), o->built.why ? o->built.why : "");
}

static enum err send_answer(struct workshop *w, struct order *o, struct why *why)
{
    struct build_result_args args = {.program = o->program, .arch = o->arch, .status = status_name(o->built.status)};
    bool ok = true;
    enum err e = put_code(w, o, why);

    for (int i = 0; !e && i < o->built.n_files; i++)
        call_list_add_text(&args.blobs, o->built.files[i].blob.hex, &ok);
    if (e || !ok) {
        call_drop(&build_result_args_shape, &args);
        return e ? e : ERR_NOMEM;
    }
    args.body = built_to_json(&o->built);
    return client_build_result(w->enlist.client, &args, NULL, NULL, why);
}

/* Another builder is to compile it. */
static void give_back(struct workshop *w, struct order *o, const struct why *why)
{
    struct build_refs args = {.agent = w->options.name, .session_nonce = w->enlist.nonce};
    bool ok = true;

    if (atomic_exchange(&o->dropped, true) || enlist_stopping(&w->enlist)) /* it may come back at once */
        return;
    enlist_tell(&w->enlist, 0, "the code of %s is given back: %s", o->trial, why->text);
    call_list_add(&args.builds, build_ref_write(&(struct build_ref){.program = o->program, .arch = o->arch}), &ok);
    if (ok)
        client_build_release(w->enlist.client, &args, NULL, NULL, NULL); /* else its lease runs out */
    else
        cJSON_Delete(args.builds);
}

/* A child that did not begin with the program, has no compiler, or cannot keep the code. A builder whose children do
 * not begin for a while leaves. */
static bool is_unstarted(struct workshop *w, const struct order *o)
{
    const bool is = o->built.status != STATUS_LIMITS && strcmp(o->built.stage, SANDBOX_START) == 0;

    if (enlist_unstarted(&w->enlist, !is))
        workdir_doubt(&w->dir);
    return is;
}

/* Does the failure say something of this builder, and nothing of the program? */
static bool is_own_failure(struct workshop *w, const struct order *o, struct why *why)
{
    if (is_unstarted(w, o)) {
        why_set(why, ERR_CHILD, "%s", o->built.why ? o->built.why : "");
        return true;
    }
    return o->built.status != STATUS_OK && workdir_check(&w->dir, why);
}

/* Sends what came of an order and frees it. */
static void answer(struct workshop *w, struct order *o)
{
    struct why why = {""};
    enum err e;

    assert(o->built.status == STATUS_OK || o->built.n_files == 0);
    if (is_own_failure(w, o, &why)) {
        give_back(w, o, &why);
        let_go(w, o, false);
        enlist_nap(&w->enlist, ENLIST_RETRY_MS); /* others may be free */
        return;
    }
    tell_answer(w, o);
    e = send_answer(w, o, &why);
    if (e == ERR_NOT_FOUND) { /* a tracker that was restarted knows of no architecture until somebody registers */
        enlist_again(&w->enlist);
        e = send_answer(w, o, &why);
    }
    if (e && !enlist_stopping(&w->enlist))
        enlist_tell(&w->enlist, 0, "%s: the code was not taken: %s", o->trial, why.text);
    let_go(w, o, !e);
}

/* ---- building ---- */

/* That no child can be started is no fault of a program: another builder has to compile it. */
static void leave(struct workshop *w, const char *words)
{
    enlist_leave(&w->enlist, false, words);
    while (!enlist_stopping(&w->enlist)) /* another thread sets the flag */
        enlist_nap(&w->enlist, ENLIST_WAIT_MS);
}

static void compile(struct workshop *w, struct forge *f, struct order *o)
{
    const struct forge_order order = {.program = o->program,
                                      .sm = o->sm,
                                      .cuda_version = INT_MAX,
                                      .build_s = o->build_s,
                                      .memory_bytes = o->memory_bytes};
    struct why why = {""};
    const enum err e = forge_compile(f, &order, &o->built, o->code, &why);

    if (e && !enlist_stopping(&w->enlist))
        leave(w, why.text);
}

/* NULL when there is none. */
static struct order *next_untaken(struct workshop *w)
{
    struct order *o = NULL;

    pthread_mutex_lock(&w->hands.lock);
    for (int i = 0; i < w->n_held && !o; i++)
        if (!w->held[i]->taken)
            o = w->held[i];
    if (o)
        o->taken = true;
    pthread_mutex_unlock(&w->hands.lock);
    return o;
}

static bool build_step(void *workshop, int i)
{
    struct workshop *w = workshop;
    struct order *o = next_untaken(w);

    if (!o)
        return false;
    if (o->built.status == STATUS_OK && !atomic_load(&o->dropped))
        compile(w, &w->forges[i], o);
    if (enlist_stopping(&w->enlist))
        return true;
    if (atomic_load(&o->dropped))
        let_go(w, o, false);
    else
        answer(w, o);
    return true;
}

/* ---- leasing ---- */

static int room(struct workshop *w)
{
    int n;

    pthread_mutex_lock(&w->hands.lock);
    n = w->n_forges - w->n_held;
    pthread_mutex_unlock(&w->hands.lock);
    assert(n >= 0);
    return n;
}

static void take_order(struct workshop *w, struct order *o)
{
    struct program program;
    struct why why = {""};
    enum err e;

    program_init(&program);
    e = fetch_sources(w->enlist.client, &w->dir, o->program, &program, &why);
    if (e)
        fail(o, STATUS_RUNTIME, why.text);
    else if (program.build_s > 0)
        o->build_s = fmin(o->build_s, program.build_s);
    program_fini(&program);
    if (e && (e != ERR_NOT_FOUND || enlist_stopping(&w->enlist))) { /* the way's, of which the program knows nothing */
        give_back(w, o, &why);
        enlist_nap(&w->enlist, ENLIST_RETRY_MS);
        order_free(o);
        return;
    }
    pthread_mutex_lock(&w->hands.lock);
    assert(w->n_held < w->n_forges);
    w->held[w->n_held++] = o;
    hands_changed(&w->hands);
    pthread_mutex_unlock(&w->hands.lock);
}

/* A tracker that was restarted does not know what is under way, and may lend it again. */
static bool is_under_way(struct workshop *w, const struct order *o)
{
    bool found = false;

    pthread_mutex_lock(&w->hands.lock);
    for (int i = 0; i < w->n_held; i++)
        found |= strcmp(w->held[i]->program, o->program) == 0 && w->held[i]->sm == o->sm &&
                 !atomic_load(&w->held[i]->dropped);
    pthread_mutex_unlock(&w->hands.lock);
    return found;
}

static void lease(struct workshop *w, int max)
{
    const struct build_lease_args args = {
        .max = max, .agent = w->options.name, .session_nonce = w->enlist.nonce, .wait_ms = ENLIST_WAIT_MS};
    struct build_lease_result result = {.drain = false};
    const cJSON *item;
    struct why why = {""};
    cJSON *tree = NULL;
    const enum err e = client_build_lease(w->enlist.client, &args, &result, &tree, &why);

    enlist_polled(&w->enlist, e, result.drain, &why);
    if (e)
        return;
    cJSON_ArrayForEach(item, result.builds)
    {
        struct order *o = max-- > 0 ? order_new(w, item, &why) : NULL;

        if (o && is_under_way(w, o))
            order_free(o);
        else if (o)
            take_order(w, o);
        else
            enlist_tell(&w->enlist, 0, "a build was left alone: %s", why.text);
    }
    cJSON_Delete(tree);
}

/* Forgets sources that no order needs. */
static void trim_blobs(struct workshop *w)
{
    int64_t oldest = workdir_stamp(&w->dir);

    pthread_mutex_lock(&w->hands.lock);
    for (int i = 0; i < w->n_held; i++)
        if (w->held[i]->blob_stamp < oldest)
            oldest = w->held[i]->blob_stamp;
    pthread_mutex_unlock(&w->hands.lock);
    workdir_trim(&w->dir, oldest);
}

/* The tracker asks this agent to leave: it does, once all that it holds is answered. */
static void leave_when_done(struct workshop *w)
{
    bool now;

    pthread_mutex_lock(&w->hands.lock);
    now = !w->left && w->n_held == 0;
    w->left |= now;
    pthread_mutex_unlock(&w->hands.lock);
    if (now)
        enlist_leave(&w->enlist, true, "the tracker asks this agent to leave");
}

static bool lease_step(void *workshop, int i)
{
    struct workshop *w = workshop;
    int n;

    (void)i;
    if (atomic_load(&w->enlist.drain)) {
        leave_when_done(w);
        return false;
    }
    n = room(w);
    if (n == 0)
        return false;
    if (!enlist_finds_room(&w->enlist, &w->dir))
        return true;
    trim_blobs(w);
    lease(w, n);
    return true;
}

/* ---- renewing ---- */

/* What is held, as a list for the call; NULL when there is nothing, or no memory. */
static cJSON *list_held(struct workshop *w, int *n_held)
{
    cJSON *list = NULL;
    bool ok = true;

    pthread_mutex_lock(&w->hands.lock);
    *n_held = w->n_held;
    for (int i = 0; i < w->n_held; i++) {
        const struct build_ref ref = {.program = w->held[i]->program, .arch = w->held[i]->arch};

        call_list_add(&list, build_ref_write(&ref), &ok);
    }
    pthread_mutex_unlock(&w->hands.lock);
    if (ok)
        return list;
    cJSON_Delete(list);
    return NULL;
}

static void drop(struct workshop *w, const struct build_ref *lost)
{
    pthread_mutex_lock(&w->hands.lock);
    for (int i = 0; i < w->n_held; i++)
        if (strcmp(w->held[i]->program, lost->program) == 0 && strcmp(w->held[i]->arch, lost->arch) == 0)
            atomic_store(&w->held[i]->dropped, true);
    pthread_mutex_unlock(&w->hands.lock);
}

static int renew(struct workshop *w)
{
    int n_held = 0;
    const struct build_refs args = {.agent = w->options.name, .builds = list_held(w, &n_held)};
    struct build_renew_result result;
    cJSON *tree = NULL;
    const cJSON *item;
    enum err e;

    if (!args.builds)
        return n_held;
    e = client_build_renew(w->enlist.client, &args, &result, &tree, NULL);
    if (e == ERR_NOT_FOUND)
        enlist_again(&w->enlist); /* the tracker was restarted while all threads were at work */
    if (e)
        return n_held;
    cJSON_ArrayForEach(item, result.lost)
    {
        struct build_ref lost;

        if (build_ref_read(item, &lost, NULL) == ERR_OK)
            drop(w, &lost);
    }
    cJSON_Delete(tree);
    return n_held;
}

static bool beat_step(void *workshop, int i)
{
    struct workshop *w = workshop;
    const int n_held = renew(w);
    int64_t done, failed;

    (void)i;
    builder_counts(w, &done, &failed);
    enlist_beat(&w->enlist, n_held, done, failed, 0);
    enlist_nap(&w->enlist, atomic_load(&w->enlist.renew_ms));
    return true;
}

/* ---- start and end ---- */

static int count_forges(const struct builder_options *o)
{
    const int n = o->n_children > 0 ? o->n_children : proc_cpus(NULL, 0);

    return n < FORGE_MAX ? n : FORGE_MAX;
}

static void plan_hands(struct workshop *w)
{
    hands_init(&w->hands, w->options.stop, w);
    hands_add(&w->hands, lease_step, 0);
    hands_add(&w->hands, beat_step, 0);
    for (int i = 0; i < w->n_forges; i++)
        hands_add(&w->hands, build_step, i);
}

void builder_close(struct workshop *w)
{
    if (!w)
        return;
    enlist_close(&w->enlist);
    for (int i = 0; i < w->n_forges; i++)
        forge_fini(&w->forges[i]);
    for (int i = 0; i < w->n_held; i++)
        order_free(w->held[i]);
    workdir_close(&w->dir);
    hands_fini(&w->hands);
    free(w);
}

static void init_forges(struct workshop *w)
{
    const struct builder_options *o = &w->options;

    for (int i = 0; i < w->n_forges; i++)
        forge_init(&w->forges[i], &(struct forge_options){.dir = w->dir.temp.path,
                                                          .i = i,
                                                          .wrapper = o->child_wrapper,
                                                          .cage = w->cage.on ? &w->cage : NULL,
                                                          .stop = o->stop,
                                                          .sandbox = o->sandbox,
                                                          .sandbox_arg = o->sandbox_arg});
}

static enum err ask_compiler(struct workshop *w, struct why *why)
{
    const struct builder_options *o = &w->options;
    struct why words = {""};
    const enum err e = forge_ask_compiler(&w->forges[0], o->sms, o->n_sms, &w->compiler, &words);

    if (e)
        return why_set(why, e, "%s%s", e == ERR_UNSUPPORTED ? "--build-for: " : "", words.text);
    snprintf(w->compiler_words, sizeof w->compiler_words, "%s (%s)", w->compiler.name, w->compiler.path);
    cage_words(&w->cage, &w->compiler.caged, w->caged);
    w->cage.must |= w->cage.on && !w->compiler.caged.lacks[0]; /* what could be done once is done for all */
    forge_fini(&w->forges[0]);                                 /* its threads start their own */
    return ERR_OK;
}

enum err builder_open(const struct builder_options *options, struct workshop **out, struct why *why)
{
    struct workshop *w = calloc(1, sizeof *w);
    enum err e;

    if (!w)
        return why_set(why, ERR_NOMEM, "out of memory");
    w->options = *options;
    if (options->cage)
        w->cage = *options->cage;
    w->dir.temp.lock_fd = -1;
    w->n_forges = count_forges(options);
    plan_hands(w);
    e = workdir_open(&w->dir, why);
    if (!e) {
        init_forges(w);
        e = ask_compiler(w, why);
    }
    if (e)
        builder_close(w);
    else
        *out = w;
    return e;
}

struct hands *builder_hands(struct workshop *w)
{
    return &w->hands;
}

enum err builder_start(struct workshop *w, struct why *why)
{
    return hands_start(&w->hands, why);
}

void builder_stop(struct workshop *w)
{
    for (int i = 0; i < w->n_forges; i++)
        forge_kill(&w->forges[i]);
    workdir_remove(&w->dir);
}

void builder_bye(struct workshop *w)
{
    enlist_bye(&w->enlist);
}
