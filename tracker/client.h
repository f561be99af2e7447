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
#include "tracker/calls.h"
#include "tracker/tls.h"
#include "tracker/transport.h"

#include <stdbool.h>
#include <stdint.h>

struct client;

struct client_options {
    const char *url;      /* "tcp://127.0.0.1:9477"; or several with ',' between, of which one has the store */
    const char *key_file; /* NULL = no authentication (loopback only) */
    struct tls_files tls; /* of nng's transport */
    const char *role;     /* "tune" "work" "agent" */
    const char *name;     /* of this peer, for status pages */
    /* Called while the tracker does not answer, about once a second, with how long it has been, and what it does all
     * the same, NULL when it is out of reach: "says: I have no time", "takes connections and does not answer yet"
     * (client_open alone knows that); false = give up. NULL = wait for ever (client_open: its three tries). */
    bool (*waiting)(int64_t out_ms, const char *does, void *arg);
    void *arg;
    const struct transport_ops *transport; /* NULL = nng */
    void *transport_arg;                   /* of its open */
    const struct clock *clock;             /* NULL = the machine's */
    const struct entropy *entropy;         /* of request ids and nonces; NULL = the machine's */
};

/* Keeps what the options point at but for url, role and name. Says hello: three tries in 10 s, then ERR_UNREACHABLE;
 * with TLS, while somebody takes connections, six times that, for he may be at the handshakes of many others;
 * ERR_CANCELLED when `waiting` gives up before; ERR_AUTH for a wrong or missing key or a certificate that is not to be
 * trusted, ERR_PROTOCOL for no common version. */
enum err client_open(const struct client_options *options, struct client **out, struct why *why);

/* Never blocks for long; outstanding calls of other threads end with ERR_CANCELLED. */
void client_close(struct client *c);

/* Makes a call: sends its arguments (takes their trees; NULL where it has none) and waits for the reply as long as it
 * takes through reconnects (same request id: the tracker executes it once). `result` (may be NULL) gets what came back;
 * its texts and trees are lent by *tree: cJSON_Delete it. Where `tree` is NULL only its numbers are good. Errors of the
 * tracker come back as such, with its words; ERR_PROTOCOL for a result of another shape. client_job_renew and so on,
 * made of tracker/calls_list.h, are this with the structs of their call. */
enum err client_ask(struct client *c, enum call_name call, const void *takes_args, void *result, cJSON **tree,
                    struct why *why);
#define CALL(upper, name, args, result, effect, wake)                                                                  \
    static inline enum err client_##name(struct client *c, const struct args *takes_in, struct result *out,            \
                                         cJSON **tree, struct why *why)                                                \
    {                                                                                                                  \
        return client_ask(c, CALL_##upper, takes_in, out, tree, why);                                                  \
    }
#include "tracker/calls_list.h"

/* The same with blobs, as client_call has them. */
enum err client_ask_with(struct client *c, enum call_name call, const void *takes_args, const struct blobs *attach,
                         void *result, cJSON **tree, struct blobs *received, struct why *why);

/* A farm in parts (docs/scale.md), of which each tracker has one, and a client speaks to one: at first to any. A call
 * that names a job, a trial or a key in its arguments goes to the part of that by itself; all others go to the
 * client's own. The first to another part opens its client: errors are as of client_open, too. How many there are, 1 of
 * a farm as most are: */
int64_t client_parts(struct client *c);

/* The client's own part from now on; waits for its tracker as calls do, while no other thread calls, and stays of its
 * former part where that fails. By its number (from 1; 0 = the only one), by a device key, by a job ("j12"). ERR_INPUT:
 * there is no such part, there are several, or the id is none. */
enum err client_settle(struct client *c, int64_t part, struct why *why);
enum err client_settle_key(struct client *c, const char *key, struct why *why);
enum err client_settle_job(struct client *c, const char *job, struct why *why);

/* Lends the client of a part, which is opened where it is not (errors as of client_open). */
enum err client_part(struct client *c, int64_t part, struct client **out, struct why *why);

/* Asks each part in turn. One that is out of reach keeps no other back: ERR_UNREACHABLE at the end, with words that say
 * which answer lacks. Other errors end it. */
enum err client_each_part(struct client *c,
                          enum err (*ask)(struct client *one, int64_t part, void *arg, struct why *why), void *arg,
                          struct why *why);

/* The layer beneath, by name and trees; the product has the typed calls, tests say by it what no typed call can: `args`
 * are taken (NULL = {}), *result (may
 * be NULL) is the reply's `result` object. Blobs of `attach` (may be NULL; sum <= 3 MiB) go with it, those of the reply
 * are added to `received` when it is not NULL. wait_ms: what a long poll may take at the tracker. */
enum err client_call(struct client *c, const char *op, cJSON *takes_args, const struct blobs *attach, int64_t wait_ms,
                     cJSON **result, struct blobs *received, struct why *why);

/* All devices and builders, or those of one key (NULL or "" = any), however many calls that takes: *tree (give it
 * back by cJSON_Delete) is as one devices_result. What calls return; with ERR_UNREACHABLE *tree may have what the other
 * parts of the farm said, else it is NULL. */
enum err client_all_devices(struct client *c, const char *key, cJSON **tree, struct why *why);

/* The records of a job behind *after, at most 64 of them, each handed to `each`; *after follows those that it took.
 * Waits up to wait_ms for the first. *n tells how many came. Errors of `each` end it. */
enum err client_records(struct client *c, const char *job, int64_t wait_ms, int64_t *after,
                        enum err (*each)(const struct record_entry *r, void *arg, struct why *why), void *arg, int *n,
                        struct why *why);

/* Makes sure that the tracker has all blobs of the set (asks which are missing, sends those in chunks of at most 1
 * MiB). */
enum err client_put_blobs(struct client *c, const struct blobs *set, struct why *why);

/* Adds the blob of that name to `set`, fetched in chunks and checked against its name; nothing to do when it is there.
 */
enum err client_get_blob(struct client *c, const char *hex, struct blobs *set, struct why *why);

/* True once after client_call noticed that the tracker was restarted (its boot id changed): register again. */
bool client_tracker_restarted(struct client *c);

#endif
