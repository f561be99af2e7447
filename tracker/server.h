/* SPDX-License-Identifier: MIT */
/* server.h - the tracker's socket and its threads: contexts of nng decode requests and hand them to one thread, the
 * core loop, which executes up to 128 of them in one transaction; another waits for the disk and sends the replies. */
#ifndef TUNE_TRACKER_SERVER_H
#define TUNE_TRACKER_SERVER_H

#include "core/buf.h"
#include "core/err.h"
#include "tracker/state.h"
#include "tracker/tls.h"

#include <stdbool.h>

struct server;

/* Listens and starts the core loop, which owns `t` from now on. `url` may have port 0. Where it is one of TLS, `tls`
 * (may be NULL) has the tracker's certificate, and the authority of peers' certificates where they have to show one;
 * with `plain` it listens on a port of 127.0.0.1 without TLS, too, for programs of this host. ERR_IO, ERR_INPUT,
 * ERR_AUTH. */
enum err server_start(struct tracker *t, const char *url, const struct tls_files *tls, bool plain, struct server **out,
                      struct why *why);

/* The address with the real port; and the one for programs of this host, the same where there is no other. */
const char *server_url(const struct server *s);
const char *server_near_url(const struct server *s);

/* Runs `work` in the core loop, so that it may read the state, and waits for it; gives what it gave. ERR_BUSY when too
 * many wait already. */
enum err server_do(struct server *s, enum err (*work)(struct tracker *t, void *arg), void *arg);

/* The same for a text. */
enum err server_page(struct server *s, enum err (*render)(struct tracker *t, struct buf *out), struct buf *out);

/* The page is served at this port of the same process: what stands still there is ended. */
void server_expect_page(struct server *s, int port);

/* The farm's key; NULL = none is asked for. */
const struct key *server_key(const struct server *s);

/* True when the core loop ended because the store failed; `why` says how. */
bool server_failed(struct server *s, struct why *why);

/* Finishes the batch at hand, commits, replies and stops both loops. The socket stays: end the process with _exit. */
void server_stop(struct server *s);

#endif
