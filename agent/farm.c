#include "agent/farm.h"

#include "agent/fetch.h"
#include "agent/host.h"
#include "core/clock.h"
#include "tracker/client.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LEASE_WAIT_MS 20000
#define RENEW_MAX_MS 10000 /* at most; else a third of what a lease lives */
#define RETRY_MS 1000
#define MAX_HELD (4 * TIMING_MAX_BATCH)

struct queue {
    struct trial *trials[MAX_HELD];
    int n;
};

/* A builder and its number. */
struct builder {
    struct farm *farm;
    int i;
};

struct farm {
    struct farm_options options;
    struct rig *rig;
    bool overlap;
    struct builder builders[RIG_MAX_BUILDERS];
    struct client *client;
    struct trial_agent self;
    char nonce[2 * 16 + 1];
    atomic_int renew_ms;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t changed;
    struct trial *held[MAX_HELD]; /* leased and not answered yet: renewed */
    int n_held;
    struct queue leased; /* with all blobs here: wait for a builder */
    struct queue ready;  /* verified: wait for the timing thread */
    int n_builders;      /* threads started */
    int n_building;
    bool timing;               /* the timing thread is at work */
    char warm[SHA256_HEX + 1]; /* the anchor last made ready, in this compiler cache */
    int64_t warm_generation;
    int64_t done, failed;
    bool drain;
    char current[96];
};

static void tell(struct farm *f, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void tell(struct farm *f, int level, const char *format, ...)
{
    char line[1400];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (f->options.log)
        f->options.log(level, line, f->options.arg);
}

static bool stopping(const struct farm *f)
{
    return atomic_load(f->options.stop);
}

static void nap(struct farm *f, int64_t ms)
{
    for (int64_t t = 0; t < ms && !stopping(f); t += 50)
        clock_sleep_ms(50);
}

/* ---- registering ---- */

static bool still_waiting(int64_t out_ms, void *arg)
{
    struct farm *f = arg;

    if (out_ms > 0 && out_ms % 30000 < 1000)
        tell(f, 0, "the tracker %s is out of reach for %lld s", f->options.url, (long long)(out_ms / 1000));
    return !stopping(f);
}

static enum err enroll(struct farm *f, struct why *why)
{
    cJSON *args = cJSON_CreateObject(), *reply = NULL;
    int64_t lease_ms = 3 * RENEW_MAX_MS;
    bool ok = args != NULL;
    enum err e;

    json_add_text(args, "agent", f->options.name, &ok);
    json_add_text(args, "nonce", f->nonce, &ok);
    json_add_text(args, "key", f->options.key, &ok);
    json_add_text(args, "fingerprint", f->rig->fingerprint.hex, &ok);
    json_add_item(args, "device", device_desc_to_json(&f->rig->desc), &ok);
    json_add_text(args, "version", TUNE_VERSION, &ok);
    json_add_bool(args, "mix", f->options.mix, &ok);
    if (!ok) {
        cJSON_Delete(args);
        return why_set(why, ERR_NOMEM, "out of memory");
    }
    e = client_call(f->client, "agent_register", args, NULL, 0, &reply, NULL, why);
    json_i64_or(reply, "lease_ms", 3 * RENEW_MAX_MS, 1, JSON_EXACT_MAX, &lease_ms, NULL);
    atomic_store(&f->renew_ms, lease_ms / 3 < RENEW_MAX_MS ? (int)(lease_ms / 3) : RENEW_MAX_MS);
    cJSON_Delete(reply);
    return e;
}

/* Errors that no waiting mends. */
static bool is_final(enum err e)
{
    return e == ERR_AUTH || e == ERR_PROTOCOL || e == ERR_EXISTS || e == ERR_INPUT || e == ERR_NOT_FOUND;
}

static enum err connect_to_tracker(struct farm *f, struct why *why)
{
    const struct client_options o = {.url = f->options.url,
                                     .key_file = f->options.key_file,
                                     .role = "agent",
                                     .name = f->options.name,
                                     .waiting = still_waiting,
                                     .arg = f};
    bool told = false;

    for (;;) {
        const enum err e = client_open(&o, &f->client, why);

        if (!e || is_final(e))
            return e;
        if (stopping(f))
            return why_set(why, ERR_CANCELLED, "stopped while waiting for the tracker");
        if (!told)
            tell(f, 0, "%s; waiting for it", why->text);
        told = true;
        nap(f, RETRY_MS);
    }
}

enum err farm_open(const struct farm_options *options, struct rig *rig, struct farm **out, struct why *why)
{
    struct farm *f = calloc(1, sizeof *f);
    unsigned char nonce[16];
    pthread_condattr_t attr;
    enum err e;

    if (!f)
        return why_set(why, ERR_NOMEM, "out of memory");
    f->options = *options;
    f->rig = rig;
    f->overlap = options->overlap && rig_overlaps(rig);
    f->self = (struct trial_agent){options->name, options->key, rig->fingerprint};
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->changed, &attr);
    pthread_condattr_destroy(&attr);
    e = random_bytes(nonce, sizeof nonce);
    hex_encode(nonce, sizeof nonce, f->nonce);
    if (!e)
        e = connect_to_tracker(f, why);
    if (!e)
        e = enroll(f, why);
    if (e) {
        client_close(f->client);
        free(f);
        return e;
    }
    *out = f;
    return ERR_OK;
}

