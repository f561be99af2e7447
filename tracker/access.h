/* SPDX-License-Identifier: MIT */
/* access.h - who may do what: an identity is the farm's own key ("": everything), "agent:NAME" or "user:NAME", proved
 * by a key made of the farm's for it (key_derive). docs/security.md. */
#ifndef TUNE_TRACKER_ACCESS_H
#define TUNE_TRACKER_ACCESS_H

#include "core/buf.h"
#include "core/err.h"
#include "tracker/state.h"

#include <stdbool.h>

/* May c->identity make this call, its arguments read? ERR_AUTH with words. A user's jobs get that user's name. */
enum err access_check(struct call *c);

/* Reads a list of identities whose keys are worth nothing any more into `out` (initialized): one a line, empty lines
 * and those that begin with # skipped. ERR_INPUT with the line that is none, what reading a file gives. */
enum err access_read_revoked(const char *path, struct buf *out, struct why *why);

/* Is it in such a list (NULL = an empty one)? */
bool access_is_revoked(const char *list, const char *identity);

/* Tells the tracker's log of a call that was refused to somebody it does not belong to: at most AUDIT_A_SECOND lines a
 * second, the others counted. */
#define AUDIT_A_SECOND 10
void access_audit(struct tracker *t, const char *call, const char *identity, const char *why);

#endif
