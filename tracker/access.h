/* SPDX-License-Identifier: MIT */
/* access.h - who may do what: an identity is the farm's own key ("": everything) or a role's and a name ("user:alice"),
 * proved by a key made of the farm's for it (key_derive). docs/security.md. */
#ifndef TUNE_TRACKER_ACCESS_H
#define TUNE_TRACKER_ACCESS_H

#include "core/err.h"
#include "tracker/state.h"

#include <stdbool.h>

/* May keys of that role make this call at all? */
bool access_allows(enum key_role role, enum call_name name);

/* May c->identity make this call, its arguments read? ERR_AUTH with words. A user's jobs get that user's name. */
enum err access_check(struct call *c);

/* Tells the tracker's log of a call that was refused to somebody it does not belong to: at most AUDIT_A_SECOND lines a
 * second, the others counted. */
#define AUDIT_A_SECOND 10
void access_audit(struct tracker *t, const char *call, const char *identity, const char *why);

#endif