static void enroll_again(struct farm *f)
{
    struct why why = {""};

    while (!stopping(f)) {
        const enum err e = enroll(f, &why);

        if (!e)
            return;
        tell(f, 0, "cannot register again: %s", why.text);
        nap(f, RETRY_MS);
    }
}

/* ---- held trials ---- */

static bool hold(struct farm *f, struct trial *t)
{
    bool ok;

    pthread_mutex_lock(&f->lock);
    ok = f->n_held < MAX_HELD;
    if (ok)
        f->held[f->n_held++] = t;
    pthread_mutex_unlock(&f->lock);
    return ok;
}

static void let_go(struct farm *f, struct trial *t)
{
    pthread_mutex_lock(&f->lock);
    for (int i = 0; i < f->n_held; i++)
        if (f->held[i] == t) {
            f->held[i] = f->held[--f->n_held];
            break;
        }
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    trial_free(t);
}

static void count(struct farm *f, const struct record *r)
{
    pthread_mutex_lock(&f->lock);
    f->done++;
    f->failed += r->status != STATUS_OK;
    pthread_mutex_unlock(&f->lock);
}

void farm_counts(struct farm *f, int64_t *done, int64_t *failed)
{
    pthread_mutex_lock(&f->lock);
    *done = f->done;
    *failed = f->failed;
    pthread_mutex_unlock(&f->lock);
}

/* ---- results ---- */

static cJSON *envelope_of(const struct record *r, bool *ok)
{
    cJSON *o = cJSON_CreateObject();

    *ok = *ok && o;
    json_add_text(o, "key", r->key, ok);
    json_add_text(o, "fingerprint", r->fingerprint.hex, ok);
    json_add_text(o, "program", r->program.hex, ok);
    json_add_text(o, "status", status_name(r->status), ok);
    json_add_real(o, "time_ns", r->time_ns, ok);
    json_add_real(o, "flops", r->flops, ok);
    json_add_real(o, "device_ms", r->device_ms, ok);
    return o;
}

static cJSON *result_args(const struct trial *t, const struct buf *line)
{
    cJSON *args = cJSON_CreateObject();
    bool ok = args != NULL;

    json_add_text(args, "trial", t->id, &ok);
    json_add_i64(args, "token", t->token, &ok);
    json_add_item(args, "envelope", envelope_of(&t->record, &ok), &ok);
    json_add_text(args, "record", buf_text(line), &ok);
    if (ok)
        return args;
    cJSON_Delete(args);
    return NULL;
}

