/* SPDX-License-Identifier: MIT */
/* execute.h - from the bytes of a request to the bytes of its reply: decoding, sessions, answered requests, long polls.
 */
#ifndef TUNE_TRACKER_EXECUTE_H
#define TUNE_TRACKER_EXECUTE_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "tracker/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request under way. One that waits keeps its bytes, which must live as long, and decodes them for each try: of ten
 * thousand idle agents' polls the trees would be a tenth of all memory. */
struct request {
    const void *bytes;
    size_t n_bytes;
    struct message message;
    enum call_name name;                /* N_CALLS = none that can be executed */
    char id[REQUEST_ID_HEX + 1];        /* "" when it has none */
    char nonce[2 * REQUEST_ID_HEX + 1]; /* of the reply's MAC; "" = unsigned */
    struct key key;                     /* likewise; of whom the request is */
    int64_t n_revocations;              /* of the tracker when its key was looked at */
    bool shown;                         /* its peer has shown who he is, by a hello or a session of his */
    int64_t deadline_ns;                /* of a long poll */
    struct waiters *waits_with;         /* of one that is parked */
};

enum outcome_of_request { REQUEST_ANSWERED, REQUEST_PARKED, REQUEST_STORE_FAILED };

/* Decodes a small request ahead, by any thread; what is large or wrong is left to request_start. `r` is all 0. */
void request_read(struct request *r, const void *bytes, size_t n);

/* Executes a call that only reads, of this process itself, without waiting: its result as a tree (cJSON_Delete), and
 * what is attached to it appended to `attached` (NULL = not wanted). The call's errors, with words. */
enum err call_here(struct tracker *t, enum call_name name, const union call_args *args, cJSON **result,
                   struct buf *attached, struct why *why);

/* Executes a fresh request, all 0 or as request_read left it; `reply` gets the reply's bytes unless it is parked. The
 * request is used up unless it is parked. */
enum outcome_of_request request_start(struct tracker *t, const void *bytes, size_t n, struct request *r,
                                      struct buf *reply);

/* Tries a parked request again; `last`: answer now with what there is. */
enum outcome_of_request request_again(struct tracker *t, struct request *r, bool last, struct buf *reply);
void request_fini(struct request *r);

#endif
