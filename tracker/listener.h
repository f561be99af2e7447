/* SPDX-License-Identifier: MIT */
/* listener.h - the tracker's side of the wire: nng's REQ peers over TCP (its protocol SP: a greeting of 8 bytes, then
 * messages behind a length of 8). One thread accepts and reads; replies may be sent by any, which needs fewer turns of
 * the scheduler than nng's own pool of threads. */
#ifndef TUNE_TRACKER_LISTENER_H
#define TUNE_TRACKER_LISTENER_H

#include "core/buf.h"
#include "core/err.h"

#include <stddef.h>
#include <stdint.h>

struct listener;
/* A request as it came, until it is answered or dropped. */
struct mail;

/* Called by the listener's thread. None may block for long. */
struct listener_ops {
    /* Takes a request: mail_answer or mail_drop ends it. */
    void (*take)(void *arg, struct mail *m);
    /* All requests that were there have been given. */
    void (*taken)(void *arg);
    /* The connection with this number is closed. */
    void (*gone)(void *arg, uint32_t line);
    /* A connection was refused: there are as many as may be. */
    void (*full)(void *arg);
};

/* Listens on tcp://HOST:PORT (tcp4, tcp6 too; no host or *: all addresses; port 0: any) and serves at most max_lines
 * connections. Keeps ops and arg. ERR_INPUT: no address of this machine, ERR_IO, ERR_NOMEM. */
enum err listener_open(const char *url, int64_t max_lines, const struct listener_ops *ops, void *arg,
                       struct listener **out, struct why *why);

/* The address with the real port. */
const char *listener_url(const struct listener *l);

/* Closes all connections; what is answered afterwards goes to nobody. NULL is accepted. */
void listener_close(struct listener *l);

/* The request, lent until the mail ends. */
const void *mail_bytes(const struct mail *m, size_t *n);
/* The number of its connection; never 0. */
uint32_t mail_line(const struct mail *m);
/* Sends the reply, to nobody when the connection is closed; never blocks. Ends the mail. Any thread. */
void mail_answer(struct mail *m, const void *reply, size_t n);
/* Ends it without a reply. Any thread. */
void mail_drop(struct mail *m);

#endif