static void tell_result(struct farm *f, const struct trial *t)
{
    const struct record *r = &t->record;
    char ratio[64] = "no anchor";

    if (!isnan(r->lnratio))
        snprintf(ratio, sizeof ratio, "%.4f of the anchor", exp(r->lnratio));
    if (r->status == STATUS_OK)
        tell(f, 1, "%s ok %.1f GFLOPS %.4g ms +- %.1f %%, %s (%s)", t->id, record_gflops(r), r->time_ns * 1e-6,
             100 * r->se, ratio, r->workload);
    else
        tell(f, 1, "%s %s at %s: %.300s", t->id, status_name(r->status), r->stage, r->why ? r->why : "");
}

static enum err send_record(struct farm *f, struct trial *t, struct why *why)
{
    struct buf line;
    cJSON *args;
    enum err e;

    buf_init(&line, RECORD_MAX_BYTES);
    e = record_print(&t->record, &line);
    args = e ? NULL : result_args(t, &line);
    if (!e && !args)
        e = ERR_NOMEM;
    if (e)
        why_set(why, e, "cannot write a record: %s", err_words(e));
    else
        e = client_call(f->client, "trial_result", args, NULL, 0, NULL, NULL, why);
    buf_fini(&line);
    return e;
}

/* Sends the record of a finished trial (a dropped one has none) and frees the trial. */
static void answer(struct farm *f, struct trial *t)
{
    struct why why = {""};
    enum err e;

    if (t->finished && !atomic_load(&t->dropped)) {
        rig_complete(f->rig, t);
        tell_result(f, t); /* before it is sent: whatever the tracker has from this agent, the agent has told of */
        e = send_record(f, t, &why);
        if (e && !stopping(f))
            tell(f, 0, "%s: the record was not taken: %s", t->id, why.text);
        if (!e)
            count(f, &t->record);
    }
    let_go(f, t);
}

/* ---- leasing ---- */

static cJSON *lease_args(const struct farm *f)
{
    cJSON *args = cJSON_CreateObject();
    bool ok = args != NULL;

    json_add_text(args, "key", f->options.key, &ok);
    json_add_text(args, "fingerprint", f->rig->fingerprint.hex, &ok);
    json_add_text(args, "agent", f->options.name, &ok);
    json_add_text(args, "session_nonce", f->nonce, &ok);
    json_add_i64(args, "max", f->options.batch, &ok);
    json_add_i64(args, "wait_ms", LEASE_WAIT_MS, &ok);
    if (ok)
        return args;
    cJSON_Delete(args);
    return NULL;
}

static void take_leases(struct farm *f, const cJSON *reply, struct queue *out)
{
    const cJSON *list = NULL, *lease;
    struct why why = {""};

    json_get_array(reply, "trials", &list, NULL);
    cJSON_ArrayForEach(lease, list)
    {
        struct trial *t = NULL;

        if (out->n == TIMING_MAX_BATCH || trial_new(lease, &f->self, &t, &why)) {
            tell(f, 0, "a lease was left alone: %s", out->n == TIMING_MAX_BATCH ? "more than asked for" : why.text);
            continue;
        }
        t->blob_stamp = f->rig->dir.stamp;
        if (hold(f, t))
            out->trials[out->n++] = t;
        else
            trial_free(t);
    }
}

static void note_drain(struct farm *f)
{
    pthread_mutex_lock(&f->lock);
    f->drain = true;
    pthread_mutex_unlock(&f->lock);
}

static void lease(struct farm *f, struct queue *out)
{
    struct why why = {""};
    cJSON *reply = NULL;
    enum err e;

    out->n = 0;
    e = client_call(f->client, "trial_lease", lease_args(f), NULL, LEASE_WAIT_MS, &reply, NULL, &why);
    if (client_tracker_restarted(f->client) || e == ERR_NOT_FOUND) {
        tell(f, 0, "the tracker was restarted: registering again");
        enroll_again(f);
    } else if (e == ERR_STALE) {
        tell(f, 0, "%s: leaving", why.text);
        kill(getpid(), SIGTERM);
        nap(f, LEASE_WAIT_MS);
    } else if (e && !stopping(f)) {
        tell(f, 0, "cannot lease trials: %s", why.text);
        nap(f, RETRY_MS);
    }
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(reply, "drain")))
        note_drain(f);
    if (!e)
        take_leases(f, reply, out);
    cJSON_Delete(reply);
}

