/* SPDX-License-Identifier: MIT */
/* transport.h - how a client's bytes reach a tracker and the reply's bytes come back: one request, one reply, retried
 * by the client's own rules. Programs use nng's; tests bring one that stays in their own process. */
#ifndef TUNE_TRACKER_TRANSPORT_H
#define TUNE_TRACKER_TRANSPORT_H

#include "core/err.h"

#include <stddef.h>
#include <stdint.h>

/* A line to one tracker. */
struct line;

/* The bytes of a reply, lent by `own` until it is discarded. */
struct letter {
    const void *bytes;
    size_t n_bytes;
    void *own; /* of the transport; NULL = none */
};

struct transport_ops {
    const char *name;
    /* A line to `url`; need not connect yet. Gives. ERR_INPUT for what is no address, ERR_IO, ERR_NOMEM. */
    enum err (*open)(void *arg, const char *url, struct line **out, struct why *why);
    /* Sends the bytes and waits at most timeout_ms for the reply. Blocks; several threads may at once. ERR_UNREACHABLE
     * when there is no connection or it went, ERR_TIMEOUT, ERR_CANCELLED after abort, ERR_NOMEM. */
    enum err (*exchange)(struct line *l, const void *bytes, size_t n_bytes, int64_t timeout_ms, struct letter *reply);
    void (*discard)(struct letter *reply);
    /* Exchanges under way end with ERR_CANCELLED soon, new ones at once. From any thread. */
    void (*abort)(struct line *l);
    /* No exchange is under way any more. NULL is accepted. */
    void (*close)(struct line *l);
    /* Of several addresses: who answers at this one is not who is looked for, the next one is asked from now on. NULL:
     * there is only one. */
    void (*turn)(struct line *l);
};

/* Of nng 1.x, REQ/REP over tcp://, tls+tcp:// and what else nng knows; arg: a struct tls_files, or NULL = none. */
extern const struct transport_ops transport_nng;

/* Can nng start its threads here? To be asked before its first socket: it crashes or stands still where it cannot.
 * Looks once in a process. ERR_LIMIT, in words. */
enum err transport_nng_may_start(struct why *why);

extern const struct transport_ops transport_many; /* of several addresses, with ',' between them */

#endif
