/* SPDX-License-Identifier: MIT */
/* revoked.h - keys that were taken back: a file of identities, read when the tracker starts and when it changes. */
#ifndef TUNE_TRACKER_REVOKED_H
#define TUNE_TRACKER_REVOKED_H

#include "core/buf.h"
#include "core/err.h"

#include <stdbool.h>
#include <sys/stat.h>

#define REVOKED_BYTES 65536 /* of the file */

struct revoked {
    const char *path; /* NULL = there is no file */
    struct buf list;  /* its text */
    struct stat seen; /* of the file when it was read last */
    struct stat last; /* when it was looked at last */
};

/* Reads the file: an identity a line, empty lines and those that begin with # skipped. Keeps `path`. ERR_INPUT with
 * the line that is none, ERR_LIMIT over REVOKED_BYTES, what reading a file gives. */
enum err revoked_open(struct revoked *r, const char *path, struct why *why);
void revoked_close(struct revoked *r);

/* Reads it again when it has changed since and is as it was at the last look, for it may be half written until then, or
 * in any case with `must`: *changed, and what was before is in `old` then
 * (initialized; it may be in use still). On failure all stays as it was until the file changes once more. */
enum err revoked_again(struct revoked *r, bool must, struct buf *old, bool *changed, struct why *why);

/* Is it in such a list (NULL = an empty one)? */
bool revoked_has(const char *list, const char *identity);

#endif
