/* SPDX-License-Identifier: MIT */
/* certs.h - makes a farm's certificate authority and certificates: P-256 keys, X.509, PEM. */
#ifndef TUNE_TRACKER_CERTS_H
#define TUNE_TRACKER_CERTS_H

#include "core/err.h"

#include <stdint.h>

struct cert_order {
    const char *name;  /* of whom: 1 to 64 letters, digits and . _ : @ + - */
    const char *hosts; /* of a tracker: names and addresses by which it is dialled, with ',' between; NULL: a peer */
    int64_t from_s, until_s; /* Unix time */
};

/* Makes DIR, DIR/ca.key (0600) and DIR/ca.pem. ERR_EXISTS when there are such, ERR_IO. */
enum err certs_make_ca(const char *dir, const struct cert_order *o, struct why *why);

/* Makes a certificate with its private key into `path` (0600), by the authority in DIR. ERR_EXISTS when there is a
 * file, ERR_NOT_FOUND or ERR_INPUT when there is no authority, ERR_INPUT for what is no name. */
enum err certs_issue(const char *dir, const struct cert_order *o, const char *path, struct why *why);

#endif
