/* SPDX-License-Identifier: MIT */
/* tls.h - addresses that begin with tls+: which files they need, whether those are fit, and what a peer there says of
 * itself. nng speaks the TLS; here only certificates are read, for words. docs/security.md. */
#ifndef TUNE_TRACKER_TLS_H
#define TUNE_TRACKER_TLS_H

#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Paths of PEM files, NULL or "" = none. */
struct tls_files {
    const char *ca;   /* whom to trust: one or more certificates of authorities */
    const char *cert; /* of one's own: a certificate and its private key, of mode 0600 */
};

/* Can this program speak TLS at all? */
bool tls_known(void);

/* The system's random bytes as mbedTLS asks for them: 0, or its error. Only where tls_known(). */
int tls_random(void *arg, unsigned char *out, size_t n);

/* Is it tls+tcp://..? */
bool tls_wanted(const char *url);

/* Are the files fit for `url`: one that is not tls+ wants none; of a dialer, or of a listener that asks peers for
 * certificates, `ca`; of a listener (`listens`) `cert`. ERR_INPUT, ERR_AUTH (expired; may be read by others),
 * ERR_UNSUPPORTED, what reading files gives, with words. */
enum err tls_check(const char *url, const struct tls_files *files, bool listens, struct why *why);

/* Goes to `url` itself and says in `said` what it finds, within some seconds: ERR_OK with whose certificate it is and
 * until when; ERR_AUTH when that is not to be trusted, or TLS is spoken at an address without tls+, or not at one with
 * it; ERR_UNREACHABLE when nobody answers. */
enum err tls_look(const char *url, const struct tls_files *files, struct why *said);

#endif
