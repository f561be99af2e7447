/* SPDX-License-Identifier: MIT */
/* lock.h - names held by one process of this machine at a time: flock on a file that the kernel lets go when its holder
 * dies. */
#ifndef TUNE_AGENT_LOCK_H
#define TUNE_AGENT_LOCK_H

#include "core/clock.h"
#include "core/err.h"
#include "runtime/device_desc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCK_NAME_BYTES 128

/* The name of the lock on the physical device behind `d`: one for all CPU devices of a machine, whatever the API; else
 * its name and selector. */
void lock_name_of_device(const struct device_desc *d, const char *selector, char *out, size_t n_out);

/* Opens (makes) the lock file tune-<name>.lock in TUNE_LOCK_DIR, else /tmp: any user's agent may share it. Nothing is
 * held yet. */
enum err lock_open(const char *name, int *fd, struct why *why);
void lock_close(int fd); /* lets go; -1 is ignored */

/* Tries for at most timeout_ms (0 = once) of that clock (NULL = the machine's); ERR_BUSY while another holds it. */
enum err lock_take(int fd, const struct clock *clock, int64_t timeout_ms);
void lock_release(int fd);

/* Lower-case letters, digits, '.', '_' and '-' of `text`, every other run of characters as one '-'; never empty. */
void lock_slug_of(const char *text, char *out, size_t n_out);

#endif
