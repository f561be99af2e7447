/* SPDX-License-Identifier: MIT */
/* enlist.h - an agent in the service of a tracker: connecting, registering, showing that it lives, leaving. What it
 * registers as (a device, a builder) is the caller's. */
#ifndef TUNE_AGENT_ENLIST_H
#define TUNE_AGENT_ENLIST_H

#include "agent/workdir.h"
#include "core/err.h"
#include "tracker/client.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ENLIST_RETRY_MS 1000
#define ENLIST_REFUSALS 5     /* in a row, a try a second: then it leaves */
#define ENLIST_WAIT_MS 50000  /* of a long poll */
#define ENLIST_BEAT_MS 300000 /* between two beats of an agent that holds nothing: its polls tell more often */

struct enlist;

struct enlist_options {
    const char *url, *key_file; /* key_file NULL = none */
    struct tls_files tls;
    const char *name; /* of the agent */
    const char *key;  /* of its device: leads to the part of a farm in parts; NULL = it has none */
    int64_t part;     /* where it has none, that part; 0 = the farm is not in parts */
    /* Makes the call that registers, under x->nonce, with x->client; *lease_ms is how long leases live. */
    enum err (*enroll)(struct enlist *x, int64_t *lease_ms, void *arg, struct why *why);
    void *enroll_arg;
    bool beats_idle; /* the tracker counts on it only if it was heard of within a lease: it beats without work, too */
    atomic_bool *stop;
    void (*log)(int level, const char *line, void *arg);
    void *log_arg;
    void (*quit)(bool well, void *arg);    /* as struct rig_options; gets log_arg */
    const struct transport_ops *transport; /* these four as in client_options; NULL = nng and the machine's */
    void *transport_arg;
    const struct clock *clock;
    const struct entropy *entropy;
};

struct enlist {
    struct enlist_options options;
    struct client *client;
    atomic_bool enrolled; /* `client` is there for good: other threads may use it */
    char nonce[2 * 16 + 1];
    atomic_int renew_ms;          /* how often leases are to be renewed */
    atomic_bool drain;            /* the tracker asks this agent to leave */
    atomic_bool hindered;         /* the work directory cannot be worked in */
    bool knows_builds;            /* the tracker hands out builds */
    int n_refused;                /* polls since the last one that the tracker let in: its key may be taken back */
    _Atomic int64_t idle_ns;      /* when the last beat was sent, if it said that nothing is held; 0 = it did not */
    _Atomic int64_t unstarted_ns; /* since then no child began its work; 0 = one did */
    _Atomic int64_t told_ns;      /* when people were last told that it is out of reach; 0 = never */
};

/* Connects and registers; waits for a tracker that is out of reach as long as it takes. ERR_EXISTS: another process or
 * another fingerprint has the place; ERR_AUTH, ERR_PROTOCOL, ERR_UNSUPPORTED, ERR_CANCELLED. Borrows what the options
 * point at; `e` was zeroed. */
enum err enlist_open(struct enlist *e, const struct enlist_options *options, struct why *why);
void enlist_close(struct enlist *e);

/* Registers with a tracker that was restarted, until it worked or the stop flag is set. */
void enlist_again(struct enlist *e);

/* How a long poll for work of ENLIST_WAIT_MS ended, and whether the tracker asked to drain: sees to that, to restarts,
 * a second process of this name, and a key that is worth nothing any more. */
void enlist_polled(struct enlist *x, enum err e, bool drain, struct why *why);

/* Tells the tracker how this agent is (canary_ns 0: not known), unless it held nothing at the last beat either, which
 * is no ENLIST_BEAT_MS ago (beats_idle: in any case); notes when it is asked to leave. */
void enlist_beat(struct enlist *e, int n_held, int64_t done, int64_t failed, double canary_ns);

/* Can be worked in that directory? Else it tells so, once, the tracker with the next beat, and naps; it leaves when the
 * directory is gone. */
bool enlist_finds_room(struct enlist *e, const struct workdir *dir);

/* A child began its work, or ended before. True: it is the first of those, and what it was given is to be looked at.
 * Where none begins for 20 s the agent leaves. */
bool enlist_unstarted(struct enlist *e, bool began);

/* Gives the leases back; nothing to do where it never registered. From any thread. */
void enlist_bye(struct enlist *e);

/* Has this agent end in good order, with words. */
void enlist_leave(struct enlist *e, bool well, const char *words);

bool enlist_stopping(const struct enlist *e);
void enlist_nap(const struct enlist *e, int64_t ms); /* shorter when the stop flag is set */
void enlist_tell(const struct enlist *e, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
