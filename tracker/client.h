/* SPDX-License-Identifier: MIT */
/* client.h - calls to a tracker: one request, one reply, retried by our own rules; see docs/protocol.md. Thread-safe:
 * several threads may call at once (each call takes a context of its own). */
#ifndef TUNE_TRACKER_CLIENT_H
#define TUNE_TRACKER_CLIENT_H

#include "core/blobs.h"
#include "core/clock.h"
#include "core/entropy.h"
#include "core/err.h"
#include "core/json.h"
#include "tracker/transport.h"

#include <stdbool.h>
#include <stdint.h>

struct client;

struct client_options {
    const char *url;      /* "tcp://127.0.0.1:9477" */
    const char *key_file; /* NULL = no authentication (loopback only) */
    const char *role;     /* "tune" "work" "agent" */
    const char *name;     /* of this peer, for status pages */
    /* Called while the tracker is out of reach, about once a second, with how long it has been; false = give up. NULL =
     * wait for ever (client_open: its three tries). */
    bool (*waiting)(int64_t out_ms, void *arg);
    void *arg;
    const struct transport_ops *transport; /* NULL = nng */
    void *transport_arg;                   /* of its open */
    const struct clock *clock;             /* NULL = the machine's */
    const struct entropy *entropy;         /* of request ids and nonces; NULL = the machine's */
};

/* Keeps what the options point at but for url, role and name. Says hello: three tries in 10 s, then ERR_UNREACHABLE;
 * ERR_CANCELLED when `waiting` gives up before; ERR_AUTH for a wrong or missing key, ERR_PROTOCOL for no common
 * version. */
enum err client_open(const struct client_options *options, struct client **out, struct why *why);

/* Never blocks for long; outstanding calls of other threads end with ERR_CANCELLED. */
void client_close(struct client *c);

/* Sends `op` with `args` (takes; NULL = {}) and, when not NULL, all blobs of `attach` (sum <= 3 MiB); waits for the
 * reply as long as it takes through reconnects (same request id: the tracker executes it once). wait_ms: what a long
 * poll may take at the tracker (0 = an ordinary call). *result (may be NULL) is the reply's `result` object:
 * cJSON_Delete it. Blobs of the reply are added to `received` when it is not NULL. Errors of the tracker come back as
 * such, with its words. */
enum err client_call(struct client *c, const char *op, cJSON *takes_args, const struct blobs *attach, int64_t wait_ms,
                     cJSON **result, struct blobs *received, struct why *why);

/* Makes sure that the tracker has all blobs of the set (asks which are missing, sends those in chunks of at most 1
 * MiB). */
enum err client_put_blobs(struct client *c, const struct blobs *set, struct why *why);

/* Adds the blob of that name to `set`, fetched in chunks and checked against its name; nothing to do when it is there.
 */
enum err client_get_blob(struct client *c, const char *hex, struct blobs *set, struct why *why);

/* True once after client_call noticed that the tracker was restarted (its boot id changed): register again. */
bool client_tracker_restarted(struct client *c);

#endif
