/* SPDX-License-Identifier: MIT */
/* http.h - the status page (/), /metrics and /healthz: fixed pages, nothing else. */
#ifndef TUNE_TRACKER_HTTP_H
#define TUNE_TRACKER_HTTP_H

#include "core/err.h"
#include "tracker/server.h"

struct http;

/* Serves on `where` ("127.0.0.1:9478"; port 0 = any free one). ERR_INPUT, ERR_IO. It lives until the process ends. */
enum err http_start(struct server *s, const char *where, struct http **out, struct why *why);

/* "http://127.0.0.1:9478", with the real port. */
const char *http_url(const struct http *h);

#endif
