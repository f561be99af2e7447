/* SPDX-License-Identifier: MIT */
/* address.h - addresses of trackers: as people write them, in full, in parts, and connected to. */
#ifndef TUNE_TRACKER_ADDRESS_H
#define TUNE_TRACKER_ADDRESS_H

#include "core/err.h"

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>

#define ADDRESS_BYTES 300                                /* of one in full */
#define ADDRESSES_MOST 8                                 /* of one tracker, with ',' between them */
#define ADDRESSES_BYTES (ADDRESSES_MOST * ADDRESS_BYTES) /* of all of them */

/* "tls+tcp://[::1]:9477": host "::1", port "9477". */
struct address {
    char url[ADDRESS_BYTES], host[256], port[8];
};

/* Does it begin with one of tcp://, tcp4://, tcp6:// and tls+tcp://? */
bool address_has_scheme(const char *url);

/* Reads the `n` bytes of one: "farm" and "farm:9477" are as good as "tcp://farm:9477", or, with `tls`, as
 * "tls+tcp://farm:9477". ERR_INPUT with words. */
enum err address_read(const char *text, size_t n, bool tls, struct address *out, struct why *why);

/* Writes a list of them in full; those without a scheme get TLS with `tls`, or where the first one has it. ERR_INPUT.
 */
enum err address_complete(const char *list, bool tls, char out[ADDRESSES_BYTES], struct why *why);

/* Looks the host up; gives, freeaddrinfo. ERR_NOT_FOUND, with words. */
enum err address_find(const struct address *a, struct addrinfo **out, struct why *why);

/* Connects a TCP socket to the first that answers, each within timeout_ms: close it. ERR_UNREACHABLE, with words. */
enum err address_connect(const struct addrinfo *found, int timeout_ms, int *fd, struct why *why);

/* Does somebody take connections there? */
bool address_takes(const char *url, int timeout_ms);

#endif