/* ---- building ---- */

/* Has the anchor's binary made once per compiler cache, by the first builder that meets it. */
static void warm_anchor(struct farm *f, int i_builder, const struct trial *t)
{
    const int64_t generation = rig_generation(f->rig);
    bool warm;

    pthread_mutex_lock(&f->lock);
    warm = strcmp(f->warm, t->anchor_name.hex) == 0 && generation == f->warm_generation;
    strcpy(f->warm, t->anchor_name.hex);
    f->warm_generation = generation;
    pthread_mutex_unlock(&f->lock);
    if (!warm)
        rig_warm_anchor(f->rig, i_builder, t);
}

/* All below with the lock held, but for the threads themselves. */

static struct trial *remove_at(struct queue *q, int i)
{
    struct trial *t = q->trials[i];

    q->n--;
    memmove(&q->trials[i], &q->trials[i + 1], (size_t)(q->n - i) * sizeof *q->trials);
    return t;
}

static bool is_full(const struct farm *f)
{
    return f->ready.n >= f->options.batch;
}

/* Where building and timing share CPUs they take turns: a batch is built, then timed. */
static bool may_build(const struct farm *f)
{
    return f->leased.n > 0 && (f->overlap || (!f->timing && !is_full(f)));
}

static struct trial *wait_for_leased(struct farm *f)
{
    struct trial *t;

    pthread_mutex_lock(&f->lock);
    while (!may_build(f))
        pthread_cond_wait(&f->changed, &f->lock);
    t = remove_at(&f->leased, 0);
    f->n_building++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return t;
}

