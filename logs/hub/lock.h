/* SPDX-License-Identifier: MIT */
/* lock.h - how two pushers of one log are kept apart on a server. */
#ifndef TUNE_LOGS_HUB_LOCK_H
#define TUNE_LOGS_HUB_LOCK_H

#include "core/err.h"
#include "logs/hub/hub.h"

#include <stdbool.h>

/* GUARD_FOLDER: the server makes folders (WebDAV), which is an atomic step, where If-Match need not be (Apache looks at
 * it before it reads the body); GUARD_ETAG: it does not, but honours If-Match and If-None-Match (S3); GUARD_NONE:
 * neither. */
enum guard { GUARD_ETAG, GUARD_FOLDER, GUARD_NONE };

/* Makes the folder NAME.probe-RANDOM/ beside the object and takes it away; where that fails, tries a PUT whose
 * precondition cannot hold: a server that obeys refuses it. */
enum err guard_find(struct hub *h, const struct hub_url *u, enum guard *out, struct why *why);

/* The folder NAME.lock/ with our token in it. */
struct hub_lock {
    struct hub_url folder, token;
    bool held;
};

/* Waits for it, at the most the hub's wait_s: ERR_BUSY with the age of the other's. A lock of over LOCK_STALE_S
 * seconds by the server's clock is its dead owner's and is taken away. */
#define LOCK_STALE_S 900
enum err hub_lock_take(struct hub *h, const struct hub_url *u, struct hub_lock *out, struct why *why);

/* Is the lock still ours? Asked right before what it guards. ERR_STALE. */
enum err hub_lock_check(struct hub *h, const struct hub_lock *l, struct why *why);
void hub_lock_drop(struct hub *h, struct hub_lock *l);

#endif
