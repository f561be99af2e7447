/* SPDX-License-Identifier: MIT */
/* door.h - connections whose peers have not yet shown who they are: how long, how many from one address, and how much
 * they may send. nng bounds one message and waits for ever; what is closed here is closed by a thread of the door's. */
#ifndef TUNE_TRACKER_DOOR_H
#define TUNE_TRACKER_DOOR_H

#include "core/err.h"

#include <nng/nng.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOOR_PATIENCE_MS 15000          /* until a peer has shown who he is */
#define DOOR_BYTES ((uint64_t)64 << 10) /* that he may send until then, looked at every DOOR_TICK_MS */
#define DOOR_TICK_MS 100
#define DOOR_CROWD 64 /* strangers of one address for over DOOR_CROWD_MS: the oldest go */
#define DOOR_CROWD_MS 1000
#define DOOR_SHAKE_MS 10000      /* that a TLS handshake may stand still, and last in all: */
#define DOOR_SHAKE_MOST_MS 60000 /* where many come at once each waits for the others, on either side */
#define DOOR_SHAKE_CROWD_MS 3000 /* the same as DOOR_CROWD_MS for handshakes that have not begun */
#define DOOR_MOST 1024           /* strangers of all addresses whose turn it is (fewer where few files may be open): */
#define DOOR_FACTOR 4            /* the oldest go; so many times as many handshakes, whoever's turn it is */
#define DOOR_LOOK_MS 1000        /* between two looks for handshakes, while none is known */
#define DOOR_PAGE_LOOK_MS 5000   /* between two at connections to the page */
#define DOOR_PAGE_MS 15000       /* that one may stand still: longer than the page's own events do */
#define DOOR_PAGE_CROWD_MS 1000  /* where there are more than a quarter of DOOR_MOST */
#define DOOR_FRESH_MS 5000       /* between two looks for connections that door_expect_dead is not told of yet */

struct door;

/* Starts its thread, for so many connections at the most. ERR_NOMEM. */
enum err door_open(int64_t n_connections, struct door **out);

/* Connections to this port begin with a TLS handshake, which nng 1.5 waits for without end: once, at the start. */
void door_expect_tls(struct door *d, int port);

/* Connections to this port are the page's, which nng's HTTP server waits for without end: once, at the start. */
void door_expect_page(struct door *d, int port);

/* Connections whose peer's host acknowledges nothing for so long are ended by the system: what is on its way to it
 * counts from when it was sent, and one that is idle is asked meanwhile. Once, at the start. */
void door_expect_dead(struct door *d, int64_t silent_ms);

/* A connection came (refused: it is ended as soon as its socket is found, whoever it is), its peer showed who he is
 * (again and again: costs little), it went. From any thread. */
void door_came(struct door *d, nng_pipe p, bool refused);
void door_shown(struct door *d, uint32_t pipe);
/* A whole message of so many bytes came; it does not count as sent any more: where those wait is bounded elsewhere. */
void door_took(struct door *d, uint32_t pipe, size_t n_bytes);
void door_went(struct door *d, nng_pipe p);

#endif
