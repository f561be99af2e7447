/* SPDX-License-Identifier: MIT */
/* request.h - one HTTP request and its reply, tried again while the failure may pass. */
#ifndef TUNE_LOGS_HUB_REQUEST_H
#define TUNE_LOGS_HUB_REQUEST_H

#include "core/buf.h"
#include "core/err.h"
#include "logs/hub/hub.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hub_request {
    const struct hub_url *url;
    const char *method;     /* "GET" "HEAD" "PUT" "DELETE" "MKCOL" "PROPFIND" */
    const char *suffix;     /* behind the URL: "?list-type=2", "/"; NULL */
    const char *http;       /* instead of url->http; NULL */
    const char *etag;       /* of PUT: HUB_ANY, HUB_NEW or an ETag */
    const char *headers[3]; /* more of them, NULL-ended */
    /* Body of a PUT or PROPFIND: a file of n_body bytes, or bytes. */
    const char *body_path;
    const void *body;
    int64_t n_body;
    const char *body_sha256; /* hex, for S3 */
    /* Where a 2xx body goes: a file, from `from` on of the object whose ETag is `if_range`, or memory. NULL: nowhere.
     */
    FILE *to_file;
    int64_t max_bytes; /* of the file, at most */
    int64_t from;
    const char *if_range;
    struct buf *to;
};

struct hub_reply {
    long status; /* of HTTP; 0 = there was none */
    struct hub_object object;
    bool from_start; /* 200 to a request for a rest: the file holds the whole body */
};

/* Sends it. ERR_OK: 2xx. Else by the status: ERR_NOT_FOUND (404, 410), ERR_AUTH (401, 403), ERR_STALE (409 of PUT,
 * 412), ERR_UNSUPPORTED (405, 501), ERR_IO; or ERR_UNREACHABLE, ERR_TIMEOUT; with words that name the URL. */
enum err hub_send(struct hub *h, const struct hub_request *q, struct hub_reply *r, struct why *why);

/* The longest wait for other pushers. */
double hub_wait_s(const struct hub *h);

#endif
