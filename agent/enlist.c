/* SPDX-License-Identifier: MIT */
#include "agent/enlist.h"

#include "agent/host.h"
#include "core/clock.h"
#include "core/entropy.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RENEW_MAX_MS 10000 /* at most; else a third of what a lease lives */
#define TELL_MS 30000      /* between lines about a tracker that is out of reach */

void enlist_tell(const struct enlist *e, int level, const char *format, ...)
{
    char line[1400];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (e->options.log)
        e->options.log(level, line, e->options.log_arg);
}

bool enlist_stopping(const struct enlist *e)
{
    return atomic_load(e->options.stop);
}

void enlist_nap(const struct enlist *e, int64_t ms)
{
    for (int64_t t = 0; t < ms && !enlist_stopping(e); t += 50)
        clock_wait_ms(e->options.clock, 50);
}

/* ---- connecting and registering ---- */

/* Of several threads that wait one tells, every half minute. */
static bool is_time_to_tell(struct enlist *e, int64_t out_ms)
{
    const int64_t now_ns = clock_read_ns(e->options.clock);
    int64_t told_ns = atomic_load(&e->told_ns);

    return out_ms >= TELL_MS && (!told_ns || now_ns - told_ns >= TELL_MS * INT64_C(1000000)) &&
           atomic_compare_exchange_strong(&e->told_ns, &told_ns, now_ns);
}

static bool still_waiting(int64_t out_ms, void *arg)
{
    struct enlist *e = arg;

    if (is_time_to_tell(e, out_ms))
        enlist_tell(e, 0, "the tracker %s is out of reach for %lld s", e->options.url, (long long)(out_ms / 1000));
    return !enlist_stopping(e);
}

static enum err enroll(struct enlist *x, struct why *why)
{
    cJSON *args = cJSON_CreateObject(), *reply = NULL;
    int64_t lease_ms = 3 * RENEW_MAX_MS;
    bool ok = args != NULL;
    enum err e;

    json_add_text(args, "agent", x->options.name, &ok);
    json_add_text(args, "nonce", x->nonce, &ok);
    json_add_text(args, "version", TUNE_VERSION, &ok);
    x->options.describe(args, &ok, x->options.describe_arg);
    if (!ok) {
        cJSON_Delete(args);
        return why_set(why, ERR_NOMEM, "out of memory");
    }
    e = client_call(x->client, x->options.op, args, NULL, 0, &reply, NULL, why);
    json_i64_or(reply, "lease_ms", 3 * RENEW_MAX_MS, 1, JSON_EXACT_MAX, &lease_ms, NULL);
    json_bool_or(reply, "builds", false, &x->knows_builds, NULL);
    atomic_store(&x->renew_ms, lease_ms / 3 < RENEW_MAX_MS ? (int)(lease_ms / 3) : RENEW_MAX_MS);
    cJSON_Delete(reply);
    return e;
}

/* Errors that no waiting mends. */
static bool is_final(enum err e)
{
    return e == ERR_AUTH || e == ERR_PROTOCOL || e == ERR_EXISTS || e == ERR_INPUT || e == ERR_NOT_FOUND;
}

static enum err connect_to_tracker(struct enlist *x, struct why *why)
{
    const struct client_options o = {.url = x->options.url,
                                     .key_file = x->options.key_file,
                                     .role = "agent",
                                     .name = x->options.name,
                                     .waiting = still_waiting,
                                     .arg = x,
                                     .transport = x->options.transport,
                                     .transport_arg = x->options.transport_arg,
                                     .clock = x->options.clock,
                                     .entropy = x->options.entropy};
    bool told = false;

    for (;;) {
        const enum err e = client_open(&o, &x->client, why);

        if (!e || is_final(e))
            return e;
        if (enlist_stopping(x))
            return why_set(why, ERR_CANCELLED, "stopped while waiting for the tracker");
        if (!told)
            enlist_tell(x, 0, "%s; waiting for it", why->text);
        told = true;
        enlist_nap(x, ENLIST_RETRY_MS);
    }
}

enum err enlist_open(struct enlist *x, const struct enlist_options *options, struct why *why)
{
    enum err e;

    memset(x, 0, sizeof *x);
    x->options = *options;
    e = entropy_hex(x->options.entropy, x->nonce, sizeof x->nonce - 1);
    if (!e)
        e = connect_to_tracker(x, why);
    if (!e)
        e = enroll(x, why);
    if (e)
        enlist_close(x);
    return e;
}

void enlist_close(struct enlist *x)
{
    client_close(x->client);
    x->client = NULL;
}

void enlist_again(struct enlist *x)
{
    struct why why = {""};

    while (!enlist_stopping(x)) {
        const enum err e = enroll(x, &why);

        if (!e)
            return;
        enlist_tell(x, 0, "cannot register again: %s", why.text);
        enlist_nap(x, ENLIST_RETRY_MS);
    }
}

/* ---- at work ---- */

void enlist_leave(struct enlist *x, const char *words)
{
    enlist_tell(x, 0, "%s", words);
    x->options.quit(x->options.log_arg);
}

cJSON *enlist_lease(struct enlist *x, const char *op, cJSON *args)
{
    struct why why = {""};
    cJSON *reply = NULL;
    bool ok = args != NULL;
    enum err e;

    json_add_text(args, "agent", x->options.name, &ok);
    json_add_text(args, "session_nonce", x->nonce, &ok);
    json_add_i64(args, "wait_ms", ENLIST_WAIT_MS, &ok);
    if (!ok) {
        cJSON_Delete(args);
        return NULL;
    }
    e = client_call(x->client, op, args, NULL, ENLIST_WAIT_MS, &reply, NULL, &why);
    if (client_tracker_restarted(x->client) || e == ERR_NOT_FOUND) {
        enlist_tell(x, 0, "the tracker was restarted: registering again");
        enlist_again(x);
    } else if (e == ERR_EXISTS || e == ERR_STALE) {
        snprintf(why.text + strlen(why.text), sizeof why.text - strlen(why.text), ": leaving");
        enlist_leave(x, why.text);
        enlist_nap(x, ENLIST_WAIT_MS);
    } else if (e && !enlist_stopping(x)) {
        enlist_tell(x, 0, "cannot lease work: %s", why.text);
        enlist_nap(x, ENLIST_RETRY_MS);
    }
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(reply, "drain")))
        atomic_store(&x->drain, true);
    return reply;
}

void enlist_beat(struct enlist *x, int n_held, int64_t done, int64_t failed)
{
    cJSON *args = cJSON_CreateObject(), *reply = NULL;
    bool ok = args != NULL, drain = false;

    assert(failed <= done);
    json_add_text(args, "agent", x->options.name, &ok);
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
    if (client_call(x->client, "agent_beat", args, NULL, 0, &reply, NULL, NULL) == ERR_OK)
        json_bool_or(reply, "drain", false, &drain, NULL);
    if (drain)
        atomic_store(&x->drain, true);
    cJSON_Delete(reply);
}

void enlist_bye(struct enlist *x)
{
    cJSON *args = x->client ? cJSON_CreateObject() : NULL;
    bool ok = args != NULL;

    json_add_text(args, "agent", x->options.name, &ok);
    if (ok)
        client_call(x->client, "agent_bye", args, NULL, 0, NULL, NULL, NULL);
    else
        cJSON_Delete(args);
}