/* What can be timed waits for the timing thread; anything else is answered at once. */
static void take_built(struct farm *f, struct trial *t)
{
    const bool timed = !t->finished && !atomic_load(&t->dropped);

    if (!timed)
        answer(f, t);
    pthread_mutex_lock(&f->lock);
    if (timed) {
        t->built = true;
        f->ready.trials[f->ready.n++] = t;
    }
    f->n_building--;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void *builder_thread(void *arg)
{
    const struct builder *b = arg;
    struct farm *f = b->farm;

    while (!stopping(f)) {
        struct trial *t = wait_for_leased(f);

        if (!atomic_load(&t->dropped)) {
            warm_anchor(f, b->i, t);
            rig_verify(f->rig, b->i, t);
        }
        if (!stopping(f))
            take_built(f, t);
    }
    for (;;)
        pause(); /* the build child dies with this thread; the process ends both */
    return NULL;
}

/* ---- timing ---- */

/* Finalists and the like are compared with each other: they wait until all of them are here. */
static bool is_complete(const struct farm *f, const struct trial *t)
{
    if (t->rules.may_censor || is_full(f))
        return true;
    for (int i = 0; i < f->n_held; i++) {
        const struct trial *other = f->held[i];

        if (!other->built && !atomic_load(&other->dropped) && strcmp(other->record.job, t->record.job) == 0 &&
            strcmp(other->record.purpose, t->record.purpose) == 0)
            return false;
    }
    return true;
}

/* The first of the ready trials that may be timed now; -1 = none. */
static int first_complete(const struct farm *f)
{
    for (int i = 0; i < f->ready.n; i++)
        if (is_complete(f, f->ready.trials[i]))
            return i;
    return -1;
}

/* Moves what goes with ready trial `first` into one batch: whatever there is now, no waiting for more. */
static void gather(struct farm *f, int first, struct queue *out)
{
    struct queue *ready = &f->ready;

    out->trials[0] = remove_at(ready, first);
    out->n = 1;
    for (int i = 0; i < ready->n && out->n < f->options.batch;) {
        out->trials[out->n] = ready->trials[i];
        if (rig_batch_size(out->trials, out->n + 1) == out->n + 1) {
            remove_at(ready, i);
            out->n++;
        } else {
            i++;
        }
    }
}

static void wait_for_ready(struct farm *f, struct queue *out)
{
    int first;

    pthread_mutex_lock(&f->lock);
    while ((first = first_complete(f)) < 0 || !(f->overlap || (f->n_building == 0 && (f->leased.n == 0 || is_full(f)))))
        pthread_cond_wait(&f->changed, &f->lock);
    gather(f, first, out);
    f->timing = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* Times all but those that were taken back, and answers each. */
static void time_batch(struct farm *f, struct queue *b)
{
    int n = 0;

    for (int i = 0; i < b->n; i++)
        if (atomic_load(&b->trials[i]->dropped))
            answer(f, b->trials[i]);
        else
            b->trials[n++] = b->trials[i];
    if (n > 0)
        rig_time(f->rig, b->trials, n);
    for (int i = 0; i < n && !stopping(f); i++)
        answer(f, b->trials[i]);
}

static void *timing_thread(void *arg)
{
    struct farm *f = arg;
    struct queue b;

    while (!stopping(f)) {
        wait_for_ready(f, &b);
        time_batch(f, &b);
        pthread_mutex_lock(&f->lock);
        f->timing = false;
        pthread_cond_broadcast(&f->changed);
        pthread_mutex_unlock(&f->lock);
    }
    for (;;)
        pause(); /* the timing child dies with this thread; the process ends both */
    return NULL;
}

/* ---- the lease thread ---- */

static bool draining(struct farm *f)
{
    bool drain;

    pthread_mutex_lock(&f->lock);
    drain = f->drain;
    pthread_mutex_unlock(&f->lock);
    return drain;
}

static void leave(struct farm *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->leased.n || f->n_building || f->ready.n || f->timing)
        pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
    tell(f, 0, "the tracker asks this agent to leave");
    kill(getpid(), SIGTERM);
}

/* The next lease is taken while the last trials of the one before are being built, so that no builder waits; not while
 * a whole batch waits for the device: another agent may be free. */
static void wait_for_room(struct farm *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->leased.n >= f->n_builders || is_full(f) || f->n_held > MAX_HELD - TIMING_MAX_BATCH)
        pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

/* Forgets blobs that no held trial needs. */
static void trim_blobs(struct farm *f)
{
    int64_t oldest = f->rig->dir.stamp;

    pthread_mutex_lock(&f->lock);
    for (int i = 0; i < f->n_held; i++)
        if (f->held[i]->blob_stamp < oldest)
            oldest = f->held[i]->blob_stamp;
    pthread_mutex_unlock(&f->lock);
    workdir_trim(&f->rig->dir, oldest);
}

static void fetch_all(struct farm *f, const struct queue *b)
{
    for (int i = 0; i < b->n && !stopping(f); i++) {
        struct trial *t = b->trials[i];
        struct why why = {""};

        if (!atomic_load(&t->dropped) && !fetch_trial(f->client, &f->rig->dir, f->options.stop, t, &why))
            tell(f, 0, "%s: its anchor cannot be fetched: %s", t->id, why.text);
        if (t->finished || atomic_load(&t->dropped)) {
            answer(f, t);
            continue;
        }
        pthread_mutex_lock(&f->lock);
        f->leased.trials[f->leased.n++] = t;
        pthread_cond_broadcast(&f->changed);
        pthread_mutex_unlock(&f->lock);
    }
}

static void *lease_thread(void *arg)
{
    struct farm *f = arg;
    struct queue b;

    while (!stopping(f) && !draining(f)) {
        wait_for_room(f);
        trim_blobs(f);
        lease(f, &b);
        fetch_all(f, &b);
    }
    if (!stopping(f))
        leave(f);
    for (;;)
        pause();
    return NULL;
}

/* ---- renewing ---- */

static cJSON *renew_args(struct farm *f, int *n)
{
    cJSON *args = cJSON_CreateObject(), *list = cJSON_CreateArray();
    bool ok = args && list;

    json_add_text(args, "agent", f->options.name, &ok);
    pthread_mutex_lock(&f->lock);
    *n = f->n_held;
    for (int i = 0; ok && i < f->n_held; i++) {
        cJSON *item = cJSON_CreateObject();

        ok = item && cJSON_AddItemToArray(list, item);
        json_add_text(item, "trial", f->held[i]->id, &ok);
        json_add_i64(item, "token", f->held[i]->token, &ok);
    }
    pthread_mutex_unlock(&f->lock);
    json_add_item(args, "trials", list, &ok);
    if (ok)
        return args;
    cJSON_Delete(args);
    return NULL;
}

static void drop(struct farm *f, const cJSON *reply, const char *name)
{
    const cJSON *list = NULL, *id;

    json_get_array(reply, name, &list, NULL);
    cJSON_ArrayForEach(id, list)
    {
        pthread_mutex_lock(&f->lock);
        for (int i = 0; i < f->n_held; i++)
            if (cJSON_IsString(id) && strcmp(f->held[i]->id, id->valuestring) == 0)
                atomic_store(&f->held[i]->dropped, true);
        pthread_mutex_unlock(&f->lock);
    }
}

static void renew(struct farm *f)
{
    cJSON *args, *reply = NULL;
    enum err e;
    int n = 0;

    args = renew_args(f, &n);
    if (n == 0) {
        cJSON_Delete(args);
        return;
    }
    e = client_call(f->client, "trial_renew", args, NULL, 0, &reply, NULL, NULL);
    if (!e) {
        drop(f, reply, "lost");
        drop(f, reply, "cancelled");
    } else if (e == ERR_NOT_FOUND) {
        enroll_again(f); /* the tracker was restarted while all threads were at work */
    }
    cJSON_Delete(reply);
}

static void beat(struct farm *f)
{
    cJSON *args = cJSON_CreateObject(), *reply = NULL;
    bool ok = args != NULL, drain = false;
    int64_t done, failed;
    int n_held;

    farm_counts(f, &done, &failed);
    pthread_mutex_lock(&f->lock);
    n_held = f->n_held;
    pthread_mutex_unlock(&f->lock);
    json_add_text(args, "agent", f->options.name, &ok);
    json_add_text(args, "state", n_held ? "busy" : "idle", &ok);
    json_add_i64(args, "current", n_held, &ok);
    if (!isnan(host_temperature_c()))
        json_add_real(args, "temperature", host_temperature_c(), &ok);
    if (!isnan(host_load()))
        json_add_real(args, "load", host_load(), &ok);
    json_add_i64(args, "done", done, &ok);
    json_add_i64(args, "failed", failed, &ok);
    if (!ok) {
        cJSON_Delete(args);
        return;
    }
    if (client_call(f->client, "agent_beat", args, NULL, 0, &reply, NULL, NULL) == ERR_OK)
        json_bool_or(reply, "drain", false, &drain, NULL);
    if (drain)
        note_drain(f);
    cJSON_Delete(reply);
}

static void *beat_thread(void *arg)
{
    struct farm *f = arg;

    while (!stopping(f)) {
        renew(f);
        beat(f);
        nap(f, atomic_load(&f->renew_ms));
    }
    return NULL;
}

static bool start_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, body, arg) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

enum err farm_start(struct farm *f, struct why *why)
{
    void *(*const bodies[])(void *) = {timing_thread, lease_thread, beat_thread};
    bool ok = true;

    f->n_builders = f->overlap ? f->rig->n_builders : 1;
    for (int i = 0; i < f->n_builders && ok; i++) {
        f->builders[i] = (struct builder){f, i};
        ok = start_thread(builder_thread, &f->builders[i]);
    }
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies && ok; i++)
        ok = start_thread(bodies[i], f);
    return ok ? ERR_OK : why_set(why, ERR_NOMEM, "cannot start a thread");
}

void farm_bye(struct farm *f)
{
    cJSON *args = cJSON_CreateObject();
    bool ok = args != NULL;

    json_add_text(args, "agent", f->options.name, &ok);
    if (ok)
        client_call(f->client, "agent_bye", args, NULL, 0, NULL, NULL, NULL);
    else
        cJSON_Delete(args);
}
