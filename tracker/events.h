/* SPDX-License-Identifier: MIT */
/* events.h - what changed, as server-sent events for everybody who listens: docs/api.md. */
#ifndef TUNE_TRACKER_EVENTS_H
#define TUNE_TRACKER_EVENTS_H

#include "core/buf.h"
#include "core/err.h"
#include "tracker/server.h"
#include "tracker/state.h"

#include <nng/nng.h>
#include <nng/supplemental/http/http.h>
#include <stddef.h>
#include <stdint.h>

/* What was told so far, beside the hashes that jobs and agents keep. */
struct told {
    struct buf *out; /* of the next look */
    int64_t *open;   /* jobs that were open at the last look */
    size_t n_open, cap;
    int64_t next_job; /* of the tracker at the last look; 0 = there was none */
};

/* Appends an event for each job and each agent that changed since the last look: "event: job", "event: device", with
 * their entries (docs/protocol.md) as data. The first look tells nothing. ERR_NOMEM, ERR_LIMIT. For server_do; `told`
 * is a struct told. */
enum err events_look(struct tracker *t, void *told);
void told_fini(struct told *told);

struct events;

/* Starts the thread that looks every quarter of a second while anybody listens. ERR_NOMEM. */
enum err events_start(struct server *s, struct events **out);

/* Takes the connection, answers its request (`head`: further lines of the reply's head) and keeps it until the other
 * side leaves or reads too slowly. ERR_BUSY: too many listen. */
enum err events_listen(struct events *e, nng_http_conn *conn, const char *head);

#endif
