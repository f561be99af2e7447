/* SPDX-License-Identifier: MIT */
#include "agent/enlist.h"

#include "agent/host.h"
#include "core/clock.h"
#include "core/entropy.h"
#include "core/err.h"
#include "core/json.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RENEW_MAX_MS 10000 /* at most; else a third of what a lease lives */
#define UNSTARTED_MS 19000 /* for which no child began its work: then it leaves */
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

static bool still_waiting(int64_t out_ms, const char *does, void *arg)
{
    struct enlist *e = arg;

    if (is_time_to_tell(e, out_ms))
        enlist_tell(e, 0, "the tracker %s %s (%lld s)", e->options.url, does ? does : "is out of reach",
                    (long long)(out_ms / 1000));
    return !enlist_stopping(e);
}

static enum err enroll(struct enlist *x, struct why *why)
{
    int64_t lease_ms = CALL_LEASE_MS;
    const enum err e = x->options.enroll(x, &lease_ms, x->options.enroll_arg, why);

    atomic_store(&x->idle_ns, 0);
    atomic_store(&x->renew_ms, lease_ms / 3 < RENEW_MAX_MS ? (int)(lease_ms / 3) : RENEW_MAX_MS);
    return e;
}

/* Errors that no waiting mends. */
static bool is_final(enum err e)
{
    return e == ERR_AUTH || e == ERR_PROTOCOL || e == ERR_EXISTS || e == ERR_INPUT || e == ERR_NOT_FOUND ||
           e == ERR_LIMIT; /* too few threads */
}

/* Goes to the part of the farm that it serves; waits while that is away. */
static enum err settle(struct enlist *x, struct why *why)
{
    return x->options.key ? client_settle_key(x->client, x->options.key, why)
                          : client_settle(x->client, x->options.part, why);
}

static enum err connect_to_tracker(struct enlist *x, struct why *why)
{
    const struct client_options o = {.url = x->options.url,
                                     .key_file = x->options.key_file,
                                     .tls = x->options.tls,
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
        enum err e = client_open(&o, &x->client, why);

        if (!e)
            e = settle(x, why);
        if (e) {
            client_close(x->client);
            x->client = NULL;
        }
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

    assert(!x->client && !atomic_load(&x->enrolled));
    x->options = *options;
    e = entropy_hex(x->options.entropy, x->nonce, sizeof x->nonce - 1);
    if (!e)
        e = connect_to_tracker(x, why);
    if (!e)
        e = enroll(x, why);
    if (e)
        enlist_close(x);
    atomic_store(&x->enrolled, !e);
    return e;
}

void enlist_close(struct enlist *x)
{
    atomic_store(&x->enrolled, false);
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

void enlist_leave(struct enlist *x, bool well, const char *words)
{
    enlist_tell(x, 0, "%s", words);
    x->options.quit(well, x->options.log_arg);
}

bool enlist_unstarted(struct enlist *x, bool began)
{
    const int64_t now_ns = clock_read_ns(x->options.clock);
    int64_t since_ns = 0;

    if (began)
        atomic_store(&x->unstarted_ns, 0);
    else if (atomic_compare_exchange_strong(&x->unstarted_ns, &since_ns, now_ns))
        return true;
    else if (now_ns - since_ns > UNSTARTED_MS * INT64_C(1000000))
        enlist_leave(x, false, "no child begins its work: leaving");
    return false;
}

void enlist_polled(struct enlist *x, enum err e, bool drain, struct why *why)
{
    x->n_refused = e == ERR_AUTH ? x->n_refused + 1 : 0;
    if (client_tracker_restarted(x->client) || e == ERR_NOT_FOUND) {
        enlist_tell(x, 0, "the tracker was restarted: registering again");
        enlist_again(x);
    } else if (e == ERR_EXISTS || e == ERR_STALE || x->n_refused == ENLIST_REFUSALS) {
        snprintf(why->text + strlen(why->text), sizeof why->text - strlen(why->text), ": leaving");
        enlist_leave(x, x->n_refused == 0, why->text); /* well: another process has the name, it is to stay */
        enlist_nap(x, ENLIST_WAIT_MS);
    } else if (e && !enlist_stopping(x)) {
        enlist_tell(x, 0, "cannot lease work: %s", why->text);
        enlist_nap(x, ENLIST_RETRY_MS);
    }
    if (!e && drain)
        atomic_store(&x->drain, true);
}

void enlist_beat(struct enlist *x, int n_held, int64_t done, int64_t failed, double canary_ns)
{
    const int64_t now_ns = clock_read_ns(x->options.clock), idle_ns = atomic_load(&x->idle_ns);
    struct agent_beat_args args = {.agent = x->options.name,
                                   .state = n_held ? "busy" : "idle",
                                   .canary_ns = canary_ns > 0 ? canary_ns : NAN,
                                   .done = done,
                                   .failed = failed};
    struct agent_beat_result result;

    assert(failed <= done);
    if (atomic_load(&x->hindered))
        args.state = AGENT_HINDERED;
    if (!x->options.beats_idle && !atomic_load(&x->hindered) && !n_held && idle_ns &&
        now_ns - idle_ns < ENLIST_BEAT_MS * INT64_C(1000000))
        return;
    args.temperature = host_temperature_c();
    args.load = host_load();
    args.current = cJSON_CreateNumber(n_held);
    if (client_agent_beat(x->client, &args, &result, NULL, NULL) != ERR_OK)
        return;
    atomic_store(&x->idle_ns, n_held ? 0 : now_ns);
    if (result.drain)
        atomic_store(&x->drain, true);
}

bool enlist_finds_room(struct enlist *x, const struct workdir *dir)
{
    struct why why = {""};
    const enum err e = workdir_check(dir, &why);

    if (atomic_exchange(&x->hindered, e != ERR_OK) != (e != ERR_OK)) {
        enlist_tell(x, 0, e ? "no work is taken until that is mended: %s" : "work is taken again%s", why.text);
        atomic_store(&x->idle_ns, 0);
    }
    if (e == ERR_NOT_FOUND)
        enlist_leave(x, false, "leaving");
    if (e)
        enlist_nap(x, ENLIST_RETRY_MS);
    return !e;
}

void enlist_bye(struct enlist *x)
{
    if (atomic_load(&x->enrolled)) {
        const struct agent_bye_args args = {.agent = x->options.name, .session_nonce = x->nonce};

        client_agent_bye(x->client, &args, NULL, NULL, NULL);
    }
}
